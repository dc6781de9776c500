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
    bool const x = kind == loop_kind::thread_x || kind == loop_kind::lane;
    int const values = x && n.at(id).reduced ? values_joined(n.computation(), n.at(id)) : 0;
    if (values > 1) return illegal(diagnosis::threads_join_parts_of_one_value_in_a_tree__leave_this_axis_serial);
    if (n.at(id).reduced && values == 0) return illegal(diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor);
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
      if (n.is_part(other)) {  // how much of it is read at a time is known when loops are made
        unknown = true;
        continue;
      }
      if (how == loop_kind::thread_z && extent > 64 && extent <= 1024)
        return illegal(diagnosis::a_block_has_at_most_64_threads_along_z__bind_to_another_axis);
      if (extent == open_trips || extent > (how == loop_kind::lane ? 32 : 1024)) threads = 1 << 20;
      else if (how != loop_kind::lane && extent > 0 && threads < 1 << 20) threads *= extent;
      unknown = unknown || extent < 0;
    }
    if (threads * lanes > 1024)
      return illegal(diagnosis::a_block_has_at_most_1024_threads_and_a_warp_32_lanes__split_first);
    return {unknown ? verdict::deferred : verdict::legal};
  }
  /// Where all that a stage does along this loop is to join the parts that another stage has made of its terms, in any order: of how
  /// many values. 0: it does other things.
  static constexpr int values_joined(program const& p, loop_info const& l) {
    stage_info const& s = program::at(p.stages, l.stage);
    if (l.root < 0 || s.reduced != 1 || s.by != nullptr) return 0;
    if (s.results == 1 && !joins_loads(p, l.stage)) return 0;  // several are refused either way
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
    return own && (s.results == 1 ? loads == 1 : loads > 0) ? s.results : 0;
  }
  /// Whether the one result of the stage is the value so far joined with what it loads, and with nothing that is computed of that: a
  /// tree does the same to two parts.
  static constexpr bool joins_loads(program const& p, int stage) {
    result_info const& r = p.result(program::at(p.stages, stage), 0);
    if (r.merged >= 0) return is_merged(p, r.merged, r.body);
    if (!associative_form(p, stage).known()) return false;
    // Halves are joined in f32.
    auto const plain = [&](int id) -> node const& {
      node const& n = p.at(id);
      return n.kind == op::cast && (is_half(n.type) || is_half(p.at(n.a).type)) ? p.at(n.a) : n;
    };
    node const& by = plain(r.body);
    if (arity(by.kind) != 2) return false;
    op const a = plain(by.a).kind, b = plain(by.b).kind;
    return (a == op::self && b == op::load) || (a == op::load && b == op::self);
  }
  /// Whether `body` is what parts become in `merged`, of a load.
  static constexpr bool is_merged(program const& p, int merged, int body) {
    if (merged < 0 || body < 0) return merged == body;
    node const &m = p.at(merged), &b = p.at(body);
    if (m.kind == op::self && m.a > 0) return b.kind == op::load;
    if (m.kind != b.kind || m.type != b.type) return false;
    if (arity(m.kind) > 0) return is_merged(p, m.a, b.a) && is_merged(p, m.b, b.b) && is_merged(p, m.c, b.c);
    return m.kind != op::load && m.a == b.a && m.value == b.value;
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
  /// Needs   a spatial axis, or that one, of a reduction whose body joins each part as it is. Of blocks, threads, warps and lanes one axis each, blocks outside of threads, none inside an
  ///         unrolled or vectorized axis; threads of a known number, at most 1024 together and 64 along z, where of a stage that is computed inside of
  ///         another (compute_at first) the part counts. Virtual threads as unrolled ones: at most 1024, and a number
  /// Keeps   all results; floats that a tree joins are rounded in another order, as by rfactor
  /// Errors  schedule_error "bind: blocks stand outside of threads"; "one launch of a GPU cannot do this: ..", at the first call; and where a kernel for a CPU is compiled with more than
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
