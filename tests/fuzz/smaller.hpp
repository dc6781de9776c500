// Parts taken out of a program that nothing needs. What is asked for and cannot be stays as it was.
#pragma once

#include "fuzz/generate.hpp"

namespace weft_test::fuzz {

/// Elements of `t` as if it had the extents that it has now, when they are smaller than those `before`.
inline weft::dense part_of(weft::dense const& t, weft::sequence<std::int64_t> const& before) {
  weft::dense part{t.type, t.shape, {}};
  std::int64_t count = 1;
  for (std::int64_t e : t.shape) count *= e;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = 0, stride = 1;
    for (std::size_t d = t.shape.size(); d-- > 0;) {
      at += rest % t.shape[d] * stride;
      rest /= t.shape[d], stride *= before[d];
    }
    part.bits.push_back(t.bits[static_cast<std::size_t>(at)]);
  }
  return part;
}

namespace detail {
inline std::size_t place(std::int32_t i) { return static_cast<std::size_t>(i); }
template <class T>
void drop(weft::sequence<T>& all, std::int32_t first, std::int32_t count = 1) {
  while (count-- > 0) all.erase(all.begin() + first);
}
/// Whether something reads one of `count` tensors from `first` on, or asks for an extent of them; each node is in use.
inline bool is_read(weft::program const& p, int first, int count) {
  auto const among = [&](std::int32_t t) { return t >= first && t < first + count; };
  for (weft::node const& n : p.nodes)
    if ((n.kind == weft::op::load || n.kind == weft::op::extent) && among(n.a)) return true;
  for (std::int32_t t : p.reads)
    if (among(t)) return true;
  for (std::int32_t t : p.outputs)
    if (among(t)) return true;
  return false;
}
/// Tensors from `first` on are gone; those behind have numbers that are less by `count`.
inline void drop_tensors(weft::program& p, int first, int count) {
  auto const renumber = [&](std::int32_t& t) {
    if (t >= first + count) t -= count;
  };
  for (weft::node& n : p.nodes)
    if (n.kind == weft::op::load || n.kind == weft::op::extent) renumber(n.a);
  for (std::int32_t& t : p.reads) renumber(t);
  for (std::int32_t& t : p.outputs) renumber(t);
  for (weft::stage_info& s : p.stages) renumber(s.tensor);
  for (weft::input_info& i : p.inputs) renumber(i.tensor);
  drop(p.tensors, first, count);
}
/// Indices number `dim` of what is read of `tensor`.
inline void drop_indices(weft::program& p, int tensor, int dim) {
  for (weft::node& n : p.nodes) {
    if (n.kind != weft::op::load || n.a != tensor) continue;
    auto const first = static_cast<std::int32_t>(p.operands.size());
    for (int i = 0; i < n.c; ++i)
      if (i != dim) p.operands.push_back(weft::program::at(p.operands, n.b + i));
    n.b = first, --n.c;
  }
}
/// Dimension `dim` of `tensor`, with the indices.
inline void drop_dimension(weft::program& p, int tensor, int dim) {
  drop_indices(p, tensor, dim);
  weft::tensor_info& t = p.tensors[place(tensor)];
  auto const first = static_cast<std::int32_t>(p.extents.size());
  for (int d = 0; d < t.rank; ++d)
    if (d != dim) p.extents.push_back(weft::program::at(p.extents, t.first_extent + d));
  t.first_extent = first, --t.rank;
}
}  // namespace detail

