// The shim that runs CUDA text on the host finds what it is there to find: faults planted in a text by hand.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/cuda_host.hpp"

using weft_test::cuda_on_host;

namespace {

/// A block of 64 threads reverses its elements through shared memory; `FAULT` is what is planted.
constexpr char const* text = R"(
extern __shared__ __align__(1024) unsigned char weft_shared[];
extern "C" __global__ void __launch_bounds__(64) reversed(float const* A, float* B) {
  float* const row = (float*)weft_shared;
  int const b = blockIdx.x;
  int const tx = threadIdx.x;
#if FAULT == 5
  if (b == 0)
#endif
  row[tx] = A[b * 64 + tx];
#if FAULT == 1
#elif FAULT == 2
  if (tx < 32) __syncthreads();
#elif FAULT == 3
  if (tx < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
#else
#if FAULT != 9
  __syncthreads();
#endif
#endif
  float other = 0.0f;
#if FAULT == 6
  if (tx % 2 == 0) other = __shfl_xor_sync(0xffffffffu, row[tx], 2);
#elif FAULT == 7
  other = __shfl_xor_sync(0xffffffffu, row[tx], tx < 16 ? 1 : 2);
#elif FAULT == 8
  if (tx < 32) other = __shfl_xor_sync(0xffffffffu, row[tx], 2) - row[tx ^ 2];
#elif FAULT == 9
  other = __shfl_xor_sync(0xffffffffu, row[tx], 2) - row[tx ^ 2];
#endif
#if FAULT == 4
  row[64 + tx] = 0.0f;
#endif
  B[b * 64 + tx] = row[63 - tx] + other;
}
)";

/// The same, copied asynchronously in two turns of 32 elements, the second one while the first is read; `FAULT` as above.
constexpr char const* copying = R"(
extern __shared__ __align__(1024) unsigned char weft_shared[];
extern "C" __global__ void __launch_bounds__(64) reversed(float const* A, float* B) {
  float* const row = (float*)weft_shared;
  int const b = blockIdx.x, tx = threadIdx.x, lane = tx % 32;
  if (tx < 32) shim_copy(&row[lane], &A[b * 64 + lane], 4, 4);
#if FAULT != 2
  shim_commit();
#endif
  for (int k = 0; k < 2; ++k) {
#if FAULT == 1
    shim_wait_group(1);
#else
    shim_wait_group(0);
#endif
#if FAULT != 4
    __syncthreads();
#endif
    int const turn = FAULT == 3 ? 0 : 32;
    if (k == 0 && tx >= 32) shim_copy(&row[turn + lane], &A[b * 64 + 32 + lane], 4, 4);
    shim_commit();
    if (tx / 32 == 1 - k) B[b * 64 + tx] = row[(turn == 0 ? 0 : k * 32) + 31 - lane];
  }
}
)";
/// Two turns through one row of shared memory, by plain stores: what is read in the first may not be written over by the second.
constexpr char const* in_turns = R"(
extern __shared__ __align__(1024) unsigned char weft_shared[];
extern "C" __global__ void __launch_bounds__(64) reversed(float const* A, float* B) {
  float* const row = (float*)weft_shared;
  int const b = blockIdx.x, tx = threadIdx.x;
  float sum = 0.0f;
  for (int k = 1; k < 3; ++k) {
    row[tx] = (float)k * A[b * 64 + tx];
    __syncthreads();
    sum += row[63 - tx];
#if FAULT != 1
    __syncthreads();
#endif
  }
  B[b * 64 + tx] = sum / 3.0f;
}
)";
/// A warp multiplies 16 x 16 by 16 x 16 with one of the shim's instructions, operands from registers (LOADED 0) or by ldmatrix (1); `FAULT` is what
/// is wrong with the map from lanes to elements.
constexpr char const* multiplying = R"(
extern __shared__ __align__(1024) unsigned char weft_shared[];
extern "C" __global__ void __launch_bounds__(32) multiplied(float const* A, float* C) {
  float const* const B = A + 256;
  unsigned short* const half = (unsigned short*)weft_shared;  // A, then B
  int const lane = threadIdx.x;
  for (int e = lane; e < 512; e += 32) half[e] = shim_f16::narrow(A[e]);
  __syncthreads();
  int row = lane / 4, pair = lane % 4 * 2;
#if FAULT == 1
  row = lane % 8, pair = lane / 8 * 2;
#endif
  unsigned a[4], b[4];
#if LOADED == 1
  int const line = FAULT == 2 ? lane / 2 : lane % 16, part = FAULT == 2 ? lane % 2 * 8 : lane / 16 * 8;
  shim_ldmatrix(a, &half[line * 16 + part], FAULT == 3);
  shim_ldmatrix(b, &half[256 + line * 16 + part], FAULT != 4);
#else
  for (int r = 0; r < 4; ++r) {
    int const low = FAULT == 2 ? r / 2 * 8 : r % 2 * 8, high = FAULT == 2 ? r % 2 * 8 : r / 2 * 8;
    unsigned short const* const left = &half[(row + low) * 16 + pair + high];
    unsigned short const* const right = &half[256 + (pair + low) * 16 + row + high];
    a[r] = left[FAULT == 3] | (unsigned)left[FAULT != 3] << 16;
    b[r] = FAULT == 4 ? *(unsigned const*)&half[256 + (row + high) * 16 + pair + low] : right[0] | (unsigned)right[16] << 16;
  }
#endif
  float c[8] = {};
  shim_mma_f16_f32(c, a, b);
  for (int e = 0; e < 8; ++e) {
    int const i = row + (FAULT == 5 ? e / 4 : e / 2 % 2) * 8, j = pair + e % 2 + (FAULT == 5 ? e / 2 % 2 : e / 4) * 8;
    C[i * 16 + j] = c[e];
  }
}
)";
/// The same by fragments, of which a text knows no lane: FAULT 1 takes the sums for those of mma.sync, 2 adds to what it takes for the first
/// column, 3 leaves lanes out.
constexpr char const* fragments = R"(
extern "C" __global__ void __launch_bounds__(32) multiplied(float const* A, float* C) {
  unsigned short* const half = (unsigned short*)weft_shared;
  int const lane = threadIdx.x;
  for (int e = lane; e < 512; e += 32) half[e] = shim_f16::narrow(A[e]);
  __syncthreads();
  weft_wmma_f16_f32_a a = {};
  weft_wmma_f16_f32_b b;
  weft_wmma_f16_f32_c c;
  weft_wmma_f16_f32_fill(c, 0.0f);
  if (fault != 3 || lane % 2 == 0) weft_wmma_f16_f32_load_a_row(a, half, 16);
  weft_wmma_f16_f32_load_b_row(b, half + 256, 16);
  weft_wmma_f16_f32_multiply_row_row(c, a, b);
  if (fault == 2 && lane % 4 == 0) c.x[0] += 1.0f, c.x[2] += 1.0f;
  if (fault == 1)
    for (int e = 0; e < 8; ++e) C[(lane / 4 + e / 2 % 2 * 8) * 16 + lane % 4 * 2 + e % 2 + e / 4 * 8] = c.x[e];
  else
    weft_wmma_f16_f32_store_row(C, c, 16);
  __syncthreads();
  if (fault == 2 && lane < 16) C[lane * 16] -= 1.0f;
}
)";
/// Whether the product is right: of small whole numbers without a pattern.
bool multiplies(cuda_on_host const& host, unsigned order = 9) {
  REQUIRE_MESSAGE(host.loaded(), host.messages);
  float operands[512], c[256] = {};
  unsigned seed = 7;
  for (float& v : operands) seed = seed * 1664525u + 1013904223u, v = static_cast<float>(seed >> 16 & 7);
  struct call {
    void (*f)(float const*, float*);
    float const* a;
    float* c;
  } now{reinterpret_cast<void (*)(float const*, float*)>(host.symbol("multiplied")), &operands[0], &c[0]};
  auto const thread = [](void* data) {
    auto const& its = *static_cast<call*>(data);
    its.f(its.a, its.c);
  };
  unsigned const blocks[] = {1, 1, 1}, threads[] = {32, 1, 1};
  CHECK(host.run(blocks, threads, 1024, thread, &now, order) == "");
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += operands[i * 16 + k] * operands[256 + k * 16 + j];
      if (c[i * 16 + j] != sum) return false;
    }
  return true;
}
bool multiplies(int loaded, int fault) {
  return multiplies(cuda_on_host("#define LOADED " + std::to_string(loaded) + "\n#define FAULT " + std::to_string(fault) + "\n" + multiplying, "1"));
}
/// A text that asks `fault` at run time, so that it is compiled once.
std::string asking(char const* of) { return std::string("extern \"C\" { int fault = 0; }\n") + of; }
void plant(cuda_on_host const& host, int fault) {
  auto* const at = static_cast<int*>(host.symbol("fault"));
  REQUIRE((at != nullptr));
  *at = fault;
}
struct outcome {
  std::string wrong;  // what the shim says
  bool right = true;  // the results
};
outcome run(int fault, unsigned order, char const* of = text) {
  cuda_on_host const host("#define FAULT " + std::to_string(fault) + "\n" + of, "1");
  REQUIRE_MESSAGE(host.loaded(), host.messages);
  float a[256], b[256] = {};
  for (int i = 0; i < 256; ++i) a[i] = static_cast<float>(i);
  struct call {
    void (*f)(float const*, float*);
    float const* a;
    float* b;
  } c{reinterpret_cast<void (*)(float const*, float*)>(host.symbol("reversed")), &a[0], &b[0]};
  auto const thread = [](void* data) {
    auto const& now = *static_cast<call*>(data);
    now.f(now.a, now.b);
  };
  unsigned const blocks[] = {4, 1, 1}, threads[] = {64, 1, 1};
  outcome o;
  o.wrong = host.run(blocks, threads, 256, thread, &c, order);
  for (int i = 0; i < 256; ++i) o.right = o.right && b[i] == static_cast<float>(i / 64 * 64 + 63 - i % 64);
  return o;
}
bool no_compiler() {
  if (cuda_on_host::available()) return false;
  MESSAGE("[skip] neither $CXX nor c++ runs here: apt-get install g++");
  return true;
}

}  // namespace

