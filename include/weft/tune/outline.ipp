#include <cmath>
#include <cstring>

#include "weft/compile.hpp"
#include "weft/tune/outline.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {
inline std::uint64_t bit(std::size_t place) { return std::uint64_t(1) << place; }
/// Never 0.
inline std::uint64_t hash_of(outlined const& o) {
  std::uint64_t h = 0x9e3779b97f4a7c15u;
  for (std::size_t i = 0; i < outlined::most; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, o.at + i, 8);
    h = (h ^ eight) * 0xff51afd7ed558ccdu, h ^= h >> 31;
  }
  return h | 1;
}
inline bool are_equal(outlined const& a, outlined const& b) { return std::memcmp(a.at, b.at, outlined::most) == 0; }
}  // namespace detail

WEFT_DECL int outline::place(short_name const& knob) const {
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == knob) return static_cast<int>(i);
  return -1;
}
WEFT_DECL outlined outline::note(sequence<knob_info> const& knobs) {
  outlined o;
  std::uint64_t met = 0;
  for (knob_info const& k : knobs) {
    int known = place(k.name);
    if (known < 0 && names_.size() == outlined::most) continue;
    if (known < 0) {
      known = static_cast<int>(names_.size());
      names_.push_back(k.name), values_.push_back({}), logarithms_.push_back({}), beside_.push_back({});
    }
    auto const at = static_cast<std::size_t>(known);
    if ((met & detail::bit(at)) != 0) continue;  // of two with one name the first: a look gives both what it has
    sequence<std::int64_t>& own = values_[at];
    constexpr std::size_t most = 255;
    for (std::size_t i = 0; i < k.values.size(); ++i) {
      bool const chosen = i == static_cast<std::size_t>(k.chosen);
      if (own.size() == most && !chosen) continue;
      std::size_t number = i < own.size() && own[i] == k.values[i] ? i : 0;  // as a rule those that were seen before
      while (number < own.size() && own[number] != k.values[i]) ++number;
      if (number == own.size() && number < most) {
        own.push_back(k.values[i]), beside_[at].push_back(0);
        logarithms_[at].push_back(static_cast<float>(std::log2(1 + static_cast<double>(k.values[i]))));
      }
      if (chosen && number == own.size()) number = static_cast<std::size_t>(weft::detail::nearest_value(own, k.values[i]));
      if (chosen) o.at[at] = static_cast<std::uint8_t>(number);
    }
    met |= detail::bit(at);
  }
  for (std::size_t p = 0; p < names_.size(); ++p)
    if ((met & detail::bit(p)) != 0 && o.at[p] < beside_[p].size()) beside_[p][o.at[p]] |= met;
  return o;
}
WEFT_DECL std::uint64_t outline::met(outlined const& o) const {
  std::uint64_t all = names_.size() == outlined::most ? ~std::uint64_t(0) : detail::bit(names_.size()) - 1;
  for (std::size_t p = 0; p < names_.size(); ++p)
    if ((all & detail::bit(p)) != 0 && beside_[p][o.at[p]] != 0) all &= beside_[p][o.at[p]];
  return all;
}
WEFT_DECL void outline::describe(outlined const& o, std::uint64_t met, float* features) const {
  for (std::size_t p = 0; p < names_.size(); ++p) features[p] = (met & detail::bit(p)) != 0 ? logarithms_[p][o.at[p]] : -1.0f;
}

