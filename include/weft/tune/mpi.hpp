// Tuning on several ranks of an MPI program: one searches, the others measure. For programs that bring MPI; nothing else includes this.
#pragma once

#if !__has_include(<mpi.h>)
#error "weft/tune/mpi.hpp: no mpi.h: compile with mpicxx, or as it says (mpicxx --showme:compile)"
#endif
#include <mpi.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weft/base/joined.hpp"
#include "weft/tune/tuner.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning::detail {

/// What goes from rank to rank, as bytes: all ranks run one program.
struct request_message {
  std::int32_t ends = 0, choices = 0, taken[schedule::max_knobs] = {};
  double give_up_ns = 0, best_ns = 0;
  std::int32_t turn = -1;  // which of the ranks of its host it is; -1: it keeps its GPU
  std::int64_t trials = 0;
  std::int64_t process = 0;  // of rank 0, which is missed where it runs on the same host
  char host[64] = {}, why[512] = {};  // why the rank is not needed
};
struct answer_message {
  std::int64_t tuning = 0;  // number_of_tuning
  double ns = 0, first_ns = 0;
  std::uint64_t task = 0, features = 0;  // of the first one, which says who this is
  std::int64_t process = 0;
  std::int32_t result = 0, wrong = 0;
  std::int32_t device = 0, leaves = 0;   // its GPU, of who says where it is; the rank ends with an error, which `why` says
  char host[64] = {}, why[512] = {};  // of the first one, `why` is machine_text
};
inline constexpr int request_tag = 7301, answer_tag = 7302;

