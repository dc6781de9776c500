// Instructions for `tensorize`: those that weft knows, and what declares others.
//
// An intrinsic is data: a pattern, which is a what-lambda, the name of LLVM's function for each vector width with the CPU
// feature that it needs, and, where the instruction does not join the terms one after the other as the pattern does, a second
// what-lambda that says what it computes. The interpreter computes that, and so does machine code for vectors that have no
// form of it. A target without any of the features runs the plain loop.
#pragma once

#include <initializer_list>

#include "weft/expr/compute.hpp"
#include "weft/expr/math/functions.hpp"
#include "weft/kernel.hpp"
#include "weft/schedule/intrinsic.hpp"

namespace weft::inline WEFT_ABI {

// Calls that are not constexpr: their names are what the compiler prints.
/// What a declaration ends in whose pattern is something else.
inline void the_pattern_of_an_intrinsic_is_one_stage_that_reduces_one_axis() {}
/// What a declaration ends in whose pattern reads an operand twice, or not at all.
inline void the_pattern_of_an_intrinsic_has_each_operand_once() {}
/// What a declaration ends in whose pattern has another number of terms.
inline void an_instruction_joins_2_or_4_or_8_or_16_or_32_terms() {}

namespace detail {
constexpr bool commutes(op o) {
  return o == op::add || o == op::mul || o == op::bit_and || o == op::bit_or || o == op::bit_xor;
}
/// Whether node `j` of `p` is what node `i` of a pattern says. `loads`: by input of the pattern, the element that stands for
/// it; -1: none so far.
constexpr bool is_pattern(program const& pattern, int i, program const& p, int j, sequence<std::int32_t>& loads) {
  node const &want = pattern.at(i), &have = p.at(j);
  auto const both = [&](int x, int y) {
    sequence<std::int32_t> const before = loads;
    if (is_pattern(pattern, want.a, p, x, loads) && is_pattern(pattern, want.b, p, y, loads)) return true;
    loads = before;
    return false;
  };
  if (want.type != have.type) return false;
  if (want.kind == op::load) {
    std::int32_t& known = loads[static_cast<std::size_t>(want.a)];
    if (have.kind != op::load || known >= 0) return false;
    known = j;
    return true;
  }
  // a * b + c, which is one operation where the target has it.
  if (want.kind == op::add && have.kind == op::fma) {
    bool const left = pattern.at(want.a).kind == op::mul;
    node const& product = pattern.at(left ? want.a : want.b);
    if (product.kind != op::mul || !is_pattern(pattern, left ? want.b : want.a, p, have.c, loads)) return false;
    sequence<std::int32_t> const before = loads;
    if (is_pattern(pattern, product.a, p, have.a, loads) && is_pattern(pattern, product.b, p, have.b, loads)) return true;
    loads = before;
    return is_pattern(pattern, product.a, p, have.b, loads) && is_pattern(pattern, product.b, p, have.a, loads);
  }
  if (want.kind != have.kind) return false;
  if (want.kind == op::literal) return want.value == have.value;
  if (want.kind == op::self) return true;
  if (arity(want.kind) == 1) return is_pattern(pattern, want.a, p, have.a, loads);
  if (arity(want.kind) != 2) return false;
  return both(have.a, have.b) || (commutes(want.kind) && both(have.b, have.a));
}
template <class Pattern, class... In>
constexpr bool matches(program const& p, std::int32_t body, sequence<std::int32_t>& loads) {
  program const pattern = build<In...>(Pattern{});
  loads = sequence<std::int32_t>(sizeof...(In), -1);
  return is_pattern(pattern, pattern.result(pattern.stages[0], 0).body, p, body, loads);
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

// --- those of x86-64 ------------------------------------------------------------------------------------------
namespace detail {
/// Sums of products of `Terms` pairs.
template <int Terms>
inline constexpr auto products = [](auto a, auto b) {
  return compute<"c">(a.extent(0), [=](auto lane) {
    return sum(Terms, [=](auto k) { return a(lane, k) * b(lane, k); });
  });
};
/// What vdpbf16ps computes: the second product of a pair first, each joined by an fma that rounds to nearest even, takes
/// denormals for zeros, and gives zeros for them. MXCSR has no say. One thing is not modelled, as the sum rounded to f32 does not
/// show it: what is below 2^-126 and rounds up to it may come out as zero.
/// Source  Intel, Architecture Instruction Set Extensions Programming Reference, VDPBF16PS
inline constexpr auto bf16_pairs = [](auto c, auto a, auto b) {
  return compute<"c">(c.extent(0), [=](auto lane) {
    auto const flushed = [](auto x) { return select(abs(x) < 0x1p-126f, x * 0.0f, x); };
    auto const joined = [=](auto sum, int k) {
      return flushed(flushed(cast<float>(a(lane, k))) * flushed(cast<float>(b(lane, k))) + sum);
    };
    return joined(joined(flushed(c(lane)), 1), 0);
  });
};
}  // namespace detail

/// 2 products of i16, added as i32: any x86-64, in full width since AVX2 and AVX-512BW.
inline constexpr intrinsic pmaddwd = [] {
  intrinsic i = declare_intrinsic<"pmaddwd", std::int16_t, std::int16_t>(
      detail::products<2>, {{"sse2", "llvm.x86.sse2.pmadd.wd", 4},
                            {"avx2", "llvm.x86.avx2.pmadd.wd", 8},
                            {"avx512bw", "llvm.x86.avx512.pmaddw.d.512", 16}});
  i.scope = "weft::";
  return i;
}();
/// 4 products of u8 and i8, added to an i32, without saturation: AVX-512 VNNI and AVX-VNNI.
inline constexpr intrinsic vpdpbusd = [] {
  intrinsic i = declare_intrinsic<"vpdpbusd", std::uint8_t, std::int8_t>(
      detail::products<4>, {{"avxvnni", "llvm.x86.avx512.vpdpbusd.128", 4},
                            {"avxvnni", "llvm.x86.avx512.vpdpbusd.256", 8},
                            {"avx512vnni", "llvm.x86.avx512.vpdpbusd.256", 8},
                            {"avx512vnni", "llvm.x86.avx512.vpdpbusd.512", 16}});
  i.scope = "weft::";
  return i;
}();
/// 2 products of bf16, added to an f32: AVX-512 BF16. Not the bits of the loop: the terms of a pair are added in reverse, and
/// denormals are zeros. A target without it runs the loop, whose sums keep denormals.
inline constexpr intrinsic vdpbf16ps = [] {
  intrinsic i = declare_intrinsic<"vdpbf16ps", bf16, bf16>(
      detail::products<2>, {{"avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.128", 4},
                            {"avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.256", 8},
                            {"avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.512", 16}},
      detail::bf16_pairs);
  i.scope = "weft::";
  return i;
}();

namespace detail {
inline constexpr intrinsic const* all_intrinsics[] = {&pmaddwd, &vpdpbusd, &vdpbf16ps};
}
/// For parse_trace and ir::parse.
inline constexpr known_intrinsics shipped_intrinsics{detail::all_intrinsics, 3};

}  // namespace weft::inline WEFT_ABI
