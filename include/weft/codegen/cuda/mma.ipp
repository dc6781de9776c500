#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/mma.hpp"
#include "weft/codegen/cuda/types.hpp"
#include "weft/schedule/intrinsic.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

namespace detail {
inline constexpr mma_form mma_forms[] = {
    {"f16_f32", "m16n8k16", "f32.f16.f16.f32", dtype::f16, dtype::f32, 16},
    {"f16_f16", "m16n8k16", "f16.f16.f16.f16", dtype::f16, dtype::f16, 16},
    {"bf16_f32", "m16n8k16", "f32.bf16.bf16.f32", dtype::bf16, dtype::f32, 16},
    {"tf32_f32", "m16n8k8", "f32.tf32.tf32.f32", dtype::f32, dtype::f32, 8},
    {"s8_s32", "m16n8k32", "s32.s8.s8.s32", dtype::i8, dtype::i32, 32},
    {"u8_s32", "m16n8k32", "s32.u8.u8.s32", dtype::u8, dtype::i32, 32},
};
/// Elements of an array from `first` on, as operands of inline PTX: "+f"(c.x[4]), "+f"(c.x[5]), ..
inline std::string some_operands(char const* constraint, char const* array, int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += joined({i > 0 ? ", " : "", "\"", constraint, "\"(", array, "[", std::to_string(first + i), "])"});
  return text;
}
inline std::string some_places(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += joined({i > 0 ? ", " : "", "%", std::to_string(first + i)});
  return text + "}";
}
inline std::string mma_prefix(mma_form const& f) { return joined({"weft_mma_", f.name}); }
/// Half of the tile: columns 8 `half` and on.
inline std::string mma_instruction(mma_form const& f, int half) {
  int const c = f.sum_words() / 2;
  char const* const sums = f.sum == dtype::f32 ? "+f" : "+r";
  return joined({"  asm volatile(\"mma.sync.aligned.", f.shape, ".row.col.", f.types, " ", some_places(0, c), ", ", some_places(c, 4), ", ",
                 some_places(c + 4, 2), ", ", some_places(0, c), ";\" : ", some_operands(sums, "c.x", half * c, c), " : ",
                 some_operands("r", "a.x", 0, 4), ", ", some_operands("r", "b.x", half * 2, 2), ");\n"});
}
/// One instruction in 11 bits, to nearest; the unit itself would cut.
inline std::string rounded_to_tf32(mma_form const& f) {
  if (f.operand != dtype::f32) return "";
  return "  for (int r = 0; r < 4; ++r) {\n"
         "#ifdef __CUDA_ARCH__\n"
         "    asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(f.x[r]) : \"f\"(__int_as_float((int)f.x[r])));\n"
         "#else\n"
         "    f.x[r] = shim_f32_to_tf32(f.x[r]);\n"
         "#endif\n"
         "  }\n";
}
}  // namespace detail

