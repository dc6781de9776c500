// Checked kernels, and what debuggers and profilers see of all of them.
#include "weft/debug.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "support/child_process.hpp"
#include "support/private_cache.hpp"
#include "weft/weft.hpp"

using weft_test::content;

namespace {

inline constexpr auto gather = weft::kernel<"gather">(
    [](auto x, auto index) { return weft::compute<"y">(index.extent(0), [=](auto i) { return x(index(i)) * 2.0f; }); },
    [](auto& s, auto, auto, auto y) {
      auto [i] = y.axes();
      auto [io, ii] = s.split(i, 8);
      s.vectorize(ii);
      s.parallel(io);
    });
inline constexpr auto product = weft::kernel<"product of two">(
    [](auto A, auto B) {
      return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto [ko, ki] = s.split(k, 8);
      auto [io, ii] = s.split(i, 4);
      auto [jo, ji] = s.split(j, 16);
      s.reorder(jo, ko, io, ki, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
      s.parallel(jo);
    });
/// Softmax of rows: three stages, an intermediate tensor each, and a border.
inline constexpr auto softmax = weft::kernel<"softmax">([](auto x) {
  auto M = x.extent(0), N = x.extent(1);
  auto top = weft::compute<"top">(
      M, [=](auto i) { return weft::max(N, [=](auto j) { return weft::select(j > 0, x(i, j - 1), x(i, j)); }); });
  auto all = weft::compute<"all">(
      M, [=](auto i) { return weft::sum(N, [=](auto j) { return weft::exp(x(i, j) - top(i)); }); });
  return weft::compute<"y">(M, N, [=](auto i, auto j) { return weft::exp(x(i, j) - top(i)) / all(i); });
});
inline constexpr auto twice =
    weft::kernel<"twice">([](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + x(i); }); });
inline constexpr auto thrice =
    weft::kernel<"thrice">([](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return 3.0f * x(i); }); });

constexpr weft::options checked{.checked = true};

struct gather_call {
  std::vector<float> x = std::vector<float>(10), y = std::vector<float>(20);
  std::vector<std::int32_t> index = std::vector<std::int32_t>(20);
  gather_call() {
    for (std::size_t i = 0; i < 10; ++i) x[i] = static_cast<float>(i);
    for (std::size_t i = 0; i < 20; ++i) index[i] = static_cast<std::int32_t>(i * 7 % 10);
  }
  template <class Kernel>
  std::string operator()(Kernel const& kernel) {
    try {
      kernel(weft::view(x, 10), weft::view(index, 20), weft::out(y, 20));
    } catch (weft::error const& e) {
      return e.what();
    }
    return "";
  }
};
std::vector<float> numbers(std::size_t n) {
  std::vector<float> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) * 0.173f;
  return all;
}

}  // namespace

