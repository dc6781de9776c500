#include <cmath>

#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/processor.hpp"
#include "weft/tune/loop_features.hpp"
#include "weft/tune/warp_features.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

/// What an architecture that is not known is taken for.
inline gpu_processor const& processor_like(target const& gpu) {
  gpu_processor const* const p = processor_of(gpu.cpu);
  return p != nullptr ? *p : *processor_of("sm_80");
}
/// Whether a loop over threads stands in it, or a warp's tile.
inline bool has_thread_loops(ir::stmt s) {
  if (s->kind == ir::stmt_kind::tile || (s->kind == ir::stmt_kind::loop && is_thread(s->how))) return true;
  for (ir::stmt c : s->children)
    if (has_thread_loops(c)) return true;
  return false;
}
/// Distinct numbers, of which there are few.
class few_numbers {
 public:
  void add(std::int64_t n) {
    for (std::size_t i = 0; i < count_; ++i)
      if (all_[i] == n) return;
    if (count_ < 256) all_[count_++] = n;
  }
  std::size_t size() const { return count_; }
  std::int64_t operator[](std::size_t i) const { return all_[i]; }

 private:
  std::int64_t all_[256] = {};
  std::size_t count_ = 0;
};

/// One launch of a lowered function.
class launch_walk {
 public:
  launch_walk(ir::function const& f, target const& gpu) : gpu_(gpu), values_(f.variables.size()) {}
  /// shared: of a block; below 0: the sum of its buffers.
  launch_costs of(ir::stmt s, std::int64_t shared) {
    find_block(s);
    walk(s);
    if (shared >= 0) c_.shared_bytes = shared;
    c_.registers = 20 + static_cast<std::int64_t>(private_ + most_);
    judge();
    return c_;
  }

 private:
  struct level {
    std::int32_t variable;
    loop_kind how;
    std::int64_t begin, trips;
  };
  enum class memory { global, shared, own };

  // --- the size of a block, as pass/threads has it
  void find_block(ir::stmt s) {
    bool joins = false;
    sequence<std::int32_t> open;
    measure(s, open, joins);
    bool const warps = longest_[3] > 1 || longest_[4] > 1 || uses_warps_;
    std::int64_t x = longest_[0];
    if (warps && x < 32 * longest_[3]) x = 32 * longest_[3];
    std::int64_t power = 1;
    while (power < x) power *= 2;
    if (joins && x < 32) x = power;
    if (warps || (joins && (x > 32 || x * longest_[1] * longest_[2] % 32 != 0))) x = (x + 31) / 32 * 32;
    c_.threads[0] = x, c_.threads[1] = longest_[1], c_.threads[2] = longest_[2];
  }
  void measure(ir::stmt s, sequence<std::int32_t>& open, bool& joins) {
    bool const thread = s->kind == ir::stmt_kind::loop && is_thread(s->how);
    if (s->kind == ir::stmt_kind::tile) uses_warps_ = true;
    if (thread) {
      auto const part = static_cast<std::size_t>(static_cast<int>(s->how) - static_cast<int>(loop_kind::thread_x));
      uses_warps_ = uses_warps_ || part >= 3;
      std::int64_t const trips = values_.of(s->extent);
      if (trips > longest_[part]) longest_[part] = trips;
      open.push_back(s->variable);
    }
    if (s->kind == ir::stmt_kind::accumulate)
      for (std::int32_t v : s->first)
        for (std::int32_t o : open) joins = joins || v == o;
    for (ir::stmt c : s->children) measure(c, open, joins);
    if (thread) open.pop_back();
  }

