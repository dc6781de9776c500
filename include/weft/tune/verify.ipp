#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "weft/expr/evaluate.hpp"
#include "weft/expr/expand.hpp"
#include "weft/bench/measure.hpp"
#include "weft/tune/point.hpp"
#include "weft/tune/verify.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

inline std::int64_t bits_at(dtype t, char const* at) {
  auto const as = [&]<class T>(T) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<std::int64_t>(value);
  };
  switch (size_bytes(t)) {
    case 1: return is_signed_integer(t) ? as(std::int8_t{}) : as(std::uint8_t{});
    case 2: return is_signed_integer(t) ? as(std::int16_t{}) : as(std::uint16_t{});
    case 4: return is_signed_integer(t) ? as(std::int32_t{}) : as(std::uint32_t{});
    default: return as(std::int64_t{});
  }
}
inline double number(dtype t, std::int64_t bits) {
  if (t == dtype::f64) return from_bits<double>(bits);
  if (is_float(t)) return static_cast<double>(weft::detail::to_f32(t, bits));
  return static_cast<double>(bits);
}
inline double epsilon(dtype t) {
  return t == dtype::f64 ? 0x1p-52 : t == dtype::f32 ? 0x1p-23 : t == dtype::f16 ? 0x1p-10 : t == dtype::bf16 ? 0x1p-7 : 0;
}
inline double f32_at(element_list const& e, std::size_t i) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(e.bits[i]))); }
inline double largest_of(element_list const& e) {
  double largest = 0;
  auto const take = [&](double x) {
    if (x > largest && x <= 1.7e308) largest = x;
  };
  if (e.type == dtype::f32) {  // a third of what comparing took went into asking for the type of each
    for (std::size_t i = 0; i < e.bits.size(); ++i) take(std::fabs(f32_at(e, i)));
    return largest;
  }
  for (std::int64_t b : e.bits) take(std::fabs(number(e.type, b)));
  return largest;
}
/// Of what results of a type are summed in.
inline double rounding_of_sums(dtype t) { return t == dtype::f64 ? 0x1p-52 : 0x1p-23; }
inline double bound(element_list const& e, tolerance const& t) {
  if (t.bitwise || t.terms <= 1) return 0;
  if (!is_float(e.type)) return std::isinf(t.magnitude) ? HUGE_VAL : 0;
  double const largest = e.largest >= 0 ? e.largest : largest_of(e);
  return 16 * rounding_of_sums(e.type) * std::sqrt(t.terms) * (t.magnitude > largest ? t.magnitude : largest) + 2 * epsilon(e.type) * largest;
}
inline bool same(dtype t, std::int64_t a, std::int64_t b, double within, bool bitwise) {
  if (a == b || std::isinf(within)) return true;
  if (!is_float(t)) return false;
  double const x = number(t, a), y = number(t, b);
  if (std::isnan(x) && std::isnan(y)) return true;
  return !bitwise && ((within > 0 && std::fabs(x - y) <= within) || x == y);
}
inline std::string told(dtype t, std::size_t i, std::int64_t expected, std::int64_t found) {
  char text[128];
  std::snprintf(text, sizeof text, "element %zu is %.9g instead of %.9g", i, number(t, found), number(t, expected));
  return text;
}
/// The extent of axis `a` of the program in this call.
inline double extent_in_call(program const& p, argument const* arguments, int a) {
  auto const extent = [&](int tensor, int dim) {
    std::size_t place = 0;
    for (input_info const& i : p.inputs) {
      if (i.tensor == tensor) return arguments[place].extents[dim];
      ++place;
    }
    return std::int64_t(1);
  };
  std::int64_t const n = extent_value(p, program::at(p.axes, a).extent, extent);
  return n > 1 ? static_cast<double>(n) : 1;
}
/// Element `index` of a tensor in the caller's memory.
inline std::int64_t live_element(void const* context, int tensor, std::int64_t const* index) {
  argument const& a = *(*static_cast<sequence<argument const*> const*>(context))[static_cast<std::size_t>(tensor)];
  std::int64_t at = 0;
  for (int d = 0; d < a.rank; ++d) at += index[d] * a.strides[d];
  return bits_at(a.type, static_cast<char const*>(a.data) + at * size_bytes(a.type));
}
/// A float a little larger or smaller: by a part of itself, or to the next one where that is further. What is no number, or 0, stays.
inline std::int64_t nudged(dtype t, std::int64_t bits, double by) {
  if (t == dtype::f64) return to_bits(from_bits<double>(bits) * (1 + by));
  if (t == dtype::f32) return to_bits(static_cast<float>(static_cast<double>(from_bits<float>(bits)) * (1 + by)));
  if (!is_float(t) || number(t, bits) == 0 || !std::isfinite(number(t, bits))) return bits;
  std::int64_t const next = bits + (by > 0 ? 1 : -1);  // of two bytes: sign and size apart
  return number(t, next) != 0 && std::isfinite(number(t, next)) ? next : bits;
}
/// Inputs that differ from the caller's by so little: all of them up, all down, or each by the bits of a number, another one in each round.
struct nudged_inputs {
  sequence<argument const*> const* live;
  double by;
  std::uint64_t round;
  enum { up, down, each } way = each;
  static std::int64_t element(void const* context, int tensor, std::int64_t const* index) {
    auto const& its = *static_cast<nudged_inputs const*>(context);
    argument const& a = *(*its.live)[static_cast<std::size_t>(tensor)];
    if (its.way != each) return nudged(a.type, live_element(its.live, tensor, index), its.way == up ? its.by : -its.by);
    std::uint64_t mixed = its.round * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(tensor);
    for (int d = 0; d < a.rank; ++d) mixed = (mixed ^ static_cast<std::uint64_t>(index[d])) * 0xbf58476d1ce4e5b9, mixed ^= mixed >> 29;
    return nudged(a.type, live_element(its.live, tensor, index), mixed >> 40 & 1 ? its.by : -its.by);
  }
};
/// The inputs of a call, as an evaluator takes them.
struct live_inputs {
  sequence<argument const*> live;
  sequence<dense> shapes;
  sequence<std::int64_t> scalars;
  live_inputs(argument const* arguments, int inputs) {
    for (int i = 0; i < inputs; ++i) {
      argument const& a = arguments[i];
      if (a.is_scalar) scalars.push_back(a.scalar_bits);
      else live.push_back(&a), shapes.push_back({a.type, {a.extents, a.extents + a.rank}, {}});
    }
  }
};
/// Elements of a call's outputs as the program says them, from the caller's inputs where they stand. What they read of stages is kept: of a
/// normalized row the first element takes the row's sums, the next ones nothing of that.
class direct_elements {
 public:
  static constexpr std::int64_t most_points = 1500000;
  direct_elements(program const& what, bool fma, argument const* arguments, int inputs)
      : expanded_(expand(what, fma)), arguments_(arguments), given_(arguments, inputs), kept_(expanded_, given_.shapes, given_.scalars) {
    kept_.read_from({live_element, &given_.live});
  }
  direct_elements(direct_elements const&) = delete;
  direct_elements& operator=(direct_elements const&) = delete;
  /// False: it takes too long; then each further one does.
  bool element(std::size_t output, argument const& shape, std::size_t place, std::int64_t& bits) {
    stage_info const& last = program::at(expanded_.stages, program::at(expanded_.tensors, expanded_.outputs[output]).stage);
    double points = 1;
    for (int i = 0; i < last.reduced; ++i) points *= extent_in_call(expanded_, arguments_, last.first_reduced + i);
    if (points > static_cast<double>(most_points) || kept_.ran_out()) return false;  // it keeps what means nothing
    kept_.allow(most_points);
    bits = kept_.at(expanded_.outputs[output], index_of(shape, place));
    return !kept_.ran_out();
  }
  /// How many points of stages the last element took.
  std::int64_t points() const { return most_points - kept_.points_left(); }
  /// How large the sums behind an element are, as far as their rounding reaches it (tolerance::magnitude): from how far it moves when inputs are moved by
  /// what sums of so many terms may be off, as in stochastic arithmetic (Vignes, "A stochastic arithmetic for reliable scientific computation", 1993). Infinite
  /// where it moves without bounds, or to another integer: then no order of the sums is better than another. `exact`: of the element as it is.
  double magnitude(std::size_t output, argument const& shape, std::size_t place, std::int64_t exact, double terms) const {
    bool const whole = !is_float(shape.type);  // what decides about an integer is by how much it may be off, and not how far it moves
    double const sums = rounding_of_sums(shape.type), by = 16 * sums * (whole ? terms : std::sqrt(terms));
    double furthest = 0;
    for (std::uint64_t round = 1; round <= 4; ++round) {
      nudged_inputs const inputs{&given_.live, by < 0x1p-10 ? by : 0x1p-10, round, !whole || round > 2 ? nudged_inputs::each : round == 1 ? nudged_inputs::up : nudged_inputs::down};
      evaluator e(expanded_, given_.shapes, given_.scalars);
      e.read_from({nudged_inputs::element, &inputs});
      e.allow(most_points);
      std::int64_t const bits = e.at(expanded_.outputs[output], index_of(shape, place));
      if (e.ran_out()) return 0;
      if (bits == exact) continue;
      double const moved = std::fabs(number(shape.type, bits) - number(shape.type, exact));
      if (whole || !std::isfinite(moved)) return HUGE_VAL;
      if (moved > furthest) furthest = moved;
    }
    return furthest / (16 * sums);
  }

