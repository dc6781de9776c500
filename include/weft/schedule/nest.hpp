// The loops of every stage while a schedule is being written: a flat literal value that the steps change.
#pragma once

#include <cstdint>

#include "weft/base/sequence.hpp"
#include "weft/expr/program.hpp"
#include "weft/schedule/step.hpp"

namespace weft::inline WEFT_ABI {

/// How a loop's iterations are run. From virtual_thread on they are bound to an axis of a machine, as thread_axis lists them.
enum class loop_kind : std::uint8_t {
  serial, unrolled, vectorized, parallel, virtual_thread,
  block_x, block_y, block_z, thread_x, thread_y, thread_z, warp, lane
};
constexpr std::string_view name(loop_kind k) {
  constexpr char const* names[] = {"serial", "unrolled", "vectorized", "parallel"};
  int const bound = static_cast<int>(k) - static_cast<int>(loop_kind::virtual_thread);
  return bound < 0 ? names[static_cast<int>(k)] : detail::axis_words.first[bound];
}
constexpr bool is_block(loop_kind k) { return k >= loop_kind::block_x && k <= loop_kind::block_z; }
constexpr bool is_thread(loop_kind k) { return k >= loop_kind::thread_x; }
/// Whether the loop is written out, in one place or in several.
constexpr bool is_written_out(loop_kind k) {
  return k == loop_kind::unrolled || k == loop_kind::vectorized || k == loop_kind::virtual_thread;
}
/// Whether iterations may run at the same time, each for itself; and by more than one thread.
constexpr bool is_concurrent(loop_kind k) { return k >= loop_kind::parallel; }
constexpr bool is_shared_out(loop_kind k) { return is_concurrent(k) && k != loop_kind::virtual_thread; }

/// The trip count of a loop whose code is to be for all sizes.
inline constexpr std::int64_t open_trips = -2;

/// One loop, or an axis that was split in two or fused with others (then it is not live). A split axis is
/// outer * factor + inner. Of a fused loop's index, what each of its parts is follows from the extents: the last one is the
/// rest after division by its own extent.
struct loop_info {
  std::int32_t stage = -1;
  std::int32_t root = -1;    // the program's axis; -1: of several, which are fused in it
  std::int32_t parent = -1;  // the loop it was split from
  std::int32_t outer = -1, inner = -1;
  std::int32_t into = -1, next = -1;  // the loop that it was fused into, and which of the fused stood directly inside it
  std::int32_t first = -1;   // of a fused loop: the outermost one that went into it
  std::int64_t factor = 0;  // of its own split
  tail at_end = tail::guard;  // of that split
  std::int64_t extent = -1;  // trip count; of an inner loop the longest; -1 while unknown, open_trips when never known
  loop_kind kind = loop_kind::serial;
  std::int32_t threads = 0;  // of a parallel one: so many run it at most; 0: all that there are
  std::int64_t fold = 0;  // of an axis of the program: so many elements of the stage's memory are kept along it; 0: all
  intrinsic const* by = nullptr;  // which runs it, where the machine has it; it is unrolled elsewhere
  bool reduced = false;
  bool scanned = false;  // of the axis that its stage walks in order
  bool gone = false;  // its stage has other axes now
  short_name name;
  constexpr bool is_split() const { return outer >= 0; }
  constexpr bool live() const { return !is_split() && into < 0 && !gone; }
};

/// The axis of a stage, or a part of one. A step that failed hands out axes with id -1.
struct axis {
  int id = -1;
};

/// What of the machine a rule needs to know; 0 while it is not known (in the compile-time check).
struct schedule_limits {
  int vector_registers = 0;
  int vector_bytes = 0;
};

/// Where a stage is computed: in a nest of its own before those that read it; inside a loop of one of them, so much of it
/// as is read there, or of one that does not read it, the elements that this one computes of itself there (`beside`); or,
/// inlined, wherever an element of it is read. Where its memory is: as far in as it is computed, or
/// for all iterations of a loop further out, or for the whole kernel. ahead: so many iterations before the one that reads it;
/// async: by copies that run on by themselves.
struct placement {
  static constexpr std::int32_t as_computed = -1, whole_kernel = -2;
  bool inlined = false;
  std::int32_t loop = -1;
  std::int32_t store = as_computed;  // or a loop
  bool beside = false;               // then for the whole kernel
  std::int32_t ahead = 0;
  bool async = false;
  constexpr bool operator==(placement const&) const = default;
};

/// Where memory for a stage is: on the stack of the thread that computes it, in the call's workspace, or what the threads of a
/// GPU's block share.
enum class scope : std::uint8_t { stack, workspace, registers, shared };

/// What a step wants of the memory of a stage: its scope, or the stride of a dimension, factor * n + offset elements; that it
/// is stored past the caches; or that it is kept between calls.
struct memory_wish {
  static constexpr std::int32_t past_caches = -2, kept = -3, swizzled = -4;
  std::int32_t stage = -1, dim = -1;  // dim -1: the scope
  std::int64_t factor = 1, offset = 0;
  scope where = scope::workspace;
};

/// A copy of a stage's nest for sizes that meet conditions, in threes as specialize_rule has them.
struct special {
  std::int32_t stage = -1;
  sequence<std::int64_t> conditions;
};

/// In each iteration of a loop, what a tensor is read for so many iterations later is asked for.
struct fetch_ahead {
  std::int32_t loop = -1, tensor = -1;
  std::int64_t distance = 0;
  std::int32_t of = -1;  // the loop around whose later iteration that is; -1: `loop` itself
  cache_level into = cache_level::l1;
  std::int32_t turns = -1;  // the loop whose iterations take turns in asking; -1: each asks for all
  constexpr bool is_bound_to(int l) const { return loop == l || of == l || turns == l; }
};

/// The state that the steps change: all loops, for each stage the order of its live ones, outermost first, and where it
/// is computed.
struct nest {
  program const* original = nullptr;
  sequence<program> extended;  // the program with the stages that steps have added; none: the one that was given
  sequence<loop_info> loops;
  sequence<sequence<std::int32_t>> order;
  sequence<placement> places;  // changed by `place` where a loop is
  sequence<sequence<std::int32_t>> guests;  // by stage: those that are computed in its loops; of those behind the last one, none are
  std::int32_t placed = 0, besides = 0;     // stages that are computed in loops of others; of them, beside these
  bool has_scans = false, has_starts = false;  // there is a stage that scans, or one whose identity is stored in front, or was
  sequence<std::int32_t> starts;  // by stage: the loop in front of which its identity is stored; -1: by its first terms
  sequence<memory_wish> wishes;
  sequence<special> specials;
  sequence<fetch_ahead> fetches;
  sequence<sequence<std::int32_t>> jams;  // loops that are to run as one
  sequence<std::int32_t> loop_of;        // by axis of the program: the loop that it was at first; -1: of no stage any more
  sequence<sequence<std::int64_t>> inputs;  // by tensor: the extents of an input; -1 while unknown
  schedule_limits limits;

