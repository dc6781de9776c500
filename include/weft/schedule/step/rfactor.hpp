// Step: rfactor; in a trace, rfactor or rfactor_chunks.
#pragma once

#include "weft/expr/rewrite.hpp"
#include "weft/schedule/handle.hpp"

namespace weft::inline WEFT_ABI {

/// Which terms of a reduced axis are in part v of 8: every 8th from v on, for the lanes of a vector; or a piece without
/// gaps, for threads.
enum class part_order : std::uint8_t { interleaved, chunks };
/// For rfactor: parts without gaps.
inline constexpr part_order chunks = part_order::chunks;

struct rfactor_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    program const& p = n.computation();
    if (s.stage < 0 || s.stage >= static_cast<int>(p.stages.size()))
      return illegal(diagnosis::the_stage_is_none_of_this_schedule);
    int const k = s.loops[0];
    if (k >= 0 && k < static_cast<int>(n.loops.size()) && n.at(k).stage != s.stage)
      return illegal(diagnosis::the_stage_does_not_have_this_axis);
    if (ruling const r = n.usable(k); r.v != verdict::legal) return r;
    if (n.at(k).scanned) return illegal(diagnosis::a_scanned_axis_is_walked_in_its_order__mark_another_axis);
    if (!n.at(k).reduced) return illegal(diagnosis::only_a_reduced_axis_has_terms_to_share_out);
    if (s.factor < 1) return illegal(diagnosis::a_factor_must_be_at_least_1);
    for (std::int32_t l : program::at(n.order, s.stage)) {
      if (!n.at(l).reduced) continue;
      if (n.at(l).parent >= 0 || n.at(l).first >= 0 || n.at(l).kind != loop_kind::serial)
        return illegal(diagnosis::a_reduced_axis_is_split_or_marked_already__rfactor_first);
      for (fetch_ahead const& f : n.fetches)
        if (f.is_bound_to(l)) return illegal(diagnosis::a_reduced_axis_is_split_or_marked_already__rfactor_first);
      if (n.jam_of(l) > 0) return illegal(diagnosis::a_reduced_axis_is_split_or_marked_already__rfactor_first);
      for (placement const& place : n.places)
        if (place.loop == l || place.store == l)
          return illegal(diagnosis::a_stage_is_computed_inside_a_reduced_axis__rfactor_before_compute_at);
    }
    for (special const& c : n.specials)
      for (std::size_t i = 0; c.stage == s.stage && i < c.conditions.size(); i += 3)
        if (c.conditions[i] >= program::at(p.stages, s.stage).spatial)
          return illegal(diagnosis::a_reduced_axis_is_split_or_marked_already__rfactor_first);
    if (program::at(p.stages, s.stage).spatial >= 8) return illegal(diagnosis::the_parts_would_have_more_than_8_dimensions);
    if (!associative_form(p, s.stage).known())
      return illegal(diagnosis::the_order_of_its_terms_counts__rfactor_needs_an_associative_reduction);
    return {};
  }
  static constexpr int rewrite(program& p, step const& s) {
    return add_parts(p, s.stage, s.axis, s.factor, s.what == verb::rfactor_chunks);
  }
  static constexpr void perform(nest& n, step s) {
    s.axis = n.at(s.loops[0]).root;
    int const made = rewrite(n.own_computation(), s);
    loop_info v;
    v.stage = s.stage;
    v.root = program::at(n.computation().stages, s.stage).first_reduced;
    v.extent = s.factor;
    v.reduced = true;
    v.name = short_name("v");
    auto const id = static_cast<std::int32_t>(n.loops.size());
    for (int l = 0; l < id; ++l)
      if (n.at(l).stage == s.stage && n.at(l).name == v.name) v.name.append("v"), l = -1;
    sequence<std::int32_t>& order = n.order[static_cast<std::size_t>(s.stage)];
    std::size_t place = 0;
    while (!n.at(order[place]).reduced) ++place;
    n.drop_loops(s.stage, false);
    order.push_back(id);
    for (std::size_t i = order.size() - 1; i > place; --i) order[i] = order[i - 1], order[i - 1] = id;
    n.loops.push_back(v);
    n.loop_of[static_cast<std::size_t>(v.root)] = id;
    n.add_loops(made);
  }
};
struct rfactor_chunks_rule : rfactor_rule {};

/// What rfactor returns: `auto [P, v] = s.rfactor(C, k, 8);`
template <int Axes, int Spatial>
struct reduction_parts {
  stage_handle<Axes, Spatial> parts;
  axis v;  // of the stage that was taken apart
};

/// `s.rfactor`, as a part of `schedule`.
template <class Schedule>
struct rfactor_step {
  /// Takes a reduction apart: a stage of its own reduces `count` parts of the terms, which are a spatial axis of it, to
  /// be vectorized or run in parallel; the stage that is named then reduces those parts.
  ///
  ///     for i: for k in 0..K:             for i: for v in 0..8: for u in 0..ceil(K / 8):
  ///       C[i] += A[i, k]          ->       C_rf[i, v] += A[i, u*8 + v]       (where u*8 + v < K)
  ///                                       for i: for v in 0..8:
  ///                                         C[i] += C_rf[i, v]
  ///
  /// With weft::chunks, part v has the terms k = v*ceil(K / 8) + u: pieces without gaps, for threads.
  ///
  /// Returns {parts, v}: the handle of the new stage, with the stage's spatial axes, then v, then its reduced axes; and v
  ///         as the one reduced axis that the stage has now. Those that it had are gone
  /// Needs   a reduction known to be associative: each result joins its value so far with a term by + * min max and or
  ///         xor, or it is an argmin or argmax; or one whose combiner you say to be so, weft::any_order. None of its
  ///         reduced axes is split or marked. Do this before other steps
  /// Keeps   the bits of integers, conditions and positions. Floats are added and multiplied in another order: with T
  ///         terms of size at most m, sums differ by at most 2 T^2 m epsilon, and not at all while all sums are exact.
  ///         Where a NaN or zeros of both signs meet in min or max, another of them may come out
  /// Errors  schedule_error "rfactor: the order of its terms counts"
  /// Cost    memory for the parts: put the new stage into a loop by compute_at
  /// Source  Suriana, Adams, Kamil, CGO 2017
  template <int Axes, int Spatial>
  constexpr reduction_parts<Axes + 1, Spatial + 1> rfactor(stage_handle<Axes, Spatial> const& stage, axis k,
                                                           std::int64_t count,
                                                           part_order how = part_order::interleaved) {
    auto& s = static_cast<Schedule&>(*this);
    step request{how == chunks ? verb::rfactor_chunks : verb::rfactor, 1, {k.id}, count};
    request.stage = stage.stage;
    if (!s.take(request)) return {};
    program const& p = s.computation();
    reduction_parts<Axes + 1, Spatial + 1> made;
    made.parts = handle_of<Axes + 1, Spatial + 1>(s, static_cast<int>(p.stages.size()) - 1);
    made.v = axis{program::at(s.loop_of, program::at(p.stages, stage.stage).first_reduced)};
    return made;
  }
};

}  // namespace weft::inline WEFT_ABI
