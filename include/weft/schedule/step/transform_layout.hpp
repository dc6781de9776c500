// Step: transform_layout.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "weft/expr/rewrite.hpp"
#include "weft/schedule/handle.hpp"
#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

/// A dimension of a layout, made of an index by / and %: (index / divisor) % modulus; modulus 0: without a remainder.
struct layout_index {
  std::int32_t dim = 0;  // or dimensions that are joined (detail::joined_dims)
  std::int64_t divisor = 1, modulus = 0;

  friend constexpr layout_index operator/(layout_index i, std::int64_t by) {
    if (by < 1 || (i.modulus != 0 && i.modulus % by != 0)) return none();
    return {i.dim, i.divisor > limit / by ? limit : i.divisor * by, i.modulus / by};
  }
  friend constexpr layout_index operator%(layout_index i, std::int64_t by) {
    return by < 1 || (i.modulus != 0 && i.modulus % by != 0) ? none() : layout_index{i.dim, i.divisor, by};
  }
  /// The place of two neighbouring dimensions in rows of both: `join(y, x)` is y * (size of x) + x. The first may be joined itself.
  ///
  ///     auto packed = s.transform_layout(copy, [](auto c, auto y, auto x) { return weft::dims(join(y, x) / 16, c, join(y, x) % 16); });
  friend constexpr layout_index join(layout_index a, layout_index b) {
    bool const whole = a.dim >= 0 && b.dim >= 0 && a.divisor == 1 && a.modulus == 0 && b.divisor == 1 && b.modulus == 0;
    detail::joined_dims const first(a.dim), last(b.dim);
    return whole && last.count == 1 && last.first == first.end() ? layout_index{detail::joined_dims(first.first, first.count + 1).number()} : none();
  }

 private:
  static constexpr std::int64_t limit = std::int64_t(1) << 32;
  static constexpr layout_index none() { return {-1, 1, 0}; }
};
/// The dimensions of a layout, outermost first: `[](auto k, auto j) { return weft::dims(j / 16, k, j % 16); }`
template <class... Index>
constexpr std::array<layout_index, sizeof...(Index)> dims(Index... indices) {
  static_assert(sizeof...(Index) <= 8, "weft: a layout has at most eight dimensions");
  return {indices...};
}

// step::numbers: dimension (detail::joined_dims), divisor and modulus of each new dimension; then what the elements beyond the old ones hold.
struct transform_layout_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    if (s.stage < 0 || s.stage >= static_cast<int>(n.order.size()))
      return illegal(diagnosis::the_stage_is_none_of_this_schedule);
    program const& p = n.computation();
    for (std::int32_t t : p.outputs)
      if (program::at(p.tensors, t).stage == s.stage)
        return illegal(diagnosis::an_output_keeps_its_layout__transform_a_copy_or_a_stage_that_others_read);
    if (is_scheduled(n, s.stage))
      return illegal(diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it);
    if (program::at(p.stages, s.stage).scanned >= 0) return illegal(diagnosis::a_scan_keeps_its_dimensions);
    if (!holds_each_element_once(s.numbers, program::at(p.stages, s.stage).spatial))
      return illegal(diagnosis::a_layout_must_hold_each_element_once__cut_each_dimension_into_quotients_and_remainders);
    return {};
  }
  static constexpr void rewrite(program& p, step const& s) { change_layout(p, s.stage, s.numbers); }
  static constexpr void perform(nest& n, step const& s) {
    rewrite(n.own_computation(), s);
    n.drop_loops(s.stage, true);
    n.add_loops(s.stage);
  }

 private:
  /// Whether the terms of each old dimension are the digits of its index: divisors 1, m0, m0 * m1, .. with the moduli
  /// m0, m1, .., and none for the last.
  static constexpr bool holds_each_element_once(sequence<std::int64_t> const& numbers, int rank) {
    std::size_t const count = numbers.size() / 3;
    if (numbers.size() != 3 * count + 1 || count > 8) return false;
    for (std::size_t t = 0; t < count; ++t)
      if (numbers[3 * t] < 0 || numbers[3 * t] >= detail::joined_dims::most * detail::joined_dims::most) return false;
    sequence<bool> used(count, false);
    auto const digit = [&](std::int64_t dim, std::int64_t divisor, auto const& modulus_fits) -> std::int64_t {
      for (std::size_t t = 0; t < count; ++t) {
        if (used[t] || numbers[3 * t] != dim || numbers[3 * t + 1] != divisor || !modulus_fits(numbers[3 * t + 2]))
          continue;
        used[t] = true;
        return numbers[3 * t + 2];
      }
      return -1;
    };
    for (int dim = 0; dim < rank;) {
      std::int64_t number = dim;
      for (std::size_t t = 0; t < count; ++t)  // two that begin there differ: one of them is left over
        if (detail::joined_dims(numbers[3 * t]).first == dim) number = numbers[3 * t];
      for (std::int64_t divisor = 1, modulus; true; divisor *= modulus) {
        modulus = digit(number, divisor, [](std::int64_t m) { return m == 1; });
        if (modulus < 0) modulus = digit(number, divisor, [](std::int64_t m) { return m > 1; });
        if (modulus < 0 && digit(number, divisor, [](std::int64_t m) { return m == 0; }) == 0) break;
        if (modulus < 0 || modulus > (std::int64_t(1) << 31) / divisor) return false;
      }
      dim = detail::joined_dims(number).end();
      if (dim > rank) return false;
    }
    for (bool u : used)
      if (!u) return false;
    return true;
  }
};

