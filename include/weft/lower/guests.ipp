#include "weft/lower/lowering.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// What is read of the stages that are computed inside one loop of `host`.
class guest_spans final : public index_spans {
 public:
  guest_spans(lowering& l, stage_frame const& host, int position)
      : index_spans(l.m_, l.p_), l_(l), host_(host), position_(position), ranges_(l.ranges_in(host, position)),
        by_stage_(l.p_.stages.size()) {}
  range_table const& ranges() const { return ranges_; }

  /// By spatial axis, what the stages that run inside the loop read of `stage`.
  sequence<span> const& of_stage(int stage) {
    found& f = by_stage_[static_cast<std::size_t>(stage)];
    if (f.done) return f.spans;
    stage_info const& wanted = program::at(p_.stages, stage);
    sequence<span> spans;
    bool first = true;
    for (int reader : l_.order_) {
      sequence<std::int32_t> const loads = loads_of(reader, wanted);
      if (loads.empty()) continue;
      if (reader != host_.number) of_stage(reader);  // before reader_ says whose axes are meant
      forget();
      reader_ = reader;
      for (std::int32_t load : loads) {
        node const& n = p_.at(load);
        for (int d = 0; d < n.c; ++d) {
          span const s = of(program::at(p_.operands, n.b + d), ranges_);
          if (first) spans.push_back(s);
          else spans[static_cast<std::size_t>(d)] = around(spans[static_cast<std::size_t>(d)], s, ranges_);
        }
        first = false;
      }
    }
    f.done = true;
    f.spans = spans;
    return f.spans;
  }

 private:
  struct found {
    bool done = false;
    sequence<span> spans;
  };

  /// The nodes by which `reader` reads it.
  sequence<std::int32_t> loads_of(int reader, stage_info const& stage) const {
    sequence<std::int32_t> loads;
    sequence<bool> seen(p_.nodes.size(), false);
    stage_info const& s = program::at(p_.stages, reader);
    for (int r = 0; r < s.results; ++r) collect(p_.result(s, r).body, stage, seen, loads);
    return loads;
  }
  void collect(int id, stage_info const& stage, sequence<bool>& seen, sequence<std::int32_t>& loads) const {
    if (id < 0 || seen[static_cast<std::size_t>(id)]) return;
    seen[static_cast<std::size_t>(id)] = true;
    node const& n = p_.at(id);
    if (n.kind == op::load) {
      if (n.a >= stage.tensor && n.a < stage.tensor + stage.results) loads.push_back(id);
      for (int i = 0; i < n.c; ++i) collect(program::at(p_.operands, n.b + i), stage, seen, loads);
    } else if (arity(n.kind) > 0) {
      for (int o : {n.a, n.b, n.c}) collect(o, stage, seen, loads);
    }
  }

  span axis(int number) override {
    stage_info const& s = program::at(p_.stages, reader_);
    int const d = number - s.first_axis;
    if (reader_ == host_.number) {
      span r = of_loop(program::at(l_.n_.loop_of, number));
      if (!host_.parts.empty() && d < s.spatial) {
        ir::expr const begin = host_.parts[static_cast<std::size_t>(d)].begin;
        r = {simplify(m_, ir::binary(m_, op::add, r.low, begin)), simplify(m_, ir::binary(m_, op::add, r.high, begin))};
      }
      return r;
    }
    if (d < s.spatial) {
      sequence<span> const& spans = by_stage_[static_cast<std::size_t>(reader_)].spans;
      if (!spans.empty() && spans[static_cast<std::size_t>(d)].known()) return spans[static_cast<std::size_t>(d)];
    }
    ir::expr const last = ir::binary(m_, op::sub, l_.axis_extent(number), ir::index(m_, 1));
    return {ir::index(m_, 0), simplify(m_, last)};
  }
  /// Of an axis of the host, or a part of it: one value if it is a loop outside, else all that it runs over.
  span of_loop(int id) {
    loop_info const& l = l_.n_.at(id);
    if (!l.live()) {
      span const outer = of_loop(l.outer), inner = of_loop(l.inner);
      auto const joined = [&](ir::expr o, ir::expr i) {
        return simplify(m_, ir::binary(m_, op::add, ir::binary(m_, op::mul, o, ir::index(m_, l.factor)), i));
      };
      return {joined(outer.low, inner.low), joined(outer.high, inner.high)};
    }
    for (std::size_t i = 0; i < host_.loops.size(); ++i) {
      open_loop const& o = host_.loops[i];
      if (o.id != id) continue;
      if (static_cast<int>(i) <= position_) return {ir::variable(m_, o.variable), ir::variable(m_, o.variable)};
      return {ir::index(m_, 0), simplify(m_, ir::binary(m_, op::sub, o.extent, ir::index(m_, 1)))};
    }
    return {ir::index(m_, 0), ir::index(m_, 0)};
  }
  ir::expr extent(node const& n) override {
    return l_.tensor_[static_cast<std::size_t>(n.a)]->shape[static_cast<std::size_t>(n.b)];
  }

