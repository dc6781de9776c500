// Bodies: what the lambda of a stage or of a reduction may return, and running it once, on axes of its own.
//
//   values(x, y)                      several numbers at once
//   where(condition, x)               in a reduction's body: only elements for which the condition holds take part
//   up_to(t) before(t) from(t) after(t)    in the place of an extent: of the elements up to axis t of the stage, ..
#pragma once

#include "weft/expr/face.hpp"

namespace weft::inline WEFT_ABI {

/// Several values at once: what a body returns that computes more than one number. Taken apart by a structured
/// binding or by `get`.
template <class... V>
struct several;
template <>
struct several<> {};
/// The first value and the others.
template <class First, class... Rest>
struct several<First, Rest...> {
  First first;
  several<Rest...> rest;
};
/// The value number I.
template <std::size_t I, class First, class... Rest>
constexpr auto get(several<First, Rest...> const& v) {
  if constexpr (I == 0) return v.first;
  else return get<I - 1>(v.rest);
}

/// `return weft::values(sine, cosine);` in a body of two results; also the identity of such a reduction.
constexpr several<> values() { return {}; }
/// As many values as a stage or a reduction has results.
template <class First, class... Rest>
constexpr several<First, Rest...> values(First const& first, Rest const&... rest) {
  return {first, values(rest...)};
}

/// What `where` returns.
template <class V>
struct conditional {
  value<bool> condition;
  V x;
};
/// In the body of a reduction: `x` takes part where `condition` holds; elsewhere its tensors are not read.
///
///     weft::sum(K, [=](auto k) { return weft::where(A(k) > 0, A(k)); })
template <class V>
constexpr conditional<V> where(value<bool> condition, V const& x) {
  return {condition, x};
}

/// A reduction that keeps several values; see `reduction`. With fewer names than values in `compute`, the others stay
/// inside the stage.
template <int Axes, element... T>
struct reduction_of_several {
  static constexpr int axes = Axes;
  program* p = nullptr;
  int first_axis = 0;
  result_info results[sizeof...(T)] = {};
};

/// The elements along axis `t` of the stage that a scan's element is made of; what up_to, before, from and after return.
struct prefix {
  axis_index t;
  bool backwards = false, exclusive = false;
};
/// In the place of a reduction's extent: k <= t, where `t` is an axis of the stage. The stage is then a scan: walked in the
/// order of t, it makes each element from the one before.
///
///     auto c = weft::compute<"c">(M, T, [=](auto i, auto t) {              // running sums of each row
///       return weft::sum(weft::up_to(t), [=](auto k) { return A(i, k); });
///     });
///
/// So does every reduction, of one axis.
///
/// Errors  argument_error, or a compile error, when `t` is no axis of the stage, or stands in the body itself
/// Cost    one step per element, where a sum over k < t + 1 by `where` would take t
constexpr prefix up_to(axis_index t) { return {t}; }
/// k < t: without the element itself. The first one is the identity.
constexpr prefix before(axis_index t) { return {t, false, true}; }
/// k >= t: from the end.
constexpr prefix from(axis_index t) { return {t, true, false}; }
/// k > t.
constexpr prefix after(axis_index t) { return {t, true, true}; }
/// What a reduction over such a prefix, and `scan`, return: the body of a stage.
template <element... T>
struct scan_body {
  program* p = nullptr;
  int along = -1;  // the node of the axis
  bool backwards = false;
  result_info results[sizeof...(T)] = {};
};

// Calls that are not constexpr: their names are what the compiler prints.
/// What a call ends in whose scan is along something else.
///
/// Errors  argument_error
[[noreturn]] inline void a_scan_is_along_an_axis_of_its_own_stage() {
  WEFT_THROW(argument_error("weft: up_to, before, from and after take an axis of the stage that the scan is the body of, as "
                            "compute has given it to its lambda"));
}
/// What a call ends in whose reduction up to an axis uses that axis.
///
/// Errors  argument_error
[[noreturn]] inline void an_element_of_a_scan_hangs_on_the_axis_itself__use_its_own_index() {
  WEFT_THROW(argument_error("weft: the body of a reduction up to an axis t uses t itself, so that no element follows from the "
                            "one before; use the index that the body is given, and t in the next stage"));
}
/// What a call ends in whose recurrence leaves its own element out.
///
/// Errors  argument_error
[[noreturn]] inline void a_scan_by_steps_is_up_to_an_axis_or_from_it() {
  WEFT_THROW(argument_error("weft: scan takes up_to(t) or from(t): what the step leaves out is for the step to say"));
}
/// What a call ends in whose stage has no program to belong to.
///
/// Errors  argument_error
[[noreturn]] inline void a_body_that_names_no_input_has_no_program__start_from_an_extent_of_an_input() {
  WEFT_THROW(argument_error("weft: this compute or sum has only literal extents and its body reads no input, so it "
                            "belongs to no program; write an extent of an input (A.extent(0)) for one of them"));
}

namespace detail {
template <class>
struct is_several : std::false_type {};
template <class... V>
struct is_several<several<V...>> : std::true_type {};
template <class>
struct is_conditional : std::false_type {};
template <class V>
struct is_conditional<conditional<V>> : std::true_type {};
template <class>
struct is_reduction_of_several : std::false_type {};
template <int Axes, class... T>
struct is_reduction_of_several<reduction_of_several<Axes, T...>> : std::true_type {};
template <class>
inline constexpr bool is_scan = false;
template <class... T>
inline constexpr bool is_scan<scan_body<T...>> = true;

/// Calls `f` with every term in what a body returned.
template <class R, class F>
constexpr void each_term(R& r, F const& f) {
  if constexpr (expression<R>) {
    f(r);
  } else if constexpr (is_conditional<R>::value) {
    f(r.condition);
    each_term(r.x, f);
  } else if constexpr (is_reduction_of_several<R>::value || is_scan<R>) {
    auto const each = [&](std::int32_t& id) {
      if (id < 0) return;
      term t{r.p, id};
      f(t);
      id = t.id;
    };
    for (result_info& one : r.results) each(one.body), each(one.merged);
    if constexpr (is_scan<R>) each(r.along);
    r.p = home_of(r.p);
  } else if constexpr (requires { r.rest; }) {
    each_term(r.first, f);
    each_term(r.rest, f);
  } else {
    static_assert(is_several<R>::value, "weft: weft::values holds values, indices and the like");
  }
}

/// What a body may return; a compute takes a reduction, too.
template <class R>
inline constexpr bool is_body_result = expression<R> || is_conditional<R>::value || is_reduction_of_several<R>::value || is_scan<R> || is_several<R>::value;

[[noreturn]] inline void an_extent_is_made_of_sizes_and_integers() {
  WEFT_THROW(argument_error("weft: an extent hangs on an axis, an element or a number of the call; it is a size of a tensor "
                            "(A.extent(0)), an integer, or arithmetic on them; let the body leave out what is not wanted, by "
                            "weft::where or select"));
}
constexpr bool is_of_sizes(program const& p, int id) {
  node const& n = p.at(id);
  if (arity(n.kind) == 0) return n.kind == op::extent || n.kind == op::literal;
  return is_of_sizes(p, n.a) && (n.b < 0 || is_of_sizes(p, n.b)) && (n.c < 0 || is_of_sizes(p, n.c));
}
template <class E>
constexpr int extent_node(program& p, E const& e) {
  static_assert(std::same_as<E, extent> || std::integral<E>,
                "weft: an extent is a size of a tensor (A.extent(0)), an integer, or arithmetic on them");
  int const id = node_as<std::int64_t>(p, e);
  if (!is_of_sizes(p, id)) an_extent_is_made_of_sizes_and_integers();
  return id;
}
/// Of a prefix, that of the axis.
constexpr int extent_node(program& p, prefix const& x) {
  node const t = p.at(in(p, x.t));
  if (t.kind != op::axis) a_scan_is_along_an_axis_of_its_own_stage();
  return program::at(p.axes, t.a).extent;
}
/// How far in front of the scan's own step the element stands that is new there.
template <class A>
constexpr int shift_of(A const& a) {
  if constexpr (std::same_as<A, prefix>) return !a.exclusive ? 0 : a.backwards ? 1 : -1;
  else return 0;
}
template <class A>
constexpr bool runs_backwards(A const& a) {
  if constexpr (std::same_as<A, prefix>) return a.backwards;
  else return false;
}
template <class A>
constexpr int index_node(program& p, A const& a, int axis) {
  int const at = p.axis_node(axis), shift = shift_of(a);
  return shift == 0 ? at : p.operation(op::add, dtype::i64, at, p.literal(dtype::i64, shift));
}
template <std::size_t I, std::size_t Count, class A>
constexpr int index_or_none(program& p, A const& a, int first) {
  if constexpr (I < Count) return index_node(p, a, first + static_cast<int>(I));
  else return -1;
}
template <class First, class... Rest>
constexpr program* first_program(First const& first, Rest const&... rest) {
  if constexpr (std::same_as<First, prefix>) return home_of(first.t.p);
  else if (program* p = detail::program_of(first)) return p;
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

/// Axes for `extents..., body`, and the body run on them, in the program `p` where all of it ended up.
template <class R>
struct traced_body {
  program* p;
  R result;
  int first_axis;
  int extents[8];
};
template <bool Reduced, class... A>
constexpr auto trace_body(A const&... a) {
  constexpr std::size_t count = sizeof...(A) - 1;
  static_assert((count >= 1 || !Reduced) && count <= 8, "weft: one to eight extents, then the lambda");
  return [&]<std::size_t... I, std::size_t... All>(std::index_sequence<I...>, std::index_sequence<All...>) {
    program scratch;
    program* home = first_program(a...);
    program* p = home != nullptr ? home : &scratch;
    int ids[] = {extent_or_body<All, count>(*p, a)...};
    int first = static_cast<int>(p->axes.size());
    for (std::size_t d = 0; d < count; ++d) p->add_axis(ids[d], -1, Reduced);
    [[maybe_unused]] int const nodes[] = {index_or_none<All, count>(*p, a, first)...};
    auto result = last_of(a...)(axis_index{{p, nodes[I]}}...);
    // Here, where it is the first thing that a compiler says.
    static_assert(is_body_result<decltype(result)>,
                  "weft: the lambda given to compute or to a reduction must return an expression: a value, an index, a reduction, or "
                  "weft::values of several; a number is part of one, as in weft::cast<float>(0 * i) + 1.0f");
    program* now = nullptr;
    each_term(result, [&](auto& t) { now = meet(now, t.p); });
    each_term(result, [&](auto& t) {
      if (t.p == now) return;
      t.id = in(*now, t);
      t.p = now;
    });
    if (now == &scratch) a_body_that_names_no_input_has_no_program__start_from_an_extent_of_an_input();
    if (now != p) {
      first += axis_base(*p, *now);
      for (std::size_t d = 0; d < count; ++d) ids[d] = now->literal(dtype::i64, p->at(ids[d]).value);
    }
    traced_body<decltype(result)> t{now, result, first, {}};
    for (std::size_t d = 0; d < count; ++d) t.extents[d] = ids[d];
    leave(scratch);
    return t;
  }
  (std::make_index_sequence<count>{}, std::make_index_sequence<count + 1>{});
}

/// A body's values, whatever it returned.
template <class V>
constexpr auto as_values(V const& v) {
  static_assert(expression<V>, "weft: weft::values holds values that depend on an input or an axis, no plain numbers");
  return values(value<typename V::element_type>{{v.p, v.id}});
}
template <class... V>
constexpr auto as_values(several<V...> const& v) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return values(as_values(get<I>(v)).first...);
  }(std::index_sequence_for<V...>{});
}
}  // namespace detail

}  // namespace weft::inline WEFT_ABI

/// @cond  doxygen does not find std
template <class... V>
struct std::tuple_size<weft::several<V...>> : std::integral_constant<std::size_t, sizeof...(V)> {};
template <std::size_t I, class... V>
struct std::tuple_element<I, weft::several<V...>> {
  using type = std::remove_cvref_t<decltype(weft::get<I>(std::declval<weft::several<V...> const&>()))>;
};
/// @endcond
