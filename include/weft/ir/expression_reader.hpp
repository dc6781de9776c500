// The expressions in the text of a loop program. For parse.ipp only.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/ir/ir.hpp"
#include "weft/ir/text_reader.hpp"

namespace weft::inline WEFT_ABI {
namespace ir::detail {

/// Expressions over what the header named.
class expression_reader : protected text_reader {
 protected:
  expression_reader(arena& m, std::string_view text, known_intrinsics known) : text_reader(text), m_(m), known_(known) {}
  expr expression() { return binary(level_any); }
  /// [a, b, c where mask]; without `mask` there is none.
  sequence<expr> items(expr* mask);
  void enter() {
    if (++depth_ > deepest) fail("less nesting: 200 levels are the limit");
  }
  template <class List, class Name>
  static int find(List const& list, Name const& is_it) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (is_it(list[i])) return static_cast<int>(i);
    return -1;
  }

  arena& m_;
  known_intrinsics known_;
  function f_;
  sequence<buffer*> buffers_;
  sequence<expr> lets_;  // of the statement that is read
  int depth_ = 0;
  buffer const* target_ = nullptr;  // of the accumulate whose value is read
  std::uint16_t target_lanes_ = 1;

 private:
  static constexpr int deepest = 200, highest_tree = 10000;
  expr make(expr_node const& n);
  expr binary(int level);
  infix const* next_infix();
  expr operand();
  expr negative();
  expr number();
  expr word();
  expr bits();
  expr load(std::string const& name);
  expr call(op kind);
  expr instruction();
  expr named(std::string const& name);
  expr literal(element_type t, std::int64_t bits) { return ir::literal(m_, t.type, bits, t.lanes); }
  element_type bracketed_type() {
    expect("<");
    element_type const t = a_type();
    expect(">");
    return t;
  }

  sequence<std::uint16_t> height_;  // by expression id
};

inline expr expression_reader::make(expr_node const& n) {
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
inline infix const* expression_reader::next_infix() {
  std::string_view const word = peek_word();
  for (infix const& i : infixes)
    if (is_letter(i.sign[0]) ? word == i.sign : text_.substr(at_).starts_with(i.sign)) return &i;
  return nullptr;
}
inline expr expression_reader::binary(int level) {
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
inline expr expression_reader::operand() {
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
inline expr expression_reader::negative() {
  if (is_digit(peek(1))) return number();
  ++at_;
  if (peek_word() == "inf") {
    expr const e = word();
    return literal({e->type, e->lanes}, e->value | sign_bit(e->type));
  }
  expr_node n;
  n.kind = op::neg;
  n.a = operand();
  n.type = n.a->type;
  n.lanes = n.a->lanes;
  return make(n);
}
inline expr expression_reader::number() {
  std::size_t const start = at_, size = number_size(true);
  at_ += size;
  element_type t{dtype::i64, 1};
  if (is_letter(peek())) t = a_type();
  std::size_t const end = at_;
  at_ = start;
  if (t.type == dtype::boolean) fail("true or false");
  char const first = name(t.type)[0];
  std::string const expected = (first == 'i' || first == 'f' ? "an " : "a ") + std::string(name(t.type));
  std::int64_t bits = 0;
  if (t.type == dtype::f64)
    bits = to_bits(from_text<double>(size, 10, expected.c_str()));
  else if (is_float(t.type))
    bits = weft::detail::from_f32(t.type, from_text<float>(size, 10, expected.c_str()));
  else if (t.type == dtype::u64)
    bits = to_bits(from_text<std::uint64_t>(size, 10, expected.c_str()));
  else
    bits = from_text<std::int64_t>(size, 10, expected.c_str());
  if (!is_element(t.type, bits)) fail_at(start, expected);
  at_ = end;
  return literal(t, bits);
}
inline expr expression_reader::named(std::string const& name) {
  expr_node n;
  auto const same = [&](auto const& s) { return s == name; };
  if (int const v = find(f_.variables, same); v >= 0)
    n.kind = op::axis, n.value = v;
  else if (int const s = find(f_.sizes, same); s >= 0)
    n.kind = op::extent, n.value = s;
  else if (int const x = find(f_.scalars, [&](scalar_argument const& a) { return a.name == name; }); x >= 0)
    n.kind = op::scalar, n.value = x, n.type = f_.scalars[static_cast<std::size_t>(x)].type;
  else
    fail_at(name_at_, "a variable, size or scalar");
  return make(n);
}
inline expr expression_reader::word() {
  std::string_view const w = peek_word();
  if (w.empty() && peek() != '`') fail("an expression");
  if (w == "inf" || w == "nan") {
    at_ += 3;
    element_type const t = bracketed_type();
    if (!is_float(t.type)) fail("a float type before this");
    std::int64_t const infinity = infinity_bits(t.type);
    return literal(t, w == "inf" ? infinity : infinity | infinity >> 1);
  }
  for (std::string_view const truth : {"true", "false"})
    if (is_with_lanes(w, truth)) {
      at_ += truth.size();
      return literal({dtype::boolean, lanes_behind(w.size() - truth.size())}, truth == "true");
    }
  if (w == "bits") return bits();
  if (w == "self") {
    at_ += 4;
    if (target_ == nullptr && peek() != '<') fail_at(at_ - 4, "something else outside of an accumulate's value");
    element_type const t = peek() == '<' ? bracketed_type() : element_type{target_->type, target_lanes_};
    std::int64_t which = 0;
    if (try_sign("(")) {
      which = integer(0, 1000, "the number of a statement");
      expect(")");
    }
    return self(m_, t.type, t.lanes, which);
  }
  if (w == name(op::instruction)) return at_ += w.size(), instruction();
  for (op const o : {op::cast, op::bitcast, op::ramp, op::broadcast})
    if (w == name(o)) return at_ += w.size(), call(o);
  for (op const o : calls)
    if (w == name(o)) return at_ += w.size(), call(o);
  std::string const name = a_name("an expression");
  skip_spaces();
  return peek() == '[' ? load(name) : named(name);
}
inline expr expression_reader::bits() {
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
inline expr expression_reader::load(std::string const& name) {
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
inline expr expression_reader::call(op kind) {
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
inline expr expression_reader::instruction() {
  expr_node n;
  n.kind = op::instruction;
  expect("(");
  n.by = known_.find(a_name("the name of an intrinsic"));
  if (n.by == nullptr) fail_at(name_at_, "an intrinsic that `parse` was given");
  expect(",");
  n.a = expression();
  expect(",");
  n.indices = m_.make_list(items(nullptr));
  expect(")");
  n.type = n.a->type;
  n.lanes = n.a->lanes;
  return make(n);
}
inline sequence<expr> expression_reader::items(expr* mask) {
  sequence<expr> list;
  expect("[");
  if (try_sign("]")) return list;
  if (mask == nullptr || peek_word() != "where") do
      list.push_back(expression());
    while (try_sign(","));
  if (mask != nullptr && try_word("where")) *mask = expression();
  expect("]");
  return list;
}

}  // namespace ir::detail
}  // namespace weft::inline WEFT_ABI
