// Kernels on a GPU, from the call to the driver: a stub that records what it is told, and runs the printed text on the host.
#include "weft/cuda.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "support/child_process.hpp"
#include "support/cuda_host.hpp"
#include "support/private_cache.hpp"
#include "support/said.hpp"
#include "weft/codegen/cuda/api.hpp"
#include "weft/dim.hpp"
#include "weft/direct.hpp"
#include "weft/expr/extern.hpp"
#include "weft/intrinsics.hpp"
#include "weft/pass/pipeline.hpp"
#include "weft/print_how.hpp"
#include "weft/runtime/constant.hpp"

namespace stub {
#include "support/cuda_driver_stub_state.hpp"
}

using weft_test::said_by;

namespace {

constexpr auto saxpy = weft::kernel<"saxpy">([](auto x, auto y, auto a) {
  return weft::compute<"out">(x.extent(0), [=](auto i) { return a * x(i) + y(i); });
});
constexpr auto matmul = weft::kernel<"matmul">(
    [](auto A, auto B) {
      return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      s.vectorize(j);
    },
    weft::cuda_schedule([](auto& s, auto A, auto B, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, ii] = s.split(i, 16);
      auto [jo, ji] = s.split(j, 16);
      auto [ko, ki] = s.split(k, 16);
      s.reorder(io, jo, ko, ii, ji, ki);
      s.bind(io, weft::thread_axis::block_y);
      s.bind(jo, weft::thread_axis::block_x);
      s.bind(ii, weft::thread_axis::thread_y);
      s.bind(ji, weft::thread_axis::thread_x);
      auto const copied = [&](auto const& of) {
        auto copy = s.cache_read(of, C);
        s.compute_at(copy, ko);
        auto [p, q] = copy.axes();
        auto [po, pi] = s.split(p, 16);
        auto [qo, qi] = s.split(q, 16);
        s.reorder(po, qo, pi, qi);
        s.bind(pi, weft::thread_axis::thread_y);
        s.bind(qi, weft::thread_axis::thread_x);
      };
      copied(A);
      copied(B);
    }));

int twice(weft::extern_view<float const, 1> x, weft::extern_view<float, 1> y) noexcept {
  for (std::int64_t i = 0; i < x.extent(0); ++i) y(i) = 2 * x(i);
  return 0;
}
std::vector<float> numbers(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
  return v;
}

/// The stub in this process, which runs the kernels of one text.
class stub_gpu {
 public:
  explicit stub_gpu(std::string const& text = "") {
    library_ = dlopen(std::getenv("WEFT_CUDA"), RTLD_NOW);
    REQUIRE(library_ != nullptr);
    state = static_cast<stub::stub_state*>(dlsym(library_, "stub"));
    if (text.empty()) return;
    host_ = std::make_unique<weft_test::cuda_on_host>(text, "1");
    REQUIRE_MESSAGE(host_->loaded(), host_->messages);
    current() = this;
    state->run = &stub_gpu::run;
  }
  stub_gpu(stub_gpu const&) = delete;
  stub_gpu& operator=(stub_gpu const&) = delete;
  ~stub_gpu() { state->run = nullptr; }
  stub::stub_state* state = nullptr;
  static weft_test::cuda_on_host const& host() { return *current()->host_; }
  static void* function(char const* kernel) { return host().symbol(kernel); }

 private:
  static stub_gpu*& current() {
    static stub_gpu* now = nullptr;
    return now;
  }
  // Three pointers, and at most one number in f32: what the kernels here take.
  static void run(stub::stub_launch const* l, void** p) {
    struct call {
      void* function;
      void** p;
    } c{current()->host_->symbol(l->kernel), p};
    REQUIRE(c.function != nullptr);
    auto const thread = [](void* data) {
      auto const& now = *static_cast<call*>(data);
      auto const pointer = [&](int i) { return *static_cast<float**>(now.p[i]); };
      reinterpret_cast<void (*)(float*, float*, float*, float)>(now.function)(pointer(0), pointer(1), pointer(2),
                                                                             *static_cast<float*>(now.p[3]));
    };
    CHECK(current()->host_->run(l->blocks, l->threads, l->shared_bytes, thread, &c, 5) == "");
  }
  void* library_ = nullptr;
  std::unique_ptr<weft_test::cuda_on_host> host_;
};

/// Builds the stub and runs the case of that name in a process that finds it.
void with_stub(char const* name) {
  if (!weft_test::cuda_on_host::available() || weft::find_nvrtc() == nullptr) {
    MESSAGE("[skip] no compiler, or no NVRTC, on this machine");
    return;
  }
  weft_test::temporary_directory folder;
  std::string const stub = folder.path + "/libcuda.so.1";
  char const* const cxx = std::getenv("CXX");
  std::string const command = std::string(cxx != nullptr && *cxx != '\0' ? cxx : "c++") + " -std=c++17 -O1 -fPIC -shared -x c++ -o " + stub +
                              " '" WEFT_TESTS_DIR "/support/cuda_driver_stub.hpp'";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(weft::test::run_case(name, "WEFT_CUDA", stub.c_str()) == 0);
}

}  // namespace

