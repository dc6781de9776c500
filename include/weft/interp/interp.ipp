#include "weft/interp/interp.hpp"
#include "weft/interp/interpreter.hpp"
#include "weft/interp/observed.hpp"
#include "weft/interp/steps_about.hpp"
#include "weft/ir/verify.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline void interpreter::fault(std::string const& what) {
  if (!ok()) return;
  fault_ = what;
  for (std::size_t i = 0; i < open_.size(); ++i)
    fault_ += (i == 0 ? ", in iteration " : ", ") + f_.variables[at(open_[i])] + " = " +
              std::to_string(variable_[at(open_[i])]);
  if (updates_.size() > 0) fault_ += (open_.empty() ? ", in an update of " : " of ") + updates_[0]->buf->name;
  fault_ += steps_about(options_.steps, fault_);
}

// --- values ---------------------------------------------------------------------------------------------------

/// The lanes of `lanes` (out of `count`) in which `mask` is true.
inline lane_set interpreter::where(ir::expr mask, lane_set const& lanes, int count) {
  need(mask, lanes);
  lane_set s;
  for (int l = 0; l < count && ok(); ++l)
    if (lanes.has(l) && lane(mask, l) != 0) s.add(l);
  return s;
}
/// Wraps, as op.hpp says; where that happens to what is made of axes and sizes alone, it is noted: an index must not.
inline std::int64_t interpreter::index_arithmetic(ir::expr e, op kind, std::int64_t a, std::int64_t b, int l) {
  std::int64_t result = 0;
  bool const wraps = kind == op::add   ? __builtin_add_overflow(a, b, &result)
                     : kind == op::sub ? __builtin_sub_overflow(a, b, &result)
                                       : __builtin_mul_overflow(a, b, &result);
  if (wraps) wrapped_.push_back({e, l});
  return result;
}
/// Whether a sum or product in it has wrapped, not under a clamp, a quotient or a remainder, nor one of data.
inline bool interpreter::has_wrapped(ir::expr index, int l) const {
  sequence<ir::expr> todo(1, index);
  bool found = false;
  for (std::size_t i = 0; i < todo.size() && todo.size() < 1000; ++i) {
    ir::expr const e = todo[i];
    if (e->kind == op::load || e->kind == op::scalar || e->kind == op::self || e->kind == op::cast) return false;
    for (wrapped_index const& w : wrapped_) found = found || (w.of == e && (e->lanes == 1 || w.lane == l));
    bool const linear = e->kind == op::add || e->kind == op::sub || e->kind == op::mul || e->kind == op::neg ||
                        e->kind == op::ramp || e->kind == op::broadcast;
    for (ir::expr x : {e->a, e->b})
      if (linear && x != nullptr) todo.push_back(x);
  }
  return found;
}
/// Fills in the lanes of `wanted` that are not known yet. A node that many others share is computed once per lane.
inline void interpreter::compute(ir::expr e, lane_set const& wanted) {
  if (e->kind == op::literal || !ok()) return;
  value_cell& cell = values_[e->id];
  if (cell.epoch != epoch_) {
    cell.epoch = epoch_;
    cell.known = {};
    cell.lanes.resize(e->lanes);
  }
  lane_set const missing = wanted.without(cell.known);
  if (!missing.any()) return;
  cell.known.add(missing);
  if ((operations_ += e->lanes) > options_.max_operations) return fault("more operations than interp_options allows");

  sequence<std::int64_t>& out = cell.lanes;
  switch (e->kind) {
    case op::extent: out[0] = sizes_[at(e->value)]; return;
    case op::scalar: out[0] = scalars_[at(e->value)]; return;
    case op::axis: out[0] = variable_[at(e->value)]; return;
    case op::load: return compute_load(e, missing);
    case op::self: return compute_self(e, missing);
    case op::select:
    case op::rare: {
      lane_set const taken = where(e->a, missing, e->lanes);
      need(e->b, taken);
      need(e->c, missing.without(taken));
      for (int l = 0; l < e->lanes && ok(); ++l)
        if (missing.has(l)) out[at(l)] = lane(taken.has(l) ? e->b : e->c, l);
      return;
    }
    case op::instruction:
      need(e->a, missing);
      for (int l = 0; l < e->lanes && ok(); ++l)
        if (missing.has(l)) out[at(l)] = lane(e->a, l);
      return;
    default: break;
  }
  need(e->a, missing);
  if (e->b != nullptr) need(e->b, missing);
  if (e->c != nullptr) need(e->c, missing);
  for (int l = 0; l < e->lanes && ok(); ++l) {
    if (!missing.has(l)) continue;
    std::int64_t const a = lane(e->a, l);
    if (e->kind == op::broadcast)
      out[at(l)] = a;
    else if (e->kind == op::ramp)
      out[at(l)] = index_arithmetic(e, op::add, a, index_arithmetic(e, op::mul, l, e->value, l), l);
    else if (e->type == dtype::i64 && (e->kind == op::add || e->kind == op::sub || e->kind == op::mul))
      out[at(l)] = index_arithmetic(e, e->kind, a, lane(e->b, l), l);
    else
      out[at(l)] = apply(e->kind, e->a->type, a, e->b != nullptr ? lane(e->b, l) : 0,
                         e->c != nullptr ? lane(e->c, l) : 0, e->type);
  }
}
inline void interpreter::compute_load(ir::expr e, lane_set const& missing) {
  lane_set const active = e->a != nullptr ? where(e->a, missing, e->lanes) : missing;
  for (ir::expr i : e->indices) need(i, active);
  bool const any_live = live_.any();
  for (int l = 0; l < e->lanes && ok(); ++l) {
    if (!missing.has(l)) continue;
    bool const matters = e->lanes == live_lanes_ ? live_.has(l) : any_live;
    std::int64_t const bits = active.has(l) ? read(e->buf, e->indices, l, matters) : 0;
    values_[e->id].lanes[at(l)] = bits;
  }
  if (is_observed() && ok()) observe(e, e->buf, e->indices, active, e->lanes, false);
}
/// The element so far, or the one before: the identity in the first iteration. Nothing is read for lanes that are not stored.
inline void interpreter::compute_self(ir::expr e, lane_set const& missing) {
  sequence<std::int64_t>& out = values_[e->id].lanes;
  ir::stmt const update = updates_[at(e->value)];
  bool first = update->first.size() > 0;
  for (std::int32_t v : update->first) first = first && variable_[at(v)] == begin_[at(v)];
  lane_set const stored = missing.without(lane_set::all(live_lanes_).without(live_));
  if (first)
    need(update->identity, missing);
  else
    for (ir::expr i : ir::self_indices(update)) need(i, stored);
  if (!first && is_observed() && ok()) observe(update, update->buf, ir::self_indices(update), stored, live_lanes_, false);
  for (int l = 0; l < live_lanes_ && ok(); ++l)
    if (missing.has(l))
      out[at(l)] = first           ? lane(update->identity, l)
                   : stored.has(l) ? read(update->buf, ir::self_indices(update), l, true)
                                   : 0;
}

