#include <cstdio>
#include <cstdlib>

#include "weft/base/identifier.hpp"
#include "weft/base/joined.hpp"
#include "weft/expr/canonical.hpp"
#include "weft/expr/compute.hpp"  // identities of reductions
#include "weft/expr/print_what.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline bool is_equal(program const& p, node const& a, node const& b) {
  if (a.kind != b.kind || a.type != b.type || a.a != b.a || a.value != b.value) return false;
  if (a.kind != op::load) return a.b == b.b && a.c == b.c;
  bool equal = a.c == b.c;
  for (int i = 0; equal && i < a.c; ++i) equal = program::at(p.operands, a.b + i) == program::at(p.operands, b.b + i);
  return equal;
}

/// A number as C++ writes it. `typed`: it has just this type; else one of an integer type may be an int.
inline std::string number_text(dtype type, std::int64_t bits, bool typed) {
  if (type == dtype::boolean) return bits != 0 ? "true" : "false";
  if (type == dtype::u64 || type == dtype::u32) return std::to_string(static_cast<std::uint64_t>(bits)) + (type == dtype::u64 ? "ULL" : "u");
  if (!is_float(type)) {
    if (type == dtype::i64 && bits == INT64_MIN) return "(-9223372036854775807LL - 1)";
    bool const is_int = bits > INT32_MIN && bits <= INT32_MAX;
    std::string digits = std::to_string(bits) + (is_int ? "" : "LL");
    if (!typed || (type == dtype::i32 && is_int)) return digits;
    bool const natural = is_unsigned_integer(type);
    return joined({natural ? "std::uint" : "std::int", std::to_string(8 * size_bytes(type)), "_t(", digits, ")"});
  }
  std::string_view const cpp = type == dtype::f64 ? "double" : type == dtype::f32 ? "float" : type == dtype::f16 ? "weft::f16" : "weft::bf16";
  // As few digits as the compiler makes the same bits of; not of infinities and NaN.
  bool const single = type != dtype::f64, finite = (bits & infinity_bits(type)) != infinity_bits(type);
  char text[40] = "";
  for (int digits = 1; finite && digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, from_bits<double>(converted(type, dtype::f64, bits)));
    std::int64_t const read = single ? from_f32(type, std::strtof(text, nullptr)) : to_bits(std::strtod(text, nullptr));
    if (read == bits) {
      std::string out = text;
      for (char& c : out)
        if (c == ',') c = '.';
      if (out.find('.') == out.npos && out.find('e') == out.npos) out += ".0";
      if (single) out += "f";
      return is_half(type) ? joined({cpp, "(", out, ")"}) : out;
    }
  }
  return joined({"weft::from_bits<", cpp, ">(std::int64_t(", std::to_string(bits == INT64_MIN ? bits + 1 : bits), bits == INT64_MIN ? "LL - 1))" : "LL))"});
}

/// Writes a program whose equal nodes are one.
class what_writer {
 public:
  explicit what_writer(program const& p) : p_(p) {}

  std::string run() {
    for (stage_info const& s : p_.stages)
      if (s.by != nullptr) functions_.push_back(identifier(s.by->name));
    for (input_info const& i : p_.inputs) {
      std::string const name = i.tensor < 0 ? "number" : std::string(program::at(p_.tensors, i.tensor).name.view());
      int const made = variable(name);
      (i.tensor < 0 ? scalars_ : tensors_).push_back(made);
    }
    std::size_t const parameters = names_.size();
    for (stage_info const& s : p_.stages)
      for (int r = 0; r < s.results; ++r) tensors_.push_back(variable(program::at(p_.tensors, s.tensor + r).name.view()));
    if (parameters == 0) return "// not written: a program without inputs\n";
    for (std::int32_t c : p_.conditions) {
      begin_body({c});
      std::string const condition = operand(c);
      statement(joined({locals_, "  weft::require(", condition, ");\n"}));
    }
    for (stage_info const& s : p_.stages) stage(s);
    std::string all;
    for (std::int32_t t : p_.outputs) all += (all.empty() ? "" : ", ") + use(tensors_, t);
    statement(p_.outputs.size() == 1 ? joined({"  return ", all, ";\n"}) : joined({"  return weft::outputs(", all, ");\n"}));
    std::string const statements = with_variables();
    std::string out = exact_ ? "// #include <weft/expr/exact.hpp>\n[](" : "[](";
    for (std::size_t i = 0; i < parameters; ++i) out += (i > 0 ? ", auto" : "auto") + (used_[i] ? " " + names_[i] : std::string());
    return notes_ + out + ") {\n" + statements + "}";
  }

