// What a GPU's memories do for a kernel, counted while the interpreter runs it: turns of shared memory's banks, sectors of global memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/interp/options.hpp"

namespace weft_test {

/// Of one kind of access.
struct memory_turns {
  std::int64_t instructions = 0;  // of warps
  std::int64_t least = 0;         // turns without a conflict, or sectors if what is touched stood side by side
  std::int64_t taken = 0;
  double ratio() const { return least > 0 ? static_cast<double>(taken) / static_cast<double>(least) : 1.0; }
};

/// Shared memory has 32 banks of 4 bytes; a turn gives one word of each. 32 threads take part in a turn, of 8 bytes each 16 and of 16 bytes 8, and
/// threads that want one word share it. Global memory comes in sectors of 32 bytes, and the ideal is as many as the bytes touched fill.
/// Buffers begin at multiples of 128 bytes. What matrix units load and store is not among it (cuda_shim_mma.hpp counts ldmatrix).
class memory_traffic {
 public:
  memory_turns shared, wide_loads, wide_stores;  // wide: of 16 bytes
  memory_turns global, global_contiguous;        // contiguous: what a warp touches is one row of bytes
  std::int64_t worst = 1;                        // turns of one access of shared memory over the least

  /// For interp_options::observe; the last block is counted by `finish`.
  static void observe(void* self, weft::interp_access const& a) { static_cast<memory_traffic*>(self)->add(a); }
  void finish() {
    for (auto& [key, all] : open_) count(all, key);
    open_.clear();
  }

 private:
  struct key_of {
    void const* site;
    std::uint64_t when;
    std::int64_t warp;
    bool writes, is_shared;
    bool operator==(key_of const&) const = default;
  };
  struct hash_of {
    std::size_t operator()(key_of const& k) const {
      std::uint64_t const mixed = (reinterpret_cast<std::uintptr_t>(k.site) ^ k.when) * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(2 * k.warp + k.writes);
      return static_cast<std::size_t>(mixed ^ mixed >> 31);
    }
  };
  struct piece {
    std::int64_t lane, first, bytes;
  };
  void add(weft::interp_access const& a) {
    if (!open_.empty() && a.block != block_) finish();
    block_ = a.block;
    open_[{a.site, a.when, a.thread / 32, a.writes, a.is_shared}].push_back({a.thread % 32, a.first, a.bytes});
  }
  /// How often each of these is there once.
  static std::int64_t distinct(std::vector<std::int64_t>& all) {
    std::sort(all.begin(), all.end());
    return std::unique(all.begin(), all.end()) - all.begin();
  }
  void count(std::vector<piece> const& all, key_of const& key) {
    std::int64_t width = 0;
    for (piece const& p : all) width = std::max(width, p.bytes);
    if (key.is_shared) {
      std::int64_t const threads = width >= 16 ? 8 : width >= 8 ? 16 : 32;
      for (memory_turns* t : {&shared, key.writes ? &wide_stores : &wide_loads}) {
        if (t != &shared && width < 16) continue;
        ++t->instructions;
        for (std::int64_t begin = 0; begin < 32; begin += threads) {
          std::vector<std::int64_t> words;
          for (piece const& p : all)
            for (std::int64_t w = p.first / 4; p.lane / threads * threads == begin && w <= (p.first + p.bytes - 1) / 4; ++w) words.push_back(w);
          words.resize(static_cast<std::size_t>(distinct(words)));
          std::int64_t of_bank[32] = {}, turns = 0;
          for (std::int64_t w : words) turns = std::max(turns, ++of_bank[w % 32]);
          t->least += turns > 0, t->taken += turns;
          worst = std::max(worst, turns);
        }
      }
      return;
    }
    std::vector<std::int64_t> bytes, sectors;
    for (piece const& p : all)
      for (std::int64_t b = p.first; b < p.first + p.bytes; ++b) bytes.push_back(b), sectors.push_back(b / 32);
    std::int64_t const touched = distinct(bytes), taken = distinct(sectors), first = bytes.front();
    bool const is_contiguous = bytes[static_cast<std::size_t>(touched) - 1] - first + 1 == touched;
    for (memory_turns* t : {&global, &global_contiguous}) {
      if (t == &global_contiguous && !is_contiguous) continue;
      ++t->instructions, t->least += (touched + 31) / 32, t->taken += taken;
    }
  }
  std::unordered_map<key_of, std::vector<piece>, hash_of> open_;  // of the block that runs
  std::uint64_t block_ = 0;
};

/// A line for each kernel: accesses of shared memory, their turns over the least, the worst one's, those of 16 bytes; sectors of global memory, all
/// over the ideal, and those of rows.
class traffic_table {
 public:
  void add(std::string const& name, memory_traffic const& t) {
    char line[200];
    std::snprintf(line, sizeof line, "%-32s %7lld %6.2f %5lld %11.2f %11.2f %9lld %9.2f %10.2f\n", name.c_str(), static_cast<long long>(t.shared.instructions),
                  t.shared.ratio(), static_cast<long long>(t.worst), t.wide_loads.ratio(), t.wide_stores.ratio(), static_cast<long long>(t.global.taken),
                  t.global.ratio(), t.global_contiguous.ratio());
    lines_ += line;
  }
  std::string text() const {
    return "kernel                            shared  turns worst 16-B loads 16-B stores  sectors  of ideal contiguous\n" + lines_;
  }

 private:
  std::string lines_;
};

}  // namespace weft_test
