// The 3 x 3 box blur of Ragan-Kelley et al., PLDI 2013, section 2, and Halide's apps/blur: a window of rows slides down
// each strip.
#include "schedules/check.hpp"

namespace {

constexpr auto what = [](auto in) {
  auto const height = in.extent(0) - 2, width = in.extent(1) - 2;
  auto const third = [](auto a, auto b, auto c) { return weft::cast<std::uint16_t>((a + b + c) / 3); };
  auto blur_x = weft::compute<"blur_x">(height + 2, width, [=](auto y, auto x) {
    return third(in(y, x), in(y, x + 1), in(y, x + 2));
  });
  return weft::compute<"blur_y">(height, width, [=](auto y, auto x) {
    return third(blur_x(y, x), blur_x(y + 1, x), blur_x(y + 2, x));
  });
};
inline constexpr auto plain = weft::kernel<"blur">(what);
inline constexpr auto scheduled = weft::kernel<"blur">(what, [](auto& s, auto, auto blur_x, auto blur_y) {
  auto [y, x] = blur_y.axes();
  auto [strip, row] = s.split(y, 8);
  s.parallel(strip);
  s.vectorize(s.split(x, 8)[1]);
  auto [y_, x_] = blur_x.axes();
  s.vectorize(s.split(x_, 8)[1]);
  s.compute_at(blur_x, row);
  s.store_at(blur_x, strip);
  s.fold_storage(y_, 4);
});

}  // namespace

TEST_CASE("Halide's schedule for blur: strips, and a window of rows that slides down each") {
  weft::tensor<std::uint16_t, 2> in(37, 45);
  weft_test::fill(in, 65536);
  auto const blur_x = [&](std::int64_t y, std::int64_t x) { return (in(y, x) + in(y, x + 1) + in(y, x + 2)) / 3; };
  weft_test::check_schedule("blur.ir", scheduled, plain, 0, [&](std::int64_t y, std::int64_t x) {
    return (blur_x(y, x) + blur_x(y + 1, x) + blur_x(y + 2, x)) / 3;
  }, in);
}
