#include "weft/codegen/cuda/prelude.hpp"
#include "weft/codegen/cuda/types.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

namespace detail {
// In the bodies, T is the type, U its unsigned one (at least as wide as int), M the mask of shift amounts.
inline std::string_view integer_body(op kind, bool is_signed) {
  switch (kind) {
    case op::neg: return "return ($T)(($U)0 - ($U)a);";
    case op::add: return "return ($T)(($U)a + ($U)b);";
    case op::sub: return "return ($T)(($U)a - ($U)b);";
    case op::mul: return "return ($T)(($U)a * ($U)b);";
    case op::fma: return "return ($T)(($U)a * ($U)b + ($U)c);";
    case op::shl: return "return ($T)(($U)a << (b & $M));";
    case op::shr: return "return ($T)(a >> (b & $M));";
    default: break;
  }
  bool const quotient = kind == op::div || kind == op::floor_div, down = kind >= op::floor_div;
  if (kind < op::div || kind > op::floor_mod) return {};
  if (!is_signed) return quotient ? "return ($T)(b == 0 ? 0 : a / b);" : "return ($T)(b == 0 ? 0 : a % b);";
  if (!down)
    return quotient ? "return b == 0 ? 0 : b == -1 ? ($T)(($U)0 - ($U)a) : a / b;"
                    : "return b == 0 || b == -1 ? 0 : a % b;";
  return quotient ? "if (b == 0 || b == -1) return b == 0 ? 0 : ($T)(($U)0 - ($U)a);\n"
                    "  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));"
                  : "if (b == 0 || b == -1) return 0;\n"
                    "  return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);";
}
inline std::string_view float_body(op kind, bool single) {
  switch (kind) {
    case op::add: return single ? "return __fadd_rn(a, b);" : "return __dadd_rn(a, b);";
    case op::sub: return single ? "return __fsub_rn(a, b);" : "return __dsub_rn(a, b);";
    case op::mul: return single ? "return __fmul_rn(a, b);" : "return __dmul_rn(a, b);";
    case op::div: return single ? "return __fdiv_rn(a, b);" : "return __ddiv_rn(a, b);";
    case op::fma: return single ? "return __fmaf_rn(a, b, c);" : "return __fma_rn(a, b, c);";
    case op::sqrt: return single ? "return __fsqrt_rn(a);" : "return __dsqrt_rn(a);";
    case op::floor: return single ? "return floorf(a);" : "return floor(a);";
    case op::ceil: return single ? "return ceilf(a);" : "return ceil(a);";
    case op::trunc: return single ? "return truncf(a);" : "return trunc(a);";
    case op::round: return single ? "return rintf(a);" : "return rint(a);";
    default: return {};
  }
}
// One more than the highest is a power of two, exact in f32 too; as is the lowest.
inline std::string saturating_body(dtype from, dtype to) {
  std::string const f = from == dtype::f32 ? "f" : "";
  bool const negative = is_signed_integer(to);
  std::string const limit = "0x1p" + std::to_string(8 * size_bytes(to) - negative) + f;
  std::int64_t const highest = converted(dtype::f64, to, infinity_bits(dtype::f64));
  std::int64_t const lowest = negative ? -1 - highest : 0;
  return "if (!(a == a)) return 0;\n  if (a <= " + (negative ? "-" + limit : "0.0" + f) + ") return " +
         literal(to, lowest) + ";\n  if (a >= " + limit + ") return " + literal(to, highest) + ";\n  return (" +
         std::string(type_name(to)) + ")a;";
}
inline std::string fill(std::string_view body, dtype type) {
  std::string out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '$') {
      out += body[i];
      continue;
    }
    char const what = body[++i];
    if (what == 'T') out += type_name(type);
    if (what == 'U') out += size_bytes(type) == 8 ? "unsigned long long" : "unsigned";
    if (what == 'M') out += std::to_string(size_bytes(type) * 8 - 1);
  }
  return out;
}
}  // namespace detail