TEST_CASE("without a fault the shim has nothing to say, in any order of threads and blocks") {
  if (no_compiler()) return;
  for (unsigned order : {0u, 1u, 9u}) {
    outcome const o = run(0, order);
    CHECK(o.wrong == "");
    CHECK(o.right);
  }
}
TEST_CASE("a missing barrier gives other results") {
  if (no_compiler()) return;
  for (unsigned order : {0u, 1u, 9u}) CHECK_FALSE(run(1, order).right);
}
TEST_CASE("a barrier that some threads do not reach, or reach elsewhere, is named") {
  if (no_compiler()) return;
  CHECK(run(2, 9).wrong == "some threads of a block wait at a barrier, others have ended");
  CHECK(run(3, 9).wrong == "threads of a block wait at different barriers");
}
TEST_CASE("a store behind the shared memory of the launch is named") {
  if (no_compiler()) return;
  CHECK(run(4, 0).wrong == "a store behind the shared memory");
}
TEST_CASE("an exchange to which not all of a warp come, or come for another one, is named") {
  if (no_compiler()) return;
  CHECK(run(6, 9).wrong == "some threads of a warp exchange values, others do not come");
  CHECK(run(7, 9).wrong == "threads of a warp are at different exchanges");
  for (unsigned order : {0u, 1u, 9u}) {
    outcome const o = run(8, order);  // of one warp alone: another one need not come
    CHECK(o.wrong == "");
    CHECK(o.right);
  }
}
TEST_CASE("an exchange is no barrier: the other warp has written nothing yet") {
  if (no_compiler()) return;
  CHECK_FALSE(run(9, 0).right);
}
TEST_CASE("what an earlier block has left in shared memory is not there for the next one") {
  if (no_compiler()) return;
  CHECK_FALSE(run(5, 0).right);
}
TEST_CASE("a copy that was not waited for, of no group, into what is read, or not seen by all gives other results or is named") {
  if (no_compiler()) return;
  for (unsigned order : {0u, 1u, 9u}) {
    outcome const o = run(0, order, copying);
    CHECK(o.wrong == "");
    CHECK(o.right);
  }
  for (int fault : {1, 2, 3, 4}) {  // in most orders: in some a copy arrives in time by luck
    int found = 0;
    for (unsigned order : {0u, 1u, 9u, 10u}) {
      outcome const o = run(fault, order, copying);
      found += !o.right || o.wrong == "a thread has ended, and what it copied was not waited for";
    }
    CHECK_MESSAGE(found >= 2, "fault " << fault << ": " << found << " of 4");
  }
}
TEST_CASE("a plain store over what another thread has still to read gives other results") {
  if (no_compiler()) return;
  for (unsigned order : {0u, 1u, 9u}) {
    outcome const o = run(0, order, in_turns);
    CHECK(o.wrong == "");
    CHECK(o.right);
    CHECK_FALSE(run(1, order, in_turns).right);
  }
}
TEST_CASE("a fragment whose elements are other lanes' gives other products: lanes, registers, halves, an operand turned, sums") {
  if (no_compiler()) return;
  for (int loaded : {0, 1}) {
    CHECK(multiplies(loaded, 0));
    for (int fault : {1, 2, 3, 4, 5}) CHECK_FALSE_MESSAGE(multiplies(loaded, fault), "loaded " << loaded << ", fault " << fault);
  }
}
TEST_CASE("a fragment of wmma has its elements in lanes that the order draws: what relies on a lane is wrong in all orders tried") {
  if (no_compiler()) return;
  cuda_on_host const host(asking(fragments), "1");
  REQUIRE_MESSAGE(host.loaded(), host.messages);
  for (unsigned order : {0u, 1u, 9u, 77u}) {
    plant(host, 0);
    CHECK(multiplies(host, order));
    for (int fault : {1, 2, 3}) {
      plant(host, fault);
      CHECK_FALSE_MESSAGE(multiplies(host, order), "order " << order << ", fault " << fault);
    }
  }
}

