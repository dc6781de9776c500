#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/found.hpp"
#include "support/golden.hpp"
#include "support/sanitized.hpp"
#include "weft/expr/print.hpp"
#include "weft/intrinsics.hpp"
#include "weft/matrix_units.hpp"
#include "weft/ir/parse.hpp"
#include "weft/print_how.hpp"
#include "weft/weft.hpp"

using weft::diagnosis;
using weft::verdict;
using namespace weft_test;

namespace {
/// A of M x K; B of K / Terms x N x Terms, in which the terms of an instruction stand side by side.
template <int Terms>
constexpr auto packed = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k / Terms, j, k % Terms); });
  });
};
constexpr auto plain = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
template <weft::intrinsic const& By>
constexpr auto tiled = [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [io, jo, ii, ji] = s.tile(i, j, 2, 16);
  auto [ko, ki] = s.split(k, By.terms);
  s.reorder(io, jo, ko, ii, ji, ki);
  s.unroll(ii);
  s.vectorize(ji);
  s.tensorize(ki, By);
};
constexpr auto words = weft::kernel<"words">(packed<2>, tiled<weft::pmaddwd>);
constexpr auto bytes = weft::kernel<"bytes">(packed<4>, tiled<weft::vpdpbusd>);
constexpr auto halves = weft::kernel<"halves">(packed<2>, tiled<weft::vdpbf16ps>);
/// B is packed by the schedule.
constexpr auto copied = weft::kernel<"copied">(plain, [](auto& s, auto, auto B, auto C) {
  auto panels = s.transform_layout(s.cache_read(B, C), [](auto k, auto j) { return weft::dims(k / 2, j, k % 2); });
  auto [i, j, k] = C.axes();
  auto [jo, ji] = s.split(j, 8);
  auto [ko, ki] = s.split(k, 2);
  s.reorder(i, jo, ko, ji, ki);
  s.vectorize(ji);
  s.tensorize(ki, weft::pmaddwd);
  static_cast<void>(panels);
});
constexpr auto pairs = [](auto a, auto b) {
  return weft::compute<"c">(a.extent(0), [=](auto lane) {
    return weft::sum(2, [=](auto k) { return a(lane, k) * b(lane, k); });
  });
};
inline constexpr weft::intrinsic own = weft::declare_intrinsic<"own", std::int8_t, std::uint8_t>(
    [](auto a, auto b) {
      return weft::compute<"c">(a.extent(0), [=](auto lane) {
        return weft::sum(4, [=](auto k) { return b(lane, k) * a(lane, k); });
      });
    },
    {{"avx2", "llvm.x86.nothing.of.this.name", 8}});
inline constexpr weft::intrinsic narrow =
    weft::declare_intrinsic<"narrow", std::int16_t, std::int16_t>(pairs, {{"sse2", "llvm.x86.sse2.pmadd.wd", 4}});

/// As docs/schedule.md declares it.
namespace documented {
inline constexpr auto pmaddwd = weft::declare_intrinsic<"pmaddwd", std::int16_t, std::int16_t>(
    [](auto a, auto b) {
      return weft::compute<"c">(a.extent(0), [=](auto lane) {
        return weft::sum(2, [=](auto k) { return a(lane, k) * b(lane, k); });
      });
    },
    {{"avx2", "llvm.x86.avx2.pmadd.wd", 8}});
}  // namespace documented
static_assert(documented::pmaddwd.name == weft::pmaddwd.name && documented::pmaddwd.terms == weft::pmaddwd.terms);

weft::target with(std::vector<std::string> const& features) {
  weft::target t = weft::x86_64_avx2();
  for (std::string const& f : features) t.features.push_back(f);
  weft::sequence<std::string> sorted;
  while (!t.features.empty()) {
    std::size_t least = 0;
    for (std::size_t i = 0; i < t.features.size(); ++i)
      if (t.features[i] < t.features[least]) least = i;
    sorted.push_back(t.features[least]);
    t.features.erase(t.features.begin() + static_cast<std::ptrdiff_t>(least));
  }
  t.features = sorted;
  if (t.has("avx512f")) t.cpu = "x86-64-v4", t.vector_bytes = 64, t.vector_registers = 32;
  return t;
}
weft::target avx512(std::string const& more) {
  return with({"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", more});
}
int count_of(std::string const& text, std::string_view what) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
  return n;
}
template <class T>
std::vector<T> numbers(std::size_t n, std::uint64_t seed) {
  std::vector<T> all(n);
  for (T& x : all) x = static_cast<T>((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 40);
  return all;
}
template <class Stage>
diagnosis why(weft::program const& p, std::int64_t extent, Stage const& steps) {
  weft::schedule s(p, all_extents{extent});
  steps(s, weft::handle_of<3, 2>(s, 0));
  return s.failed < 0 ? diagnosis::none : s.steps[static_cast<std::size_t>(s.failed)].reason;
}
std::int16_t const shorts[24 * 64 * 2] = {};
auto const A16 = weft::view(shorts, 4, 8);
auto const B16 = weft::view(shorts, 4, 32, 2);
}  // namespace