TEST_CASE("a machine without a driver says so in one sentence") {
  CHECK(weft::test::run_case("child: no driver", "WEFT_CUDA", "/nonexistent/libcuda.so.1") == 0);
}
TEST_CASE("child: no driver" * doctest::skip()) {
  auto const x = numbers(100);
  std::vector<float> out(100);
  CHECK_THROWS_WITH_AS(saxpy.on(weft::cuda())(weft::view(x), weft::view(x), 2.0f, weft::out(out)),
                       doctest::Contains("there is no CUDA driver (/nonexistent/libcuda.so.1)"), weft::device_error);
  std::string const text = saxpy.on(weft::cuda()).cuda_source(weft::view(x), weft::view(x), 2.0f);
  CHECK(text.find("saxpy_kernel(") != std::string::npos);
}

namespace {
/// Rows of the sum of an element and its neighbour, and their products.
constexpr auto neighbours = [](auto A) {
  auto const row = weft::compute<"row">(A.extent(0), A.extent(1) - 1, [=](auto i, auto j) { return A(i, j) + A(i, j + 1); });
  return weft::compute<"out">(row.extent(0), row.extent(1), [=](auto i, auto j) { return row(i, j) * row(i, j); });
};
constexpr auto shared_rows = [](auto& s, auto, auto row, auto out) {
  auto [i, j] = out.axes();
  s.bind(i, weft::thread_axis::block_x);
  s.compute_at(row, i);
  s.set_scope(row, weft::scope::shared);
};
}  // namespace
TEST_CASE("memory that a block shares: as much as there is, and not on a CPU") {
  constexpr auto k = weft::kernel<"neighbours">(neighbours, weft::cuda_schedule(shared_rows));
  std::vector<float> const a(2 * 60000);
  weft::ir::arena m;
  CHECK(k.on(weft::cuda()).module(m, weft::view(a, 3, 20000)).kernels[0].shared_bytes == 19999 * 4 / 128 * 128 + 128);
  CHECK(said_by([&] { k.on(weft::cuda()).cuda_source(weft::view(a, 2, 60000)); }) ==
        "set_scope: memory that a block shares has a known size, at most 227 KiB\n"
        "  in    stage row: 239996 bytes\n"
        "  try   compute_at a loop in which less of it is read, before this step; or scope::workspace");
  constexpr auto on_cpu = weft::kernel<"neighbours">(neighbours, shared_rows);
  CHECK(said_by([&] { on_cpu(weft::view(a, 3, 20000)); }).find("bind: this schedule is for a GPU: a CPU has no blocks") == 0);
}
TEST_CASE("a function that is there for GPUs alone is refused on a CPU, and one without CUDA text on a GPU") {
  static constexpr weft::cuda_function text{.name = "twice", .text = R"(
__device__ void twice(weft_view<float const, 1> x, weft_view<float, 1> y) {
  long long const i = blockIdx.x * 256LL + threadIdx.x;
  if (i < y.extent(0)) y(i) = 2 * x(i);
})",
                                            .per_block = {256}};
  constexpr auto gpu = weft::kernel<"doubled">([](auto x) {
    return weft::compute<"y">(x.extent(0), weft::external<"twice", weft::gpu_only<weft::extern_view<float const, 1>, weft::extern_view<float, 1>>, &text>(x));
  });
  constexpr auto cpu = weft::kernel<"doubled">([](auto x) { return weft::compute<"y">(x.extent(0), weft::external<"twice", &twice>(x)); });
  constexpr auto on_stack = weft::kernel<"doubled">(
      [](auto x) {
        auto const F = weft::compute<"F">(8, weft::external<"twice", &twice, &text>(x));
        return weft::compute<"y">(8, [=](auto i) { return F(i); });
      },
      weft::cuda_schedule([](auto& s, auto, auto F, auto) { s.set_scope(F, weft::scope::stack); }));
  auto const x = numbers(1000);
  weft::ir::arena m;
  weft::cuda_module const made = gpu.on(weft::cuda()).module(m, weft::view(x));
  CHECK(made.kernels.size() == 1);
  CHECK(made.kernels[0].blocks[0]->value == 4);
  CHECK(said_by([&] { gpu(weft::view(x)); }) ==
        "doubled: stage y: function twice is there for GPUs alone: .on(weft::cuda()), or a function of the host's in the place of "
        "weft::gpu_only");
  CHECK(said_by([&] { weft::evaluate(gpu, weft::view(x)); }) == "evaluate: a function of the program is there for GPUs alone");
  CHECK(said_by([&] { cpu.on(weft::cuda()).cuda_source(weft::view(x)); }) ==
        "doubled: function twice has no CUDA text: give weft::external a weft::cuda_function behind it, or compute its stage by another kernel");
  std::string const refused = said_by([&] { on_stack.on(weft::cuda()).cuda_source(weft::view(x)); });
  CHECK(refused.find("doubled: one launch of a GPU cannot do this: a stage that a function computes is a launch of its own") == 0);
  CHECK(refused.find("  try   set_scope of those to weft::scope::workspace") != std::string::npos);
}

