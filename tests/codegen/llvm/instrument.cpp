#include "weft/codegen/llvm/instrument.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/objects.hpp"
#include "weft/codegen/launch.hpp"
#include "weft/codegen/llvm/debug_api.hpp"
#include "weft/codegen/llvm/jit.hpp"
#include "weft/codegen/llvm/module.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/debug.hpp"
#include "weft/ir/parse.hpp"
#include "weft/runtime/loader.hpp"
#include "weft/runtime/object_reader.hpp"

using namespace weft;

namespace {

/// Runs a loop program as checked code, after LLVM's verifier has seen it; answers the failure, empty if there is none.
/// Parallel loops run in pieces, the last one first.
std::string run_checked(std::string const& text, sequence<void*> pointers, bool with_lines = false) {
  ir::arena m;
  ir::function f = ir::parse(m, text);
  codegen::llvm::add_shadows(f);
  codegen::llvm::instrumentation how;
  how.checked = true;
  if (with_lines) {
    how.directory = "/nowhere", how.file = "k.loops";
    ir::print(f, how.lines);
  }
  codegen::llvm::object_request request{.verify = true};
  request.emit = [](codegen::llvm::module_state& s, std::string const& symbol, void const* context) {
    codegen::llvm::emit_instrumented(s, symbol, *static_cast<codegen::llvm::instrumentation const*>(context));
  };
  request.context = &how;
  codegen::llvm::object_code const object = codegen::llvm::compile(f, host(), request);
  codegen::llvm::loaded_code const code = codegen::llvm::jit::instance().link(object.bytes, object.symbol);
  std::string workspace(static_cast<std::size_t>(workspace_bytes(f)) + 64, '\0');
  auto const line = (reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) / 64 * 64;
  services const host{[](void*, std::int64_t count, std::int64_t, loop_body* body, void* context) {
                        for (std::int64_t i = count; i-- > 0;) body(context, i, i + 1, 0);
                      },
                      nullptr, linked_instruments.report};
  failure failed;
  launch const l{pointers.data(), nullptr, nullptr, reinterpret_cast<void*>(line), &host, &failed};
  std::int32_t const result = reinterpret_cast<kernel_entry>(code.entry())(&l);
  CHECK((result != 0) == (failed.state != 0));
  if (result == 0) return "";
  try {
    linked_instruments.raise(failed);
  } catch (access_error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}
std::string const heading =
    "kernel k:\n  variables i, j\n"
    "  buffer A: f32[4] strides [1] in argument 0 alias 0 align 4\n"
    "  buffer B: f32[3, 2] strides [2, 1] in argument 1 written alias 1 align 4\n";

}  // namespace

TEST_CASE("an access outside of a dimension is told, with indices, extents and loops; nothing is touched there") {
  float a[5] = {1, 2, 3, 4, 5}, b[7] = {};
  b[6] = 77;
  CHECK(run_checked(heading + "  for i in 0..3:\n    for j in 0..2:\n      B[i, j] = A[i + j]\n", {a, b}) == "");
  CHECK(b[4] == 3);
  CHECK(run_checked(heading + "  for i in 0..3:\n    for j in 0..2:\n      B[i, j] = A[i * 2 + j]\n", {a, b}) ==
        "k: A is read at [4], outside of its extents [4]\n  in    i=2, j=0\n  by    A[i * 2 + j]");
  CHECK(run_checked(heading + "  for i in 0..3:\n    for j in 0..3:\n      B[i, j] = A[j]\n", {a, b}) ==
        "k: B is written at [0, 2], outside of its extents [3, 2]\n  in    i=0, j=2");
  CHECK(run_checked(heading + "  for i in -1..3:\n    B[i, 0] = A[0]\n", {a, b})
            .find("k: B is written at [-1, 0], outside") == 0);
  CHECK(b[6] == 77);
}
TEST_CASE("what a mask leaves out is not looked at") {
  float a[4] = {1, 2, 3, 4}, b[6] = {};
  std::string const loops =
      "  for i in 0..3:\n    for j in 0..9:\n      B[i, j] = A[i + j where i + j < 4] where j < 2\n";
  CHECK(run_checked(heading + loops, {a, b}) == "");
  CHECK(b[5] == 4);
}
TEST_CASE("an element that is read before it was written is told, and one that was written is not") {
  float a[4] = {1, 2, 3, 4}, b[6] = {};
  CHECK(run_checked(heading + "  for i in 0..3:\n    B[i, 0] = A[i]\n    B[i, 1] = B[i, 0]\n", {a, b}) == "");
  CHECK(run_checked(heading + "  for i in 0..2:\n    B[i, 0] = B[i + 1, 0]\n", {a, b}) ==
        "k: B is read at [1, 0] before anything was written there\n  in    i=0\n  by    B[i + 1, 0]");
  // Under a mask nothing is written.
  CHECK(run_checked(heading + "  for i in 0..3:\n    B[i, 0] = A[i] where 0 < i\n    B[i, 1] = B[i, 0]\n", {a, b})
            .find("k: B is read at [0, 0] before") == 0);
  std::string const heap = "  buffer T: f32[4] strides [1] in heap written alias 9 align 64\n";
  CHECK(run_checked(heading + heap + "  for i in 0..3:\n    T[i] = A[i]\n    B[i, 0] = T[i] + T[3]\n", {a, b})
            .find("k: T is read at [3] before") == 0);
}
TEST_CASE("what shares its memory with an input counts as written") {
  float a[4] = {1, 2, 3, 4};
  std::string const text =
      "kernel k:\n  variables i\n  buffer A: f32[4] strides [1] in argument 0 alias 0 align 4\n"
      "  buffer B: f32[4] strides [1] in argument 1 written alias 0 align 4\n"
      "  for i in 0..4:\n    B[i] = B[i] + A[i]\n";
  CHECK(run_checked(text, {a, a}) == "");
  CHECK(a[3] == 8);
}
TEST_CASE("an index that is read from memory is read where the loop is, checked itself, and rank 0 has no index") {
  std::int32_t index[2] = {1, 0};
  float b[1] = {5}, c[2] = {};
  std::string const text =
      "kernel k:\n  variables i\n  buffer I: i32[2] strides [1] in argument 0 alias 0 align 4\n"
      "  buffer B: f32[] strides [] in argument 1 alias 1 align 4\n"
      "  buffer C: f32[2] strides [1] in argument 2 written alias 2 align 4\n"
      "  for i in 0..2:\n    C[cast<i64>(I[i])] = B[]\n    C[cast<i64>(I[i])] = C[cast<i64>(I[cast<i64>(I[i])])]\n";
  CHECK(run_checked(text, {index, b, c}) ==
        "k: C is read at [0] before anything was written there\n  in    i=0\n  by    "
        "C[cast<i64>(I[cast<i64>(I[i])])]");
}
TEST_CASE("of a parallel loop the first failure is told, later pieces do nothing, and nothing runs behind the loop") {
  float a[4] = {1, 2, 3, 4}, b[6] = {};
  std::string const text = heading +
                           "  for i in 0..3 parallel:\n    for j in 0..2:\n      B[i, j] = A[i * 2 + j]\n"
                           "  for i in 0..3:\n    B[i, 0] = 9.0f32\n";
  CHECK(run_checked(text, {a, b}).find("k: A is read at [4], outside of its extents [4]\n  in    i=2, j=0") == 0);
  for (float x : b) CHECK(x == 0);
}
TEST_CASE("with lines for a debugger the code does the same, and LLVM's verifier takes it") {
  float a[4] = {1, 2, 3, 4}, b[6] = {};
  std::string const loops =
      "  for i in 0..3 parallel:\n    for j in 0..2:\n      if i < 2:\n        B[i, j] = A[i * 2 + j]\n"
      "      else:\n        B[i, j] = A[j]\n";
  CHECK(run_checked(heading + loops, {a, b}, true) == "");
  CHECK(b[3] == 4);
  CHECK(b[5] == 2);
}
TEST_CASE("lines for a debugger change no instruction") {
#if defined(__x86_64__)
  codegen::llvm::object_request with_lines;
  with_lines.emit = [](codegen::llvm::module_state& s, std::string const& symbol, void const*) {
    codegen::llvm::instrumentation how;
    how.directory = "/nowhere", how.file = "k.loops";
    ir::print(s.f, how.lines);
    codegen::llvm::emit_instrumented(s, symbol, how);
  };
  struct image {
    std::string names, code;
    std::size_t bytes;
    explicit image(weft_test::kernel_object const& o) : bytes(o.code.bytes.size()) {
      std::string why;
      runtime::mapped_object const m = runtime::map_object(o.code.bytes, o.code.symbol, why);
      REQUIRE(why == "");
      for (auto const& f : runtime::detail::object_reader(o.code.bytes, o.code.symbol, m.entry()).functions()) {
        names.append(f.name) += ' ';
        code.append(reinterpret_cast<char const*>(f.begin), f.bytes);
      }
    }
  };
  image const plain(weft_test::tile_object(host())), debugged(weft_test::tile_object_as(host(), with_lines));
  CHECK(debugged.bytes > plain.bytes);
  CHECK(debugged.names == plain.names);
  CHECK(plain.code.size() > 200);
  CHECK(debugged.code == plain.code);
#endif
}
TEST_CASE("every function for debug information is filled") {
  auto const& l = codegen::llvm::load_llvm_debug();
  std::string missing;
#define WEFT_TEST_FILLED(result, name, parameters) \
  if (l.name == nullptr) missing += #name " ";
  WEFT_LLVM_DEBUG_FUNCTIONS(WEFT_TEST_FILLED)
#undef WEFT_TEST_FILLED
  CHECK(missing == "");
}
