#include "weft/base/joined.hpp"
#include "weft/lower/lowering.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// One element of each result.
WEFT_DECL ir::stmt lowering::leaf(guard_states const& states) {
  ir::expr mask = nullptr;
  now_->leaf_guards.clear();
  now_->open_guards.clear();
  now_->held.clear();
  for (std::size_t g = 0; g < now_->guards.size(); ++g)
    if (now_->guards[g].condition >= 0) {
      if (states[g] == guard_state::holds) now_->held.push_back(now_->guards[g].condition);
    } else {
      now_->leaf_guards.push_back(ir::binary(m_, op::lt, now_->guards[g].index, now_->guards[g].bound));
      if (states[g] != guard_state::wanted) continue;
      now_->open_guards.push_back(now_->leaf_guards.back());
      mask = ir::all_of(m_, mask, now_->open_guards.back());
    }
  now_->places.clear();
  now_->places.push_back({now_->number, {}, {}});
  place_ = 0;
  always_ = nullptr;
  always_ = common_condition();
  sequence<ir::stmt> results;
  for (int r = 0; r < now_->stage->results; ++r)
    if (now_->makes(r)) results.push_back(update(r, mask));
  return ir::together(m_, results);
}
WEFT_DECL ir::stmt lowering::update(int result, ir::expr mask) {
  stage_info const& stage = *now_->stage;
  ir::buffer const* out = tensor_[at(stage.tensor + result)];
  ir::stmt_node s;
  bool const accumulates = stage.scanned >= 0 || (stage.reduced > 0 && !now_->empty);
  s.kind = accumulates ? ir::stmt_kind::accumulate : ir::stmt_kind::store;
  s.buf = out;
  s.indices = m_.make_list(element_indices(result, 0));
  if (stage.scanned >= 0) s.before = m_.make_list(element_indices(result, 1));
  s.mask = mask;
  s.asynchronous = is_async(now_->number);
  ir::expr const identity = ir::literal(m_, out->type, p_.result(stage, result).identity);
  s.value = now_->empty ? identity : value(p_.result(stage, result).body, nullptr);
  if (s.kind == ir::stmt_kind::accumulate) {
    s.identity = identity;
    sequence<std::int32_t> first;
    for (open_loop const& o : now_->loops)
      if (n_.at(o.id).scanned || (n_.at(o.id).reduced && !now_->started)) first.push_back(o.variable);
    s.first = m_.make_list(first);
  }
  return m_.make(s);
}
/// Where the element stands that the leaf makes, or, of a scan, the one so many steps before it.
WEFT_DECL sequence<ir::expr> lowering::element_indices(int result, int steps_before) {
  stage_info const& stage = *now_->stage;
  sequence<ir::expr> indices = now_->instance;
  for (int i = 0; i < stage.spatial; ++i) {
    if (narrow_.lacks[at(stage.tensor + result)] >> i & 1) continue;
    ir::expr at_axis = axis_value(stage.first_axis + i);
    if (i == stage.scanned && steps_before > 0)
      at_axis = ir::binary(m_, op::add, at_axis, ir::index(m_, stage.backwards ? steps_before : -steps_before));
    indices.push_back(now_->parts.empty() ? at_axis : stored_index(*now_, i, at_axis));
  }
  return indices;
}
/// Of an axis that is scanned from its end, where a step stands; else the step itself.
WEFT_DECL ir::expr lowering::mirrored(stage_frame const& f, int axis, ir::expr step) {
  int const d = axis - f.stage->first_axis;
  if (!f.stage->backwards || d != f.stage->scanned) return step;
  sequence<part> const& parts = f.computed.empty() ? f.parts : f.computed;
  ir::expr const extent = parts.empty() ? axis_extent(axis) : parts[at(d)].extent;
  return ir::binary(m_, op::sub, ir::binary(m_, op::sub, extent, ir::index(m_, 1)), step);
}
/// Under which the stage reads memory at all: of a layout with elements that the stage did not have.
WEFT_DECL ir::expr lowering::common_condition() {
  node const& first = p_.at(p_.result(*now_->stage, 0).body);
  for (int r = 0; r < now_->stage->results; ++r) {
    node const& n = p_.at(p_.result(*now_->stage, r).body);
    if (n.kind != op::select || n.a != first.a || p_.at(n.c).kind != op::literal) return nullptr;
  }
  return now_->empty ? nullptr : value(first.a, nullptr);
}
/// Where on the program's axis the stage stands, at the place whose nodes are evaluated.
WEFT_DECL ir::expr lowering::axis_value(int axis) {
  element_place const& place = now_->places[place_];
  int const d = axis - p_.stages[at(place.stage)].first_axis;
  if (place_ > 0) return place.indices[at(d)];
  ir::expr const index = mirrored(*now_, axis, index_of(n_.loop_of[at(axis)]));
  if (now_->parts.empty() || d >= now_->stage->spatial) return index;
  return ir::binary(m_, op::add, index, (now_->computed.empty() ? now_->parts : now_->computed)[at(d)].begin);
}
/// Whether c (null: always) surely holds where `condition` does, which `all_of` has made of it and more.
inline bool implies(ir::expr condition, ir::expr c) {
  for (; condition != c; condition = condition->a)
    if (condition == nullptr || condition->kind != op::logical_and) return false;
    else if (condition->b == c) return true;
  return true;
}
/// The node's value where `condition` (of selects; null: always) holds; elsewhere it must not read memory. What is known already where more
/// than that holds is the same: a choice hangs on elements that it then takes, and need not read them again, by a mask. (Which of two
/// formulas a stage has, by a pixel of a chain that is inlined: 172 gathers, now none.)
///
/// A chain of selects, v = select(f(v), g(v), h(v)), asks for its first value under 3^length conditions; what is
/// asked for under more than 16 is made under the stage's own alone. The same happens in the plain nest on which bounds are proved,
/// so an access that then lacks its condition is refused there, in words.
WEFT_DECL ir::expr lowering::value(int id, ir::expr condition) {
  for (int held : now_->held)
    if (held == id) return ir::literal(m_, dtype::boolean, 1);
  auto const known = [&]() -> auto& { return now_->places[place_].values_of(id); };
  for (auto const& [c, e] : known())
    if (c == nullptr || implies(condition, c)) return e;
  if (known().size() > 16 && condition != nullptr && condition != always_) return value(id, always_);
  ir::expr const e = make_value(p_.at(id), condition);
  known().push_back({condition, e});
  return e;
}
WEFT_DECL ir::expr lowering::make_value(node const& n, ir::expr condition) {
  switch (n.kind) {
    case op::literal: return ir::literal(m_, n.type, n.value);
    case op::extent: return tensor_[at(n.a)]->shape[at(n.b)];
    case op::scalar: {
      ir::expr_node s;
      s.kind = op::scalar;
      s.type = n.type;
      s.value = n.a;
      return m_.make(s);
    }
    case op::axis: return axis_value(n.a);
    case op::self: return state(n);
    case op::load: return load(n, condition);
    case op::select: {
      if (n.b == n.c) return value(n.b, condition);  // whatever is asked, under any schedule
      ir::expr const c = value(n.a, condition);
      ir::expr const then = value(n.b, ir::all_of(m_, condition, c));
      return ir::ternary(m_, op::select, c, then,
                         value(n.c, ir::all_of(m_, condition, ir::unary(m_, op::logical_not, c))));
    }
    default: break;
  }
  ir::expr const a = value(n.a, condition), b = n.b >= 0 ? value(n.b, condition) : nullptr;
  return operation(n, a, b, n.c >= 0 ? value(n.c, condition) : nullptr);
}

