#include "weft/ir/own_memory.hpp"
#include "weft/base/joined.hpp"
#include "weft/ir/linear.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/fragments.hpp"
#include "weft/pass/thread_tree.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
inline ir::expr flat_index(ir::arena& m, ir::buffer const* buf, ir::list<ir::expr> indices) {
  ir::expr flat = ir::index(m, 0);
  for (std::size_t d = 0; d < indices.size(); ++d)
    flat = ir::binary(m, op::add, flat, ir::binary(m, op::mul, indices[d], buf->strides[d]));
  return flat;
}
}  // namespace detail

WEFT_DECL tile_access access_of_tile(ir::arena& m, ir::buffer const* buf, ir::list<ir::expr> indices, std::int32_t row, std::int32_t column) {
  tile_access t;
  ir::expr const flat = detail::flat_index(m, buf, indices);
  auto const step = [&](std::int32_t variable, std::int64_t& by) {
    ir::expr const next = ir::binary(m, op::add, ir::variable(m, variable), ir::index(m, 1));
    ir::expr const d = simplify(m, ir::binary(m, op::sub, ir::substitute(m, flat, variable, next), flat));
    if (d->kind == op::literal) by = d->value;
    return d->kind == op::literal;
  };
  if (!step(row, t.rows) || !step(column, t.columns)) return {};
  if (t.columns != 1 && t.rows != 1) return {};
  sequence<ir::expr> begin;
  for (ir::expr i : indices)
    begin.push_back(simplify(m, ir::substitute(m, ir::substitute(m, i, row, ir::index(m, 0)), column, ir::index(m, 0))));
  t.begin = m.make_list(begin);
  t.buf = buf;
  return t;
}

WEFT_DECL ir::expr place_of_tile(ir::arena& m, tile_access const& t) { return detail::flat_index(m, t.buf, t.begin); }
WEFT_DECL tile_operand operand_of_tile(ir::arena& m, ir::stmt tile, ir::expr load) {
  ir::stmt const i = tile->children[0], j = i->children[0], k = j->children[0];
  tile_operand o;
  for (ir::expr x : load->indices) o.is_left = o.is_left || ir::uses(x, i->variable);
  o.at = access_of_tile(m, load->buf, load->indices, o.is_left ? i->variable : k->variable, o.is_left ? k->variable : j->variable);
  return o;
}
WEFT_DECL ir::expr number_of_fragment(ir::arena& m, ir::buffer const* fragments, ir::list<ir::expr> const& indices) {
  ir::expr at = ir::index(m, 0);
  for (std::size_t d = 0; d + 2 < indices.size(); ++d) at = ir::binary(m, op::add, ir::binary(m, op::mul, at, fragments->shape[d]), indices[d]);
  return simplify(m, at);
}

WEFT_DECL bool begins_at_multiples(ir::arena& m, tile_access const& t, std::int64_t elements) {
  return t.leading() % elements == 0 && t.buf->alignment % (elements * size_bytes(t.buf->type)) == 0 &&
         detail::is_multiple(place_of_tile(m, t), elements);
}

namespace detail {
inline void find_loads(ir::expr e, sequence<ir::expr>& all) {
  if (e == nullptr) return;
  if (e->kind == op::load) {
    for (ir::expr known : all)
      if (known == e) return;
    all.push_back(e);
    return;
  }
  for (ir::expr x : {e->a, e->b, e->c}) find_loads(x, all);
}
class exchanger final : public ir::rewriter {
 public:
  exchanger(ir::arena& m, ir::expr from, ir::expr to) : ir::rewriter(m), from_(from), to_(to) {}

 protected:
  using ir::rewriter::replace;
  ir::expr replace(ir::expr e) override { return e == from_ ? to_ : nullptr; }

 private:
  ir::expr from_, to_;
};
}  // namespace detail
WEFT_DECL sequence<ir::expr> loads_of(ir::expr e) {
  sequence<ir::expr> all;
  detail::find_loads(e, all);
  return all;
}
WEFT_DECL ir::expr exchanged(ir::arena& m, ir::expr e, ir::expr from, ir::expr to) { return detail::exchanger(m, from, to)(e); }

