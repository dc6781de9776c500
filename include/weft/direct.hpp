// Direct evaluation of a kernel's what-lambda: no schedule, no machine code, and constexpr.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/kernel.hpp"

namespace weft::inline WEFT_ABI {

/// How `evaluate` rounds.
struct evaluate_options {
  /// a * b + c rounded once, as compiled code does where the target has fma (`weft::cpu().fma`).
  bool contract = false;
};

/// The elements of one result in row-major order, and its shape.
template <element T>
struct evaluated {
  sequence<std::int64_t> shape;
  sequence<T> values;
  /// The i-th element in row-major order; not checked.
  constexpr T operator[](std::size_t i) const { return values[i]; }
  /// How many elements there are.
  constexpr std::size_t size() const { return values.size(); }
  /// Equal to a range of the same elements.
  template <detail::contiguous_range R>
  constexpr bool operator==(R const& range) const {
    if (range.size() != values.size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!(range.data()[i] == values[i])) return false;
    return true;
  }
};

namespace detail {
template <class T, bool Output, std::int64_t... E>
constexpr dense elements_of(tensor_view<T, Output, E...> const& v) {
  dense d{dtype_of<T>, {v.extents.begin(), v.extents.end()}, {}};
  std::int64_t count = 1;
  for (std::int64_t e : v.extents) count *= e;
  std::array<std::int64_t, sizeof...(E)> index{};
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t at = 0;
    for (std::size_t k = 0; k < index.size(); ++k) at += index[k] * v.strides[k];
    d.bits.push_back(to_bits(v.data[at]));
    for (std::size_t k = index.size(); k-- > 0;) {
      if (++index[k] < v.extents[k]) break;
      index[k] = 0;
    }
  }
  return d;
}
template <viewable A>
constexpr dense elements_of(A const& a) {
  return elements_of(view(a));
}
struct direct_inputs {
  sequence<dense> tensors;
  sequence<std::int64_t> scalars;
};
template <class A>
constexpr void add_input(direct_inputs& in, A const& a) {
  static_assert(!traits<A>::is_output, "weft: evaluate takes inputs only and returns the results");
  if constexpr (element<A>) in.scalars.push_back(to_bits(a));
  else in.tensors.push_back(elements_of(a));
}
template <class T, int Rank>
constexpr evaluated<T> result_of(evaluator& e, program const& p, std::size_t output, expr::tensor<T, Rank> const*) {
  dense const& d = e.result(program::at(p.outputs, static_cast<int>(output)));
  evaluated<T> r{d.shape, {}};
  for (std::int64_t b : d.bits) r.values.push_back(from_bits<T>(b));
  return r;
}
template <class T>
struct first_element;
template <class T, int Rank>
struct first_element<expr::tensor<T, Rank>> {
  using type = T;
};
template <class First, class... Rest>
struct first_element<hana::tuple<First, Rest...>> : first_element<First> {};
template <class First, class... Rest>
struct first_element<several<First, Rest...>> : first_element<First> {};
template <template <class...> class Several, class... T>
constexpr auto result_of(evaluator& e, program const& p, std::size_t, Several<T...> const*) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return hana::make_tuple(result_of(e, p, I, static_cast<T const*>(nullptr))...);
  }(std::index_sequence_for<T...>{});
}
}  // namespace detail

namespace detail {
template <class T>
inline constexpr bool is_result<evaluated<T>> = true;
}  // namespace detail

/// The results of `kernel` for these inputs, computed as the what-lambda is written.
///
///     static_assert(weft::evaluate(scale, std::array{1.f, 2.f}, 3.f) == std::array{3.f, 6.f});
///
/// Compiled code gives the same bits: exactly, with the same `contract`, unless a schedule step changes the order
/// of a sum. Several outputs come together: `auto [mean, deviation] = weft::evaluate(moments, x);`
/// Errors  argument_error when an access leaves its tensor or an extent is negative. What a call asks of the inputs
///         beyond that, as equal extents of two that one axis walks, is not asked here; extern_error where a function of an
///         extern stage fails (no constant expression then, as with every such stage)
/// Cost    some 50 ns per operation and element at run time
template <class Kernel, class... A>
constexpr auto evaluate(evaluate_options options, Kernel const& kernel, A const&... inputs) {
  using types = typename Kernel::template types_for<A...>;
  typename types::pair const lambdas{kernel.what, kernel.how};
  program const p = expand(types::program_of(lambdas), options.contract);
  detail::direct_inputs in;
  (detail::add_input(in, inputs), ...);
  evaluator e(p, in.tensors, in.scalars);
  return detail::result_of(e, p, 0, static_cast<typename types::result const*>(nullptr));
}
/// Without contraction.
///
/// Errors  as above
template <class Kernel, class... A>
  requires(!std::is_same_v<Kernel, evaluate_options>)
constexpr auto evaluate(Kernel const& kernel, A const&... inputs) {
  return evaluate(evaluate_options{}, kernel, inputs...);
}

/// One element of the first output, computed from the inputs alone: for samples of big results.
/// Errors  argument_error when the index is outside of the output, or an access leaves its tensor; extern_error as above
template <class Kernel, std::size_t Rank, class... A>
constexpr auto evaluate_at(evaluate_options options, Kernel const& kernel, std::array<std::int64_t, Rank> const& index,
                           A const&... inputs) {
  using types = typename Kernel::template types_for<A...>;
  static_assert(detail::results_of<typename types::result>::ranks[0] == static_cast<int>(Rank),
                "weft: evaluate_at takes one index per dimension of the first output");
  typename types::pair const lambdas{kernel.what, kernel.how};
  program const p = expand(types::program_of(lambdas), options.contract);
  detail::direct_inputs in;
  (detail::add_input(in, inputs), ...);
  evaluator e(p, in.tensors, in.scalars);
  for (std::size_t d = 0; d < Rank; ++d)
    if (index[d] < 0 || index[d] >= e.extent(p.outputs[0], static_cast<int>(d)))
      WEFT_THROW(argument_error("evaluate_at: the index is outside of the output"));
  return from_bits<typename detail::first_element<typename types::result>::type>(
      e.at(p.outputs[0], {index.begin(), index.end()}));
}

/// Without contraction.
///
/// Errors  as above
template <class Kernel, std::size_t Rank, class... A>
  requires(!std::is_same_v<Kernel, evaluate_options>)
constexpr auto evaluate_at(Kernel const& kernel, std::array<std::int64_t, Rank> const& index, A const&... inputs) {
  return evaluate_at(evaluate_options{}, kernel, index, inputs...);
}

}  // namespace weft::inline WEFT_ABI
