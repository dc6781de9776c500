// Products by mma.sync and ldmatrix: each by the interpreter, its text on the host, and NVRTC.
#include "prepared.hpp"
#include "products_mma.hpp"

#include "weft/ir/parse.hpp"

using namespace weft;
using namespace weft_test;

namespace {
prepared_kernels& prepared() {
  static prepared_kernels all(mma_products());
  return all;
}
}  // namespace

TEST_CASE("mma: all products have text") {
  prepared().check_have_text();
}
TEST_CASE("mma: what becomes of single sums is computed where they are") {
  gpu_kernel k = layer_of_halves<f16, f16>(128, 128, 64);
  mma_tiles const tiles{};
  k.steps = tiles.steps("S") + tiles.copies(8, "S") + "out: reverse_compute_inline()\n";
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  std::string const& text = t.module.text;
  CHECK(t.module.kernels.size() == 1);
  CHECK(text.find("float* const S ") == std::string::npos);  // no memory between
  CHECK(t.module.kernels[0].shared_bytes == 64 * 40 * 2 + 32 * 72 * 2);
  CHECK(count_of(text, "*(weft_f16x2*)&out[") == 4);  // of each of 2 x 2 tiles
  CHECK(count_of(text, "__syncthreads();") == 2);
}
TEST_CASE("mma: sums of wmma keep to themselves: the step is refused, with a way out") {
  gpu_kernel k = layer_of_halves<f16, f16>(64, 64, 32);
  mma_tiles const tiles{.unit = "wmma_f16"};
  k.steps = tiles.steps("S") + "out: reverse_compute_inline()\n";
  std::string const fault = gpu_trial(k, {}, gpu_trial::text_only).fault;
  CHECK(fault.find("where this matrix unit has its sums is not known") != std::string::npos);
  CHECK(fault.find("  try   an intrinsic of mma, or compute_at a loop around the warps") != std::string::npos);
}
TEST_CASE("mma: rows in shared memory that do not begin at multiples of 16 bytes are refused, with the padding that would do") {
  gpu_kernel k = wide_product<f16, float>(64, 64, 32);
  mma_tiles const tiles{};
  k.steps = tiles.steps() + tiles.copies(8, "C", 4);
  std::string const fault = gpu_trial(k, {}, gpu_trial::text_only).fault;
  CHECK(fault.find("tensorize: the left operand is A_copy, whose rows must begin at multiples of 16 bytes: they are 36 elements apart") == 0);
  CHECK(fault.find("storage_align(copy, 0, 16, 8)") != std::string::npos);
}
TEST_CASE("mma: tiles that run over an end want operands with zeros there: without them, or with something else, they are refused") {
  mma_tiles const tiles{};
  auto const with = [&](std::string const& copies, std::int64_t m, std::int64_t n, std::int64_t depth) {
    gpu_kernel k = wide_product<f16, float>(m, n, depth);
    k.steps = tiles.steps() + copies;
    gpu_trial t(k);
    return t.fault.empty() ? t.interpreted(1) : t.fault;
  };
  std::string const whole_tiles = "tensorize: mma_f16 has whole tiles alone", zeros = tiles.ending_in(0), ones = tiles.ending_in(1);
  std::size_t const right = zeros.find("C: cache_read(B)");
  std::string const left_alone = zeros.substr(0, right), right_alone = zeros.substr(right);
  CHECK(with(zeros, 70, 50, 45) == "");
  CHECK(with(zeros, 64, 64, 64) == "");
  CHECK(with(ones, 70, 50, 45).find(whole_tiles) == 0);
  CHECK(with("", 70, 64, 64).find(whole_tiles) == 0);
  CHECK(with("", 70, 64, 64).find("copies of both operands that end in zeros: cache_read, and transform_layout") != std::string::npos);
  CHECK(with(left_alone, 70, 64, 64) == "");  // B has all of its columns
  CHECK(with(left_alone, 64, 50, 64).find(whole_tiles) == 0);
  CHECK(with(left_alone, 64, 64, 45).find(whole_tiles) == 0);
  CHECK(with(right_alone, 64, 50, 64) == "");
  CHECK(with(right_alone, 64, 64, 45).find(whole_tiles) == 0);
  gpu_kernel k = wide_product<f16, float>(70, 50, 45);
  k.steps = mma_tiles{.unit = "wmma_f16"}.steps() + zeros;
  CHECK(gpu_trial(k, {}, gpu_trial::text_only).fault.find("tensorize: wmma_f16 has whole tiles alone") == 0);
}
TEST_CASE("mma: ldmatrix meets no bank twice where rows are an odd number of 16 bytes apart, or swizzled, and is told where they are not") {
  if (!cuda_on_host::available()) {
    MESSAGE("[skip] neither $CXX nor c++ runs here: apt-get install g++");
    return;
  }
  mma_tiles const tiles{};
  for (int pad : {8, mma_tiles::swizzled, 0}) {
    gpu_kernel k = wide_product<f16, float>(64, 64, 64);
    k.steps = tiles.steps() + tiles.copies(8, "C", pad);
    gpu_trial t(k);
    REQUIRE(t.fault == "");
    cuda_on_host const host(t.module.text, "1");
    REQUIRE_MESSAGE(host.loaded(), host.messages);
    CHECK(t.on_host(host, 0) == "");
    auto const counts = reinterpret_cast<unsigned long long const* (*)()>(host.symbol("shim_ldmatrix_counts"));
    REQUIRE((counts != nullptr));
    CHECK(counts()[0] == 4 * 4 * (2 + 2) * 4);  // matrices of 4 warps, 4 steps of 16 terms, 2 + 2 loads
    CHECK(counts()[1] == (pad == 0 ? counts()[0] : 0));
  }
}
TEST_CASE("mma: swizzled rows of any number of 16 bytes meet no bank twice, and take no memory in between") {
  std::vector<gpu_kernel> swizzled;
  for (gpu_kernel const& k : mma_products())
    if (k.name.find("swizzled") != std::string::npos) swizzled.push_back(k);
  CHECK(swizzled.size() >= 6);
  prepared_kernels all(swizzled);
  all.check_have_text();
  ldmatrix_counts banks;
  all.check_on_host({0}, [&](cuda_on_host const& host) { banks.check(host); });
  CHECK((banks.all > 0 || !cuda_on_host::available()));
  CHECK(all.trials[1]->module.kernels[0].shared_bytes == (64 * 32 + 32 * 64) * 2);
  CHECK(all.trials[0]->module.text.find("_ldmatrix_a_row_swizzled_2x4(") != std::string::npos);
  CHECK(all.trials[0]->module.text.find("_ldmatrix_b_row_swizzled_1x8(") != std::string::npos);
}
TEST_CASE("mma: swizzled rows are refused where something else than ldmatrix looks for a tile, and where they are no multiple of 16 bytes") {
  auto const fault_of = [](gpu_kernel k, mma_tiles const& tiles, int wide) {
    k.steps = tiles.steps() + tiles.copies(wide, "C", mma_tiles::swizzled);
    return gpu_trial(k, {}, gpu_trial::text_only).fault;
  };
  std::string const wmma = fault_of(wide_product<f16, float>(64, 64, 32), {.unit = "wmma_f16"}, 8);
  CHECK(wmma.find("tensorize: the left operand is A_copy, whose rows are swizzled, and where wmma looks for its elements is its own matter") == 0);
  CHECK(wmma.find("  try   storage_align(copy, 0, 32, 16) instead of swizzle, or an intrinsic of mma") != std::string::npos);
  std::string const bytes = fault_of(wide_product<std::int8_t, std::int32_t>(32, 64, 64), {.unit = "mma_s8", .rows = 32, .deep = 64, .warp_rows = 16, .terms = 32}, 16);
  CHECK(bytes.find("tensorize: the right operand is B_copy, whose rows are swizzled, and is loaded by single elements: of this type terms have to stand side by side") == 0);
  gpu_kernel odd = wide_product<f16, float>(64, 60, 64);
  odd.steps = "C: bind(i, block_x)\nC: cache_read(B)\nB_copy: compute_at(C, i)\nB_copy: set_scope(shared)\nB_copy: swizzle()\n";
  std::string const rows = gpu_trial(odd, {}, gpu_trial::text_only).fault;
  CHECK(rows.find("swizzle: rows that are swizzled are multiples of 16 bytes apart, a number that is known\n  in    stage B_copy: rows are 120 bytes apart\n  try   ") == 0);
}
// A product with the identity moves each element once, so the maps of the text, from lanes to elements, have to fit those of the shim, which are
// written from the formulas of the PTX manual, from elements to lanes. Terms that both take in another order would not show, nor matter.
TEST_CASE("mma: each element of the operands comes to the sum that it belongs to") {
  if (!cuda_on_host::available()) {
    MESSAGE("[skip] neither $CXX nor c++ runs here: apt-get install g++");
    return;
  }
  mma_tiles const tiles{.rows = 16, .columns = 16, .deep = 16, .warp_rows = 16, .warp_columns = 16};
  gpu_kernel k = wide_product<f16, float>(16, 16, 16);
  k.steps = tiles.steps() + tiles.copies(8);
  dense a{dtype::f16, {16, 16}, {}}, b = a;  // A[i, l] = 1 + 16 i + l, B[l, j] = (l == j)
  for (int i = 0; i < 16; ++i)
    for (int l = 0; l < 16; ++l) a.bits.push_back(to_bits(f16(static_cast<float>(1 + 16 * i + l)))), b.bits.push_back(to_bits(f16(l == i ? 1.0f : 0.0f)));
  for (bool turned : {false, true}) {
    k.given = {turned ? b : a, turned ? a : b};
    gpu_trial t(k);
    REQUIRE(t.fault == "");
    cuda_on_host const host(t.module.text, "1");
    REQUIRE_MESSAGE(host.loaded(), host.messages);
    CHECK(t.on_host(host, 0) == "");
  }
}
TEST_CASE("mma: the interpreter finds no race and no read of nothing, and the results are right") {
  prepared().check_interpreted({1, 2});
}
TEST_CASE("mma: without any one of its barriers a kernel has a race") {
  if (is_sanitized) return;  // the interpreter over and over, which sees nothing new there
  auto const barriers = prepared().count_barriers();
  CHECK(barriers.all > 10);
  CHECK(barriers.needed == barriers.all);
}
TEST_CASE("mma: the text on the host computes the same, each lane with its own elements") {
  prepared().check_on_host({0, 1, 77}, check_lanes_together);
}
TEST_CASE("mma: NVRTC compiles all, without spills or arrays in local memory") {
  prepared().check_compiled([](cuda_binary const& r, std::string const&) {
    CHECK(count_of(r.ptx, "mma.sync.aligned.m16n8k") >= 2 * prepared().kernels.size());
    CHECK(count_of(r.ptx, "ldmatrix.sync") > prepared().kernels.size());
  });
}
TEST_CASE("mma: no kernel lacks a proof") { prepared().check_proved(); }
