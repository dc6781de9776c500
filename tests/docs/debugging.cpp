// What docs/debugging.md shows of messages.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/golden.hpp"
#include "weft/debug.hpp"
#include "weft/weft.hpp"

namespace {
inline constexpr auto pick = weft::kernel<"pick">([](auto table, auto index) {
  return weft::compute<"y">(index.extent(0), [=](auto i) { return table(index(i)); });
});
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
