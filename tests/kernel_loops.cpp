// Kernels whose loops were fused, or whose splits say what becomes of the last part: what they compute, and what is left of
// it in machine code.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/kernels.hpp"
#include "weft/dim.hpp"
#include "weft/direct.hpp"
#include "weft/weft.hpp"

using namespace weft_test;
using weft::out, weft::view;

namespace {

/// Rows that are shorter than a vector.
constexpr auto scaled = [](auto A, auto B) {
  return compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) * 2.0f + B(i, j); });
};
inline constexpr auto fused_rows = weft::kernel<"fused_rows">(scaled, [](auto& s, auto, auto, auto C) {
  auto [i, j] = C.axes();
  auto [fo, fi] = s.split(s.fuse(i, j), 8);
  s.vectorize(fi);
});
inline constexpr auto fused_threads = weft::kernel<"fused_threads">(scaled, [](auto& s, auto, auto, auto C) {
  auto [i, j] = C.axes();
  auto [io, ii] = s.split(i, 2);
  s.reorder(io, j, ii);
  s.parallel(s.fuse(io, j));
});
inline constexpr auto sums = weft::kernel<"sums">(
    [](auto A) {
      return compute<"S">(A.extent(0), [=](auto i) {
        return sum(A.extent(1), A.extent(2), [=](auto k, auto l) { return A(i, k, l); });
      });
    },
    [](auto& s, auto, auto S) {
      auto [i, k, l] = S.axes();
      auto [fo, fi] = s.split(s.fuse(k, l), 4);
      s.unroll(fi);
      auto [io, ii] = s.split(i, 8);
      s.reorder(io, fo, fi, ii);
      s.vectorize(ii);
    });

template <weft::tail At_end>
constexpr auto sum_by_vectors = weft::kernel<"sum_by_vectors">(
    [](auto A, auto B) { return compute<"C">(A.extent(0), [=](auto i) { return A(i) + B(i); }); },
    [](auto& s, auto, auto, auto C) {
      auto [i] = C.axes();
      s.vectorize(i, 8, At_end);
    });
template <weft::tail At_end>
constexpr auto product_by_tiles = weft::kernel<"product_by_tiles">(
    [](auto A, auto B) {
      return compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, ii] = s.unroll(i, 3, At_end);
      auto [jo, ji] = s.vectorize(j, 8, At_end);
      s.reorder(io, jo, k, ii, ji);
    });

/// Two stages; the first one is computed beyond its end.
template <bool Clamped>
constexpr auto rounded_up = weft::kernel<"rounded_up">(
    [](auto A) {
      auto n = A.extent(0);
      auto T = compute<"T">(n, [=](auto i) {
        if constexpr (Clamped) return A(weft::min(i, n - 1)) * 2.0f;
        else return A(i) * 2.0f;
      });
      return compute<"U">(n, [=](auto i) { return T(i) + T(n - 1 - i); });
    },
    [](auto& s, auto, auto T, auto U) {
      s.vectorize(T.axes()[0], 8, weft::tail::round_up);
      s.vectorize(U.axes()[0], 8);
    });