 private:
  // How tightly a text binds, and what C++ takes it for.
  enum binding : std::uint8_t { loose, bits, both, compared, sum, product, sign, whole };
  enum kind : std::uint8_t { number, value, index, size };
  struct written {
    std::string text;
    binding binds = whole;
    kind is = value;
    bool is_index() const { return is == index || is == size; }
  };

  // --- names -----------------------------------------------------------------------------------------------------
  bool is_taken(std::string const& name) const {
    for (sequence<std::string> const* some : {&names_, &axes_, &functions_})
      for (std::string const& other : *some)
        if (other == name) return true;
    return name == "weft" || name == "std" || name == "before";
  }
  std::string unused(std::string_view wanted) const {
    std::string const stem = identifier(wanted);
    std::string name = stem;
    for (int n = 2; is_taken(name); ++n) name = joined({stem, "_", std::to_string(n)});
    return name;
  }
  int variable(std::string_view wanted) {
    names_.push_back(unused(wanted));
    used_.push_back(false);
    return static_cast<int>(names_.size()) - 1;
  }
  std::string const& use(sequence<std::int32_t> const& variables, int which) {
    auto const v = static_cast<std::size_t>(program::at(variables, which));
    used_[v] = true;
    return names_[v];
  }
  static std::string quoted_name(std::string_view name) {
    std::string out = "\"";
    for (char c : name) {
      auto const byte = static_cast<unsigned char>(c);
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", byte);
      out += c == '"' || c == '\\' || byte < 32 || byte > 126 ? std::string(octal) : std::string(1, c);
    }
    return out + "\"";
  }
  /// As the user called it.
  std::string called(int tensor) const {
    tensor_info const& t = program::at(p_.tensors, tensor);
    return quoted_name(t.given < 0 ? t.name.view() : t.name.view().substr(0, static_cast<std::size_t>(t.given)));
  }
  static std::string type_text(dtype t) {
    static constexpr char const* names[] = {
#define WEFT_X(id, type, text, kind, computed) #type,
        WEFT_DTYPES(WEFT_X)
#undef WEFT_X
    };
    return names[static_cast<int>(t)];
  }
  static std::string_view op_text(op o) {
    switch (o) {
      case op::logical_not: return "logical_not";
      case op::floor_div: return "floor_div";
      case op::floor_mod: return "floor_mod";
      case op::bit_and: return "bit_and";
      case op::bit_or: return "bit_or";
      case op::bit_xor: return "bit_xor";
      case op::logical_and: return "logical_and";
      case op::logical_or: return "logical_or";
      default: return name(o);
    }
  }

  // --- one body --------------------------------------------------------------------------------------------------
  /// Forgets the one before; `roots`: the nodes that are to be written.
  void begin_body(sequence<std::int32_t> const& roots) {
    uses_ = sequence<std::int32_t>(p_.nodes.size(), 0);
    local_ = sequence<std::string>(p_.nodes.size());
    local_is_ = sequence<std::uint8_t>(p_.nodes.size(), std::uint8_t(value));
    locals_.clear();
    for (std::int32_t r : roots) count(r);
  }
  void count(int id) {
    if (id < 0 || uses_[static_cast<std::size_t>(id)]++ > 0) return;
    each_operand(p_.at(id), [&](int o) { count(o); });
  }
  template <class F>
  void each_operand(node const& n, F const& f) const {
    if (n.kind == op::load)
      for (int i = 0; i < n.c; ++i) f(program::at(p_.operands, n.b + i));
    else if (arity(n.kind) > 0)
      for (int o : {n.a, n.b, n.c})
        if (o >= 0) f(o);
  }
  template <class F>
  bool any_below(int id, F const& f) const {
    sequence<bool> reached(static_cast<std::size_t>(id) + 1, false);
    reached[static_cast<std::size_t>(id)] = true;
    for (int i = id; i >= 0; --i) {
      if (!reached[static_cast<std::size_t>(i)]) continue;
      if (f(p_.at(i))) return true;
      each_operand(p_.at(i), [&](int o) { reached[static_cast<std::size_t>(o)] = true; });
    }
    return false;
  }
  bool has_self(int id) const {
    return any_below(id, [](node const& n) { return n.kind == op::self; });
  }
  /// Whether something in it tells C++ which program it is of.
  bool has_program(int id) const {
    return any_below(id, [](node const& n) { return n.kind == op::load || n.kind == op::extent || n.kind == op::scalar; });
  }

