#include <dlfcn.h>

#include <cstdlib>

#include "weft/base/env.hpp"
#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/api.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
inline void* open_nvrtc(char const* file) {
  // CUDA's installer leaves its folder to the user's LD_LIBRARY_PATH; many have none.
  for (char const* folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/", "/usr/local/cuda-13/lib64/", "/usr/local/cuda-12/lib64/"})
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
  int major = 0;  // 0: it is not there
  explicit loaded_nvrtc(void* h) {
    bool const complete = h != nullptr && find_symbol(h, "nvrtcVersion", api.nvrtcVersion) &&
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
    int minor = 0;
    if (complete && api.nvrtcVersion(&major, &minor) != 0) major = 0;
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
/// The kernels that ptxas says spill.
inline sequence<std::string> kernels_that_spill(std::string const& log) {
  std::string const words = "Registers are spilled to local memory in function '";
  sequence<std::string> all;
  for (std::size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1)) {
    std::size_t const begin = at + words.size();
    all.push_back(log.substr(begin, log.find('\'', begin) - begin));
  }
  return all;
}
/// `__launch_bounds__(256)` of a kernel becomes `__launch_bounds__(256, 4)`, for `registers` of a thread, of 65,536; 0: as it was.
inline std::string with_registers(std::string const& text, std::string const& kernel, int registers) {
  std::string const words = " __launch_bounds__(";
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    std::size_t const begin = at + words.size(), close = text.find(')', begin), name = text.find_first_not_of(" \n", close + 1);
    if (close == std::string::npos || name == std::string::npos || text.compare(name, kernel.size() + 1, kernel + "(") != 0) continue;
    std::string const threads = text.substr(begin, text.find(',', begin) < close ? text.find(',', begin) - begin : close - begin);
    int count = 0;
    for (char c : threads) count = c >= '0' && c <= '9' ? count * 10 + (c - '0') : count;
    if (count == 0) return text;
    int const fit = 65536 / (count * (registers > 0 ? registers : 1)), most = 1536 / count, blocks = fit < 1 ? 1 : fit > most && most > 0 ? most : fit;
    return text.substr(0, begin) + threads + (registers > 0 ? ", " + std::to_string(blocks) : "") + text.substr(close);
  }
  return text;
}
/// The registers of each thread of a kernel, as `-v` says them.
inline int registers_of(std::string const& log, std::string const& kernel) {
  std::size_t const entry = log.find("Compiling entry function '" + kernel + "'"), used = log.find("Used ", entry);
  return entry == std::string::npos || used == std::string::npos ? 0 : std::atoi(log.c_str() + used + 5);
}
/// What stands in its `__launch_bounds__`; 0: it has none.
inline int threads_of(std::string const& text, std::string const& kernel) {
  std::string const words = " __launch_bounds__(";
  std::size_t const name = text.find("\n" + kernel + "("), at = name == std::string::npos ? name : text.rfind(words, name);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + words.size());
}
/// The kernels of which a processor has one block alone, for a few registers: with a fifth fewer it has two.
inline sequence<std::string> kernels_alone(std::string const& text, std::string const& log) {
  std::string const words = "Compiling entry function '";
  sequence<std::string> all;
  for (std::size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1)) {
    std::size_t const begin = at + words.size();
    std::string const kernel = log.substr(begin, log.find('\'', begin) - begin);
    int const threads = threads_of(text, kernel), registers = registers_of(log, kernel);
    int const half = threads > 0 && threads <= 768 ? 65536 / (2 * threads) / 8 * 8 : 0;
    if (registers > half && 4 * registers <= 5 * half) all.push_back(kernel);
  }
  return all;
}
}  // namespace detail

