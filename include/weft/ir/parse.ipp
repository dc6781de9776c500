#include "weft/ir/parse.hpp"
#include "weft/ir/text_reader.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {
namespace detail {

class parser final : text_reader {
 public:
  parser(arena& m, std::string_view text) : text_reader(text), m_(m) {}
  function whole();

 private:
  static constexpr int deepest = 200, highest_tree = 10000, most_allocated = 2000;

  // --- expressions
  expr make(expr_node const& n);
  expr expression() { return binary(level_any); }
  expr binary(int level);
  infix const* next_infix();
  expr operand();
  expr negative();
  expr number();
  expr word();
  expr call(op kind);
  expr named(std::string const& name);
  expr literal(element_type t, std::int64_t bits) { return ir::literal(m_, t.type, bits, t.lanes); }
  element_type bracketed_type() {
    expect("<");
    element_type const t = a_type();
    expect(">");
    return t;
  }
  std::vector<expr> items(expr* mask);
  void enter() {
    if (++depth_ > deepest) fail("less nesting: 200 levels are the limit");
  }

  // --- statements
  std::vector<stmt> children(std::int64_t outside);
  stmt body(std::int64_t outside);
  stmt statement();
  stmt loop(std::int64_t indent);
  stmt update(stmt_kind kind);
  stmt branch(std::int64_t indent);
  stmt allocate(std::int64_t indent);
  stmt block(std::vector<stmt> const& list) {
    stmt_node n;
    n.children = m_.make_list(list);
    return m_.make(n);
  }
  void header();
  void declare();
  std::int32_t variable();
  buffer* a_buffer();
  template <class List, class Name>
  static int find(List const& list, Name const& is_it) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (is_it(list[i])) return static_cast<int>(i);
    return -1;
  }
  bool is_known(std::string const& name) const;
  std::string new_name(char const* expected) {
    std::string name = a_name(expected);
    if (is_known(name)) fail_at(name_at_, "a name that is not taken");
    return name;
  }

  arena& m_;
  function f_;
  std::vector<buffer*> buffers_;
  std::vector<expr> lets_;             // of the statement that is read
  std::vector<std::uint16_t> height_;  // by expression id
  int depth_ = 0, allocated_ = 0;
  buffer const* target_ = nullptr;  // of the accumulate that is read
  std::uint16_t target_lanes_ = 1;
};

// --- expressions ----------------------------------------------------------------------------------------------

