// A reduction over products of two tensors' elements, as the product of two matrices whose elements are gathered.
#pragma once

#include "weft/expr/rewrite.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Collects the axes of a stage that are the digits of an index, outermost first: i * extent(j) + j is {i, j}. Places among its axes. False: the
/// index is another one. `are_same`: asked of the nodes of two sizes; `plain`: the node that an index is the same as.
template <class Same, class Plain>
constexpr bool digits_of(program const& p, stage_info const& s, int id, sequence<std::int32_t>& places, Same const& are_same, Plain const& plain) {
  node const& n = p.at(plain(id));
  auto const place_of = [&](node const& x) {
    int const place = x.a - s.first_axis;
    return x.kind == op::axis && place >= 0 && place < s.spatial ? place : -1;
  };
  if (place_of(n) >= 0) return places.push_back(static_cast<std::int32_t>(place_of(n))), true;
  if (n.kind != op::add || p.at(n.a).kind != op::mul) return false;
  node const &high = p.at(n.a), &low = p.at(plain(n.b));
  if (place_of(low) < 0 || !are_same(high.b, program::at(p.axes, low.a).extent) || !digits_of(p, s, high.a, places, are_same, plain)) return false;
  places.push_back(static_cast<std::int32_t>(place_of(low)));
  return true;
}
constexpr bool digits_of(program const& p, stage_info const& s, int id, sequence<std::int32_t>& places) {
  return digits_of(p, s, id, places, [&](int x, int y) { return x == y || (p.at(x).kind == op::literal && p.at(x) == p.at(y)); },
                   [](int x) { return x; });
}
}  // namespace detail

/// What a stage reads for each of its terms, where that is an element of two tensors, or zero where a condition says so, and each spatial axis
/// of the stage moves one of the two: then it is a product of two matrices. Products that are added only `where` a condition of indices holds are those
/// of zeros elsewhere; of floats that is the same for factors that are finite.
///
///     sum(di, dj, c: x(n, i + di, j + dj, c) * w(di, dj, c, f))   rows n, i, j; columns f; terms di, dj, c
struct im2col_form {
  struct operand {
    std::int32_t value = -1, load = -1;  // the node that stands for it in the body: `load`, converted, under conditions; and `load`
    sequence<std::int32_t> conditions{}, own{};  // nodes; spatial axes that move it, by place, in their order
    sequence<bool> moves{};                      // by place of an axis of the stage: it moves with it
    bool terms_first = false;                    // its last dimension in memory is one of its own axes'
  };
  operand operands[2];  // that of rows, that of columns, which has the last axis of the stage
  std::int32_t update = -1;  // the body, but for the condition under which there is a term
  bool left_out = false;     // there is one

  constexpr im2col_form(program const& p, int stage) : p_(p), s_(program::at(p.stages, stage)) {
    if (s_.results != 1 || s_.reduced == 0 || s_.scanned >= 0 || s_.by != nullptr) return;
    seen_.resize(p.nodes.size(), false);
    fine_ = true;
    update = p.result(s_, 0).body;
    node const& body = p.at(update);
    bool const conditional = body.kind == op::select && p.at(body.c).kind == op::self && detail::is_of_indices(p, body.a);
    if (conditional) update = body.b, left_out = true;
    visit(update);
    fine_ = fine_ && found_ == 2 && (!conditional || adds_products(update));
    if (!fine_) return;
    for (operand& o : operands) look_at(o);
    if (conditional) put_condition(body.a);
    for (std::int32_t a = 0; a < s_.spatial; ++a) {
      bool const first = operands[0].moves[static_cast<std::size_t>(a)], second = operands[1].moves[static_cast<std::size_t>(a)];
      fine_ = fine_ && first != second;
      operands[first ? 0 : 1].own.push_back(a);
    }
    fine_ = fine_ && !operands[0].own.empty() && !operands[1].own.empty();
    if (fine_ && operands[0].own.back() == s_.spatial - 1) {
      operand const other = operands[0];
      operands[0] = operands[1], operands[1] = other;
    }
  }
  constexpr bool known() const { return fine_; }
  /// Whether there are two operands at all.
  constexpr bool has_two() const { return found_ == 2; }

