#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weft/base/joined.hpp"
#include "weft/bench/measure.hpp"
#include "weft/expr/expand.hpp"
#include "weft/schedule/pressure.hpp"
#include "weft/schedule/term_order.hpp"
#include "weft/tune/loop_features.hpp"
#include "weft/tune/warp_features.hpp"
#include "weft/tune/space.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {
inline constexpr std::size_t knob_features = 32, described_stages = 4, stage_features = 14;

/// The trip count, 1 where it is not known.
inline double trips(loop_info const& l) { return l.extent > 0 ? static_cast<double>(l.extent) : 1; }
inline float log_of(double x) { return static_cast<float>(std::log2(1 + x)); }

/// Of one stage: how much is written out, vectorized, shared out; where the reduction stands; what the innermost loops cover.
inline void add_stage(sequence<float>& f, schedule const& s, int stage) {
  sequence<std::int32_t> const& order = s.order[static_cast<std::size_t>(stage)];
  placement const& p = s.places[static_cast<std::size_t>(stage)];
  double unrolled = 1, lanes = 1, threads = 1, inner = 1, covered[4] = {1, 1, 1, 1};
  std::size_t depth = 0, reduced_at = 0, vector_at = 0, serial = 0;
  for (std::size_t i = order.size(); i-- > 0; ++depth) {
    loop_info const& l = s.at(order[i]);
    if (l.kind == loop_kind::unrolled) unrolled *= trips(l);
    if (l.kind == loop_kind::vectorized) lanes = trips(l), vector_at = depth + 1;
    if (is_concurrent(l.kind)) threads *= trips(l);
    if (l.reduced && reduced_at == 0) reduced_at = depth + 1;
    inner *= trips(l);
    if (l.kind == loop_kind::serial && serial < 4) covered[serial++] = inner;
  }
  for (std::size_t i = serial; i < 4; ++i) covered[i] = inner;
  float const described[stage_features] = {
      static_cast<float>(order.size()), log_of(unrolled), log_of(lanes), log_of(threads), static_cast<float>(reduced_at),
      static_cast<float>(vector_at), static_cast<float>(registers_of(s, stage).needed()), log_of(covered[0]),
      log_of(covered[1]), log_of(covered[2]), log_of(covered[3]), log_of(inner), p.inlined ? 1.0f : 0.0f,
      p.loop < 0 ? -1.0f : static_cast<float>(s.position(p.loop))};
  for (float one : described) f.push_back(one);
}
/// What the stages that are computed inside loops of others keep of themselves there, at most.
inline double bytes_inside(schedule const& s) {
  double bytes = 0;
  program const& p = s.computation();
  for (std::size_t i = 0; i < s.places.size(); ++i) {
    placement const& place = s.places[i];
    if (place.inlined || place.loop < 0 || place.store != placement::as_computed) continue;
    double elements = 1;
    for (std::int32_t l : s.order[i])
      if (!s.at(l).reduced) elements *= trips(s.at(l));
    if (s.is_part(s.order[i].empty() ? 0 : s.order[i][0])) continue;  // decided by what is read: not known here
    bytes += elements * static_cast<double>(size_bytes(program::at(p.tensors, p.stages[i].tensor).type));
  }
  return bytes;
}
inline std::string with_commas(double n) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.0f", n);
  std::string t;
  std::size_t const count = std::strlen(digits);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && (count - i) % 3 == 0) t += ',';
    t += digits[i];
  }
  return t;
}
}  // namespace detail

