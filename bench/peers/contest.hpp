// One operation of one size on so many threads: weft's kernels against all peers that can do it, each checked first.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../harness.hpp"
#include "limits.hpp"
#include "problem.hpp"

namespace bench::peers {

/// What an element of the result must be, and how far from it rounding may lead.
struct expected {
  double value = 0;
  double bound = 0;
};

/// What is done, for figures that mean something.
struct work {
  double operations = 0;         // arithmetic that the formula asks for
  double bytes = 0;              // every input read once, the output written once
  bool by_bytes = false;         // the unit is GB/s rather than GFLOP/s
  bool only_reads = false;       // next to nothing is written
  arithmetic kind = arithmetic::f32;
};

/// weft's speed over that of the best peer, at least: of each row, and of a family's rows with as many threads and the like weights as
/// geometric mean; 0: not asked for.
struct bars {
  double each = 0, mean = 0;
};

class contest {
 public:
  /// `family`: the row of docs/performance.md that it counts for. Weights that are packed before have bars of their own.
  contest(report& r, std::string family, std::string name, problem const& p, work const& w, bars plain, bars packed);
  contest(report& r, std::string family, std::string name, problem const& p, work const& w, bars all)
      : contest(r, std::move(family), std::move(name), p, w, all, all) {}

  /// A kernel of weft's. It is not run when the one before it in the family was so slow that this would take minutes.
  void weft(std::string name, std::function<void()> run, weights as = weights::plain);
  /// weft's speed over that of one variant, at least.
  void over(std::string variant, double bar) { demands_.push_back({std::move(variant), bar, false}); }
  /// weft's speed over that of the variant is 1, or 1 lies within what the rounds say for sure of the ratio of their medians, and a per cent for
  /// the clock: the same code, measured twice, differs by that. Below six rounds nothing is sure, and the medians alone are compared.
  void not_slower_than(std::string variant) { demands_.push_back({std::move(variant), 0.99, true}); }
  /// Elements of the result; of s32 rather than f32.
  void result(std::int64_t count, bool is_integer = false) { count_ = count, is_integer_ = is_integer; }
  /// This share of the operations multiplies by the zeros around an image; a peer may leave it out.
  void may_leave_out(double share) { left_out_ = share; }
  /// Before a checked run, where poison in the result is not the thing: operations in place.
  void before_check(std::function<void()> restore) { restore_ = std::move(restore); }
  /// Elements that a formula answers for: some hundred of them are asked for, of each variant; the others are compared
  /// with those of the first variant that is right.
  void compete(std::function<expected(std::int64_t)> const& formula);
  /// Without a formula: all elements of each variant lie so close to those of the first, which others wrote.
  void agree(double bound);

 private:
  bool is_right(way const& w, std::function<expected(std::int64_t)> const& formula);
  double element(std::int64_t i) const;
  double limit_ns() const;
  std::string unit() const;
  /// Those whose weights are `as`, and on request the others as well; the best peer is of the same kind.
  void print(std::vector<way> const& ways, std::vector<std::vector<double>> const& samples, weights as, bool all);
  /// What was asked for over single variants.
  void print_demands(std::vector<way> const& ways, std::vector<std::vector<double>> const& samples);

  report& report_;
  std::string family_, name_;
  problem problem_;
  work work_;
  bars plain_, packed_;
  struct demand {
    std::string variant;
    double bar = 0;
    bool as_far_as_seen = false;
  };
  std::vector<demand> demands_;
  std::vector<way> own_;
  std::int64_t count_ = 0;
  bool is_integer_ = false;
  std::function<void()> restore_;
  std::vector<double> first_;  // the result of the first variant that is right
  double left_out_ = 0;
  double agreement_ = 0;       // how close to it others have to be, where there is no formula
};

/// The machine, the peers' versions and its limits, each as rows.
void say_where(report& r);
/// The geometric means that have a bar, as rows.
void print_means(report& r);
/// The table of docs/performance.md from all contests so far.
void print_markdown(report& r);

/// What one rounding does to a float, relative to it.
inline constexpr double f32_rounding = 0x1p-24;

}  // namespace bench::peers
