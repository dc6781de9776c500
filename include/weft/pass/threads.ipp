#include "weft/ir/own_memory.hpp"
#include "weft/base/joined.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/thread_tree.hpp"
#include "weft/pass/threads.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline bool has_bound(ir::stmt s, bool (*bound)(loop_kind)) {
  if (s->kind == ir::stmt_kind::loop && bound(s->how)) return true;
  for (ir::stmt c : s->children)
    if (has_bound(c, bound)) return true;
  return false;
}
inline bool has_threads(ir::stmt s) { return has_bound(s, is_thread); }
/// Whether that a block shares the memory was asked for.
inline bool is_wanted_shared(ir::function const& f, ir::buffer const* b) {
  for (std::int32_t id : f.wanted_in_shared)
    if (id == b->id) return true;
  return false;
}
inline bool allocates_shared(ir::function const& f, ir::stmt s) {
  if (f.wanted_in_shared.empty()) return false;
  if (s->kind == ir::stmt_kind::allocate && is_wanted_shared(f, s->buf)) return true;
  for (ir::stmt c : s->children)
    if (allocates_shared(f, c)) return true;
  return false;
}
inline bool has_call(ir::stmt s) {
  if (s->kind == ir::stmt_kind::call) return true;
  for (ir::stmt c : s->children)
    if (has_call(c)) return true;
  return false;
}
/// Whether each thread forms groups of its copies there, or waits for them.
inline bool has_groups(ir::stmt s) {
  if (s->kind == ir::stmt_kind::commit || s->kind == ir::stmt_kind::wait) return true;
  for (ir::stmt c : s->children)
    if (has_groups(c)) return true;
  return false;
}
inline bool is_copied_to(ir::stmt s, ir::buffer const* b) {
  if (s->asynchronous && s->buf == b) return true;
  for (ir::stmt c : s->children)
    if (is_copied_to(c, b)) return true;
  return false;
}
inline bool has_blocks(ir::stmt s) { return has_bound(s, is_block); }
/// Accesses to one buffer become accesses to another one, with more indices in front.
class moved_accesses final : public ir::rewriter {
 public:
  moved_accesses(ir::arena& m, ir::buffer const* from, ir::buffer const* to, sequence<ir::expr> const& front)
      : ir::rewriter(m), from_(from), to_(to), front_(front) {}

 protected:
  ir::expr replace(ir::expr e) override {
    if (e->kind != op::load || e->buf != from_) return nullptr;
    return ir::load(m_, to_, indices(e->indices), (*this)(e->a));
  }
  ir::stmt replace(ir::stmt s) override {
    if (s->buf != from_) return nullptr;
    ir::stmt_node n = *children(s);
    if (n.buf != from_) return m_.make(n);
    n.buf = to_;
    n.indices = m_.make_list(indices(s->indices));
    if (s->before.size() > 0) n.before = m_.make_list(indices(s->before));
    return m_.make(n);
  }

 private:
  sequence<ir::expr> indices(ir::list<ir::expr> own) {
    sequence<ir::expr> all = front_;
    for (ir::expr i : own) all.push_back((*this)(i));
    return all;
  }
  ir::buffer const *from_, *to_;
  sequence<ir::expr> front_;
};

/// The x axis and its parts, and the others.
enum class thread_part : std::uint8_t { x, y, z, warp, lane };
inline thread_part part_of(loop_kind k) {
  return static_cast<thread_part>(static_cast<int>(k) - static_cast<int>(loop_kind::thread_x));
}

class thread_spreader {
 public:
  explicit thread_spreader(ir::function& f) : f_(f), m_(*f.nodes) {}

