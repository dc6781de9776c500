// labels: long
#include "fuzz/run.hpp"

namespace weft_test::fuzz {

TEST_CASE("200,000 cases: the interpreter gives the bits of direct evaluation") {
  run_cases("interpreted", 200000, check_interpreted);
}
TEST_CASE("200,000 cases: no access that check_bounds accepts leaves its tensor") {
  int accepted = 0;
  for_each_case("accesses", 200000, [&](std::uint64_t seed) { return check_refusal(seed, accepted); });
  CHECK(accepted > 0);
}

}  // namespace weft_test::fuzz
