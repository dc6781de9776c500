// Lesson 2: reductions, stages, run-time numbers, and what happens when something is wrong.
//
// runs: in under 5 s

#include <weft/weft.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

// D = relu(alpha * A B): a reduction is a whole stage, what follows it is the next stage.
inline constexpr auto matmul_relu = weft::kernel<"matmul_relu">(
    [](auto A, auto B, auto alpha) {
      auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
      auto C = weft::compute<"C">(M, N, [=](auto i, auto j) {
        return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
      });
      return weft::compute<"D">(M, N, [=](auto i, auto j) { return weft::max(alpha * C(i, j), 0.0f); });
    },
    [](auto& s, auto, auto, auto, auto C, auto D) {  // A, B and alpha have handles too
      {
        auto [i, j, k] = C.axes();
        auto [io, ii] = s.split(i, 4);
        auto [jo, ji] = s.split(j, 32);
        s.reorder(jo, io, k, ii, ji);
        s.unroll(ii);  // a tile of 4 x 32 sums stays in registers while k runs
        s.vectorize(ji);
      }
      auto [i, j] = D.axes();
      auto [jo, ji] = s.split(j, 32);
      s.vectorize(ji);
      s.parallel(i);
    });

// The schedule is checked by the C++ compiler: s.parallel(k), or a rank of 3, would not get past this line.
static_assert(weft::checked<matmul_relu, weft::arg<float, 2>, weft::arg<float, 2>, weft::scalar_arg<float>>);

int main() {
  std::size_t const M = 61, K = 35, N = 47;  // nothing divides anything: tails are weft's business
  std::vector<float> a(M * K), b(K * N), d(M * N);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) - 6;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 3;

  for (float alpha : {1.0f, 0.25f})  // a run-time number: one compilation serves both
    matmul_relu(weft::view(a, M, K), weft::view(b, K, N), alpha, weft::out(d, M, N));

  for (std::size_t i = 0; i < M; ++i)
    for (std::size_t j = 0; j < N; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < K; ++k) sum += a[i * K + k] * b[k * N + j];
      float const expected = std::fmax(0.25f * sum, 0.0f);  // small whole numbers: every sum is exact
      if (d[i * N + j] != expected) {
        std::printf("wrong at %zu, %zu\n", i, j);
        return 1;
      }
    }
  std::printf("%zu x %zu x %zu is right\n\n%s\n", M, K, N,
              matmul_relu.loops(weft::view(a, M, K), weft::view(b, K, N), 0.25f).c_str());

  try {  // wrong arguments are refused before any code runs
    matmul_relu(weft::view(a, M, K), weft::view(a, K, M), 1.0f, weft::out(d, M, N));
  } catch (weft::argument_error const& e) {
    std::printf("refused: %s\n", e.what());
    return 0;
  }
  return 1;
}
