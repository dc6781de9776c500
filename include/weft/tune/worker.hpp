// Candidates run in a process of their own: one that crashes, hangs or writes where it must not takes only that process with it.
//
// What a terminal sends to all processes of a job (Ctrl-C, Ctrl-\, a hang-up) and SIGTERM are for the program to answer: a worker ignores
// them, and ends with the program. Ctrl-Z stops both, and what was timed meanwhile is timed again, where that was a third of a second or more; tune_options::seconds go on.
//
// The protocol, on a socket: the worker is told once where the copies of the arguments lie in shared memory; then requests
// come, a loop program as text to be compiled, or a number of calls to be made and timed, and answers go back.
#pragma once

#include <string>
#include <string_view>

#include "weft/bench/measure.hpp"
#include "weft/codegen/target.hpp"
#include "weft/runtime/loader.hpp"
#include "weft/schedule/intrinsic.hpp"
#include "weft/tune/buffers.hpp"
#include "weft/tune/gpu_bench.hpp"
#include "weft/tune/point.hpp"

namespace weft::inline WEFT_ABI {

/// To be called first in `main` by a program that tunes: true when this process is a worker of a tuner, which has ended by
/// then.
///
///     int main(int argc, char** argv) {
///       if (weft::worker(argc, argv)) return 0;
///
/// Without it, `tune` runs candidates in the program that tune_options::worker_program or WEFT_WORKER names, as weft-worker, which is no more than
/// this; else it forks the running program, which it refuses in words where the program has threads of its own.
bool worker(int argc, char const* const* argv);

namespace tuning {
using bench::now_ns;

/// What became of a request to a worker.
enum class outcome : std::uint8_t { good, refused, failed, crashed, hung };
/// In a word.
constexpr std::string_view name(outcome o) {
  constexpr std::string_view names[] = {"good", "refused", "failed", "crashed", "hung"};
  return names[static_cast<int>(o)];
}

/// Where candidates run.
enum class isolation : std::uint8_t {
  automatic,  // in the program that is named; else executed where `main` calls weft::worker; else forked, where no other threads run
  forked,     // a child of this process
  executed,   // this program, started anew
  none,       // this process: nothing is caught but errors
  program,    // another program, that calls weft::worker: weft-worker
};
/// In a word.
constexpr std::string_view name(isolation i) {
  constexpr std::string_view names[] = {"automatic", "forked", "executed", "none", "program"};
  return names[static_cast<int>(i)];
}

/// Whether `main` has called weft::worker: then candidates run in this program started anew.
bool main_calls_worker();

/// How many threads of this process are neither the calling one nor weft's: what they hold is held for ever in a fork. Threads that are about to
/// end are waited for, 20 ms at most.
int other_threads();

/// Where candidates run, after all that may say so.
struct worker_choice {
  isolation where = isolation::automatic;
  std::string program{};  // of isolation::program
};
/// `asked` and `program`: of tune_options; an empty one is what WEFT_WORKER says.
///
/// Errors  device_error: a fork would not be safe, or a program is asked for and none is named
worker_choice chosen_worker(isolation asked, std::string const& program);

/// Code made of the text of a loop program, and its calls on given memory.
class candidate_code {
 public:
  /// `known`: the instructions that the text may name.
  ///
  /// Errors  device_error, internal_error, parse_error
  explicit candidate_code(std::string_view loops, known_intrinsics known = {}, target const& machine = host());
  ~candidate_code();
  candidate_code(candidate_code const&) = delete;
  candidate_code& operator=(candidate_code const&) = delete;
  /// Nanoseconds; negative when the kernel answers that it failed.
  double run(void* const* pointers, std::int64_t const* scalars, std::int64_t calls) const;

 private:
  runtime::linked_object code_;
  void* workspace_ = nullptr;
};

namespace detail {
/// By which a worker that is another program knows an instruction of weft's own, of a CPU or a GPU; null, -1: it is none.
intrinsic const* shipped_instruction(std::int64_t number);
std::int64_t number_of_shipped(intrinsic const* i);
/// What a worker says first that was started as a program: both sides have to be of one weft.
std::uint64_t hello();
/// False when nothing came for `*left_ns`, from which it takes what it waits (null: it waits for ever), or the other side is gone. What counts
/// is time in which this process ran: when it was stopped (Ctrl-Z), what it waits for was, too. `given_up`: asked ten times a second whether to go on waiting.
bool receive_all(int fd, void* into, std::size_t bytes, double* left_ns, giving_up given_up = {});
}  // namespace detail

/// What is done while another process works, a little at each call, which says whether there is more; null: nothing.
struct side_work {
  bool (*run)(void* context) = nullptr;
  void* context = nullptr;
};
/// Runs candidates, in whichever process. One that dies is started again at the next request.
class runner {
 public:
  /// `copies` outlives it. `gpu`: the number of the GPU that candidates run on; -1: the CPU, by code for `machine`, null for this one.
  ///
  /// Errors  as of chosen_worker
  runner(argument_copies& copies, worker_choice const& where, int gpu = -1, target const* machine = nullptr);
  /// As if options asked for that, and nothing were named.
  runner(argument_copies& copies, isolation where, int gpu = -1, target const* machine = nullptr)
      : runner(copies, chosen_worker(where, ""), gpu, machine) {}
  ~runner();
  runner(runner const&) = delete;
  runner& operator=(runner const&) = delete;

