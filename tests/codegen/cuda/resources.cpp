#include "weft/codegen/cuda/resources.hpp"

#include <doctest/doctest.h>

#include "weft/codegen/cuda/api.hpp"

using namespace weft;

namespace {
bool no_nvrtc() {
  if (find_nvrtc() != nullptr) return false;
  MESSAGE("[skip] no NVRTC on this machine: pip install 'nvidia-cuda-nvrtc-cu12>=12.8', its nvidia/cuda_nvrtc/lib on LD_LIBRARY_PATH");
  return true;
}
/// One that adds, and one of which each thread needs an array that is walked through by what is in memory.
cuda_module two_kernels() {
  cuda_module m;
  m.text =
      "extern \"C\" __global__ void __launch_bounds__(256) add(float* a) { a[blockIdx.x * 256 + threadIdx.x] += 1; }\n"
      "extern \"C\" __global__ void __launch_bounds__(512) walk(int* a) {\n"
      "  int own[100];\n"
      "  for (int i = 0; i < 100; ++i) own[i] = a[i];\n"
      "  for (int i = 0; i < 100; ++i) own[a[i] % 100] += i;\n"
      "  a[threadIdx.x] = own[a[0] % 100];\n"
      "}\n";
  m.kernels.push_back({"add", {}, {256, 1, 1}, 0, false});
  m.kernels.push_back({"walk", {}, {32, 16, 1}, 100000, false});
  return m;
}
}  // namespace

TEST_CASE("registers, stack and occupancy of each kernel of a text") {
  if (no_nvrtc()) return;
  sequence<cuda_usage> const all = usage_of(two_kernels(), "sm_80");
  REQUIRE(all.size() == 2);
  CHECK(all[0].kernel == "add");
  CHECK(all[0].registers > 0);
  CHECK(all[0].registers <= 32);
  CHECK(all[0].stack_bytes == 0);
  CHECK(all[0].blocks == 8);  // 64 warps, of which a block has 8
  CHECK(all[0].occupancy == 100);
  CHECK(all[0].limit == "threads");
  CHECK(all[1].stack_bytes == 400);
  CHECK(all[1].threads == 512);
  CHECK(all[1].blocks == 1);
  CHECK(all[1].occupancy == 25);
  CHECK(all[1].limit == "shared memory");
  CHECK(usage_of(two_kernels(), "sm_89")[0].blocks == 6);   // 48 warps
  CHECK(usage_of(two_kernels(), "sm_90")[1].blocks == 2);  // 228 KiB
}
TEST_CASE("architectures are told as calls compile for them: by their number alone") {
  if (no_nvrtc()) return;
  sequence<std::string> const all = known_architectures();
  CHECK(all.size() >= 4);
  for (std::string const& a : all) CHECK(a == "sm_" + std::to_string(std::atoi(a.c_str() + 3)));
}
TEST_CASE("the table has a line for each") {
  cuda_usage u{"product_kernel", "sm_80", 256, 127, 16640, 0, 4, 8, 2, 25, "registers"};
  CHECK(print_usage({u, u}) ==
        "kernel          arch    threads  registers  shared  stack  spills  blocks  occupancy\n"
        "product_kernel  sm_80       256        127   16640      0      12       2       25 %  registers\n"
        "product_kernel  sm_80       256        127   16640      0      12       2       25 %  registers\n");
}
TEST_CASE("an architecture that NVRTC does not know is refused in its words") {
  if (no_nvrtc()) return;
  CHECK_THROWS_WITH_AS(usage_of(two_kernels(), "sm_17"), doctest::Contains(" makes no code for sm_17, but for sm_"), device_error);
  CHECK(!known_architectures().empty());
}
