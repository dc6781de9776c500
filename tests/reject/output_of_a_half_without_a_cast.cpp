// expect: weft: an output has another element type than the result that it takes. Narrow types widen in arithmetic
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});
constexpr auto stored = weft::kernel<"stored">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return weft::cast<weft::f16>(A(i) + A(i)); });
});

int main() {
  std::vector<weft::f16> a(4), c(4);
  doubled(a, weft::out(c));  // <- here
  stored(a, weft::out(c));
}
