// Random accesses to tensors of known shape, every one in bounds.
#pragma once

#include "fuzz/random.hpp"
#include "weft/expr/program.hpp"

namespace weft_test::fuzz {

/// Holds the program being made, and makes loads in it.
class access_maker {
 protected:
  /// `risky`: some accesses are guarded by conditions that may not do.
  explicit access_maker(std::uint64_t seed, bool risky) : r_(seed), risky_(risky) {}

  // A node. Floats on a grid: all values are multiples of 2^-fraction, |value| at most `most`; most < 0: not known.
  struct number {
    int node = -1;
    double most = -1;
    int fraction = 0;
    bool on_grid(weft::dtype t) const {
      using enum weft::dtype;
      double const limit = t == f64 ? 0x1p53 : t == f16 ? 0x1p11 : t == bf16 ? 0x1p8 : 0x1p24;
      return most >= 0 && fraction < (t == f16 ? 20 : 40) && most * static_cast<double>(1LL << fraction) < limit;
    }
    /// As a `t`, which may be too narrow.
    number in(weft::dtype t) const { return !weft::is_float(t) || on_grid(t) ? *this : number{node, -1, 0}; }
  };
  struct axis {
    int node, extent_node;
    std::int64_t extent;
  };
  struct known_tensor {
    weft::sequence<std::int64_t> shape;
    double most = -1;
    int fraction = 0;
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  weft::dtype any_type() {
    using enum weft::dtype;
    return r_.one_of({f32, f32, f32, f32, f64, f64, i32,  i32,  i64,  i64, u8,      i8,
                      i16, u16, u32, u64, f16, f16, bf16, bf16, bf16, f16, boolean, boolean});
  }
  /// What operations compute in.
  weft::dtype any_computing_type() {
    weft::dtype const t = any_type();
    return weft::is_half(t) ? weft::dtype::f32 : t;
  }
  /// The largest magnitude in an integer type, where that is of use.
  static double most_of(weft::dtype t) {
    return t == weft::dtype::boolean ? 1 : weft::size_bytes(t) > 2 ? -1 : weft::size_bytes(t) == 2 ? 65535 : 255;
  }
  weft::node const& node(int id) const { return p_.nodes[at(id)]; }
  int op(weft::op o, int a, int b = -1, int c = -1) {
    return p_.operation(o, weft::is_comparison(o) ? weft::dtype::boolean : node(o == weft::op::select ? b : a).type, a,
                        b, c);
  }
  int cast(int id, weft::dtype t) { return node(id).type == t ? id : p_.operation(weft::op::cast, t, id); }
  int index(std::int64_t v) { return p_.literal(weft::dtype::i64, v); }
  static number larger(int node, number a, number b) {
    if (a.most < 0 || b.most < 0) return {node, -1, 0};
    return {node, a.most > b.most ? a.most : b.most, a.fraction > b.fraction ? a.fraction : b.fraction};
  }

