#include "weft/codegen/llvm/prefetch.hpp"
#include "weft/codegen/llvm/stmt.hpp"
#include "weft/ir/linear.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

namespace detail {
/// The accesses to a buffer below a statement, each once, with the loops around each put at their beginning.
class accesses_of final : public ir::rewriter {
 public:
  accesses_of(ir::arena& m, ir::buffer const* buf) : ir::rewriter(m), buf_(buf) {}
  sequence<ir::expr> found;
  sequence<ir::expr> stored;  // of those elements that are written, as if they were read
  void look(ir::stmt s) {
    for (ir::stmt c : s->children) look(c);
    for (ir::expr e : {s->value, s->mask}) (*this)(e);
    if (s->kind == ir::stmt_kind::store && s->buf == buf_) stored.push_back(ir::load(m_, buf_, sequence<ir::expr>(s->indices.begin(), s->indices.end())));
    if (s->kind != ir::stmt_kind::loop) return;
    for (ir::expr& e : stored)
      if (uses(e, s->variable)) e = ir::substitute(m_, e, s->variable, s->begin);
    for (ir::expr& e : found)
      if (uses(e, s->variable)) e = ir::substitute(m_, e, s->variable, s->begin);
    forget();
  }

 protected:
  ir::expr replace(ir::expr e) override {
    if (e->kind == op::load && e->buf == buf_) found.push_back(e);
    return nullptr;
  }
  using ir::rewriter::replace;

 private:
  ir::buffer const* buf_;
};
WEFT_DECL bool lines_of_rows::find(ir::arena& m, std::int32_t variable, ir::buffer const* buf, sequence<asked_line> const& asked) {
  auto const distance = [&](ir::expr to, ir::expr from, std::int64_t& d) {
    weft::detail::linear const l = weft::detail::linear_form(ir::binary(m, op::sub, to, from));
    d = l.constant;
    return l.terms.empty();
  };
  sequence<std::int64_t> places;
  first = asked[0].ahead;
  std::int64_t lowest = 0;
  for (asked_line const& a : asked) {
    std::int64_t d = 0;
    if (!distance(a.ahead, asked[0].ahead, d)) return false;
    if (d < lowest) lowest = d, first = a.ahead;
    std::size_t at = places.size();
    while (at > 0 && places[at - 1] > d) --at;
    places.insert(places.begin() + static_cast<std::ptrdiff_t>(at), d);
  }
  std::int64_t const line = 64 / size_bytes(buf->type);
  lines = static_cast<std::int64_t>(places.size());
  apart = lines > 1 ? places[1] - places[0] : line;
  for (std::size_t n = 1; n < places.size(); ++n)
    if (places[n] - places[n - 1] != apart) return false;
  ir::expr const then = ir::substitute(m, first, variable, ir::binary(m, op::add, ir::variable(m, variable), ir::index(m, 1)));
  if (!distance(simplify(m, then), first, next)) return false;
  // Parts of one line are asked for together.
  if (next == lines * apart && next % line == 0 && apart < line) lines = next / line, apart = line;
  return true;
}
inline ir::expr behind(ir::arena& m, ir::expr first, std::int64_t elements) {
  return elements == 0 ? first : simplify(m, ir::binary(m, op::add, first, ir::index(m, elements)));
}
}  // namespace detail

