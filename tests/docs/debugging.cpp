// What docs/debugging.md shows of messages.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/golden.hpp"
#include "weft/debug.hpp"
#include "weft/expr/exact.hpp"
#include "weft/expr/print.hpp"
#include "weft/ops/softmax.hpp"
#include "weft/print_what.hpp"
#include "weft/weft.hpp"

namespace {
inline constexpr auto pick = weft::kernel<"pick">([](auto table, auto index) {
  return weft::compute<"y">(index.extent(0), [=](auto i) { return table(index(i)); });
});
inline constexpr auto checksum = weft::kernel<"checksum">([](auto A) {
  auto total = weft::exact::stage<"total">([=] {  // without axes
    auto const step = [=](auto before, auto k) {
      return weft::values(weft::exact::operation<weft::op::add, std::uint8_t>(weft::get<0>(before), A(k)));
    };
    return weft::exact::reduction(weft::values(std::uint8_t(0)), step, A.extent(0));
  });
  return weft::compute<"y">(1, [=](auto) {
    return weft::exact::operation<weft::op::sub, std::uint8_t>(weft::exact::literal<std::uint8_t>(A, 255), total());
  });
});
inline constexpr auto softmax = weft::kernel<"softmax">([](auto x) { return weft::ops::softmax(x); });
template <class Kernel>
std::string refusal(Kernel const& kernel) {
  std::vector<float> table(5), y(4);
  std::vector<std::int32_t> index{4, 0, 7, 1};
  try {
    kernel(weft::view(table, 5), weft::view(index, 4), weft::out(y, 4));
  } catch (weft::error const& e) {
    return std::string("```\n") + e.what() + "\n```\n";
  }
  return "";
}
}  // namespace

TEST_CASE("docs/debugging.md shows what is said of a gather, unchecked and checked") {
  weft_test::check_section("docs/debugging.md", "refused", refusal(pick));
  weft_test::check_section("docs/debugging.md", "checked", refusal(pick.with({.checked = true})));
}
TEST_CASE("docs/debugging.md shows a ready computation as C++") {
  weft_test::check_section("docs/debugging.md", "as_what", "```cpp\n" + weft::print_what(softmax, weft::tensor<float, 2>(3, 4)) + "\n```\n");
}
TEST_CASE("docs/debugging.md: sums of bytes that wrap as bytes") {
  std::vector<std::uint8_t> const bytes{200, 100, 7};
  CHECK(checksum(weft::view(bytes, 3))(0) == 255 - (200 + 100 + 7) % 256);
  weft::program const p = weft::parse_program("program\ninput A f32\n  %0 = extent i64 A 0\n  shape %0\nstage y f32\n  axis 0 < %0\n  shape %0\n"
                                              "  %1 = axis i64 0\n  %2 = load f32 A %1\n  %3 = load f32 A %1\n  %4 = add f32 %2 %3\n  body %4\noutput y\n");
  CHECK(weft::equal_nodes_joined(p).nodes.size() == 4);
}
