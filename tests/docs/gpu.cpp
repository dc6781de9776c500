// What docs/names.md and docs/gpu.md say of kernels on a GPU.
#include "weft/cuda.hpp"
#include "weft/matrix_units.hpp"
#include "weft/ops/attention.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "weft/codegen/cuda/api.hpp"
#include "weft/runtime/cuda/driver.hpp"

namespace {
constexpr auto add = weft::kernel<"add">(
    [](auto x, auto y) { return weft::compute<"z">(x.extent(0), [=](auto i) { return x(i) + y(i); }); },
    [](auto& s, auto, auto, auto z) {
      auto [i] = z.axes();
      s.vectorize(i);
    },
    weft::cuda_schedule([](auto& s, auto, auto, auto z) {
      auto [i] = z.axes();
      auto [block, thread] = s.split(i, 64);
      s.bind(block, weft::thread_axis::block_x);
      s.bind(thread, weft::thread_axis::thread_x);
    }));
constexpr auto blurred = weft::kernel<"blurred">(
    [](auto A) {
      auto row = weft::compute<"row">(A.extent(0), [=](auto i) { return A(i) * A(i); });
      return weft::compute<"out">(A.extent(0) - 1, [=](auto i) { return row(i) + row(i + 1); });
    },
    weft::cuda_schedule([](auto& s, auto, auto row, auto out) {
      auto [i] = out.axes();
      auto [io, ii] = s.split(i, 64);
      s.bind(io, weft::thread_axis::block_x);
      s.bind(ii, weft::thread_axis::thread_x);
      s.compute_at(row, io);
      s.set_scope(row, weft::scope::shared);
      auto [j] = row.axes();
      auto [jo, ji] = s.split(j, 64);
      s.bind(ji, weft::thread_axis::thread_x);
    }));
constexpr auto halves = weft::kernel<"halves">(
    [](auto A, auto B) {
      return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return weft::sum(A.extent(1), [=](auto k) { return weft::cast<float>(A(i, k)) * weft::cast<float>(B(k, j)); });
      });
    },
    weft::cuda_schedule([](auto& s, auto A, auto B, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, ib] = s.split(i, 64);  // of a block
      auto [iw, iv] = s.split(ib, 32);  // of a warp
      auto [it, ii] = s.split(iv, 16);  // of a tile
      auto [jo, jb] = s.split(j, 64);
      auto [jt, ji] = s.split(jb, 16);
      auto [ko, kb] = s.split(k, 32);
      auto [kt, ki] = s.split(kb, 16);
      s.reorder(io, jo, ko, iw, kt, it, jt, ii, ji, ki);
      s.bind(io, weft::thread_axis::block_y);
      s.bind(jo, weft::thread_axis::block_x);
      s.bind(iw, weft::thread_axis::warp);
      s.unroll(it);
      s.unroll(jt);
      s.tensorize(ii, weft::wmma_f16);
      auto const shared = [&](auto const& of) {
        auto copy = s.cache_read(of, C);
        s.compute_at(copy, ko);
        s.set_scope(copy, weft::scope::shared);
        auto [p, q] = copy.axes();
        auto [qo, qi] = s.split(q, 8);
        auto [turn, thread] = s.split(s.fuse(p, qo), 64);
        s.bind(thread, weft::thread_axis::thread_x);
        s.vectorize(qi);
        s.storage_align(copy, 0, 32, 16);
      };
      shared(A);
      shared(B);
    }));
constexpr auto staged = weft::kernel<"staged">(
    [](auto A, auto B) {
      return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
    weft::cuda_schedule([](auto& s, auto A, auto B, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, ib] = s.split(i, 64);
      auto [it, ii] = s.split(ib, 4);
      auto [jo, jb] = s.split(j, 64);
      auto [jt, ji] = s.split(jb, 4);
      auto [ko, ki] = s.split(k, 16);
      s.reorder(io, jo, ko, it, jt, ki, ii, ji);
      s.bind(io, weft::thread_axis::block_y);
      s.bind(jo, weft::thread_axis::block_x);
      s.bind(it, weft::thread_axis::thread_y);
      s.bind(jt, weft::thread_axis::thread_x);
      s.unroll(ii);
      s.vectorize(ji);
      auto const copied = [&](auto const& of) {
        auto copy = s.cache_read(of, C);
        s.compute_at(copy, ko);
        s.pipeline(copy, 2, weft::transfer::async);
        auto [p, q] = copy.axes();
        auto [qo, qi] = s.split(q, 4);
        auto [turn, thread] = s.split(s.fuse(p, qo), 256);
        auto [ty, tx] = s.split(thread, 16);
        s.bind(ty, weft::thread_axis::thread_y);
        s.bind(tx, weft::thread_axis::thread_x);
        s.vectorize(qi);
      };
      copied(A);
      copied(B);
    }));
