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
}  // namespace detail

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
  sequence<ir::expr> found;
  for (ir::expr load : loads) {
    int const lanes = load->lanes;
    if (lanes > 16 || (lanes & (lanes - 1)) != 0 || load->type == dtype::boolean || (class_of(load->buf) & written) != 0) continue;
    if (load->id < values_.size() && values_[load->id] != nullptr) continue;
    // What stands on a load that is known further out is computed there, where the square is not.
    if (level_of(load) + 1 != static_cast<int>(regions_.size())) continue;
    flat_index const flat = element_at(load->buf, load->indices, lanes);
    if (flat.first->lanes > 1 || (flat.stride < lanes && flat.stride > -lanes)) continue;
    found.push_back(load), flats.push_back(flat);
  }
  sequence<bool> done(found.size(), false);
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const lanes = static_cast<std::size_t>(found[i]->lanes);
    sequence<std::int32_t> columns(lanes, -1);
    std::size_t count = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (done[k] || found[k]->buf != found[i]->buf || found[k]->lanes != found[i]->lanes || flats[k].stride != flats[i].stride) continue;
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
      ir::expr const at = ir::binary(m, op::add, flats[i].first, ir::index(m, static_cast<std::int64_t>(row) * flats[i].stride));
      value_ref const v = l_.BuildLoad2(b_, with_lanes(memory_type(buf->type), static_cast<int>(lanes)), pointer_at(buf, simplify(m, at)), "");
      l_.SetAlignment(v, static_cast<unsigned>(size_bytes(buf->type)));
      square.push_back(v);
    }
    // Squares of d x d change places across the diagonal, for d = 1, 2, 4, ..
    for (std::size_t d = 1; d < lanes; d *= 2)
      for (std::size_t row = 0; row < lanes; ++row) {
        if ((row & d) != 0) continue;
        sequence<std::int32_t> upper, lower;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          upper.push_back(static_cast<std::int32_t>((lane & d) == 0 ? lane : lanes + lane - d));
          lower.push_back(static_cast<std::int32_t>((lane & d) == 0 ? lane + d : lanes + lane));
        }
        value_ref const a = square[row], b = square[row + d];
        square[row] = shuffled(a, b, upper), square[row + d] = shuffled(a, b, lower);
      }
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

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
