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

WEFT_DECL ir::expr workspace_wanted(ir::arena& m, ir::function const& f) {
  auto const number = [&](double v) { return ir::literal(m, dtype::f64, __builtin_bit_cast(std::int64_t, v)); };
  ir::expr sum = nullptr;
  for (ir::buffer const* b : f.buffers) {
    if (b->where != ir::scope::heap) continue;
    ir::expr bytes = number(size_bytes(b->type));
    for (ir::expr e : b->shape) bytes = ir::binary(m, op::mul, bytes, ir::cast(m, op::cast, dtype::f64, e));
    bytes = ir::binary(m, op::add, bytes, number(64));
    sum = sum != nullptr ? ir::binary(m, op::add, sum, bytes) : bytes;
  }
  return sum;
}

WEFT_DECL std::int64_t workspace_bytes(ir::function const& f) {
  double estimate = 0;
  for (ir::buffer const* b : f.buffers) {
    if (b->where != ir::scope::heap) continue;
    double bytes = size_bytes(b->type);
    for (ir::expr e : b->shape) bytes *= static_cast<double>(simplify(*f.nodes, e)->value);
    estimate += bytes;
  }
  if (estimate > static_cast<double>(most_workspace))
    WEFT_THROW(argument_error(f.name + ": its intermediate tensors need more than 2^48 bytes"));
  return workspace_offset(*f.nodes, f, nullptr)->value;
}

}  // namespace weft::inline WEFT_ABI
