// Step: prepack.
#pragma once

#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct prepack_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = has_memory(n, s.stage); r.v != verdict::legal) return r;
    if (!(program::at(n.places, s.stage) == placement()) || n.has_beside(s.stage))
      return illegal(diagnosis::a_prepacked_stage_is_computed_in_a_nest_of_its_own);
    if (input_of(n.computation(), s.stage) < 0) return illegal(diagnosis::a_prepacked_stage_reads_one_input_and_nothing_else);
    if (memory_wish const* const w = n.wish(s.stage, -1); w != nullptr && w->where != scope::workspace)
      return illegal(diagnosis::memory_on_the_stack_ends_with_the_call__it_cannot_be_prepacked);
    return {};
  }
  static constexpr void perform(nest& n, step const& s) { n.wishes.push_back({s.stage, memory_wish::kept}); }

  /// The position among the inputs of the one tensor that the stage and its shape are made of; -1: of others too, or of none.
  static constexpr int input_of(program const& p, int stage) {
    int tensor = -1;
    bool alone = true;
    detail::each_node(p, stage, true, [&](node const& n) {
      bool const names = n.kind == op::extent || n.kind == op::load;
      if (names && tensor < 0) tensor = n.a;
      alone = alone && n.kind != op::scalar && (!names || n.a == tensor);
    });
    if (!alone || tensor < 0) return -1;
    for (std::size_t i = 0; i < p.inputs.size(); ++i)
      if (p.inputs[i].tensor == tensor) return static_cast<int>(i);
    return -1;
  }
};

/// `s.prepack`, as a part of `schedule`.
template <class Schedule>
struct prepack_step {
  /// Computes a stage once for all calls with the same weights: where the input that it is made of is given as a
  /// weft::constant, what the first call made of it is kept there and read by the later ones. Of other
  /// arguments it is made in each call.
  ///
  ///     for j, k: packed[j, k] = B[k, j]         if packed is not there yet:
  ///     for i, j, k: C[i, j] += ..        ->       for j, k: packed[j, k] = B[k, j]
  ///                                              for i, j, k: C[i, j] += ..
  ///
  /// Needs   a stage, as cache_read makes it, that is computed in a nest of its own and made of one input alone, scalars
  ///         neither. Steps that change its axes, such as transform_layout, before
  /// Keeps   all results, as long as the constant is what its name says
  /// Threads calls of several threads: one makes it, the others wait
  /// Cost    the memory of the stage for each constant, kernel and shape; 20 ns for each call
  /// Source  oneDNN, `dnnl_format_tag_any` and reorders of weights; TVM, `layout_free_buffers`
  template <class Stage>
  constexpr void prepack(Stage const& stage) {
    step request{verb::prepack};
    request.stage = stage.stage;
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
