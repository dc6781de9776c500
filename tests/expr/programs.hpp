// Programs made by the face, and their evaluation on plain vectors.
#pragma once

#include "weft/expr/canonical.hpp"
#include "weft/expr/evaluate.hpp"
#include "weft/expr/compute.hpp"
#include "weft/expr/math/functions.hpp"

namespace weft_test {

template <class T, int Rank>
constexpr weft::expr::tensor<T, Rank> input(weft::program& p, std::string_view name) {
  return {&p, p.add_input(weft::short_name(name), weft::dtype_of<T>, Rank)};
}
template <class T>
constexpr weft::dense dense(weft::sequence<std::int64_t> shape, weft::sequence<T> const& elements) {
  weft::dense d{weft::dtype_of<T>, static_cast<weft::sequence<std::int64_t>&&>(shape), {}};
  for (T x : elements) d.bits.push_back(weft::to_bits(x));
  return d;
}
template <class T>
constexpr weft::sequence<T> elements(weft::dense const& d) {
  weft::sequence<T> out;
  for (std::int64_t b : d.bits) out.push_back(weft::from_bits<T>(b));
  return out;
}
/// Stage `stage` of `p`, made canonical and expanded, on these inputs.
constexpr weft::dense run(weft::program const& p, weft::sequence<weft::dense> inputs,
                          weft::sequence<std::int64_t> const& scalars = {}, bool contract = false, int stage = -1) {
  weft::program const ready = weft::expand(weft::canonical(p), contract);
  inputs.resize(ready.tensors.size());
  weft::evaluator e(ready, inputs, scalars);
  return e.result((stage < 0 ? ready.stages.back() : ready.stages[static_cast<std::size_t>(stage)]).tensor);
}
/// Applies `f(element)` to each of `x` by a one-stage program.
template <class T, class F>
constexpr auto map(weft::sequence<T> const& x, F f, bool contract = false) {
  weft::program p;
  auto const A = input<T, 1>(p, "A");
  auto const C = weft::compute<"C">(A.extent(0), [=](auto i) { return f(A(i)); });
  using R = typename decltype(C(0))::element_type;
  return elements<R>(run(p, {dense<T>({static_cast<std::int64_t>(x.size())}, x)}, {}, contract));
}

}  // namespace weft_test
