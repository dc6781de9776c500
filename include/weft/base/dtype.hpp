// The element types, and the one table of what they are and how two of them meet (docs/numbers.md shows it).
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "weft/base/half.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

// Enumerator, C++ type of an element, name in texts, kind, and the type in which arithmetic on it is done: narrow
// types are for storage, so they widen first, integers as in C++ and both halves to f32.
// clang-format off
#define WEFT_DTYPES(X)                                            \
  X(boolean, bool,          "bool", truth,            boolean)    \
  X(i8,      std::int8_t,   "i8",   signed_integer,   i32)        \
  X(i16,     std::int16_t,  "i16",  signed_integer,   i32)        \
  X(i32,     std::int32_t,  "i32",  signed_integer,   i32)        \
  X(i64,     std::int64_t,  "i64",  signed_integer,   i64)        \
  X(u8,      std::uint8_t,  "u8",   unsigned_integer, i32)        \
  X(u16,     std::uint16_t, "u16",  unsigned_integer, i32)        \
  X(u32,     std::uint32_t, "u32",  unsigned_integer, u32)        \
  X(u64,     std::uint64_t, "u64",  unsigned_integer, u64)        \
  X(f16,     weft::f16,     "f16",  real,             f32)        \
  X(bf16,    weft::bf16,    "bf16", real,             f32)        \
  X(f32,     float,         "f32",  real,             f32)        \
  X(f64,     double,        "f64",  real,             f64)
// clang-format on

/// An element type by name: f16, bf16, f32, f64, i8 to i64, u8 to u64, boolean.
enum class dtype : std::uint8_t {
#define WEFT_X(id, type, text, kind, computed) id,
  WEFT_DTYPES(WEFT_X)
#undef WEFT_X
};
/// What kind of number an element is.
enum class dtype_kind : std::uint8_t { truth, signed_integer, unsigned_integer, real };
/// What is known of an element type; `computed` is the type in which its arithmetic is done.
struct dtype_facts {
  std::string_view name;
  dtype_kind kind;
  std::uint8_t bytes;
  dtype computed;
};
/// The facts of all element types, in the order of `dtype`.
inline constexpr dtype_facts dtype_table[] = {
#define WEFT_X(id, type, text, kind, computed) {text, dtype_kind::kind, sizeof(type), dtype::computed},
    WEFT_DTYPES(WEFT_X)
#undef WEFT_X
};
/// How many element types there are.
inline constexpr int dtype_count = sizeof dtype_table / sizeof dtype_table[0];

/// What is known of `t`.
constexpr dtype_facts const& facts(dtype t) { return dtype_table[static_cast<int>(t)]; }
/// Bytes of one element.
constexpr int size_bytes(dtype t) { return facts(t).bytes; }
/// As it is printed: "f32".
constexpr std::string_view name(dtype t) { return facts(t).name; }
/// The type in which arithmetic on elements of `t` alone is done.
constexpr dtype computed(dtype t) { return facts(t).computed; }
/// f16, bf16, f32 or f64.
constexpr bool is_float(dtype t) { return facts(t).kind == dtype_kind::real; }
/// f16 or bf16: loaded, stored, cast, selected; nothing computes in them.
constexpr bool is_half(dtype t) { return is_float(t) && size_bytes(t) == 2; }
/// i8 to i64.
constexpr bool is_signed_integer(dtype t) { return facts(t).kind == dtype_kind::signed_integer; }
/// u8 to u64; not boolean.
constexpr bool is_unsigned_integer(dtype t) { return facts(t).kind == dtype_kind::unsigned_integer; }
/// Either; not boolean.
constexpr bool is_integer(dtype t) { return is_signed_integer(t) || is_unsigned_integer(t); }

template <class T>
struct dtype_of_t {};
template <dtype>
struct element_type_of;
#define WEFT_X(id, element, text, kind, computed) \
  template <>                                     \
  struct dtype_of_t<element> {                    \
    static constexpr dtype value = dtype::id;     \
  };                                              \
  template <>                                     \
  struct element_type_of<dtype::id> {             \
    using type = element;                         \
  };
WEFT_DTYPES(WEFT_X)
#undef WEFT_X
// The other type of C++ with the same 64 bits, as in 2LL.
template <>
struct dtype_of_t<long long> : dtype_of_t<std::int64_t> {};
template <>
struct dtype_of_t<unsigned long long> : dtype_of_t<std::uint64_t> {};
// The compiler's own 16-bit floats (std::float16_t is one of them), where it has them, are elements too. (g++ 12 for aarch64
// knows the limits of one that it does not have.)
#if defined(__FLT16_MAX__) && (defined(__clang__) || defined(__x86_64__) || __GNUC__ >= 13)
template <>
struct dtype_of_t<_Float16> {
  static constexpr dtype value = dtype::f16;
};
#endif
#if defined(__BFLT16_MAX__) || (defined(__clang__) && __clang_major__ >= 17 && defined(__x86_64__))
template <>
struct dtype_of_t<__bf16> {
  static constexpr dtype value = dtype::bf16;
};
#endif
/// A C++ type whose values are elements of tensors.
template <class T>
concept element = requires { dtype_of_t<T>::value; };
/// The element type of T: `dtype_of<float>` is f32.
template <element T>
inline constexpr dtype dtype_of = dtype_of_t<T>::value;
/// The element type of `t`; of two that share a dtype the first: f16 of _Float16, std::int64_t of long long.
template <dtype T>
using element_t = typename element_type_of<T>::type;

/// Calls `f` with a value-initialised element of the C++ type of `t`.
template <class F>
constexpr decltype(auto) with_dtype(dtype t, F&& f) {
  switch (t) {
#define WEFT_X(id, type, text, kind, computed) \
  case dtype::id: return f(type{});
    WEFT_DTYPES(WEFT_X)
#undef WEFT_X
  }
  return f(double{});
}

/// What two types meet in; nothing where `exists` is false.
struct meeting_type {
  bool exists;
  dtype type;
};
/// The type in which an operation on `a` and `b` is done.
///
/// Both widen by themselves first. A float wins over any integer (i64 with f32 is f32, as in PyTorch: the element type
/// of a tensor is not widened by an index), the wider over the narrower, everything over bool. A signed integer meets
/// an unsigned one in the signed type that holds both: i32 with u32 is i64. For u64 with a signed one there is none.
constexpr meeting_type promote(dtype a, dtype b) {
  if (a == dtype::boolean) return {true, computed(b)};
  if (b == dtype::boolean) return {true, computed(a)};
  if (is_float(a) || is_float(b)) {
    bool const f64 = a == dtype::f64 || b == dtype::f64;
    return {true, f64 ? dtype::f64 : dtype::f32};
  }
  if (is_signed_integer(a) == is_signed_integer(b)) return {true, computed(size_bytes(b) > size_bytes(a) ? b : a)};
  dtype const s = is_signed_integer(a) ? a : b, u = is_signed_integer(a) ? b : a;
  if (u == dtype::u64) return {false, dtype::i64};
  return {true, s == dtype::i64 || u == dtype::u32 ? dtype::i64 : dtype::i32};
}

}  // namespace weft::inline WEFT_ABI
