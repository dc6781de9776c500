// Sizes that stay open: one compiled kernel for all of them. The umbrella does not include it.
#pragma once

#include "weft/kernel.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

constexpr bool names_a_dim(std::string_view name) {
  bool fine = !name.empty() && name.size() <= 8;
  for (char c : name)
    fine = fine && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
  return fine && !(name[0] >= '0' && name[0] <= '9');
}
/// What stands for the name in a type; see dim_text.
constexpr std::int64_t dim_code(std::string_view name) {
  std::int64_t code = 0;
  for (std::size_t i = name.size(); i-- > 0;) code = code * 128 + name[i];
  return -2 - code;
}
template <std::int64_t Code>
struct named_number {
  static constexpr std::int64_t code = Code;
  std::int64_t number = 0;
};

/// What weft::dim<"n"> is: alone the name, for types and for ranges that know their size; with a number an extent.
template <fixed_string Name>
struct dim_name {
  static_assert(names_a_dim(Name.view()),
                "weft: the name of a dim has one to eight letters, digits or _, no digit first");
  constexpr operator std::int64_t() const { return dim_code(Name.view()); }
  template <std::integral N>
  constexpr named_number<dim_code(Name.view())> operator()(N number) const {
    return {static_cast<std::int64_t>(number)};
  }
};

/// The form for open sizes of a kernel called with such arguments, or null when the call has an extent of 0 in it or
/// one past 2^40: such a call gets code of its own. `numbers`: what bind says, with the ranges of names that weft has given itself;
/// `names`: max_rank for each argument.
///
/// Errors  argument_error when two extents of one name differ, or an access leaves its tensor; null instead where there are ranges
/// Cost    two lowerings of the plain nest and their proofs of bounds
open_sizes* open_form(program const& what, std::string_view name, argument const* arguments, int count,
                      call_layout const& numbers, std::int64_t const* names);

template <class... A>
struct open_call<true, A...> {
  static open_sizes* make(program const& what, std::string_view name, argument const* arguments, int count,
                          call_layout const& numbers) {
    std::int64_t names[max_arguments * max_rank] = {};
    int input = 0, output = static_cast<int>(what.inputs.size());
    auto const one = [&]<class In>(std::type_identity<In>, bool is_output) {
      std::int64_t* const to = names + (is_output ? output++ : input++) * max_rank;
      for (int d = 0; d < input_of<In>::rank; ++d) to[d] = input_of<In>::extents[d];
    };
    (one(std::type_identity<typename traits<A>::type>{}, traits<A>::is_output), ...);
    return open_form(what, name, arguments, count, numbers, names);
  }
};
}  // namespace detail

/// The name of a size that the compiled code leaves open: a call with another one runs the same code.
///
///     saxpy(2.0f, weft::view(x, weft::dim<"n">), weft::view(y, weft::dim<"n">), weft::out(z));
///     matmul(weft::view(a, weft::dim<"m">(m), 512), weft::view(b, 512, 768), weft::out(c, m, 768));
///     static_assert(weft::checked<matmul, weft::fixed_arg<float, weft::dim<"m">, 512>, weft::arg<float, 2>>);
///
/// What has one name has one size. Extents without a name are numbers in the code, and what follows from named ones
/// (of outputs, stages, row-major strides) is open too. Splits of an open axis leave a tail, since nothing is known to
/// divide it; to unroll or vectorize one whole is refused.
///
/// Errors  argument_error when two extents of one name differ, and as for any call
/// Cost    a call 16 ns more than a plain one with numbers (4 x 4; a server with AMX), 35 to 40 where it is no plain call (kernel_table.hpp). One with an extent of 0 or
///         past 2^40 that is not a no-op gets code of its own. Where an access is in bounds
///         for reasons that intervals do not show, each call proves it anew, as a first call does
template <fixed_string Name>
inline constexpr detail::dim_name<Name> dim{};

namespace detail {
template <class R>
concept plain_range = contiguous_range<R> && !requires(R const& r) { r.extent(0); };
}

/// A range as a vector of the open size Name; a tensor with a name for each extent.
template <detail::plain_range R, fixed_string Name>
constexpr auto view(R const& range, detail::dim_name<Name> n) {
  return detail::range_view<false>(range, n(range.size()));
}
/// As an output.
template <class R, fixed_string Name>
  requires detail::plain_range<std::remove_reference_t<R>>
constexpr auto out(R&& range, detail::dim_name<Name> n) {
  static_assert(detail::outlived_by_its_memory<R>, "weft: an output that is a temporary would be gone after the call: "
                                                   "give it a name");
  return detail::range_view<true>(range, n(range.size()));
}
/// A tensor with a name for each extent.
template <class T, int Rank, fixed_string... Name>
auto view(tensor<T, Rank> const& t, detail::dim_name<Name>... names) {
  static_assert(sizeof...(Name) == static_cast<std::size_t>(Rank), "weft: one name per dimension");
  return [&]<int... D>(std::integer_sequence<int, D...>) {
    return view(t.data(), names(t.extent(D))...);
  }(std::make_integer_sequence<int, Rank>{});
}
/// As an output.
template <class T, int Rank, fixed_string... Name>
auto out(tensor<T, Rank>& t, detail::dim_name<Name>... names) {
  static_assert(sizeof...(Name) == static_cast<std::size_t>(Rank), "weft: one name per dimension");
  return [&]<int... D>(std::integer_sequence<int, D...>) {
    return out(t.data(), names(t.extent(D))...);
  }(std::make_integer_sequence<int, Rank>{});
}

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/dim.ipp"
#endif
