// Loops as one writes them down, compiled by g++ -O3 -march=native -ffast-math, shared out by OpenMP.
#include <algorithm>
#include <cmath>
#include <vector>

#include "../problem.hpp"

namespace bench::peers {
namespace {
using std::int64_t;

void product(problem const& p) {
  for (int64_t q = 0; q < p.batch; ++q) {
    float const *const a = p.f32(0) + q * p.m * p.k, *const b = p.f32(1) + q * p.k * p.n;
    float* const c = p.result() + q * p.m * p.n;
#pragma omp parallel for num_threads(p.threads)
    for (int64_t i = 0; i < p.m; ++i) {
      float* const __restrict row = c + i * p.n;
      if (p.transpose_b) {
        for (int64_t j = 0; j < p.n; ++j) {
          float sum = 0;
          for (int64_t k = 0; k < p.k; ++k) sum += a[i * p.k + k] * b[j * p.k + k];
          row[j] = sum;
        }
        continue;
      }
      for (int64_t j = 0; j < p.n; ++j) row[j] = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        float const factor = p.transpose_a ? a[k * p.m + i] : a[i * p.k + k];
        for (int64_t j = 0; j < p.n; ++j) row[j] += factor * b[k * p.n + j];
      }
    }
  }
}
void by_vector(problem const& p) {
  float const *const a = p.f32(0), *const x = p.f32(1);
#pragma omp parallel for num_threads(p.threads)
  for (int64_t i = 0; i < p.m; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < p.k; ++k) sum += a[i * p.k + k] * x[k];
    p.result()[i] = sum;
  }
}
void then_relu(problem const& p) {
  product(p);
#pragma omp parallel for num_threads(p.threads)
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) p.result()[i * p.n + j] = std::max(p.result()[i * p.n + j] + p.f32(2)[j], 0.f);
}
void of_bytes(problem const& p) {
  auto const* const a = static_cast<std::uint8_t const*>(p.in[0]);
  auto const* const b = static_cast<std::int8_t const*>(p.in[1]);
#pragma omp parallel for num_threads(p.threads)
  for (int64_t i = 0; i < p.m; ++i) {
    std::int32_t* const __restrict row = static_cast<std::int32_t*>(p.out) + i * p.n;
    for (int64_t j = 0; j < p.n; ++j) row[j] = 0;
    for (int64_t k = 0; k < p.k; ++k)
      for (int64_t j = 0; j < p.n; ++j) row[j] += a[i * p.k + k] * b[k * p.n + j];
  }
}

void convolution(problem const& p) {
  int64_t const rows = p.out_h(), columns = p.out_w();
#pragma omp parallel for num_threads(p.threads)
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x) {
      float* const __restrict to = p.result() + (y * columns + x) * p.o;
      for (int64_t o = 0; o < p.o; ++o) to[o] = 0;
      for (int64_t i = 0; i < p.kernel; ++i)
        for (int64_t j = 0; j < p.kernel; ++j) {
          int64_t const r = y * p.stride + i - p.padding, s = x * p.stride + j - p.padding;
          if (r < 0 || r >= p.h || s < 0 || s >= p.w) continue;
          for (int64_t c = 0; c < p.c; ++c) {
            float const factor = p.f32(0)[(r * p.w + s) * p.c + c];
            float const* const w = p.f32(1) + ((i * p.kernel + j) * p.c + c) * p.o;
            for (int64_t o = 0; o < p.o; ++o) to[o] += factor * w[o];
          }
        }
    }
}
void by_channel(problem const& p) {
  int64_t const rows = p.out_h(), columns = p.out_w();
#pragma omp parallel for num_threads(p.threads)
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x) {
      float* const __restrict to = p.result() + (y * columns + x) * p.c;
      for (int64_t c = 0; c < p.c; ++c) to[c] = 0;
      for (int64_t i = 0; i < p.kernel; ++i)
        for (int64_t j = 0; j < p.kernel; ++j) {
          int64_t const r = y * p.stride + i - p.padding, s = x * p.stride + j - p.padding;
          if (r < 0 || r >= p.h || s < 0 || s >= p.w) continue;
          float const *const from = p.f32(0) + (r * p.w + s) * p.c, *const w = p.f32(1) + (i * p.kernel + j) * p.c;
          for (int64_t c = 0; c < p.c; ++c) to[c] += from[c] * w[c];
        }
    }
}