/// `s.transform_layout`, as a part of `schedule`.
template <class Schedule>
struct transform_layout_step {
  /// Gives a stage other dimensions: each is an index of it, divided, or the remainder of one. What reads the stage
  /// reads the same elements, where they stand now; its loops run over the new dimensions.
  ///
  ///     for k in 0..K: for j in 0..N:               for j in 0..ceil(N / 16): for k in 0..K: for l in 0..16:
  ///       copy[k, j] = B[k, j]                 ->     copy[j, k, l] = B[k, j * 16 + l], or padding
  ///     .. copy[k, j] ..                            .. copy[j / 16, k, j % 16] ..
  ///
  ///     auto packed = s.transform_layout(copy, [](auto k, auto j) { return weft::dims(j / 16, k, j % 16); });
  ///
  /// Shape   a quotient's size is rounded up; `padding` is what the elements hold that the stage did not have
  /// Needs   no output, no scan; no step before it names the stage's axes or places it. Of each index all digits stand once in
  ///         the new dimensions. The old axes are gone from then on; the handle that is returned has the new ones.
  /// Keeps   the bits of all elements
  /// Errors  schedule_error "transform_layout: a layout must hold each element exactly once"
  /// Cost    a comparison per element that is computed, where the sizes do not divide
  /// Source  TVM, RFC 39, "buffer layout transformation"
  template <int Axes, int Spatial, class Layout>
  constexpr auto transform_layout(stage_handle<Axes, Spatial> const& stage, Layout const& layout,
                                  std::int64_t padding = 0) {
    return [&]<std::size_t... D>(std::index_sequence<D...>) {
      static_assert(std::is_invocable_v<Layout const&, std::conditional_t<(D >= 0), layout_index, int>...>,
                    "weft: the layout takes one index for each dimension of the stage, and returns weft::dims(..)");
      auto const made = layout(layout_index{static_cast<std::int32_t>(D)}...);
      constexpr int rank = static_cast<int>(std::tuple_size_v<std::remove_const_t<decltype(made)>>);
      stage_handle<rank + Axes - Spatial, rank> h;
      auto& s = static_cast<Schedule&>(*this);
      step request{verb::transform_layout};
      request.stage = stage.stage;
      for (layout_index const& i : made)
        for (std::int64_t number : {std::int64_t(i.dim), i.divisor, i.modulus}) request.numbers.push_back(number);
      request.numbers.push_back(padding);
      if (s.take(request)) h = handle_of<rank + Axes - Spatial, rank>(s, stage.stage);
      return h;
    }
    (std::make_index_sequence<static_cast<std::size_t>(Spatial)>());
  }
};

}  // namespace weft::inline WEFT_ABI
