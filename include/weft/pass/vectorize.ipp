#include "weft/base/error.hpp"
#include "weft/base/joined.hpp"
#include "weft/ir/own_memory.hpp"
#include "weft/pass/vectorize.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Substitutes a ramp for a variable; scalars that meet vectors are broadcast.
class lane_rewriter final : public ir::rewriter {
 public:
  lane_rewriter(ir::arena& m, std::int32_t variable, ir::expr ramp)
      : ir::rewriter(m), variable_(variable), ramp_(ramp), lanes_(ramp->lanes) {}

 protected:
  ir::expr replace(ir::expr e) override {
    if (e->kind == op::axis) return e->value == variable_ ? ramp_ : e;
    if (e->kind == op::self) return ir::self(m_, e->type, lanes_, e->value);
    if (e->kind == op::instruction) {
      ir::expr const value = (*this)(e->a);
      sequence<ir::expr> operands;
      for (ir::expr i : e->indices) operands.push_back(ir::broadcast(m_, (*this)(i), value->lanes));
      return ir::instruction(m_, e->by, value, operands);
    }
    if (arity(e->kind) < 2) return nullptr;
    ir::expr a = (*this)(e->a), b = (*this)(e->b), c = (*this)(e->c);
    int lanes = a->lanes > b->lanes ? a->lanes : b->lanes;
    if (c != nullptr && c->lanes > lanes) lanes = c->lanes;
    a = ir::broadcast(m_, a, lanes);
    b = ir::broadcast(m_, b, lanes);
    if (c != nullptr) return ir::ternary(m_, e->kind, a, b, ir::broadcast(m_, c, lanes));
    return ir::binary(m_, e->kind, a, b);
  }
  ir::stmt replace(ir::stmt s) override {
    if (s->kind != ir::stmt_kind::store && s->kind != ir::stmt_kind::accumulate) return nullptr;
    ir::stmt_node n = *s;
    for (ir::list<ir::expr>* all : {&n.indices, &n.before}) {
      sequence<ir::expr> indices;
      for (ir::expr i : *all) indices.push_back((*this)(i));
      *all = m_.make_list(indices);
    }
    n.value = ir::broadcast(m_, (*this)(s->value), lanes_);
    if (s->mask != nullptr) n.mask = ir::broadcast(m_, (*this)(s->mask), lanes_);
    return m_.make(n);
  }

 private:
  std::int32_t variable_;
  ir::expr ramp_;
  int lanes_;
};

/// The widest element among what a loop stores, loads and computes, other than rarely: an f32 kernel with a sine keeps
/// lanes of f32, though far angles are reduced in f64 (LLVM splits vectors that are too long).
class widest_element final : public ir::rewriter {
 public:
  using ir::rewriter::rewriter;
  int bytes = 1;

 protected:
  ir::expr replace(ir::expr e) override {
    // Indices are arithmetic on i64, but a ramp costs no vector register: they do not count.
    if (e->kind == op::load) {
      note(e->type);
      return e;
    }
    if (e->kind != op::literal && !is_index(e)) note(e->type);
    if (e->kind != op::rare) return nullptr;
    (*this)(e->a);
    (*this)(e->c);
    return e;
  }
  ir::stmt replace(ir::stmt s) override {
    if (s->buf != nullptr) note(s->buf->type);
    if (s->value != nullptr) (*this)(s->value);
    if (s->kind == ir::stmt_kind::store || s->kind == ir::stmt_kind::accumulate) return s;
    return nullptr;
  }

 private:
  void note(dtype t) {
    if (size_bytes(t) > bytes) bytes = size_bytes(t);
  }
};

