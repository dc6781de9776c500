#include "weft/base/joined.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/lower/bounds.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

class bounds_proof {
 public:
  explicit bounds_proof(ir::arena& m) : m_(m) {}
  virtual ~bounds_proof() = default;
  std::string statement(ir::stmt s) {
    if (s->kind == ir::stmt_kind::loop) {
      if (s->extent->kind == op::literal && s->extent->value <= 0) return {};  // what never runs reads nothing
      ranges_.set(s->variable, s->begin, s->extent);
    }
    if (s->value != nullptr)
      if (std::string why = expression(s->value); !why.empty()) return why;
    for (ir::stmt c : s->children)
      if (std::string why = statement(c); !why.empty()) return why;
    return {};
  }

 protected:
  /// What to say of dimension `d` of a load that is not proved to stay inside.
  virtual std::string unproved(ir::expr load, std::size_t d) {
    interval const r = range_of(linear_form(load->indices[d]), ranges_), size = ranges_.of(load->buf->shape[d]);
    return joined({load->buf->name, ": index ", std::to_string(d), " runs from ", number(r.low), " to ", number(r.high),
                   ", but ", load->buf->name, " has ", number(size.high),
                   " there; clamp the index, guard the access by select, or give a larger tensor"});
  }
  ir::arena& m_;
  range_table ranges_;

 private:
  std::string expression(ir::expr e) {
    if (e == nullptr) return {};
    if (seen_.size() <= e->id) seen_.resize(e->id + 64, false);
    if (seen_[e->id]) return {};
    seen_[e->id] = true;
    if (e->kind == op::load)
      if (std::string why = load(e); !why.empty()) return why;
    for (ir::expr x : {e->a, e->b, e->c})
      if (std::string why = expression(x); !why.empty()) return why;
    for (ir::expr x : e->indices)
      if (std::string why = expression(x); !why.empty()) return why;
    return {};
  }
  std::string load(ir::expr e) {
    given_.clear();
    supposed_.clear();
    never_ = false;
    range_table outside;
    if (e->a != nullptr) {
      outside = ranges_;
      suppose(e->a, true);
    }
    std::string why;
    for (std::size_t d = 0; d < e->indices.size() && why.empty() && !never_; ++d) {
      linear const index = linear_form(e->indices[d]);
      linear room = linear_form(e->buf->shape[d]);
      room.constant -= 1;
      room.add(index, -1);
      if (never_negative(index) && (never_negative(room) || below(e->indices[d], e->buf->shape[d]))) continue;
      why = unproved(e, d);
    }
    if (e->a != nullptr) ranges_ = static_cast<range_table&&>(outside);
    return why;
  }
  static std::string number(std::int64_t v) {
    return infinite(v) ? joined({"an unknown number"}) : std::to_string(v);
  }
  bool never_negative(linear const& l) const {
    if (range_of(l, ranges_).low >= 0) return true;
    for (linear const& g : given_) {
      linear d = l;
      d.add(g, -1);
      if (range_of(d, ranges_).low >= 0) return true;
    }
    return false;
  }
  /// By the same means by which lowering found that an access needs no mask.
  bool below(ir::expr index, ir::expr bound) const {
    return ir::is_literal(simplify(m_, ir::binary(m_, op::lt, index, bound), ranges_), 1);
  }
  /// Takes a condition apart into linear forms that are not negative where the load happens.
  void suppose(ir::expr c, bool holds) {
    if (c->kind == op::logical_not) return suppose(c->a, !holds);
    if (c->kind == (holds ? op::logical_and : op::logical_or)) {
      for (auto const& [known, held] : supposed_)  // a condition may be shared by many
        if (known == c && held == holds) return;
      supposed_.push_back({c, holds});
      suppose(c->a, holds);
      suppose(c->b, holds);
      return;
    }
    if (!is_comparison(c->kind) || c->a->lanes > 1 || !is_integer(c->a->type) || c->a->type == dtype::u64) return;
    suppose(c->kind, widened(c->a), widened(c->b), holds);
    // An i8 is compared as an i32, and an index as itself.
    ir::expr const a = as_read(c->a), b = as_read(c->b);
    if (a != c->a || b != c->b) suppose(c->kind, widened(a), widened(b), holds);
  }
  void suppose(op kind, ir::expr a, ir::expr b, bool holds) {
    if (kind == op::lt) note(holds ? b : a, holds ? a : b, holds ? 1 : 0);
    if (kind == op::le) note(holds ? b : a, holds ? a : b, holds ? 0 : 1);
    if (kind == (holds ? op::eq : op::ne)) note(a, b, 0), note(b, a, 0);
  }
  /// In an index: what was read as an i32 and is less than 7 is so there, too.
  ir::expr widened(ir::expr e) {
    if (e->type == dtype::i64) return e;
    return e->kind == op::literal ? ir::index(m_, e->value) : ir::cast(m_, op::cast, dtype::i64, e);
  }
  /// Without the casts to wider integers, which keep the value.
  static ir::expr as_read(ir::expr e) {
    while (e->kind == op::cast && is_integer(e->a->type) && size_bytes(e->a->type) < size_bytes(e->type) &&
           (is_signed_integer(e->type) || is_unsigned_integer(e->a->type)))
      e = e->a;
    return e;
  }
  /// Whether the form is one value as it stands, or a sum that cannot wrap.
  bool is_value(linear const& l) const {
    return (l.terms.size() == 1 && l.terms[0].coefficient == 1 && l.constant == 0) || is_exact(l, ranges_);
  }
  void note(ir::expr larger, ir::expr smaller, std::int64_t margin) {  // larger - smaller - margin >= 0
    linear d = linear_form(larger);
    linear const s = linear_form(smaller);
    // `x + 5 < n` says nothing about x when the sum wraps.
    if (!is_value(d) || !is_value(s)) return;
    d.add(s, -1);
    d.constant -= margin;
    given_.push_back(d);
    never_ = never_ || range_of(d, ranges_).high < 0;  // as the border of a small tensor: nothing is read there
    if (d.terms.size() != 1 || d.terms[0].atom->kind != op::axis) return;
    auto const v = static_cast<std::int32_t>(d.terms[0].atom->value);
    std::int64_t const c = d.terms[0].coefficient;
    interval r = ranges_.of(v);
    if (c > 0) r.low = ceil_div(-d.constant, c) > r.low ? ceil_div(-d.constant, c) : r.low;
    else r.high = floor_div(d.constant, -c) < r.high ? floor_div(d.constant, -c) : r.high;
    ranges_.set(v, r);
  }

  sequence<linear> given_;
  struct supposition {
    ir::expr condition;
    bool holds;
  };
  sequence<supposition> supposed_;  // the conjunctions taken apart already
  bool never_ = false;  // the conditions contradict each other
  sequence<bool> seen_;
};
}  // namespace detail

WEFT_DECL std::string check_bounds(ir::function const& f) { return detail::bounds_proof(*f.nodes).statement(f.body); }

}  // namespace weft::inline WEFT_ABI
