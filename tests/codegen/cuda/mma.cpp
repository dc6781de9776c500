// Products by mma.sync and ldmatrix: each by the interpreter, its text on the host, and NVRTC.
#include "prepared.hpp"
#include "products_mma.hpp"

#include "weft/codegen/cuda/api.hpp"
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
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    INFO(prepared().kernels[i].name);
    CHECK(prepared().trials[i]->fault == "");
  }
}
TEST_CASE("mma: the interpreter finds no race and no read of nothing, and the results are right") {
  prepared().check_interpreted({1, 2});
}
TEST_CASE("mma: without any one of its barriers a kernel has a race") {
  auto const barriers = prepared().count_barriers();
  CHECK(barriers.all > 10);
  CHECK(barriers.needed == barriers.all);
}
TEST_CASE("mma: the text on the host computes the same, each lane with its own elements") {
  prepared().check_on_host({0, 1, 77}, [](cuda_on_host const& host) {
    auto const counts = reinterpret_cast<unsigned const* (*)()>(host.symbol("shim_tile_counts"));
    REQUIRE((counts != nullptr));
    CHECK(counts()[0] > 0);
    for (unsigned t = 0; t < 1024; ++t) CHECK(counts()[t] == counts()[t / 32 * 32]);
  });
}
TEST_CASE("mma: NVRTC compiles all, without spills or arrays in local memory") {
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
    CHECK(count_of(r.ptx, "mma.sync.aligned.m16n8k") >= 2 * prepared().kernels.size());
    CHECK(count_of(r.ptx, "ldmatrix.sync") > prepared().kernels.size());
  }
}
