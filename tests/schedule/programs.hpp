// Small programs, and what a how-lambda does to their schedules, for tests in the compiler and at run time.
#pragma once

#include "weft/expr/canonical.hpp"
#include "weft/expr/compute.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft_test {

template <class T = float>
constexpr weft::program matmul() {
  weft::program p;
  weft::expr::tensor<T, 2> const A{&p, p.add_input(weft::short_name("A"), weft::dtype_of<T>, 2)};
  weft::expr::tensor<T, 2> const B{&p, p.add_input(weft::short_name("B"), weft::dtype_of<T>, 2)};
  auto const C = weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
  p.outputs.push_back(C.id);
  return weft::canonical(p);
}
/// Two stages: row sums C, then D.
constexpr weft::program two_stages() {
  weft::program p;
  weft::expr::tensor<float, 2> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 2)};
  auto const C =
      weft::compute<"C">(A.extent(0), [=](auto i) { return weft::max(A.extent(1), [=](auto k) { return A(i, k); }); });
  auto const D = weft::compute<"D">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) - C(i); });
  p.outputs.push_back(D.id);
  return weft::canonical(p);
}

/// Every extent of every input.
struct all_extents {
  std::int64_t value = -1;
  constexpr std::int64_t operator()(int, int) const { return value; }
};
/// What `how(s, axes of the first stage)` comes to.
struct outcome {
  weft::verdict state = weft::verdict::legal;
  weft::diagnosis why = weft::diagnosis::none;  // of the last step
  int steps = 0;
  bool operator==(outcome const&) const = default;
};
template <class How>
constexpr outcome judge(weft::program const& p, std::int64_t extent, How how) {
  weft::schedule s(p, all_extents{extent});
  how(s, s.order[0]);
  outcome o{s.state, weft::diagnosis::none, static_cast<int>(s.steps.size())};
  if (!s.steps.empty()) o.why = s.steps.back().reason;
  return o;
}
/// As `judge`, on the axes i, j, k of the matrix product.
template <class How>
constexpr outcome judge_matmul(std::int64_t extent, How how) {
  return judge(matmul(), extent, [&](weft::schedule& s, weft::sequence<std::int32_t> const& order) {
    weft::axis const i{order[0]}, j{order[1]}, k{order[2]};
    how(s, i, j, k);
  });
}
constexpr bool is(outcome const& o, weft::verdict v, weft::diagnosis d = weft::diagnosis::none) {
  return o.state == v && o.why == d;
}

/// The names of a stage's loops, outermost first: "io jo ii ji".
inline std::string loop_names(weft::nest const& n, std::size_t stage) {
  std::string out;
  for (std::int32_t l : n.order[stage]) (out += out.empty() ? "" : " ") += n.at(l).name.view();
  return out;
}
/// The value that each root axis of `stage` has at every point of the nest, in the order of execution; points
/// that a guard keeps out are missing. Row-major in the order of the axes.
inline weft::sequence<weft::sequence<std::int64_t>> points(weft::nest const& n, std::size_t stage) {
  weft::sequence<std::int32_t> const& order = n.order[stage];
  weft::sequence<std::int64_t> at(n.loops.size(), 0);
  weft::sequence<weft::sequence<std::int64_t>> out;
  auto const visit = [&](auto const& self, std::size_t depth) -> void {
    if (depth < order.size()) {
      auto& x = at[static_cast<std::size_t>(order[depth])];
      for (x = 0; x < n.at(order[depth]).extent; ++x) self(self, depth + 1);
      return;
    }
    weft::sequence<std::int64_t> value = at, point;
    bool inside = true;
    for (std::size_t l = n.loops.size(); l-- > 0;) {  // what a step makes is numbered behind what it is made of
      weft::loop_info const& loop = n.loops[l];
      if (loop.stage != static_cast<std::int32_t>(stage)) continue;
      if (loop.into >= 0) {
        std::int64_t behind = 1;
        for (int k = loop.next; k >= 0; k = n.at(k).next) behind *= n.at(k).extent;
        value[l] = value[static_cast<std::size_t>(loop.into)] / behind;
        if (n.at(loop.into).first != static_cast<std::int32_t>(l)) value[l] %= loop.extent;
      } else if (!loop.live())
        value[l] =
            value[static_cast<std::size_t>(loop.outer)] * loop.factor + value[static_cast<std::size_t>(loop.inner)];
      inside = inside && value[l] < loop.extent;
    }
    for (std::size_t l = 0; l < n.loops.size(); ++l)
      if (n.loops[l].stage == static_cast<std::int32_t>(stage) && n.loops[l].root >= 0 && n.loops[l].parent < 0) point.push_back(value[l]);
    if (inside) out.push_back(point);
  };
  visit(visit, 0);
  return out;
}

}  // namespace weft_test
