#include <cstdio>
#include <cstdlib>

#include "weft/base/joined.hpp"
#include "weft/expr/formula.hpp"
#include "weft/expr/text.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// As few digits as give the number back, with a point in every locale.
inline std::string shortest(dtype type, std::int64_t bits) {
  double const value = from_bits<double>(converted(type, dtype::f64, bits));
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (converted(dtype::f64, type, to_bits(std::strtod(text, nullptr))) == bits) break;
  }
  for (char& c : text)
    if (c == ',') c = '.';
  return text;
}
WEFT_DECL std::string literal_text(dtype type, std::int64_t bits) {
  if (type == dtype::boolean) return bits != 0 ? "true" : "false";
  if (type == dtype::u64) return std::to_string(static_cast<std::uint64_t>(bits));
  return is_float(type) ? shortest(type, bits) : std::to_string(bits);
}

/// Infix notation with as few parentheses as C++ would need; stops growing when the line is full.
class infix {
 public:
  /// `stage`: whose body it is; null of an extent.
  infix(program const& p, stage_info const* stage)
      : p_(p), stage_(stage), first_axis_(stage != nullptr ? stage->first_axis : 0) {}
  static constexpr std::size_t full = 160;

  std::string text(int id) {
    write(id, 0);
    if (out_.size() > full) out_.resize(full - 3), out_ += "...";
    return out_;
  }

 private:
  struct symbol {
    char const* text;
    int binds;  // 0: written as a call
  };
  static symbol symbol_of(op o) {
    switch (o) {
      case op::logical_or: return {" || ", 1};
      case op::logical_and: return {" && ", 2};
      case op::bit_or: return {" | ", 3};
      case op::bit_xor: return {" ^ ", 4};
      case op::bit_and: return {" & ", 5};
      case op::eq: return {" == ", 6};
      case op::ne: return {" != ", 6};
      case op::lt: return {" < ", 7};
      case op::le: return {" <= ", 7};
      case op::shl: return {" << ", 8};
      case op::shr: return {" >> ", 8};
      case op::add: return {" + ", 9};
      case op::sub: return {" - ", 9};
      case op::mul: return {" * ", 10};
      case op::div:
      case op::floor_div: return {" / ", 10};
      case op::rem:
      case op::floor_mod: return {" % ", 10};
      default: return {"", 0};
    }
  }
  void write(int id, int around) {
    if (out_.size() > full) return;
    node const& n = p_.at(id);
    symbol const s = symbol_of(n.kind);
    if (s.binds > 0) {
      bool const parentheses = s.binds < around;
      if (parentheses) out_ += '(';
      write(n.a, is_comparison(n.kind) ? s.binds + 1 : s.binds);
      out_ += s.text;
      write(n.b, s.binds + 1);
      if (parentheses) out_ += ')';
      return;
    }
    switch (n.kind) {
      case op::literal: out_ += literal_text(n.type, n.value); return;
      case op::extent: out_ += joined({tensor_text(p_, n.a), ".extent(", std::to_string(n.b), ")"}); return;
      case op::scalar: out_ += joined({"s", std::to_string(n.a)}); return;
      case op::axis: out_ += axis_name(n.a - first_axis_).view(); return;
      case op::self: return element_so_far(stage_->tensor + n.a);
      case op::load: return list(tensor_text(p_, n.a) + "[", n.b, n.c, "]");
      case op::neg:
      case op::logical_not: {
        out_ += n.kind == op::neg ? "-" : "!";
        return write(n.a, 11);
      }
      case op::cast: out_ += name(n.type); break;
      case op::bitcast: (out_ += "bits_as_") += name(n.type); break;
      default: out_ += name(n.kind);
    }
    out_ += '(';
    write(n.a, 0);
    for (int o : {n.b, n.c})
      if (o >= 0) out_ += ", ", write(o, 0);
    out_ += ')';
  }
  /// Of a scan, the one before.
  void element_so_far(int tensor) {
    out_ += element_text(p_, tensor);
    if (stage_->scanned < 0) return;
    std::size_t place = out_.size() - 1;  // of the bracket, and of the commas in front of it
    for (int d = stage_->spatial; --d > stage_->scanned;) place = out_.rfind(',', place - 1);
    out_.insert(place, joined({stage_->backwards ? " + 1" : " - 1"}));
  }
  void list(std::string const& open, int first, int count, char const* close) {
    out_ += open;
    for (int d = 0; d < count; ++d) {
      if (d > 0) out_ += ", ";
      write(program::at(p_.operands, first + d), 0);
    }
    out_ += close;
  }

  program const& p_;
  stage_info const* stage_;
  int first_axis_;
  std::string out_;
};

WEFT_DECL std::string tensor_text(program const& p, int tensor) {
  std::string_view const wanted = program::at(p.tensors, tensor).name.view();
  for (std::size_t t = 0; t < p.tensors.size(); ++t)
    if (p.tensors[t].name.view() == wanted && static_cast<int>(t) != tensor) return "@" + std::to_string(tensor);
  return quoted(wanted);
}
WEFT_DECL std::string expression_text(program const& p, int id) { return infix(p, nullptr).text(id); }
WEFT_DECL std::string element_text(program const& p, int tensor) {
  std::string out = tensor_text(p, tensor) + "[";
  for (int i = 0; i < program::at(p.tensors, tensor).rank; ++i) (out += i > 0 ? ", " : "") += axis_name(i).view();
  return out + "]";
}

