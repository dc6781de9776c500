// A GPU that is this machine, for a test case in a process of its own.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "support/child_process.hpp"
#include "support/cuda_host.hpp"
#include "support/private_cache.hpp"

namespace weft_test {

namespace stub {
#include "support/cuda_driver_stub_state.hpp"
}

/// What the driver and NVRTC of cuda_machine_stub.hpp are to be.
struct machine_choice {
  int nvrtc = 13;       // the version of libnvrtc.so.13
  int older_nvrtc = 0;  // of libnvrtc.so.12 beside it
  int driver = 13;      // CUDA's version that the driver is of
  int architecture = 80;
};
/// Builds it, and runs the case of that name in a process that finds it.
inline void with_machine(char const* name, machine_choice const& choice = {}) {
  if (!cuda_on_host::available()) {
    MESSAGE("[skip] no compiler on this machine: apt-get install g++");
    return;
  }
  temporary_directory folder;
  char const* const cxx = std::getenv("CXX");
  std::string const compiler = cxx != nullptr && *cxx != '\0' ? cxx : "c++";
  auto const built = [&](char const* file, int nvrtc) {
    std::string const command = compiler + " -std=c++17 -O0 -fPIC -shared -DSTUB_NVRTC=" + std::to_string(nvrtc) + " -x c++ -o " + folder.path +
                                file + " '" WEFT_TESTS_DIR "/support/cuda_machine_stub.hpp' -ldl";
    REQUIRE(std::system(command.c_str()) == 0);
  };
  built("/libcuda.so.1", 0);
  if (choice.nvrtc > 0) built("/libnvrtc.so.13", choice.nvrtc);
  if (choice.older_nvrtc > 0) built("/libnvrtc.so.12", choice.older_nvrtc);
  ::setenv("WEFT_STUB_CXX", (compiler + " -std=c++17 -O0 -w -ffp-contract=off -fPIC -shared -include '" WEFT_TESTS_DIR "/support/cuda_shim.hpp'").c_str(), 1);
  ::setenv("WEFT_STUB_DRIVER", std::to_string(choice.driver).c_str(), 1);
  ::setenv("WEFT_STUB_ARCHITECTURE", std::to_string(choice.architecture).c_str(), 1);
  CHECK(weft::test::run_case(name, "LD_LIBRARY_PATH", folder.path.c_str()) == 0);
  ::unsetenv("WEFT_STUB_DRIVER");
  ::unsetenv("WEFT_STUB_ARCHITECTURE");
}
/// What the driver of this process has recorded.
inline stub::stub_state& machine_state() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(library != nullptr);
  return *static_cast<stub::stub_state*>(dlsym(library, "stub"));
}

}  // namespace weft_test
