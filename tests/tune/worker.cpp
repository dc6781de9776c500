#include "weft/tune/worker.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "support/children.hpp"
#include "support/other_threads.hpp"
#include "support/private_cache.hpp"
#include "support/said.hpp"
#include "weft/kernel.hpp"
#include "weft/matrix_units.hpp"
#include "weft/tune.hpp"
#include "weft/tune/trials.hpp"
#include "weft/tune/verify.hpp"

using namespace weft;
using namespace weft::tuning;
using weft_test::thread_of_another;

namespace {
std::string adding(std::string const& index, std::string const& extent = "0..100") {
  return "kernel candidate:\n  variables i\n  buffer x: f32[100] strides [1] in argument 0 alias 0 align 4\n"
         "  buffer y: f32[100] strides [1] in argument 1 written alias 1 align 4\n  for i in " + extent + ":\n    y[" + index +
         "] = x[i] + 1.0f32\n";
}
struct call {
  std::vector<float> x = std::vector<float>(100, 2.0f), y = std::vector<float>(100, 9.0f);
  argument arguments[2];
  call() {
    view_into(arguments[0], x.data(), false);
    view_into(arguments[1], y.data(), true);
  }
  static void view_into(argument& a, float* data, bool output) {
    a.data = data, a.type = dtype::f32, a.rank = 1, a.is_output = output;
    a.extents[0] = 100, a.strides[0] = 1;
  }
  std::int64_t first_of_y(argument_copies const& c) const { return elements_of(arguments[1], c.data(1)).bits[0]; }
};
std::int64_t const three = to_bits(3.0f);
/// weft-worker, where it is built.
char const* worker_program() {
#ifdef WEFT_TEST_WORKER
  return WEFT_TEST_WORKER;
#else
  return std::getenv("WEFT_TEST_WORKER");
#endif
}
bool has_worker_program() {
  if (worker_program() == nullptr) MESSAGE("[skip] weft-worker is not built here (WEFT_BUILD_WORKER)");
  return worker_program() != nullptr;
}
/// A program of one line.
struct script {
  weft_test::temporary_directory in;
  std::string name = in.path + "/worker";
  explicit script(char const* line) {
    std::ofstream(name) << "#!/bin/sh\n" << line << "\n";
    ::chmod(name.c_str(), 0700);
  }
};
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("a worker compiles a loop program and runs it on copies") {
  for (isolation where : {isolation::forked, isolation::none}) {
    call c;
    argument_copies copies(c.arguments, 2);
    runner r(copies, where);
    std::string why;
    CHECK(r.load(0, adding("i"), why) == outcome::good);
    INFO(why);
    copies.restore();
    CHECK(r.run(0, 3, 10e9) > 0);
    CHECK(c.first_of_y(copies) == three);
    CHECK(copies.intact());
    CHECK(c.y[0] == 9.0f);
  }
}
TEST_CASE("a text that is no loop program is refused, and the worker goes on") {
  call c;
  argument_copies copies(c.arguments, 2);
  runner r(copies, isolation::forked);
  std::string why;
  CHECK(r.load(0, "kernel of nonsense", why) == outcome::refused);
  CHECK(why.find("loop IR") != std::string::npos);
  CHECK(r.run(0, 1, 5e9) < 0);
  CHECK(r.last() == outcome::failed);
  CHECK(r.load(1, adding("i"), why) == outcome::good);
  CHECK(r.run(1, 1, 5e9) > 0);
  CHECK(r.starts() == 1);
}
TEST_CASE("an access far outside ends the worker alone, and the next request starts another") {
  call c;
  argument_copies copies(c.arguments, 2);
  runner r(copies, isolation::forked);
  std::string why;
  CHECK(r.load(0, adding("i + 5000"), why) == outcome::good);
  copies.restore();
  CHECK(r.run(0, 1, 5e9) < 0);
  CHECK(r.last() == outcome::crashed);
  CHECK(r.load(0, adding("i"), why) == outcome::good);
  CHECK(r.run(0, 1, 5e9) > 0);
  CHECK(r.starts() == 2);
}
TEST_CASE("what is timed has memory around its tensors, as most memory of a program has, and what is checked has none") {
  for (char const* index : {"i + 3000", "i - 3000"}) {
    call c;
    argument_copies copies(c.arguments, 2);
    runner r(copies, isolation::forked);
    std::string why;
    CHECK(r.load(0, adding(index), why) == outcome::good);
    copies.restore();
    CHECK(r.run(0, 1, 5e9, surroundings::open) > 0);
    CHECK(copies.intact());  // in the worker's own memory
    CHECK(r.run(0, 1, 5e9) < 0);
    CHECK(r.last() == outcome::crashed);
  }
  // Both are the same tensors.
  call c;
  argument_copies copies(c.arguments, 2);
  runner r(copies, isolation::forked);
  std::string why;
  CHECK(r.load(0, adding("i"), why) == outcome::good);
  copies.restore();
  CHECK(r.run(0, 1, 5e9, surroundings::open) > 0);
  CHECK(c.first_of_y(copies) == three);
}
TEST_CASE("one element outside is found, before and behind") {
  for (char const* index : {"i + 1", "i - 1"}) {
    call c;
    argument_copies copies(c.arguments, 2);
    runner r(copies, isolation::forked);
    std::string why;
    CHECK(r.load(0, adding(index), why) == outcome::good);
    copies.restore();
    bool const ran = r.run(0, 1, 5e9) > 0;
    bool const seen = !ran || !copies.intact();
    CHECK(seen);
  }
}
TEST_CASE("a store between the rows of a strided output is found, also where its bytes are read") {
  for (bool const in_place : {false, true})
    for (bool const wrong : {false, true}) {
      std::vector<float> memory(16 * 17, 2.0f);
      argument a[2];
      for (int i = 0; i < 2; ++i) {
        a[i].data = memory.data(), a[i].type = dtype::f32, a[i].rank = 2, a[i].is_output = i == 1;
        a[i].extents[0] = a[i].extents[1] = 16, a[i].strides[0] = 17, a[i].strides[1] = 1;
      }
      argument_copies copies(in_place ? a : a + 1, in_place ? 2 : 1);
      runner r(copies, isolation::forked);
      std::string why, text = "kernel candidate:\n  variables i, j\n";
      for (int i = 0; i < (in_place ? 2 : 1); ++i)
        text += "  buffer " + std::string(i + 1 < (in_place ? 2 : 1) ? "x" : "y") + ": f32[16, 16] strides [17, 1] in argument " + std::to_string(i) +
                (i + 1 < (in_place ? 2 : 1) ? "" : " written") + " alias 0 align 4\n";
      text += "  for i in 0..16:\n    for j in 0..16:\n      y[i, j] = 3.0f32\n";
      if (wrong) text += "  y[3, 16] = 1.0f32\n";
      CHECK(r.load(0, text, why) == outcome::good);
      INFO(why);
      copies.restore();
      CHECK(copies.intact());
      CHECK(r.run(0, 1, 5e9) > 0);
      CHECK(elements_of(a[1], copies.data(in_place ? 1 : 0)).bits[255] == three);
      CHECK(copies.intact() == !wrong);
    }
}
TEST_CASE("a store to an input ends the worker") {
  call c;
  argument_copies copies(c.arguments, 2);
  runner r(copies, isolation::forked);
  std::string why, text = adding("i");
  std::size_t const at = text.find("    y[i] = x[i]");
  text.replace(at, std::string::npos, "    x[i] = 1.0f32\n");
  text.replace(text.find("in argument 0 alias"), 19, "in argument 0 written alias");
  CHECK(r.load(0, text, why) == outcome::good);
  INFO(why);
  CHECK(r.run(0, 1, 5e9) < 0);
  CHECK(r.last() == outcome::crashed);
}
TEST_CASE("what does not end is ended") {
  call c;
  argument_copies copies(c.arguments, 2);
  runner r(copies, isolation::forked);
  std::string why;
  std::string const forever =
      "kernel candidate:\n  variables i, n\n  buffer x: f32[100] strides [1] in argument 0 alias 0 align 4\n"
      "  buffer y: f32[100] strides [1] in argument 1 written alias 1 align 4\n  for n in 0..1000000000000000:\n"
      "    for i in 0..100:\n      y[(i * 7 + n) %% 100] = y[(i + n * 3) %% 100] + x[i]\n";
  CHECK(r.load(0, forever, why) == outcome::good);
  INFO(why);
  CHECK(r.run(0, 1, 3e8) < 0);
  CHECK(r.last() == outcome::hung);
  CHECK(r.process() == 0);
}
TEST_CASE("a worker that is killed is started again") {
  call c;
  argument_copies copies(c.arguments, 2);
  runner r(copies, isolation::forked);
  std::string why;
  for (int n = 0; n < 5; ++n) {
    CHECK(r.load(0, adding("i"), why) == outcome::good);
    ::kill(r.process(), SIGKILL);
    CHECK(r.run(0, 1, 5e9) < 0);
    CHECK(r.last() == outcome::crashed);
  }
  CHECK(r.starts() == 5);
}
TEST_CASE("a worker that was killed from outside is told from one that a candidate ended") {
  call c;
  argument_copies copies(c.arguments, 2);
  runner r(copies, isolation::forked);
  std::string why;
  REQUIRE(r.load(0, adding("i + 5000"), why) == outcome::good);
  copies.restore();
  CHECK(r.run(0, 1, 5e9) < 0);
  CHECK(r.last() == outcome::crashed);
  CHECK_FALSE(r.was_killed());
  REQUIRE(r.load(0, adding("i"), why) == outcome::good);
  ::kill(r.process(), SIGKILL);
  CHECK(r.run(0, 1, 5e9) < 0);
  CHECK(r.last() == outcome::crashed);
  CHECK(r.was_killed());
  CHECK(r.why() == "signal 9, from outside or for want of memory");
  // What is compiled has changed nothing: that it is asked for again nobody has to know.
  REQUIRE(r.load(0, adding("i"), why) == outcome::good);
  ::kill(r.process(), SIGKILL);
  CHECK(r.load(1, adding("i"), why) == outcome::good);
  CHECK_FALSE(r.was_killed());
  CHECK(r.run(1, 1, 5e9) > 0);
}
TEST_CASE("a worker leaves to its program what a terminal sends to both") {
  call c;
  argument_copies copies(c.arguments, 2);
  runner r(copies, isolation::forked);
  std::string why;
  REQUIRE(r.load(0, adding("i"), why) == outcome::good);
  for (int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM}) ::kill(r.process(), signal);
  CHECK(r.run(0, 1, 5e9) > 0);
  CHECK(r.starts() == 1);
}
TEST_CASE("while a program is stopped its patience with a worker does not end") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  pid_t const waiting = ::fork();
  if (waiting == 0) {
    double left_ns = 1.5e9;
    char one = 'r';
    if (::write(ends[1], &one, 1) != 1) ::_exit(2);
    ::_exit(tuning::detail::receive_all(ends[1], &one, 1, &left_ns) ? 0 : 1);
  }
  char one = 0;
  REQUIRE(::read(ends[0], &one, 1) == 1);
  ::usleep(200000);  // it waits
  ::kill(waiting, SIGSTOP);
  ::usleep(2000000);
  ::kill(waiting, SIGCONT);
  ::usleep(100000);
  CHECK(::write(ends[0], &one, 1) == 1);
  int status = -1;
  ::waitpid(waiting, &status, 0);
  CHECK(status == 0);
  ::close(ends[0]), ::close(ends[1]);
}
TEST_CASE("a forked worker has only the outputs' copies to write to: not the program's mapping, nor tensors that both share") {
  constexpr std::size_t bytes = 65536;
  void* const shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  {
    call c;
    c.arguments[0].data = shared, c.arguments[0].extents[0] = static_cast<std::int64_t>(bytes / 4);
    argument_copies copies(c.arguments, 2);
    runner r(copies, isolation::forked);
    std::string why;
    REQUIRE(r.load(0, adding("i"), why) == outcome::good);
    int written = 0, read_only = 0, live = -1;
    std::FILE* const maps = std::fopen(("/proc/" + std::to_string(r.process()) + "/maps").c_str(), "r");
    REQUIRE(maps != nullptr);
    for (char line[512]; std::fgets(line, sizeof line, maps) != nullptr;) {
      unsigned long begin = 0, end = 0;
      char rights[8] = {};
      if (std::sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3) continue;
      bool const may_write = rights[1] == 'w';
      if (has(line, "weft-tune")) ++(may_write ? written : read_only);
      if (auto const at = reinterpret_cast<unsigned long>(shared); begin <= at && at < end) live = may_write;
    }
    std::fclose(maps);
    CHECK(written == 2);  // in closed surroundings and in open ones
    CHECK(read_only == 2);
    CHECK(live == 0);
    static_cast<char*>(shared)[0] = 1;  // here it may be written
    CHECK(r.run(0, 1, 5e9) > 0);
  }
  ::munmap(shared, bytes);
}
TEST_CASE("what a worker answers is believed as far as a worker can mean it") {
  if (::access("/bin/bash", X_OK) != 0) {
    MESSAGE("[skip] no bash here");
    return;
  }
  struct answer {
    std::int32_t result, text_bytes;
    double ns;
  };
  for (answer const a : {answer{77, 0, 1}, answer{-1, 0, 1}, answer{4, 0, 1}, answer{0, 2147483647, 1}, answer{0, -1, 1}, answer{0, 0, -5}, answer{0, 0, __builtin_inf()}}) {
    weft_test::temporary_directory const d;
    std::string said;
    auto const say = [&](void const* from, std::size_t bytes) {
      char one[8];
      for (std::size_t i = 0; i < bytes; ++i) std::snprintf(one, sizeof one, "\\%03o", static_cast<unsigned>(static_cast<unsigned char const*>(from)[i])), said += one;
    };
    std::uint64_t const hello = tuning::detail::hello();
    say(&hello, sizeof hello), say(&a, sizeof a);
    std::string const program = d.path + "/liar";
    weft_test::write_file(program, "#!/bin/bash\nends=${1#*=}\nprintf '" + said + "' >&${ends%,*}\nwhile read -r line <&${ends%,*}; do :; done\n");
    REQUIRE(::chmod(program.c_str(), 0700) == 0);
    call c;
    argument_copies copies(c.arguments, 2);
    runner r(copies, worker_choice{isolation::program, program});
    std::string why;
    INFO("result " << a.result << ", " << a.text_bytes << " bytes, " << a.ns << " ns");
    CHECK(r.load(0, adding("i"), why) == outcome::crashed);
    CHECK(why == "compiling it ended the worker");
    CHECK_FALSE(r.was_killed());
  }
}
TEST_CASE("copies of the arguments that are larger than files may be are refused in words, and no signal ends the program") {
  std::string said;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  pid_t const child = ::fork();
  if (child == 0) {
    rlimit const r{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &r);
    ::signal(SIGXFSZ, SIG_DFL);
    std::vector<float> big(10000);
    argument a;
    a.data = big.data(), a.type = dtype::f32, a.rank = 1, a.extents[0] = 10000, a.strides[0] = 1;
    std::string const words = weft_test::said_by([&] { argument_copies const copies(&a, 1); });
    ::_exit(::write(ends[1], words.data(), words.size()) > 0 ? 0 : 1);
  }
  ::close(ends[1]);
  for (char one; ::read(ends[0], &one, 1) == 1;) said += one;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  CHECK(has(said, "tune: copies of the arguments take"));
  CHECK(has(said, "(ulimit -f)"));
}
TEST_CASE("threads that are not weft's are counted, and those of its pool are not") {
  int const before = other_threads();  // sanitizers have one
  weft_test::waiting_pool const pool(3);
  CHECK(other_threads() == before);
  {
    thread_of_another const one, two;
    CHECK(other_threads() == before + 2);
  }
  CHECK(other_threads() == before);
}
TEST_CASE("a program with threads of its own is not forked unasked: it is told what to do, before anything runs") {
  REQUIRE_FALSE(main_calls_worker());
  static constexpr auto doubled = weft::kernel<"doubled">([](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f; }); });
  std::vector<float> const x(100, 2.0f);
  if (other_threads() == 0) CHECK(chosen_worker(isolation::automatic, "").where == isolation::forked);
  thread_of_another const here;
  std::string const said = weft_test::said_by([&] { tune(doubled, {.trials = 2, .keep = false}, x); });
  INFO(said);
  CHECK(has(said, "doubled: tune: "));
  CHECK(has(said, "not weft's run"));
  CHECK(has(said, "call weft::worker(argc, argv) first in main, or name a program that does (WEFT_WORKER=weft-worker, or tune_options::worker_program)"));
  CHECK(chosen_worker(isolation::forked, "").where == isolation::forked);  // who asks for it knows
  CHECK(chosen_worker(isolation::automatic, "there").program == "there");
  ::setenv("WEFT_WORKER", "elsewhere", 1);
  CHECK(chosen_worker(isolation::automatic, "").program == "elsewhere");
  CHECK(chosen_worker(isolation::automatic, "there").program == "there");
  CHECK(chosen_worker(isolation::none, "").where == isolation::none);
  ::unsetenv("WEFT_WORKER");
  CHECK(has(weft_test::said_by([] { chosen_worker(isolation::program, ""); }), "no program is named"));
}
TEST_CASE("a program that is no worker is said to be none") {
  for (char const* name : {"/bin/true", "/nowhere/weft-worker"}) {
    call c;
    argument_copies copies(c.arguments, 2);
    runner r(copies, worker_choice{isolation::program, name});
    std::string why;
    CHECK(r.load(0, adding("i"), why) == outcome::crashed);
    CHECK(why.find(std::string(name) + " is no worker, or is not there: weft-worker is one") == 0);
  }
}
TEST_CASE("a program that never says that it is a worker is waited for once, no longer than the seconds, and not when the tuning is to stop") {
  script const silent("exec sleep 1000");
  static constexpr auto doubled = weft::kernel<"doubled_nowhere">([](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f; }); });
  std::vector<float> const x(100, 2.0f);
  tune_options o{.trials = 2, .seconds = 1};
  o.keep = false, o.worker_program = silent.name;
  double began = bench::now_ns();
  std::string said = weft_test::said_by([&] { tune(doubled, o, x); });
  INFO(said);
  CHECK(has(said, "did not say that it is a worker before the time was over"));
  CHECK(bench::now_ns() - began < 9e9);  // 5 s, and not three times ten
  struct soon {
    double at;
    bool stop_requested() const { return bench::now_ns() > at; }
  };
  began = bench::now_ns();
  soon const stop{began + 3e8};
  o.seconds = 60, o.stop = stop;
  said = weft_test::said_by([&] { tune(doubled, o, x); });
  CHECK(has(said, "had not said that it is a worker when the tuning was stopped"));
  CHECK(bench::now_ns() - began < 4e9);
}
TEST_CASE("a program that was started as a worker and tunes instead is told so, and starts no other") {
  static constexpr auto doubled = weft::kernel<"doubled_within">([](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f; }); });
  std::vector<float> const x(100, 2.0f);
  ::setenv("WEFT_IS_WORKER", "1", 1);
  std::string const said = weft_test::said_by([&] { tune(doubled, {.trials = 2, .keep = false}, x); });
  ::unsetenv("WEFT_IS_WORKER");
  INFO(said);
  CHECK(has(said, "was started to run the candidates of another tuning, and weft::worker(argc, argv) is not called first in its main"));
  script const telling("printf %s \"$WEFT_IS_WORKER\" > \"$0.mark\"");
  call c;
  argument_copies copies(c.arguments, 2);
  runner r(copies, worker_choice{isolation::program, telling.name});
  std::string why;
  CHECK(r.load(0, adding("i"), why) == outcome::crashed);
  std::ifstream mark(telling.name + ".mark");
  CHECK(std::string(std::istreambuf_iterator<char>(mark), {}) == "1");
}
TEST_CASE("instructions of CPUs and of GPUs that weft ships have a number, by which a program finds them again, and others have none") {
  static constexpr intrinsic own = pmaddwd;
  sequence<std::int64_t> seen;
  for (intrinsic const* i : {&pmaddwd, &vpdpbusd, &vdpbf16ps, &tdpbf16ps, &tdpbusd, &tdpbuud, &mma_f16, &mma_bf16, &mma_s8, &mma_u8, &wmma_tf32, &wgmma_f16, &wgmma_bf16}) {
    std::int64_t const n = tuning::detail::number_of_shipped(i);
    for (std::int64_t other : seen) CHECK(other != n);
    seen.push_back(n);
    CHECK(tuning::detail::shipped_instruction(n) == i);
  }
  CHECK(tuning::detail::number_of_shipped(&own) == -1);
  for (std::int64_t n : {-1, shipped_intrinsics.count + matrix_units.count, 1 << 30}) CHECK(tuning::detail::shipped_instruction(n) == nullptr);
}
TEST_CASE("weft-worker runs candidates, also of a program with threads, and the result says that it did") {
  if (!has_worker_program()) return;
  thread_of_another const here;
  call c;
  argument_copies copies(c.arguments, 2);
  runner r(copies, worker_choice{isolation::program, worker_program()});
  std::string why;
  CHECK(r.load(0, adding("i + 5000"), why) == outcome::good);
  INFO(why);
  copies.restore();
  CHECK(r.run(0, 1, 5e9) < 0);
  CHECK(r.last() == outcome::crashed);
  CHECK(r.load(0, adding("i"), why) == outcome::good);
  copies.restore();
  CHECK(r.run(0, 3, 5e9) > 0);
  CHECK(c.first_of_y(copies) == three);
  CHECK(r.starts() == 2);
  intrinsic const* const taken[] = {&mma_f16, &vdpbf16ps};
  CHECK(r.load(0, adding("i"), why, {taken, 2}) == outcome::good);
  static constexpr intrinsic own = pmaddwd;
  intrinsic const* const declared[] = {&own};
  CHECK(r.load(0, adding("i"), why, {declared, 1}) == outcome::refused);
  CHECK(has(why, "the instruction pmaddwd is declared in this program"));
  CHECK(r.starts() == 2);
  static constexpr auto doubled = weft::kernel<"doubled_there">(
      [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f; }); },
      [](auto& s, auto, auto y) {
        auto [i] = y.axes();
        s.split(i, s.knob("n", {16, 4}));
      });
  tune_options o;
  o.trials = 2, o.keep = false, o.worker_program = worker_program();
  tune_result const found = tune(doubled, o, c.x);
  CHECK(found.worker == isolation::program);
  CHECK(found.worker_program == worker_program());
  CHECK(has(found.text(), std::string("worker  program ") + worker_program() + ", started 1 time"));
  for (tune_trial const& t : found.trials) CHECK(t.result == outcome::good);
}
/// weft-worker by a name that can go.
struct vanishing_worker {
  weft_test::temporary_directory in;
  std::string name = in.path + "/worker";
  vanishing_worker() { REQUIRE(::symlink(worker_program(), name.c_str()) == 0); }
};
inline constexpr auto scaled = weft::kernel<"scaled_there">(
    [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) * 3.0f; }); },
    [](auto& s, auto, auto y) {
      auto [i] = y.axes();
      s.split(i, s.knob("n", {16, 4, 8, 32, 64, 2, 5, 10, 20, 25}));
    });
