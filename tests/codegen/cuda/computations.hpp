// What the kernels of the corpus, and of the rules for GPUs, compute.
#pragma once

#include "codegen/cuda/corpus.hpp"
#include "weft/expr/math/functions.hpp"

namespace weft_test {
using namespace weft;

template <class T>
gpu_kernel scaled(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"scaled"};
  auto const x = k.input<T, 2>({rows, columns});
  return k.out(compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return cast<T>(x(i, j) * x(i, j) + x(i, j)); }));
}
template <class T>
gpu_kernel transposed(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"transposed"};
  auto const x = k.input<T, 2>({rows, columns});
  return k.out(compute<"out">(x.extent(1), x.extent(0), [=](auto i, auto j) { return x(j, i); }));
}
template <class T, class Sum = T>
gpu_kernel product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"product"};
  auto const a = k.input<T, 2>({rows, depth});
  auto const b = k.input<T, 2>({depth, columns});
  return k.out(compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return sum(a.extent(1), [=](auto l) { return cast<Sum>(a(i, l)) * cast<Sum>(b(l, j)); });
  }));
}
template <class T>
gpu_kernel row_sums(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"row_sums"};
  auto const x = k.input<T, 2>({rows, columns});
  return k.out(compute<"R">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto l) { return x(i, l); }); }));
}
template <class T>
gpu_kernel row_maxima(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"row_maxima"};
  auto const x = k.input<T, 2>({rows, columns});
  return k.out(compute<"R">(x.extent(0), [=](auto i) { return max(x.extent(1), [=](auto l) { return x(i, l); }); }));
}
template <class T>
gpu_kernel whole_sum(std::int64_t n) {
  gpu_kernel k{"whole_sum"};
  auto const x = k.input<T, 1>({n});
  return k.out(compute<"R">(1, [=](auto) { return sum(x.extent(0), [=](auto l) { return x(l); }); }));
}
inline gpu_kernel softmax_rows(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"softmax_rows"};
  auto const x = k.input<float, 2>({rows, columns});
  k.tolerance = 1e-6;
  auto const top = compute<"top">(x.extent(0), [=](auto i) { return max(x.extent(1), [=](auto l) { return x(i, l); }); });
  auto const e = compute<"e">(x.extent(0), x.extent(1), [=](auto i, auto j) { return exp(x(i, j) - top(i)); });
  auto const total = compute<"total">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto l) { return e(i, l); }); });
  return k.out(compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return e(i, j) / total(i); }));
}
/// What comes back through a softmax: two tensors whose rows two stages read.
inline gpu_kernel softmax_back_rows(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"softmax_back_rows"};
  auto const y = k.input<float, 2>({rows, columns});
  auto const d = k.input<float, 2>({rows, columns});
  k.tolerance = static_cast<double>(columns) * 0x1p-22;
  auto const both = compute<"both">(y.extent(0), [=](auto i) { return sum(y.extent(1), [=](auto l) { return y(i, l) * d(i, l); }); });
  return k.out(compute<"out">(y.extent(0), y.extent(1), [=](auto i, auto j) { return y(i, j) * (d(i, j) - both(i)); }));
}
inline gpu_kernel layernorm_rows(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"layernorm_rows"};
  auto const x = k.input<float, 2>({rows, columns});
  k.tolerance = static_cast<double>(columns) * 0x1p-24 + 1e-5;  // of a sum of so many positive terms in any order
  auto const n = static_cast<float>(columns);
  auto const mean = compute<"mean">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto l) { return x(i, l) / n; }); });
  auto const spread = compute<"spread">(x.extent(0), [=](auto i) {
    return sum(x.extent(1), [=](auto l) { return (x(i, l) - mean(i)) * (x(i, l) - mean(i)) / n; });
  });
  return k.out(compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) {
    return (x(i, j) - mean(i)) / sqrt(spread(i) + 1e-5f);
  }));
}
template <class T>
gpu_kernel stencil(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"stencil"};
  auto const x = k.input<T, 2>({rows, columns});
  return k.out(compute<"out">(x.extent(0) - 2, x.extent(1) - 2, [=](auto i, auto j) {
    return sum(3, 3, [=](auto di, auto dj) { return x(i + di, j + dj); });
  }));
}
/// row[i, j] = x[i, j] + x[i, j + 1], out = row * row
template <class T>
gpu_kernel two_stages(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"two_stages"};
  auto const x = k.input<T, 2>({rows, columns});
  auto const row = compute<"row">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return x(i, j) + x(i, j + 1); });
  return k.out(compute<"out">(row.extent(0), row.extent(1), [=](auto i, auto j) { return row(i, j) * row(i, j); }));
}
/// Three rows, one of the other, each shorter by one: sums of neighbours.
template <class T>
gpu_kernel chain_of_rows(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"chain_of_rows"};
  auto const x = k.input<T, 2>({rows, columns});
  auto const a = compute<"a">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return x(i, j) + x(i, j + 1); });
  auto const b = compute<"b">(x.extent(0), x.extent(1) - 2, [=](auto i, auto j) { return a(i, j) + a(i, j + 1); });
  auto const c = compute<"c">(x.extent(0), x.extent(1) - 3, [=](auto i, auto j) { return b(i, j) + b(i, j + 1); });
  return k.out(compute<"out">(x.extent(0), x.extent(1) - 4, [=](auto i, auto j) { return c(i, j) + c(i, j + 1); }));
}
/// A product, of which rows are read backwards: another thread's.
inline gpu_kernel product_turned(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"product_turned"};
  auto const a = k.input<float, 2>({rows, depth});
  auto const b = k.input<float, 2>({depth, columns});
  auto const s = compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return sum(a.extent(1), [=](auto l) { return a(i, l) * b(l, j); });
  });
  return k.out(compute<"out">(s.extent(1), s.extent(0), [=](auto j, auto i) { return s(i, j) * 0.5f; }));
}

}  // namespace weft_test
