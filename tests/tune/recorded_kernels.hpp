// The kernels whose spaces are recorded (recorded.hpp), and the arguments that they were recorded with.
#pragma once

#include "weft/expr/math/functions.hpp"
#include "weft/tune.hpp"

namespace weft_test {

inline constexpr auto product_of = [](auto A, auto B) {
  auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
  return weft::compute<"C">(M, N, [=](auto i, auto j) {
    return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
  });
};

/// Square, of a size that no vector divides. A tile, held in registers or in memory, inside or outside of the terms, which are written
/// out or not; A or B packed.
inline constexpr auto recorded_matmul = weft::kernel<"matmul">(
    product_of,
    [](auto& s, auto A, auto B, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, ii] = s.split(i, s.knob("mr", {1, 2, 3, 4, 6, 7, 8, 14}));
      auto [jo, ji] = s.split(j, s.knob("nr", {8, 16, 32, 48, 49, 64, 98}));
      auto [ki, ku] = s.split(k, s.knob("steps", {1, 7}));
      auto const order = s.knob("order", {0, 1, 2, 3, 4, 5});
      if (order == 0) s.reorder(jo, io, ki, ku, ii, ji);
      if (order == 1) s.reorder(io, jo, ki, ku, ii, ji);
      if (order == 2) s.reorder(jo, ki, io, ku, ii, ji);
      if (order == 3) s.reorder(io, ki, jo, ku, ii, ji);
      if (order == 4) s.reorder(ki, jo, io, ku, ii, ji);
      if (order == 5) s.reorder(ki, io, jo, ku, ii, ji);
      s.unroll(ku);
      if (s.knob("unrolled", {1, 0}) != 0) s.unroll(ii);
      s.vectorize(ji);
      auto const pack = s.knob("pack", {0, 1, 2});
      if (pack == 1) s.compute_at(s.cache_read(A, C), io);
      if (pack == 2) s.compute_at(s.cache_read(B, C), jo);
    });

/// Channels x rows x columns by output channels x channels x 3 x 3.
inline constexpr auto recorded_conv = weft::kernel<"conv3x3">(
    [](auto x, auto w) {
      auto O = w.extent(0), C = w.extent(1), H = x.extent(1) - 2, W = x.extent(2) - 2;
      return weft::compute<"y">(O, H, W, [=](auto o, auto i, auto j) {
        return weft::sum(C, 3, 3, [=](auto c, auto r, auto q) { return w(o, c, r, q) * x(c, i + r, j + q); });
      });
    },
    [](auto& s, auto, auto, auto y) {
      auto [o, i, j, c, r, q] = y.axes();
      auto [oo, oi] = s.split(o, s.knob("channels", {1, 2, 3, 4, 6, 8}));
      auto [io, ii] = s.split(i, s.knob("rows", {1, 2, 4, 7}));
      auto [jo, ji] = s.split(j, s.knob("columns", {8, 16, 24, 32, 48, 56}));
      auto const order = s.knob("order", {0, 1, 2, 3, 4, 5});
      if (order == 0) s.reorder(oo, io, jo, c, r, q, oi, ii, ji);
      if (order == 1) s.reorder(c, oo, io, jo, r, q, oi, ii, ji);
      if (order == 2) s.reorder(io, oo, jo, c, r, q, oi, ii, ji);
      if (order == 3) s.reorder(oo, c, io, jo, r, q, oi, ii, ji);
      if (order == 4) s.reorder(oo, io, jo, r, c, q, oi, ii, ji);
      if (order == 5) s.reorder(oo, r, io, jo, c, q, oi, ii, ji);
      s.unroll(oi);
      if (s.knob("rows_unrolled", {1, 0}) != 0) s.unroll(ii);
      s.vectorize(ji);
      auto const unrolled = s.knob("unrolled", {0, 1, 2});
      if (unrolled >= 1) s.unroll(q);
      if (unrolled >= 2 && order < 4) s.unroll(r);
    });

