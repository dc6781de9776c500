#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/lower/bounds.hpp"
#include "weft/lower/lower.hpp"
#include "weft/lower/lowering.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_DECL void lowering::run() {
  for (input_info const& i : p_.inputs)
    if (i.tensor < 0) f_.scalars.push_back({"s" + std::to_string(f_.scalars.size()), i.type});
  if (!sizes_.empty())
    for (auto const& s : f_.scalars) take_name(s.name);
  for (open_size const& s : sizes_)
    f_.sizes.push_back(unused_name(s.is_stride ? joined({"s", std::to_string(s.argument), "_", std::to_string(s.dim)})
                                 : s.shift > 0 ? joined({dim_text(s.name), "_", std::to_string(1 << s.shift)})
                                               : dim_text(s.name)));
  for (input_info const& i : p_.inputs)
    if (i.tensor >= 0) make_argument(i.tensor, false);
  for (std::int32_t t : p_.outputs) make_argument(t, true);
  find_order();
  bool keeps = false;
  for (int s : order_) keeps = keeps || (read_[at(s)] && is_kept(s));
  if (keeps) f_.scalars.push_back({unused_name("there"), dtype::boolean});
  for (int s : order_) frames_[at(s)].number = s, frames_[at(s)].stage = &p_.stages[at(s)];
  check_in_place();
  auto const is_root = [&](int s) { return n_.places[at(s)] == placement(); };
  for (int s : order_)
    for (int r = 0; r < p_.stages[at(s)].results && is_root(s) && read_[at(s)]; ++r)
      if (tensor_[at(p_.stages[at(s)].tensor + r)] == nullptr) make_intermediate(p_.stages[at(s)].tensor + r);
  sequence<ir::stmt> nests;
  for (int s : order_)
    if (is_root(s)) nests.push_back(stage_nest(s));
  sequence<ir::stmt> behind;  // the last one first
  auto const in_order = [&] {
    sequence<ir::stmt> all;
    for (std::size_t i = behind.size(); i-- > 0;) all.push_back(behind[i]);
    return ir::block(m_, all);
  };
  for (std::size_t i = order_.size(); i-- > 0;) {
    if (!is_root(order_[i])) continue;
    behind.push_back(nests.back());
    nests.pop_back();
    ir::buffer const* const b = tensor_[at(p_.stages[at(order_[i])].tensor)];
    if (b != nullptr && b->where == ir::scope::stack)
      behind = sequence<ir::stmt>(1, with_memory(order_[i], in_order()));
  }
  f_.body = in_order();
  for (std::size_t s = n_.places.size(); s-- > 0;)
    if (needed_[s] && n_.places[s].store == placement::whole_kernel) f_.body = with_memory(static_cast<int>(s), f_.body);
}

/// The stages that an output needs, in order of definition, but for those that steps of the schedule have added: such a
/// one stands before the first stage that reads it. A stage in whose loops another one is computed stands behind what that
/// reads and before what reads it.
WEFT_DECL void lowering::find_order() {
  auto const readers = readers_of(p_);
  sequence<sequence<std::int32_t>> reads(readers.size());
  for (std::size_t s = 0; s < readers.size(); ++s)
    for (std::int32_t r : readers[s]) reads[at(r)].push_back(static_cast<std::int32_t>(s));
  auto const by_element = reads;
  for (std::size_t s = 0; s < readers.size(); ++s) {
    if (!n_.places[s].beside) continue;
    std::int32_t const with = n_.at(n_.places[s].loop).stage;
    for (std::int32_t r : readers[s]) reads[at(r)].push_back(with);
    for (std::int32_t r : by_element[s]) reads[at(with)].push_back(r);
    reads[s].push_back(with);
  }
  read_.resize(readers.size(), false);
  sequence<std::int32_t> next;
  auto const need = [&](std::int32_t s) {
    needed_[at(s)] = true;
    if (!read_[at(s)]) read_[at(s)] = true, next.push_back(s);
  };
  for (std::int32_t t : p_.outputs) need(p_.tensors[at(t)].stage);
  while (!next.empty()) {
    std::int32_t const s = next.back();
    next.pop_back();
    for (std::int32_t r : by_element[at(s)]) need(r);
    for (std::int32_t loop = n_.places[at(s)].loop; loop >= 0; loop = n_.places[at(n_.at(loop).stage)].loop)
      needed_[at(n_.at(loop).stage)] = true;
  }
  sequence<bool> waits = needed_;
  auto const place = [&](auto const& self, std::int32_t s) -> void {  // as deep as stages were added
    if (!waits[at(s)]) return;
    waits[at(s)] = false;
    for (std::int32_t r : reads[at(s)]) self(self, r);
    order_.push_back(s);
  };
  for (std::size_t s = 0; s < waits.size(); ++s) place(place, static_cast<std::int32_t>(s));
  loops_of_.resize(readers.size());
  for (std::size_t l = 0; l < n_.loops.size(); ++l) loops_of_[at(n_.loops[l].stage)].push_back(static_cast<std::int32_t>(l));
  guests_.resize(n_.loops.size());
  stored_.resize(n_.loops.size());
  for (std::size_t s = n_.places.size(); s-- > 0;)
    if (needed_[s] && n_.places[s].store >= 0) stored_[at(n_.places[s].store)].push_back(static_cast<std::int32_t>(s));
  for (int s : order_)
    if (n_.places[at(s)].loop >= 0) guests_[at(n_.places[at(s)].loop)].push_back(s);
  readers_.resize(readers.size());
  for (int s : order_)
    for (std::int32_t r : by_element[at(s)])
      if (read_[at(s)]) readers_[at(r)].push_back(s);
}

