// expect: the_order_of_its_terms_counts__rfactor_needs_an_associative_reduction
#include <weft/weft.hpp>

constexpr auto horner = [](auto A) {
  return weft::compute<"S">(A.extent(0), [=](auto i) {
    return weft::reduce(0, [](auto so_far, auto a) { return so_far * 2 + a; }, A.extent(1), [=](auto k) { return A(i, k); });
  });
};
constexpr auto k = weft::kernel<"k">(horner, [](auto& s, auto, auto S) {
  auto [i, j] = S.axes();
  static_cast<void>(i), static_cast<void>(j);
  s.rfactor(S, j, 8);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
