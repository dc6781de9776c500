#include "weft/codegen/llvm/expr.hpp"
#include "weft/ir/simplify.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

namespace detail {
/// The loads of vectors without masks below an expression, each once.
inline void find_vector_loads(ir::expr e, sequence<ir::expr>& seen, sequence<ir::expr>& loads) {
  if (e == nullptr || e->lanes == 1 || e->kind == op::literal || seen.size() > 512) return;
  for (ir::expr other : seen)
    if (other == e) return;
  seen.push_back(e);
  if (e->kind == op::load && e->a == nullptr && e->buf->where != ir::scope::registers) return loads.push_back(e);
  if (e->kind == op::load || e->kind == op::instruction) return;
  for (ir::expr o : {e->a, e->b, e->c}) find_vector_loads(o, seen, loads);
}
/// The dimension that the lanes of a load walk one by one, where it is known at the call alone how far apart that is; -1: there is none.
inline int rows_apart(ir::expr load) {
  int walked = -1;
  for (std::size_t d = 0; d < load->indices.size(); ++d) {
    ir::expr const i = load->indices[d];
    if (i->lanes == 1) continue;
    if (walked >= 0 || i->kind != op::ramp || i->value != 1 || load->buf->strides[d]->kind == op::literal) return -1;
    walked = static_cast<int>(d);
  }
  return walked;
}
}  // namespace detail

/// Rows become columns: squares of d x d change places across the diagonal, for d = 1, 2, 4, .. What is null is nobody's.
WEFT_DECL void expression_emitter::turn_over(sequence<value_ref>& square, type_ref vector) {
  std::size_t const lanes = square.size();
  for (std::size_t d = 1; d < lanes; d *= 2)
    for (std::size_t row = 0; row < lanes; ++row) {
      if ((row & d) != 0 || (square[row] == nullptr && square[row + d] == nullptr)) continue;
      sequence<std::int32_t> upper, lower;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        upper.push_back(static_cast<std::int32_t>((lane & d) == 0 ? lane : lanes + lane - d));
        lower.push_back(static_cast<std::int32_t>((lane & d) == 0 ? lane + d : lanes + lane));
      }
      value_ref const a = square[row] != nullptr ? square[row] : l_.GetPoison(vector);
      value_ref const b = square[row + d] != nullptr ? square[row + d] : l_.GetPoison(vector);
      square[row] = shuffled(a, b, upper), square[row + d] = shuffled(a, b, lower);
    }
}
/// Where stores behind one another read vectors with gaps that begin at neighbouring elements, as many as there are lanes, those are
/// the columns of a square: it is read row by row and turned over in registers. 16 gathers of 16 lanes take 640 cycles, 16 loads and
/// 64 shuffles some 70 (Zen 4). What is read is the same.
WEFT_DECL void expression_emitter::turn_squares(ir::stmt const* first, ir::stmt const* last) {
  ir::arena& m = *s_.f.nodes;
  std::uint64_t written = 0;
  sequence<ir::expr> seen, loads;
  for (ir::stmt const* s = first; s != last; ++s) {
    written |= classes_written(*s);
    detail::find_vector_loads((*s)->value, seen, loads);
  }
  sequence<flat_index> flats;
  sequence<ir::expr> found, strides;
  for (ir::expr load : loads) {
    int const lanes = load->lanes;
    if (lanes > 16 || (lanes & (lanes - 1)) != 0 || load->type == dtype::boolean || (class_of(load->buf) & written) != 0) continue;
    if (load->id < values_.size() && values_[load->id] != nullptr) continue;
    // What stands on a load that is known further out is computed there, where the square is not.
    if (level_of(load) + 1 != static_cast<int>(regions_.size())) continue;
    flat_index flat = element_at(load->buf, load->indices, lanes);
    ir::expr stride = ir::index(m, flat.stride);
    if (int const d = detail::rows_apart(load); flat.first->lanes > 1 && d >= 0) {
      sequence<ir::expr> of_lane(load->indices.begin(), load->indices.end());
      of_lane[static_cast<std::size_t>(d)] = of_lane[static_cast<std::size_t>(d)]->a;
      flat = element_at(load->buf, {of_lane.data(), static_cast<std::uint32_t>(of_lane.size())}, 1), stride = load->buf->strides[static_cast<std::size_t>(d)];
    } else if (flat.first->lanes > 1 || (flat.stride < lanes && flat.stride > -lanes)) {
      continue;
    }
    found.push_back(load), flats.push_back(flat), strides.push_back(stride);
  }
  sequence<bool> done(found.size(), false);
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const lanes = static_cast<std::size_t>(found[i]->lanes);
    sequence<std::int32_t> columns(lanes, -1);
    std::size_t count = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (done[k] || found[k]->buf != found[i]->buf || found[k]->lanes != found[i]->lanes || strides[k] != strides[i]) continue;
      ir::expr const apart = simplify(m, ir::binary(m, op::sub, flats[k].first, flats[i].first));
      if (apart->kind != op::literal || apart->value < 0 || apart->value >= static_cast<std::int64_t>(lanes)) continue;
      std::int32_t& column = columns[static_cast<std::size_t>(apart->value)];
      count += column < 0;
      column = static_cast<std::int32_t>(k);
    }
    if (done[i] || count != lanes) continue;
    ir::buffer const* const buf = found[i]->buf;
    sequence<value_ref> square;
    for (std::size_t row = 0; row < lanes; ++row) {
      ir::expr const at = ir::binary(m, op::add, flats[i].first, ir::binary(m, op::mul, strides[i], ir::index(m, static_cast<std::int64_t>(row))));
      value_ref const v = l_.BuildLoad2(b_, with_lanes(memory_type(buf->type), static_cast<int>(lanes)), pointer_at(buf, simplify(m, at)), "");
      l_.SetAlignment(v, static_cast<unsigned>(size_bytes(buf->type)));
      square.push_back(v);
    }
    turn_over(square, with_lanes(memory_type(buf->type), static_cast<int>(lanes)));
    for (std::size_t c = 0; c < lanes; ++c) {
      auto const k = static_cast<std::size_t>(columns[c]);
      std::uint32_t const id = found[k]->id;
      memory_read(found[k]);
      if (values_.size() <= id) values_.resize(id + 256, nullptr);
      values_[id] = square[c];
      regions_.back().values.push_back(id);
      done[k] = true;
    }
  }
}

