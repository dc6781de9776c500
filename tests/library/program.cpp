// A program of a user's, for tests of what a process does from its start to its end.
//
//     weft-program call     calls a kernel; prints "made N, LLVM is (not) loaded, STATUS"
//     weft-program leave    ends while other threads call kernels
//     weft-program fork N   forks N times while other threads compile; each child compiles and calls, too, or is told that it cannot
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

namespace {

constexpr auto product = weft::kernel<"product">(
    [](auto A, auto B) {
      auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
      return weft::compute<"C">(M, N, [=](auto i, auto j) {
        return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, ii] = s.split(i, 2);
      auto [jo, ji] = s.split(j, 8);
      s.reorder(io, jo, k, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
    });
constexpr auto doubled = weft::kernel<"doubled">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + x(i); }); },
    [](auto& s, auto, auto y) { s.parallel(y.axes()[0]); });

bool call_product(std::size_t n) {
  std::vector<float> a(n * 3, 2.0f), b(3 * 11, 0.5f), c(n * 11);
  product(weft::view(a, n, 3), weft::view(b, 3, 11), weft::out(c, n, 11));
  for (float x : c)
    if (x != 3.0f) return false;
  return true;
}
bool call_doubled(std::size_t n) {
  std::vector<float> x(n, 1.5f), y(n);
  doubled(x, weft::out(y));
  for (float v : y)
    if (v != 3.0f) return false;
  return true;
}
bool is_loaded(char const* library) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  bool found = false;
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr)
    found = found || std::strstr(line, library) != nullptr;
  if (maps != nullptr) std::fclose(maps);
  return found;
}

int call() {
  bool const right = call_product(5) && call_doubled(1000);
  std::printf("made %d, LLVM is %sloaded, %s\n", static_cast<int>(weft::compilations()),
              is_loaded("libLLVM") ? "" : "not ", weft::cache::status().c_str());
  return right ? 0 : 1;
}
int leave() {
  // The first kernels before: to end while they are compiled is not safe (llvm_use).
  if (!call_doubled(5000) || !call_product(5)) return 1;
  for (std::size_t t = 0; t < 2; ++t)
    std::thread([t] {
      for (std::size_t i = 0;; ++i)
        static_cast<void>(call_doubled(5000)), static_cast<void>(call_product(6 + t * 1000 + i % 50));
    }).detach();
  ::usleep(30000);
  return 0;
}
int fork_while_compiling(int children) {
  bool stop = false, right = true;
  auto const make = [&](std::size_t first) {
    for (std::size_t n = first; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++n)
      if (!call_product(n) || !call_doubled(n)) __atomic_store_n(&right, false, __ATOMIC_RELAXED);
  };
  std::thread one(make, 1), two(make, 100000);
  for (int i = 0; i < children; ++i) {
    ::usleep(static_cast<useconds_t>(i * 997 % 20000));
    pid_t const child = ::fork();
    if (child == 0) {
      ::alarm(60);  // a lock that nobody will open
      auto const n = static_cast<std::size_t>(200000 + i);
      try {
        ::_exit(call_product(n) && call_doubled(n) ? 0 : 1);
      } catch (weft::device_error const& e) {
        ::_exit(std::strstr(e.what(), "before threads fork") != nullptr ? 3 : 1);
      }
    }
    int status = 1;
    if (child < 0 || ::waitpid(child, &status, 0) != child) right = false;
    // The first fork may have begun before the first gate.
    bool const told = i == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 3;
    if (told) std::printf("told\n");
    if (status != 0 && !told) right = false;
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  one.join(), two.join();
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "call") == 0) return call();
  if (argc == 2 && std::strcmp(argv[1], "leave") == 0) return leave();
  if (argc == 3 && std::strcmp(argv[1], "fork") == 0) return fork_while_compiling(std::atoi(argv[2]));
  return 2;
}
