#include "weft/schedule/pressure.hpp"
#include "weft/schedule/rules/view.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_DECL std::int64_t rule_view::extent(int s, int axis) const {
  std::int64_t const e = n_.at(loop(s, axis)).extent;
  return e < 0 ? -1 : e;
}
WEFT_DECL bool rule_view::is_output(int s) const {
  for (std::int32_t t : p_.outputs)
    if (program::at(p_.tensors, t).stage == s) return true;
  return false;
}
WEFT_DECL std::int64_t rule_view::value(int id) const {
  auto const inputs = [&](int tensor, int dim) { return n_.inputs[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(dim)]; };
  std::int64_t const v = extent_value(p_, id, inputs, facts().extents);
  return v < 0 ? -1 : v;
}
WEFT_DECL std::int64_t rule_view::divisor(node const& n, int& axis) const {
  if (n.kind != op::floor_div && n.kind != op::floor_mod) return 0;
  node const& of = p_.at(chosen(n.a));
  axis = of.a;
  if (of.kind != op::axis) return 0;
  std::int64_t const by = p_.at(n.b).kind == op::literal ? p_.at(n.b).value : value(n.b);
  return by > 1 ? by : 0;
}
WEFT_DECL std::int64_t rule_view::piece(int s, int axis) const {
  for (std::size_t i = 0; i + 2 < pieces_.size(); i += 3)
    if (pieces_[i] == s && pieces_[i + 1] == axis) return pieces_[i + 2];
  return 0;
}
WEFT_DECL std::int64_t rule_view::size(int tensor, int dim) const { return value(p_.extent_of(tensor, dim)); }
WEFT_DECL sequence<std::int64_t> rule_view::strides(int tensor) const {
  if (tensor < static_cast<int>(in_.strides.size()))
    if (sequence<std::int64_t> const& given = in_.strides[static_cast<std::size_t>(tensor)]; !given.empty()) return given;
  int const rank = program::at(p_.tensors, tensor).rank;
  sequence<std::int64_t> steps(static_cast<std::size_t>(rank), 1);
  for (int d = rank - 2; d >= 0; --d) {
    std::int64_t const inner = size(tensor, d + 1), step = steps[static_cast<std::size_t>(d) + 1];
    steps[static_cast<std::size_t>(d)] = inner < 0 || step == no_step ? no_step : step * inner;
  }
  return steps;
}
WEFT_DECL double rule_view::bytes_of(int tensor) const {
  tensor_info const& t = program::at(p_.tensors, tensor);
  double bytes = size_bytes(t.type);
  for (int d = 0; d < t.rank; ++d) bytes *= static_cast<double>(size(tensor, d) < 0 ? 256 : size(tensor, d));
  return bytes;
}

