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
  constexpr bool has(std::int32_t id) const { return !places_.empty() && places_[place(id)] >= 0; }

 private:
  /// Where it is, or would be put.
  constexpr std::size_t place(std::int32_t id) const {
    std::size_t const last = places_.size() - 1;  // a power of two less one; those of a stage are neighbours
    std::size_t at = static_cast<std::size_t>(id) & last;
    while (places_[at] >= 0 && places_[at] != id) at = (at + 1) & last;
    return at;
  }
  constexpr bool put(std::int32_t id) {
    std::size_t const at = place(id);
    if (places_[at] >= 0) return false;
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
/// What is known of some stages, or nodes: as long as there are such.
template <class T>
class node_map {
 public:
  /// Null: nothing is known of it.
  T const* find(std::int32_t id) const { return const_cast<node_map*>(this)->find(id); }
  T* find(std::int32_t id) {
    if (slots_.empty()) return nullptr;
    std::int32_t const at = slots_[slot(id)];
    return at < 0 ? nullptr : &values_[static_cast<std::size_t>(at)];
  }
  /// What is known of it, which may be changed.
  T& of(std::int32_t id) {
    if (2 * ids_.size() >= slots_.size()) grow();
    std::int32_t& at = slots_[slot(id)];
    if (at < 0) at = static_cast<std::int32_t>(ids_.size()), ids_.push_back(id), values_.push_back(T());
    return values_[static_cast<std::size_t>(at)];
  }

 private:
  std::size_t slot(std::int32_t id) const {
    std::size_t const last = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(id) & last;
    while (slots_[at] >= 0 && ids_[static_cast<std::size_t>(slots_[at])] != id) at = (at + 1) & last;
    return at;
  }
  void grow() {
    slots_.assign(slots_.empty() ? 16 : 4 * slots_.size(), -1);
    for (std::size_t i = 0; i < ids_.size(); ++i) slots_[slot(ids_[i])] = static_cast<std::int32_t>(i);
  }

  sequence<std::int32_t> slots_, ids_;
  sequence<T> values_;
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
