// The making of a loop program, in six files: buffers and sizes (buffers.ipp), loops (lower.ipp), stages computed inside the
// loops of others (guests.ipp), copies for some sizes (specialized.ipp), innermost loops that one instruction runs
// (instruction.ipp), single elements (element.ipp). For those files only.
#pragma once

#include "weft/ir/simplify.hpp"
#include "weft/lower/layout.hpp"
#include "weft/lower/spans.hpp"
#include "weft/schedule/narrow.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// `index < bound`, wanted because a split need not divide. Where a variable stands in a quotient or a remainder, as those of
/// fused loops do, it cannot become the end of that variable's loop.
struct guard {
  ir::expr index, bound;
  int depth = -1;      // of the innermost loop in `index`
  int decided = -1;    // of the innermost one that is neither unrolled nor vectorized
  int condition = -1;  // or a node of the body that says so: what need not happen where it does not hold
  bool by_mask = false;  // hangs on a tile's variable by a quotient: nothing is known of it in front of the tile
  tail how = tail::guard;
  ir::expr enough = nullptr;  // of a last part that is shifted inwards: whether there is room for that
};
/// What is done about a guard in the copy of the nest that is being made. ends_loop: the innermost loop in it is a serial one
/// and ends early.
enum class guard_state : std::uint8_t { wanted, holds, ends_loop };
using guard_states = sequence<guard_state>;

/// A loop of the stage that is being made.
struct open_loop {
  int id;
  std::int32_t variable;
  loop_kind how;
  ir::expr extent;
};

/// Of a dimension of a stage that is computed inside a loop of another: where the part begins that is read there, how
/// long it is, and the length that memory is made for. They hang on the loops that stand outside.
struct part {
  ir::expr begin = nullptr, extent = nullptr, most = nullptr;
  ir::expr last = nullptr;  // known where the part is read at indices that are known
};

/// The values of a stage's nodes at one place: its own, where its loops stand, or that of an inlined stage, at indices
/// at which another one reads it.
struct element_place {
  int stage = -1;
  sequence<ir::expr> indices;  // of an inlined stage
  struct conditional_value {
    ir::expr condition, value;
  };
  sequence<sequence<conditional_value>> values;  // by node, from first_node on
  int first_node = 0;  // of values: a stage of a large program has few of its nodes
  auto& values_of(int id) {
    auto const count = static_cast<int>(values.size());
    if (count == 0) first_node = id;
    if (id < first_node) {
      int more = first_node - id > count ? first_node - id : count;  // they are asked for from the last one down
      if (more > first_node) more = first_node;
      decltype(values) wider(static_cast<std::size_t>(more + count), {});
      for (int i = 0; i < count; ++i)
        wider[static_cast<std::size_t>(more + i)].swap(values[static_cast<std::size_t>(i)]);
      values.swap(wider);
      first_node -= more;
    }
    auto const at = static_cast<std::size_t>(id - first_node);
    if (at >= values.size()) values.resize(at + 1, {});
    return values[at];
  }
};

/// A stage while its loops are made.
struct stage_frame {
  int number = -1;
  stage_info const* stage = nullptr;
  stage_frame* host = nullptr;  // the stage in whose loop it is computed
  int host_position = -1;       // which of the host's loops that is
  std::int32_t store = placement::as_computed;  // as of its placement
  bool is_open = false;
  bool empty = false;  // a reduction over nothing, or a copy of a frame whose loops store the identity: nothing is read
  bool started = false;  // its identity stands in memory
  bool identity = false;  // a copy, whose loops store that alone
  std::uint32_t made = ~std::uint32_t(0);  // the results, as bits, that its loops make: the others have loops of their own
  bool makes(int result) const { return result > 31 || (made >> result & 1) != 0; }
  sequence<open_loop> loops;
  sequence<guard> guards;
  sequence<std::int32_t> shifted;      // loops whose split shifts its last part inwards
  sequence<part> parts;                // of a guest, by spatial axis: what is read of it at a time
  sequence<part> computed;             // of those what is computed, as the rest is there already; empty: all
  sequence<part> stored;               // what there is memory for; empty: as much as is read at a time
  sequence<part> around;               // what is read of it in loops around that of its host, where it was asked for others' sake; empty: it was not
  sequence<int> apart;                 // positions of loops whose first iteration computes guests that the others find
  sequence<ir::expr> instance;         // of a guest: which of several copies of its memory, as store and load begin with it
  sequence<ir::expr> leaf_guards;      // what the leaf being made is kept to, by loops and branches or by its mask
  sequence<ir::expr> open_guards;      // those of them that its mask has
  sequence<int> held;                  // nodes of conditions that are known to hold there
  sequence<element_place> places;      // of that leaf
};

/// The nest of a guest that is computed iterations ahead.
struct early_guest {
  int stage = -1;
  ir::stmt nest = nullptr;
};

/// One of the loops of a stage, by its position; of no stage, none.
struct loop_of_frame {
  stage_frame const* frame;
  int position;
};

