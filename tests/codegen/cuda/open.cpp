// Kernels for a GPU whose sizes stay open: one text, for all of them.
#include "codegen/cuda/open.hpp"

#include <doctest/doctest.h>

#include "codegen/cuda/prepared.hpp"

using namespace weft_test;

namespace {

open_trials& opened() {
  static open_trials all;
  return all;
}
template <class F>
void each(F const& f, bool run = true) {
  open_trials& all = opened();
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    if (run && (all.planned[i] || !all.trials[i]->fault.empty())) continue;
    std::string shapes;
    for (auto const& s : all.kernels[i]->shapes)
      for (std::int64_t e : s) shapes += std::to_string(e) + " ";
    INFO(all.kernels[i]->name << " of " << shapes << "\n" << all.kernels[i]->steps);
    f(*all.trials[i]);
  }
}

}  // namespace

TEST_CASE("kernels with open sizes: the steps are legal, the loop programs pass the verifier, and one text serves all sizes") {
  each([](gpu_trial& t) { CHECK(t.fault == ""); }, false);
  CHECK(opened().differing == "");
}
TEST_CASE("kernels with open sizes: the interpreter finds nothing wrong at any of the sizes") {
  each([](gpu_trial& t) {
    for (int seed = 1; seed <= rounds(2, 1); ++seed) CHECK(t.interpreted(static_cast<std::uint64_t>(seed)) == "");
  });
}
TEST_CASE("kernels with open sizes: the text, compiled for the host once, computes the same at all sizes, threads in any order") {
  if (!cuda_on_host::available()) {
    MESSAGE("[skip] neither $CXX nor c++ runs here: apt-get install g++");
    return;
  }
  cuda_on_host const host(opened().text, "1", cuda_on_host::as_built);
  REQUIRE_MESSAGE(host.loaded(), host.messages);
  CHECK(host.messages == "");
  each([&](gpu_trial& t) {
    for (unsigned order : {0u, 1u, 77u})  // under sanitizers, which the text has, too, one is enough
      if (!is_sanitized || order == 77) CHECK(t.on_host(host, order) == "");
  });
}
TEST_CASE("kernels with open sizes: NVRTC compiles them, without spills") {
  check_compiled_together(opened().trials, opened().text, [](weft::cuda_binary const&, std::string const&) {});
}
TEST_CASE("kernels with open sizes: no call lacks a proof") {
  each([](gpu_trial& t) { CHECK(lacking_proofs(t, gpus_of(opened().text).size()) == ""); });
}
TEST_CASE("where 16 divides the open sizes, accesses are of 16 bytes without a mask") {
  for (std::size_t i = 0; i < opened().kernels.size(); ++i) {
    std::string const& name = opened().kernels[i]->name;
    std::string const& text = opened().trials[i]->module.text;
    INFO(name << "\n" << opened().kernels[i]->steps << "\n" << text);
    if (name == "open_scaled_16" || name == "open_scaled_f16" || name == "open_product_16") CHECK(text.find(name == "open_scaled_f16" ? "weft_f16x8" : "weft_f32x4") != std::string::npos);
    if (name == "open_product_16") CHECK(text.find(" C[") == std::string::npos);  // in tails, too: no element alone
  }
}
