// Schedules by rule of reductions, and of rows that need several of them.
#include "schedule/rules/check.hpp"

#include <cmath>

#include "weft/ops/softmax.hpp"

using namespace weft_test;
using weft::compute, weft::sum;

namespace {
inline constexpr auto rows = weft::kernel<"rows">(
    [](auto a) { return compute<"s">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto k) { return a(i, k); }); }); });
inline constexpr auto columns = weft::kernel<"columns">(
    [](auto a) { return compute<"s">(a.extent(1), [=](auto j) { return sum(a.extent(0), [=](auto k) { return a(k, j); }); }); });
inline constexpr auto whole = weft::kernel<"whole">([](auto a) {
  return compute<"s">(1, [=](auto) { return sum(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j); }); });
});
inline constexpr auto largest = weft::kernel<"largest">([](auto a) {
  return compute<"s">(a.extent(0), [=](auto i) { return weft::max(a.extent(1), [=](auto k) { return a(i, k); }); });
});
inline constexpr auto place = weft::kernel<"place">([](auto a) {
  return compute<"s">(a.extent(0), [=](auto i) { return weft::argmax(a.extent(1), [=](auto k) { return a(i, k); }); });
});
inline constexpr auto centred = weft::kernel<"centred">([](auto a) {
  auto total = compute<"total">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto k) { return a(i, k); }); });
  auto d = compute<"d">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) * 4.f - total(i); });
  auto high = compute<"high">(a.extent(0), [=](auto i) { return weft::max(a.extent(1), [=](auto k) { return d(i, k); }); });
  return compute<"y">(a.extent(0), a.extent(1), [=](auto i, auto j) { return d(i, j) - high(i) * d(i, j); });
});
inline constexpr auto mean_of_columns = weft::kernel<"mean_of_columns">([](auto a) {
  auto total = compute<"total">(a.extent(1), [=](auto j) { return sum(a.extent(0), [=](auto k) { return a(k, j); }); });
  return compute<"y">(a.extent(1), [=](auto j) { return total(j) * 0.25f; });
});
inline constexpr auto softmax = weft::kernel<"softmax">([](auto x) { return weft::ops::softmax(x); });
inline constexpr auto attention = weft::kernel<"attention">([](auto q, auto k, auto v) {
  auto s = compute<"s">(q.extent(0), k.extent(0), [=](auto i, auto j) {
    return sum(q.extent(1), [=](auto d) { return q(i, d) * k(j, d); });
  });
  auto top = compute<"top">(q.extent(0), [=](auto i) { return weft::max(k.extent(0), [=](auto j) { return s(i, j); }); });
  auto e = compute<"e">(q.extent(0), k.extent(0), [=](auto i, auto j) { return s(i, j) - top(i); });
  return compute<"y">(q.extent(0), v.extent(1), [=](auto i, auto d) {
    return sum(k.extent(0), [=](auto j) { return e(i, j) * v(j, d); });
  });
});
template <class T>
void shapes(auto const& k) {
  for (auto [m, n] : {std::array<std::int64_t, 2>{1, 1}, {3, 0}, {3, 7}, {1, 131}, {64, 3}, {17, 64}, {5, 300}}) {
    CAPTURE(m);
    CAPTURE(n);
    check_rule(k, drawn<T>(1, m, n));
  }
}
}  // namespace

TEST_CASE("sums of rows, of columns and of everything") {
  shapes<float>(rows);
  shapes<float>(columns);
  shapes<float>(whole);
  shapes<weft::f16>(rows);
  shapes<std::int8_t>(whole);
}
TEST_CASE("maxima and their places") {
  shapes<float>(largest);
  shapes<std::int32_t>(largest);
  shapes<float>(place);
}
TEST_CASE("all that a row needs is computed while it is at hand") {
  shapes<float>(centred);
  shapes<float>(mean_of_columns);
  auto const x = drawn<float>(1, 20, 300);
  CHECK(has_in_order(centred.loops(x), {"y\n", "for i in 0..20", "total", "part(20)", "high"}));
  check_rule(attention, drawn<float>(1, 9, 8), drawn<float>(2, 37, 8), drawn<float>(3, 37, 16));
}
TEST_CASE("terms are taken in another order only where that is allowed") {
  weft::tensor<float, 2> x(3, 1000);
  std::uint64_t state = 42;
  for (float& one : x) one = static_cast<float>((state = state * 6364136223846793005u + 1442695040888963407u) >> 40) * 0x1p-24f;
  CHECK(rows.loops(x).find("s_rf") != std::string::npos);
  CHECK(rows.with({.bitwise = true}).loops(x).find("s_rf") == std::string::npos);
  auto const in_order = weft::evaluate({.contract = weft::cpu().fma}, rows, x);
  CHECK((in_order == rows.with({.bitwise = true})(x)));
  auto const by_lanes = rows(x), one_by_one = rows.with({.plain = true})(x);
  for (std::int64_t i = 0; i < 3; ++i) CHECK(std::fabs(by_lanes(i) - one_by_one(i)) <= 1000 * 500 * 0x1p-23f);
  CHECK(place.with({.bitwise = true}).loops(x).find("_rf") == std::string::npos);
}
TEST_CASE("softmax of rows is exact to rounding, in rows") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{1, 1}, {7, 33}, {20, 300}}) {
    auto const x = drawn<float>(1, m, n);
    auto const got = softmax(x), exact = softmax.with({.plain = true})(x);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got.data()[i] - exact.data()[i]) <= exact.data()[i] * 300 * 0x1p-23f);
    CHECK((weft::evaluate({.contract = weft::cpu().fma}, softmax, x) == softmax.with({.bitwise = true})(x)));
  }
}
