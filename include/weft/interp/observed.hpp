// What an observer of the interpreter is told: which thread of which block touches what, and when. For interp.ipp only.
#pragma once

#include "weft/interp/interpreter.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline void interpreter::note_memory(ir::buffer const* b) {
  if (options_.observe == nullptr) return;
  bool among_threads = false;
  for (std::int32_t v : open_) among_threads = among_threads || is_thread(loops_[at(v)]->how);
  of_block_[at(b->id)] = !among_threads;
}
/// Elements side by side are one access. A parallel loop is spread over blocks of 256 threads, as codegen/cuda does it.
inline void interpreter::observe(void const* site, ir::buffer const* b, ir::list<ir::expr> const& indices, lane_set const& lanes, int count,
                                 bool writes) {
  bool const is_shared = b->where == ir::scope::stack;
  if (b->where == ir::scope::registers || (is_shared && !of_block_[at(b->id)])) return;
  interp_access a{b, site};
  a.is_shared = is_shared, a.writes = writes;
  std::int64_t extent[3] = {1, 1, 1}, place[3] = {};
  auto const mix = [](std::uint64_t& hash, std::int64_t i) {
    hash = (hash ^ static_cast<std::uint64_t>(i + 1)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  };
  for (std::int32_t v : open_) {
    ir::stmt const s = loops_[at(v)];
    std::int64_t const i = variable_[at(v)] - begin_[at(v)];
    std::size_t const axis = is_block(s->how) || is_thread(s->how) ? (static_cast<std::size_t>(s->how) - static_cast<std::size_t>(loop_kind::block_x)) % 3 : 0;
    if (is_thread(s->how)) place[axis] = i, extent[axis] = s->extent->value;
    else if (s->how == loop_kind::parallel) mix(a.block, i / 256), place[0] = i % 256, extent[0] = 256;
    else mix(is_block(s->how) ? a.block : a.when, i);
  }
  a.thread = place[0] + extent[0] * (place[1] + extent[1] * place[2]);
  std::int64_t const size = size_bytes(b->type);
  for (int l = 0; l < count && ok(); ++l) {
    std::int64_t element = 0;
    if (!lanes.has(l) || !locate(b, indices, l, element)) continue;
    if (a.bytes > 0 && a.first + a.bytes == element * size) {
      a.bytes += size;
      continue;
    }
    if (a.bytes > 0) options_.observe(options_.observer, a);
    a.first = element * size, a.bytes = size;
  }
  if (a.bytes > 0 && ok()) options_.observe(options_.observer, a);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
