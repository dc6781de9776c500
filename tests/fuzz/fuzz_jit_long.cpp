// labels: long
// As fuzz_jit.cpp: half of the cases for each LLVM.
#include "fuzz/run.hpp"
#include "weft/compile.hpp"

namespace weft_test::fuzz {

TEST_CASE("10,000 cases: machine code gives the bits of direct evaluation") {
  run_cases("machine code", 10000, check_compiled);
}
TEST_CASE("2,500 cases: checked code finds the accesses outside of a tensor that the interpreter finds, and no others") {
  int found = 0;
  for_each_case("checked", 2500, [&](std::uint64_t seed) { return check_found(seed, found); });
  CHECK(found > 0);
}

}  // namespace weft_test::fuzz
