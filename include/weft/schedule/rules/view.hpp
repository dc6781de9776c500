// What a rule sees of a program: how far each access moves in memory with each axis, and how much work a stage is.
#pragma once

#include "weft/expr/mirror_image.hpp"
#include "weft/schedule/placement.hpp"
#include "weft/schedule/rules/input.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Not the same everywhere, or not known.
inline constexpr std::int64_t no_step = std::int64_t(-0x7fffffffffffffff) - 1;
/// x + y * z; no_step where one of them is, or it is further than memory is long, as of an index that is clamped and may be multiplied by anything before.
inline std::int64_t step_sum(std::int64_t x, std::int64_t y, std::int64_t z = 1) {
  std::int64_t product = 0, sum = 0;
  constexpr std::int64_t far = std::int64_t(1) << 47;
  bool const known = x != no_step && y != no_step && z != no_step && !__builtin_mul_overflow(y, z, &product) && !__builtin_add_overflow(x, product, &sum);
  return known && sum < far && sum > -far ? sum : no_step;
}

/// An access of a stage: by its axes, spatial ones first, how many elements further one step leads.
struct access {
  std::int32_t tensor = -1;
  sequence<std::int64_t> steps{};
  std::int64_t step(int axis) const { return steps[static_cast<std::size_t>(axis)]; }
};

/// What views of one nest after the other have found of its program, and of which of its stages are inlined.
struct plan_facts {
  struct stage_loads {
    bool known = false;
    sequence<access> all{};
  };
  known_extents extents{};
  sequence<std::int32_t> lanes{};  // by stage; 0: not asked for
  sequence<stage_loads> loads{};   // of each stage two: as they are, and within bounds
};

/// Reads a nest; after a step that changes the program or inlines a stage, make another one.
class rule_view {
 public:
  /// `pieces`: a stage, one of its axes and a size, behind one another. A quotient of that axis by a multiple of the size counts as
  /// what stays: it does, inside of a piece of so many.
  /// `facts`: of views before this one, with the same pieces; none: its own.
  rule_view(nest const& n, rule_input const& in, sequence<std::int64_t> const& pieces = {}, plan_facts* facts = nullptr)
      : n_(n), in_(in), p_(n.computation()), pieces_(pieces), shared_(facts) {}

  program const& p() const { return p_; }
  /// The same, but that an index which is kept within bounds counts as what it is inside of them.
  rule_view inside() const {
    rule_view other(n_, in_, pieces_, &facts());
    other.inside_ = true;
    return other;
  }
  stage_info const& stage(int s) const { return program::at(p_.stages, s); }
  /// The loop of a stage's axis, by its place; its trips, -1 where they are not a number.
  int loop(int s, int axis) const { return program::at(n_.loop_of, stage(s).first_axis + axis); }
  std::int64_t extent(int s, int axis) const;
  bool is_output(int s) const;
  bool is_inlined(int s) const { return program::at(n_.places, s).inlined; }
  /// How the elements of a result, and all that the stage reads, lie along its axes; what is inlined is looked through.
  access result(int s) const;
  /// Lives as long as the facts.
  sequence<access> const& loads(int s) const;
  /// How far node `id` moves with axis `axis` of the program.
  std::int64_t coefficient(int id, int axis) const;
  /// What a choice by extents comes to, as broadcasting writes it, an index whose bounds or whose border are those of its axis, and a
  /// quotient by 1; any other node as it is.
  int chosen(int id) const;
  /// The axis of the program whose value an index has, as `i * 1 + k - 0` where k runs over one element; -1: none is known to.
  int same_axis(int id) const;
  /// Of two neighbouring operands of a load, the index whose quotient and remainder by one number they are; -1: none.
  int row_index(int operand) const;
  /// Whether two nodes surely have the same value.
  bool are_equal(int x, int y, int depth = 6) const;
  /// The value of an extent expression; -1: not a number.
  std::int64_t value(int id) const;
  /// Of a quotient or a remainder of an axis alone, by how much; 0: it is none. `axis`: the program's.
  std::int64_t divisor(node const& n, int& axis) const;
  /// How long the pieces of an axis are, by its place in its stage; 0: it has none.
  std::int64_t piece(int s, int axis) const;
  /// Operations for one iteration, with those of inlined stages; not what is one number for all.
  double operations(int s) const;
  /// Iterations of all its loops, and of the spatial ones.
  double iterations(int s, bool all = true) const;
  double bytes_of(int tensor) const;
  double iterations_of(int tensor) const { return bytes_of(tensor) / size_bytes(program::at(p_.tensors, tensor).type); }
  /// Elements of a tensor, and how far apart its dimensions are; no_step where that is not known.
  sequence<std::int64_t> strides(int tensor) const;
  /// Lanes of a vector of the widest element that the stage computes with.
  std::int64_t lanes(int s) const;

 private:
  std::int64_t coefficient(int id, int axis, int& fuel) const;
  bool keeps(int axis, node const& n) const;
  int inside_of_border(node const& n) const;
  bool is_one_number(int id, int depth = 4) const;
  static constexpr int nothing = -2;
  /// The node that an index is the same as, without what adds nothing; `nothing`: it is 0.
  int plain(int id, int depth = 6) const;
  int joined_index(int operand, std::int64_t step, std::int64_t next) const;
  void add_loads(int s, sequence<access>& all, int depth) const;
  std::int64_t size(int tensor, int dim) const;

  nest const& n_;
  rule_input const& in_;
  program const& p_;
  sequence<std::int64_t> pieces_;
  bool inside_ = false;
  plan_facts& facts() const { return shared_ != nullptr ? *shared_ : own_; }
  plan_facts* shared_ = nullptr;
  mutable plan_facts own_;
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/rules/view.ipp"
#endif
