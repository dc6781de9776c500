#include <cstdlib>
#include <cstring>

#include "weft/base/node_set.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {

WEFT_DECL arena::~arena() {
  for (buffer* b : buffers_) delete b;
  for (void* c : chunks_) std::free(c);
}
WEFT_DECL void* arena::allocate(std::size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  if (chunks_.empty() || used_ + bytes > size_) {
    size_ = bytes > 65536 ? bytes : 65536;
    used_ = 0;
    chunks_.push_back(std::malloc(size_));
    if (chunks_.back() == nullptr) WEFT_THROW(device_error("out of memory while compiling a kernel"));
  }
  void* p = static_cast<char*>(chunks_.back()) + used_;
  used_ += bytes;
  return p;
}
WEFT_DECL buffer* arena::make_buffer() {
  buffers_.push_back(new buffer);
  return buffers_.back();
}

namespace detail {
inline std::size_t hash(expr_node const& n) {
  auto const id = [](expr e) { return e == nullptr ? std::uint64_t(0) : std::uint64_t(e->id) + 1; };
  std::uint64_t h = static_cast<std::uint64_t>(n.kind) << 32 | static_cast<std::uint64_t>(n.type) << 16 | n.lanes;
  auto const mix = [&](std::uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15ULL, h ^= h >> 29; };
  mix(id(n.a) << 32 | id(n.b));
  mix(id(n.c) ^ static_cast<std::uint64_t>(n.value) * 31);
  if (n.buf != nullptr) mix(static_cast<std::uint64_t>(n.buf->id) + 77);
  for (expr i : n.indices) mix(i->id);  // which of several instructions it is, `same` sees
  return static_cast<std::size_t>(h);
}
inline std::uint64_t variable_bit(std::int32_t number) { return std::uint64_t(1) << (number < 63 ? number : 63); }
inline bool same(expr_node const& x, expr_node const& y) {
  if (x.kind != y.kind || x.type != y.type || x.lanes != y.lanes || x.a != y.a || x.b != y.b || x.c != y.c ||
      x.value != y.value || x.buf != y.buf || x.by != y.by || x.indices.size() != y.indices.size())
    return false;
  for (std::size_t i = 0; i < x.indices.size(); ++i)
    if (x.indices[i] != y.indices[i]) return false;
  return true;
}
}  // namespace detail

WEFT_DECL void arena::grow_table() {
  sequence<expr> old(table_.empty() ? 256 : table_.size() * 2, nullptr);
  old.swap(table_);
  for (expr e : old)
    if (e != nullptr) {
      std::size_t at = detail::hash(*e) & (table_.size() - 1);
      while (table_[at] != nullptr) at = (at + 1) & (table_.size() - 1);
      table_[at] = e;
    }
}
WEFT_DECL expr arena::make(expr_node n) {
  if (table_.size() < 2 * std::size_t(next_id_) + 2) grow_table();
  std::size_t at = detail::hash(n) & (table_.size() - 1);
  for (; table_[at] != nullptr; at = (at + 1) & (table_.size() - 1))
    if (detail::same(*table_[at], n)) return table_[at];
  n.id = next_id_++;
  n.variables = n.kind == op::axis ? detail::variable_bit(static_cast<std::int32_t>(n.value)) : 0;
  for (expr o : {n.a, n.b, n.c})
    if (o != nullptr) n.variables |= o->variables;
  for (expr i : n.indices) n.variables |= i->variables;
  auto* e = static_cast<expr_node*>(allocate(sizeof(expr_node)));
  *e = n;
  return table_[at] = e;
}
WEFT_DECL stmt arena::make(stmt_node n) {
  auto* s = static_cast<stmt_node*>(allocate(sizeof(stmt_node)));
  *s = n;
  return s;
}

