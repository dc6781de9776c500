// Copies, tiles in local memory and layouts, as machine code.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "support/kernels.hpp"
#include "weft/dim.hpp"
#include "weft/direct.hpp"

using namespace weft_test;
using weft::dims, weft::out, weft::view;

namespace {
/// B in panels of 16 columns, made once; C in tiles of 4 x 16, summed in registers.
inline constexpr auto packed = weft::kernel<"packed">(matrix_product, [](auto& s, auto, auto B, auto C) {
  auto acc = s.cache_write(C);
  auto panels = s.transform_layout(s.cache_read(B, acc),
                                   [](auto row, auto column) { return dims(column / 16, row, column % 16); });
  auto [po, pk, pi] = panels.axes();
  s.vectorize(pi);
  s.parallel(po);
  auto [i, j, k] = C.axes();
  auto [io, jo, ii, ji] = s.tile(i, j, 4, 16);
  s.reorder(jo, io, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
  s.parallel(jo);
  s.compute_at(acc, io);
  auto [ai, aj, ak] = acc.axes();
  s.reorder(ak, ai, aj);
  s.unroll(ai);
  s.vectorize(aj);
});
/// One panel at a time, made inside the loop over panels.
inline constexpr auto packed_inside = weft::kernel<"packed_inside">(matrix_product, [](auto& s, auto, auto B, auto C) {
  auto [i, j, k] = C.axes();
  auto [io, jo, ii, ji] = s.tile(i, j, 4, 16);
  s.reorder(jo, io, k, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
  s.parallel(jo);
  auto panel =
      s.transform_layout(s.cache_read(B, C), [](auto row, auto column) { return dims(column / 16, row, column % 16); });
  auto [po, pk, pi] = panel.axes();
  s.vectorize(pi);
  s.compute_at(panel, jo);
});

constexpr auto convolution = [](auto X, auto W) {  // channel, row, column; W: out, in, row, column
  return compute<"Y">(W.extent(0), X.extent(1) - W.extent(2) + 1, X.extent(2) - W.extent(3) + 1,
                      [=](auto o, auto y, auto x) {
                        return sum(X.extent(0), W.extent(2), W.extent(3),
                                   [=](auto c, auto dy, auto dx) { return X(c, y + dy, x + dx) * W(o, c, dy, dx); });
                      });
};
/// Blocks of 8 channels side by side, in the weights and in what is summed (NCHW8c).
inline constexpr auto blocked = weft::kernel<"blocked">(convolution, [](auto& s, auto, auto W, auto Y) {
  auto acc = s.transform_layout(s.cache_write(Y),
                                [](auto to, auto row, auto column) { return dims(to / 8, row, column, to % 8); });
  auto weights = s.transform_layout(s.cache_read(W, acc), [](auto to, auto from, auto row, auto column) {
    return dims(to / 8, from, row, column, to % 8);
  });
  auto [oo, y, x, oi, c, dy, dx] = acc.axes();
  auto [xo, xi] = s.split(x, 4);
  s.reorder(oo, y, xo, c, dy, dx, xi, oi);
  s.unroll(xi);
  s.vectorize(oi);
  s.parallel(oo);
  s.vectorize(weights.axes()[4]);
});

/// A product of each pixel's channels, in panels of 16 pixels of all lines and pictures, made where the first tile of rows reads them.
constexpr auto of_pixels = [](auto X, auto W) {
  return compute<"Y">(W.extent(0), X.extent(1), X.extent(2), X.extent(3), [=](auto o, auto n, auto y, auto x) {
    return sum(X.extent(0), [=](auto c) { return X(c, n, y, x) * W(o, c); });
  });
};
inline constexpr auto joined_pixels = weft::kernel<"joined_pixels">(of_pixels, [](auto& s, auto X, auto, auto Y) {
  auto const [o, n, y, x, c] = Y.axes();
  auto const pixels = s.fuse(n, y, x);
  auto const [po, pi] = s.split(pixels, 16);
  auto const [oo, oi] = s.split(o, 3);
  auto const panels = s.transform_layout(s.cache_read(X, Y), [](auto channel, auto picture, auto row, auto column) {
    auto const pixel = join(join(picture, row), column);
    return dims(pixel / 16, channel, pixel % 16);
  });
  s.reorder(po, oo, c, oi, pi);
  s.unroll(oi);
  s.vectorize(pi);
  s.parallel(po);
  s.vectorize(panels.axes()[2]);
  s.compute_at(panels, c);
  s.store_at(panels, po);
});
/// The result so, too, which is an own tensor before it is stored.
inline constexpr auto joined_result = weft::kernel<"joined_result">(of_pixels, [](auto& s, auto, auto, auto Y) {
  auto const acc = s.transform_layout(s.cache_write(Y), [](auto o, auto n, auto y, auto x) { return dims(join(y, x) / 8, n, o, join(y, x) % 8); }, 3);
  s.vectorize(acc.axes()[3]);
  s.parallel(Y.axes()[0]);
});

constexpr auto blend = [](auto x, auto y) {
  return compute<"z">(x.extent(0), [=](auto i) { return x(i) * 2 + y(i); });
};
inline constexpr auto cached_blend = weft::kernel<"cached_blend">(blend, [](auto& s, auto, auto, auto z) {
  auto acc = s.cache_write(z);
  auto [io, ii] = s.split(z.axes()[0], 8);
  s.vectorize(ii);
  s.compute_at(acc, io);
  s.vectorize(acc.axes()[0]);
});
/// A product whose elements are capped while the tile is at hand.
inline constexpr auto capped = weft::kernel<"capped">(
    [](auto A, auto B) {
      auto P = compute<"P">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
      });
      return compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::max(P(i, j), 0); });
    },
    [](auto& s, auto, auto, auto P, auto C) {
      auto [i, j, k] = P.axes();
      auto [io, jo, ii, ji] = s.tile(i, j, 4, 16);
      s.reorder(io, jo, k, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
      s.parallel(io);
      auto [ci, cj] = s.reverse_compute_at(C, jo);
      s.unroll(ci);
      s.vectorize(cj);
    });
