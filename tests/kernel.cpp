#include <array>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "support/kernels.hpp"
#include "weft/direct.hpp"
#include "weft/expr/exact.hpp"

using namespace weft_test;
using weft::out, weft::view;

// --- calls ----------------------------------------------------------------------------------------------------

TEST_CASE("a call gives the bits of direct evaluation, whatever the tails") {
  for (auto [m, k, n] : {std::array{1, 1, 1}, {6, 16, 64}, {13, 70, 9}, {7, 300, 65}, {61, 35, 47}}) {
    auto const M = static_cast<std::size_t>(m), K = static_cast<std::size_t>(k), N = static_cast<std::size_t>(n);
    std::vector<float> const a = numbers(M * K), b = numbers(K * N, 7);
    std::vector<float> c(M * N, -1.0f);
    tiled_matmul(view(a, M, K), view(b, K, N), out(c, M, N));
    auto const e = weft::evaluate({.contract = weft::cpu().fma}, tiled_matmul, view(a, M, K), view(b, K, N));
    CHECK(e == c);
  }
}
TEST_CASE("compiled code works under any strides: padded rows, columns first, backwards, one element for all") {
  std::vector<float> const a = numbers(400), b = numbers(400, 7);
  auto const check = [&](auto const& x, auto const& y) {
    std::vector<float> c(7 * 9, -1.0f);
    tiled_matmul(x, y, out(c, 7, 9));
    CHECK(weft::evaluate({.contract = weft::cpu().fma}, tiled_matmul, x, y) == c);
  };
  auto const x = view(a.data(), 7, 5), y = view(b.data(), 5, 9);
  check(x.strided(16, 1), y.strided(11, 1));
  check(x.strided(1, 7), y.strided(1, 5));
  check(view(a.data() + 34, 7, 5).strided(-5, -1), y.strided(0, 1));
  check(x.strided(0, 0), view(b.data() + 399, 5, 9).strided(-9, -2));
}
TEST_CASE("strided outputs are written at their elements and nowhere else") {
  std::vector<float> const x = numbers(10), y = numbers(10, 3);
  std::vector<float> z(40, 99.0f);
  saxpy(x, y, 2.0f, out(z.data() + 30, 10).strided(-3));
  for (std::size_t i = 0; i < z.size(); ++i) {
    bool const element = i >= 3 && i <= 30 && i % 3 == 0;
    CHECK(z[i] == (element ? 2 * x[(30 - i) / 3 % 10] + y[(30 - i) / 3 % 10] : 99.0f));
  }
}
TEST_CASE("outputs that are left out are returned, new, with the shape that follows from the inputs") {
  std::vector<float> const a = numbers(12);
  weft::tensor<float, 1> const s = sums_of_rows(view(a, 3, 4));
  REQUIRE(s.shape() == std::array<std::int64_t, 1>{3});
  CHECK(s(1) == a[4] + a[5] + a[6] + a[7]);
  CHECK(sums_of_rows(view(a, 4, 3)).shape() == std::array<std::int64_t, 1>{4});
}
TEST_CASE("several outputs come back as a tuple in the order of the return, or are matched to the outs in it") {
  std::vector<float> const a{3, 1, 2, 9, 7, 8};
  auto const both = highest_and_lowest(view(a, 2, 3));
  CHECK(both[boost::hana::size_c<0>](0) == 3);
  CHECK(both[boost::hana::size_c<0>](1) == 9);
  CHECK(both[boost::hana::size_c<1>](0) == 1);
  CHECK(both[boost::hana::size_c<1>](1) == 7);
  std::vector<float> high(2), low(2);
  highest_and_lowest(view(a, 2, 3), out(high), out(low));
  CHECK(high == std::vector<float>{3, 9});
  CHECK(low == std::vector<float>{1, 7});
}
TEST_CASE("outs may stand before inputs: each kind is matched in its own order") {
  std::vector<float> const x{1, 2}, y{10, 20};
  std::vector<float> z(2);
  saxpy(out(z), x, y, 3.0f);
  CHECK(z == std::vector<float>{13, 26});
}

// --- sizes of nothing -------------------------------------------------------------------------------------------

TEST_CASE("an empty output is no call at all: pointers may be null, nothing is compiled") {
  std::uint64_t const before = weft::compilations();
  float* const nowhere = nullptr;
  tiled_matmul(view(nowhere, 0, 5), view(numbers(15), 5, 3), out(nowhere, 0, 3));
  saxpy(view(nowhere, 0), view(nowhere, 0), 1.0f, out(nowhere, 0));
  CHECK(saxpy(std::vector<float>{}, std::vector<float>{}, 1.0f).size() == 0);
  CHECK(weft::compilations() == before);
}
TEST_CASE("a reduction over nothing gives its identity") {
  std::vector<float> c(6, -1.0f);
  float* const nowhere = nullptr;
  tiled_matmul(view(nowhere, 2, 0), view(nowhere, 0, 3), out(c, 2, 3));
  CHECK(c == std::vector<float>(6, 0.0f));
  std::vector<float> high(2), low(2);
  highest_and_lowest(view(nowhere, 2, 0), out(high), out(low));
  CHECK(high == std::vector<float>(2, -INFINITY));
  CHECK(low == std::vector<float>(2, INFINITY));
}

// --- what is compiled, and how often ------------------------------------------------------------------------------

