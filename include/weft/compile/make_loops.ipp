#include "weft/base/joined.hpp"
#include "weft/compile/dump.hpp"
#include "weft/compile/instruments.hpp"
#include "weft/compile/make_loops.hpp"
#include "weft/expr/expand.hpp"
#include "weft/expr/narrow.hpp"
#include "weft/ir/print.hpp"
#include "weft/lower/bounds.hpp"
#include "weft/lower/lower.hpp"
#include "weft/lower/settled.hpp"
#include "weft/pass/pipeline.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL program detail::expanded_program(compile_request const& r) {
  // Sizes choose behind what is contracted: direct evaluation contracts the same products without knowing them.
  program const p = settled(expand(*r.what, r.gpu != nullptr || r.machine->fma), *r.layout);
  return r.gpu != nullptr ? p : in_few_bits(p);
}
namespace detail {
/// The nest without the instructions that the target lacks.
inline nest for_target(nest n, target const& t) {
  for (loop_info& l : n.loops) {
    bool found = l.by == nullptr;
    for (int i = 0; i < intrinsic::most_forms && !found; ++i) found = t.has(l.by->forms[i].feature);
    if (!found) l.by = nullptr;
  }
  return n;
}
/// `extended`: the request's program with the stages that steps of `s` have added.
inline ir::function lowered_program(ir::arena& m, compile_request const& r, program const& extended, schedule const& s) {
  return lower(m, extended, for_target(s, *r.machine), *r.layout, r.name, r.machine->has("avx512f") ? vector_tails::mask : vector_tails::partition,
               narrow_memory::yes, r.machine->threads);
}
/// Memory of which a step wanted that it becomes registers.
inline ir::buffer const* left_on_the_stack(ir::function const& f, ir::stmt s) {
  if (f.wanted_in_registers.empty()) return nullptr;
  if (s->kind == ir::stmt_kind::allocate && s->buf->where == ir::scope::stack)
    for (std::int32_t id : f.wanted_in_registers)
      if (s->buf->id == id) return s->buf;
  for (ir::stmt c : s->children)
    if (ir::buffer const* const found = left_on_the_stack(f, c)) return found;
  return nullptr;
}
}  // namespace detail

WEFT_DECL ir::function detail::lowered(ir::arena& m, compile_request const& r, schedule const& s) {
  if (r.gpu != nullptr) return r.gpu->lowered(m, r, s);
  return lowered_program(m, r, rewritten(expanded_program(r), s.steps), s);
}
WEFT_DECL ir::function make_loops(ir::arena& m, compile_request const& r, schedule const& s) {
  if (r.gpu != nullptr) return r.gpu->loops(m, r, s);
  for (stage_info const& stage : r.what->stages)
    if (stage.by != nullptr && stage.by->call == nullptr)
      WEFT_THROW(argument_error(joined({r.name, ": stage ", program::at(r.what->tensors, stage.tensor).name.view(), ": function ",
                                        stage.by->name, " is there for GPUs alone: .on(weft::cuda()), or a function of the host's in ",
                                        "the place of weft::gpu_only"})));
  bool const checked = detail::wanted_options(r).checked;
  program const expanded = detail::expanded_program(r), extended = rewritten(expanded, s.steps);
  nest const plain(expanded, [](int, int) { return std::int64_t(-1); }, {});
  // Open sizes are proved call by call (open_sizes::fit), and checked code looks itself.
  if (!checked) {
    ir::function const unscheduled = lower(m, expanded, plain, *r.layout, r.name, vector_tails::partition, narrow_memory::no);
    if (std::string const why = unscheduled.sizes.empty() ? check_bounds(unscheduled) : ""; !why.empty())
      WEFT_THROW(argument_error(joined({r.name, ": ", why, "; .with({.checked = true}) tells which element it is"})));
  }
  if (std::string const why = checked ? "" : check_rounded(m, extended, s, *r.layout); !why.empty())
    WEFT_THROW(schedule_error(joined({"split: an axis that is rounded up reads too far\n  in    schedule of ", r.name,
                                      ": ", why, "\n  try   another tail"})));
  ir::function f = checked ? linked_instruments.lower(m, r, extended, s)
                           : detail::lowered_program(m, r, extended, s);
  detail::pass_log log;
  log.verify = detail::verify_wanted();
  if (log.verify) detail::verify_or_throw("lower", f);
  if (detail::dump_wanted("lower")) detail::dump("lower", print(f));
  run_passes(f, {r.machine->vector_bytes, r.machine->converts_f16(), r.machine->has("avx512f")}, {detail::after_pass, &log});
  if (checked) linked_instruments.prepare(f);
  else if (ir::buffer const* const left = detail::left_on_the_stack(f, f.body))
    WEFT_THROW(schedule_error(joined(
        {"set_scope: ", sentence(diagnosis::memory_that_is_to_be_registers_is_accessed_at_numbers__unroll_the_loops_around),
         "\n  in    schedule of ", r.name, ", ", left->name, "\n  try   ",
         static_way_out(diagnosis::memory_that_is_to_be_registers_is_accessed_at_numbers__unroll_the_loops_around)})));
  return f;
}

}  // namespace weft::inline WEFT_ABI
