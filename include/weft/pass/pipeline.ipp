#include "weft/pass/pipeline.hpp"
#include "weft/pass/legalise.hpp"
#include "weft/pass/promote.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/unroll.hpp"
#include "weft/pass/vectorize.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void run_passes(ir::function& f, pass_limits limits, pass_observer const& observe) {
  ir::arena& m = *f.nodes;
  f.body = simplify(m, f.body);  // guards that cannot fail vanish; last tiles get their exact size
  observe("simplify", f);
  f.body = vectorize(f, f.body, limits.vector_bytes);
  observe("vectorize", f);
  f.body = unroll(m, f.body);
  observe("unroll", f);
  f.body = simplify(m, f.body);  // the copies' constants; equal addresses become equal nodes
  observe("simplify_copies", f);
  f.body = promote(f, f.body);
  observe("promote", f);
  f.body = simplify(m, f.body);  // whether it is the first iteration is often known now
  observe("simplify_last", f);
  f.body = legalise(m, f.body, limits.converts_f16);
  observe("legalise", f);
}

}  // namespace weft::inline WEFT_ABI
