// A CUDA driver without a GPU, built as a shared object by the test that loads it: memory is the host's, a launch is recorded
// and handed to whoever said that he runs kernels. Free of the library.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <vector>

#include "cuda_driver_stub_state.hpp"

extern "C" {
stub_state stub;
struct stub_kernel {
  char name[128];
};
static std::vector<stub_kernel*>& kernels() {
  static std::vector<stub_kernel*> all;
  return all;
}
static int stub_number(char const* variable, int otherwise) {
  char const* const text = getenv(variable);
  return text != nullptr ? atoi(text) : otherwise;
}
/// What wants a context of the thread that calls it: CUDA_ERROR_INVALID_CONTEXT without one.
static int stub_in_context(int result = 0) { return stub.context_depth > 0 ? result : 201; }
int cuInit(unsigned) { return stub_number("WEFT_STUB_INIT", 0); }
int cuDriverGetVersion(int* v) { return *v = 1000 * stub_number("WEFT_STUB_DRIVER", 13), 0; }
int cuGetErrorName(int r, char const** name) { return *name = r == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_STUB", 0; }
int cuGetErrorString(int r, char const** text) { return *text = r == 2 ? "out of memory" : "the stub was told to fail", 0; }
int cuDeviceGetCount(int* n) { return *n = 2, 0; }
int cuDeviceGet(int* d, int number) { return *d = number, 0; }
int cuDeviceGetName(char* name, int bytes, int d) { return strncpy(name, d == 0 || getenv("WEFT_STUB_ALIKE") != nullptr ? "Stub 80" : "Stub 80 S", static_cast<size_t>(bytes)), 0; }
int cuDeviceGetAttribute(int* v, int a, int) {
  int const architecture = stub_number("WEFT_STUB_ARCHITECTURE", 80);
  return *v = a == 16 ? 108 : a == 38 ? 40 << 20 : a == 75 ? architecture / 10 : a == 76 ? architecture % 10 : a == 97 ? 166912 : 0, 0;
}
int cuDevicePrimaryCtxRetain(void** c, int d) { return *c = reinterpret_cast<void*>(0x1000ll + d), 0; }
int cuCtxPushCurrent_v2(void*) { return stub.fail_context != 0 ? stub.fail_context : (++stub.context_depth, 0); }
int cuCtxPopCurrent_v2(void**) { return --stub.context_depth, 0; }
int cuLibraryLoadData(void** l, void const* code, int*, void**, unsigned, int*, void**, unsigned) {
  if (memcmp(code, "\177ELF", 4) != 0) return 200;
  return *l = &stub, ++stub.libraries, 0;
}
int cuLibraryUnload(void*) { return --stub.libraries, 0; }
int cuLibraryGetKernel(void** k, void*, char const* name) {
  if (int const r = stub.fail_kernel; r != 0) return stub.fail_kernel = 0, r;
  auto* const made = new stub_kernel{};
  strncpy(made->name, name, sizeof made->name - 1);
  kernels().push_back(made);
  return *k = made, 0;
}
int cuKernelSetAttribute(int attribute, int value, void*, int) { return stub.attributes[attribute] = value, 0; }
int cuLaunchKernel(void* f, unsigned bx, unsigned by, unsigned bz, unsigned tx, unsigned ty, unsigned tz, unsigned shared,
                   void* stream, void** parameters, void**) {
  if (int const r = stub_in_context(); r != 0) return r;
  if (int const r = stub.fail_launch; r != 0) return stub.fail_launch = 0, r;
  ++stub.launches;
  stub.last = {{}, {bx, by, bz}, {tx, ty, tz}, shared, stream};
  memcpy(stub.last.kernel, static_cast<stub_kernel*>(f)->name, sizeof stub.last.kernel);
  if (stub.run != nullptr) stub.run(&stub.last, parameters);
  return 0;
}
static int stub_allocate(unsigned long long* a, size_t bytes) {
  if (int const r = stub_in_context(); r != 0) return r;
  if (int const r = stub.fail_allocation; r != 0) return stub.fail_allocation = 0, r;
  void* const p = aligned_alloc(256, (bytes + 255) / 256 * 256);
  memset(p, 0xff, bytes);
  ++stub.allocations;
  return *a = reinterpret_cast<unsigned long long>(p), 0;
}
static int stub_free(unsigned long long a) {
  if (int const r = stub_in_context(); r != 0) return r;
  return free(reinterpret_cast<void*>(a)), ++stub.frees, 0;
}
static int stub_copy(void* to, void const* from, size_t bytes) {
  if (int const r = stub_in_context(); r != 0) return r;
  return memcpy(to, from, bytes), ++stub.copies, 0;
}
int cuMemAllocAsync(unsigned long long* a, size_t bytes, void*) { return stub_allocate(a, bytes); }
int cuMemAlloc_v2(unsigned long long* a, size_t bytes) {
  if (stub.capturing != 0) return stub.capturing = 2, 900;  // it ends the capture
  return stub_allocate(a, bytes);
}
int cuMemGetInfo_v2(size_t* free, size_t* all) { return *free = 3 << 20, *all = 5 << 20, 0; }
int cuMemFreeAsync(unsigned long long a, void*) { return stub_free(a); }
int cuMemFree_v2(unsigned long long a) { return stub_free(a); }
int cuDeviceGetDefaultMemPool(void** pool, int device) { return *pool = &stub.kept_by_pool[device], 0; }
int cuMemPoolGetAttribute(void* pool, int attribute, void* value) {
  if (attribute != 4) return 1;
  return memcpy(value, pool, 8), 0;
}
int cuMemPoolSetAttribute(void* pool, int attribute, void* value) {
  if (attribute != 4) return 1;
  return memcpy(pool, value, 8), 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, void const* from, size_t bytes, void*) {
  return stub_copy(reinterpret_cast<void*>(to), from, bytes);
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void*) {
  if (int const r = stub.fail_copy_back; r != 0) return stub.fail_copy_back = 0, r;
  return stub_copy(to, reinterpret_cast<void*>(from), bytes);
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void*) {
  return stub_copy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
}
int cuStreamSynchronize(void*) { return ++stub.synchronized, stub_in_context(); }
int cuStreamIsCapturing(void*, int* status) { return *status = stub.capturing, 0; }
// A launch has ended when it returns: an event is the time of its record.
int cuEventCreate(void** e, unsigned) { return *e = calloc(1, sizeof(timespec)), stub_in_context(); }
int cuEventRecord(void* e, void* stream) {
  return stub.event_stream = stream, stub_in_context(clock_gettime(CLOCK_MONOTONIC, static_cast<timespec*>(e)));
}
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime(float* ms, void* from, void* to) {
  if (stub.event_ms > 0) return *ms = static_cast<float>(stub.event_ms), 0;
  auto const *a = static_cast<timespec*>(from), *b = static_cast<timespec*>(to);
  return *ms = static_cast<float>(1e3 * static_cast<double>(b->tv_sec - a->tv_sec) + 1e-6 * static_cast<double>(b->tv_nsec - a->tv_nsec)), 0;
}
int cuEventDestroy_v2(void* e) { return free(e), 0; }
}