WEFT_DECL bool outlined_walk::is_left_out(outlined const& o) const {
  if (left_out_.empty()) return false;
  std::uint64_t const h = detail::hash_of(o);
  std::size_t i = static_cast<std::size_t>(h >> 1) % left_out_.size();
  while (left_out_[i] != 0 && left_out_[i] != h) i = (i + 1) % left_out_.size();
  return left_out_[i] == h;
}
WEFT_DECL void outlined_walk::leave_out(outlined const& o) {
  if (is_left_out(o)) return;
  auto const put = [&](std::uint64_t h) {
    std::size_t i = static_cast<std::size_t>(h >> 1) % left_out_.size();
    while (left_out_[i] != 0) i = (i + 1) % left_out_.size();
    left_out_[i] = h;
  };
  if (left_out_.size() < 2 * count_left_out_ + 64) {
    sequence<std::uint64_t> const before = left_out_;
    left_out_.assign(4 * count_left_out_ + 256, std::uint64_t{0});
    for (std::uint64_t h : before)
      if (h != 0) put(h);
  }
  put(detail::hash_of(o));
  ++count_left_out_;
}
WEFT_DECL void outlined_walk::place_chains(sequence<outlined> const& known, sequence<outlined> const& best, std::int32_t chains, double restarts,
                                           random_numbers& random) {
  while (chains_.size() < static_cast<std::size_t>(chains) && !known.empty())
    chains_.push_back(known[static_cast<std::size_t>(random.below(static_cast<std::int32_t>(known.size())))]);
  auto const moved = static_cast<std::size_t>(restarts * chains);
  for (std::size_t i = 0; i < moved && !best.empty() && !chains_.empty(); ++i)
    chains_[static_cast<std::size_t>(random.below(static_cast<std::int32_t>(chains_.size())))] = best[i % best.size()];
}
/// What is not met has no value of its own, so that a point has one form.
inline outlined in_one_form(outline const& of, outlined o, std::uint64_t met) {
  for (std::size_t p = 0; p < of.size(); ++p)
    if ((met & detail::bit(p)) == 0) o.at[p] = 0;
  return o;
}
/// One knob further: of its values the next larger or smaller one as often as any.
inline outlined outlined_walk::neighbour(outline const& of, outlined o, random_numbers& random) {
  std::uint64_t const met = of.met(o);
  std::int32_t movable = 0;
  for (std::size_t p = 0; p < of.size(); ++p) movable += (met & detail::bit(p)) != 0 && of.count(p) > 1;
  if (movable == 0) return o;
  std::int32_t which = random.below(movable);
  for (std::size_t p = 0; p < of.size(); ++p) {
    if ((met & detail::bit(p)) == 0 || of.count(p) < 2 || which-- > 0) continue;
    auto const count = static_cast<std::int32_t>(of.count(p));
    std::size_t to = (o.at[p] + 1u + static_cast<std::size_t>(random.below(count - 1))) % of.count(p);
    if (random.below(2) == 0) {
      bool const up = random.below(2) != 0;
      std::int64_t const own = of.value(p, o.at[p]);
      std::size_t next = o.at[p];
      for (std::size_t i = 0; i < of.count(p); ++i) {
        std::int64_t const v = of.value(p, i), least = of.value(p, next);
        if (up ? v > own && (next == o.at[p] || v < least) : v < own && (next == o.at[p] || v > least)) next = i;
      }
      if (next != o.at[p]) to = next;
    }
    o.at[p] = static_cast<std::uint8_t>(to);
    break;
  }
  return in_one_form(of, o, of.met(o));
}
WEFT_DECL sequence<outlined> outlined_walk::beside(outline const& of, sequence<outlined> const& points, std::size_t count, random_numbers& random) const {
  sequence<outlined> found;
  for (std::size_t tries = 0; tries < 8 * count && found.size() < count && !points.empty(); ++tries) {
    outlined o = neighbour(of, points[tries % points.size()], random);
    if (random.below(2) == 0) o = neighbour(of, o, random);
    bool there = is_left_out(o);
    for (outlined const& other : found) there = there || detail::are_equal(other, o);
    if (!there) found.push_back(o);
  }
  return found;
}
inline std::size_t outlined_walk::visit(outline const& of, boosted_trees const& cost, boosted_trees const& legal, outlined o) {
  std::uint64_t const met = of.met(o);
  if (slots_.size() < 2 * visited_.size() + 64) {
    slots_.assign(4 * visited_.size() + 4096, std::uint32_t{0});
    for (std::size_t i = 0; i < visited_.size(); ++i) {
      std::size_t s = static_cast<std::size_t>(detail::hash_of(visited_[i].point) >> 1) % slots_.size();
      while (slots_[s] != 0) s = (s + 1) % slots_.size();
      slots_[s] = static_cast<std::uint32_t>(i + 1);
    }
  }
  std::size_t s = static_cast<std::size_t>(detail::hash_of(o) >> 1) % slots_.size();
  while (slots_[s] != 0 && !detail::are_equal(visited_[slots_[s] - 1].point, o)) s = (s + 1) % slots_.size();
  if (slots_[s] != 0) return slots_[s] - 1;
  float features[outlined::most];
  of.describe(o, met, features);
  double const sure = legal.fitted() ? legal.predict(features) : 1;
  visited_.push_back({o, met, cost.predict(features), sure < 0 ? 0 : sure > 1 ? 1 : sure});
  slots_[s] = static_cast<std::uint32_t>(visited_.size());
  return visited_.size() - 1;
}
WEFT_DECL sequence<outlined> outlined_walk::best(outline const& of, boosted_trees const& cost, boosted_trees const& legal, settings const& how,
                                                 random_numbers& random) {
  visited_.clear();
  slots_.assign(slots_.size(), std::uint32_t{0});
  sequence<std::size_t> at;
  for (outlined const& c : chains_) at.push_back(visit(of, cost, legal, in_one_form(of, c, of.met(c))));
  for (std::int32_t step = 0; step < how.steps; ++step) {
    double const done = static_cast<double>(step) / static_cast<double>(how.steps);
    double const temperature = how.spread * how.hottest * std::pow(how.coldest / how.hottest, done);
    for (std::size_t& one : at) {
      std::size_t const next = visit(of, cost, legal, neighbour(of, visited_[one].point, random));
      if (random.unit() >= visited_[next].legal) continue;
      double const worse = visited_[next].cost - visited_[one].cost;
      if (worse <= 0 || random.unit() < std::exp(-worse / temperature)) one = next;
    }
  }
  for (std::size_t i = 0; i < chains_.size(); ++i) chains_[i] = visited_[at[i]].point;
  // What is not likely to be legal has to be so much better.
  auto const rank = [&](visited const& v) { return v.cost + how.spread * (1 - v.legal); };
  sequence<double> order;
  sequence<std::size_t> fresh;
  for (std::size_t i = 0; i < visited_.size(); ++i)
    if (visited_[i].legal > 0.1 && !is_left_out(visited_[i].point)) fresh.push_back(i), order.push_back(rank(visited_[i]));
  sequence<outlined> found;
  if (fresh.empty() || how.wanted == 0) return found;
  detail::sort(order);
  double const limit = order[order.size() < how.wanted ? order.size() - 1 : how.wanted - 1];
  for (std::size_t i : fresh)
    if (found.size() < how.wanted && rank(visited_[i]) <= limit) found.push_back(visited_[i].point);
  return found;
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
