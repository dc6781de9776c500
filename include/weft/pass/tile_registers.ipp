#include "weft/base/joined.hpp"
#include "weft/ir/own_memory.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/fragments.hpp"
#include "weft/pass/thread_tree.hpp"
#include "weft/pass/tile_registers.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

class tile_register_maker final : public ir::rewriter {
 public:
  explicit tile_register_maker(ir::function& f) : ir::rewriter(*f.nodes), f_(f) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (!has_tile(s)) return s;
    sequence<std::int32_t> inner;
    sequence<product> tiles;
    if (are_products(s, inner, tiles)) return are_apart_alike(tiles) ? kept(s, inner, tiles) : as_loops(m_)(s);
    if (s->kind == ir::stmt_kind::tile) refuse("is not three loops around a sum, or something else stands in the loops around it", s);
    return nullptr;
  }

 private:
  static constexpr std::size_t registers = 8;
  /// sum[begin + (i, j)] += the product of two loads, in loops over rows, columns and terms.
  struct product {
    ir::stmt tile = nullptr, rows = nullptr, columns = nullptr, terms = nullptr, sum = nullptr;
    tile_access at{};
    ir::buffer const* fragment = nullptr;
  };
  struct operand {
    ir::expr from = nullptr;  // the load
    ir::buffer const* into = nullptr;
    std::size_t used = 0;  // when it was last
  };
  class as_loops final : public ir::rewriter {
   public:
    using ir::rewriter::rewriter;

   protected:
    using ir::rewriter::replace;
    ir::stmt replace(ir::stmt s) override { return s->kind == ir::stmt_kind::tile ? s->children[0] : nullptr; }
  };
  /// Whether rows of sums and of what is read for them are known to be the same distance apart in the memory of this call; else the loops run.
  bool are_apart_alike(sequence<product> const& tiles) {
    for (product const& p : tiles) {
      if (access_of_tile(m_, p.sum->buf, p.sum->indices, p.rows->variable, p.columns->variable).buf == nullptr) return false;
      for (ir::expr l : loads_of(p.sum->value)) {
        bool is_left = true;
        for (ir::expr i : l->indices) is_left = is_left && !ir::uses(i, p.columns->variable);
        if (is_left && access_of_tile(m_, l->buf, l->indices, p.rows->variable, p.terms->variable).buf == nullptr) return false;
      }
    }
    return true;
  }
  [[noreturn]] void refuse(std::string const& why, ir::stmt tile) const {
    WEFT_THROW(schedule_error(joined({"tensorize: a tile of ", tile->unit != nullptr ? tile->unit->name : "a matrix unit", " ", why, "\n  in    ", f_.name})));
  }
  static ir::stmt only_child(ir::stmt s) {
    while (s->kind == ir::stmt_kind::block && s->children.size() == 1) s = s->children[0];
    return s;
  }
  product product_of(ir::stmt tile) const {
    product p;
    p.tile = tile;
    ir::stmt s = tile;
    for (ir::stmt* loop : {&p.rows, &p.columns, &p.terms}) {
      s = only_child(s->children[0]);
      if (s->kind != ir::stmt_kind::loop || !ir::is_literal(s->begin, 0)) refuse("is not three loops around a sum", tile);
      *loop = s;
    }
    p.sum = only_child(p.terms->children[0]);
    if (p.sum->kind != ir::stmt_kind::accumulate || p.sum->mask != nullptr || p.sum->before.size() > 0 || p.sum->identity == nullptr ||
        !ir::is_literal(p.sum->identity, 0))
      refuse("is not three loops around a sum that begins with zero", tile);
    return p;
  }
  /// Whether nothing stands in `s` but tiles and loops over their terms.
  bool are_products(ir::stmt s, sequence<std::int32_t>& inner, sequence<product>& tiles) const {
    if (s->kind == ir::stmt_kind::tile) {
      product const p = product_of(s);
      for (std::int32_t v : inner) {
        bool reduced = false;
        for (std::int32_t of : p.sum->first) reduced = reduced || of == v;
        for (ir::expr i : p.sum->indices) reduced = reduced && !ir::uses(i, v);
        if (!reduced) return false;
      }
      tiles.push_back(p);
      return true;
    }
    bool const loop = s->kind == ir::stmt_kind::loop && s->how == loop_kind::serial;
    if (!loop && s->kind != ir::stmt_kind::block) return false;
    if (loop) inner.push_back(s->variable);
    for (ir::stmt c : s->children)
      if (!are_products(c, inner, tiles)) return false;
    return !tiles.empty();
  }
  static bool is_same_place(tile_access const& a, tile_access const& b) {
    bool same = a.buf == b.buf && a.begin.size() == b.begin.size();
    for (std::size_t d = 0; same && d < a.begin.size(); ++d) same = a.begin[d] == b.begin[d];
    return same;
  }
  ir::stmt kept(ir::stmt s, sequence<std::int32_t> const& inner, sequence<product>& tiles) {
    sums_.clear(), left_.clear(), right_.clear(), fragments_.clear(), left_fragments_.clear(), right_fragments_.clear();
    now_ = 0;
    for (product& p : tiles) {
      p.at = access_of_tile(m_, p.sum->buf, p.sum->indices, p.rows->variable, p.columns->variable);
      if (p.at.buf == nullptr || !p.at.is_row_major()) refuse(joined({"has sums in ", p.sum->buf->name, ", whose columns do not stand side by side in memory"}), p.tile);
      for (product const& known : sums_)
        if (is_same_place(known.at, p.at)) p.fragment = known.fragment;
      if (p.fragment != nullptr) continue;
      p.fragment = fragment(*p.sum->buf, "_sum", p.rows, p.columns);
      sums_.push_back(p);
    }
    if (sums_.size() + 2 > registers) refuse("is one of more than six whose sums are kept at once: unroll fewer loops over tiles", tiles[0].tile);
    std::size_t const free = registers - sums_.size();
    most_right_ = free / 2, most_left_ = free - most_right_;
    sequence<ir::stmt> steps;
    for (product const& p : sums_) steps.push_back(begun(p, inner));
    steps.push_back(by_registers(s, tiles));
    for (product const& p : sums_) steps.push_back(moved(p, ir::tile_role::store, p.sum->buf, p.sum->indices, ir::load(m_, p.fragment, place_in(p.rows, p.columns))));
    ir::stmt body = ir::block(m_, steps);
    for (std::size_t i = fragments_.size(); i-- > 0;) body = ir::allocated(m_, fragments_[i], body);
    return body;
  }
  sequence<ir::expr> place_in(ir::stmt outer, ir::stmt inner) {
    ir::expr const place[] = {ir::variable(m_, outer->variable), ir::variable(m_, inner->variable)};
    return sequence<ir::expr>(place, place + 2);
  }
  ir::buffer const* fragment(ir::buffer const& like, char const* what, ir::stmt outer, ir::stmt inner) {
    ir::buffer* const b = ir::own_buffer(f_, like.name + what, like, sequence<ir::expr>{outer->extent, inner->extent});
    b->places = 0;
    fragments_.push_back(b);
    return b;
  }
  ir::stmt in_tile(ir::stmt like, ir::tile_role role, ir::stmt outer, ir::stmt inner, ir::stmt body) {
    ir::stmt_node n = *like;
    n.role = role;
    n.children = m_.make_list(sequence<ir::stmt>(
        1, ir::loop_like(m_, outer, outer->begin, outer->extent, ir::loop_like(m_, inner, inner->begin, inner->extent, body))));
    return m_.make(n);
  }
  /// to[indices] = value, of each sum.
  template <class Indices>
  ir::stmt moved(product const& p, ir::tile_role role, ir::buffer const* to, Indices const& indices, ir::expr value) {
    ir::stmt_node n;
    n.kind = ir::stmt_kind::store;
    n.buf = to;
    n.indices = m_.make_list(sequence<ir::expr>(indices.begin(), indices.end()));
    n.value = value;
    return in_tile(p.tile, role, p.rows, p.columns, m_.make(n));
  }
  /// Zeros; in later iterations of reduced loops around, what is there so far.
  ir::stmt begun(product const& p, sequence<std::int32_t> const& inner) {
    ir::expr first = nullptr;
    for (std::int32_t v : p.sum->first) {
      bool own = v == p.terms->variable;
      for (std::int32_t i : inner) own = own || i == v;
      if (!own) first = ir::all_of(m_, first, ir::binary(m_, op::eq, ir::variable(m_, v), ir::index(m_, 0)));
    }
    sequence<ir::expr> const place = place_in(p.rows, p.columns);
    ir::stmt const zero = moved(p, ir::tile_role::fill, p.fragment, place, p.sum->identity);
    if (first == nullptr && p.sum->first.size() > 0) return zero;
    ir::stmt const so_far = moved(p, ir::tile_role::fill, p.fragment, place,
                                  ir::load(m_, p.sum->buf, sequence<ir::expr>(p.sum->indices.begin(), p.sum->indices.end())));
    return first == nullptr ? so_far : ir::branch(m_, first, zero, so_far);
  }
  ir::stmt by_registers(ir::stmt s, sequence<product> const& tiles) {
    if (s->kind == ir::stmt_kind::tile) {
      for (product const& p : tiles)
        if (p.tile == s) return multiplied(p);
      return s;
    }
    if (s->kind == ir::stmt_kind::loop) left_.clear(), right_.clear();  // what an iteration loads the next one has to load again
    sequence<ir::stmt> all;
    for (ir::stmt c : s->children) all.push_back(by_registers(c, tiles));
    if (s->kind != ir::stmt_kind::loop) return ir::block(m_, all);
    left_.clear(), right_.clear();
    return ir::loop_like(m_, s, s->begin, s->extent, all[0]);
  }
  /// The operand's fragment, loaded if it is not there; of those that there are, the one that has waited longest.
  ir::buffer const* loaded(product const& p, ir::expr load, bool is_left, sequence<ir::stmt>& steps) {
    ir::stmt const outer = is_left ? p.rows : p.terms, inner = is_left ? p.terms : p.columns;
    sequence<operand>& known = is_left ? left_ : right_;
    ++now_;
    for (operand& o : known)
      if (o.from == load) return o.used = now_, o.into;
    check(p, load, is_left);
    ir::buffer const* into = nullptr;
    if (known.size() < (is_left ? most_left_ : most_right_)) {
      sequence<ir::buffer const*>& made = is_left ? left_fragments_ : right_fragments_;  // loops behind each other use the same
      if (known.size() == made.size()) made.push_back(fragment(*load->buf, is_left ? "_a" : "_b", outer, inner));
      into = made[known.size()];
      known.push_back({load, into, now_});
    } else {
      operand* oldest = &known[0];
      for (operand& o : known)
        if (o.used < oldest->used) oldest = &o;
      into = oldest->into;
      *oldest = {load, into, now_};
    }
    ir::stmt_node store;
    store.kind = ir::stmt_kind::store;
    store.buf = into;
    store.indices = m_.make_list(place_in(outer, inner));
    store.value = load;
    steps.push_back(in_tile(p.tile, is_left ? ir::tile_role::load_a : ir::tile_role::load_b, outer, inner, m_.make(store)));
    return into;
  }
  /// Of the right operand as many terms as a word has stand together, column by column.
  void check(product const& p, ir::expr load, bool is_left) {
    auto const fault = [&](char const* why) { refuse(joined({"has an operand in ", load->buf->name, ", ", why}), p.tile); };
    if (load->a != nullptr) fault("of which some elements are not there");
    if (is_left) {
      tile_access const at = access_of_tile(m_, load->buf, load->indices, p.rows->variable, p.terms->variable);
      if (at.buf == nullptr || !at.is_row_major()) fault("whose terms do not stand side by side in memory");
      return;
    }
    std::int64_t const together = 4 / size_bytes(load->type);
    auto const moved_by = [&](std::int64_t column, std::int64_t term) { return distance(p, load, column, term); };
    ir::expr const next = moved_by(0, together);
    bool fine = next->kind == op::literal && ir::is_literal(moved_by(p.columns->extent->value - 1, 0), (p.columns->extent->value - 1) * together);
    for (std::int64_t k = 1; fine && k < p.terms->extent->value; ++k) fine = ir::is_literal(moved_by(0, k), k / together * next->value + k % together);
    if (!fine)
      refuse(joined({"has an operand in ", load->buf->name, ", of which ", std::to_string(together),
                     " terms do not stand together, column by column\n  try   cache_read of it, and transform_layout of the copy to dims(k / ", std::to_string(together), ", j, k % ",
                     std::to_string(together), "), for the columns j and the reduced axis k"}),
             p.tile);
  }
  /// From the first element of the right operand to another, in elements of memory.
  ir::expr distance(product const& p, ir::expr load, std::int64_t column, std::int64_t term) {
    auto const flat = [&](std::int64_t j, std::int64_t k) {
      ir::expr at = ir::index(m_, 0);
      for (std::size_t d = 0; d < load->indices.size(); ++d) {
        ir::expr const i = ir::substitute(m_, ir::substitute(m_, load->indices[d], p.columns->variable, ir::index(m_, j)), p.terms->variable, ir::index(m_, k));
        at = ir::binary(m_, op::add, at, ir::binary(m_, op::mul, i, load->buf->strides[d]));
      }
      return at;
    };
    return simplify(m_, ir::binary(m_, op::sub, flat(column, term), flat(0, 0)));
  }
  ir::stmt multiplied(product const& p) {
    ir::expr value = p.sum->value;
    sequence<ir::stmt> steps;
    bool found[2] = {};
    for (ir::expr l : loads_of(p.sum->value)) {
      auto const uses = [&](ir::stmt loop) {
        bool any = false;
        for (ir::expr x : l->indices) any = any || ir::uses(x, loop->variable);
        return any;
      };
      bool const is_left = uses(p.rows) && !uses(p.columns), is_right = uses(p.columns) && !uses(p.rows);
      if ((!is_left && !is_right) || !uses(p.terms) || found[is_left]) refuse("has operands that are no matrices of rows and terms, and of terms and columns", p.tile);
      found[is_left] = true;
      if (l->type != p.tile->unit->pattern().tensors[is_left ? 0 : 1].type) refuse("has operands of its two types in the other order", p.tile);
      ir::buffer const* const into = loaded(p, l, is_left, steps);
      value = exchanged(m_, value, l, ir::load(m_, into, is_left ? place_in(p.rows, p.terms) : place_in(p.terms, p.columns)));
    }
    if (!found[0] || !found[1]) refuse("has operands that are no matrices of rows and terms, and of terms and columns", p.tile);
    ir::stmt_node sum = *p.sum;
    sum.buf = p.fragment;
    sum.indices = m_.make_list(place_in(p.rows, p.columns));
    sum.first = {};
    sum.value = value;
    steps.push_back(in_tile(p.tile, ir::tile_role::multiply, p.rows, p.columns, ir::loop_like(m_, p.terms, p.terms->begin, p.terms->extent, m_.make(sum))));
    return ir::block(m_, steps);
  }

  ir::function& f_;
  sequence<product> sums_{};  // one for each tile of sums
  sequence<operand> left_{}, right_{};
  sequence<ir::buffer const*> fragments_{}, left_fragments_{}, right_fragments_{};
  std::size_t most_left_ = 1, most_right_ = 1, now_ = 0;
};

}  // namespace detail

WEFT_DECL ir::stmt tile_registers(ir::function& f, ir::stmt body) { return detail::has_tile(body) ? detail::tile_register_maker(f)(body) : body; }

}  // namespace weft::inline WEFT_ABI