WEFT_DECL space::space(compile_request const& r) : request_(r), expanded_(weft::detail::expanded_program(r)) {
  request_.by_rule = r.by_rule && r.how == nullptr;
  if (!request_.by_rule) return;
  schedule first;
  told_ = weft::detail::rule_input_for(request_, expanded_, first);
  told_.memory = &memory_;
  request_.told = &told_;
}
WEFT_DECL std::string space::why_not(sequence<std::int32_t> const& choices) const {
  schedule const s = weft::detail::schedule_with(request_, expanded_, choices);
  std::string problem = weft::detail::why_not(request_, s);
  if (problem.empty()) problem = loses_bits(s);
  if (request_.gpu != nullptr) return problem.empty() ? too_large_for_gpu(s) : problem;
  if (problem.empty()) problem = register_pressure(s);
  if (problem.empty() && request_.machine->l2_bytes > 0 &&
      detail::bytes_inside(s) > static_cast<double>(request_.machine->l2_bytes))
    problem = "what its stages keep inside of loops does not fit the cache of a core";
  return problem;
}
/// Where the sum of what a block's buffers take is too much, the passes say which of them have the same bytes; that takes milliseconds.
WEFT_DECL gpu_costs space::costs_on_gpu(schedule const& s) const {
  ir::arena m;
  ir::function const f = weft::detail::lowered(m, request_, s);
  gpu_costs const c = costs_of_gpu_loops(f, *request_.machine);
  if (!shares_too_much(c, *request_.machine)) return c;
  ir::arena passed;
  return costs_of_gpu_loops(f, *request_.machine, shared_bytes_of_launches(request_.gpu->loops(passed, request_, s)));
}
WEFT_DECL std::string space::too_large_for_gpu(schedule const& s) const {
#if WEFT_HAS_EXCEPTIONS
  try {
#endif
    bool first = true;  // what a call takes without tuning is measured, whatever its registers are thought to be
    for (knob_info const& k : s.knobs) first = first && k.chosen == 0;
    return too_large(costs_on_gpu(s), *request_.machine, !first);
#if WEFT_HAS_EXCEPTIONS
  } catch (error const& e) {
    return e.what();
  }
#endif
}
inline bool space::fits(schedule const& s) const {
  if (s.state == verdict::illegal || !weft::detail::why_not(request_, s).empty()) return false;
  if (request_.gpu != nullptr) return too_large_for_gpu(s).empty();
  return register_pressure(s).empty() && (request_.machine->l2_bytes <= 0 || detail::bytes_inside(s) <= static_cast<double>(request_.machine->l2_bytes));
}
inline std::string space::loses_bits(schedule const& s) const { return weft::detail::is_bitwise(request_) ? why_not_bitwise(s) : std::string(); }
inline point space::judged(schedule const& s) const {
  point p;
  for (knob_info const& k : s.knobs) {
    p.choices.push_back(k.chosen);
    p.sizes.push_back(static_cast<std::int32_t>(k.values.size()));
  }
  p.legal = loses_bits(s).empty() && fits(s);
  return p;
}
WEFT_DECL point space::glance(sequence<std::int32_t> const& choices) {
  return judged(weft::detail::schedule_with(request_, expanded_, choices));
}
WEFT_DECL point space::looked_at(schedule s) {
  point p = judged(s);
  p.values = outline_.note(s.knobs);
  if (!p.legal) return p;
  sequence<std::size_t> places;
  for (knob_info const& k : s.knobs) {
    int const place = outline_.place(k.name);
    places.push_back(place < 0 ? outlined::most : static_cast<std::size_t>(place));
  }
  p.features = features_of(s, places);
  if (!is_by_rule()) return p;
  if (recent_.size() < most_recent) recent_.push_back(static_cast<schedule&&>(s));
  else recent_[next_recent_++ % most_recent] = static_cast<schedule&&>(s);
  return p;
}
WEFT_DECL point space::look(sequence<std::int32_t> const& choices) {
  return looked_at(weft::detail::schedule_with(request_, expanded_, choices));
}
WEFT_DECL point space::look_by_values(outlined const& wanted) {
  struct context {
    outline const& of;
    outlined const& wanted;
  } const c{outline_, wanted};
  return looked_at(weft::detail::schedule_with(request_, expanded_, [](void const* of, short_name const& knob, sequence<std::int64_t> const& values) {
    auto const& all = *static_cast<context const*>(of);
    int const place = all.of.place(knob);
    if (place < 0) return std::int32_t(0);
    auto const at = static_cast<std::size_t>(place);
    return weft::detail::nearest_value(values, all.of.value(at, all.wanted.at[at]));
  }, &c));
}
WEFT_DECL point space::at_random(random_numbers& r, bool features) {
  struct context {
    random_numbers& random;
  } const c{r};
  schedule s = weft::detail::schedule_with(request_, expanded_, [](void const* of, short_name const&, sequence<std::int64_t> const& values) {
    return static_cast<context const*>(of)->random.below(static_cast<std::int32_t>(values.size()));
  }, &c);
  return features ? looked_at(static_cast<schedule&&>(s)) : judged(s);
}
WEFT_DECL bool space::describe(point const& p, sequence<float>& features, double& estimate) {
#if WEFT_HAS_EXCEPTIONS
  try {
#endif
    if (request_.gpu != nullptr) {
      gpu_costs found = costs_on_gpu(at(p.choices));
      features = static_cast<sequence<float>&&>(found.features);
      estimate = found.estimate;
      return estimate > 0;
    }
    ir::arena m;
    target by = *request_.machine;
    if (int const asked = weft::detail::asked_threads(request_); asked > 0 && asked < by.threads) by.threads = asked;
    loop_costs found = costs_of_loops(weft::detail::lowered(m, request_, at(p.choices)), by);
    features = static_cast<sequence<float>&&>(found.features);
    estimate = found.estimate;
    return estimate > 0;
#if WEFT_HAS_EXCEPTIONS
  } catch (error const&) {  // what lowering refuses is found out when it is measured
    return false;
  }
#endif
}
WEFT_DECL bool space::first(point& p) {
  sequence<std::int32_t> choices;
  for (int tries = 0; tries < 4096; ++tries) {
    p = look(choices);
    if (p.legal || (weft::detail::is_bitwise(request_) && fits(steps(choices)))) return true;
    if (!next_point(p, choices)) return false;
  }
  return false;
}
WEFT_DECL schedule space::steps(sequence<std::int32_t> const& choices) const {
  auto const is_there = [&](schedule const& s) {
    bool same = s.knobs.size() == choices.size();
    for (std::size_t i = 0; i < choices.size() && same; ++i) same = s.knobs[i].chosen == choices[i];
    return same;
  };
  for (schedule const& s : recent_)
    if (is_there(s)) return s;
  return weft::detail::schedule_with(request_, expanded_, choices);
}
WEFT_DECL schedule space::at(sequence<std::int32_t> const& choices) const {
  schedule s = steps(choices);
  return weft::detail::finished(request_, s);
}

