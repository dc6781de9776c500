// NVRTC accepts the text, and makes of it what the text says.
#include "weft/codegen/cuda/api.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <type_traits>

#include "programs.hpp"
#include "weft/codegen/cuda/module.hpp"

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define WEFT_TEST_HAS_NVRTC_HEADER 1
#elif __has_include("/usr/local/cuda/include/nvrtc.h")
#include "/usr/local/cuda/include/nvrtc.h"
#define WEFT_TEST_HAS_NVRTC_HEADER 1
#else
#define WEFT_TEST_HAS_NVRTC_HEADER 0
#endif

using namespace weft;
using namespace weft_test;

namespace {

bool no_nvrtc() {
  if (find_nvrtc() != nullptr) return false;
  MESSAGE("[skip] no NVRTC on this machine: pip install 'nvidia-cuda-nvrtc-cu12>=12.8', its nvidia/cuda_nvrtc/lib on LD_LIBRARY_PATH");
  return true;
}
bool contains(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

#if WEFT_TEST_HAS_NVRTC_HEADER
// Enumerations count as their integer, and NVRTC's program handle as ours.
template <class T>
struct plain {
  using type = T;
};
template <>
struct plain<nvrtcResult> {
  using type = int;
};
template <>
struct plain<nvrtcProgram> {
  using type = nvrtc_api::program;
};
template <>
struct plain<nvrtcProgram*> {
  using type = nvrtc_api::program*;
};
template <class R, class... Args>
struct plain<R (*)(Args...)> {
  using type = typename plain<R>::type (*)(typename plain<Args>::type...);
};
#define WEFT_TEST_SIGNATURE(function) \
  static_assert(std::is_same_v<decltype(nvrtc_api::function), typename plain<decltype(&::function)>::type>)
WEFT_TEST_SIGNATURE(nvrtcVersion);
WEFT_TEST_SIGNATURE(nvrtcGetErrorString);
WEFT_TEST_SIGNATURE(nvrtcGetNumSupportedArchs);
WEFT_TEST_SIGNATURE(nvrtcGetSupportedArchs);
WEFT_TEST_SIGNATURE(nvrtcCreateProgram);
WEFT_TEST_SIGNATURE(nvrtcDestroyProgram);
WEFT_TEST_SIGNATURE(nvrtcCompileProgram);
WEFT_TEST_SIGNATURE(nvrtcGetProgramLogSize);
WEFT_TEST_SIGNATURE(nvrtcGetProgramLog);
WEFT_TEST_SIGNATURE(nvrtcGetPTXSize);
WEFT_TEST_SIGNATURE(nvrtcGetPTX);
WEFT_TEST_SIGNATURE(nvrtcGetCUBINSize);
WEFT_TEST_SIGNATURE(nvrtcGetCUBIN);
static_assert(NVRTC_SUCCESS == 0 && sizeof(nvrtcResult) == sizeof(int));
#endif

}  // namespace

TEST_CASE("NVRTC's header, where there is one, declares what we declare") {
#if WEFT_TEST_HAS_NVRTC_HEADER
  CHECK(std::is_same_v<plain<decltype(&::nvrtcGetCUBIN)>::type, decltype(nvrtc_api::nvrtcGetCUBIN)>);
#else
  MESSAGE("[skip] no nvrtc.h on this machine");
#endif
}

TEST_CASE("NVRTC compiles the kernels for sm_80 and sm_90 without local memory or spills") {
  if (no_nvrtc()) return;
  int major = 0, minor = 0;
  REQUIRE(find_nvrtc()->nvrtcVersion(&major, &minor) == 0);
  CHECK(major >= 11);
  for (char const* architecture : {"sm_80", "sm_90"})
    for (int program = 0; program < 5; ++program) {
      loop_program p("kernel" + std::to_string(program));
      if (program == 0) make_vector_add(p);
      if (program == 1 || program == 2) make_matmul(p, 33, 17, 41, program == 2);
      if (program > 2) make_stencil(p, program == 4);
      CAPTURE(architecture);
      CAPTURE(p.f.name);
      cuda_binary const r = compile_cuda(cuda_source(p.f), architecture, {"--ptxas-options=-v"});
      REQUIRE(r.cubin.size() > 4);
      CHECK(r.cubin.substr(1, 3) == "ELF");
      CHECK(contains(r.ptx, cuda_kernel_name(p.f).c_str()));
      CHECK_FALSE(contains(r.ptx, ".local"));
      CHECK_FALSE(contains(r.log, "warning"));
      if (contains(r.log, "spill"))
        CHECK(contains(r.log, "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
      else
        MESSAGE("[skip] this NVRTC's log says nothing of spills");
    }
}

TEST_CASE("a * b + c is not contracted, even when the flag asks for it; op::fma is one instruction") {
  if (no_nvrtc()) return;
  loop_program p("apart");
  make_matmul(p, 33, 17, 41, true);
  cuda_binary const apart = compile_cuda(cuda_source(p.f), "sm_80", {"--fmad=true"});
  CHECK(contains(apart.ptx, "mul.rn.f32"));
  CHECK_FALSE(contains(apart.ptx, "fma."));

  loop_program q("fused");
  ir::expr const i = q.variable("i"), n = q.size("n");
  auto* const a = q.buffer("A", dtype::f32, {n}, true);
  ir::expr const x = q.load(a, {i});
  q.f.body = q.loop(loop_kind::parallel, i, n, q.store(a, {i}, ir::ternary(q.m, op::fma, x, x, x)));
  CHECK(contains(compile_cuda(cuda_source(q.f), "sm_80", {"--fmad=false"}).ptx, "fma.rn.f32"));
}

TEST_CASE("a text with an error is answered with NVRTC's log") {
  if (no_nvrtc()) return;
  std::string message;
  try {
    compile_cuda("extern \"C\" __global__ void k() { undeclared(); }", "sm_80");
  } catch (internal_error const& e) {
    message = e.what();
  }
  CHECK(contains(message, "NVRTC for sm_80"));
  CHECK(contains(message, "undeclared"));
}
TEST_CASE("an NVRTC that finds no libnvrtc-builtins is the machine's fault, and what to do about it is said") {
  nvrtc_api alone{};
  alone.nvrtcGetErrorString = [](int) { return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"; };
  alone.nvrtcGetNumSupportedArchs = [](int* n) { return *n = 0; };
  alone.nvrtcCreateProgram = [](nvrtc_api::program*, char const*, char const*, int, char const* const*, char const* const*) { return 0; };
  alone.nvrtcDestroyProgram = [](nvrtc_api::program*) { return 0; };
  alone.nvrtcCompileProgram = [](nvrtc_api::program, int, char const* const*) { return 7; };
  alone.nvrtcGetProgramLogSize = [](nvrtc_api::program, std::size_t* n) { return *n = 5, 0; };
  alone.nvrtcGetProgramLog = [](nvrtc_api::program, char* to) { return std::memcpy(to, "lack", 5), 0; };
  CHECK_THROWS_WITH_AS(compile_cuda("", "sm_80", {}, &alone), doctest::Contains("NVRTC finds no libnvrtc-builtins of its version, which is installed beside it: put that folder on"), device_error);
}
