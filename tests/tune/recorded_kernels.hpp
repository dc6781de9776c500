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

inline constexpr auto recorded_matmul = weft::kernel<"matmul">(
    product_of,
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto [ko, ki] = s.split(k, s.knob("kb", {16, 64, 128, 256, 500}));
      auto [io, ii] = s.split(i, s.knob("mr", {1, 2, 4, 6, 8, 12}));
      auto [jo, ji] = s.split(j, s.knob("nr", {8, 16, 32, 48, 64}));
      auto const order = s.knob("order", {0, 1, 2, 3, 4, 5});
      if (order == 0) s.reorder(ko, jo, io, ki, ii, ji);
      if (order == 1) s.reorder(ko, io, jo, ki, ii, ji);
      if (order == 2) s.reorder(jo, ko, io, ki, ii, ji);
      if (order == 3) s.reorder(jo, io, ko, ki, ii, ji);
      if (order == 4) s.reorder(io, ko, jo, ki, ii, ji);
      if (order == 5) s.reorder(io, jo, ko, ki, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
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
      auto [oo, oi] = s.split(o, s.knob("channels", {1, 2, 4, 8, 16}));
      auto [jo, ji] = s.split(j, s.knob("columns", {8, 16, 32, 64}));
      auto [co, ci] = s.split(c, s.knob("block", {4, 8, 32}));
      auto const order = s.knob("order", {0, 1, 2, 3});
      if (order == 0) s.reorder(oo, i, jo, co, ci, r, q, oi, ji);
      if (order == 1) s.reorder(co, oo, i, jo, ci, r, q, oi, ji);
      if (order == 2) s.reorder(i, oo, jo, co, ci, r, q, oi, ji);
      if (order == 3) s.reorder(oo, co, i, jo, ci, r, q, oi, ji);
      s.unroll(oi);
      s.vectorize(ji);
      auto const unrolled = s.knob("unrolled", {0, 1, 2});
      if (unrolled >= 1) s.unroll(q);
      if (unrolled >= 2) s.unroll(r);
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
inline constexpr auto recorded_short = weft::kernel<"short">(product_of, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [ko, ki] = s.split(k, s.knob("kb", {512, 128, 32}));
  auto [io, ii] = s.split(i, s.knob("mr", {1, 2, 4}));
  auto [jo, ji] = s.split(j, s.knob("nr", {16, 32, 64, 128}));
  auto [kk, ku] = s.split(ki, s.knob("steps", {1, 2, 4}));
  auto const order = s.knob("order", {0, 1, 2});
  if (order == 0) s.reorder(ko, jo, io, kk, ku, ii, ji);
  if (order == 1) s.reorder(jo, ko, io, kk, ku, ii, ji);
  if (order == 2) s.reorder(ko, io, jo, kk, ku, ii, ji);
  s.unroll(ku);
  s.unroll(ii);
  s.vectorize(ji);
});
inline constexpr auto recorded_batched = weft::kernel<"batched">(
    [](auto A, auto B) {
      return weft::compute<"C">(A.extent(0), A.extent(1), B.extent(2), [=](auto b, auto i, auto j) {
        return weft::sum(A.extent(2), [=](auto k) { return A(b, i, k) * B(b, k, j); });
      });
    },
    [](auto& s, auto, auto, auto C) {
      auto [b, i, j, k] = C.axes();
      auto [io, ii] = s.split(i, s.knob("mr", {1, 2, 4, 6, 8}));
      auto [jo, ji] = s.split(j, s.knob("nr", {8, 16, 32, 64}));
      auto [ko, ki] = s.split(k, s.knob("kb", {16, 64}));
      auto const order = s.knob("order", {0, 1, 2, 3});
      if (order == 0) s.reorder(b, ko, jo, io, ki, ii, ji);
      if (order == 1) s.reorder(b, jo, io, ko, ki, ii, ji);
      if (order == 2) s.reorder(b, io, jo, ko, ki, ii, ji);
      if (order == 3) s.reorder(ko, io, jo, b, ki, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
      if (s.knob("steps", {1, 2}) == 2) s.unroll(s.split(ki, 2)[1]);
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
      auto [io, ii] = s.split(i, s.knob("rows", {1, 2, 4, 7}));
      auto [jo, ji] = s.split(j, s.knob("columns", {8, 16, 32, 56}));
      auto const order = s.knob("order", {0, 1, 2, 3});
      if (order == 0) s.reorder(c, io, jo, r, q, ii, ji);
      if (order == 1) s.reorder(c, jo, io, r, q, ii, ji);
      if (order == 2) s.reorder(c, r, q, io, jo, ii, ji);
      if (order == 3) s.reorder(io, c, r, jo, q, ii, ji);
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
        return weft::sum(C, [=](auto j) { return (x(i, j) - m(i) / 512.0f) * (x(i, j) - m(i) / 512.0f); });
      });
      return weft::compute<"y">(R, C, [=](auto i, auto j) {
        return (x(i, j) - m(i) / 512.0f) / weft::sqrt(v(i) / 512.0f + 1e-5f);
      });
    },
    [](auto& s, auto, auto m, auto v, auto y) {
      auto const sums = [&](auto stage, char const* rows, char const* inside) {
        auto const part = s.split(stage.axes()[0], s.knob(rows, {1, 4, 8, 16}));
        if (s.knob(inside, {0, 1}) != 0) s.reorder(part[0], stage.axes()[1], part[1]);
        else s.reorder(stage.axes()[1], part[0], part[1]);
        s.vectorize(part[1]);
      };
      sums(m, "sum_rows", "sum_inside");
      sums(v, "square_rows", "square_inside");
      auto const out = s.split(y.axes()[1], s.knob("columns", {4, 16, 64}));
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
      auto const tile = [&](auto stage, char const* rows, char const* columns) {
        auto [i, j, k] = stage.axes();
        auto [io, ii] = s.split(i, s.knob(rows, {1, 4, 8}));
        auto [jo, ji] = s.split(j, s.knob(columns, {8, 16, 32}));
        s.reorder(io, jo, k, ii, ji);
        s.unroll(ii);
        s.vectorize(ji);
      };
      auto const rows = [&](auto stage) {
        auto const part = s.split(stage.axes()[0], 16);
        s.reorder(part[0], stage.axes()[1], part[1]);
        s.vectorize(part[1]);
      };
      tile(p, "mr", "nr");
      rows(m), rows(t);
      s.vectorize(s.split(e.axes()[1], s.knob("exp_columns", {8, 16, 32}))[1]);
      tile(o, "out_rows", "out_columns");
      s.vectorize(s.split(y.axes()[1], 16)[1]);
    });