constexpr auto layer = weft::kernel<"layer">(
    [](auto A, auto B, auto bias) {
      auto S = weft::compute<"S">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return weft::sum(A.extent(1), [=](auto k) { return weft::cast<float>(A(i, k)) * weft::cast<float>(B(k, j)); });
      });
      return weft::compute<"out">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return weft::cast<weft::f16>(weft::max(S(i, j) + bias(j), 0.0f));
      });
    },
    weft::cuda_schedule([](auto& s, auto, auto, auto, auto S, auto out) {
      auto [i, j, k] = S.axes();
      auto [iw, iv] = s.split(i, 32);
      auto [it, ii] = s.split(iv, 16);
      auto [jo, jb] = s.split(j, 32);
      auto [jt, ji] = s.split(jb, 16);
      auto [kt, ki] = s.split(k, 16);
      s.reorder(jo, iw, kt, it, jt, ii, ji, ki);
      s.bind(jo, weft::thread_axis::block_x);
      s.bind(iw, weft::thread_axis::warp);
      s.unroll(it);
      s.unroll(jt);
      s.tensorize(ii, weft::mma_f16);
      s.reverse_compute_inline(out);
    }));
constexpr auto by_rule = weft::kernel<"by_rule">([](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return weft::cast<float>(A(i, k)) * weft::cast<float>(B(k, j)); });
  });
});
constexpr auto attention = weft::kernel<"attention">([](auto q, auto k, auto v) { return weft::ops::attention(q, k, v, {.causal = true}); });
// Of each the element type of the operands and of the sums: what a stage would have to compute for the step.
constexpr weft::intrinsic const* units[] = {&weft::wmma_f16, &weft::wmma_f16_in_f16, &weft::wmma_bf16,
                                            &weft::wmma_s8,  &weft::wmma_u8,         &weft::wmma_tf32,
                                            &weft::mma_f16,  &weft::mma_f16_in_f16,  &weft::mma_bf16,
                                            &weft::mma_s8,   &weft::mma_u8,          &weft::mma_tf32,
                                            &weft::wgmma_f16, &weft::wgmma_bf16};
}  // namespace

