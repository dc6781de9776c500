#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/mma.hpp"
#include "weft/codegen/cuda/stmt.hpp"
#include "weft/pass/fragments.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

namespace detail {
inline void find_loads(ir::expr e, sequence<ir::expr>& all) {
  if (e == nullptr) return;
  if (e->kind == op::load) {
    for (ir::expr known : all)
      if (known == e) return;
    all.push_back(e);
  }
  for (ir::expr i : e->indices) find_loads(i, all);
  for (ir::expr x : {e->a, e->b, e->c}) find_loads(x, all);
}
}  // namespace detail

// All lanes of a warp come to it, each with its own part of the fragments.
WEFT_DECL void stmt_printer::mma_tile(ir::stmt s) {
  if (s->unit->is_of_four_warps() && s->role == ir::tile_role::multiply) return products_of_four_warps({&s, 1});
  if (products_run_) settle();
  mma_form const& form = mma_form_of(*s->unit);
  ir::stmt const outer = s->children[0], inner = outer->children[0];
  ir::stmt access = inner;
  while (access->kind == ir::stmt_kind::loop) access = access->children[0];
  for (char which : {'a', 'b', 'c'}) {
    prelude_function const type = mma_fragment(form, which);
    k_.need(type.name, type.definition);
  }
  auto const needed = [&](bool by_ldmatrix, bool row, ir::swizzle const& z = {}) {
    prelude_function const f = mma_function(form, s->role, by_ldmatrix, row, z);
    k_.need(f.name, f.definition);
    return f.name;
  };
  if (s->role == ir::tile_role::store) return mma_store(s);
  std::string const into = fragment(access->buf, access->indices);
  if (s->role == ir::tile_role::fill) {
    out_ += exprs_.share({access->value}, indent_);
    return line(needed(false, true) + "(" + into + ", " + exprs_.plain(access->value) + ");");
  }
  if (s->role == ir::tile_role::multiply) {
    sequence<ir::expr> loads;
    detail::find_loads(access->value, loads);
    std::string operand[2];
    for (ir::expr l : loads)
      operand[fragments_[static_cast<std::size_t>(l->buf->id)].which == 'b'] = k_.buffers[static_cast<std::size_t>(l->buf->id)] + "[0]";
    return line(joined({needed(false, true), "(", into, ", ", operand[0], ", ", operand[1], ");"}));
  }
  bool const is_a = s->role == ir::tile_role::load_a;
  tile_access const t = access_of_tile(*k_.f.nodes, access->value->buf, access->value->indices, outer->variable, inner->variable);
  if (t.buf == nullptr) k_.refuse("a tile that is none in memory");
  auto const id = static_cast<std::size_t>(t.buf->id);
  bool const row = t.is_row_major(), by_ldmatrix = id < shared_.size() && shared_[id] && fits_ldmatrix(form, row == is_a);
  if (by_ldmatrix) {
    prelude_function const f = ldmatrix(is_a ? !row : row);
    k_.need(f.name, f.definition);
  }
  sequence<ir::expr> roots(t.begin.begin(), t.begin.end());
  if (ir::swizzle const z = ir::swizzle_of(k_.f, t.buf); z.phases > 1) {
    ir::arena& m = *k_.f.nodes;
    ir::expr const column = roots.back(), number = swizzled_row(m, t.buf, t.begin);
    roots.push_back(number);
    out_ += exprs_.share(roots, indent_);
    roots.pop_back(), roots.back() = ir::index(m, 0);
    return line(joined({needed(by_ldmatrix, row, z), "(", into, ", &", exprs_.element(t.buf, m.make_list(roots), true), ", ", exprs_.plain(number), ", ",
                        exprs_.plain(column), ", ", std::to_string(t.leading()), ");"}));
  }
  out_ += exprs_.share(roots, indent_);
  std::string const place = "&" + exprs_.element(t.buf, t.begin);
  std::string const strides = by_ldmatrix ? std::to_string(t.leading())
                                          : joined({std::to_string(is_a ? t.rows : t.columns), ", ", std::to_string(is_a ? t.columns : t.rows)});
  line(joined({needed(by_ldmatrix, row), "(", into, ", ", place, ", ", strides, ");"}));
}
// Each lane computes what is stored of the sums that it has, two side by side at a time, and stores both at once where memory permits.
WEFT_DECL void stmt_printer::mma_store(ir::stmt s) {
  ir::arena& m = *k_.f.nodes;
  ir::stmt const rows = s->children[0], columns = rows->children[0], store = columns->children[0];
  tile_access const t = access_of_tile(m, store->buf, store->indices, rows->variable, columns->variable);
  bool const side_by_side = t.buf != nullptr && t.is_row_major() && begins_at_multiples(m, t, 2);
  prelude_function const place = mma_place(), pair = row_type(store->buf->type, 2);
  k_.need(place.name, place.definition);
  if (side_by_side) k_.need(pair.name, pair.definition);
  struct held {
    std::size_t buffer;
    std::string text;
    bool halves;
  };
  sequence<ir::expr> loads;
  detail::find_loads(store->value, loads);
  auto const under = [&](ir::expr condition) {
    out_ += exprs_.share({condition}, indent_);
    open(joined({"if (", exprs_.text(condition), ")"}));
  };
  sequence<held> sums;
  for (ir::expr l : loads)
    if (auto const id = static_cast<std::size_t>(l->buf->id); fragments_[id].unit != nullptr)
      sums.push_back({id, fragment(l->buf, l->indices), mma_form_of(*fragments_[id].unit).sum == dtype::f16});
  k_.in_lane.resize(k_.f.buffers.size());
  bool const some = store->mask != nullptr;
  auto const& [p, first, second] = names_of_pairs_;
  if (p.empty())
    for (int i = 0; i < 3; ++i) names_of_pairs_[i] = k_.taken.unique(i == 0 ? "pair" : i == 1 ? "first" : "second");
  line("#pragma unroll");
  open(joined({"for (int ", p, " = 0; ", p, " < 4; ++", p, ")"}));
  for (ir::stmt loop : {rows, columns}) {
    enter(loop, "0");
    line(joined({"int const ", k_.variables[static_cast<std::size_t>(loop->variable)].name, loop == rows ? " = weft_mma_row(" : " = weft_mma_column(", p, ");"}));
  }
  for (int e = 0; e < 2; ++e) {
    for (held const& h : sums)
      k_.in_lane[h.buffer] = h.halves ? joined({"(unsigned short)(", h.text, ".x[", p, "] >> ", std::to_string(16 * e), ")"})
                                      : joined({h.text, ".x[2 * ", p, " + ", std::to_string(e), "]"});
    ir::expr const next = ir::binary(m, op::add, ir::variable(m, columns->variable), ir::index(m, 1));
    auto const of_this = [&](ir::expr x) { return e == 0 ? x : ir::substitute(m, x, columns->variable, next); };
    ir::expr const value = of_this(store->value);
    sequence<ir::expr> indices, roots;
    for (ir::expr i : store->indices) indices.push_back(of_this(i));
    if (some && !side_by_side) under(of_this(store->mask));
    if (!side_by_side) roots = indices;
    roots.push_back(value);
    out_ += exprs_.share(roots, indent_);
    if (side_by_side) line(joined({type_name(store->buf->type), " const ", e == 0 ? first : second, " = ", exprs_.text(value), ";"}));
    else line(exprs_.element(store->buf, m.make_list(indices)) + " = " + exprs_.text(value) + ";");
    if (some && !side_by_side) close();
  }
  for (held const& h : sums) k_.in_lane[h.buffer].clear();
  if (side_by_side) {
    ir::expr const next = ir::binary(m, op::add, ir::variable(m, columns->variable), ir::index(m, 1));
    ir::expr const too = some ? ir::substitute(m, store->mask, columns->variable, next) : nullptr;
    if (some) under(ir::all_of(m, store->mask, too));
    out_ += exprs_.share(sequence<ir::expr>(store->indices.begin(), store->indices.end()), indent_);
    line(joined({"*(", pair.name, "*)&", exprs_.element(store->buf, store->indices), " = ", pair.name, "{", first, ", ", second, "};"}));
    if (some) close();
    for (int e = 0; some && e < 2; ++e) {  // one of the two alone
      ir::expr const mine = e == 0 ? store->mask : too, other = e == 0 ? too : store->mask;
      under(ir::all_of(m, mine, ir::unary(m, op::logical_not, other)));
      sequence<ir::expr> indices;
      for (ir::expr i : store->indices) indices.push_back(e == 0 ? i : ir::substitute(m, i, columns->variable, next));
      out_ += exprs_.share(indices, indent_);
      line(joined({exprs_.element(store->buf, m.make_list(indices)), " = ", e == 0 ? first : second, ";"}));
      close();
    }
  }
  close();
  leave(columns);
  leave(rows);
}

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
