#include <cstring>

#include "weft/base/joined.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/verify.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {
namespace detail {

/// Lanes of a store or accumulate: of its vector indices, or of the register it names.
inline std::uint16_t access_lanes(buffer const* b, list<expr> const& indices) {
  std::uint16_t n = b->lanes;
  for (expr i : indices)
    if (i->lanes > n) n = i->lanes;
  return n;
}

class verifier {
 public:
  explicit verifier(function const& f)
      : f_(f), bound_(f.variables.size(), false), allocated_(f.buffers.size(), false),
        had_memory_(allocated_), used_freely_(allocated_) {}
  std::string run() {
    if (f_.nodes == nullptr) return "the function has no arena";
    names();
    for (std::size_t i = 0; i < f_.buffers.size() && ok(); ++i) declaration(i);
    if (!ok()) return fault_;
    if (f_.body == nullptr)
      wrong("the function has no body");
    else
      statement(f_.body);
    return fault_;
  }

 private:
  bool ok() const { return fault_.empty(); }
  void wrong(std::string const& what) {
    if (!ok()) return;
    fault_ = what;
    if (now_ == nullptr) return;
    std::string text = print(now_, f_);  // its own line, and the lets in front
    std::size_t end = 0;
    while (std::strncmp(text.c_str() + end, "let ", 4) == 0) end = text.find('\n', end) + 1;
    fault_ += "\n  in: " + text.substr(0, text.find('\n', end));
  }
  void require(bool holds, char const* what) {
    if (!holds) wrong(what);
  }
  /// `what` about expression `e`.
  void require(bool holds, expr e, char const* what) {
    if (holds || !ok()) return;
    std::string text = print(e, f_);
    if (text.size() > 200) text = joined({name(e->kind), " .."});
    wrong(joined({text, ": ", what}));
  }

  void own_axis(stmt s);
  void names();
  void declaration(std::size_t position);
  bool is_size(expr e);
  void root(expr e, list<stmt> const& targets = {}, std::uint16_t target_lanes = 1);
  void expression(expr e);
  void leaf(expr e);
  void load(expr e);
  void instruction(expr e);
  void operation(expr e);
  bool is_known(buffer const* b) const {
    return b != nullptr && b->id >= 0 && static_cast<std::size_t>(b->id) < f_.buffers.size() &&
           f_.buffers[static_cast<std::size_t>(b->id)] == b;
  }
  void usable(buffer const* b) {
    if (!is_known(b)) return wrong("a buffer that is not one of the function's");
    bool const local = b->where == scope::registers || b->where == scope::stack;
    auto const id = static_cast<std::size_t>(b->id);
    if (allocated_[id]) return;
    if (local || had_memory_[id]) wrong(b->name + " is used outside of its allocate");
    used_freely_[id] = true;
  }
  void mask(expr e, std::uint16_t lanes) {
    if (e != nullptr && (e->type != dtype::boolean || (e->lanes != 1 && e->lanes != lanes)))
      wrong("a mask must be bool, of 1 lane or as many as the access");
  }
  void indices(buffer const* b, list<expr> const& list, std::uint16_t lanes);
  bool scalar(expr e, dtype t) const { return e != nullptr && e->type == t && e->lanes == 1; }

  void statement(stmt s);
  void loop(stmt s);
  void update(stmt s, list<stmt> const& side_by_side);
  void together(stmt s);
  void allocate(stmt s);
  void call(stmt s);

