#include "weft/base/memory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

TEST_CASE("memory of tensors: aligned to its pages, all of it there, null where there is none") {
  for (std::int64_t bytes : {1, 64, 4096, (2 << 20) - 1, 2 << 20, (5 << 20) + 3}) {
    void* const p = weft::detail::element_memory(bytes);
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % (bytes >= 2 << 20 ? 2 << 20 : 64) == 0);
    std::memset(p, 1, static_cast<std::size_t>(bytes));
    std::free(p);
  }
#if !WEFT_TEST_ASAN && !WEFT_TEST_TSAN  // which end the program
  CHECK(weft::detail::element_memory(std::int64_t(1) << 62) == nullptr);
#endif
}
