#include <cmath>

#include "weft/tune/loop_features.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

/// Values of index expressions where each loop variable has a number.
class index_values {
 public:
  explicit index_values(std::size_t variables) : at_(variables, std::int64_t{0}) {}
  std::int64_t& variable(std::int32_t v) { return at_[static_cast<std::size_t>(v)]; }
  std::int64_t of(ir::expr e) const {
    switch (e->kind) {
      case op::literal: return e->value;
      case op::axis: return at_[static_cast<std::size_t>(e->value)];
      case op::add: return of(e->a) + of(e->b);
      case op::sub: return of(e->a) - of(e->b);
      case op::mul: return of(e->a) * of(e->b);
      case op::min: return least(of(e->a), of(e->b));
      case op::max: return -least(-of(e->a), -of(e->b));
      case op::div:
      case op::floor_div: {
        std::int64_t const a = of(e->a), b = of(e->b);
        return b == 0 ? 0 : a >= 0 ? a / b : -((-a + b - 1) / b);
      }
      case op::rem:
      case op::floor_mod: {
        std::int64_t const a = of(e->a), b = of(e->b);
        return b == 0 ? 0 : ((a % b) + b) % b;
      }
      case op::cast: return of(e->a);
      case op::ramp:
      case op::broadcast: return of(e->a);
      default: return 1;
    }
  }

 private:
  static std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
  sequence<std::int64_t> at_;
};

struct open_level {
  std::int32_t variable = 0;
  loop_kind how = loop_kind::serial;
  double trips = 1;
};
/// One access of a statement: by loop, from the outermost, how far the next iteration is away, in elements.
struct access {
  ir::buffer const* buf = nullptr;
  bool written = false, is_sum = false;
  sequence<double> strides;
};
/// What one statement costs.
struct statement_costs {
  double operations = 0, vectors = 0, chains = 0;
  double loads = 0, repeated = 0, gathers = 0, sums = 0, stores = 0;
  double into_l1 = 0, into_l2 = 0, l1_level = 0, l2_level = 0;
  double iterations = 0, innermost = 0, copies = 0, threads = 0;
  /// See loop_costs::estimate.
  double weight() const {
    return vectors + loads + repeated + 4 * gathers + 2 * sums + stores + into_l1 / 32 + into_l2 / 16 + 2 * iterations;
  }
  void add_to(sequence<float>& all) const {
    for (double x : {operations, vectors, chains, loads, repeated, gathers, sums, stores, into_l1, into_l2, l1_level, l2_level,
                     iterations, innermost, copies, threads})
      all.push_back(static_cast<float>(std::log2(1 + x)));
  }
  void join(statement_costs const& o) {
    operations += o.operations, vectors += o.vectors, chains += o.chains, loads += o.loads, repeated += o.repeated;
    gathers += o.gathers, sums += o.sums, stores += o.stores, into_l1 += o.into_l1, into_l2 += o.into_l2;
    l1_level += o.l1_level, l2_level += o.l2_level, iterations += o.iterations, innermost += o.innermost;
    copies += o.copies, threads += o.threads;
  }
};

class feature_walk {
 public:
  feature_walk(ir::function const& f, target const& t) : target_(t), values_(f.variables.size()) {}
  void walk(ir::stmt s) {
    if (s == nullptr) return;
    if (s->kind == ir::stmt_kind::loop) {
      std::int64_t const begin = values_.of(s->begin), trips = values_.of(s->extent);
      values_.variable(s->variable) = begin;
      levels_.push_back({s->variable, s->how, trips > 1 ? static_cast<double>(trips) : 1});
      walk_children(s);
      levels_.pop_back();
      values_.variable(s->variable) = 0;
      return;
    }
    if (s->kind == ir::stmt_kind::store || s->kind == ir::stmt_kind::accumulate) statement(s);
    walk_children(s);
  }
  loop_costs found() const {
    statement_costs all;
    loop_costs r;
    auto const threads = static_cast<double>(target_.threads > 0 ? target_.threads : 1);
    for (statement_costs const& c : costs_) {
      all.join(c);
      r.estimate += c.weight() / (c.threads < 1 ? 1 : c.threads < threads ? c.threads : threads);
    }
    sequence<float>& f = r.features;
    all.add_to(f);
    sequence<bool> taken(costs_.size(), false);
    for (int n = 0; n < 4; ++n) {
      std::size_t most = costs_.size();
      for (std::size_t i = 0; i < costs_.size(); ++i)
        if (!taken[i] && (most == costs_.size() || costs_[i].weight() > costs_[most].weight())) most = i;
      if (most < costs_.size()) taken[most] = true;
      (most < costs_.size() ? costs_[most] : statement_costs{}).add_to(f);
    }
    return r;
  }