  ir::stmt launch(ir::stmt s) {
    sequence<ir::stmt> blocks, turns;
    shared_.clear();
    for (;; s = s->children[0]) {
      if (s->kind == ir::stmt_kind::allocate && s->buf->where == ir::scope::heap) continue;
      if (s->kind == ir::stmt_kind::allocate && has_blocks(s)) refuse("memory that blocks would share stands around them", "set_scope of that stage to weft::scope::workspace, or compute_at a loop inside of the blocks", s);
      if (s->kind != ir::stmt_kind::loop || !(is_block(s->how) || has_blocks(s->children[0]))) break;
      for (sequence<ir::stmt> const* around : {&blocks, &turns})
        for (ir::stmt l : *around)
          if (is_block(s->how) && (ir::uses(s->extent, l->variable) || ir::uses(s->begin, l->variable)))
            refuse("a loop over blocks is not as long in each iteration of one around it", "bind of another loop to these blocks, or compute_root of its stage", s);
      if (is_block(s->how)) blocks.push_back(s);
      else if (is_concurrent(s->how)) turns.push_back(s);  // its iterations may as well take turns inside each block
      else refuse("a loop over blocks stands inside of a serial one", "a reorder in which all loops over blocks stand outside of the others, or bind of this one to blocks, too", s);
    }
    if (has_blocks(s)) refuse("a loop over blocks stands beside other statements", "compute_at of what stands there in the innermost loop over blocks, or compute_root; and decompose_reduction, if there is one, of a loop inside of the blocks", s);
    if (has_call(s)) refuse("a stage that a function computes is a launch of its own, and memory of other stages stands around it", "set_scope of those to weft::scope::workspace, or compute_root", s);
    find_sizes(s);
    for (std::size_t i = turns.size(); i-- > 0;) s = again(turns[i], s);
    ir::stmt body = spread(s, {});
    check_copies(body);
    for (int axis = 0; axis < 3; ++axis) {
      if (variables_[axis] < 0) continue;
      auto const how = static_cast<loop_kind>(static_cast<int>(loop_kind::thread_x) + axis);
      body = ir::loop(m_, how, variables_[axis], ir::index(m_, 0), ir::index(m_, sizes_[axis]), body);
    }
    for (std::size_t i = shared_.size(); i-- > 0;) body = ir::allocated(m_, shared_[i], body);
    for (std::size_t i = blocks.size(); i-- > 0;) body = again(blocks[i], body);
    return body;
  }
  [[noreturn]] void refuse(char const* why, char const* way_out, ir::stmt s) const {
    std::string const text = ir::print(s, f_);
    WEFT_THROW(schedule_error(joined({f_.name, ": one launch of a GPU cannot do this: ", why, "\n  in    ",
                                      text.substr(0, text.find('\n')), "\n  try   ", way_out})));
  }

 private:
  struct place {
    sequence<ir::expr> conditions;  // under which the threads run it, that are not the same for all
    sequence<ir::expr> threads;     // of the loops around: their variables
    std::uint32_t active = 0;       // thread_parts, as bits
  };
  /// Memory of one statement's, as a block has it.
  struct placed {
    ir::buffer const *from, *to;
    sequence<ir::expr> threads;  // of the loops around
  };
  /// From the GPU's memory to a block's.
  void check_copies(ir::stmt s) const {
    for (ir::stmt c : s->children) check_copies(c);
    if (!s->asynchronous) return;
    bool is_shared = false;
    for (ir::buffer const* b : shared_) is_shared = is_shared || b == s->buf;
    ir::scope const from = ir::copied(s->value)->buf->where;
    if (is_shared && from != ir::scope::stack && from != ir::scope::registers) return;
    if (is_shared) refuse("an asynchronous copy is of what the GPU has in its memory, and this is in that of a block or a thread", "pipeline without weft::transfer::async", s);
    refuse("an asynchronous copy is to memory that a block shares", "pipeline without weft::transfer::async; or compute_at around the loops over threads, or set_scope to weft::scope::shared", s);
  }
  static std::uint32_t bit(thread_part p) { return 1u << static_cast<int>(p); }
  ir::stmt again(ir::stmt loop, ir::stmt body) { return ir::loop_like(m_, loop, loop->begin, loop->extent, body); }

