#include <cstring>

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

// --- memory ---------------------------------------------------------------------------------------------------

inline std::string interpreter::element_text(ir::buffer const* b, ir::list<ir::expr> const& indices, int l) {
  std::string s = b->name + "[";
  for (std::size_t d = 0; d < indices.size(); ++d) s += (d > 0 ? ", " : "") + std::to_string(lane(indices[d], l));
  return s + "]" + (b->lanes > 1 ? " lane " + std::to_string(l) : "");
}
/// Evaluates shape and strides; gives intermediates their memory.
inline bool interpreter::prepare(ir::buffer const* b) {
  memory& m = memory_[at(b->id)];
  std::int64_t last = 0, count = 1;
  bool fits = true;
  for (std::size_t d = 0; d < b->shape.size(); ++d) {
    m.shape.push_back(scalar(b->shape[d]));
    m.strides.push_back(scalar(b->strides[d]));
    if (m.shape[d] < 0) fault("buffer " + b->name + " has extent " + std::to_string(m.shape[d]));
    if (m.shape[d] == 0) count = 0;
    std::int64_t far = 0;
    fits = fits && !__builtin_mul_overflow(m.shape[d] - 1, m.strides[d], &far) &&
           !__builtin_add_overflow(last, far < 0 ? 0 : far, &last);
  }
  m.shadow = at(b->id);
  bool initialised = false;
  if (std::int64_t const place = f_.shared_place(b); place >= 0) {
    std::int64_t const size = size_bytes(b->type);
    if (count > 0 && last >= ir::shared_bytes_of(b) / size) fault("buffer " + b->name + " is larger than its place in shared memory");
    m.elements = count == 0 ? 0 : b->swizzled ? m.shape[0] * m.strides[0] : last + 1;
    m.data = block_memory_.data() + place;
    m.shadow = shadows_.size() - 1;
    m.first = place / part_bytes_, m.parts = size / part_bytes_;
    return ok();
  }
  if (b->where == ir::scope::argument) {
    interp_argument const& a = pointers_[at(b->argument)];
    m.data = static_cast<unsigned char*>(a.data);
    m.elements = a.elements;
    initialised = a.initialised;
  } else {
    if (count > 0 && (!fits || last >= options_.max_heap_elements))
      fault("buffer " + b->name + " is too large to interpret");
    if (!ok()) return false;
    m.elements = count == 0 ? 0 : (last + 1) * b->lanes;
    m.own.resize(at(m.elements) * at(size_bytes(b->type)));
    m.data = m.own.data();
  }
  if (m.elements < 0 || (m.data == nullptr && m.elements > 0)) fault("argument " + b->name + " has no memory");
  if (ok()) shadows_[m.shadow].reset(at(m.elements), initialised);
  return ok();
}
/// All that blocks share: one block after the other has it.
inline void interpreter::prepare_shared() {
  std::int64_t bytes = 0;
  for (ir::buffer const* b : f_.buffers) {
    std::int64_t const place = f_.shared_place(b);
    if (place < 0) continue;
    if (place + ir::shared_bytes_of(b) > bytes) bytes = place + ir::shared_bytes_of(b);
    if (size_bytes(b->type) < part_bytes_) part_bytes_ = size_bytes(b->type);
  }
  block_memory_.resize(at(bytes));
  shadows_[shadows_.size() - 1].reset(at(bytes / part_bytes_), false);
}
/// In which lifetime an element was written; of one that others have written in since, in theirs.
inline std::uint32_t interpreter::written(memory const& m, std::int64_t element) const {
  sequence<std::uint32_t> const& all = shadows_[m.shadow].written;
  std::uint32_t by = lifetime(m);
  for (std::int64_t p = m.first + element * m.parts, end = p + m.parts; p < end && by != shadow::in_flight; ++p)
    if (all[at(p)] != lifetime(m)) by = all[at(p)];
  return by;
}
inline void interpreter::set_written(memory const& m, std::int64_t element, std::uint32_t by) {
  std::int64_t const first = m.first + element * m.parts;
  for (std::int64_t p = 0; p < m.parts; ++p) shadows_[m.shadow].written[at(first + p)] = by;
}
/// Who has written there since.
inline std::string interpreter::owner_text(ir::buffer const* b, std::uint32_t by) const {
  for (ir::buffer const* o : f_.buffers)
    if (o != b && by != 0 && memory_[at(o->id)].lifetime == by) return ", where " + o->name + " has been written since";
  return by != 0 ? ", which was written before its memory was allocated anew" : "";
}
/// Arguments over the same memory see each other's writes.
inline void interpreter::share_shadows() {
  for (ir::buffer const* b : f_.buffers)
    for (ir::buffer const* o : f_.buffers) {
      if (o == b) break;
      if (b->where != ir::scope::argument || o->where != ir::scope::argument) continue;
      memory &mb = memory_[at(b->id)], &mo = memory_[at(o->id)];
      auto const begin = [](memory const& m) { return reinterpret_cast<std::uintptr_t>(m.data); };
      auto const end = [&](memory const& m, ir::buffer const* x) {
        return begin(m) + at(m.elements * size_bytes(x->type));
      };
      if (begin(mb) >= end(mo, o) || begin(mo) >= end(mb, b)) continue;
      bool const same = mb.data == mo.data && size_bytes(b->type) == size_bytes(o->type);
      if (!b->written && !o->written && !(same && b->alias_class == o->alias_class)) continue;
      if (b->alias_class != o->alias_class)
        return fault("arguments " + o->name + " and " + b->name + " share memory, but not an alias class");
      if (!same) return fault("arguments " + o->name + " and " + b->name + " overlap in part: that is not interpreted");
      shadow& s = shadows_[mo.shadow];
      std::size_t const elements = s.written.size() > at(mb.elements) ? s.written.size() : at(mb.elements);
      s.reset(elements, s.is_written(0) || pointers_[at(b->argument)].initialised);
      mb.shadow = mo.shadow;
    }
}
/// The element that a lane's indices stand for; false after a fault.
inline bool interpreter::locate(ir::buffer const* b, ir::list<ir::expr> const& indices, int l, std::int64_t& element) {
  memory const& m = memory_[at(b->id)];
  element = b->lanes > 1 ? l : 0;
  bool inside = true, fits = true;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    std::int64_t const i = lane(indices[d], l);
    inside = inside && i >= 0 && i < m.shape[d];
    std::int64_t step = 0;
    fits = fits && !__builtin_mul_overflow(i, m.strides[d], &step) && !__builtin_add_overflow(element, step, &element);
  }
  if (ir::swizzle const z = ir::swizzle_of(f_, b); z.phases > 1 && inside) {
    std::int64_t const column = lane(indices[indices.size() - 1], l);
    std::int64_t row = 0;
    for (std::size_t d = 0; d + 1 < indices.size(); ++d) row += lane(indices[d], l) * ir::rows_of_step(b, d);
    element += z.column(row, column) - column;
  }
  for (std::size_t d = 0; d < indices.size() && !wrapped_.empty() && ok(); ++d)
    if (has_wrapped(indices[d], l))
      fault("overflow of index " + std::to_string(d) + " in " + element_text(b, indices, l) + ": it leaves the range of i64");
  if (!ok()) return false;
  if (inside && fits && element >= 0 && element < m.elements) return true;
  std::string shape;
  for (std::int64_t e : m.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(e);
  if (!inside)
    fault("out of bounds: " + element_text(b, indices, l) + " of " + b->name + " with shape [" + shape + "]");
  else
    fault("out of bounds: " + element_text(b, indices, l) + " is element " + std::to_string(element) + " of the " +
          std::to_string(m.elements) + " of " + b->name);
  return false;
}
inline void interpreter::touch(ir::buffer const* b, ir::list<ir::expr> const& indices, int l, std::int64_t element,
                               bool writes) {
  memory const& m = memory_[at(b->id)];
  shadow::earlier e;
  for (std::int64_t p = 0; p < m.parts && e.place == shadow::nobody; ++p)
    e = shadows_[m.shadow].touch(tree_, at(m.first + element * m.parts + p), place_, writes);
  if (e.place == shadow::nobody) return;
  iteration_tree::meeting const both = tree_.meet(e.place, place_);
  iteration_tree::entry const &then = tree_.entries[both.from_a], &now = tree_.entries[both.from_b];
  std::string const& name = f_.variables[at(now.variable)];
  auto const how = static_cast<loop_kind>(tree_.entries[both.at].value);
  fault("race in " + std::string(weft::name(how)) + " loop " + name + ": " +
        element_text(b, indices, l) + " is " + (e.writes ? "written" : "read") + " in iteration " + name + " = " +
        std::to_string(then.value) + " and " + (writes ? "written" : "read") + " in iteration " + name + " = " +
        std::to_string(now.value));
}
inline std::int64_t interpreter::read(ir::buffer const* b, ir::list<ir::expr> const& indices, int l, bool matters) {
  std::int64_t element = 0;
  if (!locate(b, indices, l, element)) return 0;
  memory const& m = memory_[at(b->id)];
  if (matters) {
    std::uint32_t const by = written(m, element);
    if (by == shadow::in_flight)
      fault("short wait: " + element_text(b, indices, l) + " is read while the copy to it is in flight");
    else if (by != lifetime(m))
      fault("uninitialised read of " + element_text(b, indices, l) + owner_text(b, by));
    touch(b, indices, l, element, false);
  }
  return with_dtype(b->type, [&]<class T>(T x) -> std::int64_t {
    if constexpr (std::is_same_v<T, bool>) return m.data[element] != 0;
    std::memcpy(&x, m.data + element * static_cast<std::int64_t>(sizeof x), sizeof x);
    return to_bits(x);
  });
}
inline void interpreter::write(ir::buffer const* b, ir::list<ir::expr> const& indices, int l, std::int64_t bits, bool arrives_later) {
  std::int64_t element = 0;
  if (!locate(b, indices, l, element)) return;
  memory const& m = memory_[at(b->id)];
  if (written(m, element) == shadow::in_flight)
    fault("a live copy: " + element_text(b, indices, l) + " is written while the copy to it is in flight");
  touch(b, indices, l, element, true);
  if (!ok()) return;
  set_written(m, element, arrives_later ? shadow::in_flight : lifetime(m));
  if (arrives_later) now_flying_->all.push_back({b, element, bits, now_flying_->groups});
  else put(b, element, bits);
}
inline void interpreter::put(ir::buffer const* b, std::int64_t element, std::int64_t bits) {
  memory const& m = memory_[at(b->id)];
  with_dtype(b->type, [&]<class T>(T) {
    T const x = from_bits<T>(bits);
    std::memcpy(m.data + element * static_cast<std::int64_t>(sizeof x), &x, sizeof x);
  });
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

// --- threads that meet at barriers ------------------------------------------------------------------------------
// A loop over threads with a barrier inside is run in step: of a statement without a barrier, all threads run it, one after
// the other in a drawn order, before the next statement begins. What stands around a barrier must be the same for all.

inline bool has_barrier(ir::stmt s) {
  if (s->kind == ir::stmt_kind::barrier || s->kind == ir::stmt_kind::exchange) return true;
  for (ir::stmt c : s->children)
    if (has_barrier(c)) return true;
  return false;
}
inline void interpreter::exchange(own_memory& m) {
  memory& now = memory_[m.buffer];
  now.own.swap(m.data);
  now.data = now.own.data();
  shadow state = static_cast<shadow&&>(shadows_[now.shadow]);
  shadows_[now.shadow] = static_cast<shadow&&>(m.state);
  m.state = static_cast<shadow&&>(state);
}
inline void interpreter::enter(thread& t, team const& of) {
  if (t.outer != nullptr) enter(*t.outer, *of.outer);
  variable_[at(of.loop->variable)] = t.value;
  place_ = t.place;
  now_flying_ = &t.flight;
  for (own_memory& m : t.own) exchange(m);
  forget();
}
inline void interpreter::leave(thread& t, team const& of) {
  for (std::size_t i = t.own.size(); i-- > 0;) exchange(t.own[i]);
  if (t.outer != nullptr) leave(*t.outer, *of.outer);
  now_flying_ = &flight_;
}
template <class F>
void interpreter::each_thread(team& t, F const& f) {
  std::uint32_t const outside = place_;
  for (std::int64_t i : drawn_order(static_cast<std::int64_t>(t.threads.size()))) {
    enter(t.threads[at(i)], t);
    f(t.threads[at(i)]);
    leave(t.threads[at(i)], t);
    if (!ok()) return;
  }
  place_ = outside;
}
inline std::string interpreter::thread_text(thread const& t, team const& of) const {
  std::string const own = f_.variables[at(of.loop->variable)] + " = " + std::to_string(t.value);
  return t.outer != nullptr ? thread_text(*t.outer, *of.outer) + ", " + own : own;
}
/// The value of what all threads must agree on.
inline std::int64_t interpreter::uniform(ir::expr e, team& t, char const* what) {
  thread const* first = nullptr;
  std::int64_t value = 0;
  each_thread(t, [&](thread& now) {
    std::int64_t const own = scalar(e);
    if (first == nullptr) first = &now, value = own;
    if (own == value) return;
    fault("divergent barrier in " + std::string(weft::name(t.loop->how)) + " loop " +
          f_.variables[at(t.loop->variable)] + ": " + what + " around it is " + std::to_string(value) + " in " + thread_text(*first, t) + " and " + std::to_string(own) +
          " in " + thread_text(now, t));
  });
  return value;
}
/// After a barrier, and before the first: what a thread does from here on is at the same time as what others do from here on.
inline void interpreter::regroup(team& t) {
  if (t.outer != nullptr) regroup(*t.outer);
  place_threads(t);
}
/// Each under the place of the thread around it, or of all of them.
inline void interpreter::place_threads(team& t) {
  std::uint32_t run = 0;
  thread const* before = nullptr;
  for (thread& now : t.threads) {
    if (before == nullptr || now.outer != before->outer)
      run = tree_.add(now.outer != nullptr ? now.outer->place : t.root, -1, static_cast<std::int64_t>(t.loop->how));
    now.place = tree_.add(run, t.loop->variable, now.value);
    before = &now;
  }
  operations_ += static_cast<std::int64_t>(t.threads.size());
}
inline void interpreter::start_team(ir::stmt s, team* outer, std::int64_t begin, std::int64_t extent) {
  if (extent > 1024) return fault("more than 1024 threads of a block are not interpreted");
  team t{outer, s, place_, {}};
  for (std::size_t o = 0; o < (outer != nullptr ? outer->threads.size() : 1); ++o)
    for (std::int64_t i = 0; i < extent; ++i) {
      t.threads.push_back({});
      t.threads.back().outer = outer != nullptr ? &outer->threads[o] : nullptr;
      t.threads.back().value = begin + i;
    }
  place_threads(t);  // nobody has waited: the places of the threads around are as they were
  in_step(s->children[0], t);
  for (thread const& now : t.threads) all_arrived(now.flight);
}
inline void interpreter::loop_in_step(ir::stmt s, team& t) {
  std::int64_t const begin = uniform(s->begin, t, "the begin of a loop");
  std::int64_t const extent = uniform(s->extent, t, "the length of a loop");
  if (!ok() || extent <= 0) return;
  begin_[at(s->variable)] = variable_[at(s->variable)] = begin;
  note_loop(s);
  open_.push_back(s->variable);
  if (is_thread(s->how)) {
    if (s->how == loop_kind::thread_x) lanes_ = s->variable;
    start_team(s, &t, begin, extent);
  } else {
    for (std::int64_t i = 0; i < extent && ok(); ++i) {
      variable_[at(s->variable)] = begin + i;
      in_step(s->children[0], t);
    }
  }
  if (ok()) open_.pop_back();
}
inline void interpreter::in_step(ir::stmt s, team& t) {
  if (!ok()) return;
  if (++operations_ > options_.max_operations) return fault("more operations than interp_options allows");
  if (!has_barrier(s)) return each_thread(t, [&](thread&) { statement(s); });
  switch (s->kind) {
    case ir::stmt_kind::block:
      for (ir::stmt c : s->children) in_step(c, t);
      return;
    case ir::stmt_kind::barrier: return regroup(t);
    case ir::stmt_kind::exchange: return exchange_values(s, t);
    case ir::stmt_kind::loop: return loop_in_step(s, t);
    case ir::stmt_kind::branch:
      if (uniform(s->value, t, "the condition of a branch") != 0) in_step(s->children[0], t);
      else if (s->children.size() > 1) in_step(s->children[1], t);
      return;
    default: break;  // an allocate: no other statement has a barrier inside
  }
  if (s->buf->where == ir::scope::heap) {
    shadows_[memory_[at(s->buf->id)].shadow].begin(true);
    return in_step(s->children[0], t);
  }
  note_memory(s->buf);
  memory const& m = memory_[at(s->buf->id)];
  for (thread& now : t.threads) {
    now.own.push_back({at(s->buf->id), sequence<unsigned char>(m.own.size()), {}});
    now.own.back().state.reset(at(m.elements), false);
  }
  in_step(s->children[0], t);
  for (thread& now : t.threads) now.own.pop_back();
}
/// All give before any takes. Nobody has waited: what others have written in memory they may still be writing.
inline void interpreter::exchange_values(ir::stmt s, team& t) {
  sequence<std::int64_t> given(t.threads.size(), 0);
  auto const number_of = [&](thread const& now) { return static_cast<std::size_t>(&now - t.threads.begin()); };
  each_thread(t, [&](thread& now) { given[number_of(now)] = scalar(s->value); });
  if (!ok()) return;
  each_thread(t, [&](thread& now) {
    std::size_t const from = number_of(now) ^ at(s->number);
    if (from >= given.size()) return fault("an exchange with a thread that is not there: the last warp of " + std::to_string(given.size()) + " threads is not whole");
    for (ir::expr i : s->indices) need(i, lane_set::all(1));
    write(s->buf, s->indices, 0, given[from]);
  });
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
  // The workspace has one place for all iterations; registers and the stack are those of the iteration that runs.
  memory& its = memory_[at(s->buf->id)];
  shadows_[its.shadow].begin(s->buf->where == ir::scope::heap);
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
