// The loop program: immutable nodes, owned by one arena per compile.
//
// Expressions are hash-consed: equal expressions are one node, so equality is a comparison of pointers. Nodes
// are numbered in the order of their making, and nothing hangs on addresses, so equal inputs give equal code.
// Elements and indices are typed: an index is i64; the operations mean what base/op.hpp says, lane by lane.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/dtype.hpp"
#include "weft/base/error.hpp"
#include "weft/base/node_set.hpp"
#include "weft/base/op.hpp"
#include "weft/base/sequence.hpp"
#include "weft/schedule/nest.hpp"  // loop_kind

namespace weft::inline WEFT_ABI {
namespace ir {

/// A contiguous piece of arena memory.
template <class T>
struct list {
  T const* first = nullptr;
  std::uint32_t count = 0;
  constexpr T const* begin() const { return first; }
  constexpr T const* end() const { return first + count; }
  constexpr std::uint32_t size() const { return count; }
  constexpr T const& operator[](std::size_t i) const { return first[i]; }
};

struct expr_node;
struct stmt_node;
struct buffer;
using expr = expr_node const*;
using stmt = stmt_node const*;

/// One value, or `lanes` of them side by side.
///
///   literal    value = bits (every lane the same when lanes > 1)
///   extent     value = number of a run-time size in `function::sizes` (i64)
///   scalar     value = number of a run-time scalar argument
///   axis       value = number of a loop variable in `function::variables` (i64)
///   load       buf, indices (one per dimension, scalar or vector), a = mask or null: a lane whose mask is
///              false reads nothing and is 0
///   self       the element so far, or the one before it; only inside the value of an accumulate. value = which child's of the `together`
///              around it; 0 when alone
///   ramp       a, a + value, a + 2 value, ...: a is a scalar i64, value the stride
///   broadcast  a in every lane
///   instruction  a, written out; where the machine has it, instruction `by` computes it of `indices`: the value so far, then
///              of each operand as many as it has terms. All have the lanes of the whole
///   others     a, b, c: operands with the same number of lanes (a condition too)
struct expr_node {
  op kind = op::literal;
  dtype type = dtype::i64;
  std::uint16_t lanes = 1;
  std::uint32_t id = 0;
  expr a = nullptr, b = nullptr, c = nullptr;
  std::int64_t value = 0;
  buffer const* buf = nullptr;
  intrinsic const* by = nullptr;
  list<expr> indices;
  std::uint64_t variables = 0;  // read by it, as bits: of those from 63 on, bit 63; set by arena::make
};

/// Where a buffer's elements live. argument: the caller's memory. heap: the workspace of the call; of a buffer with `places` each thread that runs
/// the parallel loop around its allocate has elements of its own there.
/// registers: a single value of `lanes` elements, rank 0 plus lanes; never outlives the loop it stands in.
/// stack: memory of a literal size on the stack of the thread that runs its allocate. kept: launch::kept, what earlier calls
/// have left there; whether they have is the last scalar.
enum class scope : std::uint8_t { argument, heap, registers, stack, kept };

/// Memory of a known shape. Index [x0, x1, ..] stands at element x0 * strides[0] + x1 * strides[1] + ...
struct buffer {
  std::string name;
  dtype type = dtype::f32;
  scope where = scope::argument;
  std::uint16_t lanes = 1;       // registers only
  std::int32_t id = 0;           // position in function::buffers
  std::int32_t argument = -1;    // position among the call's pointers
  std::int32_t places = 0;       // heap only: for so many threads at most; 0: one for all
  bool written = false;          // an output or an intermediate
  bool non_temporal = false;     // stored past the caches where a vector is aligned
  bool swizzled = false;         // its rows, where a block shares it (swizzle_of)
  std::int32_t alias_class = 0;  // buffers of different classes never overlap
  std::int32_t alignment = 1;    // of the base address, in bytes
  list<expr> shape, strides;     // in elements
};

enum class stmt_kind : std::uint8_t { block, loop, store, accumulate, branch, allocate, together, barrier, call, exchange, tile, commit, wait };
/// What a matrix unit does with a tile. multiply: sums += products of two; of fragments alone behind pass/fragments.hpp and pass/tile_registers.hpp.
enum class tile_role : std::uint8_t { multiply, fill, load_a, load_b, store };

/// One statement.
///
///   block       children, one after the other
///   loop        for variable in begin .. begin + extent: children[0], run as `how` says; a parallel one by at most
///               `threads` threads (0: all that there are), and as many as what its iterations allocate has places. One that is bound to an axis of a machine ends when all its
///               iterations have; memory allocated inside it is an iteration's own
///               In each iteration, of each buffer of `ahead`, what the iteration `distance` later reads is prefetched: of this
///               loop, or of one around it, where an access that does not move with that one is left out. It comes into the cache that `into` says,
///               and the iterations of a loop around may share out what is asked for. Loops with one `jam`, which is not 0, are to run as one (pass/jam.hpp)
///   store       buf[indices] = value where mask (null: always)
///               An asynchronous one copies, or has zero where a select says so, and its element is undefined until a wait for its
///               group: neither read nor written. What it copies stays as it is until then
///   accumulate  buf[indices] = value, in which `self` is buf[indices] so far; in the iteration in which every
///               variable of `first` stands at its loop's begin, `self` is `identity` instead and the memory
///               is not read. With an empty `first` it is always read. There is no separate nest for initialisation.
///               Of a scan, `self` is buf[before], which the iteration before of the loops in `first` has written
///   branch      if value: children[0] else: children[1] (may be absent)
///   allocate    buf exists in children[0]; its elements are undefined at first
///   together    children are stores, or accumulates with one `first`, to different buffers; all of them are
///               evaluated before any of them writes
///   call        function `by` of the program's, launch::functions[number], on all of `buffers`: what it reads, each element of
///               which has been written, then what it writes, each element. In no loop; where it fails the kernel ends
///   tile        children[0], loops over a tile, as `unit` does it, of a CPU or for a whole warp of a GPU: each lane comes, and the elements are
///               written once. Fragments, memory of a thread's own that tiles alone touch, are registers of a CPU, or the warp's together
///   barrier     no thread of the block goes on before all are there; in loops over threads alone, which all of them run alike
///   exchange    buf[indices] = what `value` is for the thread of the same warp whose number is this one's xor `number`, 1 to 31; where a
///               barrier may stand. Threads are numbered as their loops stand, the innermost one first, 32 in a warp
///   commit      the asynchronous stores of this thread since its commit before are a group, perhaps an empty one
///   wait        of this thread's groups all but the last `number` have arrived: their elements are written. What other threads have
///               waited for is seen behind a barrier
inline constexpr std::int32_t most_waiting = 64;  // groups
struct prefetched {
  buffer const* buf = nullptr;
  std::int64_t distance = 0;
  std::int32_t of = -1;  // the variable whose later value is meant; -1: that of the loop itself
  cache_level into = cache_level::l1;
  std::int64_t turns = 1;  // so many iterations of the loop around whose variable is `turn` share evenly what all iterations of this one ask for
  std::int32_t turn = -1;  // where no loop of it is around, each asks for all
};
struct stmt_node {
  stmt_kind kind = stmt_kind::block;
  loop_kind how = loop_kind::serial;
  std::int32_t variable = -1, threads = 0, jam = 0;
  expr begin = nullptr, extent = nullptr;
  buffer const* buf = nullptr;
  list<expr> indices, before;  // before: empty but in a scan
  expr value = nullptr, mask = nullptr, identity = nullptr;
  list<std::int32_t> first;
  list<prefetched> ahead;
  list<stmt> children;
  extern_function const* by = nullptr;
  std::int32_t number = 0;
  list<buffer const*> buffers;
  tile_role role = tile_role::multiply;
  intrinsic const* unit = nullptr;
  bool asynchronous = false;  // of a store
};
constexpr std::string_view name(tile_role r) {
  constexpr char const* names[] = {"multiply", "fill", "load_a", "load_b", "store"};
  return names[static_cast<int>(r)];
}

/// Owns nodes; hands out equal expressions once.
class arena {
 public:
  arena() = default;
  arena(arena const&) = delete;
  arena& operator=(arena const&) = delete;
  ~arena();

