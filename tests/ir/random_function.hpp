// Sound functions at random, of everything that the loop IR can say: for the laws of its text form.
#pragma once

#include <cstdint>
#include <string>
#include <weft/base/sequence.hpp>

#include "weft/ir/ir.hpp"

namespace weft_test {

using namespace weft;

/// They mean nothing in particular and need not run. Nodes are made raw, so nothing is folded.
class random_function {
 public:
  ir::arena m;
  ir::function f;

  explicit random_function(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {
    f.name = pick({"matmul", "for", "two words", "back`tick\\\n"});
    f.nodes = &m;
    f.sizes = {"n", "min", "parallel"};
    f.scalars = {{"alpha", dtype::f32},
                 {"truex4", dtype::boolean},
                 {"self", dtype::i64},
                 {"b", dtype::u8},
                 {"half", dtype::f16}};
    f.variables = {"io", "in", "0 begins with a digit", "j", "kv", "first"};
    for (char const* name : {"A", "if", "C", "tmp", "acc", "wide"}) buffer(name);
    f.body = statement(4);
  }

 private:
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  int below(int n) { return static_cast<int>((next() >> 20) % static_cast<std::uint64_t>(n)); }
  char const* pick(weft::sequence<char const*> const& of) {
    return of[static_cast<std::size_t>(below(static_cast<int>(of.size())))];
  }

  ir::expr make(op kind, dtype t, int lanes, ir::expr a = nullptr, ir::expr b = nullptr, ir::expr c = nullptr,
                std::int64_t value = 0) {
    ir::expr_node n;
    n.kind = kind;
    n.type = t;
    n.lanes = static_cast<std::uint16_t>(lanes);
    n.a = a;
    n.b = b;
    n.c = c;
    n.value = value;
    return m.make(n);
  }
  void buffer(char const* name) {
    int const i = static_cast<int>(f.buffers.size());
    ir::buffer* const b = m.make_buffer();
    b->name = name;
    b->id = i;
    b->type = static_cast<dtype>(i < 5 ? below(dtype_count) : static_cast<int>(dtype::f32));
    b->where = i < 3 ? ir::scope::argument : i == 3 ? ir::scope::heap : ir::scope::registers;
    b->argument = i < 3 ? i : below(2) - 1;
    b->written = i >= 2;
    b->lanes = i == 5 ? 4 : 1;
    b->alias_class = below(3) * 1000000 - 5;
    b->alignment = 1 << below(7);
    weft::sequence<ir::expr> shape, strides;
    for (int d = i >= 4 ? 0 : below(4); d > 0; --d) {
      shape.push_back(size(2));
      strides.push_back(size(1));
    }
    b->shape = m.make_list(shape);
    b->strides = m.make_list(strides);
    f.buffers.push_back(b);
  }
  ir::expr size(int depth) {
    if (depth == 0)
      return below(2) ? ir::index(m, below(9) - 2)
                      : make(op::extent, dtype::i64, 1, nullptr, nullptr, nullptr, below(3));
    op const o = weft::sequence<op>{op::add, op::mul, op::floor_div, op::min}[static_cast<std::size_t>(below(4))];
    return make(o, dtype::i64, 1, size(depth - 1), size(depth - 1));
  }
  ir::expr literal(dtype t, int lanes) {
    std::uint64_t const floats[] = {0,
                                    0x8000000000000000,
                                    0x7ff0000000000000,
                                    0xfff0000000000000,
                                    0x7ff8000000000000,
                                    0x7ff8000000000001,
                                    0x3fb999999999999a,
                                    1,
                                    0x7fefffffffffffff};
    std::uint32_t const singles[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                     0x7fc12345, 0x3dcccccd, 1,          0x7f7fffff};
    std::int64_t bits = static_cast<std::int64_t>(next()) >> below(64);
    if (t == dtype::f64 && below(2)) bits = static_cast<std::int64_t>(floats[below(9)]);
    if (t == dtype::f32) bits = below(2) ? singles[below(9)] : static_cast<std::uint32_t>(next());
    if (is_half(t) && below(2)) bits = converted(dtype::f32, t, singles[below(9)]);
    return ir::literal(m, t, t == dtype::boolean ? bits & 1 : wrapped(t, bits), lanes);
  }
  ir::expr leaf(dtype t, int lanes) {
    if (self_ != nullptr && self_->type == t && self_lanes_ == lanes && below(2)) return ir::self(m, t, lanes, self_number_);
    if (lanes == 1 && t == dtype::i64 && !open_.empty() && below(3))
      return ir::variable(m, open_[static_cast<std::size_t>(below(static_cast<int>(open_.size())))]);
    if (lanes == 1 && t == dtype::i64 && below(2)) return make(op::extent, t, 1, nullptr, nullptr, nullptr, below(3));
    for (std::size_t s = 0; s < f.scalars.size(); ++s)
      if (lanes == 1 && f.scalars[s].type == t && below(2))
        return make(op::scalar, t, 1, nullptr, nullptr, nullptr, static_cast<std::int64_t>(s));
    return literal(t, lanes);
  }
  ir::expr value(dtype t, int lanes, int depth) {
    if (depth == 0) return leaf(t, lanes);
    if (!made_.empty() && below(3) == 0)  // share
      for (int tries = 0; tries < 4; ++tries) {
        ir::expr const e = made_[static_cast<std::size_t>(below(static_cast<int>(made_.size())))];
        if (e->type == t && e->lanes == lanes) return e;
      }
    ir::expr const e = operation(t, lanes, depth - 1);
    made_.push_back(e);
    return e;
  }
  ir::expr operation(dtype t, int lanes, int d) {
    int const choice = below(10);
    if (choice == 0)
      return make(op::select, t, lanes, value(dtype::boolean, lanes, d), value(t, lanes, d), value(t, lanes, d));
    if (choice == 1) return make(op::cast, t, lanes, value(static_cast<dtype>(below(dtype_count)), lanes, d));
    if (choice == 2)
      if (ir::expr const e = load(t, lanes, d)) return e;
    if (choice == 3 && lanes > 1) return make(op::broadcast, t, lanes, value(t, 1, d));
    if (choice <= 5 && lanes > 1 && t == dtype::i64)
      return make(op::ramp, t, lanes, value(t, 1, d), nullptr, nullptr, below(7) - 3);
    if (t == dtype::boolean) {
      if (choice < 7) {
        dtype const of = computing_type();
        return make(one_of({op::lt, op::le, op::eq, op::ne}), t, lanes, value(of, lanes, d), value(of, lanes, d));
      }
      if (choice == 7) return make(op::logical_not, t, lanes, value(t, lanes, d));
      return make(
          one_of({op::logical_and, op::logical_or, op::bit_and, op::bit_or, op::bit_xor, op::add, op::mul, op::min}), t,
          lanes, value(t, lanes, d), value(t, lanes, d));
    }
    if (choice == 6 && !is_half(t))
      return make(op::fma, t, lanes, value(t, lanes, d), value(t, lanes, d), value(t, lanes, d));
    if (choice == 7 && !is_half(t)) return make(op::neg, t, lanes, value(t, lanes, d));
    if (choice == 8 || is_half(t)) {
      dtype of = t;
      while (of == t || of == dtype::boolean || size_bytes(of) != size_bytes(t))
        of = static_cast<dtype>(below(dtype_count));
      return make(op::bitcast, t, lanes, value(of, lanes, d));
    }
    op const kind = is_float(t) ? one_of({op::add, op::sub, op::mul, op::div, op::min, op::max})
                                : one_of({op::add, op::sub, op::mul, op::div, op::rem, op::floor_div, op::floor_mod,
                                          op::shl, op::shr, op::bit_and, op::bit_or, op::bit_xor, op::max});
    return make(kind, t, lanes, value(t, lanes, d), value(t, lanes, d));
  }
  dtype computing_type() {
    for (;;)
      if (dtype const t = static_cast<dtype>(below(dtype_count)); !is_half(t)) return t;
  }
  op one_of(weft::sequence<op> const& of) { return of[static_cast<std::size_t>(below(static_cast<int>(of.size())))]; }
  weft::sequence<ir::expr> indices(ir::buffer const* b, int lanes, int depth) {
    weft::sequence<ir::expr> list;
    for (std::uint32_t d = 0; d < b->shape.size(); ++d)
      list.push_back(value(dtype::i64, d == 0 || below(2) ? lanes : 1, depth));
    return list;
  }
  ir::expr load(dtype t, int lanes, int depth) {
    for (ir::buffer const* b : f.buffers) {
      if (b->type != t || below(2)) continue;
      if (b->where == ir::scope::registers && (!allocated_ || (b->lanes > 1 && b->lanes != lanes))) continue;
      bool const masked = lanes > b->lanes && b->shape.size() == 0 ? true : below(3) == 0;
      ir::expr_node n;
      n.kind = op::load;
      n.type = t;
      n.lanes = static_cast<std::uint16_t>(lanes);
      n.buf = b;
      n.indices = m.make_list(indices(b, lanes, depth));
      if (masked) n.a = value(dtype::boolean, lanes, depth);
      return m.make(n);
    }
    return nullptr;
  }

  ir::stmt block(int depth, int children) {
    weft::sequence<ir::stmt> list;
    for (int i = 0; i < children; ++i) list.push_back(statement(depth));
    ir::stmt_node n;
    n.children = m.make_list(list);
    return m.make(n);
  }
  ir::stmt statement(int depth) {
    made_.clear();  // its values may use variables that are out of scope
    int const choice = depth == 0 ? 9 : below(9);
    ir::stmt_node n;
    if (choice <= 2) return block(depth - 1, below(4));
    if (choice <= 5 && open_.size() < f.variables.size()) {
      n.kind = ir::stmt_kind::loop;
      n.how = static_cast<loop_kind>(below(4));
      n.threads = n.how == loop_kind::parallel ? below(3) : 0;
      if (below(4) == 0) n.ahead = m.make_list(weft::sequence<ir::prefetched>{{f.buffers[0], below(9) + 1, below(static_cast<int>(open_.size()) + 1) - 1,
                                                                                                     static_cast<weft::cache_level>(below(4))}});
      n.variable = static_cast<std::int32_t>(open_.size());
      n.begin = below(2) ? ir::index(m, below(3) * 5 - 5) : value(dtype::i64, 1, 3);
      n.extent = below(2) ? ir::index(m, below(100) - 1) : value(dtype::i64, 1, 3);
      open_.push_back(n.variable);
      n.children = m.make_list(weft::sequence<ir::stmt>{statement(depth - 1)});
      open_.pop_back();
      return m.make(n);
    }
    if (choice <= 7) {
      n.kind = ir::stmt_kind::branch;
      n.value = value(dtype::boolean, 1, 3);
      weft::sequence<ir::stmt> ways{statement(depth - 1)};
      if (below(2)) ways.push_back(statement(depth - 1));
      n.children = m.make_list(ways);
      return m.make(n);
    }
    if (choice == 8 && !allocated_) return with_registers(depth);
    int const lanes = below(2) ? 1 : 4;
    if (below(5) == 0) {
      ir::stmt const one = update(f.buffers[2], lanes);
      int const same = one->value->lanes;  // a buffer of rank 0 has one lane, whatever is asked for
      if (same != 1 && f.buffers[3]->shape.size() == 0) return one;
      return ir::together(m, {one, update(f.buffers[3], same, one)});
    }
    return update(f.buffers[static_cast<std::size_t>(2 + below(allocated_ ? 4 : 2))], lanes);
  }
  /// Both registers around a statement and an update of each.
  ir::stmt with_registers(int depth) {
    allocated_ = true;
    ir::stmt_node n;
    n.children =
        m.make_list(weft::sequence<ir::stmt>{statement(depth - 1), update(f.buffers[4], 1), update(f.buffers[5], 4)});
    ir::stmt body = m.make(n);
    allocated_ = false;
    for (std::size_t i : {4u, 5u}) {
      n = {};
      n.kind = ir::stmt_kind::allocate;
      n.buf = f.buffers[i];
      n.children = m.make_list(weft::sequence<ir::stmt>{body});
      body = m.make(n);
    }
    return body;
  }
  /// `beside`: the statement before it in a `together`.
  ir::stmt update(ir::buffer const* b, int lanes, ir::stmt beside = nullptr) {
    if (b->shape.size() == 0) lanes = b->lanes;
    ir::stmt_node n;
    n.kind = beside != nullptr ? beside->kind : below(2) ? ir::stmt_kind::store : ir::stmt_kind::accumulate;
    n.buf = b;
    made_.clear();
    n.indices = m.make_list(indices(b, lanes, 2));
    if (beside != nullptr) n.mask = beside->mask;
    else if (below(3) == 0) n.mask = value(dtype::boolean, below(2) ? lanes : 1, 3);
    if (n.kind == ir::stmt_kind::accumulate) {
      n.identity = literal(b->type, 1);
      weft::sequence<std::int32_t> first;
      for (std::int32_t v : open_)
        if (below(2)) first.push_back(v);
      n.first = beside != nullptr ? beside->first : m.make_list(first);
      self_ = b;
      self_number_ = beside != nullptr ? 1 : 0;
      self_lanes_ = lanes;
    }
    n.value = value(b->type, lanes, below(7));
    self_ = nullptr;
    made_.clear();
    return m.make(n);
  }

  std::uint64_t state_;
  weft::sequence<std::int32_t> open_;
  weft::sequence<ir::expr> made_;
  ir::buffer const* self_ = nullptr;
  int self_lanes_ = 1, self_number_ = 0;
  bool allocated_ = false;
};

}  // namespace weft_test
