#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

// No test reads or writes the user's own kernels on disk: those that are about them name a directory of their own, and
// all others compile what they test. WEFT_TEST_CACHE is for processes that such a test starts.
int main(int argc, char** argv) {
  char const* const own = std::getenv("WEFT_TEST_CACHE");
  ::setenv("WEFT_CACHE", own != nullptr ? own : "off", 1);
  return doctest::Context(argc, argv).run();
}
