// expect: a_stage_that_reads_it_is_computed_as_far_ahead
#include <weft/weft.hpp>

constexpr auto chain = [](auto x) {
  auto a = weft::compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j); });
  auto b = weft::compute<"b">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a(i, j) * 2; });
  return weft::compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return b(i, j) - a(i, j); });
};
constexpr auto k = weft::kernel<"k">(chain, [](auto& s, auto, [[maybe_unused]] auto a, auto b, auto out) {
  auto [i, j] = out.axes();
  static_cast<void>(j);
  s.compute_at(b, i);
  s.compute_at(a, i);
  s.pipeline(a, 1, weft::transfer::async);
  s.pipeline(b, 1);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