  /// How long another program has to say that it is a worker: 10 s, or less.
  void wait_at_most(double ns, giving_up given_up) { patience_ns_ = ns < patience_ns_ ? ns : patience_ns_, given_up_ = given_up; }
  /// Whether the last one that was started said nothing, or was none: the next would not either.
  bool never_answered() const { return !not_begun_.empty(); }
  /// Why it did not.
  std::string const& why_never() const { return not_begun_; }

  /// Compiles a loop program into place `slot`, 0 to 15; `known`: the instructions that it names, 64 at most. Those of weft's own are
  /// known to each worker. Of others, one that is this program started anew knows those that stand in the program itself, not in a
  /// library that it loads, and another program none.
  /// `may_spill`: on a GPU, registers may be spilled; `made`: what another process has compiled of it; `meanwhile`: what this process does
  /// while another one compiles: not at all, or once, and on as long as nothing is heard.
  outcome load(int slot, std::string const& loops, std::string& why, known_intrinsics known = {}, bool may_spill = false, std::string_view made = {},
               side_work meanwhile = {});
  /// Begins to compile a candidate for a GPU of this architecture; nothing else is asked before `made` has said what became of it. False:
  /// it cannot, or there is no other process to do it.
  bool begin_compiling(std::string_view loops, std::string_view architecture, known_intrinsics known);
  /// What `load` takes then; empty: why not. `meanwhile`: as of `load`.
  std::string made(std::string& why, side_work meanwhile = {});
  /// Calls what is there; negative: not well, and `last` says what. Of a candidate that has run in closed surroundings it is known that it keeps to its tensors:
  /// that is timed in open ones. A GPU's memory, and that of isolation::none, is always open.
  double run(int slot, std::int64_t calls, double limit_ns, surroundings around = surroundings::closed);
  /// What it works on.
  argument_copies& copies() const { return copies_; }
  /// Whether candidates run on a GPU.
  bool is_on_gpu() const { return gpu_ >= 0; }
  /// What was said of the last run that was not well; may be empty.
  std::string const& why() const { return why_; }
  /// What became of the last request.
  outcome last() const { return last_; }
  /// Never `automatic`.
  isolation where() const { return where_; }
  /// Of isolation::program, its name.
  std::string const& program() const { return program_; }
  /// Whether the last request ended with a worker that was killed from outside: by a signal that no candidate causes, and so perhaps nothing to do
  /// with it. (`load` has tried once more then.)
  bool was_killed() const { return killed_by_ != 0; }
  /// Whether this process stood still while the last request was waited for (Ctrl-Z): a time that the worker has told is none then, as its clock went on.
  bool stood_still() const { return stood_still_; }
  /// How often a worker was started.
  int starts() const { return starts_; }
  /// The process; 0: none, or this one. For tests.
  int process() const { return process_; }

 private:
  struct in_process;
  bool start();
  int stop();
  void note_end(bool by_itself);
  bool ask(std::string_view head, std::string_view text, std::string_view made, double limit_ns, std::string& answer, side_work meanwhile = {});
  void work_until_heard(side_work meanwhile);
  bool tell(std::string_view head, std::string_view text, std::string_view made);
  bool hear(double limit_ns, std::string& answer, std::int32_t most_text);
  bool place_of(known_intrinsics known, std::string& head, std::string& why) const;
  std::string why_ended(char const* otherwise) const;
  std::string why_killed() const;
  argument_copies& copies_;
  isolation where_;
  outcome last_ = outcome::good;
  int gpu_ = -1, process_ = 0, socket_ = -1, starts_ = 0, killed_by_ = 0;
  target const* machine_ = nullptr;
  std::string why_, program_;
  double patience_ns_ = 10e9;
  giving_up given_up_{};
  bool stood_still_ = false;
  std::string not_begun_;  // why the last worker that was started never answered
  in_process* own_ = nullptr;
};

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/worker.ipp"
#endif
