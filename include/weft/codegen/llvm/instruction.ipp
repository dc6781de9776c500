#include "weft/codegen/llvm/expr.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

WEFT_DECL value_ref expression_emitter::shuffled(value_ref a, value_ref b, sequence<std::int32_t> const& lanes) {
  sequence<value_ref> index;
  for (std::int32_t lane : lanes)
    index.push_back(l_.ConstInt(l_.Int32TypeInContext(s_.context), static_cast<unsigned long long>(lane), 0));
  return l_.BuildShuffleVector(b_, a, b, l_.ConstVector(index.data(), static_cast<unsigned>(index.size())), "");
}

/// By the widest form that the vector fills, as often as it takes; written out where there is none.
WEFT_DECL value_ref expression_emitter::make_instruction(ir::expr e) {
  intrinsic const& by = *e->by;
  machine_form const* form = nullptr;
  unsigned id = 0;
  for (machine_form const& f : by.forms) {
    bool const fits = f.lanes > 0 && e->lanes % f.lanes == 0 && (form == nullptr || f.lanes > form->lanes);
    if (!fits || !s_.machine.has(f.feature)) continue;
    if (unsigned const known = l_.LookupIntrinsicID(f.function.data(), f.function.size()); known != 0) form = &f, id = known;
  }
  type_ref const type = form == nullptr ? nullptr : l_.IntrinsicGetType(s_.context, id, nullptr, 0);
  int const taken = form == nullptr ? 0 : static_cast<int>(l_.CountParamTypes(type));
  bool const joins = taken == by.operands + 1;
  if (!joins && taken != by.operands) return emit(e->a);
  value_ref const function = l_.GetIntrinsicDeclaration(s_.module, id, nullptr, 0);
  sequence<type_ref> parameters(static_cast<std::size_t>(taken), nullptr);
  l_.GetParamTypes(type, parameters.data());
  sequence<value_ref> whole{emit(e->indices[0])};
  for (int operand = 0; operand < by.operands; ++operand) whole.push_back(terms_side_by_side(e, operand));
  auto const piece = [&](value_ref v, int first, int count, int all) {
    sequence<std::int32_t> lanes;
    for (int i = 0; i < count; ++i) lanes.push_back(first + i);
    return count == all ? v : shuffled(v, v, lanes);
  };
  sequence<value_ref> results;
  for (int lane = 0; lane < e->lanes; lane += form->lanes) {
    value_ref const before = piece(whole[0], lane, form->lanes, e->lanes);
    sequence<value_ref> arguments;
    if (joins) arguments.push_back(before);
    for (int operand = 0; operand < by.operands; ++operand)
      arguments.push_back(piece(whole[static_cast<std::size_t>(operand) + 1], lane * by.terms, form->lanes * by.terms,
                                e->lanes * by.terms));
    // LLVM's types for the same bits have changed from one version to another.
    for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i] = l_.BuildBitCast(b_, arguments[i], parameters[i], "");
    value_ref v = l_.BuildCall2(b_, type, function, arguments.data(), static_cast<unsigned>(arguments.size()), "");
    v = l_.BuildBitCast(b_, v, with_lanes(scalar_type(e->type), form->lanes), "");
    if (!joins) v = is_float(e->type) ? l_.BuildFAdd(b_, before, v, "") : l_.BuildAdd(b_, before, v, "");
    results.push_back(v);
  }
  for (int lanes = form->lanes; results.size() > 1; lanes *= 2) {
    sequence<std::int32_t> all;
    for (int i = 0; i < 2 * lanes; ++i) all.push_back(i);
    sequence<value_ref> pairs;
    for (std::size_t i = 0; i < results.size(); i += 2) pairs.push_back(shuffled(results[i], results[i + 1], all));
    results = pairs;
  }
  return results[0];
}

/// The terms of lane 0, those of lane 1, and so on: one load, where they stand so in memory.
WEFT_DECL value_ref expression_emitter::terms_side_by_side(ir::expr e, int operand) {
  ir::arena& m = *s_.f.nodes;
  int const terms = e->by->terms, lanes = e->lanes;
  ir::expr const* const parts = e->indices.begin() + 1 + operand * terms;
  auto const load_of = [](ir::expr x) { return x->kind == op::broadcast ? x->a : x; };
  ir::expr const first = load_of(parts[0]);
  bool together = first->kind == op::load && first->buf->where != ir::scope::registers && first->type != dtype::boolean;
  for (int k = 1; k < terms && together; ++k) {
    ir::expr const other = load_of(parts[k]);
    together = other->kind == op::load && other->buf == first->buf && other->a == first->a && other->lanes == first->lanes;
    if (!together) break;
    flat_index const here = element_at(first->buf, first->indices, first->lanes);
    flat_index const there = element_at(other->buf, other->indices, other->lanes);
    together = here.first->lanes == 1 && there.first->lanes == 1 && here.stride == there.stride &&
               ir::is_literal(simplify(m, ir::binary(m, op::sub, there.first, here.first)), k);
  }
  type_ref const scalar = scalar_type(parts[0]->type);
  auto const bytes = static_cast<unsigned>(size_bytes(parts[0]->type));
  if (together) {
    place const at = address(first->buf, first->indices, first->lanes);
    bool const behind = first->lanes == lanes && at.stride == terms, one = first->lanes == 1 || at.stride == 0;
    if (!at.scattered && behind && (first->a == nullptr || first->a->lanes == lanes)) {
      if (first->a == nullptr) {
        value_ref const v = l_.BuildLoad2(b_, with_lanes(scalar, lanes * terms), at.pointer, "");
        l_.SetAlignment(v, bytes);
        return v;
      }
      sequence<std::int32_t> each;
      for (int i = 0; i < lanes * terms; ++i) each.push_back(i / terms);
      value_ref const mask = emit(first->a);
      return masked_load(scalar, lanes * terms, at.pointer, bytes, shuffled(mask, mask, each));
    }
    if (!at.scattered && one && first->a == nullptr) {  // the terms of one lane are a word
      type_ref const word_type = l_.IntTypeInContext(s_.context, 8 * bytes * static_cast<unsigned>(terms));
      value_ref const word = l_.BuildLoad2(b_, word_type, at.pointer, "");
      l_.SetAlignment(word, bytes);
      return l_.BuildBitCast(b_, splat(word, lanes), with_lanes(scalar, lanes * terms), "");
    }
  }
  sequence<value_ref> vectors;
  for (int k = 0; k < terms; ++k) vectors.push_back(emit(parts[k]));
  for (int width = 1; vectors.size() > 1; width *= 2) {
    sequence<std::int32_t> order;
    for (int lane = 0; lane < lanes; ++lane)
      for (int half : {0, lanes * width})
        for (int i = 0; i < width; ++i) order.push_back(half + lane * width + i);
    sequence<value_ref> pairs;
    for (std::size_t i = 0; i < vectors.size(); i += 2) pairs.push_back(shuffled(vectors[i], vectors[i + 1], order));
    vectors = pairs;
  }
  return vectors[0];
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
