#include <cstring>

#include "weft/codegen/llvm/expr.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

WEFT_DECL type_ref expression_emitter::scalar_type(dtype t) const {
  switch (t) {
    case dtype::boolean: return l_.Int1TypeInContext(s_.context);
    case dtype::u8: return l_.Int8TypeInContext(s_.context);
    case dtype::i32: return l_.Int32TypeInContext(s_.context);
    case dtype::i64: return i64();
    case dtype::f32: return l_.FloatTypeInContext(s_.context);
    case dtype::f64: break;
  }
  return l_.DoubleTypeInContext(s_.context);
}
WEFT_DECL type_ref expression_emitter::memory_type(dtype t) const {
  return scalar_type(t == dtype::boolean ? dtype::u8 : t);
}
WEFT_DECL type_ref expression_emitter::with_lanes(type_ref t, int lanes) const {
  return lanes == 1 ? t : l_.VectorType(t, static_cast<unsigned>(lanes));
}
WEFT_DECL value_ref expression_emitter::splat(value_ref scalar, int lanes) {
  if (lanes == 1) return scalar;
  type_ref const vector = with_lanes(l_.TypeOf(scalar), lanes);
  value_ref const one = l_.BuildInsertElement(b_, l_.GetPoison(vector), scalar, number(0), "");
  type_ref const indices = with_lanes(l_.Int32TypeInContext(s_.context), lanes);
  return l_.BuildShuffleVector(b_, one, l_.GetPoison(vector), l_.ConstNull(indices), "");
}
WEFT_DECL value_ref expression_emitter::call_intrinsic(char const* name, std::vector<type_ref> overloads,
                                                       std::vector<value_ref> arguments) {
  unsigned const id = l_.LookupIntrinsicID(name, std::strlen(name));
  value_ref const f = l_.GetIntrinsicDeclaration(s_.module, id, overloads.data(), overloads.size());
  type_ref const t = l_.IntrinsicGetType(s_.context, id, overloads.data(), overloads.size());
  // Masked loads and stores lost their alignment operand in LLVM 22; the others never change.
  if (l_.CountParamTypes(t) < arguments.size()) {
    std::size_t const alignment = std::strcmp(name, "llvm.masked.store") == 0 ||
                                          std::strcmp(name, "llvm.masked.scatter") == 0
                                      ? 2
                                      : 1;
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(alignment));
  }
  return l_.BuildCall2(b_, t, f, arguments.data(), static_cast<unsigned>(arguments.size()), "");
}

// --- regions --------------------------------------------------------------------------------------------------

WEFT_DECL void expression_emitter::define(ir::expr e, value_ref v) {
  if (values_.size() <= e->id) values_.resize(e->id + 256, nullptr);
  values_[e->id] = v;
  log_.push_back(e->id);
}
WEFT_DECL void expression_emitter::leave(std::size_t mark) {
  for (; log_.size() > mark; log_.pop_back()) values_[log_.back()] = nullptr;
}
WEFT_DECL std::vector<value_ref> expression_emitter::hide() {
  std::vector<value_ref> known(values_.size(), nullptr);
  known.swap(values_);
  return known;
}
/// One bit per alias class (modulo 64: a clash forgets more than it must).
WEFT_DECL std::uint64_t expression_emitter::memory_read(ir::expr e) {
  if (e == nullptr || e->kind == op::literal) return 0;
  if (classes_.size() <= e->id) classes_.resize(e->id + 256, 0);
  constexpr std::uint64_t known = std::uint64_t(1) << 63;
  if (classes_[e->id] & known) return classes_[e->id] & ~known;
  std::uint64_t bits = memory_read(e->a) | memory_read(e->b) | memory_read(e->c);
  for (ir::expr i : e->indices) bits |= memory_read(i);
  if (e->kind == op::load) bits |= std::uint64_t(1) << (e->buf->alias_class % 63);
  if (classes_.size() <= e->id) classes_.resize(e->id + 256, 0);
  classes_[e->id] = bits | known;
  return bits;
}
WEFT_DECL void expression_emitter::forget_memory(ir::buffer const* written) {
  std::uint64_t const bits =
      written == nullptr ? ~std::uint64_t(0) >> 1 : std::uint64_t(1) << (written->alias_class % 63);
  for (std::uint32_t id : log_)
    if (id < classes_.size() && (classes_[id] & bits) != 0) values_[id] = nullptr;
}

