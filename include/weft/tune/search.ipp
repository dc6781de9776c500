#include <cmath>

#include "weft/tune/search.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {
inline constexpr std::size_t none = ~std::size_t(0);

template <class T>
T& place(sequence<T>& list, std::size_t i, T const& otherwise) {
  if (list.size() <= i) list.resize(i + 1, otherwise);
  return list[i];
}
/// A legal point that was not proposed; `none` after many tries.
inline std::size_t fresh_point(known_points& points, random_numbers& random, sequence<bool>& proposed) {
  for (int tries = 0; tries < 10000; ++tries) {
    std::size_t const at = points.keep(random_point(points.from(), random));
    if (points[at].legal && !place(proposed, at, false)) return at;
  }
  return none;
}
}  // namespace detail

WEFT_DECL std::size_t* known_points::slot(sequence<std::int32_t> const& choices) {
  if (table_.size() < 2 * points_.size() + 64) {
    table_.assign(4 * points_.size() + 128, std::size_t{0});
    for (std::size_t i = 0; i < points_.size(); ++i) *slot(points_[i].choices) = i + 1;
  }
  std::uint64_t h = 0x9e3779b97f4a7c15u;
  for (std::int32_t c : choices) h = (h ^ static_cast<std::uint64_t>(c)) * 0xff51afd7ed558ccdu, h ^= h >> 29;
  std::size_t i = static_cast<std::size_t>(h) % table_.size();
  while (table_[i] != 0 && !(points_[table_[i] - 1].choices == choices)) i = (i + 1) % table_.size();
  return &table_[i];
}
WEFT_DECL std::size_t known_points::keep(point p) {
  std::size_t* const s = slot(p.choices);
  if (*s != 0) return *s - 1;
  *s = points_.size() + 1;
  points_.push_back(static_cast<point&&>(p));
  return points_.size() - 1;
}
WEFT_DECL std::size_t known_points::find(sequence<std::int32_t> const& choices) {
  std::size_t const* const s = slot(choices);
  return *s != 0 ? *s - 1 : keep(from_->look(choices));
}

WEFT_DECL sequence<point> random_search::propose(std::size_t count) {
  sequence<point> chosen;
  while (chosen.size() < count) {
    std::size_t const at = detail::fresh_point(points_, random_, proposed_);
    if (at == detail::none) break;
    detail::place(proposed_, at, false) = true;
    chosen.push_back(points_[at]);
  }
  return chosen;
}

WEFT_DECL void annealing_search::learn(point const& p, double ns) {
  std::size_t const at = points_.keep(p);
  detail::place(proposed_, at, false) = true;
  if (!(ns > 0)) return;
  measured_.push_back(at);
  costs_.push_back(std::log(ns));
}
WEFT_DECL double annealing_search::expected_ns(point const& p) const {
  return model_.fitted() ? std::exp(model_.predict(p.features.data())) : 0;
}

