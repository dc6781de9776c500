// What a what-lambda sees: expression objects whose types hold dtype and rank, over the untyped program.
//
//   expr::tensor<T, Rank>   an input or a stage; call it with Rank indices to read an element
//   value<T>          a number computed per element       axis_index   a loop variable, or arithmetic on them
//   extent            the size of a dimension             reduction<T> what sum, min and max return
//
// Every operator appends a node to the program that its operands belong to. An axis whose extents are all
// literals belongs to no program yet: it lives in a scratch program on the stack of `compute` or `sum`, which
// is copied into the real one when the two first meet.
#pragma once

#include <array>
#include <concepts>
#include <type_traits>
#include <utility>

#include "weft/base/sequence.hpp"
#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

struct term {
  program* p = nullptr;
  int id = -1;
  /// Asked for by `if`, `?:`, `&&`: refused in words. A template, so that only its use is an error.
  template <std::same_as<bool> T>
  constexpr explicit operator T() const {
    static_assert(!std::same_as<T, bool>,
                  "weft: no size and no element has a value while a kernel is being described, so nothing can be "
                  "decided by it here; use weft::select(condition, a, b)");
    return false;
  }
};
template <element T>
struct value : term {
  using element_type = T;
};
struct axis_index : term {
  using element_type = std::int64_t;
};
struct extent : term {
  using element_type = std::int64_t;
};
/// A whole reduction. It has no operators on purpose: a reduction is a stage's entire body, what follows it
/// is the next stage, and whether the two run together is the schedule's business.
template <element T, int Axes>
struct reduction : term {
  using element_type = T;
  static constexpr int axes = Axes;
  int first_axis = 0;
  std::int64_t identity = 0;
};

