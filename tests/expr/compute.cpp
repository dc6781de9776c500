#include "weft/expr/compute.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "expr/programs.hpp"
#include "weft/expr/formula.hpp"
#include "weft/expr/print.hpp"
#include "weft/expr/verify.hpp"
#include "weft/weft.hpp"

namespace {
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();

constexpr auto where_largest = weft::kernel<"where_largest">([](auto A) {
  auto z = weft::compute<"place", "largest">(
      A.extent(0), [=](auto i) { return weft::argmax(A.extent(1), [=](auto k) { return A(i, k); }); });
  return weft::outputs(weft::get<0>(z), weft::get<1>(z));
});
constexpr auto where_smallest = weft::kernel<"where_smallest">([](auto A) {
  return weft::compute<"place">(1, [=](auto) {
    return weft::argmin(A.extent(0), A.extent(1), [=](auto i, auto k) { return A(i, k); });
  });
});
constexpr auto complex_product = weft::kernel<"complex_product">([](auto X, auto Y) {
  auto multiply = [](auto a, auto b) {
    auto [ar, ai] = a;
    auto [br, bi] = b;
    return weft::values(ar * br - ai * bi, ar * bi + ai * br);
  };
  return weft::compute<"re", "im">(X.extent(0), [=](auto i) {
    return weft::reduce(weft::values(1, 0), multiply, X.extent(1),
                        [=](auto k) { return weft::values(X(i, k), Y(i, k)); });
  });
});
weft::tensor<float, 2> numbers(std::int64_t m, std::int64_t n, int step) {
  weft::tensor<float, 2> t(m, n);
  for (std::int64_t i = 0; i < m * n; ++i) t.data()[i] = static_cast<float>((i * step) % 17 - 8) / 8;
  return t;
}
}  // namespace

using namespace boost::hana::literals;

