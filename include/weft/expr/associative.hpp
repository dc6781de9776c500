// Whether the terms of a reduction may be taken in another order, and how two parts of it become one.
#pragma once

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

/// What a reduction's bodies are proved to be: each the value so far joined with a term by one operation, all results
/// apart; or, of two results, the place and the value of argmin and argmax. Or they are said to be so, by weft::any_order.
/// Anything else is not known.
///
/// Of integers and conditions the bits are the same in any order, and so are places. Floats are rounded in another order;
/// where a NaN or zeros of both signs meet in min or max, another of them may come out.
class associative_form {
 public:
  constexpr associative_form(program const& p, int stage) : p_(p), s_(program::at(p.stages, stage)) {
    for (node const& n : p.nodes) {
      bool self = n.kind == op::self;
      if (n.kind == op::load)
        for (int i = 0; i < n.c; ++i) self = self || has_self(program::at(p.operands, n.b + i));
      else if (arity(n.kind) > 0)
        self = has_self(n.a) || has_self(n.b) || has_self(n.c);
      selves_.push_back(self);
    }
    known_ = declared_ = p.result(s_, 0).merged >= 0;
    if (declared_) return;
    known_ = true;
    for (int r = 0; r < s_.results; ++r) {
      op const by = joined(p.result(s_, r).body, r);
      by_.push_back(by);
      right_.push_back(on_right_);
      known_ = known_ && by != op::literal && by != op::self;
    }
    if (!known_) known_ = position_ = is_position();
  }
  constexpr bool known() const { return known_; }
  /// Of an argmin or argmax: of equal elements the first counts, so that its terms stay in their order, but for parts.
  constexpr bool finds_places() const { return position_; }
  /// By result_info::merged.
  constexpr bool is_declared() const { return declared_; }
  /// What a part of result `r` starts from, so that the whole counts its own identity once.
  constexpr std::int64_t identity(int r) const {
    dtype const t = program::at(p_.tensors, s_.tensor + r).type;
    std::int64_t const whole = p_.result(s_, r).identity;
    if (declared_ || position_) return whole;
    op const by = program::at(by_, r);
    if ((by != op::add && by != op::mul && by != op::bit_xor)) return whole;
    if (by == op::mul) return converted(dtype::i64, t, 1);
    return is_float(t) && whole == sign_bit(t) ? whole : 0;
  }
  /// Of one that is not declared: adds to `to`, which is the program or one made of it, the bodies that join the values
  /// so far with those of a part.
  constexpr sequence<std::int32_t> merged(program& to, sequence<std::int32_t> const& part) const {
    sequence<std::int32_t> bodies;
    if (position_) return better_of(to, part);
    for (int r = 0; r < s_.results; ++r) {
      dtype const t = program::at(p_.tensors, s_.tensor + r).type, wide = is_half(t) ? dtype::f32 : t;
      auto const as = [&](dtype from, dtype into, int id) {
        return from == into ? id : to.operation(op::cast, into, id);
      };
      int const self = as(t, wide, to.add({op::self, t, r})), met = as(t, wide, program::at(part, r));
      bool const right = program::at(right_, r);
      bodies.push_back(as(wide, t, to.operation(program::at(by_, r), wide, right ? met : self, right ? self : met)));
    }
    return bodies;
  }

 private:
  constexpr bool has_self(int id) const { return id >= 0 && selves_[static_cast<std::size_t>(id)]; }
  constexpr bool is_self(int id, int r) const { return p_.at(id).kind == op::self && p_.at(id).a == r; }

  /// The operation that joins terms with the value so far of result `r` in node `id`: op::self where it is that value
  /// alone, op::literal where there is none.
  constexpr op joined(int id, int r) {
    node const& n = p_.at(id);
    auto const onto = [&](int so_far, op by) {
      op const before = joined(so_far, r);
      on_right_ = so_far == n.b;
      return before == op::self || before == by ? by : op::literal;
    };
    switch (n.kind) {
      case op::self: return n.a == r ? op::self : op::literal;
      case op::select:
      case op::rare:
      case op::blend: {
        if (has_self(n.a)) return op::literal;
        op const x = joined(n.b, r), y = joined(n.c, r);
        return x == op::self || x == y ? y : y == op::self ? x : op::literal;
      }
      case op::cast: {  // of a half, to the f32 that it computes in, and back
        dtype const kept = program::at(p_.tensors, s_.tensor + r).type, from = p_.at(n.a).type;
        bool const widened = from == kept && n.type == dtype::f32, narrowed = from == dtype::f32 && n.type == kept;
        bool const fits = is_half(kept) && (widened || narrowed);
        return fits ? joined(n.a, r) : op::literal;
      }
      case op::sub: return has_self(n.b) ? op::literal : onto(n.a, op::add);
      case op::fma: return has_self(n.a) || has_self(n.b) ? op::literal : onto(n.c, op::add);
      case op::add:
      case op::mul:
      case op::min:
      case op::max:
      case op::bit_and:
      case op::bit_or:
      case op::bit_xor:
      case op::logical_and:
      case op::logical_or:
        if (has_self(n.a) == has_self(n.b)) return op::literal;
        return onto(has_self(n.a) ? n.a : n.b, n.kind);
      default: return op::literal;
    }
  }

