// What elements next to each other read together, through the stages that are inlined.
#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Adds what `stage` reads where the three parts stand: at one element, and one and two steps along an axis further.
WEFT_DECL void elements_read::add(int stage, node_set const& as_inlined) {
  program const& p = v_.p();
  each_load(p, stage, [&](node const& x) {
    if (!known) return;
    if (tensors.size() >= 256 || --fuel_ < 0) return void(known = false);
    int const from = program::at(p.tensors, x.a).stage;
    bool const inlined = from >= 0 && (v_.is_inlined(from) || as_inlined.has(from));
    sequence<std::int64_t> const strides = inlined ? sequence<std::int64_t>() : v_.strides(x.a);
    sequence<index_range> at[3];
    std::int64_t place = 0, pitch = 0, last = 0;
    for (int d = 0; d < x.c && known; ++d) {
      int const id = program::at(p.operands, x.b + d);
      for (int i = 0; i < 3; ++i) {
        at[i].push_back(parts_[i].index(id, stage));
        known = known && at[i].back().known() && at[i].back().low == at[i].back().high;
      }
      if (!known || inlined) continue;
      std::int64_t const step = strides[static_cast<std::size_t>(d)], down = step_sum(at[1].back().low, at[0].back().low, -1);
      last = at[0].back().low;
      place = step_sum(place, last, step), pitch = step_sum(pitch, down, step);
      known = place != no_step && pitch != no_step && down == step_sum(at[2].back().low, at[1].back().low, -1);
    }
    if (!known) return;
    if (!inlined) {
      for (std::size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i] == x.a && places[i] == place && pitches[i] == pitch) return;
      tensors.push_back(x.a), places.push_back(place), pitches.push_back(pitch), shifts.push_back(last % lanes_);
      return;
    }
    for (int i = 0; i < 3; ++i) parts_[i].enter(from, at[i]);
    add(from, as_inlined);
  });
}
WEFT_DECL elements_read::elements_read(rule_view const& v, int stage, int axis, node_set const& as_inlined)
    : v_(v), parts_{parts_read(v), parts_read(v), parts_read(v)}, lanes_(v.lanes(stage)) {
  stage_info const& of = v.stage(stage);
  for (int i = 0; i < 3; ++i) {
    sequence<index_range> at;
    for (int a = 0; a < of.spatial; ++a) {  // in the middle, far from edges
      std::int64_t const middle = v.extent(stage, a) / 2 / lanes_ * lanes_ + (a == axis ? i : 0);
      at.push_back({middle, middle});
      known = known && v.extent(stage, a) >= 0;
    }
    parts_[i].enter(stage, at);
  }
  if (known) add(stage, as_inlined);
}
/// Elements that so many steps along the axis read, each once.
WEFT_DECL std::int64_t elements_read::together(std::int64_t steps) const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (std::int64_t s = 0; s < (pitches[i] == 0 ? 1 : steps); ++s) {
      bool fresh = true;  // not what an earlier step reads
      for (std::size_t k = 0; k < tensors.size() && fresh; ++k)
        for (std::int64_t before = 0; before < s && fresh; ++before)
          fresh = tensors[k] != tensors[i] || pitches[k] != pitches[i] || places[k] + before * pitches[k] != places[i] + s * pitches[i];
      count += fresh;
    }
  return count;
}
/// Cycles for a vector of each: one that begins within a line of the cache and ends in the next one takes two.
WEFT_DECL double elements_read::cycles() const {
  double count = 0;
  for (std::int64_t const s : shifts) count += s == 0 ? 1 : 2;
  return count;
}

