// expect: an_asynchronous_copy_has_no_arithmetic
#include <weft/weft.hpp>

constexpr auto chain = [](auto x) {
  auto a = weft::compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) + 1; });
  auto b = weft::compute<"b">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a(i, j) * 2; });
  return weft::compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return b(i, j) - a(i, j); });
};
constexpr auto k = weft::kernel<"k">(chain, [](auto& s, auto, [[maybe_unused]] auto a, auto b, auto out) {
  auto [i, j] = out.axes();
  static_cast<void>(j);
  s.compute_at(b, i);
  s.pipeline(b, 2, weft::transfer::async);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