TEST_CASE("the first call of 64 threads compiles once") {
  static constexpr auto once = weft::kernel<"once">([](auto x) {
    return compute<"y">(x.extent(0), [=](auto i) { return x(i) * 3.0f; });
  });
  std::vector<float> const x = numbers(100);
  std::uint64_t const before = weft::compilations();
  std::vector<std::vector<float>> results(64, std::vector<float>(100));
  std::vector<std::thread> threads;
  for (std::vector<float>& y : results) threads.emplace_back([&x, &y] { once(x, out(y)); });
  for (std::thread& t : threads) t.join();
  CHECK(weft::compilations() == before + 1);
  for (std::vector<float> const& y : results) CHECK(y[99] == x[99] * 3);
}
TEST_CASE("threads that share a kernel with intermediate tensors do not share their memory") {
  static constexpr auto twice = weft::kernel<"twice">([](auto x) {
    auto t = compute<"t">(x.extent(0), [=](auto i) { return x(i) + x(i); });
    auto n = x.extent(0);
    return compute<"y">(n, [=](auto i) { return t(n - 1 - i) + t(i); });
  });
  std::vector<std::thread> threads;
  int wrong = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t, &wrong] {
      std::vector<float> x(500, static_cast<float>(t)), y(500);
      for (int round = 0; round < 50; ++round) {
        twice(x, out(y));
        for (float v : y)
          if (v != 4.0f * static_cast<float>(t)) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}
TEST_CASE("run-time scalars, other memory and shapes seen before do not compile again") {
  std::vector<float> const x = numbers(33), y = numbers(33, 7);
  std::vector<float> z(33), other(33);
  saxpy(x, y, 1.0f, out(z));
  std::uint64_t const before = weft::compilations();
  for (float alpha : {0.0f, -2.5f, 1e30f}) {
    saxpy(x, y, alpha, out(other));
    CHECK(other[5] == (weft::cpu().fma ? __builtin_fmaf(alpha, x[5], y[5]) : alpha * x[5] + y[5]));
  }
  CHECK(weft::compilations() == before);
  std::vector<float> const longer = numbers(34);
  std::vector<float> result(34);
  saxpy(longer, longer, 1.0f, out(result));
  CHECK(weft::compilations() == before + 1);
  saxpy(x, y, 1.0f, out(z));
  CHECK(weft::compilations() == before + 1);
}
TEST_CASE("a call that threw leaves no kernel behind, and the next good one works") {
  std::vector<float> const x = numbers(21);
  std::vector<float> z(20);
  CHECK_THROWS_AS(saxpy(x, x, 1.0f, out(z)), weft::argument_error);
  z.resize(21);
  saxpy(x, x, 1.0f, out(z));
  CHECK(z[20] == 2 * x[20]);
}
TEST_CASE("another target gets its own code, with the same bits where fma agrees") {
  static weft::target const machines[] = {weft::x86_64_sse2(), weft::x86_64_avx2()};
  std::vector<float> const a = numbers(6 * 40), b = numbers(40 * 50, 7);
  for (weft::target const& machine : machines) {
    bool runs_here = machine.arch == weft::cpu().arch;
    for (std::string const& f : machine.features) runs_here = runs_here && weft::cpu().has(f);
    if (!runs_here) {
      MESSAGE("[skip] this CPU cannot run " << machine.cpu);
      continue;
    }
    std::uint64_t const before = weft::compilations();
    std::vector<float> c(6 * 50);
    tiled_matmul.on(machine)(view(a, 6, 40), view(b, 40, 50), out(c, 6, 50));
    tiled_matmul.on(machine)(view(a, 6, 40), view(b, 40, 50), out(c, 6, 50));
    CHECK(weft::compilations() <= before + 1);
    CHECK(weft::evaluate({.contract = machine.fma}, tiled_matmul, view(a, 6, 40), view(b, 40, 50)) == c);
    CHECK(tiled_matmul.on(machine).llvm_ir(view(a, 6, 40), view(b, 40, 50)).find(machine.cpu) != std::string::npos);
  }
}
TEST_CASE("a kernel keeps its target, whatever becomes of the one that it was given") {
  std::vector<float> const x{1, 2, 3};
  auto const temporary = saxpy.on(weft::x86_64_avx2());
  weft::target changing = weft::x86_64_sse2();
  auto const named = saxpy.on(changing);
  changing = weft::x86_64_avx2();
  changing.cpu = "x86-64-v2";
  CHECK(temporary.llvm_ir(x, x, 2.0f).find("\"x86-64-v3\"") != std::string::npos);
  CHECK(named.llvm_ir(x, x, 2.0f).find("\"x86-64\"") != std::string::npos);
  weft::target const same = weft::cpu();
  std::vector<float> z(3);
  saxpy(x, x, 2.0f, out(z));
  std::uint64_t const before = weft::compilations();
  saxpy.on(same)(x, x, 2.0f, out(z));
  CHECK(weft::compilations() == before);
}
TEST_CASE("code that cannot run here is refused in words, and shown all the same") {
  std::vector<float> const x{1, 2, 3};
  std::vector<float> z(3, -1.0f);
  auto const refusal = [&](weft::target const& t) {
    try {
      saxpy.on(t)(x, x, 2.0f, out(z));
    } catch (weft::device_error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  std::string const end = "; .ir, .llvm_ir and .assembly show it all the same";
  weft::target t = weft::cpu();
  t.features.push_back("nonsense");
  CHECK(refusal(t) == "saxpy: code for this target cannot run here: this machine has no nonsense" + end);
  t = weft::cpu();
  bool const is_x86 = t.arch == weft::architecture::x86_64;
  t.arch = is_x86 ? weft::architecture::aarch64 : weft::architecture::x86_64;
  t.cpu = "generic";
  t.features = {};
  CHECK(refusal(t).find(is_x86 ? "its code is for aarch64-unknown-linux-gnu, this is x86_64-unknown-linux-gnu"
                               : "its code is for x86_64-unknown-linux-gnu, this is aarch64") != std::string::npos);
  CHECK(saxpy.on(t).assembly(x, x, 2.0f).find(is_x86 ? "ret" : "retq") != std::string::npos);
  if (is_x86 && weft::cpu().cpu != "x86-64-v4") {  // the name alone brings features
    t = weft::x86_64_sse2();
    t.cpu = "x86-64-v4";
    CHECK(refusal(t).find("avx512f") != std::string::npos);
    CHECK(saxpy.on(t).assembly(x, x, 2.0f) != "");
    t = weft::cpu();
    t.features.push_back("avx512f");
    t.vector_bytes = 64;
    CHECK_THROWS_WITH_AS(static_cast<void>(saxpy.on(t).llvm_ir(x, x, 2.0f)), doctest::Contains("without avx512vl"),
                         weft::argument_error);
    t.features.push_back("avx512vl");
    CHECK(refusal(t).find("this machine has no avx512f") != std::string::npos);
    CHECK(saxpy.on(t).llvm_ir(x, x, 2.0f).find("+avx512f") != std::string::npos);
  }
  t = weft::cpu();
  t.cpu = "no-such-cpu";
  CHECK_THROWS_AS(saxpy.on(t)(x, x, 2.0f, out(z)), weft::argument_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(saxpy.on(t).assembly(x, x, 2.0f)),
                       doctest::Contains("the target's CPU is called 'no-such-cpu'; give generic"), weft::argument_error);
  CHECK(z[0] == -1.0f);
}

// --- captured values ----------------------------------------------------------------------------------------------

namespace {
auto scaled_by(float factor) {
  return weft::kernel<"scaled_by">([factor](auto x) {
    return compute<"y">(x.extent(0), [=](auto i) { return x(i) * factor; });
  });
}
auto filtered_by(std::vector<float> const& taps) {  // the lambda holds the vector itself
  return weft::kernel<"filtered_by">([taps](auto x) {
    return compute<"y">(x.extent(0), [=](auto i) {
      auto v = x(i) * taps[0];
      for (std::size_t t = 1; t < taps.size(); ++t) v = v + x(i) * taps[t];
      return v;
    });
  });
}
}  // namespace

TEST_CASE("kernels of one lambda type with other captured numbers never share code") {
  std::vector<float> const x{1, 2, 3};
  auto const twice = scaled_by(2), thrice = scaled_by(3);
  CHECK(twice(x)(2) == 6);
  CHECK(thrice(x)(2) == 9);
  CHECK(twice(x)(2) == 6);
  std::uint64_t const before = weft::compilations();
  CHECK(scaled_by(3)(x)(1) == 6);  // an equal one made anew: known already
  CHECK(weft::compilations() == before);
  CHECK(scaled_by(-0.0f)(x)(1) == 0);
  CHECK(std::signbit(scaled_by(-0.0f)(x)(1)));  // told from 0 by its bits
  CHECK(!std::signbit(scaled_by(0.0f)(x)(1)));
}
TEST_CASE("captured coefficients are part of the code, in number and in value") {
  std::vector<float> const x{1, 2};
  CHECK(filtered_by({1, 2})(x)(1) == 6);
  CHECK(filtered_by({1, 3})(x)(1) == 8);
  CHECK(filtered_by({1, 2, 4})(x)(1) == 14);
  CHECK(filtered_by({1, 2})(x)(1) == 6);
}
TEST_CASE("a captured reference is read at each call") {
  float factor = 2;
  auto const scaled = weft::kernel<"scaled">([&factor](auto x) {
    return compute<"y">(x.extent(0), [&, x](auto i) { return x(i) * factor; });
  });
  std::vector<float> const x{1, 2, 3};
  CHECK(scaled(x)(0) == 2);
  factor = 5;
  CHECK(scaled(x)(0) == 5);
  factor = 2;
  CHECK(scaled(x)(0) == 2);
}
TEST_CASE("what the how-lambda captures is part of the key as well") {
  std::vector<float> const x = numbers(40);
  auto const with_lanes = [](int lanes) {
    return weft::kernel<"with_lanes">(
        [](auto a) { return compute<"y">(a.extent(0), [=](auto i) { return a(i) + 1.0f; }); },
        [lanes](auto& s) {
          auto [i] = weft::stage<"y", 1>(s).axes();
          auto [io, ii] = s.split(i, lanes);
          s.vectorize(ii);
        });
  };
  std::uint64_t const before = weft::compilations();
  CHECK(with_lanes(4)(x)(39) == x[39] + 1);
  CHECK(with_lanes(8)(x)(39) == x[39] + 1);
  CHECK(weft::compilations() == before + 2);
  CHECK(with_lanes(4)(x)(39) == x[39] + 1);
  CHECK(weft::compilations() == before + 2);
  CHECK(with_lanes(4).trace(x) != with_lanes(8).trace(x));
}

// --- wrong arguments ------------------------------------------------------------------------------------------------

TEST_CASE("every wrong argument is refused in words before anything is written") {
  std::vector<float> const a = numbers(60), b = numbers(60, 7);
  std::vector<float> c(60, -1.0f);
  float* const nowhere = nullptr;
  CHECK_REFUSED("B.extent(0) = 4 and A.extent(1) = 5 must be equal",
                tiled_matmul(view(a, 3, 5), view(b, 4, 6), out(c, 3, 6)));
  CHECK_REFUSED("output C is 3 x 7, but dimension 1 has 6 elements",
                tiled_matmul(view(a, 3, 5), view(b, 5, 6), out(c, 3, 7)));
  CHECK_REFUSED("A has no memory", tiled_matmul(view(nowhere, 3, 5), view(b, 5, 6), out(c, 3, 6)));
  CHECK_REFUSED("C has no memory", tiled_matmul(view(a, 3, 5), view(b, 5, 6), out(nowhere, 3, 6)));
  CHECK_REFUSED("61 elements are wanted of a range of 60", static_cast<void>(view(a, 61)));
  CHECK_REFUSED("7 x 9 elements are wanted of a range of 60", static_cast<void>(out(c, 7, 9)));
  CHECK_REFUSED("A has a negative extent: -3 x 5", tiled_matmul(view(a.data(), -3, 5), view(b, 5, 6), out(c, 3, 6)));
  CHECK_REFUSED("A reaches further than memory does",
                tiled_matmul(view(a.data(), std::int64_t(1) << 40, std::int64_t(1) << 40), view(b, 5, 6), out(c, 3, 6)));
  CHECK_REFUSED("the strides of output C let two elements share memory",
                tiled_matmul(view(a, 3, 5), view(b, 5, 6), out(c.data(), 3, 6).strided(5, 1)));
  CHECK_REFUSED("the strides of output C let two elements share memory",
                tiled_matmul(view(a, 3, 5), view(b, 5, 6), out(c.data(), 3, 6).strided(6, 0)));
  std::vector<float> short_one(4);
  CHECK_REFUSED("z", saxpy(a, b, 1.0f, out(short_one)));
  CHECK(c == std::vector<float>(60, -1.0f));
}
TEST_CASE("an access that cannot be proved inside its tensor is refused at the first call") {
  static constexpr auto shifted = weft::kernel<"shifted">([](auto a) {
    return compute<"b">(a.extent(0), [=](auto i) { return a(i + 1); });
  });
  CHECK_REFUSED("A: index 0 runs from 1 to 10, but A has 10 there", shifted(numbers(10)));
}
TEST_CASE("a shorter tensor that a select guards is no mismatch of extents; without the guard it is one") {
  static constexpr auto padded = weft::kernel<"padded">([](auto a, auto b) {
    return compute<"y">(a.extent(0), [=](auto i) { return a(i) + weft::select(i < b.extent(0), b(i), 0.0f); });
  });
  static constexpr auto unguarded = weft::kernel<"unguarded">([](auto a, auto b) {
    return compute<"y">(a.extent(0), [=](auto i) { return weft::select(b(i) > 0.0f, a(i) + b(i), 0.0f); });
  });
  static constexpr auto wrongly_guarded = weft::kernel<"wrongly_guarded">([](auto a, auto b) {
    return compute<"y">(a.extent(0), [=](auto i) { return a(i) + weft::select(i < a.extent(0), b(i), 0.0f); });
  });
  std::vector<float> const a = numbers(10), b = numbers(4, 7);
  weft::tensor<float, 1> const y = padded(a, b);
  for (std::size_t i = 0; i < 10; ++i) CHECK(y(static_cast<std::int64_t>(i)) == a[i] + (i < 4 ? b[i] : 0.0f));
  CHECK(weft::evaluate(padded, a, b)[3] == a[3] + b[3]);
  CHECK(padded(b, a)(3) == a[3] + b[3]);
  CHECK_REFUSED("B.extent(0) = 4 and A.extent(0) = 10 must be equal", unguarded(a, b));
  CHECK_REFUSED("B: index 0 runs from 0 to 9, but B has 4 there", wrongly_guarded(a, b));
}

// --- schedules ----------------------------------------------------------------------------------------------------

namespace {
inline constexpr auto unrolled = weft::kernel<"unrolled">(
    [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); },
    [](auto& s, auto, auto y) {
      auto [i] = y.axes();
      s.unroll(i);
    });
}  // namespace

static_assert(weft::checked<tiled_matmul, weft::arg<float, 2>, weft::arg<float, 2>>);
static_assert(weft::verdicts<tiled_matmul, weft::arg<float, 2>, weft::arg<float, 2>>.state == weft::verdict::legal);
static_assert(weft::verdicts<unrolled, weft::arg<float, 1>>.state == weft::verdict::deferred);
static_assert(weft::verdicts<unrolled, weft::fixed_arg<float, 16>>.state == weft::verdict::legal);
static_assert(weft::verdicts<unrolled, weft::fixed_arg<float, 4096>>.state == weft::verdict::illegal);

TEST_CASE("an empty input without memory compiles once, and its prepared form takes it") {
  constexpr auto rows = weft::kernel<"rows">([](auto A) {
    return compute<"r">(A.extent(0), [=](auto i) { return sum(A.extent(1), [=](auto k) { return A(i, k); }); });
  });
  std::vector<float> const none;
  std::vector<float> r(4, 1.f);
  auto const before = weft::compilations();
  for (int i = 0; i < 5; ++i) rows(view(none, 4, 0), out(r, 4));
  rows.prepare(view(none, 4, 0), out(r, 4))(view(none, 4, 0), out(r, 4));
  CHECK(weft::compilations() == before + 1);
  CHECK(r[3] == 0);
}
namespace {
struct scale_by {
  float factor = 1;
  constexpr auto operator()(auto x) const {
    return compute<"y">(x.extent(0), [x, f = factor](auto i) { return x(i) * f; });
  }
};
}  // namespace
TEST_CASE("function objects with state never share code, though they could be made without it") {
  std::vector<float> const x{3.f};
  auto const two = weft::kernel<"scaled">(scale_by{2}), one = weft::kernel<"scaled">(scale_by{});
  CHECK(two(view(x, 1))(0) == 6);
  CHECK(one(view(x, 1))(0) == 3);
}
TEST_CASE("a negative extent anywhere is an argument_error, also where no output shows it") {
  constexpr auto reduced = weft::kernel<"reduced">([](auto x) {
    return compute<"y">(1, [=](auto) { return sum(x.extent(0) - 5, [=](auto k) { return x(k); }); });
  });
  constexpr auto twice = weft::kernel<"twice">([](auto x) {
    return compute<"y">(1, [=](auto) {
      return sum(x.extent(0) - 4, x.extent(0) - 5, [=](auto k, auto l) { return x(k + l); });
    });
  });
  constexpr auto hidden = weft::kernel<"hidden">([](auto x) {
    auto n = x.extent(0);
    auto t = compute<"t">(n - 1000, [=](auto i) { return x(weft::clamp(i, 0, n - 1)); });
    auto u = compute<"u">(n, [=](auto i) { return x(i); });
    return compute<"y">(n, [=](auto i) { return weft::select(i < n - 1000, t(i), u(i)); });
  });
  std::vector<float> const x{1, 2, 3};
  CHECK_THROWS_AS(reduced(view(x, 3)), weft::argument_error);
  CHECK_THROWS_AS(twice(view(x, 3)), weft::argument_error);
  CHECK_THROWS_AS(hidden(view(x, 3)), weft::argument_error);
  CHECK_THROWS_AS(weft::evaluate(reduced, view(x, 3)), weft::argument_error);
}
TEST_CASE("an extent that leaves the range of i64 is refused, on its way too, and never wraps") {
  float one = 1;
  auto const cube = weft::kernel<"cube">([](auto x) {
    auto n = x.extent(0);
    return compute<"y">(n * n * n + 5, [=](auto) { return x(0); });
  });
  auto const times = [&](std::int64_t n) { return view(&one, n).strided(0); };
  for (std::int64_t const n : {std::int64_t(1) << 22, std::int64_t(3000000), std::int64_t(2642246)})
    CHECK_REFUSED("y would have more elements than an i64 counts, in dimension 0", static_cast<void>(cube(times(n))));
  CHECK_THROWS_AS(static_cast<void>(weft::evaluate(cube, times(std::int64_t(1) << 22))), weft::argument_error);
  auto const within = weft::kernel<"within">([](auto x) {
    auto n = x.extent(0);
    auto const a = compute<"a">(n * n, [=](auto) { return x(0); });
    return compute<"y">(1, [=](auto) { return a(0); });
  });
  CHECK_REFUSED("a would have more elements than an i64 counts, in dimension 0", static_cast<void>(within(times(std::int64_t(1) << 32))));
  auto const reduced = weft::kernel<"reduced">([](auto x) {
    auto n = x.extent(0);
    return compute<"y">(1, [=](auto) { return sum(n * n - n, [=](auto) { return x(0); }); });
  });
  CHECK_REFUSED("a reduction of y would run over more elements than an i64 counts",
                static_cast<void>(reduced(times(std::int64_t(1) << 32))));
  auto const asked = weft::kernel<"asked">([](auto x) {
    auto n = x.extent(0);
    weft::require(n * n > 3);
    return compute<"y">(1, [=](auto) { return x(0); });
  });
  CHECK_THROWS_AS(static_cast<void>(asked(times(std::int64_t(1) << 32))), weft::argument_error);
}
TEST_CASE("an extent may be negative on its way") {
  constexpr auto k = weft::kernel<"k">([](auto x) {
    auto n = x.extent(0);
    return compute<"y">(weft::max(n - 5, 0) + 1, [=](auto) {
      return sum(weft::clamp(n - 5, 1, 8), [=](auto i) { return x(i); });
    });
  });
  constexpr auto valid = weft::kernel<"valid">([](auto x, auto w) {
    return compute<"y">(x.extent(0) - w.extent(0) + 1, [=](auto i) {
      return sum(w.extent(0), [=](auto j) { return x(i + j) * w(j); });
    });
  });
  std::vector<float> const x{1, 2, 3};
  CHECK(k(view(x, 3)).extent(0) == 1);
  CHECK(k(view(x, 3))(0) == 1);
  CHECK(valid(view(x, 2), view(x, 3)).extent(0) == 0);
  CHECK(valid(view(x, 3), view(x, 2)).extent(0) == 2);
  CHECK_THROWS_AS(valid(view(x, 1), view(x, 3)), weft::argument_error);
}
TEST_CASE("a value or a reduction kept from another stage is refused") {
  float const one = 1;  // a capture: the compiler does not see these programs
  auto const shared = weft::kernel<"shared">([one](auto A) {
    auto total = sum(A.extent(0), [=](auto k) { return A(k) * one; });
    auto B = compute<"B">(2, [=](auto) { return total; });
    return weft::outputs(B, compute<"C">(3, [=](auto) { return total; }));
  });
  auto const kept = weft::kernel<"kept">([one](auto A) {
    weft::value<float> x{};
    auto B = compute<"B">(A.extent(0), [=, &x](auto i) { return x = A(i) * one; });
    return compute<"C">(A.extent(0), [=](auto i) { return B(i) + x; });
  });
  std::vector<float> const a{1, 2, 3};
  CHECK_THROWS_AS(shared(view(a, 3)), weft::argument_error);
  CHECK_THROWS_AS(kept(view(a, 3)), weft::argument_error);
}
TEST_CASE("inputs that one axis walks are compared in every dimension") {
  constexpr auto k = weft::kernel<"k">([](auto a, auto b) {
    return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) + b(i, j); });
  });
  std::vector<float> const a(12), b(15);
  CHECK_THROWS_AS(k(view(a, 3, 4), view(b, 3, 5)), weft::argument_error);
}
namespace {
float factor_of_today = 2;
}
TEST_CASE("what a lambda reads of the program around it is read at each call") {
  auto const k = weft::kernel<"k">(
      [](auto x) { return compute<"y">(x.extent(0), [x, f = factor_of_today](auto i) { return x(i) * f; }); });
  std::vector<float> const x{1};
  CHECK(k(view(x, 1))(0) == 2);
  factor_of_today = 5;
  CHECK(k(view(x, 1))(0) == 5);
}
TEST_CASE("the largest factor splits into one full loop") {
  constexpr auto k = weft::kernel<"k">(
      [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.f; }); },
      [](auto& s, auto, auto y) {
        auto [i] = y.axes();
        s.split(i, std::int64_t(1) << 40);
      });
  std::vector<float> const x{1, 2, 3};
  CHECK(k(view(x, 3))(2) == 4);
}
TEST_CASE("a stride that no number can be the opposite of is refused") {
  constexpr auto k = weft::kernel<"k">(
      [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.f; }); });
  std::vector<float> const x{1, 2, 3};
  CHECK_THROWS_AS(k(view(x.data(), 2).strided(std::int64_t(-0x7fffffffffffffff) - 1)), weft::argument_error);
}
TEST_CASE("a deferred step is legal at the call with a short axis, and a schedule_error with a long one") {
  CHECK(unrolled(numbers(1000))(999) == numbers(1000)[999] + 1);
  try {
    unrolled(numbers(1025));
    FAIL("1025 copies were made");
  } catch (weft::schedule_error const& e) {
    std::string const text = e.what();
    CHECK(text.find("more than 1024 times") != std::string::npos);
    CHECK(text.find("unrolled") != std::string::npos);  // the kernel
    CHECK(text.find("i(1025)") != std::string::npos);   // the nest
  }
}
TEST_CASE("extents that the types know are used like numbers") {
  std::vector<float> const x = numbers(16);
  auto const fixed = view(x, std::integral_constant<int, 16>{});
  CHECK(unrolled(fixed)(15) == x[15] + 1);
}
TEST_CASE("a knob takes its first value that is legal for these extents and this target") {
  static weft::target const small = weft::x86_64_sse2();  // 16 registers of 4 floats: 6 x 64 sums do not fit
  std::vector<float> const a = numbers(6 * 8), b = numbers(8 * 64);
  if (weft::cpu().arch == weft::architecture::x86_64) {
    auto const trace = tiled_matmul.on(small).trace(view(a, 6, 8), view(b, 8, 64));
    INFO(trace);
    CHECK(trace.find("split(i, 6)") != std::string::npos);
    CHECK(trace.find("split(j, 8)") != std::string::npos);
  }
  static constexpr auto by_length = weft::kernel<"by_length">(
      [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); },
      [](auto& s, auto, auto y) {
        auto [i] = y.axes();
        if (s.knob("split", {0, 1}) == 0) {
          s.unroll(i);
        } else {
          auto [io, ii] = s.split(i, 8);
          s.unroll(ii);
        }
      });
  CHECK(by_length.trace(numbers(10)) == "y: unroll(i)\n");
  CHECK(by_length(numbers(5000))(4999) == numbers(5000)[4999] + 1);
  CHECK(by_length.trace(numbers(5000)).find("split(i, 8)") != std::string::npos);
}
TEST_CASE("a computation whose stages come in another order at run time is an error, not another program") {
  static constexpr auto unsteady = weft::kernel<"unsteady">([](auto x) {
    auto const plus = [=] { return compute<"p">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); };
    auto const times = [=] { return compute<"t">(x.extent(0), [=](auto i) { return x(i) * 2.0f; }); };
    // What a compiler may do with f(plus(), times()).
    bool first = std::is_constant_evaluated();  // not const: its initialiser would be constant evaluated always
    auto p = first ? plus() : times();
    auto t = first ? times() : plus();
    return compute<"y">(x.extent(0), [=](auto i) { return p(i) - t(i); });
  });
  CHECK_THROWS_AS(unsteady(numbers(8)), weft::schedule_error);
}

