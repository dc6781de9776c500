#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "weft/base/file_limit.hpp"
#include "weft/runtime/object_reader.hpp"
#include "weft/runtime/perf_map.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {
WEFT_DECL void write_perf_map(std::string_view object, std::string_view symbol, void const* entry) {
  std::string lines;
  for (auto const& f : detail::object_reader(object, symbol, entry).functions()) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%llx %zx ", static_cast<unsigned long long>(f.begin), f.bytes);
    (lines += numbers).append(f.name) += '\n';
  }
  std::string const path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  int const file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  if (file < 0) return;
  struct stat status {};
  // One write for all lines: those of other threads, and of other compilers in this process, stay whole.
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1 &&
      (status.st_mode & 022) == 0 && file_may_hold(status.st_size + static_cast<std::int64_t>(lines.size())))
    static_cast<void>(::write(file, lines.data(), lines.size()) < 0);
  ::close(file);
}

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
