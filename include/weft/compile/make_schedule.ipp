#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/compile/dump.hpp"
#include "weft/compile/make_loops.hpp"
#include "weft/compile/make_schedule.hpp"
#include "weft/lower/work.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/key.hpp"
#include "weft/runtime/cache/relatives.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/runtime/call_threads.hpp"
#include "weft/schedule/instructions.hpp"
#include "weft/schedule/pressure.hpp"
#include "weft/schedule/print.hpp"
#include "weft/schedule/rules/rules.hpp"
#include "weft/schedule/term_order.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Advances `choices` to the next combination of knob values; false after the last.
inline bool next_choice(sequence<std::int32_t>& choices, sequence<knob_info> const& knobs) {
  choices.resize(knobs.size(), 0);
  for (std::size_t i = knobs.size(); i-- > 0;) {
    if (static_cast<std::size_t>(++choices[i]) < knobs[i].values.size()) return true;
    choices[i] = 0;
  }
  return false;
}
/// Why the schedule is none for a CPU; empty: it is one.
inline std::string bound_to_a_gpu(compile_request const& r, schedule const& s) {
  for (sequence<std::int32_t> const& order : s.order)
    for (std::int32_t l : order)
      if (s.at(l).kind > loop_kind::virtual_thread)
        return joined({"bind: this schedule is for a GPU: a CPU has no blocks, threads, warps and lanes to bind an axis to\n",
                       "  in    schedule of ", r.name, "\n", detail::nest_text(s, s.at(l).stage, l),
                       "\n  try   parallel and vectorize, or weft::thread_axis::virtual_thread"});
  return "";
}
/// "2 x 3 and 3 x 4": of the tensors of a call.
inline std::string sizes_text(call_layout const& layout, sequence<std::int64_t> const& extents) {
  std::string text;
  std::size_t next = 0;
  for (argument_layout const& a : layout.arguments) {
    if (a.extents.empty()) continue;
    if (!text.empty()) text += " and ";
    for (std::size_t d = 0; d < a.extents.size() && next < extents.size(); ++d, ++next)
      text += joined({d > 0 ? " x " : "", std::to_string(extents[next])});
  }
  return text;
}
/// The schedule whose knobs have the values that were best for another task, each the nearest that there is. A rule may ask for a name twice: the
/// second knob has the second value of that name.
inline schedule schedule_like(compile_request const& r, program const& expanded, cache::relative const& other) {
  struct context {
    cache::relative const& near;
    std::uint64_t* given;
  };
  static_assert(schedule::max_knobs <= 64);
  std::uint64_t given = 0;
  context const c{other, &given};
  return schedule_with(r, expanded, [](void const* wanted, short_name const& knob, sequence<std::int64_t> const& values) {
    auto const& [near, given_before] = *static_cast<context const*>(wanted);
    auto const name = static_cast<std::int64_t>(xxh64(knob.view()));
    for (std::size_t i = 0; i < near.names.size() && i < 64; ++i) {
      if (near.names[i] != name || (*given_before >> i & 1) != 0) continue;
      *given_before |= std::uint64_t(1) << i;
      return nearest_value(values, near.values[i]);
    }
    return 0;
  }, &c);
}
/// Whether its code is kept, so that it was lowered before.
inline bool is_made(cache::directory const& kept, compile_request const& r, schedule const& s, std::string_view beginning = {}) {
  return kept.holds(cache::name_of(xxh64(cache::key_of(r.name, *r.what, s.steps, *r.layout, *r.machine, false, beginning))).name);
}
/// Whether lowering takes it too: nobody is to be told of a step that suits another shape alone, but by what they wrote for this one.
inline bool becomes_loops([[maybe_unused]] cache::directory const& kept, [[maybe_unused]] compile_request const& r,
                          [[maybe_unused]] std::string_view beginning, [[maybe_unused]] schedule s) {
  // Lowering takes ten times as long as the look.
  if (r.gpu == nullptr && is_made(kept, r, s, beginning)) return true;
#if WEFT_HAS_EXCEPTIONS  // else what was not made before is not tried
  try {
    if (r.gpu != nullptr) return r.gpu->fits(r, s);
    ir::arena m;
    static_cast<void>(make_loops(m, r, finished(r, s)));
    return true;
  } catch (error const&) {
  }
#endif
  return false;
}
inline bool is_usable(compile_request const& r, schedule const& s) {
  return why_not(r, s).empty() && (r.gpu != nullptr || register_pressure(s).empty());
}
/// What is kept for the calls of this request. Where they are not bitwise, what a bitwise tuning has found does as well.
inline bool find_kept(cache::directory const& kept, compile_request const& r, schedule const& first, std::string_view beginning,
                      std::string& task, cache::tuned& best) {
  bool const bitwise = is_bitwise(r);
  task = task_of(r, first, beginning);
  return cache::find_tuned(kept, task, best) || (!bitwise && cache::find_tuned(kept, cache::bitwise_key(task), best));
}
/// "1 thread", "2 threads".
inline std::string threads_text(std::int64_t n) { return joined({std::to_string(n), n == 1 ? " thread" : " threads"}); }
inline std::string sentence_of(compile_request const& r, cache::relative const& near, cache::relative const& wanted) {
  bool const here = near.machine == wanted.machine, sizes = near.extents == wanted.extents, imported = cache::is_imported(near.task);
  if (r.gpu == nullptr && cache::differ_in_threads_alone(near, wanted))
    return joined({imported ? "imported for " : "tuned for ", sizes ? std::string("these sizes") : sizes_text(*r.layout, near.extents), imported ? ", and not measured here" : "",
                   ", for calls of ", threads_text(cache::threads_of(near)), ", not of ", std::to_string(cache::threads_of(wanted)),
                   sizes ? std::string() : joined({"; not for ", sizes_text(*r.layout, wanted.extents)})});
  if (sizes && !here)
    return imported ? "imported for these sizes, of another machine with the same instructions, and not measured here"
                    : "tuned for these sizes on another machine with the same instructions";
  return joined({imported ? "imported for " : "tuned for ", sizes ? std::string("these sizes, with other strides") : sizes_text(*r.layout, near.extents),
                 imported ? ", and not measured here" : "",
                 here       ? ", the nearest that was tuned"
                 : imported ? ", of another machine with the same instructions"
                            : " on another machine with the same instructions",
                 "; not for ", sizes ? std::string("these") : sizes_text(*r.layout, wanted.extents)});
}
/// The schedule with the knob values that were kept for this task, if it still is legal and takes the steps that were measured; else with those of
/// the nearest of three tasks for which that is legal here. Of a how-lambda `first` is what it does with each knob's first value. A rule has not run yet, and `told`
/// is what it is to be told: then what the nearest task leads to must have the form that was measured, as nothing else says that it is alike.
/// `reason`: why it is taken; where nothing is, what it has stays, and behind that comes why what was kept does not fit.
inline bool is_tuned(compile_request const& r, program const& expanded, schedule const& first, rule_input* told, schedule& into,
                     std::string* reason) {
  std::string const path = cache::directory_in_use();
  if (path.empty()) return false;
  cache::directory const kept(path, cache::creation::never);
  if (!kept.usable()) return false;
  std::string const beginning = cache::beginning_of_keys(r.name, *r.what, *r.machine);
  // Of a how-lambda's knobs what was found elsewhere is not believed then.
  bool const in_its_own_order = told == nullptr && is_bitwise(r);
  std::string task, not_taken;
  auto const nothing = [&] {
    if (reason != nullptr) *reason += not_taken;
    return false;
  };
  cache::tuned best;
  if (find_kept(kept, r, first, beginning, task, best)) {
    if (told != nullptr) told->plan = best.plan;
    into = schedule_with(r, expanded, best.choices);
    bool const imported = best.trials == 0;
    bool const has_the_bits = !in_its_own_order || (!imported && why_not_bitwise(into).empty());
    char const* const unfit = !is_usable(r, into)                                    ? "it is not legal here"
                              : !has_the_bits                                        ? "sums keep their order here"
                              : hash(into.steps) != best.steps                       ? "it has other steps here"
                              : imported && !becomes_loops(kept, r, beginning, into) ? "it does not become code here"
                                                                                     : nullptr;
    if (unfit == nullptr) {
      if (reason != nullptr)
        *reason = imported ? std::string("imported for these arguments, and not measured here")
                           : joined({"tuned for these arguments on this machine, in ", std::to_string(best.trials), " trials"});
      return true;
    }
    not_taken = joined({"; what was ", imported ? "imported" : "kept", " for these arguments is not taken: ", unfit});
  }
  if (in_its_own_order) return nothing();
  cache::relative const wanted = cache::described(task, *r.layout, *r.machine, asked_threads(r));
  // What the nearest leads to may be of another form here. Each further look is a run of the rule.
  std::string const family = family_of(r, first, beginning);
  std::uint64_t tried[3];
  for (std::uint32_t tries = 0; tries < 3; ++tries) {
    cache::relative near;
    if (!cache::find_relative(kept, family, wanted, near, {tried, tries})) return nothing();
    tried[tries] = near.task;
    if (told != nullptr) told->plan = near.plan;
    into = schedule_like(r, expanded, near);
    if (!is_usable(r, into) || (told != nullptr && cache::form_of(into.steps) != near.form) || !becomes_loops(kept, r, beginning, into)) continue;
    if (reason != nullptr) *reason = sentence_of(r, near, wanted) + not_taken;
    return true;
  }
  return nothing();
}
/// What a rule is told of the machine and of the arguments of a call.
inline rule_input rule_input_of(compile_request const& r) {
  if (r.gpu != nullptr) return r.gpu->told(r);
  program const& p = *r.what;
  target const& t = *r.machine;
  rule_input in{t.l1_bytes, t.l2_bytes, t.l3_bytes, t.threads > 0 ? t.threads : 1, !is_bitwise(r)};
  in.l3_bytes_per_cycle = t.l3_bytes_per_cycle, in.vector_units = t.vector_units;
  // By one thread of a server with AMX, two tensors of 16, 32 and 64 MiB: lines asked for 26, 18 to 25 and 12 GB/s, past the caches 20, 21 and 17 (Cascade Lake: rule_plan::goes_far).
  constexpr std::int64_t share = std::int64_t(96) << 20;
  if (t.l3_bytes_per_cycle > 0 && t.has("amx-tile")) in.past_far_bytes = t.l3_bytes > 0 && t.l3_bytes < share ? t.l3_bytes : share;
  in.searched = true;
  for (intrinsic const* by : {&tdpbf16ps, &tdpbusd, &tdpbsud, &tdpbssd, &tdpbuud, &vpdpbusd, &vdpbf16ps}) {  // best first
    bool has = false;
    for (machine_form const& f : by->forms) has = has || (f.lanes > 0 && 4 * f.lanes <= t.vector_bytes && t.has(f.feature));
    if (has) in.dots.push_back(by);
  }
  in.strides.resize(p.tensors.size());
  in.constant.resize(p.tensors.size(), false);
  std::size_t next = 0;
  bool open = false, guessed = true;
  in.likely.resize(p.tensors.size());
  auto const one = [&](int tensor) {
    argument_layout const& a = r.layout->arguments[next++];
    for (std::int64_t e : a.extents) {
      std::int64_t const likely = e < -1 ? r.layout->range_of(e).likely : e;
      open = open || e < -1, guessed = guessed && (e >= -1 || likely > 0);
      in.likely[static_cast<std::size_t>(tensor)].push_back(likely);
    }
    if (!a.packed) in.strides[static_cast<std::size_t>(tensor)] = strides_that_move(a);
    in.constant[static_cast<std::size_t>(tensor)] = a.constant;
  };
  for (input_info const& i : p.inputs)
    if (i.tensor >= 0) one(i.tensor);
  for (std::size_t o = next; std::int32_t tensor : p.outputs) {
    for (std::size_t i = 0; i < o; ++i)
      in.in_place = in.in_place || r.layout->arguments[i].alias_class == r.layout->arguments[next].alias_class;
    one(tensor);
  }
  if (!open || !guessed) in.likely.clear();
  return in;
}
/// The nest before any step.
inline schedule plain_nest(compile_request const& r, program const& expanded) {
  auto const extents = [&](int tensor, int dim) {
    std::size_t position = 0;
    for (input_info const& i : expanded.inputs) {
      if (i.tensor == tensor) return r.layout->arguments[position].extents[static_cast<std::size_t>(dim)];
      if (i.tensor >= 0) ++position;
    }
    return std::int64_t(-1);
  };
  if (r.gpu != nullptr) return schedule(expanded, extents, r.by_rule ? schedule_limits{0, 16} : schedule_limits{});
  return schedule(expanded, extents, {r.machine->vector_registers, r.machine->vector_bytes});
}
/// Whether all that an output is written over is read before: lowering knows it, and is not asked where the code is kept already. Nothing is
/// dumped on the way, as becomes_loops would.
inline bool can_be_written_over([[maybe_unused]] compile_request const& r, [[maybe_unused]] schedule const& s) {
  std::string const path = cache::directory_in_use();
  if (!path.empty() && is_made(cache::directory(path, cache::creation::never), r, s)) return true;
#if WEFT_HAS_EXCEPTIONS
  try {
    ir::arena m;
    static_cast<void>(lowered(m, r, s));
    return true;
  } catch (error const&) {
  }
#endif
  return false;
}
inline bool has_open_sizes(call_layout const& layout) {
  for (argument_layout const& a : layout.arguments)
    for (std::int64_t e : a.extents)
      if (e < 0) return true;
  return false;
}
/// How often an element is written with likely sizes in the place of open ones (0: that is not known), by the loops of `s`; less than 0: it is
/// no schedule for all sizes.
inline double written_for_many([[maybe_unused]] compile_request const& r, [[maybe_unused]] schedule const& s, [[maybe_unused]] rule_input const& in) {
#if WEFT_HAS_EXCEPTIONS
  try {
    ir::arena m;
    ir::function const f = lowered(m, r, s);
    sequence<std::int64_t> sizes(f.sizes.size(), std::int64_t(1));  // those that are named here are extents; strides do not count
    std::size_t argument = 0;
    auto const note = [&](int tensor) {
      ir::buffer const* const of = f.buffers[argument++];
      for (std::size_t d = 0; d < of->shape.size(); ++d)
        if (std::int64_t const likely = in.likely[static_cast<std::size_t>(tensor)][d]; of->shape[d]->kind == op::extent && likely > 0)
          sizes[static_cast<std::size_t>(of->shape[d]->value)] = likely;  // less than 0: an output's follows from others
    };
    for (input_info const& i : r.what->inputs)
      if (i.tensor >= 0) note(i.tensor);
    for (std::int32_t tensor : r.what->outputs) note(tensor);
    return elements_written(f, sizes);
  } catch (error const&) {
    return -1;
  }
#else
  return 0;
#endif
}
inline std::uint8_t write_by_rule(compile_request const& r, schedule& s, rule_input const& in) {
  if (r.gpu != nullptr) return r.gpu->by_rule(s, &in);
  bool const open = !in.likely.empty() && has_open_sizes(*r.layout);
  if (!in.in_place && !open) return schedule_by_rule(s, in);
  schedule const plain = s;
  std::uint8_t const plan = schedule_by_rule(s, in);
  // What was chosen is no schedule where it reads too late, not another one.
  if (!is_the_rules_own(plain) || plan == loops_alone || (!open && can_be_written_over(r, s))) return plan;
  schedule const planned = s;
  rule_input loops = in;
  loops.plan = loops_alone;
  s = plain;
  std::uint8_t const taken = schedule_by_rule(s, loops);
  if (!open) return taken;
  // A part may be the whole, of what is read at places that only the call knows, as behind a border that mirrors: then it is computed for each tile again.
  double const all = written_for_many(r, planned, in);
  if (all < 0 || (all > 0 && all > 4 * written_for_many(r, s, in))) return taken;
  s = planned;
  return plan;
}
/// By rule: what was kept, which is asked for first, so that the rule runs once; else its own schedule. True: it was kept.
inline bool make_by_rule(compile_request const& r, program const& expanded, schedule& s, std::string* reason) {
  rule_input told = rule_input_of(r);
  compile_request known = r;
  known.told = &told;
  // Nothing is kept for open sizes.
  bool const may_be_kept = r.machine != nullptr && told.searched && !has_open_sizes(*r.layout);
  if (may_be_kept && is_tuned(known, expanded, schedule(), &told, s, reason)) return true;
  told.plan = 0;
  s = plain_nest(r, expanded);
  static_cast<void>(write_by_rule(r, s, told));
  return false;
}
}  // namespace detail

