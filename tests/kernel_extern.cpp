// Stages that functions compute, as machine code: under which schedules, with which memory, how they fail, and from disk.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "support/child_process.hpp"
#include "support/functions.hpp"
#include "support/kernels.hpp"
#include "support/private_cache.hpp"
#include "weft/debug.hpp"
#include "weft/dim.hpp"
#include "weft/direct.hpp"
#include "weft/runtime/constant.hpp"
#include "weft/runtime/executor.hpp"

using namespace weft_test;
using weft::dim, weft::extern_view, weft::external, weft::out, weft::view;

namespace {
constexpr auto sums = [](auto A) {
  auto M = A.extent(0), N = A.extent(1);
  auto S = compute<"S">(M, N, [=](auto i, auto j) { return A(i, j) * 2.f; });
  auto F = compute<"F">(M, N, external<"row_sums_so_far", &row_sums_so_far>(S));
  return compute<"y">(M, N, [=](auto i, auto j) { return F(i, j) + 1.f; });
};
constexpr auto plain = weft::kernel<"sums">(sums);
constexpr auto scheduled = weft::kernel<"sums">(sums, [](auto& s, auto, auto S, auto F, auto y) {
  auto [i, j] = S.axes();
  s.parallel(i);
  s.vectorize(s.split(j, 8)[1]);
  s.storage_align(S, 0, 16, 8);
  s.set_scope(F, weft::scope::workspace);
  auto [k, l] = y.axes();
  s.unroll(s.split(l, 4)[1]);
  s.parallel(k);
});
std::vector<float> expected(std::vector<float> const& a, std::size_t rows) {
  std::vector<float> y(a.size());
  for (std::size_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (std::size_t j = 0, n = a.size() / rows; j < n; ++j) y[i * n + j] = (sum += 2 * a[i * n + j]) + 1;
  }
  return y;
}
template <class Kernel>
void check_sums(Kernel const& k) {
  for (std::size_t m : {1u, 2u, 5u, 12u})
    for (std::size_t n : {1u, 7u, 8u, 33u}) {
      std::vector<float> const a = numbers(m * n);
      INFO(m << " x " << n);
      std::vector<float> y(a.size());
      k(view(a, m, n), out(y, m, n));
      CHECK(y == expected(a, m));
      CHECK(weft::evaluate(k, view(a, m, n)) == y);
    }
}
std::string failure_of(auto const& call) {
  try {
    call();
  } catch (weft::extern_error const& e) {
    return std::to_string(e.code()) + ": " + e.what();
  }
  return "";
}
int negated(extern_view<float const, 1> x, extern_view<float, 1> y) noexcept {
  for (std::int64_t i = 0; i < x.extent(0); ++i) y(i) = -x(i);
  return 0;
}
int calls = 0;
int counted(extern_view<float const, 1> x, extern_view<float, 1> y) noexcept {
  ++calls;
  return negated(x, y);
}
int doubled(extern_view<float const, 1> x, extern_view<float, 1> y) noexcept {
  for (std::int64_t i = 0; i < x.extent(0); ++i) y(i) = 2 * x(i);
  return 0;
}
int transposed(extern_view<std::int16_t const, 2> x, extern_view<std::int16_t, 2> y) noexcept {
  for (std::int64_t i = 0; i < x.extent(0); ++i)
    for (std::int64_t j = 0; j < x.extent(1); ++j) y(j, i) = x(i, j);
  return 0;
}
int divided(extern_view<float const, 1> x, extern_view<float const, 1> by, extern_view<float, 1> quotient,
            extern_view<float, 1> rest) noexcept {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    if (by(i) == 0) return static_cast<int>(-1 - i);
    quotient(i) = std::trunc(x(i) / by(i));
    rest(i) = x(i) - quotient(i) * by(i);
  }
  return 0;
}
constexpr auto quotients = weft::kernel<"quotients">([](auto x, auto by) {
  auto n = x.extent(0);
  auto [q, r] = compute<"q", "r">(n, external<"divided", &divided>(x, by));
  return weft::outputs(r, q);
});
}  // namespace

