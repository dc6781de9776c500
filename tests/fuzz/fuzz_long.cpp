// labels: long
#include "fuzz/run.hpp"
#include "weft/compile.hpp"

namespace weft_test::fuzz {

TEST_CASE("100,000 cases: the interpreter gives the bits of direct evaluation") {
  run_cases("interpreted", 100000, check_interpreted);
}
TEST_CASE("100,000 cases: no access that check_bounds accepts leaves its tensor") {
  int accepted = 0, open = 0;
  for_each_case("accesses", 100000, [&](std::uint64_t seed) { return check_refusal(seed, accepted, open); });
  CHECK(accepted > 0);
}
TEST_CASE("10,000 cases: machine code gives the bits of direct evaluation") {
  run_cases("machine code", 10000, check_compiled);
}

}  // namespace weft_test::fuzz
