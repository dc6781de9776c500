// What a kernel is called with: views of the caller's memory, marked outputs, plain numbers.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>  // declares std::ranges::enable_borrowed_range
#include <type_traits>
#include <utility>

#include "weft/base/dtype.hpp"
#include "weft/base/error.hpp"
#include "weft/base/op.hpp"

namespace weft::inline WEFT_ABI {

/// Dimensions of a tensor at most.
inline constexpr int max_rank = 8;
/// Inputs and outputs of a kernel at most.
inline constexpr int max_arguments = 64;
/// In a list of extents of a type: one that the call says.
inline constexpr std::int64_t dynamic = -1;

class kept_of_constant;

/// One argument of a call with its type erased. Strides are in elements.
struct argument {
  void* data = nullptr;
  kept_of_constant* constant = nullptr;  // of a weft::constant: what kernels keep of it
  dtype type = dtype::f32;
  std::int8_t rank = 0;
  bool is_scalar = false;
  bool is_output = false;
  bool is_allocated_here = false;  // an output that the caller left out
  std::uint8_t unused[3] = {};
  std::int64_t scalar_bits = 0;
  std::int64_t extents[max_rank];
  std::int64_t strides[max_rank];
};

namespace detail {
/// All that an argument is but its address, extents, strides and constant, as one word, which a call compares: it is written as one, too, since a processor
/// waits for what was written in parts.
constexpr std::uint64_t kind_of(dtype type, std::size_t rank, bool is_scalar, bool is_output) {
  struct facts {
    dtype type;
    std::int8_t rank;
    bool is_scalar, is_output, is_allocated_here;
    std::uint8_t unused[3];
  };
  static_assert(sizeof(facts) == offsetof(argument, scalar_bits) - offsetof(argument, type));
  return __builtin_bit_cast(std::uint64_t, facts{type, static_cast<std::int8_t>(rank), is_scalar, is_output, false, {}});
}
inline std::uint64_t kind_of(argument const& a) {
  std::uint64_t word = 0;
  __builtin_memcpy(&word, reinterpret_cast<char const*>(&a) + offsetof(argument, type), sizeof word);
  return word;
}
inline void set_kind(argument& a, std::uint64_t word) {
  __builtin_memcpy(reinterpret_cast<char*>(&a) + offsetof(argument, type), &word, sizeof word);
}
/// Where a plain call (kernel_table.hpp) writes what it is called with: addresses, the bits of numbers, and in words each argument's kind, of
/// tensors with their extents and strides behind it.
struct plain_places {
  void** tensors;
  std::int64_t* scalars;
  std::uint64_t* words;
};
/// Throws argument_error when the extents ask for more than `size` elements.
void check_range_size(std::size_t size, std::int64_t const* extents, int rank);
/// Throws argument_error when these strides lead outside of `size` elements.
void check_reach(std::int64_t size, std::int64_t const* extents, std::int64_t const* strides, int rank);
}  // namespace detail

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
  /// How many elements the range that it was made of has; `dynamic`: it was made of a pointer.
  std::int64_t size_of_range = dynamic;

