#include "weft/lower/lower.hpp"
#include "weft/lower/lowering.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_DECL void lowering::run() {
  for (input_info const& i : p_.inputs)
    if (i.tensor < 0) f_.scalars.push_back({"s" + std::to_string(f_.scalars.size()), i.type});
  for (open_size const& s : sizes_)
    f_.sizes.push_back(unused_name(s.is_stride ? "s" + std::to_string(s.argument) + "_" + std::to_string(s.dim)
                                               : dim_text(s.name)));
  for (input_info const& i : p_.inputs)
    if (i.tensor >= 0) make_argument(i.tensor, false);
  for (std::int32_t t : p_.outputs) make_argument(t, true);
  find_order();
  check_in_place();
  auto const is_root = [&](int s) { return n_.places[at(s)] == placement(); };
  for (int s : order_)
    for (int r = 0; r < p_.stages[at(s)].results && is_root(s); ++r)
      if (tensor_[at(p_.stages[at(s)].tensor + r)] == nullptr) make_intermediate(p_.stages[at(s)].tensor + r);
  sequence<ir::stmt> nests;
  for (int s : order_)
    if (is_root(s)) nests.push_back(stage_nest(s));
  f_.body = ir::block(m_, {});
  for (std::size_t i = order_.size(); i-- > 0;) {
    if (!is_root(order_[i])) continue;
    f_.body = ir::block(m_, {nests.back(), f_.body});
    nests.pop_back();
    if (tensor_[at(p_.stages[at(order_[i])].tensor)]->where == ir::scope::stack) f_.body = with_memory(order_[i], f_.body);
  }
}
/// `inside`, where the memory of a stage is there.
WEFT_DECL ir::stmt lowering::with_memory(int stage, ir::stmt inside) {
  for (int r = p_.stages[at(stage)].results; r-- > 0;) {
    ir::stmt_node n;
    n.kind = ir::stmt_kind::allocate;
    n.buf = tensor_[at(p_.stages[at(stage)].tensor + r)];
    n.children = m_.make_list(sequence<ir::stmt>(1, inside));
    inside = m_.make(n);
  }
  return inside;
}

/// The stages that an output needs, in order of definition, but for those that steps of the schedule have added: such a
/// one stands before the first stage that reads it.
WEFT_DECL void lowering::find_order() {
  auto const readers = readers_of(p_);
  sequence<sequence<std::int32_t>> reads(readers.size());
  for (std::size_t s = 0; s < readers.size(); ++s)
    for (std::int32_t r : readers[s]) reads[at(r)].push_back(static_cast<std::int32_t>(s));
  sequence<std::int32_t> next;
  auto const need = [&](std::int32_t s) {
    if (!needed_[at(s)]) needed_[at(s)] = true, next.push_back(s);
  };
  for (std::int32_t t : p_.outputs) need(p_.tensors[at(t)].stage);
  while (!next.empty()) {
    std::int32_t const s = next.back();
    next.pop_back();
    for (std::int32_t r : reads[at(s)]) need(r);
  }
  sequence<bool> waits = needed_;
  auto const place = [&](auto const& self, std::int32_t s) -> void {  // as deep as stages were added
    if (!waits[at(s)]) return;
    waits[at(s)] = false;
    for (std::int32_t r : reads[at(s)]) self(self, r);
    order_.push_back(s);
  };
  for (std::size_t s = 0; s < waits.size(); ++s) place(place, static_cast<std::int32_t>(s));
}