#if WEFT_TEST_ASAN + WEFT_TEST_TSAN > 0
namespace {
/// What `f` makes a process of its own say on stderr, sanitizers' reports first of all.
template <class F>
std::string said_by(F const& f) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);  // what is in buffers is said once
  pid_t const child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    f();
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char piece[512];
  for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;) said.append(piece, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return said;
}
/// A launch of 4 blocks of 64 threads on memory of just as many elements.
void launch(cuda_on_host const& host, unsigned order, unsigned shared_bytes, std::vector<unsigned> const& gaps) {
  struct call {
    void (*f)(float const*, float*);
    std::vector<float> a, b;
  } c{reinterpret_cast<void (*)(float const*, float*)>(host.symbol("reversed")), std::vector<float>(256, 1.0f), std::vector<float>(256)};
  auto const thread = [](void* data) {
    auto& now = *static_cast<call*>(data);
    now.f(now.a.data(), now.b.data());
  };
  unsigned const blocks[] = {4, 1, 1}, threads[] = {64, 1, 1};
  host.run(blocks, threads, shared_bytes, thread, &c, order, gaps);
}
}  // namespace
#endif
#if WEFT_TEST_ASAN
namespace {
constexpr char const* leaving = R"(
extern __shared__ __align__(1024) unsigned char weft_shared[];
extern "C" __global__ void __launch_bounds__(64) reversed(float const* A, float* B) {
  float* const row = (float*)weft_shared;            // of 48
  float* const next = (float*)(weft_shared + 256);   // of 32
  int const at = blockIdx.x * 64 + threadIdx.x, tx = threadIdx.x;
  float own[4] = {A[at], 0.0f, 0.0f, 0.0f};
  if (tx < 48) row[tx] = own[0];
  if (tx < 32) next[tx] = own[0];
  __syncthreads();
  if (fault == 1) B[at + 1] = own[0];
  if (fault == 2) own[1] = A[at - 1];
  if (fault == 3) row[tx] = own[0];
  if (fault == 4) next[tx] = own[0];
  if (fault == 5) own[tx % 4 + (tx == 7)] = 2.0f;
  if (fault == 6) own[tx + 2147483600 < 0] = 2.0f;
  if (fault == 7) own[1] = (float)*(long long const*)(row + tx % 8 * 2 + 1);
  if (fault == 8) own[1 << tx > 0] = 2.0f;
  B[at] = own[tx % 4] + row[tx % 48] + next[tx % 32];
}
)";
}  // namespace
TEST_CASE("the sanitizers of this build see the text: what leaves memory, a shared array or a thread's own one; and what C++ leaves undefined") {
  cuda_on_host const host(asking(leaving), "1", cuda_on_host::as_built);
  REQUIRE_MESSAGE(host.loaded(), host.messages);
  char const* const words[] = {"", "heap-buffer-overflow", "heap-buffer-overflow", "use-after-poison", "use-after-poison", "index 4 out of bounds",
                               "signed integer overflow", "misaligned address", "shift exponent"};
  for (int fault = 0; fault < 9; ++fault) {
    INFO("fault " << fault);
    plant(host, fault);
    std::string const said = said_by([&] { launch(host, 9, 256 + 128, {192, 256}); });
    if (fault == 0) CHECK(said == "");
    else CHECK_MESSAGE(said.find(words[fault]) != std::string::npos, said);
  }
}
#endif
#if WEFT_TEST_TSAN
TEST_CASE("the thread sanitizer sees fibers as threads: without a barrier there is a race, in whichever order they run") {
  for (char const* of : {text, in_turns, copying})
    for (int fault : {0, of == copying ? 4 : 1}) {
      cuda_on_host const host("#define FAULT " + std::to_string(fault) + "\n" + of, "1", cuda_on_host::as_built);
      REQUIRE_MESSAGE(host.loaded(), host.messages);
      for (unsigned order : {0u, 1u, 9u}) {
        INFO("fault " << fault << ", order " << order << " of" << of);
        std::string const said = said_by([&] { launch(host, order, 256, {}); });
        if (fault == 0) CHECK(said == "");
        else CHECK_MESSAGE(said.find("data race") != std::string::npos, said);
      }
    }
}
#endif
