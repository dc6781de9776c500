// Loop programs with fewer nodes: constants, identities, and what the ranges of loop variables prove (linear forms: linear.hpp).
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

/// An inclusive range of i64 values; `unbounded` on a side where nothing is known.
struct interval {
  static constexpr std::int64_t unbounded = std::int64_t(1) << 60;
  std::int64_t low = -unbounded, high = unbounded;
};

/// What is known of each loop variable. A size that is open is at least 1 and at most 2^40.
class range_table {
 public:
  /// A range, and where the loop's length hangs on open sizes or on loops around, the loop: it may have one of its iterations.
  struct entry {
    interval range;
    ir::expr begin = nullptr, extent = nullptr;
  };
  entry known(std::int32_t variable) const {
    std::size_t const at = place(variable);
    return at < known_.size() && known_[at].variable == variable ? known_[at].is : entry{};
  }
  interval of(std::int32_t variable) const { return known(variable).range; }
  /// Makes the range of a variable smaller.
  void set(std::int32_t variable, interval range) { at(variable).range = range; }
  /// What was known of a variable at another time.
  void set(std::int32_t variable, entry const& before) { at(variable) = before; }
  /// Whether it knows such a loop.
  bool knows_loops() const { return knows_loops_; }
  /// Of the variable of a loop that runs from `begin`, `extent` times.
  interval of_loop(ir::expr begin, ir::expr extent) const;
  void set(std::int32_t variable, ir::expr begin, ir::expr extent);
  /// The range of a scalar i64 expression; exact for one linear form over independent variables, wide where more
  /// than 128 nodes would have to be visited.
  interval of(ir::expr e) const;

 private:
  struct known_variable {
    std::int32_t variable;
    entry is;
  };
  /// Of the first one that is not before `variable`.
  std::size_t place(std::int32_t variable) const {
    std::size_t low = 0, high = known_.size();
    if (high > 0 && known_.back().variable < variable) low = high;  // loops are numbered inwards
    while (low < high) {
      std::size_t const middle = (low + high) / 2;
      if (known_[middle].variable < variable) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  entry& at(std::int32_t variable) {
    std::size_t const at = place(variable);
    if (at == known_.size() || known_[at].variable != variable) known_.insert(known_.begin() + at, {variable, {}});
    return known_[at].is;
  }
  sequence<known_variable> known_;  // in order: a loop program may have thousands, of which an expression has a few around it
  bool knows_loops_ = false;
};

/// Simplifies every integer and condition in `e` or `s`: equal linear forms become equal nodes, comparisons
/// that the ranges decide become literals, of multiples they ask for these alone (4 * i + 3 < 16 * n is 4 * i < 16 * n), loops of one iteration
/// and branches never taken disappear.
///
/// Runs after every pass that substitutes variables; later passes and both code generators rely on it for
/// equal addresses to be equal nodes. Floating-point arithmetic is never touched. Idempotent. Cost O(nodes).
ir::expr simplify(ir::arena& m, ir::expr e, range_table const& ranges = {});
/// A sum, of vectors too, in which x / e * e + x % e is x: where memory is contiguous over axes that were fused, an address is
/// linear in the fused one.
ir::expr rejoined(ir::arena& m, ir::expr e);
ir::stmt simplify(ir::arena& m, ir::stmt s);
/// Makes one of branches behind one another in a block that hang on the same: a stage and one that is computed in its loop both ask
/// whether a tile is whole, and what stands in registers between them does so inside of one branch alone.
///
///     if io < 9: P     else: P'            if io < 9: P, C
///     if io < 9: C     else: C'      ->    else: P', C'
ir::stmt joined_branches(ir::arena& m, ir::stmt s);

/// The number of the row that an element of swizzled memory is in, up to a multiple of 8.
ir::expr swizzled_row(ir::arena& m, ir::buffer const* b, ir::list<ir::expr> const& indices);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/ir/branches.ipp"
#include "weft/ir/simplify.ipp"
#endif