TEST_CASE("a GPU runs the loops of what a schedule leaves to a CPU's instructions and tiles") {
  constexpr auto product = weft::kernel<"product">(
      [](auto A, auto B) {
        return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k / 4, j, k % 4); }); });
      },
      weft::cuda_schedule([](auto& s, auto, auto, auto C) {
        auto [i, j, k] = C.axes();
        auto [io, ii] = s.split(i, 16);
        auto [jo, ji] = s.split(j, 16);
        auto [ko, ki] = s.split(k, 64);
        s.reorder(io, jo, ko, ii, ji, ki);
        s.tensorize(ii, weft::tdpbusd);
        s.bind(io, weft::thread_axis::block_x);
      }));
  std::vector<std::uint8_t> const a(32 * 64);
  std::vector<std::int8_t> const b(16 * 32 * 4);
  std::string const text = product.on(weft::cuda()).cuda_source(weft::view(a, 32, 64), weft::view(b, 16, 32, 4));
  CHECK(text.find("__global__") != std::string::npos);
  CHECK(text.find("wmma") == std::string::npos);
}
TEST_CASE("a call with host memory: copied, launched, copied back, nothing left behind") { with_stub("child: host memory"); }
TEST_CASE("child: host memory" * doctest::skip()) {
  auto const x = numbers(1000), y = numbers(1000);
  std::vector<float> out(1000, -1.0f);
  auto const gpu = saxpy.on(weft::cuda());
  stub_gpu stub(gpu.cuda_source(weft::view(x), weft::view(y), 2.0f));
  gpu(weft::view(x), weft::view(y), 2.0f, weft::out(out));
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(out[i] == 2.0f * x[i] + y[i]);
  CHECK(std::string(stub.state->last.kernel) == "saxpy_kernel");
  CHECK(stub.state->last.blocks[0] == 1);  // by rule a thread has 16 bytes
  CHECK(stub.state->last.threads[0] == 250);
  CHECK(stub.state->allocations == 3);
  CHECK(stub.state->frees == 3);
  CHECK(stub.state->context_depth == 0);
  CHECK(stub.state->synchronized == 1);
}
TEST_CASE("without a schedule there is one by rule, plain and bitwise too, each compiled for itself") { with_stub("child: by rule"); }
TEST_CASE("child: by rule" * doctest::skip()) {
  auto const x = numbers(1000), y = numbers(1000);
  std::vector<float> out(1000, -1.0f);
  auto const gpu = saxpy.on(weft::cuda());
  stub_gpu stub(gpu.with({.plain = true}).cuda_source(weft::view(x), weft::view(y), 2.0f));
  saxpy.with({.plain = true}).on(weft::cuda())(weft::view(x), weft::view(y), 2.0f, weft::out(out));
  CHECK(stub.state->last.blocks[0] == 4);
  CHECK(stub.state->last.threads[0] == 256);
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(out[i] == 2.0f * x[i] + y[i]);
  stub.state->run = nullptr;
  gpu(weft::view(x), weft::view(y), 2.0f, weft::out(out));
  gpu.with({.plain = true})(weft::view(x), weft::view(y), 2.0f, weft::out(out));
  CHECK(stub.state->libraries == 2);
}
TEST_CASE("outputs that are left out are returned: on the GPU where an input is, else in the host's memory") { with_stub("child: made"); }
TEST_CASE("child: made" * doctest::skip()) {
  constexpr auto two = weft::kernel<"two">([](auto x) {
    auto const a = weft::compute<"a">(x.extent(0), [=](auto i) { return x(i) + 1.0f; });
    auto const b = weft::compute<"b">(x.extent(0), x.extent(0), [=](auto i, auto j) { return x(i) * x(j); });
    return weft::outputs(a, b);
  });
  auto const x = numbers(64);
  stub_gpu stub(saxpy.on(weft::cuda()).cuda_source(weft::view(x), weft::view(x), 2.0f));
  weft::tensor<float, 1> const here = saxpy.on(weft::cuda())(weft::view(x), weft::view(x), 2.0f);
  REQUIRE(here.size() == 64);
  for (std::size_t i = 0; i < 64; ++i) CHECK(here.data()[i] == 3 * x[i]);
  weft::cuda_tensor<float, 1> on_gpu({64});
  on_gpu.fill(x.data());
  weft::cuda_tensor<float, 1> const there = saxpy.on(weft::cuda())(on_gpu, on_gpu, 2.0f);
  std::vector<float> back(64);
  there.read(back.data());
  for (std::size_t i = 0; i < 64; ++i) CHECK(back[i] == 3 * x[i]);
  stub.state->run = nullptr;
  auto const [a, b] = two.on(weft::cuda())(on_gpu);
  CHECK(a.shape()[0] == 64);
  CHECK(b.shape()[1] == 64);
  weft::cuda_tensor<float, 1> shorter({63});
  CHECK_THROWS_AS(saxpy.on(weft::cuda())(on_gpu, shorter, 2.0f), weft::argument_error);
}
TEST_CASE("on a stream that is being captured: not the first call, and no memory of the host's") { with_stub("child: captured"); }
TEST_CASE("child: captured" * doctest::skip()) {
  stub_gpu stub;
  auto const x = numbers(64);
  weft::cuda_tensor<float, 1> in({64}), out({64});
  auto const gpu = saxpy.on(weft::cuda(0, &stub));
  stub.state->capturing = 1;
  CHECK_THROWS_WITH_AS(gpu(in, in, 1.0f, weft::out(out)), doctest::Contains("call it once before the capture begins"), weft::device_error);
  CHECK(stub.state->launches == 0);
  stub.state->capturing = 0;
  gpu(in, in, 1.0f, weft::out(out));
  stub.state->capturing = 1;
  long long const waited = stub.state->synchronized;
  gpu(in, in, 1.0f, weft::out(out));
  CHECK(stub.state->launches == 2);
  CHECK(stub.state->synchronized == waited);
  std::vector<float> host(64);
  CHECK_THROWS_WITH_AS(gpu(weft::view(x), in, 1.0f, weft::out(out)), doctest::Contains("call it once before"), weft::device_error);
  stub.state->capturing = 0;
  gpu(weft::view(x), in, 1.0f, weft::out(out));
  stub.state->capturing = 1;
  CHECK_THROWS_WITH_AS(gpu(weft::view(x), in, 1.0f, weft::out(out)), doctest::Contains("give it tensors on the GPU"), weft::argument_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(gpu(in, in, 1.0f)), doctest::Contains("give it a weft::out(...) for each"), weft::argument_error);
  CHECK(stub.state->capturing == 1);  // and goes on
  CHECK(stub.state->context_depth == 0);
  stub.state->capturing = 0;
}
TEST_CASE("what a rule has chosen can be looked at, and pasted") {
  std::vector<float> const a(512 * 512);
  auto const A = weft::view(a, 512, 512);
  constexpr auto row_sums = weft::kernel<"row_sums">([](auto x) {
    return weft::compute<"R">(x.extent(0), [=](auto i) { return weft::sum(x.extent(1), [=](auto k) { return x(i, k); }); });
  });
  auto const gpu = row_sums.on(weft::cuda());
  CHECK(gpu.trace(A).find("R: rfactor(R, j, 128)") != std::string::npos);
  CHECK(gpu.loops(A).find("thread_x") != std::string::npos);
  CHECK(gpu.ir(A).find("exchange ") != std::string::npos);
  CHECK(weft::print_how(gpu, A).find("s.bind(vo, weft::thread_axis::thread_x);") != std::string::npos);
  CHECK(gpu.with({.bitwise = true}).trace(A).find("rfactor") == std::string::npos);
}
TEST_CASE("memory with strides of its own reaches the GPU as it stands") { with_stub("child: strides"); }
TEST_CASE("child: strides" * doctest::skip()) {
  auto const x = numbers(1000), y = numbers(1000);
  std::vector<float> out(2000, -1.0f);  // from its end to its begin, every other element
  auto const target = weft::out(out.data() + 1999, 1000).strided(-2);
  auto const gpu = saxpy.on(weft::cuda());
  stub_gpu stub(gpu.cuda_source(weft::view(x), weft::view(y), 2.0f, target));
  gpu(weft::view(x), weft::view(y), 2.0f, target);
  for (std::size_t i = 0; i < 1000; ++i) {
    CHECK(out[1999 - 2 * i] == 2.0f * x[i] + y[i]);
    CHECK(out[1998 - 2 * i] == -1.0f);
  }
}