// --- values ---------------------------------------------------------------------------------------------------

WEFT_DECL value_ref expression_emitter::emit(ir::expr e) {
  if (e->id < values_.size() && values_[e->id] != nullptr) return values_[e->id];
  memory_read(e);
  value_ref const v = make(e);
  define(e, v);
  return v;
}
WEFT_DECL value_ref expression_emitter::make_literal(ir::expr e) {
  value_ref v = nullptr;
  if (e->type == dtype::f32) {
    v = l_.ConstBitCast(l_.ConstInt(l_.Int32TypeInContext(s_.context),
                                    static_cast<unsigned long long>(e->value & 0xffffffff), 0),
                        scalar_type(e->type));
  } else if (e->type == dtype::f64) {
    v = l_.ConstBitCast(number(e->value), scalar_type(e->type));
  } else {
    v = l_.ConstInt(scalar_type(e->type), static_cast<unsigned long long>(e->value), 1);
  }
  if (e->lanes == 1) return v;
  std::vector<value_ref> const all(e->lanes, v);
  return l_.ConstVector(const_cast<value_ref*>(all.data()), e->lanes);
}
WEFT_DECL value_ref expression_emitter::run_time_number(int member, std::int64_t position) {
  value_ref index[] = {number(member)};
  value_ref const field = l_.BuildGEP2(b_, pointer(), launch_, index, 1, "");
  value_ref const array = l_.BuildLoad2(b_, pointer(), field, "");
  value_ref at[] = {number(position)};
  return l_.BuildLoad2(b_, i64(), l_.BuildGEP2(b_, i64(), array, at, 1, ""), "");
}
WEFT_DECL value_ref expression_emitter::make(ir::expr e) {
  switch (e->kind) {
    case op::literal: return make_literal(e);
    case op::axis: return variables_[static_cast<std::size_t>(e->value)];
    case op::extent: return run_time_number(1, e->value);
    case op::scalar: {
      value_ref const bits = run_time_number(2, e->value);
      if (e->type == dtype::i64) return bits;
      if (e->type == dtype::f64) return l_.BuildBitCast(b_, bits, scalar_type(e->type), "");
      if (e->type == dtype::f32)
        return l_.BuildBitCast(b_, l_.BuildTrunc(b_, bits, l_.Int32TypeInContext(s_.context), ""),
                               scalar_type(e->type), "");
      return l_.BuildTrunc(b_, bits, scalar_type(e->type), "");
    }
    case op::load: return make_load(e);
    case op::broadcast: return splat(emit(e->a), e->lanes);
    case op::ramp: {
      std::vector<value_ref> steps;
      for (int i = 0; i < e->lanes; ++i) steps.push_back(number(i * e->value));
      return l_.BuildAdd(b_, splat(emit(e->a), e->lanes), l_.ConstVector(steps.data(), e->lanes), "");
    }
    case op::neg: {
      value_ref const a = emit(e->a);
      return is_float(e->type) ? l_.BuildFNeg(b_, a, "") : l_.BuildNeg(b_, a, "");
    }
    case op::logical_not: return l_.BuildNot(b_, emit(e->a), "");
    case op::cast:
    case op::bitcast: return make_cast(e);
    case op::select: {
      value_ref const c = emit(e->a), x = emit(e->b), y = emit(e->c);
      return l_.BuildSelect(b_, c, x, y, "");
    }
    case op::fma: {
      value_ref const x = emit(e->a), y = emit(e->b), z = emit(e->c);
      if (is_float(e->type)) return call_intrinsic("llvm.fma", {type_of(e)}, {x, y, z});
      return l_.BuildAdd(b_, l_.BuildMul(b_, x, y, ""), z, "");
    }
    default: break;
  }
  if (arity(e->kind) != 2)
    WEFT_THROW(internal_error("llvm: no code for operation " + std::string(name(e->kind))));
  return make_binary(e);
}
WEFT_DECL value_ref expression_emitter::make_comparison(op o, dtype t, value_ref a, value_ref b) {
  if (is_float(t)) {
    unsigned const kind = o == op::lt ? RealOLT : o == op::le ? RealOLE : o == op::eq ? RealOEQ : RealUNE;
    return l_.BuildFCmp(b_, kind, a, b, "");
  }
  bool const s = is_signed_integer(t);
  unsigned const kind = o == op::lt   ? (s ? IntSLT : IntULT)
                        : o == op::le ? (s ? IntSLE : IntULE)
                        : o == op::eq ? IntEQ
                                      : IntNE;
  return l_.BuildICmp(b_, kind, a, b, "");
}
WEFT_DECL value_ref expression_emitter::make_binary(ir::expr e) {
  value_ref const a = emit(e->a), b = emit(e->b);
  dtype const t = e->a->type;
  if (is_comparison(e->kind)) return make_comparison(e->kind, t, a, b);
  switch (e->kind) {
    case op::min: return l_.BuildSelect(b_, make_comparison(op::lt, t, a, b), a, b, "");
    case op::max: return l_.BuildSelect(b_, make_comparison(op::lt, t, b, a), a, b, "");
    case op::logical_and:
    case op::bit_and: return l_.BuildAnd(b_, a, b, "");
    case op::logical_or:
    case op::bit_or: return l_.BuildOr(b_, a, b, "");
    case op::bit_xor: return l_.BuildXor(b_, a, b, "");
    default: break;
  }
  if (is_float(t)) {
    switch (e->kind) {
      case op::add: return l_.BuildFAdd(b_, a, b, "");
      case op::sub: return l_.BuildFSub(b_, a, b, "");
      case op::mul: return l_.BuildFMul(b_, a, b, "");
      default: return l_.BuildFDiv(b_, a, b, "");
    }
  }
  if (t == dtype::boolean) return e->kind == op::mul ? l_.BuildAnd(b_, a, b, "") : l_.BuildXor(b_, a, b, "");
  switch (e->kind) {
    case op::add: return l_.BuildAdd(b_, a, b, "");
    case op::sub: return l_.BuildSub(b_, a, b, "");
    case op::mul: return l_.BuildMul(b_, a, b, "");
    case op::shl:
    case op::shr: {
      ir::expr_node mask;
      mask.type = t;
      mask.lanes = e->lanes;
      mask.value = size_bytes(t) * 8 - 1;
      value_ref const amount = l_.BuildAnd(b_, b, make_literal(&mask), "");
      if (e->kind == op::shl) return l_.BuildShl(b_, a, amount, "");
      return is_signed_integer(t) ? l_.BuildAShr(b_, a, amount, "") : l_.BuildLShr(b_, a, amount, "");
    }
    default: return make_division(e, a, b);
  }
}
/// x / 0 and x % 0 are 0, and the lowest integer over -1 wraps; machines trap on both, so the divisor is
/// replaced first. A literal divisor needs none of that.
WEFT_DECL value_ref expression_emitter::make_division(ir::expr e, value_ref a, value_ref b) {
  dtype const t = e->type;
  bool const is_signed = is_signed_integer(t), quotient = e->kind == op::div || e->kind == op::floor_div;
  auto const constant = [&](std::int64_t v) {
    ir::expr_node n;
    n.type = t;
    n.lanes = e->lanes;
    n.value = v;
    return make_literal(&n);
  };
  bool const literal = e->b->kind == op::literal && e->b->value > 0;
  bool const floor = e->kind == op::floor_div || e->kind == op::floor_mod;
  if (literal && floor && is_signed && (e->b->value & (e->b->value - 1)) == 0)
    return quotient ? l_.BuildAShr(b_, a, constant(std::countr_zero(static_cast<std::uint64_t>(e->b->value))), "")
                    : l_.BuildAnd(b_, a, constant(e->b->value - 1), "");
  value_ref const zero = constant(0);
  value_ref divisor = b, is_zero = nullptr, is_minus = nullptr;
  if (!literal) {
    is_zero = l_.BuildICmp(b_, IntEQ, b, zero, "");
    value_ref bad = is_zero;
    if (is_signed) {
      is_minus = l_.BuildICmp(b_, IntEQ, b, constant(-1), "");
      bad = l_.BuildOr(b_, bad, is_minus, "");
    }
    divisor = l_.BuildSelect(b_, bad, constant(1), b, "");
  }
  value_ref q = is_signed ? l_.BuildSDiv(b_, a, divisor, "") : l_.BuildUDiv(b_, a, divisor, "");
  value_ref r = l_.BuildSub(b_, a, l_.BuildMul(b_, q, divisor, ""), "");
  if (floor && is_signed) {
    value_ref const wrong = l_.BuildAnd(
        b_, l_.BuildICmp(b_, IntNE, r, zero, ""),
        l_.BuildICmp(b_, IntSLT, l_.BuildXor(b_, r, divisor, ""), zero, ""), "");
    q = l_.BuildSelect(b_, wrong, l_.BuildSub(b_, q, constant(1), ""), q, "");
    r = l_.BuildSelect(b_, wrong, l_.BuildAdd(b_, r, divisor, ""), r, "");
  }
  if (!quotient) return r;  // with the divisor 1 it is 0, as the table wants for 0 and -1
  if (is_minus != nullptr) q = l_.BuildSelect(b_, is_minus, l_.BuildNeg(b_, a, ""), q, "");
  if (is_zero != nullptr) q = l_.BuildSelect(b_, is_zero, zero, q, "");
  return q;
}
WEFT_DECL value_ref expression_emitter::make_cast(ir::expr e) {
  value_ref const a = emit(e->a);
  type_ref const to = type_of(e);
  dtype const from = e->a->type;
  if (e->kind == op::bitcast) return l_.BuildBitCast(b_, a, to, "");
  if (e->type == dtype::boolean) {
    value_ref const zero = l_.ConstNull(type_of(e->a));
    return is_float(from) ? l_.BuildFCmp(b_, RealUNE, a, zero, "") : l_.BuildICmp(b_, IntNE, a, zero, "");
  }
  if (is_float(from) && is_float(e->type))
    return e->type == dtype::f64 ? l_.BuildFPExt(b_, a, to, "") : l_.BuildFPTrunc(b_, a, to, "");
  if (is_float(from))
    return call_intrinsic(is_signed_integer(e->type) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", {to, type_of(e->a)}, {a});
  if (is_float(e->type))
    return is_signed_integer(from) ? l_.BuildSIToFP(b_, a, to, "") : l_.BuildUIToFP(b_, a, to, "");
  return l_.BuildIntCast2(b_, a, to, is_signed_integer(from), "");
}

// --- memory ---------------------------------------------------------------------------------------------------

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
    type_ref const words = l_.ArrayType2(i64(), 8);
    zeros_ = l_.AddGlobal(s_.module, words, "weft.zeros");
    l_.SetInitializer(zeros_, l_.ConstNull(words));
    l_.SetLinkage(zeros_, InternalLinkage);
    l_.SetGlobalConstant(zeros_, 1);
  }
  return zeros_;
}
WEFT_DECL int expression_emitter::depth_of(ir::expr e) const {
  if (e == nullptr || e->kind == op::literal) return -1;
  if (e->kind == op::axis) return depth_[static_cast<std::size_t>(e->value)];
  int d = depth_of(e->a);
  for (ir::expr x : {e->b, e->c})
    if (int const other = depth_of(x); other > d) d = other;
  for (ir::expr x : e->indices)
    if (int const other = depth_of(x); other > d) d = other;
  return d;
}
/// The terms of a sum, those of outer loops first: what an inner loop does not change is one value in front of it.
WEFT_DECL ir::expr expression_emitter::ordered_sum(ir::expr e) {
  ir::arena& m = *s_.f.nodes;
  std::vector<ir::expr> terms;
  for (; e->kind == op::add && e->lanes == 1; e = e->a) terms.push_back(e->b);
  terms.push_back(e);
  ir::expr sum = nullptr;
  ir::expr constant = nullptr;
  for (int d = -1; !terms.empty(); ++d)
    for (std::size_t i = terms.size(); i-- > 0;) {
      if (depth_of(terms[i]) > d) continue;
      ir::expr const t = terms[i];
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
      if (t->kind == op::literal) constant = t;
      else sum = sum == nullptr ? t : ir::binary(m, op::add, sum, t);
    }
  if (sum == nullptr) return constant;
  return constant == nullptr ? sum : ir::binary(m, op::add, sum, constant);
}
WEFT_DECL expression_emitter::place expression_emitter::address(ir::buffer const* buf, ir::list<ir::expr> indices,
                                                                int lanes) {
  ir::arena& m = *s_.f.nodes;
  place at;
  value_ref const base = bases_[static_cast<std::size_t>(buf->id)];
  if (buf->where == ir::scope::registers) return {base, 1, false};
  ir::expr flat = ir::index(m, 0);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    ir::expr const i = ir::broadcast(m, indices[d], lanes), stride = ir::broadcast(m, buf->strides[d], lanes);
    flat = ir::binary(m, op::add, ir::broadcast(m, flat, lanes), ir::binary(m, op::mul, i, stride));
  }
  ir::expr scalar = flat;
  if (flat->kind == op::ramp) {
    scalar = flat->a;
    at.stride = flat->value;
  } else if (flat->kind == op::broadcast) {
    scalar = flat->a;
  } else if (flat->kind == op::literal) {
    scalar = ir::index(m, flat->value);
  } else if (flat->lanes > 1) {
    at.scattered = true;
  }
  type_ref const element = memory_type(buf->type);
  if (at.scattered) {
    value_ref index[] = {emit(flat)};
    at.pointer = l_.BuildGEP2(b_, element, base, index, 1, "");
    return at;
  }
  scalar = ordered_sum(simplify(m, scalar));
  // A constant last part becomes the displacement of the address; the rest is shared.
  std::int64_t displacement = 0;
  if (scalar->kind == op::literal) {
    displacement = scalar->value;
    scalar = nullptr;
  } else if (scalar->kind == op::add && scalar->b->kind == op::literal) {
    displacement = scalar->b->value;
    scalar = scalar->a;
  }
  at.pointer = base;
  if (scalar != nullptr) {
    value_ref index[] = {emit(scalar)};
    at.pointer = l_.BuildGEP2(b_, element, at.pointer, index, 1, "");
  }
  if (displacement != 0) {
    value_ref index[] = {number(displacement)};
    at.pointer = l_.BuildGEP2(b_, element, at.pointer, index, 1, "");
  }
  return at;
}
WEFT_DECL value_ref expression_emitter::make_load(ir::expr e) {
  ir::buffer const* buf = e->buf;
  int const lanes = e->lanes;
  if (buf->where == ir::scope::registers)
    return from_memory(l_.BuildLoad2(b_, with_lanes(memory_type(buf->type), lanes),
                                     bases_[static_cast<std::size_t>(buf->id)], ""),
                       buf->type, lanes);
  place at = address(buf, e->indices, lanes);
  type_ref const element = memory_type(buf->type), vector = with_lanes(element, lanes);
  auto const bytes = static_cast<unsigned>(size_bytes(buf->type));
  value_ref v = nullptr;
  value_ref const alignment = l_.ConstInt(l_.Int32TypeInContext(s_.context), bytes, 0);
  if (at.scattered || (at.stride != 1 && at.stride != 0)) {
    if (!at.scattered) {
      std::vector<value_ref> steps;
      for (int i = 0; i < lanes; ++i) steps.push_back(number(i * at.stride));
      value_ref index[] = {l_.ConstVector(steps.data(), static_cast<unsigned>(lanes))};
      at.pointer = l_.BuildGEP2(b_, element, at.pointer, index, 1, "");
    }
    value_ref const mask = e->a != nullptr ? mask_vector(e->a, lanes)
                                           : l_.ConstAllOnes(with_lanes(l_.Int1TypeInContext(s_.context), lanes));
    v = call_intrinsic("llvm.masked.gather", {vector, with_lanes(pointer(), lanes)},
                       {at.pointer, alignment, mask, l_.ConstNull(vector)});
  } else if (lanes > 1 && at.stride == 1 && e->a != nullptr) {
    v = call_intrinsic("llvm.masked.load", {vector, pointer()},
                       {at.pointer, alignment, mask_vector(e->a, lanes), l_.ConstNull(vector)});
  } else if (e->a != nullptr && e->a->lanes > 1) {
    // One element for all lanes that want it: a gather of equal addresses reads nothing when none does.
    value_ref const mask = mask_vector(e->a, lanes);
    v = call_intrinsic("llvm.masked.gather", {vector, with_lanes(pointer(), lanes)},
                       {splat(at.pointer, lanes), alignment, mask, l_.ConstNull(vector)});
  } else {
    value_ref p = at.pointer;
    if (e->a != nullptr) p = l_.BuildSelect(b_, emit(e->a), p, zero_words(), "");
    v = l_.BuildLoad2(b_, at.stride == 1 ? vector : element, p, "");
    l_.SetAlignment(v, bytes);
    if (lanes > 1 && at.stride == 0) v = splat(v, lanes);
  }
  return from_memory(v, buf->type, lanes);
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
