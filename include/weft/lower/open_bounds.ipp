#include "weft/ir/simplify.hpp"
#include "weft/lower/bounds.hpp"
#include "weft/lower/open_bounds.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

class condition_finder final : public bounds_proof {
 public:
  explicit condition_finder(ir::arena& m) : bounds_proof(m) {}
  open_conditions found;

  void lengths(ir::stmt s) {
    if (s->kind == ir::stmt_kind::loop && ranges_.of(s->extent).low < 1)
      add(found.lengths, ir::binary(m_, op::sub, s->extent, ir::index(m_, 1)));
    if (s->kind == ir::stmt_kind::accumulate && s->first.size() > 1) {
      ir::expr product = ir::index(m_, 1);
      for (std::int32_t v : s->first) {
        ir::expr const extent = ranges_.known(v).extent;
        product = ir::binary(m_, op::mul, product, extent != nullptr ? extent : ir::index(m_, ranges_.of(v).high + 1));
      }
      add(found.lengths, ir::binary(m_, op::sub, ir::index(m_, std::int64_t(1) << 48), product));
    }
    for (ir::stmt c : s->children) lengths(c);
  }

 private:
  std::string unproved(ir::expr load, std::size_t d) override {
    ir::expr const index = simplify(m_, load->indices[d]), size = load->buf->shape[d];
    visits_ = visits_of_one_range;
    ir::expr const first = bound(index, false), last = bound(index, true);
    if (first == nullptr || last == nullptr) return found.complete = false, std::string();
    add(found.accesses, first);
    add(found.accesses, ir::binary(m_, op::sub, ir::binary(m_, op::sub, size, ir::index(m_, 1)), last));
    return {};
  }
  /// Unless it is known to be met.
  void add(sequence<ir::expr>& to, ir::expr e) {
    e = simplify(m_, e);
    bool known = ranges_.of(e).low >= 0;
    for (ir::expr other : to) known = known || other == e;
    if (!known) to.push_back(e);
  }
  /// The most (or least) that `e` can be, over sizes alone; null when nothing is known.
  ir::expr bound(ir::expr e, bool most) {
    if (e->kind == op::literal || e->kind == op::extent) return e;
    if (--visits_ < 0) return nullptr;
    auto const of = [&](ir::expr x, bool same = true) { return bound(x, most == same); };
    auto const both = [&](op o, ir::expr a, ir::expr b) {
      return a != nullptr && b != nullptr ? ir::binary(m_, o, a, b) : nullptr;
    };
    switch (e->kind) {
      case op::axis: {
        range_table::entry const v = ranges_.known(static_cast<std::int32_t>(e->value));
        if (v.extent == nullptr) break;
        return most ? both(op::add, of(v.begin), both(op::sub, of(v.extent), ir::index(m_, 1))) : of(v.begin);
      }
      case op::add: return both(op::add, of(e->a), of(e->b));
      case op::sub: return both(op::sub, of(e->a), of(e->b, false));
      case op::mul:
        if (e->b->kind == op::literal) return both(op::mul, of(e->a, e->b->value >= 0), e->b);
        if (ranges_.of(e->a).low < 0 || ranges_.of(e->b).low < 0) return nullptr;
        return both(op::mul, of(e->a), of(e->b));
      case op::min:
      case op::max: return both(e->kind, of(e->a), of(e->b));
      case op::select: return both(most ? op::max : op::min, of(e->b), of(e->c));
      case op::floor_div:
        if (e->b->kind == op::literal && e->b->value > 0) return both(op::floor_div, of(e->a), e->b);
        if (e->b->kind == op::extent) return both(op::floor_div, of(e->a), e->b);
        break;
      case op::floor_mod:
        if (ranges_.of(e->b).low < 1) break;
        return most ? both(op::sub, of(e->b), ir::index(m_, 1)) : ir::index(m_, 0);
      default: break;
    }
    interval const r = ranges_.of(e);
    std::int64_t const limit = most ? r.high : r.low;
    return infinite(limit) ? nullptr : ir::index(m_, limit);
  }
  int visits_ = 0;
};
}  // namespace detail

WEFT_DECL open_conditions conditions_of(ir::function const& f) {
  detail::condition_finder finder(*f.nodes);
  finder.statement(f.body);
  finder.lengths(f.body);
  return static_cast<open_conditions&&>(finder.found);
}

}  // namespace weft::inline WEFT_ABI
