#include "weft/codegen/llvm/expr.hpp"
#include "weft/ir/lane_spans.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

namespace detail {
/// How many elements there are from a buffer's first to its last one; 0: not known.
inline std::int64_t elements_of(ir::buffer const* b) {
  constexpr std::int64_t far = weft::detail::lane_span::far;
  std::int64_t last = 0;
  for (std::size_t d = 0; d < b->shape.size(); ++d) {
    ir::expr const n = b->shape[d], by = b->strides[d];
    if (n->kind != op::literal || by->kind != op::literal || n->value < 1 || by->value < 0 || by->value > far / n->value) return 0;
    last += (n->value - 1) * by->value;
    if (last > far) return 0;
  }
  return last + 1;
}
/// How far element `at` of a buffer lies behind the begin of a block of `size` elements all of which the buffer has; -1: not known. A
/// block that begins at a multiple of its size has all of them where the buffer ends at one, and none lies between its rows.
inline std::int64_t place_in_block(ir::buffer const* b, ir::expr at, std::int64_t size) {
  weft::detail::linear const form = weft::detail::linear_form(at);
  for (weft::detail::linear::term const& t : form.terms)
    if (t.coefficient % size != 0) return -1;
  std::int64_t const elements = elements_of(b);
  std::int64_t all = 1;
  if (elements == 0) return -1;
  for (ir::expr n : b->shape) {
    if (n->value > elements / all) return -1;
    all *= n->value;
  }
  return all == elements && all % size == 0 ? form.constant - floor_div(form.constant, size) * size : -1;
}
/// How many lanes are at one element at most, of lanes that are each where the one before it is or further on; 0: of others.
inline int lanes_together(sequence<std::int64_t> const& places) {
  int most = 1, now = 1;
  for (std::size_t l = 1; l < places.size(); ++l) {
    if (places[l] < places[l - 1]) return 0;
    now = places[l] == places[l - 1] ? now + 1 : 1;
    most = now > most ? now : most;
  }
  return most;
}
/// Of which a condition of lanes is made: all of them hold. Those of all lanes are broadcasts.
inline void find_conditions(ir::expr e, sequence<ir::expr>& all) {
  if (e->kind == op::logical_and) return find_conditions(e->a, all), find_conditions(e->b, all);
  all.push_back(e);
}
}  // namespace detail

