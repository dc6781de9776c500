// Operands on which math functions are tried: special ones, dense ones where results change most, random ones.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "weft/base/op.hpp"

namespace weft_test {

template <class T>
struct operands {
  std::vector<T> a, b;
};

template <class T>
class sampler {
 public:
  explicit sampler(std::uint64_t seed) : state_(seed * 2 + 1) {}

  /// `count` pairs. First all pairs of special values.
  operands<T> draw(std::size_t count) {
    using limits = std::numeric_limits<T>;
    std::vector<T> special{0, T(0.5), 1, T(1.5), 2, 3, T(2.5), 10, T(100.5), T(1e5), T(2147483648.0),
                           limits::infinity(), limits::quiet_NaN(), limits::denorm_min(), limits::min(), limits::max(),
                           limits::epsilon(), 1 + limits::epsilon(), 1 - limits::epsilon() / 2, T(0.9375), 4, 6,
                           2 / limits::epsilon(), 1 / limits::epsilon() + 1, T(88.72283), T(709.782712893384),
                           T(103.97208), T(745.1332191019411), T(1e30), T(1e-30)};
    for (std::size_t n = special.size(); n-- > 0;) special.push_back(-special[n]);
    operands<T> all;
    for (T const x : special)
      for (T const y : special) add(all, x, y);
    while (all.a.size() < count) {
      std::uint64_t const kind = random() % 16;
      T const x = one(kind % 8);
      // For pow: whole exponents, and those for which the result is a number.
      T y = one(random() % 8);
      if (kind == 1) y = static_cast<T>(static_cast<int>(random() % 41) - 20);
      if (kind == 2) y = uniform(limits::max_exponent) / std::log2(std::fabs(x));
      // For fmod and atan2: operands of like size.
      if (kind == 3) y = x * (1 + uniform(1) * limits::epsilon() * T(64));
      add(all, x, y);
    }
    all.a.resize(count), all.b.resize(count);
    return all;
  }

 private:
  static void add(operands<T>& all, T x, T y) { all.a.push_back(x), all.b.push_back(y); }
  std::uint64_t random() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1du >> 8;
  }
  /// -size .. size
  T uniform(double size) { return static_cast<T>(size * (static_cast<double>(random() >> 4) * 0x1p-51 - 1)); }
  T one(std::uint64_t kind) {
    using bits = decltype(weft::to_bits(T{}));
    switch (kind) {
      case 0: return weft::from_bits<T>(static_cast<bits>(sizeof(T) == 4 ? static_cast<std::int32_t>(random())
                                                                         : static_cast<bits>(random() << 8 ^ random())));
      case 1: return std::ldexp(1 + std::fabs(uniform(1)), static_cast<int>(random() % 24) - 12) * (random() & 1 ? 1 : -1);
      case 2: return uniform(8);
      case 3: return uniform(sizeof(T) == 4 ? 110 : 750);
      case 4: return 1 + uniform(1);
      case 5: return static_cast<T>(static_cast<double>(random() % 100000) * 0x1.921fb54442d18p+0);  // next to k pi / 2
      case 6: return std::fabs(uniform(30));
      default: return -std::ldexp(1 + std::fabs(uniform(1)), -static_cast<int>(random() % 60));
    }
  }
  std::uint64_t state_;
};

}  // namespace weft_test
