// What may go wrong while a tuner runs, at random, from a seed that is printed. WEFT_FAULT_TIMES=n: n times as often.
#include <doctest/doctest.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/children.hpp"
#include "support/private_cache.hpp"
#include "tune/recorded_kernels.hpp"
#include "tune/trial_limits.hpp"
#include "weft/base/joined.hpp"
#include "weft/intrinsics.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/tune.hpp"
#include "weft/tune/trials.hpp"
#include "weft/tune/verify.hpp"

using namespace weft;
using weft_test::private_cache;
using weft_test::temporary_directory;

namespace {
inline constexpr auto product = weft::kernel<"faulty_product">(
    weft_test::product_of,
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, ii] = s.split(i, s.knob("mr", {1, 2, 4, 8}));
      auto [jo, ji] = s.split(j, s.knob("nr", {4, 8, 16}));
      if (s.knob("k_inside", {1, 0}) != 0) s.reorder(io, jo, ii, ji, k);
      else s.reorder(io, jo, k, ii, ji), s.unroll(ii), s.vectorize(ji);
    });

constexpr std::int64_t n = 16;
struct matrices {
  std::vector<float> a, b, c;
  matrices() : a(n * n), b(n * n), c(n * n, -7.0f) {
    for (std::size_t i = 0; i < n * n; ++i) a[i] = static_cast<float>(i % 13) - 6, b[i] = static_cast<float>(i % 7) - 3;
  }
  /// What the kernel should make of them; whole numbers, exact in any order.
  std::vector<float> product_by_hand() const {
    std::vector<float> all(n * n, 0.0f);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < n; ++k) all[i * n + j] += a[i * n + k] * b[k * n + j];
    return all;
  }
};
/// A call in this process is right: with what is on disk by now.
bool call_is_right() {
  matrices m;
  product(view(m.a, n, n), view(m.b, n, n), out(m.c, n, n));
  return m.c == m.product_by_hand();
}
tune_options quick(std::int64_t trials, std::uint64_t seed) {
  tune_options o;
  o.trials = trials, o.seconds = 120, o.seed = seed;
  o.worker = tuning::isolation::forked;
  return o;
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
int times(int count) {
  char const* const more = std::getenv("WEFT_FAULT_TIMES");
  return more != nullptr ? count * std::atoi(more) : count;
}
std::uint64_t fresh_seed(char const* what) {
  std::uint64_t const seed = std::random_device{}();
  std::printf("%s: seed %llu\n", what, static_cast<unsigned long long>(seed));
  return seed;
}
bool no_sqlite() {
  if (tuning::find_sqlite() != nullptr) return false;
  MESSAGE("[skip] no SQLite on this machine");
  return true;
}

// --- bad candidates -------------------------------------------------------------------------------------------

enum class fault { none, behind, far_behind, in_front, to_an_input, one_wrong, does_nothing, hangs, no_text };
constexpr int faults = 9;
/// Puts a fault into a part of the candidates: which, follows from the seed and the choices.
struct injector {
  std::uint64_t seed;
  bool may_hang;
  fault of(sequence<std::int32_t> const& choices) const {
    std::uint64_t h = seed;
    bool first = true;
    for (std::int32_t c : choices) h = tuning::random_numbers(h * 31 + static_cast<std::uint64_t>(c)).next(), first = first && c == 0;
    if (first || h % 3 == 0) return fault::none;  // the schedule without tuning is ours, not a candidate
    auto const f = static_cast<fault>((h >> 8) % faults);
    if (f == fault::hangs && (!may_hang || (h >> 16) % 3 != 0)) return fault::none;
    return f;
  }
  static void see(void* context, sequence<std::int32_t> const& choices, std::string& loops) {
    switch (static_cast<injector const*>(context)->of(choices)) {
      case fault::none: return;
      case fault::behind: loops += "  C[16, 0] = 1.0f32\n"; return;
      case fault::far_behind: loops += "  C[5000, 3] = 1.0f32\n"; return;
      case fault::in_front: loops += "  C[-1, 15] = 1.0f32\n"; return;
      case fault::to_an_input:
        loops.replace(loops.find("in argument 0 alias"), 19, "in argument 0 written alias");
        loops += "  A[3, 3] = 1.0f32\n";
        return;
      case fault::one_wrong: loops += "  C[7, 9] = C[7, 9] + 0.5f32\n"; return;
      case fault::does_nothing:  // and is the fastest by far
        loops = joined({buffers(), "  C[0, 0] = 0.0f32\n"});
        return;
      case fault::hangs:
        loops = never_ends();
        return;
      case fault::no_text: loops += "  C[0, 0] = ;\n"; return;
    }
  }
  static std::string never_ends() {
    return joined({buffers("i, n"), "  for n in 0..1000000000000000:\n    for i in 0..16:\n"
                                    "      C[(i * 7 + n) %% 16, 0] = C[(i + n * 3) %% 16, 0] + A[i, 0]\n"});
  }
  static std::string buffers(std::string const& variables = "") {
    std::string t = joined({"kernel candidate:\n", variables.empty() ? "" : "  variables " + variables + "\n"});
    for (char const* one : {"A: f32[16, 16] strides [16, 1] in argument 0 alias 0", "B: f32[16, 16] strides [16, 1] in argument 1 alias 1",
                            "C: f32[16, 16] strides [16, 1] in argument 2 written alias 2"})
      t += joined({"  buffer ", one, " align 4\n"});
    return t;
  }
};
bool is_as_expected(fault f, tune_trial const& t) {
  using tuning::outcome;
  switch (f) {
    case fault::none: return t.result == outcome::good && !t.wrong && t.ns > 0;
    case fault::far_behind:
    case fault::to_an_input: return t.result == outcome::crashed;
    case fault::behind: return t.result == outcome::crashed || (t.wrong && has(t.why, "outside"));
    case fault::in_front: return t.wrong && has(t.why, "outside");
    case fault::one_wrong:
    case fault::does_nothing: return t.wrong && has(t.why, "instead of");
    case fault::hangs: return t.result == outcome::hung;
    case fault::no_text: return t.result == outcome::refused;
  }
  return false;
}

/// A sum of pairs, by an instruction of processors that are not made any more: LLVM ends the process where it has none.
inline constexpr auto of_another_processor = weft::declare_intrinsic<"vphaddwd", std::int16_t>(
    [](auto x) {
      return weft::compute<"c">(x.extent(0), [=](auto lane) {
        return weft::sum(2, [=](auto k) { return weft::cast<std::int32_t>(x(lane, k)); });
      });
    },
    {{"sse2", "llvm.x86.xop.vphaddwd", 4}});
inline constexpr auto pairs = weft::kernel<"pairs">(
    [](auto x) {
      return weft::compute<"y">(x.extent(0), [=](auto i) {
        return weft::sum(2, [=](auto k) { return weft::cast<std::int32_t>(x(i, k)); });
      });
    },
    [](auto& s, auto, auto y) {
      auto [i, k] = y.axes();
      auto [io, ii] = s.split(i, s.knob("lanes", {4, 8}));
      auto const how = s.knob("how", {0, 1, 2});
      s.reorder(io, ii, k);
      s.vectorize(ii);
      if (how == 1) s.tensorize(k, of_another_processor);
      if (how == 2) s.unroll(k);
    });

inline constexpr auto by_avx2 = weft::declare_intrinsic<"vphaddwd_2", std::int16_t>(
    [](auto x) {
      return weft::compute<"c">(x.extent(0), [=](auto lane) {
        return weft::sum(2, [=](auto k) { return weft::cast<std::int32_t>(x(lane, k)); });
      });
    },
    {{"avx2", "llvm.x86.xop.vphaddwd", 4}});
inline constexpr auto pairs_of_avx2 = weft::kernel<"pairs_of_avx2">(
    [](auto x) {
      return weft::compute<"y">(x.extent(0), [=](auto i) {
        return weft::sum(2, [=](auto k) { return weft::cast<std::int32_t>(x(i, k)); });
      });
    },
    [](auto& s, auto, auto y) {
      auto [i, k] = y.axes();
      auto [io, ii] = s.split(i, 4);
      s.reorder(io, ii, k);
      s.vectorize(ii);
      s.tensorize(k, by_avx2);
    });

// --- processes ------------------------------------------------------------------------------------------------

/// The children of a process, by the system's own list.
bool is_running(pid_t p) {
  char state = 'X';
  if (std::FILE* const f = std::fopen(("/proc/" + std::to_string(p) + "/stat").c_str(), "r")) {
    if (std::fscanf(f, "%*d %*s %c", &state) != 1) state = 'X';
    std::fclose(f);
  }
  return state != 'X' && state != 'Z';
}
/// `body` in a process of its own; 0: it answered true.
template <class Body>
int in_a_child(Body const& body) {
  std::fflush(nullptr);
  pid_t const child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}
/// A process that ends the others of this one again and again.
struct killer_of_workers {
  pid_t id = 0;
  killer_of_workers() = default;
  killer_of_workers(killer_of_workers const&) = delete;
  killer_of_workers& operator=(killer_of_workers const&) = delete;
  ~killer_of_workers() { stop(); }
  /// `pause`: for so many microseconds each time. Once it runs it goes on.
  template <class Pause>
  void start(Pause pause) {
    if (id != 0) return;
    pid_t const tuned = ::getpid();
    std::fflush(nullptr);
    id = ::fork();
    if (id != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it ends with the test, however that ends
    for (;;) {
      ::usleep(static_cast<useconds_t>(pause()));
      for (pid_t p : weft_test::children_of(tuned))
        if (p != ::getpid()) ::kill(p, SIGKILL);
    }
  }
  void stop() {
    if (id > 0) ::kill(id, SIGKILL), ::waitpid(id, nullptr, 0);
    id = 0;
  }
};
/// Each result in a directory is whole.
bool all_results_are_whole(temporary_directory const& d) {
  bool whole = true;
  for (std::string const& name : d.files()) {
    if (name.size() < 6 || name.substr(name.size() - 6) != ".tuned") continue;
    cache::tuned t;
    std::string_view key;
    std::string const bytes = weft_test::content(d.path + "/" + name);
    whole = whole && cache::decode(bytes, key, t) && t.ns > 0;
  }
  return whole;
}
std::int64_t kept_trials(temporary_directory const& d) {
  tuning::trial_store const s(d.path + "/trials.sqlite");
  return s.usable() && !has(s.status(), "could not be read") ? s.count() : -1;
}
}  // namespace

TEST_CASE("candidates that crash, hang, write outside or compute something else are recorded, never chosen, and harm nothing") {
  int seen[faults] = {};
  std::uint64_t const seed = fresh_seed("bad candidates");
  for (int round = 0; round < times(4); ++round) {
    private_cache const here;
    matrices m;
    matrices const before = m;
    injector in{seed + static_cast<std::uint64_t>(round), round % 2 == 0};
    tune_options const o = quick(16, in.seed);
    tune_result const r = product.erased(
        [&](kernel_face const& f, argument* arguments, int count) {
          return tuning::tune(f, arguments, count, o, {&in, injector::see});
        },
        view(m.a, n, n), view(m.b, n, n), out(m.c, n, n));
    INFO("seed " << in.seed);
    CHECK(r.trials.size() == 16);
    std::int64_t ended = 0;
    for (tune_trial const& t : r.trials) {
      fault const f = in.of(t.choices);
      ++seen[static_cast<int>(f)];
      ended += t.result == tuning::outcome::crashed || t.result == tuning::outcome::hung;
      INFO("fault " << static_cast<int>(f) << ", " << tuning::name(t.result) << ", " << t.why);
      CHECK(is_as_expected(f, t));
    }
    CHECK(in.of(r.choices) == fault::none);
    CHECK(r.worker_starts == ended + 1);
    CHECK((m.a == before.a && m.b == before.b && m.c == before.c));
    CHECK(call_is_right());
    if (tuning::find_sqlite() != nullptr) CHECK(kept_trials(here) == 16);
    if (r.kept) CHECK(all_results_are_whole(here));
  }
  if (times(1) > 1)
    for (int s : seen) CHECK(s > 0);
}
TEST_CASE("a candidate on which LLVM ends the process is recorded, and the others are tuned") {
  if (host().has("xop")) return;  // it has the instruction
  private_cache const here;
  std::vector<std::int16_t> x(512);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int16_t>(i);
  std::vector<std::int32_t> y(256);
  tune_result const r = tune(pairs, quick(6, 1), view(x, 256, 2), out(y));
  CHECK(r.trials.size() == 6);
  for (tune_trial const& t : r.trials) {
    INFO(t.why);
    if (t.choices[1] == 1) {
      CHECK(t.result == tuning::outcome::crashed);
      CHECK(has(t.why, "compiling it ended the worker"));
    } else {
      CHECK(t.result == tuning::outcome::good);
    }
  }
  CHECK(r.choices[1] != 1);
  CHECK(r.worker_starts == 3);
  pairs(view(x, 256, 2), out(y));
  CHECK(y[255] == 510 + 511);
}
TEST_CASE("a worker makes code for the machine that the kernel is for, not for this one") {
  if (host().has("xop") || !host().has("avx2")) {
    MESSAGE("[skip] a machine without AVX2, or with XOP");
    return;
  }
  std::vector<std::int16_t> x(512, std::int16_t(3));
  std::vector<std::int32_t> y(256);
  target const before = x86_64_sse2();
  for (bool const here : {true, false})
    pairs_of_avx2.erased(
        [&](kernel_face const& f, argument* arguments, int count) {
          tuning::argument_copies copies(arguments, count);
          target const* const machine = here ? f.machine : kept_target(before);
          tuning::runner r(copies, tuning::isolation::forked, -1, machine);
          intrinsic const* const known[] = {&by_avx2};
          std::string why;
          // No processor of today has the instruction; for one without AVX2 the loop that it stands for is made.
          tuning::outcome const made = r.load(0, pairs_of_avx2.ir(view(x, 256, 2), out(y)), why, {known, 1});
          INFO(why);
          CHECK(made == (here ? tuning::outcome::crashed : tuning::outcome::good));
          if (here) return;
          copies.restore();
          CHECK(r.run(0, 1, 5e9) > 0);
          CHECK(tuning::elements_of(arguments[1], copies.data(1)).bits[255] == 6);
        },
        view(x, 256, 2), out(y));
}
TEST_CASE("what is tuned for an older machine is timed as code for it") {
  private_cache const here;
  matrices const m;
  for (tuning::isolation const where : {tuning::isolation::forked, tuning::isolation::none}) {
    tune_options o = quick(6, 1);
    o.worker = where;
    tune_result const r = tune(product.on(x86_64_sse2()), o, view(m.a, n, n), view(m.b, n, n));
    CHECK(r.trials.size() == 6);
    for (tune_trial const& t : r.trials) {
      INFO(t.why);
      CHECK(t.result == tuning::outcome::good);
    }
  }
}
TEST_CASE("workers that are killed from outside at any moment cost their trials only") {
  std::uint64_t const seed = fresh_seed("killed workers");
  for (int round = 0; round < times(2); ++round) {
    private_cache const here;
    matrices m;
    std::uint64_t const own = seed + static_cast<std::uint64_t>(round);
    // From the first trial on: what cannot be measured at all is an error, and not what this is about.
    tune_result const r = [&] {
      killer_of_workers killer;
      auto begin = [&](tune_progress const&) {
        killer.start([random = tuning::random_numbers(own)]() mutable { return 20000 + random.below(100000); });
        return true;
      };
      tune_options o = quick(24, own);
      o.progress = begin;
      return tune(product, o, view(m.a, n, n), view(m.b, n, n), out(m.c, n, n));
    }();
    INFO("seed " << own);
    CHECK(r.trials.size() == 24);
    for (tune_trial const& t : r.trials) {
      CHECK_FALSE(t.wrong);
      CHECK((t.result == tuning::outcome::good || t.result == tuning::outcome::crashed));
      if (t.choices == r.choices) CHECK(t.ns > 0);
    }
    CHECK(call_is_right());
  }
}
TEST_CASE("signals that a terminal sends to a whole job, and that the program answers, cost no trial") {
  private_cache const here;
  int const status = in_a_child([] {
    if (::setpgid(0, 0) != 0) return false;
    for (int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM}) ::signal(signal, [](int) {});
    matrices m;
    int seen = 0;
    auto const see = [](void* count, sequence<std::int32_t> const&, std::string&) {
      constexpr int signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM};
      ::kill(0, signals[++*static_cast<int*>(count) % 4]);
    };
    tune_result const r = product.erased(
        [&](kernel_face const& f, argument* arguments, int count) { return tuning::tune(f, arguments, count, quick(8, 1), {&seen, see}); },
        view(m.a, n, n), view(m.b, n, n), out(m.c, n, n));
    bool good = r.trials.size() == 8 && r.worker_starts == 1;
    for (tune_trial const& t : r.trials) good = good && t.result == tuning::outcome::good;
    return good;
  });
  CHECK(status == 0);
}
TEST_CASE("a candidate whose worker was killed from outside is measured once more") {
  private_cache const here;
  matrices m;
  // The second candidate's first text does not end until somebody ends its worker.
  struct killed {
    sequence<std::int32_t> choices;
    int first = 0, seen = 0;
    killer_of_workers killer;
  } state;
  auto const see = [](void* of, sequence<std::int32_t> const& choices, std::string& loops) {
    auto& s = *static_cast<killed*>(of);
    if (s.first++ == 0) return;
    if (s.choices.empty()) s.choices = choices;
    if (!(s.choices == choices)) return;
    s.killer.stop();
    if (s.seen++ > 0) return;
    loops = injector::never_ends();
    s.killer.start([] { return 300000; });
  };
  tune_options const o = quick(6, 1);
  tune_result const r = product.erased(
      [&](kernel_face const& f, argument* arguments, int count) { return tuning::tune(f, arguments, count, o, {&state, see}); },
      view(m.a, n, n), view(m.b, n, n), out(m.c, n, n));
  state.killer.stop();
  CHECK(state.seen >= 2);
  CHECK(r.trials.size() == 6);
  CHECK(r.worker_starts >= 2);
  for (tune_trial const& t : r.trials) {
    INFO(t.why);
    CHECK(t.result == tuning::outcome::good);
  }
  CHECK(call_is_right());
}
TEST_CASE("a finalist whose worker was killed from outside stays in the turns") {
  private_cache const here;
  matrices m;
  // When they are compiled for the turns, all but the first do not end until somebody ends their worker; after that they are what they were.
  struct killed {
    std::vector<std::pair<sequence<std::int32_t>, int>> sights;
    int hung = 0;
    killer_of_workers killer;
    int sight_of(sequence<std::int32_t> const& choices) {
      for (auto& [one, seen] : sights)
        if (one == choices) return ++seen;
      return sights.emplace_back(choices, 1).second;
    }
  } state;
  auto const see = [](void* of, sequence<std::int32_t> const& choices, std::string& loops) {
    auto& s = *static_cast<killed*>(of);
    int const sight = s.sight_of(choices);
    if (sight > 2) s.killer.stop();
    if (sight != 2 || choices == s.sights[0].first) return;
    ++s.hung;
    loops = injector::never_ends();
    s.killer.start([] { return 300000; });
  };
  tune_options const o = quick(24, 1);
  tune_result const r = product.erased(
      [&](kernel_face const& f, argument* arguments, int count) { return tuning::tune(f, arguments, count, o, {&state, see}); },
      view(m.a, n, n), view(m.b, n, n), out(m.c, n, n));
  state.killer.stop();
  CHECK(state.hung > 0);
  CHECK(r.worker_starts >= 2);
  // One fma after the other takes many times as long as lanes.
  CHECK_FALSE(r.choices == state.sights[0].first);
  CHECK(r.best_ns < r.first_ns);
  CHECK(call_is_right());
}
TEST_CASE("tunings that are killed at any moment lose no trial, leave no worker, and no wrong result") {
  if (no_sqlite()) return;
  temporary_directory const d;
  weft_test::trial_limits const all_stay(1000000, 1000000);  // of 1,000 tunings more are told than a task keeps
  std::uint64_t const seed = fresh_seed("killed tunings");
  tuning::random_numbers random(seed);
  std::int64_t told = 0;
  int const kills = times(1) > 1 ? times(17) : 6;  // past 1,000 where tests may take long
  for (int k = 0; k < kills; ++k) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    std::fflush(nullptr);
    pid_t const child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      cache::set_directory(d.path);
      auto each = [&](tune_progress const& p) { return p.rounds > 0 || ::write(ends[1], "t", 1) == 1; };
      for (std::uint64_t s = seed + static_cast<std::uint64_t>(k);; s += 1000) {
        matrices const m;
        tune_options o = quick(10, s);
        o.progress = each;
        tune(product, o, view(m.a, n, n), view(m.b, n, n));
      }
    }
    ::close(ends[1]);
    char one;
    if (k % 3 != 0 && ::read(ends[0], &one, 1) == 1) ++told;  // else it may be killed before the first
    ::usleep(static_cast<useconds_t>(random.below(1200000)));
    std::vector<pid_t> const workers = weft_test::children_of(child);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(ends[0], &one, 1) == 1) ++told;
    ::close(ends[0]);
    INFO("seed " << seed << ", kill " << k);
    std::int64_t const kept = kept_trials(d);
    CHECK(kept >= told);
    CHECK(kept <= told + k + 1);  // one may be kept and not told
    for (int wait = 0; wait < 200 && !workers.empty() && is_running(workers[0]); ++wait) ::usleep(10000);
    for (pid_t w : workers) CHECK_FALSE(is_running(w));
    CHECK(all_results_are_whole(d));
    if (k % 5 == 0 || k + 1 == kills) {
      int const status = in_a_child([&] { return cache::set_directory(d.path), call_is_right(); });
      CHECK(status == 0);
    }
  }
  CHECK(told > kills / 3);
  std::printf("%d tunings killed, %lld trials told and kept\n", kills, static_cast<long long>(told));
}
TEST_CASE("sixteen processes tune one task: all trials are kept, and the result is one that a process has found and kept, with its time") {
  if (no_sqlite()) return;
  for (int round = 0; round < times(1); ++round) {
    temporary_directory const d;
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    struct answer {
      std::int32_t choices[3];
      std::int32_t trials, kept, right;
      double best_ns;
    };
    std::fflush(nullptr);
    pid_t children[16];
    for (std::uint64_t i = 0; i < 16; ++i) {
      children[i] = ::fork();
      if (children[i] != 0) continue;
      cache::set_directory(d.path);
      matrices const m;
      tune_result const r = tune(product, quick(6, i), view(m.a, n, n), view(m.b, n, n));
      answer a{{}, static_cast<std::int32_t>(r.trials.size()), r.kept, call_is_right(), r.best_ns};
      for (std::size_t c = 0; c < 3; ++c) a.choices[c] = r.choices[c];
      ::_exit(::write(ends[1], &a, sizeof a) == static_cast<ssize_t>(sizeof a) ? 0 : 1);
    }
    ::close(ends[1]);
    std::vector<answer> answers;
    for (answer a; ::read(ends[0], &a, sizeof a) == static_cast<ssize_t>(sizeof a);) answers.push_back(a);
    ::close(ends[0]);
    for (pid_t c : children) {
      int status = -1;
      ::waitpid(c, &status, 0);
      CHECK(status == 0);
    }
    REQUIRE(answers.size() == 16);
    std::int64_t trials = 0;
    bool any = false, found = false;
    for (answer const& a : answers) {
      trials += a.trials;
      any = any || a.kept != 0;
      CHECK(a.right != 0);
    }
    CHECK(kept_trials(d) == trials);
    CHECK(any);
    CHECK(all_results_are_whole(d));
    int results = 0;
    for (std::string const& name : d.files()) {
      if (name.size() < 6 || name.substr(name.size() - 6) != ".tuned") continue;
      cache::tuned t;
      std::string_view key;
      std::string const bytes = weft_test::content(d.path + "/" + name);
      if (!cache::decode(bytes, key, t) || t.choices.size() != 3) continue;
      ++results;
      // Which of them is the fastest (tests/runtime/cache/tuned.cpp) depends on who came when: what was measured anew counts as it was found now.
      for (answer const& a : answers)
        found = found || (a.kept != 0 && a.best_ns == t.ns && std::memcmp(a.choices, t.choices.data(), sizeof a.choices) == 0);
    }
    CHECK(results == 1);
    CHECK(found);
  }
}

