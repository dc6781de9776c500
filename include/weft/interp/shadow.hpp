// Which element was written, and who touched it: what finds uninitialised reads and races. For interp.ipp only.
#pragma once

#include <cstdint>

#include "weft/base/sequence.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The iterations of parallel and vectorized loops, as a tree: a run of such a loop stands under the iteration in which
/// it began, its iterations stand under it. Number 0 is the call itself.
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
/// One writer and two readers are enough: the program runs in order, so of two accesses that cannot be at the same
/// time the later one stands for both against all that follow; and of reads in several iterations of one run, two of
/// different ones stand for all, since no later access of that run is in both.
struct shadow {
  static constexpr std::uint32_t nobody = 0xffffffff;
  static constexpr std::uint32_t in_flight = 0xffffffff;  // in place of a lifetime: an asynchronous copy to it has not arrived
  struct accesses {
    std::uint32_t since = 0;  // the lifetime of the memory that they belong to
    std::uint32_t writer = nobody, reader = nobody, other_reader = nobody;
  };
  struct earlier {
    std::uint32_t place = nobody;
    bool writes = false;
  };
  sequence<std::uint32_t> written;  // by element: in which lifetime; 0: never
  sequence<accesses> seen;          // empty while no parallel loop has touched it
  std::uint32_t lifetime = 1, own_since = 1;

  void reset(std::size_t elements, bool initialised) {
    written.assign(elements, initialised ? 1 : 0);
    seen.clear();
    lifetime = own_since = 1;
  }
  /// The memory's elements become undefined. shared: it is the same memory for all iterations around, which may run into
  /// each other there; else whoever begins it has it alone.
  void begin(bool shared) {
    ++lifetime;
    if (!shared) own_since = lifetime;
  }
  bool is_written(std::size_t element) const { return written[element] == lifetime; }
  /// The earlier access that one at `place` may run into, `nobody` if there is none. Places in no parallel loop
  /// (0) come before or after everything else and leave no trace.
  earlier touch(iteration_tree const& tree, std::size_t element, std::uint32_t place, bool writes) {
    if (place == 0) return {};
    if (seen.empty()) seen.resize(written.size());
    accesses& a = seen[element];
    if (a.since != own_since) a = {own_since};
    if (clash(tree, a.writer, place)) return {a.writer, true};
    bool const one = clash(tree, a.reader, place), other = clash(tree, a.other_reader, place);
    if (writes && (one || other)) return {one ? a.reader : a.other_reader, false};
    if (writes) a = {own_since, place};
    else if (!one && !other) a.reader = place, a.other_reader = nobody;
    else if (a.other_reader == nobody) a.other_reader = place;
    return {};
  }

 private:
  static bool clash(iteration_tree const& tree, std::uint32_t earlier, std::uint32_t now) {
    if (earlier == nobody || earlier == now) return false;
    return tree.entries[tree.meet(earlier, now).at].is_run();
  }
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
