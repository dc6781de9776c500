#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/runtime/cache/entry.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/tune/run.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

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
  if (std::string const why = space_.loses_bits(space_.steps(first_.choices)); !why.empty())
    WEFT_THROW(schedule_error(joined({face_.name, ": tune: bitwise, and the first values of the knobs give a schedule without the bits of direct evaluation: ", why,
                                      "\n  try   first values that keep each sum's order, or a tuning that is not bitwise"})));
  // What ended the worker may have come from outside: of the first schedule it is believed the third time.
  tune_trial t = measured(first_.choices, 0);
  for (int again = 0; again < 2 && t.result == outcome::crashed && !runner_.never_answered(); ++again) t = measured(first_.choices, 0);
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
WEFT_DECL std::size_t most_earlier(tune_options const& o) {
  constexpr double each_second = 32, fewest = 16, most = 256;
  double const in_time = each_second * o.seconds, trials = static_cast<double>(o.trials), all = trials < in_time ? trials : in_time;
  return static_cast<std::size_t>(all < fewest ? fewest : all < most ? all : most);
}
/// What earlier tunings measured is not measured again, for as long as half of the space is left: the model knows it. What ended the worker once may
/// have met a signal that was meant for the program, or a machine without memory: that is proposed as if nobody knew it.
inline void tuning_run::learn_earlier() {
  if (options_.random) return;
  struct known_point {
    point where;
    double ns = 0;
  };
  sequence<known_point> of_today;
  // A how-lambda that was edited since may take other steps with the same choices; a rule takes others when its number is another one, and then the task is.
  std::size_t const most = most_earlier(options_), looks = space_.is_by_rule() ? most : trial_store::most_known;
  for (known_trial const& t : store_.known_of(trials_task_, looks)) {
    bool left_out = (!t.judged && t.ended < 2) || of_today.size() == most;
    for (tune_trial const& own : result_.trials) left_out = left_out || own.choices == t.choices;
    if (left_out || (!space_.is_by_rule() && hash(space_.steps(t.choices).steps) != t.steps)) continue;
    if (point const p = space_.look(t.choices); p.legal && p.choices == t.choices) of_today.push_back({p, t.ns});
  }
  if (2 * static_cast<double>(of_today.size()) > result_.space.legal) return;
  known_point const* best = nullptr;
  for (known_point const& p : of_today) {
    search_->learn(p.where, p.ns);
    ++result_.earlier;
    if (p.ns > 0 && (best == nullptr || p.ns < best->ns)) best = &p;
  }
  // A tuning that was killed has kept no result, and what it measured is not proposed any more: the best of that is a trial of this one.
  cache::tuned kept;
  if (best != nullptr && (!cache::find_tuned(task_, kept) || is_stale(kept)) && may_go_on()) note(measured(best->where.choices, 3 * result_.best_ns), 0);
}
/// What can be compared: features of one version, of one machine, by as many threads.
inline std::uint64_t kind_of_examples(target const& machine, int asked_threads) {
  std::string text = joined({std::to_string(features_version), " ", machine_text(machine), " ", machine.feature_string()});
  if (asked_threads > 0) text += joined({" ", std::to_string(asked_threads)});
  return xxh64(text);
}
inline void tuning_run::learn_of_others() {
  if (!options_.transfer || options_.random || !store_.usable()) return;
  kind_ = kind_of_examples(machine_, weft::detail::asked_threads(space_.request())), family_ = xxh64(family());
  others_.fit(store_.of_others(trials_task_, kind_, family_));
  result_.of_others = static_cast<std::int64_t>(others_.size());
}

}  // namespace detail
}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