WEFT_DECL nvrtc_api const* find_nvrtc(int most) {
  auto const fits = [&](detail::loaded_nvrtc const& l) { return l.major > 0 && (most == 0 || l.major <= most); };
  if (char const* const named = environment("WEFT_NVRTC")) {
    static detail::loaded_nvrtc const own(dlopen(named, RTLD_NOW | RTLD_LOCAL));
    return fits(own) ? &own.api : nullptr;
  }
  static detail::loaded_nvrtc const newest(detail::open_nvrtc("libnvrtc.so.13"));
  if (fits(newest)) return &newest.api;
  static detail::loaded_nvrtc const older(detail::open_nvrtc("libnvrtc.so.12"));
  if (fits(older)) return &older.api;
  static detail::loaded_nvrtc const other(detail::open_nvrtc("libnvrtc.so"));
  return fits(other) ? &other.api : nullptr;
}
WEFT_DECL std::string version_of(nvrtc_api const& nvrtc) {
  int major = 0, minor = 0;
  nvrtc.nvrtcVersion(&major, &minor);
  return joined({"NVRTC ", std::to_string(major), ".", std::to_string(minor)});
}
WEFT_DECL std::string unknown_architecture(nvrtc_api const& api, std::string const& architecture) {
  int count = 0, least = 0, most = 0;
  if (architecture.compare(0, 3, "sm_") != 0 || api.nvrtcGetNumSupportedArchs(&count) != 0 || count < 1) return {};
  sequence<int> numbers(static_cast<std::size_t>(count), 0);
  if (api.nvrtcGetSupportedArchs(numbers.data()) != 0) return {};
  int const wanted = std::atoi(architecture.c_str() + 3);
  for (int n : numbers) {
    if (n == wanted) return {};
    if (least == 0 || n < least) least = n;
    if (n > most) most = n;
  }
  return joined({version_of(api), " makes no code for ", architecture, ", but for sm_", std::to_string(least), " to sm_", std::to_string(most), ": install ",
                 wanted < least ? "an older" : "a newer", " NVRTC, such as has it (WEFT_NVRTC names its file), or compute on the CPU"});
}
WEFT_DECL std::string nvrtc_is_missing() {
  if (char const* const named = environment("WEFT_NVRTC"))
    return joined({"WEFT_NVRTC names ", named, ", which is no NVRTC of CUDA 12 or 13 that can be loaded: leave it out, or name the file libnvrtc.so.12 or .13"});
  return "no NVRTC on this machine: install the CUDA toolkit 12 or 13, or pip install nvidia-cuda-nvrtc-cu12, with its folder nvidia/cuda_nvrtc/lib on "
         "LD_LIBRARY_PATH; WEFT_NVRTC may name the file";
}

