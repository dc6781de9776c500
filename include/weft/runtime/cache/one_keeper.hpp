// A lock between processes that keep results in one directory.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace cache::detail {

/// One process at a time compares what is kept with what is to be kept. Where files cannot be locked, the last one stays.
struct one_keeper {
  int fd;
  explicit one_keeper(std::string const& path) : fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (fd >= 0 && ::flock(fd, LOCK_EX) != 0 && errno == EINTR) {  // a handler of the program's ran meanwhile
    }
  }
  one_keeper(one_keeper const&) = delete;
  one_keeper& operator=(one_keeper const&) = delete;
  ~one_keeper() {
    if (fd < 0) return;
    static_cast<void>(::flock(fd, LOCK_UN));  // a child that was forked meanwhile has the lock, too, as long as its descriptor is open
    ::close(fd);
  }
};

}  // namespace cache::detail
}  // namespace weft::inline WEFT_ABI
