#include "weft/base/joined.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/text_writer.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {
namespace detail {

class printer {
 public:
  explicit printer(function const& f, sequence<stmt_line>* lines = nullptr) : f_(f), lines_(lines) {}
  std::string whole();
  std::string one(stmt s) {
    statement(s);
    return static_cast<std::string&&>(out_);
  }
  std::string one(expr e) {
    begin_line({e});
    put(e);
    return static_cast<std::string&&>(out_);
  }

 private:
  struct note {
    std::uint32_t stamp = 0, uses = 0, size = 0, height = 0;
    int let = -1;
  };
  // A part gets a `let` when it would be repeated and is at least this big, or when it nests this deep: the
  // parser takes 200 levels, of which one node may cost three.
  static constexpr std::uint32_t shared_size = 12, deepest = 32;

  note& at(expr e) {
    if (notes_.size() <= e->id) notes_.resize(e->id + 256);
    return notes_[e->id];
  }
  void count(expr e, sequence<expr>& order);
  void weigh(expr e);
  void begin_line(sequence<expr> const& roots);
  void end_line(char const* end = "") { out_ += end, out_ += '\n'; }

  void put(expr e, int level = level_any);
  void bare(expr e);
  void arguments(std::initializer_list<expr> list);
  void items(list<expr> const& l, expr mask = nullptr);
  template <class List>
  void name_at(List const& l, std::int64_t i) {
    if (i >= 0 && static_cast<std::size_t>(i) < l.size())
      out_ += name_text(l[static_cast<std::size_t>(i)]);
    else
      out_ += "?" + std::to_string(i);
  }
  void put(buffer const* b) { out_ += b == nullptr ? "?" : name_text(b->name); }
  void declare(buffer const* b);
  void statement(stmt s);
  void body(stmt s);
  void indented(stmt s) {
    indent_ += "  ";
    body(s);
    indent_.resize(indent_.size() - 2);
  }
  void loop(stmt s);
  void update(stmt s);
  void call(stmt s);
  /// Of the first of several that are together, in the value of another one that has another type.
  bool is_of_another(expr self) const {
    return current_ != nullptr && current_->kind == stmt_kind::accumulate && current_->buf != nullptr &&
           self->type != current_->buf->type;
  }

