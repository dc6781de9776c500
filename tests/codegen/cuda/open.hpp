// Kernels for a GPU whose sizes stay open, with the calls that they serve.
#pragma once

#include "codegen/cuda/ruled.hpp"
#include "codegen/cuda/scheduled.hpp"

namespace weft_test {

struct sizes_of_a_call {
  std::int64_t m = 1, n = 1, k = 1;
};
/// What is computed for sizes m, n, k, and which extents of its inputs are named by them: "m", "n", "k", or "." for a number.
struct open_case {
  char const* name;
  gpu_kernel (*make)(sizes_of_a_call const&);
  std::vector<char const*> names;      // by input, a letter for each dimension
  std::vector<sizes_of_a_call> calls;  // the first one is what the rule plans for, of which there is the text alone
  bool multiples = false;              // 16 divides all of them, and the code counts on it
  std::string steps{};                 // empty: by rule
};
inline gpu_kernel open_kernel(open_case const& c, sizes_of_a_call const& call) {
  gpu_kernel k = c.make(call);
  k.name = std::string("open_") + c.name;
  for (char const* text : c.names) {
    sequence<std::int64_t> codes;
    for (std::string const all = text; char letter : all) codes.push_back(letter == '.' ? 0 : -2 - letter);
    k.names.push_back(codes);
  }
  auto const first = [&](char letter) { return letter == 'm' ? c.calls[0].m : letter == 'n' ? c.calls[0].n : c.calls[0].k; };
  for (char letter : {'m', 'n', 'k'}) {
    std::int64_t const size = first(letter) < 64 ? 64 : first(letter);
    k.ranges.push_back({-2 - letter, 1, std::int64_t(1) << 40, c.multiples ? 4 : 0, c.multiples ? size : size | 1});
  }
  k.steps = c.steps;
  if (!c.steps.empty()) return k;
  program const expanded = expand(canonical(k.p), true);
  schedule s(expanded, [&](int t, int d) { return gpu_trial::extent_of(k, t, d); }, {0, 16});
  rule_input in;
  in.strides.resize(expanded.tensors.size());
  for (std::size_t t = 0; t < k.shapes.size(); ++t) {
    sequence<std::int64_t> likely;
    for (std::size_t d = 0; d < k.shapes[t].size(); ++d) {
      likely.push_back(k.shapes[t][d]);
      for (open_range const& r : k.ranges)
        if (r.name == k.names[t][d]) likely.back() = r.likely;
    }
    in.likely.push_back(likely);
  }
  in.likely.resize(expanded.tensors.size());
  schedule_by_gpu_rule(s, in);
  k.steps = print_trace(s);
  return k;
}
inline std::vector<open_case> const& open_cases() {
  using call = sizes_of_a_call;
  static std::vector<open_case> const all = {
      {"tiled", [](call const& c) { return product<float>(c.m, c.n, c.k); }, {"mk", "kn"},
       {{64, 64, 64}, {20, 33, 18}, {1, 1, 1}, {16, 40, 5}}, false, tiled(16, 16, 8, 2, 2, copies(8, 8))},
      {"scaled", [](call const& c) { return scaled<float>(c.m, c.n); }, {"mn"}, {{330, 370}, {1, 1}, {7, 300}, {20, 37}, {100, 3}}},
      {"scaled_16", [](call const& c) { return scaled<float>(c.m, c.n); }, {"mn"}, {{64, 64}, {16, 16}, {16, 304}, {48, 16}}, true},
      {"scaled_f16", [](call const& c) { return scaled<f16>(c.m, c.n); }, {"mn"}, {{64, 64}, {16, 48}, {48, 16}}, true},
      {"rows_open", [](call const& c) { return biased(c.m, 40); }, {"m.", "."}, {{1000}, {1}, {33}}},
      {"two_stages", [](call const& c) { return two_stages<float>(c.m, c.n); }, {"mn"}, {{90, 330}, {1, 2}, {20, 40}}},
      {"transposed", [](call const& c) { return transposed<float>(c.m, c.n); }, {"mn"}, {{64, 96}, {1, 1}, {33, 50}, {40, 5}}},
      {"stencil", [](call const& c) { return stencil<float>(c.m, c.n); }, {"mn"}, {{340, 500}, {3, 3}, {10, 35}}},
      {"product", [](call const& c) { return product<float>(c.m, c.n, c.k); }, {"mk", "kn"},
       {{1024, 1024, 1024}, {1, 1, 1}, {40, 140, 20}, {130, 33, 21}}},
      {"product_16", [](call const& c) { return product<float>(c.m, c.n, c.k); }, {"mk", "kn"}, {{1024, 1024, 1024}, {16, 16, 16}, {48, 144, 32}}, true},
      {"product_rows", [](call const& c) { return product<float>(c.m, 64, 32); }, {"m.", ".."}, {{128}, {1}, {35}}},
      {"product_f16", [](call const& c) { return product<f16, float>(c.m, c.n, c.k); }, {"mk", "kn"}, {{64, 64, 32}, {33, 40, 20}}},
      {"layer", [](call const& c) { return layer(c.m, c.n, c.k); }, {"mk", "kn", "n"}, {{128, 64, 32}, {1, 1, 1}, {35, 40, 17}}},
      {"batched", [](call const& c) { return batched<float>(c.m, 33, c.n, c.k); }, {"m.k", "mkn"}, {{3, 64, 32}, {1, 1, 1}, {2, 40, 17}}},
      {"conv", [](call const& c) { return conv(c.m, 2, 5, c.n); }, {"m...", "n..."}, {{64, 64}, {1, 1}, {2, 17}}},
      {"row_sums", [](call const& c) { return row_sums<float>(c.m, c.n); }, {"mn"}, {{100, 1000}, {1, 1}, {9, 300}, {11, 33}}},
      {"row_sums_16", [](call const& c) { return row_sums<float>(c.m, c.n); }, {"mn"}, {{64, 1024}, {16, 16}, {16, 272}}, true},
      {"whole_sum", [](call const& c) { return whole_sum<float>(c.n); }, {"n"}, {{1, 1000000}, {1, 1}, {1, 5000}}},
      {"row_maxima", [](call const& c) { return row_maxima<float>(c.m, c.n); }, {"mn"}, {{30, 500}, {1, 1}, {20, 33}}},
      {"column_sums", [](call const& c) { return column_sums<float>(c.m, c.n); }, {"mn"}, {{300, 40}, {1, 1}, {40, 50}}},
      {"softmax", [](call const& c) { return softmax_rows(c.m, c.n); }, {"mn"}, {{64, 256}, {1, 1}, {5, 177}}},
      {"softmax_rows", [](call const& c) { return softmax_rows(c.m, 256); }, {"m."}, {{64}, {1}, {9}}},
      {"layernorm_rows", [](call const& c) { return layernorm_rows(c.m, 512); }, {"m."}, {{64}, {1}, {9}}},
  };
  return all;
}
/// All calls of all cases, each with a trial of its own.
struct open_trials {
  std::vector<std::unique_ptr<gpu_kernel>> kernels;
  std::vector<std::unique_ptr<gpu_trial>> trials;
  std::vector<bool> planned;  // for these sizes, and not run
  std::string text, differing;
  sequence<std::string> known;
  open_trials() {
    for (open_case const& c : open_cases()) {
      sequence<std::string> const before = known;
      std::string its;
      for (sizes_of_a_call const& sizes : c.calls) {
        kernels.push_back(std::make_unique<gpu_kernel>(open_kernel(c, c.calls[0])));
        gpu_kernel const as_called = c.make(sizes);
        kernels.back()->p = as_called.p, kernels.back()->shapes = as_called.shapes, kernels.back()->tolerance = as_called.tolerance;
        trials.push_back(std::make_unique<gpu_trial>(*kernels.back(), before, &sizes == &c.calls[0] ? gpu_trial::text_only : gpu_trial::evaluated));
        planned.push_back(&sizes == &c.calls[0]);
        gpu_trial const& t = *trials.back();
        if (!t.fault.empty()) continue;
        if (its.empty()) its = t.module.text, known = t.module.called;
        if (t.module.text != its) differing += std::string(c.name) + " ";
      }
      text += its;
    }
  }
};

}  // namespace weft_test