  void measure(ir::stmt s) {
    if (s->kind == ir::stmt_kind::loop && is_thread(s->how)) {
      if (s->extent->kind != op::literal) refuse("a loop over threads has no known length", "split, and bind of the inner part", s);
      auto const p = static_cast<std::size_t>(part_of(s->how));
      used_ |= bit(part_of(s->how));
      if (s->extent->value > longest_[p]) longest_[p] = s->extent->value;
      joins_ = joins_ || shared_sum(s).update() != nullptr;
    }
    for (ir::stmt c : s->children) measure(c);
  }
  void find_sizes(ir::stmt s) {
    used_ = 0;
    joins_ = false;
    for (std::int64_t& n : longest_) n = 1;
    measure(s);
    if (longest_[4] > 32) refuse("a loop over lanes runs more often than the 32 that a warp has", "split by 32 or less, and bind of the inner part to lanes", s);
    bool const warps = (used_ & (bit(thread_part::warp) | bit(thread_part::lane))) != 0;
    std::int64_t x = longest_[0];
    if (warps && x < 32 * longest_[3]) x = 32 * longest_[3];
    // Threads exchange values in whole warps, and rows of them that are shorter lie in one.
    if (joins_ && x < 32) x = power_above(x);
    if (warps || (joins_ && (x > 32 || x * longest_[1] * longest_[2] % 32 != 0))) x = (x + 31) / 32 * 32;
    char const* const names[] = {"tx", "ty", "tz"};
    for (int axis = 0; axis < 3; ++axis) {
      sizes_[axis] = axis == 0 ? x : longest_[axis];
      variables_[axis] = -1;
      if (sizes_[axis] == 1) continue;
      variables_[axis] = static_cast<std::int32_t>(f_.variables.size());
      f_.variables.push_back(ir::free_name(f_, names[axis]));
    }
    if (sizes_[2] > 64) refuse("its loops over thread_z want more than 64, which is all that a block has along z", "thread_x or thread_y for the longest of them, or smaller factors of the splits whose inner parts are bound to thread_z", s);
    if (sizes_[0] * sizes_[1] * sizes_[2] > 1024) refuse("its loops over threads want more than 1024 in a block", "smaller factors of the splits whose inner parts are bound to threads: those of all stages in the launch count, along each axis the longest", s);
  }
  ir::expr thread(int axis) { return variables_[axis] < 0 ? ir::index(m_, 0) : ir::variable(m_, variables_[axis]); }
  ir::expr position(thread_part p) {
    if (p <= thread_part::z) return thread(static_cast<int>(p));
    return ir::binary(m_, p == thread_part::warp ? op::floor_div : op::floor_mod, thread(0), ir::index(m_, 32));
  }
  std::int64_t count(thread_part p) const {
    return p <= thread_part::z ? sizes_[static_cast<int>(p)] : p == thread_part::warp ? sizes_[0] / 32 : 32;
  }
  bool is_uniform(ir::expr e) const {
    if (ir::has_load(e)) return false;
    for (std::int32_t v : variables_)
      if (v >= 0 && ir::uses(e, v)) return false;
    return true;
  }
  ir::expr is_first(ir::expr position) { return ir::binary(m_, op::eq, position, ir::index(m_, 0)); }
  /// Of the axes that no loop around is over, the first thread.
  ir::expr first_of_others(place const& at) {
    auto const active = [&](thread_part p) { return (at.active & bit(p)) != 0; };
    ir::expr all = nullptr;
    auto const also = [&](bool wanted, ir::expr e) {
      if (wanted && !(e->kind == op::literal)) all = ir::all_of(m_, all, is_first(e));
    };
    bool const warp = active(thread_part::warp), lane = active(thread_part::lane);
    also(!active(thread_part::x) && !warp && !lane, thread(0));
    also(warp && !lane, position(thread_part::lane));
    also(lane && !warp && sizes_[0] > 32, position(thread_part::warp));
    also(!active(thread_part::y), thread(1));
    also(!active(thread_part::z), thread(2));
    return all;
  }
  ir::stmt guarded(ir::stmt s, place const& at) {
    ir::expr all = first_of_others(at);
    for (ir::expr c : at.conditions) all = ir::all_of(m_, all, c);
    return all == nullptr ? s : ir::branch(m_, all, s);
  }
  ir::stmt spread(ir::stmt s, place const& at) {
    bool const several = sizes_[0] * sizes_[1] * sizes_[2] > 1;
    if (s->kind == ir::stmt_kind::tile) return tile(s, at);
    if (s->kind == ir::stmt_kind::commit) return s;  // each thread's own
    if (s->kind == ir::stmt_kind::wait) return ir::block(m_, sequence<ir::stmt>{s, waiting(m_)});
    if (has_groups(s)) return spread_inside(s, at);
    if (!has_threads(s) && !has_tile(s) && !allocates_shared(f_, s)) return several ? ir::block(m_, sequence<ir::stmt>{guarded(s, at), waiting(m_)}) : guarded(s, at);
    return spread_inside(s, at);
  }
  ir::stmt spread_inside(ir::stmt s, place const& at) {
    switch (s->kind) {
      case ir::stmt_kind::block: {
        sequence<ir::stmt> all;
        for (ir::stmt c : s->children) all.push_back(spread(c, at));
        return ir::block(m_, all);
      }
      case ir::stmt_kind::loop: return is_thread(s->how) ? threads(s, at) : around_threads(s, at);
      case ir::stmt_kind::branch: return branch(s, at);
      case ir::stmt_kind::allocate: return allocate(s, at);
      default: refuse("loops over threads stand inside of this", "bind of loops that stand outside of it", s);
    }
  }
  ir::stmt threads(ir::stmt s, place at) {
    thread_part const p = part_of(s->how);
    bool const on_x = p == thread_part::x || p >= thread_part::warp;
    if (on_x && (at.active & bit(thread_part::x)) != 0) refuse("warps and lanes are parts of thread_x, which is taken", "thread_y and thread_z for one of the two, or warps and lanes for both", s);
    if (p == thread_part::x && (at.active & (bit(thread_part::warp) | bit(thread_part::lane))) != 0)
      refuse("thread_x stands inside of warps or lanes, which are parts of it", "thread_y and thread_z for one of the two, or warps and lanes for both", s);
    if (shared_sum const sum(s); sum.update() != nullptr) return tree(s, sum, at);
    ir::expr const t = position(p);
    at.active |= bit(p);
    at.threads.push_back(t);
    if (s->extent->value < count(p)) at.conditions.push_back(ir::binary(m_, op::lt, t, s->extent));
    ir::expr const value = ir::binary(m_, op::add, s->begin, t);
    return spread(ir::substitute(m_, s->children[0], s->variable, value), at);
  }
  /// Each thread's part of a reduction in a register, then what pass/threads.hpp shows.
  ir::stmt tree(ir::stmt s, shared_sum const& sum, place const& at) {
    if (sum.fault() != nullptr) refuse(sum.fault(), "bind of a spatial axis to threads, with this one serial", s);
    thread_part const p = part_of(s->how);
    if (p != thread_part::x && p != thread_part::lane) refuse("a reduction is shared out among threads along another axis than x", "bind of it to thread_x or lanes", s);
    ir::stmt const update = sum.update();
    ir::buffer const* const part = own_register(f_, update->buf->name + "_part", *update->buf);
    thread_tree const joins{f_, update, part, own_register(f_, update->buf->name + "_other", *update->buf)};
    if (!joins.fits()) refuse("a reduction over threads joins more than the parts that a stage has made", "rfactor, and bind of the axis that joins the parts", s);
    place inside = at;
    ir::expr const t = position(p);
    inside.active |= bit(p);
    inside.threads.push_back(t);
    if (s->extent->value < count(p)) inside.conditions.push_back(ir::binary(m_, op::lt, t, s->extent));
    ir::stmt const body = into_register(m_, update, part)(s->children[0]);
    sequence<ir::stmt> steps{stored(m_, part, {}, update->identity)};
    steps.push_back(spread(ir::substitute(m_, body, s->variable, ir::binary(m_, op::add, s->begin, t)), inside));
    std::int64_t const terms = s->extent->value;
    joins.within_warps(terms < 32 ? terms : 32, steps);
    if (terms > 32) across_warps(joins, (terms + 31) / 32, steps);
    // One thread has it all.
    place writes = at;
    for (ir::expr c : sum.conditions()) writes.conditions.push_back(c);
    ir::stmt_node n = *stored(m_, update->buf, {}, ir::load(m_, part, {}));
    n.indices = update->indices;
    if (sequence<std::int32_t> const outside = sum.outside(); !outside.empty()) {
      n.kind = ir::stmt_kind::accumulate;
      n.identity = update->identity;
      n.first = m_.make_list(outside);
      n.value = joined_parts(m_, ir::self(m_, update->buf->type, 1), ir::load(m_, part, {}))(update->value);
    }
    steps.push_back(guarded(m_.make(n), writes));
    steps.push_back(waiting(m_));
    return ir::allocated(m_, part, ir::allocated(m_, joins.other, ir::block(m_, steps)));
  }
  /// What each warp has goes through shared memory, and every warp joins all of it.
  void across_warps(thread_tree const& joins, std::int64_t warps, sequence<ir::stmt>& steps) {
    ir::expr const lane = position(thread_part::lane), warp = position(thread_part::warp);
    sequence<ir::expr> shape, to, from;
    for (int axis = 2; axis >= 1; --axis) {
      if (sizes_[axis] == 1) continue;
      shape.push_back(ir::index(m_, sizes_[axis]));
      to.push_back(thread(axis)), from.push_back(thread(axis));
    }
    shape.push_back(ir::index(m_, warps));
    to.push_back(warp), from.push_back(lane);
    ir::buffer const* const shared = ir::own_buffer(f_, joins.update->buf->name + "_warps", *joins.part, shape);
    shared_.push_back(shared);
    note_life(shared);
    ir::expr writes = is_first(lane);
    if (warps * 32 < sizes_[0]) writes = ir::all_of(m_, writes, ir::binary(m_, op::lt, warp, ir::index(m_, warps)));
    steps.push_back(ir::branch(m_, writes, stored(m_, shared, to, ir::load(m_, joins.part, {}))));
    steps.push_back(waiting(m_));
    ir::expr const read = ir::binary(m_, op::lt, lane, ir::index(m_, warps));
    steps.push_back(stored(m_, joins.part, {}, joins.update->identity));
    steps.push_back(ir::branch(m_, read, stored(m_, joins.part, {}, ir::load(m_, shared, from))));
    steps.push_back(waiting(m_));
    joins.within_warps(warps, steps);
  }
  /// All lanes of a warp come to a tile.
  ir::stmt tile(ir::stmt s, place at) {
    if ((at.active & bit(thread_part::warp)) == 0 || (at.active & bit(thread_part::lane)) != 0)
      refuse("a matrix unit is a whole warp's", "bind of a loop around the tile to weft::thread_axis::warp, and of none to lanes", s);
    at.active |= bit(thread_part::lane);
    return ir::block(m_, sequence<ir::stmt>{guarded(s, at), waiting(m_)});
  }
  ir::stmt around_threads(ir::stmt s, place const& at) {
    if (!is_uniform(s->begin) || !is_uniform(s->extent))
      refuse("a loop around others over threads is not as long for each thread", "compute_at of the stage inside further out, where its loops can be bound; or these loops serial", s);
    around_.push_back(s->variable);
    ir::stmt_node n = *again(s, spread(s->children[0], at));
    around_.pop_back();
    if (n.how == loop_kind::parallel) n.how = loop_kind::serial, n.threads = 0;
    return m_.make(n);
  }
  ir::stmt branch(ir::stmt s, place const& at) {
    if (is_uniform(s->value))
      return ir::branch(m_, s->value, spread(s->children[0], at),
                        s->children.size() > 1 ? spread(s->children[1], at) : nullptr);
    if (ir::has_load(s->value)) refuse("a branch around loops over threads hangs on what is in memory", "these loops serial, or bound where they stand outside of the branch", s);
    place yes = at, no = at;
    yes.conditions.push_back(s->value);
    no.conditions.push_back(ir::unary(m_, op::logical_not, s->value));
    sequence<ir::stmt> both{spread(s->children[0], yes)};
    if (s->children.size() > 1) both.push_back(spread(s->children[1], no));
    return ir::block(m_, both);
  }
  /// Memory outside of a loop over threads is that loop's threads' together: one of it for each thread of the others.
  ir::stmt allocate(ir::stmt s, place const& at) {
    if (s->buf->where == ir::scope::heap) return spread(s->children[0], at);
    if (s->buf->where != ir::scope::stack) refuse("a register stands around loops over threads", "another scope for that stage, or compute_at inside of these loops", s);
    // Around the groups of copies of a thread's own alone, its own memory stays what it is.
    bool const alone = !has_threads(s) && !has_tile(s) && !allocates_shared(f_, s);
    if (alone && !is_copied_to(s->children[0], s->buf)) return ir::allocated(m_, s->buf, spread(s->children[0], at));
    // A nest that stands in both ways of a branch has its memory once.
    for (placed const& known : placed_)
      if (known.from == s->buf && known.threads == at.threads)
        return note_life(known.to, true), spread(at.threads.empty() ? s->children[0] : moved_accesses(m_, s->buf, known.to, at.threads)(s->children[0]), at);
    ir::buffer const* b = s->buf;
    ir::stmt inside = s->children[0];
    if (!at.threads.empty()) {
      sequence<ir::expr> shape;
      for (int p = 0; p < 5; ++p)
        if ((at.active >> p & 1) != 0) shape.push_back(nullptr);
      for (std::size_t i = 0; i < at.threads.size(); ++i) shape[i] = ir::index(m_, copies_of(at.threads[i]));
      for (ir::expr e : b->shape) shape.push_back(e);
      ir::buffer* const more = ir::own_buffer(f_, b->name, *b, shape);
      widen_strides(*more, *b, at.threads.size());
      more->swizzled = b->swizzled;
      if (is_wanted_shared(f_, b)) f_.wanted_in_shared.push_back(more->id);
      inside = moved_accesses(m_, b, more, at.threads)(inside);
      b = more;
    }
    shared_.push_back(b);
    note_life(b);
    placed_.push_back({s->buf, b, at.threads});
    return spread(inside, at);
  }
  /// Each iteration of the loop around has it anew.
  void note_life(ir::buffer const* b, bool again = false) {
    auto const id = static_cast<std::size_t>(b->id);
    if (id >= f_.lives_in.size()) f_.lives_in.resize(id + 1, -1);
    std::int32_t const loop = around_.empty() ? -1 : around_.back();
    f_.lives_in[id] = again && f_.lives_in[id] != loop ? -1 : loop;
  }
  std::int64_t copies_of(ir::expr thread) const {
    for (int p = 4; p >= 0; --p)
      if (const_cast<thread_spreader*>(this)->position(static_cast<thread_part>(p)) == thread)
        return count(static_cast<thread_part>(p));
    return 1;  // a literal: an axis with one thread
  }
  /// The strides of `like`, which storage_align may have made longer, stay as they are.
  void widen_strides(ir::buffer& b, ir::buffer const& like, std::size_t front) {
    sequence<ir::expr> strides;
    ir::expr stride = like.shape.size() > 0 ? ir::binary(m_, op::mul, like.shape[0], like.strides[0]) : ir::index(m_, 1);
    for (std::size_t d = front; d-- > 0;) {
      strides.insert(strides.begin(), stride);
      stride = ir::binary(m_, op::mul, stride, b.shape[d]);
    }
    for (ir::expr e : like.strides) strides.push_back(e);
    b.strides = m_.make_list(strides);
  }

