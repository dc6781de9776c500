// Step: prefetch; in a trace, prefetch, prefetch_inside or prefetch_in_turns.
#pragma once

#include "weft/schedule/handle.hpp"
#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {

struct prefetch_rule {
  static constexpr ruling check(nest const& n, step const& s) { return in_loop(n, s, s.loops[0], s.loops[0]); }
  static constexpr void perform(nest& n, step const& s) { n.fetches.push_back({s.loops[0], s.tensor, s.factor, -1, into(s)}); }

 protected:
  static constexpr cache_level into(step const& s) { return static_cast<cache_level>(s.word); }
  /// Whether the stage of `loop` reads the tensor, or one that is computed in that loop.
  static constexpr bool reads_there(nest const& n, int loop, int tensor) {
    program const& p = n.computation();
    if (detail::reads_tensor(p, n.at(loop).stage, tensor)) return true;
    for (std::size_t g = 0; g < n.places.size(); ++g)
      if (int const host = n.places[g].loop; host >= 0 && (host == loop || n.is_around(loop, host)) && detail::reads_tensor(p, static_cast<int>(g), tensor)) return true;
    return false;
  }
  /// reads: a loop of the stage that does.
  static constexpr ruling in_loop(nest const& n, step const& s, int id, int reads) {
    for (int const loop : {reads, id})
      if (ruling const r = n.usable(loop); r.v != verdict::legal) return r;
    program const& p = n.computation();
    if (s.tensor < 0 || s.tensor >= static_cast<int>(p.tensors.size()) ||
        (!reads_there(n, reads, s.tensor) && program::at(p.tensors, s.tensor).stage != n.at(reads).stage))
      return illegal(diagnosis::the_stage_does_not_read_this_tensor);
    if (is_written_out(n.at(id).kind))
      return illegal(diagnosis::an_unrolled_or_vectorized_axis_is_no_loop_to_prefetch_in);
    if (s.factor < 1 || s.factor > 1 << 20) return illegal(diagnosis::a_prefetch_is_1_to_2_to_the_20_iterations_ahead);
    return {};
  }
};
/// loops[0] is the one whose later iteration is asked for, in each of loops[1].
struct prefetch_inside_rule : prefetch_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    for (int const id : {s.loops[0], s.loops[1]})
      if (ruling const r = in_loop(n, s, id, s.loops[1]); r.v != verdict::legal) return r;
    return n.is_around(s.loops[0], s.loops[1]) ? ruling{} : illegal(diagnosis::a_prefetch_inside_stands_in_a_loop_further_in);
  }
  static constexpr void perform(nest& n, step const& s) { n.fetches.push_back({s.loops[1], s.tensor, s.factor, s.loops[0], into(s)}); }
};
/// In loops[2], of which the iterations of loops[1] take turns.
struct prefetch_in_turns_rule : prefetch_rule {
  static constexpr ruling check(nest const& n, step const& s) {
    for (int const id : {s.loops[0], s.loops[1], s.loops[2]})
      if (ruling const r = in_loop(n, s, id, s.loops[2]); r.v != verdict::legal) return r;
    bool const inside = n.is_around(s.loops[0], s.loops[1]) && n.is_around(s.loops[1], s.loops[2]);
    return inside ? ruling{} : illegal(diagnosis::a_prefetch_inside_stands_in_a_loop_further_in);
  }
  static constexpr void perform(nest& n, step const& s) {
    n.fetches.push_back({s.loops[2], s.tensor, s.factor, s.loops[0], into(s), s.loops[1]});
  }
};

