// What the families share: kernels without a schedule, and sums in double.
#pragma once

#include <weft/weft.hpp>

#include <algorithm>

#include "contest.hpp"
#include "modules.hpp"

namespace bench::peers {

/// A kernel for this machine as if it had so many threads: what a rule makes of it keeps to that.
template <class Kernel>
Kernel with_threads(Kernel const& k, int threads) {
  weft::target machine = weft::host();
  machine.threads = std::min(machine.threads, threads);
  return k.on(machine);
}
/// The kernel, compiled, as a call without arguments. What it is called with is kept by whoever calls this, or a view.
template <class Kernel, class... A>
std::function<void()> ready(Kernel const& k, int threads, A const&... arguments) {
  auto const prepared = with_threads(k, threads).prepare(arguments...);
  return [prepared, arguments...] { prepared(arguments...); };
}

/// A sum of products in double, and how far f32 may be from it in any order: each of k roundings of what the terms add up to.
struct exact_sum {
  double value = 0, magnitude = 0;
  int terms = 0;
  void add(double a, double b) { value += a * b, magnitude += a * b < 0 ? -a * b : a * b, ++terms; }
  expected in_f32() const { return {value, 1.01 * f32_rounding * (terms + 1) * magnitude}; }
};

}  // namespace bench::peers