// --- names of stages, knobs, kernels in kernels ------------------------------------------------------------------

TEST_CASE("a stage is found by the name that it was given, whatever it is called in texts") {
  static constexpr auto renamed = weft::kernel<"renamed">(
      [](auto x) { return compute<"A">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); },
      [](auto& s) {
        auto [i] = weft::stage<"A", 1>(s).axes();  // the input is A, so this one is A_1
        s.split(i, 4);
      });
  CHECK(renamed.trace(numbers(8)) == "A_1: split(i, 4) -> io, ii\n");
  static constexpr auto by_text = weft::kernel<"by_text">(
      [](auto x) {
        auto const first = compute<"S">(x.extent(0), [=](auto i) { return x(i) + 1.0f; });
        return compute<"S">(x.extent(0), [=](auto i) { return first(i) * 2.0f; });
      },
      [](auto& s) {
        s.split(weft::stage<"S", 1>(s).axes()[0], 4);
        s.split(weft::stage<"S_1", 1>(s).axes()[0], 8);
      });
  CHECK(by_text.trace(numbers(8)) == "S: split(i, 4) -> io, ii\nS_1: split(i, 8) -> io, ii\n");
}
TEST_CASE("a stage that is not there, or not alone, is a schedule_error with the stages there are") {
  int const capture = 0;
  auto const missing = weft::kernel<"missing">(
      [capture](auto x) {
        static_cast<void>(capture);
        auto const first = compute<"A">(x.extent(0), [=](auto i) { return x(i) + 1.0f; });
        return compute<"A">(x.extent(0), 2, [=](auto i, auto) { return first(i) * 2.0f; });
      },
      [](auto& s) { s.split(weft::stage<"A", 3>(s).axes()[0], 4); });
  auto const ambiguous = weft::kernel<"ambiguous">(
      [capture](auto x) {
        static_cast<void>(capture);
        auto const first = compute<"A">(x.extent(0), [=](auto i) { return x(i) + 1.0f; });
        return compute<"A">(x.extent(0), [=](auto i) { return first(i) * 2.0f; });
      },
      [](auto& s) { s.split(weft::stage<"A", 1>(s).axes()[0], 4); });
  auto const said = [](auto const& k) -> std::string {
    try {
      k(numbers(8));
    } catch (weft::schedule_error const& e) {
      return e.what();
    }
    return "nothing";
  };
  CHECK(said(missing) ==
        "stage<\"A\">: no stage has this name and so many axes\n  in    schedule of missing\n"
        "  try   one of stage<\"A_1\", 1>, stage<\"A_2\", 2>");
  CHECK(said(ambiguous).find("several stages have this name; give each its own") != std::string::npos);
  CHECK(said(ambiguous).find("stage<\"A_1\", 1>, stage<\"A_2\", 1>") != std::string::npos);
}
TEST_CASE("a kernel whose lambdas call it again, directly or through another, is a schedule_error and no deadlock") {
  static std::vector<float> const x = numbers(8);
  static float (*again)() = nullptr;
  auto const calling = [](auto y) {
    static_cast<void>(again());
    return compute<"y">(y.extent(0), [=](auto i) { return y(i) + 1.0f; });
  };
  static auto const direct = weft::kernel<"direct">(calling);
  static auto const outer = weft::kernel<"outer">([](auto y) {
    static_cast<void>(again());
    return compute<"y">(y.extent(0), [=](auto i) { return y(i) + 2.0f; });
  });
  static auto const other = weft::kernel<"other">([](auto y) {
    static_cast<void>(outer(x));
    return compute<"y">(y.extent(0), [=](auto i) { return y(i) + 3.0f; });
  });
  int const capture = 1;
  static auto const captured = weft::kernel<"captured">([capture](auto y) {
    static_cast<void>(again());
    return compute<"y">(y.extent(0), [=](auto i) { return y(i) + static_cast<float>(capture); });
  });
  again = [] { return direct(x)(0); };
  CHECK_THROWS_AS(direct(x), weft::schedule_error);
  again = [] { return static_cast<float>(direct.ir(x).size()); };
  CHECK_THROWS_AS(direct.ir(x), weft::schedule_error);
  again = [] { return captured(x)(0); };
  CHECK_THROWS_AS(captured(x), weft::schedule_error);
  again = [] { return other(x)(0); };
  CHECK_THROWS_AS(outer(x), weft::schedule_error);
  // From both ends at once: neither waits for the other.
  std::thread first([] { CHECK_THROWS_AS(outer(x), weft::schedule_error); });
  std::thread second([] { CHECK_THROWS_AS(other(x), weft::schedule_error); });
  first.join();
  second.join();
  // A kernel that only calls others is fine, and what failed works when its reason is gone.
  again = [] { return sums_of_rows(view(x.data(), 2, 4))(0); };
  CHECK(outer(x)(3) == x[3] + 2);
  CHECK(direct(x)(3) == x[3] + 1);
  CHECK(other(x)(3) == x[3] + 3);
}
TEST_CASE("the first legal combination of knob values is found behind hundreds of others") {
  static constexpr auto late = weft::kernel<"late_choice">(
      [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); },
      [](auto& s, auto, auto y) {
        auto [i] = y.axes();
        long const whole = s.knob("whole", {1, 2, 3, 4, 5, 6, 7, 0});
        static_cast<void>(s.knob("b", {1, 2, 3, 4, 5, 6, 7, 8}));
        static_cast<void>(s.knob("c", {1, 2, 3, 4, 5, 6, 7, 8}));
        if (whole != 0) s.unroll(i);
      });
  CHECK(late(numbers(2000))(1999) == numbers(2000)[1999] + 1);
  static constexpr auto never = weft::kernel<"no_choice">(
      [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); },
      [](auto& s, auto, auto y) {
        auto [i] = y.axes();
        for (char const* name : {"a", "b", "c", "d", "e"}) static_cast<void>(s.knob(name, {1, 2, 3, 4, 5, 6, 7, 8}));
        s.unroll(i);
      });
  std::string said;
  try {
    never(numbers(2000));
  } catch (weft::schedule_error const& e) {
    said = e.what();
  }
  CHECK(said.find("runs more than 1024 times") != std::string::npos);
  CHECK(said.find("note  of the combinations of knob values, 4096 were tried") != std::string::npos);
}

