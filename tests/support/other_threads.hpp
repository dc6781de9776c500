// A process with threads: of weft's own, and of somebody else's.
#pragma once

#include <thread>

#include "weft/runtime/thread_pool.hpp"

namespace weft_test {

/// A thread that is not weft's, as long as it lives.
class thread_of_another {
 public:
  thread_of_another() : thread_([this] { while (!__atomic_load_n(&ends_, __ATOMIC_ACQUIRE)) std::this_thread::yield(); }) {}
  ~thread_of_another() {
    __atomic_store_n(&ends_, true, __ATOMIC_RELEASE);
    thread_.join();
  }

 private:
  bool ends_ = false;
  std::thread thread_;
};
/// Threads of weft's, which wait.
class waiting_pool {
 public:
  explicit waiting_pool(int threads) : pool_(threads) {
    pool_.run(threads, [](void*, std::int64_t, std::int64_t, std::int64_t) {}, nullptr);
  }

 private:
  weft::runtime::thread_pool pool_;
};

}  // namespace weft_test
