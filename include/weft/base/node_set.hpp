// Numbers that a walk over a graph has met.
#pragma once

#include <cstdint>

#include "weft/base/sequence.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Nodes that a walk has met: as long as there are such, where a list by node is as long as the program, which makes walks over each stage of
/// a long chain quadratic.
class node_set {
 public:
  /// Whether it was not there yet.
  constexpr bool add(std::int32_t id) {
    if (2 * count_ >= places_.size()) grow();
    return put(id);
  }

 private:
  constexpr bool put(std::int32_t id) {
    std::size_t const last = places_.size() - 1;  // a power of two less one; those of a stage are neighbours
    std::size_t at = static_cast<std::size_t>(id) & last;
    for (; places_[at] >= 0; at = (at + 1) & last)
      if (places_[at] == id) return false;
    places_[at] = id;
    ++count_;
    return true;
  }
  constexpr void grow() {
    sequence<std::int32_t> before(places_.empty() ? 32 : 4 * places_.size(), -1);
    before.swap(places_);
    count_ = 0;
    for (std::int32_t id : before)
      if (id >= 0) put(id);
  }

  sequence<std::int32_t> places_;
  std::size_t count_ = 0;
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
