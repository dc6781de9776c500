// Parts of a trial in processes of their own, several at a time: a kernel that faults or hangs ends its process, and the part goes on behind it.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace trial {

/// Where a part is: written by its process, read by the one that waits for it.
struct part_progress {
  std::atomic<int> at{0};         // the kernel that runs, or ran last
  std::atomic<bool> runs{false};  // on the GPU; else something is compiled or computed on the host
  std::atomic<int> wrong{0};
  std::atomic<bool> done{false};
};
/// Something to judge, from kernel `from` on.
struct part {
  std::string what;
  std::function<void(part_progress& p, int from)> judge;
};

/// Runs all parts, as many at a time as there are processors, and prints what each says in their order. A kernel that has run for `most_s` seconds is ended;
/// behind it, as behind one that ended its process, the part goes on. What is not done after `seconds` is no pass. The result: how many are wrong or not judged.
///
/// Needs   the GPU not to be in use by this process yet, as a fork could not use it
inline int judge_parts(std::vector<part> const& parts, double seconds, double most_s = 30) {
  using clock = std::chrono::steady_clock;
  struct running {
    part_progress* progress = nullptr;
    std::FILE* said = nullptr;
    pid_t process = -1;
    int last = -1;
    clock::time_point since{};
    bool began = false, ended = false;
  };
  auto const start = clock::now();
  auto const after = [](clock::time_point t) { return std::chrono::duration<double>(clock::now() - t).count(); };
  std::vector<running> all(parts.size());
  for (running& r : all) {
    void* const shared = mmap(nullptr, sizeof(part_progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    r.said = std::tmpfile();
    if (shared == MAP_FAILED || r.said == nullptr) return std::perror("bench/gpu"), 1;
    r.progress = new (shared) part_progress;
  }
  std::size_t const most = std::max(1u, std::thread::hardware_concurrency());
  auto const begin = [&](std::size_t i, int from) {
    running& r = all[i];
    std::fflush(nullptr);
    r.began = true, r.last = -1, r.since = clock::now();
    r.process = fork();
    if (r.process != 0) return;
    dup2(fileno(r.said), 1), dup2(fileno(r.said), 2);
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what was said is there where the process ends
    parts[i].judge(*r.progress, from);
    r.progress->done = true;
    std::fflush(nullptr);
    _exit(0);
  };
  auto const look = [&](std::size_t i) {
    running& r = all[i];
    int status = 0;
    bool const over = after(start) > seconds;
    if (r.progress->at != r.last || !r.progress->runs) r.last = r.progress->at, r.since = clock::now();
    bool const hangs = after(r.since) > most_s;
    if (over || hangs) kill(r.process, SIGKILL);
    if (waitpid(r.process, &status, over || hangs ? 0 : WNOHANG) == 0) return;
    r.ended = true;
    if (r.progress->done) return;
    ++r.progress->wrong;
    if (over) return void(dprintf(fileno(r.said), "%s: not judged to its end, as the time is over\n", parts[i].what.c_str()));
    dprintf(fileno(r.said), "WRONG %s: kernel %d %s\n", parts[i].what.c_str(), r.progress->at.load(), hangs ? "hangs, and was ended" : "ended the process");
    if (r.progress->runs.exchange(false)) r.ended = false, begin(i, r.progress->at + 1);
  };
  int wrong = 0;
  std::size_t printed = 0;
  while (printed < parts.size()) {
    std::size_t running_now = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (all[i].began && !all[i].ended) look(i);
      if (!all[i].began && running_now < most) begin(i, 0);
      running_now += all[i].began && !all[i].ended;
    }
    for (; printed < parts.size() && all[printed].ended; ++printed) {
      std::rewind(all[printed].said);
      char line[4096];
      while (std::fgets(line, sizeof line, all[printed].said) != nullptr) std::fputs(line, stdout);
      std::fflush(stdout);
      std::fclose(all[printed].said);
      wrong += all[printed].progress->wrong;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return wrong;
}

}  // namespace trial
