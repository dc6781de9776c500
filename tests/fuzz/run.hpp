// Drawn programs checked, failures made small and described; all executors must give the same bits.
#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "fuzz/report.hpp"
#include "fuzz/rules.hpp"
#include "fuzz/shrink.hpp"
#include "fuzz/trial.hpp"
#include "support/private_cache.hpp"
#include "support/sanitized.hpp"
#include "weft/expr/print.hpp"
#include "weft/expr/verify.hpp"
#include "weft/lower/open_bounds.hpp"
#include "weft/schedule/print_how.hpp"

namespace weft_test::fuzz {

template <class F>
std::string without_exceptions(F const& f) {
  try {
    return f();
  } catch (weft::schedule_error const& e) {  // memory that only lowering knows to be too large, or no registers
    return std::string_view(e.what()).find("set_scope: memory ") == 0 ? "" : std::string("thrown: ") + e.what();
  } catch (weft::error const& e) {
    return std::string("thrown: ") + e.what();
  }
}
/// With results in place, unless the schedule has some of their elements read after they were written.
template <class F>
std::string in_place_or_apart(F const& f) {
  try {
    return f(true);
  } catch (weft::argument_error const& e) {
    if (std::string_view(e.what()).find("where the schedule has it computed") == std::string_view::npos) throw;
  }
  return f(false);
}
/// Empty, or what is wrong.
inline std::string check_interpreted(drawn const& d, weft::trace const& steps) {
  return without_exceptions([&] {
    return in_place_or_apart([&](bool in_place) { return trial(d, d.seed % 2 == 0, false, in_place).interpreted(steps); });
  });
}
inline std::string check_compiled(drawn const& d, weft::trace const& steps) {
  static weft::sequence<weft::target> const machines = [] {
    weft::sequence<weft::target> all{weft::host()};
    for (weft::target const& t : {weft::x86_64_avx2(), weft::x86_64_sse2()}) {
      bool runs_here = t.arch == all[0].arch;
      for (std::string const& f : t.features) runs_here = runs_here && all[0].has(f);
      if (runs_here) all.push_back(t);
    }
    return all;
  }();
  return without_exceptions([&] {
    auto const fault_for = [&](weft::target const& t, weft::options wanted = {}) {
      return in_place_or_apart([&](bool in_place) { return trial(d, t.fma, true, in_place).compiled(steps, t, wanted); });
    };
    std::size_t const lesser = machines.size() - 1;
    std::string fault = fault_for(machines[0]);
    if (fault.empty() && lesser > 0 && d.seed % 2 == 0) fault = fault_for(machines[1 + d.seed / 2 % lesser]);
    if (!fault.empty()) return fault;
    // Every third is checked as well, now and then with lines for a debugger.
    weft::options const wanted{.checked = d.seed % 3 == 0, .debug = d.seed % 10 == 0};
    return wanted.any() ? fault_for(machines[0], wanted) : std::string();
  });
}

/// A case as text; as a test: report.hpp.
inline std::string describe(drawn const& d, weft::trace const& steps) {
  weft::schedule s(d.what, extents_of(d));
  weft::replay(s, steps);
  std::string out = weft::print(d.what) + "shapes\n";
  for (std::size_t t = 0; t < d.tensors.size(); ++t) {
    out += "  " + std::string(d.what.tensors[t].name.view()) + ":";
    for (std::int64_t e : d.tensors[t].shape) out += " " + std::to_string(e);
    out += "\n";
  }
  return out + "steps\n" + weft::print_trace(s) + weft::print_how(s) + "\nloops\n" + weft::print_loops(s);
}

/// The case as a test.
inline std::string as_test(drawn const& d, weft::trace const& steps, std::string const& fault) {
  weft::schedule s(d.what, extents_of(d));
  weft::replay(s, steps);
  return test_case(d, s, fault);
}

using check_function = std::string (*)(drawn const&, weft::trace const&);

inline bool is_impossible(std::string const& fault) {
  return fault.find(trial::takes_long) != std::string::npos || fault.find("thrown: fold_storage: ") == 0 ||
         fault.find("thrown: tensorize: ") == 0;
}
/// Of steps under which a stage is computed so often that it takes long, or that keep too few elements of it, the last ones
/// are left out.
template <class Check>
std::string check_possible(Check const& check, drawn const& d, weft::trace& steps) {
  std::string fault = check(d, steps);
  while (!steps.empty() && is_impossible(fault)) steps.pop_back(), fault = check(d, steps);
  return fault;
}

/// What found a fault, without numbers and names; of an error its first line without numbers, for many are thrown.
inline std::string kind_of(std::string const& fault) {
  if (fault.find("thrown: ") != 0) return fault.substr(0, fault.find_first_of("[0123456789:\n"));
  std::string kind;
  for (char c : fault.substr(0, fault.find('\n')))
    if (c < '0' || c > '9') kind += c;
  return kind;
}
/// Draws the case of `seed` and checks it. When it fails: the smallest trace and program that do, and what is wrong with them.
inline std::string check_small(std::uint64_t seed, check_function check, drawn& small, weft::trace& small_steps) {
  drawn const d = program_maker(seed).make();
  if (std::string const fault = weft::fault_of(d.what); !fault.empty()) return small = d, "the drawn program: " + fault;
  random_source r(seed ^ 0x5c4ed);
  weft::schedule const start(d.what, extents_of(d));
  weft::trace steps = seed % 4 == 3 ? steps_by_rule(r, d, seed % 8 == 7) : draw_steps(r, start, d.order_free, {});
  std::string const fault = check_possible(check, d, steps);
  if (fault.empty()) return fault;
  steps = smallest(steps, start, [&](weft::trace const& less) {
    weft::schedule s = start;
    if (!weft::replay(s, less) || !keeps_order(s, d.order_free)) return false;
    std::string const now = check(d, less);
    return !now.empty() && now != not_legal && !is_impossible(now);
  });
  shrinker shrunk(d, steps);
  std::string const kind = kind_of(check(d, steps));
  shrunk.run([&](drawn const& less, weft::trace const& now) { return kind_of(check(less, now)) == kind; });
  small = shrunk.program(), small_steps = shrunk.steps();
  return check(small, small_steps);
}
/// What is wrong with the case of `seed`, with all that is known of it, and as a test.
inline std::string check_case(std::uint64_t seed, check_function check) {
  drawn small;
  weft::trace steps;
  std::string const fault = check_small(seed, check, small, steps);
  if (fault.empty()) return fault;
  return describe(small, steps) + "fault\n  " + fault + "\nas a test\n" + as_test(small, steps, fault) + "\n";
}

/// The value of an expression over sizes.
inline std::int64_t value_of(weft::ir::expr e, weft::sequence<std::int64_t> const& sizes) {
  if (e == nullptr || e->kind == weft::op::literal) return e == nullptr ? 0 : e->value;
  if (e->kind == weft::op::extent) return sizes[static_cast<std::size_t>(e->value)];
  weft::dtype const type = weft::is_choice(e->kind) ? e->b->type : e->a->type;
  return weft::apply(e->kind, type, value_of(e->a, sizes), value_of(e->b, sizes), value_of(e->c, sizes), e->type);
}
/// Whether, with the extents of the inputs open, what would be asked of them at a call is met by those of `layout`.
inline bool conditions_hold(drawn const& d, weft::program const& expanded, weft::call_layout layout) {
  weft::sequence<std::int64_t> sizes;
  std::size_t const inputs = d.tensors.size();
  random_source r(d.seed ^ 0xc0);
  for (std::size_t i = 0; i < layout.arguments.size(); ++i)
    for (std::size_t dim = 0; dim < layout.arguments[i].extents.size(); ++dim) {
      std::int64_t& e = layout.arguments[i].extents[dim];
      std::size_t at = sizes.size();
      for (std::size_t k = 0; k < sizes.size(); ++k)
        if (sizes[k] == e && r.chance(50)) at = k;
      if (i < inputs && at == sizes.size()) sizes.push_back(e);
      if (i < inputs) e = -2 - static_cast<std::int64_t>('a' + at);
      else e = -1;
      layout.arguments[i].packed = true;
    }
  weft::ir::arena m;
  weft::ir::function const f = weft::lower(m, expanded, weft::nest(expanded, [](int, int) { return std::int64_t(-1); }, {}),
                                           layout, "fuzz", weft::vector_tails::partition, weft::narrow_memory::no);
  weft::open_conditions const c = weft::conditions_of(f);
  bool all = c.complete;
  for (weft::ir::expr e : c.lengths) all = all && value_of(e, sizes) >= 0;
  for (weft::ir::expr e : c.accesses) all = all && value_of(e, sizes) >= 0;
  return all;
}

/// A program whose accesses may leave their tensors, with its arguments.
struct unruly {
  drawn d;
  random_source r;
  weft::call_layout layout{};
  std::vector<tensor_memory> memory{};
  weft::ir::arena m{};
  weft::ir::function f{};  // the plain nest