/// Lanes that all lie within a few vectors behind a common place are read as those vectors, and put in order in registers: every second
/// element, each of them twice, what stands beside a place in small steps or, where the machine has a permutation by numbers, at places
/// that are known when it runs, as long as their bounds are. A gather of 16 lanes takes 40 cycles, two loads and a permutation two; eight
/// loads, four permutations and what chooses among them are still quicker (Zen 4). Nothing is read in front of the first of these elements nor
/// behind the last one, but what is in one whole vector of the buffer with them, which the terms of a small group of channels then share, or,
/// of places that are known when it runs, outside of the buffer. Null: they do not. `wanted`: a condition for all of them or for each, else they are 0,
/// or null.
WEFT_DECL value_ref expression_emitter::load_window(ir::buffer const* buf, flat_index const& flat, int lanes, ir::expr wanted) {
  ir::arena& m = *s_.f.nodes;
  bool const wide = s_.machine.has("avx512f");
  if (lanes < 4 || checks_ || (flat.first->lanes == 1 && (flat.stride > 8 || flat.stride < -8))) return nullptr;
  weft::detail::lane_spans spans(m, lanes);
  weft::detail::lane_span s = spans.of(flat.first->lanes > 1 ? flat.first : ir::ramp(m, flat.first, flat.stride, lanes));
  std::int64_t const least = s.least(), count = s.most() - least + 1;
  int const bytes = size_bytes(buf->type);
  bool const exact = s.is_exact();
  if (least <= -weft::detail::lane_span::far || count > (exact ? 4 : 8) * lanes || (!wide && count > 2 * lanes)) return nullptr;
  std::int64_t piece = lanes, all = count;  // elements of a load, and of all
  ir::expr begin = ir::binary(m, op::add, s.first == nullptr ? ir::index(m, 0) : s.first, ir::index(m, least));
  if (wanted != nullptr && (!exact || lanes * bytes > 64)) return nullptr;
  bool const by_lane = wanted != nullptr && wanted->lanes > 1;
  int const together = by_lane ? detail::lanes_together(s.low) : 1;
  if (by_lane && (!wide || (bytes < 4 && !s_.machine.has("avx512bw")) || buf->type == dtype::boolean || together == 0)) return nullptr;
  sequence<ir::expr> conditions;
  if (by_lane) detail::find_conditions(wanted, conditions);
  for (ir::expr one : conditions)
    if (together > 2 && one->kind != op::broadcast && level_of(one) > 0) return nullptr;  // lane by lane
  if (exact) {
    while (piece > count) piece /= 2;
    if (by_lane && piece == 1) return nullptr;  // no vector of elements: that one is read if any lane wants it
  } else {
    if (!wide || lanes * bytes != 64 || bytes < 4 || buf->type == dtype::boolean) return nullptr;
    all = ceil_div(count, piece) * piece;
    std::int64_t const room = detail::elements_of(buf);
    if (room < all) return nullptr;
    begin = ir::binary(m, op::max, ir::binary(m, op::min, begin, ir::index(m, room - all)), ir::index(m, 0));
  }
  begin = simplify(m, begin);
  std::int64_t skipped = 0;  // elements in front of the first one
  if (std::int64_t const before = exact && !by_lane && piece < count ? detail::place_in_block(buf, begin, lanes) : -1; before >= 0 && before + count <= lanes) {
    begin = simplify(m, ir::binary(m, op::add, begin, ir::index(m, -before)));
    skipped = before, piece = all = lanes;
  }
  sequence<value_ref> parts;
  sequence<std::int64_t> starts;
  type_ref const element = memory_type(buf->type);
  for (std::int64_t at = 0; at < all; at += piece) {
    starts.push_back(at + piece < all ? at : all - piece);
    ir::expr const first = simplify(m, ir::binary(m, op::add, begin, ir::index(m, starts.back())));
    if (by_lane) {
      parts.push_back(load_wanted(buf, first, conditions, s.low, least + starts.back(), static_cast<int>(piece)));
      continue;
    }
    value_ref const p = pointer_or_zeros(buf, first, wanted);
    value_ref const v = l_.BuildLoad2(b_, with_lanes(element, static_cast<int>(piece)), p, "");
    l_.SetAlignment(v, static_cast<unsigned>(bytes));
    parts.push_back(v);
  }
  auto const chosen = [&](value_ref v) {  // an element that another lane wants is there
    return together > 1 ? l_.BuildSelect(b_, emit(wanted), v, l_.ConstNull(with_lanes(element, lanes)), "") : v;
  };
  if (piece == 1) return chosen(splat(parts[0], lanes));
  if (!exact) {
    ir::expr const apart = s.first == nullptr ? ir::unary(m, op::neg, begin) : ir::binary(m, op::sub, s.first, begin);
    return permuted(parts, ir::binary(m, op::add, s.rest, ir::broadcast(m, simplify(m, apart), lanes)), buf->type);
  }
  // By pairs: which of two parts, and where in it.
  auto const source = [&](std::size_t l) {
    std::int64_t const x = s.low[l] - least + skipped;
    auto part = static_cast<std::size_t>(x / piece);
    if (part + 1 >= parts.size()) part = parts.size() - 1;
    return part;
  };
  auto const within = [&](std::size_t l) { return static_cast<std::int32_t>(s.low[l] - least + skipped - starts[source(l)]); };
  sequence<value_ref> pairs;
  for (std::size_t first = 0; first < parts.size(); first += 2) {
    sequence<std::int32_t> from;
    for (std::size_t l = 0; l < s.low.size(); ++l) {
      bool const here = source(l) / 2 == first / 2;
      from.push_back(!here ? 0 : within(l) + (source(l) == first ? 0 : static_cast<std::int32_t>(piece)));
    }
    pairs.push_back(shuffled(parts[first], parts[first + 1 < parts.size() ? first + 1 : first], from));
  }
  if (pairs.size() == 1) return chosen(pairs[0]);
  sequence<std::int32_t> which;
  for (std::size_t l = 0; l < s.low.size(); ++l) which.push_back(static_cast<std::int32_t>(l) + (source(l) < 2 ? 0 : lanes));
  return chosen(shuffled(pairs[0], pairs[1], which));
}
/// A condition of lanes as one of elements: lane l is at element `places[l] - begin`, at which others may be.
WEFT_DECL value_ref expression_emitter::wanted_elements(value_ref mask, sequence<std::int64_t> const& places, std::int64_t begin, int elements) {
  value_ref const none = l_.ConstNull(with_lanes(l_.Int1TypeInContext(s_.context), static_cast<int>(places.size())));
  value_ref any = nullptr;
  for (int nth = 0; nth < detail::lanes_together(places); ++nth) {  // lane of those at an element
    sequence<std::int32_t> lane(static_cast<std::size_t>(elements), static_cast<std::int32_t>(places.size()));  // of `none`
    int before = 0;
    for (std::size_t l = 0; l < places.size(); ++l) {
      before = l > 0 && places[l] == places[l - 1] ? before + 1 : 0;
      if (std::int64_t const at = places[l] - begin; before == nth && at >= 0 && at < elements) lane[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(l);
    }
    value_ref const one = shuffled(mask, none, lane);
    any = any == nullptr ? one : l_.BuildOr(b_, any, one, "");
  }
  return any;
}
/// So many elements from `first` on, of which those are read that a lane is at and wants.
WEFT_DECL value_ref expression_emitter::load_wanted(ir::buffer const* buf, ir::expr first, sequence<ir::expr> const& conditions,
                                                    sequence<std::int64_t> const& places, std::int64_t begin, int elements) {
  value_ref mask = wanted_elements(all_lanes(static_cast<int>(places.size())), places, begin, elements), by_lane = nullptr;
  auto const also = [&](value_ref& v, value_ref one) { v = v == nullptr ? one : l_.BuildAnd(b_, v, one, ""); };
  for (ir::expr one : conditions)
    if (one->kind == op::broadcast) also(mask, splat(emit(one->a), elements));
    else also(by_lane, emit(one));
  if (by_lane != nullptr) also(mask, wanted_elements(by_lane, places, begin, elements));
  return masked_load(memory_type(buf->type), elements, pointer_at(buf, first), static_cast<unsigned>(size_bytes(buf->type)), mask);
}
/// Integers of 64 bits, modulo 2^32.
WEFT_DECL value_ref expression_emitter::emit_low_half(ir::expr e) {
  type_ref const half = with_lanes(l_.Int32TypeInContext(s_.context), e->lanes);
  switch (e->kind) {
    case op::broadcast: return splat(l_.BuildTrunc(b_, emit(e->a), l_.Int32TypeInContext(s_.context), ""), e->lanes);
    case op::add: return l_.BuildAdd(b_, emit_low_half(e->a), emit_low_half(e->b), "");
    case op::sub: return l_.BuildSub(b_, emit_low_half(e->a), emit_low_half(e->b), "");
    case op::mul: return l_.BuildMul(b_, emit_low_half(e->a), emit_low_half(e->b), "");
    default: return l_.BuildTrunc(b_, emit(e), half, "");
  }
}
/// Of up to eight vectors of 64 bytes, behind one another, the elements at `places`.
WEFT_DECL value_ref expression_emitter::permuted(sequence<value_ref> const& parts, ir::expr places, dtype type) {
  bool const narrow = size_bytes(type) == 4;
  int const lanes = narrow ? 16 : 8;
  type_ref const scalar = narrow ? l_.Int32TypeInContext(s_.context) : i64();
  type_ref const element = narrow ? l_.FloatTypeInContext(s_.context) : l_.DoubleTypeInContext(s_.context);
  value_ref const at = narrow ? emit_low_half(places) : emit(places);
  auto const part = [&](std::size_t i) { return l_.BuildBitCast(b_, parts[i], with_lanes(element, lanes), ""); };
  auto const of_two = [&](std::size_t i) {
    if (i + 1 == parts.size())
      return call_intrinsic(narrow ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx512.permvar.df.512", {}, {part(i), at});
    return call_intrinsic(narrow ? "llvm.x86.avx512.vpermi2var.ps.512" : "llvm.x86.avx512.vpermi2var.pd.512", {}, {part(i), at, part(i + 1)});
  };
  value_ref v = of_two(0);
  for (std::size_t first = 2; first < parts.size(); first += 2) {
    sequence<value_ref> const all(static_cast<std::size_t>(lanes), l_.ConstInt(scalar, static_cast<unsigned>(lanes) * first, 0));
    value_ref const behind = l_.BuildICmp(b_, IntSLE, l_.ConstVector(const_cast<value_ref*>(all.data()), static_cast<unsigned>(lanes)), at, "");
    v = l_.BuildSelect(b_, behind, of_two(first), v, "");
  }
  return l_.BuildBitCast(b_, v, with_lanes(memory_type(type), lanes), "");
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