TEST_CASE("where no worker can be started any more in the turns, trials decide, and the result says so") {
  if (!has_worker_program()) return;
  weft_test::private_cache const here;
  vanishing_worker const worker;
  call c;
  tune_options o;
  o.trials = 4, o.worker_program = worker.name;
  auto const watch = [&](tune_progress const& p) {
    if (p.rounds != 2) return;
    ::unlink(worker.name.c_str());
    for (pid_t one : weft_test::children_of(::getpid())) ::kill(one, SIGKILL);
  };
  o.progress = watch;
  tune_result const r = tune(scaled, o, c.x);
  INFO(r.text());
  CHECK(r.trials.size() == 4);
  for (tune_trial const& t : r.trials) CHECK(t.result == outcome::good);
  CHECK(has(r.why, "; it ended before its time: " + worker.name + " is no worker, or is not there"));
  CHECK((has(r.why, "the tuning ended before turns could") || has(r.why, "as the tuning ended")));
  CHECK(r.best_ns > 0);
  CHECK(r.seconds < 20);
}
TEST_CASE("a worker that cannot be started any more ends a tuning, which says so, and no candidate is blamed") {
  if (!has_worker_program()) return;
  weft_test::private_cache const here;
  vanishing_worker const worker;
  call c;
  tune_options o;
  o.trials = 10, o.worker_program = worker.name;
  struct {
    std::string name;
    int seen = 0;
  } gone{worker.name};
  std::vector<float> y(100);
  tune_result const r = scaled.erased(
      [&](kernel_face const& f, argument* arguments, int count) {
        return tuning::tune(f, arguments, count, o, {&gone, [](void* of, sequence<std::int32_t> const&, std::string& loops) {
          auto& g = *static_cast<decltype(gone)*>(of);
          if (++g.seen == 4) loops += "  y[4000000] = 0.5f32\n", ::unlink(g.name.c_str());
        }});
      },
      c.x, out(y));
  INFO(r.text());
  REQUIRE(r.trials.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) CHECK(r.trials[i].result == outcome::good);
  CHECK(r.trials[3].result == outcome::crashed);
  CHECK(has(r.why, "; it ended before its time: " + worker.name + " is no worker, or is not there"));
  if (find_sqlite() != nullptr) CHECK(trial_store(here.path + "/trials.sqlite").count() == 4);
  CHECK(r.best_ns > 0);
}
TEST_CASE("a time that was taken while the program stood still is told to be none") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  pid_t const timing = ::fork();
  if (timing == 0) {
    call c;
    argument_copies copies(c.arguments, 2);
    runner r(copies, isolation::forked);
    std::string why;
    bool const loaded = r.load(0, adding("i"), why) == outcome::good && r.run(0, 1, 60e9) > 0 && !r.stood_still();
    char const one = 'r';
    if (!loaded || ::write(ends[1], &one, 1) != 1) ::_exit(2);
    bool const well = r.run(0, 100000000, 60e9) > 0;  // a second and more, most of which goes by while this process stands still
    bool const told = r.stood_still();
    ::_exit(!well ? 3 : !told ? 4 : r.run(0, 1, 60e9) > 0 && !r.stood_still() ? 0 : 5);
  }
  char one = 0;
  REQUIRE(::read(ends[0], &one, 1) == 1);
  ::usleep(30000);  // it waits
  ::kill(timing, SIGSTOP);
  ::usleep(1500000);
  ::kill(timing, SIGCONT);
  int status = -1;
  ::waitpid(timing, &status, 0);
  CHECK((WIFEXITED(status) ? WEXITSTATUS(status) : -1) == 0);
  ::close(ends[0]), ::close(ends[1]);
}
TEST_CASE("other arguments are no worker's") {
  char const* const none[] = {"program", nullptr};
  char const* const other[] = {"program", "--weft", nullptr};
  CHECK_FALSE(worker(1, none));
  CHECK_FALSE(worker(2, other));
}
