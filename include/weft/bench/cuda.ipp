#include "weft/base/joined.hpp"
#include "weft/bench/cuda.hpp"
#include "weft/runtime/cuda/events.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void bench::refuse_cold(std::string_view name, measuring const& how) {
  if (how.cold)
    WEFT_THROW(argument_error(joined({name, ": benchmark: cold fills the caches of the CPU, not those of a GPU: leave it out, and take arguments that are larger than the GPU's L2 (hot caches hold none of them then)"})));
}
WEFT_DECL double bench::ns_by_events(gpu_calls const& calls, std::int64_t times) {
  runtime::cuda_gpu const& gpu = runtime::open_gpu(calls.device);
  runtime::gpu_scope const here(gpu);
  runtime::cuda_events const events(gpu, static_cast<runtime::cuda_driver::stream>(calls.stream));
  events.record(0);
  calls.run(calls.context, times);
  events.record(1);
  return events.ns();
}
WEFT_DECL benchmark_result bench::of_gpu_kernel(std::string_view name, counts const& done, gpu_calls const& calls, measuring const& how) {
  gpu_calls same = calls;
  timed_work const work{nullptr, &same, [](void* of, std::int64_t times) { return ns_by_events(*static_cast<gpu_calls const*>(of), times); }};
  benchmark_result r;
  benchmark_line line;
  line.name = std::string(name), line.done = done, line.threads = 0, line.by_events = true;
  line.time = measure({work}, how)[0];
  r.lines.push_back(line);
  return r;
}

}  // namespace weft::inline WEFT_ABI
