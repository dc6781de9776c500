#include "weft/codegen/rounding.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen {

WEFT_DECL ir::expr rounded_by_arithmetic(ir::arena& m, ir::expr e) {
  bool const single = e->type == dtype::f32;
  dtype const bits = single ? dtype::i32 : dtype::i64;
  ir::expr const x = e->a;
  auto const number = [&](double v) {
    return ir::literal(m, e->type, single ? to_bits(static_cast<float>(v)) : to_bits(v), e->lanes);
  };
  auto const masked = [&](ir::expr v, std::int64_t mask) {
    ir::expr const all = ir::literal(m, bits, mask, e->lanes);
    return ir::binary(m, op::bit_and, ir::cast(m, op::bitcast, bits, v), all);
  };
  std::int64_t const sign_mask = single ? std::int64_t(INT32_MIN) : INT64_MIN;
  ir::expr const sign = masked(x, sign_mask), size = ir::cast(m, op::bitcast, e->type, masked(x, ~sign_mask));
  auto const signed_as_x = [&](ir::expr v) {
    ir::expr const both = ir::binary(m, op::bit_or, ir::cast(m, op::bitcast, bits, v), sign);
    return ir::cast(m, op::bitcast, e->type, both);
  };
  ir::expr const whole = number(single ? 0x1p23 : 0x1p52);
  ir::expr r = ir::binary(m, op::sub, ir::binary(m, op::add, size, whole), whole), compared = size;
  if (e->kind == op::floor || e->kind == op::ceil) r = signed_as_x(r), compared = x;
  if (e->kind != op::round) {
    bool const up = e->kind == op::ceil;
    ir::expr const beyond = up ? ir::binary(m, op::lt, r, compared) : ir::binary(m, op::lt, compared, r);
    r = ir::ternary(m, op::select, beyond, ir::binary(m, up ? op::add : op::sub, r, number(1)), r);
  }
  return ir::ternary(m, op::select, ir::binary(m, op::lt, size, whole), signed_as_x(r), x);
}

}  // namespace codegen
}  // namespace weft::inline WEFT_ABI
