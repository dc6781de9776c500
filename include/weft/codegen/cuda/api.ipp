#include <dlfcn.h>

#include "weft/codegen/cuda/api.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
inline void* open_nvrtc() {
  // CUDA's installer leaves its folder to the user's LD_LIBRARY_PATH; many have none.
  for (char const* folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"})
    for (char const* file : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      if (void* const h = dlopen((std::string(folder) + file).c_str(), RTLD_NOW | RTLD_LOCAL)) return h;
  return nullptr;
}
template <class F>
bool find_symbol(void* library, char const* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}
struct loaded_nvrtc {
  nvrtc_api api{};
  bool complete = false;
  loaded_nvrtc() {
    void* const h = open_nvrtc();
    complete = h != nullptr && find_symbol(h, "nvrtcVersion", api.nvrtcVersion) &&
               find_symbol(h, "nvrtcGetErrorString", api.nvrtcGetErrorString) &&
               find_symbol(h, "nvrtcGetNumSupportedArchs", api.nvrtcGetNumSupportedArchs) &&
               find_symbol(h, "nvrtcGetSupportedArchs", api.nvrtcGetSupportedArchs) &&
               find_symbol(h, "nvrtcCreateProgram", api.nvrtcCreateProgram) &&
               find_symbol(h, "nvrtcDestroyProgram", api.nvrtcDestroyProgram) &&
               find_symbol(h, "nvrtcCompileProgram", api.nvrtcCompileProgram) &&
               find_symbol(h, "nvrtcGetProgramLogSize", api.nvrtcGetProgramLogSize) &&
               find_symbol(h, "nvrtcGetProgramLog", api.nvrtcGetProgramLog) &&
               find_symbol(h, "nvrtcGetPTXSize", api.nvrtcGetPTXSize) &&
               find_symbol(h, "nvrtcGetPTX", api.nvrtcGetPTX) &&
               find_symbol(h, "nvrtcGetCUBINSize", api.nvrtcGetCUBINSize) &&
               find_symbol(h, "nvrtcGetCUBIN", api.nvrtcGetCUBIN);
  }
};
// Two functions of NVRTC, one for the size and one for the bytes; text ends with a zero that is not wanted.
inline std::string nvrtc_bytes(nvrtc_api::program p, int (*size)(nvrtc_api::program, std::size_t*),
                               int (*get)(nvrtc_api::program, char*), bool text) {
  std::size_t n = 0;
  if (size(p, &n) != 0 || n == 0) return {};
  std::string bytes(n, '\0');
  if (get(p, &bytes[0]) != 0) return {};
  while (text && !bytes.empty() && bytes.back() == '\0') bytes.pop_back();
  return bytes;
}
}  // namespace detail

WEFT_DECL nvrtc_api const* find_nvrtc() {
  static detail::loaded_nvrtc const library;
  return library.complete ? &library.api : nullptr;
}

WEFT_DECL cuda_binary compile_cuda(std::string const& text, std::string const& architecture,
                                   sequence<std::string> const& options) {
  nvrtc_api const* const api = find_nvrtc();
  if (api == nullptr)
    WEFT_THROW(device_error("no NVRTC on this machine: install the CUDA toolkit 12 or 13, or its nvrtc package"));
  std::string const arch = "--gpu-architecture=" + architecture;
  sequence<char const*> all = {arch.c_str()};
  for (std::string const& o : options) all.push_back(o.c_str());

  nvrtc_api::program p = nullptr;
  int result = api->nvrtcCreateProgram(&p, text.c_str(), "weft.cu", 0, nullptr, nullptr);
  cuda_binary r;
  if (result == 0) {
    result = api->nvrtcCompileProgram(p, static_cast<int>(all.size()), all.data());
    r.log = detail::nvrtc_bytes(p, api->nvrtcGetProgramLogSize, api->nvrtcGetProgramLog, true);
    if (result == 0) r.ptx = detail::nvrtc_bytes(p, api->nvrtcGetPTXSize, api->nvrtcGetPTX, true);
    if (result == 0) r.cubin = detail::nvrtc_bytes(p, api->nvrtcGetCUBINSize, api->nvrtcGetCUBIN, false);
    api->nvrtcDestroyProgram(&p);
  }
  if (result != 0 && text.find("\n#line 1 \"") != std::string::npos)  // text of the user's is in it
    WEFT_THROW(argument_error("a weft::cuda_function does not compile: NVRTC for " + architecture + ": " +
                              api->nvrtcGetErrorString(result) + "\n" + r.log));
  if (result != 0)
    WEFT_THROW(internal_error("NVRTC for " + architecture + ": " + api->nvrtcGetErrorString(result) + "\n" + r.log));
  return r;
}

}  // namespace weft::inline WEFT_ABI
