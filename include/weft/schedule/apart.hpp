// Whether the iterations of the loops around a place have indices of their own, of which none has any of another one's.
#pragma once

#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// What one iteration of the loops up to some one of a stage leaves of an axis, as an interval: lowering knows no finer set
/// (lower/guests.ipp). A verdict is deferred where extents decide that are not known yet; of open ones the worst is taken.
class indices_within {
 public:
  constexpr indices_within(nest const& n, int loop) : n_(n), last_(n.position(loop)) {}
  /// Whether all iterations around have intervals of their own along an axis, which is no part of one.
  constexpr verdict apart(int axis) const { return of(axis).apart; }

 private:
  enum class share : std::uint8_t { one, some, all };  // values: some of them begin at a multiple of their number
  struct indices {
    share left = share::all;
    std::int64_t count = 0;
    verdict apart = verdict::legal;   // from those of other iterations
    verdict inside = verdict::legal;  // of the axis or part: else the last ones are of the part behind it
  };

  constexpr indices of(int loop) const {
    loop_info const& l = n_.at(loop);
    if (l.extent == 0) return {share::one, 1};  // there are no iterations
    if (l.into >= 0) return of_fused(loop);
    if (!l.is_split()) return n_.position(loop) <= last_ ? indices{share::one, 1} : indices{share::all, l.extent};
    std::int64_t const factor = n_.at(l.inner).extent;
    if (factor == 1) return of(l.outer);
    if (n_.at(l.outer).extent == 1) return of(l.inner);
    indices const outer = of(l.outer), inner = of(l.inner);
    indices whole{share::some, l.extent, worse(outer.apart, inner.apart)};
    if (inner.left != share::one) whole.inside = worse(worse(outer.inside, inner.inside), divides(factor, l.extent));
    if (outer.left == inner.left && outer.left != share::some) {
      whole.left = outer.left;
      if (outer.left == share::one) whole.count = 1;
    } else if (outer.left == share::one || (outer.left == share::some && inner.left == share::all)) {
      whole.apart = worse(whole.apart, inner.inside);
      whole.count = outer.left == share::one ? inner.count : outer.count < 0 ? outer.count : outer.count * factor;
    } else {
      whole.apart = verdict::illegal;
    }
    return whole;
  }
  /// Of what went into a fused loop, quotients and remainders.
  constexpr indices of_fused(int loop) const {
    loop_info const& l = n_.at(loop);
    indices const whole = of(l.into);
    indices part{whole.left, whole.left == share::one ? 1 : l.extent, whole.apart, whole.inside};
    if (whole.left != share::some) return part;
    std::int64_t further_in = 1;  // iterations of those that stood inside of this one
    for (int i = l.next; i >= 0; i = n_.at(i).next) further_in = times(further_in, n_.at(i).extent);
    std::int64_t const here = times(further_in, l.extent);
    verdict const whole_runs = divides(further_in, whole.count), in_one = divides(whole.count, here);
    if (divides(whole.count, further_in) == verdict::legal) {
      part = {share::one, 1, whole.apart};
    } else if (divides(here, whole.count) == verdict::legal) {
      part = {share::all, l.extent, whole.apart};
    } else {
      bool const outermost = n_.at(l.into).first == loop;
      part.inside = worse(whole.inside, in_one);
      part.apart = worse(whole.apart, outermost ? whole_runs : worse(whole_runs, in_one));
      part.count = whole_runs == verdict::legal ? whole.count / further_in : l.extent;
      if (further_in == -1 || here == -1 || whole.count == -1) part.apart = worse(whole.apart, verdict::deferred);
    }
    return part;
  }
  static constexpr verdict worse(verdict a, verdict b) { return a > b ? a : b; }
  static constexpr std::int64_t times(std::int64_t a, std::int64_t b) {
    if (a < 0 || b < 0) return a == open_trips || b == open_trips ? open_trips : -1;
    return a == 0 || b <= (std::int64_t(1) << 62) / a ? a * b : open_trips;
  }
  static constexpr verdict divides(std::int64_t by, std::int64_t n) {
    if (by == open_trips || n == open_trips) return verdict::illegal;
    if (by < 0 || n < 0) return verdict::deferred;
    return by > 0 && n % by == 0 ? verdict::legal : verdict::illegal;
  }

  nest const& n_;
  int last_;
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
