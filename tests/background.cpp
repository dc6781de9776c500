#include "weft/background.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/private_cache.hpp"
#include "support/products.hpp"
#include "weft/kernel.hpp"
#include "weft/shapes.hpp"

using weft::compute, weft::sum, weft::view, weft::out;
using weft_test::matrix_product, weft_test::small_tiles;

namespace {

/// What one test has begun does not go on in the next.
struct own_cache : weft_test::private_cache {
  ~own_cache() { weft::finish_background(); }
};
struct operands : weft_test::operands {
  template <class Kernel>
  std::string forms(Kernel const& kernel) {
    return weft::forms(kernel, view(a, m, k), view(b, k, n), out(c, m, n));
  }
};
/// Whether it happens within ten seconds.
template <class F>
bool soon(F const& happens) {
  for (int i = 0; i < 10000; ++i) {
    if (happens()) return true;
    ::usleep(1000);
  }
  return false;
}
std::size_t count(std::string const& text, char const* part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

}  // namespace

TEST_CASE("what a tuner found while code was being made is not overtaken by it") {
  own_cache const cache;
  static int looks = 0;
  static constexpr auto overtaken = weft::kernel<"overtaken_later">(
      [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + x(i); }); },
      [](auto& s, auto, auto y) {
        if (!std::is_constant_evaluated() && ++looks == 1) weft::supersede("overtaken_later");
        auto [i] = y.axes();
        s.split(i, s.knob("n", {8, 16}));
      });
  auto const kernel = overtaken.with({.background = true});
  std::vector<float> x(100, 2.0f), y(100);
  looks = 0;
  auto const call = [&] {
    kernel(x, out(y));
    CHECK(y[99] == 4.0f);
    weft::finish_background();
    return looks;
  };
  int const first = call(), second = call();
  CHECK(first > 0);
  CHECK(second > first);
  CHECK(call() == second);
  CHECK(call() == second);
}
TEST_CASE("a first call runs simple code, later ones the good") {
  own_cache const cache;
  auto const by_rule = weft::kernel<"by_rule">(matrix_product).with({.background = true});
  auto const scheduled = weft::kernel<"scheduled">(matrix_product, small_tiles).with({.background = true});
  for (std::int64_t size : {17, 130}) {  // the plain nest, and the schedule's own loops
    operands o{size, size, size};
    std::uint64_t const before = weft::compilations();
    CHECK(o.runs(by_rule));
    CHECK(o.runs(scheduled));
    CHECK(soon([&] { return count(o.forms(by_rule), "until better") + count(o.forms(scheduled), "until better") == 0; }));
    CHECK(count(o.forms(by_rule), "\n") == (size == 17 ? 2 : 3));
    CHECK(weft::compilations() - before == 4);
    for (int i = 0; i < 3; ++i) CHECK((o.runs(by_rule) && o.runs(scheduled)));
    CHECK(weft::compilations() - before == 4);
  }
  CHECK(cache.files().size() == 4);  // simple code is not kept
}
TEST_CASE("prepare waits, and so does no call") {
  own_cache const cache;
  auto const kernel = weft::kernel<"prepared">(matrix_product).with({.background = true});
  operands o{40, 41, 42};
  CHECK(o.runs(kernel));
  auto const ready = kernel.prepare(view(o.a, 40, 41), view(o.b, 41, 42), out(o.c, 40, 42));
  CHECK(count(o.forms(kernel), "until better") == 0);
  CHECK(o.runs(ready));
  operands p{12, 13, 14};
  static_cast<void>(kernel.prepare(view(p.a, 12, 13), view(p.b, 13, 14), out(p.c, 12, 14)));
  CHECK(count(p.forms(kernel), "until better") == 0);
  CHECK(count(p.forms(kernel), "\n") == 3);
}
TEST_CASE("what is on disk is taken at once, and heavy work is not done by simple code") {
  own_cache const cache;
  operands o{30, 31, 32};
  CHECK(o.runs(weft::kernel<"kept">(matrix_product)));
  std::uint64_t const before = weft::compilations();
  auto const again = weft::kernel<"kept">([](auto A, auto B) { return matrix_product(A, B); }).with({.background = true});
  CHECK(o.runs(again));
  CHECK(weft::compilations() == before);
  CHECK(count(o.forms(again), "until better") == 0);
  operands heavy{520, 520, 520};
  heavy.a.assign(heavy.a.size(), 0.5f), heavy.b.assign(heavy.b.size(), 2.0f);
  auto const kernel = weft::kernel<"heavy">(matrix_product).with({.background = true});
  kernel(view(heavy.a, 520, 520), view(heavy.b, 520, 520), out(heavy.c, 520, 520));
  CHECK(heavy.c == std::vector<float>(heavy.c.size(), 520.0f));
  CHECK(count(heavy.forms(kernel), "until better") == 0);
}
TEST_CASE("wrong arguments are told by the first call") {
  own_cache const cache;
  auto const kernel = weft::kernel<"wrong">(matrix_product).with({.background = true});
  operands o{8, 9, 10};
  CHECK_THROWS_AS(kernel(view(o.a, 8, 9), view(o.b, 10, 9), out(o.c, 8, 9)), weft::argument_error);
  auto const outside = weft::kernel<"outside">([](auto a) {
    return compute<"y">(a.extent(0), [=](auto i) { return a(i + 1); });
  }).with({.background = true});
  CHECK_THROWS_AS(outside(view(o.a, 8), out(o.c, 8)), weft::argument_error);
}
/// A ring of two rows where three are read at a time: lowering refuses it, which the call that runs simple code does not see.
inline constexpr auto too_small_a_ring = weft::kernel<"ring">(
    [](auto A) {
      auto const rows = compute<"rows">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
      return compute<"y">(A.extent(0) - 2, A.extent(1), [=](auto i, auto j) { return rows(i, j) + rows(i + 1, j) + rows(i + 2, j); });
    },
    [](auto& s, auto, auto rows, auto y) {
      auto [i, j] = y.axes();
      s.compute_at(rows, i);
      s.store_root(rows);
      s.fold_storage(rows.axes()[0], 2);
    });
