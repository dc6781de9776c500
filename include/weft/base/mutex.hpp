// A mutex without <mutex>, which costs each including TU as much as weft's own code of 10 KB.
#pragma once

#include <pthread.h>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

// Without a destructor, which would do nothing but end it: threads lock those of static objects until the process is gone.
class mutex {
 public:
  mutex() = default;
  mutex(mutex const&) = delete;
  mutex& operator=(mutex const&) = delete;
  void lock() { ::pthread_mutex_lock(&handle_); }
  bool try_lock() { return ::pthread_mutex_trylock(&handle_) == 0; }
  void unlock() { ::pthread_mutex_unlock(&handle_); }

 private:
  pthread_mutex_t handle_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Holds `m` for the length of a scope.
class guard {
 public:
  explicit guard(mutex& m) : m_(m) { m_.lock(); }
  guard(guard const&) = delete;
  guard& operator=(guard const&) = delete;
  ~guard() { m_.unlock(); }

 private:
  mutex& m_;
};

}  // namespace weft::inline WEFT_ABI
