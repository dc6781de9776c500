// Step: reverse_compute_inline.
#pragma once

#include "weft/expr/im2col.hpp"
#include "weft/schedule/placement.hpp"
#include "weft/schedule/step/compute_inline.hpp"
#include "weft/schedule/step/reverse_compute_at.hpp"

namespace weft::inline WEFT_ABI {

struct reverse_compute_inline_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = can_take_over(n, s); r.v != verdict::legal) return r;
    nest after = n;
    perform(after, s);
    return detail::marks_suit_lengths(after, s.stage);
  }
  static constexpr ruling can_take_over(nest const& n, step const& s) {
    if (s.stage < 0 || s.stage >= static_cast<int>(n.order.size()))
      return illegal(diagnosis::the_stage_is_none_of_this_schedule);
    if (is_scheduled(n, s.stage))
      return illegal(diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it);
    detail::index_axes axes;
    int const read = only_stage_read(n, s.stage, axes);
    if (read >= 0 && !is_own(axes) && (!has_fused(axes) || program::at(n.computation().stages, read).reduced == 0))
      return illegal(diagnosis::the_stage_must_read_that_one_at_its_own_index_alone);
    if (read < 0)
      return illegal(reads_inlined(n, s.stage) ? diagnosis::the_stage_of_this_axis_is_inlined__it_has_no_loops
                                               : diagnosis::the_stage_must_read_that_one_at_its_own_index_alone);
    if (ruling const r = can_be_placed(n, read); r.v != verdict::legal) return r;
    if (program::at(n.computation().stages, read).scanned >= 0)
      return illegal(diagnosis::a_scan_cannot_be_inlined__use_compute_at);
    if (!(program::at(n.places, read) == placement()))
      return illegal(diagnosis::the_stage_of_this_axis_is_inlined__it_has_no_loops);
    if (program::at(n.computation().stages, read).reduced == 0) return detail::can_take_loops(n, s.stage, read, -1);
    if (stage_info const& own = program::at(n.computation().stages, s.stage); own.reduced > 0 || own.scanned >= 0)
      return illegal(diagnosis::a_reduction_cannot_be_inlined__use_compute_at);  // its terms would run inside of those
    if (loop_of_sums(n, read) < 0)
      return illegal(diagnosis::a_reduced_axis_runs_outside_of_this_one__no_element_is_complete_there);
    for (std::int32_t l : n.order[static_cast<std::size_t>(read)])
      if (n.at(l).by != nullptr && n.at(l).by->is_tile() && !n.at(l).by->has_places)
        return illegal(diagnosis::this_matrix_unit_keeps_its_sums_to_itself__use_compute_at);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) {
    detail::index_axes axes;
    int const read = only_stage_read(n, s.stage, axes);
    sequence<std::int32_t> const order = n.order[static_cast<std::size_t>(read)];
    if (program::at(n.computation().stages, read).reduced > 0) return behind(n, s.stage, read, order, is_own(axes) ? nullptr : &axes);
    if (!order.empty()) detail::take_loops(n, s.stage, order.back());
    for (int other = 0; other < static_cast<int>(n.places.size()); ++other) {
      placement p = program::at(n.places, other);
      if (p.loop >= 0 && n.at(p.loop).stage == read) p.loop = detail::same_loop(n, s.stage, p.loop);
      if (p.store >= 0 && n.at(p.store).stage == read) p.store = detail::same_loop(n, s.stage, p.store);
      if (!(p == program::at(n.places, other))) n.place(other, p);
    }
    n.place(read, {true, -1});
  }

 private:
  /// The stage with loops that `stage` reads, itself or by inlined ones, at its own index alone, or at one of fused axes, as that of im2col is.
  /// -1: none, or several.
  static constexpr int only_stage_read(nest const& n, int stage, detail::index_axes& axes) {
    int only = -1;
    return finds_only(n, stage, only, axes, 0) ? only : -1;
  }
  static constexpr bool is_own(detail::index_axes const& axes) {
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (axes[d].size() != 1 || axes[d][0] != static_cast<std::int32_t>(d)) return false;
    return true;
  }
  static constexpr bool has_fused(detail::index_axes const& axes) {
    bool some = false;
    for (sequence<std::int32_t> const& dimension : axes) some = some || dimension.size() > 1;
    return some;
  }
  /// Of the index at which `stage` reads a result of `of`. Empty: an index is another one, or an axis stands in none, or in two.
  static constexpr detail::index_axes axes_of_index(program const& p, int stage, stage_info const& of) {
    stage_info const& own = program::at(p.stages, stage);
    detail::index_axes axes;
    bool fine = true;
    detail::each_load(p, stage, [&](node const& x) {
      if (x.a < of.tensor || x.a >= of.tensor + of.results) return;
      detail::index_axes these;
      sequence<std::int32_t> times(static_cast<std::size_t>(own.spatial), 0);
      for (int d = 0; d < x.c; ++d) {
        these.push_back({});
        fine = fine && detail::digits_of(p, own, program::at(p.operands, x.b + d), these.back());
        for (std::int32_t a : these.back()) ++times[static_cast<std::size_t>(a)];
      }
      for (std::int32_t t : times) fine = fine && t == 1;
      if (axes.empty()) axes = these;
      for (std::size_t d = 0; d < axes.size() && fine; ++d) fine = axes[d] == these[d];
    });
    if (!fine) return {};  // not `fine ? axes : ..`, of which g++ 12 frees the elements twice in constant expressions
    return axes;
  }
  static constexpr bool reads_inlined(nest const& n, int stage) {
    bool found = false;
    detail::each_load(n.computation(), stage, [&](node const& x) {
      int const from = program::at(n.computation().tensors, x.a).stage;
      found = found || (from >= 0 && program::at(n.places, from).inlined);
    });
    return found;
  }
  static constexpr bool finds_only(nest const& n, int stage, int& only, detail::index_axes& axes, int depth) {
    program const& p = n.computation();
    bool fine = depth < 64;
    detail::each_load(p, stage, [&](node const& x) {
      int const from = program::at(p.tensors, x.a).stage;
      if (from < 0 || !fine) return;
      int found = from;
      if (program::at(n.places, from).inlined && depth < 64) {
        found = -1;
        fine = finds_only(n, from, found, axes, depth + 1);
        if (found < 0) return;
        fine = fine && (only < 0 || only == found) && detail::reads_own_element(p, stage, program::at(p.stages, from));
        only = found;
        return;
      }
      detail::index_axes const these = axes_of_index(p, stage, program::at(p.stages, from));
      fine = fine && (only < 0 || (only == found && axes.size() == these.size())) && !these.empty();
      for (std::size_t d = 0; d < axes.size() && fine; ++d) fine = axes[d] == these[d];
      only = found;
      axes = these;
    });
    return fine;
  }
  /// The innermost loop around all of the terms; -1: none.
  static constexpr int loop_of_sums(nest const& n, int stage) {
    int last = -1;
    for (std::int32_t l : n.order[static_cast<std::size_t>(stage)]) {
      if (n.at(l).reduced) break;
      last = l;
    }
    return last;
  }
  /// `stage` in the loops around the terms of `read`, and behind these in copies of those inside.
  static constexpr void behind(nest& n, int stage, int read, sequence<std::int32_t> const& order, detail::index_axes const* axes) {
    int const around = loop_of_sums(n, read), place = detail::take_loops(n, stage, around, axes);
    sequence<std::int32_t> all;
    for (std::int32_t l : order) {
      if (n.at(l).reduced) continue;
      std::int32_t const same = detail::same_loop(n, stage, l, axes);
      all.push_back(same);
      if (n.at(l).kind == loop_kind::serial) continue;  // also of those taken
      n.at(same).kind = n.at(l).kind;
      n.at(same).threads = n.at(l).threads;
    }
    for (std::int32_t l : order)
      if (!n.at(l).reduced && n.at(l).by != nullptr && n.at(l).by->is_tile()) n.at(detail::same_loop(n, stage, l, axes)).by = n.at(l).by;
    n.order[static_cast<std::size_t>(stage)] = all;
    n.place(read, {false, place});
  }
};

