// Kernels for a GPU under the schedules that the rule writes.
#pragma once

#include "codegen/cuda/computations.hpp"
#include "weft/schedule/rules/gpu.hpp"

namespace weft_test {

/// `k` with the steps of the rule.
inline gpu_kernel by_rule(gpu_kernel k, char const* what, bool reassociate = true) {
  k.name += std::string("_") + what;
  program const expanded = expand(canonical(k.p), true);
  schedule s(expanded, [&](int t, int d) { return k.shapes[static_cast<std::size_t>(t)][static_cast<std::size_t>(d)]; }, {0, 16});
  rule_input in;
  in.reassociate = reassociate;
  in.strides.resize(expanded.tensors.size());
  schedule_by_gpu_rule(s, in);
  k.steps = print_trace(s);
  return k;
}
template <class T>
inline gpu_kernel batched(std::int64_t batch, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"batched"};
  auto const a = k.input<T, 3>({batch, rows, depth});
  auto const b = k.input<T, 3>({batch, depth, columns});
  return k.out(compute<"C">(a.extent(0), a.extent(1), b.extent(2), [=](auto n, auto i, auto j) {
    return sum(a.extent(2), [=](auto l) { return a(n, i, l) * b(n, l, j); });
  }));
}
/// C = op(A) op(B), and what becomes of it.
inline gpu_kernel turned_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool turn_a, bool turn_b) {
  gpu_kernel k{"turned"};
  auto const a = turn_a ? k.input<float, 2>({depth, rows}) : k.input<float, 2>({rows, depth});
  auto const b = turn_b ? k.input<float, 2>({columns, depth}) : k.input<float, 2>({depth, columns});
  auto const m = a.extent(turn_a ? 1 : 0), n = b.extent(turn_b ? 0 : 1), d = a.extent(turn_a ? 0 : 1);
  return k.out(compute<"C">(m, n, [=](auto i, auto j) {
    return sum(d, [=](auto l) { return (turn_a ? a(l, i) : a(i, l)) * (turn_b ? b(j, l) : b(l, j)); });
  }));
}
inline gpu_kernel layer(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"layer"};
  auto const a = k.input<float, 2>({rows, depth});
  auto const b = k.input<float, 2>({depth, columns});
  auto const c = k.input<float, 1>({columns});
  auto const p = compute<"P">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return sum(a.extent(1), [=](auto l) { return a(i, l) * b(l, j); });
  });
  return k.out(compute<"out">(a.extent(0), b.extent(1), [=](auto i, auto j) { return max(p(i, j) + c(j), 0.0f); }));
}
inline gpu_kernel conv(std::int64_t images, std::int64_t channels, std::int64_t size, std::int64_t filters) {
  gpu_kernel k{"conv"};
  auto const x = k.input<float, 4>({images, channels, size, size});
  auto const w = k.input<float, 4>({filters, channels, 3, 3});
  return k.out(compute<"out">(x.extent(0), w.extent(0), x.extent(2) - 2, x.extent(3) - 2, [=](auto n, auto f, auto i, auto j) {
    return sum(x.extent(1), 3, 3, [=](auto c, auto di, auto dj) { return x(n, c, i + di, j + dj) * w(f, c, di, dj); });
  }));
}
inline gpu_kernel conv_last(std::int64_t images, std::int64_t size, std::int64_t channels, std::int64_t filters) {
  gpu_kernel k{"conv_last"};
  auto const x = k.input<float, 4>({images, size, size, channels});
  auto const w = k.input<float, 4>({3, 3, channels, filters});
  return k.out(compute<"out">(x.extent(0), x.extent(1) - 2, x.extent(2) - 2, w.extent(3), [=](auto n, auto i, auto j, auto f) {
    return sum(3, 3, x.extent(3), [=](auto di, auto dj, auto c) { return x(n, i + di, j + dj, c) * w(di, dj, c, f); });
  }));
}
template <class T>
inline gpu_kernel column_sums(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"column_sums"};
  auto const x = k.input<T, 2>({rows, columns});
  return k.out(compute<"R">(x.extent(1), [=](auto j) { return sum(x.extent(0), [=](auto l) { return x(l, j); }); }));
}
inline gpu_kernel matrix_vector(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"matrix_vector"};
  auto const a = k.input<float, 2>({rows, columns});
  auto const x = k.input<float, 1>({columns});
  return k.out(compute<"y">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto l) { return a(i, l) * x(l); }); }));
}
inline gpu_kernel biased(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"biased"};
  auto const x = k.input<float, 2>({rows, columns});
  auto const b = k.input<float, 1>({columns});
  return k.out(compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * 2.0f + b(j); }));
}
inline gpu_kernel best_of_rows(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"best"};
  auto const x = k.input<float, 2>({rows, columns});
  return k.out(compute<"R">(x.extent(0), [=](auto i) { return argmax(x.extent(1), [=](auto l) { return x(i, l); }); }));
}
inline gpu_kernel turned_cube(std::int64_t a, std::int64_t b, std::int64_t c) {
  gpu_kernel k{"cube"};
  auto const x = k.input<float, 3>({a, b, c});
  return k.out(compute<"out">(x.extent(0), x.extent(2), x.extent(1), [=](auto i, auto j, auto l) { return x(i, l, j); }));
}

