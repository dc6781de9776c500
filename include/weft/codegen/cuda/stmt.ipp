#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/matrix.hpp"
#include "weft/codegen/cuda/mma.hpp"
#include "weft/codegen/cuda/module.hpp"
#include "weft/codegen/cuda/prelude.hpp"
#include "weft/codegen/cuda/processor.hpp"
#include "weft/codegen/cuda/stmt.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/pass/fragments.hpp"
#include "weft/pass/thread_tree.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

namespace detail {
inline bool has_bound_loop(ir::stmt s) {
  if (s->kind == ir::stmt_kind::loop && s->how > loop_kind::virtual_thread) return true;
  for (ir::stmt c : s->children)
    if (has_bound_loop(c)) return true;
  return false;
}
/// Whether so many copies of it are little text, and wait for nobody.
inline bool takes_few(ir::stmt s, std::int64_t& left) {
  if (s->kind == ir::stmt_kind::barrier || s->kind == ir::stmt_kind::exchange || s->kind == ir::stmt_kind::wait) return false;
  if (s->kind == ir::stmt_kind::loop && s->extent->kind != op::literal) return false;
  if (s->children.size() == 0 || s->kind == ir::stmt_kind::tile) return --left >= 0;
  std::int64_t const times = s->kind == ir::stmt_kind::loop ? s->extent->value : 1;
  for (std::int64_t i = 0; i < times; ++i)
    for (ir::stmt c : s->children)
      if (!takes_few(c, left)) return false;
  return true;
}
/// Whether it reads or writes memory outside of the chip.
inline bool goes_far(ir::expr e, sequence<bool>& seen) {
  if (e == nullptr) return false;
  if (seen.size() <= e->id) seen.resize(e->id + 256);
  if (seen[e->id]) return false;
  seen[e->id] = true;
  if (e->kind == op::load && (e->buf->where == ir::scope::argument || e->buf->where == ir::scope::heap)) return true;
  for (ir::expr i : e->indices)
    if (goes_far(i, seen)) return true;
  return goes_far(e->a, seen) || goes_far(e->b, seen) || goes_far(e->c, seen);
}
inline bool goes_far(ir::stmt s, sequence<bool>& seen) {
  if (s->buf != nullptr && (s->buf->where == ir::scope::argument || s->buf->where == ir::scope::heap)) return true;
  if (goes_far(s->value, seen) || goes_far(s->mask, seen)) return true;
  for (ir::stmt c : s->children)
    if (goes_far(c, seen)) return true;
  return false;
}
/// Whether it walks along `variable` through an array of a thread's own, which then has to be in memory unless all is written out.
inline bool walks_own(ir::expr e, std::int32_t variable, sequence<bool> const& shared, sequence<bool>& seen) {
  if (e == nullptr) return false;
  if (seen.size() <= e->id) seen.resize(e->id + 256);
  if (seen[e->id]) return false;
  seen[e->id] = true;
  if (e->kind == op::load && e->buf->where == ir::scope::stack && !shared[static_cast<std::size_t>(e->buf->id)])
    for (ir::expr i : e->indices)
      if (ir::uses(i, variable)) return true;
  for (ir::expr i : e->indices)
    if (walks_own(i, variable, shared, seen)) return true;
  return walks_own(e->a, variable, shared, seen) || walks_own(e->b, variable, shared, seen) || walks_own(e->c, variable, shared, seen);
}
inline bool walks_own(ir::stmt s, std::int32_t variable, sequence<bool> const& shared, sequence<bool>& seen) {
  if (s->buf != nullptr && s->buf->where == ir::scope::stack && !shared[static_cast<std::size_t>(s->buf->id)])
    for (ir::list<ir::expr> const* all : {&s->indices, &s->before})
      for (ir::expr i : *all)
        if (ir::uses(i, variable)) return true;
  if (walks_own(s->value, variable, shared, seen) || walks_own(s->mask, variable, shared, seen)) return true;
  for (ir::stmt c : s->children)
    if (walks_own(c, variable, shared, seen)) return true;
  return false;
}
inline bool is_short(ir::stmt body, std::int64_t copies) {
  std::int64_t left = 4096 / (copies > 0 ? copies : 1);
  return takes_few(body, left);
}
/// Of all buffers that are read or written.
inline void mark_buffers(ir::expr e, sequence<bool>& used, sequence<bool>& seen) {
  if (e == nullptr) return;
  if (seen.size() <= e->id) seen.resize(e->id + 256);
  if (seen[e->id]) return;
  seen[e->id] = true;
  if (e->kind == op::load) used[static_cast<std::size_t>(e->buf->id)] = true;
  for (ir::expr i : e->indices) mark_buffers(i, used, seen);
  for (ir::expr x : {e->a, e->b, e->c}) mark_buffers(x, used, seen);
}
inline void mark_buffers(ir::stmt s, sequence<bool>& used, sequence<bool>& seen) {
  if (s->buf != nullptr) used[static_cast<std::size_t>(s->buf->id)] = true;
  for (ir::buffer const* b : s->buffers) used[static_cast<std::size_t>(b->id)] = true;
  for (ir::expr e : {s->begin, s->extent, s->value, s->mask, s->identity}) mark_buffers(e, used, seen);
  for (ir::list<ir::expr> const* all : {&s->indices, &s->before})
    for (ir::expr e : *all) mark_buffers(e, used, seen);
  for (ir::stmt c : s->children) mark_buffers(c, used, seen);
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

WEFT_DECL bool is_row_of_launches(ir::stmt s) {
  if (s->kind != ir::stmt_kind::block) return false;
  for (ir::stmt c : s->children)
    if (c->kind == ir::stmt_kind::call || detail::has_bound_loop(c) || weft::detail::has_parallel(c)) return true;
  return false;
}
WEFT_DECL launch_text stmt_printer::launch(ir::stmt s) {
  fragments_.resize(k_.f.buffers.size());
  find_fragments(s);
  workspace(s);
  if (s->kind == ir::stmt_kind::loop && s->how == loop_kind::parallel) {
    launch_.iterations = s->extent;
    grid(s);
  } else if (s->kind == ir::stmt_kind::call) {
    call(s);
  } else if (detail::has_bound_loop(s)) {
    bound(s);
  } else {
    if (weft::detail::has_parallel(s))
      WEFT_THROW(schedule_error(joined({k_.f.name, ": one launch of a GPU cannot do this: a parallel loop stands beside other work, or inside of it",
                                        "\n  try   bind in its place, or the loop outermost in a nest of its own"})));
    open("if (blockIdx.x == 0 && threadIdx.x == 0)");
    print(s);
    close();
  }
  launch_.body = static_cast<std::string&&>(out_);
  return static_cast<launch_text&&>(launch_);
}

// Blocks, then what they share, then threads: one after the other, as each is there for the whole body.
WEFT_DECL void stmt_printer::bound(ir::stmt s) {
  bool wanted = false;
  for (std::int32_t id : k_.f.wanted_in_shared) wanted = wanted || (s->buf != nullptr && s->buf->id == id);
  bool const around_threads = s->kind == ir::stmt_kind::allocate && detail::has_bound_loop(s);
  bool const is_placed = s->kind == ir::stmt_kind::allocate && k_.f.shared_place(s->buf) >= 0;
  if (is_placed || (s->kind == ir::stmt_kind::allocate && s->buf->where == ir::scope::stack && (around_threads || wanted))) {
    shared(s->buf);
    return bound(s->children[0]);
  }
  if (s->kind != ir::stmt_kind::loop || s->how <= loop_kind::virtual_thread) return print(s);
  int const axis = (static_cast<int>(s->how) - static_cast<int>(loop_kind::block_x)) % 3;
  if (s->how >= loop_kind::warp) k_.refuse("warps and lanes are parts of thread_x: spread_threads makes them so");
  if (is_thread(s->how) && s->extent->kind != op::literal) k_.refuse("a loop over threads has no known length");
  if (is_thread(s->how)) launch_.threads[axis] = static_cast<std::int32_t>(s->extent->value);
  else launch_.blocks[axis] = s->extent;
  if (!is_thread(s->how) && s->extent->kind == op::literal && s->extent->value > most_blocks(axis))
    WEFT_THROW(argument_error(too_many_blocks(k_.f.name, s->extent->value, axis)));
  char const* const source = is_thread(s->how) ? "threadIdx." : "blockIdx.";
  std::string const begin = exprs_.plain(s->begin), where = source + std::string(1, "xyz"[axis]);
  enter(s, begin);
  open_variable const& v = k_.variables[static_cast<std::size_t>(s->variable)];
  std::size_t const at = out_.size();
  line((v.bits <= 31 ? "int const " : "long long const ") + v.name + " = " + (begin == "0" ? "" : begin + " + ") + where + ";");
  std::size_t const behind = out_.size();
  bound(s->children[0]);
  // The lanes of a lonely warp are told apart by tiles alone.
  if (is_thread(s->how) && out_.find(v.name, behind) == std::string::npos) out_.erase(at, behind - at);
  leave(s);
}
// Where pass/shared_layout.hpp has put it, or behind the others.
WEFT_DECL void stmt_printer::shared(ir::buffer const* b) {
  std::int64_t const place = k_.f.shared_place(b) >= 0 ? k_.f.shared_place(b) : launch_.shared_bytes;
  std::string const type(type_name(b->type)), at = std::to_string(place);
  k_.need("weft_shared", "extern __shared__ __align__(1024) unsigned char weft_shared[];\n");
  line(type + "* const " + k_.buffers[static_cast<std::size_t>(b->id)] + " = (" + type + "*)" +
       (place == 0 ? "weft_shared" : "(weft_shared + " + at + ")") + ";");
  shared_.resize(k_.f.buffers.size(), false);
  shared_[static_cast<std::size_t>(b->id)] = true;
  if (std::int64_t const end = place + ir::shared_bytes_of(b); end > launch_.shared_bytes) launch_.shared_bytes = end;
}
// The intermediate tensors that this launch touches.
WEFT_DECL void stmt_printer::workspace(ir::stmt s) {
  sequence<bool> used(k_.f.buffers.size(), false), seen;
  detail::mark_buffers(s, used, seen);
  for (ir::buffer const* b : k_.f.buffers) {
    if (b->where != ir::scope::heap || !used[static_cast<std::size_t>(b->id)]) continue;
    ir::expr const offset = workspace_offset(*k_.f.nodes, k_.f, b);
    std::string const type(type_name(b->type));
    line(type + "* const " + k_.buffers[static_cast<std::size_t>(b->id)] + " = (" + type + "*)(" + k_.workspace + " + " +
         exprs_.plain(offset) + ");");
    k_.uses_workspace = true;
  }
}

WEFT_DECL void stmt_printer::enter(ir::stmt s, std::string const& begin) {
  open_variable& v = k_.variables[static_cast<std::size_t>(s->variable)];
  int const a = exprs_.bits(s->begin), b = exprs_.bits(s->extent);
  int const most = (a > b ? a : b) + 1;
  v.bits = ir::is_literal(s->begin, 0) ? (b < 47 ? b : 47) : most < 64 ? most : 64;
  if (is_block(s->how) && v.bits > 31 && ir::is_literal(s->begin, 0)) v.bits = 31;  // no grid has more
  v.begin = begin;
  v.open = true;
  k_.ranges.set(s->variable, s->begin, s->extent);
}
WEFT_DECL void stmt_printer::leave(ir::stmt s) {
  k_.variables[static_cast<std::size_t>(s->variable)].open = false;
  k_.ranges.set(s->variable, range_table::entry{});
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
  leave(s);
}

namespace detail {
inline bool is_of_four_warps(ir::stmt s) { return s->kind == ir::stmt_kind::tile && s->role == ir::tile_role::multiply && s->unit->is_of_four_warps(); }
inline bool has_of_four_warps(ir::stmt s) {
  if (is_of_four_warps(s)) return true;
  for (ir::stmt c : s->children)
    if (has_of_four_warps(c)) return true;
  return false;
}
}  // namespace detail
WEFT_DECL void stmt_printer::print(ir::stmt s) {
  using detail::is_of_four_warps;
  switch (s->kind) {
    case ir::stmt_kind::block:
      for (std::uint32_t i = 0, end = 0; i < s->children.size(); i = end) {
        for (end = i; end < s->children.size() && is_of_four_warps(s->children[end]);) ++end;
        if (end > i) products_of_four_warps({s->children.begin() + i, end - i});
        else print(s->children[end++]);
      }
      break;
    case ir::stmt_kind::loop: loop(s); break;
    case ir::stmt_kind::store:
    case ir::stmt_kind::accumulate: s->asynchronous ? copy(s) : updates({&s, 1}); break;
    case ir::stmt_kind::together: updates(s->children); break;
    case ir::stmt_kind::branch:
      if (products_run_ && weft::detail::has_tile(s)) settle();  // all threads of a warp wait, also where some alone go on
      branch(s);
      break;
    case ir::stmt_kind::allocate: allocate(s); break;
    case ir::stmt_kind::barrier:
      if (has_four_warps_) settle();
      line("__syncthreads();");
      break;
    case ir::stmt_kind::exchange: exchange(s); break;
    case ir::stmt_kind::commit:
    case ir::stmt_kind::wait: group(s); break;
    case ir::stmt_kind::tile: tile(s); break;
    case ir::stmt_kind::call:
      WEFT_THROW(schedule_error(joined({k_.f.name, ": function ", s->by->name, " is launched by itself, and its memory is the workspace\n",
                                        "  try   leaving out set_scope(stack) of the stage that it computes, and of what it reads"})));
  }
}

WEFT_DECL void stmt_printer::find_fragments(ir::stmt s) {
  for (ir::stmt c : s->children) find_fragments(c);
  if (s->kind != ir::stmt_kind::tile || s->role == ir::tile_role::store) return;
  has_four_warps_ = has_four_warps_ || s->unit->is_of_four_warps();
  ir::stmt inside = s->children[0];
  while (inside->kind == ir::stmt_kind::loop) inside = inside->children[0];
  if (inside->buf == nullptr || inside->buf->where != ir::scope::stack) k_.refuse("a tile without fragments: pass/fragments.hpp makes them");
  char const which = s->role == ir::tile_role::load_a ? 'a' : s->role == ir::tile_role::load_b ? 'b' : 'c';
  fragments_[static_cast<std::size_t>(inside->buf->id)] = {s->unit, which, true};
}
WEFT_DECL std::string stmt_printer::fragment(ir::buffer const* b, ir::list<ir::expr> const& indices) {
  std::string const& name = k_.buffers[static_cast<std::size_t>(b->id)];
  if (indices.size() == 2) return name + "[0]";
  ir::expr const at = number_of_fragment(*k_.f.nodes, b, indices);
  out_ += exprs_.share({at}, indent_);
  return name + "[" + exprs_.plain(at) + "]";
}
// All lanes of a warp call it, with what each has of the fragments.
WEFT_DECL void stmt_printer::tile(ir::stmt s) {
  if (s->unit->has_places) return mma_tile(s);
  matrix_form const& form = matrix_form_of(*s->unit);
  ir::stmt const outer = s->children[0], inner = outer->children[0];
  ir::stmt access = inner;
  while (access->kind == ir::stmt_kind::loop) access = access->children[0];
  for (char which : {'a', 'b', 'c'}) {
    prelude_function const type = fragment_type(form, which);
    k_.need(type.name, type.definition);
  }
  auto const info = [&](ir::buffer const* b) -> fragment_info& { return fragments_[static_cast<std::size_t>(b->id)]; };
  auto const needed = [&](bool row, bool second, bool shared = false) {
    prelude_function const f = tile_function(form, s->role, row, second, shared);
    k_.need(f.name, f.definition);
    return f.name;
  };
  bool const stores = s->role == ir::tile_role::store;
  if (s->role == ir::tile_role::fill) {
    std::string const into = fragment(access->buf, access->indices);
    out_ += exprs_.share({access->value}, indent_);
    line(needed(true, true) + "(" + into + ", " + exprs_.plain(access->value) + ");");
  } else if (s->role == ir::tile_role::multiply) {
    ir::buffer const* operand[2] = {};
    sequence<ir::expr> next(1, access->value);
    while (!next.empty()) {
      ir::expr const e = next.back();
      next.pop_back();
      if (e == nullptr) continue;
      if (e->kind == op::load) operand[info(e->buf).which == 'b'] = e->buf;
      else for (ir::expr x : {e->a, e->b, e->c}) next.push_back(x);
    }
    auto const text = [&](int i) { return k_.buffers[static_cast<std::size_t>(operand[i]->id)] + "[0]"; };
    std::string const into = fragment(access->buf, access->indices);
    line(needed(info(operand[0]).row, info(operand[1]).row) + "(" + into + ", " + text(0) + ", " + text(1) + ");");
  } else {
    ir::buffer const* const own = stores ? access->value->buf : access->buf;
    tile_access const t = stores ? access_of_tile(*k_.f.nodes, access->buf, access->indices, outer->variable, inner->variable)
                                 : access_of_tile(*k_.f.nodes, access->value->buf, access->value->indices, outer->variable, inner->variable);
    if (t.buf == nullptr) k_.refuse("a tile that is none in memory");
    info(own).row = t.is_row_major();
    std::string const its = fragment(own, stores ? access->value->indices : access->indices);
    sequence<ir::expr> const roots(t.begin.begin(), t.begin.end());
    out_ += exprs_.share(roots, indent_);
    std::string const place = "&" + exprs_.element(t.buf, t.begin);
    auto const id = static_cast<std::size_t>(t.buf->id);
    // Of a shared address ptxas makes ldmatrix, whose rows begin at multiples of 16 bytes; bytes may lie closer.
    bool const fits = !stores && id < shared_.size() && shared_[id] && begins_at_multiples(*k_.f.nodes, t, 16 / size_bytes(t.buf->type));
    line(needed(t.is_row_major(), true, fits) + "(" + (stores ? place + ", " + its : its + ", " + place) + ", " + std::to_string(t.leading()) + ");");
  }
}
// Each thread of a launch calls the user's function with views of whole tensors.
WEFT_DECL void stmt_printer::call(ir::stmt s) {
  extern_function const& f = *s->by;
  if (f.cuda == nullptr)
    WEFT_THROW(argument_error(joined({k_.f.name, ": function ", f.name, " has no CUDA text: give weft::external a weft::cuda_function "
                                      "behind it, or compute its stage by another kernel"})));
  prelude_function const view = view_type();
  k_.need(view.name, view.definition);
  std::string const name(f.cuda->name);
  // What a compiler says of the text names the function and a line of it.
  k_.need(std::string(f.cuda->text), joined({"\n#line 1 \"", name, "\"\n", f.cuda->text, "\n#line 1 \"behind ", name, "\"\n"}));
  sequence<ir::expr> roots;
  for (ir::buffer const* b : s->buffers)
    for (ir::list<ir::expr> const* list : {&b->shape, &b->strides})
      for (ir::expr e : *list) roots.push_back(e);
  out_ += exprs_.share(roots, indent_);
  std::string views;
  for (std::uint32_t i = 0; i < s->buffers.size(); ++i) {
    ir::buffer const* const b = s->buffers[i];
    bool const reads = static_cast<std::int32_t>(i) < f.reads;
    std::string lists[2];
    for (std::size_t d = 0; d < b->shape.size(); ++d) {
      lists[0] += (d > 0 ? ", " : "") + exprs_.plain(b->shape[d]);
      lists[1] += (d > 0 ? ", " : "") + exprs_.plain(b->strides[d]);
    }
    views += joined({i > 0 ? ", " : "", "weft_view<", type_name(b->type), reads ? " const, " : ", ", std::to_string(b->shape.size()),
                     ">{", k_.buffers[static_cast<std::size_t>(b->id)], ", {", lists[0], "}, {", lists[1], "}}"});
  }
  line(joined({"::", name, "(", views, ");"}));
  ir::buffer const* const result = s->buffers[static_cast<std::uint32_t>(f.reads)];
  ir::arena& m = *k_.f.nodes;
  int axis = 0;
  for (std::size_t d = result->shape.size(); d-- > 0;) {
    std::int64_t const part = f.cuda->per_block[d];
    if (part == 0) continue;
    ir::expr const up = ir::binary(m, op::add, result->shape[d], ir::index(m, part - 1));
    ir::expr const blocks = ir::binary(m, op::max, ir::binary(m, op::floor_div, up, ir::index(m, part)), ir::index(m, 1));
    if (blocks->kind == op::literal && blocks->value > most_blocks(axis))
      WEFT_THROW(argument_error(joined({k_.f.name, ": function ", f.name, " would be launched with ", std::to_string(blocks->value),
                                        " blocks: a grid has at most 2^31 - 1 along x and 65535 along y and z; a larger per_block"})));
    launch_.blocks[axis++] = blocks;
  }
  for (int i = 0; i < 3; ++i) launch_.threads[i] = f.cuda->threads[i] > 1 ? f.cuda->threads[i] : 1;
}

// Short loops are written out. Of those that go to memory outside of the chip eight iterations are enough to wait for it once, and
// all of a long row would take registers, unless it is the thread's own array that they walk through.
WEFT_DECL void stmt_printer::unroll(ir::stmt s) {
  if (s->extent->kind != op::literal) return;
  std::int64_t const count = s->extent->value;
  sequence<bool> seen, seen_too;
  shared_.resize(k_.f.buffers.size(), false);
  bool const some = count > 8 && detail::goes_far(s->children[0], seen) && !detail::walks_own(s->children[0], s->variable, shared_, seen_too);
  if (!detail::is_short(s->children[0], some ? 8 : count) || (count > 64 && !some)) return;
  line(some ? "#pragma unroll 8" : "#pragma unroll");
}
// Begin and extent are read once, before the first iteration; literals stand in the head.
WEFT_DECL void stmt_printer::loop(ir::stmt s) {
  if (s->how == loop_kind::vectorized) k_.refuse("a vectorized loop has no text: pass/gpu.hpp writes it out");
  if (s->how > loop_kind::virtual_thread) k_.refuse("a loop bound to blocks or threads stands inside of other statements");
  std::string const& name = k_.variables[static_cast<std::size_t>(s->variable)].name;
  out_ += exprs_.share({s->begin, s->extent}, indent_);
  bool const simple = ir::is_literal(s->begin, 0) && (s->extent->kind == op::literal || s->extent->kind == op::extent);
  std::string begin = exprs_.plain(s->begin), end = exprs_.plain(s->extent);
  std::string const extent = exprs_.plain(s->extent, binding::product);
  enter(s, begin);
  std::string const type = k_.variables[static_cast<std::size_t>(s->variable)].bits <= 31 ? "int " : "long long ";
  if (s->begin->kind != op::literal) {
    std::string const local = k_.taken.unique(name + "_begin");
    line(type + "const " + local + " = " + begin + ";");
    begin = k_.variables[static_cast<std::size_t>(s->variable)].begin = local;
  }
  if (!simple) {
    std::string const local = k_.taken.unique(name + "_end");
    line(type + "const " + local + " = " + (begin == "0" ? extent : begin + " + " + extent) + ";");
    end = local;
  }
  unroll(s);
  open("for (" + type + name + " = " + begin + "; " + name + " < " + end + "; ++" + name + ")");
  bool const some = detail::has_of_four_warps(s);
  products_run_ = products_run_ || some;  // those of the iteration before
  bool const ran = products_run_;
  print(s->children[0]);
  close();
  products_run_ = products_run_ || ran;  // also where there is no iteration
  if (some) settle();
  leave(s);
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
// Side by side in memory on both sides.
WEFT_DECL void stmt_printer::wide(ir::stmt s) {
  ir::expr const from = s->value;
  if (from->kind != op::load || from->a != nullptr || s->mask != nullptr)
    k_.refuse("vector code (" + std::to_string(from->lanes) + " lanes) has no text; pass/gpu.hpp writes it out");
  auto const first = [&](ir::list<ir::expr> all) {
    sequence<ir::expr> one;
    for (ir::expr i : all) one.push_back(i->kind == op::ramp ? i->a : i);
    return k_.f.nodes->make_list(one);
  };
  ir::list<ir::expr> const to_place = first(s->indices), from_place = first(from->indices);
  sequence<ir::expr> roots(to_place.begin(), to_place.end());
  for (ir::expr i : from_place) roots.push_back(i);
  out_ += exprs_.share(roots, indent_);
  prelude_function const row = row_type(s->buf->type, from->lanes);
  k_.need(row.name, row.definition);
  line("*(" + row.name + "*)&" + exprs_.element(s->buf, to_place) + " = *(" + row.name + " const*)&" +
       exprs_.element(from->buf, from_place) + ";");
}
// Stores or accumulates of one mask. When there are several, their values are all named before the first is stored.
WEFT_DECL void stmt_printer::updates(ir::list<ir::stmt> const& together) {
  if (together.size() == 1 && together[0]->value->lanes > 1) return wide(together[0]);
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
WEFT_DECL void stmt_printer::exchange(ir::stmt s) {
  sequence<ir::expr> roots(s->indices.begin(), s->indices.end());
  roots.push_back(s->value);
  out_ += exprs_.share(roots, indent_);
  prelude_function const f = exchange_function(s->buf->type);
  k_.need(f.name, f.definition);
  line(exprs_.element(s->buf, s->indices) + " = " + f.name + "(" + exprs_.text(s->value) + ", " + std::to_string(s->number) + ");");
}
WEFT_DECL void stmt_printer::branch(ir::stmt s) {
  out_ += exprs_.share({s->value}, indent_);
  open("if (" + exprs_.text(s->value) + ")");
  bool const ran = products_run_;
  print(s->children[0]);
  close();
  bool const run = products_run_ || ran;
  products_run_ = ran;
  if (s->children.size() > 1) {
    out_.back() = ' ';  // instead of the line's end
    out_ += "else {\n";
    indent_ += "  ";
    print(s->children[1]);
    close();
  }
  products_run_ = products_run_ || run;
}
WEFT_DECL void stmt_printer::allocate(ir::stmt s) {
  if (s->buf->where == ir::scope::heap) return print(s->children[0]);  // it is there for the whole launch
  if (s->buf->lanes != 1) k_.refuse("buffer " + s->buf->name + " is a vector register; pass/gpu.hpp writes it out");
  open("");
  if (fragment_info const& own = fragments_[static_cast<std::size_t>(s->buf->id)]; own.unit != nullptr) {
    prelude_function const type = own.unit->has_places ? mma_fragment(mma_form_of(*own.unit), own.which) : fragment_type(matrix_form_of(*own.unit), own.which);
    k_.need(type.name, type.definition);
    std::int64_t count = 1;
    for (std::size_t d = 0; d + 2 < s->buf->shape.size(); ++d) count *= s->buf->shape[d]->value;
    line(type.name + " " + k_.buffers[static_cast<std::size_t>(s->buf->id)] + "[" + std::to_string(count) + "];");
    print(s->children[0]);
    return close();
  }
  std::string length, aligned;
  if (s->buf->where == ir::scope::stack) {
    std::int64_t const count = s->buf->shape.size() > 0 ? s->buf->shape[0]->value * s->buf->strides[0]->value : 1;
    length = "[" + std::to_string(count > 0 ? count : 1) + "]";
    if (count * size_bytes(s->buf->type) >= 4 && count > 1) aligned = "__align__(16) ";  // for rows of them
  }
  line(aligned + std::string(type_name(s->buf->type)) + " " + k_.buffers[static_cast<std::size_t>(s->buf->id)] + length + ";");
  print(s->children[0]);
  close();
}

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
