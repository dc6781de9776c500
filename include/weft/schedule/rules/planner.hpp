// The families of rules, as parts of one plan: what is computed where, then the loops of each nest.
#pragma once

#include "weft/schedule/rules/view.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// How much a plan dares: everything; no tiles of several stages; loops alone, each stage where it is.
enum class boldness : std::uint8_t { strips, all, loops };

/// From which element to which an index runs.
struct index_range {
  std::int64_t low = no_step, high = no_step;
  bool known() const { return low != no_step && high != no_step; }
};
/// What is read of each stage where a part of one stage is computed: filled from readers to what they read.
class parts_read {
 public:
  explicit parts_read(rule_view const& v) : v_(v) {}
  sequence<index_range> whole(int stage) const;
  void enter(int stage, sequence<index_range> const& part) {
    met_ += !is_known(stage) && !part.empty();
    regions_.of(stage) = part;
  }
  void read_by(int reader);
  bool is_known(int stage) const { return regions_.find(stage) != nullptr && !regions_.find(stage)->empty(); }
  /// Of how many stages something is known.
  int met() const { return met_; }
  double elements(int stage, std::int64_t lanes = 0, int left_out = -1) const;
  /// The values of an index of `reader`, of which its own part is known.
  index_range index(int id, int reader) {
    fuel_ = 400;
    return of_index(id, reader);
  }

 private:
  index_range of_index(int id, int reader);
  bool stays_in_period(int id, std::int64_t period, int reader);

  rule_view const& v_;
  node_map<sequence<index_range>> regions_;  // by stage
  int fuel_ = 0, met_ = 0;
  bool everywhere_ = false;  // not in its part: in all of the reader
};

/// What an element of a stage reads, inlined stages looked through, each once, in the middle of the stage; and how far that moves with
/// an axis.
class elements_read {
 public:
  /// Stages of `as_inlined` count as if they were.
  elements_read(rule_view const& v, int stage, int axis, node_set const& as_inlined = {});
  std::int64_t together(std::int64_t steps) const;
  double cycles() const;

  bool known = true;  // else: subscripts that are read, or that do not move evenly, or too many
  sequence<std::int32_t> tensors;
  sequence<std::int64_t> places, pitches;  // in memory; from one step along the axis to the next
  sequence<std::int64_t> shifts;           // of the last index, from where vectors begin

 private:
  void add(int stage, node_set const& as_inlined);

  rule_view const& v_;
  parts_read parts_[3];
  std::int64_t lanes_;
  int fuel_ = 1000;
};

