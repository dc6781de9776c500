#include "weft/lower/lower.hpp"
#include "weft/ir/simplify.hpp"  // linear forms of guards

namespace weft::inline WEFT_ABI {
namespace detail {

/// `index < bound`, wanted because a split need not divide.
struct guard {
  ir::expr index, bound;
  int depth = -1;      // of the innermost loop in `index`
  int decided = -1;    // of the innermost one that is neither unrolled nor vectorized
};

class lowering {
 public:
  lowering(ir::function& f, program const& p, nest const& n, call_layout const& layout, vector_tails tails)
      : f_(f), m_(*f.nodes), p_(p), n_(n), layout_(layout), sizes_(open_sizes_of(layout)), tails_(tails),
        tensor_(p.tensors.size(), nullptr) {}

  void run() {
    for (input_info const& i : p_.inputs)
      if (i.tensor < 0) f_.scalars.push_back({"s" + std::to_string(f_.scalars.size()), i.type});
    for (open_size const& s : sizes_)
      f_.sizes.push_back(unused_name(s.is_stride ? "s" + std::to_string(s.argument) + "_" + std::to_string(s.dim)
                                                 : dim_text(s.name)));
    for (input_info const& i : p_.inputs)
      if (i.tensor >= 0) make_argument(i.tensor, false);
    for (std::int32_t t : p_.outputs) make_argument(t, true);
    sequence<bool> const needed = needed_stages();
    for (std::size_t s = 0; s < p_.stages.size(); ++s)
      for (int r = 0; r < p_.stages[s].results && needed[s]; ++r)
        if (tensor_[at(p_.stages[s].tensor + r)] == nullptr) make_intermediate(p_.stages[s].tensor + r);
    sequence<ir::stmt> nests;
    for (std::size_t s = 0; s < p_.stages.size(); ++s)
      if (needed[s]) nests.push_back(stage_nest(static_cast<int>(s)));
    f_.body = ir::block(m_, nests);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  sequence<bool> needed_stages() const {
    sequence<bool> needed(p_.stages.size(), false);
    for (std::int32_t t : p_.outputs) needed[at(p_.tensors[at(t)].stage)] = true;
    for (std::size_t s = p_.stages.size(); s-- > 0;) {
      if (!needed[s]) continue;
      sequence<bool> seen(p_.nodes.size(), false);
      for (int r = 0; r < p_.stages[s].results; ++r) mark_loads(p_.result(p_.stages[s], r).body, needed, seen);
    }
    return needed;
  }
  void mark_loads(int id, sequence<bool>& needed, sequence<bool>& seen) const {
    if (id < 0 || seen[at(id)]) return;
    seen[at(id)] = true;
    node const& n = p_.at(id);
    if (n.kind == op::load) {
      if (int const s = p_.tensors[at(n.a)].stage; s >= 0) needed[at(s)] = true;
      for (int i = 0; i < n.c; ++i) mark_loads(p_.operands[at(n.b + i)], needed, seen);
    } else if (arity(n.kind) > 0) {
      mark_loads(n.a, needed, seen), mark_loads(n.b, needed, seen), mark_loads(n.c, needed, seen);
    }
  }

  // --- buffers ------------------------------------------------------------------------------------------
  std::string unused_name(std::string_view wanted) const {
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
  ir::expr size(int argument, int dim, bool is_stride) {
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
  void make_argument(int tensor, bool output) {
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
  sequence<ir::expr> packed_strides(sequence<ir::expr> const& shape) {
    sequence<ir::expr> strides(shape.size(), nullptr);
    ir::expr stride = ir::index(m_, 1);
    for (std::size_t d = shape.size(); d-- > 0;) {
      strides[d] = stride;
      stride = ir::binary(m_, op::mul, stride, shape[d]);
    }
    return strides;
  }
  void make_intermediate(int tensor) {
    ir::buffer* b = new_buffer(tensor);
    tensor_info const& t = p_.tensors[at(tensor)];
    b->where = ir::scope::heap;
    b->written = true;
    b->alignment = 64;
    b->alias_class = 1000000 + b->id;
    sequence<ir::expr> shape;
    for (int d = 0; d < t.rank; ++d) shape.push_back(extent(p_.extent_of(tensor, d)));
    b->shape = m_.make_list(shape);
    b->strides = m_.make_list(packed_strides(shape));
  }
  ir::buffer* new_buffer(int tensor) {
    ir::buffer* b = m_.make_buffer();
    b->id = static_cast<std::int32_t>(f_.buffers.size());
    b->name = unused_name(p_.tensors[at(tensor)].name.view());
    b->type = p_.tensors[at(tensor)].type;
    f_.buffers.push_back(b);
    tensor_[at(tensor)] = b;
    return b;
  }
  /// An extent expression of the program over the arguments' shapes; each node once: it may be shared.
  ir::expr extent(int id) {
    node const& n = p_.at(id);
    if (n.kind == op::literal) return ir::literal(m_, n.type, n.value);
    if (n.kind == op::extent) return tensor_[at(n.a)]->shape[at(n.b)];
    if (extents_.empty()) extents_.resize(p_.nodes.size(), nullptr);
    if (extents_[at(id)] != nullptr) return extents_[at(id)];
    ir::expr const a = extent(n.a), b = n.b >= 0 ? extent(n.b) : nullptr, c = n.c >= 0 ? extent(n.c) : nullptr;
    return extents_[at(id)] = operation(n, a, b, c);
  }
  ir::expr operation(node const& n, ir::expr a, ir::expr b, ir::expr c) {
    if (n.kind == op::cast || n.kind == op::bitcast) return ir::cast(m_, n.kind, n.type, a);
    if (arity(n.kind) == 1) return ir::unary(m_, n.kind, a);
    if (arity(n.kind) == 2) return ir::binary(m_, n.kind, a, b);
    return ir::ternary(m_, n.kind == op::blend ? op::select : n.kind, a, b, c);
  }

  // --- loops --------------------------------------------------------------------------------------------
  struct open_loop {
    int id;
    std::int32_t variable;
    loop_kind how;
    ir::expr extent;
  };
  ir::expr longest(int id) {  // trip count; of an inner loop when nothing is cut off
    loop_info const& l = n_.at(id);
    if (l.parent < 0) return extent(p_.axes[at(l.root)].extent);
    loop_info const& parent = n_.at(l.parent);
    if (parent.inner == id) return ir::index(m_, l.extent >= 0 ? l.extent : parent.factor);
    // (n + factor - 1) / factor, but for a factor near the largest number.
    ir::expr const before_last = ir::binary(m_, op::sub, longest(l.parent), ir::index(m_, 1));
    ir::expr const full = ir::binary(m_, op::floor_div, before_last, ir::index(m_, parent.factor));
    return simplify(m_, ir::binary(m_, op::add, full, ir::index(m_, 1)));
  }
  ir::expr index_of(int id) const {
    loop_info const& l = n_.at(id);
    if (l.live()) {
      for (open_loop const& o : loops_)
        if (o.id == id) return ir::variable(m_, o.variable);
      return ir::index(m_, 0);  // a reduced loop of an empty reduction
    }
    ir::expr const scaled = ir::binary(m_, op::mul, index_of(l.outer), ir::index(m_, l.factor));
    return ir::binary(m_, op::add, scaled, index_of(l.inner));
  }
  bool is_tile(int position) const {
    loop_kind const how = loops_[at(position)].how;
    return how == loop_kind::unrolled || how == loop_kind::vectorized;
  }

  ir::stmt stage_nest(int s) {
    stage_ = &p_.stages[at(s)];
    loops_.clear();
    guards_.clear();
    bool empty = false;  // a reduction over nothing: its identity is stored
    for (int i = 0; i < stage_->reduced; ++i)
      empty = empty || ir::is_literal(extent(p_.axes[at(stage_->first_reduced + i)].extent), 0);
    for (std::int32_t id : n_.order[at(s)]) {
      if (empty && n_.at(id).reduced) continue;
      f_.variables.push_back(unused_name(n_.at(id).name.view()));
      ir::expr const trips = longest(id);
      loop_kind how = n_.at(id).kind;
      // A whole axis of a size that only the call knows cannot be written out.
      if (trips->kind != op::literal && how != loop_kind::parallel) how = loop_kind::serial;
      loops_.push_back({id, static_cast<std::int32_t>(f_.variables.size()) - 1, how, trips});
    }
    empty_ = empty;
    for (std::size_t l = 0; l < n_.loops.size(); ++l)
      if (n_.loops[l].stage == s && !n_.loops[l].live() && !(empty && n_.loops[l].reduced))
        add_guard(static_cast<int>(l));
    return nest_from(0, sequence<bool>(guards_.size(), false));
  }
  void add_guard(int split) {
    guard g{index_of(split), longest(split)};
    range_table ranges;
    for (open_loop const& o : loops_) ranges.set(o.variable, ir::index(m_, 0), o.extent);
    if (is_literal(simplify(m_, ir::binary(m_, op::lt, g.index, g.bound), ranges), 1)) return;
    for (std::size_t i = 0; i < loops_.size(); ++i)
      if (uses(g.index, loops_[i].variable)) {
        g.depth = static_cast<int>(i);
        if (!is_tile(g.depth)) g.decided = g.depth;
      }
    guards_.push_back(g);
  }

  /// The loops from `position` inwards. dropped[g]: guard g is known to hold here.
  ir::stmt nest_from(std::size_t position, sequence<bool> dropped) {
    if (position == loops_.size()) return leaf(dropped);
    open_loop const& o = loops_[position];
    ir::expr trips = o.extent;
    if (!is_tile(static_cast<int>(position)))
      for (std::size_t g = 0; g < guards_.size(); ++g)
        if (!dropped[g] && guards_[g].depth == static_cast<int>(position)) {
          trips = ir::binary(m_, op::min, trips, trips_within(guards_[g], o.variable));
          dropped[g] = true;
        }
    ir::stmt const body = tile_branches(position, 0, dropped);
    return ir::loop(m_, o.how, o.variable, ir::index(m_, 0), trips, body);
  }
  /// How often a serial loop runs before its guard fails: index = rest + c * variable < bound.
  ir::expr trips_within(guard const& g, std::int32_t variable) {
    ir::expr const rest = ir::substitute(m_, g.index, variable, ir::index(m_, 0));
    ir::expr const one = ir::substitute(m_, g.index, variable, ir::index(m_, 1));
    ir::expr const step = simplify(m_, ir::binary(m_, op::sub, one, rest));
    ir::expr const room = ir::binary(m_, op::sub, g.bound, rest);
    ir::expr const up = ir::binary(m_, op::add, room, ir::binary(m_, op::sub, step, ir::index(m_, 1)));
    return ir::binary(m_, op::max, simplify(m_, ir::binary(m_, op::floor_div, up, step)), ir::index(m_, 0));
  }
  /// Inside the loop at `position`: one branch per guard that is decided here but for unrolled and vector axes.
  ir::stmt tile_branches(std::size_t position, std::size_t g, sequence<bool> dropped) {
    for (; g < guards_.size(); ++g)
      if (!dropped[g] && guards_[g].decided == static_cast<int>(position) &&
          guards_[g].depth > static_cast<int>(position) && !(tails_ == vector_tails::mask && only_vector(guards_[g])))
        break;
    if (g == guards_.size()) return nest_from(position + 1, dropped);
    ir::expr last = guards_[g].index;
    for (std::size_t i = position + 1; i < loops_.size(); ++i)
      last = ir::substitute(m_, last, loops_[i].variable,
                            ir::binary(m_, op::sub, loops_[i].extent, ir::index(m_, 1)));
    sequence<bool> full = dropped;
    full[g] = true;
    ir::stmt const then = tile_branches(position, g + 1, full);
    ir::stmt const otherwise = tile_branches(position, g + 1, dropped);
    return ir::branch(m_, simplify(m_, ir::binary(m_, op::lt, last, guards_[g].bound)), then, otherwise);
  }

  /// No unrolled axis is in the guard: masks alone can see to it.
  bool only_vector(guard const& g) const {
    for (open_loop const& o : loops_)
      if (o.how == loop_kind::unrolled && uses(g.index, o.variable)) return false;
    return true;
  }

  // --- one element of each result --------------------------------------------------------------------------------------
  ir::stmt leaf(sequence<bool> const& dropped) {
    ir::expr mask = nullptr;
    open_guards_.clear();
    for (std::size_t g = 0; g < guards_.size(); ++g)
      if (!dropped[g]) {
        open_guards_.push_back(ir::binary(m_, op::lt, guards_[g].index, guards_[g].bound));
        mask = ir::all_of(m_, mask, open_guards_.back());
      }
    values_.assign(p_.nodes.size(), {});
    sequence<ir::stmt> results;
    for (int r = 0; r < stage_->results; ++r) results.push_back(update(r, mask));
    return ir::together(m_, results);
  }
  ir::stmt update(int result, ir::expr mask) {
    ir::buffer const* out = tensor_[at(stage_->tensor + result)];
    ir::stmt_node s;
    s.kind = stage_->reduced > 0 && !empty_ ? ir::stmt_kind::accumulate : ir::stmt_kind::store;
    s.buf = out;
    sequence<ir::expr> indices;
    for (int i = 0; i < stage_->spatial; ++i) indices.push_back(index_of(stage_->first_axis + i));
    s.indices = m_.make_list(indices);
    s.mask = mask;
    ir::expr const identity = ir::literal(m_, out->type, p_.result(*stage_, result).identity);
    s.value = empty_ ? identity : value(p_.result(*stage_, result).body, nullptr);
    if (s.kind == ir::stmt_kind::accumulate) {
      s.identity = identity;
      sequence<std::int32_t> first;
      for (open_loop const& o : loops_)
        if (n_.at(o.id).reduced) first.push_back(o.variable);
      s.first = m_.make_list(first);
    }
    return m_.make(s);
  }
  /// The node's value where `condition` (of selects; null: always) holds; elsewhere it must not read memory.
  ///
  /// A chain of selects, v = select(f(v), g(v), h(v)), asks for its first value under 3^length conditions; what is
  /// asked for under more than 16 is made without any. The same happens in the plain nest on which bounds are proved,
  /// so an access that then lacks its condition is refused there, in words.
  ir::expr value(int id, ir::expr condition) {
    for (auto const& [c, e] : values_[at(id)])
      if (c == condition) return e;
    if (values_[at(id)].size() > 16 && condition != nullptr) return value(id, nullptr);
    ir::expr const e = make_value(p_.at(id), condition);
    values_[at(id)].push_back({condition, e});
    return e;
  }
  ir::expr make_value(node const& n, ir::expr condition) {
    switch (n.kind) {
      case op::literal: return ir::literal(m_, n.type, n.value);
      case op::extent: return tensor_[at(n.a)]->shape[at(n.b)];
      case op::scalar: {
        ir::expr_node s;
        s.kind = op::scalar;
        s.type = n.type;
        s.value = n.a;
        return m_.make(s);
      }
      case op::axis: return index_of(n.a);
      case op::self: return ir::self(m_, n.type, 1, n.a);
      case op::load: {
        sequence<ir::expr> indices;
        for (int i = 0; i < n.c; ++i) indices.push_back(value(p_.operands[at(n.b + i)], condition));
        ir::buffer const* const buf = tensor_[at(n.a)];
        // Inside the buffer anyway: reading it all is cheaper than masking, and what is not wanted is dropped later.
        ir::expr const mask = guarded(indices, condition);
        return ir::load(m_, buf, indices, mask != nullptr && inside(*buf, indices) ? nullptr : mask);
      }
      case op::select: {
        ir::expr const c = value(n.a, condition);
        ir::expr const then = value(n.b, ir::all_of(m_, condition, c));
        return ir::ternary(m_, op::select, c, then,
                           value(n.c, ir::all_of(m_, condition, ir::unary(m_, op::logical_not, c))));
      }
      default: break;
    }
    ir::expr const a = value(n.a, condition), b = n.b >= 0 ? value(n.b, condition) : nullptr;
    return operation(n, a, b, n.c >= 0 ? value(n.c, condition) : nullptr);
  }

  /// `condition` and those of the leaf's guards that have a variable in common with the access. Another guard cannot
  /// matter: some iteration passes it, and there the access is the same.
  ir::expr guarded(sequence<ir::expr> const& indices, ir::expr condition) const {
    ir::expr mask = condition;
    for (ir::expr g : open_guards_) {
      bool shared = false;
      for (open_loop const& o : loops_) {
        bool used = condition != nullptr && uses(condition, o.variable);
        for (ir::expr i : indices) used = used || uses(i, o.variable);
        shared = shared || (used && uses(g, o.variable));
      }
      if (shared) mask = ir::all_of(m_, mask, g);
    }
    return mask;
  }
  bool inside(ir::buffer const& buf, sequence<ir::expr> const& indices) const {
    range_table ranges;
    for (open_loop const& o : loops_) ranges.set(o.variable, ir::index(m_, 0), o.extent);
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (ranges.of(indices[d]).low < 0 ||
          !ir::is_literal(simplify(m_, ir::binary(m_, op::lt, indices[d], buf.shape[d]), ranges), 1))
        return false;
    return true;
  }

  ir::function& f_;
  ir::arena& m_;
  program const& p_;
  nest const& n_;
  call_layout const& layout_;
  sequence<open_size> sizes_;
  vector_tails tails_;
  sequence<ir::buffer*> tensor_;
  sequence<ir::expr> extents_;  // by node; empty at first
  stage_info const* stage_ = nullptr;
  bool empty_ = false;
  sequence<open_loop> loops_;
  sequence<guard> guards_;
  sequence<ir::expr> open_guards_;  // of the leaf being made
  sequence<sequence<std::pair<ir::expr, ir::expr>>> values_;  // by node: under which condition, what
};
}  // namespace detail

WEFT_DECL std::string dim_text(std::int64_t code) {
  std::string name;
  for (std::int64_t rest = -2 - code; rest > 0; rest >>= 7) name += static_cast<char>(rest & 127);
  return name;
}
WEFT_DECL sequence<open_size> open_sizes_of(call_layout const& layout) {
  sequence<open_size> sizes;
  std::int32_t number = 0;
  for (argument_layout const& a : layout.arguments) {
    for (std::size_t d = 0; d < a.extents.size(); ++d) {
      bool known = a.extents[d] >= -1;
      for (open_size const& s : sizes) known = known || (!s.is_stride && s.name == a.extents[d]);
      if (!known) sizes.push_back({number, static_cast<std::int32_t>(d), false, a.extents[d]});
      if (!a.packed && a.strides[d] == open_stride) sizes.push_back({number, static_cast<std::int32_t>(d), true, 0});
    }
    ++number;
  }
  return sizes;
}

WEFT_DECL ir::function lower(ir::arena& m, program const& p, nest const& n, call_layout const& layout,
                             std::string_view name, vector_tails tails) {
  ir::function f;
  f.name = std::string(name);
  f.nodes = &m;
  detail::lowering(f, p, n, layout, tails).run();
  return f;
}

}  // namespace weft::inline WEFT_ABI
