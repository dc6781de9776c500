// Step: tensorize.
#pragma once

#include "weft/schedule/intrinsic.hpp"
#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

struct tensorize_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = n.unmarked(s.loops[0]); r.v != verdict::legal) return r;
    loop_info const& l = n.at(s.loops[0]);
    if (s.by != nullptr && s.by->is_tile()) return tile(n, s);
    if (s.by == nullptr || !l.reduced) return illegal(diagnosis::an_instruction_adds_terms_of_a_reduced_axis);
    if (n.order_of(s.loops[0]).back() != s.loops[0])
      return illegal(diagnosis::a_tensorized_axis_stands_inside_all_others__reorder_first);
    // The inner part of a split is shorter where all there is are fewer terms.
    bool const has_less = l.parent >= 0 && l.extent >= 0 && n.at(l.parent).factor == s.by->terms && n.at(l.parent).inner == s.loops[0];
    if (l.extent != s.by->terms && l.extent != -1 && !has_less)
      return illegal(diagnosis::a_tensorized_axis_runs_once_for_each_term_of_the_instruction__split_it_first);
    program const& p = n.computation();
    stage_info const& stage = program::at(p.stages, l.stage);
    sequence<std::int32_t> loads;
    if (stage.results != 1 || !s.by->match(p, p.result(stage, 0).body, loads))
      return illegal(diagnosis::the_terms_of_the_stage_are_not_those_of_the_instruction);
    return {l.extent < 0 ? verdict::deferred : verdict::legal};
  }
  /// The axis and the two inside of it are rows, columns and terms of a warp's tile.
  static constexpr ruling tile(nest const& n, step const& s) {
    sequence<std::int32_t> const& order = n.order_of(s.loops[0]);
    int const at = n.position(s.loops[0]), last = static_cast<int>(order.size()) - 1;
    if (at < 0 || at + 2 != last) return illegal(diagnosis::a_tile_of_a_matrix_unit_is_the_three_innermost_axes__rows_columns_and_terms);
    std::int64_t const wanted[] = {s.by->rows, s.by->columns, s.by->terms};
    verdict v = verdict::legal;
    for (int i = 0; i < 3; ++i) {
      loop_info const& l = n.at(order[static_cast<std::size_t>(at + i)]);
      bool const all_there_are = l.parent < 0 || (n.at(l.parent).inner == order[static_cast<std::size_t>(at + i)] && n.at(l.parent).factor >= wanted[i]);
      if (l.reduced == (i == 2) && l.extent >= 0 && l.extent < wanted[i] && all_there_are)
        return illegal(diagnosis::a_tile_of_a_matrix_unit_is_whole__there_are_fewer_rows_columns_or_terms);
      if (l.reduced != (i == 2) || l.kind != loop_kind::serial || (l.extent >= 0 && l.extent != wanted[i]) || l.extent == open_trips)
        return illegal(diagnosis::a_tile_of_a_matrix_unit_is_the_three_innermost_axes__rows_columns_and_terms);
      if (l.extent < 0) v = verdict::deferred;
    }
    program const& p = n.computation();
    stage_info const& stage = program::at(p.stages, n.at(s.loops[0]).stage);
    sequence<std::int32_t> loads;
    if (stage.results != 1 || !s.by->match(p, p.result(stage, 0).body, loads))
      return illegal(diagnosis::the_terms_of_the_stage_are_not_those_of_the_instruction);
    return {v};
  }
  /// It is written out, where a last part or the machine lets no instruction do it.
  static constexpr void perform(nest& n, step const& s) {
    if (!s.by->is_tile()) n.at(s.loops[0]).kind = loop_kind::unrolled;
    n.at(s.loops[0]).by = s.by;
  }
};

/// `s.tensorize`, as a part of `schedule`.
template <class Schedule>
struct tensorize_step {
  /// Has the innermost loop of a reduction run by one instruction, lane by lane of the vectorized axis around it.
  ///
  ///     vectorized j in 0..8:                                         vectorized j in 0..8:
  ///       for ki in 0..2:                                        ->     C[i, j] = pmaddwd(C[i, j],
  ///         C[i, j] += i32(A[i, ko*2 + ki]) * i32(B[ko, j, ki])           A[i, ko*2 .. ko*2 + 2], B[ko, j, 0 .. 2])
  ///
  /// By a matrix unit, a GPU's (weft/matrix_units.hpp) or AMX, the loop and the two inside of it, rows, columns and terms of a tile, are run
  /// by a warp together, or by one instruction:
  ///
  ///     for ii in 0..16: for ji in 0..16: for ki in 0..16:      ->    C_tile += A_tile * B_tile
  ///       C[i, j] += f32(A[i, k]) * f32(B[k, j])                      (fragments, kept while the loops over k around run)
  ///
  /// Needs   an axis inside all others that runs as often as the instruction has terms, the stage's terms to be those of its
  ///         pattern, with its element types; operands that are elements of tensors, of which the terms stand side by side in
  ///         memory, and the lanes behind each other or all the same: decided at the first call, for memory without gaps (a
  ///         view with others runs the plain loop). Vectorize the axis around it
  /// Keeps   the bits, if the instruction joins the terms as the stage does: pmaddwd and vpdpbusd. What another one computes
  ///         its declaration says (`computes`); it is as if the step had reordered the reduction
  /// Tail    a last part with fewer terms, the only one too, is plain code
  /// Errors  schedule_error "tensorize: operand .. is not laid out for it"
  /// Cost    none where the target lacks the instruction, or there are fewer lanes than it has at least: the loop is unrolled
  /// Source  TVM, `Schedule.tensorize`
  /// See     weft/intrinsics.hpp
  constexpr void tensorize(axis i, intrinsic const& by) {
    step request{verb::tensorize, 1, {i.id}};
    request.by = &by;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
