#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Blocks of terms where several axes are reduced: as many terms as keep a panel at hand (`block`), or, where nothing is used for several
/// rows, eight rows of what is read. The outermost axes are taken whole, one of them is cut, and all that is outside becomes one loop, so
/// terms keep their order. What is inside stays in `reduced`; the answer's outer loop goes around the tiles, -1: all terms are one block.
WEFT_DECL rule_plan::parts rule_plan::blocks_of_terms(int stage, sequence<std::int32_t>& reduced, std::int64_t block, bool rows) {
  std::int64_t all = 1;
  for (std::int32_t l : reduced) {
    if (trips(l) < 1 || is_open(l)) return {};
    all *= trips(l);
  }
  std::int64_t own = all;
  if (!rows && all >= 16) own = 8;
  else if (rows && block > 1 && 2 * all > 3 * block) own = ceil_div(all, (all + block / 2) / block);
  std::int64_t const at_a_time = choose(stage, "terms", own, {8, 32, 128, 512, 1024, all}, all);
  if (at_a_time >= all) return {};
  sequence<std::int32_t> outside, inside;
  std::int64_t left = all;  // terms of one iteration of what is outside
  for (std::int32_t l : reduced) {
    left /= trips(l);
    std::int64_t n = left <= at_a_time ? at_a_time / left : 0;  // of this axis
    if (n > 0 && n < trips(l)) n = ceil_div(trips(l), ceil_div(trips(l), n));
    if (!inside.empty() || n >= trips(l)) inside.push_back(l);
    else if (n <= 1) outside.push_back(l);
    else if (parts const cut_up = split(l, n); cut_up.outer >= 0) outside.push_back(cut_up.outer), inside.push_back(cut_up.inner);
  }
  if (outside.empty() || inside.empty()) return {};
  sequence<std::int32_t> order = outside;
  for (std::int32_t l : inside) order.push_back(l);
  reorder(order);
  int const around = fuse(outside);
  if (around < 0) return {};
  reduced = inside;
  return {around, -1};
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
