#include "weft/codegen/llvm/api.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "support/child_process.hpp"

namespace weft::codegen::llvm {
namespace {

std::string failure_of_load() {
  try {
    load_llvm();
  } catch (device_error const& e) {
    return e.what();
  }
  return {};
}
bool installed(char const* soname) {
  void* const library = ::dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) ::dlclose(library);
  return library != nullptr;
}

TEST_CASE("load_llvm finds a version from 19 to 22, once") {
  api const& l = load_llvm();
  CHECK(l.major >= 19);
  CHECK(l.major <= 22);
  CHECK(&load_llvm() == &l);
}

TEST_CASE("every function is filled, those of the host's code generator too") {
  api const& l = load_llvm();
  std::string missing;
#define WEFT_TEST_FILLED(result, name, parameters) \
  if (l.name == nullptr) missing += #name " ";
  WEFT_LLVM_FUNCTIONS(WEFT_TEST_FILLED)
#undef WEFT_TEST_FILLED
  CHECK(missing == "");
  char* const triple = l.GetDefaultTargetTriple();
  target_ref target = nullptr;
  char* why = nullptr;
  CHECK(l.GetTargetFromTriple(triple, &target, &why) == 0);
  CHECK(target != nullptr);
  CHECK(take_message(l, why).empty());
  l.DisposeMessage(triple);
}

TEST_CASE("the members hold the functions of their names") {
  // A list and a struct that ran apart would call a neighbour: values whose neighbours give others.
  api const& l = load_llvm();
  context_ref const c = l.ContextCreate();
  std::string name = "m";
  module_ref const m = l.ModuleCreateWithNameInContext(name.c_str(), c);
  type_ref const i32 = l.Int32TypeInContext(c);
  value_ref const f = l.AddFunction(m, "f", l.FunctionType(i32, nullptr, 0, 0));
  builder_ref const b = l.CreateBuilderInContext(c);
  l.PositionBuilderAtEnd(b, l.AppendBasicBlockInContext(c, f, "entry"));
  l.BuildRet(b, l.BuildXor(b, l.ConstInt(i32, 12, 0), l.ConstInt(i32, 10, 0), ""));
  CHECK(take_message(l, l.PrintModuleToString(m)).find("ret i32 6") != std::string::npos);
  l.DisposeBuilder(b);
  l.DisposeModule(m);
  l.ContextDispose(c);
}

TEST_CASE("a broken module is an error with LLVM's words, not an abort") {
  api const& l = load_llvm();
  context_ref const c = l.ContextCreate();
  module_ref const m = l.ModuleCreateWithNameInContext("broken", c);
  value_ref const f = l.AddFunction(m, "f", l.FunctionType(l.Int32TypeInContext(c), nullptr, 0, 0));
  l.AppendBasicBlockInContext(c, f, "without_an_end");
  char* why = nullptr;
  CHECK(l.VerifyModule(m, ReturnStatusAction, &why) == 1);
  CHECK(take_message(l, why).find("terminator") != std::string::npos);
  pass_options_ref const options = l.CreatePassBuilderOptions();
  std::string const unknown = take_message(l, l.RunPasses(m, "no-such-pass", nullptr, options));
  CHECK(unknown.find("no-such-pass") != std::string::npos);
  l.DisposePassBuilderOptions(options);
  l.DisposeModule(m);
  l.ContextDispose(c);
}

TEST_CASE("diagnostics of the code generator are collected, not printed") {
  api const& l = load_llvm();
  std::string errors;
  context_ref const c = l.ContextCreate();
  collect_diagnostics(l, c, errors);
  module_ref const m = l.ModuleCreateWithNameInContext("m", c);
  char* const triple = l.GetDefaultTargetTriple();
  target_ref target = nullptr;
  REQUIRE(l.GetTargetFromTriple(triple, &target, nullptr) == 0);
  machine_ref const machine =
      l.CreateTargetMachine(target, triple, "", "", CodeGenLevelDefault, RelocPIC, CodeModelDefault);
  l.SetTarget(m, triple);
  // A frame over the limit that the attribute sets: a warning of the code generator.
  type_ref const i8 = l.Int8TypeInContext(c), ptr = l.PointerTypeInContext(c, 0);
  value_ref const f = l.AddFunction(m, "f", l.FunctionType(ptr, nullptr, 0, 0));
  l.AddTargetDependentFunctionAttr(f, "warn-stack-size", "16");
  builder_ref const b = l.CreateBuilderInContext(c);
  l.PositionBuilderAtEnd(b, l.AppendBasicBlockInContext(c, f, "entry"));
  l.BuildRet(b, l.BuildAlloca(b, l.ArrayType2(i8, 4096), ""));
  buffer_ref object = nullptr;
  char* why = nullptr;
  REQUIRE(l.TargetMachineEmitToMemoryBuffer(machine, m, ObjectFile, &why, &object) == 0);
  CHECK(errors.find("stack frame size") != std::string::npos);
  CHECK(l.GetBufferSize(object) > 0);
  l.DisposeMemoryBuffer(object);
  l.DisposeBuilder(b);
  l.DisposeModule(m);
  l.ContextDispose(c);
  l.DisposeTargetMachine(machine);
  l.DisposeMessage(triple);
}

// The next ones run in processes of their own; see the case that starts them.
TEST_CASE("child: WEFT_LLVM=path of nothing" * doctest::skip()) {
  std::string const why = failure_of_load();
  CHECK(why.find("WEFT_LLVM asks for /nowhere/libLLVM.so, which cannot be loaded: ") == 0);
  CHECK(why.find("; set it to one of 19 to 22, to the path of a libLLVM.so, or leave it unset") != std::string::npos);
  // What failed is tried again.
  ::unsetenv("WEFT_LLVM");
  CHECK(failure_of_load().empty());
}
TEST_CASE("child: WEFT_LLVM=another library" * doctest::skip()) {
  CHECK(failure_of_load() == "WEFT_LLVM asks for libm.so.6, which is not one of LLVM 19 to 22; set it to one of 19 to "
                             "22, to the path of a libLLVM.so, or leave it unset");
}
TEST_CASE("child: WEFT_LLVM=14" * doctest::skip()) {
  CHECK(failure_of_load().find("WEFT_LLVM asks for LLVM 14, which is not one of LLVM 19 to 22; ") == 0);
}
TEST_CASE("child: WEFT_LLVM=number" * doctest::skip()) {
  REQUIRE(failure_of_load().empty());
  CHECK(std::to_string(load_llvm().major) == std::getenv("WEFT_LLVM"));
}
TEST_CASE("child: no WEFT_LLVM" * doctest::skip()) {
  for (unsigned major = 22; major > load_llvm().major; --major)
    CHECK_FALSE(installed(("libLLVM.so." + std::to_string(major) + ".1").c_str()));
}
TEST_CASE("the newest LLVM that is here is the one that weft finds by itself") {
  CHECK(test::run_case("child: no WEFT_LLVM", "WEFT_LLVM", nullptr) == 0);
}
TEST_CASE("WEFT_LLVM picks a version or a file, and says when it cannot") {
  char const* const variable = "WEFT_LLVM";
  CHECK(test::run_case("child: WEFT_LLVM=path of nothing", variable, "/nowhere/libLLVM.so") == 0);
  CHECK(test::run_case("child: WEFT_LLVM=another library", variable, "libm.so.6") == 0);
  CHECK(test::run_case("child: WEFT_LLVM=14", variable, "14") == 0);
  for (char const* major : {"19", "20", "21", "22"}) {
    std::string const soname = std::string("libLLVM.so.") + major + ".1";
    if (installed(soname.c_str()))
      CHECK_MESSAGE(test::run_case("child: WEFT_LLVM=number", variable, major) == 0, soname);
    else if (std::string_view(major) == "19" || std::string_view(major) == "22")  // others where they happen to be
      MESSAGE("[skip] ", soname, " is not installed");
  }
}

}  // namespace
}  // namespace weft::codegen::llvm
