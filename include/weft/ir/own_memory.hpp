// Names and memory that a pass adds to a loop program.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {

/// Whether a variable, buffer, size or scalar of `f` has the name: a call's sizes have what names its user gave them.
inline bool has_name(function const& f, std::string const& name) {
  for (std::string const& v : f.variables)
    if (v == name) return true;
  for (std::string const& s : f.sizes)
    if (s == name) return true;
  for (auto const& s : f.scalars)
    if (s.name == name) return true;
  for (buffer const* b : f.buffers)
    if (b->name == name) return true;
  return false;
}
/// `name`, with as many `more` behind it as it takes until nothing in `f` has it.
inline std::string free_name(function const& f, std::string name, char more = '_') {
  while (has_name(f, name)) name += more;
  return name;
}

/// The alias class of a buffer that no argument overlaps, nor any other of its kind. Those of arguments are below.
constexpr std::int32_t own_alias_class(std::int32_t id) { return 1000000 + id; }

/// `b` becomes the last buffer of `f`, with memory of its own.
inline buffer* add_own(function& f, buffer* b, std::string name, scope where) {
  b->id = static_cast<std::int32_t>(f.buffers.size());
  b->name = free_name(f, static_cast<std::string&&>(name));
  b->where = where;
  b->argument = -1;
  b->written = true;
  b->alias_class = own_alias_class(b->id);
  b->alignment = 64;
  f.buffers.push_back(b);
  return b;
}
/// A value of so many lanes in a register.
inline buffer* own_register(function& f, std::string name, dtype type, std::uint16_t lanes) {
  buffer* const b = f.nodes->make_buffer();
  b->type = type;
  b->lanes = lanes;
  return add_own(f, b, static_cast<std::string&&>(name), scope::registers);
}
/// Elements like those of `like` on the stack, densely in this shape.
inline buffer* own_buffer(function& f, std::string name, buffer const& like, sequence<expr> const& shape) {
  arena& m = *f.nodes;
  buffer* const b = m.make_buffer();
  *b = like;
  b->swizzled = false;
  b->lanes = 1;
  sequence<expr> strides(shape.size(), index(m, 1));
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = binary(m, op::mul, strides[d], shape[d]);
  b->shape = m.make_list(shape);
  b->strides = m.make_list(strides);
  return add_own(f, b, static_cast<std::string&&>(name), scope::stack);
}
inline stmt allocated(arena& m, buffer const* b, stmt inside) {
  stmt_node n;
  n.kind = stmt_kind::allocate;
  n.buf = b;
  n.children = m.make_list(sequence<stmt>(1, inside));
  return m.make(n);
}

}  // namespace ir
}  // namespace weft::inline WEFT_ABI
