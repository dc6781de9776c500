// A lock between processes that keep results in one directory.
#pragma once

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
    if (fd >= 0) static_cast<void>(::flock(fd, LOCK_EX));
  }
  one_keeper(one_keeper const&) = delete;
  one_keeper& operator=(one_keeper const&) = delete;
  ~one_keeper() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace cache::detail
}  // namespace weft::inline WEFT_ABI
