#include "weft/bench/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace bench = weft::bench;
using weft::sequence;

namespace {
/// Numbers in 0 .. 1 that look random; the same for the same seed.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(seed * 2 + 1) {}
  double operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    std::uint64_t const mixed = (state_ ^ (state_ >> 32)) * 0x9e3779b97f4a7c15u;
    return static_cast<double>(mixed >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};
/// Like times: a hard end below at `least`, a long tail above, whose median is least + 0.05 ln 2 of it.
sequence<double> times(double least, std::size_t count, std::uint64_t seed) {
  random_source next(seed);
  sequence<double> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(least * (1 - 0.05 * std::log(1 - next())));
  return all;
}
double const middle_of_times = 1 + 0.05 * std::log(2.0);
}  // namespace

TEST_CASE("quantiles are exact at samples and in proportion between them") {
  sequence<double> const v{40, 10, 30, 20};
  CHECK(bench::quantile(v, 0) == 10);
  CHECK(bench::quantile(v, 1) == 40);
  CHECK(bench::median(v) == 25);
  CHECK(bench::quantile(v, 0.1) == doctest::Approx(13));
  CHECK(bench::median({7}) == 7);
  CHECK(bench::median({}) == 0);
}

TEST_CASE("a median does not move with a third of the samples, however far they lie off") {
  sequence<double> v = times(100, 30, 1);
  double const before = bench::median(v);
  for (std::size_t i = 0; i < 10; ++i) v[i] = 1e9;
  CHECK(bench::median(v) >= before);
  CHECK(bench::median(v) < 100 * 1.25);
}

TEST_CASE("the interval of a median leaves out as many samples as a fair coin allows") {
  auto const of = [](int n) {
    sequence<double> v;
    for (int i = 1; i <= n; ++i) v.push_back(i);
    return bench::median_interval(v);
  };
  // Tables of the sign test at 5 %: at most 0 of 6, 1 of 9 to 11, 2 of 12 to 14, 5 of 20 lie on the rarer side.
  CHECK(of(5).low == 1);
  CHECK(of(6).low == 1);
  CHECK(of(6).high == 6);
  CHECK(of(9).low == 2);
  CHECK(of(9).high == 8);
  CHECK(of(12).low == 3);
  CHECK(of(20).low == 6);
  CHECK(of(20).high == 15);
  // 2^-n is no number any more: the normal distribution answers.
  CHECK(of(4000).low == doctest::Approx(2000 - 0.98 * std::sqrt(4000.0)).epsilon(0.001));
  CHECK(of(1000).low == doctest::Approx(500 - 0.98 * std::sqrt(1000.0)).epsilon(0.005));
}

TEST_CASE("the interval of a median holds it in 95 of 100 experiments, or a few more") {
  int holds = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    bench::interval const i = bench::median_interval(times(1, 15, seed));
    holds += i.low <= middle_of_times && middle_of_times <= i.high;
  }
  CHECK(holds >= 935);
  CHECK(holds < 995);  // or it says nothing
}

TEST_CASE("equal things are called the same in nearly all experiments") {
  int same = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    same += bench::judged(bench::ratio_of_medians(times(1, 21, 2 * seed), times(1, 21, 2 * seed + 1))) == bench::outcome::same;
  CHECK(same >= 95);
}

TEST_CASE("a difference beyond the noise is seen, in the right direction") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    sequence<double> const a = times(1, 31, 2 * seed), b = times(1.3, 31, 2 * seed + 1);
    CHECK(bench::judged(bench::ratio_of_medians(a, b)) == bench::outcome::faster);
    CHECK(bench::judged(bench::ratio_of_medians(b, a)) == bench::outcome::slower);
    bench::ratio const r = bench::ratio_of_medians(a, b);
    CHECK(r.sure.low <= r.value);
    CHECK(r.value <= r.sure.high);
    CHECK(r.sure.low < 1 / 1.3);
    CHECK(1 / 1.3 < r.sure.high * 1.05);
  }
}

TEST_CASE("what slows down whole rounds is not taken for a difference, and does not hide one") {
  sequence<double> a = times(1, 41, 1), b = times(1.2, 41, 2);
  for (std::size_t i = 0; i < a.size(); i += 3) a[i] *= 4, b[i] *= 4;  // a neighbour is busy in every third round
  CHECK(bench::judged(bench::ratio_of_medians(a, b)) == bench::outcome::faster);
  CHECK(bench::judged(bench::ratio_of_medians(a, a)) == bench::outcome::same);
}

TEST_CASE("a difference smaller than what is asked for is none") {
  sequence<double> a, b;
  for (int i = 0; i < 21; ++i) a.push_back(100 + 0.001 * i), b.push_back(100.5 + 0.001 * i);
  bench::ratio const r = bench::ratio_of_medians(a, b);
  CHECK(bench::judged(r) == bench::outcome::same);
  CHECK(bench::judged(r, 0.001) == bench::outcome::faster);
}

TEST_CASE("a few samples prove nothing") {
  bench::ratio const r = bench::ratio_of_medians({1, 1, 1}, {5, 5, 5});
  CHECK(r.value == doctest::Approx(0.2));
  CHECK(bench::judged(r) == bench::outcome::same);
}

TEST_CASE("equal samples give equal words") {
  auto const once = bench::ratio_of_medians(times(1, 21, 5), times(1, 21, 6));
  auto const again = bench::ratio_of_medians(times(1, 21, 5), times(1, 21, 6));
  CHECK(once.sure.low == again.sure.low);
  CHECK(once.sure.high == again.sure.high);
}
