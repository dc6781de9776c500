// The nests that docs/schedule.md shows, printed by the library: each section of the page is one call here.
#include <doctest/doctest.h>

#include <string>

#include "support/golden.hpp"
#include "weft/dim.hpp"
#include "weft/expr/broadcast.hpp"
#include "weft/intrinsics.hpp"
#include "weft/print_how.hpp"
#include "weft/weft.hpp"

// What a step makes need not be used to be shown.
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"

namespace {

constexpr auto product = [](auto A, auto B) {
  auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
  return weft::compute<"C">(M, N, [=](auto i, auto j) {
    return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
  });
};
constexpr auto addition = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + B(i); });
};

constexpr auto no_steps = [](auto&...) {};  // the plain nest

float memory[24 * 2000];
weft::target const& avx2() {
  static weft::target const t = weft::x86_64_avx2();
  return t;
}
// A is 12 x 16 and B 16 x 20.
std::string nest_of_product(auto const& kernel) {
  return kernel.on(avx2()).loops(weft::view(memory, 12, 16), weft::view(memory, 16, 20));
}

std::string fenced(char const* language, std::string const& text) {
  return std::string("```") + language + "\n" + text + "```\n";
}
/// Statements that the preprocessor made one line, a line each.
std::string lines(std::string text) {
  for (std::size_t at = 0; (at = text.find("; ", at)) != std::string::npos;) text.replace(at, 2, ";\n");
  return text + "\n";
}
/// Shows steps, the nest before them and the one after.
void show(std::string const& section, char const* steps, std::string const& before, std::string const& after) {
  std::string text = fenced("cpp", lines(steps));
  text += "\nbefore:\n\n" + fenced("", before);
  weft_test::check_section("docs/schedule.md", section, text + "\nafter:\n\n" + fenced("", after));
}

#define WEFT_TEST_TEXT(...) #__VA_ARGS__
#define WEFT_TEST_TEXT_OF(...) WEFT_TEST_TEXT(__VA_ARGS__)
#define WEFT_TEST_CODE(...) __VA_ARGS__
// The axes of C are i, j and k; `given` was done before. Both are statements in parentheses.
#define WEFT_TEST_SHOW(section, given, steps)                                                                 \
  show(section, WEFT_TEST_TEXT steps, nest_of_product(weft::kernel<"product">(product, [](auto& s, auto, [[maybe_unused]] auto B, auto C) { \
         [[maybe_unused]] auto [i, j, k] = C.axes();                                                          \
         static_cast<void>(s);                                                                                \
         WEFT_TEST_CODE given                                                                                 \
       })),                                                                                                   \
       nest_of_product(weft::kernel<"product">(product, [](auto& s, auto, [[maybe_unused]] auto B, auto C) {  \
         [[maybe_unused]] auto [i, j, k] = C.axes();                                                          \
         WEFT_TEST_CODE given WEFT_TEST_CODE steps                                                            \
       })))

constexpr auto blur = [](auto A) {
  auto H = A.extent(0), W = A.extent(1);
  auto row = weft::compute<"row">(H, W - 2, [=](auto y, auto x) { return A(y, x) + A(y, x + 1) + A(y, x + 2); });
  return weft::compute<"out">(H - 2, W - 2, [=](auto y, auto x) { return row(y, x) + row(y + 1, x) + row(y + 2, x); });
};
constexpr auto row_sums = [](auto A) {
  return weft::compute<"S">(A.extent(0), [=](auto i) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k); });
  });
};
std::string nest_of_sums(auto const& kernel) { return kernel.on(avx2()).loops(weft::view(memory, 12, 20)); }
// A is 12 x 20; the axes of S are i and k.
#define WEFT_TEST_SHOW_SUMS(section, ...)                                                        \
  show(section, #__VA_ARGS__, nest_of_sums(weft::kernel<"sums">(row_sums, no_steps)),                   \
       nest_of_sums(weft::kernel<"sums">(row_sums, [](auto& s, auto, auto S) {                  \
         auto [i, k] = S.axes();                                                                 \
         __VA_ARGS__                                                                             \
       })))

// A is 66 x 34; the axes of out are i and j.
#define WEFT_TEST_BLUR(...)                                                        \
  weft::kernel<"blur">(blur, [](auto& s, auto, [[maybe_unused]] auto row, auto out) { \
    [[maybe_unused]] auto [i, j] = out.axes();                                     \
    static_cast<void>(s);                                                          \
    __VA_ARGS__                                                                    \
  })
