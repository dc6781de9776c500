// How far an index reaches: interval arithmetic whose bounds are expressions over the loops that stand outside.
#pragma once

#include "weft/base/node_set.hpp"
#include "weft/base/sequence.hpp"
#include "weft/expr/mirror_image.hpp"
#include "weft/expr/program.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// From `low` to `high`, both taken; null where nothing is known.
struct span {
  ir::expr low = nullptr, high = nullptr;
  bool known() const { return low != nullptr; }
};

/// The span of an index of a program, given those of its axes. Exact where each axis stands once in it and no product,
/// remainder or choice is taken; else perhaps wider.
class index_spans {
 public:
  index_spans(ir::arena& m, program const& p) : m_(m), p_(p) {}
  virtual ~index_spans() = default;
  /// `ranges`: of the loops that stand outside.
  span of(int id, range_table const& ranges);
  /// Around both; unknown when one is.
  span around(span a, span b, range_table const& ranges);
  /// No less than a - b.
  std::int64_t difference(ir::expr a, ir::expr b, range_table const& ranges);
  /// The smaller (larger) of two, without an operation where the ranges decide.
  ir::expr least(ir::expr a, ir::expr b, range_table const& ranges);
  ir::expr most(ir::expr a, ir::expr b, range_table const& ranges);
  void forget() { known_ = {}; }

 protected:
  virtual span axis(int number) = 0;
  virtual ir::expr extent(node const& n) = 0;  // op::extent
  virtual span together(int /*id*/) { return {}; }  // of a sum that numbers several axes; unknown: each is looked at for itself
  ir::arena& m_;
  program const& p_;

 private:
  span make(node const& n, range_table const& ranges);
  span mirrored(node const& n, range_table const& ranges);
  std::int64_t difference_between(ir::expr a, ir::expr b, range_table const& ranges);
  ir::expr arithmetic(op kind, ir::expr a, ir::expr b) { return simplify(m_, ir::binary(m_, kind, a, b)); }
  struct known_difference {
    ir::expr a, b;
    std::int64_t most;
  };
  node_map<span> known_;  // by node
  sequence<known_difference> differences_;  // between parts of the two that are asked for
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/lower/spans.ipp"
#endif
