// A function of the user's that computes a stage, as data. weft/expr/extern.hpp makes such.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/dtype.hpp"

namespace weft::inline WEFT_ABI {

struct dense;

/// What machine code calls, with a list of words: of each parameter its address, its extents and its strides, in elements. 0
/// when all went well.
using extern_call = std::int32_t (*)(std::int64_t const* words);

/// Element type and rank of a tensor that the function reads or writes.
struct extern_parameter {
  dtype type = dtype::f32;
  std::int32_t rank = 0;
  constexpr bool operator==(extern_parameter const&) const = default;
};

/// Programs and loop programs point to it, so it lives as long as the process. What outlives the process has its name and its
/// parameters; its address is asked for at each call.
struct extern_function {
  static constexpr int most_parameters = 16;
  std::string_view name;
  std::int32_t reads = 0, writes = 0;
  extern_parameter parameters[most_parameters]{};  // what is read, then what is written
  extern_call call = nullptr;
  /// The same on elements side by side, for direct evaluation; `writes` have their shapes and types, and places for all bits.
  std::int32_t (*on_elements)(dense const* const* reads, dense* writes) = nullptr;

  /// Whether the two are one function under one name. By what is called: two libraries may each have such an object.
  constexpr bool is(extern_function const& o) const { return this == &o || (call == o.call && name == o.name); }
};

/// Those whose names a text may have.
struct known_functions {
  extern_function const* const* first = nullptr;
  int count = 0;
  constexpr extern_function const* find(std::string_view name) const {
    for (int i = 0; i < count; ++i)
      if (first[i]->name == name) return first[i];
    return nullptr;
  }
};

}  // namespace weft::inline WEFT_ABI
