#include "weft/codegen/llvm/jit.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <weft/base/sequence.hpp>

#include "support/child_process.hpp"

namespace weft::codegen::llvm {
namespace {

/// A module under construction, and its object file.
struct module_under_test {
  api const& l = load_llvm();
  std::string errors;
  context_ref c = l.ContextCreate();
  module_ref m = l.ModuleCreateWithNameInContext("m", c);
  builder_ref b = l.CreateBuilderInContext(c);

  module_under_test() { collect_diagnostics(l, c, errors); }
  module_under_test(module_under_test const&) = delete;
  ~module_under_test() {
    l.DisposeBuilder(b);
    l.DisposeModule(m);
    l.ContextDispose(c);
  }
  value_ref begin(char const* name, type_ref result, weft::sequence<type_ref> parameters) {
    auto const count = static_cast<unsigned>(parameters.size());
    value_ref const f = l.AddFunction(m, name, l.FunctionType(result, parameters.data(), count, 0));
    l.PositionBuilderAtEnd(b, l.AppendBasicBlockInContext(c, f, "entry"));
    return f;
  }
  std::string object() {
    char* const triple = l.GetDefaultTargetTriple();
    target_ref target = nullptr;
    REQUIRE(l.GetTargetFromTriple(triple, &target, nullptr) == 0);
    machine_ref const machine =
        l.CreateTargetMachine(target, triple, "", "", CodeGenLevelDefault, RelocPIC, CodeModelDefault);
    l.SetTarget(m, triple);
    data_layout_ref const layout = l.CreateTargetDataLayout(machine);
    l.SetModuleDataLayout(m, layout);
    char* why = nullptr;
    CHECK(l.VerifyModule(m, ReturnStatusAction, &why) == 0);
    CHECK(take_message(l, why) == "");
    pass_options_ref const options = l.CreatePassBuilderOptions();
    CHECK(take_message(l, l.RunPasses(m, "early-cse,instcombine", machine, options)) == "");
    l.DisposePassBuilderOptions(options);
    buffer_ref buffer = nullptr;
    REQUIRE(l.TargetMachineEmitToMemoryBuffer(machine, m, ObjectFile, nullptr, &buffer) == 0);
    std::string const bytes(l.GetBufferStart(buffer), l.GetBufferSize(buffer));
    l.DisposeMemoryBuffer(buffer);
    l.DisposeTargetData(layout);
    l.DisposeTargetMachine(machine);
    l.DisposeMessage(triple);
    CHECK(errors == "");
    return bytes;
  }
};

/// i32 name(i32 a, i32 b) { return a + b + plus; }
std::string object_of_add(char const* name, unsigned plus = 0) {
  module_under_test t;
  type_ref const i32 = t.l.Int32TypeInContext(t.c);
  value_ref const f = t.begin(name, i32, {i32, i32});
  value_ref const sum = t.l.BuildAdd(t.b, t.l.GetParam(f, 0), t.l.GetParam(f, 1), "sum");
  t.l.BuildRet(t.b, t.l.BuildAdd(t.b, sum, t.l.ConstInt(i32, plus, 0), ""));
  return t.object();
}

/// void fma8(ptr to, ptr a, ptr b): to[0..8] = a * b + 0.5, through the fma intrinsic. On a machine without fma
/// the backend would call fmaf, which is not there: a multiplication and an addition then.
std::string object_of_vectors() {
  module_under_test t;
  api const& l = t.l;
  type_ref const v8 = l.VectorType(l.FloatTypeInContext(t.c), 8), ptr = l.PointerTypeInContext(t.c, 0);
  value_ref const f = t.begin("fma8", l.VoidTypeInContext(t.c), {ptr, ptr, ptr});
  value_ref x[2];
  for (unsigned i = 0; i < 2; ++i) {
    x[i] = l.BuildLoad2(t.b, v8, l.GetParam(f, i + 1), "");
    l.SetAlignment(x[i], 4);
  }
  value_ref half[8];
  for (auto& lane : half) lane = l.ConstReal(l.FloatTypeInContext(t.c), 0.5);
  value_ref const product = l.BuildFMul(t.b, x[0], x[1], "");
  value_ref const store = l.BuildStore(t.b, l.BuildFAdd(t.b, product, l.ConstVector(half, 8), ""), l.GetParam(f, 0));
  l.SetAlignment(store, 4);
  l.BuildRetVoid(t.b);
  return t.object();
}

/// i64 outside(): calls getpid, a function that this process certainly has.
std::string object_of_outside_call() {
  module_under_test t;
  type_ref const i32 = t.l.Int32TypeInContext(t.c), type = t.l.FunctionType(i32, nullptr, 0, 0);
  value_ref const callee = t.l.AddFunction(t.m, "getpid", type);
  t.begin("outside", i32, {});
  t.l.BuildRet(t.b, t.l.BuildCall2(t.b, type, callee, nullptr, 0, ""));
  return t.object();
}

using add_function = std::int32_t (*)(std::int32_t, std::int32_t);
add_function entry_of(loaded_code const& code) { return reinterpret_cast<add_function>(code.entry()); }

std::string failure_of_link(std::string const& object, char const* symbol) {
  try {
    jit::instance().link(object, symbol);
  } catch (device_error const& e) {
    return e.what();
  }
  return {};
}

TEST_CASE("linked code runs: scalars") {
  loaded_code const code = jit::instance().link(object_of_add("add"), "add");
  REQUIRE(code.entry() != nullptr);
  CHECK(entry_of(code)(40, 2) == 42);
  CHECK(entry_of(code)(-5, 3) == -2);
}

TEST_CASE("linked code runs: vectors") {
  loaded_code const code = jit::instance().link(object_of_vectors(), "fma8");
  float a[8], b[8], to[8]{};
  for (int i = 0; i < 8; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(2 * i + 1);
  reinterpret_cast<void (*)(float*, float const*, float const*)>(code.entry())(to, a, b);
  for (int i = 0; i < 8; ++i) CHECK(to[i] == a[i] * b[i] + 0.5f);
}

TEST_CASE("objects with equal symbols live side by side, each with its own code") {
  loaded_code const one = jit::instance().link(object_of_add("same", 100), "same");
  loaded_code const two = jit::instance().link(object_of_add("same", 200), "same");
  CHECK(one.entry() != two.entry());
  CHECK(entry_of(one)(1, 2) == 103);
  CHECK(entry_of(two)(1, 2) == 203);
}

TEST_CASE("code goes with its owner, and moving moves it") {
  std::string const object = object_of_add("add");
  loaded_code outer;
  CHECK(outer.entry() == nullptr);
  for (int i = 0; i < 50; ++i) {
    loaded_code inner = jit::instance().link(object, "add");
    void* const entry = inner.entry();
    outer = static_cast<loaded_code&&>(inner);  // what outer held goes with inner
    CHECK(outer.entry() == entry);
    CHECK(entry_of(outer)(i, 1) == i + 1);
  }
}

TEST_CASE("an object reaches nothing of the process") {
  std::string const why = failure_of_link(object_of_outside_call(), "outside");
  CHECK(why.find("cannot link 'outside'") == 0);
  CHECK(why.find("getpid") != std::string::npos);
}

TEST_CASE("what cannot be linked is an error, and the next link works") {
  CHECK(failure_of_link(object_of_add("add"), "sub").find("sub") != std::string::npos);
  CHECK(failure_of_link("not an object at all", "add").find("cannot link 'add'") == 0);
  CHECK(failure_of_link("", "add") != "");
  std::string const object = object_of_add("add");
  CHECK(failure_of_link(object.substr(0, object.size() / 2), "add") != "");
  CHECK(jit::instance().link(object, "add").entry() != nullptr);
}

TEST_CASE("child: a static holds code at exit" * doctest::skip()) {
  static loaded_code code;  // made before LLVM is loaded, so destroyed after LLVM's statics
  code = jit::instance().link(object_of_add("add"), "add");
  CHECK(entry_of(code)(1, 2) == 3);
}
TEST_CASE("a static that holds code does not disturb the exit") {
  CHECK(test::run_case("child: a static holds code at exit", "WEFT_LLVM", nullptr) == 0);
}

TEST_CASE("linking works with each installed LLVM") {
  for (char const* major : {"19", "20", "21", "22"}) {
    std::string const soname = std::string("libLLVM.so.") + major + ".1";
    void* const library = ::dlopen(soname.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      if (std::string_view(major) == "19" || std::string_view(major) == "22")  // others where they happen to be
        MESSAGE("[skip] ", soname, " is not installed");
      continue;
    }
    ::dlclose(library);
    CHECK_MESSAGE(test::run_case("linked code runs*,objects with*,code goes*,an object*,what cannot*,child: a static*",
                                 "WEFT_LLVM", major) == 0,
                  soname);
  }
}

}  // namespace
}  // namespace weft::codegen::llvm
