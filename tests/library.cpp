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
  std::string const command =
      "exec env WEFT_THREADS=2 WEFT_CACHE='" + cache + "' " + more + " '" + program + "' " + arguments;
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
/// The plugin, loaded into this process.
struct plugin {
  explicit plugin(std::string const& path, int mode = RTLD_LOCAL) : library(::dlopen(path.c_str(), RTLD_NOW | mode)) {
    REQUIRE_MESSAGE(library != nullptr, ::dlerror());
    find("use_kernels", use), find("use_kernels_and_go", use_and_go), find("use_kernels_at_unload", use_later), find("made", made);
  }
  template <class F>
  void find(char const* name, F*& f) {
    f = reinterpret_cast<F*>(::dlsym(library, name));
    REQUIRE((f != nullptr));
  }
  void close() { REQUIRE(::dlclose(library) == 0); }
  void* library;
  bool (*use)();
  bool (*use_and_go)();
  void (*use_later)();
  int (*made)();
};
bool is_there(std::string const& library) {
  return ::dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr;
}
/// One life of the plugin in this process.
void load_use_unload(bool at_unload) {
  plugin p(WEFT_TEST_PLUGIN);
  REQUIRE(p.use());
  if (at_unload) p.use_later();
  p.close();
  REQUIRE_FALSE(is_there(WEFT_TEST_PLUGIN));
}
/// Two libraries in one process, which come and go in every order; each calls its kernels while the other is there, was
/// never there, and is gone. `made`: what each has compiled, when it counts for itself.
void use_side_by_side(std::string const& one, std::string const& other, int mode, int made) {
  for (int round = 0; round < 5; ++round) {
    plugin a(one, mode);
    REQUIRE(a.use());
    plugin b(other, mode);
    REQUIRE((b.use() && a.use()));
    if (made > 0) CHECK((a.made() == made && b.made() == made));
    a.close();
    REQUIRE(b.use());
    plugin again(one, mode);
    REQUIRE((again.use() && b.use()));
    b.close();
    REQUIRE(again.use());
    again.close();
  }
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
  CHECK(run("call", "off").output == "made 2, LLVM is loaded, not used: WEFT_CACHE says so\n");
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
  if (o.output.find(", used: ") != std::string::npos)
    MESSAGE("[skip] this disk is mounted without the right to be another user");
  else CHECK(o.output == "made 2, LLVM is loaded, not used: the program runs with the rights of another user than the one "
                         "who started it\n");
  CHECK(t.files().size() == 1);
}
TEST_CASE("a program that ends while its threads call kernels ends well") {
  for (int i = 0; i < 20; ++i) CHECK(run("leave", "off").code == 0);
}
#if !defined(__SANITIZE_ADDRESS__)  // g++ 12's may fork while another thread holds the lock of its allocator
TEST_CASE("children of a process that compiles meanwhile compile and run") {
  temporary_directory const t;
  CHECK(run("fork 20", "off").code == 0);
  CHECK(run("fork 20", t.path).code == 0);
  CHECK(run("fork 5", "off", "WEFT_LOADER=orc").code == 0);
}
TEST_CASE("children of forks that begin before the first kernel is compiled compile and run, or are told that they cannot") {
  int told = 0;
  for (int i = 0; i < 20; ++i) {
    outcome const o = run("fork 1", "off");
    CHECK(o.code == 0);
    told += o.output.find("told") != std::string::npos;
  }
  CHECK(told < 10);  // some 1 in 300 is
}
#endif

TEST_CASE("child: a plugin comes and goes" * doctest::skip()) {
  char const* const cache = std::getenv("WEFT_TEST_CACHE");
  ::setenv("WEFT_THREADS", "3", 1);
  for (int i = 0; i < 3; ++i) load_use_unload(false);  // loads LLVM, fills the cache, and what libc keeps
  std::size_t const threads = count_of("/proc/self/task"), mappings = lines_of("/proc/self/maps");
  std::size_t const pages = resident_pages(), files = count_of("/proc/self/fd");
  for (int i = 0; i < (cache != nullptr ? 1000 : 20); ++i) load_use_unload(false);
  CHECK(count_of("/proc/self/task") == threads);
  CHECK(count_of("/proc/self/fd") == files);
#if WEFT_TEST_ASAN  // which keeps freed memory for a while
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
TEST_CASE("child: a plugin goes while its code is made" * doctest::skip()) {
  for (int i = 0; i < 30; ++i) {
    plugin p(WEFT_TEST_PLUGIN);
    REQUIRE(p.use_and_go());
    ::usleep(static_cast<unsigned>(i) * 500);
    p.close();
    CHECK(!is_there(WEFT_TEST_PLUGIN));
  }
}
TEST_CASE("a plugin may be unloaded while its code is made") {
  count_no_leaks();
  CHECK(weft::test::run_case("child: a plugin goes while its code is made", "WEFT_CACHE", "off") == 0);
}
TEST_CASE("child: two plugins side by side" * doctest::skip()) {
  temporary_directory const t;
  std::string const hidden = t.path + "/hidden.so", visible = t.path + "/visible.so";
  std::filesystem::copy_file(WEFT_TEST_PLUGIN, hidden);
  std::filesystem::copy_file(WEFT_TEST_VISIBLE_PLUGIN, visible);
  use_side_by_side(WEFT_TEST_PLUGIN, hidden, RTLD_LOCAL, 2);
  CHECK_FALSE((is_there(WEFT_TEST_PLUGIN) || is_there(hidden)));
  // Whose functions and statics the others see, and which compilers then keep in the process.
  use_side_by_side(WEFT_TEST_VISIBLE_PLUGIN, hidden, RTLD_LOCAL, 0);
  CHECK_FALSE(is_there(hidden));
  use_side_by_side(WEFT_TEST_VISIBLE_PLUGIN, visible, RTLD_LOCAL, 0);
  use_side_by_side(WEFT_TEST_VISIBLE_PLUGIN, visible, RTLD_GLOBAL, 0);
}
TEST_CASE("two plugins that use weft live side by side, and each outlives the other") {
  count_no_leaks();
  CHECK(weft::test::run_case("child: two plugins side by side", "WEFT_TEST_CACHE", nullptr) == 0);
}