class vectorizer final : public ir::rewriter {
 public:
  vectorizer(ir::function& f, int vector_bytes) : ir::rewriter(*f.nodes), f_(f), vector_bytes_(vector_bytes) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind != ir::stmt_kind::loop || s->how != loop_kind::vectorized) return nullptr;
    if (s->extent->kind != op::literal || s->begin->kind != op::literal)
      WEFT_THROW(internal_error(joined({"vectorize: the extent of ",
                                        f_.variables[static_cast<std::size_t>(s->variable)],
                                        " is not a number"})));
    std::int64_t const count = s->extent->value;
    widest_element width(m_);
    width(s->children[0]);
    int lanes = 1;
    while (lanes < vector_bytes_ / width.bytes && lanes < count) lanes *= 2;
    if (lanes == 1) return ir::loop(m_, loop_kind::unrolled, s->variable, s->begin, s->extent, s->children[0]);
    std::int64_t const whole = count / lanes, rest = count % lanes;
    int fewer = lanes;  // of the last chunk: an operation of half the lanes takes half the time where long ones take two cycles
    while (whole > 0 && rest > 0 && 2 * rest <= fewer && fewer / 2 * width.bytes >= 16) fewer /= 2;
    std::int32_t const chunk = chunk_of(s->variable);
    ir::expr const base = ir::binary(m_, op::add, s->begin,
                                     ir::binary(m_, op::mul, ir::variable(m_, chunk), ir::index(m_, lanes)));
    bool const apart = fewer < lanes;
    ir::stmt const all = in_lanes(s, base, lanes, !apart && rest != 0);
    ir::stmt const chunks = ir::loop(m_, loop_kind::unrolled, chunk, ir::index(m_, 0), ir::index(m_, apart ? whole : ceil_div(count, lanes)), all);
    if (!apart) return chunks;
    return ir::block(m_, sequence<ir::stmt>{chunks, in_lanes(s, ir::index(m_, s->begin->value + whole * lanes), fewer, rest != fewer)});
  }

 private:
  /// What stands in loop `s` for `lanes` iterations from `base` on; `cut`: some of them are behind its end.
  ir::stmt in_lanes(ir::stmt s, ir::expr base, int lanes, bool cut) {
    ir::stmt body = s->children[0];
    ir::expr const end = ir::index(m_, s->begin->value + s->extent->value);
    if (cut) body = masked(body, ir::binary(m_, op::lt, ir::variable(m_, s->variable), end), s->variable);
    return lane_rewriter(m_, s->variable, ir::ramp(m_, base, 1, lanes))(body);
  }
  /// The variable that counts the chunks of loop variable `v`; one, however many copies of the loop there are.
  std::int32_t chunk_of(std::int32_t v) {
    for (auto const& [whole, chunk] : chunks_)
      if (whole == v) return chunk;
    auto const chunk = static_cast<std::int32_t>(f_.variables.size());
    f_.variables.push_back(ir::free_name(f_, f_.variables[static_cast<std::size_t>(v)] + "v", 'v'));
    chunks_.push_back({v, chunk});
    return chunk;
  }
  /// `s` with every access that moves with `variable` also under `condition`.
  ir::stmt masked(ir::stmt s, ir::expr condition, std::int32_t variable);

  ir::function& f_;
  int vector_bytes_;
  struct chunk_of_loop {
    std::int32_t variable, chunk;
  };
  sequence<chunk_of_loop> chunks_;
};

class masking final : public ir::rewriter {
 public:
  masking(ir::arena& m, ir::expr condition, std::int32_t variable)
      : ir::rewriter(m), condition_(condition), variable_(variable) {}

 protected:
  ir::expr replace(ir::expr e) override {
    if (e->kind != op::load) return nullptr;
    // The first lane of a chunk is always live, and for it a load that does not move with the loop is the same.
    if (!ir::uses(e, variable_)) return e;
    sequence<ir::expr> indices;
    for (ir::expr i : e->indices) indices.push_back((*this)(i));
    return ir::load(m_, e->buf, indices, ir::all_of(m_, e->a == nullptr ? nullptr : (*this)(e->a), condition_));
  }
  ir::stmt replace(ir::stmt s) override {
    if (s->kind != ir::stmt_kind::store && s->kind != ir::stmt_kind::accumulate) return nullptr;
    ir::stmt_node n = *s;
    n.value = (*this)(s->value);
    n.mask = ir::all_of(m_, s->mask, condition_);
    return m_.make(n);
  }

 private:
  ir::expr condition_;
  std::int32_t variable_;
};
inline ir::stmt vectorizer::masked(ir::stmt s, ir::expr condition, std::int32_t variable) {
  return masking(m_, condition, variable)(s);
}

}  // namespace detail

WEFT_DECL ir::stmt vectorize(ir::function& f, ir::stmt s, int vector_bytes) {
  return detail::vectorizer(f, vector_bytes)(s);
}

}  // namespace weft::inline WEFT_ABI
