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
#include <utility>

#include "weft/base/sequence.hpp"
#include "weft/expr/operand.hpp"
#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

// Calls that are not constexpr: their names are what the compiler prints.
/// What a call ends in whose plain number does not fit.
///
/// Errors  argument_error
[[noreturn]] inline void a_number_does_not_fit_the_element_type_that_it_meets__cast_the_tensor_to_a_wider_one() {
  WEFT_THROW(argument_error("weft: a plain number takes the element type of what it meets, and this one does not fit "
                            "it; cast the tensor to a wider type first, for example weft::cast<int>(A(i)) - 300"));
}

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
/// Copies a node of a scratch program, what it is made of (each node once, however many share it) and the axes it
/// stands on into the program `to`.
constexpr int import_node(program& to, program& from, int id) {
  sequence<std::int32_t> copy(static_cast<std::size_t>(id) + 1, -1);  // -2: wanted
  copy.back() = -2;
  for (int i = id; i >= 0; --i) {
    node const& n = from.at(i);
    if (copy[static_cast<std::size_t>(i)] == -1 || arity(n.kind) == 0) continue;
    for (int o : {n.a, n.b, n.c})
      if (o >= 0) copy[static_cast<std::size_t>(o)] = -2;
  }
  for (int i = 0; i <= id; ++i) {
    if (copy[static_cast<std::size_t>(i)] == -1) continue;
    node n = from.at(i);
    if (n.kind == op::literal && n.a == program::misfit && to.loud)
      a_number_does_not_fit_the_element_type_that_it_meets__cast_the_tensor_to_a_wider_one();
    if (n.kind == op::axis) n.a += axis_base(from, to);
    if (arity(n.kind) > 0)
      for (std::int32_t* o : {&n.a, &n.b, &n.c})
        if (*o >= 0) *o = copy[static_cast<std::size_t>(*o)];
    copy[static_cast<std::size_t>(i)] = to.add(n);
  }
  return copy.back();
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
    bool const fits = represents<T>(a);
    if (!fits && (p.loud || !std::is_constant_evaluated()))
      a_number_does_not_fit_the_element_type_that_it_meets__cast_the_tensor_to_a_wider_one();
    return p.add({op::literal, dtype_of<T>, fits ? -1 : program::misfit, -1, -1, number_bits<T>(a)});
  } else {
    int const id = in(p, a);
    constexpr dtype from = dtype_of<element_of_t<A>>, to = dtype_of<T>;
    return from == to ? id : p.operation(op::cast, to, id);
  }
}
/// min or max of two halves, which compute as f32; the way back is exact.
template <class T>
constexpr int half_chosen(program& p, op o, int x, int y) {
  int const wide_x = p.operation(op::cast, dtype::f32, x), wide_y = p.operation(op::cast, dtype::f32, y);
  return p.operation(op::cast, dtype_of<T>, p.operation(o, dtype::f32, wide_x, wide_y));
}
template <class T, class Result, class A, class B>
constexpr Result binary(op o, A const& a, B const& b) {
  program* p = meet(program_of(a), program_of(b));
  int const x = node_as<T>(*p, a), y = node_as<T>(*p, b);
  if constexpr (is_half(dtype_of<T>))
    return Result{{p, half_chosen<T>(*p, o, x, y)}};
  else
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

template <class A>
inline constexpr bool is_real = false;
template <class A>
  requires expression<A>
inline constexpr bool is_real<A> = is_float(dtype_of<typename A::element_type>);

template <op O, class A, class B>
constexpr auto bits(A const& a, B const& b) {
  using T = common_t<A, B>;
  static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>,
                "weft: & | ^ << >> need integers; && and || join conditions, weft::cast makes integers of other numbers");
  return binary<T, value<T>>(O, a, b);
}
template <op O, op IndexO, class A, class B>
constexpr auto arithmetic(A const& a, B const& b) {
  if constexpr (index_pair<A, B>) {
    return binary<std::int64_t, index_result<A, B>>(IndexO, a, b);
  } else {
    using T = std::conditional_t<O == op::min || O == op::max, chosen<A, B>, common<A, B>>::type;
    static_assert(O == op::min || O == op::max || !std::is_same_v<T, bool>,
                  "weft: arithmetic on two conditions; use && and ||, or cast one first, for example "
                  "weft::cast<int>(a) + b");
    static_assert(O != op::rem || std::is_integral_v<T>, "weft: % needs integers; cast the operands first");
    return binary<T, value<T>>(O, a, b);
  }
}
template <class T>
constexpr auto negated(value<T> a) {
  using R = computed_t<T>;
  static_assert(!std::is_same_v<R, bool>, "weft: a condition has no negative; use !, or cast it first");
  int const x = node_as<R>(*a.p, a);
  return value<R>{{a.p, a.p->operation(op::neg, dtype_of<R>, x)}};
}
template <class A, class B>
concept meets = index_pair<A, B> || value_pair<A, B> || with_a_reduction<A, B>;

}  // namespace detail