namespace detail {

constexpr bool is_scratch(program const& p) { return p.tensors.empty() && p.inputs.empty(); }

/// The number that axis 0 of the scratch program `from` has in `to`; its axes are added there when first asked.
constexpr int axis_base(program& from, program& to) {
  if (from.moved_to != nullptr && from.moved_to != &to) return axis_base(*from.moved_to, to) + from.moved_axis;
  if (from.moved_to == nullptr) {
    from.moved_to = &to;
    from.moved_axis = static_cast<std::int32_t>(to.axes.size());
    if (is_scratch(to)) {
      from.next_guest = to.guests;
      to.guests = &from;
    }
    for (axis_info const& a : from.axes)
      to.add_axis(to.literal(dtype::i64, from.at(a.extent).value), a.stage, a.reduced);
  }
  return from.moved_axis;
}
/// Copies a node of a scratch program, and the axes it stands on, into the program `to`.
constexpr int import_node(program& to, program& from, int id) {
  node n = from.at(id);
  if (n.kind == op::axis)
    n.a += axis_base(from, to);
  else if (arity(n.kind) > 0) {
    n.a = import_node(to, from, n.a);
    if (n.b >= 0) n.b = import_node(to, from, n.b);
    if (n.c >= 0) n.c = import_node(to, from, n.c);
  }
  return to.add(n);
}
/// Before a scratch program ends: those that were copied into it live longer when they are of an outer
/// `compute`, and go on to where it went.
constexpr void leave(program& scratch) {
  program* const to = scratch.moved_to;
  if (to == nullptr) return;
  if (is_scratch(*to)) {
    program** link = &to->guests;
    while (*link != &scratch) link = &(*link)->next_guest;
    *link = scratch.next_guest;
  }
  while (scratch.guests != nullptr) {
    program& guest = *scratch.guests;
    scratch.guests = guest.next_guest;
    guest.moved_to = to;
    guest.moved_axis += scratch.moved_axis;
    guest.next_guest = nullptr;
    if (!is_scratch(*to)) continue;
    guest.next_guest = to->guests;
    to->guests = &guest;
  }
}

/// The node of `t` in the program `to`.
constexpr int in(program& to, term t) {
  return t.p == &to ? t.id : import_node(to, *t.p, t.id);
}
/// Where the program of a term is now: a scratch program may have been copied into another one since.
constexpr program* home_of(program* p) {
  while (p != nullptr && p->moved_to != nullptr) p = p->moved_to;
  return p;
}
/// The program in which operands meet: the real one, if any of them has it.
constexpr program* meet(program* a, program* b) {
  a = home_of(a);
  b = home_of(b);
  if (a == nullptr) return b;
  if (b == nullptr || a == b) return a;
  return is_scratch(*a) ? b : a;
}

template <class T>
concept plain_number = std::is_arithmetic_v<T>;
template <class T>
concept expression = std::derived_from<T, term> && requires { typename T::element_type; };
template <class T>
struct is_reduction : std::false_type {};
template <class T, int N>
struct is_reduction<reduction<T, N>> : std::true_type {};
template <class T>
concept operand = (expression<T> && !is_reduction<T>::value) || plain_number<T>;
template <class T>
concept index_like = std::same_as<T, axis_index> || std::same_as<T, extent>;
template <class T>
concept index_operand = index_like<T> || std::integral<T>;

// Plain numbers are weak: they take the type of what they meet.
template <class T>
struct element_of {
  using type = T;
};
template <expression T>
struct element_of<T> {
  using type = typename T::element_type;
};
template <class T>
using element_of_t = typename element_of<T>::type;
template <dtype>
struct element_type_of;
// clang-format off
template <> struct element_type_of<dtype::boolean> { using type = bool; };
template <> struct element_type_of<dtype::u8> { using type = std::uint8_t; };
template <> struct element_type_of<dtype::i32> { using type = std::int32_t; };
template <> struct element_type_of<dtype::i64> { using type = std::int64_t; };
template <> struct element_type_of<dtype::f32> { using type = float; };
template <> struct element_type_of<dtype::f64> { using type = double; };
// clang-format on

template <class A, class B>
struct common {
  using type = typename element_type_of<promote(dtype_of<element_of_t<A>>, dtype_of<element_of_t<B>>)>::type;
};
template <class Number, class T>
constexpr void check_weak() {
  static_assert(!(std::is_floating_point_v<Number> && !std::is_floating_point_v<T>),
                "weft: a number with a fraction meets an integer tensor; cast the tensor first, for example "
                "weft::cast<float>(A(i)) * 0.5f");
}
template <plain_number A, expression B>
struct common<A, B> {
  using type = element_of_t<B>;
};
template <expression A, plain_number B>
struct common<A, B> {
  using type = element_of_t<A>;
};
template <class A, class B>
using common_t = typename common<A, B>::type;

template <class A, class B>
struct select_type : common<A, B> {};
template <plain_number A, plain_number B>
struct select_type<A, B> {
  static_assert(std::same_as<A, B>, "weft: select between two plain numbers of different types");
  using type = A;
};
template <class A, class B>
using select_t = typename select_type<A, B>::type;

template <class A>
constexpr program* program_of(A const& a) {
  if constexpr (expression<A>)
    return a.p;
  else
    return nullptr;
}
/// The node of `a`, converted to element type T, in program `p`.
template <class T, class A>
constexpr int node_as(program& p, A const& a) {
  static_assert(!is_reduction<A>::value,
                "weft: a reduction is the whole body of a stage; what is done with it is the next stage: "
                "auto S = weft::compute<\"S\">(...), then weft::compute<\"T\">(..., S(i) + 1)");
  if constexpr (plain_number<A>) {
    check_weak<A, T>();
    return p.literal(dtype_of<T>, to_bits(static_cast<T>(a)));
  } else {
    int const id = in(p, a);
    constexpr dtype from = dtype_of<element_of_t<A>>, to = dtype_of<T>;
    return from == to ? id : p.operation(op::cast, to, id);
  }
}
template <class T, class Result, class A, class B>
constexpr Result binary(op o, A const& a, B const& b) {
  program* p = meet(program_of(a), program_of(b));
  int const x = node_as<T>(*p, a), y = node_as<T>(*p, b);
  return Result{{p, p->operation(o, dtype_of<typename Result::element_type>, x, y)}};
}
// Arithmetic on extents is an extent, with an axis in it an index, with a tensor's element in it a value.
template <class A, class B>
using index_result = std::conditional_t<std::same_as<A, axis_index> || std::same_as<B, axis_index>, axis_index, extent>;
template <class A, class B>
concept index_pair = index_operand<A> && index_operand<B> && (index_like<A> || index_like<B>);
template <class A, class B>
concept value_pair = operand<A> && operand<B> && (expression<A> || expression<B>) && !index_pair<A, B>;
// Let in to be refused in words by node_as.
template <class A, class B>
concept with_a_reduction =
    (is_reduction<A>::value && (expression<B> || plain_number<B>)) || (is_reduction<B>::value && operand<A>);

template <op O, op IndexO, class A, class B>
constexpr auto arithmetic(A const& a, B const& b) {
  if constexpr (index_pair<A, B>) {
    return binary<std::int64_t, index_result<A, B>>(IndexO, a, b);
  } else {
    using T = common_t<A, B>;
    static_assert(O == op::min || O == op::max || !std::is_same_v<T, bool>,
                  "weft: arithmetic on two conditions; use && and ||, or cast one first, for example "
                  "weft::cast<int>(a) + b");
    static_assert(O != op::rem || std::is_integral_v<T>, "weft: % needs integers; cast the operands first");
    return binary<T, value<T>>(O, a, b);
  }
}
template <class A, class B>
concept meets = index_pair<A, B> || value_pair<A, B> || with_a_reduction<A, B>;

}  // namespace detail