WEFT_DECL mma_form const& mma_form_of(intrinsic const& unit) {
  for (mma_form const& f : detail::mma_forms)
    if (f.name == unit.forms[0].function) return f;
  WEFT_THROW(internal_error(joined({"no CUDA text of ", unit.name})));
}
WEFT_DECL prelude_function mma_fragment(mma_form const& f, char which) {
  std::string const name = detail::mma_prefix(f) + "_" + which;
  char const* const word = which != 'c' || f.sum == dtype::f16 ? "unsigned" : f.sum == dtype::f32 ? "float" : "int";
  return {name, joined({"struct ", name, " { ", word, " x[", std::to_string(which == 'c' ? f.sum_words() : 4), "]; };\n"})};
}
WEFT_DECL prelude_function mma_place() {
  return {"weft_mma_place",
          "static __device__ __forceinline__ int weft_mma_row(int p) { return (threadIdx.x >> 2 & 7) + (p & 1) * 8; }\n"
          "static __device__ __forceinline__ int weft_mma_column(int p) { return (threadIdx.x & 3) * 2 + (p >> 1) * 8; }\n"};
}
WEFT_DECL prelude_function ldmatrix(bool turned) {
  std::string const name = turned ? "weft_ldmatrix_turned" : "weft_ldmatrix";
  // No register is known to be what was loaded before: memory has changed.
  return {name, joined({"static __device__ __forceinline__ void ", name, "(unsigned (&x)[4], void const* row) {\n"
                        "#ifdef __CUDA_ARCH__\n"
                        "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x4", turned ? ".trans" : "",
                        ".shared.b16 {%0, %1, %2, %3}, [%4];\" : \"=r\"(x[0]), \"=r\"(x[1]), \"=r\"(x[2]), \"=r\"(x[3]) : "
                        "\"r\"((unsigned)__cvta_generic_to_shared(row)) : \"memory\");\n"
                        "#else\n"
                        "  shim_ldmatrix(x, row, ", turned ? "true" : "false", ");\n"
                        "#endif\n"
                        "}\n"})};
}
WEFT_DECL prelude_function mma_function(mma_form const& f, ir::tile_role role, bool by_ldmatrix, bool row, ir::swizzle const& z) {
  using detail::mma_prefix;
  std::string const prefix = mma_prefix(f), head = "static __device__ __forceinline__ void ";
  std::string const element(type_name(f.operand)), sum(type_name(f.sum));
  prelude_function r;
  switch (role) {
    case ir::tile_role::fill:
      r.name = prefix + "_fill";
      r.definition = joined({head, r.name, "(", prefix, "_c& c, ", sum, " v) {\n  for (int i = 0; i < ", std::to_string(f.sum_words()),
                             "; ++i) c.x[i] = ", f.sum == dtype::f16 ? "(unsigned)v << 16 | v" : "v", ";\n}\n"});
      break;
    case ir::tile_role::multiply:
      r.name = prefix + "_multiply";
      r.definition = joined({head, r.name, "(", prefix, "_c& c, ", prefix, "_a const& a, ", prefix, "_b const& b) {\n#ifdef __CUDA_ARCH__\n",
                             detail::mma_instruction(f, 0), detail::mma_instruction(f, 1), "#else\n  shim_mma_", f.name,
                             "(c.x, a.x, b.x);\n#endif\n}\n"});
      break;
    case ir::tile_role::load_a:
    case ir::tile_role::load_b: {
      bool const is_a = role == ir::tile_role::load_a;
      std::string const which = is_a ? "a" : "b", begin = joined({"_", which, "(", prefix, "_", which, "& f, ", element, " const* p, "});
      if (by_ldmatrix) {
        // The four matrices in the order of the registers: rows then terms of the left one, terms then columns of the right one.
        bool const turned = is_a ? !row : row, whole = row;
        std::string const chunk = std::to_string(16 / size_bytes(f.operand));
        std::string const down = whole ? "(lane & 15)" : "((lane & 7) + (lane >> 4) * 8)", across = whole ? "(lane >> 4)" : "(lane >> 3 & 1)";
        if (z.phases > 1) {
          r.name = joined({prefix, "_ldmatrix_", which, row ? "_row" : "_col", "_swizzled_", std::to_string(z.rows), "x", std::to_string(z.phases)});
          r.definition = joined({head, r.name, "(", prefix, "_", which, "& f, ", element, " const* p, int row, int column, int stride) {\n"
                                 "  int const lane = threadIdx.x & 31, down = ", down, ", unit = (column / ", chunk, " + ", across, ") ^ ((row + down) / ",
                                 std::to_string(z.rows), " & ", std::to_string(z.phases - 1), ");\n  ", ldmatrix(turned).name, "(f.x, p + down * stride + unit * ",
                                 chunk, ");\n", detail::rounded_to_tf32(f), "}\n"});
          break;
        }
        r.name = joined({prefix, "_ldmatrix_", which, row ? "_row" : "_col"});
        r.definition = joined({head, prefix, "_ldmatrix_", which, row ? "_row" : "_col", "(", prefix, "_", which, "& f, ", element,
                               " const* p, int stride) {\n  int const lane = threadIdx.x & 31;\n  ", ldmatrix(turned).name, "(f.x, p + ",
                               down, " * stride + ", across, " * ", chunk, ");\n", detail::rounded_to_tf32(f), "}\n"});
        break;
      }
      std::string const packed = std::to_string(f.packed()), half = std::to_string(f.terms / 2);
      r.name = joined({prefix, "_load_", which});
      r.definition = joined({head, prefix, "_load", begin, "long long outer, long long terms) {\n  int const lane = threadIdx.x & 31;\n"
                             "  for (int r = 0; r < 4; ++r) {\n    int const i = (lane >> 2) + (r ", is_a ? "& 1" : ">> 1", ") * 8, k = (lane & 3) * ", packed,
                             " + (r ", is_a ? ">> 1" : "& 1", ") * ", half, ";\n    f.x[r] = 0;\n    for (int e = 0; e < ", packed,
                             "; ++e) f.x[r] |= ",
                             f.operand == dtype::f32 ? "(unsigned)__float_as_int(p[i * outer + (k + e) * terms])"
                             : f.packed() == 2       ? "(unsigned)p[i * outer + (k + e) * terms] << 16 * e"
                                                     : "(unsigned)(unsigned char)p[i * outer + (k + e) * terms] << 8 * e",
                             ";\n  }\n", detail::rounded_to_tf32(f), "}\n"});
      break;
    }
    case ir::tile_role::store: break;  // written out
  }
  return r;
}

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
