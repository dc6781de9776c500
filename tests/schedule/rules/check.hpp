// A kernel without a schedule: the one by rule against direct evaluation, in every executor.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "ops/check.hpp"
#include "weft/print_how.hpp"

namespace weft_test {

/// Whether the loops of a kernel contain these words, in this order.
inline bool has_in_order(std::string const& text, std::initializer_list<char const*> words) {
  std::size_t at = 0;
  for (char const* word : words) {
    at = text.find(word, at);
    if (at == std::string::npos) return false;
    ++at;
  }
  return true;
}
/// The computation of `k` on these inputs, as the fuzzer has it.
template <class Kernel, class... In>
fuzz::drawn drawn_of(Kernel const& k, In const&... inputs) {
  using types = typename Kernel::template types_for<In...>;
  typename types::pair const lambdas{k.what, k.how};
  fuzz::drawn d;
  d.what = types::program_of(lambdas);
  auto const add = [&](auto const& in) {
    if constexpr (weft::element<std::remove_cvref_t<decltype(in)>>) d.scalars.push_back(weft::to_bits(in));
    else d.tensors.push_back(dense_of(in)), d.has_empty = d.has_empty || in.size() == 0;
  };
  (add(inputs), ...);
  d.order_free.resize(d.what.stages.size(), true);
  return d;
}
/// Of a computation whose sums are exact: the kernel, with the bits kept and without, gives those of direct evaluation; so do
/// the interpreter and machine code for lesser targets under the rule's steps for machines on which everything pays; and those
/// steps are a how-lambda's; and so they do under schedules that a search would try.
template <class Kernel, class... In>
void check_rule(Kernel const& k, In const&... inputs) {
  auto const expected = weft::evaluate({.contract = weft::cpu().fma}, k, inputs...);
  INFO(k.loops(inputs...));
  CHECK((expected == k(inputs...)));
  CHECK((k.with({.bitwise = true})(inputs...) == expected));
  CHECK((k.with({.plain = true})(inputs...) == expected));
  CHECK(!weft::print_how(k, inputs...).empty());
  fuzz::drawn d = drawn_of(k, inputs...);
  constexpr auto apart = rounds<std::uint64_t>(1, 6);  // under sanitizers the rule's own alone
  for (std::uint64_t seed = 0; seed < 6; seed += apart) {
    d.seed = seed;
    fuzz::random_source r(seed + 77);
    weft::trace const steps = fuzz::steps_by_rule(r, d, seed >= 3);  // half of them points of the space around the rule's schedule
    std::string fault = fuzz::check_interpreted(d, steps);
    if (fault.empty() || fuzz::is_impossible(fault)) fault = fuzz::check_compiled(d, steps);  // of large ones that alone
    CHECK_MESSAGE(fault.empty(), fuzz::describe(d, steps) << fault);
  }
}

}  // namespace weft_test