WEFT_DECL int rule_view::chosen(int id) const {
  for (;;) {
    node const& n = p_.at(id);
    if (n.kind == op::select) {
      std::int64_t const condition = value(n.a);
      if (condition < 0) return id;
      id = condition != 0 ? n.b : n.c;
    } else if (int const inner = inside_of_border(n); inner >= 0) {
      id = inner;
    } else if ((n.kind == op::min || n.kind == op::max) && n.type == dtype::i64) {
      int const axis = chosen(n.a);
      if (p_.at(axis).kind != op::axis || !keeps(p_.at(axis).a, n)) return id;
      id = axis;
    } else if (n.kind == op::floor_div && value(n.b) == 1) {  // channels by groups of one
      id = n.a;
    } else {
      return id;
    }
  }
}
/// The axis that a border which wraps around or mirrors has inside, where nobody leaves the tensor; -1: it has none, or is no border.
WEFT_DECL int rule_view::inside_of_border(node const& n) const {
  mirror_image const image(p_, n);
  bool const wraps = n.kind == op::floor_mod && n.type == dtype::i64;
  if (image.place < 0 && !wraps) return -1;
  int const axis = chosen(wraps ? n.a : image.place);
  if (p_.at(axis).kind != op::axis) return -1;
  std::int64_t const extent = value(program::at(p_.axes, p_.at(axis).a).extent), size = value(wraps ? n.b : image.sum);
  return extent >= 0 && extent <= (wraps ? size : size / 2 + 1) && (wraps || value(image.period) >= extent) ? axis : -1;
}
/// Whether the bound `n` changes no value of an axis: of a border that is repeated, along an axis that nobody leaves.
WEFT_DECL bool rule_view::keeps(int axis, node const& n) const {
  std::int64_t const extent = value(program::at(p_.axes, axis).extent);
  std::int64_t const bound = p_.at(n.b).kind == op::literal ? p_.at(n.b).value : value(n.b);
  if (p_.at(n.b).kind != op::literal && bound < 0) return false;
  return n.kind == op::max ? bound <= 0 : extent >= 0 && bound >= extent - 1;
}
WEFT_DECL int rule_view::same_axis(int id) const {
  int const found = plain(id);
  return found >= 0 && p_.at(found).kind == op::axis ? p_.at(found).a : -1;
}
WEFT_DECL int rule_view::plain(int id, int depth) const {
  id = chosen(id);
  node const& n = p_.at(id);
  auto const number = [&](int of) { return p_.at(of).kind == op::literal ? p_.at(of).value : value(of); };
  if (n.kind == op::axis) return value(program::at(p_.axes, n.a).extent) == 1 ? nothing : id;
  if (n.type != dtype::i64 || depth == 0) return id;
  if (arity(n.kind) == 0) return number(id) == 0 ? nothing : id;
  if (n.kind == op::mul) return number(n.b) == 1 ? plain(n.a, depth - 1) : number(n.a) == 1 ? plain(n.b, depth - 1) : id;
  if (n.kind != op::add && n.kind != op::sub) return id;
  if (plain(n.b, depth - 1) == nothing) return plain(n.a, depth - 1);
  return n.kind == op::add && plain(n.a, depth - 1) == nothing ? plain(n.b, depth - 1) : id;
}
WEFT_DECL bool rule_view::are_equal(int x, int y, int depth) const {
  if (x == y) return true;
  if (x < 0 || y < 0 || depth == 0) return false;
  x = chosen(x), y = chosen(y);
  node const &a = p_.at(x), &b = p_.at(y);
  if (a.kind != b.kind || a.type != b.type) return false;
  if (a.kind == op::axis) return a.a == b.a;
  if (a.kind == op::literal) return a.value == b.value;
  if (a.kind == op::extent) return a.a == b.a && a.b == b.b;
  if (arity(a.kind) == 0) return false;
  return are_equal(a.a, b.a, depth - 1) && (a.b < 0) == (b.b < 0) && (a.b < 0 || are_equal(a.b, b.b, depth - 1)) &&
         (a.c < 0) == (b.c < 0) && (a.c < 0 || are_equal(a.c, b.c, depth - 1));
}
WEFT_DECL std::int64_t rule_view::coefficient(int id, int axis) const {
  int fuel = 200;  // an index may share parts with itself over and over
  return coefficient(id, axis, fuel);
}
WEFT_DECL std::int64_t rule_view::coefficient(int id, int axis, int& fuel) const {
  if (--fuel < 0) return no_step;
  node const& n = p_.at(chosen(id));
  switch (n.kind) {
    case op::axis: return n.a == axis;
    case op::literal:
    case op::extent:
    case op::scalar: return 0;
    case op::load:
      for (int i = 0; i < n.c; ++i)
        if (coefficient(program::at(p_.operands, n.b + i), axis, fuel) != 0) return no_step;
      return 0;
    default: break;
  }
  if (arity(n.kind) == 0) return no_step;
  if (mirror_image const image(p_, n); inside_ && image.place >= 0 && coefficient(image.period, axis, fuel) == 0) return coefficient(image.place, axis, fuel);
  for (std::size_t i = 0; i + 2 < pieces_.size(); i += 3) {
    int of = -1;
    std::int64_t const by = divisor(n, of);
    if (by == 0 || of != stage(static_cast<int>(pieces_[i])).first_axis + pieces_[i + 1] || by % pieces_[i + 2] != 0) continue;
    return n.kind == op::floor_mod && of == axis ? 1 : 0;
  }
  std::int64_t const a = coefficient(n.a, axis, fuel), b = n.b < 0 ? 0 : coefficient(n.b, axis, fuel);
  std::int64_t const c = n.c < 0 ? 0 : coefficient(n.c, axis, fuel);
  if (a == 0 && b == 0 && c == 0) return 0;
  if (a == no_step || b == no_step || c == no_step) return no_step;
  auto const times = [&](std::int64_t step, int other) {
    std::int64_t const by = p_.at(other).kind == op::literal ? p_.at(other).value : value(other);
    bool const known = p_.at(other).kind == op::literal || by >= 0;
    return known && by > -(1 << 30) && by < (1 << 30) && step < (1 << 30) && step > -(1 << 30) ? step * by : no_step;
  };
  switch (n.kind) {
    case op::add: return step_sum(a, b);
    case op::sub: return step_sum(a, b, -1);
    case op::neg: return -a;
    case op::mul: return a == 0 ? times(b, n.a) : b == 0 ? times(a, n.b) : no_step;
    case op::min:
    case op::max: return inside_ && b == 0 ? a : inside_ && a == 0 ? b : no_step;
    default: return no_step;
  }
}

