// Copies of a call's arguments that candidates work on, in memory that two processes share. Live data is only read.
#pragma once

#include <cstdint>

#include "weft/runtime/argument.hpp"
#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// A piece of memory that one argument, or several that overlap, lie in.
struct memory_block {
  char const* live = nullptr;  // where the caller has it; null: an output that was left out
  std::int64_t bytes = 0;
  std::int64_t offset = 0;     // of its first page in the shared memory
  std::int64_t pages_bytes = 0;
  std::int64_t start = 0;      // of its first byte behind `offset`: as far to the end as its alignment lets it
  bool written = false, read = false;
};
/// What open surroundings have on each side of a block, in whole pages: as much as it has itself, which is more than a few rows of padding, up to a megabyte.
constexpr std::int64_t margin_bytes(memory_block const& m) {
  constexpr std::int64_t least = std::int64_t(64) << 10, most = std::int64_t(1) << 20;
  return m.pages_bytes < least ? least : m.pages_bytes < most ? m.pages_bytes : most;
}
/// A tensor of the call: byte `at` of a block.
struct tensor_place {
  std::int32_t block = 0;
  std::int64_t at = 0;
};

/// What lies around the tensors of a run: addresses that may not be touched, which end a candidate that strays, or, to be timed, memory as around most
/// tensors of a program. A vector of which lanes that are masked lie where nothing is takes a processor hundreds of cycles: of 2004 floats by 16 the last
/// four took as long as all others (Zen 4, 260 for 130 ns).
enum class surroundings : std::int32_t { closed, open };

/// The arguments of a call, copied. Around each block are addresses that may not be touched (in a worker), around their
/// bytes, and between the elements of strided outputs, a pattern that is looked at: a candidate that writes one element outside is
/// found either way.
class argument_copies {
 public:
  /// `arguments`: inputs, then outputs, with all shapes.
  ///
  /// Errors  device_error when there is no memory
  argument_copies(argument const* arguments, int count);
  ~argument_copies();
  argument_copies(argument_copies const&) = delete;
  argument_copies& operator=(argument_copies const&) = delete;

  int descriptor() const { return fd_; }
  sequence<memory_block> const& blocks() const { return blocks_; }
  sequence<tensor_place> const& tensors() const { return tensors_; }
  sequence<std::int64_t> const& scalars() const { return scalars_; }
  /// Where the pages of block `b` begin in this process' mapping.
  char* pages(std::size_t b) const { return memory_ + blocks_[b].offset; }
  /// Tensor `i` in this process' mapping.
  char* data(std::size_t i) const;
  /// What is written: the live bytes again, or a pattern where nothing is read.
  void restore();
  /// Whether memory that is written is read as an input, too.
  bool are_written_over() const {
    for (memory_block const& m : blocks_)
      if (m.written && m.read && m.bytes > 0) return true;
    return false;
  }
  /// Puts small whole numbers other than 0, always the same, into the inputs of floats, and `restore`s what is written. `arguments`: as at the beginning.
  void put_whole_numbers(argument const* arguments, int count);
  /// The live bytes of inputs again.
  void bring_inputs();
  /// For a fork of this process, which has the caller's tensors, too, and may share them with it: their pages are only read from then on,
  /// but for those at their ends where something else may be.
  void protect_live() const;
  /// Whether the bytes that are no tensor's, around blocks and within those that are written, are as `restore` left them.
  bool intact() const;

 private:
  void find_holes(argument const* arguments, int count);
  int fd_ = -1;
  char* memory_ = nullptr;
  std::int64_t bytes_ = 0, margin_ = 0;  // of the memory, and in front of it and behind it in this process
  sequence<memory_block> blocks_;
  sequence<tensor_place> tensors_;
  sequence<std::int64_t> scalars_;
  sequence<std::int64_t> holes_;  // of blocks that are written, the bytes that are no element's: where from, where to, and so on
};

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/buffers.ipp"
#endif
