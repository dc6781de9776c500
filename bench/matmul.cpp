// One matmul schedule against the same nest by hand, and two threads against one.
#include <weft/bench/peak.hpp>

#include <cmath>

#include "harness.hpp"
#include "kernels.hpp"
#include "matmul_intrinsics.hpp"

namespace bench {
namespace {

struct matrices {
  std::int64_t n;
  buffer a, b, c, expected;
  explicit matrices(std::int64_t size)
      : n(size), a(elements(), 1), b(elements(), 2), c(elements(), 3), expected(elements(), 4) {
    a.randomize(1), b.randomize(2), c.randomize(3), expected.randomize(4);
  }
  std::size_t elements() const { return static_cast<std::size_t>(n * n); }
  auto left() const { return weft::view(a.data(), n, n); }
  auto right() const { return weft::view(b.data(), n, n); }
  auto result() const { return weft::out(c.data(), n, n); }
  double gflop() const { return 2e-9 * static_cast<double>(n * n * n); }
};

/// Each element within k 2^-24 sum |a b| of the sum in double: what k roundings can do. In ikj order, for speed.
bool is_product(matrices const& p) {
  std::vector<double> sum(static_cast<std::size_t>(p.n)), magnitude(sum);
  for (std::int64_t i = 0; i < p.n; ++i) {
    sum.assign(sum.size(), 0), magnitude.assign(sum.size(), 0);
    for (std::int64_t k = 0; k < p.n; ++k)
      for (std::int64_t j = 0; j < p.n; ++j) {
        double const term = static_cast<double>(p.a.data()[i * p.n + k]) * static_cast<double>(p.b.data()[k * p.n + j]);
        sum[static_cast<std::size_t>(j)] += term, magnitude[static_cast<std::size_t>(j)] += std::abs(term);
      }
    for (std::size_t j = 0; j < sum.size(); ++j) {
      double const error = static_cast<double>(p.expected.data()[static_cast<std::size_t>(i * p.n) + j]) - sum[j];
      if (!(std::abs(error) <= 1.01 * 0x1p-24 * static_cast<double>(p.n) * magnitude[j])) return false;
    }
  }
  return true;
}

/// All variants sum the products in the same order, each fused: the reference's bits are everybody's.
bool equals_reference(matrices const& p) {
  for (std::size_t i = 0; i < p.elements(); ++i)
    if (!(p.c.data()[i] == p.expected.data()[i])) return false;
  return true;
}
void check(report& r, matrices const& p, std::vector<variant> const& variants) {
  p.c.poison();
  variants[0].run(1);
  for (std::size_t i = 0; i < p.elements(); ++i) p.expected.data()[i] = p.c.data()[i];
  if (!is_product(p)) r.wrong(variants[0].name + " is not the product");
  for (variant const& v : variants) {
    p.c.poison();
    v.run(1);
    if (!equals_reference(p)) r.wrong(v.name + " differs from " + variants[0].name);
  }
}

template <class Prepared, class Right>
variant jit_variant(char const* name, matrices const& p, Prepared const& kernel, int reference, Right const& right) {
  return {name,
          [&p, kernel, &right](std::int64_t times) {
            while (times-- > 0) kernel(p.left(), right, p.result());
          },
          reference};
}
template <class Prepared>
variant jit_variant(char const* name, matrices const& p, Prepared const& kernel, int reference = 0) {
  return {name,
          [&p, kernel](std::int64_t times) {
            while (times-- > 0) kernel(p.left(), p.right(), p.result());
          },
          reference};
}

using by_hand = void (*)(matmul_problem const&);
by_hand intrinsics() {
  if (weft::host().has("avx512f")) return matmul_avx512;
  return weft::host().has("avx2") && weft::host().fma ? matmul_avx2 : nullptr;
}
std::int64_t intrinsics_columns() { return weft::host().has("avx512f") ? avx512_columns : avx2_columns; }
matmul_problem problem(matrices const& p, bool columns_outermost) {
  return {p.a.data(), p.b.data(), p.c.data(), p.n, p.n, p.n, 0, p.n, columns_outermost};
}

double peak() {
  static double const gflops = weft::fma_peak_gflops();
  return gflops;
}
row as_gflops(matrices const& p, std::vector<variant> const& v, std::vector<figure> const& f, std::size_t i,
              int threads) {
  row r;
  double const gflops = p.gflop() / f[i].median * 1e9;
  auto const reference = static_cast<std::size_t>(v[i].reference);
  r.variant = v[i].name, r.median = gflops, r.spread = f[i].spread, r.unit = "GFLOP/s", r.ratio = f[i].ratio;
  r.reference = v[reference].name;
  r.note = text("%.1f%% of %d x %.0f GFLOP/s", 100 * gflops / (threads * peak()), threads, peak());
  return r;
}

/// The hand-written nest with its tiles of columns shared out by weft's pool.
variant intrinsics_in_parallel(matrices const& p, bool columns_outermost, int reference) {
  return {columns_outermost ? "intrinsics 2, jo ko" : "intrinsics 2, ko jo",
          [&p, columns_outermost](std::int64_t times) {
            auto const part = [](void* context, std::int64_t begin, std::int64_t end, std::int64_t) {
              matmul_problem share = *static_cast<matmul_problem const*>(context);
              std::int64_t const last = share.n;
              share.j_begin = begin * intrinsics_columns(), share.j_end = end * intrinsics_columns();
              if (share.j_end > last) share.j_end = last;
              intrinsics()(share);
            };
            matmul_problem whole = problem(p, columns_outermost);
            std::int64_t const tiles = (p.n + intrinsics_columns() - 1) / intrinsics_columns();
            while (times-- > 0) weft::runtime::default_pool().run(tiles, part, &whole);
          },
          reference};
}
}  // namespace

void matmul(report& r, std::int64_t n) {
  by_hand const hand = intrinsics();
  if (hand == nullptr) return r.skip("no intrinsics for this machine to compare with");
  matrices const p(n);
  std::vector<variant> const variants{
      {"intrinsics",
       [&](std::int64_t times) {
         while (times-- > 0) hand(problem(p, false));
       },
       0},
      jit_variant("weft", p, matmul_kernel.prepare(p.left(), p.right(), p.result()))};
  check(r, p, variants);
  auto const figures = measure(variants, {r.wanted.rounds, 10});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    row line = as_gflops(p, variants, figures, i, 1);
    if (i == 1) demand_at_least(line, line.ratio, 0.95, "x");
    r.add(line);
  }
}