inline constexpr auto recorded_softmax = weft::kernel<"softmax">(
    [](auto x) {
      auto R = x.extent(0), C = x.extent(1);
      auto m = weft::compute<"m">(R, [=](auto i) { return weft::max(C, [=](auto j) { return x(i, j); }); });
      auto e = weft::compute<"e">(R, C, [=](auto i, auto j) { return weft::exp(x(i, j) - m(i)); });
      auto s = weft::compute<"s">(R, [=](auto i) { return weft::sum(C, [=](auto j) { return e(i, j); }); });
      return weft::compute<"y">(R, C, [=](auto i, auto j) { return e(i, j) / s(i); });
    },
    [](auto& s, auto, auto m, auto e, auto sum, auto y) {
      auto const rows = s.split(m.axes()[0], s.knob("max_rows", {4, 8, 16, 32}));
      if (s.knob("max_inside", {0, 1}) != 0) s.reorder(rows[0], m.axes()[1], rows[1]);
      else s.reorder(m.axes()[1], rows[0], rows[1]);
      s.vectorize(rows[1]);
      auto const sums = s.split(sum.axes()[0], s.knob("sum_rows", {4, 8, 16, 32}));
      if (s.knob("sum_inside", {0, 1}) != 0) s.reorder(sums[0], sum.axes()[1], sums[1]);
      else s.reorder(sum.axes()[1], sums[0], sums[1]);
      s.vectorize(sums[1]);
      s.vectorize(s.split(e.axes()[1], s.knob("exp_columns", {4, 8, 16, 64}))[1]);
      auto const out = s.split(y.axes()[1], s.knob("columns", {4, 8, 16, 64}));
      s.vectorize(out[1]);
      auto const rolled = s.knob("unroll", {1, 2, 4});
      if (rolled > 1) s.unroll(s.split(out[0], rolled)[1]);
    });

/// A few rows by many columns.
inline constexpr auto recorded_short = weft::kernel<"short">(product_of, [](auto& s, auto, auto B, auto C) {
  auto [i, j, k] = C.axes();
  auto [io, ii] = s.split(i, s.knob("mr", {1, 2, 3, 4}));
  auto [jo, ji] = s.split(j, s.knob("nr", {16, 32, 48, 64, 80, 96, 112, 128}));
  auto [ki, ku] = s.split(k, s.knob("steps", {1, 2, 4, 8, 16}));
  auto const order = s.knob("order", {0, 1, 2, 3});
  if (order == 0) s.reorder(jo, io, ki, ku, ii, ji);
  if (order == 1) s.reorder(io, jo, ki, ku, ii, ji);
  if (order == 2) s.reorder(jo, ki, io, ku, ii, ji);
  if (order == 3) s.reorder(ki, jo, io, ku, ii, ji);
  s.unroll(ku);
  if (s.knob("unrolled", {1, 0}) != 0) s.unroll(ii);
  s.vectorize(ji);
  if (auto const ahead = s.knob("ahead", {0, 2, 16}); ahead > 0) s.prefetch(B, ki, ahead);
});
/// Rows by rows, as the scores of attention in windows of 7 x 7: a vector of B is read across its rows, unless it is packed.
inline constexpr auto recorded_batched = weft::kernel<"batched">(
    [](auto A, auto B) {
      return weft::compute<"C">(A.extent(0), A.extent(1), B.extent(1), [=](auto b, auto i, auto j) {
        return weft::sum(A.extent(2), [=](auto k) { return A(b, i, k) * B(b, j, k); });
      });
    },
    [](auto& s, auto, auto B, auto C) {
      auto [b, i, j, k] = C.axes();
      auto [io, ii] = s.split(i, s.knob("mr", {1, 2, 4, 6, 7, 8, 10, 14}));
      auto [jo, ji] = s.split(j, s.knob("nr", {4, 8, 16, 24, 32, 48, 49}));
      auto [ki, ku] = s.split(k, s.knob("steps", {1, 4}));
      auto const order = s.knob("order", {0, 1, 2, 3, 4, 5, 6});
      if (order == 0) s.reorder(b, jo, io, ki, ku, ii, ji);
      if (order == 1) s.reorder(b, io, jo, ki, ku, ii, ji);
      if (order == 2) s.reorder(io, b, jo, ki, ku, ii, ji);
      if (order == 3) s.reorder(jo, b, io, ki, ku, ii, ji);
      if (order == 4) s.reorder(b, jo, ki, io, ku, ii, ji);
      if (order == 5) s.reorder(b, ki, io, jo, ku, ii, ji);
      if (order == 6) s.reorder(ki, b, jo, io, ku, ii, ji);
      s.unroll(ku);
      if (s.knob("unrolled", {1, 0}) != 0) s.unroll(ii);
      s.vectorize(ji);
      auto const pack = s.knob("pack", {0, 1, 2});
      if (pack == 0) return;
      auto const copy = s.transform_layout(s.cache_read(B, C), [](auto n, auto row, auto column) { return weft::dims(n, column, row); });
      s.compute_at(copy, pack == 1 ? jo : b);
    });