  function const& f_;
  sequence<stmt_line>* lines_;
  stmt current_ = nullptr;
  std::size_t counted_ = 0;  // characters whose newlines are in line_
  std::int32_t line_ = 1;
  std::string out_, indent_;
  sequence<note> notes_;  // by expression id
  std::uint32_t stamp_ = 0;
  bool in_let_ = false;
};

inline void printer::count(expr e, sequence<expr>& order) {
  if (e == nullptr) return;
  if (at(e).stamp == stamp_) {
    ++at(e).uses;
    return;
  }
  at(e) = note{stamp_, 1};
  for (expr i : e->indices) count(i, order);
  for (expr x : {e->a, e->b, e->c}) count(x, order);
  order.push_back(e);
}
/// How big and how deep the text of `e` is, its parts being known.
inline void printer::weigh(expr e) {
  note n = at(e);
  n.size = 1;
  auto const part = [&](expr x) {
    if (x == nullptr) return;
    bool const named = at(x).let >= 0;
    n.size += named ? 1 : at(x).size;
    if (!named && at(x).height + 1 > n.height) n.height = at(x).height + 1;
  };
  for (expr i : e->indices) part(i);
  for (expr x : {e->a, e->b, e->c}) part(x);
  at(e) = n;
}
/// Decides what of these expressions gets a `let`, prints those lines, and begins the statement's own.
inline void printer::begin_line(sequence<expr> const& roots) {
  ++stamp_;
  sequence<expr> order;
  for (expr r : roots) count(r, order);
  int lets = 0;
  for (expr e : order) {
    weigh(e);
    if ((at(e).uses < 2 || at(e).size < shared_size) && at(e).height < deepest) continue;
    out_ += joined({indent_, "let $", std::to_string(lets), " = "});
    in_let_ = true;
    bare(e);
    in_let_ = false;
    end_line();
    at(e).let = lets++;
  }
  out_ += indent_;
  if (lines_ == nullptr || current_ == nullptr) return;
  for (; counted_ < out_.size(); ++counted_) line_ += out_[counted_] == '\n';
  lines_->push_back({current_, line_});
}

inline void printer::put(expr e, int level) {
  if (e == nullptr) {
    out_ += '?';
    return;
  }
  if (at(e).stamp == stamp_ && at(e).let >= 0) {
    out_ += '$' + std::to_string(at(e).let);
    return;
  }
  infix const* const i = infix_of(e->kind);
  int const own = i != nullptr                 ? i->level
                  : e->kind == op::logical_not ? level_not
                  : e->kind == op::neg         ? level_prefix
                                               : level_primary;
  if (own < level) out_ += '(';
  bare(e);
  if (own < level) out_ += ')';
}
inline void printer::bare(expr e) {
  switch (e->kind) {
    case op::literal: out_ += literal_text(e->type, e->value, e->lanes); return;
    case op::extent: return name_at(f_.sizes, e->value);
    case op::axis: return name_at(f_.variables, e->value);
    case op::scalar:
      if (e->value < 0 || static_cast<std::size_t>(e->value) >= f_.scalars.size())
        out_ += '?';
      else
        out_ += name_text(f_.scalars[static_cast<std::size_t>(e->value)].name);
      return;
    case op::load: put(e->buf); return items(e->indices, e->a);
    case op::self:
      out_ += "self";
      if (in_let_ || e->value != 0 || is_of_another(e)) out_ += joined({"<", type_text(e->type, e->lanes), ">"});
      if (e->value != 0) out_ += joined({"(", std::to_string(e->value), ")"});
      return;
    case op::ramp:
    case op::broadcast:
      out_ += joined({name(e->kind), "("});
      put(e->a);
      if (e->kind == op::ramp) out_ += ", " + std::to_string(e->value);
      out_ += joined({", ", std::to_string(e->lanes), ")"});
      return;
    case op::instruction:
      out_ += joined({name(e->kind), "(", name_text(std::string(e->by->name)), ", "});
      put(e->a);
      out_ += ", ";
      items(e->indices);
      out_ += ')';
      return;
    case op::neg: {
      bool const number = e->a != nullptr && e->a->kind == op::literal;  // -5 is a literal, -(5) its negation
      out_ += number ? "-(" : "-";
      put(e->a, level_primary);
      if (number) out_ += ')';
      return;
    }
    case op::logical_not: out_ += "not "; return put(e->a, level_not);
    case op::cast:
    case op::bitcast:
      out_ += joined({name(e->kind), "<", name(e->type), ">"});
      return arguments({e->a});
    default: break;
  }
  if (infix const* const i = infix_of(e->kind)) {
    put(e->a, i->level + (i->level == level_comparison));
    (out_ += ' ').append(i->sign) += ' ';
    return put(e->b, i->level + 1);
  }
  out_ += name(e->kind);
  if (arity(e->kind) == 1)
    arguments({e->a});
  else if (arity(e->kind) == 2)
    arguments({e->a, e->b});
  else
    arguments({e->a, e->b, e->c});
}
inline void printer::arguments(std::initializer_list<expr> list) {
  char const* before = "(";
  for (expr e : list) {
    out_ += before;
    put(e);
    before = ", ";
  }
  out_ += ')';
}
inline void printer::items(list<expr> const& l, expr mask) {
  out_ += '[';
  for (std::uint32_t i = 0; i < l.size(); ++i) {
    if (i > 0) out_ += ", ";
    put(l[i]);
  }
  if (mask != nullptr) {
    out_ += l.size() > 0 ? " where " : "where ";
    put(mask);
  }
  out_ += ']';
}

inline void printer::body(stmt s) {
  if (s == nullptr || s->kind != stmt_kind::block || s->children.size() < 2) return statement(s);
  for (stmt c : s->children) statement(c);
}
inline void printer::loop(stmt s) {
  begin_line({s->begin, s->extent});
  out_ += "for ";
  name_at(f_.variables, s->variable);
  out_ += " in ";
  put(s->begin);
  out_ += "..";
  bool const numbers = s->begin != nullptr && s->extent != nullptr && s->begin->kind == op::literal &&
                       s->extent->kind == op::literal && is_index(s->begin) && is_index(s->extent);
  if (numbers) {
    out_ += std::to_string(apply(op::add, dtype::i64, s->begin->value, s->extent->value));
  } else {
    bool const from_zero = s->begin != nullptr && is_literal(s->begin, 0);
    if (!from_zero) {
      put(s->begin, infix_of(op::add)->level);
      out_ += " + ";
    }
    put(s->extent, from_zero ? level_any : infix_of(op::add)->level + 1);
  }
  if (s->how != loop_kind::serial) (out_ += ' ') += name(s->how);
  if (s->threads > 0) (out_ += ' ') += std::to_string(s->threads);
  if (s->jam > 0) out_ += " jam " + std::to_string(s->jam);
  for (prefetched const& p : s->ahead) {
    out_ += " prefetch ";
    put(p.buf);
    (out_ += ' ') += std::to_string(p.distance);
    if (p.into != cache_level::l1) (out_ += " into ") += name(p.into);
    if (p.of >= 0) (out_ += " of ") += f_.variables[static_cast<std::size_t>(p.of)];
    if (p.turn >= 0) out_ += joined({" turn ", f_.variables[static_cast<std::size_t>(p.turn)], " / ", std::to_string(p.turns)});
  }
  end_line(":");
  indented(s->children.size() > 0 ? s->children[0] : nullptr);
}
inline void printer::update(stmt s) {
  sequence<expr> roots(s->indices.begin(), s->indices.end());
  for (expr e : s->before) roots.push_back(e);
  for (expr e : {s->value, s->identity, s->mask}) roots.push_back(e);
  begin_line(roots);
  if (s->kind == stmt_kind::accumulate) out_ += "accumulate ";
  if (s->kind == stmt_kind::exchange) out_ += "exchange ";
  if (s->asynchronous) out_ += "async ";
  put(s->buf);
  items(s->indices);
  if (s->before.size() > 0) {
    out_ += " after ";
    items(s->before);
  }
  out_ += " = ";
  put(s->value);
  if (s->kind == stmt_kind::accumulate) {
    out_ += " from ";
    put(s->identity);
    out_ += " first [";
    for (std::uint32_t i = 0; i < s->first.size(); ++i) {
      if (i > 0) out_ += ", ";
      name_at(f_.variables, s->first[i]);
    }
    out_ += ']';
  }
  if (s->kind == stmt_kind::exchange) out_ += " across " + std::to_string(s->number);
  if (s->mask != nullptr) {
    out_ += " where ";
    put(s->mask);
  }
  end_line();
}
/// Results first, as in a store.
inline void printer::call(stmt s) {
  begin_line({});
  std::uint32_t const all = s->buffers.size(), wanted = s->by != nullptr ? static_cast<std::uint32_t>(s->by->reads) : all;
  std::uint32_t const reads = wanted < all ? wanted : all;
  auto const buffers = [&](std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i) {
      if (i > from) out_ += ", ";
      put(s->buffers[i]);
    }
  };
  out_ += "call ";
  buffers(reads, all);
  out_ += joined({" = ", s->by != nullptr ? name_text(std::string(s->by->name)) : "?", "("});
  buffers(0, reads);
  out_ += ") " + std::to_string(s->number);
  end_line();
}
inline void printer::statement(stmt s) {
  if (s == nullptr) {
    out_ += indent_ + "?\n";
    return;
  }
  current_ = s;
  switch (s->kind) {
    case stmt_kind::loop: return loop(s);
    case stmt_kind::store:
    case stmt_kind::accumulate:
    case stmt_kind::exchange: return update(s);
    case stmt_kind::block:
    case stmt_kind::together:
      out_ += indent_ + (s->kind == stmt_kind::together ? "together:\n" : s->children.size() == 0 ? "pass\n" : "block:\n");
      indent_ += "  ";
      for (stmt c : s->children) statement(c);
      indent_.resize(indent_.size() - 2);
      return;
    case stmt_kind::branch:
      begin_line({s->value});
      out_ += "if ";
      put(s->value);
      end_line(":");
      indented(s->children.size() > 0 ? s->children[0] : nullptr);
      if (s->children.size() < 2) return;
      out_ += indent_ + "else:\n";
      return indented(s->children[1]);
    case stmt_kind::barrier: out_ += indent_ + "barrier\n"; return;
    case stmt_kind::commit: out_ += indent_ + "commit\n"; return;
    case stmt_kind::wait: out_ += indent_ + "wait " + std::to_string(s->number) + "\n"; return;
    case stmt_kind::tile:
      out_ += indent_ + joined({"tile ", name(s->role), " by ", s->unit != nullptr ? s->unit->name : "?", ":\n"});
      return indented(s->children.size() > 0 ? s->children[0] : nullptr);
    case stmt_kind::call: return call(s);
    case stmt_kind::allocate: break;
  }
  out_ += indent_ + "allocate ";
  put(s->buf);
  stmt inside = s->children.size() > 0 ? s->children[0] : nullptr;
  // A register tile is dozens of them, one in the other.
  for (; inside != nullptr && inside->kind == stmt_kind::allocate && inside->children.size() > 0;
       inside = inside->children[0]) {
    out_ += ", ";
    put(inside->buf);
  }
  end_line(":");
  indented(inside);
}

