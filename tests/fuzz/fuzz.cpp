// Random programs under random schedules: direct evaluation and the interpreter agree bit for bit.
#include "fuzz/run.hpp"

namespace weft_test::fuzz {

TEST_CASE("the interpreter gives the bits of direct evaluation, before the passes and after them") {
  run_cases("interpreted", 5000, check_interpreted);
}

}  // namespace weft_test::fuzz
