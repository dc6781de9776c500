#include <bit>

#include "weft/base/op.hpp"
#include "weft/codegen/cuda/types.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

WEFT_DECL std::string_view type_name(dtype t) {
  if (t == dtype::boolean) return "bool";
  if (t == dtype::f32) return "float";
  if (t == dtype::f64) return "double";
  constexpr std::string_view with_sign[] = {"signed char", "short", "int", "long long"};
  constexpr std::string_view without[] = {"unsigned char", "unsigned short", "unsigned", "unsigned long long"};
  auto const width = std::countr_zero(static_cast<unsigned>(size_bytes(t)));
  return (is_signed_integer(t) ? with_sign : without)[width];
}

namespace detail {
inline std::string hex(std::uint64_t v, int digits) {
  std::string s;
  for (int i = digits - 1; i >= 0; --i) s += "0123456789abcdef"[v >> (4 * i) & 15];
  return s;
}
// By hand, for printf's %a writes the point of the user's locale.
inline std::string float_literal(std::int64_t bits, bool single) {
  int const mantissa_bits = single ? 23 : 52, bias = single ? 127 : 1023;
  auto const u = single ? static_cast<std::uint32_t>(bits) : static_cast<std::uint64_t>(bits);
  std::uint64_t const mantissa = u & ((std::uint64_t(1) << mantissa_bits) - 1);
  int const exponent = static_cast<int>(u >> mantissa_bits) & (2 * bias + 1);
  if (exponent == 2 * bias + 1)
    return single ? "__int_as_float(" + std::to_string(static_cast<std::int32_t>(u)) + ")"
                  : "__longlong_as_double((long long)0x" + hex(u, 16) + "ULL)";
  double const value = single ? double(from_bits<float>(bits)) : from_bits<double>(bits);
  std::string const sign = u >> (single ? 31 : 63) ? "-" : "", suffix = single ? "f" : "";
  double const size = value < 0 ? -value : value;
  if (size < 1e6 && size == double(static_cast<int>(size)))
    return sign + std::to_string(static_cast<int>(size)) + ".0" + suffix;
  std::string digits = single ? hex(mantissa << 1, 6) : hex(mantissa, 13);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  std::string const power = std::to_string(exponent == 0 ? 1 - bias : exponent - bias);
  return sign + (exponent == 0 ? "0x0." : "0x1.") + digits + "p" + power + suffix;
}
inline bool reserved(std::string const& name) {
  // Names of the language, of CUDA, and macros that compilers predefine.
  static constexpr std::string_view words =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class"
      " co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype"
      " default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline"
      " int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public"
      " register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch"
      " template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile"
      " wchar_t while xor xor_eq typeof blockIdx blockDim threadIdx gridDim warpSize unix linux NULL ";
  return words.find(" " + name + " ") != std::string_view::npos;
}
}  // namespace detail

WEFT_DECL std::string literal(dtype t, std::int64_t bits, bool typed) {
  if (t == dtype::boolean) return bits != 0 ? "true" : "false";
  if (is_float(t) && !is_half(t)) return detail::float_literal(bits, t == dtype::f32);
  if (t == dtype::u32) return std::to_string(bits) + "U";
  if (t == dtype::u64) return std::to_string(static_cast<std::uint64_t>(bits)) + "ULL";
  std::string const suffix = t == dtype::i64 && typed ? "LL" : "";
  bool const lowest = t == dtype::i32 ? bits == INT32_MIN : bits == INT64_MIN;  // its digits alone do not fit
  if (lowest) return "(" + std::to_string(bits + 1) + suffix + " - 1)";
  return std::to_string(bits) + suffix;
}

WEFT_DECL std::string names::unique(std::string_view wanted) {
  std::string base;
  for (char c : wanted) {
    bool const digit = c >= '0' && c <= '9', letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (base.empty() && !letter) base = "x";  // also before an underscore: such names belong to the compiler
    if (c != '_' || base.back() != '_') base += digit || letter ? c : '_';
  }
  if (base.empty() || base.substr(0, 5) == "weft_") base = "x" + base;  // weft_ is the prelude's
  if (slots_.empty()) slots_.resize(256, -1);
  auto const is_free = [this](std::string const& name) { return !detail::reserved(name) && slots_[slot_of(name)] < 0; };
  std::int32_t const same = slots_[slot_of(base)];
  std::int32_t suffix = same >= 0 ? next_[static_cast<std::size_t>(same)] : 2;
  std::string candidate = base;
  for (; !is_free(candidate); ++suffix) candidate = base + (base.back() == '_' ? "" : "_") + std::to_string(suffix);
  if (same >= 0) next_[static_cast<std::size_t>(same)] = suffix;
  take(candidate);
  return candidate;
}
/// Where `name` is, or would be.
WEFT_DECL std::size_t names::slot_of(std::string_view name) const {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  for (std::size_t at = hash % slots_.size();; at = (at + 1) % slots_.size())
    if (slots_[at] < 0 || taken_[static_cast<std::size_t>(slots_[at])] == name) return at;
}
WEFT_DECL void names::take(std::string const& name) {
  slots_[slot_of(name)] = static_cast<std::int32_t>(taken_.size());
  taken_.push_back(name);
  next_.push_back(2);
  if (2 * taken_.size() <= slots_.size()) return;
  slots_ = sequence<std::int32_t>(2 * slots_.size(), -1);
  for (std::size_t i = 0; i < taken_.size(); ++i) slots_[slot_of(taken_[i])] = static_cast<std::int32_t>(i);
}

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
