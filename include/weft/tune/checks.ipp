#include <cmath>

#include "weft/base/joined.hpp"
#include "weft/tune/run.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

/// Where a candidate and the schedule without tuning are of two minds, direct evaluation says which is right, while that takes a second at most. True: the
/// candidate is, at this element. Then either both are, and sums that cancel are compared within what their terms allow from here on, or an element that
/// hangs on their order not at all; or the schedule without tuning is wrong, and so is all that was like it.
inline bool tuning_run::is_right(sequence<element_list>& found, int output, std::size_t at) {
  if (++judged_ > 64 || judged_ns_ > 1e9) return false;
  waiting const judging(judged_ns_);
  auto const o = static_cast<std::size_t>(output);
  bool known = false;
  double magnitude = 0;
  if (!check_element(what_, machine_.fma, arguments_, count_, found[o], output, at, tolerance_, known, &magnitude).empty() || !known) return false;
  std::string const ours = check_element(what_, machine_.fma, arguments_, count_, expected_[o], output, at, tolerance_, known);
  if (ours.empty()) {
    if (std::isinf(magnitude)) {
      found[o].bits[at] = expected_[o].bits[at];
      return true;
    }
    if (2 * magnitude <= magnitudes_[o]) return false;  // so far apart they may be already
    magnitudes_[o] = 2 * magnitude;
    return true;
  }
  result_.checked += joined({"; the schedule without tuning is wrong: ", ours, ", as a candidate and direct evaluation say"});
  for (tune_trial& t : result_.trials)
    if (t.ns > 0) {
      t.ns = 0, t.wrong = true, t.why = joined({&t == &result_.trials[0] ? "" : "as the schedule without tuning: ", ours});
      store(t);  // it was kept as good: the latest counts
    }
  result_.best_ns = 0;
  expected_ = found;
  for (element_list& e : expected_) make_ready(e);
  expected_of_others_.clear();
  return true;
}
/// Whether an output has one value everywhere, as it has of inputs that nobody has filled: what a candidate leaves out is not seen then.
inline bool has_one_value(sequence<element_list> const& outputs) {
  for (element_list const& e : outputs) {
    std::size_t same = 0;
    while (same < e.bits.size() && e.bits[same] == e.bits[0]) ++same;
    if (same > 1 && same == e.bits.size()) return true;
  }
  return false;
}
inline constexpr char hangs_on_order[] =
    "no element of these inputs: a maximum or minimum forgets what was before a NaN, of which they have some, and so hangs on the order in which it is taken: tune with inputs without";
