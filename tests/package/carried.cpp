// With the one file that scripts/amalgamate makes of weft.hpp and of headers that it leaves out: each of them is used.
#include <weft.hpp>

#include <cstdio>
#include <vector>

inline constexpr auto scaled = weft::kernel<"scaled">(
    [](auto x, auto a) {
      return weft::compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a * x(i, j); });
    },
    [](auto& s, auto, auto, auto y) { s.parallel(y.axes()[0]); });
inline constexpr auto softmax = weft::kernel<"softmax">(weft::ops::softmax);
inline constexpr auto pick = weft::kernel<"pick">([](auto table, auto index) {
  return weft::compute<"y">(index.extent(0), [=](auto i) { return table(index(i)); });
});

static bool run(char const* file) {
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y(6);
  static int tasks = 0;
  weft::set_executor({.run =
                          [](void*, int n, weft::executor::task each, void* data) {
                            for (int i = 0; i < n; ++i) each(data, i), ++tasks;
                          },
                      .threads = 2});
  scaled(weft::view(x, weft::dim<"n">(2), 3), 2.0f, weft::out(y, 2, 3));
  weft::set_executor({});
  if (y[5] != 12 || tasks != 2) return false;

  weft::write_npy(file, weft::view(y, 2, 3));
  auto* const lent = weft::to_dlpack(weft::read_npy<float, 2>(file));
  weft::tensor<float, 2> const p = softmax(weft::from_dlpack<float, 2>(lent));
  if (p(0, 0) + p(0, 1) + p(0, 2) < 0.999f) return false;

  std::vector<int> const index{1, 7};
  try {
    pick.with({.checked = true})(x, index, weft::out(y.data(), 2));
  } catch (weft::access_error const& e) {
    return std::string_view(e.what()).find("read at [7], outside") != std::string_view::npos;
  }
  return false;
}

int main(int, char** argv) {
  try {
    if (!run(argv[1])) return 1;
  } catch (weft::error const& e) {
    std::puts(e.what());
    return 3;
  }
  std::puts("right");
}
