#include "../programs.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "weft/codegen/llvm/prefetch.hpp"
#include "weft/expr/text.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ir/print.hpp"
#include "weft/print_how.hpp"
#include "weft/schedule/print.hpp"
#include "weft/schedule/print_how.hpp"
#include "weft/weft.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
constexpr auto matrices = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
};
template <int Distance>
constexpr auto product = weft::kernel<"product">(
    matrices,
    [](auto& s, auto, auto B, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, jo, ii, ji] = s.tile(i, j, 2, 16);
      s.reorder(io, jo, k, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
      if (Distance > 0) s.prefetch(B, k, Distance);
    });
/// The panel of columns that follows is asked for while one is worked on; with blocks of terms around, by parallel pieces.
template <bool Asks>
constexpr auto panels = weft::kernel<"panels">(
    matrices,
    [](auto& s, auto, auto B, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, jo, ii, ji] = s.tile(i, j, 2, 16);
      auto [ko, ki] = s.split(k, 4);
      auto [piece, jp] = s.split(jo, 2);
      s.reorder(piece, ko, jp, io, ki, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
      s.parallel(piece);
      if (Asks) s.prefetch_inside(B, jp, ki, 1);
    });
int count_of(std::string const& text, std::string_view what) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
  return n;
}
bool has(std::string const& text, std::string_view what) { return text.find(what) != std::string::npos; }
}  // namespace

