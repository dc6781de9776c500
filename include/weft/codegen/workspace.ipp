#include "weft/base/error.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {
/// Whether no element is left out between others. What storage_align has made longer reaches over the outermost dimension's
/// strides, which cannot have wrapped: they are at most 4096 times the elements.
inline bool is_dense(ir::arena& m, ir::buffer const* b) {
  ir::expr stride = ir::index(m, 1);
  for (std::size_t d = b->shape.size(); d-- > 0;) {
    if (b->strides[d] != stride) return false;
    stride = ir::binary(m, op::mul, stride, b->shape[d]);
  }
  return true;
}
}  // namespace detail

WEFT_DECL ir::expr workspace_lines(ir::arena& m, ir::buffer const* b) {
  ir::expr bytes = ir::index(m, size_bytes(b->type));
  bool const dense = detail::is_dense(m, b);
  if (!dense) bytes = ir::binary(m, op::mul, ir::binary(m, op::mul, bytes, b->strides[0]), b->shape[0]);
  for (std::size_t d = 0; dense && d < b->shape.size(); ++d) bytes = ir::binary(m, op::mul, bytes, b->shape[d]);
  return simplify(m, ir::binary(m, op::floor_div, ir::binary(m, op::add, bytes, ir::index(m, 63)), ir::index(m, 64)));
}
WEFT_DECL ir::expr workspace_offset(ir::arena& m, ir::function const& f, ir::buffer const* b, ir::scope of) {
  ir::expr offset = ir::index(m, 0);
  for (ir::buffer const* other : f.buffers) {
    if (other == b) break;
    if (other->where != of) continue;
    std::int64_t const places = other->places > 0 ? other->places : 1;
    offset = ir::binary(m, op::add, offset, ir::binary(m, op::mul, workspace_lines(m, other), ir::index(m, 64 * places)));
  }
  return simplify(m, offset);
}

WEFT_DECL ir::expr workspace_wanted(ir::arena& m, ir::function const& f, ir::scope of) {
  auto const number = [&](double v) { return ir::literal(m, dtype::f64, __builtin_bit_cast(std::int64_t, v)); };
  ir::expr sum = nullptr;
  for (ir::buffer const* b : f.buffers) {
    if (b->where != of) continue;
    ir::expr bytes = number(size_bytes(b->type));
    auto const times = [&](ir::expr x, ir::expr e) { return ir::binary(m, op::mul, x, ir::cast(m, op::cast, dtype::f64, e)); };
    ir::expr const one = bytes;
    for (ir::expr e : b->shape) bytes = times(bytes, e);
    if (!detail::is_dense(m, b)) bytes = ir::binary(m, op::max, bytes, times(times(one, b->shape[0]), b->strides[0]));
    bytes = ir::binary(m, op::add, bytes, number(64));
    if (b->places > 1) bytes = ir::binary(m, op::mul, bytes, number(b->places));
    sum = sum != nullptr ? ir::binary(m, op::add, sum, bytes) : bytes;
  }
  return sum;
}

WEFT_DECL std::int64_t workspace_bytes(ir::function const& f) {
  double estimate = 0;
  for (ir::buffer const* b : f.buffers) {
    if (b->where != ir::scope::heap) continue;
    double bytes = size_bytes(b->type);
    auto const number = [&](ir::expr e) { return static_cast<double>(simplify(*f.nodes, e)->value); };
    for (ir::expr e : b->shape) bytes *= number(e);
    if (bytes <= static_cast<double>(most_workspace) && !detail::is_dense(*f.nodes, b))
      bytes = size_bytes(b->type) * number(b->shape[0]) * number(b->strides[0]);
    estimate += b->places > 1 ? (bytes + 64) * b->places : bytes;
  }
  if (estimate > static_cast<double>(most_workspace))
    WEFT_THROW(argument_error(f.name + ": its intermediate tensors need more than 2^48 bytes"));
  return workspace_offset(*f.nodes, f, nullptr)->value;
}

}  // namespace weft::inline WEFT_ABI
