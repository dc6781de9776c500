// The oneTBB side of fork_join; BENCH_TBB where there is one.
#include "fork_join.hpp"

#ifdef BENCH_TBB
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace bench {
#ifdef BENCH_TBB
bool tbb_loop(std::int64_t times, int threads, void (*body)(std::int64_t)) {
  // At its best: the arena is entered once, and pieces are handed out without stealing.
  static tbb::task_arena one(1), two(2);
  (threads == 1 ? one : two).execute([&] {
    while (times-- > 0) tbb::parallel_for(std::int64_t(0), std::int64_t(2), body, tbb::static_partitioner());
  });
  return true;
}
#else
bool tbb_loop(std::int64_t, int, void (*)(std::int64_t)) { return false; }
#endif
}  // namespace bench