TEST_CASE("prefetch stands in its loop, in the trace and in the loop program") {
  std::vector<float> const a(4 * 8), b(8 * 32);
  auto const p = product<3>.on(weft::x86_64_avx2());
  auto const A = weft::view(a, 4, 8), B = weft::view(b, 8, 32);
  CHECK(p.loops(A, B).find("      for k in 0..8\n        prefetch B for k + 3\n") != std::string::npos);
  CHECK(p.trace(A, B).find("C: prefetch(k, B, 3)\n") != std::string::npos);
  std::string const text = p.ir(A, B);
  CHECK(text.find("for k in 0..8 prefetch B 3:\n") != std::string::npos);
  weft::ir::arena m;
  CHECK(weft::ir::print(weft::ir::parse(m, text)) == text);
  // Two vectors of B are read in an iteration, by both rows of the tile.
  CHECK(count_of(p.assembly(A, B), "prefetcht0") == 2);
}
TEST_CASE("of a vector the line of its last element is asked for: one that begins inside of a line ends in the next") {
  std::vector<float> const a(1024);
  auto const sums = weft::kernel<"sums">(
      [](auto A) { return weft::compute<"y">(A.extent(0), [=](auto i) { return A(i) + 1; }); },
      [](auto& s, auto A, auto y) {
        auto [i] = y.axes();
        auto [io, ii] = s.split(i, 8);
        s.vectorize(ii);
        s.prefetch(A, io, 8);
      });
  std::string const code = sums.on(weft::x86_64_avx2()).assembly(weft::view(a, 1024));
  INFO(code);
  CHECK(count_of(code, "prefetcht0\t284(") == 1);  // 8 vectors of 32 bytes further on, and there 7 elements
}
TEST_CASE("what a stage computes is asked for, too, to be written") {
  std::vector<float> const a(1000, 2.0f);
  auto const doubled = weft::kernel<"doubled">(
      [](auto A) { return weft::compute<"y">(A.extent(0), [=](auto i) { return A(i) * 2; }); },
      [](auto& s, auto, auto y) {
        auto [i] = y.axes();
        auto [io, ii] = s.split(i, 32);
        s.vectorize(ii);
        s.prefetch(y, io, 8);
      });
  auto const A = weft::view(a, 1000);
  std::string const loops = doubled.loops(A), how = weft::print_how(doubled, A);
  INFO(loops);
  INFO(how);
  CHECK(has(loops, "prefetch y for io + 8\n"));
  CHECK(has(how, "s.prefetch(y, io, 8);"));
  weft::target writes = weft::x86_64_avx2();
  writes.features.push_back("prfchw");
  // Two lines of 64 bytes are an iteration; a machine without the instruction asks for them to be read.
  CHECK(count_of(doubled.on(writes).assembly(A), "prefetchw") >= 2);
  CHECK(count_of(doubled.on(weft::x86_64_sse2()).assembly(A), "prefetchw") == 0);
  CHECK(count_of(doubled.on(weft::x86_64_sse2()).assembly(A), "prefetch") > 0);
  auto const y = doubled(A);
  bool right = true;
  for (std::int64_t i = 0; i < 1000; ++i) right = right && y(i) == 4.0f;
  CHECK(right);
}
TEST_CASE("prefetch into a cache further out: in the loops, the trace, the loop program, the machine code and as written again") {
  std::vector<float> const a(4 * 8, 1.0f), b(8 * 32, 2.0f);
  auto const A = weft::view(a, 4, 8), B = weft::view(b, 8, 32);
  auto const asks = [&](weft::cache_level into, std::string_view word, std::string_view instruction) {
    auto const asking = weft::kernel<"asks">(
        [](auto left, auto right) {
          return weft::compute<"C">(left.extent(0), right.extent(1), [=](auto i, auto j) {
            return weft::sum(left.extent(1), [=](auto k) { return left(i, k) * right(k, j); });
          });
        },
        [into](auto& s, auto, auto from, auto C) {
          auto [i, j, k] = C.axes();
          s.reorder(j, i, k);
          s.prefetch(from, k, 3, into);
          s.prefetch_inside(from, j, k, 2, into);
        });
    auto const p = asking.on(weft::x86_64_avx2());
    INFO(word);
    CHECK(has(p.loops(A, B), weft::joined({"prefetch B for k + 3", word.empty() ? "" : " into ", word, "\n"})));
    CHECK(has(p.loops(A, B), weft::joined({"prefetch B for j + 2", word.empty() ? "" : " into ", word, "\n"})));
    CHECK(has(p.trace(A, B), weft::joined({"C: prefetch(k, B, 3", word.empty() ? "" : ", ", word, ")\n"})));
    CHECK(has(p.trace(A, B), weft::joined({"C: prefetch_inside(j, k, B, 2", word.empty() ? "" : ", ", word, ")\n"})));
    std::string const text = p.ir(A, B);
    CHECK(has(text, weft::joined({" prefetch B 2", word.empty() ? "" : " into ", word, " of j:\n"})));
    weft::ir::arena m;
    CHECK(weft::ir::print(weft::ir::parse(m, text)) == text);
    CHECK(count_of(p.assembly(A, B), instruction) == 2);
    CHECK(asking(A, B)(3, 31) == 16.0f);
  };
  asks(weft::cache_level::l1, "", "prefetcht0");
  asks(weft::cache_level::l2, "l2", "prefetcht1");
  asks(weft::cache_level::l3, "l3", "prefetcht2");
  asks(weft::cache_level::once, "once", "prefetchnta");
}
TEST_CASE("prefetch into a cache further out: read from a trace, written as code, and another schedule than without") {
  weft::program const program = two_stages();
  weft::schedule const fresh(program, all_extents{8});
  weft::schedule s = fresh, other = fresh;
  auto const C = weft::handle_of<2, 1>(s, 0);
  s.prefetch(weft::input_handle<2>{0}, C.axes()[1], 4, weft::cache_level::l3);
  other.prefetch(weft::input_handle<2>{0}, C.axes()[1], 4);
  std::string const written = weft::print_trace(s);
  CHECK(has(written, ", 4, l3)"));
  CHECK(weft::parse_trace(written, fresh) == s.steps);
  CHECK_FALSE(other.steps == s.steps);
  CHECK(has(weft::print_how(s), ", 4, weft::cache_level::l3);\n"));
  std::string const unknown = written.substr(0, written.find("l3)")) + "l4)\n";
  CHECK_THROWS_WITH(static_cast<void>(weft::parse_trace(unknown, fresh)), doctest::Contains("this step does not know the word"));
}
TEST_CASE("prefetch_inside asks in one loop for what a loop around it reads later") {
  std::vector<float> a, b;
  for (int i = 0; i < 5 * 9; ++i) a.push_back(static_cast<float>(i % 11 - 5));
  for (int i = 0; i < 9 * 70; ++i) b.push_back(static_cast<float>(i % 7 - 3) / 2);
  auto const p = panels<true>.on(weft::x86_64_avx2());
  auto const A = weft::view(a, 5, 9), B = weft::view(b, 9, 70);
  CHECK(has(p.loops(A, B), "          for ki in 0..4\n            prefetch B for joi + 1\n"));
  CHECK(has(p.trace(A, B), "C: prefetch_inside(joi, ki, B, 1)\n"));
  std::string const text = p.ir(A, B);
  CHECK(has(text, " prefetch B 1 of joi:\n"));
  weft::ir::arena m;
  CHECK(weft::ir::print(weft::ir::parse(m, text)) == text);
  CHECK(count_of(p.assembly(A, B), "prefetcht0") > 0);
  CHECK(count_of(panels<false>.on(weft::x86_64_avx2()).assembly(A, B), "prefetcht0") == 0);
  auto const with = panels<true>(A, B), without = panels<false>(A, B);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 70; ++j) CHECK(with(i, j) == without(i, j));
}
TEST_CASE("prefetch_in_turns: the iterations of the loop between share out what is asked for") {
  auto const turns = weft::kernel<"turns">(matrices, [](auto& s, auto, auto B, auto C) {
    auto [i, j, k] = C.axes();
    auto [io, jo, ii, ji] = s.tile(i, j, 2, 16);
    auto [ko, ki] = s.split(k, 4);
    s.reorder(ko, jo, io, ki, ii, ji);
    s.unroll(ii);
    s.vectorize(ji);
    s.prefetch_in_turns(B, jo, io, ki, 1, weft::cache_level::l2);
  });
  std::vector<float> a, b;
  for (int i = 0; i < 6 * 9; ++i) a.push_back(static_cast<float>(i % 11 - 5));
  for (int i = 0; i < 9 * 70; ++i) b.push_back(static_cast<float>(i % 7 - 3) / 2);
  auto const p = turns.on(weft::x86_64_avx2());
  auto const A = weft::view(a, 6, 9), B = weft::view(b, 9, 70);
  CHECK(has(p.loops(A, B), "        for ki in 0..4\n          prefetch B for jo + 1 into l2 in turns of io\n"));
  CHECK(has(p.trace(A, B), "C: prefetch_in_turns(jo, io, ki, B, 1, l2)\n"));
  std::string const text = p.ir(A, B);
  CHECK(has(text, " prefetch B 1 into l2 of jo turn io / 3:\n"));
  weft::ir::arena m;
  CHECK(weft::ir::print(weft::ir::parse(m, text)) == text);
  auto const with = turns(A, B), without = panels<false>(A, B);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 70; ++j) CHECK(with(i, j) == without(i, j));
  // Rows that one tile has are asked for by it alone, as by prefetch_inside.
  std::string const single = p.ir(weft::view(a, 2, 9), B);
  CHECK(has(single, " prefetch B 1 into l2 of jo:\n"));
}
TEST_CASE("prefetch_in_turns: lines at equal distances are one instruction, whatever their number") {
  // Panels of 32 columns behind one another, of which three tiles of rows read 4 lines for each two terms; and rows as they lie, 70 apart.
  enum { panels_of_two, rows_of_two, rows_one_by_one };
  auto const asked_by = [](auto how) {
    auto const shared = weft::kernel<"shared">(matrices, [](auto& s, auto, auto B, auto C) {
      constexpr int form = decltype(how)::value;
      auto [i, j, k] = C.axes();
      auto [io, jo, ii, ji] = s.tile(i, j, 2, 32);
      auto [ko, ki] = s.split(k, form == rows_one_by_one ? 1 : 2);
      auto const ask = [&](auto from) {
        s.reorder(jo, io, ko, ki, ii, ji), s.unroll(ki), s.unroll(ii), s.vectorize(ji);
        s.prefetch_in_turns(from, jo, io, ko, 1);
      };
      if constexpr (form != panels_of_two) ask(B);
      else ask(s.transform_layout(s.cache_read(B, C), [](auto d0, auto d1) { return weft::dims(d1 / 32, d0, d1 % 32); }));
    });
    std::vector<float> const a(6 * 8, 1), b(8 * 96, 2);
    auto const A = weft::view(a, 6, 8), B = weft::view(b, 8, 96);
    CHECK(shared(A, B)(5, 95) == 16);
    return count_of(shared.on(weft::x86_64_avx2()).assembly(A, B), "prefetcht0");
  };
  CHECK(asked_by(std::integral_constant<int, panels_of_two>()) == 2);    // 4 lines by 3 turns: two at a time
  CHECK(asked_by(std::integral_constant<int, rows_of_two>()) == 8);      // two rows of 4 vectors of half a line: not equally far apart
  CHECK(asked_by(std::integral_constant<int, rows_one_by_one>()) == 2);  // these are
}
TEST_CASE("codegen: where lines are equally far apart") {
  namespace ir = weft::ir;
  ir::arena m;
  ir::expr const k = ir::variable(m, 0), o = ir::variable(m, 1);
  ir::buffer b;
  b.type = weft::dtype::f32;
  auto const at = [&](std::int64_t row, std::int64_t column) {
    ir::expr const e = ir::binary(m, weft::op::add, ir::binary(m, weft::op::mul, k, ir::index(m, row)), ir::binary(m, weft::op::add, o, ir::index(m, column)));
    return weft::codegen::llvm::detail::asked_line{e, e, false, 0};
  };
  auto const find = [&](std::int64_t row, std::initializer_list<std::int64_t> columns) {
    weft::sequence<weft::codegen::llvm::detail::asked_line> asked;
    for (std::int64_t c : columns) asked.push_back(at(row, c));
    weft::codegen::llvm::detail::lines_of_rows l;
    bool const found = l.find(m, 0, &b, asked);
    return found ? std::array<std::int64_t, 3>{l.lines, l.apart, l.next} : std::array<std::int64_t, 3>{};
  };
  using three = std::array<std::int64_t, 3>;
  CHECK(find(48, {0, 16, 32}) == three{3, 16, 48});
  CHECK(find(48, {32, 0, 16}) == three{3, 16, 48});  // in any order
  CHECK(find(32, {0, 8, 16, 24}) == three{2, 16, 32});  // halves of lines
  CHECK(find(70, {0, 8, 16, 24}) == three{4, 8, 70});   // rows that do not follow each other stay as they are
  CHECK(find(16, {0}) == three{1, 16, 16});
  CHECK(find(48, {0, 16, 40}) == three{});
}
TEST_CASE("prefetch_inside: a loop that a later step puts further in asks for nothing") {
  auto const turned = weft::kernel<"turned">(
      [](auto A, auto B) {
        return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
          return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
        });
      },
      [](auto& s, auto, auto B, auto C) {
        auto [i, j, k] = C.axes();
        s.reorder(j, i, k);
        s.prefetch_inside(B, j, k, 1);
        s.reorder(i, k, j);
      });
  std::vector<float> const a(4 * 8, 1.0f), b(8 * 32, 2.0f);
  auto const A = weft::view(a, 4, 8), B = weft::view(b, 8, 32);
  CHECK(count_of(turned.on(weft::x86_64_avx2()).assembly(A, B), "prefetcht0") == 0);
  CHECK_FALSE(has(turned.loops(A, B), "prefetch"));
  CHECK(turned(A, B)(3, 31) == 16.0f);
}
TEST_CASE("prefetch_inside asks for what an iteration of the stage around reads later") {
  auto const ended = weft::kernel<"ended">(
      [](auto A, auto B) {
        auto const P = weft::compute<"P">(A.extent(0), B.extent(1), [=](auto i, auto j) {
          return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
        });
        return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::max(P(i, j), 0); });
      },
      [](auto& s, auto, auto B, auto P, auto C) {
        auto [i, j] = C.axes();
        auto [jo, ji] = s.split(j, 8);
        s.reorder(jo, i, ji);
        s.compute_at(P, i);
        auto [pi, pj, k] = P.axes();
        s.reorder(k, pi, pj);
        s.prefetch_inside(B, jo, k, 1);
        s.vectorize(pj);
      });
  std::vector<float> const a(4 * 8, 1.0f), b(8 * 32, 2.0f);
  auto const A = weft::view(a, 4, 8), B = weft::view(b, 8, 32);
  CHECK(has(ended.loops(A, B), "prefetch B for jo + 1\n"));
  CHECK(count_of(ended.on(weft::x86_64_avx2()).assembly(A, B), "prefetcht0") > 0);
  CHECK(ended(A, B)(3, 31) == 16.0f);
}
TEST_CASE("prefetch: what cannot be") {
  weft::program const program = two_stages();
  weft::schedule const fresh(program, all_extents{8});
  auto const why = [&](auto const& steps) {
    weft::schedule s = fresh;
    steps(s, weft::handle_of<2, 1>(s, 0), weft::handle_of<2>(s, 1));
    return s.failed < 0 ? diagnosis::none : s.steps[static_cast<std::size_t>(s.failed)].reason;
  };
  weft::input_handle<2> const A{0};
  CHECK(why([&](auto& s, auto C, auto D) { s.prefetch(C, D.axes()[0], 4), s.prefetch(A, C.axes()[1], 4); }) == diagnosis::none);
  CHECK(why([&](auto& s, auto C, auto D) { s.prefetch(D, C.axes()[0], 4); }) == diagnosis::the_stage_does_not_read_this_tensor);
  CHECK(why([&](auto& s, auto C, auto) { s.prefetch(A, C.axes()[0], 0); }) ==
        diagnosis::a_prefetch_is_1_to_2_to_the_20_iterations_ahead);
  CHECK(why([&](auto& s, auto C, auto) { s.prefetch_inside(A, C.axes()[0], C.axes()[1], 1); }) == diagnosis::none);
  for (auto [outer, inner] : {std::pair{1, 0}, {1, 1}})
    CHECK(why([&](auto& s, auto C, auto) {
      weft::axis const axes[] = {C.axes()[0], C.axes()[1]};
      s.prefetch_inside(A, axes[outer], axes[inner], 1);
    }) == diagnosis::a_prefetch_inside_stands_in_a_loop_further_in);
  CHECK(why([&](auto& s, auto C, auto) {
    auto [io, ii] = s.split(C.axes()[0], 2);
    s.prefetch_in_turns(A, io, ii, C.axes()[1], 1);
  }) == diagnosis::none);
  for (bool first : {true, false})
    CHECK(why([&](auto& s, auto C, auto) {
      auto [io, ii] = s.split(C.axes()[0], 2);
      if (first) s.prefetch_in_turns(A, ii, io, C.axes()[1], 1);
      else s.prefetch_in_turns(A, io, C.axes()[1], ii, 1);
    }) == diagnosis::a_prefetch_inside_stands_in_a_loop_further_in);
  CHECK(why([&](auto& s, auto C, auto) {
    auto [io, ii] = s.split(C.axes()[0], 2);
    s.prefetch_in_turns(A, io, ii, C.axes()[1], 1), s.unroll(ii);
  }) == diagnosis::a_tensor_is_prefetched_in_this_axis__split_and_mark_it_before);
  CHECK(why([&](auto& s, auto C, auto D) { s.prefetch_inside(D, C.axes()[0], C.axes()[1], 1); }) ==
        diagnosis::the_stage_does_not_read_this_tensor);
  CHECK(why([&](auto& s, auto C, auto) { s.unroll(C.axes()[1]), s.prefetch_inside(A, C.axes()[0], C.axes()[1], 1); }) ==
        diagnosis::an_unrolled_or_vectorized_axis_is_no_loop_to_prefetch_in);
  for (int marked : {0, 1})
    CHECK(why([&](auto& s, auto C, auto) {
      weft::axis const axes[] = {C.axes()[0], C.axes()[1]};
      s.prefetch_inside(A, axes[0], axes[1], 1), s.split(axes[marked], 2);
    }) == diagnosis::a_tensor_is_prefetched_in_this_axis__split_and_mark_it_before);
  CHECK(why([&](auto& s, auto, auto D) { s.unroll(D.axes()[0]), s.prefetch(A, D.axes()[0], 1); }) ==
        diagnosis::an_unrolled_or_vectorized_axis_is_no_loop_to_prefetch_in);
  CHECK(why([&](auto& s, auto, auto D) { s.prefetch(A, D.axes()[0], 1), s.unroll(D.axes()[0]); }) ==
        diagnosis::a_tensor_is_prefetched_in_this_axis__split_and_mark_it_before);
  CHECK(why([&](auto& s, auto C, auto) { s.prefetch(A, C.axes()[1], 1), s.rfactor(C, C.axes()[1], 2); }) ==
        diagnosis::a_reduced_axis_is_split_or_marked_already__rfactor_first);
}
TEST_CASE("prefetch changes no result, however far ahead it asks") {
  std::vector<float> a, b;
  for (int i = 0; i < 7 * 9; ++i) a.push_back(static_cast<float>(i % 11 - 5));
  for (int i = 0; i < 9 * 40; ++i) b.push_back(static_cast<float>(i % 7 - 3) / 2);
  auto const A = weft::view(a, 7, 9), B = weft::view(b, 9, 40);
  for (auto const& c : {product<3>(A, B), product<1 << 20>(A, B)})
    for (int i = 0; i < 7; ++i)
      for (int j = 0; j < 40; ++j) CHECK(c(i, j) == product<0>(A, B)(i, j));
}
