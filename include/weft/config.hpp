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
#define WEFT_HOT_DECL [[gnu::hot]]
#define WEFT_ABI_BODIES _compiled_
#else
#define WEFT_HEADER_ONLY 1
// Most bodies run once per compiled kernel. Said to be cold, g++ inlines less into them: -O2 of a program takes a tenth
// less time. Those on the way of every call are WEFT_HOT_DECL: without that g++ takes those that only `main` calls for ones that run once.
#define WEFT_DECL [[gnu::cold]] inline
#define WEFT_HOT_DECL [[gnu::hot]] inline
#define WEFT_ABI_BODIES _header_
#endif

// Between WEFT_COLD_BEGIN and _END stands what runs once per compiled kernel and makes up most of the code: an optimising build
// of a program is to spend nothing on it. WEFT_TEPID_BEGIN and _END are around what direct evaluation comes by for each element.
// What a function computes does not depend on them. A system header that is first included in between would be slow for the
// whole program: weft.hpp includes them all in front (foreign.hpp). Measured: docs/decisions/009-cold-regions.md.
#if !defined(__OPTIMIZE__) || defined(__OPTIMIZE_SIZE__)
#define WEFT_COLD_BEGIN
#define WEFT_COLD_END
#define WEFT_TEPID_BEGIN
#define WEFT_TEPID_END
#elif defined(__clang__)
// Nothing stands in between when all of it was included before.
#define WEFT_COLD_BEGIN                                                                          \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpragma-clang-attribute\"") \
      _Pragma("clang attribute push(__attribute__((optnone, noinline)), apply_to = function)")
#define WEFT_TEPID_BEGIN                                                                         \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpragma-clang-attribute\"") \
      _Pragma("clang attribute push(__attribute__((minsize, noinline)), apply_to = function)")
#define WEFT_COLD_END _Pragma("clang attribute pop") _Pragma("clang diagnostic pop")
#define WEFT_TEPID_END WEFT_COLD_END
#else
#define WEFT_COLD_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"O0\")")
#define WEFT_TEPID_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"Og\")")
#define WEFT_COLD_END _Pragma("GCC pop_options")
#define WEFT_TEPID_END WEFT_COLD_END
#endif

// Every switch that changes what a function means, or what it is made of, is in the inline namespace's name, so that
// two TUs that differ fail to link instead of sharing one inline function: one compiled with -mavx must not be the
// copy that a plain x86-64 TU calls, one that throws not the copy of a TU without exceptions, and where the compiler
// may take NaN for impossible others must still see it. In weft::compiled as well, whose headers have inline
// functions enough: a program with such switches builds that library with them, too.
#include <cstddef>  // the standard library's own switches

// `name` where the compiler has defined `macro`, as 1, and nothing elsewhere.
#define WEFT_ABI_TAG(macro, name) WEFT_ABI_TAG2(macro, name)
#define WEFT_ABI_TAG2(value, name) WEFT_ABI_TAG3(WEFT_ABI_TAG_##value, name)
#define WEFT_ABI_TAG_1 0,
#define WEFT_ABI_TAG3(found, name) WEFT_ABI_SECOND(found name, , 0)
#define WEFT_ABI_SECOND(first, second, ...) second
#define WEFT_ABI_JOIN(...) WEFT_ABI_JOIN2(__VA_ARGS__)
#define WEFT_ABI_JOIN2(a, b, c, d, e, f, g, h, i, j, k, l) a##b##c##d##e##f##g##h##i##j##k##l

// Instructions that compilers pick by themselves. Each step of this ladder has those before it; the others are tags.
#if defined(__AVX512F__)
#define WEFT_ABI_LADDER avx512
#elif defined(__AVX2__)
#define WEFT_ABI_LADDER avx2
#elif defined(__AVX__)
#define WEFT_ABI_LADDER avx
#elif defined(__SSE4_2__)
#define WEFT_ABI_LADDER sse42
#elif defined(__SSE4_1__)
#define WEFT_ABI_LADDER sse41
#elif defined(__SSSE3__)
#define WEFT_ABI_LADDER ssse3
#elif defined(__SSE3__)
#define WEFT_ABI_LADDER sse3
#elif defined(__ARM_FEATURE_SVE2)
#define WEFT_ABI_LADDER sve2
#elif defined(__ARM_FEATURE_SVE)
#define WEFT_ABI_LADDER sve
#else
#define WEFT_ABI_LADDER base
#endif
// Nearly all CPUs have these together, and one name for all is short: the levels of the x86-64 psABI.
#if defined(__AVX2__) && defined(__BMI__) && defined(__BMI2__) && defined(__F16C__) && defined(__FMA__) && \
    defined(__LZCNT__) && defined(__MOVBE__)
#if defined(__AVX512BW__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define WEFT_ABI_LEVEL x86v4
#elif !defined(__AVX512F__)
#define WEFT_ABI_LEVEL x86v3
#endif
#endif
// The lists are expanded 300 times, which takes 25 ms (2026-11): only who needs them pays that.
#if defined(WEFT_ABI_LEVEL)
#define WEFT_ABI_X86 WEFT_ABI_LEVEL
#elif !defined(__BMI__) && !defined(__BMI2__) && !defined(__F16C__) && !defined(__FMA__) && !defined(__LZCNT__) && \
    !defined(__MOVBE__) && !defined(__AVX512F__) && (!defined(__POPCNT__) || defined(__SSE4_2__))
