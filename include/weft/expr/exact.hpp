// What no operator of the language makes: single operations as a program has them, for texts of programs (print_what.hpp)
// and for tests. A kernel of one's own needs none of it.
#pragma once

#include "weft/expr/compute.hpp"

namespace weft::inline WEFT_ABI {

/// Functions that append to the program just what they are told: nothing widens, and a reduction's values so far are at hand.
namespace exact {

/// A number, which takes no type from what it meets; `of`: a tensor or value of the program that it belongs to.
///
///     weft::exact::literal<std::uint8_t>(A, 3)
template <element T, class Owner>
constexpr value<element_t<dtype_of<T>>> literal(Owner const& of, T number) {
  program* const p = detail::home_of(of.p);
  return {{p, p->literal(dtype_of<T>, to_bits(number))}};
}

/// One operation with a result of type T, its operands as they are: u8 plus u8 is u8 here.
///
///     weft::exact::operation<weft::op::add, std::uint8_t>(A(i), B(i))
///
/// Needs   operands of the types that verify.hpp asks for
/// Errors  argument_error of the call whose program is not well formed
template <op O, element T, detail::expression... X>
constexpr value<element_t<dtype_of<T>>> operation(X const&... x) {
  static_assert(static_cast<int>(sizeof...(X)) == arity(O), "weft: the operation takes another number of operands");
  program* p = nullptr;
  ((p = detail::meet(p, x.p)), ...);
  int const ids[] = {detail::in(*p, x)...};
  int const count = static_cast<int>(sizeof...(X));
  return {{p, p->operation(O, dtype_of<T>, ids[0], count > 1 ? ids[1 % count] : -1, count > 2 ? ids[2 % count] : -1)}};
}

/// A reduction whose body has the values so far itself: `body(before, k..)` returns weft::values of what they become, from
/// the numbers `identity`. Where it returns twice as many, the second half is what two parts become (see any_order): of the
/// second part `before` holds the values behind those of the first.
///
///     weft::exact::reduction(weft::values(0.f), [=](auto before, auto k) { return weft::values(weft::get<0>(before) * 2 + A(k)); },
///                            A.extent(0))
template <class... Number, class Body, class... Extent>
constexpr auto reduction(several<Number...> const& identity, Body const& body, Extent const&... extents) {
  constexpr std::size_t count = sizeof...(Number);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const t = detail::trace_body<true>(extents..., [&](auto first, auto... rest) {
      program& p = *first.p;
      auto const self = [&]<class T>(std::type_identity<T>, std::size_t number) {
        return value<element_t<dtype_of<T>>>{{&p, p.add({op::self, dtype_of<T>, static_cast<std::int32_t>(number)})}};
      };
      auto const before = values(self(std::type_identity<Number>{}, I)..., self(std::type_identity<Number>{}, I + count)...);
      return detail::as_values(body(before, first, rest...));
    });
    using made = std::remove_cvref_t<decltype(t.result)>;
    using once = several<value<element_t<dtype_of<Number>>>...>;
    using twice = several<value<element_t<dtype_of<Number>>>..., value<element_t<dtype_of<Number>>>...>;
    constexpr bool merges = std::same_as<made, twice>;
    static_assert(merges || std::same_as<made, once>, "weft: the body of an exact reduction returns values of the types of its identities");
    reduction_of_several<static_cast<int>(sizeof...(Extent)), element_t<dtype_of<Number>>...> r{t.p, t.first_axis, {}};
    ((r.results[I] = {get<I>(t.result).id, to_bits(get<I>(identity)), -1}), ...);
    if constexpr (merges) ((r.results[I].merged = get<I + count>(t.result).id), ...);
    return r;
  }(std::index_sequence_for<Number...>{});
}

/// A stage of one element, which has no axes: `weft::exact::stage<"S">([=] { return A(0) + A(1); })`.
template <fixed_string... Name, class Body>
constexpr auto stage(Body const& body) {
  return detail::stage(std::array{short_name(Name.view())...}, body);
}

}  // namespace exact
}  // namespace weft::inline WEFT_ABI
