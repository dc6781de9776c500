#include "weft/expr/formula.hpp"
#include "weft/expr/print.hpp"
#include "weft/expr/text.hpp"
#include "weft/expr/verify.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline std::string exact_text(dtype type, std::int64_t bits) {
  if (type == dtype::u64) return std::to_string(static_cast<std::uint64_t>(bits));
  if (!is_float(type)) return std::to_string(bits);
  double const value = from_bits<double>(converted(type, dtype::f64, bits));
  if (value > -1e6 && value < 1e6) {
    auto const whole = static_cast<int>(value);
    if (converted(dtype::i64, type, whole) == bits) return std::to_string(whole) + ".0";  // not -0.0
  }
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "0x";
  for (int shift = 8 * size_bytes(type) - 4; shift >= 0; shift -= 4) out += digits[bits >> shift & 15];
  return out;
}

class program_writer {
 public:
  explicit program_writer(program const& p) : p_(p) {}
  std::string run() {
    out_ = "program\n";
    for (input_info const& i : p_.inputs)
      if (i.tensor >= 0)
        head("input ", i.tensor), shape(i.tensor);
      else
        ((out_ += "scalar ") += name(i.type)) += '\n';
    for (stage_info const& s : p_.stages) stage(s);
    nodes_up_to(static_cast<int>(p_.nodes.size()) - 1);
    for (std::int32_t c : p_.conditions) (out_ += "require" + reference(c)) += '\n';
    for (std::int32_t t : p_.outputs) (out_ += "output " + tensor_text(p_, t)) += '\n';
    return out_;
  }

 private:
  static std::string reference(int id) { return " %" + std::to_string(id); }
  void head(char const* what, int tensor) {
    tensor_info const& t = program::at(p_.tensors, tensor);
    ((((out_ += what) += quoted(t.name.view())) += ' ') += name(t.type)) += '\n';
  }
  void shape(int tensor) {
    int const rank = program::at(p_.tensors, tensor).rank;
    for (int d = 0; d < rank; ++d) nodes_up_to(p_.extent_of(tensor, d));
    out_ += "  shape";
    for (int d = 0; d < rank; ++d) out_ += reference(p_.extent_of(tensor, d));
    out_ += '\n';
  }
  void stage(stage_info const& s) {
    for (int r = 0; r < s.results; ++r) {
      head(r == 0 ? "stage " : "and ", s.tensor + r);
      shape(s.tensor + r);
    }
    for (int i = 0; i < s.axes(); ++i) {
      axis_info const& a = program::at(p_.axes, s.first_axis + i);
      nodes_up_to(a.extent);
      out_ += "  axis " + std::to_string(s.first_axis + i) + " <" + reference(a.extent);
      out_ += a.reduced ? " reduced\n" : i != s.scanned ? "\n" : s.backwards ? " scanned backwards\n" : " scanned\n";
    }
    if (s.by != nullptr) {
      out_ += "  by " + quoted(s.by->name);
      each_whole_read(p_, s, [&](int t) { out_ += " " + tensor_text(p_, t); });
      out_ += '\n';
    }
    for (int i = 0; i < s.results && s.by == nullptr; ++i) {
      result_info const& r = p_.result(s, i);
      nodes_up_to(r.body);
      nodes_up_to(r.merged);
      out_ += "  body" + reference(r.body);
      dtype const type = program::at(p_.tensors, s.tensor + i).type;
      if (s.reduced > 0 || s.scanned >= 0 || r.identity != 0) out_ += " from " + exact_text(type, r.identity);
      if (r.merged >= 0) out_ += " merged" + reference(r.merged);
      out_ += '\n';
    }
  }
  void nodes_up_to(int last) {
    for (; next_ <= last; ++next_) {
      node const& n = p_.at(next_);
      ((((out_ += " " + reference(next_)) += " = ") += name(n.kind)) += ' ') += name(n.type);
      rest(n);
      out_ += '\n';
    }
  }
  void rest(node const& n) {
    switch (n.kind) {
      case op::literal: {
        std::string const text = exact_text(n.type, n.value);
        out_ += " " + text;
        if (text.size() > 1 && text[1] == 'x') out_ += "  # " + literal_text(n.type, n.value);
        return;
      }
      case op::extent: out_ += " " + tensor_text(p_, n.a) + " " + std::to_string(n.b); return;
      case op::scalar:
      case op::axis: out_ += " " + std::to_string(n.a); return;
      case op::self:
        if (n.a > 0) out_ += " " + std::to_string(n.a);
        return;
      case op::load:
        out_ += " " + tensor_text(p_, n.a);
        for (int d = 0; d < n.c; ++d) out_ += reference(program::at(p_.operands, n.b + d));
        return;
      default:
        for (int o : {n.a, n.b, n.c})
          if (o >= 0) out_ += reference(o);
    }
  }

