// Memory that a pass gives to each thread. For the passes of pass/gpu.hpp only.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// A name that no variable, buffer, size or scalar has.
inline std::string free_name(ir::function const& f, std::string name) {
  auto const taken = [&] {
    for (std::string const& v : f.variables)
      if (v == name) return true;
    for (std::string const& s : f.sizes)
      if (s == name) return true;
    for (auto const& s : f.scalars)
      if (s.name == name) return true;
    for (ir::buffer const* b : f.buffers)
      if (b->name == name) return true;
    return false;
  };
  while (taken()) name += "_";
  return name;
}
inline ir::buffer* own_buffer(ir::function& f, std::string const& name, ir::buffer const& like,
                              sequence<ir::expr> const& shape) {
  ir::arena& m = *f.nodes;
  ir::buffer* const b = m.make_buffer();
  *b = like;
  b->id = static_cast<std::int32_t>(f.buffers.size());
  b->name = free_name(f, name);
  b->where = ir::scope::stack;
  b->argument = -1;
  b->written = true;
  b->swizzled = false;
  b->lanes = 1;
  b->alias_class = 1000000 + b->id;
  b->alignment = 64;
  sequence<ir::expr> strides(shape.size(), ir::index(m, 1));
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = ir::binary(m, op::mul, strides[d], shape[d]);
  b->shape = m.make_list(shape);
  b->strides = m.make_list(strides);
  f.buffers.push_back(b);
  return b;
}
inline bool reads_memory(ir::expr e) {
  if (e == nullptr) return false;
  if (e->kind == op::load) return true;
  for (ir::expr i : e->indices)
    if (reads_memory(i)) return true;
  return reads_memory(e->a) || reads_memory(e->b) || reads_memory(e->c);
}
/// Whether all threads of a block find the same; `threads` are the variables of the loops over them.
inline bool is_uniform(ir::expr e, sequence<std::int32_t> const& threads) {
  for (std::int32_t v : threads)
    if (ir::uses(e, v)) return false;
  return !reads_memory(e);
}
/// A barrier.
inline ir::stmt waiting(ir::arena& m) {
  ir::stmt_node n;
  n.kind = ir::stmt_kind::barrier;
  return m.make(n);
}
inline ir::stmt allocated(ir::arena& m, ir::buffer const* b, ir::stmt inside) {
  ir::stmt_node n;
  n.kind = ir::stmt_kind::allocate;
  n.buf = b;
  n.children = m.make_list(sequence<ir::stmt>(1, inside));
  return m.make(n);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
