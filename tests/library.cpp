// What processes and shared libraries do that use weft, from their start to their end.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/child_process.hpp"
#include "support/private_cache.hpp"
#include "weft/runtime/loader.hpp"

using weft_test::private_cache;
using weft_test::temporary_directory;

namespace {

struct outcome {
  int code = -1;  // exit status, or 128 + signal
  std::string output;
};
/// Runs weft-program, or `program` in its place, with the kernels in `cache`.
outcome run(std::string const& arguments, std::string const& cache, std::string const& more = "",
            std::string const& program = WEFT_TEST_PROGRAM) {
  std::string const command = "exec env WEFT_THREADS=2 WEFT_CACHE='" + cache + "' " + more + " '" + program + "' " + arguments;
  std::FILE* const child = ::popen(command.c_str(), "r");
  REQUIRE(child != nullptr);
  outcome o;
  char piece[512];
  while (std::size_t const n = std::fread(piece, 1, sizeof piece, child)) o.output.append(piece, n);
  int const status = ::pclose(child);
  o.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return o;
}
std::size_t count_of(char const* directory) {
  std::size_t n = 0;
  for ([[maybe_unused]] auto const& f : std::filesystem::directory_iterator(directory)) ++n;
  return n;
}
std::size_t lines_of(char const* file) {
  std::ifstream in(file);
  std::size_t n = 0;
  for (std::string line; std::getline(in, line);) ++n;
  return n;
}
std::size_t resident_pages() {
  std::ifstream in("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident;
}
/// What a library leaves is unreachable when it is gone; here its amount is looked at instead.
void count_no_leaks() { ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1); }
/// One life of the plugin in this process.
void load_use_unload(bool at_unload) {
  void* const library = ::dlopen(WEFT_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(library != nullptr, ::dlerror());
  auto const use = reinterpret_cast<bool (*)()>(::dlsym(library, "use_kernels"));
  auto const use_later = reinterpret_cast<void (*)()>(::dlsym(library, "use_kernels_at_unload"));
  REQUIRE((use != nullptr && use_later != nullptr));
  REQUIRE(use());
  if (at_unload) use_later();
  REQUIRE(::dlclose(library) == 0);
  REQUIRE(::dlopen(WEFT_TEST_PLUGIN, RTLD_NOW | RTLD_NOLOAD) == nullptr);  // really unloaded
}

}  // namespace

TEST_CASE("the second process makes no code, and loads no LLVM") {
  temporary_directory const t;
  outcome const cold = run("call", t.path);
  CHECK(cold.code == 0);
  CHECK(cold.output == "made 2, LLVM is loaded, used: " + t.path + "\n");
  outcome const warm = run("call", t.path);
  CHECK(warm.code == 0);
  // Where our loader does not work, ORC links, and that is LLVM.
  bool const own = weft::runtime::default_linker() == weft::runtime::linker::own;
  CHECK(warm.output == "made 0, LLVM is " + std::string(own ? "not " : "") + "loaded, used: " + t.path + "\n");
  CHECK(run("call", t.path, "WEFT_LOADER=orc").output == "made 0, LLVM is loaded, used: " + t.path + "\n");
  CHECK(run("call", "off").output == "made 2, LLVM is loaded, not used: WEFT_CACHE=off\n");
  CHECK(t.files().size() == 2);
}
TEST_CASE("without LLVM on the machine, kernels on disk run") {
  temporary_directory const t;
  if (weft::runtime::default_linker() != weft::runtime::linker::own) return;
  std::string const missing = "WEFT_LLVM=/nowhere/libLLVM.so";
  CHECK(run("call", t.path, missing + " 2>/dev/null").code != 0);
  // The LLVM that is asked for is part of the key, so it must be the usual one that is missing: none is opened at all.
  REQUIRE(run("call", t.path).code == 0);
  CHECK(run("call", t.path, "LD_LIBRARY_PATH=/nowhere").output.find("LLVM is not loaded") != std::string::npos);
}
TEST_CASE("WEFT_TIME says what came from disk") {
  temporary_directory const t;
  CHECK(run("call 2>&1", t.path, "WEFT_TIME=1").output.find("machine code") != std::string::npos);
  std::string const warm = run("call 2>&1", t.path, "WEFT_TIME=1").output;
  CHECK(warm.find("from disk: schedule") != std::string::npos);
  CHECK(warm.find("machine code") == std::string::npos);
}
TEST_CASE("sixteen processes that want the same kernels at once all get them") {
  temporary_directory const t;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::FILE*> children;
    std::string const command = "WEFT_CACHE='" + t.path + "' '" WEFT_TEST_PROGRAM "' call";
    for (int i = 0; i < 16; ++i) children.push_back(::popen(command.c_str(), "r"));
    for (std::FILE* child : children) {
      char line[256]{};
      REQUIRE(child != nullptr);
      CHECK(std::fgets(line, sizeof line, child) != nullptr);
      if (round == 1) CHECK(std::string(line).substr(0, 6) == "made 0");
      CHECK(::pclose(child) == 0);
    }
    CHECK(t.files().size() == 2);  // and no half files
  }
}
TEST_CASE("a program that runs with another user's rights never uses it") {
  if (::geteuid() != 0) {
    MESSAGE("[skip] only root can make such a program");
    return;
  }
  temporary_directory const t;
  std::string const program = t.path + "/program";
  std::filesystem::copy_file(WEFT_TEST_PROGRAM, program);
  REQUIRE(::chmod(t.path.c_str(), 0755) == 0);
  REQUIRE(::chown(program.c_str(), 65534, 65534) == 0);
  REQUIRE(::chmod(program.c_str(), 04755) == 0);
  outcome const o = run("call", t.path + "/cache", "", program);
  if (o.output.find("the rights of another user") == std::string::npos && o.output.find("used: ") == 0)
    MESSAGE("[skip] this disk is mounted without the right to be another user");
  else CHECK(o.output == "made 2, LLVM is loaded, not used: the program runs with the rights of another user than the one who started it\n");
  CHECK(t.files().size() == 1);
}
TEST_CASE("a program that ends while its threads call kernels ends well") {
  for (int i = 0; i < 20; ++i) CHECK(run("leave", "off").code == 0);
}
TEST_CASE("children of a process that compiles meanwhile compile and run") {
  temporary_directory const t;
  CHECK(run("fork 20", "off").code == 0);
  CHECK(run("fork 20", t.path).code == 0);
  CHECK(run("fork 5", "off", "WEFT_LOADER=orc").code == 0);
}

