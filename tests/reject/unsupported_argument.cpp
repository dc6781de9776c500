// expect: weft: an argument is a weft::tensor, a weft::view or weft::out, a contiguous range, an mdspan, an Eigen object, or a number
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

int main() {
  std::vector<float> a(4), c(4);
  doubled(std::string("a"), weft::out(c));  // <- here
  doubled(a, weft::out(c));
}
