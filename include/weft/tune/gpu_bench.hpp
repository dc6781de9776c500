// Where candidates for a GPU run: what a worker needs of tune/cuda.hpp, which most programs do without.
#pragma once

#include <string>
#include <string_view>

#include "weft/schedule/intrinsic.hpp"
#include "weft/tune/buffers.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// Where a process has the copies of the arguments (buffers.hpp).
struct argument_places {
  sequence<memory_block> blocks{};
  sequence<char*> pages{};       // of each block, where its pages begin
  sequence<char*> open_pages{};  // the same, in open surroundings; none: as `pages`
  sequence<tensor_place> tensors{};
  sequence<std::int64_t> scalars{};
};

/// A compiled candidate and what it runs on.
class candidate {
 public:
  virtual ~candidate() = default;
  /// Nanoseconds of so many calls; negative: not well, and perhaps `why`. One call alone sees the copies as they are now, and leaves
  /// its results there. `around`: of the CPU alone.
  ///
  /// Errors  device_error after which nothing can be run in this process
  virtual double run(std::int64_t calls, surroundings around, std::string& why) = 0;
};

/// A GPU with memory for the arguments.
class gpu_bench {
 public:
  virtual ~gpu_bench() = default;
  /// Compiles the text of a loop program, as gpu_way::loops has it, unless `made` is what `compile` has made of it. With `may_spill`
  /// registers may be spilled.
  ///
  /// Errors  parse_error, internal_error, device_error: what NVRTC or the driver says, spilled registers, a block that does not fit
  virtual candidate* load(std::string_view loops, known_intrinsics known, bool may_spill, std::string_view made) = 0;
};
/// Of tune/cuda.hpp.
struct gpu_bench_services {
  gpu_bench* (*open)(int device, argument_places const& places);
  /// Machine code for "sm_90", and what was said of it, as bytes for `load`; no GPU is touched. Errors: as of `load`
  std::string (*compile)(std::string_view loops, known_intrinsics known, std::string const& architecture);
  /// What is missing to compile for a GPU; empty: nothing is.
  std::string (*missing)();
  /// How many GPUs the driver has; 0: none, or no driver. It begins CUDA
  int (*devices)();
};
[[gnu::weak]] extern gpu_bench_services const linked_gpu_bench;
/// Null unless tune/cuda.hpp is included somewhere in the program.
inline gpu_bench_services const* find_gpu_bench() {
  gpu_bench_services const* const there = &linked_gpu_bench;
  return there;
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
