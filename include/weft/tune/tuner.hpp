// The tuner behind weft::tune, without types: a space, a search, a runner, a verdict on each candidate, and what is kept.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/bench/counts.hpp"
#include "weft/kernel_table.hpp"
#include "weft/tune/search.hpp"
#include "weft/tune/space.hpp"
#include "weft/tune/worker.hpp"

namespace weft::inline WEFT_ABI {

/// How a tuning goes on, for who watches it.
struct tune_progress {
  std::int64_t trials = 0, most_trials = 0;  // of all kernels that share the budget
  double seconds = 0, most_seconds = 0;
  double best_ns = 0;   // 0: none is right yet
  double first_ns = 0;  // of the schedule that the kernel would have without tuning
  std::string_view kernel{};  // whose trial it was
  int rounds = 0;       // of the finalists' turns, that are over: trials stay as they are; 0: a trial is over
};

/// Who is told of progress, behind each trial and between the finalists' turns, and may end the tuning: anything that is called with a tune_progress; false ends it, true and nothing
/// do not. A function, a lambda without captures, or a named object that outlives the tuning.
class tune_watcher {
 public:
  tune_watcher() = default;
  /// Nobody's copy: `f` is called where it stands.
  template <class F>
    requires(std::is_object_v<F> && !std::is_same_v<std::remove_const_t<F>, tune_watcher> && std::is_invocable_v<F&, tune_progress const&>)
  tune_watcher(F& f)
      : object_(const_cast<void*>(static_cast<void const*>(&f))), call_([](void* o, tune_progress const& p) { return goes_on(*static_cast<F*>(o), p); }) {}
  /// A function.
  template <class Answer>
  tune_watcher(Answer (*f)(tune_progress const&))
      : object_(reinterpret_cast<void*>(f)), call_([](void* o, tune_progress const& p) { return goes_on(*reinterpret_cast<Answer (*)(tune_progress const&)>(o), p); }) {}
  /// Without captures it needs no object.
  template <class F>
    requires(std::is_class_v<F> && !std::is_same_v<F, tune_watcher> && std::is_invocable_v<F const&, tune_progress const&>)
  tune_watcher(F const&&) {
    constexpr bool holds_nothing = std::is_empty_v<F> && std::is_default_constructible_v<F>;
    if constexpr (holds_nothing) call_ = [](void*, tune_progress const& p) { return goes_on(F{}, p); };
    static_assert(holds_nothing,
                  "weft: what watches a tuning and holds something needs a name, so that it outlives the tuning: auto show = [&](auto const& p) { .. }; options.progress = show;");
  }
  /// Whether to go on; nobody watches: yes.
  bool operator()(tune_progress const& p) const { return call_ == nullptr || call_(object_, p); }

 private:
  template <class F>
  static bool goes_on(F&& f, tune_progress const& p) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, tune_progress const&>>) return f(p), true;
    else return static_cast<bool>(f(p));
  }
  void* object_ = nullptr;
  bool (*call_)(void*, tune_progress const&) = nullptr;
};
/// A std::stop_token, or what else can be asked whether to stop: before each trial, and before each call in the finalists' turns. Of a named one nobody makes a copy: it outlives the tuning. What has no
/// name, as `source.get_token()`, is kept.
class tune_stop {
 public:
  tune_stop() = default;
  /// Nobody's copy: `t` is asked where it stands.
  template <class Token>
    requires requires(Token const& t) { static_cast<bool>(t.stop_requested()); }
  tune_stop(Token const& t)
      : object_(&t), call_([](void const* o) { return bool(static_cast<Token const*>(o)->stop_requested()); }) {}
  /// A copy of what has no name, which copies of the options share.
  template <class Token>
    requires(!std::is_lvalue_reference_v<Token> && !std::is_same_v<std::remove_const_t<Token>, tune_stop> &&
             requires(Token const& t) { static_cast<bool>(t.stop_requested()); })
  tune_stop(Token&& t) : tune_stop(*new std::remove_const_t<Token>(static_cast<Token&&>(t))) {
    kept_.reset(static_cast<std::remove_const_t<Token> const*>(object_));
  }
  /// Whether it says so by now.
  bool requested() const { return call_ != nullptr && call_(object_); }

 private:
  std::shared_ptr<void const> kept_;  // what had no name
  void const* object_ = nullptr;
  bool (*call_)(void const*) = nullptr;
};

