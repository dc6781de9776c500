#include "weft/pass/barriers.hpp"
#include "weft/pass/shared_layout.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline constexpr std::int64_t free_bytes_of_a_thread = 64;

/// What one launch's blocks share.
class shared_layout {
 public:
  shared_layout(ir::function& f, ir::stmt launch) : f_(f), launch_(launch) {}
  void run() {
    ir::stmt const body = find_buffers(launch_);
    if (buffers_.empty()) return;
    std::int64_t bytes = one_behind_the_other();
    if (bytes <= free_bytes_of_a_thread * threads_ || buffers_.size() < 2) return;
    int waits = -1;  // barriers in loops
    for (bool within_iterations : {false, true}) {
      sequence<std::int64_t> const before = f_.shared_at;
      find_lives(body, within_iterations);
      std::int64_t const fewer = one_above_the_other();
      if (fewer <= bytes - bytes / 16) {
        sequence<std::int64_t> const after = f_.shared_at;
        int const its_waits = barriers_in_loops(needed_barriers(f_, launch_), false);
        f_.shared_at = before;
        if (waits < 0) waits = barriers_in_loops(needed_barriers(f_, launch_), false);
        if (its_waits <= waits || blocks_with(fewer) > blocks_with(bytes)) {
          f_.shared_at = after;
          bytes = fewer, waits = its_waits;
          continue;
        }
      }
      f_.shared_at = before;
    }
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  /// Notes what stands around the threads; what they do.
  ir::stmt find_buffers(ir::stmt s) {
    for (;; s = s->children[0]) {
      bool const loop = s->kind == ir::stmt_kind::loop && s->how > loop_kind::virtual_thread;
      if (loop && is_thread(s->how)) threads_ *= s->extent->value;
      if (loop) continue;
      if (s->kind != ir::stmt_kind::allocate || s->buf->where != ir::scope::stack || !(stands_around_threads(s) || is_wanted(s->buf))) return s;
      number_of_.resize(f_.buffers.size(), -1);
      number_of_[at(s->buf->id)] = static_cast<std::int32_t>(buffers_.size());
      buffers_.push_back(s->buf);
    }
  }
  bool is_wanted(ir::buffer const* b) const {
    for (std::int32_t id : f_.wanted_in_shared)
      if (id == b->id) return true;
    return false;
  }
  static bool stands_around_threads(ir::stmt s) {
    while (s->kind == ir::stmt_kind::allocate) s = s->children[0];
    return s->kind == ir::stmt_kind::loop && s->how > loop_kind::virtual_thread;
  }
  void place(std::size_t i, std::int64_t byte) {
    f_.shared_at.resize(f_.buffers.size(), -1);
    f_.shared_at[at(buffers_[i]->id)] = byte;
  }
  /// The first place from `byte` on where a buffer may begin.
  static std::int64_t begin_from(std::int64_t byte, ir::buffer const* b) {
    std::int64_t const apart = ir::shared_alignment_of(b);
    return (byte + apart - 1) / apart * apart;
  }
  /// All bytes that are taken then.
  std::int64_t one_behind_the_other() {
    std::int64_t next = 0;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      place(i, next = begin_from(next, buffers_[i]));
      next += ir::shared_bytes_of(buffers_[i]);
    }
    return next;
  }
  /// The largest first, each as low as those allow that are placed and needed at the same time.
  std::int64_t one_above_the_other() {
    sequence<std::int64_t> placed;  // numbers
    std::int64_t all = 0;
    for (std::size_t n = 0; n < buffers_.size(); ++n) {
      std::int64_t next = -1;
      for (std::size_t i = 0; i < buffers_.size(); ++i) {
        bool done = false;
        for (std::int64_t p : placed) done = done || at(p) == i;
        if (!done && (next < 0 || ir::shared_bytes_of(buffers_[i]) > ir::shared_bytes_of(buffers_[at(next)]))) next = static_cast<std::int64_t>(i);
      }
      std::int64_t const bytes = ir::shared_bytes_of(buffers_[at(next)]);
      std::int64_t byte = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::int64_t p : placed) {
          std::int64_t const from = f_.shared_at[at(buffers_[at(p)]->id)], to = from + ir::shared_bytes_of(buffers_[at(p)]);
          bool const together = begin_[at(p)] <= end_[at(next)] && begin_[at(next)] <= end_[at(p)];
          if (together && from < byte + bytes && byte < to) byte = begin_from(to, buffers_[at(next)]), moved = true;
        }
      }
      place(at(next), byte);
      placed.push_back(next);
      if (byte + bytes > all) all = byte + bytes;
    }
    return all;
  }

  // --- lives: time goes on at barriers, as nobody waits in between
  void find_lives(ir::stmt body, bool within_iterations) {
    begin_ = sequence<std::int64_t>(buffers_.size(), never);
    end_ = sequence<std::int64_t>(buffers_.size(), -1);
    within_iterations_ = within_iterations;
    now_ = touched_ = 0;
    visit(body);
  }
  void visit(ir::stmt s) {
    if (s->kind == ir::stmt_kind::barrier) ++now_;
    sequence<bool> seen;
    for (ir::expr e : {s->begin, s->extent, s->value, s->mask, s->identity}) reads(e, seen);
    for (ir::list<ir::expr> const* list : {&s->indices, &s->before})
      for (ir::expr e : *list) reads(e, seen);
    if (s->buf != nullptr && s->kind != ir::stmt_kind::allocate) touch(s->buf);
    bool const loop = s->kind == ir::stmt_kind::loop;
    if (loop) open_.push_back(s->variable), began_.push_back(now_), whole_.push_back({});
    for (ir::stmt c : s->children) visit(c);
    if (!loop) return;
    for (std::int32_t i : whole_.back()) needed(at(i), began_.back(), touched_);
    // What is needed when an iteration ends is still needed, by some thread, when the next one begins.
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (end_[i] == now_ && begin_[i] > began_.back()) begin_[i] = began_.back();
    open_.resize(open_.size() - 1), began_.resize(began_.size() - 1), whole_.resize(whole_.size() - 1);
  }
  void reads(ir::expr e, sequence<bool>& seen) {
    if (e == nullptr) return;
    if (seen.size() <= e->id) seen.resize(e->id + 256, false);
    if (seen[e->id]) return;
    seen[e->id] = true;
    if (e->kind == op::load) touch(e->buf);
    for (ir::expr i : e->indices) reads(i, seen);
    for (ir::expr x : {e->a, e->b, e->c}) reads(x, seen);
  }
  void needed(std::size_t i, std::int64_t from, std::int64_t to) {
    if (from < begin_[i]) begin_[i] = from;
    if (to > end_[i]) end_[i] = to;
  }
  void touch(ir::buffer const* b) {
    std::int32_t const i = at(b->id) < number_of_.size() ? number_of_[at(b->id)] : -1;
    if (i < 0) return;
    needed(at(i), now_, now_);
    touched_ = now_;
    std::size_t outermost = 0;  // of the loops that it is carried along
    std::int32_t const own = at(b->id) < f_.lives_in.size() ? f_.lives_in[at(b->id)] : -1;
    for (std::size_t l = 0; l < open_.size() && within_iterations_ && own >= 0; ++l)
      if (open_[l] == own) outermost = l + 1;
    if (outermost < open_.size()) whole_[outermost].push_back(i);
  }

  /// For which the smallest processor has room; 1 KiB of each is the system's.
  static std::int64_t blocks_with(std::int64_t bytes) { return (100 << 10) / (bytes + (1 << 10)); }
  static int barriers_in_loops(ir::stmt s, bool inside) {
    int n = inside && s->kind == ir::stmt_kind::barrier;
    bool const loop = s->kind == ir::stmt_kind::loop && s->how <= loop_kind::virtual_thread;
    for (ir::stmt c : s->children) n += barriers_in_loops(c, inside || loop);
    return n;
  }

  static constexpr std::int64_t never = std::int64_t(1) << 62;
  ir::function& f_;
  ir::stmt launch_;
  std::int64_t threads_ = 1, now_ = 0, touched_ = 0;  // when any of them was last
  sequence<ir::buffer const*> buffers_;
  sequence<std::int32_t> number_of_;        // in buffers_, by id
  sequence<std::int64_t> begin_, end_;      // of lives
  sequence<std::int32_t> open_;             // variables of the loops around
  sequence<std::int64_t> began_;            // when these began
  sequence<sequence<std::int32_t>> whole_;  // what is needed all the time that these run
  bool within_iterations_ = false;
};

}  // namespace detail

WEFT_DECL void lay_out_shared(ir::function& f, ir::stmt body) {
  if (body->kind != ir::stmt_kind::block) return detail::shared_layout(f, body).run();
  for (ir::stmt c : body->children) lay_out_shared(f, c);
}

}  // namespace weft::inline WEFT_ABI
