#include "weft/runtime/debugger.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>

#include "support/objects.hpp"
#include "support/private_cache.hpp"
#include "weft/debug.hpp"
#include "weft/runtime/perf_map.hpp"

using namespace weft;

namespace {
weft_jit_descriptor const& told() { return __jit_debug_descriptor; }
int count() {
  int n = 0;
  for (weft_jit_code_entry const* e = told().first; e != nullptr; e = e->next) ++n;
  return n;
}
}  // namespace

TEST_CASE("an object is announced with the place of its code, and taken back, in any order") {
  weft_test::kernel_object const o = weft_test::tile_object(host());
  runtime::linked_object const code = runtime::link(o.code.bytes, o.code.symbol);
  int const before = count();
  void* const a = runtime::tell_debugger(o.code.bytes, o.code.symbol, code.entry());
  REQUIRE(a != nullptr);
  CHECK(told().version == 1);
  CHECK(told().action == 1);
  CHECK(told().relevant == told().first);
  CHECK(told().first->bytes == o.code.bytes.size());
  CHECK(std::string_view(told().first->object, o.code.bytes.size()) != o.code.bytes);  // addresses are in it
  void* const b = runtime::tell_debugger(o.code.bytes, o.code.symbol, code.entry());
  void* const c = runtime::tell_debugger(o.code.bytes, o.code.symbol, code.entry());
  CHECK(count() == before + 3);
  for (void* one : {b, a, c}) runtime::untell_debugger(one);
  CHECK(told().action == 2);
  CHECK(count() == before);
  CHECK(runtime::tell_debugger(o.code.bytes, "another", code.entry()) == nullptr);
  CHECK(runtime::tell_debugger("no object", "another", code.entry()) == nullptr);
}
TEST_CASE("whatever the bytes of an object are, nothing outside of them is read or written") {
  weft_test::kernel_object const o = weft_test::tile_object(host());
  runtime::linked_object const code = runtime::link(o.code.bytes, o.code.symbol);
  unsigned const seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int n = 0; n < 3000; ++n) {
    std::string bytes = o.code.bytes;
    if (n % 4 == 0) bytes.resize(random() % bytes.size());
    for (unsigned k = 0; k < 1 + random() % 4 && !bytes.empty(); ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random() % 3 == 0 ? 255 : random());
    std::string const exact(bytes.data(), bytes.size());
    if (void* const one = runtime::tell_debugger(exact, o.code.symbol, code.entry())) runtime::untell_debugger(one);
    runtime::write_perf_map(exact, o.code.symbol, code.entry());
  }
  std::remove(("/tmp/perf-" + std::to_string(::getpid()) + ".map").c_str());
}
TEST_CASE("a source is written once, where only its user may write; else nowhere") {
  weft_test::temporary_directory const directory;
  ::setenv("TMPDIR", directory.path.c_str(), 1);
  std::string const folder = directory.path + "/weft-" + std::to_string(::geteuid());
  runtime::source_file const one = runtime::write_source("k_3x4_f32", "kernel k:\n");
  CHECK(one.directory == folder);
  CHECK(weft_test::content(folder + "/" + one.file) == "kernel k:\n");
  CHECK(runtime::write_source("k_3x4_f32", "kernel k:\n").file == one.file);
  CHECK(runtime::write_source("k_3x4_f32", "another\n").file != one.file);
  struct stat status {};
  CHECK(::stat(folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(::stat((folder + "/" + one.file).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(::chmod(folder.c_str(), 0777) == 0);
  CHECK(runtime::write_source("k", "text").file == "");
  REQUIRE(::rename(folder.c_str(), (folder + "x").c_str()) == 0);
  REQUIRE(::symlink((folder + "x").c_str(), folder.c_str()) == 0);
  CHECK(runtime::write_source("k", "text").file == "");
  ::unsetenv("TMPDIR");
}