TEST_CASE("the schedule for GPUs: tiles in shared memory, launched as bound") { with_stub("child: tiles"); }
TEST_CASE("child: tiles" * doctest::skip()) {
  auto const a = numbers(40 * 33), b = numbers(33 * 50);
  std::vector<float> c(40 * 50, -1.0f);
  auto const A = weft::view(a, 40, 33);
  auto const B = weft::view(b, 33, 50);
  auto const gpu = matmul.on(weft::cuda());
  std::string const text = gpu.cuda_source(A, B);
  CHECK(text.find("__syncthreads();") != std::string::npos);
  stub_gpu stub(text);
  gpu(A, B, weft::out(c, 40, 50));
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 50; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < 33; ++k) sum += a[i * 33 + k] * b[k * 50 + j];
      CHECK(c[i * 50 + j] == sum);
    }
  CHECK(stub.state->last.blocks[0] == 4);
  CHECK(stub.state->last.blocks[1] == 3);
  CHECK(stub.state->last.threads[0] == 16);
  CHECK(stub.state->last.threads[1] == 16);
  CHECK(stub.state->last.shared_bytes == 2048);
}

TEST_CASE("tensors on the device: on the caller's stream, without waiting") { with_stub("child: device memory"); }
TEST_CASE("child: device memory" * doctest::skip()) {
  stub_gpu stub;
  auto const x = numbers(64);
  void* const stream = &stub;
  {
    weft::cuda_tensor<float, 1> in({64}), out({64});
    in.fill(x.data());
    std::vector<float> back(64);
    in.read(back.data());
    CHECK(back == x);
    long long const waited = stub.state->synchronized, copied = stub.state->copies;
    auto const gpu = saxpy.on(weft::cuda(0, stream));
    gpu(in, in, 1.0f, weft::out(out));
    CHECK(stub.state->last.stream == stream);
    CHECK(stub.state->synchronized == waited);
    CHECK(stub.state->copies == copied);
    CHECK(stub.state->allocations == 2);
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 10000; ++i) gpu(in, in, 1.0f, weft::out(out));
    double const ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / 10000;
    MESSAGE("a launch takes ", ns, " ns in front of the driver, with the stub's own");
    CHECK(stub.state->launches == 10001);
    CHECK(stub.state->libraries == 1);
  }
  CHECK(stub.state->allocations == stub.state->frees);
}

