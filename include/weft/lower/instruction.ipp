#include "weft/base/joined.hpp"
#include "weft/expr/expand.hpp"
#include "weft/lower/lowering.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The innermost loop as one statement, whose value an instruction computes; null where a tail has cut terms off, or memory has
/// another layout.
WEFT_DECL ir::stmt lowering::by_instruction(open_loop const& o, guard_states const& states) {
  intrinsic const& by = *n_.at(o.id).by;
  if (n_.at(o.id).extent != by.terms) return nullptr;
  for (std::size_t g = 0; g < now_->guards.size(); ++g)
    if (states[g] != guard_state::holds && uses(now_->guards[g].index, o.variable)) return nullptr;
  int const body = p_.result(*now_->stage, 0).body;
  sequence<std::int32_t> loads;
  if (!by.match(p_, body, loads))
    WEFT_THROW(schedule_error(joined({"tensorize: ", sentence(diagnosis::the_terms_of_the_stage_are_not_those_of_the_instruction),
                                      "\n  in    stage ", p_.tensors[at(now_->stage->tensor)].name.view(), "\n  try   ",
                                      static_way_out(diagnosis::the_terms_of_the_stage_are_not_those_of_the_instruction)})));
  ir::stmt_node s = *leaf(states);
  auto const term = [&](ir::expr e, int k) { return ir::substitute(m_, e, o.variable, ir::index(m_, k)); };
  sequence<std::int32_t> first;
  for (std::int32_t v : s.first)
    if (v != o.variable) first.push_back(v);
  // Of a reduction that is one instruction there is nothing so far.
  bool const whole = first.empty() && s.first.size() > 0;
  ir::expr value = whole ? s.identity : ir::self(m_, s.buf->type, 1);
  sequence<ir::expr> operands{value};
  for (std::int32_t load : loads)
    for (int k = 0; k < by.terms; ++k) operands.push_back(simplify(m_, term(this->value(load, nullptr), k)));
  if (!has_layout(by, o, operands)) return nullptr;
  for (int k = 0; k < by.terms; ++k) value = self_replacement(m_, {value})(term(s.value, k));
  if (by.computes != nullptr) value = instruction_value(by, operands);
  s.value = ir::instruction(m_, &by, value, operands);
  s.first = m_.make_list(first);
  if (whole) s.kind = ir::stmt_kind::store, s.identity = nullptr;
  return m_.make(s);
}
/// The three innermost loops as what a warp does together, or a CPU's matrix unit, or the two that store what becomes of a warp's sums. Its meaning are the loops, which
/// a CPU runs where no whole tile is known.
///
/// Where they run over the end of an axis, and the operands have zeros there, the sums are right all the same, and those that there
/// are not are not stored.
WEFT_DECL ir::stmt lowering::by_tile(std::size_t position, guard_states const& given) {
  guard_states states = given;
  intrinsic const& by = *n_.at(now_->loops[position].id).by;
  std::int64_t const wanted[] = {by.rows, by.columns, by.terms};
  std::size_t const depth = now_->stage->reduced > 0 ? 3 : 2;
  bool whole = position + depth == now_->loops.size();
  sequence<std::int32_t> loads;
  bool const known = depth == 3 && by.has_places && by.match(p_, p_.result(*now_->stage, 0).body, loads);
  ir::expr mask = nullptr;
  for (std::size_t d = 0; d < depth && whole; ++d) {
    open_loop const& l = now_->loops[position + d];
    whole = ir::is_literal(l.extent, wanted[d]) && l.how == loop_kind::serial;
    for (std::size_t g = 0; g < now_->guards.size() && whole; ++g) {
      guard const& cut = now_->guards[g];
      if (states[g] == guard_state::holds || !uses(cut.index, l.variable)) continue;
      whole = known && cut.condition < 0 && ends_in_zeros(loads, cut, l.variable);
      if (d < 2) mask = ir::all_of(m_, mask, ir::binary(m_, op::lt, cut.index, cut.bound));
      states[g] = guard_state::holds;
    }
  }
  if (!whole && by.is_of_cpu()) {
    in_tile_ = true;
    ir::stmt const loops = nest_from(position, given);
    in_tile_ = false;
    return loops;
  }
  if (!whole)
    WEFT_THROW(schedule_error(joined({"tensorize: ", by.name, " has whole tiles alone, of ", std::to_string(by.rows), " rows, ",
                                      std::to_string(by.columns), " columns and ", std::to_string(by.terms),
                                      " terms, and the extents of this call leave parts of some\n  in    stage ",
                                      p_.tensors[at(now_->stage->tensor)].name.view(), ", loop ", n_.at(now_->loops[position].id).name.view(),
                                      "\n  try   extents that all splits around divide; or, with an intrinsic of mma, copies of both operands that end in "
                                      "zeros: cache_read, and transform_layout of the copy to dims(i / 64, k / 32, i % 64, k % 32), by what a block has of "
                                      "each (docs/gpu.md)"})));
  ir::stmt_node n;
  n.kind = ir::stmt_kind::tile;
  n.role = depth == 3 ? ir::tile_role::multiply : ir::tile_role::store;
  n.unit = &by;
  in_tile_ = true;
  n.children = m_.make_list(sequence<ir::stmt>(1, under_mask(nest_from(position, states), mask)));
  in_tile_ = false;
  return m_.make(n);
}
/// The update inside of loops, where `mask` (null: everywhere) holds.
WEFT_DECL ir::stmt lowering::under_mask(ir::stmt s, ir::expr mask) {
  if (mask == nullptr) return s;
  if (s->kind == ir::stmt_kind::loop) return ir::loop_like(m_, s, s->begin, s->extent, under_mask(s->children[0], mask));
  ir::stmt_node n = *s;
  n.mask = ir::all_of(m_, s->mask, mask);
  return m_.make(n);
}
/// Whether all of `loads` that move with `variable` are zero where the guard fails.
WEFT_DECL bool lowering::ends_in_zeros(sequence<std::int32_t> const& loads, guard const& g, std::int32_t variable) {
  bool fine = true;
  for (std::int32_t load : loads) {
    now_->leaf_guards.clear(), now_->open_guards.clear(), now_->held.clear(), now_->places.clear();
    now_->places.push_back({now_->number, {}, {}});
    place_ = 0;
    node const& n = p_.at(load);
    bool moves = false;
    for (int i = 0; i < n.c; ++i) moves = moves || uses(value(p_.operands[at(n.b + i)], nullptr), variable);
    fine = fine && (!moves || is_zero_beyond(n, g));
  }
  return fine;
}
/// Whether the stage that is read there has zeros behind its ends, by its layout, and among those is where the guard fails.
WEFT_DECL bool lowering::is_zero_beyond(node const& load, guard const& g) {
  int const from = p_.tensors[at(load.a)].stage;
  if (from < 0 || n_.places[at(from)].inlined || p_.stages[at(from)].results != 1) return false;
  node const& body = p_.at(p_.result(p_.stages[at(from)], 0).body);
  if (body.kind != op::select || p_.at(body.c).kind != op::literal || p_.at(body.c).value != 0) return false;
  element_place there{from, {}, {}};
  for (int i = 0; i < load.c; ++i) there.indices.push_back(value(p_.operands[at(load.b + i)], nullptr));
  now_->places.push_back(there);
  place_ = now_->places.size() - 1;
  range_table const ranges = ranges_in(*now_, static_cast<int>(now_->loops.size()) - 1);
  auto const is_zero = [&](ir::expr e) { return ir::is_literal(simplify(m_, e, ranges), 0); };
  auto const minus = [&](ir::expr a, ir::expr b) { return ir::binary(m_, op::sub, a, b); };
  // A part of a stage ends where the whole one ends or behind as many as a tile has: min(16, 40 - 16 io).
  ir::expr bound = g.bound;
  if (ir::expr const b = simplify(m_, bound, ranges); b->kind == op::min)
    for (ir::expr const end : {b->a, b->b})
      if (ir::expr const holds = simplify(m_, ir::binary(m_, op::lt, g.index, end), ranges); ir::is_literal(holds, 1)) bound = end == b->a ? b->b : b->a;
  bool found = false;
  sequence<std::int32_t> next(1, body.a);  // all of these hold where it is not zero
  while (!next.empty() && !found) {
    node const& c = p_.at(next.back());
    next.pop_back();
    if (c.kind == op::logical_and) next.push_back(c.a), next.push_back(c.b);
    if (c.kind == op::lt) found = is_zero(minus(minus(value(c.a, nullptr), g.index), minus(value(c.b, nullptr), bound)));
  }
  place_ = 0;
  return found;
}
/// What the declaration says that it computes, of these operands.
WEFT_DECL ir::expr lowering::instruction_value(intrinsic const& by, sequence<ir::expr> const& operands) {
  program const q = expand(by.computes(), true);
  sequence<ir::expr> values(q.nodes.size(), nullptr);
  auto const of = [&](int id) { return id < 0 ? nullptr : values[at(id)]; };
  for (std::size_t i = 0; i < q.nodes.size(); ++i) {  // operands stand before what uses them
    node const& n = q.nodes[i];
    if (n.kind == op::literal) values[i] = ir::literal(m_, n.type, n.value);
    else if (n.kind == op::load && n.c == 1) values[i] = operands[0];
    else if (n.kind == op::load)
      values[i] = operands[at(1 + (n.a - 1) * by.terms) + static_cast<std::size_t>(q.at(q.operands[at(n.b + 1)]).value)];
    else if (arity(n.kind) > 0 && of(n.a) != nullptr) values[i] = operation(n, of(n.a), of(n.b), of(n.c));
  }
  return values[at(q.result(q.stages[0], 0).body)];
}
/// Whether the terms of a lane stand side by side in memory, and the lanes one behind the other or are one for all. False where
/// the memory of this call is to blame, or what is not known of it; where no memory would do, the schedule is refused.
WEFT_DECL bool lowering::has_layout(intrinsic const& by, open_loop const& o, sequence<ir::expr> const& operands) const {
  range_table const all_ranges = ranges_in(*now_, static_cast<int>(now_->loops.size()) - 1);
  range_table ranges = all_ranges;
  auto const element = [&](ir::expr load, bool packed) {
    ir::expr flat = ir::index(m_, 0), stride = ir::index(m_, 1);
    for (std::size_t d = load->indices.size(); d-- > 0;) {
      ir::expr const step = packed ? stride : load->buf->strides[d];
      flat = ir::binary(m_, op::add, flat, ir::binary(m_, op::mul, load->indices[d], step));
      stride = ir::binary(m_, op::mul, stride, load->buf->shape[d]);
    }
    return flat;
  };
  for (int operand = 0; operand < by.operands; ++operand) {
    ir::expr const* const terms = operands.begin() + 1 + operand * by.terms;
    char const* fault = nullptr;
    bool found = true;
    // `wanted`, or else `or_too`; the memory of arguments may have other strides than its shape would give it.
    auto const apart = [&](ir::expr a, ir::expr b, std::int64_t wanted, std::int64_t or_too, char const* if_not) {
      for (bool packed : {false, true}) {
        ir::expr const d = simplify(m_, ir::binary(m_, op::sub, element(a, packed), element(b, packed)), ranges);
        bool const right = ir::is_literal(d, wanted) || ir::is_literal(d, or_too);
        if (right && !packed) return;
        found = false;
        if (packed && !right && d->kind == op::literal) fault = if_not;
      }
    };
    for (int k = 0; k < by.terms && fault == nullptr; ++k) {
      if (terms[k]->kind != op::load || terms[k]->buf != terms[0]->buf) fault = "it is computed where it is read";
      else apart(terms[k], terms[0], k, k, "its terms do not stand side by side in memory");
    }
    for (open_loop const& lanes : now_->loops) {
      if (fault != nullptr || lanes.how != loop_kind::vectorized || ir::is_literal(lanes.extent, 1)) continue;
      ir::expr const next = ir::binary(m_, op::add, ir::variable(m_, lanes.variable), ir::index(m_, 1));
      // Of each lane but the last, behind which another panel may begin.
      ranges.set(lanes.variable, ir::index(m_, 0), simplify(m_, ir::binary(m_, op::sub, lanes.extent, ir::index(m_, 1))));
      apart(ir::substitute(m_, terms[0], lanes.variable, next), terms[0], by.terms, 0,
            "its lanes do not stand behind each other in memory, and are not one for all");
      ranges = all_ranges;
    }
    if (fault == nullptr && !found) return false;
    if (fault == nullptr) continue;
    WEFT_THROW(schedule_error(joined({"tensorize: operand ", std::to_string(operand + 1), " of ", by.name,
                                      " is not laid out for it: ", fault, "\n  in    stage ",
                                      p_.tensors[at(now_->stage->tensor)].name.view(), ", loop ", n_.at(o.id).name.view(),
                                      "\n  try   cache_read of it, and transform_layout of the copy to dims(k / ",
                                      std::to_string(by.terms), ", j, k % ", std::to_string(by.terms),
                                      "), for the lanes j and the reduced axis k"})));
  }
  return true;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