TEST_CASE("docs/gpu.md: a product by matrix units") {
  std::vector<weft::f16> a(128 * 128);
  std::string const text = halves.on(weft::cuda()).cuda_source(weft::view(a, 128, 128), weft::view(a, 128, 128));
  CHECK(text.find("weft_wmma_f16_f32_multiply_row_row(") != std::string::npos);
  CHECK_THROWS_AS(halves.on(weft::cuda()).cuda_source(weft::view(a, 100, 128), weft::view(a, 128, 100)), weft::schedule_error);
  for (weft::intrinsic const* unit : units) CHECK(weft::matrix_units.find(unit->name) == unit);
}
TEST_CASE("docs/gpu.md: what becomes of single sums of mma") {
  std::vector<weft::f16> a(128 * 128);
  std::vector<float> bias(128);
  std::string const text = layer.on(weft::cuda()).cuda_source(weft::view(a, 128, 128), weft::view(a, 128, 128), weft::view(bias, 128));
  CHECK(text.find("weft_mma_f16_f32_multiply(") != std::string::npos);
  CHECK(text.find("*(weft_f16x2*)&out[") != std::string::npos);
  CHECK(text.find("weft_shared") == std::string::npos);
}
TEST_CASE("docs/gpu.md: a rule takes mma for products of any extents, and says why where it keeps sums in order, as asked") {
  std::vector<weft::f16> a(128 * 128);
  auto const steps = [&](auto const& k, std::int64_t rows) {
    return k.on(weft::cuda()).trace(weft::view(a, rows, 64), weft::view(a, 64, 128));
  };
  for (std::int64_t rows : {128, 100}) {
    CHECK(steps(by_rule, rows).find("tensorize") != std::string::npos);
    CHECK(steps(by_rule, rows).find("# ") == std::string::npos);
  }
  CHECK(steps(by_rule.with({.bitwise = true}), 128).find(": no matrix unit multiplies it: it adds floats in an order of its own, and this kernel is bitwise\n") != std::string::npos);
  CHECK(steps(by_rule.with({.bitwise = true}), 128).find("tensorize") == std::string::npos);
}
TEST_CASE("docs/gpu.md: attention is one launch by rule, and the trace says why where it is not") {
  std::vector<weft::f16> a(4096 * 64);
  auto const of = [&](std::int64_t keys) { return weft::view(a, 1, keys, 64); };
  auto const gpu = attention.on(weft::cuda());
  std::string const text = gpu.cuda_source(of(256), of(256), of(256)), told = gpu.trace(of(4096), of(4096), of(4096));
  CHECK(text.find("__global__") == text.rfind("__global__"));
  CHECK(text.find("weft_mma_f16_f32_multiply(") != text.rfind("weft_mma_f16_f32_multiply("));
  CHECK(told.find("# matmul_1: the rows of matmul go through global memory: 16 of them, of 4096 elements, do not fit what a block shares; ") == 0);
}
TEST_CASE("docs/gpu.md: copies that run on by themselves") {
  std::vector<float> a(128 * 128);
  auto const gpu = staged.on(weft::cuda());
  std::string const text = gpu.cuda_source(weft::view(a, 128, 128), weft::view(a, 128, 128));
  CHECK(text.find("weft_copy_16(&A_copy[") != std::string::npos);
  CHECK(text.find("weft_wait_1();\n") < text.find("__syncthreads();"));
  CHECK(text.find("__syncthreads();") == text.rfind("__syncthreads();"));
  CHECK(gpu.trace(weft::view(a, 128, 128), weft::view(a, 128, 128)).find("B_copy: pipeline(2, async)\n") != std::string::npos);
}
TEST_CASE("docs/schedule.md: what a block shares") {
  float x[129] = {};
  std::string const text = blurred.on(weft::cuda()).cuda_source(weft::view(x, 129));
  CHECK(text.find("float* const row = (float*)weft_shared;") != std::string::npos);
}
TEST_CASE("docs/names.md: a kernel on a GPU, whose text is there on any machine") {
  float x[100], y[100], z[100] = {};
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i), y[i] = 2;
  auto const gpu = add.on(weft::cuda());
  std::string const text = gpu.cuda_source(weft::view(x, 100), weft::view(y, 100));
  CHECK(text.find("__global__") != std::string::npos);
  CHECK(text.find("__launch_bounds__(64)") != std::string::npos);
  CHECK(gpu.texts(false, weft::view(x, 100), weft::view(y, 100)).loops.find("block_x") != std::string::npos);
  if (weft::find_nvrtc() != nullptr) {
    CHECK(gpu.ptx(weft::view(x, 100), weft::view(y, 100)).find(".visible .entry add_kernel(") != std::string::npos);
    std::string const table = gpu.resources(weft::view(x, 100), weft::view(y, 100));
    CHECK(table.find("add_kernel  sm_80 ") != std::string::npos);
    weft::ir::arena m;
    for (std::string const& architecture : weft::known_architectures()) {
      weft::sequence<weft::cuda_usage> const used = weft::usage_of(gpu.module(m, weft::view(x, 100), weft::view(y, 100)), architecture);
      CHECK(used[0].spill_stores == 0);
      CHECK(weft::print_usage(used).find(architecture) != std::string::npos);
    }
  }
  if (std::string why; weft::runtime::find_cuda_driver(&why) == nullptr) {
    MESSAGE("[skip] " << why);
    CHECK_THROWS_AS(gpu(weft::view(x, 100), weft::view(y, 100), weft::out(z, 100)), weft::device_error);
    return;
  }
  weft::cuda_tensor<float, 1> on_device({100}), sum({100});
  on_device.fill(x);
  gpu(on_device, on_device, weft::out(sum));
  sum.read(z);
  for (int i = 0; i < 100; ++i) CHECK(z[i] == 2 * x[i]);
  gpu(weft::on_gpu(on_device.address(), 100), on_device, weft::out_on_gpu(sum.address(), 100));
  sum.read(z);
  for (int i = 0; i < 100; ++i) CHECK(z[i] == 2 * x[i]);
  CHECK(sum.device() == 0);
}
