// One tuning under way: what `tune` does at a stretch, and `tune_all` and measuring ranks in pieces. Not for programs.
#pragma once

#include "weft/base/joined.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/tune/trials.hpp"
#include "weft/tune/tuner.hpp"
#include "weft/tune/verify.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

/// As people read it.
std::string time_text(double ns);
std::string number_text(double x, char const* format = "%.2f");
/// "1 trial", "2 trials".
inline std::string trials_text(std::int64_t n) { return joined({std::to_string(n), n == 1 ? " trial" : " trials"}); }
/// Calls in a slot of the runner, with a watch over each.
class slot_calls {
 public:
  slot_calls(runner& r, int slot, double& measured_ns, double& waited_ns)
      : runner_(r), slot_(slot), measured_ns_(measured_ns), waited_ns_(waited_ns) {}
  double run(std::int64_t calls, surroundings around = surroundings::closed) {
    // Twenty times what the slowest call took so far, and two seconds for what else the machine does.
    double const begun = now_ns();
    double const ns = runner_.run(slot_, calls, 2e9 + 20 * slowest_ns_ * static_cast<double>(calls), around);
    waited_ns_ += now_ns() - begun;
    if (ns < 0) return ns;
    double const each = ns / static_cast<double>(calls);
    if (each > slowest_ns_ && !runner_.stood_still()) slowest_ns_ = each;
    measured_ns_ += ns;
    return ns;
  }
  void expect(double ns) { slowest_ns_ = ns; }
  /// The same, to be timed. What writes over its own inputs begins with the caller's again and again: numbers that shrink in each call become denormal, with
  /// which a processor is fifty times slower, and the slowest schedule would make the fewest calls.
  double timed(std::int64_t calls) {
    bool const over = runner_.copies().are_written_over();
    double all = 0;
    int again = 0;
    for (std::int64_t done = 0; done < calls;) {
      std::int64_t const some = over && calls - done > most_over_themselves ? most_over_themselves : calls - done;
      if (over) runner_.copies().restore();
      if (over && runner_.is_on_gpu() && run(1) < 0) return -1;  // which brings them there
      double const ns = run(some, surroundings::open);
      if (ns < 0) return ns;
      if (runner_.stood_still() && ++again < 4) continue;
      all += ns, done += some;
    }
    return all;
  }
  /// As bench::measure takes it; the worker's clock counts, not what the way there and back takes.
  bench::timed_work work() {
    return {nullptr, this, [](void* calls, std::int64_t times) { return static_cast<slot_calls*>(calls)->timed(times); }};
  }

 private:
  static constexpr std::int64_t most_over_themselves = 32;
  runner& runner_;
  int slot_;
  double &measured_ns_, &waited_ns_;
  double slowest_ns_ = 0;
};

/// Adds how long a scope lasts, less what is waited for in it.
class own_time {
 public:
  own_time(double& seconds, double const& waited_ns) : seconds_(seconds), waited_ns_(waited_ns), began_(now_ns() - waited_ns) {}
  ~own_time() { seconds_ += (now_ns() - waited_ns_ - began_) / 1e9; }
  own_time(own_time const&) = delete;
  own_time& operator=(own_time const&) = delete;

 private:
  double& seconds_;
  double const& waited_ns_;
  double began_;
};
/// Adds how long a scope lasts.
class waiting {
 public:
  explicit waiting(double& ns) : ns_(ns), began_(now_ns()) {}
  ~waiting() { ns_ += now_ns() - began_; }
  waiting(waiting const&) = delete;
  waiting& operator=(waiting const&) = delete;

 private:
  double& ns_;
  double began_;
};