  static bool computes(dtype t) { return computed(t) == t && t != dtype::boolean; }
  static written atom(std::string text, kind is = value) { return {static_cast<std::string&&>(text), whole, is}; }
  static std::string in_parentheses(written const& x, binding least) { return x.binds >= least ? x.text : joined({"(", x.text, ")"}); }
  /// A number on its own has no program.
  std::string literal(node const& n) {
    exact_ = true;
    std::string const& owner = !tensors_.empty() && p_.inputs[0].tensor >= 0 ? use(tensors_, 0) : use(scalars_, 0);
    return joined({"weft::exact::literal<", type_text(n.type), ">(", owner, ", ", number_text(n.type, n.value, true), ")"});
  }
  /// Never a number alone.
  written expression(int id) {
    written const x = write(id);
    return x.is == number ? atom(literal(p_.at(id))) : x;
  }
  std::string operand(int id) { return expression(id).text; }
  /// What a lambda returns, which needs no variable of its own.
  std::string returned(int id) {
    auto const at = static_cast<std::size_t>(id);
    node const& n = p_.at(id);
    return uses_[at] == 1 && n.kind != op::literal && local_[at].empty() ? make(n).text : operand(id);
  }
  /// An index or an extent, where integers may stand.
  std::string place(int id) { return write(id).text; }
  written as_value(written const& x) { return x.is_index() ? atom(joined({"weft::cast<std::int64_t>(", x.text, ")"})) : x; }

