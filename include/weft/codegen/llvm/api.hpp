// LLVM's C interface as weft uses it: the only file that names LLVM's functions.
//
// Nothing is linked and no LLVM header is included: the functions are declared here once, as a list, and filled
// by dlsym when first needed. A test compares every line of both lists with the real headers of LLVM 19 and 22.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/base/error.hpp"

// LLVM's own tags, so that these are the real types where a program includes LLVM's headers too.
struct LLVMOpaqueAttributeRef;
struct LLVMOpaqueBasicBlock;
struct LLVMOpaqueBuilder;
struct LLVMOpaqueContext;
struct LLVMOpaqueDiagnosticInfo;
struct LLVMOpaqueError;
struct LLVMOpaqueMemoryBuffer;
struct LLVMOpaqueMetadata;
struct LLVMOpaqueModule;
struct LLVMOpaquePassBuilderOptions;
struct LLVMOpaqueTargetData;
struct LLVMOpaqueTargetMachine;
struct LLVMOpaqueType;
struct LLVMOpaqueValue;
struct LLVMOrcOpaqueExecutionSession;
struct LLVMOrcOpaqueJITDylib;
struct LLVMOrcOpaqueJITTargetMachineBuilder;
struct LLVMOrcOpaqueLLJIT;
struct LLVMOrcOpaqueLLJITBuilder;
struct LLVMOrcOpaqueResourceTracker;
struct LLVMOrcOpaqueSymbolStringPoolEntry;
struct LLVMTarget;

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

using attribute_ref = ::LLVMOpaqueAttributeRef*;
using block_ref = ::LLVMOpaqueBasicBlock*;
using builder_ref = ::LLVMOpaqueBuilder*;
using context_ref = ::LLVMOpaqueContext*;
using diagnostic_ref = ::LLVMOpaqueDiagnosticInfo*;
using error_ref = ::LLVMOpaqueError*;
using buffer_ref = ::LLVMOpaqueMemoryBuffer*;
using metadata_ref = ::LLVMOpaqueMetadata*;
using module_ref = ::LLVMOpaqueModule*;
using pass_options_ref = ::LLVMOpaquePassBuilderOptions*;
using data_layout_ref = ::LLVMOpaqueTargetData*;
using machine_ref = ::LLVMOpaqueTargetMachine*;
using target_ref = ::LLVMTarget*;
using type_ref = ::LLVMOpaqueType*;
using value_ref = ::LLVMOpaqueValue*;
using session_ref = ::LLVMOrcOpaqueExecutionSession*;
using dylib_ref = ::LLVMOrcOpaqueJITDylib*;
using jit_machine_ref = ::LLVMOrcOpaqueJITTargetMachineBuilder*;
using lljit_ref = ::LLVMOrcOpaqueLLJIT*;
using lljit_builder_ref = ::LLVMOrcOpaqueLLJITBuilder*;
using tracker_ref = ::LLVMOrcOpaqueResourceTracker*;
using symbol_ref = ::LLVMOrcOpaqueSymbolStringPoolEntry*;
using text = char const*;

// ORC's structs have no tags to declare; these have the same layout.
struct search_element {
  dylib_ref dylib;
  unsigned flags;
};
struct lookup_element {
  symbol_ref name;
  unsigned flags;
};
struct symbol_address {
  symbol_ref name;
  std::uint64_t address;
  std::uint8_t generic_flags, target_flags;
};

using diagnostic_handler = void (*)(diagnostic_ref, void* user);
using error_reporter = void (*)(void* user, error_ref);
using lookup_handler = void (*)(error_ref, symbol_address* found, std::size_t count, void* user);

