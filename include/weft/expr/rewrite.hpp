// Stages that a schedule adds to a program, or lays out anew. What is computed stays the same.
#pragma once

#include "weft/base/node_set.hpp"
#include "weft/expr/associative.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Neighbouring dimensions that a layout takes together, as one number: those of one alone are the dimension itself.
struct joined_dims {
  static constexpr int most = 8;
  int first = 0, count = 1;

  constexpr explicit joined_dims(std::int64_t number) : first(static_cast<int>(number % most)), count(static_cast<int>(number / most) + 1) {}
  constexpr joined_dims(int f, int n) : first(f), count(n) {}
  constexpr int end() const { return first + count; }
  constexpr std::int32_t number() const { return first + most * (count - 1); }
};
/// Makes bodies anew, with axes, values so far and accesses in the place of others.
struct body_rewriter {
  program& p;
  std::int32_t from = -1, to = -1;  // accesses to tensor `from` go to `to`; where they are one, they are laid out
  sequence<std::int32_t> axes{};    // by axis: the node that stands for it; -1: as it was
  sequence<std::int64_t> const* layout = nullptr;  // dimension (joined_dims), divisor and modulus of each new dimension of `from`
  sequence<std::int32_t> const* sizes = nullptr;   // of its old dimensions
  std::int32_t results = 1;                        // so many tensors from `from` on
  sequence<std::int32_t> selves{};                 // by number of a value so far: likewise
  sequence<std::int32_t> made{};                   // by node: its copy; -1: none yet

  constexpr int copy(int id) {
    if (id < 0) return -1;
    auto const at = static_cast<std::size_t>(id);
    if (made.size() <= at) made.resize(p.nodes.size(), -1);
    if (made[at] >= 0) return made[at];
    int const result = make(id);
    return made[at] = result;
  }
  /// Of each result of a stage.
  constexpr void renew(int stage) {
    stage_info const s = program::at(p.stages, stage);
    for (int i = 0; i < s.results; ++i) {
      result_info const was = p.result(s, i);
      p.results[static_cast<std::size_t>(s.first_result + i)] = renewed(was);
    }
  }
  constexpr result_info renewed(result_info const& was) {
    int const body = copy(was.body), merged = copy(was.merged);
    return {body, was.identity, merged};
  }

