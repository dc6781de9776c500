// Step: bind.
#pragma once

#include "weft/expr/associative.hpp"
#include "weft/schedule/placement.hpp"
#include "weft/schedule/step/unroll.hpp"

namespace weft::inline WEFT_ABI {

// step::word: the thread_axis.
struct bind_rule {
  static constexpr loop_kind kind_of(step const& s) {
    return static_cast<loop_kind>(static_cast<int>(loop_kind::virtual_thread) + s.word);
  }
  static constexpr ruling check(nest const& n, step const& s) {
    int const id = s.loops[0];
    loop_kind const kind = kind_of(s);
    if (ruling const r = n.unmarked(id); r.v != verdict::legal) return r;
    bool const joins = (kind == loop_kind::thread_x || kind == loop_kind::lane) && joins_parts(n.computation(), n.at(id));
    if (n.at(id).reduced && !joins) return illegal(diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor);
    if (n.at(id).scanned) return illegal(diagnosis::a_scanned_axis_is_walked_in_its_order__mark_another_axis);
    bool const copies = kind == loop_kind::virtual_thread;
    bool inside = false;
    for (std::int32_t other : n.order_of(id)) {
      loop_info const& l = n.at(other);
      inside = inside || other == id;
      loop_kind const how = other == id ? kind : l.kind;
      if (inside && copies && how == loop_kind::parallel)
        return illegal(diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first);
      if (copies) continue;
      if (other != id && (how == kind || how == loop_kind::parallel))
        return illegal(diagnosis::another_axis_is_bound_to_that_already);
      if (!inside && is_written_out(how) && how != loop_kind::virtual_thread)
        return illegal(diagnosis::a_parallel_axis_cannot_stand_inside_an_unrolled_or_vectorized_one__reorder_first);
      if (inside ? is_block(how) && is_thread(kind) : is_thread(how) && is_block(kind))
        return illegal(diagnosis::blocks_stand_outside_of_threads__reorder_first);
    }
    return copies ? unroll_rule::few_iterations(n, id) : few_threads(n, n.at(id).stage, id, kind);
  }
  /// Of a stage, one of whose loops is to be of that kind.
  static constexpr ruling few_threads(nest const& n, int stage, int id = -1, loop_kind kind = loop_kind::serial) {
    bool unknown = false;
    std::int64_t threads = 1, lanes = 1;
    for (std::int32_t other : program::at(n.order, stage)) {
      loop_kind const how = other == id ? kind : n.at(other).kind;
      std::int64_t const extent = n.at(other).extent;
      if (!is_thread(how)) continue;
      if (how >= loop_kind::warp) lanes = 32;
      if (extent == open_trips || extent > (how == loop_kind::lane ? 32 : 1024)) threads = 1 << 20;
      else if (how != loop_kind::lane && extent > 0 && threads < 1 << 20) threads *= extent;
      unknown = unknown || extent < 0;
    }
    if (threads * lanes > 1024)
      return illegal(diagnosis::a_block_has_at_most_1024_threads_and_a_warp_32_lanes__split_first);
    return {unknown ? verdict::deferred : verdict::legal};
  }
  /// Whether all that a stage does along this loop is to join the parts that another stage has made of its terms, in any order.
  static constexpr bool joins_parts(program const& p, loop_info const& l) {
    stage_info const& s = program::at(p.stages, l.stage);
    if (!l.reduced || l.root < 0 || s.reduced != 1 || s.results != 1 || s.by != nullptr) return false;
    if (!associative_form(p, l.stage).known()) return false;
    int loads = 0;
    bool own = true;
    detail::each_load(p, l.stage, [&](node const& x) {
      ++loads;
      own = own && program::at(p.tensors, x.a).stage >= 0 && x.c == s.axes();
      for (int d = 0; own && d < x.c; ++d) {
        node const& i = p.at(program::at(p.operands, x.b + d));
        own = i.kind == op::axis && i.a == s.first_axis + d;
      }
    });
    return loads == 1 && own;
  }
  static constexpr void perform(nest& n, step const& s) { n.at(s.loops[0]).kind = kind_of(s); }
};

/// `s.bind`, as a part of `schedule`.
template <class Schedule>
struct bind_step {
  /// Gives a loop's iterations to the blocks, threads, warps or lanes of a GPU; or, as virtual threads, writes them out in
  /// turns, statement by statement, on any machine.
  ///
  ///     for v in 0..2:                     row[0, ..] = part 0     (a copy of the memory of what
  ///       row = part v           ->        row[1, ..] = part 1      is computed inside for each)
  ///       out[v, ..] = ..row..             out[0, ..] = ..row[0, ..]..
  ///                                        out[1, ..] = ..row[1, ..]..
  ///
  /// The axis that joins the parts of a reduction, as rfactor leaves it, may be bound to thread_x or to lanes: a tree of exchanges
  /// between the threads of a warp, and through shared memory between warps. Compute the parts at that axis, and each stays in its
  /// thread's registers.
  ///
  ///     auto [P, v] = s.rfactor(R, k, 256);     for i block_x:
  ///     s.bind(i, block_x);                ->     for v in 0..256 thread_x:
  ///     s.bind(v, thread_x);                        part = sum of X[i, u*256 + v] over u
  ///     s.compute_at(P, v);                       R[i] = all parts, in a tree
  ///
  /// Needs   a spatial axis, or that one. Of blocks, threads, warps and lanes one axis each, blocks outside of threads, none inside an
  ///         unrolled or vectorized axis; threads of a known number, at most 1024 together. Virtual threads as unrolled ones:
  ///         at most 1024, and a number
  /// Keeps   all results; floats that a tree joins are rounded in another order, as by rfactor
  /// Errors  schedule_error "bind: blocks stand outside of threads"; and where a kernel for a CPU is compiled with more than
  ///         virtual threads
  /// Cost    of virtual threads: code and memory for each
  /// Source  TVM, `s_tir::Schedule::Bind` and its virtual threads
  constexpr void bind(axis i, thread_axis to) {
    step request{verb::bind, 1, {i.id}};
    request.word = static_cast<std::uint8_t>(to);
    static_cast<Schedule&>(*this).take(request);
  }
};

}  // namespace weft::inline WEFT_ABI
