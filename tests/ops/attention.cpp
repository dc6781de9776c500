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
template <std::int64_t Block>
constexpr auto in_blocks = weft::kernel<"in_blocks">(
    [](auto q, auto k, auto v, auto... mask) { return ops::attention(q, k, v, mask..., {.block = Block}); });
template <std::int64_t Block>
constexpr auto causal_in_blocks = weft::kernel<"causal_in_blocks">(
    [](auto q, auto k, auto v) { return ops::attention(q, k, v, {.causal = true, .scale = 0.25, .block = Block}); });
/// Blocks of keys inside those of queries; nothing in memory is as long as the keys.
constexpr auto one_pass = weft::kernel<"one_pass">(
    [](auto q, auto k, auto v) { return ops::attention(q, k, v, {.block = 4}); },
    [](auto& s, auto, auto, auto, auto dot, auto scores, auto top, auto weight, auto total, auto sum, auto state, auto y) {
      auto [b, h, i, f] = y.axes();
      auto [io, ii] = s.split(i, 2);
      s.reorder(b, h, io, ii, f);
      s.vectorize(f);
      auto [sb, sh, si, sf, n] = state.axes();
      s.reorder(sb, sh, n, si, sf);
      s.vectorize(sf);
      s.compute_at(state, io);
      s.compute_at(sum, n);
      s.compute_at(total, n);
      s.compute_at(weight, n);
      s.compute_at(top, n);
      s.compute_inline(scores);
      s.compute_at(dot, n);
    });
static_assert(weft::checked<plain, weft::arg<float, 4>, weft::arg<float, 4>, weft::arg<float, 4>>);

// Scores (below 16) are off by 4 u of themselves, which moves a weight by 128 u of itself (twice: its own and the
// total's); the weights' own errors and the sum of values below 2 are small beside that.
constexpr double bound = (2 * 128 + 50) * 2 * 0x1p-24;

