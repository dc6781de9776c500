#include "weft/base/node_set.hpp"
#include "weft/expr/expand.hpp"
#include "weft/expr/narrow.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// All values from `low` to `high`.
struct value_range {
  std::int64_t low = 0, high = 0;
  bool within(value_range const& other) const { return low >= other.low && high <= other.high; }
};
inline std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t larger(std::int64_t a, std::int64_t b) { return a < b ? b : a; }
/// The most or the least of an i64 where the product is none.
inline std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
  if (std::int64_t product = 0; !__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}
inline bool is_up_to_32_bits(dtype t) { return !is_float(t) && size_bytes(t) <= 4; }
inline bool is_word(dtype t) { return t == dtype::i32 || t == dtype::u32; }
/// Of a type of at most 32 bits.
inline value_range range_of(dtype t) {
  if (t == dtype::boolean) return {0, 1};
  int const bits = 8 * size_bytes(t);
  return is_signed_integer(t) ? value_range{-(std::int64_t(1) << (bits - 1)), (std::int64_t(1) << (bits - 1)) - 1} : value_range{0, (std::int64_t(1) << bits) - 1};
}

/// What the integers of a program can be, by node; where nothing is known, what their type holds. Types of more than 32 bits, and floats, have none.
class value_ranges {
 public:
  explicit value_ranges(program const& p) : p_(p) {
    for (std::size_t i = 0; i < p.nodes.size(); ++i) {
      node const& n = p.nodes[i];
      value_range known{};
      if (is_up_to_32_bits(n.type)) {
        known = range_of(n.type);
        if (value_range const found = computed(n, known); found.within(known)) known = found;
      }
      of_.push_back(known);
    }
  }
  value_range const& operator[](int id) const { return program::at(of_, id); }

 private:
  value_range of(int id) const { return program::at(of_, id); }
  bool is_known(int id) const { return id >= 0 && is_up_to_32_bits(p_.at(id).type); }
  value_range computed(node const& n, value_range all) const {
    if (n.kind == op::literal) return {n.value, n.value};
    if (arity(n.kind) == 0 || is_comparison(n.kind)) return all;
    if (is_choice(n.kind)) {
      value_range const b = of(n.b), c = of(n.c);
      return {lesser(b.low, c.low), larger(b.high, c.high)};
    }
    if (!is_known(n.a) || (arity(n.kind) == 2 && !is_known(n.b))) return all;
    value_range const a = of(n.a), b = arity(n.kind) == 2 ? of(n.b) : value_range{};
    bool const number = arity(n.kind) == 2 && p_.at(n.b).kind == op::literal;
    switch (n.kind) {
      case op::cast: return a;
      case op::neg: return {-a.high, -a.low};
      case op::add: return blended(n, {a.low + b.low, a.high + b.high});
      case op::sub: return {a.low - b.high, a.high - b.low};
      case op::mul: return of_corners(a, b);
      case op::min: return {lesser(a.low, b.low), lesser(a.high, b.high)};
      case op::max: return {larger(a.low, b.low), larger(a.high, b.high)};
      case op::div: return number && b.low > 0 ? value_range{a.low / b.low, a.high / b.low} : all;
      case op::floor_div: return number && b.low > 0 ? value_range{floor_div(a.low, b.low), floor_div(a.high, b.low)} : all;
      case op::rem: return number && b.low > 0 ? value_range{a.low < 0 ? 1 - b.low : 0, b.low - 1} : all;
      case op::floor_mod: return number && b.low > 0 ? value_range{0, b.low - 1} : all;
      case op::shl: return number && b.low >= 0 && b.low < 31 ? of_corners(a, {std::int64_t(1) << b.low, std::int64_t(1) << b.low}) : all;
      case op::shr: return number && b.low >= 0 && b.low < 32 ? value_range{a.low >> b.low, a.high >> b.low} : all;
      case op::bit_and:
        if (a.low < 0 && b.low < 0) return all;
        return {0, a.low < 0 ? b.high : b.low < 0 ? a.high : lesser(a.high, b.high)};
      case op::bit_or:
      case op::bit_xor: {
        if (a.low < 0 || b.low < 0) return all;
        std::int64_t bits = 1;
        while (bits <= a.high || bits <= b.high) bits *= 2;
        return {0, bits - 1};
      }
      default: return all;
    }
  }
  static value_range of_corners(value_range a, value_range b) {
    value_range r{INT64_MAX, INT64_MIN};
    for (std::int64_t x : {a.low, a.high})
      for (std::int64_t y : {b.low, b.high}) r = {lesser(r.low, saturated_product(x, y)), larger(r.high, saturated_product(x, y))};
    return r;
  }
  /// x * w + y * (n - w), of a number n and w from 0 to n: n times what lies between x and y.
  value_range blended(node const& n, value_range sum) const {
    node const a = p_.at(n.a), b = p_.at(n.b);
    if (a.kind != op::mul || b.kind != op::mul) return sum;
    for (int const w : {a.a, a.b})
      for (int const rest : {b.a, b.b}) {
        value_range const x = of(w == a.a ? a.b : a.a), y = of(rest == b.a ? b.b : b.a);
        for (bool const turned : {false, true}) {
          node const difference = p_.at(turned ? w : rest);
          int const weight = turned ? rest : w;
          if (difference.kind != op::sub || p_.at(difference.a).kind != op::literal || !are_written_alike(p_, difference.b, weight)) continue;
          std::int64_t const whole = p_.at(difference.a).value;
          if (value_range const between = of(weight); between.low < 0 || between.high > whole) continue;
          return {larger(sum.low, saturated_product(whole, lesser(x.low, y.low))), lesser(sum.high, saturated_product(whole, larger(x.high, y.high)))};
        }
      }
    return sum;
  }

