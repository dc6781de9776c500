#include "weft/codegen/cuda/module.hpp"
#include "weft/codegen/cuda/stmt.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL ir::stmt grid_loop(ir::function const& f) {
  bool const parallel = f.body->kind == ir::stmt_kind::loop && f.body->how == loop_kind::parallel;
  return parallel ? f.body : nullptr;
}
WEFT_DECL std::string cuda_kernel_name(ir::function const& f) {
  cuda_text::names fresh;
  return fresh.unique(f.name + "_kernel");
}

namespace cuda_text {
namespace detail {
// `__restrict__` only where no other argument may lie in the same memory.
inline bool alone(ir::function const& f, ir::buffer const* b) {
  for (ir::buffer const* other : f.buffers)
    if (other != b && other->where == ir::scope::argument && other->alias_class == b->alias_class) return false;
  return true;
}
inline std::string parameters(kernel_text const& k) {
  sequence<std::string> all;
  for (ir::buffer const* b : k.f.buffers) {
    if (b->where != ir::scope::argument) continue;
    std::string p(type_name(b->type));
    p += std::string(b->written ? "*" : " const*") + (alone(k.f, b) ? " __restrict__ " : " ");
    all.push_back(p + k.buffers[static_cast<std::size_t>(b->id)]);
  }
  for (std::string const& s : k.sizes) all.push_back("long long " + s);
  for (std::size_t i = 0; i < k.scalars.size(); ++i)
    all.push_back(std::string(type_name(k.f.scalars[i].type)) + " " + k.scalars[i]);
  std::string text;
  for (std::string const& p : all) text += (text.empty() ? "\n    " : ",\n    ") + p;
  return text;
}
}  // namespace detail
}  // namespace cuda_text

WEFT_DECL std::string cuda_source(ir::function const& f, cuda_options options) {
  cuda_text::kernel_text k(f);
  std::string const parameters = cuda_text::detail::parameters(k);
  std::string const body = cuda_text::stmt_printer(k).body();
  return k.prelude + (k.prelude.empty() ? "" : "\n") + "extern \"C\" __global__ void __launch_bounds__(" +
         std::to_string(options.block_threads) + ")\n" + k.kernel + "(" + parameters + ") {\n" + body + "}\n";
}

}  // namespace weft::inline WEFT_ABI
