// Eigen, with its threads by OpenMP.
#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#include "../problem.hpp"

namespace bench::peers {
namespace {
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using array = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using row = Eigen::Array<float, 1, Eigen::Dynamic>;
using column = Eigen::Array<float, Eigen::Dynamic, 1>;
template <class T>
auto in(problem const& p, int i, std::int64_t rows, std::int64_t columns) {
  return Eigen::Map<T const, Eigen::Aligned64>(p.f32(i), rows, columns);
}
template <class T>
auto out(problem const& p, std::int64_t rows, std::int64_t columns) {
  return Eigen::Map<T, Eigen::Aligned64>(p.result(), rows, columns);
}

void product(problem const& p) {
  for (std::int64_t i = 0; i < p.batch; ++i) {
    using map = Eigen::Map<matrix const>;
    map const a(p.f32(0) + i * p.m * p.k, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k);
    map const b(p.f32(1) + i * p.k * p.n, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n);
    Eigen::Map<matrix> c(p.result() + i * p.m * p.n, p.m, p.n);
    if (p.transpose_a) c.noalias() = a.transpose() * b;
    else if (p.transpose_b) c.noalias() = a * b.transpose();
    else c.noalias() = a * b;
  }
}
void by_vector(problem const& p) {
  Eigen::Map<Eigen::VectorXf>(p.result(), p.m).noalias() =
      in<matrix>(p, 0, p.m, p.k) * Eigen::Map<Eigen::VectorXf const>(p.f32(1), p.k);
}
void then_relu(problem const& p) {
  product(p);
  auto c = out<array>(p, p.m, p.n);
  c = (c.rowwise() + in<row>(p, 2, 1, p.n)).max(0.f);
}
void then_gelu(problem const& p) {
  product(p);
  auto c = out<array>(p, p.m, p.n);
  auto const bias = in<row>(p, 2, 1, p.n);
  for (std::int64_t i = 0; i < p.m; ++i) {
    auto const x = (c.row(i) + bias).eval();
    c.row(i) = 0.5f * x * (1.f + Eigen::erf(x * 0.70710678f));
  }
}
void softmax(problem const& p) {
  auto const x = in<array>(p, 0, p.m, p.n);
  auto y = out<array>(p, p.m, p.n);
  for (std::int64_t i = 0; i < p.m; ++i) {
    y.row(i) = (x.row(i) - x.row(i).maxCoeff()).exp();
    y.row(i) *= 1 / y.row(i).sum();
  }
}
void layernorm(problem const& p) {
  auto const x = in<array>(p, 0, p.m, p.n);
  auto y = out<array>(p, p.m, p.n);
  auto const weight = in<row>(p, 1, 1, p.n), bias = in<row>(p, 2, 1, p.n);
  for (std::int64_t i = 0; i < p.m; ++i) {
    float const mean = x.row(i).mean(), variance = (x.row(i) - mean).square().mean();
    y.row(i) = (x.row(i) - mean) * (1 / std::sqrt(variance + 1e-5f)) * weight + bias;
  }
}
void bias_gelu(problem const& p) {
  auto const x = in<array>(p, 0, p.m, p.n);
  auto y = out<array>(p, p.m, p.n);
  auto const bias = in<row>(p, 1, 1, p.n);
  for (std::int64_t i = 0; i < p.m; ++i) {
    auto const v = (x.row(i) + bias).eval();
    y.row(i) = 0.5f * v * (1.f + (0.79788456f * (v + 0.044715f * v.cube())).tanh());
  }
}
void exponential(problem const& p) { out<row>(p, 1, p.m) = in<row>(p, 0, 1, p.m).exp(); }
void transposed(problem const& p) { out<matrix>(p, p.n, p.m) = in<matrix>(p, 0, p.m, p.n).transpose(); }
void add(problem const& p) { out<row>(p, 1, p.m) = in<row>(p, 0, 1, p.m) + in<row>(p, 1, 1, p.m); }
void scale(problem const& p) { out<row>(p, 1, p.m) = 1.5f * in<row>(p, 0, 1, p.m); }
void saxpy(problem const& p) { out<row>(p, 1, p.m) += 0.5f * in<row>(p, 0, 1, p.m); }
void sum(problem const& p) { p.result()[0] = in<row>(p, 0, 1, p.m).sum(); }
void copy(problem const& p) { out<row>(p, 1, p.m) = in<row>(p, 0, 1, p.m); }
void chain(problem const& p) {
  auto const x = in<array>(p, 0, p.m, p.n);
  auto const u = in<row>(p, 1, 1, p.n), v = in<row>(p, 2, 1, p.n), w = in<row>(p, 3, 1, p.n);
  for (std::int64_t i = 0; i < p.m; ++i) p.result()[i] = ((x.row(i) - u) * v + w).max(0.f).square().sum();
}
/// Each operation over all of the array before the next.
void chain_one_by_one(problem const& p) {
  static array t;
  t.resize(p.m, p.n);
  t = in<array>(p, 0, p.m, p.n).rowwise() - in<row>(p, 1, 1, p.n);
  t.rowwise() *= in<row>(p, 2, 1, p.n);
  t.rowwise() += in<row>(p, 3, 1, p.n);
  t = t.max(0.f);
  t = t.square();
  out<column>(p, p.m, 1) = t.rowwise().sum();
}
void attention(problem const& p) {
  static matrix scores;
  for (std::int64_t h = 0; h < p.batch; ++h) {
    Eigen::Map<matrix const> const q(p.f32(0) + h * p.m * p.k, p.m, p.k), k(p.f32(1) + h * p.n * p.k, p.n, p.k);
    Eigen::Map<matrix const> const v(p.f32(2) + h * p.n * p.k, p.n, p.k);
    scores.noalias() = q * k.transpose() * (1 / std::sqrt(static_cast<float>(p.k)));
    for (std::int64_t i = 0; i < p.m; ++i) {
      auto s = scores.row(i).array();
      s = (s - s.maxCoeff()).exp();
      s *= 1 / s.sum();
    }
    Eigen::Map<matrix>(p.result() + h * p.m * p.k, p.m, p.k).noalias() = scores * v;
  }
}

void (*routine(task t))(problem const&) {
  switch (t) {
    case task::matmul: return product;
    case task::matvec: return by_vector;
    case task::matmul_relu: return then_relu;
    case task::matmul_gelu: return then_gelu;
    case task::softmax: return softmax;
    case task::layernorm: return layernorm;
    case task::bias_gelu: return bias_gelu;
    case task::exp: return exponential;
    case task::transpose: return transposed;
    case task::add: return add;
    case task::scale: return scale;
    case task::saxpy: return saxpy;
    case task::sum: return sum;
    case task::copy: return copy;
    case task::chain: return chain;
    case task::attention: return attention;
    default: return nullptr;
  }
}
}  // namespace
}  // namespace bench::peers

char const* weft_bench_peer_version() {
  static std::string const all = "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
                                 std::to_string(EIGEN_MINOR_VERSION);
  return all.c_str();
}
void weft_bench_peer_ways(bench::peers::problem const& p, std::vector<bench::peers::way>& ways) {
  auto* const run = bench::peers::routine(p.what);
  if (run == nullptr) return;
  ways.push_back({"Eigen", [p, run] {
                    Eigen::setNbThreads(p.threads);
                    run(p);
                  }});
  if (p.what == bench::peers::task::chain) ways.push_back({"Eigen, one by one", [p] { bench::peers::chain_one_by_one(p); }});
}
