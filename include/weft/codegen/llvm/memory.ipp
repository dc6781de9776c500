#include "weft/codegen/llvm/expr.hpp"
#include "weft/ir/linear.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

WEFT_DECL value_ref expression_emitter::to_memory(value_ref v, dtype t, int lanes) {
  return t == dtype::boolean ? l_.BuildZExt(b_, v, with_lanes(memory_type(t), lanes), "") : v;
}
WEFT_DECL value_ref expression_emitter::from_memory(value_ref v, dtype t, int lanes) {
  if (t != dtype::boolean) return v;
  return l_.BuildICmp(b_, IntNE, v, l_.ConstNull(with_lanes(memory_type(t), lanes)), "");
}
WEFT_DECL value_ref expression_emitter::mask_vector(ir::expr mask, int lanes) {
  value_ref const m = emit(mask);
  return mask->lanes == lanes ? m : splat(m, lanes);
}
WEFT_DECL value_ref expression_emitter::zero_words() {
  if (zeros_ == nullptr) {
    type_ref const words = l_.ArrayType2(i64(), 16);
    zeros_ = l_.AddGlobal(s_.module, words, "weft.zeros");
    l_.SetInitializer(zeros_, l_.ConstNull(words));
    l_.SetLinkage(zeros_, InternalLinkage);
    l_.SetGlobalConstant(zeros_, 1);
  }
  return zeros_;
}
/// Where element `flat` is, or zeros to read in its place where `wanted` is not so. Elements whose constant parts lie in the same 64 bytes share
/// the choice: of the channels that a window reads of a pixel, each had one of its own, two instructions for each multiplication.
WEFT_DECL value_ref expression_emitter::pointer_or_zeros(ir::buffer const* buf, ir::expr flat, ir::expr wanted) {
  if (wanted == nullptr) return pointer_at(buf, flat);
  ir::arena& m = *s_.f.nodes;
  std::int64_t const together = 64 / size_bytes(buf->type), constant = weft::detail::linear_form(flat).constant;
  std::int64_t const rest = constant - floor_div(constant, together) * together;
  value_ref const p = pointer_at(buf, rest == 0 ? flat : simplify(m, ir::binary(m, op::add, flat, ir::index(m, -rest))));
  value_ref const chosen = l_.BuildSelect(b_, emit(wanted), p, zero_words(), "");
  value_ref index[] = {number(rest)};
  return rest == 0 ? chosen : l_.BuildGEP2(b_, memory_type(buf->type), chosen, index, 1, "");
}
/// Whether the loop that region `level` belongs to has loops inside.
WEFT_DECL bool expression_emitter::moves_in_outer_loop(int level) const {
  for (int r = level; r > 0; --r)
    if (regions_[static_cast<std::size_t>(r)].is_loop) return regions_[static_cast<std::size_t>(r)].has_loop;
  return false;
}
WEFT_DECL value_ref expression_emitter::all_lanes(int lanes) {
  return l_.ConstAllOnes(with_lanes(l_.Int1TypeInContext(s_.context), lanes));
}
/// base + flat, as a chain of steps from outer loops to inner ones: each step stands in front of the loops that do
/// not change it, and accesses share steps. The constant part comes last and becomes the displacement.
WEFT_DECL value_ref expression_emitter::pointer_at(ir::buffer const* buf, ir::expr flat) {
  ir::arena& m = *s_.f.nodes;
  type_ref const element = memory_type(buf->type);
  sequence<ir::expr> terms;
  for (; flat->kind == op::add; flat = flat->a) terms.push_back(flat->b);
  terms.push_back(flat);
  std::int64_t displacement = 0;
  value_ref p = bases_[static_cast<std::size_t>(buf->id)];
  ir::expr prefix = ir::index(m, 0);
  int const innermost = static_cast<int>(regions_.size());
  for (int level = 0; level < innermost; ++level) {
    ir::expr step = nullptr;
    for (std::size_t i = terms.size(); i-- > 0;) {
      if (terms[i] == nullptr || level_of(terms[i]) > level) continue;
      if (terms[i]->kind == op::literal) displacement += terms[i]->value;
      else step = step == nullptr ? terms[i] : ir::binary(m, op::add, step, terms[i]);
      terms[i] = nullptr;
    }
    if (step == nullptr) continue;
    prefix = ir::binary(m, op::add, prefix, step);
    value_ref known = nullptr;
    for (known_pointer const& k : pointers_)
      if (k.buf == buf && k.prefix == prefix) known = k.pointer;
    if (known == nullptr) {
      known = at_level(level, [&] {
        value_ref index[] = {emit(step)};
        value_ref const moved = l_.BuildGEP2(b_, element, p, index, 1, "");
        // An address that an outer loop moves has many users inside; LLVM's strength reduction would weigh ways to
        // count each of them up, which is a sixth of the compile time and gains nothing. A freeze hides it.
        return moves_in_outer_loop(level) ? l_.BuildFreeze(b_, moved, "") : moved;
      });
      pointers_.push_back({buf, prefix, known});
    }
    p = known;
  }
  if (displacement != 0) {
    value_ref index[] = {number(displacement)};
    p = l_.BuildGEP2(b_, element, p, index, 1, "");
  }
  return p;
}
/// Which element of a buffer that is; where it is one for each lane, at distances that are not all the same, a vector.
WEFT_DECL expression_emitter::flat_index expression_emitter::element_at(ir::buffer const* buf, ir::list<ir::expr> indices,
                                                                        int lanes) {
  ir::arena& m = *s_.f.nodes;
  ir::expr flat = ir::index(m, 0);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    ir::expr const i = ir::broadcast(m, indices[d], lanes), stride = ir::broadcast(m, buf->strides[d], lanes);
    flat = ir::binary(m, op::add, ir::broadcast(m, flat, lanes), ir::binary(m, op::mul, i, stride));
  }
  if (flat->lanes > 1 && flat->kind == op::add) flat = rejoined(m, flat);
  if (flat->kind == op::ramp) return {simplify(m, flat->a), flat->value};
  if (flat->kind == op::broadcast) return {simplify(m, flat->a), 0};
  if (flat->kind == op::literal) return {ir::index(m, flat->value), 0};
  return {flat->lanes > 1 ? flat : simplify(m, flat), 0};
}
WEFT_DECL expression_emitter::place expression_emitter::address(ir::buffer const* buf, ir::list<ir::expr> indices,
                                                                int lanes) {
  value_ref const base = bases_[static_cast<std::size_t>(buf->id)];
  if (buf->where == ir::scope::registers) return {base, 1, false};
  flat_index const flat = element_at(buf, indices, lanes);
  place at;
  at.stride = flat.stride;
  at.scattered = flat.first->lanes > 1;
  if (!at.scattered) {
    at.pointer = pointer_at(buf, flat.first);
    return at;
  }
  value_ref index[] = {emit(flat.first)};
  at.pointer = l_.BuildGEP2(b_, memory_type(buf->type), base, index, 1, "");
  return at;
}
WEFT_DECL value_ref expression_emitter::lane_pointers(place const& at, type_ref element, int lanes) {
  if (at.scattered) return at.pointer;
  sequence<value_ref> steps;
  for (int i = 0; i < lanes; ++i) steps.push_back(number(i * at.stride));
  value_ref index[] = {l_.ConstVector(steps.data(), static_cast<unsigned>(lanes))};
  return l_.BuildGEP2(b_, element, at.pointer, index, 1, "");
}
/// LLVM 22 (22.1.8; llvm-project pull requests 161074, 178888) folds a masked load into an instruction under the same mask, also into one that moves lanes: what a mask leaves out is
/// then read as it lies in memory, beyond the end of a tensor, too. It looks through no fence, which is no instruction; of less than 128 bits it folds nothing.
WEFT_DECL value_ref expression_emitter::masked_load(type_ref element, int lanes, value_ref from, unsigned bytes, value_ref mask) {
  type_ref const vector = with_lanes(element, lanes);
  value_ref const alignment = l_.ConstInt(l_.Int32TypeInContext(s_.context), bytes, 0);
  value_ref const v = call_intrinsic("llvm.masked.load", {vector, pointer()}, {from, alignment, mask, l_.ConstNull(vector)});
  int const words = lanes * static_cast<int>(bytes) / 8;
  if (l_.major < 22 || words < 2 || !s_.machine.has("avx512f")) return v;
  type_ref const fenced = with_lanes(l_.DoubleTypeInContext(s_.context), words);
  return l_.BuildBitCast(b_, call_intrinsic("llvm.arithmetic.fence", {fenced}, {l_.BuildBitCast(b_, v, fenced, "")}), vector, "");
}
/// Whether elements of so many bytes are gathered as the words that they lie in: the machine gathers words alone, and of elements by themselves LLVM makes a branch for each
/// lane, of which three stages of bytes took 6 s to compile (EPYC, Zen 4, 2026-11-27).
WEFT_DECL bool expression_emitter::has_gathers_of_words(unsigned bytes, int lanes) const {
  return bytes < 4 && lanes >= 8 && !checks_ && s_.machine.has("avx512f");
}
/// The aligned word around an element lies in one page with it.
WEFT_DECL value_ref expression_emitter::gathered_words(value_ref pointers, type_ref element, unsigned bytes, int lanes, value_ref mask) {
  type_ref const word = l_.Int32TypeInContext(s_.context), words = with_lanes(word, lanes), addresses = with_lanes(i64(), lanes);
  value_ref const address = l_.BuildPtrToInt(b_, pointers, addresses, "");
  value_ref const within = l_.BuildTrunc(b_, l_.BuildAnd(b_, address, splat(number(3), lanes), ""), words, "");
  value_ref const aligned = l_.BuildIntToPtr(b_, l_.BuildAnd(b_, address, splat(number(-4), lanes), ""), with_lanes(pointer(), lanes), "");
  value_ref const all = call_intrinsic("llvm.masked.gather", {words, with_lanes(pointer(), lanes)}, {aligned, l_.ConstInt(word, 4, 0), mask, l_.ConstNull(words)});
  value_ref const moved = l_.BuildLShr(b_, all, l_.BuildShl(b_, within, splat(l_.ConstInt(word, 3, 0), lanes), ""), "");
  type_ref const bits = bytes == 1 ? l_.Int8TypeInContext(s_.context) : l_.Int16TypeInContext(s_.context);
  return l_.BuildBitCast(b_, l_.BuildTrunc(b_, moved, with_lanes(bits, lanes), ""), with_lanes(element, lanes), "");
}
WEFT_DECL value_ref expression_emitter::make_load(ir::expr e) {
  ir::buffer const* buf = e->buf;
  int const lanes = e->lanes;
  if (buf->where == ir::scope::registers)
    return from_memory(l_.BuildLoad2(b_, with_lanes(memory_type(buf->type), lanes),
                                     bases_[static_cast<std::size_t>(buf->id)], ""),
                       buf->type, lanes);
  if (checks_) before_access(buf, e->indices, e->a, e);
  ir::expr const wanted = e->a != nullptr && e->a->kind == op::broadcast ? e->a->a : e->a;
  if (lanes > 1)
    if (flat_index const flat = element_at(buf, e->indices, lanes); flat.first->lanes > 1 || (flat.stride != 0 && flat.stride != 1))
      if (value_ref const v = load_window(buf, flat, lanes, wanted); v != nullptr) return from_memory(v, buf->type, lanes);
  place const at = address(buf, e->indices, lanes);
  type_ref const element = memory_type(buf->type), vector = with_lanes(element, lanes);
  auto const bytes = static_cast<unsigned>(size_bytes(buf->type));
  value_ref const alignment = l_.ConstInt(l_.Int32TypeInContext(s_.context), bytes, 0);
  // A vector that is wanted whole or not at all is read from elsewhere when it is not: of 512 bits a masked load takes several times as
  // long (a depthwise convolution in intrinsics 44 -> 102 GFLOP/s; EPYC, Zen 4, 2026-11-22).
  bool const as_a_whole = e->a != nullptr && at.stride == 1 && !at.scattered && lanes * size_bytes(buf->type) <= 64 &&
                          wanted->lanes == 1;
  bool const per_lane = e->a != nullptr && !as_a_whole && (e->a->lanes > 1 || lanes > 1);
  value_ref v = nullptr;
  if (per_lane && at.stride == -1 && !at.scattered) {  // the row that it is, turned round
    sequence<std::int32_t> turned;
    for (int l = lanes; l-- > 0;) turned.push_back(l);
    value_ref back[] = {number(1 - lanes)};
    value_ref const mask = mask_vector(e->a, lanes), first = l_.BuildGEP2(b_, element, at.pointer, back, 1, "");
    v = masked_load(element, lanes, first, bytes, shuffled(mask, mask, turned));
    v = shuffled(v, v, turned);
  } else if (bool const apart = at.scattered || (at.stride != 1 && at.stride != 0); apart && has_gathers_of_words(bytes, lanes)) {
    v = gathered_words(lane_pointers(at, element, lanes), element, bytes, lanes, e->a != nullptr ? mask_vector(e->a, lanes) : all_lanes(lanes));
  } else if (apart) {
    v = call_intrinsic("llvm.masked.gather", {vector, with_lanes(pointer(), lanes)},
                       {lane_pointers(at, element, lanes), alignment,
                        e->a != nullptr ? mask_vector(e->a, lanes) : all_lanes(lanes), l_.ConstNull(vector)});
  } else if (per_lane && at.stride == 0) {
    // One element is read, if any lane wants it.
    value_ref const mask = mask_vector(e->a, lanes);
    value_ref const any = call_intrinsic("llvm.vector.reduce.or", {with_lanes(l_.Int1TypeInContext(s_.context), lanes)}, {mask});
    value_ref const one = l_.BuildLoad2(b_, element, l_.BuildSelect(b_, any, at.pointer, zero_words(), ""), "");
    l_.SetAlignment(one, bytes);
    v = l_.BuildSelect(b_, mask, splat(one, lanes), l_.ConstNull(vector), "");
  } else if (per_lane) {
    v = masked_load(element, lanes, at.pointer, bytes, mask_vector(e->a, lanes));
  } else {
    value_ref const p = wanted == nullptr ? at.pointer : pointer_or_zeros(buf, element_at(buf, e->indices, lanes).first, wanted);
    v = l_.BuildLoad2(b_, at.stride == 1 ? vector : element, p, "");
    l_.SetAlignment(v, bytes);
    if (lanes > 1 && at.stride == 0) v = splat(v, lanes);
  }
  return from_memory(v, buf->type, lanes);
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
