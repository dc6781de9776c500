// The operations, shared by programs and loop IR, and the one definition of what each computes.
//
// Direct evaluation, the interpreter and constant folding all call `apply`; both code generators print each
// operation to match it. Where a machine would leave a result open, the table below decides:
//   integers wrap; x / 0 and x % 0 are 0; `div rem` truncate, `floor_div floor_mod` round down;
//   shifts take the amount modulo the width; `shr` is arithmetic on signed types;
//   min(a, b) = a < b ? a : b and max(a, b) = a > b ? a : b, for floats too: a NaN in either gives b;
//   sqrt is rounded once; `floor ceil trunc round` keep the sign of a zero, and a half goes to the even neighbour;
//   float -> integer truncates and saturates, NaN gives 0; anything -> bool is `!= 0`; integer -> narrower integer
//   wraps; to f16 and bf16 everything goes through f32 and rounds to nearest even (base/half.hpp).
// Integers of all widths compute, and wrap; f16 and bf16 know load, store, cast, bitcast and select only.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "weft/base/dtype.hpp"

namespace weft::inline WEFT_ABI {

enum class op : std::uint8_t {
  // leaves
  literal,  // value: the bits
  extent,   // program only: one dimension of an input
  scalar,   // a plain number given at each call
  axis,     // program: an axis of a stage; IR: a loop variable
  load,     // an element of a tensor or buffer
  self,     // the accumulator inside a reduction's update
  // vectors, IR only
  ramp,       // base, base + 1, ... one per lane
  broadcast,  // the same in every lane
  instruction,  // its operand, which one instruction computes where the machine has it
  // one operand
  neg,
  logical_not,
  cast,
  bitcast,
  sqrt,
  floor,
  ceil,
  trunc,
  round,
  // math of one operand: replaced by arithmetic before lowering (expr/math)
  abs,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log1p,
  rsqrt,
  sin,
  cos,
  tan,
  atan,
  tanh,
  sigmoid,
  erf,
  gelu,
  // two operands
  add,
  sub,
  mul,
  div,
  rem,
  floor_div,
  floor_mod,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  lt,
  le,
  eq,
  ne,
  logical_and,
  logical_or,
  scaleb,  // a * 2^b, of floats: what the exponentials of expr/math end in; b is an integer, from -2 to 2 exponent biases
  // math of two operands, replaced too; so is `rem` of floats, which is C's fmod
  copysign,
  pow,
  atan2,
  // three operands
  fma,     // a * b + c, rounded once
  select,  // a ? b : c; a load in the branch not taken is not performed
  rare,    // a ? b : c; machine code jumps over b where no lane wants it
  blend,   // program only: a ? b : c, where b and c read nothing that is not read anyway
};
inline constexpr int op_count = static_cast<int>(op::blend) + 1;

constexpr std::string_view name(op o) {
  constexpr char const* names[] = {
      "literal", "extent", "scalar",  "axis", "load",  "self", "ramp", "broadcast", "instruction", "neg",  "not",  "cast", "bitcast",
      "sqrt",    "floor",  "ceil",    "trunc", "round", "abs",  "exp",  "exp2",      "expm1", "log", "log2", "log1p",
      "rsqrt",   "sin",    "cos",     "tan",  "atan",  "tanh", "sigmoid", "erf",    "gelu", "add",  "sub",  "mul",
      "div",     "rem",    "fdiv",    "fmod", "min",   "max",  "band", "bor",       "bxor", "shl",  "shr",  "lt",
      "le",      "eq",     "ne",      "and",  "or",    "scaleb", "copysign", "pow", "atan2",  "fma",  "select", "rare",
      "blend"};
  static_assert(sizeof(names) / sizeof(names[0]) == op_count);
  return names[static_cast<int>(o)];
}
constexpr int arity(op o) {
  return o <= op::self ? 0 : o <= op::gelu ? 1 : o <= op::atan2 ? 2 : 3;
}
/// Whether `expand` replaces the operation on operands of type `t` by others.
constexpr bool is_math(op o, dtype t) {
  return (o >= op::abs && o <= op::gelu) || (o >= op::copysign && o <= op::atan2) || (o == op::rem && is_float(t));
}
/// a ? b : c
constexpr bool is_choice(op o) { return o >= op::select; }
constexpr bool is_comparison(op o) { return o >= op::lt && o <= op::ne; }

// An element of any dtype as 64 bits: integers sign- or zero-extended, narrow floats in the low bits.
template <element T>
constexpr std::int64_t to_bits(T value) {
  if constexpr (!is_float(dtype_of<T>))
    return static_cast<std::int64_t>(value);
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<std::uint16_t>(value);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<std::uint32_t>(value);
  else
    return std::bit_cast<std::int64_t>(value);
}
template <element T>
constexpr T from_bits(std::int64_t bits) {
  if constexpr (!is_float(dtype_of<T>))
    return static_cast<T>(bits);
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  else
    return std::bit_cast<T>(bits);
}
/// The low bits of `bits` as an element of `t`.
constexpr std::int64_t wrapped(dtype t, std::int64_t bits) {
  int const unused = 64 - 8 * size_bytes(t);
  auto const up = static_cast<std::uint64_t>(bits) << unused;
  return is_signed_integer(t) ? static_cast<std::int64_t>(up) >> unused : static_cast<std::int64_t>(up >> unused);
}
/// Whether `bits` are those that to_bits gives of some element of `t`.
constexpr bool is_element(dtype t, std::int64_t bits) {
  return t == dtype::boolean ? (bits | 1) == 1 : wrapped(t, bits) == bits;
}
/// The bits of +infinity in a float type; those above are NaN.
constexpr std::int64_t infinity_bits(dtype t) {
  return t == dtype::f16 ? 0x7c00 : t == dtype::bf16 ? 0x7f80 : t == dtype::f32 ? 0x7f800000 : 0x7ff0000000000000;
}
constexpr std::int64_t sign_bit(dtype t) { return std::int64_t(std::uint64_t(1) << (8 * size_bytes(t) - 1)); }

namespace detail {
constexpr std::int64_t from_f32(dtype to, float x) {
  std::int64_t const bits = to_bits(x);
  auto const word = static_cast<std::uint32_t>(bits);
  if (to == dtype::f16) return f16_bits_of_f32(word);
  if (to == dtype::bf16) return bf16_bits_of_f32(word);
  return bits;
}
constexpr float to_f32(dtype from, std::int64_t bits) {
  auto const word = static_cast<std::uint32_t>(bits);
  return std::bit_cast<float>(from == dtype::f16    ? f32_bits_of_f16(word)
                              : from == dtype::bf16 ? f32_bits_of_bf16(word)
                                                    : word);
}
}  // namespace detail

/// op::cast. Not a template over both types: their pairs cost each including TU more than these branches do a run.
constexpr std::int64_t converted(dtype from, dtype to, std::int64_t bits) {
  if (from == to) return bits;
  if (!is_float(from)) {
    if (to == dtype::boolean) return bits != 0;
    if (!is_float(to)) return wrapped(to, bits);
    auto const natural = static_cast<std::uint64_t>(bits);
    bool const above = from == dtype::u64;
    if (to == dtype::f64) return to_bits(above ? static_cast<double>(natural) : static_cast<double>(bits));
    return detail::from_f32(to, above ? static_cast<float>(natural) : static_cast<float>(bits));
  }
  if (is_float(to) && to != dtype::f64)
    return detail::from_f32(
        to, from == dtype::f64 ? static_cast<float>(from_bits<double>(bits)) : detail::to_f32(from, bits));
  double const x = from == dtype::f64 ? from_bits<double>(bits) : detail::to_f32(from, bits);
  if (to == dtype::f64) return to_bits(x);
  if (to == dtype::boolean) return x != 0;
  if ((to_bits(x) & INT64_MAX) > infinity_bits(dtype::f64)) return 0;
  bool const negative = is_signed_integer(to);
  int const width = 8 * size_bytes(to) - negative;
  double const limit = 2.0 * static_cast<double>(std::uint64_t(1) << (width - 1));  // one more than the largest
  std::uint64_t const largest = ~std::uint64_t(0) >> (64 - width);
  if (x >= limit) return static_cast<std::int64_t>(largest);
  if (!negative) return x <= 0 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(x));
  return x <= -limit ? static_cast<std::int64_t>(~largest) : static_cast<std::int64_t>(x);
}

