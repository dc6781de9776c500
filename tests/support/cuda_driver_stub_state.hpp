// What the stub of a CUDA driver has recorded, and what it is told; see cuda_driver_stub.hpp.
struct stub_launch {
  char kernel[128];
  unsigned blocks[3], threads[3], shared_bytes;
  void* stream;
};
struct stub_state {
  long long launches, allocations, frees, synchronized, copies, context_depth, libraries;
  int fail_allocation, fail_launch, fail_copy_back, fail_kernel;  // the result of the next one; fail_kernel: of a library's
  int fail_context;                  // of all that push one
  int capturing;                     // of all streams: CUstreamCaptureStatus
  int attributes[32];                // of kernels, by number, as they were set last
  unsigned long long kept_by_pool[2];  // in bytes, by device
  double event_ms;                   // what lies between two events; 0: what the clock says
  void* event_stream;                // of the last one
  int lines;                         // how many libraries have those of their text
  stub_launch last;
  void (*run)(stub_launch const*, void** parameters);
};
