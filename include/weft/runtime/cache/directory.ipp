#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weft/base/file_limit.hpp"
#include "weft/runtime/cache/directory.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {
namespace detail {

inline constexpr std::int64_t largest_file = std::int64_t(64) << 20;
// Files with other names are not ours, whatever directory the user chose.
inline constexpr char kernel_suffix[] = ".kernel", temporary_suffix[] = ".weft-tmp";
inline std::uint32_t temporary_count = 0;

inline std::int64_t now_s() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec;
}
/// Closes at the end of a scope.
struct descriptor {
  int fd;
  ~descriptor() {
    if (fd >= 0) ::close(fd);
  }
};
inline bool only_we_write(struct stat const& s) { return s.st_uid == ::geteuid() && (s.st_mode & 022) == 0; }

/// The process that writes a temporary file, by the file's name; 0 when it is none.
inline pid_t writer_of(file_info const& f) {
  char* end = nullptr;
  long const process = std::strtol(f.name, &end, 10);
  if (end == f.name || *end != '.' || process <= 0 || process > 1 << 30) return 0;
  end += 1 + std::strspn(end + 1, "0123456789");
  return std::strcmp(end, temporary_suffix) == 0 ? static_cast<pid_t>(process) : 0;
}
}  // namespace detail

WEFT_DECL directory::directory(std::string const& path, creation create) : path_(path) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();  // behind a slash a link would be followed
  if (create != creation::never) fault_ = make(create);
  if (fault_ == fault::none) fault_ = open();
  error_ = errno;
}
/// Makes what is missing of the path, from its beginning.
WEFT_DECL directory::fault directory::make(creation create) {
  struct stat s {};
  bool within_own = ::stat(path_[0] == '/' ? "/" : ".", &s) == 0 && s.st_uid == ::geteuid();
  for (std::size_t end = 1; end <= path_.size(); ++end) {
    if (end < path_.size() && path_[end] != '/') continue;
    std::string const part = path_.substr(0, end);
    bool there = ::stat(part.c_str(), &s) == 0;
    if (!there) {
      if (!within_own && create == creation::below_own) return fault::parent_of_others;
      if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return fault::not_made;
      there = ::stat(part.c_str(), &s) == 0;  // another user may have been faster
    }
    within_own = there && s.st_uid == ::geteuid();
  }
  return fault::none;
}
WEFT_DECL directory::fault directory::open() {
  int const fd = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return errno == ENOENT                       ? fault::not_there
           : errno == ELOOP || errno == ENOTDIR ? fault::no_directory
                                                : fault::not_opened;
  struct stat s {};
  if (::fstat(fd, &s) == 0 && detail::only_we_write(s)) {
    descriptor_ = fd;
    return fault::none;
  }
  ::close(fd);
  // /tmp and its like. What root may close to others may be the system's: /var/mail, /usr/local.
  if ((s.st_mode & S_ISVTX) != 0 || (::geteuid() == 0 && s.st_uid == 0)) return fault::of_all;
  return s.st_uid != ::geteuid() ? fault::of_others : fault::written_by_others;
}
WEFT_DECL std::string directory::why() const {
  static constexpr char const* sentences[] = {
      "", " is not there yet", " would be made in a directory that belongs to another user", " cannot be made: ",
      " is a symbolic link or no directory", " cannot be opened: ", " belongs to another user",
      " may be written by others: chmod 700 ",
      " may be written by others; a directory below it would be made for its user alone: "};
  if (fault_ == fault::none) return "";
  std::string text = path_ + sentences[static_cast<int>(fault_)];
  if (fault_ == fault::not_made || fault_ == fault::not_opened) text += std::strerror(error_);
  if (fault_ == fault::written_by_others || fault_ == fault::of_all) text += path_;
  return fault_ == fault::of_all ? text + "/weft" : text;
}
WEFT_DECL directory::~directory() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