/// Every enumerator that weft uses: X(name without LLVM, value).
// clang-format off
#define WEFT_LLVM_CONSTANTS(X)                                                                          \
  X(IntEQ, 32) X(IntNE, 33) X(IntUGT, 34) X(IntUGE, 35) X(IntULT, 36) X(IntULE, 37) X(IntSGT, 38)       \
  X(IntSGE, 39) X(IntSLT, 40) X(IntSLE, 41) X(RealOEQ, 1) X(RealOGT, 2) X(RealOGE, 3) X(RealOLT, 4)     \
  X(RealOLE, 5) X(RealONE, 6) X(RealORD, 7) X(RealUNO, 8) X(RealUEQ, 9) X(RealUGT, 10) X(RealUGE, 11)   \
  X(RealULT, 12) X(RealULE, 13) X(RealUNE, 14) X(FastMathAllowReassoc, 1) X(FastMathNoNaNs, 2)          \
  X(FastMathNoInfs, 4) X(FastMathNoSignedZeros, 8) X(FastMathAllowReciprocal, 16)                       \
  X(FastMathAllowContract, 32) X(ExternalLinkage, 0) X(InternalLinkage, 8) X(PrivateLinkage, 9)         \
  X(DefaultVisibility, 0) X(HiddenVisibility, 1) X(GlobalUnnamedAddr, 2)                                \
  X(AttributeReturnIndex, 0) X(AttributeFunctionIndex, 0xffffffffu) X(DSError, 0) X(DSWarning, 1)       \
  X(AtomicOrderingAcquire, 4) X(AtomicOrderingRelease, 5) X(AtomicOrderingSequentiallyConsistent, 7)    \
  X(ReturnStatusAction, 2) X(CodeGenLevelNone, 0) X(CodeGenLevelLess, 1) X(CodeGenLevelDefault, 2)      \
  X(CodeGenLevelAggressive, 3) X(RelocStatic, 1) X(RelocPIC, 2) X(CodeModelDefault, 0)                  \
  X(CodeModelSmall, 3) X(AssemblyFile, 0) X(ObjectFile, 1) X(OrcLookupKindStatic, 0)                    \
  X(OrcJITDylibLookupFlagsMatchExportedSymbolsOnly, 0) X(OrcSymbolLookupFlagsRequiredSymbol, 0)
// clang-format on

#define WEFT_LLVM_CONSTANT(name, value) name = value,
enum constant : unsigned { WEFT_LLVM_CONSTANTS(WEFT_LLVM_CONSTANT) };
#undef WEFT_LLVM_CONSTANT