// clang-format off
namespace expr {
/// Integers wrap around; halves are added as f32.
template <class A, class B> requires detail::meets<A, B>
constexpr auto operator+(A const& a, B const& b) { return detail::arithmetic<op::add, op::add>(a, b); }
/// As `+`.
template <class A, class B> requires detail::meets<A, B>
constexpr auto operator-(A const& a, B const& b) { return detail::arithmetic<op::sub, op::sub>(a, b); }
/// As `+`. With a sum it may be contracted: docs/numbers.md.
template <class A, class B> requires detail::meets<A, B>
constexpr auto operator*(A const& a, B const& b) { return detail::arithmetic<op::mul, op::mul>(a, b); }
/// On integers truncates towards zero, as in C++; on indices and extents rounds down. x / 0 is 0.
template <class A, class B> requires detail::meets<A, B>
constexpr auto operator/(A const& a, B const& b) { return detail::arithmetic<op::div, op::floor_div>(a, b); }
/// The remainder that belongs to `/`: of the sign of `a` on integers, never negative on indices.
template <class A, class B> requires detail::meets<A, B>
constexpr auto operator%(A const& a, B const& b) { return detail::arithmetic<op::rem, op::floor_mod>(a, b); }
/// Numbers are compared in the type in which they would be added; with NaN it is false.
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator<(A const& a, B const& b) { return detail::binary<detail::common_t<A, B>, value<bool>>(op::lt, a, b); }
/// As `<`.
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator<=(A const& a, B const& b) { return detail::binary<detail::common_t<A, B>, value<bool>>(op::le, a, b); }
/// As `<`.
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator>(A const& a, B const& b) { return b < a; }
/// As `<`.
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator>=(A const& a, B const& b) { return b <= a; }
/// As `<`.
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator==(A const& a, B const& b) { return detail::binary<detail::common_t<A, B>, value<bool>>(op::eq, a, b); }
/// As `<`, but true with NaN.
template <class A, class B> requires detail::meets<A, B>
constexpr value<bool> operator!=(A const& a, B const& b) { return detail::binary<detail::common_t<A, B>, value<bool>>(op::ne, a, b); }
/// Bit by bit, of integers that are no indices.
template <class A, class B> requires detail::value_pair<A, B>
constexpr auto operator&(A const& a, B const& b) { return detail::bits<op::bit_and>(a, b); }
/// As `&`.
template <class A, class B> requires detail::value_pair<A, B>
constexpr auto operator|(A const& a, B const& b) { return detail::bits<op::bit_or>(a, b); }
/// As `&`.
template <class A, class B> requires detail::value_pair<A, B>
constexpr auto operator^(A const& a, B const& b) { return detail::bits<op::bit_xor>(a, b); }
/// In the type in which `a + b` is computed, by b modulo its width.
template <class A, class B> requires detail::value_pair<A, B>
constexpr auto operator<<(A const& a, B const& b) { return detail::bits<op::shl>(a, b); }
/// As `<<`; signed integers keep their sign.
template <class A, class B> requires detail::value_pair<A, B>
constexpr auto operator>>(A const& a, B const& b) { return detail::bits<op::shr>(a, b); }
/// All bits the other way round, of an integer.
template <element T>
constexpr auto operator~(value<T> a) {
  using R = detail::computed_t<T>;
  if constexpr (std::is_integral_v<R>) return detail::bits<op::bit_xor>(a, static_cast<R>(~R(0)));
  else return detail::bits<op::bit_xor>(a, a);  // refused
}
/// Both are computed.
constexpr value<bool> operator&&(value<bool> a, value<bool> b) { return detail::binary<bool, value<bool>>(op::logical_and, a, b); }
/// Both are computed.
constexpr value<bool> operator||(value<bool> a, value<bool> b) { return detail::binary<bool, value<bool>>(op::logical_or, a, b); }
/// True where `a` is not.
constexpr value<bool> operator!(value<bool> a) { return {{a.p, a.p->operation(op::logical_not, dtype::boolean, a.id)}}; }
/// The sign of a float is changed, of NaN too; integers wrap around.
template <element T>
constexpr auto operator-(value<T> a) { return detail::negated(a); }
/// As an index.
constexpr axis_index operator-(axis_index a) { return {{a.p, a.p->operation(op::neg, dtype::i64, a.id)}}; }
}  // namespace expr