/// The same product, with B in memory of other strides, and tiles that stay in memory.
inline constexpr auto elsewhere = weft::kernel<"elsewhere">(matrix_product, [](auto& s, auto, auto B, auto C) {
  auto acc = s.cache_write(C);
  auto [i, j, k] = C.axes();
  auto [io, jo, ii, ji] = s.tile(i, j, 4, 16);
  s.parallel(io);
  s.compute_at(acc, jo);
  s.set_scope(acc, weft::scope::workspace);
  s.storage_align(acc, 0, 16, 1);
  auto copy = s.cache_read(B, acc);
  s.storage_align(copy, 0, 32, 5);
  s.compute_at(copy, io);
  s.set_scope(copy, weft::scope::workspace);
});
constexpr auto smooth = [](auto a) {
  auto n = a.extent(0);
  auto x = compute<"x">(n, [=](auto i) { return a(weft::clamp(i - 1, 0, n - 1)) + a(weft::clamp(i + 1, 0, n - 1)); });
  auto y = compute<"y">(n, [=](auto i) { return a(i) * 2; });
  return compute<"c">(n, [=](auto i) { return x(i) + y(i); });
};
}  // namespace

TEST_CASE("a product over packed panels, its tiles in registers, has the bits of direct evaluation") {
  for (auto [m, k, n] : {std::array{1, 1, 1}, {8, 16, 64}, {13, 70, 9}, {7, 30, 65}, {61, 35, 47}, {5, 0, 20}}) {
    auto const M = static_cast<std::size_t>(m), K = static_cast<std::size_t>(k), N = static_cast<std::size_t>(n);
    std::vector<float> const a = numbers(M * K), b = numbers(K * N, 7);
    auto const e = weft::evaluate({.contract = weft::cpu().fma}, packed, view(a, M, K), view(b, K, N));
    std::vector<float> c(M * N, -1.0f), d(M * N, -1.0f);
    packed(view(a, M, K), view(b, K, N), out(c, M, N));
    CHECK(e == c);
    packed_inside(view(a, M, K), view(b, K, N), out(d, M, N));
    CHECK(e == d);
    elsewhere(view(a, M, K), view(b, K, N), out(d, M, N));
    CHECK(e == d);
    capped(view(a, M, K), view(b, K, N), out(d, M, N));
    CHECK(weft::evaluate({.contract = weft::cpu().fma}, capped, view(a, M, K), view(b, K, N)) == d);
  }
}
TEST_CASE("the tile of such a product is not in memory, nor does its inner loop gather") {
  std::vector<float> const a = numbers(64 * 64), b = numbers(64 * 64);
  std::string const ir = packed.ir(view(a, 64, 64), view(b, 64, 64));
  CHECK(ir.find("C_acc[") == std::string::npos);
  CHECK(capped.ir(view(a, 64, 64), view(b, 64, 64)).find("P[") == std::string::npos);
  CHECK(ir.find("//") == std::string::npos);  // no quotient, no remainder is left
  CHECK(ir.find("%%") == std::string::npos);
}
TEST_CASE("a convolution in blocks of channels has the bits of direct evaluation") {
  for (auto [channels, outputs, size] : {std::array{3, 8, 9}, {8, 16, 7}, {5, 11, 6}, {1, 1, 3}}) {
    auto const C = static_cast<std::size_t>(channels), O = static_cast<std::size_t>(outputs),
               S = static_cast<std::size_t>(size);
    std::vector<float> const x = numbers(C * S * S), w = numbers(O * C * 9, 7);
    std::vector<float> y(O * (S - 2) * (S - 2), -1.0f);
    blocked(view(x, C, S, S), view(w, O, C, 3, 3), out(y, O, S - 2, S - 2));
    CHECK(y == weft::evaluate({.contract = weft::cpu().fma}, blocked, view(x, C, S, S), view(w, O, C, 3, 3)));
  }
}
TEST_CASE("pixels that are joined in a layout have the bits of direct evaluation, of known sizes and of open ones") {
  for (auto [channels, outputs, count, high, wide] : {std::array{3, 8, 2, 5, 7}, {8, 3, 1, 4, 4}, {5, 7, 3, 1, 9}, {1, 1, 1, 1, 1}, {4, 9, 2, 16, 16}, {6, 4, 2, 3, 0}, {0, 4, 1, 3, 5}}) {
    auto const C = static_cast<std::size_t>(channels), O = static_cast<std::size_t>(outputs), N = static_cast<std::size_t>(count),
               H = static_cast<std::size_t>(high), W = static_cast<std::size_t>(wide);
    CAPTURE(H);
    CAPTURE(W);
    std::vector<float> const x = numbers(C * N * H * W), w = numbers(O * C, 7);
    auto const X = view(x, C, N, H, W);
    auto const K = view(w, O, C);
    auto const e = weft::evaluate({.contract = weft::cpu().fma}, joined_pixels, X, K);
    std::vector<float> y(O * N * H * W, -1.0f);
    joined_pixels(X, K, out(y, O, N, H, W));
    CHECK(e == y);
    y.assign(y.size(), -1.0f);
    joined_result(X, K, out(y, O, N, H, W));
    CHECK(e == y);
    y.assign(y.size(), -1.0f);
    joined_pixels(view(x, C, N, weft::dim<"h">(H), weft::dim<"w">(W)), K, out(y, O, N, H, W));
    CHECK(e == y);
  }
}
/// A reader that is inlined and wider than the stage around it.
inline constexpr auto narrower = weft::kernel<"narrower">(
    [](auto x) {
      auto c = compute<"c">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) + 1.0f; });
      auto d = compute<"d">(x.extent(0), x.extent(1), [=](auto i, auto j) { return c(i, j) * 2.0f; });
      return compute<"y">(x.extent(0), x.extent(1) - 2, [=](auto i, auto j) { return d(i, j); });
    },
    [](auto& s, auto, auto c, auto d, auto y) {
      s.compute_inline(d);
      auto const own = s.transform_layout(c, [](auto row, auto column) { return dims(join(row, column)); });
      auto const [i, j] = y.axes();
      auto const [eo, ei] = s.split(s.fuse(i, j), 16);
      s.compute_at(own, eo);
      static_cast<void>(ei);
    });
