// The trial on a GPU judges in processes of their own: what ends one, or hangs, is said, and what stands behind it has its turn.
#include <doctest/doctest.h>

#include "../../bench/gpu/parts.hpp"

#include <unistd.h>

namespace {
/// Kernels 0 to 3, of which `bad` does what it does.
trial::part of_four(char const* name, int bad, void (*what)()) {
  return {name, [=](trial::part_progress& p, int from) {
            for (int i = from; i < 4; ++i) {
              p.at = i, p.runs = true;
              if (i == bad) what();
              p.runs = false;
              std::printf("%s %d\n", name, i);
            }
          }};
}
/// What judge_parts prints, and how many it says are wrong.
std::string said(std::vector<trial::part> const& parts, double seconds, int& wrong) {
  std::fflush(stdout);
  std::FILE* const to = std::tmpfile();
  int const before = dup(1);
  dup2(fileno(to), 1);
  wrong = trial::judge_parts(parts, seconds, 0.3);
  std::fflush(stdout);
  dup2(before, 1);
  close(before);
  std::rewind(to);
  std::string text;
  for (int c = std::fgetc(to); c != EOF; c = std::fgetc(to)) text += static_cast<char>(c);
  std::fclose(to);
  return text;
}
}  // namespace

TEST_CASE("a kernel that ends its process, or hangs, leaves all others their turn, and the parts their order") {
  int wrong = 0;
  auto const nothing = [] {};
  std::string const text = said({of_four("a", -1, nothing), of_four("b", 1, [] { _exit(1); }), of_four("c", 2, [] { for (;;) pause(); }),
                                 of_four("d", 3, [] { kill(getpid(), SIGKILL); })}, 60, wrong);
  CHECK(text == R"(a 0
a 1
a 2
a 3
b 0
WRONG b: kernel 1 ended the process
b 2
b 3
c 0
c 1
WRONG c: kernel 2 hangs, and was ended
c 3
d 0
d 1
d 2
WRONG d: kernel 3 ended the process
)");
  CHECK(wrong == 3);
}
TEST_CASE("what is wrong is counted, and what is not done in time is no pass") {
  int wrong = 0;
  std::string const text = said({{"two", [](trial::part_progress& p, int) { p.wrong = 2; }}, {"long", [](trial::part_progress&, int) { for (;;) pause(); }}}, 1, wrong);
  CHECK(text == "long: not judged to its end, as the time is over\n");
  CHECK(wrong == 3);
}
