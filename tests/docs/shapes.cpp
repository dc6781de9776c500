// The pieces of docs/shapes.md, compiled and run.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/private_cache.hpp"
#include "weft/shapes.hpp"
#include "weft/weft.hpp"

namespace {

inline constexpr auto project = weft::kernel<"project">([](auto x, auto w) {
  return weft::compute<"y">(x.extent(0), w.extent(1), [=](auto i, auto j) {
    return weft::sum(x.extent(1), [=](auto k) { return x(i, k) * w(k, j); });
  });
});

}  // namespace

TEST_CASE("docs/shapes: sequences of every length") {
  weft_test::private_cache const cache;
  std::vector<float> x(600 * 64, 1.0f), w(64 * 48, 0.5f), y(600 * 48);
  std::uint64_t const before = weft::compilations();
  for (int length = 16; length <= 496; length += 16)
    project(weft::view(x.data(), length, 64), weft::view(w, 64, 48), weft::out(y.data(), length, 48));
  CHECK(weft::compilations() - before == 9);
  CHECK(y[496 * 48 - 1] == 32);

  std::string const there = weft::forms(project, weft::view(x.data(), 1, 64), weft::view(w, 64, 48), weft::out(y.data(), 1, 48));
  CHECK(there.find("  A A0 x 64, B 64 x 48, y ? x 48; A0 in 129..1024, divided by 16\n") != std::string::npos);
}
TEST_CASE("docs/shapes: a server that does not wait") {
  weft_test::private_cache const cache;
  std::vector<float> x(600 * 64, 1.0f), w(64 * 48, 0.5f), y(600 * 48);
  static constexpr auto served = project.with({.background = true});
  for (int length : {30, 31, 32, 30, 31})
    served(weft::view(x.data(), length, 64), weft::view(w, 64, 48), weft::out(y.data(), length, 48));

  auto const ready = served.prepare(weft::view(x.data(), 33, 64), weft::view(w, 64, 48), weft::out(y.data(), 33, 48));
  weft::finish_background();
  ready(weft::view(x.data(), 33, 64), weft::view(w, 64, 48), weft::out(y.data(), 33, 48));
  CHECK(y[33 * 48 - 1] == 32);
}
