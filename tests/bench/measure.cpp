#include "weft/bench/measure.hpp"

#include <doctest/doctest.h>

#include <time.h>

namespace bench = weft::bench;

namespace {
double now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
/// Takes so long each time, by the clock that it is measured with, whatever else the machine does.
struct busy {
  double ns;
  std::int64_t calls = 0;
  static void run(void* object, std::int64_t times) {
    busy& b = *static_cast<busy*>(object);
    b.calls += times;
    while (times-- > 0)
      for (double const start = now_ns(); now_ns() - start < b.ns;) {
      }
  }
  bench::timed_work work() { return {run, this}; }
};
}  // namespace

TEST_CASE("what takes a known time is measured to take it") {
  busy b{50'000};
  auto const t = bench::measure({b.work()}, {.budget_ms = 100})[0];
  CHECK(t.median >= 50'000 * 0.98);
  CHECK(t.fastest >= 50'000 * 0.98);
  CHECK(t.sure.low <= t.median);
  CHECK(t.median <= t.sure.high);
  CHECK(t.fastest <= t.sure.low);
  CHECK(static_cast<int>(t.samples.size()) >= 11);
}

TEST_CASE("what is shorter than the clock can tell is repeated within a sample") {
  busy b{0};
  auto const t = bench::measure({b.work()}, {.sample_ms = 0.2, .budget_ms = 20})[0];
  CHECK(t.times > 100);
  CHECK(t.median < 50'000);
  CHECK(t.median > 0);
}

TEST_CASE("what is longer than a sample is run once in each, and few times in all") {
  busy b{5e6};
  auto const t = bench::measure({b.work()}, {.sample_ms = 0.1, .budget_ms = 1})[0];
  CHECK(t.times == 1);
  CHECK(t.samples.size() >= 3);
  CHECK(b.calls < 10);
}

TEST_CASE("of two things side by side each gets as many samples, and the shorter is found faster") {
  busy a{20'000}, b{30'000};
  auto const found = bench::measure({a.work(), b.work()}, {.budget_ms = 60});
  REQUIRE(found[0].samples.size() == found[1].samples.size());
  auto const r = bench::ratio_of_medians(found[0].samples, found[1].samples);
  CHECK(bench::judged(r) == bench::outcome::faster);
  CHECK(r.value > 0.3);
}

TEST_CASE("it ends at once when the medians are sure, and says when they are not") {
  busy exact{200'000};
  auto const sure = bench::measure({exact.work()}, {.budget_ms = 1e4, .within = 0.5})[0];
  CHECK(sure.settled);
  CHECK(static_cast<int>(sure.samples.size()) < 201);
  busy other{200'000};
  CHECK_FALSE(bench::measure({other.work()}, {.budget_ms = 1, .within = 0})[0].settled);
}

TEST_CASE("cold: each sample is one run, between which caches are filled with something else") {
  busy b{1000};
  auto const t = bench::measure({b.work()}, {.budget_ms = 1, .cold = true})[0];
  CHECK(t.times == 1);
  CHECK(t.median >= 1000 * 0.9);
}

TEST_CASE("a reading of the clock costs something, and the same whenever it is asked for") {
  CHECK(bench::clock_cost() > 0);
  CHECK(bench::clock_cost() == bench::clock_cost());
}