void softmax(problem const& p) {
#pragma omp parallel for num_threads(p.threads)
  for (int64_t i = 0; i < p.m; ++i) {
    float const* const x = p.f32(0) + i * p.n;
    float* const __restrict y = p.result() + i * p.n;
    float top = x[0], total = 0;
    for (int64_t j = 0; j < p.n; ++j) top = std::max(top, x[j]);
    for (int64_t j = 0; j < p.n; ++j) total += y[j] = std::exp(x[j] - top);
    float const scale = 1 / total;
    for (int64_t j = 0; j < p.n; ++j) y[j] *= scale;
  }
}
void layernorm(problem const& p) {
  float const *const weight = p.f32(1), *const bias = p.f32(2);
#pragma omp parallel for num_threads(p.threads)
  for (int64_t i = 0; i < p.m; ++i) {
    float const* const x = p.f32(0) + i * p.n;
    float* const __restrict y = p.result() + i * p.n;
    float mean = 0, variance = 0;
    for (int64_t j = 0; j < p.n; ++j) mean += x[j];
    mean /= static_cast<float>(p.n);
    for (int64_t j = 0; j < p.n; ++j) variance += (x[j] - mean) * (x[j] - mean);
    float const scale = 1 / std::sqrt(variance / static_cast<float>(p.n) + 1e-5f);
    for (int64_t j = 0; j < p.n; ++j) y[j] = (x[j] - mean) * scale * weight[j] + bias[j];
  }
}
void bias_gelu(problem const& p) {
#pragma omp parallel for num_threads(p.threads)
  for (int64_t i = 0; i < p.m; ++i) {
    float* const __restrict y = p.result() + i * p.n;
    for (int64_t j = 0; j < p.n; ++j) {
      float const x = p.f32(0)[i * p.n + j] + p.f32(1)[j];
      y[j] = 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
    }
  }
}
void chain(problem const& p) {
  float const *const u = p.f32(1), *const v = p.f32(2), *const w = p.f32(3);
#pragma omp parallel for num_threads(p.threads)
  for (int64_t i = 0; i < p.m; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < p.n; ++j) {
      float const t = std::max((p.f32(0)[i * p.n + j] - u[j]) * v[j] + w[j], 0.f);
      sum += t * t;
    }
    p.result()[i] = sum;
  }
}
void blur(problem const& p) {
  int64_t const pitch = p.n + 2;
#pragma omp parallel for num_threads(p.threads)
  for (int64_t i = 0; i < p.m; ++i) {
    float const* const x = p.f32(0) + i * pitch;
    float* const __restrict y = p.result() + i * p.n;
    for (int64_t j = 0; j < p.n; ++j)
      y[j] = (x[j] + x[j + 1] + x[j + 2] + x[j + pitch] + x[j + pitch + 1] + x[j + pitch + 2] + x[j + 2 * pitch] +
              x[j + 2 * pitch + 1] + x[j + 2 * pitch + 2]) *
             (1.f / 9);
  }
}
void transposed(problem const& p) {
  constexpr int64_t tile = 16;
#pragma omp parallel for num_threads(p.threads)
  for (int64_t jo = 0; jo < p.n; jo += tile)
    for (int64_t io = 0; io < p.m; io += tile)
      for (int64_t j = jo; j < std::min(jo + tile, p.n); ++j)
        for (int64_t i = io; i < std::min(io + tile, p.m); ++i) p.result()[j * p.m + i] = p.f32(0)[i * p.n + j];
}

/// f(i) for all i, each of which writes one element.
template <class F>
void each(problem const& p, F const& f) {
  float* const __restrict y = p.result();
  int64_t const count = p.m;
#pragma omp parallel for simd num_threads(p.threads)
  for (int64_t i = 0; i < count; ++i) y[i] = f(i, y);
}
void exponential(problem const& p) {
  each(p, [x = p.f32(0)](int64_t i, float*) { return std::exp(x[i]); });
}
void add(problem const& p) {
  each(p, [x = p.f32(0), z = p.f32(1)](int64_t i, float*) { return x[i] + z[i]; });
}
void scale(problem const& p) {
  each(p, [x = p.f32(0)](int64_t i, float*) { return 1.5f * x[i]; });
}
void saxpy(problem const& p) {
  each(p, [x = p.f32(0)](int64_t i, float const* y) { return 0.5f * x[i] + y[i]; });
}
void copy(problem const& p) {
  each(p, [x = p.f32(0)](int64_t i, float*) { return x[i]; });
}
void sum(problem const& p) {
  float total = 0;
  float const* const x = p.f32(0);
#pragma omp parallel for simd num_threads(p.threads) reduction(+ : total)
  for (int64_t i = 0; i < p.m; ++i) total += x[i];
  p.result()[0] = total;
}

void (*routine(problem const& p))(problem const&) {
  switch (p.what) {
    case task::matmul: return product;
    case task::matvec: return by_vector;
    case task::matmul_relu: return then_relu;
    case task::matmul_u8s8s32: return of_bytes;
    case task::conv: return p.channels_last ? convolution : nullptr;
    case task::depthwise: return p.channels_last ? by_channel : nullptr;
    case task::softmax: return softmax;
    case task::layernorm: return layernorm;
    case task::bias_gelu: return bias_gelu;
    case task::chain: return chain;
    case task::blur: return blur;
    case task::transpose: return transposed;
    case task::exp: return exponential;
    case task::add: return add;
    case task::scale: return scale;
    case task::saxpy: return saxpy;
    case task::copy: return copy;
    case task::sum: return sum;
    default: return nullptr;
  }
}
}  // namespace
}  // namespace bench::peers

char const* weft_bench_peer_version() { return "g++ " __VERSION__; }
void weft_bench_peer_ways(bench::peers::problem const& p, std::vector<bench::peers::way>& ways) {
  if (auto* const run = bench::peers::routine(p)) ways.push_back({"g++ loops", [p, run] { run(p); }});
}
