#include <cstdio>

#include "weft/base/env.hpp"
#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/bench/counts.hpp"
#include "weft/bench/peak.hpp"
#include "weft/expr/canonical.hpp"
#include "weft/expr/expand.hpp"
#include "weft/ir/print.hpp"
#include "weft/runtime/bind.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/entry.hpp"
#include "weft/runtime/cache/one_keeper.hpp"
#include "weft/runtime/cache/tuned.hpp"
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

/// So long the trials' file, which others hold, is waited for.
inline double patience_of(tune_options const& o) {
  double const quarter = o.seconds / 4;
  return quarter > 2 ? 2 : quarter > 0.05 ? quarter : 0.05;
}
/// A bitwise tuning is one for bitwise calls: the rule keeps the order of sums then.
inline options wanted_of(kernel_face const& face, tune_options const& o) {
  options wanted = face.wanted;
  wanted.bitwise = wanted.bitwise || o.bitwise || environment_switch("WEFT_BITWISE");
  return wanted;
}
/// Whether the kernel's schedule is the rule's, as kernel_table asks for it.
inline bool is_by_rule(kernel_face const& face) { return face.how == nullptr && !face.wanted.plain && !environment_switch("WEFT_PLAIN"); }

/// The arithmetic that the program counts at the machine's peak, and the bytes at that of its memory where no cache holds them; 0: not
/// known. Of f32 and f64 alone is the peak of arithmetic known.
inline double roofline_of(program const& what, argument const* arguments, int count, target const& machine, int threads) {
  bench::counts const done = bench::counted(what, arguments);
  double held = 0;
  for (int i = 0; i < count; ++i) {
    double bytes = arguments[i].is_scalar ? 0 : size_bytes(arguments[i].type);
    for (int d = 0; d < arguments[i].rank; ++d) bytes *= static_cast<double>(arguments[i].extents[d]);
    held += bytes;
  }
  double const peak = done.peak_of(bench::peaks_of(threads).gflops), arithmetic = peak > 0 ? done.operations / peak : 0;
  bool const in_a_cache = machine.l3_bytes > 0 && held <= 2 * static_cast<double>(machine.l3_bytes);
  double const memory = in_a_cache ? 0 : done.bytes / bench::peaks_of(threads).gbs;
  return arithmetic > memory ? arithmetic : memory;
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
WEFT_DECL tuning_run::tuning_run(kernel_face const& face, argument* arguments, int count, tune_options const& o, candidate_view view,
                                 trial_crew* crew)
    : face_(face), options_(o), wanted_(wanted_of(face, o)), view_(view), crew_(crew), arguments_(arguments), count_(count), what_(face.what(face.object)),
      worker_(worker_for(face, o)), machine_(machine_of(face, worker_.where)), layout_(bound()),
      space_({face.name, &what_, face.how, face.object, &layout_, &machine_, wanted_, is_by_rule(face), nullptr, face.gpu}),
      copies_(arguments, count), runner_(copies_, worker_, face.gpu != nullptr ? face.device : -1, face.gpu != nullptr ? nullptr : face.machine), store_(trials_file(o.keep), patience_of(o)), task_(task()), trials_task_(trials_task()) {
  if (o.seconds != o.seconds) WEFT_THROW(argument_error(joined({face.name, ": tune: tune_options::seconds is not a number"})));
  tolerance_ = {wanted_.bitwise, longest_reduction(what_, arguments)};
  whole_are_exact_ = whole_numbers_stay_exact(what_, arguments);
  // What writes over its inputs leaves nothing that direct evaluation could read.
  for (memory_block const& m : copies_.blocks()) whole_are_exact_ = whole_are_exact_ && !(m.written && m.read);
  by_other_numbers_ = whole_are_exact_ && !wanted_.bitwise && tolerance_.terms > 1024;
  hangs_on_nans_ = !wanted_.bitwise && hangs_on_nans(what_, arguments, count);
  result_.kernel = std::string(face.name);
  result_.done = bench::counted(what_, arguments);
  result_.threads = face.gpu != nullptr ? 0 : working_threads();
  result_.device = face.gpu != nullptr ? face.device : -1;
  std::int64_t const spare = host().threads - 2, wanted = o.compilers >= 0 ? o.compilers : spare < 8 ? spare : 8;
  for (std::int64_t i = 0; i < wanted && face.gpu != nullptr && runner_.where() != isolation::none; ++i)
    compilers_.push_back(new runner(copies_, worker_, face.device));
  runner_.wait_at_most(1e9 * (o.seconds > 5 ? o.seconds : 5), {[](void const* stop) { return static_cast<tune_stop const*>(stop)->requested(); }, &options_.stop});
  result_.searching_seconds = elapsed();
  if (o.within > 0 && face.gpu == nullptr && !o.stop.requested()) result_.roofline_ns = roofline_of(what_, arguments, count, machine_, result_.threads);
}
WEFT_DECL tuning_run::~tuning_run() {
  delete search_;
  for (runner* one : compilers_) delete one;
}
WEFT_DECL bool tuning_run::is_near_roofline() const {
  return options_.within > 0 && result_.best_ns > 0 && !is_below_roofline() && result_.best_ns <= result_.roofline_ns * (1 + options_.within);
}
inline std::string tuning_run::about_within() const {
  if (!(options_.within > 0) || result_.best_ns <= 0) return "";
  if (result_.roofline_ns <= 0)
    return face_.gpu != nullptr            ? "no effect: the peaks of a GPU are not known"
           : result_.done.float_bytes == 0 ? "no effect: the peak of arithmetic is known of programs of f32 and f64 alone, and a cache holds the tensors"
           : result_.stopped               ? "no effect: the tuning was stopped"
                                           : "no effect: the program has no arithmetic, and a cache holds the tensors";
  std::string const roofline = time_text(result_.roofline_ns);
  if (is_below_roofline())
    return joined({"no effect: the best takes less than the roofline, ", roofline, ", for which operations are counted that a schedule need not do"});
  return joined({"the best takes ", number_text(result_.best_ns / result_.roofline_ns), " times the roofline, ", roofline, is_near_roofline() ? ", which ends the tuning" : ""});
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
inline bool tuning_run::is_stopped() {
  if (options_.stop.requested()) result_.stopped = true;
  return result_.stopped;
}
inline bool tuning_run::may_go_on() {
  if (is_stopped() || !no_worker_.empty()) return false;
  if (!peaks_again_ && result_.best_ns > 0 && result_.best_ns < 0.99 * result_.roofline_ns) {  // peaks that were measured while something else ran
    peaks_again_ = true;
    static_cast<void>(bench::peaks_measured_again(result_.threads));
    result_.roofline_ns = roofline_of(what_, arguments_, count_, machine_, result_.threads);
  }
  std::int64_t const trials = others_trials_ + static_cast<std::int64_t>(result_.trials.size());
  reserved_ = reserve();
  bool const has_time = elapsed() + reserved_ + others_turns_ < options_.seconds;  // of several kernels each has turns, and those of all come at the end
  if (is_near_roofline()) why_alone_ = ", as they are near the roofline";
  else if (!has_time && trials < options_.trials) why_alone_ = no_time_to_compare;
  return trials < options_.trials && has_time && !is_near_roofline();
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
inline void tuning_run::write_next() {
  if (next_ != nullptr && !next_text_.written) write(*next_, next_text_);
}
/// Goes on to count the space while others work, if it can be expected to end: what measuring it took for so many points is known, and what a compilation takes.
inline void tuning_run::count_beside(double measured_for_ns) {
  space_size const& s = result_.space;
  double const each_ns = measured_for_ns / static_cast<double>(s.looked_at > 0 ? s.looked_at : 1);
  is_counting_ = !s.exact && s.looked_at > 0 && s.points <= 2e6 && each_ns * s.points < first_loaded_ns_ * static_cast<double>(options_.trials);
}
/// Half a millisecond of it, or a point.
inline bool tuning_run::count_on() {
  double const began = now_ns();
  while (is_counting_ && now_ns() - began < 5e5) is_counting_ = all_points_.go_on(1);
  if (all_points_.so_far().exact && !result_.space.exact) {
    std::int64_t const looked_at = result_.space.looked_at;
    result_.space = all_points_.so_far();
    result_.space.looked_at += looked_at;
  }
  return is_counting_;
}
/// What is left to count by then, if that takes no more than a twentieth of the tuning, or of its share, and the seconds allow it.
inline void tuning_run::count_rest() {
  double const took = elapsed(), until = took + 0.05 * (share_ > 0 && share_ < took ? share_ : took);
  while (is_counting_ && !is_stopped() && elapsed() < until && elapsed() + others_turns_ < options_.seconds) static_cast<void>(count_on());
}
inline side_work tuning_run::beside() {
  return {[](void* run) {
            static_cast<tuning_run*>(run)->write_next();
            return static_cast<tuning_run*>(run)->count_on();
          },
          this};
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
  double const began = now_ns();
  int const starts = runner_.starts();
  t.result = c.loops.empty() || !c.why.empty()
                 ? outcome::refused
                 : runner_.load(slot, c.loops, t.why, instructions_of(choices, known), choices == first_.choices, c.made,
                                beside());
  // What a finalist will take: neither what was not compiled, nor the start of a worker.
  if (t.result == outcome::good && first_loaded_ns_ <= 0) first_loaded_ns_ = now_ns() - began;
  if (t.result == outcome::good && runner_.starts() == starts) loaded_ns_ += now_ns() - began, ++loads_;
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
  double const once_ns = calls.run(1);
  if (once_ns < 0) {
    t.result = runner_.last();
    t.why = t.result == outcome::hung      ? "it did not end"
            : t.result == outcome::crashed ? joined({"it ended the worker: ", runner_.why().empty() ? "an access outside of its tensors, perhaps" : runner_.why()})
            : runner_.why().empty()        ? "it said that it failed"
                                           : runner_.why();
    return t;
  }
  if (!computes_the_same(t)) return t;
  // Where that takes long, of those alone that may be the best, which their times say first (and `confirm` once more of who wins).
  bool const others_first = give_up_ns <= 0 || !others_are_dear();
  if (by_other_numbers_ && others_first && !sums_the_same(t, calls)) return t;
  if (give_up_ns <= 0 && result_.trials.empty() && once_ns > 1e8 && elapsed() + 4e-9 * once_ns > options_.seconds) return t.ns = once_ns, t;  // it is compared with nothing
  // Of a call that takes all of the budget three do: nothing is compared here but for `confirm`, which has turns of its own.
  measuring how{.sample_ms = 0.3, .budget_ms = 100, .within = 0.02, .fewest = once_ns > 1e8 ? 3 : 6, .most = 31};
  how.give_up_ms = give_up_ns / 1e6;
  bench::timing const time = bench::measure({calls.work()}, how)[0];
  t.ns = time.failed ? 0 : time_of(time);
  if (t.ns <= 0) t.result = runner_.last(), t.why = "it failed while it was timed";
  if (by_other_numbers_ && !others_first && t.ns > 0 && 3 * t.ns < give_up_ns && !sums_the_same(t, calls)) t.ns = 0;
  return t;
}

inline void tuning_run::store(tune_trial const& t) {
  store_.add(trials_task_, face_.name, {t.choices, t.ns, static_cast<std::int32_t>(t.result), t.wrong, hash(space_.steps(t.choices).steps)});
}
inline void tuning_run::note(tune_trial t, double expected_ns) {
  // Without a worker nothing was learned of the candidate.
  if (t.ns <= 0 && t.result == outcome::crashed && runner_.never_answered() && !result_.trials.empty()) return void(no_worker_ = runner_.why_never());
  t.expected_ns = expected_ns;
  if (t.ns > 0 && (result_.best_ns <= 0 || t.ns < result_.best_ns)) result_.best_ns = t.ns, result_.choices = t.choices;
  store(t);
  result_.trials.push_back(static_cast<tune_trial&&>(t));
  tell(0);
}
inline void tuning_run::tell(int rounds) {
  tune_progress const p{others_trials_ + static_cast<std::int64_t>(result_.trials.size()), options_.trials, elapsed(), options_.seconds,
                        result_.best_ns, result_.first_ns, face_.name, rounds};
  if (!options_.progress(p)) result_.stopped = true;
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
  if (t.ns > 0 || !runner_.never_answered()) search_->learn(p, t.ns);
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
        texts[i].made = compilers_[k]->made(texts[i].why, beside());
      }
      busy[k] = false;
      if (!texts[i].made.empty()) ++result_.compiled_ahead;
      give();
    }
    // What others still compile is heard, and left.
    if (may_measure(i)) note_measured(fresh[i], measured(fresh[i].choices, 3 * result_.best_ns, static_cast<candidate_text&&>(texts[i])), guesses[i]);
  }
}
inline bool tuning_run::is_measured(sequence<std::int32_t> const& choices) const {
  for (tune_trial const& t : result_.trials)
    if (t.choices == choices) return true;
  return false;
}
/// Those that were put off come first: nobody proposes them again.
inline sequence<point> tuning_run::proposals(std::size_t wanted) {
  sequence<point> all = static_cast<sequence<point>&&>(put_off_);
  put_off_.clear();
  if (all.size() >= wanted) return all;
  for (point const& p : search_->propose(wanted - all.size())) all.push_back(p);
  return all;
}
inline void tuning_run::put_off_unmeasured(sequence<point> const& fresh) {
  for (point const& p : fresh)
    if (!is_measured(p.choices)) put_off_.push_back(p);
}
inline sequence<tune_trial> tuning_run::measured_elsewhere(sequence<sequence<std::int32_t>> const& points, double give_up_ns) {
  waiting const others(waited_ns_);
  return crew_->measure(points, give_up_ns, {this, [](void* run) { return static_cast<tuning_run*>(run)->may_go_on(); }});
}
WEFT_DECL bool tuning_run::go_on(std::size_t trials, double seconds) {
  own_time const own(result_.searching_seconds, waited_ns_);
  if (!may_go_on()) return false;
  batch_ends_ = elapsed() + seconds;
  auto const left = static_cast<std::size_t>(options_.trials - others_trials_) - result_.trials.size();
  if (trials == 0) trials = 1;
  sequence<point> const proposed = proposals(left < trials ? left : trials);
  sequence<point> fresh;
  sequence<double> guesses;
  sequence<sequence<std::int32_t>> choices;
  for (point const& p : proposed) {
    if (is_measured(p.choices)) continue;
    fresh.push_back(p), choices.push_back(p.choices), guesses.push_back(search_->expected_ns(p));
  }
  double const give_up_ns = 3 * result_.best_ns;
  if (crew_ != nullptr && crew_->size() > 0) {
    sequence<tune_trial> const all = measured_elsewhere(choices, give_up_ns);
    for (std::size_t i = 0; i < all.size(); ++i) note_measured(fresh[i], all[i], guesses[i]);
    for (std::size_t i = all.size(); i < fresh.size() && may_go_on(); ++i)  // all are lost
      note_measured(fresh[i], measured(choices[i], 3 * result_.best_ns), guesses[i]);
  } else if (!compilers_.empty()) {
    measure_ahead(fresh, guesses);
  } else {
    for (std::size_t i = 0; i < fresh.size() && may_measure(i); ++i) {
      candidate_text text = static_cast<candidate_text&&>(next_text_);
      next_text_ = {};
      next_ = i + 1 < fresh.size() ? &choices[i + 1] : nullptr;
      note_measured(fresh[i], measured(choices[i], 3 * result_.best_ns, static_cast<candidate_text&&>(text)), guesses[i]);
    }
    next_ = nullptr, next_text_ = {};
  }
  put_off_unmeasured(fresh);
  return !proposed.empty() && may_go_on();
}

