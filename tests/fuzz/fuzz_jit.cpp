// Random programs under random schedules: machine code gives the bits of direct evaluation.
#include "fuzz/run.hpp"
#include "weft/compile.hpp"

namespace weft_test::fuzz {

TEST_CASE("machine code for every target that runs here gives the bits of direct evaluation") {
  run_cases("machine code", 2000, check_compiled);
}

}  // namespace weft_test::fuzz
