// Random programs, each from one 64-bit seed: stages of every operation over small tensors, every access in bounds.
#pragma once

#include "fuzz/accesses.hpp"
#include "support/functions.hpp"
#include "weft/expr/canonical.hpp"
#include "weft/expr/compute.hpp"  // identities of reductions

namespace weft_test::fuzz {

/// What the elements of a case are: its own, or drawn anew with its seed, input by input.
enum class contents : std::uint8_t { own, tame, wild };
/// A program with everything that it is run on.
struct drawn {
  std::uint64_t seed = 0;
  weft::program what;                 // canonical
  weft::sequence<weft::dense> tensors;   // by tensor number, of the inputs
  weft::sequence<std::int64_t> scalars;  // bits
  weft::sequence<bool> order_free;       // by stage: its reduction gives the same bits in any order
  bool has_empty = false;             // some extent is 0
  contents data = contents::own;
};
/// Puts elements into the tensors as `d.data` says.
inline void draw_contents(drawn& d) {
  if (d.data == contents::own) return;
  random_source r(d.seed);
  for (weft::dense& t : d.tensors) t = draw_tensor(r, t.type, t.shape, d.data == contents::wild);
}

/// Makes a program, and its inputs, knowing all shapes beforehand.
class program_maker : access_maker {
 public:
  explicit program_maker(std::uint64_t seed, bool risky = false) : access_maker(seed, risky), alike_source_(seed ^ 0xa11ce) {
    d_.seed = seed;
    alike_ = alike_source_.chance(20);
  }

  drawn make() {
    for (int i = 0; i < 4; ++i) sizes_.push_back(r_.one_of({1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 64}));
    if (r_.chance(8)) sizes_.push_back(0);
    if (r_.chance(12)) pairs_ = r_.one_of({1, 1, 2, 2, 3});
    alike_ = alike_ && pairs_ == 0;
    if (alike_) alike_type_ = any_type();
    int const inputs = r_.between(pairs_ > 0 ? 2 : 1, 3), scalars = r_.chance(40) ? r_.between(1, 2) : 0, stages = r_.between(1, 4);
    for (int i = 0; i < inputs; ++i) input(i);
    for (int i = 0; i < scalars; ++i) {
      weft::dtype const t = any_type();
      scalars_.push_back({p_.add_scalar(t), -1, 0});
      d_.scalars.push_back(draw_element(r_, t, r_.chance(30)));
    }
    for (int s = 0; s < stages; ++s) {
      stage(s);
      if (s + 1 == stages || r_.chance(25)) p_.outputs.push_back(static_cast<int>(p_.tensors.size()) - 1);
    }
    if (r_.chance(10)) require();
    d_.what = weft::canonical(p_);
    return static_cast<drawn&&>(d_);
  }

