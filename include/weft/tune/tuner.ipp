#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "weft/base/env.hpp"
#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/bench/counts.hpp"
#include "weft/bench/peak.hpp"
#include "weft/bench/statistics.hpp"
#include "weft/expr/canonical.hpp"
#include "weft/expr/expand.hpp"
#include "weft/ir/print.hpp"
#include "weft/runtime/bind.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/entry.hpp"
#include "weft/runtime/cache/relatives.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/runtime/cuda/driver.hpp"
#include "weft/schedule/print_how.hpp"
#include "weft/tune/run.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

WEFT_DECL std::string time_text(double ns) {
  char text[32];
  if (ns < 1e3) std::snprintf(text, sizeof text, "%.0f ns", ns);
  else if (ns < 1e6) std::snprintf(text, sizeof text, "%.3g us", ns / 1e3);
  else if (ns < 1e9) std::snprintf(text, sizeof text, "%.3g ms", ns / 1e6);
  else std::snprintf(text, sizeof text, "%.3g s", ns / 1e9);
  return text;
}
/// What counts of a candidate's samples: the first quartile. What disturbs them only ever makes them longer, and the fastest of a few is an outlier
/// of its own.
inline double time_of(bench::timing const& t) { return bench::quantile(t.samples, 0.25); }
WEFT_DECL std::string number_text(double x, char const* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

/// Where trials are kept, if they are to be.
inline std::string trials_file(bool keep) {
  std::string const directory = keep ? cache::directory_in_use(true) : "";
  return directory.empty() ? "" : directory + "/trials.sqlite";
}

/// A bitwise tuning is one for bitwise calls: the rule keeps the order of sums then.
inline options wanted_of(kernel_face const& face, tune_options const& o) {
  options wanted = face.wanted;
  wanted.bitwise = wanted.bitwise || o.bitwise || environment_switch("WEFT_BITWISE");
  return wanted;
}
/// Whether the kernel's schedule is the rule's, as kernel_table asks for it.
inline bool is_by_rule(kernel_face const& face) { return face.how == nullptr && !face.wanted.plain && !environment_switch("WEFT_PLAIN"); }

/// No schedule takes less: the arithmetic at the machine's peak, and the bytes at that of its memory where no cache holds them; 0: not
/// known. Of f32 and f64 alone is the peak of arithmetic known.
inline double least_ns(program const& what, argument const* arguments, int count, target const& machine) {
  bench::counts const done = bench::counted(what, arguments);
  double held = 0;
  for (int i = 0; i < count; ++i) {
    double bytes = arguments[i].is_scalar ? 0 : size_bytes(arguments[i].type);
    for (int d = 0; d < arguments[i].rank; ++d) bytes *= static_cast<double>(arguments[i].extents[d]);
    held += bytes;
  }
  double const peak = done.peak_of(bench::peaks_of(machine.threads).gflops), arithmetic = peak > 0 ? done.operations / peak : 0;
  bool const in_a_cache = machine.l3_bytes > 0 && held <= 2 * static_cast<double>(machine.l3_bytes);
  double const memory = in_a_cache ? 0 : done.bytes / bench::peaks_of(machine.threads).gbs;
  return arithmetic > memory ? arithmetic : memory;
}
/// What a child answers, which then ends; "!" and why: nothing.
template <class Ask>
std::string asked_in_a_fork(Ask const& ask) {
  int ends[2];
  if (::pipe(ends) != 0) return "!no pipe can be made";
  ::pid_t const child = ::fork();
  if (child < 0) return ::close(ends[0]), ::close(ends[1]), "!no process can be made";
  if (child == 0) {
    std::string answer;
#if WEFT_HAS_EXCEPTIONS
    try {
#endif
      answer = ask();
#if WEFT_HAS_EXCEPTIONS
    } catch (error const& e) {
      answer = joined({"!", e.what()});
    }
#endif
    bool const sent = ::write(ends[1], answer.data(), answer.size()) == static_cast<::ssize_t>(answer.size());
    ::_exit(sent ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer(4096, '\0');
  std::size_t got = 0;
  while (got < answer.size()) {
    ::ssize_t const n = ::read(ends[0], &answer[got], answer.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  answer.resize(got);
  ::close(ends[0]);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return answer.empty() ? "!the CUDA driver ended the process that asked it" : answer;
}
/// Where candidates run; what is wrong with it is said of the kernel.
inline worker_choice worker_for([[maybe_unused]] kernel_face const& face, tune_options const& o) {
#if WEFT_HAS_EXCEPTIONS
  try {
#endif
    return chosen_worker(o.worker, o.worker_program);
#if WEFT_HAS_EXCEPTIONS
  } catch (device_error const& e) {
    WEFT_THROW(device_error(joined({face.name, ": ", e.what()})));
  }
#endif
}
/// The machine that candidates run on. A GPU is asked by a child where forks are to use it: they cannot once this process has.
inline target const& machine_of(kernel_face const& face, isolation where) {
  if (face.gpu == nullptr) return face.machine != nullptr ? *face.machine : host();
  auto const refuse = [&](std::string_view why) { WEFT_THROW(device_error(joined({face.name, ": tune: ", why}))); };
  if (find_gpu_bench() == nullptr) refuse("on a GPU this needs #include <weft/tune/cuda.hpp> in one file of the program, or weft::compiled");
  bool const forks = where == isolation::forked;
  if (forks && runtime::cuda_has_begun())
    refuse("this program has used the GPU, and a fork of it cannot: call weft::worker(argc, argv) first in main, or name a program that does (WEFT_WORKER=weft-worker), which gives candidates a process of their own");
  target t;
  if (forks) {
    // What a process that has not begun CUDA is told of a GPU, as lines.
    std::string const answer = asked_in_a_fork([&] {
      target const it = face.gpu->machine(face.device);
      return joined({it.cpu, "\n", it.features[0], "\n", std::to_string(it.l1_bytes), "\n", std::to_string(it.l2_bytes), "\n", std::to_string(it.threads), "\n"});
    });
    if (answer[0] == '!') refuse(std::string_view(answer).substr(1));
    t.arch = architecture::nvidia, t.fma = true;
    std::string lines[5];
    std::size_t line = 0;
    for (char c : answer) {
      if (c == '\n') ++line;
      else if (line < 5) lines[line] += c;
    }
    t.cpu = lines[0], t.features.push_back(lines[1]);
    t.l1_bytes = std::atoll(lines[2].c_str()), t.l2_bytes = std::atoll(lines[3].c_str());
    t.threads = static_cast<std::int32_t>(std::atoll(lines[4].c_str()));
  } else {
#if WEFT_HAS_EXCEPTIONS
    try {
      t = face.gpu->machine(face.device);
    } catch (device_error const& e) {
      refuse(e.what());
    }
#else
    t = face.gpu->machine(face.device);
#endif
  }
  if (std::string const why = linked_gpu_bench.missing(); !why.empty()) refuse(why);
  return *kept_target(t);
}
WEFT_DECL tuning_run::tuning_run(kernel_face const& face, argument* arguments, int count, tune_options const& o, candidate_view view,
                                 trial_crew* crew)
    : face_(face), options_(o), wanted_(wanted_of(face, o)), view_(view), crew_(crew), arguments_(arguments), count_(count), what_(face.what(face.object)),
      worker_(worker_for(face, o)), machine_(machine_of(face, worker_.where)), layout_(bound()),
      space_({face.name, &what_, face.how, face.object, &layout_, &machine_, wanted_, is_by_rule(face), nullptr, face.gpu}),
      copies_(arguments, count), runner_(copies_, worker_, face.gpu != nullptr ? face.device : -1, face.gpu != nullptr ? nullptr : face.machine), store_(trials_file(o.keep)), task_(task()), trials_task_(trials_task()) {
  tolerance_ = {wanted_.bitwise, longest_reduction(what_, arguments)};
  whole_are_exact_ = whole_numbers_stay_exact(what_, arguments);
  // What writes over its inputs leaves nothing that direct evaluation could read.
  for (memory_block const& m : copies_.blocks()) whole_are_exact_ = whole_are_exact_ && !(m.written && m.read);
  by_whole_numbers_ = whole_are_exact_ && !wanted_.bitwise && tolerance_.terms > 1024;
  result_.kernel = std::string(face.name);
  result_.done = bench::counted(what_, arguments);
  result_.threads = face.gpu != nullptr ? 0 : machine_.threads;
  result_.device = face.gpu != nullptr ? face.device : -1;
  std::int64_t const spare = host().threads - 2, wanted = o.compilers >= 0 ? o.compilers : spare < 8 ? spare : 8;
  for (std::int64_t i = 0; i < wanted && face.gpu != nullptr && runner_.where() != isolation::none; ++i)
    compilers_.push_back(new runner(copies_, worker_, face.device));
  result_.searching_seconds = elapsed();
  if (o.within > 0 && face.gpu == nullptr) result_.roofline_ns = least_ns(what_, arguments, count, machine_);
}
WEFT_DECL tuning_run::~tuning_run() {
  delete search_;
  for (runner* one : compilers_) delete one;
}
WEFT_DECL bool tuning_run::is_near_roofline() const {
  return options_.within > 0 && result_.best_ns > 0 && result_.best_ns <= result_.roofline_ns * (1 + options_.within);
}

/// The layout of the call, when it is one that can be tuned.
inline call_layout tuning_run::bound() {
  auto const refuse = [&](char const* why) { WEFT_THROW(argument_error(joined({face_.name, ": tune: ", why}))); };
  if (std::string const why = face_.gpu != nullptr ? "" : cannot_run_here(machine_); !why.empty()) refuse(why.c_str());
  for (int i = 0; face_.on_gpu != nullptr && i < count_; ++i)
    if (face_.on_gpu[i]) refuse("tensors in the GPU's memory are not tuned with: give it tensors of the same shapes in the host's; the result is for both");
  if (face_.open != nullptr)
    refuse("sizes that are open (weft::dim) are not tuned: tune the kernel for numbers, in the middle of what it will see");
  if (face_.wanted.any() || environment_switch("WEFT_CHECKED") || environment_switch("WEFT_DEBUG"))
    refuse("checked code and code for a debugger are not tuned");
  for (stage_info const& s : what_.stages)
    if (s.by != nullptr) refuse("a kernel with functions of the program (weft::extern_stage) is not tuned");
  bool left_out = false;
  for (int i = 0; i < count_; ++i) left_out = left_out || arguments_[i].is_allocated_here;
  if (left_out) shape_outputs(what_, arguments_, count_);
  call_layout l = face_.gpu != nullptr ? face_.gpu->bind(what_, face_.name, arguments_, count_)
                                       : weft::bind(what_, face_.name, arguments_, count_);
  for (argument_layout const& a : l.arguments)
    if (a.constant) refuse("a weft::constant is not tuned: give the tensor itself");
  return l;
}
inline bool tuning_run::may_go_on() {
  if (options_.stop.requested()) result_.stopped = true;
  if (!peaks_again_ && result_.best_ns > 0 && result_.best_ns < 0.99 * result_.roofline_ns) {  // peaks that were measured while something else ran
    peaks_again_ = true;
    static_cast<void>(bench::peaks_measured_again(machine_.threads));
    result_.roofline_ns = least_ns(what_, arguments_, count_, machine_);
  }
  auto const trials = static_cast<std::int64_t>(result_.trials.size());
  // The finalists' turns (`confirm`): four of them, eight samples at least, and two calls to find out how long one is.
  double const turns = 40 * result_.best_ns / 1e9, most = options_.seconds / 4;
  // Of several kernels each has turns, and those of all come at the end.
  double const kept_back = others_turns_ > 0 ? turns + others_turns_ : turns < most ? turns : most;
  bool const has_time = elapsed() + kept_back < options_.seconds;
  return !result_.stopped && trials < options_.trials && has_time && !is_near_roofline();
}

/// The text of a candidate's loop program.
inline std::string tuning_run::loops_of(sequence<std::int32_t> const& choices, [[maybe_unused]] std::string& why) const {
#if WEFT_HAS_EXCEPTIONS
  try {
#endif
    ir::arena m;
    return ir::print(make_loops(m, space_.request(), space_.at(choices)));
#if WEFT_HAS_EXCEPTIONS
  } catch (error const& e) {
    why = e.what();
    return "";
  }
#endif
}
inline sequence<element_list> tuning_run::outputs() const {
  sequence<element_list> all;
  std::size_t tensor = 0;
  for (int i = 0; i < count_; ++i) {
    if (arguments_[i].is_output) all.push_back(elements_of(arguments_[i], copies_.data(tensor)));
    if (!arguments_[i].is_scalar) ++tensor;
  }
  return all;
}
inline void tuning_run::write(sequence<std::int32_t> const& choices, candidate_text& c) const {
  c.written = true;
  c.loops = loops_of(choices, c.why);
  if (view_.see != nullptr && !c.loops.empty()) view_.see(view_.context, choices, c.loops);
}
/// Those that its text may name.
inline known_intrinsics tuning_run::instructions_of(sequence<std::int32_t> const& choices, sequence<intrinsic const*>& known) const {
  for (step const& s : space_.at(choices).steps) {
    bool there = s.by == nullptr;
    for (intrinsic const* k : known) there = there || k == s.by;
    if (!there) known.push_back(s.by);
  }
  return {known.data(), static_cast<int>(known.size())};
}
/// Compiled into the slot; else the trial says why not.
inline bool tuning_run::prepare(int slot, sequence<std::int32_t> const& choices, tune_trial& t, candidate_text c) {
  if (!c.written) write(choices, c);
  sequence<intrinsic const*> known;
  if (!c.why.empty()) t.why = c.why;
  waiting const compiled(waited_ns_);
  t.result = c.loops.empty() || !c.why.empty()
                 ? outcome::refused
                 : runner_.load(slot, c.loops, t.why, instructions_of(choices, known), choices == first_.choices, c.made);
  return t.result == outcome::good;
}
/// Compiled, run once, compared, and only then timed.
inline tune_trial tuning_run::measured_once(sequence<std::int32_t> const& choices, double give_up_ns, candidate_text c) {
  tune_trial t;
  t.choices = choices;
  if (!prepare(0, choices, t, static_cast<candidate_text&&>(c))) return t;
  copies_.restore();
  slot_calls calls(runner_, 0, measured_ns_, waited_ns_);
  calls.expect(result_.first_ns > 0 ? result_.first_ns : 5e8);
  if (calls.run(1) < 0) {
    t.result = runner_.last();
    t.why = t.result == outcome::hung      ? "it did not end"
            : t.result == outcome::crashed ? joined({"it ended the worker: ", runner_.why().empty() ? "an access outside of its tensors, perhaps" : runner_.why()})
            : runner_.why().empty()        ? "it said that it failed"
                                           : runner_.why();
    return t;
  }
  if (!computes_the_same(t)) return t;
  // Where that takes long, of those alone that may be the best, which their times say first (and `confirm` once more of who wins).
  bool const whole_first = give_up_ns <= 0 || !whole_is_dear();
  if (by_whole_numbers_ && whole_first && !sums_the_same(t, calls)) return t;
  measuring how{.sample_ms = 0.3, .budget_ms = 100, .within = 0.02, .fewest = 6, .most = 31};
  how.give_up_ms = give_up_ns / 1e6;
  bench::timing const time = bench::measure({calls.work()}, how)[0];
  t.ns = time.failed ? 0 : time_of(time);
  if (t.ns <= 0) t.result = runner_.last(), t.why = "it failed while it was timed";
  if (by_whole_numbers_ && !whole_first && t.ns > 0 && 3 * t.ns < give_up_ns && !sums_the_same(t, calls)) t.ns = 0;
  return t;
}

inline void tuning_run::note(tune_trial t, double expected_ns) {
  t.expected_ns = expected_ns;
  if (t.ns > 0 && (result_.best_ns <= 0 || t.ns < result_.best_ns)) result_.best_ns = t.ns, result_.choices = t.choices;
  store_.add(trials_task_, face_.name, {t.choices, t.ns, static_cast<std::int32_t>(t.result), t.wrong});
  result_.trials.push_back(static_cast<tune_trial&&>(t));
  tune_progress const p{others_trials_ + static_cast<std::int64_t>(result_.trials.size()), options_.trials, elapsed(), options_.seconds,
                        result_.best_ns, result_.first_ns, face_.name};
  if (!options_.progress(p)) result_.stopped = true;
}
/// Whether calls do not take it: an older rule, or how-lambda, did other steps with these choices. Its time is that of another schedule.
inline bool tuning_run::is_stale(cache::tuned const& kept) const {
  return kept.plan != space_.plan() || hash(space_.steps(kept.choices).steps) != kept.steps;
}
/// What its trials are kept for. By rule the task does not say which steps the choices lead to: that of the first, and the knobs, do.
inline std::string tuning_run::trials_task() const {
  if (!space_.is_by_rule()) return task_;
  schedule const first = first_steps();
  cache::byte_writer w;
  w.bytes = task_;
  w.numbers(hash(first.steps), space_.plan());
  for (knob_info const& k : first.knobs) {
    w.text(k.name.view());
    w.numbers(static_cast<std::uint32_t>(k.values.size()));
    for (std::int64_t v : k.values) w.numbers(v);
  }
  return static_cast<std::string&&>(w.bytes);
}
inline void tuning_run::measure_first() {
  // What ended the worker may have come from outside: of the first schedule it is believed the third time.
  tune_trial t = measured(first_.choices, 0);
  for (int again = 0; again < 2 && t.result == outcome::crashed; ++again) t = measured(first_.choices, 0);
  if (t.wrong) WEFT_THROW(internal_error(joined({face_.name, ": tune: without tuning, ", t.why})));
  if (t.ns <= 0)
    WEFT_THROW(device_error(joined({face_.name, ": tune: the schedule without tuning could not be measured: ", t.why})));
  result_.first_ns = t.ns;
  note(static_cast<tune_trial&&>(t), 0);
  cache::tuned before;
  if (!cache::find_tuned(task_, before) || before.choices == first_.choices || is_stale(before) || !may_go_on()) return;
  point const known = space_.look(before.choices);
  if (known.legal) note(measured(known.choices, 0), 0);
}
/// What earlier tunings measured is not measured again, for as long as half of the space is left: the model knows it.
inline void tuning_run::learn_earlier() {
  sequence<stored_trial> const earlier = store_.of(trials_task_);
  if (options_.random || 2 * static_cast<double>(earlier.size()) > result_.space.legal) return;
  stored_trial const* best = nullptr;
  for (stored_trial const& t : earlier) {
    bool here = false;
    for (tune_trial const& own : result_.trials) here = here || own.choices == t.choices;
    point const p = here ? point{} : space_.look(t.choices);
    if (!p.legal || !(p.choices == t.choices)) continue;
    search_->learn(p, t.wrong ? 0 : t.ns);
    ++result_.earlier;
    if (!t.wrong && t.ns > 0 && (best == nullptr || t.ns < best->ns)) best = &t;
  }
  // A tuning that was killed has kept no result, and what it measured is not proposed any more: the best of that is a trial of this one.
  cache::tuned kept;
  if (best != nullptr && (!cache::find_tuned(task_, kept) || is_stale(kept)) && may_go_on()) note(measured(best->choices, 3 * result_.best_ns), 0);
}
/// What can be compared: features of one version, of one machine.
inline std::uint64_t kind_of_examples(target const& machine) {
  std::string text = joined({std::to_string(features_version), " ", machine_text(machine), " ", machine.feature_string()});
  return xxh64(text);
}
inline void tuning_run::learn_of_others() {
  if (!options_.transfer || options_.random || !store_.usable()) return;
  kind_ = kind_of_examples(machine_), family_ = xxh64(family());
  others_.fit(store_.of_others(trials_task_, kind_, family_));
  result_.of_others = static_cast<std::int64_t>(others_.size());
}
inline bool has_many_steps(space const& s) { return s.at({}).steps.size() > 24; }
/// Chains by rule walk on the knobs' values, and few points are looked at: that is a run of the rule, which takes ten times as long as a how-lambda,
/// more so where it has many steps. Its first point is good already.
inline annealing_settings settings_for(space const& s) {
  annealing_settings how;
  if (!s.is_by_rule()) return how;
  how.near_first = 0.75;
  bool const is_long = has_many_steps(s) || s.request().gpu != nullptr;  // a GPU's points are lowered, all of them
  how.looks = is_long ? 48 : 200, how.reranked = is_long ? 24 : 64, how.estimated = is_long ? 16 : 32;
  return how;
}
inline void tuning_run::note_measured(point const& p, tune_trial t, double guess) {
  search_->learn(p, t.ns);
  if (example e; kind_ != 0 && t.ns > 0 && search_->describe(p, e)) e.ns = t.ns, store_.add(trials_task_, kind_, family_, e);
  if (guess > 0 && t.ns > 0) expected_ns_.push_back(guess), found_ns_.push_back(t.ns);
  note(static_cast<tune_trial&&>(t), guess);
}
/// While one is timed, others are compiled: NVRTC takes most of a trial, and runs on cores that the GPU does not need.
inline void tuning_run::measure_ahead(sequence<point> const& fresh, sequence<double> const& guesses) {
  sequence<candidate_text> texts(fresh.size());
  sequence<std::int32_t> by(fresh.size(), std::int32_t(-1));  // which of the compilers has it
  sequence<bool> busy(compilers_.size(), false);
  std::size_t given = 0;
  auto const give = [&] {
    for (std::size_t k = 0; k < compilers_.size() && given < fresh.size(); ++k) {
      if (busy[k] || !may_go_on()) continue;
      sequence<intrinsic const*> known;
      candidate_text& c = texts[given];
      write(fresh[given].choices, c);
      busy[k] = !c.loops.empty() && compilers_[k]->begin_compiling(c.loops, machine_.cpu, instructions_of(fresh[given].choices, known));
      if (busy[k]) by[given] = static_cast<std::int32_t>(k);
      ++given;
    }
  };
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    give();
    if (by[i] >= 0) {
      auto const k = static_cast<std::size_t>(by[i]);
      {
        waiting const compiled(waited_ns_);
        texts[i].made = compilers_[k]->made(texts[i].why);
      }
      busy[k] = false;
      if (!texts[i].made.empty()) ++result_.compiled_ahead;
      give();
    }
    // What others still compile is heard, and left.
    if (may_go_on()) note_measured(fresh[i], measured(fresh[i].choices, 3 * result_.best_ns, static_cast<candidate_text&&>(texts[i])), guesses[i]);
  }
}
inline sequence<tune_trial> tuning_run::measured_elsewhere(sequence<sequence<std::int32_t>> const& points, double give_up_ns) {
  waiting const others(waited_ns_);
  return crew_->measure(points, give_up_ns);
}
WEFT_DECL bool tuning_run::go_on(std::size_t trials) {
  own_time const own(result_.searching_seconds, waited_ns_);
  if (!may_go_on()) return false;
  auto const left = static_cast<std::size_t>(options_.trials) - result_.trials.size();
  sequence<point> const proposed = search_->propose(left < trials ? left : trials);
  sequence<point> fresh;
  sequence<double> guesses;
  sequence<sequence<std::int32_t>> choices;
  for (point const& p : proposed) {
    bool measured_before = false;
    for (tune_trial const& t : result_.trials) measured_before = measured_before || t.choices == p.choices;
    if (measured_before) continue;
    fresh.push_back(p), choices.push_back(p.choices), guesses.push_back(search_->expected_ns(p));
  }
  double const give_up_ns = 3 * result_.best_ns;
  if (crew_ != nullptr && crew_->size() > 0) {
    sequence<tune_trial> const all = measured_elsewhere(choices, give_up_ns);
    for (std::size_t i = 0; i < all.size(); ++i) note_measured(fresh[i], all[i], guesses[i]);
  } else if (!compilers_.empty()) {
    measure_ahead(fresh, guesses);
  } else {
    for (std::size_t i = 0; i < fresh.size() && may_go_on(); ++i)
      note_measured(fresh[i], measured(choices[i], 3 * result_.best_ns), guesses[i]);
  }
  return !proposed.empty() && may_go_on();
}

/// The fastest few, and the first one, which stands for what there was.
inline sequence<std::size_t> tuning_run::finalists() const {
  sequence<std::size_t> all{0};
  while (all.size() < 4) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < result_.trials.size(); ++i) {
      bool taken = result_.trials[i].ns <= 0;
      for (std::size_t k : all) taken = taken || k == i;
      if (!taken && (best == 0 || result_.trials[i].ns < result_.trials[best].ns)) best = i;
    }
    if (best == 0) break;
    all.push_back(best);
  }
  return all;
}
/// In turns, as all that is compared (bench::measure). The first one stays unless another is faster by a hundredth, 95 % sure (bench::judged).
inline void tuning_run::confirm() {
  sequence<std::size_t> const in = finalists();
  sequence<bool> good(in.size(), true);
  for (std::size_t i = 0; i < in.size(); ++i) good[i] = !result_.trials[in[i]].wrong;
  bool const first_is_wrong = !good[0];
  auto const load_all = [&] {
    for (std::size_t i = 0; i < in.size(); ++i) {
      tune_trial ignored;
      good[i] = good[i] && prepare(static_cast<int>(i), result_.trials[in[i]].choices, ignored);
    }
  };
  load_all();
  // A worker that ends takes all that it had compiled with it. Who ran is out, but for the first one, which is believed three times.
  int ended = 0;
  auto const sample_of = [&](std::size_t i, std::int64_t times) -> double {
    for (;;) {
      if (!good[i]) return -1;
      slot_calls call(runner_, static_cast<int>(i), measured_ns_, waited_ns_);
      call.expect(result_.trials[in[i]].ns);
      double const ns = call.run(times);
      if (ns > 0) return ns;
      good[i] = i == 0 && ++ended < 3;
      load_all();
    }
  };
  struct finalist {
    decltype(sample_of) const* sample = nullptr;
    std::size_t at = 0;
  };
  finalist each[4];
  sequence<bench::timed_work> works;
  for (std::size_t i = 0; i < in.size(); ++i) {
    each[i] = {&sample_of, i};
    works.push_back({nullptr, &each[i], [](void* of, std::int64_t times) {
                       auto const& one = *static_cast<finalist const*>(of);
                       return (*one.sample)(one.at, times);
                     }});
  }
  // Of fewer than 6 rounds nothing is sure, however long a call is: bench::measure ends at five times the budget.
  double const call_ms = result_.trials[0].ns / 1e6;
  sequence<bench::timing> const times = bench::measure(
      works, {.budget_ms = call_ms > 300 ? 1.5 * call_ms : 500, .within = 0.005, .fewest = 8, .most = 21});
  rounds_ = static_cast<int>(times[0].samples.size());
  compared_ = in;
  for (std::size_t i = 0; i < in.size(); ++i) turns_ns_.push_back(good[i] ? time_of(times[i]) : 0);
  auto const fastest = [&] {
    std::size_t best = 0;
    for (std::size_t i = 1; i < in.size(); ++i) {
      if (!good[i] || times[i].samples.empty() || (!good[0] && !first_is_wrong)) continue;
      bool const faster = first_is_wrong || bench::judged(bench::ratio_of_medians(times[i].samples, times[0].samples)) == bench::outcome::faster;
      if (faster && (!good[best] || time_of(times[i]) < time_of(times[best]))) best = i;
    }
    return best;
  };
  std::size_t best = fastest();
  for (; best != 0 && by_whole_numbers_ && whole_is_dear(); best = fastest()) {
    slot_calls call(runner_, static_cast<int>(best), measured_ns_, waited_ns_);
    call.expect(result_.trials[in[best]].ns);
    if (sums_the_same(result_.trials[in[best]], call)) break;
    good[best] = false;
    load_all();  // its worker may have ended with it
  }
  if (good[0]) result_.first_ns = time_of(times[0]);
  result_.best_ns = good[best] && !times[best].samples.empty() ? time_of(times[best]) : result_.trials[in[best]].ns;
  result_.choices = result_.trials[in[best]].choices;
}

/// With each knob's first value.
inline schedule tuning_run::first_steps() const {
  return space_.steps({});
}
/// The best schedule in words and as code.
inline void tuning_run::describe() {
  schedule const best = space_.at(result_.choices), first = space_.at(first_.choices);
  std::string changed;
  for (std::size_t i = 0; i < best.knobs.size(); ++i) {
    knob_info const& k = best.knobs[i];
    std::int64_t const value = k.values[static_cast<std::size_t>(k.chosen)];
    result_.knobs.push_back({std::string(k.name.view()), value});
    bool const same = i < first.knobs.size() && first.knobs[i].chosen == k.chosen && first.knobs[i].values == k.values;
    if (same) continue;
    changed += joined({changed.empty() ? "" : ", ", k.name.view(), " = ", std::to_string(value)});
    if (i < first.knobs.size() && first.knobs[i].name.view() == k.name.view())
      changed += joined({" instead of ", std::to_string(first.knobs[i].values[static_cast<std::size_t>(first.knobs[i].chosen)])});
  }
  schedule written(what_, [](int, int) { return std::int64_t(-1); });
  replay(written, best.steps);
  result_.how = print_how(written);
  result_.loops = print_loops(best);
  result_.why = found_elsewhere_
                    ? joined({"found by the one that searches: ", changed.empty() ? "the first values" : changed})
                : result_.trials.size() <= 1
                    ? std::string("the first values stay: nothing else was measured")
                : changed.empty()
                    ? joined({"the first values are the best that were found: no candidate was surely faster by a hundredth in ",
                              std::to_string(rounds_), " rounds of turns"})
                    : joined({number_text(result_.first_ns / result_.best_ns), " times as fast as without tuning (",
                              time_text(result_.first_ns), "), confirmed in ", std::to_string(rounds_), " rounds of turns: ", changed});
}
inline own_times tuning_run::times_of(sequence<std::int32_t> const& choices) const {
  own_times all;
  for (tune_trial const& t : result_.trials)
    if (t.choices == choices) all.of_trial = t.ns;
  for (std::size_t i = 0; i < compared_.size(); ++i)
    if (result_.trials[compared_[i]].choices == choices) all.in_turns = turns_ns_[i];
  return all;
}
/// On disk, and in this process: forms of other schedules are not found any more.
inline void tuning_run::keep(std::int64_t trials) {
  cache::tuned const t{result_.choices, hash(space_.at(result_.choices).steps), result_.best_ns, trials, space_.plan()};
  cache::tuned before;
  bool const found = cache::find_tuned(task_, before), imported = found && before.trials == 0;  // nobody has measured it here
  // A lucky time of an earlier day does not hold for ever: what was measured anew counts as it was found now.
  own_times ours = times_of(result_.choices);
  if (ours.of_trial <= 0 && ours.in_turns <= 0) ours.of_trial = t.ns;  // found elsewhere
  bool slower_now = is_no_faster(times_of(before.choices), ours);
  for (tune_trial const& one : result_.trials) slower_now = slower_now || (one.choices == before.choices && one.wrong);
  // What another process has found meanwhile was not looked at: of the two the faster one stays.
  result_.kept = cache::keep_tuned(task_, t, imported || slower_now || (found && is_stale(before)) || before.choices == t.choices, &before);
  if (!result_.kept) return;
  if (face_.gpu != nullptr) face_.gpu->supersede(face_.name);
  cache::relative as_relative = cache::described(task_, layout_, machine_);
  cache::note_choices(as_relative, space_.at(result_.choices));
  as_relative.plan = space_.plan();
  static_cast<void>(cache::keep_relative(family(), as_relative));
  struct context {
    kernel_face const& face;
    program const& what;
  } const c{face_, what_};
  supersede(
      [](void const* of, ready_kernel const& k) {
        auto const& wanted = *static_cast<context const*>(of);
        return k.name == wanted.face.name && k.machine == wanted.face.machine && digest(k.what) == digest(wanted.what);
      },
      &c);
}

WEFT_DECL bool tuning_run::begin() {
  own_time const own(result_.searching_seconds, waited_ns_);
  bool const possible = space_.first(first_);
  // A point of a how-lambda takes 4 us, one of a rule 20 to 250, one for a GPU more; a trial at least 20 ms.
  double const for_counting = (space_.is_by_rule() ? 0.001 : 0.002) * static_cast<double>(options_.trials), allowed = 0.02 * options_.seconds;
  int const walks = face_.gpu != nullptr || has_many_steps(space_) ? 96 : space_.is_by_rule() ? 256 : 2048;
  result_.space = measure(space_, 1000000, 1, walks, for_counting < allowed ? for_counting : allowed);
  if (!possible) {
    make_schedule(space_.request());  // says what is wrong, if all is
    result_.why = "no values of the knobs fit the registers of this machine: nothing was measured";
    return false;
  }
  measure_first();
  learn_of_others();
  annealing_settings how = settings_for(space_);
  how.others = &others_;
  if (options_.random) search_ = new random_search(space_, options_.seed);
  else search_ = new annealing_search(space_, options_.seed, how);
  for (tune_trial const& t : result_.trials) search_->learn(space_.look(t.choices), t.ns);
  learn_earlier();
  if (crew_ != nullptr) {
    waiting const others(waited_ns_);
    crew_->begin(task_here_now());
    result_.refused = crew_->refused();
  }
  return true;
}
WEFT_DECL tune_result tuning_run::finish() {
  if (std::size_t const n = expected_ns_.size(); n >= 8) {
    result_.model_quality = rank_correlation(expected_ns_.data(), found_ns_.data(), n);
    result_.model_recall = top_recall(expected_ns_.data(), found_ns_.data(), n, n / 4);
  }
  {
    own_time const own(result_.searching_seconds, waited_ns_);
    if (result_.trials.size() > 1) confirm();
    describe();
    bool wrong = false;
    for (tune_trial const& t : result_.trials) wrong = wrong || (t.wrong && t.choices == result_.choices);
    if (options_.keep && result_.trials.size() > 1 && !wrong) keep(static_cast<std::int64_t>(result_.trials.size()));
  }
  if (crew_ != nullptr) crew_->end(result_);
  result_.store = !options_.keep ? std::string("not used: tune_options::keep is false") : trials_file(true).empty() ? joined({"the cache is ", cache::status()}) : store_.status();
  result_.worker = runner_.where(), result_.worker_program = runner_.program();
  result_.worker_starts = runner_.starts();
  result_.seconds = elapsed();
  result_.measuring_seconds = measured_ns_ / 1e9;
  return static_cast<tune_result&&>(result_);
}
WEFT_DECL tune_result tuning_run::run() {
  if (!begin()) return static_cast<tune_result&&>(result_);
  std::size_t const at_once = crew_ != nullptr ? 2 * static_cast<std::size_t>(crew_->size()) : 0;
  while (go_on(at_once > options_.batch ? at_once : options_.batch)) {
  }
  return finish();
}
WEFT_DECL int gpus_here(isolation where) {
  if (find_gpu_bench() == nullptr) return 0;
  if (where != isolation::forked) return linked_gpu_bench.devices();
  std::string const answer = asked_in_a_fork([] { return std::to_string(linked_gpu_bench.devices()); });
  return answer[0] == '!' ? 0 : std::atoi(answer.c_str());
}
WEFT_DECL std::string machine_text(target const& t) {
  if (t.arch == architecture::nvidia && !t.features.empty())
    return joined({t.features[0], " (", t.cpu, ", ", std::to_string(t.threads), " processors)"});
  auto const kib = [](std::int64_t bytes) { return joined({std::to_string(bytes >> 10), " KiB"}); };
  return joined({t.cpu, ", ", std::to_string(t.vector_registers), " vectors of ", std::to_string(t.vector_bytes), " bytes, caches of ",
                 kib(t.l1_bytes), ", ", kib(t.l2_bytes), ", ", kib(t.l3_bytes), ", ", std::to_string(t.threads), t.threads == 1 ? " thread" : " threads"});
}
WEFT_DECL std::string why_no_part(task_here const& theirs, task_here const& ours) {
  if (theirs.task == ours.task && theirs.task != 0 && theirs.features == ours.features) return theirs.first_ns > 0 ? "" : "it could measure nothing";
  if (theirs.machine != ours.machine)
    return joined({"its machine is another one, for which the rules make other schedules: ", theirs.machine, "; that of rank 0: ", ours.machine,
                   ". Start the ranks on machines of one kind, with as many threads each (mpirun --host, --map-by), and tune on the others by themselves"});
  if (theirs.features != ours.features)
    return joined({"its processor has other instructions than that of rank 0, though both are ", ours.machine,
                   ". Start the ranks on machines of one kind (mpirun --host), and tune on the others by themselves"});
  return "its task is another one on a machine of the same kind: call tune_on_ranks with the same kernel and arguments of the same shapes on all ranks";
}
inline task_here tuning_run::task_here_now() const {
  return {xxh64(task_), result_.first_ns, machine_text(machine_), xxh64(machine_.feature_string())};
}
/// What was found elsewhere for the same task.
inline void tuning_run::take_over(sequence<std::int32_t> const& choices, double ns, std::int64_t trials) {
  if (ns <= 0 || !space_.look(choices).legal) return;
  result_.choices = choices, result_.best_ns = ns, found_elsewhere_ = true;
  describe();
  if (options_.keep && trials > 0) keep(trials);
}
WEFT_DECL tune_result tuning_run::serve(trial_source& from) {
  bool const possible = space_.first(first_);
  if (possible) measure_first();
  task_here here = task_here_now();
  if (!possible) here.task = 0;
  if (!from.begin(here, result_.why)) {
    if (result_.why.empty()) result_.why = "this process took no part: the one that searches is gone";
    return static_cast<tune_result&&>(result_);
  }
  trial_request r;
  while (from.next(r)) {
    result_.trials.push_back(measured(r.choices, r.give_up_ns));
    from.answer(result_.trials.back());
  }
  take_over(r.choices, r.best_ns, r.trials);
  if (result_.why.empty()) result_.why = "nothing was found: the one that searches is gone";
  result_.worker = runner_.where(), result_.worker_program = runner_.program();
  result_.worker_starts = runner_.starts();
  result_.seconds = elapsed();
  return static_cast<tune_result&&>(result_);
}
WEFT_DECL tune_result measure_for(kernel_face const& face, argument* arguments, int count, tune_options const& o, trial_source& from) {
  tuning_run run(face, arguments, count, o);
  return run.serve(from);
}
}  // namespace detail

WEFT_DECL space_size size_of_space(kernel_face const& face, argument* arguments, int count) {
  if (face.open != nullptr)
    WEFT_THROW(argument_error(joined({face.name, ": search_space: sizes that are open (weft::dim) have no one space: ask with the kernel for numbers"})));
  program const what = face.what(face.object);
  bool left_out = false;
  for (int i = 0; i < count; ++i) left_out = left_out || arguments[i].is_allocated_here;
  if (left_out) shape_outputs(what, arguments, count);
  // A GPU is asked by a child, as long as candidates could run in forks of this process: CUDA is not to begin here.
  bool const forks = face.gpu != nullptr && !runtime::cuda_has_begun() && !main_calls_worker() && other_threads() == 0;
  target const& machine = detail::machine_of(face, forks ? isolation::forked : isolation::automatic);
  call_layout const layout = face.gpu != nullptr ? face.gpu->bind(what, face.name, arguments, count) : weft::bind(what, face.name, arguments, count);
  space all({face.name, &what, face.how, face.object, &layout, &machine, detail::wanted_of(face, {}), detail::is_by_rule(face), nullptr, face.gpu});
  return measure(all, 1000000, 1, all.is_by_rule() || face.gpu != nullptr ? 256 : 2048);
}
WEFT_DECL tune_result tune(kernel_face const& face, argument* arguments, int count, tune_options const& o, candidate_view view,
                           detail::trial_crew* crew) {
  detail::tuning_run run(face, arguments, count, o, view, crew);
  return run.run();
}

}  // namespace tuning

