// What memory bounds: one pass over large arrays, rows, a blur, a transpose, a chain of small operations.
//
// 2^20 elements stay in the third cache, 2^26 come from memory; what lies between depends on the neighbours of a shared machine.
#include <weft/ops/normalise.hpp>
#include <weft/ops/softmax.hpp>

#include <bit>
#include <cmath>

#include "families.hpp"

namespace bench::peers {
namespace {
inline constexpr auto add = weft::kernel<"add">(
    [](auto x, auto y) { return weft::compute<"sum">(x.extent(0), [=](auto i) { return x(i) + y(i); }); });
inline constexpr auto scale =
    weft::kernel<"scale">([](auto x) { return weft::compute<"scaled">(x.extent(0), [=](auto i) { return 1.5f * x(i); }); });
inline constexpr auto saxpy = weft::kernel<"saxpy">([](auto a, auto x, auto y) {
  return weft::compute<"z">(x.extent(0), [=](auto i) { return a * x(i) + y(i); });
});
inline constexpr auto total = weft::kernel<"total">([](auto x) {
  return weft::compute<"total">(1, [=](auto) { return weft::sum(x.extent(0), [=](auto i) { return x(i); }); });
});
inline constexpr auto copied =
    weft::kernel<"copied">([](auto x) { return weft::compute<"copy">(x.extent(0), [=](auto i) { return 1 * x(i); }); });
inline constexpr auto exponential =
    weft::kernel<"exponential">([](auto x) { return weft::compute<"e">(x.extent(0), [=](auto i) { return weft::exp(x(i)); }); });
inline constexpr auto softmax = weft::kernel<"softmax">([](auto x) { return weft::ops::softmax(x); });
inline constexpr auto layernorm =
    weft::kernel<"layernorm">([](auto x, auto w, auto b) { return weft::ops::layer_norm(x, w, b); });
inline constexpr auto bias_gelu = weft::kernel<"bias_gelu">([](auto x, auto bias) {
  return weft::compute<"gelu">(x.extent(0), x.extent(1), [=](auto i, auto j) {
    auto const v = x(i, j) + bias(j);
    return 0.5f * v * (1 + weft::tanh(0.79788456f * (v + 0.044715f * v * v * v)));
  });
});
inline constexpr auto chain = weft::kernel<"chain">([](auto x, auto u, auto v, auto w) {
  return weft::compute<"norm">(x.extent(0), [=](auto i) {
    return weft::sum(x.extent(1), [=](auto j) {
      auto const t = weft::max((x(i, j) - u(j)) * v(j) + w(j), 0);
      return t * t;
    });
  });
});
inline constexpr auto blur = weft::kernel<"blur">([](auto x) {
  return weft::compute<"blur">(x.extent(0) - 2, x.extent(1) - 2, [=](auto i, auto j) {
    auto const row = [&](auto k) { return x(k, j) + x(k, j + 1) + x(k, j + 2); };
    return (row(i) + row(i + 1) + row(i + 2)) * (1.0f / 9);
  });
});
inline constexpr auto turned = weft::kernel<"turned">(
    [](auto x) { return weft::compute<"turned">(x.extent(1), x.extent(0), [=](auto j, auto i) { return 1 * x(i, j); }); });

/// Up to four inputs and a result, of so many floats each.
struct arrays {
  problem p;
  buffer a, b, c, d, out;
  arrays(task what, int threads, std::int64_t m, std::int64_t n, std::size_t first, std::size_t others, std::size_t result)
      : a(first, 1), b(others, 2), c(others, 3), d(others, 4), out(result, 5) {
    p.what = what, p.threads = threads, p.m = m, p.n = n;
    int i = 0;
    for (buffer const* x : {&a, &b, &c, &d}) x->randomize(static_cast<std::uint64_t>(i + 1)), p.in[i++] = x->data();
    p.out = out.data();
  }
  double at(buffer const& x, std::int64_t i) const { return static_cast<double>(x.data()[i]); }
  auto view(buffer const& x) const { return weft::view(x.data(), p.m); }
  auto rows(buffer const& x) const { return weft::view(x.data(), p.m, p.n); }
  auto row(buffer const& x) const { return weft::view(x.data(), p.n); }
};
work moving(double floats, double operations = 0, bool only_reads = false) {
  work w;
  w.bytes = 4 * floats, w.operations = operations, w.by_bytes = true, w.only_reads = only_reads;
  return w;
}
std::string power(char const* name, std::int64_t count) {
  return text("%s 2^%d", name, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count))) - 1);
}