// clang-format off
template <class A, class B> requires detail::meets<A, B>
constexpr auto operator+(A const& a, B const& b) { return detail::arithmetic<op::add, op::add>(a, b); }
template <class A, class B> requires detail::meets<A, B>
constexpr auto operator-(A const& a, B const& b) { return detail::arithmetic<op::sub, op::sub>(a, b); }
template <class A, class B> requires detail::meets<A, B>
constexpr auto operator*(A const& a, B const& b) { return detail::arithmetic<op::mul, op::mul>(a, b); }
/// On integers truncates towards zero, as in C++; on indices and extents rounds down. x / 0 is 0.
template <class A, class B> requires detail::meets<A, B>
constexpr auto operator/(A const& a, B const& b) { return detail::arithmetic<op::div, op::floor_div>(a, b); }
/// The remainder that belongs to `/`: of the sign of `a` on integers, never negative on indices.
template <class A, class B> requires detail::meets<A, B>
constexpr auto operator%(A const& a, B const& b) { return detail::arithmetic<op::rem, op::floor_mod>(a, b); }
/// `a < b ? a : b`; a NaN in either gives `b`.
template <class A, class B> requires detail::meets<A, B>
constexpr auto min(A const& a, B const& b) { return detail::arithmetic<op::min, op::min>(a, b); }
/// `a > b ? a : b`; a NaN in either gives `b`.
template <class A, class B> requires detail::meets<A, B>
constexpr auto max(A const& a, B const& b) { return detail::arithmetic<op::max, op::max>(a, b); }
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator<(A const& a, B const& b) { return detail::binary<detail::common_t<A, B>, value<bool>>(op::lt, a, b); }
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator<=(A const& a, B const& b) { return detail::binary<detail::common_t<A, B>, value<bool>>(op::le, a, b); }
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator>(A const& a, B const& b) { return b < a; }
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator>=(A const& a, B const& b) { return b <= a; }
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator==(A const& a, B const& b) { return detail::binary<detail::common_t<A, B>, value<bool>>(op::eq, a, b); }
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator!=(A const& a, B const& b) { return detail::binary<detail::common_t<A, B>, value<bool>>(op::ne, a, b); }
constexpr value<bool> operator&&(value<bool> a, value<bool> b) { return detail::binary<bool, value<bool>>(op::logical_and, a, b); }
constexpr value<bool> operator||(value<bool> a, value<bool> b) { return detail::binary<bool, value<bool>>(op::logical_or, a, b); }
constexpr value<bool> operator!(value<bool> a) { return {{a.p, a.p->operation(op::logical_not, dtype::boolean, a.id)}}; }
template <element T>
constexpr value<T> operator-(value<T> a) { return {{a.p, a.p->operation(op::neg, dtype_of<T>, a.id)}}; }
constexpr axis_index operator-(axis_index a) { return {{a.p, a.p->operation(op::neg, dtype::i64, a.id)}}; }
// clang-format on

/// `low` if x < low, `high` if x > high, else x. On indices this is the border that repeats the edge:
/// `A(clamp(i - 1, 0, n - 1))`.
template <class X, class L, class H>
  requires detail::meets<X, L> && detail::meets<X, H>
constexpr auto clamp(X const& x, L const& low, H const& high) {
  return min(max(x, low), high);
}

/// `condition ? a : b`. Only the branch taken reads its tensors, so a condition can guard an access:
/// `select(i > 0, A(i - 1), 0.f)`.
template <class A, class B>
  requires detail::meets<A, B> || (detail::plain_number<A> && detail::plain_number<B>)
constexpr auto select(value<bool> condition, A const& a, B const& b) {
  program* p = detail::meet(condition.p, detail::meet(detail::program_of(a), detail::program_of(b)));
  if constexpr (detail::index_pair<A, B>) {
    using R = detail::index_result<A, B>;
    int const c = detail::in(*p, condition);
    int const x = detail::node_as<std::int64_t>(*p, a), y = detail::node_as<std::int64_t>(*p, b);
    return R{{p, p->operation(op::select, dtype::i64, c, x, y)}};
  } else {
    using T = detail::select_t<A, B>;
    int const c = detail::in(*p, condition);
    int const x = detail::node_as<T>(*p, a), y = detail::node_as<T>(*p, b);
    return value<T>{{p, p->operation(op::select, dtype_of<T>, c, x, y)}};
  }
}

