#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weft/base/auxiliary.hpp"
#include "weft/base/env.hpp"
#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/base/memory.hpp"
#include "weft/codegen/epoch.hpp"
#include "weft/codegen/llvm/module.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ir/verify.hpp"
#include "weft/kernel_table.hpp"
#include "weft/matrix_units.hpp"
#include "weft/runtime/cache/entry.hpp"
#include "weft/runtime/call_threads.hpp"
#include "weft/runtime/thread_pool.hpp"
#include "weft/schedule/instructions.hpp"
#include "weft/tune/worker.hpp"
#include "weft/version.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {
inline constexpr std::string_view worker_argument = "--weft-worker=";
inline constexpr int most_slots = 16;
inline bool main_serves = false;  // weft::worker was called

/// What precedes the text of a request.
struct request_head {
  enum kind : std::int32_t { load, run, compile } what = load;
  std::int32_t slot = 0;
  std::int64_t calls = 0;
  std::int64_t text_bytes = 0;
  std::int32_t instructions = 0;  // so many of instruction_place stand before the text
  std::int32_t gpu = -1;          // its number; -1: the CPU
  std::int32_t may_spill = 0;
  std::int32_t architecture_bytes = 0;  // of a request to compile: in front of the text, counted in it
  surroundings around = surroundings::closed;  // of a request to run
  std::int32_t unused = 0;
  std::int64_t made_bytes = 0;          // behind the text
};
inline constexpr int most_instructions = 64;
/// Where the other process finds an instruction.
struct instruction_place {
  enum kind : std::int32_t { by_number, in_image } what = by_number;
  std::int32_t unused = 0;
  std::int64_t at = 0;  // shipped_instruction's number, or bytes from where the program's image begins
};
/// Those that weft ships, of CPUs and of GPUs, have one number in all programs.
WEFT_DECL intrinsic const* shipped_instruction(std::int64_t number) {
  for (known_intrinsics const& some : {shipped_intrinsics, matrix_units}) {
    if (number >= 0 && number < some.count) return some.first[number];
    number -= some.count;
  }
  return nullptr;
}
WEFT_DECL std::int64_t number_of_shipped(intrinsic const* i) {
  std::int64_t n = 0;
  while (shipped_instruction(n) != nullptr && shipped_instruction(n) != i) ++n;
  return shipped_instruction(n) != nullptr ? n : -1;
}
WEFT_DECL std::uint64_t hello() {
  char text[96];
  std::snprintf(text, sizeof text, "weft worker %d.%d.%d, %u, %zu, %d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH,
                static_cast<unsigned>(codegen_epoch), sizeof(request_head), shipped_intrinsics.count + matrix_units.count);
  return xxh64(text);
}
/// The program's own image: the same bytes at other addresses in each process that runs it.
inline char const* image() {
  return reinterpret_cast<char const*>(weft::detail::weft_auxiliary_value(weft::detail::auxiliary_program_headers));
}
inline bool is_in_image(void const* address) {
  Dl_info its{}, ours{};
  return ::dladdr(address, &its) != 0 && ::dladdr(image(), &ours) != 0 && its.dli_fbase == ours.dli_fbase;
}
struct answer_head {
  std::int32_t result = 0;  // an outcome
  std::int32_t text_bytes = 0;
  double ns = 0;
};
inline bool send_all(int fd, void const* from, std::size_t bytes) {
  for (char const* at = static_cast<char const*>(from); bytes > 0;) {
    auto const n = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}
WEFT_DECL bool receive_all(int fd, void* into, std::size_t bytes, double* left_ns, giving_up given_up) {
  constexpr double at_once_ns = 1e8, most_ns = 2e8;
  for (char* at = static_cast<char*>(into); bytes > 0;) {
    if (left_ns != nullptr) {
      double const left = *left_ns < at_once_ns ? *left_ns : at_once_ns, begun = now_ns();
      pollfd p{fd, POLLIN, 0};
      int const ready = ::poll(&p, 1, left > 0 ? static_cast<int>(left / 1e6) + 1 : 0);
      bool const interrupted = ready < 0 && errno == EINTR;
      double const took = now_ns() - begun;
      *left_ns -= took < most_ns ? took : most_ns;
      if (ready < 0 && !interrupted) return false;
      if (*left_ns <= 0 || (given_up.asked != nullptr && given_up.asked(given_up.context))) return false;
      if (ready <= 0) continue;
    }
    auto const n = ::recv(fd, at, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

/// What may not be touched before and behind each block: address space alone. One page is not enough: an index that is wrong
/// by a row leads behind it, where something of the worker's own may be.
inline constexpr std::size_t guard_bytes = std::size_t(64) << 20;
/// The shared memory as a worker maps it, inputs read-only; in open surroundings with memory on both sides, all of it there already.
inline char* map_block(int fd, memory_block const& m, surroundings around) {
  auto const inside = static_cast<std::size_t>(m.pages_bytes);
  bool const open = around == surroundings::open;
  void* const all = ::mmap(nullptr, inside + 2 * guard_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  char* const at = static_cast<char*>(all) + guard_bytes;
  int const rights = m.written ? PROT_READ | PROT_WRITE : PROT_READ, there = open ? MAP_POPULATE : 0;
  if (::mmap(at, inside, rights, MAP_SHARED | MAP_FIXED | there, fd, m.offset) == MAP_FAILED) return nullptr;
  auto const margin = static_cast<std::size_t>(margin_bytes(m));
  for (char* const side : {at - margin, at + inside})
    if (open && ::mmap(side, margin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | there, -1, 0) == MAP_FAILED) return nullptr;
  return at;
}
/// One on the CPU.
class cpu_candidate final : public candidate {
 public:
  cpu_candidate(argument_places const& places, std::string_view loops, known_intrinsics known, target const& machine)
      : code_(loops, known, machine) {
    for (tensor_place const& t : places.tensors) {
      auto const b = static_cast<std::size_t>(t.block);
      closed_.push_back(places.pages[b] + places.blocks[b].start + t.at);
      open_.push_back((places.open_pages.empty() ? places.pages : places.open_pages)[b] + places.blocks[b].start + t.at);
    }
    scalars_ = places.scalars;
    scalars_.push_back(0);
  }
  double run(std::int64_t calls, surroundings around, std::string&) override {
    return code_.run((around == surroundings::open ? open_ : closed_).data(), scalars_.data(), calls);
  }

 private:
  candidate_code code_;
  sequence<void*> closed_, open_;
  sequence<std::int64_t> scalars_;
};
/// Compiled candidates and the memory that they run on.
struct slots {
  argument_places places{};
  target const* machine = nullptr;  // of code for the CPU; null: this one
  gpu_bench* gpu = nullptr;  // opened when the first candidate for it comes
  candidate* code[most_slots] = {};
  slots() = default;
  slots(slots const&) = delete;
  slots& operator=(slots const&) = delete;
  ~slots() {
    for (candidate* c : code) delete c;
    delete gpu;
  }
  static gpu_bench_services const& bench() {
    if (find_gpu_bench() == nullptr)
      WEFT_THROW(device_error("tune: candidates for a GPU need #include <weft/tune/cuda.hpp> in one file of the program, or weft::compiled"));
    return linked_gpu_bench;
  }
  candidate* made(request_head const& r, std::string_view text, known_intrinsics known, std::string_view code_of_it) {
    if (r.gpu < 0) return new cpu_candidate(places, text, known, machine != nullptr ? *machine : host());
    if (gpu == nullptr) gpu = bench().open(r.gpu, places);
    return gpu->load(text, known, r.may_spill != 0, code_of_it);
  }
  /// In `said` comes the code, or why there is none.
  static outcome compile(request_head const& r, std::string_view text, std::string& said, known_intrinsics known) {
    auto const front = static_cast<std::size_t>(r.architecture_bytes);
    if (front > text.size()) return outcome::refused;
#if WEFT_HAS_EXCEPTIONS
    try {
#endif
      said = bench().compile(text.substr(front), known, std::string(text.substr(0, front)));
#if WEFT_HAS_EXCEPTIONS
    } catch (error const& e) {
      said = e.what();
      return outcome::refused;
    }
#endif
    return outcome::good;
  }
  outcome load(request_head const& r, std::string_view text, [[maybe_unused]] std::string& why, known_intrinsics known,
               std::string_view code_of_it) {
    candidate*& at = code[r.slot];
    delete at;
    at = nullptr;
#if WEFT_HAS_EXCEPTIONS
    try {
#endif
      at = made(r, text, known, code_of_it);
#if WEFT_HAS_EXCEPTIONS
    } catch (error const& e) {
      why = e.what();
      return outcome::refused;
    }
#endif
    return outcome::good;
  }
  /// In `became` comes what to answer: of a GPU that failed, nothing can be run any more.
  double run(int slot, std::int64_t calls, surroundings around, std::string& why, outcome& became) const {
    double ns = -1;
#if WEFT_HAS_EXCEPTIONS
    try {
#endif
      if (code[slot] != nullptr) ns = code[slot]->run(calls, around, why);
      became = ns < 0 ? outcome::failed : outcome::good;
#if WEFT_HAS_EXCEPTIONS
    } catch (error const& e) {
      why = e.what();
      became = outcome::crashed;
    }
#endif
    return ns;
  }
};
/// What a worker is told first.
struct greeting {
  std::int32_t blocks = 0, tensors = 0, scalars = 0, machine_bytes = 0;
};
/// A target as bytes and back; none: this machine.
inline std::string bytes_of(target const* t) {
  cache::byte_writer w;
  if (t == nullptr) return "";
  w.numbers(t->arch, t->vector_bytes, t->vector_registers, t->fma, t->l1_bytes, t->l2_bytes, t->l3_bytes, t->l3_bytes_per_cycle, t->vector_units, t->threads);
  w.text(t->cpu);
  for (std::string const& f : t->features) w.text(f);
  return static_cast<std::string&&>(w.bytes);
}
inline target const* target_of(std::string_view bytes) {
  if (bytes.empty()) return nullptr;
  cache::byte_reader r(bytes);
  target t;
  t.arch = r.number<architecture>();
  t.vector_bytes = r.number<std::int32_t>(), t.vector_registers = r.number<std::int32_t>(), t.fma = r.number<bool>();
  t.l1_bytes = r.number<std::int64_t>(), t.l2_bytes = r.number<std::int64_t>(), t.l3_bytes = r.number<std::int64_t>();
  t.l3_bytes_per_cycle = r.number<std::int32_t>(), t.vector_units = r.number<std::int32_t>();
  t.threads = r.number<std::int32_t>();
  t.cpu = std::string(r.text());
  while (r.good && !r.rest.empty()) t.features.push_back(std::string(r.text()));
  return kept_target(t);
}
/// What a terminal, a shell or a batch system sends to all processes of a job is for the program to answer: where it ends, its worker does
/// (PR_SET_PDEATHSIG), and where it goes on, a worker that had ended would be taken for a candidate that crashed.
inline void leave_signals_to_the_program() {
  for (int signal : {SIGINT, SIGQUIT, SIGHUP, SIGTERM}) ::signal(signal, SIG_IGN);
}
/// Of a worker that ended by it: no candidate can have caused it. SIGKILL may also be the system's, when memory runs out.
inline bool is_from_outside(int signal) {
  for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGXFSZ})
    if (signal == own) return false;
  return true;
}
/// Whether a worker may say that: memory that a candidate has written over may say anything.
inline bool is_answer(answer_head const& a, std::int32_t most_text) {
  bool const result = a.result >= 0 && a.result <= static_cast<std::int32_t>(outcome::crashed);
  bool const time = a.result != static_cast<std::int32_t>(outcome::good) || (a.ns >= 0 && a.ns < 1e18);
  return result && time && a.text_bytes >= 0 && a.text_bytes <= most_text;
}
inline constexpr std::int32_t most_words = 4000, most_code = std::int32_t(1) << 28;

inline constexpr int no_memory_for_arguments = 93;  // how a worker ends that has no addresses for them
[[noreturn]] inline void serve(int socket, int memory) {
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) ::signal(signal, SIG_DFL);
  leave_signals_to_the_program();
  rlimit const no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  slots s;
  greeting g;
  if (!receive_all(socket, &g, sizeof g, nullptr)) ::_exit(0);
  argument_places& p = s.places;
  p.blocks.resize(static_cast<std::size_t>(g.blocks));
  p.tensors.resize(static_cast<std::size_t>(g.tensors));
  p.scalars.resize(static_cast<std::size_t>(g.scalars), 0);
  if (!receive_all(socket, p.blocks.data(), p.blocks.size() * sizeof(memory_block), nullptr) ||
      !receive_all(socket, p.tensors.data(), p.tensors.size() * sizeof(tensor_place), nullptr) ||
      !receive_all(socket, p.scalars.data(), p.scalars.size() * sizeof(std::int64_t), nullptr))
    ::_exit(0);
  std::string machine(static_cast<std::size_t>(g.machine_bytes), '\0');
  if (!receive_all(socket, machine.data(), machine.size(), nullptr)) ::_exit(0);
  s.machine = target_of(machine);
  for (memory_block const& m : p.blocks) {
    p.pages.push_back(map_block(memory, m, surroundings::closed));
    p.open_pages.push_back(map_block(memory, m, surroundings::open));
    if (p.pages.back() == nullptr || p.open_pages.back() == nullptr) ::_exit(no_memory_for_arguments);
  }
  for (request_head r; receive_all(socket, &r, sizeof r, nullptr);) {
    std::string text(static_cast<std::size_t>(r.text_bytes), '\0'), code_of_it(static_cast<std::size_t>(r.made_bytes), '\0'), why;
    instruction_place places[most_instructions];
    intrinsic const* instructions[most_instructions] = {};
    if (r.slot < 0 || r.slot >= most_slots || r.instructions < 0 || r.instructions > most_instructions ||
        !receive_all(socket, places, static_cast<std::size_t>(r.instructions) * sizeof places[0], nullptr) ||
        !receive_all(socket, text.data(), text.size(), nullptr) || !receive_all(socket, code_of_it.data(), code_of_it.size(), nullptr))
      break;
    bool known = true;
    for (int i = 0; i < r.instructions; ++i) {
      instructions[i] = places[i].what == instruction_place::by_number ? shipped_instruction(places[i].at)
                                                                    : reinterpret_cast<intrinsic const*>(image() + places[i].at);
      known = known && instructions[i] != nullptr;
    }
    if (!known) break;
    answer_head a;
    outcome became = outcome::good;
    if (r.what == request_head::load) became = s.load(r, text, why, {instructions, r.instructions}, code_of_it);
    else if (r.what == request_head::compile) became = slots::compile(r, text, why, {instructions, r.instructions});
    else a.ns = s.run(r.slot, r.calls, r.around, why, became);
    a.result = static_cast<std::int32_t>(became);
    bool const is_code = r.what == request_head::compile && became == outcome::good;
    if (why.size() > static_cast<std::size_t>(most_words) && !is_code) why.resize(static_cast<std::size_t>(most_words));
    a.text_bytes = static_cast<std::int32_t>(why.size());
    if (!send_all(socket, &a, sizeof a) || !send_all(socket, why.data(), why.size()) || became == outcome::crashed) break;
  }
  ::_exit(0);
}
}  // namespace detail

WEFT_DECL bool main_calls_worker() { return detail::main_serves; }
WEFT_DECL candidate_code::candidate_code(std::string_view loops, known_intrinsics known, target const& machine) {
  ir::arena m;
  ir::function const f = ir::parse(m, loops, known);
  if (!ir::verify(f).empty()) WEFT_THROW(internal_error("tune: a loop program that is none"));
  codegen::llvm::llvm_use const use;
  codegen::llvm::object_code const object = codegen::llvm::compile(f, machine);
  code_ = runtime::link(object.bytes, object.symbol);
  if (std::int64_t const bytes = workspace_bytes(f); bytes > 0) {
    workspace_ = weft::detail::element_memory(bytes);
    if (workspace_ == nullptr) WEFT_THROW(device_error("tune: no memory for intermediate tensors"));
  }
}
WEFT_DECL candidate_code::~candidate_code() { std::free(workspace_); }
WEFT_DECL double candidate_code::run(void* const* pointers, std::int64_t const* scalars, std::int64_t calls) const {
  auto const entry = reinterpret_cast<kernel_entry>(code_.entry());
  failure failed;
  // By as many threads of weft's own as calls have, whoever runs their loops then: those of OpenMP or a pool of the program's are not in a worker.
  int const threads = threads_of_calls();
  services own = weft::detail::host_services();
  own.parallel_for = [](void* most, std::int64_t count, std::int64_t places, loop_body* body, void* context) {
    std::int64_t const n = *static_cast<int const*>(most);
    runtime::default_pool().run(count, body, context, places < n ? places : n);
  };
  own.pool = const_cast<int*>(&threads);
  launch l{pointers, nullptr, scalars, nullptr, &own, &failed, nullptr, nullptr, nullptr};
  // A call borrows the memory for intermediate tensors and gives it back (kernel_table.ipp), which of kernels of nanoseconds is a good part of their time: layer_norm of
  // 3 x 5 with such memory took 29 ns here and 89 in a call, without it 39 and 80 (EPYC, Zen 4, 2026-11-28).
  void* home = workspace_;
  double const begin = now_ns();
  for (std::int64_t i = 0; i < calls; ++i) {
    if (workspace_ != nullptr) l.workspace = __atomic_exchange_n(&home, nullptr, __ATOMIC_ACQ_REL);
    bool const failed_now = entry(&l) != 0;
    if (workspace_ != nullptr) static_cast<void>(__atomic_exchange_n(&home, l.workspace, __ATOMIC_ACQ_REL));
    if (failed_now) return -1;
  }
  return now_ns() - begin;
}

struct runner::in_process {
  detail::slots slots;
};

WEFT_DECL int other_threads() {
  int others = 0;
  for (int tries = 0; tries < 20; ++tries) {
    others = 0;
    DIR* const tasks = ::opendir("/proc/self/task");
    while (dirent const* const entry = tasks != nullptr ? ::readdir(tasks) : nullptr) {
      int const thread = std::atoi(entry->d_name);
      if (thread == 0 || thread == static_cast<int>(::syscall(SYS_gettid))) continue;
      char path[64], name[32] = {};
      std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
      int const file = ::open(path, O_RDONLY | O_CLOEXEC);
      bool const there = file >= 0 && ::read(file, name, sizeof name - 1) > 0;
      if (file >= 0) ::close(file);
      if (there && std::strcmp(name, "weft-pool\n") != 0 && std::strcmp(name, "weft-later\n") != 0) ++others;
    }
    if (tasks != nullptr) ::closedir(tasks);
    if (others == 0) break;
    ::usleep(1000);  // one that was joined may still be listed, and one of weft's that has just begun has no name yet
  }
  return others;
}
namespace detail {
/// In the environment of a worker: a program that tunes there would begin one more of itself, and that one more.
inline constexpr char worker_mark[] = "WEFT_IS_WORKER";
}  // namespace detail
WEFT_DECL worker_choice chosen_worker(isolation asked, std::string const& program) {
  if (environment(detail::worker_mark) != nullptr)
    WEFT_THROW(device_error("tune: this program was started to run the candidates of another tuning, and weft::worker(argc, argv) is not called first in its main"));
  char const* const by_environment = environment("WEFT_WORKER");
  std::string const named = !program.empty() ? program : by_environment != nullptr ? std::string(by_environment) : std::string();
  if (asked == isolation::program || (asked == isolation::automatic && !named.empty())) {
    if (named.empty()) WEFT_THROW(device_error("tune: no program is named for candidates: tune_options::worker_program or WEFT_WORKER, weft-worker for one"));
    return {isolation::program, named};
  }
  if (asked != isolation::automatic) return {asked};
  if (detail::main_serves) return {isolation::executed};
  if (int const n = other_threads(); n > 0)
    WEFT_THROW(device_error(joined({"tune: ", std::to_string(n), n == 1 ? " thread that is" : " threads that are",
                                    " not weft's ", n == 1 ? "runs" : "run", " in this program, and in a fork of it, where candidates would run, what they hold is held for ever: "
                                    "call weft::worker(argc, argv) first in main, or name a program that does (WEFT_WORKER=weft-worker, or "
                                    "tune_options::worker_program)"})));
  return {isolation::forked};
}
WEFT_DECL runner::runner(argument_copies& copies, worker_choice const& where, int gpu, target const* machine)
    : copies_(copies), where_(where.where), gpu_(gpu), machine_(machine), program_(where.program) {
  if (where_ != isolation::none) return;
  own_ = new in_process;
  argument_places& p = own_->slots.places;
  p.blocks = copies.blocks(), p.tensors = copies.tensors(), p.scalars = copies.scalars();
  own_->slots.machine = machine;
  for (std::size_t b = 0; b < p.blocks.size(); ++b) p.pages.push_back(copies.pages(b));
}
WEFT_DECL runner::~runner() {
  stop();
  delete own_;
}

namespace detail {
/// The environment of a worker that is another program: of threads it has as many as calls have here, and it does not tune.
class worker_environment {
 public:
  worker_environment() {
    own_ = joined({"WEFT_THREADS=", std::to_string(threads_of_calls())}), mark_ = joined({worker_mark, "=1"});
    for (char** e = ::environ; e != nullptr && *e != nullptr; ++e)
      if (std::strncmp(*e, "WEFT_THREADS=", 13) != 0) all_.push_back(*e);
    all_.push_back(own_.data());
    all_.push_back(mark_.data());
    all_.push_back(nullptr);
  }
  char* const* data() const { return all_.data(); }

 private:
  std::string own_, mark_;
  sequence<char*> all_;
};
}  // namespace detail

WEFT_DECL bool runner::start() {
  if (process_ != 0) return true;
  int ends[2];
  detail::worker_environment const its_environment;  // a child of a program with threads asks for no memory
  auto const not_started = [this] {
    not_begun_ = joined({"no worker could be started: ", std::strerror(errno)});
    return false;
  };
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return not_started();
  // Until the child leaves them to the program, none may come to it: it would end by them, or run the program's own handlers.
  ::sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  ::pid_t const parent = ::getpid(), child = ::fork();
  if (child != 0) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    not_started();
    ::close(ends[0]), ::close(ends[1]);
    return false;
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);
    ::close(ends[0]);
    detail::leave_signals_to_the_program();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (where_ == isolation::forked) {
      copies_.protect_live();
      detail::serve(ends[1], copies_.descriptor());
    }
    ::fcntl(ends[1], F_SETFD, 0);
    ::fcntl(copies_.descriptor(), F_SETFD, 0);
    char argument[64], own[] = "weft-worker";
    char* const program = where_ == isolation::program ? program_.data() : own;
    std::snprintf(argument, sizeof argument, "%s%d,%d", detail::worker_argument.data(), ends[1], copies_.descriptor());
    char* const arguments[] = {program, argument, nullptr};
    if (where_ == isolation::program) ::execvpe(program, arguments, its_environment.data());
    else ::execve("/proc/self/exe", arguments, its_environment.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  process_ = child, socket_ = ends[0];
  ++starts_;
  not_begun_.clear();
  std::uint64_t said = 0;
  double left_ns = patience_ns_;
  if (where_ != isolation::forked && (!detail::receive_all(socket_, &said, sizeof said, &left_ns, given_up_) || said != detail::hello())) {
    bool const given_up = said == 0 && given_up_.asked != nullptr && given_up_.asked(given_up_.context), is_silent = given_up || (said == 0 && left_ns <= 0);
    note_end(said == 0 && !is_silent);
    if (was_killed()) return false;
    std::string const who = where_ == isolation::executed ? std::string("this program, started anew,") : program_;
    not_begun_ = given_up                          ? who + " had not said that it is a worker when the tuning was stopped"
                 : is_silent                       ? who + " did not say that it is a worker before the time was over"
                 : where_ == isolation::executed   ? who + " did not become a worker: weft::worker(argc, argv) has to be called first in main"
                 : said != 0                       ? who + " is a worker of another weft than this program is made with"
                                                   : who + " is no worker, or is not there: weft-worker is one, as is a program that calls weft::worker(argc, argv) first in main";
    return false;
  }
  std::string const machine = detail::bytes_of(machine_);
  detail::greeting const g{static_cast<std::int32_t>(copies_.blocks().size()),
                           static_cast<std::int32_t>(copies_.tensors().size()),
                           static_cast<std::int32_t>(copies_.scalars().size()), static_cast<std::int32_t>(machine.size())};
  return detail::send_all(socket_, &g, sizeof g) &&
         detail::send_all(socket_, copies_.blocks().data(), copies_.blocks().size() * sizeof(memory_block)) &&
         detail::send_all(socket_, copies_.tensors().data(), copies_.tensors().size() * sizeof(tensor_place)) &&
         detail::send_all(socket_, copies_.scalars().data(), copies_.scalars().size() * sizeof(std::int64_t)) &&
         detail::send_all(socket_, machine.data(), machine.size());
}
WEFT_DECL int runner::stop() {
  int status = 0;
  if (process_ == 0) return status;
  ::kill(process_, SIGKILL);  // of one that is ending already, why it does stays what it was
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(socket_);
  process_ = 0, socket_ = -1;
  return status;
}
WEFT_DECL void runner::note_end(bool by_itself) {
  int const status = stop();
  if (by_itself && WIFSIGNALED(status) && detail::is_from_outside(WTERMSIG(status))) killed_by_ = WTERMSIG(status);
  if (by_itself && WIFEXITED(status) && WEXITSTATUS(status) == detail::no_memory_for_arguments)
    not_begun_ = "a worker has no addresses for the arguments, each twice with 128 MiB around it: the limit on a process's memory is too low (ulimit -v)";
}

/// One request and its answer; the worker is gone when it did not answer.
WEFT_DECL bool runner::ask(std::string_view head, std::string_view text, std::string_view made, double limit_ns, std::string& answer, side_work meanwhile) {
  if (!tell(head, text, made)) return false;
  work_until_heard(meanwhile);
  return hear(limit_ns, answer, detail::most_words);
}
WEFT_DECL void runner::work_until_heard(side_work meanwhile) {
  auto const is_heard = [&] {
    pollfd one{socket_, POLLIN, 0};
    return process_ == 0 || ::poll(&one, 1, 0) != 0;
  };
  while (meanwhile.run != nullptr && meanwhile.run(meanwhile.context) && !is_heard()) {
  }
}
WEFT_DECL bool runner::tell(std::string_view head, std::string_view text, std::string_view made) {
  last_ = outcome::crashed, killed_by_ = 0;
  bool told = start();
  for (std::string_view part : {head, text, made}) told = told && detail::send_all(socket_, part.data(), part.size());
  if (!told && process_ != 0) note_end(true);
  return told;
}
WEFT_DECL bool runner::hear(double limit_ns, std::string& answer, std::int32_t most_text) {
  detail::answer_head a;
  double left_ns = limit_ns;
  double const began = now_ns();
  // What of the time was not taken from it.
  auto const note_stop = [&] { stood_still_ = now_ns() - began > limit_ns - left_ns + 1e8; };
  last_ = outcome::crashed;
  bool gone = true;
  if (process_ != 0 && detail::receive_all(socket_, &a, sizeof a, &left_ns) && (gone = false, detail::is_answer(a, most_text))) {
    std::string why(static_cast<std::size_t>(a.text_bytes), '\0');
    gone = true;
    if (detail::receive_all(socket_, why.data(), why.size(), &left_ns)) {
      last_ = static_cast<outcome>(a.result);
      answer.assign(reinterpret_cast<char const*>(&a), sizeof a);
      answer += why;
      note_stop();
      return true;
    }
  }
  note_stop();
  if (gone && left_ns <= 0) last_ = outcome::hung;
  note_end(gone && left_ns > 0);
  return false;
}

WEFT_DECL outcome runner::load(int slot, std::string const& loops, std::string& why, known_intrinsics known, bool may_spill, std::string_view made,
                               side_work meanwhile) {
  detail::request_head const r{detail::request_head::load, slot, 0, static_cast<std::int64_t>(loops.size()), known.count, gpu_, may_spill, 0,
                               surroundings::closed, 0, static_cast<std::int64_t>(made.size())};
  if (own_ != nullptr) return last_ = own_->slots.load(r, loops, why, known, made);
  std::string head(reinterpret_cast<char const*>(&r), sizeof r), answer;
  if (!place_of(known, head, why)) return last_ = outcome::refused;
  bool heard = ask(head, loops, made, 60e9, answer, meanwhile);
  if (!heard && was_killed()) heard = ask(head, loops, made, 60e9, answer);  // compiling changes nothing, and may begin anew
  if (heard) why = answer.substr(sizeof(detail::answer_head));
  else why = why_ended(last_ == outcome::hung ? "compiling it did not end" : "compiling it ended the worker");
  return last_;
}
WEFT_DECL std::string runner::why_killed() const {
  return was_killed() ? joined({"signal ", std::to_string(killed_by_), killed_by_ == SIGKILL ? ", from outside or for want of memory" : ", from outside"}) : std::string();
}
WEFT_DECL std::string runner::why_ended(char const* otherwise) const {
  return was_killed() ? joined({otherwise, ": ", why_killed()}) : not_begun_.empty() ? std::string(otherwise) : not_begun_;
}
WEFT_DECL bool runner::begin_compiling(std::string_view loops, std::string_view architecture, known_intrinsics known) {
  if (own_ != nullptr) return false;
  std::string const text = joined({architecture, loops});
  detail::request_head const r{detail::request_head::compile, 0, 0, static_cast<std::int64_t>(text.size()), known.count, gpu_, 0,
                               static_cast<std::int32_t>(architecture.size())};
  std::string head(reinterpret_cast<char const*>(&r), sizeof r), ignored;
  return place_of(known, head, ignored) && tell(head, text, {});
}
WEFT_DECL std::string runner::made(std::string& why, side_work meanwhile) {
  std::string answer;
  work_until_heard(meanwhile);
  bool const heard = hear(60e9, answer, detail::most_code);
  if (heard) answer.erase(0, sizeof(detail::answer_head));
  if (heard && last_ == outcome::good) return answer;
  if (was_killed()) return "";  // nothing is known of it: who loads it compiles it
  why = heard ? answer : why_ended(last_ == outcome::hung ? "compiling it did not end" : "compiling it ended the worker");
  return "";
}
/// Adds the places of instructions; false, and why, where one has none.
WEFT_DECL bool runner::place_of(known_intrinsics known, std::string& head, std::string& why) const {
  for (int i = 0; i < known.count; ++i) {
    std::int64_t const number = detail::number_of_shipped(known.first[i]);
    bool const unknown = number < 0 && (where_ == isolation::program || (where_ == isolation::executed && !detail::is_in_image(known.first[i])));
    if (known.count > detail::most_instructions || unknown) {
      why = joined({"the instruction ", known.first[i]->name,
                    known.count > detail::most_instructions
                        ? " is one of too many"
                    : where_ == isolation::program
                        ? " is declared in this program, which another one does not know: weft::worker(argc, argv) first in main makes this program its own worker"
                        : " is declared in a shared library, which a worker started anew does not know: isolation::forked does"});
      return false;
    }
    detail::instruction_place place{detail::instruction_place::by_number, 0, number};
    if (number < 0) place = {detail::instruction_place::in_image, 0, reinterpret_cast<char const*>(known.first[i]) - detail::image()};
    head.append(reinterpret_cast<char const*>(&place), sizeof place);
  }
  return true;
}
WEFT_DECL double runner::run(int slot, std::int64_t calls, double limit_ns, surroundings around) {
  why_.clear();
  if (own_ != nullptr) return own_->slots.run(slot, calls, around, why_, last_);
  detail::request_head const r{detail::request_head::run, slot, calls, 0, 0, gpu_, 0, 0, around};
  std::string answer;
  if (!ask({reinterpret_cast<char const*>(&r), sizeof r}, {}, {}, limit_ns, answer)) return why_ = why_killed(), -1;
  detail::answer_head a;
  std::memcpy(&a, answer.data(), sizeof a);
  why_ = answer.substr(sizeof a);
  if (last_ == outcome::crashed) stop();
  return last_ == outcome::good ? a.ns : -1;
}

}  // namespace tuning

WEFT_DECL bool worker(int argc, char const* const* argv) {
  tuning::detail::main_serves = true;
  if (argc != 2) return false;
  std::string_view const argument = argv[1], known = tuning::detail::worker_argument;
  if (argument.substr(0, known.size()) != known) return false;
  int socket = -1, memory = -1;
  if (std::sscanf(argv[1] + known.size(), "%d,%d", &socket, &memory) != 2) return false;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::uint64_t const hello = tuning::detail::hello();
  if (!tuning::detail::send_all(socket, &hello, sizeof hello)) ::_exit(0);
  tuning::detail::serve(socket, memory);
}

}  // namespace weft::inline WEFT_ABI