WEFT_DECL access rule_view::result(int s) const {
  stage_info const& of = stage(s);
  access made{of.tensor, strides(of.tensor)};
  made.steps.resize(static_cast<std::size_t>(of.axes()), 0);
  return made;
}
WEFT_DECL sequence<access> const& rule_view::loads(int s) const {
  sequence<plan_facts::stage_loads>& known = facts().loads;
  std::size_t const at = 2 * static_cast<std::size_t>(s) + (inside_ ? 1 : 0);
  if (known.size() <= at) known.resize(2 * p_.stages.size(), {});
  plan_facts::stage_loads& of = known[at];
  if (!of.known) add_loads(s, of.all, 0), of.known = true;
  return of.all;
}
/// Of two neighbouring dimensions, of which the first has the quotient of an index and the second its remainder, as those of joined ones in a layout: that
/// index, if they lie in memory as one. -1: they do not.
WEFT_DECL int rule_view::joined_index(int operand, std::int64_t step, std::int64_t next) const {
  int const index = row_index(operand);
  if (index < 0 || step == no_step || next == no_step) return -1;
  return step == step_sum(0, next, value(p_.at(plain(program::at(p_.operands, operand))).b)) ? index : -1;
}
WEFT_DECL int rule_view::row_index(int operand) const {
  int const first = plain(program::at(p_.operands, operand)), second = plain(program::at(p_.operands, operand + 1));
  if (first < 0 || second < 0) return -1;
  node const &high = p_.at(first), &low = p_.at(second);
  if (high.kind != op::floor_div || low.kind != op::floor_mod || high.a != low.a) return -1;
  std::int64_t const by = value(low.b);
  return by > 0 && value(high.b) == by ? high.a : -1;
}
WEFT_DECL void rule_view::add_loads(int s, sequence<access>& all, int depth) const {
  stage_info const& of = stage(s);
  each_load(p_, s, [&](node const& x) {
    if (all.size() > 256) return;
    // How each dimension moves, by axis of this stage.
    auto const moves = [&](int axis, int d) { return coefficient(program::at(p_.operands, x.b + d), of.first_axis + axis); };
    auto const moved = [&](access const& inner) {
      access made{inner.tensor, {}};
      for (int a = 0; a < of.axes(); ++a) {
        std::int64_t sum = 0;
        for (int d = 0; d < x.c; ++d) {
          std::int64_t by = moves(a, d), step = inner.step(d);
          if (int const both = d + 1 < x.c && by == no_step ? joined_index(x.b + d, step, inner.step(d + 1)) : -1; both >= 0)
            by = coefficient(both, of.first_axis + a), step = inner.step(++d);
          if (by != 0 && step != 0) sum = step_sum(sum, by, step);
        }
        made.steps.push_back(sum);
      }
      return made;
    };
    int const from = program::at(p_.tensors, x.a).stage;
    if (from < 0 || !is_inlined(from) || depth > 8) return all.push_back(moved({x.a, strides(x.a)}));
    sequence<access> inside;
    add_loads(from, inside, depth + 1);
    for (access const& one : inside) all.push_back(moved(one));
  });
}

/// Whether a value is the same for all elements: of extents, scalars and literals alone, as a scale is. Deep ones are not looked into.
WEFT_DECL bool rule_view::is_one_number(int id, int depth) const {
  node const& n = p_.at(id);
  if (n.kind == op::axis || n.kind == op::load || n.kind == op::self) return false;
  if (arity(n.kind) == 0) return true;
  for (std::int32_t part : {n.a, n.b, n.c})
    if (part >= 0 && (depth == 0 || !is_one_number(part, depth - 1))) return false;
  return true;
}
WEFT_DECL double rule_view::operations(int s) const {
  double count = 0;
  each_node(p_, s, false, [&](node const& x) {
    if (x.kind == op::load) {
      int const from = program::at(p_.tensors, x.a).stage;
      count += from >= 0 && is_inlined(from) ? operations(from) : 1;
    } else if (arity(x.kind) > 0 && (x.type != dtype::i64 || (is_choice(x.kind) && value(x.a) < 0))) {
      bool once = true;  // in front of all loops
      for (std::int32_t part : {x.a, x.b, x.c}) once = once && (part < 0 || is_one_number(part));
      if (once) return;
      count += x.kind == op::div || x.kind == op::sqrt ? 8 : 1;
    }
  });
  return count < 1e9 ? count : 1e9;
}
WEFT_DECL double rule_view::iterations(int s, bool all) const {
  double count = 1;
  for (int a = 0; a < (all ? stage(s).axes() : stage(s).spatial); ++a)
    count *= static_cast<double>(extent(s, a) < 0 ? 256 : extent(s, a));
  return count;
}
WEFT_DECL std::int64_t rule_view::lanes(int s) const {
  sequence<std::int32_t>& known = facts().lanes;
  auto const at = static_cast<std::size_t>(s);
  if (known.size() <= at) known.resize(p_.stages.size(), 0);
  if (known[at] == 0) {
    int const bytes = widest_bytes(p_, stage(s));
    known[at] = n_.limits.vector_bytes > bytes ? n_.limits.vector_bytes / bytes : 1;
  }
  return known[at];
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
