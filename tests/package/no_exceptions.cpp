// With -fno-exceptions: a call that is right, and a wrong one that ends in the program's own handler.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <weft/weft.hpp>

#if WEFT_HAS_EXCEPTIONS
#error "this program is about -fno-exceptions"
#endif

inline constexpr auto sum_of = weft::kernel<"sum_of">([](auto a, auto b) {
  return weft::compute<"c">(a.extent(0), [=](auto i) { return a(i) + b(i); });
});

int main() {
  std::vector<float> a(100, 1.5f), b(100, 0.5f), c(100), longer(101);
  weft::on_failure() = [](weft::error const& e) {
    std::puts(e.what());
    std::exit(3);
  };
  sum_of(a, b, weft::out(c));
  for (float v : c)
    if (v != 2.0f) return 1;
  std::puts("right");
  sum_of(a, b, weft::out(longer));
  std::puts("a wrong call returned");
  return 1;
}
