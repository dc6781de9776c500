#include "weft/codegen/cuda/module.hpp"
#include "weft/codegen/cuda/stmt.hpp"

namespace weft::inline WEFT_ABI {

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
  if (k.uses_workspace) all.push_back("unsigned char* __restrict__ " + k.workspace);
  std::string text;
  for (std::string const& p : all) text += (text.empty() ? "\n    " : ",\n    ") + p;
  return text;
}
}  // namespace detail
}  // namespace cuda_text

WEFT_DECL cuda_module make_cuda_module(ir::function const& f, cuda_options options) {
  ir::stmt body = f.body;
  while (body->kind == ir::stmt_kind::allocate && body->buf->where == ir::scope::heap) body = body->children[0];
  bool const several = cuda_text::is_row_of_launches(body);
  std::size_t const count = several ? body->children.size() : 1;
  cuda_module r;
  std::string kernels;
  sequence<std::string> known = options.known;
  for (std::size_t i = 0; i < count; ++i) {
    cuda_text::kernel_text k(f, static_cast<int>(i));
    k.called = known;
    cuda_text::launch_text l = cuda_text::stmt_printer(k).launch(several ? body->children[i] : body);
    cuda_kernel one{k.kernel, {}, {}, l.shared_bytes, k.uses_workspace};
    int threads = 1;
    for (int d = 0; d < 3; ++d) one.blocks[d] = l.blocks[d], threads *= one.threads[d] = l.threads[d];
    if (l.iterations != nullptr) {
      threads = one.threads[0] = options.block_threads;
      ir::arena& m = *f.nodes;
      one.blocks[0] = ir::binary(m, op::floor_div, ir::binary(m, op::add, l.iterations, ir::index(m, threads - 1)),
                                 ir::index(m, threads));
    }
    kernels += (i > 0 ? "\n" : "") + std::string("extern \"C\" __global__ void __launch_bounds__(") + std::to_string(threads) +
               ")\n" + k.kernel + "(" + cuda_text::detail::parameters(k) + ") {\n" + l.body + "}\n";
    r.text += k.prelude;
    known = k.called;
    r.kernels.push_back(one);
  }
  r.called = known;
  r.text += (r.text.empty() ? "" : "\n") + kernels;
  return r;
}
WEFT_DECL std::string cuda_source(ir::function const& f, cuda_options options) {
  return make_cuda_module(f, options).text;
}

}  // namespace weft::inline WEFT_ABI
