#include "weft/base/joined.hpp"
#include "weft/tune/progress.hpp"
#include "weft/tune/run.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL std::string progress_line(tune_progress const& p) {
  using tuning::detail::number_text;
  double const each_second = p.seconds > 0 ? static_cast<double>(p.trials) / p.seconds : 0;
  double left = p.most_seconds > p.seconds ? p.most_seconds - p.seconds : 0;
  if (each_second > 0) {
    double const of_trials = static_cast<double>(p.most_trials > p.trials ? p.most_trials - p.trials : 0) / each_second;
    left = of_trials < left ? of_trials : left;
  }
  return joined({p.kernel, p.kernel.empty() ? "" : ": ", std::to_string(p.trials), " of ", std::to_string(p.most_trials), " trials",
                 p.rounds > 0 ? joined({", ", std::to_string(p.rounds), p.rounds == 1 ? " round" : " rounds", " of turns"}) : "",
                 each_second > 0 ? joined({", ", number_text(each_second, "%.1f"), " a second"}) : "",
                 p.best_ns > 0 ? joined({"; best ", tuning::detail::time_text(p.best_ns)}) : "; none is right yet",
                 p.best_ns > 0 && p.first_ns > 0 ? joined({", ", number_text(p.first_ns / p.best_ns), " times as fast as without tuning"}) : "",
                 left < 1e9 && p.rounds == 0 && p.trials < p.most_trials ? joined({"; at most ", number_text(left, "%.1f"), " s left"}) : std::string()});
}

}  // namespace weft::inline WEFT_ABI
