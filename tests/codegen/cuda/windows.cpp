// Convolutions by rule, as products of gathered matrices: by the interpreter, by their text on the host, and by NVRTC.
#include "windows.hpp"

#include <cstdlib>

#include "faults.hpp"

using namespace weft;
using namespace weft_test;

namespace {
prepared_kernels& prepared() {
  static prepared_kernels all(ruled_windows());
  return all;
}
std::string told_of(gpu_kernel k) {
  sequence<std::string> told;
  by_rule_with_units(std::move(k), "told", true, &told);
  std::string all;
  for (std::string const& t : told) all += t + "\n";
  return all;
}
}  // namespace

TEST_CASE("ruled windows: products of what is gathered, narrow types by mma, and epilogues where the sums are") {
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    gpu_kernel const& k = prepared().kernels[i];
    INFO(k.name << "\n" << k.steps);
    REQUIRE(prepared().trials[i]->fault == "");
    bool const by_mma = k.name.find("mma") != std::string::npos, is_behind = k.name.find("behind") != std::string::npos;
    CHECK(k.steps.find(": im2col(") != std::string::npos);
    CHECK((k.steps.find("tensorize") != std::string::npos) == by_mma);
    CHECK((k.steps.find("reverse_compute_inline") != std::string::npos) == is_behind);
    CHECK(prepared().trials[i]->module.kernels.size() == (is_behind ? 1 : 2));
    if (k.name.find("wide") != std::string::npos) {
      std::string const& text = prepared().trials[i]->module.text;
      CHECK(count_of(text, "weft_copy_or_zero_16(&A_matrix[") > 0);
      CHECK(text.find(" A_matrix[") == std::string::npos);  // no thread stores there
    }
    if (is_behind) CHECK(!prepared().trials[i]->module.kernels[0].takes_workspace);  // no matrix of windows, and no sums, in memory
  }
}
TEST_CASE("ruled windows: sums of floats are taken in memory's order, or in their own where bits count") {
  auto const steps_of = [](std::int64_t padding, bool reassociate) {
    return by_rule_with_units(convolved<float, 2>({1, 8, 8, 8}, {3, 3, 8, 32}, last_channels(1, padding)), "order", reassociate).steps;
  };
  CHECK(steps_of(1, true).find("conv2d: im2col(1, 2, 0)\n") == 0);  // of c, di, dj
  CHECK(steps_of(0, false).find("conv2d: im2col()\n") == 0);
  CHECK(steps_of(1, false).find("im2col") == std::string::npos);  // what is left out would be zeros times a weight, NaN of one that is infinite
}
TEST_CASE("ruled windows: what is no implicit product, and why, is told") {
  CHECK(told_of(convolved<float, 2>({1, 8, 8, 8}, {3, 3, 8, 32}, last_channels(1, 1))) == "");
  CHECK(told_of(convolved<float, 2>({1, 20, 20, 32}, {3, 3, 16, 32}, last_channels(1, 1, 1, 2))) ==
        "conv2d: no implicit product: an axis moves both operands, as channels in groups do, or none, or more is done with their elements\n");
  CHECK(told_of(convolved<float, 2>({1, 8, 8, 8}, {3, 3, 8, 12}, last_channels(1, 1))) ==
        "conv2d: no implicit product: 64 x 12 sums of 72 terms are no tile of one (16 x 16 of 8)\n");
  CHECK(told_of(convolved<f16, 2>({1, 7, 5, 10}, {3, 3, 10, 19}, last_channels(1, 1), epilogue::relu)).find("relu is a launch of its own: tiles of ") !=
        std::string::npos);
}
TEST_CASE("ruled windows: in groups, and of few channels, the plain ways compute the same") {
  for (gpu_kernel k : {convolved<float, 2>({1, 6, 6, 8}, {3, 3, 4, 32}, last_channels(1, 1, 1, 2)), convolved<f16, 2>({2, 8, 5, 5}, {32, 2, 3, 3}, first_channels(1, 1, 4)),
                       convolved<float, 2>({1, 6, 6, 8}, {3, 3, 8, 6}, last_channels(1, 1), epilogue::relu)}) {
    k = by_rule_with_units(std::move(k), "plain");
    INFO(k.steps);
    CHECK(k.steps.find("im2col") == std::string::npos);
    gpu_trial t(k);
    REQUIRE(t.fault == "");
    CHECK(t.interpreted(3) == "");
  }
}
TEST_CASE("ruled windows: the interpreter finds no race and no read of nothing, and the results are right") { prepared().check_ruled_and_interpreted({1, 2}); }
TEST_CASE("ruled windows: the text on the host computes the same, and ldmatrix meets no bank twice") {
  ldmatrix_counts banks;
  prepared().check_on_host({0, 1, 77}, [&](cuda_on_host const& host) { banks.check(host); });
  CHECK((banks.all > 0 || !cuda_on_host::available()));
}
TEST_CASE("ruled windows: without any one of its barriers a kernel has a race") {
  if (is_sanitized) return;  // the interpreter over and over, which sees nothing new there
  auto const barriers = prepared().count_barriers();
  CHECK(barriers.all > 10);
  CHECK(barriers.needed == barriers.all);
}
TEST_CASE("ruled windows: a search has the numbers by the convolution's name, the rule's own first, and what it chooses computes the same") {
  unsigned seed = 50;
  int tried = 0, gathered = 0;
  for (gpu_kernel k : {convolved<f16, 2>({1, 8, 8, 8}, {3, 3, 8, 16}, last_channels(1, 1)), convolved<float, 2>({1, 7, 6, 4}, {3, 3, 4, 18}, last_channels())}) {
    program const expanded = expand(canonical(k.p), true);
    auto const chosen = [&](sequence<std::int32_t> const& choices, bool searched) {
      schedule s(expanded, [&](int t, int d) { return k.shapes[static_cast<std::size_t>(t)][static_cast<std::size_t>(d)]; }, {0, 16});
      s.choices = choices;
      rule_input in;
      in.strides.resize(expanded.tensors.size());
      in.dots = {&mma_f16};
      in.searched = searched;
      schedule_by_gpu_rule(s, in);
      return s;
    };
    schedule const first = chosen({}, true);
    CHECK(print_trace(first) == print_trace(chosen({}, false)));
    REQUIRE(first.knobs.size() > 5);
    CHECK(first.knobs[0].name.view() == "conv2d.im2col");
    CHECK(first.knobs[1].name.view().substr(0, 7) == "conv2d.");
    for (int round = 0; round < 5; ++round) {
      sequence<std::int32_t> choices;
      for (knob_info const& one : first.knobs) {
        seed = seed * 1664525u + 1013904223u;
        choices.push_back(static_cast<std::int32_t>((seed >> 16) % one.values.size()));
      }
      choices[0] = round == 4;
      k.steps = print_trace(chosen(choices, true));
      INFO(k.steps);
      CHECK((k.steps.find("im2col") == std::string::npos) == (round == 4));
      gpu_trial t(k);
      ++tried;
      if (!t.fault.empty()) continue;  // a search drops it
      CHECK(t.interpreted(1) == "");
      gathered += round < 4;
    }
  }
  MESSAGE(gathered << " of " << tried << " are products that can be taken");
  CHECK(gathered >= 4);
}
TEST_CASE("ruled windows: of any shape, drawn: no race, no read of nothing, and the results are right") {
  unsigned state = 50;
  auto const below = [&](std::int64_t low, std::int64_t high) {
    state = state * 1664525u + 1013904223u;
    return low + static_cast<std::int64_t>((state >> 16) % static_cast<unsigned>(high - low));
  };
  int gathered = 0, multiplied = 0, behind = 0;
  for (int round = 0; round < 16; ++round) {
    bool const whole = round % 4 == 1;  // tiles divide
    std::int64_t const images = below(1, 3), height = whole ? 8 : below(5, 10), width = whole ? 8 : below(5, 10), channels = below(1, 3) * below(1, 9);
    std::int64_t const filters = whole ? 32 : below(16, 34);
    std::int64_t const down = whole ? 3 : below(1, 4), across = whole ? 3 : below(1, 4), dilation = down < 3 && across < 3 ? below(1, 3) : 1;
    ops::conv_options<2> o{.stride = {below(1, 3), below(1, 3)}, .padding = {below(0, 2), below(0, 3)}, .dilation = {dilation, dilation}};
    if (whole) o = {.padding = {1, 1}};
    if (below(0, 3) > 0) o.layout = ops::layout::channels_last;
    bool const first = o.layout == ops::layout::channels_first;
    sequence<std::int64_t> const x = first ? sequence<std::int64_t>{images, channels, height, width} : sequence<std::int64_t>{images, height, width, channels};
    sequence<std::int64_t> const w = first ? sequence<std::int64_t>{filters, channels, down, across} : sequence<std::int64_t>{down, across, channels, filters};
    epilogue const last = round % 2 == 0 ? epilogue::none : epilogue::relu;
    gpu_kernel const k = by_rule_with_units(round % 4 == 0   ? convolved<float, 2>(x, w, o, last)
                                            : round % 4 == 3 ? convolved<std::int8_t, 2>(x, w, o)
                                                             : convolved<f16, 2>(x, w, o, last),
                                            "drawn");
    INFO("round " << round << (first ? ", channels first: " : ": ") << images << " x " << height << " x " << width << " x " << channels << ", " << filters << " of "
                  << down << " x " << across << "\n" << k.steps);
    gpu_trial t(k);
    REQUIRE(t.fault == "");
    gathered += k.steps.find("im2col") != std::string::npos;
    multiplied += k.steps.find("tensorize") != std::string::npos;
    behind += k.steps.find("reverse_compute_inline") != std::string::npos;
    CHECK(t.interpreted(static_cast<std::uint64_t>(round)) == "");
  }
  MESSAGE(gathered << " products, " << multiplied << " on matrix units, of " << behind << " what becomes of sums behind them");
  CHECK(gathered >= 10);
  CHECK(multiplied >= 4);
  CHECK(behind >= 1);
}
TEST_CASE("ruled windows: NVRTC compiles all, without spills or arrays in local memory") {
  prepared().check_compiled([](cuda_binary const&, std::string const&) {});
}
TEST_CASE("ruled windows: no kernel lacks a proof") { prepared().check_proved(); }
TEST_CASE("ruled windows: of large images copies of 16 bytes run ahead, one barrier for each tile of terms, and nothing spills") {
  struct {
    std::string what;
    gpu_kernel k;
    bool wide, everywhere;  // copies of 16 bytes of the image; compiled for all GPUs
  } const cases[] = {
      {"f16 3x3, 64 x 14 x 14 x 256", convolved<f16, 2>({64, 14, 14, 256}, {3, 3, 256, 256}, last_channels(1, 1), epilogue::rounded), true, true},
      {"f16 1x1, 16 x 28 x 28 x 512", convolved<f16, 2>({16, 28, 28, 512}, {1, 1, 512, 128}, last_channels(), epilogue::rounded), true, false},
      {"f16 7x7 / 2, 16 x 224 x 224 x 3", convolved<f16, 2>({16, 224, 224, 3}, {7, 7, 3, 64}, last_channels(2, 3), epilogue::rounded), false, true},
      {"f32 3x3, 16 x 56 x 56 x 64", convolved<float, 2>({16, 56, 56, 64}, {3, 3, 64, 64}, last_channels(1, 1), epilogue::relu), true, false},
      {"f16 3x3 first, 16 x 256 x 14 x 14", convolved<f16, 2>({16, 256, 14, 14}, {256, 256, 3, 3}, first_channels(1, 1), epilogue::rounded), false, false}};
  for (auto const& c : cases) {
    gpu_kernel const k = by_rule_with_units(c.k, "large");
    INFO(c.what << "\n" << k.steps);
    gpu_trial const t(k, {}, gpu_trial::text_only);
    REQUIRE(t.fault == "");
    REQUIRE(t.module.kernels.size() == 1);
    CHECK(!t.module.kernels[0].takes_workspace);
    CHECK(count_of(t.module.text, "__syncthreads();") == 1);  // for a tile of terms
    if (!nvrtc_is_asked()) continue;
    for (std::string const& architecture : gpus_of(t.module.text)) {
      if (architecture != "sm_90" && !c.everywhere) continue;
      cuda_binary const r = compile_cuda(t.module.text, architecture, {"--ptxas-options=-v"});
      INFO(architecture << r.log);
      CHECK(count_of(r.log, " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == 1);
      CHECK(r.ptx.find(".local") == std::string::npos);
      if (c.wide) CHECK(count_of(r.ptx, "cp.async.cg.shared.global") > 0);
      if (c.wide) CHECK(count_of(r.ptx, "cp.async.ca") == 0);
      CHECK((count_of(r.ptx, "mma.sync") > 0) == (k.steps.find("tensorize") != std::string::npos));
      MESSAGE(c.what << " " << architecture << ": " << std::atoi(r.log.c_str() + r.log.find("Used ") + 5) << " registers, "
                     << t.module.kernels[0].shared_bytes << " bytes shared, " << t.module.kernels[0].threads[0] * t.module.kernels[0].threads[1] << " threads");
    }
  }
}