// --- shared subexpressions ------------------------------------------------------------------------------------------

// Each of these has some 2^40 ways from its end to its beginning: a walk that takes them all does not come back.
TEST_CASE("sorting networks of whole numbers compile in time") {
  int const capture = 0;
  auto const median = weft::kernel<"median25">([capture](auto x) {
    static_cast<void>(capture);
    return compute<"y">(x.extent(0), [=](auto i) {
      std::array<decltype(x(i)), 25> v{};
      for (int t = 0; t < 25; ++t) v[static_cast<std::size_t>(t)] = x(weft::clamp(i + (t - 12), 0, x.extent(0) - 1));
      for (std::size_t round = 0; round < 25; ++round)
        for (std::size_t t = round % 2; t + 1 < 25; t += 2) {
          auto const low = weft::min(v[t], v[t + 1]), high = weft::max(v[t], v[t + 1]);
          v[t] = low, v[t + 1] = high;
        }
      return v[12];
    });
  });
  std::vector<std::int64_t> x(25);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int64_t>(i * 7 % 25);
  CHECK(median(x)(12) == 12);
}
TEST_CASE("chains of selects compile in time, and each access keeps the condition that guards it") {
  auto const chain = weft::kernel<"chain">(
      [](auto x, auto b) {
        return compute<"y">(x.extent(0), [=](auto i) {
          auto v = weft::select(i < b.extent(0), b(i), x(i));
          for (int n = 0; n < 40; ++n) v = weft::select(v > 2.0f, v * 0.5f, v + 1.0f);
          return v;
        });
      },
      [](auto& s, auto, auto, auto y) {
        auto [i] = y.axes();
        auto [io, ii] = s.split(i, 16);
        s.vectorize(ii);
      });
  std::vector<float> const x = numbers(37), b = numbers(5, 7);
  std::vector<float> y(37);
  chain(x, b, out(y));
  CHECK(weft::evaluate({.contract = weft::cpu().fma}, chain, x, b) == y);
}
TEST_CASE("vectorized tails and literal extents do not walk shared subexpressions again and again") {
  auto const tail = weft::kernel<"tail">(
      [](auto x, auto b) {
        return compute<"y">(x.extent(0), 19, [=](auto i, auto j) {
          auto at = j;
          for (int n = 0; n < 40; ++n) at = weft::min(at + at, j) + n - n;
          auto v = b(weft::clamp(at, 0, 18));
          for (int n = 0; n < 40; ++n) v = v * v - v;
          return weft::select(v > 1.0f, x(i, j), 0.5f);
        });
      },
      [](auto& s, auto, auto, auto y) {
        auto [i, j] = y.axes();
        auto [jo, ji] = s.split(j, 16);
        s.vectorize(ji);
      });
  std::vector<float> const x = numbers(38), b = numbers(19, 7);
  CHECK(weft::evaluate({.contract = weft::cpu().fma}, tail, view(x.data(), 2, 19), b)[20] ==
        tail(view(x.data(), 2, 19), b)(1, 1));
}

