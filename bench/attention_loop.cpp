// One pass over the keys, with a running maximum, sum of weights and weighed sum: as one writes it down.
#include "attention_loop.hpp"

#include <cmath>

namespace bench {

void attention_loop(attention_operands const& o) {
  float const scale = 1 / std::sqrt(static_cast<float>(o.width));
  for (std::int64_t h = 0; h < o.heads; ++h)
    for (std::int64_t i = 0; i < o.queries; ++i) {
      float const* const q = o.q + (h * o.queries + i) * o.width;
      float top = -INFINITY, total = 0, sum[attention_width] = {};
      for (std::int64_t n = 0; n < o.keys; ++n) {
        float const* const k = o.k + (h * o.keys + n) * o.width;
        float const* const v = o.v + (h * o.keys + n) * o.width;
        float score = 0;
        for (std::int64_t e = 0; e < o.width; ++e) score += q[e] * k[e];
        score *= scale;
        float const high = top > score ? top : score, keeps = std::exp(top - high), adds = std::exp(score - high);
        top = high;
        total = total * keeps + adds;
        for (std::int64_t f = 0; f < o.width; ++f) sum[f] = sum[f] * keeps + adds * v[f];
      }
      for (std::int64_t f = 0; f < o.width; ++f) o.out[(h * o.queries + i) * o.width + f] = sum[f] / total;
    }
}

}  // namespace bench
