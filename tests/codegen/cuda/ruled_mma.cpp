// Products by rule, where matrix units may be taken: each by the interpreter, its text on the host, and NVRTC.
#include "faults.hpp"
#include "products_mma.hpp"

#include <cstdlib>


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
    CHECK(prepared().trials[i]->module.kernels.size() == (is_tail ? 2 : 1));
    if (!is_tail) CHECK(prepared().trials[i]->module.text.find(" S = (float*)") == std::string::npos);
  }
}
TEST_CASE("ruled products: what a matrix unit does not multiply, or is computed elsewhere, and why, is told") {
  auto const told_of = [](gpu_kernel k, bool reassociate = true) {
    sequence<std::string> told;
    by_rule_with_units(std::move(k), "told", reassociate, &told);
    std::string all;
    for (std::string const& t : told) all += t + "\n";
    return all;
  };
  CHECK(told_of(wide_product<f16, float>(64, 64, 64)) == "");
  CHECK(told_of(wide_product<f16, float>(45, 51, 37)) == "");
  CHECK(told_of(wide_product<f16, float>(64, 64, 64), false) == "C: no matrix unit multiplies it: it adds floats in an order of its own, and this kernel is bitwise\n");
  CHECK(told_of(wide_product<std::int8_t, std::int32_t>(64, 64, 64), false) == "");
  CHECK(told_of(wide_product<std::int8_t, std::int32_t>(64, 64, 12)) == "C: no matrix unit multiplies it: the terms are fewer than the 32 that it adds at once\n");
  CHECK(told_of(product_added_in_f16(64, 64, 64)).find("C: no matrix unit multiplies it: the terms are not products of two f16") == 0);
  CHECK(told_of(wide_product<float, float>(64, 64, 64)) == "");  // f32 is not made less
  CHECK(told_of(layer_of_halves<f16, f16>(64, 64, 32)) == "");
  CHECK(told_of(layer_of_halves<f16, f16>(70, 90, 40)).find("S: out is a launch of its own: tiles of ") == 0);
  CHECK(told_of(product_of_columns_of_one(256, 64, 64)) ==
        "C: no matrix unit multiplies it: the last dimension of A is neither that of its rows nor that of the terms\n");
  gpu_kernel open = wide_product<f16, float>(64, 64, 64);
  open.names = {{-2 - 'm', 0}, {0, 0}};
  CHECK(told_of(open) == "C: no matrix unit multiplies it: its tiles are whole, and its sizes are open\n");
}
TEST_CASE("ruled products: an operand whose last dimension is one element is multiplied without a matrix unit") {
  gpu_kernel const k = by_rule_with_units(product_of_columns_of_one(32, 32, 32), "alone");
  gpu_trial t(k);
  CHECK(t.fault == "");
  CHECK(t.module.text.find("mma") == std::string::npos);
  CHECK(t.interpreted(1) == "");
}
TEST_CASE("ruled products: the hot loop of f16: wide copies, one barrier behind the wait, the next operands in front of products") {
  gpu_trial const t(by_rule_with_units(wide_product<f16, float>(4096, 4096, 4096), "hot"), {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  std::string const loop = loop_of(t.module.text);
  CHECK(loop.find("weft_wait_2();") < loop.find("__syncthreads();"));
  CHECK(loop.find("__syncthreads();") < loop.find("weft_copy_16("));
  CHECK(count_of(loop, "__syncthreads();") == 1);
  CHECK(count_of(loop, "_ldmatrix_") == 2 * (4 + 4));
  CHECK(count_of(loop.substr(0, loop.find("_multiply(")), "_ldmatrix_") == 2 * (4 + 4));  // of both steps
}
TEST_CASE("ruled products: a search has the numbers, the rule's own first, and what it chooses computes the same") {
  auto const chosen = [](gpu_kernel const& k, sequence<std::int32_t> const& choices, bool searched, sequence<knob_info>& knobs) {
    program const expanded = expand(canonical(k.p), true);
    schedule s(expanded, [&](int t, int d) { return k.shapes[static_cast<std::size_t>(t)][static_cast<std::size_t>(d)]; }, {0, 16});
    s.choices = choices;
    rule_input in;
    in.strides.resize(expanded.tensors.size());
    in.dots = {&mma_f16, &mma_bf16, &mma_s8, &mma_u8};
    in.searched = searched;
    schedule_by_gpu_rule(s, in);
    knobs = s.knobs;
    return print_trace(s);
  };
  auto const names_of = [&](gpu_kernel const& k) {
    sequence<knob_info> knobs;
    chosen(k, {}, true, knobs);
    std::string names;
    for (knob_info const& one : knobs) names += std::string(one.name.view()) + " ";
    return names;
  };
  CHECK(names_of(wide_product<f16, float>(4096, 4096, 4096)) == "C.matrix_unit C.block_m C.block_n C.warp_m C.warp_n C.terms C.stages C.group ");
  CHECK(names_of(wide_product<float, float>(4096, 4096, 4096)) == "C.block_m C.block_n C.own_m C.own_n C.terms C.group C.stages ");
  unsigned seed = 44;
  int tried = 0, multiplied = 0, ahead = 0;
  for (gpu_kernel k : {wide_product<f16, float>(64, 96, 128), wide_product<f16, float>(45, 51, 70), wide_product<std::int8_t, std::int32_t>(40, 64, 96),
                       wide_product<float, float>(64, 64, 64)}) {
    sequence<knob_info> knobs;
    std::string const by_rule = chosen(k, {}, false, knobs);
    CHECK(knobs.empty());
    CHECK(chosen(k, {}, true, knobs) == by_rule);
    for (int round = 0; round < rounds(6, 2); ++round) {
      sequence<std::int32_t> choices;
      for (knob_info const& one : knobs) {
        seed = seed * 1664525u + 1013904223u;
        choices.push_back(static_cast<std::int32_t>((seed >> 16) % one.values.size()));
      }
      sequence<knob_info> ignored;
      k.steps = chosen(k, choices, true, ignored);
      INFO(k.steps);
      gpu_trial t(k);
      ++tried;
      if (!t.fault.empty()) continue;  // a search drops it
      CHECK(t.interpreted(1) == "");
      multiplied += k.steps.find("tensorize") != std::string::npos;
      ahead += k.steps.find("pipeline(") != std::string::npos;
    }
  }
  MESSAGE(multiplied << " of " << tried << " on matrix units, " << ahead << " run ahead");
  if (is_sanitized) return;
  CHECK(multiplied >= 5);
  CHECK(ahead >= 3);
}
TEST_CASE("ruled products: of any shape, drawn: no race, no read of nothing, and the results are right") {
  unsigned state = 2026;
  auto const below = [&](std::int64_t low, std::int64_t high) {
    state = state * 1664525u + 1013904223u;
    return low + static_cast<std::int64_t>((state >> 16) % static_cast<unsigned>(high - low));
  };
  int cut = 0;
  for (int round = 0; round < 10; ++round) {
    std::int64_t const m = below(16, 70), n = below(16, 70), depth = below(32, 100);
    bool const turn_a = below(0, 2) == 1, turn_b = below(0, 2) == 1;
    gpu_kernel const k = by_rule_with_units(round % 3 == 0   ? wide_product<std::int8_t, std::int32_t>(m, n, depth, turn_a, turn_b)
                                            : round % 3 == 1 ? wide_product<f16, float>(m, n, depth, turn_a, turn_b)
                                                             : wide_product<bf16, float>(m, n, depth, turn_a, turn_b),
                                            "drawn");
    INFO("round " << round << ": " << m << " x " << n << " x " << depth << "\n" << k.steps);
    gpu_trial t(k);
    REQUIRE(t.fault == "");
    CHECK(k.steps.find("tensorize") != std::string::npos);
    cut += k.steps.find("transform_layout") != std::string::npos;
    CHECK(t.interpreted(static_cast<std::uint64_t>(round)) == "");
  }
  CHECK(cut >= 8);
}
TEST_CASE("ruled products: the interpreter finds no race and no read of nothing, and the results are right") {
  prepared().check_ruled_and_interpreted({1, 2});
}
TEST_CASE("ruled products: the text on the host computes the same, and ldmatrix meets no bank twice") {
  ldmatrix_counts banks;
  prepared().check_on_host({0, 1, 77}, [&](cuda_on_host const& host) { banks.check(host); });
  CHECK((banks.all > 0 || !cuda_on_host::available()));
}
TEST_CASE("ruled products: without any one of its barriers a kernel has a race") {
  if (is_sanitized) return;  // the interpreter over and over, which sees nothing new there
  auto const barriers = prepared().count_barriers();
  CHECK(barriers.all > 10);
  CHECK(barriers.needed == barriers.all);
}
TEST_CASE("ruled products: a commit that lacks, a wait for one group less, a copy into what is read: the interpreter finds each") {
  if (is_sanitized) return;  // the interpreter over and over, which sees nothing new there
  check_faults(prepared(), {20, 10, 10}, [](gpu_kernel const&, int) { return false; });
}
TEST_CASE("ruled products: NVRTC compiles all, without spills or arrays in local memory") {
  prepared().check_compiled([](cuda_binary const&, std::string const&) {});
}
TEST_CASE("ruled products: no kernel lacks a proof") { prepared().check_proved(); }
TEST_CASE("ruled products: of large matrices two blocks fit a processor, four stages run on by themselves, and nothing spills") {
  if (!nvrtc_is_asked()) return;
  struct {
    gpu_kernel k;
    int shared_bytes, multiplications;
  } const cases[] = {{by_rule_with_units(wide_product<f16, float>(4096, 4096, 4096), "4096"), 4 * (128 * 32 + 32 * 128) * 2, 2 * 16},
                     {by_rule_with_units(wide_product<f16, float>(8192, 8192, 8192), "8192"), 4 * (128 * 32 + 32 * 128) * 2, 2 * 16},
                     {by_rule_with_units(wide_product<bf16, float>(4096, 4096, 4096, false, true), "4096_right"), 4 * (128 * 32 + 128 * 32) * 2, 2 * 16},
                     {by_rule_with_units(layer_of_halves<f16, f16>(4096, 4096, 4096), "4096"), 4 * (128 * 32 + 32 * 128) * 2, 2 * 16},
                     {by_rule_with_units(wide_product<std::int8_t, std::int32_t>(4096, 4096, 4096), "4096_s8"), 4 * (128 * 64 + 64 * 144), 2 * 16},
                     {by_rule_with_units(wide_product<std::int8_t, std::int32_t>(4096, 4096, 4096, false, true), "4096_s8_right"), 4 * (128 * 64 + 128 * 64), 2 * 16},
                     {by_rule_with_units(layer_of_halves<float, float>(4096, 4096, 4096), "4096"), 3 * (128 * 20 + 16 * 128) * 4, 0},
                     {by_rule_with_units(layer_of_halves<float, float>(8192, 8192, 8192), "8192"), 3 * (128 * 20 + 16 * 128) * 4, 0}};
  for (auto const& c : cases) {
    INFO(c.k.name << "\n" << c.k.steps);
    gpu_trial const t(c.k, {}, gpu_trial::text_only);
    REQUIRE(t.fault == "");
    REQUIRE(t.module.kernels.size() == 1);
    std::int32_t const threads = t.module.kernels[0].threads[0] * t.module.kernels[0].threads[1];
    CHECK(threads == (c.multiplications > 0 ? 128 : 256));
    CHECK(t.module.kernels[0].shared_bytes == c.shared_bytes);
    CHECK(!t.module.kernels[0].takes_workspace);  // sums stay where they are
    if (c.multiplications > 0) CHECK(count_of(t.module.text, "_multiply(") == static_cast<std::size_t>(1 + c.multiplications));
    CHECK(count_of(t.module.text, "__syncthreads();") == 1);
    CHECK(count_of(t.module.text, c.multiplications > 0 ? "weft_wait_2();" : "weft_wait_1();") == 1);
    for (std::string const& architecture : gpus_of(t.module.text)) {
      cuda_binary const r = compile_cuda(t.module.text, architecture, {"--ptxas-options=-v"});
      INFO(architecture << r.log);
      CHECK(count_of(r.log, " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == 1);
      CHECK(r.ptx.find(".local") == std::string::npos);
      CHECK(count_of(r.ptx, "bar.sync") == 1);
      CHECK(count_of(r.ptx, "cp.async.cg.shared.global") > 0);
      CHECK(count_of(r.ptx, "cp.async.ca") == 0);
      int const registers = std::atoi(r.log.c_str() + r.log.find("Used ") + 5);
      // Of SGEMM with a residual ptxas spills 128 registers of sm_89, so that one block has 153; shared memory has room for one there anyway.
      bool const one_block = architecture == "sm_89" && c.multiplications == 0 && c.k.name == "layer_of_halves_4096";
      if (!one_block) CHECK(2 * threads * ((registers + 7) / 8 * 8) <= 65536);
      if (c.multiplications > 0 && c.k.name.find("layer") == std::string::npos) CHECK(count_of(r.ptx, "ld.global") == 0);
      if (c.k.name == "wide_product_4096") {  // of f16: what its loop has, from its barrier on
        std::size_t const begin = r.ptx.find("bar.sync"), end = r.ptx.find("bra", r.ptx.rfind("cp.async.cg"));
        REQUIRE(begin != std::string::npos);
        std::string const hot = r.ptx.substr(begin, end - begin);
        CHECK(count_of(hot, "mma.sync.aligned.m16n8k16") == 2 * 16 * 2);
        CHECK(count_of(hot, "ldmatrix.sync.aligned.m8n8.x4") == 2 * (4 + 4));
        CHECK(count_of(hot, "cp.async.cg.shared.global") == 4 + 4);
        CHECK(count_of(hot, "ld.global") + count_of(hot, "ld.local") + count_of(hot, "st.") == 0);
      }
      MESSAGE(c.k.name << " " << architecture << ": " << registers << " registers, " << t.module.kernels[0].shared_bytes << " bytes shared");
    }
  }
}
