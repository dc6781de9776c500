// Which points to measure next: at random, or by annealing on a model of what was measured so far.
#pragma once

#include "weft/tune/model.hpp"
#include "weft/tune/other_tasks.hpp"
#include "weft/tune/outline.hpp"
#include "weft/tune/point.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// Proposes points and is told what they cost. The same seed and the same costs give the same proposals.
class search {
 public:
  virtual ~search() = default;
  /// At most `count` legal points, none of which was proposed before; none: there are no more, or none was found in
  /// ten thousand tries, of small spaces in fewer.
  virtual sequence<point> propose(std::size_t count) = 0;
  /// A proposed point took so many nanoseconds; 0: it failed.
  virtual void learn(point const& p, double ns) = 0;
  /// What a model expects it to take; 0: there is none.
  virtual double expected_ns(point const&) const { return 0; }
  /// A measured point as an example for other tasks; false: it knows nothing of its loop program.
  virtual bool describe(point const&, example& /*into*/) { return false; }
};

/// Points that were looked at, each once.
class known_points {
 public:
  explicit known_points(landscape& l) : from_(&l) {}
  /// The number of the point at which the choices lead.
  std::size_t find(sequence<std::int32_t> const& choices);
  std::size_t keep(point p);
  point const& operator[](std::size_t i) const { return points_[i]; }
  std::size_t size() const { return points_.size(); }
  landscape& from() const { return *from_; }

 private:
  std::size_t* slot(sequence<std::int32_t> const& choices);
  landscape* from_;
  sequence<point> points_;
  sequence<std::size_t> table_;  // number + 1 of a point, 0: free
};

/// The baseline: points in no order.
class random_search final : public search {
 public:
  random_search(landscape& l, std::uint64_t seed, giving_up given_up = {}) : points_(l), random_(seed), given_up_(given_up) {}
  sequence<point> propose(std::size_t count) override;
  void learn(point const&, double) override {}

 private:
  known_points points_;
  random_numbers random_;
  giving_up given_up_;
  sequence<bool> proposed_;
};

/// How an annealing_search goes about it.
struct annealing_settings {
  std::int32_t chains = 64;      // they walk on from round to round
  std::int32_t steps = 60;       // of each in a round
  std::size_t first = 8;         // points before there is a model
  double first_by_estimate = 0.75;  // of these, the share that is best by estimate; the others are at random
  std::size_t estimated = 128;   // of so many at random; 0: all are at random
  double near_first = 0;         // of these, the share that lies a few knobs from the first point that was learned
  std::size_t looks = 160;       // where a look is dear, so many of the best by the knobs' values alone are looked at in a round
  double looks_beside = 0.25;    // of these, the share that lies next to the best that were measured
  std::size_t reranked = 160;    // of the best by the model so many are described and ranked anew in a round; 0: none
  double random_share = 0.1;     // of later proposals
  double plain_share = 0.5;      // of those by a model, what the first one alone decides: estimates mislead in some spaces (decision 049)
  double hottest = 1, coldest = 0.02;  // temperatures of a round, in standard deviations of the costs
  double restarts = 0.25;        // of the chains begin a round at the best points that were measured
  model_settings model{};
  giving_up given_up{};          // asked as a round goes on, which then ends with what it has: a look may take long
  other_tasks const* others = nullptr;  // what trials of other tasks have taught, if any; outlives the search
};

/// Chains of points, each one knob away from the one before it, that go where the model expects less time, and uphill by chance:
/// often at the beginning of a round, seldom at its end. The best that they met are ranked anew by a second model, which knows what
/// their loop programs cost by estimate (landscape::describe) and how the measurements differed from that; the first of these
/// are proposed, and as many of the first by the first model. With `others` the estimates are corrected by what trials of other tasks have
/// taught: every other one of the first proposals is the best by what that gives, and in the second model the correction has a weight of its own,
/// which the measurements decide.
///
/// Where a look is dear (landscape::outlined_by) the chains walk on the values of knobs alone: a model of these says what a point may cost, another
/// one, of the points that were looked at, whether it is legal. The best that they meet are looked at, and go the same way from there.
///
/// Cost    a round of 64 chains and 60 steps looks at 3,840 points at most, where that is dear at `looks`; and describes 160, each once in its life
/// Source  Kirkpatrick et al., Optimization by simulated annealing, Science 1983; chains that persist, ranked by boosted trees:
///         Chen et al., Learning to optimize tensor programs, NeurIPS 2018
class annealing_search final : public search {
 public:
  annealing_search(landscape& l, std::uint64_t seed, annealing_settings const& how = {})
      : points_(l), random_(seed), how_(how) {}
  sequence<point> propose(std::size_t count) override;
  void learn(point const& p, double ns) override;
  double expected_ns(point const& p) const override;
  bool describe(point const& p, example& into) override;
  boosted_trees const& model() const { return model_; }

 private:
  struct described {
    bool asked = false, known = false;
    double estimate = 0, log_estimate = 0;
    double correction = 0;     // of the logarithm, by what other tasks have taught
    sequence<float> features;  // the point's own ones first
  };
  void fit();
  void fit_ranking();
  described const& describe(std::size_t at);
  /// Of a loop program's features those that other tasks are told, less the mean of the space.
  sequence<float> told(sequence<float> const& of_program);
  void rank();
  double ranked_score(described const& d) const;
  void propose_first(std::size_t count, sequence<point>& chosen);
  double score(std::size_t at);
  std::size_t neighbour(std::size_t at);
  std::size_t near_first();
  void place_chains();
  void walk();
  void walk_outlined(outline const& of);
  sequence<std::size_t> best_measured(std::size_t count) const;
  std::size_t best_expected();
  std::size_t best_scored();
  std::size_t at_random();

  known_points points_;
  random_numbers random_;
  annealing_settings how_;
  boosted_trees model_;
  sequence<std::size_t> chains_;
  outlined_walk outlined_walk_;
  std::size_t left_out_ = 0;               // of the points, those that the outlined walk knows
  sequence<bool> proposed_;                // by point
  sequence<double> scores_;                // by point, of this round's model
  sequence<std::int32_t> scored_;          // by point: the round in which it was
  sequence<std::size_t> measured_;
  sequence<double> costs_;                 // logarithms, of those measured
  sequence<described> described_;          // by point
  sequence<float> mean_;                   // of what other tasks are told; empty: not looked for yet
  boosted_trees ranking_model_;
  double slope_ = 0, trust_ = 0;           // of the logarithm of the cost over that of the estimate; over its correction
  bool ranks_ = false;
  sequence<std::size_t> ranking_;          // points, the best first
  double spread_ = 1;
  std::int32_t round_ = 0;
};

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/search.ipp"
#endif
