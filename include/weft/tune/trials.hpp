// All trials that were ever measured, in a SQLite file beside the kernels: a tuning begins with what earlier ones have learned.
#pragma once

#include <string>
#include <string_view>

#include "weft/tune/other_tasks.hpp"
#include "weft/tune/sqlite_api.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

namespace detail {
/// Whether other machines may have this directory, too.
bool is_on_a_network(char const* directory);
/// Asked in its place, by tests.
using directory_question = bool (*)(char const* directory);
inline constinit directory_question network_question = nullptr;
/// Of one kind; the latest stay. Tests have fewer.
inline constinit std::int64_t most_examples = 20000;
/// Of all tasks, and of one; likewise.
inline constinit std::int64_t most_trials = 50000, most_of_task = 4096;
/// Whether the last wait for a file of trials was in vain: the next one is a moment.
inline constinit bool file_is_held = false;
}  // namespace detail

/// A trial as it is kept.
struct stored_trial {
  sequence<std::int32_t> choices;
  double ns = 0;            // 0: not measured
  std::int32_t result = 0;  // an outcome
  bool wrong = false;
  std::uint64_t steps = 0;  // hash of the trace that they made: of a how-lambda that was edited since the same choices make another one
};

/// What all trials of one schedule say.
struct known_trial {
  sequence<std::int32_t> choices;
  std::uint64_t steps = 0;  // as of stored_trial
  double ns = 0;           // of the latest that came to a verdict; 0: it was not right, or could not be measured
  bool judged = false;     // one of them did: it is good, refused, failed or wrong
  std::int64_t ended = 0;  // those that crashed or hung, which may have come from outside
};

/// The file of trials. Many processes may use it at the same time, and be killed at any moment: SQLite's write-ahead log keeps
/// what was written. A file that is damaged, or is found to be while it is used, is put aside with its log, by the name FILE.damaged (or
/// FILE.damaged.2 and so on), and a new one begun: by one process, however many find it. So is a database that takes no trials, for its tables are of another
/// form. What other processes hold is waited for once; then the tuning goes on without. Where there is no SQLite, the file cannot be used, or the disk is full, nothing
/// is kept, nothing fails, and `status` says so. A write-ahead log is memory that processes share, of one machine: on a file system that
/// several may have (NFS, SMB, FUSE, Lustre and the like) it is SQLite's rollback journal in its place.
///
/// Beside the trials stand examples for other tasks, of a kind each: a number for what can be compared (the machine, the version of the
/// features). Those of one kind alone are ever read together, and of each kind some 20,000 are kept, the latest. Of trials
/// it is the latest 50,000, and 4,096 of a task: the file is read whole whenever it is opened, which takes 40 ms then.
///
/// Source  sqlite.org/wal.html, "All processes using a database must be on the same host computer"
/// Cost    50 us a trial, and as much for an example
class trial_store {
 public:
  /// `file` empty: none. `patience`: seconds that others may hold it.
  explicit trial_store(std::string const& file, double patience = 5);
  ~trial_store();
  trial_store(trial_store const&) = delete;
  trial_store& operator=(trial_store const&) = delete;

  bool usable() const { return database_ != nullptr; }
  /// "1,204 trials in FILE", or why it is not used; tells of a damaged file, and of trials that could not be kept.
  std::string status() const;
  bool add(std::string_view task, std::string_view kernel, stored_trial const& t);
  static constexpr std::size_t most_known = 4096;  // of a task are read
  /// The trials of a task, the latest first, at most `most`.
  sequence<stored_trial> of(std::string_view task, int most = most_known);
  /// What they say of the schedules that were tried, each once: of the latest 4,096 trials the fastest schedule first, then those tried last, `most` in all.
  sequence<known_trial> known_of(std::string_view task, std::size_t most);
  std::int64_t count() const;
  /// Keeps an example of this kind. `e.task` is not looked at.
  bool add(std::string_view task, std::uint64_t kind, std::uint64_t family, example const& e);
  /// Of at most `tasks` others of this kind, those of this family first, then the latest; of each at most `each`, evenly from all that it has.
  sequence<example> of_others(std::string_view task, std::uint64_t kind, std::uint64_t family, int tasks = 16, int each = 128);

 private:
  bool open();
  void close();
  bool is_replaced() const;
  void open_or_begin(bool takes_none = false);
  void give_up(int code);
  void be_patient();
  std::string reason_of(int code) const;
  int insert(std::string_view task, std::string_view kernel, stored_trial const& t);
  void drop_surplus(std::string_view task);
  std::string file_, why_, note_;
  double patience_, waits_ = 0;  // waits_: this time
  template <class Insert>
  bool added(Insert const& insert, std::int64_t& lost);
  std::int64_t lost_ = 0, lost_examples_ = 0;  // that could not be kept
  std::int64_t trials_added_ = 0, examples_added_ = 0;
  int last_code_ = 0;      // why the last one of them
  std::uint64_t inode_ = 0;
  sqlite_api const* api_ = nullptr;
  sqlite_api::database* database_ = nullptr;
};

/// "1,0,3" and back; false for any other text.
std::string choices_text(sequence<std::int32_t> const& choices);
bool read_choices(std::string_view text, sequence<std::int32_t>& into);

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/trials.ipp"
#endif
