#include "weft/dim.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "support/private_cache.hpp"
#include "weft/direct.hpp"
#include "weft/expr/boundary.hpp"
#include "weft/expr/math/functions.hpp"
#include "weft/ops.hpp"

using weft::compute, weft::dim, weft::sum, weft::view, weft::out;

namespace {

inline constexpr auto add = weft::kernel<"add">(
    [](auto x, auto y) { return compute<"z">(x.extent(0), [=](auto i) { return x(i) + y(i); }); },
    [](auto& s, auto, auto, auto z) {
      auto [i] = z.axes();
      auto [io, ii] = s.split(i, 64);
      s.vectorize(ii);
    });
inline constexpr auto matmul = weft::kernel<"matmul">(
    [](auto A, auto B) {
      auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
      return compute<"C">(M, N, [=](auto i, auto j) { return sum(K, [=](auto k) { return A(i, k) * B(k, j); }); });
    },
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto [ko, ki] = s.split(k, 16);
      auto [io, ii] = s.split(i, s.knob("mr", {6, 4}));
      auto [jo, ji] = s.split(j, s.knob("nr", {64, 32, 16, 8}));
      s.reorder(ko, jo, io, ki, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
      s.parallel(jo);
    });
inline constexpr auto softmax = weft::kernel<"softmax">(
    [](auto x) {
      auto const rows = x.extent(0), n = x.extent(1);
      auto top = compute<"top">(rows, [=](auto i) { return weft::max(n, [=](auto k) { return x(i, k); }); });
      auto e = compute<"e">(rows, n, [=](auto i, auto j) { return weft::exp(x(i, j) - top(i)); });
      auto total = compute<"total">(rows, [=](auto i) { return sum(n, [=](auto k) { return e(i, k); }); });
      return compute<"y">(rows, n, [=](auto i, auto j) { return e(i, j) / total(i); });
    },
    [](auto& s, auto, auto, auto e, auto, auto y) {
      for (auto stage : {e, y}) {
        auto const [i, j] = stage.axes();
        auto const [jo, ji] = s.split(j, 8);
        s.vectorize(ji);
        s.parallel(i);
      }
    });
inline constexpr auto blur = weft::kernel<"blur">(
    [](auto a) {
      auto n = a.extent(0);
      return compute<"b">(n, [=](auto i) {
        return a(weft::clamp(i - 1, 0, n - 1)) + a(i) + weft::select(i + 1 < n, a(i + 1), 0.5f) + weft::mirror(a)(i - 3);
      });
    },
    [](auto& s, auto, auto b) {
      auto [i] = b.axes();
      auto [io, ii] = s.split(i, 3);
      s.unroll(ii);
    });
inline constexpr auto packed = weft::kernel<"packed">(
    [](auto A, auto B) {
      auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
      return compute<"C">(M, N, [=](auto i, auto j) { return sum(K, [=](auto k) { return A(i, k) * B(k, j); }); });
    },
    [](auto& s, auto, auto B, auto C) {
      auto [i, j, k] = C.axes();
      auto [jo, ji] = s.split(j, 16);
      s.reorder(jo, i, k, ji);
      s.vectorize(ji);
      s.parallel(jo);
      s.compute_at(s.cache_read(B, C), jo);  // each iteration of jo has its own part of the workspace
    });
inline constexpr auto gather = weft::kernel<"gather">([](auto a, auto at) {
  return compute<"g">(at.extent(0), [=](auto i) { return a(weft::clamp(at(i), 0, a.extent(0) - 1)); });
});
inline constexpr auto convolve = weft::kernel<"convolve">([](auto x, auto w) {
  return compute<"y">(x.extent(0) - w.extent(0) + 1,
                      [=](auto i) { return sum(w.extent(0), [=](auto k) { return x(i + k) * w(k); }); });
});
inline constexpr auto shifted = weft::kernel<"shifted">(
    [](auto x, auto w) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + w(i + 2); }); });
