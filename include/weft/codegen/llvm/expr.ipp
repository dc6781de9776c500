#include <cstring>

#include "weft/base/joined.hpp"
#include "weft/codegen/llvm/expr.hpp"
#include "weft/codegen/rounding.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

WEFT_DECL type_ref expression_emitter::scalar_type(dtype t) const {
  if (t == dtype::boolean) return l_.Int1TypeInContext(s_.context);
  if (t == dtype::f32) return l_.FloatTypeInContext(s_.context);
  if (t == dtype::f64) return l_.DoubleTypeInContext(s_.context);
  switch (size_bytes(t)) {
    case 1: return l_.Int8TypeInContext(s_.context);
    case 2: return l_.Int16TypeInContext(s_.context);
    case 4: return l_.Int32TypeInContext(s_.context);
    default: return i64();
  }
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
WEFT_DECL value_ref expression_emitter::call_intrinsic(char const* name, sequence<type_ref> overloads,
                                                       sequence<value_ref> arguments) {
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

WEFT_DECL std::uint64_t expression_emitter::classes_written(ir::stmt s) {
  std::uint64_t bits = s->kind == ir::stmt_kind::store ? class_of(s->buf) : 0;
  for (std::uint32_t i = 0; i < s->buffers.size(); ++i)
    if (static_cast<std::int32_t>(i) >= s->by->reads) bits |= class_of(s->buffers[i]);
  for (ir::stmt c : s->children) bits |= classes_written(c);
  return bits;
}
WEFT_DECL bool expression_emitter::contains_loop(ir::stmt s) {
  if (s->kind == ir::stmt_kind::loop) return true;
  for (ir::stmt c : s->children)
    if (contains_loop(c)) return true;
  return false;
}
WEFT_DECL void expression_emitter::enter(block_ref before, bool is_loop, bool guarded, ir::stmt body) {
  region r;
  r.before = before;
  r.is_loop = is_loop;
  r.guarded = guarded;
  r.written = classes_written(body);
  r.has_loop = contains_loop(body);
  r.pointers = pointers_.size();
  // What was read before a loop may be overwritten in an earlier iteration of it.
  if (is_loop) forget_memory(r.written);
  // A load that could stand far out must not do so beside what this region writes.
  if (r.written != 0)
    for (region const& outer : regions_)
      for (std::uint32_t id : outer.levels)
        if (id < classes_.size() && (classes_[id] & r.written) != 0) levels_[id] = 0;
  regions_.push_back(static_cast<region&&>(r));
}
WEFT_DECL void expression_emitter::leave() {
  region& r = regions_.back();
  for (std::uint32_t id : r.values) values_[id] = nullptr;
  for (std::uint32_t id : r.levels) levels_[id] = 0;
  std::uint64_t const written = r.written;
  // Pointers found inside may belong to outer regions, but finding them again costs little.
  pointers_.resize(r.pointers);
  regions_.pop_back();
  if (!regions_.empty()) forget_memory(written);
}
WEFT_DECL std::uint64_t expression_emitter::memory_read(ir::expr e) {
  if (e == nullptr || e->kind == op::literal) return 0;
  constexpr std::uint64_t known = std::uint64_t(1) << 63;
  if (e->id < classes_.size() && (classes_[e->id] & known) != 0) return classes_[e->id] & ~known;
  std::uint64_t bits = memory_read(e->a) | memory_read(e->b) | memory_read(e->c);
  for (ir::expr i : e->indices) bits |= memory_read(i);
  if (e->kind == op::load) bits |= class_of(e->buf);
  if (classes_.size() <= e->id) classes_.resize(e->id + 256, 0);
  classes_[e->id] = bits | known;
  return bits;
}
WEFT_DECL void expression_emitter::forget_memory(std::uint64_t classes) {
  if (classes == 0) return;
  for (region const& r : regions_)
    for (std::uint32_t id : r.values)
      if (id < classes_.size() && (classes_[id] & classes) != 0) values_[id] = nullptr;
  // Where an element is may hang on what was read, too.
  for (known_pointer& k : pointers_)
    if ((memory_read(k.prefix) & classes) != 0) k.prefix = nullptr;
}
/// The outermost region where everything that `e` stands on is known.
WEFT_DECL int expression_emitter::level_of(ir::expr e) {
  if (e == nullptr || e->kind == op::literal) return 0;
  if (e->kind == op::axis) return variable_region_[static_cast<std::size_t>(e->value)];
  if (checks_ && memory_read(e) != 0) return static_cast<int>(regions_.size()) - 1;
  if (e->id < levels_.size() && levels_[e->id] > 0) return levels_[e->id] - 1;
  int level = 0;
  auto const at_least = [&](int l) { level = l > level ? l : level; };
  at_least(level_of(e->a)), at_least(level_of(e->b)), at_least(level_of(e->c));
  for (ir::expr i : e->indices) at_least(level_of(i));
  if (e->kind == op::load) level = level_of_load(e, level);
  if (levels_.size() <= e->id) levels_.resize(e->id + 256, 0);
  levels_[e->id] = level + 1;
  regions_.back().levels.push_back(e->id);
  return level;
}
/// A load stays inside a branch, inside loops that write its memory, and, when a loop may not run at all, in the
/// block that runs only with it.
WEFT_DECL int expression_emitter::level_of_load(ir::expr e, int level) const {
  int stay = static_cast<int>(regions_.size()) - 1;
  for (; stay > level; --stay) {
    region const& r = regions_[static_cast<std::size_t>(stay)];
    if (!r.is_loop || (r.written & class_of(e->buf)) != 0) break;
    if (r.guarded) return stay - 1;
  }
  return stay;
}
/// Emits by `f` in region `level`: where the builder stands, or in front of the region inside it.
template <class F>
inline value_ref expression_emitter::at_level(int level, F const& f) {
  int const innermost = static_cast<int>(regions_.size()) - 1, here = at_ < 0 ? innermost : at_;
  if (level >= here) return f();
  block_ref const block = l_.GetInsertBlock(b_);
  l_.PositionBuilderBefore(b_, l_.GetBasicBlockTerminator(regions_[static_cast<std::size_t>(level) + 1].before));
  int const saved = at_;
  at_ = level;
  value_ref const v = f();
  at_ = saved;
  if (at_ < 0) l_.PositionBuilderAtEnd(b_, block);
  else l_.PositionBuilderBefore(b_, l_.GetBasicBlockTerminator(block));
  moved_back();
  return v;
}

// --- values ---------------------------------------------------------------------------------------------------

WEFT_DECL value_ref expression_emitter::emit(ir::expr e) {
  if (reads_literal(e)) return load_literal(e);
  if (e->id < values_.size() && values_[e->id] != nullptr) return values_[e->id];
  memory_read(e);
  int const here = at_ < 0 ? static_cast<int>(regions_.size()) - 1 : at_;
  int level = level_of(e);
  if (level > here || (rare_floor_ >= 0 && at_ < 0 && level >= rare_floor_)) level = here;
  value_ref const v = at_level(level, [&] { return make(e); });
  if (values_.size() <= e->id) values_.resize(e->id + 256, nullptr);
  values_[e->id] = v;
  // In front of a loop that may not run at all, it is known in that loop alone.
  auto owner = static_cast<std::size_t>(level);
  if (owner + 1 < regions_.size() && regions_[owner + 1].guarded) ++owner;
  regions_[owner].values.push_back(e->id);
  return v;
}
WEFT_DECL value_ref expression_emitter::make_literal(ir::expr e) {
  value_ref v = nullptr;
  if (e->type == dtype::f32) {
    v = l_.ConstBitCast(l_.ConstInt(l_.Int32TypeInContext(s_.context), static_cast<unsigned long long>(e->value), 0),
                        scalar_type(e->type));
  } else if (e->type == dtype::f64) {
    v = l_.ConstBitCast(number(e->value), scalar_type(e->type));
  } else {
    v = l_.ConstInt(scalar_type(e->type), static_cast<unsigned long long>(e->value), is_signed_integer(e->type));
  }
  if (e->lanes == 1) return v;
  sequence<value_ref> const all(e->lanes, v);
  return l_.ConstVector(const_cast<value_ref*>(all.data()), e->lanes);
}
/// Whether `e` is a number in all lanes that is better read from memory as a whole, as an operand of what uses it: AVX2.
/// LLVM would broadcast it from a scalar, an instruction and a register more for each use, of which a processor has only
/// so many under way; AVX-512 broadcasts inside the operand. What is rarely computed may be slow and had better be short.
/// Log of f32 0.47 -> 0.39 ns, pow of f64 6.7 -> 5.9, tanh of f32 0.87 -> 0.73 (EPYC Milan, loaded, 2026-11-21).
WEFT_DECL bool expression_emitter::reads_literal(ir::expr e) const {
  ir::expr const n = e->kind == op::broadcast ? e->a : e;
  return n->kind == op::literal && n->value != 0 && e->lanes > 1 && (e->type == dtype::f32 || e->type == dtype::f64) &&
         rare_floor_ < 0 && s_.machine.has("avx2") && !s_.machine.has("avx512f");
}
/// Where it is used, not in front of a loop: an operand must stand in the block of what uses it. Those for which there are
/// registers LLVM moves out by itself.
WEFT_DECL value_ref expression_emitter::load_literal(ir::expr e) {
  ir::expr const n = e->kind == op::broadcast ? e->a : e;
  int const most = 32 / size_bytes(e->type), lanes = e->lanes < most ? e->lanes : most;
  type_ref const type = with_lanes(scalar_type(e->type), lanes);
  value_ref global = nullptr;
  for (known_literal const& k : literals_)
    if (k.bits == n->value && k.type == e->type && k.lanes == lanes && k.copy == copy_) global = k.global;
  if (global == nullptr) {
    type_ref const bits = l_.IntTypeInContext(s_.context, static_cast<unsigned>(8 * size_bytes(e->type)));
    value_ref const one = l_.ConstInt(bits, static_cast<unsigned long long>(n->value), 0);
    sequence<value_ref> all(static_cast<std::size_t>(lanes), l_.ConstBitCast(one, scalar_type(e->type)));
    global = l_.AddGlobal(s_.module, type, "weft.number");
    l_.SetInitializer(global, l_.ConstVector(all.data(), static_cast<unsigned>(lanes)));
    l_.SetLinkage(global, PrivateLinkage);
    l_.SetUnnamedAddress(global, GlobalUnnamedAddr);
    l_.SetGlobalConstant(global, 1);
    literals_.push_back({n->value, e->type, lanes, copy_, global});
  }
  value_ref const part = l_.BuildLoad2(b_, type, global, "");
  if (lanes == e->lanes) return part;
  sequence<value_ref> index;
  for (int i = 0; i < e->lanes; ++i)
    index.push_back(l_.ConstInt(l_.Int32TypeInContext(s_.context), static_cast<unsigned>(i % lanes), 0));
  return l_.BuildShuffleVector(b_, part, part, l_.ConstVector(index.data(), static_cast<unsigned>(e->lanes)), "");
}
WEFT_DECL value_ref expression_emitter::run_time_number(int member, std::int64_t position) {
  value_ref index[] = {number(member)};
  value_ref const field = l_.BuildGEP2(b_, pointer(), launch_, index, 1, "");
  value_ref const array = l_.BuildLoad2(b_, pointer(), field, "");
  value_ref at[] = {number(position)};
  return l_.BuildLoad2(b_, i64(), l_.BuildGEP2(b_, i64(), array, at, 1, ""), "");
}
namespace detail {
/// Whether `e` is read only where `condition` holds, and is 0 elsewhere.
inline bool is_masked_by(ir::expr e, ir::expr condition) {
  while (condition->kind == op::broadcast) condition = condition->a;
  if (e->kind == op::broadcast) e = e->a;
  if (e->kind != op::load || e->a == nullptr || e->buf->where == ir::scope::registers) return false;
  ir::expr mask = e->a;
  while (mask->kind == op::broadcast) mask = mask->a;
  return mask == condition;
}
}  // namespace detail
WEFT_DECL value_ref expression_emitter::make(ir::expr e) {
  switch (e->kind) {
    case op::literal: return make_literal(e);
    case op::axis: return variables_[static_cast<std::size_t>(e->value)];
    case op::extent: return run_time_number(1, e->value);
    case op::scalar: {
      value_ref const bits = run_time_number(2, e->value);
      if (scalar_type(e->type) == i64()) return bits;
      if (e->type == dtype::f64) return l_.BuildBitCast(b_, bits, scalar_type(e->type), "");
      if (e->type == dtype::f32)
        return l_.BuildBitCast(b_, l_.BuildTrunc(b_, bits, l_.Int32TypeInContext(s_.context), ""),
                               scalar_type(e->type), "");
      return l_.BuildTrunc(b_, bits, scalar_type(e->type), "");
    }
    case op::load: return make_load(e);
    case op::broadcast: return splat(emit(e->a), e->lanes);
    case op::ramp: {
      sequence<value_ref> steps;
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
      if (detail::is_masked_by(e->b, e->a) && e->c->kind == op::literal && e->c->value == 0) return emit(e->b);  // it is 0 there as it is
      value_ref const c = emit(e->a), x = emit(e->b), y = emit(e->c);
      return l_.BuildSelect(b_, c, x, y, "");
    }
    case op::rare: return make_rare(e);
    case op::scaleb: return make_scaled(e);
    case op::instruction: return make_instruction(e);
    case op::sqrt: return call_intrinsic("llvm.sqrt", {type_of(e)}, {emit(e->a)});
    case op::floor:
    case op::ceil:
    case op::trunc:
    case op::round: return make_rounded(e);
    case op::fma: {
      value_ref const x = emit(e->a), y = emit(e->b), z = emit(e->c);
      if (is_float(e->type)) {
        value_ref const r = call_intrinsic("llvm.fma", {type_of(e)}, {x, y, z});
        // LLVM 19 to 22 take fnmadd for the negative of a scalar fma, which negates the terms: 0, where it should be -0.
        bool const is_scalar = e->lanes == 1 && s_.machine.arch == architecture::aarch64;
        return is_scalar ? call_intrinsic("llvm.arithmetic.fence", {type_of(e)}, {r}) : r;
      }
      return l_.BuildAdd(b_, l_.BuildMul(b_, x, y, ""), z, "");
    }
    default: break;
  }
  if (arity(e->kind) != 2)
    WEFT_THROW(internal_error(joined({"llvm: no code for operation ", name(e->kind)})));
  return make_binary(e);
}
/// Without an instruction for it LLVM would call libm: x86-64 has it since SSE4.1.
WEFT_DECL value_ref expression_emitter::make_rounded(ir::expr e) {
  if (s_.machine.arch == architecture::aarch64 || s_.machine.has("sse4.1")) {
    char const* const name = e->kind == op::floor  ? "llvm.floor"
                             : e->kind == op::ceil ? "llvm.ceil"
                             : e->kind == op::trunc ? "llvm.trunc"
                                                    : "llvm.roundeven";
    return call_intrinsic(name, {type_of(e)}, {emit(e->a)});
  }
  return emit(rounded_by_arithmetic(*s_.f.nodes, e));
}
/// Of vectors, by AVX-512; others were written out (pass/legalise).
WEFT_DECL value_ref expression_emitter::make_scaled(ir::expr e) {
  int const bytes = e->lanes * size_bytes(e->type);
  std::string const name = joined({"llvm.x86.avx512.mask.scalef.", e->type == dtype::f32 ? "ps." : "pd.", std::to_string(8 * bytes)});
  value_ref const a = emit(e->a), b = emit(e->b);
  type_ref const mask = l_.IntTypeInContext(s_.context, e->lanes > 8 ? 16 : 8), i32 = l_.Int32TypeInContext(s_.context);
  sequence<value_ref> arguments{a, b, a, l_.ConstInt(mask, ~0ull, 0)};
  if (bytes == 64) arguments.push_back(l_.ConstInt(i32, 4, 0));  // rounding as it is set
  return call_intrinsic(name.c_str(), {}, arguments);
}
/// A jump over what no lane wants. In front of a loop, where it would have to part a block that other jumps name, both
/// sides are computed: once.
WEFT_DECL value_ref expression_emitter::make_rare(ir::expr e) {
  value_ref const condition = emit(e->a), usual = emit(e->c);
  if (at_ >= 0 || rare_floor_ >= 0) return l_.BuildSelect(b_, condition, emit(e->b), usual, "");
  value_ref any = condition;
  if (e->lanes > 1) {
    type_ref const bits = l_.IntTypeInContext(s_.context, e->lanes);
    any = l_.BuildICmp(b_, IntNE, l_.BuildBitCast(b_, condition, bits, ""), l_.ConstNull(bits), "");
  }
  block_ref before = l_.GetInsertBlock(b_);
  value_ref const function = l_.GetBasicBlockParent(before);
  block_ref const there = l_.AppendBasicBlockInContext(s_.context, function, "");
  block_ref const after = l_.AppendBasicBlockInContext(s_.context, function, "");
  l_.MoveBasicBlockAfter(after, before);
  hint_rare(l_.BuildCondBr(b_, any, there, after));
  // What only the other side needs is emitted there, unless it stands in front of a loop already.
  region r;
  r.before = before;
  r.pointers = pointers_.size();
  regions_.push_back(static_cast<region&&>(r));
  rare_floor_ = static_cast<int>(regions_.size()) - 2;
  l_.PositionBuilderAtEnd(b_, there);
  value_ref chosen = l_.BuildSelect(b_, condition, emit(e->b), usual, "");
  block_ref there_end = l_.GetInsertBlock(b_);
  l_.BuildBr(b_, after);
  rare_floor_ = -1;
  leave();
  l_.PositionBuilderAtEnd(b_, after);
  value_ref const v = l_.BuildPhi(b_, type_of(e), "");
  value_ref expected = usual;
  l_.AddIncoming(v, &chosen, &there_end, 1);
  l_.AddIncoming(v, &expected, &before, 1);
  return v;
}
/// Says that the first way of a branch is hardly ever taken.
WEFT_DECL void expression_emitter::hint_rare(value_ref branch) {
  auto const weight = [&](unsigned long long w) {
    return l_.ValueAsMetadata(l_.ConstInt(l_.Int32TypeInContext(s_.context), w, 0));
  };
  metadata_ref parts[] = {l_.MDStringInContext2(s_.context, "branch_weights", 14), weight(1), weight(1000000)};
  l_.SetMetadata(branch, l_.GetMDKindIDInContext(s_.context, "prof", 4),
                 l_.MetadataAsValue(s_.context, l_.MDNodeInContext2(s_.context, parts, 3)));
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
/// `low` < `high` ? `then` : `otherwise`, the operands of a minimum or maximum.
///
/// Of floats for Arm by what is not so: of `x < 0 ? x : 0` LLVM 19 and 22 make fminnm, which gives -0 for -0 where the comparison gives 0.
/// They leave comparisons alone in which equal operands count.
WEFT_DECL value_ref expression_emitter::smaller(dtype t, value_ref low, value_ref high, value_ref then, value_ref otherwise) {
  if (is_float(t) && s_.machine.arch == architecture::aarch64)
    return l_.BuildSelect(b_, l_.BuildFCmp(b_, RealUGE, low, high, ""), otherwise, then, "");
  return l_.BuildSelect(b_, make_comparison(op::lt, t, low, high), then, otherwise, "");
}
WEFT_DECL value_ref expression_emitter::make_binary(ir::expr e) {
  value_ref const a = emit(e->a), b = emit(e->b);
  dtype const t = e->a->type;
  if (is_comparison(e->kind)) return make_comparison(e->kind, t, a, b);
  switch (e->kind) {
    case op::min: return smaller(t, a, b, a, b);
    case op::max: return smaller(t, b, a, a, b);
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
    case op::mul: {
      // LLVM 22 (22.1.8; llvm-project issue 218844, mended by pull request 219996): a product of 64 bits, of 16 bits each, that is shifted and cut to 16 comes from pmulhw,
      // shifted on without its sign.
      value_ref const product = l_.BuildMul(b_, a, b, "");
      if (l_.major != 22 || e->lanes == 1 || size_bytes(t) < 8 || s_.machine.arch != architecture::x86_64) return product;
      type_ref const fenced = with_lanes(l_.DoubleTypeInContext(s_.context), e->lanes);
      return l_.BuildBitCast(b_, call_intrinsic("llvm.arithmetic.fence", {fenced}, {l_.BuildBitCast(b_, product, fenced, "")}), with_lanes(i64(), e->lanes), "");
    }
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
/// Without the fence LLVM takes f16 -> f32 -> f16 for nothing, and a signalling NaN stays one. It costs no instruction.
WEFT_DECL value_ref expression_emitter::narrowed(ir::expr e, value_ref v, type_ref to) {
  return l_.BuildFPTrunc(b_, call_intrinsic("llvm.arithmetic.fence", {type_of(e)}, {v}), to, "");
}
/// f16 <-> f32 by the machine's own instruction; the rest is gone since pass/legalise. Elsewhere an f16 is an i16, so
/// that nothing computes with LLVM's half by mistake.
WEFT_DECL value_ref expression_emitter::make_half_cast(ir::expr e, value_ref a) {
  bool const widens = e->type == dtype::f32;
  if ((widens ? e->a->type : e->type) != dtype::f16 || (widens ? e->type : e->a->type) != dtype::f32)
    WEFT_THROW(internal_error(joined({"llvm: a cast from ", name(e->a->type), " to ",
                                      name(e->type), " is left after pass/legalise"})));
  type_ref const half = with_lanes(l_.HalfTypeInContext(s_.context), e->lanes);
  if (widens) return l_.BuildFPExt(b_, l_.BuildBitCast(b_, a, half, ""), type_of(e), "");
  return l_.BuildBitCast(b_, narrowed(e->a, a, half), type_of(e), "");
}
/// Lanes of floats as integers of at most 32 bits, which hold those beyond their ends at these: LLVM's own conversion does it lane by lane.
WEFT_DECL value_ref expression_emitter::saturated(ir::expr e, value_ref a) {
  int const bits = 8 * size_bytes(e->type), lanes = e->lanes;
  bool const has_sign = is_signed_integer(e->type), exact = bits < 32 || e->a->type == dtype::f64;  // both ends are floats
  double const past = has_sign ? static_cast<double>(std::uint64_t(1) << (bits - 1)) : static_cast<double>(std::uint64_t(1) << bits);
  auto const real = [&](double v) { return splat(l_.ConstReal(scalar_type(e->a->type), v), lanes); };
  type_ref const scalar = l_.Int32TypeInContext(s_.context), word = with_lanes(scalar, lanes);
  value_ref const low = real(has_sign ? -past : 0), high = real(exact ? past - 1 : past);
  value_ref within = l_.BuildSelect(b_, l_.BuildFCmp(b_, RealOGT, a, low, ""), a, low, "");  // also of NaN
  value_ref const fits = l_.BuildFCmp(b_, RealOLT, within, high, "");
  within = l_.BuildSelect(b_, fits, within, exact ? high : low, "");
  value_ref r = l_.BuildFPToSI(b_, within, word, "");
  if (!exact) r = l_.BuildSelect(b_, fits, r, splat(l_.ConstInt(scalar, 0x7fffffff, 0), lanes), "");
  if (has_sign) r = l_.BuildSelect(b_, l_.BuildFCmp(b_, RealUNO, a, a, ""), l_.ConstNull(word), r, "");
  return bits < 32 ? l_.BuildTrunc(b_, r, type_of(e), "") : r;
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
  if (is_half(from) || is_half(e->type)) return make_half_cast(e, a);
  if (is_float(from) && is_float(e->type))
    return e->type == dtype::f64 ? l_.BuildFPExt(b_, a, to, "") : narrowed(e->a, a, to);
  if (is_float(from) && e->lanes > 1 && (size_bytes(e->type) < 4 || e->type == dtype::i32)) return saturated(e, a);
  if (is_float(from))
    return call_intrinsic(is_signed_integer(e->type) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", {to, type_of(e->a)}, {a});
  if (is_float(e->type))
    return is_signed_integer(from) ? l_.BuildSIToFP(b_, a, to, "") : l_.BuildUIToFP(b_, a, to, "");
  return l_.BuildIntCast2(b_, a, to, is_signed_integer(from), "");
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
