// What a peer is asked to do: the border between weft-bench and the modules of the peers in with/.
//
// A module is a shared library that is loaded when `--peers` first needs it, so that none of them, nor what they load
// (Halide brings an LLVM of its own), is in the process of the other benchmarks. It is built by the same compiler, with
// flags of its own, and includes nothing of weft.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench::peers {

enum class task {
  matmul,           // C[m,n] = A[m,k] B[k,n]; a transposed one is stored the other way round; `batch` of them
  matvec,           // y[m] = A[m,k] x[k]
  matmul_relu,      // relu(A B + bias[n])
  matmul_gelu,      // gelu(A B + bias[n]), with erf
  matmul_u8s8s32,   // A of u8, B of s8, C of s32
  matmul_bf16,      // A and B of bf16, C of f32
  conv,             // n x h x w x c with kh x kw x c x o, or n x c x h x w with o x c x kh x kw
  depthwise,        // the same, with kh x kw x c, or c x kh x kw
  softmax,          // of m rows of n
  layernorm,        // of m rows of n, with weight[n] and bias[n], epsilon 1e-5
  bias_gelu,        // gelu(x[m,n] + bias[n]), with tanh
  exp,              // of m
  blur,             // 3 x 3 means: x[m+2,n+2] to y[m,n]
  transpose,        // x[m,n] to y[n,m]
  add, scale,       // x + y; 1.5 x; of m
  saxpy,            // y = 0.5 x + y in place, of m
  sum,              // of m, to 1
  copy,             // of m
  attention,        // softmax(Q K^T / sqrt(k)) V of `batch` heads: Q[m,k], K[n,k], V[n,k]
  chain,            // sum over j of square(relu((x[m,n] - u[n]) * v[n] + w[n])), to y[m]
  harris,           // image pipelines over x[m,n]: their stages stand in pipelines.cpp
  unsharp,
  local_laplacian,
  bilateral_grid,
  camera,
  laplacian_pyramid,  // of k images
};

/// An operation with its operands: dense and row-major, aligned to 64 bytes.
struct problem {
  task what = task::matmul;
  int threads = 1;
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
  bool channels_last = true;
  std::int64_t c = 0, h = 0, w = 0, o = 0, kernel = 1, stride = 1, padding = 0;  // of convolutions; batch is 1
  void const* in[4] = {};
  void* out = nullptr;

  float const* f32(int i) const { return static_cast<float const*>(in[i]); }
  float* result() const { return static_cast<float*>(out); }
  std::int64_t out_h() const { return (h + 2 * padding - kernel) / stride + 1; }
  std::int64_t out_w() const { return (w + 2 * padding - kernel) / stride + 1; }
};

/// What stood ready before the first run: compared with its like.
enum class weights { plain, packed };

/// One way in which a peer does it.
struct way {
  std::string name;
  std::function<void()> run;
  weights as = weights::plain;
};

}  // namespace bench::peers

// What a module defines. `ways` adds none for what the peer cannot do.
extern "C" {
/// "OpenBLAS 0.3.21 (SkylakeX)"
char const* weft_bench_peer_version();
void weft_bench_peer_ways(bench::peers::problem const& p, std::vector<bench::peers::way>& ways);
}
