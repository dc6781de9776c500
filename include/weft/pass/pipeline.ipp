#include "weft/pass/pipeline.hpp"
#include "weft/pass/known_elements.hpp"
#include "weft/pass/jam.hpp"
#include "weft/pass/legalise.hpp"
#include "weft/pass/partition.hpp"
#include "weft/pass/promote.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/stack_tiles.hpp"
#include "weft/pass/tile_registers.hpp"
#include "weft/pass/unroll.hpp"
#include "weft/pass/vectorize.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void run_passes(ir::function& f, pass_limits limits, pass_observer const& observe) {
  ir::arena& m = *f.nodes;
  f.body = simplify(m, f.body);  // guards that cannot fail vanish; last tiles get their exact size
  observe(pass_names[0], f);
  f.body = vectorize(f, f.body, limits.vector_bytes);
  observe(pass_names[1], f);
  f.body = unroll(m, f.body);
  observe(pass_names[2], f);
  f.body = simplify(m, f.body);  // the copies' constants; equal addresses become equal nodes
  if (ir::stmt const known = known_elements(f, f.body); known != f.body) f.body = simplify(m, known);
  observe(pass_names[3], f);
  f.body = stack_tiles(f, promote(f, tile_registers(f, f.body)));
  observe(pass_names[4], f);
  f.body = simplify(m, f.body);  // whether it is the first iteration is often known now
  observe(pass_names[5], f);
  f.body = jam(f, f.body);
  observe(pass_names[6], f);
  f.body = partition(m, f.body, !f.sizes.empty());
  observe(pass_names[7], f);
  f.body = legalise(m, f.body, limits.converts_f16, limits.scales);
  observe(pass_names[8], f);
}

}  // namespace weft::inline WEFT_ABI
