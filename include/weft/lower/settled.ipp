#include "weft/lower/settled.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL program settled(program const& what, call_layout const& layout) {
  program p = what;
  sequence<argument_layout const*> of;  // by tensor
  of.resize(p.tensors.size(), nullptr);
  std::size_t next = 0;
  for (input_info const& i : p.inputs)
    if (i.tensor >= 0) of[static_cast<std::size_t>(i.tensor)] = &layout.arguments[next++];
  auto const given = [&](int tensor, int dim) {
    argument_layout const* const a = of[static_cast<std::size_t>(tensor)];
    return a == nullptr ? -1 : a->extents[static_cast<std::size_t>(dim)];
  };
  auto const is_never = [&](node const& size, node const& number) {
    if (size.kind != op::extent || number.kind != op::literal || number.type != dtype::i64) return false;
    std::int64_t const e = given(size.a, size.b);
    if (e >= -1) return false;
    open_range const r = layout.range_of(e);
    return number.value < r.low || number.value > r.high;
  };
  sequence<std::int32_t> chosen(p.nodes.size(), -1);
  auto const mapped = [&](std::int32_t id) { return id < 0 ? id : chosen[static_cast<std::size_t>(id)]; };
  detail::known_extents known;
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    node& n = p.nodes[i];
    chosen[i] = static_cast<std::int32_t>(i);
    if (arity(n.kind) == 0) continue;
    n.a = mapped(n.a), n.b = mapped(n.b), n.c = mapped(n.c);
    if (n.kind == op::eq && (is_never(p.at(n.a), p.at(n.b)) || is_never(p.at(n.b), p.at(n.a)))) {
      n = node{};
      n.type = dtype::boolean;
    } else if (n.kind == op::select) {
      std::int64_t const condition = extent_value(p, n.a, given, known);
      if (condition >= 0) chosen[i] = condition != 0 ? n.b : n.c;
    }
  }
  for (std::int32_t& i : p.operands) i = mapped(i);
  for (std::int32_t& i : p.extents) i = mapped(i);
  for (std::int32_t& i : p.conditions) i = mapped(i);
  for (axis_info& a : p.axes) a.extent = mapped(a.extent);
  for (result_info& r : p.results) r.body = mapped(r.body), r.merged = mapped(r.merged);
  return p;
}

}  // namespace weft::inline WEFT_ABI
