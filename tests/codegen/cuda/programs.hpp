// Loop programs made by hand for the tests of the CUDA text.
#pragma once

#include <cstdint>
#include <string>
#include <weft/base/sequence.hpp>

#include "weft/ir/ir.hpp"

namespace weft_test {

using namespace weft;

/// A function under construction, with the arena that owns it.
struct loop_program {
  ir::arena m;
  ir::function f;
  explicit loop_program(std::string name) {
    f.name = static_cast<std::string&&>(name);
    f.nodes = &m;
  }
  ir::expr number(std::int64_t v) { return ir::index(m, v); }
  ir::expr f32(float v) { return ir::literal(m, dtype::f32, to_bits(v)); }
  ir::expr size(std::string name) {
    f.sizes.push_back(static_cast<std::string&&>(name));
    return leaf(op::extent, dtype::i64, f.sizes.size() - 1);
  }
  ir::expr scalar(std::string name, dtype t) {
    f.scalars.push_back({static_cast<std::string&&>(name), t});
    return leaf(op::scalar, t, f.scalars.size() - 1);
  }
  ir::expr variable(std::string name) {
    f.variables.push_back(static_cast<std::string&&>(name));
    return ir::variable(m, static_cast<std::int32_t>(f.variables.size()) - 1);
  }
  /// A row-major argument of its own alias class; with `where` registers, a local of rank 0.
  ir::buffer* buffer(std::string name, dtype t, weft::sequence<ir::expr> const& shape, bool written,
                     ir::scope where = ir::scope::argument) {
    ir::buffer* const b = m.make_buffer();
    b->name = static_cast<std::string&&>(name);
    b->type = t;
    b->where = where;
    b->written = written;
    b->id = b->argument = b->alias_class = static_cast<std::int32_t>(f.buffers.size());
    weft::sequence<ir::expr> strides(shape.size(), number(1));
    for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = ir::binary(m, op::mul, strides[d], shape[d]);
    b->shape = m.make_list(shape);
    b->strides = m.make_list(strides);
    f.buffers.push_back(b);
    return b;
  }
  ir::expr two(op kind, ir::expr a, ir::expr b) { return ir::binary(m, kind, a, b); }
  ir::expr load(ir::buffer const* b, weft::sequence<ir::expr> const& indices, ir::expr mask = nullptr) {
    return ir::load(m, b, indices, mask);
  }
  ir::stmt loop(loop_kind how, ir::expr variable, ir::expr extent, ir::stmt body, ir::expr begin = nullptr) {
    return ir::loop(m, how, static_cast<std::int32_t>(variable->value), begin != nullptr ? begin : number(0), extent,
                    body);
  }
  ir::stmt store(ir::buffer const* b, weft::sequence<ir::expr> const& indices, ir::expr value, ir::expr mask = nullptr) {
    ir::stmt_node n;
    n.kind = ir::stmt_kind::store;
    n.buf = b;
    n.indices = m.make_list(indices);
    n.value = value;
    n.mask = mask;
    return m.make(n);
  }
  ir::stmt accumulate(ir::buffer const* b, weft::sequence<ir::expr> const& indices, ir::expr value, ir::expr identity,
                      weft::sequence<ir::expr> const& first, ir::expr mask = nullptr) {
    weft::sequence<std::int32_t> numbers;
    for (ir::expr v : first) numbers.push_back(static_cast<std::int32_t>(v->value));
    ir::stmt_node n;
    n.kind = ir::stmt_kind::accumulate;
    n.buf = b;
    n.indices = m.make_list(indices);
    n.value = value;
    n.identity = identity;
    n.mask = mask;
    n.first = m.make_list(numbers);
    return m.make(n);
  }
  ir::stmt allocate(ir::buffer const* b, ir::stmt body) {
    ir::stmt_node n;
    n.kind = ir::stmt_kind::allocate;
    n.buf = b;
    n.children = m.make_list(weft::sequence<ir::stmt>{body});
    return m.make(n);
  }

 private:
  ir::expr leaf(op kind, dtype t, std::size_t number) {
    ir::expr_node n;
    n.kind = kind;
    n.type = t;
    n.value = static_cast<std::int64_t>(number);
    return m.make(n);
  }
};

/// C[i] = A[i] + B[i] for i in 0..n
inline void make_vector_add(loop_program& p) {
  ir::expr const n = p.size("n"), i = p.variable("i");
  auto* const a = p.buffer("A", dtype::f32, {n}, false);
  auto* const b = p.buffer("B", dtype::f32, {n}, false);
  auto* const c = p.buffer("C", dtype::f32, {n}, true);
  p.f.body = p.loop(loop_kind::parallel, i, n, p.store(c, {i}, p.two(op::add, p.load(a, {i}), p.load(b, {i}))));
}

/// C = A B with literal extents; the sum in C itself, or in a local that a last statement writes to C.
inline void make_matmul(loop_program& p, std::int64_t rows, std::int64_t columns, std::int64_t depth, bool local) {
  ir::expr const M = p.number(rows), N = p.number(columns), K = p.number(depth);
  ir::expr const i = p.variable("i"), j = p.variable("j"), k = p.variable("k");
  auto* const a = p.buffer("A", dtype::f32, {M, K}, false);
  auto* const b = p.buffer("B", dtype::f32, {K, N}, false);
  auto* const c = p.buffer("C", dtype::f32, {M, N}, true);
  ir::expr const product = p.two(op::mul, p.load(a, {i, k}), p.load(b, {k, j}));
  ir::expr const update = p.two(op::add, ir::self(p.m, dtype::f32, 1), product);
  ir::stmt inner = nullptr;
  if (local) {
    auto* const sum = p.buffer("sum", dtype::f32, {}, true, ir::scope::registers);
    ir::stmt const add = p.accumulate(sum, {}, update, p.f32(0), {k});
    inner =
        p.allocate(sum, ir::block(p.m, {p.loop(loop_kind::serial, k, K, add), p.store(c, {i, j}, p.load(sum, {}))}));
  } else {
    inner = p.loop(loop_kind::serial, k, K, p.accumulate(c, {i, j}, update, p.f32(0), {k}));
  }
  p.f.body = p.loop(loop_kind::parallel, i, M, p.loop(loop_kind::serial, j, N, inner));
}

/// out[i] = (left + A[i]) + right: left is A[i - 1], or A[0] at the border by a clamp of the index; right is
/// A[i + 1], or 0 by a masked load when `masked`, else by a select.
inline void make_stencil(loop_program& p, bool masked) {
  ir::expr const n = p.size("n"), i = p.variable("i");
  auto* const a = p.buffer("A", dtype::f32, {n}, false);
  auto* const out = p.buffer("out", dtype::f32, {n}, true);
  ir::expr const clamped = p.two(op::max, p.two(op::sub, i, p.number(1)), p.number(0));
  ir::expr const next = p.two(op::add, i, p.number(1)), inside = p.two(op::lt, next, n);
  ir::expr const right =
      masked ? p.load(a, {next}, inside) : ir::ternary(p.m, op::select, inside, p.load(a, {next}), p.f32(0));
  ir::expr const left = p.two(op::add, p.load(a, {clamped}), p.load(a, {i}));
  p.f.body = p.loop(loop_kind::parallel, i, n, p.store(out, {i}, p.two(op::add, left, right)));
}

}  // namespace weft_test