inline constexpr auto flat = weft::kernel<"flat">([](auto a) {
  auto const n = a.extent(0), m = a.extent(1);
  return compute<"f">(n * m, [=](auto i) { return a(i / m, i % m); });
});

std::vector<float> numbers(int n, int step = 5) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = static_cast<float>(i * step % 13 - 6) / 4;
  return v;
}
bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}
template <class F>
std::uint64_t compiled_by(F const& f) {
  std::uint64_t const before = weft::compilations();
  f();
  return weft::compilations() - before;
}
template <class F>
std::string refused(F const& f) {
  try {
    f();
  } catch (weft::argument_error const& e) {
    return e.what();
  }
  return "nothing";
}
constexpr auto n_ = dim<"n">;
constexpr auto m_ = dim<"m">;
constexpr auto k_ = dim<"k">;

static_assert(weft::checked<add, weft::fixed_arg<float, n_>, weft::fixed_arg<float, n_>>);
static_assert(weft::checked<matmul, weft::fixed_arg<float, dim<"m">, 16>, weft::fixed_arg<float, 16, dim<"n">>>);

}  // namespace

TEST_CASE("one kernel for all sizes: a vector add") {
  CHECK(compiled_by([] {
          for (int n : {5, 64, 1, 65, 0, 1009, 128, 2, 63}) {
            std::vector<float> const x = numbers(n), y = numbers(n, 7);
            std::vector<float> z(x.size());
            add(view(x, n_), view(y, n_), out(z));
            for (std::size_t i = 0; i < z.size(); ++i) CHECK(z[i] == x[i] + y[i]);
          }
        }) == 1);
}
TEST_CASE("one kernel for all sizes: a matrix product with tails everywhere, over threads") {
  struct sizes {
    int m, k, n;
  };
  std::uint64_t open = 0;
  for (auto [m, k, n] : {sizes{8, 9, 64}, {1, 1, 1}, {13, 37, 70}, {3, 17, 1}, {29, 31, 127}, {6, 16, 64}, {7, 1, 200}}) {
    std::vector<float> const a = numbers(m * k), b = numbers(k * n, 7);
    std::vector<float> c(static_cast<std::size_t>(m * n)), d = c;
    open += compiled_by([&] { matmul(view(a, m_(m), k_(k)), view(b, k_(k), n_(n)), out(c, m, n)); });
    matmul(view(a, m, k), view(b, k, n), out(d, m, n));
    CHECK(same_bits(c, d));
  }
  CHECK(open == 1);
}
TEST_CASE("extents without a name are numbers in the code beside open ones") {
  std::uint64_t open = 0;
  std::vector<float> const b = numbers(16 * 24);
  for (int m : {4, 1, 31}) {
    std::vector<float> const a = numbers(m * 16);
    std::vector<float> c(static_cast<std::size_t>(m) * 24), d = c;
    open += compiled_by([&] { matmul(view(a, m_(m), 16), view(b, 16, 24), out(c, m, 24)); });
    matmul(view(a, m, 16), view(b, 16, 24), out(d, m, 24));
    CHECK(same_bits(c, d));
  }
  CHECK(open == 1);
  std::string const ir = matmul.ir(view(b, m_(16), 24), view(b, 24, 16));
  CHECK(ir.find("sizes m\n") != std::string::npos);
  CHECK(ir.find("buffer A: f32[m, 24] strides [24, 1]") != std::string::npos);
}
TEST_CASE("stages in between have the memory that the sizes of the call ask for") {
  std::uint64_t open = 0;
  for (auto [rows, n] : {std::pair{3, 5}, {17, 300}, {1, 1}, {2, 8}, {40, 1009}, {5, 7}}) {
    std::vector<float> const x = numbers(rows * n);
    std::vector<float> y(x.size()), z = y;
    open += compiled_by([&] { softmax(view(x, m_(rows), n_(n)), out(y, rows, n)); });
    softmax(view(x, rows, n), out(z, rows, n));
    CHECK(same_bits(y, z));
  }
  CHECK(open == 1);
}
TEST_CASE("a copied panel for each iteration of a parallel axis has the memory that the sizes of the call ask for") {
  std::uint64_t open = 0;
  for (auto [m, k, n] : {std::array{3, 5, 7}, {9, 300, 40}, {1, 1, 1}, {4, 1200, 33}, {2, 8, 16}}) {
    std::vector<float> const a = numbers(m * k), b = numbers(k * n, 7);
    std::vector<float> c(static_cast<std::size_t>(m * n)), d = c;
    open += compiled_by([&] { packed(view(a, m_(m), k_(k)), view(b, k_(k), n_(n)), out(c, m, n)); });
    matmul(view(a, m, k), view(b, k, n), out(d, m, n));
    CHECK(same_bits(c, d));
  }
  CHECK(open == 1);
}
TEST_CASE("a workspace past 2^48 bytes is refused before anything runs") {
  constexpr int n = 1 << 24;
  auto const outer = weft::kernel<"outer">([](auto x, auto y) {
    auto t = compute<"t">(x.extent(0), y.extent(0), [=](auto i, auto j) { return x(i) * y(j); });
    return compute<"z">(x.extent(0), [=](auto i) { return sum(y.extent(0), [=](auto k) { return t(i, k); }); });
  }, [](auto&...) {});  // by rule it would be inlined
  std::unique_ptr<float[]> const memory(new float[n]), to(new float[n]);  // never read
  std::string const why = refused([&] {
    outer(view(memory.get(), n_(n)), view(memory.get(), m_(n)), out(to.get(), n));
  });
  CHECK(why == "outer: its intermediate tensors need more than 2^48 bytes");
}
TEST_CASE("borders, subscripts that are read, extents that follow from several") {
  std::uint64_t open = 0;
  for (int n : {1, 2, 3, 4, 17, 101}) {
    std::vector<float> const x = numbers(n), w = numbers(n < 4 ? 1 : 3);
    std::vector<std::int64_t> at{0, -5, n, n - 1, 3};
    std::vector<float> y(x.size()), z = y, g(at.size()), h = g;
    std::vector<float> v(x.size() - w.size() + 1), u = v;
    open += compiled_by([&] {
      blur(view(x, n_), out(y));
      gather(view(x, n_), view(at, k_), out(g));
      convolve(view(x, n_), view(w, k_), out(v));
    });
    blur(x, out(z));
    gather(x, at, out(h));
    convolve(x, w, out(u));
    CHECK(same_bits(y, z));
    CHECK(same_bits(g, h));
    CHECK(same_bits(v, u));
  }
  CHECK(open == 3);
  std::uint64_t flattened = 0;
  for (auto [m, n] : {std::pair{3, 5}, {1, 1}, {7, 11}}) {
    std::vector<float> const a = numbers(m * n);
    std::vector<float> f(a.size());
    flattened += compiled_by([&] { flat(view(a, m_(m), n_(n)), out(f)); });
    CHECK(same_bits(a, f));
  }
  CHECK(flattened == 1);
}
TEST_CASE("outputs that are left out come in the sizes of their call") {
  CHECK(compiled_by([] {
          for (int n : {4, 9, 2}) {
            std::vector<float> const x = numbers(n);
            auto const z = add(view(x, n_), view(x, n_));
            REQUIRE(z.extent(0) == n);
            for (int i = 0; i < n; ++i) CHECK(z(i) == 2 * x[static_cast<std::size_t>(i)]);
          }
        }) == 1);
  weft::tensor<float, 2> a(3, 4);
  CHECK(matmul(view(a, m_, k_), view(a.data(), k_(4), n_(3))).shape() == std::array<std::int64_t, 2>{3, 3});
}
TEST_CASE("a prepared kernel takes every size") {
  std::vector<float> const x = numbers(10);
  std::vector<float> z(10);
  auto const ready = add.prepare(view(x, n_), view(x, n_), out(z));
  CHECK(compiled_by([&] {
          for (int n : {1, 3, 10, 7}) {
            std::fill(z.begin(), z.end(), 0.0f);
            ready(view(x.data(), n_(n)), view(x.data(), n_(n)), out(z.data(), n));
            for (int i = 0; i < 10; ++i)
              CHECK(z[static_cast<std::size_t>(i)] == (i < n ? 2 * x[static_cast<std::size_t>(i)] : 0));
          }
        }) == 0);
  CHECK(refused([&] { ready(view(x.data(), 3), view(x.data(), 4), out(z.data(), 3)); }).find("prepared for") !=
        std::string::npos);
}
TEST_CASE("strides: those of packed tensors follow from the extents, others are sizes, and 1 is another form") {
  std::vector<float> const a = numbers(4000), b = numbers(4000, 7);
  std::uint64_t open = 0;
  auto const both = [&](int m, int n, auto const& strided) {
    std::vector<float> c(static_cast<std::size_t>(m * n)), d = c;
    open += compiled_by([&] {
      matmul(strided(view(a.data(), m_(m), k_(n))), view(b.data(), k_(n), n_(n)), out(c, m, n));
    });
    matmul(strided(view(a.data(), m, n)), view(b.data(), n, n), out(d, m, n));
    CHECK(same_bits(c, d));
  };
  for (int n : {5, 31, 12}) both(7, n, [](auto v) { return v.strided(40, 1); });
  CHECK(open == 1);
  for (int n : {5, 31, 12}) both(6, n, [](auto v) { return v.strided(50, 1); });
  CHECK(open == 1);
  for (int n : {5, 31, 12}) both(7, n, [](auto v) { return v.strided(1, 77); });
  CHECK(open == 2);
  for (int n : {5, 31, 12, 1}) both(7, n, [](auto v) { return v; });  // the form of the matrix product above
  CHECK(open <= 3);
  CHECK_THROWS_AS(static_cast<void>(view(a, n_).strided(2)), weft::argument_error);  // out of the range
}
TEST_CASE("in place, with open sizes") {
  CHECK(compiled_by([] {
          for (int n : {4, 90, 7}) {
            std::vector<float> const x = numbers(n);
            std::vector<float> y = x;
            add(view(y, n_), view(x, n_), out(y));
            for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == 2 * x[i]);
          }
        }) == 1);
  std::vector<float> x = numbers(9);
  CHECK(refused([&] { add(view(x.data(), n_(8)), view(x.data(), n_(8)), out(x.data() + 1, 8)); }).find("overlaps") !=
        std::string::npos);
}
TEST_CASE("what has one name has one size; what one axis walks is equal; all accesses stay inside: at each call") {
  std::vector<float> x = numbers(20), w = numbers(20), z(20);
  auto const add_of = [&](int n, int m, int k) { add(view(x.data(), n_(n)), view(w.data(), m_(m)), out(z.data(), k)); };
  add_of(5, 5, 5);
  CHECK(refused([&] { add_of(5, 6, 5); }) ==
        "add: B.extent(0) = 6 and A.extent(0) = 5 must be equal: one axis walks both");
  CHECK(refused([&] { add_of(6, 6, 5); }).find("output z is 5, but dimension 0 has 6 elements") != std::string::npos);
  CHECK(refused([&] { add_of(6, 6, 6); }) == "nothing");
  std::vector<std::int64_t> const at{1, 2, 3};
  CHECK(refused([&] { gather(view(x.data(), n_(5)), view(at, n_), out(z.data(), 3)); }) ==
        "gather: n is 5 in dimension 0 of A and 3 in dimension 0 of B; what has one name has one size");
  CHECK(refused([&] { gather(view(x.data(), n_(3)), view(at, k_), out(z.data(), n_(3))); }) == "nothing");
  CHECK(refused([&] { gather(view(x.data(), n_(4)), view(at, k_), out(z.data(), n_(3))); }) ==
        "gather: n is 4 in dimension 0 of A and 3 in dimension 0 of g; what has one name has one size");
  CHECK(refused([&] { add(view(x, n_), view(static_cast<float*>(nullptr), n_(20)), out(z)); }).find("null") !=
        std::string::npos);

  auto const shifted_of = [&](int n, int m) { shifted(view(x.data(), n_(n)), view(w.data(), m_(m)), out(z.data(), n)); };
  CHECK(compiled_by([&] {
          shifted_of(5, 7);
          shifted_of(6, 9);
          CHECK(refused([&] { shifted_of(6, 7); }).find("B: index 0 runs from 2 to 7, but B has 7 there") !=
                std::string::npos);
        }) == 1);
  auto const convolve_of = [&](int n, int k) {
    convolve(view(x.data(), n_(n)), view(w.data(), k_(k)), out(z.data(), n - k + 1));
  };
  CHECK(refused([&] { convolve_of(5, 5); }) == "nothing");
  CHECK(refused([&] { convolve_of(5, 8); }).find("negative extent") != std::string::npos);
}
TEST_CASE("what weft::require asks for is asked of each call with open sizes") {
  std::vector<float> const a = numbers(200), b = numbers(200, 7);
  std::vector<float> c(400);
  auto const sums = weft::kernel<"sums">(weft::ops::add);
  sums(view(a.data(), dim<"n">(40)), view(b.data(), dim<"m">(40)), out(c.data(), 40));
  CHECK(refused([&] { sums(view(a.data(), dim<"n">(40)), view(b.data(), dim<"m">(50)), out(c.data(), 40)); }) != "nothing");
  auto const twice = weft::kernel<"twice">([](auto A, auto B) {
    weft::require(B.extent(0) == A.extent(0) * 2);
    return compute<"C">(A.extent(0), [=](auto i) { return A(i) + B(2 * i); });
  });
  auto const wanted = "twice: needs B.extent(0) == A.extent(0) * 2, but B.extent(0) = 90, A.extent(0) = 33";
  twice(view(a.data(), dim<"n">(30)), view(b.data(), dim<"m">(60)), out(c.data(), 30));
  CHECK(refused([&] { twice(view(a.data(), dim<"n">(33)), view(b.data(), dim<"m">(90)), out(c.data(), 33)); }) == wanted);
  auto const many = twice.with({.exact_shapes = 2});
  for (int n = 20; n < 32; ++n) many(view(a.data(), n), view(b.data(), 2 * n), out(c.data(), n));
  CHECK(refused([&] { many(view(a.data(), 33), view(b.data(), 90), out(c.data(), 33)); }) == wanted);
  auto const joined = weft::kernel<"joined">([](auto A, auto B) { return weft::ops::concat(A, B, {.axis = 0}); }).with({.exact_shapes = 2});
  for (int n = 3; n < 9; ++n) joined(view(a.data(), n, n), view(b.data(), 3, n), out(c.data(), n + 3, n));
  CHECK(refused([&] { joined(view(a.data(), 9, 9), view(b.data(), 3, 10), out(c.data(), 12, 9)); }) != "nothing");
  auto const ready = sums.prepare(view(a.data(), dim<"n">(40)), view(b.data(), dim<"m">(40)), out(c.data(), 40));
  ready(view(a.data(), dim<"n">(60)), view(b.data(), dim<"m">(60)), out(c.data(), 60));
  CHECK(refused([&] { ready(view(a.data(), dim<"n">(60)), view(b.data(), dim<"m">(61)), out(c.data(), 60)); }) != "nothing");
}
TEST_CASE("a sum over nothing, which open code does not do, gets code of its own") {
  std::vector<float> a(6), c(12, 5.0f);
  matmul(view(a.data(), m_(3), k_(0)), view(a.data(), k_(0), n_(4)), out(c, 3, 4));
  CHECK(same_bits(c, std::vector<float>(12)));
  c.assign(12, 5.0f);
  convolve(view(a.data(), n_(3)), view(a.data(), k_(0)), out(c.data(), 4));
  CHECK(c[3] == 0);
  CHECK(compiled_by([&] { add(view(a.data(), n_(0)), view(a.data(), n_(0)), out(c.data(), 0)); }) == 0);
}
TEST_CASE("loops and ir name the sizes") {
  weft::tensor<float, 2> a(30, 40), b(40, 50);
  std::string const ir = matmul.ir(view(a, m_, k_), view(b, k_, n_));
  CHECK(ir.find("sizes m, k, n\n") != std::string::npos);
  CHECK(ir.find("for ko in 0..(k + 15) // 16:") != std::string::npos);
  CHECK(ir.find("max") == std::string::npos);  // a loop over a part surely runs
  std::string const loops = matmul.loops(view(a, m_, k_), view(b, k_, n_));
  CHECK(loops.find("for io in 0..ceil(m/6)") != std::string::npos);
}
TEST_CASE("on disk a kernel with open sizes is found by their names") {
  weft_test::private_cache const cache;
  auto const scaled = [](auto id) {  // each type its own table, as in another process
    return weft::kernel<"scaled">([](auto x) {
      static_cast<void>(decltype(id)::value);
      return compute<"y">(x.extent(0), [=](auto i) { return x(i) * 3.0f; });
    });
  };
  std::vector<float> const x = numbers(50);
  std::vector<float> y(50);
  auto const call = [&](auto id, auto name, int n) {
    return compiled_by([&] { scaled(id)(view(x.data(), name(n)), out(y.data(), n)); });
  };
  CHECK(call(std::integral_constant<int, 1>{}, n_, 9) == 1);
  CHECK(call(std::integral_constant<int, 2>{}, n_, 44) == 0);
  CHECK(y[43] == x[43] * 3.0f);
  CHECK(cache.files().size() == 1);
  CHECK(call(std::integral_constant<int, 3>{}, m_, 9) == 1);
}
TEST_CASE("direct evaluation takes named extents as they are") {
  std::vector<float> const x{1, 2, 3};
  CHECK(weft::evaluate(add, view(x, n_), view(x, n_)) == std::vector<float>{2, 4, 6});
}
TEST_CASE("a kernel with captures: to vectorize an open axis whole is refused at the call, in words") {
  bool whole = true;
  auto const doubled = weft::kernel<"doubled">(
      [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + x(i); }); },
      [&](auto& s) {
        auto [i] = weft::stage<"y", 1>(s).axes();
        s.vectorize(whole ? i : s.split(i, 8)[1]);
      });
  std::vector<float> const x = numbers(20);
  std::vector<float> y(20);
  std::string said;
  try {
    doubled(view(x, n_), out(y));
  } catch (weft::schedule_error const& e) {
    said = e.what();
  }
  CHECK(said.find("a vectorized axis has an open extent (weft::dim); split it and vectorize the inner part") !=
        std::string::npos);
  doubled(x, out(y));
  whole = false;
  CHECK(compiled_by([&] {
          doubled(view(x, n_), out(y));
          doubled(view(x.data(), n_(7)), out(y.data(), 7));
        }) == 1);
}
TEST_CASE("calls of open sizes that need addresses and numbers alone, and those that are not what they seem, come out as ever") {
  // Sizes that follow from others, a border, a number, and an output of rank 2: each is asked of the words of a call.
  constexpr auto joined_rows = weft::kernel<"joined_rows">([](auto x, auto y, auto by) {
    return compute<"z">(x.extent(0) + y.extent(0), x.extent(1), [=](auto i, auto j) {
      return weft::select(i < x.extent(0), x(weft::clamp(i, 0, x.extent(0) - 1), j), y(weft::clamp(i - x.extent(0), 0, y.extent(0) - 1), j)) * by;
    });
  });
  std::vector<float> memory(4096);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i % 97) - 40;
  std::vector<float> const before = memory;
  auto const call = [&](float* x, std::int64_t a, float* y, std::int64_t b, std::int64_t n, float by, float* z, std::int64_t rows) {
    joined_rows(view(x, dim<"a">(a), dim<"n">(n)), view(y, dim<"b">(b), dim<"n">(n)), by, out(z, rows, dim<"n">(n)));
  };
  auto const is_right = [&](std::int64_t a, std::int64_t b, std::int64_t n, float by) {
    std::vector<float> z(static_cast<std::size_t>((a + b) * n), -1);
    call(memory.data(), a, memory.data() + 1000, b, n, by, z.data(), a + b);
    bool right = true;
    for (std::int64_t i = 0; i < (a + b) * n; ++i)
      right = right && z[static_cast<std::size_t>(i)] == (i < a * n ? memory[static_cast<std::size_t>(i)] : memory[static_cast<std::size_t>(1000 + i - a * n)]) * by;
    return right;
  };
  for (int round = 0; round < 2; ++round)
    for (std::int64_t a : {1, 3, 8})
      for (std::int64_t b : {1, 2, 9})
        for (std::int64_t n : {1, 4, 33}) CHECK(is_right(a, b, n, static_cast<float>(round) + 1.5f));
  std::vector<float> z(600, -1);
  auto const refused = [&](auto const& wrong) {
    std::fill(z.begin(), z.end(), -1.0f);
    try {
      wrong();
    } catch (weft::argument_error const&) {
      return memory == before && z == std::vector<float>(600, -1);
    }
    return false;
  };
  CHECK(refused([&] { call(memory.data(), 3, memory.data() + 1000, 2, 4, 1, z.data(), 6); }));       // 5 rows
  CHECK(refused([&] { call(memory.data(), 3, nullptr, 2, 4, 1, z.data(), 5); }));
  CHECK(refused([&] { call(memory.data(), 3, memory.data() + 1000, 2, 4, 1, memory.data() + 10, 5); }));  // in part on an input
  CHECK(refused([&] { call(memory.data(), 3, memory.data() + 1000, 2, 4, 1, memory.data() + 1007, 5); }));
  CHECK(refused([&] {
    joined_rows(view(memory.data(), dim<"a">(3), dim<"n">(4)), view(memory.data() + 1000, dim<"b">(2), dim<"n">(5)), 1.0f, out(z.data(), 5, dim<"n">(4)));
  }));
  CHECK_NOTHROW(call(memory.data(), 3, memory.data() + 1000, 2, 4, 1, memory.data() + 12, 5));  // behind what is read
  memory = before;
  // Strides of their own are another form, and a form is not for what has none of its strides.
  std::vector<float> wide(600, -1);
  for (int round = 0; round < 2; ++round) {
    joined_rows(view(memory.data(), dim<"a">(3), dim<"n">(4)).strided(7, 1), view(memory.data() + 1000, dim<"b">(2), dim<"n">(4)), 2.0f, out(z.data(), 5, dim<"n">(4)));
    CHECK((z[4] == memory[7] * 2 && z[11] == memory[17] * 2 && z[12] == memory[1000] * 2));
    CHECK(is_right(3, 2, 4, 2));
  }
  // A prepared kernel of open sizes, too.
  auto const ready = joined_rows.prepare(view(memory.data(), dim<"a">(3), dim<"n">(4)), view(memory.data() + 1000, dim<"b">(2), dim<"n">(4)), 2.0f, out(z.data(), 5, dim<"n">(4)));
  ready(view(memory.data(), dim<"a">(5), dim<"n">(8)), view(memory.data() + 1000, dim<"b">(2), dim<"n">(8)), 3.0f, out(z.data(), 7, dim<"n">(8)));
  CHECK((z[39] == memory[39] * 3 && z[40] == memory[1000] * 3 && z[55] == memory[1015] * 3));
  CHECK(refused([&] {
    ready(view(memory.data(), dim<"a">(5), dim<"n">(8)), view(memory.data() + 1000, dim<"b">(2), dim<"n">(8)), 3.0f, out(z.data(), 8, dim<"n">(8)));
  }));
}