  ir::function& f_;
  ir::arena& m_;
  std::uint32_t used_ = 0;
  bool joins_ = false;  // parts of a reduction, across threads
  std::int64_t longest_[5] = {1, 1, 1, 1, 1}, sizes_[3] = {1, 1, 1};
  std::int32_t variables_[3] = {-1, -1, -1};
  sequence<ir::buffer const*> shared_;
  sequence<placed> placed_;
  sequence<std::int32_t> around_;  // variables of the serial loops
};

/// Parallel loops inside of other statements run one iteration after the other: no launch can wait for all of its blocks.
class serial_loops final : public ir::rewriter {
 public:
  using ir::rewriter::rewriter;

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind != ir::stmt_kind::loop || s->how != loop_kind::parallel) return nullptr;
    ir::stmt_node n = *children(s);
    n.how = loop_kind::serial;
    n.threads = 0;
    return m_.make(n);
  }
};

// --- sums of a thread's own --------------------------------------------------------------------------------------

/// What a loop does with one buffer: its accumulates, with the loops around them, and whether it is used otherwise.
class sum_finder {
 public:
  explicit sum_finder(ir::stmt over) : over_(over) {}
  /// The accumulates whose elements stay where they are while `over` runs; empty: none, or not all.
  sequence<ir::stmt> of(ir::buffer const* b) {
    buf_ = b;
    seen_.clear();
    visit(over_->children[0]);
    bool fits = !sums_.empty() && !used_;
    for (ir::stmt u : sums_) fits = fits && u->before.size() == 0 && same_element(u, sums_[0]) && stays(u);
    return fits ? sums_ : sequence<ir::stmt>{};
  }
  sequence<ir::stmt> const& loops() const { return spatial_; }  // that walk the elements