/// A tile of sums in vector registers: rows of so many vectors.
struct register_tile_size {
  std::int64_t rows = 1, vectors = 1;
  double cycles = 0;  // for one step of the reduction over all tiles
};
/// What a step of a tile takes.
struct tile_costs {
  double at_once = 1;     // multiplications of vectors in a cycle
  double vector = 0;      // cycles to bring a vector of the columns from where panels are
  double row = 0;         // and an element of a row, of whose line others are for the next steps
  std::int64_t most_vectors = 4, most_rows = 8;
  double of_five = 0.97;  // a tile of five vectors is taken where it needs less than this, of the cycles of the best one of four or fewer
  // Of a panel of more than `near_vectors`, vectors come from further away, in so many cycles each; past `whole_vectors` it is cut (terms_at_a_time).
  std::int64_t near_vectors = 8, whole_vectors = 8;
  double far_vector = 0;
};
/// The tile that takes the fewest cycles for `rows` x `columns` elements, in vectors of so many lanes; `registers` is what
/// the machine has.
///
/// A tile of r x v needs r * v sums, a row of v and one element more. Its step takes r * v multiplications, one a cycle (tile_costs::at_once) and
/// no less than four cycles for their latency, and v + r loads, two a cycle. At the lower edge a tile has the rows that are there; at the right one masks hide what is not.
/// More than eight rows may meet in one set of the first cache: with 14 x 32, 1024^3 ran at 114 GFLOP/s where 6 x 64 ran at
/// 190 and 1000^3 at 181 (EPYC, Zen 4, two loaded cores, 2026-11-22).
///
/// Few rows that are left over wait for their vectors (tile_costs::vector). Lines of 14 pixels by 256 channels as 6, 6 and 2 rows ran at 113, as 7 and 7
/// at 116 of 118 GFLOP/s.
register_tile_size best_tile(std::int64_t rows, std::int64_t columns, std::int64_t lanes, std::int64_t registers, tile_costs const& costs = {});
/// Sums of a tile of near rows, times the places of a window, that are written out in a loop at most.
inline constexpr std::int64_t most_written_out = 128;
/// The same where what rows read lies side by side: a line of the cache has all of it, and the next place of a window reads most of it again.
/// So there are up to sixteen rows, by one vector, or eight by two: more would need registers for their weights at each place that is
/// written out, and sums would leave theirs (14 x 32 ran at 110 and 97, 14 x 16 at 115 and 116 of 118 GFLOP/s, 7 x 32 at 108 and 97; EPYC, Zen 4,
/// 2026-11-22). Two units (`at_once`) take more than two loads bring where each multiplies another element: there rows are by two vectors wherever registers
/// allow it, and where the `window`, which is written out for each sum, is not too long (3x3 on 28 x 28 x 128, by 14 x 16 117, by 14 x 32 127 GFLOP/s, on 14 x 14 x 256 131 and 146; Cascade Lake, 2026-11-27).
register_tile_size tile_of_near_rows(std::int64_t rows, std::int64_t columns, std::int64_t lanes, std::int64_t registers, double at_once = 1,
                                     std::int64_t window = 1);

/// The knob for a copy of `tensor` in panels.
inline short_name pack_name(program const& p, int tensor) {
  return short_name("pack_").append(program::at(p.tensors, tensor).name.view());
}
/// The axes of a stage that a tile of sums is made of, by place; -1: none.
struct tile_axes {
  int columns = -1;           // runs through the lanes of vectors
  int rows = -1;              // is unrolled
  sequence<std::int32_t> packed{};  // tensors that are read with gaps along `columns`, and are worth a copy without
};

/// Tiles of a nest in which other stages are computed.
struct strips {
  std::int64_t rows = 0, columns = 0;  // of a tile
  bool slides = false;                 // row by row, the last ones kept
  std::int64_t at_once = 1;            // so many rows are computed together
  struct part {
    std::int32_t stage = -1, row = -1;  // its dimension that slides
    std::int64_t kept = 0;              // so many rows
  };
  sequence<part> stages{};  // that are computed in it, what is read behind what reads it
  double bytes = 0;                    // of all that a tile keeps
  double cost = 0, work = 0;           // cycles: of all that is computed in it, what is brought back included, and of that done once
};
/// What was found before for the same stages inlined and placed: looking for windows takes most of a schedule's time.
struct plan_memory {
  sequence<std::uint64_t> keys;
  sequence<strips> tiles;
};

class rule_plan {
 public:
  rule_plan(schedule& s, rule_input const& in, boldness how) : s_(s), in_(in), how_(how) {}
  /// The plan is made for the sizes of `s`, and each step taken on `open`, too, where some of them are open.
  rule_plan(schedule& s, schedule& open, rule_input const& in, boldness how) : s_(s), in_(in), how_(how), open_(&open) {}
  void write();

