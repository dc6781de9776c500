// Step: reverse_compute_at.
#pragma once

#include <array>

#include "weft/schedule/handle.hpp"
#include "weft/schedule/placement.hpp"
#include "weft/schedule/step/bind.hpp"
#include "weft/schedule/step/fuse.hpp"
#include "weft/schedule/step/split.hpp"
#include "weft/schedule/step/vectorize.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Whether a loop is fused of axis `scanned` and of others, or made of one that is.
constexpr bool is_fused_with(nest const& n, int loop, int scanned) {
  while (n.at(loop).parent >= 0) loop = n.at(loop).parent;
  bool some = false, others = false;
  for (int part = n.at(loop).first; part >= 0; part = n.at(part).next) {
    if (is_fused_with(n, part, scanned)) return true;
    (n.is_of(part, scanned) ? some : others) = true;
  }
  return some && others;
}
/// Whether `stage` can have loops like those of stage `read` up to `last`: a scan walks its axis alone.
constexpr ruling can_take_loops(nest const& n, int stage, int read, int last) {
  program const& p = n.computation();
  int const scanned = program::at(p.stages, stage).scanned;
  if (scanned < 0) return {};
  for (std::int32_t l : program::at(n.order, read)) {
    if (is_fused_with(n, l, program::at(p.stages, read).first_axis + scanned))
      return illegal(diagnosis::a_scanned_axis_and_another_one_cannot_be_fused);
    if (l == last) break;
  }
  return {};
}
/// By dimension of what is read, the reader's axes that its index is made of.
using index_axes = sequence<sequence<std::int32_t>>;

/// The loop of `stage` that does what loop `like` of a stage of the same axes does; cuts loops as that one was cut. axes: where `stage`
/// has several in the place of one, which are fused.
constexpr int same_loop(nest& n, int stage, int like, index_axes const* axes = nullptr) {
  loop_info const l = n.at(like);
  program const& p = n.computation();
  if (l.first >= 0) {
    step fused{verb::fuse};
    for (int i = l.first; i >= 0; i = n.at(i).next)
      fused.loops[static_cast<std::size_t>(fused.count++)] = same_loop(n, stage, i, axes);
    if (n.at(fused.loops[0]).into < 0) fuse_rule::perform(n, fused);
    return n.at(fused.loops[0]).into;
  }
  if (l.parent < 0) {
    int const d = l.root - program::at(p.stages, l.stage).first_axis, first = program::at(p.stages, stage).first_axis;
    if (axes == nullptr) return program::at(n.loop_of, first + d);
    step fused{verb::fuse};
    for (std::int32_t a : (*axes)[static_cast<std::size_t>(d)]) fused.loops[static_cast<std::size_t>(fused.count++)] = program::at(n.loop_of, first + a);
    if (fused.count == 1) return fused.loops[0];
    if (n.at(fused.loops[0]).into < 0) fuse_rule::perform(n, fused);
    return n.at(fused.loops[0]).into;
  }
  int const whole = same_loop(n, stage, l.parent, axes);
  step cut{verb::split, 1, {whole}, n.at(l.parent).factor};
  tail const end = n.at(l.parent).at_end;  // what is computed twice, or beyond the end, may be seen in another stage
  if (end == tail::mask || end == tail::partition) cut.word = static_cast<std::uint8_t>(end);
  if (!n.at(whole).is_split()) split_rule::perform(n, cut);
  return n.at(l.parent).outer == like ? n.at(whole).outer : n.at(whole).inner;
}
/// Gives `stage` the spatial loops that stand around and at `last` in another stage, with what is done of them there,
/// in the same order, its own other ones behind them. Returns the loop that is like `last`.
constexpr int take_loops(nest& n, int stage, int last, index_axes const* axes = nullptr) {
  sequence<std::int32_t> const like = n.order_of(last);
  sequence<std::int32_t> order;
  for (std::int32_t l : like) {
    if (!n.at(l).reduced) {
      std::int32_t const same = same_loop(n, stage, l, axes);
      n.at(same).kind = n.at(l).kind;
      n.at(same).threads = n.at(l).threads;
      n.at(l).kind = loop_kind::serial;
      n.at(l).threads = 0;
      order.push_back(same);
    }
    if (l == last) break;
  }
  std::size_t const taken = order.size();
  for (std::int32_t l : n.order[static_cast<std::size_t>(stage)]) {
    bool there = false;
    for (std::size_t i = 0; i < taken; ++i) there = there || order[i] == l;
    if (!there) order.push_back(l);
  }
  n.order[static_cast<std::size_t>(stage)] = order;
  return same_loop(n, stage, last, axes);
}
}  // namespace detail

