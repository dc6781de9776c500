// The memory of a call: tensors under random strides, amid bytes that nothing may touch.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "fuzz/random.hpp"
#include "support/fenced_bytes.hpp"
#include "weft/runtime/argument.hpp"

namespace weft_test::fuzz {

/// One tensor in memory. Bytes that are none of its elements keep `unused`.
class tensor_memory {
 public:
  static constexpr unsigned char unused = 0x5a;

  /// `may_run_back`: strides may be negative, so that elements stand before the first one.
  tensor_memory(random_source& r, weft::dtype t, weft::sequence<std::int64_t> const& shape, bool output,
                bool may_run_back)
      : type_(t), shape_(shape), strides_(shape.size(), 1) {
    weft::sequence<std::size_t> order;  // innermost first
    for (std::size_t d = shape.size(); d-- > 0;) order.push_back(d);
    if (r.chance(25))
      for (std::size_t d = order.size(); d > 1; --d)
        std::swap(order[d - 1], order[static_cast<std::size_t>(r.below(static_cast<int>(d)))]);
    std::int64_t reach = r.chance(10) ? 2 : 1;  // every other element
    for (std::size_t d : order) {
      strides_[d] = reach;
      reach *= shape[d] > 1 ? shape[d] : 1;
      if (r.chance(25)) reach += r.between(1, 3);
    }
    if (!output && !shape.empty() && r.chance(10))
      strides_[static_cast<std::size_t>(r.below(static_cast<int>(shape.size())))] = 0;
    int const fence = r.below(3);  // none near, right before the first element, right behind the last one
    first_ = fence == 1 ? 0 : r.chance(50) ? 64 : 64 + r.below(9);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (may_run_back && r.chance(15)) strides_[d] = -strides_[d];
      std::int64_t const way = shape[d] > 0 ? (shape[d] - 1) * strides_[d] : 0;
      if (way < 0) first_ -= way;
    }
    last_ = first_;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] > 0 && strides_[d] > 0) last_ += (shape[d] - 1) * strides_[d];
    bytes_ = fenced_bytes(static_cast<std::size_t>((last_ + 1 + (fence == 2 ? 0 : 64)) * size()), fence == 2);
    clear();
  }
  weft::argument argument(bool output) {
    weft::argument a;
    a.data = element(first_);
    a.type = type_;
    a.rank = static_cast<std::int8_t>(shape_.size());
    a.is_output = output;
    for (std::size_t d = 0; d < shape_.size(); ++d) a.extents[d] = shape_[d], a.strides[d] = strides_[d];
    return a;
  }
  void* data() { return element(first_); }
  std::int64_t elements() const { return last_ + 1 - first_; }
  void clear() { std::memset(bytes_.data(), unused, bytes_.size()); }
  void put(weft::dense const& values) {
    for_each([&](std::size_t n, std::int64_t place, weft::sequence<std::int64_t> const&) {
      weft::with_dtype(type_, [&]<class T>(T) {
        T const x = weft::from_bits<T>(values.bits[n]);
        std::memcpy(element(place), &x, sizeof x);
      });
      return true;
    });
  }
  /// With a dimension of stride 0 the elements are not those that were put: gives those that are there.
  weft::dense get() {
    weft::dense d{type_, shape_, {}};
    for_each([&](std::size_t, std::int64_t place, weft::sequence<std::int64_t> const&) {
      d.bits.push_back(bits(place));
      return true;
    });
    return d;
  }
  /// All bytes around the elements and their own, for another process to work on; `first_byte` is the first element's.
  fenced_bytes& bytes() { return bytes_; }
  std::int64_t first_byte() const { return first_ * size(); }
  /// Empty when the elements are `expected` and nothing else was written.
  std::string difference(weft::dense const& expected) {
    std::string fault;
    weft::sequence<unsigned char> rest(bytes_.data(), bytes_.data() + bytes_.size());
    for_each([&](std::size_t n, std::int64_t place, weft::sequence<std::int64_t> const& index) {
      std::memset(rest.data() + place * size(), unused, static_cast<std::size_t>(size()));
      std::int64_t const is = bits(place), wanted = expected.bits[n];
      if (is != wanted && !(is_nan(is) && is_nan(wanted)))
        fault = "[" + text(index) + "] is " + text(is) + " and should be " + text(wanted);
      return fault.empty();
    });
    for (std::size_t i = 0; i < rest.size() && fault.empty(); ++i)
      if (rest[i] != unused) fault = ": a byte that is no element was written";
    return fault;
  }

 private:
  std::int64_t size() const { return weft::size_bytes(type_); }
  unsigned char* element(std::int64_t place) { return bytes_.data() + place * size(); }
  std::int64_t bits(std::int64_t place) {
    return weft::with_dtype(type_, [&]<class T>(T x) -> std::int64_t {
      if constexpr (std::is_same_v<T, bool>) return *element(place);
      std::memcpy(&x, element(place), sizeof x);
      return weft::to_bits(x);
    });
  }
  bool is_nan(std::int64_t b) const {
    return weft::is_float(type_) && (b & ~weft::sign_bit(type_)) > weft::infinity_bits(type_);
  }
  std::string text(std::int64_t b) const {
    std::string s = std::to_string(b);
    if (weft::is_float(type_))
      s += " (" + std::to_string(weft::from_bits<double>(weft::converted(type_, weft::dtype::f64, b))) + ")";
    return s;
  }
  static std::string text(weft::sequence<std::int64_t> const& index) {
    std::string s;
    for (std::int64_t i : index) s += (s.empty() ? "" : ", ") + std::to_string(i);
    return s;
  }
  /// Calls f(number of the element, its place in memory, its index) until it answers false.
  template <class F>
  void for_each(F const& f) const {
    weft::sequence<std::int64_t> index(shape_.size(), 0);
    std::int64_t count = 1;
    for (std::int64_t e : shape_) count *= e;
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t place = first_;
      for (std::size_t d = 0; d < index.size(); ++d) place += index[d] * strides_[d];
      if (!f(static_cast<std::size_t>(n), place, index)) return;
      for (std::size_t d = index.size(); d-- > 0;) {
        if (++index[d] < shape_[d]) break;
        index[d] = 0;
      }
    }
  }

  weft::dtype type_;
  weft::sequence<std::int64_t> shape_, strides_;
  std::int64_t first_ = 0, last_ = 0;  // the first element, and the highest place of any
  fenced_bytes bytes_;
};

}  // namespace weft_test::fuzz
