// Where stages are computed: what each reads, and whether all placements of a nest can be kept.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/expr/rewrite.hpp"
#include "weft/schedule/apart.hpp"
#include "weft/schedule/nest.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Which stages read which: `reader[s]` lists those that read a result of stage s.
///
/// Cost  O(nodes)
constexpr sequence<sequence<std::int32_t>> readers_of(program const& p) {
  sequence<sequence<std::int32_t>> readers(p.stages.size());
  sequence<std::int32_t> last(p.nodes.size(), -1), next;  // the stage from which a node was reached last; nodes to visit
  for (std::int32_t s = 0; s < static_cast<std::int32_t>(p.stages.size()); ++s) {
    auto const reach = [&](int id) {
      if (id < 0 || program::at(last, id) == s) return;
      last[static_cast<std::size_t>(id)] = s;
      next.push_back(id);
    };
    stage_info const& stage = program::at(p.stages, s);
    auto const read = [&](int tensor) {
      if (int const from = program::at(p.tensors, tensor).stage; from >= 0) {
        sequence<std::int32_t>& of = readers[static_cast<std::size_t>(from)];
        if (of.empty() || of.back() != s) of.push_back(s);
      }
    };
    each_whole_read(p, stage, read);
    for (int r = 0; r < stage.results; ++r) reach(p.result(stage, r).body);
    while (!next.empty()) {
      node const n = p.at(next.back());
      next.pop_back();
      if (n.kind == op::load) {
        read(n.a);
        for (int i = 0; i < n.c; ++i) reach(program::at(p.operands, n.b + i));
      } else if (arity(n.kind) > 0) {
        reach(n.a), reach(n.b), reach(n.c);
      }
    }
  }
  return readers;
}

/// Calls `f(node)` for each node of a stage's bodies, and of its axes' extents where they are wanted, once each.
template <class F>
constexpr void each_node(program const& p, int stage, bool extents, F const& f) {
  sequence<std::int32_t> values;
  stage_info const& s = program::at(p.stages, stage);
  for (int r = 0; r < s.results; ++r) values.push_back(p.result(s, r).body);
  for (int a = 0; extents && a < s.axes(); ++a) values.push_back(program::at(p.axes, s.first_axis + a).extent);
  each_part(p, values, f);
}
/// Calls `f(load)` for each access of a stage's bodies, once each.
template <class F>
constexpr void each_load(program const& p, int stage, F const& f) {
  each_node(p, stage, false, [&](node const& n) {
    if (n.kind == op::load) f(n);
  });
}
/// Whether a body of stage `reader` reads an element of `tensor`, or its function all.
constexpr bool reads_tensor(program const& p, int reader, int tensor) {
  bool found = false;
  each_whole_read(p, program::at(p.stages, reader), [&](int t) { found = found || t == tensor; });
  each_load(p, reader, [&](node const& n) { found = found || n.a == tensor; });
  return found;
}

/// In how many dimensions, from the first one on, stage `reader` reads `results` tensors from `tensor` on at its own index alone.
constexpr int reads_own_rows(program const& p, int reader, int tensor, int results) {
  stage_info const& own = program::at(p.stages, reader);
  bool any = false;
  int same = own.spatial;
  each_load(p, reader, [&](node const& n) {
    if (n.a < tensor || n.a >= tensor + results) return;
    any = true;
    for (int d = 0; d < same; ++d) {
      node const* const index = d < n.c ? &p.at(program::at(p.operands, n.b + d)) : nullptr;
      if (index == nullptr || index->kind != op::axis || index->a != own.first_axis + d) same = d;
    }
  });
  return any ? same : 0;
}
/// Whether it reads each element at its own index alone.
constexpr bool reads_own_element(program const& p, int reader, int tensor, int results) {
  int const rank = program::at(p.tensors, tensor).rank;
  if (program::at(p.stages, reader).spatial != rank) return false;
  if (rank > 0) return reads_own_rows(p, reader, tensor, results) == rank;
  bool any = false;
  each_load(p, reader, [&](node const& n) { any = any || (n.a >= tensor && n.a < tensor + results); });
  return any;
}
constexpr bool reads_own_element(program const& p, int reader, stage_info const& of) {
  return reads_own_element(p, reader, of.tensor, of.results);
}