TEST_CASE("a tensor of a GPU that is gone, as in the child of a fork, ends without a word") { with_stub("child: a GPU that is gone"); }
TEST_CASE("child: a GPU that is gone" * doctest::skip()) {
  stub_gpu stub;
  void* left = nullptr;
  {
    weft::cuda_tensor<float, 1> const t({64});
    CHECK(stub.state->allocations == 1);
    stub.state->fail_context = 3;
    left = t.address();
  }
  CHECK(stub.state->frees == 0);
  std::free(left);  // it went with the GPU; the stub's is this process's
  CHECK(stub.state->context_depth == 0);
}
TEST_CASE("the text for addresses on a GPU is that of a call: rows of 16 bytes where they begin at multiples of 16; none at what is no element") {
  alignas(32) static float const x[68] = {};
  auto const gpu = saxpy.on(weft::cuda());
  auto const has_rows = [&](std::string const& text) { return text.find("(weft_f32x4 const*)&A[") != std::string::npos; };
  CHECK(has_rows(gpu.cuda_source(weft::on_gpu(&x[0], 64), weft::on_gpu(&x[4], 64), 2.0f)));
  CHECK_FALSE(has_rows(gpu.cuda_source(weft::on_gpu(&x[1], 64), weft::on_gpu(&x[1], 64), 2.0f)));
  CHECK(gpu.ir(weft::on_gpu(&x[0], 64), weft::on_gpu(&x[0], 64), 2.0f) != gpu.ir(weft::on_gpu(&x[1], 64), weft::on_gpu(&x[1], 64), 2.0f));
  auto const* const between = reinterpret_cast<float const*>(reinterpret_cast<char const*>(&x[0]) + 2);
  CHECK(said_by([&] { gpu.cuda_source(weft::on_gpu(&x[0], 64), weft::on_gpu(between, 64), 2.0f); }) ==
        "saxpy: argument 2 begins at an address that is no multiple of 4 bytes, as each f32 on a GPU must");
}
TEST_CASE("what is prepacked of a constant is made anew in each call on a GPU, as of any other tensor") {
  constexpr auto k = weft::kernel<"packed">(
      [](auto A, auto B) {
        return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
          return weft::sum(A.extent(1), [=](auto l) { return A(i, l) * B(l, j); });
        });
      },
      weft::cuda_schedule([](auto& s, auto, auto B, auto C) {
        s.prepack(s.cache_read(B, C));
        auto [i, j, l] = C.axes();
        s.bind(i, weft::thread_axis::block_x);
        s.bind(j, weft::thread_axis::thread_x);
      }));
  auto const a = numbers(12), b = numbers(20);
  auto const A = weft::view(a, 3, 4), B = weft::view(b, 4, 5);
  weft::constant const kept(B);
  CHECK(k.on(weft::cuda()).cuda_source(A, kept) == k.on(weft::cuda()).cuda_source(A, B));
}

