#include "weft/codegen/cuda/expr.hpp"
#include "weft/codegen/cuda/prelude.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

WEFT_DECL kernel_text::kernel_text(ir::function const& function, int number) : f(function) {
  kernel = taken.unique(f.name + "_kernel" + (number > 0 ? "_" + std::to_string(number + 1) : ""));
  for (ir::buffer const* b : f.buffers) buffers.push_back(taken.unique(b->name));
  for (std::string const& s : f.sizes) sizes.push_back(taken.unique(s));
  for (auto const& s : f.scalars) scalars.push_back(taken.unique(s.name));
  for (std::string const& v : f.variables) variables.push_back({taken.unique(v), "0", 64, false});
  workspace = taken.unique("workspace");
}
WEFT_DECL void kernel_text::need(std::string const& name, std::string const& definition) {
  for (std::string const& c : called)
    if (c == name) return;
  called.push_back(name);
  prelude += definition;
}
WEFT_DECL void kernel_text::refuse(std::string const& why) const {
  WEFT_THROW(internal_error("CUDA text of kernel " + f.name + ": " + why));
}

namespace detail {
inline bool leaf(ir::expr e) {
  return arity(e->kind) == 0 && (e->kind != op::load || e->buf->where == ir::scope::registers);
}
/// So many operations and no more are printed in place of a local under a condition.
constexpr std::int32_t longest_text = 100;
// An index like i + 1 is no clearer as a local.
inline bool worth_a_local(ir::expr e) {
  if (leaf(e)) return false;
  return e->type != dtype::i64 || arity(e->kind) != 2 || !leaf(e->a) || !leaf(e->b);
}
inline int bits_of_literal(std::int64_t v) {
  auto size = v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
  int n = 1;
  while (size >>= 1) ++n;
  return n;
}
}  // namespace detail

WEFT_DECL expr_printer::note& expr_printer::at(ir::expr e) {
  if (notes_.size() <= e->id) notes_.resize(e->id + 256);
  return notes_[e->id];
}

