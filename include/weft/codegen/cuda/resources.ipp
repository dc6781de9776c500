#include <cstdlib>

#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/api.hpp"
#include "weft/codegen/cuda/processor.hpp"
#include "weft/codegen/cuda/resources.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// How many blocks fit.
inline void count_blocks(cuda_usage& u) {
  gpu_processor const* const p = processor_of(u.architecture);
  if (p == nullptr || u.threads < 1) return;
  resident_blocks const found = blocks_that_fit(*p, u.threads, u.registers, u.shared_bytes);
  u.blocks = found.blocks, u.occupancy = found.occupancy, u.limit = found.limit;
}
/// The number in front of (or, with `behind`, after) the next `words` from `at` on, before `end`; 0 where they do not stand.
inline std::int32_t number_at(std::string const& log, std::size_t at, std::size_t end, char const* words, bool behind) {
  std::size_t const found = log.find(words, at);
  if (found == std::string::npos || found >= end) return 0;
  std::size_t begin = found;
  if (behind) {
    begin += std::string(words).size();
  } else {
    while (begin > 0 && (log[begin - 1] == ' ' || (log[begin - 1] >= '0' && log[begin - 1] <= '9'))) --begin;
  }
  return std::atoi(log.c_str() + begin);
}
inline std::string padded(std::string const& s, std::size_t width, bool left = false) {
  std::string const space(s.size() < width ? width - s.size() : 0, ' ');
  return left ? s + space : space + s;
}
}  // namespace detail

WEFT_DECL sequence<cuda_usage> usage_of(cuda_module const& module, std::string const& architecture, nvrtc_api const* by) {
  return usage_in(compile_cuda(module.text, architecture, {"--ptxas-options=-v"}, by).log, module, architecture);
}
WEFT_DECL sequence<cuda_usage> usage_in(std::string const& log, cuda_module const& module, std::string const& architecture) {
  sequence<cuda_usage> all;
  for (cuda_kernel const& k : module.kernels) {
    cuda_usage u;
    u.kernel = k.name;
    u.architecture = architecture;
    u.threads = k.threads[0] * k.threads[1] * k.threads[2];
    u.shared_bytes = k.shared_bytes;
    std::size_t const at = log.find(joined({"entry function '", k.name, "'"}));
    if (at != std::string::npos) {
      std::size_t end = log.find("entry function '", at + 1);
      if (end == std::string::npos) end = log.size();
      u.stack_bytes = detail::number_at(log, at, end, "bytes stack frame", false);
      u.spill_stores = detail::number_at(log, at, end, "bytes spill stores", false);
      u.spill_loads = detail::number_at(log, at, end, "bytes spill loads", false);
      u.registers = detail::number_at(log, at, end, "Used ", true);
      detail::count_blocks(u);
    }
    all.push_back(u);
  }
  return all;
}
WEFT_DECL std::string print_usage(sequence<cuda_usage> const& all) {
  std::size_t longest = 6;
  for (cuda_usage const& u : all)
    if (u.kernel.size() > longest) longest = u.kernel.size();
  std::string text = joined({detail::padded("kernel", longest, true), "  arch    threads  registers  shared  stack  spills  blocks  occupancy\n"});
  for (cuda_usage const& u : all) {
    auto const column = [](std::int64_t v, std::size_t width) { return detail::padded(std::to_string(v), width); };
    text += joined({detail::padded(u.kernel, longest, true), "  ", detail::padded(u.architecture, 6, true), column(u.threads, 9),
                    column(u.registers, 11), column(u.shared_bytes, 8), column(u.stack_bytes, 7),
                    column(u.spill_stores + u.spill_loads, 8), column(u.blocks, 8), column(u.occupancy, 9), " %  ", u.limit, "\n"});
  }
  return text;
}
WEFT_DECL sequence<std::string> known_architectures(nvrtc_api const* by) {
  nvrtc_api const* const api = by != nullptr ? by : find_nvrtc();
  int count = 0;
  if (api == nullptr || api->nvrtcGetNumSupportedArchs(&count) != 0) return {};
  sequence<int> numbers(static_cast<std::size_t>(count), 0);
  if (api->nvrtcGetSupportedArchs(numbers.data()) != 0) return {};
  sequence<std::string> found;
  for (char const* name : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"})
    for (int n : numbers)
      if (n == std::atoi(name + 3)) found.push_back(name);
  return found;
}

}  // namespace weft::inline WEFT_ABI
