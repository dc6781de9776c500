#include "weft/base/joined.hpp"
#include "weft/codegen/llvm/stmt.hpp"
#include "weft/pass/fragments.hpp"
#include "weft/pass/thread_tree.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

/// Whether AMX is to be switched on for this statement: tiles stand in it, and nothing of other threads.
WEFT_DECL bool function_emitter::begins_tiles(ir::stmt s) const {
  return has_tiles_ && !has_tiles_on_ && s->kind != ir::stmt_kind::block && weft::detail::has_tile(s) && !weft::detail::has_parallel(s);
}
/// All eight registers have 16 rows of 64 bytes. Behind the statement they are given up, so that a switch of threads need not save them.
WEFT_DECL void function_emitter::with_tiles_on(ir::stmt s) {
  if (tile_shapes_ == nullptr) {
    constexpr unsigned long long words[] = {1, 0, 0x0040004000400040, 0x0040004000400040, 0, 0, 0x1010101010101010, 0};  // palette; bytes of a row; rows
    sequence<value_ref> constants;
    for (unsigned long long w : words) constants.push_back(l_.ConstInt(i64(), w, 0));
    tile_shapes_ = l_.AddGlobal(s_.module, with_lanes(i64(), 8), "weft.tile_shapes");
    l_.SetInitializer(tile_shapes_, l_.ConstVector(constants.data(), 8));
    l_.SetLinkage(tile_shapes_, InternalLinkage);
    l_.SetGlobalConstant(tile_shapes_, 1);
  }
  has_tiles_on_ = true;
  call_intrinsic("llvm.x86.ldtilecfg", {}, {tile_shapes_});
  statement(s);
  call_intrinsic("llvm.x86.tilerelease", {}, {});
  has_tiles_on_ = false;
}
/// The number of a fragment's register, which it has until its allocation ends.
WEFT_DECL value_ref function_emitter::tile_register(ir::buffer const* fragment) {
  auto const id = static_cast<std::size_t>(fragment->id);
  if (tile_of_.size() <= id) tile_of_.resize(id + 1, -1);
  for (int i = 0; tile_of_[id] < 0 && i < 8; ++i)
    if ((tiles_used_ >> i & 1) == 0) tile_of_[id] = i, tiles_used_ |= 1u << i;
  if (tile_of_[id] < 0) WEFT_THROW(internal_error("llvm: more than eight tile registers"));
  return l_.ConstInt(l_.IntTypeInContext(s_.context, 8), static_cast<unsigned long long>(tile_of_[id]), 0);
}
WEFT_DECL void function_emitter::free_tile_register(ir::buffer const* b) {
  auto const id = static_cast<std::size_t>(b->id);
  if (tile_of_.size() <= id || tile_of_[id] < 0) return;
  tiles_used_ &= ~(1u << tile_of_[id]);
  tile_of_[id] = -1;
}
/// What one of AMX's instructions does with whole registers; pass/tile_registers has made sure that it can.
WEFT_DECL void function_emitter::tile(ir::stmt s) {
  ir::arena& m = *s_.f.nodes;
  ir::stmt const outer = s->children[0], inner = outer->children[0];
  ir::stmt innermost = inner;
  while (innermost->kind == ir::stmt_kind::loop) innermost = innermost->children[0];
  // A tile in memory: where it begins, and how many bytes further its next row does.
  auto const memory = [&](ir::buffer const* buf, ir::list<ir::expr> indices, std::int64_t rows_together) {
    sequence<ir::expr> begin, next;
    for (ir::expr i : indices) {
      auto const at = [&](std::int64_t row) {
        return simplify(m, ir::substitute(m, ir::substitute(m, i, outer->variable, ir::index(m, row)), inner->variable, ir::index(m, 0)));
      };
      begin.push_back(at(0)), next.push_back(at(rows_together));
    }
    ir::expr const first = element_at(buf, m.make_list(begin), 1).first, second = element_at(buf, m.make_list(next), 1).first;
    ir::expr const apart = simplify(m, ir::binary(m, op::sub, second, first));
    if (apart->kind != op::literal) WEFT_THROW(internal_error("llvm: rows of a tile are not known to be the same distance apart"));
    return sequence<value_ref>{pointer_at(buf, first), number(apart->value * size_bytes(buf->type))};
  };
  ir::expr const value = innermost->value;
  switch (s->role) {
    case ir::tile_role::fill:
      if (value->kind == op::load) {
        sequence<value_ref> const from = memory(value->buf, value->indices, 1);
        call_intrinsic("llvm.x86.tileloadd64", {}, {tile_register(innermost->buf), from[0], from[1]});
      } else {
        call_intrinsic("llvm.x86.tilezero", {}, {tile_register(innermost->buf)});
      }
      return;
    case ir::tile_role::load_a:
    case ir::tile_role::load_b: {
      sequence<value_ref> const from = memory(value->buf, value->indices, s->role == ir::tile_role::load_a ? 1 : 4 / size_bytes(value->type));
      call_intrinsic("llvm.x86.tileloadd64", {}, {tile_register(innermost->buf), from[0], from[1]});
      return;
    }
    case ir::tile_role::store: {
      sequence<value_ref> const to = memory(innermost->buf, innermost->indices, 1);
      call_intrinsic("llvm.x86.tilestored64", {}, {tile_register(value->buf), to[0], to[1]});
      return;
    }
    case ir::tile_role::multiply: break;
  }
  ir::buffer const* operands[2] = {};  // right, left
  for (ir::expr l : loads_of(value)) operands[ir::uses(l->indices[0], outer->variable)] = l->buf;
  std::string const name(s->unit->forms[0].function);
  call_intrinsic(name.c_str(), {}, {tile_register(innermost->buf), tile_register(operands[1]), tile_register(operands[0])});
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
