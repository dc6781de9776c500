#include "weft/base/joined.hpp"
#include "weft/expr/formula.hpp"
#include "weft/runtime/apart.hpp"
#include "weft/runtime/bind.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

WEFT_HOT_DECL byte_span span_of(argument const& a) {
  std::uint64_t low = 0, high = 1;
  for (int d = 0; d < a.rank; ++d) {
    if (a.extents[d] <= 0) return {};
    std::uint64_t const reach = static_cast<std::uint64_t>(a.extents[d] - 1) * static_cast<std::uint64_t>(a.strides[d]);
    (a.strides[d] < 0 ? low : high) += reach;
  }
  auto const each = static_cast<std::uint64_t>(size_bytes(a.type));
  return {low * each, high * each};
}
/// The addresses that an argument's elements lie between.
inline void footprint(argument const& a, std::uintptr_t& first, std::uintptr_t& last) {
  byte_span const s = span_of(a);
  bool const any = s.first != s.last;
  auto const base = reinterpret_cast<std::uintptr_t>(a.data);
  first = any ? base + s.first : 0, last = any ? base + s.last : 0;
}

/// Whether two arguments are the same elements in the same order.
inline bool same_elements(argument const& a, argument const& b) {
  bool same = a.data == b.data && a.type == b.type && a.rank == b.rank;
  for (int d = 0; same && d < a.rank; ++d)
    same = a.extents[d] == b.extents[d] && (a.strides[d] == b.strides[d] || a.extents[d] == 1);
  return same;
}

WEFT_COLD_BEGIN
/// Finds what one axis walks along; each node once.
struct walk {
  program const& p;
  sequence<bool> seen{};
  sequence<walked_pair> found{};

  void node_of(int id) {
    if (id < 0) return;
    if (seen.empty()) seen.resize(p.nodes.size(), false);
    if (seen[static_cast<std::size_t>(id)]) return;
    seen[static_cast<std::size_t>(id)] = true;
    node const& n = p.at(id);
    if (n.kind == op::select) return node_of(n.a);
    if (n.kind != op::load) {
      if (arity(n.kind) > 0) node_of(n.a), node_of(n.b), node_of(n.c);
      return;
    }
    for (int d = 0; d < n.c; ++d) {
      int const index = program::at(p.operands, n.b + d);
      node_of(index);
      node const& x = p.at(index);
      if (x.kind != op::axis || program::at(p.tensors, n.a).stage >= 0) continue;
      node const& e = p.at(program::at(p.axes, x.a).extent);
      if (e.kind == op::extent && (e.a != n.a || e.b != d)) found.push_back({n.a, d, e.a, e.b});
    }
  }
};

class binder {
 public:
  binder(program const& p, std::string_view name, argument const* arguments, int count)
      : p_(p), name_(name), arguments_(arguments), count_(count) {}

