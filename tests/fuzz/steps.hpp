// Random legal schedules, and making a failing one smaller.
#pragma once

#include <array>
#include <vector>

#include "fuzz/generate.hpp"
#include "weft/intrinsics.hpp"
#include "weft/schedule/pressure.hpp"
#include "weft/schedule/print.hpp"
#include "weft/schedule/schedule.hpp"
#include "weft/schedule/term_order.hpp"

namespace weft_test::fuzz {

/// What a schedule may be besides legal, for one way of running it.
struct step_limits {
  std::int64_t copies = 64;          // of a stage's body, written out
  bool numbers_only = false;         // unrolled and vectorized loops have a known length
  weft::schedule_limits machine{};   // with registers: their number is kept to
};

/// An argmin or argmax, or a part of one: it keeps its bits in parts, but not in any order.
inline bool is_position(weft::program const& p, std::size_t stage) {
  return p.tensors[static_cast<std::size_t>(p.stages[stage].tensor)].name.data[0] == 'P';
}
/// The same of the stages that steps have added, too.
inline weft::sequence<bool> with_added(weft::schedule const& n, weft::sequence<bool> order_free) {
  for (weft::step const& one : n.steps) {
    bool const same = one.what == weft::verb::cache_write || one.what == weft::verb::rfactor || one.what == weft::verb::rfactor_chunks;
    if (one.what == weft::verb::cache_read) order_free.push_back(true);
    if (one.what == weft::verb::im2col) order_free.push_back(true), order_free.push_back(true);
    if (same || one.what == weft::verb::im2col) order_free.push_back(order_free[static_cast<std::size_t>(one.stage)]);
  }
  return order_free;
}
/// Whether each reduction that needs it runs over its terms in the order of the program.
inline bool keeps_order(weft::schedule const& n, weft::sequence<bool> order_free) {
  order_free = with_added(n, static_cast<weft::sequence<bool>&&>(order_free));
  for (std::size_t s = 0; s < n.order.size(); ++s)
    if (!order_free[s] && !weft::keeps_term_order(n, static_cast<int>(s))) return false;
  return true;
}
inline bool fits(weft::schedule const& s, step_limits const& limits) {
  for (weft::sequence<std::int32_t> const& order : s.order) {
    std::int64_t copies = 1;
    for (std::int32_t id : order) {
      weft::loop_info const& l = s.at(id);
      if (!weft::is_written_out(l.kind)) continue;
      if (l.extent < 0 && limits.numbers_only) return false;
      if (l.extent > 1) copies *= l.kind == weft::loop_kind::vectorized ? (l.extent + 7) / 8 : l.extent;
      if (copies > limits.copies) return false;
    }
  }
  return weft::register_pressure(s).empty();
}
/// Takes `one` if it is legal and keeps to the limits.
inline bool try_step(weft::schedule& s, weft::step one, weft::sequence<bool> const& order_free,
                     step_limits const& limits) {
  // First: a stage that a step before would have made may not be there.
  if (weft::schedule::check(s, one).v == weft::verdict::illegal) return false;
  bool const parts = one.what == weft::verb::rfactor || one.what == weft::verb::rfactor_chunks;
  if (parts && !with_added(s, order_free)[static_cast<std::size_t>(one.stage)] &&
      !is_position(s.computation(), static_cast<std::size_t>(one.stage)))
    return false;
  weft::schedule trial = s;
  trial.take(one);
  if (!keeps_order(trial, order_free) || !fits(trial, limits)) return false;
  s = static_cast<weft::schedule&&>(trial);
  return true;
}

inline weft::step pipelined(random_source& r, int stage) {
  weft::step one{weft::verb::pipeline, 0, {}, r.one_of({1, 1, 1, 2, 3, 16})};
  one.stage = stage;
  return one;
}
/// Where it copies, asynchronously; on a CPU that is the same.
template <class Attempt>
void pipeline_a_stage(random_source& r, int stage, Attempt const& attempt) {
  weft::step one = pipelined(r, stage);
  if (!attempt(one)) return;
  one.word = static_cast<std::uint8_t>(weft::transfer::async);
  attempt(one);
}
/// Loops of stages that are computed in one nest, as one.
template <class Attempt>
void jam_some_loops(random_source& r, weft::schedule const& s, Attempt const& attempt) {
  int const first = r.below(static_cast<int>(s.loops.size()));
  weft::step one{weft::verb::jam, 1, {first}};
  int const wanted = r.one_of({2, 2, 2, 3, 4});
  for (int l = 0; l < static_cast<int>(s.loops.size()) && one.count < wanted; ++l) {
    bool fits = l != first && s.at(l).live() && s.at(l).extent == s.at(first).extent && s.root_of(s.at(l).stage) == s.root_of(s.at(first).stage);
    for (int i = 0; i < one.count; ++i) fits = fits && s.at(one.loops[static_cast<std::size_t>(i)]).stage != s.at(l).stage;
    if (fits && r.chance(70)) one.loops[static_cast<std::size_t>(one.count++)] = l;
  }
  if (one.count >= 2) attempt(one);
}
/// A stage, computed in a loop of one that reads it, perhaps with memory for more iterations than one, perhaps a ring.
template <class Attempt>
void place_a_stage(random_source& r, weft::schedule const& s, Attempt const& attempt) {
  using weft::step, weft::verb;
  step one{r.one_of({verb::compute_at, verb::compute_at, verb::compute_at, verb::compute_at, verb::compute_with,
                     verb::compute_inline, verb::compute_root})};
  int const stages = static_cast<int>(s.order.size());
  one.stage = r.below(stages);
  weft::sequence<std::int32_t> const readers =
      weft::detail::readers_of(s.computation())[static_cast<std::size_t>(one.stage)];
  bool const any = readers.empty() || r.chance(20) || one.what == verb::compute_with;
  int const host = any ? r.below(stages) : readers[static_cast<std::size_t>(r.below(static_cast<int>(readers.size())))];
  weft::sequence<std::int32_t> const loops = s.order[static_cast<std::size_t>(host)];
  if (one.what == verb::compute_at || one.what == verb::compute_with) {
    if (loops.empty()) return;
    one.count = 1, one.loops[0] = loops[static_cast<std::size_t>(r.below(static_cast<int>(loops.size())))];
  }
  if (!attempt(one) || one.what != verb::compute_at) return;
  if (r.chance(20)) return pipeline_a_stage(r, one.stage, attempt);
  if (r.chance(40)) return;
  int around = one.loops[0];
  step store{s.position(around) == 0 || r.chance(30) ? verb::store_root : verb::store_at};
  store.stage = one.stage;
  for (int further = r.below(3); further > 0; --further)
    if (int const next = s.places[static_cast<std::size_t>(s.at(around).stage)].loop; next >= 0) around = next;
  int const places = s.position(around) > 0 && r.chance(90) ? s.position(around) : s.position(around) + 1;
  if (store.what == verb::store_at)
    store.count = 1, store.loops[0] = s.order_of(around)[static_cast<std::size_t>(r.below(places))];
  attempt(store);
  int const first = weft::program::at(s.computation().stages, one.stage).first_axis;
  int const spatial = weft::program::at(s.computation().stages, one.stage).spatial;
  if (spatial > 0 && r.chance(40))
    attempt({verb::fold_storage, 1, {weft::program::at(s.loop_of, first + r.below(spatial))}, r.one_of({1, 2, 3, 4, 5, 8, 16, 32})});
}

/// The same without splits that round up.
inline weft::trace without_rounding(weft::trace steps) {
  for (weft::step& s : steps)
    if (s.what == weft::verb::split && s.word == static_cast<int>(weft::tail::round_up)) s.word = 0;
  return steps;
}
/// Another layout of a stage, of at most some thousand points; of some, one that is refused.
inline weft::step draw_layout(random_source& r, weft::schedule const& s, int stage) {
  weft::step one{weft::verb::transform_layout};
  one.stage = stage;
  std::int64_t points = 1;
  std::vector<std::array<std::int64_t, 3>> terms;
  auto const& loops = s.order[static_cast<std::size_t>(stage)];
  for (std::size_t i = 0; i < loops.size(); ++i) {
    std::int32_t const l = loops[i];
    auto const extent_of = [&](std::int32_t of) { return s.at(of).extent < 1 ? 1 : s.at(of).extent; };
    std::int64_t extent = extent_of(l), divisor = 1;
    auto const first = s.at(l).root - weft::program::at(s.computation().stages, stage).first_axis;
    int count = 1;  // dimensions that are joined
    while (!s.at(l).reduced && i + 1 < loops.size() && !s.at(loops[i + 1]).reduced && s.at(loops[i + 1]).root == s.at(l).root + count && r.chance(20))
      extent *= extent_of(loops[++i]), ++count;
    std::int64_t const dim = weft::detail::joined_dims(static_cast<int>(first), count).number();
    while (!s.at(l).reduced && r.chance(divisor == 1 ? 60 : 20)) {
      std::int64_t const modulus = r.one_of({1, 2, 3, 4, 5, 8, 16});
      terms.push_back({dim, divisor, modulus});
      divisor *= modulus;
    }
    points *= (extent + divisor - 1) / divisor * divisor;
    if (!s.at(l).reduced) terms.push_back({dim, divisor, 0});
  }
  for (std::size_t i = terms.size(); i > 1; --i) std::swap(terms[i - 1], terms[static_cast<std::size_t>(r.below(static_cast<int>(i)))]);
  for (auto const& term : terms)
    for (std::int64_t number : term) one.numbers.push_back(r.chance(1) ? r.between(-1, 12) : number);
  one.numbers.push_back(r.one_of({0, 0, 1, -3, 100}));
  if (points > 4000) one.stage = -1;
  return one;
}

/// A stage beside another one, in loops that are fused, cut and reordered as it comes.
template <class Attempt>
void place_beside(random_source& r, weft::schedule const& s, Attempt const& attempt) {
  using weft::step, weft::verb;
  int const stages = static_cast<int>(s.order.size()), host = r.below(stages);
  auto const order = [&]() -> weft::sequence<std::int32_t> const& { return s.order[static_cast<std::size_t>(host)]; };
  if (order().empty()) return;
  auto const any_loop = [&] { return r.one_of(order()); };
  if (order().size() > 1 && r.chance(50)) attempt(step{verb::fuse, 2, {order()[0], order()[1]}});
  for (int cuts = r.below(4); cuts > 0 && order().size() < 8; --cuts)
    attempt(step{verb::split, 1, {any_loop()}, r.one_of({2, 3, 4, 5, 6, 8, 12, 16})});
  if (order().size() > 1 && r.chance(30)) attempt(step{verb::reorder, 2, {any_loop(), any_loop()}});
  if (r.chance(30)) attempt(step{r.one_of({verb::parallel, verb::bind}), 1, {any_loop()}});
  step one{verb::compute_with, 1, {any_loop()}};
  for (int tries = 3; tries > 0; --tries) {
    one.stage = r.below(stages);
    if (attempt(one)) break;
  }
}

inline weft::trace draw_steps(random_source& r, weft::schedule s, weft::sequence<bool> const& order_free,
                              step_limits const& limits) {
  using weft::step, weft::verb;
  auto const attempt = [&](step const& one) { return try_step(s, one, order_free, limits); };
  auto const split = [&](std::int32_t loop, std::int64_t factor) {
    step one{verb::split, 1, {loop}, factor};
    one.word = static_cast<std::uint8_t>(r.one_of({0, 0, 0, 0, 1, 2, 3, 4, 4}));
    return attempt(one);
  };
  auto const change_program = [&](int how) {
    int const stage = r.below(static_cast<int>(s.order.size()));
    step one{verb::cache_write};
    one.stage = stage;
    if (how == 0) {
      one.what = verb::cache_read;
      one.tensor = r.below(static_cast<int>(s.computation().tensors.size()));
      one.word = static_cast<std::uint8_t>(r.below(4) == 0 ? weft::readers::all : weft::readers::one);
      // Of all that read it the first one is named, as by the language.
      int const stages = static_cast<int>(s.order.size());
      for (int first = 0; first < stages && one.word == static_cast<std::uint8_t>(weft::readers::all); ++first)
        if (weft::detail::reads_tensor(s.computation(), first, one.tensor)) {
          one.stage = first;
          break;
        }
    }
    if (how == 2) return void(attempt(draw_layout(r, s, stage)));
    if (s.order.size() >= 8 || !attempt(one)) return;
    // What it made, in a tile of the stage that reads it, perhaps laid out anew.
    int const made = static_cast<int>(s.order.size()) - 1;
    if (one.what == verb::cache_write && r.chance(40)) {  // or the stage in a tile of it
      auto const any_loop = [&] { return r.one_of(s.order[static_cast<std::size_t>(made)]); };
      for (int cuts = r.below(4); cuts > 0 && !s.order[static_cast<std::size_t>(made)].empty(); --cuts)
        attempt({verb::split, 1, {any_loop()}, r.one_of({1, 2, 3, 4, 8})});
      for (int steps = r.below(4); steps > 0 && s.order[static_cast<std::size_t>(made)].size() > 1; --steps)
        attempt(r.chance(60) ? step{verb::reorder, 2, {any_loop(), any_loop()}}
                             : step{r.one_of({verb::parallel, verb::vectorize, verb::unroll}), 1, {any_loop()}});
      step back{verb::reverse_compute_inline};
      if (!s.order[static_cast<std::size_t>(made)].empty() && r.chance(75)) back = {verb::reverse_compute_at, 1, {any_loop()}};
      back.stage = stage;
      return void(attempt(back));
    }
    if (r.chance(30)) attempt(draw_layout(r, s, made));
    auto const& loops = s.order[static_cast<std::size_t>(stage)];
    if (loops.empty() || r.chance(40)) return;
    std::int32_t const tiled = r.one_of(loops);
    if (r.chance(70)) attempt({verb::split, 1, {tiled}, r.one_of({1, 2, 3, 4, 8, 16})});
    step at{verb::compute_at, 1, {r.one_of(s.order[static_cast<std::size_t>(stage)])}};
    at.stage = made;
    attempt(at);
  };
  // Some of these steps come before all others.
  for (int n = r.one_of({0, 0, 0, 1, 2, 4}); n > 0; --n) change_program(r.below(3));
  for (int n = r.one_of({0, 2, 4, 6, 8, 10, 14}); n > 0; --n) {
    weft::sequence<std::int32_t> const order =
        s.order[static_cast<std::size_t>(r.below(static_cast<int>(s.order.size())))];
    if (order.empty()) continue;
    int const place = r.below(static_cast<int>(order.size()));
    std::int32_t const loop = order[static_cast<std::size_t>(place)];
    std::int64_t const factor = r.one_of({1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 16, 16, 33, 64});
    bool const room = order.size() < 8;
    switch (r.below(s.order.size() > 1 ? 31 : 22)) {
      case 0:
      case 1:
        if (room) split(loop, factor);
        break;
      case 2: {
        step one{verb::reorder, 0, {}};
        // Terms around elements: some of several results may be updated once for all of these (schedule/narrow.hpp).
        weft::stage_info const& stage = weft::program::at(s.computation().stages, s.at(loop).stage);
        if (stage.results > 1 && stage.reduced > 0 && r.chance(60)) {
          for (bool const reduced : {true, false})
            for (std::int32_t const l : order)
              if (s.at(l).reduced == reduced && one.count < 6) one.loops[static_cast<std::size_t>(one.count++)] = l;
          attempt(one);
          break;
        }
        weft::sequence<std::int32_t> left = order;
        for (int count = r.between(2, 6); count > 0 && !left.empty(); --count) {
          int const at = r.below(static_cast<int>(left.size()));
          one.loops[static_cast<std::size_t>(one.count++)] = left[static_cast<std::size_t>(at)];
          left.erase(left.begin() + at);
        }
        attempt(one);
        break;
      }
      case 3: {  // as tile does
        if (!room || place + 1 == static_cast<int>(order.size())) break;
        std::int32_t const inner = order[static_cast<std::size_t>(place) + 1];
        if (!split(loop, r.between(1, 6)) || !split(inner, factor)) break;
        attempt({verb::reorder, 4, {s.at(loop).outer, s.at(inner).outer, s.at(loop).inner, s.at(inner).inner}});
        break;
      }
      case 4:
      case 5: attempt({verb::vectorize, 1, {loop}}); break;
      case 6: attempt({r.one_of({verb::unroll, verb::unroll, verb::bind}), 1, {loop}}); break;  // to virtual threads
      case 7: {
        step one{verb::parallel, 1, {loop}};
        if (r.chance(40)) one.numbers.push_back(r.one_of({1, 2, 3, 7, 100}));
        attempt(one);
        break;
      }
      case 8:
      case 9: change_program(n % 3); break;
      case 10: {
        step one{verb::storage_align};
        one.stage = r.below(static_cast<int>(s.order.size()));
        std::int64_t const align = r.one_of({1, 2, 3, 8, 16});
        for (std::int64_t number : {std::int64_t(r.below(3)), align, std::int64_t(r.below(static_cast<int>(align)))})
          one.numbers.push_back(number);
        attempt(one);
        break;
      }
      case 11: {
        step one{verb::set_scope};
        one.stage = r.below(static_cast<int>(s.order.size()));
        one.word = static_cast<std::uint8_t>(r.below(3));
        attempt(one);
        break;
      }
      case 12: {
        step one{r.one_of({verb::reverse_compute_at, verb::reverse_compute_at, verb::reverse_compute_inline})};
        if (one.what == verb::reverse_compute_at) one.count = 1, one.loops[0] = loop;
        for (int stage = 0; stage < static_cast<int>(s.order.size()); ++stage) {
          one.stage = stage;
          if (attempt(one)) break;
        }
        break;
      }
      case 13:
      case 14: {
        step one{verb::fuse, 0, {}};
        for (int at = place, count = r.one_of({2, 2, 2, 3, 4}); one.count < count && at < static_cast<int>(order.size()); ++at)
          one.loops[static_cast<std::size_t>(one.count++)] = order[static_cast<std::size_t>(at)];
        if (one.count < 2 || !attempt(one) || r.chance(40)) break;
        std::int32_t const whole = s.at(one.loops[0]).into;
        if (r.chance(70)) split(whole, factor);
        std::int32_t const part = s.at(whole).live() ? whole : r.chance(50) ? s.at(whole).outer : s.at(whole).inner;
        step use{r.one_of({verb::vectorize, verb::unroll, verb::parallel, verb::compute_at, verb::compute_at}), 1, {part}};
        if (use.what == verb::compute_at) use.stage = r.below(static_cast<int>(s.order.size()));
        attempt(use);
        break;
      }
      case 15:
      case 16: {
        weft::sequence<std::int32_t> reduced;
        for (weft::sequence<std::int32_t> const& loops : s.order)
          for (std::int32_t l : loops)
            if (s.at(l).reduced) reduced.push_back(l);
        if (reduced.empty() || s.order.size() >= 8) break;
        step one{r.one_of({verb::rfactor, verb::rfactor_chunks}), 1, {}, r.one_of({1, 2, 3, 4, 5, 7, 8, 8, 16, 33})};
        one.loops[0] = r.one_of(reduced);
        one.stage = s.at(one.loops[0]).stage;
        auto const made = static_cast<std::int32_t>(s.order.size());
        if (!attempt(one)) break;
        if (r.chance(50)) {  // the lanes inside
          weft::sequence<std::int32_t> const& parts = s.order[static_cast<std::size_t>(made)];
          std::int32_t const lanes = parts[static_cast<std::size_t>(s.computation().stages.back().spatial) - 1];
          attempt({verb::reorder, 2, {parts.back(), lanes}});
          attempt({r.one_of({verb::vectorize, verb::vectorize, verb::unroll, verb::parallel}), 1, {lanes}});
        }
        if (r.chance(50)) {
          step at{verb::compute_at, 1, {r.one_of(s.order[static_cast<std::size_t>(one.stage)])}};
          at.stage = made;
          attempt(at);
        }
        break;
      }
      case 17: {
        step one{verb::decompose_reduction, 1, {loop}};
        one.stage = s.at(loop).stage;
        attempt(one);
        break;
      }
      case 19: {
        step one{verb::store_non_temporal};
        for (one.stage = static_cast<std::int32_t>(s.order.size()); one.stage-- > 0;)
          if (attempt(one)) break;
        break;
      }
      case 28: {
        step one{verb::prepack};
        for (one.stage = static_cast<std::int32_t>(s.order.size()); one.stage-- > 0;)
          if (attempt(one)) break;
        break;
      }
      case 20: {
        step one{verb::prefetch, 1, {loop}, r.one_of({1, 2, 8, 1000})};
        one.tensor = r.below(static_cast<int>(s.computation().tensors.size()));
        if (r.below(2) == 0) one.what = verb::prefetch_inside, one.count = 2, one.loops[1] = r.one_of(order);
        if (one.count == 2 && r.below(2) == 0) one.what = verb::prefetch_in_turns, one.count = 3, one.loops[2] = r.one_of(order);
        one.word = static_cast<std::uint8_t>(r.below(4));
        attempt(one);
        break;
      }
      case 21: {  // where the terms are those of an instruction
        weft::sequence<std::int32_t> loads;
        int const stage = s.at(loop).stage;
        if (weft::program::at(s.computation().stages, stage).by != nullptr) break;  // it has no terms
        for (weft::intrinsic const* by : {&weft::pmaddwd, &weft::vpdpbusd, &weft::vdpbf16ps}) {
          weft::program const& p = s.computation();
          // vdpbf16ps joins the terms of a pair in another order, by operations that round once, and takes denormals for
          // zeros. Where all sums are whole multiples of one small number, and small enough to be exact in f32, nothing is
          // rounded and nothing is a denormal: it must then give the bits of the loop, and all results are compared bit by
          // bit as ever. Where sums do round it is not drawn: tests/schedule and tests/codegen look at those by themselves.
          if (by == &weft::vdpbf16ps && !with_added(s, order_free)[static_cast<std::size_t>(stage)]) continue;
          if (!by->match(p, p.result(weft::program::at(p.stages, stage), 0).body, loads)) continue;
          std::int32_t last = -1;
          for (std::int32_t l : order)
            if (s.at(l).reduced) last = l;
          if (last < 0) break;
          if (s.at(last).extent != by->terms && room && split(last, by->terms)) last = s.at(last).inner;
          if (std::int32_t const inner = s.order_of(last).back(); inner != last) attempt({verb::reorder, 2, {inner, last}});
          weft::sequence<std::int32_t> const around = s.order_of(last);
          for (std::int32_t l : around)
            if (!s.at(l).reduced && r.chance(50) && attempt({verb::vectorize, 1, {l}})) break;
          step one{verb::tensorize, 1, {last}};
          one.by = by;
          attempt(one);
        }
        break;
      }
      case 18: {  // a copy of a nest, for sizes that are mostly those of the case
        step one{verb::specialize};
        one.stage = s.at(loop).stage;
        weft::stage_info const& stage = weft::program::at(s.computation().stages, one.stage);
        for (int conditions = r.one_of({1, 1, 1, 2, 3}); conditions > 0; --conditions) {
          int const axis = r.below(stage.axes());
          std::int64_t const extent = s.at(weft::program::at(s.loop_of, stage.first_axis + axis)).extent;
          std::int64_t const by = r.one_of({std::int64_t(0), factor, factor, extent > 0 ? extent : 2, std::int64_t(r.between(1, 4))});
          std::int64_t const rest = by == 0 ? extent : extent < 0 || r.chance(10) ? r.below(static_cast<int>(by) + 1) : extent % by;
          for (std::int64_t number : {std::int64_t(axis), by, rest}) one.numbers.push_back(number);
        }
        attempt(one);
        break;
      }
      case 22:
        pipeline_a_stage(r, r.below(static_cast<int>(s.order.size())), attempt);
        jam_some_loops(r, s, attempt);
        break;
      case 23: place_beside(r, s, attempt); break;
      default: place_a_stage(r, s, attempt);
    }
  }
  return s.steps;
}

/// `steps` without number `gone`: what it made is spoken of no more.
inline weft::trace without(weft::trace const& steps, std::size_t gone, std::int32_t first_made) {
  weft::trace out;
  weft::step const& dropped = steps[gone];
  // What stands on the stage or its axes would have to go too.
  if (dropped.what == weft::verb::cache_read || dropped.what == weft::verb::cache_write) return out;
  if (dropped.what == weft::verb::rfactor || dropped.what == weft::verb::rfactor_chunks) return out;
  if (dropped.what == weft::verb::transform_layout || dropped.what == weft::verb::reverse_compute_at) return out;
  if (dropped.what == weft::verb::reverse_compute_inline || dropped.what == weft::verb::im2col) return out;
  // What stands on the fused loop would have to go too.
  if (dropped.what == weft::verb::fuse) return weft::trace(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(gone));
  bool const split = dropped.what == weft::verb::split;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    weft::step s = steps[i];
    if (i == gone) continue;
    if (split && i > gone) {
      int kept = 0;
      bool lost = false;
      for (int k = 0; k < s.count; ++k) {
        std::int32_t l = s.loops[static_cast<std::size_t>(k)];
        if (l == first_made + 1) {
          lost = true;
          continue;
        }
        if (l == first_made) l = dropped.loops[0];
        if (l > first_made + 1) l -= 2;
        s.loops[static_cast<std::size_t>(kept++)] = l;
      }
      if (lost && s.what != weft::verb::reorder) {
        // A part of the lost loop cannot be followed any further.
        if (s.what == weft::verb::split || s.what == weft::verb::fuse) return {};
        continue;
      }
      s.count = kept;
    }
    out.push_back(s);
  }
  return out;
}

/// Drops steps as long as `fails` still says so.
template <class Fails>
weft::trace smallest(weft::trace steps, weft::schedule const& start, Fails const& fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t i = steps.size(); i-- > 0 && !smaller;) {
      weft::schedule before = start;
      weft::replay(before, weft::trace(steps.begin(), steps.begin() + i));
      weft::trace const less = without(steps, i, static_cast<std::int32_t>(before.loops.size()));
      if (less.size() + 1 < steps.size() && less.empty()) continue;
      if (less.size() < steps.size() && fails(less)) steps = less, smaller = true;
    }
  }
  return steps;
}

}  // namespace weft_test::fuzz
