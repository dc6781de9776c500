// Stores of vectors with gaps, which fill each other's.
#include <doctest/doctest.h>

#include <string>

#include "ops/check.hpp"

using namespace weft_test;
using weft::compute;

namespace {
/// Rows, `Rows` of them together, become one row of their elements in turns.
template <int Rows>
inline constexpr auto in_turns = weft::kernel<"in_turns">(
    [](auto a) { return compute<"c">(a.extent(0) / Rows, a.extent(1), Rows, [=](auto i, auto j, auto r) { return a(Rows * i + r, j); }); },
    [](auto& s, auto, auto C) {
      auto [i, j, r] = C.axes();
      auto [jo, ji] = s.split(j, 64);
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
  auto const stores = [](std::string const& text) {  // element by element, where they are not
    std::size_t count = 0;
    for (char const* word : {"vpextrb", "vpextrw", "vmovss", "vextractps", "scatter"})
      for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    return count;
  };
  CHECK(stores(in_turns<2>.on(t).assembly(drawn<weft::bf16>(1, 6, 128))) == 0);
  CHECK(stores(in_turns<4>.on(t).assembly(drawn<std::int8_t>(1, 8, 128))) == 0);
  CHECK(stores(in_turns<4>.on(t).assembly(drawn<float>(1, 8, 128))) == 0);
  CHECK(in_turns<2>.on(t).assembly(drawn<weft::bf16>(1, 6, 128)).find("vpunpcklwd") != std::string::npos);
}
