#include "weft/base/env.hpp"
#include "weft/codegen/launch.hpp"
#include "weft/codegen/target.hpp"
#include "weft/runtime/call_threads.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL int runtime::threads_of_default_pool() { return environment_number("WEFT_THREADS", 1, most_threads, host().threads); }
WEFT_DECL int threads_of_calls() {
  loop_runner const* const chosen = __atomic_load_n(&detail::chosen_runner, __ATOMIC_ACQUIRE);
  int const own = runtime::threads_of_default_pool(), asked = chosen != nullptr ? chosen->threads : 0;
  return asked <= 0 || (chosen->by_own_pool && asked > own) ? own : asked;
}
WEFT_DECL int working_threads() {
  int const asked = threads_of_calls();
  return asked < host().threads ? asked : host().threads;
}

}  // namespace weft::inline WEFT_ABI
