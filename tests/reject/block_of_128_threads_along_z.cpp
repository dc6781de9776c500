// expect: a_block_has_at_most_64_threads_along_z__bind_to_another_axis
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  static_cast<void>(i), static_cast<void>(j), static_cast<void>(k);
  auto [jo, ji] = s.split(j, 128);
  static_cast<void>(jo);
  s.bind(ji, weft::thread_axis::thread_z);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