/// The value so far of a result: of one that is made here `self`; else it stands in memory, as this iteration of the reduced
/// loops found it.
WEFT_DECL ir::expr lowering::state(node const& n) {
  int before = 0;
  for (int r = 0; r < n.a; ++r) before += now_->makes(r);
  if (now_->makes(n.a)) return ir::self(m_, n.type, 1, before);
  ir::buffer const* const buf = tensor_[at(now_->stage->tensor + n.a)];
  sequence<ir::expr> const indices = element_indices(n.a, 0);
  ir::expr const mask = guarded(indices, nullptr);
  if (mask == nullptr) return ir::load(m_, buf, indices);
  // In a loop of another stage no more was begun than the part that is computed there.
  sequence<part> const& parts = now_->computed.empty() ? now_->parts : now_->computed;
  sequence<ir::expr> there, bounds;
  for (int i = 0; i < now_->stage->spatial; ++i) {
    if (narrow_.lacks[at(now_->stage->tensor + n.a)] >> i & 1) continue;
    bounds.push_back(parts.empty() ? buf->shape[bounds.size()] : parts[at(i)].extent);
    there.push_back(mirrored(*now_, now_->stage->first_axis + i, index_of(n_.loop_of[at(now_->stage->first_axis + i)])));
  }
  return ir::load(m_, buf, indices, inside(there, bounds) ? nullptr : mask);
}
WEFT_DECL ir::expr lowering::load(node const& n, ir::expr condition) {
  sequence<ir::expr> indices, bounds, stored;
  std::uint32_t const lacks = narrow_.lacks[at(n.a)];
  for (int i = 0; i < n.c; ++i)
    if ((lacks >> i & 1) == 0) indices.push_back(value(p_.operands[at(n.b + i)], condition));
  int const stage = p_.tensors[at(n.a)].stage;
  if (stage >= 0 && n_.places[at(stage)].inlined) return inlined_element(n.a, indices, condition);
  ir::buffer const* const buf = tensor_[at(n.a)];
  bool const in_part = stage >= 0 && frames_[at(stage)].host != nullptr && !n_.places[at(stage)].beside;
  stage_frame const* const guest = in_part ? &frames_[at(stage)] : nullptr;
  std::size_t dim = 0;  // of the tensor
  for (std::size_t d = 0; d < indices.size(); ++d, ++dim) {
    while (lacks >> dim & 1) ++dim;
    bounds.push_back(guest != nullptr ? guest->parts[dim].extent : buf->shape[d]);
    if (guest == nullptr) continue;
    stored.push_back(stored_index(*guest, static_cast<int>(dim), indices[d]));
    indices[d] = simplify(m_, ir::binary(m_, op::sub, indices[d], guest->parts[dim].begin));
  }
  // A part without elements has none along an axis that the result is stored once along, either.
  for (int d = 0; d < n.c && guest != nullptr; ++d) {
    if ((lacks >> d & 1) == 0) continue;
    indices.push_back(simplify(m_, ir::binary(m_, op::sub, value(p_.operands[at(n.b + d)], condition), guest->parts[at(d)].begin)));
    bounds.push_back(guest->parts[at(d)].extent);
  }
  // Inside the buffer anyway: reading it all is cheaper than masking, and what is not wanted is dropped later.
  ir::expr mask = guarded(indices, condition);
  if (mask != nullptr && inside(indices, bounds)) mask = nullptr;
  else if (condition != nullptr && inside(indices, bounds, now_->leaf_guards)) mask = guarded(indices, nullptr);
  if (guest == nullptr) return ir::load(m_, buf, indices, mask);
  sequence<ir::expr> all = guest->instance;
  for (ir::expr i : stored) all.push_back(i);
  return ir::load(m_, buf, all, mask);
}
WEFT_DECL ir::expr lowering::inlined_element(int tensor, sequence<ir::expr> const& indices, ir::expr condition) {
  constexpr std::size_t most_places = 10000;
  element_place wanted{p_.tensors[at(tensor)].stage, {}, {}};
  for (ir::expr i : indices) wanted.indices.push_back(simplify(m_, i));
  sequence<element_place>& places = now_->places;
  std::size_t found = 1;
  auto const is_wanted = [&](element_place const& p) { return p.stage == wanted.stage && p.indices == wanted.indices; };
  while (found < places.size() && !is_wanted(places[found])) ++found;
  if (found == most_places)
    WEFT_THROW(schedule_error(joined({"compute_inline: the inlined stages stand at more than 10,000 places of one stage\n"
                                      "  in    stage ",
                                      p_.tensors[at(now_->stage->tensor)].name.view(),
                              "\n  try   compute_at or compute_root for one that is read at several indices"})));
  if (found == places.size()) places.push_back(static_cast<element_place&&>(wanted));
  std::size_t const outside = place_;
  place_ = found;
  stage_info const& stage = p_.stages[at(p_.tensors[at(tensor)].stage)];
  ir::expr const e = value(p_.result(stage, tensor - stage.tensor).body, condition);
  place_ = outside;
  return e;
}

