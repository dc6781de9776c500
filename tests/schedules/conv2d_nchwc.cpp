// Convolution in blocks of channels (NCHW[c]) after Liu et al., "Optimizing CNN Model Inference on CPUs", USENIX ATC 2019,
// section 3.1, which is TVM's schedule for x86: a row of the result in registers, its channels in the lanes of a vector.
#include "schedules/check.hpp"

namespace {

/// data: batch, blocks, height, width, channels of a block; weights: blocks out, blocks in, height, width, in, out.
constexpr auto what = [](auto data, auto weights) {
  auto const height = data.extent(2), width = data.extent(3);
  auto padded = weft::compute<"padded">(
      data.extent(0), data.extent(1), height + 2, width + 2, data.extent(4), [=](auto n, auto C, auto y, auto x, auto c) {
        auto const inside = y >= 1 && y < height + 1 && x >= 1 && x < width + 1;
        return weft::select(inside, data(n, C, weft::clamp(y - 1, 0, height - 1), weft::clamp(x - 1, 0, width - 1), c), 0.0f);
      });
  return weft::compute<"conv">(
      data.extent(0), weights.extent(0), height, width, weights.extent(5), [=](auto n, auto K, auto y, auto x, auto k) {
        return weft::sum(data.extent(1), weights.extent(2), weights.extent(3), data.extent(4),
                         [=](auto C, auto dy, auto dx, auto c) {
                           return padded(n, C, y + dy, x + dx, c) * weights(K, C, dy, dx, c, k);
                         });
      });
};
inline constexpr auto plain = weft::kernel<"conv2d">(what);
inline constexpr auto scheduled = weft::kernel<"conv2d">(what, [](auto& s, auto, auto, auto padded, auto conv) {
  auto [n, K, y, x, k, C_, dy_, dx_, c_] = conv.axes();
  auto sums = s.cache_write(conv);
  auto [x_chunk, x_block] = s.split(x, 8);
  s.reorder(n, K, y, x_chunk, x_block, k);
  s.vectorize(k);
  s.parallel(s.fuse(s.fuse(n, K), y));
  s.compute_at(sums, x_chunk);
  auto [sn, sK, sy, sx, sk, C, dy, dx, c] = sums.axes();
  s.reorder(C, dy, dx, c, sx, sk);
  s.unroll(dx);
  s.unroll(sx);
  s.vectorize(sk);
  auto [pn, pC, py, px, pc] = padded.axes();
  s.vectorize(pc);
  s.parallel(s.fuse(s.fuse(pn, pC), py));
});

}  // namespace

TEST_CASE("TVM's schedule for convolution in blocks of channels: a row of the result in registers") {
  weft::tensor<float, 5> data(2, 3, 11, 19, 8);
  weft::tensor<float, 6> weights(2, 3, 3, 3, 8, 8);
  weft_test::fill(data);
  weft_test::fill(weights);
  auto const at = [&](std::int64_t n, std::int64_t C, std::int64_t y, std::int64_t x, std::int64_t c) {
    return y < 0 || y >= 11 || x < 0 || x >= 19 ? 0.0 : static_cast<double>(data(n, C, y, x, c));
  };
  // 216 terms below 1, each product and each sum rounded.
  weft_test::check_schedule(
      "conv2d_nchwc.ir", scheduled, plain, 216 * 217 * 0x1p-24,
      [&](std::int64_t n, std::int64_t K, std::int64_t y, std::int64_t x, std::int64_t k) {
        double sum = 0;
        for (std::int64_t C = 0; C < 3; ++C)
          for (std::int64_t dy = 0; dy < 3; ++dy)
            for (std::int64_t dx = 0; dx < 3; ++dx)
              for (std::int64_t c = 0; c < 8; ++c)
                sum += at(n, C, y + dy - 1, x + dx - 1, c) * static_cast<double>(weights(K, C, dy, dx, c, k));
        return sum;
      },
      data, weights);
}