/// Channels x rows x columns by channels x 3 x 3.
inline constexpr auto recorded_depthwise = weft::kernel<"depthwise">(
    [](auto x, auto w) {
      auto C = x.extent(0), H = x.extent(1) - 2, W = x.extent(2) - 2;
      return weft::compute<"y">(C, H, W, [=](auto c, auto i, auto j) {
        return weft::sum(3, 3, [=](auto r, auto q) { return w(c, r, q) * x(c, i + r, j + q); });
      });
    },
    [](auto& s, auto, auto, auto y) {
      auto [c, i, j, r, q] = y.axes();
      auto [io, ii] = s.split(i, s.knob("rows", {1, 2, 3, 4, 7, 14}));
      auto [jo, ji] = s.split(j, s.knob("columns", {8, 16, 24, 28, 32, 48, 56}));
      auto [co, ci] = s.split(c, s.knob("channels", {1, 2, 4}));
      auto const order = s.knob("order", {0, 1, 2, 3, 4, 5});
      if (order == 0) s.reorder(co, io, jo, r, q, ci, ii, ji);
      if (order == 1) s.reorder(co, jo, io, r, q, ci, ii, ji);
      if (order == 2) s.reorder(co, r, q, io, jo, ci, ii, ji);
      if (order == 3) s.reorder(io, co, r, jo, q, ci, ii, ji);
      if (order == 4) s.reorder(co, io, r, jo, q, ci, ii, ji);
      if (order == 5) s.reorder(co, jo, r, io, q, ci, ii, ji);
      s.unroll(ci);
      s.unroll(ii);
      s.vectorize(ji);
      auto const unrolled = s.knob("unrolled", {0, 1, 2});
      if (unrolled >= 1) s.unroll(q);
      if (unrolled >= 2 && order < 2) s.unroll(r);
    });
inline constexpr auto recorded_layernorm = weft::kernel<"layernorm">(
    [](auto x) {
      auto R = x.extent(0), C = x.extent(1);
      auto m = weft::compute<"m">(R, [=](auto i) { return weft::sum(C, [=](auto j) { return x(i, j); }); });
      auto v = weft::compute<"v">(R, [=](auto i) {
        return weft::sum(C, [=](auto j) { return (x(i, j) - m(i) / 256.0f) * (x(i, j) - m(i) / 256.0f); });
      });
      return weft::compute<"y">(R, C, [=](auto i, auto j) {
        return (x(i, j) - m(i) / 256.0f) * weft::rsqrt(v(i) / 256.0f + 1e-5f);
      });
    },
    [](auto& s, auto, auto m, auto v, auto y) {
      auto const sums = [&](auto stage, char const* rows, char const* inside) {
        auto const part = s.split(stage.axes()[0], s.knob(rows, {1, 2, 4, 8, 16, 32}));
        if (s.knob(inside, {0, 1}) != 0) s.reorder(part[0], stage.axes()[1], part[1]);
        else s.reorder(stage.axes()[1], part[0], part[1]);
        s.vectorize(part[1]);
      };
      sums(m, "sum_rows", "sum_inside");
      sums(v, "square_rows", "square_inside");
      auto const out = s.split(y.axes()[1], s.knob("columns", {1, 2, 4, 8, 16, 64}));
      if (s.knob("down", {0, 1}) != 0) s.reorder(out[0], y.axes()[0], out[1]);
      s.vectorize(out[1]);
      auto const rolled = s.knob("unroll", {1, 4});
      if (rolled > 1) s.unroll(s.split(out[0], rolled)[1]);
    });
