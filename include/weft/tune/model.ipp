#include <cmath>
#include <cstdlib>
#include <cstring>

#include "weft/tune/model.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {
inline constexpr std::size_t most_bins = 32;

template <class T>
void sort(sequence<T>& values) {
  std::qsort(values.data(), values.size(), sizeof(T), [](void const* a, void const* b) {
    T const x = *static_cast<T const*>(a), y = *static_cast<T const*>(b);
    return x < y ? -1 : y < x ? 1 : 0;
  });
}
/// The place of each element when they are sorted; equal ones share the middle of theirs.
inline sequence<double> ranks(double const* values, std::size_t count) {
  sequence<double> r(count, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    double below = 0, equal = 0;
    for (std::size_t k = 0; k < count; ++k) below += values[k] < values[i], equal += values[k] == values[i];
    r[i] = below + (equal - 1) / 2;
  }
  return r;
}
}  // namespace detail

WEFT_DECL boosted_trees::binned boosted_trees::bins_of(float const* rows, std::size_t width, std::size_t count) {
  constexpr std::size_t most_in_all = 65536;  // what a number of `bin` can say
  binned b;
  b.rows = count;
  sequence<sequence<std::uint8_t>> columns;  // of the distinct features
  sequence<float> values, distinct;
  sequence<std::uint8_t> column(count, std::uint8_t{0});
  for (std::size_t f = 0; f < width; ++f) {
    values.clear(), distinct.clear();
    for (std::size_t i = 0; i < count; ++i) values.push_back(rows[i * width + f]);
    detail::sort(values);
    for (float v : values)
      if (distinct.empty() || v > distinct.back()) distinct.push_back(v);
    std::size_t const bins = distinct.size() < detail::most_bins ? distinct.size() : detail::most_bins;
    if (bins < 2 || b.bins + bins > most_in_all) continue;
    sequence<float> limits;
    for (std::size_t i = 1; i < bins; ++i) {
      std::size_t const at = i * distinct.size() / bins;
      limits.push_back((distinct[at - 1] + distinct[at]) / 2);
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t k = 0;
      while (k < limits.size() && rows[i * width + f] > limits[k]) ++k;
      column[i] = static_cast<std::uint8_t>(k);
    }
    // Of few rows many features say the same; a cut by the first of them would be taken anyway.
    bool there = false;
    for (std::size_t i = 0; i < columns.size() && !there; ++i) there = std::memcmp(columns[i].data(), column.data(), count) == 0;
    if (there) continue;
    b.distinct.push_back({static_cast<std::int32_t>(f), b.bins, limits});
    b.bins += bins;
    columns.push_back(column);
  }
  b.bin.resize(count * columns.size(), std::uint16_t{0});
  for (std::size_t f = 0; f < columns.size(); ++f)
    for (std::size_t i = 0; i < count; ++i) b.bin[i * columns.size() + f] = static_cast<std::uint16_t>(b.distinct[f].first + columns[f][i]);
  b.sums.resize(b.bins, bin_sum{});
  return b;
}

WEFT_DECL boosted_trees::cut boosted_trees::best_cut(binned& b, sequence<double> const& rest, sequence<std::int32_t> const& rows,
                                                     model_settings const& how) {
  double sum = 0;
  for (std::int32_t r : rows) sum += rest[static_cast<std::size_t>(r)];
  auto const score = [&](double s, double n) { return s * s / (n + how.towards_0); };
  double const all = static_cast<double>(rows.size()), before = score(sum, all);
  cut best;
  // Row by row: two sums of one bin, one behind the other, would wait for each other.
  std::size_t const features = b.distinct.size();
  bin_sum* const sums = b.sums.data();
  for (std::size_t k = 0; k < b.bins; ++k) sums[k] = {0, 0};
  for (std::int32_t r : rows) {
    auto const i = static_cast<std::size_t>(r);
    std::uint16_t const* const bin = b.bin.data() + i * features;
    double const one = rest[i];
    for (std::size_t f = 0; f < features; ++f) {
      sums[bin[f]].sum += one;
      sums[bin[f]].count += 1;
    }
  }
  for (std::size_t f = 0; f < features; ++f) {
    std::size_t const first = b.distinct[f].first, limits = b.distinct[f].limits.size();
    double left = 0, left_count = 0;
    for (std::size_t k = first; k < first + limits; ++k) {
      if (sums[k].count == 0) continue;  // the cut before it
      left += sums[k].sum, left_count += sums[k].count;
      if (left_count < how.least) continue;
      if (all - left_count < how.least) break;
      double const gain = score(left, left_count) + score(sum - left, all - left_count) - before;
      if (gain > best.gain + 1e-12) best = {gain, static_cast<std::int32_t>(f), k};
    }
  }
  return best;
}

