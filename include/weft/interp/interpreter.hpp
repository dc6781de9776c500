// The interpreter's state and the parts it is made of. What they do stands in interp.ipp (values, statements), memory.ipp (elements, and who
// touched them) and in_step.ipp (threads that meet at barriers); for these only.
#pragma once

#include <string>

#include "weft/base/sequence.hpp"
#include "weft/interp/options.hpp"
#include "weft/interp/shadow.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// A set of up to 1024 lanes, of which only the words up to the last one used are touched: most sets are of one word.
struct lane_set {
  int used = 1;
  std::uint64_t words[16];
  lane_set() { words[0] = 0; }
  lane_set(lane_set const& o) { *this = o; }
  lane_set& operator=(lane_set const& o) {
    used = o.used;
    for (int i = 0; i < used; ++i) words[i] = o.words[i];
    return *this;
  }
  static lane_set all(int lanes) {
    lane_set s;
    s.used = (lanes + 63) / 64;
    for (int l = 0; l < lanes; l += 64) s.words[l / 64] = lanes - l >= 64 ? ~0ULL : (1ULL << (lanes - l)) - 1;
    return s;
  }
  std::uint64_t word(int i) const { return i < used ? words[i] : 0; }
  bool has(int lane) const { return word(lane / 64) >> (lane % 64) & 1; }
  void add(int lane) {
    while (used <= lane / 64) words[used++] = 0;
    words[lane / 64] |= 1ULL << (lane % 64);
  }
  void add(lane_set const& o) {
    while (used < o.used) words[used++] = 0;
    for (int i = 0; i < o.used; ++i) words[i] |= o.words[i];
  }
  bool any() const {
    for (int i = 0; i < used; ++i)
      if (words[i] != 0) return true;
    return false;
  }
  lane_set without(lane_set const& o) const {
    lane_set s;
    s.used = used;
    for (int i = 0; i < used; ++i) s.words[i] = words[i] & ~o.word(i);
    return s;
  }
};

inline bool has_barrier(ir::stmt s);  // anywhere in it

class interpreter {
 public:
  interpreter(ir::function const& f, sequence<interp_argument> const& pointers,
              sequence<std::int64_t> const& sizes, sequence<std::int64_t> const& scalars,
              interp_options const& options)
      : f_(f),
        pointers_(pointers),
        sizes_(sizes),
        scalars_(scalars),
        options_(options),
        random_(options.seed),
        memory_(f.buffers.size()),
        shadows_(f.buffers.size() + 1),
        variable_(f.variables.size(), 0),
        begin_(f.variables.size(), 0),
        loops_(options.observe != nullptr ? f.variables.size() : 0),
        of_block_(options.observe != nullptr ? f.buffers.size() : 0) {}
  std::string run();

 private:
  struct memory {
    unsigned char* data = nullptr;
    std::int64_t elements = 0;
    sequence<std::int64_t> shape, strides;
    std::size_t shadow = 0;  // arguments over the same memory have one
    sequence<unsigned char> own;
    // Of what a block shares, where other buffers may have the same bytes: all of it has one shadow, in parts of the smallest element.
    std::int64_t first = 0, parts = 1;  // of its first element; of each
    std::uint32_t lifetime = 0;         // 0: that of the shadow
  };
  /// The lanes of an expression that were computed for the statement that runs now.
  struct value_cell {
    std::uint64_t epoch = 0;
    lane_set known;
    sequence<std::int64_t> lanes;
  };
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  bool ok() const { return fault_.empty(); }
  void fault(std::string const& what);

  // --- memory
  bool prepare(ir::buffer const* b);
  void prepare_shared();
  std::uint32_t lifetime(memory const& m) const { return m.lifetime != 0 ? m.lifetime : shadows_[m.shadow].lifetime; }
  std::uint32_t written(memory const& m, std::int64_t element) const;
  void set_written(memory const& m, std::int64_t element, std::uint32_t by);
  std::string owner_text(ir::buffer const* b, std::uint32_t by) const;
  void share_shadows();
  bool locate(ir::buffer const* b, ir::list<ir::expr> const& indices, int lane, std::int64_t& element);
  void touch(ir::buffer const* b, ir::list<ir::expr> const& indices, int lane, std::int64_t element, bool writes);
  std::int64_t read(ir::buffer const* b, ir::list<ir::expr> const& indices, int lane, bool matters);
  void write(ir::buffer const* b, ir::list<ir::expr> const& indices, int lane, std::int64_t bits, bool arrives_later = false);
  void put(ir::buffer const* b, std::int64_t element, std::int64_t bits);
  std::string element_text(ir::buffer const* b, ir::list<ir::expr> const& indices, int lane);

  // --- what an observer is told
  void observe(void const* site, ir::buffer const* b, ir::list<ir::expr> const& indices, lane_set const& lanes, int count, bool writes);
  bool is_observed() const { return options_.observe != nullptr && !in_tile_; }
  void note_loop(ir::stmt s) {
    if (options_.observe != nullptr) loops_[at(s->variable)] = s;
  }
  void note_memory(ir::buffer const* b);