TEST_CASE("of joined dimensions as much is computed as a reader wants that is wider than the stage around it") {
  std::vector<float> const x = numbers(100);
  std::vector<float> y(80, -1.0f);
  narrower(view(x, 10, 10), out(y, 10, 8));
  CHECK(y == weft::evaluate({.contract = weft::cpu().fma}, narrower, view(x, 10, 10)));
  CHECK(narrower.with({.checked = true})(view(x, 10, 10)) == weft::evaluate({.contract = weft::cpu().fma}, narrower, view(x, 10, 10)));
}
TEST_CASE("of joined pixels a panel alone is made for a tile, and nothing is divided") {
  std::vector<float> const x = numbers(4 * 2 * 16 * 12), w = numbers(9 * 4);
  std::string const ir = joined_pixels.ir(view(x, 4, 2, 16, 12), view(w, 9, 4));
  INFO(ir);
  CHECK(ir.find("A_copy: f32[1, 4, 16]") != std::string::npos);
  CHECK(ir.find("A_copy[0, ") != std::string::npos);
}
TEST_CASE("an output in place of an input may be computed in a tile and copied") {
  for (std::size_t n : {1u, 8u, 29u}) {
    std::vector<float> x = numbers(n);
    std::vector<float> const y = numbers(n, 3);
    auto const expected = weft::evaluate({.contract = weft::cpu().fma}, cached_blend, x, y);
    cached_blend(x, y, out(x));
    CHECK(expected == x);
  }
}
TEST_CASE("an output is not written over an input that a stage inside its loops reads elsewhere") {
  constexpr auto inlined =
      weft::kernel<"inlined">(smooth, [](auto& s, auto, auto x, auto, auto) { s.compute_inline(x); });
  constexpr auto inside =
      weft::kernel<"inside">(smooth, [](auto& s, auto, auto x, auto, auto c) { s.compute_at(x, c.axes()[0]); });
  std::string const words = "output c cannot be written over input A: stage x";
  std::vector<float> a = numbers(20);
  std::vector<float> const before = a;
  CHECK(refusal([&] { inlined(a, out(a)); }).find(words) != std::string::npos);
  CHECK(refusal([&] { inside(a, out(a)); }).find(words) != std::string::npos);
  CHECK(a == before);
  CHECK(refusal([&] { static_cast<void>(inside(a)); }) == "");
}
TEST_CASE("it is where those stages read the element alone that is then written, or run before it") {
  constexpr auto kernels = [](auto const& check) {
    check(weft::kernel<"plain">(smooth));
    check(weft::kernel<"inlined">(smooth, [](auto& s, auto, auto, auto y, auto) { s.compute_inline(y); }));
    check(weft::kernel<"inside">(smooth, [](auto& s, auto, auto, auto y, auto c) { s.compute_at(y, c.axes()[0]); }));
    check(weft::kernel<"both">(smooth, [](auto& s, auto, auto, auto y, auto c) {
      auto acc = s.cache_write(c);
      s.compute_at(acc, s.split(c.axes()[0], 4)[0]);
      s.compute_inline(y);
    }));
    check(weft::kernel<"before">(smooth, [](auto& s, auto, auto x, auto, auto c) {
      auto acc = s.cache_write(c);
      s.compute_at(x, acc.axes()[0]);
    }));
  };
  kernels([](auto const& k) {
    std::vector<float> a = numbers(21);
    auto const expected = weft::evaluate({.contract = weft::cpu().fma}, k, a);
    CHECK(refusal([&] { k(a, out(a)); }) == "");
    CHECK(expected == a);
  });
}
