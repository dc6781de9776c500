#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/codegen/llvm/api.hpp"

namespace {

/// Why no kernel can be compiled here; empty when one can. Asked in a process of its own: tests are about the first use
/// of LLVM, too.
std::string llvm_is_missing() {
  pid_t const child = ::fork();
  auto const answer = []() -> std::string {
    try {
      weft::codegen::llvm::load_llvm();
      return "";
    } catch (weft::error const& e) {
      return e.what();
    }
  };
  if (child == 0) ::_exit(answer().empty() ? 0 : 1);
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0 ? "" : answer();
}

// From CMakeLists.txt: the files whose tests compile kernels, as doctest takes them, "*/tests/kernel.cpp,...".
constexpr std::string_view need_llvm = WEFT_TESTS_THAT_NEED_LLVM;

}  // namespace

int main(int argc, char** argv) {
  // No test reads or writes the user's own kernels on disk: those that are about them name a directory of their own,
  // and all others compile what they test. WEFT_TEST_CACHE is for processes that such a test starts.
  char const* const own = std::getenv("WEFT_TEST_CACHE");
  ::setenv("WEFT_CACHE", own != nullptr ? own : "off", 1);

  doctest::Context context(argc, argv);
  bool may_need_llvm = true, nothing_else = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view const a = argv[i], option = "--source-file=";
    if (a == "--no-skip") may_need_llvm = false;  // a process that a test starts, which asks for an LLVM itself
    if (a.starts_with("--source-file=*/tests/"))  // ctest asks for one file
      may_need_llvm = nothing_else = need_llvm.find(a.substr(option.size())) != need_llvm.npos;
  }
  if (std::string const why = may_need_llvm ? llvm_is_missing() : ""; !why.empty()) {
    std::printf("[skip] %s: %s\n", nothing_else ? "this compiles kernels" : "tests that compile kernels", why.c_str());
    if (nothing_else) return 77;
    context.addFilter("source-file-exclude", need_llvm.data());
  }
  return context.run();
}
