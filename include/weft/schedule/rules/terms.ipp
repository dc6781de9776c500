#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Blocks of terms where several axes are reduced. The outermost axes are taken whole, one of them is cut, and all that is outside becomes
/// one loop, so terms keep their order. What is inside stays in `reduced`; the answer is the loop that goes around the tiles, -1: all terms
/// are one block.
WEFT_DECL int rule_plan::blocks_of_terms(product_plan const& p, sequence<std::int32_t>& reduced, bool has_panels) {
  std::int64_t all = 1;
  for (std::int32_t l : reduced) {
    if (trips(l) < 1 || is_open(l)) return -1;
    if (__builtin_mul_overflow(all, trips(l), &all)) return -1;
  }
  std::int64_t const at_a_time = choose(p.stage, "terms", terms_at_a_time(p, all, has_panels), {8, 32, 128, 512, 1024, all}, all);
  if (at_a_time >= all) return -1;
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
  if (outside.empty() || inside.empty()) return -1;
  sequence<std::int32_t> order = outside;
  for (std::int32_t l : inside) order.push_back(l);
  reorder(order);
  int const around = fuse(outside);
  if (around >= 0) reduced = inside;
  return around;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