TEST_CASE("checked code gives the same bits, under any schedule, over several stages and in place") {
  std::size_t const M = 33, K = 20, N = 37;
  auto const a = numbers(M * K), b = numbers(K * N);
  std::vector<float> c(M * N), d(M * N);
  product(weft::view(a, M, K), weft::view(b, K, N), weft::out(c, M, N));
  product.with(checked)(weft::view(a, M, K), weft::view(b, K, N), weft::out(d, M, N));
  CHECK(c == d);
  softmax.with({.bitwise = true})(weft::view(c, M, N), weft::out(d, M, N));
  std::vector<float> e(M * N);
  for (int call = 0; call < 2; ++call) softmax.with(checked)(weft::view(c, M, N), weft::out(e, M, N));
  CHECK(d == e);
  std::vector<float> f = a;
  twice.with(checked)(weft::view(f, M * K), weft::out(f, M * K));
  CHECK(f[3] == a[3] + a[3]);
}
TEST_CASE("a gather outside of its tensor is told with index, extent and loops, on each call anew") {
  gather_call call;
  CHECK(call(gather.with(checked)) == "");
  for (std::size_t i = 0; i < 20; ++i) CHECK(call.y[i] == static_cast<float>(2 * call.index[i]));
  call.index[13] = 12;
  std::string const told =
      "gather: A is read at [12], outside of its extents [10]\n  in    io=1, ii=5\n  by    A[cast<i64>(B[io * 8 + "
      "ii])]";
  CHECK(call(gather.with(checked)) == told);
  CHECK(call(gather.with(checked)) == told);
  call.index[13] = -1;
  CHECK(call(gather.with(checked)).find("gather: A is read at [-1], outside") == 0);
  call.index[13] = 9;
  CHECK(call(gather.with(checked)) == "");
  auto const prepared =
      gather.with(checked).prepare(weft::view(call.x, 10), weft::view(call.index, 20), weft::out(call.y, 20));
  call.index[13] = 12;
  CHECK_THROWS_AS(prepared(weft::view(call.x, 10), weft::view(call.index, 20), weft::out(call.y, 20)),
                  weft::access_error);
}
TEST_CASE("without checks what cannot be proved is refused before anything runs, with the way to find the element") {
  gather_call call;
  std::string const refused = call(gather);
  CHECK(refused.find("gather: A: index 0 runs from ") == 0);
  CHECK(refused.find(".with({.checked = true})") != std::string::npos);
}
TEST_CASE("checked and plain forms of a kernel are compiled apart, and stand on disk apart") {
  gather_call call;
  weft_test::private_cache const cache;
  auto const a = numbers(12);
  std::vector<float> c(9);
  auto const run = [&](weft::options o) {
    std::uint64_t const before = weft::compilations();
    product.with(o)(weft::view(a, 3, 4), weft::view(a, 4, 3), weft::out(c, 3, 3));
    return weft::compilations() - before;
  };
  CHECK(run({}) == 1);
  CHECK(run(checked) == 1);
  CHECK(run({}) == 0);
  CHECK(run(checked) == 0);
  CHECK(cache.files().size() == 2);
  CHECK(run({.perf = true}) == 0);  // the code is that of the plain form
  weft_test::temporary_directory const sources;
  ::setenv("TMPDIR", sources.path.c_str(), 1);
  CHECK(run({.debug = true}) == 1);  // names a file that may be gone
  ::unsetenv("TMPDIR");
  CHECK(cache.files().size() == 2);
  std::remove(("/tmp/perf-" + std::to_string(::getpid()) + ".map").c_str());
}
TEST_CASE("checked code from disk tells what it finds" * doctest::skip()) {
  gather_call call;
  call.index[0] = 10;
  CHECK(call(gather.with(checked)).find("gather: A is read at [10], outside") == 0);
  CHECK(weft::compilations() == (std::getenv("WEFT_TEST_WARM") != nullptr ? 0 : 1));
}
TEST_CASE("checked code from disk tells as much as when it was compiled") {
#if defined(__x86_64__)
  weft_test::temporary_directory const directory;
  ::setenv("WEFT_TEST_CACHE", directory.path.c_str(), 1);
  CHECK(weft::test::run_case("checked code from disk tells what it finds", "WEFT_TEST_COLD", "1") == 0);
  ::setenv("WEFT_TEST_WARM", "1", 1);
  CHECK(weft::test::run_case("checked code from disk tells what it finds", "WEFT_TEST_COLD", "1") == 0);
  ::unsetenv("WEFT_TEST_WARM");
  ::unsetenv("WEFT_TEST_CACHE");
#endif
}
TEST_CASE("in a program with WEFT_CHECKED=1" * doctest::skip()) {
  gather_call call;
  call.index[0] = 10;
  CHECK(call(gather).find("gather: A is read at [10], outside") == 0);
}
TEST_CASE("WEFT_CHECKED=1 checks every kernel of a program") {
  CHECK(weft::test::run_case("in a program with WEFT_CHECKED=1", "WEFT_CHECKED", "1") == 0);
}
TEST_CASE("a kernel's symbol has its name, the extents of its loops and its dtype, and is valid") {
  auto const a = numbers(80);
  std::string const ir = product.llvm_ir(weft::view(a.data(), 3, 4), weft::view(a, 4, 20));
  CHECK(ir.find("@weft_product_of_two_3x20x4_f32(") != std::string::npos);
  CHECK(ir.find("@product_of_two_3x20x4_f32.parallel0(") != std::string::npos);
}
TEST_CASE("in a program with WEFT_PERF=1" * doctest::skip()) {
  std::string const path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  auto const a = numbers(80);
  std::vector<float> c(60);
  product(weft::view(a.data(), 3, 4), weft::view(a, 4, 20), weft::out(c, 3, 20));
  std::string const map = content(path);
  CHECK(map.find(" weft_product_of_two_3x20x4_f32\n") != std::string::npos);
  CHECK(map.find(" product_of_two_3x20x4_f32.parallel0\n") != std::string::npos);
  for (std::size_t at = 0; at < map.size(); at = map.find('\n', at) + 1) {
    unsigned long long begin = 0, bytes = 0;
    char name[100];
    REQUIRE(std::sscanf(map.c_str() + at, "%llx %llx %99s\n", &begin, &bytes, name) == 3);
    CHECK(begin > 4096);
    CHECK((bytes > 0 && bytes < 100000));
  }
  struct stat status {};
  CHECK(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  ::unlink(path.c_str());
  // A link that somebody else laid there is not followed.
  weft_test::temporary_directory const directory;
  weft_test::write_file(directory.path + "/target", "");
  REQUIRE(::symlink((directory.path + "/target").c_str(), path.c_str()) == 0);
  twice(weft::view(c, 60), weft::out(c, 60));
  CHECK(content(directory.path + "/target") == "");
  ::unlink(path.c_str());
  // Where no file may be written, there is none; the signal of one that grew too long would end this process.
  rlimit saved{}, none{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &saved) == 0);
  none.rlim_max = saved.rlim_max;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  thrice(weft::view(c, 60), weft::out(c, 60));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &saved) == 0);
  CHECK(content(path) == "");
  ::unlink(path.c_str());
}
TEST_CASE("WEFT_PERF=1 lists each function of a kernel for perf, whoever links it") {
  CHECK(weft::test::run_case("in a program with WEFT_PERF=1", "WEFT_PERF", "1") == 0);
  ::setenv("WEFT_PERF", "1", 1);
  CHECK(weft::test::run_case("in a program with WEFT_PERF=1", "WEFT_LOADER", "orc") == 0);
  ::unsetenv("WEFT_PERF");
}
TEST_CASE("a program under a debugger" * doctest::skip()) {
  auto const a = numbers(80);
  std::vector<float> c(60);
  product(weft::view(a.data(), 3, 4), weft::view(a, 4, 20), weft::out(c, 3, 20));
}
TEST_CASE("gdb stops in a kernel, shows the loop program as its source, and whole backtraces") {
#if WEFT_TEST_ASAN || WEFT_TEST_TSAN
  MESSAGE("[skip] sanitizers do not run under gdb");
  return;
#endif
  if (std::system("gdb --version > /dev/null 2>&1") != 0) {
    MESSAGE("[skip] no gdb here: apt-get install gdb");
    return;
  }
  char self[4096]{};
  REQUIRE(::readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  weft_test::temporary_directory const directory;
  for (char const* loader : {"own", "orc"}) {
    std::string const output = directory.path + "/output";
    std::string const command = "env WEFT_DEBUG=1 WEFT_THREADS=1 WEFT_LOADER=" + std::string(loader) + " TMPDIR='" +
                                directory.path +
                                "' gdb -nx -q -batch -ex 'set breakpoint pending on' -ex 'set debuginfod enabled off' "
                                "-ex 'break product_of_two_3x20x4_f32.parallel0' -ex run -ex bt -ex 'list 1,100' -ex "
                                "next -ex 'info line' --args '" +
                                self + "' --no-skip --test-case='a program under a debugger' > '" + output + "' 2>&1";
    CHECK(std::system(command.c_str()) == 0);
    std::string const said = content(output);
    if (said.find("ptrace") != std::string::npos) {
      MESSAGE("[skip] gdb may not trace a process here");
      return;
    }
    INFO(said);
    CHECK(said.find("Breakpoint 1, product_of_two_3x20x4_f32.parallel0 () at product_of_two_3x20x4_f32.") !=
          std::string::npos);
    CHECK(said.find("in product_of_two_3x20x4_f32.parallel0.thunk () at") != std::string::npos);
    CHECK(said.find("in weft_product_of_two_3x20x4_f32 () at") != std::string::npos);
    CHECK(said.find(" in main (") != std::string::npos);
    CHECK(said.find("1\tkernel `product of two`:") != std::string::npos);
    CHECK(said.find("for jo in 0..2 parallel:") != std::string::npos);
  }
}
