#include "weft/ops/softmax.hpp"

#include "ops/check.hpp"
#include "weft/ops/attention.hpp"
#include "weft/ops/loss.hpp"
#include "weft/ops/normalise.hpp"

using namespace weft_test;
namespace ops = weft::ops;

namespace {
constexpr auto softmax = weft::kernel<"softmax">(ops::softmax);
constexpr auto log_softmax = weft::kernel<"log_softmax">(ops::log_softmax);
constexpr auto along_1 = weft::kernel<"along_1">([](auto x) { return ops::softmax(x, {.axis = 1}); });
static_assert(weft::checked<softmax, weft::arg<float, 1>>);
static_assert(weft::checked<along_1, weft::arg<double, 3>>);

constexpr double u = 0x1p-24;  // half the distance of floats at 1
/// Differences of tame numbers are exact. exp is within 2 u, a sum of n within n u more, and then one division.
double softmax_bound(long n) { return static_cast<double>(n + 5) * u; }

/// The softmax of `n` numbers, at place `i` of them.
template <class At>
double softmax_of(long n, At const& at, long i) {
  double total = 0;
  for (long k = 0; k < n; ++k) total += std::exp(static_cast<double>(at(k)));
  return std::exp(static_cast<double>(at(i))) / total;
}
}  // namespace

