#include "weft/shapes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "pass/text.hpp"
#include "support/private_cache.hpp"
#include "support/products.hpp"
#include "weft/dim.hpp"
#include "weft/direct.hpp"
#include "weft/expr/exact.hpp"
#include "weft/expr/math/functions.hpp"
#include "weft/lower/work.hpp"
#include "weft/runtime/constant.hpp"

using weft::compute, weft::sum, weft::view, weft::out;
using weft_test::numbers, weft_test::matrix_product, weft_test::small_tiles;

namespace {

constexpr auto add_two = [](auto x, auto y) { return compute<"z">(x.extent(0), [=](auto i) { return x(i) + y(i); }); };

template <class Kernel>
bool multiplies(Kernel const& kernel, std::int64_t m, std::int64_t k, std::int64_t n) {
  return weft_test::operands{m, k, n}.runs(kernel);
}
template <class F>
std::uint64_t compiled_by(F const& f) {
  std::uint64_t const before = weft::compilations();
  f();
  return weft::compilations() - before;
}
template <class Kernel>
std::string forms_of(Kernel const& kernel) {
  float x[1] = {};
  return weft::forms(kernel, view(x, 1, 1), view(x, 1, 1), out(x, 1, 1));
}

}  // namespace

TEST_CASE("after so many shapes one form serves those that follow") {
  auto const matmul = weft::kernel<"matmul">(matrix_product, small_tiles).with({.exact_shapes = 3});
  CHECK(compiled_by([&] {
          for (std::int64_t m : {3, 4, 7, 3, 7}) CHECK(multiplies(matmul, m, 24, 40));
        }) == 3);
  CHECK(compiled_by([&] {
          for (std::int64_t m : {5, 2, 16, 11, 4, 13, 6}) CHECK(multiplies(matmul, m, 24, 40));
        }) == 1);
  CHECK(forms_of(matmul) ==
        "3 for one shape each:\n"
        "  A 3 x 24, B 24 x 40, C 3 x 40\n"
        "  A 4 x 24, B 24 x 40, C 4 x 40\n"
        "  A 7 x 24, B 24 x 40, C 7 x 40\n"
        "1 for many shapes:\n"
        "  A A0 x 24, B 24 x 40, C ? x 40; A0 in 2..16\n");
}
TEST_CASE("by rule, open sizes of each range") {
  auto const matmul = weft::kernel<"matmul">(matrix_product).with({.exact_shapes = 1});
  CHECK(multiplies(matmul, 33, 65, 70));
  for (std::int64_t m : {2, 5, 8, 15, 16, 17, 40, 128, 129, 200})
    for (std::int64_t k : {2, 64, 131})
      for (std::int64_t n : {3, 16, 64, 130}) CHECK(multiplies(matmul, m, k, n));
  std::string const forms = forms_of(matmul);
  CHECK(forms.find("17 for many shapes") != std::string::npos);
  CHECK(forms.find("A0 in 2..16; B0 in 129..1024; B1 in 17..128\n") != std::string::npos);
  CHECK(forms.find("A0 from 2; B0 from 2; B1 from 2\n") != std::string::npos);
}

