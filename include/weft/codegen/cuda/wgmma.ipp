#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/mma.hpp"
#include "weft/codegen/cuda/stmt.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/fragments.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

namespace detail {
inline prelude_function by_gpu_or_shim(std::string name, std::string_view head, std::string const& gpu, std::string const& shim) {
  std::string const text = joined({"static __device__ __forceinline__ ", head, " {\n#ifdef __CUDA_ARCH__\n", gpu, "#else\n", shim, "#endif\n}\n"});
  return {static_cast<std::string&&>(name), text};
}
/// What is to be in place before registers or memory of a product are looked at again: its end; and what threads have stored, or copied, for the next one to see.
inline prelude_function wgmma_settle() {
  return by_gpu_or_shim("weft_wgmma_settle", "void weft_wgmma_settle()",
                        "  asm volatile(\"wgmma.wait_group.sync.aligned 0;\" : : : \"memory\");\n  asm volatile(\"fence.proxy.async.shared::cta;\" : : : \"memory\");\n",
                        "  shim_wgmma_settle();\n");
}
inline prelude_function wgmma_begin() {
  return by_gpu_or_shim("weft_wgmma_begin", "void weft_wgmma_begin()", "  asm volatile(\"wgmma.fence.sync.aligned;\" : : : \"memory\");\n", "");
}
inline prelude_function wgmma_commit() {
  return by_gpu_or_shim("weft_wgmma_commit", "void weft_wgmma_commit()", "  asm volatile(\"wgmma.commit_group.sync.aligned;\" : : : \"memory\");\n", "");
}
/// The descriptor of a matrix in shared memory, with rows of 128 bytes that are swizzled (PTX ISA, matrix descriptor format): where it begins, how far apart panels of 64 columns are, and
/// groups of 8 rows.
inline prelude_function wgmma_matrix() {
  return {"weft_wgmma_matrix",
          "static __device__ __forceinline__ unsigned long long weft_wgmma_matrix(unsigned short const* p, int panel) {\n"
          "#ifdef __CUDA_ARCH__\n  unsigned const at = (unsigned)__cvta_generic_to_shared(p);\n#else\n  unsigned const at = shim_place_in_shared(p);\n#endif\n"
          "  return (unsigned long long)((at & 0x3ffff) >> 4) | (unsigned long long)(panel >> 4) << 16 | 64ull << 32 | 1ull << 62;\n}\n"};
}
/// 64 x (16 `tiles`) sums of four warps: c has a warp's 16 rows of them, as of mma.sync. row: columns of B stand side by side, else terms.
inline prelude_function wgmma_function(mma_form const& f, int tiles, bool row) {
  std::string const n = std::to_string(16 * tiles), fragment = joined({"weft_mma_", f.name, "_c"}), type(f.operand == dtype::bf16 ? "bf16" : "f16");
  int const words = 8 * tiles;
  prelude_function r;
  r.name = joined({"weft_wgmma_", f.name, "_n", n, row ? "_row" : "_col"});
  std::string places, operands;
  for (int i = 0; i < words; ++i) {
    places += joined({i > 0 ? ", " : "", "%", std::to_string(i)});
    operands += joined({i > 0 ? ", " : "", "\"+f\"(c[", std::to_string(i / 8), "].x[", std::to_string(i % 8), "])"});
  }
  // The first of the four warps' rows: 16 of 64 elements each.
  r.definition = joined({"static __device__ __forceinline__ void ", r.name, "(", fragment, "* c, unsigned short const* a, unsigned short const* b, int panel) {\n"
                         "  unsigned long long const left = weft_wgmma_matrix(a - (threadIdx.x >> 5 & 3) * 1024, 0), right = weft_wgmma_matrix(b, panel);\n"
                         "#ifdef __CUDA_ARCH__\n  asm volatile(\"wgmma.mma_async.sync.aligned.m64n", n, "k16.f32.", type, ".", type, " {", places, "}, %",
                         std::to_string(words), ", %", std::to_string(words + 1), ", 1, 1, 1, 0, ", row ? "1" : "0", ";\" : ", operands,
                         " : \"l\"(left), \"l\"(right) : \"memory\");\n#else\n  for (int t = 0; t < ", std::to_string(tiles), "; ++t) shim_wgmma_", f.name,
                         "(c[t].x, left, right, t, ", row ? "true" : "false", ");\n#endif\n}\n"});
  return r;
}
}  // namespace detail

