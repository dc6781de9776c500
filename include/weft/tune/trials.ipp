#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "weft/base/file_limit.hpp"
#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/base/plain_numerals.hpp"
#include "weft/runtime/cache/one_keeper.hpp"
#include "weft/tune/trials.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

WEFT_DECL std::string choices_text(sequence<std::int32_t> const& choices) {
  std::string t;
  for (std::int32_t c : choices) t += joined({t.empty() ? "" : ",", std::to_string(c)});
  return t;
}
WEFT_DECL bool read_choices(std::string_view text, sequence<std::int32_t>& into) {
  into.clear();
  while (!text.empty()) {
    std::int32_t value = 0;
    std::size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 7; ++digits)
      value = 10 * value + (text[digits] - '0');
    if (digits == 0 || into.size() == 64) return false;
    into.push_back(value);
    text.remove_prefix(digits);
    if (text.empty()) return true;
    if (text[0] != ',' || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  return true;
}

namespace detail {
/// A statement of SQL for the length of a scope.
class sql {
 public:
  sql(sqlite_api const& api, sqlite_api::database* db, char const* text)
      : api_(api), prepared_(api.prepare_v2(db, text, -1, &statement_, nullptr)) {
    if (prepared_ != sqlite_api::ok) statement_ = nullptr;
  }
  sql(sql const&) = delete;
  sql& operator=(sql const&) = delete;
  ~sql() {
    if (statement_ != nullptr) api_.finalize(statement_);
  }
  sql& with(std::int64_t v) {
    if (statement_ != nullptr) api_.bind_int64(statement_, ++bound_, v);
    return *this;
  }
  sql& with(double v) {
    if (statement_ != nullptr) api_.bind_double(statement_, ++bound_, v);
    return *this;
  }
  sql& with(std::string_view v) {
    if (statement_ != nullptr)
      api_.bind_text(statement_, ++bound_, v.data(), static_cast<int>(v.size()), sqlite_api::transient);
    return *this;
  }
  /// Of sqlite3_step, or what was wrong before it.
  int step() { return statement_ != nullptr ? api_.step(statement_) : prepared_; }
  std::int64_t integer(int at) const { return api_.column_int64(statement_, at); }
  double number(int at) const { return api_.column_double(statement_, at); }
  std::string_view text(int at) const {
    auto const* const t = reinterpret_cast<char const*>(api_.column_text(statement_, at));
    return t != nullptr ? std::string_view(t, static_cast<std::size_t>(api_.column_bytes(statement_, at))) : std::string_view();
  }

 private:
  sqlite_api const& api_;
  sqlite_api::statement* statement_ = nullptr;
  int prepared_ = 0, bound_ = 0;
};
/// While it lives, a write past the process' limit of files (`ulimit -f`) fails as on a full disk, and does not end the program: nobody
/// knows before how long SQLite's files become.
class no_signal_of_limits {
 public:
  no_signal_of_limits() {
    ::sigset_t pending;
    ::sigemptyset(&own_);
    ::sigaddset(&own_, SIGXFSZ);
    ours_ = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 0 && ::pthread_sigmask(SIG_BLOCK, &own_, &before_) == 0;
  }
  ~no_signal_of_limits() {
    if (!ours_) return;
    ::timespec const at_once{};
    while (::sigtimedwait(&own_, nullptr, &at_once) == SIGXFSZ) {
    }
    static_cast<void>(::pthread_sigmask(SIG_SETMASK, &before_, nullptr));
  }
  no_signal_of_limits(no_signal_of_limits const&) = delete;
  no_signal_of_limits& operator=(no_signal_of_limits const&) = delete;

 private:
  ::sigset_t own_, before_;
  bool ours_ = false;
};
/// Where a damaged file is put: FILE.damaged, then FILE.damaged.2 and so on; what was put aside before stays, a hundred of them.
inline std::string place_aside(std::string const& file) {
  std::string name = file + ".damaged";
  struct ::stat found{};
  for (int n = 2; n <= 100 && (::stat(name.c_str(), &found) == 0 || ::stat((name + "-wal").c_str(), &found) == 0); ++n)
    name = joined({file, ".damaged.", std::to_string(n)});
  return name;
}
/// 0: there is none.
inline std::uint64_t inode_of(std::string const& file) {
  struct ::stat found{};
  return ::stat(file.c_str(), &found) == 0 ? static_cast<std::uint64_t>(found.st_ino) : 0;
}
/// Source  linux/magic.h and the file systems' own
WEFT_DECL bool is_on_a_network(char const* directory) {
  if (network_question != nullptr) return network_question(directory);
  struct ::statfs of{};
  if (::statfs(directory, &of) != 0) return false;
  auto const type = static_cast<std::uint32_t>(of.f_type);
  for (std::uint32_t one : {0x6969u, 0x517bu, 0xff534d42u, 0xfe534d42u,          // NFS, SMB, CIFS, SMB 2
                            0x65735546u, 0x01021997u, 0x0bd00bd0u, 0x00c36400u,  // FUSE, 9P, Lustre, Ceph
                            0x47504653u, 0x19830326u, 0x5346414fu, 0x73757245u,  // GPFS, BeeGFS, AFS, Coda
                            0xaad7aaeau, 0x01161970u, 0x7461636fu})              // PanFS, GFS2, OCFS2
    if (type == one) return true;
  return false;
}
inline std::string directory_of(std::string const& file) {
  std::size_t const slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash + 1);
}
/// Of what is inserted: the tables are none that this version makes.
inline bool is_of_another_form(int code) { return code == sqlite_api::error || code == sqlite_api::constraint || code == sqlite_api::mismatch; }
inline std::string reason_of(int code) {
  return code == sqlite_api::full        ? "the disk is full"
         : code == sqlite_api::io        ? (file_may_hold(std::int64_t(1) << 62) ? "the disk failed" : "the disk failed, or the file became as long as files may here (ulimit -f)")
         : code == sqlite_api::read_only ? "the file may not be written"
         : code == sqlite_api::cannot_open ? "it cannot be opened"
                                         : joined({"SQLite's error ", std::to_string(code)});
}
inline std::int64_t task_number(std::string_view task) { return static_cast<std::int64_t>(xxh64(task)); }
}  // namespace detail

