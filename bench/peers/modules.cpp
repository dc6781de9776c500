#include "modules.hpp"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <weft/codegen/target.hpp>

extern "C" char** environ;

namespace bench::peers {
namespace {
struct module {
  char const* file;
  char const* peer;
  char const* package;
  bool tried = false;
  decltype(&weft_bench_peer_ways) ways = nullptr;
  decltype(&weft_bench_peer_version) version = nullptr;
};
module modules[] = {{"plain", "g++ loops", "libgomp1"},       {"openblas", "OpenBLAS", "libopenblas-dev"},
                    {"onednn", "oneDNN", "libdnnl-dev"},      {"eigen", "Eigen", "libeigen3-dev"},
                    {"libxsmm", "LIBXSMM", "libxsmm-dev"},    {"halide", "Halide", "libhalide14-0-dev"}};

std::string beside_program(char const* name) {
  char path[4096];
  ssize_t const length = ::readlink("/proc/self/exe", path, sizeof path);
  std::string const all(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return all.substr(0, all.rfind('/') + 1) + "libweft-peer-" + name + ".so";
}
void load(report& r, module& m) {
  if (m.tried) return;
  m.tried = true;
  void* const library = ::dlopen(beside_program(m.file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    bool const is_built = ::access(beside_program(m.file).c_str(), R_OK) == 0;
    std::fprintf(r.wanted.json ? stderr : stdout, "[skip] %s: %s (apt-get install %s)\n", m.peer,
                 is_built ? ::dlerror() : "not there when this was configured", m.package);
    return;
  }
  m.ways = reinterpret_cast<decltype(m.ways)>(::dlsym(library, "weft_bench_peer_ways"));
  m.version = reinterpret_cast<decltype(m.version)>(::dlsym(library, "weft_bench_peer_version"));
}
void set_environment() {
  ::setenv("WEFT_BENCH_PEERS", "1", 1);
  if (weft::host().has("avx512f")) ::setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
  else ::unsetenv("OPENBLAS_CORETYPE");
  ::unsetenv("OPENBLAS_L2_SIZE");
  ::setenv("OPENBLAS_THREAD_TIMEOUT", "16", 0);
  ::setenv("GOMP_SPINCOUNT", "30000", 0);
  ::setenv("OMP_NUM_THREADS", "2", 0);
  ::setenv("HL_NUM_THREADS", "2", 0);
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
}
bool has_environment() { return std::getenv("WEFT_BENCH_PEERS") != nullptr; }
template <class Wanted>
std::vector<way> ways_of_those(report& r, problem const& p, Wanted const& wanted) {
  std::vector<way> all;
  for (module& m : modules) {
    if (!wanted(m)) continue;
    load(r, m);
    if (m.ways != nullptr) m.ways(p, all);
  }
  return all;
}
}  // namespace

void restart_with_environment(char** argv) {
  if (has_environment()) return;
  set_environment();
  ::execv("/proc/self/exe", argv);
  std::perror("weft-bench: cannot start itself anew");
}
bool ran_with_environment(report& r, char const* name) {
  if (has_environment()) return false;
  set_environment();
  std::string program = "weft-bench", filter = "--filter", what = name, json = "--json", rounds = "--rounds", count = std::to_string(r.wanted.rounds);
  char* const arguments[] = {program.data(), filter.data(), what.data(), rounds.data(), count.data(), r.wanted.json ? json.data() : nullptr, nullptr};
  pid_t child = 0;
  int status = 0;
  std::fflush(stdout);
  bool const began = ::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0;
  ::unsetenv("WEFT_BENCH_PEERS");
  if (!began || ::waitpid(child, &status, 0) != child) r.skip("cannot start itself anew");
  else if (status != 0) r.wrong("as it says above");
  return true;
}

std::vector<way> ways_of_all(report& r, problem const& p) {
  return ways_of_those(r, p, [](module const&) { return true; });
}
std::vector<way> ways_of(report& r, problem const& p, std::initializer_list<std::string_view> names) {
  return ways_of_those(r, p, [&](module const& m) { return std::find(names.begin(), names.end(), m.file) != names.end(); });
}

std::string versions(report& r) {
  std::string all;
  for (module& m : modules) {
    load(r, m);
    if (m.version != nullptr) all += (all.empty() ? "" : ", ") + std::string(m.version());
  }
  return all;
}

}  // namespace bench::peers
