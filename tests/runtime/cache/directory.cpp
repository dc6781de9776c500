#include "weft/runtime/cache/directory.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

#include "support/private_cache.hpp"

using namespace weft;
using cache::creation;
using cache::directory;
using weft_test::content;
using weft_test::temporary_directory;
using weft_test::write_file;

namespace {

constexpr char const* name = "0123456789abcdef.kernel";
constexpr uid_t nobody = 65534;
bool is_root() { return ::geteuid() == 0; }

bool readable(std::string const& path) {
  std::string bytes;
  directory const d(path, creation::never);
  return d.usable() && d.read(name, bytes);
}
std::string why(std::string const& path, creation create = creation::never) { return directory(path, create).why(); }
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

/// Runs `f` in a child of its own, with other rights or limits; its answer, or the signal that ended it + 128.
int in_child(std::function<int()> const& f) {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(f());
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
void make_old(std::string const& file, std::int64_t seconds) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  timespec const times[] = {{now.tv_sec - seconds, 0}, {now.tv_sec - seconds, 0}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}
std::int64_t age(std::string const& file) {
  struct stat s {};
  ::stat(file.c_str(), &s);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec - s.st_mtime;
}

}  // namespace

TEST_CASE("what is written is read, replaced whole, and nothing else is left") {
  temporary_directory t;
  directory const d(t.path, creation::never);
  REQUIRE(d.usable());
  std::string bytes;
  CHECK_FALSE(d.read(name, bytes));
  for (std::string const& text : {std::string("one"), std::string(100000, 'x'), std::string()}) {
    CHECK(d.write(name, text));
    CHECK(d.read(name, bytes));
    CHECK(bytes == text);
  }
  CHECK(t.files().size() == 1);
  struct stat s {};
  REQUIRE(::stat((t.path + "/" + name).c_str(), &s) == 0);
  CHECK((s.st_mode & 07777) == 0600);
  CHECK(d.remove(name));
  CHECK_FALSE(d.read(name, bytes));
}
TEST_CASE("a directory is made with its parents, for its owner alone; a path may end in slashes") {
  temporary_directory t;
  std::string const deep = t.path + "/a/b/weft";
  CHECK(has(why(deep), "is not there yet"));
  CHECK(directory(deep + "//", creation::anywhere).usable());
  struct stat s {};
  REQUIRE(::stat(deep.c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0700);
  CHECK(directory(t.path + "/a/c", creation::below_own).usable());
}
TEST_CASE("a directory that others may write is refused, in words") {
  temporary_directory t;
  write_file(t.path + "/" + name, "x");
  REQUIRE(::chmod((t.path + "/" + name).c_str(), 0600) == 0);
  CHECK(readable(t.path));
  for (mode_t mode : {0770u, 0702u, 0777u, 01777u}) {
    REQUIRE(::chmod(t.path.c_str(), mode) == 0);
    CHECK_FALSE(readable(t.path));
    CHECK(has(why(t.path), "may be written by others"));
    // Nobody is told to close /tmp, and root nothing that may be the system's.
    bool const below = is_root() || (mode & 01000) != 0;
    CHECK(has(why(t.path), "chmod 700") == !below);
    CHECK(has(why(t.path), "a directory below it would be made for its user alone: " + t.path + "/weft") == below);
  }
  CHECK(why("/tmp") == "/tmp may be written by others; a directory below it would be made for its user alone: /tmp/weft");
  CHECK(directory(t.path + "/weft", creation::anywhere).usable());  // as it says
  REQUIRE(::chmod(t.path.c_str(), 0755) == 0);  // read by others: they learn which kernels are used
  CHECK(readable(t.path));
}
TEST_CASE("a symbolic link is no directory of ours, dangling or not, also with a slash behind it") {
  temporary_directory t;
  std::string const real = t.path + "/real", link = t.path + "/link", dangling = t.path + "/dangling";
  REQUIRE(::mkdir(real.c_str(), 0700) == 0);
  REQUIRE(::symlink(real.c_str(), link.c_str()) == 0);
  REQUIRE(::symlink("/nowhere/at/all", dangling.c_str()) == 0);
  CHECK(directory(real, creation::anywhere).usable());
  for (creation create : {creation::never, creation::anywhere}) {
    CHECK(has(why(link, create), "is a symbolic link or no directory"));
    CHECK(has(why(link + "/", create), "is a symbolic link or no directory"));
    CHECK(has(why(dangling, create), "is a symbolic link or no directory"));
  }
  write_file(t.path + "/file", "");
  CHECK(has(why(t.path + "/file"), "is a symbolic link or no directory"));
  CHECK(directory(link + "/inside", creation::anywhere).usable());  // links on the way to it are the owner's business
}
TEST_CASE("a file counts only when it is a regular one with one name that nobody else may write") {
  temporary_directory t;
  std::string const file = t.path + "/" + name;
  auto const fresh = [&] {
    ::unlink(file.c_str());
    write_file(file, "code");
    REQUIRE(::chmod(file.c_str(), 0600) == 0);
    REQUIRE(readable(t.path));
  };
  fresh();
  for (mode_t mode : {0620u, 0602u, 0666u}) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    CHECK_FALSE(readable(t.path));
  }
  fresh();
  REQUIRE(::link(file.c_str(), (t.path + "/other").c_str()) == 0);
  CHECK_FALSE(readable(t.path));
  ::unlink((t.path + "/other").c_str());
  CHECK(readable(t.path));

  write_file(t.path + "/real", "code");
  ::unlink(file.c_str());
  REQUIRE(::symlink("real", file.c_str()) == 0);
  CHECK_FALSE(readable(t.path));

  ::unlink(file.c_str());
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK_FALSE(readable(t.path));  // and does not wait for a writer
  ::unlink(file.c_str());
  REQUIRE(::mkdir(file.c_str(), 0700) == 0);
  CHECK_FALSE(readable(t.path));
  CHECK_FALSE(directory(t.path, creation::never).write(name, "code"));
  ::rmdir(file.c_str());

  fresh();
  REQUIRE(::truncate(file.c_str(), (std::int64_t(64) << 20) + 1) == 0);  // sparse
  CHECK_FALSE(readable(t.path));
}
TEST_CASE("writing replaces a link, and does not follow it") {
  temporary_directory t;
  write_file(t.path + "/victim", "precious");
  REQUIRE(::symlink("victim", (t.path + "/" + name).c_str()) == 0);
  CHECK(directory(t.path, creation::never).write(name, "code"));
  CHECK(content(t.path + "/victim") == "precious");
  CHECK(readable(t.path));
}
TEST_CASE("what belongs to another user is refused") {
  if (!is_root()) {
    MESSAGE("[skip] only root can give files away");
    return;
  }
  temporary_directory t;
  std::string const file = t.path + "/" + name;
  write_file(file, "code");
  REQUIRE(::chmod(file.c_str(), 0600) == 0);
  CHECK(readable(t.path));
  REQUIRE(::chown(file.c_str(), nobody, nobody) == 0);
  CHECK_FALSE(readable(t.path));
  REQUIRE(::chown(file.c_str(), 0, 0) == 0);
  REQUIRE(::chown(t.path.c_str(), nobody, nobody) == 0);
  CHECK_FALSE(readable(t.path));
  CHECK(has(why(t.path), "belongs to another user"));
  // A program run as root makes nothing in a user's home, unless it is told to.
  CHECK(has(why(t.path + "/.cache/weft", creation::below_own), "belongs to another user"));
  CHECK(t.files().size() == 1);
  CHECK(directory(t.path + "/.cache/weft", creation::anywhere).usable());
}
TEST_CASE("a directory that is swapped while it is used gives the genuine bytes or none") {
  temporary_directory t;
  std::string const place = t.path + "/weft", away = t.path + "/away", evil = t.path + "/evil";
  for (std::string const& d : {place, evil}) {
    REQUIRE(::mkdir(d.c_str(), 0700) == 0);
    write_file(d + "/" + name, d == place ? "genuine" : "foreign");
    REQUIRE(::chmod((d + "/" + name).c_str(), 0600) == 0);
  }
  // Like an attacker's: were it really another user's, its owner would tell.
  REQUIRE(::chmod(evil.c_str(), 0777) == 0);
  bool stop = false;
  std::thread swapper([&] {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
      ::rename(place.c_str(), away.c_str());
      ::symlink(evil.c_str(), place.c_str());
      ::unlink(place.c_str());
      ::rename(evil.c_str(), place.c_str());
      ::rename(place.c_str(), evil.c_str());
      ::rename(away.c_str(), place.c_str());
    }
  });
  int genuine = 0, foreign = 0, none = 0;
  for (int i = 0; i < 20000 || (i < 2000000 && (genuine == 0 || none == 0)); ++i) {
    std::string bytes;
    directory const d(place, creation::never);
    if (!d.usable() || !d.read(name, bytes)) ++none;
    else ++(bytes == "genuine" ? genuine : foreign);
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  swapper.join();
  CHECK(foreign == 0);
  CHECK(genuine > 0);
  CHECK(none > 0);  // else nothing was swapped in time
}
TEST_CASE("a file that is swapped while it is read gives the genuine bytes or none") {
  temporary_directory t;
  std::string const file = t.path + "/" + name;
  directory const d(t.path, creation::never);
  std::string const genuine(8000, 'g'), foreign(8000, 'f');
  REQUIRE(d.write(name, genuine));
  write_file(t.path + "/foreign", foreign);
  REQUIRE(::chmod((t.path + "/foreign").c_str(), 0666) == 0);
  bool stop = false;
  std::thread swapper([&] {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
      ::rename(file.c_str(), (t.path + "/away").c_str());
      ::symlink("foreign", file.c_str());
      ::unlink(file.c_str());
      ::rename((t.path + "/foreign").c_str(), file.c_str());
      ::rename(file.c_str(), (t.path + "/foreign").c_str());
      ::rename((t.path + "/away").c_str(), file.c_str());
    }
  });
  int good = 0, bad = 0;
  for (int i = 0; i < 20000 || (i < 2000000 && good == 0); ++i) {
    std::string bytes;
    if (d.read(name, bytes)) ++(bytes == genuine ? good : bad);
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  swapper.join();
  CHECK(bad == 0);
  CHECK(good > 0);
}
TEST_CASE("a disk that is full, or a limit on files, keeps nothing and leaves nothing") {
  temporary_directory t;
  std::string const big(200000, 'x');
  CHECK(in_child([&] {
          rlimit const r{100000, 100000};
          if (::setrlimit(RLIMIT_FSIZE, &r) != 0) return 2;
          directory const d(t.path, creation::never);
          return d.write(name, big) ? 1 : 0;  // and no SIGXFSZ
        }) == 0);
  CHECK(t.files().empty());
  if (!is_root()) {
    MESSAGE("[skip] only root can mount a small disk");
    return;
  }
  std::string const small = t.path + "/small";
  REQUIRE(::mkdir(small.c_str(), 0700) == 0);
  if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=64k,mode=700") != 0) {
    MESSAGE("[skip] no right to mount here");
    return;
  }
  {
    directory const d(small, creation::never);
    CHECK(d.write(name, std::string(20000, 'y')));
    CHECK_FALSE(d.write("fedcba9876543210.kernel", big));
    CHECK_FALSE(d.write(name, big));
    std::string bytes;
    CHECK(d.read(name, bytes));
    CHECK(bytes.size() == 20000);  // what was there is still there
    CHECK(d.list().size() == 1);
    CHECK(::mount(nullptr, small.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0);
    CHECK_FALSE(d.write(name, "z"));
    CHECK(d.read(name, bytes));
    CHECK(has(why(small + "/more", creation::anywhere), "cannot be made"));
  }
  CHECK(::umount(small.c_str()) == 0);
}
TEST_CASE("a directory without the right to write is read and never written") {
  temporary_directory t;
  REQUIRE(directory(t.path, creation::never).write(name, "code"));
  REQUIRE(::chmod(t.path.c_str(), 0500) == 0);
  if (is_root()) {
    REQUIRE(::chown(t.path.c_str(), nobody, nobody) == 0);
    REQUIRE(::chown((t.path + "/" + name).c_str(), nobody, nobody) == 0);
  }
  CHECK(in_child([&] {
          if (is_root() && ::setuid(nobody) != 0) return 2;
          directory const d(t.path, creation::never);
          std::string bytes;
          if (!d.usable() || !d.read(name, bytes) || bytes != "code") return 3;
          return d.write(name, "new") || d.write("fedcba9876543210.kernel", "new") ? 1 : 0;
        }) == 0);
}
TEST_CASE("writers that are killed at any moment leave whole files, and what they left goes") {
  temporary_directory t;
  std::string const one(30000, '1'), two(50000, '2');
  directory const before(t.path, creation::never);
  for (std::uint64_t i = 0; i < 8; ++i) CHECK(before.write(cache::name_of(i).name, one));
  for (int n = 0; n < 500; ++n) {
    pid_t const child = ::fork();
    if (child == 0) {
      directory const d(t.path, creation::never);
      for (int i = 0;; ++i) {
        std::string const file = cache::name_of(static_cast<std::uint64_t>(i % 8)).name;
        d.write(file.c_str(), i % 2 == 0 ? one : two);
      }
    }
    ::usleep(static_cast<useconds_t>(n * 37 % 2000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
  }
  directory const d(t.path, creation::never);
  int whole = 0, torn = 0, temporary = 0;
  for (cache::file_info const& f : d.list()) {
    std::string bytes;
    if (!is_kernel(f)) ++temporary;
    else ++(d.read(f.name, bytes) && (bytes == one || bytes == two) ? whole : torn);
  }
  MESSAGE(temporary << " half files were left by 500 killed writers");
  CHECK(torn == 0);
  CHECK(whole == 8);
  cache::evict(d, 1 << 30);
  CHECK(d.list().size() == 8);
}
TEST_CASE("eviction removes what was not used for longest, and only files of the cache") {
  temporary_directory t;
  directory const d(t.path, creation::never);
  auto const file = [](int i) { return std::string(cache::name_of(static_cast<std::uint64_t>(i)).name); };
  for (int i = 0; i < 16; ++i) {
    REQUIRE(d.write(file(i).c_str(), std::string(1000, 'x')));
    make_old(t.path + "/" + file(i), 100000 - 1000 * i);  // 0 is the oldest
  }
  for (char const* other : {"notes.txt", "tmp.1.2", "1.2.weft-tmpx", "x.weft-tmp", ".weft-tmp", "0123.kernel",
                            "0123456789ABCDEF.kernel", "0123456789abcdef.kernel2"})
    write_file(t.path + "/" + other, "mine");
  write_file(t.path + "/999999999.0.weft-tmp", "of a process that is gone");
  write_file(t.path + "/" + std::to_string(::getpid()) + ".0.weft-tmp", "being written");
  std::string bytes;
  CHECK(d.read(file(0).c_str(), bytes));  // used: now it is the latest
  CHECK(age(t.path + "/" + file(0)) < 60);
  cache::evict(d, 16000);
  CHECK(t.files().size() == 16 + 8 + 1);
  cache::evict(d, 8000);
  CHECK(t.files().size() == 7 + 8 + 1);  // down to seven eighths
  for (int i : {0, 10, 11, 12, 13, 14, 15}) CHECK(d.read(file(i).c_str(), bytes));
  cache::evict(d, 0);
  CHECK(t.files().size() == 8 + 1);
}
TEST_CASE("a file is marked as used once an hour") {
  temporary_directory t;
  directory const d(t.path, creation::never);
  REQUIRE(d.write(name, "code"));
  std::string bytes;
  make_old(t.path + "/" + name, 3000);
  REQUIRE(d.read(name, bytes));
  CHECK(age(t.path + "/" + name) >= 3000);
  make_old(t.path + "/" + name, 4000);
  REQUIRE(d.read(name, bytes));
  CHECK(age(t.path + "/" + name) < 60);
}
