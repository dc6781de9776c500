// The corpus of kernels for a GPU, under schedules written by hand.
#pragma once

#include "codegen/cuda/computations.hpp"
#include "weft/expr/extern.hpp"

namespace weft_test {

/// Rows of which each element is the sum of those up to it; x * 2 of the inputs before, + 1 behind.
inline int running_sums(extern_view<float const, 2> x, extern_view<float, 2> y) noexcept {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < x.extent(1); ++j) y(i, j) = sum += x(i, j);
  }
  return 0;
}
inline constexpr cuda_function running_sums_of_threads{
    .name = "running_sums",
    .text = R"(
__device__ void running_sums(weft_view<float const, 2> x, weft_view<float, 2> y) {
  long long const i = blockIdx.x * 4LL + threadIdx.x;
  if (i >= y.extent(0)) return;
  float sum = 0;
  for (long long j = 0; j < y.extent(1); ++j) y(i, j) = sum += x(i, j);
})",
    .threads = {4},
    .per_block = {4, 0}};
/// Of a row by a block, in two turns: of 32 elements at a time, with what the threads share.
inline constexpr cuda_function running_sums_of_blocks{
    .name = "shared_sums",
    .text = R"(
__device__ void shared_sums(weft_view<float const, 2> x, weft_view<float, 2> y) {
  __shared__ float row[32];
  float before = 0;
  for (long long first = 0; first < y.extent(1); first += 32) {
    long long const j = first + threadIdx.x;
    row[threadIdx.x] = j < y.extent(1) ? x(blockIdx.x, j) : 0.0f;
    __syncthreads();
    float sum = before, all = before;
    for (int k = 0; k < 32; ++k) {
      if (k <= (int)threadIdx.x) sum += row[k];
      all += row[k];
    }
    if (j < y.extent(1)) y(blockIdx.x, j) = sum;
    before = all;
    __syncthreads();
  }
})",
    .threads = {32},
    .per_block = {1, 0}};
template <cuda_function const* Cuda>
gpu_kernel summed_rows(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"summed_rows"};
  auto const x = k.input<float, 2>({rows, columns});
  auto const twice = compute<"twice">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * 2.0f; });
  auto const sums = compute<"sums">(x.extent(0), x.extent(1), external<"running_sums", &running_sums, Cuda>(twice));
  return k.out(compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return sums(i, j) + 1.0f; }));
}
/// The function's stage alone, from the caller's memory to the caller's.
inline gpu_kernel only_summed_rows(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"only_summed_rows"};
  auto const x = k.input<float, 2>({rows, columns});
  return k.out(compute<"sums">(x.extent(0), x.extent(1), external<"running_sums", &running_sums, &running_sums_of_threads>(x)));
}

/// A block of `bm` x `bn` elements of C by threads with `tm` x `tn` each; `bk` deep.
inline std::string tiled(int bm, int bn, int bk, int tm, int tn, std::string const& more = "") {
  auto const n = [](int v) { return std::to_string(v); };
  return "C: split(i, " + n(bm) + ") -> io, ii\nC: split(ii, " + n(tm) + ") -> iio, iii\nC: split(j, " + n(bn) +
         ") -> jo, ji\nC: split(ji, " + n(tn) + ") -> jio, jii\nC: split(k, " + n(bk) +
         ") -> ko, ki\nC: reorder(io, jo, ko, iio, jio, ki, iii, jii)\nC: bind(io, block_y)\nC: bind(jo, block_x)\n"
         "C: bind(iio, thread_y)\nC: bind(jio, thread_x)\nC: unroll(iii)\nC: vectorize(jii)\n" + more;
}
/// Of what a block reads of A and of B, copies in shared memory made by `ty` x `tx` threads.
inline std::string copies(int ty, int tx, std::string const& more = "") {
  std::string text;
  for (char const* name : {"A", "B"}) {
    std::string const copy = std::string(name) + "_copy";
    text += std::string("C: cache_read(") + name + ")\n" + copy + ": compute_at(C, ko)\n" + copy + ": split(i, " +
            std::to_string(ty) + ") -> io, ii\n" + copy + ": split(j, " + std::to_string(tx) + ") -> jo, ji\n" + copy +
            ": reorder(io, jo, ii, ji)\n" + copy + ": bind(ii, thread_y)\n" + copy + ": bind(ji, thread_x)\n";
  }
  return text + more;
}