WEFT_DECL sequence<float> features_of(schedule const& s, sequence<std::size_t> const& places) {
  sequence<float> f(detail::knob_features, -1.0f);
  for (std::size_t i = 0; i < s.knobs.size(); ++i) {
    std::size_t const at = i < places.size() ? places[i] : i;
    if (at < f.size()) f[at] = detail::log_of(static_cast<double>(s.knobs[i].values[static_cast<std::size_t>(s.knobs[i].chosen)]));
  }
  // The last ones first: those are what the outputs are made of; copies that steps have added are told by their knobs.
  std::size_t const stages = s.original->stages.size();
  for (std::size_t i = 0; i < detail::described_stages && i < stages; ++i)
    detail::add_stage(f, s, static_cast<int>(stages - 1 - i));
  f.resize(detail::knob_features + detail::described_stages * detail::stage_features, 0.0f);
  return f;
}

WEFT_DECL bool whole_count::go_on(int points) {
  for (; points > 0 && !ended_; --points) {
    point const p = of_.glance(next_);
    ++size_.points, ++size_.looked_at;
    if (p.legal) ++size_.legal;
    size_.exact = !next_point(p, next_);
    ended_ = size_.exact || size_.points >= at_most_;
  }
  return !ended_;
}
WEFT_DECL space_size measure(landscape& l, std::int64_t most_counted, std::uint64_t seed, int walks_at_most, double most_seconds) {
  space_size size;
  random_numbers random(seed);
  double walks = 0;
  auto const walk = [&](int count) {
    for (; count > 0; --count, ++walks) {
      point const p = random_point(l, random, false);
      double product = 1;
      for (std::int32_t n : p.sizes) product *= n;
      size.points += product;
      if (p.legal) size.legal += product;
      ++size.looked_at;
    }
  };
  double const limit = static_cast<double>(most_counted), began = bench::now_ns();
  auto const is_late = [&](double left, double each) { return bench::now_ns() - began + left * each > 1e9 * most_seconds; };
  space_size counted;
  // False: there are more than so many, or they would take too long. A count that would not end in time is given up where points turn out to take longer.
  auto const count_all = [&](double at_most, bool however_long) {
    whole_count all(l, at_most);
    while (all.go_on(256)) {
      double const expected = size.points / walks, done = all.so_far().points;
      if (!however_long && is_late(expected > done ? expected - done : 0, (bench::now_ns() - began) / done)) break;
    }
    counted = all.so_far();
    size.looked_at += counted.looked_at;
    return counted.exact;
  };
  // As few as the walks that would estimate them are counted in any case.
  constexpr double few = 64;
  walk(8);
  if (size.points / walks <= 2 * few && limit >= few && count_all(few, true)) return counted;
  walk(56);
  // By what a walk took, which is one look: a rule's 256 looks to find that out are a tenth of a short tuning.
  bool const could_end = !is_late(size.points / walks / 2, (bench::now_ns() - began) / walks);
  if (could_end && size.points / walks <= 2 * limit && count_all(limit, false)) return counted;
  for (int left = walks_at_most - 64; left > 0 && !is_late(0, 0); left -= 16) walk(left < 16 ? left : 16);
  size.points /= walks, size.legal /= walks;
  return size;
}
WEFT_DECL std::string text(space_size const& s) {
  if (!s.exact && s.looked_at == 0) return "points not counted";
  if (s.exact) return joined({detail::with_commas(s.points), s.points == 1 ? " point, " : " points, ", detail::with_commas(s.legal), " legal"});
  char line[96], points[32];
  std::snprintf(points, sizeof points, "%.2g", s.points);
  double const rounded = std::strtod(points, nullptr);
  std::snprintf(line, sizeof line, " points, %.3g %% legal (estimated)", s.points > 0 ? 100 * s.legal / s.points : 0);
  return joined({"about ", rounded < 1e9 ? detail::with_commas(rounded) : std::string(points), line});
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