WEFT_DECL trial_store::trial_store(std::string const& file, double patience) : file_(file), patience_(patience), api_(find_sqlite()) {
  if (file.empty()) why_ = "no directory is used";
  else if (api_ == nullptr) why_ = "no SQLite on this machine: apt-get install libsqlite3-0";
  else open_or_begin();
}
/// One process at a time: what another one has begun in the meantime is not put aside, and nobody looks at what is half begun. Who cannot have the lock leaves
/// the file as it is. `takes_none`: the one that is open.
WEFT_DECL void trial_store::open_or_begin(bool takes_none) {
  close();
  cache::detail::one_keeper const alone(detail::directory_of(file_), patience_);
  if (alone.in_vain) {
    why_ = joined({"another process has the lock of ", detail::directory_of(file_), ", which was waited for no longer"});
    return;
  }
  takes_none = takes_none && !is_replaced();
  if (takes_none || (!open() && why_ == "damaged")) {
    std::string const aside = detail::place_aside(file_);
    // The log first: one that is left behind would be taken for the new file's. It may hold trials that are nowhere else, and goes where
    // SQLite looks for it.
    std::remove((file_ + "-shm").c_str());
    static_cast<void>(std::rename((file_ + "-wal").c_str(), (aside + "-wal").c_str()));
    if (std::rename(file_.c_str(), aside.c_str()) == 0 && open())
      note_ = joined({takes_none ? "; what was there takes no trials, and is now " : "; what was there could not be read, and is now ", aside});
    else if (takes_none) why_ = joined({file_, " takes no trials"});
  }
}
WEFT_DECL trial_store::~trial_store() { close(); }
WEFT_DECL void trial_store::close() {
  detail::no_signal_of_limits const none;
  if (database_ != nullptr) api_->close_v2(database_);
  database_ = nullptr;
}
/// The first statements read the file: what is no database, or a torn one, is found here.
WEFT_DECL bool trial_store::open() {
  detail::no_signal_of_limits const none;
  bool const shared = detail::is_on_a_network(detail::directory_of(file_).c_str());
  int const flags = sqlite_api::read_write | sqlite_api::create | sqlite_api::full_mutex;
  // Whoever may read what a program computes is for its owner to say, as of all of this directory. SQLite's own files beside it have its rights.
  // One that is there is not opened: to close it would give up the locks that this process has on it by another store (POSIX, fcntl).
  if (int const made = ::open(file_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600); made >= 0) ::close(made);
  int code = api_->open_v2(file_.c_str(), &database_, flags, nullptr);
  if (code == sqlite_api::ok) {
    be_patient();
    // Else the last one to close a file that was put aside would remove the log of the one that has its name now.
    // One that is left where there is to be none would be read all the same.
    int stays = shared ? 0 : 1;
    static_cast<void>(api_->file_control(database_, "main", sqlite_api::persist_wal, &stays));
    // Looked at before anything is written: what is put aside is what was found.
    detail::sql check(*api_, database_, "pragma integrity_check(1)");
    int const answer = check.step();
    if (answer != sqlite_api::row) code = answer;
    else if (check.text(0) != "ok") code = sqlite_api::corrupt;
  }
  if (code == sqlite_api::error) code = sqlite_api::corrupt;
  for (char const* text : {shared ? "pragma journal_mode = truncate" : "pragma journal_mode = wal", "pragma synchronous = normal"})
    if (code == sqlite_api::ok) code = api_->exec(database_, text, nullptr, nullptr, nullptr);
  // Of versions before 2026-11-28; their trials stay, and teach nothing.
  if (code == sqlite_api::ok && api_->exec(database_, "select wrong from trials limit 0", nullptr, nullptr, nullptr) == sqlite_api::ok &&
      api_->exec(database_, "select steps from trials limit 0", nullptr, nullptr, nullptr) == sqlite_api::error) {
    int const altered = api_->exec(database_, "alter table trials add column steps integer", nullptr, nullptr, nullptr);
    if (altered != sqlite_api::error) code = altered;  // others hold it, or it may not be written; else what is read of it below says what it is
  }
  // A table of that name with other columns is nothing that could be used, nor is a view or an index.
  for (char const* text : {"create table if not exists trials (task integer, kernel text, choices text, ns real, "
                           "result integer, wrong integer, at integer default (strftime('%s', 'now')), steps integer)",
                           "create table if not exists examples (kind integer, task integer, family integer, ns real, estimate real, features text)",
                           "select task, kernel, choices, ns, result, wrong, at, steps from trials limit 0", "select kind, task, family, ns, estimate, features from examples limit 0",
                           "create index if not exists trials_of_task on trials (task)", "create index if not exists examples_of_task on examples (kind, task, family)"})
    if (code == sqlite_api::ok && (code = api_->exec(database_, text, nullptr, nullptr, nullptr)) == sqlite_api::error) code = sqlite_api::corrupt;
  if (code == sqlite_api::ok) {
    inode_ = detail::inode_of(file_);
    return true;
  }
  __atomic_store_n(&detail::file_is_held, code == sqlite_api::busy, __ATOMIC_RELAXED);
  why_ = code == sqlite_api::corrupt || code == sqlite_api::no_database ? "damaged" : joined({file_, " cannot be used: ", reason_of(code)});
  close();
  return false;
}
WEFT_DECL std::string trial_store::reason_of(int code) const {
  char text[64];
  std::snprintf(text, sizeof text, "others held the file for %.2g s", waits_);
  return code == sqlite_api::busy ? text : detail::reason_of(code);
}
/// Of a file that others hold, once; then a moment each time, until it is free.
WEFT_DECL void trial_store::be_patient() {
  waits_ = __atomic_load_n(&detail::file_is_held, __ATOMIC_RELAXED) && patience_ > 0.02 ? 0.02 : patience_;
  api_->busy_timeout(database_, static_cast<int>(1000 * waits_));
}
/// Others hold it, and each trial would wait as long.
WEFT_DECL void trial_store::give_up(int code) {
  __atomic_store_n(&detail::file_is_held, true, __ATOMIC_RELAXED);
  why_ = joined({file_, " from here on: ", reason_of(code)});
  close();
}
WEFT_DECL std::string trial_store::status() const {
  if (!usable()) return "not used: " + why_ + note_;
  std::string text = joined({std::to_string(count()), count() == 1 ? " trial in " : " trials in ", file_, note_});
  if (lost_ > 0) text += joined({"; ", std::to_string(lost_), " could not be kept: ", reason_of(last_code_)});
  if (lost_examples_ > 0) text += joined({"; ", std::to_string(lost_examples_), " examples could not be kept: ", reason_of(last_code_)});
  return text;
}
WEFT_DECL int trial_store::insert(std::string_view task, std::string_view kernel, stored_trial const& t) {
  detail::sql insert(*api_, database_,
                     "insert into trials (task, kernel, choices, ns, result, wrong, steps) values (?, ?, ?, ?, ?, ?, ?)");
  insert.with(detail::task_number(task)).with(kernel).with(choices_text(t.choices)).with(t.ns);
  insert.with(std::int64_t{t.result}).with(std::int64_t{t.wrong}).with(static_cast<std::int64_t>(t.steps));
  return insert.step();
}
/// Another process has put the file aside, or somebody has removed it: what is added to it now, nobody would find.
WEFT_DECL bool trial_store::is_replaced() const { return detail::inode_of(file_) != inode_; }
/// `insert` gives what sqlite3_step did. True: it was kept.
template <class Insert>
bool trial_store::added(Insert const& insert, std::int64_t& lost) {
  if (!usable()) return false;
  detail::no_signal_of_limits const none;
  if (is_replaced()) open_or_begin();
  if (!usable()) return false;
  be_patient();
  int code = insert();
  // Put aside while this one waited for its turn: what it wrote then is aside, too.
  bool const went_aside = code == sqlite_api::done && is_replaced(), takes_none = detail::is_of_another_form(code);
  if (went_aside || takes_none || code == sqlite_api::corrupt || code == sqlite_api::no_database) {
    open_or_begin(takes_none);
    if (!usable()) return false;
    code = insert();
  }
  if (code == sqlite_api::done) return __atomic_store_n(&detail::file_is_held, false, __ATOMIC_RELAXED), true;
  last_code_ = code;
  ++lost;
  if (code == sqlite_api::busy) give_up(code);
  return false;
}
WEFT_DECL bool trial_store::add(std::string_view task, std::string_view kernel, stored_trial const& t) {
  bool const kept = added([&] { return insert(task, kernel, t); }, lost_);
  if (kept && trials_added_++ % (1 + detail::most_of_task / 40) == 0) drop_surplus(task);
  return kept;
}
/// Looked at with the first one, and then now and then, as examples are. Of a file of earlier versions, which had no limit, a few thousand go at a time: others
/// wait for it.
WEFT_DECL void trial_store::drop_surplus(std::string_view task) {
  detail::no_signal_of_limits const none;
  constexpr std::int64_t at_a_time = 4000;
  detail::sql of_task(*api_, database_,
                      "delete from trials where rowid in (select rowid from trials where task = ?1 and rowid <= "
                      "(select rowid from trials where task = ?1 order by rowid desc limit 1 offset ?2) order by rowid limit ?3)");
  static_cast<void>(of_task.with(detail::task_number(task)).with(detail::most_of_task).with(at_a_time).step());
  detail::sql of_all(*api_, database_,
                     "delete from trials where rowid <= min((select rowid from trials order by rowid desc limit 1 offset ?), (select min(rowid) from trials) + ?)");
  static_cast<void>(of_all.with(detail::most_trials).with(at_a_time).step());
}
WEFT_DECL sequence<stored_trial> trial_store::of(std::string_view task, int most) {
  sequence<stored_trial> all;
  if (!usable()) return all;
  detail::no_signal_of_limits const none;
  detail::sql select(*api_, database_,
                     "select choices, ns, result, wrong, steps from trials where task = ? order by rowid desc limit ?");
  select.with(detail::task_number(task)).with(std::int64_t{most});
  while (select.step() == sqlite_api::row) {
    stored_trial t;
    t.ns = select.number(1);
    t.result = static_cast<std::int32_t>(select.integer(2));
    t.wrong = select.integer(3) != 0;
    t.steps = static_cast<std::uint64_t>(select.integer(4));
    if (read_choices(select.text(0), t.choices) && t.ns >= 0 && t.result >= 0 && t.result < 5) all.push_back(t);
  }
  return all;
}
WEFT_DECL sequence<known_trial> trial_store::known_of(std::string_view task, std::size_t most) {
  sequence<known_trial> all;
  if (!usable()) return all;
  detail::no_signal_of_limits const none;
  // Beside max() the plain columns are those of its row (sqlite.org/lang_select.html, "bare columns"): the latest with a verdict, if there is one.
  detail::sql select(*api_, database_,
                     "select choices, ns, result, wrong, ended, steps from (select choices, ns, result, wrong, steps, sum(result > 2) as ended, "
                     "max(at_row + (result < 3) * (1 << 62)) as place from (select rowid as at_row, choices, ns, result, wrong, steps from trials "
                     "where task = ? order by rowid desc limit 4096) group by choices, steps) order by place & ((1 << 62) - 1) desc");
  select.with(detail::task_number(task));
  std::size_t best = 0;
  while (select.step() == sqlite_api::row) {
    known_trial t;
    std::int64_t const result = select.integer(2);
    double const ns = select.number(1);
    if (!read_choices(select.text(0), t.choices) || !(ns >= 0) || result < 0 || result > 4) continue;
    t.judged = result < 3, t.ended = select.integer(4), t.steps = static_cast<std::uint64_t>(select.integer(5));
    t.ns = t.judged && select.integer(3) == 0 ? ns : 0;
    if (t.ns > 0 && (all.empty() || all[best].ns <= 0 || t.ns < all[best].ns)) best = all.size();
    all.push_back(static_cast<known_trial&&>(t));
  }
  if (best > 0) {
    known_trial fastest = all[best];
    for (std::size_t i = best; i > 0; --i) all[i] = all[i - 1];
    all[0] = static_cast<known_trial&&>(fastest);
  }
  if (all.size() > most) all.resize(most);
  return all;
}
WEFT_DECL std::int64_t trial_store::count() const {
  if (!usable()) return 0;
  detail::no_signal_of_limits const none;
  detail::sql select(*api_, database_, "select count(*) from trials");
  return select.step() == sqlite_api::row ? select.integer(0) : 0;
}