  explicit unruly(std::uint64_t seed);
  std::string interpreted() { return interpreted(f); }
  std::string interpreted(weft::ir::function const& of) {
    weft::sequence<weft::interp_argument> pointers;
    for (std::size_t i = 0; i < memory.size(); ++i)
      pointers.push_back({memory[i].data(), memory[i].elements(), i < d.tensors.size()});
    return weft::interpret(of, pointers, {}, d.scalars);
  }
  /// What direct evaluation, which leaves nothing out, says of the first access that leaves its tensor.
  std::string evaluated() const {
    weft::program const expanded = weft::expand(d.what, false);
    weft::sequence<weft::dense> inputs;
    for (weft::dense const& t : d.tensors) inputs.push_back(t);
    return without_exceptions([&] {
      weft::evaluator e(expanded, inputs, d.scalars);
      for (std::int32_t t : d.what.outputs) static_cast<void>(e.result(t));
      return std::string();
    });
  }
};
inline unruly::unruly(std::uint64_t seed) : d(program_maker(seed, true).make()), r(seed) {
  auto const add = [&](weft::dense const& t, bool output) {
    memory.emplace_back(r, t.type, t.shape, output, false);
    if (!output) memory.back().put(t);
    weft::argument const a = memory.back().argument(output);
    layout.arguments.push_back({t.shape, {a.strides, a.strides + a.rank}, 1, static_cast<std::int32_t>(memory.size())});
  };
  for (weft::dense const& t : d.tensors) add(t, false);
  for (std::int32_t t : d.what.outputs) {
    weft::tensor_info const& info = weft::program::at(d.what.tensors, t);
    weft::dense out{info.type, {}, {}};
    for (int dim = 0; dim < info.rank; ++dim)
      out.shape.push_back(weft::extent_value(d.what, d.what.extent_of(t, dim), extents_of(d)));
    add(out, true);
  }
  weft::program const expanded = weft::expand(d.what, false);
  f = weft::lower(m, expanded, weft::schedule(expanded, extents_of(d)), layout, "fuzz",
                  weft::vector_tails::partition, weft::narrow_memory::no);
}
/// What check_bounds accepts must not leave its tensors, as the interpreter sees it; `accepted` counts that. Nor what
/// conditions_of accepts, counted by `open`.
inline std::string check_refusal(std::uint64_t seed, int& accepted, int& open) {
  unruly u(seed);
  bool const by_numbers = weft::check_bounds(u.f).empty();
  bool const by_conditions = !u.d.has_empty && !u.d.tensors.empty() &&
                             conditions_hold(u.d, weft::expand(u.d.what, false), u.layout);
  if (!by_numbers && !by_conditions) return "";
  accepted += by_numbers;
  open += by_conditions;
  std::string const fault = u.interpreted();
  return fault.empty() ? fault
                       : describe(u.d, {}) + "fault\n  accepted" + (by_numbers ? "" : " by conditions") + ", but " +
                             fault + "\n" + weft::ir::print(u.f);
}
/// Checked code, under any schedule, tells of an access exactly where the interpreter tells of one in the same loops, and
/// only where it tells of one in the plain nest, or direct evaluation does (an access whose value does not matter, as in x * 0, may be gone from
/// either loops); `found` counts that.
inline std::string check_found(std::uint64_t seed, int& found) {
  unruly u(seed);
  weft::trace const steps = draw_steps(u.r, weft::schedule(u.d.what, extents_of(u.d)), u.d.order_free, {});
  steps_to_take const to{u.d, steps};
  weft::sequence<void*> pointers;
  for (tensor_memory& t : u.memory) pointers.push_back(t.data());
  weft::compile_request const r{"fuzz",    &u.d.what,     steps_to_take::how, &to,
                                &u.layout, &weft::host(), {.checked = true}};
  std::string loops, fault;
  std::string const told = without_exceptions([&] {
    weft::ir::arena m;
    weft::ir::function const f = weft::make_loops(m, r, weft::make_schedule(r));
    loops = weft::ir::print(f);
    fault = u.interpreted(f);
    return call(weft::compile(r), u.d.what, pointers, u.d.scalars);
  });
  found += !fault.empty();
  auto const is_there = [&] { return !u.interpreted().empty() || !u.evaluated().empty(); };
  if (fault.empty() == told.empty() && told.find("thrown") != 0 && (told.empty() || is_there())) return "";
  return describe(u.d, steps) + "fault\n  interpreter: " + fault + "\n  checked code: " + told + "\n" + loops;
}

/// Says which case it was when machine code crashes or a sanitizer ends the process; doctest's own handler goes on from there.
class crash_report {
 public:
  crash_report() {
    for (int i = 0; i < 5; ++i) {
      struct sigaction a = {};
      a.sa_handler = say;
      a.sa_flags = SA_ONSTACK;  // a stack of doctest's
      ::sigaction(signals[i], &a, &before()[i]);
    }
    weft_test::before_sanitizer_exits([] { say(0); });
  }
  crash_report(crash_report const&) = delete;
  crash_report& operator=(crash_report const&) = delete;
  ~crash_report() {
    weft_test::before_sanitizer_exits(nullptr);
    restore();
  }
  void now(std::uint64_t seed) { text() = "crashed: WEFT_FUZZ_SEED=" + std::to_string(seed) + " WEFT_FUZZ_CASES=1\n"; }

