// The instructions that weft knows, as data.
//
// Rules pick from them, so every program has them. Their patterns are programs that are put together by hand: lambdas would be traced by the
// compiler in each file, which takes 0.25 s for all of them (g++ 12). The tests hold each to the lambda that it stands for.
#pragma once

#include "weft/expr/canonical.hpp"
#include "weft/schedule/intrinsic.hpp"

namespace weft::inline WEFT_ABI {

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
/// Whether `body` of `p` is the body of a pattern.
constexpr bool is_body(program const& pattern, program const& p, std::int32_t body, sequence<std::int32_t>& loads) {
  loads = sequence<std::int32_t>(pattern.inputs.size(), -1);
  return is_pattern(pattern, pattern.result(pattern.stages[0], 0).body, p, body, loads);
}
/// What joins two narrow operands term by term: their products in a wider type, `sums`, in which they are added. Where `sums` is narrow itself,
/// each product and each sum is rounded to it.
///
///     c(lane) = sum(terms, a(lane, k) * b(lane, k))
constexpr program sum_of_products(dtype a, dtype b, dtype sums, int terms) {
  dtype const wide = sums == dtype::f16 ? dtype::f32 : sums;
  program p;
  int const of_a = p.add_input(short_name("A"), a, 2), of_b = p.add_input(short_name("B"), b, 2);
  int const lane = p.axis_node(p.add_axis(p.extent_of(of_a, 0), 0, false));
  int const k = p.add_axis(p.literal(dtype::i64, terms), 0, true);
  auto const as = [&](dtype to, int id) { return p.at(id).type == to ? id : p.operation(op::cast, to, id); };
  auto const operand = [&](int tensor) {
    std::int32_t const at[] = {lane, p.axis_node(k)};
    return as(wide, p.load(tensor, at));
  };
  int const product = as(sums, p.operation(op::mul, wide, operand(of_a), operand(of_b)));
  int const sum = as(sums, p.operation(op::add, wide, as(wide, p.operation(op::self, sums, 0)), as(wide, product)));
  stage_info s;
  s.spatial = 1, s.first_reduced = 1, s.reduced = 1;
  p.outputs.push_back(p.add_stage(short_name("c"), s, sums, {static_cast<std::int32_t>(p.extent_of(of_a, 0))}, {sum, 0}));
  return canonical(p);
}
/// What vdpbf16ps computes: the second product of a pair first, each joined by an fma that rounds to nearest even, takes
/// denormals for zeros, and gives zeros for them. MXCSR has no say. One thing is not modelled, as the sum rounded to f32 does not
/// show it: what is below 2^-126 and rounds up to it may come out as zero.
///
///     flushed(x) = select(abs(x) < 0x1p-126, x * 0, x)
///     joined(sum, k) = flushed(flushed(a(lane, k)) * flushed(b(lane, k)) + sum)
///     c(lane) = joined(joined(flushed(c(lane)), 1), 0)
/// Source  Intel, Architecture Instruction Set Extensions Programming Reference, VDPBF16PS
constexpr program bf16_pairs() {
  constexpr dtype f32 = dtype::f32;
  program p;
  int const of_c = p.add_input(short_name("A"), f32, 1), of_a = p.add_input(short_name("B"), dtype::bf16, 2), of_b = p.add_input(short_name("C"), dtype::bf16, 2);
  int const lane = p.axis_node(p.add_axis(p.extent_of(of_c, 0), 0, false));
  auto const flushed = [&](int x) {
    int const small = p.operation(op::lt, dtype::boolean, p.operation(op::abs, f32, x), p.literal(f32, 0x00800000));  // 2^-126
    return p.operation(op::select, f32, small, p.operation(op::mul, f32, x, p.literal(f32, 0)), x);
  };
  auto const term = [&](int tensor, int k) {
    std::int32_t const at[] = {lane, p.literal(dtype::i64, k)};
    return flushed(p.operation(op::cast, f32, p.load(tensor, at)));
  };
  std::int32_t const at[] = {lane};
  int sum = flushed(p.load(of_c, at));
  for (int k : {1, 0}) {
    int const a = term(of_a, k), b = term(of_b, k);
    sum = flushed(p.operation(op::add, f32, p.operation(op::mul, f32, a, b), sum));
  }
  stage_info s;
  s.spatial = 1, s.first_reduced = 1;
  p.outputs.push_back(p.add_stage(short_name("c"), s, f32, {static_cast<std::int32_t>(p.extent_of(of_c, 0))}, {sum, 0}));
  return canonical(p);
}
template <dtype A, dtype B, dtype Sums, int Terms>
constexpr program made_of_products() {
  return sum_of_products(A, B, Sums, Terms);
}
/// The pattern is made only where `p` may have it: most programs have nothing to ask about.
constexpr bool adds_products(dtype a, dtype b, dtype sums, int terms, program const& p, std::int32_t body, sequence<std::int32_t>& loads) {
  bool may = false;
  for (tensor_info const& t : p.tensors) may = may || t.type == a;
  return may && p.at(body).type == sums && is_body(sum_of_products(a, b, sums, terms), p, body, loads);
}
template <dtype A, dtype B, dtype Sums, int Terms>
constexpr bool adds_products(program const& p, std::int32_t body, sequence<std::int32_t>& loads) {
  return adds_products(A, B, Sums, Terms, p, body, loads);
}
/// One that adds products, by the forms that are given afterwards.
template <dtype A, dtype B, dtype Sums, int Terms>
constexpr intrinsic products_by(std::string_view name) {
  return {name, "weft::", Terms, 2, &made_of_products<A, B, Sums, Terms>, &adds_products<A, B, Sums, Terms>, nullptr, {}};
}
}  // namespace detail