WEFT_DECL expr literal(arena& m, dtype type, std::int64_t bits, int lanes) {
  expr_node n;
  n.type = type;
  n.value = bits;
  n.lanes = static_cast<std::uint16_t>(lanes);
  return m.make(n);
}
WEFT_DECL expr variable(arena& m, std::int32_t number) {
  expr_node n;
  n.kind = op::axis;
  n.value = number;
  return m.make(n);
}
WEFT_DECL expr self(arena& m, dtype type, int lanes, std::int64_t which) {
  expr_node n;
  n.kind = op::self;
  n.value = which;
  n.type = type;
  n.lanes = static_cast<std::uint16_t>(lanes);
  return m.make(n);
}
WEFT_DECL expr ramp(arena& m, expr base, std::int64_t stride, int lanes) {
  if (lanes == 1) return base;
  if (stride == 0) return broadcast(m, base, lanes);
  expr_node n;
  n.kind = op::ramp;
  n.a = base;
  n.value = stride;
  n.lanes = static_cast<std::uint16_t>(lanes);
  return m.make(n);
}
WEFT_DECL expr broadcast(arena& m, expr a, int lanes) {
  if (lanes == a->lanes) return a;
  if (a->kind == op::literal) return literal(m, a->type, a->value, lanes);
  expr_node n;
  n.kind = op::broadcast;
  n.type = a->type;
  n.a = a;
  n.lanes = static_cast<std::uint16_t>(lanes);
  return m.make(n);
}

WEFT_DECL expr unary(arena& m, op kind, expr a) {
  if (a->kind == op::literal) return literal(m, a->type, apply(kind, a->type, a->value), a->lanes);
  if (a->kind == kind && (kind == op::neg || kind == op::logical_not)) return a->a;
  expr_node n;
  n.kind = kind;
  n.type = a->type;
  n.lanes = a->lanes;
  n.a = a;
  return m.make(n);
}
WEFT_DECL expr cast(arena& m, op kind, dtype to, expr a) {
  if (a->type == to) return a;
  if (a->kind == op::literal)
    return literal(m, to, apply(kind, a->type, a->value, 0, 0, to), a->lanes);
  if (a->kind == op::broadcast) return broadcast(m, cast(m, kind, to, a->a), a->lanes);
  expr_node n;
  n.kind = kind;
  n.type = to;
  n.lanes = a->lanes;
  n.a = a;
  return m.make(n);
}

namespace detail {
// Identities of integers and conditions only: of floats, x + 0 and x * 1 keep everything but NaN payloads and are
// not worth a rule.
inline expr fold(arena& m, op kind, expr a, expr b) {
  bool const truth = a->type == dtype::boolean;
  // Where one of the two has no bit, or all of them.
  auto const both = [&](std::int64_t all) -> expr {
    if (a == b || is_literal(a, 0) || is_literal(b, all)) return a;
    return is_literal(b, 0) || is_literal(a, all) ? b : nullptr;
  };
  auto const either = [&](std::int64_t all) -> expr {
    if (a == b || is_literal(a, all) || is_literal(b, 0)) return a;
    return is_literal(b, all) || is_literal(a, 0) ? b : nullptr;
  };
  if (truth && (kind == op::logical_and || kind == op::bit_and)) return both(1);
  if (truth && (kind == op::logical_or || kind == op::bit_or)) return either(1);
  if (!truth && !is_integer(a->type)) return nullptr;
  if (kind == op::bit_xor) return is_literal(b, 0) ? a : is_literal(a, 0) ? b : a == b ? literal(m, a->type, 0, a->lanes) : nullptr;
  if (truth) return nullptr;
  switch (kind) {
    case op::bit_and: return both(converted(dtype::i64, a->type, -1));
    case op::bit_or: return either(converted(dtype::i64, a->type, -1));
    case op::add:
      if (is_literal(a, 0)) return b;
      if (is_literal(b, 0)) return a;
      break;
    case op::sub:
      if (is_literal(b, 0)) return a;
      if (a == b) return literal(m, a->type, 0, a->lanes);
      break;
    case op::mul:
      if (is_literal(a, 1) || is_literal(b, 0)) return b;
      if (is_literal(b, 1) || is_literal(a, 0)) return a;
      break;
    case op::div:
    case op::floor_div:
      if (is_literal(b, 1)) return a;
      break;
    case op::rem:
    case op::floor_mod:
      if (is_literal(b, 1)) return literal(m, a->type, 0, a->lanes);
      break;
    case op::min:
    case op::max:
      if (a == b) return a;
      break;
    case op::le:
    case op::eq:
      if (a == b) return literal(m, dtype::boolean, 1, a->lanes);
      break;
    case op::lt:
    case op::ne:
      if (a == b) return literal(m, dtype::boolean, 0, a->lanes);
      break;
    default: break;
  }
  return nullptr;
}
// ramp + scalar and ramp * scalar stay ramps: addresses and masks then show their stride.
inline expr fold_ramp(arena& m, op kind, expr a, expr b) {
  auto const spread = [](expr e) -> expr {
    return e->kind == op::broadcast ? e->a : nullptr;
  };
  auto const scalar_of = [&](expr e) -> expr {
    return e->kind == op::literal ? index(m, e->value) : spread(e);
  };
  if (a->type != dtype::i64 || a->lanes == 1) return nullptr;
  if (a->kind == op::broadcast || b->kind == op::broadcast) {
    expr const x = scalar_of(a), y = scalar_of(b);
    if (x != nullptr && y != nullptr) return broadcast(m, binary(m, kind, x, y), a->lanes);
  }
  if (kind == op::add && a->kind == op::ramp && b->kind == op::ramp)
    return ramp(m, binary(m, op::add, a->a, b->a), a->value + b->value, a->lanes);
  if (kind == op::add || kind == op::sub) {
    if (a->kind == op::ramp)
      if (expr const y = scalar_of(b)) return ramp(m, binary(m, kind, a->a, y), a->value, a->lanes);
    if (b->kind == op::ramp && kind == op::add)
      if (expr const x = scalar_of(a)) return ramp(m, binary(m, kind, x, b->a), b->value, b->lanes);
  }
  if (kind == op::mul && a->kind == op::ramp && b->kind == op::literal)
    return ramp(m, binary(m, op::mul, a->a, index(m, b->value)), a->value * b->value, a->lanes);
  if (kind == op::mul && b->kind == op::ramp && a->kind == op::literal) return fold_ramp(m, kind, b, a);
  return nullptr;
}
}  // namespace detail

