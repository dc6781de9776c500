// labels: long
#include "fuzz/run.hpp"
#include "weft/compile.hpp"

namespace weft_test::fuzz {

TEST_CASE("20,000 cases: machine code gives the bits of direct evaluation") {
  run_cases("machine code", 20000, check_compiled);
}
TEST_CASE("5,000 cases: checked code finds the accesses outside of a tensor that the interpreter finds, and no others") {
  int found = 0;
  for_each_case("checked", 5000, [&](std::uint64_t seed) { return check_found(seed, found); });
  CHECK(found > 0);
}

}  // namespace weft_test::fuzz
