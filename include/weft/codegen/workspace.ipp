#include "weft/base/error.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL ir::expr workspace_offset(ir::arena& m, ir::function const& f, ir::buffer const* b) {
  ir::expr offset = ir::index(m, 0);
  for (ir::buffer const* other : f.buffers) {
    if (other == b) break;
    if (other->where != ir::scope::heap) continue;
    ir::expr bytes = ir::index(m, size_bytes(other->type));
    for (ir::expr e : other->shape) bytes = ir::binary(m, op::mul, bytes, e);
    ir::expr const lines = ir::binary(m, op::floor_div, ir::binary(m, op::add, bytes, ir::index(m, 63)),
                                      ir::index(m, 64));
    offset = ir::binary(m, op::add, offset, ir::binary(m, op::mul, lines, ir::index(m, 64)));
  }
  return simplify(m, offset);
}

namespace detail {
inline std::int64_t index_value(ir::expr e, sequence<std::int64_t> const& sizes) {
  if (e->kind == op::literal) return e->value;
  if (e->kind == op::extent) return sizes[static_cast<std::size_t>(e->value)];
  std::int64_t const a = index_value(e->a, sizes), b = e->b ? index_value(e->b, sizes) : 0;
  std::int64_t const c = e->c ? index_value(e->c, sizes) : 0;
  return apply(e->kind, is_choice(e->kind) ? e->b->type : e->a->type, a, b, c, e->type);
}
}  // namespace detail

WEFT_DECL std::int64_t workspace_bytes(ir::function const& f, sequence<std::int64_t> const& sizes) {
  double estimate = 0;
  for (ir::buffer const* b : f.buffers) {
    if (b->where != ir::scope::heap) continue;
    double bytes = size_bytes(b->type);
    for (ir::expr e : b->shape) bytes *= static_cast<double>(detail::index_value(e, sizes));
    estimate += bytes;
  }
  if (estimate > 281474976710656.0)
    WEFT_THROW(argument_error(f.name + ": its intermediate tensors need more than 2^48 bytes"));
  return detail::index_value(workspace_offset(*f.nodes, f, nullptr), sizes);
}

}  // namespace weft::inline WEFT_ABI
