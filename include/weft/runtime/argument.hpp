// What a kernel is called with: views of the caller's memory, marked outputs, plain numbers.
#pragma once

#include <array>
#include <concepts>
#include <type_traits>
#include <utility>

#include "weft/base/dtype.hpp"
#include "weft/base/error.hpp"
#include "weft/base/op.hpp"

namespace weft::inline WEFT_ABI {

inline constexpr int max_rank = 8;
inline constexpr int max_arguments = 64;
inline constexpr std::int64_t dynamic = -1;

/// One argument of a call with its type erased. Strides are in elements.
struct argument {
  void* data = nullptr;
  dtype type = dtype::f32;
  std::int8_t rank = 0;
  bool is_scalar = false;
  bool is_output = false;
  bool is_allocated_here = false;  // an output that the caller left out
  std::int64_t scalar_bits = 0;
  std::int64_t extents[max_rank];
  std::int64_t strides[max_rank];
};

/// A tensor in memory that somebody else owns: base address, extents and strides (in elements).
/// `Extent...` are the sizes known to the compiler; `dynamic` where they are not, below that the name of an open one.
template <element T, bool Output, std::int64_t... Extent>
struct tensor_view {
  using element_type = T;
  static constexpr int rank = static_cast<int>(sizeof...(Extent));
  static constexpr bool is_output = Output;
  T* data = nullptr;
  std::array<std::int64_t, sizeof...(Extent)> extents{};
  std::array<std::int64_t, sizeof...(Extent)> strides{};

