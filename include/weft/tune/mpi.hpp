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
  std::int64_t trials = 0;
  char why[512] = {};  // it is not needed
};
struct answer_message {
  double ns = 0, first_ns = 0;
  std::uint64_t task = 0, features = 0;  // of the first one, which says who this is
  std::int64_t process = 0;
  std::int32_t result = 0, wrong = 0;
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
/// MPI waits by asking over and over, which would take the core from who measures beside it.
inline void pause_between_questions() {
  timespec const half_a_millisecond{0, 500000};
  ::nanosleep(&half_a_millisecond, nullptr);
}
inline void name_host(char (&into)[64]) {
  if (::gethostname(into, sizeof into - 1) != 0) into[0] = '\0';
}

/// The other ranks, as rank 0 sees them.
class crew_of_ranks final : public trial_crew {
 public:
  /// `patience`: seconds without an answer after which a rank on another host is lost.
  crew_of_ranks(MPI_Comm c, double patience) : comm_(c), patience_ns_(patience * 1e9) {
    int size = 1;
    MPI_Comm_size(comm_, &size);
    for (int i = 1; i < size; ++i) others_.push_back({i});
    name_host(host_);
  }
  void begin(task_here const& here) override {
    first_ns_ = here.first_ns;
    for (one& o : others_) {
      o.waits = true, o.asked_ns = now_ns();
      static_cast<void>(MPI_Irecv(&o.answer, sizeof o.answer, MPI_BYTE, o.rank, answer_tag, comm_, &o.pending));
    }
    for (bool open = true; open;) {
      open = false;
      for (one& o : others_) {
        if (!o.waits) continue;
        if (arrived(o)) {
          o.first_ns = o.answer.first_ns, o.process = o.answer.process;
          o.is_here = std::strcmp(o.answer.host, host_) == 0;
          o.answer.why[sizeof o.answer.why - 1] = o.answer.host[sizeof o.answer.host - 1] = '\0';
          std::string const why = why_no_part({o.answer.task, o.first_ns, o.answer.why, o.answer.features}, here);
          o.takes_part = why.empty();
          request_message m;
          m.ends = o.takes_part ? 0 : 1;
          std::strncpy(m.why, why.c_str(), sizeof m.why - 1);
          if (!why.empty()) refused_ += joined({refused_.empty() ? "" : "; ", "rank ", std::to_string(o.rank), " on ", o.answer.host, " takes no part: ", why});
          if (!send(o, m)) o.takes_part = false;
        }
        open = open || o.waits;
      }
      if (open) pause_between_questions();
    }
  }
  std::string refused() const override { return refused_; }
  int size() const override {
    int count = 0;
    for (one const& o : others_) count += o.takes_part;
    return count;
  }
  sequence<tune_trial> measure(sequence<sequence<std::int32_t>> const& points, double give_up_ns) override {
    sequence<tune_trial> all(points.size());
    std::size_t next = 0, back = 0;
    while (back < points.size()) {
      bool idle = true;
      for (one& o : others_) {
        if (o.waits && arrived(o)) {
          all[o.point] = trial_of(o), ++back, idle = false;
        } else if (o.waits && !o.takes_part) {  // lost, and its trial with it
          o.waits = false, ++back, ++lost_;
          all[o.point].result = outcome::crashed, all[o.point].why = "the rank that measured it was lost";
        }
        if (!o.takes_part || o.waits || next == points.size()) continue;
        request_message m;
        m.choices = static_cast<std::int32_t>(points[next].size()), m.give_up_ns = give_up_ns * o.first_ns / first_ns_;
        for (std::size_t i = 0; i < points[next].size(); ++i) m.taken[i] = points[next][i];
        if (!ask(o, m)) continue;  // the next one takes it
        o.point = next++, idle = false;
      }
      if (size() == 0 && next < points.size()) {  // nobody is left: what was not handed out is measured by who searches
        all.resize(next);
        if (back == next) break;
      }
      if (idle) pause_between_questions();
    }
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
  }
  /// Ranks that went in the middle of a trial.
  int lost() const { return lost_; }

