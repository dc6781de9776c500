// Lesson 8: whose threads run the loops.
//
// A loop that a schedule marks parallel runs on weft's own pool: it starts with the first such loop, sleeps in between,
// and works in the child of a fork. A program that has threads of its own hands weft those instead; kernels, schedules
// and results stay as they are. With -fopenmp, OpenMP's are tried as well.
//
// runs: in under 5 s

#include <weft/runtime/executor.hpp>
#include <weft/weft.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

inline constexpr auto collatz = weft::kernel<"collatz">(  // eight steps of n -> n / 2 or 3 n + 1
    [](auto x) {
      return weft::compute<"y">(x.extent(0), [=](auto i) {
        auto step = [](auto n) { return weft::select(n % 2 == 0, n / 2, 3 * n + 1); };
        return step(step(step(step(step(step(step(step(x(i)))))))));
      });
    },
    [](auto& s, auto, auto y) { s.parallel(s.split(y.axes()[0], 64)[0]); });

// A pool as programs have them: threads that take jobs from a queue.
class job_queue {
 public:
  explicit job_queue(int threads) {
    for (int t = 0; t < threads; ++t) threads_.emplace_back([this] { work(); });
  }
  ~job_queue() {
    post(nullptr);
    for (std::thread& t : threads_) t.join();
  }
  void post(std::function<void()> job) {
    std::lock_guard const hold(lock_);
    jobs_.push_back(std::move(job));
    changed_.notify_one();
  }

 private:
  void work() {
    for (std::function<void()> job;; job()) {
      std::unique_lock hold(lock_);
      changed_.wait(hold, [&] { return !jobs_.empty(); });
      job = jobs_.front();
      if (!job) return changed_.notify_one();  // stays for the next thread
      jobs_.pop_front();
    }
  }
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
};

// [an executor over a queue of jobs]
std::atomic<int> tasks_done{0};
void run_by_queue(void* queue, int count, weft::executor::task task, void* data) {
  struct progress {
    std::atomic<int> next{0}, done{0};
  };
  auto const p = std::make_shared<progress>();
  auto const take = [=] {
    for (int i = 0; (i = p->next++) < count; ++p->done) task(data, i), ++tasks_done;
  };
  for (int i = 1; i < count; ++i) static_cast<job_queue*>(queue)->post(take);
  take();  // the caller works too, so this ends even when all threads of the pool are waiting here themselves
  while (p->done < count) std::this_thread::yield();
}
// [end]

int main() {
  std::vector<int> x(100000), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i);
  collatz(x, weft::out(y));  // on weft's own pool
  std::vector<int> const expected = y;
  bool all_right = y[27] == 142 && y[7] == 40;

  std::printf("%-28s %8s %8s   checked\n", "threads of", "at most", "tasks");
  auto const row = [&](char const* whose, weft::executor const& e) {
    weft::executor const before = weft::set_executor(e);
    tasks_done = 0;
    std::fill(y.begin(), y.end(), -1);
    collatz(x, weft::out(y));
    weft::set_executor(before);
    bool const right = y == expected;
    all_right = all_right && right;
    std::printf("%-28s %8d %8d   %s\n", whose, e.threads, tasks_done.load(), right ? "yes" : "WRONG");
  };
  row("weft's own pool", {});
  row("the same, no more than one", {.threads = 1});
  job_queue queue(3);
  row("a queue of the program's", {run_by_queue, &queue, 4});
  row("the same, smaller pieces", {run_by_queue, &queue, 64});
#ifdef _OPENMP
  // [OpenMP]
  weft::executor openmp{.threads = 4};
  openmp.run = [](void*, int count, weft::executor::task task, void* data) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < count; ++i) task(data, i), ++tasks_done;
  };
  row("OpenMP", openmp);
  // [end]
#endif

  // A kernel may be called from any thread, also from within the pool that runs its loops.
  weft::set_executor({run_by_queue, &queue, 4});
  std::atomic<int> right{0}, ended{0};
  for (int job = 0; job < 8; ++job)
    queue.post([&] {
      std::vector<int> mine(x.size());
      collatz(x, weft::out(mine));
      right += mine == expected;
      ++ended;
    });
  while (ended < 8) std::this_thread::yield();
  std::printf("\n%d of 8 calls in jobs of the queue itself gave the same\n", right.load());
  weft::set_executor({});

  // The child of a fork has one thread, whatever the parent had; weft's pool starts anew there.
  pid_t const child = ::fork();
  if (child == 0) {
    std::fill(y.begin(), y.end(), -1);
    collatz(x, weft::out(y));
    ::_exit(y == expected ? 0 : 1);
  }
  int status = 1;
  bool const forked = ::waitpid(child, &status, 0) == child && status == 0;
  std::printf("the child of a fork %s\n", forked ? "gave the same" : "FAILED");
  return all_right && right == 8 && forked ? 0 : 1;
}
