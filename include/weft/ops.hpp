// Ready what-lambdas: each a kernel by itself, weft::kernel<"softmax">(weft::ops::softmax), or a stage or several of
// one's own lambda: `auto y = weft::ops::relu(weft::ops::linear(x, w, b));`. Tensors come first, then the options as a
// braced list whose names are given: weft::ops::conv2d(x, w, {.stride = {2, 2}}). Names, shapes and defaults are
// PyTorch's where nothing else is said; docs/ops.md is the table.
//
// Not included by weft.hpp. Each header stands alone.
#pragma once

#include "weft/ops/attention.hpp"
#include "weft/ops/conv.hpp"
#include "weft/ops/elementwise.hpp"
#include "weft/ops/image.hpp"
#include "weft/ops/layout.hpp"
#include "weft/ops/loss.hpp"
#include "weft/ops/matmul.hpp"
#include "weft/ops/normalise.hpp"
#include "weft/ops/pool.hpp"
#include "weft/ops/reshape.hpp"
#include "weft/ops/resize.hpp"
#include "weft/ops/scan.hpp"
#include "weft/ops/softmax.hpp"
