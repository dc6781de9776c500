#include "weft/base/joined.hpp"
#include "weft/schedule/rules/gpu_planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_DECL bool gpu_plan::attention_stages::holds(int stage) const {
  bool found = stage == first || stage == second;
  for (std::int32_t s : between) found = found || s == stage;
  return found;
}
WEFT_DECL bool gpu_plan::is_attended(int stage) const {
  for (attention_stages const& a : attended_)
    if (a.holds(stage)) return true;
  for (attention_blocks const& b : attended_in_blocks_)
    if (b.holds(stage)) return true;
  return false;
}
/// Whether all that `stage` reads of other stages leads, by rows and single elements, to one product.
WEFT_DECL bool gpu_plan::is_between(int stage, attention_stages& into) const {
  if (into.holds(stage)) return true;
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  if (of.results != 1 || of.by != nullptr || of.scanned >= 0 || of.reduced > 1 || v.is_output(stage)) return false;
  if (reuse(stage).rows >= 0) {
    if (into.first >= 0) return false;
    into.first = stage;
    return true;
  }
  into.between.push_back(stage);
  bool fine = true;
  each_load(v.p(), stage, [&](node const& x) {
    int const from = program::at(v.p().tensors, x.a).stage;
    if (fine && from >= 0) fine = is_between(from, into);
  });
  return fine;
}
/// What `second` multiplies of the rows of another product, as softmax(Q K^T) V; none: first is -1.
WEFT_DECL gpu_plan::attention_stages gpu_plan::attention_of(int second) const {
  rule_view const v = view();
  program const& p = v.p();
  reused_axes const axes = reuse(second);
  if (axes.rows < 0 || v.stage(second).reduced != 1) return {};
  for (access const& one : v.loads(second)) {
    attention_stages a;
    a.weights = program::at(p.tensors, one.tensor).stage;
    if (a.weights < 0 || one.step(axes.rows) == 0 || v.stage(a.weights).reduced > 0 || !is_between(a.weights, a) || a.first < 0) continue;
    a.second = second;
    // The rows and the columns of both are the last two dimensions, and some numbers are those of a whole row.
    int const rank = v.stage(a.first).spatial;
    reused_axes const scores = reuse(a.first);
    bool fine = v.stage(a.weights).spatial == rank && scores.rows == rank - 2 && scores.columns == rank - 1 &&
                dimension_of(second, one.tensor, axes.rows) == rank - 2 && dimension_of(second, one.tensor, v.stage(second).spatial) == rank - 1;
    bool rows = false;
    for (std::int32_t s : a.between) {
      rows = rows || v.stage(s).reduced > 0;
      fine = fine && (v.stage(s).spatial == rank || (v.stage(s).reduced > 0 && v.stage(s).spatial == rank - 1));
    }
    sequence<sequence<std::int32_t>> const readers = readers_of(p);
    for (int s = 0; s < static_cast<int>(readers.size()); ++s)
      for (std::int32_t r : readers[static_cast<std::size_t>(s)])
        if (s != second && a.holds(s)) a.alone = a.alone && a.holds(r), fine = fine && (r != second || s == a.weights);
    if (fine && rows) return a;
  }
  return {};
}
/// The most rows that leave room for their scores, in f32, and no processor idle; with copies that run ahead if that can be. As many keys
/// at a time as four warps share come first: fewer warps would leave more of a processor idle than copies do that are waited for.
WEFT_DECL gpu_plan::attention_numbers gpu_plan::attention_numbers_of(attention_stages const& a) const {
  rule_view const v = view();
  reused_axes const outer = reuse(a.second), inner = reuse(a.first);
  std::int64_t const queries = v.extent(a.first, inner.rows), keys = v.extent(a.first, inner.columns),
                     width = ceil_div(v.extent(a.first, v.stage(a.first).spatial), 16) * 16, columns = v.extent(a.second, outer.columns);
  double const count = v.iterations(a.first, false) / static_cast<double>(queries * keys);
  for (std::int64_t const together : {64, 32, 16})
    for (std::int64_t const rows : {64, 32, 16}) {
      bool const idle = rows > 16 && static_cast<double>(ceil_div(queries, rows)) * count < gpu_numbers::processors;
      if (rows > queries || together > keys || idle) continue;
      for (std::int64_t const ahead : {1, 0}) {
        attention_numbers n{rows, together, 4, 16, ahead};
        while (n.warps > 1 && (16 * n.warps > together || 16 * n.warps > columns)) n.warps /= 2;
        n.warp_columns = ceil_div(columns, 16 * n.warps) * 16;
        n.bytes = rows * ((keys + 7) / 8 * 8 + 4) * 4 + rows * (width + 8) * 2 + rows * (together + 8) * 2 + 8 * rows +
                  (ahead + 1) * together * (width + 8 + n.columns() + 8) * 2;
        // Sums are in registers: 8 of a tile.
        if (n.bytes <= gpu_numbers::matrix_staged_bytes && rows / 16 * (n.warp_columns / 16) <= 16) return n;
      }
    }
  return {};
}
/// Whether a matrix unit multiplies both, of sizes that are known. Why not is told.
WEFT_DECL bool gpu_plan::may_attend(int told_of, attention_stages const& a) const {
  matrix_operands const second = operands_of(a.second, reuse(a.second)), first = operands_of(a.first, reuse(a.first));
  auto const none = [&](std::string const& why) {
    tell(told_of, joined({"the rows of ", name_of(a.first), " go through global memory: ", why}));
    return false;
  };
  if (first.unit == nullptr || second.unit == nullptr) {
    std::string const& why = first.unit == nullptr ? first.why : second.why;
    return none(why.empty() ? "no matrix unit multiplies both, for which types have to be narrow" : joined({"no matrix unit multiplies them: ", why}));
  }
  rule_view const v = view();
  for (int s : {a.first, a.second})
    for (int axis = 0; axis < v.stage(s).axes(); ++axis)
      if (is_open(v.loop(s, axis))) return none("their sizes are open");
  return true;
}
/// Which products keep what they need of another one in a block's memory.
WEFT_DECL void gpu_plan::find_attention() {
  if (how_ != boldness::all || in_.in_place) return;
  for (int t = 0; t < static_cast<int>(s_.order.size()); ++t) {
    rule_view const v = view();
    if (attention_stages const a = attention_of(t); a.first >= 0 && may_attend(t, a)) {
      auto const none = [&](std::string const& why) { tell(t, joined({"the rows of ", name_of(a.first), " go through global memory: ", why})); };
      if (!a.alone) {
        none("others read what is known of them");
        continue;
      }
      attention_numbers const n = attention_numbers_of(a);
      if (n.rows == 0) {
        none(joined({"16 of them, of ", std::to_string(v.extent(a.first, reuse(a.first).columns)),
                     " elements, do not fit what a block shares; ops::attention with .block = 64 looks at so many keys at a time"}));
        continue;
      }
      // Of each row its elements would be written once and read three times; each block copies both other operands.
      std::int64_t const wide = v.extent(a.first, v.stage(a.first).spatial) + v.extent(t, reuse(t).columns);
      bool const own = wide <= 32 * n.rows;
      if (!own) none(joined({"blocks of ", std::to_string(n.rows), " of them would copy rows of ", std::to_string(wide), " elements again and again"}));
      if (choose(t, "rows_on_chip", own)) attended_.push_back(a);
    } else if (attention_blocks const b = blocks_of(t); b.state >= 0 && may_attend(t, b.of)) {
      if (numbers_of_blocks(b).rows > 0 && choose(t, "rows_on_chip", true)) attended_in_blocks_.push_back(b);
      else tell(t, joined({"the rows of ", name_of(b.of.first), " go through global memory: in blocks, there have to be 16 of them, and keys "
                           "come in multiples of 16 at a time, that fit what a block shares"}));
    }
  }
}
/// The stage that the rest reads in place of the product's sums, which elementwise stages in a chain compute of each; the product itself.
WEFT_DECL int gpu_plan::scores_of(attention_stages const& a) const {
  sequence<sequence<std::int32_t>> const readers = readers_of(s_.computation());
  rule_view const v = view();
  int last = a.first, found = a.first;
  for (;;) {
    sequence<std::int32_t> const& next = readers[static_cast<std::size_t>(last)];
    if (next.size() != 1 || next[0] == a.weights || v.stage(next[0]).reduced > 0) return found;
    last = next[0];
    if (!v.is_inlined(last)) found = last;
  }
}
/// The loops of a product that warps share by columns: those around them, rows of a block, columns of a block, then terms where these are
/// outside (0: all are inside of the sums), and what a warp does.
WEFT_DECL void gpu_plan::tile_of_product(int stage, reused_axes const& axes, matrix_operands const& of, std::int64_t rows, std::int64_t columns,
                                         std::int64_t warp_columns, std::int64_t terms) {
  rule_view const v = view();
  stage_info const info = v.stage(stage);
  parts const row = split(v.loop(stage, axes.rows), rows), row_tile = split(row.inner, 16);
  parts const column = split(v.loop(stage, axes.columns), columns), warp = split(column.inner, warp_columns), column_tile = split(warp.inner, 16);
  parts outer{-1, v.loop(stage, info.spatial)};
  if (terms > 0) outer = split(outer.inner, terms);
  parts const step_of = split(outer.inner, of.unit->terms);
  sequence<std::int32_t> order;
  for (int a = 0; a < info.spatial; ++a)
    if (a != axes.rows && a != axes.columns) order.push_back(v.loop(stage, a));
  for (int l : {row.outer, column.outer}) order.push_back(l);
  if (outer.outer >= 0) order.push_back(outer.outer);
  for (int l : {warp.outer, step_of.outer, row_tile.outer, column_tile.outer, row_tile.inner, column_tile.inner, step_of.inner}) order.push_back(l);
  reorder(order);
  bind(warp.outer, thread_axis::warp);
  for (int l : {step_of.outer, row_tile.outer, column_tile.outer}) mark(verb::unroll, l);
  step by{verb::tensorize, 1, {row_tile.inner}};
  by.by = of.unit;
  take(by);
}
/// Of an operand, by dimension, how much a block takes at a time of what that does not divide. To be asked before a copy takes its place.
WEFT_DECL void gpu_plan::cut_operand(int stage, int tensor, sequence<std::int64_t>& tile, int axis, std::int64_t length) const {
  tile.resize(static_cast<std::size_t>(program::at(s_.computation().tensors, tensor).rank), 0);
  if (view().extent(stage, axis) % length != 0) tile[static_cast<std::size_t>(dimension_of(stage, tensor, axis))] = length;
}
/// softmax(Q K^T) V and the like: a block has some rows of scores in its memory, all keys of them. Both products are a matrix unit's,
/// whose operands come a tile of keys at a time, with zeros behind their ends; what is known of a whole row a warp finds; the weights of a
/// tile of keys are made in front of the second product.
WEFT_DECL void gpu_plan::attention(attention_stages const& a) {
  reused_axes const inner = reuse(a.first), outer = reuse(a.second);
  matrix_operands const of_first = operands_of(a.first, inner), of_second = operands_of(a.second, outer);
  attention_numbers n = attention_numbers_of(a);
  rule_view const before = view();
  int const rank = before.stage(a.first).spatial, terms = before.stage(a.second).spatial, around = before.stage(a.second).spatial - 2;
  std::int64_t const queries = before.extent(a.first, inner.rows), keys = before.extent(a.first, inner.columns),
                     width = before.extent(a.first, rank), columns = before.extent(a.second, outer.columns);
  n.rows = choose(a.second, "block_m", n.rows, {16, 32, 64}, queries);
  n.ahead = choose(a.second, "stages", n.ahead + 1, {1, 2, 3}) - 1;
  for (int i = 0; i < 2; ++i)
    if (bytes_side_by_side(i == 0 ? of_first.tensors[1] : of_second.tensors[1]) < 4) n.ahead = 0;  // what threads copy they wait for
  if (std::int64_t const most = ceil_div(keys, n.keys) - 1; n.ahead > most) n.ahead = most;
  std::int64_t const threads = 32 * n.warps;
  bool const whole = queries % n.rows == 0 && keys % n.keys == 0;
  int const scores = scores_of(a);
  bool const at_once = whole && scores != a.first;  // what becomes of single sums is computed where they are
  for (std::int32_t s : a.between) {
    step one{verb::compute_inline};
    one.stage = s;
    rule_view const v = view();
    if (s != a.weights && !(at_once && s == scores) && v.stage(s).reduced == 0 && !v.is_inlined(s)) take(one);
  }
  int const weights_of = of_second.tensors[0], values = of_second.tensors[1], q = of_first.tensors[0], k = of_first.tensors[1];
  sequence<std::int64_t> of_values, of_weights, of_q, of_k;
  cut_operand(a.second, values, of_values, outer.columns, n.columns()), cut_operand(a.second, values, of_values, terms, n.keys);
  cut_operand(a.second, weights_of, of_weights, outer.rows, n.rows), cut_operand(a.second, weights_of, of_weights, terms, n.keys);
  cut_operand(a.first, q, of_q, inner.rows, n.rows), cut_operand(a.first, q, of_q, rank, of_first.unit->terms);
  cut_operand(a.first, k, of_k, inner.columns, n.keys), cut_operand(a.first, k, of_k, rank, of_first.unit->terms);
  // The second product, in whose blocks all stands.
  int const values_copy = add_stage(verb::cache_read, a.second, values);
  if (values_copy < 0) return;
  end_in_zeros(values_copy, of_values);
  end_in_zeros(a.weights, of_weights);
  tile_of_product(a.second, outer, of_second, n.rows, n.columns(), n.warp_columns, n.keys);
  auto const loop = [&](int stage, int position) { return program::at(program::at(s_.order, stage), position); };
  sequence<std::int32_t> blocks;
  for (int i = 0; i <= around; ++i) blocks.push_back(loop(a.second, i));
  bind(fused(blocks), thread_axis::block_x);
  int const tiles = loop(a.second, 2), reader = reader_behind(a.second);
  if (queries % n.rows == 0 && columns % n.columns() == 0) behind(a.second);
  int const home = reader >= 0 && behind_[static_cast<std::size_t>(reader)] ? reader : a.second, at = loop(home, 0);
  fill_rows(values_copy, values, tiles, n.keys * n.columns(), threads);
  fill_rows(a.weights, weights_of, tiles, n.rows * n.keys, threads);
  // What is known of rows.
  for (int s = a.second; --s > a.first;) {  // what reads a stage is placed before it
    if (!a.holds(s)) continue;
    stage_info const of = view().stage(s);
    if (of.reduced == 0) continue;
    taken_apart const made = rfactor(s, view().loop(s, of.spatial), keys >= 32 ? 32 : 16, false);
    if (made.parts < 0 || !place(verb::compute_at, s, at)) continue;
    parts const row = split(view().loop(s, inner.rows), n.warps);
    bind(row.inner, thread_axis::warp);
    bind(made.v, thread_axis::lane);
    place(verb::compute_at, made.parts, made.v);
  }
  // The first one.
  int const copies[2] = {add_stage(verb::cache_read, a.first, q), add_stage(verb::cache_read, a.first, k)};
  if (copies[0] < 0 || copies[1] < 0) return;
  end_in_zeros(copies[0], of_q);
  end_in_zeros(copies[1], of_k);
  tile_of_product(a.first, inner, of_first, n.rows, n.keys, n.keys / n.warps, 0);
  int holds = a.first;
  if (at_once) {
    step one{verb::reverse_compute_inline};
    one.stage = scores;
    if (may(one) && take(one)) holds = scores;
    one.what = verb::compute_inline;
    if (holds != scores) take(one);
  }
  place(verb::compute_at, holds, at);
  step shared{verb::set_scope}, padded{verb::storage_align};
  shared.stage = padded.stage = holds;
  shared.word = static_cast<std::uint8_t>(scope::shared);
  for (std::int64_t number : {std::int64_t(rank - 2), std::int64_t(8), std::int64_t(4)}) padded.numbers.push_back(number);
  for (step const& one : {shared, padded})
    if (may(one)) take(one);
  std::int64_t const whole_width = ceil_div(width, 16) * 16;
  fill_rows(copies[0], q, loop(holds, rank - 2), n.rows * whole_width, threads);
  fill_rows(copies[1], k, loop(holds, rank - 1), n.keys * whole_width, threads);
  run_ahead(copies[1], k, n.ahead);
  run_ahead(values_copy, values, n.ahead);
}

