#include "weft/base/env.hpp"
#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/api.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cuda/cubin.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {
namespace detail {

/// For profilers: which line of the text an instruction is of.
inline bool lines_wanted() { return environment_switch("WEFT_LINEINFO"); }
inline std::string cubin_key(std::string const& text, cuda_gpu const& gpu, std::string const& version) {
  return joined({"cuda\n", gpu.architecture, "\n", version, lines_wanted() ? " -lineinfo\n" : "\n", text});
}
inline bool find_cubin(std::string const& key, cubin& r) {
  std::string bytes;
  cache::entry e;
  r.from_disk = cache::find(key, bytes, e);
  if (r.from_disk) r.code = std::string(e.object);
  return r.from_disk;
}
/// Of any NVRTC of the driver's CUDA and of those before: 12.0 was the first, and no CUDA has had more than ten of them.
inline bool find_any_cubin(std::string const& text, cuda_gpu const& gpu, int driver, cubin& r) {
  for (int major = driver; major >= 12; --major)
    for (int minor = 9; minor >= 0; --minor)
      if (find_cubin(cubin_key(text, gpu, joined({"NVRTC ", std::to_string(major), ".", std::to_string(minor)})), r)) return true;
  return false;
}
}  // namespace detail

WEFT_DECL nvrtc_api const* nvrtc_for_driver(std::string* why) {
  int const major = cuda_driver_version() / 1000;
  nvrtc_api const* const found = find_nvrtc(major);
  if (found != nullptr || why == nullptr) return found;
  if (nvrtc_api const* const newer = find_nvrtc())
    *why = joined({version_of(*newer), " is newer than the driver, which is of CUDA ", std::to_string(major), ": install a newer driver, or NVRTC ",
                   std::to_string(major)});
  else
    *why = nvrtc_is_missing();
  return nullptr;
}
WEFT_DECL cubin cubin_of(std::string const& text, std::string_view kernel, cuda_gpu const& gpu) {
  cubin r;
  std::string why;
  nvrtc_api const* const nvrtc = nvrtc_for_driver(&why);
  if (nvrtc == nullptr) {
    if (detail::find_any_cubin(text, gpu, cuda_driver_version() / 1000, r)) return r;
    WEFT_THROW(device_error(joined({kernel, ": ", why})));
  }
  std::string const version = version_of(*nvrtc), key = detail::cubin_key(text, gpu, version);
  if (detail::find_cubin(key, r)) return r;
  if (why = unknown_architecture(*nvrtc, gpu.architecture); !why.empty()) {
    char name[256] = {};
    gpu.driver->cuDeviceGetName(name, static_cast<int>(sizeof name) - 1, gpu.device);
    WEFT_THROW(device_error(joined({kernel, ": of ", static_cast<char const*>(name), ": ", why})));
  }
  sequence<std::string> options;
  if (detail::lines_wanted()) options.push_back("-lineinfo");
  r.code = compile_cuda(text, gpu.architecture, options, nvrtc).cubin;
  cache::keep({key, version, std::string(kernel), r.code, 0});
  return r;
}

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
