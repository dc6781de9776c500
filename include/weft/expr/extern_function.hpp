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

/// CUDA C++ text that computes a stage on a GPU, in a launch of its own, as the function of the host's does on a CPU:
///
///     inline constexpr weft::cuda_function running_sum_on_gpu{
///         .name = "running_sum",
///         .text = R"(
///     __device__ void running_sum(weft_view<float const, 2> x, weft_view<float, 2> y) {
///       long long const i = blockIdx.x * 64LL + threadIdx.x;
///       if (i >= y.extent(0)) return;
///       float sum = 0;
///       for (long long j = 0; j < y.extent(1); ++j) y(i, j) = sum += x(i, j);
///     })",
///         .threads = {64},
///         .per_block = {64, 0}};
///
/// Each thread of the launch calls it. Shared memory is what the text declares: `__shared__ float part[64];`.
struct cuda_function {
  /// The function's name in the text: `__device__ void name(weft_view<T const, Rank>.., weft_view<T, Rank>..)`. The types are
  /// those of CUDA C++; f16 and bf16 are unsigned short, their bits.
  std::string_view name;
  /// All that stands in front of the kernels. NVRTC has no folders of headers; what it says of a line names the function.
  std::string_view text;
  /// Of a block, along x, y and z; 0: 1.
  std::int32_t threads[3] = {256, 1, 1};
  /// Of which dimensions of the result a block computes so many elements; 0: all. The last such dimension is the grid's x axis,
  /// the one in front of it y, then z. There is one block at least.
  std::int64_t per_block[8] = {};

  /// What is wrong with it for a result of `rank` dimensions; "": nothing.
  constexpr std::string_view fault(int rank) const {
    auto const letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    bool named = !name.empty() && letter(name[0]);
    for (char c : name) named = named && (letter(c) || (c >= '0' && c <= '9'));
    if (!named) return "its name is no name of C++";
    std::int64_t all = 1;
    for (std::int32_t t : threads) {
      if (t < 0 || t > 1024) return "a block has 1 to 1024 threads";
      all *= t > 1 ? t : 1;
    }
    if (all > 1024) return "a block has 1 to 1024 threads";
    int axes = 0;
    for (int d = 0; d < 8; ++d) {
      if (per_block[d] < 0 || (d >= rank && per_block[d] != 0)) return "per_block is about dimensions of the result";
      axes += per_block[d] > 0 ? 1 : 0;
    }
    return axes > 3 ? "a grid has three axes at most" : "";
  }
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

  /// For a GPU; null: there is none. Where `call` is null, there is no other.
  cuda_function const* cuda = nullptr;

  /// Whether the two are one function under one name. By what is called: two libraries may each have such an object.
  constexpr bool is(extern_function const& o) const { return this == &o || (call == o.call && name == o.name && (call != nullptr || cuda == o.cuda)); }
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
