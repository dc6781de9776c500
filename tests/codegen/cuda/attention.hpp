// Attention for a GPU, as weft/ops has it: by rule, and in blocks of keys under a schedule written by hand.
#pragma once

#include "codegen/cuda/products_mma.hpp"
#include "weft/ops/attention.hpp"

namespace weft_test {

struct attention_sizes {
  weft::sequence<std::int64_t> batches;
  std::int64_t queries, keys, width, columns;
};
/// softmax(Q K^T * scale) V, rounded to Out.
template <class T, class Out = float, int Batches = 1>
gpu_kernel attention_kernel(attention_sizes const& s, weft::ops::attention_options const& o = {}) {
  gpu_kernel k{"attention"};
  auto const shape = [&](std::int64_t rows, std::int64_t columns) {
    weft::sequence<std::int64_t> all = s.batches;
    all.push_back(rows), all.push_back(columns);
    return all;
  };
  auto const q = k.input<T, Batches + 2>(shape(s.queries, s.width));
  auto const keys = k.input<T, Batches + 2>(shape(s.keys, s.width));
  auto const v = k.input<T, Batches + 2>(shape(s.keys, s.columns));
  // The sum of weights is added in another order, so each of them may be rounded the other way, by 2^-10 of itself (bf16: 2^-7); values
  // are at most 6. A result that is rounded may be, too.
  double const unit = weft::dtype_of<T> == weft::dtype::f16 ? 0x1p-10 : weft::dtype_of<T> == weft::dtype::bf16 ? 0x1p-7 : 0x1p-20;
  k.tolerance = 6 * unit * (std::is_same_v<Out, float> ? 1 : 2);
  auto const y = weft::ops::attention(q, keys, v, o);
  if constexpr (std::is_same_v<Out, float>) return k.out(y);
  else return k.out(weft::compute<"out">(y.extent(0), y.extent(1), y.extent(2), [=](auto h, auto i, auto f) { return weft::cast<Out>(y(h, i, f)); }));
}

/// By rule: those whose scores stay on the chip, and others.
inline std::vector<gpu_kernel> ruled_attention() {
  std::vector<gpu_kernel> all;
  auto const add = [&](gpu_kernel k, char const* what) { all.push_back(by_rule_with_units(std::move(k), what)); };
  // Small whole numbers have large products: with this scale many keys have a weight.
  weft::ops::attention_options const plain{.scale = 0x1p-6}, causal{.causal = true, .scale = 0x1p-6};
  add(attention_kernel<f16>({{2}, 32, 64, 16, 32}, plain), "chip");
  add(attention_kernel<f16>({{1}, 16, 32, 16, 16}), "chip_sharp");
  add(attention_kernel<bf16>({{1}, 32, 64, 32, 64}, causal), "chip_causal");
  add(attention_kernel<f16>({{1}, 40, 72, 24, 40}, causal), "chip_tails");
  add(attention_kernel<bf16>({{2}, 17, 33, 33, 17}, plain), "chip_odd");
  add(attention_kernel<f16, f16>({{1}, 32, 32, 16, 16}, plain), "chip_behind");
  add(attention_kernel<f16, f16>({{1}, 40, 33, 24, 40}, plain), "chip_then");
  add(attention_kernel<f16, float, 2>({{2, 2}, 16, 16, 16, 16}, plain), "chip_batches");
  add(attention_kernel<f16, float, 0>({{}, 16, 32, 16, 16}, plain), "chip_matrices");
  add(attention_kernel<float>({{1}, 32, 32, 16, 16}, causal), "f32");
  weft::ops::attention_options const blocks{.scale = 0x1p-6, .block = 32}, causal_blocks{.causal = true, .scale = 0x1p-6, .block = 32};
  add(attention_kernel<f16>({{1}, 32, 96, 16, 32}, blocks), "chip_blocks");
  add(attention_kernel<bf16>({{1}, 32, 64, 48, 16}, causal_blocks), "chip_blocks_causal");
  add(attention_kernel<f16, f16>({{1}, 48, 64, 16, 64}, causal_blocks), "chip_blocks_rounded");
  add(attention_kernel<f16>({{1}, 32, 40, 16, 16}, causal_blocks), "chip_blocks_keys");
  add(attention_kernel<f16>({{1}, 40, 72, 24, 40}, causal_blocks), "chip_blocks_tails");
  add(attention_kernel<bf16>({{2}, 17, 33, 33, 17}, blocks), "chip_blocks_odd");
  add(attention_kernel<f16>({{1}, 32, 40, 16, 16}, {.block = 24}), "blocks_of_24");
  add(attention_kernel<f16>({{3}, 1, 37, 64, 48}, plain), "query");
  return all;
}

}  // namespace weft_test
