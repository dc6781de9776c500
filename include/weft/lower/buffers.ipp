#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/ir/own_memory.hpp"
#include "weft/lower/lowering.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The number in `names_` of a name, with a slot of `name_slots_` for it; -1: it is free.
WEFT_DECL std::int32_t lowering::find_name(std::string_view text, std::size_t& slot) const {
  std::size_t const mask = name_slots_.size() - 1;
  slot = static_cast<std::size_t>(xxh64(text)) & mask;
  for (; name_slots_[slot] >= 0; slot = (slot + 1) & mask)
    if (names_[at(name_slots_[slot])].text == text) return name_slots_[slot];
  return -1;
}
WEFT_DECL std::int32_t lowering::take_name(std::string_view text) {
  std::size_t slot = 0;
  if (2 * names_.size() >= name_slots_.size()) {
    name_slots_ = sequence<std::int32_t>(name_slots_.empty() ? 64 : 2 * name_slots_.size(), -1);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      find_name(names_[i].text, slot);
      name_slots_[slot] = static_cast<std::int32_t>(i);
    }
  }
  std::int32_t const known = find_name(text, slot);
  if (known >= 0) return known;
  name_slots_[slot] = static_cast<std::int32_t>(names_.size());
  names_.push_back({std::string(text)});
  return -1;
}
/// The name, or with the first number behind it that is free; each number is tried once, as a program may have very many
/// loops `i`.
WEFT_DECL std::string lowering::unused_name(std::string_view wanted) {
  std::int32_t const known = take_name(wanted);
  std::string name(wanted);
  while (known >= 0) {
    name = std::string(wanted) + "_" + std::to_string(names_[at(known)].next++);
    if (take_name(name) < 0) break;
  }
  return name;
}
WEFT_DECL ir::expr lowering::size(int argument, int dim, bool is_stride) {
  ir::expr_node n;
  n.kind = op::extent;
  for (open_size const& s : sizes_) {
    if (s.is_stride == is_stride && (is_stride ? s.argument == argument && s.dim == dim
                                               : s.name == layout_.arguments[at(argument)].extents[at(dim)]))
      return s.shift == 0 ? m_.make(n) : ir::binary(m_, op::mul, m_.make(n), ir::index(m_, std::int64_t(1) << s.shift));
    ++n.value;
  }
  WEFT_THROW(internal_error("lower: a size of the layout has no place"));
}
WEFT_DECL void lowering::make_argument(int tensor, bool output) {
  tensor_info const& t = p_.tensors[at(tensor)];
  int const place = static_cast<int>(f_.buffers.size());
  argument_layout const& a = layout_.arguments[at(place)];
  ir::buffer* b = new_buffer(tensor);
  b->argument = b->id;
  b->written = output;
  b->non_temporal = output && n_.wish(t.stage, memory_wish::past_caches) != nullptr;
  b->alignment = a.alignment;
  b->alias_class = a.alias_class;
  sequence<ir::expr> shape, strides;
  for (int d = 0; d < t.rank; ++d) {
    std::int64_t const e = a.extents[at(d)], s = a.strides[at(d)];
    shape.push_back(e >= 0    ? ir::index(m_, e)
                    : e == -1 ? extent(p_.extent_of(tensor, d))
                              : size(place, d, false));
    if (!a.packed) strides.push_back(s != open_stride ? ir::index(m_, s) : size(place, d, true));
  }
  if (a.packed) strides = packed_strides(shape);
  b->shape = m_.make_list(shape);
  b->strides = m_.make_list(strides);
}
/// `stage`: the one whose last dimensions these are, in memory of our own; -1: none.
WEFT_DECL sequence<ir::expr> lowering::packed_strides(sequence<ir::expr> const& shape, int stage) {
  sequence<ir::expr> strides(shape.size(), nullptr);
  ir::expr stride = ir::index(m_, 1);
  for (std::size_t d = shape.size(); d-- > 0;) {
    int const behind = static_cast<int>(shape.size() - d);
    memory_wish const* const wish = stage < 0 ? nullptr : n_.wish(stage, p_.stages[at(stage)].spatial - behind);
    if (wish != nullptr && p_.stages[at(stage)].spatial >= behind) {
      // The least factor * n + offset from there on.
      ir::expr const up = ir::binary(m_, op::add, stride, ir::index(m_, wish->factor - 1 - wish->offset));
      ir::expr const steps = ir::binary(m_, op::floor_div, up, ir::index(m_, wish->factor));
      stride = simplify(m_, ir::binary(m_, op::add, ir::binary(m_, op::mul, steps, ir::index(m_, wish->factor)),
                                       ir::index(m_, wish->offset)));
    }
    strides[d] = stride;
    stride = ir::binary(m_, op::mul, stride, shape[d]);
  }
  return strides;
}
WEFT_DECL void lowering::make_intermediate(int tensor) {
  ir::buffer* b = new_buffer(tensor);
  tensor_info const& t = p_.tensors[at(tensor)];
  b->written = true;
  b->alignment = 64;
  b->alias_class = ir::own_alias_class(b->id);
  sequence<ir::expr> shape;
  for (int d = 0; d < t.rank; ++d) shape.push_back(rounded_extent(tensor, d));
  shape = kept_dimensions(tensor, shape);
  sequence<ir::expr> const strides = packed_strides(shape, static_cast<int>(shape.size()) == t.rank ? t.stage : -1);
  b->shape = m_.make_list(shape);
  b->strides = m_.make_list(strides);
  b->where = is_kept(t.stage)                                                              ? ir::scope::kept
             : has_place_on_stack(t.stage, memory_bytes(t.type, shape, strides), false) ? ir::scope::stack
                                                                                         : ir::scope::heap;
  if (wants_registers(t.stage)) f_.wanted_in_registers.push_back(b->id);
}
/// Whether memory for a stage that is computed in the nest of another is for the whole kernel, which is several launches of a GPU: it
/// is no block's.
WEFT_DECL bool lowering::outlives_launches(int stage) const {
  placement const& p = n_.places[at(stage)];
  if (!p.beside && p.store != placement::whole_kernel) return false;
  for (sequence<std::int32_t> const& order : n_.order)
    for (std::int32_t l : order)
      if (n_.at(l).kind > loop_kind::virtual_thread) return true;
  return false;
}
WEFT_DECL bool lowering::wants_registers(int stage) const {
  memory_wish const* const wish = n_.wish(stage, -1);
  return wish != nullptr && wish->where == scope::registers;
}
WEFT_DECL bool lowering::wants_shared(int stage) const {
  memory_wish const* const wish = n_.wish(stage, -1);
  return wish != nullptr && wish->where == scope::shared;
}
/// Of what there is for each dimension of a tensor, that of those which its memory has.
WEFT_DECL sequence<ir::expr> lowering::kept_dimensions(int tensor, sequence<ir::expr> const& all) const {
  sequence<ir::expr> kept;
  for (std::size_t d = 0; d < all.size(); ++d)
    if ((narrow_.lacks[at(tensor)] >> d & 1) == 0) kept.push_back(all[d]);
  return kept;
}
/// Whether an earlier call may have computed the stage.
WEFT_DECL bool lowering::is_kept(int stage) const {
  if (n_.wish(stage, memory_wish::kept) == nullptr) return false;
  std::size_t tensor = 0;
  for (int i = prepack_rule::input_of(p_, stage); i-- > 0;)
    if (p_.inputs[at(i)].tensor >= 0) ++tensor;
  return layout_.arguments[tensor].constant;
}
/// `nest`, which computes a stage that is kept, where it is not there yet.
WEFT_DECL ir::stmt lowering::computed_once(ir::stmt nest) {
  ir::expr_node there;
  there.kind = op::scalar;
  there.type = dtype::boolean;
  there.value = static_cast<std::int64_t>(f_.scalars.size()) - 1;
  return ir::branch(m_, m_.make(there), ir::block(m_, {}), nest);
}
/// The bytes from the first element to behind the last one, where they are known; else infinity.
WEFT_DECL double lowering::memory_bytes(dtype type, sequence<ir::expr> const& shape,
                                        sequence<ir::expr> const& strides) const {
  double bytes = size_bytes(type), last = bytes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d]->kind != op::literal || strides[d]->kind != op::literal) return __builtin_inf();
    bytes *= static_cast<double>(shape[d]->value);
    if (d == 0) last *= static_cast<double>(shape[d]->value) * static_cast<double>(strides[d]->value);
  }
  return bytes > 1e15 ? __builtin_inf() : last;  // strides of so much memory may have wrapped
}
/// Whether memory for a stage, or a result of it, is on the stack: where a step wants that, or, with `else_too`, where there
/// is room and no step wants it elsewhere. It then counts. What a block shares is on a GPU's stack, so to say: pass/threads.hpp
/// tells them apart.
WEFT_DECL bool lowering::has_place_on_stack(int stage, double bytes, bool else_too) {
  memory_wish const* const wish = n_.wish(stage, -1);
  if (wants_shared(stage)) {
    if (bytes <= static_cast<double>(most_shared)) return true;
    WEFT_THROW(schedule_error(
        joined({"set_scope: ", sentence(diagnosis::a_block_shares_at_most_227_KiB__compute_the_stage_inside_a_loop),
                "\n  in    stage ", p_.tensors[at(p_.stages[at(stage)].tensor)].name.view(), ": ",
                bytes < 1e16 ? std::to_string(static_cast<std::int64_t>(bytes)) + " bytes" : "of a size that is not known",
                "\n  try   ", static_way_out(diagnosis::a_block_shares_at_most_227_KiB__compute_the_stage_inside_a_loop)})));
  }
  bytes += 64;
  bool const room = bytes + static_cast<double>(stack_bytes_) <= static_cast<double>(most_on_stack);
  bool const wanted = wish != nullptr && wish->where != scope::workspace;
  if (wanted && !room)
    WEFT_THROW(schedule_error(
        joined({"set_scope: ", sentence(diagnosis::memory_on_the_stack_has_at_most_64_KiB__compute_the_stage_inside_a_loop),
                "\n  in    stage ", p_.tensors[at(p_.stages[at(stage)].tensor)].name.view(), ": ",
                bytes < 1e16 ? std::to_string(static_cast<std::int64_t>(bytes)) + " bytes, " : "of a size that is not known, ",
                std::to_string(stack_bytes_), " are taken\n  try   ",
                static_way_out(diagnosis::memory_on_the_stack_has_at_most_64_KiB__compute_the_stage_inside_a_loop)})));
  bool const on_stack = wanted || (wish == nullptr && else_too && room);
  if (on_stack) stack_bytes_ += static_cast<std::int64_t>(bytes);
  return on_stack;
}
/// Of a stage's result in memory of its own.
WEFT_DECL ir::expr lowering::rounded_extent(int tensor, int dim) {
  int const stage = p_.tensors[at(tensor)].stage, loop = n_.loop_of[at(p_.stages[at(stage)].first_axis + dim)];
  if (!rounds_up(loop)) return extent(p_.extent_of(tensor, dim));
  ir::expr const outer = longest(n_.at(loop).outer), inner = longest(n_.at(loop).inner);
  return simplify(m_, ir::binary(m_, op::mul, outer, inner));
}
WEFT_DECL bool lowering::rounds_up(int loop) const {
  loop_info const& l = n_.at(loop);
  return l.outer >= 0 && l.at_end == tail::round_up && n_.places[at(l.stage)] == placement();
}
WEFT_DECL ir::buffer* lowering::new_buffer(int tensor) {
  ir::buffer* b = m_.make_buffer();
  b->id = static_cast<std::int32_t>(f_.buffers.size());
  b->name = unused_name(p_.tensors[at(tensor)].name.view());
  b->type = p_.tensors[at(tensor)].type;
  f_.buffers.push_back(b);
  tensor_[at(tensor)] = b;
  return b;
}
/// An extent expression of the program over the arguments' shapes; each node once: it may be shared.
WEFT_DECL ir::expr lowering::extent(int id) {
  node const& n = p_.at(id);
  if (n.kind == op::literal) return ir::literal(m_, n.type, n.value);
  if (n.kind == op::extent) return tensor_[at(n.a)]->shape[at(n.b)];
  if (extents_.empty()) extents_.resize(p_.nodes.size(), nullptr);
  if (extents_[at(id)] != nullptr) return extents_[at(id)];
  ir::expr const a = extent(n.a), b = n.b >= 0 ? extent(n.b) : nullptr, c = n.c >= 0 ? extent(n.c) : nullptr;
  return extents_[at(id)] = operation(n, a, b, c);
}
WEFT_DECL ir::expr lowering::operation(node const& n, ir::expr a, ir::expr b, ir::expr c) {
  if (n.kind == op::cast || n.kind == op::bitcast) return ir::cast(m_, n.kind, n.type, a);
  if (arity(n.kind) == 1) return ir::unary(m_, n.kind, a);
  if (arity(n.kind) == 2) return ir::binary(m_, n.kind, a, b);
  return ir::ternary(m_, n.kind == op::blend ? op::select : n.kind, a, b, c);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