// --- those of x86-64 ------------------------------------------------------------------------------------------
/// 2 products of i16, added as i32: any x86-64, in full width since AVX2 and AVX-512BW.
inline constexpr intrinsic pmaddwd = [] {
  intrinsic i = detail::products_by<dtype::i16, dtype::i16, dtype::i32, 2>("pmaddwd");
  i.forms[0] = {"sse2", "llvm.x86.sse2.pmadd.wd", 4};
  i.forms[1] = {"avx2", "llvm.x86.avx2.pmadd.wd", 8};
  i.forms[2] = {"avx512bw", "llvm.x86.avx512.pmaddw.d.512", 16};
  return i;
}();
/// 4 products of u8 and i8, added to an i32, without saturation: AVX-512 VNNI and AVX-VNNI.
inline constexpr intrinsic vpdpbusd = [] {
  intrinsic i = detail::products_by<dtype::u8, dtype::i8, dtype::i32, 4>("vpdpbusd");
  i.forms[0] = {"avxvnni", "llvm.x86.avx512.vpdpbusd.128", 4};
  i.forms[1] = {"avxvnni", "llvm.x86.avx512.vpdpbusd.256", 8};
  i.forms[2] = {"avx512vnni", "llvm.x86.avx512.vpdpbusd.256", 8};
  i.forms[3] = {"avx512vnni", "llvm.x86.avx512.vpdpbusd.512", 16};
  return i;
}();
/// 2 products of bf16, added to an f32: AVX-512 BF16. Not the bits of the loop: the terms of a pair are added in reverse, and
/// denormals are zeros. A target without it runs the loop, whose sums keep denormals.
inline constexpr intrinsic vdpbf16ps = [] {
  intrinsic i = detail::products_by<dtype::bf16, dtype::bf16, dtype::f32, 2>("vdpbf16ps");
  i.computes = &detail::bf16_pairs;
  i.forms[0] = {"avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.128", 4};
  i.forms[1] = {"avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.256", 8};
  i.forms[2] = {"avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.512", 16};
  return i;
}();

namespace detail {
/// A tile of 16 x 16 sums by one of AMX's tile registers, of rows of 64 bytes.
template <dtype A, dtype B, dtype Sums>
constexpr intrinsic tile_of_amx(std::string_view name, std::string_view feature, std::string_view function) {
  intrinsic i = products_by<A, B, Sums, 64 / size_bytes(A)>(name);
  i.forms[0] = {feature, function, 16};
  i.rows = i.columns = 16;
  return i;
}
}  // namespace detail
/// Products of bf16, added in f32, by AMX: tiles of 16 rows, 16 columns and 32 terms, as `tensorize` says of matrix units. Of the left operand terms stand side by
/// side, of the right one pairs of them, column by column: `transform_layout(copy, dims(k / 2, j, k % 2))`. Of 32 terms those with an even and those with an odd
/// number are added apart, with denormals taken and given as zeros.
/// Source  Intel, Architecture Instruction Set Extensions Programming Reference, TDPBF16PS
inline constexpr intrinsic tdpbf16ps = detail::tile_of_amx<dtype::bf16, dtype::bf16, dtype::f32>("tdpbf16ps", "amx-bf16", "llvm.x86.tdpbf16ps");
/// Products of u8 and i8, added in i32, likewise: 64 terms, four of which stand together in the right operand. Exact.
inline constexpr intrinsic tdpbusd = detail::tile_of_amx<dtype::u8, dtype::i8, dtype::i32>("tdpbusd", "amx-int8", "llvm.x86.tdpbusd");
/// The same of i8 and u8, in this order.
inline constexpr intrinsic tdpbsud = detail::tile_of_amx<dtype::i8, dtype::u8, dtype::i32>("tdpbsud", "amx-int8", "llvm.x86.tdpbsud");
/// The same of i8.
inline constexpr intrinsic tdpbssd = detail::tile_of_amx<dtype::i8, dtype::i8, dtype::i32>("tdpbssd", "amx-int8", "llvm.x86.tdpbssd");
/// The same of u8.
inline constexpr intrinsic tdpbuud = detail::tile_of_amx<dtype::u8, dtype::u8, dtype::i32>("tdpbuud", "amx-int8", "llvm.x86.tdpbuud");

namespace detail {
inline constexpr intrinsic const* all_intrinsics[] = {&pmaddwd, &vpdpbusd, &vdpbf16ps, &tdpbf16ps, &tdpbusd, &tdpbsud, &tdpbssd, &tdpbuud};
}
/// For parse_trace and ir::parse.
inline constexpr known_intrinsics shipped_intrinsics{detail::all_intrinsics, 8};

}  // namespace weft::inline WEFT_ABI
