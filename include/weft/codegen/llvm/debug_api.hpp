// LLVM's functions for debug information, which few programs need: see api.hpp.
#pragma once

#include "weft/codegen/llvm/api.hpp"

struct LLVMOpaqueDIBuilder;

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

using debug_builder_ref = ::LLVMOpaqueDIBuilder*;

// clang-format off
#define WEFT_LLVM_DEBUG_CONSTANTS(X)                                                                    \
  X(ModuleFlagBehaviorWarning, 1) X(DIFlagZero, 0) X(DWARFSourceLanguageC99, 11)                        \
  X(DWARFEmissionFull, 1)
#define WEFT_LLVM_DEBUG_FUNCTIONS(X)                                                                    \
  X(value_ref, ConstStringInContext2, (context_ref, text, std::size_t, int))                            \
  X(debug_builder_ref, CreateDIBuilder, (module_ref))                                                   \
  X(void, DisposeDIBuilder, (debug_builder_ref))                                                        \
  X(void, DIBuilderFinalize, (debug_builder_ref))                                                       \
  X(metadata_ref, DIBuilderCreateFile, (debug_builder_ref, text, std::size_t, text, std::size_t))       \
  X(metadata_ref, DIBuilderCreateCompileUnit, (debug_builder_ref, unsigned, metadata_ref, text,         \
                                               std::size_t, int, text, std::size_t, unsigned, text,     \
                                               std::size_t, unsigned, unsigned, int, int, text,         \
                                               std::size_t, text, std::size_t))                         \
  X(metadata_ref, DIBuilderCreateSubroutineType, (debug_builder_ref, metadata_ref, metadata_ref*,       \
                                                  unsigned, unsigned))                                  \
  X(metadata_ref, DIBuilderCreateFunction, (debug_builder_ref, metadata_ref, text, std::size_t, text,   \
                                            std::size_t, metadata_ref, unsigned, metadata_ref, int,     \
                                            int, unsigned, unsigned, int))                              \
  X(metadata_ref, DIBuilderCreateDebugLocation, (context_ref, unsigned, unsigned, metadata_ref,         \
                                                 metadata_ref))                                         \
  X(void, SetSubprogram, (value_ref, metadata_ref))                                                     \
  X(void, SetCurrentDebugLocation2, (builder_ref, metadata_ref))                                        \
  X(void, AddModuleFlag, (module_ref, unsigned, text, std::size_t, metadata_ref))
// clang-format on

#define WEFT_LLVM_CONSTANT(name, value) name = value,
enum debug_constant : unsigned { WEFT_LLVM_DEBUG_CONSTANTS(WEFT_LLVM_CONSTANT) };
#undef WEFT_LLVM_CONSTANT

struct debug_api {
#define WEFT_LLVM_MEMBER(result, name, parameters) result(*name) parameters;
  WEFT_LLVM_DEBUG_FUNCTIONS(WEFT_LLVM_MEMBER)
#undef WEFT_LLVM_MEMBER
};

/// Of the process's LLVM. Errors: as load_llvm. Threads: any.
debug_api const& load_llvm_debug();

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/llvm/debug_api.ipp"
#endif
