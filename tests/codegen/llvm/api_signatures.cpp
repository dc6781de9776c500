// Compares weft's own declarations of LLVM's C interface with the real headers.
//
// Built once per supported LLVM with its include directory in front; the static_asserts are the test, what runs
// only says which version was seen. It links no LLVM: decltype does not need the functions.
#include <doctest/doctest.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>

#include <cstddef>
#include <type_traits>

#include "weft/codegen/llvm/api.hpp"
#include "weft/codegen/llvm/debug_api.hpp"

namespace weft::codegen::llvm {
namespace {

// What weft writes for a type of the real headers: an enum is its underlying type, ORC's structs without tags
// are our structs of the same layout (compared below); pointers and functions follow.
template <class T, bool = std::is_enum_v<T>>
struct mapped {
  using type = T;
};
template <class T>
struct mapped<T, true> {
  using type = std::underlying_type_t<T>;
};
template <class T>
using mapped_t = typename mapped<T>::type;
// clang-format off
template <> struct mapped<LLVMOrcCJITDylibSearchOrderElement, false> { using type = search_element; };
template <> struct mapped<LLVMOrcCLookupSetElement, false> { using type = lookup_element; };
template <> struct mapped<LLVMOrcCSymbolMapPair, false> { using type = symbol_address; };
// clang-format on
template <class T>
struct mapped<T*, false> {
  using type = mapped_t<T>*;
};
template <class Result, class... Parameters>
struct mapped<Result(Parameters...), false> {
  using type = mapped_t<Result>(mapped_t<Parameters>...);
};

#define WEFT_TEST_FUNCTION(result, name, parameters)                                                   \
  static_assert(std::is_same_v<mapped_t<decltype(&::LLVM##name)>, decltype(api::name)>, "LLVM" #name); \
  static_assert(std::is_same_v<result(*) parameters, decltype(api::name)>, #name);
WEFT_LLVM_FUNCTIONS(WEFT_TEST_FUNCTION)
WEFT_LLVM_TARGET_FUNCTIONS(WEFT_TEST_FUNCTION)
#undef WEFT_TEST_FUNCTION
#define WEFT_TEST_FUNCTION(result, name, parameters)                                                         \
  static_assert(std::is_same_v<mapped_t<decltype(&::LLVM##name)>, decltype(debug_api::name)>, "LLVM" #name); \
  static_assert(std::is_same_v<result(*) parameters, decltype(debug_api::name)>, #name);
WEFT_LLVM_DEBUG_FUNCTIONS(WEFT_TEST_FUNCTION)
#undef WEFT_TEST_FUNCTION

#define WEFT_TEST_CONSTANT(name, value) static_assert(static_cast<unsigned>(::LLVM##name) == value, "LLVM" #name);
WEFT_LLVM_CONSTANTS(WEFT_TEST_CONSTANT)
WEFT_LLVM_DEBUG_CONSTANTS(WEFT_TEST_CONSTANT)
#undef WEFT_TEST_CONSTANT

#define WEFT_TEST_LAYOUT(ours, member, theirs, their_member)                                          \
  static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs), #theirs);         \
  static_assert(offsetof(ours, member) == offsetof(theirs, their_member), #theirs "." #their_member); \
  static_assert(sizeof(ours::member) == sizeof(theirs::their_member), #theirs "." #their_member);
WEFT_TEST_LAYOUT(search_element, dylib, LLVMOrcCJITDylibSearchOrderElement, JD)
WEFT_TEST_LAYOUT(search_element, flags, LLVMOrcCJITDylibSearchOrderElement, JDLookupFlags)
WEFT_TEST_LAYOUT(lookup_element, name, LLVMOrcCLookupSetElement, Name)
WEFT_TEST_LAYOUT(lookup_element, flags, LLVMOrcCLookupSetElement, LookupFlags)
WEFT_TEST_LAYOUT(symbol_address, name, LLVMOrcCSymbolMapPair, Name)
#undef WEFT_TEST_LAYOUT
static_assert(offsetof(symbol_address, address) ==
              offsetof(LLVMOrcCSymbolMapPair, Sym) + offsetof(LLVMJITEvaluatedSymbol, Address));
static_assert(offsetof(symbol_address, generic_flags) ==
              offsetof(LLVMOrcCSymbolMapPair, Sym) + offsetof(LLVMJITEvaluatedSymbol, Flags));
static_assert(sizeof(LLVMJITEvaluatedSymbol::Address) == sizeof(symbol_address::address));

// The comparison itself can fail: an enum parameter, a struct and a constant that differ are seen.
static_assert(std::is_same_v<mapped_t<LLVMLinkage*>, unsigned*>);
static_assert(!std::is_same_v<mapped_t<decltype(&::LLVMBuildAdd)>, decltype(api::BuildNeg)>);
static_assert(static_cast<unsigned>(::LLVMIntEQ) != IntNE);

TEST_CASE("the declared LLVM interface is the one of these headers") {
  MESSAGE("LLVM headers ", LLVM_VERSION_STRING);
  CHECK(LLVM_VERSION_MAJOR >= 19);
  CHECK(LLVM_VERSION_MAJOR <= 22);
}

}  // namespace
}  // namespace weft::codegen::llvm
