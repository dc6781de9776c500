#include "weft/base/joined.hpp"
#include "weft/schedule/rules/gpu_planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_DECL gpu_matrix_tile best_gpu_matrix_tile(std::int64_t rows, std::int64_t columns, double count, double whole_counts) {
  constexpr gpu_matrix_tile all[] = {{128, 128, 64, 64}, {128, 64, 32, 32}, {64, 128, 32, 32}, {64, 64, 32, 32},
                                     {64, 32, 32, 16},   {32, 64, 16, 32},  {32, 32, 16, 16},  {16, 16, 16, 16}};
  gpu_matrix_tile best = all[7];
  double most = 0;
  for (gpu_matrix_tile const& t : all) {
    double const down = static_cast<double>(ceil_div(rows, t.rows)), across = static_cast<double>(ceil_div(columns, t.columns));
    double const used = static_cast<double>(rows * columns) / (down * static_cast<double>(t.rows) * across * static_cast<double>(t.columns));
    double const rounds = down * across * count / gpu_numbers::processors;
    if (!(rounds > 0)) continue;  // no product at all
    auto const whole = static_cast<double>(static_cast<std::int64_t>(rounds) + (rounds > static_cast<double>(static_cast<std::int64_t>(rounds)) ? 1 : 0));
    // A warp's tile says how often what ldmatrix brings is multiplied, a block's how often what global memory brings.
    double const again = static_cast<double>(t.warp_rows * t.warp_columns) / static_cast<double>(t.warp_rows + t.warp_columns) +
                         static_cast<double>(t.rows * t.columns) / static_cast<double>(t.rows + t.columns);
    double const divides = rows % t.rows == 0 && columns % t.columns == 0 ? whole_counts : 1;
    if (divides * used * again * rounds / whole > most) most = divides * used * again * rounds / whole, best = t;
  }
  return best;
}

