// Random numbers that are the same on every machine, and the elements of tensors drawn with them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <weft/base/sequence.hpp>

#include "weft/expr/evaluate.hpp"

namespace weft_test::fuzz {

/// splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int>(list.size()))];
  }
  template <class T>
  T const& one_of(weft::sequence<T> const& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::uint64_t state_;
};

/// One element. Tame floats are k / 8 with |k| <= 16: sums and products of a few are exact, in every type. Wild ones
/// are of any size, with infinities, NaN and both zeros.
inline std::int64_t draw_element(random_source& r, weft::dtype t, bool wild) {
  if (t == weft::dtype::boolean) return r.below(2);
  if (weft::is_float(t)) {
    double x = r.between(-16, 16) / 8.0;
    if (x == 0) x = 0;  // no negative zero
    if (wild) {
      double const inf = __builtin_inf();
      double const nan = inf - inf;
      double const picked =
          r.one_of({x,   x * 1e3, x * 1e10, x * 1e-10,    1e-42,         inf,          -inf,   nan,    nan,
                    nan, 0.0,     -0.0,     2147483648.0, -2147483648.0, 4294967296.0, 9.3e18, 1.9e19, 255.5,
                    0.1, 88.5,    3.4e38,   65519.0,      65520.0,       x * 1e-5,     6e-8});
      x = r.chance(60) ? x * 1.1 : picked;
    }
    return weft::converted(weft::dtype::f64, t, weft::to_bits(x));
  }
  std::int64_t x = weft::is_signed_integer(t) ? r.between(-9, 9) : r.below(10);
  if (wild && r.chance(60)) {
    x = static_cast<std::int64_t>(r.next());
    // The ends of t, and of others.
    auto const end = std::uint64_t(1) << (8 * r.one_of({1, 2, 4, 8, weft::size_bytes(t)}) - r.below(2)) % 64;
    auto const as_signed = [](std::uint64_t v) { return static_cast<std::int64_t>(v); };
    if (r.chance(50))
      x = r.one_of({INT64_MIN, INT64_MAX, INT64_MIN + 1, as_signed(end), as_signed(end - 1), as_signed(0 - end),
                    std::int64_t(-1)});
  }
  return weft::wrapped(t, x);
}

inline weft::dense draw_tensor(random_source& r, weft::dtype t, weft::sequence<std::int64_t> const& shape, bool wild) {
  weft::dense d{t, shape, {}};
  std::int64_t count = 1;
  for (std::int64_t e : shape) count *= e;
  for (std::int64_t i = 0; i < count; ++i) d.bits.push_back(draw_element(r, t, wild));
  return d;
}

}  // namespace weft_test::fuzz
