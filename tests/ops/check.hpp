// An op against a plain loop that knows nothing of weft, and all executors against each other.
#pragma once

#include <array>
#include <cmath>
#include <initializer_list>

#include "codegen/cuda/corpus.hpp"
#include "fuzz/run.hpp"
#include "weft/schedule/rules/gpu.hpp"
#include "weft/weft.hpp"

namespace weft_test {

/// Tame numbers (fuzz/random.hpp): of floats k / 8 with |k| <= 16, so that sums of a few thousand products are exact in
/// f32, in any order.
template <class T, class... Extent>
weft::tensor<T, static_cast<int>(sizeof...(Extent))> drawn(std::uint64_t seed, Extent... extents) {
  weft::tensor<T, static_cast<int>(sizeof...(Extent))> t(extents...);
  fuzz::random_source r(seed);
  for (T& x : t) x = weft::from_bits<T>(fuzz::draw_element(r, weft::dtype_of<T>, false));
  return t;
}
/// The bits of a tensor, as the evaluator takes them.
template <class T, int Rank>
weft::dense dense_of(weft::tensor<T, Rank> const& t) {
  weft::dense d{weft::dtype_of<T>, {t.shape().begin(), t.shape().end()}, {}};
  for (T const& x : t) d.bits.push_back(weft::to_bits(x));
  return d;
}
/// Runs the kernel's computation under schedules that `seed` draws: by the interpreter, before and after the passes,
/// for sizes that are known and that are not, and by machine code for each kind of target; against direct evaluation.
/// Says what differs.
template <class Kernel, class... In>
std::string executors_differ(std::uint64_t seed, Kernel const& k, In const&... inputs) {
  using types = typename Kernel::template types_for<In...>;
  typename types::pair const lambdas{k.what, k.how};
  fuzz::drawn d;
  d.seed = seed;
  d.what = types::program_of(lambdas);
  auto const add = [&](auto const& in) {
    if constexpr (weft::element<std::remove_cvref_t<decltype(in)>>)
      d.scalars.push_back(weft::to_bits(in));
    else
      d.tensors.push_back(dense_of(in)), d.has_empty = d.has_empty || in.size() == 0;
  };
  (add(inputs), ...);
  d.order_free.resize(d.what.stages.size(), false);
  fuzz::random_source r(seed);
  weft::trace steps = fuzz::draw_steps(r, weft::schedule(d.what, fuzz::extents_of(d)), d.order_free, {});
  std::string fault = fuzz::check_possible(fuzz::check_interpreted, d, steps);
  if (fault.empty()) fault = fuzz::check_compiled(d, steps);
  return fault.empty() ? fault : fuzz::describe(d, steps) + fault;
}

/// A kernel of one matrix, of m x n: machine code for this machine, for AVX2 and SSE2, and checked code have the bits of direct evaluation.
template <class T, class Kernel>
void agrees(Kernel const& k, std::int64_t m, std::int64_t n) {
  auto const a = drawn<T>(5, m, n);
  auto const expected = weft::evaluate({.contract = weft::cpu().fma}, k, a);
  CHECK((k(a) == expected));
  for (weft::target t : {weft::x86_64_avx2(), weft::x86_64_sse2()})
    if (weft::cannot_run_here(t).empty()) CHECK((k.on(t)(a) == weft::evaluate({.contract = t.fma}, k, a)));
  CHECK((k.with({.checked = true})(a) == expected));
}

/// Runs it under the rules for GPUs, with sums in order and without, by the interpreter. Says what differs from direct evaluation.
template <class Kernel, class... In>
std::string gpu_differs(Kernel const& k, In const&... inputs) {
  if constexpr ((weft::element<In> || ...)) {
    return "";  // gpu_trial passes no numbers
  } else {
    using types = typename Kernel::template types_for<In...>;
    typename types::pair const lambdas{k.what, k.how};
    if (((inputs.size() == 0) || ...)) return "";
    for (bool const reassociate : {false, true}) {
      gpu_kernel g{"op"};
      g.p = weft::canonical(types::program_of(lambdas));
      for (weft::stage_info const& s : g.p.stages)
        if (s.by != nullptr) return "";
      (g.given.push_back(dense_of(inputs)), ...);
      for (weft::dense const& d : g.given) g.shapes.push_back(d.shape);
      if (reassociate) g.tolerance = 1e-5;
      weft::program const expanded = weft::expand(g.p, true);
      weft::schedule s(expanded, [&](int t, int d) { return g.shapes[static_cast<std::size_t>(t)][static_cast<std::size_t>(d)]; }, {0, 16});
      weft::rule_input in;
      in.reassociate = reassociate;
      in.strides.resize(expanded.tensors.size());
      weft::schedule_by_gpu_rule(s, in);
      g.steps = weft::print_trace(s);
      if (g.steps.empty()) continue;
      gpu_trial t(g);
      if (!t.fault.empty()) return g.steps + t.fault;
      if (std::string const wrong = t.interpreted(1); !wrong.empty()) return g.steps + wrong;
    }
    return "";
  }
}

/// Checks each element of the first output against `expected(i, j, ...)`, a double, within `bound` of it, the shape,
/// and the executors.
template <class Kernel, std::size_t Rank, class Expected, class... In>
void check_op(Kernel const& k, std::array<std::int64_t, Rank> const& shape, double bound, Expected const& expected,
              In const&... inputs) {
  auto const result = k(inputs...);
  REQUIRE(result.shape() == shape);
  // A schedule by rule may add floats in another order.
  bool const same = weft::evaluate({.contract = weft::cpu().fma}, k, inputs...) == k.with({.bitwise = true})(inputs...);
  CHECK(same);
  std::array<std::int64_t, Rank> i{};
  int wrong = 0;
  for (auto const& got : result) {
    auto const wanted = static_cast<double>(std::apply(expected, i));
    auto const found = static_cast<double>(got);
    bool const fine =
        found == wanted || std::fabs(found - wanted) <= bound || (std::isnan(found) && std::isnan(wanted));
    if (!fine && ++wrong < 4) {
      std::string place;
      for (std::int64_t at : i) place += std::to_string(at) + " ";
      CHECK_MESSAGE(false, "at " << place << ": " << found << ", expected " << wanted << " within " << bound);
    }
    for (std::size_t d = Rank; d-- > 0;) {
      if (++i[d] < shape[d]) break;
      i[d] = 0;
    }
  }
  CHECK(wrong == 0);
  std::string const on_gpu = gpu_differs(k, inputs...);
  CHECK_MESSAGE(on_gpu.empty(), on_gpu);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    std::string const fault = executors_differ(seed, k, inputs...);
    CHECK_MESSAGE(fault.empty(), fault);
  }
}
template <std::size_t Rank>
using shape_t = std::array<std::int64_t, Rank>;

/// What the call was refused for.
template <class F>
std::string refusal_of(F const& call) {
  try {
    call();
  } catch (weft::argument_error const& e) {
    return e.what();
  }
  return "";
}

}  // namespace weft_test
