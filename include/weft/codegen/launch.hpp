// How compiled code is called: one function, one argument, no external symbol.
#pragma once

#include <cstdint>

#include "weft/expr/extern_function.hpp"

namespace weft::inline WEFT_ABI {

struct launch;

/// What checked code found wrong first in a call; or, text null, the number of the program's function that did not answer 0.
/// Layout is part of the code generators, as that of the structs below.
struct failure {
  static constexpr int most = 48;
  std::int32_t state = 0;      // 0: nothing; else what the kernel returns
  char const* text = nullptr;  // in the kernel's memory; each character 1 stands for the next number
  std::int64_t numbers[most];
};

/// What a thread does of a parallel loop: iterations `begin` to `end`, with memory number `place`.
using loop_body = void(void* context, std::int64_t begin, std::int64_t end, std::int64_t place);
/// For loops whose iterations have no memory of their own.
inline constexpr std::int64_t any_number_of_places = std::int64_t(1) << 30;

/// What a kernel may ask of the program that runs it.
struct services {
  /// Calls body(context, begin, end, place) so that every index in 0 .. count is covered once; returns when all is done. Calls that run at once have
  /// different places, each below `places`, which is 1 at least.
  void (*parallel_for)(void* pool, std::int64_t count, std::int64_t places, loop_body* body, void* context);
  void* pool;
  /// Checked code calls it before it gives up; from any thread, the first one counts.
  void (*report)(launch const* call, char const* text, std::int64_t const* numbers, std::int64_t count) = nullptr;
};

/// The argument of every kernel. Layout is part of the code generators (they count the members).
struct launch {
  void* const* pointers;        // tensors: inputs, then outputs
  std::int64_t const* sizes;    // run-time extents and strides; may be null when there are none
  std::int64_t const* scalars;  // each as its bits
  void* workspace;              // 64-byte aligned; workspace_bytes() of it, or what the kernel says in `wanted`
  services const* host;
  failure* failed = nullptr;    // of checked code, and where functions of the program's are called
  double* wanted = nullptr;     // not null: nothing is computed, but the bytes of workspace for these sizes stored there, and
                                // of a kernel that keeps something behind them the bytes of that
  void* kept = nullptr;         // 64-byte aligned: what earlier calls have left; whether they have is then the last scalar
  extern_call const* functions = nullptr;  // of the stages that functions of the program's compute, in their order
};

/// 0 when all went well.
using kernel_entry = std::int32_t (*)(launch const*);

/// Calls kernels for a program that wants their parallel loops elsewhere than on weft's own pool; runtime/executor.hpp.
struct loop_runner {
  std::int32_t (*call)(loop_runner const& self, kernel_entry entry, launch const& l);
  int threads = 0;           // that a loop is cut for; 0: as of weft's own pool
  bool by_own_pool = false;  // whose threads are all that there are
};
namespace detail {
inline constinit loop_runner const* chosen_runner = nullptr;  // none: weft's own pool
}

}  // namespace weft::inline WEFT_ABI