WEFT_DECL expr binary(arena& m, op kind, expr a, expr b) {
  dtype const result = is_comparison(kind) ? dtype::boolean : a->type;
  if (a->kind == op::literal && b->kind == op::literal)
    return literal(m, result, apply(kind, a->type, a->value, b->value), a->lanes);
  if (expr const e = detail::fold(m, kind, a, b)) return e;
  if (expr const e = detail::fold_ramp(m, kind, a, b)) return e;
  expr_node n;
  n.kind = kind;
  n.type = result;
  n.lanes = a->lanes;
  n.a = a;
  n.b = b;
  return m.make(n);
}
WEFT_DECL expr ternary(arena& m, op kind, expr a, expr b, expr c) {
  if (is_choice(kind)) {
    if (a->kind == op::literal) return a->value ? b : c;
    if (b == c) return b;
  } else if (a->kind == op::literal && b->kind == op::literal && c->kind == op::literal) {
    return literal(m, a->type, apply(kind, a->type, a->value, b->value, c->value), a->lanes);
  }
  expr_node n;
  n.kind = kind;
  n.type = b->type;
  n.lanes = b->lanes;
  n.a = a;
  n.b = b;
  n.c = c;
  return m.make(n);
}
WEFT_DECL expr load(arena& m, buffer const* buf, sequence<expr> const& indices, expr mask) {
  int lanes = buf->lanes;
  for (expr i : indices)
    if (i->lanes > lanes) lanes = i->lanes;
  if (mask != nullptr && mask->lanes > lanes) {
    // One element for all lanes: where all agree on the mask it is a scalar load.
    if (mask->kind == op::broadcast) return broadcast(m, load(m, buf, indices, mask->a), mask->lanes);
    if (mask->kind == op::literal)
      return broadcast(m, load(m, buf, indices, literal(m, dtype::boolean, mask->value)), mask->lanes);
    lanes = mask->lanes;
  }
  if (mask != nullptr && is_literal(mask, 1)) mask = nullptr;
  if (mask != nullptr && is_literal(mask, 0)) return literal(m, buf->type, 0, lanes);
  expr_node n;
  n.kind = op::load;
  n.type = buf->type;
  n.lanes = static_cast<std::uint16_t>(lanes);
  n.buf = buf;
  n.indices = m.make_list(indices);
  n.a = mask;
  return m.make(n);
}
WEFT_DECL expr instruction(arena& m, intrinsic const* by, expr value, sequence<expr> const& operands) {
  expr_node n;
  n.kind = op::instruction;
  n.type = value->type;
  n.lanes = value->lanes;
  n.a = value;
  n.by = by;
  n.indices = m.make_list(operands);
  return m.make(n);
}
WEFT_DECL expr all_of(arena& m, expr a, expr b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  int const lanes = a->lanes > b->lanes ? a->lanes : b->lanes;
  return binary(m, op::logical_and, broadcast(m, a, lanes), broadcast(m, b, lanes));
}

