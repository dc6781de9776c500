#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/matrix.hpp"
#include "weft/schedule/intrinsic.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

namespace detail {
inline constexpr matrix_form matrix_forms[] = {
    {"f16_f32", "m16n16k16", "f16", "f32", "f32.f32", 8, 8, true},
    {"f16_f16", "m16n16k16", "f16", "f16", "f16.f16", 8, 4, false},
    {"bf16_f32", "m16n16k16", "bf16", "f32", "f32.bf16.bf16.f32", 4, 8, true},
    {"tf32_f32", "m16n16k8", "tf32", "f32", "f32.tf32.tf32.f32", 4, 8, true},
    {"s8_s32", "m16n16k16", "s8", "s32", "s32.s8.s8.s32", 2, 8, false},
    {"u8_s32", "m16n16k16", "u8", "s32", "s32.u8.u8.s32", 2, 8, false},
};
/// Elements of an array as operands of inline PTX: "=f"(c.x[0]), "=f"(c.x[1]), ..
inline std::string operands(char const* constraint, char const* array, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += joined({i > 0 ? ", " : "", "\"", constraint, "\"(", array, "[", std::to_string(i), "])"});
  return text;
}
/// {%first, %(first + 1), ..}
inline std::string places(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += joined({i > 0 ? ", " : "", "%", std::to_string(first + i)});
  return text + "}";
}
/// Not for the host, whose shim has its own.
inline std::string for_gpu(std::string const& definition) { return joined({"#ifdef __CUDACC__\n", definition, "#endif\n"}); }
inline std::string element_of(std::string_view type) {
  return type == "f16" || type == "bf16" ? "unsigned short" : type == "s8" ? "signed char" : type == "u8" ? "unsigned char" : type == "s32" ? "int" : "float";
}
inline std::string prefix(matrix_form const& f) { return joined({"weft_wmma_", f.name}); }
}  // namespace detail

WEFT_DECL matrix_form const& matrix_form_of(intrinsic const& unit) {
  for (matrix_form const& f : detail::matrix_forms)
    if (f.name == unit.forms[0].function) return f;
  WEFT_THROW(internal_error(joined({"no CUDA text of ", unit.name})));
}
WEFT_DECL prelude_function fragment_type(matrix_form const& f, char which) {
  std::string const name = detail::prefix(f) + "_" + which;
  bool const sum = which == 'c';
  return {name, detail::for_gpu(joined({"struct ", name, " { ", sum && f.float_sum ? "float" : "unsigned", " x[",
                                        std::to_string(sum ? f.sum_words : f.operand_words), "]; };\n"}))};
}
WEFT_DECL prelude_function tile_function(matrix_form const& f, ir::tile_role role, bool row, bool second_row, bool shared) {
  using detail::operands, detail::places;
  std::string const prefix = detail::prefix(f), layout = row ? "row" : "col", sum = detail::element_of(f.sum), word = f.float_sum ? "f" : "r";
  std::string const head = "static __device__ __forceinline__ void ", n = std::to_string(f.sum_words);
  prelude_function r;
  switch (role) {
    case ir::tile_role::fill: {
      r.name = prefix + "_fill";
      std::string const value = f.sum == "f16" ? "(unsigned)v << 16 | v" : f.float_sum ? "v" : "(unsigned)v";
      r.definition = joined({head, r.name, "(", prefix, "_c& c, ", sum, " v) {\n  for (int i = 0; i < ", n, "; ++i) c.x[i] = ", value, ";\n}\n"});
      break;
    }
    case ir::tile_role::load_a:
    case ir::tile_role::load_b: {
      char const* const which = role == ir::tile_role::load_a ? "a" : "b";
      int const words = f.operand_words;
      r.name = joined({prefix, "_load_", which, "_", layout, shared ? "_shared" : ""});
      // No register is known to be what was loaded before: memory has changed.
      r.definition = joined({head, r.name, "(", prefix, "_", which, "& f, ", detail::element_of(f.operand), " const* p, int stride) {\n",
                             "  asm volatile(\"wmma.load.", which, ".sync.aligned.", layout, ".", f.shape, shared ? ".shared." : ".", f.operand, " ", places(0, words),
                             ", [%", std::to_string(words), "], %", std::to_string(words + 1), ";\" : ", operands("=r", "f.x", words),
                             shared ? " : \"r\"((unsigned)__cvta_generic_to_shared(p))" : " : \"l\"(p)", ", \"r\"(stride) : \"memory\");\n"});
      if (f.operand == "tf32")  // to nearest; the unit itself would cut
        r.definition += joined({"  for (int i = 0; i < ", std::to_string(words), "; ++i) asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(f.x[i]) : \"f\"(__int_as_float((int)f.x[i])));\n"});
      r.definition += "}\n";
      break;
    }
    case ir::tile_role::multiply: {
      int const c = f.sum_words, o = f.operand_words;
      r.name = joined({prefix, "_multiply_", layout, "_", second_row ? "row" : "col"});
      r.definition = joined({head, r.name, "(", prefix, "_c& c, ", prefix, "_a const& a, ", prefix, "_b const& b) {\n",
                             "  asm volatile(\"wmma.mma.sync.aligned.", layout, ".", second_row ? "row" : "col", ".", f.shape, ".", f.types, " ",
                             places(0, c), ", ", places(c, o), ", ", places(c + o, o), ", ", places(0, c), ";\" : ",
                             operands(f.float_sum ? "+f" : "+r", "c.x", c), " : ", operands("r", "a.x", o), ", ", operands("r", "b.x", o), ");\n}\n"});
      break;
    }
    case ir::tile_role::store: {
      r.name = joined({prefix, "_store_", layout});
      r.definition = joined({head, r.name, "(", sum, "* p, ", prefix, "_c const& c, int stride) {\n", "  asm volatile(\"wmma.store.d.sync.aligned.",
                             layout, ".", f.shape, ".", f.sum, " [%0], ", places(2, f.sum_words), ", %1;\" :: \"l\"(p), \"r\"(stride), ",
                             operands(word.c_str(), "c.x", f.sum_words), " : \"memory\");\n}\n"});
      break;
    }
  }
  r.definition = detail::for_gpu(r.definition);
  return r;
}

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