 private:
  constexpr int make(int id) {
    node const old = p.at(id);
    node n = old;
    if (n.kind == op::axis) {
      return in_place(axes, n.a, id);
    }
    if (n.kind == op::self) return in_place(selves, n.a, id);
    if (n.kind == op::load) {
      bool const meant = from >= 0 && n.a >= from && n.a < from + results;
      bool same = !meant;
      sequence<std::int32_t> indices;
      for (int i = 0; i < n.c; ++i) {
        int const index = program::at(p.operands, n.b + i);
        indices.push_back(copy(index));
        same = same && indices.back() == index;
      }
      if (same) return id;
      if (meant && layout != nullptr) indices = laid_out(indices);
      return p.load(meant ? to + (n.a - from) : n.a, indices);
    }
    if (arity(n.kind) == 0) return id;
    n.a = copy(n.a);
    n.b = copy(n.b);
    n.c = copy(n.c);
    return n == old ? id : p.add(n);
  }
  static constexpr int in_place(sequence<std::int32_t> const& others, std::int32_t number, int id) {
    int const by = number < static_cast<std::int32_t>(others.size()) ? program::at(others, number) : -1;
    return by >= 0 ? by : id;
  }
  constexpr sequence<std::int32_t> laid_out(sequence<std::int32_t> const& old) {
    sequence<std::int32_t> indices;
    for (std::size_t t = 0; t + 2 < layout->size(); t += 3) {
      joined_dims const of((*layout)[t]);
      int index = old[static_cast<std::size_t>(of.first)];
      for (int d = of.first + 1; d < of.end(); ++d)
        index = p.operation(op::add, dtype::i64, p.operation(op::mul, dtype::i64, index, (*sizes)[static_cast<std::size_t>(d)]), old[static_cast<std::size_t>(d)]);
      if ((*layout)[t + 1] != 1) index = by_number(op::floor_div, index, (*layout)[t + 1]);
      if ((*layout)[t + 2] != 0) index = by_number(op::floor_mod, index, (*layout)[t + 2]);
      indices.push_back(index);
    }
    return indices;
  }
  constexpr int by_number(op kind, int a, std::int64_t b) {
    int const number = p.literal(dtype::i64, b);
    return p.operation(kind, dtype::i64, a, number);
  }
};
/// A stage of the program's next axes, which are to be added in this order.
constexpr stage_info stage_of_new_axes(program const& p, int spatial, int reduced) {
  stage_info s;
  s.first_axis = static_cast<std::int32_t>(p.axes.size());
  s.spatial = spatial;
  s.first_reduced = s.first_axis + spatial;
  s.reduced = reduced;
  return s;
}
constexpr short_name name_from(short_name const& name, std::string_view end) {
  return short_name(name.view().substr(0, short_name::capacity - end.size())).append(end);
}
/// Calls `f(node)` for each node of which these values are made, once each: they may share parts over and over.
///
/// Cost  O(nodes met)
template <class F>
constexpr void each_part(program const& p, sequence<std::int32_t> const& values, F const& f) {
  node_set seen;
  sequence<std::int32_t> next;
  auto const reach = [&](std::int32_t part) {
    if (part >= 0 && seen.add(part)) next.push_back(part);
  };
  for (std::int32_t value : values) reach(value);
  while (!next.empty()) {
    node const n = p.at(next.back());
    next.pop_back();
    f(n);
    for (int i = 0; n.kind == op::load && i < n.c; ++i) reach(program::at(p.operands, n.b + i));
    if (arity(n.kind) > 0) reach(n.a), reach(n.b), reach(n.c);
  }
}
template <class F>
constexpr void each_part(program const& p, int id, F const& f) {
  each_part(p, sequence<std::int32_t>(1, static_cast<std::int32_t>(id)), f);
}
/// Whether a condition is of indices and sizes alone, which can be asked for anywhere.
constexpr bool is_of_indices(program const& p, int id) {
  bool only = true;
  each_part(p, id, [&](node const& n) { only = only && n.kind != op::load && n.kind != op::self && n.kind != op::scalar; });
  return only;
}
}  // namespace detail

/// Adds a stage that is `tensor`, element by element, and lets `reader` read that in its place, or with -1 all stages that read the tensor. Returns
/// its number, which is the last; it has to be computed before them.
constexpr int add_copy(program& p, int tensor, int reader) {
  tensor_info const source = program::at(p.tensors, tensor);
  int const stage = static_cast<int>(p.stages.size());
  stage_info const s = detail::stage_of_new_axes(p, source.rank, 0);
  sequence<std::int32_t> shape, indices;
  for (int d = 0; d < source.rank; ++d) {
    shape.push_back(p.extent_of(tensor, d));
    indices.push_back(p.axis_node(p.add_axis(shape.back(), stage, false)));
  }
  int const body = p.load(tensor, indices);
  int const copy = p.add_stage(detail::name_from(source.name, "_copy"), s, source.type, shape, {body, 0});
  for (int r = reader < 0 ? 0 : reader; r < (reader < 0 ? stage : reader + 1); ++r) {
    detail::body_rewriter{p, tensor, copy}.renew(r);
    stage_info const& by = program::at(p.stages, r);
    for (int i = 0; by.by != nullptr && i < by.by->reads; ++i)
      if (std::int32_t& read = p.reads[static_cast<std::size_t>(by.first_read + i)]; read == tensor) read = copy;
  }
  return stage;
}