namespace detail {

class fragment_maker final : public ir::rewriter {
 public:
  explicit fragment_maker(ir::function& f) : ir::rewriter(*f.nodes), f_(f) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind == ir::stmt_kind::tile) {
      if (s->role == ir::tile_role::multiply) return run({&s, 1});
      if (s->role == ir::tile_role::store) look_at_store(s);
      return s;
    }
    if (s->kind == ir::stmt_kind::loop && is_thread(s->how)) {
      threads_.push_back(s->variable), lengths_.push_back(s->extent);
      ir::stmt const same = children(s);
      threads_.pop_back(), lengths_.pop_back();
      return same;
    }
    if (s->kind == ir::stmt_kind::branch && !is_uniform(s->value, threads_)) {
      ++apart_;
      ir::stmt const same = children(s);
      --apart_;
      return same;
    }
    if (s->kind != ir::stmt_kind::block) return nullptr;
    sequence<ir::stmt> all, tiles;
    auto const finish = [&] {
      if (tiles.empty()) return;
      all.push_back(run({tiles.begin(), static_cast<std::uint32_t>(tiles.size())}));
      if (apart_ == 0) all.push_back(waiting(m_));
      tiles.clear();
    };
    ir::stmt stored = nullptr;  // the last statement but for barriers behind it
    std::size_t behind = 0;
    for (ir::stmt c : s->children) {
      if (is_stored_by_lanes(c)) {
        finish();
        if (stored != nullptr && is_stored_by_lanes(stored) && other_elements(stored, c)) all.resize(behind);  // warps need not wait in between
      }
      if (c->kind != ir::stmt_kind::barrier) stored = c;
      if (c->kind == ir::stmt_kind::tile && c->role == ir::tile_role::multiply) {
        if (!tiles.empty() && tiles.back()->unit != c->unit) finish();
        tiles.push_back(c);
      } else if (c->kind != ir::stmt_kind::barrier || tiles.empty()) {  // between tiles nobody writes what they read
        finish();
        all.push_back((*this)(c));
      }
      if (c->kind != ir::stmt_kind::barrier) behind = all.size();
    }
    finish();
    return ir::block(m_, all);
  }

 private:
  static bool is_stored_by_lanes(ir::stmt s) { return s->kind == ir::stmt_kind::tile && s->role == ir::tile_role::store && s->unit->has_places; }
  /// Whether two stores of tiles behind each other are of one stage, which has each element once.
  static bool other_elements(ir::stmt a, ir::stmt b) {
    ir::stmt stores[2] = {a, b};
    for (ir::stmt& s : stores)
      while (s->kind != ir::stmt_kind::store) s = s->children[0];
    return stores[0]->buf == stores[1]->buf;
  }
  struct loaded {
    ir::expr from = nullptr;
    ir::tile_role role = ir::tile_role::load_a;
    ir::buffer const* into = nullptr;
  };
  [[noreturn]] void refuse(std::string const& why, ir::stmt s) const {
    WEFT_THROW(schedule_error(joined({"tensorize: ", why, "\n  in    ", f_.name, ", ", s->unit->name})));
  }
  /// Rules of the hardware: where a tile begins, and how far its rows are apart.
  void check(tile_access const& t, ir::stmt s, ir::tile_role role, char const* what) {
    if (t.buf == nullptr) refuse(joined({what, " is not a matrix of which rows or columns stand side by side in memory"}), s);
    check_swizzle(t, s, role, what);
    std::int64_t const bytes = role == ir::tile_role::store ? s->unit->sum_bytes : s->unit->operand_bytes;
    std::int64_t const elements = bytes / size_bytes(t.buf->type);
    // What ldmatrix does not load is loaded by single elements, from anywhere.
    if (s->unit->has_places && (role == ir::tile_role::store || t.buf->where != ir::scope::stack)) return;
    if (begins_at_multiples(m_, t, elements)) return;
    ir::expr const first = place_of_tile(m_, t);
    refuse(joined({what, " is ", t.buf->name, ", whose rows must begin at multiples of ", std::to_string(bytes), " bytes: they are ",
                   std::to_string(t.leading()), " elements apart, their tile begins at [", ir::print(first, f_), "], and the memory at multiples of ",
                   std::to_string(t.buf->alignment), " bytes\n  try   cache_read into shared memory, and storage_align(copy, 0, ", std::to_string(2 * elements), ", ",
                   std::to_string(elements), ")"}),
           s);
  }
  /// Of swizzled rows ldmatrix alone is told where they are: of tiles whose rows are the memory's, of elements that it does not take apart.
  void check_swizzle(tile_access const& t, ir::stmt s, ir::tile_role role, char const* what) const {
    if (!t.buf->swizzled || (s->unit->has_places && role == ir::tile_role::store)) return;
    std::string const rows = joined({what, " is ", t.buf->name, ", whose rows are swizzled"});
    if (!s->unit->has_places)
      refuse(joined({rows, ", and where wmma looks for its elements is its own matter\n  try   storage_align(copy, 0, 32, 16) instead of swizzle, or an intrinsic of mma"}), s);
    bool const whole_rows = t.leading() == t.buf->strides[t.buf->strides.size() - 2]->value;
    bool const terms_side_by_side = t.is_row_major() == (role == ir::tile_role::load_a);
    if (whole_rows && (terms_side_by_side || size_bytes(t.buf->type) == 2)) return;
    refuse(joined({rows, ", and is loaded by single elements: ", whole_rows ? "of this type terms have to stand side by side" : "its rows are not those of the tile",
                   "\n  try   storage_align instead of swizzle, or transform_layout of the copy"}),
           s);
  }
  void look_at_store(ir::stmt s) {
    ir::stmt const rows = s->children[0], columns = rows->children[0], store = columns->children[0];
    bool const some = store->mask != nullptr && !s->unit->has_places;
    if (rows->kind != ir::stmt_kind::loop || columns->kind != ir::stmt_kind::loop || store->kind != ir::stmt_kind::store || some)
      refuse("a tile of sums is not stored whole", s);
    if (s->unit->has_places) return;
    check(access_of_tile(m_, store->buf, store->indices, rows->variable, columns->variable), s, ir::tile_role::store, "what is stored");
  }
  /// Of four warps: nothing is loaded, as the unit reads shared memory itself. Who prints it relies on what is checked here.
  ir::stmt of_four_warps(ir::list<ir::stmt> tiles) {
    for (ir::stmt t : tiles) {
      ir::stmt const i = t->children[0], j = i->children[0], k = j->children[0], sum = k->children[0];
      if (sum->kind != ir::stmt_kind::accumulate || sum->mask != nullptr) refuse("a tile is not three loops around a sum, or is cut", t);
      if (sum->first.size() > 0) refuse("its sums cannot be kept in fragments while the loops around run: something else touches their memory there", t);
      if (apart_ > 0) refuse("some warps of a block alone come to it, and it takes four", t);
      if (threads_.empty() || lengths_.back()->kind != op::literal || lengths_.back()->value % 128 != 0)
        refuse("it takes four warps together, and those of a block are no multiple of four\n  try   a tile of 64 rows, or of 128 or 256, 16 for each warp", t);
      if (number_of_fragment(m_, sum->buf, sum->indices)->kind != op::literal)
        refuse("its sums are in registers, of which a loop can name none by its iteration\n  try   unroll of the loops over tiles", t);
      sequence<ir::expr> const loads = loads_of(sum->value);
      bool found[2] = {};
      for (ir::expr l : loads) {
        auto const [is_a, a] = operand_of_tile(m_, t, l);
        found[is_a] = true;
        char const* const what = is_a ? "the left operand" : "the right operand";
        bool const fits = a.buf != nullptr && a.buf->where == ir::scope::stack && a.buf->swizzled && a.leading() == 64 && a.buf->strides[a.buf->strides.size() - 2]->value == 64 &&
                          (!is_a || a.is_row_major());
        if (!fits)
          refuse(joined({what, " is no copy in shared memory that is swizzled, with rows of 64 elements", is_a ? ", which are terms" : ", which are terms or columns",
                         "\n  try   64 terms at a time of a copy by cache_read, set_scope(shared) and swizzle", is_a ? "" : "; of columns transform_layout(copy, dims(j / 64, k, j % 64)) before"}),
                 t);
        if (!begins_where_patterns_do(a))
          refuse(joined({what, " does not begin at a multiple of 16 elements of a multiple of 8 rows, which is where the unit begins to read\n  try   mma_f16 or mma_bf16, or a copy that begins there"}), t);
        if (!moves_with_warps(place_of_tile(m_, a), is_a ? 16 * 64 : 0))
          refuse(joined({what, is_a ? " does not move by 16 rows from a warp to the next one" : " is not the same for all warps", "\n  try   a tile of 16 rows and all columns of the block for each warp"}), t);
      }
      if (!found[0] || !found[1] || loads.size() != 2) refuse("its operands are no matrices of rows and terms, and of terms and columns", t);
    }
    return ir::block(m_, sequence<ir::stmt>(tiles.begin(), tiles.end()));
  }
  /// Rows are swizzled in patterns of eight, of which the unit is told where the first one begins.
  bool begins_where_patterns_do(tile_access const& t) {
    ir::expr rows = ir::index(m_, 0);
    std::uint32_t const last = t.begin.size() - 1;
    for (std::uint32_t d = 0; d < last; ++d) rows = ir::binary(m_, op::add, rows, ir::binary(m_, op::mul, t.begin[d], t.buf->strides[d]));
    return is_multiple(simplify(m_, rows), 8 * 64) && is_multiple(t.begin[last], 16);
  }
  /// Whether what the next warp has is so many elements further.
  bool moves_with_warps(ir::expr flat, std::int64_t by) {
    auto const of_warp = [&](std::int64_t number) { return simplify(m_, ir::substitute(m_, flat, threads_.back(), ir::index(m_, 32 * number))); };
    bool moves = true;
    for (std::int64_t w = 1; w < lengths_.back()->value / 32 && moves; ++w)
      moves = ir::is_literal(simplify(m_, ir::binary(m_, op::sub, of_warp(w), of_warp(w - 1))), by);
    return moves;
  }
  ir::stmt run(ir::list<ir::stmt> tiles) {
    if (tiles[0]->unit->is_of_four_warps()) return of_four_warps(tiles);
    sequence<loaded> all;
    sequence<ir::stmt> steps;
    sequence<std::size_t> begins;  // in steps: of tiles that have no operand in common with those before
    for (ir::stmt t : tiles) {
      std::size_t const known = all.size(), begin = steps.size();
      multiply(t, all, steps);
      if (all.size() == known + 2) begins.push_back(begin);
    }
    ir::stmt body = ir::block(m_, loaded_ahead(steps, begins, tiles[0]->unit->has_places));
    for (std::size_t i = all.size(); i-- > 0;) body = ir::allocated(m_, all[i].into, body);
    return body;
  }
  /// Of several steps of the terms, the operands of the next one are loaded in front of the products of each, where a thread's
  /// registers have room for both, beside the sums.
  sequence<ir::stmt> loaded_ahead(sequence<ir::stmt> const& steps, sequence<std::size_t> const& begins, bool known_places) const {
    if (begins.size() < 2 || !known_places) return steps;
    auto const end_of = [&](std::size_t g) { return g + 1 < begins.size() ? begins[g + 1] : steps.size(); };
    sequence<ir::stmt> all;
    auto const add = [&](std::size_t g, bool loads) {
      std::size_t count = 0;
      for (std::size_t i = begins[g]; i < end_of(g); ++i)
        if ((steps[i]->role != ir::tile_role::multiply) == loads) all.push_back(steps[i]), ++count;
      return count;
    };
    std::size_t const loads = add(0, true), products = end_of(0) - begins[0] - loads;
    if (8 * loads + 8 * products > 192) return steps;  // 4 registers each, twice, and 8 of a tile's sums
    for (std::size_t g = 0; g < begins.size(); ++g) {
      if (g + 1 < begins.size()) add(g + 1, true);
      add(g, false);
    }
    return all;
  }
  void multiply(ir::stmt t, sequence<loaded>& all, sequence<ir::stmt>& steps) {
    ir::stmt const i = t->children[0], j = i->children.size() > 0 ? i->children[0] : i, k = j->children.size() > 0 ? j->children[0] : j;
    ir::stmt const sum = k->children.size() > 0 ? k->children[0] : k;
    if (sum->kind != ir::stmt_kind::accumulate || sum->mask != nullptr) refuse("a tile is not three loops around a sum", t);
    if (sum->first.size() > 0) refuse("its sums cannot be kept in fragments while the loops around run: something else touches their memory there", t);
    sequence<ir::expr> const loads = loads_of(sum->value);
    ir::expr value = sum->value;
    ir::buffer const* into[2] = {};
    for (ir::expr l : loads) {
      auto const uses = [&](ir::stmt loop) {
        bool any = false;
        for (ir::expr x : l->indices) any = any || ir::uses(x, loop->variable);
        return any;
      };
      bool const is_a = uses(i) && uses(k) && !uses(j), is_b = uses(j) && uses(k) && !uses(i);
      if ((!is_a && !is_b) || into[is_b] != nullptr || l->a != nullptr) refuse("its operands are no matrices of rows and terms, and of terms and columns", t);
      ir::stmt const outer = is_a ? i : k, inner = is_a ? k : j;
      ir::tile_role const role = is_a ? ir::tile_role::load_a : ir::tile_role::load_b;
      ir::expr const place[] = {ir::variable(m_, outer->variable), ir::variable(m_, inner->variable)};
      sequence<ir::expr> const indices(place, place + 2);
      for (loaded const& known : all)
        if (known.from == l && known.role == role) into[is_b] = known.into;
      if (into[is_b] == nullptr) {
        check(access_of_tile(m_, l->buf, l->indices, outer->variable, inner->variable), t, role, is_a ? "the left operand" : "the right operand");
        ir::buffer const* const b = ir::own_buffer(f_, joined({l->buf->name, is_a ? "_a" : "_b"}), *l->buf,
                                               sequence<ir::expr>{outer->extent, inner->extent});
        into[is_b] = b;
        all.push_back({l, role, b});
        ir::stmt_node store;
        store.kind = ir::stmt_kind::store;
        store.buf = b;
        store.indices = m_.make_list(indices);
        store.value = l;
        ir::stmt_node load = *t;
        load.role = role;
        load.children = m_.make_list(sequence<ir::stmt>(1, ir::loop_like(m_, outer, outer->begin, outer->extent,
                                                                         ir::loop_like(m_, inner, inner->begin, inner->extent, m_.make(store)))));
        steps.push_back(m_.make(load));
      }
      value = exchanged(m_, value, l, ir::load(m_, into[is_b], indices));
    }
    if (into[0] == nullptr || into[1] == nullptr) refuse("its operands are no matrices of rows and terms, and of terms and columns", t);
    ir::stmt_node joined_terms = *sum, whole = *t;
    joined_terms.value = value;
    whole.children = m_.make_list(sequence<ir::stmt>(
        1, ir::loop_like(m_, i, i->begin, i->extent, ir::loop_like(m_, j, j->begin, j->extent, ir::loop_like(m_, k, k->begin, k->extent, m_.make(joined_terms))))));
    steps.push_back(m_.make(whole));
  }

  ir::function& f_;
  sequence<std::int32_t> threads_;  // variables of the loops around
  sequence<ir::expr> lengths_;      // of these loops
  int apart_ = 0;                   // branches around that some threads take: nobody waits in there
};

}  // namespace detail

WEFT_DECL ir::stmt fragments(ir::function& f, ir::stmt body) { return detail::fragment_maker(f)(body); }

}  // namespace weft::inline WEFT_ABI