/// `x` as a number of type To: float to integer truncates and saturates, NaN gives 0.
template <element To, detail::expression X>
  requires detail::operand<X>
constexpr value<To> cast(X const& x) {
  if constexpr (std::is_same_v<To, typename X::element_type>) return {{x.p, x.id}};
  return {{x.p, x.p->operation(op::cast, dtype_of<To>, x.id)}};
}

namespace expr {
/// An input of the kernel, or the result of an earlier stage. (weft::tensor is the one that owns memory.)
template <element T, int Rank>
struct tensor {
  program* p = nullptr;
  int id = -1;

  /// The size of dimension `d`, usable in `compute`, `sum` and index arithmetic. It is not a number: its
  /// value may be known only at the call, so it does not convert to bool or int.
  constexpr weft::extent extent(int d) const { return {{p, p->extent_of(id, d)}}; }
  static constexpr int rank() { return Rank; }

  /// The element at these indices.
  template <class... Index>
  constexpr value<T> operator()(Index const&... index) const& {
    static_assert(sizeof...(Index) == Rank, "weft: this tensor has another rank: give one index per dimension");
    static_assert((detail::index_operand<Index> && ...),
                  "weft: an index is an axis, an extent, an integer, or arithmetic on them");
    // Each index is made before the load, left to right, so that numbering does not hang on the compiler.
    int const indices[] = {detail::node_as<std::int64_t>(*p, index)..., 0};
    std::array<int, sizeof...(Index)> ids{};
    for (std::size_t d = 0; d < ids.size(); ++d) ids[d] = indices[d];
    return {{p, p->load(id, ids)}};
  }
  /// Two stages made inside one expression would be numbered as the compiler pleases.
  template <class... Index>
  constexpr value<T> operator()(Index const&...) const&& {
    static_assert(sizeof...(Index) > 99,
                  "weft: a stage needs a name before it is read: auto B = weft::compute<\"B\">(...); then B(i)");
    return {};
  }
};
}  // namespace expr

// The one call that is not constexpr: its name is what the compiler prints.
[[noreturn]] inline void a_body_that_names_no_input_has_no_program__start_from_an_extent_of_an_input() {
  WEFT_THROW(argument_error("weft: this compute or sum has only literal extents and its body reads no input, so it "
                            "belongs to no program; write an extent of an input (A.extent(0)) for one of them"));
}

