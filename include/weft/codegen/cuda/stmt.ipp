#include "weft/codegen/cuda/module.hpp"
#include "weft/codegen/cuda/stmt.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

namespace detail {
inline bool has_parallel(ir::stmt s) {
  if (s->kind == ir::stmt_kind::loop && s->how == loop_kind::parallel) return true;
  for (ir::stmt c : s->children)
    if (has_parallel(c)) return true;
  return false;
}
inline bool first_has(ir::stmt s, std::int32_t variable) {
  for (std::int32_t v : s->first)
    if (v == variable) return true;
  for (ir::stmt c : s->children)
    if (first_has(c, variable)) return true;
  return false;
}
// Marks in `used` the numbers of the elements so far that `e` reads. `seen`, by expr id: each node of the graph is
// asked once.
inline void mark_selves(ir::expr e, sequence<bool>& used, sequence<bool>& seen) {
  if (e == nullptr) return;
  if (seen.size() <= e->id) seen.resize(e->id + 256);
  if (seen[e->id]) return;
  seen[e->id] = true;
  if (e->kind == op::self) used[static_cast<std::size_t>(e->value)] = true;
  for (ir::expr i : e->indices) mark_selves(i, used, seen);
  for (ir::expr x : {e->a, e->b, e->c}) mark_selves(x, used, seen);
}
}  // namespace detail

WEFT_DECL void stmt_printer::open(std::string const& head) {
  line(head.empty() ? "{" : head + " {");
  indent_ += "  ";
}
WEFT_DECL void stmt_printer::close() {
  indent_.resize(indent_.size() - 2);
  line("}");
}

WEFT_DECL std::string stmt_printer::body() {
  if (ir::stmt const g = grid_loop(k_.f)) {
    grid(g);
  } else {
    if (detail::has_parallel(k_.f.body))
      k_.refuse("a parallel loop must be the whole body: one launch cannot order two of them");
    open("if (blockIdx.x == 0 && threadIdx.x == 0)");
    print(k_.f.body);
    close();
  }
  return static_cast<std::string&&>(out_);
}

WEFT_DECL void stmt_printer::enter(ir::stmt s, std::string const& begin) {
  open_variable& v = k_.variables[static_cast<std::size_t>(s->variable)];
  int const a = exprs_.bits(s->begin), b = exprs_.bits(s->extent);
  int const most = (a > b ? a : b) + 1;
  v.bits = ir::is_literal(s->begin, 0) ? (b < 47 ? b : 47) : most < 64 ? most : 64;
  v.begin = begin;
  v.open = true;
}
WEFT_DECL void stmt_printer::grid(ir::stmt s) {
  if (detail::first_has(s, s->variable)) k_.refuse("a reduction runs over the grid");
  out_ += exprs_.share({s->begin, s->extent}, indent_);
  std::string const begin = exprs_.plain(s->begin, binding::sum), extent = exprs_.plain(s->extent, binding::sum);
  enter(s, begin);
  std::string const& name = k_.variables[static_cast<std::size_t>(s->variable)].name;
  std::string const thread = "(long long)blockIdx.x * blockDim.x + threadIdx.x";
  if (begin == "0") {
    line("long long const " + name + " = " + thread + ";");
    open("if (" + name + " < " + extent + ")");
  } else {
    std::string const step = k_.taken.unique(name + "_step");
    line("long long const " + step + " = " + thread + ";");
    open("if (" + step + " < " + extent + ")");
    line("long long const " + name + " = " + begin + " + " + step + ";");
  }
  print(s->children[0]);
  close();
  k_.variables[static_cast<std::size_t>(s->variable)].open = false;
}

WEFT_DECL void stmt_printer::print(ir::stmt s) {
  switch (s->kind) {
    case ir::stmt_kind::block:
      for (ir::stmt c : s->children) print(c);
      break;
    case ir::stmt_kind::loop: loop(s); break;
    case ir::stmt_kind::store:
    case ir::stmt_kind::accumulate: updates({&s, 1}); break;
    case ir::stmt_kind::together: updates(s->children); break;
    case ir::stmt_kind::branch: branch(s); break;
    case ir::stmt_kind::allocate: allocate(s); break;
    case ir::stmt_kind::barrier: k_.refuse("a barrier has no text yet: threads that wait need loops bound to them");
    case ir::stmt_kind::call:
      k_.refuse("a function of the program's runs on the CPU and has no CUDA text: compute its stage by another kernel");
  }
}

