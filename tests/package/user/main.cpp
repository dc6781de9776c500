// A user's first program: one kernel, called and checked. Prints "right", or what weft says is missing.
#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

inline constexpr auto line = weft::kernel<"line">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f + 1.0f; }); },
    [](auto& s, auto, auto y) {
      auto [chunk, lane] = s.split(y.axes()[0], 8);
      s.vectorize(lane);
    });

int main() {
  std::vector<float> x(100, 1.5f), y(100);
  try {
    line(x, weft::out(y));
  } catch (weft::error const& e) {
    std::puts(e.what());
    return 3;
  }
  for (float v : y)
    if (v != 4.0f) return 1;
  std::puts("right");
}
