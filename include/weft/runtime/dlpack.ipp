#include "weft/runtime/dlpack.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline std::string type_text(dlpack::data_type t) {
  for (int i = 0; i < dtype_count; ++i)
    if (dlpack::type_of(static_cast<dtype>(i)) == t) return std::string(name(static_cast<dtype>(i)));
  return "type code " + std::to_string(t.code) + " with " + std::to_string(t.bits) + " bits and " +
         std::to_string(t.lanes) + " lanes, which weft has no element type for";
}
}  // namespace detail

WEFT_DECL void detail::imported::refuse(std::string const& why) { WEFT_THROW(argument_error("dlpack: " + why)); }
WEFT_DECL void detail::imported::refuse_version(std::uint32_t major, std::uint32_t minor) {
  refuse("the tensor is laid out by version " + std::to_string(major) + "." + std::to_string(minor) +
         " of DLPack, and version 1 is read; ask its producer for that (in Python: __dlpack__(max_version=(1, 1)))");
}

WEFT_DECL void detail::imported::read(dlpack::tensor const& t, dtype type, int rank) {
  std::int32_t const device = t.device.device_type;
  if (device != dlpack::cpu && device != dlpack::cuda_host && device != dlpack::rocm_host)
    refuse("the tensor is on a device of type " + std::to_string(t.device.device_type) + ", number " +
           std::to_string(t.device.device_id) + "; weft reads the CPU's memory: copy it there first");
  if (!(t.dtype == dlpack::type_of(type)))
    refuse("the tensor holds " + type_text(t.dtype) + ", not " + std::string(name(type)));
  if (t.ndim != rank) refuse("the tensor has " + std::to_string(t.ndim) + " dimensions, not " + std::to_string(rank));
  if (rank > 0 && t.shape == nullptr) refuse("the tensor has no shape (a null pointer)");
  is.type = type;
  is.rank = static_cast<std::int8_t>(rank);
  std::int64_t stride = 1;
  bool empty = false;
  for (int d = rank; d-- > 0;) {
    is.extents[d] = t.shape[d];
    if (t.shape[d] < 0) refuse("dimension " + std::to_string(d) + " has " + std::to_string(t.shape[d]) + " elements");
    empty = empty || t.shape[d] == 0;
    is.strides[d] = t.strides != nullptr ? t.strides[d] : stride;
    if (t.strides == nullptr && __builtin_mul_overflow(stride, t.shape[d] > 1 ? t.shape[d] : 1, &stride))
      refuse("the tensor is larger than memory");
  }
  if (t.data == nullptr && !empty) refuse("the tensor has no memory (a null pointer)");
  is.data = t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(is.data) % static_cast<std::uintptr_t>(size_bytes(type)) != 0)
    refuse("the tensor's first element is not at a multiple of its " + std::to_string(size_bytes(type)) +
           " bytes; copy it first");
}

}  // namespace weft::inline WEFT_ABI
