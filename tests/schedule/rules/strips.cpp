// Schedules by rule of stages that are read in a window.
#include "schedule/rules/check.hpp"
#include "weft/schedule/rules/planner.hpp"

using namespace weft_test;
using weft::compute;

namespace {
constexpr auto window = [](auto const& of) {
  return [=](auto y, auto x) { return of(y, x) + of(y, x + 1) * of(y + 1, x) + weft::max(of(y + 2, x + 2), of(y + 1, x + 1)); };
};
/// Three stages, each of which reads the one before in a window, and costs more than its memory.
inline constexpr auto windows = weft::kernel<"windows">([](auto a) {
  auto const h = a.extent(0), w = a.extent(1);
  auto b = compute<"b">(h - 2, w - 2, window(a));
  auto c = compute<"c">(h - 4, w - 4, window(b));
  return compute<"d">(h - 6, w - 6, window(c));
});
/// A chain of thirty windows.
inline constexpr auto chain = weft::kernel<"chain">([](auto a) {
  auto last = compute<"s">(a.extent(0), a.extent(1), [=](auto y, auto x) { return a(y, x) * 2; });
  for (int s = 0; s < 30; ++s) {
    auto const before = last;
    last = compute<"s">(before.extent(0) - 2, before.extent(1) - 2, [=](auto y, auto x) {
      return weft::max(before(y, x), before(y + 1, x + 2)) + weft::min(before(y + 2, x), before(y + 1, x + 1));
    });
  }
  return last;
});
/// Derivatives, and sums of their squares and products over windows.
inline constexpr auto corners = weft::kernel<"corners">([](auto a) {
  auto const h = a.extent(0), w = a.extent(1);
  auto u = compute<"u">(h, w - 2, [=](auto y, auto x) { return a(y, x) / 2 - a(y, x + 2) / 4 + a(y, x + 1); });
  auto v = compute<"v">(h - 2, w - 2, [=](auto y, auto x) { return a(y, x) / 4 - a(y + 2, x + 1) - a(y + 1, x + 2) / 2; });
  auto uu = compute<"uu">(h - 2, w - 2, [=](auto y, auto x) { return u(y, x) * u(y, x); });
  auto vv = compute<"vv">(h - 2, w - 2, [=](auto y, auto x) { return v(y, x) * v(y, x); });
  auto uv = compute<"uv">(h - 2, w - 2, [=](auto y, auto x) { return u(y, x) * v(y, x); });
  auto const sums = [=](auto const& of) {
    return [=](auto y, auto x) {
      return of(y, x) + of(y, x + 1) + of(y, x + 2) + of(y + 1, x) + of(y + 1, x + 1) + of(y + 1, x + 2) + of(y + 2, x) + of(y + 2, x + 1) + of(y + 2, x + 2);
    };
  };
  auto p = compute<"p">(h - 4, w - 4, sums(uu));
  auto q = compute<"q">(h - 4, w - 4, sums(vv));
  auto r = compute<"r">(h - 4, w - 4, sums(uv));
  return compute<"c">(h - 4, w - 4, [=](auto y, auto x) { return p(y, x) * q(y, x) - r(y, x) * r(y, x) + p(y, x); });
});
/// Of every second row and column, with edges that are repeated.
inline constexpr auto smaller = weft::kernel<"smaller">([](auto a) {
  auto const h = a.extent(0), w = a.extent(1);
  auto b = compute<"b">(h, w, [=](auto y, auto x) { return a(y, x) * a(y, x) + weft::max(a(y, x), 0) * 3 + weft::min(a(y, x), 1); });
  auto const e = weft::repeat_edge(b);
  return compute<"c">((h + 1) / 2, (w + 1) / 2, [=](auto y, auto x) {
    return e(2 * y - 1, 2 * x) + e(2 * y, 2 * x) + e(2 * y + 1, 2 * x - 1) + e(2 * y + 1, 2 * x + 1);
  });
});
/// Planes of which each reads what all share; rows that are read at two speeds.
inline constexpr auto planes = weft::kernel<"planes">([](auto a) {
  auto const h = a.extent(0), w = a.extent(1);
  auto b = compute<"b">(h, w - 1, [=](auto y, auto x) { return a(y, x) * a(y, x + 1) + weft::max(a(y, x), a(y, x + 1)) * a(y, x); });
  return compute<"c">(3, h / 2, w - 2, [=](auto p, auto y, auto x) {
    return weft::select(p == 0, b(y, x), weft::select(p == 1, b(2 * y, x + 1), b(y + 1, x) * 2));
  });
});
/// Sums over a window of what was computed before.
inline constexpr auto pooled = weft::kernel<"pooled">([](auto a) {
  auto const h = a.extent(0), w = a.extent(1);
  auto b = compute<"b">(h - 1, w - 1, [=](auto y, auto x) { return a(y, x) * a(y + 1, x + 1) + weft::max(a(y + 1, x), a(y, x + 1)) * a(y, x); });
  auto c = compute<"c">((h - 1) / 2, (w - 1) / 2, [=](auto y, auto x) {
    return weft::sum(2, 2, [=](auto u, auto v) { return b(2 * y + u, 2 * x + v); });
  });
  return compute<"d">((h - 1) / 2 - 1, (w - 1) / 2, [=](auto y, auto x) { return c(y, x) - c(y + 1, x); });
});
/// Sums over a window, the first stage of all, which another window reads.
inline constexpr auto weighted = weft::kernel<"weighted">([](auto a, auto w) {
  auto const h = a.extent(0) - 2, n = a.extent(1) - 2;
  auto b = compute<"b">(h, n, [=](auto y, auto x) { return weft::sum(3, 3, [=](auto u, auto v) { return w(u, v) * a(y + u, x + v); }); });
  return compute<"c">(h - 2, n - 2, window(b));
});
/// Eight levels of each pixel, of which one nest blurs all and another one looks at two.
inline constexpr auto levels = weft::kernel<"levels">([](auto a) {
  auto const h = a.extent(0), w = a.extent(1);
  auto g = compute<"g">(h, w, 8, [=](auto y, auto x, auto k) {
    auto const d = a(y, x) - weft::cast<float>(k);
    return a(y, x) * 2 + d * d * d - weft::max(d, 0) * weft::min(d, 3) * 3 + weft::max(d * d, 1) * 0.5f;
  });
  auto const e = weft::repeat_edge(g);
  auto b = compute<"b">(h, (w + 1) / 2, 8, [=](auto y, auto x, auto k) { return e(y, 2 * x - 1, k) + e(y, 2 * x, k) * 2 + e(y, 2 * x + 1, k); });
  auto const f = weft::repeat_edge(b);
  auto c = compute<"c">((h + 1) / 2, (w + 1) / 2, 8, [=](auto y, auto x, auto k) { return f(2 * y - 1, x, k) + f(2 * y, x, k) * 2 + f(2 * y + 1, x, k); });
  auto l = compute<"l">(h, w, 8, [=](auto y, auto x, auto k) { return g(y, x, k) - c(y / 2, x / 2, k); });
  return compute<"d">(h, w, [=](auto y, auto x) {
    auto const k = weft::clamp(weft::cast<std::int64_t>(a(y, x)), 0, 6);
    return l(y, x, k) + l(y, x, k + 1) * 2;
  });
});
/// What a product reads all of, and another stage two columns of.
inline constexpr auto looked_at = weft::kernel<"looked_at">([](auto a, auto w) {
  auto g = compute<"g">(a.extent(0), a.extent(1), [=](auto i, auto k) {
    auto const x = a(i, k);
    return x * x * x - weft::max(x, 0) * weft::min(x, 3) * 3 + weft::max(x * x, 1) * 0.5f;
  });
  auto p = compute<"p">(a.extent(0), w.extent(1), [=](auto i, auto j) { return weft::sum(a.extent(1), [=](auto k) { return g(i, k) * w(k, j); }); });
  return weft::outputs(p, compute<"d">(a.extent(0), [=](auto i) { return g(i, 0) + g(i, 1); }));
});
/// Windows on rows that go on outside, one after the other.
template <class Border>
constexpr auto bordered_windows(Border const& border) {
  return [=](auto a) {
    auto last = a;
    for (int s = 0; s < 3; ++s) {
      auto const e = border(last);
      last = compute<"s">(a.extent(0), a.extent(1), [=](auto y, auto x) {
        return weft::max(e(y - 1, x + 1), e(y + 1, x)) * 2 + weft::min(e(y, x - 1), e(y, x) * e(y + 1, x + 1));
      });
    }
    return last;
  };
}
inline constexpr auto reflected = weft::kernel<"reflected">(bordered_windows([](auto a) { return weft::reflect(a); }));
inline constexpr auto mirrored = weft::kernel<"mirrored">(bordered_windows([](auto a) { return weft::mirror(a); }));
inline constexpr auto wrapped = weft::kernel<"wrapped">(bordered_windows([](auto a) { return weft::wrap(a); }));
inline constexpr auto repeated = weft::kernel<"repeated">(bordered_windows([](auto a) { return weft::repeat_edge(a); }));
/// Of which the windows are no output's part: so many that to count their operations would take for ever.
inline constexpr auto unneeded = weft::kernel<"unneeded">([](auto a) {
  auto const h = a.extent(0), w = a.extent(1);
  auto b = compute<"b">(h, w, [=](auto y, auto x) { return a(y, x) * a(y, x) + weft::max(a(y, x), 0) * 3 + weft::min(a(y, x), 1) * a(y, x); });
  auto c = compute<"c">(h - 2, w, [=](auto y, auto x) { return b(y, x) + b(y + 1, x) + b(y + 2, x); });
  for (int i = 0; i < 20; ++i) {
    auto const e = weft::repeat_edge(c);
    c = compute<"e">(h - 2, w, [=](auto y, auto x) { return e(y - 1, x) + e(y, x) * e(y + 1, x); });
  }
  return compute<"d">(h, w, [=](auto y, auto x) { return b(y, x) * 2; });
});
/// The loops for a machine with such caches.
template <class Kernel, class In>
std::string loops_with(Kernel const& k, In const& in, std::int64_t l1, std::int64_t l2, int threads = 1) {
  weft::target t = weft::x86_64_avx2();
  t.l1_bytes = l1, t.l2_bytes = l2, t.threads = threads;
  return k.on(t).loops(in);
}
}  // namespace

