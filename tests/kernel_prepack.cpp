// What is made of constants is made once: prepack and weft::constant.
#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/kernels.hpp"
#include "weft/debug.hpp"
#include "weft/dim.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ir/print.hpp"
#include "weft/weft.hpp"

namespace {

constexpr auto product = [](auto A, auto B) {
  auto const m = A.extent(0), k = A.extent(1), n = B.extent(1);
  return weft::compute<"C">(m, n, [=](auto i, auto j) {
    return weft::sum(k, [=](auto x) { return A(i, x) * B(x, j); });
  });
};
inline constexpr auto dense = weft::kernel<"dense">(product, [](auto& s, auto, auto B, auto C) {
  auto packed = s.transform_layout(s.cache_read(B, C), [](auto k, auto n) { return weft::dims(n / 8, k, n % 8); });
  s.prepack(packed);
  auto [i, j, k] = C.axes();
  auto [jo, ji] = s.split(j, 8);
  s.reorder(i, jo, k, ji);
  s.vectorize(ji);
});
inline constexpr auto plain = weft::kernel<"dense">(product);

struct problem {
  std::vector<float> a, b, c, expected;
  std::int64_t m, k, n;
  problem(std::int64_t rows, std::int64_t depth, std::int64_t columns)
      : a(static_cast<std::size_t>(rows * depth)), b(static_cast<std::size_t>(depth * columns)),
        c(static_cast<std::size_t>(rows * columns)), expected(c), m(rows), k(depth), n(columns) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 1;
    plain(weft::view(a, m, k), weft::view(b, k, n), weft::out(expected, m, n));
  }
  auto left() const { return weft::view(a, m, k); }
  auto right() const { return weft::view(b, k, n); }
  auto result() { return weft::out(c, m, n); }
};

}  // namespace

TEST_CASE("of a constant of which nothing is read at these sizes, nothing is kept") {
  static constexpr auto third = weft::kernel<"third">(
      [](auto A) {
        auto const n = A.extent(0), m = A.extent(1);
        auto const roots = weft::compute<"roots">(n, m, [=](auto i, auto j) { return weft::sqrt(A(i, j)); });
        auto const by_size = weft::compute<"by_size">(m, [=](auto j) { return weft::select(n > 2, roots(2, j), 0.25F); });
        auto const by_range = weft::compute<"by_range">(m, [=](auto j) { return weft::select(j + n > 6, roots(2, j), 0.25F); });
        return weft::outputs(by_size, by_range);
      },
      [](auto& s, auto, auto roots, auto, auto) { s.prepack(roots); });
  for (std::int64_t rows : {1, 3}) {
    std::vector<float> a(static_cast<std::size_t>(rows * 5), 9.0F), c(5), d(5);
    weft::constant const weights(weft::view(a, rows, 5));
    std::vector<float> const first(5, rows > 2 ? 3.0F : 0.25F);
    std::vector<float> second(5, 0.25F);
    second[4] = first[4];
    for (int call = 0; call < 2; ++call) {
      c.assign(5, 0), d.assign(5, 0);
      third(weights, weft::out(c, 5), weft::out(d, 5));
      CHECK(c == first);
      CHECK(d == second);
    }
  }
}
TEST_CASE("what is made of a constant is made by the first call and read by the later ones") {
  problem p(5, 9, 21);
  weft::constant weights(p.right());
  dense(p.left(), weights, p.result());
  CHECK(p.c == p.expected);
  // To see that it is not read again; nobody else may do this.
  std::vector<float> const kept = p.b;
  p.b.assign(p.b.size(), 100.0F);
  p.c.assign(p.c.size(), 0);
  dense(p.left(), weights, p.result());
  CHECK(p.c == p.expected);
  auto const prepared = dense.prepare(p.left(), weights, p.result());
  p.c.assign(p.c.size(), 0);
  prepared(p.left(), weights, p.result());
  CHECK(p.c == p.expected);
  SUBCASE("until it is said to have changed") {
    weights.changed();
    dense(p.left(), weights, p.result());
    CHECK(p.c != p.expected);
    p.b = kept;
    weights.changed();
    dense(p.left(), weights, p.result());
    CHECK(p.c == p.expected);
  }
  SUBCASE("of another constant with the same elements it is made anew") {
    weft::constant const others(p.right());
    dense(p.left(), others, p.result());
    CHECK(p.c != p.expected);
  }
  SUBCASE("of a view in each call") {
    dense(p.left(), p.right(), p.result());
    CHECK(p.c != p.expected);
    p.b = kept;
    dense(p.left(), p.right(), p.result());
    CHECK(p.c == p.expected);
  }
  SUBCASE("for other rows too, which are another form of the kernel") {
    p.b = kept;
    problem q(6, 9, 21);
    dense(q.left(), weights, q.result());
    CHECK(q.c == q.expected);
    p.b.assign(p.b.size(), 100.0F);
    q.c.assign(q.c.size(), 0);
    dense(q.left(), weights, q.result());
    CHECK(q.c == q.expected);
  }
  SUBCASE("checked code makes it in each call") {
    auto const checked = dense.with({.checked = true});
    checked(p.left(), weights, p.result());
    CHECK(p.c != p.expected);
  }
}