  constexpr nest() = default;
  template <class Extents>
  constexpr nest(program const& p, Extents const& given, schedule_limits l) : original(&p), limits(l) {
    for (tensor_info const& t : p.tensors) {
      if (t.stage >= 0) break;
      inputs.push_back({});
      for (int d = 0; d < t.rank; ++d) inputs.back().push_back(given(static_cast<int>(inputs.size()) - 1, d));
    }
    detail::known_extents found;
    for (std::size_t s = 0; s < p.stages.size(); ++s) add_loops(static_cast<int>(s), found);
  }
  constexpr program const& computation() const { return extended.empty() ? *original : extended[0]; }
  /// The same, for a step that rewrites it.
  constexpr program& own_computation() {
    if (extended.empty()) extended.push_back(*original);
    return extended[0];
  }
  /// The plain nest of a stage that has none.
  constexpr void add_loops(int stage) {
    detail::known_extents found;
    add_loops(stage, found);
  }
  /// `found`: of the extents of other stages.
  constexpr void add_loops(int stage, detail::known_extents& found) {
    program const& p = computation();
    auto const known = [&](int tensor, int dim) {
      return inputs[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(dim)];
    };
    stage_info const& s = program::at(p.stages, stage);
    has_scans = has_scans || s.scanned >= 0;
    if (static_cast<int>(order.size()) == stage) order.push_back({}), places.push_back({}), starts.push_back(-1);
    sequence<std::int32_t>& own = order[static_cast<std::size_t>(stage)];
    for (int i = 0; i < s.axes(); ++i) {
      axis_info const& a = program::at(p.axes, s.first_axis + i);
      loop_info loop;
      loop.stage = stage;
      loop.root = s.first_axis + i;
      std::int64_t const extent = extent_value(p, a.extent, known, found);
      // A call with a negative one is refused by bind.
      loop.extent = extent == open_extent ? open_trips : extent < 0 ? -1 : extent;
      loop.reduced = a.reduced;
      loop.scanned = i == s.scanned;
      loop.name = axis_name(i);
      auto const axis = static_cast<std::size_t>(loop.root);
      if (loop_of.size() <= axis) loop_of.resize(axis + 1, -1);
      loop_of[axis] = static_cast<std::int32_t>(loops.size());
      own.push_back(static_cast<std::int32_t>(loops.size()));
      loops.push_back(loop);
    }
  }
  /// Takes loops from a stage that has other axes now: the reduced ones, or all.
  constexpr void drop_loops(int stage, bool all) {
    sequence<std::int32_t> left;
    for (std::int32_t l : order[static_cast<std::size_t>(stage)])
      if (all || at(l).reduced) at(l).gone = true;
      else left.push_back(l);
    order[static_cast<std::size_t>(stage)] = left;
  }
  /// Computes a stage elsewhere.
  constexpr void place(int stage, placement const& to) {
    placement& now = places[static_cast<std::size_t>(stage)];
    if (now.loop >= 0) {
      sequence<std::int32_t>& left = guests[static_cast<std::size_t>(at(now.loop).stage)];
      for (std::size_t i = 0; i < left.size(); ++i)
        if (left[i] == stage) left.erase(left.begin() + i), i = left.size();
      --placed, besides -= now.beside;
    }
    now = to;
    if (to.loop < 0) return;
    auto const host = static_cast<std::size_t>(at(to.loop).stage);
    while (guests.size() <= host) guests.push_back({});
    guests[host].push_back(stage);
    ++placed, besides += to.beside;
  }
  constexpr bool has_guests(int stage) const {
    return static_cast<std::size_t>(stage) < guests.size() && !guests[static_cast<std::size_t>(stage)].empty();
  }
  constexpr loop_info& at(int id) { return loops[static_cast<std::size_t>(id)]; }
  constexpr loop_info const& at(int id) const { return loops[static_cast<std::size_t>(id)]; }
  constexpr sequence<std::int32_t>& order_of(int loop) { return order[static_cast<std::size_t>(at(loop).stage)]; }
  constexpr sequence<std::int32_t> const& order_of(int loop) const {
    return order[static_cast<std::size_t>(at(loop).stage)];
  }
  constexpr int position(int loop) const {
    sequence<std::int32_t> const& o = order_of(loop);
    for (std::size_t i = 0; i < o.size(); ++i)
      if (o[i] == loop) return static_cast<int>(i);
    return -1;
  }
  /// Whether loop `outer` stands around `inner`: of the same stage, or of one in whose loops that is computed.
  constexpr bool is_around(int outer, int inner) const {
    if (at(outer).stage == at(inner).stage) return position(outer) < position(inner);
    int const host = places[static_cast<std::size_t>(at(inner).stage)].loop;
    return host >= 0 && (host == outer || is_around(outer, host));
  }
  /// The last wish for a dimension of a stage's memory, or (-1) for its scope, or (past_caches, kept, swizzled) that; null: none.
  constexpr memory_wish const* wish(int stage, int dim) const {
    for (std::size_t i = wishes.size(); i-- > 0;)
      if (wishes[i].stage == stage && wishes[i].dim == dim) return &wishes[i];
    return nullptr;
  }
  /// Whether its stage is computed inside a loop of another, so that what is read there decides how often it runs.
  constexpr bool is_part(int loop) const {
    loop_info const& l = at(loop);
    if (l.reduced || places[static_cast<std::size_t>(l.stage)].loop < 0) return false;
    return l.parent < 0 || at(l.parent).inner != loop;
  }
  /// The stage that is computed in no loop of another and in whose nest `stage` is computed, if it is not inlined.
  constexpr int root_of(int stage) const {
    while (places[static_cast<std::size_t>(stage)].loop >= 0) stage = at(places[static_cast<std::size_t>(stage)].loop).stage;
    return stage;
  }
  /// Whether another stage is computed beside this one, in its loops.
  constexpr bool has_beside(int stage) const {
    if (besides == 0) return false;
    for (placement const& p : places)
      if (p.beside && at(p.loop).stage == stage) return true;
    return false;
  }
  /// How many iterations of `loop` ahead of its own stage runs `stage`, for which all is done inside that loop.
  constexpr int ahead_in(int stage, int loop) const {
    int ahead = 0;
    while (stage != at(loop).stage) {
      placement const& p = places[static_cast<std::size_t>(stage)];
      ahead = p.loop == loop ? p.ahead : 0;
      stage = at(p.loop).stage;
    }
    return ahead;
  }
  /// Whether a parallel loop, or one of blocks or threads, runs inside `loop`.
  constexpr bool has_shared_out(int loop) const {
    bool inside = false;
    for (std::int32_t other : order_of(loop)) {
      if (inside && is_shared_out(at(other).kind)) return true;
      inside = inside || other == loop;
    }
    return false;
  }
  /// Whether the loop is the program's axis `root`, a part of it, or fused of such.
  constexpr bool is_of(int loop, int root) const {
    while (at(loop).parent >= 0) loop = at(loop).parent;
    if (at(loop).first < 0) return at(loop).root == root;
    for (int part = at(loop).first; part >= 0; part = at(part).next)
      if (is_of(part, root)) return true;
    return false;
  }
  /// The loop into which these axes of a stage were fused, by place, all of them and no other, outermost first; -1: there is none.
  constexpr int row_of(stage_info const& s, sequence<std::int32_t> const& places_of_axes) const {
    if (places_of_axes.size() < 2) return -1;
    int part = program::at(loop_of, s.first_axis + places_of_axes[0]);
    int const row = at(part).into;
    if (row < 0 || at(row).first != part) return -1;
    for (std::int32_t a : places_of_axes) {
      if (part != program::at(loop_of, s.first_axis + a)) return -1;
      part = at(part).next;
    }
    return part < 0 ? row : -1;
  }
  constexpr bool share_an_axis(int x, int y) const {
    if (at(x).root >= 0) return at(x).root == at(y).root || (at(y).root < 0 && is_of(y, at(x).root));
    stage_info const& s = program::at(computation().stages, at(x).stage);
    for (int a = s.first_axis; a < s.first_axis + s.axes(); ++a)
      if (is_of(x, a) && is_of(y, a)) return true;
    return false;
  }
  /// Whether loop `l` is `part`, of that, or fused with some of that.
  constexpr bool is_within(int l, int part) const {
    if (l == part) return true;
    if (at(l).parent >= 0) return is_within(at(l).parent, part);
    for (int i = at(l).first; i >= 0; i = at(i).next)
      if (is_within(i, part)) return true;
    return false;
  }
  /// Whether a scan's steps are taken one after the other.
  constexpr ruling scan_fits(sequence<std::int32_t> const& outermost_first) const {
    for (std::size_t i = 0; i < outermost_first.size(); ++i) {
      loop_info const& l = at(outermost_first[i]);
      if (!l.scanned) continue;
      if (l.kind != loop_kind::serial && l.kind != loop_kind::unrolled)
        return illegal(diagnosis::a_scanned_axis_is_walked_in_its_order__mark_another_axis);
      for (std::size_t k = 0; k < i; ++k)
        for (std::size_t s = 0; at(outermost_first[k]).scanned && s < loops.size(); ++s)
          if (loops[s].is_split() && is_within(outermost_first[k], loops[s].inner) && is_within(outermost_first[i], loops[s].outer))
            return illegal(diagnosis::the_outer_part_of_a_scanned_axis_stays_around_the_inner_one);
    }
    return {};
  }
  /// What the marks that loops have demand of their order; `unroll`, `vectorize`, `parallel` and `bind` rule alike.
  constexpr ruling marks_fit(sequence<std::int32_t> const& outermost_first) const {
    bool tile = false, copies = false, thread = false;
    int vector = -1;
    for (std::int32_t l : outermost_first) {
      loop_info const& loop = at(l);
      std::size_t const all = outermost_first.size();
      bool inside = loop.by == nullptr || l == outermost_first.back();
      if (loop.by != nullptr && loop.by->is_tile())
        inside = all >= 3 && l == outermost_first[all - 3] && !at(outermost_first[all - 2]).reduced && at(outermost_first[all - 1]).reduced;
      if (!inside)
        return illegal(diagnosis::a_tensorized_axis_stands_inside_all_others__reorder_first);
      if ((tile && is_shared_out(loop.kind)) || (copies && loop.kind == loop_kind::parallel))
        return illegal(diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first);
      if (thread && is_block(loop.kind)) return illegal(diagnosis::blocks_stand_outside_of_threads__reorder_first);
      thread = thread || is_thread(loop.kind);
      if (vector >= 0 && share_an_axis(l, vector))
        return illegal(diagnosis::an_inner_part_of_this_axis_runs_inside_it__vectorize_that_part);
      copies = copies || is_written_out(loop.kind);
      tile = tile || (is_written_out(loop.kind) && loop.kind != loop_kind::virtual_thread);
      if (loop.kind == loop_kind::vectorized) vector = l;
    }
    return {};
  }
  /// Whether a matrix unit runs the loop: rows, columns or terms of its tile.
  constexpr bool is_in_tile(int loop) const {
    sequence<std::int32_t> const& own = order_of(loop);
    if (own.size() < 3 || position(loop) + 3 < static_cast<int>(own.size())) return false;
    intrinsic const* const by = at(own[own.size() - 3]).by;
    return by != nullptr && by->is_tile();
  }
  /// The number of the group with whose loops this one is to run as one, from 1; 0: it is in none.
  constexpr std::int32_t jam_of(int loop) const {
    for (std::size_t j = 0; j < jams.size(); ++j)
      for (std::int32_t l : jams[j])
        if (l == loop) return static_cast<std::int32_t>(j) + 1;
    return 0;
  }
  /// Common to all steps: the axis exists and is a loop now.
  constexpr ruling usable(int loop) const {
    if (loop < 0 || loop >= static_cast<int>(loops.size()))
      return illegal(diagnosis::the_axis_belongs_to_no_stage_of_this_schedule);
    if (at(loop).into >= 0) return illegal(diagnosis::the_axis_was_fused_already);
    if (at(loop).gone) return illegal(diagnosis::the_axis_is_gone__use_those_of_the_handle_that_its_step_returned);
    if (!at(loop).live()) return illegal(diagnosis::the_axis_was_split_already);
    return {};
  }
  constexpr ruling unmarked(int loop) const {
    ruling const r = usable(loop);
    if (r.v == verdict::legal && (at(loop).kind != loop_kind::serial || is_in_tile(loop)))
      return illegal(diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already);
    if (jam_of(loop) > 0) return illegal(diagnosis::the_axis_runs_as_one_with_others__split_and_mark_it_before);
    for (fetch_ahead const& f : fetches)
      if (f.is_bound_to(loop)) return illegal(diagnosis::a_tensor_is_prefetched_in_this_axis__split_and_mark_it_before);
    return r;
  }
};

}  // namespace weft::inline WEFT_ABI
