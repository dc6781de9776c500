// LIBXSMM: kernels for small products, one thread.
#include <libxsmm.h>

#include "../problem.hpp"

char const* weft_bench_peer_version() {
  static std::string const all = "LIBXSMM " LIBXSMM_VERSION;
  return all.c_str();
}
void weft_bench_peer_ways(bench::peers::problem const& p, std::vector<bench::peers::way>& ways) {
  // What is larger it hands to a BLAS; a kernel would take long to be made.
  bool const is_small = p.m <= 512 && p.n <= 256 && p.k <= 1024;
  if (p.what != bench::peers::task::matmul || p.threads != 1 || p.transpose_a || p.transpose_b || !is_small) return;
  auto const m = static_cast<libxsmm_blasint>(p.m), n = static_cast<libxsmm_blasint>(p.n), k = static_cast<libxsmm_blasint>(p.k);
  float const one = 1, zero = 0;
  // It counts by columns: C^T = B^T A^T.
  libxsmm_smmfunction const kernel = libxsmm_smmdispatch(n, m, k, &n, &k, &n, &one, &zero, nullptr, nullptr);
  if (kernel == nullptr) return;
  ways.push_back({"LIBXSMM", [p, kernel] {
                    for (std::int64_t i = 0; i < p.batch; ++i)
                      kernel(p.f32(1) + i * p.k * p.n, p.f32(0) + i * p.m * p.k, p.result() + i * p.m * p.n);
                  }});
}
