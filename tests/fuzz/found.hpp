// A program written by hand, run in all the ways in which drawn ones are.
#pragma once

#include "fuzz/run.hpp"
#include "schedule/programs.hpp"
#include "weft/compile.hpp"
#include "weft/expr/exact.hpp"
#include "weft/expr/math/functions.hpp"
#include "weft/intrinsics.hpp"
#include "weft/kernel.hpp"

namespace weft_test::fuzz {

using weft::expr::tensor;

/// Inputs made of sequences of extents; `steps` as print_trace writes them.
struct found {
  weft::program p{};
  weft::sequence<weft::sequence<std::int64_t>> shapes{};

  template <class T, int Rank>
  tensor<T, Rank> input(weft::sequence<std::int64_t> const& shape) {
    char const name[] = {static_cast<char>('A' + p.inputs.size())};
    shapes.push_back(shape);
    return {&p, p.add_input(weft::short_name(std::string_view(name, 1)), weft::dtype_of<T>, Rank)};
  }
  /// Runs the program with this last stage in every way, over memory and numbers of several kinds; `compiled`: for the
  /// first so many of them by machine code, too. Sanitizers, which are slow, get two.
  template <class Stage>
  void check(Stage const& last, std::string const& steps, std::uint64_t seeds = 12, std::uint64_t compiled = 12) {
    if (is_sanitized) seeds = std::min<std::uint64_t>(seeds, 2);
    p.outputs.push_back(last.id);
    for (std::uint64_t seed = 0; seed < seeds; ++seed)
      run(seed, seed < compiled, [&](drawn const& d, random_source&) {
        return weft::parse_trace(steps, weft::schedule(d.what, extents_of(d)), weft::shipped_intrinsics);
      });
  }
  /// The same under steps that are drawn; answers how often one of them was `wanted`.
  template <class Stage>
  int check_drawn(Stage const& last, weft::verb wanted, std::uint64_t first, std::uint64_t seeds) {
    int count = 0;
    p.outputs.push_back(last.id);
    for (std::uint64_t seed = first; seed < first + seeds; ++seed)
      run(seed, true, [&](drawn const& d, random_source& r) {
        weft::trace const steps = draw_steps(r, weft::schedule(d.what, extents_of(d)), d.order_free, {});
        for (weft::step const& s : steps) count += s.what == wanted;
        return steps;
      });
    return count;
  }

 private:
  template <class Steps>
  void run(std::uint64_t seed, bool compiled, Steps const& steps) {
    verified_compilations const verified;
    drawn d;
    d.seed = seed;
    d.what = weft::canonical(p);
    random_source r(seed);
    for (std::size_t t = 0; t < shapes.size(); ++t) {
      d.tensors.push_back(draw_tensor(r, p.tensors[t].type, shapes[t], seed % 2 == 1));
      for (std::int64_t e : shapes[t]) d.has_empty = d.has_empty || e == 0;
    }
    d.order_free.resize(p.stages.size(), true);
    weft::trace trace = steps(d, r);
    INFO("seed " << seed << "\n" << describe(d, trace));
    CHECK(check_possible(check_interpreted, d, trace) == "");
    if (compiled) CHECK(check_possible(check_compiled, d, trace) == "");
  }
};

/// An argument of check_found: extents, and the bits of all elements where no seed draws them.
template <class T, int Rank>
struct input {
  weft::sequence<std::int64_t> shape{}, bits{};
};
/// A number; its bits.
template <class T>
struct number {
  std::int64_t bits = 0;
};
/// How the elements of a case are drawn.
struct data_of {
  std::uint64_t seed = 0;
  contents data = contents::tame;
};

namespace detail {
template <int>
inline constexpr std::int64_t any_extent = weft::dynamic;
template <class>
struct in_of;
template <class T, int Rank>
struct in_of<input<T, Rank>> {
  template <std::size_t... D>
  static weft::fixed_arg<T, any_extent<static_cast<int>(D)>...> make(std::index_sequence<D...>);
  using type = decltype(make(std::make_index_sequence<static_cast<std::size_t>(Rank)>{}));
};
template <class T>
struct in_of<number<T>> {
  using type = weft::scalar_arg<T>;
};
template <class T, int Rank>
void add_argument(drawn& d, input<T, Rank> const& a) {
  d.tensors.push_back({weft::dtype_of<T>, a.shape, a.bits});
  for (std::int64_t e : a.shape) d.has_empty = d.has_empty || e == 0;
  if (!a.bits.empty()) d.data = contents::own;
}
template <class T>
void add_argument(drawn& d, number<T> const& a) {
  d.scalars.push_back(a.bits);
}
}  // namespace detail

/// The case that the lambdas describe, as drawn ones are; with what the how-lambda does in `steps`. Both are run by the compiler
/// as well, so they have no captures.
template <class What, class How, class... Argument>
drawn made_case(data_of const& from, What const& what, How const& how, weft::trace& steps, Argument const&... arguments) {
  drawn d;
  d.seed = from.seed, d.data = from.data;
  (detail::add_argument(d, arguments), ...);
  draw_contents(d);
  d.what = weft::detail::build<typename detail::in_of<Argument>::type...>(what);
  d.order_free.resize(d.what.stages.size(), true);
  static_assert(weft::detail::compiler_runs_what<What, typename detail::in_of<Argument>::type...>);
  weft::schedule s(d.what, extents_of(d));
  weft::detail::write_schedule<What, typename detail::in_of<Argument>::type...>(how, s);
  CHECK(weft::explain(s, "made_case") == "");
  steps = s.steps;
  return d;
}
/// A failure that was found, as its report writes it (report.hpp): interpreter and machine code give the bits of direct evaluation.
template <class What, class How, class... Argument>
void check_found(data_of const& from, What const& what, How const& how, Argument const&... arguments) {
  verified_compilations const verified;
  weft::trace steps;
  drawn const d = made_case(from, what, how, steps, arguments...);
  INFO(describe(d, steps));
  CHECK(check_possible(check_interpreted, d, steps) == "");
  CHECK(check_possible(check_compiled, d, steps) == "");
}

}  // namespace weft_test::fuzz
