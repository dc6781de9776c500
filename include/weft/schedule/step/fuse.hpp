// Step: fuse.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

struct fuse_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    for (int i = 0; i < s.count; ++i) {
      int const l = s.loops[static_cast<std::size_t>(i)];
      if (ruling const r = n.unmarked(l); r.v != verdict::legal) return r;
      for (int k = 0; k < i; ++k)
        if (s.loops[static_cast<std::size_t>(k)] == l) return illegal(diagnosis::an_axis_is_named_twice);
      if (n.at(l).stage != n.at(s.loops[0]).stage) return illegal(diagnosis::the_axes_belong_to_different_stages);
      if (n.at(l).reduced != n.at(s.loops[0]).reduced)
        return illegal(diagnosis::a_reduction_axis_and_a_spatial_one_cannot_be_fused);
      if (n.at(l).scanned != n.at(s.loops[0]).scanned)
        return illegal(diagnosis::a_scanned_axis_and_another_one_cannot_be_fused);
    }
    int const first = n.position(s.loops[0]);
    for (int i = 1; i < s.count; ++i)
      if (n.position(s.loops[static_cast<std::size_t>(i)]) != first + i)
        return illegal(diagnosis::the_axes_do_not_stand_directly_inside_each_other__reorder_first);
    return length_fits(n, s);
  }
  static constexpr void perform(nest& n, step const& s) {
    auto const id = static_cast<std::int32_t>(n.loops.size());
    loop_info whole;
    whole.stage = n.at(s.loops[0]).stage;
    whole.reduced = n.at(s.loops[0]).reduced;
    whole.first = s.loops[0];
    whole.extent = 1;
    sequence<std::int32_t>& order = n.order_of(s.loops[0]);
    sequence<std::int32_t> next;
    for (std::int32_t l : order) {
      int named = 0;
      while (named < s.count && s.loops[static_cast<std::size_t>(named)] != l) ++named;
      if (named == 0 || named == s.count) next.push_back(named == 0 ? id : l);
    }
    order = next;
    for (int i = 0; i < s.count; ++i) {
      loop_info& part = n.at(s.loops[static_cast<std::size_t>(i)]);
      whole.scanned = whole.scanned || part.scanned;
      whole.name.append(part.name.view());
      if (part.extent == -1 || whole.extent == -1) whole.extent = -1;
      else if (part.extent == open_trips || whole.extent == open_trips) whole.extent = open_trips;
      else whole.extent = times(whole.extent, part.extent);
      part.into = id;
      if (i + 1 < s.count) part.next = s.loops[static_cast<std::size_t>(i) + 1];
    }
    n.loops.push_back(whole);
  }

 private:
  static constexpr std::int64_t most = std::int64_t(1) << 62;
  static constexpr std::int64_t times(std::int64_t a, std::int64_t b) { return b > 0 && a > most / b ? most + 1 : a * b; }
  /// Open extents are 2^48 in all, as those of a tensor in memory are (of reductions a call is asked for it); an inner part
  /// of a split of one is as long as its factor says, also where the size is smaller.
  static constexpr ruling length_fits(nest const& n, step const& s) {
    std::int64_t product = 1, padding = 1;
    bool zero = false, unknown = false, open = false;
    for (int i = 0; i < s.count; ++i) {
      loop_info const& l = n.at(s.loops[static_cast<std::size_t>(i)]);
      zero = zero || l.extent == 0;
      unknown = unknown || l.extent == -1;
      open = open || l.extent == open_trips;
      if (l.extent <= 0) continue;
      product = times(product, l.extent);
      if (l.parent >= 0 && n.at(l.parent).extent == open_trips) padding = times(padding, l.extent);
    }
    if (zero) return {};
    if ((product > most && !unknown) || (open && padding > 1 << 14))
      return illegal(diagnosis::the_fused_axis_would_run_more_than_2_to_the_62_times);
    return {unknown ? verdict::deferred : verdict::legal};
  }
};

/// `s.fuse`, as a part of `schedule`.
template <class Schedule>
struct fuse_step {
  /// Makes one loop of several that stand directly inside each other.
  ///
  ///     for i in 0..n:                for ij in 0..n * m:
  ///       for j in 0..m:     ->         body(ij / m, ij % m)
  ///         body(i, j)
  ///
  /// Needs   at least two loops of one stage, named from the outermost inwards, none with a loop between it and the next;
  ///         all reduced or all spatial, all parts of a scanned axis or none; not unrolled, vectorized or parallel; no stage is computed inside one of them
  /// Returns the fused loop, to be split, reordered and marked as any
  /// Keeps   the iterations and their order
  /// Errors  schedule_error "fuse: the axes do not stand directly inside each other, in this order; reorder first"
  /// Cost    a quotient and a remainder in each iteration, but where memory is contiguous over all of the axes, or a part
  ///         of the fused loop divides what it is divided by
  /// Source  Chen et al., OSDI 2018 (TVM), section 4.1
  template <class... Axis>
  constexpr axis fuse(Axis... axes) {
    static_assert(sizeof...(Axis) >= 2 && sizeof...(Axis) <= step::max_axes, "weft: fuse takes 2 to 16 axes");
    auto& s = static_cast<Schedule&>(*this);
    step request{verb::fuse, static_cast<std::int32_t>(sizeof...(Axis)), {axes.id...}};
    if (!s.take(request)) return {};
    return axis{s.at(request.loops[0]).into};
  }
};

}  // namespace weft::inline WEFT_ABI