/// `condition` and those of the leaf's guards that have a variable in common with the access. Another guard cannot
/// matter: some iteration passes it, and there the access is the same.
WEFT_DECL ir::expr lowering::guarded(sequence<ir::expr> const& indices, ir::expr condition) const {
  ir::expr mask = condition;
  for (ir::expr g : now_->open_guards) {
    bool shared = false;
    for (open_loop const& o : now_->loops) {
      bool used = condition != nullptr && uses(condition, o.variable);
      for (ir::expr i : indices) used = used || uses(i, o.variable);
      shared = shared || (used && uses(g, o.variable));
    }
    if (shared) mask = ir::all_of(m_, mask, g);
  }
  return mask;
}
/// Whether all indices are less than these bounds, and none less than 0, where the guards hold.
WEFT_DECL bool lowering::inside(sequence<ir::expr> const& indices, sequence<ir::expr> const& bounds, sequence<ir::expr> const& guards) const {
  range_table const ranges = ranges_in(*now_, static_cast<int>(now_->loops.size()) - 1);
  auto const minus = [&](ir::expr a, ir::expr b) { return ir::binary(m_, op::sub, a, b); };
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (ranges.of(indices[d]).low < 0) return false;
    bool below = ir::is_literal(simplify(m_, ir::binary(m_, op::lt, indices[d], bounds[d]), ranges), 1);
    for (ir::expr g : guards)
      below = below || ranges.of(simplify(m_, minus(minus(indices[d], bounds[d]), minus(g->a, g->b)), ranges)).high <= 0;
    if (!below) return false;
  }
  return true;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
