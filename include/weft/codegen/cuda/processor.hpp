// What a processor of a GPU has, by architecture, and how many blocks of a kernel fit it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "weft/base/joined.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// What a processor of an architecture has. All have 65536 registers, handed out to warps in pieces of 256.
struct gpu_processor {
  int number = 0;  // of sm_80: 80
  std::int32_t warps = 0, blocks = 0;
  std::int64_t shared_bytes = 0;  // of which each block has 1 KiB for the system
};
/// Of "sm_90a"; null: not known.
///
/// Source  CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
inline gpu_processor const* processor_of(std::string const& architecture) {
  static constexpr gpu_processor all[] = {{80, 64, 32, 164 * 1024},  {86, 48, 16, 100 * 1024},  {87, 48, 16, 164 * 1024},
                                          {89, 48, 24, 100 * 1024},  {90, 64, 32, 228 * 1024},  {100, 64, 32, 228 * 1024},
                                          {103, 64, 32, 228 * 1024}, {120, 48, 24, 100 * 1024}, {121, 48, 24, 100 * 1024}};
  int const number = architecture.size() > 3 ? std::atoi(architecture.c_str() + 3) : 0;
  for (gpu_processor const& p : all)
    if (p.number == number) return &p;
  return nullptr;
}

/// How many blocks a processor has at the same time.
struct resident_blocks {
  std::int32_t blocks = 0;
  std::int32_t occupancy = 0;  // warps of them, per cent of the most
  char const* limit = "";      // what there would have to be more of
};
/// For blocks of so many threads, each of so many registers, and so much shared memory.
inline resident_blocks blocks_that_fit(gpu_processor const& p, std::int64_t threads, std::int64_t registers, std::int64_t shared_bytes) {
  std::int64_t const warps = (threads + 31) / 32, of_warp = (registers + 7) / 8 * 256;
  struct {
    char const* what;
    std::int64_t blocks;
  } const limits[] = {
      {"threads", p.warps / warps},
      {"blocks", p.blocks},
      {"registers", registers < 1 ? p.blocks : 65536 / 4 / of_warp * 4 / warps},  // a quarter for each of four schedulers
      {"shared memory", p.shared_bytes / ((shared_bytes + 127) / 128 * 128 + 1024)},
  };
  resident_blocks found;
  std::int64_t least = p.blocks + 1;
  for (auto const& l : limits)
    if (l.blocks < least) least = l.blocks, found.limit = l.what;
  found.blocks = static_cast<std::int32_t>(least);
  found.occupancy = static_cast<std::int32_t>(100 * least * warps / p.warps);
  return found;
}

/// How many blocks a grid has along x, y or z, at most.
constexpr std::int64_t most_blocks(int axis) { return axis == 0 ? 0x7fffffff : 65535; }
/// What to say of more.
inline std::string too_many_blocks(std::string_view kernel, std::int64_t blocks, int axis) {
  return joined({kernel, ": these sizes make ", std::to_string(blocks), " blocks along ", std::string(1, "xyz"[axis]),
                 ": a grid has at most 2^31 - 1 along x and 65535 along y and z; bind another axis, or larger tiles"});
}

}  // namespace weft::inline WEFT_ABI
