// Products by wmma, under schedules written by hand.
#pragma once

#include "codegen/cuda/products_mma.hpp"

namespace weft_test {

/// Of any extents: the copies of A and B have zeros where these end, and `out` has what is wanted.
inline gpu_kernel padded_product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"padded_product"};
  auto const a = k.input<f16, 2>({rows, depth});
  auto const b = k.input<f16, 2>({depth, columns});
  auto const up = [](std::int64_t n) { return (n + 31) / 32 * 32; };
  auto const zeros = [](auto x) {
    return [=](auto i, auto j) {
      auto const m = x.extent(0), n = x.extent(1);
      return select(i < m && j < n, x(min(i, m - 1), min(j, n - 1)), f16(0.0f));
    };
  };
  auto const left = compute<"A_copy">(up(rows), up(depth), zeros(a));
  auto const right = compute<"B_copy">(up(depth), up(columns), zeros(b));
  auto const c = compute<"C">(up(rows), up(columns), [=](auto i, auto j) {
    return sum(left.extent(1), [=](auto l) { return cast<float>(left(i, l)) * cast<float>(right(l, j)); });
  });
  return k.out(compute<"out">(a.extent(0), b.extent(1), [=](auto i, auto j) { return c(i, j); }));
}
/// Something is done with single sums: a stage that reads them.
inline gpu_kernel product_with_bias(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"product_with_bias"};
  auto const a = k.input<f16, 2>({rows, depth});
  auto const b = k.input<f16, 2>({depth, columns});
  auto const bias = k.input<float, 1>({columns});
  auto const c = compute<"S">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return sum(a.extent(1), [=](auto l) { return cast<float>(a(i, l)) * cast<float>(b(l, j)); });
  });
  return k.out(compute<"out">(a.extent(0), b.extent(1), [=](auto i, auto j) { return cast<f16>(max(c(i, j) + bias(j), 0.0f)); }));
}

/// A block's tile of `bm` x `bn`, `bk` deep, by warps in one column that have `wm` rows of it each.
inline std::string wmma_tiles(std::string const& unit, int bm, int bn, int bk, int wm, int terms = 16) {
  auto const n = [](int v) { return std::to_string(v); };
  return "C: split(i, " + n(bm) + ") -> io, ii\nC: split(ii, " + n(wm) + ") -> iio, iii\nC: split(iii, 16) -> iiio, iiii\nC: split(j, " + n(bn) +
         ") -> jo, ji\nC: split(ji, 16) -> jio, jii\nC: split(k, " + n(bk) + ") -> ko, ki\nC: split(ki, " + n(terms) +
         ") -> kio, kii\nC: reorder(io, jo, ko, iio, kio, iiio, jio, iiii, jii, kii)\nC: bind(io, block_y)\nC: bind(jo, block_x)\nC: bind(iio, warp)\n"
         "C: unroll(iiio)\nC: unroll(jio)\nC: tensorize(iiii, " + unit + ")\n";
}
/// Copies of what a block reads of A and B in shared memory, whose rows are `pad` elements longer.
inline std::string wmma_copies(int threads, int pad, bool are_there = false, std::string const& of = "C") {
  std::string text;
  for (char const* name : {"A", "B"}) {
    std::string const copy = std::string(name) + "_copy";
    if (!are_there) text += of + ": cache_read(" + name + ")\n";
    text += copy + ": compute_at(" + of + ", ko)\n" + copy + ": set_scope(shared)\n" + copy +
            ": split(j, 4) -> jo, ji\n" + copy + ": fuse(i, jo) -> ijo\n" + copy + ": split(ijo, " + std::to_string(threads) + ") -> ijoo, ijoi\n" +
            copy + ": bind(ijoi, thread_x)\n" + copy + ": vectorize(ji)\n" + copy + ": storage_align(0, " + std::to_string(2 * pad) + ", " +
            std::to_string(pad) + ")\n";
  }
  return text;
}
inline std::vector<gpu_kernel> wmma_products() {
  std::vector<gpu_kernel> all;
  auto const add = [&](gpu_kernel k, char const* what, std::string const& steps) {
    k.name += std::string("_") + what;
    k.steps = steps;
    all.push_back(std::move(k));
  };
  add(wide_product<f16, float>(32, 32, 16), "one_step", wmma_tiles("wmma_f16", 32, 32, 16, 16));
  add(wide_product<f16, float>(64, 64, 64), "direct", wmma_tiles("wmma_f16", 32, 32, 32, 16));
  add(wide_product<f16, float>(64, 128, 64), "shared", wmma_tiles("wmma_f16", 64, 64, 32, 32) + wmma_copies(64, 16));
  add(wide_product<f16, float>(64, 64, 32), "four_warps", wmma_tiles("wmma_f16", 64, 64, 16, 16) + wmma_copies(128, 16));
  add(wide_product<f16, float>(64, 64, 64, false, true), "columns", wmma_tiles("wmma_f16", 32, 32, 32, 16) + wmma_copies(64, 16));
  add(wide_product<bf16, float>(64, 64, 64), "bf16", wmma_tiles("wmma_bf16", 32, 64, 32, 16) + wmma_copies(64, 8));
  add(wide_product<std::int8_t, std::int32_t>(64, 64, 64), "s8", wmma_tiles("wmma_s8", 32, 64, 32, 16) + wmma_copies(64, 8));
  add(wide_product<std::uint8_t, std::int32_t>(64, 64, 64), "u8", wmma_tiles("wmma_u8", 32, 64, 32, 16) + wmma_copies(64, 8));
  add(wide_product<float, float>(32, 32, 32), "tf32", wmma_tiles("wmma_tf32", 32, 32, 16, 16, 8) + wmma_copies(64, 4));
  add(product_added_in_f16(32, 32, 32), "f16", wmma_tiles("wmma_f16_in_f16", 32, 32, 16, 16) + wmma_copies(64, 16));
  add(padded_product(40, 70, 50), "tail", wmma_tiles("wmma_f16", 32, 32, 32, 16) + wmma_copies(64, 16, true) +
      "out: split(j, 32) -> jo, ji\nout: bind(i, block_y)\nout: bind(jo, block_x)\nout: bind(ji, thread_x)\n");
  add(product_with_bias(64, 64, 32), "f16",
      "out: split(i, 32) -> io, ii\nout: split(j, 32) -> jo, ji\nout: reorder(io, jo, ii, ji)\nout: bind(io, block_y)\nout: bind(jo, block_x)\n"
      "out: split(ii, 2) -> iio, iii\nout: bind(iii, thread_y)\nout: bind(ji, thread_x)\nS: compute_at(out, jo)\nS: set_scope(shared)\n"
      "S: split(i, 16) -> io, ii\nS: split(j, 16) -> jo, ji\nS: split(k, 16) -> ko, ki\nS: reorder(ko, io, jo, ii, ji, ki)\nS: bind(io, warp)\n"
      "S: unroll(jo)\nS: tensorize(ii, wmma_f16)\n" + wmma_copies(64, 16, false, "S"));
  return all;
}

}  // namespace weft_test