  // --- statements
  void walk(ir::stmt s) {
    switch (s->kind) {
      case ir::stmt_kind::loop: {
        std::int64_t const begin = values_.of(s->begin), trips = values_.of(s->extent);
        if (is_block(s->how)) c_.blocks[static_cast<int>(s->how) - static_cast<int>(loop_kind::block_x)] = trips > 1 ? trips : 1;
        values_.variable(s->variable) = begin;
        levels_.push_back({s->variable, s->how, begin, trips > 1 ? trips : 1});
        walk(s->children[0]);
        levels_.pop_back();
        values_.variable(s->variable) = 0;
        return;
      }
      case ir::stmt_kind::allocate: allocate(s); break;
      case ir::stmt_kind::branch: return walk(s->children[0]);  // a tail, mostly: what is done where the condition holds
      case ir::stmt_kind::tile:
        in_tile_ = true;
        for (ir::stmt c : s->children) walk(c);
        in_tile_ = false;
        return;
      case ir::stmt_kind::store:
      case ir::stmt_kind::accumulate: statement(s); break;
      default: break;
    }
    for (ir::stmt c : s->children) walk(c);
  }
  void allocate(ir::stmt s) {
    if (s->buf->where != ir::scope::stack && s->buf->where != ir::scope::registers) return;
    std::int64_t elements = 1;
    for (std::uint32_t d = 0; d < s->buf->shape.size(); ++d) elements += (values_.of(s->buf->shape[d]) - 1) * values_.of(s->buf->strides[d]);
    // A padded row is as long at the end.
    if (s->buf->shape.size() > 0) {
      std::int64_t const whole = values_.of(s->buf->shape[0]) * values_.of(s->buf->strides[0]);
      if (whole > elements) elements = whole;
    }
    std::int64_t const bytes = elements * size_bytes(s->buf->type);
    if (!has_thread_loops(s)) {
      private_ += static_cast<double>((bytes + 3) / 4);
      return;
    }
    std::int64_t copies = 1;
    for (level const& l : levels_)
      if (is_thread(l.how)) copies *= l.trips;
    c_.shared_bytes += (bytes * copies + 127) / 128 * 128;
    shared_.push_back(s->buf);
  }
  memory memory_of(ir::buffer const* b) const {
    for (ir::buffer const* s : shared_)
      if (s == b) return memory::shared;
    return b->where == ir::scope::argument || b->where == ir::scope::heap || b->where == ir::scope::kept ? memory::global : memory::own;
  }
  std::int64_t place_of(ir::buffer const* b, ir::list<ir::expr> const& indices) const {
    std::int64_t at = 0;
    for (std::uint32_t d = 0; d < indices.size() && d < b->strides.size(); ++d) at += values_.of(indices[d]) * values_.of(b->strides[d]);
    ir::swizzle const z = ir::swizzle_of(b);
    if (z.phases == 1 || memory_of(b) != memory::shared) return at;
    std::int64_t row = 0, column = values_.of(indices[indices.size() - 1]);
    for (std::uint32_t d = 0; d + 1 < indices.size(); ++d) row += values_.of(indices[d]) * ir::rows_of_step(b, d);
    return at + z.column(row, column) - column;
  }
  /// How far the next iteration of a loop is away, in elements.
  std::int64_t stride(ir::buffer const* b, ir::list<ir::expr> const& indices, level const& l) {
    if (l.trips <= 1) return 0;
    std::int64_t const here = place_of(b, indices);
    values_.variable(l.variable) = l.begin + 1;
    std::int64_t const there = place_of(b, indices);
    values_.variable(l.variable) = l.begin;
    return there - here;
  }
  void expression(ir::expr e, sequence<ir::expr>& seen, double& operations) {
    for (ir::expr s : seen)
      if (s == e) return;
    seen.push_back(e);
    if (e->kind == op::load) return;
    if (arity(e->kind) > 0 && !ir::is_index(e)) operations += e->kind == op::fma ? 2 : 1;
    for (ir::expr c : {e->a, e->b, e->c})
      if (c != nullptr) expression(c, seen, operations);
  }
  void statement(ir::stmt s) {
    sequence<ir::expr> seen;
    double each = 0, runs = 1;
    expression(s->value, seen, each);
    for (level const& l : levels_) runs *= static_cast<double>(l.trips);
    c_.operations += (in_tile_ ? 1.0 / 16 : 1) * runs * each;
    if (s->asynchronous) note_ring(s);
    // Of a sum's terms that are written out one after the other, each takes the place of the one before.
    bool const is_sum = s->kind == ir::stmt_kind::accumulate;
    stays_.assign(levels_.size(), false);
    for (std::size_t i = 0; i < levels_.size() && is_sum; ++i) stays_[i] = stride(s->buf, s->indices, levels_[i]) == 0;
    double read = 0;
    for (ir::expr e : seen)
      if (e->kind == op::load) read += access(e->buf, e->indices, false, s->asynchronous);
    stays_.assign(levels_.size(), false);
    double const written = access(s->buf, s->indices, is_sum, false), held = is_sum ? read + written : read > written ? read : written;
    if (held > most_) most_ = held;
  }
  /// Tiles of an asynchronous copy take turns: a[i %% 3, ..].
  void note_ring(ir::stmt s) {
    for (ir::expr i : s->indices)
      if (i->kind == op::floor_mod && i->b->kind == op::literal && i->b->value > c_.stages) c_.stages = static_cast<std::int32_t>(i->b->value);
  }
  /// What an access costs; the registers that its elements take.
  double access(ir::buffer const* b, ir::list<ir::expr> const& indices, bool is_sum, bool passed_on) {
    std::int64_t const size = size_bytes(b->type);
    memory const kind = memory_of(b);
    // The innermost loop that is written out gives wide accesses where it walks side by side.
    std::int64_t wide = 1;
    std::size_t wide_level = levels_.size();
    for (std::size_t i = levels_.size(); i-- > 0 && wide_level == levels_.size();)
      if (is_written_out(levels_[i].how) && stride(b, indices, levels_[i]) == 1) wide_level = i, wide = levels_[i].trips;
    while (wide * size > 16 || (wide & (wide - 1)) != 0) wide = wide / 2 > 0 ? wide / 2 : 1;
    double times = 1, copies = 1, at_once = 1;
    bool inside = true;
    for (std::size_t i = levels_.size(); i-- > 0;) {
      level const& l = levels_[i];
      if (is_block(l.how) || is_thread(l.how)) continue;
      bool const moves = stride(b, indices, l) != 0;
      if (is_written_out(l.how)) {
        if (moves) copies *= static_cast<double>(l.trips);
        if (moves && (!stays_[i] || i == wide_level)) at_once *= static_cast<double>(l.trips);
        continue;  // copies that do not move are one
      }
      if (moves) inside = false;
      if (moves || !inside) times *= static_cast<double>(l.trips);
    }
    times *= copies / static_cast<double>(wide);
    if (!in_tile_ && kind != memory::own) warp(b, indices, kind, wide * size, times * (is_sum && kind == memory::shared ? 2 : 1));
    double const words = static_cast<double>(size > 4 ? size / 4 : 1);
    return passed_on || in_tile_ || kind == memory::own ? 0 : at_once * words;  // its own memory is counted where it is made
  }
  /// The addresses of a block's first warp.
  void warp(ir::buffer const* b, ir::list<ir::expr> const& indices, memory kind, std::int64_t bytes, double times) {
    std::int64_t const x = c_.threads[0], y = c_.threads[1], z = c_.threads[2], size = size_bytes(b->type);
    few_numbers sectors, starts;
    std::int64_t places[32];
    int active = 0;
    for (std::int64_t lane = 0; lane < 32 && lane < x * y * z; ++lane) {
      std::int64_t const at[] = {lane % x, lane / x % y, lane / x / y, lane % x / 32, lane % x % 32};
      bool on[] = {at[0] == 0, at[1] == 0, at[2] == 0};  // of an axis that no loop is over, the first thread
      bool in = true;
      for (level const& l : levels_) {
        if (!is_thread(l.how)) continue;
        auto const part = static_cast<std::size_t>(static_cast<int>(l.how) - static_cast<int>(loop_kind::thread_x));
        on[part >= 3 ? 0 : part] = true;
        in = in && at[part] < l.trips;
        values_.variable(l.variable) = l.begin + at[part];
      }
      if (in && on[0] && on[1] && on[2]) places[active++] = place_of(b, indices) * size;
    }
    for (level const& l : levels_)
      if (is_thread(l.how)) values_.variable(l.variable) = l.begin;
    if (active == 0) return;
    double const warps = std::ceil(static_cast<double>(x * y * z) / 32) * grid();
    if (kind == memory::global) {
      for (int i = 0; i < active; ++i) {
        starts.add(places[i]);
        for (std::int64_t at = places[i] & ~std::int64_t(31); at < places[i] + bytes; at += 32) sectors.add(at);
      }
      c_.sectors += times * warps * static_cast<double>(sectors.size());
      c_.least_sectors += times * warps * std::ceil(static_cast<double>(starts.size()) * static_cast<double>(bytes) / 32);
      return;
    }
    // Accesses of 8 and 16 bytes are made by halves and quarters of the warp.
    int const group = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
    for (int begin = 0; begin < active; begin += group) {
      few_numbers words;
      for (int i = begin; i < active && i < begin + group; ++i)
        for (std::int64_t at = places[i] / 4; at * 4 < places[i] + bytes; ++at) words.add(at);
      std::int64_t in_bank[32] = {}, most = 1;
      for (std::size_t i = 0; i < words.size(); ++i)
        if (std::int64_t const n = ++in_bank[static_cast<std::size_t>(words[i] & 31)]; n > most) most = n;
      c_.passes += times * warps * static_cast<double>(most);
      c_.least_passes += times * warps;
    }
  }
  double grid() const {
    return static_cast<double>(c_.blocks[0]) * static_cast<double>(c_.blocks[1]) * static_cast<double>(c_.blocks[2]);
  }
  void judge() {
    gpu_processor const& p = processor_like(gpu_);
    std::int64_t const threads = c_.threads[0] * c_.threads[1] * c_.threads[2];
    std::int64_t const registers = c_.registers > 255 ? 255 : c_.registers;
    resident_blocks const fit = threads > 1024 ? resident_blocks{} : blocks_that_fit(p, threads, registers, c_.shared_bytes);
    c_.occupancy = fit.occupancy;
    double const processors = gpu_.threads > 1 ? static_cast<double>(gpu_.threads) : 100;
    double const at_once = processors * (fit.blocks > 0 ? fit.blocks : 1);
    double const arithmetic = c_.operations / 128, global = c_.sectors, shared = c_.passes;
    double longest = arithmetic;
    for (double one : {global, shared})
      if (one > longest) longest = one;
    double const work = longest + (arithmetic + global + shared - longest) / 4;
    double const resident = grid() < at_once ? std::ceil(grid() / processors) : fit.blocks;
    double const warps = std::ceil(static_cast<double>(threads) / 32) * (resident > 0 ? resident : 1) * (c_.stages > 1 ? 2 : 1);
    // Of processors, those that work: few blocks leave some idle, and so does the last round.
    double const round = grid() < at_once ? processors : at_once;
    double const used = grid() < processors ? grid() : processors * grid() / (std::ceil(grid() / round) * round);
    c_.cycles = 3000 + work / used * (1 + 8 / warps);
  }

