// Compiles CUDA text with the host's compiler against cuda_shim.hpp and launches it.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace weft_test {

/// A kernel's text as a loaded shared object. Files live in a temporary folder that goes with the value.
class cuda_on_host {
 public:
  /// False when this machine has no compiler ($CXX, else c++) to run; a test then says [skip].
  static bool available() {
    static bool const found = std::system((compiler() + " --version > /dev/null 2>&1").c_str()) == 0;
    return found;
  }
  /// as_built: with the sanitizers of the tests, and by the compiler that made them, as one runtime serves both.
  enum checks { plain, as_built };
  explicit cuda_on_host(std::string const& text, std::string const& optimise = "2", checks wanted = plain) : as_built_(wanted == as_built) {
    char const* const temporary = std::getenv("TMPDIR");
    folder_ = std::string(temporary != nullptr ? temporary : "/tmp") + "/weft_cuda_XXXXXX";
    if (mkdtemp(&folder_[0]) == nullptr) return;
    std::ofstream(folder_ + "/kernel.cpp") << text;
    std::string const command = (wanted == as_built ? compiler_as_built() : plain_compiler()) + " -std=c++17 -O" +
                                (wanted == as_built && has_sanitizers ? "0" : optimise) + " -ffp-contract=off -fno-fast-math -fPIC -shared" +
                                " -include '" + WEFT_TESTS_DIR + "/support/cuda_shim.hpp' -o '" + folder_ +
                                "/kernel.so' '" + folder_ + "/kernel.cpp' > '" + folder_ + "/log' 2>&1";
    int const status = std::system(command.c_str());
    std::ifstream log(folder_ + "/log");
    messages.assign(std::istreambuf_iterator<char>(log), {});
    if (status == 0) library_ = dlopen((folder_ + "/kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  cuda_on_host(cuda_on_host const&) = delete;
  cuda_on_host& operator=(cuda_on_host const&) = delete;
  ~cuda_on_host() {
#if !WEFT_TEST_ASAN  // the leak sanitizer reads thread-local memory of libraries, also of those that are gone
    if (library_ != nullptr) dlclose(library_);
#endif
    for (char const* file : {"/kernel.cpp", "/kernel.so", "/log"}) std::remove((folder_ + file).c_str());
    rmdir(folder_.c_str());
  }
  bool loaded() const { return library_ != nullptr; }
  /// Whether the text has the sanitizers that the tests have, if any.
  bool is_sanitized_as_built() const { return !has_sanitizers || as_built_; }

  /// Launches `kernel` with enough blocks of `threads` for `count` iterations, and one more that has nothing to do.
  /// False when the object has no such kernel, or threads do not wait for each other as they must.
  template <class... Args>
  bool launch(char const* kernel, long long count, unsigned threads, unsigned order, Args... args) const {
    unsigned const blocks[] = {static_cast<unsigned>((count + threads - 1) / threads + 1), 1, 1};
    unsigned const in_block[] = {threads, 1, 1};
    auto const function = reinterpret_cast<void (*)(Args...)>(symbol(kernel));
    if (function == nullptr) return false;
    auto body = [&] { function(args...); };
    auto const thread = [](void* data) { (*static_cast<decltype(body)*>(data))(); };
    return run(blocks, in_block, 0, thread, &body, order).empty();
  }
  /// Runs `thread(data)` as each thread of a grid; what is wrong with the way in which they wait or use shared memory.
  /// `gaps`: bytes of shared memory that belong to no array, begins and ends of them, for the address sanitizer.
  std::string run(unsigned const* blocks, unsigned const* threads, unsigned shared_bytes, void (*thread)(void*), void* data,
                  unsigned order, std::vector<unsigned> const& gaps = {}) const {
    if (auto const set = reinterpret_cast<void (*)(unsigned const*, unsigned)>(symbol("shim_gaps"))) set(gaps.data(), static_cast<unsigned>(gaps.size() / 2));
    using launcher = char const* (*)(unsigned const*, unsigned const*, unsigned, void (*)(void*), void*, unsigned);
    auto const launch = reinterpret_cast<launcher>(symbol("shim_launch"));
    char const* const wrong = launch != nullptr ? launch(blocks, threads, shared_bytes, thread, data, order) : "no shim";
    return wrong != nullptr ? wrong : "";
  }
  void* symbol(char const* name) const { return library_ != nullptr ? dlsym(library_, name) : nullptr; }

  std::string messages;  // the compiler's warnings and errors

 private:
  static std::string plain_compiler() { return compiler() + " -Wall -Wno-unknown-pragmas -Wno-maybe-uninitialized"; }
#ifdef WEFT_TEST_SANITIZING_CXX
  // Of what is in the tests themselves, calls of functions are not looked at. -O0: what is optimised away is not looked at either, and 404 KB of
  // text take 3.5 s, with -O1 30 s (clang 19; 2 s with g++ -O1 and no sanitizers).
  static constexpr bool has_sanitizers = true;
  static std::string compiler_as_built() { return WEFT_TEST_SANITIZING_CXX " -fno-sanitize=function,vptr -w"; }
#else
  static constexpr bool has_sanitizers = false;
  static std::string compiler_as_built() { return plain_compiler(); }
#endif
  static std::string compiler() {
    char const* const cxx = std::getenv("CXX");
    return cxx != nullptr && *cxx != '\0' ? cxx : "c++";
  }
  std::string folder_;
  bool as_built_;
  void* library_ = nullptr;
};

}  // namespace weft_test