  expr make(expr_node n);
  stmt make(stmt_node n);
  buffer* make_buffer();
  template <class T>
  list<T> make_list(sequence<T> const& from) {
    auto* to = static_cast<T*>(allocate(sizeof(T) * from.size()));
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i];
    return {to, static_cast<std::uint32_t>(from.size())};
  }
  std::uint32_t expressions() const { return next_id_; }

  /// A note on each expression that one rewriter keeps while it runs; another one's epoch makes it void. Shared,
  /// because a table for each of the hundreds of substitutions of one compile took a tenth of its time.
  struct note {
    std::uint32_t epoch = 0;
    expr value = nullptr;
  };
  note& note_of(expr e) {
    if (notes_.size() <= e->id) notes_.resize(2 * static_cast<std::size_t>(next_id_) + 64);
    return notes_[e->id];
  }
  std::uint32_t new_epoch() { return ++epoch_; }

 private:
  void* allocate(std::size_t bytes);
  void grow_table();
  sequence<void*> chunks_;
  std::size_t used_ = 0, size_ = 0;
  sequence<expr> table_;
  sequence<buffer*> buffers_;
  sequence<note> notes_;
  std::uint32_t epoch_ = 0;
  std::uint32_t next_id_ = 0;
};

/// A number that the caller gives.
struct scalar_argument {
  std::string name;
  dtype type;
  bool operator==(scalar_argument const& o) const { return name == o.name && type == o.type; }
};

/// A whole kernel.
struct function {
  std::string name;
  arena* nodes = nullptr;
  sequence<buffer const*> buffers;  // arguments first, in the order of the call's pointers
  sequence<std::string> sizes;      // open extents, which are 1 to 2^40, and strides; empty when all are literals
  sequence<scalar_argument> scalars;
  sequence<std::string> variables;  // names of loop variables; unique
  stmt body = nullptr;
  sequence<std::int32_t> wanted_in_registers{};  // buffers, by number: that none is left on the stack was asked for
  sequence<std::int32_t> wanted_in_shared{};     // the same: that a GPU's block shares them was asked for
  sequence<std::int32_t> lives_in{};   // by buffer of a block's: the loop of which each iteration has it anew; -1: none
  sequence<std::int64_t> shared_at{};  // by buffer: where in what its block shares, in bytes; -1: no such place (pass/shared_layout.hpp)
  std::int64_t shared_place(buffer const* b) const {
    auto const id = static_cast<std::size_t>(b->id);
    return id < shared_at.size() ? shared_at[id] : -1;
  }
};

/// What a buffer of a literal size takes of a block's shared memory, where it begins at multiples of 128 bytes: a row of banks, and
/// of copies by hardware.
inline std::int64_t shared_bytes_of(buffer const* b) {
  std::int64_t const count = b->shape.size() > 0 ? b->shape[0]->value * b->strides[0]->value : 1;
  return (count * size_bytes(b->type) + 127) / 128 * 128;
}

/// How the rows of a buffer, its last dimension, stand in shared memory: in units of 16 bytes, unit u of row r where unit
/// u xor (r / rows) % phases would be. Rows are counted from the begin of the memory. Eight rows, one above the other, then have a unit in eight different groups of banks; a
/// row stays within its stride.
///
///     rows of 64 bytes, two in a line of banks:      r0: 0 1 2 3   r1: 0 1 2 3
///                                                    r2: 1 0 3 2   r3: 1 0 3 2
///                                                    r4: 2 3 0 1   ..
struct swizzle {
  std::int64_t unit = 1, rows = 1, phases = 1;  // unit: in elements. One phase: rows stay as they are
  std::int64_t column(std::int64_t row, std::int64_t column) const {
    return ((column / unit) ^ (row / rows % phases)) * unit + column % unit;
  }
};
/// How many rows further a dimension in front of the last one goes.
inline std::int64_t rows_of_step(buffer const* b, std::size_t dim) { return b->strides[dim]->value / b->strides[b->strides.size() - 2]->value; }
inline swizzle swizzle_of(buffer const* b) {
  if (!b->swizzled) return {};
  swizzle s{16 / size_bytes(b->type)};
  std::int64_t const units = b->strides[b->strides.size() - 2]->value / s.unit;
  while (s.phases < 8 && units % (2 * s.phases) == 0) s.phases *= 2;
  s.rows = 8 / s.phases;
  return s;
}
/// What a buffer begins at multiples of in a block's shared memory, in bytes: where eight rows of whole lines of banks are one pattern of a swizzle, that begins
/// with it, since units that read it by themselves count from there (PTX ISA, wgmma).
inline std::int64_t shared_alignment_of(buffer const* b) { return swizzle_of(b).phases == 8 ? 1024 : 128; }
/// Where pass/shared_layout.hpp has been: memory that no block shares stays as it is.
inline swizzle swizzle_of(function const& f, buffer const* b) { return f.shared_place(b) < 0 ? swizzle{} : swizzle_of(b); }

// --- making expressions; each folds literals and drops what has no effect -----------------------------------
expr literal(arena& m, dtype type, std::int64_t bits, int lanes = 1);
inline expr index(arena& m, std::int64_t value) { return literal(m, dtype::i64, value); }
expr variable(arena& m, std::int32_t number);
expr unary(arena& m, op kind, expr a);
expr binary(arena& m, op kind, expr a, expr b);
expr ternary(arena& m, op kind, expr a, expr b, expr c);
expr cast(arena& m, op kind, dtype to, expr a);  // op::cast or op::bitcast
expr ramp(arena& m, expr base, std::int64_t stride, int lanes);
expr broadcast(arena& m, expr a, int lanes);
expr load(arena& m, buffer const* buf, sequence<expr> const& indices, expr mask = nullptr);
expr self(arena& m, dtype type, int lanes, std::int64_t which = 0);
expr instruction(arena& m, intrinsic const* by, expr value, sequence<expr> const& operands);
expr all_of(arena& m, expr a, expr b);  // either may be null, meaning true

// --- making statements --------------------------------------------------------------------------------------
stmt block(arena& m, sequence<stmt> const& children);  // flattens; one child stands for itself
stmt loop(arena& m, loop_kind how, std::int32_t variable, expr begin, expr extent, stmt body);
stmt loop_like(arena& m, stmt s, expr begin, expr extent, stmt body);  // run as the loop s
stmt branch(arena& m, expr condition, stmt then, stmt otherwise = nullptr);
stmt together(arena& m, sequence<stmt> const& children);  // one child stands for itself
stmt commit(arena& m);
stmt wait(arena& m, std::int32_t left);  // number = left
stmt call(arena& m, extern_function const* by, std::int32_t number, sequence<buffer const*> const& buffers);

/// Where an accumulate reads `self`.
inline list<expr> const& self_indices(stmt s) { return s->before.size() > 0 ? s->before : s->indices; }
inline bool is_literal(expr e, std::int64_t bits) { return e->kind == op::literal && e->value == bits; }
inline bool is_index(expr e) { return e->type == dtype::i64; }
/// What an asynchronous store copies: a load, alone or where a select says so, and zero elsewhere. Null: it does not copy.
inline expr copied(expr value) {
  if (value->kind == op::select && is_literal(value->c, 0)) value = value->b;
  if (value->kind == op::broadcast) value = value->a;
  return value->kind == op::load ? value : nullptr;
}

/// Rebuilds `e` with every node for which `f` answers something else than null replaced by that answer; each
/// distinct node is asked once.
class rewriter {
 public:
  explicit rewriter(arena& m) : m_(m), epoch_(m.new_epoch()) {}
  virtual ~rewriter() = default;
  expr operator()(expr e);
  stmt operator()(stmt s);

