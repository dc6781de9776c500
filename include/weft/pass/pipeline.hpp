// The list of passes, in order: the table of contents of what happens to a loop program.
#pragma once

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
/// For tests: what a wrong pass of this name would leave; null in every program.
inline void (*wrong_pass)(char const* pass, ir::function& f) = nullptr;
}  // namespace detail

/// Called after each pass with its name; for dumps and the verifier.
struct pass_observer {
  void (*after)(void* context, char const* pass, ir::function const& f) = nullptr;
  void* context = nullptr;
  void operator()(char const* pass, ir::function& f) const {
    if (detail::wrong_pass != nullptr) detail::wrong_pass(pass, f);
    if (after != nullptr) after(context, pass, f);
  }
};

/// The names, in the order of the passes.
inline constexpr char const* pass_names[] = {"simplify", "vectorize", "unroll", "simplify_copies", "promote",
                                             "simplify_last", "jam", "partition", "legalise"};
/// Those of a GPU (pass/gpu.hpp), in their order.
inline constexpr char const* gpu_pass_names[] = {"simplify", "spread_threads", "vectorize",     "unroll",   "fragments", "promote",
                                                 "legalise", "single_lanes",   "wide_accesses", "barriers"};
/// What the passes must know of the machine.
struct pass_limits {
  int vector_bytes = 16;
  bool converts_f16 = false;  // between f16 and f32 in one instruction
  bool scales = false;        // vectors by powers of two, in one instruction
};

/// Brings a lowered function into the form that the code generators take: no vectorized or unrolled loop, no
/// accumulate, every guard that can be decided gone, no conversion that the machine lacks.
void run_passes(ir::function& f, pass_limits limits, pass_observer const& observe = {});

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/pass/pipeline.ipp"
#endif