WEFT_DECL bool tuning_run::begin() {
  own_time const own(result_.searching_seconds, waited_ns_);
  bool const possible = space_.first(first_);
  // A point of a how-lambda takes 4 us, one of a rule 20 to 250, one for a GPU more; a trial at least 20 ms.
  double const for_counting = (space_.is_by_rule() ? 0.001 : 0.002) * static_cast<double>(options_.trials), allowed = 0.02 * options_.seconds;
  int const walks = face_.gpu != nullptr || has_many_steps(space_) ? 96 : space_.is_by_rule() ? 256 : 2048;
  bool const is_over = is_stopped();  // a result has the schedule without tuning all the same
  double const began = now_ns();
  if (!is_over) result_.space = measure(space_, 1000000, 1, walks, for_counting < allowed ? for_counting : allowed);
  double const measured_for_ns = now_ns() - began;
  if (!possible) {
    make_schedule(space_.request());  // says what is wrong, if all is
    result_.why = "no values of the knobs fit the registers of this machine: nothing was measured";
    result_.not_kept = "nothing was measured";
    return false;
  }
  measure_first();
  if (is_over) {
    if (crew_ != nullptr) crew_->begin(task_here_now());
    return true;
  }
  count_beside(measured_for_ns);
  learn_of_others();
  annealing_settings how = settings_for(space_);
  how.others = &others_;
  how.given_up = {[](void const* run) { return static_cast<tuning_run const*>(run)->is_over(); }, this};
  if (options_.random) search_ = new random_search(space_, options_.seed, how.given_up);
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
WEFT_DECL void tuning_run::leave(std::string_view why) {
  if (space_.first(first_)) result_.choices = first_.choices, describe();
  result_.why = joined({"nothing was measured, and the schedule stays as it was: ", why, " before it came to this kernel"});
  result_.store = "nothing to keep", result_.not_kept = "nothing was measured";
  result_.seconds = elapsed();
}
WEFT_DECL tune_result tuning_run::finish() {
  if (std::size_t const n = expected_ns_.size(); n >= 8) {
    result_.model_quality = rank_correlation(expected_ns_.data(), found_ns_.data(), n);
    result_.model_recall = top_recall(expected_ns_.data(), found_ns_.data(), n, n / 4);
  }
  {
    own_time const own(result_.searching_seconds, waited_ns_);
    if (result_.trials.size() > 1) confirm();
    count_rest();
    describe();
    result_.within = about_within();
    bool wrong = false;
    for (tune_trial const& t : result_.trials) wrong = wrong || (t.wrong && t.choices == result_.choices);
    result_.not_kept = !options_.keep                ? "tune_options::keep is false"
                       : result_.trials.size() <= 1 ? "nothing else was measured"
                       : wrong                      ? "its results are wrong"
                                                    : "";
    if (result_.not_kept.empty()) keep(static_cast<std::int64_t>(result_.trials.size()));
  }
  if (crew_ != nullptr) crew_->end(result_);
  result_.store = !options_.keep ? std::string("not used: tune_options::keep is false") : trials_file(true).empty() ? joined({"the cache is ", cache::status()}) : store_.status();
  if (result_.kept && cache::detail::lock_is_stuck) result_.store += "; another process has the lock of the directory, and what it keeps at the same time may take the place of the result";
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
inline task_here tuning_run::task_here_now() const {
  return {xxh64(task_), result_.first_ns, machine_text(machine_), xxh64(machine_.feature_string())};
}
/// What was found elsewhere for the same task.
inline void tuning_run::take_over(sequence<std::int32_t> const& choices, double ns, std::int64_t trials) {
  if (ns <= 0 || !space_.look(choices).legal) return;
  result_.choices = choices, result_.best_ns = ns, found_elsewhere_ = true;
  describe();
  result_.not_kept = !options_.keep ? "tune_options::keep is false" : trials <= 0 ? "the one that searches has kept nothing" : "";
  if (result_.not_kept.empty()) keep(trials);
}
WEFT_DECL tune_result tuning_run::serve(trial_source& from) {
  bool const possible = space_.first(first_);
  if (possible) measure_first();
  task_here here = task_here_now();
  if (!possible) here.task = 0;
  result_.not_kept = "nothing was found";
  if (!from.begin(here, result_.why)) {
    if (result_.why.empty()) result_.why = "this process took no part: the one that searches is gone";
    return static_cast<tune_result&&>(result_);
  }
  trial_request r;
  while (from.next(r)) {
    result_.trials.push_back(measured(r.choices, r.give_up_ns));
    // Who leaves is asked no more.
    if (runner_.never_answered()) WEFT_THROW(device_error(joined({face_.name, ": tune: no candidate can be measured any more: ", runner_.why_never()})));
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
  std::string all = joined({kernel, ": ", tuning::text(space), "; ", tuning::detail::trials_text(static_cast<std::int64_t>(trials.size())), " in ",
                            tuning::detail::number_text(seconds, "%.1f"), " s: ", std::to_string(counts[0]), " good"});
  for (int i = 1; i < 5; ++i)
    if (counts[i] > 0) all += joined({", ", std::to_string(counts[i]), " ", tuning::name(static_cast<tuning::outcome>(i))});
  if (wrong > 0) all += joined({", ", std::to_string(wrong), " wrong"});
  all += joined({"\n  best    ", best_ns > 0 ? joined({tuning::detail::time_text(best_ns), "; without tuning ", tuning::detail::time_text(first_ns)}) : "not measured",
                 within.empty() ? "" : joined({"\n  within  ", within}), "\n  why     ", why, joined({"\n  search  ", tuning::detail::number_text(searching_seconds), " s; in calls of candidates ",
                         tuning::detail::number_text(measuring_seconds), " s"}), "\n  checked ", checked, "\n  kept    ", kept ? "on disk" : joined({"no: ", not_kept}), "; ", store,
                 "\n  model   ", model_quality == 0 ? "too few trials to tell"
                                        : joined({"rank correlation ", tuning::detail::number_text(model_quality), ", of the fastest quarter ",
                                                  tuning::detail::number_text(100 * model_recall, "%.0f"), " % expected"}),
                  of_others > 0 ? joined({"; it began with ", tuning::detail::trials_text(of_others), " of other tasks"}) : "",
                  refused.empty() ? "" : joined({"\n  refused ", refused}), "\n  worker  ", tuning::name(worker), worker_program.empty() ? "" : " ", worker_program, ", started ", std::to_string(worker_starts), worker_starts == 1 ? " time\n" : " times\n", how, "\n"});
  return all;
}

}  // namespace weft::inline WEFT_ABI