 private:
  static sequence<std::int64_t> index_of(argument const& shape, std::size_t place) {
    sequence<std::int64_t> index(static_cast<std::size_t>(shape.rank), std::int64_t{0});
    auto rest = static_cast<std::int64_t>(place);
    for (int d = shape.rank; d-- > 0;) index[static_cast<std::size_t>(d)] = rest % shape.extents[d], rest /= shape.extents[d];
    return index;
  }
  program expanded_;
  argument const* arguments_;
  live_inputs given_;
  evaluator kept_;
};
/// Where sample `n` of an output lies: the last element and the first, then in turns another corner, a place where tiles may begin or end, anywhere.
inline std::size_t sample_place(argument const& a, int n, random_numbers& random) {
  static constexpr std::int64_t tiles[] = {4, 6, 8, 12, 14, 16, 32, 48, 64, 128, 256, 1024};
  std::int64_t place = 0;
  for (int d = 0; d < a.rank; ++d) {
    std::int64_t const size = a.extents[d], any = static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(size));
    std::int64_t at = any;
    if (n < 2) at = n == 0 ? size - 1 : 0;
    else if (n % 3 == 2) at = random.below(2) != 0 ? size - 1 : 0;
    else if (n % 3 == 0 && random.below(4) != 0) {
      std::int64_t const tile = tiles[random.below(static_cast<std::int32_t>(sizeof tiles / sizeof tiles[0]))];
      std::int64_t const begin = (random.below(2) != 0 ? size : any) / tile * tile - random.below(2);  // of the tail, or of any tile
      at = begin < 0 ? 0 : begin < size ? begin : size - 1;
    }
    place = place * size + at;
  }
  return static_cast<std::size_t>(place);
}
/// Where a row's elements share work, so many samples share a row. Along the row they lie as they would without that. So a wrong tile is met by as many
/// on average, and as likely where it is as high as the rows are apart: one in 32. What is wrong in fewer rows, which are neither the first nor the last
/// nor beside a tile's border, is met less often; but each row of a tile is computed by the same instructions.
inline constexpr int samples_in_row = 8;
/// As sample_place; `row`: of the sample before, and of this one.
inline std::size_t sample_in_row(argument const& a, int n, random_numbers& random, std::size_t& row) {
  std::size_t const place = sample_place(a, n, random), length = a.rank > 0 ? static_cast<std::size_t>(a.extents[a.rank - 1]) : 1;
  if (n < samples_in_row || n % samples_in_row == 0) row = place / length;
  return row * length + place % length;
}

