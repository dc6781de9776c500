// Matrix product with packing, after TVM's tutorial "How to optimize GEMM on CPU" (opt_gemm): one factor in panels, a block of
// the result summed in memory of its own, all blocks of rows in parallel.
#include "schedules/check.hpp"

namespace {

constexpr auto what = [](auto A, auto B) {
  auto const m = A.extent(0), k = A.extent(1), n = B.extent(1);
  return weft::compute<"C">(m, n, [=](auto x, auto y) {
    return weft::sum(k, [=](auto i) { return A(x, i) * B(i, y); });
  });
};
inline constexpr auto plain = weft::kernel<"gemm">(what);
inline constexpr auto scheduled = weft::kernel<"gemm">(what, [](auto& s, auto, auto B, auto C) {
  auto [x, y, i] = C.axes();
  auto block = s.cache_write(C);
  auto packed = s.transform_layout(s.cache_read(B, block),
                                   [](auto k, auto n) { return weft::dims(n / 32, k, n % 32); });
  auto [mo, no, mi, ni] = s.tile(x, y, 32, 32);
  s.reorder(mo, no, mi, ni);
  s.compute_at(block, no);
  auto [mc, nc, k] = block.axes();
  auto [ko, ki] = s.split(k, 4);
  s.reorder(ko, mc, ki, nc);
  s.vectorize(nc);
  s.unroll(ki);
  s.parallel(mo);
  auto [panel, row, lane] = packed.axes();
  s.vectorize(lane);
  s.parallel(panel);
});

}  // namespace

TEST_CASE("TVM's schedule for a matrix product: packed panels, and blocks of the result") {
  weft::tensor<float, 2> A(75, 41), B(41, 70);
  weft_test::fill(A);
  weft_test::fill(B);
  // 41 terms below 1, each product and each sum rounded.
  weft_test::check_schedule("matmul_packing.ir", scheduled, plain, 41 * 42 * 0x1p-24, [&](std::int64_t x, std::int64_t y) {
    double sum = 0;
    for (std::int64_t i = 0; i < 41; ++i) sum += static_cast<double>(A(x, i)) * static_cast<double>(B(i, y));
    return sum;
  }, A, B);
}
