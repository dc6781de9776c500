// expect: weft: one stride per dimension
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

int main() {
  std::vector<float> a(4), c(4);
  doubled(weft::view(a, 4).strided(2, 1), weft::out(c));  // <- here
  doubled(a, weft::out(c));
}