WEFT_DECL rule_input detail::rule_input_for(compile_request const& r, program const& expanded, schedule& first) {
  rule_input in = rule_input_of(r);
  first = plain_nest(r, expanded);
  in.plan = write_by_rule(r, first, in);
  return in;
}
WEFT_DECL std::string detail::task_of(compile_request const& r, schedule const& first, std::string_view beginning) {
  bool const by_rule = r.by_rule && r.how == nullptr;
  return cache::task_key(r.name, *r.what, by_rule ? schedule() : first, *r.layout, *r.machine, is_bitwise(r), beginning, asked_threads(r));
}
WEFT_DECL int detail::asked_threads(compile_request const& r) {
  int const threads = r.gpu != nullptr ? 0 : threads_of_calls();
  return threads != host().threads ? threads : 0;
}
WEFT_DECL std::string detail::family_of(compile_request const& r, schedule const& first, std::string_view beginning) {
  bool const by_rule = r.by_rule && r.how == nullptr;
  return cache::family_key(r.name, *r.what, by_rule ? schedule() : first, *r.layout, *r.machine, is_bitwise(r), beginning);
}
namespace detail {
inline void write_schedule(compile_request const& r, schedule& s) {
  if (r.how != nullptr) r.how(r.context, s);
  else if (r.by_rule) static_cast<void>(write_by_rule(r, s, r.told != nullptr ? *r.told : rule_input_of(r)));
  else if (r.gpu != nullptr) static_cast<void>(r.gpu->by_rule(s, nullptr));
}
/// Of a how-lambda that throws for other than the first values of its knobs these are illegal, as where a step is refused; what it throws for the first ones is the caller's.
inline void write_schedule_with(compile_request const& r, schedule& s) {
#if WEFT_HAS_EXCEPTIONS
  try {
#endif
    write_schedule(r, s);
#if WEFT_HAS_EXCEPTIONS
  } catch (internal_error const&) {
    throw;
  } catch (...) {
    bool first = true;
    for (knob_info const& k : s.knobs) first = first && k.chosen == 0;
    if (r.how == nullptr || first) throw;
    s.fault = diagnosis::none;
    s.refuse(diagnosis::the_how_lambda_threw_for_these_values_of_its_knobs);
  }
#endif
}
}  // namespace detail
WEFT_DECL schedule detail::schedule_with(compile_request const& r, program const& expanded,
                                         sequence<std::int32_t> const& choices) {
  schedule s = plain_nest(r, expanded);
  s.choices = choices;
  write_schedule_with(r, s);
  return s;
}
WEFT_DECL schedule detail::schedule_with(compile_request const& r, program const& expanded, knob_chooser chooser, void const* wanted) {
  schedule s = plain_nest(r, expanded);
  s.chooser = chooser, s.wanted = wanted;
  write_schedule_with(r, s);
  s.chooser = nullptr, s.wanted = nullptr;
  for (knob_info const& k : s.knobs) s.choices.push_back(k.chosen);
  return s;
}
WEFT_DECL std::int32_t detail::nearest_value(sequence<std::int64_t> const& values, std::int64_t wanted) {
  std::int32_t best = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t const v = values[i], b = values[static_cast<std::size_t>(best)];
    if (v == wanted) return static_cast<std::int32_t>(i);
    if (v <= 0 || wanted <= 0) continue;
    // The quotient of the two, whichever is more.
    auto const away = [&](std::int64_t x) {
      double const q = static_cast<double>(x) / static_cast<double>(wanted);
      return x <= 0 ? 1e300 : q < 1 ? 1 / q : q;
    };
    if (away(v) < away(b)) best = static_cast<std::int32_t>(i);
  }
  return best;
}
namespace detail {
/// What results for a request's calls are kept under: the schedule with each knob's first value; by rule an empty one, as of task_key.
struct kept_under {
  explicit kept_under(compile_request const& r)
      : expanded(r.how != nullptr ? expanded_program(r) : program()), first(r.how != nullptr ? schedule_with(r, expanded, {}) : schedule()),
        is_tunable(r.how != nullptr ? !first.knobs.empty() : r.by_rule) {}
  program expanded;
  schedule first;
  bool is_tunable;
};
}  // namespace detail
WEFT_DECL bool detail::is_tuned_exactly(compile_request const& r) {
  std::string const path = cache::directory_in_use();
  if (path.empty()) return false;
  kept_under const task(r);
  cache::tuned best;
  std::string key;
  return task.is_tunable && find_kept(cache::directory(path, cache::creation::never), r, task.first, {}, key, best);
}
WEFT_DECL sequence<sequence<std::int64_t>> detail::tuned_shapes(compile_request const& r) {
  sequence<sequence<std::int64_t>> all;
  std::string const path = cache::directory_in_use();
  if (path.empty()) return all;
  kept_under const task(r);
  if (!task.is_tunable) return all;
  cache::directory const kept(path, cache::creation::never);
  compile_request bitwise = r;
  bitwise.wanted.bitwise = true;
  for (compile_request const* one : {&r, static_cast<compile_request const*>(&bitwise)}) {
    if (one == &bitwise && is_bitwise(r)) break;  // they are the same
    cache::relative const wanted = cache::described(task_of(*one, task.first), *r.layout, *r.machine, asked_threads(r));
    for (cache::relative const& other : cache::all_of_family(kept, family_of(*one, task.first)))
      if (other.machine == wanted.machine) all.push_back(other.extents);
  }
  return all;
}
WEFT_DECL std::string detail::why_not(compile_request const& r, schedule const& s) {
  if (r.gpu != nullptr) return s.state == verdict::illegal ? explain(s, r.name) : std::string();
  std::string problem = s.state == verdict::illegal ? explain(s, r.name) : written_out_too_often(s);
  return problem.empty() ? bound_to_a_gpu(r, s) : problem;
}
WEFT_DECL schedule detail::finished(compile_request const& r, schedule& s) {
  if (r.gpu != nullptr) return static_cast<schedule&&>(s);  // lowered as it is
  s.original = r.what;
  s.readers.clear();
  if (!s.extended.empty()) s.extended[0] = rewritten(*r.what, s.steps);
  if (dump_wanted("schedule")) dump("schedule", print_loops(s));
  return static_cast<schedule&&>(s);
}

