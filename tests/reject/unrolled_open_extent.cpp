// expect: an_unrolled_axis_has_an_open_extent__split_it_first
#include <weft/dim.hpp>
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) { return weft::compute<"C">(A.extent(0) * 2, [=](auto i) { return A(i / 2) + A(i / 2); }); },
    [](auto& s, auto, auto C) {
      auto [i] = C.axes();
      auto [io, ii] = s.split(i, 4);
      s.vectorize(ii);
      s.unroll(io);  // <- here
    });

int main(int argc, char** argv) {
  float a[4] = {};
  if (argc > 8) doubled(weft::view(a, weft::dim<"n">(argc)), weft::out(a, 2 * argc));
  return argv == nullptr;
}
