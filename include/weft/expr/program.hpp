// A computation as one flat value: what every later part of weft works on.
//
// A program is made by the typed face (face.hpp), by reading text, or by a fuzzer; all of them call the same
// builder functions here. It is a literal type, so the C++ compiler can make one too.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "weft/base/dtype.hpp"
#include "weft/base/error.hpp"
#include "weft/base/fixed_string.hpp"
#include "weft/base/op.hpp"
#include "weft/base/sequence.hpp"
#include "weft/expr/extern_function.hpp"

namespace weft::inline WEFT_ABI {

/// One operation. Operands are indices into `program::nodes`, and always smaller than the node's own index.
struct node {
  op kind = op::literal;
  dtype type = dtype::i64;
  /// extent: tensor, dimension. scalar: its number. axis: its number. self: of which result. load: tensor, first of
  /// its indices in `program::operands`, how many. literal: the bits in `value`. Else the operands; cast, bitcast: a.
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
  std::int8_t given = -1;   // so many characters of the name are the user's, the rest tells it from others; -1: all
  static constexpr std::size_t longest_given = short_name::capacity - 6;
  /// Whether the user called it so.
  constexpr bool is_called(std::string_view wanted) const {
    if (given < 0) return name.view() == wanted;
    return wanted.substr(0, longest_given) == name.view().substr(0, static_cast<std::size_t>(given));
  }
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

/// What a stage computes for one of its tensors.
struct result_info {
  std::int32_t body = -1;
  std::int64_t identity = 0;
  /// Of a reduction whose terms may be joined in any order (weft::any_order): what two values of parts of it become.
  /// op::self, from the number of results on, is that of the second part.
  std::int32_t merged = -1;
  constexpr bool operator==(result_info const&) const = default;
};

/// `tensor(spatial axes) = body`, for one or several tensors, all of whose bodies are evaluated before any of them
/// is written. In a reduction, the bodies have op::self for the values so far, which start as `identity`; they are
/// evaluated for all points of the reduced axes, the last axis fastest. In a scan, which reduces nothing, they have the
/// values one step before along the scanned axis for it, and the identity at the first step.
/// Where a function computes it, its results have no body, and all of each tensor that it reads is read at once.
struct stage_info {
  std::int32_t tensor = -1;  // the first; the others are numbered behind it
  std::int32_t first_axis = 0, spatial = 0;
  std::int32_t first_reduced = 0, reduced = 0;  // in a canonical program right behind the spatial ones
  std::int32_t first_result = 0, results = 1;   // in program::results
  std::int32_t scanned = -1;  // of a scan: which of the spatial axes is walked in order
  bool backwards = false;     // from its end
  std::int32_t first_read = 0;  // in program::reads, as many as the function reads
  extern_function const* by = nullptr;
  constexpr int axes() const { return spatial + reduced; }
};

/// The whole computation: a value. Functions that compute stages are told by their addresses.
struct program {
  sequence<node> nodes;
  sequence<std::int32_t> operands;  // indices of loads
  sequence<std::int32_t> extents;   // shapes of tensors
  sequence<input_info> inputs;
  sequence<tensor_info> tensors;
  sequence<axis_info> axes;
  sequence<stage_info> stages;
  sequence<result_info> results;
  sequence<std::int32_t> reads;    // tensors that functions read
  sequence<std::int32_t> outputs;  // tensors, in the order in which the what-lambda returned them
  sequence<std::int32_t> conditions;  // on the inputs' extents (weft::require): what a call has to meet
  std::int32_t scalars = 0;
  // Of a literal node, `a` when the number in the source did not fit its type: kernel.hpp refuses such a program, and
  // has the lambda run again with `loud` set, where the number is refused on its own line.
  static constexpr std::int32_t misfit = 0;
  bool loud = false;
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
  /// Ends a stage of one result, whose axes were added before. `shape` holds one extent node per spatial axis. Equal
  /// names get a suffix.
  constexpr int add_stage(short_name name, stage_info s, dtype type, sequence<std::int32_t> const& shape,
                          result_info result) {
    s.tensor = static_cast<std::int32_t>(tensors.size());
    s.first_result = static_cast<std::int32_t>(results.size());
    s.results = 0;
    stages.push_back(s);
    return add_result(name, type, shape, result);
  }
  /// One more result of the stage that was added last.
  constexpr int add_result(short_name name, dtype type, sequence<std::int32_t> const& shape, result_info result) {
    stage_info& s = stages.back();
    bool const taken = is_name(name);
    tensors.push_back({taken ? unused_name(name) : name, type, s.spatial, static_cast<std::int32_t>(extents.size()),
                       static_cast<std::int32_t>(stages.size()) - 1});
    if (taken)
      tensors.back().given =
          static_cast<std::int8_t>(name.size < tensor_info::longest_given ? name.size : tensor_info::longest_given);
    for (std::int32_t e : shape) extents.push_back(e);
    results.push_back(result);
    return s.tensor + s.results++;
  }

