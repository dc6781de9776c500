#include <cmath>
#include <cstdio>
#include <cstring>

#include "weft/expr/evaluate.hpp"
#include "weft/expr/expand.hpp"
#include "weft/schedule/placement.hpp"
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
inline double bound(element_list const& e, tolerance const& t) {
  if (t.bitwise || !is_float(e.type) || t.terms <= 1) return 0;
  double largest = 0;
  for (std::int64_t b : e.bits)
    if (double const x = std::fabs(number(e.type, b)); x > largest && x <= 1.7e308) largest = x;
  double const sums = e.type == dtype::f64 ? 0x1p-52 : 0x1p-23;
  return (16 * sums * std::sqrt(t.terms) + 2 * epsilon(e.type)) * largest;
}
inline bool same(dtype t, std::int64_t a, std::int64_t b, double within, bool bitwise) {
  if (a == b) return true;
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
/// What one element of a stage costs to evaluate from the inputs alone, in terms; 1e18 at most.
inline double terms_of(program const& p, argument const* arguments, int stage, sequence<double>& known) {
  double& k = known[static_cast<std::size_t>(stage)];
  if (k > 0) return k;
  stage_info const& s = program::at(p.stages, stage);
  double points = 1, each = 1;
  for (int a = 0; a < s.axes(); ++a) {
    bool const walked = program::at(p.axes, s.first_axis + a).reduced || a == s.scanned;
    if (walked) points *= extent_in_call(p, arguments, s.first_axis + a);
  }
  sequence<sequence<std::int32_t>> const readers = weft::detail::readers_of(p);
  for (std::size_t r = 0; r < readers.size() && static_cast<int>(r) < stage; ++r)
    for (std::int32_t by : readers[r])
      if (by == stage) each += 2 * terms_of(p, arguments, static_cast<int>(r), known);
  k = points * each;
  return k < 1e18 ? k : k = 1e18;
}
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

WEFT_DECL element_list elements_of(argument const& a, char const* data) {
  element_list e{a.type, {}};
  std::int64_t count = 1, index[max_rank] = {};
  for (int d = 0; d < a.rank; ++d) count *= a.extents[d];
  e.bits.reserve(static_cast<std::size_t>(count));
  std::int64_t const size = size_bytes(a.type);
  for (std::int64_t n = 0, at = 0; n < count; ++n) {
    e.bits.push_back(detail::bits_at(a.type, data + at * size));
    for (int d = a.rank; d-- > 0;) {
      at += a.strides[d];
      if (++index[d] < a.extents[d]) break;
      at -= a.extents[d] * a.strides[d];
      index[d] = 0;
    }
  }
  return e;
}

WEFT_DECL std::string difference(element_list const& expected, element_list const& found, tolerance const& t) {
  double const within = detail::bound(expected, t);
  for (std::size_t i = 0; i < expected.bits.size(); ++i)
    if (!detail::same(expected.type, expected.bits[i], found.bits[i], within, t.bitwise))
      return detail::told(expected.type, i, expected.bits[i], found.bits[i]);
  return "";
}

WEFT_DECL std::string check_samples(program const& what, bool fma, argument const* arguments, int count,
                                    sequence<element_list> const& outputs, tolerance const& t, int& checked) {
  checked = 0;
  int const inputs = count - static_cast<int>(outputs.size());
  std::int64_t elements = 0;
  for (int i = 0; i < inputs; ++i) {
    std::int64_t n = 1;
    for (int d = 0; d < arguments[i].rank; ++d) n *= arguments[i].extents[d];
    elements += n;
  }
  sequence<double> known(what.stages.size(), 0.0);
  double each = 0;
  for (std::int32_t o : what.outputs)
    each += detail::terms_of(what, arguments, program::at(what.tensors, o).stage, known);
  if (elements > (std::int64_t(1) << 24) || each > 2e6) return "";
  sequence<dense> tensors;
  sequence<std::int64_t> scalars;
  for (int i = 0; i < inputs; ++i) {
    argument const& a = arguments[i];
    if (a.is_scalar) {
      scalars.push_back(a.scalar_bits);
      continue;
    }
    dense d{a.type, {a.extents, a.extents + a.rank}, elements_of(a, static_cast<char const*>(a.data)).bits};
    tensors.push_back(static_cast<dense&&>(d));
  }
  program const expanded = expand(what, fma);
  evaluator e(expanded, tensors, scalars);
  sequence<double> bounds;
  for (element_list const& o : outputs) bounds.push_back(detail::bound(o, t));
  random_numbers random(elements > 0 ? static_cast<std::uint64_t>(elements) : 1);
  double const until = bench::now_ns() + 0.5e9;
  for (int n = 0; n < 64 && (n < 8 || bench::now_ns() < until); ++n)
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      argument const& a = arguments[static_cast<std::size_t>(inputs) + o];
      std::size_t const size = outputs[o].bits.size();
      if (size == 0) continue;
      // The corners first: tails are there.
      std::size_t const at = n == 0 ? 0 : n == 1 ? size - 1 : static_cast<std::size_t>(random.next() % size);
      sequence<std::int64_t> index(static_cast<std::size_t>(a.rank), std::int64_t{0});
      std::int64_t rest = static_cast<std::int64_t>(at);
      for (int d = a.rank; d-- > 0;) index[static_cast<std::size_t>(d)] = rest % a.extents[d], rest /= a.extents[d];
      std::int64_t const expected = e.at(expanded.outputs[o], index);
      ++checked;
      if (!detail::same(a.type, expected, outputs[o].bits[at], bounds[o], t.bitwise))
        return detail::told(a.type, at, expected, outputs[o].bits[at]);
    }
  return "";
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
