// Math functions give the same bits as vectors, as scalars, and by direct evaluation.
#include <doctest/doctest.h>

#include "expr/math/bounds.hpp"
#include "expr/math/kernel.hpp"
#include "expr/math/samples.hpp"
#include "expr/programs.hpp"
#include "weft/compile.hpp"

namespace {
using namespace weft_test;

/// The bits, with all NaNs as one.
template <class T>
std::int64_t value_bits(T x) {
  return x == x ? static_cast<std::int64_t>(weft::to_bits(x)) : -1;
}

template <class T>
void check_agreement(weft::program const& what, std::string_view name, weft::target const& machine) {
  weft::dtype const type = weft::dtype_of<T>;
  constexpr std::int64_t count = 5003;  // a tail for every number of lanes
  constexpr std::size_t evaluated = 150;
  std::uint64_t const seed = 7;
  operands<T> const in = sampler<T>(seed).draw(count);
  int const lanes = machine.vector_bytes / static_cast<int>(sizeof(T));
  std::vector<T> scalar(count), vector(count);
  math_kernel(what, machine, count, 1)(in.a.data(), in.b.data(), scalar.data());
  math_kernel(what, machine, count, lanes)(in.a.data(), in.b.data(), vector.data());
  weft::program const p = weft::expand(what, machine.fma);
  // Beginning in the middle of the special pairs, so that there are random ones, too.
  std::size_t const special = 60 * 60, first = special - evaluated / 2;
  weft::sequence<weft::dense> tensors(p.tensors.size());
  for (std::size_t t = 0; t + 1 < tensors.size(); ++t) {
    tensors[t] = {type, {static_cast<std::int64_t>(evaluated)}, {}};
    for (std::size_t n = 0; n < evaluated; ++n)
      tensors[t].bits.push_back(weft::to_bits((t == 0 ? in.a : in.b)[first + n]));
  }
  weft::evaluator e(p, tensors, {});
  weft::dense const& direct = e.result(p.stages.back().tensor);
  INFO(name << " of " << weft::name(type) << ", fma " << machine.fma << ", seed " << seed);
  int differing = 0;
  for (std::size_t n = 0; n < count; ++n)
    if (value_bits(scalar[n]) != value_bits(vector[n]) && differing++ == 0)
      FAIL_CHECK("scalar and vector differ at " << in.a[n] << ", " << in.b[n]);
  for (std::size_t n = 0; n < evaluated; ++n)
    if (value_bits(weft::from_bits<T>(static_cast<decltype(weft::to_bits(T{}))>(direct.bits[n]))) !=
            value_bits(vector[first + n]) &&
        differing++ == 0)
      FAIL_CHECK("direct evaluation differs at " << in.a[first + n] << ", " << in.b[first + n]);
  CHECK(differing == 0);
}
template <class T>
void check_agreement(weft::op o, weft::dtype type, weft::target const& machine) {
  check_agreement<T>(math_program(o, type), weft::name(o), machine);
}

}  // namespace

TEST_CASE("a math function has the same bits as vector code, as scalar code and by direct evaluation") {
  weft::target without = weft::host();
  without.fma = false;
  for (weft::target const& machine : {weft::host(), without, weft::x86_64_sse2()}) {
    if (machine.arch != weft::host().arch) continue;
    for (math_function const& f : math_functions) {
      check_agreement<float>(f.o, weft::dtype::f32, machine);
      check_agreement<double>(f.o, weft::dtype::f64, machine);
    }
  }
}
TEST_CASE("gelu by tanh, which is one function, has the same bits as vector code, as scalar code and by direct evaluation") {
  weft::program p;
  auto const a = input<float, 1>(p, "a");
  p.outputs.push_back(weft::compute<"y">(a.extent(0), [=](auto i) {
                        auto const v = a(i);
                        return 0.5f * v * (1 + weft::tanh(0.79788456f * (v + 0.044715f * v * v * v)));
                      }).id);
  for (weft::target const& machine : {weft::host(), weft::x86_64_avx2(), weft::x86_64_sse2()})
    if (machine.arch == weft::host().arch && (weft::host().fma || !machine.fma))
      check_agreement<float>(weft::canonical(p), "gelu by tanh", machine);
}