  // Checked by hand: indexing a sequence costs a constant evaluation several steps more.
  template <class T>
  static constexpr T const& at(sequence<T> const& v, int i) {
    return v[static_cast<std::size_t>(i)];
  }
  constexpr node const& at(int i) const { return at(nodes, i); }
  constexpr result_info const& result(stage_info const& s, int number) const {
    return at(results, s.first_result + number);
  }
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
    // A name of full length is cut, or no suffix would ever fit.
    short_name const base(wanted.view().substr(0, tensor_info::longest_given));
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

/// Calls `f(tensor)` for each tensor that the function of a stage reads.
template <class F>
constexpr void each_whole_read(program const& p, stage_info const& s, F const& f) {
  for (int i = 0; s.by != nullptr && i < s.by->reads; ++i) f(program::at(p.reads, s.first_read + i));
}
/// The number of a stage among those that functions compute.
constexpr std::int32_t extern_number(program const& p, int stage) {
  std::int32_t before = 0;
  for (int s = 0; s < stage; ++s) before += program::at(p.stages, s).by != nullptr;
  return before;
}

/// Whether two nodes are written alike: `(n + 1) / 2` is, wherever it was made, and an element that a lambda names twice. Deeper than 8 only where they are one node.
constexpr bool are_written_alike(program const& p, int x, int y, int depth = 8) {
  if (x == y) return true;
  if (x < 0 || y < 0 || depth == 0) return false;
  node const &a = p.at(x), &b = p.at(y);
  if (a.kind != b.kind || a.type != b.type || a.value != b.value) return false;
  if (a.kind == op::load) {
    bool alike = a.a == b.a && a.c == b.c;
    for (int i = 0; i < a.c && alike; ++i) alike = are_written_alike(p, program::at(p.operands, a.b + i), program::at(p.operands, b.b + i), depth - 1);
    return alike;
  }
  if (arity(a.kind) == 0) return a == b;
  return are_written_alike(p, a.a, b.a, depth - 1) && are_written_alike(p, a.b, b.b, depth - 1) && are_written_alike(p, a.c, b.c, depth - 1);
}

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

/// No extent has one of these values, though arithmetic on extents may well be negative on its way. Open: the code is to
/// be for all sizes (dim.hpp).
inline constexpr std::int64_t unknown_extent = std::int64_t(-0x7fffffffffffffff) - 1, open_extent = unknown_extent + 1,
                              endless_extent = unknown_extent + 2;  // no i64 holds it

namespace detail {
/// What was found at run time, by node: an operand may be shared by many, and an extent of a chain is one of the stage before it.
struct known_extents {
  sequence<std::int64_t> values{};
  sequence<bool> done{};
};
template <class Extents>
struct extent_evaluation {
  program const& p;
  Extents const& inputs;
  known_extents& known;

  constexpr std::int64_t value(int id) {
    node const& n = p.at(id);
    if (n.kind == op::literal) return n.value;
    if (n.kind == op::extent) {
      std::int64_t const given = inputs(n.a, n.b);
      return given >= 0 ? given : given == -1 ? unknown_extent : open_extent;
    }
    if (arity(n.kind) == 0) return unknown_extent;
    if (std::is_constant_evaluated()) return computed(n);
    auto const at = static_cast<std::size_t>(id);
    if (known.done.size() <= at) known.values.resize(p.nodes.size(), 0), known.done.resize(p.nodes.size(), false);
    if (!known.done[at]) {
      std::int64_t const v = computed(n);
      known.values[at] = v;
      known.done[at] = true;
    }
    return known.values[at];
  }
  constexpr std::int64_t computed(node const& n) {
    std::int64_t const a = value(n.a), b = n.b >= 0 ? value(n.b) : 0, c = n.c >= 0 ? value(n.c) : 0;
    std::int64_t const least = a < b ? (a < c ? a : c) : (b < c ? b : c);
    if (least <= endless_extent) return least;
    std::int64_t whole = 0;
    if ((n.kind == op::add && __builtin_add_overflow(a, b, &whole)) || (n.kind == op::sub && __builtin_sub_overflow(a, b, &whole)) ||
        (n.kind == op::mul && __builtin_mul_overflow(a, b, &whole)))
      return endless_extent;
    return apply(n.kind, p.at(is_choice(n.kind) ? n.b : n.a).type, a, b, c, n.type);
  }
};
}  // namespace detail

/// The value of an extent expression, given the extents of the inputs: `inputs(tensor, dim)`. It may be negative.
/// Anything that depends on an unknown extent (for which `inputs` is -1) is unknown_extent, else what depends on an open
/// one (below -1) is open_extent; where a number on the way leaves the range of i64, it is endless_extent.
template <class Extents>
constexpr std::int64_t extent_value(program const& p, int id, Extents const& inputs) {
  detail::known_extents known;
  return detail::extent_evaluation<Extents>{p, inputs, known}.value(id);
}
/// The same of one after the other, in `known` what was found of others of the program, for the same inputs.
template <class Extents>
constexpr std::int64_t extent_value(program const& p, int id, Extents const& inputs, detail::known_extents& known) {
  return detail::extent_evaluation<Extents>{p, inputs, known}.value(id);
}

}  // namespace weft::inline WEFT_ABI