 private:
  static bool same_element(ir::stmt a, ir::stmt b) {
    for (std::size_t i = 0; i < a->indices.size(); ++i)
      if (a->indices[i] != b->indices[i]) return false;
    return true;
  }
  bool is_reduced(std::int32_t v, ir::stmt u) const {
    for (std::int32_t f : u->first)
      if (f == v) return true;
    return false;
  }
  bool stays(ir::stmt u) const {
    bool reduces = false;
    for (std::int32_t v : u->first) {
      bool inside = v == over_->variable;
      reduces = reduces || inside || over_->kind == ir::stmt_kind::tile;
      for (ir::stmt l : loops_) inside = inside || l->variable == v;
      if (!inside || ir::uses(u->mask, v)) return false;
      for (ir::expr i : u->indices)
        if (ir::uses(i, v)) return false;
    }
    return reduces;
  }
  void read(ir::expr e) {
    if (e == nullptr || used_) return;
    if (e->id >= seen_.size()) seen_.resize(2 * (e->id + std::size_t(1)), false);
    if (seen_[e->id]) return;  // expressions share their operands
    seen_[e->id] = true;
    if (e->kind == op::load && e->buf->alias_class == buf_->alias_class) used_ = true;
    for (ir::expr i : e->indices) read(i);
    for (ir::expr x : {e->a, e->b, e->c}) read(x);
  }
  void visit(ir::stmt s) {
    if (s->kind == ir::stmt_kind::call || s->kind == ir::stmt_kind::together) used_ = true;
    for (ir::expr e : {s->begin, s->extent, s->value, s->mask, s->identity}) read(e);
    for (ir::list<ir::expr> const* all : {&s->indices, &s->before})
      for (ir::expr e : *all) read(e);
    if (s->buf != nullptr && s->kind != ir::stmt_kind::allocate && s->buf->alias_class == buf_->alias_class) {
      if (s->kind == ir::stmt_kind::accumulate && s->buf == buf_) {
        sums_.push_back(s);
        for (ir::stmt l : open_)
          if (!is_reduced(l->variable, s)) add_spatial(l);
        for (ir::expr c : conditions_)
          for (std::int32_t v : s->first) used_ = used_ || ir::uses(c, v) || ir::has_load(c);
        for (ir::stmt l : open_)
          for (std::int32_t v : s->first) used_ = used_ || (!is_reduced(l->variable, s) && ir::uses(l->extent, v));
      } else {
        used_ = true;
      }
    }
    if (s->kind == ir::stmt_kind::loop) open_.push_back(s), loops_.push_back(s);
    if (s->kind == ir::stmt_kind::branch) conditions_.push_back(s->value);
    for (ir::stmt c : s->children) visit(c);
    if (s->kind == ir::stmt_kind::loop) open_.pop_back();
    if (s->kind == ir::stmt_kind::branch) conditions_.pop_back();
  }
  void add_spatial(ir::stmt l) {
    used_ = used_ || l->extent->kind != op::literal || !ir::is_literal(l->begin, 0);
    for (ir::stmt& known : spatial_)
      if (known->variable == l->variable) {
        if (!used_ && known->extent->value < l->extent->value) known = l;
        return;
      }
    spatial_.push_back(l);
  }

