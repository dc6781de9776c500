// A lock between processes that keep results in one directory.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <string>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace cache::detail {

/// Whether the last wait for a lock was in vain, as behind a process that stands still with it: the next one tries for a moment only.
inline constinit bool lock_is_stuck = false;

/// One process at a time compares what is kept with what is to be kept. Where files cannot be locked, or the lock is not to be had in these seconds, the last
/// one stays: files are put in place whole, so that the worst is that the slower of two results does.
struct one_keeper {
  int fd;
  bool in_vain = false;  // another one has it
  explicit one_keeper(std::string const& path, double seconds = 1) : fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd < 0) return;
    constexpr double moment = 0.02;
    double const most = seconds > moment && __atomic_load_n(&lock_is_stuck, __ATOMIC_RELAXED) ? moment : seconds;
    // flock itself would wait for ever, and nothing ends that but a signal, which is the program's.
    for (double const began = now(); !taken();) {
      in_vain = now() - began >= most;
      if (in_vain) break;
      ::timespec const millisecond{0, 1000000};
      ::nanosleep(&millisecond, nullptr);
    }
    __atomic_store_n(&lock_is_stuck, in_vain, __ATOMIC_RELAXED);
  }
  one_keeper(one_keeper const&) = delete;
  one_keeper& operator=(one_keeper const&) = delete;
  ~one_keeper() {
    if (fd < 0) return;
    static_cast<void>(::flock(fd, LOCK_UN));  // a child that was forked meanwhile has the lock, too, as long as its descriptor is open
    ::close(fd);
  }

 private:
  static double now() {
    ::timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
  }
  /// Or there are no locks here.
  bool taken() const { return ::flock(fd, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR); }
};

}  // namespace cache::detail
}  // namespace weft::inline WEFT_ABI