WEFT_DECL void expr_printer::count(ir::expr e) {
  if (e == nullptr || at(e).uses++ > 0) return;
  touched_.push_back(e);
  if (e->lanes != 1)
    k_.refuse("vector code (" + std::to_string(e->lanes) + " lanes) has no text yet; leave vectorize out");
  for (ir::expr i : e->indices) count(i);
  for (ir::expr x : {e->a, e->b, e->c}) count(x);
}
WEFT_DECL void expr_printer::mark_always(ir::expr e) {
  if (e == nullptr || at(e).always || !at(e).local.empty()) return;
  at(e).always = true;
  mark_always(e->a);  // of a load, the mask
  if (e->kind == op::select) {
    for (ir::expr x : in_both_ways(e)) mark_always(x);
    return;
  }
  mark_always(e->b);
  mark_always(e->c);
  if (e->kind != op::load || e->a == nullptr)
    for (ir::expr i : e->indices) mark_always(i);
}
WEFT_DECL void expr_printer::walk_sure(ir::expr e, std::int32_t known, sequence<ir::expr>& met) {
  if (e == nullptr || at(e).always || !at(e).local.empty() || at(e).walk == walk_) return;
  if (at(e).walk == known) {
    at(e).walk = walk_;
    met.push_back(e);
    return;
  }
  at(e).walk = walk_;
  walk_sure(e->a, known, met);
  if (e->kind == op::select) return;
  walk_sure(e->b, known, met);
  walk_sure(e->c, known, met);
  if (e->kind != op::load || e->a == nullptr)
    for (ir::expr i : e->indices) walk_sure(i, known, met);
}
/// What is evaluated whichever way `e` takes, and is not known to be always.
WEFT_DECL sequence<ir::expr> expr_printer::in_both_ways(ir::expr e) {
  sequence<ir::expr> met;
  ++walk_;
  walk_sure(e->b, -1, met);
  ++walk_;
  walk_sure(e->c, walk_ - 1, met);
  return met;
}
WEFT_DECL void expr_printer::declare(ir::expr e, std::string const& indent, std::string& out) {
  if (e == nullptr || at(e).declared) return;
  at(e).declared = true;
  bool reads = e->kind == op::load && e->buf->where != ir::scope::registers && !at(e).always, repeats = false;
  std::int32_t length = 1;
  auto const visit = [&](ir::expr x) {
    declare(x, indent, out);
    if (x == nullptr || !at(x).local.empty()) return;
    reads = reads || at(x).reads;
    repeats = repeats || at(x).repeats;
    length = length + at(x).length < detail::longest_text ? length + at(x).length : detail::longest_text;
  };
  for (ir::expr i : e->indices) visit(i);
  for (ir::expr x : {e->a, e->b, e->c}) visit(x);
  bool const shared = at(e).uses >= 2 && detail::worth_a_local(e);
  at(e).reads = reads && !at(e).always;
  at(e).repeats = repeats || (shared && at(e).reads);
  at(e).length = length;
  if (e->kind == op::select && at(e).always && repeats && length == detail::longest_text) return branch(e, indent, out);
  if (!shared || at(e).reads) return;
  std::string const value = text(e);
  at(e).local = k_.taken.unique("t");
  out += indent + local_type(e) + " const " + at(e).local + " = " + value + ";\n";
}
WEFT_DECL std::string expr_printer::local_type(ir::expr e) {
  return e->type == dtype::i64 && is_int(e) ? "int" : std::string(type_name(e->type));
}
/// Whether `e`, in the last way of a branch, is one more way of the same branch: nothing needs a local in front of it.
WEFT_DECL bool expr_printer::is_rung(ir::expr e) {
  if (e->kind != op::select || !at(e).local.empty() || !at(e).repeats || at(e).length < detail::longest_text || at(e->a).repeats) return false;
  for (ir::expr x : in_both_ways(e))
    if (detail::worth_a_local(x)) return false;
  return true;
}
// What both ways have in common that reads nothing, or is read in both, has its local in front. A ladder is one branch of many ways:
// a branch in each other's last way is as deep as the ladder is long, and looks through all that is below each time.
WEFT_DECL void expr_printer::branch(ir::expr e, std::string const& indent, std::string& out) {
  std::string const local = k_.taken.unique("t");
  std::string const deeper = indent.size() < 40 ? indent + "  " : indent;
  out += indent + local_type(e) + " " + local + ";\n" + indent;
  ir::expr way = e;
  do {
    out += "if (" + text(way->a) + ") {\n";
    arm(way->b, local, deeper, out);
    out += indent + "} else ";
    way = way->c;
  } while (is_rung(way));
  out += "{\n";
  arm(way, local, deeper, out);
  out += indent + "}\n";
  at(e).local = local;
}
WEFT_DECL void expr_printer::arm(ir::expr e, std::string const& local, std::string const& indent, std::string& out) {
  sequence<ir::expr> inside;
  collect(e, inside);
  sequence<note> before;
  for (ir::expr x : inside) {
    before.push_back(at(x));
    note fresh;
    fresh.bits = at(x).bits, fresh.fits_int = at(x).fits_int;
    at(x) = fresh;
  }
  count(e);
  mark_always(e);
  declare(e, indent, out);
  out += indent + local + " = " + plain(e) + ";\n";
  if (out.size() > 1000000) k_.refuse("an expression grows past 1 MB because branches of selects share loads");
  for (std::size_t i = 0; i < inside.size(); ++i) at(inside[i]) = before[i];
}
/// All that the text of `e` is made of.
WEFT_DECL void expr_printer::collect(ir::expr e, sequence<ir::expr>& inside) {
  if (e == nullptr || at(e).collected || !at(e).local.empty()) return;
  std::size_t const begin = inside.size();
  inside.push_back(e);
  at(e).collected = true;
  for (ir::expr i : e->indices) collect(i, inside);
  for (ir::expr x : {e->a, e->b, e->c}) collect(x, inside);
  if (begin == 0)
    for (ir::expr x : inside) at(x).collected = false;
}
WEFT_DECL std::string expr_printer::share(sequence<ir::expr> const& roots, std::string const& indent) {
  for (ir::expr e : touched_) at(e) = note{};
  touched_.clear();
  std::string out;
  for (ir::expr r : roots) count(r);
  for (ir::expr r : roots) mark_always(r);
  for (ir::expr r : roots) declare(r, indent, out);
  return out;
}