namespace detail {
/// Whether loops that a stage has taken over with their marks are not too long for them: those of the other one may be shorter.
constexpr ruling marks_suit_lengths(nest const& after, int stage) {
  ruling all = bind_rule::few_threads(after, stage);
  for (std::int32_t l : program::at(after.order, stage)) {
    loop_kind const kind = after.at(l).kind;
    ruling r;
    if (kind == loop_kind::vectorized) r = vectorize_rule::few_lanes(after, l);
    else if (is_written_out(kind)) r = unroll_rule::few_iterations(after, l);
    if (r.v > all.v) all = r;
  }
  return all;
}
}  // namespace detail

struct reverse_compute_at_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (s.stage < 0 || s.stage >= static_cast<int>(n.order.size()))
      return illegal(diagnosis::the_stage_is_none_of_this_schedule);
    if (ruling const r = n.usable(s.loops[0]); r.v != verdict::legal) return r;
    int const read = n.at(s.loops[0]).stage;
    if (read == s.stage) return illegal(diagnosis::a_stage_cannot_be_computed_inside_itself);
    if (ruling const r = can_be_placed(n, read); r.v != verdict::legal) return r;
    if (program::at(n.places, read).inlined)
      return illegal(diagnosis::the_stage_of_this_axis_is_inlined__it_has_no_loops);
    if (is_scheduled(n, s.stage))
      return illegal(diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it);
    if (!detail::reads_own_element(n.computation(), s.stage, program::at(n.computation().stages, read)))
      return illegal(diagnosis::the_stage_must_read_that_one_at_its_own_index_alone);
    for (std::int32_t l : n.order_of(s.loops[0])) {
      if (n.at(l).reduced)
        return illegal(diagnosis::a_reduced_axis_runs_outside_of_this_one__no_element_is_complete_there);
      if (l == s.loops[0]) break;
    }
    if (ruling const r = detail::can_take_loops(n, s.stage, read, s.loops[0]); r.v != verdict::legal) return r;
    nest after = n;
    perform(after, s);
    return detail::marks_suit_lengths(after, s.stage);
  }
  static constexpr void perform(nest& n, step const& s) {
    int const read = n.at(s.loops[0]).stage;
    n.place(read, {false, detail::take_loops(n, s.stage, s.loops[0])});
  }
};

/// `s.reverse_compute_at`, as a part of `schedule`.
template <class Schedule>
struct reverse_compute_at_step {
  /// Computes of a stage, at each iteration of a loop of the one that it reads, what is complete there: it takes over
  /// that loop and those around it, cut and marked as they are, and what it reads is computed inside.
  ///
  ///     for io: for k: for ii:                        for io:
  ///       P[i] += A[i, k]                               for k: for ii: P[i] += A[i, k]
  ///     for i:                              ->          for ii:
  ///       C[i] = max(P[i], 0)                             C[i] = max(P[i], 0)
  ///
  /// Same as splits and a reorder of `stage`, and compute_at for the stage of `i`.
  ///
  /// Needs   `stage` reads that one at its own index alone, and no step before it names its axes; all others that read
  ///         it run inside; neither `i` nor an axis around it is reduced, unrolled or vectorized, nor fused of an axis along
  ///         which `stage` scans and another one. What is marked is not too long in `stage`, as each mark has it
  /// Returns of each dimension the innermost axis of `stage` that runs inside; id -1 where there is none
  /// Keeps   each element is computed by the same operations
  /// Errors  schedule_error "reverse_compute_at: a reduced axis runs outside of this one"
  /// Source  Feng et al. (TensorIR), ASPLOS 2023, section 3.2
  template <int Axes, int Spatial>
  constexpr std::array<axis, static_cast<std::size_t>(Spatial)> reverse_compute_at(
      stage_handle<Axes, Spatial> const& stage, axis i) {
    auto& s = static_cast<Schedule&>(*this);
    std::array<axis, static_cast<std::size_t>(Spatial)> inside{};
    step request{verb::reverse_compute_at, 1, {i.id}};
    request.stage = stage.stage;
    if (!s.take(request)) return inside;
    int const place = s.places[static_cast<std::size_t>(s.at(i.id).stage)].loop;
    int const first = program::at(s.computation().stages, stage.stage).first_axis;
    for (std::int32_t l : s.order_of(place))
      if (s.position(l) > s.position(place) && !s.at(l).reduced && s.at(l).root >= first)
        inside[static_cast<std::size_t>(s.at(l).root - first)].id = l;
    return inside;
  }
};

}  // namespace weft::inline WEFT_ABI