/// How large the numbers of a program become where its inputs are whole and at most 2 in size.
class whole_numbers {
 public:
  whole_numbers(program const& p, argument const* arguments) : p_(p), arguments_(arguments), of_tensor_(p.tensors.size(), none) {
    for (input_info const& i : p.inputs)
      if (i.tensor >= 0 && is_float(i.type)) of_tensor_[static_cast<std::size_t>(i.tensor)] = 2;
  }
  bool stay_exact() {
    for (stage_info const& s : p_.stages) {
      if (s.by != nullptr || s.results != 1 || s.scanned >= 0) return false;
      known_.assign(p_.nodes.size(), unknown);
      std::int32_t const body = p_.result(s, 0).body;
      double points = 1;
      for (int i = 0; i < s.reduced; ++i) points *= extent_in_call(p_, arguments_, s.first_reduced + i);
      double const most = s.reduced > 0 ? growth(body) * points : size(body);
      double const limit = limit_of(program::at(p_.tensors, s.tensor).type);
      if (most < 0 || most > limit) return false;
      of_tensor_[static_cast<std::size_t>(s.tensor)] = most;
    }
    return true;
  }

 private:
  static constexpr double none = -1, unknown = -2;
  static double limit_of(dtype t) {
    return t == dtype::f64 ? 0x1p53 : t == dtype::f32 ? 0x1p24 : t == dtype::f16 ? 0x1p11 : t == dtype::bf16 ? 0x1p8 : none;
  }
  static double joined_size(op kind, double a, double b) {
    if (a < 0 || b < 0) return none;
    return kind == op::mul ? a * b : kind == op::add || kind == op::sub ? a + b : a > b ? a : b;
  }
  double whole(dtype t, std::int64_t bits) const {
    double const v = is_float(t) ? number(t, bits) : none;
    return is_float(t) && v == std::floor(v) ? std::fabs(v) : none;
  }
  double size(std::int32_t id) {
    double& k = known_[static_cast<std::size_t>(id)];
    if (k != unknown) return k;
    node const& n = p_.at(id);
    double const most = of(n);
    return k = most <= limit_of(n.type) ? most : none;
  }
  double of(node const& n) {
    switch (n.kind) {
      case op::literal: return whole(n.type, n.value);
      case op::scalar: {
        std::size_t next = 0;
        std::int32_t scalar = 0;
        for (input_info const& i : p_.inputs) {
          if (i.tensor < 0 && scalar++ == n.a) return whole(n.type, arguments_[next].scalar_bits);
          ++next;
        }
        return none;
      }
      case op::load: return of_tensor_[static_cast<std::size_t>(n.a)];
      case op::neg:
      case op::abs:
      case op::cast: return size(n.a);
      case op::add:
      case op::sub:
      case op::mul:
      case op::min:
      case op::max: return joined_size(n.kind, size(n.a), size(n.b));
      case op::fma: return joined_size(op::add, joined_size(op::mul, size(n.a), size(n.b)), size(n.c));
      case op::select:
      case op::rare:
      case op::blend: return decides(n.a) ? joined_size(op::max, size(n.b), size(n.c)) : none;
      default: return none;
    }
  }
  /// Whether a condition is the same in whichever order sums are taken: it reads no rounded stage.
  bool decides(std::int32_t id) {
    node const& n = p_.at(id);
    if (n.kind == op::load) return program::at(p_.tensors, n.a).stage < 0 || of_tensor_[static_cast<std::size_t>(n.a)] >= 0;
    if (n.kind == op::self) return false;
    return (arity(n.kind) < 1 || decides(n.a)) && (arity(n.kind) < 2 || decides(n.b)) && (arity(n.kind) < 3 || decides(n.c));
  }
  /// Of a reduction's update: by how much one point may make it larger.
  double growth(std::int32_t id) {
    node const& n = p_.at(id);
    switch (n.kind) {
      case op::self: return 0;
      case op::add:
      case op::min:
      case op::max: return has_self(n.a) ? joined_size(op::add, growth(n.a), size(n.b)) : joined_size(op::add, size(n.a), growth(n.b));
      case op::sub: return joined_size(op::add, growth(n.a), size(n.b));
      case op::fma: return joined_size(op::add, joined_size(op::mul, size(n.a), size(n.b)), growth(n.c));
      case op::select:
      case op::rare:
      case op::blend: return decides(n.a) ? joined_size(op::max, growth(n.b), growth(n.c)) : none;
      default: return none;
    }
  }
  bool has_self(std::int32_t id) const {
    node const& n = p_.at(id);
    if (n.kind == op::self) return true;
    if (n.kind == op::load) return false;
    return (arity(n.kind) > 0 && has_self(n.a)) || (arity(n.kind) > 1 && has_self(n.b)) || (arity(n.kind) > 2 && has_self(n.c));
  }
  program const& p_;
  argument const* arguments_;
  sequence<double> of_tensor_, known_;
};
}  // namespace detail

