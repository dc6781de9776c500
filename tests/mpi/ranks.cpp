// Tunes a product on all ranks; with `--lose`, the last of them ends in the middle, with `--lose 0` the first; with `--mixed` it makes code for another processor; with `--gpu` on the GPUs of
// the driver that is there, with `--gpu own` each on one that it asks for; with `--fails N` rank N cannot begin; with `--late` the last one comes
// when it is no longer waited for. What became of it goes to stdout.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "weft/tune.hpp"
#include "weft/tune/cuda.hpp"
#include "weft/tune/mpi.hpp"
#include "weft/weft.hpp"

namespace {
inline constexpr auto product = weft::kernel<"product">([](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
});
inline constexpr auto grown = weft::kernel<"grown">([](auto x) {
  return weft::compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * 2.0f; });
});
/// Which GPU each rank takes, and whether it takes part.
int on_gpus(int rank, bool own_gpus) {
  weft::tensor<float, 2> a(64, 64), b(64, 64);
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i) a.data()[i] = static_cast<float>(i % 13);
  weft::tune_options options;
  options.trials = 3, options.compilers = 0, options.keep = false;
  weft::tune_result const r = weft::tune_on_ranks({}, grown.on(weft::cuda(own_gpus ? rank % 2 : 0)), options, a, weft::out(b));
  std::printf("rank %d of 0: trials %zu device %d starts %d\n", rank, r.trials.size(), r.device, static_cast<int>(r.worker_starts));
  if (rank == 0) std::printf("refused: %s\n", r.refused.c_str());
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
/// One rank cannot begin; then all tune once more.
int with_a_fault(int rank, int faulty) {
  weft::tensor<float, 2> a(64, 64), b(64, 64);
  weft::tune_options options;
  options.trials = 4, options.keep = false;
  weft::tune_options wrong = options;
  if (rank == faulty) wrong.worker = weft::tuning::isolation::program, ::unsetenv("WEFT_WORKER");
  std::string why, refused;
  try {
    weft::tune_result const r = weft::tune_on_ranks({}, product, wrong, a, b);
    why = r.why, refused = r.refused;
  } catch (weft::error const& e) {
    why = std::string("thrown: ") + e.what();
  }
  weft::tune_result const again = weft::tune_on_ranks({}, product, options, a, b);
  std::printf("why %d: %s\n", rank, why.c_str());
  if (rank == 0) std::printf("refused: %s\n", refused.c_str());
  std::printf("rank %d of 0: trials %zu starts %d\n", rank, again.trials.size(), static_cast<int>(again.worker_starts));
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
/// The last rank comes when the others have given it up; then all tune once more.
int with_a_late_one(int rank, int size) {
  weft::tensor<float, 2> a(64, 64), b(64, 64);
  weft::tune_options options;
  options.trials = 4, options.keep = false;
  if (rank == size - 1) ::sleep(4);
  weft::rank_options impatient;
  impatient.patience = 2;
  weft::tune_result const r = weft::tune_on_ranks(impatient, product, options, a, b);
  options.trials = 8;
  weft::tune_result const again = weft::tune_on_ranks({}, product, options, a, b);
  std::printf("why %d: %s\n", rank, r.why.c_str());
  std::printf("rank %d of 0: first %zu trials %zu\n", rank, r.trials.size(), again.trials.size());
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  if (weft::worker(argc, argv)) return 0;
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && std::string_view(argv[1]) == "--gpu") return on_gpus(rank, argc > 2);
  if (argc > 2 && std::string_view(argv[1]) == "--fails") return with_a_fault(rank, std::atoi(argv[2]));
  if (argc > 1 && std::string_view(argv[1]) == "--late") return with_a_late_one(rank, size);
  bool const lose = argc > 1 && std::string_view(argv[1]) == "--lose";
  weft::tensor<float, 2> a(64, 64), b(64, 64), c(64, 64);
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i) a.data()[i] = static_cast<float>(i % 13) - 6, b.data()[i] = static_cast<float>(i % 7) - 3;

  weft::tune_options options;
  options.trials = lose ? 100000 : 24;
  options.seconds = lose ? 6 : 60;
  if (lose && rank == (argc > 2 ? std::atoi(argv[2]) : size - 1)) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(3);  // no rank is there any more after it, whatever it does
  }
  bool const mixed = argc > 1 && std::string_view(argv[1]) == "--mixed";
  weft::tune_result const r = mixed && rank == size - 1 ? weft::tune_on_ranks({}, product.on(weft::x86_64_sse2()), options, a, b)
                                                        : weft::tune_on_ranks({}, product, options, a, b);
  int lost = 0, wrong = 0;
  for (weft::tune_trial const& t : r.trials) {
    lost += t.why.find("was lost") != std::string::npos;
    wrong += t.wrong;
  }
  // All ranks use what was found.
  product(a, b, weft::out(c));
  float sum = 0;
  for (std::int64_t k = 0; k < 64; ++k) sum += a(3, k) * b(k, 5);
  bool const used = weft::schedule_reason(product, a, b).find("tuned for these arguments") == 0;
  std::printf("rank %d of %d: trials %zu lost %d wrong %d kept %d used %d right %d starts %d\n", rank, size, r.trials.size(), lost, wrong,
              r.kept, used, c(3, 5) == sum, static_cast<int>(r.worker_starts));
  if (rank == 0) std::printf("%s\nrefused: %s\n", r.why.c_str(), r.refused.c_str());
  else if (r.kept == false) std::printf("why %d: %s\n", rank, r.why.c_str());
  std::fflush(stdout);
  if (lose) ::_exit(0);  // MPI_Finalize would wait for who is gone
  MPI_Finalize();
  return 0;
}
