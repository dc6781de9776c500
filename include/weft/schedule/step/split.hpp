// Step: split.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

struct split_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = n.unmarked(s.loops[0]); r.v != verdict::legal) return r;
    if (s.factor < 1) return illegal(diagnosis::a_factor_must_be_at_least_1);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) {
    int const id = s.loops[0];
    auto const outer = static_cast<std::int32_t>(n.loops.size());
    loop_info part = n.at(id);
    short_name const name = part.name;
    std::int64_t const extent = part.extent;
    part.parent = id;
    part.first = -1;
    part.name = short_name(name.view()).append("o");
    part.extent = extent < 0 ? extent : ceil_div(extent, s.factor);
    n.loops.push_back(part);
    part.name = short_name(name.view()).append("i");
    part.extent = extent >= 0 && extent < s.factor ? extent : s.factor;
    n.loops.push_back(part);
    loop_info& whole = n.at(id);
    whole.outer = outer;
    whole.inner = outer + 1;
    whole.factor = s.factor;
    sequence<std::int32_t>& order = n.order_of(id);
    sequence<std::int32_t> next;
    for (std::int32_t l : order) {
      next.push_back(l == id ? outer : l);
      if (l == id) next.push_back(outer + 1);
    }
    order = next;
  }
};

/// `s.split`, as a part of `schedule`.
template <class Schedule>
struct split_step {
  /// Cuts a loop in two; the inner one runs `factor` times.
  ///
  ///     for i in 0..n:            for io in 0..ceil(n / factor):
  ///       body(i)         ->        for ii in 0..factor:
  ///                                   if io*factor + ii < n: body(io*factor + ii)
  ///
  /// Needs   `i` is a loop of its stage, not unrolled, vectorized or parallel; factor >= 1
  /// Keeps   every index is visited exactly once, in the same order
  /// Tail    a serial inner loop ends early; an unrolled or vectorized one is cut into a full and a last part
  /// Errors  schedule_error "split: the axis was split already"
  /// Cost    none at run time when the factor divides n
  /// Source  Ragan-Kelley et al., PLDI 2013, section 3
  constexpr std::array<axis, 2> split(axis i, std::int64_t factor) {
    auto& s = static_cast<Schedule&>(*this);
    step request{verb::split, 1, {i.id}, factor};
    if (!s.take(request)) return {};
    return {axis{s.at(i.id).outer}, axis{s.at(i.id).inner}};
  }
};

}  // namespace weft::inline WEFT_ABI