  sequence<bool> seen_{};  // by number
  ir::stmt over_;
  ir::buffer const* buf_ = nullptr;
  sequence<ir::stmt> sums_, spatial_, open_, loops_;
  sequence<ir::expr> conditions_;
  bool used_ = false;
};

class sum_keeper final : public ir::rewriter {
 public:
  explicit sum_keeper(ir::function& f) : ir::rewriter(*f.nodes), f_(f), given_(f.buffers.size()) {}

 protected:
  using ir::rewriter::replace;
  ir::stmt replace(ir::stmt s) override {
    if (s->kind == ir::stmt_kind::tile) return tile(s);
    if (s->kind == ir::stmt_kind::branch && !is_uniform(s->value, threads_)) {
      ++apart_;
      ir::stmt const same = children(s);
      --apart_;
      return same;
    }
    if (s->kind != ir::stmt_kind::loop) return nullptr;
    if (is_thread(s->how)) {
      threads_.push_back(s->variable);
      ir::stmt const same = children(s);
      threads_.pop_back();
      return same;
    }
    bool const steps_of_tiles = s->how == loop_kind::unrolled && has_tile(s);  // the only ones, perhaps
    if (threads_.empty() || (s->how != loop_kind::serial && !steps_of_tiles)) return nullptr;
    sequence<ir::buffer const*> targets;
    bool others = false;
    find_targets(s->children[0], targets, others);
    if (!others) return nullptr;  // promote does it all
    for (ir::buffer const* b : targets) {
      sum_finder finder(s);
      if (!finder.of(b).empty())
        if (ir::stmt const r = kept(s, b, finder.loops())) return r;
    }
    return nullptr;
  }