/// Inputs are called A, B, .. in their order, as a kernel calls them.
inline void name_inputs(weft::program& p) {
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    char const name[] = {static_cast<char>('A' + i)};
    if (p.inputs[i].tensor >= 0) p.tensors[detail::place(p.inputs[i].tensor)].name = weft::short_name(std::string_view(name, 1));
  }
}
/// A stage whose results nothing reads and nobody is given.
inline void without_stage(weft::program& p, int stage) {
  weft::stage_info const s = weft::program::at(p.stages, stage);
  if (detail::is_read(p, s.tensor, s.results)) return;
  for (weft::tensor_info& t : p.tensors)
    if (t.stage > stage) --t.stage;
  for (weft::stage_info& other : p.stages) {
    if (other.first_result > s.first_result) other.first_result -= s.results;
    if (other.first_axis > s.first_axis) other.first_axis -= s.axes(), other.first_reduced -= s.axes();
    if (s.by != nullptr && other.by != nullptr && other.first_read > s.first_read) other.first_read -= s.by->reads;
  }
  for (weft::node& n : p.nodes)
    if (n.kind == weft::op::axis && n.a >= s.first_axis + s.axes()) n.a -= s.axes();
  for (weft::axis_info& a : p.axes)
    if (a.stage > stage) --a.stage;
  detail::drop(p.axes, s.first_axis, s.axes());
  detail::drop(p.results, s.first_result, s.results);
  if (s.by != nullptr) detail::drop(p.reads, s.first_read, s.by->reads);
  detail::drop(p.stages, stage);
  detail::drop_tensors(p, s.tensor, s.results);
}
/// One of several results, that neither the stage itself nor others read.
inline void without_result(weft::program& p, int result) {
  for (weft::stage_info& s : p.stages) {
    int const number = result - s.first_result, tensor = s.tensor + number;
    if (number < 0 || number >= s.results) continue;
    if (s.results < 2 || s.by != nullptr || p.results[detail::place(result)].merged >= 0 || detail::is_read(p, tensor, 1)) return;
    // Values so far are nodes of no stage: those of this one are made anew, with their new numbers.
    weft::program const before = p;
    for (int r = 0; r < s.results; ++r) {
      weft::result_info& info = p.results[detail::place(s.first_result + r)];
      weft::sequence<std::int32_t> made(before.nodes.size(), -1);
      bool gone = false;
      auto const copy = [&](auto const& again, std::int32_t id) -> std::int32_t {
        if (id < 0) return -1;
        if (made[detail::place(id)] >= 0) return made[detail::place(id)];
        weft::node n = before.at(id);
        if (n.kind == weft::op::self) {
          gone = gone || n.a == number;
          if (n.a > number) --n.a;
        } else if (n.kind == weft::op::load) {
          weft::sequence<std::int32_t> indices;
          for (int i = 0; i < n.c; ++i) indices.push_back(again(again, weft::program::at(before.operands, n.b + i)));
          n.b = static_cast<std::int32_t>(p.operands.size());
          for (std::int32_t i : indices) p.operands.push_back(i);
        } else if (weft::arity(n.kind) > 0) {
          n.a = again(again, n.a), n.b = again(again, n.b), n.c = again(again, n.c);
        }
        return made[detail::place(id)] = p.add(n);
      };
      if (r != number) info.body = copy(copy, info.body);
      if (gone) return void(p = before);
    }
    --s.results;
    for (weft::stage_info& other : p.stages)
      if (other.first_result > s.first_result) --other.first_result;
    detail::drop(p.results, result);
    return detail::drop_tensors(p, tensor, 1);
  }
}
/// An axis; elements are those of its first step, what reads the stage has one index less.
inline void without_axis(weft::program& p, int axis) {
  weft::axis_info const a = weft::program::at(p.axes, axis);
  weft::stage_info& s = p.stages[detail::place(a.stage)];
  int const dim = axis - s.first_axis;
  if (s.by != nullptr || (!a.reduced && s.scanned == dim)) return;
  for (int i = 0; !a.reduced && i < s.results; ++i)
    for (std::int32_t t : p.reads)
      if (t == s.tensor + i) return;
  for (weft::node& n : p.nodes)
    if (n.kind == weft::op::axis && n.a == axis) n = {weft::op::literal, weft::dtype::i64, -1, -1, -1, 0};
    else if (n.kind == weft::op::axis && n.a > axis) --n.a;
  for (weft::stage_info& other : p.stages)
    if (other.first_axis > s.first_axis) --other.first_axis, --other.first_reduced;
  detail::drop(p.axes, axis);
  if (a.reduced) {
    --s.reduced;
    return;
  }
  --s.spatial, --s.first_reduced;
  if (s.scanned > dim) --s.scanned;
  for (int i = 0; i < s.results; ++i) detail::drop_dimension(p, s.tensor + i, dim);
}
/// A dimension of an input; its elements are those at 0, its extent is the number that it was.
inline void without_dimension(drawn& d, std::size_t tensor, std::size_t dim) {
  weft::program& p = d.what;
  auto const t = static_cast<std::int32_t>(tensor), gone = static_cast<std::int32_t>(dim);
  for (std::int32_t r : p.reads)
    if (r == t) return;
  weft::sequence<std::int64_t> const before = d.tensors[tensor].shape;
  if (before[dim] == 0) return;
  d.tensors[tensor].shape[dim] = 1;
  d.tensors[tensor] = part_of(d.tensors[tensor], before);
  d.tensors[tensor].shape.erase(d.tensors[tensor].shape.begin() + static_cast<std::ptrdiff_t>(dim));
  detail::drop_dimension(p, t, gone);
  for (weft::node& n : p.nodes)
    if (n.kind == weft::op::extent && n.a == t && n.b == gone) n = {weft::op::literal, weft::dtype::i64, -1, -1, -1, before[dim]};
    else if (n.kind == weft::op::extent && n.a == t && n.b > gone) --n.b;
  draw_contents(d);
}
/// An input that nothing uses.
inline void without_input(drawn& d, std::size_t input) {
  weft::program& p = d.what;
  int const tensor = p.inputs[input].tensor;
  std::int32_t scalar = 0;
  for (std::size_t i = 0; i < input; ++i) scalar += p.inputs[i].tensor < 0;
  if (tensor >= 0) {
    weft::tensor_info const t = weft::program::at(p.tensors, tensor);
    bool used = false;  // nodes of its own extents stand there in any case
    for (weft::node const& n : p.nodes) used = used || (n.kind == weft::op::load && n.a == tensor);
    weft::sequence<bool> own(p.nodes.size(), false);
    for (int k = 0; k < t.rank; ++k) own[detail::place(p.extent_of(tensor, k))] = true;
    auto const uses = [&](std::int32_t id) { used = used || (id >= 0 && own[detail::place(id)]); };
    for (weft::node const& n : p.nodes)
      if (weft::arity(n.kind) > 0) uses(n.a), uses(n.b), uses(n.c);
    for (std::int32_t i : p.operands) uses(i);
    for (weft::axis_info const& a : p.axes) uses(a.extent);
    for (weft::result_info const& r : p.results) uses(r.body);
    for (std::int32_t r : p.reads) used = used || r == tensor;
    if (used) return;
    d.tensors.erase(d.tensors.begin() + tensor);
    // Its extents are nodes that no one visits any more.
    detail::drop(p.inputs, static_cast<std::int32_t>(input));
    detail::drop_tensors(p, tensor, 1);
  } else {
    for (weft::node const& n : p.nodes)
      if (n.kind == weft::op::scalar && n.a == scalar) return;
    for (weft::node& n : p.nodes)
      if (n.kind == weft::op::scalar && n.a > scalar) --n.a;
    d.scalars.erase(d.scalars.begin() + scalar);
    detail::drop(p.inputs, static_cast<std::int32_t>(input));
    --p.scalars;
  }
  draw_contents(d);
}

}  // namespace weft_test::fuzz
