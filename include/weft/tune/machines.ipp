#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "weft/base/joined.hpp"
#include "weft/runtime/cuda/driver.hpp"
#include "weft/tune/run.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

/// What a child answers, which then ends; "!" and why: nothing.
template <class Ask>
std::string asked_in_a_fork(Ask const& ask) {
  int ends[2];
  if (::pipe(ends) != 0) return "!no pipe can be made";
  ::pid_t const child = ::fork();
  if (child < 0) return ::close(ends[0]), ::close(ends[1]), "!no process can be made";
  if (child == 0) {
    std::string answer;
#if WEFT_HAS_EXCEPTIONS
    try {
#endif
      answer = ask();
#if WEFT_HAS_EXCEPTIONS
    } catch (error const& e) {
      answer = joined({"!", e.what()});
    }
#endif
    bool const sent = ::write(ends[1], answer.data(), answer.size()) == static_cast<::ssize_t>(answer.size());
    ::_exit(sent ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer(4096, '\0');
  std::size_t got = 0;
  while (got < answer.size()) {
    ::ssize_t const n = ::read(ends[0], &answer[got], answer.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  answer.resize(got);
  ::close(ends[0]);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return answer.empty() ? "!the CUDA driver ended the process that asked it" : answer;
}
WEFT_DECL target const& machine_of(kernel_face const& face, isolation where) {
  if (face.gpu == nullptr) return face.machine != nullptr ? *face.machine : host();
  auto const refuse = [&](std::string_view why) { WEFT_THROW(device_error(joined({face.name, ": tune: ", why}))); };
  if (find_gpu_bench() == nullptr) refuse("on a GPU this needs #include <weft/tune/cuda.hpp> in one file of the program, or weft::compiled");
  bool const forks = where == isolation::forked;
  if (forks && runtime::cuda_has_begun())
    refuse("this program has used the GPU, and a fork of it cannot: call weft::worker(argc, argv) first in main, or name a program that does (WEFT_WORKER=weft-worker), which gives candidates a process of their own");
  target t;
  if (forks) {
    // What a process that has not begun CUDA is told of a GPU, as lines.
    std::string const answer = asked_in_a_fork([&] {
      target const it = face.gpu->machine(face.device);
      return joined({it.cpu, "\n", it.features[0], "\n", std::to_string(it.l1_bytes), "\n", std::to_string(it.l2_bytes), "\n", std::to_string(it.threads), "\n"});
    });
    if (answer[0] == '!') refuse(std::string_view(answer).substr(1));
    t.arch = architecture::nvidia, t.fma = true;
    std::string lines[5];
    std::size_t line = 0;
    for (char c : answer) {
      if (c == '\n') ++line;
      else if (line < 5) lines[line] += c;
    }
    t.cpu = lines[0], t.features.push_back(lines[1]);
    t.l1_bytes = std::atoll(lines[2].c_str()), t.l2_bytes = std::atoll(lines[3].c_str());
    t.threads = static_cast<std::int32_t>(std::atoll(lines[4].c_str()));
  } else {
#if WEFT_HAS_EXCEPTIONS
    try {
      t = face.gpu->machine(face.device);
    } catch (device_error const& e) {
      refuse(e.what());
    }
#else
    t = face.gpu->machine(face.device);
#endif
  }
  if (std::string const why = linked_gpu_bench.missing(); !why.empty()) refuse(why);
  return *kept_target(t);
}
WEFT_DECL int gpus_here(isolation where) {
  if (find_gpu_bench() == nullptr) return 0;
  if (where != isolation::forked) return linked_gpu_bench.devices();
  std::string const answer = asked_in_a_fork([] { return std::to_string(linked_gpu_bench.devices()); });
  return answer[0] == '!' ? 0 : std::atoi(answer.c_str());
}
WEFT_DECL std::string machine_text(target const& t) {
  if (t.arch == architecture::nvidia && !t.features.empty())
    return joined({t.features[0], " (", t.cpu, ", ", std::to_string(t.threads), " processors)"});
  auto const kib = [](std::int64_t bytes) { return joined({std::to_string(bytes >> 10), " KiB"}); };
  return joined({t.cpu, ", ", std::to_string(t.vector_registers), " vectors of ", std::to_string(t.vector_bytes), " bytes, caches of ",
                 kib(t.l1_bytes), ", ", kib(t.l2_bytes), ", ", kib(t.l3_bytes), ", ", std::to_string(t.threads), t.threads == 1 ? " thread" : " threads"});
}
WEFT_DECL std::string why_no_part(task_here const& theirs, task_here const& ours) {
  if (theirs.task == ours.task && theirs.task != 0 && theirs.features == ours.features) return theirs.first_ns > 0 ? "" : "it could measure nothing";
  if (theirs.machine != ours.machine)
    return joined({"its machine is another one, for which the rules make other schedules: ", theirs.machine, "; that of rank 0: ", ours.machine,
                   ". Start the ranks on machines of one kind, with as many threads each (mpirun --host, --map-by), and tune on the others by themselves"});
  if (theirs.features != ours.features)
    return joined({"its processor has other instructions than that of rank 0, though both are ", ours.machine,
                   ". Start the ranks on machines of one kind (mpirun --host), and tune on the others by themselves"});
  return "its task is another one on a machine of the same kind: call tune_on_ranks with the same kernel and arguments of the same shapes on all ranks";
}

}  // namespace detail
}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