namespace detail {
template <class T>
constexpr T integer_op(op o, T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned mask = sizeof(T) * 8 - 1;
  auto const ua = static_cast<U>(a), ub = static_cast<U>(b);
  switch (o) {
    case op::add: return static_cast<T>(static_cast<U>(ua + ub));
    case op::sub: return static_cast<T>(static_cast<U>(ua - ub));
    case op::mul: return static_cast<T>(static_cast<U>(std::uint64_t(ua) * std::uint64_t(ub)));
    case op::bit_and: return static_cast<T>(ua & ub);
    case op::bit_or: return static_cast<T>(ua | ub);
    case op::bit_xor: return static_cast<T>(ua ^ ub);
    case op::shl: return static_cast<T>(static_cast<U>(std::uint64_t(ua) << (ub & mask)));
    case op::shr: return static_cast<T>(a >> (ub & mask));
    default: break;
  }
  if (b == 0) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
    bool const quotient = o == op::div || o == op::floor_div;
    return quotient ? static_cast<T>(static_cast<U>(U(0) - ua)) : T(0);
  }
  auto const q = static_cast<T>(a / b), r = static_cast<T>(a % b);
  bool const down = r != 0 && ((r < 0) != (b < 0));
  switch (o) {
    case op::div: return q;
    case op::rem: return r;
    case op::floor_div: return down ? static_cast<T>(q - 1) : q;
    case op::floor_mod: return down ? static_cast<T>(r + b) : r;
    default: return 0;
  }
}
/// floor, ceil, trunc, round, by arithmetic that the compiler can do too: adding and taking away 2^23 (2^52) leaves
/// the integer nearest to |x|, which is 1 too far at most.
template <class T>
constexpr T rounded(op o, T x) {
  constexpr T whole = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  T const size = x < 0 ? -x : x;
  if (!(size < whole)) return x == x ? x : x + x;
  if (x == 0) return x;
  T const nearest = (size + whole) - whole;
  bool const down = o == op::trunc || o == (x < 0 ? op::ceil : op::floor);
  bool const up = o == (x < 0 ? op::floor : op::ceil);
  T const r = down && nearest > size ? nearest - 1 : up && nearest < size ? nearest + 1 : nearest;
  return x < 0 ? -r : r;
}
/// op::scaleb: b may be twice as large as an exponent is, so by two powers of two. Rounds once where a is normal and near 1.
template <class T>
constexpr T scaled(T a, T b) {
  using word = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  constexpr int bias = sizeof(T) == 4 ? 127 : 1023, mantissa = sizeof(T) == 4 ? 23 : 52;
  if (!(b >= -2 * bias && b <= 2 * bias)) return a * b;  // NaN
  int const n = static_cast<int>(b), half = n >> 1;
  auto const power = [](int e) { return std::bit_cast<T>(static_cast<word>(static_cast<word>(e + bias) << mantissa)); };
  return a * power(half) * power(n - half);
}
}  // namespace detail

