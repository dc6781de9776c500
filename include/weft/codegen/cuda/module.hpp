// A loop program as the text of one CUDA kernel, free of includes.
#pragma once

#include <string>

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {

struct cuda_options {
  int block_threads = 256;  // the most threads of a block; a launch may use fewer
};

/// The CUDA C++ text of `f`: the prelude functions that it calls, then
/// `extern "C" __global__ void <name>_kernel(buffers..., sizes..., scalars...)`.
///
/// The body's parallel loop is spread over the grid's x axis, one iteration per thread (see grid_loop); all
/// other loops run serially within it. Every operation means what base/op.hpp says: nothing wraps, divides or
/// contracts as the compiler likes, whatever its flags.
///
/// Needs   run-time sizes within +-2^47, as those of memory that exists are; loops of kind `unrolled` were
///         unrolled before, or run serially; conversions of f16 and bf16 written out by pass/legalise
/// Errors  internal_error for what has no text yet: vector code, workspace memory, a parallel loop that is not
///         the whole body
/// Cost    linear in the program; see expr_printer for the exception
std::string cuda_source(ir::function const& f, cuda_options options = {});

/// The name of the kernel in the text.
std::string cuda_kernel_name(ir::function const& f);

/// The loop whose iterations become threads, or null when one thread runs all. A launch needs
/// ceil(extent / threads of a block) blocks; more do no harm.
ir::stmt grid_loop(ir::function const& f);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/module.ipp"
#endif