// Begin and extent are read once, before the first iteration; literals stand in the head.
WEFT_DECL void stmt_printer::loop(ir::stmt s) {
  if (s->how == loop_kind::vectorized) k_.refuse("a vectorized loop has no text yet; leave vectorize out");
  if (s->how > loop_kind::virtual_thread) k_.refuse("a loop bound to blocks or threads has no text yet; leave bind out");
  std::string const& name = k_.variables[static_cast<std::size_t>(s->variable)].name;
  out_ += exprs_.share({s->begin, s->extent}, indent_);
  bool const simple = ir::is_literal(s->begin, 0) && (s->extent->kind == op::literal || s->extent->kind == op::extent);
  std::string begin = exprs_.plain(s->begin), end = exprs_.plain(s->extent);
  if (s->begin->kind != op::literal) {
    std::string const local = k_.taken.unique(name + "_begin");
    line("long long const " + local + " = " + begin + ";");
    begin = local;
  }
  if (!simple) {
    std::string const local = k_.taken.unique(name + "_end"), extent = exprs_.plain(s->extent, binding::product);
    line("long long const " + local + " = " + (begin == "0" ? extent : begin + " + " + extent) + ";");
    end = local;
  }
  enter(s, begin);
  open("for (long long " + name + " = " + begin + "; " + name + " < " + end + "; ++" + name + ")");
  print(s->children[0]);
  close();
  k_.variables[static_cast<std::size_t>(s->variable)].open = false;
}

WEFT_DECL std::string stmt_printer::first_iteration(ir::stmt s) {
  std::string condition;
  for (std::int32_t number : s->first) {
    open_variable const& v = k_.variables[static_cast<std::size_t>(number)];
    if (!v.open) k_.refuse("an accumulate asks for the first iteration of " + v.name + ", whose loop is not around it");
    condition += (condition.empty() ? "" : " && ") + v.name + " == " + v.begin;
  }
  return condition;
}
WEFT_DECL void stmt_printer::old_element(ir::stmt s, std::string const& element, bool wanted) {
  k_.selves.push_back({});
  if (!wanted) return;
  std::string const first = first_iteration(s), identity = exprs_.text(s->identity, binding::logical);
  k_.selves.back() = k_.taken.unique("self");
  line(std::string(type_name(s->buf->type)) + " const " + k_.selves.back() + " = " +
       (first.empty() ? element : first + " ? " + identity + " : " + element) + ";");
}
// Stores or accumulates of one mask. When there are several, their values are all named before the first is stored.
WEFT_DECL void stmt_printer::updates(ir::list<ir::stmt> const& together) {
  ir::expr const mask = together[0]->mask;
  bool const accumulate = together[0]->kind == ir::stmt_kind::accumulate;
  if (mask != nullptr) {
    out_ += exprs_.share({mask}, indent_);
    open("if (" + exprs_.text(mask) + ")");
  }
  sequence<ir::expr> roots;
  sequence<bool> used(together.size(), false), seen;
  for (ir::stmt s : together) {
    for (ir::expr i : s->indices) roots.push_back(i);
    for (ir::expr i : s->before) roots.push_back(i);
    if (accumulate) roots.push_back(s->identity);
    else roots.push_back(s->value);
    detail::mark_selves(s->value, used, seen);
  }
  out_ += exprs_.share(roots, indent_);
  k_.selves.clear();
  sequence<std::string> elements, values;
  for (ir::stmt s : together) {
    elements.push_back(exprs_.element(s->buf, s->indices));
    std::string const self = s->before.size() > 0 ? exprs_.element(s->buf, s->before) : elements.back();
    if (accumulate) old_element(s, self, used[elements.size() - 1]);
  }
  for (ir::stmt s : together) {
    if (accumulate) out_ += exprs_.share({s->value}, indent_);
    values.push_back(exprs_.text(s->value));
    if (together.size() == 1) break;
    std::string const next = k_.taken.unique("next");
    line(std::string(type_name(s->buf->type)) + " const " + next + " = " + values.back() + ";");
    values.back() = next;
  }
  for (std::size_t i = 0; i < values.size(); ++i) line(elements[i] + " = " + values[i] + ";");
  if (mask != nullptr) close();
}
WEFT_DECL void stmt_printer::branch(ir::stmt s) {
  out_ += exprs_.share({s->value}, indent_);
  open("if (" + exprs_.text(s->value) + ")");
  print(s->children[0]);
  close();
  if (s->children.size() < 2) return;
  out_.back() = ' ';  // instead of the line's end
  out_ += "else {\n";
  indent_ += "  ";
  print(s->children[1]);
  close();
}
WEFT_DECL void stmt_printer::allocate(ir::stmt s) {
  if (s->buf->where == ir::scope::heap)
    k_.refuse("buffer " + s->buf->name + " lies in the workspace; only registers and the stack have text yet");
  if (s->buf->lanes != 1) k_.refuse("buffer " + s->buf->name + " is a vector register; leave vectorize out");
  open("");
  std::string length;
  if (s->buf->where == ir::scope::stack) {
    std::int64_t const count = s->buf->shape.size() > 0 ? s->buf->shape[0]->value * s->buf->strides[0]->value : 1;
    length = "[" + std::to_string(count > 0 ? count : 1) + "]";
  }
  line(std::string(type_name(s->buf->type)) + " " + k_.buffers[static_cast<std::size_t>(s->buf->id)] + length + ";");
  print(s->children[0]);
  close();
}

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
