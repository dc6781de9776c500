// Step: tile, made of split and reorder; a trace shows those.
#pragma once

#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

/// `s.tile`, as a part of `schedule`.
template <class Schedule>
struct tile_step {
  /// Cuts two loops into blocks; returns {io, jo, ii, ji} in their new order.
  ///
  ///     for i: for j:    ->    for io: for jo: for ii in 0..fi: for ji in 0..fj:
  ///
  /// Same as split(i, fi), split(j, fj), reorder(io, jo, ii, ji); needs what those need.
  constexpr std::array<axis, 4> tile(axis i, axis j, std::int64_t fi, std::int64_t fj) {
    auto& s = static_cast<Schedule&>(*this);
    auto const [io, ii] = s.split(i, fi);
    auto const [jo, ji] = s.split(j, fj);
    s.reorder(io, jo, ii, ji);
    return {io, jo, ii, ji};
  }
};

}  // namespace weft::inline WEFT_ABI
