// Every operation on every type, as its CUDA text runs on the host, against the one definition in base/op.hpp.
#include "weft/codegen/cuda/prelude.hpp"

#include <doctest/doctest.h>

#include <weft/base/sequence.hpp>

#include "../../support/cuda_host.hpp"
#include "all_operations.hpp"
#include "support/nvrtc.hpp"
#include "weft/codegen/cuda/module.hpp"
#include "weft/pass/legalise.hpp"

using namespace weft;
using namespace weft_test;

namespace {
std::string text_of_all_types() {
  std::string text;
  for (dtype t : types) {
    auto const n = static_cast<std::int64_t>(edges(t).size() * edges(t).size());
    loop_program p("all_" + std::string(name(t)));
    make_all(p, t, n);
    text += "namespace all_" + std::string(name(t)) + " {\n" + cuda_source(p.f) + "}\n";
  }
  return text;
}
}  // namespace

TEST_CASE("every operation and cast of every type runs as base/op.hpp defines it, on edge values") {
  if (!cuda_on_host::available()) {
    MESSAGE("[skip] neither $CXX nor c++ runs here: apt-get install g++");
    return;
  }
  cuda_on_host const kernel(text_of_all_types(), "2", cuda_on_host::as_built);
  REQUIRE_MESSAGE(kernel.loaded(), kernel.messages);
  CHECK(kernel.messages == "");
  for (dtype t : types) {
    CAPTURE(name(t));
    all_operations k(t);
    auto const at = [&](std::size_t i) { return k.memory[i].data(); };
    static_assert(dtype_count == 13, "the launch below has a pointer for each");
    REQUIRE(kernel.launch(("all_" + std::string(name(t)) + "_kernel").c_str(), static_cast<long long>(k.a.size()), 64, 0, at(0), at(1), at(2),
                          at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11), at(12), at(13), at(14), at(15), at(16), at(17)));
    CHECK(k.wrong() == "");
  }
}

TEST_CASE("NVRTC accepts every operation and cast of every type, for each GPU") {
  if (!nvrtc_is_asked()) return;
  for (char const* architecture : {"sm_80", "sm_89", "sm_90", "sm_120"}) {
    CAPTURE(architecture);
    cuda_binary const r = compile_cuda(text_of_all_types(), architecture);
    CHECK(r.cubin.size() > 4);
    CHECK(r.log == "");
    for (dtype t : types) CHECK(r.ptx.find("all_" + std::string(name(t)) + "_kernel") != std::string::npos);
  }
}

TEST_CASE("bit casts keep every bit") {
  if (!cuda_on_host::available()) {
    MESSAGE("[skip] neither $CXX nor c++ runs here: apt-get install g++");
    return;
  }
  loop_program p("bits");
  ir::expr const i = p.variable("i"), n = p.number(3);
  auto* const f = p.buffer("F", dtype::f32, {n}, false);
  auto* const d = p.buffer("D", dtype::i64, {n}, false);
  auto* const fi = p.buffer("FI", dtype::i32, {n}, true);
  auto* const di = p.buffer("DI", dtype::f64, {n}, true);
  ir::stmt const body = ir::block(p.m, {p.store(fi, {i}, ir::cast(p.m, op::bitcast, dtype::i32, p.load(f, {i}))),
                                        p.store(di, {i}, ir::cast(p.m, op::bitcast, dtype::f64, p.load(d, {i})))});
  p.f.body = p.loop(loop_kind::parallel, i, n, body);
  cuda_on_host const kernel(cuda_source(p.f));
  REQUIRE_MESSAGE(kernel.loaded(), kernel.messages);
  float const in_f[] = {-0.0f, 0.1f, from_bits<float>(0x7fc12345)};
  std::int64_t const in_d[] = {1, -1, 0x3ff0000000000000};
  std::int32_t out_f[3] = {};
  double out_d[3] = {};
  REQUIRE(kernel.launch("bits_kernel", 3, 4, 0, &in_f[0], &in_d[0], &out_f[0], &out_d[0]));
  for (int k = 0; k < 3; ++k) CHECK(to_bits(in_f[k]) == static_cast<std::uint32_t>(out_f[k]));
  for (int k = 0; k < 3; ++k) CHECK(to_bits(out_d[k]) == in_d[k]);
}

TEST_CASE("an operation that means nothing on a type has no function") {
  CHECK(cuda_text::prelude(op::rem, dtype::f32).name == "");
  CHECK(cuda_text::prelude(op::sub, dtype::boolean).name == "");
  CHECK(cuda_text::prelude(op::fma, dtype::f64).name == "weft_fma_f64");
}
