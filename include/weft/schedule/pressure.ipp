#include "weft/base/joined.hpp"
#include "weft/expr/im2col.hpp"
#include "weft/schedule/narrow.hpp"
#include "weft/schedule/placement.hpp"
#include "weft/schedule/pressure.hpp"
#include "weft/schedule/print.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The widest element that a stage computes with; arithmetic on indices does not count, nor what is rarely computed, as the
/// f64 of a sine of f32: it has vectors of several registers where it is.
inline int widest_bytes(program const& p, stage_info const& stage) {
  int widest = 1;
  node_set used;
  sequence<std::int32_t> next;
  auto const use = [&](std::int32_t id) {
    if (id >= 0 && used.add(id)) next.push_back(id);  // below 0: a function's
  };
  for (int r = 0; r < stage.results; ++r) {
    int const bytes = size_bytes(program::at(p.tensors, stage.tensor + r).type);
    if (bytes > widest) widest = bytes;
    use(p.result(stage, r).body);
  }
  while (!next.empty()) {
    node const& n = p.at(next.back());
    next.pop_back();
    bool const data = n.type != dtype::i64 || n.kind == op::load || n.kind == op::self || n.kind == op::scalar;
    if (data && size_bytes(n.type) > widest) widest = size_bytes(n.type);
    if (arity(n.kind) > 0) use(n.a), use(n.kind == op::rare ? -1 : n.b), use(n.c);
  }
  return widest;
}
/// Whether `host` reads `guest` at its own indices alone, through inlined stages that do.
inline bool is_read_alike(nest const& n, int host, int guest) {
  program const& p = n.computation();
  bool any = false;
  sequence<sequence<std::int32_t>> const readers = readers_of(p);
  for (std::int32_t r : program::at(readers, guest)) {
    bool const inlined = program::at(n.places, r).inlined;
    if (!reads_own_element(p, r, program::at(p.stages, guest)) || (r != host && !(inlined && is_read_alike(n, host, r)))) return false;
    any = true;
  }
  return any;
}
/// So many iterations have the loops inside of `place` that count together; -1: not known.
template <class Counts>
inline std::int64_t trips_inside(nest const& n, int place, Counts const& counts) {
  std::int64_t trips = 1;
  for (std::int32_t inside : n.order_of(place))
    if (counts(inside) && n.position(inside) > n.position(place)) {
      if (n.at(inside).extent < 0) return -1;
      trips = trips * n.at(inside).extent > 1 << 20 ? 1 << 20 : trips * n.at(inside).extent;
    }
  return trips;
}
/// The loop of the stage around `place` into which the axes were fused whose row this index numbers, i * size(j) + j; -1: there is none.
inline int row_at(nest const& n, int place, int index) {
  program const& p = n.computation();
  stage_info const& host = program::at(p.stages, n.at(place).stage);
  known_extents found;
  auto const value = [&](int id) {
    return extent_value(p, id, [&](int tensor, int dim) { return program::at(program::at(n.inputs, tensor), dim); }, found);
  };
  auto const are_same = [&](int x, int y) { return x == y || (value(x) >= 0 && value(x) == value(y)); };
  sequence<std::int32_t> places;
  return digits_of(p, host, index, places, are_same, [](int x) { return x; }) ? n.row_of(host, places) : -1;
}
/// How often a loop runs. Of a part of one axis that is read by the stage around it at its own indices alone, or along its own row of fused axes, so long as
/// what stands inside that loop; -1: not known, as of other parts.
inline std::int64_t longest_trips(nest const& n, int id) {
  loop_info const& l = n.at(id);
  if (!n.is_part(id)) return l.extent;
  if (l.parent >= 0 || l.root < 0) return -1;
  program const& p = n.computation();
  int const place = n.places[static_cast<std::size_t>(l.stage)].loop;
  stage_info const& guest = program::at(p.stages, l.stage);
  int axis = -1, row = -1;
  bool same = true;
  each_load(p, n.at(place).stage, [&](node const& x) {
    if (x.a < guest.tensor || x.a >= guest.tensor + guest.results) return;
    int const operand = program::at(p.operands, x.b + l.root - guest.first_axis);
    node const& index = p.at(operand);
    int const own = index.kind == op::add ? row_at(n, place, operand) : -1;
    same = same && (own >= 0 ? axis < 0 && (row < 0 || row == own) : row < 0 && index.kind == op::axis && (axis < 0 || axis == index.a));
    if (own >= 0) row = own;
    else axis = index.a;
  });
  std::int64_t const whole = n.at(program::at(n.loop_of, l.root)).extent;  // loops of the host may be rounded up
  auto const within = [&](std::int64_t trips) { return trips >= 0 && whole >= 0 && whole < trips ? whole : trips; };
  if (same && row >= 0) return within(trips_inside(n, place, [&](std::int32_t inside) { return n.is_within(inside, row); }));
  if (axis < 0 && is_read_alike(n, n.at(place).stage, l.stage))
    axis = program::at(p.stages, n.at(place).stage).first_axis + l.root - guest.first_axis;
  if (!same || axis < 0) return -1;
  return within(trips_inside(n, place, [&](std::int32_t inside) { return n.at(inside).root == axis; }));
}
/// Where the innermost serial reduced loop stands, if no serial spatial one stands inside it; else -1.
inline int reduction_position(nest const& n, sequence<std::int32_t> const& order) {
  for (std::size_t i = order.size(); i-- > 0;) {
    loop_info const& l = n.at(order[i]);
    if (is_written_out(l.kind)) continue;
    return l.reduced ? static_cast<int>(i) : -1;
  }
  return -1;
}
}  // namespace detail

