// weft: tensor kernels in C++20, compiled for this machine while the program runs.
//
// This page is the table of contents, in the order of the data's way from two lambdas to a function pointer.
// Each folder includes only what stands before it; tests/headers/layers.py holds it to that. A line that is commented
// out has its place here too, but most programs need not pay for it: include it yourself.
#pragma once

// Everything that is included and is not weft.
#include "weft/foreign.hpp"

// What everything stands on: element types, operations and what they compute, names, errors, the environment.
#include "weft/base/dtype.hpp"
#include "weft/base/env.hpp"
#include "weft/base/error.hpp"
#include "weft/base/op.hpp"

// How code is compiled beside what it computes. Each call looks at it, so it stands outside of what is cold.
#include "weft/options.hpp"

WEFT_TEPID_BEGIN  // what direct evaluation comes by for each element (config.hpp)
#include "weft/expr/program.hpp"
WEFT_TEPID_END

WEFT_COLD_BEGIN  // up to WEFT_COLD_END: what runs when a kernel is compiled

// What is computed: a what-lambda's typed expressions, and the flat program that they write.
#include "weft/expr/face.hpp"
#include "weft/expr/body.hpp"
#include "weft/expr/compute.hpp"
#include "weft/expr/math/functions.hpp"
#include "weft/expr/boundary.hpp"
#include "weft/expr/einsum.hpp"
// #include "weft/expr/any_rank.hpp"
// #include "weft/expr/broadcast.hpp"
// #include "weft/expr/extern.hpp"

#include "weft/expr/canonical.hpp"
#include "weft/expr/expand.hpp"
WEFT_COLD_END
WEFT_TEPID_BEGIN
#include "weft/expr/evaluate.hpp"
WEFT_TEPID_END
WEFT_COLD_BEGIN
#include "weft/expr/formula.hpp"
// #include "weft/expr/print.hpp"
// #include "weft/expr/exact.hpp"
// #include "weft/expr/print_what.hpp"
// #include "weft/expr/verify.hpp"

// Ready what-lambdas: matmul, conv2d, softmax, attention and the like, a header per family.
// #include "weft/ops/layout.hpp"
// #include "weft/ops.hpp"

// How its loops run: the steps of a how-lambda, their rules, and the trace they leave.
#include "weft/schedule/schedule.hpp"
// #include "weft/schedule/print_how.hpp"
// #include "weft/knobs.hpp"
// #include "weft/schedule/instructions.hpp"
// #include "weft/schedule/rules/gpu.hpp"
// #include "weft/schedule/rules/rules.hpp"

// The loop program: a value that is printed, parsed and verified.
#include "weft/ir/ir.hpp"
// #include "weft/ir/linear.hpp"
// #include "weft/ir/parse.hpp"

// Program and trace become a loop program.
#include "weft/lower/lower.hpp"
// #include "weft/lower/open_bounds.hpp"

// Loop program to loop program, in the order of pipeline.hpp.
#include "weft/pass/pipeline.hpp"
// #include "weft/pass/gpu.hpp"

// What a loop program means, executed step by step.
// #include "weft/interp/interp.hpp"

// A loop program becomes machine code: text for LLVM on the CPU, for NVRTC on a GPU.
#include "weft/codegen/epoch.hpp"
#include "weft/codegen/launch.hpp"
// #include "weft/codegen/size_code.hpp"
#include "weft/codegen/target.hpp"
#include "weft/codegen/workspace.hpp"

#include "weft/codegen/llvm/jit.hpp"
#include "weft/codegen/llvm/module.hpp"
// #include "weft/codegen/cuda/module.hpp"

WEFT_COLD_END

// What a kernel meets when it runs: arguments, the tensors that own memory, threads.
#include "weft/runtime/argument.hpp"
#include "weft/runtime/bind.hpp"
#include "weft/runtime/constant.hpp"
// #include "weft/runtime/executor.hpp"
#include "weft/runtime/loop_times.hpp"
#include "weft/runtime/tensor.hpp"
#include "weft/runtime/thread_pool.hpp"

WEFT_COLD_BEGIN

// Where it comes from: an object file that is loaded, kept on disk for the next process.
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/loader.hpp"

// The driver of GPUs.
// #include "weft/runtime/cuda/driver.hpp"
// #include "weft/runtime/cuda/events.hpp"
// #include "weft/runtime/cuda/cubin.hpp"
// #include "weft/runtime/cuda/memory.hpp"
// #include "weft/runtime/cuda/reach.hpp"

// Tensors that come from elsewhere.
// #include "weft/runtime/dlpack.hpp"
// #include "weft/runtime/npy.hpp"

// The whole path: what is asked for, its schedule and its loops; on one page in the last.
#include "weft/compile/request.hpp"
#include "weft/compile/instruments.hpp"
#include "weft/compile/make_loops.hpp"
#include "weft/compile/make_schedule.hpp"
#include "weft/compile.hpp"
// #include "weft/debug.hpp"

WEFT_COLD_END

// The table of compiled kernels, what a user calls, and the same without machine code.
#include "weft/kernel_table.hpp"

#include "weft/results.hpp"
#include "weft/kernel.hpp"
// #include "weft/intrinsics.hpp"
// #include "weft/matrix_units.hpp"

#include "weft/direct.hpp"
// #include "weft/print_how.hpp"
// #include "weft/print_what.hpp"

// weft::dim<"n">: sizes that stay open, one compiled kernel for all of them.
// #include "weft/dim.hpp"

// Calls of many shapes, and calls that do not wait for their code.
// #include "weft/background.hpp"
// #include "weft/shapes.hpp"

// weft::cuda(): kernels on a GPU.
// #include "weft/cuda.hpp"

// How long a kernel takes, with how much certainty, and of what this machine can do at most.
// #include "weft/bench/peak.hpp"
// #include "weft/bench.hpp"
// #include "weft/bench/cuda.hpp"

// Schedules by search: the best values of a how-lambda's knobs, found by measuring and remembered.
// #include "weft/tune/warp_features.hpp"
// #include "weft/tune/tuner.hpp"
// #include "weft/tune/run.hpp"
// #include "weft/tune/mpi.hpp"
// #include "weft/tune/cuda.hpp"
// #include "weft/tune.hpp"
// #include "weft/tune/progress.hpp"
// #include "weft/tune/report.hpp"
// #include "weft/tune/wisdom.hpp"
