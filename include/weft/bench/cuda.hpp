// How long a kernel takes on a GPU, by events of CUDA.
#pragma once

#include "weft/bench/benchmark.hpp"
#include "weft/cuda.hpp"

namespace weft::inline WEFT_ABI {
namespace bench {

/// Calls that go to a stream of a GPU.
struct gpu_calls {
  void (*run)(void* context, std::int64_t times) = nullptr;
  void* context = nullptr;
  int device = 0;
  void* stream = nullptr;
};
/// Errors  argument_error where caches are to be cold, which are filled on the CPU alone
void refuse_cold(std::string_view name, measuring const& how);
/// Fills in the counts of the one line that there is; its times are between two events on the stream.
///
/// Errors  device_error: what the driver says
benchmark_result of_gpu_kernel(std::string_view name, counts const& done, gpu_calls const& calls, measuring const& how);
/// The time between two events on the stream, with so many calls between them. Units: ns
///
/// Errors  device_error: what the driver says
double ns_by_events(gpu_calls const& calls, std::int64_t times);

/// What by_events makes.
template <class F>
class work_on_gpu {
 public:
  /// Nothing runs yet.
  work_on_gpu(cuda_device on, F f) : device_(on), f_(static_cast<F&&>(f)) {}
  /// Does it so often; before the first time once more, for what is compiled.
  double ns_of(std::int64_t times) {
    if (!compiled_) f_(), compiled_ = true;
    auto const run = [](void* f, std::int64_t n) {
      while (n-- > 0) (*static_cast<F*>(f))();
    };
    return ns_by_events({run, &f_, device_.number, device_.stream}, times);
  }

 private:
  cuda_device device_;
  F f_;
  bool compiled_ = false;
};
}  // namespace bench

/// For weft::compare: what `f` launches on the stream of this device, of weft or of others, is timed by the GPU's clock, between two events.
///
///     weft::compare({{"by rule", weft::by_events(weft::cuda(), [&] { by_rule(a, b, weft::out(c)); })},
///                    {"by hand", weft::by_events(weft::cuda(), [&] { by_hand(a, b, weft::out(c)); })}});
///
/// Needs   a stream that is not being captured
template <class F>
bench::work_on_gpu<F> by_events(cuda_device on, F f) {
  return {on, static_cast<F&&>(f)};
}

/// Times a kernel on a GPU with these arguments, which it is compiled for first; outputs are written. The time is that between two events on the kernel's
/// stream, by the GPU's clock: of tensors in the GPU's memory that of the launches, of those in the host's the copies, too.
///
///     std::cout << weft::benchmark(matmul.on(weft::cuda()), a, b, weft::out(c));
///
/// Needs   a weft::out(...) for each output; a stream that is not being captured
/// Errors  as of a call; argument_error where `how` asks for cold caches
/// Cost    half a second. The peaks of a GPU are not known, so there is no part of a roofline
template <fixed_string Name, class What, class How, class... A>
benchmark_result benchmark(measuring const& how, cuda_kernel_t<Name, What, How> const& k, A const&... a) {
  bench::refuse_cold(Name.view(), how);
  auto const call = [&] { k(a...); };
  call();
  auto const run = [](void* f, std::int64_t times) {
    while (times-- > 0) (*static_cast<decltype(call)*>(f))();
  };
  bench::counts const done =
      k.erased([](kernel_face const& f, argument* arguments, int) { return bench::counted(f.what(f.object), arguments); }, a...);
  return bench::of_gpu_kernel(Name.view(), done, {run, const_cast<void*>(static_cast<void const*>(&call)), k.device, k.stream}, how);
}
/// In the usual way.
template <fixed_string Name, class What, class How, class... A>
benchmark_result benchmark(cuda_kernel_t<Name, What, How> const& k, A const&... a) {
  return benchmark(measuring{}, k, a...);
}

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/bench/cuda.ipp"
#endif