 private:
  // --- tensors ------------------------------------------------------------------------------------------------
  void input(int number_of_it) {
    weft::dtype const t = alike_ ? alike_type_ : pairs_ == 0 ? any_type() : factor_type(number_of_it);
    weft::sequence<std::int64_t> shape;
    std::int64_t count = 1;
    if (alike_ && number_of_it > 0) shape = known_[0].shape;
    else
    for (int rank = pairs_ == 0 ? r_.one_of({0, 1, 1, 1, 2, 2, 2, 3}) : r_.between(1, 2); rank > 0; --rank) {
      std::int64_t e = r_.one_of(sizes_);
      if (count * e > 1024) e = r_.between(1, 3);
      if (pairs_ > 0 && rank == 1 && number_of_it > 0) e = known_[0].shape[known_[0].shape.size() - 1];
      count *= e;
      shape.push_back(e);
    }
    char const name[] = {static_cast<char>('A' + number_of_it)};
    p_.add_input(weft::short_name(std::string_view(name, 1)), t, static_cast<int>(shape.size()));
    bool const wild = r_.chance(25);
    known_.push_back({shape, -1, 0});
    if (weft::is_float(t) && !wild) known_.back().most = 2, known_.back().fraction = 3;
    for (std::int64_t e : shape) d_.has_empty = d_.has_empty || e == 0;
    d_.tensors.push_back(draw_tensor(r_, t, shape, wild));
  }
  /// Of the factors of a product whose sums an instruction computes.
  weft::dtype factor_type(int which) const {
    using enum weft::dtype;
    if (pairs_ == 1) return bf16;
    return pairs_ == 2 ? (which % 2 == 0 ? u8 : i8) : i16;
  }
  /// Such a product of two inputs, with the reduced axis along the last dimension; no node where that reaches too far.
  number product_of_pair() {
    weft::dtype const t = pairs_ == 1 ? weft::dtype::f32 : weft::dtype::i32;
    number factors[2];
    for (int i = 0; i < 2; ++i) {
      known_tensor const& k = known_[at(i)];
      axis const terms = axes_[axes_.size() - 1];
      weft::sequence<int> indices;
      int guard = -1;
      for (std::size_t d = 0; d < k.shape.size(); ++d)
        if (d + 1 < k.shape.size()) indices.push_back(index_within(k.shape[d], p_.extent_of(i, static_cast<int>(d)), guard, 0));
        else if (terms.extent == k.shape[d]) indices.push_back(terms.node);
      if (guard >= 0 || indices.size() < k.shape.size()) return {};
      factors[i] = {cast(p_.load(i, indices), t), k.most, k.fraction};
    }
    number n{op(weft::op::mul, factors[0].node, factors[1].node), factors[0].most * factors[1].most,
             factors[0].fraction + factors[1].fraction};
    if (factors[0].most < 0 || factors[1].most < 0 || !n.on_grid(t)) n.most = -1;
    return n;
  }
  std::int64_t value_of(int extent_node) const {
    return weft::extent_value(p_, extent_node, [&](int t, int d) { return known_[at(t)].shape[at(d)]; });
  }
  /// The node of an extent of at most `most`.
  int extent(std::int64_t most) {
    int const kind = r_.below(10);
    int e = -1;
    if (kind < 7) {
      weft::sequence<int> all;
      for (std::size_t t = 0; t < known_.size(); ++t)
        for (std::size_t d = 0; d < known_[t].shape.size(); ++d)
          all.push_back(p_.extent_of(static_cast<int>(t), static_cast<int>(d)));
      if (!all.empty()) e = r_.one_of(all);
      if (e >= 0 && kind == 5 && value_of(e) >= 2) e = op(weft::op::add, e, index(-2));
      if (e >= 0 && kind == 6) e = op(weft::op::floor_div, op(weft::op::add, e, index(1)), index(2));
    }
    if (e < 0 || value_of(e) > most || value_of(e) < 0) {
      std::int64_t literal = r_.one_of(sizes_);
      if (literal > most) literal = r_.between(1, static_cast<int>(most < 9 ? most : 9));
      e = index(literal);
    }
    d_.has_empty = d_.has_empty || value_of(e) == 0;
    return e;
  }

  /// A condition that the shapes meet.
  void require() {
    int const a = extent(64), b = extent(64);
    int const literal = index(value_of(a));
    int const sum = p_.operation(weft::op::add, weft::dtype::i64, literal, b);
    int const larger = p_.operation(weft::op::add, weft::dtype::i64, a, b);
    weft::op const o = r_.one_of({weft::op::eq, weft::op::le});
    p_.conditions.push_back(p_.operation(o, weft::dtype::boolean, larger, sum));
  }