class lowering {
 public:
  lowering(ir::function& f, program const& p, nest const& n, call_layout const& layout, vector_tails tails,
           narrow_memory narrow, std::int32_t threads)
      : f_(f), m_(*f.nodes), p_(p), n_(n), layout_(layout),
        narrow_(narrow == narrow_memory::yes ? narrow_results_of(n)
                                             : narrow_results{sequence<std::uint32_t>(p.tensors.size(), 0), n.starts}),
        sizes_(open_sizes_of(layout)), tails_(tails), threads_(threads), tensor_(p.tensors.size(), nullptr), needed_(p.stages.size(), false), frames_(p.stages.size()) {}
  void run();

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // --- buffers.ipp ------------------------------------------------------------------------------------------------
  std::int32_t find_name(std::string_view text, std::size_t& slot) const;
  std::int32_t take_name(std::string_view text);
  std::string unused_name(std::string_view wanted);
  ir::expr size(int argument, int dim, bool is_stride);
  void make_argument(int tensor, bool output);
  void make_intermediate(int tensor);
  sequence<ir::expr> packed_strides(sequence<ir::expr> const& shape, int stage = -1);
  double memory_bytes(dtype type, sequence<ir::expr> const& shape, sequence<ir::expr> const& strides) const;
  sequence<ir::expr> kept_dimensions(int tensor, sequence<ir::expr> const& all) const;
  bool has_place_on_stack(int stage, double bytes, bool else_too);
  bool wants_swizzle(int stage, ir::buffer const& b) const;
  bool outlives_launches(int stage) const;
  bool wants_registers(int stage) const;
  bool wants_shared(int stage) const;
  bool is_kept(int stage) const;
  ir::stmt computed_once(ir::stmt nest);
  ir::expr rounded_extent(int tensor, int dim);
  bool rounds_up(int loop) const;
  ir::buffer* new_buffer(int tensor);
  ir::expr extent(int id);
  ir::expr axis_extent(int axis) { return extent(p_.axes[at(axis)].extent); }
  ir::expr operation(node const& n, ir::expr a, ir::expr b, ir::expr c);

  // --- lower.ipp --------------------------------------------------------------------------------------------------
  void find_order();
  ir::expr longest(int id, bool of_whole = false);
  ir::expr index_of(int id);
  bool is_tile(int position) const { return is_written_out(now_->loops[at(position)].how); }
  range_table ranges_in(stage_frame const& f, int position) const;
  ir::stmt stage_nest(int stage);
  ir::stmt call_of(int stage);
  void open(stage_frame& f);
  bool is_divided(int loop);
  void add_guard(int loop);
  void add_guard(guard g);
  void add_condition(int node);
  bool is_index(int id, int depth = 12) const;
  bool is_linear(ir::expr index, std::int32_t variable = -1) const;
  bool can_shift(stage_frame const& f, int loop);
  ir::expr part_begin(stage_frame const& f, int loop, ir::expr outer);
  ir::stmt nest_from(std::size_t position, guard_states states);
  std::uint32_t left_out_of(std::size_t position) const;
  open_loop const* loop_around(int loop, std::size_t position) const;
  ir::stmt nests_apart(std::size_t position, guard_states const& states, std::uint32_t left_out);
  ir::stmt identity_nest(std::size_t position, guard_states const& states);
  ir::expr trips_within(guard const& g, std::int32_t variable);
  ir::stmt tile_branches(int position, std::size_t g, guard_states states);
  bool only_vector(guard const& g) const;