/// All of them, with names of their own.
inline std::vector<gpu_kernel> corpus() {
  std::vector<gpu_kernel> all;
  auto const add = [&](gpu_kernel k, char const* what, std::string const& steps) {
    k.name += std::string("_") + what;
    k.steps = steps;
    all.push_back(std::move(k));
  };
  // elementwise
  std::string const rows = "out: split(j, 32) -> jo, ji\nout: bind(i, block_y)\nout: bind(jo, block_x)\nout: bind(ji, thread_x)\n";
  add(scaled<float>(6, 64), "rows", rows);
  add(scaled<float>(5, 70), "rows_tail", rows);
  add(scaled<double>(5, 70), "f64", rows);
  add(scaled<std::int32_t>(5, 70), "i32", rows);
  add(scaled<std::int8_t>(5, 70), "i8", rows);
  add(scaled<std::uint64_t>(5, 33), "u64", rows);
  add(scaled<f16>(5, 70), "f16", rows);
  add(scaled<bf16>(5, 70), "bf16", rows);
  std::string const fused = "out: fuse(i, j) -> ij\nout: split(ij, 128) -> ijo, iji\n";
  add(scaled<float>(7, 50), "fused", fused + "out: bind(ijo, block_x)\nout: bind(iji, thread_x)\n");
  std::string const wide = fused + "out: split(iji, 4) -> ijio, ijii\nout: bind(ijo, block_x)\nout: bind(ijio, thread_x)\nout: vectorize(ijii)\n";
  add(scaled<float>(8, 64), "wide", wide);
  add(scaled<float>(7, 50), "wide_tail", wide);
  add(scaled<f16>(8, 64), "wide_f16", wide);
  add(scaled<std::uint8_t>(8, 64), "wide_u8", wide);
  add(scaled<double>(8, 64), "wide_f64", wide);
  add(scaled<float>(9, 40), "parallel", "out: parallel(i)\n");
  add(scaled<float>(9, 40), "one_thread", "");
  add(scaled<float>(9, 40), "turns",
      "out: split(j, 4) -> jo, ji\nout: bind(ji, virtual_thread)\nout: bind(i, block_x)\nout: bind(jo, thread_x)\n");
  // transposes
  std::string const tile = "out: split(i, 16) -> io, ii\nout: split(j, 16) -> jo, ji\nout: reorder(io, jo, ii, ji)\n"
                           "out: bind(io, block_y)\nout: bind(jo, block_x)\nout: bind(ii, thread_y)\nout: bind(ji, thread_x)\n";
  std::string const through = tile + "out: cache_read(A)\nA_copy: compute_at(out, jo)\nA_copy: split(i, 16) -> io, ii\nA_copy: split(j, 16) -> jo, ji\n"
                                     "A_copy: reorder(io, jo, ii, ji)\nA_copy: bind(ii, thread_y)\nA_copy: bind(ji, thread_x)\n";
  add(transposed<float>(32, 48), "direct", tile);
  add(transposed<float>(32, 48), "shared", through);
  add(transposed<float>(32, 48), "padded", through + "A_copy: storage_align(0, 32, 1)\n");
  add(transposed<float>(35, 50), "tail", through + "A_copy: storage_align(0, 32, 1)\n");
  add(transposed<std::uint16_t>(35, 50), "u16", through + "A_copy: storage_align(0, 32, 1)\n");
  // products
  add(product<float>(24, 40, 20), "plain", "C: bind(i, block_x)\nC: bind(j, thread_x)\n");
  add(product<float>(64, 96, 32), "registers", tiled(32, 32, 8, 2, 4));
  add(product<float>(64, 96, 32), "shared", tiled(32, 32, 8, 2, 4, copies(16, 8)));
  add(product<float>(64, 96, 32), "squares", tiled(32, 32, 8, 4, 4, copies(8, 8)));
  add(product<float>(64, 64, 32), "padded", tiled(32, 32, 8, 4, 4, copies(8, 8, "A_copy: storage_align(0, 4, 1)\n")));
  std::string const turned = "A_copy: transform_layout(1, 1, 0, 0, 1, 0, 0)\n";
  add(product<float>(64, 64, 32), "turned",
      tiled(32, 32, 8, 4, 4, "C: cache_read(A)\nC: cache_read(B)\n" + turned +
                                 "A_copy: compute_at(C, ko)\nA_copy: bind(i, thread_y)\nA_copy: split(j, 8) -> jo, ji\n"
                                 "A_copy: bind(ji, thread_x)\nB_copy: compute_at(C, ko)\nB_copy: bind(i, thread_y)\n"
                                 "B_copy: split(j, 4) -> jo, ji\nB_copy: bind(jo, thread_x)\nB_copy: vectorize(ji)\n"));
  add(product<float>(70, 90, 50), "tail", tiled(32, 32, 8, 2, 4, copies(16, 8)));
  add(product<float>(33, 17, 41), "odd", tiled(16, 16, 8, 2, 2, copies(8, 8)));
  add(product<std::int32_t>(33, 34, 35), "i32", tiled(16, 16, 8, 2, 2, copies(8, 8)));
  add(product<double>(32, 32, 16), "f64", tiled(16, 16, 8, 2, 2, copies(8, 8)));
  add(product<f16, float>(32, 64, 32), "f16", tiled(16, 32, 8, 2, 4, copies(8, 8)));
  add(product<bf16, float>(32, 64, 32), "bf16", tiled(16, 32, 8, 2, 4, copies(8, 8)));
  add(product<std::int8_t, std::int32_t>(32, 64, 32), "i8", tiled(16, 32, 8, 2, 4, copies(8, 8)));
  add(product<float>(64, 64, 16), "turns",
      "C: split(i, 32) -> io, ii\nC: split(ii, 8) -> iio, iii\nC: split(j, 32) -> jo, ji\nC: split(ji, 8) -> jio, jii\n"
      "C: split(k, 8) -> ko, ki\nC: reorder(io, jo, ko, iio, jio, iii, jii, ki)\nC: bind(io, block_y)\nC: bind(jo, block_x)\n"
      "C: bind(iio, virtual_thread)\nC: bind(jio, virtual_thread)\nC: bind(iii, thread_y)\nC: bind(jii, thread_x)\n" + copies(8, 8));
  // reductions
  add(row_sums<float>(9, 100), "thread", "R: split(i, 4) -> io, ii\nR: bind(io, block_x)\nR: bind(ii, thread_x)\n");
  std::string const parts = "R: rfactor(R, j, 32)\nR: bind(i, block_x)\nR_rf: compute_at(R, i)\nR_rf: bind(j, thread_x)\n";
  add(row_sums<float>(9, 128), "block", parts);
  add(row_sums<float>(9, 100), "block_tail", parts);
  add(row_sums<std::int32_t>(9, 100), "block_i32", parts);
  add(row_sums<float>(6, 250), "chunks",
      "R: rfactor_chunks(R, j, 64)\nR: bind(i, block_x)\nR_rf: compute_at(R, i)\nR_rf: bind(j, thread_x)\n");
  add(row_sums<float>(8, 96), "warps",
      "R: rfactor(R, j, 32)\nR: split(i, 4) -> io, ii\nR: bind(io, block_x)\nR: bind(ii, warp)\nR_rf: compute_at(R, ii)\nR_rf: bind(j, lane)\n");
  // the parts joined in a tree: within a warp, of lanes, in rows shorter than a warp, across warps, several times
  auto const tree = [](int count, std::string const& how, std::string const& at = "v") {
    return "R: rfactor(R, j, " + std::to_string(count) + ")\n" + how + "R_rf: compute_at(R, " + at + ")\n";
  };
  std::string const by_block = "R: bind(i, block_x)\nR: bind(v, thread_x)\n";
  add(row_sums<float>(9, 128), "tree_warp", tree(32, by_block));
  add(row_sums<float>(9, 128), "tree_128", tree(128, by_block));
  add(row_sums<float>(9, 777), "tree_tail", tree(256, by_block));
  add(row_sums<float>(3, 2100), "tree_1024", tree(1024, by_block));
  add(row_sums<float>(9, 100), "tree_few", tree(5, by_block));
  add(row_sums<float>(9, 300), "tree_odd", tree(77, by_block));
  add(row_sums<double>(9, 300), "tree_f64", tree(64, by_block));
  add(row_sums<std::int32_t>(9, 300), "tree_i32", tree(64, by_block));
  add(row_sums<std::int8_t>(9, 100), "tree_i8", tree(64, by_block));
  add(row_sums<std::uint64_t>(9, 100), "tree_u64", tree(64, by_block));
  add(row_sums<f16>(9, 100), "tree_f16", tree(64, by_block));
  add(row_maxima<float>(9, 300), "tree_max", tree(64, by_block));
  add(row_maxima<std::int16_t>(9, 100), "tree_i16", tree(32, by_block));
  std::string const by_rows = "R: split(i, 4) -> io, ii\nR: bind(io, block_x)\nR: bind(ii, thread_y)\nR: bind(v, thread_x)\n";
  add(row_sums<float>(9, 100), "tree_rows_8", tree(8, by_rows));
  add(row_sums<float>(9, 100), "tree_rows_6", tree(6, by_rows));
  add(row_sums<float>(9, 300), "tree_rows_64", tree(64, by_rows));
  add(row_sums<float>(8, 96), "tree_lanes", tree(32, "R: split(i, 4) -> io, ii\nR: bind(io, block_x)\nR: bind(ii, warp)\nR: bind(v, lane)\n"));
  add(row_sums<float>(7, 96), "tree_lanes_tail", tree(32, "R: split(i, 4) -> io, ii\nR: bind(io, block_x)\nR: bind(ii, warp)\nR: bind(v, lane)\n"));
  add(row_sums<float>(9, 300), "tree_turns", tree(128, "R: split(v, 64) -> vo, vi\nR: bind(i, block_x)\nR: bind(vi, thread_x)\n", "vi"));
  add(row_sums<float>(9, 128), "tree_shared", "R: rfactor(R, j, 64)\nR: bind(i, block_x)\nR: bind(v, thread_x)\nR_rf: compute_at(R, i)\nR_rf: bind(j, thread_x)\n");
  add(row_sums<float>(9, 128), "tree_in_turns",
      "R: rfactor(R, j, 64)\nR: split(i, 3) -> io, ii\nR: bind(io, block_x)\nR: bind(v, thread_x)\nR_rf: compute_at(R, v)\n");
  add(whole_sum<float>(5000), "tree_launches",
      "R: rfactor(R, j, 20)\nR_rf: rfactor(R_rf, k, 64)\nR_rf: bind(j, block_x)\nR_rf: bind(v, thread_x)\nR_rf_rf: compute_at(R_rf, v)\n"
      "R: bind(v, thread_x)\n");
  add(whole_sum<float>(1000), "two_launches",
      "R: rfactor(R, j, 64)\nR_rf: split(j, 16) -> jo, ji\nR_rf: bind(jo, block_x)\nR_rf: bind(ji, thread_x)\n");
  // rows on the chip
  std::string const in_row = "out: bind(i, block_x)\nout: split(j, 32) -> jo, ji\nout: bind(ji, thread_x)\n";
  auto const part_of_row = [](std::string const& stage) {
    return stage + ": rfactor(" + stage + ", j, 32)\n" + stage + ": compute_at(out, i)\n" + stage + "_rf: compute_at(" + stage +
           ", i)\n" + stage + "_rf: bind(j, thread_x)\n";
  };
  std::string const of_e = "e: compute_at(out, i)\ne: split(j, 32) -> jo, ji\ne: bind(ji, thread_x)\n";
  add(softmax_rows(5, 96), "row", in_row + "total: compute_at(out, i)\n" + of_e + "top: compute_at(out, i)\n");
  add(softmax_rows(5, 96), "parts", in_row + part_of_row("total") + of_e + part_of_row("top"));
  add(softmax_rows(5, 77), "parts_tail", in_row + part_of_row("total") + of_e + part_of_row("top"));
  auto const tree_of_row = [](std::string const& stage) {
    return stage + ": rfactor(" + stage + ", j, 64)\n" + stage + ": compute_at(out, i)\n" + stage + ": bind(v, thread_x)\n" + stage +
           "_rf: compute_at(" + stage + ", v)\n";
  };
  std::string const rows_of_64 = "out: bind(i, block_x)\nout: split(j, 64) -> jo, ji\nout: bind(ji, thread_x)\n";
  std::string const e_of_64 = "e: compute_at(out, i)\ne: split(j, 64) -> jo, ji\ne: bind(ji, thread_x)\n";
  add(softmax_rows(5, 256), "tree", rows_of_64 + tree_of_row("total") + e_of_64 + tree_of_row("top"));
  add(softmax_rows(5, 177), "tree_tail", rows_of_64 + tree_of_row("total") + e_of_64 + tree_of_row("top"));
  add(layernorm_rows(5, 256), "tree", rows_of_64 + tree_of_row("spread") + tree_of_row("mean"));
  add(layernorm_rows(5, 177), "tree_tail", rows_of_64 + tree_of_row("spread") + tree_of_row("mean"));
  add(layernorm_rows(5, 96), "row", in_row + "spread: compute_at(out, i)\nmean: compute_at(out, i)\n");
  add(layernorm_rows(5, 77), "parts", in_row + part_of_row("spread") + part_of_row("mean"));
  // stencils and several stages
  add(stencil<float>(34, 50), "direct", tile);
  add(stencil<float>(34, 50), "shared", tile + "out: cache_read(A)\nA_copy: compute_at(out, jo)\nA_copy: split(i, 16) -> io, ii\n"
      "A_copy: split(j, 16) -> jo, ji\nA_copy: reorder(io, jo, ii, ji)\nA_copy: bind(ii, thread_y)\nA_copy: bind(ji, thread_x)\n");
  add(stencil<std::int32_t>(35, 47), "written_out", tile + "out: unroll(k)\nout: unroll(l)\n");
  add(two_stages<float>(9, 33), "launches",
      "row: bind(i, block_x)\nrow: bind(j, thread_x)\nout: bind(i, block_x)\nout: bind(j, thread_x)\n");
  add(two_stages<float>(9, 33), "block", "out: bind(i, block_x)\nout: bind(j, thread_x)\nrow: compute_at(out, i)\nrow: bind(j, thread_x)\n");
  add(two_stages<float>(9, 33), "slices",
      "out: split(i, 4) -> io, ii\nout: bind(io, block_x)\nout: bind(ii, thread_y)\nout: bind(j, thread_x)\nrow: compute_at(out, ii)\nrow: bind(j, thread_x)\n");
  add(two_stages<float>(9, 33), "workspace",
      "out: split(i, 4) -> io, ii\nout: bind(io, block_y)\nout: bind(ii, thread_y)\nout: bind(j, thread_x)\nrow: compute_at(out, ii)\n"
      "row: set_scope(workspace)\nrow: bind(j, thread_x)\n");
  // what is shared because it was asked for
  add(two_stages<float>(9, 33), "asked", "out: bind(i, block_x)\nout: bind(j, thread_x)\nrow: compute_at(out, i)\nrow: set_scope(shared)\nrow: bind(j, thread_x)\n");
  add(two_stages<float>(9, 33), "each_its_own",  // a part for each thread
      "out: split(i, 4) -> io, ii\nout: split(j, 8) -> jo, ji\nout: reorder(io, ii, jo, ji)\nout: bind(io, block_x)\nout: bind(ii, thread_y)\n"
      "out: bind(jo, thread_x)\nrow: compute_at(out, jo)\nrow: set_scope(shared)\n");
  add(two_stages<float>(9, 33), "one_of_each_block", "out: bind(i, block_x)\nrow: compute_at(out, i)\nrow: set_scope(shared)\n");
  add(stencil<float>(34, 50), "asked", tile + "out: cache_read(A)\nA_copy: compute_at(out, jo)\nA_copy: set_scope(shared)\n"
      "A_copy: split(i, 16) -> io, ii\nA_copy: split(j, 16) -> jo, ji\nA_copy: reorder(io, jo, ii, ji)\nA_copy: bind(ii, thread_y)\nA_copy: bind(ji, thread_x)\n");
  // memory that several stages have, one after the other
  std::string const in_blocks = "out: bind(i, block_x)\nout: split(j, 16) -> jo, ji\nout: bind(ji, thread_x)\n", chained = [&] {
    std::string steps = in_blocks;
    for (char const* s : {"c", "b", "a"}) steps += std::string(s) + ": compute_at(out, i)\n" + s + ": split(j, 16) -> jo, ji\n" + s + ": bind(ji, thread_x)\n";
    return steps;
  }();
  add(chain_of_rows<float>(3, 200), "one_place", chained);
  add(chain_of_rows<std::int16_t>(3, 300), "one_place_i16", chained);
  add(chain_of_rows<float>(2, 40), "apart", chained);  // so little that it keeps no block from a processor
  std::string const sums = "C: split(i, 4) -> io, ii\nC: split(j, 4) -> jo, ji\nC: split(k, 8) -> ko, ki\nC: reorder(ko, io, jo, ki, ii, ji)\n"
                           "C: bind(io, thread_y)\nC: bind(jo, thread_x)\nC: unroll(ii)\nC: unroll(ji)\n";
  std::string const turned_out = "out: split(j, 32) -> jo, ji\nout: split(i, 32) -> io, ii\nout: reorder(jo, io, ji, ii)\nout: bind(jo, block_y)\n"
                                 "out: bind(io, block_x)\nout: split(ji, 8) -> jio, jii\nout: split(ii, 8) -> iio, iii\nout: reorder(jio, iio, jii, iii)\n"
                                 "out: bind(jii, thread_y)\nout: bind(iii, thread_x)\nC: compute_at(out, io)\n" + sums + copies(8, 8);
  add(product_turned(64, 64, 40), "through_its_tiles", turned_out);
  add(product_turned(64, 64, 64), "through_its_copies", turned_out + "A_copy: pipeline(1)\nB_copy: pipeline(1)\n");
  // stages of functions
  std::string const rows_of_threads = "out: bind(i, block_x)\nout: bind(j, thread_x)\n";
  add(summed_rows<&running_sums_of_threads>(9, 33), "function", rows_of_threads + "twice: bind(i, block_x)\ntwice: bind(j, thread_x)\n");
  add(summed_rows<&running_sums_of_blocks>(3, 70), "function_shared", rows_of_threads);
  add(only_summed_rows(5, 8), "function", "");
  add(two_stages<std::int32_t>(11, 10), "warps",
      "out: split(i, 4) -> io, ii\nout: bind(io, block_y)\nout: bind(ii, warp)\nout: bind(j, lane)\nrow: compute_at(out, io)\nrow: bind(i, thread_y)\n");
  add(two_stages<float>(9, 33), "inlined", "row: compute_inline()\nout: bind(i, block_x)\nout: bind(j, thread_x)\n");
  return all;
}

}  // namespace weft_test
