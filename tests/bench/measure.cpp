#include "weft/bench/measure.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/said.hpp"
#include "weft/bench/cuda.hpp"

namespace bench = weft::bench;

namespace {
using bench::now_ns;
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

TEST_CASE("what is longer than a sample is run once in each, and seven times in all where budgets are spent") {
  busy b{5e6};
  auto const t = bench::measure({b.work()}, {.sample_ms = 0.1, .budget_ms = 1})[0];
  CHECK(t.times == 1);
  CHECK(t.samples.size() == 6);
  CHECK(b.calls == 7);
}

TEST_CASE("a third of the time is found faster also where calls are slow") {
  busy a{20e6}, b{60e6};
  auto const found = bench::measure({a.work(), b.work()}, {.sample_ms = 0.1, .budget_ms = 1});
  REQUIRE(found[0].samples.size() == 6);
  REQUIRE(found[1].samples.size() == 6);
  bench::ratio const r = bench::ratio_of_medians(found[0].samples, found[1].samples);
  CHECK(r.sure.high < 1);
  CHECK(bench::judged(r) == bench::outcome::faster);
  CHECK(bench::judged(bench::ratio_of_medians(found[1].samples, found[0].samples)) == bench::outcome::slower);
}

TEST_CASE("whoever asks for fewer rounds than a verdict needs has them, and five budgets allow more than six") {
  busy few{2e6}, more{2e6};
  CHECK(bench::measure({few.work()}, {.sample_ms = 0.01, .budget_ms = 0.1, .fewest = 3})[0].samples.size() == 3);
  CHECK(bench::measure({more.work()}, {.sample_ms = 0.01, .budget_ms = 50, .fewest = 11, .most = 11})[0].samples.size() == 11);
}

TEST_CASE("whoever watches is asked before each sample, and ends it with what there is") {
  busy a{1e6}, b{1e6};
  struct {
    int asked = 0, last = 0;
  } seen;
  auto const found = bench::measure({a.work(), b.work()}, {.sample_ms = 0.01, .budget_ms = 100},
                                    {&seen, [](void* of, int rounds) {
                                       auto& s = *static_cast<decltype(seen)*>(of);
                                       ++s.asked, s.last = rounds;
                                       return rounds < 4;
                                     }});
  CHECK(seen.asked == 2 + 2 * 4 + 1);
  CHECK(seen.last == 4);
  CHECK(found[0].samples.size() == 4);
  CHECK(found[1].samples.size() == 4);
  // Nothing is measured of what was not begun.
  busy c{1e6};
  CHECK(bench::measure({c.work()}, {}, {nullptr, [](void*, int) { return false; }})[0].samples.empty());
  CHECK(c.calls == 0);
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

namespace {
/// Work with a clock of its own, which says so many ns a time, and fails at the call of this number.
struct elsewhere {
  double ns;
  int fails_at = 0, asked = 0;
  static double run(void* object, std::int64_t times) {
    elsewhere& e = *static_cast<elsewhere*>(object);
    return ++e.asked == e.fails_at ? -1 : e.ns * static_cast<double>(times);
  }
  bench::timed_work work() { return {nullptr, this, run}; }
};
}  // namespace

TEST_CASE("work with a clock of its own is measured by that one") {
  elsewhere e{70};
  auto const t = bench::measure({e.work()}, {.sample_ms = 0.1, .fewest = 11})[0];
  CHECK(t.median == doctest::Approx(70));
  CHECK(static_cast<double>(t.times) * 70 >= 0.1e6);
  CHECK(t.settled);
  CHECK(t.samples.size() == 11);
}

TEST_CASE("work that fails is asked no more, whenever it does, and the others go on") {
  for (int at : {1, 2, 9, 14, 15}) {
    elsewhere bad{20000, at}, good{30000};
    auto const t = bench::measure({bad.work(), good.work()}, {.sample_ms = 0.1, .within = 0, .fewest = 20, .most = 20});
    CHECK(t[0].failed);
    CHECK(bad.asked == at);
    CHECK_FALSE(t[1].failed);
    CHECK(t[1].samples.size() == 20);
  }
}

TEST_CASE("work that takes much longer than is of interest is given up, at once or after three samples") {
  elsewhere slow{5e6}, half{2e6}, fast{1e6};
  weft::measuring const how{.sample_ms = 0.1, .fewest = 8, .give_up_ms = 3};
  auto const t = bench::measure({slow.work(), half.work(), fast.work()}, how);
  CHECK(t[0].gave_up);
  CHECK(slow.asked == 1);
  CHECK(t[0].samples[0] == 5e6);
  CHECK(t[1].gave_up);
  CHECK(t[1].samples.size() == 3);
  CHECK_FALSE(t[2].gave_up);
  CHECK(t[2].samples.size() == 8);
}

TEST_CASE("the first call of what takes nanoseconds may take microseconds") {
  struct warming {
    int asked = 0;
    static double run(void* object, std::int64_t times) { return (static_cast<warming*>(object)->asked++ == 0 ? 5e3 : 0) + 10 * static_cast<double>(times); }
  } w;
  auto const t = bench::measure({{nullptr, &w, warming::run}}, {.sample_ms = 0.1, .fewest = 8, .give_up_ms = 3e-5})[0];
  CHECK_FALSE(t.gave_up);
  CHECK(t.median == doctest::Approx(10).epsilon(0.01));
}
TEST_CASE("a moment in which something else ran does not make samples short") {
  struct disturbed {
    int asked = 0;
    static double run(void* object, std::int64_t times) {
      double const ns = 10 * static_cast<double>(times);
      return ++static_cast<disturbed*>(object)->asked == 5 ? ns + 4e6 : ns;
    }
  } d;
  auto const t = bench::measure({{nullptr, &d, disturbed::run}}, {.sample_ms = 0.1, .fewest = 8})[0];
  CHECK(static_cast<double>(t.times) * 10 >= 0.1e6);
}
TEST_CASE("cold caches are refused for a GPU, before one is looked for") {
  std::string const said = weft_test::said_by([] { bench::refuse_cold("k", {.cold = true}); });
  CHECK(said.find("k: benchmark: cold fills the caches of the CPU, not those of a GPU: leave it out, and take arguments") == 0);
}
