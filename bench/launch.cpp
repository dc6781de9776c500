// What a launch on a GPU costs on the host, in front of the driver: a driver that does nothing takes them, so that there need be no GPU.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "harness.hpp"
#include "weft/codegen/cuda/api.hpp"
#include "weft/cuda.hpp"
#include "weft/weft.hpp"

namespace bench {
namespace {
inline constexpr auto saxpy_on_gpu = weft::kernel<"saxpy">([](auto x, auto y, auto a) {
  return weft::compute<"out">(x.extent(0), [=](auto i) { return a * x(i) + y(i); });
});
}  // namespace

void launch(report& r) {
  if (weft::find_nvrtc() == nullptr) return r.skip("no NVRTC on this machine");
  std::string folder = "/tmp/weft_launch_XXXXXX";
  if (mkdtemp(&folder[0]) == nullptr) return r.skip("no folder in /tmp");
  std::string const driver = folder + "/libcuda.so.1";
  char const* const cxx = std::getenv("CXX");
  std::string const command = std::string(cxx != nullptr && *cxx != '\0' ? cxx : "c++") + " -std=c++17 -O1 -fPIC -shared -x c++ -o '" + driver +
                              "' '" WEFT_TESTS_DIR "/support/cuda_driver_stub.hpp'";
  bool const built = std::system(command.c_str()) == 0;
  void* const stub = built ? dlopen(driver.c_str(), RTLD_NOW) : nullptr;
  setenv("WEFT_CUDA", driver.c_str(), 1);
  auto const bare = stub != nullptr ? reinterpret_cast<int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**)>(dlsym(stub, "cuLaunchKernel")) : nullptr;
  auto const find = stub != nullptr ? reinterpret_cast<int (*)(void**, void*, char const*)>(dlsym(stub, "cuLibraryGetKernel")) : nullptr;
  if (bare == nullptr || find == nullptr) return r.skip("no compiler on this machine");
  weft::cuda_tensor<float, 1> x({64}), y({64}), out({64});
  void* entry = nullptr;
  find(&entry, nullptr, "bare");
  void* pointers[] = {x.address(), y.address(), out.address()};
  float a = 2;
  void* parameters[] = {&pointers[0], &pointers[1], &pointers[2], &a, nullptr};
  auto const gpu = saxpy_on_gpu.on(weft::cuda());
  std::vector<variant> const variants{{"cuLaunchKernel",
                                       [&](std::int64_t times) {
                                         while (times-- > 0) bare(entry, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr);
                                       },
                                       0},
                                      {"kernel on a GPU", [&](std::int64_t times) {
                                         while (times-- > 0) gpu(x, y, 2.0f, weft::out(out));
                                       },
                                       0}};
  for (variant const& v : variants) v.run(1);
  add_ns_over_first(r, variants, 300);
  unlink(driver.c_str()), rmdir(folder.c_str());
}

}  // namespace bench
