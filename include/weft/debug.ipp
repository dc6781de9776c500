#include "weft/codegen/llvm/instrument.hpp"
#include "weft/debug.hpp"
#include "weft/runtime/debugger.hpp"
#include "weft/runtime/perf_map.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Where an error is looked for, every stage is computed whole, no further than it reaches, and every loop run one iteration
/// after the other, but for parallel ones.
inline ir::function lower_checked(ir::arena& m, compile_request const& r, program const& expanded, nest const& n) {
  nest serial = n;
  for (loop_info& l : serial.loops) {
    if (l.kind != loop_kind::parallel) l.kind = loop_kind::serial;
    l.at_end = tail::guard;
    l.by = nullptr;
  }
  for (placement& p : serial.places) p = {};
  for (memory_wish& w : serial.wishes) {
    if (w.dim < 0) w.where = scope::workspace;
    if (w.dim == memory_wish::kept) w.dim = -1;
  }
  return lower(m, expanded, serial, *r.layout, r.name, vector_tails::partition, narrow_memory::no);
}
inline void emit_as_wanted(codegen::llvm::module_state& s, std::string const& symbol, void const* context) {
  auto const& wanted = *static_cast<options const*>(context);
  codegen::llvm::instrumentation how;
  how.checked = wanted.checked;
  if (wanted.debug) {
    std::string const text = ir::print(s.f, how.lines);
    runtime::source_file at = runtime::write_source(s.name, text);
    how.directory = static_cast<std::string&&>(at.directory);
    how.file = at.file.empty() ? s.name + ".loops" : static_cast<std::string&&>(at.file);
  }
  emit_instrumented(s, symbol, how);
}
inline debugger_note tell_of(std::string_view object, std::string_view symbol, void* entry, options wanted) {
  if (wanted.perf) runtime::write_perf_map(object, symbol, entry);
  if (!wanted.debug) return {};
  return {runtime::tell_debugger(object, symbol, entry), runtime::untell_debugger};
}
/// The first failure of a call counts; its numbers are read when the kernel has returned.
inline void note_failure(launch const* call, char const* text, std::int64_t const* numbers, std::int64_t count) {
  failure& f = *call->failed;
  std::int32_t nothing = 0;
  if (!__atomic_compare_exchange_n(&f.state, &nothing, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
  f.text = text;
  for (std::int64_t i = 0; i < count; ++i) f.numbers[i] = numbers[i];
}
inline void throw_failure(failure const& f) {
  std::string text;
  int next = 0;
  for (char const* c = f.text; *c != '\0'; ++c)
    if (*c == '\1' && next < failure::most)
      text += std::to_string(f.numbers[next++]);
    else
      text += *c;
  WEFT_THROW(access_error(text));
}
}  // namespace detail

instruments const linked_instruments{detail::lower_checked, codegen::llvm::add_shadows, detail::emit_as_wanted,
                                     detail::tell_of,       detail::note_failure,       detail::throw_failure};

}  // namespace weft::inline WEFT_ABI