// --- statements -----------------------------------------------------------------------------------------------

/// Stores or accumulates that are evaluated before any of them writes.
inline void interpreter::update(ir::list<ir::stmt> const& together) {
  ir::stmt const s = together[0];
  int lanes = s->buf->lanes;
  for (ir::expr i : s->indices)
    if (i->lanes > lanes) lanes = i->lanes;
  lane_set const all = lane_set::all(lanes);
  lane_set const stored = s->mask != nullptr ? where(s->mask, all, lanes) : all;
  live_ = stored;
  live_lanes_ = lanes;
  updates_ = together;
  for (ir::stmt u : together) {
    need(u->value, all);
    for (ir::expr i : u->indices) need(i, stored);
  }
  for (ir::stmt u : together) {
    two_lanes_apart(u, stored, lanes);
    for (int l = 0; l < lanes && ok(); ++l)
      if (stored.has(l)) write(u->buf, u->indices, l, lane(u->value, l), u->asynchronous);
    if (is_observed() && ok()) observe(u, u->buf, u->indices, stored, lanes, true);
  }
  live_ = lane_set::all(1);
  live_lanes_ = 1;
  updates_ = {};
}
/// The lanes of one store go to elements of their own.
inline void interpreter::two_lanes_apart(ir::stmt s, lane_set const& stored, int lanes) {
  if (lanes == 1 || s->buf->lanes > 1) return;
  for (ir::expr i : s->indices)
    if (i->kind == op::ramp && i->value != 0) return;
  sequence<std::int64_t> elements(at(lanes), -1);
  for (int l = 0; l < lanes && ok(); ++l) {
    if (!stored.has(l) || !locate(s->buf, s->indices, l, elements[at(l)])) continue;
    for (int before = 0; before < l; ++before)
      if (elements[at(before)] == elements[at(l)])
        return fault("race of lanes: " + element_text(s->buf, s->indices, l) + " is written by lanes " +
                     std::to_string(before) + " and " + std::to_string(l) + " of one store");
  }
}
/// 0 .. count forwards, backwards or in any order.
inline sequence<std::int64_t> interpreter::drawn_order(std::int64_t count) {
  auto const how = random() % 4;
  sequence<std::int64_t> order;
  for (std::int64_t i = 0; i < count; ++i) order.push_back(how == 0 ? count - 1 - i : i);
  for (std::size_t i = 1; how > 1 && i < order.size(); ++i) {
    std::size_t const other = random() % (i + 1);
    std::int64_t const moved = order[i];
    order[i] = order[other];
    order[other] = moved;
  }
  return order;
}
/// A loop whose iterations may run at the same time.
inline void interpreter::at_once(ir::stmt s, std::int64_t begin, std::int64_t extent) {
  std::uint32_t const outside = place_, run = tree_.add(outside, -1, static_cast<std::int64_t>(s->how));
  for (std::int64_t i : drawn_order(extent)) {
    variable_[at(s->variable)] = begin + i;
    place_ = tree_.add(run, s->variable, begin + i);
    statement(s->children[0]);
    if (!ok()) return;
  }
  place_ = outside;
}

// --- copies that arrive later -----------------------------------------------------------------------------------

/// Of the groups all but the last `left` arrive: as stores of this thread, here.
inline void interpreter::wait(std::int64_t left) {
  sequence<copy_in_flight> others;
  for (copy_in_flight const& c : now_flying_->all) {
    if (c.group >= now_flying_->groups - left) {
      others.push_back(c);
      continue;
    }
    memory const& m = memory_[at(c.buf->id)];
    set_written(m, c.element, lifetime(m));
    for (std::int64_t p = 0; p < m.parts; ++p) shadows_[m.shadow].touch(tree_, at(m.first + c.element * m.parts + p), place_, true);
    put(c.buf, c.element, c.bits);
  }
  now_flying_->all.swap(others);
}
inline void interpreter::all_arrived(copies_in_flight const& of) {
  if (of.all.empty()) return;
  fault("a copy to " + of.all[0].buf->name + " is in flight where its thread ends: what is copied is committed and waited for");
}

inline void interpreter::loop(ir::stmt s) {
  std::int64_t const begin = scalar(s->begin), extent = scalar(s->extent);
  std::int64_t end = 0;
  if (!ok() || extent <= 0) return;
  if (__builtin_add_overflow(begin, extent, &end)) return fault("a loop runs past the last i64");
  begin_[at(s->variable)] = variable_[at(s->variable)] = begin;
  note_loop(s);
  if (s->how == loop_kind::thread_x) lanes_ = s->variable;
  if (extent > options_.max_operations - operations_) return fault("more operations than interp_options allows");
  open_.push_back(s->variable);
  if (is_concurrent(s->how) || s->how == loop_kind::vectorized) {
    if (extent > 1 << 26) return fault("more than 2^26 iterations of a parallel loop are not interpreted");
    if (is_thread(s->how) && has_barrier(s->children[0])) start_team(s, nullptr, begin, extent);
    else at_once(s, begin, extent);
  } else {
    for (std::int64_t i = begin; i < end && ok(); ++i) {
      variable_[at(s->variable)] = i;
      statement(s->children[0]);
    }
  }
  open_.pop_back();
}
/// What it reads has been written, what it writes has been from then on.
inline void interpreter::call(ir::stmt s) {
  if (s->by->call == nullptr) return fault("function " + std::string(s->by->name) + " is there for GPUs alone");
  sequence<std::int64_t> words;
  for (bool before : {true, false}) {
    for (std::uint32_t i = 0; i < s->buffers.size() && ok(); ++i) {
      ir::buffer const* const b = s->buffers[i];
      memory const& m = memory_[at(b->id)];
      bool const writes = static_cast<std::int32_t>(i) >= s->by->reads;
      shadow& state = shadows_[m.shadow];
      if (before) {
        words.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(m.data)));
        for (auto const* list : {&m.shape, &m.strides}) words.insert(words.end(), list->begin(), list->end());
      }
      sequence<std::int64_t> index(m.shape.size(), 0);
      bool any = true;
      for (std::int64_t e : m.shape) any = any && e > 0;
      while (any && ok()) {
        std::int64_t element = 0;
        std::string place;
        for (std::size_t d = 0; d < index.size(); ++d) element += index[d] * m.strides[d];
        auto const named = [&] {
          for (std::int64_t x : index) place += (place.empty() ? "" : ", ") + std::to_string(x);
          return std::string(s->by->name) + ": " + b->name + "[" + place + "]";
        };
        if (++operations_ > options_.max_operations) return fault("more operations than interp_options allows");
        if (element < 0 || element >= m.elements)
          fault("out of bounds: the call of " + named() + " is element " + std::to_string(element) + " of the " +
                std::to_string(m.elements));
        else if (before && !writes && !state.is_written(at(element)))
          fault("uninitialised read in the call of " + named());
        else if (!before && writes)
          state.written[at(element)] = state.lifetime;
        std::size_t d = index.size();
        while (d > 0 && ++index[d - 1] == m.shape[d - 1]) index[--d] = 0;
        any = d > 0;
      }
    }
    if (!before || !ok()) return;
    if (std::int32_t const code = s->by->call(words.data()); code != 0)
      return fault("function " + std::string(s->by->name) + " answered " + std::to_string(code));
  }
}
inline void interpreter::statement(ir::stmt s) {
  if (!ok()) return;
  if (++operations_ > options_.max_operations) return fault("more operations than interp_options allows");
  forget();
  switch (s->kind) {
    case ir::stmt_kind::block:
      for (ir::stmt c : s->children) statement(c);
      return;
    case ir::stmt_kind::loop: return loop(s);
    case ir::stmt_kind::store:
    case ir::stmt_kind::accumulate: return update({&s, 1});
    case ir::stmt_kind::together: return update(s->children);
    case ir::stmt_kind::branch:
      if (scalar(s->value))
        statement(s->children[0]);
      else if (s->children.size() > 1)
        statement(s->children[1]);
      return;
    case ir::stmt_kind::call: return call(s);
    // The first lane has the fragments of its warp, and does it all: when the others come does not matter.
    case ir::stmt_kind::tile:
      if (lanes_ >= 0 && variable_[at(lanes_)] % 32 != 0) return;
      in_tile_ = true;
      statement(s->children[0]);
      in_tile_ = false;
      return;
    case ir::stmt_kind::barrier: return;  // of no other thread: those that meet run in step
    case ir::stmt_kind::commit: return void(++now_flying_->groups);
    case ir::stmt_kind::wait: return wait(s->number);
    case ir::stmt_kind::exchange: return fault("an exchange where no other thread runs in step");
    case ir::stmt_kind::allocate: break;
  }
  note_memory(s->buf);
  // The workspace has one place for all iterations, unless it has one for each thread; registers and the stack are those of the iteration that runs.
  memory& its = memory_[at(s->buf->id)];
  shadows_[its.shadow].begin(s->buf->where == ir::scope::heap && s->buf->places == 0);
  if (f_.shared_place(s->buf) >= 0) its.lifetime = shadows_[its.shadow].lifetime;
  statement(s->children[0]);
}
inline std::string interpreter::run() {
  if (std::string const unsound = ir::verify(f_); !unsound.empty()) return "not a sound function: " + unsound;
  if (sizes_.size() < f_.sizes.size()) return "too few sizes: the first without a value is " + f_.sizes[sizes_.size()];
  if (scalars_.size() < f_.scalars.size())
    return "too few scalars: the first without a value is " + f_.scalars[scalars_.size()].name;
  values_.resize(f_.nodes->expressions());  // references into it stay valid from here on
  live_ = lane_set::all(1);
  prepare_shared();
  for (ir::buffer const* b : f_.buffers) {
    if (b->where == ir::scope::argument && at(b->argument) >= pointers_.size())
      return "too few pointers: the first buffer without memory is " + b->name;
    if (!prepare(b)) return fault_;
  }
  share_shadows();
  statement(f_.body);
  all_arrived(flight_);
  return fault_;
}
}  // namespace detail

WEFT_DECL std::string interpret(ir::function const& f, sequence<interp_argument> const& pointers,
                                sequence<std::int64_t> const& sizes, sequence<std::int64_t> const& scalar_bits,
                                interp_options const& options) {
  return detail::interpreter(f, pointers, sizes, scalar_bits, options).run();
}

}  // namespace weft::inline WEFT_ABI
