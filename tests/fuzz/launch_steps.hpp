// Random legal schedules for GPUs: tails, blocks, threads, warps and lanes, shared memory, trees.
#pragma once

#include "fuzz/steps.hpp"

namespace weft_test::fuzz {

/// Draws the steps that make launches, for one schedule.
class launch_drawer {
 public:
  launch_drawer(random_source& r, weft::schedule& s, weft::sequence<bool> const& order_free) : r_(r), s_(s), order_free_(order_free) {}
  /// Stages in loops of others, what they read copied there, asynchronously perhaps, in memory that a block shares.
  void place() {
    for (int n = r_.below(4); n > 0; --n) {
      int const stages = static_cast<int>(s_.order.size());
      if (r_.chance(30) && stages < 8) {
        step copy{r_.chance(70) ? verb::cache_read : verb::cache_write};
        copy.stage = r_.below(stages);
        copy.tensor = r_.below(static_cast<int>(s_.computation().tensors.size()));
        attempt(copy);
        continue;
      }
      auto const attempts = [&](step const& one) { return attempt(one); };
      place_a_stage(r_, s_, attempts);
      step scope{verb::set_scope};
      scope.stage = any_stage();
      scope.word = static_cast<std::uint8_t>(r_.one_of({3, 3, 3, 0, 1}));
      if (r_.chance(30)) attempt(scope);
      pipeline_a_stage(r_, any_stage(), attempts);
      step rows{verb::storage_align}, swizzled{verb::swizzle};
      rows.stage = swizzled.stage = any_stage();
      std::int64_t const dim = s_.computation().stages[static_cast<std::size_t>(rows.stage)].spatial - 2;
      for (std::int64_t number : {dim, r_.one_of({std::int64_t(16), std::int64_t(32), std::int64_t(48)}), std::int64_t(0)}) rows.numbers.push_back(number);
      if (dim >= 0 && r_.chance(30) && attempt(rows)) attempt(swizzled);
      step behind{verb::reverse_compute_inline};
      behind.stage = any_stage();
      if (r_.chance(20)) attempt(behind);
    }
  }
  /// Loops cut, with any tail, put into another order, written out, and bound; of most stages the outermost to blocks.
  void bind() {
    for (std::size_t stage = 0; stage < s_.order.size(); ++stage) {
      for (int cuts = r_.one_of({0, 1, 1, 2}); cuts > 0 && !s_.order[stage].empty() && s_.order[stage].size() < 7; --cuts) {
        step cut{verb::split, 1, {r_.one_of(s_.order[stage])}, r_.one_of({2, 3, 4, 8})};
        cut.word = static_cast<std::uint8_t>(r_.one_of({0, 0, 0, 1, 2, 3, 4}));
        attempt(cut);
      }
      if (s_.order[stage].size() > 1 && r_.chance(40)) {
        weft::sequence<std::int32_t> const order = s_.order[stage];
        attempt({verb::reorder, 2, {r_.one_of(order), r_.one_of(order)}});
      }
      bool const guest = s_.places[stage].loop >= 0;
      int const binds = r_.between(1, 4);
      for (int n = 0; n < binds && !s_.order[stage].empty(); ++n) {
        weft::sequence<std::int32_t> const order = s_.order[stage];
        int const place = !guest && n + 1 < binds && n < static_cast<int>(order.size()) ? n : r_.below(static_cast<int>(order.size()));
        step one{verb::bind, 1, {order[static_cast<std::size_t>(place)]}};
        one.word = static_cast<std::uint8_t>(guest ? r_.one_of({4, 4, 4, 5, 7, 8, 0}) : r_.one_of({1, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 0}));
        attempt(one);
      }
      if (r_.chance(40) && !s_.order[stage].empty())
        attempt({r_.one_of({verb::unroll, verb::unroll, verb::vectorize}), 1, {r_.one_of(s_.order[stage])}});
    }
  }
  /// A reduction in parts that threads join; the identity of one in front of a loop.
  void reduce() {
    weft::sequence<std::int32_t> reduced;
    for (weft::sequence<std::int32_t> const& loops : s_.order)
      for (std::int32_t l : loops)
        if (s_.at(l).reduced) reduced.push_back(l);
    if (reduced.empty()) return;
    std::int32_t const stage = s_.at(r_.one_of(reduced)).stage;
    auto const& loops = s_.order[static_cast<std::size_t>(stage)];
    step identity{verb::decompose_reduction, 1, {r_.one_of(loops)}};
    identity.stage = stage;
    if (r_.chance(30)) attempt(identity);
    step parts{verb::rfactor, 1, {r_.one_of(reduced)}, r_.one_of({2, 4, 8, 32, 33, 64})};
    parts.stage = s_.at(parts.loops[0]).stage;
    auto const made = static_cast<std::int32_t>(s_.order.size());
    if (made >= 8 || !r_.chance(50) || !attempt(parts)) return;
    std::int32_t const joins = s_.loop_of[static_cast<std::size_t>(s_.computation().stages[static_cast<std::size_t>(parts.stage)].first_reduced)];
    std::int32_t const outermost = s_.order[static_cast<std::size_t>(parts.stage)][0];
    if (outermost != joins && r_.chance(70)) attempt(to(outermost, 1));
    attempt(to(joins, r_.one_of({4, 4, 8})));
    step at{verb::compute_at, 1, {r_.one_of(s_.order[static_cast<std::size_t>(parts.stage)])}};
    at.stage = made;
    if (r_.chance(80)) attempt(at);
    identity = {verb::decompose_reduction, 1, {r_.one_of(s_.order[static_cast<std::size_t>(parts.stage)])}};
    identity.stage = parts.stage;
    if (r_.chance(30)) attempt(identity);
  }

 private:
  using step = weft::step;
  using verb = weft::verb;
  bool attempt(step const& one) { return try_step(s_, one, order_free_, {}); }
  int any_stage() { return r_.below(static_cast<int>(s_.order.size())); }
  static step to(std::int32_t loop, int word) {
    step one{verb::bind, 1, {loop}};
    one.word = static_cast<std::uint8_t>(word);
    return one;
  }

  random_source& r_;
  weft::schedule& s_;
  weft::sequence<bool> const& order_free_;
};

/// Steps of any kind, half of the time, and then such as make launches.
inline weft::trace draw_launch_steps(random_source& r, weft::schedule s, weft::sequence<bool> const& order_free) {
  if (weft::trace const before = r.chance(40) ? draw_steps(r, s, order_free, {}) : weft::trace{}; !before.empty()) weft::replay(s, before);
  launch_drawer draw(r, s, order_free);
  if (r.chance(40)) draw.reduce();
  for (int rounds = r.between(1, 3); rounds > 0; --rounds) {
    draw.place();
    draw.bind();
    if (r.chance(40)) draw.place();
  }
  return s.steps;
}

}  // namespace weft_test::fuzz
