#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("WEFT_VERIFY", "1", 0);  // our verifier between passes, and LLVM's
  return doctest::Context(argc, argv).run();
}