/// What `tune` may spend, and how it goes about it.
struct tune_options {
  std::int64_t trials = 64;    // candidates that are measured at most
  double seconds = 60;         // all of it, the finalists' turns too, but for the trial that is under way
  std::uint64_t seed = 1;      // equal seeds and equal times give equal proposals
  /// Only schedules whose results have the bits of the kernel without tuning; by rule, those that take the terms of sums in order. What
  /// is found is for calls of the kernel `.with({.bitwise = true})`, and with a how-lambda for all where nothing else was found.
  bool bitwise = false;
  bool keep = true;            // the result on disk, for this and later processes
  bool random = false;         // no model: the baseline of searches
  std::size_t batch = 8;       // candidates between two fits of the model; 0 is 1
  /// Of the roofline: 0.02 ends the tuning when a call takes at most 1.02 of it; 0: never. The roofline is what the operations and bytes that the program counts (bench::counts)
  /// take at the machine's peaks. A schedule may need fewer operations: of what a loop does not change, of a select's other branch, of taps in padding. A best that takes
  /// less than 0.95 of the roofline shows that, and the roofline ends nothing then. tune_result::within says what came of it, also where no roofline is known.
  double within = 0;
  /// The model begins with what trials of other tasks on this machine have taught, and keeps what this one teaches. False: equal seeds and
  /// times give equal proposals whatever other tasks were tuned before. What is remembered of this one counts all the same: the result that is kept is
  /// the second trial, and those of its earlier trials that are learned (the fastest, and the latest) are not proposed again, if less than half of the space, which may be an estimate; `.random` and
  /// `.keep = false` do without these trials, and with an empty directory there is neither.
  bool transfer = true;
  std::int64_t compilers = -1;  // of a GPU: processes that compile candidates while others are timed; -1: of the threads all but two, at most 8
  tuning::isolation worker = tuning::isolation::automatic;
  std::string worker_program{};  // where candidates run: weft-worker, or another program that calls weft::worker; empty: as WEFT_WORKER says, if it does
  tune_watcher progress{};
  tune_stop stop{};
};

/// One candidate, and what became of it.
struct tune_trial {
  sequence<std::int32_t> choices;
  double ns = 0;           // of a call; 0: not measured
  double expected_ns = 0;  // by the model, before it was measured; 0: there was none
  tuning::outcome result = tuning::outcome::good;
  bool wrong = false;      // it ran, and computed something else
  std::string why{};       // it is not good
};
/// A knob and its value.
struct tune_choice {
  std::string name;
  std::int64_t value = 0;
};

/// What `tune` found.
struct tune_result {
  std::string kernel;
  tuning::space_size space{};
  sequence<tune_trial> trials;
  double first_ns = 0, best_ns = 0;  // of a call: as it would be without tuning; of the best
  sequence<std::int32_t> choices;    // schedule::choices of the best
  sequence<tune_choice> knobs;       // the same by name
  std::string how;                   // the best schedule as a how-lambda
  std::string loops;                 // and as loops
  std::string why;                   // in a sentence, why this one
  std::int32_t finalists = 0, rounds = 0;  // that were measured in turns at the end, and rounds of these, with those of a second look at two; 0: there was nothing to compare, or it was stopped before
  std::string checked;               // against what results were compared
  tuning::isolation worker = tuning::isolation::none;  // where candidates ran
  std::string worker_program{};      // of isolation::program
  std::int32_t device = -1;          // the number of the GPU that it is for; -1: none
  std::int64_t worker_starts = 0;    // more than 1: some of them ended it
  std::int64_t compiled_ahead = 0;   // candidates for a GPU, by other processes
  std::string refused{};             // ranks that took no part, and why (tune/mpi.hpp)
  bool kept = false;                 // it is on disk
  std::string not_kept{};            // why it is not; empty: it is
  std::string store;                 // how many trials are kept, and where
  std::int64_t earlier = 0;          // trials of earlier tunings that the model began with
  std::int64_t of_others = 0;        // trials of other tasks that it began with
  bool stopped = false;              // by who watches it
  double seconds = 0;                // that it took
  double measuring_seconds = 0;      // of these, in calls of candidates
  double searching_seconds = 0;      // and in neither compiling nor calling: the tuner's own cost, what it proposes, lowers, compares and keeps
  double roofline_ns = 0;            // what the counted operations and bytes take at the machine's peaks; 0: not known, or not asked for (tune_options::within)
  std::string within{};              // what became of tune_options::within, in a sentence; empty: it was not asked for
  bench::counts done{};              // of a call, by the program itself
  std::int32_t threads = 0;          // of calls, as far as the machine has as many; 0: a GPU
  double model_quality = 0;          // rank correlation of expected and measured times; 0: too few
  double model_recall = 0;           // of the fastest quarter of these, the share that was expected in it
  /// A page for people: the space, the trials in numbers, the best schedule.
  std::string text() const;
};