/// Every function that weft uses: X(result, name without LLVM, parameters). LLVM's enums are `unsigned`, its
/// LLVMBool is `int`.
// clang-format off
#define WEFT_LLVM_FUNCTIONS(X)                                                                          \
  /* contexts and modules */                                                                            \
  X(void, GetVersion, (unsigned*, unsigned*, unsigned*))                                                \
  X(context_ref, ContextCreate, (void))                                                                 \
  X(void, ContextDispose, (context_ref))                                                                \
  X(void, ContextSetDiagnosticHandler, (context_ref, diagnostic_handler, void*))                        \
  X(void, ContextSetDiscardValueNames, (context_ref, int))                                              \
  X(char*, GetDiagInfoDescription, (diagnostic_ref))                                                    \
  X(unsigned, GetDiagInfoSeverity, (diagnostic_ref))                                                    \
  X(module_ref, ModuleCreateWithNameInContext, (text, context_ref))                                     \
  X(void, DisposeModule, (module_ref))                                                                  \
  X(void, SetTarget, (module_ref, text))                                                                \
  X(void, SetModuleDataLayout, (module_ref, data_layout_ref))                                           \
  X(char*, PrintModuleToString, (module_ref))                                                           \
  X(void, DisposeMessage, (char*))                                                                      \
  X(int, VerifyModule, (module_ref, unsigned, char**))                                                  \
  /* types */                                                                                           \
  X(type_ref, VoidTypeInContext, (context_ref))                                                         \
  X(type_ref, Int1TypeInContext, (context_ref))                                                         \
  X(type_ref, Int8TypeInContext, (context_ref))                                                         \
  X(type_ref, Int16TypeInContext, (context_ref))                                                        \
  X(type_ref, Int32TypeInContext, (context_ref))                                                        \
  X(type_ref, Int64TypeInContext, (context_ref))                                                        \
  X(type_ref, IntTypeInContext, (context_ref, unsigned))                                                \
  X(type_ref, HalfTypeInContext, (context_ref))                                                         \
  X(type_ref, BFloatTypeInContext, (context_ref))                                                       \
  X(type_ref, FloatTypeInContext, (context_ref))                                                        \
  X(type_ref, DoubleTypeInContext, (context_ref))                                                       \
  X(type_ref, PointerTypeInContext, (context_ref, unsigned))                                            \
  X(type_ref, VectorType, (type_ref, unsigned))                                                         \
  X(type_ref, ArrayType2, (type_ref, std::uint64_t))                                                    \
  X(type_ref, StructTypeInContext, (context_ref, type_ref*, unsigned, int))                             \
  X(type_ref, FunctionType, (type_ref, type_ref*, unsigned, int))                                       \
  X(type_ref, TypeOf, (value_ref))                                                                      \
  /* constants */                                                                                       \
  X(value_ref, ConstInt, (type_ref, unsigned long long, int))                                           \
  X(value_ref, ConstReal, (type_ref, double))                                                           \
  X(value_ref, ConstNull, (type_ref))                                                                   \
  X(value_ref, ConstAllOnes, (type_ref))                                                                \
  X(value_ref, ConstVector, (value_ref*, unsigned))                                                     \
  X(value_ref, ConstBitCast, (value_ref, type_ref))                                                     \
  X(value_ref, GetPoison, (type_ref))                                                                   \
  X(value_ref, GetUndef, (type_ref))                                                                    \
  /* functions, globals, attributes */                                                                  \
  X(value_ref, AddFunction, (module_ref, text, type_ref))                                               \
  X(value_ref, GetNamedFunction, (module_ref, text))                                                    \
  X(value_ref, AddGlobal, (module_ref, type_ref, text))                                                 \
  X(void, SetInitializer, (value_ref, value_ref))                                                       \
  X(void, SetGlobalConstant, (value_ref, int))                                                          \
  X(void, SetLinkage, (value_ref, unsigned))                                                            \
  X(void, SetVisibility, (value_ref, unsigned))                                                         \
  X(void, SetUnnamedAddress, (value_ref, unsigned))                                                     \
  X(value_ref, GetParam, (value_ref, unsigned))                                                         \
  X(unsigned, CountParams, (value_ref))                                                                 \
  X(unsigned, CountParamTypes, (type_ref))                                                              \
  X(void, GetParamTypes, (type_ref, type_ref*))                                                         \
  X(void, SetValueName2, (value_ref, text, std::size_t))                                                \
  X(attribute_ref, CreateEnumAttribute, (context_ref, unsigned, std::uint64_t))                         \
  X(attribute_ref, CreateTypeAttribute, (context_ref, unsigned, type_ref))                              \
  X(attribute_ref, CreateStringAttribute, (context_ref, text, unsigned, text, unsigned))                \
  X(unsigned, GetEnumAttributeKindForName, (text, std::size_t))                                         \
  X(void, AddAttributeAtIndex, (value_ref, unsigned, attribute_ref))                                    \
  X(void, AddCallSiteAttribute, (value_ref, unsigned, attribute_ref))                                   \
  X(void, AddTargetDependentFunctionAttr, (value_ref, text, text))                                      \
  X(unsigned, LookupIntrinsicID, (text, std::size_t))                                                   \
  X(value_ref, GetIntrinsicDeclaration, (module_ref, unsigned, type_ref*, std::size_t))                 \
  X(type_ref, IntrinsicGetType, (context_ref, unsigned, type_ref*, std::size_t))                        \
  /* blocks and the builder */                                                                          \
  X(block_ref, AppendBasicBlockInContext, (context_ref, value_ref, text))                               \
  X(block_ref, GetInsertBlock, (builder_ref))                                                           \
  X(block_ref, GetEntryBasicBlock, (value_ref))                                                         \
  X(value_ref, GetBasicBlockParent, (block_ref))                                                        \
  X(value_ref, GetBasicBlockTerminator, (block_ref))                                                    \
  X(void, MoveBasicBlockAfter, (block_ref, block_ref))                                                  \
  X(builder_ref, CreateBuilderInContext, (context_ref))                                                 \
  X(void, DisposeBuilder, (builder_ref))                                                                \
  X(void, PositionBuilderAtEnd, (builder_ref, block_ref))                                               \
  X(void, PositionBuilderBefore, (builder_ref, value_ref))                                              \
  /* arithmetic */                                                                                      \
  X(value_ref, BuildAdd, (builder_ref, value_ref, value_ref, text))                                     \
  X(value_ref, BuildSub, (builder_ref, value_ref, value_ref, text))                                     \
  X(value_ref, BuildMul, (builder_ref, value_ref, value_ref, text))                                     \
  X(value_ref, BuildNSWAdd, (builder_ref, value_ref, value_ref, text))                                  \
  X(value_ref, BuildNSWSub, (builder_ref, value_ref, value_ref, text))                                  \
  X(value_ref, BuildNSWMul, (builder_ref, value_ref, value_ref, text))                                  \
  X(value_ref, BuildSDiv, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildUDiv, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildSRem, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildURem, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildFAdd, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildFSub, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildFMul, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildFDiv, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildFRem, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildAnd, (builder_ref, value_ref, value_ref, text))                                     \
  X(value_ref, BuildOr, (builder_ref, value_ref, value_ref, text))                                      \
  X(value_ref, BuildXor, (builder_ref, value_ref, value_ref, text))                                     \
  X(value_ref, BuildShl, (builder_ref, value_ref, value_ref, text))                                     \
  X(value_ref, BuildLShr, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildAShr, (builder_ref, value_ref, value_ref, text))                                    \
  X(value_ref, BuildNeg, (builder_ref, value_ref, text))                                                \
  X(value_ref, BuildNot, (builder_ref, value_ref, text))                                                \
  X(value_ref, BuildFNeg, (builder_ref, value_ref, text))                                               \
  X(value_ref, BuildFreeze, (builder_ref, value_ref, text))                                             \
  X(value_ref, BuildICmp, (builder_ref, unsigned, value_ref, value_ref, text))                          \
  X(value_ref, BuildFCmp, (builder_ref, unsigned, value_ref, value_ref, text))                          \
  X(value_ref, BuildSelect, (builder_ref, value_ref, value_ref, value_ref, text))                       \
  X(value_ref, BuildZExt, (builder_ref, value_ref, type_ref, text))                                     \
  X(value_ref, BuildSExt, (builder_ref, value_ref, type_ref, text))                                     \
  X(value_ref, BuildTrunc, (builder_ref, value_ref, type_ref, text))                                    \
  X(value_ref, BuildFPToSI, (builder_ref, value_ref, type_ref, text))                                   \
  X(value_ref, BuildFPToUI, (builder_ref, value_ref, type_ref, text))                                   \
  X(value_ref, BuildSIToFP, (builder_ref, value_ref, type_ref, text))                                   \
  X(value_ref, BuildUIToFP, (builder_ref, value_ref, type_ref, text))                                   \
  X(value_ref, BuildFPExt, (builder_ref, value_ref, type_ref, text))                                    \
  X(value_ref, BuildFPTrunc, (builder_ref, value_ref, type_ref, text))                                  \
  X(value_ref, BuildBitCast, (builder_ref, value_ref, type_ref, text))                                  \
  X(value_ref, BuildIntToPtr, (builder_ref, value_ref, type_ref, text))                                 \
  X(value_ref, BuildPtrToInt, (builder_ref, value_ref, type_ref, text))                                 \
  X(value_ref, BuildIntCast2, (builder_ref, value_ref, type_ref, int, text))                            \
  /* memory, vectors, control */                                                                        \
  X(value_ref, BuildGEP2, (builder_ref, type_ref, value_ref, value_ref*, unsigned, text))               \
  X(value_ref, BuildInBoundsGEP2, (builder_ref, type_ref, value_ref, value_ref*, unsigned, text))       \
  X(value_ref, BuildStructGEP2, (builder_ref, type_ref, value_ref, unsigned, text))                     \
  X(value_ref, BuildLoad2, (builder_ref, type_ref, value_ref, text))                                    \
  X(value_ref, BuildStore, (builder_ref, value_ref, value_ref))                                         \
  X(value_ref, BuildAlloca, (builder_ref, type_ref, text))                                              \
  X(value_ref, BuildFence, (builder_ref, unsigned, int, text))                                          \
  X(value_ref, BuildInsertElement, (builder_ref, value_ref, value_ref, value_ref, text))                \
  X(value_ref, BuildExtractElement, (builder_ref, value_ref, value_ref, text))                          \
  X(value_ref, BuildShuffleVector, (builder_ref, value_ref, value_ref, value_ref, text))                \
  X(value_ref, BuildPhi, (builder_ref, type_ref, text))                                                 \
  X(void, AddIncoming, (value_ref, value_ref*, block_ref*, unsigned))                                   \
  X(value_ref, BuildBr, (builder_ref, block_ref))                                                       \
  X(value_ref, BuildCondBr, (builder_ref, value_ref, block_ref, block_ref))                             \
  X(value_ref, BuildRet, (builder_ref, value_ref))                                                      \
  X(value_ref, BuildRetVoid, (builder_ref))                                                             \
  X(value_ref, BuildUnreachable, (builder_ref))                                                         \
  X(value_ref, BuildCall2, (builder_ref, type_ref, value_ref, value_ref*, unsigned, text))              \
  X(void, SetAlignment, (value_ref, unsigned))                                                          \
  X(void, SetFastMathFlags, (value_ref, unsigned))                                                      \
  X(void, SetNUW, (value_ref, int))                                                                     \
  X(void, SetNSW, (value_ref, int))                                                                     \
  X(void, SetVolatile, (value_ref, int))                                                                \
  /* metadata */                                                                                        \
  X(metadata_ref, MDStringInContext2, (context_ref, text, std::size_t))                                 \
  X(metadata_ref, MDNodeInContext2, (context_ref, metadata_ref*, std::size_t))                          \
  X(metadata_ref, TemporaryMDNode, (context_ref, metadata_ref*, std::size_t))                           \
  X(metadata_ref, ValueAsMetadata, (value_ref))                                                         \
  X(value_ref, MetadataAsValue, (context_ref, metadata_ref))                                            \
  X(void, MetadataReplaceAllUsesWith, (metadata_ref, metadata_ref))                                     \
  X(unsigned, GetMDKindIDInContext, (context_ref, text, unsigned))                                      \
  X(void, SetMetadata, (value_ref, unsigned, value_ref))                                                \
  /* machines, passes, objects */                                                                       \
  X(char*, GetDefaultTargetTriple, (void))                                                              \
  X(char*, GetHostCPUName, (void))                                                                      \
  X(char*, GetHostCPUFeatures, (void))                                                                  \
  X(int, GetTargetFromTriple, (text, target_ref*, char**))                                              \
  X(machine_ref, CreateTargetMachine, (target_ref, text, text, text, unsigned, unsigned, unsigned))     \
  X(void, DisposeTargetMachine, (machine_ref))                                                          \
  X(data_layout_ref, CreateTargetDataLayout, (machine_ref))                                             \
  X(void, DisposeTargetData, (data_layout_ref))                                                         \
  X(int, TargetMachineEmitToMemoryBuffer, (machine_ref, module_ref, unsigned, char**, buffer_ref*))     \
  X(buffer_ref, CreateMemoryBufferWithMemoryRangeCopy, (text, std::size_t, text))                       \
  X(text, GetBufferStart, (buffer_ref))                                                                 \
  X(std::size_t, GetBufferSize, (buffer_ref))                                                           \
  X(void, DisposeMemoryBuffer, (buffer_ref))                                                            \
  X(pass_options_ref, CreatePassBuilderOptions, (void))                                                 \
  X(void, DisposePassBuilderOptions, (pass_options_ref))                                                \
  X(error_ref, RunPasses, (module_ref, text, machine_ref, pass_options_ref))                            \
  X(char*, GetErrorMessage, (error_ref))                                                                \
  X(void, DisposeErrorMessage, (char*))                                                                 \
  X(void, ConsumeError, (error_ref))                                                                    \
  /* linking */                                                                                         \
  X(lljit_builder_ref, OrcCreateLLJITBuilder, (void))                                                   \
  X(void, OrcLLJITBuilderSetJITTargetMachineBuilder, (lljit_builder_ref, jit_machine_ref))              \
  X(jit_machine_ref, OrcJITTargetMachineBuilderCreateFromTargetMachine, (machine_ref))                  \
  X(error_ref, OrcCreateLLJIT, (lljit_ref*, lljit_builder_ref))                                         \
  X(error_ref, OrcDisposeLLJIT, (lljit_ref))                                                            \
  X(session_ref, OrcLLJITGetExecutionSession, (lljit_ref))                                              \
  X(void, OrcExecutionSessionSetErrorReporter, (session_ref, error_reporter, void*))                    \
  X(dylib_ref, OrcExecutionSessionCreateBareJITDylib, (session_ref, text))                              \
  X(error_ref, OrcLLJITAddObjectFileWithRT, (lljit_ref, tracker_ref, buffer_ref))                       \
  X(tracker_ref, OrcJITDylibCreateResourceTracker, (dylib_ref))                                         \
  X(error_ref, OrcResourceTrackerRemove, (tracker_ref))                                                 \
  X(void, OrcReleaseResourceTracker, (tracker_ref))                                                     \
  X(symbol_ref, OrcLLJITMangleAndIntern, (lljit_ref, text))                                             \
  X(void, OrcReleaseSymbolStringPoolEntry, (symbol_ref))                                                \
  X(void, OrcExecutionSessionLookup, (session_ref, unsigned, search_element*, std::size_t,              \
                                      lookup_element*, std::size_t, lookup_handler, void*))