TEST_CASE("child: a plugin comes and goes" * doctest::skip()) {
  char const* const cache = std::getenv("WEFT_TEST_CACHE");
  ::setenv("WEFT_THREADS", "3", 1);
  for (int i = 0; i < 3; ++i) load_use_unload(false);  // loads LLVM, fills the cache, and what libc keeps
  std::size_t const threads = count_of("/proc/self/task"), mappings = lines_of("/proc/self/maps");
  std::size_t const pages = resident_pages(), files = count_of("/proc/self/fd");
  for (int i = 0; i < (cache != nullptr ? 1000 : 20); ++i) load_use_unload(false);
  CHECK(count_of("/proc/self/task") == threads);
  CHECK(count_of("/proc/self/fd") == files);
#if defined(__SANITIZE_ADDRESS__)  // which keeps freed memory for a while
  static_cast<void>(mappings), static_cast<void>(pages);
#else
  CHECK(lines_of("/proc/self/maps") <= mappings + 4);
  CHECK(resident_pages() <= pages + 2048);  // 4 KB a life, measured; LLVM's own heap is uneven
#endif
  // Kernels that the destructors of static objects call are made once more, and stay.
  for (int i = 0; i < 20; ++i) load_use_unload(true);
}
TEST_CASE("a plugin that uses weft is loaded and unloaded a thousand times") {
  count_no_leaks();
  temporary_directory const t;
  CHECK(weft::test::run_case("child: a plugin comes and goes", "WEFT_TEST_CACHE", t.path.c_str()) == 0);
  CHECK(t.files().size() == 2);
}
TEST_CASE("a plugin that compiles is unloaded, too") {
  count_no_leaks();
  CHECK(weft::test::run_case("child: a plugin comes and goes", "WEFT_TEST_CACHE", nullptr) == 0);
}