/// Adds a stage that computes what `stage` did, and lets `stage` be a copy of it. Returns the number of the new one,
/// which is the last; it has to be computed before `stage`.
constexpr int add_origin(program& p, int stage) {
  stage_info const old = program::at(p.stages, stage);
  int const made = static_cast<int>(p.stages.size());
  stage_info s = detail::stage_of_new_axes(p, old.spatial, old.reduced);
  s.scanned = old.scanned;
  s.backwards = old.backwards;
  detail::body_rewriter to{p};
  to.axes.resize(p.axes.size(), -1);
  sequence<std::int32_t> indices;
  for (int i = 0; i < old.axes(); ++i) {
    int const axis = i < old.spatial ? old.first_axis + i : old.first_reduced + i - old.spatial;
    int const fresh = p.add_axis(program::at(p.axes, axis).extent, made, i >= old.spatial);
    to.axes[static_cast<std::size_t>(axis)] = p.axis_node(fresh);
    if (i < old.spatial) indices.push_back(p.axis_node(axis));
  }
  for (int r = 0; r < old.results; ++r) {
    tensor_info const t = program::at(p.tensors, old.tensor + r);
    sequence<std::int32_t> shape;
    for (int d = 0; d < t.rank; ++d) shape.push_back(p.extent_of(old.tensor + r, d));
    result_info const result = to.renewed(p.result(old, r));
    short_name const name = detail::name_from(t.name, "_acc");
    int const tensor = r == 0 ? p.add_stage(name, s, t.type, shape, result) : p.add_result(name, t.type, shape, result);
    int const copied = p.load(tensor, indices);
    p.results[static_cast<std::size_t>(old.first_result + r)] = {copied, 0};
  }
  stage_info& copy = p.stages[static_cast<std::size_t>(stage)];
  copy.reduced = 0;
  copy.scanned = -1;
  copy.backwards = false;
  return made;
}

/// Gives a stage other dimensions, and what reads it the indices at which elements stand then. `numbers`: dimension
/// (detail::joined_dims), divisor and modulus (0: none) of each new dimension, (index / divisor) % modulus, which have to be a bijection; then
/// what elements are that it did not have.
constexpr void change_layout(program& p, int stage, sequence<std::int64_t> const& numbers) {
  stage_info const old = program::at(p.stages, stage);
  auto const binary = [&](op kind, int a, int b) { return p.operation(kind, dtype::i64, a, b); };
  auto const number = [&](std::int64_t n) { return p.literal(dtype::i64, n); };
  int const rank = static_cast<int>(numbers.size() / 3);
  stage_info s = detail::stage_of_new_axes(p, rank, old.reduced);
  s.tensor = old.tensor;
  s.first_result = old.first_result;
  s.results = old.results;
  sequence<std::int32_t> sizes, shape;
  for (int d = 0; d < old.spatial; ++d) sizes.push_back(program::at(p.axes, old.first_axis + d).extent);
  detail::body_rewriter to{p, old.tensor, old.tensor, {}, &numbers, &sizes, old.results};
  to.axes.resize(p.axes.size(), -1);
  // Of old dimensions, or of those joined by the first one: its index in new ones, its size, and whether that may be rounded up.
  sequence<std::int32_t> indices(static_cast<std::size_t>(old.spatial), -1), whole = sizes;
  sequence<bool> cut(static_cast<std::size_t>(old.spatial), false);
  for (int t = 0; t < rank; ++t) {
    detail::joined_dims const of(numbers[static_cast<std::size_t>(3 * t)]);
    auto const divisor = numbers[static_cast<std::size_t>(3 * t + 1)], modulus = numbers[static_cast<std::size_t>(3 * t + 2)];
    auto const first = static_cast<std::size_t>(of.first);
    if (indices[first] < 0)
      for (int d = of.first + 1; d < of.end(); ++d) whole[first] = binary(op::mul, whole[first], sizes[static_cast<std::size_t>(d)]);
    int const size = whole[first];
    if (modulus != 0)
      shape.push_back(number(modulus));
    else if (divisor == 1)
      shape.push_back(size);
    else
      shape.push_back(binary(op::floor_div, binary(op::add, size, number(divisor - 1)), number(divisor)));
    if (divisor != 1) cut[first] = true;
    int digit = p.axis_node(p.add_axis(shape.back(), stage, false));
    if (divisor != 1) digit = binary(op::mul, digit, number(divisor));
    indices[first] = indices[first] < 0 ? digit : binary(op::add, indices[first], digit);
  }
  for (int d = 0, end = 0; d < old.spatial; d = end) {
    end = d + 1;
    while (end < old.spatial && indices[static_cast<std::size_t>(end)] < 0) ++end;  // joined with the one in front
    for (int of = end, rest = indices[static_cast<std::size_t>(d)]; of-- > d;) {
      int const size = sizes[static_cast<std::size_t>(of)];
      to.axes[static_cast<std::size_t>(old.first_axis + of)] = of > d ? binary(op::floor_mod, rest, size) : rest;
      if (of > d) rest = binary(op::floor_div, rest, size);
    }
  }
  for (int i = 0; i < old.reduced; ++i) {
    int const axis = old.first_reduced + i, fresh = p.add_axis(program::at(p.axes, axis).extent, stage, true);
    to.axes[static_cast<std::size_t>(axis)] = p.axis_node(fresh);
  }
  int inside = -1;
  for (int d = 0; d < old.spatial; ++d) {
    if (!cut[static_cast<std::size_t>(d)]) continue;
    int const below = p.operation(op::lt, dtype::boolean, indices[static_cast<std::size_t>(d)], whole[static_cast<std::size_t>(d)]);
    inside = inside < 0 ? below : p.operation(op::logical_and, dtype::boolean, inside, below);
  }
  // Tensors first: accesses are made for their new rank.
  for (int r = 0; r < old.results; ++r) {
    tensor_info& t = p.tensors[static_cast<std::size_t>(old.tensor + r)];
    t.rank = rank;
    t.first_extent = static_cast<std::int32_t>(p.extents.size());
    for (std::int32_t e : shape) p.extents.push_back(e);
  }
  p.stages[static_cast<std::size_t>(stage)] = s;
  for (int other = 0; other < static_cast<int>(p.stages.size()); ++other) to.renew(other);
  for (int r = 0; r < old.results && inside >= 0; ++r) {
    dtype const type = program::at(p.tensors, old.tensor + r).type;
    int const padding = p.literal(type, apply(op::cast, dtype::i64, numbers.back(), 0, 0, type));
    result_info& result = p.results[static_cast<std::size_t>(old.first_result + r)];
    // What is padding there anyway is so under one condition: a copy that runs on by itself has one.
    node const was = p.at(result.body);
    bool const same = was.kind == op::select && p.at(was.c) == p.at(padding) && detail::is_of_indices(p, was.a);
    int const holds = same ? p.operation(op::logical_and, dtype::boolean, inside, was.a) : inside;
    int const body = p.operation(op::select, type, holds, same ? was.b : result.body, padding);
    result.body = body;
  }
}