/// `a < b ? a : b`; a NaN in either gives `b`.
template <class A, class B> requires detail::meets<A, B>
constexpr auto min(A const& a, B const& b) { return detail::arithmetic<op::min, op::min>(a, b); }
/// `a > b ? a : b`; a NaN in either gives `b`.
template <class A, class B> requires detail::meets<A, B>
constexpr auto max(A const& a, B const& b) { return detail::arithmetic<op::max, op::max>(a, b); }
// clang-format on

/// `low` if x < low, then `high` if that is > high, so NaN stays NaN, and where low > high it is `high`, as in NumPy. On indices this is the border that repeats the edge:
/// `A(clamp(i - 1, 0, n - 1))`.
template <class X, class L, class H>
  requires detail::meets<X, L> && detail::meets<X, H>
constexpr auto clamp(X const& x, L const& low, H const& high) {
  // Where none is larger the last one is kept: x, NaN and -0, too.
  if constexpr (detail::is_real<X>) return min(high, max(low, x));
  else return min(max(x, low), high);
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
    using T = detail::chosen_t<A, B>;
    int const c = detail::in(*p, condition);
    int const x = detail::node_as<T>(*p, a), y = detail::node_as<T>(*p, b);
    return value<T>{{p, p->operation(op::select, dtype_of<T>, c, x, y)}};
  }
}

/// `x` as a number of type To: float to integer truncates and saturates, NaN gives 0; integer to narrower integer
/// wraps; to f16 and bf16 it rounds to nearest even, by way of f32.
template <element To, detail::expression X>
  requires detail::operand<X>
constexpr auto cast(X const& x) {
  using T = element_t<dtype_of<To>>;
  return value<T>{{x.p, detail::node_as<T>(*x.p, x)}};
}

namespace detail {
[[noreturn]] inline void this_tensor_has_no_such_dimension() {
  WEFT_THROW(argument_error("weft: extent(d): the tensor has no dimension of this number; the first is 0, the last is rank() - 1"));
}
}  // namespace detail

namespace expr {
/// An input of the kernel, or the result of an earlier stage. (weft::tensor is the one that owns memory.)
template <element T, int Rank>
struct tensor {
  program* p = nullptr;
  int id = -1;

  /// The size of dimension `d`, usable in `compute`, `sum` and index arithmetic. It is not a number: its
  /// value may be known only at the call, so it does not convert to bool or int.
  ///
  /// Needs   d of 0 to rank() - 1
  constexpr weft::extent extent(int d) const {
    if (d < 0 || d >= Rank) detail::this_tensor_has_no_such_dimension();
    return {{p, p->extent_of(id, d)}};
  }
  /// How many indices it takes.
  static constexpr int rank() { return Rank; }

  /// The element at these indices. One that is read from a tensor is clamped by whoever wrote the kernel, for no one
  /// else knows where it leads: `A(clamp(position(i), 0, A.extent(0) - 1), j)`.
  template <class... Index>
  constexpr value<T> operator()(Index const&... index) const& {
    static_assert(sizeof...(Index) == Rank, "weft: this tensor has another rank: give one index per dimension");
    static_assert((detail::subscript<Index> && ...),
                  "weft: an index is an axis, an extent, an integer, arithmetic on them, or an element of a tensor of "
                  "integers");
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

}  // namespace weft::inline WEFT_ABI
