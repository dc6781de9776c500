// expect: weft: an output that is a temporary would be gone after the call: give it a name
#include <span>
#include <vector>

#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

int main() {
  std::vector<float> a(4), c(4);
  doubled(a, weft::out(std::vector<float>(4)));  // <- here
  doubled(a, weft::out(std::span<float>(c)));
}