 private:
  /// Of a tile whose reduction is all inside of it: its sums are fragments.
  ir::stmt tile(ir::stmt s) {
    sequence<ir::buffer const*> targets;
    bool others = false;
    find_targets(s, targets, others);
    for (ir::buffer const* b : targets) {
      sum_finder finder(s);
      if (!finder.of(b).empty())
        if (ir::stmt const r = kept(s, b, finder.loops())) return r;
    }
    return s;
  }
  void find_targets(ir::stmt s, sequence<ir::buffer const*>& all, bool& others) const {
    if (s->kind == ir::stmt_kind::store || s->kind == ir::stmt_kind::together || s->kind == ir::stmt_kind::barrier) others = true;
    if (s->kind == ir::stmt_kind::accumulate && s->buf->where != ir::scope::registers) {
      bool known = static_cast<std::size_t>(s->buf->id) >= given_;  // made here
      for (ir::buffer const* b : all) known = known || b == s->buf;
      if (!known) all.push_back(s->buf);
    }
    for (ir::stmt c : s->children) find_targets(c, all, others);
  }
  /// Accumulates go to the thread's own memory; `written_back`, with the other loops alone, is what is stored behind.
  class retargeted final : public ir::rewriter {
   public:
    retargeted(ir::arena& m, ir::buffer const* from, ir::buffer const* to, sequence<ir::expr> const& indices)
        : ir::rewriter(m), from_(from), to_(to), indices_(indices) {}

   protected:
    using ir::rewriter::replace;
    ir::stmt replace(ir::stmt s) override {
      if (s->kind != ir::stmt_kind::accumulate || s->buf != from_) return nullptr;
      ir::stmt_node n = *s;
      n.buf = to_;
      // What is not there is not stored, and nobody else looks at it: it may as well be summed, whose loads have masks of their own. None is
      // the first: the identity is there, in front.
      n.mask = nullptr;
      n.first = {};
      n.indices = m_.make_list(indices_);
      return m_.make(n);
    }