  program const& p_;
  std::string out_;
  int next_ = 0;
};

class program_parser {
 public:
  program_parser(std::string_view text, known_functions known) : r_(text, "program"), known_(known) {}
  program run() {
    if (!r_.at_end()) r_.expect("program");
    for (r_.end_line(); !r_.at_end(); r_.end_line()) line();
    if (std::string const fault = fault_of(p_); !fault.empty()) r_.fail(fault);
    return static_cast<program&&>(p_);
  }

 private:
  void line() {
    constexpr char known[] = "input, scalar, stage, and, axis, shape, body, by, require, output or %number";
    if (r_.accept("%")) return read_node();
    std::string_view const what = r_.word(known);
    if (what == "input") return input();
    if (what == "scalar") return p_.inputs.push_back({-1, type()}), void(++p_.scalars);
    if (what == "stage") return stage();
    if (what == "and") return one_more();
    if (what == "output") return p_.outputs.push_back(tensor());
    if (what == "require") return p_.conditions.push_back(reference());
    if (what == "shape") return shape();
    if (what == "axis") return axis();
    if (what == "body") return body();
    if (what == "by") return by();
    r_.fail(std::string("expected ") + known);
  }
  dtype type() {
    std::string_view const wanted = r_.word("a dtype");
    for (int i = 0; i < dtype_count; ++i)
      if (name(static_cast<dtype>(i)) == wanted) return static_cast<dtype>(i);
    r_.fail("there is no such dtype");
  }
  op operation() {
    std::string_view const wanted = r_.word("an operation");
    for (int i = 0; i < op_count; ++i)
      if (name(static_cast<op>(i)) == wanted) return static_cast<op>(i);
    r_.fail("there is no such operation");
  }
  std::int32_t tensor() {
    if (r_.accept("@")) return r_.number_below(p_.tensors.size(), "tensor");
    short_name const wanted = r_.name();
    for (std::size_t t = 0; t < p_.tensors.size(); ++t)
      if (p_.tensors[t].name == wanted) return static_cast<std::int32_t>(t);
    r_.fail("there is no such tensor before this line");
  }
  std::int32_t reference() {
    r_.expect("%");
    return r_.number_below(p_.nodes.size(), "node before this line");
  }
  std::int64_t literal(dtype t) {
    if (is_float(t) && r_.accept("0x")) return static_cast<std::int64_t>(r_.hexadecimal());
    if (t == dtype::u64) return static_cast<std::int64_t>(r_.natural());
    std::int64_t const value = r_.number();
    if (!is_float(t)) return value;
    r_.expect(".0");
    return converted(dtype::i64, t, value);
  }