#define WEFT_ABI_X86 WEFT_ABI_LADDER
#else
#ifdef __SSE4_2__  // has it
#define WEFT_ABI_POPCNT
#else
#define WEFT_ABI_POPCNT WEFT_ABI_TAG(__POPCNT__, _popcnt)
#endif
#define WEFT_ABI_X86                                                                                         \
  WEFT_ABI_JOIN(WEFT_ABI_LADDER, WEFT_ABI_TAG(__BMI__, _bmi), WEFT_ABI_TAG(__BMI2__, _bmi2),                 \
                WEFT_ABI_TAG(__F16C__, _f16c), WEFT_ABI_TAG(__FMA__, _fma), WEFT_ABI_TAG(__LZCNT__, _lzcnt), \
                WEFT_ABI_TAG(__MOVBE__, _movbe), WEFT_ABI_POPCNT, WEFT_ABI_TAG(__AVX512BW__, _bw),           \
                WEFT_ABI_TAG(__AVX512CD__, _cd), WEFT_ABI_TAG(__AVX512DQ__, _dq), WEFT_ABI_TAG(__AVX512VL__, _vl))
#endif
#if !defined(__AVX512F__) && !defined(__GFNI__) && !defined(__AVXVNNI__) && !defined(__AVX10_2__) && !defined(__APX_F__)
#define WEFT_ABI_NEWER
#else
#define WEFT_ABI_NEWER                                                                                \
  WEFT_ABI_JOIN(WEFT_ABI_TAG(__AVX512VNNI__, _vnni), WEFT_ABI_TAG(__AVX512BF16__, _bf16),             \
                WEFT_ABI_TAG(__AVX512FP16__, _fp16), WEFT_ABI_TAG(__AVX512IFMA__, _ifma),             \
                WEFT_ABI_TAG(__AVX512VBMI__, _vbmi), WEFT_ABI_TAG(__AVX512VBMI2__, _vbmi2),           \
                WEFT_ABI_TAG(__AVX512BITALG__, _bitalg), WEFT_ABI_TAG(__AVX512VPOPCNTDQ__, _vpopcnt), \
                WEFT_ABI_TAG(__GFNI__, _gfni), WEFT_ABI_TAG(__AVXVNNI__, _avxvnni),                   \
                WEFT_ABI_TAG(__AVX10_2__, _avx10v2), WEFT_ABI_TAG(__APX_F__, _apx))
#endif
// Old ones of AMD's, and those of aarch64.
#if !defined(__FMA4__) && !defined(__XOP__) && !defined(__TBM__) && !defined(__aarch64__)
#define WEFT_ABI_OTHER
#else
#define WEFT_ABI_OTHER                                                                                              \
  WEFT_ABI_JOIN(WEFT_ABI_TAG(__FMA4__, _fma4), WEFT_ABI_TAG(__XOP__, _xop), WEFT_ABI_TAG(__TBM__, _tbm),            \
                WEFT_ABI_TAG(__ARM_FEATURE_ATOMICS, _lse), WEFT_ABI_TAG(__ARM_FEATURE_DOTPROD, _dotprod),           \
                WEFT_ABI_TAG(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC, _fp16), WEFT_ABI_TAG(__ARM_FEATURE_BF16, _bf16), \
                WEFT_ABI_TAG(__ARM_FEATURE_MATMUL_INT8, _i8mm), , , , )
#endif

#if WEFT_HAS_EXCEPTIONS
#define WEFT_ABI_ERRORS
#else
#define WEFT_ABI_ERRORS _no_exceptions
#endif
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#define WEFT_ABI_MATH _fast_math
#else
#define WEFT_ABI_MATH
#endif
#if defined(_LIBCPP_VERSION)
#define WEFT_ABI_STD _libcxx
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define WEFT_ABI_STD _old_strings
#else
#define WEFT_ABI_STD
#endif
#ifdef _GLIBCXX_DEBUG
#define WEFT_ABI_STD_DEBUG _std_debug
#else
#define WEFT_ABI_STD_DEBUG
#endif
// In 0.x each minor version may break the one before.
#define WEFT_ABI                                                                                             \
  WEFT_ABI_JOIN(v, WEFT_VERSION_MAJOR, _, WEFT_VERSION_MINOR, WEFT_ABI_BODIES, WEFT_ABI_X86, WEFT_ABI_NEWER, \
                WEFT_ABI_OTHER, WEFT_ABI_ERRORS, WEFT_ABI_MATH, WEFT_ABI_STD, WEFT_ABI_STD_DEBUG)

// No macro tells of these, so no name can.
namespace weft::inline WEFT_ABI {
namespace detail {
struct layout_probe {
  char first;
  double second;
};
enum layout_probe_enum { layout_probe_one };
}  // namespace detail
static_assert(sizeof(detail::layout_probe) == 2 * sizeof(double) && sizeof(detail::layout_probe_enum) == sizeof(int),
              "weft: -fpack-struct, -fshort-enums and an open #pragma pack change the layout of what kernels and "
              "libraries are handed: compile without them, and end the pragma before weft is included");
}  // namespace weft::inline WEFT_ABI
