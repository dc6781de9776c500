// Points of a space by the values of their knobs alone, and a walk over them: for spaces in which a look at a point is the run of a rule.
#pragma once

#include "weft/schedule/schedule.hpp"
#include "weft/tune/model.hpp"
#include "weft/tune/point.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// What the points that were looked at tell of a space: its knobs by their names, the values of each, and which knobs are met beside which values.
///
/// A knob's place is the order in which names were met first; those behind the first 64 are left out. Of a
/// knob's values the first 255 that were met are known; another one counts as the nearest of these. Of two knobs with one name the first counts.
class outline {
 public:
  /// A point that was looked at, by the knobs that it met.
  outlined note(sequence<knob_info> const& knobs);
  /// How many knobs are known.
  std::size_t size() const { return names_.size(); }
  /// The place of a knob; -1: it is not known.
  int place(short_name const& knob) const;
  /// How many values of a knob are known, and one of them.
  std::size_t count(std::size_t place) const { return values_[place].size(); }
  std::int64_t value(std::size_t place, std::size_t number) const { return values_[place][number]; }
  /// Which knobs such a point is likely to meet, as bits by place: those that were met beside each of its values.
  std::uint64_t met(outlined const& o) const;
  /// As many features as knobs: the logarithm of one more than the value, -1 of a knob that is not met.
  void describe(outlined const& o, std::uint64_t met, float* features) const;

 private:
  sequence<short_name> names_;
  sequence<sequence<std::int64_t>> values_;   // by place
  sequence<sequence<float>> logarithms_;
  sequence<sequence<std::uint64_t>> beside_;  // by place and value; 0: no point had it
};

/// Chains of outlined points by simulated annealing, as annealing_search has them, for models that know nothing but the values of knobs.
/// A step costs under a microsecond, and is a guess: whether such a point is legal a model says of which points were, and which knobs it has
/// the outline. So its best are looked at before anything is done with them.
///
/// Cost  128 chains of 500 steps: some 50 ms
class outlined_walk {
 public:
  struct settings {
    std::int32_t chains = 64, steps = 60;
    double hottest = 1, coldest = 0.02;  // temperatures, in units of `spread`
    double spread = 1;                   // of the costs
    std::size_t wanted = 256;            // so many of the best that were met
  };
  /// Where chains begin; the first call makes as many as there are to be of `known`.
  void place_chains(sequence<outlined> const& known, sequence<outlined> const& best, std::int32_t chains, double restarts, random_numbers& random);
  /// This one is known, and no news.
  void leave_out(outlined const& o);
  /// Walks, and answers with the best of what was met and is not left out, in no order. `legal`: 1 where a point may be legal, 0 where not; not fitted: all are.
  sequence<outlined> best(outline const& of, boosted_trees const& cost, boosted_trees const& legal, settings const& how, random_numbers& random);
  /// So many that lie one or two knobs from one of these and are not left out, as far as they are found.
  sequence<outlined> beside(outline const& of, sequence<outlined> const& points, std::size_t count, random_numbers& random) const;

 private:
  struct visited {
    outlined point;
    std::uint64_t met = 0;
    double cost = 0, legal = 1;
  };
  std::size_t visit(outline const& of, boosted_trees const& cost, boosted_trees const& legal, outlined o);
  static outlined neighbour(outline const& of, outlined o, random_numbers& random);
  bool is_left_out(outlined const& o) const;

  sequence<outlined> chains_;
  sequence<visited> visited_;         // of this walk
  sequence<std::uint32_t> slots_;     // number + 1 of one of them, 0: free
  sequence<std::uint64_t> left_out_;  // hashes, 0: free
  std::size_t count_left_out_ = 0;
};

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/outline.ipp"
#endif
