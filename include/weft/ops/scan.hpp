// Prefix sums and their kin, one step per element, and triangles.
#pragma once

#include "weft/ops/layout.hpp"

namespace weft::inline WEFT_ABI {
namespace ops {

/// Along which axis, and how.
struct scan_options {
  int axis = -1;
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // from the end
};
namespace detail {
template <fixed_string Name, class T, int Rank, class Reduce>
constexpr auto scanned(expr::tensor<T, Rank> const& x, scan_options const& o, Reduce const& reduce) {
  std::size_t const axis = dimension(o.axis, Rank);
  return compute_over<Name>(shape_of(x), [&](auto const& i) {
    return reduce(prefix{i[axis], o.reverse, o.exclusive}, [&](auto k) {
      auto from = i;
      from[axis] = k;
      return element_at(x, from);
    });
  });
}
}  // namespace detail

/// y(i) = x(0) + ... + x(i). Source  numpy.cumsum; ONNX CumSum for the options
inline constexpr auto cumsum = [](auto const& x, scan_options const& o = {}) {
  return detail::scanned<"cumsum">(x, o, sums);
};
/// The products likewise.
inline constexpr auto cumprod = [](auto const& x, scan_options const& o = {}) {
  return detail::scanned<"cumprod">(x, o, products);
};
/// The largest so far.
inline constexpr auto cummax = [](auto const& x, scan_options const& o = {}) {
  return detail::scanned<"cummax">(x, o, maxima);
};
/// The smallest so far.
inline constexpr auto cummin = [](auto const& x, scan_options const& o = {}) {
  return detail::scanned<"cummin">(x, o, minima);
};

/// Where a triangle ends.
struct triangle {
  std::int64_t diagonal = 0;  // that many to the right of the main one
};
/// The lower triangle of matrices (the last two dimensions), 0 above. Source  numpy.tril
inline constexpr auto tril = [](auto const& x, triangle const& o = {}) {
  return compute_over<"tril">(shape_of(x), [&](auto const& i) {
    return select(i[i.size() - 1] <= i[i.size() - 2] + o.diagonal, element_at(x, i), 0);
  });
};
/// The upper one, 0 below. Source  numpy.triu
inline constexpr auto triu = [](auto const& x, triangle const& o = {}) {
  return compute_over<"triu">(shape_of(x), [&](auto const& i) {
    return select(i[i.size() - 1] >= i[i.size() - 2] + o.diagonal, element_at(x, i), 0);
  });
};

}  // namespace ops
}  // namespace weft::inline WEFT_ABI
