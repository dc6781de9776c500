// Products of matrices: squares, small and short ones, transposed, in batches, by vectors, with what follows them fused, and of
// narrow types. weft's kernels are written without a schedule.
#include <weft/ops/elementwise.hpp>
#include <weft/ops/matmul.hpp>

#include <bit>
#include <cmath>

#include "../kernels.hpp"
#include "families.hpp"

namespace bench::peers {
namespace {
inline constexpr auto plain_product = weft::kernel<"matmul">(product);
inline constexpr auto with_turned_a =
    weft::kernel<"matmul_at">([](auto a, auto b) { return weft::ops::matmul(a, b, {.transpose_a = true}); });
inline constexpr auto with_turned_b =
    weft::kernel<"matmul_bt">([](auto a, auto b) { return weft::ops::matmul(a, b, {.transpose_b = true}); });
inline constexpr auto batched = weft::kernel<"batched">([](auto a, auto b) { return weft::ops::matmul(a, b); });
inline constexpr auto by_vector = weft::kernel<"matvec">([](auto a, auto x) { return weft::ops::matvec(a, x); });
inline constexpr auto with_relu = weft::kernel<"matmul_relu">([](auto a, auto b, auto bias) {
  auto const c = product(a, b);
  return weft::compute<"relu">(c.extent(0), c.extent(1), [=](auto i, auto j) { return weft::max(c(i, j) + bias(j), 0); });
});
inline constexpr auto with_gelu = weft::kernel<"matmul_gelu">([](auto a, auto b, auto bias) {
  auto const c = product(a, b);
  return weft::compute<"gelu">(c.extent(0), c.extent(1), [=](auto i, auto j) {
    auto const x = c(i, j) + bias(j);
    return 0.5f * x * (1 + weft::erf(x * 0.70710678f));
  });
});

/// Operands of f32.
struct matrices {
  problem p;
  buffer a, b, bias, c;
  explicit matrices(problem const& of)
      : p(of), a(count(of.batch * of.m * of.k), 1), b(count(of.batch * of.k * of.n), 2), bias(count(of.n), 3),
        c(count(of.batch * of.m * of.n), 4) {
    a.randomize(1), b.randomize(2), bias.randomize(3);
    p.in[0] = a.data(), p.in[1] = b.data(), p.in[2] = bias.data(), p.out = c.data();
  }
  static std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }
  std::int64_t elements() const { return p.batch * p.m * p.n; }
  exact_sum at(std::int64_t i) const {
    std::int64_t const batch = i / (p.m * p.n), row = i / p.n % p.m, column = i % p.n;
    float const *const x = a.data() + batch * p.m * p.k, *const y = b.data() + batch * p.k * p.n;
    exact_sum s;
    for (std::int64_t k = 0; k < p.k; ++k)
      s.add(static_cast<double>(x[p.transpose_a ? k * p.m + row : row * p.k + k]),
            static_cast<double>(y[p.transpose_b ? column * p.k + k : k * p.n + column]));
    return s;
  }
  std::function<expected(std::int64_t)> formula() const {
    return [this](std::int64_t i) { return at(i).in_f32(); };
  }
  work done() const {
    double const m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
    double const batches = static_cast<double>(p.batch);
    work w;
    w.operations = 2 * batches * m * n * k, w.bytes = 4 * batches * (m * n + n * k + m * k);
    w.only_reads = p.n == 1;
    return w;
  }
  auto left() const { return weft::view(a.data(), p.m, p.k); }
  auto right() const { return weft::view(b.data(), p.k, p.n); }
  auto result() const { return weft::out(c.data(), p.m, p.n); }
};
problem of(task what, int threads, std::int64_t m, std::int64_t n, std::int64_t k) {
  problem p;
  p.what = what, p.threads = threads, p.m = m, p.n = n, p.k = k;
  return p;
}
std::string sizes(problem const& p) {
  return text("%lldx%lldx%lld", static_cast<long long>(p.m), static_cast<long long>(p.n), static_cast<long long>(p.k));
}

void plain(report& r, char const* family, problem const& p, bars bar) {
  matrices const x(p);
  contest c(r, family, "matmul " + sizes(p), x.p, x.done(), bar);
  c.result(x.elements());
  c.weft("weft", ready(plain_product, p.threads, x.left(), x.right(), x.result()));
  if (p.threads > 1 && p.m <= 128) {
    c.weft("weft, 1 thread", ready(plain_product, 1, x.left(), x.right(), x.result()));
    c.not_slower_than("weft, 1 thread");
  }
  c.compete(x.formula());
}
}  // namespace

