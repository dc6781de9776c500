#include "weft/pass/pipeline.hpp"
#include "weft/pass/promote.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/unroll.hpp"
#include "weft/pass/vectorize.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void run_passes(ir::function& f, int vector_bytes, pass_observer const& observe) {
  ir::arena& m = *f.nodes;
  f.body = simplify(m, f.body);  // guards that cannot fail vanish; last tiles get their exact size
  observe(pass_names[0], f);
  f.body = vectorize(f, f.body, vector_bytes);
  observe(pass_names[1], f);
  f.body = unroll(m, f.body);
  observe(pass_names[2], f);
  f.body = simplify(m, f.body);  // the copies' constants; equal addresses become equal nodes
  observe(pass_names[3], f);
  f.body = promote(f, f.body);
  observe(pass_names[4], f);
  f.body = simplify(m, f.body);  // whether it is the first iteration is often known now
  observe(pass_names[5], f);
}

}  // namespace weft::inline WEFT_ABI
