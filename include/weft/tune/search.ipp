#include <cmath>

#include "weft/tune/search.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {
inline constexpr std::size_t none = ~std::size_t(0);

template <class T>
T& place(sequence<T>& list, std::size_t i, T const& otherwise) {
  if (list.size() <= i) list.resize(i + i / 2 + 64, otherwise);  // resize makes room for just so many
  return list[i];
}
/// A legal point that was not proposed; `none` after many tries: of a small space, whose points are soon all known, after fewer, as each is a run
/// of the how-lambda or of the rule. (10,000 in each case took six tenths of a tuning of 12 points by rule.)
inline std::size_t fresh_point(known_points& points, random_numbers& random, sequence<bool>& proposed, giving_up const& given_up) {
  for (std::size_t tries = 0; tries < 10000 && tries < 256 + 64 * points.size() && !given_up(); ++tries) {
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
    std::size_t const at = detail::fresh_point(points_, random_, proposed_, given_up_);
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
  for (std::size_t at : ranking_)
    if (points_[at].choices == p.choices) return std::exp(ranked_score(described_[at]));
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
  for (int tries = 0; chains_.size() < count && tries < 100 * how_.chains && !how_.given_up(); ++tries) {
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
      if (how_.given_up()) return;
      std::size_t const next = neighbour(at);
      if (!points_[next].legal) continue;
      double const worse = score(next) - score(at);
      if (worse <= 0 || random_.unit() < std::exp(-worse / temperature)) at = next;
    }
  }
}
WEFT_DECL void annealing_search::walk_outlined(outline const& of) {
  std::size_t const width = of.size();
  sequence<float> rows;
  auto const add = [&](std::size_t at) {
    rows.resize(rows.size() + width);
    of.describe(points_[at].values, of.met(points_[at].values), rows.end() - width);
  };
  boosted_trees cost, legal;
  for (std::size_t m : measured_) add(m);
  cost.fit(rows.data(), width, costs_.data(), costs_.size(), how_.model);
  sequence<double> is_legal;
  sequence<outlined> known, best;
  rows.clear();
  bool all = true;
  constexpr std::size_t most = 512;  // the last ones: what proposals lie next to
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].legal) known.push_back(points_[i].values);
    if (i + most < points_.size()) continue;
    add(i), is_legal.push_back(points_[i].legal ? 1 : 0);
    all = all && points_[i].legal;
  }
  if (!all) legal.fit(rows.data(), width, is_legal.data(), is_legal.size(), how_.model);
  for (std::size_t m : best_measured(8)) best.push_back(points_[m].values);
  for (; left_out_ < points_.size(); ++left_out_) outlined_walk_.leave_out(points_[left_out_].values);
  outlined_walk_.place_chains(known, best, how_.chains, how_.restarts, random_);
  auto const look_at = [&](sequence<outlined> const& some) {
    for (std::size_t i = 0; i < some.size() && !how_.given_up(); ++i)
      outlined_walk_.leave_out(some[i]), static_cast<void>(points_.keep(points_.from().look_by_values(some[i])));
  };
  auto const beside = static_cast<std::size_t>(how_.looks_beside * static_cast<double>(how_.looks));
  look_at(outlined_walk_.best(of, cost, legal, {how_.chains, how_.steps, how_.hottest, how_.coldest, spread_, how_.looks - beside}, random_));
  // Next to the best the models of what was looked at know more than that of the knobs' values.
  look_at(outlined_walk_.beside(of, best, beside, random_));
}
/// Of all that were looked at and not proposed. (A chain keeps no list of where it was: its points are all known.)
WEFT_DECL std::size_t annealing_search::best_expected() {
  for (std::size_t at : ranking_)
    if (!detail::place(proposed_, at, false)) return at;
  return best_scored();
}
WEFT_DECL std::size_t annealing_search::best_scored() {
  std::size_t best = detail::none;
  for (std::size_t i = 0; i < points_.size(); ++i)
    if (points_[i].legal && !detail::place(proposed_, i, false) && (best == detail::none || score(i) < score(best))) best = i;
  return best;
}
WEFT_DECL std::size_t annealing_search::at_random() { return detail::fresh_point(points_, random_, proposed_, how_.given_up); }