void matmul_squares(report& r, int threads) {
  for (std::int64_t const n : {256, 512, 1024, 2048, 4096})
    plain(r, "matmul, squares 256 to 4096", of(task::matmul, threads, n, n, n), {0.93, 0.98});
}
void matmul_small(report& r, int threads) {
  for (std::int64_t const n : {32, 64, 96, 128}) plain(r, "matmul, small", of(task::matmul, threads, n, n, n), {0.95});
  plain(r, "matmul, small", of(task::matmul, threads, 37, 53, 71), {0.95});
}

void matmul_short(report& r, int threads) {
  // The largest last: one after the other until weft would take too long.
  for (problem const& p : {of(task::matmul, threads, 128, 3072, 768), of(task::matmul, threads, 16, 4096, 4096),
                           of(task::matmul, threads, 35, 8457, 2560)}) {
    matrices const x(p);
    weft::constant const weights_of(x.right());
    contest c(r, "matmul, short M", "matmul " + sizes(p), x.p, x.done(), {0, 1.15}, {0, 1.05});
    c.result(x.elements());
    auto const a = x.left();
    auto const out = x.result();
    auto const on = with_threads(plain_product, threads);
    c.weft("weft", ready(plain_product, threads, a, x.right(), out));
    c.weft("weft, constant B", [&weights_of, a, out, k = on.prepare(a, weights_of, out)] { k(a, weights_of, out); },
           weights::packed);
    c.compete(x.formula());
  }
}

void matmul_forms(report& r, int threads) {
  for (bool const left : {true, false}) {
    problem p = of(task::matmul, threads, 1024, 1024, 1024);
    p.transpose_a = left, p.transpose_b = !left;
    matrices const x(p);
    contest c(r, "matmul, other forms", std::string(left ? "A^T B " : "A B^T ") + sizes(p), x.p, x.done(), {1});
    c.result(x.elements());
    auto const a = weft::view(x.a.data(), p.m, p.k), b = weft::view(x.b.data(), p.k, p.n);  // squares
    if (left) c.weft("weft", ready(with_turned_a, threads, a, b, x.result()));
    else c.weft("weft", ready(with_turned_b, threads, a, b, x.result()));
    c.compete(x.formula());
  }
  for (std::int64_t const n : {64, 256}) {
    problem p = of(task::matmul, threads, n, n, n);
    p.batch = 16;
    matrices const x(p);
    contest c(r, "matmul, other forms", "16 of " + sizes(p), x.p, x.done(), {1});
    c.result(x.elements());
    c.weft("weft", ready(batched, threads, weft::view(x.a.data(), p.batch, p.m, p.k), weft::view(x.b.data(), p.batch, p.k, p.n),
                         weft::out(x.c.data(), p.batch, p.m, p.n)));
    c.compete(x.formula());
  }
  for (auto const& [m, k] : {std::pair<std::int64_t, std::int64_t>{1000, 2048}, {4096, 4096}}) {
    problem const p = of(task::matvec, threads, m, 1, k);
    matrices const x(p);
    contest c(r, "matvec", text("matvec %lldx%lld", static_cast<long long>(m), static_cast<long long>(k)), x.p, x.done(), {0, 1.2});
    c.result(m);
    c.weft("weft", ready(by_vector, threads, x.left(), weft::view(x.b.data(), k), weft::out(x.c.data(), m)));
    c.compete(x.formula());
  }
}

void matmul_fused(report& r, int threads) {
  for (bool const gelu : {false, true}) {
    problem const p = of(gelu ? task::matmul_gelu : task::matmul_relu, threads, 1024, 1024, 1024);
    matrices const x(p);
    contest c(r, "matmul and what follows", std::string(gelu ? "bias+gelu " : "bias+relu ") + sizes(p), x.p, x.done(),
              {gelu ? 1.2 : 1.0});
    c.result(x.elements());
    auto const bias = weft::view(x.bias.data(), p.n);
    weft::constant const weights_of(x.right());
    auto const add = [&](auto const& kernel) {
      auto const a = x.left();
      auto const out = x.result();
      c.weft("weft", ready(kernel, threads, a, x.right(), bias, out));
      c.weft("weft, constant B",
             [&weights_of, a, bias, out, k = with_threads(kernel, threads).prepare(a, weights_of, bias, out)] {
               k(a, weights_of, bias, out);
             },
             weights::packed);
    };
    if (gelu) add(with_gelu);
    else add(with_relu);
    c.compete([&](std::int64_t i) {
      expected e = x.at(i).in_f32();
      e.value += static_cast<double>(x.bias.data()[i % p.n]);
      e.bound += f32_rounding * std::abs(e.value);
      // relu moves nothing apart, gelu by 1.13 at most; its own roundings, and those of erf, are of x.
      if (gelu) e = {0.5 * e.value * (1 + std::erf(e.value * std::sqrt(0.5))), 1.13 * e.bound + 16 * f32_rounding * std::abs(e.value)};
      else e.value = std::max(e.value, 0.0);
      return e;
    });
  }
}