WEFT_DECL bool directory::read(char const* name, std::string& bytes) const {
  // Without O_NONBLOCK a FIFO would wait for a writer.
  detail::descriptor const file{
      ::openat(descriptor_, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  struct stat s {};
  if (file.fd < 0 || ::fstat(file.fd, &s) != 0) return false;
  // No name at all: another process has put a newer file in its place.
  if (!S_ISREG(s.st_mode) || s.st_nlink > 1 || !detail::only_we_write(s) || s.st_size > detail::largest_file)
    return false;
  bytes.resize(static_cast<std::size_t>(s.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    auto const n = ::read(file.fd, &bytes[done], bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  if (detail::now_s() - s.st_mtime > 3600) ::futimens(file.fd, nullptr);
  return true;
}

WEFT_DECL bool directory::write(char const* name, std::string_view bytes) const {
  auto const size = static_cast<std::int64_t>(bytes.size());
  if (size > detail::largest_file || !file_may_hold(size)) return errno = EFBIG, false;
  char temporary[32];
  int fd = -1;
  for (int tries = 0; tries < 16 && fd < 0; ++tries) {  // a process of this number may have left some
    std::snprintf(temporary, sizeof temporary, "%d.%u%s", static_cast<int>(::getpid()),
                  __atomic_fetch_add(&detail::temporary_count, 1, __ATOMIC_RELAXED), detail::temporary_suffix);
    fd = ::openat(descriptor_, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST) return false;
  }
  if (fd < 0) return false;
  bool good = true;
  while (good && !bytes.empty()) {
    auto const n = ::write(fd, bytes.data(), bytes.size());
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    else good = n < 0 && errno == EINTR;
  }
  // Not synchronised with the disk: what a crash of the machine tears, the checksum finds.
  good = ::close(fd) == 0 && good && ::renameat(descriptor_, temporary, descriptor_, name) == 0;
  if (!good) ::unlinkat(descriptor_, temporary, 0);
  return good;
}

WEFT_DECL bool directory::remove(char const* name) const { return ::unlinkat(descriptor_, name, 0) == 0; }

WEFT_DECL bool directory::holds(char const* name) const {
  struct stat s {};
  return ::fstatat(descriptor_, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode) && detail::only_we_write(s);
}

WEFT_DECL sequence<file_info> directory::list() const {
  sequence<file_info> files;
  int const fd = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // its own place in the list
  DIR* const stream = fd < 0 ? nullptr : ::fdopendir(fd);
  if (stream == nullptr) {
    if (fd >= 0) ::close(fd);
    return files;
  }
  std::int64_t const now = detail::now_s();
  while (dirent const* const d = ::readdir(stream)) {
    file_info f{};
    struct stat s {};
    if (std::strlen(d->d_name) >= sizeof f.name) continue;
    std::strcpy(f.name, d->d_name);
    if (!is_kernel(f) && detail::writer_of(f) == 0) continue;
    if (::fstatat(fd, f.name, &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
    f.bytes = s.st_size;
    f.age_s = now - s.st_mtime;
    files.push_back(f);
  }
  ::closedir(stream);
  if (files.empty()) return files;  // qsort wants an address
  std::qsort(files.data(), files.size(), sizeof(file_info), [](void const* a, void const* b) {
    std::int64_t const x = static_cast<file_info const*>(a)->age_s, y = static_cast<file_info const*>(b)->age_s;
    return x > y ? -1 : x < y ? 1 : 0;
  });
  return files;
}

WEFT_DECL file_info name_of(std::uint64_t digest) { return name_of(digest, detail::kernel_suffix); }
WEFT_DECL file_info name_of(std::uint64_t digest, char const* suffix) {
  file_info f{};
  for (int i = 0; i < 16; ++i) f.name[i] = "0123456789abcdef"[digest >> (60 - 4 * i) & 15];
  for (std::size_t i = 16; *suffix != '\0' && i + 1 < sizeof f.name; ++i) f.name[i] = *suffix++;
  return f;
}
WEFT_DECL bool is_kernel(file_info const& f) {
  return std::strspn(f.name, "0123456789abcdef") == 16 && std::strcmp(f.name + 16, detail::kernel_suffix) == 0;
}
WEFT_DECL bool is_abandoned(file_info const& f) {
  pid_t const writer = detail::writer_of(f);
  return writer > 0 && ((::kill(writer, 0) != 0 && errno == ESRCH) || f.age_s > 3600);
}

WEFT_DECL void evict(directory const& d, std::int64_t limit) {
  sequence<file_info> files = d.list();
  std::int64_t bytes = 0;
  for (file_info const& f : files) {
    if (is_abandoned(f)) d.remove(f.name);
    if (is_kernel(f)) bytes += f.bytes;
  }
  if (bytes <= limit) return;
  for (file_info const& f : files) {
    if (bytes <= limit / 8 * 7) return;
    if (is_kernel(f) && d.remove(f.name)) bytes -= f.bytes;
  }
}

}  // namespace cache
}  // namespace weft::inline WEFT_ABI