/// Takes a reduction apart: adds a stage that reduces `count` parts of it, numbered by one more spatial axis, the last,
/// and lets `stage` reduce those parts. Part v of reduced axis k has the terms k = u * count + v; as `chunks`, those of
/// k = v * ceil(extent / count) + u. Returns the number of the new stage. Needs an associative_form.
constexpr int add_parts(program& p, int stage, int axis, std::int64_t count, bool chunks) {
  associative_form const form(p, stage);
  stage_info const whole = program::at(p.stages, stage);
  int const made = static_cast<int>(p.stages.size());
  stage_info const s = detail::stage_of_new_axes(p, whole.spatial + 1, whole.reduced);
  detail::body_rewriter to{p};
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
    result_info result = to.renewed(p.result(whole, r));
    if (guard >= 0) result.body = p.operation(op::select, t.type, guard, result.body, p.add({op::self, t.type, r}));
    result.identity = form.identity(r);
    short_name const name = detail::name_from(t.name, "_rf");
    read.push_back(r == 0 ? p.add_stage(name, s, t.type, shape, result) : p.add_result(name, t.type, shape, result));
  }
  p.axes[static_cast<std::size_t>(whole.first_reduced)].extent = parts;
  p.stages[static_cast<std::size_t>(stage)].reduced = 1;
  sequence<std::int32_t> point;
  for (int d = 0; d <= whole.spatial; ++d) point.push_back(p.axis_node(whole.first_axis + d));
  for (std::int32_t& tensor : read) tensor = p.load(tensor, point);
  sequence<std::int32_t> bodies;
  if (form.is_declared()) {
    detail::body_rewriter joined{p};
    joined.selves.resize(static_cast<std::size_t>(whole.results), -1);
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
