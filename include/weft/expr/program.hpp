// A computation as one flat value: what every later part of weft works on.
//
// A program is made by the typed face (face.hpp), by reading text, or by a fuzzer; all of them call the same
// builder functions here. It is a literal type, so the C++ compiler can make one too.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/dtype.hpp"
#include "weft/base/error.hpp"
#include "weft/base/fixed_string.hpp"
#include "weft/base/op.hpp"
#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {

/// One operation. Operands are indices into `program::nodes`, and always smaller than the node's own index.
struct node {
  op kind = op::literal;
  dtype type = dtype::i64;
  /// extent: tensor, dimension. scalar: its number. axis: its number. load: tensor, first of its indices in
  /// `program::operands`, how many. literal: the bits in `value`. Else the operands; cast, bitcast: a.
  std::int32_t a = -1, b = -1, c = -1;
  std::int64_t value = 0;
  constexpr bool operator==(node const&) const = default;
};

/// An input or the result of a stage. Shape: `rank` nodes of type i64 from `first_extent` on.
struct tensor_info {
  short_name name;
  dtype type = dtype::f32;
  std::int32_t rank = 0;
  std::int32_t first_extent = 0;
  std::int32_t stage = -1;  // -1: an input
};

/// One parameter of the what-lambda, in order: a tensor, or a scalar (tensor == -1).
struct input_info {
  std::int32_t tensor = -1;
  dtype type = dtype::f32;
};

/// A loop variable of the mathematics: runs from 0 to its extent.
struct axis_info {
  std::int32_t extent = -1;
  std::int32_t stage = -1;
  bool reduced = false;
};

/// `tensor(spatial axes) = body`. For a reduction the body has op::self for the value so far, which starts
/// as `identity`; it is evaluated for all points of the reduced axes, the last axis fastest.
struct stage_info {
  std::int32_t tensor = -1;
  std::int32_t first_axis = 0, spatial = 0;
  std::int32_t first_reduced = 0, reduced = 0;  // in a canonical program right behind the spatial ones
  std::int32_t body = -1;
  std::int64_t identity = 0;
  constexpr int axes() const { return spatial + reduced; }
};

/// The whole computation. Copyable, comparable, printable; no pointers.
struct program {
  sequence<node> nodes;
  sequence<std::int32_t> operands;  // indices of loads
  sequence<std::int32_t> extents;   // shapes of tensors
  sequence<input_info> inputs;
  sequence<tensor_info> tensors;
  sequence<axis_info> axes;
  sequence<stage_info> stages;
  sequence<std::int32_t> outputs;  // tensors, in the order in which the what-lambda returned them
  std::int32_t scalars = 0;
  // A scratch program (see face.hpp) that was copied into another one; never set in a finished program.
  program* moved_to = nullptr;
  std::int32_t moved_axis = 0;
  program* guests = nullptr;  // the scratch programs that were copied into this one
  program* next_guest = nullptr;

  constexpr int add(node n) {
    nodes.push_back(n);
    return static_cast<int>(nodes.size()) - 1;
  }
  constexpr int literal(dtype type, std::int64_t bits) { return add({op::literal, type, -1, -1, -1, bits}); }
  constexpr int axis_node(int axis) { return add({op::axis, dtype::i64, axis}); }
  constexpr int operation(op kind, dtype type, int a, int b = -1, int c = -1) {
    return add({kind, type, a, b, c});
  }
  template <class Indices>
  constexpr int load(int tensor, Indices const& indices) {
    auto const first = static_cast<std::int32_t>(operands.size());
    for (int i : indices) operands.push_back(i);
    return add({op::load, at(tensors, tensor).type, tensor, first,
                static_cast<std::int32_t>(operands.size()) - first});
  }
  constexpr int add_axis(int extent, int stage, bool reduced) {
    axes.push_back({extent, stage, reduced});
    return static_cast<int>(axes.size()) - 1;
  }
  /// A tensor input; its extents are nodes of their own.
  constexpr int add_input(short_name name, dtype type, int rank) {
    int const id = static_cast<int>(tensors.size());
    tensors.push_back({name, type, rank, static_cast<std::int32_t>(extents.size()), -1});
    inputs.push_back({id, type});
    for (int d = 0; d < rank; ++d) extents.push_back(add({op::extent, dtype::i64, id, d}));
    return id;
  }
  constexpr int add_scalar(dtype type) {
    inputs.push_back({-1, type});
    return add({op::scalar, type, scalars++});
  }
  /// Ends a stage, whose axes were added before. `shape` holds one extent node per spatial axis. Equal names get
  /// a suffix.
  constexpr int add_stage(short_name name, stage_info s, dtype type, sequence<std::int32_t> const& shape) {
    int const id = static_cast<int>(tensors.size());
    s.tensor = id;
    tensors.push_back({unused_name(name), type, s.spatial, static_cast<std::int32_t>(extents.size()),
                       static_cast<std::int32_t>(stages.size())});
    for (std::int32_t e : shape) extents.push_back(e);
    stages.push_back(s);
    return id;
  }

