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
