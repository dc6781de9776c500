#include "weft/base/joined.hpp"
#include "weft/schedule/rules/gpu_planner.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The order in which what is gathered of the larger operand lies in memory, where sums may be taken in another one. Empty: the stage's own.
WEFT_DECL sequence<std::int64_t> gpu_plan::order_of_terms(int stage) const {
  rule_view const v = view();
  stage_info const& of = v.stage(stage);
  if (is_float(program::at(v.p().tensors, of.tensor).type) && !in_.reassociate) return {};
  access larger;
  for (access const& one : v.loads(stage))
    if (larger.tensor < 0 || v.bytes_of(one.tensor) > v.bytes_of(larger.tensor)) larger = one;
  sequence<std::int64_t> steps;
  for (int a = of.spatial; a < of.axes(); ++a) steps.push_back(larger.step(a) == no_step ? 0 : larger.step(a) < 0 ? -larger.step(a) : larger.step(a));
  sequence<std::int64_t> order;
  for (std::size_t a = 0; a < steps.size(); ++a) {
    std::size_t at = order.size();
    order.push_back(static_cast<std::int64_t>(a));
    for (; at > 0 && steps[static_cast<std::size_t>(order[at - 1])] < steps[a]; --at) order[at] = order[at - 1], order[at - 1] = static_cast<std::int64_t>(a);
  }
  bool own = true;
  for (std::size_t a = 0; a < order.size(); ++a) own = own && order[a] == static_cast<std::int64_t>(a);
  return own ? sequence<std::int64_t>() : order;
}
/// Whether a condition is the same for all places along an axis, but for where that ends: a border is also told of channels.
WEFT_DECL bool gpu_plan::holds_for_rows(int condition, int axis) const {
  rule_view const v = view();
  node const& n = v.p().at(condition);
  if (v.coefficient(condition, axis) == 0) return true;
  if (n.kind == op::logical_and) return holds_for_rows(n.a, axis) && holds_for_rows(n.b, axis);
  auto const is_it = [&](int id) { return v.p().at(v.chosen(id)).kind == op::axis && v.p().at(v.chosen(id)).a == axis; };
  return is_comparison(n.kind) && ((is_it(n.a) && v.coefficient(n.b, axis) == 0) || (is_it(n.b) && v.coefficient(n.a, axis) == 0));
}
/// How many bytes of a row of the operand's matrix are side by side in memory, from multiples of as many on.
WEFT_DECL std::int64_t gpu_plan::gathered_bytes(int stage, im2col_form::operand const& of, sequence<std::int64_t> const& order) const {
  rule_view const v = view();
  program const& p = v.p();
  stage_info const& s = v.stage(stage);
  node const& load = p.at(of.load);
  std::int64_t const one = element_bytes(load.a);
  int const last_term = order.empty() ? s.reduced - 1 : static_cast<int>(order.back());
  int const axis = of.terms_first ? of.own.back() : s.spatial + last_term;
  sequence<std::int64_t> const strides = v.strides(load.a);
  int const from = program::at(p.tensors, load.a).stage;
  if (load.c == 0 || strides.back() != 1 || (from >= 0 && v.is_inlined(from))) return one;
  node const& index = p.at(v.chosen(program::at(p.operands, load.b + load.c - 1)));
  if (index.kind != op::axis || index.a != s.first_axis + axis) return one;
  for (int d = 0; d + 1 < load.c; ++d)
    if (v.coefficient(program::at(p.operands, load.b + d), index.a) != 0) return one;
  for (std::int32_t c : of.conditions)
    if (!holds_for_rows(c, index.a)) return one;
  std::int64_t bytes = 16;
  while (bytes > one && v.extent(stage, axis) * one % bytes != 0) bytes /= 2;
  for (std::size_t d = 0; d + 1 < strides.size(); ++d)
    while (bytes > one && (strides[d] == no_step || strides[d] * one % bytes != 0)) bytes /= 2;
  return bytes;
}
WEFT_DECL int gpu_plan::gather_of(int tensor) const {
  int const stage = program::at(s_.computation().tensors, tensor).stage;
  for (gathered_product const& g : gathered_)
    for (int made : g.gathers)
      if (made == stage) return made;
  return -1;
}
WEFT_DECL bool gpu_plan::is_gathered(int product) const {
  for (gathered_product const& g : gathered_)
    if (g.product == product) return true;
  return false;
}
WEFT_DECL bool gpu_plan::is_placed_gather(int stage) const {
  for (gathered_product const& g : gathered_)
    for (int made : g.gathers)
      if (made == stage && s_.places[static_cast<std::size_t>(stage)].loop >= 0) return true;
  return false;
}
/// Makes products of what has several reduced axes, such as windows and channels: the tiles of a product then are of images, rows and places of a row
/// alike, and of all terms, whatever each of them is long.
WEFT_DECL void gpu_plan::find_windows() {
  int const count = static_cast<int>(s_.order.size());
  for (int t = 0; t < count && !is_refused(); ++t) {
    rule_view const v = view();
    stage_info const of = v.stage(t);
    if (of.reduced < 2 || of.results != 1 || of.by != nullptr || of.scanned >= 0 || v.is_inlined(t)) continue;
    im2col_form const form(v.p(), t);
    if (!form.known()) {
      if (form.has_two())
        tell(t, "no implicit product: an axis moves both operands, as channels in groups do, or none, or more is done with their elements");
      continue;
    }
    bool open = false;
    std::int64_t sizes[2] = {1, 1}, terms = 1;
    std::int64_t constexpr most = std::int64_t(1) << 31;
    auto const times = [&](std::int64_t& all, int a) {
      std::int64_t const n = v.extent(t, a) > 0 ? v.extent(t, a) : 0;
      all = n > 0 && all > most / n ? most : all * n;
    };
    for (int i = 0; i < 2; ++i)
      for (std::int32_t a : form.operands[i].own) times(sizes[i], a);
    for (int a = of.spatial; a < of.axes(); ++a) times(terms, a);
    for (int a = 0; a < of.axes(); ++a) open = open || is_open(v.loop(t, a));
    if (open || sizes[0] < 16 || sizes[1] < 16 || terms < 8 || sizes[0] >= most || sizes[1] >= most || terms >= most) {
      tell(t, open ? std::string("no implicit product: sizes are open")
                   : joined({"no implicit product: ", std::to_string(sizes[0]), " x ", std::to_string(sizes[1]), " sums of ", std::to_string(terms),
                             " terms are no tile of one (16 x 16 of 8)"}));
      continue;
    }
    if (form.left_out && is_float(program::at(v.p().tensors, of.tensor).type) && !in_.reassociate) {
      tell(t, "no implicit product: `where` leaves out terms, which would be zeros times the other factor");
      continue;
    }
    if (!choose(t, "im2col", true)) continue;
    step one{verb::im2col};
    one.stage = t;
    one.numbers = order_of_terms(t);
    gathered_product made;
    made.stage = t;
    for (int i = 0; i < 2; ++i) made.bytes[i] = gathered_bytes(t, form.operands[i], one.numbers);
    if (!may(one) || !take(one)) continue;
    made.product = static_cast<int>(s_.order.size()) - 1;
    made.gathers[0] = made.product - 2, made.gathers[1] = made.product - 1;
    products_.push_back(made.product), products_.push_back(t);
    gathered_.push_back(made);
    // What another reduction reads is better in memory: there it is gathered by copies that run on by themselves.
    bool element_by_element = !view().is_output(t);
    sequence<sequence<std::int32_t>> const readers = readers_of(s_.computation());
    for (std::int32_t r : readers[static_cast<std::size_t>(t)]) element_by_element = element_by_element && view().stage(r).reduced == 0;
    if (element_by_element) place(verb::compute_inline, t);
  }
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
