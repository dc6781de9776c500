// Real spaces whose points were all measured once: kernels with knobs, and files of what each point took. A search can be
// replayed on them as often as one likes.
#pragma once

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tune/landscapes.hpp"
#include "weft/expr/math/functions.hpp"
#include "weft/tune.hpp"

namespace weft_test {

inline constexpr auto recorded_matmul = weft::kernel<"matmul">(
    [](auto A, auto B) {
      auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
      return weft::compute<"C">(M, N, [=](auto i, auto j) {
        return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
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

/// What a space's points are judged for, wherever the replay runs: 32 registers of 64 bytes.
inline weft::target recorded_target() {
  weft::target t = weft::host();
  t.vector_bytes = 64, t.vector_registers = 32, t.fma = true;
  t.l1_bytes = 32 << 10, t.l2_bytes = 1 << 20, t.l3_bytes = 32 << 20, t.threads = 2;
  return t;
}

/// A kernel's space for arguments of these shapes, and the table of its file.
class recorded_space : public weft::tuning::landscape {
 public:
  template <class Kernel, class... A>
  recorded_space(Kernel const& kernel, std::string const& file, A const&... a) : machine_(recorded_target()) {
    kernel.erased(
        [&](weft::kernel_face const& f, weft::argument* arguments, int count) {
          what_ = f.what(f.object);
          weft::shape_outputs(what_, arguments, count);
          layout_ = weft::bind(what_, f.name, arguments, count);
          weft::tuning::space s({f.name, &what_, f.how, f.object, &layout_, &machine_, {}});
          weft::sequence<std::int32_t> choices;
          bool more = true;
          while (more) {  // the kernel's own object is gone later: all points now
            weft::tuning::point p = s.look(choices);
            described_.emplace_back();
            if (p.legal) described_.back().known = s.describe(p, described_.back().features, described_.back().estimate);
            more = weft::tuning::next_point(p, choices);
            times_.push_back(0);
            known_.keep(p);
          }
        },
        a...);
    std::ifstream in(file);
    std::string text;
    for (double ns; in >> text >> ns;) {
      weft::sequence<std::int32_t> choices;
      for (std::size_t at = 0; at < text.size(); at = text.find(',', at) + 1) {
        choices.push_back(std::atoi(text.c_str() + at));
        if (text.find(',', at) == std::string::npos) break;
      }
      times_[known_.find(choices)] = ns;
      ++measured;
    }
  }
  weft::tuning::point look(weft::sequence<std::int32_t> const& choices) override {
    weft::sequence<std::int32_t> all = choices;
    all.resize(known_[0].choices.size(), 0);  // each point of these spaces has all knobs
    weft::tuning::point p = known_[known_.find(all)];
    p.legal = p.legal && times_[known_.find(p.choices)] > 0;
    return p;
  }
  bool describe(weft::tuning::point const& p, weft::sequence<float>& features, double& estimate) override {
    description const& d = described_[known_.find(p.choices)];
    features = d.features, estimate = d.estimate;
    return d.known && describes;
  }
  bool describes = true;  // false: as if nothing were known of the loop programs
  double ns(weft::tuning::point const& p) { return times_[known_.find(p.choices)]; }
  int measured = 0;

 private:
  struct nowhere : weft::tuning::landscape {
    weft::tuning::point look(weft::sequence<std::int32_t> const&) override { return {}; }
  };
  struct description {
    bool known = false;
    double estimate = 0;
    weft::sequence<float> features;
  };
  std::vector<description> described_;
  weft::target machine_;
  weft::program what_;
  weft::call_layout layout_;
  nowhere nothing_;
  weft::tuning::known_points known_{nothing_};
  std::vector<double> times_;
};

}  // namespace weft_test
