// What schedules may do with stages that functions compute, and with those that functions read.
#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/functions.hpp"
#include "weft/kernel.hpp"
#include "weft/schedule/print.hpp"

using namespace weft;

namespace {
/// S = 2 A; F = function(S); y = F + 1.
program sums_program() {
  return detail::build<arg<float, 2>>([](auto A) {
    auto M = A.extent(0), N = A.extent(1);
    auto S = compute<"S">(M, N, [=](auto i, auto j) { return A(i, j) * 2.f; });
    auto F = compute<"F">(M, N, external<"row_sums_so_far", &weft_test::row_sums_so_far>(S));
    auto G = compute<"G">(M, N, [=](auto i, auto j) { return F(i, j) + 1.f; });
    return compute<"y">(M, N, [=](auto i, auto j) { return G(i, j) * A(i, j); });
  });
}
constexpr int stage_S = 0, stage_F = 1, stage_G = 2, stage_y = 3;
/// What the first illegal step is told.
template <class How>
std::string told(How const& how) {
  program const p = sums_program();
  schedule s(p, [](int, int) { return std::int64_t(8); });
  how(s, handle_of<2>(s, stage_S), handle_of<2>(s, stage_F), handle_of<2>(s, stage_G), handle_of<2>(s, stage_y));
  return s.state == verdict::illegal ? explain(s, "k") : "";
}
#define CHECK_TOLD(words, ...)                                                             \
  do {                                                                                     \
    std::string const said = told([](auto& s, auto S, auto F, auto G, auto y) { __VA_ARGS__; \
      static_cast<void>(S), static_cast<void>(F), static_cast<void>(G), static_cast<void>(y); }); \
    INFO(#__VA_ARGS__ << "\n" << said);                                                    \
    CHECK(said.find(words) != std::string::npos);                                          \
    CHECK(said.find("\n  try   ") != std::string::npos);                                   \
  } while (false)
}  // namespace

TEST_CASE("extern: its stage has no loops to schedule, and none to compute others in") {
  constexpr char const* words = "a function of yours computes this stage, all of it at once: it has no loops";
  CHECK_TOLD(words, s.split(F.axes()[0], 4));
  CHECK_TOLD(words, s.reorder(F.axes()[1], F.axes()[0]));
  CHECK_TOLD(words, s.fuse(F.axes()[0], F.axes()[1]));
  CHECK_TOLD(words, s.unroll(F.axes()[0]));
  CHECK_TOLD(words, s.vectorize(F.axes()[1]));
  CHECK_TOLD(words, s.parallel(F.axes()[0]));
  CHECK_TOLD(words, s.bind(F.axes()[0], thread_axis::block_x));
  CHECK_TOLD(words, s.compute_at(S, F.axes()[0]));
  CHECK_TOLD(words, s.compute_with(S, F.axes()[0]));
  CHECK_TOLD(words, s.reverse_compute_at(G, F.axes()[0]));
  CHECK_TOLD(words, s.prefetch(S, F.axes()[0], 1));
}
TEST_CASE("extern: its stage is computed where it stands, by the function") {
  constexpr char const* words = "a function of yours computes this stage where it stands";
  CHECK_TOLD(words, s.compute_at(F, G.axes()[0]));
  CHECK_TOLD(words, s.compute_inline(F));
  CHECK_TOLD(words, s.compute_with(F, G.axes()[0]));
  CHECK_TOLD(words, s.cache_write(F));
  CHECK_TOLD(words, s.transform_layout(F, [](auto i, auto j) { return dims(j, i); }));
  CHECK_TOLD(words, s.prepack(F));
  CHECK_TOLD(words, s.specialize(s.extent(F.axes()[0]) == 8));
  CHECK_TOLD(words, s.store_non_temporal(F));
  CHECK_TOLD(words, s.reverse_compute_inline(G));  // G would take its place
}
TEST_CASE("extern: what a function reads keeps its memory, and its dimensions") {
  constexpr char const* words = "a function of yours reads this stage, all of it as it stands";
  CHECK_TOLD(words, s.compute_inline(S));
  CHECK_TOLD(words, s.compute_at(S, G.axes()[0]));
  CHECK_TOLD(words, s.transform_layout(S, [](auto i, auto j) { return dims(j, i); }));
  CHECK_TOLD(words, s.split(S.axes()[1], 3, tail::round_up));
}
TEST_CASE("extern: of memory a step may decide, of what is read, too; a copy is free of the function") {
  CHECK(told([](auto& s, auto S, auto F, auto G, auto y) {
          auto [i, j] = S.axes();
          s.parallel(i);
          s.vectorize(s.split(j, 3)[1]);
          s.set_scope(S, scope::stack);
          s.storage_align(F, 0, 16);
          s.compute_root(F);
          s.compute_at(G, y.axes()[0]);
        }) == "");
  CHECK(told([](auto& s, auto S, auto F, auto G, auto y) {
          static_cast<void>(G), static_cast<void>(y);
          auto copy = s.cache_read(S, F);
          s.compute_at(S, copy.axes()[0]);
          auto other = s.cache_read(F, G);
          s.transform_layout(other, [](auto i, auto j) { return dims(j, i); });
        }) == "");
}
TEST_CASE("extern: cache_read gives the function a copy, side by side") {
  program const p = sums_program();
  schedule s(p, [](int, int) { return std::int64_t(8); });
  s.cache_read(handle_of<2>(s, stage_S), handle_of<2>(s, stage_F));
  CHECK(s.computation().reads == sequence<std::int32_t>{s.computation().stages[4].tensor});
  CHECK(p.reads == sequence<std::int32_t>{p.stages[stage_S].tensor});
  weft_test::lowered_program l{p, {{3, 4}}};
  ir::function const f = l([](schedule& t, auto const&) { t.cache_read(handle_of<2>(t, stage_S), handle_of<2>(t, stage_F)); });
  CHECK(weft_test::body(f).find("call F = row_sums_so_far(S_copy) 0") != std::string::npos);
}
TEST_CASE("extern: loops show its stage as one line, and a trace is replayed") {
  program const p = sums_program();
  schedule s(p, [](int, int) { return std::int64_t(8); });
  s.storage_align(handle_of<2>(s, stage_F), 0, 16);
  CHECK(print_loops(s).find("F\n  F[i, j] = row_sums_so_far(S)\n") != std::string::npos);
  schedule again(p, [](int, int) { return std::int64_t(8); });
  CHECK(replay(again, parse_trace(print_trace(s), again)));
}