/// What counts of a candidate's samples: the first quartile. What disturbs them only ever makes them longer, and the fastest of a few is an outlier
/// of its own.
inline double time_of(bench::timing const& t) { return bench::quantile(t.samples, 0.25); }
/// The machine that candidates run on. A GPU is asked by a child where forks are to use it: they cannot once this process has.
target const& machine_of(kernel_face const& face, isolation where);
/// How the finalists are compared in the time that is left.
struct turns_plan {
  std::size_t finalists = 0;
  int rounds = 0;        // at least
  double budget_ns = 0;  // of all of them; rounds go on so long
};
/// Four finalists and eight rounds of them where there is time; with less, fewer finalists, of which the first two are the schedule without tuning and the
/// fastest; at last six rounds of these two, as of fewer nothing is sure: that is kept back (`reserve`).
turns_plan plan_of_turns(sequence<double> const& calls_ns, double load_ns, double left_ns);
/// By medians and by what counts of samples.
inline bool is_surely_faster(bench::timing const& t, bench::timing const& than) {
  return bench::judged(bench::ratio_of_medians(t.samples, than.samples)) == bench::outcome::faster && time_of(t) < 0.99 * time_of(than);
}
/// What the turns of the finalists said. The first of them, the schedule without tuning, stays unless another is faster by a hundredth, 95 % sure (bench::judged),
/// and, where that is less than a tenth, once more in turns with that one alone: of several that are as fast, one is lucky now and then for as long as a second.
struct turns_seen {
  sequence<bool> good;  // it was compiled, and its results are right
  bool first_is_wrong = false;
  sequence<bench::timing> times{};
  sequence<double> ns{};       // what counts of them; 0: not good
  sequence<bool> unlucky{};    // it was not faster when it was looked at again

  void note(sequence<bench::timing> const& found) {
    times = found, ns.clear(), unlucky = sequence<bool>(found.size(), false);
    for (std::size_t i = 0; i < found.size(); ++i) ns.push_back(good[i] ? time_of(found[i]) : 0);
  }
  /// 0: the first one stays.
  std::size_t fastest() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < times.size(); ++i) {
      if (!good[i] || unlucky[i] || times[i].samples.empty() || (!good[0] && !first_is_wrong)) continue;
      bool const faster = first_is_wrong || is_surely_faster(times[i], times[0]);
      if (faster && (!good[best] || time_of(times[i]) < time_of(times[best]))) best = i;
    }
    return best;
  }
  bool wants_a_second_look(std::size_t i) const { return !first_is_wrong && time_of(times[i]) >= 0.9 * time_of(times[0]); }
  /// As it is kept, too: a lucky time is not what later tunings compare with.
  void note_second_look(std::size_t i, bench::timing const& first, bench::timing const& again) {
    unlucky[i] = !is_surely_faster(again, first);
    if (unlucky[i]) ns[i] = ns[0] * time_of(again) / time_of(first);
  }
};
/// So many schedules of earlier tunings are looked at, described and fitted again: as many as are to be measured, and by rule, where each takes a millisecond
/// in all, some hundredths of the time. By count: a clock would make other proposals of equal seeds.
std::size_t most_earlier(tune_options const& o);
inline constexpr char no_time_to_compare[] = ", as the seconds that were left would not do to compare two";
/// The text of a candidate, what another process has compiled of it, or why there is none.
struct candidate_text {
  std::string loops, made, why;
  bool written = false;
};
/// What a schedule took in one tuning: when it was a trial, and in the turns of the finalists; 0: it was not measured there.
struct own_times {
  double of_trial = 0, in_turns = 0;
};
/// Whether `before` takes as long as `found`, or longer. Turns count, where both had them: from a trial to the turns a machine may have become slower, and
/// what was lucky in its trial would then never be given up.
inline bool is_no_faster(own_times const& before, own_times const& found) {
  if (before.in_turns > 0 && found.in_turns > 0) return before.in_turns >= found.in_turns;
  return before.of_trial > 0 && before.of_trial >= (found.of_trial > 0 ? found.of_trial : found.in_turns);
}
/// One tuning under way.
class tuning_run {
 public:
  /// What it is given outlives it.
  tuning_run(kernel_face const& face, argument* arguments, int count, tune_options const& o, candidate_view view = {},
             trial_crew* crew = nullptr);
  ~tuning_run();
  tuning_run(tuning_run const&) = delete;
  tuning_run& operator=(tuning_run const&) = delete;
  /// All of it.
  tune_result run();
  /// Counts the space and measures the schedule without tuning; false: there is nothing to be searched.
  bool begin();
  /// Proposes and measures so many more, as the budget allows, and but for the first none that would begin after so many seconds of these; false: there are
  /// no more, or the budget is spent.
  bool go_on(std::size_t trials, double seconds = 1e300);
  /// It is not begun, for this reason: the result has the schedule without tuning, of which nothing is measured.
  void leave(std::string_view why);
  /// Somebody stopped the tuning that this one is a part of.
  void stop() { result_.stopped = true; }
  /// Measures the best in turns, and keeps what won.
  tune_result finish();
  /// Measures what a tuning elsewhere asks for, to the end of it.
  tune_result serve(trial_source& from);
  tune_result const& so_far() const { return result_; }
  /// So many trials of other kernels count in the same budget, as who watches is told.
  void note_others(std::int64_t trials, double turns) { others_trials_ = trials, others_turns_ = turns; }
  /// Seconds of the budget that are its own, where several kernels share it.
  void note_share(double seconds, double began_ns) { share_ = seconds, began_ = began_ns; }
  /// Seconds that `finish` will take for its turns, at least; 0: there is nothing to compare.
  double turns() const { return result_.trials.size() > 1 ? reserve() : 0; }
  /// Seconds of the budget that trials leave to the finalists: for four of them and one that is looked at again, but no more than a quarter of its share, or what
  /// two of them cannot do without.
  double reserve() const;
  /// Seconds that one more trial takes, as far as the schedule without tuning says.
  double trial_seconds() const;
  /// Why no other candidate was measured.
  void note_why_alone(char const* why) { why_alone_ = why; }
  /// Whether it is as near to the roofline as the options ask for, and above it but for what measurements differ.
  bool is_near_roofline() const;
  /// What no schedule takes less than, as far as is known; 0: it is not, or the best takes less than was thought.
  double bound_ns() const { return is_below_roofline() ? 0 : result_.roofline_ns; }