TEST_CASE("argmax is the first of the largest, NaN is larger than all, and of nothing it is -1") {
  struct {
    std::vector<float> row;
    std::int64_t place;
  } const cases[] = {{{1, 3, 2, 3}, 1},           {{-infinite, -infinite}, 0}, {{1, not_a_number, 5, not_a_number}, 1},
                     {{not_a_number, 1, 2}, 0},            {{0.f, -0.f}, 0},            {{-infinite, -5, infinite, infinite}, 2}};
  for (auto const& c : cases) {
    auto const n = static_cast<std::int64_t>(c.row.size());
    auto const r = where_largest(weft::view(c.row, 1, n));
    CHECK(r[0_c](0) == c.place);
    auto const e = weft::evaluate(where_largest, weft::view(c.row, 1, n));
    CHECK(e[0_c].values[0] == c.place);
    float const largest = c.row[static_cast<std::size_t>(c.place)];
    CHECK((r[1_c](0) == largest || (largest != largest && r[1_c](0) != r[1_c](0))));
  }
  weft::tensor<float, 2> none(3, 0);
  CHECK(where_largest(none)[0_c](2) == -1);
  CHECK(where_largest(none)[1_c](2) == -infinite);
}
TEST_CASE("argmin over two axes counts in row-major order") {
  weft::tensor<float, 2> a = numbers(5, 7, 5);
  a(3, 2) = -100;
  a(3, 4) = -100;
  CHECK(where_smallest(a)(0) == 3 * 7 + 2);
}
TEST_CASE("a reduction of two values that need each other agrees with a plain loop and with direct evaluation") {
  constexpr auto scheduled = weft::kernel<"scheduled">(complex_product.what, [](auto& s, auto, auto, auto z) {
    auto [i, k] = z.axes();
    auto [io, ii] = s.split(i, 8);
    auto [ko, ki] = s.split(k, 4);
    s.reorder(io, ko, ki, ii);
    s.unroll(ki);
    s.vectorize(ii);
    s.parallel(io);
  });
  for (std::int64_t m : {1, 3, 8, 29})
    for (std::int64_t n : {0, 1, 4, 11}) {
      weft::tensor<float, 2> const x = numbers(m, n, 5), y = numbers(m, n, 3);
      auto const plain = complex_product(x, y), fast = scheduled(x, y);
      auto const direct = weft::evaluate({.contract = weft::cpu().fma}, complex_product, x, y);
      for (std::int64_t i = 0; i < m; ++i) {
        auto const at = static_cast<std::size_t>(i);
        CHECK(plain[0_c](i) == direct[0_c].values[at]);
        CHECK(plain[1_c](i) == direct[1_c].values[at]);
        CHECK(fast[0_c](i) == direct[0_c].values[at]);
        CHECK(fast[1_c](i) == direct[1_c].values[at]);
        double re = 1, im = 0;
        for (std::int64_t k = 0; k < n; ++k) {
          double const r = re * x(i, k) - im * y(i, k);
          im = re * y(i, k) + im * x(i, k);
          re = r;
        }
        // Each step multiplies by at most |z| <= sqrt 2 and rounds 3 times a part.
        double const bound = 6 * static_cast<double>(n) * std::pow(1.4143, static_cast<double>(n)) * 0x1p-24;
        CHECK(std::abs(plain[0_c](i) - re) <= bound);
        CHECK(std::abs(plain[1_c](i) - im) <= bound);
      }
    }
}
TEST_CASE("where leaves elements out, and their tensors are not read") {
  constexpr auto positive = weft::kernel<"positive">([](auto A) {
    auto n = A.extent(0);
    // A(i + 1) would be out of bounds for the last.
    return weft::compute<"S">(1, [=](auto) {
      return weft::sum(n, [=](auto i) { return weft::where(i < n - 1, A(i + 1)); });
    });
  });
  std::vector<float> const a{1, 2, 3, 4};
  CHECK(positive(weft::view(a, 4))(0) == 9);
  constexpr auto first_small = weft::kernel<"first_small">([](auto A) {
    return weft::compute<"S">(1, [=](auto) {
      return weft::argmax(A.extent(0), [=](auto i) { return weft::where(A(i) < 3.5f, A(i)); });
    });
  });
  CHECK(first_small(weft::view(a, 4))(0) == 2);
}
TEST_CASE("prod, any and all, of elements and of none") {
  constexpr auto p = weft::kernel<"p">([](auto A) {
    return weft::compute<"P">(1, [=](auto) { return weft::prod(A.extent(0), [=](auto i) { return A(i); }); });
  });
  constexpr auto some = weft::kernel<"some">([](auto A) {
    return weft::compute<"P">(1, [=](auto) { return weft::any(A.extent(0), [=](auto i) { return A(i) > 2; }); });
  });
  constexpr auto each = weft::kernel<"each">([](auto A) {
    return weft::compute<"P">(1, [=](auto) { return weft::all(A.extent(0), [=](auto i) { return A(i) > 2; }); });
  });
  std::vector<float> const a{1.5f, 2, 4}, b{3, 4}, none;
  CHECK(p(weft::view(a, 3))(0) == 12);
  CHECK(p(weft::view(none, 0))(0) == 1);
  CHECK(some(weft::view(a, 3))(0));
  CHECK_FALSE(some(weft::view(none, 0))(0));
  CHECK_FALSE(each(weft::view(a, 3))(0));
  CHECK(each(weft::view(b, 2))(0));
  CHECK(each(weft::view(none, 0))(0));
}
TEST_CASE("a body of several values is several tensors, computed before any of them is written") {
  constexpr auto swap = weft::kernel<"swap">([](auto A, auto B) {
    return weft::compute<"sum", "difference">(A.extent(0),
                                              [=](auto i) { return weft::values(A(i) + B(i), A(i) - B(i)); });
  });
  std::vector<float> a{1, 2, 3, 4, 5}, b{5, 3, 1, -1, -3};
  auto const r = swap(weft::view(a, 5), weft::view(b, 5));
  CHECK(r[0_c](4) == 2);
  CHECK(r[1_c](4) == 8);
  swap(weft::view(a, 5), weft::view(b, 5), weft::out(a, 5), weft::out(b, 5));  // in place
  CHECK(a == std::vector<float>{6, 5, 4, 3, 2});
  CHECK(b == std::vector<float>{-4, -1, 2, 5, 8});
}
TEST_CASE("a program of several results is verified, printed, read back and described") {
  weft::program p;
  auto const A = weft_test::input<float, 2>(p, "A");
  auto const z = weft::compute<"place", "largest">(
      A.extent(0), [=](auto i) { return weft::argmax(A.extent(1), [=](auto k) { return A(i, k); }); });
  p.outputs.push_back(weft::get<0>(z).id);
  weft::program const c = weft::canonical(p);
  CHECK(weft::fault_of(c).empty());
  std::string const text = weft::print(c);
  INFO(text);
  weft::program const back = weft::parse_program(text);
  CHECK(weft::print(back) == text);
  CHECK(weft::digest(back) == weft::digest(c));
  CHECK(weft::formula(c, 0).substr(0, 71) == "place[i], largest[i] = reduction over j < A.extent(1) from -1, -inf of ");
}
TEST_CASE("unnamed values of a reduction stay inside the stage") {
  constexpr auto k = weft::kernel<"k">([](auto A) {
    return weft::compute<"place">(A.extent(0),
                                  [=](auto i) { return weft::argmax(A.extent(1), [=](auto j) { return A(i, j); }); });
  });
  CHECK(k(numbers(4, 9, 7))(1) == weft::evaluate(k, numbers(4, 9, 7)).values[1]);
}