// Sizes are of memory that exists, hence below 2^47; a loop that counts further than that does not end.
WEFT_DECL int expr_printer::bits(ir::expr e) {
  if (at(e).bits != 0) return at(e).bits;
  int n = 64;
  auto const wider = [&] {
    int const a = bits(e->a), b = bits(e->b);
    return a > b ? a : b;
  };
  switch (e->kind) {
    case op::literal: n = detail::bits_of_literal(e->value); break;
    case op::extent: n = 47; break;
    case op::axis: n = k_.variables[static_cast<std::size_t>(e->value)].bits; break;
    case op::cast: n = is_integer(e->a->type) || e->a->type == dtype::boolean ? size_bytes(e->a->type) * 8 : 64; break;
    case op::add:
    case op::sub: n = wider() + 1; break;
    case op::mul: n = bits(e->a) + bits(e->b); break;
    case op::min:
    case op::max: n = wider(); break;
    case op::select:
    case op::rare: {
      int const b = bits(e->b), c = bits(e->c);
      n = b > c ? b : c;
      break;
    }
    case op::div:
    case op::neg: n = bits(e->a); break;
    case op::floor_div: n = bits(e->a) + 1; break;
    case op::rem:
    case op::floor_mod: n = bits(e->b); break;
    case op::bit_xor: n = is_whole(e->a) && is_whole(e->b) ? wider() : 64; break;
    default: break;
  }
  at(e).bits = static_cast<std::int16_t>(n < 64 ? n : 64);
  return at(e).bits;
}

// Zero or more.
WEFT_DECL bool expr_printer::is_whole(ir::expr e) { return k_.ranges.of(e).low >= 0; }
WEFT_DECL bool expr_printer::makes_int(ir::expr e) {
  switch (e->kind) {
    case op::literal: return bits(e) <= 31;
    case op::axis: return bits(e) <= 31;
    case op::add:
    case op::sub:
    case op::mul:
    case op::min:
    case op::max: return bits(e) <= 31 && is_int(e->a) && is_int(e->b);
    case op::neg: return bits(e) <= 31 && is_int(e->a);
    case op::bit_xor: return is_int(e->a) && is_int(e->b);
    case op::select: return is_int(e->b) && is_int(e->c);
    case op::div:
    case op::rem:
    case op::floor_div:
    case op::floor_mod: return is_int(e->a) && is_int(e->b) && is_whole(e->a) && e->b->kind == op::literal && e->b->value > 0;
    default: return false;
  }
}
WEFT_DECL bool expr_printer::is_int(ir::expr e) {
  if (at(e).fits_int < 0) {
    bool const fits = e->type == dtype::i64 && makes_int(e);
    at(e).fits_int = fits;
  }
  return at(e).fits_int > 0;
}