  // --- stages -------------------------------------------------------------------------------------------------
  /// Running sums of a tensor, by a function.
  bool by_function(int s) {
    int const read = r_.below(static_cast<int>(known_.size()));
    weft::tensor_info const from = p_.tensors[at(read)];
    if (from.rank < 1) return false;
    known_tensor const k = known_[at(read)];
    weft::stage_info info{-1, static_cast<std::int32_t>(p_.axes.size()), from.rank};
    weft::sequence<std::int32_t> shape;
    for (int d = 0; d < from.rank; ++d) {
      shape.push_back(p_.extent_of(read, d));
      p_.add_axis(shape.back(), -1, false);
    }
    info.first_read = static_cast<std::int32_t>(p_.reads.size());
    info.by = &running_function(from.type, from.rank);
    p_.reads.push_back(read);
    char const name[] = {'F', static_cast<char>('0' + s)};
    p_.add_stage(weft::short_name(std::string_view(name, 2)), info, from.type, shape, {});
    d_.order_free.push_back(true);
    known_.push_back(k);
    return true;
  }
  void stage(int s) {
    if (r_.chance(12) && by_function(s)) return;
    std::int64_t points = 1;
    std::int64_t const most = r_.one_of({200, 200, 400, 1200, 3000});
    axes_.clear();
    for (auto& pool : seen_) pool.clear();
    bool const like_input = alike_ && alike_source_.chance(70);
    int const spatial = like_input ? static_cast<int>(known_[0].shape.size()) : r_.one_of({0, 1, 1, 1, 2, 2, 2, 3}), reduced = pairs_ > 0 ? r_.one_of({0, 1, 1, 1, 2}) : r_.one_of({0, 0, 0, 0, 1, 1, 2});
    bool const of_pairs = reduced > 0 && pairs_ > 0 && r_.chance(80);
    int const first = static_cast<int>(p_.axes.size());
    weft::sequence<std::int32_t> shape;
    known_tensor made;
    for (int i = 0; i < spatial + reduced; ++i) {
      bool const terms = of_pairs && i + 1 == spatial + reduced;
      int const last = static_cast<int>(known_[0].shape.size()) - 1;
      int const e = terms ? p_.extent_of(0, last) : like_input && i < spatial ? p_.extent_of(0, i) : extent(most > points ? most / points : 1);
      std::int64_t const value = value_of(e);
      points *= value > 0 ? value : 1;
      axes_.push_back({p_.axis_node(p_.add_axis(e, -1, i >= spatial)), e, value});
      if (i < spatial) shape.push_back(e), made.shape.push_back(value);
    }
    weft::stage_info info{-1, first, spatial, first + spatial, reduced};
    if (spatial > 0 && reduced == 0 && r_.chance(25)) info.scanned = r_.below(spatial), info.backwards = r_.chance(30);
    bool const combines = reduced > 0 || info.scanned >= 0;
    if (reduced > 0 && !of_pairs && r_.chance(12)) return position(s, info, shape, made);
    int const results = !of_pairs && r_.chance(reduced > 0 ? 30 : 15) ? r_.between(2, 3) : 1;
    says_merged_ = results == 1 && reduced > 0 && r_.chance(15);
    weft::sequence<weft::dtype> types;
    for (int i = 0; i < results; ++i) types.push_back(like_input ? alike_type_ : any_type());
    if (of_pairs) types[0] = pairs_ == 1 ? weft::dtype::f32 : weft::dtype::i32;
    // Some results of several do not hang on one of the axes (schedule/narrow.hpp).
    int const without = reduced > 0 && results > 1 && spatial > 0 && r_.chance(60) ? r_.below(spatial) : -1;
    d_.order_free.push_back(true);
    weft::sequence<known_tensor> finished;  // no body reads the stage's own tensors
    for (int i = 0; i < results; ++i) {
      weft::dtype const t = types[at(i)];
      weft::result_info result;
      auto const all_axes = axes_;
      if (without >= 0 && (i == 0 || r_.chance(40))) {
        axes_[at(without)] = axes_[at((without + 1) % (spatial + reduced))];
        for (auto& pool : seen_) pool.clear();
      }
      number body;
      if (of_pairs) body = product_of_pair();
      if (body.node < 0) body = value(t, r_.between(1, 4));
      axes_ = all_axes;
      if (combines && results > 1 && r_.chance(50)) body = mixed(t, body, types);
      if (combines) body = reduction(t, body, info, i, result);
      result.body = body.node;
      known_tensor one = made;
      if (body.on_grid(t)) one.most = body.most, one.fraction = body.fraction;
      char const name[] = {'S', static_cast<char>('0' + s)};
      weft::short_name const called(std::string_view(name, 2));
      if (i == 0) p_.add_stage(called, info, t, shape, result);
      else p_.add_result(called, t, shape, result);
      finished.push_back(one);
    }
    for (known_tensor const& one : finished) known_.push_back(one);
  }
  /// Where the smallest or largest element stands, and that element, as weft::argmin and weft::argmax make it.
  void position(int s, weft::stage_info const& info, weft::sequence<std::int32_t> const& shape, known_tensor made) {
    using weft::op;
    weft::dtype const t = any_type(), wide = weft::is_half(t) ? weft::dtype::f32 : t;
    bool const largest = r_.chance(50);
    int place = axes_[at(info.spatial)].node;
    for (int d = 1; d < info.reduced; ++d) {
      axis const& a = axes_[at(info.spatial + d)];
      place = this->op(op::add, this->op(op::mul, place, a.extent_node), a.node);
    }
    int const x = value(t, r_.between(1, 3)).node;
    int const best = p_.add({op::self, weft::dtype::i64, 0}), self = p_.add({op::self, t, 1});
    int const held = cast(self, wide), met = cast(x, wide);
    int better = largest ? this->op(op::lt, held, met) : this->op(op::lt, met, held);
    if (weft::is_float(t))
      better = this->op(op::logical_or, better,
                        this->op(op::logical_and, this->op(op::ne, met, met), this->op(op::eq, held, held)));
    better = this->op(op::logical_or, better, this->op(op::lt, best, index(0)));
    int bodies[] = {this->op(op::select, better, place, best), this->op(op::select, better, x, self)};
    if (r_.chance(30)) {
      int const c = condition();
      bodies[0] = this->op(op::select, c, bodies[0], best), bodies[1] = this->op(op::select, c, bodies[1], self);
    }
    std::int64_t const worst = weft::with_dtype(t, [&]<class T>(T) {
      return largest ? weft::detail::identity_of<op::max, T>() : weft::detail::identity_of<op::min, T>();
    });
    char const name[] = {'P', static_cast<char>('0' + s)};  // see keeps_order
    weft::short_name const called(std::string_view(name, 2));
    p_.add_stage(called, info, weft::dtype::i64, shape, {bodies[0], -1});
    p_.add_result(called, t, shape, {bodies[1], worst});
    d_.order_free.push_back(false);
    known_.push_back(made), known_.push_back(made);
  }
  /// Of axes, or of anything.
  int condition() {
    if (axes_.empty() || r_.chance(30)) return value(weft::dtype::boolean, 1).node;
    axis const &a = r_.one_of(axes_), &b = r_.one_of(axes_);
    int const sum = op(weft::op::add, op(weft::op::mul, a.node, index(r_.between(-1, 4))), b.node);
    return op(weft::op::lt, sum, r_.chance(50) ? a.extent_node : index(r_.between(0, 40)));
  }
  /// What the value so far of some result makes of `x`: only right when all are evaluated before any is written.
  number mixed(weft::dtype t, number x, weft::sequence<weft::dtype> const& types) {
    d_.order_free.back() = false;
    int const other = r_.below(static_cast<int>(types.size()));
    int const self = p_.add({weft::op::self, types[at(other)], other});
    weft::dtype const compared = weft::is_half(types[0]) ? weft::dtype::f32 : types[0];
    int const first = cast(p_.add({weft::op::self, types[0], 0}), compared);
    int const second = cast(p_.add({weft::op::self, types[1], 1}), compared);
    int const smaller = p_.operation(weft::op::lt, weft::dtype::boolean, first, second);
    return {p_.operation(weft::op::select, t, smaller, cast(self, t), x.node), -1, 0};
  }
  number reduction(weft::dtype t, number x, weft::stage_info const& stage, int place, weft::result_info& info) {
    double terms = 1;
    for (int i = 0; i < stage.reduced; ++i) terms *= static_cast<double>(axes_[at(stage.spatial + i)].extent);
    if (stage.scanned >= 0) terms = static_cast<double>(axes_[at(stage.scanned)].extent);
    int const self = p_.add({weft::op::self, t, place});
    using weft::op;
    op const combine = t == weft::dtype::boolean
                           ? r_.one_of({op::min, op::max, op::bit_xor, op::logical_or, op::logical_and})
                           : r_.one_of({op::add, op::add, op::add, op::add, op::min, op::min, op::max, op::max, op::mul});
    info.identity = weft::with_dtype(t, [&]<class T>(T) {
      if (combine == op::min) return weft::detail::identity_of<op::min, T>();
      if (combine == op::max) return weft::detail::identity_of<op::max, T>();
      if (combine == op::mul) return weft::detail::identity_of<op::mul, T>();
      return std::int64_t(combine == op::logical_and);
    });
    number result{-1, x.most, x.fraction};
    // A half adds and compares as f32, and is rounded in each step.
    weft::dtype const as = weft::is_half(t) ? weft::dtype::f32 : t;
    int const before = cast(self, as);
    x.node = cast(x.node, as);
    if (combine == op::add && t != weft::dtype::boolean && r_.chance(15)) {  // a polynomial: only in this order
      d_.order_free.back() = false;
      int const factor = p_.literal(as, weft::converted(weft::dtype::i64, as, 2));
      result.node = cast(this->op(op::add, this->op(op::mul, before, factor), x.node), t);
      result.most = -1;
      return result;
    }
    if (combine == op::mul) result.most = -1;
    if (combine == op::add && x.most >= 0) result.most = x.most * (terms > 1 ? terms : 1);
    if (weft::is_float(t)) {
      d_.order_free.back() = d_.order_free.back() && result.on_grid(t);
      // min and max of 0 and -0 depend on their order; with 0 added there is no -0.
      bool const chooses = combine == op::min || combine == op::max;
      if (chooses) x.node = this->op(op::add, x.node, p_.literal(as, 0));
      if (chooses && terms == 0) result.most = -1;  // infinite
    }
    result.node = cast(this->op(combine, before, x.node), t);
    if (r_.chance(20)) {
      result.node = this->op(op::select, condition(), result.node, self);
      if (combine == op::min || combine == op::max) result.most = -1;  // infinite, if it holds nowhere
    }
    if (says_merged_)
      info.merged = cast(this->op(combine, before, cast(p_.add({op::self, t, place + 1}), as)), t);
    return result;
  }

