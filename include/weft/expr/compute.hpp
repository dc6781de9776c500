// Stages and reductions: the functions that take a body (body.hpp) as a lambda.
//
//   compute<"C">(M, N, body)          a stage; with several names, one of several results
//   sum prod min max any all          reductions over one or more axes, of a body
//   argmin argmax                     where the smallest or largest stands
//   reduce(identity, combine, ...)    a reduction of your own
//   scan(up_to(t), identity, step)    each element made from the one before
//   require(condition)                what the inputs' extents have to meet
#pragma once

#include "weft/expr/body.hpp"

namespace weft::inline WEFT_ABI {

/// What the extents of the inputs have to meet, for a computation that would mean something else, or nothing, otherwise:
///
///     weft::require(A.extent(1) == 2 * B.extent(0));
///
/// Errors  argument_error "needs A.extent(1) == 2 * B.extent(0), but A.extent(1) = 5, B.extent(0) = 3" from a call whose
///         extents do not; nothing has run
constexpr void require(value<bool> condition) { condition.p->conditions.push_back(condition.id); }

/// What `any_order` returns.
template <class Combine>
struct any_order_combiner {
  Combine combine;
  /// As the combiner that it was made of.
  template <class A, class B>
  constexpr auto operator()(A const& a, B const& b) const {
    return combine(a, b);
  }
};
/// A combiner for `reduce` of which you promise that it joins parts of the terms as well, in any order, so that a schedule
/// can take the reduction apart (rfactor): combine(combine(a, b), c) means the same as combine(a, combine(b, c)) for all
/// values that it meets, combine(a, b) as combine(b, a), and combine(a, identity) means a, of the identity too. A maximum
/// with a sum that is kept relative to it:
///
///     auto merge = weft::any_order([](auto a, auto b) {
///       auto high = weft::max(weft::get<0>(a), weft::get<0>(b));
///       return weft::values(high, weft::get<1>(a) * weft::exp(weft::get<0>(a) - high) +
///                                 weft::get<1>(b) * weft::exp(weft::get<0>(b) - high));
///     });
template <class Combine>
constexpr any_order_combiner<Combine> any_order(Combine const& combine) {
  return {combine};
}

namespace detail {
template <class>
inline constexpr bool is_any_order = false;
template <class Combine>
inline constexpr bool is_any_order<any_order_combiner<Combine>> = true;

template <op Combine, class T>
constexpr std::int64_t identity_of() {
  if (Combine == op::add) return 0;
  if (Combine == op::mul) return number_bits<T>(1);
  if (std::is_same_v<T, bool>) return Combine == op::min || Combine == op::logical_and;
  double const infinite = __builtin_inf();  // becomes an integer type's limit
  return converted(dtype::f64, dtype_of<T>, to_bits(Combine == op::max ? -infinite : infinite));
}
#define WEFT_LONG_NAME "weft: the name of a stage has at most 30 characters"
#define WEFT_NESTED_REDUCTION \
  "weft: a reduction inside a reduction; give all axes to one: weft::sum(M, N, [=](auto i, auto j) ...)"

/// What a stage writes: types, and bodies with their identities.
template <element... T>
struct stage_results {
  result_info results[sizeof...(T)];
};
template <expression V>
constexpr auto results_in(V const& v) {
  return stage_results<typename V::element_type>{{{v.id, 0}}};
}
template <element T, int Axes>
constexpr auto results_in(reduction<T, Axes> const& r) {
  return stage_results<T>{{{r.id, r.identity}}};
}
template <int Axes, element... T>
constexpr auto results_in(reduction_of_several<Axes, T...> const& r) {
  stage_results<T...> all{};
  for (std::size_t i = 0; i < sizeof...(T); ++i) all.results[i] = r.results[i];
  return all;
}
template <element... T>
constexpr auto results_in(scan_body<T...> const& s) {
  stage_results<T...> all{};
  for (std::size_t i = 0; i < sizeof...(T); ++i) all.results[i] = s.results[i];
  return all;
}
template <class... V>
constexpr auto results_in(several<V...> const& v) {
  static_assert(!((is_reduction<V>::value || is_reduction_of_several<V>::value) || ...),
                "weft: several reductions in one body; weft::reduce makes one of several values");
  auto const all = as_values(v);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return stage_results<typename V::element_type...>{{{get<I>(all).id, 0}...}};
  }(std::index_sequence_for<V...>{});
}
constexpr bool uses_axis(program const& p, int id, int axis) {
  if (id < 0) return false;
  node const& n = p.at(id);
  if (n.kind == op::axis) return n.a == axis;
  bool used = false;
  if (n.kind == op::load)
    for (int i = 0; i < n.c; ++i) used = used || uses_axis(p, program::at(p.operands, n.b + i), axis);
  else if (arity(n.kind) > 0)
    used = uses_axis(p, n.a, axis) || uses_axis(p, n.b, axis) || uses_axis(p, n.c, axis);
  return used;
}
/// The results of a reduction over axis `k` as those of a scan, in which that is the stage's own axis.
template <element... T>
constexpr scan_body<T...> scan_of(program& p, int k, prefix const& x, stage_results<T...> const& all) {
  constexpr dtype types[] = {dtype_of<T>...};
  scan_body<T...> s{&p, in(p, x.t), x.backwards, {}};
  int const t = p.at(s.along).a;
  for (std::size_t r = 0; r < sizeof...(T); ++r) {
    result_info result = all.results[r];
    if (uses_axis(p, result.body, t)) an_element_of_a_scan_hangs_on_the_axis_itself__use_its_own_index();
    if (x.exclusive) {
      int const last = p.operation(op::sub, dtype::i64, program::at(p.axes, t).extent, p.literal(dtype::i64, 1));
      int const low = x.backwards ? s.along : p.literal(dtype::i64, 0), high = x.backwards ? last : s.along;
      int const any = p.operation(op::lt, dtype::boolean, low, high);
      int const self = p.add({op::self, types[r], static_cast<std::int32_t>(r)});
      result.body = p.operation(op::select, types[r], any, result.body, self);
    }
    s.results[r] = {result.body, result.identity};
  }
  for (node& n : p.nodes)
    if (n.kind == op::axis && n.a == k) n.a = t;
  return s;
}
/// A reduction, or, where it is over a prefix, the scan that it means.
template <class R, class First, class... Rest>
constexpr auto reduced_over(R const& r, First const& first, Rest const&...) {
  if constexpr (std::same_as<First, prefix>) {
    static_assert(sizeof...(Rest) == 1, "weft: a reduction up to an axis is over that axis alone: weft::sum(weft::up_to(t), body)");
    return scan_of(*r.p, r.first_axis, first, results_in(r));
  } else {
    return r;
  }
}

/// The update that leaves the value so far as it is where `where` says so.
template <class R>
constexpr int unless_excluded(program& p, R const& traced, dtype type, int update, int self) {
  if constexpr (is_conditional<R>::value) {
    node const& condition = p.at(traced.condition.id);
    bool const always = condition.kind == op::literal && condition.value != 0;
    return always ? update : p.operation(op::select, type, traced.condition.id, update, self);
  } else {
    return update;
  }
}
template <class R>
constexpr auto const& without_condition(R const& r) {
  if constexpr (is_conditional<R>::value) return r.x;
  else return r;
}
template <op Combine, class... A>
constexpr auto reduce(A const&... a) {
  auto const t = trace_body<true>(a...);
  auto const& x = without_condition(t.result);
  using V = std::remove_cvref_t<decltype(x)>;
  static_assert(!is_reduction<V>::value && !is_reduction_of_several<V>::value, WEFT_NESTED_REDUCTION);
  static_assert(expression<V>, "weft: this reduction takes a body of one value; see weft::reduce for more");
  constexpr bool computes = Combine == op::add || Combine == op::mul;
  using Element = typename V::element_type;
  using T = std::conditional_t<computes, computed_t<Element>, Element>;
  static_assert(!computes || !std::is_same_v<T, bool>,
                "weft: a sum of conditions; to count them, cast to an integer: weft::cast<int>(...)");
  static_assert((Combine != op::logical_and && Combine != op::logical_or) || std::is_same_v<T, bool>,
                "weft: any and all take a condition: weft::any(K, [=](auto k) { return A(k) > 0; })");
  program& p = *t.p;
  value<T> const self{{&p, p.add({op::self, dtype_of<T>, 0})}};
  int const combined = binary<T, value<T>>(Combine, self, x).id;
  int const update = unless_excluded(p, t.result, dtype_of<T>, combined, self.id);
  return reduced_over(
      reduction<T, static_cast<int>(sizeof...(A)) - 1>{{&p, update}, t.first_axis, identity_of<Combine, T>()}, a...);
}
template <class... A>
concept extents_then_body = sizeof...(A) >= 2 && !operand<std::remove_cvref_t<decltype(last_of(std::declval<A>()...))>>;

template <class T, class Number>
constexpr result_info result_from(program& p, Number const& identity, int update) {
  static_assert(plain_number<Number>, "weft: the identity of a reduction is a plain number, or weft::values of some");
  int const start = node_as<T>(p, identity);
  return {p.at(start).a == program::misfit ? start : update, p.at(start).value};  // refused where that node is copied
}

/// The reduction of what `trace_body` gave, as the values `x`, from `identity` by `combine(so far, x)`; V: of the values so far.
template <int Axes, class... V, class R, class Terms, class... Number, class Combine, std::size_t... I>
constexpr auto combined(several<V...> const&, R const& traced, Terms const& x, several<Number...> const& identity,
                        Combine const& combine, std::index_sequence<I...>) {
  program& p = *traced.p;
  int const selves[] = {p.add({op::self, dtype_of<typename V::element_type>, static_cast<std::int32_t>(I)})...};
  several<V...> const so_far = values(V{{&p, selves[I]}}...);
  auto const joined_with = [&]<class... Other>(several<Other...> const& other) {
    if constexpr (sizeof...(V) == 1 && sizeof...(Other) == 1) return as_values(combine(so_far.first, other.first));
    else if constexpr (sizeof...(V) == 1) return as_values(combine(so_far.first, other));
    else if constexpr (sizeof...(Other) == 1) return as_values(combine(so_far, other.first));
    else return as_values(combine(so_far, other));
  };
  auto const next = joined_with(x);
  static_assert(std::same_as<std::remove_cvref_t<decltype(next)>, several<V...>>,
                "weft: the combiner of a reduction returns the types that it takes; cast what it returns, and have as many "
                "identities");
  reduction_of_several<Axes, typename V::element_type...> r{&p, traced.first_axis, {}};
  ((r.results[I] = result_from<typename V::element_type>(
        p, get<I>(identity),
        unless_excluded(p, traced.result, dtype_of<typename V::element_type>, in(p, get<I>(next)), selves[I]))),
   ...);
  if constexpr (is_any_order<Combine>) {
    constexpr auto results = static_cast<std::int32_t>(sizeof...(V));
    int const others[] = {p.add({op::self, dtype_of<typename V::element_type>, static_cast<std::int32_t>(I) + results})...};
    auto const merged = joined_with(values(V{{&p, others[I]}}...));
    ((r.results[I].merged = in(p, get<I>(merged))), ...);
  }
  return r;
}
/// With as many identities as terms, values so far are of the terms' types; else of those of the identities.
template <int Axes, class R, class... V, class... Number, class Combine>
constexpr auto combined(R const& traced, several<V...> const& x, several<Number...> const& identity, Combine const& combine) {
  constexpr std::index_sequence_for<Number...> all{};
  if constexpr (sizeof...(V) == sizeof...(Number)) {
    return combined<Axes>(x, traced, x, identity, combine, all);
  } else {
    static_assert(!is_any_order<Combine>, "weft: parts are joined as terms are: of weft::any_order a term has as many values "
                                          "as there are identities");
    several<value<element_t<dtype_of<Number>>>...> const so_far{};
    return combined<Axes>(so_far, traced, x, identity, combine, all);
  }
}

template <class... Number, class Step>
constexpr auto steps_from(prefix const& along, several<Number...> const& identity, Step const& step) {
  static_assert((plain_number<Number> && ...), "weft: the identity of a scan is a plain number, or weft::values of some");
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    program* p = home_of(along.t.p);
    int const selves[] = {p->add({op::self, dtype_of<Number>, static_cast<std::int32_t>(I)})...};
    several<value<element_t<dtype_of<Number>>>...> const before{values(value<element_t<dtype_of<Number>>>{{p, selves[I]}}...)};
    auto const next = [&] {
      if constexpr (sizeof...(Number) == 1) return as_values(step(before.first));
      else return as_values(step(before));
    }();
    static_assert(std::same_as<std::remove_cvref_t<decltype(next)>, std::remove_cvref_t<decltype(before)>>,
                  "weft: the step of a scan returns the types of its identity; write that as 0.f, or cast what it returns");
    ((p = meet(p, get<I>(next).p)), ...);
    scan_body<element_t<dtype_of<Number>>...> s{p, in(*p, along.t), along.backwards, {}};
    if (p->at(s.along).kind != op::axis) a_scan_is_along_an_axis_of_its_own_stage();
    ((s.results[I] = result_from<element_t<dtype_of<Number>>>(*p, get<I>(identity), in(*p, get<I>(next)))), ...);
    return s;
  }(std::index_sequence_for<Number...>{});
}

