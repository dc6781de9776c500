// The time between two points of a stream, by the GPU's own clock.
#pragma once

#include "weft/runtime/cuda/driver.hpp"

namespace weft::inline WEFT_ABI {
namespace runtime {

/// Two events of CUDA on a stream: `record(0)`, launches, `record(1)`, `ns()`. What the host does meanwhile is not in it, unless the GPU waits for that.
///
/// Needs   a gpu_scope
/// Errors  device_error: what the driver says, also of the launches between them
class cuda_events {
 public:
  explicit cuda_events(cuda_gpu const& gpu, cuda_driver::stream on = nullptr) : gpu_(gpu), stream_(on) {
    for (auto& e : events_) {
      int const result = gpu_.driver->cuEventCreate(&e, 0);
      if (result == 0) continue;
      e = nullptr;
      destroy();  // a constructor that throws leaves nothing to the destructor
      gpu_.check(result, "weft", "cuEventCreate");
    }
  }
  cuda_events(cuda_events const&) = delete;
  cuda_events& operator=(cuda_events const&) = delete;
  ~cuda_events() { destroy(); }
  /// The first (0) or the last (1) point.
  void record(int which) const { gpu_.check(gpu_.driver->cuEventRecord(events_[which], stream_), "weft", "cuEventRecord"); }
  /// Waits for the last one. Units: ns, at least 1
  double ns() const {
    float ms = 0;
    gpu_.check(gpu_.driver->cuEventSynchronize(events_[1]), "weft", "running it");
    gpu_.check(gpu_.driver->cuEventElapsedTime(&ms, events_[0], events_[1]), "weft", "cuEventElapsedTime");
    return ms > 0 ? 1e6 * static_cast<double>(ms) : 1;
  }

 private:
  void destroy() const {
    for (auto e : events_)
      if (e != nullptr) gpu_.driver->cuEventDestroy_v2(e);
  }
  cuda_gpu const& gpu_;
  cuda_driver::stream stream_;
  cuda_driver::event events_[2] = {};
};

}  // namespace runtime
}  // namespace weft::inline WEFT_ABI