inline expr parser::make(expr_node const& n) {
  int h = 0;
  auto const part = [&](expr e) {
    if (e != nullptr && e->id < height_.size() && height_[e->id] > h) h = height_[e->id];
  };
  for (expr e : {n.a, n.b, n.c}) part(e);
  for (expr e : n.indices) part(e);
  if (h >= highest_tree) fail("a smaller expression: 10000 operations in a row are the limit");
  expr const e = m_.make(n);
  if (height_.size() <= e->id) height_.resize(e->id + 256, 0);
  height_[e->id] = static_cast<std::uint16_t>(h + 1);
  return e;
}
inline infix const* parser::next_infix() {
  std::string_view const word = peek_word();
  for (infix const& i : infixes)
    if (is_letter(i.sign[0]) ? word == i.sign : text_.substr(at_).starts_with(i.sign)) return &i;
  return nullptr;
}
inline expr parser::binary(int level) {
  enter();
  expr left = nullptr;
  if (peek_word() == "not") {
    if (level > level_not) fail("parentheses around 'not ..'");
    at_ += 3;
    left = call(op::logical_not);
  } else {
    left = operand();
  }
  bool compared = false;
  for (infix const* i = next_infix(); i != nullptr && i->level >= level; i = next_infix()) {
    if (compared && i->level == level_comparison) fail("parentheses: comparisons do not chain");
    compared = i->level == level_comparison;
    at_ += i->sign.size();
    expr_node n;
    n.kind = i->kind;
    n.a = left;
    n.b = binary(i->level + 1);
    n.type = compared ? dtype::boolean : left->type;
    n.lanes = left->lanes;
    left = make(n);
  }
  --depth_;
  return left;
}
inline expr parser::operand() {
  enter();
  skip_spaces();
  expr e = nullptr;
  if (try_sign("(")) {
    e = expression();
    expect(")");
  } else if (peek() == '-') {
    e = negative();
  } else if (is_digit(peek())) {
    e = number();
  } else if (try_sign("$")) {
    if (!is_digit(peek()) || lets_.empty()) fail_at(at_ - 1, "an expression, or the let that has this number,");
    e = lets_[static_cast<std::size_t>(
        integer(0, static_cast<std::int64_t>(lets_.size()) - 1, "the number of a let above"))];
  } else {
    e = word();
  }
  --depth_;
  return e;
}
inline expr parser::negative() {
  if (is_digit(peek(1))) return number();
  ++at_;
  if (peek_word() == "inf") {
    expr const e = word();
    return literal({e->type, e->lanes}, e->value | (e->type == dtype::f32 ? 0x80000000LL : lowest));
  }
  expr_node n;
  n.kind = op::neg;
  n.a = operand();
  n.type = n.a->type;
  n.lanes = n.a->lanes;
  return make(n);
}
inline expr parser::number() {
  std::size_t const start = at_, size = number_size(true);
  at_ += size;
  element_type t{dtype::i64, 1};
  if (is_letter(peek())) t = a_type();
  std::size_t const end = at_;
  at_ = start;
  std::int64_t bits = 0;
  switch (t.type) {
    case dtype::u8: bits = from_text<std::uint8_t>(size, 10, "a u8"); break;
    case dtype::i32: bits = from_text<std::int32_t>(size, 10, "an i32"); break;
    case dtype::i64: bits = from_text<std::int64_t>(size, 10, "an i64"); break;
    case dtype::f32: bits = to_bits(from_text<float>(size, 10, "an f32")); break;
    case dtype::f64: bits = to_bits(from_text<double>(size, 10, "an f64")); break;
    case dtype::boolean: fail("true or false");
  }
  at_ = end;
  return literal(t, bits);
}
inline expr parser::named(std::string const& name) {
  expr_node n;
  auto const same = [&](auto const& s) { return s == name; };
  if (int const v = find(f_.variables, same); v >= 0) n.kind = op::axis, n.value = v;
  else if (int const s = find(f_.sizes, same); s >= 0) n.kind = op::extent, n.value = s;
  else if (int const x = find(f_.scalars, [&](auto const& p) { return p.first == name; }); x >= 0)
    n.kind = op::scalar, n.value = x, n.type = f_.scalars[static_cast<std::size_t>(x)].second;
  else fail_at(name_at_, "a variable, size or scalar");
  return make(n);
}
inline expr parser::word() {
  std::string_view const w = peek_word();
  if (w.empty() && peek() != '`') fail("an expression");
  if (w == "inf" || w == "nan") {
    at_ += 3;
    element_type const t = bracketed_type();
    if (!is_float(t.type)) fail("a float type before this");
    std::int64_t const infinity = t.type == dtype::f32 ? 0x7f800000 : 0x7ff0000000000000;
    return literal(t, w == "inf" ? infinity : infinity | infinity >> 1);
  }
  for (std::string_view const truth : {"true", "false"})
    if (is_with_lanes(w, truth)) {
      at_ += truth.size();
      return literal({dtype::boolean, lanes_behind(w.size() - truth.size())}, truth == "true");
    }
  if (w == "bits") {
    at_ += 4;
    element_type const t = bracketed_type();
    expect("(");
    expect("0x");
    std::size_t n = 0;
    while (is_digit(peek(n)) || is_letter(peek(n))) ++n;
    auto const bits = static_cast<std::int64_t>(from_text<std::uint64_t>(n, 16, "up to 16 hexadecimal digits"));
    expect(")");
    return literal(t, bits);
  }
  if (w == "self") {
    at_ += 4;
    if (target_ == nullptr && peek() != '<') fail_at(at_ - 4, "something else outside of an accumulate's value");
    element_type const t = target_ != nullptr ? element_type{target_->type, target_lanes_} : bracketed_type();
    return self(m_, t.type, t.lanes);
  }
  for (op const o : {op::cast, op::bitcast, op::ramp, op::broadcast})
    if (w == name(o)) return at_ += w.size(), call(o);
  for (op const o : calls)
    if (w == name(o)) return at_ += w.size(), call(o);
  std::string const name = a_name("an expression");
  skip_spaces();
  if (peek() != '[') return named(name);
  int const b = find(buffers_, [&](buffer* x) { return x->name == name; });
  if (b < 0) fail_at(name_at_, "a buffer");
  expr_node n;
  n.kind = op::load;
  n.buf = buffers_[static_cast<std::size_t>(b)];
  n.type = n.buf->type;
  n.lanes = n.buf->lanes;
  n.indices = m_.make_list(items(&n.a));
  for (expr i : n.indices)
    if (i->lanes > n.lanes) n.lanes = i->lanes;
  if (n.a != nullptr && n.a->lanes > n.lanes) n.lanes = n.a->lanes;
  return make(n);
}
/// What follows the name of operation `kind`.
inline expr parser::call(op kind) {
  expr_node n;
  n.kind = kind;
  if (kind == op::logical_not) {
    n.a = binary(level_not);
  } else {
    if (kind == op::cast || kind == op::bitcast) {
      expect("<");
      n.type = scalar_type();
      expect(">");
    }
    expect("(");
    n.a = expression();
    if (arity(kind) >= 2) expect(","), n.b = expression();
    if (arity(kind) == 3) expect(","), n.c = expression();
  }
  n.lanes = n.b != nullptr && arity(kind) == 3 ? n.b->lanes : n.a->lanes;
  if (kind == op::ramp) expect(","), n.value = integer(lowest, highest, "a stride");
  if (kind == op::ramp || kind == op::broadcast) expect(","), n.lanes = lanes();
  if (kind != op::logical_not) expect(")");
  if (kind != op::cast && kind != op::bitcast) n.type = arity(kind) == 3 ? n.b->type : n.a->type;
  return make(n);
}
inline std::vector<expr> parser::items(expr* mask) {
  std::vector<expr> list;
  expect("[");
  if (try_sign("]")) return list;
  if (mask == nullptr || peek_word() != "where") do list.push_back(expression());
    while (try_sign(","));
  if (mask != nullptr && try_word("where")) *mask = expression();
  expect("]");
  return list;
}

