// The schedule that a how-lambda writes on: the nest, the trace of the steps taken, and the verdict so far.
#pragma once

#include <initializer_list>

#include "weft/base/sequence.hpp"
#include "weft/schedule/handle.hpp"
#include "weft/schedule/step/bind.hpp"
#include "weft/schedule/step/cache_read.hpp"
#include "weft/schedule/step/cache_write.hpp"
#include "weft/schedule/step/compute_at.hpp"
#include "weft/schedule/step/compute_inline.hpp"
#include "weft/schedule/step/compute_root.hpp"
#include "weft/schedule/step/compute_with.hpp"
#include "weft/schedule/step/decompose_reduction.hpp"
#include "weft/schedule/step/fold_storage.hpp"
#include "weft/schedule/step/fuse.hpp"
#include "weft/schedule/step/im2col.hpp"
#include "weft/schedule/step/jam.hpp"
#include "weft/schedule/step/parallel.hpp"
#include "weft/schedule/step/pipeline.hpp"
#include "weft/schedule/step/prefetch.hpp"
#include "weft/schedule/step/prepack.hpp"
#include "weft/schedule/step/reorder.hpp"
#include "weft/schedule/step/reverse_compute_at.hpp"
#include "weft/schedule/step/reverse_compute_inline.hpp"
#include "weft/schedule/step/rfactor.hpp"
#include "weft/schedule/step/set_scope.hpp"
#include "weft/schedule/step/specialize.hpp"
#include "weft/schedule/step/split.hpp"
#include "weft/schedule/step/store_at.hpp"
#include "weft/schedule/step/store_non_temporal.hpp"
#include "weft/schedule/step/storage_align.hpp"
#include "weft/schedule/step/swizzle.hpp"
#include "weft/schedule/step/tensorize.hpp"
#include "weft/schedule/step/tile.hpp"
#include "weft/schedule/step/transform_layout.hpp"
#include "weft/schedule/step/unroll.hpp"
#include "weft/schedule/step/vectorize.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
template <class Rule>
concept rewrites_program = requires(program& p, step const& s) { Rule::rewrite(p, s); };
template <class Rule>
constexpr void rewrite_by(program& p, step const& s) {
  if constexpr (rewrites_program<Rule>) Rule::rewrite(p, s);
}
/// Whether steps of this kind change the program, not its loops alone.
constexpr bool changes_program(verb v) {
  switch (v) {
#define WEFT_X(name, ...) \
  case verb::name: return rewrites_program<name##_rule>;
    WEFT_STEPS(WEFT_X)
#undef WEFT_X
  }
  return false;
}
}  // namespace detail

