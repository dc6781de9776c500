#include "weft/tune/trials.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "support/comma_locale.hpp"
#include "support/private_cache.hpp"
#include "tune/trial_limits.hpp"
#include "weft/base/hash.hpp"
#include "weft/runtime/cache/one_keeper.hpp"

using namespace weft;
using namespace weft::tuning;
using weft_test::temporary_directory;

namespace {
bool here() {
  if (find_sqlite() != nullptr) return true;
  MESSAGE("[skip] no SQLite on this machine");
  return false;
}
}  // namespace

TEST_CASE("choices are text and back, and no other text is choices") {
  sequence<std::int32_t> c;
  CHECK(choices_text({1, 0, 30}) == "1,0,30");
  CHECK((read_choices("1,0,30", c) && c == sequence<std::int32_t>{1, 0, 30}));
  CHECK((read_choices("", c) && c.empty()));
  for (char const* bad : {"1,", ",1", "a", "1;2", "-1", "1,,2", "99999999", "1 2"}) CHECK_FALSE(read_choices(bad, c));
}
TEST_CASE("trials are kept by task, the latest first") {
  if (!here()) return;
  temporary_directory const d;
  {
    trial_store s(d.path + "/t");
    REQUIRE(s.usable());
    CHECK(s.add("a", "kernel", {{1, 2}, 100, 0, false}));
    CHECK(s.add("a", "kernel", {{3}, 0, 3, false}));
    CHECK(s.add("b", "kernel", {{4}, 5, 0, true}));
  }
  trial_store s(d.path + "/t");
  sequence<stored_trial> const a = s.of("a"), b = s.of("b");
  REQUIRE(a.size() == 2);
  CHECK(a[0].choices == sequence<std::int32_t>{3});
  CHECK(a[0].result == 3);
  CHECK(a[1].ns == 100);
  REQUIRE(b.size() == 1);
  CHECK(b[0].wrong);
  CHECK(s.of("c").empty());
  CHECK(s.count() == 3);
}
/// With a trial, as versions before trials had steps made it.
void make_older_file(std::string const& file) {
  {
    trial_store s(file);
    REQUIRE(s.usable());
  }
  sqlite_api const& api = *find_sqlite();
  sqlite_api::database* db = nullptr;
  REQUIRE(api.open_v2(file.c_str(), &db, sqlite_api::read_write, nullptr) == sqlite_api::ok);
  for (std::string const& text : {std::string("drop table trials"),
                                  std::string("create table trials (task integer, kernel text, choices text, ns real, result integer, wrong integer, at integer default 0)"),
                                  "insert into trials (task, kernel, choices, ns, result, wrong) values (" + std::to_string(static_cast<std::int64_t>(xxh64("a"))) + ", 'k', '1', 70, 0, 0)"})
    REQUIRE(api.exec(db, text.c_str(), nullptr, nullptr, nullptr) == sqlite_api::ok);
  api.close_v2(db);
}
TEST_CASE("a file of before trials had steps that others hold is not put aside") {
  if (!here()) return;
  temporary_directory const d;
  std::string const file = d.path + "/t";
  make_older_file(file);
  sqlite_api const& api = *find_sqlite();
  sqlite_api::database* db = nullptr;
  REQUIRE(api.open_v2(file.c_str(), &db, sqlite_api::read_write, nullptr) == sqlite_api::ok);
  REQUIRE(api.exec(db, "begin immediate", nullptr, nullptr, nullptr) == sqlite_api::ok);
  {
    trial_store s(file, 0.05);
    INFO(s.status());
    CHECK_FALSE(s.usable());
    CHECK(s.status().find("others held the file") != std::string::npos);
  }
  CHECK(api.exec(db, "commit", nullptr, nullptr, nullptr) == sqlite_api::ok);
  api.close_v2(db);
  trial_store s(file);
  REQUIRE(s.usable());
  CHECK(s.count() == 1);
  for (std::string const& name : d.files()) CHECK(name.find("damaged") == std::string::npos);
}
TEST_CASE("schedules of one choice that differ in their steps are told apart, and a file of before the steps is used on") {
  if (!here()) return;
  temporary_directory const d;
  make_older_file(d.path + "/t");
  trial_store s(d.path + "/t");
  REQUIRE(s.usable());
  CHECK(s.count() == 1);
  CHECK(s.add("a", "k", {{1}, 50, 0, false, 11}));
  CHECK(s.add("a", "k", {{1}, 60, 0, false, 12}));
  CHECK(s.add("a", "k", {{1}, 65, 0, false, 12}));
  sequence<known_trial> const known = s.known_of("a", 10);
  REQUIRE(known.size() == 3);
  CHECK((known[0].steps == 11 && known[0].ns == 50));
  CHECK((known[1].steps == 12 && known[1].ns == 65));
  CHECK((known[2].steps == 0 && known[2].ns == 70));
  CHECK(s.of("a")[0].steps == 12);
}
TEST_CASE("two stores of one process: the second one takes none of the first one's locks") {
  if (!here()) return;
  temporary_directory const d;
  std::string const file = d.path + "/t";
  auto const locks = [&] {  // of this process, on the file and what stands beside it
    struct ::stat its{};
    REQUIRE(::stat(file.c_str(), &its) == 0);
    int count = 0;
    std::FILE* const all = std::fopen("/proc/locks", "r");
    if (all == nullptr) return -1;
    for (char line[256]; std::fgets(line, sizeof line, all) != nullptr;) {
      int process = 0;
      unsigned long inode = 0;
      if (std::sscanf(line, "%*d: %*s %*s %*s %d %*x:%*x:%lu", &process, &inode) == 2) count += process == ::getpid() && inode == its.st_ino;
    }
    std::fclose(all);
    return count;
  };
  trial_store one(file);
  REQUIRE(one.usable());
  CHECK(one.add("a", "k", {{1}, 50, 0, false}));
  int const before = locks();
  if (before <= 0) {
    MESSAGE("[skip] /proc/locks does not tell of this process");
    return;
  }
  trial_store two(file);
  REQUIRE(two.usable());
  CHECK(locks() >= before);
}
TEST_CASE("examples for other tasks are kept by kind, never mixed, evenly from long tasks, the family's first") {
  if (!here()) return;
  temporary_directory const d;
  {
    trial_store s(d.path + "/t");
    for (int i = 0; i < 40; ++i) CHECK(s.add("long", 1, 10, {0, 100.0 + i, 7, {0.25f, -1.5f, static_cast<float>(i)}}));
    CHECK(s.add("of the family", 1, 11, {0, 5, 6, {1, 2, 3}}));
    CHECK(s.add("another version", 2, 11, {0, 5, 6, {1, 2, 3}}));
    CHECK(s.add("own", 1, 11, {0, 5, 6, {1, 2, 3}}));
    CHECK_FALSE(s.add("failed", 1, 11, {0, 0, 6, {1, 2, 3}}));
    CHECK_FALSE(s.add("not described", 1, 11, {0, 5, 6, {}}));
    CHECK(s.count() == 0);  // they are no trials
  }
  trial_store s(d.path + "/t");
  sequence<example> const all = s.of_others("own", 1, 11, 16, 10);
  REQUIRE(all.size() == 11);
  CHECK(all[0].ns == 5);
  CHECK(all[0].estimate == 6);
  CHECK(all[0].features == sequence<float>{1, 2, 3});
  CHECK(all[1].task == all[10].task);
  CHECK(all[1].task != all[0].task);
  CHECK(all[1].features == sequence<float>{0.25f, -1.5f, 0});
  CHECK(all[10].ns > 130);
  CHECK(s.of_others("own", 1, 11, 1, 10).size() == 1);
  CHECK(s.of_others("own", 3, 11).empty());
}
TEST_CASE("of a kind of examples the latest are kept, and a file that was replaced is found again") {
  if (!here()) return;
  temporary_directory const d;
  struct fewer {
    std::int64_t const before = tuning::detail::most_examples;
    fewer() { tuning::detail::most_examples = 50; }
    ~fewer() { tuning::detail::most_examples = before; }
  } const limit;
  trial_store s(d.path + "/t");
  auto const one = [](float n) { return example{0, 100.0 + static_cast<double>(n), 90, {n}}; };
  for (int n = 0; n < 5; ++n) CHECK(s.add("other", 2, 1, one(1.0f)));
  for (int n = 0; n < 120; ++n) CHECK(s.add("a", 1, 1, one(static_cast<float>(n))));
  sequence<example> const kept = s.of_others("b", 1, 1, 16, 1000);
  CHECK(kept.size() >= 50);
  CHECK(kept.size() <= 53);
  CHECK(kept.back().features[0] == 119.0f);
  CHECK(s.of_others("b", 2, 1, 16, 1000).size() == 5);
  for (char const* suffix : {"", "-wal", "-shm"}) std::remove((d.path + "/t" + suffix).c_str());
  CHECK(s.add("c", 1, 1, one(7.0f)));
  CHECK(trial_store(d.path + "/t").of_others("b", 1, 1).size() == 1);
}
TEST_CASE("of a schedule that was tried often the latest verdict counts, and what ended the worker is counted beside it") {
  if (!here()) return;
  temporary_directory const d;
  trial_store s(d.path + "/t");
  for (int i = 0; i < 300; ++i) CHECK(s.add("a", "k", {{0}, 50, 0, false}));  // as each tuning measures what stands first
  CHECK(s.add("a", "k", {{1}, 7, 0, false}));
  CHECK(s.add("a", "k", {{2}, 0, 3, false}));
  CHECK(s.add("a", "k", {{3}, 9, 0, false}));
  CHECK(s.add("a", "k", {{3}, 0, 3, false}));  // by somebody else, perhaps
  CHECK(s.add("a", "k", {{4}, 0, 3, false}));
  CHECK(s.add("a", "k", {{4}, 0, 4, false}));
  CHECK(s.add("a", "k", {{5}, 1, 0, false}));
  CHECK(s.add("a", "k", {{5}, 0, 0, true}));  // found wrong later
  CHECK(s.add("b", "k", {{6}, 1, 0, false}));
  sequence<known_trial> const all = s.known_of("a", 100);
  REQUIRE(all.size() == 6);
  CHECK(all[0].choices == sequence<std::int32_t>{1});  // the fastest; then those tried last
  for (known_trial const& t : all) {
    std::int32_t const which = t.choices[0];
    CHECK(t.judged == (which != 2 && which != 4));
    CHECK(t.ended == (which == 4 ? 2 : which == 2 || which == 3 ? 1 : 0));
    CHECK(t.ns == (which == 0 ? 50 : which == 1 ? 7 : which == 3 ? 9 : 0));
  }
  CHECK(all[1].choices == sequence<std::int32_t>{5});
  CHECK(all[5].choices == sequence<std::int32_t>{0});
  sequence<known_trial> const few = s.known_of("a", 2);
  REQUIRE(few.size() == 2);
  CHECK((few[0].choices == all[0].choices && few[1].choices == all[1].choices));
  CHECK(s.known_of("c", 100).empty());
}
TEST_CASE("of a task and of all tasks the latest trials are kept, and not without end") {
  if (!here()) return;
  temporary_directory const d;
  weft_test::trial_limits const fewer(200, 50);
  trial_store s(d.path + "/t");
  for (std::int32_t i = 0; i < 5; ++i) CHECK(s.add("b", "k", {{i}, 1, 0, false}));
  for (std::int32_t i = 0; i < 120; ++i) CHECK(s.add("a", "k", {{i}, 1, 0, false}));
  sequence<stored_trial> const kept = s.of("a", 1000);
  CHECK(kept.size() >= 50);
  CHECK(kept.size() <= 53);
  CHECK(kept[0].choices == sequence<std::int32_t>{119});
  CHECK(s.of("b").size() == 5);
  for (std::int32_t i = 0; i < 400; ++i) CHECK(s.add("task " + std::to_string(i), "k", {{i}, 1, 0, false}));
  CHECK(s.count() >= 190);
  CHECK(s.count() <= 203);
  CHECK(s.of("b").empty());
  CHECK(s.of("task 399").size() == 1);
}
TEST_CASE("on a file system that other machines may have there is no write-ahead log, and what one kept before stays") {
  if (!here()) return;
  temporary_directory const d;
  auto const has_log = [&](char const* file) {
    for (std::string const& name : d.files())
      if (name == std::string(file) + "-wal" && !weft_test::content(d.path + "/" + name).empty()) return true;
    return false;
  };
  {
    trial_store s(d.path + "/t");
    CHECK(s.add("a", "k", {{1}, 100, 0, false}));
    CHECK(has_log("t"));
  }
  struct asked {
    asked() { tuning::detail::network_question = [](char const*) { return true; }; }
    ~asked() { tuning::detail::network_question = nullptr; }
  } const on_a_network;
  for (char const* file : {"t", "u"}) {
    trial_store s(d.path + "/" + file);
    CHECK(s.add("a", "k", {{2}, 100, 0, false}));
    CHECK_FALSE(has_log(file));
    trial_store other(d.path + "/" + file);
    CHECK(other.add("a", "k", {{3}, 100, 0, false}));
    CHECK(s.count() == (std::string(file) == "t" ? 3 : 2));
  }
}
TEST_CASE("a directory of this machine is on no network") {
  temporary_directory const d;
  CHECK_FALSE(tuning::detail::is_on_a_network((d.path + "/").c_str()));
  CHECK_FALSE(tuning::detail::is_on_a_network("/no such directory"));
}
TEST_CASE("a damaged file is put aside and a new one begun, and the status says so") {
  if (!here()) return;
  temporary_directory const d;
  weft_test::write_file(d.path + "/t", "this is no database, and long enough to be looked at as one " + std::string(5000, 'x'));
  trial_store s(d.path + "/t");
  CHECK(s.usable());
  CHECK(s.add("a", "k", {{1}, 1, 0, false}));
  CHECK(s.status().find("could not be read") != std::string::npos);
  CHECK(weft_test::content(d.path + "/t.damaged").find("this is no database") == 0);
}
TEST_CASE("a database with tables of another form is put aside, and what is begun is for its owner alone") {
  if (!here()) return;
  temporary_directory const d;
  std::string const file = d.path + "/trials.sqlite";
  sqlite_api const* const api = find_sqlite();
  sqlite_api::database* other = nullptr;
  REQUIRE(api->open_v2(file.c_str(), &other, sqlite_api::read_write | sqlite_api::create, nullptr) == sqlite_api::ok);
  REQUIRE(api->exec(other, "create table trials (task integer, note text)", nullptr, nullptr, nullptr) == sqlite_api::ok);
  api->close_v2(other);
  trial_store s(file);
  CHECK(s.add("task", "k", {{1, 2}, 3.0, 0, false}));
  CHECK(s.status().find("what was there could not be read, and is now ") != std::string::npos);
  CHECK(s.status().find("1 trial in ") == 0);
  using std::filesystem::perms;
  CHECK(std::filesystem::status(file).permissions() == (perms::owner_read | perms::owner_write));
}
TEST_CASE("a database that takes no trials, by its form, is put aside, and the trial that found it is kept") {
  if (!here()) return;
  char const columns[] = "(task integer, kernel text, choices text, ns real, result integer, wrong integer, at integer default 0";
  std::string const forms[] = {std::string("create table other ") + columns + "); create view trials as select * from other",
                               std::string("create table trials ") + columns + ", note text not null)",
                               std::string("create table trials ") + columns + ", check (ns < 0))",
                               std::string("create table trials ") + columns + "); create trigger none before insert on trials begin select raise(abort, 'none'); end",
                               "create table other (a integer); create index trials on other (a)"};
  for (std::string const& form : forms) {
    INFO(form);
    temporary_directory const d;
    std::string const file = d.path + "/t";
    sqlite_api const* const api = find_sqlite();
    sqlite_api::database* other = nullptr;
    REQUIRE(api->open_v2(file.c_str(), &other, sqlite_api::read_write | sqlite_api::create, nullptr) == sqlite_api::ok);
    REQUIRE(api->exec(other, form.c_str(), nullptr, nullptr, nullptr) == sqlite_api::ok);
    api->close_v2(other);
    trial_store s(file);
    CHECK(s.add("task", "k", {{1, 2}, 3.0, 0, false}));
    CHECK(s.status().find("1 trial in ") == 0);
    CHECK(s.status().find(", and is now " + file + ".damaged") != std::string::npos);
    CHECK(weft_test::content(file + ".damaged").find("SQLite") == 0);
    trial_store again(file);
    CHECK(again.add("task", "k", {{1, 3}, 3.0, 0, false}));
    CHECK(again.status() == "2 trials in " + file);
  }
}
TEST_CASE("what others hold is waited for once; then it goes on without, says so, and puts nothing aside") {
  if (!here()) return;
  temporary_directory const d;
  std::string const file = d.path + "/t";
  sqlite_api const& api = *find_sqlite();
  trial_store s(file, 0.3);
  CHECK(s.add("a", "k", {{1}, 1, 0, false}));
  sqlite_api::database* other = nullptr;
  REQUIRE(api.open_v2(file.c_str(), &other, sqlite_api::read_write, nullptr) == sqlite_api::ok);
  for (char const* begin : {"begin immediate", "begin exclusive"}) {
    REQUIRE(api.exec(other, begin, nullptr, nullptr, nullptr) == sqlite_api::ok);
    trial_store waits(file, 0.3);
    auto const began = std::chrono::steady_clock::now();
    for (std::int32_t i = 0; i < 100; ++i) CHECK_FALSE(waits.add("a", "k", {{i}, 1, 0, false}));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
    bool const again = begin == std::string_view("begin exclusive");  // and nobody has had it in between
    CHECK(waits.status() == "not used: " + file + " from here on: others held the file for " + (again ? "0.02 s" : "0.3 s"));
    trial_store of_another_kernel(file, 0.3);
    CHECK_FALSE(of_another_kernel.add("b", "k", {{1}, 1, 0, false}));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
    REQUIRE(api.exec(other, "rollback", nullptr, nullptr, nullptr) == sqlite_api::ok);
  }
  api.close_v2(other);
  CHECK(s.add("a", "k", {{2}, 1, 0, false}));
  CHECK(s.status() == "2 trials in " + file);
  CHECK_FALSE(std::filesystem::exists(file + ".damaged"));
}
TEST_CASE("who cannot have the directory's lock uses no file, and leaves a damaged one as it is") {
  if (!here()) return;
  temporary_directory const d;
  std::string const file = d.path + "/t", junk(5000, 'x');
  weft_test::write_file(file, junk);
  {
    cache::detail::one_keeper const alone(d.path);
    trial_store s(file, 0.1);
    CHECK_FALSE(s.usable());
    CHECK(s.status() == "not used: another process has the lock of " + d.path + "/, which was waited for no longer");
    CHECK_FALSE(s.add("a", "k", {{1}, 1, 0, false}));
  }
  CHECK(weft_test::content(file) == junk);
  CHECK(trial_store(file).status().find("is now " + file + ".damaged") != std::string::npos);
}
TEST_CASE("a file that cannot be used fails nothing") {
  trial_store none(""), nowhere("/proc/nowhere/trials");
  CHECK_FALSE(none.usable());
  CHECK_FALSE(nowhere.usable());
  CHECK_FALSE(nowhere.add("a", "k", {{1}, 1, 0, false}));
  CHECK(nowhere.of("a").empty());
  CHECK(nowhere.status() == "not used: /proc/nowhere/trials cannot be used: it cannot be opened");
  temporary_directory const d;
  CHECK(trial_store(d.path).status() == "not used: " + d.path + " cannot be used: it cannot be opened");
}
TEST_CASE("sixteen processes that add, half of them killed, lose nothing that was added") {
  if (!here()) return;
  temporary_directory const d;
  weft_test::trial_limits const all_stay(1000000, 1000000);
  int told[2];
  REQUIRE(::pipe(told) == 0);
  pid_t children[16];
  for (int i = 0; i < 16; ++i) {
    children[i] = ::fork();
    if (children[i] != 0) continue;
    trial_store s(d.path + "/t");
    for (std::int32_t n = 0; n < 40 || i % 2 != 0; ++n) {
      char const one = static_cast<char>(i);
      if (s.add("task", "k", {{i, n}, 1.0 + n, 0, false}) && ::write(told[1], &one, 1) != 1) break;
    }
    ::_exit(0);
  }
  ::close(told[1]);
  ::usleep(300000);
  for (int i = 1; i < 16; i += 2) ::kill(children[i], SIGKILL);
  for (pid_t c : children) ::waitpid(c, nullptr, 0);
  std::int64_t added[16] = {}, found[16] = {};
  for (char one; ::read(told[0], &one, 1) == 1;) ++added[static_cast<int>(one)];
  ::close(told[0]);
  trial_store s(d.path + "/t");
  REQUIRE(s.usable());
  for (stored_trial const& t : s.of("task", 1000000)) ++found[t.choices[0]];
  for (int i = 0; i < 16; ++i) {
    CHECK(found[i] >= added[i]);
    if (i % 2 == 0) CHECK(found[i] == 40);
  }
}
TEST_CASE("features that one program keeps are read by others, whatever their locales") {
  if (!here()) return;
  temporary_directory const d;
  trial_store s(d.path + "/t");
  sequence<float> const features{0.25f, -1.5f, 3};
  CHECK(s.add("in C", 1, 1, {0, 5, 6, features}));
  {
    weft_test::comma_locale const comma;
    if (!comma.is_there()) return;
    CHECK(s.add("with commas", 1, 1, {0, 5, 6, features}));
    sequence<example> const read = s.of_others("", 1, 1);
    REQUIRE(read.size() == 2);
    CHECK((read[0].features == features && read[1].features == features));
  }
  sequence<example> const read = s.of_others("", 1, 1);
  REQUIRE(read.size() == 2);
  CHECK((read[0].features == features && read[1].features == features));
}
TEST_CASE("what is damaged twice is put aside twice, with what a process that was killed had written") {
  if (!here()) return;
  temporary_directory const d;
  std::string const file = d.path + "/t", junk(40000, 'x');
  pid_t const child = ::fork();
  if (child == 0) {
    trial_store s(file);
    static_cast<void>(s.add("a", std::string(20000, 'k'), {{1}, 1, 0, false}));
    // That is in the file itself from now on; what comes behind it is in the log alone.
    sqlite_api::database* other = nullptr;
    if (find_sqlite()->open_v2(file.c_str(), &other, sqlite_api::read_write, nullptr) != sqlite_api::ok ||
        find_sqlite()->exec(other, "pragma wal_checkpoint(truncate)", nullptr, nullptr, nullptr) != sqlite_api::ok)
      ::_exit(1);
    static_cast<void>(s.add("a", "k", {{7}, 1, 0, false}));
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  std::string const log = weft_test::content(file + "-wal");
  REQUIRE(log.size() > 4096);
  weft_test::write_file(file, junk);
  CHECK(trial_store(file).status().find("is now " + file + ".damaged") != std::string::npos);
  auto const is = [&](char const* suffix, std::string const& bytes) { return weft_test::content(file + suffix) == bytes; };
  CHECK(is(".damaged-wal", log));
  std::string const first = weft_test::content(file + ".damaged");
  weft_test::write_file(file, junk + "again");
  std::remove((file + "-wal").c_str());
  trial_store s(file);
  CHECK(s.status().find("is now " + file + ".damaged.2") != std::string::npos);
  CHECK(is(".damaged", first));
  CHECK(is(".damaged.2", junk + "again"));
  CHECK(is(".damaged-wal", log));
}
TEST_CASE("a trial that waited while its file was put aside is kept in the new one") {
  if (!here()) return;
  temporary_directory const d;
  std::string const file = d.path + "/t";
  sqlite_api const& api = *find_sqlite();
  int ready[2], held[2];
  REQUIRE(::pipe(ready) == 0);
  REQUIRE(::pipe(held) == 0);
  CHECK(trial_store(file).usable());
  pid_t const child = ::fork();
  if (child == 0) {
    trial_store s(file);
    char now = 0;
    bool const begun = ::write(ready[1], "r", 1) == 1 && ::read(held[0], &now, 1) == 1;
    ::_exit(begun && s.add("a", "k", {{7}, 1, 0, false}) ? 0 : 1);
  }
  sqlite_api::database* other = nullptr;
  char one = 0;
  REQUIRE(::read(ready[0], &one, 1) == 1);
  REQUIRE(api.open_v2(file.c_str(), &other, sqlite_api::read_write, nullptr) == sqlite_api::ok);
  REQUIRE(api.exec(other, "begin immediate", nullptr, nullptr, nullptr) == sqlite_api::ok);
  REQUIRE(::write(held[1], "h", 1) == 1);
  ::usleep(400000);  // it waits for its turn
  for (char const* suffix : {"", "-wal"}) REQUIRE(std::rename((file + suffix).c_str(), (d.path + "/aside" + suffix).c_str()) == 0);
  std::remove((file + "-shm").c_str());
  CHECK(trial_store(file).usable());
  REQUIRE(api.exec(other, "commit", nullptr, nullptr, nullptr) == sqlite_api::ok);
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  api.close_v2(other);
  CHECK(trial_store(file).count() == 1);
  for (int end : {ready[0], ready[1], held[0], held[1]}) ::close(end);
}
TEST_CASE("under a limit of files a tuning's memory says what it could not keep, and no signal ends the program") {
  if (!here()) return;
  for (bool const surplus : {false, true}) {
    temporary_directory const d;
    weft_test::trial_limits const fewer(surplus ? 50 : 50000, surplus ? 20 : 4096);  // what goes is written, too
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_t const child = ::fork();
    if (child == 0) {
      rlimit const r{100000, 100000};
      ::setrlimit(RLIMIT_FSIZE, &r);
      ::signal(SIGXFSZ, SIG_DFL);
      trial_store s(d.path + "/t");
      for (std::int32_t i = 0; i < 400; ++i) static_cast<void>(s.add("a", "k", {{i}, 1, 0, false}));
      std::string const said = s.status();
      ::sigset_t pending;
      bool const none = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 0;
      ::_exit(none && ::write(ends[1], said.data(), said.size()) > 0 ? 0 : 1);
    }
    ::close(ends[1]);
    std::string said;
    for (char one; ::read(ends[0], &one, 1) == 1;) said += one;
    ::close(ends[0]);
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    INFO(said);
    CHECK(said.find("ulimit -f") != std::string::npos);
  }
}