/// `s.reverse_compute_inline`, as a part of `schedule`.
template <class Schedule>
struct reverse_compute_inline_step {
  /// Computes a stage in the loops of the one that it reads, which has none any more: its elements are computed where
  /// they are read.
  ///
  ///     for io: for ii vectorized:                    for io: for ii vectorized:
  ///       P[i] = f(x[i])                      ->        C[i] = g(f(x[i]))
  ///     for i:
  ///       C[i] = g(P[i])
  ///
  /// Same as compute_inline for that stage, and its steps for this one. Of a reduction, the stage is computed behind its terms, in
  /// loops like those inside: reverse_compute_at the innermost axis around all reduced ones, and the same cuts and marks. On a GPU
  /// each thread then has the sums that it goes on with, and they stay in its registers; so they do of a matrix unit that says where
  /// its sums are (mma, not wmma).
  ///
  ///     for jo: for k: for ji: P[j] += A[k, j]   ->   for jo:
  ///     for j: C[j] = g(P[j])                           for k: for ji: P[j] += A[k, j]
  ///                                                     for ji: C[j] = g(P[j])
  ///
  /// Needs   `stage` reads one stage, itself or by inlined ones, at its own index alone (a reduction also at the index of fused axes that
  ///         im2col writes); that one has no scan, is no output, and
  ///         of a reduction an axis stands around all reduced ones, and `stage` reduces and scans nothing itself; no step
  ///         before it names an axis of `stage`; none fused an axis along which that scans with another one. What is marked is not too long in `stage`, as each mark has it
  /// Keeps   each element is computed by the same operations, in its type
  /// Cost    where others read that stage too, its elements are computed there again; of a reduction, those are refused.
  ///         Behind a reduction over pieces of fused axes that are no whole rows nor divide one, each piece computes all of the
  ///         rows that it reaches into: rows of 1000 sums in pieces of 16 are computed 63 times
  /// Source  Feng et al. (TensorIR), ASPLOS 2023, section 3.2
  template <class Stage>
  constexpr void reverse_compute_inline(Stage const& stage) {
    step request{verb::reverse_compute_inline};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
