// The schedules by rule of drawn programs, on machines whose caches are so small that all that a rule knows pays.
#pragma once

#include "fuzz/steps.hpp"
#include "fuzz/trial.hpp"
#include "weft/schedule/pressure.hpp"
#include "weft/schedule/rules/gpu.hpp"
#include "weft/schedule/rules/rules.hpp"

namespace weft_test::fuzz {

/// Whether only reductions whose bits stay the same are taken in parts.
inline bool parts_may_be(weft::schedule const& s, weft::sequence<bool> const& order_free) {
  weft::sequence<bool> const all = with_added(s, order_free);
  for (weft::step const& one : s.steps) {
    bool const parts = one.what == weft::verb::rfactor || one.what == weft::verb::rfactor_chunks;
    auto const stage = static_cast<std::size_t>(one.stage);
    if (parts && !all[stage] && !is_position(s.computation(), stage)) return false;
  }
  return true;
}
/// Of a machine that `r` draws; sums of floats in another order only where the drawn numbers leave no trace of it. `searched`: not the rule's
/// own schedule but a point of the space around it, one that the tuner would measure.
inline weft::trace steps_by_rule(random_source& r, drawn const& d, bool searched = false) {
  weft::rule_input in;
  in.searched = searched;
  in.l1_bytes = r.one_of({64, 256, 32768});
  in.l2_bytes = 16 * in.l1_bytes;
  in.l3_bytes = r.one_of({128, 4096, 1 << 20});
  in.l3_bytes_per_cycle = in.l3_bytes == 4096 ? 10 : 0;
  in.vector_units = in.l1_bytes == 256 ? 2 : 1;
  in.threads = r.one_of({1, 2, 3, 8});
  in.fork_cycles = r.one_of({0, 20, 60000});
  in.short_fork_cycles = in.fork_cycles;
  in.copy_reads = r.one_of({0, 1, 4, 24});
  weft::schedule_limits const limits = r.one_of({weft::schedule_limits{16, 16}, weft::schedule_limits{16, 32}, weft::schedule_limits{32, 64}});
  for (bool const reassociate : {true, false}) {
    in.reassociate = reassociate;
    weft::schedule s(d.what, extents_of(d), limits);
    in.plan = weft::schedule_by_rule(s, in);
    for (int tries = 0; tries < 4 && !s.knobs.empty(); ++tries) {
      weft::schedule other(d.what, extents_of(d), limits);
      for (std::size_t k = 0; k < weft::schedule::max_knobs; ++k) other.choices.push_back(r.chance(40) ? r.below(12) : 0);
      weft::schedule_by_rule(other, in);
      if (other.state == weft::verdict::illegal || !written_out_too_often(other).empty() || !register_pressure(other).empty()) continue;
      if (reassociate && !(keeps_order(other, d.order_free) && parts_may_be(other, d.order_free))) continue;
      s = other;
      break;
    }
    if ((keeps_order(s, d.order_free) && parts_may_be(s, d.order_free)) || !reassociate) return s.steps;
  }
  return {};
}

/// The same for a GPU. With `r`, a point of the space around it.
inline weft::trace steps_by_gpu_rule(drawn const& d, random_source* r = nullptr) {
  weft::rule_input in;
  in.searched = r != nullptr;
  in.strides.resize(d.what.tensors.size());
  for (bool const reassociate : {true, false}) {
    in.reassociate = reassociate;
    weft::schedule s(d.what, extents_of(d), {0, 16});
    in.plan = weft::schedule_by_gpu_rule(s, in);
    for (int tries = 0; tries < 4 && !s.knobs.empty(); ++tries) {
      weft::schedule other(d.what, extents_of(d), {0, 16});
      for (std::size_t k = 0; k < weft::schedule::max_knobs; ++k) other.choices.push_back(r->chance(40) ? r->below(8) : 0);
      weft::schedule_by_gpu_rule(other, in);
      if (other.state == weft::verdict::illegal) continue;
      if (reassociate && !(keeps_order(other, d.order_free) && parts_may_be(other, d.order_free))) continue;
      s = other;
      break;
    }
    in.plan = 0;
    if ((keeps_order(s, d.order_free) && parts_may_be(s, d.order_free)) || !reassociate) return s.steps;
  }
  return {};
}

}  // namespace weft_test::fuzz