namespace tuning {
namespace detail {

/// What who measures for a tuning elsewhere is asked; the last one is no question, but what was found.
struct trial_request {
  sequence<std::int32_t> choices;
  double give_up_ns = 0;
  double best_ns = 0;       // of the last one
  std::int64_t trials = 0;  // likewise
};
/// What a tuning is of, where it runs.
struct task_here {
  std::uint64_t task = 0;     // 0: there is none
  double first_ns = 0;        // what the schedule without tuning takes
  std::string machine{};      // machine_text
  std::uint64_t features = 0;  // a hash of what instructions the code may have
};
/// What of a machine makes its schedules, in words: "x86-64-v4, 32 vectors of 64 bytes, caches of 32 KiB, 1024 KiB, 32768 KiB, 2 threads".
std::string machine_text(target const& t);
/// How many GPUs there are; a child asks where candidates will run in forks, which cannot use what this process has begun. 0: none, or no driver.
int gpus_here(isolation where);
/// Why `theirs` cannot measure for `ours`, in a sentence with a way out; empty: it can.
std::string why_no_part(task_here const& theirs, task_here const& ours);
/// Whether a tuning still has trials, time and nobody who stops it.
struct budget_question {
  void* of;
  bool (*asked)(void* of);
  bool operator()() const { return asked(of); }
};
/// Others who measure candidates in the place of this process, each on cores of its own (tune/mpi.hpp).
class trial_crew {
 public:
  virtual ~trial_crew() = default;
  /// Begins, for those who have the same task; `first_ns`: what the schedule without tuning takes here.
  virtual void begin(task_here const& here) = 0;
  /// In sentences, who takes no part, and why; empty: all do.
  virtual std::string refused() const = 0;
  /// How many there are by now.
  virtual int size() const = 0;
  /// Has them measured, in this order; a candidate whose measurer was lost has crashed. Of those that were not handed out, since nobody was left or
  /// `may_go_on` said no, there is no trial.
  virtual sequence<tune_trial> measure(sequence<sequence<std::int32_t>> const& points, double give_up_ns, budget_question may_go_on) = 0;
  /// The tuning is over: all are told what it found.
  virtual void end(tune_result const& found) = 0;
};
/// Where such a measurer is asked from.
class trial_source {
 public:
  virtual ~trial_source() = default;
  /// Tells what its task is. False: it is not needed, and `why` may say so in other words than the tuner's.
  virtual bool begin(task_here const& here, std::string& why) = 0;
  /// False: what came is the end.
  virtual bool next(trial_request& r) = 0;
  /// To the last question.
  virtual void answer(tune_trial const& t) = 0;
};
/// Measures for a tuning of the same kernel and arguments elsewhere, and keeps what that finds.
///
/// Errors   as `tune`
tune_result measure_for(kernel_face const& face, argument* arguments, int count, tune_options const& o, trial_source& from);

}  // namespace detail

/// Sees the loop program of each candidate before a worker gets it, and may change it; for whoever wants to look at candidates, and
/// for tests of what becomes of bad ones.
struct candidate_view {
  void* context = nullptr;
  void (*see)(void* context, sequence<std::int32_t> const& choices, std::string& loops) = nullptr;
};
/// A kernel and its arguments among several that share one budget.
struct task_face {
  kernel_face const* face = nullptr;
  argument* arguments = nullptr;
  int count = 0;
  double weight = 1;
};
/// Tunes them under one budget, which is spent where a trial is expected to gain most; the results in their order.
sequence<tune_result> tune_all(sequence<task_face> const& tasks, tune_options const& o);

/// Counts the schedules that a tuning with these arguments would choose from.
space_size size_of_space(kernel_face const& face, argument* arguments, int count);

/// Tunes a kernel for these arguments, which are read and not written.
///
/// Errors   argument_error, schedule_error, as at a call; argument_error for what cannot be tuned: constants that are kept, functions
///          of the program, sizes that are open
tune_result tune(kernel_face const& face, argument* arguments, int count, tune_options const& o, candidate_view view = {},
                 detail::trial_crew* crew = nullptr);

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/run.hpp"
#endif