  lowering& l_;
  stage_frame const& host_;
  int position_;
  range_table ranges_;
  sequence<found> by_stage_;
  int reader_ = -1;
};

/// An output may be written over an input that no stage behind its own reads (runtime/bind), and so it may still when steps
/// let stages before it run inside its loops, or behind it, as long as those read elements that were not yet written.
WEFT_DECL void lowering::check_in_place() const {
  sequence<sequence<std::int32_t>> readers;
  for (std::int32_t t : p_.outputs)
    for (input_info const& i : p_.inputs) {
      if (i.tensor < 0 || tensor_[at(i.tensor)]->alias_class != tensor_[at(t)]->alias_class) continue;
      if (readers.empty()) readers = readers_of(p_);
      for (int s : order_) {
        if (n_.places[at(s)] == placement() || !reads_tensor(p_, s, i.tensor)) continue;
        if (reads_in_time(s, reads_own_element(p_, s, i.tensor, 1), p_.tensors[at(t)].stage, readers)) continue;
        auto const called = [&](int tensor) { return std::string(p_.tensors[at(tensor)].name.view()); };
        std::string const stage = called(p_.stages[at(s)].tensor);
        WEFT_THROW(argument_error(f_.name + ": output " + called(t) + " cannot be written over input " + called(i.tensor) +
                                  ": stage " + stage + ", which the schedule computes where it is read, reads elements of " +
                                  called(i.tensor) + " after their place was written; give " + called(t) +
                                  " memory of its own, or compute_root(" + stage + ")"));
      }
    }
}
/// Whether what `stage` reads is read before `writer` writes there. own: it reads the element at its own index.
WEFT_DECL bool lowering::reads_in_time(int stage, bool own, int writer,
                                       sequence<sequence<std::int32_t>> const& readers) const {
  if (stage == writer) return own && p_.stages[at(writer)].reduced == 0;
  if (!n_.places[at(stage)].inlined) {
    int root = stage;
    while (n_.places[at(root)].loop >= 0) root = n_.at(n_.places[at(root)].loop).stage;
    for (int s : order_)
      if (root != writer && (s == root || s == writer)) return s == root;
  }
  for (std::int32_t r : readers[at(stage)])
    if (needed_[at(r)] && !reads_in_time(r, own && reads_own_element(p_, r, p_.stages[at(stage)]), writer, readers)) return false;
  return true;
}
WEFT_DECL bool lowering::has_guests(int loop) const {
  for (std::size_t s = 0; s < n_.places.size(); ++s)
    if (needed_[s] && n_.places[s].loop == loop) return true;
  return false;
}
/// Inside the loop at `position`: the nests of the stages that are computed there, then the rest.
WEFT_DECL ir::stmt lowering::with_guests(int position, sequence<bool> const& dropped) {
  stage_frame& host = *now_;
  sequence<int> guests;
  for (int s : order_)
    if (n_.places[at(s)].loop == host.loops[at(position)].id) guests.push_back(s);
  sequence<ir::stmt> steps;
  if (!frames_[at(guests[0])].is_open) {
    guest_spans spans(*this, host, position);
    for (int g : guests) {
      frames_[at(g)].host = &host;
      frames_[at(g)].host_position = position;
      find_parts(frames_[at(g)], g, spans);
    }
    for (int g : guests) make_guest_memory(frames_[at(g)], g);
  }
  for (int g : guests) steps.push_back(stage_nest(g));
  steps.push_back(tile_branches(position, 0, dropped));
  ir::stmt all = ir::block(m_, steps);
  for (std::size_t i = guests.size(); i-- > 0;) all = with_memory(guests[i], all);
  return all;
}
WEFT_DECL void lowering::find_parts(stage_frame& guest, int stage, guest_spans& spans) {
  stage_info const& s = p_.stages[at(stage)];
  sequence<span> const& read = spans.of_stage(stage);
  range_table const& ranges = spans.ranges();
  ir::expr const zero = ir::index(m_, 0), one = ir::index(m_, 1);
  for (int d = 0; d < s.spatial; ++d) {
    ir::expr const whole = simplify(m_, axis_extent(s.first_axis + d));
    part p{zero, whole, whole};
    if (d < static_cast<int>(read.size()) && read[at(d)].known()) {
      span const r = read[at(d)];
      ir::expr const last = simplify(m_, ir::binary(m_, op::sub, whole, one));
      auto const length = [&](ir::expr from, ir::expr to) {
        return simplify(m_, ir::binary(m_, op::add, ir::binary(m_, op::sub, to, from), one));
      };
      ir::expr const all = length(r.low, r.high);
      std::int64_t const most = spans.difference(r.high, r.low, ranges) + 1;
      bool const bounded = most < std::int64_t(1) << 31;
      // Beyond the borders nothing is read; and no more is computed than what is, on which the parts of others hang.
      // Each length by itself is linear, which ranges can be told of.
      p.begin = spans.most(r.low, zero, ranges);
      if (all->kind == op::literal) {
        p.extent = spans.least(all, length(r.low, last), ranges);
        if (p.begin != r.low) p.extent = spans.least(p.extent, spans.least(length(zero, r.high), whole, ranges), ranges);
      } else {
        p.extent = length(p.begin, spans.least(r.high, last, ranges));
      }
      p.extent = spans.most(p.extent, zero, ranges);
      if (bounded && !(whole->kind == op::literal && whole->value < most)) p.most = ir::index(m_, most < 0 ? 0 : most);
    }
    guest.parts.push_back(p);
  }
}
/// On the stack of the thread that runs the loop where all guests of the kernel together are small enough for it;
/// else in the workspace, where each iteration of a parallel loop around it has memory of its own.
WEFT_DECL void lowering::make_guest_memory(stage_frame& guest, int stage) {
  stage_info const& s = p_.stages[at(stage)];
  sequence<ir::expr> shape;
  for (part const& p : guest.parts) shape.push_back(p.most);
  sequence<ir::expr> const strides = packed_strides(shape, stage);
  double bytes = 64.0 * (s.results - 1);
  for (int r = 0; r < s.results; ++r) bytes += memory_bytes(p_.tensors[at(s.tensor + r)].type, shape, strides);
  bool const on_stack = has_place_on_stack(stage, bytes, true);
  sequence<ir::expr> around;
  if (!on_stack)
    for (stage_frame const *f = guest.host, *of = &guest; f != nullptr; of = f, f = f->host)
      for (int i = 0; i <= of->host_position; ++i) {
        open_loop const& o = f->loops[at(i)];
        if (o.how != loop_kind::parallel) continue;
        guest.parallel_around.push_back(ir::variable(m_, o.variable));
        around.push_back(o.extent->variables == 0 ? o.extent : axis_extent(n_.at(o.id).root));
      }
  for (int r = 0; r < s.results; ++r) {
    ir::buffer* b = new_buffer(s.tensor + r);
    b->where = on_stack ? ir::scope::stack : ir::scope::heap;
    b->written = true;
    b->alignment = 64;
    b->alias_class = 1000000 + b->id;
    sequence<ir::expr> all = around;
    for (ir::expr e : shape) all.push_back(e);
    b->shape = m_.make_list(all);
    b->strides = m_.make_list(packed_strides(all, stage));
  }
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