  /// The same elements under other strides: `view(p, rows, cols).strided(row_stride, 1)`.
  ///
  /// Errors  argument_error when it was made of a range, and leads outside of it
  template <class... S>
  constexpr tensor_view strided(S... s) const {
    static_assert(sizeof...(S) == sizeof...(Extent), "weft: one stride per dimension");
    tensor_view v = *this;
    v.strides = {static_cast<std::int64_t>(s)...};
    if (size_of_range >= 0 && !std::is_constant_evaluated())
      detail::check_reach(size_of_range, v.extents.data(), v.strides.data(), rank);
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
// Tensors of other libraries, told by what they offer; none of their headers is included.
template <class P>
concept element_pointer = std::is_pointer_v<P> && element<std::remove_cv_t<std::remove_pointer_t<P>>>;
template <class M>
constexpr auto data_of(M& m, int) -> decltype(m.data_handle()) {
  return m.data_handle();
}
template <class M>
constexpr auto data_of(M& m, long) -> decltype(m.data()) {
  return m.data();
}
// std::mdspan and its like. Not where an accessor computes what it gives, or a layout has no strides.
template <class M>
concept mdspan_like = requires(M& m) {
  typename std::integral_constant<std::size_t, M::rank()>;
  { detail::data_of(m, 0) } -> element_pointer;
  { m.extent(0) } -> std::convertible_to<std::int64_t>;
  { m.stride(0) } -> std::convertible_to<std::int64_t>;
} && !requires { requires !std::is_lvalue_reference_v<typename M::reference>; } && !requires {
  requires !M::is_always_strided();
};
// Eigen's matrices and arrays, and what is computed from them.
template <class M>
concept eigen_expression = requires(M& m) {
  typename std::bool_constant<bool(M::IsRowMajor) || bool(M::IsVectorAtCompileTime)>;
  typename std::integral_constant<std::int64_t, std::int64_t(M::RowsAtCompileTime)>;
  typename std::integral_constant<std::int64_t, std::int64_t(M::ColsAtCompileTime)>;
  m.rows(), m.cols();
} && element<typename M::Scalar>;
// Those that are memory with strides: Matrix, Array, Map, Ref, Block, a transpose of these.
template <class M>
concept eigen_like = eigen_expression<M> && requires(M& m) {
  { m.data() } -> element_pointer;
  m.outerStride(), m.innerStride();
};
template <class M>
concept foreign_tensor = mdspan_like<M> || eigen_expression<M>;

template <class R>
concept contiguous_range = requires(R& r) {
  { *r.data() };
  { r.size() } -> std::convertible_to<std::size_t>;
} && element<std::remove_cvref_t<decltype(*std::declval<R&>().data())>> && !requires(R& r) { r.extents; } &&
                           !foreign_tensor<R>;
/// A name of a range, or a span and its like.
template <class R>
concept outlived_by_its_memory =
    std::is_lvalue_reference_v<R> || std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>;
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
template <bool Output, class R, class... E>
constexpr auto range_view(R& range, E const&... e) {
  static_assert(!Output || !std::is_const_v<range_element<R>>, "weft: an output cannot be constant");
  auto v = make_view<Output>(range.data(), e...);
  v.size_of_range = static_cast<std::int64_t>(range.size());
  if (!std::is_constant_evaluated()) check_range_size(range.size(), v.extents.data(), v.rank);
  return v;
}

template <bool Output, std::int64_t... E, class T>
constexpr auto strided_view(T* data, std::array<std::int64_t, sizeof...(E)> const& extents,
                            std::array<std::int64_t, sizeof...(E)> const& strides) {
  static_assert(!Output || !std::is_const_v<T>, "weft: an output cannot be constant");
  using U = std::remove_const_t<T>;
  return tensor_view<U, Output, E...>{const_cast<U*>(data), extents, strides};
}
/// mdspan's and Eigen's mark of an extent that is not in the type is -1, as weft's own.
template <class M>
constexpr std::int64_t static_extent(std::size_t r) {
  if constexpr (requires { M::static_extent(r); }) return static_cast<std::int64_t>(M::static_extent(r));
  else return dynamic;
}
template <bool Output, class M>
constexpr auto foreign_view(M& m) {
  if constexpr (mdspan_like<M>) {
    return [&]<std::size_t... R>(std::index_sequence<R...>) {
      using numbers = std::array<std::int64_t, sizeof...(R)>;
      return strided_view<Output, static_extent<M>(R)...>(data_of(m, 0),
                                                          numbers{static_cast<std::int64_t>(m.extent(R))...},
                                                          numbers{static_cast<std::int64_t>(m.stride(R))...});
    }(std::make_index_sequence<M::rank()>{});
  } else {
    static_assert(eigen_like<M>, "weft: this matrix is an expression (as A * B) or sparse: it has no memory in which "
                                 "its elements stand; evaluate it first, as in (A * B).eval()");
    constexpr std::int64_t rows = M::RowsAtCompileTime, cols = M::ColsAtCompileTime;
    if constexpr (!eigen_like<M>) {
    } else if constexpr (bool(M::IsVectorAtCompileTime)) {
      using number = std::array<std::int64_t, 1>;
      return strided_view<Output, rows == 1 ? cols : rows>(m.data(), number{m.rows() * m.cols()},
                                                           number{m.innerStride()});
    } else {
      using numbers = std::array<std::int64_t, 2>;
      std::int64_t const inner = m.innerStride(), outer = m.outerStride();
      return strided_view<Output, rows, cols>(m.data(), numbers{m.rows(), m.cols()},
                                              bool(M::IsRowMajor) ? numbers{outer, inner} : numbers{inner, outer});
    }
  }
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
/// Of a contiguous range; without extents it is a vector.
///
/// Errors  argument_error when the range is shorter than the product of the extents
template <detail::contiguous_range R, detail::extent_argument... E>
constexpr auto view(R const& range, E const&... extents) {
  if constexpr (sizeof...(E) == 0) return detail::range_view<false>(range, range.size());
  else return detail::range_view<false>(range, extents...);
}
/// A tensor of another library, with its strides: std::mdspan and its like; Eigen's Matrix, Array, Map, Ref and Block,
/// of which vectors have one dimension. Extents that are in its type are known to the compiler here, too.
template <detail::foreign_tensor M>
constexpr auto view(M const& m) {
  return detail::foreign_view<false>(m);
}
/// The same as an output: the kernel writes it. A range without extents is a vector.
template <element T, detail::extent_argument... E>
constexpr auto out(T* data, E const&... extents) {
  return detail::make_view<true>(data, extents...);
}
/// Of a contiguous range as an output; without extents it is a vector.
///
/// Errors  argument_error when the range is shorter than the product of the extents
template <class R, detail::extent_argument... E>
  requires detail::contiguous_range<std::remove_reference_t<R>>
constexpr auto out(R&& range, E const&... extents) {
  static_assert(detail::outlived_by_its_memory<R>, "weft: an output that is a temporary would be gone after the call: "
                                                   "give it a name");
  if constexpr (sizeof...(E) == 0) return detail::range_view<true>(range, range.size());
  else return detail::range_view<true>(range, extents...);
}
/// A tensor of another library as an output.
template <class M>
  requires detail::foreign_tensor<std::remove_reference_t<M>>
constexpr auto out(M&& m) {
  return detail::foreign_view<true>(m);
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
  static constexpr bool is_number = false;
  static constexpr std::size_t plain_words = 0;  // of plain_places; 0: no call with it is a plain one
  using type = void;
};
template <class T>
  requires element<T>
struct argument_traits<T> {
  static constexpr bool supported = true;
  static constexpr bool is_output = false;
  static constexpr bool is_number = true;
  using type = scalar_arg<T>;
  static void describe(T value, argument& a) {
    set_kind(a, kind);
    a.scalar_bits = to_bits(value);
  }
  static constexpr std::uint64_t kind = kind_of(dtype_of<T>, 0, true, false);
  static constexpr std::size_t plain_words = 1;
  static void place(T value, plain_places& at) { *at.scalars++ = to_bits(value), *at.words++ = kind; }
};
template <class T, bool Output, std::int64_t... E>
struct argument_traits<tensor_view<T, Output, E...>> {
  static_assert(sizeof...(E) <= max_rank, "weft: a tensor has at most eight dimensions");
  static constexpr bool supported = true;
  static constexpr bool is_output = Output;
  static constexpr bool is_number = false;
  using type = fixed_arg<T, E...>;
  static void describe(tensor_view<T, Output, E...> const& v, argument& a) {
    a.data = v.data;
    set_kind(a, kind);
    for (std::size_t d = 0; d < sizeof...(E); ++d) a.extents[d] = v.extents[d], a.strides[d] = v.strides[d];
  }
  static constexpr std::uint64_t kind = kind_of(dtype_of<T>, sizeof...(E), false, Output);
  static constexpr std::size_t plain_words = 1 + 2 * sizeof...(E);
  static void place(tensor_view<T, Output, E...> const& v, plain_places& at) {
    *at.tensors++ = v.data, *at.words++ = kind;
    for (std::int64_t e : v.extents) *at.words++ = static_cast<std::uint64_t>(e);
    for (std::int64_t s : v.strides) *at.words++ = static_cast<std::uint64_t>(s);
  }
};
template <class V>
inline constexpr bool is_tensor_view = false;
template <class T, bool Output, std::int64_t... E>
inline constexpr bool is_tensor_view<tensor_view<T, Output, E...>> = true;
/// Ranges, tensors of other libraries, and whatever else has a `view` that answers a weft::view.
template <class A>
concept viewable = std::is_class_v<A> && is_tensor_view<decltype(view(std::declval<A const&>()))>;
template <viewable A>
struct argument_traits<A> : argument_traits<decltype(view(std::declval<A const&>()))> {
  static void describe(A const& from, argument& a) {
    auto const v = view(from);
    argument_traits<std::remove_const_t<decltype(v)>>::describe(v, a);
  }
  static void place(A const& from, plain_places& at) {
    auto const v = view(from);
    argument_traits<std::remove_const_t<decltype(v)>>::place(v, at);
  }
};
}  // namespace detail

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/argument.ipp"
#endif