 protected:
  // --- steps (planner.ipp); loops are named by their ids, -1 being none
  struct parts {
    int outer = -1, inner = -1;
  };
  rule_view view() const { return rule_view(s_, in_, pieces_, &facts_); }
  bool may(step const& one) const {
    return schedule::check(s_, one).v != verdict::illegal && (open_ == nullptr || schedule::check(*open_, one).v != verdict::illegal);
  }
  bool take(step one) {
    step again = one;
    forget(one);
    return (open_ == nullptr || open_->take(again)) && s_.take(one);  // the one that is more often refused first
  }
  /// Whether a step was: then there is no schedule, and loops that were to come are not there.
  bool is_refused() const { return s_.state == verdict::illegal || (open_ != nullptr && open_->state == verdict::illegal); }
  /// Takes a step that may be illegal.
  bool take_if_legal(step one) {
    forget(one);
    return open_ == nullptr ? s_.take(one, false) : may(one) && take(one);
  }
  /// What views have found, where a step changes that.
  void forget(step const& one) {
    if (changes_program(one.what)) facts_ = plan_facts();
    if (one.what == verb::compute_inline || one.what == verb::reverse_compute_inline) facts_.loads.clear();
  }
  bool is_open(int l) const { return l >= 0 && open_ != nullptr && open_->at(l).extent < 0; }
  /// Whether it is one, or a part of one.
  bool is_of_open(int l) const {
    while (l >= 0 && !is_open(l)) l = open_ != nullptr ? open_->at(l).parent : -1;
    return l >= 0;
  }
  parts split(int l, std::int64_t factor, tail at_end = tail::guard);
  /// As split, but a loop that is no longer than the factor stays whole: then there is no outer part.
  parts cut(int l, std::int64_t factor, tail at_end = tail::guard);
  void mark(verb what, int l);
  void reorder(sequence<std::int32_t> const& loops);
  int fuse(sequence<std::int32_t> const& loops);
  bool place(verb what, int stage, int l = -1);
  int add_stage(verb what, int stage, int tensor, std::uint8_t word = 0);
  struct taken_apart {
    int parts = -1, v = -1;  // the new stage, and the axis that the old one has left
  };
  taken_apart rfactor(int stage, int l, std::int64_t count, bool chunks);
  // --- choices that a search may make in the rule's place (planner.ipp)
  /// The rule's own number, unless this is searched and the schedule's choices say another one of `others`, which are at most `limit`.
  std::int64_t choose(int stage, std::string_view what, std::int64_t own, std::initializer_list<std::int64_t> others,
                      std::int64_t limit = std::int64_t(1) << 40);
  bool choose(int stage, std::string_view what, bool own) { return choose(stage, what, own ? 1 : 0, {own ? 0 : 1}) != 0; }
  /// The stage of the program whose choices are those for `stage`.
  int known_as(int stage) const {
    for (std::size_t i = 0; i + 1 < products_.size(); i += 2)
      if (products_[i] == stage) return products_[i + 1];
    return stage;
  }
  /// The name of a knob: that of the stage, and of what is chosen.
  short_name knob_name(int stage, std::string_view what) const;
  /// One where there is no loop; -1: not a number.
  std::int64_t trips(int l) const { return l < 0 ? 1 : s_.at(l).extent < 0 ? -1 : s_.at(l).extent; }

  // --- what is computed where (planner.ipp)
  sequence<sequence<std::int32_t>> needed_readers() const;
  void leave_out();
  void inline_stages();
  void inline_together();
  double places_read(rule_view const& v, int reader, int stage) const;
  /// How often something is computed in a nest.
  struct times_in_nest {
    std::int32_t nest = -1;
    double times = 0;
  };
  sequence<times_in_nest> evaluations(rule_view const& v, int stage, int reader, sequence<sequence<std::int32_t>> const& readers) const;
  void compute_again();
  void put_in_order(sequence<sequence<std::int32_t>> const& readers);
  sequence<std::int32_t> only_readers(sequence<sequence<std::int32_t>> const& readers) const;
  void find_hosts();
  bool is_worth_a_fork(double cycles) const { return in_.threads > 1 && cycles > in_.fork_cycles; }
  double cycles(int stage) const;
  /// By how many threads a product is worked on: half of what is worth a fork is left for each.
  std::int64_t threads_for(double cycles) const {
    if (!(cycles > in_.short_fork_cycles)) return 1;
    double const most = 2 * cycles / (in_.short_fork_cycles + 1);
    return most < static_cast<double>(in_.threads) ? static_cast<std::int64_t>(most) : in_.threads;
  }
  /// Marks the first of these loops that has enough iterations.
  void run_parallel(sequence<std::int32_t> const& loops, double cycles);
  void run_parallel(sequence<std::int32_t> const& loops, double cycles, std::int64_t threads, double fork_cycles);
  void nest_of(int stage);

