// An instruction that a schedule may ask for, as data. schedule/instructions.hpp has those that weft knows, weft/intrinsics.hpp
// what declares others.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {

struct program;

/// One vector width of an instruction. It is an intrinsic function of LLVM's that takes, for `lanes` elements, the values so
/// far and then the operands, the terms of each lane side by side; or the operands alone, its result being added.
struct machine_form {
  std::string_view feature;  // of target::features
  std::string_view function;
  std::int32_t lanes = 0;
};

/// What `tensorize` puts in the place of the innermost loop of a reduction: in each lane, `terms` terms joined at once.
///
/// Schedules and loop programs point to it, so it lives as long as the process: `inline constexpr`. Nothing of it is text that
/// a trace would have to hold but its name, which a reader looks up among `known_intrinsics`.
struct intrinsic {
  static constexpr int most_forms = 4;
  std::string_view name, scope;   // what stands in front of the name in C++: "weft::"
  std::int32_t terms = 0, operands = 0;
  program (*pattern)() = nullptr;
  bool (*match)(program const&, std::int32_t body, sequence<std::int32_t>& loads) = nullptr;
  program (*computes)() = nullptr;  // where that is not the stage's own terms, one after the other
  machine_form forms[most_forms]{};
  /// Of what a matrix unit does, a warp's of a GPU or a CPU's: rows and columns of the tile of sums, `terms` being how deep it is; 0: of
  /// one lane. The form's function names the types of operands and sums (codegen/cuda/matrix.hpp, mma.hpp).
  std::int32_t rows = 0, columns = 0;
  /// What rows of an operand's tile, and of one of sums, begin at multiples of, or columns where these stand side by side: as many
  /// bytes as a lane has of the tile.
  /// Source  PTX ISA, matrix storage for wmma; of mma, where that is asked of shared memory alone, ldmatrix
  std::int32_t operand_bytes = 0, sum_bytes = 0;
  /// Whether each lane knows which of the sums it has: then they may be stored as anything that is computed of them one by one.
  bool has_places = false;
  constexpr bool is_tile() const { return rows > 0; }
  /// Whether it is AMX's, on x86-64: rows of 64 bytes, of the right operand as many terms as 4 bytes have side by side.
  constexpr bool is_of_cpu() const { return is_tile() && forms[0].feature.starts_with("amx"); }
  /// Whether four warps behind each other do it together, each its own 16 rows, from memory that their block shares.
  constexpr bool is_of_four_warps() const { return forms[0].feature == "wgmma"; }
};

/// Those whose names a text may have.
struct known_intrinsics {
  intrinsic const* const* first = nullptr;
  int count = 0;
  constexpr intrinsic const* find(std::string_view name) const {
    for (int i = 0; i < count; ++i)
      if (first[i]->name == name) return first[i];
    return nullptr;
  }
};

}  // namespace weft::inline WEFT_ABI
