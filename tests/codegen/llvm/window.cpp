// Vectors whose lanes lie within a few vectors of memory.
#include <doctest/doctest.h>

#include <string>

#include "ops/check.hpp"

using namespace weft_test;
using weft::compute;

namespace {
constexpr auto lanes = [](auto& s, auto, auto C) {
  auto [i, j] = C.axes();
  auto [jo, ji] = s.split(j, 16);
  s.vectorize(ji);
};
inline constexpr auto every_second = weft::kernel<"every_second">(
    [](auto a) { return compute<"c">(a.extent(0), a.extent(1) / 2, [=](auto i, auto j) { return a(i, 2 * j) - a(i, 2 * j + 1); }); }, lanes);
inline constexpr auto every_third = weft::kernel<"every_third">(
    [](auto a) { return compute<"c">(a.extent(0), a.extent(1) / 3, [=](auto i, auto j) { return a(i, 3 * j) + a(i, 3 * j + 2); }); }, lanes);
inline constexpr auto every_fourth = weft::kernel<"every_fourth">(
    [](auto a) { return compute<"c">(a.extent(0), a.extent(1) / 4, [=](auto i, auto j) { return a(i, 4 * j + 1) * a(i, 4 * j + 3); }); }, lanes);
inline constexpr auto backwards = weft::kernel<"backwards">(
    [](auto a) {
      auto const n = a.extent(1);
      return compute<"c">(a.extent(0), n / 2, [=](auto i, auto j) { return a(i, n - 1 - j) - a(i, n - 1 - 2 * j); });
    },
    lanes);
/// Rows from their ends on.
inline constexpr auto turned_round = weft::kernel<"turned_round">(
    [](auto a) { return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, a.extent(1) - 1 - j); }); }, lanes);
inline constexpr auto twice = weft::kernel<"twice">(
    [](auto a) {
      return compute<"c">(a.extent(0), 2 * a.extent(1), [=](auto i, auto j) { return a(i, j / 2) + weft::repeat_edge(a)(i, j / 2 - 1 + 2 * (j % 2)); });
    },
    lanes);
/// Of eight elements, the one that data say; c: of 50.
inline constexpr auto picked = weft::kernel<"picked">(
    [](auto a) {
      return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) {
        auto const k = weft::clamp(weft::cast<std::int64_t>(a(i, j)), 0, 7);
        return a(i, k) - a(i, 7 - k);
      });
    },
    lanes);
inline constexpr auto picked_far = weft::kernel<"picked_far">(
    [](auto a) {
      return compute<"c">(a.extent(0), a.extent(1) - 49, [=](auto i, auto j) {
        auto const k = weft::clamp(weft::cast<std::int64_t>(weft::cast<float>(a(i, j)) * 16.0f), 0, 49);
        return a(i, k) + a(i, 49 - k) + a(i, j + 49);
      });
    },
    lanes);
/// Of eight, or of seven behind each other, next to the ones of the next element.
inline constexpr auto picked_of_eight = weft::kernel<"picked_of_eight">(
    [](auto a) {
      return compute<"c">(a.extent(0), a.extent(1) / 8, [=](auto i, auto j) {
        auto const k = weft::clamp(weft::cast<std::int64_t>(a(i, j)), 0, 6);
        return a(i, j * 8 + k) - a(i, j * 8 + k + 1) * 2;
      });
    },
    lanes);
/// Beside each element, at a distance that data say.
inline constexpr auto beside = weft::kernel<"beside">(
    [](auto a) {
      return compute<"c">(a.extent(0), a.extent(1) - 2, [=](auto i, auto j) {
        auto const k = weft::clamp(weft::cast<std::int64_t>(a(i, j)), 0, 2);
        return a(i, j + k) * 2;
      });
    },
    lanes);
/// Of each group of four, two.
inline constexpr auto of_groups = weft::kernel<"of_groups">(
    [](auto a) { return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j / 4 * 4 + 1) - a(i, j / 4 * 4 + 3); }); }, lanes);
/// One element for all lanes, at a place that data say, which some lanes do not want.
inline constexpr auto wanted_by_some = weft::kernel<"wanted_by_some">(
    [](auto a) {
      return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) {
        auto const k = weft::cast<std::int64_t>(a(i, 0));
        return select(j > 2 && k >= 0 && k < a.extent(1), a(i, k) * a(i, j), a(i, j));
      });
    },
    lanes);