  // --- strips.ipp
  int row_of_tile(int stage) const;
  static std::int64_t vector_width(std::int64_t lanes, double operations);
  /// A stage that is computed in a tile.
  struct tile_part {
    std::int32_t row = -1;   // its axis that moves with the rows of the tile; -1: none
    std::int64_t speed = 0;  // so many elements for each
  };
  int sliding_dimension(int stage, sequence<std::int32_t> const& readers, node_map<tile_part> const& inside, std::int64_t& speed) const;
  /// What a stage takes, asked once: strips_of is for dozens of sizes.
  struct stage_work {
    std::int64_t lanes = 1;
    double operations = 0;  // of an element
  };
  strips strips_of(int host, strips made, sequence<sequence<std::int32_t>> const& readers, sequence<stage_work> const& takes) const;
  strips best_strips(int host, sequence<sequence<std::int32_t>> const& readers, sequence<stage_work> const& takes) const;
  bool is_read_in_window(int stage, sequence<sequence<std::int32_t>> const& readers) const;
  void find_strips();
  void tiles_with_strips(int stage);

  // --- elementwise.ipp
  int vector_axis(rule_view const& v, int stage, sequence<access> const& all, std::int64_t joined) const;
  int first_joined(int stage, int first_axis, sequence<access> const& all) const;
  void elementwise(int stage, int first_axis, bool alone);
  int merged(int stage, int first_axis, sequence<access> const& all);
  int row_across(int stage, int first_axis, int axis, int other, sequence<access> const& all);
  bool turn_tiles(int stage, int axis, int other, sequence<access> const& all, double total);
  void copy_tiles(int stage, sequence<access> const& all, int axis, int other, int at);
  bool fills_caches(int stage) const;
  bool store_past_caches(int stage);
  bool goes_far(int stage) const;
  bool ask_for_result(int stage, int l, std::int64_t width);
  void ask_ahead(int stage, int l, int axis, std::int64_t width, double least_bytes, std::int64_t ahead = 4096);
  bool has_half_vectors(int stage, double work);
  std::int64_t rows_that_share(int stage, int axis, double part = 0.667) const;
  bool is_better_apart(int product, int depth) const;
  bool products_apart(int stage);
  void rows_with_guests(int stage);
  void guest(int stage, int depth);

  // --- rows_ahead.ipp
  /// Stages of a row that run so many rows `ahead` of it, by stage, `most` at most (0: they cannot), each in loops over `row` elements by `width`.
  struct rows_in_turn {
    sequence<std::int64_t> ahead{};
    std::int64_t most = 0, row = 0, width = 0;
  };
  rows_in_turn find_rows_in_turn(int stage, sequence<std::int32_t> const& guests, int depth) const;
  bool rows_in_one_loop(int stage, sequence<std::int32_t> const& guests, int depth, double total);

  // --- scans.ipp
  bool scan(int stage, int axis, sequence<access> const& all);
  bool scan_along_rows(int stage, int axis, sequence<access> const& all);
  bool scan_across_rows(int stage, int axis, sequence<access> const& all);

  // --- groups.ipp
  void find_pieces();
  std::int64_t lanes_of_tile(int stage, int column) const;

  // --- short_axes.ipp
  bool is_asked(int stage, int axis) const;
  parts cut_short_axes(int stage, int first_axis, std::int64_t vectors);
  bool can_sum_in_lanes(int stage, int first_axis) const;
  bool sums_in_lanes(int stage, int first_axis);
  bool by_rows_of_terms(int stage, int first_axis, parts lane, sequence<std::int32_t> terms);