  target const& gpu_;
  index_values values_;
  launch_costs c_;
  sequence<level> levels_;
  sequence<ir::buffer const*> shared_;
  sequence<bool> stays_;  // by level: the sum that is read for does not move there
  std::int64_t longest_[5] = {1, 1, 1, 1, 1};
  bool uses_warps_ = false, in_tile_ = false;
  double private_ = 0, most_ = 0;  // registers of its own memory; of the statement that holds most
};

inline void find_launches(ir::stmt s, sequence<ir::stmt>& all) {
  if (s == nullptr) return;
  bool const several = s->kind == ir::stmt_kind::block || (s->kind == ir::stmt_kind::allocate && s->buf->where == ir::scope::heap);
  if (!several) return all.push_back(s);
  for (ir::stmt c : s->children) find_launches(c, all);
}
inline std::int64_t shared_end(ir::function const& f, ir::stmt s) {
  std::int64_t const place = s->kind == ir::stmt_kind::allocate ? f.shared_place(s->buf) : -1;
  std::int64_t end = place < 0 ? 0 : place + ir::shared_bytes_of(s->buf);
  for (ir::stmt c : s->children)
    if (std::int64_t const inside = shared_end(f, c); inside > end) end = inside;
  return end;
}
inline std::int64_t most_shared(target const& gpu) { return gpu.l1_bytes > 0 ? gpu.l1_bytes : 48 * 1024; }
inline double product_of(std::int64_t const (&n)[3]) {
  return static_cast<double>(n[0]) * static_cast<double>(n[1]) * static_cast<double>(n[2]);
}
inline void add_features(sequence<float>& f, launch_costs const& c) {
  for (double x : {product_of(c.blocks), product_of(c.threads), static_cast<double>(c.threads[0]), static_cast<double>(c.shared_bytes),
                   static_cast<double>(c.registers), static_cast<double>(c.occupancy), static_cast<double>(c.stages), c.sectors,
                   c.least_sectors > 0 ? c.sectors / c.least_sectors : 1, c.passes, c.least_passes > 0 ? c.passes / c.least_passes : 1,
                   c.operations, c.cycles})
    f.push_back(static_cast<float>(std::log2(1 + x)));
}
}  // namespace detail