  program const& p_;
  sequence<value_range> of_;
};

/// The few bits of a node that is cast or compared. `none`: it stays in its own.
enum class few_bits : std::uint8_t { none, u8, i8, u16, i16 };
inline constexpr few_bits all_few_bits[] = {few_bits::u8, few_bits::i8, few_bits::u16, few_bits::i16};
inline dtype type_of(few_bits f) { return f == few_bits::u8 ? dtype::u8 : f == few_bits::i8 ? dtype::i8 : f == few_bits::u16 ? dtype::u16 : dtype::i16; }

class narrowing {
 public:
  explicit narrowing(program const& p) : p_(p), ranges_(p) {
    for (few_bits f : all_few_bits) find_computable(f);
    choose();
  }
  program narrowed() {
    bool any = false;
    for (few_bits f : chosen_) any = any || f != few_bits::none;
    if (!any) return p_;
    program to = p_;
    to.nodes.clear();
    at_ = sequence<std::int32_t>(p_.nodes.size(), -1);
    for (auto& made : made_) made = sequence<std::int32_t>(p_.nodes.size(), -1);
    auto const mapped = [&](int id) { return id < 0 ? -1 : at_[static_cast<std::size_t>(id)]; };
    for (std::size_t i = 0; i < p_.nodes.size(); ++i) {
      node n = p_.nodes[i];
      few_bits const f = chosen_[i];
      if (f != few_bits::none && n.kind == op::cast) {
        at_[i] = as(to, n.type, make(to, n.a, f));
        continue;
      }
      if (f != few_bits::none) n.a = make(to, n.a, f), n.b = make(to, n.b, f);
      else if (arity(n.kind) > 0) n.a = mapped(n.a), n.b = mapped(n.b), n.c = mapped(n.c);
      at_[i] = to.add(n);
    }
    renumber(to, mapped);
    return to;
  }

 private:
  bool is_computable(int id, few_bits f) const { return computable_[static_cast<std::size_t>(f)][static_cast<std::size_t>(id)]; }
  /// Not only its low bits: what they say is the value.
  bool is_exact(int id, few_bits f) const { return is_computable(id, f) && ranges_[id].within(range_of(type_of(f))); }
  bool is_cast_of_narrow(node const& n) const { return n.kind == op::cast && !is_float(p_.at(n.a).type) && size_bytes(p_.at(n.a).type) <= 2; }

  /// Whether the low bits of a node can be computed in so many.
  bool computable(node const& n, few_bits f) const {
    if (!is_word(n.type)) return false;
    bool const wide = size_bytes(type_of(f)) == 2;  // no machine multiplies, divides or shifts bytes
    auto const is_number = [&](std::int64_t least, std::int64_t most) { return p_.at(n.b).kind == op::literal && p_.at(n.b).value >= least && p_.at(n.b).value <= most; };
    switch (n.kind) {
      case op::literal: return true;
      case op::cast: return is_cast_of_narrow(n) || (is_word(p_.at(n.a).type) && is_computable(n.a, f));
      case op::neg: return is_computable(n.a, f);
      case op::add:
      case op::sub:
      case op::bit_and:
      case op::bit_or:
      case op::bit_xor: return is_computable(n.a, f) && is_computable(n.b, f);
      case op::mul: return wide && is_computable(n.a, f) && is_computable(n.b, f);
      case op::shl: return wide && is_number(0, 15) && is_computable(n.a, f);
      case op::shr: return wide && is_number(0, 15) && is_exact(n.a, f);
      case op::div:
      case op::rem:
      case op::floor_div:
      case op::floor_mod: return wide && is_number(1, range_of(type_of(f)).high) && is_exact(n.a, f);
      case op::min:
      case op::max: return is_exact(n.a, f) && is_exact(n.b, f);
      case op::select: return is_computable(n.b, f) && is_computable(n.c, f);
      default: return false;
    }
  }
  void find_computable(few_bits f) {
    sequence<bool>& known = computable_[static_cast<std::size_t>(f)];
    for (node const& n : p_.nodes) known.push_back(computable(n, f));
  }
  few_bits wanted(node const& n) const {
    if (n.kind == op::cast && !is_float(n.type) && n.type != dtype::boolean && size_bytes(n.type) <= 2 && is_word(p_.at(n.a).type)) {
      if (is_leaf(n.a)) return few_bits::none;
      for (few_bits f : all_few_bits)
        if (size_bytes(type_of(f)) >= size_bytes(n.type) && is_computable(n.a, f)) return f;
    }
    if (is_comparison(n.kind) && is_word(p_.at(n.a).type) && !(p_.at(n.a).kind == op::literal && p_.at(n.b).kind == op::literal))
      for (few_bits f : all_few_bits)
        if (is_exact(n.a, f) && is_exact(n.b, f)) return f;
    return few_bits::none;
  }
  bool is_leaf(int id) const { return p_.at(id).kind == op::literal || is_cast_of_narrow(p_.at(id)); }