std::string nest_of_blur(auto const& kernel) { return kernel.on(avx2()).loops(weft::view(memory, 66, 34)); }
std::string code_of_blur(auto const& kernel) {
  return fenced("", nest_of_blur(kernel)) + "\nand as a loop program:\n\n" +
         fenced("", kernel.on(avx2()).ir(weft::view(memory, 66, 34)));
}
#define WEFT_TEST_SHOW_BLUR(section, steps)                     \
  weft_test::check_section("docs/schedule.md", section,         \
                           fenced("cpp", lines(WEFT_TEST_TEXT steps)) + "\n" + code_of_blur(WEFT_TEST_BLUR(WEFT_TEST_CODE steps)))

}  // namespace

TEST_CASE("docs/schedule.md shows where stages are computed") {
  weft_test::check_section("docs/schedule.md", "stages", fenced("", nest_of_blur(WEFT_TEST_BLUR())));
  WEFT_TEST_SHOW_BLUR("compute_at", (auto [io, ii] = s.split(i, 16); s.parallel(io); s.compute_at(row, io);));
  WEFT_TEST_SHOW_BLUR("compute_inline", (s.compute_inline(row);));
#define WEFT_TEST_BEFORE auto [io, ii] = s.split(i, 16); s.compute_at(row, io);
  show("compute_root", "s.compute_root(row);", nest_of_blur(WEFT_TEST_BLUR(WEFT_TEST_BEFORE)),
       nest_of_blur(WEFT_TEST_BLUR(WEFT_TEST_BEFORE s.compute_root(row);)));
#undef WEFT_TEST_BEFORE
  auto const loops_of_blur = [](auto const& kernel) { return kernel.on(avx2()).ir(weft::view(memory, 64, 22)); };
  show("storage_align", "s.storage_align(row, 0, 16, 8);", loops_of_blur(WEFT_TEST_BLUR()),
       loops_of_blur(WEFT_TEST_BLUR(s.storage_align(row, 0, 16, 8);)));
  WEFT_TEST_SHOW_BLUR("swizzle", (auto [io, ii] = s.split(i, 32); s.compute_at(row, io); s.swizzle(row);));
  WEFT_TEST_SHOW_BLUR("store_at", (auto [yo, yi] = s.split(i, 16); s.parallel(yo); s.compute_at(row, yi); s.store_at(row, yo);
                                   auto [r, c] = row.axes(); s.fold_storage(r, 4);));
  WEFT_TEST_SHOW_BLUR("pipeline", (auto [io, ii] = s.split(i, 16); s.compute_at(row, io); s.double_buffer(row);));
  constexpr auto less = [](auto A) {
    auto top = weft::compute<"top">(A.extent(0), [=](auto i) { return weft::max(A.extent(1), [=](auto k) { return A(i, k); }); });
    return weft::compute<"out">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) - top(i); });
  };
#define WEFT_TEST_STEPS auto [i, j] = out.axes(); auto [ti, k] = top.axes(); s.compute_at(top, i); s.pipeline(top, 1); s.jam(k, j);
  weft_test::check_section("docs/schedule.md", "jam", fenced("cpp", lines(WEFT_TEST_TEXT_OF(WEFT_TEST_STEPS))) + "\n" +
                                                          code_of_blur(weft::kernel<"less">(less, [](auto& s, auto, auto top, auto out) { WEFT_TEST_STEPS })));
