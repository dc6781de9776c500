#include <cmath>

#include "weft/tune/other_tasks.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

WEFT_DECL void other_tasks::fit(sequence<example> const& of_others) {
  model_ = boosted_trees();
  width_ = of_others.empty() ? 0 : of_others[0].features.size();
  sequence<float> rows;
  sequence<double> rest;
  sequence<std::uint64_t> done;
  for (example const& first : of_others) {
    bool before = false;
    for (std::uint64_t task : done) before = before || task == first.task;
    if (before) continue;
    done.push_back(first.task);
    double mean = 0, count = 0;
    auto const difference = [](example const& e) { return std::log(e.ns) - std::log(e.estimate); };
    auto const counts = [&](example const& e) { return e.task == first.task && e.ns > 0 && e.estimate > 0 && e.features.size() == width_; };
    for (example const& e : of_others)
      if (counts(e)) mean += difference(e), ++count;
    if (count < 4) continue;
    for (example const& e : of_others) {
      if (!counts(e)) continue;
      for (float f : e.features) rows.push_back(f);
      rest.push_back(difference(e) - mean / count);
    }
  }
  examples_ = rest.size();
  // Few cuts, each with many rows on both sides: what is true of one task alone is not learned. Depth 3 and 4 were no better.
  if (examples_ > 0 && width_ > 0) model_.fit(rows.data(), width_, rest.data(), rest.size(), {60, 2, 0.1, 20, 1});
}
WEFT_DECL double other_tasks::correction(sequence<float> const& features) const {
  return fitted() && features.size() == width_ ? model_.predict(features.data()) : 0;
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