/// Whether memory for the stage, as it is placed, is one block's own: inside of a loop that is bound to blocks.
constexpr bool is_in_a_block(nest const& n, int stage) {
  placement const& p = program::at(n.places, stage);
  if (p.beside) return false;  // then for the whole kernel
  bool there = p.store == placement::as_computed;
  for (int host = p.loop; host >= 0; host = program::at(n.places, n.at(host).stage).loop)
    for (int at = n.position(host); at >= 0; --at) {
      std::int32_t const l = n.order_of(host)[static_cast<std::size_t>(at)];
      there = there || l == p.store;
      if (there && is_block(n.at(l).kind)) return true;
    }
  return false;
}

/// Whether the iterations around the inside of a loop have elements of its stage each of their own, and all between these.
constexpr bool have_own_elements(nest const& n, int loop) {
  stage_info const& of = program::at(n.computation().stages, n.at(loop).stage);
  for (int d = 0; d < of.spatial; ++d)
    if (indices_within(n, loop).apart(program::at(n.loop_of, of.first_axis + d)) != verdict::legal) return false;
  return true;
}
/// Whether a stage that is computed in loops of a stage that does not read it has each element computed once.
constexpr bool is_computed_once(nest const& n, int stage) {
  placement const& p = program::at(n.places, stage);
  return !p.beside || have_own_elements(n, p.loop);
}
/// Whether a loop numbers several of which an inner one is as long as the call says. Its iteration says nothing then of where in those it is, and all that is read
/// inside is computed (guest_spans::of_fused, lower/guests.ipp).
constexpr bool has_open_digits(nest const& n, int loop) {
  while (n.at(loop).parent >= 0) loop = n.at(loop).parent;
  bool open = false;
  for (int part = n.at(loop).first; part >= 0 && !open; part = n.at(part).next)
    open = (part != n.at(loop).first && n.at(part).extent < 0) || has_open_digits(n, part);
  return open;
}
/// Whether iterations up to this loop run at a time, and what is computed inside for one of them is more than what the loops say.
constexpr bool computes_for_others(nest const& n, int loop) {
  bool at_a_time = false, open = false;
  for (int at = n.position(loop); at >= 0; --at) {
    std::int32_t const l = n.order_of(loop)[static_cast<std::size_t>(at)];
    at_a_time = at_a_time || is_concurrent(n.at(l).kind);
    open = open || has_open_digits(n, l);
  }
  return at_a_time && open;
}
/// Whether a stage inside of loops of `writer` is computed, in iterations that run at a time, where another one of them writes: of
/// what an iteration reads, all that lies between is computed.
constexpr bool meets_other_writes(nest const& n, int stage, int writer) {
  int loop = program::at(n.places, stage).loop;
  while (n.at(loop).stage != writer) loop = program::at(n.places, n.at(loop).stage).loop;
  for (int at = n.position(loop); at >= 0; --at)
    if (is_concurrent(n.at(n.order_of(loop)[static_cast<std::size_t>(at)]).kind)) return !have_own_elements(n, loop) || computes_for_others(n, loop);
  return false;
}

/// Whether iterations of the loops up to this one have rows each of their own: indices in the first `rows` dimensions of its stage. No other axis
/// is walked there.
constexpr bool have_own_rows(nest const& n, int loop, int rows) {
  stage_info const& of = program::at(n.computation().stages, n.at(loop).stage);
  for (int at = n.position(loop); at >= 0; --at)
    for (int a = rows; a < of.axes(); ++a)
      if (n.is_of(n.order_of(loop)[static_cast<std::size_t>(at)], of.first_axis + a)) return false;
  for (int d = 0; d < rows; ++d)
    if (indices_within(n, loop).apart(program::at(n.loop_of, of.first_axis + d)) != verdict::legal) return false;
  return true;
}

