// Stages that a function of your own computes: an FFT, a sort, a solver, a library's routine.
//
// The function sees its tensors as views, all of each at once, and its signature says what it reads and writes: views of const
// elements are read, the others written. A call of it stands where the lambda of `compute` would:
//
//     int running_sum(weft::extern_view<float const, 2> x, weft::extern_view<float, 2> y) noexcept;  // answers 0, or an error
//
//     auto S = weft::compute<"S">(M, N, [=](auto i, auto j) { return A(i, j) * 2.f; });
//     auto F = weft::compute<"F">(M, N, weft::external<"running_sum", &running_sum>(S));
//     return weft::compute<"y">(M, N, [=](auto i, auto j) { return F(i, j) + 1.f; });
#pragma once

#include <array>
#include <cstring>

#include "weft/expr/compute.hpp"
#include "weft/expr/evaluate.hpp"

namespace weft::inline WEFT_ABI {

/// A tensor as a function of an extern stage sees it. `T const`: one that it reads.
///
/// Units   strides are in elements, and may be anything that the caller's views have
template <class T, int Rank>
struct extern_view {
  static_assert(element<std::remove_const_t<T>>,
                "weft: the elements of an extern_view are those of tensors: bool, integers, float, double, weft::f16 or bf16");
  T* data = nullptr;
  std::array<std::int64_t, Rank> extents{}, strides{};
  /// The size of dimension `d`.
  std::int64_t extent(int d) const { return extents[static_cast<std::size_t>(d)]; }
  /// From one element to the next along dimension `d`.
  std::int64_t stride(int d) const { return strides[static_cast<std::size_t>(d)]; }
  /// The element at these indices; not checked.
  template <class... Index>
  T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == Rank, "weft: this view has another rank: give one index per dimension");
    std::int64_t at = 0;
    std::size_t d = 0;
    ((at += static_cast<std::int64_t>(index) * strides[d++]), ...);
    return data[at];
  }
};

// Calls that are not constexpr: their names are what the compiler prints.
/// What a compute ends in whose program calls another function by the same name.
///
/// Errors  argument_error
[[noreturn]] inline void two_functions_have_one_name__give_each_its_own() {
  WEFT_THROW(argument_error("weft: two functions of this computation have one name in weft::external; give each its own"));
}

namespace detail {
template <class>
inline constexpr bool is_written_view = false;
template <class T, int Rank>
inline constexpr bool is_written_view<extern_view<T, Rank>> = !std::is_const_v<T>;
template <class>
inline constexpr bool is_extern_view = false;
template <class T, int Rank>
inline constexpr bool is_extern_view<extern_view<T, Rank>> = true;

/// One parameter: what it is, how it is made of words, and of elements that were evaluated directly.
template <class>
struct extern_argument;
template <class T, int Rank>
struct extern_argument<extern_view<T, Rank>> {
  using value_type = std::remove_const_t<T>;
  static constexpr int rank = Rank;
  static constexpr extern_parameter parameter{dtype_of<value_type>, Rank};
  static constexpr std::size_t words = 1 + 2 * static_cast<std::size_t>(Rank);
  static extern_view<T, Rank> from(std::int64_t const* word) {
    extern_view<T, Rank> v;
    v.data = reinterpret_cast<T*>(static_cast<std::uintptr_t>(word[0]));
    for (std::size_t d = 0; d < static_cast<std::size_t>(Rank); ++d) {
      v.extents[d] = word[1 + d];
      v.strides[d] = word[1 + static_cast<std::size_t>(Rank) + d];
    }
    return v;
  }
  static void pack(dense const& d, sequence<std::int64_t>& memory, std::int64_t* word) {
    memory.resize(d.bits.size() * sizeof(value_type) / 8 + 1, 0);
    word[0] = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory.data()));
    for (std::size_t i = 0; i < d.bits.size(); ++i) {
      value_type const x = from_bits<value_type>(d.bits[i]);
      std::memcpy(reinterpret_cast<unsigned char*>(memory.data()) + i * sizeof x, &x, sizeof x);
    }
    std::int64_t stride = 1;
    for (std::size_t k = static_cast<std::size_t>(Rank); k-- > 0; stride *= d.shape[k]) {
      word[1 + k] = d.shape[k];
      word[1 + static_cast<std::size_t>(Rank) + k] = stride;
    }
  }
  static void unpack(sequence<std::int64_t> const& memory, dense& d) {
    for (std::size_t i = 0; i < d.bits.size(); ++i) {
      value_type x{};
      std::memcpy(&x, reinterpret_cast<unsigned char const*>(memory.data()) + i * sizeof x, sizeof x);
      d.bits[i] = to_bits(x);
    }
  }
};