TEST_CASE("sizes that stay open: compiled once, blocks and memory as each call says") { with_stub("child: open sizes"); }
TEST_CASE("child: open sizes" * doctest::skip()) {
  using weft::dim, weft::view, weft::out;
  auto const gpu = saxpy.on(weft::cuda());
  auto const x = numbers(5000), y = numbers(5000);
  auto const prefix = [&](std::vector<float> const& v, std::size_t n) { return view(v.data(), dim<"n">(n)); };
  stub_gpu stub(gpu.cuda_source(prefix(x, 1001), prefix(y, 1001), 2.0f));
  stub.state->run = [](stub::stub_launch const* l, void** p) {
    struct call {
      void* function;
      void** p;
    } c{nullptr, p};
    c.function = stub_gpu::function(l->kernel);
    REQUIRE(c.function != nullptr);
    auto const thread = [](void* data) {
      auto const& now = *static_cast<call*>(data);
      auto const pointer = [&](int i) { return *static_cast<float**>(now.p[i]); };
      reinterpret_cast<void (*)(float*, float*, float*, long long, float)>(now.function)(
          pointer(0), pointer(1), pointer(2), *static_cast<long long*>(now.p[3]), *static_cast<float*>(now.p[4]));
    };
    CHECK(stub_gpu::host().run(l->blocks, l->threads, l->shared_bytes, thread, &c, 5) == "");
  };
  unsigned blocks[3] = {};
  std::size_t const sizes[] = {1001, 5, 4999};
  for (int i = 0; i < 3; ++i) {
    std::size_t const n = sizes[i];
    std::vector<float> to(n, -1.0f);
    gpu(prefix(x, n), prefix(y, n), 2.0f, out(to));
    for (std::size_t k = 0; k < n; ++k) CHECK(to[k] == 2.0f * x[k] + y[k]);
    blocks[i] = stub.state->last.blocks[0];
  }
  CHECK(stub.state->libraries == 1);
  CHECK(blocks[1] == 1);
  CHECK(blocks[2] > blocks[0]);
  stub.state->run = nullptr;
  // Where 16 divides the size there is one more form, and one for each size that has no name.
  std::vector<float> to(5000);
  for (std::size_t n : {1600u, 16u, 4800u}) gpu(prefix(x, n), prefix(y, n), 2.0f, out(to.data(), n));
  CHECK(stub.state->libraries == 2);
  CHECK(stub.state->launches == 6);
  for (std::size_t n : {1600u, 16u}) gpu(view(x.data(), n), view(y.data(), n), 2.0f, out(to.data(), n));
  CHECK(stub.state->libraries == 4);
  // Memory on the GPU, with names.
  weft::cuda_tensor<float, 1> a({333}), b({77});
  gpu(view(a, dim<"n">), view(a, dim<"n">), 2.0f, out(a));
  gpu(view(b, dim<"n">), weft::on_gpu(b.address(), dim<"n">(77)), 2.0f, out(b));
  CHECK(stub.state->libraries <= 5);
  weft::cuda_tensor<float, 1> const made = gpu(view(b, dim<"n">), view(b, dim<"n">), 2.0f);
  CHECK(made.shape()[0] == 77);
  CHECK_THROWS_WITH_AS(gpu(prefix(x, 10), prefix(y, 11), 2.0f, out(to.data(), 10)), doctest::Contains("B.extent(0) = 11"),
                       weft::argument_error);
  CHECK(stub.state->allocations - stub.state->frees == 3);
}
TEST_CASE("more blocks than a grid has along an axis are refused before anything is launched") { with_stub("child: many blocks"); }
TEST_CASE("child: many blocks" * doctest::skip()) {
  constexpr auto rows = weft::kernel<"rows">([](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); },
                                             weft::cuda_schedule([](auto& s, auto, auto y) {
                                               auto [i] = y.axes();
                                               s.bind(i, weft::thread_axis::block_y);
                                             }));
  stub_gpu stub;
  std::vector<float> const x(70000);
  std::vector<float> y(70000);
  auto const call = [&](std::size_t n) { rows.on(weft::cuda())(weft::view(x.data(), weft::dim<"n">(n)), weft::out(y.data(), n)); };
  call(101);
  CHECK(stub.state->last.blocks[1] == 101);
  CHECK_THROWS_WITH_AS(call(69999), doctest::Contains("rows: these sizes make 69999 blocks along y: a grid has at most"), weft::argument_error);
  CHECK_THROWS_WITH_AS(rows.on(weft::cuda())(weft::view(x), weft::out(y)),
                       doctest::Contains("rows: these sizes make 70000 blocks along y: a grid has at most"), weft::argument_error);
  CHECK(stub.state->launches == 1);
  CHECK(stub.state->allocations == stub.state->frees);
}