/// Looks at the placements of all stages of `n` together. `readers`: of its program (readers_of).
struct placement_check {
  nest const& n;
  sequence<sequence<std::int32_t>> const& readers;

  constexpr placement place(int stage) const { return program::at(n.places, stage); }
  /// The loop inside which all that is done for `stage` is done; -1: none.
  constexpr bool runs_inside(int stage, int loop) const {
    if (stage == n.at(loop).stage) return true;
    for (int host = place(stage).loop; host >= 0; host = place(n.at(host).stage).loop)
      if (n.at(host).stage == n.at(loop).stage) return n.position(host) >= n.position(loop);
    return false;
  }
  constexpr bool readers_run_inside(int stage, int loop) const {
    for (std::int32_t r : program::at(readers, stage))
      if (place(r).inlined ? !readers_run_inside(r, loop) : !runs_inside(r, loop)) return false;
    return true;
  }
  /// Whether a loop of `stage` cannot run inside one of `outside`: of two parallel ones, or of one axis; and threads stand
  /// inside of blocks.
  constexpr bool is_shared_out_again(int stage, loop_kind outside) const {
    for (std::int32_t l : program::at(n.order, stage))
      if (is_shared_out(n.at(l).kind) && is_shared_out(outside) && !stands_inside(n.at(l).kind, outside)) return true;
    return false;
  }
  /// Threads inside of blocks, or of threads along another axis; warps and lanes are the x axis.
  static constexpr bool stands_inside(loop_kind inner, loop_kind outside) {
    if (!is_thread(inner)) return false;
    if (is_block(outside)) return true;
    bool const parts = inner >= loop_kind::warp && outside == loop_kind::thread_x;
    bool const whole = inner == loop_kind::thread_x && outside >= loop_kind::warp;
    return is_thread(outside) && inner != outside && !parts && !whole;
  }
  /// What the loops that `host` runs in, itself too, forbid for `stage`, which is computed there.
  constexpr ruling around(int host, int stage) const {
    for (; host >= 0; host = place(n.at(host).stage).loop) {
      for (std::int32_t l : n.order_of(host)) {
        loop_kind const how = n.at(l).kind;
        if (how == loop_kind::unrolled || how == loop_kind::vectorized)
          return illegal(diagnosis::a_stage_cannot_be_computed_inside_an_unrolled_or_vectorized_axis);
        if (is_shared_out_again(stage, how))
          return illegal(diagnosis::a_parallel_axis_cannot_run_inside_a_parallel_axis_of_another_stage);
        if (l == host) break;
      }
    }
    return {};
  }
  /// Whether something that is computed in the nest of `root` reads `stage`, or waits for what does: all that is computed in a
  /// nest waits for what any of it reads.
  constexpr bool is_needed_in(int stage, int root) const {
    sequence<bool> seen(n.places.size(), false);
    sequence<std::int32_t> next(1, stage);
    auto const reach = [&](std::int32_t s) {
      if (program::at(seen, s)) return;
      seen[static_cast<std::size_t>(s)] = true;
      next.push_back(s);
    };
    while (!next.empty()) {
      std::int32_t const s = next.back();
      next.pop_back();
      for (std::int32_t r : program::at(readers, s)) {
        if (place(r).inlined) {
          reach(r);
          continue;
        }
        int const in = n.root_of(r);
        if (in == root) return true;
        for (std::int32_t other = 0; other < static_cast<std::int32_t>(n.places.size()); ++other)
          if (!place(other).inlined && n.root_of(other) == in) reach(other);
      }
    }
    return false;
  }
  /// Whether `stage` can be computed with the stage of `host`, dimension for dimension.
  constexpr ruling beside(int stage, int host) const {
    program const& p = n.computation();
    int const other = n.at(host).stage;
    if (!(place(other) == placement()))
      return illegal(diagnosis::the_stage_of_this_axis_is_computed_inside_another__compute_with_takes_one_that_is_not);
    if (is_needed_in(stage, other) || is_needed_in(other, other))
      return illegal(diagnosis::one_of_the_stages_needs_the_other__use_compute_at);
    stage_info const &of = program::at(p.stages, stage), &with = program::at(p.stages, other);
    verdict v = verdict::legal;
    for (std::int32_t l : n.order_of(host)) {
      if (n.at(l).reduced)
        return illegal(diagnosis::a_reduced_axis_runs_outside_of_this_one__no_element_is_complete_there);
      for (int d = 0; d < with.spatial; ++d) {
        if (!n.is_of(l, with.first_axis + d)) continue;
        if (is_concurrent(n.at(l).kind)) {
          verdict const apart = indices_within(n, host).apart(program::at(n.loop_of, with.first_axis + d));
          if (apart == verdict::illegal) return illegal(diagnosis::iterations_of_a_parallel_axis_would_share_elements__reorder_or_let_parts_divide);
          if (apart > v) v = apart;
        }
        if (d >= of.spatial) return illegal(diagnosis::the_stages_differ_in_an_axis_that_they_would_share);
        if (d == of.scanned) return illegal(diagnosis::a_scanned_axis_is_walked_in_its_order__mark_another_axis);
        int const mine = program::at(p.axes, of.first_axis + d).extent, theirs = program::at(p.axes, with.first_axis + d).extent;
        if (mine == theirs) continue;
        std::int64_t const a = n.at(program::at(n.loop_of, of.first_axis + d)).extent;
        std::int64_t const b = n.at(program::at(n.loop_of, with.first_axis + d)).extent;
        if (a == open_trips || b == open_trips || (a >= 0 && b >= 0 && a != b))
          return illegal(diagnosis::the_stages_differ_in_an_axis_that_they_would_share);
        if (a < 0 || b < 0) v = verdict::deferred;
      }
      if (l == host) break;
    }
    return {v};
  }
  /// Whether the memory of `stage` can stand where it is said to.
  constexpr ruling memory(int stage) const {
    int const store = place(stage).store;
    if (store == placement::as_computed) return {};
    if (store >= 0 && !n.at(store).live())
      return illegal(diagnosis::a_stage_is_computed_inside_this_axis__split_it_before_compute_at);
    for (int host = place(stage).loop; host >= 0; host = place(n.at(host).stage).loop)
      for (int at = n.position(host); at >= 0; --at) {
        std::int32_t const l = n.order_of(host)[static_cast<std::size_t>(at)];
        if (l == store) return {};
        if (is_concurrent(n.at(l).kind))
          return illegal(diagnosis::a_parallel_axis_cannot_stand_between_a_stage_and_its_memory);
      }
    if (store == placement::whole_kernel) return {};
    return illegal(diagnosis::the_axis_does_not_stand_around_the_loop_in_which_the_stage_is_computed);
  }
  constexpr bool read_in_time(int stage, int host, int ahead) const {
    for (std::int32_t r : program::at(readers, stage))
      if (place(r).inlined ? !read_in_time(r, host, ahead) : n.ahead_in(r, host) > ahead) return false;
    return true;
  }
  /// Whether `stage` can be computed as far ahead of the iterations of `host` as is said.
  constexpr ruling in_time(int stage, int host) const {
    placement const at = place(stage);
    if (at.ahead > 0 && n.at(host).kind != loop_kind::serial)
      return illegal(diagnosis::only_in_a_serial_axis_is_a_stage_computed_ahead);
    if (at.ahead > 0 && at.store != placement::as_computed)
      return illegal(diagnosis::a_stage_that_is_computed_ahead_has_memory_for_whole_parts__not_for_what_slides);
    if (!read_in_time(stage, host, at.ahead))
      return illegal(diagnosis::a_stage_that_reads_it_is_computed_further_ahead__pipeline_this_one_before);
    if (at.async && !copies_memory(stage, host))
      return illegal(diagnosis::an_asynchronous_copy_has_no_arithmetic__cache_read_for_a_stage_that_copies);
    if (at.async && !read_in_time(stage, host, at.ahead - 1))
      return illegal(diagnosis::a_stage_that_reads_it_is_computed_as_far_ahead__an_asynchronous_copy_needs_an_iteration);
    return {};
  }
  /// Whether each element of `stage` is one that stands in memory in front of the loop, or zero.
  constexpr bool copies_memory(int stage, int host) const {
    program const& p = n.computation();
    stage_info const& s = program::at(p.stages, stage);
    if (s.results != 1 || s.reduced > 0 || s.scanned >= 0 || s.by != nullptr) return false;
    node const* from = &p.at(p.result(s, 0).body);
    if (from->kind == op::select && p.at(from->c).kind == op::literal && p.at(from->c).value == 0) from = &p.at(from->b);
    if (from->kind != op::load) return false;
    int const source = program::at(p.tensors, from->a).stage;
    return source < 0 || (!place(source).inlined && n.root_of(source) != n.root_of(n.at(host).stage));
  }
  /// Whether each iteration of virtual threads can have its copy of the memory of `stage`: it stands in front of the outermost
  /// ones, where a parallel axis between them and it would find one for all its iterations.
  constexpr ruling copies(int stage) const {
    int const store = place(stage).store;
    bool there = store == placement::as_computed, shared = false;
    for (int host = place(stage).loop; host >= 0; host = place(n.at(host).stage).loop)
      for (int at = n.position(host); at >= 0; --at) {
        std::int32_t const l = n.order_of(host)[static_cast<std::size_t>(at)];
        there = there || l == store;
        if (there && shared && n.at(l).kind == loop_kind::virtual_thread)
          return illegal(diagnosis::memory_inside_a_parallel_axis_has_no_copies_for_virtual_threads_around_it);
        shared = shared || (there && is_shared_out(n.at(l).kind));
      }
    return {};
  }
  /// Whether memory can be folded along a loop as it is said to, where the stage still is computed in another one's loops: else there is no ring.
  constexpr ruling ring(int loop) const {
    if (n.at(loop).fold == 0 || place(n.at(loop).stage).loop < 0) return {};
    if (place(n.at(loop).stage).beside) return illegal(diagnosis::a_stage_beside_another_has_its_whole_memory);
    for (std::int32_t l : n.order_of(loop))
      if (n.at(l).kind == loop_kind::vectorized && n.share_an_axis(l, loop))
        return illegal(diagnosis::memory_that_is_folded_along_an_axis_cannot_be_written_by_vectors_along_it);
    return {};
  }
  constexpr ruling rings() const {
    for (std::size_t l = 0; l < n.loops.size(); ++l)
      if (ruling const r = ring(static_cast<int>(l)); r.v != verdict::legal) return r;
    return {};
  }
  /// Whether what functions compute and read is computed in front of them, in memory of its own.
  constexpr ruling functions() const {
    program const& p = n.computation();
    for (std::int32_t t : p.reads)
      if (int const s = program::at(p.tensors, t).stage; s >= 0 && !(place(s) == placement()))
        return illegal(diagnosis::a_function_reads_this_stage_whole__let_it_read_a_copy);
    for (int s = 0; s < static_cast<int>(n.places.size()) && !p.reads.empty(); ++s)
      if (program::at(p.stages, s).by != nullptr && !(place(s) == placement()))
        return illegal(diagnosis::a_function_computes_this_stage__it_stays_as_it_is);
    return {};
  }
  /// Of one stage, where it is computed in a loop of another.
  constexpr ruling placed(int s) const {
    int const host = place(s).loop;
    if (host < 0) return {};
    if (n.at(host).into >= 0)
      return illegal(diagnosis::a_stage_is_computed_inside_this_axis__fuse_it_before_compute_at);
    if (!n.at(host).live()) return illegal(diagnosis::a_stage_is_computed_inside_this_axis__split_it_before_compute_at);
    if (place(n.at(host).stage).inlined) return illegal(diagnosis::the_stage_of_this_axis_is_inlined__it_has_no_loops);
    if (ruling const r = place(s).beside ? beside(s, host) : ruling(); r.v == verdict::illegal) return r;
    if (!place(s).beside && !readers_run_inside(s, host))
      return illegal(diagnosis::a_stage_that_reads_it_runs_outside_of_this_axis__compute_it_further_out);
    if (ruling const r = around(host, s); r.v != verdict::legal) return r;
    if (place(s).beside) return {};
    if (ruling const r = memory(s); r.v != verdict::legal) return r;
    if (ruling const r = copies(s); r.v != verdict::legal) return r;
    return in_time(s, host);
  }
  /// What steps want of memory, and of copies of nests.
  constexpr ruling wanted() const {
    for (special const& c : n.specials)
      if (place(c.stage).loop >= 0 || place(c.stage).inlined)
        return illegal(diagnosis::a_stage_that_runs_inside_another_has_no_copy_of_its_own__specialize_that_one);
    for (memory_wish const& w : n.wishes)
      if (w.dim == memory_wish::kept && (!(place(w.stage) == placement()) || n.has_beside(w.stage)))
        return illegal(diagnosis::a_prepacked_stage_is_computed_in_a_nest_of_its_own);
    for (memory_wish const& w : n.wishes)
      if (w.dim < 0 && w.where == scope::shared && n.wish(w.stage, -1) == &w && !place(w.stage).inlined && !is_in_a_block(n, w.stage))
        return illegal(diagnosis::shared_memory_is_one_blocks_own__compute_the_stage_inside_of_a_loop_over_blocks);
    return {};
  }
  /// As `all`, where one stage alone has moved, or its memory has, and all were legal before (moves_one_stage): what is computed in the nest
  /// that it has come to, and in that of `left`, from which it came.
  constexpr ruling moved(int stage, int left) const {
    for (std::int32_t l : program::at(n.order, stage))
      if (ruling const r = ring(l); r.v != verdict::legal) return r;
    stage_info const& of = program::at(n.computation().stages, stage);
    for (int a = 0; a < of.axes(); ++a)  // those that are split, too
      if (ruling const r = ring(program::at(n.loop_of, of.first_axis + a)); r.v != verdict::legal) return r;
    int const come = n.root_of(stage);
    first_ruling found;
    in_nest(come, found);
    if (left != come) in_nest(left, found);
    return found.stage >= 0 ? found.r : wanted();
  }
  /// That of the first stage, in their order, that is not legal.
  struct first_ruling {
    int stage = -1;
    ruling r{};
  };
  /// Of all that is computed in loops of `host`, and in loops of that.
  constexpr void in_nest(int host, first_ruling& found) const {
    if (!n.has_guests(host)) return;
    for (std::int32_t s : program::at(n.guests, host)) {
      if (found.stage < 0 || s < found.stage)
        if (ruling const r = placed(s); r.v != verdict::legal) found = {s, r};
      in_nest(s, found);
    }
  }
  constexpr ruling all() const {
    if (ruling const r = rings(); r.v != verdict::legal) return r;
    if (ruling const r = functions(); r.v != verdict::legal) return r;
    for (std::size_t s = 0; s < n.order.size(); ++s)
      if (n.computation().stages[s].scanned >= 0)
        if (ruling const r = n.scan_fits(n.order[s]); r.v != verdict::legal) return r;
    for (int s = 0; s < static_cast<int>(n.places.size()); ++s)
      if (ruling const r = placed(s); r.v != verdict::legal) return r;
    if (ruling const r = wanted(); r.v != verdict::legal) return r;
    for (std::int32_t start : n.starts) {
      if (start < 0) continue;
      if (!n.at(start).live()) return illegal(diagnosis::the_identity_is_stored_in_front_of_this_axis__split_it_first);
      for (std::int32_t l : n.order_of(start)) {
        if (n.at(l).reduced && is_thread(n.at(l).kind))
          return illegal(diagnosis::threads_join_the_parts_of_this_reduction__no_identity_is_stored_in_front);
        if (n.at(l).by != nullptr && n.at(l).by->is_tile())
          return illegal(diagnosis::a_matrix_unit_begins_its_tiles_with_zeros__no_identity_is_stored_in_front);
      }
      for (std::int32_t l : n.order_of(start)) {
        if (l == start) break;
        if (n.at(l).reduced) return illegal(diagnosis::a_reduced_axis_runs_outside_of_this_one__the_identity_is_stored_once);
      }
    }
    return {};
  }
};
}  // namespace detail