/// Lines of the assembly in which `word` stands.
int count(std::string const& text, std::string const& word) {
  int n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("kernels with fused loops give the bits of direct evaluation, whatever divides") {
  for (std::size_t n : {1u, 2u, 3u, 7u, 8u})
    for (std::size_t m : {1u, 3u, 5u, 8u, 20u}) {
      std::vector<float> const a = numbers(n * m * 6), b = numbers(n * m, 7);
      auto const same = [&](auto const& kernel, auto const&... args) {
        auto const expected = weft::evaluate({.contract = weft::cpu().fma}, kernel, args...);
        CHECK(kernel(args...) == expected);
      };
      same(fused_rows, view(a, n, m), view(b, n, m));
      same(fused_threads, view(a, n, m), view(b, n, m));
      same(sums, view(a, n, m, 6));
      same(fused_rows, view(a, n, m).strided(static_cast<std::int64_t>(m) + 5, 1), view(b, n, m));
    }
}
TEST_CASE("kernels with fused loops: one for all sizes") {
  std::uint64_t const before = weft::compilations();
  for (std::size_t n : {1u, 3u, 8u})
    for (std::size_t m : {1u, 5u, 20u}) {
      std::vector<float> const a = numbers(n * m * 6), b = numbers(n * m, 7);
      std::vector<float> c(n * m, -1.0f), s(n);
      auto const N = weft::dim<"n">(n);
      auto const M = weft::dim<"m">(m);
      fused_rows(view(a, N, M), view(b, N, M), out(c, n, m));
      CHECK(weft::evaluate({.contract = weft::cpu().fma}, fused_rows, view(a, n, m), view(b, n, m)) == c);
      sums(view(a, N, M, 6), out(s, n));
      CHECK(weft::evaluate({.contract = weft::cpu().fma}, sums, view(a, n, m, 6)) == s);
    }
  CHECK(weft::compilations() == before + 2);
}
TEST_CASE("kernels give the bits of direct evaluation under every tail, with sizes that are numbers and with open ones") {
  auto const check = [](auto const& add, auto const& times) {
    for (std::size_t n : {1u, 3u, 7u, 8u, 9u, 13u, 16u, 31u}) {
      std::vector<float> const a = numbers(n * n), b = numbers(n * n, 7);
      auto const N = weft::dim<"n">(n);
      std::vector<float> c(n * n, -1.0f), d(n, -1.0f);
      weft::evaluate_options const how{.contract = weft::cpu().fma};
      auto const added = weft::evaluate(how, add, view(a.data(), n), view(b.data(), n));
      CHECK(add(view(a.data(), n), view(b.data(), n)) == added);
      add(view(a.data(), N), view(b.data(), N), out(d));
      CHECK(added == d);
      auto const products = weft::evaluate(how, times, view(a, n, n), view(b, n, n));
      CHECK(times(view(a, n, n), view(b, n, n)) == products);
      times(view(a, N, N), view(b, N, N), out(c, n, n));
      CHECK(products == c);
      if (n > 8) {  // in place: what the last part shares with the one before it is written, then read
        std::vector<float> x(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n));
        add(x, view(b.data(), n), out(x));
        CHECK(added == x);
      }
    }
  };
  check(sum_by_vectors<weft::tail::guard>, product_by_tiles<weft::tail::guard>);
  check(sum_by_vectors<weft::tail::mask>, product_by_tiles<weft::tail::mask>);
  check(sum_by_vectors<weft::tail::partition>, product_by_tiles<weft::tail::partition>);
  check(sum_by_vectors<weft::tail::shift_inwards>, product_by_tiles<weft::tail::shift_inwards>);
}
TEST_CASE("a stage is computed beyond its end where what it reads is there, and else the call is refused in words") {
  for (std::size_t n : {1u, 7u, 8u, 13u, 24u}) {
    std::vector<float> const a = numbers(n);
    std::vector<float> c(n, -1.0f);
    auto const expected = weft::evaluate(rounded_up<true>, view(a));
    CHECK(rounded_up<true>(view(a)) == expected);
    rounded_up<true>(view(a, weft::dim<"n">), out(c));
    CHECK(expected == c);
    if (n <= 8 || n == 24) CHECK(rounded_up<false>(view(a)) == expected);
    else CHECK_THROWS_WITH_AS(rounded_up<false>(view(a)),
                              "split: an axis that is rounded up reads too far\n  in    schedule of rounded_up: A: index 0 "
                              "runs from 0 to 15, but A has 13 there; clamp the index, guard the access by select, or give "
                              "a larger tensor\n  try   another tail",
                              weft::schedule_error);
  }
}
TEST_CASE("a last part that is shifted inwards is a vector like all others; one of its own has no masks") {
  float memory[100] = {};
  auto const text = [&](auto const& kernel) {
    return kernel.on(weft::x86_64_avx2()).assembly(view(memory, 100), view(memory, 100));
  };
  std::string const shifted = text(sum_by_vectors<weft::tail::shift_inwards>);
  std::string const apart = text(sum_by_vectors<weft::tail::partition>);
  INFO(shifted << apart);
  CHECK(count(shifted, "vaddps") == 1);
  CHECK(count(shifted, "mask") + count(shifted, "vaddss") == 0);
  CHECK(count(apart, "mask") == 0);
  CHECK(count(apart, "vaddss") > 0);
  CHECK(count(text(sum_by_vectors<weft::tail::mask>), "mask") > 0);
}
TEST_CASE("over memory without gaps no quotient is left, and vectors stay vectors") {
  float memory[12 * 20] = {};
  for (weft::target const& t : {weft::x86_64_sse2(), weft::x86_64_avx2()}) {
    auto const text = [&](auto const& kernel) { return kernel.on(t).assembly(view(memory, 12, 20), view(memory, 12, 20)); };
    std::string const rows = text(fused_rows);
    INFO(rows);
    for (char const* word : {"idiv", "gather", "mulq", "imulq"}) CHECK(count(rows, word) == 0);
    CHECK(count(rows, t.vector_bytes == 32 ? "vmovups" : "movups") >= 2);
  }
}

