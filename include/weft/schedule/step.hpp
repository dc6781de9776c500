// A schedule step as data, and the list of all steps: what a trace holds, prints, parses and replays.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "weft/base/sequence.hpp"
#include "weft/schedule/diagnosis.hpp"
#include "weft/schedule/intrinsic.hpp"

namespace weft::inline WEFT_ABI {

/// Words of which a step may take one; the first is meant where none stands.
struct word_list {
  std::string_view const* first = nullptr;
  int count = 0;
};
/// What a step names, in the order of its line in a trace:
///
///     C: reorder(j, i)                 loops of its stage
///     C: split(i, 4) -> io, ii         a loop and a number; then the loops that it makes
///     C: split(i, 4, mask) -> io, ii   and a word, where it is not the first of its list
///     C: fuse(i, j) -> ij
///     row: compute_at(out, i)          a stage, and a loop of another one
///     C: cache_read(B)                 a stage and a tensor
///     C: cache_read(B, all)            and a word, where it is not the first of its list
///     C: parallel(i, 4)                a loop and a list of numbers, which may be empty
///     C: rfactor(C, k, 8)              a stage, a loop (of it, or the step is refused) and a number
///     copy: transform_layout(1, 1, 0)  a stage and a list of numbers
///     row: set_scope(stack)            a stage and a word of a list
///     C: bind(i, block_x)              a loop and a word of a list
///     panel: pipeline(2)               a stage and a number
///     panel: pipeline(2, async)        and a word, where it is not the first of its list
///     C: prefetch(k, B, 4, l2)         a loop, a tensor, a number and a word
///     C: tensorize(ki, pmaddwd)        a loop and the name of an intrinsic
struct step_form {
  std::string_view name;
  bool stage = false;                   // step::stage is named; else it is that of the loops
  std::int8_t least_loops = 0, most_loops = 0;
  bool tensor = false, factor = false;  // step::tensor, step::factor
  bool places = false;                  // it says where a stage is computed, or begins
  word_list words{};                    // step::word is one of these; the first is not shown behind a number or a tensor
  bool numbers = false;                 // step::numbers, all that stand behind the others
  bool by = false;                      // step::by
  constexpr bool shows_first_word() const { return !factor && !tensor; }
};

/// What becomes of the last part where a split does not divide; `split` says more.
enum class tail : std::uint8_t { guard, mask, partition, shift_inwards, round_up };
/// How what a pipelined stage copies comes to its memory: by the thread's own loads and stores, or by copies of a GPU that run on
/// by themselves.
enum class transfer : std::uint8_t { plain, async };
/// Where what a prefetch asks for is put: into the first cache, the second or the third one, and from there on down; `once`: where
/// what is used once does not push out what is used again. A machine may take one for another.
enum class cache_level : std::uint8_t { l1, l2, l3, once };
/// Who reads a copy: the stage that it is made for, or all stages that read the tensor.
enum class readers : std::uint8_t { one, all };
/// An axis of a machine to which `bind` gives a loop.
enum class thread_axis : std::uint8_t { virtual_thread, block_x, block_y, block_z, thread_x, thread_y, thread_z, warp, lane };
namespace detail {
inline constexpr std::string_view tail_names[] = {"guard", "mask", "partition", "shift_inwards", "round_up"};
inline constexpr word_list tail_words{tail_names, 5};
inline constexpr std::string_view scope_names[] = {"stack", "workspace", "registers", "shared"};
inline constexpr word_list scope_words{scope_names, 4}, no_words{};
inline constexpr std::string_view axis_names[] = {"virtual_thread", "block_x", "block_y", "block_z", "thread_x",
                                                  "thread_y", "thread_z", "warp", "lane"};
inline constexpr word_list axis_words{axis_names, 9};
inline constexpr std::string_view transfer_names[] = {"plain", "async"};
inline constexpr word_list transfer_words{transfer_names, 2};
inline constexpr std::string_view cache_names[] = {"l1", "l2", "l3", "once"};
inline constexpr word_list cache_words{cache_names, 4};
inline constexpr std::string_view readers_names[] = {"one", "all"};
inline constexpr word_list readers_words{readers_names, 2};
}  // namespace detail
constexpr std::string_view name(cache_level c) { return detail::cache_names[static_cast<int>(c)]; }

// One line per step; its rule, schedule/step/NAME.hpp, says all the rest.
//
//    name            stage  loops   tensor factor places words numbers by
#define WEFT_STEPS(X)                                   \
  X(split,          false, 1, 1,  false, true,  false, tail_words) \
  X(reorder,        false, 1, 16, false, false, false)  \
  X(unroll,         false, 1, 1,  false, false, false)  \
  X(vectorize,      false, 1, 1,  false, false, false)  \
  X(parallel,       false, 1, 1,  false, false, false, no_words, true) \
  X(compute_at,     true,  1, 1,  false, false, true)   \
  X(compute_inline, true,  0, 0,  false, false, true)   \
  X(compute_root,   true,  0, 0,  false, false, true)   \
  X(cache_read,     true,  0, 0,  true,  false, false, readers_words) \
  X(store_at,       true,  1, 1,  false, false, true)   \
  X(store_root,     true,  0, 0,  false, false, true)   \
  X(fold_storage,   false, 1, 1,  false, true,  true)   \
  X(fuse,           false, 2, 16, false, false, false)  \
  X(cache_write,    true,  0, 0,  false, false, false)  \
  X(transform_layout, true, 0, 0, false, false, false, no_words, true) \
  X(storage_align,  true,  0, 0,  false, false, false, no_words, true) \
  X(set_scope,      true,  0, 0,  false, false, false, scope_words) \
  X(reverse_compute_at, true, 1, 1, false, false, true) \
  X(reverse_compute_inline, true, 0, 0, false, false, true) \
  X(rfactor,        true,  1, 1,  false, true,  false)  \
  X(rfactor_chunks, true,  1, 1,  false, true,  false)  \
  X(decompose_reduction, true, 1, 1, false, false, true) \
  X(compute_with,   true,  1, 1,  false, false, true) \
  X(specialize,     true,  0, 0,  false, false, false, no_words, true) \
  X(store_non_temporal, true, 0, 0, false, false, false) \
  X(prefetch,       false, 1, 1,  true,  true,  false, cache_words) \
  X(prepack,        true,  0, 0,  false, false, true)   \
  X(pipeline,       true,  0, 0,  false, true,  true, transfer_words) \
  X(bind,           false, 1, 1,  false, false, false, axis_words) \
  X(tensorize,      false, 1, 1,  false, false, false, no_words, false, true) \
  X(prefetch_inside, false, 2, 2, true,  true,  false, cache_words) \
  X(im2col,         true,  0, 0,  false, false, false, no_words, true) \
  X(swizzle,        true,  0, 0,  false, false, false) \
  X(prefetch_in_turns, false, 3, 3, true, true, false, cache_words) \
  X(jam,            false, 2, 16, false, false, false)

enum class verb : std::uint8_t {
#define WEFT_X(name, ...) name,
  WEFT_STEPS(WEFT_X)
#undef WEFT_X
};
namespace detail {
inline constexpr step_form step_forms[] = {
#define WEFT_X(name, ...) {#name, __VA_ARGS__},
    WEFT_STEPS(WEFT_X)
#undef WEFT_X
};
}  // namespace detail
inline constexpr int verb_count = static_cast<int>(std::size(detail::step_forms));
constexpr step_form const& form_of(verb v) { return detail::step_forms[static_cast<int>(v)]; }
constexpr std::string_view name(verb v) { return form_of(v).name; }

/// One step. What its form does not name stays as it is here.
struct step {
  static constexpr int max_axes = 16;
  verb what = verb::split;
  std::int32_t count = 0;
  std::array<std::int32_t, max_axes> loops{};
  std::int64_t factor = 0;
  std::int32_t stage = -1, tensor = -1;
  std::int32_t axis = -1;  // of the program, that loops[0] is: noted when the step is taken, for what is done again
  std::uint8_t word = 0;  // position in the list of its form
  sequence<std::int64_t> numbers{};
  intrinsic const* by = nullptr;
  verdict ruling = verdict::legal;
  diagnosis reason = diagnosis::none;
  constexpr bool operator==(step const& o) const {
    if (what != o.what || count != o.count || factor != o.factor || stage != o.stage || tensor != o.tensor ||
        word != o.word || by != o.by)
      return false;
    for (int i = 0; i < count; ++i)
      if (loops[static_cast<std::size_t>(i)] != o.loops[static_cast<std::size_t>(i)]) return false;
    return numbers == o.numbers;
  }
};

/// The steps taken, in order.
using trace = sequence<step>;

/// What a rule answers.
struct ruling {
  verdict v = verdict::legal;
  diagnosis why = diagnosis::none;
};
constexpr ruling illegal(diagnosis why) { return {verdict::illegal, why}; }

}  // namespace weft::inline WEFT_ABI
