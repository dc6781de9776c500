// Random programs under random schedules: direct evaluation and the interpreter agree bit for bit.
#include "fuzz/run.hpp"

namespace weft_test::fuzz {

TEST_CASE("the interpreter gives the bits of direct evaluation, before the passes and after them") {
  run_cases("interpreted", 20000, check_interpreted);
}

TEST_CASE("no access that check_bounds accepts leaves its tensor") {
  int accepted = 0, open = 0, cases = 0;
  for_each_case("accesses", 10000, [&](std::uint64_t seed) { return ++cases, check_refusal(seed, accepted, open); });
  // With nearly all refused, or nearly none, it would say little.
  if (cases >= 1000) CHECK((accepted > cases / 10 && accepted < cases * 9 / 10));
  if (cases >= 1000) CHECK((open > cases / 20 && open < cases * 9 / 10));
}

}  // namespace weft_test::fuzz