WEFT_DECL void boosted_trees::grow(binned& b, sequence<double>& rest, sequence<std::int32_t> const& rows, std::size_t at, int depth,
                                   model_settings const& how) {
  bool const can_cut = depth > 0 && static_cast<double>(rows.size()) >= 2 * how.least;
  cut const c = can_cut ? best_cut(b, rest, rows, how) : cut{};
  std::size_t const leaves = std::size_t(1) << depth_;
  if (c.feature < 0) {
    double sum = 0;
    for (std::int32_t r : rows) sum += rest[static_cast<std::size_t>(r)];
    double const answer = how.rate * (sum / (static_cast<double>(rows.size()) + how.towards_0));
    for (std::int32_t r : rows) rest[static_cast<std::size_t>(r)] -= answer;
    leaves_[leaves_.size() - leaves + ((at + 1) << depth) - leaves] = answer;
    return;
  }
  auto const f = static_cast<std::size_t>(c.feature);
  auto const& feature = b.distinct[f];
  gains_[static_cast<std::size_t>(feature.number)] += c.gain;
  sequence<std::int32_t> left, right;
  for (std::int32_t r : rows) (b.bin[static_cast<std::size_t>(r) * b.distinct.size() + f] <= c.bin ? left : right).push_back(r);
  grow(b, rest, left, 2 * at + 1, depth - 1, how);
  grow(b, rest, right, 2 * at + 2, depth - 1, how);
  nodes_[nodes_.size() - (leaves - 1) + at] = {feature.number, feature.limits[c.bin - feature.first]};
}

WEFT_DECL void boosted_trees::fit(float const* rows, std::size_t width, double const* costs, std::size_t count,
                                  model_settings const& how) {
  nodes_.clear(), leaves_.clear();
  gains_.assign(width, 0.0);
  mean_ = 0, depth_ = how.depth, fitted_ = count > 0;
  for (std::size_t i = 0; i < count; ++i) mean_ += costs[i] / static_cast<double>(count);
  binned b = bins_of(rows, width, count);
  sequence<double> rest;
  sequence<std::int32_t> all;
  for (std::size_t i = 0; i < count; ++i) rest.push_back(costs[i] - mean_), all.push_back(static_cast<std::int32_t>(i));
  std::size_t const leaves = std::size_t(1) << depth_;
  for (int t = 0; t < how.trees; ++t) {
    nodes_.resize(nodes_.size() + leaves - 1, {}), leaves_.resize(leaves_.size() + leaves, 0.0);
    grow(b, rest, all, 0, how.depth, how);
  }
}

WEFT_DECL double boosted_trees::predict(float const* row) const {
  std::size_t const leaves = std::size_t(1) << depth_;
  double cost = mean_;
  node const* tree = nodes_.data();
  for (double const *answers = leaves_.data(), *const end = answers + leaves_.size(); answers != end; answers += leaves, tree += leaves - 1) {
    std::size_t at = 0;
    for (int step = 0; step < depth_; ++step) at = 2 * at + 2 - static_cast<std::size_t>(row[tree[at].feature] <= tree[at].threshold);
    cost += answers[at - (leaves - 1)];
  }
  return cost;
}

WEFT_DECL sequence<double> boosted_trees::importance() const {
  double all = 0;
  for (double g : gains_) all += g;
  sequence<double> shares = gains_;
  for (double& g : shares) g = all > 0 ? g / all : 0;
  return shares;
}

WEFT_DECL double rank_correlation(double const* a, double const* b, std::size_t count) {
  if (count < 2) return 0;
  sequence<double> const x = detail::ranks(a, count), y = detail::ranks(b, count);
  double const middle = (static_cast<double>(count) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < count; ++i) {
    xy += (x[i] - middle) * (y[i] - middle);
    xx += (x[i] - middle) * (x[i] - middle);
    yy += (y[i] - middle) * (y[i] - middle);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

WEFT_DECL double top_recall(double const* a, double const* b, std::size_t count, std::size_t top) {
  if (top == 0 || count == 0) return 0;
  auto const place = [&](double const* of, std::size_t i) {
    std::size_t below = 0;
    for (std::size_t k = 0; k < count; ++k) below += of[k] < of[i] || (k < i && of[k] == of[i]);
    return below;
  };
  double both = 0;
  for (std::size_t i = 0; i < count; ++i) both += place(a, i) < top && place(b, i) < top;
  return both / static_cast<double>(top < count ? top : count);
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
