// A point of a search space, and where points come from: a how-lambda, a recorded table, a formula in a test.
#pragma once

#include <cstdint>

#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {
/// The parts of the tuner; weft::tune (tune.hpp) is what most programs call.
namespace tuning {

/// Asks whether who waits for something has given up; null: never.
struct giving_up {
  bool (*asked)(void const* context) = nullptr;
  void const* context = nullptr;
  bool operator()() const { return asked != nullptr && asked(context); }
};

/// A point by the values of its knobs alone, each by its place in an outline (outline.hpp): the number of one of the values that are known of it.
struct outlined {
  static constexpr std::size_t most = 64;
  std::uint8_t at[most] = {};
};
class outline;

/// One choice of all knobs that its path meets.
struct point {
  sequence<std::int32_t> choices;  // one per knob, in the order in which they are met
  sequence<std::int32_t> sizes;    // how many values each of these knobs has
  sequence<float> features;        // of what it becomes, as many for all points of a space
  bool legal = false;
  outlined values;                 // where its space has an outline
};

/// Pseudo-random numbers that are the same on every machine.
///
/// Source  Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014 (SplitMix64)
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 .. n - 1; n is small.
  std::int32_t below(std::int32_t n) { return static_cast<std::int32_t>((next() >> 33) % static_cast<std::uint64_t>(n)); }
  /// 0 up to, not including, 1.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// A space that is defined by running it: which knobs there are may depend on the values of earlier ones.
class landscape {
 public:
  virtual ~landscape() = default;
  /// The point at which these choices lead. Missing ones are 0, those that are too many are left out.
  virtual point look(sequence<std::int32_t> const& choices) = 0;
  /// The same without features, for who counts.
  virtual point glance(sequence<std::int32_t> const& choices) { return look(choices); }
  /// More of a legal point, that takes longer to find: further features, as many for all points of a space, and an estimate of
  /// its cost that is right but for a factor and a power. False: there is nothing more.
  virtual bool describe(point const&, sequence<float>& /*features*/, double& /*estimate*/) { return false; }
  /// A point whose knobs are chosen at random one after the other, legal or not; without features where they are not wanted.
  virtual point at_random(random_numbers& r, bool features);
  /// What is known of all points by those that were looked at, where a look takes so long that a search walks on this first; null: it looks at each.
  virtual outline const* outlined_by() const { return nullptr; }
  /// The point whose knobs have these values, each the nearest that there is.
  virtual point look_by_values(outlined const&) { return {}; }
};

/// The choices that lead to the point after `p`, the last knob fastest; false: it is the last one.
inline bool next_point(point const& p, sequence<std::int32_t>& choices) {
  choices = p.choices;
  for (std::size_t i = choices.size(); i-- > 0;) {
    if (++choices[i] < p.sizes[i]) return true;
    choices.resize(i);
  }
  return false;
}

inline point landscape::at_random(random_numbers& r, bool features) {
  auto const at = [&](sequence<std::int32_t> const& choices) { return features ? look(choices) : glance(choices); };
  point p = at({});
  for (std::size_t decided = 0; decided < p.sizes.size();) {
    // The knobs that are known now; one of them may bring others.
    sequence<std::int32_t> choices = p.choices;
    std::size_t const known = p.sizes.size();
    for (std::size_t i = decided; i < known; ++i) choices[i] = r.below(p.sizes[i]);
    sequence<std::int32_t> const sizes = p.sizes;
    p = at(choices);
    while (decided < known && decided < p.sizes.size() && p.sizes[decided] == sizes[decided]) ++decided;
    if (decided < known && decided < p.sizes.size()) ++decided;  // another knob stands there: its choice counts
  }
  return p;
}
inline point random_point(landscape& from, random_numbers& r, bool features = true) { return from.at_random(r, features); }

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
