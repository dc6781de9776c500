// How long from a call of prepare() to something that can be called.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "harness.hpp"
#include "kernels.hpp"

extern "C" char** environ;

namespace bench {
namespace {

template <class F>
double milliseconds(F const& f) {
  double const start = now_ns();
  f();
  return (now_ns() - start) * 1e-6;
}
std::size_t elements(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }
double prepare_matmul(buffer const& a, buffer const& b, buffer const& c, std::int64_t m, std::int64_t n,
                      std::int64_t k) {
  auto const left = weft::view(a.data(), m, k), right = weft::view(b.data(), k, n);
  auto const result = weft::out(c.data(), m, n);
  return milliseconds([&] { static_cast<void>(matmul_kernel.prepare(left, right, result)); });
}
row as_ms(char const* name, std::vector<double> const& ms) {
  row r;
  r.variant = name, r.median = median(ms), r.spread = spread(ms), r.unit = "ms";
  r.note = text("%zu runs, %.2f to %.2f", ms.size(), percentile(ms, 0), percentile(ms, 1));
  return r;
}

struct first_times {
  double load = 0, prepare = 0;
};
/// A process of its own: this one has loaded LLVM and compiled before.
bool run_first(first_times& found) {
  int ends[2];
  if (::pipe(ends) != 0) return false;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[0]);
  char name[] = "weft-bench", option[] = "--first-jit";
  char* const arguments[] = {name, option, nullptr};
  pid_t child = 0;
  bool const started = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ) == 0;
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  char answer[128] = {};
  std::size_t size = 0;
  for (ssize_t got = 0; size + 1 < sizeof answer; size += static_cast<std::size_t>(got))
    if ((got = ::read(ends[0], answer + size, sizeof answer - 1 - size)) <= 0) break;
  ::close(ends[0]);
  int status = 1;
  return started && ::waitpid(child, &status, 0) == child && status == 0 &&
         std::sscanf(answer, "%lf %lf", &found.load, &found.prepare) == 2;
}

void first_in_process(report& r) {
  std::vector<double> load, prepare;
  for (int i = 0; i < r.wanted.rounds + 1; ++i) {
    first_times t;
    if (!run_first(t)) return r.wrong("the child process of a first compilation failed");
    if (i == 0) continue;  // reads LLVM's file into memory
    load.push_back(t.load), prepare.push_back(t.prepare);
  }
  r.add(as_ms("load LLVM", load));
  row line = as_ms("first: matmul 1023", prepare);
  demand_at_most(line, line.median, 16, " ms");
  r.add(line);
}

/// Two vectors of every size that is measured are added before and after compiling: the code must be right, too.
void later_vector_add(report& r, int shapes) {
  std::size_t const most = 4096;
  buffer const a(most, 1), b(most, 2), c(most, 3);
  a.randomize(1), b.randomize(2);
  std::vector<double> ms;
  for (int i = 0; i <= shapes; ++i) {
    std::int64_t const n = 1000 + 37 * i;
    auto const x = weft::view(a.data(), n), y = weft::view(b.data(), n);
    auto const z = weft::out(c.data(), n);
    double const t = milliseconds([&] { static_cast<void>(vector_add.prepare(x, y, z)); });
    if (i > 0) ms.push_back(t);
    c.poison();
    vector_add(x, y, z);
    for (std::int64_t e = 0; e < n; ++e)
      if (!(c.data()[e] == a.data()[e] + b.data()[e])) return r.wrong("vector add");
  }
  row line = as_ms("vector add", ms);
  demand_at_most(line, line.median, 4, " ms");
  r.add(line);
}

/// Fresh shapes by another K each: the loop over k is the same code for each.
row later_matmul(char const* name, std::int64_t m, std::int64_t n, std::int64_t first_k, std::int64_t step,
                 int shapes) {
  auto const most_k = first_k + step * shapes;
  buffer const a(elements(m, most_k), 1), b(elements(most_k, n), 2), c(elements(m, n), 3);  // never touched
  std::vector<double> ms;
  for (int i = 0; i <= shapes; ++i) {
    std::int64_t const k = first_k + step * i;
    double const t = prepare_matmul(a, b, c, m, n, k);
    if (i > 0) ms.push_back(t);
  }
  return as_ms(name, ms);
}
}  // namespace

int first_jit() {
  double const load = milliseconds([] { weft::codegen::llvm::load_llvm(); });
  std::int64_t const n = 1023;
  buffer const a(elements(n, n), 1), b(a.size(), 2), c(a.size(), 3);
  std::printf("%.4f %.4f\n", load, prepare_matmul(a, b, c, n, n, n));
  return 0;
}

void jit(report& r) {
  int const shapes = r.wanted.rounds < 15 ? 15 : r.wanted.rounds;
  first_in_process(r);
  later_vector_add(r, shapes);
  row even = later_matmul("matmul 1020 x 1024", 1020, 1024, 512, 256, shapes);
  demand_at_most(even, even.median, 8, " ms");
  r.add(even);
  row tails = later_matmul("matmul 1023 x 1023", 1023, 1023, 1023, 2, shapes);
  demand_at_most(tails, tails.median, 12, " ms");
  r.add(tails);
}

}  // namespace bench