template <bool Largest, class... A>
constexpr auto position_of(A const&... a) {
  auto const t = trace_body<true>(a...);
  using V = std::remove_cvref_t<decltype(without_condition(t.result))>;
  static_assert(!is_reduction<V>::value && !is_reduction_of_several<V>::value, WEFT_NESTED_REDUCTION);
  static_assert(expression<V>, "weft: argmin and argmax take a body of one value");
  using T = typename V::element_type;
  constexpr int axes = static_cast<int>(sizeof...(A)) - 1;
  axis_index place{{t.p, t.p->axis_node(t.first_axis)}};
  if (int const shift = (shift_of(a) + ...); shift != 0) place = place + shift;
  for (int d = 1; d < axes; ++d)
    place = place * extent{{t.p, t.extents[d]}} + axis_index{{t.p, t.p->axis_node(t.first_axis + d)}};
  auto const x = as_values(values(place, without_condition(t.result)));
  auto const identity = values(-1, from_bits<T>(identity_of<Largest ? op::max : op::min, T>()));
  bool const from_the_end = (runs_backwards(a) || ...);  // then the first of equal ones is met last
  auto const better_one = [from_the_end](auto const& so_far, auto const& next) {
    auto const held = get<1>(so_far), met = get<1>(next);
    value<bool> better = from_the_end ? (Largest ? held <= met : met <= held) : (Largest ? held < met : met < held);
    if constexpr (is_float(dtype_of<T>)) better = better || (from_the_end ? met != met : met != met && held == held);
    better = better || get<0>(so_far) < 0;
    return values(select(better, get<0>(next), get<0>(so_far)), select(better, met, held));
  };
  return reduced_over(combined<axes>(t, x, identity, better_one), a...);
}