// --- buffers ------------------------------------------------------------------------------------------
WEFT_DECL std::string lowering::unused_name(std::string_view wanted) const {
  std::string name(wanted);
  for (int k = 1;; ++k) {
    bool taken = false;
    for (ir::buffer const* b : f_.buffers) taken = taken || b->name == name;
    for (std::string const& v : f_.variables) taken = taken || v == name;
    for (std::string const& s : f_.sizes) taken = taken || s == name;
    for (auto const& s : f_.scalars) taken = taken || (!f_.sizes.empty() && s.first == name);
    if (!taken) return name;
    name = std::string(wanted) + "_" + std::to_string(k);
  }
}
WEFT_DECL ir::expr lowering::size(int argument, int dim, bool is_stride) {
  ir::expr_node n;
  n.kind = op::extent;
  for (open_size const& s : sizes_) {
    if (s.is_stride == is_stride && (is_stride ? s.argument == argument && s.dim == dim
                                               : s.name == layout_.arguments[at(argument)].extents[at(dim)]))
      return m_.make(n);
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
  b->alias_class = 1000000 + b->id;
  sequence<ir::expr> shape;
  for (int d = 0; d < t.rank; ++d) shape.push_back(extent(p_.extent_of(tensor, d)));
  sequence<ir::expr> const strides = packed_strides(shape, t.stage);
  b->shape = m_.make_list(shape);
  b->strides = m_.make_list(strides);
  b->where = has_place_on_stack(t.stage, memory_bytes(t.type, shape, strides), false) ? ir::scope::stack : ir::scope::heap;
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
/// is room and no step wants it elsewhere. It then counts.
WEFT_DECL bool lowering::has_place_on_stack(int stage, double bytes, bool else_too) {
  memory_wish const* const wish = n_.wish(stage, -1);
  bytes += 64;
  bool const room = bytes + static_cast<double>(stack_bytes_) <= static_cast<double>(most_on_stack);
  bool const wanted = wish != nullptr && wish->where == scope::stack;
  if (wanted && !room)
    WEFT_THROW(schedule_error(
        "set_scope: " +
        std::string(sentence(diagnosis::memory_on_the_stack_has_at_most_64_KiB__compute_the_stage_inside_a_loop)) +
        "\n  in    stage " + std::string(p_.tensors[at(p_.stages[at(stage)].tensor)].name.view()) + ": " +
        (bytes < 1e16 ? std::to_string(static_cast<std::int64_t>(bytes)) + " bytes, " : "of a size that is not known, ") +
        std::to_string(stack_bytes_) + " are taken\n  try   " +
        std::string(
            static_way_out(diagnosis::memory_on_the_stack_has_at_most_64_KiB__compute_the_stage_inside_a_loop))));
  bool const on_stack = wanted || (wish == nullptr && else_too && room);
  if (on_stack) stack_bytes_ += static_cast<std::int64_t>(bytes);
  return on_stack;
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

// --- loops --------------------------------------------------------------------------------------------
WEFT_DECL ir::expr lowering::longest(int id) {  // trip count; of an inner loop when nothing is cut off
  loop_info const& l = n_.at(id);
  if (l.parent < 0) {
    sequence<part> const& parts = frames_[at(l.stage)].parts;
    return parts.empty() || l.reduced ? axis_extent(l.root) : parts[at(l.root - p_.stages[at(l.stage)].first_axis)].extent;
  }
  loop_info const& parent = n_.at(l.parent);
  if (parent.inner == id) return ir::index(m_, l.extent >= 0 ? l.extent : parent.factor);
  // (n + factor - 1) / factor, but for a factor near the largest number.
  ir::expr const before_last = ir::binary(m_, op::sub, longest(l.parent), ir::index(m_, 1));
  ir::expr const full = ir::binary(m_, op::floor_div, before_last, ir::index(m_, parent.factor));
  return simplify(m_, ir::binary(m_, op::add, full, ir::index(m_, 1)));
}
WEFT_DECL ir::expr lowering::index_of(int id) const {
  loop_info const& l = n_.at(id);
  if (l.live()) {
    for (open_loop const& o : now_->loops)
      if (o.id == id) return ir::variable(m_, o.variable);
    return ir::index(m_, 0);  // a reduced loop of an empty reduction
  }
  ir::expr const scaled = ir::binary(m_, op::mul, index_of(l.outer), ir::index(m_, l.factor));
  return ir::binary(m_, op::add, scaled, index_of(l.inner));
}
/// What is known of the loops of `f` up to that at `position`, and of all that stand around them.
WEFT_DECL range_table lowering::ranges_in(stage_frame const& f, int position) const {
  range_table ranges = f.host != nullptr ? ranges_in(*f.host, f.host_position) : range_table();
  for (int i = 0; i <= position; ++i) ranges.set(f.loops[at(i)].variable, ir::index(m_, 0), f.loops[at(i)].extent);
  return ranges;
}
WEFT_DECL ir::stmt lowering::stage_nest(int stage) {
  stage_frame* const outside = now_;
  now_ = &frames_[at(stage)];
  now_->number = stage;
  now_->stage = &p_.stages[at(stage)];
  if (!now_->is_open) open(*now_);
  sequence<bool> const none(now_->guards.size(), false);
  ir::stmt const nest = now_->host != nullptr ? tile_branches(-1, 0, none) : nest_from(0, none);
  now_ = outside;
  return nest;
}
/// Finds loops and guards; a stage that stands twice, in a full tile and in the last one, has the same both times.
WEFT_DECL void lowering::open(stage_frame& f) {
  f.is_open = true;
  for (int i = 0; i < f.stage->reduced; ++i)
    f.empty = f.empty || ir::is_literal(axis_extent(f.stage->first_reduced + i), 0);
  sequence<std::int32_t> cut;  // loops that are made longer than they are
  for (std::int32_t id : n_.order[at(f.number)]) {
    loop_info const& l = n_.at(id);
    if (f.empty && l.reduced) continue;
    f_.variables.push_back(unused_name(l.name.view()));
    ir::expr trips = longest(id);
    loop_kind how = l.kind;
    bool const tile = how == loop_kind::unrolled || how == loop_kind::vectorized;
    if (trips->kind != op::literal && tile) {
      // A whole axis of a size that only the call knows cannot be written out; that of a part has a largest size.
      int const d = l.root - f.stage->first_axis;
      ir::expr const most = !f.parts.empty() && l.parent < 0 && d < f.stage->spatial ? f.parts[at(d)].most : nullptr;
      if (most != nullptr && most->kind == op::literal && most->value <= 1024) trips = most, cut.push_back(id);
      else how = loop_kind::serial;
    }
    f.loops.push_back({id, static_cast<std::int32_t>(f_.variables.size()) - 1, how, trips});
  }
  for (std::size_t l = 0; l < n_.loops.size(); ++l)
    if (n_.loops[l].stage == f.number && n_.loops[l].is_split() && !(f.empty && n_.loops[l].reduced))
      add_guard(static_cast<int>(l));
  for (std::int32_t id : cut) add_guard(id);
}
WEFT_DECL void lowering::add_guard(int loop) {
  guard g{index_of(loop), longest(loop)};
  range_table const ranges = ranges_in(*now_, static_cast<int>(now_->loops.size()) - 1);
  if (is_literal(simplify(m_, ir::binary(m_, op::lt, g.index, g.bound), ranges), 1)) return;
  for (std::size_t i = 0; i < now_->loops.size(); ++i)
    if (uses(g.index, now_->loops[i].variable)) {
      g.depth = static_cast<int>(i);
      if (!is_tile(g.depth)) g.decided = g.depth;
    }
  now_->guards.push_back(g);
}

/// The loops from `position` inwards. dropped[g]: guard g is known to hold here.
WEFT_DECL ir::stmt lowering::nest_from(std::size_t position, sequence<bool> dropped) {
  if (position == now_->loops.size()) return leaf(dropped);
  open_loop const& o = now_->loops[position];
  ir::expr trips = o.extent;
  if (!is_tile(static_cast<int>(position)))
    for (std::size_t g = 0; g < now_->guards.size(); ++g)
      if (!dropped[g] && now_->guards[g].depth == static_cast<int>(position)) {
        trips = ir::binary(m_, op::min, trips, trips_within(now_->guards[g], o.variable));
        dropped[g] = true;
      }
  int const here = static_cast<int>(position);
  ir::stmt const body = has_guests(o.id) ? with_guests(here, dropped) : tile_branches(here, 0, dropped);
  return ir::loop(m_, o.how, o.variable, ir::index(m_, 0), trips, body);
}
/// How often a serial loop runs before its guard fails: index = rest + c * variable < bound.
WEFT_DECL ir::expr lowering::trips_within(guard const& g, std::int32_t variable) {
  ir::expr const rest = ir::substitute(m_, g.index, variable, ir::index(m_, 0));
  ir::expr const one = ir::substitute(m_, g.index, variable, ir::index(m_, 1));
  ir::expr const step = simplify(m_, ir::binary(m_, op::sub, one, rest));
  ir::expr const room = ir::binary(m_, op::sub, g.bound, rest);
  ir::expr const up = ir::binary(m_, op::add, room, ir::binary(m_, op::sub, step, ir::index(m_, 1)));
  return ir::binary(m_, op::max, simplify(m_, ir::binary(m_, op::floor_div, up, step)), ir::index(m_, 0));
}
/// Inside the loop at `position` (-1: around a guest's first loop): one branch per guard that is decided here but for unrolled and vector axes.
WEFT_DECL ir::stmt lowering::tile_branches(int position, std::size_t g, sequence<bool> dropped) {
  for (; g < now_->guards.size(); ++g)
    if (!dropped[g] && now_->guards[g].decided == position && now_->guards[g].depth > position &&
        !(tails_ == vector_tails::mask && only_vector(now_->guards[g])))
      break;
  if (g == now_->guards.size()) return nest_from(at(position + 1), dropped);
  ir::expr last = now_->guards[g].index;
  for (std::size_t i = at(position + 1); i < now_->loops.size(); ++i)
    last = ir::substitute(m_, last, now_->loops[i].variable,
                          ir::binary(m_, op::sub, now_->loops[i].extent, ir::index(m_, 1)));
  sequence<bool> full = dropped;
  full[g] = true;
  ir::stmt const then = tile_branches(position, g + 1, full);
  ir::stmt const otherwise = tile_branches(position, g + 1, dropped);
  return ir::branch(m_, simplify(m_, ir::binary(m_, op::lt, last, now_->guards[g].bound)), then, otherwise);
}

/// No unrolled axis is in the guard: masks alone can see to it.
WEFT_DECL bool lowering::only_vector(guard const& g) const {
  for (open_loop const& o : now_->loops)
    if (o.how == loop_kind::unrolled && uses(g.index, o.variable)) return false;
  return true;
}
}  // namespace detail

WEFT_DECL ir::function lower(ir::arena& m, program const& p, nest const& n, call_layout const& layout,
                             std::string_view name, vector_tails tails) {
  ir::function f;
  f.name = std::string(name);
  f.nodes = &m;
  detail::lowering(f, p, n, layout, tails).run();
  return f;
}

}  // namespace weft::inline WEFT_ABI