  written write(int id) {
    auto const at = static_cast<std::size_t>(id);
    node const& n = p_.at(id);
    if (!local_[at].empty()) return atom(local_[at], static_cast<kind>(local_is_[at]));
    written made = make(n);
    bool const leaf = n.kind != op::load && arity(n.kind) == 0;
    if (leaf || (uses_[at] < 2 && made.text.size() < 70)) return made;
    local_[at] = unused(joined({"x", std::to_string(++last_local_)}));
    local_is_[at] = made.is;
    locals_ += joined({indent_, "auto ", local_[at], " = ", made.text, ";\n"});
    return atom(local_[at], made.is);
  }
  written make(node const& n) {
    switch (n.kind) {
      case op::literal: {
        std::string text = number_text(n.type, n.value, false);
        return {text, text[0] == '-' ? sign : whole, number};
      }
      case op::extent: return atom(joined({use(tensors_, n.a), ".extent(", std::to_string(n.b), ")"}), size);
      case op::scalar: return atom(use(scalars_, n.a));
      case op::axis: {
        auto const place = static_cast<std::size_t>(n.a - first_axis_);
        axis_used_[place] = true;
        return atom(axes_[place], index);
      }
      case op::self: return atom(one_value_ ? std::string("before") : joined({"weft::get<", std::to_string(n.a), ">(before)"}));
      case op::load: {
        std::string text = use(tensors_, n.a) + "(";
        for (int i = 0; i < n.c; ++i) text += (i > 0 ? ", " : "") + place(program::at(p_.operands, n.b + i));
        return atom(text + ")");
      }
      case op::neg: {
        written const x = expression(n.a);
        if (x.is == size || (x.is == value && !computes(n.type))) return exactly(n);
        return {"-" + in_parentheses(x, whole), sign, x.is};
      }
      case op::logical_not: return {"!" + in_parentheses(expression(n.a), whole), sign, value};
      case op::cast:
        if (p_.at(n.a).type == n.type) return exactly(n);
        return atom(joined({"weft::cast<", type_text(n.type), ">(", operand(n.a), ")"}));
      case op::bitcast:
      case op::scaleb:
      case op::fma:
      case op::rare:
      case op::blend: return exactly(n);
      case op::select: return chosen(n);
      default: break;
    }
    if (arity(n.kind) == 1) return atom(joined({"weft::", op_text(n.kind), "(", operand(n.a), ")"}));
    return binary(n);
  }
  written exactly(node const& n) {
    exact_ = true;
    std::string text = joined({"weft::exact::operation<weft::op::", op_text(n.kind), ", ", type_text(n.type), ">("});
    each_operand(n, [&](int o) { text += (text.back() == '(' ? "" : ", ") + operand(o); });
    return atom(text + ")");
  }
  written chosen(node const& n) {
    std::string const condition = operand(n.a);
    written const x = write(n.b), y = write(n.c);
    bool const numbers = x.is == number && y.is == number;
    auto const text = [&](written const& one, int id) { return numbers ? number_text(n.type, p_.at(id).value, true) : one.text; };
    return atom(joined({"weft::select(", condition, ", ", text(x, n.b), ", ", text(y, n.c), ")"}), met(x, y));
  }
  /// What the two make together.
  static kind met(written const& x, written const& y) {
    bool const places = (x.is_index() || x.is == number) && (y.is_index() || y.is == number) && (x.is_index() || y.is_index());
    return !places ? value : x.is == index || y.is == index ? index : size;
  }
  written binary(node const& n) {
    written x = write(n.a), y = write(n.b);
    if (x.is == number && y.is == number) return exactly(n);
    dtype const t = p_.at(n.a).type;
    kind const made = met(x, y);
    // `!a < b` is what it says, and compilers warn of it.
    if (!x.text.empty() && x.text[0] == '!' && n.kind != op::logical_and && n.kind != op::logical_or) x = atom(in_parentheses(x, whole), x.is);
    auto const call = [&](std::string_view function) { return atom(joined({"weft::", function, "(", x.text, ", ", y.text, ")"}), made); };
    auto const infix = [&](std::string_view symbol, binding binds, binding left, binding right, kind is) {
      return written{joined({in_parentheses(x, left), symbol, in_parentheses(y, right)}), binds, is};
    };
    auto const wide = [&] {  // as a value, of which / is no quotient of indices
      if (made == value) return;
      x.is_index() ? x = as_value(x) : y = as_value(y);
    };
    switch (n.kind) {
      case op::add: return computes(t) ? infix(" + ", sum, sum, product, made) : exactly(n);
      case op::sub: return computes(t) ? infix(" - ", sum, sum, product, made) : exactly(n);
      case op::mul: return computes(t) ? infix(" * ", product, product, sign, made) : exactly(n);
      case op::min: return call("min");
      case op::max: return call("max");
      case op::floor_div: return made != value ? infix(" / ", product, product, sign, made) : exactly(n);
      case op::floor_mod: return made != value ? infix(" % ", product, product, sign, made) : exactly(n);
      case op::div: return !computes(t) ? exactly(n) : (wide(), infix(" / ", product, product, sign, value));
      case op::rem:
        if (is_float(t)) return call("fmod");
        return !computes(t) ? exactly(n) : (wide(), infix(" % ", product, product, sign, value));
      case op::bit_and: return !computes(t) ? exactly(n) : (wide(), infix(" & ", bits, sign, sign, value));
      case op::bit_or: return !computes(t) ? exactly(n) : (wide(), infix(" | ", bits, sign, sign, value));
      case op::bit_xor: return !computes(t) ? exactly(n) : (wide(), infix(" ^ ", bits, sign, sign, value));
      case op::shl: return !computes(t) ? exactly(n) : (wide(), infix(" << ", bits, sign, sign, value));
      case op::shr: return !computes(t) ? exactly(n) : (wide(), infix(" >> ", bits, sign, sign, value));
      case op::lt: return computed(t) == t ? infix(" < ", compared, sum, sum, value) : exactly(n);
      case op::le: return computed(t) == t ? infix(" <= ", compared, sum, sum, value) : exactly(n);
      case op::eq: return computed(t) == t ? infix(" == ", compared, sum, sum, value) : exactly(n);
      case op::ne: return computed(t) == t ? infix(" != ", compared, sum, sum, value) : exactly(n);
      case op::logical_and:
      case op::logical_or: {
        if (x.is == number) x = atom(literal(p_.at(n.a)));
        if (y.is == number) y = atom(literal(p_.at(n.b)));
        return n.kind == op::logical_and ? infix(" && ", both, both, compared, value) : infix(" || ", loose, compared, compared, value);
      }
      default: return call(op_text(n.kind));  // copysign, pow, atan2
    }
  }

