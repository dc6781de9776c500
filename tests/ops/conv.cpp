#include "weft/ops/conv.hpp"

#include <limits>

#include "ops/check.hpp"
#include "weft/dim.hpp"

using namespace weft_test;
namespace ops = weft::ops;

namespace {
constexpr auto conv2d = weft::kernel<"conv2d">(ops::conv2d);
static_assert(weft::checked<conv2d, weft::arg<float, 4>, weft::arg<float, 4>>);

struct dimension {
  long in, kernel, stride = 1, padding = 0, dilation = 1;
  long out() const {  // places counted one by one
    long n = 0;
    for (long at = -padding; at + (kernel - 1) * dilation < in + padding; at += stride) ++n;
    return n;
  }
};
/// Sum over a window, of what `term` makes of a place in the input and one in the kernel; padding is skipped.
template <class Term>
double over_window(dimension y, dimension x, long i, long j, Term const& term) {
  double s = 0;
  for (long a = 0; a < y.kernel; ++a)
    for (long b = 0; b < x.kernel; ++b) {
      long const row = i * y.stride - y.padding + a * y.dilation, column = j * x.stride - x.padding + b * x.dilation;
      if (row >= 0 && row < y.in && column >= 0 && column < x.in) s += term(row, column, a, b);
    }
  return s;
}
/// The convolution of 2 images with 4 channels to 6 in `groups`, channels first and last.
template <class First, class Last>
void check_conv2d(First const& first, Last const& last, dimension y, dimension x, long groups) {
  long const part = 4 / groups, made = 6 / groups;
  auto const in = drawn<float>(1, 2, 4, y.in, x.in), w = drawn<float>(2, 6, part, y.kernel, x.kernel);
  auto const expected = [&](long n, long o, long i, long j) {
    return over_window(y, x, i, j, [&](long row, long column, long a, long b) {
      double s = 0;
      for (long c = 0; c < part; ++c) s += in(n, o / made * part + c, row, column) * w(o, c, a, b);
      return s;
    });
  };
  check_op(first, shape_t<4>{2, 6, y.out(), x.out()}, 0, expected, in, w);
  weft::tensor<float, 4> in_last(2, y.in, x.in, 4), w_last(y.kernel, x.kernel, part, 6);
  for (long n = 0; n < 2; ++n)
    for (long c = 0; c < 4; ++c)
      for (long i = 0; i < y.in; ++i)
        for (long j = 0; j < x.in; ++j) in_last(n, i, j, c) = in(n, c, i, j);
  for (long o = 0; o < 6; ++o)
    for (long c = 0; c < part; ++c)
      for (long i = 0; i < y.kernel; ++i)
        for (long j = 0; j < x.kernel; ++j) w_last(i, j, c, o) = w(o, c, i, j);
  check_op(
      last, shape_t<4>{2, y.out(), x.out(), 6}, 0, [&](long n, long i, long j, long o) { return expected(n, o, i, j); },
      in_last, w_last);
}
#define BOTH_LAYOUTS(...)                                                                           \
  weft::kernel<"first">([](auto x, auto w) { return ops::conv2d(x, w, {__VA_ARGS__}); }),           \
      weft::kernel<"last">([](auto x, auto w) {                                                     \
        return ops::conv2d(x, w, {__VA_ARGS__ __VA_OPT__(, ).layout = ops::layout::channels_last}); \
      })
}  // namespace

