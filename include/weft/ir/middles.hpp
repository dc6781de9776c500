// What indices are in the middle of the loops around.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Loop variables and where each of them stands in the middle of its loop, where sizes that are open are likely ones; of a loop whose length is not
/// known there: none.
class middles {
 public:
  /// `sizes`: those that are open, by number; of what is missing there, a likely one.
  explicit middles(sequence<std::int64_t> const& sizes = {}) : sizes_(sizes) {}
  void enter(ir::stmt loop) {
    while (loop->variable >= static_cast<std::int32_t>(values_.size())) values_.push_back(unknown);
    std::int64_t const begin = at(loop->begin), extent = at(loop->extent);
    values_[static_cast<std::size_t>(loop->variable)] = begin == unknown || extent == unknown ? unknown : begin + extent / 2;
  }
  /// The value of an index or of a comparison of two.
  std::int64_t at(ir::expr e) {
    fuel_ = 200;
    return value(e);
  }
  static constexpr std::int64_t unknown = std::int64_t(-0x7fffffffffffffff) - 1;

 private:
  static constexpr std::int64_t likely_size = 1000;
  std::int64_t value(ir::expr e) {
    if (e->kind == op::literal && e->lanes == 1) return e->value;
    if (e->kind == op::extent) return e->value < static_cast<std::int64_t>(sizes_.size()) ? sizes_[static_cast<std::size_t>(e->value)] : likely_size;
    if (e->kind == op::select && e->lanes == 1 && --fuel_ >= 0) {
      std::int64_t const holds = value(e->a);
      return holds == unknown ? unknown : value(holds != 0 ? e->b : e->c);
    }
    if (e->kind == op::axis) return e->value < static_cast<std::int64_t>(values_.size()) ? values_[static_cast<std::size_t>(e->value)] : unknown;
    if (arity(e->kind) != 2 || e->lanes != 1 || --fuel_ < 0) return unknown;
    std::int64_t const a = value(e->a), b = value(e->b);
    constexpr std::int64_t far = std::int64_t(1) << 31;
    if (a >= far || a <= -far || b >= far || b <= -far) return unknown;
    switch (e->kind) {
      case op::add: return a + b;
      case op::sub: return a - b;
      case op::mul: return a * b;
      case op::min: return a < b ? a : b;
      case op::max: return a < b ? b : a;
      case op::lt: return a < b;
      case op::le: return a <= b;
      case op::floor_div: return b > 0 ? floor_div(a, b) : unknown;
      case op::floor_mod: return b > 0 ? a - floor_div(a, b) * b : unknown;
      default: return unknown;
    }
  }
  sequence<std::int64_t> values_, sizes_;
  int fuel_ = 0;
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
