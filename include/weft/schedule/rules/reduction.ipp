#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The last reduced axis along which all that is read is contiguous or stays, of a vector's length or of half or a quarter of a vector of narrow elements; -1: none.
WEFT_DECL int rule_plan::contiguous_reduced_axis(rule_view const& v, int stage) const {
  std::int64_t const least = v.lanes(stage) < 16 ? v.lanes(stage) : 16;
  stage_info const& of = v.stage(stage);
  sequence<access> const& loads = v.loads(stage);
  for (int k = of.axes(); k-- > of.spatial;) {
    bool any = false, fine = v.extent(stage, k) >= least;
    for (access const& one : loads) any = any || one.step(k) == 1, fine = fine && (one.step(k) == 1 || one.step(k) == 0);
    if (any && fine) return k;
  }
  return -1;
}
/// Whether parts of its terms may be joined: always where that leaves all bits as they are.
WEFT_DECL bool rule_plan::order_may_change(int stage) const {
  program const& p = s_.computation();
  associative_form const form(p, stage);
  if (!form.known()) return false;
  stage_info const& of = program::at(p.stages, stage);
  bool exact = true;
  for (int r = 0; r < of.results; ++r) exact = exact && !is_float(program::at(p.tensors, of.tensor + r).type);
  return exact || in_.reassociate;
}
/// The parts of a short row take longer to join, one after the other, than the row to sum: 64 of them 256 cycles. So they are
/// joined by vectors first, and those by shorter ones.
WEFT_DECL void rule_plan::join_in_steps(int stage, int v, std::int64_t count, std::int64_t terms) {
  int const depth = view().stage(stage).spatial;
  std::int64_t const lanes = view().lanes(stage);
  while (count > 4 && terms <= 64 * count && depth > 0) {
    std::int64_t const next = count > lanes ? lanes : 4;
    if (count % next != 0 || count == next) return;
    taken_apart const made = rfactor(stage, v, next, false);
    if (made.parts < 0) return;
    host_in(made.parts, stage);
    rule_view const after = view();
    int const lane = after.loop(made.parts, depth);
    reorder({after.loop(made.parts, depth + 1), lane});
    mark(verb::unroll, after.loop(made.parts, depth + 1));
    mark(verb::vectorize, lane);
    joins_.push_back(made.parts);
    count = next, v = made.v;
  }
}
/// Which rows of sums along axis `k` are taken together.
///
/// Where two rows of numbers or more are read beside each row from memory, and the same for all rows, two rows next to each other load
/// them once, and what the next ones read is asked for: 42 -> 57 GB/s for three such rows of 1024 floats (EPYC, Zen 4, decision 047);
/// four rows, whose lines meet in one set of the first cache, 45. From memory alone several streams come faster than one, so a thread reads in
/// eight places far apart and asks for each 2 KiB ahead: a product of a 4096 x 4096 matrix and a vector 27.8 -> 35.3 GB/s, of four places without asking 31.7
/// (decision 072); from the third cache one stream is the fastest (98 to 69).
///
/// With two units a row at a time, as it comes (GB/s by one thread, EPYC, Zen 5: with three rows of numbers 4096 x 1024 83 -> 98, 32768 x 1024 30 -> 38; a product of a 4096 x 4096 matrix and a
/// vector 48 -> 52, of four places 52).
WEFT_DECL rule_plan::row_group rule_plan::group_of_rows(int stage, int k) {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  constexpr std::int64_t together = 2;
  row_group g;
  int const row = of.spatial - 1;
  if (row < 0 || in_.in_place || open_ != nullptr) return g;  // of sizes that stay open it is not known what divides them
  int moving = 0, shared = 0;
  for (access const& one : v.loads(stage)) {
    if (one.step(k) == 0) continue;
    bool const moves = one.step(row) != 0 || v.iterations(stage, false) == 1;
    if (moves) g.streamed = one.tensor;
    ++(moves ? moving : shared);
  }
  if (moving != 1) return g;
  std::int64_t const there = v.extent(stage, row);
  double const bytes = v.bytes_of(g.streamed);
  auto const full = [&](std::int64_t rows) { return there % rows == 0 && there >= 4 * rows * in_.threads; };
  if (full(together) && shared >= 2 && in_.l2_bytes > 0 && bytes > static_cast<double>(in_.l2_bytes)) {
    g.rows = choose(stage, "rows", has_two_units() ? 1 : together, {1, 2, 4}, there % 4 == 0 ? 4 : together);
  } else if (in_.l3_bytes > 0 && bytes > static_cast<double>(in_.l3_bytes > in_.l2_bytes ? in_.l3_bytes : in_.l2_bytes)) {
    bool const one_row = in_.threads == 1 && v.iterations(stage, false) == 1;
    std::int64_t const most = one_row || full(8) ? 8 : full(4) ? 4 : 1;
    g.rows = choose(stage, "streams", has_two_units() ? 1 : most, {1, 2, 4, 8}, most);
    g.apart = g.rows > 1;
  }
  return g;
}
/// Asks in a loop over vectors of `width` elements for what is read at least 16 KiB and a whole number of groups of rows further on, into
/// the second cache: the first one would not keep it. Of rows far apart 2 KiB further on in each.
WEFT_DECL void rule_plan::ask_for_rows(row_group const& g, int stage, int l, int row, std::int64_t width) {
  rule_view const v = view();
  std::int64_t pitch = no_step;
  for (access const& one : v.loads(stage))
    if (one.tensor == g.streamed) pitch = one.step(row);
  if (pitch <= 0) return;
  std::int64_t const ahead = (g.apart ? 2048 : 16384) / size_bytes(program::at(v.p().tensors, g.streamed).type), group = g.rows * pitch;
  // Of rows so long that their next group lies far behind, what follows in each.
  std::int64_t const distance = ceil_div(g.apart || group > 4 * ahead ? ahead : ceil_div(ahead, group) * group, width);
  step asks{verb::prefetch, 1, {l}, distance};
  asks.tensor = g.streamed;
  asks.word = static_cast<std::uint8_t>(cache_level::l2);
  if (l >= 0 && may(asks)) take(asks);
}
/// Sums of each row by lanes of vectors; where there are too few rows for all threads, of pieces of them.
WEFT_DECL bool rule_plan::in_parts(int stage) {
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  int k = contiguous_reduced_axis(v, stage);
  if (how_ == boldness::loops || k < 0 || of.spatial > 6 || of.by != nullptr || !order_may_change(stage)) return false;
  bool const own_nest = host_[static_cast<std::size_t>(stage)] == stage;
  std::int64_t const terms = v.extent(stage, k);
  // Places of maxima are joined by a dozen operations each: for a row that is as short as there are parts of it (133,333 rows of 3 of f32 13.9 and 1.0 ms).
  if (of.results > 1 && is_open(v.loop(stage, k)) && terms <= 16) return false;
  std::int64_t lanes = v.lanes(stage);
  while (lanes > terms) lanes /= 2;
  row_group const group = own_nest && guests_of(stage).empty() ? group_of_rows(stage, k) : row_group{};
  // One stream from far away is read line by line, as it comes: with pages of 2 MiB, sum of 2^26 in one vector 17.3 GB/s, in four 16.2, with small pages and of 2^22 the same (a server with AMX).
  // Where it is asked for, of two tensors, and of one beside a vector, too.
  int streams = 0;
  for (access const& one : v.loads(stage)) streams += one.step(k) != 0 && v.bytes_of(one.tensor) > 2 * static_cast<double>(in_.l2_bytes);
  bool const asks = own_nest && group.rows <= 1 && streams > 0 && has_far_memory() && in_.past_far_bytes > 0;
  // 2 KiB ahead, and for a matrix beside a vector 16. A server with AMX, one thread, GB/s: sum of 2^26 16.5 -> 18.0 (17.2 with 16 KiB), with small pages 11.5 -> 11.7, of 2^20 26.2 -> 27.9; two tensors
  // of 2^26 16.6 -> 18.0 (17.0); a matrix of 16384 x 4096 and a vector 13.9 -> 18.6 (16.2 with 2 KiB), of 4096 x 4096 26.3 -> 28.6 (27.6).
  std::int64_t const ahead = v.loads(stage).size() > 1 && streams == 1 ? 16384 : 2048;
  bool const from_far = asks || (own_nest && streams == 1 && has_far_memory() && v.loads(stage).size() == 1);
  std::int64_t const vectors = group.apart || from_far ? 1 : terms >= 16 * lanes ? 4 : terms >= 4 * lanes ? 2 : 1;
  std::int64_t const count = lanes * (row_vectors_ > 0 ? row_vectors_ : choose(stage, "parts", vectors, {1, 2, 3, 4, 6, 8}, terms / lanes));
  double const total = cycles(stage);
  // A stream alone, as in has_half_vectors: sum of 2^22 80 -> 84 GB/s, of 2^26 29.7 -> 30.9, a product of 4096 x 4096 and a vector from memory 30.4 -> 32.1;
  // from the third cache, where the vector takes a load for each of the matrix, 90 -> 86 (decision 071).
  // Where memory is far whole ones: sum of 2^26 by one thread 11.3 -> 13.1 (a server with AMX), of less the same.
  bool const halves = own_nest && !has_far_memory() && (group.apart || v.loads(stage).size() == 1) && has_half_vectors(stage, v.operations(stage));
  int summed = stage;  // by lanes
  if (own_nest && is_worth_a_fork(total) && v.iterations(stage, false) < in_.threads) {
    int const first = v.extent(stage, of.spatial) >= in_.threads ? of.spatial : k;
    taken_apart const pieces = rfactor(stage, v.loop(stage, first), in_.threads, true);
    if (pieces.parts < 0) return false;
    summed = pieces.parts, k += 1;
  } else if (group.apart && v.iterations(stage, false) == 1) {
    taken_apart const pieces = rfactor(stage, v.loop(stage, k), group.rows, true);
    if (pieces.parts < 0) return false;
    host_in(pieces.parts, stage);
    summed = pieces.parts, k += 1;
  }
  rule_view const now = view();
  taken_apart const made = rfactor(summed, now.loop(summed, k), count, false);
  if (made.parts < 0) return false;
  host_in(made.parts, summed);
  if (choose(stage, "join_in_steps", true)) join_in_steps(summed, made.v, count, terms);
  rule_view const after = view();
  stage_info const inner = after.stage(made.parts), outer = after.stage(summed);
  int const lane = after.loop(made.parts, inner.spatial - 1), last = after.loop(made.parts, k + 1);
  if (row_vectors_ > 0) row_loops_.push_back(static_cast<std::int32_t>(last));
  sequence<std::int32_t> order, rows;
  for (int a = 0; a < outer.spatial; ++a) rows.push_back(after.loop(summed, a));
  parts own{};
  if (group.rows > 1) {
    int const row = after.loop(made.parts, inner.spatial - 2);
    if (!group.apart) own = split(row, group.rows);
    else if (summed != stage) own.inner = row;
    else if (parts const far = split(row, trips(row) / group.rows); far.outer >= 0) own.outer = far.inner, own.inner = far.outer;
  }
  order.push_back(own.outer);
  for (int a = inner.spatial; a < inner.axes(); ++a) order.push_back(after.loop(made.parts, a));
  parts half{-1, lane};
  if (halves) half = cut(lane, lanes / 2);
  order.push_back(half.outer);  // outside of the rows, which share what it reads
  order.push_back(own.inner);
  order.push_back(half.inner);
  reorder(order);
  mark(verb::unroll, half.outer);
  mark(verb::unroll, own.inner);
  mark(verb::vectorize, half.inner);
  if (group.apart) {  // in a nest of its own: rows far apart are no part of one loop around
    if (own.outer >= 0) run_parallel({static_cast<std::int32_t>(own.outer)}, total);
    ask_for_rows(group, made.parts, last, inner.spatial - 2, count);
    for (; !joins_.empty() && !rows.empty(); joins_.pop_back()) place(verb::compute_at, joins_.back(), rows.back());
    joins_.clear();
    return true;
  }
  if (group.rows > 1) ask_for_rows(group, made.parts, last, inner.spatial - 2, count);
  if (asks) ask_ahead(made.parts, last, inner.spatial - 1, count, 2 * static_cast<double>(in_.l2_bytes), ahead);
  if (summed != stage) {  // the pieces outermost
    sequence<std::int32_t> turned(1, rows.back());
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) turned.push_back(rows[i]);
    reorder(turned);
    mark(verb::parallel, turned[0]);
    rows = turned;
  } else if (own_nest) {
    parts const some = own.inner >= 0 ? split(rows.back(), group.rows) : parts{};
    if (some.outer >= 0) rows.back() = some.outer;
    run_parallel(rows, total);
    if (some.outer >= 0) {  // joined row by row
      for (; !joins_.empty(); joins_.pop_back()) place(verb::compute_at, joins_.back(), some.inner);
      return place(verb::compute_at, made.parts, some.outer);
    }
  }
  // What the others read is placed behind them.
  for (; !joins_.empty() && !rows.empty(); joins_.pop_back()) place(verb::compute_at, joins_.back(), rows.back());
  joins_.clear();
  if (!rows.empty()) place(verb::compute_at, made.parts, rows.back());
  return true;
}
/// Which of the last reduced axes, each of them shorter than a vector, are lanes together, and how many iterations of the one outside of them are.
///
/// Whole axes are, as long as all that is read along them is contiguous, and at least one is left outside. A step over all of them takes the time of an
/// addition, or that of its vectors where they are more; their parts are joined one by one.
WEFT_DECL rule_plan::short_parts rule_plan::short_parts_of(int stage) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  std::int64_t const lanes = v.lanes(stage);
  short_parts made;
  double terms = 1;
  for (int k = of.spatial; k < of.axes(); ++k) {
    if (v.extent(stage, k) < 1) return made;
    terms *= static_cast<double>(v.extent(stage, k));
  }
  // Whether axis `a` goes on where those inside of it, of so many elements, end.
  auto const goes_on = [&](int a, std::int64_t inside) {
    bool any = false;
    for (access const& one : v.loads(stage)) {
      bool const stays = one.step(a) == 0 && (made.axes.empty() || one.step(made.axes.back()) == 0);
      if (!stays && one.step(a) != inside) return false;
      any = any || !stays;
    }
    return any;
  };
  std::int64_t count = 1;
  int outer = -1;
  for (int k = of.axes(); k-- > of.spatial;) {
    if (v.extent(stage, k) == 1) continue;
    outer = k;
    if (!goes_on(k, count) || count * v.extent(stage, k) > 2 * lanes) break;
    made.axes.push_back(k), count *= v.extent(stage, k), outer = -1;
  }
  if (outer < 0 || made.axes.empty()) return {};
  made.outer = outer, made.is_one_row = goes_on(outer, count);
  double least = 0;
  for (std::int64_t n = 1; n <= 16 && n <= v.extent(stage, outer); ++n) {
    std::int64_t const vectors = made.is_one_row ? ceil_div(n * count, lanes) : n * ceil_div(count, lanes);
    if (vectors > 8) break;
    double const steps = terms / static_cast<double>(n * count) * (v.extent(stage, outer) % n == 0 ? 1 : 1.2);  // or lanes are asked whether they are there
    double const cycles = steps * static_cast<double>(vectors < 4 ? 4 : vectors) + static_cast<double>(n * count + 4 * n);
    if (least == 0 || cycles < least) least = cycles, made.times = n;
  }
  return least < 2 * terms ? made : short_parts{};  // one by one a term takes four cycles
}
/// Sums over several short axes, as of a list of pictures' colours, or of products over a window that is all of a picture: their terms are
/// shared out among lanes, axis by axis.
///
///     for m: for n: s += a[m, n]   ->   for mo: vectorized (mi, n): p[mi, n] += a[mo*8 + mi, n];  s = sum of p
WEFT_DECL bool rule_plan::in_short_parts(int stage) {
  if (how_ == boldness::loops || open_ != nullptr || view().stage(stage).results != 1 || !order_may_change(stage)) return false;
  bool const own_nest = host_[static_cast<std::size_t>(stage)] == stage;
  short_parts const own = short_parts_of(stage);
  stage_info const of = view().stage(stage);
  if (own.axes.empty() || of.spatial + static_cast<int>(own.axes.size()) > 6 || !choose(stage, "short_parts", true)) return false;
  double const total = cycles(stage);
  int summed = stage, more = 0;  // by lanes; axes that it has in front of those of `stage`
  if (own_nest && is_worth_a_fork(total) && view().iterations(stage, false) < in_.threads && view().extent(stage, of.spatial) >= in_.threads) {
    taken_apart const pieces = rfactor(stage, view().loop(stage, of.spatial), in_.threads, true);
    if (pieces.parts < 0) return false;
    summed = pieces.parts, more = 1;
  }
  int inner = summed;
  sequence<std::int32_t> made;
  auto const take_apart = [&](int axis, std::int64_t count) {
    taken_apart const one = rfactor(inner, view().loop(inner, axis + more), count, false);
    if (one.parts < 0) return false;
    host_in(one.parts, summed);
    made.push_back(static_cast<std::int32_t>(one.parts));
    inner = one.parts, ++more;
    return true;
  };
  if (own.times > 1 && !take_apart(own.outer, own.times)) return false;
  for (std::size_t i = own.axes.size(); i-- > 0;)
    if (!take_apart(own.axes[i], view().extent(inner, own.axes[i] + more))) return false;
  rule_view const v = view();
  stage_info const last = v.stage(inner);
  sequence<std::int32_t> order, lanes;
  for (int a = last.spatial; a < last.axes(); ++a) order.push_back(v.loop(inner, a));
  int const chains = own.times > 1 && !own.is_one_row ? v.loop(inner, last.spatial - static_cast<int>(made.size())) : -1;
  order.push_back(static_cast<std::int32_t>(chains));
  for (int a = last.spatial - static_cast<int>(made.size()) + (chains >= 0); a < last.spatial; ++a) lanes.push_back(v.loop(inner, a));
  for (std::int32_t l : lanes) order.push_back(l);
  reorder(order);
  int const lane = fuse(lanes);
  if (lane < 0) return false;
  mark(verb::unroll, chains);
  mark(verb::vectorize, lane);
  sequence<std::int32_t> rows;
  for (int a = 0; a < v.stage(summed).spatial; ++a) rows.push_back(v.loop(summed, a));
  if (summed != stage) {  // the pieces outermost
    sequence<std::int32_t> turned(1, rows.back());
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) turned.push_back(rows[i]);
    reorder(turned);
    mark(verb::parallel, turned[0]);
    rows = turned;
  } else if (own_nest) {
    run_parallel(rows, total);
  }
  for (std::int32_t one : made)
    if (!rows.empty()) place(verb::compute_at, one, rows.back());
  return true;
}
/// Places of maxima, and the like, in rows so short that joining the parts of one takes longer than the row: a vector has an element of each of some rows,
/// which a copy turns over in squares; the rows that are no vector come last, in code of their own, so that no square is asked which of them are there. Where they
/// cannot be copied, four are worked on side by side, element by element, each of which waits for the one before it.
///
///     for i: for k: m[i] = best(m[i], a[i, k])   ->   for io: { t[k, ii] = a[io*8 + ii, k];  for k: vectorized ii: m[io*8 + ii] = best(.., t[k, ii]) }
WEFT_DECL bool rule_plan::rows_in_lanes(int stage) {
  stage_info const of = view().stage(stage);
  int const row = of.spatial - 1, k = of.axes() - 1;
  std::int64_t const lanes = view().lanes(stage);
  bool const alone = host_[static_cast<std::size_t>(stage)] == stage && guests_of(stage).empty();
  if (!alone || how_ == boldness::loops || open_ != nullptr || of.results < 2 || of.reduced != 1 || row < 0 || of.scanned >= 0 || of.by != nullptr) return false;
  std::int64_t const there = view().extent(stage, row), terms = view().extent(stage, k);
  bool const divide = there % lanes == 0;
  if (there < 2 * lanes || terms < 2 || terms > 100 || can_sum_in_lanes(stage, 0)) return false;
  int turned = -1;
  for (access const& one : view().loads(stage)) {
    if (one.step(row) == 0 || one.step(row) == 1) continue;
    if (one.step(k) != 1 || one.step(row) == no_step || (turned >= 0 && turned != one.tensor)) return false;
    turned = one.tensor;
  }
  for (int r = 0; r < of.results; ++r)
    if (program::at(view().p().tensors, of.tensor + r).rank != of.spatial) return false;
  if (turned < 0 || !choose(stage, "rows_in_lanes", true)) return false;
  double const total = cycles(stage);
  bool const squares = view().result(stage).step(row) == 1 && can_pack(stage, turned, row) && dimension_of(stage, turned, row) >= 0;
  int const copy = squares ? turned_copy(stage, turned, row) : -1;
  rule_view const v = view();
  parts const some = cut(v.loop(stage, row), copy >= 0 ? lanes : 4, divide || copy < 0 ? tail::guard : tail::partition);
  sequence<std::int32_t> rows;
  for (int a = 0; a < row; ++a) rows.push_back(v.loop(stage, a));
  rows.push_back(static_cast<std::int32_t>(some.outer));
  sequence<std::int32_t> order = rows;
  order.push_back(v.loop(stage, k));
  order.push_back(static_cast<std::int32_t>(some.inner));
  reorder(order);
  mark(copy >= 0 ? verb::vectorize : verb::unroll, some.inner);
  run_parallel(rows, total);
  if (copy >= 0) place(verb::compute_at, copy, some.outer);
  return true;
}
/// Lets `stage` read a copy of `tensor` in which the dimension that axis `row` walks is the last one; -1: it cannot.
WEFT_DECL int rule_plan::turned_copy(int stage, int tensor, int row) {
  int const along = dimension_of(stage, tensor, row), rank = program::at(view().p().tensors, tensor).rank;
  int const copy = add_stage(verb::cache_read, stage, tensor);
  if (copy < 0) return -1;
  step layout{verb::transform_layout};
  layout.stage = copy;
  for (int d = 0; d <= rank; ++d)
    if (d != along)
      for (std::int64_t number : {d < rank ? d : along, 1, 0}) layout.numbers.push_back(number);
  layout.numbers.push_back(0);
  take(layout);
  forks_later_ = true;
  elementwise(copy, 0, true);
  forks_later_ = false;
  return copy;
}
WEFT_DECL void rule_plan::reduction(int stage) {
  tile_axes const t = axes_of_tile(stage);
  if (t.columns >= 0) return contraction(stage, t, stage);
  if (rows_in_lanes(stage) || in_parts(stage) || (!sums_in_lanes(stage, 0) && in_short_parts(stage))) return;
  sequence<std::int32_t> rows;
  for (std::int32_t l : s_.order[static_cast<std::size_t>(stage)])
    if (!s_.at(l).reduced && !s_.at(l).scanned && s_.at(l).kind == loop_kind::serial) rows.push_back(l);
  run_parallel(rows, cycles(stage));
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
