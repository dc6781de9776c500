// Knobs that schedules often have: divisors, powers of two, switches, orders of loops. For how-lambdas; also in the compiler.
#pragma once

#include <array>

#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {

/// A switch: off first.
///
///     if (weft::flag(s, "packed")) s.cache_read(B, C);
constexpr bool flag(schedule& s, std::string_view name) { return s.knob(name, {0, 1}) != 0; }

/// A power of two from `least` to `most`, the largest first: 1 to 2^62.
///
///     auto [jo, ji] = s.split(j, weft::power_of_two(s, "nr", 8, 64));        // 64, 32, 16, 8
constexpr std::int64_t power_of_two(schedule& s, std::string_view name, std::int64_t least, std::int64_t most) {
  sequence<std::int64_t> values;
  for (std::int64_t v = std::int64_t(1) << 62; v > 0; v /= 2)
    if (v >= least && v <= most) values.push_back(v);
  return s.knob(name, values);
}

/// A divisor of `n` of at most `most`, the largest first; 1 when n is not known (0 or less).
///
///     auto [ko, ki] = s.split(k, weft::divisor(s, "kb", 1000, 300));         // 250, 200, 125, 100, ..
///
/// Cost    O(most) in each run of the how-lambda
constexpr std::int64_t divisor(schedule& s, std::string_view name, std::int64_t n, std::int64_t most) {
  sequence<std::int64_t> values;
  for (std::int64_t v = most < n ? most : n; v > 1; --v)
    if (n % v == 0) values.push_back(v);
  values.push_back(1);
  return s.knob(name, values);
}
/// Of a loop's extent, as far as it is known: in the compiler it is not, and the only value is 1.
constexpr std::int64_t divisor(schedule& s, std::string_view name, axis i, std::int64_t most) {
  return divisor(s, name, s.usable(i.id).v == verdict::legal ? s.at(i.id).extent : 0, most);
}

/// The axes in an order: the given one first, then all others; at most 5 axes.
///
///     auto [a, b, c] = weft::permutation(s, "order", io, jo, ko);
///     s.reorder(a, b, c, ii, ji);
///
/// Source  Lehmer's code: the number of a permutation in factorial base
template <class... Axis>
constexpr std::array<axis, sizeof...(Axis)> permutation(schedule& s, std::string_view name, Axis... axes) {
  constexpr std::size_t n = sizeof...(Axis);
  static_assert(n >= 1 && n <= 5, "weft: permutation takes 1 to 5 axes: there are 720 orders of 6");
  sequence<std::int64_t> values;
  std::int64_t orders = 1;
  for (std::size_t i = 2; i <= n; ++i) orders *= static_cast<std::int64_t>(i);
  for (std::int64_t v = 0; v < orders; ++v) values.push_back(v);
  std::int64_t rest = s.knob(name, values);
  sequence<axis> left{axes...};
  std::array<axis, n> chosen{};
  for (std::size_t i = 0; i < n; ++i) {
    orders /= static_cast<std::int64_t>(n - i);
    std::size_t const which = static_cast<std::size_t>(rest / orders);
    rest %= orders;
    chosen[i] = left[which];
    left.erase(left.begin() + which);
  }
  return chosen;
}

}  // namespace weft::inline WEFT_ABI
