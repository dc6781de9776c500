// expect: shared_memory_is_one_blocks_own__compute_the_stage_inside_of_a_loop_over_blocks
#include <weft/weft.hpp>

constexpr auto product = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto k = weft::kernel<"k">(product, [](auto& s, auto, [[maybe_unused]] auto B, auto C) {
  auto [i, j, l] = C.axes();
  s.bind(i, weft::thread_axis::block_x);
  auto copy = s.cache_read(B, C);  // computed in front of the blocks, which all read it
  s.set_scope(copy, weft::scope::shared);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>, weft::arg<float, 2>>);

int main() {}
