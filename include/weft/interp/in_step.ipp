// A loop over threads with a barrier inside is run in step: of a statement without a barrier, all threads run it, one after
// the other in a drawn order, before the next statement begins. What stands around a barrier must be the same for all.
#include "weft/interp/interpreter.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

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

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
