// With -fno-exceptions: a call that is right, and a wrong one that ends in the program's own handler, or, given an
// argument, in weft's.
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

int main(int arguments, char**) {
  std::vector<float> a(100, 1.5f), b(100, 0.5f), c(100), longer(101);
  auto const own = [](weft::error const& e) {
    std::puts(e.what());
    std::exit(3);
  };
  if (arguments == 1) weft::on_failure() = own;
  sum_of(a, b, weft::out(c));
  for (float v : c)
    if (v != 2.0f) return 1;
  std::puts("right");
  std::fflush(stdout);  // what follows may not
  sum_of(a, b, weft::out(longer));
  std::puts("a wrong call returned");
  return 1;
}