  call_layout run() {
    tensors();
    for (int i = 0; i < first_output_; ++i) one(i);
    for (std::int32_t c : p_.conditions) condition(c);
    for (int i = first_output_; i < static_cast<int>(given_.size()); ++i) one(i);
    axes();
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) output_shape(static_cast<int>(i));
    walked_axes();
    aliases();
    return static_cast<call_layout&&>(layout_);
  }

 private:
  struct given {
    argument const* a;
    int tensor;
  };
  [[noreturn]] void refuse(std::string const& what) const {
    WEFT_THROW(argument_error(joined({name_, ": ", what})));
  }
  std::string const called(int i) const {
    return std::string(program::at(p_.tensors, given_[static_cast<std::size_t>(i)].tensor).name.view());
  }
  static std::string shape(argument const& a) {
    std::string s;
    for (int d = 0; d < a.rank; ++d) s += (d > 0 ? " x " : "") + std::to_string(a.extents[d]);
    return a.rank == 0 ? "a single element" : s;
  }

  /// Pairs arguments with the program's tensors.
  void tensors() {
    std::size_t const inputs = p_.inputs.size(), outputs = p_.outputs.size();
    if (static_cast<std::size_t>(count_) != inputs + outputs)
      refuse(joined({"takes ", std::to_string(inputs), " inputs and ", std::to_string(outputs), " outputs, was given ",
                     std::to_string(count_), " arguments"}));
    for (std::size_t i = 0; i < inputs; ++i) {
      argument const& a = arguments_[i];
      input_info const& in = p_.inputs[i];
      if (a.is_scalar != (in.tensor < 0) || a.type != in.type)
        refuse(joined({"argument ", std::to_string(i + 1), " is ", a.is_scalar ? "a number" : "a tensor", " of ",
                       weft::name(a.type), ", the program wants ", in.tensor < 0 ? "a number" : "a tensor",
                       " of ", weft::name(in.type)}));
      if (in.tensor >= 0) given_.push_back({&a, in.tensor});
    }
    first_output_ = static_cast<int>(given_.size());
    for (std::size_t i = 0; i < outputs; ++i) given_.push_back({&arguments_[inputs + i], p_.outputs[i]});
  }
  void one(int i) {
    argument const& a = *given_[static_cast<std::size_t>(i)].a;
    tensor_info const& t = program::at(p_.tensors, given_[static_cast<std::size_t>(i)].tensor);
    if (a.rank != t.rank)
      refuse(joined({called(i), " has rank ", std::to_string(t.rank), ", its argument has rank ",
                     std::to_string(a.rank)}));
    if (a.type != t.type)
      refuse(joined({called(i), " holds ", weft::name(t.type), ", its argument holds ",
                     weft::name(a.type),
                     computed(a.type) == t.type
                     ? joined({"; arithmetic widens narrow types: end the stage with a weft::cast to ",
                               weft::name(a.type)})
                     : ""}));
    for (int d = 0; d < a.rank; ++d) {
      if (i >= first_output_ && a.extents[d] == endless_extent) refuse(joined({called(i), endless, std::to_string(d)}));
      if (a.extents[d] < 0) refuse(joined({called(i), " has a negative extent: ", shape(a)}));
    }
    if (reaches_too_far(a)) refuse(joined({called(i), " reaches further than memory does: ", shape(a)}));
    if (a.data == nullptr && !is_empty(a) && !a.is_allocated_here) refuse(called(i) + " has no memory (a null pointer)");
    argument_layout l;
    l.extents.assign(a.extents, a.extents + a.rank);
    l.strides.assign(a.strides, a.strides + a.rank);
    l.alignment = size_bytes(a.type);
    l.alias_class = i;
    l.constant = a.constant != nullptr;
    layout_.arguments.push_back(l);
    if (i >= first_output_ && overlaps_itself(a))
      refuse(joined({"the strides of output ", called(i), " let two elements share memory"}));
  }
  std::int64_t input_extent(int tensor, int dim) const {
    for (given const& g : given_)
      if (g.tensor == tensor) return g.a->extents[dim];
    return -1;
  }
  static constexpr char const* endless = " would have more elements than an i64 counts, in dimension ";
  /// What weft::require asked for.
  void condition(int id) const {
    std::int64_t const met = value_of(id);
    if (met == 1) return;
    std::string const wanted = expression_text(p_, id);
    if (met == unknown_extent)
      refuse(joined({"weft::require takes a condition on extents alone, and ", wanted, " asks for more"}));
    std::string but;
    sequence<bool> said(static_cast<std::size_t>(id) + 1, false);
    extents_in(id, but, said);
    refuse(joined({"needs ", wanted, ", but ", but}));
  }
  /// `A.extent(0) = 3, B.extent(1) = 5`: those that node `id` asks about.
  void extents_in(int id, std::string& out, sequence<bool>& said) const {
    if (id < 0 || said[static_cast<std::size_t>(id)]) return;
    said[static_cast<std::size_t>(id)] = true;
    node const& n = p_.at(id);
    if (n.kind == op::extent)
      out += joined({out.empty() ? "" : ", ", expression_text(p_, id), " = ", std::to_string(value_of(id))});
    else if (arity(n.kind) > 0)
      extents_in(n.a, out, said), extents_in(n.b, out, said), extents_in(n.c, out, said);
  }
  /// Of all stages: one that no output shows has a size too.
  void axes() {
    for (stage_info const& s : p_.stages)
      for (int d = 0; d < s.axes(); ++d) {
        std::int64_t const extent = value_of(program::at(p_.axes, s.first_axis + d).extent);
        if (extent >= 0) continue;
        std::string const name(program::at(p_.tensors, s.tensor).name.view());
        bool const counted = extent != endless_extent;
        if (d < s.spatial)
          refuse(counted ? joined({name, " would have a negative extent in dimension ", std::to_string(d), ": ", std::to_string(extent)})
                         : joined({name, endless, std::to_string(d)}));
        refuse(joined({"a reduction of ", name, " would run over ",
                       counted ? joined({std::to_string(extent), " elements"}) : "more elements than an i64 counts"}));
      }
  }
  std::int64_t value_of(int extent) const {
    return extent_value(p_, extent, [&](int t, int d) { return input_extent(t, d); }, known_);
  }
  void output_shape(int o) {
    int const i = first_output_ + o;
    given const& g = given_[static_cast<std::size_t>(i)];
    for (int d = 0; d < g.a->rank; ++d) {
      std::int64_t const want = value_of(p_.extent_of(g.tensor, d));
      if (want != g.a->extents[d])
        refuse(joined({"output ", called(i), " is ", shape(*g.a), ", but dimension ", std::to_string(d), " has ",
                       std::to_string(want), " elements"}));
    }
  }
  void walked_axes() {
    for (walked_pair const& w : walked_together(p_)) {
      if (input_extent(w.tensor, w.dim) == input_extent(w.other, w.other_dim)) continue;
      auto const side = [&](int t, int dim) {
        return joined({program::at(p_.tensors, t).name.view(), ".extent(", std::to_string(dim),
                       ") = ", std::to_string(input_extent(t, dim))});
      };
      refuse(joined({side(w.tensor, w.dim), " and ", side(w.other, w.other_dim),
                     " must be equal: one axis walks both"}));
    }
  }
  void aliases() {
    int const tensors = static_cast<int>(given_.size());
    for (int o = first_output_; o < tensors; ++o)
      for (int i = 0; i < o; ++i) {
        argument const &a = *given_[static_cast<std::size_t>(o)].a, &b = *given_[static_cast<std::size_t>(i)].a;
        if (a.is_allocated_here || b.is_allocated_here) continue;  // they have no address yet
        std::uintptr_t a0 = 0, a1 = 0, b0 = 0, b1 = 0;
        footprint(a, a0, a1);
        footprint(b, b0, b1);
        if (a0 >= b1 || b0 >= a1 || a0 == a1 || b0 == b1) continue;
        bool const same = same_elements(a, b);
        if (!same && apart(a, b)) continue;
        if (b.constant != nullptr)
          refuse(joined({"output ", called(o), " overlaps the constant ", called(i),
                         ", whose elements stay as they are; give it memory of its own, or the constant as a weft::view"}));
        if (i >= first_output_)
          refuse(joined({"outputs ", called(i), " and ", called(o), " share memory", how_known(a, b)}));
        if (!same)
          refuse(joined({"output ", called(o), " overlaps input ", called(i), " without being the same elements",
                         how_known(a, b), "; give it memory of its own"}));
        if (!in_place(given_[static_cast<std::size_t>(i)].tensor, given_[static_cast<std::size_t>(o)].tensor))
          refuse(joined({"output ", called(o), " cannot be written over input ", called(i),
                         ": an element of it is read after its place was written; give it memory of its own"}));
        // Of several inputs that are the same memory, all are in the class of the first.
        auto const out = static_cast<std::size_t>(o), in = static_cast<std::size_t>(i);
        if (layout_.arguments[out].alias_class == o) layout_.arguments[out].alias_class = i;
        else layout_.arguments[in].alias_class = layout_.arguments[out].alias_class;
      }
  }
  /// What `apart` cannot decide.
  static std::string how_known(argument const& a, argument const& b) {
    bool same = a.rank == b.rank && a.type == b.type;
    for (int d = 0; same && d < a.rank; ++d) same = a.strides[d] == b.strides[d];
    return same ? ""
                : " (of tensors with other strides, rank or dtype all addresses from the first to the last element count)";
  }
  /// Whether the stage of `output` may overwrite `input`: read by no later stage, and by this one only the
  /// element that it then writes.
  bool in_place(int input, int output) const {
    int const writer = program::at(p_.tensors, output).stage;
    for (std::size_t s = static_cast<std::size_t>(writer); s < p_.stages.size(); ++s) {
      sequence<bool> seen(p_.nodes.size(), false);
      bool const own = static_cast<int>(s) == writer;
      bool whole = false;
      each_whole_read(p_, p_.stages[s], [&](int t) { whole = whole || t == input; });
      if (whole) return false;
      for (int r = 0; r < p_.stages[s].results; ++r)
        if (!reads_only_in_place(p_.result(p_.stages[s], r).body, input, own ? &p_.stages[s] : nullptr, seen))
          return false;
    }
    return true;
  }
  bool reads_only_in_place(int id, int input, stage_info const* stage, sequence<bool>& seen) const {
    if (id < 0 || seen[static_cast<std::size_t>(id)]) return true;
    seen[static_cast<std::size_t>(id)] = true;
    node const& n = p_.at(id);
    if (n.kind != op::load)
      return arity(n.kind) == 0 || (reads_only_in_place(n.a, input, stage, seen) &&
                                    reads_only_in_place(n.b, input, stage, seen) &&
                                    reads_only_in_place(n.c, input, stage, seen));
    for (int d = 0; d < n.c && n.a != input; ++d)  // an index may be one of its elements
      if (!reads_only_in_place(program::at(p_.operands, n.b + d), input, stage, seen)) return false;
    if (n.a != input) return true;
    if (stage == nullptr || stage->reduced > 0) return false;
    for (int d = 0; d < n.c; ++d) {
      int const axis = stage->first_axis + d;
      node const& x = decided(program::at(p_.operands, n.b + d));
      bool const only_one = x.kind == op::literal && x.value == 0 && value_of(program::at(p_.axes, axis).extent) == 1;
      if (!only_one && (x.kind != op::axis || x.a != axis)) return false;
    }
    return true;
  }
  /// What an index is with these extents: where one decides between two, as in broadcasting, the one that it takes.
  node const& decided(int id) const {
    node const* n = &p_.at(id);
    while (n->kind == op::select) {
      std::int64_t const condition = value_of(n->a);
      if (condition == unknown_extent) break;
      n = &p_.at(condition != 0 ? n->b : n->c);
    }
    return *n;
  }

  program const& p_;
  std::string_view name_;
  argument const* arguments_;
  int count_;
  int first_output_ = 0;
  sequence<given> given_;
  mutable known_extents known_;
  call_layout layout_;
};
WEFT_COLD_END
}  // namespace detail