  // --- values
  void forget() {
    ++epoch_;
    if (!wrapped_.empty()) wrapped_.clear();
  }
  std::int64_t index_arithmetic(ir::expr e, op kind, std::int64_t a, std::int64_t b, int lane);
  bool has_wrapped(ir::expr index, int lane) const;
  void compute(ir::expr e, lane_set const& wanted);
  void compute_load(ir::expr e, lane_set const& missing);
  void compute_self(ir::expr e, lane_set const& missing);
  void need(ir::expr e, lane_set const& lanes) {
    if (e->lanes > 1)
      compute(e, lanes);
    else if (lanes.any())
      compute(e, lane_set::all(1));
  }
  std::int64_t lane(ir::expr e, int l) const {
    return e->kind == op::literal ? e->value : values_[e->id].lanes[e->lanes > 1 ? at(l) : 0];
  }
  std::int64_t scalar(ir::expr e) {
    compute(e, lane_set::all(1));
    return lane(e, 0);
  }
  lane_set where(ir::expr mask, lane_set const& lanes, int count);

  // --- statements
  void statement(ir::stmt s);
  void loop(ir::stmt s);
  void update(ir::list<ir::stmt> const& together);
  void call(ir::stmt s);
  void at_once(ir::stmt s, std::int64_t begin, std::int64_t extent);
  sequence<std::int64_t> drawn_order(std::int64_t count);

  // --- copies that arrive later
  struct copy_in_flight {
    ir::buffer const* buf = nullptr;
    std::int64_t element = 0, bits = 0, group = 0;
  };
  /// Of one thread, in order.
  struct copies_in_flight {
    sequence<copy_in_flight> all;
    std::int64_t groups = 0;  // that were committed
  };
  void wait(std::int64_t left);
  void all_arrived(copies_in_flight const& of);

  // --- threads that meet at barriers
  /// Memory that is a thread's own.
  struct own_memory {
    std::size_t buffer = 0;
    sequence<unsigned char> data;
    shadow state;
  };
  struct thread {
    thread* outer = nullptr;  // in the loop over threads around this one
    std::int64_t value = 0;   // of its loop's variable
    std::uint32_t place = 0;
    sequence<own_memory> own;
    copies_in_flight flight;
  };
  struct team {
    team* outer = nullptr;
    ir::stmt loop = nullptr;
    std::uint32_t root = 0;  // the place of all of them together
    sequence<thread> threads;
  };
  void enter(thread& t, team const& of);
  void leave(thread& t, team const& of);
  void exchange(own_memory& m);
  template <class F>
  void each_thread(team& t, F const& f);
  std::int64_t uniform(ir::expr e, team& t, char const* what);
  std::string thread_text(thread const& t, team const& of) const;
  void regroup(team& t);
  void place_threads(team& t);
  void in_step(ir::stmt s, team& t);
  void exchange_values(ir::stmt s, team& t);
  void loop_in_step(ir::stmt s, team& t);
  void start_team(ir::stmt s, team* outer, std::int64_t begin, std::int64_t extent);
  void two_lanes_apart(ir::stmt s, lane_set const& stored, int lanes);
  std::uint64_t random() {
    std::uint64_t z = (random_ += 0x9e3779b97f4a7c15ULL);  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  ir::function const& f_;
  sequence<interp_argument> const& pointers_;
  sequence<std::int64_t> const& sizes_;
  sequence<std::int64_t> const& scalars_;
  interp_options options_;
  std::uint64_t random_;
  std::string fault_;
  std::int64_t operations_ = 0;
  sequence<memory> memory_;                  // by buffer id
  sequence<shadow> shadows_;                 // by memory::shadow; the last one is of what blocks share
  sequence<unsigned char> block_memory_;     // that, and the bytes of a part of it
  std::int64_t part_bytes_ = 8;
  sequence<std::int64_t> variable_, begin_;  // by variable
  sequence<std::int32_t> open_;              // variables of the loops around, outermost first
  iteration_tree tree_;
  std::uint32_t place_ = 0;
  std::int32_t lanes_ = -1;                  // the variable of the loop over thread_x
  copies_in_flight flight_, *now_flying_ = &flight_;  // of what runs in no team of threads; of what runs now
  sequence<value_cell> values_;  // by expression id
  std::uint64_t epoch_ = 1;
  struct wrapped_index {
    ir::expr of;
    int lane;
  };
  sequence<wrapped_index> wrapped_;  // what of axes and sizes alone left the range of i64 in the statement that runs
  ir::list<ir::stmt> updates_;       // the stores or accumulates that run
  lane_set live_;                    // its lanes that are stored
  int live_lanes_ = 1;
  sequence<ir::stmt> loops_;         // by variable, for an observer
  sequence<bool> of_block_;          // by buffer: allocated outside of all loops over threads
  bool in_tile_ = false;
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