/// A body as one operation on the value so far and a term without it.
struct reduction_form {
  op combine = op::literal;  // add, mul, min or max; literal: of another form
  std::string term;
};
inline bool reads_self(program const& p, int id) {
  sequence<bool> used(static_cast<std::size_t>(id) + 1, false);
  used[static_cast<std::size_t>(id)] = true;
  for (int i = id; i >= 0; --i) {
    node const& n = p.at(i);
    if (!used[static_cast<std::size_t>(i)]) continue;
    if (n.kind == op::self) return true;
    if (arity(n.kind) > 0)
      for (int o : {n.a, n.b, n.c})
        if (o >= 0) used[static_cast<std::size_t>(o)] = true;
  }
  return false;
}
inline reduction_form form_of(program const& p, stage_info const& s, int result) {
  int body = p.result(s, result).body;
  auto const text = [&](int id) { return infix(p, &s).text(id); };
  if (s.results > 1 || s.scanned >= 0) return {op::literal, text(body)};
  auto const is_self = [&](int id) { return id >= 0 && p.at(id).kind == op::self; };
  std::string where;
  for (; p.at(body).kind == op::select && is_self(p.at(body).c) && !reads_self(p, p.at(body).a); body = p.at(body).b)
    where += (where.empty() ? " where " : ", ") + text(p.at(body).a);
  node const& n = p.at(body);
  bool const known = n.kind == op::add || n.kind == op::mul || n.kind == op::min || n.kind == op::max;
  if (known && is_self(n.a) && !reads_self(p, n.b)) return {n.kind, text(n.b) + where};
  // A sum of products whose rounding was joined (expand.hpp).
  if (n.kind == op::fma && is_self(n.c) && !reads_self(p, n.a) && !reads_self(p, n.b)) {
    program product = p;
    return {op::add, infix(product, &s).text(product.operation(op::mul, n.type, n.a, n.b)) + where};
  }
  return {op::literal, text(body) + where};
}
inline reduction_form form_of(program const& p, stage_info const& s) {
  reduction_form f = form_of(p, s, 0);
  for (int r = 1; r < s.results; ++r) f.term += ", " + form_of(p, s, r).term;
  return f;
}
WEFT_DECL std::string elements_text(program const& p, int stage) {
  stage_info const& s = program::at(p.stages, stage);
  std::string out = element_text(p, s.tensor);
  for (int r = 1; r < s.results; ++r) out += ", " + element_text(p, s.tensor + r);
  return out;
}
/// `my_fft(A, S)` of a stage that a function computes.
inline std::string call_text(program const& p, stage_info const& s) {
  std::string out = quoted(s.by->name), between = "(";
  each_whole_read(p, s, [&](int t) { out += between + tensor_text(p, t), between = ", "; });
  return out + ")";
}
WEFT_DECL std::string update_text(program const& p, int stage) {
  stage_info const& s = program::at(p.stages, stage);
  if (s.by != nullptr) return " = " + call_text(p, s);
  reduction_form const f = form_of(p, s);
  if (s.reduced == 0) return " = " + f.term;
  switch (f.combine) {
    case op::add: return " += " + f.term;
    case op::mul: return " *= " + f.term;
    case op::min: return " min= " + f.term;
    case op::max: return " max= " + f.term;
    default: return " = " + f.term;
  }
}
}  // namespace detail

WEFT_DECL std::string formula(program const& p, int stage) {
  stage_info const& s = program::at(p.stages, stage);
  if (s.by != nullptr) return detail::elements_text(p, stage) + " = " + detail::call_text(p, s);
  detail::reduction_form const f = detail::form_of(p, s);
  std::string out = detail::elements_text(p, stage) + " = ";
  if (s.reduced > 0) {
    switch (f.combine) {
      case op::add: out += "sum"; break;
      case op::mul: out += "product"; break;
      case op::min:
      case op::max: out += name(f.combine); break;
      default: out += "reduction";
    }
    out += " over ";
    for (int i = s.spatial; i < s.axes(); ++i) {
      axis_info const& a = program::at(p.axes, s.first_axis + i);
      ((out += i > s.spatial ? ", " : "") += axis_name(i).view()) += " < ";
      out += detail::expression_text(p, a.extent);
    }
    for (int r = 0; r < s.results && f.combine == op::literal; ++r)
      out += (r > 0 ? ", " : " from ") +
             detail::literal_text(program::at(p.tensors, s.tensor + r).type, p.result(s, r).identity);
    out += " of ";
  }
  out += f.term;
  for (int r = 0; r < s.results && s.scanned >= 0; ++r)
    out += (r > 0 ? ", " : " from ") +
           detail::literal_text(program::at(p.tensors, s.tensor + r).type, p.result(s, r).identity);
  if (out.size() > detail::infix::full) out.resize(detail::infix::full - 3), out += "...";
  return out;
}

}  // namespace weft::inline WEFT_ABI
