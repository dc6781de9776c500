// Tensors that other libraries made, and ours for them, through DLPack: NumPy, PyTorch, JAX, CuPy, TVM.
//
//     auto x = weft::from_dlpack<float, 2>(p);    // p: DLManagedTensorVersioned*, DLManagedTensor* or DLTensor*
//     scale(x, 3.0f, weft::out(y));
//     auto* q = weft::to_dlpack(scale(x, 3.0f));
#pragma once

#include "weft/runtime/tensor.hpp"

namespace weft::inline WEFT_ABI {

/// The structs of DLPack's binary interface, version 1, with its names of the members. Whoever has dlpack.h may use
/// those of it instead: all functions here take either.
///
/// Source  the DLPack specification and header, 1.1 (dmlc.github.io/dlpack)
namespace dlpack {
/// DLDevice
struct device {
  std::int32_t device_type, device_id;
};
/// DLDataType
struct data_type {
  std::uint8_t code, bits;
  std::uint16_t lanes;
  friend bool operator==(data_type const&, data_type const&) = default;
};
/// DLTensor
struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t ndim;
  data_type dtype;
  std::int64_t* shape;
  std::int64_t* strides;      // in elements; null: row-major, as was allowed before 1.2
  std::uint64_t byte_offset;  // of the first element from `data`
};
/// DLManagedTensor, of before 1.0
struct managed_tensor {
  tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(managed_tensor* self);
};
/// DLManagedTensorVersioned
struct managed_tensor_versioned {
  struct {
    std::uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(managed_tensor_versioned* self);
  std::uint64_t flags;
  tensor dl_tensor;
};
/// kDLCPU
inline constexpr std::int32_t cpu = 1;
/// kDLCUDAHost: memory of the CPU that a GPU's driver has pinned.
inline constexpr std::int32_t cuda_host = 3;
/// kDLROCMHost: likewise.
inline constexpr std::int32_t rocm_host = 11;
/// DLPACK_FLAG_BITMASK_READ_ONLY
inline constexpr std::uint64_t read_only = 1;
/// What `to_dlpack` writes.
inline constexpr std::uint32_t version_major = 1;
/// What `to_dlpack` writes.
inline constexpr std::uint32_t version_minor = 1;

/// How DLPack writes an element type: bool 6, integers 0, unsigned 1, floats 2, bfloat16 4; one lane.
constexpr data_type type_of(dtype t) {
  std::uint8_t const code = t == dtype::boolean      ? 6
                            : t == dtype::bf16       ? 4
                            : is_float(t)            ? 2
                            : is_unsigned_integer(t) ? 1
                                                     : 0;
  return {code, static_cast<std::uint8_t>(8 * size_bytes(t)), 1};
}
}  // namespace dlpack

namespace detail {
struct imported {
  argument is;
  bool read_only = false;
  void* managed = nullptr;  // null: borrowed
  void (*release)(void* managed) = nullptr;

  /// Checks `t` and notes where its elements are.
  void read(dlpack::tensor const& t, dtype type, int rank);
  [[noreturn]] static void refuse(std::string const& why);
  [[noreturn]] static void refuse_version(std::uint32_t major, std::uint32_t minor);
};
template <bool Output, class T, std::int64_t... E>
auto view_as(fixed_arg<T, E...>, argument const& a) {
  tensor_view<T, Output, E...> v;
  v.data = static_cast<T*>(a.data);
  for (std::size_t d = 0; d < sizeof...(E); ++d) v.extents[d] = a.extents[d], v.strides[d] = a.strides[d];
  return v;
}
}  // namespace detail

/// Another library's tensor, as an argument and, where it is not read-only, by weft::out as an output. What
/// `from_dlpack` took over is given back when this ends. Moves, does not copy.
template <element T, int Rank>
class dlpack_tensor {
 public:
  /// For `from_dlpack`.
  explicit dlpack_tensor(detail::imported const& from) : from_(from) {}
  /// `other` is left with a borrowed tensor.
  dlpack_tensor(dlpack_tensor&& other) noexcept : from_(other.from_) { other.from_.managed = nullptr; }
  /// Exchanges the two.
  dlpack_tensor& operator=(dlpack_tensor&& other) noexcept {
    detail::imported const mine = from_;
    from_ = other.from_;
    other.from_ = mine;
    return *this;
  }
  ~dlpack_tensor() {
    if (from_.managed != nullptr && from_.release != nullptr) from_.release(from_.managed);
  }

