// expect: only_what_the_kernel_returns_is_stored_past_the_caches
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, [[maybe_unused]] auto B, auto C) {
  s.store_non_temporal(s.cache_read(B, C));  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
