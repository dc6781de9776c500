// Random programs under random schedules: machine code gives the bits of direct evaluation. Half of the cases for each
// LLVM that is tested; seeds are fresh, so no case is run by both.
#include "fuzz/run.hpp"
#include "weft/compile.hpp"

namespace weft_test::fuzz {

TEST_CASE("machine code for this machine and for a lesser one gives the bits of direct evaluation") {
  run_cases("machine code", 1500, check_compiled);
}
TEST_CASE("machine code: drawn cases that once went wrong") {
  // A square of loads that a loop around does not change was turned over inside of it, and used in front of it.
  // Of a stage that is kept and never read the memory was asked of code that knows of none.
  // A choice by a function of a number was decided as if that were one of sizes.
  for (std::uint64_t seed : {14898071032032842980u, 11001400081956420017u, 10422864036654868029u}) CHECK(check_case(seed, check_compiled) == "");
}
TEST_CASE("checked code finds the accesses outside of a tensor that the interpreter finds, and no others") {
  int found = 0, cases = 0;
  for_each_case("checked", 250, [&](std::uint64_t seed) { return ++cases, check_found(seed, found); });
  if (cases >= 250) CHECK((found > cases / 20 && found < cases * 19 / 20));
}
TEST_CASE("checked code: drawn cases that once went wrong") {
  // The plain nest left out an access whose value does not matter, the loops of the schedule did not.
  int found = 0;
  for (std::uint64_t seed : {12952283744128773967u}) CHECK(check_found(seed, found) == "");
}

}  // namespace weft_test::fuzz
