// labels: long
#include "fuzz/run.hpp"
#include "weft/compile.hpp"

namespace weft_test::fuzz {

TEST_CASE("20,000 cases: machine code gives the bits of direct evaluation") {
  run_cases("machine code", 20000, check_compiled);
}

}  // namespace weft_test::fuzz
