// weft's part in bench/tuner_peers.py: tunes CASE for SECONDS, says what came of it, and then takes a sample whenever a line comes.
//
//     tune_weft CASE SECONDS
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../plain_kernels.hpp"
#include "weft/bench/measure.hpp"
#include "weft/tune.hpp"
#include "weft/weft.hpp"

namespace {
using namespace bench;
template <class Kernel, class Out, class... In>
int serve(Kernel const& kernel, double seconds, Out out, In const&... in) {
  weft::tune_options options;
  options.trials = 1000000, options.seconds = seconds, options.keep = true;
  weft::tune_result const r = weft::tune(kernel, options, in..., weft::out(out));
  auto const call = kernel.prepare(in..., weft::out(out));
  call(in..., weft::out(out));
  double sum = 0, size = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(out.size()); ++i)
    sum += static_cast<double>(out.data()[i]) * static_cast<double>(i % 5), size += std::abs(static_cast<double>(out.data()[i]));
  std::printf("ready trials %zu seconds %.1f sum %.9g size %.9g without %.3f\n", r.trials.size(), r.seconds, sum, size, r.first_ns / 1e3);
  std::fflush(stdout);
  for (char line[64]; std::fgets(line, sizeof line, stdin) != nullptr;) {
    // 50 ms, once more than is counted.
    std::int64_t times = 0;
    call(in..., weft::out(out));
    double const begin = weft::bench::now_ns();
    do {
      call(in..., weft::out(out));
      ++times;
    } while (weft::bench::now_ns() - begin < 50e6);
    std::printf("%.3f\n", (weft::bench::now_ns() - begin) / 1e3 / static_cast<double>(times));
    std::fflush(stdout);
  }
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  if (weft::worker(argc, argv)) return 0;
  if (argc != 3) return std::fprintf(stderr, "usage: tune_weft CASE SECONDS\n"), 2;
  std::string const what = argv[1];
  double const seconds = std::atof(argv[2]);
  if (what.rfind("matmul", 0) == 0) {
    std::int64_t const n = std::atoll(what.c_str() + std::strlen("matmul"));
    return serve(plain_product<"matmul">, seconds, weft::tensor<float, 2>(n, n), plain_numbers<2>(n, n), plain_numbers<2>(n, n));
  }
  if (what == "conv") return serve(plain_convolution<"conv">, seconds, weft::tensor<float, 3>(56, 56, 64), plain_numbers<3>(58, 58, 64), plain_numbers<4>(3, 3, 64, 64));
  if (what == "softmax") return serve(plain_softmax<"softmax">, seconds, weft::tensor<float, 2>(512, 1024), plain_numbers<2>(512, 1024));
  return std::fprintf(stderr, "tune_weft: no such case: %s\n", argv[1]), 2;
}