/// `s.prefetch`, as a part of `schedule`.
template <class Schedule>
struct prefetch_step {
  /// Asks in each iteration of a loop for the cache lines in which stands what the iteration `distance` further on reads of a
  /// tensor; of loops inside, what their first iteration reads.
  ///
  ///     for k in 0..K:                       for k in 0..K:
  ///       .. B[k, j] ..            ->          prefetch B[k + distance, j]
  ///                                            .. B[k, j] ..
  ///
  /// `into` says which cache it comes to: the first one, where it is read soon; `weft::cache_level::l2` or `l3`, where much else is
  /// read before; `once`, where nothing is read twice.
  ///
  /// Of what the stage computes itself it asks for the lines that will be written, to have them alone; for nothing in the loops of a sum that is
  /// kept in registers, where nothing is written.
  ///
  /// Needs   a loop of a stage that reads or computes the tensor, or in which one that reads it is computed; it is not unrolled or vectorized, split
  ///         and marked before. A distance from 1 to 2^20
  /// Keeps   all results. Nothing is read: a prefetch of an address that is not the program's does nothing, so the last
  ///         iterations may ask for what stands beyond the end
  /// Cost    an instruction for each access, at most 32 for a loop; indices that are read from memory are left out. Pays where
  ///         the processor does not see the pattern itself, as in strides beyond a page
  /// Source  TVM, `Stage.prefetch`; Halide, `Func::prefetch`
  template <int Rank>
  constexpr void prefetch(input_handle<Rank> from, axis loop, std::int64_t distance, cache_level into = cache_level::l1) {
    step request = request_of(tensor_of(static_cast<Schedule const&>(*this), from), distance, verb::prefetch, loop, into);
    static_cast<Schedule&>(*this).take(request);
  }
  /// Of a result of a stage, the first unless it is `from.result(n)`.
  template <int Axes, int Spatial>
  constexpr void prefetch(stage_handle<Axes, Spatial> const& from, axis loop, std::int64_t distance, cache_level into = cache_level::l1) {
    step request = request_of(tensor_of(static_cast<Schedule const&>(*this), from), distance, verb::prefetch, loop, into);
    static_cast<Schedule&>(*this).take(request);
  }
  /// Asks in each iteration of the loop `in` for what the same iteration reads of a tensor `distance` iterations further on in a
  /// loop around it: the next panel comes while this one is worked on.
  ///
  ///     for jo in 0..J:                      for jo in 0..J:
  ///       for k in 0..K:                       for k in 0..K:
  ///         .. B[k, jo] ..           ->          prefetch B[k, jo + distance]
  ///                                              .. B[k, jo] ..
  ///
  /// Needs   a loop `in` of a stage that reads the tensor, and `loop` of the same stage further out, or of one in whose loops that
  ///         is computed; neither unrolled nor vectorized; they are split and marked before. A distance from 1 to 2^20
  /// Keeps   all results, as prefetch does. Accesses that do not move with `loop` are left out, all of them if a later step puts
  ///         `loop` further in than `in`
  /// Cost    an instruction for each access in each iteration of `in`, at most 32. Where rows of B lie far apart and C has few
  ///         rows, products ran 1.1 to 1.9 times as fast (decision 038)
  template <class Handle>
  constexpr void prefetch_inside(Handle const& from, axis loop, axis in, std::int64_t distance, cache_level into = cache_level::l1) {
    step request = request_of(tensor_of(static_cast<Schedule const&>(*this), from), distance, verb::prefetch_inside, loop, into);
    request.count = 2, request.loops[1] = in.id;
    static_cast<Schedule&>(*this).take(request);
  }
  /// As prefetch_inside, where a loop `turns` between the two would ask for the same in each of its R iterations: they share it out, in order,
  /// so that what comes from memory comes evenly while all of them work.
  ///
  ///     for jo in 0..J:                      for jo in 0..J:
  ///       for io in 0..R:                      for io in 0..R:
  ///         for k in 0..K:                       for k in 0..K:
  ///           .. B[k, jo] ..         ->            prefetch line (io*K + k) / R of B[.., jo + distance]
  ///                                                .. B[k, jo] ..
  ///
  /// Needs   as prefetch_inside, and `turns` inside of `loop` and around `in`
  /// Keeps   all results. Where the extent of `turns` is open, each of its iterations asks for all
  /// Cost    where the lines that an iteration reads are equally far apart, as those of a packed panel, some four instructions for each R-th part of
  ///         them; else three for each line. Packed weights for 16 and 35 rows ran 1.4 and 1.8 times as fast where memory is far (decision 094)
  template <class Handle>
  constexpr void prefetch_in_turns(Handle const& from, axis loop, axis turns, axis in, std::int64_t distance,
                                   cache_level into = cache_level::l1) {
    step request = request_of(tensor_of(static_cast<Schedule const&>(*this), from), distance, verb::prefetch_in_turns, loop, into);
    request.count = 3, request.loops[1] = turns.id, request.loops[2] = in.id;
    static_cast<Schedule&>(*this).take(request);
  }

 private:
  static constexpr step request_of(int tensor, std::int64_t distance, verb what, axis loop, cache_level into) {
    step request{what, 1, {loop.id}, distance};
    request.tensor = tensor;
    request.word = static_cast<std::uint8_t>(into);
    return request;
  }
};

}  // namespace weft::inline WEFT_ABI