template <std::size_t I, class First, class... Rest>
struct nth_type {
  using type = typename nth_type<I - 1, Rest...>::type;
};
template <class First, class... Rest>
struct nth_type<0, First, Rest...> {
  using type = First;
};
template <class F>
struct extern_signature {
  static_assert(!std::is_same_v<F, F>,
                "weft: a function of an extern stage is int(weft::extern_view<T const, Rank>.., weft::extern_view<T, Rank>..) "
                "noexcept; it answers 0, or a code of its own where it fails. No exception can pass through machine code");
};
template <class... View>
struct extern_signature<int (*)(View...) noexcept> {
  static_assert((is_extern_view<std::remove_cvref_t<View>> && ...),
                "weft: the parameters of a function of an extern stage are weft::extern_view<T const, Rank> for what it reads, "
                "then weft::extern_view<T, Rank> for what it writes");
  template <std::size_t I>
  using argument = extern_argument<std::remove_cvref_t<typename nth_type<I, View...>::type>>;
  static constexpr int count = static_cast<int>(sizeof...(View));
  static constexpr int writes = (0 + ... + (is_written_view<std::remove_cvref_t<View>> ? 1 : 0));
  static constexpr int reads = count - writes;
  static constexpr auto first = static_cast<std::size_t>(reads);  // of what is written
  static constexpr bool in_order() {
    bool const written[] = {is_written_view<std::remove_cvref_t<View>>..., true};
    for (int i = 0; i < count; ++i)
      if (written[i] != (i >= reads)) return false;
    return true;
  }
  static_assert(reads > 0 && writes > 0 && in_order(),
                "weft: a function of an extern stage reads one tensor at least and writes one at least: first views of const "
                "elements, then those of what it writes");
  static_assert(count <= extern_function::most_parameters, "weft: a function of an extern stage has at most 16 parameters");
  static constexpr std::size_t begin_of(std::size_t parameter) {
    std::size_t const words[] = {extern_argument<std::remove_cvref_t<View>>::words...};
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parameter; ++i) begin += words[i];
    return begin;
  }

  template <auto Function>
  static std::int32_t call(std::int64_t const* words) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return static_cast<std::int32_t>(Function(argument<I>::from(words + begin_of(I))...));
    }(std::index_sequence_for<View...>{});
  }
  template <auto Function>
  static std::int32_t on_elements(dense const* const* read, dense* written) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      sequence<std::int64_t> memory[sizeof...(View)];
      std::int64_t words[begin_of(sizeof...(View))];
      (argument<I>::pack(I < first ? *read[I] : written[I - first], memory[I], words + begin_of(I)), ...);
      std::int32_t const code = call<Function>(words);
      ((I >= first ? argument<I>::unpack(memory[I], written[I - first]) : void()), ...);
      return code;
    }(std::index_sequence_for<View...>{});
  }
  template <auto Function>
  static constexpr extern_function named(std::string_view name) {
    return {name, reads, writes, {extern_argument<std::remove_cvref_t<View>>::parameter...}, &call<Function>,
            &on_elements<Function>};
  }
  template <class... Read>
  static constexpr bool has_types() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (std::is_same_v<typename Read::value_type, typename argument<I>::value_type> && ...);
    }(std::index_sequence_for<Read...>{});
  }
  template <class... Read>
  static constexpr bool has_ranks() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return ((Read::rank == argument<I>::rank) && ...);
    }(std::index_sequence_for<Read...>{});
  }
};
/// The parameters of a function that is there for GPUs alone.
template <class... View>
struct no_host_function {};
template <class... View>
struct extern_signature<no_host_function<View...>> : extern_signature<int (*)(View...) noexcept> {
  template <auto>
  static constexpr extern_function named(std::string_view name) {
    using all = extern_signature<int (*)(View...) noexcept>;
    return {name, all::reads, all::writes, {extern_argument<std::remove_cvref_t<View>>::parameter...}};
  }
};
template <fixed_string Name, auto Function, cuda_function const* Cuda = nullptr>
inline constexpr extern_function extern_record = [] {
  extern_function made = extern_signature<std::remove_cv_t<decltype(Function)>>::template named<Function>(Name.view());
  made.cuda = Cuda;
  return made;
}();
template <class Signature, cuda_function const* Cuda>
constexpr bool fits_on_gpu() {
  if constexpr (Cuda == nullptr) return true;
  else return Cuda->fault(Signature::template argument<Signature::first>::rank).empty();
}

