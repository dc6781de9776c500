// Step: specialize.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

/// What specialize takes: `s.extent(i) % 16 == 0`, `s.extent(i) == 1024`, and several of these joined by `&&`.
struct extent_condition {
  step asked;
  /// Both; of extents of one stage.
  constexpr extent_condition operator&&(extent_condition const& o) const {
    extent_condition both = *this;
    for (std::int64_t n : o.asked.numbers) both.asked.numbers.push_back(n);
    if (o.asked.stage != asked.stage) both.asked.numbers[0] = -2;
    return both;
  }
};
/// The extent of an axis, of which something can be asked.
struct axis_length {
  /// What a divisor leaves of it.
  struct remainder {
    extent_condition of;
    /// Whether it is that.
    constexpr extent_condition operator==(std::int64_t rest) const {
      extent_condition c = of;
      c.asked.numbers[2] = rest;
      return c;
    }
  };
  extent_condition of;
  /// Needs   a divisor of at least 1
  constexpr remainder operator%(std::int64_t by) const {
    remainder r{of};
    r.of.asked.numbers[1] = by > 0 ? by : -1;
    return r;
  }
  /// Whether the extent is that.
  constexpr extent_condition operator==(std::int64_t number) const { return remainder{of} == number; }
};

// step::numbers, in threes: an axis of the stage, a divisor and the rest that its extent leaves; divisor 0: the extent itself.
struct specialize_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (s.stage < 0 || s.stage >= static_cast<int>(n.order.size()))
      return illegal(diagnosis::the_axis_belongs_to_no_stage_of_this_schedule);
    placement const& place = program::at(n.places, s.stage);
    if (place.loop >= 0 || place.inlined)
      return illegal(diagnosis::a_stage_that_runs_inside_another_has_no_copy_of_its_own__specialize_that_one);
    if (s.numbers.empty() || s.numbers.size() % 3 != 0)
      return illegal(diagnosis::a_condition_is_a_rest_below_its_divisor_or_an_extent_from_1_on);
    for (std::size_t i = 0; i < s.numbers.size(); i += 3) {
      std::int64_t const axis = s.numbers[i], by = s.numbers[i + 1], rest = s.numbers[i + 2];
      if (axis == -2) return illegal(diagnosis::the_axes_belong_to_different_stages);
      if (axis < 0 || axis >= program::at(n.computation().stages, s.stage).axes())
        return illegal(diagnosis::a_condition_is_about_whole_axes__not_about_parts_or_several_fused);
      bool const fits = by == 0 ? rest >= 1 && rest <= most : by > 0 && by <= most && rest >= 0 && rest < by;
      if (!fits) return illegal(diagnosis::a_condition_is_a_rest_below_its_divisor_or_an_extent_from_1_on);
    }
    return {};
  }
  static constexpr void perform(nest& n, step const& s) { n.specials.push_back({s.stage, s.numbers}); }

 private:
  static constexpr std::int64_t most = std::int64_t(1) << 31;
};

/// `s.specialize`, as a part of `schedule`.
template <class Schedule>
struct specialize_step {
  /// The extent of an axis of a stage, whether that is still a loop or was split: `s.extent(i) % 16 == 0`.
  constexpr axis_length extent(axis i) const {
    nest const& n = static_cast<Schedule const&>(*this);
    extent_condition c{step{verb::specialize}};
    if (i.id >= 0 && i.id < static_cast<int>(n.loops.size())) {
      loop_info const& l = n.at(i.id);
      c.asked.stage = l.stage;
      bool const whole = l.parent < 0 && l.first < 0 && !l.gone;
      c.asked.numbers.push_back(whole ? l.root - program::at(n.computation().stages, l.stage).first_axis : -1);
    } else {
      c.asked.numbers.push_back(-1);
    }
    c.asked.numbers.push_back(0);
    c.asked.numbers.push_back(0);
    return {c};
  }
  /// Makes the nest of a stage once more, for sizes that meet a condition; which one runs is asked once, in front of both.
  ///
  ///     for io in 0..ceil(n / 16):                if n % 16 == 0:
  ///       if io * 16 + 15 < n: ..         ->        for io in 0..n / 16: ..
  ///       else: (the tail)                        else:
  ///                                                 (as before)
  ///
  /// Both copies have the same schedule. In the new one all that follows from the condition is known: splits that divide
  /// leave no tail, a loop of known length is a loop of known length. Of sizes that are numbers all is known anyway, and
  /// nothing is left of the step. Of several conditions the first that is met counts.
  ///
  /// Needs   whole axes of one stage, which runs in a nest of its own: with it, what is computed in its loops is copied.
  ///         Divisors, and sizes to be met, from 1 to 2^31
  /// Keeps   all results, bit for bit
  /// Errors  schedule_error "specialize: a condition is about whole axes"
  /// Cost    code of the nest once more for each condition; a remainder at each call
  /// Source  Halide, `Func::specialize`; there the copy can have another schedule
  constexpr void specialize(extent_condition const& c) {
    step request = c.asked;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