template <int Rank, bool Reduced, std::size_t Named, element... T, std::size_t... I>
constexpr auto add_stage(program& p, std::array<short_name, Named> const& names, stage_info const& s,
                         sequence<std::int32_t> const& shape, stage_results<T...> const& all, std::index_sequence<I...>) {
  static_assert(Named <= sizeof...(T), "weft: this compute has more names than its body has values");
  static_assert(Reduced || Named == sizeof...(T), "weft: this compute needs a name for each value of its body");
  constexpr dtype types[] = {dtype_of<T>...};
  int const first = p.add_stage(names[0], s, types[0], shape, all.results[0]);
  for (std::size_t i = 1; i < sizeof...(T); ++i)
    p.add_result(i < Named ? names[i] : names[0], types[i], shape, all.results[i]);
  if constexpr (Named == 1)
    return expr::tensor<element_t<types[0]>, Rank>{&p, first};
  else
    return values(expr::tensor<element_t<types[I]>, Rank>{&p, first + static_cast<int>(I)}...);
}
template <std::size_t Named, class... A>
constexpr auto stage(std::array<short_name, Named> const& names, A const&... extents_and_body) {
  constexpr int rank = static_cast<int>(sizeof...(A)) - 1;
  auto const t = trace_body<false>(extents_and_body...);
  using V = std::remove_cvref_t<decltype(t.result)>;
  static_assert(!is_conditional<V>::value, "weft: where belongs into the body of a reduction; see weft::select");
  stage_info s{-1, t.first_axis, rank, 0, 0, 0, 0};
  constexpr bool reduced = is_reduction<V>::value || is_reduction_of_several<V>::value || is_scan<V>;
  if constexpr (is_scan<V>) {
    s.scanned = t.p->at(t.result.along).a - t.first_axis;
    s.backwards = t.result.backwards;
    if (s.scanned < 0 || s.scanned >= rank) a_scan_is_along_an_axis_of_its_own_stage();
  } else if constexpr (reduced) {
    s.first_reduced = t.result.first_axis;
    s.reduced = V::axes;
  }
  return add_stage<rank, reduced>(*t.p, names, s, sequence<std::int32_t>(t.extents, t.extents + rank), results_in(t.result),
                               std::make_index_sequence<Named>{});
}
}  // namespace detail

