#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// How many of `k` steps along the terms are taken at a time: blocks of them keep a panel in the second cache.
WEFT_DECL std::int64_t rule_plan::terms_at_a_time(product_plan const& p, std::int64_t k, bool has_panels) const {
  if (takes_terms_near(p)) return 2 * k > 3 * terms_near ? ceil_div(k, (k + terms_near / 2) / terms_near) : k;
  // As many rows at a time as a processor's prefetcher follows: each of them is read from one end to the other.
  if (p.by_long_rows) {
    rule_view const v = view();
    std::int64_t const at_once = v.extent(p.stage, p.t.rows) < 2 * static_cast<std::int64_t>(in_.copy_reads) ? rows_followed : 2 * rows_followed;
    return k > 3 * at_once / 2 ? at_once : k;
  }
  if (std::int64_t const slab = terms_of_slab(p.stage); p.in_slabs) return 2 * k > 3 * slab ? ceil_div(k, ceil_div(k, slab)) : k;
  // Half of the second cache is one panel's; an eighth, where the next one comes to it meanwhile and rows meet in few of its sets.
  std::int64_t const block = in_.l2_bytes / ((p.scattered || p.streamed >= 0 ? 8 : 2) * p.width * widest_bytes(s_.computation(), view().stage(p.stage)));
  if (p.t.rows < 0 && has_panels && k >= 16) return 8;  // rows of what is read, each from one end to the other: eight at a time
  return block > 1 && 2 * k > 3 * block ? ceil_div(k, (k + block / 2) / block) : k;
}
/// The loops of the sums of `p` inside of `order`, which stands around all terms of a tile or around a block of them: terms, then the tile.
/// Those reduced come as they run, outermost first.
WEFT_DECL void rule_plan::sums_in_tile(product_plan const& p, sequence<std::int32_t> order, sequence<std::int32_t>& reduced, int words,
                                       tile_loops const& in) {
  if (p.by != nullptr && p.by->is_tile()) return sums_by_unit(*p.by, order, reduced, words, in);
  bool const short_terms = trips(reduced.back()) < 16;
  // Two terms at a time where the processor starts four instructions in a cycle, and two multiplications: 1.02 to 1.1 of one (Cascade Lake).
  std::int64_t const used = p.tile.vectors * (p.tile.rows + 1) + 1, left = s_.limits.vector_registers - used;  // registers
  // A last block of fewer terms would be asked for in each iteration then, which keeps sums out of registers (16 x 4096 x 4096, packed, in blocks of 1366: 52 and 180 GFLOP/s).
  int const whole = reduced.back() < 0 ? -1 : s_.at(reduced.back()).parent;
  bool const even_blocks = whole < 0 || (s_.at(whole).extent > 0 && s_.at(whole).extent % trips(reduced.back()) == 0);
  // The end of a loop over few terms is foretold wrongly; of half as many it is not (32 x 32 x 32 158 -> 166 GFLOP/s).
  std::int64_t const enough = reduced.size() == 1 && whole < 0 ? 16 : 64;
  bool const halves = !is_of_open(reduced.back()) && even_blocks && trips(reduced.back()) >= enough && trips(reduced.back()) % 2 == 0;
  // Masks of a last panel take what one register too few leaves: with 14 x 32, sums went to the stack (200 x 2000 x 400 120 -> 70 GFLOP/s).
  // So they do where the only panel is cut (56 columns: 1x1 with what follows, channels first, 144 to 24 on 56 x 56 76).
  std::int64_t const across = p.row >= 0 ? trips(p.row) : view().extent(p.stage, p.t.columns);
  bool const even = across > 0 && across % p.width == 0, cut_alone = across > 0 && across < p.width;
  bool const by_two = has_far_memory() && !p.scattered && !cut_alone && left >= (even ? 1 : 2) && halves;
  std::int64_t const unrolled = p.by != nullptr || short_terms ? 1 : choose(p.stage, "unroll", by_two ? 2 : 1, {1, 2, 4, 8});
  parts const steps = unrolled > 1 ? split(reduced.back(), unrolled) : parts{reduced.back(), -1};
  reduced.back() = steps.outer;
  for (std::int32_t l : reduced) order.push_back(l);
  for (int l : {steps.inner, in.line, in.row, in.column, words}) order.push_back(l);
  reorder(order);
  mark(verb::unroll, steps.inner);
  std::int64_t most_copies = rows_are_near(p.stage, p.t) ? most_written_out : 96;  // a row of a window of 7 by 16 sums
  std::int64_t copies = in.lines * p.tile.rows * p.tile.vectors * unrolled;
  for (std::size_t i = reduced.size(); i-- > 0; copies *= trips(reduced[i])) {
    if (trips(reduced[i]) < 1 || trips(reduced[i]) > 8 || copies * trips(reduced[i]) > most_copies) break;
    mark(verb::unroll, reduced[i]);
    most_copies = 96;
  }
  mark(verb::unroll, in.line);
  mark(verb::unroll, in.row);
  mark(verb::vectorize, in.column);
  if (p.by != nullptr) {
    step dot{verb::tensorize, 1, {words}};
    dot.by = p.by;
    if (may(dot)) take(dot);
  }
}
/// The same by a matrix unit, whose tiles of sums are written out.
WEFT_DECL void rule_plan::sums_by_unit(intrinsic const& by, sequence<std::int32_t> order, sequence<std::int32_t> const& reduced, int words, tile_loops const& in) {
  parts const rows = split(in.row, by.rows), columns = split(in.column, by.columns);
  for (std::int32_t l : reduced) order.push_back(l);
  for (int l : {in.line, rows.outer, columns.outer, rows.inner, columns.inner, words}) order.push_back(l);
  reorder(order);
  for (int l : {in.line, rows.outer, columns.outer}) mark(verb::unroll, l);
  step tile{verb::tensorize, 1, {rows.inner}};
  tile.by = &by;
  if (may(tile)) take(tile);
}
/// The reduced loops of a product in the order in which they run, the last one cut for an instruction, a single one into blocks of terms.
/// `blocks`: else there are none, since no loop over tiles can run inside of them.
WEFT_DECL rule_plan::term_loops rule_plan::cut_terms(product_plan const& p, bool has_panels, bool blocks) {
  term_loops made;
  rule_view const v = view();
  stage_info const of = v.stage(p.stage);
  if (p.by == nullptr) made.reduced = reduced_loops(p.stage);
  else for (int a = of.spatial; a < of.axes(); ++a) made.reduced.push_back(v.loop(p.stage, a));
  if (p.by != nullptr) {
    parts const words = split(made.reduced.back(), p.by->terms);
    made.reduced.back() = words.outer, made.words = words.inner;
  }
  std::int64_t const k = trips(made.reduced[0]);
  if (made.reduced.size() == 1 && blocks) {
    std::int64_t const at_a_time = choose(p.stage, "terms", terms_at_a_time(p, k, has_panels),
                                          {8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, k}, k);
    if (at_a_time < k) {
      parts const terms = split(made.reduced[0], at_a_time);
      made.blocks = terms.outer, made.reduced[0] = terms.inner;
    }
  } else if (made.reduced.size() > 1 && p.by == nullptr && order_may_change(p.stage)) {  // which of them runs fastest
    std::int64_t const last = static_cast<std::int64_t>(made.reduced.size()) - 1;
    std::int64_t const inner = choose(p.stage, "innermost", last, {0, 1, 2, 3}, last);
    std::int32_t const moved = made.reduced[static_cast<std::size_t>(inner)];
    made.reduced.erase(made.reduced.begin() + inner);
    made.reduced.push_back(moved);
  }
  if (made.reduced.size() > 1 && p.by == nullptr && blocks)
    made.blocks = blocks_of_terms(p, made.reduced, has_panels);
  return made;
}
/// Tiles of the result of a product, for each of which the sums stay in registers, around its terms or a block of them. A search may put
/// blocks of tiles around them, in another order, and copies into their loops.
///
/// What becomes of the elements, `last` (the product itself: nothing), has the loops around all terms, and is computed behind these: of one block
/// of terms tile by tile, while the sums are in registers; of several, once for all tiles that a block passes by.
///
///     for panels: for tiles: { for terms: sums += ..; out = f(sums) }
///     for panels: { for blocks of terms: for tiles: for terms: sums += ..; for tiles: out = f(sums) }
///
/// `row`: the loop of `last` for the columns, where that has several axes for them; the others have the same places.
WEFT_DECL void rule_plan::contraction(int stage, tile_axes const& t, int last, int row) {
  bool const followed = last != stage;
  sequence<std::int32_t> guests;
  if (followed) guests = guests_of(last);
  product_plan const p = product_of(stage, t, nullptr, !followed);
  sequence<product_plan> products(1, p);
  for (std::int32_t g : guests)
    if (g != stage && view().stage(g).reduced > 0) products.push_back(product_of(g, axes_of_tile(g), &p));
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  int const above = p.by == nullptr && p.row < 0 ? lines_that_share(stage, t) : -1;
  std::int64_t const own_lines = above < 0 ? 1 : choose(stage, "lines_at_once", lines_of_tile(stage, t, above).lines, {1, 2, 3, 4, 6, 7, 8}, v.extent(stage, above));
  double const total = v.iterations(stage) / static_cast<double>(v.lanes(stage));
  parts columns = cut(p.row >= 0 ? p.row : row >= 0 ? row : v.loop(last, t.columns), p.width), rows{};
  if (t.rows >= 0) rows = cut(v.loop(last, t.rows), p.tile.rows);
  parts const lines = own_lines > 1 ? cut(v.loop(last, above), own_lines) : parts{};
  sequence<std::int32_t> others;
  outer_loops outer;
  for (int a = 0; a < of.spatial; ++a)
    if (a != t.columns && a != t.rows && (p.row < 0 || a != p.joined)) {
      others.push_back(a == above && own_lines > 1 ? lines.outer : v.loop(last, a));
      if (own_lines == 1) outer.loops.push_back(others.back()), outer.axes.push_back(a);
    }
  bool const has_panels = columns.outer >= 0;
  bool const turnable = !p.scattered && has_panels && !others.empty();
  bool const around_all = turnable && choose(stage, "panels_first", panels_first(stage, t, trips(columns.outer)));
  if (around_all) others.insert(others.begin(), static_cast<std::int32_t>(columns.outer)), columns.outer = -1, outer = {};
  if (around_all && has_far_memory() && own_lines == 1 && in_.threads <= few_threads && trips(others[0]) >= in_.threads)
    outer.loops.push_back(others[0]), outer.axes.push_back(t.columns);  // a panel is copied where it is read, by the one who reads it
  else if (around_all || own_lines > 1)
    for (std::int32_t l : others) outer.known = outer.known && trips(l) == 1 && !is_open(l);
  term_loops terms = cut_terms(p, columns.outer >= 0, true);
  // Blocks of tiles for the second and third cache; the rule has them where sums wait there for more terms.
  parts row_block{-1, rows.outer}, column_block{-1, columns.outer};
  waiting_sums wait = (followed || p.by_long_rows) && terms.blocks >= 0 ? blocks_that_wait(p) : waiting_sums{};
  bool const at_first = !followed && (p.in_slabs || terms.blocks < 0) && packs_at_first(p) && choose(stage, "pack_at_first", true);
  if (!followed && (p.in_slabs || (terms.blocks < 0 && !at_first)) && columns.outer >= 0) wait.columns = panels_at_once(p);
  bool const by_unit = p.by != nullptr && p.by->is_tile();
  if (by_unit) wait.columns = panels_kept_near(p);
  if (rows.outer >= 0)
    if (std::int64_t const n = choose(stage, "row_block", wait.rows, {0, 2, 4, 8, 16, 32}, trips(rows.outer) - 1); n > 0) row_block = split(rows.outer, n);
  if (columns.outer >= 0)
    if (std::int64_t const n = choose(stage, "column_block", wait.columns, {0, 2, 4, 8, 16, 32}, trips(columns.outer) - 1); n > 0)
      column_block = split(columns.outer, n);
  // Each thread has its own piece of the tiles, so that there is one fork; where a loop around is long enough, that one is shared out.
  int piece = -1;
  std::int64_t const threads = threads_for(total / static_cast<double>(p.by == nullptr ? 1 : p.by->terms));
  bool const shared = threads > 1 && choose(stage, "fork", true);
  bool long_around = false;
  for (std::int32_t l : others) long_around = long_around || trips(l) < 0 || trips(l) >= threads;
  if (shared && !long_around) {
    // Of the outermost loops over tiles.
    int& row_tiles = row_block.outer >= 0 ? row_block.outer : row_block.inner;
    int& column_tiles = column_block.outer >= 0 ? column_block.outer : column_block.inner;
    auto const balance = [&](int l) {
      std::int64_t const n = l < 0 ? 1 : trips(l) < 0 ? 256 : trips(l);
      return static_cast<double>(n) / static_cast<double>(ceil_div(n, threads) * threads);
    };
    // Each thread then packs its own rows, which takes longer than packing all columns.
    bool packs_rows = false;
    for (packed_copy const& one : p.copies) packs_rows = packs_rows || (!one.constant && !one.of_columns && has_far_memory());
    bool const by_rows = choose(stage, "fork_by_rows", balance(row_tiles) > balance(column_tiles) + (packs_rows ? -0.1 : 0.05));
    int& tiles = by_rows ? row_tiles : column_tiles;
    std::int64_t const pieces = threads * choose(stage, "pieces", 1, {2, 4});
    if (balance(tiles) * static_cast<double>(threads) > 1.1) {
      // Panels are iterations of their own, so that a thread that has finished takes some of another's; where it would make a copy of rows for each of
      // them, or where those of several panels lie on the same pages, each thread has one piece.
      bool by_panels = !by_rows && !p.scattered && !by_unit && !is_open(tiles) && threads == in_.threads && pieces == threads && trips(tiles) >= 4 * threads;
      for (packed_copy const& one : p.copies) by_panels = by_panels && (one.constant || one.of_columns);
      if (trips(tiles) > pieces && !(by_panels && !p.copies.empty())) {
        parts const cut_up = split(tiles, ceil_div(trips(tiles), pieces));
        piece = cut_up.outer, tiles = cut_up.inner;
      } else {
        piece = tiles, tiles = -1;
      }
      outer.piece = piece, outer.piece_axis = by_rows ? t.rows : t.columns, outer.threads = threads;
    }
  }
  outer.terms = terms.blocks;
  outer.columns = column_block.outer >= 0 ? column_block.outer : p.in_slabs ? terms.blocks : wait.columns == 0 && !by_unit ? column_block.inner : -1;
  if (shared && long_around && own_lines == 1) share_around(products, others, outer, threads, around_all);
  auto const fork = [&] {
    if (outer.piece >= 0) mark(verb::parallel, outer.piece);
    else if (shared) run_parallel(others, total, threads, is_worth_a_fork(total) ? in_.fork_cycles : in_.short_fork_cycles);
  };
  sequence<std::int32_t> const around =
      in_chosen_order(p, {column_block.outer, row_block.outer, terms.blocks, column_block.inner, row_block.inner});
  int const panels = p.streamed >= 0 && column_block.inner < 0 && outer.piece_axis == t.columns ? piece : column_block.inner;
  sequence<std::int32_t> order = others;
  order.push_back(piece);
  tile_loops in{lines.inner, rows.inner, columns.inner, own_lines};
  if (!followed) {
    for (std::int32_t l : around) order.push_back(l);
    std::int64_t const k = trips(terms.reduced.back());
    sums_in_tile(p, order, terms.reduced, terms.words, in);
    fork();
    int const block = p.in_slabs ? column_block.outer : -1, panel = block >= 0 ? block : column_block.inner >= 0 ? column_block.inner : piece;
    if (at_first) pack_at_first(p, panel, terms.reduced.back(), ceil_div(k, trips(terms.reduced.back())));
    place_copies(stage, p.copies, around, outer, p.in_slabs);
    return ask_for_panels(p, panels, row_block.inner, terms.blocks, terms.reduced.back());
  }
  // Of `last`: the innermost loop around all terms is where the sums are made.
  int host = -1;
  bool outside = true, rows_inside = false, columns_inside = false;
  for (std::int32_t l : order) host = l >= 0 ? l : host;
  for (std::int32_t l : around) {
    outside = outside && (l < 0 || l != terms.blocks);
    if (l < 0 || l == terms.blocks) continue;
    order.push_back(l);
    if (outside) host = l;
    else (l == row_block.outer || l == row_block.inner ? rows_inside : columns_inside) = true;
  }
  for (int l : {in.line, in.row, in.column}) order.push_back(l);
  reorder(order);
  mark(verb::unroll, in.line);
  mark(verb::unroll, in.row);
  mark(verb::vectorize, in.column);
  fork();
  for (std::size_t i = guests.size(); i-- > 0;) {
    int const g = guests[i];
    bool const apart = host < 0 || !place(verb::compute_at, g, host);
    rule_view const now = view();
    auto const own = [&](int axis, std::int64_t size, bool inside) {
      if (axis < 0) return parts{};
      return inside || apart ? cut(now.loop(g, axis), size) : parts{-1, now.loop(g, axis)};
    };
    parts const own_rows = own(t.rows, p.tile.rows, rows_inside), own_columns = own(t.columns, p.width, columns_inside);
    tile_loops const tile{own_lines > 1 ? now.loop(g, above) : -1, own_rows.inner, own_columns.inner, own_lines};
    if (now.stage(g).reduced == 0) {
      reorder({own_columns.outer, own_rows.outer, tile.line, tile.row, tile.column});
      if (!rows_inside && !apart) mark(verb::unroll, tile.row);
      mark(verb::vectorize, tile.column);
      continue;
    }
    for (product_plan const& one : products) {
      if (one.stage != g) continue;
      term_loops its = g == stage ? terms : cut_terms(one, columns.outer >= 0, terms.blocks >= 0);
      sequence<std::int32_t> loops;
      for (std::int32_t l : around)
        if (l >= 0 && l == terms.blocks) loops.push_back(static_cast<std::int32_t>(its.blocks));
        else if (l >= 0 && l == column_block.inner) loops.push_back(static_cast<std::int32_t>(own_columns.outer));
        else if (l >= 0 && l == row_block.inner) loops.push_back(static_cast<std::int32_t>(own_rows.outer));
      std::int64_t const k = trips(its.reduced.back());
      sums_in_tile(one, loops, its.reduced, its.words, tile);
      bool const by_first_tile = !apart && products.size() == 1 && its.blocks < 0 && packs_at_first(one) && choose(stage, "pack_at_first", true);
      if (by_first_tile) pack_at_first(one, column_block.inner >= 0 ? column_block.inner : piece, its.reduced.back(), ceil_div(k, trips(its.reduced.back())));
      place_copies(g, one.copies, apart ? sequence<std::int32_t>{} : around, apart ? outer_loops{} : outer);
      ask_for_panels(one, own_columns.outer >= 0 ? own_columns.outer : panels,
                     own_rows.outer >= 0 ? own_rows.outer : row_block.inner, its.blocks, its.reduced.back());
    }
  }
}
/// Panels that are copied together, where their rows are read from a last cache or memory that takes its time: pieces of a row that lie side by
/// side come at once. 0: each alone.
WEFT_DECL std::int64_t rule_plan::panels_at_once(product_plan const& p) const {
  if (!has_far_memory() || p.by != nullptr) return 0;
  bool of_columns = false, of_rows = false;
  for (packed_copy const& one : p.copies) {
    if (one.constant) return 0;
    (one.of_columns ? of_columns : of_rows) = true;
  }
  if (!of_columns) return 0;
  rule_view const v = view();
  stage_info const& of = v.stage(p.stage);
  double terms = v.iterations(p.stage) / (v.iterations(p.stage, false) + 1e-9);
  if (p.in_slabs) terms = static_cast<double>(terms_at_a_time(p, v.extent(p.stage, of.spatial), true));
  for (int a = 0; a < of.spatial; ++a)
    if (a != p.t.columns && a != p.t.rows && v.extent(p.stage, a) != 1) return 0;
  double const panel = terms * static_cast<double>(p.width * widest_bytes(s_.computation(), of));
  std::int64_t const across = ceil_div(v.extent(p.stage, p.t.columns) < 0 ? 4096 : v.extent(p.stage, p.t.columns), p.width);
  std::int64_t const each = ceil_div(across, in_.threads);  // each thread has a block at least
  // Where rows are packed, too, more panels than stay in the second cache: 1024^3 of a transposed operand 106 -> 115 GFLOP/s, by two 110.
  double const part = of_rows && !p.in_slabs ? 1.2 : 0.6;
  auto const fitting = static_cast<std::int64_t>(part * static_cast<double>(in_.l2_bytes) / (panel + 1)), n = fitting < each ? fitting : each;
  return n > 1 ? n : 0;
}
/// Sums that wait for their next block of terms, and then for what becomes of them: tiles of so many rows, or columns, at a time take part of
/// the second cache. 0: all of them do.
WEFT_DECL rule_plan::waiting_sums rule_plan::blocks_that_wait(product_plan const& p) const {
  rule_view const v = view();
  auto const extent = [&](int axis) { return axis < 0 ? 1 : v.extent(p.stage, axis) < 0 ? 4096 : v.extent(p.stage, axis); };
  std::int64_t const element = size_bytes(program::at(v.p().tensors, v.stage(p.stage).tensor).type);
  std::int64_t const down = extent(p.t.rows) * element, cache = in_.l2_bytes / 4;
  waiting_sums made;
  if (cache == 0 || p.own) return made;
  if (p.by_long_rows) {  // as many blocks for each thread
    std::int64_t const across = ceil_div(p.row >= 0 ? trips(p.row) : extent(p.t.columns), p.width), fitting = cache / (down * p.width) + 1;
    if (across > fitting) made.columns = ceil_div(across, ceil_div(ceil_div(across, fitting), in_.threads) * in_.threads);
    return made;
  }
  if (!p.scattered && down * p.width > cache) made.rows = cache / (2 * p.tile.rows * p.width * element) + 1;
  if (p.scattered && down * extent(p.t.columns) > 2 * cache) made.columns = cache / (down * p.width) + 1;
  return made;
}
/// Blocks of columns, blocks of rows, terms, tiles of columns, tiles of rows, in this order; a search may turn the blocks and the loops
/// in them. The rule's own: neighbouring panels are on the same pages (`scattered`), a packed one is used up before the next; rows are around
/// both where what a tile reads in vectors serves no other one (`own`); slabs of terms are around all.
WEFT_DECL sequence<std::int32_t> rule_plan::in_chosen_order(product_plan const& p, sequence<std::int32_t> const& l) {
  // By place in `l`: the last three in each order, and the blocks around them.
  constexpr std::int32_t inner_orders[6][3] = {{2, 3, 4}, {2, 4, 3}, {3, 2, 4}, {3, 4, 2}, {4, 2, 3}, {4, 3, 2}};
  int loops = 0;
  for (std::size_t i = 2; i < 5; ++i) loops += l[i] >= 0;
  std::int64_t const as_a_rule = p.in_slabs || (p.by != nullptr && p.by->is_tile()) ? 1 : p.own ? (p.scattered ? 4 : 5) : p.scattered ? 0 : 2;
  std::int64_t const which = loops > 1 ? choose(p.stage, "order", as_a_rule, {0, 1, 2, 3, 4, 5}) : as_a_rule;
  bool const turned = l[0] >= 0 && l[1] >= 0 && choose(p.stage, "rows_outside", false);
  bool const slabs = p.in_slabs && l[2] >= 0 && choose(p.stage, "terms_outside", true);
  sequence<std::int32_t> made;
  if (slabs) made.push_back(l[2]);
  for (int i : {turned ? 1 : 0, turned ? 0 : 1}) made.push_back(l[static_cast<std::size_t>(i)]);
  for (std::int32_t place : inner_orders[which])
    if (place != 2 || !slabs) made.push_back(l[static_cast<std::size_t>(place)]);
  return made;
}
/// Of a stage that is computed in a loop of another, or whose rows others are computed in: vectors of sums, as many as registers hold,
/// for each row or for some together.
WEFT_DECL void rule_plan::tile_of_guest(int stage, tile_axes const& t, int depth, std::int64_t rows) {
  std::int64_t const lanes = view().lanes(stage), across = view().extent(stage, t.columns);
  std::int64_t const fitting = (s_.limits.vector_registers - 1) / (rows + 1);  // rows * v sums, a row of v, one element
  std::int64_t const width = lanes * choose(stage, "vectors", rows == 1 || fitting >= 4 ? 4 : fitting < 1 ? 1 : fitting, {1, 2, 3, 4, 6, 8},
                                            fitting < 1 ? 1 : fitting);
  if (rows > 1 && across > width)
    for (std::int32_t tensor : worth_packing(stage, t)) pack(stage, tensor, t.columns, width);
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  parts row;
  if (rows > 1) {
    // Those of the stage around are split off already; of a guest it is the part that is read, one round.
    loop_info const all_rows = s_.at(s_.loop_of[static_cast<std::size_t>(of.first_axis + depth - 1)]);
    row = all_rows.is_split() ? parts{-1, all_rows.inner} : cut(v.loop(stage, depth - 1), rows);
  }
  parts const columns = cut(v.loop(stage, t.columns), width);
  sequence<std::int32_t> order(1, row.outer);
  for (int a = depth; a < of.spatial; ++a)
    if (a != t.columns) order.push_back(v.loop(stage, a));
  order.push_back(columns.outer);
  for (int a = of.spatial; a < of.axes(); ++a) order.push_back(v.loop(stage, a));
  order.push_back(row.inner);
  order.push_back(columns.inner);
  reorder(order);
  mark(verb::unroll, row.inner);
  mark(verb::vectorize, columns.inner);
}
/// A product and what becomes of each of its elements; false: the stages that are computed in `stage` are none.
WEFT_DECL bool rule_plan::tile_with_guests(int stage) {
  stage_info const of = view().stage(stage);
  int product = -1;
  tile_axes t;
  for (std::int32_t g : guests_of(stage)) {
    stage_info const& other = view().stage(g);
    if (of.reduced > 0 || of.scanned >= 0 || other.spatial != of.spatial || depth_[static_cast<std::size_t>(g)] != of.spatial) return false;
    if (other.reduced == 0) continue;
    tile_axes const own = axes_of_tile(g);
    if (own.columns < 0 || (product >= 0 && own.columns != t.columns)) return false;
    if (product < 0 || own.rows >= 0) product = g, t = own;
  }
  if (product < 0) return false;
  if (guests_of(stage).size() == 1 && tile_of_joined(product, stage)) return true;
  if (guests_of(stage).size() == 1 && is_better_joined(product, stage, t)) {
    host_in(product, product);
    nest_of(product), nest_of(stage);
  } else {
    contraction(product, t, stage);
  }
  return true;
}
/// A product that `last` follows, whose rows of columns are joined in both (axis_joined), and which reads them from far away: it is laid out so that they are one axis,
/// and is a product of two matrices from there on, whose tile `last` takes along its own joined rows. False: it is none, or does not pay.
WEFT_DECL bool rule_plan::tile_of_joined(int product, int last) {
  if (how_ == boldness::loops || in_.in_place || open_ != nullptr || !has_far_memory()) return false;
  host_in(product, product);
  tile_axes const own = axes_of_tile(product);
  int const joined = own.columns < 0 || own.rows < 0 || !own.packed.empty() ? -1 : axis_joined(product, own);
  host_in(product, last);
  rule_view const v = view();
  stage_info const of = v.stage(product);
  if (joined < 0 || own.rows > joined || own.columns != of.spatial - 1 || of.results != 1 || axis_joined(last, own) != joined) return false;
  if (v.extent(last, joined) != v.extent(product, joined) || v.extent(last, own.columns) != v.extent(product, own.columns)) return false;
  // The first tile of rows packs panels of all terms.
  double const terms = v.iterations(product) / (v.iterations(product, false) + 1e-9), panel = terms * static_cast<double>(4 * v.lanes(product) * widest_bytes(v.p(), of));
  bool packed = panel <= 0.75 * static_cast<double>(in_.l2_bytes);
  for (access const& one : v.loads(product)) {
    if (!packed || one.step(own.columns) == 0) continue;
    double const bytes = v.bytes_of(one.tensor);
    packed = one.step(own.rows) == 0 && !is_constant(one.tensor) && can_pack(product, one.tensor, own.columns, joined) &&
             bytes >= static_cast<double>(in_.l2_bytes) / 8 && bytes >= 2 * static_cast<double>(in_.l1_bytes);
    if (!packed) return false;
  }
  step layout{verb::transform_layout};
  layout.stage = product;
  for (int d = 0; d < of.spatial; ++d)
    if (d != own.columns)
      for (std::int64_t number : {std::int64_t(d == joined ? joined_dims(joined, 2).number() : d), std::int64_t(1), std::int64_t(0)}) layout.numbers.push_back(number);
  layout.numbers.push_back(0);
  bool const often = static_cast<double>(v.extent(product, own.rows)) >= 2 * in_.copy_reads;
  if (!packed || !may(layout) || !choose(product, "joined", often)) return false;
  int const row = fuse({v.loop(last, joined), v.loop(last, own.columns)});
  if (row < 0) return false;
  take(layout);
  contraction(product, {joined, own.rows, {}}, last, row);
  return true;
}
/// Whether a product that `last` follows has a nest of its own, in which its rows of columns are joined (axis_joined): where, in a tile of
/// `last`, its lanes would run elsewhere, and what they read be copied at each call, three cycles an element, while sums that are stored and read
/// again take one. 1x1 on 14 x 14, 1024 channels to 256, which are first: 95 and 106 GFLOP/s; the product alone 107. Of many terms also where pixels come from far away, which a joined row asks for
/// ahead (takes_terms_near): 256 to 64 on 56 x 56 109 -> 127, 1024 to 32 87 -> 125, by two threads 200 -> 240 and 164 -> 213 (a server with AMX).
WEFT_DECL bool rule_plan::is_better_joined(int product, int last, tile_axes const& t) {
  if (how_ == boldness::loops || in_.in_place || open_ != nullptr) return false;
  host_in(product, product);
  tile_axes const own = axes_of_tile(product);
  bool better = own.columns != t.columns && own.packed.empty() && axis_joined(product, own) >= 0;
  host_in(product, last);
  rule_view const v = view();
  double copied = 0;
  for (std::int32_t tensor : t.packed) copied += is_constant(tensor) ? 0 : v.iterations_of(tensor);
  bool const scattered = has_scattered_rows(product, own);
  double const terms = v.iterations(product) / (v.iterations(product, false) + 1e-9);
  return better && (!scattered || has_far_memory()) && choose(product, "apart", scattered ? terms >= 128 : 3 * copied > v.iterations(last));
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