/// `p`, which has the stages of the program that the steps were taken for, with all that they changed in it.
constexpr program rewritten(program p, trace const& steps) {
  for (step const& s : steps) {
    if (s.ruling == verdict::illegal) break;
    switch (s.what) {
#define WEFT_X(name, ...) \
  case verb::name: detail::rewrite_by<name##_rule>(p, s); break;
      WEFT_STEPS(WEFT_X)
#undef WEFT_X
    }
  }
  return p;
}

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
                  parallel_step<schedule>,
                  compute_at_step<schedule>,
                  compute_inline_step<schedule>,
                  compute_root_step<schedule>,
                  cache_read_step<schedule>,
                  store_at_step<schedule>,
                  fold_storage_step<schedule>,
                  fuse_step<schedule>,
                  im2col_step<schedule>,
                  cache_write_step<schedule>,
                  transform_layout_step<schedule>,
                  storage_align_step<schedule>,
                  swizzle_step<schedule>,
                  set_scope_step<schedule>,
                  reverse_compute_at_step<schedule>,
                  reverse_compute_inline_step<schedule>,
                  rfactor_step<schedule>,
                  decompose_reduction_step<schedule>,
                  compute_with_step<schedule>,
                  specialize_step<schedule>,
                  store_non_temporal_step<schedule>,
                  prefetch_step<schedule>,
                  jam_step<schedule>,
                  prepack_step<schedule>,
                  pipeline_step<schedule>,
                  bind_step<schedule>,
                  tensorize_step<schedule> {
  trace steps;
  sequence<knob_info> knobs;
  sequence<std::int32_t> choices;  // per knob in order of use; 0 beyond the end
  /// Who chooses in their place, where a knob's name decides: which of its values; null: they do.
  std::int32_t (*chooser)(void const* wanted, short_name const& knob, sequence<std::int64_t> const& values) = nullptr;
  void const* wanted = nullptr;
  verdict state = verdict::legal;
  bool loud = false;
  std::int32_t failed = -1;  // the first illegal step
  sequence<sequence<std::int32_t>> readers;  // of the program as it is; none: not asked for yet
  diagnosis fault = diagnosis::none;  // the first one that is no step's, and the stage that was asked for
  short_name asked;

  static constexpr std::size_t max_knobs = 32;

  constexpr schedule() = default;
  /// The plain nest of `p`; `given` tells the extents of its inputs, -1 while they are not known.
  template <class Extents>
  constexpr schedule(program const& p, Extents const& given, schedule_limits l = {}, bool say_it = false)
      : nest(p, given, l), loud(say_it) {}

  /// One of `values`: the first, unless the tuner or a tuned result says otherwise. weft/knobs.hpp has some that are ready:
  /// divisors, powers of two, orders of loops.
  ///
  /// Needs   a name of its own, which tuned results are remembered by, of 30 characters at most; at least one value; 32 knobs at most
  constexpr std::int64_t knob(std::string_view name, std::initializer_list<std::int64_t> values) {
    return knob(name, sequence<std::int64_t>(values));
  }
  /// Of values that are computed.
  constexpr std::int64_t knob(std::string_view name, sequence<std::int64_t> const& values) {
    std::size_t const i = knobs.size();
    if (values.size() == 0) return refuse(diagnosis::a_knob_needs_at_least_one_value), 1;
    if (i == max_knobs) return refuse(diagnosis::a_schedule_has_at_most_32_knobs), values[0];
    short_name const own(name);
    if (name.size() > short_name::capacity) return asked = own, refuse(diagnosis::the_name_of_a_knob_has_at_most_30_characters), values[0];
    for (knob_info const& other : knobs)
      if (other.name == own) return asked = own, refuse(diagnosis::two_knobs_have_this_name__give_each_its_own), values[0];
    return choose(name, values);
  }
  /// As `knob`, of a name that may be there already: for rules, which make a stage's numbers in several places.
  constexpr std::int64_t choose(std::string_view name, sequence<std::int64_t> const& values) {
    std::size_t const i = knobs.size();
    if (i == max_knobs) return refuse(diagnosis::a_schedule_has_at_most_32_knobs), values[0];
    std::int32_t choice = i < choices.size() ? choices[i] : 0;
    if (chooser != nullptr) choice = chooser(wanted, short_name(name), values);
    std::size_t const chosen = static_cast<std::size_t>(choice) % values.size();
    knobs.push_back({short_name(name), values, static_cast<std::int32_t>(chosen)});
    return values[chosen];
  }

  /// Makes the schedule illegal for what is no step.
  constexpr void refuse(diagnosis why) {
    if (loud) say(why);
    if (fault == diagnosis::none) fault = why;
    state = verdict::illegal;
  }

  /// Whether the step may be taken there.
  static constexpr ruling check(nest const& n, step const& s) {
    if (!n.computation().reads.empty())
      if (ruling const r = suits_functions(n, s); r.v != verdict::legal) return r;
    ruling const r = check_alone(n, s);
    if (r.v == verdict::illegal || keeps_placements(n, s) || !(has_placements(n) || form_of(s.what).places)) return r;
    nest after = n;
    perform(after, s);
    ruling const together = placements_fit(after);
    return together.v == verdict::illegal ? together : r;
  }
  /// Takes a step that was ruled not illegal.
  static constexpr void perform(nest& n, step const& s) {
    switch (s.what) {
#define WEFT_X(name, ...) \
  case verb::name: return name##_rule::perform(n, s);
      WEFT_STEPS(WEFT_X)
#undef WEFT_X
    }
  }
  /// Judges a step, records it, and changes the nest if it is not illegal. After the first illegal step all
  /// others are passed over: their axes may come from it. Without `record_illegal` such a step is as if nobody had tried it.
  constexpr bool take(step& s, bool record_illegal = true) {
    if (failed >= 0) return false;
    ruling const r = judge(s);
    if (r.v == verdict::illegal && !record_illegal) return false;
    s.axis = s.count > 0 && usable(s.loops[0]).v == verdict::legal ? at(s.loops[0]).root : -1;
    s.ruling = r.v;
    s.reason = r.why;
    if (loud) say(r.why);
    if (r.v > state) state = r.v;
    if (r.v == verdict::illegal) failed = static_cast<std::int32_t>(steps.size());
    steps.push_back(s);
    if (r.v == verdict::illegal) return false;
    perform(*this, s);
    if (detail::changes_program(s.what)) readers.clear();
    return true;
  }

 private:
  /// As `check`. A stage that moves is judged in its new place, and put back: copies of the nest, and walks over the program, for each stage
  /// of a long chain would be most of what its schedule costs (docs/decisions/074).
  constexpr ruling judge(step const& s) {
    if (!moves_one_stage(*this, s)) return check(*this, s);
    ruling const r = check_alone(*this, s);
    if (r.v == verdict::illegal) return r;
    if (readers.empty()) readers = detail::readers_of(computation());
    bool const folds = s.what == verb::fold_storage;
    std::int32_t const stage = folds ? at(s.loops[0]).stage : s.stage;
    placement const was = places[static_cast<std::size_t>(stage)];
    std::int64_t const fold = folds ? at(s.loops[0]).fold : 0;
    int const left = root_of(stage);
    perform(*this, s);
    ruling const together = detail::placement_check{*this, readers}.moved(stage, left);
    place(stage, was);
    if (folds) at(s.loops[0]).fold = fold;
    return together.v == verdict::illegal ? together : r;
  }
  static constexpr ruling check_alone(nest const& n, step const& s) {
    switch (s.what) {
#define WEFT_X(name, ...) \
  case verb::name: return name##_rule::check(n, s);
      WEFT_STEPS(WEFT_X)
#undef WEFT_X
    }
    return {};
  }
};

/// The stage called Name with this number of axes, for a how-lambda that takes the schedule alone. A stage that bears
/// another name in texts, because its own was taken, is found by the one that it was given.
///
/// Errors  schedule_error, or a compile error, when there is none, or several of which none is called so in texts
template <fixed_string Name, int Axes>
constexpr stage_handle<Axes> stage(schedule& s) {
  static_assert(Name.view().size() <= short_name::capacity, "weft: the name of a stage has at most 30 characters");
  program const& p = s.computation();
  int found = -1, count = 0;
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    tensor_info const& t = program::at(p.tensors, p.stages[i].tensor);
    if (p.stages[i].axes() != Axes) continue;
    if (t.name.view() == Name.view()) return handle_of<Axes>(s, static_cast<int>(i));
    if (!t.is_called(Name.view())) continue;
    found = static_cast<int>(i);
    ++count;
  }
  if (count == 1) return handle_of<Axes>(s, found);
  if (s.fault == diagnosis::none) s.asked = short_name(Name.view());
  s.refuse(count == 0 ? diagnosis::no_stage_has_this_name_and_so_many_axes
                      : diagnosis::several_stages_have_this_name__give_each_its_own);
  return {};
}

}  // namespace weft::inline WEFT_ABI
