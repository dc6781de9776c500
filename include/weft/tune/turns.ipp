#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/bench/measure.hpp"
#include "weft/bench/statistics.hpp"
#include "weft/runtime/cache/relatives.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/schedule/print_how.hpp"
#include "weft/tune/run.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

/// A call, or as many as bench::measure takes for a sample.
inline double sample_ns(double call_ns) { return call_ns > 1.2e6 ? call_ns : 1.2e6; }
/// What turns take: each is called once to find out how long that is, and then in each round.
inline double turns_ns(double round_ns, int rounds, std::size_t finalists, double load_ns) {
  return round_ns * (rounds + 1) + load_ns * static_cast<double>(finalists);
}
WEFT_DECL turns_plan plan_of_turns(sequence<double> const& calls_ns, double load_ns, double left_ns) {
  constexpr int usual = 8, fewest = 6;
  turns_plan plan;
  plan.finalists = calls_ns.size(), plan.rounds = usual;
  auto const round_ns = [&] {
    double all = 0;
    for (std::size_t i = 0; i < plan.finalists; ++i) all += sample_ns(calls_ns[i]);
    return all;
  };
  while (plan.finalists > 2 && turns_ns(round_ns(), usual, plan.finalists, load_ns) > left_ns) --plan.finalists;
  if (turns_ns(round_ns(), usual, plan.finalists, load_ns) > left_ns) plan.rounds = fewest;
  // Half a second for each, as far as there is time. bench::measure goes on to the end of a round, and ends before `rounds` at five times the budget.
  double const round = round_ns(), each = 5e8 * static_cast<double>(plan.finalists);
  double const wanted = each > 1.5 * round ? each : 1.5 * round;
  double const most = left_ns - turns_ns(round, 1, plan.finalists, load_ns), least = round * (plan.rounds + 1) / 5;
  plan.budget_ns = wanted < most ? wanted : most;
  if (plan.budget_ns < least) plan.budget_ns = least;
  return plan;
}
inline double tuning_run::load_ns() const { return loads_ > 0 ? loaded_ns_ / static_cast<double>(loads_) : 0; }
/// Seconds for so many finalists, of which all but the first are as fast as the best.
inline double tuning_run::turns_of(std::size_t finalists, int rounds) const {
  double const round_ns = sample_ns(result_.first_ns) + static_cast<double>(finalists - 1) * sample_ns(result_.best_ns);
  return turns_ns(round_ns, rounds, finalists, load_ns()) / 1e9;
}
WEFT_DECL double tuning_run::reserve() const {
  double const all = turns_of(4, 8) + turns_of(2, 8), quarter = (share_ > 0 ? share_ : options_.seconds) / 4, fewest = turns_of(2, 6);
  return all < quarter ? all : quarter > fewest ? quarter : fewest;
}
/// It runs once and is timed, six samples at least.
WEFT_DECL double tuning_run::trial_seconds() const {
  return turns_ns(sample_ns(result_.first_ns), 7, 1, loads_ > 0 ? load_ns() : first_loaded_ns_) / 1e9;
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
/// Of a tuning that was stopped before six rounds of turns, of which alone something is 95 % sure: the fastest trial, whose results were compared in every way, if it
/// and the turns that there were say that it is faster by a tenth; else the first one stays.
inline void tuning_run::choose_by_trials(sequence<std::size_t> const& in, sequence<bool> const& good, sequence<bench::timing> const& times) {
  chosen_by_trials_ = true;
  tune_trial const& first = result_.trials[0];
  std::size_t best = 0;
  if (in.size() > 1) {
    bool const has_turns = times.size() > 1 && !times[0].samples.empty() && !times[1].samples.empty();
    bool const faster = result_.trials[in[1]].ns < 0.9 * first.ns && (!has_turns || time_of(times[1]) < 0.9 * time_of(times[0]));
    bool const failed = good.size() > 1 && !good[1];
    if (!failed && (first.wrong || faster)) best = in[1];
  }
  result_.best_ns = result_.trials[best].ns, result_.choices = result_.trials[best].choices;
}
/// In turns, as all that is compared (bench::measure).
inline void tuning_run::confirm() {
  sequence<std::size_t> in = finalists();
  if (is_stopped() || !no_worker_.empty()) return choose_by_trials(in, {}, {});
  sequence<double> calls_ns;
  for (std::size_t k : in) calls_ns.push_back(result_.trials[k].ns > 0 ? result_.trials[k].ns : result_.first_ns);
  double const left = 1e9 * (options_.seconds - elapsed() - others_turns_), reserved = 1e9 * reserved_;
  double const most = left > reserved ? left : reserved, again_ns = 1e9 * turns_of(2, bench::detail::fewest_rounds);
  turns_plan const plan = plan_of_turns(calls_ns, load_ns(), most > 2 * again_ns ? most - again_ns : most);
  in.resize(plan.finalists);
  turns_seen seen{sequence<bool>(in.size(), true)};
  sequence<bool>& good = seen.good;
  for (std::size_t i = 0; i < in.size(); ++i) good[i] = !result_.trials[in[i]].wrong;
  seen.first_is_wrong = !good[0];
  sequence<std::size_t> all;
  for (std::size_t i = 0; i < in.size(); ++i) all.push_back(i);
  // A worker that ends takes all that it had compiled with it, also where that is while the next one is compiled.
  auto const load = [&](sequence<std::size_t> const& which, bool also_when_stopped = false) {
    for (bool whole = false; !whole;) {
      whole = true;
      int starts = 0;
      for (std::size_t i : which) {
        if ((!also_when_stopped && is_stopped()) || runner_.never_answered()) return;
        tune_trial ignored;
        bool const there = good[i] && prepare(static_cast<int>(i), result_.trials[in[i]].choices, ignored);
        if (runner_.never_answered()) return;
        good[i] = there;
        whole = whole && (i == 0 || runner_.starts() == starts);
        starts = runner_.starts();
      }
    }
  };
  // Where no worker can be started any more, what is known so far decides.
  auto const is_without_worker = [&] {
    if (runner_.never_answered()) no_worker_ = runner_.why_never();
    return !no_worker_.empty();
  };
  load(all);
  if (is_without_worker()) return choose_by_trials(in, {}, {});
  // Who ran when a worker ended is out, but for one that was killed from outside, and the first one: these are believed three times.
  int ended[4] = {};
  auto const sample_of = [&](std::size_t i, std::int64_t times) -> double {
    for (;;) {
      if (!good[i] || is_stopped() || runner_.never_answered()) return -1;
      slot_calls call(runner_, static_cast<int>(i), measured_ns_, waited_ns_);
      call.expect(result_.trials[in[i]].ns);
      double const ns = call.timed(times);
      if (ns > 0) return ns;
      good[i] = (i == 0 || runner_.was_killed()) && ++ended[i] < 3;
      load(all);
    }
  };
  struct finalist {
    decltype(sample_of) const* sample = nullptr;
    std::size_t at = 0;
  };
  finalist each[4];
  for (std::size_t i = 0; i < in.size(); ++i) each[i] = {&sample_of, i};
  // Who stops it is asked before each sample, who watches it is told behind each round.
  struct watched {
    tuning_run* run;
    int told = 0, before = 0;
  } watched_run{this};
  auto const in_turns = [&](sequence<std::size_t> const& which, turns_plan const& p) {
    sequence<bench::timed_work> works;
    for (std::size_t i : which)
      works.push_back({nullptr, &each[i], [](void* of, std::int64_t times) {
                         auto const& one = *static_cast<finalist const*>(of);
                         return (*one.sample)(one.at, times);
                       }});
    watched_run.before = watched_run.told;
    return bench::measure(works, {.budget_ms = p.budget_ns / 1e6 / static_cast<double>(which.size()), .within = 0.005, .fewest = p.rounds, .most = 21},
                          {&watched_run, [](void* of, int rounds) {
                             watched& w = *static_cast<watched*>(of);
                             if (w.before + rounds > w.told) w.told = w.before + rounds, w.run->tell(w.told);
                             return !w.run->is_stopped();
                           }});
  };
  seen.note(in_turns(all, plan));
  result_.finalists = static_cast<std::int32_t>(in.size()), result_.rounds = static_cast<std::int32_t>(seen.times[0].samples.size());
  if ((result_.stopped && result_.rounds < bench::detail::fewest_rounds) || is_without_worker()) return choose_by_trials(in, good, seen.times);
  // As long as the seconds allow it, and with code and memory made anew.
  auto const look_again = [&](std::size_t i) {
    sequence<double> const calls{time_of(seen.times[0]), time_of(seen.times[i])};
    double const now_left = 1e9 * (options_.seconds - elapsed() - others_turns_);
    if (turns_ns(sample_ns(calls[0]) + sample_ns(calls[1]), bench::detail::fewest_rounds, 2, load_ns()) > now_left) return;
    load({0, i});
    sequence<bench::timing> const again = in_turns({0, i}, plan_of_turns(calls, load_ns(), now_left));
    auto const rounds = static_cast<std::int32_t>(again[0].samples.size());
    result_.rounds += rounds;
    if (rounds >= bench::detail::fewest_rounds && good[0] && good[i]) seen.note_second_look(i, again[0], again[1]);
  };
  auto const fastest_of_all = [&] {
    for (std::size_t found = seen.fastest();; found = seen.fastest()) {
      if (found == 0 || !seen.wants_a_second_look(found)) return found;
      look_again(found);
      if (good[found] && !seen.unlucky[found]) return found;
    }
  };
  std::size_t best = fastest_of_all();
  for (; best != 0 && by_other_numbers_ && others_are_dear(); best = fastest_of_all()) {
    tune_trial& t = result_.trials[in[best]];
    tune_trial const before = t;
    slot_calls call(runner_, static_cast<int>(best), measured_ns_, waited_ns_);
    call.expect(t.ns);
    if (sums_the_same(t, call)) break;
    good[best] = runner_.was_killed() && ++ended[best] < 3;
    if (good[best]) t = before;
    load(all, true);  // its worker may have ended with it
  }
  static_cast<void>(is_without_worker());
  compared_ = in, turns_ns_ = seen.ns;
  if (good[0]) result_.first_ns = time_of(seen.times[0]);
  result_.best_ns = good[best] && !seen.times[best].samples.empty() ? time_of(seen.times[best]) : result_.trials[in[best]].ns;
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
    // The one of that name, or the second where a rule has two, which other choices may have put elsewhere.
    std::size_t nth = 0;
    for (std::size_t before = 0; before < i; ++before) nth += best.knobs[before].name.view() == k.name.view();
    knob_info const* was = nullptr;
    for (std::size_t other = 0; other < first.knobs.size() && was == nullptr; ++other)
      if (first.knobs[other].name.view() == k.name.view() && nth-- == 0) was = &first.knobs[other];
    std::int64_t const value_then = was == nullptr ? 0 : was->values[static_cast<std::size_t>(was->chosen)];
    if (was != nullptr && value_then == value) continue;
    changed += joined({changed.empty() ? "" : ", ", k.name.view(), " = ", std::to_string(value)});
    if (was != nullptr) changed += joined({" instead of ", std::to_string(value_then)});
  }
  schedule written(what_, [](int, int) { return std::int64_t(-1); });
  replay(written, best.steps);
  result_.how = print_how(written);
  result_.loops = print_loops(best);
  char const* const ended = no_worker_.empty() ? "was stopped" : "ended";
  result_.why = found_elsewhere_
                    ? joined({"found by the one that searches: ", changed.empty() ? "the first values" : changed})
                : result_.trials.size() <= 1
                    ? joined({"the first values stay: nothing else was measured", result_.stopped ? ", as the tuning was stopped" : why_alone_})
                : chosen_by_trials_
                    ? changed.empty() ? joined({"the first values stay: the tuning ", ended, " before turns could say more, and nothing was faster by a tenth"})
                                      : joined({number_text(result_.first_ns / result_.best_ns), " times as fast as without tuning (", time_text(result_.first_ns),
                                                "), by its trial alone, as the tuning ", ended, " before turns could confirm it: ", changed})
                : changed.empty() && result_.best_ns <= 0
                    ? std::string("nothing that was measured has right results: not those of the schedule without tuning, either")
                : changed.empty()
                    ? joined({"the first values are the best that were found: no candidate was surely faster by a hundredth in ",
                              std::to_string(result_.rounds), " rounds of turns"})
                    : joined({number_text(result_.first_ns / result_.best_ns), " times as fast as without tuning (",
                              time_text(result_.first_ns), "), confirmed in ", std::to_string(result_.rounds), " rounds of turns: ", changed});
  if (!no_worker_.empty()) result_.why += joined({"; it ended before its time: ", no_worker_});
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
  own_times const theirs = times_of(before.choices);
  // Of a tuning that was stopped, or whose turns were not sure of it: what was kept and was faster here, too, stays, whatever it took on the day when it was kept.
  if (bool const here = theirs.of_trial > 0 || theirs.in_turns > 0; found && here && !imported && !slower_now && !(before.choices == t.choices) && !is_stale(before)) {
    result_.not_kept = "what was kept before was faster in this tuning, too";
    return;
  }
  // What another process has found meanwhile was not looked at: of the two the faster one stays.
  result_.kept = cache::keep_tuned(task_, t, imported || slower_now || (found && is_stale(before)) || before.choices == t.choices, &before, &result_.not_kept);
  if (!result_.kept) return;
  cache::relative as_relative = cache::described(task_, layout_, machine_, weft::detail::asked_threads(space_.request()));
  cache::note_choices(as_relative, space_.at(result_.choices));
  as_relative.plan = space_.plan();
  static_cast<void>(cache::keep_relative(family(), as_relative));
  struct context {
    kernel_face const& face;
    program const& what;
  } const c{face_, what_};
  supersede(
      face_.name,
      [](void const* of, ready_kernel const& k) {
        auto const& wanted = *static_cast<context const*>(of);
        return k.machine == wanted.face.machine && digest(k.what) == digest(wanted.what);
      },
      &c);
}

}  // namespace detail
}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
