// Instructions for `tensorize`: what declares others than those that weft knows (schedule/instructions.hpp).
//
// An intrinsic is data: a pattern, which is a what-lambda, the name of LLVM's function for each vector width with the CPU
// feature that it needs, and, where the instruction does not join the terms one after the other as the pattern does, a second
// what-lambda that says what it computes. The interpreter computes that, and so does machine code for vectors that have no
// form of it. A target without any of the features runs the plain loop.
#pragma once

#include <initializer_list>

#include "weft/expr/compute.hpp"
#include "weft/kernel.hpp"
#include "weft/schedule/instructions.hpp"

namespace weft::inline WEFT_ABI {

// Calls that are not constexpr: their names are what the compiler prints.
/// What a declaration ends in whose pattern is something else.
inline void the_pattern_of_an_intrinsic_is_one_stage_that_reduces_one_axis() {}
/// What a declaration ends in whose pattern reads an operand twice, or not at all.
inline void the_pattern_of_an_intrinsic_has_each_operand_once() {}
/// What a declaration ends in whose pattern has another number of terms.
inline void an_instruction_joins_2_or_4_or_8_or_16_or_32_terms() {}

namespace detail {
template <class Pattern, class... In>
constexpr bool matches(program const& p, std::int32_t body, sequence<std::int32_t>& loads) {
  return is_body(build<In...>(Pattern{}), p, body, loads);
}
template <class What, class... In>
constexpr program made_by() {
  return build<In...>(What{});
}
template <class Pattern, class... In>
constexpr dtype sum_type() {
  program const p = build<arg<In, 2>...>(Pattern{});
  return program::at(p.tensors, p.stages[0].tensor).type;
}
}  // namespace detail

/// An intrinsic of which the pattern is a sum, or another reduction, over the terms of each lane.
///
///     inline constexpr auto pmaddwd = weft::declare_intrinsic<"pmaddwd", std::int16_t, std::int16_t>(
///         [](auto a, auto b) {
///           return weft::compute<"c">(a.extent(0), [=](auto lane) {
///             return weft::sum(2, [=](auto k) { return a(lane, k) * b(lane, k); });
///           });
///         },
///         {{"avx2", "llvm.x86.avx2.pmadd.wd", 8}});
///
/// In      the element types of the operands, in the order in which the function of LLVM takes them
/// Needs   lambdas without captures; one stage that reduces one axis of 2, 4, 8, 16 or 32 terms. Operations of one or two operands
///         on the value so far and an element of each operand, each once. Of a function that does not take the value so far,
///         the result is added to it
/// Errors  a declaration that is no such pattern is no constant expression, and so does not compile
/// See     machine_form; what the function does is believed
template <fixed_string Name, element... In, class Pattern>
consteval intrinsic declare_intrinsic(Pattern const&, std::initializer_list<machine_form> forms) {
  program const p = detail::build<arg<In, 2>...>(Pattern{});
  if (p.stages.size() != 1 || p.stages[0].results != 1 || p.stages[0].reduced != 1 || forms.size() > intrinsic::most_forms)
    the_pattern_of_an_intrinsic_is_one_stage_that_reduces_one_axis();
  intrinsic made{Name.view(), "", 0, sizeof...(In), &detail::made_by<Pattern, arg<In, 2>...>,
                 &detail::matches<Pattern, arg<In, 2>...>, nullptr, {}};
  made.terms = static_cast<std::int32_t>(extent_value(p, program::at(p.axes, p.stages[0].first_reduced).extent,
                                                      [](int, int) { return std::int64_t(-1); }));
  if (made.terms != 2 && made.terms != 4 && made.terms != 8 && made.terms != 16 && made.terms != 32)
    an_instruction_joins_2_or_4_or_8_or_16_or_32_terms();
  sequence<std::int32_t> loads;
  if (!made.match(p, p.result(p.stages[0], 0).body, loads)) the_pattern_of_an_intrinsic_has_each_operand_once();
  for (std::int32_t load : loads)
    if (load < 0) the_pattern_of_an_intrinsic_has_each_operand_once();
  std::size_t i = 0;
  for (machine_form const& f : forms) made.forms[i++] = f;
  return made;
}
/// One that does not join the terms as its pattern does, one after the other. `computes` takes the values so far, `c(lane)`, and
/// the operands, `a(lane, k)` with numbers for k, and returns the stage that the instruction computes; a * b + c is rounded once.
template <fixed_string Name, element... In, class Pattern, class Computes>
consteval intrinsic declare_intrinsic(Pattern const& pattern, std::initializer_list<machine_form> forms, Computes const&) {
  intrinsic made = declare_intrinsic<Name, In...>(pattern, forms);
  made.computes = &detail::made_by<Computes, arg<element_t<detail::sum_type<Pattern, In...>()>, 1>, arg<In, 2>...>;
  return made;
}

}  // namespace weft::inline WEFT_ABI