// --- prepare ------------------------------------------------------------------------------------------------------

TEST_CASE("a prepared kernel runs without compiling and refuses what it was not prepared for") {
  std::vector<float> const x = numbers(50), y = numbers(50, 7);
  std::vector<float> z(50), other(50), longer(51);
  std::uint64_t const before = weft::compilations();
  auto const prepared = saxpy.prepare(x, y, 1.0f, out(z));
  CHECK(weft::compilations() == before + 1);
  CHECK(z == std::vector<float>(50));  // nothing ran
  prepared(x, y, 1.0f, out(z));
  prepared(y, x, 2.0f, out(other));  // other memory, other numbers
  CHECK(z[49] == x[49] + y[49]);
  CHECK(other[49] == 2 * y[49] + x[49]);
  CHECK(weft::compilations() == before + 1);
  CHECK_REFUSED("other shapes, strides or shared memory", prepared(longer, longer, 1.0f, out(longer)));
  CHECK_REFUSED("other shapes, strides or shared memory", prepared(x, z, 1.0f, out(z)));
  CHECK_REFUSED("other shapes, strides or shared memory", prepared(x, view(y.data(), 50).strided(0), 1.0f, out(z)));
  std::vector<std::int32_t> const integers(50);
  CHECK_REFUSED("other shapes, strides or shared memory", prepared(x, integers, 1.0f, out(z)));
  CHECK_REFUSED("other shapes, strides or shared memory", prepared(x, y, 1, out(z)));
  CHECK_REFUSED("other shapes, strides or shared memory", prepared(x, 1.0f, y, out(z)));
  CHECK_REFUSED("(a null pointer)", prepared(x, view(static_cast<float const*>(nullptr), 50), 1.0f, out(z)));
  CHECK_REFUSED("(a null pointer)", prepared(x, y, 1.0f, out(static_cast<float*>(nullptr), 50)));
  prepared(x, y, 3.0f, out(z));
  CHECK(z[49] == 3 * x[49] + y[49]);
}