/// One vector for the elements of `columns` in turns: x0 y0 x1 y1 .. of two, as so many vectors; from the first half of them to the other.
WEFT_DECL sequence<value_ref> expression_emitter::woven(sequence<value_ref> const& columns, int lanes) {
  if (columns.size() == 1) return columns;
  sequence<value_ref> even, odd, made;
  for (std::size_t i = 0; i < columns.size(); ++i) (i % 2 == 0 ? even : odd).push_back(columns[i]);
  even = woven(even, lanes), odd = woven(odd, lanes);
  for (std::size_t i = 0; i < even.size(); ++i)
    for (std::int32_t half = 0; half < lanes; half += lanes / 2) {
      sequence<std::int32_t> from;
      for (std::int32_t l = 0; l < lanes; ++l) from.push_back(half + l / 2 + (l % 2 == 0 ? 0 : lanes));
      made.push_back(shuffled(even[i], odd[i], from));
    }
  return made;
}
/// Where stores behind one another write vectors with gaps that begin at neighbouring elements, those are columns of a square: it is
/// turned over in registers and stored row by row, as sums are whose lanes do not lie side by side in the result. A scatter of
/// 16 lanes takes some 35 cycles, a column of a square 9 (Zen 4). Registers may be written between them, as a scan does at each step. Rows may be
/// shorter than a vector: of 14 elements, of which 14 columns are all.
/// Vectors with gaps of fewer elements than they have lanes are woven into as many without, where they fill the gaps, as rows do of which an
/// instruction wants two or four next to each other. False: they are others, and nothing was emitted.
WEFT_DECL bool expression_emitter::store_squares(ir::stmt const* first, ir::stmt const* last) {
  sequence<ir::stmt> stores;
  for (ir::stmt const* s = first; s != last; ++s)
    if ((*s)->buf->where != ir::scope::registers) stores.push_back(*s);
  std::size_t const count = stores.size();
  bool const steps = count != static_cast<std::size_t>(last - first);
  if (count < 2) return false;
  ir::buffer const* const buf = stores[0]->buf;
  int const width = stores[0]->value->lanes;
  if (count > 64 || width < 4 || width > 64 || (width & (width - 1)) != 0) return false;
  if (buf->non_temporal || buf->type == dtype::boolean) return false;
  for (ir::stmt const* s = first; s != last; ++s)
    if ((*s)->buf->where == ir::scope::registers && (memory_read((*s)->value) & class_of(buf)) != 0) return false;
  auto const lanes = static_cast<std::size_t>(width);
  ir::arena& m = *s_.f.nodes;
  sequence<std::int64_t> apart;  // from the first one's place
  flat_index origin{};
  for (ir::stmt s : stores) {
    if (s->buf != buf || s->mask != nullptr || s->value->lanes != width) return false;
    std::uint64_t read = memory_read(s->value);
    for (ir::expr i : s->indices) read |= memory_read(i);
    if ((read & class_of(buf)) != 0) return false;
    flat_index const at = element_at(buf, s->indices, width);
    if (s == stores[0]) origin = at;
    bool const weaves = at.stride < width && (at.stride == 2 || at.stride == 4 || at.stride == 8), turns = 2 * at.stride > width && width <= 16;
    if (at.first->lanes > 1 || at.stride != origin.stride || !(turns || weaves)) return false;
    ir::expr const further = simplify(m, ir::binary(m, op::sub, at.first, origin.first));
    if (further->kind != op::literal) return false;
    for (std::int64_t other : apart) {
      std::int64_t const between = further->value - other;
      if (between % at.stride == 0 && between < width * at.stride && between > -width * at.stride) return false;  // they meet
    }
    apart.push_back(further->value);
  }
  bool const weaves = origin.stride < width && (origin.stride & (origin.stride - 1)) == 0;
  std::size_t const together = weaves ? static_cast<std::size_t>(origin.stride) : lanes;
  sequence<sequence<std::int32_t>> squares;  // by square, the stores that are its columns
  sequence<bool> taken(count, false);
  auto const at_place = [&](std::int64_t wanted) {
    for (std::size_t i = 0; i < count; ++i)
      if (apart[i] == wanted && !taken[i]) return static_cast<std::int32_t>(i);
    return std::int32_t(-1);
  };
  for (std::size_t left = count; left > 0;) {
    std::size_t begin = count;
    for (std::size_t i = 0; i < count; ++i)
      if (!taken[i] && (begin == count || apart[i] < apart[begin])) begin = i;
    sequence<std::int32_t> columns;
    for (std::int32_t i = static_cast<std::int32_t>(begin); i >= 0 && columns.size() < together;
         i = at_place(apart[begin] + static_cast<std::int64_t>(columns.size())))
      columns.push_back(i), taken[static_cast<std::size_t>(i)] = true;
    if (columns.size() < 2 || (weaves && columns.size() < together)) return false;
    left -= columns.size();
    squares.push_back(columns);
  }
  type_ref const vector = with_lanes(memory_type(buf->type), width);
  auto const bytes = static_cast<unsigned>(size_bytes(buf->type));
  value_ref const alignment = l_.ConstInt(l_.Int32TypeInContext(s_.context), bytes, 0);
  sequence<value_ref> values(count, nullptr);  // as registers are when each is stored
  std::size_t at_store = 0;
  for (ir::stmt const* s = first; s != last && steps; ++s) {
    value_ref const v = to_memory(emit((*s)->value), (*s)->buf->type, (*s)->value->lanes);
    if ((*s)->buf == buf) {
      values[at_store++] = v;
    } else {
      l_.BuildStore(b_, v, bases_[static_cast<std::size_t>((*s)->buf->id)]);
      forget_memory(class_of((*s)->buf));
    }
  }
  auto const value_of = [&](std::int32_t i) {
    auto const at = static_cast<std::size_t>(i);
    return steps ? values[at] : to_memory(emit(stores[at]->value), buf->type, width);
  };
  for (sequence<std::int32_t> const& columns : squares) {
    sequence<value_ref> square(together, nullptr);
    for (std::size_t c = 0; c < columns.size(); ++c) square[c] = value_of(columns[c]);
    if (weaves) square = woven(square, width);
    else turn_over(square, vector);
    sequence<value_ref> mask;
    for (std::size_t lane = 0; lane < lanes; ++lane) mask.push_back(l_.ConstInt(l_.Int1TypeInContext(s_.context), lane < columns.size() ? 1 : 0, 0));
    value_ref const some = l_.ConstVector(mask.data(), static_cast<unsigned>(lanes));
    ir::expr const begin = element_at(buf, stores[static_cast<std::size_t>(columns[0])]->indices, width).first;
    for (std::size_t row = 0; row < together; ++row) {
      ir::expr const at = ir::binary(m, op::add, begin, ir::index(m, static_cast<std::int64_t>(row) * (weaves ? width : origin.stride)));
      value_ref const to = pointer_at(buf, simplify(m, at));
      if (columns.size() == together) l_.SetAlignment(l_.BuildStore(b_, square[row], to), bytes);
      else call_intrinsic("llvm.masked.store", {vector, pointer()}, {square[row], to, alignment, some});
    }
  }
  forget_memory(class_of(buf));
  return true;
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