namespace {
std::uint16_t as_bf16(float x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16); }
double of_bf16(std::uint16_t x) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16)); }

void bytes(report& r, int threads) {
  matrices const x(of(task::matmul_u8s8s32, threads, 1024, 1024, 1024));
  problem const& p = x.p;
  auto* const a = reinterpret_cast<std::uint8_t*>(x.a.data());
  auto* const b = reinterpret_cast<std::int8_t*>(x.b.data());
  // All values of both: a product is summed in 32 bits, nothing saturates.
  for (std::int64_t i = 0; i < p.m * p.k; ++i)
    a[i] = static_cast<std::uint8_t>(i * 167 >> 3), b[i] = static_cast<std::int8_t>(i * 191 >> 2);
  work w = x.done();
  w.kind = arithmetic::u8s8, w.bytes = static_cast<double>(p.m * p.k + p.k * p.n + 4 * p.m * p.n);
  contest c(r, "matmul, narrow", "u8s8s32 " + sizes(p), x.p, w, {0.93});
  c.result(x.elements(), true);
  auto const left = weft::view(a, p.m, p.k);
  auto const right = weft::view(b, p.k, p.n);
  auto const out = weft::out(reinterpret_cast<std::int32_t*>(x.c.data()), p.m, p.n);
  weft::constant const weights_of(right);
  c.weft("weft", ready(plain_product, threads, left, right, out));
  c.weft("weft, constant B",
         [&weights_of, left, out, k = with_threads(plain_product, threads).prepare(left, weights_of, out)] { k(left, weights_of, out); },
         weights::packed);
  c.compete([&](std::int64_t i) {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < p.k; ++k) sum += std::int64_t(a[i / p.n * p.k + k]) * b[k * p.n + i % p.n];
    return expected{static_cast<double>(sum), 0};
  });
}
void halves(report& r, int threads) {
  matrices const x(of(task::matmul_bf16, threads, 1024, 1024, 1024));
  problem const& p = x.p;
  std::int64_t const count = p.m * p.k;
  auto* const a = reinterpret_cast<std::uint16_t*>(x.a.data());
  auto* const b = reinterpret_cast<std::uint16_t*>(x.b.data());
  for (std::int64_t i = 0; i < count; ++i) a[i] = as_bf16(x.a.data()[i]), b[i] = as_bf16(x.b.data()[i]);
  work w = x.done();
  w.kind = arithmetic::bf16, w.bytes = static_cast<double>(2 * (p.m * p.k + p.k * p.n) + 4 * p.m * p.n);
  contest c(r, "matmul, narrow", "bf16 " + sizes(p), x.p, w, {0.93});
  c.result(x.elements());
  auto const left = weft::view(reinterpret_cast<weft::bf16 const*>(a), p.m, p.k);
  auto const right = weft::view(reinterpret_cast<weft::bf16 const*>(b), p.k, p.n);
  auto const out = x.result();
  weft::constant const weights_of(right);
  c.weft("weft", ready(plain_product, threads, left, right, out));
  c.weft("weft, constant B",
         [&weights_of, left, out, k = with_threads(plain_product, threads).prepare(left, weights_of, out)] { k(left, weights_of, out); },
         weights::packed);
  c.compete([&](std::int64_t i) {
    exact_sum s;
    for (std::int64_t k = 0; k < p.k; ++k) s.add(of_bf16(a[i / p.n * p.k + k]), of_bf16(b[k * p.n + i % p.n]));
    return s.in_f32();
  });
}
}  // namespace

void matmul_narrow(report& r, int threads) {
  bytes(r, threads);
  halves(r, threads);
}

}  // namespace bench::peers