TEST_CASE("what the driver refuses is a device_error with the kernel's name, and nothing leaks") { with_stub("child: refusals"); }
TEST_CASE("child: refusals" * doctest::skip()) {
  stub_gpu stub;
  auto const x = numbers(64);
  std::vector<float> out(64);
  auto const call = [&](int device) { saxpy.on(weft::cuda(device))(weft::view(x), weft::view(x), 1.0f, weft::out(out)); };
  CHECK_THROWS_WITH_AS(call(7), doctest::Contains("there is no CUDA device 7: this machine has 2, numbered from 0"), weft::device_error);
  call(0);
  stub.state->fail_allocation = 2;
  CHECK_THROWS_WITH_AS(call(0), doctest::Contains("saxpy: memory for 256 bytes, where 3 of 5 MiB are free: out of memory (CUDA_ERROR_OUT_OF_MEMORY)\n  try   smaller tensors"), weft::device_error);
  stub.state->fail_allocation = 2;
  CHECK_THROWS_WITH_AS((weft::cuda_tensor<float, 1>({64})), doctest::Contains("weft::cuda_tensor: memory for 256 bytes, where 3 of 5 MiB are free: out of memory"), weft::device_error);
  stub.state->fail_launch = 701;
  CHECK_THROWS_WITH_AS(call(0), doctest::Contains("(CUDA_ERROR_STUB)\n  try   fewer threads in a block, or smaller tiles"), weft::device_error);
  stub.state->fail_launch = 1;
  CHECK_THROWS_WITH_AS(call(0), doctest::Contains("saxpy: cuLaunchKernel of saxpy_kernel, launch 1 of 1, 1 x 1 x 1 blocks of 16 x 1 x 1 threads that share 0 bytes: "
                                         "the stub was told to fail (CUDA_ERROR_STUB)\n"), weft::device_error);
  // What a kernel did wrong is said by what waits for it first, and of which loops.
  stub.state->fail_copy_back = 700;
  std::string const faulted = said_by([&] { call(0); });
  CHECK(faulted.find("saxpy: running its kernels, or copying an output back: the stub was told to fail (CUDA_ERROR_STUB)\n  try   finding the kernel by") == 0);
  std::string const loops = saxpy.on(weft::cuda()).loops(weft::view(x), weft::view(x), 1.0f);
  CHECK(loops.size() > 20);
  CHECK(faulted.find("\n" + loops) != std::string::npos);
  CHECK(stub.state->allocations == stub.state->frees);
  // Of pinned memory a copy is under way when a call ends by an exception.
  long long const waited = stub.state->synchronized;
  stub.state->fail_launch = 1;
  CHECK_THROWS_AS(call(0), weft::device_error);
  CHECK(stub.state->synchronized == waited + 1);
  CHECK(stub.state->allocations == stub.state->frees);
  CHECK(stub.state->context_depth == 0);
  std::vector<float> shorter(63);
  CHECK_THROWS_AS(saxpy.on(weft::cuda())(weft::view(x), weft::view(x), 1.0f, weft::out(shorter)), weft::argument_error);
  // An address that no element has, by a kernel that has code for others.
  weft::cuda_tensor<float, 1> const in({64});
  weft::cuda_tensor<float, 1> to({32});
  auto const from = [&](int bytes) {
    auto const* const at = reinterpret_cast<float const*>(reinterpret_cast<char const*>(in.address()) + bytes);
    saxpy.on(weft::cuda())(weft::on_gpu(at, 32), weft::on_gpu(at, 32), 1.0f, weft::out(to));
  };
  from(4);
  long long const launched = stub.state->launches;
  CHECK(said_by([&] { from(6); }).find("saxpy: argument 1 begins at an address that is no multiple of 4 bytes") == 0);
  CHECK(stub.state->launches == launched);
}

TEST_CASE("code that cannot be launched, or that the driver refuses, does not stay loaded") { with_stub("child: unloaded"); }
TEST_CASE("child: unloaded" * doctest::skip()) {
  stub_gpu stub;
  constexpr auto k = weft::kernel<"neighbours">(neighbours, weft::cuda_schedule(shared_rows));
  std::vector<float> const a(3 * 45000);
  std::vector<float> const x = numbers(64);
  for (int times = 0; times < 2; ++times) {
    CHECK(said_by([&] { static_cast<void>(k.on(weft::cuda())(weft::view(a, 3, 45000))); }).find("bytes of memory, and this GPU has 166912: make its tiles smaller") !=
          std::string::npos);
    stub.state->fail_kernel = 500;
    CHECK(said_by([&] { static_cast<void>(saxpy.on(weft::cuda())(weft::view(x), weft::view(x), 1.0f)); }).find("saxpy: cuLibraryGetKernel: ") == 0);
    CHECK(stub.state->libraries == 0);
  }
  static_cast<void>(saxpy.on(weft::cuda())(weft::view(x), weft::view(x), 1.0f));
  CHECK(stub.state->libraries == 1);
}

TEST_CASE("a driver that does not start says why, and what to do") {
  ::setenv("WEFT_STUB_INIT", "100", 1);
  with_stub("child: does not start");
  ::unsetenv("WEFT_STUB_INIT");
}
TEST_CASE("child: does not start" * doctest::skip()) {
  auto const x = numbers(64);
  std::string const said = said_by([&] { static_cast<void>(saxpy.on(weft::cuda())(weft::view(x), weft::view(x), 1.0f)); });
  CHECK(said.find("the CUDA driver does not start: the stub was told to fail (CUDA_ERROR_STUB)\n  try   nvidia-smi, which shows the GPUs of this machine; ") == 0);
}

TEST_CASE("machine code comes from disk where it was made before") { with_stub("child: from disk"); }
TEST_CASE("child: from disk" * doctest::skip()) {
  weft_test::private_cache cache;
  stub_gpu stub;
  auto const x = numbers(64);
  std::vector<float> out(64);
  auto const call = [&](int device) { saxpy.on(weft::cuda(device))(weft::view(x), weft::view(x), 1.0f, weft::out(out)); };
  call(0);
  auto const before = weft::cache::inspect();
  call(1);  // another device of the same architecture: a form of its own, and the same code
  CHECK(stub.state->libraries == 2);
  CHECK(weft::cache::inspect().hits == before.hits + 1);
}

