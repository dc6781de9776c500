// Points of a space, for tests.
#pragma once

#include "weft/schedule/print.hpp"
#include "weft/tune/point.hpp"
#include "weft/tune/space.hpp"

namespace weft_test {

/// A legal point whose steps are not those of the first.
inline weft::tuning::point other_point(weft::tuning::space& s, std::uint64_t seed = 5) {
  weft::tuning::random_numbers random(seed);
  std::uint64_t const own = weft::hash(s.at({}).steps);
  for (;;) {
    weft::tuning::point const p = weft::tuning::random_point(s, random);
    if (p.legal && weft::hash(s.at(p.choices).steps) != own) return p;
  }
}

}  // namespace weft_test