  /// Elements along dimension `d`.
  std::int64_t extent(int d) const { return from_.is.extents[d]; }
  /// Elements from one index of dimension `d` to the next.
  std::int64_t stride_of(int d) const { return from_.is.strides[d]; }
  /// The first element.
  T const* data() const { return static_cast<T const*>(from_.is.data); }
  /// Whether its producer forbids writing.
  bool is_read_only() const { return from_.read_only; }

  /// For `view` and `out`.
  detail::imported const& source() const { return from_; }

 private:
  detail::imported from_;
};

/// As an input.
template <class T, int Rank>
auto view(dlpack_tensor<T, Rank> const& t) {
  return detail::view_as<false>(arg<T, Rank>{}, t.source().is);
}
/// As an output.
///
/// Errors  argument_error when the tensor's producer says that it is read-only
template <class T, int Rank>
auto out(dlpack_tensor<T, Rank> const& t) {
  if (t.is_read_only())
    detail::imported::refuse("the tensor's producer says that it is read-only, so it is no output; write to a copy");
  return detail::view_as<true>(arg<T, Rank>{}, t.source().is);
}

/// A DLManagedTensorVersioned* or DLManagedTensor*, which it takes over, or a DLTensor*, which it borrows, as a tensor
/// of T with `Rank` dimensions; nothing is copied. Strides may be negative, or null for row-major.
///
/// Errors  argument_error, and `p` still belongs to the caller: another element type or rank, a device that is not
///         the CPU (pinned memory is the CPU's), a version other than 1, memory that is null or misaligned
template <element T, int Rank, class Dlpack>
dlpack_tensor<T, Rank> from_dlpack(Dlpack* p) {
  static_assert(Rank >= 0 && Rank <= max_rank, "weft: a tensor has at most eight dimensions");
  detail::imported made;
  if (p == nullptr) detail::imported::refuse("a null pointer");
  auto const read = [&](auto const& t) {
    made.read({t.data,
               {static_cast<std::int32_t>(t.device.device_type), t.device.device_id},
               t.ndim,
               {t.dtype.code, t.dtype.bits, t.dtype.lanes},
               t.shape,
               t.strides,
               t.byte_offset},
              dtype_of<T>, Rank);
  };
  if constexpr (requires { p->deleter; }) {
    if constexpr (requires { p->version; }) {
      if (p->version.major != dlpack::version_major)
        detail::imported::refuse_version(p->version.major, p->version.minor);
      made.read_only = (p->flags & dlpack::read_only) != 0;
    }
    read(p->dl_tensor);
    made.managed = const_cast<void*>(static_cast<void const*>(p));
    made.release = [](void* managed) {
      auto* const m = static_cast<Dlpack*>(managed);
      if (m->deleter != nullptr) m->deleter(m);
    };
  } else {
    read(*p);
  }
  return dlpack_tensor<T, Rank>(made);
}

namespace detail {
template <class Managed, class T, int Rank>
struct exported {
  Managed managed{};
  tensor<T, Rank> owner;
  std::int64_t shape[Rank + 1]{}, strides[Rank + 1]{};
};
}  // namespace detail

/// The tensor for another library: whoever gets the pointer calls its `deleter` once. `Managed` is the struct of DLPack
/// 1.x, or managed_tensor (or dlpack.h's DLManagedTensor) for libraries of before.
template <class Managed = dlpack::managed_tensor_versioned, element T, int Rank>
Managed* to_dlpack(tensor<T, Rank>&& t) {
  auto* const e = new detail::exported<Managed, T, Rank>{{}, static_cast<tensor<T, Rank>&&>(t)};
  auto const v = view(e->owner);
  for (std::size_t d = 0; d < static_cast<std::size_t>(Rank); ++d)
    e->shape[d] = v.extents[d], e->strides[d] = v.strides[d];
  Managed& m = e->managed;
  auto& to = m.dl_tensor;
  to.data = v.data;
  to.device.device_type = static_cast<decltype(to.device.device_type)>(dlpack::cpu);
  to.ndim = Rank;
  constexpr dlpack::data_type type = dlpack::type_of(dtype_of<T>);
  to.dtype.code = type.code, to.dtype.bits = type.bits, to.dtype.lanes = type.lanes;
  to.shape = e->shape;
  to.strides = e->strides;
  if constexpr (requires { m.version; })
    m.version.major = dlpack::version_major, m.version.minor = dlpack::version_minor;
  m.manager_ctx = e;
  m.deleter = [](Managed* self) { delete static_cast<detail::exported<Managed, T, Rank>*>(self->manager_ctx); };
  return &m;
}

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/dlpack.ipp"
#endif