TEST_CASE("docs/schedule.md: the same weights in two calls") {
  std::vector<float> x(std::size_t{8 * 512}, 1.0F), w(std::size_t{512 * 256}, 0.5F), y(std::size_t{8 * 256});
  weft::constant weights(weft::view(w, 512, 256));
  dense(weft::view(x, 8, 512), weights, weft::out(y, 8, 256));  // packs them
  dense(weft::view(x, 8, 512), weights, weft::out(y, 8, 256));  // reads what was packed
  CHECK(y == std::vector<float>(y.size(), 256.0F));
}

TEST_CASE("a kernel that prepacks nothing takes a constant as the view that it was made of") {
  problem p(3, 4, 6);
  weft::constant const weights(p.right());
  plain(p.left(), weights, p.result());
  CHECK(p.c == p.expected);
  p.b.assign(p.b.size(), 0.0F);
  plain(p.left(), weights, p.result());
  CHECK(p.c == std::vector<float>(p.c.size(), 0.0F));
}

TEST_CASE("two constants of one kernel: what either is decides") {
  auto const both = weft::kernel<"both">(
      [](auto x, auto u, auto v) {
        return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) * u(i) + v(i); });
      },
      [](auto& s, auto, auto u, auto v, auto y) {
        s.prepack(s.cache_read(u, y));
        s.prepack(s.cache_read(v, y));
      });
  std::vector<float> const x{1, 2, 3};
  std::vector<float> u{4, 5, 6}, v{7, 8, 9}, y(3);
  weft::constant const cu(weft::view(u));
  weft::constant cv(weft::view(v));
  both(x, cu, cv, weft::out(y));
  CHECK(y == std::vector<float>{11, 18, 27});
  u.assign(3, 0.0F), v.assign(3, 0.0F);
  both(x, cu, cv, weft::out(y));
  CHECK(y == std::vector<float>{11, 18, 27});
  cv.changed();
  both(x, cu, cv, weft::out(y));  // one memory for both
  CHECK(y == std::vector<float>{0, 0, 0});
  u.assign(3, 1.0F);
  both(x, cu, v, weft::out(y));  // v as a range: of u alone, which this form has not made yet
  CHECK(y == std::vector<float>{1, 2, 3});
}

TEST_CASE("open sizes: each constant has its own") {
  problem p(4, 9, 21), q(7, 3, 8);
  auto const call = [](problem& of, auto const& weights) {
    dense(weft::view(of.a, weft::dim<"m">(of.m), weft::dim<"k">(of.k)), weights,
          weft::out(of.c, weft::dim<"m">(of.m), weft::dim<"n">(of.n)));
  };
  auto const right = [](problem const& of) {
    return weft::view(of.b, weft::dim<"k">(of.k), weft::dim<"n">(of.n));
  };
  weft::constant const of_p(right(p)), of_q(right(q));
  for (int again = 0; again < 2; ++again) {
    call(p, of_p);
    CHECK(p.c == p.expected);
    call(q, of_q);
    CHECK(q.c == q.expected);
    p.b.assign(p.b.size(), 0.0F), q.b.assign(q.b.size(), 0.0F);
  }
}

TEST_CASE("threads: one makes it, the others wait") {
  for (int round = 0; round < 20; ++round) {
    problem p(5, 64, 64);
    weft::constant const weights(p.right());
    std::vector<std::vector<float>> results(4, std::vector<float>(p.c.size()));
    std::vector<std::thread> threads;
    for (auto& r : results)
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i) dense(p.left(), weights, weft::out(r, p.m, p.n));
      });
    for (auto& t : threads) t.join();
    for (auto const& r : results) CHECK(r == p.expected);
  }
}

TEST_CASE("no output stands in a constant") {
  auto const twice = weft::kernel<"twice">([](auto x) {
    return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + x(i); });
  });
  std::vector<float> x{1, 2, 3};
  weft::constant const c(weft::view(x));
  CHECK_REFUSED("output y overlaps the constant A, whose elements stay", twice(c, weft::out(x)));
}

TEST_CASE("the loop program says what is kept, and its text comes back") {
  problem p(5, 9, 21);
  weft::constant const weights(p.right());
  std::string const text = dense.ir(p.left(), weights, p.result());
  CHECK(text.find("scalars there: bool") != std::string::npos);
  CHECK(text.find(" in kept written") != std::string::npos);
  weft::ir::arena m;
  CHECK(weft::ir::print(weft::ir::parse(m, text)) == text);
  CHECK(dense.ir(p.left(), p.right(), p.result()).find("kept") == std::string::npos);
  CHECK(dense.loops(p.left(), weights, p.result()).find("kept for later calls") != std::string::npos);
}
