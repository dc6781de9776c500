#include "weft/base/joined.hpp"
#include "weft/bench/cuda.hpp"
#include "weft/runtime/cuda/events.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void bench::refuse_cold(std::string_view name, measuring const& how) {
  if (how.cold)
    WEFT_THROW(argument_error(joined({name, ": benchmark: cold fills the caches of the CPU, not those of a GPU: leave it out, and take arguments that are larger than the GPU's L2 (hot caches hold none of them then)"})));
}
WEFT_DECL benchmark_result bench::of_gpu_kernel(std::string_view name, counts const& done, gpu_calls const& calls, measuring const& how) {
  runtime::cuda_gpu const& gpu = runtime::open_gpu(calls.device);
  runtime::gpu_scope const here(gpu);
  struct context {
    gpu_calls const& calls;
    runtime::cuda_events const events;
  } c{calls, runtime::cuda_events(gpu, static_cast<runtime::cuda_driver::stream>(calls.stream))};
  timed_work const work{nullptr, &c, [](void* of, std::int64_t times) {
                          auto const& by = *static_cast<context const*>(of);
                          by.events.record(0);
                          by.calls.run(by.calls.context, times);
                          by.events.record(1);
                          return by.events.ns();
                        }};
  benchmark_result r;
  benchmark_line line;
  line.name = std::string(name), line.done = done, line.threads = 0, line.by_events = true;
  line.time = measure({work}, how)[0];
  r.lines.push_back(line);
  return r;
}

}  // namespace weft::inline WEFT_ABI