/// Errors are answers, not the end of the program; given back at the end.
class returned_errors {
 public:
  explicit returned_errors(MPI_Comm c) : comm_(c) {
    MPI_Comm_get_errhandler(comm_, &before_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~returned_errors() {
    MPI_Comm_set_errhandler(comm_, before_);
    if (before_ != MPI_ERRHANDLER_NULL) MPI_Errhandler_free(&before_);
  }
  returned_errors(returned_errors const&) = delete;
  returned_errors& operator=(returned_errors const&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};
/// The first tuning on a communicator is 1; all of its ranks count alike. What a rank says that was waited for too long comes in the next one.
inline std::int64_t number_of_tuning(MPI_Comm c) {
  static int key = MPI_KEYVAL_INVALID;
  if (key == MPI_KEYVAL_INVALID) MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  void* before = nullptr;
  int there = 0;
  MPI_Comm_get_attr(c, key, static_cast<void*>(&before), &there);
  std::intptr_t const number = (there != 0 ? reinterpret_cast<std::intptr_t>(before) : 0) + 1;
  MPI_Comm_set_attr(c, key, reinterpret_cast<void*>(number));
  return number;
}
/// MPI waits by asking over and over, which would take the core from who measures beside it.
inline void pause_between_questions() {
  timespec const half_a_millisecond{0, 500000};
  ::nanosleep(&half_a_millisecond, nullptr);
}
inline void name_host(char (&into)[64]) {
  if (::gethostname(into, sizeof into - 1) != 0) into[0] = '\0';
}
/// Of a process on this host. Open MPI says nothing when one is killed: what was to be received from it stays open.
inline bool is_no_more(std::int64_t process) { return ::kill(static_cast<::pid_t>(process), 0) != 0 && errno == ESRCH; }
/// False: it fails, or `gone()` is true, and nothing more comes of it.
template <class Gone>
bool done_unless(Gone const& gone, MPI_Request& pending) {
  for (int there = 0;; pause_between_questions()) {
    if (MPI_Test(&pending, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (there != 0) return true;
    if (!gone()) continue;
    MPI_Cancel(&pending), MPI_Request_free(&pending);
    return false;
  }
}
/// MPI_Send to a rank that is gone may wait for ever; what it has not taken by then is left to it.
template <class Gone, class Message>
bool sent_unless(Gone const& gone, Message const& m, int rank, int tag, MPI_Comm comm) {
  auto* const message = new Message(m);
  MPI_Request pending = MPI_REQUEST_NULL;
  bool const sent = MPI_Isend(message, sizeof m, MPI_BYTE, rank, tag, comm, &pending) == MPI_SUCCESS && done_unless(gone, pending);
  if (sent) delete message;
  return sent;
}

/// The other ranks, as rank 0 sees them.
class crew_of_ranks final : public trial_crew {
 public:
  /// `patience`: seconds without an answer after which a rank on another host is lost.
  crew_of_ranks(MPI_Comm c, double patience) : comm_(c), patience_ns_(patience * 1e9), number_(number_of_tuning(c)) {
    int size = 1;
    MPI_Comm_size(comm_, &size);
    for (int i = 1; i < size; ++i) others_.push_back({i});
    name_host(host_);
  }
  crew_of_ranks(crew_of_ranks const&) = delete;
  crew_of_ranks& operator=(crew_of_ranks const&) = delete;
  /// Nobody is left waiting, however the tuning ends here.
  ~crew_of_ranks() {
    if (ended_) return;
    hear_each([](one&) {});
    request_message m;
    m.ends = 1;
    std::strncpy(m.why, why_ended_.c_str(), sizeof m.why - 1);
    for (one& o : others_)
      if (!o.out) static_cast<void>(send(o, m));
    answer_late_ones();
  }
  /// What the others are told if no tuning comes to an end.
  void say(std::string_view why) { why_ended_ = joined({"rank 0 ended with an error: ", why}); }
  /// Hears where each rank is and tells it which of its host's ranks it is, as is given back for this one; -1: the program has given the ranks of
  /// this host different GPUs, and all keep theirs. By messages: a collective would wait for lost ranks.
  int place(int device) {
    hear_each([](one& o) { o.device = o.answer.device; });
    for (one& o : others_) {
      request_message m;
      m.turn = turn_of(o.rank, o.host, o.device, device);
      if (!o.out && !send(o, m)) o.out = true;
    }
    return turn_of(0, host_, device, device);
  }
  void begin(task_here const& here) override {
    first_ns_ = here.first_ns;
    hear_each([&](one& o) {
      o.first_ns = o.answer.first_ns;
      std::string const why = why_no_part({o.answer.task, o.first_ns, o.answer.why, o.answer.features}, here);
      o.takes_part = why.empty();
      request_message m;
      m.ends = o.takes_part ? 0 : 1;
      std::strncpy(m.why, why.c_str(), sizeof m.why - 1);
      if (!why.empty()) refuse(o, why);
      if (!send(o, m)) o.takes_part = false;
      o.out = !o.takes_part;
    });
  }
  std::string refused() const override { return refused_; }
  int size() const override {
    int count = 0;
    for (one const& o : others_) count += o.takes_part;
    return count;
  }
  sequence<tune_trial> measure(sequence<sequence<std::int32_t>> const& points, double give_up_ns, budget_question may_go_on) override {
    sequence<tune_trial> all(points.size());
    std::size_t next = 0, back = 0, wanted = points.size();
    while (back < wanted) {
      bool idle = true;
      for (one& o : others_) {
        if (o.waits && arrived(o)) {
          all[o.point] = trial_of(o), ++back, idle = false;
          if (left(o)) ++lost_;
        } else if (o.waits && !o.takes_part) {  // lost, and its trial with it
          o.waits = false, ++back, ++lost_;
          all[o.point].result = outcome::crashed, all[o.point].why = "the rank that measured it was lost";
        }
        if (!o.takes_part || o.waits || next == wanted) continue;
        if (!may_go_on()) wanted = next;
        if (next == wanted) continue;
        request_message m;
        m.choices = static_cast<std::int32_t>(points[next].size()), m.give_up_ns = give_up_ns * o.first_ns / first_ns_;
        for (std::size_t i = 0; i < points[next].size(); ++i) m.taken[i] = points[next][i];
        if (!ask(o, m)) continue;  // the next one takes it
        o.point = next++, idle = false;
      }
      if (size() == 0) wanted = next;  // nobody is left: what was not handed out is measured by who searches
      if (idle && back < wanted) pause_between_questions();
    }
    all.resize(wanted);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].choices = points[i];
    return all;
  }
  void end(tune_result const& found) override {
    request_message m;
    m.ends = 1, m.choices = static_cast<std::int32_t>(found.choices.size()), m.best_ns = found.best_ns;
    m.trials = found.kept ? static_cast<std::int64_t>(found.trials.size()) : 0;
    for (std::size_t i = 0; i < found.choices.size(); ++i) m.taken[i] = found.choices[i];
    for (one& o : others_)
      if (o.takes_part) static_cast<void>(send(o, m));
    ended_ = true;
    answer_late_ones();
  }
  /// Ranks that went in the middle of a trial.
  int lost() const { return lost_; }

 private:
  struct one {
    int rank = 0;
    bool takes_part = false, waits = false, is_here = false;
    bool out = false;  // lost, refused, or gone with an error: nothing is sent to it, and nothing expected
    bool late = false;  // it did not answer, and may yet
    int device = 0;
    char host[64] = {};
    double first_ns = 0, asked_ns = 0;
    std::int64_t process = 0;
    std::size_t point = 0;
    MPI_Request pending = MPI_REQUEST_NULL;
    answer_message answer{};
  };
  /// The next message of each that this rank owes an answer, as they come.
  template <class Heard>
  void hear_each(Heard const& heard) {
    for (one& o : others_) {
      if (o.out || o.takes_part || o.waits) continue;
      o.waits = true, o.asked_ns = now_ns();
      static_cast<void>(MPI_Irecv(&o.answer, sizeof o.answer, MPI_BYTE, o.rank, answer_tag, comm_, &o.pending));
    }
    for (bool open = true; open;) {
      open = false;
      for (one& o : others_) {
        if (!o.waits) continue;
        if (arrived(o)) {
          if (o.answer.tuning != number_) {  // of one before, in which it was held for lost
            if (o.answer.leaves == 0) static_cast<void>(send(o, too_late()));
            o.waits = open = true, o.asked_ns = now_ns();
            static_cast<void>(MPI_Irecv(&o.answer, sizeof o.answer, MPI_BYTE, o.rank, answer_tag, comm_, &o.pending));
            continue;
          }
          o.process = o.answer.process;
          o.answer.why[sizeof o.answer.why - 1] = o.answer.host[sizeof o.answer.host - 1] = '\0';
          std::memcpy(o.host, o.answer.host, sizeof o.host);
          o.is_here = std::strcmp(o.host, host_) == 0;
          if (!left(o)) heard(o);
        } else if (o.out) {
          o.waits = false;
        }
        open = open || o.waits;
      }
      if (open) pause_between_questions();
    }
  }
  void refuse(one const& o, std::string_view why) {
    refused_ += joined({refused_.empty() ? "" : "; ", "rank ", std::to_string(o.rank), " on ", o.host, " takes no part: ", why});
  }
  /// Whether its answer is that it ends with an error.
  bool left(one& o) {
    if (o.answer.leaves == 0) return false;
    o.out = true, o.takes_part = false;
    o.answer.why[sizeof o.answer.why - 1] = '\0';
    refuse(o, o.answer.why);
    return true;
  }
  int turn_of(int rank, char const* host, int device, int own_device) const {
    int turn = 0;
    bool apart = false;
    auto const beside = [&](int other, char const* its_host, int its_device) {
      if (std::strcmp(host, its_host) != 0) return;
      turn += other < rank, apart = apart || its_device != device;
    };
    beside(0, host_, own_device);
    for (one const& o : others_)
      if (!o.out) beside(o.rank, o.host, o.device);
    return apart ? -1 : turn;
  }
  static request_message too_late() {
    request_message m;
    m.ends = 1;
    std::strncpy(m.why, "it came when rank 0 had waited for it too long (rank_options::patience)", sizeof m.why - 1);
    return m;
  }
  /// Those that came when they were held for lost; who comes later is told in the next tuning.
  void answer_late_ones() {
    for (one& o : others_) {
      int there = 0;
      if (!o.late || is_gone(o) || MPI_Iprobe(o.rank, answer_tag, comm_, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS || there == 0) continue;
      if (MPI_Recv(&o.answer, sizeof o.answer, MPI_BYTE, o.rank, answer_tag, comm_, MPI_STATUS_IGNORE) == MPI_SUCCESS && o.answer.leaves == 0)
        static_cast<void>(send(o, too_late()));
    }
  }
  bool send(one const& o, request_message m) {
    m.process = ::getpid();
    std::memcpy(m.host, host_, sizeof m.host);
    double const begun = now_ns();
    return sent_unless([&] { return is_gone(o) || now_ns() > begun + patience_ns_; }, m, o.rank, request_tag, comm_);
  }
  bool ask(one& o, request_message const& m) {
    o.takes_part = !is_gone(o) && send(o, m) &&
                   MPI_Irecv(&o.answer, sizeof o.answer, MPI_BYTE, o.rank, answer_tag, comm_, &o.pending) == MPI_SUCCESS;
    o.waits = o.takes_part, o.out = !o.takes_part, o.asked_ns = now_ns();
    return o.takes_part;
  }
  bool is_gone(one const& o) const {
    return o.is_here && is_no_more(o.process);
  }
  /// Whether its answer is there; who is lost takes part no more.
  bool arrived(one& o) {
    int there = 0;
    bool const fine = MPI_Test(&o.pending, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    if (fine && there != 0) return o.waits = false, true;
    if (fine && !is_gone(o) && now_ns() < o.asked_ns + patience_ns_) return false;
    o.late = fine && !is_gone(o);
    o.takes_part = false, o.out = true;
    if (o.pending != MPI_REQUEST_NULL) MPI_Cancel(&o.pending), MPI_Request_free(&o.pending);
    if (o.first_ns == 0) o.waits = false;  // it never came
    return false;
  }
  tune_trial trial_of(one const& o) const {
    tune_trial t;
    t.ns = o.answer.ns * first_ns_ / o.first_ns;  // one core is faster than another
    t.result = static_cast<outcome>(o.answer.result), t.wrong = o.answer.wrong != 0, t.why = o.answer.why;
    return t;
  }
  MPI_Comm comm_;
  double patience_ns_, first_ns_ = 1;
  std::int64_t number_;
  char host_[64] = {};
  sequence<one> others_;
  std::string refused_, why_ended_ = "rank 0 had nothing to search";
  int lost_ = 0;
  bool ended_ = false;
};

/// Rank 0, as another rank sees it.
class searcher final : public trial_source {
 public:
  explicit searcher(MPI_Comm c) : comm_(c), number_(number_of_tuning(c)) {}
  /// Says where this rank is; false, and why: no tuning comes.
  bool place(int device, int& turn, std::string& why) {
    answer_message a;
    a.device = device, a.process = ::getpid();
    name_host(a.host);
    trial_request ignored;
    bool const comes = send(a) && next(ignored);
    turn = turn_;
    if (!comes) why = joined({"this rank took no part: ", why_.empty() ? std::string("rank 0 is gone") : why_});
    return comes;
  }
  /// Rank 0 waits for this rank no more, and says why.
  void leave(char const* why) {
    if (over_) return;
    answer_message a;
    a.leaves = 1, a.process = ::getpid(), a.result = static_cast<std::int32_t>(outcome::crashed);
    std::strncpy(a.why, why, sizeof a.why - 1);
    name_host(a.host);
    static_cast<void>(send(a));
    over_ = true;
  }
  bool begin(task_here const& here, std::string& why) override {
    answer_message a;
    a.task = here.task, a.first_ns = here.first_ns, a.features = here.features, a.process = ::getpid();
    std::strncpy(a.why, here.machine.c_str(), sizeof a.why - 1);
    name_host(a.host);
    trial_request ignored;
    if (!send(a)) return false;
    bool const wanted = next(ignored);
    if (why_.size() > 0) why = joined({"this rank took no part: ", why_});
    return wanted;
  }
  bool next(trial_request& r) override {
    request_message m;
    MPI_Request pending = MPI_REQUEST_NULL;
    over_ = true;  // unless more is asked for
    if (MPI_Irecv(&m, sizeof m, MPI_BYTE, 0, request_tag, comm_, &pending) != MPI_SUCCESS) return false;
    r = {};
    if (!done_unless([&] { return is_gone(); }, pending)) return false;
    char own[64] = {};
    name_host(own);
    if (std::strcmp(own, m.host) == 0) process_ = m.process;
    turn_ = m.turn, over_ = m.ends != 0;
    r.give_up_ns = m.give_up_ns, r.best_ns = m.best_ns, r.trials = m.trials;
    m.why[sizeof m.why - 1] = '\0';
    why_ = m.why;
    r.choices.clear();
    for (std::int32_t i = 0; i < m.choices && i < static_cast<std::int32_t>(schedule::max_knobs); ++i) r.choices.push_back(m.taken[i]);
    return m.ends == 0;
  }
  void answer(tune_trial const& t) override {
    answer_message a;
    a.ns = t.ns, a.result = static_cast<std::int32_t>(t.result), a.wrong = t.wrong;
    std::strncpy(a.why, t.why.c_str(), sizeof a.why - 1);
    static_cast<void>(send(a));
  }

 private:
  bool send(answer_message a) {
    a.tuning = number_;
    return sent_unless([&] { return is_gone(); }, a, 0, answer_tag, comm_);
  }
  bool is_gone() const { return process_ != 0 && is_no_more(process_); }
  MPI_Comm comm_;
  std::int64_t number_;
  std::string why_;
  int turn_ = -1;
  bool over_ = false;  // rank 0 expects no answer
  std::int64_t process_ = 0;  // of rank 0, once it has said so; 0: on another host
};
}  // namespace tuning::detail

namespace tuning::detail {
/// The GPU of a rank: those of a host take its GPUs in turn, from that of the kernel on.
inline int gpu_of_rank(int turn, int first, tune_options const& o) {
  if (turn < 0) return first;
  int const count = gpus_here(chosen_worker(o.worker, o.worker_program).where);
  return count > 0 ? (first + turn) % count : first;
}
/// `run`; what it throws is told by `say` first.
template <class Run, class Say>
tune_result told_when_it_fails(Run const& run, [[maybe_unused]] Say const& say) {
#if WEFT_HAS_EXCEPTIONS
  try {
#endif
    return run();
#if WEFT_HAS_EXCEPTIONS
  } catch (error const& e) {
    say(e.what());
    throw;
  }
#endif
}
}  // namespace tuning::detail

/// How a tuning on several ranks goes about it.
struct rank_options {
  MPI_Comm comm = MPI_COMM_WORLD;
  bool gpu_each = true;  // of a kernel on a GPU: rank r of a host takes the GPU of the kernel plus r, modulo how many there are, unless the program has given the ranks of it kernels on different GPUs; false: all take that of the kernel
  /// Seconds without an answer after which a rank is lost: a candidate may take a minute to compile, and as long again to be checked. One on the host of rank 0 is missed at once.
  double patience = 180;
};

/// As `tune`, called by all ranks with equal arguments: rank 0 searches, the others measure, each by a worker of its own on the cores that it is
/// bound to, on a GPU of its own where there are as many. All keep what was found. A rank whose machine is another one (other instructions, caches, threads: mpirun's --map-by says how many)
/// takes no part, which tune_result::refused says on rank 0, and `why` there. The trials of a result are, but for rank 0, those that the rank has measured; times are put in proportion to what the schedule without tuning takes on each rank.
///
///     if (weft::worker(argc, argv)) return 0;              // before MPI_Init
///     MPI_Init(&argc, &argv);
///     weft::tune_result const r = weft::tune_on_ranks({}, matmul, {.trials = 500}, a, b);
///
/// A rank that is lost costs its trial and no more, where MPI goes on without it: Open MPI's mpirun with --enable-recovery. After that
/// MPI_Finalize may wait for it in vain; end such a program by MPI_Abort or std::quick_exit. Where rank 0 is lost, the others on its host find nothing and say so
/// (tune_result::why); those on other hosts wait.
///
/// Errors  as `tune`, on each rank. Of one on another rank, rank 0 hears and goes on without it (tune_result::refused); of one on rank 0, the others hear, find nothing
///         and say so (tune_result::why)
/// Threads one tuning at a time; MPI is called by the calling thread alone
/// See     docs/tuning.md
template <class Kernel, class... A>
tune_result tune_on_ranks(rank_options const& where, Kernel const& kernel, tune_options const& options, A const&... a) {
  return kernel.erased(
      [&](kernel_face const& f, argument* arguments, int count) {
        tuning::detail::returned_errors const during(where.comm);
        int rank = 0, size = 1;
        MPI_Comm_rank(where.comm, &rank);
        MPI_Comm_size(where.comm, &size);
        if (size == 1) return tuning::tune(f, arguments, count, options);
        kernel_face mine = f;
        bool const takes_turns = f.gpu != nullptr && where.gpu_each;
        if (rank != 0) {
          tuning::detail::searcher from(where.comm);
          return tuning::detail::told_when_it_fails(
              [&] {
                int turn = -1;
                tune_result none;
                if (takes_turns && !from.place(f.device, turn, none.why)) return none;
                mine.device = tuning::detail::gpu_of_rank(turn, f.device, options);
                return tuning::detail::measure_for(mine, arguments, count, options, from);
              },
              [&](char const* why) { from.leave(why); });
        }
        tuning::detail::crew_of_ranks others(where.comm, where.patience);
        return tuning::detail::told_when_it_fails(
            [&] {
              if (takes_turns) mine.device = tuning::detail::gpu_of_rank(others.place(f.device), f.device, options);
              return tuning::tune(mine, arguments, count, options, {}, &others);
            },
            [&](char const* why) { others.say(why); });
      },
      a...);
}

}  // namespace weft::inline WEFT_ABI