/// Kernels under the rule for GPUs.
inline std::vector<gpu_kernel> ruled() {
  std::vector<gpu_kernel> all;
  auto const add = [&](gpu_kernel k, char const* what) { all.push_back(by_rule(std::move(k), what)); };
  add(scaled<float>(64, 96), "rows");
  add(scaled<float>(7, 50), "tail");
  add(scaled<float>(33, 37), "odd");
  add(scaled<float>(640, 1), "column");
  add(scaled<f16>(40, 64), "f16");
  add(scaled<std::int8_t>(40, 64), "i8");
  add(scaled<double>(9, 30), "f64");
  add(biased(40, 64), "wide");
  add(biased(5, 1000), "long");
  add(biased(40, 37), "odd");
  add(two_stages<float>(9, 33), "inlined");
  add(transposed<float>(64, 96), "whole");
  add(transposed<float>(70, 45), "tail");
  add(transposed<std::uint16_t>(64, 33), "u16");
  add(turned_cube(3, 40, 36), "cube");
  add(stencil<float>(34, 50), "3x3");
  add(product<float>(64, 96, 32), "small");
  add(product<float>(256, 256, 40), "tiles");
  add(product<float>(70, 90, 50), "tail");
  add(product<float>(130, 33, 21), "odd");
  add(product<double>(64, 64, 24), "f64");
  add(product<f16, float>(64, 64, 32), "f16");
  add(product<std::int8_t, std::int32_t>(64, 64, 32), "i8");
  add(turned_product(64, 96, 32, true, false), "a");
  add(turned_product(64, 96, 32, false, true), "b");
  add(turned_product(64, 96, 32, true, true), "both");
  add(batched<float>(3, 33, 40, 20), "three");
  add(layer(48, 64, 32), "relu");
  add(conv(2, 6, 20, 18), "first");
  add(conv_last(2, 18, 6, 20), "last");
  add(row_sums<float>(9, 100), "short");
  add(row_sums<float>(9, 4096), "long");
  add(row_sums<float>(9, 3001), "odd");
  add(row_sums<f16>(20, 256), "f16");
  add(row_sums<std::int32_t>(3, 20000), "pieces");
  add(whole_sum<float>(100000), "all");
  add(whole_sum<std::int32_t>(50001), "odd");
  add(row_maxima<float>(30, 500), "top");
  add(column_sums<float>(300, 40), "few");
  add(column_sums<float>(40, 300), "many");
  add(matrix_vector(40, 512), "rows");
  add(softmax_rows(9, 256), "short");
  add(softmax_rows(5, 2048), "long");
  add(softmax_rows(5, 177), "odd");
  add(softmax_rows(2, 16384), "shared");
  add(softmax_rows(2, 25000), "again");
  add(layernorm_rows(9, 512), "short");
  add(layernorm_rows(3, 4096), "long");
  add(layernorm_rows(3, 1999), "odd");
  add(softmax_back_rows(3, 4096), "two_copied");
  add(best_of_rows(9, 100), "argmax");
  return all;
}

}  // namespace weft_test
