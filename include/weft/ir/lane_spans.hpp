// Vectors of indices: where all lanes begin, and how far from there each of them may be.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/ir/linear.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// An index of several lanes as `first`, the same in all of them, and what each lane adds: between `low` and `high`.
struct lane_span {
  static constexpr std::int64_t far = std::int64_t(1) << 40;  // that far and further is not known
  ir::expr first = nullptr;  // null: 0
  ir::expr rest = nullptr;   // what the lanes add
  sequence<std::int64_t> low{}, high{};

  bool is_exact() const { return low == high; }
  std::int64_t least() const {
    std::int64_t x = low[0];
    for (std::int64_t l : low) x = l < x ? l : x;
    return x;
  }
  std::int64_t most() const {
    std::int64_t x = high[0];
    for (std::int64_t h : high) x = h > x ? h : x;
    return x;
  }
};

class lane_spans {
 public:
  lane_spans(ir::arena& m, int lanes) : m_(m), lanes_(lanes) {}

  lane_span of(ir::expr e) {
    lane_span s;
    s.rest = e;
    s.low.resize(size(), -lane_span::far), s.high.resize(size(), lane_span::far);
    if (--fuel_ < 0) return s;
    if (e->lanes == 1) {
      s.first = e;
      s.rest = ir::index(m_, 0);
      return fill(s, [](std::size_t) { return 0; });
    }
    switch (e->kind) {
      case op::literal: return fill(s, [&](std::size_t) { return e->value; });
      case op::broadcast:
        s.first = e->a;
        s.rest = ir::literal(m_, dtype::i64, 0, lanes_);
        return fill(s, [](std::size_t) { return 0; });
      case op::ramp:
        if (e->a->kind != op::literal) s.first = e->a, s.rest = ir::ramp(m_, ir::index(m_, 0), e->value, lanes_);
        return fill(s, [&](std::size_t l) { return (s.first == nullptr ? e->a->value : 0) + static_cast<std::int64_t>(l) * e->value; });
      default: break;
    }
    if (arity(e->kind) != 2) return s;
    lane_span const a = of(e->a), b = of(e->b);
    bool const alone = a.first == nullptr && b.first == nullptr;
    switch (e->kind) {
      case op::add:
        s.first = a.first == nullptr ? b.first : b.first == nullptr ? a.first : ir::binary(m_, op::add, a.first, b.first);
        s.rest = ir::binary(m_, op::add, a.rest, b.rest);
        each(s, [&](std::size_t l) { s.low[l] = sum(a.low[l], b.low[l]), s.high[l] = sum(a.high[l], b.high[l]); });
        return s;
      case op::sub:
        if (b.first != nullptr) return s;
        s.first = a.first;
        s.rest = ir::binary(m_, op::sub, a.rest, b.rest);
        each(s, [&](std::size_t l) { s.low[l] = sum(a.low[l], -b.high[l]), s.high[l] = sum(a.high[l], -b.low[l]); });
        return s;
      case op::mul: {
        if (e->b->kind != op::literal || e->b->value < -(1 << 20) || e->b->value > (1 << 20)) return s;
        std::int64_t const c = e->b->value;
        if (a.first != nullptr) s.first = ir::binary(m_, op::mul, a.first, ir::index(m_, c));
        s.rest = ir::binary(m_, op::mul, a.rest, e->b);
        each(s, [&](std::size_t l) {
          if (a.low[l] <= -lane_span::far || a.high[l] >= lane_span::far) return;
          s.low[l] = near((c < 0 ? a.high[l] : a.low[l]) * c), s.high[l] = near((c < 0 ? a.low[l] : a.high[l]) * c);
        });
        return s;
      }
      case op::min:
      case op::max:
        each(s, [&](std::size_t l) {
          bool const lower = e->kind == op::min;
          auto const pick = [&](std::int64_t x, std::int64_t y) { return (x < y) == lower ? x : y; };
          if (alone) s.low[l] = pick(a.low[l], b.low[l]), s.high[l] = pick(a.high[l], b.high[l]);
        });
        return s;
      case op::floor_div:
      case op::floor_mod: {
        std::int64_t const c = e->b->kind == op::literal ? e->b->value : 0;
        if (c <= 0) return s;
        bool const quotient = e->kind == op::floor_div, begins_anew = alone || (a.first != nullptr && is_multiple(a.first, c));
        if (!alone && begins_anew) {
          s.rest = ir::binary(m_, e->kind, a.rest, e->b);
          if (quotient) s.first = ir::binary(m_, op::floor_div, a.first, ir::index(m_, c));
        }
        each(s, [&](std::size_t l) {
          if (!quotient) s.low[l] = 0, s.high[l] = near(c - 1);
          if (!begins_anew || a.low[l] <= -lane_span::far || a.high[l] >= lane_span::far) return;
          std::int64_t const x = floor_div(a.low[l], c), y = floor_div(a.high[l], c);
          if (quotient) s.low[l] = x, s.high[l] = y;
          else if (x == y) s.low[l] = a.low[l] - x * c, s.high[l] = a.high[l] - x * c;
        });
        return s;
      }
      default: return s;
    }
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(lanes_); }
  static std::int64_t near(std::int64_t x) { return x > lane_span::far ? lane_span::far : x < -lane_span::far ? -lane_span::far : x; }
  /// Of two bounds on the same side.
  static std::int64_t sum(std::int64_t x, std::int64_t y) {
    bool const known = x < lane_span::far && x > -lane_span::far && y < lane_span::far && y > -lane_span::far;
    return known ? near(x + y) : x >= lane_span::far || y >= lane_span::far ? lane_span::far : -lane_span::far;
  }
  template <class F>
  void each(lane_span& s, F const& f) {
    for (std::size_t l = 0; l < s.low.size(); ++l) f(l);
  }
  template <class F>
  lane_span fill(lane_span& s, F const& f) {
    each(s, [&](std::size_t l) {
      if (std::int64_t const x = f(l); near(x) == x) s.low[l] = s.high[l] = x;
    });
    return s;
  }

  ir::arena& m_;
  int lanes_, fuel_ = 256;
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