/// What stands where a stage's lambda would.
template <class Signature>
struct extern_body {
  using signature = Signature;
  extern_function const* by = nullptr;
  program* p = nullptr;
  std::int32_t reads[Signature::reads] = {};
};
template <class>
inline constexpr bool is_extern_body = false;
template <class S>
inline constexpr bool is_extern_body<extern_body<S>> = true;
template <class... A>
concept extents_then_function =
    sizeof...(A) >= 2 && is_extern_body<std::remove_cvref_t<decltype(last_of(std::declval<A>()...))>>;

template <class T>
struct extern_operand {
  static_assert(sizeof(T) == 0, "weft: external takes tensors: inputs of the kernel, or stages, each with a name");
};
template <class T, int Rank>
struct extern_operand<expr::tensor<T, Rank>> {
  using value_type = T;
  static constexpr int rank = Rank;
};

template <std::size_t Named, class... A>
constexpr auto extern_stage(std::array<short_name, Named> const& names, A const&... extents_and_body) {
  constexpr int rank = static_cast<int>(sizeof...(A)) - 1;
  static_assert(rank <= 8, "weft: one to eight extents, then the call of the function");
  auto const& body = last_of(extents_and_body...);
  using signature = typename std::remove_cvref_t<decltype(body)>::signature;
  static_assert(static_cast<int>(Named) == signature::writes,
                "weft: this compute has another number of names than its function has results");
  program& p = *home_of(body.p);
  for (stage_info const& s : p.stages)
    if (s.by != nullptr && s.by->name == body.by->name && s.by != body.by) two_functions_have_one_name__give_each_its_own();
  return [&]<std::size_t... I, std::size_t... R>(std::index_sequence<I...>, std::index_sequence<R...>) {
    static_assert(((signature::template argument<R + signature::first>::rank == rank) && ...),
                  "weft: this compute has another number of extents than its function's result has dimensions");
    sequence<std::int32_t> shape;
    ((I < static_cast<std::size_t>(rank) ? shape.push_back(extent_or_body<I, static_cast<std::size_t>(rank)>(p, extents_and_body))
                                         : void()),
     ...);
    stage_info s{-1, static_cast<std::int32_t>(p.axes.size()), rank};
    for (std::int32_t e : shape) p.add_axis(e, -1, false);
    s.first_read = static_cast<std::int32_t>(p.reads.size());
    s.by = body.by;
    for (std::int32_t t : body.reads) p.reads.push_back(t);
    constexpr dtype types[] = {signature::template argument<R + signature::first>::parameter.type...};
    int const first = p.add_stage(names[0], s, types[0], shape, {});
    for (std::size_t r = 1; r < Named; ++r) p.add_result(names[r], types[r], shape, {});
    if constexpr (Named == 1)
      return expr::tensor<element_t<types[0]>, rank>{&p, first};
    else
      return values(expr::tensor<element_t<types[R]>, rank>{&p, first + static_cast<int>(R)}...);
  }(std::index_sequence_for<A...>{}, std::make_index_sequence<Named>{});
}
}  // namespace detail

