#include "weft/ir/expression_reader.hpp"
#include "weft/ir/parse.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {
namespace detail {

class parser final : expression_reader {
 public:
  parser(arena& m, std::string_view text, known_intrinsics known, known_functions functions)
      : expression_reader(m, text, known), known_functions_(functions) {}
  function whole();

 private:
  static constexpr int most_allocated = 2000;

  sequence<stmt> children(std::int64_t outside);
  stmt body(std::int64_t outside);
  stmt statement();
  stmt loop(std::int64_t indent);
  stmt update(stmt_kind kind);
  stmt call();
  stmt branch(std::int64_t indent);
  stmt allocate(std::int64_t indent);
  stmt block(sequence<stmt> const& list) {
    stmt_node n;
    n.children = m_.make_list(list);
    return m_.make(n);
  }
  void header();
  void declare();
  std::int32_t variable();
  cache_level a_cache();
  buffer* a_buffer();
  bool is_known(std::string const& name) const;
  std::string new_name(char const* expected) {
    std::string name = a_name(expected);
    if (is_known(name)) fail_at(name_at_, "a name that is not taken");
    return name;
  }

  known_functions known_functions_;
  int allocated_ = 0;
};

inline std::int32_t parser::variable() {
  std::string const name = a_name("a variable");
  int const v = find(f_.variables, [&](std::string const& s) { return s == name; });
  if (v < 0) fail_at(name_at_, "a variable");
  return v;
}
inline buffer* parser::a_buffer() {
  std::string const name = a_name("a statement");
  int const b = find(buffers_, [&](buffer* x) { return x->name == name; });
  if (b < 0) fail_at(name_at_, "a buffer");
  return buffers_[static_cast<std::size_t>(b)];
}
/// The statements that stand further right than `outside`.
inline sequence<stmt> parser::children(std::int64_t outside) {
  if (indent_ <= outside) fail("an indented statement");
  std::int64_t const own = indent_;
  sequence<stmt> list;
  while (indent_ == own) list.push_back(statement());
  if (indent_ > outside) fail("the indentation of a line above");
  return list;
}
inline stmt parser::body(std::int64_t outside) {
  sequence<stmt> const list = children(outside);
  return list.size() == 1 ? list[0] : block(list);
}
inline stmt parser::statement() {
  enter();
  std::int64_t const indent = indent_;
  lets_.clear();
  target_ = nullptr;
  while (try_word("let")) {
    expect("$");
    auto const count = static_cast<std::int64_t>(lets_.size());
    integer(count, count, "the next number of a let");
    expect("=");
    lets_.push_back(expression());
    next_line();
    if (indent_ != indent) fail("the statement that uses the let");
  }
  stmt s = nullptr;
  if (try_word("for")) {
    s = loop(indent);
  } else if (try_word("if")) {
    s = branch(indent);
  } else if (try_word("allocate")) {
    s = allocate(indent);
  } else if (try_word("block")) {
    expect(":");
    next_line();
    s = block(children(indent));
  } else if (try_word("together")) {
    expect(":");
    next_line();
    sequence<stmt> const list = children(indent);
    if (list.size() < 2) fail("two statements at least above this");
    stmt_node n;
    n.kind = stmt_kind::together;
    n.children = m_.make_list(list);
    s = m_.make(n);
  } else if (try_word("barrier")) {
    next_line();
    stmt_node n;
    n.kind = stmt_kind::barrier;
    s = m_.make(n);
  } else if (try_word("commit")) {
    next_line();
    s = commit(m_);
  } else if (try_word("wait")) {
    auto const left = static_cast<std::int32_t>(integer(0, most_waiting, "a number of groups"));
    next_line();
    s = wait(m_, left);
  } else if (try_word("async")) {
    stmt_node n = *update(stmt_kind::store);
    n.asynchronous = true;
    s = m_.make(n);
  } else if (try_word("exchange")) {
    s = update(stmt_kind::exchange);
  } else if (try_word("tile")) {
    stmt_node n;
    n.kind = stmt_kind::tile;
    bool found = false;
    for (tile_role r : {tile_role::multiply, tile_role::fill, tile_role::load_a, tile_role::load_b, tile_role::store})
      if (!found && try_word(name(r))) n.role = r, found = true;
    if (!found) fail("multiply, fill, load_a, load_b or store");
    expect("by");
    n.unit = known_.find(a_name("the name of an intrinsic"));
    if (n.unit == nullptr) fail_at(name_at_, "an intrinsic that `parse` was given");
    expect(":");
    next_line();
    n.children = m_.make_list(sequence<stmt>{body(indent)});
    s = m_.make(n);
  } else if (try_word("call")) {
    s = call();
  } else if (try_word("pass")) {
    next_line();
    s = block({});
  } else {
    s = update(try_word("accumulate") ? stmt_kind::accumulate : stmt_kind::store);
  }
  --depth_;
  return s;
}
inline cache_level parser::a_cache() {
  for (cache_level c : {cache_level::l1, cache_level::l2, cache_level::l3, cache_level::once})
    if (try_word(name(c))) return c;
  fail("l1, l2, l3 or once");
}
inline stmt parser::loop(std::int64_t indent) {
  stmt_node n;
  n.kind = stmt_kind::loop;
  n.variable = variable();
  expect("in");
  n.begin = expression();
  expect("..");
  expr const end = expression();
  bool const literals = n.begin->kind == op::literal && end->kind == op::literal;
  if (is_literal(n.begin, 0))
    n.extent = end;
  else if (literals && is_index(n.begin) && is_index(end))
    n.extent = index(m_, apply(op::sub, dtype::i64, end->value, n.begin->value));
  else if (end->kind == op::add && end->a == n.begin)
    n.extent = end->b;
  else
    fail("an end of the form begin + extent before this");
  for (auto k = loop_kind::lane; k != loop_kind::serial; k = static_cast<loop_kind>(static_cast<int>(k) - 1))
    if (n.how == loop_kind::serial && try_word(name(k))) n.how = k;
  skip_spaces();
  if (n.how == loop_kind::parallel && is_digit(peek()))
    n.threads = static_cast<std::int32_t>(integer(1, 1 << 20, "a number of threads"));
  if (try_word("jam")) n.jam = static_cast<std::int32_t>(integer(1, 1 << 20, "a number of a group"));
  sequence<prefetched> ahead;
  while (try_word("prefetch")) {
    buffer const* const b = a_buffer();
    ahead.push_back({b, integer(1, 1 << 20, "a distance")});
    if (try_word("into")) ahead.back().into = a_cache();
    if (try_word("of")) ahead.back().of = variable();
    if (try_word("turn")) ahead.back().turn = variable(), expect("/"), ahead.back().turns = integer(2, 1 << 20, "a number of turns");
  }
  n.ahead = m_.make_list(ahead);
  expect(":");
  next_line();
  n.children = m_.make_list(sequence<stmt>{body(indent)});
  return m_.make(n);
}
inline stmt parser::branch(std::int64_t indent) {
  stmt_node n;
  n.kind = stmt_kind::branch;
  n.value = expression();
  expect(":");
  next_line();
  sequence<stmt> ways{body(indent)};
  if (indent_ == indent && try_word("else")) {
    expect(":");
    next_line();
    ways.push_back(body(indent));
  }
  n.children = m_.make_list(ways);
  return m_.make(n);
}
inline stmt parser::allocate(std::int64_t indent) {
  sequence<buffer const*> list;
  do {
    list.push_back(a_buffer());
    if (++allocated_ > most_allocated) fail("fewer allocations: 2000 inside each other are the limit");
  } while (try_sign(","));
  expect(":");
  next_line();
  stmt s = body(indent);
  for (std::size_t i = list.size(); i-- > 0; --allocated_) {
    stmt_node n;
    n.kind = stmt_kind::allocate;
    n.buf = list[i];
    n.children = m_.make_list(sequence<stmt>{s});
    s = m_.make(n);
  }
  return s;
}
inline stmt parser::call() {
  sequence<buffer const*> written, all;
  do written.push_back(a_buffer());
  while (try_sign(","));
  expect("=");
  extern_function const* const by = known_functions_.find(a_name("the name of a function"));
  if (by == nullptr) fail_at(name_at_, "a function that `parse` was given");
  expect("(");
  do all.push_back(a_buffer());
  while (try_sign(","));
  expect(")");
  for (buffer const* b : written) all.push_back(b);
  auto const number = static_cast<std::int32_t>(integer(0, 1 << 20, "the number of a function"));
  next_line();
  return ir::call(m_, by, number, all);
}
inline stmt parser::update(stmt_kind kind) {
  stmt_node n;
  n.kind = kind;
  n.buf = a_buffer();
  n.indices = m_.make_list(items(nullptr));
  if (kind == stmt_kind::accumulate && try_word("after")) n.before = m_.make_list(items(nullptr));
  std::uint16_t width = n.buf->lanes;
  for (expr i : n.indices)
    if (i->lanes > width) width = i->lanes;
  skip_spaces();
  if (peek(1) == '=') fail("'='");
  expect("=");
  if (kind == stmt_kind::accumulate) target_ = n.buf, target_lanes_ = width;
  n.value = expression();
  target_ = nullptr;
  if (kind == stmt_kind::accumulate) {
    expect("from");
    n.identity = expression();
    expect("first");
    expect("[");
    sequence<std::int32_t> first;
    if (!try_sign("]")) {
      do first.push_back(variable());
      while (try_sign(","));
      expect("]");
    }
    n.first = m_.make_list(first);
  }
  if (kind == stmt_kind::exchange) {
    expect("across");
    n.number = static_cast<std::int32_t>(integer(1, 31, "a distance of threads"));
  } else if (try_word("where")) {
    n.mask = expression();
  }
  next_line();
  return m_.make(n);
}

inline bool parser::is_known(std::string const& name) const {
  auto const same = [&](auto const& s) { return s == name; };
  return find(f_.variables, same) >= 0 || find(f_.sizes, same) >= 0 ||
         find(f_.scalars, [&](scalar_argument const& a) { return a.name == name; }) >= 0;
}
inline void parser::declare() {
  buffer* const b = m_.make_buffer();
  b->name = a_name("a buffer's name");
  if (find(buffers_, [&](buffer* x) { return x->name == b->name; }) >= 0) fail_at(name_at_, "a name that is not taken");
  b->id = static_cast<std::int32_t>(buffers_.size());
  expect(":");
  element_type const t = a_type();
  b->type = t.type;
  b->lanes = t.lanes;
  b->shape = m_.make_list(items(nullptr));
  expect("strides");
  b->strides = m_.make_list(items(nullptr));
  expect("in");
  if (try_word("argument"))
    b->where = scope::argument;
  else if (try_word("heap"))
    b->where = scope::heap;
  else if (try_word("registers"))
    b->where = scope::registers;
  else if (try_word("stack"))
    b->where = scope::stack;
  else if (try_word("kept"))
    b->where = scope::kept;
  else
    fail("argument, heap, registers, stack or kept");
  auto const number = [&](char const* expected) {
    return static_cast<std::int32_t>(integer(-0x7fffffff - 1, 0x7fffffff, expected));
  };
  skip_spaces();
  if (is_digit(peek()) || peek() == '-') b->argument = number("an argument's number");
  if (try_word("of")) {
    b->places = number("a number of threads");
    expect("threads");
  }
  if (b->where == scope::stack && try_word("at")) {
    f_.shared_at.resize(buffers_.size(), -1);
    f_.shared_at.push_back(integer(0, std::int64_t(1) << 32, "a place in shared memory"));
  }
  b->written = try_word("written");
  b->non_temporal = try_word("non_temporal");
  b->swizzled = try_word("swizzled");
  expect("alias");
  b->alias_class = number("a class");
  expect("align");
  b->alignment = number("an alignment");
  buffers_.push_back(b);
  f_.buffers.push_back(b);
}
inline void parser::header() {
  for (;;) {
    bool const sizes = try_word("sizes");
    if (sizes || try_word("variables")) {
      do (sizes ? f_.sizes : f_.variables).push_back(new_name("a name"));
      while (try_sign(","));
    } else if (try_word("scalars")) {
      do {
        std::string const name = new_name("a name");
        expect(":");
        f_.scalars.push_back({name, scalar_type()});
      } while (try_sign(","));
    } else if (try_word("buffer")) {
      declare();
    } else {
      return;
    }
    std::int64_t const indent = indent_;
    next_line();
    if (indent_ >= 0 && indent_ != indent) fail("the indentation of the line above");
  }
}
inline function parser::whole() {
  f_.nodes = &m_;
  start_line();
  if (indent_ > 0) fail("'kernel' at the line's begin");
  expect("kernel");
  f_.name = a_name("the kernel's name");
  expect(":");
  next_line();
  if (indent_ >= 0) {
    if (indent_ == 0) fail("an indented line");
    header();
  }
  if (indent_ >= 0) f_.body = body(0);
  if (indent_ >= 0) fail("the end of the text");
  return static_cast<function&&>(f_);
}
}  // namespace detail

WEFT_DECL function parse(arena& m, std::string_view text, known_intrinsics known, known_functions functions) {
  return detail::parser(m, text, known, functions).whole();
}

}  // namespace ir
}  // namespace weft::inline WEFT_ABI
