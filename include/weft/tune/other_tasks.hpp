// What trials of other tasks tell of a new one, before anything of it was measured.
#pragma once

#include "weft/tune/model.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// Raised when the features of loop programs (loop_features.hpp, warp_features.hpp) or their estimates mean something else: examples
/// of another version are not looked at.
inline constexpr std::uint32_t features_version = 2;

/// Of the features of a loop program so many are told to other tasks: its totals, which stand first. Those of single statements say what
/// is in one place of one kernel: with them the rank correlation on a kernel that the model had not seen was lower by 0.02 to 0.04.
inline constexpr std::size_t told_features = 16;

/// A trial of a task: how its loop program differs from others of its space, and what it took.
struct example {
  std::uint64_t task = 0;
  double ns = 0, estimate = 0;  // of landscape::describe
  sequence<float> features;     // told_features at most, less the mean of points of the space at random
};

/// What the estimate of a loop program leaves out, learned from several tasks: trees over how far the logarithms of what was measured are from
/// those of the estimates, each less the mean of its task. So a large kernel and a small one, a slow machine and a fast one are alike.
///
/// Cost    fit: 10 ms for 1,000 examples; correction: 0.1 us
/// Source  as boosted_trees; relative times of several tasks in one model: Zheng et al., Ansor, OSDI 2020, section 5.2
class other_tasks {
 public:
  void fit(sequence<example> const& of_others);
  /// False: it was given examples of no task that had four or more.
  bool fitted() const { return model_.fitted(); }
  /// Of how many examples it is made.
  std::size_t size() const { return examples_; }
  /// To be added to the logarithm of the estimate of a program with these features, which are those of an example.
  double correction(sequence<float> const& features) const;

 private:
  boosted_trees model_;
  std::size_t width_ = 0, examples_ = 0;
};

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/other_tasks.ipp"
#endif