namespace {
enum class panel_form { kept, in_a_ring, of_what_is_followed };
/// A product of which the first tile of rows packs the panel that all of them read; in a ring nothing can be kept for others.
template <panel_form Form>
constexpr auto packed_at_first = weft::kernel<"packed_at_first">(
    [](auto A, auto B) {
      auto const C = compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return weft::sum(A.extent(1), [=](auto l) { return A(i, l) * B(l, j); });
      });
      if constexpr (Form != panel_form::of_what_is_followed) return C;
      else return compute<"R">(C.extent(0), C.extent(1), [=](auto i, auto j) { return weft::max(C(i, j), 0); });
    },
    [](auto& s, auto, auto B, auto C, auto... followed) {
      auto const copy = s.transform_layout(s.cache_read(B, C), [](auto d0, auto d1) { return weft::dims(d1 / 4, d0, d1 % 4); });
      auto const [i, j, k] = C.axes();
      auto const tiled = [&](weft::axis rows, weft::axis columns) { return s.tile(rows, columns, 3, 4); };
      if constexpr (sizeof...(followed) == 0) {
        auto [io, jo, ii, ji] = tiled(i, j);
        s.reorder(jo, io, k, ii, ji);
        s.compute_at(copy, k), s.store_at(copy, jo);
      } else {
        auto const last = (followed, ...);
        auto [io, jo, ii, ji] = tiled(last.axes()[0], last.axes()[1]);
        s.reorder(jo, io, ii, ji);
        s.compute_at(C, io);
        s.reorder(k, i, j);
        s.compute_at(copy, k), s.store_at(copy, jo);
      }
      if constexpr (Form == panel_form::in_a_ring) s.fold_storage(copy.axes()[1], 4);
    });
}  // namespace

TEST_CASE("store_at: what does not move with a loop between is computed in its first iteration alone") {
  auto const check = [](auto const& kernel, bool apart) {
    for (std::int64_t const m : {1, 2, 3, 4, 6, 10})
      for (std::int64_t const k : {1, 7}) {
        std::vector<float> a, b;
        for (std::int64_t n = 0; n < m * k; ++n) a.push_back(static_cast<float>(n % 7 - 3));
        for (std::int64_t n = 0; n < k * 10; ++n) b.push_back(static_cast<float>(n % 5 - 2));
        auto const A = view(a, m, k), B = view(b, k, 10);
        CAPTURE(m);
        CAPTURE(k);
        CHECK((kernel(A, B) == weft::evaluate(kernel, A, B)));
        // The others have a loop of their own, without a copy in it.
        std::string const ir = kernel.ir(A, B);
        std::size_t const others = ir.find("io in 1..");
        if (m > 6) CHECK((others != std::string::npos) == apart);
        if (m > 6 && apart) CHECK(ir.find("B[", others) == std::string::npos);
        if (m > 6 && apart) CHECK(ir.find("B[") != std::string::npos);
      }
  };
  check(packed_at_first<panel_form::kept>, true);
  check(packed_at_first<panel_form::in_a_ring>, false);
  check(packed_at_first<panel_form::of_what_is_followed>, true);
}