WEFT_DECL double longest_reduction(program const& p, argument const* arguments) {
  double longest = 1;
  for (stage_info const& s : p.stages) {
    double terms = 1;
    for (int a = 0; a < s.axes(); ++a)
      if (program::at(p.axes, s.first_axis + a).reduced || a == s.scanned)
        terms *= detail::extent_in_call(p, arguments, s.first_axis + a);
    if (terms > longest) longest = terms;
  }
  return longest;
}

namespace detail {
/// So many elements, `pitch` bytes apart.
inline void read_row(dtype t, char const* from, std::int64_t pitch, std::int64_t count, std::int64_t* into) {
  if (t != dtype::f32 && t != dtype::i32) {
    for (std::int64_t i = 0; i < count; ++i) into[i] = bits_at(t, from + i * pitch);
    return;
  }
  bool const is_signed = t == dtype::i32;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t value;
    std::memcpy(&value, from + i * pitch, sizeof value);
    into[i] = is_signed ? static_cast<std::int64_t>(static_cast<std::int32_t>(value)) : static_cast<std::int64_t>(value);
  }
}
inline std::int64_t count_of(argument const& a) {
  std::int64_t count = 1;
  for (int d = 0; d < a.rank; ++d) count *= a.extents[d];
  return count;
}
/// Calls `row(from, first, length)` for each row of a tensor, or for several that lie behind each other: where it begins, and the number of its first
/// element. Until one of the calls is false.
template <class F>
void each_row(argument const& a, char const* data, F const& row) {
  std::int64_t const count = count_of(a), size = size_bytes(a.type);
  std::int64_t length = a.rank > 0 ? a.extents[a.rank - 1] : 1, index[max_rank] = {};
  int outer = a.rank > 0 ? a.rank - 1 : 0;
  while (outer > 0 && a.strides[outer - 1] == length * a.strides[a.rank - 1]) length *= a.extents[--outer];
  for (std::int64_t n = 0, at = 0; n < count && row(data + at * size, n, length); n += length) {
    for (int d = outer; d-- > 0;) {
      at += a.strides[d];
      if (++index[d] < a.extents[d]) break;
      at -= a.extents[d] * a.strides[d];
      index[d] = 0;
    }
  }
}
inline std::int64_t pitch_of(argument const& a) { return a.rank > 0 ? a.strides[a.rank - 1] * size_bytes(a.type) : size_bytes(a.type); }
/// How elements of one type are compared.
struct comparison {
  dtype type;
  double within;
  bool bitwise;
  comparison(element_list const& expected, tolerance const& t) : type(expected.type), within(bound(expected, t)), bitwise(t.bitwise) {}
  /// The first of so many that is not like what is expected; `count`: there is none.
  std::size_t first_unlike(std::int64_t const* expected, std::int64_t const* found, std::size_t count) const {
    auto const as_f32 = [](std::int64_t bits) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))); };
    bool const near = type == dtype::f32 && !bitwise && within > 0;  // whether bits are the same is not asked for first: that is as random as rounding is
    for (std::size_t i = 0; i < count; ++i) {
      if (near ? std::fabs(as_f32(expected[i]) - as_f32(found[i])) <= within : expected[i] == found[i]) continue;
      if (!same(type, expected[i], found[i], within, bitwise)) return i;
    }
    return count;
  }
  /// Of elements side by side, in both; false: `first_unlike` says.
  bool are_surely_like(char const* expected, char const* found, std::int64_t count) const {
    constexpr int block = 16;  // a number that is known: g++ -O2 makes vectors of that
    if (type != dtype::f32 || bitwise || within <= 0)
      return std::memcmp(expected, found, static_cast<std::size_t>(count * size_bytes(type))) == 0;
    auto const most = static_cast<float>(within * (1 - 0x1p-20));  // differences are rounded to floats here
    for (std::int64_t i = 0; i < count; i += block) {
      float a[block], b[block];
      if (count - i >= block) {
        std::memcpy(a, expected + 4 * i, sizeof a), std::memcpy(b, found + 4 * i, sizeof b);
      } else {  // the last ones, more than once if need be
        if (count < block) return std::memcmp(expected, found, static_cast<std::size_t>(4 * count)) == 0;
        std::memcpy(a, expected + 4 * (count - block), sizeof a), std::memcpy(b, found + 4 * (count - block), sizeof b);
      }
      int near = 0;
      for (int k = 0; k < block; ++k) near += std::fabs(a[k] - b[k]) <= most ? 1 : 0;
      if (near != block) return false;
    }
    return true;
  }
};
}  // namespace detail
WEFT_DECL void make_ready(element_list& e) {
  if (is_float(e.type)) e.largest = detail::largest_of(e);
  auto const size = static_cast<std::size_t>(size_bytes(e.type));
  e.bytes.resize(e.bits.size() * size);
  for (std::size_t i = 0; i < e.bits.size(); ++i) std::memcpy(e.bytes.data() + i * size, &e.bits[i], size);  // little endian
}
WEFT_DECL element_list elements_of(argument const& a, char const* data) {
  element_list e{a.type, {}};
  e.bits.resize(static_cast<std::size_t>(detail::count_of(a)));
  detail::each_row(a, data, [&](char const* from, std::int64_t first, std::int64_t length) {
    detail::read_row(a.type, from, detail::pitch_of(a), length, e.bits.data() + first);
    return true;
  });
  return e;
}
WEFT_DECL bool lets_most_pass(element_list const& expected, tolerance const& t) {
  double const within = detail::bound(expected, t);
  if (!is_float(expected.type) || within <= 0) return false;
  std::size_t small = 0, others = 0;
  for (std::int64_t b : expected.bits) {
    double const x = std::fabs(detail::number(expected.type, b));
    if (x > 0 && x <= 2 * within) ++small;
    else if (x > 0) ++others;
  }
  return small > others;
}
WEFT_DECL bool hangs_on_nans(program const& p, argument const* arguments, int count) {
  bool forgets = false, found = false;
  auto const is_self = [&](std::int32_t id) { return id >= 0 && p.at(id).kind == op::self; };
  for (node const& n : p.nodes) forgets = forgets || ((n.kind == op::max || n.kind == op::min) && is_float(n.type) && (is_self(n.a) || is_self(n.b)));
  for (int i = 0; forgets && i < count; ++i) {
    argument const& a = arguments[i];
    if (a.is_output || a.is_scalar || !is_float(a.type)) continue;
    detail::each_row(a, static_cast<char const*>(a.data), [&](char const* from, std::int64_t, std::int64_t length) {
      for (std::int64_t k = 0; k < length && !found; ++k) found = std::isnan(detail::number(a.type, detail::bits_at(a.type, from + k * detail::pitch_of(a))));
      return !found;
    });
  }
  return found;
}

