#include "weft/base/half.hpp"
#include "weft/ir/lane_spans.hpp"
#include "weft/pass/legalise.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// An expression of i32 with the operators that the definitions of base/half.hpp are written in.
struct ir_word {
  ir::arena* m;
  ir::expr e;

  ir_word with(op kind, ir_word o) const { return {m, ir::binary(*m, kind, e, o.e)}; }
  friend ir_word like(ir_word w, std::uint32_t constant) {
    return {w.m, ir::literal(*w.m, dtype::i32, wrapped(dtype::i32, constant), w.e->lanes)};
  }
  friend ir_word operator|(ir_word a, ir_word b) { return a.with(op::bit_or, b); }
  friend ir_word operator&(ir_word a, std::uint32_t b) { return a.with(op::bit_and, like(a, b)); }
  friend ir_word operator|(ir_word a, std::uint32_t b) { return a.with(op::bit_or, like(a, b)); }
  friend ir_word operator+(ir_word a, std::uint32_t b) { return a.with(op::add, like(a, b)); }
  friend ir_word operator+(ir_word a, ir_word b) { return a.with(op::add, b); }
  friend ir_word operator<<(ir_word a, std::uint32_t b) { return a.with(op::shl, like(a, b)); }
  friend ir_word operator>>(ir_word a, std::uint32_t b) { return a.with(op::shr, like(a, b)); }
  friend ir::expr operator<(ir_word a, ir_word b) { return ir::binary(*a.m, op::lt, a.e, b.e); }
  friend ir::expr operator>(ir_word a, ir_word b) { return b < a; }
  friend ir_word choose(ir::expr condition, ir_word a, ir_word b) {
    return {a.m, ir::ternary(*a.m, op::select, condition, a.e, b.e)};
  }
  ir_word on_floats(op kind, ir_word o) const {
    auto const as_float = [&](ir::expr x) { return ir::cast(*m, op::bitcast, dtype::f32, x); };
    return {m, ir::cast(*m, op::bitcast, dtype::i32, ir::binary(*m, kind, as_float(e), as_float(o.e)))};
  }
  friend ir_word float_sum(ir_word a, ir_word b) { return a.on_floats(op::add, b); }
  friend ir_word float_difference(ir_word a, ir_word b) { return a.on_floats(op::sub, b); }
};

/// Leaves choices out that differ only in lanes which are not stored.
class stored_lanes final : public ir::rewriter {
 public:
  stored_lanes(ir::arena& m, ir::expr mask) : ir::rewriter(m), mask_(mask) {}

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override { return e->kind == op::select && e->lanes == mask_->lanes && follows(e->a) ? (*this)(e->b) : nullptr; }

 private:
  /// A comparison of indices: whether, by lane, `first` and this number are less than 0.
  struct below_zero {
    linear first{};
    sequence<std::int64_t> lanes{};
  };
  bool read(ir::expr condition, below_zero& into) {
    if ((condition->kind != op::lt && condition->kind != op::le) || condition->a->type != dtype::i64) return false;
    lane_spans spans(m_, condition->lanes);
    lane_span const x = spans.of(condition->a), y = spans.of(condition->b);
    if (!x.is_exact() || !y.is_exact()) return false;
    if (x.first != nullptr) into.first.add(linear_form(x.first), 1);
    if (y.first != nullptr) into.first.add(linear_form(y.first), -1);
    for (std::size_t l = 0; l < x.low.size(); ++l) into.lanes.push_back(x.low[l] - y.low[l] - (condition->kind == op::le));
    return true;
  }
  /// Whether the condition holds in all lanes in which the mask does.
  bool follows(ir::expr condition) {
    if (condition == mask_) return true;
    below_zero have, want;
    if (!read(mask_, have) || !read(condition, want)) return false;
    want.first.add(have.first, -1);
    std::int64_t constexpr far = lane_span::far;
    if (want.first.terms.size() > 0 || want.first.constant > far || want.first.constant < -far) return false;
    bool all = true;
    for (std::size_t l = 0; l < want.lanes.size(); ++l) all = all && want.lanes[l] + want.first.constant <= have.lanes[l];
    return all;
  }
  ir::expr mask_;
};

class legaliser final : public ir::rewriter {
 public:
  legaliser(ir::arena& m, bool converts_f16, bool scales) : ir::rewriter(m), converts_f16_(converts_f16), scales_(scales) {}

