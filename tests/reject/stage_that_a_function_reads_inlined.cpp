// expect: a_function_reads_this_stage_whole__let_it_read_a_copy
#include <weft/weft.hpp>
#include <weft/expr/extern.hpp>

int sums(weft::extern_view<float const, 1> x, weft::extern_view<float, 1> y) noexcept;

constexpr auto k = weft::kernel<"k">(
    [](auto x) {
      auto r = weft::compute<"r">(x.extent(0), [=](auto i) { return x(i) * x(i); });
      auto f = weft::compute<"f">(x.extent(0), weft::external<"sums", &sums>(r));
      return weft::compute<"y">(x.extent(0), [=](auto i) { return f(i) + 1; });
    },
    []([[maybe_unused]] auto& s, auto, [[maybe_unused]] auto r, [[maybe_unused]] auto f, [[maybe_unused]] auto y) {
      s.compute_inline(r);  // <- here
    });
static_assert(weft::checked<k, weft::arg<float, 1>>);

int main() {}