#undef WEFT_TEST_STEPS
  WEFT_TEST_SHOW_BLUR("bind", (auto [io, ii] = s.split(i, 32); s.bind(io, weft::thread_axis::virtual_thread); s.compute_at(row, io);));
  WEFT_TEST_SHOW("cache_read", (auto [jo, ji] = s.split(j, 10); s.reorder(jo, i, k, ji);),
                 (auto panel = s.cache_read(B, C); s.compute_at(panel, jo);));
  WEFT_TEST_SHOW("cache_write", (),
                 (auto acc = s.cache_write(C); auto [io, jo, ii, ji] = s.tile(i, j, 4, 10); s.compute_at(acc, jo);
                  auto [ai, aj, ak] = acc.axes(); s.reorder(ak, ai, aj);));
  WEFT_TEST_SHOW_BLUR("set_scope", (auto [io, ii] = s.split(i, 16); s.compute_at(row, io); s.set_scope(row, weft::scope::workspace);
                                    s.storage_align(row, 0, 16, 4);));
  WEFT_TEST_SHOW("prepack", (auto copy = s.cache_read(B, C);), (s.prepack(copy);));
  WEFT_TEST_SHOW("transform_layout", (auto copy = s.cache_read(B, C);),
                 (auto packed = s.transform_layout(copy, [](auto row, auto column) { return weft::dims(column / 8, row, column % 8);});));
}
TEST_CASE("docs/schedule.md shows a convolution as a product") {
  constexpr auto convolution = [](auto x, auto w) {
    return weft::compute<"C">(x.extent(0), x.extent(1) - 2, w.extent(2), [=](auto n, auto i, auto f) {
      return weft::sum(x.extent(2), 3, [=](auto c, auto d) { return x(n, i + d, c) * w(d, c, f); });
    });
  };
#define WEFT_TEST_CONVOLUTION(steps)                                        \
  weft::kernel<"convolution">(convolution, []([[maybe_unused]] auto& s, auto, auto, auto C) { \
    auto [n_, i, f, c, d] = C.axes();                                       \
    WEFT_TEST_CODE steps                                                    \
  }).on(avx2()).loops(weft::view(memory, 2, 12, 4), weft::view(memory, 3, 4, 16))
  show("im2col",
       "auto [P, windows, filters] = s.im2col(C, d, c); auto [m, n, k] = P.axes(); auto [mo, mi] = s.split(m, 5); s.reorder(mo, k, mi, n); "
       "s.reverse_compute_inline(C); s.compute_at(windows, mo);",
       WEFT_TEST_CONVOLUTION(()),
       WEFT_TEST_CONVOLUTION((auto [P, windows, filters] = s.im2col(C, d, c); auto [m, n, k] = P.axes(); auto [mo, mi] = s.split(m, 5); s.reorder(mo, k, mi, n);
                              s.reverse_compute_inline(C); s.compute_at(windows, mo);)));
}
TEST_CASE("docs/schedule.md shows two stages in one nest") {
  constexpr auto gradient = [](auto in) {
    auto dx = weft::compute<"dx">(in.extent(0) - 1, in.extent(1) - 1, [=](auto y, auto x) { return in(y, x + 1) - in(y, x); });
    auto dy = weft::compute<"dy">(in.extent(0) - 1, in.extent(1) - 1, [=](auto y, auto x) { return in(y + 1, x) - in(y, x); });
    return weft::outputs(dx, dy);
  };
  constexpr auto plain = weft::kernel<"gradient">(gradient, no_steps);
  constexpr auto scheduled = weft::kernel<"gradient">(gradient, [](auto& s, auto, auto dx, auto dy) {
    auto [y, x] = dx.axes();
    auto [yo, yi] = s.split(y, 16);
    s.parallel(yo);
    s.compute_with(dy, yi);
  });
  auto const image = weft::view(memory, 65, 33);
  show("compute_with", "auto [y, x] = dx.axes();\nauto [yo, yi] = s.split(y, 16);\ns.parallel(yo);\ns.compute_with(dy, yi);",
       plain.loops(image), scheduled.loops(image));
}
TEST_CASE("docs/schedule.md shows a stage that takes the loops of the one that it reads") {
  constexpr auto capped = [](auto A, auto B) {
    auto P = weft::compute<"P">(A.extent(0), B.extent(1), [=](auto i, auto j) {
      return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
    });
    return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::min(P(i, j), 6); });
  };
#define WEFT_TEST_CAPPED(steps)                                                              \
  nest_of_product(weft::kernel<"capped">(capped, [](auto& s, auto, auto, auto P, auto C) {   \
    auto [i, j, k] = P.axes();                                                               \
    auto [io, jo, ii, ji] = s.tile(i, j, 4, 10);                                             \
    s.reorder(io, jo, k, ii, ji);                                                            \
    s.parallel(io);                                                                          \
    static_cast<void>(C);                                                                    \
    WEFT_TEST_CODE steps                                                                     \
  }))
