// The tensor that owns its memory.
#pragma once

#include "weft/runtime/argument.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
/// Zeroed bytes at a multiple of 64; throws argument_error for a negative or overflowing shape, device_error
/// when there is no memory.
void* allocate_elements(std::int64_t const* extents, int rank, int element_bytes);
void free_elements(void* data);
}  // namespace detail

/// A row-major tensor of `Rank` dimensions, owned; 64-byte aligned, zero at first.
///
///     weft::tensor<float, 2> c(rows, cols);      c(3, 4) = 1;      matmul(a, b, weft::out(c));
///
/// Moves in O(1); does not copy by accident: `clone()`.
template <element T, int Rank>
class tensor {
 public:
  using element_type = T;
  static constexpr int rank = Rank;

  tensor() = default;
  /// Zeros, of these extents.
  ///
  /// Errors  argument_error for a negative or overflowing shape, device_error when there is no memory
  template <std::integral... E>
    requires(sizeof...(E) == static_cast<std::size_t>(Rank))
  explicit tensor(E... extents) : tensor(std::array<std::int64_t, sizeof...(E)>{static_cast<std::int64_t>(extents)...}) {}
  /// The same.
  explicit tensor(std::array<std::int64_t, static_cast<std::size_t>(Rank)> const& shape)
      : shape_(shape),
        data_(static_cast<T*>(detail::allocate_elements(shape.data(), Rank, static_cast<int>(sizeof(T))))) {}
  /// Takes the memory of `other`, which is empty then.
  tensor(tensor&& other) noexcept : shape_(other.shape_), data_(other.data_) { other.release(); }
  /// The same; its own memory goes.
  tensor& operator=(tensor&& other) noexcept {
    if (this != &other) {
      detail::free_elements(data_);
      shape_ = other.shape_;
      data_ = other.data_;
      other.release();
    }
    return *this;
  }
  ~tensor() { detail::free_elements(data_); }
  /// A tensor with memory of its own and the same elements.
  ///
  /// Errors  device_error when there is no memory
  tensor clone() const {
    tensor t(shape_);
    for (std::size_t i = 0; i < size(); ++i) t.data_[i] = data_[i];
    return t;
  }

  /// The size of dimension `d`.
  std::int64_t extent(int d) const { return shape_[static_cast<std::size_t>(d)]; }
  /// How many elements there are.
  std::size_t size() const {
    std::size_t n = data_ == nullptr ? 0 : 1;
    for (std::int64_t e : shape_) n *= static_cast<std::size_t>(e);
    return n;
  }
  ///@{
  /// The elements in row-major order.
  T* data() { return data_; }
  T const* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size(); }
  T const* begin() const { return data_; }
  T const* end() const { return data_ + size(); }
  ///@}

  /// The element at these indices; not checked.
  template <std::integral... I>
  T& operator()(I... index) {
    return data_[offset(index...)];
  }
  /// The same.
  template <std::integral... I>
  T const& operator()(I... index) const {
    return data_[offset(index...)];
  }
  /// All extents.
  std::array<std::int64_t, static_cast<std::size_t>(Rank)> const& shape() const { return shape_; }

 private:
  template <class... I>
  std::size_t offset(I... index) const {
    static_assert(sizeof...(I) == static_cast<std::size_t>(Rank), "weft: one index per dimension");
    std::int64_t at = 0;
    std::size_t d = 0;
    ((at = at * shape_[d++] + static_cast<std::int64_t>(index)), ...);
    return static_cast<std::size_t>(at);
  }
  void release() {
    data_ = nullptr;
    shape_ = {};
  }
  std::array<std::int64_t, static_cast<std::size_t>(Rank)> shape_{};
  T* data_ = nullptr;
};

namespace detail {
template <class T, int Rank>
struct argument_traits<tensor<T, Rank>> {
  static_assert(Rank <= max_rank, "weft: a tensor has at most eight dimensions");
  static constexpr bool supported = true;
  static constexpr bool is_output = false;
  static constexpr bool is_number = false;
  using type = arg<T, Rank>;
  static void describe(tensor<T, Rank> const& t, argument& a) {
    a.data = const_cast<T*>(t.data());
    set_kind(a, kind_of(dtype_of<T>, Rank, false, false));
    std::int64_t stride = 1;
    for (int d = Rank; d-- > 0;) {
      a.extents[d] = t.extent(d);
      a.strides[d] = stride;
      stride *= t.extent(d) > 1 ? t.extent(d) : 1;
    }
  }
  static constexpr std::size_t plain_words = 1 + 2 * std::size_t(Rank);
  static void place(tensor<T, Rank> const& t, plain_places& at) {
    *at.tensors++ = const_cast<T*>(t.data()), *at.words++ = kind_of(dtype_of<T>, Rank, false, false);
    std::int64_t stride = 1;
    for (int d = Rank; d-- > 0;) {
      at.words[d] = static_cast<std::uint64_t>(t.extent(d)), at.words[Rank + d] = static_cast<std::uint64_t>(stride);
      stride *= t.extent(d) > 1 ? t.extent(d) : 1;
    }
    at.words += 2 * Rank;
  }
};
template <class T, int Rank, bool Output, std::size_t... I>
auto view_of(T* data, std::array<std::int64_t, static_cast<std::size_t>(Rank)> const& shape, std::index_sequence<I...>) {
  auto v = make_view<Output>(data, shape[I]...);
  v.size_of_range = (std::int64_t(1) * ... * shape[I]);
  return v;
}
}  // namespace detail

/// A tensor as an output.
template <class T, int Rank>
auto out(tensor<T, Rank>& t) {
  return detail::view_of<T, Rank, true>(t.data(), t.shape(), std::make_index_sequence<static_cast<std::size_t>(Rank)>{});
}
/// A tensor as an input, as which it is taken without this, too.
template <class T, int Rank>
auto view(tensor<T, Rank> const& t) {
  return detail::view_of<T const, Rank, false>(t.data(), t.shape(),
                                               std::make_index_sequence<static_cast<std::size_t>(Rank)>{});
}

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/tensor.ipp"
#endif