WEFT_DECL std::string expr_printer::plain(ir::expr e, binding needed) {
  return e->kind == op::literal && e->type == dtype::i64 ? literal(e->type, e->value, false) : text(e, needed);
}
namespace detail {
/// Where the last of `indices` stands in its row.
inline ir::expr swizzled_column(ir::arena& m, ir::buffer const* b, ir::swizzle const& z, ir::list<ir::expr> const& indices) {
  ir::expr const unit = ir::index(m, z.unit), column = indices[indices.size() - 1];
  ir::expr const pair = ir::binary(m, op::floor_div, swizzled_row(m, b, indices), ir::index(m, z.rows));
  ir::expr const phase = simplify(m, ir::binary(m, op::floor_mod, pair, ir::index(m, z.phases)));
  ir::expr const place = ir::binary(m, op::bit_xor, simplify(m, ir::binary(m, op::floor_div, column, unit)), phase);
  return ir::binary(m, op::add, ir::binary(m, op::mul, place, unit), simplify(m, ir::binary(m, op::floor_mod, column, unit)));
}
}  // namespace detail
WEFT_DECL std::string expr_printer::element(ir::buffer const* buf, ir::list<ir::expr> const& indices, bool as_if_plain) {
  std::string const& name = k_.buffers[static_cast<std::size_t>(buf->id)];
  if (buf->where == ir::scope::registers) return name;
  if (auto const id = static_cast<std::size_t>(buf->id); id < k_.in_lane.size() && !k_.in_lane[id].empty()) return k_.in_lane[id];
  // Infix: an element that exists lies less than 2^63 bytes from its buffer's begin.
  std::string offset;
  int width = 0;  // in bits, while the text is an int
  ir::swizzle const z = as_if_plain ? ir::swizzle{} : ir::swizzle_of(k_.f, buf);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    ir::expr const stride = buf->strides[d];
    ir::expr const i = z.phases > 1 && d + 1 == indices.size() ? detail::swizzled_column(*k_.f.nodes, buf, z, indices) : indices[d];
    if (ir::is_literal(i, 0) || ir::is_literal(stride, 0)) continue;
    bool const whole = ir::is_literal(stride, 1);
    std::int64_t folded = 0;
    bool const both = i->kind == op::literal && stride->kind == op::literal && !__builtin_mul_overflow(i->value, stride->value, &folded);
    int const own = bits(i) + (whole ? 0 : bits(stride));
    bool const narrow = is_int(i) && (whole || is_int(stride));
    width = (own > width ? own : width) + (offset.empty() ? 0 : 1);
    bool const widen = narrow && width > 31;  // a long long from here on
    binding const term = offset.empty() ? binding::sum : binding::product;
    if (!offset.empty()) offset += " + ";
    if (both) offset += literal(dtype::i64, folded, widen);
    else if (widen) offset += "(long long)" + plain(i, binding::prefix);
    else offset += plain(i, whole ? term : binding::product);
    if (!whole && !both) offset += " * " + plain(stride, binding::prefix);
  }
  return name + "[" + (offset.empty() ? "0" : offset) + "]";
}
WEFT_DECL std::string expr_printer::call(op kind, dtype type, sequence<ir::expr> const& arguments, dtype to) {
  prelude_function const p = cuda_text::prelude(kind, type, to);
  if (p.name.empty()) k_.refuse(std::string(name(kind)) + " means nothing on " + std::string(name(type)));
  k_.need(p.name, p.definition);
  std::string s = p.name + "(";
  for (std::size_t i = 0; i < arguments.size(); ++i) s += (i != 0 ? ", " : "") + plain(arguments[i]);
  return s + ")";
}
// Of an i64, whose C++ text must not overflow on the way.
WEFT_DECL std::string expr_printer::arithmetic(char const* sign, ir::expr e, binding left, binding right) {
  if (bits(e) <= 31 || !is_int(e->a) || !is_int(e->b)) return infix(sign, e->a, e->b, left, right);
  return "(long long)" + plain(e->a, binding::prefix) + " " + sign + " " + plain(e->b, right);
}
WEFT_DECL std::string expr_printer::infix(char const* sign, ir::expr a, ir::expr b, binding left, binding right) {
  bool const both = a->kind == op::literal && b->kind == op::literal;  // then one must say that it is an i64
  return (both ? text(a, left) : plain(a, left)) + " " + sign + " " + plain(b, right);
}