// --- statements -----------------------------------------------------------------------------------------------

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
inline std::vector<stmt> parser::children(std::int64_t outside) {
  if (indent_ <= outside) fail("an indented statement");
  std::int64_t const own = indent_;
  std::vector<stmt> list;
  while (indent_ == own) list.push_back(statement());
  if (indent_ > outside) fail("the indentation of a line above");
  return list;
}
inline stmt parser::body(std::int64_t outside) {
  std::vector<stmt> const list = children(outside);
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
  } else if (try_word("pass")) {
    next_line();
    s = block({});
  } else {
    s = update(try_word("accumulate") ? stmt_kind::accumulate : stmt_kind::store);
  }
  --depth_;
  return s;
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
  if (is_literal(n.begin, 0)) n.extent = end;
  else if (literals && is_index(n.begin) && is_index(end))
    n.extent = index(m_, apply(op::sub, dtype::i64, end->value, n.begin->value));
  else if (end->kind == op::add && end->a == n.begin) n.extent = end->b;
  else fail("an end of the form begin + extent before this");
  for (loop_kind const k : {loop_kind::unrolled, loop_kind::vectorized, loop_kind::parallel})
    if (n.how == loop_kind::serial && try_word(name(k))) n.how = k;
  expect(":");
  next_line();
  n.children = m_.make_list(std::vector<stmt>{body(indent)});
  return m_.make(n);
}
inline stmt parser::branch(std::int64_t indent) {
  stmt_node n;
  n.kind = stmt_kind::branch;
  n.value = expression();
  expect(":");
  next_line();
  std::vector<stmt> ways{body(indent)};
  if (indent_ == indent && try_word("else")) {
    expect(":");
    next_line();
    ways.push_back(body(indent));
  }
  n.children = m_.make_list(ways);
  return m_.make(n);
}
inline stmt parser::allocate(std::int64_t indent) {
  std::vector<buffer const*> list;
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
    n.children = m_.make_list(std::vector<stmt>{s});
    s = m_.make(n);
  }
  return s;
}
inline stmt parser::update(stmt_kind kind) {
  stmt_node n;
  n.kind = kind;
  n.buf = a_buffer();
  n.indices = m_.make_list(items(nullptr));
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
    std::vector<std::int32_t> first;
    if (!try_sign("]")) {
      do first.push_back(variable());
      while (try_sign(","));
      expect("]");
    }
    n.first = m_.make_list(first);
  }
  if (try_word("where")) n.mask = expression();
  next_line();
  return m_.make(n);
}

inline bool parser::is_known(std::string const& name) const {
  auto const same = [&](auto const& s) { return s == name; };
  return find(f_.variables, same) >= 0 || find(f_.sizes, same) >= 0 ||
         find(f_.scalars, [&](auto const& p) { return p.first == name; }) >= 0;
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
  if (try_word("argument")) b->where = scope::argument;
  else if (try_word("heap")) b->where = scope::heap;
  else if (try_word("registers")) b->where = scope::registers;
  else fail("argument, heap or registers");
  auto const number = [&](char const* expected) {
    return static_cast<std::int32_t>(integer(-0x7fffffff - 1, 0x7fffffff, expected));
  };
  skip_spaces();
  if (is_digit(peek()) || peek() == '-') b->argument = number("an argument's number");
  b->written = try_word("written");
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

WEFT_DECL function parse(arena& m, std::string_view text) { return detail::parser(m, text).whole(); }

}  // namespace ir
}  // namespace weft::inline WEFT_ABI
