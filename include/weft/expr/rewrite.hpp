// Stages that a schedule adds to a program. What is computed stays the same.
#pragma once

#include "weft/expr/associative.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Makes a stage's body anew, with accesses to one tensor going to another of its shape, and nodes in place of axes.
struct redirection {
  program& p;
  std::int32_t from, to;
  sequence<std::int32_t> axes{};  // by axis: the node in its place; -1, or beyond the end: itself
  sequence<std::int32_t> selves{};  // by number: the node in place of a value so far; -1, or beyond the end: itself
  sequence<std::int32_t> made{};  // by node: its copy; -1: none yet

  constexpr int copy(int id) {
    if (id < 0) return -1;
    auto const at = static_cast<std::size_t>(id);
    if (made.size() <= at) made.resize(p.nodes.size(), -1);
    if (made[at] >= 0) return made[at];
    node n = p.at(id);
    bool same = true;
    if (n.kind == op::axis && static_cast<std::size_t>(n.a) < axes.size() && program::at(axes, n.a) >= 0)
      return made[at] = program::at(axes, n.a);
    if (n.kind == op::self && static_cast<std::size_t>(n.a) < selves.size() && program::at(selves, n.a) >= 0)
      return made[at] = program::at(selves, n.a);
    if (n.kind == op::load) {
      sequence<std::int32_t> indices;
      for (int i = 0; i < n.c; ++i) {
        int const old = program::at(p.operands, n.b + i);
        indices.push_back(copy(old));
        same = same && indices.back() == old;
      }
      if (n.a != from && same) return made[at] = id;
      int const load = p.load(n.a == from ? to : n.a, indices);
      return made[at] = load;
    }
    if (arity(n.kind) > 0) {
      node const old = n;
      n.a = copy(n.a);
      n.b = copy(n.b);
      n.c = copy(n.c);
      same = n == old;
    }
    int const result = same ? id : p.add(n);
    return made[at] = result;
  }
};
}  // namespace detail

/// Adds a stage that is `tensor`, element by element, and lets `reader` read that in its place. Returns its number, which
/// is the last; it has to be computed before `reader`.
constexpr int add_copy(program& p, int tensor, int reader) {
  tensor_info const source = program::at(p.tensors, tensor);
  int const stage = static_cast<int>(p.stages.size());
  stage_info s;
  s.first_axis = static_cast<std::int32_t>(p.axes.size());
  s.spatial = source.rank;
  s.first_reduced = s.first_axis + s.spatial;
  sequence<std::int32_t> shape, indices;
  for (int d = 0; d < source.rank; ++d) {
    shape.push_back(p.extent_of(tensor, d));
    indices.push_back(p.axis_node(p.add_axis(shape.back(), stage, false)));
  }
  int const body = p.load(tensor, indices);
  short_name name(source.name.view().substr(0, short_name::capacity - 5));
  int const copy = p.add_stage(name.append("_copy"), s, source.type, shape, {body, 0});
  stage_info const r = program::at(p.stages, reader);
  detail::redirection to{p, tensor, copy};
  for (int i = 0; i < r.results; ++i) {
    int const old = p.result(r, i).body, made = to.copy(old);
    p.results[static_cast<std::size_t>(r.first_result + i)].body = made;
  }
  return stage;
}

/// Takes a reduction apart: adds a stage that reduces `count` parts of it, numbered by one more spatial axis, the last,
/// and lets `stage` reduce those parts. Part v of reduced axis k has the terms k = u * count + v; as `chunks`, those of
/// k = v * ceil(extent / count) + u. Returns the number of the new stage. Needs an associative_form.
constexpr int add_parts(program& p, int stage, int axis, std::int64_t count, bool chunks) {
  associative_form const form(p, stage);
  stage_info const whole = program::at(p.stages, stage);
  int const made = static_cast<int>(p.stages.size());
  stage_info s = whole;
  s.first_axis = static_cast<std::int32_t>(p.axes.size());
  s.spatial = whole.spatial + 1;
  s.first_reduced = s.first_axis + s.spatial;
  detail::redirection to{p, -1, -1};
  to.axes.resize(p.axes.size(), -1);
  sequence<std::int32_t> shape;
  auto const same_axis = [&](int old, bool reduced) {
    int const extent = program::at(p.axes, old).extent;
    to.axes[static_cast<std::size_t>(old)] = p.axis_node(p.add_axis(extent, made, reduced));
    return extent;
  };
  for (int d = 0; d < whole.spatial; ++d) shape.push_back(same_axis(whole.first_axis + d, false));
  int const parts = p.literal(dtype::i64, count);
  shape.push_back(parts);
  int const v = p.axis_node(p.add_axis(parts, made, false));
  auto const index = [&](op kind, int a, int b) {
    if (p.at(a).kind != op::literal || p.at(b).kind != op::literal) return p.operation(kind, dtype::i64, a, b);
    return p.literal(dtype::i64, apply(kind, dtype::i64, p.at(a).value, p.at(b).value));
  };
  int const size = program::at(p.axes, axis).extent;
  int guard = -1;
  for (int d = 0; d < whole.reduced; ++d) {
    int const old = whole.first_reduced + d;
    if (old != axis) {
      same_axis(old, true);
      continue;
    }
    int const one = p.literal(dtype::i64, 1);
    int const terms = index(op::add, index(op::floor_div, index(op::sub, size, one), parts), one);
    int const u = p.axis_node(p.add_axis(terms, made, true));
    int const k = chunks ? index(op::add, index(op::mul, v, terms), u) : index(op::add, index(op::mul, u, parts), v);
    to.axes[static_cast<std::size_t>(old)] = k;
    bool const divides = p.at(size).kind == op::literal && p.at(size).value % count == 0;
    if (!divides && count > 1) guard = p.operation(op::lt, dtype::boolean, k, size);
  }
  sequence<std::int32_t> read;
  for (int r = 0; r < whole.results; ++r) {
    tensor_info const t = program::at(p.tensors, whole.tensor + r);
    int body = to.copy(p.result(whole, r).body);
    if (guard >= 0) body = p.operation(op::select, t.type, guard, body, p.add({op::self, t.type, r}));
    short_name name(t.name.view().substr(0, short_name::capacity - 3));
    name.append("_rf");
    result_info const result{body, form.identity(r), to.copy(p.result(whole, r).merged)};
    read.push_back(r == 0 ? p.add_stage(name, s, t.type, shape, result) : p.add_result(name, t.type, shape, result));
  }
  p.axes[static_cast<std::size_t>(whole.first_reduced)].extent = parts;
  p.stages[static_cast<std::size_t>(stage)].reduced = 1;
  sequence<std::int32_t> point;
  for (int d = 0; d <= whole.spatial; ++d) point.push_back(p.axis_node(whole.first_axis + d));
  for (std::int32_t& tensor : read) tensor = p.load(tensor, point);
  sequence<std::int32_t> bodies;
  if (form.is_declared()) {
    detail::redirection joined{p, -1, -1, {}, sequence<std::int32_t>(static_cast<std::size_t>(whole.results), -1)};
    for (std::int32_t part : read) joined.selves.push_back(part);
    for (int r = 0; r < whole.results; ++r) bodies.push_back(joined.copy(p.result(whole, r).merged));
  } else {
    bodies = form.merged(p, read);
  }
  for (int r = 0; r < whole.results; ++r)
    p.results[static_cast<std::size_t>(whole.first_result + r)].body = program::at(bodies, r);
  return made;
}

}  // namespace weft::inline WEFT_ABI