// --- loops --------------------------------------------------------------------------------------------
/// Trip count; of an inner loop when nothing is cut off. of_whole: as if all of the stage were computed, where it is a guest.
WEFT_DECL ir::expr lowering::longest(int id, bool of_whole) {
  loop_info const& l = n_.at(id);
  if (l.first >= 0) {
    ir::expr product = ir::index(m_, 1);
    for (int i = l.first; i >= 0; i = n_.at(i).next) product = ir::binary(m_, op::mul, product, longest(i, of_whole));
    return simplify(m_, product);
  }
  if (l.parent < 0) {
    stage_frame const& f = frames_[at(l.stage)];
    sequence<part> const& parts = f.computed.empty() ? f.parts : f.computed;
    return parts.empty() || l.reduced || of_whole ? axis_extent(l.root)
                                                  : parts[at(l.root - p_.stages[at(l.stage)].first_axis)].extent;
  }
  loop_info const& parent = n_.at(l.parent);
  if (parent.inner == id) {
    std::int64_t most = l.extent >= 0 ? l.extent : parent.factor;
    // Of a guest there is no more than is read at a time.
    bool const of_part = frames_[at(l.stage)].host != nullptr && !l.reduced && !of_whole;
    if (ir::expr const all = of_part ? longest(l.parent) : nullptr; all != nullptr && all->kind == op::literal && all->value < most) most = all->value;
    return ir::index(m_, most);
  }
  // (n + factor - 1) / factor, but for a factor near the largest number.
  ir::expr const before_last = ir::binary(m_, op::sub, longest(l.parent, of_whole), ir::index(m_, 1));
  ir::expr const full = ir::binary(m_, op::floor_div, before_last, ir::index(m_, parent.factor));
  ir::expr const trips = simplify(m_, ir::binary(m_, op::add, full, ir::index(m_, 1)));
  stage_frame const& f = frames_[at(l.stage)];
  if (trips->kind == op::literal || f.host == nullptr) return trips;
  // Of what is read in a loop of another stage there may be one tile for each iteration, the last one, which is cut, too.
  ir::expr const there = simplify(m_, trips, ranges_in(*f.host, f.host_position));
  return there->kind == op::literal ? there : trips;
}
WEFT_DECL ir::expr lowering::index_of(int id) {
  loop_info const& l = n_.at(id);
  if (l.live()) {
    for (open_loop const& o : now_->loops)
      if (o.id == id) return ir::variable(m_, o.variable);
    return ir::index(m_, 0);  // a reduced loop of an empty reduction
  }
  if (l.into >= 0) {
    ir::expr index = index_of(l.into);
    sequence<std::int32_t> inside;
    for (int i = l.next; i >= 0; i = n_.at(i).next) inside.push_back(i);
    // One after the other: the quotient of one is what the remainder of the next one around it is of.
    for (std::size_t i = inside.size(); i-- > 0;) index = ir::binary(m_, op::floor_div, index, longest(inside[i]));
    return n_.at(l.into).first == id ? index : ir::binary(m_, op::floor_mod, index, longest(id));
  }
  ir::expr const begin = part_begin(*now_, id, index_of(l.outer));
  return ir::binary(m_, op::add, begin, index_of(l.inner));
}
/// Where the part of a split loop begins in which its outer loop stands at `outer`.
WEFT_DECL ir::expr lowering::part_begin(stage_frame const& f, int loop, ir::expr outer) {
  ir::expr const factor = ir::index(m_, n_.at(loop).factor), begin = ir::binary(m_, op::mul, outer, factor);
  bool shifted = false;
  for (std::int32_t l : f.shifted) shifted = shifted || l == loop;
  if (!shifted) return begin;
  ir::expr const last = ir::binary(m_, op::min, begin, ir::binary(m_, op::sub, longest(loop), factor));
  if (longest(loop)->kind == op::literal) return last;  // not below the factor
  return ir::binary(m_, op::max, last, ir::index(m_, 0));
}
/// Whether some elements may be computed twice: each time from the beginning, one time after the other, and from what the
/// first time has not written.
WEFT_DECL bool lowering::can_shift(stage_frame const& f, int loop) {
  loop_info const& l = n_.at(loop);
  if (l.live() || l.at_end != tail::shift_inwards || f.host != nullptr) return false;
  if (n_.has_beside(f.number)) return false;  // that stage may be written in place
  ir::expr const extent = longest(loop);
  if (extent->kind == op::literal && (extent->value < l.factor || extent->value % l.factor == 0)) return false;
  for (int r = 0; r < f.stage->results; ++r)
    for (ir::buffer const* b : f_.buffers)
      if (ir::buffer const* const out = tensor_[at(f.stage->tensor + r)]; b != out && b->alias_class == out->alias_class)
        return false;
  ir::expr const outer = index_of(l.outer), inner = index_of(l.inner);
  bool reduced = false;  // or behind the identity
  for (open_loop const& o : f.loops) {
    reduced = reduced || n_.at(o.id).reduced || narrow_.starts[at(f.number)] == o.id;
    if (is_concurrent(o.how) && (uses(outer, o.variable) || uses(inner, o.variable))) return false;
    bool const one_by_one = o.how == loop_kind::serial || (o.how == loop_kind::unrolled && f.stage->reduced == 0);
    if (uses(outer, o.variable) && (reduced || !one_by_one)) return false;
  }
  return true;
}
/// What is known of the loops of `f` up to that at `position`, and of all that stand around them.
WEFT_DECL range_table lowering::ranges_in(stage_frame const& f, int position) const {
  range_table ranges = f.host != nullptr ? ranges_in(*f.host, f.host_position) : range_table();
  for (int i = 0; i <= position; ++i) ranges.set(f.loops[at(i)].variable, ir::index(m_, 0), f.loops[at(i)].extent);
  return ranges;
}
/// The stage by its function, on the memory of what it reads and of its results.
WEFT_DECL ir::stmt lowering::call_of(int stage) {
  stage_info const& s = p_.stages[at(stage)];
  sequence<ir::buffer const*> buffers;
  each_whole_read(p_, s, [&](int t) { buffers.push_back(tensor_[at(t)]); });
  for (int r = 0; r < s.results; ++r) buffers.push_back(tensor_[at(s.tensor + r)]);
  return ir::call(m_, s.by, extern_number(p_, stage), buffers);
}
WEFT_DECL ir::stmt lowering::stage_nest(int stage) {
  if (p_.stages[at(stage)].by != nullptr) return call_of(stage);
  stage_frame* const outside = now_;
  now_ = &frames_[at(stage)];
  if (!now_->is_open) open(*now_);
  ir::stmt const nest = tile_branches(-1, 0, guard_states(now_->guards.size(), guard_state::wanted));
  now_ = outside;
  ir::stmt const all = specialized(stage, nest);
  return is_kept(stage) ? computed_once(all) : all;
}
/// Finds loops and guards; a stage that stands twice, in a full tile and in the last one, has the same both times.
WEFT_DECL void lowering::open(stage_frame& f) {
  f.is_open = true;
  for (int i = 0; i < f.stage->reduced; ++i)
    f.empty = f.empty || ir::is_literal(axis_extent(f.stage->first_reduced + i), 0);
  sequence<std::int32_t> cut;  // loops that are made longer than they are
  for (std::int32_t id : n_.order[at(f.number)]) {
    loop_info const& l = n_.at(id);
    if (f.empty && l.reduced) continue;
    f_.variables.push_back(unused_name(l.name.view()));
    ir::expr trips = longest(id);
    loop_kind how = l.kind;
    if (trips->kind != op::literal && (is_written_out(how) || is_thread(how))) {
      // A whole axis of a size that only the call knows cannot be written out, nor is it a number of threads; that of a part
      // has a largest size.
      int const d = l.root - f.stage->first_axis;
      bool const of_part = !f.parts.empty() && l.parent < 0 && l.first < 0 && d < f.stage->spatial;
      ir::expr const most = of_part ? f.parts[at(d)].most : nullptr;
      if (most != nullptr && most->kind == op::literal && most->value <= 1024) trips = most, cut.push_back(id);
      else if (is_written_out(how) && l.extent == open_trips) need_closed(f, id);
      else how = loop_kind::serial;
    }
    f.loops.push_back({id, static_cast<std::int32_t>(f_.variables.size()) - 1, how, trips});
  }
  for (std::int32_t l : loops_of_[at(f.number)])
    if (can_shift(f, l)) f.shifted.push_back(l);
  for (std::int32_t l : loops_of_[at(f.number)])
    // What was fused is inside its extent where the fused loop is.
    if (n_.at(l).is_split() && !(f.empty && n_.at(l).reduced)) add_guard(l);
  for (std::int32_t id : cut) add_guard(id);
  for (int r = 0; r < f.stage->results && !f.empty && f.stage->scanned < 0 && read_[at(f.number)]; ++r)
    for (node n = p_.at(p_.result(*f.stage, r).body); n.kind == op::select && p_.at(n.c).kind == op::self;
         n = p_.at(n.b))
      add_condition(n.a);
}
/// What a step took for a part: only here it is known that so much is read as the call says.
WEFT_DECL void lowering::need_closed(stage_frame const& f, int loop) const {
  bool const unrolled = n_.at(loop).kind == loop_kind::unrolled;
  diagnosis const why = unrolled ? diagnosis::an_unrolled_axis_has_an_open_extent__split_it_first : diagnosis::a_vectorized_axis_has_an_open_extent__split_it_first;
  WEFT_THROW(schedule_error(joined({unrolled ? "unroll: " : "vectorize: ", sentence(why), "\n  in    stage ", p_.tensors[at(f.stage->tensor)].name.view(), ", axis ",
                                    n_.at(loop).name.view(), "\n  try   a split of this axis, and the inner part; or compute_at a loop that says how much is read at a time"})));
}
/// A condition under which an element changes at all, as that of the last part of a reduction (expr/rewrite.hpp): where
/// whole tiles meet it, they are made without it.
WEFT_DECL void lowering::add_condition(int id) {
  node const& n = p_.at(id);
  if (n.kind != op::lt || !is_index(n.a) || !is_index(n.b)) return;
  for (guard const& g : now_->guards)
    if (g.condition == id) return;
  now_->places.clear();
  now_->places.push_back({now_->number, {}, {}});
  place_ = 0;
  guard g{simplify(m_, value(n.a, nullptr)), simplify(m_, value(n.b, nullptr))};
  g.condition = id;
  range_table const ranges = ranges_in(*now_, static_cast<int>(now_->loops.size()) - 1);
  bool lanes = false;  // a branch inside a vectorized loop would have to go both ways
  for (open_loop const& o : now_->loops) {
    bool const used = uses(g.index, o.variable);
    if (used && lanes && o.how != loop_kind::unrolled) return;
    lanes = lanes || (used && o.how == loop_kind::vectorized);
    ir::expr const next = ir::binary(m_, op::add, ir::variable(m_, o.variable), ir::index(m_, 1));
    ir::expr const rise = ir::binary(m_, op::sub, ir::substitute(m_, g.index, o.variable, next), g.index);
    if (uses(g.bound, o.variable) || ranges.of(simplify(m_, rise)).low < 0) return;
  }
  add_guard(g);
}
/// Whether the node is made of axes and sizes by no more than `depth` operations on each other.
WEFT_DECL bool lowering::is_index(int id, int depth) const {
  node const& n = p_.at(id);
  if (n.type != dtype::i64 || depth == 0) return false;
  if (n.kind == op::axis || n.kind == op::literal || n.kind == op::extent) return true;
  bool const known = n.kind == op::add || n.kind == op::sub || n.kind == op::mul || n.kind == op::floor_div;
  return known && is_index(n.a, depth - 1) && is_index(n.b, depth - 1);
}
/// Whether all that is wanted of the parts of a loop is that they are whole, and the outer one, which is cut again or whose length is open,
/// inside its own.
WEFT_DECL bool lowering::is_divided(int loop) {
  loop_info const& l = n_.at(loop);
  ir::expr const length = longest(loop);
  if (l.live() || l.into >= 0 || l.factor <= 0 || rounds_up(l.outer)) return false;
  for (std::int32_t s : now_->shifted)
    if (s == loop || s == l.outer) return false;
  if (length->kind == op::literal) return !n_.at(l.outer).live() && length->value % l.factor == 0;
  linear const form = linear_form(length);
  bool divided = form.constant % l.factor == 0 && !form.terms.empty();
  for (linear::term const& t : form.terms) divided = divided && t.coefficient % l.factor == 0;
  return divided;
}
WEFT_DECL void lowering::add_guard(int loop) {
  if (rounds_up(loop) || is_divided(loop)) return;
  guard g{index_of(loop), longest(loop)};
  loop_info const& cut = n_.at(loop);
  bool shifted = false;
  for (std::int32_t l : now_->shifted) shifted = shifted || l == loop;
  if (!cut.live() && (shifted || cut.at_end < tail::shift_inwards)) g.how = cut.at_end;
  if (shifted) g.enough = ir::binary(m_, op::le, ir::index(m_, cut.factor), g.bound);
  add_guard(g);
}
WEFT_DECL void lowering::add_guard(guard g) {
  range_table const ranges = ranges_in(*now_, static_cast<int>(now_->loops.size()) - 1);
  if (is_literal(simplify(m_, ir::binary(m_, op::lt, g.index, g.bound), ranges), 1)) return;
  // Parts of one loop that were fused again are that loop.
  if (!is_linear(g.index)) g.index = simplify(m_, g.index, ranges);
  for (std::size_t i = 0; i < now_->loops.size(); ++i)
    if (uses(g.index, now_->loops[i].variable)) {
      g.depth = static_cast<int>(i);
      if (!is_tile(g.depth)) g.decided = g.depth;
      else g.by_mask = g.by_mask || !is_linear(g.index, now_->loops[i].variable);
    }
  // A grid has as many blocks for all: what cuts a loop over them stands inside the innermost one, where it parts no other.
  int blocks = -1;
  for (std::size_t i = 0; i < now_->loops.size(); ++i)
    if (is_block(now_->loops[i].how)) blocks = static_cast<int>(i);
  bool const cuts_blocks = g.depth >= 0 && is_block(now_->loops[at(g.depth)].how);
  if (cuts_blocks) g.depth = g.decided = blocks;
  if (g.how == tail::partition && (cuts_blocks || !is_linear(g.index, now_->loops[at(g.depth)].variable))) g.how = tail::guard;
  if (g.how == tail::partition && (g.decided == g.depth || g.decided < 0)) {
    g.decided = -1;  // a serial loop is cut in front of it, too; where a tile alone stands around it, in the tile
    for (bool tiles : {false, true})
      for (int i = 0; i < g.depth && (!tiles || g.decided < 0); ++i)
        if (uses(g.index, now_->loops[at(i)].variable) && is_tile(i) == tiles) g.decided = i;
  }
  if (g.enough != nullptr) {
    g.decided = -1;
    g.by_mask = false;
  }
  if (g.decided < blocks && blocks < g.depth) g.decided = blocks;
  now_->guards.push_back(g);
}
/// Whether no loop variable (not this one, if one is given) stands in a quotient or a remainder.
WEFT_DECL bool lowering::is_linear(ir::expr index, std::int32_t variable) const {
  for (linear::term const& t : linear_form(index).terms)
    if (t.atom->kind != op::axis && (variable < 0 ? t.atom->variables != 0 : uses(t.atom, variable))) return false;
  return true;
}

