// How many trials are kept, while a test runs.
#pragma once

#include "weft/tune/trials.hpp"

namespace weft_test {

struct trial_limits {
  std::int64_t const all = weft::tuning::detail::most_trials, of_task = weft::tuning::detail::most_of_task;
  trial_limits(std::int64_t most, std::int64_t most_of_task) { weft::tuning::detail::most_trials = most, weft::tuning::detail::most_of_task = most_of_task; }
  ~trial_limits() { weft::tuning::detail::most_trials = all, weft::tuning::detail::most_of_task = of_task; }
  trial_limits(trial_limits const&) = delete;
  trial_limits& operator=(trial_limits const&) = delete;
};

}  // namespace weft_test
