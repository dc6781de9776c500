#include "weft/schedule/rules/gpu_planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_DECL gpu_tile best_gpu_tile(std::int64_t rows, std::int64_t columns, double count, double whole_counts, bool largest) {
  constexpr gpu_tile all[] = {{128, 256, 16, 8}, {128, 128, 8, 8}, {128, 64, 8, 4}, {64, 128, 4, 8}, {64, 64, 4, 4}, {64, 32, 4, 2}, {32, 64, 2, 4}, {32, 32, 2, 2}};
  gpu_tile best = all[7];
  double most = 0;
  for (gpu_tile const& t : all) {
    if (t.is_largest() && !largest) continue;
    double const down = static_cast<double>(ceil_div(rows, t.rows)), across = static_cast<double>(ceil_div(columns, t.columns));
    double const used = static_cast<double>(rows * columns) / (down * static_cast<double>(t.rows) * across * static_cast<double>(t.columns));
    double const reuse = t.is_largest() ? 1.1 : static_cast<double>(t.own_rows * t.own_columns) / static_cast<double>(4 * (t.own_rows + t.own_columns));
    double const rounds = down * across * count / gpu_numbers::processors;
    if (!(rounds > 0)) continue;  // no product at all
    double const busy = rounds / static_cast<double>(static_cast<std::int64_t>(rounds) + (rounds > static_cast<double>(static_cast<std::int64_t>(rounds)) ? 1 : 0));
    double const divides = rows % t.rows == 0 && columns % t.columns == 0 ? whole_counts : 1;
    if (divides * used * reuse * busy > most) most = divides * used * reuse * busy, best = t;
  }
  return best;
}