TEST_CASE("extern: a function between two stages gives the bits of direct evaluation, plain and scheduled") {
  check_sums(plain);
  check_sums(scheduled);
  check_sums(scheduled.with({.checked = true}));
}
TEST_CASE("extern: open sizes reach the function as the numbers of the call") {
  for (std::size_t m : {1u, 3u, 12u})
    for (std::size_t n : {1u, 9u, 40u}) {
      std::vector<float> const a = numbers(m * n);
      std::vector<float> y(a.size());
      scheduled(view(a, dim<"m">(m), dim<"n">(n)), out(y, m, n));
      CHECK(y == expected(a, m));
      plain(view(a, dim<"m">(m), n), out(y, m, n));
      CHECK(y == expected(a, m));
    }
}
TEST_CASE("extern: it reads and writes the caller's memory where it stands, with its strides") {
  constexpr auto k = weft::kernel<"turned">([](auto A) {
    return compute<"T">(A.extent(1), A.extent(0), external<"transposed", &transposed>(A));
  });
  std::vector<std::int16_t> a(2 * 3 * 5), t(4 * 15, 99);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::int16_t>(i);
  k(view(a, 3, 5).strided(10, 2), out(t, 5, 3).strided(4, 1));
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 3; ++j) CHECK(t[i * 4 + j] == a[j * 10 + i * 2]);
  CHECK(t[3] == 99);
}
TEST_CASE("extern: several reads and results; a code of any sign ends the call, with its stage's name") {
  float const x[] = {7, 9, -5}, by[] = {2, 4, 2}, zero[] = {1, 0, 0};
  auto const made = quotients(view(x, 3), view(by, 3));
  auto const& r = weft::get<0>(made);
  auto const& q = weft::get<1>(made);
  CHECK((q(0) == 3 && q(1) == 2 && q(2) == -2));
  CHECK((r(0) == 1 && r(1) == 1 && r(2) == -1));
  std::string const said = "-2: quotients: stage q: function divided answered -2; outputs are not complete";
  CHECK(failure_of([&] { quotients(view(x, 3), view(zero, 3)); }) == said);
  CHECK(failure_of([&] { quotients.with({.checked = true})(view(x, 3), view(zero, 3)); }) == said);
}
TEST_CASE("extern: a kernel whose function fails ends there, and the next call of it is sound") {
  std::vector<float> const a(26, 1.0f), b(24, 1.0f);
  std::vector<float> y(26, 5.0f);
  CHECK(failure_of([&] { scheduled(view(a, dim<"m">(13), 2), out(y, 13, 2)); }) ==
        "7: sums: stage F: function row_sums_so_far answered 7; outputs are not complete");
  CHECK(y == std::vector<float>(26, 5.0f));  // what stands behind the function has not run
  scheduled(view(b, dim<"m">(12), 2), out(y, 12, 2));
  CHECK(y[1] == 5);
  auto const prepared = plain.prepare(view(a, 13, 2), out(y, 13, 2));
  CHECK(failure_of([&] { prepared(view(a, 13, 2), out(y, 13, 2)); }) ==
        "7: sums: stage F: function row_sums_so_far answered 7; outputs are not complete");
}
TEST_CASE("extern: two functions by one name, in kernels that are alike otherwise, are not mixed up, from disk neither") {
  private_cache const c;
  constexpr auto one = weft::kernel<"k">([](auto A) { return compute<"F">(A.extent(0), external<"f", &negated>(A)); });
  constexpr auto other = weft::kernel<"k">([](auto A) { return compute<"F">(A.extent(0), external<"f", &doubled>(A)); });
  float const a[] = {1, 2};
  CHECK(one(view(a, 2))(1) == -2);
  std::uint64_t const before = weft::compilations();
  CHECK(other(view(a, 2))(1) == 4);  // the code is the same: what is called is asked for at the call
  CHECK(weft::compilations() == before);
  constexpr auto renamed = weft::kernel<"k">([](auto A) { return compute<"F">(A.extent(0), external<"g", &doubled>(A)); });
  CHECK(renamed(view(a, 2))(1) == 4);
  CHECK(weft::compilations() == before + 1);
  // One kernel with captures, whose lambda calls now this, now that.
  auto const either = [&](bool negative) {
    return weft::kernel<"e">([negative](auto A) {
      return negative ? compute<"F">(A.extent(0), external<"f", &negated>(A))
                      : compute<"F">(A.extent(0), external<"f", &doubled>(A));
    });
  };
  for (bool negative : {true, false, true, false}) CHECK(either(negative)(view(a, 2))(0) == (negative ? -1 : 2));
}
TEST_CASE("extern: in another process" * doctest::skip()) {
  weft::cache::set_directory(std::getenv("WEFT_TEST_EXTERN_CACHE"));
  float const a[] = {1, 2};
  std::printf("at %p\n", reinterpret_cast<void*>(&negated));
  constexpr auto k = weft::kernel<"warm">([](auto A) { return compute<"F">(A.extent(0), external<"negated", &negated>(A)); });
  CHECK(k(view(a, 2))(1) == -2);
  CHECK(weft::compilations() == 0);
}
TEST_CASE("extern: code on disk calls the function of the process that it runs in, wherever that stands") {
  private_cache const c;
  constexpr auto k = weft::kernel<"warm">([](auto A) { return compute<"F">(A.extent(0), external<"negated", &negated>(A)); });
  float const a[] = {1, 2};
  CHECK(k(view(a, 2))(1) == -2);
  REQUIRE(c.files().size() == 1);
  for (int i = 0; i < 2; ++i)  // at other addresses, where the kernel of the system and the linker let it
    CHECK(weft::test::run_case("extern: in another process", "WEFT_TEST_EXTERN_CACHE", c.path.c_str()) == 0);
  CHECK(c.files().size() == 1);
}
TEST_CASE("extern: an input that the function reads cannot be the output's memory") {
  std::vector<float> a(6, 1.0f);
  constexpr auto k = weft::kernel<"k">([](auto A) {
    auto F = compute<"F">(A.extent(0), external<"negated", &negated>(A));
    return compute<"y">(A.extent(0), [=](auto i) { return F(i) + 1.f; });
  });
  constexpr auto direct = weft::kernel<"d">([](auto A) { return compute<"F">(A.extent(0), external<"negated", &negated>(A)); });
  k(view(a, 6), out(a, 6));  // read whole before the stage that writes there
  CHECK(a == std::vector<float>(6, 0.0f));
  CHECK_REFUSED("an element of it is read after its place was written", direct(view(a, 6), out(a, 6)));
}
TEST_CASE("extern: called from several threads at once") {
  std::vector<float> const a = numbers(40);
  std::vector<std::thread> all;
  std::vector<int> right(4, 0);
  for (std::size_t t = 0; t < right.size(); ++t)
    all.emplace_back([&, t] {
      for (int n = 0; n < 50; ++n) {
        std::vector<float> y(a.size());
        scheduled(view(a, 5, 8), out(y, 5, 8));
        right[t] += y == expected(a, 5);
      }
    });
  for (std::thread& t : all) t.join();
  CHECK(right == std::vector<int>(4, 50));
}
TEST_CASE("extern: where an executor leaves a loop undone, no function sees that") {
  calls = 0;
  auto const k = weft::kernel<"k">(
      [](auto A) {
        auto S = compute<"S">(A.extent(0), [=](auto i) { return A(i) + 1.f; });
        return compute<"F">(A.extent(0), external<"counted", &counted>(S));
      },
      [](auto& s, auto, auto S, auto) { s.parallel(S.axes()[0]); });
  std::vector<float> const a = numbers(40);
  k(view(a, 40));
  CHECK(calls == 1);
  weft::executor lazy;
  lazy.run = [](void*, int, weft::executor::task task, void* data) { task(data, 0); };
  lazy.threads = 2;
  weft::executor const before = weft::set_executor(lazy);
  CHECK_THROWS_AS(k(view(a, 40)), weft::device_error);
  weft::set_executor(before);
  CHECK(calls == 1);
}