WEFT_DECL sequence<detail::walked_pair> detail::walked_together(program const& p) {
  walk w{p};
  for (result_info const& r : p.results) w.node_of(r.body);
  return static_cast<sequence<walked_pair>&&>(w.found);
}
WEFT_DECL bool detail::is_empty(argument const& a) {
  for (int d = 0; d < a.rank; ++d)
    if (a.extents[d] == 0) return true;
  return false;
}
WEFT_DECL bool detail::reaches_too_far(argument const& a) {
  if (is_empty(a)) return false;
  std::int64_t reach = 1;
  for (int d = 0; d < a.rank; ++d) {
    std::int64_t part = 0;
    if (__builtin_mul_overflow(a.extents[d] - 1, a.strides[d], &part) ||
        __builtin_sub_overflow(std::int64_t(0), part < 0 ? part : -part, &part) ||
        __builtin_add_overflow(reach, part, &reach))
      return true;
  }
  return reach > (std::int64_t(1) << 47);
}
/// Sorted by stride, each dimension must step over all that the smaller ones reach.
WEFT_DECL bool detail::overlaps_itself(argument const& a) {
  if (is_empty(a)) return false;
  std::int64_t reach = 0;
  bool done[max_rank] = {};
  for (int n = 0; n < a.rank; ++n) {
    int next = -1;
    auto const step = [&](int d) { return a.extents[d] == 1 ? 0 : a.strides[d] < 0 ? -a.strides[d] : a.strides[d]; };
    for (int d = 0; d < a.rank; ++d)
      if (!done[d] && (next < 0 || step(d) < step(next))) next = d;
    done[next] = true;
    if (a.extents[next] == 1) continue;
    if (step(next) <= reach) return true;
    reach += (a.extents[next] - 1) * step(next);
  }
  return false;
}
WEFT_HOT_DECL std::uint64_t shared_memory(argument const* arguments, int count) {
  std::uint64_t bits = 0;
  for (int o = 0; o < count; ++o) {
    if (!arguments[o].is_output || arguments[o].is_allocated_here) continue;
    std::uintptr_t o0 = 0, o1 = 0;
    detail::footprint(arguments[o], o0, o1);
    for (int i = 0; i < count; ++i) {
      if (i == o || arguments[i].is_scalar || (arguments[i].is_output && i > o)) continue;
      std::uintptr_t i0 = 0, i1 = 0;
      detail::footprint(arguments[i], i0, i1);
      if (o0 >= i1 || i0 >= o1 || o0 == o1 || i0 == i1) continue;
      // Code was made for what is in place element by element; anything else is looked at (and refused) each time.
      if (!detail::same_elements(arguments[o], arguments[i])) {
        if (detail::apart(arguments[o], arguments[i])) continue;
        return shared_in_part;
      }
      bits = bits * 4099 + static_cast<std::uint64_t>(o * 64 + i + 1);
    }
  }
  return bits;
}
WEFT_DECL void shape_outputs(program const& p, argument* arguments, int count) {
  int const inputs = static_cast<int>(p.inputs.size());
  auto const extents = [&](int tensor, int dim) {
    for (int i = 0; i < inputs; ++i)
      if (p.inputs[static_cast<std::size_t>(i)].tensor == tensor) return arguments[i].extents[dim];
    return std::int64_t(-1);
  };
  for (int o = inputs; o < count; ++o) {
    argument& a = arguments[o];
    int const t = p.outputs[static_cast<std::size_t>(o - inputs)];
    a.type = program::at(p.tensors, t).type;
    a.rank = static_cast<std::int8_t>(program::at(p.tensors, t).rank);
    std::int64_t stride = 1;
    for (int d = a.rank; d-- > 0;) {
      a.extents[d] = extent_value(p, p.extent_of(t, d), extents);
      a.strides[d] = stride;
      stride *= a.extents[d] > 1 ? a.extents[d] : 1;
    }
  }
}

WEFT_COLD_BEGIN
WEFT_DECL call_layout bind(program const& p, std::string_view name, argument const* arguments, int count) {
  return detail::binder(p, name, arguments, count).run();
}

WEFT_COLD_END

}  // namespace weft::inline WEFT_ABI