WEFT_DECL void stmt_printer::settle() {
  prelude_function const f = detail::wgmma_settle();
  k_.need(f.name, f.definition);
  line("weft_wgmma_settle();");
  products_run_ = false;
}
// Tiles that stand behind each other, of which one instruction has those of the same rows and terms and of columns side by side.
WEFT_DECL void stmt_printer::products_of_four_warps(ir::list<ir::stmt> tiles) {
  ir::arena& m = *k_.f.nodes;
  struct operand {
    tile_access at{};
    ir::expr flat = nullptr;
  };
  struct product {
    operand of[2];
    ir::stmt sum = nullptr;
    std::int64_t number = -1;  // of the fragment
  };
  sequence<product> all;
  for (ir::stmt t : tiles) {
    product p;
    p.sum = t->children[0]->children[0]->children[0]->children[0];
    sequence<ir::expr> loads;
    detail::find_loads(p.sum->value, loads);
    for (ir::expr l : loads) {
      tile_operand const found = operand_of_tile(m, t, l);
      operand& o = p.of[found.is_left ? 0 : 1];
      o.at = found.at;
      if (o.at.buf == nullptr || static_cast<std::size_t>(l->buf->id) >= shared_.size() || !shared_[static_cast<std::size_t>(l->buf->id)] || k_.f.shared_place(l->buf) % 1024 != 0)
        k_.refuse("a product of four warps that is none of shared memory, at a multiple of 1024 bytes");
      o.flat = simplify(m, place_of_tile(m, o.at));
    }
    ir::expr const at = number_of_fragment(m, p.sum->buf, p.sum->indices);
    if (at->kind != op::literal) k_.refuse("a product of four warps whose sums have no number");
    p.number = at->value;
    all.push_back(p);
  }
  prelude_function const begin = detail::wgmma_begin(), commit = detail::wgmma_commit(), matrix = detail::wgmma_matrix();
  for (prelude_function const& f : {begin, commit, matrix}) k_.need(f.name, f.definition);
  line("weft_wgmma_begin();");
  for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
    product const& p = all[first];
    tile_access const &a = p.of[0].at, &b = p.of[1].at;
    bool const row = b.is_row_major();
    std::int64_t const panel = row && b.buf->strides.size() > 2 ? b.buf->strides[b.buf->strides.size() - 3]->value : 0;
    auto const follows = [&](product const& q, std::int64_t n) {
      std::int64_t const apart = row ? n / 4 * panel + n % 4 * 16 : n * 16 * 64;
      return q.of[0].flat == p.of[0].flat && q.number == p.number + n && q.sum->buf == p.sum->buf && q.of[1].at.buf == b.buf &&
             ir::is_literal(simplify(m, ir::binary(m, op::sub, q.of[1].flat, p.of[1].flat)), apart);
    };
    for (end = first + 1; end < all.size() && end - first < 16 && follows(all[end], static_cast<std::int64_t>(end - first)); ++end) {
    }
    mma_form const& form = mma_form_of(*tiles[0]->unit);
    prelude_function const type = mma_fragment(form, 'c'), f = detail::wgmma_function(form, static_cast<int>(end - first), row);
    k_.need(type.name, type.definition), k_.need(f.name, f.definition);
    std::string text = joined({f.name, "(&", k_.buffers[static_cast<std::size_t>(p.sum->buf->id)], "[", std::to_string(p.number), "]"});
    for (tile_access const* t : {&a, &b}) {
      sequence<ir::expr> roots(t->begin.begin(), t->begin.end());
      ir::expr const column = roots.back();
      out_ += exprs_.share(roots, indent_);
      roots.back() = ir::index(m, 0);
      text += joined({", &", exprs_.element(t->buf, m.make_list(roots), true), " + ", exprs_.plain(column)});
    }
    line(joined({text, ", ", std::to_string(2 * panel), ");"}));
  }
  line("weft_wgmma_commit();");
  products_run_ = true;
}

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