namespace detail {
/// "0.25,-1.5" and back.
inline std::string features_text(sequence<float> const& features) {
  weft::detail::plain_numerals const with_points;
  std::string t;
  char one[32];
  for (float f : features) {
    std::snprintf(one, sizeof one, "%s%.5g", t.empty() ? "" : ",", static_cast<double>(f));
    t += one;
  }
  return t;
}
inline bool read_features(std::string const& text, sequence<float>& into) {
  weft::detail::plain_numerals const with_points;
  into.clear();
  for (char const* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    into.push_back(std::strtof(at, &end));
    if (end == at || !(into.back() > -1e6f && into.back() < 1e6f) || into.size() > told_features) return false;
    if (*end != ',' && *end != '\0') return false;
    at = *end == ',' ? end + 1 : end;
  }
  return !into.empty();
}
}  // namespace detail

WEFT_DECL bool trial_store::add(std::string_view task, std::uint64_t kind, std::uint64_t family, example const& e) {
  if (!(e.ns > 0) || !(e.estimate > 0) || e.features.empty()) return false;
  bool const kept = added(
      [&] {
        detail::sql insert(*api_, database_, "insert into examples (kind, task, family, ns, estimate, features) values (?, ?, ?, ?, ?, ?)");
        insert.with(static_cast<std::int64_t>(kind)).with(detail::task_number(task)).with(static_cast<std::int64_t>(family));
        insert.with(e.ns).with(e.estimate).with(detail::features_text(e.features));
        return insert.step();
      },
      lost_examples_);
  // Looked at with the first one, and then now and then: what one process adds at most between is small beside the limit.
  detail::no_signal_of_limits const none;
  if (kept && examples_added_++ % (1 + detail::most_examples / 40) == 0) {
    detail::sql surplus(*api_, database_,
                        "delete from examples where kind = ?1 and rowid <= "
                        "(select rowid from examples where kind = ?1 order by rowid desc limit 1 offset ?2)");
    static_cast<void>(surplus.with(static_cast<std::int64_t>(kind)).with(detail::most_examples).step());
  }
  return kept;
}
WEFT_DECL sequence<example> trial_store::of_others(std::string_view task, std::uint64_t kind, std::uint64_t family, int tasks, int each) {
  sequence<example> all;
  if (!usable()) return all;
  detail::no_signal_of_limits const none;
  detail::sql others(*api_, database_,
                     "select task, max(family = ?), max(rowid), count(*) from examples where kind = ? and task <> ? group by task "
                     "order by 2 desc, 3 desc limit ?");
  others.with(static_cast<std::int64_t>(family)).with(static_cast<std::int64_t>(kind)).with(detail::task_number(task)).with(std::int64_t{tasks});
  while (others.step() == sqlite_api::row) {
    std::int64_t const other = others.integer(0), count = others.integer(3);
    detail::sql of_task(*api_, database_, "select ns, estimate, features from examples where kind = ? and task = ? order by rowid");
    of_task.with(static_cast<std::int64_t>(kind)).with(other);
    std::int64_t taken = 0;
    for (std::int64_t i = 0; of_task.step() == sqlite_api::row; ++i) {
      if (count > each && i * each / count < taken) continue;
      ++taken;
      example e;
      e.task = static_cast<std::uint64_t>(other), e.ns = of_task.number(0), e.estimate = of_task.number(1);
      if (detail::read_features(std::string(of_task.text(2)), e.features) && e.ns > 0 && e.estimate > 0) all.push_back(e);
    }
  }
  return all;
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
