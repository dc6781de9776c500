// Attention as a C++ loop, compiled for the machine that builds it.
#pragma once

#include <cstdint>

namespace bench {

/// Row-major: q is heads x queries x width, k and v are heads x keys x width, out is like q.
struct attention_operands {
  float const *q, *k, *v;
  float* out;
  std::int64_t heads, queries, keys, width;
};
inline constexpr std::int64_t attention_width = 64;  // at most

/// softmax(q k^T / sqrt(width)) v in one pass over the keys of each query.
void attention_loop(attention_operands const& o);

}  // namespace bench
