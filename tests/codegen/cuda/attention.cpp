// Attention by rule: by the interpreter, its text on the host, and NVRTC.
#include "codegen/cuda/attention.hpp"

#include <cstdlib>

#include "codegen/cuda/prepared.hpp"

using namespace weft;
using namespace weft_test;

namespace {
prepared_kernels& prepared() {
  static prepared_kernels all(ruled_attention());
  return all;
}
}  // namespace

TEST_CASE("attention by rule: one launch without memory of its own outside of blocks, where types are narrow") {
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    gpu_kernel const& k = prepared().kernels[i];
    INFO(k.name << "\n" << k.steps);
    gpu_trial const& t = *prepared().trials[i];
    REQUIRE(t.fault == "");
    bool const by_units = k.name.find("chip") != std::string::npos, then = k.name.find("then") != std::string::npos;
    bool const on_chip = by_units || k.name == "attention_query";
    CHECK((t.module.kernels.size() == 1) == (on_chip && !then));
    CHECK(t.module.kernels[0].takes_workspace == (!on_chip || then));
    if (by_units) CHECK(count_of(k.steps, "tensorize(") == 2);
    if (k.name.find("behind") != std::string::npos) CHECK(k.steps.find("out: reverse_compute_inline()") != std::string::npos);
  }
}
TEST_CASE("attention by rule: the interpreter finds nothing wrong, and rows of 16 bytes take two turns at most") {
  prepared().check_interpreted({7}, [](gpu_kernel const& k, memory_traffic const& t) {
    CHECK(t.wide_loads.taken <= 2 * t.wide_loads.least);  // of three kernels, which read rows of scores, twice the least
    CHECK(t.wide_stores.taken <= 2 * t.wide_stores.least);
    if (k.name.find("odd") == std::string::npos) CHECK(t.global_contiguous.ratio() <= 1.1);  // else rows begin anywhere in their sectors
  });
}
TEST_CASE("attention by rule: the text computes the same on the host, and ldmatrix meets no bank twice") {
  ldmatrix_counts banks;
  prepared().check_on_host({0, 5}, [&](cuda_on_host const& host) { banks.check(host); });
  CHECK((banks.all > 0 || !cuda_on_host::available()));
}
TEST_CASE("attention by rule: NVRTC compiles all, without spills or arrays in local memory, and their texts are short") {
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    INFO(prepared().kernels[i].name);
    CHECK(prepared().trials[i]->module.text.size() < 500000);  // of a choice in whose ways something is used twice each use was written out: 1.6 MB, and ten minutes
  }
  prepared().check_compiled([](cuda_binary const& r, std::string const&) { CHECK(count_of(r.ptx, "mma.sync") > prepared().kernels.size()); });
}
TEST_CASE("attention by rule: no kernel lacks a proof") { prepared().check_proved(); }
TEST_CASE("attention by rule: of one query the scores stay on the chip, and threads share the sums of its result") {
  CHECK(prepared().kernels.back().name == "attention_query");
  CHECK(prepared().kernels.back().steps.find("matmul_1: bind(ki, thread_x)") != std::string::npos);
}
TEST_CASE("attention by rule: each barrier is needed") {
  if (is_sanitized) return;  // the interpreter over and over, which sees nothing new there
  prepared_kernels one({by_rule_with_units(attention_kernel<f16>({{1}, 32, 64, 32, 32}, {.scale = 0x1p-6}), "barriers")});
  one.check_have_text();
  prepared_kernels::barrier_counts const n = one.count_barriers();
  CHECK(n.all >= 5);
  CHECK(n.needed == n.all);
}
TEST_CASE("attention by rule: why rows go through global memory is told") {
  auto const told_of = [](gpu_kernel k, bool reassociate = true) {
    sequence<std::string> told;
    by_rule_with_units(std::move(k), "told", reassociate, &told);
    std::string all;
    for (std::string const& t : told) all += t + "\n";
    return all;
  };
  std::string const rows = "matmul_1: the rows of matmul go through global memory: ";
  CHECK(told_of(attention_kernel<f16>({{2}, 32, 64, 32, 32})) == "");
  CHECK(told_of(attention_kernel<float>({{2}, 32, 64, 32, 32})) == rows + "no matrix unit multiplies both, for which types have to be narrow\n");
  CHECK(told_of(attention_kernel<f16>({{2}, 32, 4096, 64, 64})).find(rows + "16 of them, of 4096 elements, do not fit what a block shares") == 0);
  CHECK(told_of(attention_kernel<f16>({{2}, 32, 72, 32, 32}, {.block = 24})).find("top: the rows of matmul go through global memory: in blocks, ") == 0);
  CHECK(told_of(attention_kernel<f16>({{2}, 35, 77, 33, 31}, {.block = 32})) == "");
  CHECK(told_of(attention_kernel<f16>({{2}, 32, 64, 32, 32}, {.block = 32})) == "");
  CHECK(told_of(attention_kernel<f16, float, 0>({{}, 64, 64, 1024, 1024})).find(rows) != std::string::npos);
  CHECK(told_of(attention_kernel<f16>({{2}, 32, 64, 32, 32}), false).find(rows + "no matrix unit multiplies them: it adds floats in an order of its own") == 0);
}
TEST_CASE("attention by rule: NVRTC makes ldmatrix and mma.sync of it, without spills, in what a block has") {
  struct {
    gpu_kernel k;
    std::int64_t bytes;
    int registers;
  } const cases[] = {
      {by_rule_with_units(attention_kernel<f16>({{8}, 1024, 1024, 64, 64}), "1024"), 92 * 1024, 80},
      {by_rule_with_units(attention_kernel<f16>({{16}, 2048, 2048, 128, 128}, {.causal = true, .block = 64}), "2048"), 96 * 1024, 128},
      {by_rule_with_units(attention_kernel<bf16, bf16>({{16}, 512, 512, 128, 128}, {.causal = true}), "512"), 96 * 1024, 80},
  };
  for (auto const& c : cases) {
    INFO(c.k.name << "\n" << c.k.steps);
    gpu_trial const t(c.k, {}, gpu_trial::text_only);
    REQUIRE(t.fault == "");
    REQUIRE(t.module.kernels.size() == 1);
    CHECK(t.module.kernels[0].shared_bytes <= c.bytes);
    check_compiled_for_gpus(t.module.text, 1, [&](cuda_binary const& r, std::string const& architecture) {
      CHECK(count_of(r.ptx, "mma.sync") > 0);
      CHECK(count_of(r.ptx, "ldmatrix") > 0);
      int const registers = std::atoi(r.log.c_str() + r.log.find("Used ") + 5);
      CHECK(registers <= c.registers);
      MESSAGE(c.k.name << " " << architecture << ": " << registers << " registers, " << t.module.kernels[0].shared_bytes << " bytes shared");
    });
  }
}