WEFT_DECL sequence<std::int64_t> shared_bytes_of_launches(ir::function const& f) {
  sequence<ir::stmt> launches;
  sequence<std::int64_t> all;
  detail::find_launches(f.body, launches);
  for (ir::stmt s : launches) all.push_back(detail::shared_end(f, s));
  return all;
}
WEFT_DECL bool shares_too_much(gpu_costs const& c, target const& gpu) {
  for (launch_costs const& l : c.launches)
    if (l.shared_bytes > detail::most_shared(gpu)) return true;
  return false;
}
WEFT_DECL gpu_costs costs_of_gpu_loops(ir::function const& f, target const& gpu, sequence<std::int64_t> const& shared) {
  gpu_costs r;
  sequence<ir::stmt> launches;
  detail::find_launches(f.body, launches);
  for (std::size_t i = 0; i < launches.size(); ++i)
    r.launches.push_back(detail::launch_walk(f, gpu).of(launches[i], shared.size() == launches.size() ? shared[i] : -1));
  launch_costs all;
  for (launch_costs const& c : r.launches) {
    all.shared_bytes += c.shared_bytes, all.sectors += c.sectors, all.least_sectors += c.least_sectors, all.passes += c.passes;
    all.least_passes += c.least_passes, all.operations += c.operations, all.cycles += c.cycles;
    all.blocks[0] += static_cast<std::int64_t>(detail::product_of(c.blocks)), all.threads[0] += static_cast<std::int64_t>(detail::product_of(c.threads));
    if (c.registers > all.registers) all.registers = c.registers;
    if (c.stages > all.stages) all.stages = c.stages;
  }
  r.estimate = all.cycles;
  detail::add_features(r.features, all);
  sequence<bool> taken(r.launches.size(), false);
  for (int n = 0; n < 2; ++n) {
    std::size_t most = r.launches.size();
    for (std::size_t i = 0; i < r.launches.size(); ++i)
      if (!taken[i] && (most == r.launches.size() || r.launches[i].cycles > r.launches[most].cycles)) most = i;
    if (most < r.launches.size()) taken[most] = true;
    detail::add_features(r.features, most < r.launches.size() ? r.launches[most] : launch_costs{});
  }
  return r;
}

