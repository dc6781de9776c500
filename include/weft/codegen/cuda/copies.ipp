#include "weft/base/joined.hpp"
#include "weft/codegen/cuda/copies.hpp"
#include "weft/codegen/cuda/stmt.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

namespace detail {
/// `body` from sm_80 on, `older` before, `shim` on the host.
inline prelude_function by_machine(std::string const& name, std::string_view parameters, std::string const& body, std::string const& older,
                                   std::string const& shim) {
  return {name, joined({"static __device__ __forceinline__ void ", name, "(", parameters, ") {\n#ifndef __CUDA_ARCH__\n  ", shim,
                        "\n#elif __CUDA_ARCH__ >= 800\n  ", body, "\n#else\n", older.empty() ? "" : "  ", older, older.empty() ? "" : "\n", "#endif\n}\n"})};
}
}  // namespace detail

WEFT_DECL prelude_function copy_function(int bytes, bool or_zero) {
  std::string const n = std::to_string(bytes), there = or_zero ? joined({"there ? ", n, " : 0"}) : n;
  char const* const word = bytes == 16 ? "uint4" : bytes == 8 ? "unsigned long long" : "unsigned";
  std::string const copied = joined({"*(", word, "*)to = *(", word, " const*)from;"});
  return detail::by_machine(
      joined({"weft_copy_", or_zero ? "or_zero_" : "", n}), or_zero ? "void* to, void const* from, bool there" : "void* to, void const* from",
      joined({"asm volatile(\"cp.async.", bytes == 16 ? "cg" : "ca", ".shared.global [%0], [%1], ", n, or_zero ? ", %2" : "",
              ";\" : : \"r\"((unsigned)__cvta_generic_to_shared(to)), \"l\"(from)", or_zero ? joined({", \"r\"(", there, ")"}) : "",
              " : \"memory\");"}),
      or_zero ? joined({"if (there) ", copied, "\n  else *(", word, "*)to = ", word, "();"}) : copied,
      joined({"shim_copy(to, from, ", n, ", ", there, ");"}));
}
WEFT_DECL prelude_function commit_function() {
  return detail::by_machine("weft_commit", "", "asm volatile(\"cp.async.commit_group;\" : : : \"memory\");", "", "shim_commit();");
}
WEFT_DECL prelude_function wait_function(int left) {
  std::string const n = std::to_string(left);
  return detail::by_machine("weft_wait_" + n, "", joined({"asm volatile(\"cp.async.wait_group ", n, ";\" : : : \"memory\");"}), "",
                            joined({"shim_wait_group(", n, ");"}));
}

// Addresses that hang on memory are asked for where the condition holds.
WEFT_DECL void stmt_printer::copy(ir::stmt s) {
  ir::expr const from = ir::copied(s->value);
  int const bytes = from->lanes * size_bytes(from->type);
  auto const single = [](ir::expr e) { return e != nullptr && e->kind == op::broadcast ? e->a : e; };
  auto const first = [&](ir::list<ir::expr> all) {
    sequence<ir::expr> one;
    for (ir::expr i : all) one.push_back(i->kind == op::ramp ? i->a : i);
    return k_.f.nodes->make_list(one);
  };
  ir::list<ir::expr> const to_place = first(s->indices), from_place = first(from->indices);
  ir::expr const there = ir::all_of(*k_.f.nodes, s->value->kind == op::select ? single(s->value->a) : nullptr, single(from->a));
  bool apart = false;
  for (ir::expr i : from_place) apart = apart || (there != nullptr && ir::has_load(i));
  auto const opened = [&](ir::expr condition) {
    out_ += exprs_.share({condition}, indent_);
    open(joined({"if (", exprs_.text(condition), ")"}));
  };
  if (s->mask != nullptr) opened(single(s->mask));
  if (apart) opened(there);
  sequence<ir::expr> roots(to_place.begin(), to_place.end());
  for (ir::expr i : from_place) roots.push_back(i);
  bool const or_zero = there != nullptr && !apart;
  if (or_zero) roots.push_back(there);
  out_ += exprs_.share(roots, indent_);
  prelude_function const f = copy_function(bytes, or_zero);
  k_.need(f.name, f.definition);
  line(joined({f.name, "(&", exprs_.element(s->buf, to_place), ", &", exprs_.element(from->buf, from_place), or_zero ? joined({", ", exprs_.text(there)}) : "", ");"}));
  if (apart) {
    close();
    open("else");
    out_ += exprs_.share(sequence<ir::expr>(to_place.begin(), to_place.end()), indent_);
    std::string const to = exprs_.element(s->buf, to_place);
    for (int l = 0; l < from->lanes; ++l) line(joined({"(&", to, ")[", std::to_string(l), "] = 0;"}));
    close();
  }
  if (s->mask != nullptr) close();
}
WEFT_DECL void stmt_printer::group(ir::stmt s) {
  prelude_function const f = s->kind == ir::stmt_kind::commit ? commit_function() : wait_function(s->number);
  k_.need(f.name, f.definition);
  line(f.name + "();");
}

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI
