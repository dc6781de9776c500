// Lesson 6: softmax, or rows that depend on all of themselves.
//
//     y(i, j) = exp(x(i, j) - m(i)) / s(i)    m(i): the largest of row i, s(i): the sum of exp(x(i, j) - m(i))
//
// A reduction is a stage; a stage that reads it comes after it. Twice the same: once in four stages, and once with a
// reduction of our own that finds m and s in one pass.
//
// runs: in under 5 s

#include <weft/weft.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

inline constexpr auto four_stages = weft::kernel<"four_stages">(
    [](auto x) {
      auto R = x.extent(0), C = x.extent(1);
      auto m = weft::compute<"m">(R, [=](auto i) { return weft::max(C, [=](auto j) { return x(i, j); }); });
      auto e = weft::compute<"e">(R, C, [=](auto i, auto j) { return weft::exp(x(i, j) - m(i)); });
      auto s = weft::compute<"s">(R, [=](auto i) { return weft::sum(C, [=](auto j) { return e(i, j); }); });
      return weft::compute<"y">(R, C, [=](auto i, auto j) { return e(i, j) / s(i); });
    },
    [](auto& s, auto, auto m, auto e, auto sum, auto y) {
      // Reductions keep their order, so it is rows that stand side by side in a vector.
      for (auto const& rows : {m.axes(), sum.axes()}) {
        auto const lanes = s.split(rows[0], 8);
        s.reorder(lanes[0], rows[1], lanes[1]);
        s.vectorize(lanes[1]);
      }
      for (auto const& elements : {e.axes(), y.axes()}) {
        s.vectorize(s.split(elements[1], 32)[1]);
        s.parallel(elements[0]);
      }
    });

// The pair (m, s) of a part of a row; two parts make one: the sums are brought to the larger of both m.
constexpr auto join = [](auto const& a, auto const& b) {
  auto const m = weft::max(weft::get<0>(a), weft::get<0>(b));
  return weft::values(
      m, weft::get<1>(a) * weft::exp(weft::get<0>(a) - m) + weft::get<1>(b) * weft::exp(weft::get<0>(b) - m));
};
inline constexpr auto one_pass = weft::kernel<"one_pass">(
    [](auto x) {
      auto R = x.extent(0), C = x.extent(1);
      auto ms = weft::compute<"m", "s">(R, [=](auto i) {
        return weft::reduce(weft::values(-3.0e38f, 0.0f), join, C, [=](auto j) {
          return weft::values(x(i, j), weft::cast<float>(1 + 0 * j));  // one element: itself, and exp(0)
        });
      });
      auto m = weft::get<0>(ms), s = weft::get<1>(ms);
      auto y = weft::compute<"y">(R, C, [=](auto i, auto j) { return weft::exp(x(i, j) - m(i)) / s(i); });
      return weft::outputs(y, m, s);  // several outputs; without weft::out they come back together
    },
    [](auto& s, auto, auto ms, auto y) {
      auto const lanes = s.split(ms.axes()[0], 8);
      s.reorder(lanes[0], ms.axes()[1], lanes[1]);
      s.vectorize(lanes[1]);
      s.vectorize(s.split(y.axes()[1], 32)[1]);
      s.parallel(y.axes()[0]);
    });

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
/// The best of five, in ms; the first call compiles and does not count.
template <class F>
double time_of(F const& f) {
  f();
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    double const begin = now_ms();
    f();
    best = std::min(best, now_ms() - begin);
  }
  return best;
}

void plain(std::vector<float> const& x, std::vector<float>& y, std::size_t rows, std::size_t cols) {
  for (std::size_t i = 0; i < rows; ++i) {
    float const* const in = x.data() + i * cols;
    float* const out = y.data() + i * cols;
    float const m = *std::max_element(in, in + cols);
    float s = 0;
    for (std::size_t j = 0; j < cols; ++j) s += out[j] = std::exp(in[j] - m);
    for (std::size_t j = 0; j < cols; ++j) out[j] /= s;
  }
}
/// The largest relative error against sums in double, and how far the worst row's sum is from 1.
struct accuracy {
  double relative = 0, row_sum = 0;
};
accuracy accuracy_of(std::vector<float> const& x, std::vector<float> const& y, std::size_t rows, std::size_t cols) {
  accuracy a;
  for (std::size_t i = 0; i < rows; ++i) {
    double const m = static_cast<double>(*std::max_element(&x[i * cols], &x[i * cols] + cols));
    double s = 0, all = 0;
    for (std::size_t j = 0; j < cols; ++j) s += std::exp(static_cast<double>(x[i * cols + j]) - m);
    for (std::size_t j = 0; j < cols; ++j) {
      double const want = std::exp(static_cast<double>(x[i * cols + j]) - m) / s,
                   got = static_cast<double>(y[i * cols + j]);
      a.relative = std::max(a.relative, std::abs(got / want - 1));
      all += got;
    }
    a.row_sum = std::max(a.row_sum, std::abs(all - 1));
  }
  return a;
}

int main() {
  std::size_t const rows = 250, cols = 1000;
  std::vector<float> x(rows * cols), y(rows * cols), m(rows), s(rows);
  std::mt19937 random(5);
  for (float& v : x) v = std::uniform_real_distribution<float>(-10, 10)(random);
  auto const in = weft::view(x, rows, cols);
  auto const out = weft::out(y, rows, cols);

  // A sum of n floats is within n roundings of the exact one, an element three more: the difference, exp and quotient.
  double const bound = std::ldexp(static_cast<double>(cols) + 20, -24);
  bool all_right = true;
  std::printf("%zu x %zu       %10s %16s %16s\n", rows, cols, "ms", "relative error", "a row's sum - 1");
  auto const line = [&](char const* name, double ms) {
    accuracy const a = accuracy_of(x, y, rows, cols);
    all_right = all_right && a.relative <= bound && a.row_sum <= bound;
    std::printf("%-16s %10.3f %16.1e %16.1e\n", name, ms, a.relative, a.row_sum);
    std::fill(y.begin(), y.end(), -1.0f);
  };
  line("loops in C++", time_of([&] { plain(x, y, rows, cols); }));
  line("four stages", time_of([&] { four_stages(in, out); }));
  line("one pass", time_of([&] { one_pass(in, out, weft::out(m), weft::out(s)); }));

  // Large numbers do not overflow, since the largest of a row is taken away first.
  float const large[] = {1000, 1001, 1002};
  weft::tensor<float, 2> const p = four_stages(weft::view(large, 1, 3));
  std::printf("\nsoftmax(1000, 1001, 1002) = %.4f %.4f %.4f\n\n", static_cast<double>(p(0, 0)),
              static_cast<double>(p(0, 1)), static_cast<double>(p(0, 2)));
  std::printf("The loops of one_pass:\n\n%s", one_pass.loops(in, out, weft::out(m), weft::out(s)).c_str());
  return all_right ? 0 : 1;
}
