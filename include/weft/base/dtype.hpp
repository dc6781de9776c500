// The element types, and the one table of how two of them meet.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

enum class dtype : std::uint8_t { boolean, u8, i32, i64, f32, f64 };
inline constexpr int dtype_count = 6;

constexpr int size_bytes(dtype t) {
  constexpr int bytes[] = {1, 1, 4, 8, 4, 8};
  return bytes[static_cast<int>(t)];
}
constexpr std::string_view name(dtype t) {
  constexpr std::string_view names[] = {"bool", "u8", "i32", "i64", "f32", "f64"};
  return names[static_cast<int>(t)];
}
constexpr bool is_float(dtype t) { return t == dtype::f32 || t == dtype::f64; }
constexpr bool is_signed_integer(dtype t) { return t == dtype::i32 || t == dtype::i64; }
constexpr bool is_integer(dtype t) { return t == dtype::u8 || is_signed_integer(t); }

template <class T>
struct dtype_of_t {};
// clang-format off
template <> struct dtype_of_t<bool> { static constexpr dtype value = dtype::boolean; };
template <> struct dtype_of_t<std::uint8_t> { static constexpr dtype value = dtype::u8; };
template <> struct dtype_of_t<std::int32_t> { static constexpr dtype value = dtype::i32; };
template <> struct dtype_of_t<std::int64_t> { static constexpr dtype value = dtype::i64; };
template <> struct dtype_of_t<float> { static constexpr dtype value = dtype::f32; };
template <> struct dtype_of_t<double> { static constexpr dtype value = dtype::f64; };
// clang-format on
template <class T>
concept element = requires { dtype_of_t<T>::value; };
template <element T>
inline constexpr dtype dtype_of = dtype_of_t<T>::value;

/// Calls `f` with a value-initialised element of the C++ type of `t`.
template <class F>
constexpr decltype(auto) with_dtype(dtype t, F&& f) {
  switch (t) {
    case dtype::boolean: return f(bool{});
    case dtype::u8: return f(std::uint8_t{});
    case dtype::i32: return f(std::int32_t{});
    case dtype::i64: return f(std::int64_t{});
    case dtype::f32: return f(float{});
    case dtype::f64: break;
  }
  return f(double{});
}

/// The type in which an operation on `a` and `b` is done: the wider of one kind, and any float over any
/// integer (i64 with f32 is f32, as in PyTorch: the element type of a tensor is not widened by an index).
constexpr dtype promote(dtype a, dtype b) {
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  return static_cast<int>(a) > static_cast<int>(b) ? a : b;
}

}  // namespace weft::inline WEFT_ABI