/// Eight neighbours in the row above, where there is one.
inline constexpr auto above = weft::kernel<"above">(
    [](auto a) {
      auto const z = weft::constant_exterior(a, 0);
      return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return weft::sum(8, [=](auto k) { return z(i - 1, k) * a(i, j); }); });
    },
    [](auto& s, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto [jo, ji] = s.split(j, 16);
      s.reorder(i, jo, k, ji);
      s.unroll(k);
      s.vectorize(ji);
    });
}  // namespace

TEST_CASE("elements at small distances, also in rows that end with a buffer") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{3, 64}, {2, 97}, {1, 128}, {5, 71}}) {
    CAPTURE(n);
    agrees<float>(every_second, m, n), agrees<double>(every_second, m, n), agrees<std::uint8_t>(every_second, m, n);
    agrees<float>(every_third, m, n), agrees<std::int16_t>(every_third, m, n);
    agrees<float>(every_fourth, m, n), agrees<std::int64_t>(every_fourth, m, n);
    agrees<float>(backwards, m, n), agrees<std::int32_t>(backwards, m, n);
    agrees<float>(twice, m, n), agrees<double>(twice, m, n);
  }
  for (std::int64_t const n : {8, 12, 48, 64, 100}) {
    CAPTURE(n);
    for (std::int64_t const m : {1, 3, 4}) agrees<float>(of_groups, m, n), agrees<double>(of_groups, m, n), agrees<std::uint8_t>(of_groups, m, n);
    agrees<float>(above, 4, n), agrees<double>(above, 3, n), agrees<std::uint8_t>(above, 4, n);
  }
}
TEST_CASE("elements at places that are known when it runs, within bounds that are known before") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{3, 64}, {2, 97}, {1, 65}, {1, 66}}) {
    CAPTURE(n);
    agrees<float>(picked, m, n), agrees<double>(picked, m, n), agrees<std::int32_t>(picked, m, n), agrees<std::int64_t>(picked, m, n);
    agrees<float>(picked_far, m, n), agrees<std::int32_t>(picked_far, m, n);
    agrees<float>(beside, m, n), agrees<double>(beside, m, n);
  }
  for (std::int64_t const n : {1, 3, 16, 19, 40}) {
    CAPTURE(n);
    agrees<float>(turned_round, 3, n), agrees<double>(turned_round, 3, n), agrees<std::uint8_t>(turned_round, 3, n), agrees<std::int16_t>(turned_round, 3, n);
    agrees<float>(wanted_by_some, 9, n), agrees<double>(wanted_by_some, 9, n), agrees<std::int8_t>(wanted_by_some, 9, n);
  }
  for (std::int64_t const n : {128, 300, 391}) agrees<float>(picked_of_eight, 2, n), agrees<double>(picked_of_eight, 1, n);
  agrees<float>(picked, 1, 8), agrees<float>(beside, 1, 19);  // the buffer is shorter than a window
}
TEST_CASE("where vectors are read there is no gather") {
  weft::target const& t = weft::host();
  if (!t.has("avx512f")) {
    MESSAGE("[skip] no AVX-512 here");
    return;
  }
  auto const code = [&](auto const& k, std::int64_t n) { return k.on(t).assembly(drawn<float>(1, 4, n)); };  // full vectors
  for (std::string const& text : {code(every_second, 160), code(every_third, 192), code(every_fourth, 192), code(backwards, 160), code(picked, 160),
                                  code(wanted_by_some, 160), code(turned_round, 150), code(beside, 162), code(picked_of_eight, 512)})
    CHECK(text.find("gather") == std::string::npos);
  CHECK(code(picked, 160).find("vperm") != std::string::npos);
  // Both terms of a group are in the one vector that all of them are in.
  auto const of_two_loads = [](std::string const& text) { return text.find("vinsert") != std::string::npos || text.find("vpermt2") != std::string::npos; };
  CHECK(!of_two_loads(code(of_groups, 160)));
  CHECK(of_two_loads(code(of_groups, 164)));  // rows begin in the middle of one
}
TEST_CASE("neighbours that are zeros together are chosen once") {
  if (weft::host().arch != weft::architecture::x86_64) {
    MESSAGE("[skip] conditional moves are counted by their names in x86");
    return;
  }
  std::string const text = above.on(weft::x86_64_avx2()).assembly(drawn<float>(1, 4, 160));
  int moves = 0;
  for (std::size_t at = text.find("cmov"); at != std::string::npos; at = text.find("cmov", at + 1)) ++moves;
  CHECK(moves <= 2);
}