// --- in blocks of keys ------------------------------------------------------------------------------------------------
/// Attention as ops::attention has it in blocks of keys: what joins the numbers of a block with those of all before, of what it joins,
/// and where the result is made; none: state is -1.
WEFT_DECL gpu_plan::attention_blocks gpu_plan::blocks_of(int state) const {
  rule_view const v = view();
  program const& p = v.p();
  stage_info const& of = v.stage(state);
  attention_blocks b;
  if (of.results != 3 || of.reduced != 1 || of.by != nullptr || of.scanned >= 0 || v.is_output(state) || of.spatial < 2) return {};
  bool fine = true;
  sequence<std::int32_t> loads;
  each_load(p, state, [&](node const& x) {
    int const from = program::at(p.tensors, x.a).stage;
    if (from < 0) fine = false;
    else if (reuse(from).rows >= 0) fine = fine && (b.of.second < 0 || b.of.second == from), b.of.second = from;
    else loads.push_back(from);
  });
  int const second = b.of.second;
  if (!fine || second < 0 || v.stage(second).spatial != of.spatial + 1) return {};
  for (std::int32_t s : loads) fine = fine && is_between(s, b.of);
  each_load(p, second, [&](node const& x) {
    int const from = program::at(p.tensors, x.a).stage;
    if (from < 0 || v.is_inlined(from)) fine = false;
    else if (b.of.holds(from)) b.of.weights = from;
    else b.values = from;
  });
  if (!fine || b.of.first < 0 || b.of.weights < 0 || b.values < 0 || v.stage(b.values).reduced > 0) return {};
  sequence<sequence<std::int32_t>> const readers = readers_of(p);
  auto const only = [&](int stage) { return readers[static_cast<std::size_t>(stage)].size() == 1 ? readers[static_cast<std::size_t>(stage)][0] : -1; };
  if (only(second) != state || only(b.values) != second) return {};
  for (int s = 0; s < static_cast<int>(readers.size()); ++s)
    for (std::int32_t r : readers[static_cast<std::size_t>(s)])
      if (s != second && b.of.holds(s)) fine = fine && (b.of.holds(r) || r == state);
  b.home = only(state);
  while (b.home >= 0 && v.is_inlined(b.home)) b.home = only(b.home);
  if (!fine || b.home < 0 || v.stage(b.home).reduced > 0 || v.stage(b.home).results != 1 || v.stage(b.home).spatial != of.spatial) return {};
  int const rank = v.stage(b.of.first).spatial;
  reused_axes const inner = reuse(b.of.first), outer = reuse(second);
  if (rank != of.spatial || inner.rows != rank - 2 || inner.columns != rank - 1 || outer.rows != rank - 2 || outer.columns != rank) return {};
  b.state = state;
  return b;
}
/// As attention_numbers_of; 0 rows: blocks are of no multiple of 16 keys, or do not fit.
WEFT_DECL gpu_plan::attention_numbers gpu_plan::numbers_of_blocks(attention_blocks const& b) const {
  rule_view const v = view();
  int const rank = v.stage(b.state).spatial;
  std::int64_t const queries = v.extent(b.of.first, rank - 2), keys = v.extent(b.of.first, rank - 1), width = v.extent(b.of.first, rank),
                     columns = v.extent(b.state, rank - 1), block = v.extent(b.of.second, rank + 1), whole_width = ceil_div(width, 16) * 16;
  if (block <= 0 || block % 16 != 0 || queries < 16 || width < 16) return {};
  double const count = v.iterations(b.of.first, false) / static_cast<double>(queries * keys);
  for (std::int64_t const rows : {64, 32, 16}) {
    bool const idle = rows > 16 && static_cast<double>(ceil_div(queries, rows)) * count < gpu_numbers::processors;
    if (queries < rows || idle) continue;
    for (std::int64_t const ahead : {1, 0}) {
      attention_numbers n{rows, block, 4, 16, ahead};
      while (n.warps > 1 && (block % (16 * n.warps) != 0 || 16 * n.warps > columns)) n.warps /= 2;
      n.warp_columns = ceil_div(columns, 16 * n.warps) * 16;
      n.bytes = rows * (block + 4) * 4 + rows * (block + 8) * 2 + rows * (whole_width + 8) * 2 + 2 * rows * (columns + 4) * 4 + 16 * rows +
                (ahead + 1) * block * (whole_width + 8 + n.columns() + 8) * 2;
      if (n.bytes <= gpu_numbers::matrix_staged_bytes && rows / 16 * (n.warp_columns / 16) <= 16) return n;
    }
  }
  return {};
}
/// A block has some rows of the state, which joins a block of keys after the other; all that this needs is computed in its loop.
WEFT_DECL void gpu_plan::attention_in_blocks(attention_blocks const& b) {
  int const first = b.of.first, second = b.of.second;
  reused_axes const inner = reuse(first), outer = reuse(second);
  matrix_operands const of_first = operands_of(first, inner), of_second = operands_of(second, outer);
  attention_numbers n = numbers_of_blocks(b);
  int const rank = view().stage(b.state).spatial;
  int const q = of_first.tensors[0], k = of_first.tensors[1], weights = of_second.tensors[0], values = of_second.tensors[1];
  std::int64_t const columns = view().extent(b.state, rank - 1), width = ceil_div(view().extent(first, rank), 16) * 16, threads = 32 * n.warps;
  n.ahead = choose(second, "stages", n.ahead + 1, {1, 2, 3}) - 1;
  for (int tensor : {k, values})
    if (bytes_side_by_side(tensor) < 4) n.ahead = 0;  // what threads copy they wait for
  for (std::int32_t s : b.of.between) {
    step one{verb::compute_inline};
    one.stage = s;
    rule_view const v = view();
    if (s != b.of.weights && v.stage(s).reduced == 0 && !v.is_inlined(s)) take(one);
  }
  sequence<std::int64_t> of_q, of_k, of_weights, of_values;
  cut_operand(first, q, of_q, inner.rows, n.rows), cut_operand(first, q, of_q, rank, of_first.unit->terms);
  cut_operand(first, k, of_k, inner.columns, n.keys), cut_operand(first, k, of_k, rank, of_first.unit->terms);
  cut_operand(second, weights, of_weights, outer.rows, n.rows), cut_operand(second, values, of_values, outer.columns, n.columns());
  end_in_zeros(b.of.weights, of_weights);
  end_in_zeros(b.values, of_values);
  auto const loop = [&](int stage, int position) { return program::at(program::at(s_.order, stage), position); };
  auto const shared = [&](int stage) {
    step one{verb::set_scope};
    one.stage = stage;
    one.word = static_cast<std::uint8_t>(scope::shared);
    if (may(one)) take(one);
  };
  std::int64_t const lanes = columns % 32 == 0 ? 32 : 16, queries = view().extent(first, rank - 2);
  // Masks, as a branch would have all of a thread's elements, with two exp for each, once more, and lanes of one warp would take both ways.
  tail const of_rows = queries % n.rows == 0 ? tail::guard : tail::mask, of_lanes = columns % lanes == 0 ? tail::guard : tail::mask;
  // Rows of a warp, some elements of each lane: so does the result, and so does the state inside of the loop over blocks of keys.
  auto const rows_of_warps = [&](int stage, int row_loop, sequence<std::int32_t> order) {
    rule_view const v = view();
    parts const row = split(row_loop, n.warps, of_rows), lane = split(v.loop(stage, rank - 1), lanes, of_lanes);
    for (int l : {row.inner, lane.inner, row.outer, lane.outer}) order.push_back(l);
    reorder(order);
    bind(row.inner, thread_axis::warp);
    bind(lane.inner, thread_axis::lane);
    mark(verb::unroll, row.outer);
    mark(verb::unroll, lane.outer);
  };
  auto const batches = [&](int stage) {
    sequence<std::int32_t> all;
    for (int a = 0; a + 2 < rank; ++a) all.push_back(view().loop(stage, a));
    return all;
  };
  {
    parts const block = split(view().loop(b.home, rank - 2), n.rows);
    sequence<std::int32_t> blocks = batches(b.home);
    blocks.push_back(block.outer);
    rows_of_warps(b.home, block.inner, blocks);
    bind(fused(blocks), thread_axis::block_x);
  }
  int const at = loop(b.home, 0);
  if (!place(verb::compute_at, b.state, at)) return;
  int const keys = view().loop(b.state, rank);
  parts const state_row = split(view().loop(b.state, rank - 2), n.rows, of_rows);  // which may be fewer: written out all the same
  sequence<std::int32_t> around = batches(b.state);
  for (int l : {keys, state_row.outer}) around.push_back(l);
  rows_of_warps(b.state, state_row.inner, around);
  shared(b.state);
  place(verb::compute_at, second, keys);
  tile_of_product(second, outer, of_second, n.rows, n.columns(), n.warp_columns, 0);
  shared(second);
  fill_rows(b.values, values, keys, n.keys * n.columns(), threads);
  for (int s = second; --s > first;) {  // what reads a stage is placed before it
    if (s == b.of.weights) fill_rows(s, weights, keys, n.rows * n.keys, threads);
    if (!b.of.holds(s)) continue;
    stage_info const of = view().stage(s);
    if (of.reduced == 0) continue;
    taken_apart const made = rfactor(s, view().loop(s, of.spatial), n.keys % 32 == 0 ? 32 : 16, false);
    if (made.parts < 0 || !place(verb::compute_at, s, keys)) continue;
    parts const row = split(view().loop(s, rank - 2), n.warps);
    bind(row.inner, thread_axis::warp);
    bind(made.v, thread_axis::lane);
    place(verb::compute_at, made.parts, made.v);
  }
  int const copies[2] = {add_stage(verb::cache_read, first, q), add_stage(verb::cache_read, first, k)};
  if (copies[0] < 0 || copies[1] < 0) return;
  end_in_zeros(copies[0], of_q);
  end_in_zeros(copies[1], of_k);
  place(verb::compute_at, first, keys);
  tile_of_product(first, inner, of_first, n.rows, n.keys, n.keys / n.warps, 0);
  shared(first);
  step padded{verb::storage_align};
  padded.stage = first;
  for (std::int64_t number : {std::int64_t(rank - 2), std::int64_t(8), std::int64_t(4)}) padded.numbers.push_back(number);
  if (may(padded)) take(padded);
  fill_rows(copies[0], q, at, n.rows * width, threads);
  fill_rows(copies[1], k, keys, n.keys * width, threads);
  run_ahead(copies[1], k, n.ahead);
  run_ahead(b.values, values, n.ahead);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