 private:
  /// A branch is a tail, mostly: what is done where the condition holds counts.
  void walk_children(ir::stmt s) {
    std::uint32_t const count = s->kind == ir::stmt_kind::branch && s->children.size() > 1 ? 1 : s->children.size();
    for (std::uint32_t i = 0; i < count; ++i) walk(s->children[i]);
  }
  std::int64_t place_of(ir::buffer const* b, ir::list<ir::expr> const& indices) const {
    std::int64_t at = 0;
    for (std::uint32_t d = 0; d < indices.size() && d < b->strides.size(); ++d) at += values_.of(indices[d]) * values_.of(b->strides[d]);
    return at;
  }
  void note(sequence<access>& all, ir::buffer const* b, ir::list<ir::expr> const& indices, bool written, bool is_sum) {
    access a{b, written, is_sum, {}};
    std::int64_t const here = place_of(b, indices);
    for (open_level const& l : levels_) {
      std::int64_t& v = values_.variable(l.variable);
      ++v;
      a.strides.push_back(l.trips > 1 ? std::fabs(static_cast<double>(place_of(b, indices) - here)) : 0.0);
      --v;
    }
    all.push_back(static_cast<access&&>(a));
  }
  /// Each load once, and the operations on elements.
  void expression(ir::expr e, sequence<access>& all, sequence<ir::expr>& seen, double& operations) {
    for (ir::expr s : seen)
      if (s == e) return;
    seen.push_back(e);
    if (e->kind == op::load) {
      note(all, e->buf, e->indices, false, false);
      return;
    }
    if (arity(e->kind) > 0 && !ir::is_index(e)) operations += e->kind == op::fma ? 2 : 1;
    for (ir::expr c : {e->a, e->b, e->c})
      if (c != nullptr) expression(c, all, seen, operations);
  }
  /// Bytes that an access touches in the loops from `level` inwards; lines of 64 where it leaves some out.
  double footprint(access const& a, std::size_t level) const {
    double elements = 1, lines = 1;
    auto const size = static_cast<double>(size_bytes(a.buf->type));
    for (std::size_t i = level; i < levels_.size(); ++i) {
      if (a.strides[i] <= 0) continue;
      elements *= levels_[i].trips;
      if (a.strides[i] * size >= 64) lines *= levels_[i].trips;
      else lines *= 1 + (levels_[i].trips - 1) * a.strides[i] * size / 64;
    }
    double const dense = elements * size, sparse = lines * 64;
    return sparse > dense ? sparse : dense;
  }
  /// Whether the lines that an access touches from `level` inwards stay in a cache of this size: with 8 ways, of which each has a place
  /// for addresses that are the same modulo an eighth of the cache. Rows of 4096 bytes, one below the other, share one place of 8.
  bool stays(access const& a, std::size_t level, double cache) const {
    auto const way = static_cast<std::int64_t>(cache / 8);
    double in_a_place = 1;
    for (std::size_t i = level; i < levels_.size(); ++i) {
      auto const step = static_cast<std::int64_t>(a.strides[i]) * size_bytes(a.buf->type);
      if (step < 64) continue;
      std::int64_t common = way, rest = step;
      while (rest != 0) {
        std::int64_t const next = common % rest;
        common = rest, rest = next;
      }
      double const places = static_cast<double>(way) / static_cast<double>(common < 64 ? 64 : common);
      if (levels_[i].trips > places) in_a_place *= levels_[i].trips / (places < 1 ? 1 : places);
    }
    return in_a_place <= 8;
  }
  /// Bytes that come into a cache of this size, and the outermost level that fits, from inside.
  double traffic(sequence<access> const& all, double cache, double& fits) const {
    std::size_t level = levels_.size();
    for (; level > 0; --level) {
      double bytes = 0;
      for (access const& a : all) bytes += footprint(a, level - 1);
      if (bytes > cache) break;
    }
    double sum = 0;
    for (access const& a : all) {
      double often = 1;
      // What the loop around does not move, stays.
      std::size_t from = level;
      while (from > 0 && a.strides[from - 1] <= 0 && footprint(a, level) < cache / 2) --from;
      // And where the next one moves it within a line, the line is there.
      double const step = from > 0 ? a.strides[from - 1] * static_cast<double>(size_bytes(a.buf->type)) : 64;
      if (from == level && step < 64 && stays(a, level, cache)) --from, often = 1 + (levels_[from].trips - 1) * step / 64;
      for (std::size_t i = 0; i < from; ++i) often *= levels_[i].trips;
      sum += often * footprint(a, level);
    }
    fits = static_cast<double>(levels_.size() - level);
    return sum;
  }
  void statement(ir::stmt s) {
    sequence<access> all;
    sequence<ir::expr> seen;
    statement_costs c;
    double each = 0;
    expression(s->value, all, seen, each);
    note(all, s->buf, s->indices, true, s->kind == ir::stmt_kind::accumulate);
    double runs = 1, lanes = 1, threads = 1, copies = 1, innermost = 1, outer = 1;
    std::size_t vector_level = levels_.size();
    bool innermost_known = false;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      open_level const& l = levels_[i];
      runs *= l.trips;
      if (l.how == loop_kind::vectorized) lanes *= l.trips, vector_level = i;
      else if (l.how == loop_kind::unrolled) copies *= l.trips;
      else outer *= l.trips, c.iterations += outer;
      if (is_concurrent(l.how)) threads *= l.trips;
    }
    for (std::size_t i = levels_.size(); i-- > 0 && !innermost_known;)
      if (levels_[i].how == loop_kind::serial) innermost = levels_[i].trips, innermost_known = true;
    double const width = static_cast<double>(target_.vector_bytes > 0 ? target_.vector_bytes : 16) /
                         static_cast<double>(size_bytes(s->buf->type));
    double const parts = lanes > 1 ? std::ceil(lanes / width) : 1;  // machine vectors of one vector
    c.operations = runs * each;
    c.vectors = c.operations / lanes * parts;
    c.copies = copies * parts, c.threads = threads, c.innermost = innermost;
    for (access const& a : all) {
      // A copy that is written out shares what does not differ; a serial loop keeps what it does not move in a register.
      double often = runs / lanes;
      bool still_inside = true;
      for (std::size_t i = levels_.size(); i-- > 0;) {
        if (i == vector_level) continue;
        bool const moves = a.strides[i] > 0;
        if (levels_[i].how == loop_kind::unrolled) {
          if (!moves) often /= levels_[i].trips;
          continue;
        }
        if (moves) still_inside = false;
        else if (still_inside) often /= levels_[i].trips;
        if (a.is_sum && !moves && still_inside) c.chains += copies * parts;
      }
      double const step = vector_level < levels_.size() ? a.strides[vector_level] : 0;
      double& kind = a.is_sum ? c.sums : a.written ? c.stores : step > 1 ? c.gathers : step > 0 || lanes <= 1 ? c.loads : c.repeated;
      kind += often * (step > 1 ? lanes : step > 0 ? parts : 1);
    }
    c.into_l1 = traffic(all, static_cast<double>(target_.l1_bytes > 0 ? target_.l1_bytes : 32768), c.l1_level);
    c.into_l2 = traffic(all, static_cast<double>(target_.l2_bytes > 0 ? target_.l2_bytes : 1 << 20), c.l2_level);
    costs_.push_back(c);
  }

  target const& target_;
  index_values values_;
  sequence<open_level> levels_;
  sequence<statement_costs> costs_;
};
}  // namespace detail

WEFT_DECL loop_costs costs_of_loops(ir::function const& f, target const& machine) {
  detail::feature_walk w(f, machine);
  w.walk(f.body);
  return w.found();
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