 private:
  static constexpr int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  static std::string& text() {
    static std::string t;
    return t;
  }
  static struct sigaction* before() {
    static struct sigaction all[5];
    return all;
  }
  static void restore() {
    for (int i = 0; i < 5; ++i) ::sigaction(signals[i], &before()[i], nullptr);
  }
  static void say(int signal) {
    if (::write(STDOUT_FILENO, text().data(), text().size()) < 0) return;
    restore();
    if (signal != 0) ::raise(signal);
  }
};

/// While it lives, each compilation is verified after each pass, and by LLVM before its passes; what is written for
/// debuggers goes with it.
struct verified_compilations : temporary_directory {
  verified_compilations() {
    setenv("WEFT_VERIFY", "1", 1);
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~verified_compilations() {
    unsetenv("WEFT_VERIFY");
    unsetenv("TMPDIR");
  }
};

/// Runs `count` cases from a fresh seed, of which sanitizers get a twentieth; WEFT_FUZZ_TIMES=n: n times as many.
/// WEFT_FUZZ_SEED=n: from that one; with WEFT_FUZZ_CASES=1 case n alone.
template <class Check>
void for_each_case(char const* what, int count, Check const& check) {
  if (is_sanitized) count /= 20;
  if (char const* n = std::getenv("WEFT_FUZZ_TIMES")) count *= std::atoi(n);
  if (char const* n = std::getenv("WEFT_FUZZ_CASES")) count = std::atoi(n);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::uint64_t first = static_cast<std::uint64_t>(now.tv_sec) * 1000003 + static_cast<std::uint64_t>(now.tv_nsec);
  if (char const* n = std::getenv("WEFT_FUZZ_SEED")) first = std::strtoull(n, nullptr, 0);
  std::printf("fuzz, %s: %d cases, WEFT_FUZZ_SEED=%llu\n", what, count, static_cast<unsigned long long>(first));
  std::fflush(stdout);
  random_source seeds(first);
  verified_compilations const verified;
  crash_report report;
  int failures = 0;
  for (int i = 0; i < count && failures < 3; ++i) {
    // Case 0 has the seed itself, so that any case can be run alone.
    std::uint64_t const seed = i == 0 ? first : seeds.next();
    INFO("WEFT_FUZZ_SEED=" << seed << " WEFT_FUZZ_CASES=1");
    report.now(seed);
    std::string const fault = check(seed);
    CHECK_MESSAGE(fault.empty(), fault);
    failures += !fault.empty();
  }
}

inline void run_cases(char const* what, int count, check_function check) {
  for_each_case(what, count, [&](std::uint64_t seed) { return check_case(seed, check); });
}

}  // namespace weft_test::fuzz