namespace {
float weights[8 * 8];
using constant_weights = weft::constant<decltype(view(weights, 8, 8))>;
constant_weights* kept_weights = nullptr;
constexpr auto product = [](auto x, auto B) {
  return compute<"C">(B.extent(1), [=](auto j) { return sum(B.extent(0), [=](auto k) { return x(k) * B(k, j); }); });
};
constexpr auto inner = weft::kernel<"inner">(product, [](auto& s, auto, auto B, auto C) { s.prepack(s.cache_read(B, C)); });
int product_with_weights(extern_view<float const, 1> x, extern_view<float, 1> y) noexcept {
  try {
    inner(view(x.data, 8), *kept_weights, out(y.data, 8));
  } catch (weft::error const&) {
    return 1;
  }
  return 0;
}
constexpr auto product_of_product = weft::kernel<"product_of_product">(
    [](auto x, auto B) {
      auto F = compute<"F">(x.extent(0), external<"product_with_weights", &product_with_weights>(x));
      return product(F, B);
    },
    [](auto& s, auto, auto B, auto, auto C) { s.prepack(s.cache_read(B, C)); });
}  // namespace
TEST_CASE("extern: a function calls a kernel that keeps something with the constant that its caller keeps something with") {
  std::vector<float> x(8), once(8), y(8);
  for (std::size_t i = 0; i < 64; ++i) weights[i] = static_cast<float>(i % 5);
  for (std::size_t i = 0; i < 8; ++i) x[i] = static_cast<float>(i);
  constant_weights const constant(view(weights, 8, 8));
  kept_weights = const_cast<constant_weights*>(&constant);
  std::vector<float> wanted(8);
  for (int times = 0; times < 2; ++times)
    for (std::size_t j = 0; j < 8; ++j) {
      std::vector<float> const& from = times == 0 ? x : once;
      std::vector<float>& to = times == 0 ? once : wanted;
      to[j] = 0;
      for (std::size_t k = 0; k < 8; ++k) to[j] += from[k] * weights[k * 8 + j];
    }
  for (int times = 0; times < 3; ++times) {
    product_of_product(view(x, 8), constant, out(y, 8));
    CHECK(y == wanted);
  }
}