namespace detail {
inline cuda_binary compiled_once(nvrtc_api const& api, std::string const& text, std::string const& architecture, sequence<std::string> const& options) {
  std::string const arch = "--gpu-architecture=" + architecture;
  sequence<char const*> all = {arch.c_str()};
  for (std::string const& o : options) all.push_back(o.c_str());

  nvrtc_api::program p = nullptr;
  int result = api.nvrtcCreateProgram(&p, text.c_str(), "weft.cu", 0, nullptr, nullptr);
  cuda_binary r;
  if (result == 0) {
    result = api.nvrtcCompileProgram(p, static_cast<int>(all.size()), all.data());
    r.log = nvrtc_bytes(p, api.nvrtcGetProgramLogSize, api.nvrtcGetProgramLog, true);
    if (result == 0) r.ptx = nvrtc_bytes(p, api.nvrtcGetPTXSize, api.nvrtcGetPTX, true);
    if (result == 0) r.cubin = nvrtc_bytes(p, api.nvrtcGetCUBINSize, api.nvrtcGetCUBIN, false);
    api.nvrtcDestroyProgram(&p);
  }
  if (result == 7 || r.log.find("libnvrtc-builtins") != std::string::npos)  // NVRTC_ERROR_BUILTIN_OPERATION_FAILURE
    WEFT_THROW(device_error(joined({"NVRTC finds no libnvrtc-builtins of its version, which is installed beside it: put that folder on LD_LIBRARY_PATH, or name the "
                                    "NVRTC there by WEFT_NVRTC\n", r.log})));
  if (result != 0 && text.find("\n#line 1 \"") != std::string::npos)  // text of the user's is in it
    WEFT_THROW(argument_error("a weft::cuda_function does not compile: NVRTC for " + architecture + ": " +
                              api.nvrtcGetErrorString(result) + "\n" + r.log));
  if (result != 0)
    WEFT_THROW(internal_error("NVRTC for " + architecture + ": " + api.nvrtcGetErrorString(result) + "\n" + r.log));
  return r;
}
// Left alone, ptxas spills some bytes of kernels that have 32 registers, for more blocks at a time; told how many blocks there are to
// be, it takes the registers that it wants. So those that spill are compiled again, for fewer blocks each time. And it does not know that a
// processor with one block waits: SGEMM of 8192^3 takes 129 to 156 registers, and 128, without spills, where two blocks are asked for.
inline cuda_binary compiled_for_blocks(nvrtc_api const& api, std::string const& text, std::string const& architecture, sequence<std::string> const& all) {
  cuda_binary r = compiled_once(api, text, architecture, all);
  std::string now = text;
  if (kernels_that_spill(r.log).empty()) {
    for (std::string const& k : kernels_alone(text, r.log)) now = with_registers(now, k, 65536 / 2 / threads_of(now, k));
    if (now == text) return r;
    cuda_binary two = compiled_once(api, now, architecture, all);
    return kernels_that_spill(two.log).empty() ? two : r;
  }
  for (int round = 0;; ++round) {
    sequence<std::string> const spilling = kernels_that_spill(r.log);
    if (spilling.empty()) return r;
    std::string const before = now;
    for (std::string const& k : spilling) {
      int const had = registers_of(r.log, k);
      int more = 0;
      for (int registers : {255, 168, 128, 96, 80, 64, 40})
        if (registers > had) more = registers;
      now = with_registers(now, k, round < 5 ? more : 0);  // 0: nothing helps
    }
    if (now == before) return r;
    r = compiled_once(api, now, architecture, all);
    if (round == 5) return r;
  }
}
/// A log without what `-v` says of each kernel.
inline std::string without_usage(std::string const& log) {
  std::string rest;
  for (std::size_t at = 0; at < log.size();) {
    std::size_t const end = log.find('\n', at), next = end == std::string::npos ? log.size() : end + 1;
    std::string const line = log.substr(at, next - at);
    if (line.find("ptxas info ") != 0 && line.find("ptxas  ") != 0) rest += line;
    at = next;
  }
  return rest;
}
}  // namespace detail

WEFT_DECL cuda_binary compile_cuda(std::string const& text, std::string const& architecture, sequence<std::string> const& options, nvrtc_api const* by) {
  nvrtc_api const* const api = by != nullptr ? by : find_nvrtc();
  if (api == nullptr) WEFT_THROW(device_error(nvrtc_is_missing()));
  if (std::string const why = unknown_architecture(*api, architecture); !why.empty()) WEFT_THROW(device_error(why));
  bool const hopper = is_for_hopper(text);
  if (hopper && architecture != "sm_90" && architecture != "sm_90a")
    WEFT_THROW(schedule_error(joined({"tensorize: wgmma is there on sm_90 alone (H100, H200), and not on ", architecture, "\n  try   mma_f16, or mma_bf16"})));
  bool told = false;
  for (std::string const& o : options) told = told || o == "--ptxas-options=-v";
  sequence<std::string> all = options;
  all.push_back("--ptxas-options=--warn-on-spills");
  if (!told) all.push_back("--ptxas-options=-v");
  cuda_binary r = detail::compiled_for_blocks(*api, text, hopper ? "sm_90a" : architecture, all);
  if (!told) r.log = detail::without_usage(r.log);
  return r;
}

}  // namespace weft::inline WEFT_ABI
