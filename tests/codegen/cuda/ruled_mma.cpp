// Products by rule, where matrix units may be taken: each by the interpreter, its text on the host, and NVRTC.
#include "faults.hpp"
#include "products_mma.hpp"

#include "weft/codegen/cuda/api.hpp"

using namespace weft;
using namespace weft_test;

namespace {
prepared_kernels& prepared() {
  static prepared_kernels all(ruled_products());
  return all;
}
}  // namespace

TEST_CASE("ruled products: narrow types are multiplied by mma, others are not, and no sums go through memory") {
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    gpu_kernel const& k = prepared().kernels[i];
    INFO(k.name << "\n" << k.steps);
    REQUIRE(prepared().trials[i]->fault == "");
    bool const by_mma = k.name.find("mma") != std::string::npos, is_tail = k.name.find("tail") != std::string::npos;
    CHECK((k.steps.find("tensorize") != std::string::npos) == by_mma);
    CHECK((k.steps.find("reverse_compute_inline") != std::string::npos) == (k.name.find("behind") != std::string::npos));
    if (!is_tail) CHECK(prepared().trials[i]->module.kernels.size() == 1);
    if (!is_tail) CHECK(prepared().trials[i]->module.text.find(" S = (float*)") == std::string::npos);
  }
}
TEST_CASE("ruled products: the interpreter finds no race and no read of nothing, and the results are right") {
  prepared().check_interpreted({1, 2});
}
TEST_CASE("ruled products: the text on the host computes the same") { prepared().check_on_host({0, 1, 77}); }
TEST_CASE("ruled products: without any one of its barriers a kernel has a race") {
  auto const barriers = prepared().count_barriers();
  CHECK(barriers.all > 10);
  CHECK(barriers.needed == barriers.all);
}
TEST_CASE("ruled products: a commit that lacks, a wait for one group less, a copy into what is read: the interpreter finds each") {
  check_faults(prepared(), {20, 10, 20}, [](gpu_kernel const&, int) { return false; });
}
TEST_CASE("ruled products: NVRTC compiles all, without spills or arrays in local memory") {
  if (find_nvrtc() == nullptr) {
    MESSAGE("[skip] no NVRTC on this machine");
    return;
  }
  for (char const* architecture : {"sm_80", "sm_89", "sm_90a", "sm_120"}) {
    INFO(architecture);
    cuda_binary const r = compile_cuda(prepared().text, architecture, {"--ptxas-options=-v"});
    CHECK(r.cubin.size() > 4);
    CHECK(r.log.find("warning") == std::string::npos);
    CHECK(r.ptx.find(".local") == std::string::npos);
    CHECK(count_of(r.log, "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") >= prepared().kernels.size());
  }
}
TEST_CASE("ruled products: of large matrices a warp has 64 x 32 sums, and nothing spills") {
  if (find_nvrtc() == nullptr) {
    MESSAGE("[skip] no NVRTC on this machine");
    return;
  }
  for (gpu_kernel const& k : {by_rule_with_units(wide_product<f16, float>(4096, 4096, 4096), "large"),
                              by_rule_with_units(layer_of_halves<f16, f16>(4096, 4096, 4096), "large"),
                              by_rule_with_units(wide_product<std::int8_t, std::int32_t>(4096, 4096, 4096), "large"),
                              by_rule_with_units(layer_of_halves<float, float>(4096, 4096, 4096), "large")}) {
    INFO(k.name << "\n" << k.steps);
    gpu_trial const t(k, {}, gpu_trial::text_only);
    REQUIRE(t.fault == "");
    REQUIRE(t.module.kernels.size() == 1);
    CHECK(t.module.kernels[0].threads[0] * t.module.kernels[0].threads[1] == 256);
    if (k.steps.find("tensorize") != std::string::npos) CHECK(count_of(t.module.text, "_multiply(") == 1 + 8);  // 4 x 2 tiles of 16 x 16
    for (std::string const architecture : {"sm_80", "sm_90a", "sm_120"}) {
      cuda_binary const r = compile_cuda(t.module.text, architecture, {"--ptxas-options=-v"});
      CHECK(count_of(r.log, " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == 1);
      CHECK(r.ptx.find(".local") == std::string::npos);
      MESSAGE(k.name << " " << architecture << ": " << r.log.substr(r.log.find("Used "), 40) << ", " << t.module.kernels[0].shared_bytes << " bytes shared");
    }
  }
}
