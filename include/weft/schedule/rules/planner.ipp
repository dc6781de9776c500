#include "weft/schedule/rules/planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

// --- steps ------------------------------------------------------------------------------------------------------
WEFT_DECL rule_plan::parts rule_plan::split(int l, std::int64_t factor, tail at_end) {
  step one{verb::split, 1, {l}, factor};
  one.word = static_cast<std::uint8_t>(at_end);
  if (!take(one)) return {};
  return {s_.at(l).outer, s_.at(l).inner};
}
WEFT_DECL rule_plan::parts rule_plan::cut(int l, std::int64_t factor, tail at_end) {
  if (l < 0 || (trips(l) >= 0 && trips(l) <= factor && !is_open(l))) return {-1, l};
  return split(l, factor, at_end);
}
WEFT_DECL void rule_plan::mark(verb what, int l) {
  step one{what, 1, {l}};
  if (l >= 0 && (!is_open(l) || may(one))) take(one);  // no open axis is written out whole
}
WEFT_DECL void rule_plan::reorder(sequence<std::int32_t> const& loops) {
  step one{verb::reorder};
  for (std::int32_t l : loops)
    if (l >= 0 && one.count < step::max_axes) one.loops[static_cast<std::size_t>(one.count++)] = l;
  bool same = true;  // as they stand
  for (int i = 1; i < one.count; ++i)
    same = same && s_.position(one.loops[static_cast<std::size_t>(i) - 1]) < s_.position(one.loops[static_cast<std::size_t>(i)]);
  if (!same) take(one);
}
WEFT_DECL int rule_plan::fuse(sequence<std::int32_t> const& loops) {
  if (loops.size() == 1) return loops[0];
  step one{verb::fuse};
  for (std::int32_t l : loops) one.loops[static_cast<std::size_t>(one.count++)] = l;
  return take_if_legal(one) ? s_.at(one.loops[0]).into : -1;
}
WEFT_DECL bool rule_plan::place(verb what, int stage, int l) {
  step one{what, l >= 0 ? 1 : 0, {l}};
  if (l < 0 && form_of(what).least_loops > 0) return false;
  if (l < 0) one.loops = {};
  one.stage = stage;
  return take_if_legal(one);
}
WEFT_DECL int rule_plan::add_stage(verb what, int stage, int tensor, std::uint8_t word) {
  step one{what};
  one.stage = stage;
  one.tensor = tensor;
  one.word = word;
  if (!take_if_legal(one)) return -1;
  host_.push_back(static_cast<std::int32_t>(host_.size())), depth_.push_back(0);
  return static_cast<int>(s_.order.size()) - 1;
}
WEFT_DECL rule_plan::taken_apart rule_plan::rfactor(int stage, int l, std::int64_t count, bool chunks) {
  step one{chunks ? verb::rfactor_chunks : verb::rfactor, 1, {l}, count};
  one.stage = stage;
  if (!take_if_legal(one)) return {};
  program const& p = s_.computation();
  host_.push_back(static_cast<std::int32_t>(host_.size())), depth_.push_back(0);
  return {static_cast<int>(p.stages.size()) - 1, program::at(s_.loop_of, program::at(p.stages, stage).first_reduced)};
}

// --- choices that a search may make in the rule's place ----------------------------------------------------------
WEFT_DECL short_name rule_plan::knob_name(int stage, std::string_view what) const {
  program const& p = s_.computation();
  std::string_view const of = program::at(p.tensors, program::at(p.stages, stage).tensor).name.view();
  short_name name;
  if (of.size() + 1 + what.size() <= short_name::capacity) name.append(of);
  else name.append("#").append(stage);  // as no stage is likely to be called
  name.append(".").append(what);
  return name;
}
WEFT_DECL std::int64_t rule_plan::choose(int stage, std::string_view what, std::int64_t own,
                                         std::initializer_list<std::int64_t> others, std::int64_t limit) {
  stage = known_as(stage);
  // Copies and parts of reductions come with what was chosen for the stages that the program has.
  bool const added = static_cast<std::size_t>(stage) >= s_.original->stages.size();
  if (!in_.searched || added || s_.knobs.size() == schedule::max_knobs) return own;
  sequence<std::int64_t> values(1, own);
  for (std::int64_t other : others) {
    bool there = other > limit;
    for (std::int64_t v : values) there = there || v == other;
    if (!there) values.push_back(other);
  }
  return values.size() == 1 ? own : s_.choose(knob_name(stage, what).view(), values);
}

