// How a border that mirrors is found again in a program (boundary.hpp writes it).
#pragma once

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// min(x % p, c - x % p), by the nodes of x, p and c; `place` -1: the node is something else.
struct mirror_image {
  std::int32_t place = -1, period = -1, sum = -1;

  mirror_image(program const& p, node const& n) {
    if (n.kind != op::min || n.type != dtype::i64) return;
    for (bool const first : {true, false}) {
      std::int32_t const there = first ? n.a : n.b;
      node const &modulo = p.at(there), &other = p.at(first ? n.b : n.a);
      if (modulo.kind != op::floor_mod || other.kind != op::sub || other.b != there) continue;
      place = modulo.a, period = modulo.b, sum = other.a;
    }
  }
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