  // Checked by hand: indexing a sequence costs a constant evaluation several steps more.
  template <class T>
  static constexpr T const& at(sequence<T> const& v, int i) {
    return v[static_cast<std::size_t>(i)];
  }
  constexpr node const& at(int i) const { return at(nodes, i); }
  constexpr int extent_of(int tensor, int dim) const {
    return at(extents, at(tensors, tensor).first_extent + dim);
  }

 private:
  // Names are compared by hand, the last character first: most differ there, and each step counts when it is
  // the compiler that takes it.
  constexpr bool is_name(short_name const& name) const {
    for (tensor_info const& t : tensors)
      if (t.name.size == name.size && (name.size == 0 || t.name.data[name.size - 1] == name.data[name.size - 1]) &&
          t.name == name)
        return true;
    return false;
  }
  constexpr short_name unused_name(short_name const& wanted) const {
    if (!is_name(wanted)) return wanted;
    // A name of full length is cut, or no suffix would ever fit.
    short_name const base(wanted.view().substr(0, short_name::capacity - 6));
    int suffix = 0;  // how many bear the name already, or one that looks like it: the first guess
    for (tensor_info const& t : tensors) {
      char const end = t.name.size < base.size ? 'x' : t.name.data[base.size];
      if ((end == '_' || end == 0) && t.name.data[0] == base.data[0]) ++suffix;
    }
    for (suffix = suffix > 0 ? suffix : 1;; ++suffix) {
      short_name candidate = base;
      candidate.append("_").append(suffix);
      if (!is_name(candidate)) return candidate;
    }
  }
};

/// The letter of a stage's axis, by its place among the spatial and then the reduced ones: i, j, k, l, m, ...
constexpr short_name axis_name(int place) {
  constexpr std::string_view letters = "ijklmnpqrstu";  // without o, which ends the name of an outer part
  if (place < 12) return short_name(letters.substr(static_cast<std::size_t>(place), 1));
  return short_name("x").append(place);
}

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return apply(op::floor_div, dtype::i64, a, b);
}
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return apply(op::floor_div, dtype::i64, a - 1, b) + 1;  // a + b - 1 could overflow
}

/// The value of an extent expression, given the extents of the inputs: `inputs(tensor, dim)`.
/// Anything that depends on an unknown extent (negative) is -1.
template <class Extents>
constexpr std::int64_t extent_value(program const& p, int id, Extents const& inputs) {
  node const& n = p.at(id);
  if (n.kind == op::literal) return n.value;
  if (n.kind == op::extent) return inputs(n.a, n.b);
  if (arity(n.kind) == 0) return -1;
  std::int64_t const a = extent_value(p, n.a, inputs);
  std::int64_t const b = n.b >= 0 ? extent_value(p, n.b, inputs) : 0;
  std::int64_t const c = n.c >= 0 ? extent_value(p, n.c, inputs) : 0;
  // A literal may be negative (extent - 1 is extent + -1), an unknown extent is what makes the rest unknown.
  auto const unknown = [&](int x, std::int64_t v) { return x >= 0 && v < 0 && p.at(x).kind != op::literal; };
  if (unknown(n.a, a) || unknown(n.b, b) || unknown(n.c, c)) return -1;
  return apply(n.kind, p.at(is_choice(n.kind) ? n.b : n.a).type, a, b, c, n.type);
}

}  // namespace weft::inline WEFT_ABI
