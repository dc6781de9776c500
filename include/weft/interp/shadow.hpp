// Which element was written, and who touched it: what finds uninitialised reads and races. For interp.ipp only.
#pragma once

#include <cstdint>

#include "weft/base/sequence.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The iterations of parallel loops, as a tree: a run of a parallel loop stands under the iteration in which it
/// began, its iterations stand under it. Number 0 is the call itself.
struct iteration_tree {
  struct entry {
    std::uint32_t parent = 0, depth = 0;
    std::int32_t variable = -1;  // of an iteration
    std::int64_t value = 0;
    bool is_run() const { return depth % 2 == 1; }
  };
  sequence<entry> entries{1};

  std::uint32_t add(std::uint32_t parent, std::int32_t variable, std::int64_t value) {
    entries.push_back({parent, entries[parent].depth + 1, variable, value});
    return static_cast<std::uint32_t>(entries.size()) - 1;
  }
  /// Where the ways from `a` and `b` to the root meet, and the last entry on each before that.
  struct meeting {
    std::uint32_t at, from_a, from_b;
  };
  meeting meet(std::uint32_t a, std::uint32_t b) const {
    std::uint32_t from_a = a, from_b = b;
    while (a != b) {
      if (entries[a].depth >= entries[b].depth)
        from_a = a, a = entries[a].parent;
      else
        from_b = b, b = entries[b].parent;
    }
    return {a, from_a, from_b};
  }
};

/// The state of each element of a piece of memory. Accesses are known by their place in the iteration tree; two of
/// them may happen at the same time if and only if their ways meet in a run.
///
/// One writer and one reader are enough: the program runs in order, so of two accesses that cannot be at the same
/// time the later one stands for both against all that follow, and two reads of different iterations of one run are
/// stood for by the run itself, which every later access of that run meets there.
struct shadow {
  static constexpr std::uint32_t nobody = 0xffffffff;
  sequence<unsigned char> written;
  sequence<std::uint32_t> writer, reader;

  void reset(std::size_t elements, bool initialised) {
    written.assign(elements, initialised);
    writer.clear();
    reader.clear();
  }
  /// The earlier access that one at `place` may run into, `nobody` if there is none. Places in no parallel loop
  /// (0) come before or after everything else and leave no trace.
  std::uint32_t touch(iteration_tree const& tree, std::size_t element, std::uint32_t place, bool writes) {
    if (place == 0) return nobody;
    if (writer.empty()) {
      writer.assign(written.size(), nobody);
      reader.assign(written.size(), nobody);
    }
    std::uint32_t &w = writer[element], &r = reader[element];
    if (clash(tree, w, place)) return w;
    if (writes) {
      if (clash(tree, r, place)) return r;
      w = place;
      r = nobody;
    } else {
      r = clash(tree, r, place) ? tree.meet(r, place).at : place;
    }
    return nobody;
  }

 private:
  static bool clash(iteration_tree const& tree, std::uint32_t earlier, std::uint32_t now) {
    if (earlier == nobody || earlier == now) return false;
    return tree.entries[tree.meet(earlier, now).at].is_run();
  }
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
