// Step: reorder.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

struct reorder_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    bool scan = false;
    for (int i = 0; i < s.count; ++i) {
      int const l = s.loops[static_cast<std::size_t>(i)];
      if (ruling const r = n.usable(l); r.v != verdict::legal) return r;
      if (n.at(l).stage != n.at(s.loops[0]).stage) return illegal(diagnosis::the_axes_belong_to_different_stages);
      scan = scan || n.at(l).scanned;
      for (int k = 0; k < i; ++k)
        if (s.loops[static_cast<std::size_t>(k)] == l) return illegal(diagnosis::an_axis_is_named_twice);
    }
    for (std::int32_t l : n.order_of(s.loops[0]))
      if (scan || n.at(l).kind != loop_kind::serial || n.at(l).by != nullptr) {
        sequence<std::int32_t> order = n.order_of(s.loops[0]);
        rearrange(order, s);
        if (ruling const r = n.scan_fits(order); r.v != verdict::legal) return r;
        return n.marks_fit(order);
      }
    return {};
  }
  static constexpr void perform(nest& n, step const& s) { rearrange(n.order_of(s.loops[0]), s); }

 private:
  static constexpr void rearrange(sequence<std::int32_t>& order, step const& s) {
    std::size_t next = 0;
    for (std::int32_t& l : order) {
      bool named = false;
      for (int i = 0; i < s.count; ++i) named = named || s.loops[static_cast<std::size_t>(i)] == l;
      if (named) l = s.loops[next++];
    }
  }
};

/// `s.reorder`, as a part of `schedule`.
template <class Schedule>
struct reorder_step {
  /// Puts the named loops into this order, outermost first; loops that are not named keep their places.
  ///
  ///     for i: for j: for k:   ->   reorder(k, i, j)   ->   for k: for i: for j:
  ///
  /// Needs   live loops of one stage, each named once; a parallel loop stays outside of unrolled and vectorized
  ///         ones, an inner part of a vectorized axis outside of it; of a scanned axis the outer part around the inner one
  /// Keeps   each element's sum is taken over the same terms; their order changes only when two parts of
  ///         reduced axes change places
  /// Source  Ragan-Kelley et al., PLDI 2013, section 3
  template <class... Axis>
  constexpr void reorder(Axis... axes) {
    static_assert(sizeof...(Axis) >= 1 && sizeof...(Axis) <= step::max_axes, "weft: reorder takes 1 to 16 axes");
    step request{verb::reorder, static_cast<std::int32_t>(sizeof...(Axis)), {axes.id...}};
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
