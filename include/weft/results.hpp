// Several results of one what-lambda, and how a call's are taken apart:
//
//     auto [mean, deviation] = moments(x);
#pragma once

#include <boost/hana/tuple.hpp>

#include "weft/runtime/tensor.hpp"

namespace weft::inline WEFT_ABI {

/// Several results of a what-lambda: `return weft::outputs(mean, deviation);`
template <class... Tensor>
constexpr auto outputs(Tensor const&... t) {
  return boost::hana::tuple<Tensor...>{t...};
}

namespace detail {
/// What a call, or direct evaluation, returns for one of them.
template <class T>
inline constexpr bool is_result = false;
template <class T, int Rank>
inline constexpr bool is_result<tensor<T, Rank>> = true;
}  // namespace detail

/// One of the results that a call returned together; `auto [mean, deviation] = moments(x);` takes all of them.
template <std::size_t I, class... T>
  requires(sizeof...(T) > 0 && (detail::is_result<T> && ...))
constexpr auto& get(boost::hana::tuple<T...>& results) {
  return boost::hana::at_c<I>(results);
}
/// To be read.
template <std::size_t I, class... T>
  requires(sizeof...(T) > 0 && (detail::is_result<T> && ...))
constexpr auto const& get(boost::hana::tuple<T...> const& results) {
  return boost::hana::at_c<I>(results);
}
/// Taken out of it.
template <std::size_t I, class... T>
  requires(sizeof...(T) > 0 && (detail::is_result<T> && ...))
constexpr auto&& get(boost::hana::tuple<T...>&& results) {
  return boost::hana::at_c<I>(static_cast<boost::hana::tuple<T...>&&>(results));
}

}  // namespace weft::inline WEFT_ABI

/// @cond  doxygen does not find std
template <class... T>
  requires(sizeof...(T) > 0 && (weft::detail::is_result<T> && ...))
struct std::tuple_size<boost::hana::tuple<T...>> : std::integral_constant<std::size_t, sizeof...(T)> {};
template <std::size_t I, class... T>
  requires(sizeof...(T) > 0 && (weft::detail::is_result<T> && ...))
struct std::tuple_element<I, boost::hana::tuple<T...>> {
  using type = std::remove_cvref_t<decltype(weft::get<I>(std::declval<boost::hana::tuple<T...>&>()))>;
};
/// @endcond
