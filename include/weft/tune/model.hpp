// A small cost model: regression trees, each fitted to what the ones before it got wrong.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// How a model is fitted.
struct model_settings {
  int trees = 60;
  int depth = 4;
  double rate = 0.2;    // of each tree's answer that counts
  double least = 2;     // rows in a leaf
  double towards_0 = 1; // of a leaf's answer: rows that say 0 and are not there
};

/// Gradient-boosted regression trees over histograms of at most 32 bins.
///
///     cost(x) = mean + rate * tree_1(x) + rate * tree_2(x) + ..
///
/// Needs   nothing but the numbers: equal rows and settings give equal models
/// Cost    fit: rows * width * depth * trees steps of 1.3 ns, 10 ms for 256 rows of 120; predict: 60 * 4 steps without a branch, 0.3 us
/// Source  Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 2001; the bins and the
///         leaf's weight: Chen, Guestrin, XGBoost, KDD 2016, sections 2.2 and 3.2
class boosted_trees {
 public:
  /// Rows of `width` features each, one behind the other, and what each cost.
  void fit(float const* rows, std::size_t width, double const* costs, std::size_t count, model_settings const& how = {});
  /// What it expects of a row.
  double predict(float const* row) const;
  bool fitted() const { return fitted_; }
  /// By feature: how much it has taken from the squared error, as a share of what all have taken.
  sequence<double> importance() const;

 private:
  /// Trees are complete ones, one behind the other, the children of node i being 2 i + 1 and 2 i + 2. What a leaf above the last row has below it
  /// lets all rows pass to the left.
  struct node {
    std::int32_t feature = 0;
    float threshold = std::numeric_limits<float>::infinity();  // to the left: not more than this
  };
  struct bin_sum {
    double sum, count;
  };
  struct binned {
    struct feature {
      std::int32_t number;
      std::size_t first;        // of its bins among all
      sequence<float> limits;   // between them
    };
    sequence<feature> distinct;    // the features by which rows can be told apart, each way to do it once
    sequence<std::uint16_t> bin;   // row by row: of each of them, the bin among all
    std::size_t rows = 0, bins = 0;
    sequence<bin_sum> sums;        // by bin, of the rows of a node
  };
  struct cut {
    double gain = 0;
    std::int32_t feature = -1;  // among the distinct ones
    std::size_t bin = 0;        // among all
  };
  static binned bins_of(float const* rows, std::size_t width, std::size_t count);
  static cut best_cut(binned& b, sequence<double> const& rest, sequence<std::int32_t> const& rows, model_settings const& how);
  /// Node `at` of the last tree, `depth` rows above its leaves, and what is below it. Takes what the tree answers from `rest`.
  void grow(binned& b, sequence<double>& rest, sequence<std::int32_t> const& rows, std::size_t at, int depth, model_settings const& how);

  double mean_ = 0;
  int depth_ = 0;
  bool fitted_ = false;
  sequence<node> nodes_;     // 2^depth - 1 of each tree
  sequence<double> leaves_;  // 2^depth of each tree: what is added
  sequence<double> gains_;
};

/// How well two lists agree about the order of their elements, -1 to 1: Spearman's rank correlation.
double rank_correlation(double const* a, double const* b, std::size_t count);

/// Of the `top` least of `b`, the share that is among the `top` least of `a`; ties count as they come.
double top_recall(double const* a, double const* b, std::size_t count, std::size_t top);

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/model.ipp"
#endif