namespace {
/// What `f` writes to stderr.
template <class F>
std::string written_to_stderr(F const& f) {
  std::FILE* const file = std::tmpfile();
  int const before = ::dup(2);
  ::dup2(::fileno(file), 2);
  f();
  ::dup2(before, 2);
  ::close(before);
  std::string text;
  std::rewind(file);
  for (int c = 0; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}
}  // namespace
TEST_CASE("WEFT_DUMP shows the way of a kernel to a GPU, too, and WEFT_VERIFY looks at each step of it") {
  CHECK(weft::test::run_case("child: a dump on the way to a GPU", "WEFT_DUMP", "schedule,lower,pass/spread_threads,pass/barriers,cuda,pass/bariers") == 0);
  CHECK(weft::test::run_case("child: verified", "WEFT_VERIFY", "1") == 0);
}
TEST_CASE("child: a dump on the way to a GPU" * doctest::skip()) {
  std::vector<float> const a(64 * 64), b(64 * 64);
  std::string source;
  std::string const text = written_to_stderr([&] { source = matmul.on(weft::cuda()).cuda_source(weft::view(a, 64, 64), weft::view(b, 64, 64)); });
  for (char const* part : {"--- weft: schedule\n", "--- weft: lower\n", "--- weft: pass/spread_threads\n", "--- weft: pass/barriers\n"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(text.find("--- weft: pass/promote\n") == std::string::npos);
  CHECK(text.find("--- weft: cuda\n" + source) != std::string::npos);
  CHECK(text.find("no such item: pass/bariers; known are schedule, lower, pass, llvm, asm, cuda, ") != std::string::npos);
}
TEST_CASE("child: verified" * doctest::skip()) {
  std::vector<float> const a(64 * 64), b(64 * 64);
  CHECK(matmul.on(weft::cuda()).cuda_source(weft::view(a, 64, 64), weft::view(b, 64, 64)).find("__global__") != std::string::npos);
}
namespace {
/// Which pass leaves a branch on what is no condition.
std::string_view wrong_pass;
template <class Names, class Make>
void check_verified(Names const& names, Make const& make) {
  weft::detail::wrong_pass = [](char const* pass, weft::ir::function& f) {
    if (wrong_pass != pass) return;
    weft::ir::stmt_node branch;  // ir::branch would decide it
    branch.kind = weft::ir::stmt_kind::branch;
    branch.value = weft::ir::index(*f.nodes, 1);
    branch.children = f.nodes->make_list(weft::sequence<weft::ir::stmt>{f.body});
    f.body = f.nodes->make(branch);
  };
  for (char const* name : names) {
    INFO(name);
    wrong_pass = name;
    CHECK_THROWS_WITH_AS(make(), doctest::Contains(("after " + std::string(name) + ": ").c_str()), weft::internal_error);
  }
  wrong_pass = "";
  CHECK_NOTHROW(make());
  weft::detail::wrong_pass = nullptr;
}
}  // namespace
TEST_CASE("with WEFT_VERIFY=1 what a wrong pass leaves is found behind that pass, whichever it is") {
  CHECK(weft::test::run_case("child: wrong passes of a GPU", "WEFT_VERIFY", "1") == 0);
  CHECK(weft::test::run_case("child: wrong passes of a CPU", "WEFT_VERIFY", "1") == 0);
}
TEST_CASE("child: wrong passes of a GPU" * doctest::skip()) {
  std::vector<float> const a(64 * 64), b(64 * 64);
  check_verified(weft::gpu_pass_names, [&] { static_cast<void>(matmul.on(weft::cuda()).cuda_source(weft::view(a, 64, 64), weft::view(b, 64, 64))); });
}
TEST_CASE("child: wrong passes of a CPU" * doctest::skip()) {
  std::vector<float> const x(64);
  check_verified(weft::pass_names, [&] { static_cast<void>(saxpy.on(weft::x86_64_sse2()).ir(weft::view(x), weft::view(x), 1.0f)); });
}
TEST_CASE("WEFT_TIME says what a kernel for a GPU cost, or that its machine code came from disk") { with_stub("child: times"); }
TEST_CASE("child: times" * doctest::skip()) {
  weft_test::private_cache cache;
  stub_gpu stub;
  auto const x = numbers(64);
  std::vector<float> out(64);
  auto const call = [&](int device) {
    return written_to_stderr([&] { saxpy.on(weft::cuda(device))(weft::view(x), weft::view(x), 1.0f, weft::out(out)); });
  };
  ::setenv("WEFT_TIME", "1", 1);
  std::string const first = call(0), again = call(0), other = call(1);
  CHECK(first.find("weft: saxpy ") == 0);
  CHECK(first.find(", NVRTC ") != std::string::npos);
  CHECK(again == "");
  CHECK(other.find(", from disk ") != std::string::npos);
}
