// The schedule that a how-lambda writes on: the nest, the trace of the steps taken, and the verdict so far.
#pragma once

#include <initializer_list>

#include "weft/base/sequence.hpp"
#include "weft/schedule/step/parallel.hpp"
#include "weft/schedule/step/reorder.hpp"
#include "weft/schedule/step/split.hpp"
#include "weft/schedule/step/tile.hpp"
#include "weft/schedule/step/unroll.hpp"
#include "weft/schedule/step/vectorize.hpp"

namespace weft::inline WEFT_ABI {

/// The steps taken, in order.
using trace = sequence<step>;

/// A number that may be chosen, and which of its values this run took.
struct knob_info {
  short_name name;
  sequence<std::int64_t> values;
  std::int32_t chosen = 0;
};

/// What a how-lambda is given as `s`. The steps themselves are documented in schedule/step/.
///
/// The same code runs in the compiler (extents unknown, `loud` to turn an illegal step into a compile error),
/// at the first call, and under the tuner with other knob values.
struct schedule : nest,
                  split_step<schedule>,
                  reorder_step<schedule>,
                  tile_step<schedule>,
                  unroll_step<schedule>,
                  vectorize_step<schedule>,
                  parallel_step<schedule> {
  trace steps;
  sequence<knob_info> knobs;
  sequence<std::int32_t> choices;  // per knob in order of use; 0 beyond the end
  verdict state = verdict::legal;
  bool loud = false;
  std::int32_t failed = -1;  // the first illegal step

  constexpr schedule() = default;
  template <class Extents>
  constexpr schedule(program const& p, Extents const& inputs, schedule_limits l = {}, bool say_it = false)
      : nest(p, inputs, l), loud(say_it) {}

  /// One of `values`: the first, unless the tuner or a tuned result says otherwise.
  constexpr std::int64_t knob(std::string_view name, std::initializer_list<std::int64_t> values) {
    if (values.size() == 0) {
      if (loud) say(diagnosis::a_knob_needs_at_least_one_value);
      state = verdict::illegal;
      return 1;
    }
    std::size_t const i = knobs.size();
    std::int32_t const chosen = i < choices.size() ? choices[i] : 0;
    knobs.push_back({short_name(name), {values.begin(), values.end()}, chosen});
    return values.begin()[static_cast<std::size_t>(chosen) % values.size()];
  }

  static constexpr ruling check(nest const& n, step const& s) {
    switch (s.what) {
      case verb::split: return split_rule::check(n, s);
      case verb::reorder: return reorder_rule::check(n, s);
      case verb::unroll: return unroll_rule::check(n, s);
      case verb::vectorize: return vectorize_rule::check(n, s);
      case verb::parallel: break;
    }
    return parallel_rule::check(n, s);
  }
  constexpr void perform(step const& s) {
    switch (s.what) {
      case verb::split: return split_rule::perform(*this, s);
      case verb::reorder: return reorder_rule::perform(*this, s);
      case verb::unroll: return unroll_rule::perform(*this, s);
      case verb::vectorize: return vectorize_rule::perform(*this, s);
      case verb::parallel: return parallel_rule::perform(*this, s);
    }
  }
  /// Judges a step, records it, and changes the nest if it is not illegal. After the first illegal step all
  /// others are passed over: their axes may come from it.
  constexpr bool take(step& s) {
    if (failed >= 0) return false;
    ruling const r = check(*this, s);
    s.ruling = r.v;
    s.reason = r.why;
    if (loud) say(r.why);
    if (r.v > state) state = r.v;
    if (r.v == verdict::illegal) failed = static_cast<std::int32_t>(steps.size());
    steps.push_back(s);
    if (r.v == verdict::illegal) return false;
    perform(s);
    return true;
  }
};

/// The handle of a stage in a how-lambda.
template <int Axes>
struct stage_handle {
  int stage = -1;
  std::array<axis, static_cast<std::size_t>(Axes)> all{};
  /// The stage's axes, spatial ones first: `auto [i, j, k] = C.axes();`
  constexpr std::array<axis, static_cast<std::size_t>(Axes)> axes() const { return all; }
};
/// The handle of an input in a how-lambda. No step of today takes one; they keep their places in the list.
struct input_handle {
  int input = -1;
};

template <int Axes>
constexpr stage_handle<Axes> handle_of(schedule const& s, int stage) {
  stage_handle<Axes> h{stage, {}};
  for (std::size_t i = 0; i < h.all.size(); ++i)
    h.all[i] = axis{s.computation->stages[static_cast<std::size_t>(stage)].first_axis + static_cast<int>(i)};
  return h;
}

/// The stage called Name, for a how-lambda that takes the schedule alone.
template <fixed_string Name, int Axes>
constexpr stage_handle<Axes> stage(schedule const& s) {
  program const& p = *s.computation;
  for (std::size_t i = 0; i < p.stages.size(); ++i)
    if (program::at(p.tensors, p.stages[i].tensor).name.view() == Name.view() && p.stages[i].axes() == Axes)
      return handle_of<Axes>(s, static_cast<int>(i));
  return {};
}

}  // namespace weft::inline WEFT_ABI