WEFT_DECL std::string tune_result::text() const {
  int counts[5] = {}, wrong = 0;
  for (tune_trial const& t : trials) {
    if (t.wrong) ++wrong;
    else ++counts[static_cast<int>(t.result)];
  }
  std::string all = joined({kernel, ": ", tuning::text(space), "; ", std::to_string(trials.size()), " trials in ",
                            tuning::detail::number_text(seconds, "%.1f"), " s: ", std::to_string(counts[0]), " good"});
  for (int i = 1; i < 5; ++i)
    if (counts[i] > 0) all += joined({", ", std::to_string(counts[i]), " ", tuning::name(static_cast<tuning::outcome>(i))});
  if (wrong > 0) all += joined({", ", std::to_string(wrong), " wrong"});
  all += joined({"\n  best    ", tuning::detail::time_text(best_ns), "; without tuning ", tuning::detail::time_text(first_ns),
                 roofline_ns > 0 ? joined({"; no schedule takes less than ", tuning::detail::time_text(roofline_ns)}) : "",
                 "\n  why     ", why, joined({"\n  search  ", tuning::detail::number_text(searching_seconds), " s; in calls of candidates ",
                         tuning::detail::number_text(measuring_seconds), " s"}), "\n  checked ", checked, "\n  kept    ", kept ? "on disk" : "no", "; ", store,
                 "\n  model   ", model_quality == 0 ? "too few trials to tell"
                                        : joined({"rank correlation ", tuning::detail::number_text(model_quality), ", of the fastest quarter ",
                                                  tuning::detail::number_text(100 * model_recall, "%.0f"), " % expected"}),
                  of_others > 0 ? joined({"; it began with ", std::to_string(of_others), " trials of other tasks"}) : "",
                  refused.empty() ? "" : joined({"\n  refused ", refused}), "\n  worker  ", tuning::name(worker), worker_program.empty() ? "" : " ", worker_program, ", started ", std::to_string(worker_starts), worker_starts == 1 ? " time\n" : " times\n", how, "\n"});
  return all;
}

}  // namespace weft::inline WEFT_ABI