/// What all were recorded with.
struct recorded_inputs {
  weft::tensor<float, 2> a{500, 500}, b{500, 500}, rows{256, 1024}, few{4, 512}, wide{512, 1024}, lines{256, 512};
  weft::tensor<float, 3> image{32, 30, 58}, lefts{8, 64, 64}, rights{8, 64, 64}, channels{32, 3, 3};
  weft::tensor<float, 4> weights{32, 32, 3, 3};
  weft::tensor<float, 2> queries{96, 32}, keys{32, 96}, values{96, 32};
  recorded_inputs() {
    auto const fill = [](auto& t) {
      auto* const data = t.data();
      for (std::size_t i = 0; i < t.size(); ++i) data[i] = static_cast<float>(i % 11) - 5;
    };
    fill(a), fill(b), fill(rows), fill(few), fill(wide), fill(lines), fill(image), fill(lefts), fill(rights), fill(channels);
    fill(weights), fill(queries), fill(keys), fill(values);
  }
  /// Calls `use` with each kernel, its name, and its arguments.
  template <class Use>
  void each(Use const& use) const {
    use(recorded_matmul, "matmul", a, b);
    use(recorded_conv, "conv3x3", image, weights);
    use(recorded_softmax, "softmax", rows);
    use(recorded_short, "short", few, wide);
    use(recorded_batched, "batched", lefts, rights);
    use(recorded_depthwise, "depthwise", image, channels);
    use(recorded_layernorm, "layernorm", lines);
    use(recorded_attention, "attention", queries, keys, values);
  }
};

}  // namespace weft_test