void streams(report& r, int threads, std::int64_t n) {
  std::size_t const count = static_cast<std::size_t>(n);
  double const m = static_cast<double>(n);
  auto const one = [&](task what, char const* name, work const& w, auto const& kernel, auto const& formula, auto const& given) {
    arrays const x(what, threads, n, 1, count, what == task::add ? count : 64, what == task::sum ? 16 : count);
    contest c(r, "add, scale, saxpy, sum, copy", power(name, n), x.p, w, {1});
    c.result(what == task::sum ? 1 : n);
    buffer const start(what == task::saxpy ? count : 64, 6);
    start.randomize(6);
    if (what == task::saxpy) c.before_check([&] { std::copy_n(start.data(), count, x.out.data()); });
    given(x, [&](auto const&... arguments) { c.weft("weft", ready(kernel, threads, arguments...)); });
    c.compete([&](std::int64_t i) { return formula(x, start, i); });
  };
  auto const exact = [](double v, double magnitude) { return expected{v, 2 * f32_rounding * magnitude}; };
  one(task::add, "add", moving(3 * m, m), add,
      [&](arrays const& x, buffer const&, std::int64_t i) { return exact(x.at(x.a, i) + x.at(x.b, i), 2); },
      [](arrays const& x, auto const& call) { call(x.view(x.a), x.view(x.b), weft::out(x.out.data(), x.p.m)); });
  one(task::scale, "scale", moving(2 * m, m), scale,
      [&](arrays const& x, buffer const&, std::int64_t i) { return exact(1.5 * x.at(x.a, i), 2); },
      [](arrays const& x, auto const& call) { call(x.view(x.a), weft::out(x.out.data(), x.p.m)); });
  one(task::saxpy, "saxpy in place", moving(3 * m, 2 * m), saxpy,
      [&](arrays const& x, buffer const& y, std::int64_t i) { return exact(0.5 * x.at(x.a, i) + x.at(y, i), 2); },
      [](arrays const& x, auto const& call) { call(0.5f, x.view(x.a), x.view(x.out), weft::out(x.out.data(), x.p.m)); });
  one(task::copy, "copy", moving(2 * m), copied,
      [&](arrays const& x, buffer const&, std::int64_t i) { return expected{x.at(x.a, i), 0}; },
      [](arrays const& x, auto const& call) { call(x.view(x.a), weft::out(x.out.data(), x.p.m)); });
  one(task::sum, "sum", moving(m, m, true), total,
      [&](arrays const& x, buffer const&, std::int64_t) {
        exact_sum s;
        for (std::int64_t i = 0; i < x.p.m; ++i) s.add(x.at(x.a, i), 1);
        // In any order, but a sensible one: 256 partial sums at least, as every vector loop has.
        return expected{s.value, 1.01 * f32_rounding * (static_cast<double>(s.terms) / 16 + 64) * s.magnitude};
      },
      [](arrays const& x, auto const& call) { call(x.view(x.a), weft::out(x.out.data(), 1)); });
}
}  // namespace

void elementwise(report& r, int threads) {
  for (std::int64_t const n : {std::int64_t(1) << 20, std::int64_t(1) << 26}) streams(r, threads, n);
  std::int64_t const n = std::int64_t(1) << 22;
  arrays const x(task::exp, threads, n, 1, static_cast<std::size_t>(n), 64, static_cast<std::size_t>(n));
  contest c(r, "exp", power("exp", n), x.p, moving(2 * static_cast<double>(n)), {1.25});
  c.result(n);
  c.weft("weft", ready(exponential, threads, x.view(x.a), weft::out(x.out.data(), n)));
  c.compete([&](std::int64_t i) {
    double const e = std::exp(x.at(x.a, i));
    return expected{e, 8 * f32_rounding * e};  // peers promise 4 ulp at best
  });
}

