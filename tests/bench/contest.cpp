// The harness of weft-bench --peers beside peers that are made up: what is wrong is said and not timed, and bars are kept apart by
// weights, by threads and as means. A program of its own, since nothing else of the benchmarks is built by tests.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../../bench/peers/contest.hpp"
#include "../../bench/peers/modules.hpp"

namespace bench::peers {
namespace {
int failures = 0;
void check(bool holds, char const* what) {
  if (!holds) std::fprintf(stderr, "not so: %s\n", what), ++failures;
}
float result[16];
/// Fills the result in about so many microseconds.
way busy(std::string name, double us, float value = 1, weights as = weights::plain) {
  return {std::move(name), [=] {
            for (float& x : result) x = value;
            for (double const end = now_ns() + us * 1e3; now_ns() < end;) {}
          }, as};
}
std::vector<way> there;

contest made(report& r, char const* family, char const* name, int threads, bars plain, bars packed) {
  problem p;
  p.threads = threads, p.out = result;
  work w;
  w.operations = 1e6, w.bytes = 64;
  contest c(r, family, name, p, w, plain, packed);
  c.result(16);
  return c;
}
expected one(std::int64_t) { return {1, 1e-6}; }
}  // namespace

std::vector<way> ways_of_all(report&, problem const&) { return there; }
std::string versions(report&) { return "nobody"; }
double peak(arithmetic, int) { return 100; }
double bf16_gflops() { return 0; }
double u8s8_gops() { return 0; }
bandwidth bandwidth_at(std::int64_t, int) { return {1, 1, 1}; }
}  // namespace bench::peers

int main(int argc, char** argv) {
  using namespace bench::peers;
  bench::options o;
  o.rounds = 7, o.only = "row", o.markdown = argc > 1;
  bench::report r(o);
  there = {busy("peer", 60), busy("peer, packed", 6, 1, weights::packed)};
  {  // ten times as fast as the plain peer, a tenth as fast as the one with packed weights: far apart, for machines that are busy
    contest c = made(r, "family", "row a", 1, {2}, {0.9, 1});
    c.weft("weft", busy("", 6).run);
    c.weft("weft, constant", busy("", 60).run, weights::packed);
    c.weft("weft, 1 thread", busy("", 60).run);
    c.over("peer", 1000), c.not_slower_than("weft, 1 thread");
    c.compete(one);
  }
  {
    contest c = made(r, "family", "row b", 2, {0, 1}, {});
    c.weft("weft", busy("", 600).run);
    c.not_slower_than("peer");
    c.compete(one);
  }
  {
    contest c = made(r, "family", "not asked for", 2, {0, 1}, {});
    c.weft("weft", [] { std::abort(); });
    c.compete(one);
  }
  check(r.all_right(), "all is right so far");
  {
    contest c = made(r, "wrong", "row c", 1, {1}, {});
    c.weft("weft", busy("", 20, 2).run);
    c.compete(one);
  }
  check(!r.all_right(), "a wrong result is seen");
  print_means(r);  // of some rows: nothing is said
  r.wanted.only.clear();
  print_means(r);
  print_markdown(r);
  (void)argv;
  return failures;
}
