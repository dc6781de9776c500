// expect: weft: a prepared kernel takes all inputs and all outputs
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

int main() {
  std::vector<float> a(4), c(4);
  auto const ready = doubled.prepare(a, weft::out(c));
  ready(a);  // <- here
  ready(a, weft::out(c));
}