void rows(report& r, int threads) {
  std::int64_t const m = 4096, n = 1024;
  std::size_t const all = static_cast<std::size_t>(m * n), one = static_cast<std::size_t>(n);
  work const w = moving(2.0 * static_cast<double>(all));
  {
    arrays const x(task::softmax, threads, m, n, all, 64, all);
    contest c(r, "softmax, layernorm, bias+gelu rows", "softmax 4096x1024", x.p, w, {1.7});
    c.result(m * n);
    c.weft("weft", ready(softmax, threads, x.rows(x.a), weft::out(x.out.data(), m, n)));
    c.compete([&](std::int64_t i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += std::exp(x.at(x.a, i / n * n + j));
      double const y = std::exp(x.at(x.a, i)) / sum;
      return expected{y, (static_cast<double>(n) / 8 + 16) * f32_rounding * y};
    });
  }
  {
    arrays const x(task::layernorm, threads, m, n, all, one, all);
    contest c(r, "softmax, layernorm, bias+gelu rows", "layernorm 4096x1024", x.p, w, {1.3});
    c.result(m * n);
    c.weft("weft", ready(layernorm, threads, x.rows(x.a), x.row(x.b), x.row(x.c), weft::out(x.out.data(), m, n)));
    c.compete([&](std::int64_t i) {
      double mean = 0, variance = 0;
      for (std::int64_t j = 0; j < n; ++j) mean += x.at(x.a, i / n * n + j) / static_cast<double>(n);
      for (std::int64_t j = 0; j < n; ++j) variance += std::pow(x.at(x.a, i / n * n + j) - mean, 2) / static_cast<double>(n);
      double const y = (x.at(x.a, i) - mean) / std::sqrt(variance + 1e-5) * x.at(x.b, i % n) + x.at(x.c, i % n);
      return expected{y, (static_cast<double>(n) / 8 + 16) * f32_rounding * 3};
    });
  }
  {
    arrays const x(task::bias_gelu, threads, m, n, all, one, all);
    contest c(r, "softmax, layernorm, bias+gelu rows", "bias+gelu 4096x1024", x.p, w, {2});
    c.result(m * n);
    c.weft("weft", ready(bias_gelu, threads, x.rows(x.a), x.row(x.b), weft::out(x.out.data(), m, n)));
    c.compete([&](std::int64_t i) {
      double const v = x.at(x.a, i) + x.at(x.b, i % n);
      double const y = 0.5 * v * (1 + std::tanh(0.79788456 * (v + 0.044715 * v * v * v)));
      return expected{y, 64 * f32_rounding};  // peers' tanh is of some ulp of 1
    });
  }
  {
    arrays const x(task::chain, threads, m, n, all, one, static_cast<std::size_t>(m));
    contest c(r, "5 operations and a row sum", "chain 4096x1024", x.p, moving(static_cast<double>(all), 6.0 * static_cast<double>(all), true), {});
    c.over("Eigen", 1.5), c.over("Eigen, one by one", 3);
    c.result(m);
    c.weft("weft", ready(chain, threads, x.rows(x.a), x.row(x.b), x.row(x.c), x.row(x.d), weft::out(x.out.data(), m)));
    c.compete([&](std::int64_t i) {
      exact_sum s;
      for (std::int64_t j = 0; j < n; ++j) {
        double const t = std::max((x.at(x.a, i * n + j) - x.at(x.b, j)) * x.at(x.c, j) + x.at(x.d, j), 0.0);
        s.add(t, t);
      }
      return expected{s.value, (static_cast<double>(n) + 64) * f32_rounding * s.magnitude};
    });
  }
}

void images(report& r, int threads) {
  std::int64_t const n = 4096;
  std::size_t const all = static_cast<std::size_t>(n * n);
  {
    arrays const x(task::blur, threads, n, n, static_cast<std::size_t>((n + 2) * (n + 2)), 64, all);
    contest c(r, "blur, transpose", "blur 3x3 4096x4096", x.p, moving(2.0 * static_cast<double>(all), 9.0 * static_cast<double>(all)), {threads == 1 ? 1.3 : 1.1});
    c.result(n * n);
    c.weft("weft", ready(blur, threads, weft::view(x.a.data(), n + 2, n + 2), weft::out(x.out.data(), n, n)));
    c.compete([&](std::int64_t i) {
      double sum = 0;
      for (std::int64_t u = 0; u < 3; ++u)
        for (std::int64_t v = 0; v < 3; ++v) sum += x.at(x.a, (i / n + u) * (n + 2) + i % n + v);
      return expected{sum / 9, 16 * f32_rounding};
    });
  }
  {
    arrays const x(task::transpose, threads, n, n, all, 64, all);
    contest c(r, "blur, transpose", "transpose 4096x4096", x.p, moving(2.0 * static_cast<double>(all)), {threads == 1 ? 1.15 : 1.4});
    c.result(n * n);
    c.weft("weft", ready(turned, threads, weft::view(x.a.data(), n, n), weft::out(x.out.data(), n, n)));
    c.compete([&](std::int64_t i) { return expected{x.at(x.a, i % n * n + i / n), 0}; });
  }
}

}  // namespace bench::peers