/// The loops from `position` inwards.
WEFT_DECL ir::stmt lowering::nest_from(std::size_t position, guard_states states) {
  bool hosts = false;
  for (std::size_t l = position; l < now_->loops.size(); ++l) hosts = hosts || has_guests(now_->loops[l].id);
  if (!hosts && !read_[at(now_->number)]) return ir::block(m_, {});  // it is needed for what stands in its loops
  if (position == now_->loops.size()) return leaf(states);
  open_loop const& o = now_->loops[position];
  if (narrow_.starts[at(now_->number)] == o.id && !now_->started && !now_->empty && read_[at(now_->number)]) {
    ir::stmt const identity = identity_nest(position, states);
    now_->started = true;
    ir::stmt const terms = nest_from(position, states);
    now_->started = false;
    return ir::block(m_, sequence<ir::stmt>{identity, terms});
  }
  if (std::uint32_t const left_out = hosts ? 0 : left_out_of(position); left_out != 0)
    return nests_apart(position, states, left_out);
  if (intrinsic const* const by = n_.at(o.id).by; by != nullptr && by->is_tile() && !in_tile_ && !now_->empty)
    return by_tile(position, states);
  if (n_.at(o.id).by != nullptr && o.how == loop_kind::unrolled && !now_->empty)
    if (ir::stmt const s = by_instruction(o, states)) return s;
  ir::expr trips = o.extent;
  ir::expr inside = nullptr;  // what can be asked here, but is no end of the loop
  loop_kind how = o.how;
  for (std::size_t g = 0; g < now_->guards.size(); ++g) {
    guard const& wanted = now_->guards[g];
    if (states[g] == guard_state::holds || wanted.depth != static_cast<int>(position) || wanted.condition >= 0) continue;
    if (states[g] == guard_state::ends_loop) how = is_shared_out(how) ? how : loop_kind::serial;
    // Of a guest nothing is computed where nothing is read of it: no mask in its place.
    else if (!hosts && (is_tile(static_cast<int>(position)) || wanted.how == tail::mask)) continue;
    bool const fixed = is_written_out(how) || is_thread(how) || is_block(how);
    if (is_linear(wanted.index, o.variable) && !fixed)
      trips = ir::binary(m_, op::min, trips, trips_within(wanted, o.variable));
    else if (hosts || !n_.at(o.id).reduced) inside = ir::all_of(m_, inside, ir::binary(m_, op::lt, wanted.index, wanted.bound));
    else continue;  // a branch would part a sum from its register
    states[g] = guard_state::holds;
  }
  int const here = static_cast<int>(position);
  sequence<early_guest> early;
  ir::stmt body = has_guests(o.id) ? with_guests(here, states, early) : tile_branches(here, 0, states);
  if (inside != nullptr) body = ir::branch(m_, inside, body);
  ir::stmt first = early.empty() ? nullptr : computed_ahead(here, trips, inside, early, body);
  for (std::int32_t s : stored_[at(o.id)]) {
    if (now_->empty || outermost_copy(frames_[at(s)]).frame != nullptr) continue;
    body = with_memory(s, body);
    if (first != nullptr) first = with_memory(s, first);
  }
  sequence<ir::prefetched> ahead;
  for (fetch_ahead const& f : n_.fetches) {
    int const from = p_.tensors[at(f.tensor)].stage;  // what is computed in a loop is at hand there
    bool const stands = tensor_[at(f.tensor)] != nullptr && (from < 0 || n_.places[at(from)] == placement());
    if (f.loop != o.id || !stands) continue;
    // So is what the stage itself keeps near.
    if (ir::scope const where = tensor_[at(f.tensor)]->where; from == now_->number && where != ir::scope::argument && where != ir::scope::heap) continue;
    open_loop const* const of = loop_around(f.of, position);
    if (f.of >= 0 && of == nullptr) continue;
    ir::prefetched asked{tensor_[at(f.tensor)], f.distance, of == nullptr ? -1 : of->variable, f.into};
    if (open_loop const* const turns = loop_around(f.turns, position); turns != nullptr && turns->extent->kind == op::literal && turns->extent->value > 1)
      asked.turn = turns->variable, asked.turns = turns->extent->value;
    ahead.push_back(asked);
  }
  ir::stmt_node loop = *ir::loop(m_, how, o.variable, ir::index(m_, 0), trips, body);
  loop.threads = n_.at(o.id).threads;
  loop.jam = how == loop_kind::serial ? n_.jam_of(o.id) : 0;
  loop.ahead = m_.make_list(ahead);
  ir::stmt all = m_.make(loop);
  bool apart = false;
  for (int i : now_->apart) apart = apart || i == here;
  if (apart && how == loop_kind::serial) {
    ir::expr const one = ir::index(m_, 1), none = ir::index(m_, 0);
    ir::expr const begun = ir::binary(m_, op::min, trips, one), rest = ir::binary(m_, op::max, ir::binary(m_, op::sub, trips, one), none);
    all = ir::block(m_, {ir::loop_like(m_, all, none, begun, body), ir::loop_like(m_, all, one, rest, body)});
  }
  if (first != nullptr) all = ir::block(m_, {first, all});
  for (std::size_t i = early.size(); i-- > 0;)
    if (outermost_copy(frames_[at(early[i].stage)]).frame == nullptr) all = with_memory(early[i].stage, all);
  for (std::size_t i = order_.size(); i-- > 0 && o.how == loop_kind::virtual_thread;)
    if (loop_of_frame const out = outermost_copy(frames_[at(order_[i])]); out.frame == now_ && out.position == here)
      all = with_memory(order_[i], all);
  return all;
}
/// A loop outside of the one at `position`, of this stage or of one in whose loops it is computed; null: it stands elsewhere.
WEFT_DECL open_loop const* lowering::loop_around(int loop, std::size_t position) const {
  for (stage_frame const* f = now_; f != nullptr; position = static_cast<std::size_t>(f->host_position) + 1, f = f->host)
    for (std::size_t i = 0; i < position; ++i)
      if (f->loops[i].id == loop) return &f->loops[i];
  return nullptr;
}
/// The results made here that lack the axis of the loop at `position`, which stands inside of all reduced ones.
WEFT_DECL std::uint32_t lowering::left_out_of(std::size_t position) const {
  std::uint32_t left_out = 0;
  for (std::size_t i = position; i < now_->loops.size(); ++i)
    if (n_.at(now_->loops[i].id).reduced) return 0;
  for (int r = 0; r < now_->stage->results && now_->stage->results > 1; ++r)
    if (now_->makes(r) && is_left_out(n_, now_->loops[position].id, narrow_.lacks[at(now_->stage->tensor + r)]))
      left_out |= std::uint32_t(1) << r;
  return left_out;
}
/// The loops from `position` inwards for the other results, then without this loop for those. What a body reads as its state
/// has no axis that its own result lacks (schedule/narrow.hpp), so the first ones read all of it as it was, and the second
/// ones read nothing of the first.
WEFT_DECL ir::stmt lowering::nests_apart(std::size_t position, guard_states const& states, std::uint32_t left_out) {
  stage_frame* const whole = now_;
  std::uint32_t const all = whole->made;
  sequence<ir::stmt> nests;
  whole->made = all & ~left_out;
  bool others = false;
  for (int r = 0; r < whole->stage->results; ++r) others = others || whole->makes(r);
  if (others) nests.push_back(nest_from(position, states));
  whole->made = all;
  stage_frame f = *whole;
  now_ = &f;
  f.made = left_out;
  f.loops.clear();
  f.guards.clear();
  guard_states own;
  for (std::size_t i = 0; i < whole->loops.size(); ++i)
    if (i != position) f.loops.push_back(whole->loops[i]);
  int const here = static_cast<int>(position);
  for (std::size_t g = 0; g < whole->guards.size(); ++g) {
    guard wanted = whole->guards[g];
    if (uses(wanted.index, whole->loops[position].variable)) continue;
    for (int* of : {&wanted.depth, &wanted.decided})
      if (*of > here) --*of;
    f.guards.push_back(wanted);
    own.push_back(states[g]);
  }
  nests.push_back(nest_from(position, own));
  now_ = whole;
  return ir::block(m_, nests);
}
/// The spatial loops from `position` inwards, which store the identity. Nothing is read there.
WEFT_DECL ir::stmt lowering::identity_nest(std::size_t position, guard_states const& states) {
  stage_frame* const whole = now_;
  stage_frame f = *whole;
  now_ = &f;
  f.empty = f.identity = true;
  f.loops.clear();
  f.guards.clear();
  for (std::size_t i = 0; i < whole->loops.size(); ++i)
    if (i < position || !n_.at(whole->loops[i].id).reduced) f.loops.push_back(whole->loops[i]);
  for (std::size_t g = 0; g < whole->guards.size(); ++g) {
    bool spatial = states[g] != guard_state::holds && whole->guards[g].condition < 0;
    for (open_loop const& o : whole->loops)
      spatial = spatial && !(n_.at(o.id).reduced && uses(whole->guards[g].index, o.variable));
    guard own{whole->guards[g].index, whole->guards[g].bound};
    if (whole->guards[g].how == tail::mask) own.how = tail::mask;  // other tails are decided further out, or by their loop
    if (spatial) add_guard(own);
  }
  ir::stmt const nest = nest_from(position, guard_states(f.guards.size(), guard_state::wanted));
  now_ = whole;
  return nest;
}
/// How often a serial loop runs before its guard fails: index = rest + c * variable < bound.
WEFT_DECL ir::expr lowering::trips_within(guard const& g, std::int32_t variable) {
  ir::expr const rest = ir::substitute(m_, g.index, variable, ir::index(m_, 0));
  ir::expr const one = ir::substitute(m_, g.index, variable, ir::index(m_, 1));
  ir::expr const step = simplify(m_, ir::binary(m_, op::sub, one, rest));
  ir::expr const room = ir::binary(m_, op::sub, g.bound, rest);
  ir::expr const up = ir::binary(m_, op::add, room, ir::binary(m_, op::sub, step, ir::index(m_, 1)));
  return ir::binary(m_, op::max, simplify(m_, ir::binary(m_, op::floor_div, up, step)), ir::index(m_, 0));
}
/// Inside the loop at `position` (-1: around the first loop): one branch per guard that is decided here but for the loops
/// inside: those of tiles, of a split that is to be partitioned all.
WEFT_DECL ir::stmt lowering::tile_branches(int position, std::size_t g, guard_states states) {
  for (; g < now_->guards.size(); ++g) {
    guard const& wanted = now_->guards[g];
    bool const here = states[g] == guard_state::wanted && wanted.decided == position && wanted.depth > position;
    if (!here || wanted.by_mask || wanted.how == tail::mask) continue;
    if (wanted.how != tail::guard || ((position >= 0 || now_->host != nullptr) &&
                                      (wanted.condition >= 0 || tails_ != vector_tails::mask || !only_vector(wanted))))
      break;
  }
  if (g == now_->guards.size()) return nest_from(at(position + 1), states);
  guard const& cut = now_->guards[g];
  ir::expr last = cut.index;
  for (std::size_t i = at(position + 1); i < now_->loops.size(); ++i)
    last = ir::substitute(m_, last, now_->loops[i].variable,
                          ir::binary(m_, op::sub, now_->loops[i].extent, ir::index(m_, 1)));
  guard_states full = states;
  full[g] = guard_state::holds;
  if (cut.how == tail::partition) states[g] = guard_state::ends_loop;
  ir::expr const holds = cut.enough != nullptr ? cut.enough : ir::binary(m_, op::lt, last, cut.bound);
  ir::stmt const then = tile_branches(position, g + 1, full);
  ir::stmt const otherwise = tile_branches(position, g + 1, states);
  return ir::branch(m_, simplify(m_, holds), then, otherwise);
}