/// `sum(K, [=](auto k) { return A(i, k) * B(k, j); })`: the sum over one or more axes, from 0, the last axis
/// fastest. A sum of integers wraps.
///
/// Errors  argument_error when all extents are literals and the body reads no input; so for every reduction
template <class... A>
  requires detail::extents_then_body<A...>
constexpr auto sum(A const&... extents_and_body) {
  return detail::reduce<op::add>(extents_and_body...);
}
/// The product; of no elements: 1.
template <class... A>
  requires detail::extents_then_body<A...>
constexpr auto prod(A const&... extents_and_body) {
  return detail::reduce<op::mul>(extents_and_body...);
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
/// Whether a condition holds somewhere; of no elements: false.
template <class... A>
  requires detail::extents_then_body<A...>
constexpr auto any(A const&... extents_and_body) {
  return detail::reduce<op::logical_or>(extents_and_body...);
}
/// Whether a condition holds everywhere; of no elements: true.
template <class... A>
  requires detail::extents_then_body<A...>
constexpr auto all(A const&... extents_and_body) {
  return detail::reduce<op::logical_and>(extents_and_body...);
}

/// Where the largest element stands, as an i64: the first of equal ones; NaN counts as larger than all others, as in
/// NumPy; of no elements: -1. Over several axes the position is that in row-major order.
///
///     auto best = weft::compute<"best">(M, [=](auto i) { return weft::argmax(K, [=](auto k) { return A(i, k); }); });
///
/// `compute<"best", "score">` keeps the element itself too.
template <class... A>
  requires detail::extents_then_body<A...>
constexpr auto argmax(A const&... extents_and_body) {
  return detail::position_of<true>(extents_and_body...);
}
/// Where the smallest element stands; NaN counts as smaller than all others. See argmax.
template <class... A>
  requires detail::extents_then_body<A...>
constexpr auto argmin(A const&... extents_and_body) {
  return detail::position_of<false>(extents_and_body...);
}

/// A reduction of your own: the value so far starts as `identity` and becomes `combine(so far, body(k))` for all points
/// of the axes, the last axis fastest. With weft::values for the identity and for what the body and `combine` return,
/// it has several values.
///
///     auto product = [](auto a, auto b) {                              // of complex numbers
///       auto [ar, ai] = a;
///       auto [br, bi] = b;
///       return weft::values(ar * br - ai * bi, ar * bi + ai * br);
///     };
///     auto z = weft::compute<"re", "im">(M, [=](auto i) {
///       return weft::reduce(weft::values(1, 0), product, K, [=](auto k) { return weft::values(X(i, k), Y(i, k)); });
///     });
///     return weft::outputs(weft::get<0>(z), weft::get<1>(z));
///
/// What is kept may be more than what a term has, or less: then `identity` gives the types (0.f is f32), and `combine(so far,
/// term)` returns such values. A softmax's largest element and sum in one pass, and the sum of what it weighs:
///
///     auto step = [](auto state, auto term) {
///       auto [high, total, sum] = state;
///       auto [score, x] = term;
///       auto top = weft::max(high, score), keeps = weft::exp(high - top), adds = weft::exp(score - top);
///       return weft::values(top, total * keeps + adds, sum * keeps + x * adds);
///     };
///     auto y = weft::compute<"high", "total", "sum">(M, N, [=](auto i, auto j) {
///       return weft::reduce(weft::values(-1e30f, 0.f, 0.f), step, K, [=](auto k) { return weft::values(S(i, k), V(k, j)); });
///     });
///
/// A result that is the same for all j, as `high` and `total` are, has memory for each i alone and is updated once for all j,
/// where the schedule has j inside of k (docs/schedule.md).
///
/// See     any_order, for what may be taken apart by a schedule
template <class Identity, class Combine, class... A>
  requires detail::extents_then_body<A...>
constexpr auto reduce(Identity const& identity, Combine const& combine, A const&... extents_and_body) {
  auto const t = detail::trace_body<true>(extents_and_body...);
  using V = std::remove_cvref_t<decltype(detail::without_condition(t.result))>;
  static_assert(!detail::is_reduction<V>::value && !detail::is_reduction_of_several<V>::value, WEFT_NESTED_REDUCTION);
  auto const from = [&] {
    if constexpr (detail::is_several<Identity>::value) return identity;
    else return values(identity);
  }();
  return detail::reduced_over(detail::combined<static_cast<int>(sizeof...(A)) - 1>(
                                  t, detail::as_values(detail::without_condition(t.result)), from, combine),
                              extents_and_body...);
}

/// A recurrence: along axis t of the stage each element is `step(the one before)`, the first one `step(identity)`, whose type
/// it has. With weft::values for the identity and for what `step` takes and returns, of several results.
///
///     auto h = weft::compute<"h">(M, T, [=](auto i, auto t) {
///       return weft::scan(weft::up_to(t), 0.f, [=](auto before) { return a(i, t) * before + b(i, t); });
///     });
///
/// From the end with from(t).
///
/// See     up_to, for running sums, maxima and the like
template <class Identity, class Step>
constexpr auto scan(prefix const& along, Identity const& identity, Step const& step) {
  if (along.exclusive) a_scan_by_steps_is_up_to_an_axis_or_from_it();
  if constexpr (detail::is_several<Identity>::value) return detail::steps_from(along, identity, step);
  else return detail::steps_from(along, values(identity), step);
}

/// A stage: `compute<"C">(M, N, [=](auto i, auto j) { return ...; })` defines C(i, j) for all i < M, j < N.
///
/// Errors  argument_error when all extents are literals and the body reads no input
template <fixed_string Name, class... A>
constexpr auto compute(A const&... extents_and_body) {
  static_assert(Name.view().size() <= short_name::capacity, WEFT_LONG_NAME);
  static_assert(sizeof...(A) >= 2, "weft: compute takes its extents, then a lambda");
  return detail::stage(std::array{short_name(Name.view())}, extents_and_body...);
}
/// A stage of several results, all computed before any of them is written: `compute<"sine", "cosine">(N, ...)`, whose
/// body returns weft::values or a reduction of several values. They come back as weft::values.
template <fixed_string First, fixed_string Second, fixed_string... More, class... A>
constexpr auto compute(A const&... extents_and_body) {
  static_assert(First.view().size() <= short_name::capacity && Second.view().size() <= short_name::capacity &&
                    ((More.view().size() <= short_name::capacity) && ...),
                WEFT_LONG_NAME);
  static_assert(sizeof...(A) >= 2, "weft: compute takes its extents, then a lambda");
  return detail::stage(std::array{short_name(First.view()), short_name(Second.view()), short_name(More.view())...},
                       extents_and_body...);
}

}  // namespace weft::inline WEFT_ABI