WEFT_DECL schedule make_schedule(compile_request const& r, std::string* reason) {
  detail::name_unknown_dumps();
  program const expanded = detail::expanded_program(r);
  if (reason != nullptr) reason->clear();
  auto const say = [&](char const* text) {
    if (reason != nullptr) *reason = text + *reason;
  };
  if (r.by_rule && r.how == nullptr) {
    say("by rule: the kernel has no how-lambda");
    schedule s;
    static_cast<void>(detail::make_by_rule(r, expanded, s, reason));
    return detail::finished(r, s);
  }
  sequence<std::int32_t> choices;
  std::string why;
  constexpr int most_tries = 4096;  // 5 us each
  sequence<schedule> spilling;  // the one that comes nearest to fitting the registers of this machine
  for (int tries = 1;; ++tries) {
    schedule s = detail::schedule_with(r, expanded, choices);
    if (schedule tuned; tries == 1 && !s.knobs.empty() && detail::is_tuned(r, expanded, s, nullptr, tuned, reason))
      return detail::finished(r, tuned);
    std::string problem = detail::why_not(r, s);
    bool const legal = problem.empty();
    if (legal) problem = register_pressure(s);
    if (problem.empty()) {
      say(r.how == nullptr       ? "the plain nest"
          : s.knobs.empty()      ? "as the how-lambda says: it has no knobs"
          : tries == 1           ? "not tuned: each knob has its first value"
                                 : "not tuned: the knobs have the first values that are legal here");
      return detail::finished(r, s);
    }
    if (legal && fits_some_machine(s) && (spilling.empty() || registers_needed(s) < registers_needed(spilling[0])))
      spilling = sequence<schedule>(1, s);
    if (why.empty()) why = problem;
    if (!detail::next_choice(choices, s.knobs)) break;
    if (tries < most_tries) continue;
    why += joined({"\n  note  of the combinations of knob values, ", std::to_string(most_tries),
                   " were tried, the last knob fastest; none was legal"});
    break;
  }
  if (!spilling.empty()) {
    say("no values of the knobs fit the registers of this machine: those that need the fewest");
    return detail::finished(r, spilling[0]);
  }
  WEFT_THROW(schedule_error(why));
}

}  // namespace weft::inline WEFT_ABI