/// No unrolled axis is in the guard: masks alone can see to it.
WEFT_DECL bool lowering::only_vector(guard const& g) const {
  for (open_loop const& o : now_->loops)
    if (is_written_out(o.how) && o.how != loop_kind::vectorized && uses(g.index, o.variable)) return false;
  return true;
}
}  // namespace detail

WEFT_DECL std::string check_rounded(ir::arena& m, program const& p, nest const& n, call_layout const& layout) {
  auto const at = [](int i) { return static_cast<std::size_t>(i); };
  nest plain(p, [&](int tensor, int dim) { return n.inputs[at(tensor)][at(dim)]; }, {});
  bool any = false;
  for (std::size_t a = 0; a < plain.loop_of.size(); ++a) {
    if (plain.loop_of[a] < 0) continue;  // an axis that no stage has any more
    loop_info const& l = n.at(n.loop_of[a]);
    if (l.at_end != tail::round_up || !(n.places[at(l.stage)] == placement())) continue;
    any = true;
    step s{verb::split, 1, {plain.loop_of[a]}, l.factor};
    s.word = static_cast<std::uint8_t>(tail::round_up);
    split_rule::perform(plain, s);
  }
  return any ? check_bounds(lower(m, p, plain, layout, "rounded", vector_tails::partition, narrow_memory::no)) : std::string();
}
WEFT_DECL ir::function lower(ir::arena& m, program const& p, nest const& n, call_layout const& layout,
                             std::string_view name, vector_tails tails, narrow_memory narrow, std::int32_t threads) {
  ir::function f;
  f.name = std::string(name);
  f.nodes = &m;
  detail::lowering(f, p, n, layout, tails, narrow, threads).run();
  return f;
}

}  // namespace weft::inline WEFT_ABI
