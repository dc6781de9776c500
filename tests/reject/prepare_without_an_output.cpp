// expect: weft: a weft::out(...) is needed for each output here
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

int main() {
  std::vector<float> a(4), c(4);
  doubled.prepare(a);  // <- here
  doubled(a, weft::out(c));
}
