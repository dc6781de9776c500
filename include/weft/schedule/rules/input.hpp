// What a rule knows of the machine and of the call.
#pragma once

#include <string>

#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
struct plan_memory;
}

/// What a rule knows beside the program and `nest::limits`. By tensor of the program: the strides in elements, of inputs
/// and outputs; and whether it is an input whose elements stay the same over many calls.
struct rule_input {
  std::int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // 0: not known
  std::int32_t threads = 1;
  bool reassociate = true;  // may sums of floats be taken in another order?
  bool in_place = false;    // an output is written over an input
  sequence<sequence<std::int64_t>> strides{};
  sequence<bool> constant{};
  double fork_cycles = 45000;  // of one thread: less is not worth waking others, which takes 2 to 12 us
  double short_fork_cycles = 6000;  // of a product, which all threads work on alike: less is not worth a fork to threads that are awake; with
                                    // those asleep the pool does short loops on their caller (runtime/thread_pool.hpp)
  sequence<intrinsic const*> dots{};  // instructions of the machine that join several products; of a GPU its matrix units
  /// By tensor, of inputs: the sizes to plan for where extents are open. The steps are legal for all sizes; without it few are taken.
  sequence<sequence<std::int64_t>> likely{};
  double copy_reads = 24;      // of each element: less is not worth a copy of a tensor without gaps
  std::int32_t l3_bytes_per_cycle = 0;  // as target's
  std::int32_t vector_units = 1;        // as target's
  /// Of a last cache that many processors share over a mesh, and whose lines stores past the caches need not wait for: so many bytes together come from memory. 0: such stores wait.
  std::int64_t past_far_bytes = 0;
  bool searched = false;       // what a rule chooses is a knob of the schedule, its own choice first (decision 040)
  std::uint8_t plan = 0;       // the plan to begin with; for searches, which know from the rule's own schedule which it took
  sequence<std::string>* told = nullptr;  // what a rule says of what it has not done, and why
  detail::plan_memory* memory = nullptr;  // of who asks for many schedules of one computation
};

}  // namespace weft::inline WEFT_ABI
