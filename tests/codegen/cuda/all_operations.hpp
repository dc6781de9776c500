// Every operation and every cast of a type as one kernel, and what base/op.hpp says of its results.
#pragma once

#include <string>

#include "codegen/cuda/programs.hpp"
#include "weft/base/op.hpp"
#include "weft/pass/legalise.hpp"

namespace weft_test {

inline weft::sequence<dtype> all_types() {
  weft::sequence<dtype> all;
  for (int t = 0; t < dtype_count; ++t) all.push_back(static_cast<dtype>(t));
  return all;
}
inline weft::sequence<dtype> const types = all_types();

inline weft::sequence<op> operations(dtype t) {
  if (is_half(t)) return {};
  if (t == dtype::boolean)
    return {op::add,    op::mul,     op::min,         op::max,        op::bit_and,
            op::bit_or, op::bit_xor, op::logical_and, op::logical_or, op::logical_not};
  if (is_float(t)) return {op::neg, op::add, op::sub, op::mul, op::div, op::min, op::max, op::fma, op::sqrt, op::floor, op::ceil, op::trunc, op::round};
  return {op::neg, op::add, op::sub, op::mul, op::div,     op::rem,    op::floor_div, op::floor_mod,
          op::min, op::max, op::shl, op::shr, op::bit_and, op::bit_or, op::bit_xor,   op::fma};
}
inline constexpr op comparisons[] = {op::lt, op::le, op::eq, op::ne};

// The values at which definitions differ: limits, zeros, signs, halves, what just fits an integer and what does not.
inline weft::sequence<std::int64_t> edges(dtype t) {
  switch (t) {
    case dtype::boolean: return {0, 1};
    case dtype::i8: return {0, 1, -1, 2, 7, 9, 100, 127, -127, -128};
    case dtype::i16: return {0, 1, -1, 2, 7, 15, 17, 255, 256, 32767, -32767, -32768};
    case dtype::u8: return {0, 1, 2, 7, 8, 127, 128, 200, 255};
    case dtype::u16: return {0, 1, 2, 15, 16, 17, 255, 256, 32767, 32768, 65535};
    case dtype::u32: return {0, 1, 2, 31, 33, 65537, INT32_MAX, 1LL << 31, UINT32_MAX - 1, UINT32_MAX};
    case dtype::u64: return {0, 1, 3, 63, 65, UINT32_MAX, (1LL << 53) + 1, INT64_MAX, INT64_MIN, -2, -1};
    case dtype::f16:
      return {0, 0x8000, 1, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x2e66, 0x5bf8, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00};
    case dtype::bf16:
      return {0, 0x8000, 1, 0x7f, 0x80, 0x3f80, 0xbfc0, 0x437f, 0x4f00, 0xcf00, 0x5f00, 0x7f7f, 0x7f80, 0xff80, 0x7fc0};
    case dtype::i32: return {0, 1, -1, 2, -2, 7, -7, 31, 33, 65537, INT32_MAX, INT32_MIN, INT32_MIN + 1};
    case dtype::i64:
      return {0,         1,         -1,           3, -3, 63, 65, INT32_MAX, (1LL << 53) + 1, 0x123456789abcdefLL,
              INT64_MAX, INT64_MIN, INT64_MIN + 1};
    default: break;
  }
  weft::sequence<std::int64_t> bits;
  for (double v : {0.0,
                   -0.0,
                   1.0,
                   -1.0,
                   0.1,
                   -0.75,
                   -0.5,
                   2.5,
                   1.5,
                   254.9,
                   255.0,
                   256.0,
                   2147483647.0,
                   2147483648.0,
                   -2147483648.0,
                   -2147483904.0,
                   4294967295.0,
                   65519.0,
                   65520.0,
                   0x1p-14,
                   0x1.8p-24,
                   18446744073709551615.0,
                   9223372036854775808.0,
                   -9223372036854775808.0,
                   1e30,
                   -1e30,
                   1e-30,
                   __builtin_inf(),
                   -__builtin_inf(),
                   __builtin_nan("")})
    bits.push_back(t == dtype::f32 ? to_bits(static_cast<float>(v)) : to_bits(v));
  bits.push_back(1);  // the smallest denormal
  return bits;
}
inline bool is_nan(dtype t, std::int64_t bits) { return is_float(t) && (bits & ~sign_bit(t)) > infinity_bits(t); }

/// One kernel: R[o, i] = A[i] o B[i] (and C[i]) for each operation o, Q[o, i] for comparisons, and a row of a
/// matrix per target type for the casts.
inline void make_all(loop_program& p, dtype t, std::int64_t n) {
  weft::sequence<op> const all = operations(t);
  ir::expr const count = p.number(n), i = p.variable("i");
  auto* const a = p.buffer("A", t, {count}, false);
  auto* const b = p.buffer("B", t, {count}, false);
  auto* const c = p.buffer("C", t, {count}, false);
  auto* const r = p.buffer("R", t, {p.number(static_cast<std::int64_t>(all.size()) + 1), count}, true);
  auto* const q = p.buffer("Q", dtype::boolean, {p.number(4), count}, true);
  ir::expr const x = p.load(a, {i}), y = p.load(b, {i}), z = p.load(c, {i});
  weft::sequence<ir::stmt> body;
  auto const row = [&](ir::buffer const* to, std::size_t number, ir::expr value) {
    body.push_back(p.store(to, {p.number(static_cast<std::int64_t>(number)), i}, value));
  };
  for (std::size_t o = 0; o < all.size(); ++o) {
    int const operands = arity(all[o]);
    row(r, o,
        operands == 1   ? ir::unary(p.m, all[o], x)
        : operands == 2 ? p.two(all[o], x, y)
                        : ir::ternary(p.m, all[o], x, y, z));
  }
  // Halves are compared by their bits.
  auto const word = [&](ir::expr e) { return is_half(t) ? ir::cast(p.m, op::bitcast, dtype::u16, e) : e; };
  row(r, all.size(),
      ir::ternary(p.m, op::select, p.two(op::lt, word(x), word(y)), z, ir::literal(p.m, t, edges(t)[1])));
  for (std::size_t o = 0; o < 4; ++o) row(q, o, p.two(comparisons[o], word(x), word(y)));
  for (dtype to : types)
    row(p.buffer("to_" + std::string(name(to)), to, {p.number(1), count}, true), 0, ir::cast(p.m, op::cast, to, x));
  p.f.body = legalise(p.m, p.loop(loop_kind::parallel, i, count, ir::block(p.m, body)), true);
}

inline weft::sequence<unsigned char> packed(dtype t, weft::sequence<std::int64_t> const& bits) {
  weft::sequence<unsigned char> bytes;
  for (std::int64_t v : bits)
    for (int k = 0; k < size_bytes(t); ++k) bytes.push_back(static_cast<unsigned char>(v >> (8 * k)));
  return bytes;
}
inline std::int64_t element_at(dtype t, weft::sequence<unsigned char> const& bytes, std::size_t i) {
  return with_dtype(t, [&]<class T>(T v) {
    __builtin_memcpy(&v, &bytes[i * sizeof(T)], sizeof(T));
    return to_bits(v);
  });
}

/// The memory of the kernel of one type, with all pairs of edge values as inputs.
struct all_operations {
  explicit all_operations(dtype type) : t(type) {
    weft::sequence<std::int64_t> const values = edges(t);
    for (std::int64_t x : values)
      for (std::int64_t y : values) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(values[(a.size() * 7) % values.size()]);
      }
    for (auto const* all : {&a, &b, &c}) memory.push_back(packed(t, *all));
    memory.push_back(weft::sequence<unsigned char>(a.size() * (operations(t).size() + 1) * 8));
    memory.push_back(weft::sequence<unsigned char>(a.size() * 4));
    for (std::size_t i = 0; i < types.size(); ++i) memory.push_back(weft::sequence<unsigned char>(a.size() * 8));
  }
  /// Of the first results that are not what base/op.hpp says, one line each; empty: all are.
  std::string wrong() const {
    std::string found;
    int count = 0;
    std::size_t const n = a.size();
    weft::sequence<op> const all = operations(t);
    dtype const compared = is_half(t) ? dtype::u16 : t;
    auto const check = [&](dtype type, std::int64_t got, std::int64_t wanted, std::string_view what, std::size_t i) {
      if (got == wanted || (is_nan(type, got) && is_nan(type, wanted)) || ++count > 10) return;
      found += std::string(name(t)) + " " + std::string(what) + "(" + std::to_string(a[i]) + ", " + std::to_string(b[i]) + ", " +
               std::to_string(c[i]) + ") = " + std::to_string(got) + ", not " + std::to_string(wanted) + "\n";
    };
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t o = 0; o < all.size(); ++o)
        check(t, element_at(t, memory[3], o * n + i), apply(all[o], t, a[i], b[i], c[i]), name(all[o]), i);
      std::int64_t const chosen = apply(op::lt, compared, a[i], b[i]) ? c[i] : edges(t)[1];
      check(t, element_at(t, memory[3], all.size() * n + i), chosen, "select", i);
      for (std::size_t o = 0; o < 4; ++o)
        check(dtype::boolean, memory[4][o * n + i], apply(comparisons[o], compared, a[i], b[i]), name(comparisons[o]), i);
      for (dtype target : types) {
        std::int64_t const wanted = target == t ? a[i] : apply(op::cast, t, a[i], 0, 0, target);
        check(target, element_at(target, memory[5 + static_cast<std::size_t>(target)], i), wanted, name(target), i);
      }
    }
    return found;
  }

  dtype t;
  weft::sequence<std::int64_t> a, b, c;
  weft::sequence<weft::sequence<unsigned char>> memory;  // in the order of the kernel's pointers
};

}  // namespace weft_test