WEFT_DECL std::string too_large(gpu_costs const& c, target const& gpu, bool estimates) {
  for (launch_costs const& l : c.launches) {
    std::int64_t const threads = l.threads[0] * l.threads[1] * l.threads[2], shared = detail::most_shared(gpu);
    auto const n = [](std::int64_t v) { return std::to_string(v); };
    if (threads > 1024 || l.threads[2] > 64) return joined({"a block has ", n(threads), " threads, ", n(l.threads[2]), " of them along z: at most 1024, and 64"});
    if (l.blocks[0] > 2147483647 || l.blocks[1] > 65535 || l.blocks[2] > 65535)
      return joined({"a grid has ", n(l.blocks[0]), " x ", n(l.blocks[1]), " x ", n(l.blocks[2]), " blocks: at most 2^31 - 1, 65535 and 65535"});
    if (l.shared_bytes > shared) return joined({"a block shares ", n(l.shared_bytes), " bytes of memory, of at most ", n(shared)});
    if (!estimates) continue;
    if (l.registers > 255) return joined({"a thread wants about ", n(l.registers), " registers, of at most 255"});
    if ((threads + 31) / 32 * 32 * ((l.registers + 7) / 8 * 8) > 65536)
      return joined({"a block of ", n(threads), " threads with about ", n(l.registers), " registers each wants more than 65,536"});
  }
  return "";
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
