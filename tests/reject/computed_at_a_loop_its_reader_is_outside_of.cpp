// expect: a_stage_that_reads_it_runs_outside_of_this_axis__compute_it_further_out
#include <weft/weft.hpp>

// d is read by b alone, a by b and c.
constexpr auto k = weft::kernel<"k">(
    [](auto x) {
      auto d = weft::compute<"d">(x.extent(0), [=](auto i) { return x(i) * x(i); });
      auto a = weft::compute<"a">(x.extent(0), [=](auto i) { return x(i) + x(i); });
      auto b = weft::compute<"b">(x.extent(0), [=](auto i) { return a(i) + d(i); });
      return weft::compute<"c">(x.extent(0), [=](auto i) { return a(i) * b(i); });
    },
    []([[maybe_unused]] auto& s, auto, [[maybe_unused]] auto d, [[maybe_unused]] auto a, [[maybe_unused]] auto b, [[maybe_unused]] auto c) {
      auto [i] = b.axes();
      s.compute_at(a, i);  // <- here
    });
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
