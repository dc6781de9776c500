// expect: an_output_keeps_its_layout__transform_a_copy_or_a_stage_that_others_read
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, [[maybe_unused]] auto B, auto C) {
  s.transform_layout(C, [](auto i, auto j) { return weft::dims(j, i); });  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