  // --- contraction_tile.ipp: what is decided before loops are cut
  bool has_turned_rows(int stage, int column) const;
  bool is_window(int stage, access const& one, int column) const;
  tile_axes axes_of_tile(int stage) const;
  register_tile_size tile_for(int stage, tile_axes const& t, std::int64_t lanes, std::int64_t joined = -1, bool in_slabs = false, bool streamed = false,
                              bool in_panels = false);
  bool has_scattered_rows(int stage, tile_axes const& t) const;
  tile_costs costs_of_tile(int stage, tile_axes const& t, double terms, bool streamed) const;
  register_tile_size tile_of_slabs(std::int64_t rows, std::int64_t registers) const;
  std::int64_t terms_of_slab(int stage) const;
  bool is_worth_slabs(int stage, tile_axes const& t) const;
  bool rows_are_near(int stage, tile_axes const& t) const;
  int channels_of_lines(int stage, tile_axes const& t) const;
  int copy_by_lines(int stage, int tensor, int channels);
  std::int64_t window_written_out(int stage, tile_axes const& t) const;
  bool panels_first(int stage, tile_axes const& t, std::int64_t panels) const;
  int lines_that_share(int stage, tile_axes const& t) const;
  struct shared_lines {
    std::int64_t lines, places;
  };
  shared_lines lines_of_tile(int stage, tile_axes const& t, int above) const;
  /// A copy in another layout, and the knob that says in which loop it is made.
  struct packed_copy {
    std::int32_t stage = -1;
    short_name knob{};
    bool constant = false;
    double cycles = 0;  // to make it
    bool of_columns = false;  // then a panel can be made by itself
  };
  /// The loops around all tiles of a product and all of its terms, outermost first, with the axes that they walk; one that threads share out.
  struct outer_loops {
    sequence<std::int32_t> loops{}, axes{};
    int piece = -1, piece_axis = -1;
    int columns = -1, terms = -1;  // inside of them, the loop in which panels of columns are copied, and that over blocks of terms
    bool piece_around = false;  // it stands around the loops, and not inside of them
    std::int64_t threads = 1;
    bool known = true;  // else there are others around the piece, and no copy may be made in it
  };
  /// A product: what is decided of it before loops are cut.
  struct product_plan {
    std::int32_t stage = -1;
    tile_axes t{};
    intrinsic const* by = nullptr;     // of several terms at once
    int joined = -1, row = -1;         // an axis that is one row with the columns, and the loop of both
    register_tile_size tile{};
    std::int64_t width = 1;            // of the tile, in elements
    bool in_slabs = false;             // of terms, for each of which both operands are packed
    bool by_long_rows = false;         // then rows are read from end to end, some at a time
    bool scattered = false;            // each row of a panel is on another page, in a tensor that is read once
    std::int32_t streamed = -1;        // the tensor whose packed panels each serve few tiles, and come from beyond the second cache
    bool own = false;                  // to a tile: what it reads in vectors serves no other one
    sequence<packed_copy> copies{};
  };
  /// Terms of a panel that is read where it lies, and whose rows are joined ones (axis_joined) on pages far away: so many stay in the first cache while all rows pass by,
  /// and meanwhile the next panel's are asked for. f32, 64 x 256 x 56 x 56, a server with AMX, GFLOP/s by one thread and by two: in whole rows of 32 terms 130 and 232, so 141 and 273;
  /// all terms at once 128 and 258.
  static constexpr std::int64_t terms_near = 64;
  bool takes_terms_near(product_plan const& p) const { return p.row >= 0 && p.scattered && p.by == nullptr && has_far_memory(); }
  struct term_loops {
    int blocks = -1, words = -1;  // around and inside of all others
    sequence<std::int32_t> reduced{};
  };
  struct tile_loops {
    int line = -1, row = -1, column = -1;
    std::int64_t lines = 1;
  };
  struct waiting_sums {
    std::int64_t rows = 0, columns = 0;  // tiles
  };
  static constexpr std::int64_t most_turns = 16;
  static constexpr std::int64_t rows_followed = 16;  // at once, by the prefetcher of Intel's second cache: with 32 16 x 4096 x 4096 fell from 49 to 30 GFLOP/s
  bool has_far_memory() const { return in_.l3_bytes_per_cycle > 0 && in_.l2_bytes > 0 && how_ != boldness::loops; }
  /// Whether a core begins two multiplications of whole vectors in a cycle and its memory is near: then loads are what it waits for (decision 104).
  bool has_two_units() const { return in_.vector_units > 1 && !has_far_memory() && how_ != boldness::loops; }
  bool reads_long_rows(product_plan const& p) const;
  bool serves_few_tiles(int stage, tile_axes const& t, std::int64_t rows) const;
  std::int64_t panels_kept_near(product_plan const& p) const;
  register_tile_size tile_of_unit(int stage, tile_axes const& t, intrinsic const& by, std::int64_t lanes);
  product_plan product_of(int stage, tile_axes const& t, product_plan const* first, bool alone = false);