WEFT_DECL stmt block(arena& m, sequence<stmt> const& children) {
  sequence<stmt> flat;
  for (stmt s : children) {
    if (s == nullptr) continue;
    if (s->kind == stmt_kind::block)
      flat.insert(flat.end(), s->children.begin(), s->children.end());
    else
      flat.push_back(s);
  }
  if (flat.size() == 1) return flat[0];
  stmt_node n;
  n.children = m.make_list(flat);
  return m.make(n);
}
WEFT_DECL stmt loop(arena& m, loop_kind how, std::int32_t variable, expr begin, expr extent, stmt body) {
  stmt_node n;
  n.kind = stmt_kind::loop;
  n.how = how;
  n.variable = variable;
  n.begin = begin;
  n.extent = extent;
  n.children = m.make_list(sequence<stmt>{body});
  return m.make(n);
}
WEFT_DECL stmt loop_like(arena& m, stmt s, expr begin, expr extent, stmt body) {
  stmt_node n = *s;
  n.begin = begin;
  n.extent = extent;
  n.children = m.make_list(sequence<stmt>{body});
  return m.make(n);
}
WEFT_DECL stmt branch(arena& m, expr condition, stmt then, stmt otherwise) {
  if (is_literal(condition, 1)) return then;
  if (is_literal(condition, 0)) return otherwise != nullptr ? otherwise : block(m, {});
  stmt_node n;
  n.kind = stmt_kind::branch;
  n.value = condition;
  n.children = otherwise != nullptr ? m.make_list(sequence<stmt>{then, otherwise})
                                    : m.make_list(sequence<stmt>{then});
  return m.make(n);
}

WEFT_DECL stmt together(arena& m, sequence<stmt> const& children) {
  if (children.size() == 1) return children[0];
  // Their masks are one: when it is never true, none of them is left.
  if (children[0]->kind == stmt_kind::block) return block(m, {});
  stmt_node n;
  n.kind = stmt_kind::together;
  n.children = m.make_list(children);
  return m.make(n);
}

WEFT_DECL stmt commit(arena& m) {
  stmt_node n;
  n.kind = stmt_kind::commit;
  return m.make(n);
}
WEFT_DECL stmt wait(arena& m, std::int32_t left) {
  stmt_node n;
  n.kind = stmt_kind::wait;
  n.number = left;
  return m.make(n);
}
WEFT_DECL stmt call(arena& m, extern_function const* by, std::int32_t number, sequence<buffer const*> const& buffers) {
  stmt_node n;
  n.kind = stmt_kind::call;
  n.by = by;
  n.number = number;
  n.buffers = m.make_list(buffers);
  return m.make(n);
}

