// Step: im2col.
#pragma once

#include <initializer_list>

#include "weft/expr/im2col.hpp"
#include "weft/schedule/handle.hpp"
#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

// step::numbers: the reduced axes, by place among them, outermost first; none: as they are.
struct im2col_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (s.stage < 0 || s.stage >= static_cast<int>(n.order.size()))
      return illegal(diagnosis::the_stage_is_none_of_this_schedule);
    if (is_scheduled(n, s.stage))
      return illegal(diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it);
    program const& p = n.computation();
    if (!im2col_form(p, s.stage).known())
      return illegal(diagnosis::the_terms_are_no_products_of_two_tensors__of_which_each_axis_moves_one);
    auto const count = static_cast<std::size_t>(program::at(p.stages, s.stage).reduced);
    sequence<bool> named(count, false);
    for (std::int64_t place : s.numbers) {
      if (place < 0 || place >= static_cast<std::int64_t>(count) || named[static_cast<std::size_t>(place)])
        return illegal(diagnosis::the_order_of_terms_names_each_reduced_axis_once);
      named[static_cast<std::size_t>(place)] = true;
    }
    if (!s.numbers.empty() && s.numbers.size() != count) return illegal(diagnosis::the_order_of_terms_names_each_reduced_axis_once);
    return {};
  }
  static constexpr void rewrite(program& p, step const& s) { add_matrices(p, s.stage, s.numbers); }
  static constexpr void perform(nest& n, step const& s) {
    int const first = static_cast<int>(n.computation().stages.size());
    rewrite(n.own_computation(), s);
    for (int made = first; made < first + 3; ++made) n.add_loops(made);
    n.drop_loops(s.stage, false);
  }
};

/// What im2col returns: `auto [product, rows, columns] = s.im2col(C);`
struct im2col_matrices {
  stage_handle<3, 2> product;
  stage_handle<2> rows, columns;
};

/// `s.im2col`, as a part of `schedule`.
template <class Schedule>
struct im2col_step {
  /// Makes a product of two matrices of a convolution, or of any other reduction over products: all spatial axes that move its first operand
  /// are rows, all that move the other one, which has the last of them, are columns, and all reduced ones are terms. A stage for each operand
  /// gathers its elements, with zeros where a select has them; in a loop of the product (compute_at) that is a tile at a time, and the matrix of all
  /// windows is nowhere: an implicit GEMM.
  ///
  ///     for n: for i: for j: for f:                        x_matrix[m, k] = x[m / (I*J), m / J % I + k / (3*C), m % J + k / C % 3, k % C]
  ///       for di: for dj: for c:                     ->    w_matrix[k, f] = w[k / (3*C), k / C % 3, k % C, f]
  ///         C[n, i, j, f] += x[n, i + di, j + dj, c]       for m: for f: for k: C_product[m, f] += x_matrix[m, k] * w_matrix[k, f]
  ///                          * w[di, dj, c, f]             for n: for i: for j: for f: C[n, i, j, f] = C_product[(n*I + i)*J + j, f]
  ///
  ///     auto [product, rows, columns] = s.im2col(C, di, dj, c);
  ///
  /// Takes   the reduced axes, outermost first, in the order in which they are fused; none: as the stage has them. With channels last, the
  ///         channels should be the last, as those of a window then stand side by side in memory
  /// Shape   a matrix has terms as its last dimension, or as its first one where the operand's last index moves with rows (or columns)
  /// Needs   one result, no scan; in the body two operands, an element of a tensor each, converted or zero where a condition says so,
  ///         or a sum of their products `where` a condition of indices holds, one of them read at axes that are as long as its dimensions; no
  ///         other axis; each spatial axis moves one of the two. No step before it names the stage's axes or places it. Its reduced axes are gone
  ///         from then on
  /// Returns the stage that multiplies, with axes row, column and term, and those that gather. C copies the product: reverse_compute_inline
  ///         of C, or of what becomes of it, computes it where the sums are
  /// Keeps   the bits of all elements, where the order is the stage's own; sums of floats in another one may round otherwise. Terms that
  ///         `where` leaves out are added as zeros times the other factor: NaN where that is infinite or one
  /// Errors  schedule_error "im2col: the terms are no products of two tensors"
  /// Cost    a quotient and a remainder for each axis of each element that is gathered, but for what lies in front of the loops
  /// Source  Chellapilla et al., "High performance convolutional neural networks for document processing", 2006; implicit: Chetlur et al.,
  ///         "cuDNN: efficient primitives for deep learning", 2014
  template <int Axes, int Spatial, class... Axis>
  constexpr im2col_matrices im2col(stage_handle<Axes, Spatial> const& stage, Axis... terms) {
    static_assert(sizeof...(Axis) == 0 || sizeof...(Axis) == Axes - Spatial, "weft: im2col takes all reduced axes of the stage, or none");
    auto& s = static_cast<Schedule&>(*this);
    step request{verb::im2col};
    request.stage = stage.stage;
    for (int l : std::initializer_list<int>{terms.id...}) {
      std::int64_t place = -1;
      for (int a = Spatial; a < Axes; ++a)
        if (stage.all[static_cast<std::size_t>(a)].id == l) place = a - Spatial;
      request.numbers.push_back(place);
    }
    if (!s.take(request)) return {};
    int const last = static_cast<int>(s.order.size()) - 1;
    return {handle_of<3, 2>(s, last), handle_of<2>(s, last - 2), handle_of<2>(s, last - 1)};
  }
};

}  // namespace weft::inline WEFT_ABI
