// Math functions inside a fused kernel, out = a f(x) + b, against the same loop by g++ with libmvec and with SLEEF.
//
// Each is as its user gets the best of it: weft's nest is that by rule, so whole vectors of the machine, g++'s both of 512 bits
// and of 256 where there are 512, SLEEF's loop of the widest. Operands are random and stay in the first cache, or the second
// where a call takes as long as the loop over that. SLEEF u10 promises 1 ulp, libmvec 4; weft's bounds: docs/math.md.
#include <weft/weft.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>

#include "harness.hpp"
#include "math_peers.hpp"

namespace bench {
namespace {

/// `bytes` each of operands and results.
template <class T>
class data {
 public:
  std::int64_t const count;
  data(double low, double high, std::size_t bytes)
      : count(static_cast<std::int64_t>(bytes / sizeof(T))), memory_(std::aligned_alloc(64, 3 * bytes)) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> wanted(low, high), second(-3, 3);
    for (std::int64_t i = 0; i < count; ++i) x()[i] = static_cast<T>(wanted(random)), y()[i] = static_cast<T>(second(random));
  }
  T* x() const { return static_cast<T*>(memory_.get()); }
  T* y() const { return x() + count; }
  T* out() const { return y() + count; }
  math_operands<T> operands() const { return {x(), y(), a, b, out(), count}; }
  static constexpr T a = T(1.5), b = T(0.25);

 private:
  struct release {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, release> memory_;
};

template <class T>
using loop = void (*)(math_operands<T> const&);

/// Results may differ by what bounds differ: 8 units, and what a f(x) + b loses when it cancels.
template <class T>
bool is_near(std::vector<T> const& expected, data<T> const& d) {
  for (std::int64_t i = 0; i < d.count; ++i) {
    T const e = expected[static_cast<std::size_t>(i)];
    if (!(std::abs(d.out()[i] - e) <= 16 * std::numeric_limits<T>::epsilon() * (std::abs(e) + 1))) return false;
  }
  return true;
}

/// The same loop by others; `sleef`: null where there is none.
template <class T>
struct peers {
  loop<T> gcc, gcc256, sleef;
};

/// `weft_times(n)` runs weft's kernel n times on `d`.
template <class T>
void compare(report& r, char const* type, data<T> const& d, std::function<void(std::int64_t)> const& weft_times,
             peers<T> const& others) {
  auto const peer = [&](char const* name, loop<T> run) {
    return variant{text("%s %s", type, name), [&d, run](std::int64_t times) {
                     while (times-- > 0) run(d.operands());
                   }};
  };
  std::vector<variant> variants{{text("%s weft", type), weft_times}, peer("g++ -Ofast, libmvec", others.gcc)};
  if (weft::host().vector_bytes > 32) variants.push_back(peer("g++ -Ofast, 256 bits", others.gcc256));
  if (others.sleef != nullptr && sleef_available) variants.push_back(peer("SLEEF u10", others.sleef));
  weft_times(1);
  std::vector<T> const expected(d.out(), d.out() + d.count);
  for (variant const& v : variants) {
    std::fill_n(d.out(), d.count, std::numeric_limits<T>::quiet_NaN());
    v.run(1);
    if (!is_near(expected, d)) r.wrong(v.name + " differs from weft");
  }
  auto const figures = measure(variants, {r.wanted.rounds, 1});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    row line;
    line.variant = variants[i].name, line.unit = "ns", line.spread = figures[i].spread;
    line.median = figures[i].median / static_cast<double>(d.count);
    if (i > 0) {
      // How weft does, beside each peer.
      line.ratio = 1 / figures[i].ratio, line.reference = "weft over it";
      demand_at_least(line, line.ratio, 1, "x");
    }
    r.add(line);
  }
}

template <class T, bool Two, class Kernel>
void measured(report& r, char const* type, double low, double high, std::size_t bytes, Kernel const& kernel,
              peers<T> const& others) {
  data<T> const d(low, high, bytes);
  auto const repeat = [](std::int64_t times, auto const& ready, auto const&... arguments) {
    while (times-- > 0) ready(arguments...);
  };
  auto const weft_times = [&](std::int64_t times) {
    auto const x = weft::view(d.x(), d.count), y = weft::view(d.y(), d.count);
    auto const out = weft::out(d.out(), d.count);
    if constexpr (Two) repeat(times, kernel.prepare(x, y, d.a, d.b, out), x, y, d.a, d.b, out);
    else repeat(times, kernel.prepare(x, d.a, d.b, out), x, d.a, d.b, out);
  };
  compare<T>(r, type, d, weft_times, others);
}
}  // namespace

#define BENCH_SLEEF_OF(name) sleef_##name
#define BENCH_BYTES 8192
#define BENCH_ONE(name, low, high)                                                                     \
  void math_##name(report& r) {                                                                        \
    constexpr auto kernel = weft::kernel<"math_" #name>(                                               \
        [](auto x, auto a, auto b) {                                                                   \
          return weft::compute<"out">(x.extent(0), [=](auto i) { return a * weft::name(x(i)) + b; });  \
        });                                                                                            \
    measured<float, false>(r, "f32", low, high, BENCH_BYTES, kernel,                                   \
            {gcc_##name, gcc256_##name, BENCH_SLEEF_OF(name)});                                        \
    measured<double, false>(r, "f64", low, high, BENCH_BYTES, kernel,                                  \
            {gcc_##name, gcc256_##name, BENCH_SLEEF_OF(name)});                                        \
  }
#define BENCH_TWO(name, low, high)                                                                     \
  void math_##name(report& r) {                                                                        \
    constexpr auto kernel = weft::kernel<"math_" #name>(                                               \
        [](auto x, auto y, auto a, auto b) {                                                           \
          return weft::compute<"out">(x.extent(0),                                                     \
                                      [=](auto i) { return a * weft::name(x(i), y(i)) + b; });         \
        });                                                                                            \
    measured<float, true>(r, "f32", low, high, BENCH_BYTES, kernel,                                    \
            {gcc_##name, gcc256_##name, BENCH_SLEEF_OF(name)});                                        \
    measured<double, true>(r, "f64", low, high, BENCH_BYTES, kernel,                                   \
            {gcc_##name, gcc256_##name, BENCH_SLEEF_OF(name)});                                        \
  }
BENCH_MATH(BENCH_ONE, BENCH_TWO)
#undef BENCH_SLEEF_OF
#define BENCH_SLEEF_OF(name) nullptr
// A few of them take no longer than a call for as many elements as the first cache holds.
#undef BENCH_BYTES
#define BENCH_BYTES 65536
BENCH_MATH_ALONE(BENCH_ONE, BENCH_TWO)

}  // namespace bench