  /// Calls f(node) for what is computed between the operands of a node and their leaves, once each.
  template <class F>
  void each_inside(node const& root, F const& f) const {
    node_set met;
    sequence<std::int32_t> next;
    auto const reach = [&](int id) {
      if (!is_leaf(id) && met.add(id)) next.push_back(id);
    };
    for (reach(root.a), root.kind == op::cast ? void() : reach(root.b); !next.empty();) {
      int const id = next.back();
      next.pop_back();
      f(id);
      node const& n = p_.at(id);
      if (n.kind != op::select) reach(n.a);
      if (arity(n.kind) > 1) reach(n.b);
      if (arity(n.kind) > 2) reach(n.c);
    }
  }
  /// In few bits is what is wanted in no others: else it would be computed twice. Terms of reductions stay as they are, as instructions know them.
  void choose() {
    for (node const& n : p_.nodes) chosen_.push_back(wanted(n));
    for (stage_info const& s : p_.stages)
      for (int r = 0; r < s.results && (s.reduced > 0 || s.scanned >= 0); ++r) keep_all_of(p_.result(s, r));
    while (drop_what_is_wanted_twice()) {}
  }
  void keep_all_of(result_info const& r) {
    node_set met;
    sequence<std::int32_t> next;
    auto const reach = [&](int id) {
      if (id >= 0 && met.add(id)) next.push_back(id);
    };
    for (reach(r.body), reach(r.merged); !next.empty();) {
      int const id = next.back();
      next.pop_back();
      chosen_[static_cast<std::size_t>(id)] = few_bits::none;
      node const& n = p_.at(id);
      if (arity(n.kind) > 0) reach(n.a), reach(n.b), reach(n.c);
    }
  }
  bool drop_what_is_wanted_twice() {
    sequence<bool> own(p_.nodes.size(), false);  // wanted in its own type
    auto const want = [&](int id) {
      if (id >= 0) own[static_cast<std::size_t>(id)] = true;
    };
    for (std::int32_t i : p_.operands) want(i);
    for (result_info const& r : p_.results) want(r.body), want(r.merged);
    for (std::size_t i = p_.nodes.size(); i-- > 0;) {
      node const& n = p_.nodes[i];
      if (!own[i] || arity(n.kind) == 0) continue;
      if (chosen_[i] == few_bits::none) want(n.a), want(n.b), want(n.c);
      else
        each_inside(n, [&](int id) {
          if (p_.at(id).kind == op::select) want(p_.at(id).a);
        });
    }
    bool dropped = false;
    for (std::size_t i = 0; i < p_.nodes.size(); ++i) {
      if (chosen_[i] == few_bits::none) continue;
      bool twice = !own[i];
      each_inside(p_.nodes[i], [&](int id) { twice = twice || own[static_cast<std::size_t>(id)]; });
      if (twice) chosen_[i] = few_bits::none, dropped = true;
    }
    return dropped;
  }
  static int as(program& to, dtype type, int id) { return to.at(id).type == type ? id : to.operation(op::cast, type, id); }
  int make(program& to, int id, few_bits f) {
    std::int32_t& known = made_[static_cast<std::size_t>(f)][static_cast<std::size_t>(id)];
    if (known < 0) known = made(to, id, f);
    return known;
  }
  int made(program& to, int id, few_bits f) {
    node const& n = p_.at(id);
    dtype const type = type_of(f);
    if (n.kind == op::literal) return to.literal(type, wrapped(type, n.value));
    if (is_cast_of_narrow(n)) return as(to, type, at_[static_cast<std::size_t>(n.a)]);
    if (n.kind == op::cast) return make(to, n.a, f);
    int const a = n.kind == op::select ? at_[static_cast<std::size_t>(n.a)] : make(to, n.a, f), b = arity(n.kind) > 1 ? make(to, n.b, f) : -1,
              c = arity(n.kind) > 2 ? make(to, n.c, f) : -1;
    return to.operation(n.kind, type, a, b, c);
  }

  program const& p_;
  value_ranges ranges_;
  sequence<bool> computable_[5];
  sequence<few_bits> chosen_;
  sequence<std::int32_t> at_, made_[5];
};
}  // namespace detail

WEFT_DECL program in_few_bits(program const& p) {
  bool any = false;
  for (tensor_info const& t : p.tensors) any = any || (!is_float(t.type) && size_bytes(t.type) <= 2);
  return any ? detail::narrowing(p).narrowed() : p;
}

}  // namespace weft::inline WEFT_ABI