  /// The same elements under other strides: `view(p, rows, cols).strided(row_stride, 1)`.
  template <class... S>
  constexpr tensor_view strided(S... s) const {
    static_assert(sizeof...(S) == sizeof...(Extent), "weft: one stride per dimension");
    tensor_view v = *this;
    v.strides = {static_cast<std::int64_t>(s)...};
    return v;
  }
};

namespace detail {
// An extent is a run-time integer, or a constant: std::integral_constant, boost::hana's 16_c.
template <class E>
concept constant_extent = std::is_empty_v<E> && requires { { E::value } -> std::convertible_to<std::int64_t>; };
// A named one (dim.hpp) brings a number, and in its type the code of its name, which is below `dynamic`.
template <class E>
concept named_extent = requires(E const& e) { E::code, e.number; };
template <class E>
constexpr std::int64_t extent_constant() {
  if constexpr (named_extent<E>) return E::code;
  else if constexpr (constant_extent<E>) return static_cast<std::int64_t>(E::value);
  else return dynamic;
}
template <class E>
constexpr std::int64_t extent_number(E const& e) {
  if constexpr (named_extent<E>) return e.number;
  else if constexpr (constant_extent<E>) return static_cast<std::int64_t>(E::value);
  else return static_cast<std::int64_t>(e);
}
template <class E>
concept extent_argument = constant_extent<E> || std::integral<E> || named_extent<E>;
template <class R>
concept contiguous_range = requires(R& r) {
  { *r.data() };
  { r.size() } -> std::convertible_to<std::size_t>;
} && element<std::remove_cvref_t<decltype(*std::declval<R&>().data())>> && !requires(R& r) { r.extents; };
template <class R>
using range_element = std::remove_reference_t<decltype(*std::declval<R&>().data())>;

template <std::size_t N>
constexpr std::array<std::int64_t, N> row_major(std::array<std::int64_t, N> const& extents) {
  std::array<std::int64_t, N> strides{};
  std::int64_t stride = 1;
  for (std::size_t d = N; d-- > 0;) {
    strides[d] = stride;
    // An overflow is reported by the call, which sees the extents; here it must only not be undefined.
    if (__builtin_mul_overflow(stride, extents[d] > 1 ? extents[d] : 1, &stride)) stride = INT64_MAX;
  }
  return strides;
}
/// Throws argument_error when `size` elements are fewer than the extents ask for.
void check_range_size(std::size_t size, std::int64_t const* extents, int rank);

template <bool Output, class T, class... E>
constexpr auto make_view(T* data, E const&... e) {
  using U = std::remove_const_t<T>;
  tensor_view<U, Output, extent_constant<E>()...> v;
  // A view of constant memory is never written: the kernel takes outputs from weft::out alone.
  v.data = const_cast<U*>(data);
  v.extents = {extent_number(e)...};
  v.strides = row_major(v.extents);
  return v;
}
}  // namespace detail

/// A row-major input of these extents in the caller's memory: `view(a, rows, cols)`.
///
/// Errors  argument_error when a range is shorter than the extents' product
/// Cost    nothing is copied
template <element T, detail::extent_argument... E>
constexpr auto view(T const* data, E const&... extents) {
  return detail::make_view<false>(data, extents...);
}
template <detail::contiguous_range R, detail::extent_argument... E>
constexpr auto view(R const& range, E const&... extents) {
  if constexpr (sizeof...(E) == 0) {
    return detail::make_view<false>(range.data(), range.size());
  } else {
    auto const v = detail::make_view<false>(range.data(), extents...);
    if (!std::is_constant_evaluated()) detail::check_range_size(range.size(), v.extents.data(), v.rank);
    return v;
  }
}
/// The same as an output: the kernel writes it. A range without extents is a vector.
template <element T, detail::extent_argument... E>
constexpr auto out(T* data, E const&... extents) {
  return detail::make_view<true>(data, extents...);
}
template <detail::contiguous_range R, detail::extent_argument... E>
constexpr auto out(R& range, E const&... extents) {
  static_assert(!std::is_const_v<detail::range_element<R>>, "weft: an output cannot be constant");
  if constexpr (sizeof...(E) == 0) {
    return detail::make_view<true>(range.data(), range.size());
  } else {
    auto const v = detail::make_view<true>(range.data(), extents...);
    detail::check_range_size(range.size(), v.extents.data(), v.rank);
    return v;
  }
}

/// A type-level argument, for checks without a call: `arg<float, 2>`, `fixed_arg<float, 16, dynamic>`, and
/// `scalar_arg<float>`.
template <element T, std::int64_t... Extent>
struct fixed_arg {};
template <element T>
struct scalar_arg {};
namespace detail {
template <class T, class Sequence>
struct arg_of_rank;
template <class T, std::size_t... I>
struct arg_of_rank<T, std::index_sequence<I...>> {
  using type = fixed_arg<T, (static_cast<void>(I), dynamic)...>;
};
}  // namespace detail
template <element T, int Rank>
using arg = typename detail::arg_of_rank<T, std::make_index_sequence<static_cast<std::size_t>(Rank)>>::type;

namespace detail {
/// For each thing that may be passed: its type-level argument, whether it is an output, and how it is described.
template <class A>
struct argument_traits {
  static constexpr bool supported = false;
  static constexpr bool is_output = false;
  using type = void;
};
template <class T>
  requires element<T>
struct argument_traits<T> {
  static constexpr bool supported = true;
  static constexpr bool is_output = false;
  using type = scalar_arg<T>;
  static void describe(T value, argument& a) {
    a.is_scalar = true;
    a.type = dtype_of<T>;
    a.scalar_bits = to_bits(value);
  }
};
template <class T, bool Output, std::int64_t... E>
struct argument_traits<tensor_view<T, Output, E...>> {
  static_assert(sizeof...(E) <= max_rank, "weft: a tensor has at most eight dimensions");
  static constexpr bool supported = true;
  static constexpr bool is_output = Output;
  using type = fixed_arg<T, E...>;
  static void describe(tensor_view<T, Output, E...> const& v, argument& a) {
    a.data = v.data;
    a.type = dtype_of<T>;
    a.rank = static_cast<std::int8_t>(sizeof...(E));
    a.is_output = Output;
    for (std::size_t d = 0; d < sizeof...(E); ++d) a.extents[d] = v.extents[d], a.strides[d] = v.strides[d];
  }
};
template <class R>
  requires(contiguous_range<R const>)
struct argument_traits<R> {
  static constexpr bool supported = true;
  static constexpr bool is_output = false;
  using type = fixed_arg<std::remove_const_t<range_element<R const>>, dynamic>;
  static void describe(R const& r, argument& a) {
    auto const v = make_view<false>(r.data(), r.size());
    argument_traits<std::remove_const_t<decltype(v)>>::describe(v, a);
  }
};
}  // namespace detail

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/argument.ipp"
#endif