  // --- accesses -----------------------------------------------------------------------------------------------
  /// An element of some tensor, the later ones more often, as a `t`.
  number load(weft::dtype t, int depth) {
    int const count = static_cast<int>(known_.size());
    int const tensor = r_.chance(40) ? count - 1 : r_.below(count);
    known_tensor const k = known_[at(tensor)];
    weft::sequence<int> indices;
    int guard = -1;
    for (std::size_t d = 0; d < k.shape.size(); ++d)
      indices.push_back(index_within(k.shape[d], p_.extent_of(tensor, static_cast<int>(d)), guard, depth));
    int id = p_.load(tensor, indices);
    weft::dtype const from = p_.tensors[at(tensor)].type;
    number n{cast(id, t), k.most, k.fraction};
    if (!weft::is_float(from)) n.most = most_of(from), n.fraction = 0;
    n = n.in(t);
    // Not of a stage's element: a NaN that was computed may have any bits.
    if (from != t && weft::size_bytes(from) == weft::size_bytes(t) && from != weft::dtype::boolean &&
        t != weft::dtype::boolean && p_.tensors[at(tensor)].stage < 0 && r_.chance(30))
      n = {p_.operation(weft::op::bitcast, t, id), -1, 0};
    if (guard < 0) return n;
    number const other = leaf_without_access(t);
    if (r_.chance(50)) return larger(op(weft::op::select, guard, n.node, other.node), n, other);
    int const outside = op(weft::op::logical_not, guard);
    return larger(op(weft::op::select, outside, other.node, n.node), n, other);
  }
  number leaf_without_access(weft::dtype t) {
    return {p_.literal(t, draw_element(r_, t, false)), weft::is_float(t) ? 2.0 : -1, 3};
  }
  /// An index into a dimension of `n` elements. Where it may lie outside, `guard` is joined with what keeps it in.
  int index_within(std::int64_t n, int n_node, int& guard, int depth) {
    using weft::op;
    if (axes_.empty()) return n > 0 ? index(r_.below(static_cast<int>(n))) : guarded(index(0), n_node, guard);
    if (depth > 0 && n > 0 && r_.chance(5))  // data-dependent
      return clamped(load(weft::dtype::i64, depth - 1).node, n_node);
    axis const a = r_.one_of(axes_), b = r_.one_of(axes_);
    std::int64_t const a_last = a.extent > 0 ? a.extent - 1 : 0, b_last = b.extent > 0 ? b.extent - 1 : 0;
    // Walks along the whole dimension are what most programs do.
    if (r_.chance(60))
      for (axis const& whole : axes_)
        if (whole.extent == n && r_.chance(70)) return whole.node;
    int x = -1;
    std::int64_t low = 0, high = a_last, c = r_.between(-2, 2);
    switch (r_.below(9)) {
      case 0: x = this->op(op::add, a.node, index(c)), low = c, high = a_last + c; break;
      case 1:
        x = this->op(op::add, this->op(op::mul, a.node, index(2)), index(c)), low = c, high = 2 * a_last + c;
        break;
      case 2:
        x = this->op(op::sub, this->op(op::add, n_node, index(-1)), a.node), low = n - 1 - a_last, high = n - 1;
        break;
      case 3: x = this->op(op::add, a.node, b.node), high = a_last + b_last; break;
      case 4: x = this->op(op::sub, a.node, b.node), low = -b_last; break;
      case 5: x = this->op(op::floor_div, a.node, index(2)), high = a_last / 2; break;
      case 6: x = this->op(op::floor_mod, a.node, index(3)), high = 2; break;
      case 7: x = index(c = r_.between(0, 3)), low = high = c; break;
      default: x = this->op(op::add, a.node, index(0));
    }
    if (risky_ && r_.chance(40)) return half_guarded(x, a.node, n_node, guard);
    if (low >= 0 && high < n) return x;
    if (n > 0 && r_.chance(50)) return clamped(x, n_node);
    return guarded(x, n_node, guard);
  }
  int clamped(int x, int n_node) {
    int const last = op(weft::op::add, n_node, index(-1));
    return op(weft::op::min, op(weft::op::max, x, index(0)), last);
  }
  int guarded(int x, int n_node, int& guard) {
    join(guard, op(weft::op::logical_and, op(weft::op::le, index(0), x), op(weft::op::lt, x, n_node)));
    return x;
  }
  void join(int& guard, int condition) {
    guard = guard < 0 ? condition : op(weft::op::logical_and, guard, condition);
  }
  /// With conditions on the index and its axis that may let it leave the dimension.
  int half_guarded(int x, int axis_node, int n_node, int& guard) {
    using weft::op;
    for (int parts = r_.below(3); parts > 0; --parts) {
      int c = -1;
      switch (r_.below(4)) {
        case 0: c = this->op(op::le, index(0), x); break;
        case 1: c = this->op(r_.chance(80) ? op::lt : op::le, x, n_node); break;
        default: c = this->op(r_.one_of({op::lt, op::le, op::eq, op::ne}), axis_node, index(r_.between(-1, 6)));
      }
      if (r_.chance(40)) c = this->op(op::logical_not, c);
      if (guard >= 0 && r_.chance(20)) guard = this->op(op::logical_or, guard, c);
      else join(guard, c);
    }
    if (guard >= 0 && r_.chance(30)) guard = this->op(op::logical_not, guard);
    return x;
  }

  random_source r_;
  bool risky_;
  weft::program p_;
  weft::sequence<known_tensor> known_;  // by tensor
  weft::sequence<axis> axes_;           // of the stage being made
};

}  // namespace weft_test::fuzz