/// Which unit multiplies the terms of `stage`, and what it reads, rows' operand first. Null: the terms are no product of two matrices
/// as memory has them, or are more than products; `why` says what is in the way where narrow types are multiplied.
WEFT_DECL gpu_plan::matrix_operands gpu_plan::operands_of(int stage, reused_axes const& axes, bool four_warps) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  matrix_operands found;
  if (how_ != boldness::all || of.results != 1) return found;
  sequence<access> const& all = v.loads(stage);
  bool narrow = true;
  for (access const& one : all) narrow = narrow && element_bytes(one.tensor) <= 2;
  auto const none = [&](std::string const& why) {
    found = {};
    if (narrow && in_.told != nullptr) found.why = why;
    return found;
  };
  if (in_.dots.empty()) return none("this GPU has none for them, which came with sm_80");
  if (of.reduced != 1) return none("the terms run along several axes");
  int const k = of.spatial;
  std::string why = "the terms are not products of two f16, bf16, i8 or u8, widened first to f32 or i32, in which they are added";
  for (intrinsic const* by : in_.dots) {
    sequence<std::int32_t> loads;
    if (by->is_of_four_warps() && !four_warps) continue;
    if (!by->is_tile() || !by->match(v.p(), v.p().result(of, 0).body, loads) || loads.size() != 2) continue;
    if (is_float(program::at(v.p().tensors, of.tensor).type) && !in_.reassociate) return none("it adds floats in an order of its own, and this kernel is bitwise");
    if (v.extent(stage, k) < by->terms)  // no loop of a tile would be as long as it is
      return none(joined({"the terms are fewer than the ", std::to_string(by->terms), " that it adds at once"}));
    bool fine = true;
    if (v.p().at(loads[0]).a == v.p().at(loads[1]).a)
      return none(joined({program::at(v.p().tensors, v.p().at(loads[0]).a).name.view(), " is multiplied by itself, and one copy would be for both sides"}));
    for (std::int32_t load : loads) {
      int const tensor = v.p().at(load).a, from = program::at(v.p().tensors, tensor).stage;
      std::string const name(program::at(v.p().tensors, tensor).name.view());
      sequence<std::int64_t> const strides = v.strides(tensor);
      if (from >= 0 && v.is_inlined(from)) return none(joined({name, " is computed where it is read"}));
      if (strides.empty() || strides.back() != 1) return none(joined({"of ", name, " the last dimension has gaps in memory"}));
      for (access const& one : all) {
        if (one.tensor != tensor) continue;
        bool const rows = one.step(axes.rows) != 0, columns = one.step(axes.columns) != 0;
        int const its = rows ? axes.rows : axes.columns;
        fine = fine && rows != columns && (one.step(k) == 1 || one.step(its) == 1) && dimension_of(stage, tensor, its) >= 0 &&
               dimension_of(stage, tensor, k) >= 0 && found.tensors[columns] < 0;
        if (!fine) return none(joined({name, " is not read as a matrix of rows or columns and terms, one of which stand side by side in memory"}));
        // Copies lie as the tensor does, and rows of 16 bytes are of what is last.
        int const last = static_cast<int>(strides.size()) - 1;
        if (dimension_of(stage, tensor, its) != last && dimension_of(stage, tensor, k) != last)
          return none(joined({"the last dimension of ", name, " is neither that of its ", rows ? "rows" : "columns", " nor that of the terms"}));
        found.tensors[columns] = tensor;
      }
    }
    if (found.tensors[0] < 0 || found.tensors[1] < 0) return none(why);
    if (by->is_of_four_warps() && tile_of_four_warps(stage, axes, found.tensors).rows == 0) {
      found = {};
      continue;
    }
    found.unit = by;
    return found;
  }
  return none(why);
}
/// 256 x 128, each 64 rows of which four warps have, or 128 x 128, where that gives each processor a block: two plain matrices of whole tiles, of the left one with terms side by side. On
/// an H100 256 x 128 with copies two iterations ahead had 1.08 of the speed of 128 x 256 for 8192^3 of f16, 1.10 of that of 128 x 128, 1.45 of that of mma.sync.
WEFT_DECL gpu_matrix_tile gpu_plan::tile_of_four_warps(int stage, reused_axes const& axes, std::int32_t const (&tensors)[2]) const {
  rule_view const v = view();
  gpu_matrix_tile none;
  stage_info const& of = v.stage(stage);
  int const k = of.spatial;
  if (of.spatial != 2) return none;
  for (int a : {axes.rows, axes.columns, k})
    if (is_open(v.loop(stage, a))) return none;
  for (int i = 0; i < 2; ++i) {
    tensor_info const& t = program::at(v.p().tensors, tensors[i]);
    bool const terms_side_by_side = dimension_of(stage, tensors[i], k) == t.rank - 1;
    if (t.rank != 2 || gather_of(tensors[i]) >= 0 || bytes_side_by_side(tensors[i]) < 16 || (i == 0 && !terms_side_by_side)) return none;
  }
  std::int64_t const m = v.extent(stage, axes.rows), n = v.extent(stage, axes.columns);
  if (n % 128 != 0 || v.extent(stage, k) % 64 != 0) return none;
  for (std::int64_t rows : {256, 128})
    if (m % rows == 0 && m / rows * (n / 128) >= gpu_numbers::processors) return {rows, 128, 16, 128};
  return none;
}
/// Columns in panels of 64, as a unit of four warps reads them.
WEFT_DECL void gpu_plan::in_panels(int copy) {
  step layout{verb::transform_layout};
  layout.stage = copy;
  for (std::int64_t number : {1, 64, 0, 0, 1, 0, 1, 1, 64, 0}) layout.numbers.push_back(number);
  take(layout);
}
/// Lets the reader of the trace know.
WEFT_DECL void gpu_plan::tell(int stage, std::string const& what) const {
  if (in_.told != nullptr) in_.told->push_back(joined({name_of(stage), ": ", what}));
}
/// How the numbers come about: the tile by best_gpu_matrix_tile, two instructions' terms at a time, copies three iterations ahead, as far
/// as shared memory has room.
WEFT_DECL gpu_plan::matrix_numbers gpu_plan::numbers_of(int stage, reused_axes const& axes, matrix_operands const& of) {
  rule_view const v = view();
  std::int64_t const m = v.extent(stage, axes.rows), n = v.extent(stage, axes.columns), terms = v.extent(stage, v.stage(stage).spatial);
  gpu_matrix_tile const own = best_gpu_matrix_tile(m, n, v.iterations(stage, false) / static_cast<double>(m * n), is_gathered(stage) ? gpu_numbers::whole_counts : 1);
  matrix_numbers it;
  if (of.unit->is_of_four_warps()) {
    it.tile = tile_of_four_warps(stage, axes, of.tensors);
    it.deep = 64;
    std::int64_t const most = terms / it.deep - 1;
    it.ahead = choose(stage, "stages", 3, {2, 3, 4}) - 1;
    if (it.ahead > most) it.ahead = most;
    return it;
  }
  auto const at_most = [](std::int64_t a, std::int64_t b) { return a < b ? a : b; };
  it.tile.rows = choose(stage, "block_m", own.rows, {32, 64, 128, 256});
  it.tile.columns = choose(stage, "block_n", own.columns, {32, 64, 128, 256});
  it.tile.warp_rows = choose(stage, "warp_m", at_most(own.warp_rows, it.tile.rows), {16, 32, 64}, it.tile.rows);
  it.tile.warp_columns = choose(stage, "warp_n", at_most(own.warp_columns, it.tile.columns), {16, 32, 64}, it.tile.columns);
  // What a last part of a few terms would have behind it are zeros, which are multiplied, too.
  std::int64_t const one = of.unit->terms, two = 2 * one;
  it.deep = choose(stage, "terms", terms % two == 0 || terms > 4 * two ? two : one, {one, two, 2 * two});
  std::int64_t bytes = 0;
  bool by_threads = false;
  for (int i = 0; i < 2; ++i) {
    int const tensor = of.tensors[i];
    std::int64_t const along = i == 0 ? it.tile.rows : it.tile.columns, wide = 16 / element_bytes(tensor);
    bool const rows_of_terms = dimension_of(stage, tensor, v.stage(stage).spatial) == static_cast<int>(v.strides(tensor).size()) - 1;
    std::int64_t const padding = is_swizzled(tensor, rows_of_terms) ? 0 : wide;
    bytes += (rows_of_terms ? along * (it.deep + padding) : it.deep * (along + padding)) * element_bytes(tensor);
    by_threads = by_threads || bytes_side_by_side(tensor) < 4;
  }
  std::int64_t ahead = by_threads ? 1 : 3;  // what threads copy they wait for
  while (ahead > 0 && (ahead + 1) * bytes > gpu_numbers::matrix_staged_bytes) --ahead;
  // Where one copy alone is made inside of the loop, its turn is a number, and what threads store there, zeros too, would take a barrier more.
  std::int64_t const tiles = ceil_div(terms, it.deep), most = by_threads || terms % it.deep != 0 ? tiles - 2 : tiles - 1;
  it.ahead = at_most(choose(stage, "stages", ahead + 1, {1, 2, 3, 4, 5}) - 1, most > 0 ? most : 0);
  return it;
}
/// How many bytes at a time of each row of a tensor can be copied, for memory that begins at multiples of 16.
WEFT_DECL std::int64_t gpu_plan::bytes_side_by_side(int tensor) const {
  if (int const gather = gather_of(tensor); gather >= 0)
    for (gathered_product const& g : gathered_)
      for (int i = 0; i < 2; ++i)
        if (g.gathers[i] == gather) return g.bytes[i];
  std::int64_t bytes = 16;
  sequence<std::int64_t> const strides = view().strides(tensor);
  for (std::size_t d = 0; d + 1 < strides.size(); ++d)
    while (bytes > 1 && (strides[d] == no_step || strides[d] * element_bytes(tensor) % bytes != 0)) bytes /= 2;
  return bytes;
}
/// Cuts dimensions of a copy in parts of so many elements (0: whole), the last of which has zeros behind the end.
WEFT_DECL void gpu_plan::end_in_zeros(int copy, sequence<std::int64_t> const& tile) {
  step layout{verb::transform_layout};
  layout.stage = copy;
  auto const digit = [&](std::size_t d, std::int64_t divisor, std::int64_t modulus) {
    for (std::int64_t number : {static_cast<std::int64_t>(d), divisor, modulus}) layout.numbers.push_back(number);
  };
  for (std::size_t d = 0; d < tile.size(); ++d)
    if (tile[d] > 0) digit(d, tile[d], 0);
  if (layout.numbers.empty()) return;
  for (std::size_t d = 0; d < tile.size(); ++d) digit(d, 1, tile[d]);
  layout.numbers.push_back(0);
  take(layout);
}
/// Whether ldmatrix loads a copy of it: its rows are swizzled then. Others are padded.
WEFT_DECL bool gpu_plan::is_swizzled(int tensor, bool rows_of_terms) const { return rows_of_terms || element_bytes(tensor) == 2; }
/// A copy in shared memory as the tensor lies in memory, 16 bytes by each thread; eight rows meet no bank twice, as they are swizzled or
/// an odd number of 16 bytes apart.
WEFT_DECL void gpu_plan::fill_rows(int copy, int tensor, int at, std::int64_t elements, std::int64_t threads, bool rows_of_terms) {
  int const rank = view().stage(copy).spatial;
  std::int64_t const row = 16 / element_bytes(tensor);
  // What is gathered one by one, threads side by side gather side by side.
  std::int64_t const wide = gather_of(tensor) >= 0 ? bytes_side_by_side(tensor) / element_bytes(tensor) : row;
  step apart{is_swizzled(tensor, rows_of_terms) ? verb::swizzle : verb::storage_align};
  apart.stage = copy;
  if (apart.what == verb::storage_align)
    for (std::int64_t number : {std::int64_t(rank - 2), 2 * row, row}) apart.numbers.push_back(number);
  if (!place(verb::compute_at, copy, at)) return;
  step shared{verb::set_scope};  // what is not asked for has 64 KiB
  shared.stage = copy;
  shared.word = static_cast<std::uint8_t>(scope::shared);
  for (step const& one : {apart, shared})
    if (may(one)) take(one);
  rule_view const v = view();
  parts const lane = wide > 1 ? split(v.loop(copy, rank - 1), wide) : parts{v.loop(copy, rank - 1), -1};
  sequence<std::int32_t> all;
  for (int d = 0; d + 1 < rank; ++d) all.push_back(v.loop(copy, d));
  all.push_back(lane.outer);
  parts const thread = split(fused(all), elements / wide < threads ? elements / wide : threads);
  bind(thread.inner, thread_axis::thread_x);
  mark(verb::vectorize, lane.inner);
}
/// Lets it copy for later iterations, by itself where the GPU has copies of that width.
WEFT_DECL void gpu_plan::run_ahead(int copy, int tensor, std::int64_t ahead) {
  step one{verb::pipeline, 0, {}, ahead};
  one.stage = copy;
  one.word = static_cast<std::uint8_t>(bytes_side_by_side(tensor) < 4 ? transfer::plain : transfer::async);
  if (ahead > 0 && may(one)) take(one);
}
/// Tiles of 16 x 16 sums that warps keep in registers, of blocks whose operands come through shared memory, with zeros behind their
/// ends. Where no unit does it nothing is done.
WEFT_DECL gpu_plan::by_units gpu_plan::matrix_product(int stage, reused_axes const& axes) {
  matrix_operands of = operands_of(stage, axes, true);
  if (of.unit != nullptr && of.unit->is_of_four_warps() && !choose(stage, "four_warps", true)) of = operands_of(stage, axes);
  if (!of.why.empty()) tell(stage, joined({"no matrix unit multiplies it: ", of.why}));
  if (of.unit == nullptr || !choose(stage, "matrix_unit", true)) return by_units::none;
  rule_view const before = view();
  stage_info const info = before.stage(stage);
  int const k = info.spatial;
  for (int a : {axes.rows, axes.columns, k})
    if (is_open(before.loop(stage, a))) {
      tell(stage, "no matrix unit multiplies it: its tiles are whole, and its sizes are open");
      return by_units::none;
    }
  std::int64_t const m = before.extent(stage, axes.rows), n = before.extent(stage, axes.columns);
  matrix_numbers const it = numbers_of(stage, axes, of);
  gpu_matrix_tile const& t = it.tile;
  if (it.threads() > 1024) return by_units::none;
  sequence<std::int64_t> tiles[2];  // of each operand, by dimension
  bool rows_of_terms[2] = {};
  for (int i = 0; i < 2; ++i) {
    rows_of_terms[i] = dimension_of(stage, of.tensors[i], k) == static_cast<int>(before.strides(of.tensors[i]).size()) - 1;
    tiles[i].resize(static_cast<std::size_t>(before.p().tensors[static_cast<std::size_t>(of.tensors[i])].rank), 0);
    auto const cut = [&](int axis, std::int64_t length) {
      if (before.extent(stage, axis) % length != 0) tiles[i][static_cast<std::size_t>(dimension_of(stage, of.tensors[i], axis))] = length;
    };
    cut(i == 0 ? axes.rows : axes.columns, i == 0 ? t.rows : t.columns);
    cut(k, it.deep);
  }
  bool const whole = m % t.rows == 0 && n % t.columns == 0;
  int copies[2] = {copy_for(stage, of.tensors[0]), -1};
  copies[1] = copies[0] < 0 ? -1 : copy_for(stage, of.tensors[1]);
  for (int i = 0; i < 2; ++i)
    if (copies[i] >= 0) end_in_zeros(copies[i], tiles[i]);
  if (of.unit->is_of_four_warps() && !rows_of_terms[1] && copies[1] >= 0) in_panels(copies[1]);
  rule_view const v = view();
  struct parts_of_axis {
    parts block, warp, tile;
  };
  auto const cut_up = [&](int axis, std::int64_t block, std::int64_t warp) {
    parts_of_axis p;
    p.block = split(v.loop(stage, axis), block);
    p.warp = split(p.block.inner, warp);
    p.tile = split(p.warp.inner, 16);
    return p;
  };
  parts_of_axis const row = cut_up(axes.rows, t.rows, t.warp_rows), column = cut_up(axes.columns, t.columns, t.warp_columns);
  parts const terms = split(v.loop(stage, k), it.deep), step_of = split(terms.inner, of.unit->terms);
  sequence<std::int32_t> blocks;
  for (int a = 0; a < info.spatial; ++a)
    if (a != axes.rows && a != axes.columns) blocks.push_back(v.loop(stage, a));
  parts const group = blocks.empty() ? in_groups(stage, row.block.outer, ceil_div(m, t.rows), ceil_div(n, t.columns)) : parts{row.block.outer, -1};
  for (int l : {group.outer, column.block.outer, group.inner})
    if (l >= 0) blocks.push_back(l);
  sequence<std::int32_t> order = blocks;
  for (int l : {terms.outer, row.warp.outer, column.warp.outer, step_of.outer, row.tile.outer, column.tile.outer, row.tile.inner, column.tile.inner, step_of.inner})
    order.push_back(l);
  reorder(order);
  bind(fused({row.warp.outer, column.warp.outer}), thread_axis::warp);
  for (int l : {step_of.outer, row.tile.outer, column.tile.outer}) mark(verb::unroll, l);
  step by{verb::tensorize, 1, {row.tile.inner}};
  by.by = of.unit;
  take(by);
  grid_of_groups(blocks, group.inner >= 0);
  for (int i = 0; i < 2; ++i)
    if (copies[i] >= 0) fill_rows(copies[i], of.tensors[i], terms.outer, (i == 0 ? t.rows : t.columns) * it.deep, it.threads(), rows_of_terms[i]);
  for (int i = 0; i < 2; ++i)
    if (copies[i] >= 0) run_ahead(copies[i], of.tensors[i], it.ahead);
  if (whole) return by_units::whole_tiles;
  if (reader_behind(stage) >= 0)
    tell(stage, joined({name_of(reader_behind(stage)), " is a launch of its own: tiles of ", std::to_string(t.rows), " x ", std::to_string(t.columns),
                        " do not divide ", std::to_string(m), " x ", std::to_string(n)}));
  return by_units::last_tiles_cut;
}
/// The stage that nobody but which reads `stage`, itself or by inlined ones; -1: there is none, or it has work of its own.
WEFT_DECL int gpu_plan::reader_behind(int stage) const {
  sequence<sequence<std::int32_t>> const readers = readers_of(s_.computation());
  rule_view const v = view();
  int r = stage;
  do {
    sequence<std::int32_t> const& next = readers[static_cast<std::size_t>(r)];
    if (next.size() != 1 || v.is_output(r)) return -1;
    r = next[0];
  } while (v.is_inlined(r));
  stage_info const& of = v.stage(r);
  bool const alone = static_cast<std::size_t>(r) < host_.size() && host_[static_cast<std::size_t>(r)] == r && guests_of(r).empty();
  return alone && of.reduced == 0 && of.scanned < 0 && of.by == nullptr && of.results == 1 ? r : -1;
}
/// What becomes of a product's sums, where they are.
WEFT_DECL void gpu_plan::behind(int stage) {
  int const r = is_refused() ? -1 : reader_behind(stage);
  step one{verb::reverse_compute_inline};
  one.stage = r;
  if (r < 0 || !may(one) || !take(one)) return;
  behind_[static_cast<std::size_t>(r)] = true;
  step shared{verb::set_scope};  // a tile of 128 x 128 would be in the workspace, where nobody takes it for the thread's own
  shared.stage = stage;
  shared.word = static_cast<std::uint8_t>(scope::shared);
  if (may(shared)) take(shared);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
