// expect: weft: the how-lambda takes the schedule, then one handle per input, then one per stage
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) { return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); }); },
    [](auto& s, auto C) {
      auto [i] = C.axes();
      s.parallel(i);
    });

int main() {
  std::vector<float> a(4), c(4);
  doubled(a, weft::out(c));  // <- here
}
