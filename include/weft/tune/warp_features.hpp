// What a cost model is told of a loop program for a GPU, and whether its launches fit one.
#pragma once

#include <string>

#include "weft/base/sequence.hpp"
#include "weft/codegen/target.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// One launch.
struct launch_costs {
  std::int64_t blocks[3] = {1, 1, 1}, threads[3] = {1, 1, 1};  // of the grid; of a block
  std::int64_t shared_bytes = 0;  // of a block
  std::int64_t registers = 0;     // of a thread, estimated: sums, what is read for them, its own memory, and 20
  std::int32_t stages = 1;        // tiles of asynchronous copies that are on their way or in use
  std::int32_t occupancy = 0;     // per cent of a processor's warps, by the estimate of registers
  /// Pieces of 32 bytes that warps ask the GPU's memory for, and how many would hold the bytes that they want.
  double sectors = 0, least_sectors = 0;
  /// Turns that the banks of shared memory take for warps' accesses, and how many they would take without conflicts.
  double passes = 0, least_passes = 0;
  double operations = 0;
  double cycles = 0;  // see gpu_costs::estimate
};

/// What was found of a loop program. Who changes what features mean raises features_version (other_tasks.hpp).
struct gpu_costs {
  sequence<launch_costs> launches;
  /// Of all launches together and of the two that cost most, those first; as logarithms, as many for all programs: the members of
  /// launch_costs, with the quotients of sectors and of passes.
  sequence<float> features;
  /// About how long it takes, in no unit: of a processor 128 operations, 32 bytes of the GPU's memory and a pass of shared memory a
  /// cycle, the longest of these and a quarter of the others, more where few warps hide latencies and where the last round of blocks
  /// is not full. Nothing was fitted.
  double estimate = 0;
};

/// `f` is as `lower` leaves it. `gpu` is a GPU as a target (gpu_way::machine).
///
/// An access is looked at by the addresses of the 32 threads of a block's first warp, in the first iteration of all other loops.
/// `shared`: what the blocks of each launch share, where that is known; empty: of each the sum of its buffers, of which some may
/// have the same bytes.
///
/// Cost    10 to 100 us, and 0.1 to 0.5 ms for lowering
/// Source  CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" and "Shared Memory and Memory Banks"
gpu_costs costs_of_gpu_loops(ir::function const& f, target const& gpu, sequence<std::int64_t> const& shared = {});

/// What the blocks of each launch of a function share; it is as the passes leave it.
sequence<std::int64_t> shared_bytes_of_launches(ir::function const& f);
/// Whether the blocks of some launch share more than the GPU has.
bool shares_too_much(gpu_costs const& c, target const& gpu);

/// Why a launch is none that the GPU can do: threads and shared memory of a block, blocks of a grid, and, with `estimates`,
/// registers. Empty: all are.
std::string too_large(gpu_costs const& c, target const& gpu, bool estimates = true);

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/warp_features.ipp"
#endif
