#include "weft/schedule/pressure.hpp"
#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The dimension of `tensor` that axis `column` walks, as it is and alone; -1: none does. Where memory is far also as `column * 1 + k - 0`, where k is always 0: a copy of
/// what else would be read where it lies pays there.
WEFT_DECL int rule_plan::dimension_of(int stage, int tensor, int column) const {
  program const& p = s_.computation();
  rule_view const v = view();
  int const axis = v.stage(stage).first_axis + column;
  int found = -1;
  bool fine = true;
  each_load(p, stage, [&](node const& x) {
    for (int d = 0; x.a == tensor && d < x.c; ++d) {
      int const index = v.chosen(program::at(p.operands, x.b + d));
      if (v.coefficient(index, axis) == 0) continue;
      fine = fine && (p.at(index).kind == op::axis || (has_far_memory() && v.same_axis(index) == axis)) && (found < 0 || found == d);
      found = d;
    }
  });
  return fine ? found : -1;
}
/// The first of two neighbouring dimensions of `tensor` in which axis `column` runs along rows of both, as where a layout has joined them; -1: there are none.
WEFT_DECL int rule_plan::rows_along(int stage, int tensor, int column) const {
  rule_view const v = view();
  program const& p = v.p();
  int const axis = v.stage(stage).first_axis + column;
  int found = -1;
  bool fine = true;
  each_load(p, stage, [&](node const& x) {
    int here = -1;
    for (int d = 0; x.a == tensor && d < x.c; ++d) {
      if (v.coefficient(program::at(p.operands, x.b + d), axis) == 0) continue;
      int const index = here < 0 && d + 1 < x.c ? v.row_index(x.b + d) : -1;
      fine = fine && index >= 0 && v.same_axis(index) == axis;
      here = d++;
    }
    if (x.a == tensor) fine = fine && here >= 0 && (found < 0 || found == here), found = here;
  });
  return fine ? found : -1;
}
/// `joined`: an axis that is one row with the columns (axis_joined), and one in the panels; -1: none.
WEFT_DECL bool rule_plan::can_pack(int stage, int tensor, int column, int joined) const {
  int const d = dimension_of(stage, tensor, column), rank = program::at(s_.computation().tensors, tensor).rank;
  step one{verb::cache_read};
  one.stage = stage, one.tensor = tensor;
  bool const has_rows = d < 0 && joined < 0 ? rows_along(stage, tensor, column) >= 0 : d >= 0 && (joined < 0 || (d > 0 && dimension_of(stage, tensor, joined) == d - 1));
  return has_rows && rank < 8 && may(one);
}
/// Whether a matrix unit does all of it in whole tiles of sums that begin with zero, whose rows are the same distance apart in all memory. Of the two types of the
/// unit the first is that of what is read for the rows.
WEFT_DECL bool rule_plan::has_whole_tiles(int stage, tile_axes const& t, intrinsic const& by, sequence<std::int32_t> const& loads) const {
  rule_view const v = view();
  int const k = v.stage(stage).axes() - 1;
  if (open_ != nullptr || v.p().result(v.stage(stage), 0).identity != 0) return false;
  auto const is_in_tiles = [&](int axis, std::int64_t of) { return v.extent(stage, axis) > 0 && v.extent(stage, axis) % of == 0; };
  if (!is_in_tiles(t.rows, by.rows) || !is_in_tiles(t.columns, by.columns) || !is_in_tiles(k, by.terms)) return false;
  if (v.result(stage).step(t.columns) != 1 || v.result(stage).step(t.rows) == no_step) return false;
  bool const has_one_type = v.p().at(loads[0]).type == v.p().at(loads[1]).type;
  for (access const& one : v.loads(stage)) {
    bool const of_columns = one.step(t.columns) != 0;
    if (one.step(t.rows) == no_step || (one.step(t.rows) == 0) != of_columns) return false;
    if (!has_one_type && (one.tensor == v.p().at(loads[0]).a) == of_columns) return false;
  }
  return true;
}
/// The instruction that joins several terms of `stage` at once in the lanes of `t.columns`, along its last reduced axis; null: none,
/// or what it reads would have to be laid out anew for too little.
WEFT_DECL intrinsic const* rule_plan::instruction_for(int stage, tile_axes const& t, int& panels) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  int const k = of.axes() - 1;
  if (of.results != 1 || how_ == boldness::loops || t.rows < 0 || !t.packed.empty()) return nullptr;
  for (intrinsic const* by : in_.dots) {
    sequence<std::int32_t> loads;
    int const body = v.p().result(of, 0).body;
    bool const exact = !is_float(program::at(v.p().tensors, of.tensor).type);
    if ((!exact && !in_.reassociate) || !by->match(v.p(), body, loads)) continue;
    if (!by->is_tile() && v.extent(stage, k) < 8 * by->terms) continue;
    panels = -1;
    bool fine = !by->is_tile() || has_whole_tiles(stage, t, *by, loads);
    for (std::int32_t load : loads) {
      int const tensor = v.p().at(load).a;
      for (access const& one : v.loads(stage)) {
        if (one.tensor != tensor) continue;
        if (one.step(t.columns) == 0) fine = fine && one.step(k) == 1;
        else fine = fine && one.step(t.columns) == 1 && panels < 0, panels = tensor;
      }
    }
    constexpr int most_dims = 8;  // of a copy: one more than the tensor's for columns, and one for terms side by side
    if (!fine || panels < 0 || program::at(v.p().tensors, panels).rank + 2 > most_dims || !can_pack(stage, panels, t.columns) || dimension_of(stage, panels, k) < 0) continue;
    if (!is_constant(panels) && v.iterations(stage) / (v.iterations_of(panels) + 1) < in_.copy_reads) continue;
    return by;
  }
  return nullptr;
}
/// How many elements of a row of a panel are read at once where some rows are woven for an instruction; 1: it is copied element by element, since
/// some lanes would read nothing, which vectors of bytes are not told by less than AVX-512.
WEFT_DECL std::int64_t rule_plan::lanes_to_weave(int stage, int tensor, int column, std::int64_t width) const {
  rule_view const v = view();
  std::int64_t const row = s_.limits.vector_bytes / size_bytes(program::at(s_.computation().tensors, tensor).type);
  bool const cut_short = is_open(v.loop(stage, column)) || v.extent(stage, column) % width != 0;
  std::int64_t lanes = width & -width;
  while (lanes > row) lanes /= 2;
  return lanes < 4 || (cut_short && s_.limits.vector_bytes < 64) ? 1 : lanes;
}
/// Lets `stage` read a copy of `tensor` in panels: `width` elements of the axis `column` side by side, all that a panel has
/// behind one another. With `terms`, so many of the last reduced axis stand together, for an instruction; with `innermost`, that reduced axis runs fastest
/// from row to row of a panel; with `joined`, as of can_pack.
WEFT_DECL int rule_plan::pack(int stage, int tensor, int column, std::int64_t width, std::int64_t terms, int innermost, int joined) {
  int const together = terms > 1 ? dimension_of(stage, tensor, view().stage(stage).axes() - 1) : -1;
  int const alone = dimension_of(stage, tensor, column), dimensions = program::at(s_.computation().tensors, tensor).rank;
  int const beside = alone < 0 ? rows_along(stage, tensor, column) : joined < 0 ? -1 : dimension_of(stage, tensor, joined), d = alone < 0 ? beside + 1 : alone, rank = beside < 0 ? dimensions : dimensions - 1;  // of which panels are made
  rule_view const before = view();
  sequence<std::int32_t> outside, within;  // dimensions that spatial axes walk, and the others
  each_load(before.p(), stage, [&](node const& x) {
    if (x.a != tensor || !(outside.empty() && within.empty())) return;
    for (int k = 0; k < dimensions; ++k) {
      bool spatial = false;
      for (int a = 0; a < before.stage(stage).spatial; ++a)
        spatial = spatial || before.coefficient(program::at(before.p().operands, x.b + k), before.stage(stage).first_axis + a) != 0;
      if (k != d && k != beside) (spatial ? outside : within).push_back(k);
    }
  });
  int const fastest = innermost < 0 ? -1 : dimension_of(stage, tensor, innermost);
  for (std::size_t i = 0; i < within.size(); ++i)
    if (within[i] == fastest) within.erase(within.begin() + i), within.push_back(static_cast<std::int32_t>(fastest)), i = within.size();
  bool const constant = is_constant(tensor);
  std::int64_t const woven = together < 0 ? 1 : lanes_to_weave(stage, tensor, column, width);
  int const copy = add_stage(verb::cache_read, stage, tensor);
  if (copy < 0) return -1;
  step layout{verb::transform_layout};
  layout.stage = copy;
  auto const dimension = [&](std::int64_t dim, std::int64_t divisor, std::int64_t modulus) {
    for (std::int64_t number : {dim, divisor, modulus}) layout.numbers.push_back(number);
  };
  std::int64_t const column_of = beside < 0 ? d : joined_dims(beside, 2).number();
  for (std::int32_t k : outside) dimension(k, 1, 0);
  dimension(column_of, width, 0);
  for (std::int32_t k : within) dimension(k, k == together ? terms : 1, 0);
  dimension(column_of, 1, width);
  if (together >= 0) dimension(together, 1, terms);
  layout.numbers.push_back(0);
  if (!take(layout)) return -1;
  // Read as it lies in memory, row by row: panel by panel, each of its rows would be on another page.
  rule_view const v = view();
  sequence<std::int32_t> turned;
  int const first = static_cast<int>(outside.size());
  for (int a = first + 1; a < rank; ++a) turned.push_back(v.loop(copy, a));
  turned.push_back(v.loop(copy, first));
  bool gaps = false;
  for (access const& one : v.loads(copy)) gaps = gaps || one.step(rank) != 1;
  if (woven > 1) {  // several rows at a time, which become one in registers (codegen/llvm/transpose.ipp)
    parts const lane = cut(v.loop(copy, rank), woven);
    for (int l : {lane.outer, v.loop(copy, rank + 1), lane.inner}) turned.push_back(l);
    reorder(turned);
    mark(verb::unroll, lane.outer);
    mark(verb::unroll, v.loop(copy, rank + 1));
    mark(verb::vectorize, lane.inner);
  } else if (together >= 0) {
    turned.push_back(v.loop(copy, rank));
    turned.push_back(v.loop(copy, rank + 1));
    reorder(turned);
    mark(verb::unroll, turned.back());
  } else if (!gaps && !within.empty() && width < v.lanes(copy)) {
    // Eight terms at a time, which are whole lines of the copy: one by one, lines of many panels, often all of one set of a cache, would be filled
    // bit by bit.
    parts const terms_at_once = cut(v.loop(copy, rank - 1), 8);
    sequence<std::int32_t> order;
    for (int a = 0; a + 1 < rank; ++a)
      if (a != first) order.push_back(v.loop(copy, a));
    order.push_back(terms_at_once.outer);
    for (int l : {v.loop(copy, first), terms_at_once.inner, v.loop(copy, rank)}) order.push_back(l);
    reorder(order);
    mark(verb::unroll, terms_at_once.inner);
    mark(verb::vectorize, order.back());
  } else {
    if (!gaps) reorder(turned);
    elementwise(copy, 0, true);
  }
  if (constant) place(verb::prepack, copy);
  return copy;
}
WEFT_DECL bool rule_plan::is_constant(int tensor) const {
  return static_cast<std::size_t>(tensor) < in_.constant.size() && in_.constant[static_cast<std::size_t>(tensor)];
}
/// What is read in vectors that lie far apart is packed where each of them is used often enough to pay for it. Where the next panel is
/// asked for while one is worked on (`ahead`), it takes more rows, unless panels are so few that much is in the first; so it does where
/// all stays in the second cache. `joined`: as of can_pack.
WEFT_DECL sequence<std::int32_t> rule_plan::worth_packing(int stage, tile_axes const& t, bool ahead, int joined) {
  sequence<std::int32_t> found = t.packed, asked = t.packed;
  if (t.rows < 0 || how_ == boldness::loops) return found;
  rule_view const v = view();
  int const last = v.stage(stage).axes() - 1;
  for (access const& one : v.loads(stage)) {
    if (one.step(t.columns) != 1 || one.step(t.rows) != 0) continue;
    double rows = 1;  // that it is read for: all pixels of a convolution
    for (int a = 0; a < v.stage(stage).spatial; ++a)
      if (one.step(a) == 0) rows *= static_cast<double>(v.extent(stage, a) < 0 ? 0 : v.extent(stage, a));
    std::int64_t const row = v.extent(stage, t.columns) * (joined < 0 ? 1 : v.extent(stage, joined));
    if (row >= 0 && row <= v.lanes(stage)) continue;  // it is one panel
    double bytes = v.bytes_of(one.tensor);  // of one product of a batch
    for (int a = 0; a < v.stage(stage).spatial; ++a)
      if (a != t.columns && a != t.rows && a != joined && one.step(a) != 0 && v.extent(stage, a) > 0) bytes /= static_cast<double>(v.extent(stage, a));
    bool const large = bytes >= 2 * static_cast<double>(in_.l1_bytes);
    bool const few = row < 32 * v.lanes(stage) && bytes > static_cast<double>(in_.l2_bytes);
    // Far away, a panel whose rows lie apart comes with each tile again, and slowly: they meet in a few sets of the second cache. Of a batch, each product's does.
    // Rows that begin inside of lines take two of them for a vector.
    double const far = static_cast<double>(has_far_memory() ? in_.l2_bytes : 0);
    bool const comes_again = far > 0 && (bytes >= far / 8 || (large && v.bytes_of(one.tensor) > far));
    bool const has_split_rows = far > 0 && large && one.step(last) != no_step && one.step(last) * size_bytes(program::at(v.p().tensors, one.tensor).type) % 64 != 0;
    double const reads = comes_again ? 2 : has_split_rows ? 4 : ahead && !few ? 16 : 4;
    bool const often = rows >= (is_constant(one.tensor) ? 2 : reads * in_.copy_reads);
    bool known = false;
    for (std::int32_t tensor : asked) known = known || tensor == one.tensor;
    if (known || !(in_.searched || (large && often)) || !can_pack(stage, one.tensor, t.columns, joined)) continue;
    asked.push_back(one.tensor);
    if (choose(stage, pack_name(v.p(), one.tensor).view(), large && often)) found.push_back(one.tensor);
  }
  return found;
}

