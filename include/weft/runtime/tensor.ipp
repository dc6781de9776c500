#include <cstdlib>
#include <cstring>

#include "weft/base/joined.hpp"
#include "weft/base/memory.hpp"
#include "weft/runtime/tensor.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void* detail::allocate_elements(std::int64_t const* extents, int rank, int element_bytes) {
  std::int64_t bytes = element_bytes;
  std::string shape;
  bool too_many = false, empty = false;
  for (int d = 0; d < rank; ++d) {
    too_many = extents[d] < 0 || __builtin_mul_overflow(bytes, extents[d] > 0 ? extents[d] : 1, &bytes) || too_many;
    empty = empty || extents[d] == 0;
    shape += (d > 0 ? " x " : "") + std::to_string(extents[d]);
  }
  if (too_many || bytes > (std::int64_t(1) << 47))
    WEFT_THROW(argument_error(joined({"tensor: ", shape, " is not the shape of a tensor that fits into memory"})));
  bytes = empty ? 64 : (bytes + 63) / 64 * 64;
  void* p = element_memory(bytes);
  if (p == nullptr)
    WEFT_THROW(device_error(joined({"tensor: no memory for ", shape, " elements (", std::to_string(bytes),
                                    " bytes)"})));
  std::memset(p, 0, static_cast<std::size_t>(bytes));
  return p;
}
WEFT_DECL void detail::free_elements(void* data) { std::free(data); }

}  // namespace weft::inline WEFT_ABI
