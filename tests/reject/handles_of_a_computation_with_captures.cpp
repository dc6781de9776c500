// expect: its stages are not known here: let the how-lambda take (auto& s) alone
#include <vector>

#include <weft/weft.hpp>

int weight = 3;

int main() {
  auto const weighted = weft::kernel<"weighted">(
      [factor = weight](auto A) { return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) * factor; }); },
      [](auto& s, auto, auto C) {
        auto [i] = C.axes();
        s.parallel(i);
      });
  std::vector<float> a(4), c(4);
  weighted(a, weft::out(c));  // <- here
}
