#include "weft/lower/settled.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
class settling {
 public:
  settling(program const& what, call_layout const& layout) : p_(what), layout_(layout), tensors_(what.tensors.size(), nullptr), chosen_(what.nodes.size(), -1) {
    std::size_t next = 0;
    for (input_info const& i : p_.inputs)
      if (i.tensor >= 0) tensors_[static_cast<std::size_t>(i.tensor)] = &layout.arguments[next++];
    for (axis_info& a : p_.axes) walked_.push_back(a.extent);
  }
  program made() {
    for (std::size_t i = 0; i < p_.nodes.size(); ++i) {
      node& n = p_.nodes[i];
      chosen_[i] = static_cast<std::int32_t>(i);
      if (arity(n.kind) == 0) continue;
      n.a = mapped(n.a), n.b = mapped(n.b), n.c = mapped(n.c);
      if (n.kind == op::eq && (is_never(n.a, n.b) || is_never(n.b, n.a))) n = node{.type = dtype::boolean};
      else if (n.kind == op::select) chosen_[i] = choice(n, chosen_[i]);
    }
    for (std::int32_t& i : p_.operands) i = mapped(i);
    for (std::int32_t& i : p_.extents) i = mapped(i);
    for (std::int32_t& i : p_.conditions) i = mapped(i);
    for (axis_info& a : p_.axes) a.extent = mapped(a.extent);
    for (result_info& r : p_.results) r.body = mapped(r.body), r.merged = mapped(r.merged);
    return static_cast<program&&>(p_);
  }

 private:
  std::int32_t mapped(std::int32_t id) const { return id < 0 ? id : chosen_[static_cast<std::size_t>(id)]; }
  std::int64_t given(int tensor, int dim) const {
    argument_layout const* const a = tensors_[static_cast<std::size_t>(tensor)];
    return a == nullptr ? -1 : a->extents[static_cast<std::size_t>(dim)];
  }
  /// The number of a size, or the name of an open one; -1: neither.
  std::int64_t size(int id) {
    node const& n = p_.at(id);
    if (n.kind == op::extent) return given(n.a, n.b);
    std::int64_t const v = extent_value(p_, id, [this](int tensor, int dim) { return given(tensor, dim); }, known_);
    return v < 0 ? -1 : v;
  }
  bool is_number(int id, std::int64_t number) const {
    node const& n = p_.at(id);
    return n.kind == op::literal && n.type == dtype::i64 && n.value == number;
  }
  bool is_never(int of, int number) {
    std::int64_t const e = p_.at(of).kind == op::extent ? size(of) : -1;
    if (e >= -1 || p_.at(number).kind != op::literal || p_.at(number).type != dtype::i64) return false;
    open_range const r = layout_.range_of(e);
    return p_.at(number).value < r.low || p_.at(number).value > r.high;
  }
  /// Whether it is made of indices and truths alone, which extent_value computes: functions of floats are not yet what computes them.
  bool is_of_sizes(int id, int depth = 8) const {
    node const& n = p_.at(id);
    if (depth == 0 || (n.type != dtype::i64 && n.type != dtype::boolean)) return false;
    int const operands[] = {n.a, n.b, n.c};
    for (int i = 0; i < arity(n.kind); ++i)
      if (!is_of_sizes(operands[i], depth - 1)) return false;
    return true;
  }
  std::int32_t choice(node const& n, std::int32_t as_it_is) {
    if (!is_of_sizes(n.a)) return as_it_is;
    std::int64_t const condition = extent_value(p_, n.a, [this](int tensor, int dim) { return given(tensor, dim); }, known_);
    if (condition >= 0) return condition != 0 ? n.b : n.c;
    // What is open, too: `size == 1 ? 0 : i`, where i runs to that size, and `size == 1 ? same : size`, of one name.
    node const& asked = p_.at(n.a);
    if (asked.kind != op::eq || !is_number(asked.b, 1)) return as_it_is;
    std::int64_t const name = size(asked.a);
    if (name >= -1) return as_it_is;
    node const& other = p_.at(n.c);
    int const walked = other.kind == op::axis ? mapped(program::at(walked_, other.a)) : -1;  // below 0: it comes behind
    bool const walks = is_number(n.b, 0) && walked >= 0 && size(walked) == name;
    return walks || (size(n.b) == name && size(n.c) == name) ? n.c : as_it_is;
  }

  program p_;
  call_layout const& layout_;
  sequence<argument_layout const*> tensors_;  // by tensor; null: no input
  sequence<std::int32_t> chosen_;             // by node: what stands for it
  sequence<std::int32_t> walked_;             // by axis: its extent, as it was
  known_extents known_;
};
}  // namespace detail

WEFT_DECL program settled(program const& what, call_layout const& layout) { return detail::settling(what, layout).made(); }

}  // namespace weft::inline WEFT_ABI