  // --- contraction.ipp
  std::int64_t panels_at_once(product_plan const& p) const;
  int blocks_of_terms(product_plan const& p, sequence<std::int32_t>& reduced, bool has_panels);  // terms.ipp
  std::int64_t terms_at_a_time(product_plan const& p, std::int64_t k, bool has_panels) const;
  term_loops cut_terms(product_plan const& p, bool has_panels, bool blocks);
  waiting_sums blocks_that_wait(product_plan const& p) const;
  bool has_whole_tiles(int stage, tile_axes const& t, intrinsic const& by, sequence<std::int32_t> const& loads) const;
  void sums_by_unit(intrinsic const& by, sequence<std::int32_t> order, sequence<std::int32_t> const& reduced, int words, tile_loops const& in);
  void sums_in_tile(product_plan const& p, sequence<std::int32_t> order, sequence<std::int32_t>& reduced, int words, tile_loops const& in);
  bool is_asked_for_by_rows(product_plan const& p, int tensor) const;
  void ask_for_panels(product_plan const& p, int panels, int rows, int blocks, int terms);
  void contraction(int stage, tile_axes const& t, int last, int row = -1);
  bool tile_with_guests(int stage);
  bool tile_of_joined(int product, int last);
  bool is_better_joined(int product, int last, tile_axes const& t);
  void tile_of_guest(int stage, tile_axes const& t, int depth, std::int64_t rows = 1);
  std::int64_t rows_at_once(int stage, sequence<std::int32_t> const& guests, int depth);
  int dimension_of(int stage, int tensor, int column) const;
  int rows_along(int stage, int tensor, int column) const;
  bool can_pack(int stage, int tensor, int column, int joined = -1) const;
  bool is_constant(int tensor) const;
  sequence<std::int32_t> worth_packing(int stage, tile_axes const& t, bool ahead = false, int joined = -1);
  int axis_joined(int stage, tile_axes const& t) const;
  sequence<std::int32_t> reduced_loops(int stage) const;
  intrinsic const* instruction_for(int stage, tile_axes const& t, int& panels) const;
  std::int64_t lanes_to_weave(int stage, int tensor, int column, std::int64_t width) const;
  int pack(int stage, int tensor, int column, std::int64_t width, std::int64_t terms = 1, int innermost = -1, int joined = -1);
  sequence<std::int32_t> rows_worth_packing(int stage, tile_axes const& t, std::int64_t rows, bool in_slabs);
  void place_copies(int stage, sequence<packed_copy> const& copies, sequence<std::int32_t> const& around, outer_loops const& outside,
                    bool in_slabs = false);
  bool packs_at_first(product_plan const& p) const;
  bool pack_at_first(product_plan const& p, int panels, int terms, std::int64_t together);
  bool reads_along(int stage, int copy, int axis) const;
  void share_around(sequence<product_plan> const& products, sequence<std::int32_t>& others, outer_loops& outside, std::int64_t threads,
                    bool panels);
  bool is_read_again(int stage, int copy, int axis) const;
  int loop_of_copy(int stage, packed_copy const& copy, outer_loops const& outside) const;
  sequence<std::int32_t> in_chosen_order(product_plan const& p, sequence<std::int32_t> const& l);