   private:
    ir::buffer const *from_, *to_;
    sequence<ir::expr> const& indices_;
  };
  /// fill: what is stored in front of the sums, their identity, instead.
  ir::stmt written_back(ir::stmt s, ir::buffer const* from, ir::buffer const* to, sequence<ir::expr> const& indices, bool fill = false) {
    switch (s->kind) {
      case ir::stmt_kind::block: {
        sequence<ir::stmt> all;
        for (ir::stmt c : s->children) all.push_back(written_back(c, from, to, indices, fill));
        return ir::block(m_, all);
      }
      case ir::stmt_kind::loop: {
        ir::stmt const body = written_back(s->children[0], from, to, indices, fill);
        for (ir::expr i : indices)
          if (i->value == s->variable && body->kind != ir::stmt_kind::block)
            return ir::loop_like(m_, s, s->begin, s->extent, body);
        return body;
      }
      case ir::stmt_kind::branch: {
        ir::stmt const yes = written_back(s->children[0], from, to, indices, fill);
        ir::stmt const no = s->children.size() > 1 ? written_back(s->children[1], from, to, indices, fill) : nullptr;
        auto const is_empty = [](ir::stmt b) { return b == nullptr || (b->kind == ir::stmt_kind::block && b->children.size() == 0); };
        return is_empty(yes) && is_empty(no) ? ir::block(m_, {}) : ir::branch(m_, s->value, yes, no);
      }
      case ir::stmt_kind::allocate: return written_back(s->children[0], from, to, indices, fill);
      case ir::stmt_kind::tile: {
        ir::stmt_node n = *s;
        ir::stmt const body = written_back(s->children[0], from, to, indices, fill);
        if (body->kind == ir::stmt_kind::block) return body;
        n.role = fill ? ir::tile_role::fill : ir::tile_role::store;
        n.children = m_.make_list(sequence<ir::stmt>(1, body));
        return m_.make(n);
      }
      case ir::stmt_kind::accumulate: break;
      default: return ir::block(m_, {});
    }
    if (s->buf != from) return ir::block(m_, {});
    ir::stmt_node n;
    n.kind = ir::stmt_kind::store;
    n.buf = from;
    n.indices = s->indices;
    n.mask = s->mask;
    n.value = ir::load(m_, to, indices);
    if (fill) n.buf = to, n.indices = m_.make_list(indices), n.value = s->identity, n.mask = nullptr;
    return m_.make(n);
  }
  ir::stmt kept(ir::stmt s, ir::buffer const* b, sequence<ir::stmt> const& loops) {
    bool const tiles = has_tile(s);
    std::int64_t const most = tiles ? 32 * 256 : 256;  // a fragment has 8 in each lane
    std::int64_t elements = 1;
    sequence<ir::expr> shape, indices;
    for (ir::stmt l : loops) {
      elements *= l->extent->value <= most ? l->extent->value : most + 1;
      if (elements > most) return nullptr;
      shape.push_back(l->extent);
      indices.push_back(ir::variable(m_, l->variable));
    }
    ir::buffer const* const own = ir::own_buffer(f_, b->name + "_sum", *b, shape);
    bool const is_tile = s->kind == ir::stmt_kind::tile;
    ir::stmt const around = is_tile ? s : s->children[0];
    ir::stmt const fill = written_back(around, b, own, indices, true);
    ir::stmt const back = written_back(around, b, own, indices);
    ir::stmt const sums = retargeted(m_, b, own, indices)(s);
    ir::stmt const inside = is_tile ? sums : (*this)(sums);
    return ir::allocated(m_, own, ir::block(m_, sequence<ir::stmt>{fill, inside, back, apart_ > 0 ? ir::block(m_, {}) : waiting(m_)}));
  }

  ir::function& f_;
  std::size_t given_;
  sequence<std::int32_t> threads_;  // variables of the loops around
  int apart_ = 0;                   // branches around that some threads take: nobody waits in there
};

}  // namespace detail

WEFT_DECL ir::stmt spread_threads(ir::function& f, ir::stmt body) {
  ir::arena& m = *f.nodes;
  while (body->kind == ir::stmt_kind::allocate && body->buf->where == ir::scope::heap) body = body->children[0];
  if (body->kind == ir::stmt_kind::block) {
    sequence<ir::stmt> all;
    for (ir::stmt c : body->children) all.push_back(spread_threads(f, c));
    return ir::block(m, all);
  }
  bool const bound = detail::has_blocks(body) || detail::has_threads(body);
  if (bound || (body->kind != ir::stmt_kind::call && detail::has_call(body))) return detail::thread_spreader(f).launch(body);
  bool const whole = body->kind == ir::stmt_kind::loop && body->how == loop_kind::parallel;
  return whole ? body : detail::serial_loops(m)(body);
}
WEFT_DECL ir::stmt own_sums(ir::function& f, ir::stmt s) { return detail::sum_keeper(f)(s); }

}  // namespace weft::inline WEFT_ABI
