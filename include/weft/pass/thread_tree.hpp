// What the threads of a block do together: wait, and join the parts of a reduction whose terms they share out in a tree. Of pass/threads.hpp,
// pass/fragments.hpp and pass/barriers.hpp.
#pragma once

#include "weft/ir/own_memory.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {
inline bool has_tile(ir::stmt s) {
  if (s->kind == ir::stmt_kind::tile) return true;
  for (ir::stmt c : s->children)
    if (has_tile(c)) return true;
  return false;
}

inline bool has_parallel(ir::stmt s) {
  if (s->kind == ir::stmt_kind::loop && s->how == loop_kind::parallel) return true;
  for (ir::stmt c : s->children)
    if (has_parallel(c)) return true;
  return false;
}

/// Whether all threads of a block find the same; `threads` are the variables of the loops over them.
inline bool is_uniform(ir::expr e, sequence<std::int32_t> const& threads) {
  for (std::int32_t v : threads)
    if (ir::uses(e, v)) return false;
  return !ir::has_load(e);
}
/// A barrier.
inline ir::stmt waiting(ir::arena& m) {
  ir::stmt_node n;
  n.kind = ir::stmt_kind::barrier;
  return m.make(n);
}

/// The accumulate inside a loop over threads that reduces along that loop, and what stands around it there.
class shared_sum {
 public:
  explicit shared_sum(ir::stmt loop) : loop_(loop) { visit(loop->children[0]); }
  /// Null: there is none.
  ir::stmt update() const { return update_; }
  /// What one tree cannot do, in words; null: nothing.
  char const* fault() const { return fault_; }
  /// Under what its element is written: that part of the conditions that is the same for all terms.
  sequence<ir::expr> const& conditions() const { return conditions_; }
  /// Of `first`, the loops outside of the threads.
  sequence<std::int32_t> outside() const {
    sequence<std::int32_t> all;
    for (std::int32_t v : update_->first) {
      bool inside = v == loop_->variable;
      for (std::int32_t i : within_) inside = inside || i == v;
      if (!inside) all.push_back(v);
    }
    return all;
  }

 private:
  bool moves(ir::expr e) const {
    if (ir::uses(e, loop_->variable)) return true;
    for (std::int32_t i : inside_)
      if (ir::uses(e, i)) return true;
    return false;
  }
  void also(ir::expr condition) {
    if (condition == nullptr) return;
    if (condition->kind == op::logical_and || condition->kind == op::bit_and) return also(condition->a), also(condition->b);
    if (ir::has_load(condition)) fault_ = "a reduction over threads hangs on what is in memory";
    else if (!moves(condition)) conditions_.push_back(condition);
  }
  bool is_of_this(ir::stmt s) const {
    if (s->kind != ir::stmt_kind::accumulate) return false;
    for (std::int32_t v : s->first)
      if (v == loop_->variable) return true;
    return false;
  }
  void found(ir::stmt s) {
    if (update_ != nullptr) return void(fault_ = "two reductions over the same threads stand in one loop");
    update_ = s;
    within_ = inside_;
    also(s->mask);
    for (ir::expr c : around_) also(c);
    for (ir::expr i : s->indices)
      if (moves(i)) fault_ = "a reduction over threads has several elements inside of them: put that axis outside";
    if (s->before.size() > 0) fault_ = "a scan over threads";
  }
  void visit(ir::stmt s) {
    if (is_of_this(s)) return found(s);
    if (s->kind == ir::stmt_kind::together) {
      for (ir::stmt c : s->children)
        if (is_of_this(c)) update_ = c, fault_ = "a reduction of several values over threads: leave its last axis unbound";
      return;
    }
    if (s->kind == ir::stmt_kind::loop) inside_.push_back(s->variable);
    for (std::size_t c = 0; c < s->children.size(); ++c) {
      ir::stmt const before = update_;
      if (s->kind == ir::stmt_kind::branch) around_.push_back(s->value);
      visit(s->children[c]);
      if (s->kind == ir::stmt_kind::branch) around_.pop_back();
      if (c > 0 && s->kind == ir::stmt_kind::branch && update_ != before) fault_ = "a reduction over threads stands in one of two ways";
    }
    if (s->kind == ir::stmt_kind::loop) inside_.pop_back();
  }

  ir::stmt loop_, update_ = nullptr;
  char const* fault_ = nullptr;
  sequence<std::int32_t> inside_, within_;  // variables of loops between: around what is visited, around the update
  sequence<ir::expr> around_, conditions_;
};

/// `self` and the one element that is read become two values.
class joined_parts final : public ir::rewriter {
 public:
  joined_parts(ir::arena& m, ir::expr so_far, ir::expr met) : ir::rewriter(m), so_far_(so_far), met_(met) {}
  bool fits = true;  // it reads one element

 protected:
  ir::expr replace(ir::expr e) override {
    if (e->kind == op::self) return so_far_;
    if (e->kind != op::load) return nullptr;
    if (known_ != nullptr && known_ != e) fits = false;
    known_ = e;
    return met_;
  }

 private:
  ir::expr so_far_, met_, known_ = nullptr;
};
/// An accumulate goes to a register that holds what was met so far.
class into_register final : public ir::rewriter {
 public:
  into_register(ir::arena& m, ir::stmt update, ir::buffer const* to) : ir::rewriter(m), update_(update), to_(to) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s != update_) return nullptr;
    ir::stmt_node n = *s;
    n.buf = to_;
    n.indices = {};
    n.first = {};
    return m_.make(n);
  }

 private:
  ir::stmt update_;
  ir::buffer const* to_;
};

/// The smallest power of two that is not below `n`.
inline std::int64_t power_above(std::int64_t n) {
  std::int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}
inline ir::stmt stored(ir::arena& m, ir::buffer const* to, sequence<ir::expr> const& at, ir::expr value) {
  ir::stmt_node n;
  n.kind = ir::stmt_kind::store;
  n.buf = to;
  n.indices = m.make_list(at);
  n.value = value;
  return m.make(n);
}

/// Makes the statements of a tree over one register of each thread.
struct thread_tree {
  ir::function& f;
  ir::stmt update;            // how two parts become one
  ir::buffer const* part;     // of each thread
  ir::buffer const* other;    // what it is given

  ir::expr value(ir::buffer const* b) const { return ir::load(*f.nodes, b, {}); }
  /// Whether parts can be joined: by what the accumulate does with the element that it reads.
  bool fits() const {
    joined_parts j(*f.nodes, value(part), value(other));
    j(update->value);
    return j.fits;
  }
  /// Of `threads` side by side, at most 32, the first one has all; the others have what is of no use.
  void within_warps(std::int64_t threads, sequence<ir::stmt>& steps) const {
    ir::arena& m = *f.nodes;
    for (std::int64_t distance = power_above(threads) / 2; distance >= 1; distance /= 2) {
      ir::stmt_node n;
      n.kind = ir::stmt_kind::exchange;
      n.buf = other;
      n.value = value(part);
      n.number = static_cast<std::int32_t>(distance);
      steps.push_back(m.make(n));
      steps.push_back(stored(m, part, {}, joined_parts(m, value(part), value(other))(update->value)));
    }
  }
};

/// One value of a thread's own, of the type of `like`.
inline ir::buffer* own_register(ir::function& f, std::string const& name, ir::buffer const& like) {
  ir::buffer* const b = ir::own_buffer(f, name, like, {});
  b->where = ir::scope::registers;
  return b;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