  // --- reduction.ipp
  /// Rows of sums that are taken together: next to each other, or of as many pieces of all rows.
  struct row_group {
    std::int64_t rows = 1;
    bool apart = false;
    std::int32_t streamed = -1;  // the tensor that is read from memory
  };
  row_group group_of_rows(int stage, int k);
  void ask_for_rows(row_group const& g, int stage, int l, int row, std::int64_t width);
  bool in_parts(int stage);
  /// Reduced axes that are lanes together, innermost first, and so many iterations of `outer`: as one row with them, or side by side.
  struct short_parts {
    sequence<std::int32_t> axes{};
    int outer = -1;
    std::int64_t times = 1;
    bool is_one_row = false;
  };
  short_parts short_parts_of(int stage) const;
  bool in_short_parts(int stage);
  bool rows_in_lanes(int stage);
  int turned_copy(int stage, int tensor, int row);
  void join_in_steps(int stage, int v, std::int64_t count, std::int64_t terms);
  int contiguous_reduced_axis(rule_view const& v, int stage) const;
  bool order_may_change(int stage) const;
  void reduction(int stage);

  sequence<std::int32_t> guests_of(int stage) const;
  void host_in(int stage, int host);

  schedule& s_;
  rule_input const& in_;
  boldness how_;
  schedule* open_ = nullptr;
  sequence<std::int32_t> host_;   // by stage: in whose nest it is computed; itself: in its own
  sequence<std::int32_t> depth_;  // by stage: how many leading axes it shares with its host
  sequence<strips> strips_;       // by stage: what is computed in tiles of it
  sequence<std::int32_t> sorted_;  // stages, what is read before what reads it
  sequence<std::int32_t> place_of_;  // by stage: where it is in that
  sequence<sequence<std::int32_t>> guests_;  // by stage: those whose host_ it is, in that order; inlined ones, too
  sequence<std::int32_t> joins_;  // stages that join parts, to be placed
  sequence<std::int64_t> pieces_;    // for rule_view
  sequence<std::int32_t> products_;  // stages that im2col has made, each with the one that it made them of
  static constexpr std::int64_t few_threads = 4;  // each makes its own copies
  static constexpr double enough_shared = 0.8;
  std::int64_t rows_of_guests_ = 1;  // of a window that moves, in one step: what is computed there may be so many rows together
  std::int64_t row_vectors_ = 0;        // not 0: sums along a row are by so many vectors, and their loops are noted in row_loops_
  sequence<std::int32_t> row_loops_;
  bool forks_later_ = false;      // a copy is being made, of which it is not known yet where
  sequence<bool> parted_;         // by stage: products_apart has been asked of its nest
  mutable plan_facts facts_;      // for rule_view
  sequence<bool> alone_;          // by stage: stays in a nest of its own; of those behind the last one nothing is said
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/rules/elementwise.ipp"
#include "weft/schedule/rules/contraction.ipp"
#include "weft/schedule/rules/contraction_tile.ipp"
#include "weft/schedule/rules/groups.ipp"
#include "weft/schedule/rules/packing.ipp"
#include "weft/schedule/rules/planner.ipp"
#include "weft/schedule/rules/reduction.ipp"
#include "weft/schedule/rules/rows_ahead.ipp"
#include "weft/schedule/rules/scans.ipp"
#include "weft/schedule/rules/shared_reads.ipp"
#include "weft/schedule/rules/short_axes.ipp"
#include "weft/schedule/rules/strips.ipp"
#include "weft/schedule/rules/terms.ipp"
#endif