WEFT_DECL prelude_function prelude(op kind, dtype type, dtype to) {
  std::string body;
  if ((kind == op::min || kind == op::max) && !is_half(type))
    body = kind == op::min ? "return a < b ? a : b;" : "return a > b ? a : b;";
  else if (kind == op::cast)
    body = detail::saturating_body(type, to);
  else if (is_half(type))
    return {};
  else if (is_float(type))
    body = detail::float_body(kind, type == dtype::f32);
  else if (is_integer(type))
    body = detail::fill(detail::integer_body(kind, is_signed_integer(type)), type);
  if (body.empty()) return {};

  prelude_function r;
  bool const convert = kind == op::cast;
  r.name = convert ? "weft_" + std::string(name(type)) + "_to_" + std::string(name(to))
                   : "weft_" + std::string(name(kind)) + "_" + std::string(name(type));
  std::string const t(type_name(type)), result(type_name(convert ? to : type));
  r.definition = "static __device__ __forceinline__ " + result + " " + r.name + "(" + t + " a";
  if (arity(kind) > 1) r.definition += ", " + t + " b";
  if (arity(kind) > 2) r.definition += ", " + t + " c";
  r.definition += ") {\n  " + body + "\n}\n";
  return r;
}

WEFT_DECL prelude_function f16_conversion(dtype to) {
  if (to == dtype::f32)
    return {"weft_f16_to_f32",
            "static __device__ __forceinline__ float weft_f16_to_f32(unsigned short a) {\n"
            "  float r;\n"
            "#ifdef __CUDA_ARCH__\n"
            "  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(a));\n"
            "#else\n"
            "  r = shim_f16_to_f32(a);\n"
            "#endif\n"
            "  return r;\n}\n"};
  return {"weft_f32_to_f16",
          "static __device__ __forceinline__ unsigned short weft_f32_to_f16(float a) {\n"
          "  unsigned short r;\n"
          "#ifdef __CUDA_ARCH__\n"
          "  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a));\n"
          "#else\n"
          "  r = shim_f32_to_f16(a);\n"
          "#endif\n"
          "  return r;\n}\n"};
}
WEFT_DECL prelude_function exchange_function(dtype type) {
  prelude_function r;
  r.name = "weft_exchange_" + std::string(name(type));
  std::string const t(type_name(type)), shuffled = "__shfl_xor_sync(0xffffffffu, ";
  bool const narrow = size_bytes(type) < 4;  // CUDA shuffles words of 32 and 64 bits
  r.definition = "static __device__ __forceinline__ " + t + " " + r.name + "(" + t + " a, int distance) {\n  return ";
  if (type == dtype::boolean) r.definition += shuffled + "(int)a, distance) != 0";
  else r.definition += narrow ? "(" + t + ")" + shuffled + "(int)a, distance)" : shuffled + "a, distance)";
  r.definition += ";\n}\n";
  return r;
}
WEFT_DECL prelude_function row_type(dtype type, int lanes) {
  prelude_function r;
  r.name = "weft_" + std::string(name(type)) + "x" + std::to_string(lanes);
  r.definition = "struct __align__(" + std::to_string(lanes * size_bytes(type)) + ") " + r.name + " {\n  " +
                 std::string(type_name(type)) + " ";
  for (int l = 0; l < lanes; ++l) r.definition += (l > 0 ? ", e" : "e") + std::to_string(l);
  r.definition += ";\n};\n";
  return r;
}

WEFT_DECL prelude_function view_type() {
  return {"weft_view",
          "template <class T, int Rank>\n"
          "struct weft_view {\n"
          "  T* data;\n"
          "  long long extents[Rank > 0 ? Rank : 1], strides[Rank > 0 ? Rank : 1];\n"
          "  __device__ long long extent(int d) const { return extents[d]; }\n"
          "  __device__ long long stride(int d) const { return strides[d]; }\n"
          "  template <class... Index>\n"
          "  __device__ T& operator()(Index... index) const {\n"
          "    static_assert(sizeof...(Index) == Rank, \"one index per dimension\");\n"
          "    long long const all[] = {(long long)index..., 0};\n"
          "    long long at = 0;\n"
          "    for (int d = 0; d < Rank; ++d) at += all[d] * strides[d];\n"
          "    return data[at];\n"
          "  }\n"
          "};\n"};
}

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