inline constexpr char little_of_small[] = "; most elements are so much smaller than the largest that little is seen of them: tune with inputs of one magnitude";
inline constexpr char little_is_seen[] = "; all elements of an output are the same, of which little is seen: tune with inputs that differ";
/// Whether the outputs, where they stand, are like those. Where they are not, `difference` says at which element.
inline bool tuning_run::are_like(sequence<element_list> const& expected, tolerance within, sequence<double> const* magnitudes) const {
  std::size_t tensor = 0, output = 0;
  for (int i = 0; i < count_; ++i) {
    argument const& a = arguments_[i];
    if (a.is_output) {
      if (magnitudes != nullptr) within.magnitude = (*magnitudes)[output];
      if (!is_like(expected[output], a, copies_.data(tensor), within)) return false;
      ++output;
    }
    if (!a.is_scalar) ++tensor;
  }
  return true;
}
inline bool tuning_run::computes_the_same(tune_trial& t) {
  if (!copies_.intact()) t.why = "it writes outside of its tensors";
  if (t.why.empty() && !expected_.empty() && are_like(expected_, {tolerance_.bitwise, tolerance_.terms}, &magnitudes_)) return true;
  if (t.why.empty() && hangs_on_nans_) {
    if (result_.checked.empty()) by_other_numbers_ = whole_are_exact_, result_.checked = hangs_on_order;
    return true;
  }
  sequence<element_list> found = outputs();
  if (t.why.empty() && expected_.empty()) {
    int samples = 0;
    t.why = check_samples(what_, machine_.fma, arguments_, count_, found, tolerance_, samples);
    std::size_t elements = 0;
    for (element_list const& e : found) elements += e.bits.size();
    std::size_t const seen = static_cast<std::size_t>(samples) < elements ? static_cast<std::size_t>(samples) : elements;  // a place may be met twice
    result_.checked = elements == 0 ? std::string("nothing: the results have no elements")
                      : seen > 0    ? joined({std::to_string(seen), seen == 1 ? " element" : " elements", " by direct evaluation, all others by the schedule without tuning"})
                                    : "the schedule without tuning (direct evaluation would take too long)";
    if (t.why.empty()) magnitudes_.assign(found.size(), 0.0), expected_ = static_cast<sequence<element_list>&&>(found);
    if (t.why.empty() && has_one_value(expected_)) {
      by_other_numbers_ = by_other_numbers_ || whole_are_exact_;
      if (!by_other_numbers_) result_.checked += little_is_seen;
    }
    for (element_list& e : expected_) make_ready(e);
    bool loosely = false;
    for (element_list const& e : expected_) loosely = loosely || lets_most_pass(e, tolerance_);
    if (loosely) by_other_numbers_ = by_other_numbers_ || whole_are_exact_;
    if (loosely && !by_other_numbers_) result_.checked += little_of_small;
    if (t.why.empty()) return true;
  }
  for (std::size_t i = 0; i < found.size() && t.why.empty(); ++i) {
    std::size_t at = 0;
    do t.why = difference(expected_[i], found[i], {tolerance_.bitwise, tolerance_.terms, magnitudes_[i]}, &at);
    while (!t.why.empty() && is_right(found, static_cast<int>(i), at));
    if (t.why.empty()) continue;
    if (found.size() > 1) t.why = joined({"output ", std::to_string(i), ": ", t.why});
  }
  t.wrong = !t.why.empty();
  return !t.wrong;
}
/// On whole numbers, where each term counts: the first schedule by direct evaluation, the others by that. Inputs are filled and brought back, which of
/// large ones takes longer than all calls of a trial.
inline bool tuning_run::sums_the_same(tune_trial& t, slot_calls& calls) {
  constexpr char of_what[] = "on whole numbers";
  double const filled = now_ns();
  copies_.put_whole_numbers(arguments_, count_);
  others_ns_ = now_ns() - filled;
  bool const ran = calls.run(1) > 0;
  if (!ran) t.result = runner_.last(), t.why = joined({"it failed ", of_what});
  tolerance const exactly{wanted_.bitwise, 1};
  bool const like = ran && !expected_of_others_.empty() && are_like(expected_of_others_, exactly);
  sequence<element_list> const found = ran && !like ? outputs() : sequence<element_list>();
  if (ran && expected_of_others_.empty()) {
    sequence<argument> theirs(arguments_, arguments_ + count_);
    std::size_t tensor = 0;
    for (argument& a : theirs)
      if (!a.is_scalar) a.data = copies_.data(tensor++);
    int samples = 0;
    t.why = check_samples(what_, machine_.fma, theirs.data(), count_, found, exactly, samples);
    if (t.why.empty()) {
      expected_of_others_ = found;
      for (element_list& e : expected_of_others_) make_ready(e);
      result_.checked += has_one_value(expected_of_others_) ? std::string(little_is_seen) : joined({"; the same ", of_what, ", to the bit"});
    }
  }
  for (std::size_t i = 0; i < found.size() && t.why.empty(); ++i) {
    t.why = difference(expected_of_others_[i], found[i], exactly);
    if (!t.why.empty()) t.why = joined({of_what, ", ", found.size() > 1 ? joined({"output ", std::to_string(i), ": "}) : std::string(), t.why});
  }
  t.wrong = ran && !t.why.empty();
  double const brought = now_ns();
  copies_.bring_inputs();
  copies_.restore();
  others_ns_ += now_ns() - brought;
  return ran && !t.wrong;
}

/// Of one whose worker was killed from outside nothing is known, and what is stored of it would keep it from ever being proposed again: it has a
/// second try.
inline tune_trial tuning_run::measured(sequence<std::int32_t> const& choices, double give_up_ns, candidate_text c) {
  tune_trial t = measured_once(choices, give_up_ns, static_cast<candidate_text&&>(c));
  return t.result == outcome::crashed && runner_.was_killed() ? measured_once(choices, give_up_ns, {}) : t;
}

}  // namespace detail
}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
