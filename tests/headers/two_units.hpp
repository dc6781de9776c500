// One kernel, and the addresses of some functions of weft, as one TU sees them.
#pragma once

#include <vector>
#include <weft/weft.hpp>

inline constexpr auto line = weft::kernel<"line">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f + 1.0f; }); },
    [](auto& s, auto, auto y) {
      auto [chunk, lane] = s.split(y.axes()[0], 8);
      s.vectorize(lane);
    });

struct seen {
  decltype(&weft::environment) text;
  decltype(&weft::environment_number) number;
  decltype(&line) kernel;
  bool operator==(seen const&) const = default;
};
// Not inline: one in each TU, and it calls the kernel there.
static bool call_here() {
  std::vector<float> x(100, 1.5f), y(100);
  line(x, weft::out(y));
  for (float v : y)
    if (v != 4.0f) return false;
  return true;
}
static constexpr seen seen_here() { return {&weft::environment, &weft::environment_number, &line}; }

bool call_there();
seen seen_there();