WEFT_DECL register_use registers_of(nest const& n, int stage) {
  program const& p = n.computation();
  stage_info const& s = program::at(p.stages, stage);
  sequence<std::int32_t> const& order = n.order[static_cast<std::size_t>(stage)];
  register_use use;
  if (s.reduced == 0 || n.limits.vector_bytes <= 0 || detail::reduction_position(n, order) < 0) return use;
  int const bytes = detail::widest_bytes(p, s);
  use.lanes = n.limits.vector_bytes > bytes ? n.limits.vector_bytes / bytes : 1;
  narrow_results const narrow = s.results > 1 ? narrow_results_of(n) : narrow_results();
  for (int r = 0; r < s.results; ++r) {
    std::uint32_t const lacks = s.results > 1 ? program::at(narrow.lacks, s.tensor + r) : 0;
    std::int64_t rows = 1, row = 0;
    for (std::int32_t id : order) {
      loop_info const& l = n.at(id);
      if (l.reduced || !is_written_out(l.kind) || is_left_out(n, id, lacks)) continue;
      std::int64_t const trips = detail::longest_trips(n, id);
      if (trips < 0) return {0, 0, use.lanes};
      if (l.kind == loop_kind::vectorized)
        row = ceil_div(trips, use.lanes);
      else
        rows = rows * trips > 1 << 20 ? 1 << 20 : rows * trips;  // far beyond any machine
    }
    use.accumulators += rows * (row > 0 ? row : 1);
    if (row > use.row) use.row = row;
  }
  return use;
}

WEFT_DECL std::string written_out_too_often(nest const& n) {
  constexpr std::int64_t most = 1024, vector_bytes = 16;
  for (std::size_t s = 0; s < n.order.size(); ++s) {
    stage_info const& st = program::at(n.computation().stages, static_cast<int>(s));
    std::int64_t const lanes = vector_bytes / detail::widest_bytes(n.computation(), st);
    std::int64_t copies = 1, vectors = 1;
    for (std::int32_t id : n.order[s]) {
      loop_info const& l = n.at(id);
      if (l.extent < 0 || !is_written_out(l.kind)) continue;  // stays a loop
      std::int64_t const known = detail::longest_trips(n, id), trips = known < 0 ? l.extent : known;
      if (l.kind != loop_kind::vectorized) copies = copies * trips > 1 << 20 ? 1 << 20 : copies * trips;
      if (l.kind == loop_kind::vectorized) vectors = ceil_div(trips, lanes);
    }
    if (copies * vectors <= most) continue;
    std::string out(sentence(diagnosis::the_unrolled_and_vectorized_axes_make_more_than_1024_copies));
    out += joined({"\n  in    stage ", program::at(n.computation().tensors, st.tensor).name.view(), ": ",
                   std::to_string(copies), copies == 1 << 20 ? " or more" : "", " unrolled iterations"});
    if (vectors > 1) out += joined({" of ", std::to_string(vectors), " vectors of 16 bytes"});
    out += "\n" + detail::nest_text(n, static_cast<int>(s), -1);
    if (vectors > most)
      return joined({out, "\n  try   at most ", std::to_string(most * lanes), " vectorized iterations: split the axis and vectorize its inner part"});
    return joined({out, "\n  try   unrolled loops of at most ", std::to_string(most / vectors),
                   " iterations together: split an axis and unroll its inner part"});
  }
  return "";
}

WEFT_DECL std::int64_t registers_needed(nest const& n) {
  std::int64_t most = 0;
  for (std::size_t s = 0; s < n.order.size(); ++s)
    if (std::int64_t const needed = registers_of(n, static_cast<int>(s)).needed(); needed > most) most = needed;
  return most;
}

WEFT_DECL std::string register_pressure(nest const& n) {
  if (n.limits.vector_registers <= 0) return "";
  for (std::size_t s = 0; s < n.order.size(); ++s) {
    int const stage = static_cast<int>(s);
    register_use const use = registers_of(n, stage);
    std::int64_t const limit = n.limits.vector_registers;
    if (use.needed() <= limit) continue;
    std::int64_t const per_row = use.row > 0 ? use.row : 1;
    std::int64_t const rows = (limit - 1 - use.row) / per_row;
    std::string out(sentence(diagnosis::the_tile_does_not_fit_the_vector_registers__make_it_smaller));
    out +=
        joined({"\n  in    stage ",
                program::at(n.computation().tensors, program::at(n.computation().stages, stage).tensor).name.view()});
    out += joined({": ", std::to_string(use.accumulators), " accumulators + ", std::to_string(use.row),
                   " for a row + 1 = ", std::to_string(use.needed()), " vectors of ", std::to_string(use.lanes),
                   " lanes, the CPU has ", std::to_string(limit), "\n", detail::nest_text(n, stage, -1)});
    out += rows >= 1 ? joined({"\n  try   unrolled loops of at most ", std::to_string(rows), " iterations together"})
                     : joined({"\n  try   at most ", std::to_string((limit - 1) / 2 * use.lanes),
                               " vectorized iterations"});
    return out;
  }
  return "";
}

WEFT_DECL bool fits_some_machine(nest const& n) {
  nest largest = n;
  largest.limits.vector_registers = 32;
  largest.limits.vector_bytes = 64;
  return register_pressure(largest).empty();
}

}  // namespace weft::inline WEFT_ABI
