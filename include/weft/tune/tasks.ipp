#include <memory>

#include "weft/tune/run.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

/// One of several tunings that share a budget.
struct shared_task {
  std::unique_ptr<tuning_run> run;
  double weight = 1;
  double last_gain_ns = 0;  // of a trial, in the last batch
  bool open = true;         // there is more to measure
  bool had_batch = false;   // at least one trial behind what `begin` measures: the first schedule, and results of before
};
/// What a further trial is expected to gain, weighted. A fifth is what trials gained lately; the rest what they would gain if times went on
/// as 1 / trials, and no more than what is above the roofline, where that is a bound.
inline double expected_gain(shared_task const& t) {
  tune_result const& r = t.run->so_far();
  constexpr double lately = 0.2;
  double const trials = static_cast<double>(r.trials.size() > 0 ? r.trials.size() : 1);
  double const above = r.best_ns - t.run->bound_ns(), hoped = r.best_ns / trials;
  return t.weight * (lately * t.last_gain_ns + (1 - lately) * (above < hoped ? above : hoped));
}
/// The one of which a trial is expected to gain most; null: there is no more to measure.
inline shared_task* most_hopeful(sequence<shared_task>& all) {
  shared_task* best = nullptr;
  double most = -1;
  for (shared_task& t : all) {
    if (!t.open) continue;
    if (double const gain = expected_gain(t); gain > most) best = &t, most = gain;
  }
  return best;
}
/// For its first batch.
inline bool waits(shared_task const& t) { return t.open && !t.had_batch; }
/// What one that waits takes: a trial, and its turns.
inline double least_seconds(shared_task const& t) { return t.run->trial_seconds() + t.run->reserve(); }
/// The one that waits and takes least: whoever is slow comes last, in whatever order they were given. Null: none waits.
inline shared_task* next_that_waits(sequence<shared_task>& all) {
  shared_task* next = nullptr;
  for (shared_task& t : all)
    if (waits(t) && (next == nullptr || least_seconds(t) < least_seconds(*next))) next = &t;
  return next;
}
/// Of so many trials that are left those of one that waits: an equal part, so that each has one to be compared with.
inline std::size_t trials_of_batch(sequence<shared_task> const& all, std::size_t left) {
  std::size_t waiting = 0;
  for (shared_task const& t : all) waiting += waits(t);
  return left > waiting ? left / waiting : 1;
}
/// Seconds of trials of that one's first batch, where there are so many for all that wait: what is left when each had a trial and its turns is theirs in
/// equal parts. Those that take most are not counted on where it would not do for all.
inline double seconds_of_batch(sequence<shared_task> const& all, shared_task const& next, double seconds) {
  sequence<double> least;
  for (shared_task const& t : all)
    if (waits(t)) least.push_back(least_seconds(t));
  for (;;) {
    std::size_t most = 0;
    double sum = 0;
    for (std::size_t i = 0; i < least.size(); ++i) {
      sum += least[i];
      if (least[i] > least[most]) most = i;
    }
    if (sum <= seconds) return next.run->trial_seconds() + (seconds - sum) / static_cast<double>(least.size());
    if (least.size() == 1) return 0;
    least[most] = least.back(), least.pop_back();
  }
}
}  // namespace detail

WEFT_DECL sequence<tune_result> tune_all(sequence<task_face> const& tasks, tune_options const& o) {
  double const began = now_ns();
  sequence<tune_result> results;
  sequence<detail::shared_task> all;
  auto const spent = [&] {
    std::int64_t trials = 0;
    for (detail::shared_task const& t : all) trials += static_cast<std::int64_t>(t.run->so_far().trials.size());
    return trials;
  };
  auto const rest = [&] { return o.seconds - (now_ns() - began) / 1e9; };
  for (task_face const& t : tasks) {
    all.push_back({});
    all.back().run = std::unique_ptr<detail::tuning_run>(new detail::tuning_run(*t.face, t.arguments, t.count, o));
    all.back().weight = t.weight;
    all.back().run->note_share(o.seconds / static_cast<double>(tasks.size()), began);
  }
  auto const turns_of_others = [&](detail::shared_task const& t) {
    double turns = 0;  // of those that have not had them
    for (detail::shared_task& other : all)
      if (&other != &t && other.run != nullptr) turns += other.run->turns();
    return turns;
  };
  auto const turns_behind_batches = [&] {
    double turns = 0;
    for (detail::shared_task& t : all)
      if (!detail::waits(t)) turns += t.run->turns();
    return turns;
  };
  auto const tell_others = [&](detail::shared_task& t) {
    double const turns = turns_of_others(t);
    t.run->note_others(spent() - static_cast<std::int64_t>(t.run->so_far().trials.size()), turns);
    return turns;
  };
  // Whoever asks to stop is asked of all: a watcher may have said so once, of another one's trial.
  auto const is_stopped = [&] {
    bool said = o.stop.requested();
    for (detail::shared_task const& t : all) said = said || t.run->so_far().stopped;
    return said;
  };
  // The first schedule of each is measured as far as the budget goes: of one alone it is in any case, as by `tune`.
  for (detail::shared_task& t : all) {
    bool const first = &t == all.begin();
    double const turns = tell_others(t);
    char const* const why = first                  ? nullptr
                            : is_stopped()         ? "the tuning was stopped"
                            : spent() >= o.trials  ? "the trials that these kernels share were used up"
                            : turns >= rest()      ? "the seconds that these kernels share were used up"
                                                   : nullptr;
    if (why == nullptr) {
      t.open = t.run->begin();
      continue;
    }
    if (is_stopped()) t.run->stop();
    t.open = false, t.run->leave(why);
  }
  while (!is_stopped() && rest() > 0 && spent() < o.trials) {
    // Each a batch first: of what nobody has measured nothing can be expected.
    detail::shared_task* best = detail::next_that_waits(all);
    if (best == nullptr) best = detail::most_hopeful(all);
    if (best == nullptr) break;
    bool const first_batch = !best->had_batch;
    auto left = static_cast<std::size_t>(o.trials - spent());
    if (first_batch) left = detail::trials_of_batch(all, left);
    tune_result const& r = best->run->so_far();
    double const before = r.best_ns;
    std::size_t const trials = r.trials.size();
    if (tell_others(*best) + best->run->reserve() >= rest() && tasks.size() > 1) {
      best->open = false;  // its turns would not fit any more; another one's may
      best->run->note_why_alone(detail::no_time_to_compare);
      continue;
    }
    double const seconds = first_batch ? detail::seconds_of_batch(all, *best, rest() - turns_behind_batches()) : 1e300;
    best->open = best->run->go_on(left < o.batch ? left : o.batch, seconds), best->had_batch = true;
    std::size_t const done = r.trials.size() - trials;
    best->last_gain_ns = done > 0 ? (before - r.best_ns) / static_cast<double>(done) : 0;
  }
  std::int64_t const trials = spent();
  if (trials >= o.trials || rest() <= 0)
    for (detail::shared_task& t : all)
      if (!t.had_batch && t.open)
        t.run->note_why_alone(trials >= o.trials ? ", as the trials that these kernels share were used up" : detail::no_time_to_compare);
  bool stopped = is_stopped();
  for (detail::shared_task& t : all) {
    auto const own = static_cast<std::int64_t>(t.run->so_far().trials.size());
    t.run->note_others(trials - own, turns_of_others(t));
    if (stopped) t.run->stop();
    results.push_back(own > 0 ? t.run->finish() : t.run->so_far());
    stopped = stopped || results.back().stopped;
    t.run.reset();
  }
  return results;
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
