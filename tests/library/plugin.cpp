// A shared library that uses weft as it comes, header-only, and shows nothing but its own functions.
#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

#include <weft/shapes.hpp>

#define SHOWN extern "C" [[gnu::visibility("default")]]

namespace {

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + x(i); }); },
    [](auto& s, auto, auto y) { s.parallel(y.axes()[0]); });
constexpr auto shifted = weft::kernel<"shifted">(
    [](auto x) {
      auto const t = weft::compute<"t">(x.extent(0), [=](auto i) { return x(i) + 1.0f; });
      return weft::compute<"y">(x.extent(0), [=](auto i) { return t(i) * 2.0f; });
    });

bool call() {
  std::vector<float> x(300, 1.5f), y(300);
  doubled(x, weft::out(y));
  for (float v : y)
    if (v != 3.0f) return false;
  shifted(x, weft::out(y));
  for (float v : y)
    if (v != 5.0f) return false;
  return true;
}
/// Leaves code that is still being made.
bool call_and_go() {
  auto const later = weft::kernel<"later">([](auto a, auto b) {
    return weft::compute<"c">(a.extent(0), b.extent(1), [=](auto i, auto j) {
      return weft::sum(a.extent(1), [=](auto k) { return a(i, k) * b(k, j); });
    });
  }).with({.background = true});
  for (int n = 2; n < 6; ++n) {
    weft::tensor<float, 2> a(n, 30), b(30, 20);
    for (int i = 0; i < n * 30; ++i) a.data()[i] = 1.0f;
    for (int i = 0; i < 600; ++i) b.data()[i] = 2.0f;
    if (later(a, b)(n - 1, 19) != 60.0f) return false;
  }
  return true;
}
bool (*at_unload)() = nullptr;
/// Made before weft's own statics, so it goes after them, and calls kernels then.
struct last_words {
  ~last_words() {
    if (at_unload != nullptr && !at_unload()) std::puts("WRONG AT UNLOAD");
  }
} const words;

}  // namespace

SHOWN bool use_kernels() { return call(); }
SHOWN void use_kernels_at_unload() { at_unload = call; }
SHOWN bool use_kernels_and_go() { return call_and_go(); }
SHOWN int made() { return static_cast<int>(weft::compilations()); }