WEFT_DECL std::string difference(element_list const& expected, element_list const& found, tolerance const& t, std::size_t* at) {
  std::size_t const count = expected.bits.size(), i = detail::comparison(expected, t).first_unlike(expected.bits.data(), found.bits.data(), count);
  if (i == count) return "";
  if (at != nullptr) *at = i;
  return detail::told(expected.type, i, expected.bits[i], found.bits[i]);
}
WEFT_DECL bool is_like(element_list const& expected, argument const& a, char const* data, tolerance const& t) {
  detail::comparison const how(expected, t);
  constexpr std::int64_t most = 512;  // 4 KiB, which stay in the cache
  std::int64_t part[most];
  std::int64_t const pitch = detail::pitch_of(a), size = size_bytes(a.type);
  bool const as_bytes = pitch == size && expected.bytes.size() == expected.bits.size() * static_cast<std::size_t>(size);
  bool like = detail::count_of(a) == static_cast<std::int64_t>(expected.bits.size());
  if (!like) return false;
  detail::each_row(a, data, [&](char const* from, std::int64_t first, std::int64_t length) {
    for (std::int64_t i = 0; i < length && like; i += most) {
      std::int64_t const count = length - i < most ? length - i : most;
      if (as_bytes && how.are_surely_like(expected.bytes.data() + (first + i) * size, from + i * size, count)) continue;
      detail::read_row(a.type, from + i * pitch, pitch, count, part);
      like = how.first_unlike(expected.bits.data() + first + i, part, static_cast<std::size_t>(count)) == static_cast<std::size_t>(count);
    }
    return like;
  });
  return like;
}