  function const& f_;
  std::string fault_;
  stmt now_ = nullptr;
  sequence<bool> bound_, allocated_;  // variables in scope, registers by buffer id
  std::int64_t threads_ = 1, lanes_ = 1;     // of the loops around: in a block, but for lanes; in a warp
  std::uint32_t axes_ = 0;                   // that they are bound to: loop_kinds, as bits
  bool in_threads_ = false;                  // whether a barrier may stand here
  sequence<bool> had_memory_, used_freely_;  // of the workspace: in an allocate, and outside of any
  sequence<std::uint32_t> seen_;      // by expression id: the last root it was reached from
  std::uint32_t stamp_ = 0;
  list<stmt> targets_;  // the accumulates whose elements `self` may mean
  std::uint16_t target_lanes_ = 1;
};

inline void verifier::names() {
  sequence<std::string const*> all;
  auto const add = [&](std::string const& name, std::size_t from) {
    for (std::size_t i = from; i < all.size(); ++i)
      if (*all[i] == name) wrong("two things are named " + name);
    all.push_back(&name);
  };
  for (std::string const& s : f_.sizes) add(s, 0);
  for (auto const& s : f_.scalars) add(s.name, 0);
  for (std::string const& s : f_.variables) add(s, 0);
  std::size_t const buffers = all.size();  // a name before [ is a buffer's: no clash with the others
  for (buffer const* b : f_.buffers) {
    if (b == nullptr) return wrong("a buffer is null");
    add(b->name, buffers);
  }
}
inline bool verifier::is_size(expr e) {
  if (e == nullptr || e->type != dtype::i64 || e->lanes != 1) return false;
  root(e);
  sequence<expr> todo{e};
  for (std::size_t i = 0; i < todo.size(); ++i) {
    if (todo[i]->kind == op::axis || todo[i]->kind == op::scalar || todo[i]->kind == op::load) return false;
    if (todo.size() > 10000) return false;
    for (expr x : {todo[i]->a, todo[i]->b, todo[i]->c})
      if (x != nullptr) todo.push_back(x);
  }
  return true;
}
inline void verifier::declaration(std::size_t position) {
  buffer const& b = *f_.buffers[position];
  bool const registers = b.where == scope::registers, argument = b.where == scope::argument;
  auto const check = [&](bool holds, char const* what) {
    if (!holds) wrong(joined({"buffer ", b.name, ": ", what}));
  };
  check(b.id == static_cast<std::int32_t>(position), "its id is not its position");
  check(!argument || b.argument == b.id, "arguments stand first, in the order of the call's pointers");
  check(b.alignment >= 1, "its alignment is less than a byte");
  check(b.where != scope::kept || (!f_.scalars.empty() && f_.scalars[f_.scalars.size() - 1].type == dtype::boolean),
        "whether it is kept is the last scalar, a bool");
  check(b.places >= 0 && (b.places == 0 || b.where == scope::heap), "memory of each thread's own is the heap's");
  check(b.shape.size() == b.strides.size(), "shape and strides have different ranks");
  check(!registers || b.shape.size() == 0, "registers have rank 0");
  for (expr e : b.shape)
    check(b.where != scope::stack || (e != nullptr && e->kind == op::literal), "memory on the stack has a literal size");
  check(b.lanes == 1 || registers, "only registers have lanes");
  std::int64_t const place = f_.shared_place(&b);
  check(place < 0 || (b.where == scope::stack && place % 16 == 0), "what has a place in shared memory is on the stack, at a multiple of 16 bytes");
  std::uint32_t const rank = b.strides.size();
  check(!b.swizzled || (b.where == scope::stack && rank >= 2 && is_literal(b.strides[rank - 1], 1)), "rows that are swizzled are on the stack");
  for (std::uint32_t d = 0; d + 1 < rank && b.swizzled && ok(); ++d) {
    auto const multiple = [&](std::int64_t of) { return of > 0 && b.strides[d]->kind == op::literal && b.strides[d]->value % of == 0; };
    check(multiple(16 / size_bytes(b.type)) && multiple(b.strides[rank - 2]->value), "rows that are swizzled are multiples of 16 bytes apart, all of them");
  }
  check(b.lanes >= 1 && b.lanes <= 1024, "it must have 1 to 1024 lanes");
  for (list<expr> const* l : {&b.shape, &b.strides})
    for (expr e : *l) check(is_size(e), "shape and strides must be scalar i64 of literals and sizes");
}

// --- expressions ----------------------------------------------------------------------------------------------

/// `targets`: of the accumulate whose value `e` is, and those beside it.
inline void verifier::root(expr e, list<stmt> const& targets, std::uint16_t target_lanes) {
  ++stamp_;
  targets_ = targets;
  target_lanes_ = target_lanes;
  if (e != nullptr) expression(e);
  targets_ = {};
}
inline void verifier::expression(expr e) {
  if (!ok()) return;
  if (seen_.size() <= e->id) seen_.resize(e->id + 256, 0);
  if (seen_[e->id] == stamp_) return;
  seen_[e->id] = stamp_;
  require(e->lanes >= 1 && e->lanes <= 1024, e, "an expression has 1 to 1024 lanes");
  if (e->kind == op::load) return load(e);
  if (e->kind == op::instruction) return instruction(e);
  if (arity(e->kind) == 0) return leaf(e);
  int present = 0;
  for (expr x : {e->a, e->b, e->c}) {
    if (x == nullptr) break;
    if (x->id >= e->id) return wrong("an operand was made after its operation");
    expression(x);
    ++present;
  }
  require(present == arity(e->kind) && (present == 3 || e->c == nullptr), e, "wrong number of operands");
  if (ok()) operation(e);
}
inline void verifier::leaf(expr e) {
  auto const below = [&](std::size_t n) { return e->value >= 0 && static_cast<std::size_t>(e->value) < n; };
  switch (e->kind) {
    case op::literal: {
      return require(is_element(e->type, e->value), e, "the bits are not those of an element of its type");
    }
    case op::self:
      if (!below(targets_.size())) return wrong("self outside of the value of an accumulate");
      return require(e->type == targets_[static_cast<std::size_t>(e->value)]->buf->type && e->lanes == target_lanes_, e,
                     "self must have the type of the buffer and the lanes of the access");
    case op::extent:
      require(below(f_.sizes.size()), e, "no such size");
      return require(scalar(e, dtype::i64), e, "a size is a scalar i64");
    case op::scalar:
      require(below(f_.scalars.size()), e, "no such scalar argument");
      if (ok()) require(scalar(e, f_.scalars[static_cast<std::size_t>(e->value)].type), e, "it has another type");
      return;
    case op::axis:
      require(below(f_.variables.size()), e, "no such variable");
      if (ok()) require(bound_[static_cast<std::size_t>(e->value)], e, "a variable used outside of its loop");
      return require(scalar(e, dtype::i64), e, "a variable is a scalar i64");
    default: return;
  }
}
inline void verifier::indices(buffer const* b, list<expr> const& list, std::uint16_t lanes) {
  if (list.size() != b->shape.size())
    return wrong(joined({b->name, " has ", std::to_string(b->shape.size()), " dimensions, the access ",
                         std::to_string(list.size()), " indices"}));
  for (expr i : list) {
    require(i->type == dtype::i64, i, "an index must be i64");
    require(i->lanes == 1 || i->lanes == lanes, i, "an index must have 1 lane or as many as the access");
  }
}
inline void verifier::load(expr e) {
  usable(e->buf);
  for (expr i : e->indices) {
    if (i == nullptr || i->id >= e->id) return wrong("an index is missing or was made after its load");
    expression(i);
  }
  if (e->a != nullptr && e->a->id >= e->id) return wrong("a mask was made after its load");
  if (e->a != nullptr) expression(e->a);
  if (!ok()) return;
  std::uint16_t lanes = access_lanes(e->buf, e->indices);
  if (e->a != nullptr && e->a->lanes > lanes) lanes = e->a->lanes;
  indices(e->buf, e->indices, lanes);
  mask(e->a, lanes);
  require(e->buf->lanes == 1 || e->buf->lanes == lanes, e, "it must have the lanes of its register");
  require(e->type == e->buf->type && e->lanes == lanes, e,
          "a load has the type of its buffer and the lanes of the access");
}
inline void verifier::instruction(expr e) {
  if (e->by == nullptr || e->a == nullptr || e->a->id >= e->id) return wrong("an instruction lacks what it is, or what it computes");
  expression(e->a);
  require(e->type == e->a->type && e->lanes == e->a->lanes, e, "an instruction has the type and the lanes of what it computes");
  require(static_cast<int>(e->indices.size()) == 1 + e->by->operands * e->by->terms, e,
          "an instruction takes the value so far, and of each operand as many as it has terms");
  for (expr i : e->indices) {
    if (i == nullptr || i->id >= e->id) return wrong("an operand is missing or was made after its instruction");
    expression(i);
    require(i->lanes == e->lanes, e, "operands must have the lanes of the operation");
  }
  if (ok()) require(e->indices[0]->type == e->type, e, "the value so far must have the type of the whole");
}
inline void verifier::operation(expr e) {
  dtype const t = e->a->type;
  bool const integer = is_integer(t), truth = t == dtype::boolean;
  if (e->kind == op::ramp || e->kind == op::broadcast) {
    require(e->a->lanes == 1 && e->lanes > 1, e, "it makes several lanes of one");
    return require(e->type == t && (e->kind == op::broadcast || is_index(e)), e,
                   "a ramp is of i64, a broadcast of what it repeats");
  }
  bool const choice = is_choice(e->kind);
  for (expr x : {e->a, e->b, e->c})
    if (x != nullptr) {
      require(x->lanes == e->lanes, e, "operands must have the lanes of the operation");
      require((choice && x == e->a) || x->type == (choice ? e->b->type : t), e, "operands must be of one type");
    }
  require(!is_half(t) || e->kind == op::cast || e->kind == op::bitcast, e,
          "f16 and bf16 are loaded, stored, cast and selected; to compute, cast to f32");
  if (is_math(e->kind, dtype::boolean) || e->kind == op::blend)
    return require(false, e, "it is a program's; lowering begins with what expand makes of it");
  dtype result = t;
  switch (e->kind) {
    case op::neg:
    case op::sub:
    case op::div:
    case op::fma: require(!truth, e, "it means nothing on bool"); break;
    case op::rem:
    case op::floor_div:
    case op::floor_mod:
    case op::shl:
    case op::shr: require(integer, e, "it means nothing but on integers"); break;
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor: require(integer || truth, e, "it means nothing on floats"); break;
    case op::logical_not:
    case op::logical_and:
    case op::logical_or: require(truth, e, "its operands must be bool"); break;
    case op::select:
    case op::rare:
      require(truth, e, "the condition must be bool");
      result = e->b->type;
      break;
    case op::cast: result = e->type; break;
    case op::bitcast:
      result = e->type;
      require(size_bytes(t) == size_bytes(result) && !truth && result != dtype::boolean, e,
              "it takes types of the same size, but for bool");
      break;
    case op::scaleb:
    case op::sqrt:
    case op::floor:
    case op::ceil:
    case op::trunc:
    case op::round: require(is_float(t), e, "it means nothing but on floats"); break;
    default: break;
  }
  if (is_comparison(e->kind)) result = dtype::boolean;
  require(e->type == result, e, "its type is not what its operands give");
}

// --- statements -----------------------------------------------------------------------------------------------

inline void verifier::loop(stmt s) {
  root(s->begin);
  root(s->extent);
  require(scalar(s->begin, dtype::i64) && scalar(s->extent, dtype::i64), "begin and extent must be scalar i64");
  require(s->variable >= 0 && static_cast<std::size_t>(s->variable) < bound_.size(), "no such loop variable");
  require(s->children.size() == 1, "a loop has one child");
  for (prefetched const& p : s->ahead) {
    usable(p.buf);
    require(p.distance >= 1, "a prefetch is of a later iteration");
    for (std::int32_t v : {p.of, p.turn}) require(v >= -1 && v < static_cast<std::int32_t>(bound_.size()), "no such loop variable");
    require(p.turn < 0 ? p.turns == 1 : p.turns >= 2, "two iterations or more take turns");
  }
  require(s->threads >= 0 && (s->threads == 0 || s->how == loop_kind::parallel), "threads are those of a parallel loop");
  require(s->jam >= 0 && (s->jam == 0 || s->how == loop_kind::serial), "loops that run as one are serial");
  if (!ok()) return;
  auto const v = static_cast<std::size_t>(s->variable);
  if (bound_[v]) return wrong(joined({"variable ", f_.variables[v], " is bound twice"}));
  std::int64_t const threads = threads_, lanes = lanes_;
  std::uint32_t const axes = axes_;
  bool const in_threads = in_threads_;
  // Virtual threads take turns statement by statement: a barrier among them is one for all.
  bool const apart = is_concurrent(s->how) && s->how != loop_kind::virtual_thread;
  if (apart || s->how == loop_kind::vectorized) in_threads_ = is_thread(s->how);
  if (is_shared_out(s->how)) own_axis(s);
  bound_[v] = true;
  statement(s->children[0]);
  bound_[v] = false;
  threads_ = threads, lanes_ = lanes, axes_ = axes, in_threads_ = in_threads;
}
/// A loop that is bound to an axis of a machine: once on a path, blocks outside of threads, of which there are 1024.
inline void verifier::own_axis(stmt s) {
  std::uint32_t const bit = 1u << static_cast<int>(s->how), first_thread = 1u << static_cast<int>(loop_kind::thread_x);
  if (s->how != loop_kind::parallel) {
    require((axes_ & bit) == 0, "a loop runs inside another one that is bound to the same axis");
    require(is_thread(s->how) || axes_ < first_thread, "a loop over blocks runs inside one over threads");
  }
  axes_ |= bit;
  if (!is_thread(s->how)) return;
  if (s->how >= loop_kind::warp) lanes_ = 32;
  bool const known = s->extent->kind == op::literal && s->extent->value <= (s->how == loop_kind::lane ? 32 : 1024);
  if (known && s->how != loop_kind::lane && s->extent->value > 0) threads_ *= s->extent->value;
  require(known && threads_ * lanes_ <= 1024, "threads have a known number, at most 1024 in a block and 32 in a warp");
}
/// `side_by_side`: it alone, or the children of a `together`.
inline void verifier::update(stmt s, list<stmt> const& side_by_side) {
  usable(s->buf);
  for (list<expr> const* all : {&s->indices, &s->before})
    for (expr i : *all) {
      if (i == nullptr) return wrong("an index is missing");
      root(i);
    }
  root(s->mask);
  if (!ok()) return;
  std::uint16_t const lanes = access_lanes(s->buf, s->indices);
  indices(s->buf, s->indices, lanes);
  if (s->before.size() > 0) indices(s->buf, s->before, lanes);
  require(s->before.size() == 0 || s->kind == stmt_kind::accumulate, "only an accumulate stands after another element");
  mask(s->mask, lanes);
  require(s->buf->written, "a store to a buffer that is not written");
  require(s->buf->lanes == 1 || s->buf->lanes == lanes, "the access must have the lanes of its register");
  bool const accumulate = s->kind == stmt_kind::accumulate;
  require(!s->asynchronous || (s->kind == stmt_kind::store && s->value != nullptr && copied(s->value) != nullptr && s->buf->where != scope::registers),
          "an asynchronous store copies elements from memory to memory, or zero");
  root(s->value, accumulate ? side_by_side : list<stmt>{}, lanes);
  require(s->value != nullptr && s->value->type == s->buf->type && s->value->lanes == lanes,
          "the value must have the type of the buffer and the lanes of the access");
  if (!accumulate || !ok()) return;
  root(s->identity);
  require(s->identity != nullptr && s->identity->type == s->buf->type &&
              (s->identity->lanes == 1 || s->identity->lanes == lanes),
          "the identity must have the type of the buffer, and 1 lane or as many as the access");
  for (std::int32_t v : s->first)
    require(v >= 0 && static_cast<std::size_t>(v) < bound_.size() && bound_[static_cast<std::size_t>(v)],
            "first must name loops around the accumulate");
}
inline void verifier::together(stmt s) {
  require(s->children.size() >= 2, "fewer than two statements are together");
  for (stmt c : s->children) {
    stmt const one = s->children[0];
    require(c != nullptr && (c->kind == stmt_kind::store || c->kind == stmt_kind::accumulate) && c->kind == one->kind &&
                c->mask == one->mask && c->buf != nullptr,
            "only stores, or only accumulates, of one mask can be together");
    if (!ok()) return;
    bool same = c->first.size() == one->first.size();
    for (std::size_t i = 0; same && i < c->first.size(); ++i) same = c->first[i] == one->first[i];
    require(same, "accumulates that are together must have one first");
    for (stmt other : s->children) {
      if (other == c) break;
      require(other->buf != c->buf, "statements that are together must write different buffers");
    }
  }
  for (stmt c : s->children) {
    if (!ok()) return;
    now_ = c;
    require(access_lanes(c->buf, c->indices) == access_lanes(s->children[0]->buf, s->children[0]->indices),
            "statements that are together must have equally many lanes");
    update(c, s->children);
  }
}
inline void verifier::allocate(stmt s) {
  if (!is_known(s->buf)) return wrong("a buffer that is not one of the function's");
  require(s->buf->where != scope::argument, "an argument cannot be allocated");
  require(s->buf->where != scope::kept, "what is kept cannot be allocated");
  require(s->children.size() == 1, "an allocate has one child");
  auto const b = static_cast<std::size_t>(s->buf->id);
  if (ok() && allocated_[b]) wrong(s->buf->name + " is allocated twice");
  if (ok() && used_freely_[b]) wrong(s->buf->name + " was used outside of its allocate, further up");
  if (!ok()) return;
  allocated_[b] = had_memory_[b] = true;
  statement(s->children[0]);
  allocated_[b] = false;
}
inline void verifier::call(stmt s) {
  if (s->by == nullptr || s->number < 0) return wrong("a call lacks its function, or that one's number");
  for (bool bound : bound_) require(!bound, "a function is called in no loop");
  require(static_cast<std::int32_t>(s->buffers.size()) == s->by->reads + s->by->writes && s->by->writes > 0,
          "a call has a buffer for each parameter of its function");
  for (std::uint32_t i = 0; i < s->buffers.size() && ok(); ++i) {
    buffer const* const b = s->buffers[i];
    usable(b);
    if (!ok()) return;
    require(b->where != scope::registers, "a function takes memory, no registers");
    require(s->by->parameters[i] == extern_parameter{b->type, static_cast<std::int32_t>(b->shape.size())},
            "a buffer of a call has the type and the dimensions of its parameter");
    bool const writes = static_cast<std::int32_t>(i) >= s->by->reads;
    require(!writes || b->written, "a call writes to what nothing may write");
    for (std::uint32_t k = 0; k < s->buffers.size() && writes; ++k)
      require(k == i || s->buffers[k]->alias_class != b->alias_class, "what a call writes is shared with another of its buffers");
  }
}
inline void verifier::statement(stmt s) {
  if (!ok()) return;
  if (s == nullptr) return wrong("a statement is missing");
  now_ = s;
  switch (s->kind) {
    case stmt_kind::block:
      for (stmt c : s->children) statement(c);
      return;
    case stmt_kind::loop: return loop(s);
    case stmt_kind::store:
    case stmt_kind::accumulate: return update(s, {&s, 1});
    case stmt_kind::together: return together(s);
    case stmt_kind::allocate: return allocate(s);
    case stmt_kind::call: return call(s);
    case stmt_kind::tile:
      require(s->unit != nullptr && s->children.size() == 1, "a tile has a unit, and one child");
      return ok() ? statement(s->children[0]) : void();
    case stmt_kind::commit: return;
    case stmt_kind::wait: return require(s->number >= 0 && s->number <= most_waiting, "a wait is for all groups but 0 to 64");
    case stmt_kind::barrier:
      return require(in_threads_, "a barrier stands in a loop over threads, and in no other concurrent one inside");
    case stmt_kind::exchange:
      require(in_threads_, "an exchange stands in a loop over threads, and in no other concurrent one inside");
      require(s->number >= 1 && s->number <= 31 && s->mask == nullptr, "an exchange is between threads of a warp, and of all of them");
      require(s->value != nullptr && s->value->lanes == 1, "an exchange is of single values");
      return update(s, {&s, 1});
    case stmt_kind::branch: break;
  }
  root(s->value);
  require(scalar(s->value, dtype::boolean), "a condition must be a scalar bool");
  require(s->children.size() == 1 || s->children.size() == 2, "a branch has one or two children");
  for (stmt c : s->children) statement(c);
}
}  // namespace detail

WEFT_DECL std::string verify(function const& f) { return detail::verifier(f).run(); }

}  // namespace ir
}  // namespace weft::inline WEFT_ABI