WEFT_DECL std::string expr_printer::text(ir::expr e, binding needed) {
  if (!at(e).local.empty()) return at(e).local;
  binding own = binding::whole;
  std::string s = operation(e, own);
  if (s.size() > 1000000) k_.refuse("an expression grows past 1 MB because selects share loads");
  return own < needed ? "(" + s + ")" : s;
}
WEFT_DECL std::string expr_printer::conversion(ir::expr e, binding& own) {
  dtype const from = e->a->type, to = e->type;
  auto const is_word = [](dtype t) { return !is_float(t) || is_half(t); };  // its text is that of an integer
  if (e->kind == op::bitcast && !(is_word(from) && is_word(to))) {
    // CUDA's functions are between floats and signed integers.
    char const* f = is_word(from) ? size_bytes(to) == 8 ? "__longlong_as_double" : "__int_as_float"
                                  : size_bytes(to) == 8 ? "__double_as_longlong" : "__float_as_int";
    if (!is_unsigned_integer(from) && !is_unsigned_integer(to)) return f + ("(" + plain(e->a) + ")");
    std::string const cast = size_bytes(to) == 8 ? "(long long)" : "(int)";
    if (is_word(from)) return f + ("(" + cast + text(e->a, binding::prefix) + ")");
    own = binding::prefix;
    return "(" + std::string(type_name(to)) + ")" + f + "(" + plain(e->a) + ")";
  }
  bool const convert = e->kind == op::cast;
  if (convert && ((from == dtype::f16 && to == dtype::f32) || (from == dtype::f32 && to == dtype::f16))) {
    prelude_function const f = f16_conversion(to);
    k_.need(f.name, f.definition);
    return f.name + "(" + plain(e->a) + ")";
  }
  if (convert && (is_half(from) || is_half(to)))
    k_.refuse("a cast from " + std::string(name(from)) + " to " + std::string(name(to)) + " is left: legalise first");
  if (to == dtype::boolean) {
    own = binding::comparison;
    return text(e->a, binding::sum) + " != 0";
  }
  if (convert && is_float(from) && is_integer(to)) return call(op::cast, from, {e->a}, to);
  own = binding::prefix;
  return "(" + std::string(type_name(to)) + ")" + text(e->a, binding::prefix);
}
WEFT_DECL std::string expr_printer::operation(ir::expr e, binding& own) {
  ir::expr const a = e->a, b = e->b;
  auto const number = static_cast<std::size_t>(e->value);
  auto const as = [&own](binding level, std::string s) {
    own = level;
    return s;
  };
  auto const operands = [&](char const* sign, binding level, binding left, binding right) {
    own = level;
    return infix(sign, a, b, left, right);
  };
  bool const fits = e->type == dtype::i64 && arity(e->kind) > 0 && bits(e) < 64;
  bool const truth = e->type == dtype::boolean;
  // What rounds down and what rounds to zero is the same then.
  bool const divides = e->type == dtype::i64 && b != nullptr && b->kind == op::literal && b->value > 0 && is_whole(a);
  switch (e->kind) {
    case op::literal: {
      std::string const s = literal(e->type, e->value);
      return as(s[0] == '-' ? binding::prefix : binding::whole, s);
    }
    case op::extent: return k_.sizes[number];
    case op::scalar: return k_.scalars[number];
    case op::axis:
      if (!k_.variables[number].open) k_.refuse("variable " + k_.variables[number].name + " is used outside its loop");
      return k_.variables[number].name;
    case op::self: return k_.selves[static_cast<std::size_t>(e->value)];
    case op::load: {
      if (a == nullptr) return element(e->buf, e->indices);
      std::string const mask = text(a, binding::logical);
      return as(binding::none, mask + " ? " + element(e->buf, e->indices) + " : " + literal(e->type, 0));
    }
    case op::cast:
    case op::bitcast: return conversion(e, own);
    case op::logical_not: return as(binding::prefix, "!" + text(a, binding::prefix));
    case op::select:
    case op::rare:
      own = binding::none;
      return text(a, binding::logical) + " ? " + text(b, binding::logical) + " : " + text(e->c, binding::logical);
    case op::lt: return operands("<", binding::comparison, binding::sum, binding::sum);
    case op::le: return operands("<=", binding::comparison, binding::sum, binding::sum);
    case op::eq: return operands("==", binding::comparison, binding::sum, binding::sum);
    case op::ne: return operands("!=", binding::comparison, binding::sum, binding::sum);
    case op::bit_and:
    case op::logical_and:
      if (truth) return operands("&&", binding::logical, binding::comparison, binding::comparison);
      return operands("&", binding::none, binding::prefix, binding::prefix);
    case op::bit_or:
    case op::logical_or:
      if (truth) return operands("||", binding::logical, binding::comparison, binding::comparison);
      return operands("|", binding::none, binding::prefix, binding::prefix);
    case op::bit_xor:
      if (truth) return operands("!=", binding::comparison, binding::sum, binding::sum);
      return operands("^", binding::none, binding::prefix, binding::prefix);
    case op::add:
      if (truth) return operands("!=", binding::comparison, binding::sum, binding::sum);
      if (fits) return as(binding::sum, arithmetic("+", e, binding::sum, binding::product));
      break;
    case op::sub:
      if (fits) return as(binding::sum, arithmetic("-", e, binding::sum, binding::product));
      break;
    case op::mul:
      if (truth) return operands("&&", binding::logical, binding::comparison, binding::comparison);
      if (fits) return as(binding::product, arithmetic("*", e, binding::product, binding::prefix));
      break;
    case op::div:
    case op::floor_div:
      if (divides) return operands("/", binding::product, binding::product, binding::prefix);
      break;
    case op::rem:
    case op::floor_mod:
      if (divides) return operands("%", binding::product, binding::product, binding::prefix);
      break;
    case op::min:
    case op::max:
      if (e->type == dtype::i64 && is_int(e)) return call(e->kind, dtype::i32, {a, b});
      break;
    case op::neg:
      if (fits || is_float(e->type)) return as(binding::prefix, "-" + text(a, binding::whole));
      break;
    case op::instruction:
    case op::ramp:
    case op::broadcast: k_.refuse(std::string(name(e->kind)) + " must be gone before text is printed");
    default: break;
  }
  sequence<ir::expr> arguments = {a, b, e->c};
  arguments.resize(static_cast<std::size_t>(arity(e->kind)));
  return call(e->kind, a->type, arguments);
}

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