/// The value of a one-, two- or three-operand arithmetic operation on bool, i64, u64, f32 or f64: `apply` below has
/// narrower integers as 64 bits. Comparisons, casts and choices are answered there.
template <element T>
constexpr T arithmetic(op o, T a, T b, T c) {
  if (o == op::min) return a < b ? a : b;
  if (o == op::max) return a > b ? a : b;
  if constexpr (std::is_same_v<T, bool>) {
    switch (o) {
      case op::logical_not: return !a;
      case op::logical_and:
      case op::mul:
      case op::bit_and: return a && b;
      case op::logical_or:
      case op::bit_or: return a || b;
      case op::bit_xor:
      case op::add: return a != b;
      default: return false;
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (o) {
      case op::neg: return -a;
      case op::add: return a + b;
      case op::sub: return a - b;
      case op::mul: return a * b;
      case op::div: return a / b;
      case op::fma:
        if constexpr (std::is_same_v<T, float>)
          return __builtin_fmaf(a, b, c);
        else
          return __builtin_fma(a, b, c);
      case op::sqrt:
        if constexpr (std::is_same_v<T, float>)
          return __builtin_sqrtf(a);
        else
          return __builtin_sqrt(a);
      case op::scaleb: return detail::scaled(a, b);
      case op::floor:
      case op::ceil:
      case op::trunc:
      case op::round: return detail::rounded(o, a);
      default: return T{};
    }
  } else {
    if (o == op::neg) return detail::integer_op<T>(op::sub, T(0), a);
    if (o == op::fma) return detail::integer_op<T>(op::add, detail::integer_op<T>(op::mul, a, b), c);
    return detail::integer_op<T>(o, a, b);
  }
}

namespace detail {
/// Calls `f` with the type that `arithmetic` computes elements of `t` in. (f16 and bf16 do not come here: verified
/// programs compute nothing in them.)
template <class F>
constexpr std::int64_t with_arithmetic_type(dtype t, F&& f) {
  if (t == dtype::f32) return f(float{});
  if (t == dtype::f64) return f(double{});
  if (t == dtype::boolean) return f(bool{});
  return is_signed_integer(t) ? f(std::int64_t{}) : f(std::uint64_t{});
}
}  // namespace detail

/// Operand bits in, result bits out. `type` is the operands' type (for cast and bitcast: the source's, with
/// `to` the target's); a choice's condition is in `a`.
constexpr std::int64_t apply(op o, dtype type, std::int64_t a, std::int64_t b = 0, std::int64_t c = 0,
                             dtype to = dtype::boolean) {
  if (is_choice(o)) return a ? b : c;
  if (o == op::cast) return converted(type, to, a);
  if (o == op::bitcast) return wrapped(to, a);
  if (o == op::shl || o == op::shr) b &= 8 * size_bytes(type) - 1;
  return detail::with_arithmetic_type(type, [&]<class T>(T) -> std::int64_t {
    T const x = from_bits<T>(a), y = from_bits<T>(b);
    switch (o) {
      case op::lt: return x < y;
      case op::le: return x <= y;
      case op::eq: return x == y;
      case op::ne: return x != y;
      default: return wrapped(type, to_bits(arithmetic<T>(o, x, y, from_bits<T>(c))));
    }
  });
}

}  // namespace weft::inline WEFT_ABI