void matmul_packed(report& r, std::int64_t n) {
  by_hand const hand = intrinsics();
  if (hand == nullptr) return r.skip("no intrinsics for this machine to compare with");
  matrices const p(n);
  buffer const panels(static_cast<std::size_t>((n + intrinsics_columns()) * n), 5);
  weft::constant const weights(p.right());
  auto const packed = [&](bool each_time) {
    return [&p, &panels, hand, each_time](std::int64_t times) {
      matmul_problem q = problem(p, false);
      q.panels = panels.data(), q.pack = each_time;
      while (times-- > 0) hand(q);
    };
  };
  std::vector<variant> const variants{
      {"intrinsics, packed", packed(true), 0},
      jit_variant("weft, packed", p, packed_kernel.prepare(p.left(), p.right(), p.result())),
      {"intrinsics, prepacked", packed(false), 2},
      jit_variant("weft, prepacked", p, prepacked_kernel.prepare(p.left(), weights, p.result()), 2, weights)};
  check(r, p, variants);
  auto const figures = measure(variants, {r.wanted.rounds, 10});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    row line = as_gflops(p, variants, figures, i, 1);
    if (i % 2 == 1) demand_at_least(line, line.ratio, 0.95, "x");
    r.add(line);
  }
}

void matmul_two_threads(report& r) {
  if (weft::host().threads < 2) return r.skip("needs two processors");
  matrices const p(1024);
  auto const a = p.left(), b = p.right();
  auto const c = p.result();
  std::vector<variant> variants{
      jit_variant("1 thread, ko jo", p, matmul_kernel.prepare(a, b, c)),
      jit_variant("2 threads, ko jo", p, matmul_parallel.prepare(a, b, c), 0),
      jit_variant("1 thread, jo ko", p, matmul_columns.prepare(a, b, c), 2),
      jit_variant("2 threads, jo ko", p, matmul_columns_parallel.prepare(a, b, c), 2)};
  // What two threads are worth here when nothing is compiled at run time.
  if (by_hand const hand = intrinsics()) {
    variants.push_back({"intrinsics 1, jo ko",
                        [&p, hand](std::int64_t times) {
                          while (times-- > 0) hand(problem(p, true));
                        },
                        4});
    variants.push_back(intrinsics_in_parallel(p, true, 4));
  }
  check(r, p, variants);
  auto const figures = measure(variants, {r.wanted.rounds, 10, 3});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    row line = as_gflops(p, variants, figures, i, i % 2 == 0 ? 1 : 2);
    if (i == 1 || i == 3) demand_at_least(line, line.ratio, 1.8, "x");
    // Another program on one of the processors hits two threads harder than one; this is without it, with luck.
    if (i % 2 == 1) line.note += text(", %.2fx by the fastest samples", figures[i - 1].fastest / figures[i].fastest);
    r.add(line);
  }
}

}  // namespace bench