 protected:
  virtual expr replace(expr) { return nullptr; }
  virtual stmt replace(stmt) { return nullptr; }
  expr children(expr e);
  stmt children(stmt s);
  void forget() { epoch_ = m_.new_epoch(); }
  arena& m_;

 private:
  std::uint32_t epoch_;
};

/// `e` or `s` with loop variable `number` replaced.
expr substitute(arena& m, expr e, std::int32_t number, expr by);
stmt substitute(arena& m, stmt s, std::int32_t number, expr by);

/// Whether `e` reads loop variable `number`. Cost O(1) for the first 63 variables, O(nodes) for the others.
bool uses(expr e, std::int32_t number);

namespace detail {
template <class F>
bool has_part(expr e, F const& is, weft::detail::node_set& seen) {
  if (e == nullptr || !seen.add(static_cast<std::int32_t>(e->id))) return false;
  if (is(e)) return true;
  for (expr i : e->indices)
    if (has_part(i, is, seen)) return true;
  return has_part(e->a, is, seen) || has_part(e->b, is, seen) || has_part(e->c, is, seen);
}
}  // namespace detail
/// Whether something that `e` is made of, itself and indices among them, is like that. Each is asked once, however often it is used: what an expression shares with itself would
/// be walked 2^depth times otherwise.
template <class F>
bool has_part(expr e, F const& is) {
  weft::detail::node_set seen;
  return detail::has_part(e, is, seen);
}
/// Whether it reads memory.
inline bool has_load(expr e) {
  return has_part(e, [](expr x) { return x->kind == op::load; });
}

}  // namespace ir
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/ir/ir.ipp"
#endif
