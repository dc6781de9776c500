// What all executors agree on before any of them starts: math functions become arithmetic, and a * b + c
// becomes fma or stays two roundings.
#pragma once

#include <type_traits>

#include "weft/base/sequence.hpp"
#include "weft/expr/depth.hpp"
#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
struct expansion {
  program& to;
  bool contract;

  constexpr int op1(op o, dtype t, int a) { return to.operation(o, t, a); }
  /// Appends `a o b`; with `contract`, a sum of a product becomes an fma.
  constexpr int op2(op o, dtype t, int a, int b) {
    if (contract && is_float(t) && (o == op::add || o == op::sub)) {
      node const x = to.at(a), y = to.at(b);
      if (y.kind == op::mul) {
        int const left = o == op::add ? y.a : op1(op::neg, t, y.a);
        return to.operation(op::fma, t, left, y.b, a);
      }
      if (x.kind == op::mul) {
        int const added = o == op::add ? b : op1(op::neg, t, b);
        return to.operation(op::fma, t, x.a, x.b, added);
      }
    }
    return to.operation(o, t, a, b);
  }
  template <class T>
  constexpr int number(T value) {
    return to.literal(dtype_of<T>, to_bits(value));
  }

  /// e^x = 2^n * e^r with n = round(x / ln 2), |r| <= ln 2 / 2 (Cody and Waite, Software Manual for the
  /// Elementary Functions, 1980, chapter 6), and e^r by its Taylor series. 2^n is applied in two halves, so
  /// that denormal results round once and the largest finite ones are reached. Error below 1 ulp.
  template <class T, class Int>
  constexpr int exp(int x) {
    constexpr bool f32 = sizeof(T) == 4;
    constexpr dtype t = dtype_of<T>, i = dtype_of<Int>;
    constexpr T low = f32 ? T(-104) : T(-746), high = f32 ? T(89) : T(710);
    // Adding 1.5 * 2^mantissa rounds to an integer, which then stands in the low bits.
    constexpr T magic = f32 ? T(12582912.0) : T(6755399441055744.0);
    // ln 2 in two parts; the first has enough trailing zeros that n * part is exact.
    constexpr T ln2_high = f32 ? T(0.693359375) : T(6.93147180369123816490e-01);
    constexpr T ln2_low = f32 ? T(-2.12194440054690583e-4) : T(1.90821492927058770002e-10);
    constexpr int degree = f32 ? 7 : 13;
    // The operand order keeps a NaN: max(low, NaN) is NaN.
    x = op2(op::max, t, number(low), x);
    x = op2(op::min, t, number(high), x);
    int const shifted = op2(op::add, t, op2(op::mul, t, x, number(T(1.44269504088896340736))), number(magic));
    int const n = op2(op::sub, t, shifted, number(magic));
    int r = op2(op::sub, t, x, op2(op::mul, t, n, number(ln2_high)));
    r = op2(op::sub, t, r, op2(op::mul, t, n, number(ln2_low)));
    double factorial = 1;
    for (int k = 2; k <= degree; ++k) factorial *= k;
    int p = number(T(1 / factorial));
    for (int k = degree; k > 2; --k) {
      factorial /= k;
      p = op2(op::add, t, number(T(1 / factorial)), op2(op::mul, t, p, r));
    }
    p = op2(op::add, t, r, op2(op::mul, t, op2(op::mul, t, r, r), p));
    p = op2(op::add, t, number(T(1)), p);
    auto const as_int = [&](int id) { return op1(op::bitcast, i, id); };
    int const whole = op2(op::sub, i, as_int(shifted), number(std::bit_cast<Int>(magic)));
    int const half = op2(op::shr, i, whole, number(Int(1)));
    auto const power = [&](int e) {
      int const biased = op2(op::add, i, e, number(Int(f32 ? 127 : 1023)));
      return op1(op::bitcast, t, op2(op::shl, i, biased, number(Int(f32 ? 23 : 52))));
    };
    p = op2(op::mul, t, p, power(half));
    return op2(op::mul, t, p, power(op2(op::sub, i, whole, half)));
  }
};
}  // namespace detail

/// The same program in elementary operations. `contract`: whether a * b + c on floats is rounded once;
/// the target decides (target::fma), and direct evaluation is told the same.
/// Errors  argument_error for what is nested too deep
constexpr program expand(program const& p, bool contract) {
  program to = p;
  to.nodes.clear();
  detail::expansion e{to, contract};
  sequence<std::int32_t> at(p.nodes.size(), -1);
  auto const mapped = [&](int id) { return id < 0 ? -1 : at[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    node n = p.nodes[i];
    if (n.kind == op::exp) {
      at[i] = n.type == dtype::f32 ? e.exp<float, std::int32_t>(mapped(n.a)) : e.exp<double, std::int64_t>(mapped(n.a));
    } else if (arity(n.kind) == 2) {
      // A comparison's type is bool; what is contracted is told apart by the operation.
      at[i] = e.op2(n.kind, n.type, mapped(n.a), mapped(n.b));
    } else {
      if (arity(n.kind) > 0) n.a = mapped(n.a), n.b = mapped(n.b), n.c = mapped(n.c);
      at[i] = to.add(n);
    }
  }
  for (std::int32_t& i : to.operands) i = mapped(i);
  for (std::int32_t& i : to.extents) i = mapped(i);
  for (axis_info& a : to.axes) a.extent = mapped(a.extent);
  for (result_info& r : to.results) r.body = mapped(r.body);
  if (!std::is_constant_evaluated()) check_depth(to, 6000);  // an exp is a dozen operations deep
  return to;
}

}  // namespace weft::inline WEFT_ABI
