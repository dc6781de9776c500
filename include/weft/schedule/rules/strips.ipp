#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

// --- how much of each stage a tile of another one reads -----------------------------------------------------------
WEFT_DECL index_range parts_read::of_index(int id, int reader) {
  id = v_.chosen(id);
  node const& n = v_.p().at(id);
  if (n.kind == op::literal) return {n.value, n.value};
  if (n.kind == op::axis) {
    stage_info const& s = v_.stage(reader);
    int const a = n.a - s.first_axis;
    if (a < 0 || a >= s.axes()) return {};
    if (a < s.spatial && !everywhere_) return (*regions_.find(reader))[static_cast<std::size_t>(a)];
    return {0, v_.extent(reader, a) - 1};
  }
  if (std::int64_t const number = n.kind == op::extent ? v_.value(id) : -1; number >= 0) return {number, number};
  if (arity(n.kind) == 0 || n.type != dtype::i64 || --fuel_ < 0) return {};
  if (mirror_image const image(v_.p(), n); image.place >= 0) {
    std::int64_t const period = v_.value(image.period), sum = v_.value(image.sum);
    index_range const x = of_index(image.place, reader);
    if (period < 0 || (sum != period && sum != period - 1) || !x.known() || 2 * x.low < -period || x.high > sum) return {};
    std::int64_t const high = x.high < sum - x.low ? x.high : sum - x.low, back = sum - period - x.low;
    return {x.low < sum - x.high ? x.low : sum - x.high, high < back ? back : high};
  }
  bool const choice = n.kind == op::select;
  index_range const a = of_index(choice ? n.b : n.a, reader);
  index_range const b = choice ? of_index(n.c, reader) : n.b >= 0 ? of_index(n.b, reader) : index_range{0, 0};
  constexpr std::int64_t far = std::int64_t(1) << 30;
  if (!a.known() || !b.known() || a.low < -far || a.high > far || b.low < -far || b.high > far) {
    bool const bound = n.kind == op::min || n.kind == op::max;  // of which one side is enough, and the extent has the other
    return bound && a.known() ? a : bound && b.known() ? b : index_range{};
  }
  auto const least = [](std::int64_t x, std::int64_t y) { return x < y ? x : y; };
  auto const most = [](std::int64_t x, std::int64_t y) { return x < y ? y : x; };
  switch (n.kind) {
    case op::add: return {a.low + b.low, a.high + b.high};
    case op::sub: return {a.low - b.high, a.high - b.low};
    case op::neg: return {-a.high, -a.low};
    case op::mul: {
      std::int64_t const x = a.low * b.low, y = a.low * b.high, z = a.high * b.low, w = a.high * b.high;
      return {least(least(x, y), least(z, w)), most(most(x, y), most(z, w))};
    }
    case op::floor_div: return b.low == b.high && b.low > 0 ? index_range{floor_div(a.low, b.low), floor_div(a.high, b.low)} : index_range{};
    case op::floor_mod:
      if (b.low != b.high || b.low <= 0) return {};
      if (floor_div(a.low, b.low) != floor_div(a.high, b.low) || !stays_in_period(n.a, b.low, reader)) return {0, b.low - 1};
      return {a.low - floor_div(a.low, b.low) * b.low, a.high - floor_div(a.low, b.low) * b.low};
    case op::min: return {least(a.low, b.low), least(a.high, b.high)};
    case op::max: return {most(a.low, b.low), most(a.high, b.high)};
    case op::select: return {least(a.low, b.low), most(a.high, b.high)};
    default: return {};
  }
}
/// Whether an index has the same quotient for all of the reader: else a part for any of its tiles begins and ends where the tensor does.
WEFT_DECL bool parts_read::stays_in_period(int id, std::int64_t period, int reader) {
  bool const before = everywhere_;
  everywhere_ = true;
  index_range const all = of_index(id, reader);
  everywhere_ = before;
  return all.known() && floor_div(all.low, period) == floor_div(all.high, period);
}
WEFT_DECL sequence<index_range> parts_read::whole(int stage) const {
  sequence<index_range> all;
  for (int a = 0; a < v_.stage(stage).spatial; ++a) all.push_back({0, v_.extent(stage, a) - 1});
  return all;
}
/// Notes what `reader`, of which its own part is known, reads of all stages.
WEFT_DECL void parts_read::read_by(int reader) {
  program const& p = v_.p();
  each_load(p, reader, [&](node const& x) {
    int const from = program::at(p.tensors, x.a).stage;
    if (from < 0) return;
    sequence<index_range>& region = regions_.of(from);
    sequence<index_range> const all = whole(from);
    bool const first = region.empty();
    if (first) region = all, met_ += !all.empty();
    for (int d = 0; d < x.c && static_cast<std::size_t>(d) < all.size(); ++d) {
      auto const at = static_cast<std::size_t>(d);
      fuel_ = 400;
      index_range r = of_index(program::at(p.operands, x.b + d), reader);
      if (!r.known()) r = all[at];
      if (r.low < 0) r.low = 0;
      if (r.high > all[at].high) r.high = all[at].high;
      if (first || r.low < region[at].low) region[at].low = r.low;
      if (first || r.high > region[at].high) region[at].high = r.high;
    }
  });
}
/// Those of a part; along the last dimension whole vectors of so many lanes, and one more for the loop around them; where it is shorter than a
/// vector, along the last two. But for the dimension `left_out`.
WEFT_DECL double parts_read::elements(int stage, std::int64_t lanes, int left_out) const {
  sequence<index_range> const& region = *regions_.find(stage);
  double count = 1;
  std::int64_t together = 1;
  for (std::size_t d = region.size(); d-- > 0;) {
    std::int64_t const n = (region[d].high < region[d].low ? 1 : region[d].high - region[d].low + 1) * together;
    together = 1;
    if (static_cast<int>(d) == left_out) continue;
    bool const last = lanes > 0 && d + 1 == region.size(), is_short = last && d > 0 && static_cast<int>(d) - 1 != left_out && v_.extent(stage, static_cast<int>(d)) < v_.lanes(stage);
    bool const vectors = lanes > 0 && !is_short && (last || (d + 2 == region.size() && v_.extent(stage, static_cast<int>(d) + 1) < v_.lanes(stage)));
    if (is_short) together = n;
    else count *= static_cast<double>(vectors ? (ceil_div(n, lanes) + 1) * lanes : n);
  }
  return count;
}