 private:
  /// The element of a tensor for which `id` stands: converted, or zero where a condition fails.
  constexpr bool is_operand(int id, operand& o) const {
    for (int at = id;;) {
      node const& n = p_.at(at);
      if (n.kind == op::load) {
        o.value = static_cast<std::int32_t>(id), o.load = static_cast<std::int32_t>(at);
        return true;
      }
      bool const or_zero = n.kind == op::select && p_.at(n.c).kind == op::literal && p_.at(n.c).value == 0 && detail::is_of_indices(p_, n.a);
      if (or_zero) o.conditions.push_back(n.a);
      else if (n.kind != op::cast) return false;
      at = or_zero ? n.b : n.a;
    }
  }
  constexpr void visit(int id) {
    if (id < 0 || !fine_ || program::at(seen_, id)) return;
    seen_[static_cast<std::size_t>(id)] = true;
    operand o;
    if (is_operand(id, o)) {
      if (found_ < 2) operands[found_] = o;
      ++found_;
      return;
    }
    node const& n = p_.at(id);
    if (n.kind == op::axis) fine_ = false;
    if (arity(n.kind) > 0) visit(n.a), visit(n.b), visit(n.c);
  }
  /// Whether `id` adds the product of two operands to the sum so far.
  constexpr bool adds_products(int id) const {
    auto const plain = [&](int i) {
      while (p_.at(i).kind == op::cast) i = p_.at(i).a;
      return i;
    };
    auto const is_self = [&](int i) { return p_.at(plain(i)).kind == op::self; };
    auto const are_operands = [&](int a, int b) {
      operand x, y;
      return is_operand(a, x) && is_operand(b, y);
    };
    auto const is_product = [&](int i) {
      node const& n = p_.at(plain(i));
      return n.kind == op::mul && are_operands(n.a, n.b);
    };
    node const& n = p_.at(plain(id));
    if (n.kind == op::fma) return is_self(n.c) && are_operands(n.a, n.b);
    return n.kind == op::add && ((is_self(n.a) && is_product(n.b)) || (is_self(n.b) && is_product(n.a)));
  }
  /// The operand that each spatial axis of a condition moves has zeros where it fails. The other one is read there, too, so all of its indices are axes as
  /// long as its dimensions.
  constexpr void put_condition(int condition) {
    sequence<bool> moves(static_cast<std::size_t>(s_.axes()), false);
    mark(condition, moves);
    for (int i : {0, 1}) {
      operand& o = operands[i];
      bool all = true;
      for (std::size_t a = 0; a < static_cast<std::size_t>(s_.spatial); ++a) all = all && (!moves[a] || o.moves[a]);
      if (!all || !is_read_whole(operands[1 - i])) continue;
      o.conditions.push_back(static_cast<std::int32_t>(condition));
      look_at(o);
      return;
    }
    fine_ = false;
  }
  constexpr bool is_read_whole(operand const& o) const {
    node const& load = p_.at(o.load);
    bool whole = true;
    for (int d = 0; d < load.c; ++d) {
      node const& index = p_.at(program::at(p_.operands, load.b + d));
      int const size = p_.extent_of(load.a, d), extent = index.kind == op::axis ? program::at(p_.axes, index.a).extent : -1;
      whole = whole && extent >= 0 && (extent == size || (p_.at(extent).kind == op::literal && p_.at(extent) == p_.at(size)));
    }
    return whole;
  }
  constexpr void look_at(operand& o) const {
    o.moves.resize(static_cast<std::size_t>(s_.axes()), false);
    for (std::int32_t c : o.conditions) mark(c, o.moves);
    mark(o.load, o.moves);
    sequence<bool> last(static_cast<std::size_t>(s_.axes()), false);
    node const& load = p_.at(o.load);
    if (load.c > 0) mark(program::at(p_.operands, load.b + load.c - 1), last);
    for (int a = 0; a < s_.spatial; ++a) o.terms_first = o.terms_first || last[static_cast<std::size_t>(a)];
  }
  constexpr void mark(int id, sequence<bool>& moves) const {
    detail::each_part(p_, id, [&](node const& n) {
      if (n.kind == op::axis && n.a >= s_.first_axis && n.a < s_.first_axis + s_.axes()) moves[static_cast<std::size_t>(n.a - s_.first_axis)] = true;
    });
  }

  program const& p_;
  stage_info s_;
  sequence<bool> seen_{};
  bool fine_ = false;
  int found_ = 0;
};

namespace detail {
/// Adds the stages of im2col.
struct matrix_maker {
  program& p;
  int stage;
  im2col_form form;
  sequence<std::int32_t> terms{};  // reduced axes, outermost first

