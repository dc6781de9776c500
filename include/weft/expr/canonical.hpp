// One numbering for equal programs, and a digest of it.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
struct renumbering {
  program const& from;
  program to{};
  sequence<std::int32_t> node_of{};  // old -> new, -1 while unseen
  sequence<std::int32_t> axis_of{};
  sequence<std::int32_t> stage_of{};  // of a node: the stage on whose axes it stands, -1: on none
  std::int32_t stage = -1;            // that is being visited
  bool foreign = false;               // a stage uses the axis of another

  constexpr int visit(int id) {
    if (id < 0) return -1;
    auto const at = static_cast<std::size_t>(id);
    if (stage_of[at] >= 0 && stage_of[at] != stage) foreign = true;
    if (node_of[at] >= 0) return node_of[at];
    node n = from.at(id);
    std::int32_t stands_on = -1;
    auto const follow = [&](int operand) {
      int const made = visit(operand);
      if (operand >= 0 && stage_of[static_cast<std::size_t>(operand)] >= 0) stands_on = stage;
      return made;
    };
    if (n.kind == op::load) {
      for (int i = 0; i < n.c; ++i) follow(program::at(from.operands, n.b + i));
      int const first = n.b;
      n.b = static_cast<std::int32_t>(to.operands.size());
      for (int i = 0; i < n.c; ++i) to.operands.push_back(visit(program::at(from.operands, first + i)));
    } else if (n.kind == op::axis) {
      n.a = axis_of[static_cast<std::size_t>(n.a)];
      foreign = foreign || n.a < 0 || program::at(to.axes, n.a).stage != stage;
      stands_on = stage;
    } else if (arity(n.kind) > 0) {
      n.a = follow(n.a);
      n.b = follow(n.b);
      n.c = follow(n.c);
    }
    stage_of[at] = stands_on;
    return node_of[at] = to.add(n);
  }
};
}  // namespace detail

/// The same program with nodes numbered in the order in which the stages, left to right and operands first,
/// use them; what nothing uses is gone, except stages: they keep the order of their definition.
/// `foreign`: whether a stage stands on an axis of another one, by a value or a reduction that was kept from its
/// lambda; the program is then of no use.
/// Cost O(nodes); constant-evaluated for the compile-time check.
constexpr program canonical(program const& p, bool& foreign) {
  detail::renumbering r{p};
  r.node_of.resize(p.nodes.size(), -1);
  r.stage_of.resize(p.nodes.size(), -1);
  r.axis_of.resize(p.axes.size(), -1);
  r.to.nodes.reserve(p.nodes.size());  // 30 stages take clang 22 130,000 constexpr steps with it, 190,000 without
  r.to.operands.reserve(p.operands.size());
  r.to.extents.reserve(p.extents.size());
  r.to.axes.reserve(p.axes.size());
  r.to.stages.reserve(p.stages.size());
  r.to.inputs = p.inputs;
  r.to.tensors = p.tensors;
  r.to.outputs = p.outputs;
  r.to.scalars = p.scalars;
  r.to.reads = p.reads;
  r.to.results.reserve(p.results.size());
  auto shape = [&](int tensor) {
    tensor_info& t = r.to.tensors[static_cast<std::size_t>(tensor)];
    sequence<std::int32_t> ids;
    for (int d = 0; d < t.rank; ++d) ids.push_back(r.visit(p.extent_of(tensor, d)));
    t.first_extent = static_cast<std::int32_t>(r.to.extents.size());
    for (std::int32_t id : ids) r.to.extents.push_back(id);
  };
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    if (p.inputs[i].tensor >= 0) shape(p.inputs[i].tensor);
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    stage_info stage = p.stages[s];
    r.stage = static_cast<std::int32_t>(s);
    for (int i = 0; i < stage.results; ++i) shape(stage.tensor + i);
    int const first = static_cast<int>(r.to.axes.size());
    for (int i = 0; i < stage.axes(); ++i) {
      int const old = i < stage.spatial ? stage.first_axis + i : stage.first_reduced + i - stage.spatial;
      axis_info const a = program::at(p.axes, old);
      r.foreign = r.foreign || r.axis_of[static_cast<std::size_t>(old)] >= 0;  // one reduction in two stages
      r.axis_of[static_cast<std::size_t>(old)] = static_cast<std::int32_t>(r.to.axes.size());
      r.to.axes.push_back({r.visit(a.extent), static_cast<std::int32_t>(s), i >= stage.spatial});
    }
    stage.first_axis = first;
    stage.first_reduced = first + stage.spatial;
    for (int i = 0; i < stage.results; ++i) {
      result_info const& result = p.result(stage, i);
      r.to.results.push_back({r.visit(result.body), result.identity, r.visit(result.merged)});
    }
    stage.first_result = static_cast<std::int32_t>(r.to.results.size()) - stage.results;
    r.to.stages.push_back(stage);
  }
  r.stage = -1;
  for (std::int32_t c : p.conditions) r.to.conditions.push_back(r.visit(c));
  foreign = r.foreign;
  return static_cast<program&&>(r.to);
}
constexpr program canonical(program const& p) {
  bool foreign = false;
  return canonical(p, foreign);
}

constexpr std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
  return h ^ (h >> 29);
}

/// 64 bits that are equal for equal canonical programs, whichever compiler or run made them.
constexpr std::uint64_t digest(program const& p) {
  std::uint64_t h = p.nodes.size();
  auto pair = [](std::int32_t a, std::int32_t b) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
  };
  for (node const& n : p.nodes) {
    h = mix(h, pair(static_cast<int>(n.kind) * 256 + static_cast<int>(n.type), n.a));
    h = mix(h, pair(n.b, n.c) ^ static_cast<std::uint64_t>(n.value));
  }
  for (std::int32_t i : p.operands) h = mix(h, static_cast<std::uint64_t>(i));
  for (std::int32_t i : p.extents) h = mix(h, static_cast<std::uint64_t>(i));
  for (axis_info const& a : p.axes) h = mix(h, pair(a.extent, a.reduced ? 1 : 0));
  for (stage_info const& s : p.stages) {
    h = mix(mix(h, pair(s.tensor, s.first_axis)), pair(s.spatial + ((s.scanned + 1) * 2 + s.backwards) * 256, s.results));
    if (s.by == nullptr) continue;
    for (char c : s.by->name) h = mix(h, static_cast<std::uint64_t>(c));
    each_whole_read(p, s, [&](int tensor) { h = mix(h, static_cast<std::uint64_t>(tensor)); });
  }
  for (result_info const& r : p.results)
    h = mix(mix(h, pair(r.body, r.merged)), static_cast<std::uint64_t>(r.identity));
  for (input_info const& i : p.inputs) h = mix(h, pair(i.tensor, static_cast<int>(i.type)));
  for (std::int32_t o : p.outputs) h = mix(h, static_cast<std::uint64_t>(o));
  for (std::int32_t c : p.conditions) h = mix(h, static_cast<std::uint64_t>(c));
  return h;
}

}  // namespace weft::inline WEFT_ABI