/// For the place of the function in `external`: there is none for the host, and the kernel runs on GPUs alone.
///
///     weft::external<"running_sum", weft::gpu_only<weft::extern_view<float const, 2>, weft::extern_view<float, 2>>,
///                    &running_sum_on_gpu>(S)
template <class... View>
inline constexpr detail::no_host_function<View...> gpu_only{};

/// A call of `Function` on whole tensors, for the place of the lambda in `compute`. `Name` is what keys of code on disk, texts
/// and errors have of it. `Cuda` is what computes the stage on a GPU (cuda_function); without it the kernel runs on CPUs alone.
///
///     int running_sum(weft::extern_view<float const, 2> x, weft::extern_view<float, 2> y) noexcept;
///
///     auto F = weft::compute<"F">(M, N, weft::external<"running_sum", &running_sum>(S));
///
/// Shape   that of `compute`; of several results one for all. The function sees its own and those of what it reads
/// Needs   the function writes each element of its results, reads nothing but what it is given, and keeps no pointer. Its results
///         hang on nothing else: calls may be left out or done again. Memory of different tensors may be any, with any strides
/// Errors  extern_error from a call of the kernel in which it does not answer 0, with its code and the name of the stage; outputs
///         are then written in part
/// Threads called once per call of the kernel, not at all where an output is empty, by the thread that calls it, between
///         parallel loops; calls of several threads call it at the same time
/// Cost    a call through a pointer, and some words that are stored for it; its stage and those that it reads stay in memory
/// Source  Halide, `Func::define_extern`; TVM, `te.extern`
template <fixed_string Name, auto Function, cuda_function const* Cuda = nullptr, class... Read>
constexpr auto external(Read&&... read) {
  static_assert(Name.view().size() >= 1 && Name.view().size() <= short_name::capacity,
                "weft: the name of a function has 1 to 30 characters");
  using signature = detail::extern_signature<std::remove_cv_t<decltype(Function)>>;
  static_assert(detail::fits_on_gpu<signature, Cuda>(),
                "weft: this cuda_function is none for the result: its name is a name of C++, a block has 1 to 1024 threads, and "
                "per_block has a number for at most three dimensions of the result");
  static_assert(static_cast<int>(sizeof...(Read)) == signature::reads,
                "weft: external takes as many tensors as the function reads");
  static_assert((std::is_lvalue_reference_v<Read> && ...),
                "weft: a stage needs a name before it is read: auto S = weft::compute<\"S\">(...); then external<..>(S)");
  detail::extern_body<signature> body{&detail::extern_record<Name, Function, Cuda>};
  if constexpr (static_cast<int>(sizeof...(Read)) == signature::reads) {
    static_assert(signature::template has_ranks<detail::extern_operand<std::remove_cvref_t<Read>>...>(),
                  "weft: a tensor that external is given has another rank than the function's parameter");
    static_assert(signature::template has_types<detail::extern_operand<std::remove_cvref_t<Read>>...>(),
                  "weft: a tensor that external is given has another element type than the function's parameter; cast it in a "
                  "stage of its own");
    int i = 0;
    ((body.p = read.p, body.reads[i++] = read.id), ...);
  }
  return body;
}

/// A stage that a function computes; see external.
template <fixed_string Name, class... A>
  requires detail::extents_then_function<A...>
constexpr auto compute(A const&... extents_and_call) {
  static_assert(Name.view().size() <= short_name::capacity, WEFT_LONG_NAME);
  return detail::extern_stage(std::array{short_name(Name.view())}, extents_and_call...);
}
/// Of several results, which come as weft::values.
template <fixed_string First, fixed_string Second, fixed_string... More, class... A>
  requires detail::extents_then_function<A...>
constexpr auto compute(A const&... extents_and_call) {
  static_assert(First.view().size() <= short_name::capacity && Second.view().size() <= short_name::capacity &&
                    ((More.view().size() <= short_name::capacity) && ...),
                WEFT_LONG_NAME);
  return detail::extern_stage(
      std::array{short_name(First.view()), short_name(Second.view()), short_name(More.view())...}, extents_and_call...);
}

}  // namespace weft::inline WEFT_ABI
