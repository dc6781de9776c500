// Functions that compute stages, for tests of extern stages and for the fuzzer.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "weft/expr/extern.hpp"

namespace weft_test {

/// y[.., j] = x[.., 0] + .. + x[.., j], where integers wrap; of floats and bool, whose bits must stay what they are, a copy.
template <class T, int Rank>
int running(weft::extern_view<T const, Rank> x, weft::extern_view<T, Rank> y) noexcept {
  constexpr auto rank = static_cast<std::size_t>(Rank);
  std::int64_t index[rank] = {}, count = 1;
  for (std::size_t d = 0; d < rank; ++d)
    if (x.extents[d] != y.extents[d]) return 1;  // a program that was made smaller
  for (std::int64_t e : x.extents) count *= e;
  std::uint64_t sum = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t from = 0, to = 0;
    for (std::size_t d = 0; d < rank; ++d) from += index[d] * x.strides[d], to += index[d] * y.strides[d];
    if (index[rank - 1] == 0) sum = 0;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      sum += static_cast<std::uint64_t>(x.data[from]);
      y.data[to] = static_cast<T>(sum);
    } else {
      y.data[to] = x.data[from];
    }
    for (std::size_t d = rank; d-- > 0;) {
      if (++index[d] < x.extents[d]) break;
      index[d] = 0;
    }
  }
  return 0;
}
/// The function for this type and rank, 1 to 3, by the name `running_f32_2` or the like.
inline weft::extern_function const& running_function(weft::dtype type, int rank) {
  return weft::with_dtype(type, [&]<class T>(T) -> weft::extern_function const& {
    static std::string const names[] = {"running_" + std::string(weft::name(weft::dtype_of<T>)) + "_1",
                                        "running_" + std::string(weft::name(weft::dtype_of<T>)) + "_2",
                                        "running_" + std::string(weft::name(weft::dtype_of<T>)) + "_3"};
    auto const named = []<int Rank>(std::integral_constant<int, Rank>, std::string const& name) {
      constexpr int (*function)(weft::extern_view<T const, Rank>, weft::extern_view<T, Rank>) noexcept = &running<T, Rank>;
      return weft::detail::extern_signature<std::remove_const_t<decltype(function)>>::template named<function>(name);
    };
    static weft::extern_function const all[] = {named(std::integral_constant<int, 1>(), names[0]),
                                                named(std::integral_constant<int, 2>(), names[1]),
                                                named(std::integral_constant<int, 3>(), names[2])};
    return all[rank - 1];
  });
}

/// Running sums of the rows, or 7 where there are 13 rows.
inline int row_sums_so_far(weft::extern_view<float const, 2> x, weft::extern_view<float, 2> y) noexcept {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < x.extent(1); ++j) y(i, j) = sum += x(i, j);
  }
  return x.extent(0) == 13 ? 7 : 0;
}

}  // namespace weft_test