namespace detail {
template <class E>
constexpr int extent_node(program& p, E const& e) {
  static_assert(std::same_as<E, extent> || std::integral<E>,
                "weft: an extent is a size of a tensor (A.extent(0)), an integer, or arithmetic on them");
  return node_as<std::int64_t>(p, e);
}
template <class First, class... Rest>
constexpr program* first_program(First const& first, Rest const&... rest) {
  if (program* p = program_of(first)) return p;
  if constexpr (sizeof...(Rest) > 0) return first_program(rest...);
  return nullptr;
}
template <class First, class... Rest>
constexpr auto const& last_of(First const& first, Rest const&... rest) {
  if constexpr (sizeof...(Rest) == 0)
    return first;
  else
    return last_of(rest...);
}
template <std::size_t I, std::size_t Count, class A>
constexpr int extent_or_body(program& p, A const& a) {
  if constexpr (I < Count)
    return extent_node(p, a);
  else
    return -1;
}

/// Axes for `extents..., body`, and the body run on them, in the program where all of it ended up.
template <class T>
struct traced_body {
  T result;
  int first_axis;
  int extents[8];
};
template <bool Reduced, class... A>
constexpr auto trace_body(A const&... a) {
  constexpr std::size_t count = sizeof...(A) - 1;
  static_assert(count >= 1 && count <= 8, "weft: one to eight extents, then the lambda");
  return [&]<std::size_t... I, std::size_t... All>(std::index_sequence<I...>, std::index_sequence<All...>) {
    program scratch;
    program* home = first_program(a...);
    program* p = home != nullptr ? home : &scratch;
    int ids[] = {extent_or_body<All, count>(*p, a)...};
    int first = static_cast<int>(p->axes.size());
    for (std::size_t d = 0; d < count; ++d) p->add_axis(ids[d], -1, Reduced);
    int const nodes[] = {p->axis_node(first + static_cast<int>(I))...};
    auto result = last_of(a...)(axis_index{{p, nodes[I]}}...);
    using R = decltype(result);
    static_assert(expression<R>, "weft: the lambda given to compute or to a reduction returns a value");
    if (program* now = home_of(result.p); now != result.p) {
      result.id = in(*now, result);
      result.p = now;
    }
    if (result.p == &scratch) a_body_that_names_no_input_has_no_program__start_from_an_extent_of_an_input();
    if (result.p != p) {
      first = axis_base(*p, *result.p);
      for (std::size_t d = 0; d < count; ++d) ids[d] = result.p->literal(dtype::i64, p->at(ids[d]).value);
    }
    traced_body<R> t{result, first, {}};
    for (std::size_t d = 0; d < count; ++d) t.extents[d] = ids[d];
    leave(scratch);
    return t;
  }
  (std::make_index_sequence<count>{}, std::make_index_sequence<count + 1>{});
}

template <op Combine, class T>
constexpr std::int64_t identity_of() {
  if constexpr (Combine == op::add) {
    return 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    T const infinite = static_cast<T>(__builtin_inf());
    return to_bits(Combine == op::max ? -infinite : infinite);
  } else if constexpr (std::is_same_v<T, bool>) {
    return Combine == op::min;
  } else {
    return to_bits(cast_element<T>(Combine == op::max ? -1e30 : 1e30));  // saturates to the type's limit
  }
}
template <op Combine, class... A>
constexpr auto reduce(A const&... a) {
  auto const t = trace_body<true>(a...);
  using V = std::remove_cvref_t<decltype(t.result)>;
  static_assert(!is_reduction<V>::value,
                "weft: a reduction inside a reduction; give all axes to one: weft::sum(M, N, [=](auto i, auto j) ...)");
  using T = typename V::element_type;
  static_assert(Combine != op::add || !std::is_same_v<T, bool>,
                "weft: a sum of conditions; to count them, cast to an integer: weft::cast<int>(...)");
  program& p = *t.result.p;
  int const self = p.add({op::self, dtype_of<T>});
  int const update = p.operation(Combine, dtype_of<T>, self, t.result.id);
  return reduction<T, static_cast<int>(sizeof...(A)) - 1>{{&p, update}, t.first_axis, identity_of<Combine, T>()};
}
template <class... A>
concept extents_then_body = sizeof...(A) >= 2 && !operand<std::remove_cvref_t<decltype(last_of(std::declval<A>()...))>>;
}  // namespace detail

/// `sum(K, [=](auto k) { return A(i, k) * B(k, j); })`: the sum over one or more axes, from 0, the last axis
/// fastest. A sum of integers wraps.
template <class... A>
  requires detail::extents_then_body<A...>
constexpr auto sum(A const&... extents_and_body) {
  return detail::reduce<op::add>(extents_and_body...);
}
/// The largest; of no elements: minus infinity, or the lowest integer.
template <class... A>
  requires detail::extents_then_body<A...>
constexpr auto max(A const&... extents_and_body) {
  return detail::reduce<op::max>(extents_and_body...);
}
/// The smallest; of no elements: infinity, or the highest integer.
template <class... A>
  requires detail::extents_then_body<A...>
constexpr auto min(A const&... extents_and_body) {
  return detail::reduce<op::min>(extents_and_body...);
}

/// A stage: `compute<"C">(M, N, [=](auto i, auto j) { return ...; })` defines C(i, j) for all i < M, j < N.
template <fixed_string Name, class... A>
constexpr auto compute(A const&... extents_and_body) {
  static_assert(sizeof...(A) >= 2, "weft: compute takes its extents, then a lambda");
  constexpr int rank = static_cast<int>(sizeof...(A)) - 1;
  auto const t = detail::trace_body<false>(extents_and_body...);
  using V = std::remove_cvref_t<decltype(t.result)>;
  using T = typename V::element_type;
  program& p = *t.result.p;
  stage_info s{-1, t.first_axis, rank, 0, 0, t.result.id, 0};
  if constexpr (detail::is_reduction<V>::value) {
    s.first_reduced = t.result.first_axis;
    s.reduced = V::axes;
    s.identity = t.result.identity;
  }
  sequence<std::int32_t> const shape(t.extents, t.extents + rank);
  return expr::tensor<T, rank>{&p, p.add_stage(short_name(Name.view()), s, dtype_of<T>, shape)};
}

}  // namespace weft::inline WEFT_ABI