/// Functions that an LLVM built for fewer machines lacks; null there.
#define WEFT_LLVM_TARGET_FUNCTIONS(X)                                                                   \
  X(void, InitializeX86TargetInfo, (void))                                                              \
  X(void, InitializeX86Target, (void))                                                                  \
  X(void, InitializeX86TargetMC, (void))                                                                \
  X(void, InitializeX86AsmPrinter, (void))                                                              \
  X(void, InitializeX86AsmParser, (void))                                                               \
  X(void, InitializeAArch64TargetInfo, (void))                                                          \
  X(void, InitializeAArch64Target, (void))                                                              \
  X(void, InitializeAArch64TargetMC, (void))                                                            \
  X(void, InitializeAArch64AsmPrinter, (void))                                                          \
  X(void, InitializeAArch64AsmParser, (void))
// clang-format on

/// LLVM's functions by their names without the prefix: `load_llvm().BuildAdd(builder, a, b, "")`.
struct api {
#define WEFT_LLVM_MEMBER(result, name, parameters) result(*name) parameters;
  WEFT_LLVM_FUNCTIONS(WEFT_LLVM_MEMBER)
  WEFT_LLVM_TARGET_FUNCTIONS(WEFT_LLVM_MEMBER)
#undef WEFT_LLVM_MEMBER
  unsigned major, minor, patch;
  void* library;  // for what is not in the list
};