/// Axes along both of which something is read that does not move along the other; the columns' contiguous in the result if that can
/// be. None: -1.
WEFT_DECL reused_axes gpu_plan::reuse(int stage) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  reused_axes best;
  if (how_ != boldness::all || of.reduced == 0 || of.results != 1 || of.by != nullptr || of.scanned >= 0) return best;
  if (v.iterations(stage) < 8 * v.iterations(stage, false)) return best;
  sequence<access> const& loads = v.loads(stage);
  access const result = v.result(stage);
  auto const alone = [&](int a, int b) {  // something moves along a, not along b, and with the terms
    for (access const& one : loads) {
      bool terms = false;
      for (int k = of.spatial; k < of.axes(); ++k) terms = terms || one.step(k) != 0;
      if (one.step(a) != 0 && one.step(b) == 0 && terms) return true;
    }
    return false;
  };
  double most = 0;
  for (int c = 0; c < of.spatial; ++c)
    for (int r = 0; r < of.spatial; ++r) {
      std::int64_t const rows = v.extent(stage, r), across = v.extent(stage, c);
      if (r == c || rows < 16 || across < 16 || !alone(r, c) || !alone(c, r)) continue;
      double score = static_cast<double>(rows < 128 ? rows : 128) * static_cast<double>(across < 128 ? across : 128);
      if (result.step(c) == 1) score *= 2;
      if (score > most) most = score, best = {r, c};
    }
  return best;
}
/// How much of each dimension of what is read a block's tile wants: `tile` has the iterations of each axis. False: that cannot be told.
WEFT_DECL bool gpu_plan::measure_copy(int stage, access const& one, sequence<std::int64_t> const& tile, shared_copy& into) const {
  rule_view const v = view();
  program const& p = v.p();
  stage_info const& of = v.stage(stage);
  int reads = 0;
  bool known = true;
  each_load(p, stage, [&](node const& x) {
    if (x.a != one.tensor || ++reads > 1) return;
    for (int d = 0; d < x.c; ++d) {
      std::int64_t region = 1;
      for (int a = 0; a < of.axes(); ++a) {
        std::int64_t const by = v.coefficient(program::at(p.operands, x.b + d), of.first_axis + a);
        if (by == no_step) known = false;
        else region += (by < 0 ? -by : by) * (tile[static_cast<std::size_t>(a)] - 1);
      }
      into.region.push_back(region);
    }
  });
  into.tensor = one.tensor;
  return known && reads == 1;
}
/// The loops of a copy in shared memory, by `across` x `down` threads: read as it lies in memory, kept with what a tile's axis walks
/// side by side.
WEFT_DECL void gpu_plan::fill_shared(shared_copy const& c, int at, std::int64_t across, std::int64_t down) {
  rule_view const before = view();
  int const rank = before.stage(c.stage).spatial;
  sequence<std::int64_t> const strides = before.strides(c.tensor);
  int contiguous = rank - 1;
  for (int d = 0; d < rank; ++d)
    if (strides[static_cast<std::size_t>(d)] == 1) contiguous = d;
  sequence<std::int32_t> place_of(static_cast<std::size_t>(rank), 0);  // of each dimension, among the copy's
  for (int d = 0; d < rank; ++d) place_of[static_cast<std::size_t>(d)] = d;
  if (c.rows_of_terms && c.is_padded) {
    step padded{verb::storage_align};
    padded.stage = c.stage;
    std::int64_t const row = 16 / element_bytes(c.tensor);
    for (std::int64_t number : {std::int64_t(rank - 2), 2 * row, row}) padded.numbers.push_back(number);
    if (may(padded)) take(padded);
  } else if (!c.rows_of_terms && c.along >= 0 && c.along != rank - 1 && rank < 8) {
    step layout{verb::transform_layout};
    layout.stage = c.stage;
    int next = 0;
    auto const dimension = [&](int d) {
      for (std::int64_t number : {std::int64_t(d), std::int64_t(1), std::int64_t(0)}) layout.numbers.push_back(number);
      place_of[static_cast<std::size_t>(d)] = next++;
    };
    for (int d = 0; d < rank; ++d)
      if (d != c.along) dimension(d);
    dimension(c.along);
    layout.numbers.push_back(0);
    take(layout);
    step padded{verb::storage_align};
    padded.stage = c.stage;
    std::int64_t const row = 16 / element_bytes(c.tensor);
    for (std::int64_t number : {std::int64_t(rank - 2), 2 * row, row}) padded.numbers.push_back(number);
    if (may(padded)) take(padded);
  }
  if (!place(verb::compute_at, c.stage, at)) return;
  rule_view const v = view();
  auto const loop = [&](int d) { return v.loop(c.stage, place_of[static_cast<std::size_t>(d)]); };
  int rows = -1;
  for (int d = 0; d < rank; ++d)
    if (d != contiguous && (rows < 0 || c.region[static_cast<std::size_t>(d)] > c.region[static_cast<std::size_t>(rows)])) rows = d;
  std::int64_t const length = c.region[static_cast<std::size_t>(contiguous)], whole = before.value(before.p().extent_of(c.tensor, contiguous));
  std::int64_t wide = 16 / element_bytes(c.tensor);
  if (gather_of(c.tensor) >= 0) wide = bytes_side_by_side(c.tensor) / element_bytes(c.tensor);
  while (wide > 1 && (length % wide != 0 || whole % wide != 0 || (length / wide < across && !c.rows_of_terms))) wide /= 2;
  if (c.rows_of_terms) {
    parts const lane = wide > 1 ? split(loop(contiguous), wide) : parts{loop(contiguous), -1};
    sequence<std::int32_t> order;
    for (int d = 0; d < rank; ++d)
      if (d != contiguous && d != rows) order.push_back(loop(d));
    for (int l : {loop(rows), lane.outer, lane.inner}) order.push_back(l);
    reorder(order);
    int const chunks = fused(sequence<std::int32_t>{loop(rows), lane.outer});
    parts const turn = split(chunks, across * down), thread = split(turn.inner, across);
    bind(thread.outer, thread_axis::thread_y);
    bind(thread.inner, thread_axis::thread_x);
    mark(verb::vectorize, lane.inner);
    return;
  }
  parts const lane = wide > 1 ? split(loop(contiguous), wide) : parts{loop(contiguous), -1};
  parts const x = split(lane.outer, across), y = rows >= 0 ? split(loop(rows), down) : parts{};
  sequence<std::int32_t> order;
  for (int d = 0; d < rank; ++d)
    if (d != contiguous && d != rows) order.push_back(loop(d));
  for (int l : {y.outer, x.outer, y.inner, x.inner, lane.inner}) order.push_back(l);
  reorder(order);
  bind(y.inner, thread_axis::thread_y);
  bind(x.inner, thread_axis::thread_x);
  mark(verb::vectorize, lane.inner);
}
/// Lets the copies of later iterations run on by themselves: two ahead of a thread's large tile, whose work is as long as the way from
/// memory, three of a small one, as far as 64 KiB of shared memory have room. Of elements that are too narrow for a copy of their
/// own none does.
WEFT_DECL void gpu_plan::copy_ahead(int stage, sequence<shared_copy> const& copies, gpu_tile const& t, std::int64_t bytes, std::int64_t tiles) {
  std::int64_t ahead = t.own_rows * t.own_columns >= 32 && !t.is_largest() ? 2 : 3;
  while (ahead > 0 && (ahead + 1) * bytes > (t.is_largest() ? gpu_numbers::matrix_staged_bytes : gpu_numbers::staged_bytes)) --ahead;
  ahead = choose(stage, "stages", ahead + 1, {1, 2, 3, 4}) - 1;
  if (ahead > tiles - 1) ahead = tiles - 1;
  sequence<step> steps;
  for (shared_copy const& c : copies) {
    step one{verb::pipeline, 0, {}, ahead};
    one.stage = c.stage;
    one.word = static_cast<std::uint8_t>(transfer::async);
    if (ahead < 1 || element_bytes(c.tensor) < 4 || !may(one)) return;
    steps.push_back(one);
  }
  for (step one : steps) take(one);
}
/// Cuts the rows of blocks in groups, where a round of blocks has fewer rows of them than would share what the second cache holds of B:
/// groups of rows go first. One part, the outer one: there are none.
WEFT_DECL gpu_plan::parts gpu_plan::in_groups(int stage, int row, std::int64_t rows, std::int64_t columns) {
  // Each has an axis of the grid's, as quotients of one would take registers.
  if (rows >= 65536 || columns >= 65536) return {row, -1};
  bool const shared = columns > gpu_numbers::processors / 4 && rows % gpu_numbers::rows_of_blocks == 0;
  std::int64_t const length = choose(stage, "group", shared ? gpu_numbers::rows_of_blocks : 1, {1, 4, 8, 16}, rows);
  return length > 1 && rows % length == 0 ? split(row, length) : parts{row, -1};
}
WEFT_DECL void gpu_plan::grid_of_groups(sequence<std::int32_t> const& blocks, bool grouped) {
  if (!grouped) return void(grid_of_tiles(blocks));
  bind(blocks[0], thread_axis::block_z), bind(blocks[1], thread_axis::block_y), bind(blocks[2], thread_axis::block_x);
}
/// Whether a thread has registers for 16 x 8 sums of a product: a plain one of f32, of which nothing is gathered, and behind which nothing is computed; of the left operand terms stand
/// side by side, of the right one columns.
WEFT_DECL bool gpu_plan::fits_largest_tile(int stage, reused_axes const& axes) const {
  rule_view const v = view();
  bool fits = v.stage(stage).reduced == 1 && !is_gathered(stage) && v.loads(stage).size() == 2 && element_bytes(v.stage(stage).tensor) == 4 &&
              v.extent(stage, v.stage(stage).spatial) % 16 == 0 && reader_behind(stage) < 0;
  for (access const& one : v.loads(stage))
    fits = fits && element_bytes(one.tensor) == 4 && one.step(one.step(axes.rows) != 0 ? v.stage(stage).spatial : axes.columns) == 1;
  return fits;
}
/// Blocks of tiles, in which 16 terms at a time come to shared memory. A thread's rows and columns are groups of 4, those of its
/// neighbours between them: so threads side by side read shared memory side by side.
/// True: the tiles are whole.
WEFT_DECL bool gpu_plan::product(int stage, reused_axes const& axes) {
  rule_view const before = view();
  stage_info const of = before.stage(stage);
  std::int64_t const m = before.extent(stage, axes.rows), n = before.extent(stage, axes.columns);
  gpu_tile t = best_gpu_tile(m, n, before.iterations(stage, false) / static_cast<double>(m * n), is_gathered(stage) ? gpu_numbers::whole_counts : 1,
                             fits_largest_tile(stage, axes));
  t.rows = choose(stage, "block_m", t.rows, {32, 64, 128});
  t.columns = choose(stage, "block_n", t.columns, {32, 64, 128, 256});
  t.own_rows = choose(stage, "own_m", t.own_rows, {2, 4, 8, 16});
  t.own_columns = choose(stage, "own_n", t.own_columns, {2, 4, 8});
  std::int64_t const down = t.rows / t.own_rows, across = t.columns / t.own_columns;
  // Of the reduced axes, all but the longest are inside whole, as long as they are few terms.
  int longest = of.spatial;
  for (int a = of.spatial; a < of.axes(); ++a)
    if (before.extent(stage, a) > before.extent(stage, longest)) longest = a;
  std::int64_t terms = 1;
  sequence<std::int64_t> tile(static_cast<std::size_t>(of.axes()), 1);
  tile[static_cast<std::size_t>(axes.rows)] = t.rows, tile[static_cast<std::size_t>(axes.columns)] = t.columns;
  for (int a = of.axes(); a-- > of.spatial;)
    if (std::int64_t const e = before.extent(stage, a); a != longest && e > 0 && terms * e <= 32 && !is_open(before.loop(stage, a)))
      terms *= e, tile[static_cast<std::size_t>(a)] = e;
  std::int64_t own_deep = terms >= 16 ? 1 : power_below(16 / terms);
  if (own_deep == 16 && before.extent(stage, longest) % 16 == 8) own_deep = 8;  // whole, so that 16 bytes are copied at a time
  std::int64_t const deep = choose(stage, "terms", own_deep, {1, 2, 4, 8, 16, 32});
  tile[static_cast<std::size_t>(longest)] = deep;
  // What is worth a copy.
  sequence<shared_copy> copies;
  std::int64_t bytes = 0;
  bool by_fours = false;
  bool const whole_tiles = before.extent(stage, longest) % deep == 0;
  std::int64_t const tiles = ceil_div(before.extent(stage, longest), deep);
  sequence<access> const loads = before.loads(stage);  // copies change the program
  for (access const& one : loads) {
    bool const again = one.step(axes.rows) == 0 || one.step(axes.columns) == 0;
    shared_copy c;
    bool known = false;
    for (shared_copy const& other : copies) known = known || other.tensor == one.tensor;
    if (known || !again || !measure_copy(stage, one, tile, c) || c.region.empty()) continue;
    int const axis = one.step(axes.rows) != 0 ? axes.rows : axes.columns;
    c.along = one.step(axis) != 0 ? dimension_of(stage, one.tensor, axis) : -1;
    // What lies along the terms is copied as it lies, in rows of 16 bytes, and read four terms at a time; but for columns, whose
    // threads side by side would read the same banks.
    int const rank = static_cast<int>(c.region.size());
    c.rows_of_terms = axis == axes.rows && rank >= 2 && c.along >= 0 && c.along < rank - 1 && one.step(longest) == 1 && one.step(axis) != 1 &&
                      dimension_of(stage, one.tensor, longest) == rank - 1 && (deep == 16 || deep == 8) && whole_tiles && element_bytes(one.tensor) == 4;
    std::int64_t size = element_bytes(one.tensor) * 9 / 8;
    for (std::int64_t r : c.region) size *= r;
    if (bytes + size > gpu_numbers::shared_bytes) continue;
    c.stage = copy_for(stage, one.tensor);
    if (c.stage < 0) continue;
    bytes += size;
    by_fours = by_fours || c.rows_of_terms;
    copies.push_back(c);
  }
  rule_view const v = view();
  auto const fragment = [&](int axis, std::int64_t whole, std::int64_t own, int (&l)[4]) {  // block, group, thread, element
    parts const block = split(v.loop(stage, axis), whole);
    std::int64_t const group = own > 4 ? 4 : own;
    parts const groups = own > group ? split(block.inner, whole / own * group) : parts{-1, block.inner};
    parts const thread = split(groups.inner, group);
    l[0] = block.outer, l[1] = groups.outer, l[2] = thread.outer, l[3] = thread.inner;
  };
  int row[4], column[4];
  fragment(axes.rows, t.rows, t.own_rows, row);
  fragment(axes.columns, t.columns, t.own_columns, column);
  sequence<std::int32_t> blocks, outer, inner;
  int fours = -1;
  for (int a = 0; a < of.spatial; ++a)
    if (a != axes.rows && a != axes.columns) blocks.push_back(v.loop(stage, a));
  bool const open = is_open(row[0]) || is_open(column[0]);
  parts const group = !open && blocks.empty() ? in_groups(stage, row[0], ceil_div(m, t.rows), ceil_div(n, t.columns)) : parts{row[0], -1};
  for (int l : {group.outer, column[0], group.inner})
    if (l >= 0) blocks.push_back(l);
  blocks = open_first(blocks);
  for (int a = of.spatial; a < of.axes(); ++a) {
    if (a == longest) {
      parts const k = deep > 1 ? split(v.loop(stage, a), deep) : parts{v.loop(stage, a), -1};
      outer.push_back(k.outer);
      if (by_fours && !t.is_largest()) {
        parts const four = split(k.inner, 4);
        inner.push_back(four.outer), inner.push_back(four.inner);
        fours = four.inner;
      } else if (k.inner >= 0) {
        inner.push_back(k.inner);
      }
    } else {
      (tile[static_cast<std::size_t>(a)] > 1 ? inner : outer).push_back(v.loop(stage, a));
    }
  }
  sequence<std::int32_t> order = blocks;
  for (std::int32_t l : outer) order.push_back(l);
  for (int l : {row[2], column[2]}) order.push_back(l);
  for (std::int32_t l : inner) order.push_back(l);
  for (int l : {row[1], row[3], column[1], column[3]}) order.push_back(l);
  reorder(order);
  for (int l : {fours, row[1], row[3], column[1]}) mark(verb::unroll, l);
  mark(verb::vectorize, column[3]);
  bind(row[2], thread_axis::thread_y);
  bind(column[2], thread_axis::thread_x);
  grid_of_groups(blocks, group.inner >= 0);
  for (shared_copy& c : copies) {
    c.is_padded = across < 32;
    fill_shared(c, outer.back(), across, down);
    step shared{verb::set_scope};  // more than 64 KiB are asked for
    shared.stage = c.stage;
    shared.word = static_cast<std::uint8_t>(scope::shared);
    if (t.is_largest() && may(shared)) take(shared);
  }
  copy_ahead(stage, copies, t, bytes, tiles);
  return !open && m % t.rows == 0 && n % t.columns == 0;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
