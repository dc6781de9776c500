// A loop program as text that a person can read and `parse` (parse.hpp) can read back.
//
//     kernel matmul:
//       sizes m, n
//       scalars alpha: f32
//       variables io, ii, k
//       buffer A: f32[m, 512] strides [512, 1] in argument 0 alias 0 align 64
//       buffer C: f32[m, 1] strides [1, 1] in argument 1 written alias 1 align 64
//       for io in 0..(m + 5) // 6 parallel:
//         for k in 0..512:
//           for ii in 0..6 unrolled:
//             accumulate C[io * 6 + ii, 0] = fma(A[io * 6 + ii, k where io * 6 + ii < m], alpha, self)
//                 from 0.0f32 first [k] where io * 6 + ii < m                                 (on the same line)
//
// Blocks are indented as in Python. `begin..end` has the end, the node has the extent: i..i + 4 runs four times.
//   operators    or | and | not | < <= == != | bitwise: | ^ & | << >> | + - | * / % // %% | - , loosest first;
//                `/ %` truncate (op::div, op::rem), `// %%` round down (floor_div, floor_mod)
//   calls        sqrt floor ceil trunc round min max fma select rare; cast<f32>(x) bitcast<i32>(x); ramp(base, stride, lanes) broadcast(x, lanes)
//   literals     3 is i64; 3i32 1.5f32 true; inf<f32> nan<f64>; any bits: bits<f32>(0x7fc00001); in every one of
//                16 lanes: 3i64x16 truex16 inf<f32x16>
//   let $0 = x   before a statement: a part that occurs often, or too deep to read in one line. Text only: nodes
//                know nothing of it.
//   functions    call F = my_fft(S, A) 0: what it writes, what it reads, its number in launch::functions
//   other names  `for` and all that are not identifiers, in backquotes
#pragma once

#include <string>

#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace ir {

/// The whole function. For a sound one (verify.hpp), `equal(parse(m, print(f)), f)`. Anything may be printed:
/// what is missing or out of range is a `?`, which does not parse. Cost and size O(nodes), shared ones once.
std::string print(function const& f);
/// The same, and on which line (1 is the first) each statement stands that does something: for debuggers.
struct stmt_line {
  stmt s;
  std::int32_t line;
};
std::string print(function const& f, sequence<stmt_line>& lines);
/// One statement, with what stands inside it; ends with a newline.
std::string print(stmt s, function const& f);
/// One expression; lines `let $0 = ..` stand in front when it is big.
std::string print(expr e, function const& f);

}  // namespace ir
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/ir/print.ipp"
#endif