// --- the file of trials ---------------------------------------------------------------------------------------

TEST_CASE("a file of trials with any bytes changed or cut off is read, or put aside and said to be; never more than it had") {
  if (no_sqlite()) return;
  temporary_directory const d;
  std::string const file = d.path + "/trials.sqlite";
  {
    tuning::trial_store s(file);
    for (std::int32_t i = 0; i < 200; ++i) REQUIRE(s.add("task", "k", {{i, i + 1}, 10.0 + i, 0, false}));
  }
  std::string const good = weft_test::content(file);
  std::uint64_t const seed = fresh_seed("damaged files");
  tuning::random_numbers random(seed);
  int aside = 0;
  for (int round = 0; round < times(60); ++round) {
    std::string bytes = good;
    auto const size = static_cast<std::int32_t>(good.size());
    if (round % 4 == 0) bytes.resize(static_cast<std::size_t>(random.below(size)));
    else if (round % 4 == 1) bytes.replace(static_cast<std::size_t>(random.below(size / 4096)) * 4096, 4096, std::string(4096, '\0'));
    else
      for (int flips = 1 + random.below(60); flips > 0; --flips)
        bytes[static_cast<std::size_t>(random.below(round % 4 == 2 ? 4096 : size))] ^= static_cast<char>(1 << random.below(8));
    for (std::string const& name : d.files()) std::remove((d.path + "/" + name).c_str());
    weft_test::write_file(file, bytes);
    INFO("seed " << seed << ", round " << round);
    tuning::trial_store s(file);
    sequence<tuning::stored_trial> const read = s.of("task");
    CHECK(read.size() <= 200);
    bool const said = has(s.status(), "could not be read");
    aside += said;
    if (said) {
      CHECK(read.empty());
      CHECK(weft_test::content(file + ".damaged") == bytes);
    }
    // It can be written, or says why not.
    if (s.add("task", "k", {{7}, 1, 0, false})) {
      sequence<tuning::stored_trial> const latest = s.of("task", 1);
      REQUIRE(latest.size() == 1);
      CHECK(latest[0].choices == sequence<std::int32_t>{7});
    } else CHECK((has(s.status(), "could not be kept") || has(s.status(), "not used")));
  }
  CHECK(aside > 10);
}
TEST_CASE("a file that is damaged while it is used is put aside once, and what another process has begun since stays") {
  if (no_sqlite()) return;
  temporary_directory const d;
  std::string const file = d.path + "/trials.sqlite";
  tuning::trial_store first(file), second(file);
  for (std::int32_t i = 0; i < 50; ++i) REQUIRE(first.add("task", "k", {{i}, 1, 0, false}));
  {
    std::FILE* const f = std::fopen(file.c_str(), "r+b");
    REQUIRE(f != nullptr);
    CHECK(std::fwrite(std::string(20000, 'x').data(), 1, 20000, f) == 20000);
    std::fclose(f);
    REQUIRE(::truncate((file + "-wal").c_str(), 0) == 0);
  }
  tuning::trial_store third(file);
  CHECK(third.usable());
  CHECK(has(third.status(), "could not be read"));
  for (std::int32_t i = 0; i < 5; ++i) CHECK(third.add("task", "k", {{100 + i}, 1, 0, false}));
  // The other two hold what is called .damaged now.
  int kept = 5;
  for (tuning::trial_store* s : {&first, &second})
    for (std::int32_t i = 0; i < 5; ++i) kept += s->add("task", "k", {{200 + i}, 1, 0, false});
  CHECK(tuning::trial_store(file).count() == kept);
  CHECK(kept > 5);
}
TEST_CASE("of sixteen processes that find a damaged file, one puts it aside, and what all add is kept") {
  if (no_sqlite()) return;
  for (int round = 0; round < times(2); ++round) {
    temporary_directory const d;
    std::string const file = d.path + "/trials.sqlite", bad(9000, 'x');
    weft_test::write_file(file, bad);
    std::fflush(nullptr);
    pid_t children[16];
    for (std::int32_t i = 0; i < 16; ++i) {
      children[i] = ::fork();
      if (children[i] != 0) continue;
      tuning::trial_store s(file);
      bool all = s.usable();
      for (std::int32_t k = 0; k < 20; ++k) all = s.add("task", "k", {{i, k}, 1, 0, false}) && all;
      ::_exit(all ? 0 : 1);
    }
    for (pid_t c : children) {
      int status = -1;
      ::waitpid(c, &status, 0);
      CHECK(status == 0);
    }
    tuning::trial_store const s(file);
    CHECK(s.count() == 320);
    CHECK(weft_test::content(file + ".damaged") == bad);
  }
}
TEST_CASE("on a full disk a tuning ends well, says what was not kept, and the next one keeps") {
  if (no_sqlite()) return;
  temporary_directory const d;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::fflush(nullptr);
  pid_t const child = ::fork();
  if (child == 0) {
    auto const answer = [&](char const* text) {
      ssize_t const written = ::write(ends[1], text, std::strlen(text));
      ::_exit(written > 0 ? 0 : 1);
    };
    bool const own = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!own || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", d.path.c_str(), "tmpfs", 0, "size=512k,mode=0700") != 0)
      answer("skip");
    cache::set_directory(d.path);
    std::string const filler = d.path + "/filler";
    matrices const m;
    {
      std::FILE* const f = std::fopen(filler.c_str(), "wb");
      std::string const page(4096, 'x');
      while (std::fwrite(page.data(), 1, page.size(), f) == page.size() && std::fflush(f) == 0) {
      }
      std::fclose(f);
    }
    tune_result const none = tune(product, quick(8, 1), view(m.a, n, n), view(m.b, n, n));
    if (none.trials.size() != 8) answer("trials");
    if (none.kept) answer("kept on a full disk");
    if (!has(none.store, "not used")) answer(none.store.c_str());
    if (!call_is_right()) answer("call");
    // Room for the file, and soon not for more.
    if (::truncate(filler.c_str(), (512 - 110) * 1024) != 0) answer("truncate");
    std::string some;
    for (std::uint64_t seed = 2; seed < 400 && !has(some, "could not be kept"); ++seed) {
      tuning::trial_store s(d.path + "/trials.sqlite");
      for (std::int32_t i = 0; i < 200; ++i) static_cast<void>(s.add("task", std::string(200, 'k'), {{i}, 1, 0, false}));
      some = s.status();
    }
    if (!has(some, "the disk is full")) answer(some.c_str());
    std::remove(filler.c_str());
    tune_result const all = tune(product, quick(8, 1), view(m.a, n, n), view(m.b, n, n));
    if (has(all.store, "could not")) answer(all.store.c_str());
    if (all.choices != none.choices && !all.kept) answer("not kept with room");
    answer(call_is_right() ? "well" : "call");
  }
  ::close(ends[1]);
  std::string said;
  for (char one; ::read(ends[0], &one, 1) == 1;) said += one;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  if (said == "skip") {
    MESSAGE("[skip] no file system of one's own may be mounted here");
    return;
  }
  CHECK(said == "well");
}
