// Schedules by rule of stages whose last axis is shorter than a vector: colours, levels, bins.
#include "schedule/rules/check.hpp"
#include "weft/ops/pool.hpp"

using namespace weft_test;
using weft::compute;

namespace {
/// Each pixel adds to the bin that its value says: how many, and how much.
inline constexpr auto histogram = weft::kernel<"histogram">([](auto a) {
  auto const rows = a.extent(0) / 4, columns = a.extent(1) / 4;
  return compute<"h">(rows, columns, 7, 2, [=](auto y, auto x, auto z, auto c) {
    return weft::sum(4, 4, [=](auto u, auto v) {
      auto const value = a(4 * y + u, 4 * x + v);
      return weft::select(weft::cast<std::int64_t>(value) == z, weft::select(c == 0, value, 1), 0);
    });
  });
});
/// Of so many levels.
template <int Levels>
constexpr auto levels_of = [](auto a) {
  return compute<"l">(a.extent(0), a.extent(1), Levels, [=](auto y, auto x, auto k) { return a(y, x) * (weft::cast<float>(k) + 1) + a(y, x); });
};
inline constexpr auto three = weft::kernel<"three">(levels_of<3>);
inline constexpr auto four = weft::kernel<"four">(levels_of<4>);
/// Half the size along the middle axis, with edges that are repeated along all.
inline constexpr auto halves = weft::kernel<"halves">([](auto a) {
  auto const e = weft::repeat_edge(a);
  return compute<"g">(a.extent(0), (a.extent(1) + 1) / 2, a.extent(2),
                      [=](auto y, auto x, auto k) { return e(y, 2 * x - 1, k) + e(y, 2 * x, k) * 2 + e(y, 2 * x + 1, k); });
});
/// What is not there along the short axis is 0.
inline constexpr auto along = weft::kernel<"along">([](auto a) {
  auto const z = weft::constant_exterior(a, 0);
  return compute<"g">(a.extent(0), a.extent(1), a.extent(2), [=](auto y, auto x, auto k) { return z(y, x, k - 1) + z(y, x, k) * 2 + z(y - 1, x, k + 1); });
});
/// Dot products with vectors that are the same for all: sums of a row side by side.
inline constexpr auto weights = weft::kernel<"weights">([](auto a, auto w) {
  return compute<"s">(a.extent(0), 3, [=](auto y, auto c) {
    return weft::sum(a.extent(1), [=](auto x) { return weft::select(weft::cast<std::int64_t>(w(x)) == c, a(y, x), 0); });
  });
});
}  // namespace