  // --- guests.ipp -------------------------------------------------------------------------------------------------
  friend class guest_spans;
  bool has_guests(int loop) const;
  ir::stmt with_guests(int position, guard_states const& states, sequence<early_guest>& early);
  ir::stmt computed_ahead(int position, ir::expr trips, ir::expr inside, sequence<early_guest> const& early,
                          ir::stmt& body);
  std::int32_t least_ahead(int stage, int loop) const;
  std::int32_t most_ahead(int stage, int loop) const;
  bool is_async(int stage) const;
  sequence<part> parts_of(int stage, class guest_spans& spans);
  void find_parts(stage_frame& guest, int stage, class guest_spans& spans);
  void keep_inside(part& p, part const& around, class guest_spans& spans);
  void note_parts_further_in(class guest_spans& spans);
  void note_memory_around(stage_frame& host, int position, sequence<std::int32_t> const& guests);
  loop_of_frame store_of(stage_frame const& guest) const;
  template <class F>
  void each_around_memory(stage_frame const& guest, F const& f) const;
  loop_of_frame outermost_copy(stage_frame const& guest) const;
  void only_at_first(stage_frame& guest);
  void need_closed(stage_frame const& f, int loop) const;
  sequence<part> slid(stage_frame const& guest, class guest_spans& spans);
  void need_fewer_than_folded(stage_frame const& guest, int dim, std::int64_t fold) const;
  ir::expr stored_index(stage_frame const& guest, int dim, ir::expr element);
  void make_guest_memory(stage_frame& guest, int stage);
  ir::stmt with_memory(int stage, ir::stmt inside);
  void check_in_place() const;
  /// What is known of stages that read an input over which one of them writes.
  struct write_order {
    static constexpr int nothing = 0, elements = 9;  // beside so many rows: there are 8 dimensions at most
    std::int32_t writer;
    sequence<sequence<std::int32_t>> const& readers;
    sequence<std::int32_t> alike{};  // by stage: rows_read_alike; -1: not asked for
    sequence<std::int8_t> answers{};
    /// The answer for a stage that reads rows, elements or anything; asked once each.
    template <class F>
    bool known(int stage, int what, F const& ask) {
      if (answers.empty()) answers.resize(readers.size() * (elements + 1), -1);
      auto const place = static_cast<std::size_t>(stage * (elements + 1) + what);
      if (answers[place] < 0) {
        bool const answer = ask();
        answers[place] = answer ? 1 : 0;
      }
      return answers[place] > 0;
    }
  };
  bool reads_own_rows_in_time(int stage, int rows, write_order& order) const;
  int rows_read_alike(int stage, write_order& order) const;
  bool stands_in_own_rows(int stage, int rows, int writer) const;
  bool scans_anew(int stage) const;
  bool reads_in_time(int stage, bool own, write_order& order) const;

  // --- specialized.ipp --------------------------------------------------------------------------------------------
  ir::stmt specialized(int stage, ir::stmt general);

  // --- instruction.ipp --------------------------------------------------------------------------------------------
  ir::stmt by_tile(std::size_t position, guard_states const& states);
  bool ends_in_zeros(sequence<std::int32_t> const& loads, guard const& g, std::int32_t variable);
  bool is_zero_beyond(node const& load, guard const& g);
  ir::stmt under_mask(ir::stmt s, ir::expr mask);
  ir::stmt by_instruction(open_loop const& o, guard_states const& states);
  ir::expr instruction_value(intrinsic const& by, sequence<ir::expr> const& operands);
  bool has_layout(intrinsic const& by, open_loop const& o, sequence<ir::expr> const& operands) const;

  // --- element.ipp ------------------------------------------------------------------------------------------------
  ir::stmt leaf(guard_states const& states);
  ir::stmt update(int result, ir::expr mask);
  ir::expr common_condition();
  ir::expr axis_value(int axis);
  ir::expr mirrored(stage_frame const& f, int axis, ir::expr step);
  sequence<ir::expr> element_indices(int result, int steps_before);
  ir::expr state(node const& n);
  ir::expr value(int id, ir::expr condition);
  ir::expr make_value(node const& n, ir::expr condition);
  ir::expr load(node const& n, ir::expr condition);
  ir::expr inlined_element(int tensor, sequence<ir::expr> const& indices, ir::expr condition);
  ir::expr guarded(sequence<ir::expr> const& indices, ir::expr condition) const;
  bool inside(sequence<ir::expr> const& indices, sequence<ir::expr> const& bounds, sequence<ir::expr> const& guards = {}) const;

  ir::function& f_;
  ir::arena& m_;
  program const& p_;
  nest const& n_;
  call_layout const& layout_;
  narrow_results narrow_;
  struct taken_name {
    std::string text;
    int next = 1;  // the number that is tried behind it
  };
  sequence<taken_name> names_;  // of buffers, variables and sizes
  sequence<std::int32_t> name_slots_;  // a table of their numbers by hash
  sequence<open_size> sizes_;
  vector_tails tails_;
  std::int32_t threads_;  // that run a parallel loop at most; 0: not known
  sequence<ir::buffer*> tensor_;
  sequence<ir::expr> extents_;  // by node; empty at first
  sequence<bool> needed_;       // by stage
  sequence<bool> read_;         // those of them whose elements are read; the others only hold such in their loops
  sequence<int> order_;         // of the stages that are
  sequence<sequence<std::int32_t>> loops_of_;  // by stage
  sequence<sequence<std::int32_t>> guests_;    // by loop: the stages that are computed in it, in order
  sequence<sequence<std::int32_t>> stored_;    // by loop: those whose memory stands in it, the last one first
  sequence<sequence<std::int32_t>> readers_;  // by stage: those of them that read it, in that order
  sequence<stage_frame> frames_;
  stage_frame* now_ = nullptr;
  std::size_t place_ = 0;          // in now_->places: whose nodes are evaluated
  ir::expr always_ = nullptr;      // the condition that holds wherever that leaf reads memory; null: none
  bool in_tile_ = false;           // of a matrix unit
  std::int64_t stack_bytes_ = 0;   // of all stages
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/lower/buffers.ipp"
#include "weft/lower/element.ipp"
#include "weft/lower/guests.ipp"
#include "weft/lower/instruction.ipp"
#include "weft/lower/specialized.ipp"
#endif