// In blocks, each block rescales what was added before it, weights and values: by an exp within 2 u of a difference below 32, which
// is rounded, with a product and a sum after it.
constexpr double rescaled(double blocks) { return bound + blocks * 2 * (32 + 2 + 2) * 2 * 0x1p-24; }

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
TEST_CASE("attention in blocks of keys is the formula, of two heads and sizes that blocks do not divide") {
  auto const q = drawn<float>(1, 1, 2, 5, 3), k = drawn<float>(2, 1, 2, 7, 3), v = drawn<float>(3, 1, 2, 7, 5);
  auto const score = [&](long b, long h, long i, long s) {
    double x = 0;
    for (long e = 0; e < 3; ++e) x += q(b, h, i, e) * k(b, h, s, e);
    return x;
  };
  auto const all = [&](long b, long h, long i, long f) {
    return attended(7, [&](long s) { return score(b, h, i, s) / std::sqrt(3.0); }, [&](long s) { return v(b, h, s, f); });
  };
  check_op(in_blocks<1>, shape_t<4>{1, 2, 5, 5}, rescaled(7), all, q, k, v);
  check_op(in_blocks<4>, shape_t<4>{1, 2, 5, 5}, rescaled(2), all, q, k, v);
  check_op(in_blocks<8>, shape_t<4>{1, 2, 5, 5}, rescaled(1), all, q, k, v);
  check_op(one_pass, shape_t<4>{1, 2, 5, 5}, rescaled(2), all, q, k, v);
  check_op(
      causal_in_blocks<3>, shape_t<4>{1, 2, 5, 5}, rescaled(3),
      [&](long b, long h, long i, long f) {
        return attended(i + 1, [&](long s) { return score(b, h, i, s) / 4; }, [&](long s) { return v(b, h, s, f); });
      },
      q, k, v);
}
TEST_CASE("attention of halves: weights are rounded to the type of the values, in blocks, too") {
  auto const q = drawn<weft::f16>(1, 2, 5, 3), k = drawn<weft::f16>(2, 2, 7, 3), v = drawn<weft::f16>(3, 2, 7, 5);
  auto const score = [&](long h, long i, long s) {
    double x = 0;
    for (long e = 0; e < 3; ++e) x += static_cast<float>(q(h, i, e)) * static_cast<float>(k(h, s, e));
    return x;
  };
  auto const value = [&](long h, long f) { return [&v, h, f](long s) { return static_cast<float>(v(h, s, f)); }; };
  auto const all = [&](long h, long i, long f) {
    return attended(7, [&](long s) { return score(h, i, s) / std::sqrt(3.0); }, value(h, f));
  };
  // Half a unit in the last place of each weight, of values up to 2; in blocks their total is one of rounded weights.
  double const halves = 2 * 0x1.01p-11;
  check_op(plain, shape_t<3>{2, 5, 5}, bound + halves, all, q, k, v);
  check_op(in_blocks<4>, shape_t<3>{2, 5, 5}, rescaled(2) + 2 * halves, all, q, k, v);
  check_op(
      causal_in_blocks<3>, shape_t<3>{2, 5, 5}, rescaled(3) + 2 * halves,
      [&](long h, long i, long f) { return attended(i + 1, [&](long s) { return score(h, i, s) / 4; }, value(h, f)); }, q, k, v);
  auto const wide = [](weft::tensor<weft::f16, 3> const& t) {
    weft::tensor<float, 3> w(t.shape()[0], t.shape()[1], t.shape()[2]);
    for (std::size_t i = 0; i < t.size(); ++i) w.data()[i] = static_cast<float>(t.data()[i]);
    return w;
  };
  auto const exact = plain(wide(q), wide(k), wide(v)), rounded = plain(q, k, v);
  bool same = true;
  for (std::size_t i = 0; i < exact.size(); ++i) same = same && exact.data()[i] == rounded.data()[i];
  CHECK(!same);  // f32 rounds no weights
}
TEST_CASE("attention in one pass has the bits of the same blocks computed whole, and memory for a block") {
  auto const q = drawn<float>(1, 1, 2, 6, 3), k = drawn<float>(2, 1, 2, 1001, 3), v = drawn<float>(3, 1, 2, 1001, 8);
  auto const whole = in_blocks<4>(q, k, v), blocks = one_pass(q, k, v);
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(whole.data()[i] == blocks.data()[i]);
  std::string const loops = one_pass.ir(q, k, v);
  for (std::size_t at = loops.find("buffer "); at != std::string::npos; at = loops.find("buffer ", at + 1)) {
    std::string const line = loops.substr(at, loops.find('\n', at) - at);
    if (line.find("argument") == std::string::npos) CHECK_MESSAGE(line.find("1001") == std::string::npos, line);
    if (line.find("argument") == std::string::npos) CHECK_MESSAGE(line.find("251") == std::string::npos, line);
  }
}
TEST_CASE("attention in blocks: keys that nobody sees weigh nothing, also where they fill a block, and of none it is NaN") {
  auto const q = drawn<float>(1, 2, 4), k = drawn<float>(2, 9, 4), v = drawn<float>(3, 9, 6);
  weft::tensor<float, 2> mask(2, 9);
  for (long s = 0; s < 9; ++s) mask(0, s) = s == 4 || s == 5 ? 0.5f : -INFINITY, mask(1, s) = -INFINITY;
  auto const y = in_blocks<3>(q, k, v, mask);
  for (long f = 0; f < 6; ++f) {
    auto const score = [&](long s) {
      double x = 0;
      for (long e = 0; e < 4; ++e) x += q(0, e) * k(s, e);
      return x / 2 + mask(0, s);
    };
    CHECK(std::abs(y(0, f) - attended(9, score, [&](long s) { return v(s, f); })) <= rescaled(3));
    CHECK(std::isnan(y(1, f)));
  }
}
TEST_CASE("attention by rule divides sums and no weights, and scores are scaled where they are read; of no keys it is 0") {
  auto const q = drawn<float>(1, 2, 40, 16), k = drawn<float>(2, 2, 64, 16), v = drawn<float>(3, 2, 64, 24);
  std::string const loops = plain.on(weft::x86_64_avx2()).loops(q, k, v);
  INFO(loops);
  CHECK(loops.find("scores inlined") != std::string::npos);
  CHECK(loops.find("softmax") == std::string::npos);
  auto const none = plain(q, drawn<float>(2, 2, 0, 16), drawn<float>(3, 2, 0, 24));
  CHECK(none.size() == 2 * 40 * 24);
  for (std::size_t i = 0; i < none.size(); ++i) CHECK(none.data()[i] == 0);
}
