// Stages that a schedule adds to a program. What is computed stays the same.
#pragma once

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Makes a stage's body anew, with accesses to one tensor going to another of its shape.
struct redirection {
  program& p;
  std::int32_t from, to;
  sequence<std::int32_t> made{};  // by node: its copy; -1: none yet

  constexpr int copy(int id) {
    if (id < 0) return -1;
    auto const at = static_cast<std::size_t>(id);
    if (made.size() <= at) made.resize(p.nodes.size(), -1);
    if (made[at] >= 0) return made[at];
    node n = p.at(id);
    bool same = true;
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

}  // namespace weft::inline WEFT_ABI
