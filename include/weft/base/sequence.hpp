// A growing array: what std::vector is to others, for a tenth of what its instantiation costs each including TU.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// Elements in one piece of memory, like std::vector, with the same names; also in constant expressions.
///
/// Needs   T is default constructible: unused places hold such elements
/// Cost    compile time, which is why it exists: of all that parsing weft.hpp took, the instantiations of std::vector
///         for some forty element types were half (g++ 12 and clang 22: 1.1 s with them, 0.6 s without; 2026-11)
template <class T>
class sequence {
 public:
  using value_type = T;
  constexpr sequence() = default;
  constexpr explicit sequence(std::size_t n) { grow(n, T()); }
  constexpr sequence(std::size_t n, T const& value) { grow(n, value); }
  constexpr sequence(std::initializer_list<T> values) : sequence(values.begin(), values.end()) {}
  template <class It>
    requires requires(It i) { *i; }
  constexpr sequence(It first, It last) {
    std::size_t const n = static_cast<std::size_t>(last - first);
    reserve(n);
    for (; size_ < n; ++first) data_[size_++] = *first;
  }
  /// From a std::vector or the like.
  template <class R>
    requires requires(R const& r) { static_cast<T>(r.data()[r.size()]); }
  constexpr sequence(R const& range) : sequence(range.data(), range.data() + range.size()) {}
  constexpr sequence(sequence const& other) {
    reserve(other.size_);
    for (; size_ < other.size_; ++size_) data_[size_] = other.data_[size_];
  }
  constexpr sequence(sequence&& other) noexcept { swap(other); }
  constexpr sequence& operator=(sequence other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~sequence() { delete[] data_; }

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* data() { return data_; }
  constexpr T const* data() const { return data_; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr T const* begin() const { return data_; }
  constexpr T const* end() const { return data_ + size_; }
  constexpr T& operator[](std::size_t i) { return data_[i]; }
  constexpr T const& operator[](std::size_t i) const { return data_[i]; }
  constexpr T& front() { return data_[0]; }
  constexpr T const& front() const { return data_[0]; }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr T const& back() const { return data_[size_ - 1]; }

  constexpr void push_back(T value) {
    if (size_ == capacity_) reserve(capacity_ == 0 ? 8 : 2 * capacity_);
    data_[size_++] = static_cast<T&&>(value);
  }
  template <class... A>
  constexpr void emplace_back(A&&... a) {
    push_back(T{static_cast<A&&>(a)...});
  }
  constexpr void pop_back() { data_[--size_] = T(); }
  constexpr void clear() {
    while (size_ > 0) pop_back();
  }
  constexpr void resize(std::size_t n, T const& value = T()) {
    if (size_ < n) grow(n, value);
    while (size_ > n) pop_back();
  }
  constexpr void assign(std::size_t n, T const& value) {
    sequence made(n, value);
    swap(made);
  }
  template <class It>
    requires requires(It i) { *i; }
  constexpr void assign(It first, It last) {
    sequence made(first, last);  // they may be this one's own
    swap(made);
  }
  constexpr T* erase(T* place) {
    for (T* p = place; p + 1 != end(); ++p) *p = static_cast<T&&>(p[1]);
    pop_back();
    return place;
  }
  constexpr T* insert(T* place, T value) {
    std::size_t const at = static_cast<std::size_t>(place - data_);
    push_back(T());
    for (std::size_t i = size_ - 1; i > at; --i) data_[i] = static_cast<T&&>(data_[i - 1]);
    data_[at] = static_cast<T&&>(value);
    return data_ + at;
  }
  template <class It>
    requires requires(It i) { *i; }
  constexpr void insert(T* place, It first, It last) {
    std::size_t at = static_cast<std::size_t>(place - data_);
    for (; first != last; ++first) insert(data_ + at++, *first);
  }
  constexpr void reserve(std::size_t n) {
    if (n <= capacity_) return;
    T* const grown = new T[n]();
    for (std::size_t i = 0; i < size_; ++i) grown[i] = static_cast<T&&>(data_[i]);
    delete[] data_;
    data_ = grown;
    capacity_ = n;
  }
  constexpr void swap(sequence& other) noexcept {
    T* const d = data_;
    std::size_t const s = size_, c = capacity_;
    data_ = other.data_, size_ = other.size_, capacity_ = other.capacity_;
    other.data_ = d, other.size_ = s, other.capacity_ = c;
  }
  friend constexpr bool operator==(sequence const& a, sequence const& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }
  friend constexpr bool operator<(sequence const& a, sequence const& b) {
    for (std::size_t i = 0; i < a.size_ && i < b.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return a.data_[i] < b.data_[i];
    return a.size_ < b.size_;
  }

 private:
  constexpr void grow(std::size_t n, T const value) {
    if (n > capacity_) reserve(n < 2 * capacity_ ? 2 * capacity_ : n);  // row by row, it is not copied for each
    while (size_ < n) data_[size_++] = value;
  }
  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace weft::inline WEFT_ABI