  // --- argmin and argmax (compute.hpp): better ? (place, met) : (self 0, self 1), where `better` is
  // held < met || (met != met && held == held) || self 0 < 0, without the NaN part for integers.
  constexpr bool is_position() {
    if (s_.results != 2 || p_.result(s_, 0).identity >= 0) return false;
    node const place = choice(0), element = choice(1);
    if (place.kind != op::select || element.kind != op::select || place.type != dtype::i64 || !are_written_alike(p_, place.a, element.a) ||
        !is_self(place.c, 0) || !is_self(element.c, 1) || has_self(place.b) || has_self(element.b))
      return false;
    auto const is_held = [&](int id) { return is_self(widened(id), 1); };
    auto const is_met = [&](int id) { return are_written_alike(p_, id, element.b) || are_written_alike(p_, widened(id), element.b); };
    node const better = p_.at(place.a);
    if (better.kind != op::logical_or) return false;
    node const none_yet = p_.at(better.b);
    if (none_yet.kind != op::lt || !is_self(none_yet.a, 0) || !is_number(none_yet.b, 0)) return false;
    node less = p_.at(better.a);
    if (is_float(element.type)) {
      if (less.kind != op::logical_or || p_.at(less.b).kind != op::logical_and) return false;
      node const now = p_.at(p_.at(less.b).a), before = p_.at(p_.at(less.b).b);
      if (now.kind != op::ne || !is_met(now.a) || !is_met(now.b)) return false;
      if (before.kind != op::eq || !is_held(before.a) || !is_held(before.b)) return false;
      less = p_.at(less.a);
    }
    largest_ = less.kind == op::lt && is_held(less.a);
    return less.kind == op::lt && (largest_ ? is_met(less.b) : is_met(less.a) && is_held(less.b)) &&
           rises(place.b, s_.reduced - 1);
  }
  /// What result `r` becomes where no condition keeps the value so far.
  constexpr node choice(int r) const {
    node n = p_.at(p_.result(s_, r).body);
    while (n.kind == op::select && !has_self(n.a) && is_self(n.c, r)) n = p_.at(n.b);
    return n;
  }
  /// The type in which elements of type `t` are compared.
  static constexpr dtype compared_as(dtype t) {
    return is_half(t) ? dtype::f32 : !is_float(t) && size_bytes(t) < 4 ? dtype::i32 : t;
  }
  constexpr int widened(int id) const {
    node const& n = p_.at(id);
    return n.kind == op::cast && p_.at(n.a).type != n.type && compared_as(p_.at(n.a).type) == n.type ? n.a : id;
  }
  constexpr bool is_number(int id, std::int64_t value) const {
    return p_.at(id).kind == op::literal && p_.at(id).value == value;
  }
  constexpr bool is_axis(int id, int axis) const { return p_.at(id).kind == op::axis && p_.at(id).a == axis; }
  constexpr bool is_spatial(int id) const {
    return p_.at(id).kind == op::axis && !program::at(p_.axes, p_.at(id).a).reduced;
  }
  constexpr bool is_extent_of(int id, int axis) const { return are_written_alike(p_, id, program::at(p_.axes, axis).extent); }
  /// Whether the node counts the points of the reduced axes 0 .. d in their order, from 0 or later on.
  constexpr bool rises(int id, int d) const {
    int const axis = s_.first_reduced + d;
    node const& n = p_.at(id);
    if (d == 0 && is_axis(id, axis)) return true;
    if (n.kind != op::add || p_.at(n.a).kind != op::mul) return false;
    node const& scaled = p_.at(n.a);
    if (d > 0) return is_axis(n.b, axis) && is_extent_of(scaled.b, axis) && rises(scaled.a, d - 1);
    // The first one may be part of a longer one (add_parts): u * count + v, or v * (extent of u) + u.
    if (is_spatial(scaled.a)) return is_axis(n.b, axis) && is_extent_of(scaled.b, axis);
    return is_spatial(n.b) && p_.at(scaled.b).kind == op::literal && p_.at(scaled.b).value > 0 && rises(scaled.a, 0);
  }
  /// The better one of two; of equal ones the first, wherever the parts took it from. A part of no elements is at -1.
  constexpr sequence<std::int32_t> better_of(program& to, sequence<std::int32_t> const& part) const {
    dtype const t = program::at(p_.tensors, s_.tensor + 1).type, wide = compared_as(t);
    auto const truth = [&](op o, int a, int b) { return to.operation(o, dtype::boolean, a, b); };
    auto const as_wide = [&](int id) { return t == wide ? id : to.operation(op::cast, wide, id); };
    int const place = to.add({op::self, dtype::i64, 0}), value = to.add({op::self, t, 1});
    int const held = as_wide(value), met = as_wide(part[1]), zero = to.literal(dtype::i64, 0);
    int wins = truth(op::lt, largest_ ? held : met, largest_ ? met : held), equal = truth(op::eq, held, met);
    if (is_float(t)) {
      int const nan = truth(op::ne, met, met);
      wins = truth(op::logical_or, wins, truth(op::logical_and, nan, truth(op::eq, held, held)));
      equal = truth(op::logical_or, equal, truth(op::logical_and, nan, truth(op::ne, held, held)));
    }
    int const first = truth(op::logical_and, equal, truth(op::lt, part[0], place));
    wins = truth(op::logical_or, truth(op::logical_or, wins, first), truth(op::lt, place, zero));
    wins = truth(op::logical_and, wins, truth(op::le, zero, part[0]));
    return {to.operation(op::select, dtype::i64, wins, part[0], place),
            to.operation(op::select, t, wins, part[1], value)};
  }

  program const& p_;
  stage_info s_;
  sequence<bool> selves_;  // by node: whether a value so far is in it
  sequence<op> by_;        // by result
  sequence<bool> right_;   // by result: the value so far stands on the right
  bool known_ = false, declared_ = false, position_ = false, largest_ = false, on_right_ = false;
};

}  // namespace weft::inline WEFT_ABI
