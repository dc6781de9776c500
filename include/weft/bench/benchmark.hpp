// How long a kernel takes, and whether one thing is faster than another.
#pragma once

#include <memory>
#include <string>

#include "weft/bench/counts.hpp"
#include "weft/bench/measure.hpp"
#include "weft/kernel.hpp"

namespace weft::inline WEFT_ABI {

/// One line of a result. Units: ns, GFLOP/s and GB/s of 10^9.
struct benchmark_line {
  std::string name;
  bench::timing time;
  bench::counts done;          // 0: not known
  int threads = 1;             // that it may use; 0: a GPU's
  bool by_events = false;      // the time is a GPU's own (weft/bench/cuda.hpp)
  double peak_gflops = 0, peak_gbs = 0;  // of this machine on so many threads, for its types; 0: not known
  bench::ratio over_first;     // its time over that of the first line
  bench::outcome found = bench::outcome::same;

  /// 10^9 operations a second.
  double gflops() const { return time.median > 0 ? done.operations / time.median : 0; }
  /// 10^9 bytes a second.
  double gbs() const { return time.median > 0 ? done.bytes / time.median : 0; }
  /// The least time by the machine's peaks over its own: 1 is as fast as can be, unless the data is in a cache. 0: not known, as where
  /// there is arithmetic on other types than f32 and f64.
  double of_roofline() const;
};
/// What was measured, a line for each.
struct benchmark_result {
  sequence<benchmark_line> lines;
  /// A table for people.
  std::string text() const;
  /// An array, an object for each line.
  std::string json() const;
};
/// Writes `text()`.
template <class Stream>
Stream& operator<<(Stream& to, benchmark_result const& r) {
  to << r.text();
  return to;
}

namespace bench {
/// Work with a clock of its own: `ns_of(n)` does it n times, and says how long that took.
template <class F>
concept has_own_clock = requires(F& f, std::int64_t times) { double{f.ns_of(times)}; };
}  // namespace bench
/// Something that is compared: `{"by hand", [&] { f(x); }}`; on a GPU `{"by rule", weft::by_events(weft::cuda(), [&] { f(x); })}` of weft/bench/cuda.hpp.
class contestant {
 public:
  /// `f` is called over and over.
  template <class F>
  contestant(std::string name, F f) : name_(static_cast<std::string&&>(name)), object_(std::make_shared<F>(static_cast<F&&>(f))) {
    if constexpr (bench::has_own_clock<F>)
      own_clock_ = [](void* object, std::int64_t times) { return static_cast<F*>(object)->ns_of(times); };
    else
      run_ = [](void* object, std::int64_t times) {
        while (times-- > 0) (*static_cast<F*>(object))();
      };
  }
  /// As it was given.
  std::string const& name() const { return name_; }
  /// What `bench::measure` takes; of this one's callable.
  bench::timed_work work() const { return {run_, object_.get(), own_clock_}; }

 private:
  std::string name_;
  std::shared_ptr<void> object_;
  void (*run_)(void* object, std::int64_t times) = nullptr;
  double (*own_clock_)(void* object, std::int64_t times) = nullptr;
};

/// Times things side by side, and says of each whether it is faster or slower than the first, or whether that cannot be told.
///
///     std::cout << weft::compare({{"loop", [&] { loop(x, y); }}, {"weft", [&] { kernel(x, weft::out(y)); }}});
///
/// Errors  argument_error where caches are to be cold, and something has a clock of its own, which is a GPU's
/// Cost    half a second for each; of what takes longer than 45 ms 11 rounds, or as many as 2.5 s for each allow, and never fewer than 6 (bench::measure)
/// See     bench::judged
benchmark_result compare(std::initializer_list<contestant> all, measuring const& how = {});

namespace bench {
/// Fills in the counts, threads and peaks of the one line that there is.
benchmark_result of_kernel(std::string_view name, std::string const& steps, counts const& done, timed_work work,
                           measuring const& how);
}  // namespace bench

/// Times a kernel on these arguments, which it is compiled for first; outputs are written.
///
///     std::cout << weft::benchmark(matmul, a, b, weft::out(c));
///
/// Errors  as of `prepare`
/// Cost    half a second, of slow kernels as of `compare`; the first of a process a second or two more for the machine's peaks
template <fixed_string Name, class What, class How, class... A>
benchmark_result benchmark(measuring const& how, kernel_t<Name, What, How> const& k, A const&... a) {
  using types = typename kernel_t<Name, What, How>::template types_for<A...>;
  argument arguments[types::inputs + types::outputs];
  int input = 0, output = types::inputs;
  (detail::traits<A>::describe(a, arguments[detail::traits<A>::is_output ? output++ : input++]), ...);
  typename types::pair const lambdas{k.what, k.how};
  auto const call = [&, ready = k.prepare(a...)] { ready(a...); };
  auto const run = [](void* f, std::int64_t times) {
    while (times-- > 0) (*static_cast<decltype(call)*>(f))();
  };
  return bench::of_kernel(Name.view(), k.trace(a...), bench::counted(types::program_of(lambdas), arguments),
                           {run, const_cast<void*>(static_cast<void const*>(&call))}, how);
}
/// In the usual way.
template <fixed_string Name, class What, class How, class... A>
benchmark_result benchmark(kernel_t<Name, What, How> const& k, A const&... a) {
  return benchmark(measuring{}, k, a...);
}

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/bench/benchmark.ipp"
#endif
