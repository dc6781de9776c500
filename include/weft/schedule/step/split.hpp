// Step: split.
#pragma once

#include <concepts>

#include "weft/base/sequence.hpp"
#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {

struct split_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (ruling const r = n.unmarked(s.loops[0]); r.v != verdict::legal) return r;
    if (s.factor < 1) return illegal(diagnosis::a_factor_must_be_at_least_1);
    if (s.factor > longest_part / iterations_apart(n, s.loops[0]))
      return illegal(diagnosis::parts_of_an_axis_are_at_most_2_to_the_40_long);
    if (s.word == static_cast<int>(tail::shift_inwards) && n.at(s.loops[0]).reduced)
      return illegal(diagnosis::the_last_part_of_a_reduction_cannot_be_shifted_inwards);
    if (n.at(s.loops[0]).scanned && s.word >= static_cast<int>(tail::shift_inwards))
      return illegal(diagnosis::the_last_part_of_a_scanned_axis_is_neither_shifted_nor_rounded_up);
    if (s.word == static_cast<int>(tail::round_up)) return can_round_up(n, n.at(s.loops[0]));
    return {};
  }
  static constexpr void perform(nest& n, step const& s) {
    int const id = s.loops[0];
    auto const outer = static_cast<std::int32_t>(n.loops.size());
    loop_info part = n.at(id);
    short_name const name = part.name;
    std::int64_t const extent = part.extent;
    part.parent = id;
    part.fold = 0;
    part.first = -1;
    part.at_end = tail::guard;
    part.name = short_name(name.view()).append("o");
    part.extent = extent < 0 ? extent : ceil_div(extent, s.factor);
    n.loops.push_back(part);
    part.name = short_name(name.view()).append("i");
    part.extent = extent >= 0 && extent < s.factor ? extent : s.factor;
    n.loops.push_back(part);
    loop_info& whole = n.at(id);
    whole.outer = outer;
    whole.inner = outer + 1;
    whole.factor = s.factor;
    whole.at_end = static_cast<tail>(s.word);
    sequence<std::int32_t>& order = n.order_of(id);
    sequence<std::int32_t> next;
    for (std::int32_t l : order) {
      next.push_back(l == id ? outer : l);
      if (l == id) next.push_back(outer + 1);
    }
    order = next;
  }

 private:
  /// What no open extent reaches; products of a few such numbers are what indices are made of.
  static constexpr std::int64_t longest_part = std::int64_t(1) << 40;
  /// How far apart in its axis, or in a fused loop, two iterations of a loop are that follow each other.
  static constexpr std::int64_t iterations_apart(nest const& n, int loop) {
    std::int64_t step = 1;
    for (; n.at(loop).parent >= 0; loop = n.at(loop).parent)
      if (n.at(n.at(loop).parent).outer == loop) step *= n.at(n.at(loop).parent).factor;
    return step;
  }
  static constexpr ruling can_round_up(nest const& n, loop_info const& l) {
    bool outside = l.reduced;
    for (std::int32_t t : n.computation().outputs)
      outside = outside || program::at(n.computation().tensors, t).stage == l.stage;
    if (outside) return illegal(diagnosis::an_axis_of_an_output_or_of_a_reduction_cannot_be_rounded_up);
    if (l.parent >= 0 || l.first >= 0)
      return illegal(diagnosis::a_part_of_an_axis_cannot_be_rounded_up__round_up_the_whole_axis_first);
    return {};
  }
};

/// `s.split`, as a part of `schedule`.
template <class Schedule>
struct split_step {
  /// Cuts a loop in two; the inner one runs `factor` times.
  ///
  ///     for i in 0..n:            for io in 0..ceil(n / factor):
  ///       body(i)         ->        for ii in 0..factor:
  ///                                   if io*factor + ii < n: body(io*factor + ii)
  ///
  /// Where the factor does not divide n, `at_end` says what becomes of the last part:
  ///
  ///     guard          a serial inner loop ends early; an unrolled or vectorized one stands twice, for full parts and, with
  ///                    masks, for the last; with AVX-512 a vectorized one once, with masks
  ///     mask           one copy, always under its mask
  ///     partition      full parts, and the last one as a serial loop; no masks
  ///     shift_inwards  the last part begins at n - factor: what it shares with the one before it is computed twice
  ///     round_up       computed is a little more, in memory that is so much larger; of a whole axis of a stage that is no
  ///                    output. What that reads must stay in bounds, else schedule_error at the call
  ///
  /// Needs   `i` is a loop of its stage, not unrolled, vectorized or parallel; factor >= 1, and parts of at most 2^40; to
  ///         be shifted, no reduction and no scan along it
  /// Keeps   every index is visited exactly once, in the same order; shifted inwards some twice, with the same result.
  ///         Where an element that is computed twice could be seen half done, or what it reads be written (a reduction
  ///         around the outer part, an outer part that is parallel, or unrolled around a reduction, arguments that share
  ///         memory), where n is below the factor, and for a stage that is computed inside another, it is a guard, as
  ///         round_up is for the latter
  /// Errors  schedule_error "split: the axis was split already"
  /// Cost    none at run time when the factor divides n
  /// Source  Ragan-Kelley et al., PLDI 2013, section 3; the tail strategies are Halide's
  constexpr std::array<axis, 2> split(axis i, std::int64_t factor, tail at_end = tail::guard) {
    auto& s = static_cast<Schedule&>(*this);
    step request{verb::split, 1, {i.id}, factor};
    request.word = static_cast<std::uint8_t>(at_end);
    if (!s.take(request)) return {};
    return {axis{s.at(i.id).outer}, axis{s.at(i.id).inner}};
  }
  /// Cuts a loop in several, from the innermost one on: what remains is the outermost. In a trace, as many splits.
  ///
  ///     auto [a, b, c] = s.split(i, 4, 8)   ==   auto [ab, c] = s.split(i, 8); auto [a, b] = s.split(ab, 4)
  template <std::convertible_to<std::int64_t>... Factor>
    requires(sizeof...(Factor) >= 2 && sizeof...(Factor) < step::max_axes)
  constexpr std::array<axis, sizeof...(Factor) + 1> split(axis i, Factor... factors) {
    std::int64_t const all[] = {static_cast<std::int64_t>(factors)...};
    std::array<axis, sizeof...(Factor) + 1> parts{};
    for (std::size_t k = sizeof...(Factor); k > 0; --k) {
      auto const [outer, inner] = split(i, all[k - 1]);
      parts[k] = inner;
      parts[0] = i = outer;
    }
    return parts;
  }
};

}  // namespace weft::inline WEFT_ABI