TEST_CASE("code that cannot be made is told by the next call, each time, and nothing waits for it") {
  own_cache const cache;
  auto const kernel = too_small_a_ring.with({.background = true});
  std::vector<float> const a(12 * 8, 0.5f);
  std::vector<float> y(10 * 8);
  auto const call = [&] {
    std::fill(y.begin(), y.end(), -1.0f);
    kernel(view(a, 12, 8), out(y, 10, 8));
    return y == std::vector<float>(y.size(), 3.0f);
  };
  for (int again = 0; again < 3; ++again) {
    CHECK(call());  // by simple code
    weft::finish_background();
    CHECK_THROWS_WITH_AS(call(), doctest::Contains("fold_storage: 3 elements along this axis are read at a time, 2 are kept"), weft::schedule_error);
  }
  CHECK_THROWS_AS(static_cast<void>(kernel.prepare(view(a, 12, 8), out(y, 10, 8))), weft::schedule_error);
  // The thread goes on with what others have begun.
  auto const other = weft::kernel<"after_a_ring">(matrix_product).with({.background = true});
  operands o{18, 19, 20};
  CHECK(call());
  CHECK(o.runs(other));
  CHECK(soon([&] { return count(o.forms(other), "until better") == 0; }));
  CHECK(o.runs(other));
}
TEST_CASE("threads that call while code fails to be made get a result or the error, each of them") {
  own_cache const cache;
  auto const kernel = too_small_a_ring.with({.background = true});
  std::vector<float> const a(14 * 8, 0.5f);
  std::atomic<int> right{0}, told{0}, other{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&] {
      std::vector<float> y(12 * 8);
      for (int round = 0; round < 20; ++round) {
        std::fill(y.begin(), y.end(), -1.0f);
        try {
          kernel(view(a, 14, 8), out(y, 12, 8));
          ++(y == std::vector<float>(y.size(), 3.0f) ? right : other);
        } catch (weft::schedule_error const& e) {
          ++(std::string(e.what()).find("fold_storage") != std::string::npos ? told : other);
        }
      }
    });
  for (std::thread& t : threads) t.join();
  weft::finish_background();
  CHECK(other == 0);
  CHECK(right + told == 16 * 20);
  CHECK(right > 0);
  try {
    std::vector<float> y(12 * 8);
    kernel(view(a, 14, 8), out(y, 12, 8));
    weft::finish_background();
    kernel(view(a, 14, 8), out(y, 12, 8));
  } catch (weft::schedule_error const&) {
    ++told;
  }
  CHECK(told > 0);
}
TEST_CASE("64 threads call while code is made and sizes become open") {
  own_cache const cache;
  auto const kernel = weft::kernel<"threads">(matrix_product, small_tiles).with({.background = true, .exact_shapes = 4});
  std::atomic<int> wrong{0}, ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t)
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < 64) std::this_thread::yield();
      for (int round = 0; round < 12; ++round) {
        operands o{2 + (t + round) % 20, 24, 17};
        if (!o.runs(kernel)) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  operands o{2, 24, 17};
  // One after the other each shape has been met: four have their own code, and ranges the others.
  CHECK(soon([&] {
    for (std::int64_t m = 2; m < 22; ++m)
      if (operands p{m, 24, 17}; !p.runs(kernel)) return false;
    return o.forms(kernel).find("A0 in 2..16") != std::string::npos;
  }));
}
TEST_CASE("the child of a fork makes what its parent has not begun") {
  own_cache const cache;
  auto const kernel = weft::kernel<"forked">(matrix_product).with({.background = true});
  for (std::int64_t m : {20, 21, 22, 23, 24, 25})
    if (operands o{m, 24, 17}; !o.runs(kernel)) FAIL("before the fork");
  pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    operands o{25, 24, 17};
    bool const fine = soon([&] {
      for (std::int64_t m : {20, 21, 22, 23, 24, 25})
        if (operands p{m, 24, 17}; !p.runs(kernel)) ::_exit(1);
      return count(o.forms(kernel), "until better") == 0;
    });
    ::_exit(fine ? 0 : 2);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
TEST_CASE("a process may end while code is made") {
  own_cache const cache;
  auto const kernel = weft::kernel<"ended">(matrix_product).with({.background = true});
  if (operands o{30, 24, 17}; !o.runs(kernel)) FAIL("before the forks");  // LLVM is loaded once
  weft::finish_background();
  for (int i = 0; i < 20; ++i) {
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      bool fine = true;
      for (std::int64_t m = 0; m < 5; ++m) fine = operands{40 + 5 * i + m, 24, 17}.runs(kernel) && fine;
      ::usleep(static_cast<unsigned>(i) * 700);
      std::exit(fine ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}
