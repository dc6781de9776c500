#include <cstdlib>

#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/api.hpp"
#include "weft/codegen/cuda/resources.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// What a processor of an architecture has. All have 65536 registers, handed out to warps in pieces of 256.
struct gpu_processor {
  int number;  // of sm_80: 80
  std::int32_t warps, blocks;
  std::int64_t shared_bytes;  // of which each block has 1 KiB for the system
};
inline gpu_processor const* processor_of(std::string const& architecture) {
  static constexpr gpu_processor all[] = {{80, 64, 32, 164 * 1024},  {86, 48, 16, 100 * 1024},  {87, 48, 16, 164 * 1024},
                                          {89, 48, 24, 100 * 1024},  {90, 64, 32, 228 * 1024},  {100, 64, 32, 228 * 1024},
                                          {103, 64, 32, 228 * 1024}, {120, 48, 24, 100 * 1024}, {121, 48, 24, 100 * 1024}};
  int const number = architecture.size() > 3 ? std::atoi(architecture.c_str() + 3) : 0;
  for (gpu_processor const& p : all)
    if (p.number == number) return &p;
  return nullptr;
}
/// How many blocks fit.
inline void count_blocks(cuda_usage& u) {
  gpu_processor const* const p = processor_of(u.architecture);
  if (p == nullptr || u.threads < 1) return;
  std::int64_t const warps = (u.threads + 31) / 32, of_warp = (u.registers + 7) / 8 * 256;
  struct {
    char const* what;
    std::int64_t blocks;
  } const limits[] = {
      {"threads", p->warps / warps},
      {"blocks", p->blocks},
      {"registers", u.registers < 1 ? p->blocks : 65536 / 4 / of_warp * 4 / warps},  // a quarter for each of four schedulers
      {"shared memory", p->shared_bytes / ((u.shared_bytes + 127) / 128 * 128 + 1024)},
  };
  std::int64_t least = p->blocks + 1;
  for (auto const& l : limits)
    if (l.blocks < least) least = l.blocks, u.limit = l.what;
  u.blocks = static_cast<std::int32_t>(least);
  u.occupancy = static_cast<std::int32_t>(100 * least * warps / p->warps);
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

WEFT_DECL sequence<cuda_usage> usage_of(cuda_module const& module, std::string const& architecture) {
  std::string const log = compile_cuda(module.text, architecture, {"--ptxas-options=-v"}).log;
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
WEFT_DECL sequence<std::string> known_architectures() {
  nvrtc_api const* const api = find_nvrtc();
  int count = 0;
  if (api == nullptr || api->nvrtcGetNumSupportedArchs(&count) != 0) return {};
  sequence<int> numbers(static_cast<std::size_t>(count), 0);
  if (api->nvrtcGetSupportedArchs(numbers.data()) != 0) return {};
  sequence<std::string> found;
  for (char const* name : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"})
    for (int n : numbers)
      if (n == std::atoi(name + 3)) found.push_back(name);
  return found;
}

}  // namespace weft::inline WEFT_ABI
