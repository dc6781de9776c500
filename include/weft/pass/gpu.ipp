#include "weft/ir/simplify.hpp"
#include "weft/pass/barriers.hpp"
#include "weft/pass/forwarded_sums.hpp"
#include "weft/pass/fragments.hpp"
#include "weft/pass/gpu.hpp"
#include "weft/pass/lanes.hpp"
#include "weft/pass/legalise.hpp"
#include "weft/pass/promote.hpp"
#include "weft/pass/shared_layout.hpp"
#include "weft/pass/threads.hpp"
#include "weft/pass/unroll.hpp"
#include "weft/pass/vectorize.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void run_gpu_passes(ir::function& f, pass_observer const& observe) {
  ir::arena& m = *f.nodes;
  f.body = simplify(m, f.body);
  observe(gpu_pass_names[0], f);
  f.body = simplify(m, forwarded_sums(f, simplify(m, own_sums(f, simplify(m, spread_threads(f, f.body))))));
  observe(gpu_pass_names[1], f);
  f.body = vectorize(f, f.body, 16);  // the widest access that there is
  observe(gpu_pass_names[2], f);
  f.body = simplify(m, unroll(m, f.body));
  observe(gpu_pass_names[3], f);
  f.body = fragments(f, f.body);
  observe(gpu_pass_names[4], f);
  f.body = simplify(m, promote(f, f.body));
  observe(gpu_pass_names[5], f);
  f.body = legalise(m, f.body, true);
  observe(gpu_pass_names[6], f);
  f.body = simplify(m, single_lanes(f, f.body));
  observe(gpu_pass_names[7], f);
  f.body = wide_accesses(f, f.body);
  observe(gpu_pass_names[8], f);
  lay_out_shared(f, f.body);
  f.body = needed_barriers(f, f.body);
  observe(gpu_pass_names[9], f);
}

}  // namespace weft::inline WEFT_ABI