TEST_CASE("short axes become lanes, with the bits of direct evaluation") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{4, 4}, {9, 40}, {5, 71}}) {
    CAPTURE(m);
    CAPTURE(n);
    check_rule(histogram, drawn<float>(1, m, n));
    check_rule(histogram, drawn<std::int32_t>(2, m, n));
    check_rule(three, drawn<float>(3, m, n));
    check_rule(four, drawn<float>(4, m, n));
    check_rule(weights, drawn<float>(9, m, n), drawn<float>(10, n));
    for (std::int64_t const k : {1, 3, 4, 13}) {
      CAPTURE(k);
      check_rule(halves, drawn<float>(5, m, n, k));
      check_rule(along, drawn<float>(6, m, n, k));
      check_rule(along, drawn<std::int16_t>(7, m, n, k));
    }
  }
}
TEST_CASE("the last axis is joined with those before it until a vector is full") {
  weft::target t = weft::x86_64_avx2();
  t.threads = 1;
  CHECK(has_in_order(histogram.on(t).loops(drawn<float>(1, 40, 40)), {"for m in 0..4", "for n in 0..4", "vectorized kl in 0..14"}));
  CHECK(has_in_order(four.on(t).loops(drawn<float>(1, 40, 100)), {"for i in 0..40", "vectorized jki in 0..32"}));
  CHECK(has_in_order(along.on(t).loops(drawn<float>(1, 8, 9, 4)), {"for i in 0..8", "vectorized jk"}));
}
TEST_CASE("an axis that a comparison hangs on is not fused into the lanes") {
  weft::target t = weft::x86_64_avx2();
  t.threads = 1;
  std::string const loops = along.on(t).loops(drawn<float>(1, 64, 64, 16));
  INFO(loops);
  CHECK(loops.find("ijk") == std::string::npos);
}
TEST_CASE("a row whose length the call says is lanes under masks, where the machine has them, also where it is likely to be short or every second element is read") {
  auto const pooled = weft::kernel<"pooled">([](auto x) {
    return compute<"y">((x.extent(0) + 1) / 2, (x.extent(1) + 1) / 2, [=](auto i, auto j) {
      return weft::max(3, 3, [=](auto k, auto l) {
        auto const p = 2 * i + k - 1, q = 2 * j + l - 1;
        return weft::where(0 <= p && p < x.extent(0) && 0 <= q && q < x.extent(1), x(p, q));
      });
    });
  });
  fuzz::drawn const d = drawn_of(pooled, drawn<float>(1, 28, 28));
  auto const steps = [&](std::int64_t likely, bool open, int bytes) {
    weft::rule_input in{1 << 15, 1 << 20, 1 << 25, 1};
    in.strides.resize(d.what.tensors.size()), in.constant.resize(d.what.tensors.size(), false);
    if (open) in.likely = {{likely, likely}, {(likely + 1) / 2, (likely + 1) / 2}};
    weft::schedule s(d.what, [&](int, int dim) { return open ? std::int64_t(-2 - dim) : likely; }, {32, bytes});
    weft::schedule_by_rule(s, in);
    return weft::print_trace(s);
  };
  for (std::int64_t likely : {14, 28, 56}) {
    INFO(steps(likely, true, 64));
    CHECK(has_in_order(steps(likely, true, 64), {"split(j, 16) -> jo, ji", "vectorize(ji)"}));
  }
  CHECK(has_in_order(steps(56, true, 32), {"split(j, 8, partition) -> jo, ji", "vectorize(ji)"}));
  // Of a known length it is one as a whole: its masks are numbers.
  for (std::int64_t known : {14, 28, 40, 56}) {
    INFO(steps(known, false, 64));
    CHECK(has_in_order(steps(known, false, 64), {"vectorize(j)"}));
  }
  CHECK(has_in_order(steps(64, false, 64), {"split(j, 16) -> jo, ji", "vectorize(ji)"}));
  CHECK(has_in_order(steps(600, false, 64), {"split(j, 160) -> jo, ji", "vectorize(ji)"}));  // two pieces of 300 at most
  CHECK(has_in_order(steps(56, false, 32), {"split(j, 8, partition) -> jo, ji", "vectorize(ji)"}));
}
TEST_CASE("sums in windows that another stage divides are rows under masks, where those are short, too") {
  auto const averages = weft::kernel<"averages">([](auto x) { return weft::ops::avg_pool2d(x, weft::ops::pool_options<2>{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}); });
  weft::target t = weft::host();
  t.threads = 1;
  if (!t.has("avx512f")) MESSAGE("[skip] loops under masks: a machine without AVX-512");
  for (std::int64_t n : {3, 5, 8, 14, 20, 28, 41, 56}) {
    check_rule(averages, drawn<float>(1, 2, 3, n, n));
    check_rule(averages, drawn<double>(2, 2, 3, n, n));
    std::string const loops = averages.on(t).loops(drawn<float>(1, 2, 3, n, n));
    INFO(loops);
    if (t.has("avx512f") && n >= 8) CHECK(has_in_order(loops, {"total", "vectorized l in 0.."}));
  }
}
TEST_CASE("part of a vector is still more than one element after the other") {
  auto const largest = weft::kernel<"largest">([](auto x) {
    return compute<"y">(x.extent(0), x.extent(1) / 2, x.extent(2) / 2, [=](auto c, auto i, auto j) {
      return weft::max(2, 2, [=](auto k, auto l) { return x(c, 2 * i + k, 2 * j + l); });
    });
  });
  weft::target t = weft::x86_64_avx2();
  t.threads = 1;
  CHECK(has_in_order(largest.on(t).loops(drawn<std::uint8_t>(1, 3, 61, 59)), {"vectorized k in 0..29"}));
  for (auto [m, n] : {std::array<std::int64_t, 2>{9, 19}, {14, 46}, {61, 103}}) {
    check_rule(largest, drawn<std::uint8_t>(1, 3, m, n));
    check_rule(largest, drawn<std::int16_t>(2, 3, m, n));
    check_rule(largest, drawn<float>(3, 3, m, n));
  }
}