WEFT_DECL void annealing_search::fit() {
  ++round_;
  std::size_t const width = points_[measured_[0]].features.size();
  sequence<float> rows;
  rows.reserve(width * measured_.size());
  double mean = 0, squares = 0;
  for (std::size_t m : measured_)
    for (float f : points_[m].features) rows.push_back(f);
  for (double c : costs_) mean += c / static_cast<double>(costs_.size());
  for (double c : costs_) squares += (c - mean) * (c - mean) / static_cast<double>(costs_.size());
  spread_ = squares > 1e-12 ? std::sqrt(squares) : 1e-6;
  model_.fit(rows.data(), width, costs_.data(), costs_.size(), how_.model);
}
WEFT_DECL double annealing_search::score(std::size_t at) {
  if (detail::place(scored_, at, 0) != round_) {
    scored_[at] = round_;
    detail::place(scores_, at, 0.0) = model_.predict(points_[at].features.data());
  }
  return scores_[at];
}
/// One knob further: of values in an order the next one as often as any.
WEFT_DECL std::size_t annealing_search::neighbour(std::size_t at) {
  sequence<std::int32_t> choices = points_[at].choices;
  sequence<std::int32_t> const& sizes = points_[at].sizes;
  std::int32_t movable = 0;
  for (std::int32_t s : sizes) movable += s > 1;
  if (movable == 0) return at;
  std::int32_t which = random_.below(movable);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 2 || which-- > 0) continue;
    std::int32_t const up = random_.below(2);
    bool const can_step = up != 0 ? choices[i] + 1 < sizes[i] : choices[i] > 0;
    if (random_.below(2) == 0 && can_step) choices[i] += up != 0 ? 1 : -1;
    else choices[i] = (choices[i] + 1 + random_.below(sizes[i] - 1)) % sizes[i];
    break;
  }
  return points_.find(choices);
}
WEFT_DECL sequence<std::size_t> annealing_search::best_measured(std::size_t count) const {
  sequence<std::size_t> best;
  sequence<bool> taken(measured_.size(), false);
  while (best.size() < count && best.size() < measured_.size()) {
    std::size_t least = detail::none;
    for (std::size_t i = 0; i < measured_.size(); ++i)
      if (!taken[i] && (least == detail::none || costs_[i] < costs_[least])) least = i;
    taken[least] = true;
    best.push_back(measured_[least]);
  }
  return best;
}
WEFT_DECL void annealing_search::place_chains() {
  auto const count = static_cast<std::size_t>(how_.chains);
  for (int tries = 0; chains_.size() < count && tries < 100 * how_.chains; ++tries) {
    std::size_t const at = points_.keep(random_point(points_.from(), random_));
    if (points_[at].legal) chains_.push_back(at);
  }
  while (chains_.size() < count) chains_.push_back(measured_[0]);
  sequence<std::size_t> const best = best_measured(8);
  auto const moved = static_cast<std::size_t>(how_.restarts * how_.chains);
  for (std::size_t i = 0; i < moved; ++i)
    chains_[static_cast<std::size_t>(random_.below(how_.chains))] = best[i % best.size()];
}
WEFT_DECL void annealing_search::walk() {
  for (std::int32_t step = 0; step < how_.steps; ++step) {
    double const done = static_cast<double>(step) / static_cast<double>(how_.steps);
    double const temperature = spread_ * how_.hottest * std::pow(how_.coldest / how_.hottest, done);
    for (std::size_t& at : chains_) {
      std::size_t const next = neighbour(at);
      if (!points_[next].legal) continue;
      double const worse = score(next) - score(at);
      if (worse <= 0 || random_.unit() < std::exp(-worse / temperature)) at = next;
    }
  }
}
/// Of all that were looked at and not proposed. (A chain keeps no list of where it was: its points are all known.)
WEFT_DECL std::size_t annealing_search::best_expected() {
  std::size_t best = detail::none;
  for (std::size_t i = 0; i < points_.size(); ++i)
    if (points_[i].legal && !detail::place(proposed_, i, false) && (best == detail::none || score(i) < score(best))) best = i;
  return best;
}
WEFT_DECL std::size_t annealing_search::at_random() { return detail::fresh_point(points_, random_, proposed_); }

WEFT_DECL sequence<point> annealing_search::propose(std::size_t count) {
  bool const modelled = measured_.size() >= how_.first;
  if (modelled) {
    fit();
    place_chains();
    walk();
  }
  sequence<point> chosen;
  while (chosen.size() < count) {
    bool const by_model = modelled && random_.unit() >= how_.random_share;
    std::size_t at = by_model ? best_expected() : at_random();
    if (at == detail::none) at = by_model ? at_random() : modelled ? best_expected() : at;
    if (at == detail::none) break;
    detail::place(proposed_, at, false) = true;
    chosen.push_back(points_[at]);
  }
  return chosen;
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
