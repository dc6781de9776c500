#include "weft/runtime/apart.hpp"
#include "weft/runtime/bind.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The bytes of an argument, its largest steps first; none of them is backwards, or of one element.
struct strided_bytes {
  std::uintptr_t first = 0;
  std::int64_t reach = 0;  // from the first byte to behind the last
  int count = 0;
  struct {
    std::int64_t bytes, extent;
  } steps[max_rank]{};

  explicit strided_bytes(argument const& a)
      : first(reinterpret_cast<std::uintptr_t>(a.data)), reach(size_bytes(a.type)) {
    for (int d = 0; d < a.rank; ++d) {
      std::int64_t const n = a.extents[d], step = a.strides[d] * size_bytes(a.type), bytes = step < 0 ? -step : step;
      if (n == 1 || step == 0) continue;
      if (step < 0) first -= static_cast<std::uintptr_t>((n - 1) * bytes);
      reach += (n - 1) * bytes;
      int at = count++;
      for (; at > 0 && steps[at - 1].bytes < bytes; --at) steps[at] = steps[at - 1];
      steps[at].bytes = bytes, steps[at].extent = n;
    }
  }
};

/// What is left of a box when its first steps have been taken.
struct row {
  strided_bytes const& of;
  int taken = 0;
  std::int64_t reach = of.reach;

  std::int64_t step() const { return taken < of.count ? of.steps[taken].bytes : 0; }
  /// How many rows stand `bytes` from each other here; this becomes the first of them.
  std::int64_t split(std::int64_t bytes) {
    if (step() != bytes) return 1;
    std::int64_t const n = of.steps[taken++].extent;
    reach -= (n - 1) * bytes;
    return n;
  }
};

/// `offset`: from the first byte of a to that of b.
inline bool rows_apart(row a, row b, std::int64_t offset) {
  if (offset >= a.reach || -offset >= b.reach) return true;
  std::int64_t const step = a.step() > b.step() ? a.step() : b.step();
  if (step == 0) return false;
  std::int64_t const as = a.split(step), bs = b.split(step);
  if (a.reach > step || b.reach > step) return false;  // a row may meet more than two others
  // Row i of a meets row j of b only where i - j is one of two numbers: elsewhere they are a step or more from each
  // other.
  std::int64_t const rest = (offset % step + step) % step, near = (offset - rest) / step;
  auto const meet = [&](std::int64_t difference, std::int64_t between) {
    return difference < as && -difference < bs && !rows_apart(a, b, between);
  };
  return !meet(near, rest) && !meet(near + 1, rest - step);
}

WEFT_DECL bool apart(argument const& a, argument const& b) {
  if (reaches_too_far(a) || reaches_too_far(b)) return false;
  strided_bytes const x(a), y(b);
  return rows_apart({x}, {y}, static_cast<std::int64_t>(y.first - x.first));
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
