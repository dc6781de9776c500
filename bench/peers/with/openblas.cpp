// OpenBLAS: matrices and vectors in f32. Wheels have names of their own: scipy_cblas_sgemm64_.
#include <cblas.h>

#include <cmath>

#include "../problem.hpp"

#ifdef BENCH_OPENBLAS_64
#define BENCH_OF_OPENBLAS(name) scipy_##name##64_
#elif defined(BENCH_OPENBLAS_32)
#define BENCH_OF_OPENBLAS(name) scipy_##name
#else
#define BENCH_OF_OPENBLAS(name) name
#endif

namespace bench::peers {
namespace {
void product(problem const& p) {
  blasint const m = static_cast<blasint>(p.m), n = static_cast<blasint>(p.n), k = static_cast<blasint>(p.k);
  for (std::int64_t i = 0; i < p.batch; ++i)
    BENCH_OF_OPENBLAS(cblas_sgemm)(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans, p.transpose_b ? CblasTrans : CblasNoTrans, m, n, k, 1,
                p.f32(0) + i * p.m * p.k, p.transpose_a ? m : k, p.f32(1) + i * p.k * p.n, p.transpose_b ? k : n, 0,
                p.result() + i * p.m * p.n, n);
}
void by_vector(problem const& p) {
  blasint const m = static_cast<blasint>(p.m), k = static_cast<blasint>(p.k);
  BENCH_OF_OPENBLAS(cblas_sgemv)(CblasRowMajor, CblasNoTrans, m, k, 1, p.f32(0), k, p.f32(1), 1, 0, p.result(), 1);
}
/// The product, then a loop over it: what one writes with a BLAS.
void then_relu(problem const& p) {
  product(p);
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      float const x = p.result()[i * p.n + j] + p.f32(2)[j];
      p.result()[i * p.n + j] = x > 0 ? x : 0;
    }
}
void transposed(problem const& p) {
  blasint const m = static_cast<blasint>(p.m), n = static_cast<blasint>(p.n);
  BENCH_OF_OPENBLAS(cblas_somatcopy)(CblasRowMajor, CblasTrans, m, n, 1, const_cast<float*>(p.f32(0)), n, p.result(), m);
}
void weighted_sum(problem const& p) {
  BENCH_OF_OPENBLAS(cblas_saxpy)(static_cast<blasint>(p.m), 0.5f, p.f32(0), 1, p.result(), 1);
}
void copied(problem const& p) { BENCH_OF_OPENBLAS(cblas_scopy)(static_cast<blasint>(p.m), p.f32(0), 1, p.result(), 1); }

void (*routine(task t))(problem const&) {
  switch (t) {
    case task::matmul: return product;
    case task::matvec: return by_vector;
    case task::matmul_relu: return then_relu;
    case task::transpose: return transposed;
    case task::saxpy: return weighted_sum;
    case task::copy: return copied;
    default: return nullptr;
  }
}
}  // namespace
}  // namespace bench::peers

char const* weft_bench_peer_version() {
  // " OpenBLAS 0.3.21 "
  std::string version = OPENBLAS_VERSION;
  version = version.substr(1, version.find(' ', version.find_first_of("0123456789")) - 1);
  static std::string const all = version + " (" + BENCH_OF_OPENBLAS(openblas_get_corename)() + ")";
  return all.c_str();
}
void weft_bench_peer_ways(bench::peers::problem const& p, std::vector<bench::peers::way>& ways) {
  auto* const run = bench::peers::routine(p.what);
  if (run == nullptr) return;
  ways.push_back({"OpenBLAS", [p, run] {
                    BENCH_OF_OPENBLAS(openblas_set_num_threads)(p.threads);
                    run(p);
                  }});
}