  void open(short_name name, dtype t, int stage) {
    p_.tensors.push_back({name, t, 0, static_cast<std::int32_t>(p_.extents.size()), stage});
    shaped_ = false;
  }
  void input() {
    short_name const name = r_.name();
    dtype const t = type();
    p_.inputs.push_back({static_cast<std::int32_t>(p_.tensors.size()), t});
    open(name, t, -1);
  }
  void stage() {
    stage_info s;
    s.tensor = static_cast<std::int32_t>(p_.tensors.size());
    s.first_axis = s.first_reduced = static_cast<std::int32_t>(p_.axes.size());
    s.first_result = static_cast<std::int32_t>(p_.results.size());
    s.results = 0;
    p_.stages.push_back(s);
    result();
  }
  void one_more() {
    if (p_.stages.empty() || open_stage().axes() > 0) r_.fail("a stage's tensors stand before its axes");
    result();
  }
  void result() {
    short_name const name = r_.name();
    open(name, type(), static_cast<std::int32_t>(p_.stages.size()) - 1);
    ++p_.stages.back().results;
    p_.results.push_back({});
  }
  void shape() {
    if (p_.tensors.empty() || shaped_) r_.fail("a shape follows its input or stage");
    shaped_ = true;
    for (; !r_.line_ends(); ++p_.tensors.back().rank) p_.extents.push_back(reference());
  }
  stage_info& open_stage() {
    if (p_.stages.empty() || p_.results.back().body >= 0) r_.fail("this line belongs into a stage, before its body");
    return p_.stages.back();
  }
  void axis() {
    stage_info& s = open_stage();
    if (r_.number() != static_cast<std::int64_t>(p_.axes.size())) r_.fail("axes are numbered 0, 1, 2, ... in order");
    r_.expect("<");
    std::int32_t const extent = reference();
    bool const reduced = r_.accept("reduced");
    if (r_.accept("scanned")) {
      if (s.scanned >= 0) r_.fail("one axis of a stage is scanned");
      s.scanned = s.spatial;
      s.backwards = r_.accept("backwards");
    }
    ++(reduced ? s.reduced : s.spatial);
    if (!reduced) ++s.first_reduced;
    p_.axes.push_back({extent, static_cast<std::int32_t>(p_.stages.size()) - 1, reduced});
  }
  void body() {
    stage_info& s = open_stage();
    int i = 0;  // the first result that has no body yet
    while (p_.result(s, i).body >= 0) ++i;
    result_info& r = p_.results[static_cast<std::size_t>(s.first_result + i)];
    r.body = reference();
    if (r_.accept("from")) r.identity = literal(program::at(p_.tensors, s.tensor + i).type);
    if (r_.accept("merged")) r.merged = reference();
  }
  void by() {
    stage_info& s = open_stage();
    short_name const wanted = r_.name();
    s.by = known_.find(wanted.view());
    if (s.by == nullptr) r_.fail("none of the functions that parse_program was given has this name");
    s.first_read = static_cast<std::int32_t>(p_.reads.size());
    while (!r_.line_ends()) p_.reads.push_back(tensor());
    if (static_cast<std::int32_t>(p_.reads.size()) != s.first_read + s.by->reads)
      r_.fail("the function reads another number of tensors");
  }
  void read_node() {
    if (r_.number() != static_cast<std::int64_t>(p_.nodes.size())) r_.fail("nodes are numbered 0, 1, 2, ... in order");
    r_.expect("=");
    node n;
    n.kind = operation();
    n.type = type();
    switch (n.kind) {
      case op::literal: n.value = literal(n.type); break;
      case op::extent:
        n.a = tensor();
        n.b = r_.number_below(8, "dimension");
        break;
      case op::scalar: n.a = r_.number_below(p_.inputs.size(), "scalar"); break;
      case op::axis: n.a = r_.number_below(p_.axes.size(), "axis before this line"); break;
      case op::self: n.a = r_.line_ends() ? 0 : r_.number_below(64, "result of a stage"); break;
      case op::load:
        n.a = tensor();
        n.b = static_cast<std::int32_t>(p_.operands.size());
        for (n.c = 0; !r_.line_ends(); ++n.c) p_.operands.push_back(reference());
        break;
      default: {
        std::int32_t* const operands[] = {&n.a, &n.b, &n.c};
        for (int i = 0; i < arity(n.kind); ++i) *operands[i] = reference();
      }
    }
    p_.add(n);
  }

  text_reader r_;
  known_functions known_;
  program p_;
  bool shaped_ = true;
};
}  // namespace detail

WEFT_DECL std::string print(program const& p) { return detail::program_writer(p).run(); }
WEFT_DECL program parse_program(std::string_view text, known_functions known) {
  return detail::program_parser(text, known).run();
}

}  // namespace weft::inline WEFT_ABI