// --- which stages are computed in tiles of which nest --------------------------------------------------------------
/// Lanes of the vectors that a loop over elements is cut into: few operations are done for several vectors at once.
WEFT_DECL std::int64_t rule_plan::vector_width(std::int64_t lanes, double operations) {
  return lanes * (operations <= 8 ? 4 : operations <= 20 ? 2 : 1);
}
/// The dimension of `stage` along which its readers' rows move forward; -1: none, or none known. A row of the tile moves all that is read
/// of it by the same number of elements, `speed`, so what is kept is as much for each row.
WEFT_DECL int rule_plan::sliding_dimension(int stage, sequence<std::int32_t> const& readers, node_map<tile_part> const& inside,
                                           std::int64_t& speed) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  int found = -1;
  bool fine = true;
  for (std::int32_t r : readers) {
    tile_part const* const reader = inside.find(r);
    if (reader == nullptr || reader->row < 0) return -1;
    each_load(v.p(), r, [&](node const& x) {
      if (x.a != of.tensor) return;
      int moving = 0;
      for (int d = 0; d < x.c; ++d) {
        std::int64_t const by = v.coefficient(program::at(v.p().operands, x.b + d), v.stage(r).first_axis + reader->row);
        if (by == 0) continue;
        std::int64_t const all = by > 0 && by < 8 ? by * reader->speed : 0;
        fine = fine && all > 0 && all < 64 && (found < 0 || (found == d && speed == all));
        found = d, speed = all, ++moving;
      }
      fine = fine && moving == 1;
    });
  }
  return fine ? found : -1;
}
/// The axis of a stage whose rows tiles have, the next one being their columns: of pixels, also where a last axis shorter than a vector
/// (colours, levels) lies inside of them; -1: rows are shorter than a vector.
WEFT_DECL int rule_plan::row_of_tile(int stage) const {
  rule_view const v = view();
  int const last = v.stage(stage).spatial - 1;
  if (last < 1) return -1;
  if (v.extent(stage, last) >= v.lanes(stage)) return last - 1;
  return last < 2 || v.extent(stage, last) < 2 || v.extent(stage, last - 1) < v.lanes(stage) ? -1 : last - 2;
}
/// What it takes to compute `host`, and all that only it reads, in tiles of rows x columns, or row by row.
WEFT_DECL strips rule_plan::strips_of(int host, strips made, sequence<sequence<std::int32_t>> const& readers,
                                                 sequence<stage_work> const& takes) const {
  rule_view const v = view();
  stage_info const& of = v.stage(host);
  parts_read f(v);
  sequence<index_range> tile = f.whole(host);
  double tiles = 1;
  int const row = row_of_tile(host);
  for (int const axis : {row, row + 1}) {
    index_range& r = tile[static_cast<std::size_t>(axis)];
    std::int64_t const n = v.extent(host, axis), wanted = axis > row ? made.columns : made.slides ? made.at_once : made.rows, size = wanted < n ? wanted : n;
    if (!made.slides || axis > row) tiles *= static_cast<double>(ceil_div(n, size));
    r.low = n / size / 2 * size;  // one in the middle
    r.high = (r.low + size < n ? r.low + size : n) - 1;
  }
  f.enter(host, tile);
  node_map<tile_part> inside;
  inside.of(host) = {row, 1};
  f.read_by(host);
  made.bytes = f.elements(host) * size_bytes(program::at(v.p().tensors, of.tensor).type);
  made.work = v.iterations(host) * takes[static_cast<std::size_t>(host)].operations / static_cast<double>(takes[static_cast<std::size_t>(host)].lanes);
  made.cost = made.work;
  // What is stored whole comes back from a cache or from memory: some bytes a cycle (20 GB/s each way, EPYC, Zen 4).
  auto const way_back = [&](int t) {
    double const bytes = v.iterations(t, false) * size_bytes(program::at(v.p().tensors, v.stage(t).tensor).type);
    return bytes > static_cast<double>(in_.l2_bytes) / 2 ? 2 * bytes / 6 : 0;
  };
  sequence<std::int32_t> outside;  // what is read of stages that are stored whole
  int passed = 1;
  for (std::size_t i = static_cast<std::size_t>(place_of_[static_cast<std::size_t>(host)]); i-- > 0 && passed < f.met();) {  // what is not read has no part in it
    int const t = sorted_[i];
    if (!f.is_known(t)) continue;
    ++passed;
    auto const at = static_cast<std::size_t>(t);
    stage_info const& one = v.stage(t);
    bool all = !readers[at].empty() && !v.is_output(t) && one.by == nullptr && one.scanned < 0 && one.results == 1 && !is_read_whole(v.p(), t);
    for (std::int32_t r : readers[at]) all = all && inside.find(r) != nullptr;
    if (!v.is_inlined(t)) outside.push_back(t);
    if (!all || host_[at] != t) continue;
    tile_part moved;
    if (made.slides) moved.row = sliding_dimension(t, readers[at], inside, moved.speed);
    if (made.slides && moved.row < 0) continue;
    if (!v.is_inlined(t)) {
      double const lanes = static_cast<double>(takes[at].lanes), work = takes[at].operations / lanes, times = v.iterations(t) / v.iterations(t, false);
      double const element = size_bytes(program::at(v.p().tensors, one.tensor).type);
      std::int64_t const width = vector_width(takes[at].lanes, takes[at].operations);
      double const part = made.slides ? f.elements(t, width, moved.row) * static_cast<double>(v.extent(t, moved.row)) : f.elements(t, width);
      double const in_tiles = part * tiles * times * work;
      if (in_tiles > v.iterations(t) * work + way_back(t)) continue;
      std::int64_t rows = 1;
      if (made.slides)
        for (; static_cast<double>(rows) < f.elements(t) / f.elements(t, 0, moved.row); rows *= 2) {}
      double const kept = (made.slides ? f.elements(t, 0, moved.row) * static_cast<double>(rows) : f.elements(t)) * element;
      // What no longer fits begins a nest of its own: of a long chain each has as many stages as pay.
      double const limit = static_cast<double>(in_.l2_bytes) * (made.at_once > 1 ? 0.75 : 0.5);  // longer rings rather than narrower tiles
      if (made.bytes + kept >= limit) continue;
      made.stages.push_back({t, made.slides ? moved.row : -1, rows});
      made.cost += in_tiles, made.work += v.iterations(t) * work;
      made.bytes += kept;
      outside.pop_back();
    }
    inside.of(t) = moved;
    f.read_by(t);
  }
  for (std::size_t i = outside.size(); i-- > 0;) made.cost += way_back(outside[i]);
  return made;
}
/// The size of tiles in which the nest takes the fewest cycles for its work, what is left outside having been brought back: each stage that a
/// long chain leaves outside finds its place in a nest of its own, so that the chain is cut where its rings fill the cache, and narrow tiles
/// do not compute their edges twice for the sake of a few stages more (thirty windows on 1536 x 2560: 49.7 ms
/// one by one, 34.8 in two nests; EPYC, Zen 4, one thread, 2026-11-23).
WEFT_DECL strips rule_plan::best_strips(int host, sequence<sequence<std::int32_t>> const& readers, sequence<stage_work> const& takes) const {
  rule_view const v = view();
  stage_info const& of = v.stage(host);
  int const row = row_of_tile(host);
  std::int64_t const lanes = v.lanes(host), height = v.extent(host, row), width = v.extent(host, row + 1);
  std::int64_t const along = row + 2 == of.spatial ? 1 : v.extent(host, row + 2);
  strips best;
  for (std::int64_t columns = ceil_div(8 * lanes, along);; columns *= 2) {
    for (std::int64_t rows = 4; rows <= 128; rows *= 2) {
      strips const one = strips_of(host, {rows, columns, rows == 4}, readers, takes);
      if (!one.stages.empty() && (best.stages.empty() || one.cost * best.work < best.cost * one.work)) best = one;
      if (rows >= height) break;
    }
    if (columns >= width) break;
  }
  return best;
}
/// Whether a reader, or one behind an inlined reader, reads other elements than its own.
WEFT_DECL bool rule_plan::is_read_in_window(int stage, sequence<sequence<std::int32_t>> const& readers) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  for (std::int32_t r : readers[static_cast<std::size_t>(stage)]) {
    bool own = true;  // its element, or its row's
    each_load(v.p(), r, [&](node const& x) {
      for (int d = 0; d < x.c && x.a >= of.tensor && x.a < of.tensor + of.results; ++d) {
        node const& index = v.p().at(program::at(v.p().operands, x.b + d));
        own = own && index.kind == op::axis && index.a == v.stage(r).first_axis + d;
      }
    });
    if (!own || (v.is_inlined(r) && is_read_in_window(r, readers))) return true;
  }
  return false;
}
/// Stages that are read in a window, and those that these read: in tiles of the nest that reads them last, so that what one stage
/// leaves the next one finds in the second cache.
WEFT_DECL void rule_plan::find_strips() {
  sequence<sequence<std::int32_t>> const readers = needed_readers();
  host_.resize(readers.size(), 0), depth_.resize(readers.size(), 0), strips_.resize(readers.size(), {});
  for (std::size_t t = 0; t < readers.size(); ++t) host_[t] = static_cast<std::int32_t>(t);
  put_in_order(readers);
  rule_view const v = view();
  sequence<stage_work> takes(readers.size());
  for (std::size_t t = 0; t < readers.size(); ++t)
    if (int const s = static_cast<int>(t); !v.is_inlined(s)) takes[t] = {v.lanes(s), v.operations(s)};
  for (std::size_t place = sorted_.size(); place-- > 1;) {
    int const h = sorted_[place], row = row_of_tile(h);
    auto const at = static_cast<std::size_t>(h);
    stage_info const& of = v.stage(h);
    bool fine = row >= 0 && host_[at] == h && !v.is_inlined(h) && of.reduced == 0 && of.scanned < 0 && of.by == nullptr && of.spatial >= 2 && of.results == 1;
    for (int a = 0; a < of.spatial; ++a) fine = fine && v.extent(h, a) > 0;
    if (!fine || v.bytes_of(of.tensor) <= static_cast<double>(in_.l1_bytes)) continue;
    strips best;
    std::int64_t const lanes = v.lanes(h), height = v.extent(h, row), width = v.extent(h, row + 1);
    std::uint64_t key = static_cast<std::uint64_t>(h);
    for (int t = 0; in_.memory != nullptr && t < static_cast<int>(readers.size()); ++t)
      key = (key ^ static_cast<std::uint64_t>(2 * host_[static_cast<std::size_t>(t)] + v.is_inlined(t) + 1)) * 0x9e3779b97f4a7c15u, key ^= key >> 29;
    std::size_t known = 0;
    if (in_.memory != nullptr)
      while (known < in_.memory->keys.size() && in_.memory->keys[known] != key) ++known;
    if (in_.memory != nullptr && known < in_.memory->keys.size()) best = in_.memory->tiles[known];
    else best = best_strips(h, readers, takes);
    if (in_.memory != nullptr && known == in_.memory->keys.size()) in_.memory->keys.push_back(key), in_.memory->tiles.push_back(best);
    if (best.stages.empty()) continue;
    bool window = false;  // else they share its rows
    for (strips::part const& one : best.stages) window = window || is_read_in_window(one.stage, readers);
    if (!window) continue;
    if (in_.searched) {
      if (!choose(h, "tiles", true)) continue;
      std::int64_t const rows = choose(h, "tile_rows", best.slides ? 0 : best.rows, {0, 4, 8, 16, 32, 64, 128}, height);
      std::int64_t const columns = choose(h, "tile_columns", best.columns, {8 * lanes, 16 * lanes, 32 * lanes, 64 * lanes, 128 * lanes}, width);
      if (rows != (best.slides ? 0 : best.rows) || columns != best.columns) best = strips_of(h, {rows > 0 ? rows : 4, columns, rows == 0}, readers, takes);
    }
    if (best.slides && row + 2 == of.spatial) {
      std::int64_t rows = rows_that_share(h, of.spatial - 1, enough_shared);
      for (strips::part const& one : best.stages)
        if (std::int64_t const n = rows_that_share(one.stage, v.stage(one.stage).spatial - 1, enough_shared); n > rows) rows = n;
      for (rows = choose(h, "rows_at_once", rows, {1, 2, 4}, height); rows > 1; rows /= 2)
        if (strips const some = strips_of(h, {best.rows, best.columns, true, rows}, readers, takes); some.stages.size() == best.stages.size()) {
          best = some;
          break;
        }
    }
    for (strips::part const& one : best.stages) host_[static_cast<std::size_t>(one.stage)] = h;
    strips_[at] = best;
  }
}
WEFT_DECL void rule_plan::tiles_with_strips(int stage) {
  strips const tile = strips_[static_cast<std::size_t>(stage)];
  double const total = cycles(stage);
  int const row = row_of_tile(stage);
  bool const is_flat = row + 2 == view().stage(stage).spatial;  // else a short axis lies inside of pixels
  int const y = view().loop(stage, row);
  bool const is_shared = is_worth_a_fork(total);
  std::int64_t const strip = tile.slides ? (is_shared ? ceil_div(trips(y), in_.threads) : trips(y)) : tile.rows;
  // A thread's strip has several such steps: the loop over them is where the others are computed.
  std::int64_t at_once = tile.at_once;
  while (at_once > 1 && at_once >= strip) at_once /= 2;
  rows_of_guests_ = at_once;
  for (strips::part const& one : tile.stages) guest(one.stage, 0);
  rows_of_guests_ = 1;
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  int const x = v.loop(stage, row + 1);
  parts const rows = cut(y, strip);
  parts columns = cut(x, tile.columns);
  parts const some = at_once > 1 ? cut(rows.inner, at_once) : parts{rows.inner, -1};
  bool const together = is_flat && rows_that_share(stage, of.spatial - 1, enough_shared) > 1;
  if (!is_flat)
    if (int const all = fuse({static_cast<std::int32_t>(columns.inner), static_cast<std::int32_t>(v.loop(stage, row + 2))}); all >= 0) columns.inner = all;
  parts const lane = cut(columns.inner, at_once > 1 && together ? v.lanes(stage) : vector_width(v.lanes(stage), v.operations(stage)), is_flat ? tail::shift_inwards : tail::guard);
  sequence<std::int32_t> order;
  for (int l : {rows.outer, columns.outer}) order.push_back(l);
  if (tile.slides) order.push_back(some.outer);
  // Planes of an image share what does not hang on the plane.
  for (int a = 0; a < row; ++a) order.push_back(v.loop(stage, a));
  if (!tile.slides) order.push_back(rows.inner);
  if (!together) order.push_back(some.inner);
  order.push_back(lane.outer);
  if (together) order.push_back(some.inner);
  order.push_back(lane.inner);
  reorder(order);
  if (together) mark(verb::unroll, some.inner);
  mark(verb::vectorize, lane.inner);
  run_parallel({rows.outer, tile.slides ? -1 : columns.outer}, total);
  int const around = columns.outer >= 0 ? columns.outer : rows.outer, host = tile.slides ? some.outer : around;
  for (strips::part const& one : tile.stages) {
    if (host < 0 || !place(verb::compute_at, one.stage, host) || !tile.slides) continue;
    if (around >= 0) place(verb::store_at, one.stage, around);
    else place(verb::store_root, one.stage);
    step fold{verb::fold_storage, 1, {view().loop(one.stage, one.row)}, one.kept};
    take_if_legal(fold);
  }
  store_past_caches(stage);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
