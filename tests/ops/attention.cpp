#include "weft/ops/attention.hpp"

#include <vector>

#include "ops/check.hpp"

using namespace weft_test;
namespace ops = weft::ops;

namespace {
constexpr auto plain = weft::kernel<"plain">(ops::attention);
constexpr auto causal = weft::kernel<"causal">(
    [](auto q, auto k, auto v) { return ops::attention(q, k, v, {.causal = true, .scale = 0.25}); });
constexpr auto masked = weft::kernel<"masked">(ops::attention);
static_assert(weft::checked<plain, weft::arg<float, 4>, weft::arg<float, 4>, weft::arg<float, 4>>);

// Scores (below 16) are off by 4 u of themselves, which moves a weight by 128 u of itself (twice: its own and the
// total's); the weights' own errors and the sum of values below 2 are small beside that.
constexpr double bound = (2 * 128 + 50) * 2 * 0x1p-24;

/// One element of the result, `score` being the scaled and masked ones.
template <class Score, class Value>
double attended(long keys, Score const& score, Value const& value) {
  double total = 0, sum = 0;
  for (long s = 0; s < keys; ++s) total += std::exp(score(s)), sum += std::exp(score(s)) * value(s);
  return sum / total;
}
}  // namespace

TEST_CASE("attention over batches and heads is the formula") {
  auto const q = drawn<float>(1, 2, 3, 5, 4), k = drawn<float>(2, 2, 3, 7, 4), v = drawn<float>(3, 2, 3, 7, 6);
  auto const score = [&](long b, long h, long i, long s) {
    double x = 0;
    for (long e = 0; e < 4; ++e) x += q(b, h, i, e) * k(b, h, s, e);
    return x;
  };
  check_op(
      plain, shape_t<4>{2, 3, 5, 6}, bound,
      [&](long b, long h, long i, long f) {
        return attended(7, [&](long s) { return score(b, h, i, s) / 2; }, [&](long s) { return v(b, h, s, f); });
      },
      q, k, v);
  check_op(
      causal, shape_t<4>{2, 3, 5, 6}, bound,
      [&](long b, long h, long i, long f) {
        return attended(i + 1, [&](long s) { return score(b, h, i, s) / 4; }, [&](long s) { return v(b, h, s, f); });
      },
      q, k, v);
}
TEST_CASE("a mask is broadcast and added, and may hide keys") {
  auto const q = drawn<float>(1, 2, 5, 4), k = drawn<float>(2, 2, 3, 4), v = drawn<float>(3, 2, 3, 6);
  weft::tensor<float, 2> mask(1, 3);
  mask(0, 0) = 0.5f, mask(0, 1) = -INFINITY, mask(0, 2) = 0;
  check_op(
      masked, shape_t<3>{2, 5, 6}, bound,
      [&](long b, long i, long f) {
        return attended(
            3,
            [&](long s) {
              double x = 0;
              for (long e = 0; e < 4; ++e) x += q(b, i, e) * k(b, s, e);
              return x / 2 + mask(0, s);
            },
            [&](long s) { return v(b, s, f); });
      },
      q, k, v, mask);
}
TEST_CASE("queries, keys and values that do not fit are refused") {
  auto const q = drawn<float>(1, 5, 4), k = drawn<float>(2, 7, 4), v = drawn<float>(3, 7, 6);
  CHECK(refusal_of([&] { plain(q, drawn<float>(2, 7, 3), v); }) ==
        "plain: needs A.extent(1) == B.extent(1), but A.extent(1) = 4, B.extent(1) = 3");
  CHECK(refusal_of([&] { plain(q, k, drawn<float>(2, 6, 6)); }).find("C.extent(0) = 6") != std::string::npos);
}
TEST_CASE("a mask of bool says which keys are seen") {
  auto const q = drawn<float>(1, 5, 4), k = drawn<float>(2, 3, 4), v = drawn<float>(3, 3, 6);
  weft::tensor<bool, 2> mask(5, 3);
  for (long i = 0; i < 5; ++i)
    for (long s = 0; s < 3; ++s) mask(i, s) = s == i % 3 || s == 1;
  check_op(
      masked, shape_t<2>{5, 6}, bound,
      [&](long i, long f) {
        return attended(
            3,
            [&](long s) {
              double x = 0;
              for (long e = 0; e < 4; ++e) x += q(i, e) * k(s, e);
              return mask(i, s) ? x / 2 : -INFINITY;
            },
            [&](long s) { return v(s, f); });
      },
      q, k, v, mask);
}