  // --- values -------------------------------------------------------------------------------------------------
  number remember(weft::dtype t, number n) {
    seen_[at(static_cast<int>(t))].push_back(n);
    return n;
  }
  number value(weft::dtype t, int depth) {
    auto const& pool = seen_[at(static_cast<int>(t))];
    if (!pool.empty() && r_.chance(12)) return r_.one_of(pool);
    if (depth <= 0 || r_.chance(15)) return remember(t, leaf(t));
    if (r_.chance(10)) return remember(t, converted(t, any_type(), depth));
    if (r_.chance(12)) return remember(t, selected(t, depth));
    if (t == weft::dtype::boolean) return remember(t, truth(depth));
    if (weft::is_half(t)) return remember(t, half(t, depth));
    return remember(t, weft::is_float(t) ? real(t, depth) : integer(t, depth));
  }
  number leaf(weft::dtype t) {
    int const kind = r_.below(10);
    if (kind == 0) {
      std::int64_t const bits = draw_element(r_, t, false);
      return {p_.literal(t, bits), weft::is_float(t) ? 2.0 : -1, 3};
    }
    if (kind == 1 && !scalars_.empty()) {
      number const s = r_.one_of(scalars_);
      return {cast(s.node, t), -1, 0};
    }
    if (kind <= 3 && !axes_.empty()) {
      axis const& a = r_.one_of(axes_);
      return number{cast(a.node, t), static_cast<double>(a.extent), 0}.in(t);
    }
    if (kind == 4 && t == weft::dtype::i64 && !axes_.empty()) return {r_.one_of(axes_).extent_node, -1, 0};
    return load(t, 1);
  }
  number converted(weft::dtype t, weft::dtype from, int depth) {
    number x = value(from, depth - 1);
    if (from == t) return x;
    if (!weft::is_float(from)) x.most = most_of(from), x.fraction = 0;
    x.node = cast(x.node, t);
    return x.in(t);
  }
  number selected(weft::dtype t, int depth) {
    int const c = value(weft::dtype::boolean, depth - 1).node;
    number const a = value(t, depth - 1), b = value(t, depth - 1);
    return larger(op(weft::op::select, c, a.node, b.node), a, b);
  }
  number real(weft::dtype t, int depth) {
    using weft::op;
    number const a = value(t, depth - 1);
    if (r_.chance(8)) return {this->op(op::neg, a.node), a.most, a.fraction};
    if (r_.chance(8))
      return {this->op(r_.one_of({op::sqrt, op::floor, op::ceil, op::trunc, op::round, op::abs}), a.node), -1, 0};
    if (expansions_ < 2 && r_.chance(6))  // each is some dozens of operations
      return ++expansions_,
             number{this->op(r_.one_of({op::exp, op::exp, op::exp2, op::expm1, op::log, op::log2, op::log1p, op::rsqrt, op::sin,
                                        op::cos, op::tan, op::atan, op::tanh, op::sigmoid, op::erf, op::gelu}),
                             a.node),
                    -1, 0};
    number const b = value(t, depth - 1);
    if (r_.chance(3)) {  // of a NaN that arithmetic made the sign is open
      int const sign = this->op(op::select, this->op(op::eq, b.node, b.node), b.node, a.node);
      return {this->op(op::copysign, a.node, sign), -1, 0};
    }
    if (expansions_ < 2 && r_.chance(3))
      return ++expansions_, number{this->op(r_.one_of({op::pow, op::atan2, op::rem}), a.node, b.node), -1, 0};
    op const o = r_.one_of({op::add, op::add, op::sub, op::mul, op::mul, op::min, op::max, op::div});
    number n = larger(this->op(o, a.node, b.node), a, b);
    if (o == op::div) n.most = -1;
    if (n.most >= 0 && (o == op::add || o == op::sub)) n.most = a.most + b.most;
    if (n.most >= 0 && o == op::mul) n.most = a.most * b.most, n.fraction = a.fraction + b.fraction;
    if (!n.on_grid(t)) n.most = -1;
    return n;
  }
  /// A half of what was computed as another type; of two halves the smaller or larger one as the face makes it.
  number half(weft::dtype t, int depth) {
    using weft::op;
    if (r_.chance(60))
      return converted(t, r_.one_of({weft::dtype::f32, weft::dtype::f32, any_computing_type()}), depth);
    number const a = value(t, depth - 1), b = value(t, depth - 1);
    int const x = cast(a.node, weft::dtype::f32), y = cast(b.node, weft::dtype::f32);
    return larger(cast(this->op(r_.one_of({op::min, op::max}), x, y), t), a, b);
  }
  number integer(weft::dtype t, int depth) {
    using weft::op;
    int const a = value(t, depth - 1).node;
    if (r_.chance(8)) return {this->op(op::neg, a)};
    int const b = value(t, depth - 1).node;
    if (r_.chance(5)) return {p_.operation(op::fma, t, a, b, value(t, depth - 1).node)};
    return {this->op(r_.one_of({op::add, op::add, op::sub, op::mul, op::min, op::max, op::div, op::rem, op::floor_div,
                                op::floor_mod, op::bit_and, op::bit_or, op::bit_xor, op::shl, op::shr}),
                     a, b)};
  }
  number truth(int depth) {
    using weft::op;
    if (r_.chance(60)) {
      weft::dtype const t = any_type(), as = weft::is_half(t) ? weft::dtype::f32 : t;
      int const a = cast(value(t, depth - 1).node, as), b = cast(value(t, depth - 1).node, as);
      return {this->op(r_.one_of({op::lt, op::le, op::eq, op::ne}), a, b)};
    }
    int const a = value(weft::dtype::boolean, depth - 1).node;
    if (r_.chance(20)) return {this->op(op::logical_not, a)};
    int const b = value(weft::dtype::boolean, depth - 1).node;
    return {this->op(r_.one_of({op::logical_and, op::logical_or, op::bit_and, op::bit_or, op::bit_xor, op::min, op::max,
                                op::add, op::mul, op::eq, op::ne, op::lt, op::le}),
                     a, b)};
  }

  drawn d_;
  weft::sequence<int> sizes_;
  weft::sequence<number> scalars_;
  weft::sequence<number> seen_[weft::dtype_count];
  int expansions_ = 0;
  int pairs_ = 0;  // 1: the inputs are bf16, 2: u8 and i8 in turns, 3: i16
  bool says_merged_ = false;
  // Inputs and most stages of one type and shape: so that results are written over inputs, and stages read their own element.
  random_source alike_source_;
  bool alike_ = false;
  weft::dtype alike_type_ = weft::dtype::f32;
};

}  // namespace weft_test::fuzz