 private:
  struct one {
    int rank = 0;
    bool takes_part = false, waits = false, is_here = false;
    double first_ns = 0, asked_ns = 0;
    std::int64_t process = 0;
    std::size_t point = 0;
    MPI_Request pending = MPI_REQUEST_NULL;
    answer_message answer{};
  };
  bool send(one const& o, request_message const& m) {
    return MPI_Send(const_cast<request_message*>(&m), sizeof m, MPI_BYTE, o.rank, request_tag, comm_) == MPI_SUCCESS;
  }
  bool ask(one& o, request_message const& m) {
    o.takes_part = !is_gone(o) && send(o, m) &&
                   MPI_Irecv(&o.answer, sizeof o.answer, MPI_BYTE, o.rank, answer_tag, comm_, &o.pending) == MPI_SUCCESS;
    o.waits = o.takes_part, o.asked_ns = now_ns();
    return o.takes_part;
  }
  bool is_gone(one const& o) const {
    return o.is_here && ::kill(static_cast<::pid_t>(o.process), 0) != 0 && errno == ESRCH;
  }
  /// Whether its answer is there; who is lost takes part no more.
  bool arrived(one& o) {
    int there = 0;
    bool const fine = MPI_Test(&o.pending, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    if (fine && there != 0) return o.waits = false, true;
    if (fine && !is_gone(o) && now_ns() < o.asked_ns + patience_ns_) return false;
    o.takes_part = false;
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
  char host_[64] = {};
  sequence<one> others_;
  std::string refused_;
  int lost_ = 0;
};

/// Rank 0, as another rank sees it.
class searcher final : public trial_source {
 public:
  explicit searcher(MPI_Comm c) : comm_(c) {}
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
    if (MPI_Irecv(&m, sizeof m, MPI_BYTE, 0, request_tag, comm_, &pending) != MPI_SUCCESS) return false;
    for (int there = 0; there == 0; pause_between_questions())
      if (MPI_Test(&pending, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
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
  bool send(answer_message& a) { return MPI_Send(&a, sizeof a, MPI_BYTE, 0, answer_tag, comm_) == MPI_SUCCESS; }
  MPI_Comm comm_;
  std::string why_;
};
}  // namespace tuning::detail

namespace tuning::detail {
/// The GPU of this rank: on each host its ranks take the GPUs in turn, from that of the kernel on.
inline int gpu_of_rank(MPI_Comm c, int first, isolation where) {
  MPI_Comm here = MPI_COMM_NULL;
  int rank = 0, local = 0;
  MPI_Comm_rank(c, &rank);
  if (MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &here) != MPI_SUCCESS) return first;
  MPI_Comm_rank(here, &local);
  MPI_Comm_free(&here);
  int const count = gpus_here(where);
  return count > 0 ? (first + local) % count : first;
}
}  // namespace tuning::detail

/// How a tuning on several ranks goes about it.
struct rank_options {
  MPI_Comm comm = MPI_COMM_WORLD;
  bool gpu_each = true;  // of a kernel on a GPU: rank r of a host takes the GPU of the kernel plus r, modulo how many there are; false: all take that of the kernel
  double patience = 60;  // seconds without an answer after which a rank is lost; one on the host of rank 0 is missed at once
};

/// As `tune`, called by all ranks with equal arguments: rank 0 searches, the others measure, each by a worker of its own on the cores that it is
/// bound to, on a GPU of its own where there are as many. All keep what was found. A rank whose machine is another one (other instructions, caches, threads: mpirun's --map-by says how many)
/// takes no part, which tune_result::refused says on rank 0, and `why` there; times are put in proportion to what the schedule without tuning takes on each rank.
///
///     if (weft::worker(argc, argv)) return 0;              // before MPI_Init
///     MPI_Init(&argc, &argv);
///     weft::tune_result const r = weft::tune_on_ranks({}, matmul, {.trials = 500}, a, b);
///
/// A rank that is lost costs its trial and no more, where MPI goes on without it: Open MPI's mpirun with --enable-recovery. After that
/// MPI_Finalize may wait for it in vain; end such a program by MPI_Abort or std::quick_exit.
///
/// Errors  as `tune`, on each rank
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
        if (f.gpu != nullptr && where.gpu_each)
          mine.device = tuning::detail::gpu_of_rank(where.comm, f.device, tuning::chosen_worker(options.worker, options.worker_program).where);
        if (rank != 0) {
          tuning::detail::searcher from(where.comm);
          return tuning::detail::measure_for(mine, arguments, count, options, from);
        }
        tuning::detail::crew_of_ranks others(where.comm, where.patience);
        return tuning::tune(mine, arguments, count, options, {}, &others);
      },
      a...);
}

}  // namespace weft::inline WEFT_ABI