// --- what is computed where ---------------------------------------------------------------------------------------
/// How many elements of `stage` an iteration of `reader` reads; one that is read twice counts once.
WEFT_DECL double rule_plan::places_read(rule_view const& v, int reader, int stage) const {
  sequence<node> places;
  each_load(v.p(), reader, [&](node const& x) {
    if (x.a != v.stage(stage).tensor) return;
    for (node const& other : places) {
      bool same = true;
      for (int d = 0; d < x.c; ++d) same = same && v.are_equal(program::at(v.p().operands, x.b + d), program::at(v.p().operands, other.b + d));
      if (same) return;
    }
    places.push_back(x);
  });
  return static_cast<double>(places.size());
}
/// Which stages read which (readers_of), without those that no output is made of, which are inlined and so computed nowhere.
WEFT_DECL sequence<sequence<std::int32_t>> rule_plan::needed_readers() const {
  rule_view const v = view();
  sequence<sequence<std::int32_t>> all = readers_of(v.p());
  for (std::size_t t = all.size(); t-- > 0;) {  // readers stand behind what they read
    sequence<std::int32_t> needed;
    for (std::int32_t r : all[t])
      if (v.is_output(r) || !v.is_inlined(r) || !all[static_cast<std::size_t>(r)].empty()) needed.push_back(r);
    if (needed.size() != all[t].size()) all[t].swap(needed);
  }
  return all;
}
/// Stages that no output is made of are computed nowhere: what they read is not kept for them.
WEFT_DECL void rule_plan::leave_out() {
  sequence<sequence<std::int32_t>> const all = readers_of(s_.computation());
  sequence<bool> needed(all.size(), false);
  for (std::size_t t = all.size(); t-- > 0;) {
    rule_view const v = view();
    stage_info const& of = v.stage(static_cast<int>(t));
    needed[t] = v.is_output(static_cast<int>(t)) || of.by != nullptr || of.results > 1 || is_read_whole(v.p(), static_cast<int>(t));
    for (std::int32_t r : all[t]) needed[t] = needed[t] || needed[static_cast<std::size_t>(r)];
    step one{verb::compute_inline};
    one.stage = static_cast<std::int32_t>(t);
    if (!needed[t]) needed[t] = !take_if_legal(one);
  }
}
WEFT_DECL void rule_plan::inline_stages() {
  sequence<sequence<std::int32_t>> const readers = needed_readers();
  for (int t = 0; t < static_cast<int>(readers.size()); ++t) {
    rule_view const v = view();
    stage_info const& of = v.stage(t);
    if (of.reduced > 0 || of.scanned >= 0 || of.by != nullptr || of.results > 1 || v.is_output(t) || v.is_inlined(t)) continue;
    double evaluations = 0;
    bool by_function = is_read_whole(v.p(), t);
    for (std::int32_t r : readers[static_cast<std::size_t>(t)]) {
      by_function = by_function || v.stage(r).by != nullptr;
      evaluations += v.iterations(r) * places_read(v, r, t);
    }
    double const work = v.operations(t), times = evaluations / (v.iterations(t) + 1);
    // Once each: its memory is saved. More often: where that is less than to store it and to load it again.
    bool const own = times <= 1.1 || (work <= 1 && times <= 4) || (times - 1) * work <= 12;
    step one{verb::compute_inline};
    one.stage = t;
    if (by_function || (times - 1) * work > 100 || !may(one)) continue;
    if (choose(t, "inline", own)) take(one);
  }
}
/// Sorts all stages, each behind those that it reads: a copy, which was added behind all others, stands in front of its reader.
WEFT_DECL void rule_plan::put_in_order(sequence<sequence<std::int32_t>> const& readers) {
  std::size_t const own = s_.original->stages.size();
  sequence<std::int32_t>& order = sorted_;
  order.clear();
  sequence<bool> placed(readers.size(), false);
  for (std::size_t t = 0; t < readers.size(); ++t) {
    for (std::size_t c = t < own ? own : readers.size(); c < readers.size(); ++c)
      for (std::int32_t r : readers[c])
        if (r == static_cast<std::int32_t>(t) && !placed[c]) placed[c] = true, order.push_back(static_cast<std::int32_t>(c));
    if (!placed[t]) placed[t] = true, order.push_back(static_cast<std::int32_t>(t));
  }
  place_of_.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place_of_[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
}
/// Stages of which one nest alone reads are computed in its loops, where they share its outermost axes.
WEFT_DECL void rule_plan::find_hosts() {
  program const& p = s_.computation();
  sequence<sequence<std::int32_t>> const readers = needed_readers();
  put_in_order(readers);
  host_.resize(readers.size(), -1), depth_.resize(readers.size(), 0), strips_.resize(readers.size(), {});
  rule_view const v = view();
  for (std::size_t place = sorted_.size(); place-- > 0;) {
    int const t = sorted_[place];
    auto const at = static_cast<std::size_t>(t);
    stage_info const& of = v.stage(t);
    if (host_[at] >= 0 && (host_[at] != t || !strips_[at].stages.empty())) continue;  // in a tile, or in tiles
    host_[at] = t, depth_[at] = of.spatial;
    bool const alone = at < alone_.size() && alone_[at];
    bool const fixed = how_ == boldness::loops || alone || v.is_output(t) || of.by != nullptr || of.scanned >= 0;
    if (fixed || is_read_whole(p, t) || readers[at].empty()) continue;
    int host = -1, depth = of.spatial;
    for (std::int32_t r : readers[at]) {
      int const home = host_[static_cast<std::size_t>(r)];
      if ((host >= 0 && home != host) || (home == r && v.is_inlined(r))) depth = 0;  // in several nests
      host = home;
      int const shared = depth_[static_cast<std::size_t>(r)];
      if (shared < depth) depth = shared;
      stage_info const& reader = v.stage(r);
      if (reader.by != nullptr || v.stage(home).scanned >= 0) depth = 0;
      each_load(p, r, [&](node const& x) {
        if (x.a < of.tensor || x.a >= of.tensor + of.results) return;
        for (int d = 0; d < depth; ++d) {
          node const& index = p.at(v.chosen(program::at(p.operands, x.b + d)));
          bool const alike = d < reader.spatial && v.extent(t, d) == v.extent(r, d);
          // A single element, as of a batch of one, that broadcasting reads at 0.
          bool const single = alike && v.extent(t, d) == 1 && !is_open(v.loop(t, d)) && !is_open(v.loop(r, d));
          bool const same = alike && (single || (index.kind == op::axis && index.a == reader.first_axis + d));
          if (!same) depth = d;
        }
      });
    }
    if (depth > 0) depth = static_cast<int>(choose(t, "fused_axes", depth, {0, 1, 2, 3}, depth));
    if (depth > 0) host_[at] = host, depth_[at] = depth;
  }
  guests_.assign(host_.size(), {});
  for (std::int32_t t : sorted_)
    if (int const host = host_[static_cast<std::size_t>(t)]; host != t) guests_[static_cast<std::size_t>(host)].push_back(t);
}
WEFT_DECL sequence<std::int32_t> rule_plan::guests_of(int stage) const {
  sequence<std::int32_t> found;
  if (static_cast<std::size_t>(stage) >= guests_.size()) return found;
  for (std::int32_t t : guests_[static_cast<std::size_t>(stage)])
    if (!s_.places[static_cast<std::size_t>(t)].inlined) found.push_back(t);
  return found;
}
/// Moves a stage to another nest, once all have one.
WEFT_DECL void rule_plan::host_in(int stage, int host) {
  std::int32_t& now = host_[static_cast<std::size_t>(stage)];
  auto const place = [&](std::int32_t t) { return static_cast<std::size_t>(t) < place_of_.size() ? place_of_[static_cast<std::size_t>(t)] : t; };
  while (guests_.size() < host_.size()) guests_.push_back({});  // those that a nest has added: behind all others
  if (now != stage) {
    sequence<std::int32_t>& left = guests_[static_cast<std::size_t>(now)];
    for (std::size_t i = left.size(); i-- > 0;)
      if (left[i] == stage) left.erase(left.begin() + i);
  }
  now = static_cast<std::int32_t>(host);
  if (host == stage) return;
  sequence<std::int32_t>& all = guests_[static_cast<std::size_t>(host)];
  std::size_t at = all.size();
  while (at > 0 && place(all[at - 1]) > place(stage)) --at;
  all.insert(all.begin() + at, static_cast<std::int32_t>(stage));
}
WEFT_DECL double rule_plan::cycles(int stage) const {
  rule_view const v = view();
  double const lanes = static_cast<double>(v.lanes(stage));
  double total = v.iterations(stage) * v.operations(stage) / lanes;
  for (std::int32_t g : guests_of(stage)) total += v.iterations(g) * v.operations(g) / lanes;
  return total;
}
WEFT_DECL void rule_plan::run_parallel(sequence<std::int32_t> const& loops, double cycles) {
  if (is_worth_a_fork(cycles) && !forks_later_) run_parallel(loops, cycles, in_.threads, in_.fork_cycles);
}
WEFT_DECL void rule_plan::run_parallel(sequence<std::int32_t> const& loops, double cycles, std::int64_t most, double fork_cycles) {
  int best = -1;
  double times = 1, quality = 0;  // that the loop is reached
  for (std::int32_t l : loops) {
    if (l < 0) continue;
    std::int64_t const n = trips(l);
    double const each = static_cast<double>(n < 0 ? 256 : n), threads = static_cast<double>(most);
    double const rounds = static_cast<double>(n < 0 ? 256 : ceil_div(n, most));
    double const used = n == 0 ? 0 : each / (rounds * threads) / (1 + times * fork_cycles / 5 / cycles);
    if (used > quality + 0.05) quality = used, best = l;
    times *= each;
  }
  if (best < 0 || quality * static_cast<double>(most) <= 1.1) return;
  step one{verb::parallel, 1, {best}};
  if (most < in_.threads) one.numbers.push_back(most);
  if (!is_open(best) || may(one)) take(one);
}

WEFT_DECL void rule_plan::nest_of(int stage) {
  if (is_refused()) return;
  rule_view const v = view();
  stage_info const of = v.stage(stage);
  if (of.by != nullptr) return;
  if (static_cast<std::size_t>(stage) < strips_.size() && !strips_[static_cast<std::size_t>(stage)].stages.empty()) {
    tiles_with_strips(stage);
  } else if (!guests_of(stage).empty()) {
    if (!tile_with_guests(stage)) rows_with_guests(stage);
  } else if (of.reduced > 0) {
    reduction(stage);
  } else {
    elementwise(stage, 0, true);
  }
}
WEFT_DECL void rule_plan::write() {
  if (how_ != boldness::loops) leave_out(), inline_stages(), inline_together();
  if (how_ == boldness::strips) compute_again();
  find_pieces();
  if (how_ == boldness::strips) find_strips();
  find_hosts();
  int const count = static_cast<int>(host_.size());
  for (int t = 0; t < count && !is_refused(); ++t)
    if (host_[static_cast<std::size_t>(t)] == t && !s_.places[static_cast<std::size_t>(t)].inlined) nest_of(t);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
