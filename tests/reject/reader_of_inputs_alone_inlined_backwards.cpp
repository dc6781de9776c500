// expect: the_stage_must_read_that_one_at_its_own_index_alone
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  auto P = weft::compute<"P">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::max(P(i, j), 0); });
};
constexpr auto k =
    weft::kernel<"k">(product, []([[maybe_unused]] auto& s, auto, auto, [[maybe_unused]] auto P, auto C) {
      static_cast<void>(C);
      s.reverse_compute_inline(P);  // <- here
    });
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