TEST_CASE("what is read in a window is computed in tiles or row by row, with the bits of direct evaluation") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{7, 7}, {8, 40}, {33, 70}, {65, 19}, {20, 200}}) {
    CAPTURE(m);
    CAPTURE(n);
    check_rule(windows, drawn<float>(1, m, n));
    check_rule(smaller, drawn<float>(2, m, n));
    check_rule(planes, drawn<double>(3, m, n));
    check_rule(pooled, drawn<float>(4, m, n));
    check_rule(weighted, drawn<float>(5, m, n), drawn<float>(6, 3, 3));
  }
  auto const x = drawn<float>(7, 200, 200), w = drawn<float>(8, 3, 3);
  weft::target t = weft::x86_64_avx2();
  t.l1_bytes = 4096, t.l2_bytes = 65536, t.threads = 1;
  INFO(weighted.on(t).loops(x, w));
  CHECK(has_in_order(weighted.on(t).loops(x, w), {"b stored for the whole kernel", "folded", "unrolled", "c["}));
}
TEST_CASE("rows that go on outside: tiles where a border mirrors or repeats, none where it wraps around") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{1, 1}, {2, 3}, {33, 70}}) {
    CAPTURE(m);
    CAPTURE(n);
    auto const x = drawn<float>(1, m, n);
    check_rule(reflected, x), check_rule(mirrored, x), check_rule(wrapped, x), check_rule(repeated, x);
  }
  auto const x = drawn<float>(1, 200, 200);
  for (std::string const& loops : {loops_with(reflected, x, 4096, 65536), loops_with(mirrored, x, 4096, 65536), loops_with(repeated, x, 4096, 65536)}) {
    INFO(loops);
    CHECK(has_in_order(loops, {"for io in", "for i in 0..part(200)", "vectorized", "for ii in"}));
  }
  CHECK(loops_with(wrapped, x, 4096, 65536).find("part(") == std::string::npos);
}
TEST_CASE("stages that no output is made of keep nothing that they would read") {
  check_rule(unneeded, drawn<float>(1, 9, 37));
  std::string const loops = unneeded.loops(drawn<float>(1, 9, 37));
  INFO(loops);
  CHECK(has_in_order(loops, {"b inlined", "c inlined", "e inlined", "d\n"}));
}
TEST_CASE("rows that are read again are kept in a ring, where the caches hold it and not the stage") {
  auto const x = drawn<float>(1, 200, 200);
  std::string const loops = loops_with(windows, x, 4096, 65536);
  INFO(loops);
  CHECK(has_in_order(loops, {"for io in 0..49", "b stored for the whole kernel, i folded to 8", "c stored for the whole kernel, i folded to 8", "unrolled ii in 0..4"}));
  // All of it fits: nothing is gained.
  CHECK(loops_with(windows, x, 1 << 18, 1 << 22).find("folded") == std::string::npos);
  // Each thread has a ring of its own.
  CHECK(has_in_order(loops_with(windows, x, 4096, 65536, 4), {"parallel i", "b stored at io, i folded to 8"}));
  // A strip of four rows, and of two: fewer of them at once, still with a ring.
  for (int threads : {64, 128}) {
    std::string const short_strips = loops_with(windows, x, 4096, 65536, threads);
    INFO(short_strips);
    CHECK(has_in_order(short_strips, {"parallel i", "b stored at io, i folded to", "c stored at io, i folded to"}));
  }
}
TEST_CASE("a chain of thirty windows is worked on by rows, as many stages in a nest as the second cache holds") {
  auto const x = drawn<float>(1, 400, 400);
  auto const nests_with = [&](std::int64_t l2) {
    std::string const loops = loops_with(chain, x, 4096, l2);
    int nests = 0;
    for (std::size_t at = 0; (at = loops.find("\n  for ", at)) != std::string::npos; ++at) ++nests;
    return nests;
  };
  int const in_large = nests_with(1 << 19), in_small = nests_with(1 << 15), in_none = nests_with(1 << 11);
  INFO(in_large << " " << in_small << " " << in_none);
  CHECK(in_large <= 3);
  CHECK(in_small > in_large);
  CHECK(in_small < 15);
  CHECK(in_none > in_small);
  auto const small = drawn<float>(2, 70, 76);
  CHECK((chain(small) == weft::evaluate(chain, small)));
}
TEST_CASE("products of what a window reads are computed where they are summed, some rows together") {
  check_rule(corners, drawn<float>(1, 15, 37));
  std::string const loops = loops_with(corners, drawn<float>(1, 200, 200), 4096, 65536);
  INFO(loops);
  CHECK(loops_with(corners, drawn<float>(1, 200, 200), 4096, 65536, 64).find("folded") != std::string::npos);
  CHECK(has_in_order(loops, {"uu inlined", "vv inlined", "uv inlined", "u stored for the whole kernel", "folded", "unrolled", "c["}));
}
TEST_CASE("tiles are of pixels where a last axis is short; what one nest looks at here and there it computes again") {
  check_rule(levels, drawn<float>(5, 33, 46));
  weft::target t = weft::x86_64_avx2();
  t.vector_bytes = 64, t.l1_bytes = 4096, t.l2_bytes = 131072, t.threads = 1;
  auto const x = drawn<float>(1, 100, 200);
  std::string const loops = levels.on(t).loops(x);
  INFO(loops);
  CHECK(has_in_order(loops, {"g inlined", "g_copy[", "g_copy", "part(", "g_copy[i, j, k] = g[i, j, k]", "% part(8)"}));
  // Where all of it stays in the cache it is kept.
  t.l2_bytes = 1 << 23;
  CHECK(levels.on(t).loops(x).find("g_copy") == std::string::npos);
}
TEST_CASE("what a product reads is not computed again elsewhere: no tiles hold a copy of it") {
  weft::target t = weft::x86_64_avx2();
  t.l1_bytes = 4096, t.l2_bytes = 16384, t.threads = 1;
  std::string const loops = looked_at.on(t).loops(drawn<float>(1, 100, 200), drawn<float>(2, 200, 64));
  INFO(loops);
  CHECK(has_in_order(loops, {"g\n", "p\n", "p[i, j] += g[", "d\n"}));
  CHECK(loops.find("g_copy") == std::string::npos);
}
TEST_CASE("where rows do not move at one speed, tiles are computed") {
  auto const x = drawn<float>(1, 200, 400);
  CHECK(loops_with(planes, x, 4096, 65536).find("folded") == std::string::npos);
  CHECK(loops_with(smaller, x, 4096, 65536).find("folded") == std::string::npos);
}
