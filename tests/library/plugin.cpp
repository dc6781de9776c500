// A shared library that uses weft as it comes, header-only, and shows nothing but its own functions.
#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

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
SHOWN int made() { return static_cast<int>(weft::compilations()); }