TEST_CASE("softmax along any axis of tensors of any rank") {
  auto const x = drawn<float>(1, 3, 5, 7);
  check_op(
      softmax, shape_t<3>{3, 5, 7}, softmax_bound(7),
      [&](long i, long j, long k) { return softmax_of(7, [&](long n) { return x(i, j, n); }, k); }, x);
  check_op(
      along_1, shape_t<3>{3, 5, 7}, softmax_bound(5),
      [&](long i, long j, long k) { return softmax_of(5, [&](long n) { return x(i, n, k); }, j); }, x);
  auto const v = drawn<float>(2, 1), w = drawn<float>(3, 13);
  check_op(softmax, shape_t<1>{1}, 0, [](long) { return 1; }, v);
  check_op(softmax, shape_t<1>{13}, softmax_bound(13), [&](long i) { return softmax_of(13, w, i); }, w);
  check_op(softmax, shape_t<2>{0, 4}, 0, [](long, long) { return 0; }, drawn<float>(4, 0, 4));
}
TEST_CASE("the stages that a docstring names are there for the schedule") {
  static constexpr auto scheduled =
      weft::kernel<"scheduled">(ops::softmax, [](auto& s, auto, auto top, auto e, auto, auto y) {
        s.parallel(top.axes()[0]);
        s.vectorize(s.split(e.axes()[1], 8)[1]);
        s.vectorize(s.split(y.axes()[1], 8)[1]);
      });
  static_assert(weft::checked<scheduled, weft::arg<float, 2>>);
  auto const x = drawn<float>(1, 3, 21);
  CHECK(weft::evaluate({.contract = weft::cpu().fma}, scheduled, x) == scheduled(x));
  std::string const loops = scheduled.loops(x);
  for (char const* stage : {"top", "e", "total", "softmax"})
    CHECK(loops.find(std::string(stage) + "[i, j]") != std::string::npos);
}
TEST_CASE("softmax of large numbers does not overflow, and of halves is computed in f32") {
  weft::tensor<float, 1> x(3);
  x(0) = 3e38f, x(1) = 3e38f, x(2) = -3e38f;
  auto const y = softmax(x);
  CHECK((y(0) == 0.5f && y(1) == 0.5f && y(2) == 0.0f));
  auto const h = drawn<weft::bf16>(1, 9);
  check_op(
      softmax, shape_t<1>{9}, softmax_bound(9),
      [&](long i) { return softmax_of(9, [&](long k) { return float(h(k)); }, i); }, h);
}
TEST_CASE("log_softmax is the logarithm of softmax") {
  auto const x = drawn<float>(1, 4, 17);
  // The logarithm (below 4) of a sum within 20 u of itself is within 20 u + 8 u, the two differences within 8 u each.
  check_op(
      log_softmax, shape_t<2>{4, 17}, 44 * u,
      [&](long i, long j) { return std::log(softmax_of(17, [&](long n) { return x(i, n); }, j)); }, x);
}
TEST_CASE("cross entropy is what log_softmax says of the target") {
  constexpr auto loss = weft::kernel<"loss">(ops::cross_entropy);
  constexpr auto mean = weft::kernel<"mean">([](auto x, auto t) { return ops::mean_of(ops::cross_entropy(x, t)); });
  auto const x = drawn<float>(1, 5, 7);
  weft::tensor<std::int64_t, 1> t(5);
  for (int i = 0; i < 5; ++i) t(i) = i * 3 % 7;
  t(4) = 9;  // counts as 6
  auto const one = [&](long i) {
    return -std::log(softmax_of(7, [&](long n) { return x(i, n); }, t(i) > 6 ? 6 : t(i)));
  };
  check_op(loss, shape_t<1>{5}, 34 * u, one, x, t);
  check_op(mean, shape_t<1>{1}, 60 * u, [&](long) { return (one(0) + one(1) + one(2) + one(3) + one(4)) / 5; }, x, t);
  CHECK(refusal_of([&] { loss(drawn<float>(1, 4, 7), t); }) ==
        "loss: needs A.extent(0) == B.extent(0), but A.extent(0) = 4, B.extent(0) = 5");
}
TEST_CASE("layer_norm and rms_norm in two passes") {
  constexpr auto layer = weft::kernel<"layer">([](auto x, auto w, auto b) { return ops::layer_norm(x, w, b); });
  constexpr auto rms = weft::kernel<"rms">([](auto x, auto w) { return ops::rms_norm(x, w, {.epsilon = 1e-6}); });
  constexpr long n = 23;
  auto const x = drawn<float>(1, 3, 2, n);
  auto const w = drawn<float>(2, n), b = drawn<float>(3, n);
  auto const moments = [&](long i, long j, double about) {
    double s = 0, q = 0;
    for (long k = 0; k < n; ++k) s += x(i, j, k), q += (x(i, j, k) - about) * (x(i, j, k) - about);
    return std::array{s / n, q / n};
  };
  // With standard deviations above 1/2: what is centred (below 4) has an error of 6 u, the squares one of n + 14 u in
  // proportion; times a weight of at most 2.
  double const bound = 2 * 2 * (6 + 4.0 * (n + 20)) * u;
  check_op(
      layer, shape_t<3>{3, 2, n}, bound,
      [&](long i, long j, long k) {
        double const mean = moments(i, j, 0)[0], variance = moments(i, j, mean)[1];
        REQUIRE(variance > 0.25);
        return (x(i, j, k) - mean) / std::sqrt(variance + 1e-5) * w(k) + b(k);
      },
      x, w, b);
  check_op(
      rms, shape_t<3>{3, 2, n}, bound,
      [&](long i, long j, long k) { return x(i, j, k) / std::sqrt(moments(i, j, 0)[1] + 1e-6) * w(k); }, x, w);
  CHECK(refusal_of([&] { layer(x, w, drawn<float>(3, 7)); }) != "");
}
TEST_CASE("batch_norm takes one number per channel, in both layouts") {
  constexpr auto first = weft::kernel<"first">(ops::batch_norm);
  constexpr auto last = weft::kernel<"last">([](auto x, auto m, auto v, auto w, auto b) {
    return ops::batch_norm(x, m, v, w, b, {.epsilon = 0.5, .layout = ops::layout::channels_last});
  });
  auto const x = drawn<float>(1, 2, 3, 5, 7), z = drawn<float>(1, 2, 5, 7, 3);
  auto const m = drawn<float>(2, 3), w = drawn<float>(3, 3), b = drawn<float>(4, 3);
  weft::tensor<float, 1> v(3);
  for (int i = 0; i < 3; ++i) v(i) = 0.5f + static_cast<float>(i);
  auto const one = [&](double e, float at, long c) { return (at - m(c)) / std::sqrt(v(c) + e) * w(c) + b(c); };
  double const bound = 4 * 2 * 2 * 8 * u;
  check_op(
      first, shape_t<4>{2, 3, 5, 7}, bound, [&](long n, long c, long i, long j) { return one(1e-5, x(n, c, i, j), c); },
      x, m, v, w, b);
  check_op(
      last, shape_t<4>{2, 5, 7, 3}, bound, [&](long n, long i, long j, long c) { return one(0.5, z(n, i, j, c), c); },
      z, m, v, w, b);
  CHECK(refusal_of([&] { first(z, m, v, w, b); }) ==
        "first: needs B.extent(0) == A.extent(1), but B.extent(0) = 3, A.extent(1) = 5");
}