WEFT_DECL annealing_search::described const& annealing_search::describe(std::size_t at) {
  described& d = detail::place(described_, at, described{});
  if (d.asked) return d;
  d.asked = true;
  sequence<float> more;
  d.known = points_.from().describe(points_[at], more, d.estimate) && d.estimate > 0;
  if (!d.known) return d;
  d.log_estimate = std::log(d.estimate);
  if (how_.others != nullptr && how_.others->fitted()) d.correction = how_.others->correction(told(more));
  d.features = points_[at].features;
  for (float f : more) d.features.push_back(f);
  return d;
}
WEFT_DECL sequence<float> annealing_search::told(sequence<float> const& of_program) {
  if (mean_.empty()) {
    // By numbers of its own: what is proposed does not hang on whether somebody asked for this.
    random_numbers random(32);
    sequence<double> sums(told_features, 0.0);
    double count = 0;
    double const enough = how_.estimated > 0 && how_.estimated < 32 ? static_cast<double>(how_.estimated) : 32;
    for (int tries = 0; tries < 320 && count < enough && !how_.given_up(); ++tries) {
      point const p = random_point(points_.from(), random);
      sequence<float> more;
      double estimate = 0;
      if (!p.legal || !points_.from().describe(p, more, estimate)) continue;
      ++count;
      for (std::size_t i = 0; i < told_features && i < more.size(); ++i) sums[i] += static_cast<double>(more[i]);
    }
    for (double s : sums) mean_.push_back(static_cast<float>(count > 0 ? s / count : 0));
  }
  sequence<float> relative;
  for (std::size_t i = 0; i < told_features && i < of_program.size(); ++i) relative.push_back(of_program[i] - mean_[i]);
  return relative;
}
WEFT_DECL bool annealing_search::describe(point const& p, example& into) {
  std::size_t const at = points_.keep(p);
  described const& d = describe(at);
  if (!d.known) return false;
  sequence<float> more;
  for (std::size_t i = points_[at].features.size(); i < d.features.size(); ++i) more.push_back(d.features[i]);
  into.estimate = d.estimate;
  into.features = told(more);
  return true;
}
/// The logarithm of the cost is a line over that of the estimate and over its correction, and trees for how far the measurements are from it:
/// with a few of them the line says most, with many the trees do.
WEFT_DECL void annealing_search::fit_ranking() {
  ranks_ = false;
  if (how_.reranked == 0) return;
  double n = 0, x = 0, y = 0, z = 0, xx = 0, xy = 0, xz = 0, zz = 0, zy = 0;
  std::size_t width = 0;
  for (std::size_t i = 0; i < measured_.size(); ++i) {
    described const& d = describe(measured_[i]);
    if (!d.known) continue;
    double const e = d.log_estimate, c = d.correction, cost = costs_[i];
    ++n, x += e, y += cost, z += c, xx += e * e, xy += e * cost, xz += e * c, zz += c * c, zy += c * cost;
    width = d.features.size();
  }
  if (n < 4) return;
  xx -= x * x / n, xy -= x * y / n, xz -= x * z / n, zz -= z * z / n, zy -= z * y / n;
  auto const within_0_1 = [](double v) { return v < 0 ? 0.0 : v > 1 ? 1.0 : v; };
  // The correction is trusted by three quarters at first, as if a few measurements had said so.
  constexpr double first = 0.75, doubt = 0.4;
  double const spread = xx * (zz + doubt) - xz * xz;
  trust_ = spread > 1e-9 ? within_0_1((xx * (zy + doubt * first) - xz * xy) / spread) : 0;
  slope_ = xx > 1e-9 ? within_0_1((xy - trust_ * xz) / xx) : 0;
  sequence<float> rows;
  sequence<double> rest;
  for (std::size_t i = 0; i < measured_.size(); ++i) {
    described const& d = describe(measured_[i]);
    if (!d.known || d.features.size() != width) continue;
    for (float f : d.features) rows.push_back(f);
    rest.push_back(costs_[i] - slope_ * d.log_estimate - trust_ * d.correction);
  }
  ranking_model_.fit(rows.data(), width, rest.data(), rest.size(), how_.model);
  ranks_ = true;
}
WEFT_DECL double annealing_search::ranked_score(described const& d) const {
  return slope_ * d.log_estimate + trust_ * d.correction + ranking_model_.predict(d.features.data());
}
/// Of the points that nobody has proposed, the best by the first model, in the order of the second.
WEFT_DECL void annealing_search::rank() {
  ranking_.clear();
  if (!ranks_) return;
  sequence<double> open;
  for (std::size_t i = 0; i < points_.size(); ++i)
    if (points_[i].legal && !detail::place(proposed_, i, false)) open.push_back(score(i));
  if (open.empty()) return;
  detail::sort(open);
  double const limit = open[open.size() < how_.reranked ? open.size() - 1 : how_.reranked - 1];
  sequence<double> costs;
  for (std::size_t i = 0; i < points_.size() && ranking_.size() < how_.reranked && !how_.given_up(); ++i) {
    if (!points_[i].legal || proposed_[i] || score(i) > limit) continue;
    described const& d = describe(i);
    if (!d.known) continue;
    double const cost = ranked_score(d);
    std::size_t at = ranking_.size();
    while (at > 0 && costs[at - 1] > cost) --at;
    ranking_.insert(ranking_.begin() + at, i);
    costs.insert(costs.begin() + at, cost);
  }
}
/// A point at random, or one to three knobs from the first that was learned.
WEFT_DECL std::size_t annealing_search::near_first() {
  if (how_.near_first <= 0 || measured_.empty() || random_.unit() >= how_.near_first)
    return points_.keep(random_point(points_.from(), random_));
  std::size_t at = measured_[0];
  for (std::int32_t knobs = 1 + random_.below(3); knobs > 0; --knobs)
    if (std::size_t const next = neighbour(at); points_[next].legal) at = next;
  return at;
}
/// Those that are the best by estimate of some at random.
WEFT_DECL void annealing_search::propose_first(std::size_t count, sequence<point>& chosen) {
  sequence<std::size_t> pool;
  for (std::size_t tries = 0; tries < 4 * how_.estimated && pool.size() < how_.estimated && !how_.given_up(); ++tries) {
    std::size_t const at = near_first();
    bool there = !points_[at].legal || detail::place(proposed_, at, false);
    for (std::size_t p : pool) there = there || p == at;
    if (there) continue;
    if (!describe(at).known) return;
    pool.push_back(at);
  }
  while (static_cast<double>(chosen.size()) < how_.first_by_estimate * static_cast<double>(count) && !pool.empty()) {
    // In turns: what other tasks have taught may mislead, as any estimate.
    bool const corrected = chosen.size() % 2 == 0;
    auto const cost = [&](std::size_t at) { return described_[at].log_estimate + (corrected ? described_[at].correction : 0); };
    std::size_t best = 0;
    for (std::size_t i = 1; i < pool.size(); ++i)
      if (cost(pool[i]) < cost(pool[best])) best = i;
    proposed_[pool[best]] = true;
    chosen.push_back(points_[pool[best]]);
    pool.erase(pool.begin() + best);
  }
}

WEFT_DECL sequence<point> annealing_search::propose(std::size_t count) {
  bool const modelled = measured_.size() >= how_.first;
  if (modelled) {
    fit();
    fit_ranking();
    if (outline const* const known = points_.from().outlined_by(); known != nullptr) walk_outlined(*known);
    else place_chains(), walk();
    rank();
  }
  sequence<point> chosen;
  if (!modelled && measured_.size() + 1 < how_.first) propose_first(count, chosen);
  while (chosen.size() < count) {
    bool const by_model = modelled && random_.unit() >= how_.random_share;
    bool const plain = by_model && how_.plain_share > 0 && random_.unit() < how_.plain_share;
    std::size_t at = plain ? best_scored() : by_model ? best_expected() : at_random();
    if (at == detail::none) at = by_model ? at_random() : modelled ? best_expected() : at;
    if (at == detail::none) break;
    detail::place(proposed_, at, false) = true;
    chosen.push_back(points_[at]);
  }
  return chosen;
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
