#include "weft/runtime/executor.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/dim.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/verify.hpp"
#include "weft/weft.hpp"

namespace {

// Two parallel loops, with memory in between that the call lends.
inline constexpr auto blurred = weft::kernel<"blurred">(
    [](auto A) {
      auto S = weft::compute<"S">(A.extent(0), [=](auto i) { return 2 * A(i); });
      auto P = weft::repeat_edge(S);
      return weft::compute<"B">(A.extent(0), [=](auto i) { return P(i - 1) + P(i + 1); });
    },
    [](auto& s, auto, auto S, auto B) {
      s.parallel(S.axes()[0]);
      s.parallel(B.axes()[0]);
    });

std::vector<int> numbers(int count) {
  std::vector<int> v;
  for (int i = 0; i < count; ++i) v.push_back(i % 101 * (i % 101) % 101);
  return v;
}
std::vector<int> blur_of(std::vector<int> const& a) {
  std::vector<int> b(a.size(), -1);
  blurred(a, weft::out(b));
  return b;
}
std::vector<int> expected(std::vector<int> const& a) {
  std::vector<int> b;
  for (std::size_t i = 0; i < a.size(); ++i)
    b.push_back(2 * a[i > 0 ? i - 1 : 0] + 2 * a[i + 1 < a.size() ? i + 1 : i]);
  return b;
}

/// Weft's own pool again, whatever the test did.
struct own_pool_again {
  ~own_pool_again() { weft::set_executor({}); }
};

// A pool of the program's: threads that take work from a queue.
class queue_pool {
 public:
  explicit queue_pool(int threads) {
    for (int i = 0; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~queue_pool() {
    {
      std::lock_guard const hold(lock_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& w : workers_) w.join();
  }
  void post(std::function<void()> job) {
    {
      std::lock_guard const hold(lock_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }
  // The caller works too, and so a loop within a task of the pool ends even if all workers wait.
  static void run(void* context, int count, weft::executor::task task, void* data) {
    auto& pool = *static_cast<queue_pool*>(context);
    ++pool.loops;
    struct loop_state {
      std::atomic<int> next{0}, done{0};
    };
    auto const state = std::make_shared<loop_state>();
    auto const share = [=] {
      for (int i = 0; (i = state->next++) < count; ++state->done) task(data, i);
    };
    for (int i = 1; i < count; ++i) pool.post(share);
    share();
    while (state->done < count) std::this_thread::yield();
  }
  std::atomic<int> loops{0};

 private:
  void work() {
    for (;;) {
      std::unique_lock hold(lock_);
      changed_.wait(hold, [&] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      auto const job = std::move(jobs_.front());
      jobs_.pop_front();
      hold.unlock();
      job();
    }
  }
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

TEST_CASE("a loop with a limit of threads is no more tasks than that, each element computed once") {
  constexpr auto limited = weft::kernel<"limited">(
      [](auto A) { return weft::compute<"B">(A.extent(0), [=](auto i) { return A(i) + A(i); }); },
      [](auto& s, auto, auto B) { s.parallel(B.axes()[0], weft::thread_limit(3)); });
  own_pool_again const after;
  static int most = 0;
  weft::executor e{.threads = 8};
  e.run = [](void*, int count, weft::executor::task each, void* data) {
    most = count > most ? count : most;
    for (int i = count; i-- > 0;) each(data, i);
  };
  for (bool own : {false, true}) {
    weft::set_executor(own ? weft::executor() : e);
    for (int n : {1, 2, 3, 4, 7, 100, 1000}) {
      std::vector<int> const a = numbers(n);
      std::vector<int> b(a.size(), -1), open = b, want;
      for (int x : a) want.push_back(2 * x);
      limited(a, weft::out(b));
      limited(weft::view(a, weft::dim<"n">(n)), weft::out(open));
      CHECK(b == want);
      CHECK(open == want);
    }
  }
  CHECK(most == 3);
  std::vector<int> const a = numbers(10);
  std::string const text = limited.ir(a);
  CHECK(text.find("for i in 0..10 parallel 3:\n") != std::string::npos);
  weft::ir::arena m;
  weft::ir::function const f = weft::ir::parse(m, text);
  CHECK(weft::ir::print(f) == text);
  CHECK(weft::ir::verify(f) == "");
}
TEST_CASE("a loop with memory for each thread is as many tasks as there are threads, whose memory is not mixed up") {
  constexpr auto rows = weft::kernel<"rows_by_threads">(
      [](auto A) {
        auto S = weft::compute<"S">(A.extent(0), A.extent(1), [=](auto i, auto j) { return 2 * A(i, j); });
        return weft::compute<"B">(A.extent(0), A.extent(1), [=](auto i, auto j) { return S(i, j) + S(i, A.extent(1) - 1 - j); });
      },
      [](auto& s, auto, auto S, auto B) {
        auto [i, j] = B.axes();
        s.parallel(i);
        s.compute_at(S, i);
      });
  own_pool_again const after;
  weft::target machine = weft::host();
  machine.threads = 3;
  constexpr int n = 40, m = 20000;  // a row is larger than what stands on the stack
  auto const a = numbers(n * m);
  std::vector<int> want(a.size());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) want[static_cast<std::size_t>(i * m + j)] = 2 * a[static_cast<std::size_t>(i * m + j)] + 2 * a[static_cast<std::size_t>(i * m + m - 1 - j)];
  auto const kernel = rows.on(machine);
  CHECK(kernel.ir(weft::view(a, n, m)).find("S: i32[1, 20000] strides [20000, 1] in heap of 3 threads") != std::string::npos);
  static std::atomic<int> most;
  most = 0;
  queue_pool pool(7);
  weft::executor queue{.context = &pool, .threads = 100};
  queue.run = [](void* context, int count, weft::executor::task task, void* data) {
    most = count;
    queue_pool::run(context, count, task, data);
  };
  for (bool own : {true, false}) {
    weft::set_executor(own ? weft::executor() : queue);
    for (int round = 0; round < 4; ++round) {
      std::vector<int> b(a.size(), -1), open = b;
      kernel(weft::view(a, n, m), weft::out(b, n, m));
      CHECK(b == want);
      kernel(weft::view(a, weft::dim<"n">(n), weft::dim<"m">(m)), weft::out(open, n, m));
      CHECK(open == want);
    }
  }
  CHECK(most == 3);
}
TEST_CASE("a kernel gives the same on threads of the program's own") {
  own_pool_again const after;
  queue_pool pool(3);
  for (int threads : {1, 2, 3, 16, 1000}) {
    weft::set_executor({queue_pool::run, &pool, threads});
    for (int count : {1, 2, 5, 100, 1001}) {
      pool.loops = 0;
      auto const a = numbers(count);
      CHECK(blur_of(a) == expected(a));
      CHECK(pool.loops == (threads == 1 || count == 1 ? 0 : 2));  // one task is its caller's
    }
  }
}
TEST_CASE("each task is asked for once, and their number is what was said") {
  own_pool_again const after;
  static std::vector<int> counts;
  counts.clear();
  weft::executor backwards;
  backwards.run = [](void*, int count, weft::executor::task task, void* data) {
    counts.push_back(count);
    for (int i = count; i-- > 0;) task(data, i);
  };
  backwards.threads = 7;
  weft::set_executor(backwards);
  CHECK(blur_of(numbers(100)) == expected(numbers(100)));
  CHECK(blur_of(numbers(5)) == expected(numbers(5)));
  CHECK(counts == std::vector<int>{7, 7, 5, 5});
  backwards.threads = 0;  // as many as weft's own pool would have
  weft::set_executor(backwards);
  counts.clear();
  CHECK(blur_of(numbers(100)) == expected(numbers(100)));
  int const own = weft::runtime::default_pool().threads();
  CHECK(counts == (own == 1 ? std::vector<int>{} : std::vector<int>{own, own}));
}
TEST_CASE("what was there before comes back, and {} is weft's own pool") {
  own_pool_again const after;
  queue_pool pool(1);
  weft::executor const mine{queue_pool::run, &pool, 2};
  CHECK(weft::set_executor(mine) == weft::executor{});
  CHECK(weft::set_executor({.threads = 1}) == mine);
  CHECK(blur_of(numbers(50)) == expected(numbers(50)));
  CHECK(weft::set_executor({}) == weft::executor{.threads = 1});
  CHECK(blur_of(numbers(50)) == expected(numbers(50)));
  CHECK(pool.loops == 0);
}
TEST_CASE("kernels that are called in tasks of the pool end, and so do those of many threads") {
  own_pool_again const after;
  queue_pool pool(2);
  weft::set_executor({queue_pool::run, &pool, 4});
  auto const a = numbers(300), want = expected(a);
  std::atomic<int> right{0}, ended{0};
  for (int i = 0; i < 20; ++i)
    pool.post([&] {
      right += blur_of(a) == want;
      ++ended;
    });
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) right += blur_of(a) == want;
    });
  for (std::thread& c : callers) c.join();
  while (ended < 20) std::this_thread::yield();
  CHECK(right == 80);
}
TEST_CASE("what the program's pool throws leaves the call, after the kernel has ended; the next call is whole") {
  own_pool_again const after;
  static int loops = 0;
  loops = 0;
  weft::executor failing{.threads = 4};
  failing.run = [](void*, int, weft::executor::task task, void* data) {
    task(data, 0);
    ++loops;
    throw std::runtime_error("the pool is closed");
  };
  weft::set_executor(failing);
  for (int i = 0; i < 3; ++i) CHECK_THROWS_WITH_AS(blur_of(numbers(100)), "the pool is closed", std::runtime_error);
  CHECK(loops == 3);  // the second loop of the kernel was not begun
  weft::set_executor({});
  CHECK(blur_of(numbers(100)) == expected(numbers(100)));
}
// What a kernel's call says when tasks of `threads` are asked for in this order.
std::string refusal_of(std::vector<int> const& order, int threads) {
  static std::vector<int> asked;
  asked = order;
  weft::executor e{.threads = threads};
  e.run = [](void*, int, weft::executor::task task, void* data) {
    for (int i : asked) task(data, i);
  };
  weft::set_executor(e);
  try {
    blur_of(numbers(1000));
  } catch (weft::device_error const& why) {
    return why.what();
  }
  return "";
}
TEST_CASE("an executor that leaves out a task, asks for one twice or for one that is not there, is named") {
  own_pool_again const after;
  std::string const rule = "; it must call each index from 0 once, and return after the last one";
  CHECK(refusal_of({3, 1, 0, 2}, 4) == "");
  CHECK(refusal_of({1, 2, 3}, 4) == "the executor's run did 3 of 4 tasks" + rule);
  CHECK(refusal_of({}, 4) == "the executor's run did 0 of 4 tasks" + rule);
  CHECK(refusal_of({0, 1, 1, 3}, 4) == "the executor's run did 3 of 4 tasks, 1 again" + rule);  // as many as there are
  CHECK(refusal_of({0, 0, 0, 0}, 4) == "the executor's run did 1 of 4 tasks, 0 again" + rule);
  CHECK(refusal_of({1, 2, 3, 4}, 4) == "the executor's run did 3 of 4 tasks, and there is no 4" + rule);
  CHECK(refusal_of({-1, 1, 2, 3}, 4) == "the executor's run did 3 of 4 tasks, and there is no -1" + rule);
  CHECK(refusal_of({0, 1, 2, 3, 2}, 4) == "the executor's run did 4 of 4 tasks, 2 again" + rule);
  std::vector<int> many(1000);
  for (int i = 0; i < 1000; ++i) many[static_cast<std::size_t>(i)] = 999 - i;
  CHECK(refusal_of(many, 1000) == "");
  many[700] = many[3];
  CHECK(refusal_of(many, 1000) == "the executor's run did 999 of 1000 tasks, 996 again" + rule);
  CHECK_THROWS_AS(weft::set_executor({.threads = -1}), weft::argument_error);
}
TEST_CASE("a task that is asked for twice is done once, on however many threads") {
  own_pool_again const after;
  static std::atomic<int> counted;
  weft::executor twice{.threads = 100};
  twice.run = [](void*, int count, weft::executor::task task, void* data) {
    auto const all = [=] {
      for (int i = 0; i < count; ++i) task(data, i);
    };
    std::thread other(all);
    all();
    other.join();
    counted += count;
  };
  weft::set_executor(twice);
  auto const a = numbers(1000);
  std::vector<int> b(a.size());
  CHECK_THROWS_AS(blurred(a, weft::out(b)), weft::device_error);
  CHECK(counted == 100);  // the second loop was not begun
}
TEST_CASE("a loop is cut into 4096 tasks at most") {
  own_pool_again const after;
  static int most;
  most = 0;
  weft::executor fine{.threads = 1 << 20};
  fine.run = [](void*, int count, weft::executor::task task, void* data) {
    most = count;
    for (int i = 0; i < count; ++i) task(data, i);
  };
  weft::set_executor(fine);
  auto const a = numbers(5000);
  CHECK(blur_of(a) == expected(a));
  CHECK(most == 4096);
}
TEST_CASE("a prepared kernel and one that returns its result use the executor of the moment") {
  own_pool_again const after;
  queue_pool pool(1);
  auto const a = numbers(64);
  std::vector<int> b(64);
  auto const ready = blurred.prepare(a, weft::out(b));
  weft::set_executor({queue_pool::run, &pool, 2});
  ready(a, weft::out(b));
  CHECK(b == expected(a));
  auto const other = numbers(96);  // the loops of 64 are known as short
  auto const made = blurred(other);
  CHECK(std::vector<int>(made.begin(), made.end()) == expected(other));
  CHECK(pool.loops == 4);
}
TEST_CASE("loops that are known as short are their caller's, long ones are always handed over") {
  own_pool_again const after;
  queue_pool pool(1);
  weft::set_executor({queue_pool::run, &pool, 2});
  auto const few = numbers(64), many = numbers(2000000), of_many = expected(many);
  for (int i = 0; i < 3; ++i) CHECK(blur_of(many) == of_many);
  CHECK(pool.loops == 6);
  pool.loops = 0;
  for (int i = 0; i < 500; ++i) CHECK(blur_of(few) == expected(few));
  CHECK(pool.loops >= 2);
  CHECK(pool.loops < 900);  // a call that another program interrupts is long, and so are some behind it
  weft::set_executor({});
  weft::set_executor({queue_pool::run, &pool, 2});  // which knows of no loop
  pool.loops = 0;
  CHECK(blur_of(few) == expected(few));
  CHECK(pool.loops == 2);
}
TEST_CASE("after parallel kernels a child of a fork runs them too, on weft's own pool") {
  auto const a = numbers(5000), want = expected(a);
  CHECK(blur_of(a) == want);
  for (int round = 0; round < 3; ++round) {
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::alarm(60);  // a hang is a failure
      bool good = true;
      for (int i = 0; i < 20; ++i) good = good && blur_of(a) == want;
      ::_exit(good ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(blur_of(a) == want);
}

}  // namespace