TEST_CASE("tensorize stands in the nest, in the trace, in the how-lambda and in the loop program") {
  auto const k = words.on(weft::x86_64_avx2());
  CHECK(k.loops(A16, B16).find("unrolled ki in 0..2 by pmaddwd\n") != std::string::npos);
  std::string const trace = k.trace(A16, B16), ir = k.ir(A16, B16);
  CHECK(trace.find("C: tensorize(ki, pmaddwd)\n") != std::string::npos);
  check_golden("schedule/tensorize.ir", ir);
  weft::ir::arena m;
  weft::ir::function const read = weft::ir::parse(m, ir, weft::shipped_intrinsics);
  CHECK(weft::ir::print(read) == ir);
  CHECK(weft::ir::verify(read) == "");
  CHECK_THROWS_AS(weft::ir::parse(m, ir), weft::parse_error);
  CHECK(weft::print_how(words, A16, B16).find("  s.tensorize(ki, weft::pmaddwd);\n") != std::string::npos);
  weft::program const p = matmul<std::int16_t>();
  weft::schedule const fresh(p, all_extents{8});
  auto const steps = weft::parse_trace("C: split(k, 2)\nC: reorder(i, j, ko, ki)\nC: tensorize(ki, pmaddwd)", fresh,
                                       weft::shipped_intrinsics);
  weft::schedule s = fresh;
  CHECK(weft::replay(s, steps));
  CHECK(weft::parse_trace(weft::print_trace(s), fresh, weft::shipped_intrinsics) == steps);
  CHECK_THROWS_WITH_AS(weft::parse_trace("C: tensorize(k, pmaddwd)", fresh),
                       "trace:1:24: none of the intrinsics that parse_trace was given has this name", weft::parse_error);
}
TEST_CASE("tensorize: the instruction is there where the target has it") {
  std::string const words_256 = words.on(weft::x86_64_avx2()).assembly(A16, B16);
  CHECK(count_of(words_256, "vpmaddwd") == 4);  // 2 rows of 2 vectors
  CHECK(count_of(words_256, "vpinsrw") == 0);
  CHECK(count_of(words.on(weft::x86_64_sse2()).assembly(A16, B16), "pmaddwd") > 0);
  std::string const words_512 = words.on(avx512("avx512vnni")).assembly(A16, B16);
  CHECK(count_of(words_512, "zmm") > 0);
  // LLVM itself makes vpdpwssd of a pmaddwd that is added to something.
  CHECK(count_of(words_512, "vpmaddwd") + count_of(words_512, "vpdpwssd") > 0);

  std::vector<std::uint8_t> const a(4 * 8);
  std::vector<std::int8_t> const b(2 * 32 * 4);
  auto const A = weft::view(a, 4, 8);
  auto const B = weft::view(b, 2, 32, 4);
  std::string const vnni = bytes.on(avx512("avx512vnni")).assembly(A, B);
  CHECK(count_of(vnni, "vpdpbusd") == 2);
  CHECK(count_of(vnni, "zmm") > 0);
  CHECK(count_of(bytes.on(with({"avxvnni"})).assembly(A, B), "{vex}") == 4);
  CHECK(count_of(bytes.on(with({"avxvnni"})).assembly(A, B), "vpdpbusd") == 4);
  std::string const none = bytes.on(weft::x86_64_avx2()).ir(A, B);
  CHECK(none.find("instruction") == std::string::npos);
  CHECK(bytes.on(weft::x86_64_avx2()).loops(A, B).find("by vpdpbusd") != std::string::npos);

  std::vector<weft::bf16> const c(4 * 8), d(4 * 32 * 2);
  auto const C = weft::view(c, 4, 8);
  auto const D = weft::view(d, 4, 32, 2);
  std::string const half = halves.on(avx512("avx512bf16")).assembly(C, D);
  CHECK(count_of(half, "vdpbf16ps") == 2);
  CHECK(half.find("zmm") != std::string::npos);
}
TEST_CASE("tensorize: lanes that a mask takes away are masked in the loads of an instruction") {
  std::vector<std::uint8_t> const a(4 * 8);
  std::vector<std::int8_t> const b(2 * 21 * 4);
  auto const A = weft::view(a, 4, 8);
  auto const B = weft::view(b, 2, 21, 4);
  std::string const vnni = bytes.on(avx512("avx512vnni")).assembly(A, B);
  CHECK(count_of(vnni, "vpdpbusd") > 0);
  CHECK(count_of(vnni, "vpinsrb") == 0);
}
TEST_CASE("tensorize: direct evaluation, interpreter and machine code agree, with tails of every axis") {
  char const* const steps =
      "C: split(i, 2)\nC: split(j, 16)\nC: split(k, 2)\nC: reorder(io, jo, ko, ii, ji, ki)\nC: unroll(ii)\nC: vectorize(ji)\n"
      "C: tensorize(ki, pmaddwd)";
  for (std::int64_t n : {1, 3, 8, 16, 21, 40})
    for (std::int64_t k : {0, 1, 2, 7, 12}) {
      fuzz::found f;
      auto const A = f.input<std::int16_t, 2>({3, k});
      auto const B = f.input<std::int16_t, 3>({(k + 1) / 2, n, 2});
      f.check(packed<2>(A, B), steps, 2, 2);
    }
  for (std::int64_t k : {0, 3, 11}) {
    fuzz::found f;
    auto const A = f.input<std::uint8_t, 2>({5, k});
    auto const B = f.input<std::int8_t, 3>({(k + 3) / 4, 19, 4});
    f.check(packed<4>(A, B), "C: split(k, 4)\nC: split(j, 8)\nC: reorder(i, jo, ko, ji, ki)\nC: vectorize(ji)\nC: tensorize(ki, vpdpbusd)",
            4, 4);
  }
}
TEST_CASE("tensorize: a reduction that is one instruction reads nothing of what it writes") {
  for (std::int64_t n : {1, 8, 13, 40}) {
    fuzz::found f;
    auto const a = f.input<std::int16_t, 2>({n, 2}), b = f.input<std::int16_t, 2>({n, 2});
    f.check(pairs(a, b), "c: split(i, 8)\nc: reorder(io, ii, j)\nc: vectorize(ii)\nc: tensorize(j, pmaddwd)", 2, 2);
  }
  auto const one = weft::kernel<"one">(pairs, [](auto& s, auto, auto, auto c) {
    auto [i, k] = c.axes();
    auto [io, ii] = s.split(i, 8);
    s.vectorize(ii);
    s.reorder(io, ii, k);
    s.tensorize(k, weft::pmaddwd);
  });
  auto const a = numbers<std::int16_t>(2 * 40, 1), b = numbers<std::int16_t>(2 * 40, 2);
  std::vector<std::int32_t> c(40, 1000000);
  one(weft::view(a, 40, 2), weft::view(b, 40, 2), weft::out(c));
  auto const d = weft::evaluate(one, weft::view(a, 40, 2), weft::view(b, 40, 2));
  CHECK(d == c);
}
TEST_CASE("tensorize: all agree under steps that are drawn") {
  int drawn = 0;
  for (std::uint64_t seed = 0; seed < rounds<std::uint64_t>(12, 4); ++seed) {
    fuzz::random_source r(seed);
    std::int64_t const m = r.between(1, 5), n = r.one_of({1, 4, 7, 16, 33}), k = r.between(1, 20);
    fuzz::found words_of, bytes_of;
    auto const a = words_of.input<std::int16_t, 2>({m, k});
    auto const b = words_of.input<std::int16_t, 3>({(k + 1) / 2, n, 2});
    drawn += words_of.check_drawn(packed<2>(a, b), weft::verb::tensorize, 30 * seed, 12);
    auto const c = bytes_of.input<std::uint8_t, 2>({m, k});
    auto const d = bytes_of.input<std::int8_t, 3>({(k + 3) / 4, n, 4});
    drawn += bytes_of.check_drawn(packed<4>(c, d), weft::verb::tensorize, 30 * seed, 12);
  }
  CHECK(drawn > 0);
}
TEST_CASE("tensorize: sums that leave i32 wrap as the loop's do") {
  std::vector<std::int16_t> const low(6 * 8 * 2, -32768);
  auto const A = weft::view(low, 1, 12);
  auto const B = weft::view(low, 6, 8, 2);
  auto const c = words(A, B);
  auto const d = weft::evaluate(words, A, B);
  CHECK(d == c);
}
TEST_CASE("tensorize: a copy that the schedule packs") {
  auto const a = numbers<std::int16_t>(5 * 14, 1), b = numbers<std::int16_t>(14 * 24, 2);
  auto const A = weft::view(a, 5, 14), B = weft::view(b, 14, 24);
  CHECK(weft::evaluate(copied, A, B) == copied(A, B));
  CHECK(copied.on(weft::x86_64_avx2()).assembly(A, B).find("vpmaddwd") != std::string::npos);
}
TEST_CASE("tensorize: vdpbf16ps adds the second product of a pair first, and knows no denormals") {
  weft::program const p = weft::expand(weft::vdpbf16ps.computes(), true);
  auto const of = [&](float c, float a0, float a1, float b0, float b1) {
    weft::bf16 const a[] = {weft::bf16(a0), weft::bf16(a1)}, b[] = {weft::bf16(b0), weft::bf16(b1)};
    weft::dense const sum{weft::dtype::f32, {1}, {weft::to_bits(c)}};
    weft::dense const left{weft::dtype::bf16, {1, 2}, {weft::to_bits(a[0]), weft::to_bits(a[1])}};
    weft::dense const right{weft::dtype::bf16, {1, 2}, {weft::to_bits(b[0]), weft::to_bits(b[1])}};
    weft::sequence<weft::dense> const operands{sum, left, right};
    weft::sequence<std::int64_t> const none;
    weft::evaluator e(p, operands, none);
    return weft::from_bits<float>(e.result(p.outputs[0]).bits[0]);
  };
  CHECK(of(1, 2, 3, 4, 5) == 24);
  CHECK(of(-0x1p30f, 1, 0x1p15f, 1, 0x1p15f) == 1);  // the other way round the 1 is lost
  CHECK(of(0, 0x1p-130f, 0, 0x1p60f, 0) == 0);
  CHECK(of(0x1p-130f, 0, 0, 0, 0) == 0);
  CHECK(of(0, 0x1p-70f, 0, 0x1p-70f, 0) == 0);
  CHECK(of(0x1p-126f, 0, 0, 0, 0) == 0x1p-126f);
}
TEST_CASE("tensorize: intrinsics of one's own") {
  auto const a = numbers<std::int16_t>(3 * 8, 1), b16 = numbers<std::int16_t>(4 * 32 * 2, 2);
  auto const A = weft::view(a, 3, 8);
  auto const pairs_of_b = weft::view(b16, 4, 32, 2);
  // In two parts, where vectors have 8 lanes.
  constexpr auto parts = weft::kernel<"parts">(packed<2>, tiled<narrow>);
  CHECK(weft::evaluate(parts, A, pairs_of_b) == parts(A, pairs_of_b));
  CHECK(parts.ir(A, pairs_of_b).find("instruction(narrow, ") != std::string::npos);
  CHECK(count_of(parts.on(weft::x86_64_avx2()).assembly(A, pairs_of_b), "vpmaddwd") > 0);
  // A name that this LLVM does not know: the same bits, without it.
  constexpr auto unknown = weft::kernel<"unknown">(packed<4>, tiled<own>);
  auto const u = numbers<std::uint8_t>(3 * 8, 4);
  auto const b = numbers<std::int8_t>(2 * 16 * 4, 5);
  auto const U = weft::view(u, 3, 8);
  auto const B = weft::view(b, 2, 16, 4);
  CHECK(weft::evaluate(unknown, U, B) == unknown(U, B));
  CHECK(own.terms == 4);
}
TEST_CASE("tensorize: what cannot be") {
  weft::program const p = matmul<std::int16_t>();
  CHECK(why(p, 8, [](auto& s, auto C) { s.tensorize(s.split(C.axes()[2], 2)[1], weft::pmaddwd); }) == diagnosis::none);
  CHECK(why(p, 8, [](auto& s, auto C) { s.tensorize(C.axes()[0], weft::pmaddwd); }) ==
        diagnosis::an_instruction_adds_terms_of_a_reduced_axis);
  CHECK(why(p, 8, [](auto& s, auto C) { s.tensorize(s.split(C.axes()[2], 2)[0], weft::pmaddwd); }) ==
        diagnosis::a_tensorized_axis_stands_inside_all_others__reorder_first);
  CHECK(why(p, 8, [](auto& s, auto C) { s.tensorize(s.split(C.axes()[2], 4)[1], weft::pmaddwd); }) ==
        diagnosis::a_tensorized_axis_runs_once_for_each_term_of_the_instruction__split_it_first);
  CHECK(why(p, 8, [](auto& s, auto C) { s.tensorize(s.split(C.axes()[2], 4)[1], weft::vpdpbusd); }) ==
        diagnosis::the_terms_of_the_stage_are_not_those_of_the_instruction);
  CHECK(why(p, 8, [](auto& s, auto C) {
          auto const parts = s.split(C.axes()[2], 2);
          s.tensorize(parts[1], weft::pmaddwd);
          s.reorder(parts[1], C.axes()[0]);
        }) == diagnosis::a_tensorized_axis_stands_inside_all_others__reorder_first);
  CHECK(why(p, 8, [](auto& s, auto C) {
          auto const parts = s.split(C.axes()[2], 2);
          s.tensorize(parts[1], weft::pmaddwd);
          s.split(parts[1], 2);
        }) == diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already);
  // An axis of an extent that is not a number yet may turn out to have 2 terms, or not.
  CHECK(why(p, -1, [](auto& s, auto C) { s.tensorize(C.axes()[2], weft::pmaddwd); }) == diagnosis::none);
  CHECK(why(p, 2, [](auto& s, auto C) { s.tensorize(C.axes()[2], weft::pmaddwd); }) == diagnosis::none);
}
TEST_CASE("tensorize: operands that do not stand in memory as the instruction takes them") {
  constexpr auto k = weft::kernel<"k">(plain, tiled<weft::pmaddwd>);
  auto const A = weft::view(shorts, 4, 8), B = weft::view(shorts, 8, 32);
  try {
    k.on(weft::x86_64_avx2()).ir(A, B);
    FAIL("nothing was thrown");
  } catch (weft::schedule_error const& e) {
    CHECK(std::string(e.what()) ==
          "tensorize: operand 2 of pmaddwd is not laid out for it: its terms do not stand side by side in memory\n"
          "  in    stage C, loop ki\n"
          "  try   cache_read of it, and transform_layout of the copy to dims(k / 2, j, k % 2), for the lanes j and the "
          "reduced axis k");
  }
  CHECK_THROWS_AS(k(A, B), weft::schedule_error);
}
TEST_CASE("tensorize: a reduction that is one instruction begins with its identity") {
  constexpr auto pair_sums = weft::kernel<"pair_sums">(
      [](auto A, auto B) {
        return weft::compute<"C">(A.extent(0), [=](auto i) {
          return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(i, k); });
        });
      },
      [](auto& s, auto, auto, auto C) {
        auto [i, k] = C.axes();
        auto [io, ii] = s.split(i, 8);
        s.reorder(io, ii, k);
        s.vectorize(ii);
        s.tensorize(k, weft::pmaddwd);
      });
  auto const a = numbers<std::int16_t>(19 * 2, 1), b = numbers<std::int16_t>(19 * 2, 2);
  auto const A = weft::view(a, 19, 2), B = weft::view(b, 19, 2);
  std::vector<std::int32_t> c(19, 12345);  // what stood there is not added to
  pair_sums(A, B, weft::out(c));
  CHECK(c == weft::evaluate(pair_sums, A, B));
  CHECK(pair_sums.ir(A, B).find("pmaddwd") != std::string::npos);
}
TEST_CASE("tensorize: a tile of a matrix unit is the three innermost axes, as long as it has them") {
  weft::program const p = [] {
    return weft::detail::build<weft::arg<weft::f16, 2>, weft::arg<weft::f16, 2>>([](auto A, auto B) {
      return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return weft::sum(A.extent(1), [=](auto k) { return weft::cast<float>(A(i, k)) * weft::cast<float>(B(k, j)); });
      });
    });
  }();
  auto const ruled = [&](char const* steps) {
    weft::schedule s(p, [](int, int) { return std::int64_t(64); });
    weft::replay(s, weft::parse_trace(steps, weft::schedule(p, [](int, int) { return std::int64_t(64); }), weft::matrix_units));
    return s.failed < 0 ? weft::diagnosis::none : s.steps[static_cast<std::size_t>(s.failed)].reason;
  };
  std::string const parts = "C: split(i, 16) -> io, ii\nC: split(j, 16) -> jo, ji\nC: split(k, 16) -> ko, ki\n";
  auto const shape = weft::diagnosis::a_tile_of_a_matrix_unit_is_the_three_innermost_axes__rows_columns_and_terms;
  CHECK(ruled((parts + "C: reorder(io, jo, ko, ii, ji, ki)\nC: tensorize(ii, wmma_f16)\n").c_str()) == weft::diagnosis::none);
  CHECK(ruled((parts + "C: reorder(io, jo, ko, ii, ji, ki)\nC: tensorize(ji, wmma_f16)\n").c_str()) == shape);
  CHECK(ruled((parts + "C: reorder(io, jo, ko, ii, ki, ji)\nC: tensorize(ii, wmma_f16)\n").c_str()) == shape);
  CHECK(ruled((parts + "C: reorder(io, jo, ko, ii, ji, ki)\nC: unroll(ki)\nC: tensorize(ii, wmma_f16)\n").c_str()) == shape);
  CHECK(ruled((parts + "C: reorder(io, jo, ko, ii, ji, ki)\nC: tensorize(ii, wmma_bf16)\n").c_str()) ==
        weft::diagnosis::the_terms_of_the_stage_are_not_those_of_the_instruction);
  CHECK(ruled((parts + "C: reorder(io, jo, ko, ii, ji, ki)\nC: tensorize(ii, wmma_f16)\nC: split(ii, 4)\n").c_str()) ==
        weft::diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already);
  CHECK(ruled((parts + "C: reorder(io, jo, ko, ii, ji, ki)\nC: tensorize(ii, wmma_f16)\nC: unroll(ki)\n").c_str()) ==
        weft::diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already);
  CHECK(ruled((parts + "C: reorder(io, jo, ko, ii, ji, ki)\nC: tensorize(ii, wmma_f16)\nC: reorder(ki, ji)\n").c_str()) !=
        weft::diagnosis::none);
  CHECK(ruled((parts + "C: reorder(io, jo, ko, ii, ji, ki)\nC: tensorize(ii, wmma_f16)\nC: reorder(ii, ko)\n").c_str()) !=
        weft::diagnosis::none);
}
TEST_CASE("tensorize: on a CPU a tile of a matrix unit is its loops") {
  constexpr auto tiled_halves = weft::kernel<"tiled_halves">(
      [](auto A, auto B) {
        return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
          return weft::sum(A.extent(1), [=](auto k) { return weft::cast<float>(A(i, k)) * weft::cast<float>(B(k, j)); });
        });
      },
      [](auto& s, auto, auto, auto C) {
        auto [i, j, k] = C.axes();
        auto [io, ii] = s.split(i, 16);
        auto [jo, ji] = s.split(j, 16);
        auto [ko, ki] = s.split(k, 16);
        s.reorder(io, jo, ko, ii, ji, ki);
        s.tensorize(ii, weft::wmma_f16);
      });
  std::vector<weft::f16> a(20 * 30), b(30 * 18);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = weft::f16(static_cast<float>(i * 7 % 11) - 5);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = weft::f16(static_cast<float>(i * 5 % 13) - 6);
  auto const A = weft::view(a, 20, 30), B = weft::view(b, 30, 18);
  CHECK(tiled_halves(A, B) == weft::evaluate(tiled_halves, A, B));
  CHECK(tiled_halves.with({.checked = true})(A, B) == weft::evaluate(tiled_halves, A, B));
}
namespace {
/// Of M x K and K / Terms x N x Terms by AMX, `rows` x `columns` tiles of sums at once.
template <weft::intrinsic const& By, int Rows, int Columns>
constexpr auto by_amx = [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [io, jo, ii, ji] = s.tile(i, j, 16 * Rows, 16 * Columns);
  auto [it, ir] = s.split(ii, 16);
  auto [jt, jr] = s.split(ji, 16);
  auto [ko, ki] = s.split(k, By.terms);
  s.reorder(io, jo, ko, it, jt, ir, jr, ki);
  s.unroll(it), s.unroll(jt);
  s.tensorize(ir, By);
};
constexpr auto unit_bytes = weft::kernel<"unit_bytes">(packed<4>, by_amx<weft::tdpbusd, 2, 2>);
constexpr auto unit_halves = weft::kernel<"unit_halves">(packed<2>, by_amx<weft::tdpbf16ps, 3, 1>);
weft::target amx() {
  return with({"amx-bf16", "amx-int8", "amx-tile", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"});
}
}  // namespace
TEST_CASE("tensorize: by AMX sums and operands are tile registers, and what two tiles read is loaded once") {
  auto const a = numbers<std::uint8_t>(64 * 128, 1);
  auto const b = numbers<std::int8_t>(128 * 64, 2);
  auto const A = weft::view(a, 64, 128);
  auto const B = weft::view(b, 32, 64, 4);
  std::string const loops = unit_bytes.on(amx()).ir(A, B);
  check_golden("schedule/tensorize_amx.ir", loops);
  weft::ir::arena m;
  CHECK(weft::ir::print(weft::ir::parse(m, loops, weft::shipped_intrinsics)) == loops);
  std::string const text = unit_bytes.on(amx()).assembly(A, B);
  CHECK(count_of(text, "ldtilecfg") == 1);
  CHECK(count_of(text, "tilerelease") == 1);
  CHECK(count_of(text, "tilezero") == 4);
  CHECK(count_of(text, "tileloadd") == 4);
  CHECK(count_of(text, "tdpbusd") == 4);
  CHECK(count_of(text, "tilestored") == 4);
  CHECK(unit_bytes.on(weft::x86_64_avx2()).ir(A, B).find("tile ") == std::string::npos);
  std::vector<weft::bf16> const c(48 * 64), d(64 * 32);
  std::string const halves_text = unit_halves.on(amx()).assembly(weft::view(c, 48, 64), weft::view(d, 32, 32, 2));
  CHECK(count_of(halves_text, "tdpbf16ps") == 3);
  CHECK(count_of(halves_text, "tileloadd") == 4);
  CHECK(unit_bytes(A, B) == weft::evaluate(unit_bytes, A, B));
  CHECK(unit_bytes.with({.checked = true})(A, B) == weft::evaluate(unit_bytes, A, B));
}
TEST_CASE("tensorize: what AMX does is what its loops do, in parts of the terms and beside other loops, and where parts of tiles are left") {
  char const* const in_blocks =
      "C: split(i, 16)\nC: split(j, 16)\nC: split(k, 64)\nC: split(ko, 2)\nC: reorder(koo, io, jo, koi, ii, ji, ki)\nC: tensorize(ii, tdpbusd)";
  char const* const two_by_two =
      "C: split(i, 16)\nC: split(j, 16)\nC: split(k, 64)\nC: reorder(ko, io, jo, ii, ji, ki)\nC: unroll(io)\nC: unroll(jo)\nC: tensorize(ii, tdpbusd)";
  char const* const alone = "C: split(i, 16)\nC: split(j, 16)\nC: split(k, 64)\nC: reorder(ko, jo, io, ii, ji, ki)\nC: parallel(jo)\nC: tensorize(ii, tdpbusd)";
  std::uint64_t const compiled = weft::host().has("amx-int8") ? 2 : 0;
  if (compiled == 0) MESSAGE("[skip] this machine has no AMX: its tiles are interpreted");
  for (char const* steps : {in_blocks, two_by_two, alone})
    for (std::int64_t const rows : {32, 40})
      for (std::int64_t const terms : {64, 256, 200}) {
        if (steps == alone && terms == 64) continue;
        fuzz::found f;
        auto const A = f.input<std::uint8_t, 2>({rows, terms});
        auto const B = f.input<std::int8_t, 3>({(terms + 3) / 4, 48, 4});
        f.check(packed<4>(A, B), steps, 2, compiled);
      }
}
TEST_CASE("tensorize: AMX is told what it cannot load, and how many tiles of sums it has") {
  auto const fault = [](auto const& kernel, auto const&... arguments) -> std::string {
    try {
      static_cast<void>(kernel.on(amx()).ir(arguments...));
    } catch (weft::schedule_error const& e) {
      return e.what();
    }
    return "";
  };
  auto const a = numbers<std::uint8_t>(64 * 128, 1);
  auto const b = numbers<std::int8_t>(128 * 64, 2);
  auto const A = weft::view(a, 64, 128);
  std::string const as_it_lies = fault(weft::kernel<"as_it_lies">(plain, by_amx<weft::tdpbusd, 1, 1>), A, weft::view(b, 128, 64));
  CHECK(as_it_lies.find("has an operand in B, of which 4 terms do not stand together, column by column") != std::string::npos);
  CHECK(as_it_lies.find("transform_layout of the copy to dims(k / 4, j, k % 4)") != std::string::npos);
  CHECK(fault(weft::kernel<"turned">(packed<4>, by_amx<weft::tdpbsud, 1, 1>), A, weft::view(b, 32, 64, 4)).find("has operands of its two types in the other order") !=
        std::string::npos);
  CHECK(fault(weft::kernel<"many">(packed<4>, by_amx<weft::tdpbusd, 4, 2>), A, weft::view(b, 32, 64, 4)).find("is one of more than six whose sums are kept at once") !=
        std::string::npos);
}
TEST_CASE("tensorize: memory with gaps runs the plain loop") {
  auto const a = numbers<std::int16_t>(3 * 8, 1), b = numbers<std::int16_t>(4 * 32 * 3, 2);
  auto const A = weft::view(a, 3, 8);
  auto const B = weft::view(b, 4, 32, 2).strided(96, 3, 1);
  CHECK(weft::evaluate(words, A, B) == words(A, B));
  CHECK(words.ir(A, B).find("instruction") == std::string::npos);
}

namespace {
/// The lambdas that the programs in schedule/instructions.hpp stand for.
template <int Terms>
constexpr auto products = [](auto a, auto b) {
  return weft::compute<"c">(a.extent(0), [=](auto lane) {
    return weft::sum(Terms, [=](auto k) { return a(lane, k) * b(lane, k); });
  });
};
constexpr auto f16_products = [](auto a, auto b) {
  return weft::compute<"c">(a.extent(0), [=](auto lane) {
    return weft::reduce(weft::f16(0.0f), [](auto so_far, auto term) { return weft::cast<weft::f16>(so_far + term); }, 16,
                        [=](auto k) { return weft::cast<weft::f16>(a(lane, k) * b(lane, k)); });
  });
};
constexpr auto bf16_pairs = [](auto c, auto a, auto b) {
  return weft::compute<"c">(c.extent(0), [=](auto lane) {
    auto const flushed = [](auto x) { return weft::select(weft::abs(x) < 0x1p-126f, x * 0.0f, x); };
    auto const joined = [=](auto sum, int k) {
      return flushed(flushed(weft::cast<float>(a(lane, k))) * flushed(weft::cast<float>(b(lane, k))) + sum);
    };
    return joined(joined(flushed(c(lane)), 1), 0);
  });
};
template <class... In, class What>
void check_is(weft::program const& made, What const& what) {
  weft::program const wanted = weft::detail::build<In...>(what);
  INFO(weft::print(made) << "\n" << weft::print(wanted));
  CHECK(weft::print(made) == weft::print(wanted));
  CHECK(weft::digest(made) == weft::digest(wanted));
}
template <class A, class B, class What>
void check_pattern(weft::intrinsic const& by, What const& what) {
  INFO(by.name);
  check_is<weft::arg<A, 2>, weft::arg<B, 2>>(by.pattern(), what);
}
}  // namespace
TEST_CASE("tensorize: the programs of the instructions that weft knows are those of lambdas") {
  using weft::f16, weft::bf16;
  check_pattern<std::int16_t, std::int16_t>(weft::pmaddwd, products<2>);
  check_pattern<std::uint8_t, std::int8_t>(weft::vpdpbusd, products<4>);
  check_pattern<bf16, bf16>(weft::vdpbf16ps, products<2>);
  check_is<weft::arg<float, 1>, weft::arg<bf16, 2>, weft::arg<bf16, 2>>(weft::vdpbf16ps.computes(), bf16_pairs);
  check_pattern<f16, f16>(weft::wmma_f16, products<16>);
  check_pattern<f16, f16>(weft::wmma_f16_in_f16, f16_products);
  check_pattern<bf16, bf16>(weft::wmma_bf16, products<16>);
  check_pattern<std::int8_t, std::int8_t>(weft::wmma_s8, products<16>);
  check_pattern<std::uint8_t, std::uint8_t>(weft::wmma_u8, products<16>);
  check_pattern<float, float>(weft::wmma_tf32, products<8>);
  check_pattern<f16, f16>(weft::mma_f16, products<16>);
  check_pattern<f16, f16>(weft::mma_f16_in_f16, f16_products);
  check_pattern<bf16, bf16>(weft::mma_bf16, products<16>);
  check_pattern<std::int8_t, std::int8_t>(weft::mma_s8, products<32>);
  check_pattern<std::uint8_t, std::uint8_t>(weft::mma_u8, products<32>);
  check_pattern<float, float>(weft::mma_tf32, products<8>);
}