TEST_CASE("the ranges of small and of large sizes, and what divides all that were met") {
  auto const add = weft::kernel<"add">(add_two).with({.exact_shapes = 2});
  std::vector<float> const x = numbers(4096), y = numbers(4096, 7);
  std::vector<float> z(4096);
  auto const adds = [&](std::int64_t n) {
    std::fill(z.begin(), z.end(), -1.0f);
    add(view(x.data(), n), view(y.data(), n), out(z.data(), n));
    for (std::size_t i = 0; i < z.size(); ++i)
      if (z[i] != (i < static_cast<std::size_t>(n) ? x[i] + y[i] : -1.0f)) return false;
    return true;
  };
  CHECK(compiled_by([&] {
          for (std::int64_t n : {192, 320, 256, 192, 832, 1024, 960}) CHECK(adds(n));
        }) == 3);
  CHECK(compiled_by([&] { CHECK(adds(500)); }) == 1);  // nothing divides it
  CHECK(compiled_by([&] {
          for (std::int64_t n : {129, 1001, 640}) CHECK(adds(n));
        }) == 0);
  CHECK(compiled_by([&] {
          for (std::int64_t n : {1025, 4000, 16, 2, 3, 100, 17}) CHECK(adds(n));
        }) == 3);
  CHECK(compiled_by([&] { CHECK(adds(1)); }) == 1);  // a number
  float u[1] = {};
  CHECK(weft::forms(add, view(u, 1), view(u, 1), out(u, 1)) ==
        "3 for one shape each:\n"
        "  A 192, B 192, z 192\n"
        "  A 320, B 320, z 320\n"
        "  A 1, B 1, z 1\n"
        "5 for many shapes:\n"
        "  A A0, B A0, z ?; A0 in 129..1024, divided by 64\n"
        "  A A0, B A0, z ?; A0 in 129..1024\n"
        "  A A0, B A0, z ?; A0 from 1025\n"
        "  A A0, B A0, z ?; A0 in 2..16\n"
        "  A A0, B A0, z ?; A0 in 17..128\n");
}
TEST_CASE("a kernel does not get more forms than shapes, ranges and one for all") {
  auto const add = weft::kernel<"add">([](auto a, auto b) {
    return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) + b(i, j); });
  }).with({.exact_shapes = 1});
  std::vector<float> const x = numbers(1500 * 40);
  std::vector<float> z(x.size());
  std::uint64_t const made = compiled_by([&] {
    for (std::int64_t m = 2; m < 40; ++m)
      for (std::int64_t n : {2, 3, 7, 16, 20, 100, 128, 131, 1000, 1400, 1500}) {
        add(view(x.data(), m, n), view(x.data(), m, n), out(z.data(), m, n));
        for (std::int64_t i = 0; i < m * n; ++i)
          if (z[static_cast<std::size_t>(i)] != 2 * x[static_cast<std::size_t>(i)]) FAIL("wrong at ", m, " x ", n);
      }
  });
  CHECK(made >= 9);
  CHECK(made <= 1 + 16 + 4);
}
TEST_CASE("two extents have a form in each of their ranges, and only then there is one for all sizes") {
  auto const add = weft::kernel<"add">([](auto a) {
    return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) + 1; });
  }).with({.exact_shapes = 0});
  std::vector<float> const x = numbers(1100 * 1100);
  std::vector<float> z(x.size());
  auto const call = [&](std::int64_t m, std::int64_t n) { add(view(x.data(), m, n), out(z.data(), m, n)); };
  auto const forms = [&] { return weft::forms(add, view(x, 1, 1), out(z, 1, 1)); };
  for (std::int64_t m : {5, 50, 300, 1100})
    for (std::int64_t n : {5, 50, 300, 1100}) call(m, n);
  INFO(forms());
  CHECK(forms().find("16 for many shapes") != std::string::npos);
  CHECK(forms().find("from 2") == std::string::npos);
}
TEST_CASE("what cannot be open goes on with code for each shape") {
  auto const whole = weft::kernel<"whole">(add_two, [](auto& s, auto, auto, auto z) { s.vectorize(z.axes()[0]); }).with({.exact_shapes = 2});
  std::vector<float> const x = numbers(64);
  std::vector<float> z(64);
  CHECK(compiled_by([&] {
          for (std::int64_t n : {8, 16, 24, 32, 40, 48}) {
            whole(view(x.data(), n), view(x.data(), n), out(z.data(), n));
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) CHECK(z[i] == 2 * x[i]);
          }
        }) == 6);
}
TEST_CASE("one axis that walks two arguments keeps them equal, and what is wrong is said in the same words") {
  auto const add = weft::kernel<"add">(add_two).with({.exact_shapes = 1});
  std::vector<float> const x = numbers(64);
  std::vector<float> z(64);
  for (std::int64_t n : {10, 11, 12}) add(view(x.data(), n), view(x.data(), n), out(z.data(), n));
  CHECK_THROWS_WITH_AS(add(view(x.data(), 12), view(x.data(), 13), out(z.data(), 12)),
                       "add: B.extent(0) = 13 and A.extent(0) = 12 must be equal: one axis walks both", weft::argument_error);
  auto const window = weft::kernel<"window">([](auto a, auto w) {
    return compute<"y">(a.extent(0) - w.extent(0) + 1, [=](auto i) { return sum(w.extent(0), [=](auto k) { return a(i + k) * w(k); }); });
  }).with({.exact_shapes = 1});
  std::vector<float> y(64);
  for (std::int64_t n : {10, 20, 30})
    for (std::int64_t k : {3, 5}) window(view(x.data(), n), view(x.data(), k), out(y.data(), n - k + 1));
  CHECK_THROWS_AS(window(view(x.data(), 3), view(x.data(), 9), out(y.data(), 1)), weft::argument_error);
}
TEST_CASE("outputs that are left out, captured values, strides, and a prepared kernel of open sizes") {
  for (float const factor : {2.0f, 3.0f}) {
    auto const scaled = weft::kernel<"scaled">([factor](auto x) {
      return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * factor; });
    }).with({.exact_shapes = 2});
    for (std::int64_t n : {3, 4, 5, 6, 7}) {
      std::vector<float> const a = numbers(n * 20);
      auto const made = scaled(view(a.data(), n, 10).strided(20, 1));
      REQUIRE(made.extent(0) == n);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < 10; ++j) CHECK(made(i, j) == factor * a[static_cast<std::size_t>(i * 20 + j)]);
    }
  }
  auto const add = weft::kernel<"add">(add_two).with({.exact_shapes = 0});
  std::vector<float> const v = numbers(64);
  std::vector<float> z(64);
  auto const ready = add.prepare(view(v.data(), 5), view(v.data(), 5), out(z.data(), 5));
  for (std::int64_t n : {5, 9, 16}) {
    ready(view(v.data(), n), view(v.data(), n), out(z.data(), n));
    CHECK(z[static_cast<std::size_t>(n - 1)] == 2 * v[static_cast<std::size_t>(n - 1)]);
  }
  CHECK_THROWS_AS(ready(view(v.data(), 17), view(v.data(), 17), out(z.data(), 17)), weft::argument_error);  // of another range
}
TEST_CASE("a dimension that is broadcast in some calls only") {
  auto const biased = weft::kernel<"biased">([](auto a, auto b) {
    return compute<"y">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) + b(weft::select(b.extent(0) == 1, 0, i), j); });
  }).with({.exact_shapes = 1});
  for (std::int64_t m : {3, 4, 5, 1, 6})
    for (std::int64_t rows : {std::int64_t(1), m}) {
      std::vector<float> const a = numbers(m * 8), b = numbers(rows * 8, 7);
      std::vector<float> y(a.size());
      biased(view(a, m, 8), view(b, rows, 8), out(y, m, 8));
      for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == a[i] + b[rows == 1 ? i % 8 : i]);
    }
}
TEST_CASE("in place, and constants of which packed copies are kept") {
  auto const more = weft::kernel<"more">([](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); })
                        .with({.exact_shapes = 1});
  std::vector<float> x = numbers(50);
  std::vector<float> const before = x;
  for (std::int64_t n : {20, 30, 40, 50}) more(view(x.data(), n), out(x.data(), n));
  CHECK(x[0] == before[0] + 4);
  CHECK(x[49] == before[49] + 1);

  auto const matmul = weft::kernel<"matmul">(matrix_product).with({.exact_shapes = 1});
  std::vector<float> const b = numbers(140 * 200, 7), b2 = numbers(150 * 210, 3);
  weft::constant const first(view(b, 140, 200)), second(view(b2, 150, 210));
  auto const is_right = [&](std::int64_t m, auto const& w, std::vector<float> const& of, std::int64_t k, std::int64_t n) {
    std::vector<float> const a = numbers(m * k);
    std::vector<float> c(static_cast<std::size_t>(m * n));
    matmul(view(a, m, k), w, out(c, m, n));
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float want = 0;
        for (std::int64_t l = 0; l < k; ++l)
          want += a[static_cast<std::size_t>(i * k + l)] * of[static_cast<std::size_t>(l * n + j)];
        if (c[static_cast<std::size_t>(i * n + j)] != want) return false;
      }
    return true;
  };
  for (std::int64_t m : {130, 140, 150, 160}) {
    CHECK(is_right(m, first, b, 140, 200));
    CHECK(is_right(m, second, b2, 150, 210));
  }
}
TEST_CASE("a stage that reads rows of others, by rule and of open sizes: softmax, windows and their borders, a running sum, a transpose") {
  auto const softmax = weft::kernel<"softmax">([](auto x) {
    auto const rows = x.extent(0), n = x.extent(1);
    auto top = compute<"top">(rows, [=](auto i) { return weft::max(n, [=](auto k) { return x(i, k); }); });
    auto e = compute<"e">(rows, n, [=](auto i, auto j) { return weft::exp(x(i, j) - top(i)); });
    auto total = compute<"total">(rows, [=](auto i) { return sum(n, [=](auto k) { return e(i, k); }); });
    return compute<"y">(rows, n, [=](auto i, auto j) { return e(i, j) / total(i); });
  });
  auto const blurred = weft::kernel<"blurred">([](auto x) {
    auto const h = x.extent(0) - 2, w = x.extent(1) - 2;
    auto across = compute<"across">(x.extent(0), w, [=](auto i, auto j) { return x(i, j) + x(i, j + 1) + x(i, j + 2); });
    return compute<"y">(h, w, [=](auto i, auto j) { return across(i, j) + across(i + 1, j) + across(i + 2, j); });
  });
  auto const running = weft::kernel<"running">([](auto x) {
    return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return sum(weft::up_to(j), [=](auto k) { return x(i, k); }); });
  });
  auto const turned = weft::kernel<"turned">([](auto x) {
    return compute<"y">(x.extent(1), x.extent(0), [=](auto i, auto j) { return x(j, i); });
  });
  auto const mirrored = weft::kernel<"mirrored">([](auto x) {  // at its borders
    auto const at = [=](auto i, auto n) {
      auto const k = i % (2 * n - 2);
      return weft::min(k, 2 * n - 2 - k);
    };
    auto total = compute<"total">(x.extent(0), x.extent(1), [=](auto i, auto j) {
      return sum(3, 3, [=](auto k, auto l) { return x(at(i + k - 1, x.extent(0)), at(j + l - 1, x.extent(1))); });
    });
    return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return total(i, j) / 9; });
  });
  auto const held = weft::kernel<"held">([](auto x) {
    return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) {
      auto const at = [=](int d) { return x(i, weft::clamp(j + d, 0, x.extent(1) - 1)); };
      return at(-2) + at(0) + at(2);
    });
  });
  // Of every second pixel, in rows that may be shorter than a vector.
  auto const pooled = weft::kernel<"pooled">([](auto x) {
    return compute<"y">((x.extent(0) + 1) / 2, (x.extent(1) + 1) / 2, [=](auto i, auto j) {
      return weft::max(3, 3, [=](auto k, auto l) {
        auto const p = 2 * i + k - 1, q = 2 * j + l - 1;
        return weft::where(0 <= p && p < x.extent(0) && 0 <= q && q < x.extent(1), x(p, q));
      });
    });
  });
  auto const agree = [](auto const& kernel, std::int64_t m, std::int64_t n) {
    std::vector<float> const x = numbers(m * n);
    auto const open = kernel.with({.exact_shapes = 0})(view(x, m, n));
    auto const direct = weft::evaluate({.contract = weft::cpu().fma}, kernel, view(x, m, n));
    for (std::size_t i = 0; i < direct.size(); ++i)
      if (!(std::abs(open.data()[i] - direct[i]) <= 1e-5f * (1 + std::abs(direct[i])))) return false;
    return true;
  };
  for (std::int64_t m : {3, 16, 33})
    for (std::int64_t n : {4, 16, 70, 150}) {
      CHECK(agree(softmax, m, n));
      CHECK(agree(blurred, m, n));
      CHECK(agree(running, m, n));
    }
  for (std::int64_t m : {2, 3, 16, 65, 128})
    for (std::int64_t n : {2, 5, 16, 70, 160}) {
      CHECK(agree(pooled, m, n));
      CHECK(agree(turned, m, n));
      CHECK(agree(mirrored, m, n));
      CHECK(agree(held, m, n));
    }
}

