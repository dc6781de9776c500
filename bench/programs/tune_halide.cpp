// Halide's part in bench/tuner_peers.py, as tune_weft.cpp. Its autoschedulers do not measure: Mullapudi's and Li's are asked once, Adams' as
// its own autotuning script does, first with a beam of 32, then over and over with other seeds and options dropped at random; what each says is
// compiled and timed, the best is kept. A candidate is a process: an autoscheduler that fails ends only that.
//
//     tune_halide CASE SECONDS PLUGINS
#include <Halide.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace Halide;

namespace {
double now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
Buffer<float> numbers(std::vector<int> const& sizes) {
  Buffer<float> b(sizes);
  for (std::size_t i = 0; i < b.number_of_elements(); ++i) b.data()[i] = static_cast<float>(i * 7 % 13) * 0.25f - 1.5f;
  return b;
}
/// One run of a problem, its stages made anew: a schedule cannot be taken back.
struct problem {
  Pipeline pipeline;
  Buffer<float> out;
};
problem made(std::string const& what) {
  Var x("x"), y("y"), c("c");
  Func f("f");
  if (what.rfind("matmul", 0) == 0) {
    int const n = std::atoi(what.c_str() + 6);
    Buffer<float> const a = numbers({n, n}), b = numbers({n, n});
    RDom k(0, n);
    Func product("product");
    product(x, y) += a(k, y) * b(x, k);
    f(x, y) = product(x, y);
    f.set_estimates({{0, n}, {0, n}});
    return {f, Buffer<float>(n, n)};
  }
  if (what == "conv") {
    Buffer<float> const in = numbers({64, 58, 58}), w = numbers({64, 64, 3, 3});
    RDom k(0, 64, 0, 3, 0, 3);
    Func sum("sum");
    sum(c, x, y) += in(k.x, x + k.y, y + k.z) * w(c, k.x, k.y, k.z);
    f(c, x, y) = sum(c, x, y);
    f.set_estimates({{0, 64}, {0, 56}, {0, 56}});
    return {f, Buffer<float>(64, 56, 56)};
  }
  Buffer<float> const in = numbers({1024, 512});
  RDom k(0, 1024);
  Func top("top"), e("e"), total("total");
  top(y) = Float(32).min();
  top(y) = max(top(y), in(k, y));
  e(x, y) = fast_exp(in(x, y) - top(y));
  total(y) += e(k, y);
  f(x, y) = e(x, y) / total(y);
  f.set_estimates({{0, 1024}, {0, 512}});
  return {f, Buffer<float>(1024, 512)};
}
struct attempt {
  char const* by = "Mullapudi2016";
  int seed = 0;  // of Adams2019; 0: its beam of 32
};
problem scheduled(std::string const& what, attempt const& a) {
  ::setenv("HL_PERMIT_FAILED_UNROLL", "1", 1);
  ::setenv("HL_SEED", std::to_string(a.seed).c_str(), 1);
  ::setenv("HL_BEAM_SIZE", a.seed == 0 ? "32" : "1", 1);
  ::setenv("HL_RANDOM_DROPOUT", a.seed == 0 ? "100" : "1", 1);
  problem p = made(what);
  Target const target = get_host_target();
  p.pipeline.auto_schedule(a.by, target, MachineParams(2, 16 << 20, 40));
  p.pipeline.compile_jit(target);
  p.pipeline.realize(p.out, target);
  return p;
}
/// us of a call, over so many seconds.
double sample(problem& p, double seconds) {
  Target const target = get_host_target();
  p.pipeline.realize(p.out, target);
  int times = 0;
  double const begin = now();
  do p.pipeline.realize(p.out, target), ++times;
  while (now() - begin < seconds);
  return (now() - begin) * 1e6 / times;
}
/// In a child; negative: it failed, or took longer than until then.
double tried(std::string const& what, attempt const& a, double until) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  ::pid_t const child = ::fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(1);
    problem p = scheduled(what, a);
    std::vector<double> all;
    for (int i = 0; i < 7; ++i) all.push_back(sample(p, 0.003));
    std::sort(all.begin(), all.end());
    ::_exit(::write(ends[1], &all[1], sizeof all[1]) == sizeof all[1] ? 0 : 1);
  }
  ::close(ends[1]);
  double us = -1;
  pollfd waits{ends[0], POLLIN, 0};
  bool const there = ::poll(&waits, 1, std::max(1, static_cast<int>((until - now()) * 1e3))) > 0;
  if (!there || ::read(ends[0], &us, sizeof us) != sizeof us) us = -1;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  return us;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: tune_halide CASE SECONDS PLUGINS\n"), 2;
  std::string const what = argv[1], plugins = argv[3];
  for (char const* name : {"mullapudi2016", "li2018", "adams2019"}) load_plugin(plugins + "/libautoschedule_" + name + ".so");
  double const began = now(), until = began + std::atof(argv[2]);
  attempt best;
  double best_us = -1;
  int trials = 0, failed = 0;
  for (int n = 0; now() < until; ++n) {
    attempt const a = n == 0 ? attempt{"Mullapudi2016"} : n == 1 ? attempt{"Li2018"} : attempt{"Adams2019", n - 2};
    double const us = tried(what, a, until);
    ++trials, failed += us < 0;
    if (us > 0 && (best_us < 0 || us < best_us)) best = a, best_us = us;
  }
  if (best_us < 0) return std::printf("failed: none of %d schedules ran\n", trials), 1;
  if (std::freopen("/dev/null", "w", stderr) == nullptr) return 1;  // what autoschedulers tell of themselves
  problem p = scheduled(what, best);
  double sum = 0, size = 0;
  for (std::size_t i = 0; i < p.out.number_of_elements(); ++i)
    sum += static_cast<double>(p.out.data()[i]) * static_cast<double>(i % 5), size += std::abs(static_cast<double>(p.out.data()[i]));
  std::printf("ready trials %d seconds %.1f sum %.9g size %.9g by %s%s failed %d\n", trials, now() - began, sum, size, best.by,
              best.seed > 0 ? "_sampled" : "", failed);
  std::fflush(stdout);
  for (char line[64]; std::fgets(line, sizeof line, stdin) != nullptr;) {
    std::printf("%.3f\n", sample(p, 0.05));
    std::fflush(stdout);
  }
}