TEST_CASE("a tensor of one element is a tensor in each call, not a number") {
  constexpr auto scaled = weft::kernel<"scaled">([](auto s, auto x) {
    return compute<"y">(x.extent(0), [=](auto i) { return s() * x(i); });
  });
  float const two = 2, three = 3;
  std::vector<float> const x = numbers(20);
  std::vector<float> y(20), z(20);
  auto const prepared = scaled.prepare(view(&two), x, out(y));
  for (int i = 0; i < 3; ++i) {
    scaled(view(&two), x, out(y));
    prepared(view(&three), x, out(z));
    CHECK(y[19] == 2 * x[19]);
    CHECK(z[19] == 3 * x[19]);
    y[19] = z[19] = 0;
  }
  constexpr auto total = weft::kernel<"total">([](auto v) {
    return weft::exact::stage<"total">([=] { return weft::sum(v.extent(0), [=](auto k) { return v(k); }); });
  });
  std::vector<float> own = numbers(20);
  float sum = 0, again = 0;
  total(own, out(&sum));
  total(own, out(&again));
  CHECK(again == sum);
  CHECK_REFUSED("without being the same elements", total(own, out(&own[5])));
  CHECK_THROWS_AS(total(own, out(static_cast<float*>(nullptr))), weft::argument_error);
  CHECK_REFUSED("other shapes, strides or shared memory", total.prepare(own, out(&sum))(own, out(&own[5])));
}

// --- texts --------------------------------------------------------------------------------------------------------

TEST_CASE("the texts show each stage of the way, and compile nothing") {
  std::uint64_t const before = weft::compilations();
  std::vector<float> const x = numbers(50), y = numbers(50, 7);
  CHECK(saxpy.loops(x, y, 1.0f).find("vectorized ii in 0..16") != std::string::npos);
  CHECK(saxpy.trace(x, y, 1.0f) == "z: split(i, 16) -> io, ii\nz: vectorize(ii)\n");
  CHECK(saxpy.ir(x, y, 1.0f).find("kernel saxpy:") == 0);
  CHECK(saxpy.llvm_ir(x, y, 1.0f).find("define i32 @weft_saxpy") != std::string::npos);
  CHECK(saxpy.assembly(x, y, 1.0f).find("weft_saxpy_50_f32:") != std::string::npos);
  CHECK(weft::compilations() == before);
}