/// The process's LLVM, loaded at the first call and kept until exit.
///
/// Takes the newest of LLVM 22 to 19 that the dynamic linker finds, first among those already loaded; the
/// environment variable WEFT_LLVM (a major version or a path) decides otherwise. The code generators of the
/// targets present are initialised.
/// Errors   device_error with what to install; the next call tries again
/// Threads  any
/// Cost     the first call 9 ms with the file in the page cache, later ones a load and a branch
api const& load_llvm();

/// Stands around each use of LLVM: the end of the program waits for it, since LLVM's own static objects go then.
/// Errors  device_error when the program has ended meanwhile, after five seconds: threads that nobody waits for are gone
///         by then, one that a static object's destructor waits for gets an answer
/// Threads any; one may hold several
///
/// A known gap: when the end of the program begins while another thread loads LLVM or compiles the first kernel, the
/// statics that LLVM makes in just that time are destroyed, and that thread may crash.
class llvm_use {
 public:
  llvm_use();
  ~llvm_use();
  llvm_use(llvm_use const&) = delete;
  llvm_use& operator=(llvm_use const&) = delete;
  /// Whether LLVM's statics may be gone already.
  static bool is_over();
};

/// The text of an error, which is consumed.
std::string take_message(api const& l, error_ref e);
/// The text of a message owned by the caller (empty when null), which is freed.
std::string take_message(api const& l, char* message);

/// Has the diagnostics of `c` appended to `errors`, a line each; without this LLVM prints errors of its code
/// generator and ends the process. `errors` must outlive the context.
void collect_diagnostics(api const& l, context_ref c, std::string& errors);

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/llvm/api.ipp"
#endif
