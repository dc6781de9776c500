// How the library is built into a program: header-only or compiled once, and the name of its ABI.
#pragma once

#include "weft/version.hpp"

#if __cplusplus < 202002L
#error "weft needs C++20: compile with -std=c++20"
#endif

// WEFT_COMPILED: the bodies (.ipp files) stand in the library weft::compiled instead of in every TU.
#ifdef WEFT_COMPILED
#define WEFT_HEADER_ONLY 0
#define WEFT_DECL
#define WEFT_HOT_DECL
#else
#define WEFT_HEADER_ONLY 1
// Most bodies run once per compiled kernel. Said to be cold, g++ inlines less into them: -O2 of a program takes a tenth
// less time. Those on the way of every call are WEFT_HOT_DECL.
#define WEFT_DECL [[gnu::cold]] inline
#define WEFT_HOT_DECL inline
#endif

// Between these two stands what runs once per compiled kernel and makes up most of the code: an optimising build of a
// program is to spend little on it. What a function computes does not depend on them. A system header that is first
// included in between would be slow for the whole program: weft.hpp includes them all in front (foreign.hpp).
// Measured, -O2 of lesson 1, header-only (EPYC, 2026-11): g++ 12 15.2 -> 7.0 s, clang 22 11.5 -> 7.4 s.
#if !defined(__OPTIMIZE__) || defined(__OPTIMIZE_SIZE__)
#define WEFT_COLD_BEGIN
#define WEFT_COLD_END
#elif defined(__clang__)
#define WEFT_COLD_BEGIN _Pragma("clang attribute push(__attribute__((minsize, noinline)), apply_to = function)")
#define WEFT_COLD_END _Pragma("clang attribute pop")
#else
#define WEFT_COLD_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"Og\")")
#define WEFT_COLD_END _Pragma("GCC pop_options")
#endif

// Every switch that changes what a function means is in the inline namespace's name, so that two TUs that
// differ fail to link instead of sharing one inline function. The instruction set is such a switch: an inline
// function compiled with -mavx512f must not be the copy that a plain x86-64 TU calls.
#if defined(__AVX512F__)
#define WEFT_ABI_ISA avx512
#elif defined(__AVX2__)
#define WEFT_ABI_ISA avx2
#else
#define WEFT_ABI_ISA base
#endif
#ifdef WEFT_COMPILED
#define WEFT_ABI v0_1_compiled
#else
#define WEFT_ABI_JOIN2(a, b) a##_##b
#define WEFT_ABI_JOIN(a, b) WEFT_ABI_JOIN2(a, b)
#define WEFT_ABI WEFT_ABI_JOIN(v0_1_header, WEFT_ABI_ISA)
#endif

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define WEFT_HAS_EXCEPTIONS 1
#else
#define WEFT_HAS_EXCEPTIONS 0
#endif