TEST_CASE("an open axis is vectorized or unrolled only where what is read of it is bounded") {
  constexpr auto doubled = [](auto x) {
    auto const t = compute<"t">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * 2; });
    return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return t(i, j) + t(i, weft::min(j + 1, x.extent(1) - 1)); });
  };
  std::vector<float> const data(7 * 40, 1.0f);
  auto const x = view(data, weft::dim<"m">(7), weft::dim<"n">(40));
  auto const vectors = weft::kernel<"vectors">(doubled, [](auto& s, auto, auto t, auto y) { s.compute_at(t, y.axes()[0]), s.vectorize(t.axes()[1]); });
  auto const copies = weft::kernel<"copies">(doubled, [](auto& s, auto, auto t, auto y) { s.compute_at(t, y.axes()[0]), s.unroll(t.axes()[1]); });
  CHECK_THROWS_WITH_AS(static_cast<void>(vectors.ir(x)), doctest::Contains("vectorize: a vectorized axis has an open extent"), weft::schedule_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(copies.ir(x)), doctest::Contains("in    stage t, axis j"), weft::schedule_error);
}
TEST_CASE("elements_written: loops of likely sizes, a tile that computes all of a stage again, the longer way of a branch") {
  auto const written = [](char const* body) { return weft::elements_written(weft_test::from_text(body).f, {100}); };
  CHECK(written("  for i in 0..n:\n    B[i] = A[i]\n") == 100);
  CHECK(written("  for i in 0..n // 10:\n    for j in 0..n:\n      B[j] = A[j]\n    for k in 0..10:\n      C[0, k] = B[k]\n") == 10 * (100 + 10));
  CHECK(written("  for i in 0..4:\n    if i < 2:\n      B[i] = A[i]\n    else:\n      for j in 0..3:\n        B[j] = A[i]\n") == 4 * 3);
}
TEST_CASE("a shape that has code of its own keeps it where that needs memory and the code for many shapes needs none") {
  auto const total = weft::kernel<"total_of_rows">([](auto x) {
                       return weft::exact::stage<"y">([=] { return sum(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j); }); });
                     }).with({.exact_shapes = 1});
  std::vector<float> x(3 * 200001);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * static_cast<float>(i % 31) + static_cast<float>(i % 13);  // sums of these hang on their order
  auto const call = [&](std::int64_t n) {
    float y = -1;
    total(view(x, n, 3), out(&y));
    return y;
  };
  float const first = call(200000);
  static_cast<void>(call(200001));
  float y_of_forms = 0;
  std::string const forms = weft::forms(total, view(x, 1, 3), out(&y_of_forms));
  INFO(forms);
  CHECK(forms.find("1 for many shapes") != std::string::npos);
  CHECK(call(200000) == first);  // the same code: the same bits
}
