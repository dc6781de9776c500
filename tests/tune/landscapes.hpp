// Spaces with known costs: formulas that behave as schedules do, and tables that were recorded.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "weft/tune/search.hpp"

namespace weft_test {

/// Costs like those of a tiled loop nest: a ridge of good tiles, some that are refused, an order of loops that matters, knobs
/// that only one branch has, and six per cent of what no feature tells.
class tiles : public weft::tuning::landscape {
 public:
  explicit tiles(std::uint64_t seed) : seed_(seed) {}
  weft::tuning::point look(weft::sequence<std::int32_t> const& choices) override {
    weft::tuning::point p;
    auto const knob = [&](std::int32_t size) {
      std::size_t const i = p.choices.size();
      p.choices.push_back(i < choices.size() ? choices[i] % size : 0);
      p.sizes.push_back(size);
      return p.choices[i];
    };
    std::int32_t const mr = 1 + knob(8), nv = 1 + knob(4), kb = knob(7), order = knob(6), packed = knob(2);
    std::int32_t const panel = packed != 0 ? knob(5) : -1;
    std::int32_t const unroll = knob(3);
    p.legal = mr * nv + nv + 1 <= 32;
    for (double f : {double(mr), double(nv), double(kb), double(order), double(packed), double(panel), double(unroll),
                     double(mr * nv), double(order / 2)})
      p.features.push_back(static_cast<float>(f));
    double const tile = mr * nv, best_kb = packed != 0 ? 4 : 2;
    log_cost_ = 3.0 / std::sqrt(tile) + 0.01 * (kb - best_kb) * (kb - best_kb) + 0.25 * (order / 2 != 1) +
                0.04 * (order % 2) + (packed != 0 ? -0.3 + 0.03 * std::abs(panel - 3) : 0) + 0.02 * std::abs(unroll - 1) +
                0.06 * noise(p.choices);
    return p;
  }
  double ns(weft::tuning::point const& p) {
    look(p.choices);
    return 1e6 * std::exp(log_cost_);
  }

 private:
  /// 0 to 1, the same for the same point.
  double noise(weft::sequence<std::int32_t> const& choices) const {
    std::uint64_t h = seed_;
    for (std::int32_t c : choices) h = weft::tuning::random_numbers(h * 31 + static_cast<std::uint64_t>(c)).next();
    return static_cast<double>(h >> 11) * 0x1p-53;
  }
  std::uint64_t seed_;
  double log_cost_ = 0;
};

/// The same for a search that is to look at few of its points.
class outlined_tiles : public tiles {
 public:
  using tiles::tiles;
  weft::tuning::point look(weft::sequence<std::int32_t> const& choices) override {
    ++looks;
    weft::tuning::point p = tiles::look(choices);
    p.values = known_.note(knobs_of(p));
    return p;
  }
  weft::tuning::outline const* outlined_by() const override { return &known_; }
  weft::tuning::point look_by_values(weft::tuning::outlined const& wanted) override {
    weft::sequence<std::int32_t> choices;
    for (weft::tuning::point p = tiles::look({}); choices.size() < p.sizes.size(); p = tiles::look(choices)) {
      auto const place = static_cast<std::size_t>(known_.place(knobs_of(p)[choices.size()].name));
      choices.push_back(static_cast<std::int32_t>(known_.value(place, wanted.at[place])));
    }
    return look(choices);
  }
  int looks = 0;

 private:
  static weft::sequence<weft::knob_info> knobs_of(weft::tuning::point const& p) {
    weft::sequence<weft::knob_info> knobs;
    for (std::size_t i = 0; i < p.sizes.size(); ++i) {
      char const* const names[] = {"mr", "nv", "kb", "order", "packed", "panel", "unroll"};
      weft::knob_info k{weft::short_name(names[i == 5 && p.sizes.size() == 6 ? 6 : i]), {}, p.choices[i]};
      for (std::int32_t v = 0; v < p.sizes[i]; ++v) k.values.push_back(v);
      knobs.push_back(k);
    }
    return knobs;
  }
  weft::tuning::outline known_;
};

/// The cheapest legal point, by looking at all.
template <class Landscape>
double best_of(Landscape& l) {
  double best = 0;
  weft::sequence<std::int32_t> choices;
  for (;;) {
    weft::tuning::point const p = l.look(choices);
    double const ns = p.legal ? l.ns(p) : 0;
    if (ns > 0 && (best == 0 || ns < best)) best = ns;
    choices = p.choices;
    std::size_t i = choices.size();
    while (i-- > 0) {
      if (++choices[i] < p.sizes[i]) break;
      choices[i] = 0;
    }
    if (i == ~std::size_t(0)) return best;
    choices.resize(i + 1);
  }
}
/// How many points a search measures until one reaches 95 % of the best speed; `most` + 1: it did not.
template <class Landscape>
int trials_until_good(weft::tuning::search& s, Landscape& l, double best, int most, std::size_t batch) {
  for (int measured = 0; measured < most;) {
    weft::sequence<weft::tuning::point> const proposed = s.propose(batch);
    if (proposed.empty()) break;
    for (weft::tuning::point const& p : proposed) {
      ++measured;
      double const ns = l.ns(p);
      if (ns * 0.95 <= best) return measured;
      s.learn(p, ns);
    }
  }
  return most + 1;
}

}  // namespace weft_test
