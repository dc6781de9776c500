#include "weft/runtime/cache/one_keeper.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <chrono>

#include "support/private_cache.hpp"

using weft::cache::detail::one_keeper;
using weft_test::temporary_directory;

namespace {
bool is_locked(std::string const& path) {
  int const fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool const locked = ::flock(fd, LOCK_EX | LOCK_NB) != 0;
  ::close(fd);
  return locked;
}
}  // namespace

TEST_CASE("who waits for the lock has it, also when a signal of the program's came meanwhile") {
  temporary_directory const d;
  int held[2], tried[2];
  REQUIRE((::pipe(held) == 0 && ::pipe(tried) == 0));
  pid_t const other = ::fork();
  if (other == 0) {
    ::close(tried[1]);
    {
      one_keeper const alone(d.path);
      char one = 'h';
      if (::write(held[1], &one, 1) != 1) ::_exit(1);
      ::usleep(200000);
      // Who waits in the meantime would have closed this end.
      if (::fcntl(tried[0], F_SETFL, O_NONBLOCK) != 0 || ::read(tried[0], &one, 1) == 0) ::_exit(2);
    }
    ::_exit(0);
  }
  char one = 0;
  REQUIRE(::read(held[0], &one, 1) == 1);
  struct ::sigaction with{}, before{};
  with.sa_handler = [](int) {};  // and no SA_RESTART
  REQUIRE(::sigaction(SIGALRM, &with, &before) == 0);
  ::itimerval const often{{0, 10000}, {0, 10000}}, never{};
  REQUIRE(::setitimer(ITIMER_REAL, &often, nullptr) == 0);
  {
    one_keeper const alone(d.path);
    ::close(tried[0]), ::close(tried[1]);
    CHECK(is_locked(d.path));
  }
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  int status = -1;
  ::waitpid(other, &status, 0);
  CHECK(status == 0);
  ::close(held[0]), ::close(held[1]);
}
TEST_CASE("a child that was forked while the lock was held does not keep it") {
  temporary_directory const d;
  pid_t child = 0;
  {
    one_keeper const alone(d.path);
    CHECK(is_locked(d.path));
    child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  CHECK_FALSE(is_locked(d.path));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}
TEST_CASE("who holds the lock and stands still is waited for once, and then for a moment") {
  temporary_directory const d;
  int held[2];
  REQUIRE(::pipe(held) == 0);
  pid_t const other = ::fork();
  if (other == 0) {
    one_keeper const alone(d.path);
    if (::write(held[1], "h", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char one = 0;
  REQUIRE(::read(held[0], &one, 1) == 1);
  auto const waited = [&](double most, bool in_vain) {
    auto const began = std::chrono::steady_clock::now();
    one_keeper const alone(d.path, most);
    CHECK(alone.in_vain == in_vain);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  CHECK(waited(0.5, true) >= 0.5);
  CHECK(waited(30, true) < 10);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  CHECK(waited(30, false) < 10);
  CHECK_FALSE(weft::cache::detail::lock_is_stuck);
  ::close(held[0]), ::close(held[1]);
}
