// A loop program as the text of CUDA kernels, free of includes.
#pragma once

#include <string>

#include "weft/base/sequence.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

struct cuda_options {
  int block_threads = 256;  // the most threads of a block for a parallel loop; a launch may use fewer
  sequence<std::string> known{};  // what stands in front of the text already: cuda_module::called of others
};

/// One kernel of a text, and how it is launched. Kernels are launched one behind the other.
struct cuda_kernel {
  std::string name;
  ir::expr blocks[3] = {};        // of sizes alone; null: 1
  std::int32_t threads[3] = {1, 1, 1};
  std::int64_t shared_bytes = 0;  // dynamic shared memory
  bool takes_workspace = false;   // as its last parameter
};
struct cuda_module {
  std::string text;
  sequence<cuda_kernel> kernels;
  sequence<std::string> called;  // prelude functions and types, for texts behind this one
};

/// The CUDA C++ text of `f`, a kernel for each statement of its body: the prelude functions that they call, then for each
/// `extern "C" __global__ void <name>_kernel(buffers..., sizes..., scalars...)`, and last, where the kernel has intermediate
/// tensors in memory, `workspace`.
///
/// Loops bound to blocks and threads are the launch's own (pass/gpu.hpp brings `f` into that form); a parallel loop that is a
/// whole statement is spread over the grid's x axis, one iteration per thread. All other loops run serially within. Every
/// operation means what base/op.hpp says: nothing wraps, divides or contracts as the compiler likes, whatever its flags. An
/// index is an `int` where it surely fits one.
///
/// Needs   run-time sizes within +-2^47, as those of memory that exists are; loops of kind `unrolled` were
///         unrolled before, or run serially; conversions of f16 and bf16 written out by pass/legalise
/// A stage that a function of the user's computes is a launch that calls its cuda_function.
/// Errors  internal_error for what has no text: vector code other than copies of rows, a parallel loop that is not a whole
///         statement. argument_error: a function without a cuda_function
/// Cost    linear in the program; see expr_printer for the exception
cuda_module make_cuda_module(ir::function const& f, cuda_options options = {});

/// Its text alone.
std::string cuda_source(ir::function const& f, cuda_options options = {});

/// The name of the first kernel in the text.
std::string cuda_kernel_name(ir::function const& f);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/module.ipp"
#endif
