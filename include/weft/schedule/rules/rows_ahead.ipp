#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Whether the stages of a row may run rows ahead of it, and how far each: the row's own stage not, what a stage reads whole one row further than it, and what it reads at its own index
/// as far. Each of them walks the row once, in so many iterations of `width` elements.
WEFT_DECL rule_plan::rows_in_turn rule_plan::find_rows_in_turn(int stage, sequence<std::int32_t> const& guests, int depth) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  if (how_ == boldness::loops || in_.in_place || open_ != nullptr || of.reduced > 0 || of.scanned >= 0 || of.by != nullptr || depth < 1 || of.spatial != depth + 1) return {};
  rows_in_turn made;
  std::int64_t const lanes = v.lanes(stage);
  made.row = v.extent(stage, depth), made.width = 4 * lanes;
  if (made.row < 4 * made.width || made.row % made.width != 0) return {};
  auto const walks_row = [&](int s) {
    stage_info const& info = v.stage(s);
    int const k = info.reduced > 0 ? info.spatial : depth;
    if (info.scanned >= 0 || info.by != nullptr || info.results != 1 || v.lanes(s) != lanes || v.extent(s, k) != made.row) return false;
    if (info.reduced > 0) {
      for (int a = depth; a < info.spatial; ++a)
        if (v.extent(s, a) != 1) return false;
      return info.reduced == 1 && info.spatial >= depth && contiguous_reduced_axis(v, s) == k && order_may_change(s);
    }
    bool fine = info.spatial == depth + 1 && v.result(s).step(k) == 1;
    for (access const& one : v.loads(s)) fine = fine && (one.step(k) == 1 || one.step(k) == 0);
    return fine;
  };
  if (!walks_row(stage)) return {};
  for (std::int32_t g : guests)
    if (v.is_output(g) || !walks_row(g)) return {};
  // Whether `reader` has of a row of `t` the element at its own place of the row alone.
  auto const in_place = [&](int reader, int t) {
    stage_info const &info = v.stage(reader), &read = v.stage(t);
    if (v.is_inlined(reader) || read.reduced > 0) return false;
    int const k = info.reduced > 0 ? info.spatial : depth;
    bool own = true;
    each_load(v.p(), reader, [&](node const& x) {
      if (x.a == read.tensor) own = own && x.c == depth + 1 && v.same_axis(program::at(v.p().operands, x.b + depth)) == info.first_axis + k;
    });
    return own;
  };
  sequence<sequence<std::int32_t>> const readers = needed_readers();
  made.ahead.resize(readers.size(), 0);
  for (std::size_t place = sorted_.size(); place-- > 0;) {  // readers first
    int const t = sorted_[place];
    auto const at = static_cast<std::size_t>(t);
    bool guest = false;
    for (std::int32_t g : guests) guest = guest || g == t;
    if (t == stage || !(guest || v.is_inlined(t))) continue;
    for (std::int32_t r : readers[at]) {
      std::int64_t const needed = made.ahead[static_cast<std::size_t>(r)] + (guest && !in_place(r, t) ? 1 : 0);
      if (needed > made.ahead[at]) made.ahead[at] = needed;
    }
    if (guest && made.ahead[at] > made.most) made.most = made.ahead[at];
  }
  return made.most >= 1 && made.most <= 4 && guests.size() < 8 ? made : rows_in_turn{};
}
/// Rows of several stages, such as those of a softmax, of which each runs rows ahead of what reads it, in one loop over the row: one waits for memory while another computes
/// and a third one stores, which a processor does not find by itself where a whole row lies in between.
///
///     for r: max of row r; e^x of row r and its sum; row r stored   ->   for r: for k: max of row r + 2, e^x of row r + 1 and its sum, row r stored
WEFT_DECL bool rule_plan::rows_in_one_loop(int stage, sequence<std::int32_t> const& guests, int depth, double total) {
  rows_in_turn const made = find_rows_in_turn(stage, guests, depth);
  if (made.most == 0) return false;
  // Pieces of rows for each thread, since one begins and ends with rows whose stages run by themselves.
  constexpr std::int64_t least_rows = 64, pieces_each = 4;
  stage_info const of = view().stage(stage);
  std::int64_t const rows = view().extent(stage, depth - 1);
  bool const shares = is_worth_a_fork(total) && in_.threads > 1;
  double around = 1;
  for (int a = 0; a + 1 < depth; ++a) around *= static_cast<double>(view().extent(stage, a));
  bool const outer = shares && around >= 4.0 * static_cast<double>(in_.threads);  // then these are shared out
  std::int64_t pieces = !shares || outer ? 1 : pieces_each * in_.threads;
  while (pieces > in_.threads && rows < pieces * least_rows) pieces /= 2;
  if (rows < pieces * least_rows) return false;
  // Where one of the stages computes for long, or rows come from memory and go there. All that a row needs at once is near: registers for what four loops keep, and rows in the second cache.
  double work = 0;
  for (std::int32_t g : guests)
    if (double const own = view().operations(g); own > work) work = own;
  bool const fits = s_.limits.vector_registers >= 32 && 64 * made.row < in_.l2_bytes && !has_far_memory();
  double const bytes = static_cast<double>(made.row * size_bytes(program::at(view().p().tensors, of.tensor).type));
  bool const pays = work > 12 || (fills_caches(stage) && 4 * bytes <= static_cast<double>(in_.l1_bytes));
  if (!choose(stage, "rows_ahead", fits && pays)) return false;
  auto const ahead_of = [&](int s) { return made.ahead[static_cast<std::size_t>(s)]; };
  sequence<std::int32_t> loops;
  row_vectors_ = made.width / view().lanes(stage);
  sequence<step> asked;
  auto const walk = [&](int s) {
    sequence<std::int32_t> far;  // what comes from memory, by the first that reads it
    for (access const& one : view().loads(s)) {
      bool const known = s == stage || ahead_of(s) < made.most || program::at(view().p().tensors, one.tensor).stage >= 0 || view().bytes_of(one.tensor) <= static_cast<double>(in_.l2_bytes);
      if (!known && one.step(view().stage(s).reduced > 0 ? view().stage(s).spatial : depth) == 1) far.push_back(one.tensor);
    }
    int loop = -1;
    if (view().stage(s).reduced > 0) {
      if (in_parts(s)) loop = row_loops_.back();
    } else {
      parts const lane = split(view().loop(s, depth), made.width);
      mark(verb::vectorize, lane.inner);
      loop = lane.outer;
    }
    if (loop < 0) return;
    loops.push_back(static_cast<std::int32_t>(loop));
    for (std::int32_t t : far) {
      step asks{verb::prefetch, 1, {loop}, 2 * made.row / made.width};
      asks.tensor = t;
      asks.word = static_cast<std::uint8_t>(cache_level::l2);
      asked.push_back(asks);
    }
  };
  for (std::int64_t ahead = made.most; ahead >= 0; --ahead)
    for (int const t : sorted_) {
      bool own = t == stage && ahead == 0;
      for (std::int32_t g : guests) own = own || (g == t && ahead_of(g) == ahead);
      if (own) walk(t);
    }
  row_vectors_ = 0, row_loops_.clear();
  int row = view().loop(stage, depth - 1);
  sequence<std::int32_t> shared;
  for (int a = 0; a + 1 < depth; ++a) shared.push_back(view().loop(stage, a));
  if (pieces > 1) {
    parts const piece = split(row, ceil_div(rows, pieces));
    shared.push_back(static_cast<std::int32_t>(piece.outer));
    row = piece.inner;
  }
  run_parallel(shared, total);
  for (std::size_t i = guests.size(); i-- > 0;) place(verb::compute_at, guests[i], row);
  for (std::int64_t ahead = made.most; ahead > 0; --ahead)
    for (std::int32_t g : guests)
      if (ahead_of(g) == ahead) {
        step early{verb::pipeline, 0, {}, ahead};
        early.stage = g;
        take_if_legal(early);
      }
  for (step const& one : asked) take_if_legal(one);
  // Copies of a row are half a page apart: a load waits for a store in front of it whose address is the same in its last twelve bits, and some 20 vectors in front stores still wait for
  // memory (softmax of 4096 x 1024 f32, two copies a third of a page apart 28 to 32 GB/s, half of one 37).
  for (std::int32_t g : guests) {
    std::int64_t const line = 64 / size_bytes(program::at(view().p().tensors, view().stage(g).tensor).type), page = 64 * line;
    if (view().stage(g).reduced > 0 || made.row % page != 0) continue;
    step padded{verb::storage_align};
    padded.stage = g;
    for (std::int64_t number : {std::int64_t(depth - 1), page, 32 * line}) padded.numbers.push_back(number);
    take_if_legal(padded);
  }
  step one{verb::jam, static_cast<std::int32_t>(loops.size())};
  for (std::size_t i = 0; i < loops.size(); ++i) one.loops[i] = loops[i];
  if (loops.size() >= 2) take_if_legal(one);
  store_past_caches(stage);
  return true;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