/// No value is read, so an address may be any; the last iterations ask for what stands behind the end.
WEFT_DECL void function_emitter::prefetch(ir::stmt s) {
  int left = 32;
  for (ir::prefetched const& p : s->ahead) {
    if (p.buf->where == ir::scope::registers) continue;
    sequence<detail::asked_line> const asked = asked_in(s, p);
    bool shared = false;
    for (std::int32_t v : open_) shared = shared || v == p.turn;
    if (shared) {
      ask_in_turns(s, p, asked, left);
      continue;
    }
    for (detail::asked_line const& a : asked)
      if (left-- > 0) ask(p, a, pointer_at(p.buf, detail::behind(*s_.f.nodes, a.ahead, a.last)));
  }
}
/// Where the accesses below `s` stand, each once: those written, and then those read. Left out is what is nowhere in particular, and what does not move.
///
/// Of a vector the line of its last element is asked for: one that begins inside of a line ends in the next, and of that nobody has asked, whereas what lies in front was
/// asked for with the vector before, if there was one (35 x 8457 x 2560 f32, whose rows are no whole lines: 151 -> 171 GFLOP/s by one thread, 283 -> 320 by two; EPYC, Zen 5).
WEFT_DECL sequence<detail::asked_line> function_emitter::asked_in(ir::stmt s, ir::prefetched const& p) {
  ir::arena& m = *s_.f.nodes;
  detail::accesses_of accesses(m, p.buf);
  accesses.look(s->children[0]);
  std::int32_t const moved = p.of >= 0 ? p.of : s->variable;
  ir::expr const later = ir::binary(m, op::add, ir::variable(m, moved), ir::index(m, p.distance));
  sequence<detail::asked_line> asked;
  std::size_t const written = accesses.stored.size();
  for (std::size_t n = 0; n < written + accesses.found.size(); ++n) {
    ir::expr const access = n < written ? accesses.stored[n] : accesses.found[n - written];
    sequence<ir::expr> indices;
    // Where an access uses the variable of a loop around, that loop is around here.
    bool known = p.of < 0;
    for (ir::expr i : access->indices) known = known || uses(i, moved);
    for (ir::expr i : access->indices) {
      indices.push_back(simplify(m, ir::substitute(m, i, moved, later)));
      known = known && !ir::has_load(i);
    }
    if (!known) continue;
    flat_index const now = element_at(p.buf, access->indices, access->lanes), ahead = element_at(p.buf, ir::load(m, p.buf, indices)->indices, access->lanes);
    for (detail::asked_line const& other : asked) known = known && other.ahead != ahead.first;
    if (known && ahead.first->lanes == 1) asked.push_back({now.first, ahead.first, n < written, ahead.stride == 1 ? access->lanes - 1 : 0});
  }
  return asked;
}
WEFT_DECL void function_emitter::ask(ir::prefetched const& p, detail::asked_line const& a, value_ref where) {
  type_ref const i32 = l_.Int32TypeInContext(s_.context);
  // LLVM's "locality": 3 is the first cache, 0 what is used once.
  std::uint64_t const locality = 3 - static_cast<std::uint64_t>(p.into);
  value_ref const write = l_.ConstInt(i32, a.written ? 1 : 0, 0), keep = l_.ConstInt(i32, locality, 0), data = l_.ConstInt(i32, 1, 0);
  call_intrinsic("llvm.prefetch", {pointer()}, {where, write, keep, data});
}
/// Iteration k of E, in turn t of R, is number g = t E + k of R E; these share out L E lines evenly and in order: number g asks from line floor(g L / R) on.
/// Lines at equal distances are one instruction for each that an iteration asks for, at least one; the product with L / R is of fixed point, a sum in
/// the loop. Others are asked for in the one iteration that has their part, and out of it what is read now, which costs nothing: a branch would part the loop.
WEFT_DECL void function_emitter::ask_in_turns(ir::stmt s, ir::prefetched const& p, sequence<detail::asked_line> const& asked, int& left) {
  if (asked.empty()) return;
  ir::arena& m = *s_.f.nodes;
  auto const variable = [&](std::int32_t v) { return variables_[static_cast<std::size_t>(v)]; };
  value_ref const k = l_.BuildSub(b_, variable(s->variable), emit(s->begin), "");
  value_ref const all = l_.BuildAdd(b_, l_.BuildMul(b_, variable(p.turn), emit(s->extent), ""), k, "");
  detail::lines_of_rows rows;
  if (!rows.find(m, s->variable, p.buf, asked)) {
    value_ref const part = l_.BuildURem(b_, all, number(p.turns), "");
    for (std::size_t n = 0; n < asked.size() && left-- > 0; ++n) {
      value_ref const its_turn = l_.BuildICmp(b_, IntEQ, part, number(static_cast<std::int64_t>(n) * p.turns / static_cast<std::int64_t>(asked.size())), "");
      ask(p, asked[n], l_.BuildSelect(b_, its_turn, pointer_at(p.buf, detail::behind(m, asked[n].ahead, asked[n].last)), pointer_at(p.buf, asked[n].now), ""));
    }
    return;
  }
  constexpr int fraction = 24;
  value_ref const begin = pointer_at(p.buf, detail::behind(m, simplify(m, ir::substitute(m, rows.first, s->variable, s->begin)), asked[0].last));
  value_ref const first = l_.BuildLShr(b_, l_.BuildMul(b_, all, number((rows.lines << fraction) / p.turns), ""), number(fraction), "");
  for (std::int64_t n = 0; n < ceil_div(rows.lines, p.turns) && left-- > 0; ++n) {
    value_ref const line = l_.BuildAdd(b_, first, number(n), "");
    value_ref offset = l_.BuildMul(b_, line, number(rows.apart), "");
    if (rows.next != rows.lines * rows.apart) {
      value_ref const row = l_.BuildMul(b_, l_.BuildUDiv(b_, line, number(rows.lines), ""), number(rows.next), "");
      offset = l_.BuildAdd(b_, row, l_.BuildMul(b_, l_.BuildURem(b_, line, number(rows.lines), ""), number(rows.apart), ""), "");
    }
    value_ref index[] = {offset};
    ask(p, asked[0], l_.BuildGEP2(b_, memory_type(p.buf->type), begin, index, 1, ""));
  }
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
