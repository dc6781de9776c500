#include "weft/codegen/llvm/debug_api.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {
namespace detail {
#define WEFT_LLVM_NAME(result, name, parameters) "LLVM" #name "\0"
inline constexpr char debug_names[] = WEFT_LLVM_DEBUG_FUNCTIONS(WEFT_LLVM_NAME);
#undef WEFT_LLVM_NAME

inline debug_api load_debug() {
  debug_api a{};
  char* const end = fill(reinterpret_cast<char*>(&a), load_llvm().library, debug_names, true);
  if (end != reinterpret_cast<char*>(&a + 1)) WEFT_THROW(internal_error("debug_api: names and members differ in number"));
  return a;
}
}  // namespace detail

WEFT_DECL debug_api const& load_llvm_debug() {
  llvm_use const use;
  static debug_api const functions = detail::load_debug();
  return functions;
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
