#include "modules.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <weft/codegen/target.hpp>

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
}  // namespace

void restart_with_environment(char** argv) {
  if (std::getenv("WEFT_BENCH_PEERS") != nullptr) return;
  ::setenv("WEFT_BENCH_PEERS", "1", 1);
  if (weft::host().has("avx512f")) ::setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  ::setenv("OPENBLAS_THREAD_TIMEOUT", "16", 0);
  ::setenv("GOMP_SPINCOUNT", "30000", 0);
  ::setenv("OMP_NUM_THREADS", "2", 0);
  ::setenv("HL_NUM_THREADS", "2", 0);
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
  ::execv("/proc/self/exe", argv);
  std::perror("weft-bench: cannot start itself anew");
}

std::vector<way> ways_of_all(report& r, problem const& p) {
  std::vector<way> all;
  for (module& m : modules) {
    load(r, m);
    if (m.ways != nullptr) m.ways(p, all);
  }
  return all;
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