WEFT_DECL std::string check_samples(program const& what, bool fma, argument const* arguments, int count,
                                    sequence<element_list> const& outputs, tolerance const& t, int& checked) {
  checked = 0;
  int const inputs = count - static_cast<int>(outputs.size());
  detail::direct_elements direct(what, fma, arguments, inputs);
  sequence<double> bounds;
  std::uint64_t seed = 1;
  for (element_list const& o : outputs) bounds.push_back(detail::bound(o, t)), seed = seed * 31 + o.bits.size();
  random_numbers random(seed);
  sequence<std::size_t> rows(outputs.size(), std::size_t{0});
  double const until = bench::now_ns() + 0.2e9;
  bool in_rows = false;
  for (int n = 0; n < 256 && (n < 4 || bench::now_ns() < until); ++n)
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o].bits.empty()) continue;
      argument const& a = arguments[static_cast<std::size_t>(inputs) + o];
      std::size_t const at = in_rows ? detail::sample_in_row(a, n, random, rows[o]) : detail::sample_place(a, n, random);
      std::int64_t expected = 0;
      if (!direct.element(o, a, at, expected)) return "";
      // The last row's first element tells what another one of a row takes.
      if (std::int64_t const first = direct.points(), length = a.rank > 0 ? a.extents[a.rank - 1] : 1; n == 0 && length >= detail::samples_in_row) {
        std::int64_t unused = 0;
        if (!direct.element(o, a, at + 1 - static_cast<std::size_t>(length), unused)) return "";
        in_rows = in_rows || 4 * direct.points() <= first;
      }
      ++checked;
      if (detail::same(a.type, expected, outputs[o].bits[at], bounds[o], t.bitwise)) continue;
      tolerance wider = t;
      if (!t.bitwise && t.terms > 1) wider.magnitude = direct.magnitude(o, a, at, expected, t.terms);
      if (!detail::same(a.type, expected, outputs[o].bits[at], detail::bound(outputs[o], wider), t.bitwise))
        return detail::told(a.type, at, expected, outputs[o].bits[at]);
    }
  return "";
}

WEFT_DECL std::string check_element(program const& what, bool fma, argument const* arguments, int count, element_list const& found,
                                    int output, std::size_t at, tolerance const& t, bool& known, double* magnitude) {
  int const inputs = count - static_cast<int>(what.outputs.size());
  std::int64_t expected = 0;
  detail::direct_elements direct(what, fma, arguments, inputs);
  known = direct.element(static_cast<std::size_t>(output), arguments[inputs + output], at, expected);
  tolerance wider = t;
  double const sum = known && !t.bitwise && t.terms > 1 ? direct.magnitude(static_cast<std::size_t>(output), arguments[inputs + output], at, expected, t.terms) : 0;
  if (sum > wider.magnitude) wider.magnitude = sum;
  if (magnitude != nullptr) *magnitude = sum;
  bool const same = !known || detail::same(found.type, expected, found.bits[at], detail::bound(found, wider), t.bitwise);
  return same ? "" : detail::told(found.type, at, expected, found.bits[at]);
}

WEFT_DECL bool whole_numbers_stay_exact(program const& p, argument const* arguments) {
  return detail::whole_numbers(p, arguments).stay_exact();
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