#define WEFT_TEST_SHOW_CAPPED(section, steps) show(section, WEFT_TEST_TEXT steps, WEFT_TEST_CAPPED(()), WEFT_TEST_CAPPED(steps))
  WEFT_TEST_SHOW_CAPPED("reverse_compute_at", (auto [ci, cj] = s.reverse_compute_at(C, jo);));
  constexpr auto distances = [](auto x) {
    auto P = weft::compute<"P">(x.extent(0), [=](auto i) { return x(i) * x(i); });
    return weft::compute<"C">(x.extent(0), [=](auto i) { return P(i) + 1; });
  };
#define WEFT_TEST_DISTANCES(steps)                                                     \
  weft::kernel<"distances">(distances, [](auto& s, auto, auto P, auto C) {             \
    auto [i] = P.axes();                                                               \
    auto [io, ii] = s.split(i, 8);                                                     \
    s.vectorize(ii);                                                                   \
    static_cast<void>(C);                                                              \
    WEFT_TEST_CODE steps                                                               \
  }).on(avx2()).loops(weft::view(memory, 64))
  show("reverse_compute_inline", "s.reverse_compute_inline(C);", WEFT_TEST_DISTANCES(()),
       WEFT_TEST_DISTANCES((s.reverse_compute_inline(C);)));
}
TEST_CASE("docs/schedule.md shows an instruction") {
  constexpr auto pairs = [](auto A, auto B) {
    return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
      return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k / 2, j, k % 2); });
    });
  };
