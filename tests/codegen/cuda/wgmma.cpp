// Products by wgmma: each by the interpreter, its text on the host, and NVRTC for sm_90.
#include "prepared.hpp"
#include "products_wgmma.hpp"

using namespace weft;
using namespace weft_test;

namespace {
prepared_kernels& prepared() {
  static prepared_kernels all(wgmma_products());
  return all;
}
std::string fault_of(gpu_kernel k, std::string const& steps) {
  k.steps = steps;
  return gpu_trial(k, {}, gpu_trial::text_only).fault;
}
std::string replaced(std::string text, std::string const& from, std::string const& to) {
  std::size_t const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
}  // namespace

TEST_CASE("wgmma: all products have text") { prepared().check_have_text(); }
TEST_CASE("wgmma: one instruction for each 16 terms, which runs on while copies are sent, and settles in front of the barrier") {
  gpu_kernel k = wide_product<f16, float>(64, 128, 256);
  k.steps = wgmma_tiles{}.steps();
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  std::string const& text = t.module.text;
  CHECK(count_of(text, "weft_wgmma_f16_f32_n128_row(&C_sum[0], ") == 4);
  CHECK(count_of(text, "weft_wgmma_commit();\n") == 1);
  CHECK(count_of(text, "ldmatrix") == 0);
  CHECK(count_of(text, "__syncthreads();") == 1);
  std::size_t const settled = text.find("weft_wgmma_settle();\n"), barrier = text.find("__syncthreads();"), products = text.find("  weft_wgmma_begin();\n");
  CHECK(settled < barrier);
  CHECK(barrier < products);
  CHECK(text.find("weft_copy_16(", products) > products);
  CHECK(count_of(text, "weft_wgmma_settle();\n") == 2);  // and once behind the loop
}
TEST_CASE("wgmma: operands that the unit cannot read are refused, with a way out") {
  gpu_kernel const k = wide_product<f16, float>(128, 128, 128);
  std::string const right = wgmma_tiles{}.steps();
  CHECK(fault_of(k, right) == "");
  std::string const no_copy = "is no copy in shared memory that is swizzled, with rows of 64 elements";
  CHECK(fault_of(k, replaced(right, "A_copy: swizzle()\n", "")).find("tensorize: the left operand " + no_copy) == 0);
  CHECK(fault_of(k, replaced(right, "B_copy: swizzle()\n", "")).find("tensorize: the right operand " + no_copy) == 0);
  // Two warps side by side: the rows of four are not 64 behind each other.
  std::string const halves = replaced(right, "split(ji, 128) -> jio, jii", "split(ji, 64) -> jio, jii");
  CHECK(fault_of(k, replaced(replaced(halves, "A_copy: split(ijo, 128)", "A_copy: split(ijo, 256)"), "B_copy: split(ijko, 128)", "B_copy: split(ijko, 256)"))
            .find("tensorize: the left operand does not move by 16 rows from a warp to the next one") == 0);
  CHECK(fault_of(k, wgmma_tiles{.rows = 32}.steps()).find("tensorize: it takes four warps together, and those of a block are no multiple of four\n  try") == 0);
  CHECK(fault_of(k, replaced(right, "C: unroll(jiio)\n", "")).find("tensorize: its sums are in registers, of which a loop can name none by its iteration\n  try   unroll") == 0);
}
TEST_CASE("wgmma: a tile that begins between those places that the unit counts from is refused") {
  auto const product = [](bool by_rows) {
    gpu_kernel k{"shifted_product"};
    auto const a = by_rows ? k.input<f16, 2>({80, 64}) : k.input<f16, 2>({64, 64});
    auto const b = by_rows ? k.input<f16, 2>({64, 128}) : k.input<f16, 2>({48, 128});
    return k.out(compute<"C">(64, b.extent(1), [=](auto i, auto j) {
      return sum(b.extent(0), 17, [=](auto l, auto r) { return cast<float>(by_rows ? a(i + r, l) : a(i, l + r)) * cast<float>(b(l, j)); });
    }));
  };
  for (bool const by_rows : {false, true}) {
    std::string steps = replaced(wgmma_tiles{.ahead = 0}.steps(), "split(k, 64)", by_rows ? "split(k, 64)" : "split(k, 48)");
    steps = replaced(steps, "jio, kio", "jio, l, kio");
    CHECK(fault_of(product(by_rows), steps).find("tensorize: the left operand does not begin at a multiple of 16 elements of a multiple of 8 rows") == 0);
  }
}
TEST_CASE("wgmma: a rule takes it where the GPU has it, and tiles are whole and enough of them") {
  auto const ruled = [](gpu_kernel const& k) {
    return by_rule_with_units(k, "ruled", true, nullptr, {&wgmma_f16, &wgmma_bf16, &mma_f16, &mma_bf16}).steps;
  };
  auto const has = [](std::string const& text, char const* part) { return text.find(part) != std::string::npos; };
  std::string const large = ruled(wide_product<f16, float>(4096, 4096, 256));
  CHECK(has(large, "tensorize(iiii, wgmma_f16)"));
  CHECK(has(large, "C: split(i, 256) -> io, ii"));
  CHECK(has(large, "B_copy: transform_layout(1, 64, 0, 0, 1, 0, 1, 1, 64, 0)"));
  CHECK(has(large, "A_copy: pipeline(2, async)"));
  CHECK(has(ruled(wide_product<bf16, float>(2048, 2048, 128)), "wgmma_bf16"));
  CHECK(has(ruled(wide_product<f16, float>(2048, 2048, 128)), "C: split(i, 128) -> io, ii"));
  std::string const turned = ruled(wide_product<f16, float>(4096, 4096, 256, false, true));
  CHECK(has(turned, "wgmma_f16"));
  CHECK_FALSE(has(turned, "transform_layout"));
  for (gpu_kernel const& k : {wide_product<f16, float>(1024, 1024, 256), wide_product<f16, float>(4096, 4096, 250), wide_product<f16, float>(4096, 4000, 256),
                              wide_product<f16, float>(4096, 4096, 256, true)}) {
    std::string const steps = ruled(k);
    CHECK(has(steps, "mma_f16"));
    CHECK_FALSE(has(steps, "wgmma"));
  }
  gpu_kernel k = layer_of_halves<f16, f16>(2048, 2048, 192);
  k.steps = ruled(k);
  CHECK(has(k.steps, "wgmma_f16"));
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  CHECK(t.module.kernels.size() == 1);
  if (nvrtc_is_asked()) CHECK(compile_cuda(t.module.text, "sm_90").log.find("spill") == std::string::npos);
}
TEST_CASE("wgmma: GPUs that have none are told so") {
  if (!nvrtc_is_asked()) return;
  gpu_kernel k = wide_product<f16, float>(64, 128, 64);
  k.steps = wgmma_tiles{}.steps();
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  CHECK_THROWS_WITH_AS(static_cast<void>(compile_cuda(t.module.text, "sm_80")), "tensorize: wgmma is there on sm_90 alone (H100, H200), and not on sm_80\n  try   mma_f16, or mma_bf16", schedule_error);
}
TEST_CASE("wgmma: the interpreter finds nothing wrong, and the results of direct evaluation") { prepared().check_interpreted({2}); }
TEST_CASE("wgmma: the text on the host has the results of direct evaluation, whatever order threads run in") {
  prepared().check_on_host({0, 1, 77}, [](cuda_on_host const&) {});
}
TEST_CASE("wgmma: a product that is not waited for is wrong on the host") {
  if (!cuda_on_host::available()) return;
  gpu_kernel k = wide_product<f16, float>(64, 128, 256);
  k.steps = wgmma_tiles{}.steps();
  gpu_trial t(k);
  REQUIRE(t.fault == "");
  std::string text = t.own_text();
  for (std::size_t at = text.find("  weft_wgmma_settle();\n"); at != std::string::npos; at = text.find("  weft_wgmma_settle();\n", at)) text.erase(at, 23);
  cuda_on_host const host(text, "1");
  CHECK(t.on_host(host, 0) != "");
}
TEST_CASE("wgmma: NVRTC compiles all of it for sm_90, and keeps it in registers") {
  prepared().check_compiled([](cuda_binary const& r, std::string const&) {
    CHECK(r.log.find("C75") == std::string::npos);  // "serialized"
    CHECK(count_of(r.ptx, "wgmma.mma_async.sync") > prepared().kernels.size());
  });
}
TEST_CASE("wgmma: no kernel lacks a proof") { prepared().check_proved(); }