/// Queries S x D, keys D x S, values S x D.
inline constexpr auto recorded_attention = weft::kernel<"attention">(
    [](auto q, auto k, auto v) {
      auto S = q.extent(0), D = q.extent(1);
      auto p = weft::compute<"p">(S, S, [=](auto i, auto j) {
        return weft::sum(D, [=](auto d) { return q(i, d) * k(d, j); });
      });
      auto m = weft::compute<"m">(S, [=](auto i) { return weft::max(S, [=](auto j) { return p(i, j); }); });
      auto e = weft::compute<"e">(S, S, [=](auto i, auto j) { return weft::exp(p(i, j) - m(i)); });
      auto t = weft::compute<"t">(S, [=](auto i) { return weft::sum(S, [=](auto j) { return e(i, j); }); });
      auto o = weft::compute<"o">(S, D, [=](auto i, auto d) {
        return weft::sum(S, [=](auto j) { return e(i, j) * v(j, d); });
      });
      return weft::compute<"y">(S, D, [=](auto i, auto d) { return o(i, d) / t(i); });
    },
    [](auto& s, auto, auto, auto, auto p, auto m, auto e, auto t, auto o, auto y) {
      auto const tile = [&](auto stage, std::int64_t rows, char const* columns, char const* outside) {
        auto [i, j, k] = stage.axes();
        auto [io, ii] = s.split(i, rows);
        auto [jo, ji] = s.split(j, s.knob(columns, {8, 32}));
        if (outside[0] != '\0' && s.knob(outside, {0, 1}) != 0) s.reorder(io, k, jo, ii, ji);
        else s.reorder(io, jo, k, ii, ji);
        s.unroll(ii);
        s.vectorize(ji);
      };
      auto const rows = [&](auto stage, char const* lanes, char const* inside) {
        auto const part = s.split(stage.axes()[0], s.knob(lanes, {1, 4, 16}));
        if (inside[0] == '\0' || s.knob(inside, {0, 1}) != 0) s.reorder(part[0], stage.axes()[1], part[1]);
        else s.reorder(stage.axes()[1], part[0], part[1]);
        s.vectorize(part[1]);
      };
      tile(p, s.knob("mr", {1, 2, 8}), "nr", "outer_product");
      rows(m, "max_rows", ""), rows(t, "sum_rows", "sum_inside");
      s.vectorize(s.split(e.axes()[1], s.knob("exp_columns", {4, 32}))[1]);
      tile(o, s.knob("out_rows", {1, 4, 8}), "out_columns", "");
      s.vectorize(s.split(y.axes()[1], 16)[1]);
    });

/// What all were recorded with.
struct recorded_inputs {
  weft::tensor<float, 2> square{98, 98}, rows{256, 1024}, few{4, 512}, wide{512, 1024}, lines{128, 256};
  weft::tensor<float, 3> image{32, 30, 58}, planes{16, 16, 58}, lefts{16, 49, 32}, rights{16, 49, 32}, channels{32, 3, 3};
  weft::tensor<float, 4> weights{32, 16, 3, 3};
  weft::tensor<float, 2> queries{96, 32}, keys{32, 96}, values{96, 32};
  recorded_inputs() {
    auto const fill = [](auto& t) {
      auto* const data = t.data();
      for (std::size_t i = 0; i < t.size(); ++i) data[i] = static_cast<float>(i % 11) - 5;
    };
    fill(square), fill(rows), fill(few), fill(wide), fill(lines), fill(image), fill(planes), fill(lefts), fill(rights), fill(channels);
    fill(weights), fill(queries), fill(keys), fill(values);
  }
  /// Calls `use` with each kernel, its name, and its arguments.
  template <class Use>
  void each(Use const& use) const {
    use(recorded_matmul, "matmul", square, square);
    use(recorded_conv, "conv3x3", planes, weights);
    use(recorded_softmax, "softmax", rows);
    use(recorded_short, "short", few, wide);
    use(recorded_batched, "batched", lefts, rights);
    use(recorded_depthwise, "depthwise", image, channels);
    use(recorded_layernorm, "layernorm", lines);
    use(recorded_attention, "attention", queries, keys, values);
  }
};

}  // namespace weft_test