inline void printer::declare(buffer const* b) {
  ++stamp_;
  constexpr char const* scopes[] = {"argument", "heap", "registers", "stack", "kept"};
  out_ += "  buffer ";
  put(b);
  if (b == nullptr) return end_line();
  out_ += ": " + type_text(b->type, b->lanes);
  items(b->shape);
  out_ += " strides ";
  items(b->strides);
  (out_ += " in ") += scopes[static_cast<int>(b->where)];
  if (b->argument != -1) out_ += " " + std::to_string(b->argument);
  if (b->places != 0) out_ += joined({" of ", std::to_string(b->places), " threads"});
  if (f_.shared_place(b) >= 0) out_ += " at " + std::to_string(f_.shared_place(b));
  if (b->written) out_ += " written";
  if (b->non_temporal) out_ += " non_temporal";
  if (b->swizzled) out_ += " swizzled";
  out_ += joined({" alias ", std::to_string(b->alias_class), " align ", std::to_string(b->alignment)});
  end_line();
}
inline std::string printer::whole() {
  auto const heading = [&](char const* what, std::size_t n, auto const& item) {
    for (std::size_t i = 0; i < n; ++i) {
      out_ += i == 0 ? joined({"  ", what, " "}) : ", ";
      item(i);
    }
    if (n > 0) out_ += '\n';
  };
  out_ = joined({"kernel ", name_text(f_.name), ":\n"});
  heading("sizes", f_.sizes.size(), [&](std::size_t i) { out_ += name_text(f_.sizes[i]); });
  heading("scalars", f_.scalars.size(), [&](std::size_t i) {
    out_ += joined({name_text(f_.scalars[i].name), ": ", name(f_.scalars[i].type)});
  });
  heading("variables", f_.variables.size(), [&](std::size_t i) { out_ += name_text(f_.variables[i]); });
  for (buffer const* b : f_.buffers) declare(b);
  if (f_.body != nullptr) indented(f_.body);
  return static_cast<std::string&&>(out_);
}
}  // namespace detail

WEFT_DECL std::string print(function const& f) { return detail::printer(f).whole(); }
WEFT_DECL std::string print(function const& f, sequence<stmt_line>& lines) { return detail::printer(f, &lines).whole(); }
WEFT_DECL std::string print(stmt s, function const& f) { return detail::printer(f).one(s); }
WEFT_DECL std::string print(expr e, function const& f) { return detail::printer(f).one(e); }

}  // namespace ir
}  // namespace weft::inline WEFT_ABI