 private:
  call_layout bound();
  double elapsed() const { return (now_ns() - began_) / 1e9; }
  bool may_go_on();
  bool may_measure(std::size_t done) { return (done == 0 || elapsed() < batch_ends_) && may_go_on(); }
  bool is_stopped();
  bool is_over() const { return options_.stop.requested() || elapsed() > options_.seconds; }
  void tell(int rounds);
  bool is_below_roofline() const { return result_.best_ns > 0 && result_.best_ns < 0.95 * result_.roofline_ns; }
  std::string about_within() const;
  std::string loops_of(sequence<std::int32_t> const& choices, std::string& why) const;
  sequence<element_list> outputs() const;
  bool are_like(sequence<element_list> const& expected, tolerance within, sequence<double> const* magnitudes = nullptr) const;
  bool is_right(sequence<element_list>& found, int output, std::size_t at);
  bool sums_the_same(tune_trial& t, slot_calls& calls);
  bool others_are_dear() const { return others_ns_ > 1e8; }
  sequence<tune_trial> measured_elsewhere(sequence<sequence<std::int32_t>> const& points, double give_up_ns);
  void write(sequence<std::int32_t> const& choices, candidate_text& c) const;
  void write_next();
  void count_beside(double measured_for_ns);
  bool count_on();
  void count_rest();
  side_work beside();
  known_intrinsics instructions_of(sequence<std::int32_t> const& choices, sequence<intrinsic const*>& known) const;
  tune_trial measured(sequence<std::int32_t> const& choices, double give_up_ns, candidate_text c = {});
  tune_trial measured_once(sequence<std::int32_t> const& choices, double give_up_ns, candidate_text c);
  sequence<point> proposals(std::size_t wanted);
  void put_off_unmeasured(sequence<point> const& fresh);
  bool is_measured(sequence<std::int32_t> const& choices) const;
  void measure_ahead(sequence<point> const& fresh, sequence<double> const& guesses);
  bool prepare(int slot, sequence<std::int32_t> const& choices, tune_trial& t, candidate_text c = {});
  bool computes_the_same(tune_trial& t);
  void measure_first();
  void learn_earlier();
  void learn_of_others();
  void note_measured(point const& p, tune_trial t, double guess);
  void take_over(sequence<std::int32_t> const& choices, double ns, std::int64_t trials);
  void note(tune_trial t, double expected_ns);
  void store(tune_trial const& t);
  double load_ns() const;
  double turns_of(std::size_t finalists, int rounds) const;
  sequence<std::size_t> finalists() const;
  void confirm();
  void choose_by_trials(sequence<std::size_t> const& in, sequence<bool> const& good, sequence<bench::timing> const& times);
  void describe();
  own_times times_of(sequence<std::int32_t> const& choices) const;
  void keep(std::int64_t trials);
  schedule first_steps() const;
  bool is_stale(cache::tuned const& kept) const;
  std::string trials_task() const;
  task_here task_here_now() const;
  std::string task() const { return weft::detail::task_of(space_.request(), first_steps()); }
  std::string family() const { return weft::detail::family_of(space_.request(), first_steps()); }

