// Stores of vectors with gaps, which fill each other's.
#include <doctest/doctest.h>

#include <string>

#include "ops/check.hpp"

using namespace weft_test;
using weft::compute;

namespace {
/// Rows, `Rows` of them together, become one row of their elements in turns.
template <int Rows, int Lanes = 64>
inline constexpr auto in_turns = weft::kernel<"in_turns">(
    [](auto a) { return compute<"c">(a.extent(0) / Rows, a.extent(1), Rows, [=](auto i, auto j, auto r) { return a(Rows * i + r, j); }); },
    [](auto& s, auto, auto C) {
      auto [i, j, r] = C.axes();
      auto [jo, ji] = s.split(j, Lanes);
      s.reorder(i, jo, r, ji);
      s.unroll(r);
      s.vectorize(ji);
    });
/// Each element twice, with something added; and four times, of which two are stored together.
inline constexpr auto sums_beside = weft::kernel<"sums_beside">(
    [](auto a) { return compute<"c">(a.extent(0), a.extent(1), 2, [=](auto i, auto j, auto r) { return a(i, j) + weft::select(r == 0, 3, 5); }); },
    [](auto& s, auto, auto C) {
      auto [i, j, r] = C.axes();
      auto [jo, ji] = s.split(j, 16);
      s.reorder(i, jo, r, ji);
      s.unroll(r);
      s.vectorize(ji);
    });
inline constexpr auto with_a_gap = weft::kernel<"with_a_gap">(
    [](auto a) { return compute<"c">(a.extent(0), a.extent(1), 4, [=](auto i, auto j, auto r) { return a(i, j) - weft::select(r < 2, 1, 0); }); },
    [](auto& s, auto, auto C) {
      auto [i, j, r] = C.axes();
      auto [jo, ji] = s.split(j, 16);
      auto [ro, ri] = s.split(r, 2);
      s.reorder(i, jo, ro, ri, ji);
      s.unroll(ri);
      s.vectorize(ji);
    });
template <class T>
void all_agree(std::int64_t n) {
  CAPTURE(n);
  agrees<T>(in_turns<2>, 6, n), agrees<T>(in_turns<4>, 8, n), agrees<T>(in_turns<8>, 8, n), agrees<T>(in_turns<3>, 6, n);
  agrees<T>(sums_beside, 3, n), agrees<T>(with_a_gap, 2, n);
  agrees<T>(in_turns<14, 16>, 28, n), agrees<T>(in_turns<12, 16>, 24, n), agrees<T>(in_turns<5, 8>, 10, n), agrees<T>(in_turns<7, 4>, 7, n);
}
/// Stores of single elements, in code for AVX2.
std::size_t single_stores(std::string const& text) {
  std::size_t count = 0;
  for (char const* word : {"vpextrb", "vpextrw", "vmovss", "vextractps", "scatter"})
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}
}  // namespace

TEST_CASE("elements of some rows in turns, of each width, also where rows are no whole vectors") {
  for (std::int64_t const n : {64, 128, 48, 71, 5}) {
    all_agree<std::int8_t>(n), all_agree<std::int16_t>(n), all_agree<float>(n), all_agree<double>(n);
    agrees<weft::bf16>(in_turns<2>, 6, n), agrees<weft::f16>(in_turns<4>, 4, n);
  }
}
TEST_CASE("rows that fill each other's gaps are stored as whole vectors") {
  weft::target const t = weft::x86_64_avx2();
  CHECK(single_stores(in_turns<2>.on(t).assembly(drawn<weft::bf16>(1, 6, 128))) == 0);
  CHECK(single_stores(in_turns<4>.on(t).assembly(drawn<std::int8_t>(1, 8, 128))) == 0);
  CHECK(single_stores(in_turns<4>.on(t).assembly(drawn<float>(1, 8, 128))) == 0);
  CHECK(in_turns<2>.on(t).assembly(drawn<weft::bf16>(1, 6, 128)).find("vpunpcklwd") != std::string::npos);
}
TEST_CASE("rows that are a little shorter than a vector are columns of squares, too") {
  weft::target const t = weft::x86_64_avx2();
  CHECK(single_stores(in_turns<7, 8>.on(t).assembly(drawn<float>(1, 14, 128))) == 0);
  CHECK(single_stores(in_turns<3, 8>.on(t).assembly(drawn<float>(1, 6, 128))) > 0);  // most of a square would be nothing
}
