// Attention of 8 heads, 1024 queries and keys, 64 wide, without a schedule: all keys at once, and in blocks.
#include <weft/ops/attention.hpp>

#include <cmath>

#include "families.hpp"

namespace bench::peers {
namespace {
inline constexpr auto in_three_passes =
    weft::kernel<"attention">([](auto q, auto k, auto v) { return weft::ops::attention(q, k, v); });
inline constexpr auto in_blocks =
    weft::kernel<"attention_blocks">([](auto q, auto k, auto v) { return weft::ops::attention(q, k, v, {.block = 64}); });
}  // namespace

void attention(report& r, int threads) {
  problem p;
  p.what = task::attention, p.threads = threads, p.batch = 8, p.m = p.n = 1024, p.k = 64;
  std::size_t const count = static_cast<std::size_t>(p.batch * p.m * p.k);
  buffer const q(count, 1), k(count, 2), v(count, 3), out(count, 4);
  q.randomize(1), k.randomize(2), v.randomize(3);
  p.in[0] = q.data(), p.in[1] = k.data(), p.in[2] = v.data(), p.out = out.data();
  work w;
  double const pairs = static_cast<double>(p.batch * p.m * p.n);
  w.operations = 4 * pairs * static_cast<double>(p.k), w.bytes = 16.0 * static_cast<double>(count);
  contest c(r, "attention", "attention 8x1024x64", p, w, {1.5});
  c.result(static_cast<std::int64_t>(count));
  auto const in = [&](buffer const& b) { return weft::view(b.data(), p.batch, p.m, p.k); };
  auto const to = weft::out(out.data(), p.batch, p.m, p.k);
  c.weft("weft", ready(in_three_passes, threads, in(q), in(k), in(v), to));
  c.weft("weft, blocks of 64 keys", ready(in_blocks, threads, in(q), in(k), in(v), to));
  c.compete([&](std::int64_t i) {
    std::int64_t const row = i / p.k, head = row / p.m;
    double total = 0, sum = 0;
    for (std::int64_t n = 0; n < p.n; ++n) {
      double score = 0;
      for (std::int64_t e = 0; e < p.k; ++e)
        score += static_cast<double>(q.data()[row * p.k + e]) * static_cast<double>(k.data()[(head * p.n + n) * p.k + e]);
      double const weight = std::exp(score / 8);
      total += weight, sum += weight * static_cast<double>(v.data()[(head * p.n + n) * p.k + i % p.k]);
    }
    // As in ../attention.cpp: scores off by 64 units of at most 8, weights by as much again, sums of 1024 terms below 1.
    return expected{sum / total, 1.1 * f32_rounding * (2 * 64 * 8 + 2 * 1024 + 50)};
  });
}

}  // namespace bench::peers
