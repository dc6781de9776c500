// Kernels for a GPU without a schedule: what the rule does with them, by the interpreter, on the host and by NVRTC.
#include "weft/schedule/rules/gpu.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "codegen/cuda/prepared.hpp"
#include "codegen/cuda/products_mma.hpp"
#include "codegen/cuda/ruled.hpp"

using namespace weft;
using namespace weft_test;

namespace {

prepared_kernels& prepared() {
  static prepared_kernels all(ruled());
  return all;
}

}  // namespace

TEST_CASE("the rule for GPUs has legal steps for each, which can be replayed, and text") {
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    INFO(prepared().kernels[i].name << "\n" << prepared().kernels[i].steps);
    CHECK(prepared().trials[i]->fault == "");
    CHECK(prepared().kernels[i].steps.find("bind(") != std::string::npos);
  }
}
TEST_CASE("the interpreter finds nothing wrong with what the rule for GPUs has made") { prepared().check_ruled_and_interpreted({7}); }
TEST_CASE("the text of what the rule for GPUs has made, compiled for the host, computes the same") {
  prepared().check_on_host({0, 5});
}

TEST_CASE("NVRTC compiles all that the rule for GPUs has made, without spills or arrays in local memory") {
  prepared().check_compiled([](cuda_binary const&, std::string const&) {});
}
TEST_CASE("the rule for GPUs: no kernel lacks a proof") { prepared().check_proved(); }
TEST_CASE("large kernels by the rule for GPUs: no spills, no arrays in memory, few registers, rows of 16 bytes") {
  if (!nvrtc_is_asked()) return;
  struct {
    gpu_kernel k;
    int launches, registers, barriers;
    char const* reads;  // of global memory
  } const cases[] = {
      {by_rule(scaled<float>(16384, 16384), "large"), 1, 32, 0, "ld.global.nc.v4.f32"},
      {by_rule(scaled<f16>(16384, 16384), "large16"), 1, 32, 0, "ld.global.nc.v4.u32"},
      {by_rule(transposed<float>(16384, 16384), "large"), 1, 32, 1, "ld.global.nc.f32"},
      {by_rule(product<float>(16384, 16384, 1024), "grouped"), 1, 255, 1, "cp.async.cg.shared.global"},
      {by_rule(turned_product(4096, 4096, 4096, true, true), "large"), 1, 128, 1, "cp.async.cg.shared.global"},
      {by_rule(product<f16, float>(4096, 4096, 4096), "large16"), 1, 128, 2, "ld.global.nc"},
      {by_rule(conv(32, 64, 58, 64), "large"), 1, 128, 1, "cp.async.ca.shared.global"},
      {by_rule(conv_last(32, 58, 64, 64), "large"), 1, 128, 1, "cp.async"},
      {by_rule(row_sums<float>(16384, 16384), "large"), 1, 64, 1, "ld.global.nc.v4.f32"},
      {by_rule(whole_sum<float>(1 << 28), "large"), 2, 64, 2, "ld.global.nc.v4.f32"},
      {by_rule(column_sums<float>(16384, 16384), "large"), 2, 64, 0, "ld.global.nc.f32"},
      {by_rule(softmax_rows(16384, 8192), "large"), 1, 128, 4, "ld.global.nc.v4.f32"},
      {by_rule(softmax_rows(16384, 16384), "shared"), 1, 128, 4, "ld.global.nc.v4.f32"},
      {by_rule(softmax_rows(16384, 32768), "again"), 1, 128, 4, "ld.global.nc.v4.f32"},
      {by_rule(layernorm_rows(16384, 8192), "large"), 1, 128, 4, "ld.global.nc.v4.f32"},
  };
  for (auto const& c : cases) {
    INFO(c.k.name << "\n" << c.k.steps);
    gpu_trial const t(c.k, {}, gpu_trial::text_only);
    REQUIRE(t.fault == "");
    CHECK(t.module.kernels.size() == static_cast<std::size_t>(c.launches));
    if (c.launches == 1)
      CHECK_MESSAGE(!t.module.kernels[0].takes_workspace, "what a row keeps leaves the chip");
    CHECK(count_of(t.module.text, "__syncthreads();") == static_cast<std::size_t>(c.barriers));
    for (std::string const& architecture : gpus_of(t.module.text)) {
      cuda_binary const r = compile_cuda(t.module.text, architecture, {"--ptxas-options=-v"});
      INFO(architecture << r.log);
      CHECK(count_of(r.log, " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == static_cast<std::size_t>(c.launches));
      CHECK(r.ptx.find(".local") == std::string::npos);
      CHECK(r.ptx.find(c.reads) != std::string::npos);
      for (std::size_t at = r.log.find("Used "); at != std::string::npos; at = r.log.find("Used ", at + 1))
        CHECK(std::atoi(r.log.c_str() + at + 5) <= c.registers);
    }
  }
}
TEST_CASE("elementwise kernels by the rule for GPUs: rows of 16 bytes where blocks do not divide, below 2^31 elements and beyond") {
  for (std::int64_t rows : {std::int64_t(101), std::int64_t(65535)}) {
    gpu_kernel const k = by_rule(scaled<float>(rows, 65540), "cut");
    INFO(k.steps);
    gpu_trial const t(k, {}, gpu_trial::text_only);
    REQUIRE(t.fault == "");
    INFO(t.module.text);
    CHECK(count_of(t.module.text, "*(weft_f32x4*)&out[") == 1);
    CHECK(count_of(t.module.text, "*(weft_f32x4 const*)&A[") == 1);
    CHECK(count_of(t.module.text, "if (") == 1);
    check_compiled_for_gpus(t.module.text, 1, [](cuda_binary const& r, std::string const&) {
      CHECK(count_of(r.ptx, "ld.global.nc.v4.f32") == 1);
      CHECK(count_of(r.ptx, "ld.global") == 1);
      CHECK(count_of(r.ptx, "st.global.v4.f32") == 1);
      CHECK(count_of(r.ptx, "st.global") == 1);
    });
  }
}
TEST_CASE("elements of short rows that stand one behind the other are one row for the rule for GPUs: no sector is asked for twice") {
  for (std::int64_t columns : {3, 4, 37}) {  // rows of odd lengths, together a multiple of 16 bytes, by single elements
    gpu_kernel const k = by_rule(scaled<float>(320, columns), "points");
    gpu_trial t(k);
    memory_traffic traffic;
    INFO(k.steps);
    REQUIRE(t.fault == "");
    CHECK(t.interpreted(1, &traffic) == "");
    CHECK(traffic.global.least > 0);
    CHECK(traffic.global.taken == traffic.global.least);
  }
}
TEST_CASE("rows of one element are one row for the rule for GPUs, by 16 bytes") {
  gpu_kernel image{"image"};
  auto const x = image.input<float, 4>({32, 1024, 1, 1});
  image.out(compute<"out">(x.extent(0), x.extent(1), x.extent(2), x.extent(3), [=](auto a, auto b, auto c, auto d) { return x(a, b, c, d) * 2.0f; }));
  for (gpu_kernel const& k : {by_rule(scaled<float>(1 << 20, 1), "one"), by_rule(scaled<f16>(1 << 20, 1), "one"), by_rule(scaled<std::uint8_t>(1 << 20, 1), "one"), by_rule(image, "one")}) {
    INFO(k.name << "\n" << k.steps);
    CHECK(count_of(k.steps, "vectorize(") == 1);
    gpu_trial const t(k, {}, gpu_trial::text_only);
    REQUIRE(t.fault == "");
    INFO(t.module.text);
    CHECK(count_of(t.module.text, "&out[") == 1);
    CHECK(count_of(t.module.text, "if (") <= 1);
  }
  // Of 1023 elements neither four nor two divide.
  CHECK(count_of(by_rule(scaled<float>(1023, 1), "odd").steps, "vectorize(") == 0);
}
TEST_CASE("a product by the rule for GPUs: copies of 16 bytes alone, three tiles ahead, one barrier in each iteration; rows of blocks in groups") {
  gpu_kernel const k = by_rule(product<float>(4096, 4096, 4096), "tiles");
  CHECK(k.steps.find("A_copy: pipeline(3, async)\n") != std::string::npos);
  CHECK(k.steps.find("B_copy: pipeline(3, async)\n") != std::string::npos);
  CHECK(k.steps.find("transform_layout") == std::string::npos);
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  CHECK(t.module.kernels[0].shared_bytes == 4 * (128 * 16 + 16 * 256) * 4);
  CHECK(count_of(t.module.text, "__syncthreads();") == 1);
  CHECK(count_of(t.module.text, "weft_wait_2();") == 1);
  CHECK(by_rule(product<float>(16384, 16384, 64), "wide").steps.find("C: bind(jo, block_y)\n") != std::string::npos);
  // Less of the terms than two tiles are no pipeline, and what is narrower than a copy is copied by threads.
  CHECK(by_rule(product<float>(128, 128, 16), "short").steps.find("async") == std::string::npos);
  CHECK(by_rule(product<f16, float>(128, 128, 64), "narrow").steps.find("async") == std::string::npos);
  check_compiled_for_gpus(t.module.text, 1, [](cuda_binary const& r, std::string const&) {
    CHECK(count_of(r.ptx, "cp.async.cg.shared.global") == 24);  // 6 in each of three turns in front of the loop, and in it
    CHECK(count_of(r.ptx, "cp.async.ca") == 0);
    CHECK(count_of(r.ptx, "ld.global") == 0);
    CHECK(count_of(r.ptx, "ld.shared.v4") >= 2 * 16);  // of B, for each term
    CHECK(count_of(r.ptx, "fma.rn.f32") == 16 * 8 * 16);
    CHECK(count_of(r.ptx, "bar.sync") == 1);
    CHECK(r.log.find(" 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") != std::string::npos);
  });
}
TEST_CASE("rows of two tensors that two stages each read are both copied once by the rule for GPUs") {
  std::string const steps = by_rule(softmax_back_rows(64, 4096), "rows").steps;
  CHECK(steps.find("cache_read(A, all)") != std::string::npos);
  CHECK(steps.find("cache_read(B, all)") != std::string::npos);
}
TEST_CASE("a matrix times itself is no pair of operands that matrix units are given by the rule for GPUs, which says why") {
  gpu_kernel k{"gram"};
  auto const a = k.input<f16, 2>({256, 128});
  k = k.out(compute<"C">(a.extent(0), a.extent(0), [=](auto i, auto j) { return sum(a.extent(1), [=](auto l) { return cast<float>(a(i, l)) * cast<float>(a(j, l)); }); }));
  sequence<std::string> told;
  CHECK(by_rule_with_units(k, "ruled", true, &told).steps.find("tensorize") == std::string::npos);
  bool said = false;
  for (std::string const& t : told) said = said || t.find("A is multiplied by itself") != std::string::npos;
  CHECK(said);
}