/// How many rows are worth computing together: where each reads a window, those next to each other share most of what they read,
/// and what they make of it. 1: none.
///
/// What all rows read (a bias) is no window. Sums of many terms are computed together as long as what they read about fits the registers.
/// Where a window moves on by several rows, they are there, and a fifth less to load is enough (camera pipeline of 1536 x 2560: 13.8
/// -> 11.0 ms; EPYC, Zen 4, one thread, 2026-11-23). Where a row is asked for its number, each asks at its beginning, which together would be in
/// each vector.
WEFT_DECL std::int64_t rule_plan::rows_that_share(int stage, int axis, double part) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  int const row = of.spatial - 2;
  if (row < 0 || axis != of.spatial - 1 || in_.in_place || v.extent(stage, row) < 8 || is_asked(stage, row)) return 1;
  elements_read const reads(v, stage, row);
  if (!reads.known) return 1;
  std::int64_t alone = 0, fixed = 0;
  for (std::int64_t const pitch : reads.pitches) ++(pitch == 0 ? fixed : alone);
  for (std::int64_t const rows : {4, 2}) {
    std::int64_t const all = reads.together(rows) - fixed;
    bool const fits = v.operations(stage) <= 60 || 2 * all <= 3 * s_.limits.vector_registers;
    if (fits && static_cast<double>(all) <= part * static_cast<double>(rows * alone)) return rows;
    if (v.operations(stage) <= 60) return 1;
  }
  return 1;
}

/// By stage: the nest in which all that reads it is computed, as far as inlined stages lead there; -1: several, or none.
WEFT_DECL sequence<std::int32_t> rule_plan::only_readers(sequence<sequence<std::int32_t>> const& readers) const {
  rule_view const v = view();
  sequence<std::int32_t> found(readers.size(), -1);
  for (std::size_t t = readers.size(); t-- > 0;) {  // readers stand behind what they read
    bool one = true;
    for (std::int32_t r : readers[t]) {
      std::int32_t const at = v.is_inlined(r) ? found[static_cast<std::size_t>(r)] : r;
      one = one && at >= 0 && (found[t] < 0 || found[t] == at);
      found[t] = at;
    }
    if (!one) found[t] = -1;
  }
  return found;
}
/// Stages of an operation or two that one nest reads in windows: together they may cost less in its expression than what it takes to store
/// them and to load each of their elements again, where what they read is the same. (Squares and products of derivatives: 27 loads of
/// three stages are 18 of two. Harris of 1536 x 2560 7.0 -> 5.7 ms; EPYC, Zen 4, one thread, 2026-11-23.)
WEFT_DECL void rule_plan::inline_together() {
  sequence<sequence<std::int32_t>> const readers = needed_readers();
  sequence<std::int32_t> homes = only_readers(readers);
  for (int h = static_cast<int>(readers.size()) - 1; h > 0; --h) {
    rule_view const v = view();
    stage_info const& of = v.stage(h);
    if (v.is_inlined(h) || of.reduced > 0 || of.scanned >= 0 || of.by != nullptr || of.results > 1 || of.spatial < 2) continue;
    sequence<std::int32_t> group;
    node_set as_inlined;
    double saved = 0;
    for (int t = 0; t < h; ++t) {
      if (homes[static_cast<std::size_t>(t)] != h) continue;
      stage_info const& one = v.stage(t);
      step inlined{verb::compute_inline};
      inlined.stage = t;
      bool const fine = !v.is_inlined(t) && one.reduced == 0 && one.scanned < 0 && one.by == nullptr && one.results == 1 && !v.is_output(t) &&
                        !is_read_whole(v.p(), t) && v.operations(t) <= 4 && may(inlined);
      if (!fine) continue;
      elements_read const own(v, t, one.spatial - 1, as_inlined);
      if (!own.known) continue;
      // Its loads, half a cycle for each operation, and a store.
      saved += (own.cycles() + 0.5 * (v.operations(t) - static_cast<double>(own.tensors.size())) + 1) * v.iterations(t) / v.iterations(h);
      group.push_back(t);
    }
    if (group.size() < 2) continue;
    elements_read const before(v, h, of.spatial - 2);
    for (std::int32_t t : group) as_inlined.add(t);
    elements_read const after(v, h, of.spatial - 2, as_inlined);
    if (!before.known || !after.known) continue;
    double more = after.cycles() - before.cycles();
    for (std::size_t i = 0; i < before.tensors.size(); ++i)
      for (std::int32_t t : group)
        if (v.stage(t).tensor == before.tensors[i]) more += 0.5 * (v.operations(t) - static_cast<double>(elements_read(v, t, v.stage(t).spatial - 1).tensors.size()));
    if (!choose(h, "inline_all", more < saved)) continue;
    for (std::int32_t t : group) {
      step one{verb::compute_inline};
      one.stage = t;
      if (may(one)) take(one);
    }
    homes = only_readers(readers);
  }
}

