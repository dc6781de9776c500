#include <cstdlib>

#include "weft/runtime/constant.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL std::uint64_t kept_of_constant::next_state() {
  static std::uint64_t last = 0;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}
WEFT_HOT_DECL void* kept_of_constant::find(std::uint64_t kernel, std::uint64_t const* states, int count) const {
  for (made const* m = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); m != nullptr; m = m->next) {
    bool same = m->kernel == kernel && static_cast<int>(m->states.size()) == count;
    for (int i = 0; same && i < count; ++i) same = m->states[static_cast<std::size_t>(i)] == states[i];
    if (same) return m->memory;
  }
  return nullptr;
}
WEFT_DECL void kept_of_constant::keep(std::uint64_t kernel, std::uint64_t const* states, int count, void* memory) {
  __atomic_store_n(&first_, new made{kernel, {states, states + count}, memory, first_}, __ATOMIC_RELEASE);
}
WEFT_DECL void kept_of_constant::forget() {
  while (made* const m = first_) {
    first_ = m->next;
    std::free(m->memory);
    delete m;
  }
  state_ = next_state();
}

}  // namespace weft::inline WEFT_ABI