/// What the steps of schedule/step/compute_*.hpp have in common: a stage that is there and no output of the kernel.
constexpr ruling can_be_placed(nest const& n, int stage) {
  program const& p = n.computation();
  if (stage < 0 || stage >= static_cast<int>(p.stages.size()))
    return illegal(diagnosis::the_stage_is_none_of_this_schedule);
  for (std::int32_t t : p.outputs)
    if (program::at(p.tensors, t).stage == stage) return illegal(diagnosis::an_output_is_computed_in_a_nest_of_its_own);
  return {};
}
/// What the memory of all stages that are on the stack may come to: threads of foreign executors have small ones.
inline constexpr std::int64_t most_on_stack = 64 * 1024;
/// What a block may share on those GPUs that have most of it; what the others have is looked at when code is loaded.
inline constexpr std::int64_t most_shared = 227 * 1024;
/// Whether the stage has memory of which a step can decide.
constexpr ruling has_memory(nest const& n, int stage) {
  ruling const r = can_be_placed(n, stage);
  if (r.why == diagnosis::an_output_is_computed_in_a_nest_of_its_own)
    return illegal(diagnosis::the_memory_of_an_output_is_the_callers__cache_write_it);
  if (r.v == verdict::legal && program::at(n.places, stage).inlined) return illegal(diagnosis::an_inlined_stage_has_no_memory);
  return r;
}
/// Whether a function reads all of a result of the stage.
constexpr bool is_read_whole(program const& p, int stage) {
  for (std::int32_t t : p.reads)
    if (program::at(p.tensors, t).stage == stage) return true;
  return false;
}
/// Whether a step has split, reordered or marked the stage's loops, placed it, placed others in its loops, or wants
/// something of its memory, the identity in front of a loop, or a copy of its nest.
constexpr bool is_scheduled(nest const& n, int stage) {
  if (!(program::at(n.places, stage) == placement()) || program::at(n.starts, stage) >= 0) return true;
  if (n.has_guests(stage)) return true;
  for (memory_wish const& w : n.wishes)
    if (w.stage == stage) return true;
  for (special const& c : n.specials)
    if (c.stage == stage) return true;
  for (fetch_ahead const& f : n.fetches)
    if (n.at(f.loop).stage == stage) return true;
  for (sequence<std::int32_t> const& together : n.jams)
    for (std::int32_t l : together)
      if (n.at(l).stage == stage) return true;
  std::int32_t last = -1;
  for (std::int32_t l : program::at(n.order, stage)) {
    loop_info const& loop = n.at(l);
    if (loop.parent >= 0 || loop.first >= 0 || loop.fold > 0 || loop.kind != loop_kind::serial || l < last) return true;
    last = l;
  }
  return false;
}
/// Whether some stage is computed inside a loop of another, or its identity stored in front of a loop.
constexpr bool has_placements(nest const& n) { return n.placed > 0 || n.has_starts; }
/// Whether a stage that a function computes, which has no loops, or one that a function reads whole stays what it is.
/// Where they are computed is looked at behind the step.
constexpr ruling suits_functions(nest const& n, step const& s) {
  program const& p = n.computation();
  auto const by_function = [&](int stage) {
    return stage >= 0 && stage < static_cast<int>(p.stages.size()) && program::at(p.stages, stage).by != nullptr;
  };
  auto const is_loop = [&](int l) { return l >= 0 && l < static_cast<int>(n.loops.size()); };
  for (int i = 0; i < s.count; ++i)
    if (int const l = s.loops[static_cast<std::size_t>(i)]; is_loop(l) && by_function(n.at(l).stage))
      return illegal(diagnosis::a_function_computes_this_stage__it_has_no_loops);
  bool const keeps = s.what == verb::cache_read || s.what == verb::set_scope || s.what == verb::storage_align ||
                     s.what == verb::compute_root;
  if (form_of(s.what).stage && by_function(s.stage) && !keeps)
    return illegal(diagnosis::a_function_computes_this_stage__it_stays_as_it_is);
  bool const takes = s.what == verb::transform_layout || s.what == verb::fold_storage ||
                     (s.what == verb::split && s.word == static_cast<int>(tail::round_up));
  int const stage = form_of(s.what).stage ? s.stage : is_loop(s.loops[0]) ? n.at(s.loops[0]).stage : -1;
  if (takes && stage >= 0 && is_read_whole(p, stage))
    return illegal(diagnosis::a_function_reads_this_stage_whole__let_it_read_a_copy);
  return {};
}
/// Whether the placements of the nest that a step has led to can be kept.
constexpr ruling placements_fit(nest const& after) {
  sequence<sequence<std::int32_t>> const readers = detail::readers_of(after.computation());
  return detail::placement_check{after, readers}.all();
}
/// Whether a step leaves alone where stages and their memory are, so that what was legal together stays so: it is of the loops of a stage that is
/// computed in no other one's, as no other one is in its own; or it inlines a stage where none is computed in another one; or it says how one is
/// stored, which no placement hangs on.
///
/// Cost  O(loops of the stage), where the look at all placements takes a copy of the nest and a walk over the program
constexpr bool keeps_placements(nest const& n, step const& s) {
  program const& p = n.computation();
  if (s.what == verb::store_non_temporal) return true;
  if (!p.reads.empty()) return false;
  if (s.what == verb::compute_inline) return n.specials.empty() && n.wishes.empty() && !n.has_scans && !has_placements(n);
  step_form const& form = form_of(s.what);
  if (form.places || form.stage) return false;
  int const stage = form.stage ? s.stage : n.at(s.loops[0]).stage;
  stage_info const& of = program::at(p.stages, stage);
  if (of.scanned >= 0 || !(program::at(n.places, stage) == placement()) || program::at(n.starts, stage) >= 0) return false;
  if (n.has_guests(stage)) return false;
  for (int a = 0; a < of.axes(); ++a)
    if (n.at(program::at(n.loop_of, of.first_axis + a)).fold > 0) return false;
  return true;
}
/// Whether a step says of one stage alone where it is computed, or its memory is, which then `placement_check::moved` judges: no inlined one, since
/// all that it reads would have other readers; where no stage is computed beside another, which hangs on all placements.
constexpr bool moves_one_stage(nest const& n, step const& s) {
  bool const moves = s.what == verb::compute_at || s.what == verb::store_at || s.what == verb::store_root || s.what == verb::fold_storage;
  if (!moves || !n.computation().reads.empty() || n.has_scans || n.besides > 0) return false;
  bool const is_loop = s.loops[0] >= 0 && s.loops[0] < static_cast<int>(n.loops.size());
  int const stage = s.what != verb::fold_storage ? s.stage : is_loop ? n.at(s.loops[0]).stage : -1;
  return stage >= 0 && stage < static_cast<int>(n.places.size()) && !program::at(n.places, stage).inlined;
}

}  // namespace weft::inline WEFT_ABI