WEFT_DECL expr rewriter::operator()(expr e) {
  if (e == nullptr) return nullptr;
  if (arena::note const& n = m_.note_of(e); n.epoch == epoch_) return n.value;
  expr r = replace(e);
  if (r == nullptr) r = children(e);
  m_.note_of(e) = {epoch_, r};
  return r;
}
WEFT_DECL expr rewriter::children(expr e) {
  switch (e->kind) {
    case op::literal:
    case op::extent:
    case op::scalar:
    case op::axis:
    case op::self: return e;
    case op::load: {
      sequence<expr> indices;
      bool changed = false;
      for (expr i : e->indices) {
        indices.push_back((*this)(i));
        changed = changed || indices.back() != i;
      }
      expr const mask = (*this)(e->a);
      return changed || mask != e->a ? load(m_, e->buf, indices, mask) : e;
    }
    case op::instruction: {
      sequence<expr> operands;
      for (expr i : e->indices) operands.push_back((*this)(i));
      return instruction(m_, e->by, (*this)(e->a), operands);
    }
    default: break;
  }
  expr const a = (*this)(e->a), b = (*this)(e->b), c = (*this)(e->c);
  if (a == e->a && b == e->b && c == e->c) return e;
  if (e->kind == op::ramp) return ramp(m_, a, e->value, e->lanes);
  if (e->kind == op::broadcast) return broadcast(m_, a, e->lanes);
  if (e->kind == op::cast || e->kind == op::bitcast) return cast(m_, e->kind, e->type, a);
  return arity(e->kind) == 1 ? unary(m_, e->kind, a)
                             : arity(e->kind) == 2 ? binary(m_, e->kind, a, b) : ternary(m_, e->kind, a, b, c);
}
WEFT_DECL stmt rewriter::operator()(stmt s) {
  if (s == nullptr) return nullptr;
  if (stmt const r = replace(s)) return r;
  return children(s);
}
WEFT_DECL stmt rewriter::children(stmt s) {
  stmt_node n = *s;
  n.begin = (*this)(s->begin);
  n.extent = (*this)(s->extent);
  n.value = (*this)(s->value);
  n.mask = (*this)(s->mask);
  n.identity = (*this)(s->identity);
  sequence<expr> indices, before;
  for (expr i : s->indices) indices.push_back((*this)(i));
  for (expr i : s->before) before.push_back((*this)(i));
  sequence<stmt> parts;
  for (stmt c : s->children) parts.push_back((*this)(c));
  if (s->kind == stmt_kind::block) return block(m_, parts);
  if (s->kind == stmt_kind::together) return together(m_, parts);
  if (s->kind == stmt_kind::branch) return branch(m_, n.value, parts[0], parts.size() > 1 ? parts[1] : nullptr);
  if (n.mask != nullptr && is_literal(n.mask, 1)) n.mask = nullptr;
  if (n.mask != nullptr && is_literal(n.mask, 0)) return block(m_, {});
  if (!indices.empty()) n.indices = m_.make_list(indices);
  if (!before.empty()) n.before = m_.make_list(before);
  if (!parts.empty()) n.children = m_.make_list(parts);
  return m_.make(n);
}

namespace detail {
class substitution final : public rewriter {
 public:
  substitution(arena& m, std::int32_t number, expr by) : rewriter(m), number_(number), by_(by) {}

 protected:
  expr replace(expr e) override { return e->kind == op::axis && e->value == number_ ? by_ : nullptr; }
  using rewriter::replace;

 private:
  std::int32_t number_;
  expr by_;
};
}  // namespace detail
WEFT_DECL expr substitute(arena& m, expr e, std::int32_t number, expr by) {
  return detail::substitution(m, number, by)(e);
}
WEFT_DECL stmt substitute(arena& m, stmt s, std::int32_t number, expr by) {
  return detail::substitution(m, number, by)(s);
}
namespace detail {
/// One of the variables that share bit 63: the expressions that have it are looked through, each once.
inline bool finds(expr e, std::int32_t number, weft::detail::node_set& seen) {
  if (e == nullptr || (e->variables >> 63) == 0 || !seen.add(static_cast<std::int32_t>(e->id))) return false;
  if (e->kind == op::axis) return e->value == number;
  for (expr i : e->indices)
    if (finds(i, number, seen)) return true;
  return finds(e->a, number, seen) || finds(e->b, number, seen) || finds(e->c, number, seen);
}
}  // namespace detail
WEFT_DECL bool uses(expr e, std::int32_t number) {
  if (e == nullptr || (e->variables & detail::variable_bit(number)) == 0) return false;
  if (number < 63 || e->kind == op::axis) return number < 63 || e->value == number;
  weft::detail::node_set seen;
  return detail::finds(e, number, seen);
}

}  // namespace ir
}  // namespace weft::inline WEFT_ABI
