// weft-worker: where candidates of weft::tune run when WEFT_WORKER, or tune_options::worker_program, names it. For programs that have threads
// of their own, and whose main cannot call weft::worker.
#include <cstdio>

#include "weft/tune/worker.hpp"

int main(int argc, char** argv) {
  if (weft::worker(argc, argv)) return 0;
  std::puts("weft-worker: runs candidates for weft::tune, which starts it where WEFT_WORKER is its path; by itself it does nothing");
  return argc > 1 ? 2 : 0;
}