 protected:
  ir::stmt replace(ir::stmt s) override {
    if (s->kind == ir::stmt_kind::tile && s->role != ir::tile_role::store) return s;
    if (s->kind != ir::stmt_kind::store || s->mask == nullptr) return nullptr;
    ir::stmt_node n = *s;
    n.value = stored_lanes(m_, s->mask)(s->value);
    return n.value != s->value ? children(m_.make(n)) : nullptr;
  }
  ir::expr replace(ir::expr e) override {
    if (e->kind == op::scaleb) {
      int const bytes = e->lanes * size_bytes(e->type);
      if (scales_ && (bytes == 16 || bytes == 32 || bytes == 64)) return nullptr;
      return by_powers((*this)(e->a), (*this)(e->b));
    }
    if (ir::expr const sum = sum_of_some_lanes(e); sum != nullptr) return (*this)(sum);
    if (e->kind != op::cast || !(is_half(e->type) || is_half(e->a->type))) return nullptr;
    ir::expr a = (*this)(e->a);
    if (is_half(a->type)) a = widened(a);
    if (!is_half(e->type)) return ir::cast(m_, op::cast, e->type, a);
    return narrowed(ir::cast(m_, op::cast, dtype::f32, a), e->type);
  }

 private:
  ir::expr as(op kind, dtype t, ir::expr e) { return ir::cast(m_, kind, t, e); }
  ir::expr widened(ir::expr half) {
    if (half->type == dtype::f16 && converts_f16_) return as(op::cast, dtype::f32, half);
    ir_word const h{&m_, as(op::cast, dtype::i32, as(op::bitcast, dtype::u16, half))};
    return as(op::bitcast, dtype::f32, (half->type == dtype::f16 ? f32_bits_of_f16(h) : f32_bits_of_bf16(h)).e);
  }
  ir::expr narrowed(ir::expr wide, dtype to) {
    if (to == dtype::f16 && converts_f16_) return as(op::cast, to, wide);
    ir_word const x{&m_, as(op::bitcast, dtype::i32, wide)};
    ir_word const half = to == dtype::f16 ? f16_bits_of_f32(x) : bf16_bits_of_f32(x);
    return as(op::bitcast, to, as(op::cast, dtype::u16, half.e));
  }

  /// a * 2^b: `b` and twice the bias of an exponent, which half of it each power of two has, in the low bits of a float.
  ir::expr by_powers(ir::expr a, ir::expr b) {
    bool const single = a->type == dtype::f32;
    dtype const word = single ? dtype::i32 : dtype::i64;
    std::int64_t const magic = single ? to_bits(0x1.8p23f + 254) : to_bits(0x1.8p52 + 2046);
    int const mantissa = single ? 23 : 52;
    ir::expr const above = ir::literal(m_, a->type, magic, a->lanes);
    // An exponential takes just that off, so it has the sum.
    ir::expr const sum = b->kind == op::sub && b->b == above ? b->a : ir::binary(m_, op::add, b, above);
    auto const number = [&](std::int64_t n) { return ir::literal(m_, word, n, a->lanes); };
    ir::expr const bits = as(op::bitcast, word, sum), whole = ir::binary(m_, op::shl, bits, number(mantissa));
    ir::expr const half = ir::binary(m_, op::bit_and, ir::binary(m_, op::shl, bits, number(mantissa - 1)),
                                     number(-(std::int64_t(1) << mantissa)));
    auto const times = [&](ir::expr x, ir::expr power) { return ir::binary(m_, op::mul, x, as(op::bitcast, a->type, power)); };
    return times(times(a, half), ir::binary(m_, op::sub, whole, half));
  }

  /// Whether it is a number that was computed: one from memory may be a NaN that arithmetic would make quiet.
  static bool is_computed(ir::expr e) {
    if (e->kind == op::select) return is_computed(e->b) && is_computed(e->c);
    return e->kind == op::fma || e->kind == op::literal || (e->kind == op::load && e->buf->where == ir::scope::registers);
  }
  /// select(c, fma(x, y, s), s), where `c` decides by lane, as 0 * -0 + s in the lanes that are left out. The compiler makes no masked product of a mask
  /// that it knows; and LLVM 22 loads `x` without its mask where `s` is zero, in front of the buffer then.
  ir::expr sum_of_some_lanes(ir::expr e) {
    if (e->kind != op::select || e->lanes == 1 || e->b->kind != op::fma || e->b->c != e->c || (e->type != dtype::f32 && e->type != dtype::f64))
      return nullptr;
    if (e->a->kind == op::broadcast || !is_computed(e->c)) return nullptr;
    auto const kept = [&](ir::expr x, double none) {
      std::int64_t const bits = e->type == dtype::f32 ? to_bits(static_cast<float>(none)) : to_bits(none);
      return ir::ternary(m_, op::select, e->a, x, ir::literal(m_, e->type, bits, e->lanes));
    };
    return ir::ternary(m_, op::fma, kept(e->b->a, 0.0), kept(e->b->b, -0.0), e->c);
  }

  bool converts_f16_, scales_;
};
}  // namespace detail

WEFT_DECL ir::stmt legalise(ir::arena& m, ir::stmt s, bool converts_f16, bool scales) {
  return detail::legaliser(m, converts_f16, scales)(s);
}

}  // namespace weft::inline WEFT_ABI