  // --- stages ----------------------------------------------------------------------------------------------------
  /// `auto name = text;`, or `text;` where nothing uses it. One that only takes a value out of another is then left out.
  void statement(std::string const& text, int makes = -1, int needs = -1) {
    statements_.push_back(text);
    makes_.push_back(makes);
    needs_.push_back(needs);
  }
  std::string with_variables() {
    std::string out;
    for (std::size_t i = statements_.size(); i-- > 0;)
      if (needs_[i] >= 0 && used_[static_cast<std::size_t>(makes_[i])]) used_[static_cast<std::size_t>(needs_[i])] = true;
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      bool const named = makes_[i] >= 0 && used_[static_cast<std::size_t>(makes_[i])];
      if (named) out += joined({"  auto ", names_[static_cast<std::size_t>(makes_[i])], " = ", statements_[i], ";\n"});
      else if (needs_[i] < 0) out += makes_[i] < 0 ? statements_[i] : joined({"  ", statements_[i], ";\n"});
    }
    return out;
  }
  /// `[=](auto i, auto) { return x; }`, with the locals of the body.
  std::string lambda(std::string const& parameters, std::string const& result, std::string_view outside) const {
    std::string const head = parameters.empty() ? std::string("[=]") : joined({"[=](", parameters, ")"});
    if (locals_.empty() && head.size() + result.size() < 70 && result.find('\n') == result.npos) return joined({head, " { return ", result, "; }"});
    return joined({head, " {\n", locals_, outside, "  return ", result, ";\n", outside, "}"});
  }
  std::string parameters(int first, int count) const {
    std::string out;
    for (int i = first; i < first + count; ++i) {
      auto const place = static_cast<std::size_t>(i);
      out += i > first ? ", auto" : "auto";
      if (axis_used_[place]) out += " " + axes_[place];
    }
    return out;
  }
  /// Of a stage's axes from `first` on. `owned`: the first of them says which program it is of.
  std::string extents(stage_info const& s, int first, int count, bool owned) {
    std::string out;
    for (int i = first; i < first + count; ++i) {
      int const id = program::at(p_.axes, s.first_axis + i).extent;
      written const x = i == first && owned ? atom(literal(p_.at(id))) : write(id);
      out += x.is == value ? joined({"weft::extent{", x.text, "}, "}) : x.text + ", ";
    }
    return out;
  }
  bool all_literal(stage_info const& s, int first, int count) const {
    for (int i = first; i < first + count; ++i)
      if (p_.at(program::at(p_.axes, s.first_axis + i).extent).kind != op::literal) return false;
    return true;
  }
  void stage(stage_info const& s) {
    std::string names, results;
    for (int r = 0; r < s.results; ++r) names += (r > 0 ? ", " : "") + called(s.tensor + r);
    first_axis_ = s.first_axis;
    axes_.clear(), axis_used_.clear();
    for (int i = 0; i < s.axes(); ++i) axes_.push_back(unused(axis_name(i).view())), axis_used_.push_back(false);

    sequence<std::int32_t> sizes, roots;
    for (int i = 0; i < s.axes(); ++i) sizes.push_back(program::at(p_.axes, s.first_axis + i).extent);
    bool told = s.by != nullptr;  // of which program it is
    for (int r = 0; r < s.results && s.by == nullptr; ++r) {
      result_info const& one = p_.result(s, r);
      told = told || has_program(one.body) || (one.merged >= 0 && has_program(one.merged));
      roots.push_back(one.body);
    }
    for (int r = 0; r < s.results && s.by == nullptr; ++r)
      if (int const m = p_.result(s, r).merged; m >= 0) roots.push_back(m);
    begin_body(sizes);
    indent_ = "  ";
    std::string const spatial = extents(s, 0, s.spatial, !told && all_literal(s, 0, s.spatial));
    std::string const reduced = extents(s, s.spatial, s.reduced, !told && all_literal(s, s.spatial, s.reduced));
    if (!locals_.empty()) statement(locals_);

    std::string const open = joined({s.spatial > 0 ? "weft::compute<" : "weft::exact::stage<", names, ">(", spatial});
    exact_ = exact_ || s.spatial == 0;
    std::string const text = s.by != nullptr ? by_function(s) : body(s, roots, reduced);
    if (s.results == 1) return statement(joined({open, text, ")"}), program::at(tensors_, s.tensor));
    int const all = variable(program::at(p_.tensors, s.tensor).name.view());
    statement(joined({open, text, ")"}), all);
    for (int r = 0; r < s.results; ++r)
      statement(joined({"weft::get<", std::to_string(r), ">(", names_[static_cast<std::size_t>(all)], ")"}), program::at(tensors_, s.tensor + r), all);
  }
  std::string by_function(stage_info const& s) {
    if (s.by->call == nullptr || s.spatial == 0)
      notes_ += joined({"// not written: what ", s.by->name, " is on a GPU, where alone it is: weft::gpu_only and a cuda_function belong here\n"});
    std::string read;
    each_whole_read(p_, s, [&](int t) { read += (read.empty() ? "" : ", ") + use(tensors_, t); });
    return joined({"weft::external<", quoted_name(s.by->name), ", &", identifier(s.by->name), ">(", read, ")"});
  }
  /// weft::values of the nodes, or the one of them.
  std::string values_of(sequence<std::int32_t> const& ids, bool always) {
    std::string out;
    for (std::int32_t id : ids) out += (out.empty() ? "" : ", ") + returned(id);
    return always || ids.size() > 1 ? joined({"weft::values(", out, ")"}) : out;
  }
  std::string identities(stage_info const& s, bool always) const {
    std::string out;
    for (int r = 0; r < s.results; ++r)
      out += (r > 0 ? ", " : "") + number_text(program::at(p_.tensors, s.tensor + r).type, p_.result(s, r).identity, true);
    return always || s.results > 1 ? joined({"weft::values(", out, ")"}) : out;
  }
  /// The lambda of a stage that is computed element by element.
  std::string body(stage_info const& s, sequence<std::int32_t> const& roots, std::string const& reduced) {
    bool before = false;
    for (std::int32_t r : roots) before = before || has_self(r);
    one_value_ = s.scanned >= 0 && s.results == 1;
    begin_body(roots);
    if (s.reduced == 0 && s.scanned < 0) {
      indent_ = "    ";
      std::string const result = values_of(roots, false);
      return lambda(parameters(0, s.spatial), result, "  ");
    }
    indent_ = "      ";
    std::string inner;
    if (s.scanned >= 0) {
      axis_used_[static_cast<std::size_t>(s.scanned)] = true;
      std::string const result = values_of(roots, false);
      inner = joined({"weft::scan(weft::", s.backwards ? "from(" : "up_to(", axes_[static_cast<std::size_t>(s.scanned)], "), ",
                      identities(s, false), ", ", lambda(before ? "auto before" : "auto", result, "    "), ")"});
    } else if (simple const known = simple_form(s); known.term >= 0) {
      sequence<std::int32_t> of{known.term};
      if (known.condition >= 0) of.push_back(known.condition);
      begin_body(of);
      std::string const condition = known.condition >= 0 ? returned(known.condition) : std::string(), x = returned(known.term);
      std::string const result = known.condition >= 0 ? joined({"weft::where(", condition, ", ", x, ")"}) : x;
      inner = joined({"weft::", known.name, "(", reduced, lambda(parameters(s.spatial, s.reduced), result, "    "), ")"});
    } else {
      exact_ = true;
      std::string const result = values_of(roots, true);
      inner = joined({"weft::exact::reduction(", identities(s, true), ", ",
                      lambda(joined({before ? "auto before, " : "auto, ", parameters(s.spatial, s.reduced)}), result, "    "), ", ",
                      std::string_view(reduced).substr(0, reduced.size() - 2), ")"});
    }
    locals_.clear();
    return lambda(parameters(0, s.spatial), inner, "  ");
  }
  /// A reduction that has a name.
  struct simple {
    std::string_view name = "";
    int term = -1, condition = -1;
  };
  simple simple_form(stage_info const& s) const {
    result_info const& r = p_.result(s, 0);
    if (s.results > 1 || r.merged >= 0) return {};
    auto const is_self = [&](int id) { return p_.at(id).kind == op::self; };
    int update = r.body, condition = -1;
    // Of a condition that always holds weft::where makes nothing.
    auto const is_always = [&](int id) { return p_.at(id).kind == op::literal && p_.at(id).value != 0; };
    if (node const& n = p_.at(update); n.kind == op::select && is_self(n.c) && !has_self(n.a) && !is_always(n.a)) update = n.b, condition = n.a;
    node const& n = p_.at(update);
    dtype const t = n.type;
    bool const adds = n.kind == op::add || n.kind == op::mul;
    bool const truth = n.kind == op::logical_and || n.kind == op::logical_or;
    if (!adds && !truth && n.kind != op::min && n.kind != op::max) return {};
    if (!is_self(n.a) || has_self(n.b) || (adds && !computes(t))) return {};
    bool const starts = r.identity == with_dtype(t, [&]<class T>(T) {
      if (n.kind == op::min) return identity_of<op::min, T>();
      if (n.kind == op::max) return identity_of<op::max, T>();
      if (n.kind == op::mul) return identity_of<op::mul, T>();
      return std::int64_t(n.kind == op::logical_and);
    });
    if (!starts) return {};
    std::string_view const name = n.kind == op::add   ? "sum"
                                  : n.kind == op::mul ? "prod"
                                  : n.kind == op::min ? "min"
                                  : n.kind == op::max ? "max"
                                  : truth && n.kind == op::logical_and ? "all"
                                                                       : "any";
    return {name, n.b, condition};
  }

  program const& p_;
  sequence<std::string> names_;               // of all variables but those of bodies
  sequence<bool> used_;
  sequence<std::string> functions_;           // that compute stages
  sequence<std::int32_t> tensors_, scalars_;  // which variable each is called by
  sequence<std::string> statements_;
  sequence<std::int32_t> makes_, needs_;      // which variable, -1: none
  std::string notes_;
  bool exact_ = false;                        // something of expr/exact.hpp stands in it
  // Of the body that is being written.
  sequence<std::int32_t> uses_;               // by node: how many use it
  sequence<std::string> local_;               // by node: its variable, if it has one
  sequence<std::uint8_t> local_is_;           // what that is
  sequence<std::string> axes_;
  sequence<bool> axis_used_;
  std::string locals_, indent_ = "  ";
  int first_axis_ = 0, last_local_ = 0;
  bool one_value_ = false;
};

}  // namespace detail

WEFT_DECL program equal_nodes_joined(program const& from) {
  program p = from;
  sequence<std::int32_t> as(p.nodes.size(), -1);
  auto const put = [&](std::int32_t& id) {
    if (id >= 0) id = as[static_cast<std::size_t>(id)];
  };
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    node& n = p.nodes[i];
    if (n.kind == op::load)
      for (int k = 0; k < n.c; ++k) put(p.operands[static_cast<std::size_t>(n.b + k)]);
    else if (arity(n.kind) > 0) put(n.a), put(n.b), put(n.c);
    as[i] = static_cast<std::int32_t>(i);
    for (std::size_t k = 0; k < i && as[i] == static_cast<std::int32_t>(i); ++k)
      if (detail::is_equal(p, p.nodes[k], n)) as[i] = as[k];
  }
  for (std::int32_t& e : p.extents) put(e);
  for (axis_info& a : p.axes) put(a.extent);
  for (result_info& r : p.results) put(r.body), put(r.merged);
  for (std::int32_t& c : p.conditions) put(c);
  return canonical(p);
}
WEFT_DECL std::string print_what(program const& p) {
  program const joined = equal_nodes_joined(p);
  return detail::what_writer(joined).run();
}

}  // namespace weft::inline WEFT_ABI