TEST_CASE("conv2d with strides, padding, dilation and groups, in both layouts") {
  check_conv2d(BOTH_LAYOUTS(), {5, 3}, {7, 2}, 1);
  check_conv2d(BOTH_LAYOUTS(.stride = {2, 3}, .padding = {1, 2}), {5, 3, 2, 1}, {7, 5, 3, 2}, 1);
  check_conv2d(BOTH_LAYOUTS(.padding = {0, 3}, .dilation = {2, 3}), {7, 3, 1, 0, 2}, {5, 3, 1, 3, 3}, 1);
  check_conv2d(BOTH_LAYOUTS(.stride = {1, 2}, .padding = {1, 1}, .groups = 2), {3, 3, 1, 1}, {4, 3, 2, 1}, 2);
  check_conv2d(BOTH_LAYOUTS(), {1, 1}, {1, 1}, 1);
}
TEST_CASE("sizes that stay open need no condition where there is no padding") {
  constexpr auto dilated = weft::kernel<"dilated">([](auto x, auto w) { return ops::conv2d(x, w, {.dilation = {2, 1}}); });
  constexpr auto padded = weft::kernel<"padded">([](auto x, auto w) { return ops::conv2d(x, w, {.stride = {1, 2}, .padding = {1, 0}}); });
  auto const w = drawn<float>(2, 5, 3, 3, 3);
  for (long size : {5, 9, 18}) {
    auto const x = drawn<float>(1, 2, 3, size, size + 2);
    auto const open = weft::view(x.data(), 2, 3, weft::dim<"h">(size), weft::dim<"w">(size + 2));
    CHECK(dense_of(dilated(open, w)).bits == dense_of(dilated(x, w)).bits);
    CHECK(dense_of(padded(open, w)).bits == dense_of(padded(x, w)).bits);
  }
}
TEST_CASE("what lies in the padding takes no part: no weight makes a NaN of it") {
  float const inf = std::numeric_limits<float>::infinity();
  for (long size : {3, 6, 14}) {
    weft::tensor<float, 4> x(1, size, size, 4), w(3, 3, 4, 16);
    for (float& one : x) one = 1;
    for (float& one : w) one = inf;
    constexpr auto last = weft::kernel<"last">(
        [](auto a, auto b) { return ops::conv2d(a, b, {.padding = {1, 1}, .layout = ops::layout::channels_last}); });
    auto const y = last(x, w);
    for (float one : y) REQUIRE(one == inf);
    CHECK(executors_differ(static_cast<std::uint64_t>(size), last, x, w) == "");
  }
}
TEST_CASE("conv1d and conv3d are the same in one and three dimensions") {
  constexpr auto conv1d =
      weft::kernel<"conv1d">([](auto x, auto w) { return ops::conv1d(x, w, {.stride = {2}, .padding = {1}}); });
  auto const x = drawn<float>(1, 2, 3, 11), w = drawn<float>(2, 5, 3, 4);
  dimension const d{11, 4, 2, 1}, none{1, 1};
  check_op(
      conv1d, shape_t<3>{2, 5, d.out()}, 0,
      [&](long n, long o, long i) {
        return over_window(d, none, i, 0, [&](long at, long, long a, long) {
          double s = 0;
          for (long c = 0; c < 3; ++c) s += x(n, c, at) * w(o, c, a);
          return s;
        });
      },
      x, w);
  constexpr auto conv3d =
      weft::kernel<"conv3d">([](auto a, auto b) { return ops::conv3d(a, b, {.padding = {0, 1, 0}}); });
  auto const y = drawn<float>(3, 1, 2, 3, 3, 4), v = drawn<float>(4, 3, 2, 2, 3, 2);
  check_op(
      conv3d, shape_t<5>{1, 3, 2, 3, 3}, 0,
      [&](long n, long o, long i, long j, long k) {
        double s = 0;
        for (long c = 0; c < 2; ++c)
          for (long a = 0; a < 2; ++a)
            s += over_window({3, 3, 1, 1}, {4, 2}, j, k, [&](long row, long column, long p, long q) {
              return double(y(n, c, i + a, row, column) * v(o, c, a, p, q));
            });
        return s;
      },
      y, v);
}
TEST_CASE("a depthwise convolution is one with as many groups as channels") {
  constexpr auto depthwise = weft::kernel<"depthwise">(
      [](auto x, auto w) { return ops::depthwise_conv2d(x, w, {.stride = {2, 1}, .padding = {1, 1}}); });
  constexpr auto last = weft::kernel<"last">([](auto x, auto w) {
    return ops::depthwise_conv2d(x, w, {.padding = {1, 0}, .layout = ops::layout::channels_last});
  });
  auto const x = drawn<float>(1, 2, 3, 5, 7);
  auto const w = drawn<float>(2, 3, 3, 3);
  check_op(
      depthwise, shape_t<4>{2, 3, 3, 7}, 0,
      [&](long n, long c, long i, long j) {
        return over_window({5, 3, 2, 1}, {7, 3, 1, 1}, i, j, [&](long row, long column, long a, long b) {
          return double(x(n, c, row, column) * w(c, a, b));
        });
      },
      x, w);
  auto const z = drawn<float>(3, 1, 5, 7, 3);
  auto const k = drawn<float>(4, 3, 2, 3);
  check_op(
      last, shape_t<4>{1, 5, 6, 3}, 0,
      [&](long n, long i, long j, long c) {
        return over_window({5, 3, 1, 1}, {7, 2}, i, j, [&](long row, long column, long a, long b) {
          return double(z(n, row, column, c) * k(a, b, c));
        });
      },
      z, k);
}
TEST_CASE("products of bytes are added as ints") {
  auto const x = drawn<std::int8_t>(1, 1, 2, 3, 3), w = drawn<std::int8_t>(2, 1, 2, 2, 2);
  static_assert(std::is_same_v<decltype(conv2d(x, w)), weft::tensor<int, 4>>);
  check_op(
      conv2d, shape_t<4>{1, 1, 2, 2}, 0,
      [&](long, long, long i, long j) {
        int s = 0;
        for (long c = 0; c < 2; ++c)
          for (long a = 0; a < 2; ++a)
            for (long b = 0; b < 2; ++b) s += x(0, c, i + a, j + b) * w(0, c, a, b);
        return s;
      },
      x, w);
}
TEST_CASE("what does not fit is refused at the call, in words") {
  auto const x = drawn<float>(1, 1, 4, 3, 3);
  CHECK(refusal_of([&] { conv2d(x, drawn<float>(2, 2, 3, 2, 2)); }) ==
        "conv2d: needs A.extent(1) == B.extent(1), but A.extent(1) = 4, B.extent(1) = 3");
  CHECK(refusal_of([&] { conv2d(x, drawn<float>(2, 2, 4, 5, 2)); }) ==
        "conv2d: needs B.extent(2) <= A.extent(2), but B.extent(2) = 5, A.extent(2) = 3");
  constexpr auto grouped = weft::kernel<"grouped">([](auto a, auto w) { return ops::conv2d(a, w, {.groups = 2}); });
  CHECK(refusal_of([&] { grouped(x, drawn<float>(2, 2, 4, 2, 2)); }).find("A.extent(1) == B.extent(1) * 2") !=
        std::string::npos);
  CHECK(refusal_of([&] { grouped(x, drawn<float>(2, 3, 2, 2, 2)); }).find("B.extent(0) % 2 == 0") != std::string::npos);
  constexpr auto still = weft::kernel<"still">([](auto a, auto w) { return ops::conv2d(a, w, {.stride = {2}}); });
  CHECK(refusal_of([&] { still(x, drawn<float>(2, 2, 4, 2, 2)); }).find("strides and dilations are 1 or more") !=
        std::string::npos);
}
