#include "weft/ops/pool.hpp"

#include "ops/check.hpp"

using namespace weft_test;
namespace ops = weft::ops;

namespace {
struct window {
  long in, kernel, stride = 1, padding = 0, dilation = 1;
};
/// The largest and the sum of a window of one row or column after the other, and how many took part.
struct pooled {
  double most = -INFINITY, sum = 0;
  long count = 0;
};
template <class At>
pooled pool(window y, window x, long i, long j, At const& at) {
  pooled p;
  for (long a = 0; a < y.kernel; ++a)
    for (long b = 0; b < x.kernel; ++b) {
      long const row = i * y.stride - y.padding + a * y.dilation, column = j * x.stride - x.padding + b * x.dilation;
      if (row < 0 || row >= y.in || column < 0 || column >= x.in) continue;
      p.most = std::fmax(p.most, at(row, column));
      p.sum += at(row, column);
      ++p.count;
    }
  return p;
}
}  // namespace

TEST_CASE("max_pool takes the largest, and of padding nothing") {
  constexpr auto side_by_side =
      weft::kernel<"side_by_side">([](auto x) { return ops::max_pool2d(x, {.kernel = {2, 3}}); });
  constexpr auto odd = weft::kernel<"odd">([](auto x) {
    return ops::max_pool2d(x, {.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 1}, .dilation = {2, 3}});
  });
  auto x = drawn<float>(1, 2, 3, 5, 7);
  check_op(
      side_by_side, shape_t<4>{2, 3, 2, 2}, 0,
      [&](long n, long c, long i, long j) {
        return pool({5, 2, 2}, {7, 3, 3}, i, j, [&](long r, long s) { return x(n, c, r, s); }).most;
      },
      x);
  for (float& v : x) v -= 10;  // below the zeros that the padding does not have
  check_op(
      odd, shape_t<4>{2, 3, 3, 3}, 0,
      [&](long n, long c, long i, long j) {
        return pool({5, 3, 1, 1, 2}, {7, 2, 2, 1, 3}, i, j, [&](long r, long s) { return x(n, c, r, s); }).most;
      },
      x);
  auto const b = drawn<std::int8_t>(1, 1, 1, 4, 6);
  static_assert(std::is_same_v<decltype(side_by_side(b)), weft::tensor<std::int8_t, 4>>);
  check_op(
      side_by_side, shape_t<4>{1, 1, 2, 2}, 0,
      [&](long, long, long i, long j) {
        return pool({4, 2, 2}, {6, 3, 3}, i, j, [&](long r, long s) { return b(0, 0, r, s); }).most;
      },
      b);
}
TEST_CASE("avg_pool divides by the window, or by what of it is in the input") {
  constexpr auto whole =
      weft::kernel<"whole">([](auto x) { return ops::avg_pool2d(x, {.kernel = {2, 2}, .padding = {1, 1}}); });
  constexpr auto inside = weft::kernel<"inside">([](auto x) {
    return ops::avg_pool2d(x, {.kernel = {3, 4},
                               .stride = {2, 1},
                               .padding = {1, 2},
                               .dilation = {1, 2},
                               .count_include_pad = false,
                               .layout = ops::layout::channels_last});
  });
  auto const x = drawn<float>(1, 2, 3, 5, 7), z = drawn<float>(2, 2, 5, 7, 3);
  check_op(
      whole, shape_t<4>{2, 3, 3, 4}, 0,
      [&](long n, long c, long i, long j) {
        return pool({5, 2, 2, 1}, {7, 2, 2, 1}, i, j, [&](long r, long s) { return x(n, c, r, s); }).sum / 4;
      },
      x);
  check_op(
      inside, shape_t<4>{2, 3, 5, 3}, 2 * 0x1p-24,
      [&](long n, long i, long j, long c) {
        pooled const p = pool({5, 3, 2, 1}, {7, 4, 1, 2, 2}, i, j, [&](long r, long s) { return z(n, r, s, c); });
        return p.sum / static_cast<double>(p.count);
      },
      z);
}
TEST_CASE("the mean of windows of a row, the largest of boxes") {
  constexpr auto one = weft::kernel<"one">([](auto x) { return ops::avg_pool1d(x, {.kernel = {4}, .stride = {3}, .padding = {1}}); });
  constexpr auto three = weft::kernel<"three">([](auto x) { return ops::max_pool3d(x, {.kernel = {2, 3, 1}, .stride = {1, 2, 2}}); });
  auto const x = drawn<float>(1, 2, 2, 9);
  check_op(
      one, shape_t<3>{2, 2, 3}, 0,
      [&](long n, long c, long i) {
        return pool({1, 1}, {9, 4, 3, 1}, 0, i, [&](long, long s) { return x(n, c, s); }).sum / 4;
      },
      x);
  auto const y = drawn<float>(2, 1, 2, 4, 5, 3);
  check_op(
      three, shape_t<5>{1, 2, 3, 2, 2}, 0,
      [&](long n, long c, long i, long j, long k) {
        double most = -INFINITY;
        for (long a = 0; a < 2; ++a)
          for (long b = 0; b < 3; ++b) most = std::fmax(most, y(n, c, i + a, 2 * j + b, 2 * k));
        return most;
      },
      y);
}
TEST_CASE("pooling in one and three dimensions") {
  constexpr auto one = weft::kernel<"one">([](auto x) { return ops::max_pool1d(x, {.kernel = {3}, .stride = {2}}); });
  constexpr auto three = weft::kernel<"three">([](auto x) { return ops::avg_pool3d(x, {.kernel = {2, 1, 2}}); });
  auto const x = drawn<float>(1, 2, 2, 9);
  check_op(
      one, shape_t<3>{2, 2, 4}, 0,
      [&](long n, long c, long i) {
        return pool({1, 1}, {9, 3, 2}, 0, i, [&](long, long s) { return x(n, c, s); }).most;
      },
      x);
  auto const y = drawn<float>(2, 1, 2, 4, 3, 5);
  check_op(
      three, shape_t<5>{1, 2, 2, 3, 2}, 0,
      [&](long n, long c, long i, long j, long k) {
        return (y(n, c, 2 * i, j, 2 * k) + y(n, c, 2 * i, j, 2 * k + 1) + y(n, c, 2 * i + 1, j, 2 * k) +
                y(n, c, 2 * i + 1, j, 2 * k + 1)) /
               4;
      },
      y);
}