  constexpr matrix_maker(program& of, int s, sequence<std::int64_t> const& order) : p(of), stage(s), form(of, s) {
    stage_info const whole = program::at(p.stages, s);
    for (int i = 0; i < whole.reduced; ++i)
      terms.push_back(static_cast<std::int32_t>(whole.first_reduced + (order.empty() ? i : static_cast<int>(order[static_cast<std::size_t>(i)]))));
  }
  constexpr int number(op kind, int a, int b) {
    if (p.at(a).kind == op::literal && p.at(b).kind == op::literal) return p.literal(dtype::i64, apply(kind, dtype::i64, p.at(a).value, p.at(b).value));
    return p.operation(kind, dtype::i64, a, b);
  }
  constexpr sequence<std::int32_t> axes_of(im2col_form::operand const& o) const {
    sequence<std::int32_t> all;
    for (std::int32_t a : o.own) all.push_back(program::at(p.stages, stage).first_axis + a);
    return all;
  }
  constexpr int extent(int axis) const { return program::at(p.axes, axis).extent; }
  constexpr int size_of(sequence<std::int32_t> const& axes) {
    int size = extent(axes[0]);
    for (std::size_t i = 1; i < axes.size(); ++i) size = number(op::mul, size, extent(axes[i]));
    return size;
  }
  /// What each of `axes` is where they are all one, `whole`.
  constexpr void take_apart(sequence<std::int32_t> const& axes, int whole, sequence<std::int32_t>& into) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      auto const at = static_cast<std::size_t>(axes[i]);
      into[at] = i > 0 ? p.operation(op::floor_mod, dtype::i64, whole, extent(axes[i])) : whole;
      if (i > 0) whole = p.operation(op::floor_div, dtype::i64, whole, extent(axes[i]));
    }
  }
  constexpr int together(sequence<std::int32_t> const& axes) {
    int index = p.axis_node(axes[0]);
    for (std::size_t i = 1; i < axes.size(); ++i) {
      int const high = p.operation(op::mul, dtype::i64, index, extent(axes[i]));
      int const low = p.axis_node(axes[i]);
      index = p.operation(op::add, dtype::i64, high, low);
    }
    return index;
  }
  /// The matrix of an operand, of its axes by terms, or the other way round.
  constexpr int gathered(im2col_form::operand const& o) {
    int const made = static_cast<int>(p.stages.size());
    stage_info const s = stage_of_new_axes(p, 2, 0);
    sequence<std::int32_t> const own = axes_of(o);
    sequence<std::int32_t> shape;
    body_rewriter to{p};
    to.axes.resize(p.axes.size(), -1);
    for (bool of_terms : {o.terms_first, !o.terms_first}) {
      sequence<std::int32_t> const& axes = of_terms ? terms : own;
      shape.push_back(size_of(axes));
      int const whole = p.axis_node(p.add_axis(shape.back(), made, false));
      take_apart(axes, whole, to.axes);
    }
    node const load = p.at(o.load);
    int body = to.copy(o.load), holds = -1;
    for (std::int32_t c : o.conditions) {
      int const condition = to.copy(c);
      holds = holds < 0 ? condition : p.operation(op::logical_and, dtype::boolean, holds, condition);
    }
    if (holds >= 0) {
      int const zero = p.literal(load.type, 0);
      body = p.operation(op::select, load.type, holds, body, zero);
    }
    return p.add_stage(name_from(program::at(p.tensors, load.a).name, "_matrix"), s, load.type, shape, {body, 0});
  }
  /// The node that stands for the operand where its element is `element`: converted as it was.
  constexpr int converted(im2col_form::operand const& o, int element) {
    sequence<std::int32_t> casts;
    for (int at = o.value; at != o.load;) {
      node const& n = p.at(at);
      if (n.kind == op::cast) casts.push_back(at);
      at = n.kind == op::cast ? n.a : n.b;
    }
    for (std::size_t i = casts.size(); i-- > 0;) element = p.operation(op::cast, p.at(casts[i]).type, element);
    return element;
  }
  constexpr int product(int rows, int columns) {
    stage_info const whole = program::at(p.stages, stage);
    result_info was = p.result(whole, 0);
    was.body = form.update;
    tensor_info const result = program::at(p.tensors, whole.tensor);
    int const made = static_cast<int>(p.stages.size());
    stage_info const s = stage_of_new_axes(p, 2, 1);
    sequence<std::int32_t> shape;
    for (im2col_form::operand const& o : form.operands) shape.push_back(size_of(axes_of(o)));
    sequence<std::int32_t> at;
    for (std::int32_t size : shape) at.push_back(p.axis_node(p.add_axis(size, made, false)));
    int const k = p.axis_node(p.add_axis(size_of(terms), made, true));
    body_rewriter to{p};
    to.made.resize(p.nodes.size(), -1);
    for (int i = 0; i < 2; ++i) {
      im2col_form::operand const& o = form.operands[i];
      sequence<std::int32_t> indices(2, k);
      indices[o.terms_first ? 1 : 0] = at[static_cast<std::size_t>(i)];
      int const element = converted(o, p.load(i == 0 ? rows : columns, indices));
      to.made[static_cast<std::size_t>(o.value)] = element;
    }
    return p.add_stage(name_from(result.name, "_product"), s, result.type, shape, to.renewed(was));
  }
  constexpr void run() {
    int const rows = gathered(form.operands[0]), columns = gathered(form.operands[1]), sums = product(rows, columns);
    sequence<std::int32_t> indices;
    for (im2col_form::operand const& o : form.operands) indices.push_back(together(axes_of(o)));
    int const element = p.load(sums, indices);
    stage_info& s = p.stages[static_cast<std::size_t>(stage)];
    p.results[static_cast<std::size_t>(s.first_result)] = {element, 0};
    s.reduced = 0;
  }
};
}  // namespace detail

/// Adds two stages with the elements that the operands of `stage`, an im2col_form, have for its fused rows, columns and terms, and one, the
/// last, that multiplies these matrices; lets `stage` be a copy of that. `order`: of its reduced axes, by place among them; empty: as they are.
constexpr void add_matrices(program& p, int stage, sequence<std::int64_t> const& order) { detail::matrix_maker(p, stage, order).run(); }

}  // namespace weft::inline WEFT_ABI
