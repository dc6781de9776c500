// weft-bench: how fast compiled kernels, their compilation and their calls are on this machine.
//
//     weft-bench [--filter text] [--json] [--list] [--rounds n]
//     weft-bench --peers [--threads 1] [--only harris] [--markdown] ..    against OpenBLAS, oneDNN and others (docs/performance.md)
//
// The ratio is speed over the case's reference variant: above 1 is faster. Where weft promises a figure, it stands in
// the column `bar`. Exit status: 0; 1 when a variant computed something wrong; 2 for a wrong command line.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "harness.hpp"
#include "math_peers.hpp"
#include "peers/contest.hpp"
#include "peers/modules.hpp"
#include "weft/tune/worker.hpp"

namespace {
struct named_case {
  char const* name;
  void (*run)(bench::report&);
};
constexpr named_case cases[] = {
    {"matmul_1024", [](bench::report& r) { bench::matmul(r, 1024); }},
    {"matmul_256", [](bench::report& r) { bench::matmul(r, 256); }},
    {"matmul_512", [](bench::report& r) { bench::matmul(r, 512); }},
    {"matmul_1000", [](bench::report& r) { bench::matmul(r, 1000); }},
    {"matmul_1023", [](bench::report& r) { bench::matmul(r, 1023); }},
    {"matmul_1024_packed", [](bench::report& r) { bench::matmul_packed(r, 1024); }},
    {"matmul_1000_packed", [](bench::report& r) { bench::matmul_packed(r, 1000); }},
    {"matmul_1024_two_threads", bench::matmul_two_threads},
#define BENCH_NAMED(name, low, high) {"math_" #name, bench::math_##name},
    BENCH_MATH(BENCH_NAMED, BENCH_NAMED)
    BENCH_MATH_ALONE(BENCH_NAMED, BENCH_NAMED)
#undef BENCH_NAMED
    {"attention", bench::attention},
    {"lowering", bench::lowering},
    {"jit", bench::jit},
    {"warm_start", bench::warm_start},
    {"tuned", bench::tuned},
    {"tuned_by_search", bench::sketches},
    {"tuner_rounds", bench::rounds},
    {"call", bench::call},
    {"launch", bench::launch},
    {"fork_join", bench::fork_join},
};

struct family {
  char const* name;
  void (*run)(bench::report&, int threads);
};
constexpr family families[] = {
    {"matmul_squares", bench::peers::matmul_squares}, {"matmul_small", bench::peers::matmul_small},
    {"matmul_short", bench::peers::matmul_short},     {"matmul_forms", bench::peers::matmul_forms},
    {"matmul_fused", bench::peers::matmul_fused},     {"matmul_narrow", bench::peers::matmul_narrow},
    {"elementwise", bench::peers::elementwise},       {"rows", bench::peers::rows},
    {"images", bench::peers::images},                 {"convolutions", bench::peers::convolutions},
    {"attention", bench::peers::attention},           {"pipelines", bench::peers::pipelines},
};
void against_peers(bench::report& r) {
  if (!r.wanted.list) bench::peers::say_where(r);
  for (family const& f : families)
    for (int const threads : {1, 2}) {
      if (std::string_view(f.name).find(r.wanted.filter) == std::string_view::npos) continue;
      if (r.wanted.threads != 0 && r.wanted.threads != threads) continue;
      if (r.wanted.list) std::printf("%s %dT\n", f.name, threads);
      else f.run(r, threads);
    }
  if (!r.wanted.list) bench::peers::print_means(r);
  if (r.wanted.markdown && !r.wanted.list) bench::peers::print_markdown(r);
}

[[noreturn]] void usage(int status) {
  std::fprintf(status == 0 ? stdout : stderr, "usage: weft-bench [--filter text] [--json] [--list] [--rounds n]\n"
                                              "       weft-bench --peers [--threads n] [--only text] [--markdown] and these\n");
  std::exit(status);
}
bench::options read(int argc, char** argv) {
  bench::options o;
  for (int i = 1; i < argc; ++i) {
    std::string_view const a = argv[i];
    bool const last = i + 1 == argc;
    if (a == "--json") o.json = true;
    else if (a == "--list") o.list = true;
    else if (a == "--peers") o.peers = true;
    else if (a == "--markdown") o.markdown = true;
    else if (a == "--threads" && !last && std::atoi(argv[i + 1]) > 0) o.threads = std::atoi(argv[++i]);
    else if (a == "--filter" && !last) o.filter = argv[++i];
    else if (a == "--only" && !last) o.only = argv[++i];
    else if (a == "--rounds" && !last && std::atoi(argv[i + 1]) > 0) o.rounds = std::atoi(argv[++i]);
    else usage(a == "--help" ? 0 : 2);
  }
  return o;
}
}  // namespace

int main(int argc, char** argv) {
  if (weft::worker(argc, argv)) return 0;
  if (argc == 2 && std::string_view(argv[1]) == "--first-jit") return bench::first_jit();
  if (argc == 4 && std::string_view(argv[1]) == "--first-look") return bench::first_look(argv[2], argv[3]);
  ::setenv("WEFT_CACHE", "off", 1);  // what is measured is compiled here; `warm_start` has a directory of its own
  // Each shape has code of its own, as in a program with few: not that for many shapes, which a kernel gets after eight.
  ::setenv("WEFT_EXACT_SHAPES", "1000000", 1);
  // Before anything asks for the pool: "two threads" is two on every machine.
  ::setenv("WEFT_THREADS", "2", 1);
  bench::report r(read(argc, argv));
  if (r.wanted.peers) {
    bench::peers::restart_with_environment(argv);
    against_peers(r);
    return r.all_right() ? 0 : 1;
  }
  for (named_case const& c : cases) {
    if (std::string_view(c.name).find(r.wanted.filter) == std::string_view::npos) continue;
    if (r.wanted.list) {
      std::printf("%s\n", c.name);
      continue;
    }
    r.begin(c.name);
    c.run(r);
  }
  return r.all_right() ? 0 : 1;
}
