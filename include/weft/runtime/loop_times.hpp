// How long parallel loops took of one thread, so that who runs one knows whether it is worth waking others, or handing it over.
#pragma once

#include <cstdint>

#include "weft/codegen/launch.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime::detail {

/// Of up to 64 loops, in ns; one that meets another's place takes it.
///
/// Threads  any, without a lock
/// Cost     a few ns
class loop_times {
 public:
  static std::uint64_t key(loop_body* body, std::int64_t count, int pieces = 0) {
    std::uint64_t const both = reinterpret_cast<std::uintptr_t>(body) ^ (static_cast<std::uint64_t>(count) * 0xd6e8feb86659fd93u + static_cast<std::uint64_t>(pieces));
    return both * 0x9e3779b97f4a7c15u;
  }
  /// 0: it was not met yet, or another one took its place.
  std::int64_t of(std::uint64_t loop) const {
    std::uint64_t const word = __atomic_load_n(&words_[loop >> 58], __ATOMIC_RELAXED);
    return word >> 24 == tag(loop) ? static_cast<std::int64_t>(word & longest) : 0;
  }
  /// Calls may have loops of other lengths in them: what is kept rises at once and falls slowly.
  void note(std::uint64_t loop, std::int64_t ns) {
    std::int64_t const before = of(loop);
    ns = ns < 1 ? 1 : ns > longest ? longest : ns;
    if (ns < before) ns = before - (before - ns) / 8;
    __atomic_store_n(&words_[loop >> 58], tag(loop) << 24 | static_cast<std::uint64_t>(ns), __ATOMIC_RELAXED);
  }
  void forget() {
    for (auto& word : words_) __atomic_store_n(&word, 0, __ATOMIC_RELAXED);
  }

 private:
  static constexpr std::int64_t longest = (1 << 24) - 1;
  static std::uint64_t tag(std::uint64_t loop) { return loop >> 18 & 0xffffffffffu; }
  std::uint64_t words_[64]{};  // what is left of a key << 24 | ns
};

}  // namespace runtime::detail
}  // namespace weft::inline WEFT_ABI
