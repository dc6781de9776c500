// The corpus of GPU kernels: each by the interpreter, its text on the host, and NVRTC.
#include "corpus.hpp"
#include "computations.hpp"

#include <cstdlib>

#include "weft/codegen/cuda/api.hpp"
#include "weft/expr/extern.hpp"

using namespace weft;
using namespace weft_test;

namespace {

/// Rows of which each element is the sum of those up to it; x * 2 of the inputs before, + 1 behind.
int running_sums(extern_view<float const, 2> x, extern_view<float, 2> y) noexcept {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < x.extent(1); ++j) y(i, j) = sum += x(i, j);
  }
  return 0;
}
constexpr cuda_function running_sums_of_threads{
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
constexpr cuda_function running_sums_of_blocks{
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
gpu_kernel only_summed_rows(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"only_summed_rows"};
  auto const x = k.input<float, 2>({rows, columns});
  return k.out(compute<"sums">(x.extent(0), x.extent(1), external<"running_sums", &running_sums, &running_sums_of_threads>(x)));
}

// --- how -------------------------------------------------------------------------------------------------------------
/// A block of `bm` x `bn` elements of C by threads with `tm` x `tn` each; `bk` deep.
std::string tiled(int bm, int bn, int bk, int tm, int tn, std::string const& more = "") {
  auto const n = [](int v) { return std::to_string(v); };
  return "C: split(i, " + n(bm) + ") -> io, ii\nC: split(ii, " + n(tm) + ") -> iio, iii\nC: split(j, " + n(bn) +
         ") -> jo, ji\nC: split(ji, " + n(tn) + ") -> jio, jii\nC: split(k, " + n(bk) +
         ") -> ko, ki\nC: reorder(io, jo, ko, iio, jio, ki, iii, jii)\nC: bind(io, block_y)\nC: bind(jo, block_x)\n"
         "C: bind(iio, thread_y)\nC: bind(jio, thread_x)\nC: unroll(iii)\nC: vectorize(jii)\n" + more;
}
/// Of what a block reads of A and of B, copies in shared memory made by `ty` x `tx` threads.
std::string copies(int ty, int tx, std::string const& more = "") {
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
std::vector<gpu_kernel> corpus() {
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

/// The kernels with their texts, made once.
struct prepared_corpus {
  std::vector<gpu_kernel> kernels = corpus();
  std::vector<std::unique_ptr<gpu_trial>> trials;
  std::string text;
  prepared_corpus() {
    weft::sequence<std::string> known;
    for (gpu_kernel const& k : kernels) {
      trials.push_back(std::make_unique<gpu_trial>(k, known));
      if (!trials.back()->fault.empty()) continue;
      known = trials.back()->module.called;
      text += trials.back()->module.text;
    }
  }
};
prepared_corpus& prepared() {
  static prepared_corpus all;
  return all;
}

std::size_t count_of(std::string const& text, char const* part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("the corpus has at least 40 kernels, and all of them have text") {
  CHECK(prepared().kernels.size() >= 40);
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    INFO(prepared().kernels[i].name);
    CHECK(prepared().trials[i]->fault == "");
  }
}
TEST_CASE("what is asked to be shared is, each thread's part too; and one block's memory where there are no threads") {
  auto const of = [](char const* name) -> cuda_module const& {
    for (std::size_t i = 0; i < prepared().kernels.size(); ++i)
      if (prepared().kernels[i].name == name) return prepared().trials[i]->module;
    REQUIRE_MESSAGE(false, name);
    return prepared().trials[0]->module;
  };
  CHECK(of("two_stages_asked").kernels[0].shared_bytes == 32 * 4);
  CHECK(of("two_stages_asked").text == [&] {
    std::string text = of("two_stages_block").text;  // the same without being asked
    for (std::size_t at; (at = text.find("two_stages_block")) != std::string::npos;) text.replace(at, 16, "two_stages_asked");
    return text;
  }());
  CHECK(of("two_stages_each_its_own").kernels[0].shared_bytes == 4 * 4 * 8 * 4);
  CHECK(of("two_stages_each_its_own").text.find("__syncthreads") == std::string::npos);
  CHECK(of("two_stages_one_of_each_block").kernels[0].shared_bytes == 32 * 4);
}
TEST_CASE("a function's stage is a launch of its own, as large as it says") {
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    cuda_module const& m = prepared().trials[i]->module;
    if (prepared().kernels[i].name == "summed_rows_function") {
      REQUIRE(m.kernels.size() == 3);
      CHECK(m.kernels[1].blocks[0]->value == 3);  // 9 rows by 4 in a block
      CHECK(m.kernels[1].threads[0] == 4);
      CHECK(m.text.find("::running_sums(weft_view<float const, 2>{twice, {9, 33}, {33, 1}}, weft_view<float, 2>{sums, {9, 33}, {33, 1}});") !=
            std::string::npos);
    }
    if (prepared().kernels[i].name == "only_summed_rows_function") CHECK(m.kernels.size() == 1);
  }
}
TEST_CASE("an error in a function's text is told with its name and its line") {
  if (find_nvrtc() == nullptr) {
    MESSAGE("[skip] no NVRTC on this machine");
    return;
  }
  static constexpr cuda_function wrong{.name = "running_sums", .text = "\n__device__ void running_sums(weft_view<float const, 2> x, weft_view<float, 2> y) {\n  y(0, 0) = undeclared;\n}\n"};
  gpu_kernel k = summed_rows<&wrong>(3, 4);
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  CHECK_THROWS_WITH_AS(compile_cuda(t.module.text, "sm_80"), doctest::Contains("a weft::cuda_function does not compile"), argument_error);
  CHECK_THROWS_WITH_AS(compile_cuda(t.module.text, "sm_80"), doctest::Contains("running_sums(3)"), argument_error);
}
TEST_CASE("the interpreter finds no race, divergent barrier, uninitialised or out-of-bounds access, and the results are right") {
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i)
    for (std::uint64_t seed : {1u, 2u}) {
      INFO(prepared().kernels[i].name);
      if (prepared().trials[i]->fault.empty()) CHECK(prepared().trials[i]->interpreted(seed) == "");
    }
}
TEST_CASE("without any one of its barriers a kernel has a race, which the interpreter finds") {
  int barriers = 0, needed = 0;
  std::string spare;
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i)
    for (int b = 0; prepared().trials[i]->fault.empty(); ++b) {
      std::string const found = prepared().trials[i]->interpreted_without(b);
      if (found == "none") break;
      ++barriers;
      bool const race = found.find("race") != std::string::npos || found.find("uninitialised read") != std::string::npos;
      needed += race;
      if (!race) spare += prepared().kernels[i].name + " " + std::to_string(b) + ": " + found.substr(0, 100) + "\n";
    }
  MESSAGE(needed << " of " << barriers << " barriers are needed; others:\n" << spare);
  CHECK(barriers > 40);
  CHECK(needed == barriers);
}
TEST_CASE("without any one of its exchanges a kernel gives other results, which the interpreter shows") {
  int exchanges = 0, needed = 0;
  std::string spare;
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i)
    for (int b = 0; prepared().trials[i]->fault.empty(); ++b) {
      if (prepared().kernels[i].name.find("max") != std::string::npos) break;  // the largest may well have come another way
      std::string const found = prepared().trials[i]->interpreted_without(b, ir::stmt_kind::exchange);
      if (found == "none") break;
      ++exchanges;
      needed += found != "";
      if (found == "") spare += prepared().kernels[i].name + " " + std::to_string(b) + "\n";
    }
  MESSAGE(needed << " of " << exchanges << " exchanges are needed; others:\n" << spare);
  CHECK(exchanges > 100);
  CHECK(needed == exchanges);
}
TEST_CASE("the printed text, compiled for the host, computes the same with threads in any order") {
  if (!cuda_on_host::available()) {
    MESSAGE("[skip] neither $CXX nor c++ runs here");
    return;
  }
  cuda_on_host const host(prepared().text, "1");
  REQUIRE_MESSAGE(host.loaded(), host.messages);
  CHECK(host.messages == "");
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i)
    for (unsigned order : {0u, 1u, 77u}) {
      INFO(prepared().kernels[i].name << ", order " << order);
      if (prepared().trials[i]->fault.empty()) CHECK(prepared().trials[i]->on_host(host, order) == "");
    }
}
TEST_CASE("NVRTC compiles the corpus for all architectures, without spills") {
  if (find_nvrtc() == nullptr) {
    MESSAGE("[skip] no NVRTC on this machine");
    return;
  }
  for (char const* architecture : {"sm_80", "sm_89", "sm_90a", "sm_120"}) {
    INFO(architecture);
    cuda_binary const r = compile_cuda(prepared().text, architecture, {"--ptxas-options=-v"});
    CHECK(r.cubin.size() > 4);
    CHECK(r.log.find("warning") == std::string::npos);
    CHECK(r.ptx.find(".local") == std::string::npos);  // no array of a thread's own is left in memory
    CHECK(count_of(r.log, "bytes stack frame") >= prepared().kernels.size());
    // Two loops of run-time length in branches that threads take apart: ptxas keeps a word of who is where.
    std::size_t const spilling = count_of(r.log, "bytes spill stores") - count_of(r.log, " 0 bytes stack frame, 0 bytes spill stores");
    CHECK(spilling <= count_of(r.log, " 8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads"));
    CHECK(spilling <= 2);
    if (char const* const folder = std::getenv("WEFT_TEST_KEEP")) {
      std::ofstream(std::string(folder) + "/corpus.cu") << prepared().text;
      std::ofstream(std::string(folder) + "/corpus_" + architecture + ".ptx") << r.ptx;
      std::ofstream(std::string(folder) + "/corpus_" + architecture + ".log") << r.log;
    }
  }
}
TEST_CASE("a matrix product of 1024^3 in tiles of 128 x 128: rows of 16 bytes, sums in registers, nothing spilled") {
  gpu_kernel k = product<float>(1024, 1024, 1024);
  std::string const turned = "A_copy: transform_layout(1, 1, 0, 0, 1, 0, 0)\n";
  k.steps = tiled(128, 128, 16, 8, 8,
                  "C: cache_read(A)\nC: cache_read(B)\n" + turned +
                      "A_copy: compute_at(C, ko)\nA_copy: split(i, 16) -> io, ii\nA_copy: bind(ii, thread_y)\n"
                      "A_copy: split(j, 16) -> jo, ji\nA_copy: bind(ji, thread_x)\nA_copy: storage_align(0, 8, 4)\n"
                      "B_copy: compute_at(C, ko)\nB_copy: split(i, 16) -> io, ii\nB_copy: bind(ii, thread_y)\n"
                      "B_copy: split(j, 4) -> jo, ji\nB_copy: split(jo, 16) -> joo, joi\nB_copy: bind(joi, thread_x)\nB_copy: vectorize(ji)\n");
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  CHECK(t.module.kernels[0].threads[0] * t.module.kernels[0].threads[1] == 256);
  CHECK(t.module.kernels[0].shared_bytes == 16 * 132 * 4 + 16 * 128 * 4);
  CHECK(count_of(t.module.text, "__syncthreads();") == 2);
  CHECK(count_of(t.module.text, "long long") == 0);
  if (find_nvrtc() == nullptr) {
    MESSAGE("[skip] no NVRTC on this machine");
    return;
  }
  for (std::string const architecture : {"sm_80", "sm_90a"}) {
    cuda_binary const r = compile_cuda(t.module.text, architecture, {"--ptxas-options=-v"});
    CHECK(count_of(r.log, " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == 1);
    CHECK(count_of(r.ptx, "st.global.v4") == 16);
    CHECK(count_of(r.ptx, "st.global.") == 16);
    CHECK(count_of(r.ptx, "ld.shared.v4") == count_of(r.ptx, "ld.shared."));
    CHECK(count_of(r.ptx, "fma.rn.f32") == 8 * 8 * 16);
    MESSAGE(architecture << ": " << r.log.substr(r.log.find("Used "), 40));
  }
}
TEST_CASE("tiles of any size over matrices of any size: no race, no read of nothing, and the results are right") {
  unsigned long long state = 20261122;
  auto const one_of = [&](std::initializer_list<int> all) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return all.begin()[(state >> 33) % all.size()];
  };
  for (int round = 0; round < 24; ++round) {
    int const tm = one_of({1, 2, 3, 4}), tn = one_of({1, 2, 4, 8}), rows = one_of({2, 4, 5}), columns = one_of({2, 4, 8});
    int const deep = one_of({1, 3, 4, 8}), m = one_of({1, 7, 16, 23, 40}), n = one_of({1, 8, 17, 32, 33}), k = one_of({1, 4, 9, 16});
    gpu_kernel kernel = round % 2 == 0 ? product<float>(m, n, k) : product<f16, float>(m, n, k);
    kernel.steps = tiled(tm * rows, tn * columns, deep, tm, tn, round % 3 == 0 ? "" : copies(one_of({2, 4, 8}), one_of({1, 4, 8})));
    INFO("round " << round << ": " << m << " x " << n << " x " << k << "\n" << kernel.steps);
    gpu_trial t(kernel);
    CHECK(t.fault == "");
    if (t.fault.empty()) CHECK(t.interpreted(static_cast<std::uint64_t>(round)) == "");
  }
}