/// What a tile reads for its rows. Where those lie side by side, but each term of theirs on a line of its own, that line holds more rows
/// than the tile has; where terms lie side by side, a search says it.
WEFT_DECL sequence<std::int32_t> rule_plan::rows_worth_packing(int stage, tile_axes const& t, std::int64_t rows, bool in_slabs) {
  sequence<std::int32_t> found, asked;
  if (t.rows < 0 || how_ == boldness::loops) return found;
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  double const reads = static_cast<double>(v.extent(stage, t.columns));
  for (access const& one : v.loads(stage)) {
    if (one.step(t.columns) != 0 || one.step(t.rows) == 0) continue;
    bool apart = one.step(t.rows) == 1;
    for (int a = of.spatial; a < of.axes(); ++a) apart = apart && one.step(a) != 1;
    bool const often = reads >= (is_constant(one.tensor) ? 2 : 16) * in_.copy_reads;
    bool const worth = in_slabs || (apart && often && v.bytes_of(one.tensor) > static_cast<double>(in_.l1_bytes));
    bool known = !worth && (!in_.searched || rows < 2 || one.step(t.rows) == 1);
    for (std::int32_t tensor : asked) known = known || tensor == one.tensor;
    if (known || !can_pack(stage, one.tensor, t.rows)) continue;
    asked.push_back(one.tensor);
    if (choose(stage, pack_name(v.p(), one.tensor).view(), worth)) found.push_back(one.tensor);
  }
  return found;
}
/// Whether `stage` reads other elements of `copy` as it goes along the axis.
WEFT_DECL bool rule_plan::reads_along(int stage, int copy, int axis) const {
  rule_view const v = view();
  for (access const& one : v.loads(stage))
    if (one.tensor == v.stage(copy).tensor && one.step(axis) != 0) return true;
  return false;
}
/// Whether most of what an iteration along the axis reads of `copy` is read by the next one, too, as of a window: made inside, it would be made again each time
/// (100 pictures of 8 x 8, 8 channels, 3 x 3: 3.4 GFLOP/s).
WEFT_DECL bool rule_plan::is_read_again(int stage, int copy, int axis) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  for (access const& one : v.loads(stage)) {
    std::int64_t const own = one.step(axis);
    if (one.tensor != v.stage(copy).tensor || own <= 0 || own == no_step) continue;
    for (int k = of.spatial; k < of.axes(); ++k)
      if (std::int64_t const step = one.step(k); step > 0 && step != no_step && step <= own && v.extent(stage, k) * step >= 2 * own) return true;
  }
  return false;
}
/// The loop in which a copy is made for what is inside of it alone, innermost; -1: none. What several threads have written and all of them read
/// goes from cache to cache: 4 MB by two threads 1.2 ms, where one writes them in 0.22 (EPYC, Zen 4, decision 067). So few threads make each its own.
WEFT_DECL int rule_plan::loop_of_copy(int stage, packed_copy const& copy, outer_loops const& outside) const {
  auto const moves = [&](int axis) { return reads_along(stage, copy.stage, axis); };
  // Of sizes that stay open it is not known how often the piece runs.
  auto const in_piece = [&] {
    return outside.piece >= 0 && ((outside.threads <= few_threads && !is_open(outside.piece)) || moves(outside.piece_axis));
  };
  int found = -1;
  if (copy.constant || how_ == boldness::loops || !outside.known) return -1;
  if (outside.piece_around) {
    if (!in_piece()) return -1;
    found = outside.piece;
  }
  for (std::size_t i = 0; i < outside.loops.size(); ++i) {
    if (trips(outside.loops[i]) == 1 && !is_open(outside.loops[i])) continue;
    if (!moves(outside.axes[i]) || (copy.of_columns && is_read_again(stage, copy.stage, outside.axes[i]))) return found;
    found = outside.loops[i];
  }
  return !outside.piece_around && in_piece() ? outside.piece : found;
}
/// Where few threads share out the outermost loop around all tiles, and what is copied at each call is the same for all of its iterations, each
/// thread takes one piece of the loop, and makes its own copies in it. Of panels that are outermost (`panels`) each copies those of its piece
/// (decision 073).
WEFT_DECL void rule_plan::share_around(sequence<product_plan> const& products, sequence<std::int32_t>& others, outer_loops& outside,
                                       std::int64_t threads, bool panels) {
  std::size_t at = 0;
  while (at < others.size() && trips(others[at]) == 1 && !is_open(others[at])) ++at;
  if (at == others.size() || is_open(others[at]) || (panels && at > 0) || threads > few_threads) return;
  int const axis = panels ? products[0].t.columns : outside.axes[at];
  std::int64_t const n = trips(others[at]), each = ceil_div(n, threads);
  bool gains = false;
  for (product_plan const& p : products)
    for (packed_copy const& copy : p.copies) gains = gains || (!copy.constant && reads_along(p.stage, copy.stage, axis) == panels);
  if (!gains || n < 2 * threads || 10 * n < 9 * each * threads) return;
  parts const cut_up = split(others[at], each);
  outside.piece = cut_up.outer, outside.piece_axis = axis, outside.threads = threads, outside.piece_around = outside.known = true;
  others[at] = cut_up.inner;
  if (!outside.loops.empty()) outside.loops[at] = cut_up.inner;
  others.insert(others.begin() + at, static_cast<std::int32_t>(cut_up.outer));
}
/// Copies of what a product reads in panels: where `loop_of_copy` says, else whole and in front, by all threads; where memory is far, panels in the
/// loop over them, since a whole copy would go there and come back. A search may want them in one of the loops around the tiles, block by block.
WEFT_DECL void rule_plan::place_copies(int stage, sequence<packed_copy> const& copies, sequence<std::int32_t> const& around,
                                       outer_loops const& outside, bool in_slabs) {
  for (packed_copy const& one : copies) {
    if (s_.places[static_cast<std::size_t>(one.stage)].loop >= 0) continue;  // pack_at_first
    sequence<std::int32_t> there;
    for (std::int32_t l : around)
      if (l >= 0) there.push_back(l);
    auto const count = static_cast<std::int64_t>(there.size());
    bool by_panels = has_far_memory() && (one.of_columns || in_slabs) && !one.constant && outside.known;
    for (std::size_t i = 0; i < outside.loops.size() && by_panels; ++i)  // of a batch each product's are copied at once
      by_panels = trips(outside.loops[i]) == 1 && !is_open(outside.loops[i]);
    std::int64_t in_panels = 0;
    for (std::size_t i = 0; i < there.size() && by_panels; ++i)
      if (there[i] == (one.of_columns ? outside.columns : outside.terms)) in_panels = static_cast<std::int64_t>(i) + 1;
    std::int64_t const at = count == 0 || one.constant ? 0 : choose(stage, one.knob.view(), in_panels, {0, 1, 2, 3, 4, 5}, count);
    if (at > 0 && at == in_panels && place(verb::compute_at, one.stage, there[static_cast<std::size_t>(at) - 1])) continue;
    if (at > 0 && at != in_panels) {
      step into{verb::compute_at, 1, {there[static_cast<std::size_t>(at) - 1]}};
      into.stage = one.stage;
      take(into);  // refused: then this is no schedule
    } else if (int const l = loop_of_copy(stage, one, outside); !one.constant && (l < 0 || !place(verb::compute_at, one.stage, l))) {
      sequence<std::int32_t> loops;
      for (std::int32_t own : s_.order[static_cast<std::size_t>(one.stage)])
        if (s_.at(own).kind == loop_kind::serial) loops.push_back(own);
      run_parallel(loops, one.cycles);
    }
  }
}
/// Whether the first tile of rows packs the panel of columns that all of them read, as it comes by: then its way from far away is hidden behind the
/// work of that tile, and nothing is written that is not read at once.
///
///     for panels: for tiles of rows: for terms: { if first: copy B[k, panel]; sums += A[i, k] * copy[k] }
///
/// Of products of two matrices, of each of a batch its own, whose terms all fit into a panel. (Cascade Lake, beside panels in front of the tiles: 1.0 to 1.04, beside slabs for
/// 1536^3 and 2048^3 1.12 and 1.08.)
WEFT_DECL bool rule_plan::packs_at_first(product_plan const& p) const {
  if (!has_far_memory() || p.by != nullptr || p.own || p.t.rows < 0) return false;
  if (p.copies.empty() || p.copies.size() > 2 || (p.in_slabs && p.copies.size() != 2)) return false;
  rule_view const v = view();
  stage_info const& of = v.stage(p.stage);
  packed_copy const& copy = p.copies[0];  // of columns, if there is one
  if (copy.constant || !copy.of_columns) return false;
  int terms = -1;
  for (int a = of.spatial; a < of.axes(); ++a) {
    if (is_open(v.loop(p.stage, a))) return false;
    if (v.extent(p.stage, a) == 1) continue;
    if (terms >= 0) return false;
    terms = a;
  }
  if (terms < 0) return false;
  for (int a = 0; a < of.spatial; ++a)
    if (a != p.t.columns && a != p.t.rows && v.extent(p.stage, a) != 1 && !reads_along(p.stage, copy.stage, a)) return false;
  int const last = v.stage(copy.stage).axes() - 1;  // behind those of a batch come panels, terms, columns: a row of it is one of the tensor
  bool by_rows = last >= 2;
  for (access const& one : v.loads(copy.stage)) by_rows = by_rows && one.step(last) == 1;
  if (!by_rows) return false;
  std::int64_t const k = v.extent(p.stage, terms), rows = v.extent(p.stage, p.t.rows);
  std::int64_t const across = p.row >= 0 ? trips(p.row) : v.extent(p.stage, p.t.columns);
  return rows >= 2 * p.tile.rows && across > p.width && (p.in_slabs || terms_at_a_time(p, k, true) == k);
}
/// In the loop `terms`, `together` of them at a time, for all iterations of `panels`.
WEFT_DECL bool rule_plan::pack_at_first(product_plan const& p, int panels, int terms, std::int64_t together) {
  int const copy = p.copies[0].stage;
  if (panels < 0 || !place(verb::compute_at, copy, terms)) return false;
  step kept{verb::store_at, 1, {panels}};
  kept.stage = copy;
  take(kept);
  if (together > 1) mark(verb::unroll, view().loop(copy, view().stage(copy).axes() - 2));
  // Rows are on other pages, which the processor's prefetcher does not follow.
  step ahead{verb::prefetch, 1, {terms}, choose(p.stage, "prefetch", 16, {4, 8, 32}) / together + 1};
  ahead.tensor = view().loads(copy)[0].tensor;
  if (may(ahead)) take(ahead);
  return true;
}
/// Whether a panel of columns is read for two to `most_turns` tiles of rows and no more: then its way from memory takes as long as a good part of
/// the work on it.
WEFT_DECL bool rule_plan::serves_few_tiles(int stage, tile_axes const& t, std::int64_t rows) const {
  rule_view const v = view();
  if (t.rows < 0 || how_ == boldness::loops) return false;
  for (int a = 0; a < v.stage(stage).spatial; ++a)
    if (a != t.columns && a != t.rows && v.extent(stage, a) != 1) return false;
  std::int64_t const tiles = v.extent(stage, t.rows) < 0 ? 0 : ceil_div(v.extent(stage, t.rows), rows);
  return tiles >= 2 && tiles <= most_turns;
}
/// Whether a product of few rows, or one whose columns cannot be packed, reads these as they lie, from far away: then along whole rows, some of them at a time, while
/// the sums wait in the second cache. 16 x 4096 x 4096 by one thread of a Cascade Lake 19 -> 49 GFLOP/s (decision 089), 1x1 of 256 channels on 56 x 56 94 -> 110.
WEFT_DECL bool rule_plan::reads_long_rows(product_plan const& p) const {
  rule_view const v = view();
  stage_info const& of = v.stage(p.stage);
  if (!has_far_memory() || p.by != nullptr || p.own || p.t.rows < 0) return false;
  int reduced = 0;
  for (int a = 0; a < of.axes(); ++a) {
    if (a == p.t.columns || a == p.t.rows || a == p.joined || v.extent(p.stage, a) == 1) continue;
    if (a < of.spatial || ++reduced > 1) return false;
  }
  bool can_be_packed = p.joined < 0;
  for (access const& one : v.loads(p.stage)) can_be_packed = can_be_packed && (one.step(p.t.columns) == 0 || can_pack(p.stage, one.tensor, p.t.columns));
  std::int64_t const rows = v.extent(p.stage, p.t.rows);
  return rows > 0 && reduced == 1 && (!can_be_packed || static_cast<double>(rows) < 2 * in_.copy_reads);
}
/// Whether each product of a batch finds `tensor` further out than in the second cache; or one product in memory, where two units wait for it (4096^3 f32 by one thread of an EPYC, Zen 5:
/// 243 to 253 -> 262 GFLOP/s; 2048^3, from the third cache, 265 -> 262).
WEFT_DECL bool rule_plan::is_asked_for_by_rows(product_plan const& p, int tensor) const {
  rule_view const v = view();
  stage_info const& of = v.stage(p.stage);
  if (p.own || p.by != nullptr || of.axes() != of.spatial + 1 || in_.l2_bytes == 0) return false;
  bool batch = false;
  for (int a = 0; a < of.spatial; ++a) {
    if (a == p.t.columns || a == p.t.rows || v.extent(p.stage, a) == 1) continue;
    for (access const& one : v.loads(p.stage))
      if (one.step(a) == 0) return false;
    batch = true;
  }
  bool const one_waits = !batch && has_two_units() && in_.l3_bytes > in_.l2_bytes;
  return (batch || one_waits) && v.bytes_of(tensor) > static_cast<double>(batch ? in_.l2_bytes : in_.l3_bytes);
}
/// The processor sees no pattern in rows of a few lines each: the next panel's come meanwhile. `panels`: the loop over them. In a batch, what is read
/// for the next tile's rows is asked for, too: `rows`, its loop. (Of one product with 4 to 16 MB of it: 0.99 to 1.01 of not asking; from memory: is_asked_for_by_rows.)
///
/// Packed panels lie behind one another, so the next block of terms is the next part of them, beyond the last one that of the next panel. Few tiles of
/// rows take turns in asking: else all of it would come while the first of them works, and none during the others: 16 x 4096 x 4096 by two threads 191 -> 208
/// GFLOP/s (EPYC, Zen 4, decision 072). Rows on other pages are asked for by each tile again: in turns 127 -> 103.
///
/// Two units wait for what is asked for once more: panels that lie as they are come to the second cache then, three to `most_turns` tiles take turns (of two the second asks for nothing that is not
/// there, and was the faster for it), and what serves more comes by itself (decision 104: 16 x 4096 x 4096 152 -> 186 GFLOP/s by one thread of an EPYC, Zen 5, 24 rows 173 -> 240, 16 of 256^3 228 -> 267).
WEFT_DECL void rule_plan::ask_for_panels(product_plan const& p, int panels, int rows, int blocks, int terms) {
  int const stage = p.stage;
  bool const streamed = p.streamed >= 0;
  if (streamed && blocks >= 0) panels = blocks;
  std::int64_t const tiles = rows < 0 ? 1 : trips(rows);
  bool const asks_once = has_two_units() && !streamed && !p.own, comes_by_itself = asks_once && tiles > most_turns;
  bool const next_panel = (p.scattered || streamed) && p.t.rows >= 0 && panels >= 0 && choose(stage, "prefetch_panel", !p.by_long_rows && !comes_by_itself);
  bool const in_turns = next_panel && (streamed ? tiles >= 2 : asks_once && tiles >= 3) && tiles <= most_turns;
  std::int64_t const rows_ahead = next_panel || p.t.rows < 0 ? 0 : choose(stage, "prefetch", 0, {4, 16, 32});
  for (access const& one : view().loads(stage)) {
    step ahead{verb::prefetch, 1, {terms}, rows_ahead};
    if (next_panel) ahead = step{verb::prefetch_inside, 2, {panels, terms}, 1};
    ahead.tensor = one.tensor;
    if (streamed || (asks_once && next_panel)) ahead.word = static_cast<std::uint8_t>(cache_level::l2);
    bool const of_panels = streamed ? one.tensor == p.streamed : one.step(p.t.columns) == 1;
    if (in_turns) {
      step turns{verb::prefetch_in_turns, 3, {panels, rows, terms}, 1};
      turns.tensor = ahead.tensor, turns.word = ahead.word;
      if (streamed || may(turns)) ahead = turns;
    }
    if ((next_panel || rows_ahead > 0) && of_panels && may(ahead)) take(ahead);
    if (one.step(p.t.columns) != 0 || rows < 0 || p.t.rows < 0 || one.step(p.t.rows) <= 1 || !is_asked_for_by_rows(p, one.tensor)) continue;
    step next_rows{verb::prefetch_inside, 2, {rows, terms}, 1};
    next_rows.tensor = one.tensor;
    if (choose(stage, "prefetch_rows", !has_far_memory()) && may(next_rows)) take(next_rows);
  }
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
