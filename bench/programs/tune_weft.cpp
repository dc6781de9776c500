// weft's part in bench/tuner_peers.py: tunes CASE for SECONDS, says what came of it, and then takes a sample whenever a line comes.
//
//     tune_weft CASE SECONDS
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "weft/bench/measure.hpp"
#include "weft/tune.hpp"
#include "weft/weft.hpp"

namespace {
inline constexpr auto matmul = weft::kernel<"matmul">([](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
});
inline constexpr auto conv = weft::kernel<"conv">([](auto x, auto w) {
  return weft::compute<"y">(x.extent(0) - 2, x.extent(1) - 2, w.extent(3), [=](auto i, auto j, auto o) {
    return weft::sum(3, 3, x.extent(2), [=](auto a, auto b, auto c) { return x(i + a, j + b, c) * w(a, b, c, o); });
  });
});
inline constexpr auto softmax = weft::kernel<"softmax">([](auto x) {
  auto m = weft::compute<"m">(x.extent(0), [=](auto i) { return weft::max(x.extent(1), [=](auto k) { return x(i, k); }); });
  auto e = weft::compute<"e">(x.extent(0), x.extent(1), [=](auto i, auto j) { return weft::exp(x(i, j) - m(i)); });
  auto s = weft::compute<"s">(x.extent(0), [=](auto i) { return weft::sum(x.extent(1), [=](auto k) { return e(i, k); }); });
  return weft::compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return e(i, j) / s(i); });
});
/// What all contestants fill their inputs with.
template <std::size_t Rank, class... N>
weft::tensor<float, Rank> numbers(N... extents) {
  weft::tensor<float, Rank> t(extents...);
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.size()); ++i) t.data()[i] = static_cast<float>(i * 7 % 13) * 0.25f - 1.5f;
  return t;
}
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
    return serve(matmul, seconds, weft::tensor<float, 2>(n, n), numbers<2>(n, n), numbers<2>(n, n));
  }
  if (what == "conv") return serve(conv, seconds, weft::tensor<float, 3>(56, 56, 64), numbers<3>(58, 58, 64), numbers<4>(3, 3, 64, 64));
  if (what == "softmax") return serve(softmax, seconds, weft::tensor<float, 2>(512, 1024), numbers<2>(512, 1024));
  return std::fprintf(stderr, "tune_weft: no such case: %s\n", argv[1]), 2;
}