  kernel_face const& face_;
  tune_options options_;
  options wanted_;  // of the calls that it is for
  candidate_view view_;
  trial_crew* crew_;
  argument* arguments_;
  int count_;
  program what_;
  worker_choice worker_;
  target const& machine_;
  call_layout layout_;
  space space_;
  whole_count all_points_{space_};
  bool is_counting_ = false;
  argument_copies copies_;
  runner runner_;
  sequence<runner*> compilers_;  // of a GPU
  trial_store store_;
  std::string task_, trials_task_;
  tolerance tolerance_;
  sequence<element_list> expected_;  // of the schedule without tuning
  bool whole_are_exact_ = false;     // whole numbers in place of the inputs' elements stay whole
  bool hangs_on_nans_ = false;       // what is computed of these inputs says nothing
  bool by_other_numbers_ = false;    // what is computed of such is compared, too
  sequence<element_list> expected_of_others_;
  sequence<double> magnitudes_;  // of each output's terms, where sums were found to cancel
  double others_ns_ = 0;          // what filling and bringing back the inputs of the last comparison took
  int judged_ = 0;
  double judged_ns_ = 0;  // what that took
  point first_;
  tune_result result_;
  other_tasks others_;
  std::uint64_t kind_ = 0, family_ = 0;  // of the examples for other tasks
  search* search_ = nullptr;
  sequence<double> expected_ns_, found_ns_;  // of the same trials
  double began_ = now_ns(), measured_ns_ = 0;
  sequence<point> put_off_;   // proposed, and not measured before their batch was over
  double batch_ends_ = 0;     // seconds from the beginning
  double loaded_ns_ = 0;  // what compiling took, of so many
  std::int64_t loads_ = 0;
  double first_loaded_ns_ = 0;  // and of the first one, with the start of a worker
  double reserved_ = 0;   // seconds, for the finalists
  double share_ = 0;      // seconds of the budget; 0: all of them
  char const* why_alone_ = "";
  std::string no_worker_;  // why none could be started any more, which ends the trials
  double waited_ns_ = 0;  // for compilers, for calls and for other ranks
  sequence<std::int32_t> const* next_ = nullptr;  // what is measured after this one, to be written while this one is compiled; null: not known
  candidate_text next_text_;
  std::int64_t others_trials_ = 0;
  double others_turns_ = 0;  // seconds
  bool found_elsewhere_ = false;
  sequence<std::size_t> compared_;  // the trials that were finalists, and what they took in turns
  sequence<double> turns_ns_;
  bool peaks_again_ = false;
  bool chosen_by_trials_ = false;  // it was stopped before there were enough turns
};

}  // namespace detail
}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/checks.ipp"
#include "weft/tune/earlier.ipp"
#include "weft/tune/machines.ipp"
#include "weft/tune/tasks.ipp"
#include "weft/tune/tuner.ipp"
#include "weft/tune/turns.ipp"
#endif
