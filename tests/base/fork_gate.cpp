#include "weft/base/fork_gate.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "weft/base/error.hpp"

namespace weft_test {
namespace {

/// The exit status of a child that goes through a gate: 0, or 3 where it is refused. The fork runs no handlers, like one that
/// began before they were registered.
int status_of_child() {
  auto const child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    ::alarm(60);
    try {
      weft::fork_gate const gate;
      ::_exit(0);
    } catch (weft::device_error const& e) {
      ::_exit(std::string(e.what()).find("call a kernel, or weft::host(), before threads fork") != std::string::npos ? 3 : 4);
    }
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
}  // namespace

TEST_CASE("a child whose fork ran no handlers goes on where nobody was inside, and is told where somebody was") {
  { weft::fork_gate const registered; }
  CHECK(status_of_child() == 0);
  bool inside = false, leave = false;
  std::thread other([&] {
    weft::fork_gate const gate;
    __atomic_store_n(&inside, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&leave, __ATOMIC_ACQUIRE)) ::usleep(100);
  });
  while (!__atomic_load_n(&inside, __ATOMIC_ACQUIRE)) ::usleep(100);
  CHECK(status_of_child() == 3);
  __atomic_store_n(&leave, true, __ATOMIC_RELEASE);
  other.join();
  CHECK(status_of_child() == 0);
}

}  // namespace weft_test