/// How often a stage would be evaluated in each nest if `reader` alone read it and it were inlined; inlined readers are looked through. Nests
/// are in order.
WEFT_DECL auto rule_plan::evaluations(rule_view const& v, int stage, int reader, sequence<sequence<std::int32_t>> const& readers) const
    -> sequence<times_in_nest> {
  double const places = places_read(v, reader, stage);
  sequence<times_in_nest> by_nest;
  if (!v.is_inlined(reader)) by_nest.push_back({static_cast<std::int32_t>(reader), v.iterations(reader) * places});
  else
    for (std::int32_t r : readers[static_cast<std::size_t>(reader)])
      for (times_in_nest const& around : evaluations(v, reader, r, readers)) {
        std::size_t at = by_nest.size();
        while (at > 0 && by_nest[at - 1].nest >= around.nest) --at;
        if (at == by_nest.size() || by_nest[at].nest != around.nest) by_nest.insert(by_nest.begin() + at, {around.nest, 0});
        by_nest[at].times += around.times * places;
      }
  return by_nest;
}
/// A large stage that several nests read is stored whole, since it is in the tiles of none. Where all of them but one read so little of it that
/// it takes less to compute that again than to bring all of it back from memory, they do, and the one reads a copy, which tiles of it may hold. (The tones of
/// a local Laplacian: one nest blurs all eight of them, another one looks at two.)
WEFT_DECL void rule_plan::compute_again() {
  sequence<sequence<std::int32_t>> readers = needed_readers();
  for (int t = 0; t < static_cast<int>(s_.original->stages.size()); ++t) {
    rule_view const v = view();
    stage_info const of = v.stage(t);
    double const bytes = v.bytes_of(of.tensor);
    step inlined{verb::compute_inline};
    inlined.stage = t;
    bool const fine = in_.l2_bytes > 0 && bytes > static_cast<double>(in_.l2_bytes) && !v.is_inlined(t) && of.reduced == 0 && of.scanned < 0 &&
                      of.by == nullptr && of.results == 1 && !v.is_output(t) && !is_read_whole(v.p(), t);
    if (!fine) continue;
    int most = -1;  // the reader that is to have the copy
    double largest = 0, again = 0;
    node_set nests;
    sequence<std::int32_t> of_most;
    for (std::int32_t r : readers[static_cast<std::size_t>(t)]) {
      double sum = 0;
      sequence<std::int32_t> own;
      for (times_in_nest const& one : evaluations(v, t, r, readers)) {
        sum += one.times;
        if (one.times > 0) own.push_back(one.nest);
      }
      again += sum;
      if (sum > largest) largest = sum, most = r, of_most.swap(own);
      for (std::int32_t n : own) nests.add(n);  // of all others
    }
    again -= largest;
    bool apart = most >= 0 && again > 0;
    for (std::int32_t n : of_most) apart = apart && !nests.has(n);
    double const work = v.operations(t) / static_cast<double>(v.lanes(t));
    // 20 GB/s each way, as for tiles, of which half is left: stores go on beside other work, and tiles compute their edges twice (two of four tones
    // again, where the other way is as quick: 25.2 -> 27.5 ms; two of eight: 53 -> 38; 1536 x 2560, EPYC, Zen 4, one thread, 2026-11-23).
    // Only tiles hold the copy: of a product, or of a sum of rows, it would be stored whole as the stage was.
    int holders = 0;
    for (std::int32_t n : of_most) {
      stage_info const& nest = v.stage(n);
      bool const has_tiles = nest.reduced == 0 && nest.scanned < 0 && nest.by == nullptr && nest.results == 1 && row_of_tile(n) >= 0;
      holders += has_tiles ? 1 : 2;
    }
    if (holders != 1) continue;
    if (!apart || again * work >= bytes / 6 || v.loads(t).size() > 2 || !may(inlined)) continue;
    if (!choose(t, "again", true)) continue;
    if (add_stage(verb::cache_read, most, of.tensor) >= 0) take(inlined), readers = needed_readers();
  }
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
