// How the library is built into a program: header-only or compiled once, and the name of its ABI.
#pragma once

#include "weft/version.hpp"

#if defined(__NVCC__) && defined(__CUDACC__)
// nvcc 13.0 writes the lambdas of kernel.hpp anew for the host compiler and loses a parameter pack on the way.
#error "weft cannot be included in a .cu file, nvcc does not understand it: use weft in a .cpp file and link the two"
#endif
#if __cplusplus < 202002L
#error "weft needs C++20: compile with -std=c++20"
#endif
#if !__has_include(<boost/hana/tuple.hpp>)
#error "weft needs the headers of Boost.Hana: apt-get install libboost1.81-dev, or add their folder by -isystem"
#endif

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define WEFT_HAS_EXCEPTIONS 1
#else
#define WEFT_HAS_EXCEPTIONS 0
#endif

// WEFT_COMPILED: the bodies (.ipp files) stand in the library weft::compiled instead of in every TU.
#ifdef WEFT_COMPILED
#define WEFT_HEADER_ONLY 0
#define WEFT_DECL
#define WEFT_HOT_DECL
#define WEFT_ABI_BODIES compiled
#else
#define WEFT_HEADER_ONLY 1
// Most bodies run once per compiled kernel. Said to be cold, g++ inlines less into them: -O2 of a program takes a tenth
// less time. Those on the way of every call are WEFT_HOT_DECL.
#define WEFT_DECL [[gnu::cold]] inline
#define WEFT_HOT_DECL inline
#define WEFT_ABI_BODIES header
#endif

// Between these two stands what runs once per compiled kernel and makes up most of the code: an optimising build of a
// program is to spend little on it. What a function computes does not depend on them. A system header that is first
// included in between would be slow for the whole program: weft.hpp includes them all in front (foreign.hpp).
// Measured, -O2 of lesson 1, header-only (EPYC, 2026-11): g++ 12 15.2 -> 7.0 s, clang 22 11.5 -> 7.4 s.
#if !defined(__OPTIMIZE__) || defined(__OPTIMIZE_SIZE__)
#define WEFT_COLD_BEGIN
#define WEFT_COLD_END
#elif defined(__clang__)
// Nothing stands in between when all of it was included before.
#define WEFT_COLD_BEGIN                                                                          \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpragma-clang-attribute\"") \
      _Pragma("clang attribute push(__attribute__((minsize, noinline)), apply_to = function)")
#define WEFT_COLD_END _Pragma("clang attribute pop") _Pragma("clang diagnostic pop")
#else
#define WEFT_COLD_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"Og\")")
#define WEFT_COLD_END _Pragma("GCC pop_options")
#endif

// Every switch that changes what a function means is in the inline namespace's name, so that two TUs that differ fail
// to link instead of sharing one inline function: one compiled with -mavx512f must not be the copy that a plain x86-64
// TU calls, one that throws not the copy of a TU without exceptions, and where the compiler may take NaN for impossible
// others must still see it. In weft::compiled as well, whose headers have inline functions enough: a program with such
// switches builds that library with them, too.
#if defined(__AVX512F__)
#define WEFT_ABI_ISA avx512
#elif defined(__AVX2__)
#define WEFT_ABI_ISA avx2
#elif defined(__ARM_FEATURE_SVE)
#define WEFT_ABI_ISA sve
#else
#define WEFT_ABI_ISA base
#endif
#if WEFT_HAS_EXCEPTIONS
#define WEFT_ABI_ERRORS
#else
#define WEFT_ABI_ERRORS _no_exceptions
#endif
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#define WEFT_ABI_MATH _fast_math
#else
#define WEFT_ABI_MATH
#endif
#define WEFT_ABI_JOIN2(major, minor, bodies, isa, errors, math) v##major##_##minor##_##bodies##_##isa##errors##math
#define WEFT_ABI_JOIN(...) WEFT_ABI_JOIN2(__VA_ARGS__)
// In 0.x each minor version may break the one before.
#define WEFT_ABI \
  WEFT_ABI_JOIN(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_ABI_BODIES, WEFT_ABI_ISA, WEFT_ABI_ERRORS, WEFT_ABI_MATH)