#define WEFT_TEST_PAIRS(steps)                                         \
  weft::kernel<"pairs">(pairs, [](auto& s, auto, auto, auto C) {       \
    auto [i, j, k] = C.axes();                                         \
    auto [jo, ji] = s.split(j, 4);                                     \
    auto [ko, ki] = s.split(k, 2);                                     \
    s.reorder(i, jo, ko, ji, ki);                                      \
    s.vectorize(ji);                                                   \
    WEFT_TEST_CODE steps                                               \
  }).on(avx2())
  static std::int16_t const words[16 * 20] = {};
  auto const A = weft::view(words, 12, 16);
  auto const B = weft::view(words, 8, 20, 2);
  show("tensorize", "s.tensorize(ki, weft::pmaddwd);", WEFT_TEST_PAIRS(()).loops(A, B),
       WEFT_TEST_PAIRS((s.tensorize(ki, weft::pmaddwd);)).loops(A, B));
  weft_test::check_section("docs/schedule.md", "tensorize_loops",
                           fenced("", WEFT_TEST_PAIRS((s.tensorize(ki, weft::pmaddwd);)).ir(A, B)));
}
TEST_CASE("docs/schedule.md shows reductions in parts") {
  WEFT_TEST_SHOW_SUMS("rfactor", auto [P, v] = s.rfactor(S, k, 8); auto [pi, pv, pu] = P.axes(); s.compute_at(P, i);
                      s.reorder(pu, pv); s.vectorize(pv););
  WEFT_TEST_SHOW_SUMS("rfactor_twice", auto [P, v] = s.rfactor(S, k, 3, weft::chunks); auto [pi, pv, pu] = P.axes();
                      s.reorder(pv, pi, pu); s.parallel(pv); auto [Q, w] = s.rfactor(P, pu, 8);
                      auto [qi, qv, qw, qu] = Q.axes(); s.compute_at(Q, pi); s.reorder(qu, qw); s.vectorize(qw););
  WEFT_TEST_SHOW("decompose_reduction", (auto [ko, ki] = s.split(k, 8); s.reorder(ko, i, j, ki);),
                 (s.decompose_reduction(C, ko);));
}
TEST_CASE("docs/schedule.md shows the nest without a schedule") {
  weft_test::check_section("docs/schedule.md", "plain", fenced("", nest_of_product(weft::kernel<"product">(product, no_steps))));
}
TEST_CASE("docs/schedule.md shows each step with the nest before and after it") {
  WEFT_TEST_SHOW("split", (), (auto [jo, ji] = s.split(j, 8);));
  WEFT_TEST_SHOW("split_n", (), (auto [a, b, c] = s.split(j, 4, 8);));
  WEFT_TEST_SHOW("reorder", (), (s.reorder(k, i, j);));
  WEFT_TEST_SHOW("tile", (), (auto [io, jo, ii, ji] = s.tile(i, j, 4, 10); s.reorder(io, jo, k, ii, ji);));
  WEFT_TEST_SHOW("fuse", (), (auto ij = s.fuse(i, j); auto [f, fi] = s.split(ij, 8); s.vectorize(fi);));
  WEFT_TEST_SHOW("unroll", (auto [io, ii] = s.split(i, 4); s.reorder(io, j, k, ii);), (s.unroll(ii);));
  WEFT_TEST_SHOW("vectorize", (auto [jo, ji] = s.split(j, 8); s.reorder(i, jo, k, ji);), (s.vectorize(ji);));
  WEFT_TEST_SHOW("parallel", (), (s.parallel(i);));
  WEFT_TEST_SHOW("prefetch", (s.reorder(i, k, j);), (s.prefetch(B, k, 4);));
  WEFT_TEST_SHOW("prefetch_inside", (auto [jo, ji] = s.split(j, 10); s.reorder(jo, i, k, ji);), (s.prefetch_inside(B, jo, k, 1);));
  WEFT_TEST_SHOW("prefetch_in_turns", (auto [jo, ji] = s.split(j, 10); s.reorder(jo, i, k, ji);), (s.prefetch_in_turns(B, jo, i, k, 1);));
  WEFT_TEST_SHOW("knob", (),
                 (auto [io, ii] = s.split(i, s.knob("mr", {6, 4})); auto [jo, ji] = s.split(j, s.knob("nr", {64, 32, 16, 8}));
                  s.reorder(io, jo, k, ii, ji); s.unroll(ii); s.vectorize(ji);));
}
TEST_CASE("docs/schedule.md shows what becomes of a split that does not divide") {
  auto const add = weft::kernel<"add">(addition, [](auto& s, auto, auto, auto C) {
    auto [i] = C.axes();
    auto [io, ii] = s.split(i, 8);
    s.vectorize(ii);
  });
  auto const A = weft::view(memory, 20);
  weft_test::check_section("docs/schedule.md", "tail", fenced("", add.on(avx2()).ir(A, A)));
  auto const shifted = weft::kernel<"add">(addition, [](auto& s, auto, auto, auto C) {
    auto [i] = C.axes();
    s.vectorize(i, 8, weft::tail::shift_inwards);
  });
  weft_test::check_section("docs/schedule.md", "shift_inwards", fenced("", shifted.on(avx2()).ir(A, A)));
}
TEST_CASE("docs/schedule.md shows a copy of a nest for sizes that meet a condition") {
#define WEFT_TEST_OPEN(...)                                                \
  weft::kernel<"add">(addition, [](auto& s, auto, auto, auto C) {          \
    auto [i] = C.axes();                                                   \
    __VA_ARGS__                                                            \
  }).on(avx2())
  auto const A = weft::view(memory, weft::dim<"n">(20));
#define WEFT_TEST_STEPS s.vectorize(i, 8); s.specialize(s.extent(i) % 8 == 0);
#define WEFT_TEST_TEXT_OF(...) WEFT_TEST_TEXT(__VA_ARGS__)
  auto const add = WEFT_TEST_OPEN(WEFT_TEST_STEPS);
  weft_test::check_section("docs/schedule.md", "specialize",
                           fenced("cpp", lines(WEFT_TEST_TEXT_OF(WEFT_TEST_STEPS))) + "\n" + fenced("", add.loops(A, A)) +
                               "\nand as a loop program:\n\n" + fenced("", add.ir(A, A)));
}
TEST_CASE("docs/schedule.md shows an output that is stored past the caches") {
#define WEFT_TEST_PAST s.vectorize(i, 8); s.store_non_temporal(C);
  auto const A = weft::view(memory, 4000);
  weft_test::check_section("docs/schedule.md", "store_non_temporal",
                           fenced("cpp", lines(WEFT_TEST_TEXT_OF(WEFT_TEST_PAST))) + "\n" +
                               fenced("", WEFT_TEST_OPEN(WEFT_TEST_PAST).loops(A, A)));
}
TEST_CASE("docs/schedule.md shows a scan by vectors") {
#define WEFT_TEST_SCAN auto [jo, ji] = s.split(j, 8); s.reorder(jo, t, ji); s.vectorize(ji);
  constexpr auto running = [](auto A) {
    return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto t, auto j) {
      return weft::sum(weft::up_to(t), [=](auto k) { return A(k, j); });
    });
  };
  auto const A = weft::view(memory, 24, 32);
  show("scan", WEFT_TEST_TEXT_OF(WEFT_TEST_SCAN), weft::kernel<"running">(running, no_steps).on(avx2()).loops(A),
       weft::kernel<"running">(running, [](auto& s, auto, auto C) {
         auto [t, j] = C.axes();
         WEFT_TEST_SCAN
       }).on(avx2()).loops(A));
}
namespace {
constexpr auto attention = [](auto Q, auto K, auto V) {
  auto M = Q.extent(0), N = K.extent(0), D = V.extent(1), E = Q.extent(1);
  auto score = weft::compute<"score">(M, N, [=](auto i, auto k) {
    return weft::sum(E, [=](auto e) { return Q(i, e) * K(k, e); });
  });
  auto step = [](auto state, auto term) {
    auto [top, total, sum] = state;
    auto [x, v] = term;
    auto high = weft::max(top, x), keeps = weft::exp(top - high), adds = weft::exp(x - high);
    return weft::values(high, total * keeps + adds, sum * keeps + adds * v);
  };
  auto [top, total, sum] = weft::compute<"top", "total", "sum">(M, D, [=](auto i, auto d) {
    return weft::reduce(weft::values(-1e30f, 0.f, 0.f), step, N, [=](auto k) {
      return weft::values(score(i, k), V(k, d));
    });
  });
  return weft::elementwise<"y">([](auto x, auto t) { return x / t; }, sum, total);
};
}  // namespace
TEST_CASE("docs/schedule.md shows attention in one pass") {
#define WEFT_TEST_STATE auto [i, d] = y.axes(); auto [si, sd, k] = state.axes(); s.reorder(si, k, sd); s.vectorize(sd); \
  s.compute_at(score, k); s.compute_at(state, i); s.vectorize(d);
  auto const Q = weft::view(memory, 12, 16), K = weft::view(memory, 100, 16), V = weft::view(memory, 100, 32);
  show("state", WEFT_TEST_TEXT_OF(WEFT_TEST_STATE), weft::kernel<"attention">(attention, no_steps).on(avx2()).loops(Q, K, V),
       weft::kernel<"attention">(attention, [](auto& s, auto, auto, auto, auto score, auto state, auto y) {
         WEFT_TEST_STATE
       }).on(avx2()).loops(Q, K, V));
}
TEST_CASE("docs/schedule.md shows the trace of a schedule, and a step that the extents of a call refuse") {
  auto const tiled = weft::kernel<"product">(product, [](auto& s, auto, auto, auto C) {
    auto [i, j, k] = C.axes();
    auto [io, jo, ii, ji] = s.tile(i, j, 4, 8);
    s.reorder(io, jo, k, ii, ji);
    s.unroll(ii);
    s.vectorize(ji);
    s.parallel(io);
  });
  weft_test::check_section("docs/schedule.md", "trace",
                           fenced("", tiled.on(avx2()).trace(weft::view(memory, 12, 16), weft::view(memory, 16, 20))));
  weft_test::check_section("docs/schedule.md", "how",
                           fenced("cpp", weft::print_how(tiled, weft::view(memory, 12, 16), weft::view(memory, 16, 20)) + "\n"));
  auto const unrolled = weft::kernel<"product">(product, [](auto& s, auto, auto, auto C) {
    auto [i, j, k] = C.axes();
    s.unroll(j);
  });
  std::string refusal;
  try {
    static_cast<void>(unrolled.on(avx2()).loops(weft::view(memory, 12, 16), weft::view(memory, 16, 2000)));
  } catch (weft::schedule_error const& e) {
    refusal = e.what();
  }
  weft_test::check_section("docs/schedule.md", "refused", fenced("", refusal + "\n"));
}
TEST_CASE("docs/schedule.md shows a schedule by rule") {
  constexpr auto dense = weft::kernel<"dense">([](auto A, auto B, auto bias) {
    auto C = weft::compute<"product">(A.extent(0), B.extent(1), [=](auto i, auto j) {
      return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
    });
    return weft::compute<"relu">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::max(C(i, j) + bias(j), 0.f); });
  });
  weft::target small = avx2();
  small.threads = 1, small.l1_bytes = 32 << 10, small.l2_bytes = 1 << 20, small.l3_bytes = 32 << 20, small.l3_bytes_per_cycle = 0, small.vector_units = 1;
  auto const a = weft::view(memory, 96, 96);
  weft_test::check_section("docs/schedule.md", "by_rule", fenced("", dense.on(small).loops(a, a, weft::view(memory, 96))));
}
