// Calls of kernels on a GPU that is this machine, from the arguments to the results.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/cuda_machine.hpp"
#include "support/said.hpp"
#include "weft/bench/cuda.hpp"
#include "weft/codegen/cuda/api.hpp"
#include "weft/cuda.hpp"
#include "weft/dim.hpp"

using weft_test::machine_state, weft_test::said_by, weft_test::with_machine;

namespace {
constexpr auto row_sums = weft::kernel<"row_sums">([](auto x) {
  return weft::compute<"R">(x.extent(0), [=](auto i) { return weft::sum(x.extent(1), [=](auto k) { return x(i, k); }); });
});
constexpr auto product = weft::kernel<"product">([](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
});
constexpr auto both = weft::kernel<"both">([](auto x, auto y) {
  auto const a = weft::compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) + 1.0f; });
  auto const b = weft::compute<"b">(y.extent(0), y.extent(1), [=](auto i, auto j) { return y(i, j) - 1.0f; });
  return weft::outputs(a, b);
});
std::vector<float> numbers(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
  return v;
}
}  // namespace

TEST_CASE("an empty tensor of the host's has its place among the parameters") { with_machine("child: empty"); }
TEST_CASE("child: empty" * doctest::skip()) {
  using weft::dim, weft::view, weft::out;
  auto const x = numbers(64);
  std::vector<float> const none;
  auto const gpu = row_sums.on(weft::cuda());
  for (float const* p : {x.data(), none.data()}) {
    std::vector<float> r(4, -1.0f);
    gpu(view(p, 4, 0), out(r));
    CHECK(r == std::vector<float>(4, 0.0f));
    r.assign(4, -1.0f);
    gpu(view(p, 4, 0), out(r));
    CHECK(r == std::vector<float>(4, 0.0f));
  }
  CHECK(machine_state().libraries == 1);
  // Drawn: each extent of a product is 0, or is not, with a name and without.
  auto const a = numbers(40), b = numbers(40);
  for (int drawn = 0; drawn < 16; ++drawn) {
    INFO(drawn);
    std::size_t const m = (drawn & 1) != 0 ? 3 : 0, n = (drawn & 2) != 0 ? 5 : 0, k = (drawn & 4) != 0 ? 4 : 0;
    std::vector<float> c(m * n, -1.0f), expected(m * n, -2.0f);
    for (std::size_t i = 0; i < m * n; ++i) {
      expected[i] = 0;
      for (std::size_t q = 0; q < k; ++q) expected[i] += a[i / n * k + q] * b[q * n + i % n];
    }
    if ((drawn & 8) == 0) product.on(weft::cuda())(view(a.data(), m, k), view(b.data(), k, n), out(c.data(), m, n));
    else product.on(weft::cuda())(view(a.data(), dim<"m">(m), dim<"k">(k)), view(b.data(), dim<"k">(k), dim<"n">(n)), out(c.data(), m, n));
    CHECK(c == expected);
  }
  for (int drawn = 0; drawn < 4; ++drawn) {
    INFO(drawn);
    std::size_t const m = (drawn & 1) != 0 ? 3 : 0, n = (drawn & 2) != 0 ? 5 : 0;
    std::vector<float> p(m * 2, -1.0f), q(n * 3, -1.0f);
    both.on(weft::cuda())(view(a.data(), m, 2), view(b.data(), n, 3), out(p.data(), m, 2), out(q.data(), n, 3));
    for (std::size_t i = 0; i < p.size(); ++i) CHECK(p[i] == a[i] + 1.0f);
    for (std::size_t i = 0; i < q.size(); ++i) CHECK(q[i] == b[i] - 1.0f);
  }
  CHECK(machine_state().allocations == machine_state().frees);
}

TEST_CASE("a kernel on a GPU is timed by events on its stream, not by the host's clock") { with_machine("child: events"); }
TEST_CASE("child: events" * doctest::skip()) {
  auto const x = numbers(64);
  weft::cuda_tensor<float, 2> a({8, 8});
  weft::cuda_tensor<float, 1> r({8});
  a.fill(x.data());
  int marker = 0;
  machine_state().event_ms = 2;
  weft::measuring const quick{.sample_ms = 0.1, .budget_ms = 5, .fewest = 6, .most = 6};
  auto const found = weft::benchmark(quick, row_sums.on(weft::cuda(0, &marker)), a, weft::out(r));
  weft::benchmark_line const& line = found.lines[0];
  CHECK(line.time.median == 2e6 / static_cast<double>(line.time.times));
  CHECK(line.by_events);
  CHECK(machine_state().event_stream == &marker);
  CHECK(line.done.operations == 64);
  CHECK(line.done.bytes == 4 * (64 + 8));
  CHECK(line.gflops() == 64 / line.time.median);
  CHECK(line.of_roofline() == 0);
  CHECK(found.text().find(" by events") != std::string::npos);
  CHECK(found.json().find("\"clock\":\"events\"") != std::string::npos);
  machine_state().event_stream = nullptr;
  auto const call = [&](void* stream) { return weft::by_events(weft::cuda(0, stream), [&, stream] { row_sums.on(weft::cuda(0, stream))(a, weft::out(r)); }); };
  auto const both_ways = weft::compare({{"first", call(&marker)}, {"again", call(&marker)}, {"on the host", [] {}}}, quick);
  for (int i = 0; i < 2; ++i) CHECK(both_ways.lines[static_cast<std::size_t>(i)].time.median == 2e6 / static_cast<double>(both_ways.lines[static_cast<std::size_t>(i)].time.times));
  CHECK(machine_state().event_stream == &marker);
  CHECK(both_ways.lines[1].by_events);
  CHECK_FALSE(both_ways.lines[2].by_events);
  weft::measuring cold = quick;
  cold.cold = true;
  CHECK(said_by([&] { weft::compare({{"there", call(&marker)}}, cold); }).find("compare: cold fills the caches of the CPU, not those of what there runs on: ") == 0);
  std::vector<float> sums(8);
  r.read(sums.data());
  CHECK(sums[0] == x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7]);
}

TEST_CASE("outputs in the host's memory that lie between each other are copied back one by one, and nothing else") { with_machine("child: between"); }
TEST_CASE("child: between" * doctest::skip()) {
  using weft::view, weft::out;
  auto const a = numbers(12), b = numbers(9);
  {
    std::vector<float> v(50, -7.0f);  // two columns each of a matrix of 5, the last of which nobody writes
    both.on(weft::cuda())(view(a.data(), 6, 2), view(b.data(), 4, 2), out(v.data(), 6, 2).strided(5, 1), out(v.data() + 2, 4, 2).strided(5, 1));
    for (std::size_t i = 0; i < 10; ++i)
      for (std::size_t j = 0; j < 5; ++j) {
        INFO(i, " ", j);
        CHECK(v[i * 5 + j] == (j < 2 && i < 6 ? a[i * 2 + j] + 1.0f : j >= 2 && j < 4 && i < 4 ? b[i * 2 + j - 2] - 1.0f : -7.0f));
      }
  }
  constexpr auto rows = weft::kernel<"rows">([](auto x) {
    auto const p = weft::compute<"p">(x.extent(0), [=](auto i) { return x(i) + 1.0f; });
    auto const q = weft::compute<"q">(x.extent(0), [=](auto i) { return x(i) - 1.0f; });
    return weft::outputs(p, q);
  });
  for (std::int64_t stride : {2, -2}) {
    INFO(stride);
    std::vector<float> v(26, -7.0f);  // even ones and odd ones; behind them two of nobody's
    float* const begin = v.data() + (stride > 0 ? 0 : 22);
    rows.on(weft::cuda())(view(a), out(begin, 12).strided(stride), out(begin + 1, 12).strided(stride));
    for (std::size_t i = 0; i < 12; ++i) {
      float const* const place = begin + static_cast<std::int64_t>(i) * stride;
      CHECK(place[0] == a[i] + 1.0f);
      CHECK(place[1] == a[i] - 1.0f);
    }
    CHECK(v[24] == -7.0f);
    CHECK(v[25] == -7.0f);
  }
}

TEST_CASE("a tensor of another GPU than the kernel's is refused before anything is compiled") { with_machine("child: other GPU"); }
TEST_CASE("child: other GPU" * doctest::skip()) {
  weft::cuda_tensor<float, 2> x({4, 4}, 0);
  weft::cuda_tensor<float, 1> there({4}, 1), r({4}, 0);
  std::string const said = "row_sums: argument 1 is on GPU 0, and the kernel runs on GPU 1: .on(weft::cuda(0)), or a tensor on that one";
  CHECK(said_by([&] { row_sums.on(weft::cuda(1))(x, weft::out(there)); }) == said);
  CHECK(said_by([&] { row_sums.on(weft::cuda(1))(view(x, weft::dim<"m">, weft::dim<"n">), weft::out(there)); }) == said);
  CHECK(said_by([&] { static_cast<void>(row_sums.on(weft::cuda(1))(x)); }) == said);
  CHECK(said_by([&] { row_sums.on(weft::cuda())(x, weft::out(there)); }).find("row_sums: argument 2 is on GPU 1") == 0);
  CHECK(machine_state().launches == 0);
  CHECK(machine_state().libraries == 0);
  auto const values = numbers(16);
  x.fill(values.data());
  row_sums.on(weft::cuda())(x, weft::out(r));
  std::vector<float> sums(4);
  r.read(sums.data());
  for (std::size_t i = 0; i < 4; ++i) CHECK(sums[i] == values[4 * i] + values[4 * i + 1] + values[4 * i + 2] + values[4 * i + 3]);
}

TEST_CASE("a kernel runs on the GPU that it is asked to run on, with tensors of that one and of the host") { with_machine("child: the second GPU"); }
TEST_CASE("child: the second GPU" * doctest::skip()) {
  auto const values = numbers(16);
  weft::cuda_tensor<float, 2> x({4, 4}, 1);
  weft::cuda_tensor<float, 1> r({4}, 1);
  x.fill(values.data());
  row_sums.on(weft::cuda(1))(x, weft::out(r));
  std::vector<float> there(4), here(4), first(4);
  r.read(there.data());
  row_sums.on(weft::cuda(1))(weft::view(values, 4, 4), weft::out(here));
  auto const loaded = machine_state().libraries;
  row_sums.on(weft::cuda(0))(weft::view(values, 4, 4), weft::out(first));
  CHECK(machine_state().libraries == loaded + 1);  // each has code of its own
  for (std::size_t i = 0; i < 4; ++i) {
    float const sum = values[4 * i] + values[4 * i + 1] + values[4 * i + 2] + values[4 * i + 3];
    CHECK(there[i] == sum);
    CHECK(here[i] == sum);
    CHECK(first[i] == sum);
  }
}

TEST_CASE("memory that calls have given back is kept for the next ones, unless the program has said how much") { with_machine("child: kept memory"); }
TEST_CASE("child: kept memory" * doctest::skip()) {
  auto const& state = machine_state();
  machine_state().kept_by_pool[1] = 5;
  auto const values = numbers(16);
  std::vector<float> sums(4);
  row_sums.on(weft::cuda(0))(weft::view(values, 4, 4), weft::out(sums));
  CHECK(state.kept_by_pool[0] == weft::runtime::kept_for_calls);
  row_sums.on(weft::cuda(1))(weft::view(values, 4, 4), weft::out(sums));
  CHECK(state.kept_by_pool[1] == 5);
}

TEST_CASE("of several NVRTCs the newest whose code the driver takes") {
  with_machine("child: an older driver", {.older_nvrtc = 12, .driver = 12});
  with_machine("child: NVRTC 13", {.older_nvrtc = 12, .driver = 13});
}
TEST_CASE("child: an older driver" * doctest::skip()) {
  auto const x = numbers(16);
  std::vector<float> r(4);
  row_sums.on(weft::cuda())(weft::view(x, 4, 4), weft::out(r));
  CHECK(machine_state().launches == 1);
  CHECK(weft::version_of(*weft::find_nvrtc(12)) == "NVRTC 12.0");
  CHECK(weft::version_of(*weft::find_nvrtc()) == "NVRTC 13.0");
}
TEST_CASE("child: NVRTC 13" * doctest::skip()) { CHECK(weft::version_of(*weft::find_nvrtc(13)) == "NVRTC 13.0"); }
TEST_CASE("an NVRTC that is newer than the driver, and none at all, are said in one sentence") {
  ::setenv("WEFT_NVRTC", "libnvrtc.so.13", 1);
  with_machine("child: too new", {.driver = 12});
  ::setenv("WEFT_NVRTC", "/nonexistent/libnvrtc.so", 1);
  with_machine("child: no NVRTC");
  ::unsetenv("WEFT_NVRTC");
}
TEST_CASE("child: too new" * doctest::skip()) {
  auto const x = numbers(16);
  std::vector<float> r(4);
  CHECK_THROWS_WITH_AS(row_sums.on(weft::cuda())(weft::view(x, 4, 4), weft::out(r)),
                       "row_sums: NVRTC 13.0 is newer than the driver, which is of CUDA 12: install a newer driver, or NVRTC 12", weft::device_error);
  CHECK(machine_state().libraries == 0);
}
TEST_CASE("child: no NVRTC" * doctest::skip()) {
  auto const x = numbers(16);
  std::vector<float> r(4);
  CHECK_THROWS_WITH_AS(row_sums.on(weft::cuda())(weft::view(x, 4, 4), weft::out(r)),
                       doctest::Contains("row_sums: WEFT_NVRTC names /nonexistent/libnvrtc.so, which is no NVRTC of CUDA 12 or 13 that can be loaded"), weft::device_error);
}
TEST_CASE("machine code on disk is found where NVRTC is no more, or is too new") {
  weft_test::temporary_directory kept;
  ::setenv("WEFT_TEST_CACHE", kept.path.c_str(), 1);
  with_machine("child: made for disk", {.nvrtc = 12, .driver = 13});
  ::setenv("WEFT_NVRTC", "/nonexistent/libnvrtc.so", 1);
  with_machine("child: found on disk");
  ::unsetenv("WEFT_NVRTC");
  ::setenv("WEFT_NVRTC", "libnvrtc.so.13", 1);
  with_machine("child: found on disk", {.nvrtc = 13, .driver = 12});
  ::unsetenv("WEFT_NVRTC");
  ::unsetenv("WEFT_TEST_CACHE");
}
TEST_CASE("child: made for disk" * doctest::skip()) {
  auto const x = numbers(16);
  std::vector<float> r(4);
  row_sums.on(weft::cuda())(weft::view(x, 4, 4), weft::out(r));
  CHECK(weft::cache::inspect().hits == 0);
}
TEST_CASE("child: found on disk" * doctest::skip()) {
  auto const x = numbers(16);
  std::vector<float> r(4);
  CHECK(weft::find_nvrtc(12) == nullptr);
  row_sums.on(weft::cuda())(weft::view(x, 4, 4), weft::out(r));
  CHECK(r[0] == x[0] + x[1] + x[2] + x[3]);
  CHECK(weft::cache::inspect().hits == 1);
}
TEST_CASE("a GPU that NVRTC makes no code for is named, with what to do") { with_machine("child: an old GPU", {.architecture = 61}); }
TEST_CASE("child: an old GPU" * doctest::skip()) {
  auto const x = numbers(16);
  std::vector<float> r(4);
  CHECK_THROWS_WITH_AS(row_sums.on(weft::cuda())(weft::view(x, 4, 4), weft::out(r)),
                       doctest::Contains("row_sums: of Stub 80: NVRTC 13.0 makes no code for sm_61, but for sm_80 to sm_80: install an older NVRTC"),
                       weft::device_error);
  CHECK(machine_state().libraries == 0);
}
TEST_CASE("a launch that the driver refuses is named among several, with the loops") { with_machine("child: second launch"); }
TEST_CASE("child: second launch" * doctest::skip()) {
  auto const x = numbers(12);
  std::vector<float> a(6), b(6);
  auto const call = [&] { both.on(weft::cuda())(weft::view(x.data(), 3, 2), weft::view(x.data(), 2, 3), weft::out(a.data(), 3, 2), weft::out(b.data(), 2, 3)); };
  call();
  REQUIRE(machine_state().launches == 2);
  machine_state().fail_launch = 719;
  std::string const said = said_by(call);
  CHECK(said.find("both: cuLaunchKernel of both_kernel, launch 1 of 2, 1 x 1 x 1 blocks of ") == 0);
  CHECK(said.find("the stub was told to fail (CUDA_ERROR_STUB)\n") != std::string::npos);
  CHECK(said.find("thread_x") != std::string::npos);
  CHECK(machine_state().allocations == machine_state().frees);
}
TEST_CASE("the rule takes matrix units where the GPU has them, from sm_80 on") {
  with_machine("child: no matrix units", {.architecture = 75});
  with_machine("child: matrix units", {.architecture = 80});
}
namespace {
std::string halves_on_this_gpu() {
  constexpr auto halves = weft::kernel<"halves">([](auto A, auto B) {
    return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
      return weft::sum(A.extent(1), [=](auto k) { return weft::cast<float>(A(i, k)) * weft::cast<float>(B(k, j)); });
    });
  });
  weft::cuda_tensor<weft::f16, 2> const A({256, 256}), B({256, 256});  // which opens the GPU
  return halves.on(weft::cuda()).cuda_source(A, B);
}
}  // namespace
TEST_CASE("child: no matrix units" * doctest::skip()) {
  CHECK(halves_on_this_gpu().find("mma") == std::string::npos);
  weft_test::private_cache cache;  // where tuned schedules are looked for, the GPU is asked anyway
  CHECK(halves_on_this_gpu().find("mma") == std::string::npos);
}
TEST_CASE("child: matrix units" * doctest::skip()) { CHECK(halves_on_this_gpu().find("mma") != std::string::npos); }

TEST_CASE("intermediate tensors of several launches have memory for the call, and large shared memory is asked for") { with_machine("child: memory of a call"); }
TEST_CASE("child: memory of a call" * doctest::skip()) {
  constexpr auto shares = weft::kernel<"shares">([](auto x) {
    auto const s = weft::compute<"s">(x.extent(0), [=](auto i) { return weft::sum(x.extent(1), [=](auto k) { return x(i, k); }); });
    return weft::compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) + s(i); });
  });
  auto const x = numbers(12);
  std::vector<float> y(12);
  auto const plain = shares.on(weft::cuda()).with({.plain = true});
  weft::ir::arena m;
  REQUIRE(plain.module(m, weft::view(x, 3, 4)).kernels.size() == 2);
  REQUIRE(plain.module(m, weft::view(x, 3, 4)).kernels[1].takes_workspace);
  auto const& state = machine_state();
  plain(weft::view(x, 3, 4), weft::out(y, 3, 4));
  CHECK(state.launches == 2);
  CHECK(state.allocations == 3);  // of x, y and the sums
  CHECK(state.frees == 3);
  CHECK(state.attributes[weft::runtime::most_dynamic_shared] == 0);
  CHECK(state.attributes[weft::runtime::preferred_shared] == 0);
  for (std::size_t i = 0; i < 12; ++i) CHECK(y[i] == x[i] + x[i / 4 * 4] + x[i / 4 * 4 + 1] + x[i / 4 * 4 + 2] + x[i / 4 * 4 + 3]);
  constexpr auto large = weft::kernel<"large">(
      [](auto A) {
        auto const row = weft::compute<"row">(A.extent(0), A.extent(1) - 1, [=](auto i, auto j) { return A(i, j) + A(i, j + 1); });
        return weft::compute<"out">(row.extent(0), row.extent(1), [=](auto i, auto j) { return row(i, j) * row(i, j); });
      },
      weft::cuda_schedule([](auto& s, auto, auto row, auto out) {
        auto [i, j] = out.axes();
        s.bind(i, weft::thread_axis::block_x);
        s.compute_at(row, i);
        s.set_scope(row, weft::scope::shared);
      }));
  auto const a = numbers(2 * 13001);
  std::vector<float> squares(2 * 13000);
  large.on(weft::cuda())(weft::view(a, 2, 13001), weft::out(squares, 2, 13000));
  CHECK(state.attributes[weft::runtime::most_dynamic_shared] == (13000 * 4 + 127) / 128 * 128);
  CHECK(state.attributes[weft::runtime::preferred_shared] == 100);
  for (std::size_t i = 0; i < 13000; ++i) {
    float const sum = a[13001 + i] + a[13002 + i];
    CHECK(squares[13000 + i] == sum * sum);
  }
}

TEST_CASE("WEFT_LINEINFO: code with the lines of its text, kept apart from code without") { with_machine("child: lines"); }
TEST_CASE("child: lines" * doctest::skip()) {
  weft_test::private_cache cache;
  auto const x = numbers(16);
  std::vector<float> r(4);
  auto const call = [&](int device) { row_sums.on(weft::cuda(device))(weft::view(x, 4, 4), weft::out(r)); };
  call(0);
  CHECK(machine_state().lines == 0);
  ::setenv("WEFT_LINEINFO", "1", 1);
  call(1);
  CHECK(machine_state().lines == 1);
  CHECK(weft::cache::inspect().hits == 0);
}

TEST_CASE("of a stage that is computed inside of blocks the part that is read counts for the threads along z") {
  constexpr auto parts = [](weft::thread_axis to, std::size_t n) {
    auto const a = numbers(3 * (n + 1));
    auto const source = [&](auto const& k) { return said_by([&] { static_cast<void>(k.on(weft::cuda()).cuda_source(weft::view(a, 3, n + 1))); }); };
    constexpr auto what = [](auto A) {
      auto const row = weft::compute<"row">(A.extent(0), A.extent(1) - 1, [=](auto i, auto j) { return A(i, j) + A(i, j + 1); });
      return weft::compute<"out">(row.extent(0), row.extent(1), [=](auto i, auto j) { return row(i, j) * row(i, j); });
    };
    return source(weft::kernel<"parts">(what, weft::cuda_schedule([to](auto& s, auto, auto row, auto out) {
      auto [i, j] = out.axes();
      s.bind(i, weft::thread_axis::block_x);
      s.compute_at(row, i);
      auto [p, q] = row.axes();
      s.bind(q, to);
    })));
  };
  CHECK(parts(weft::thread_axis::thread_z, 64) == "");
  CHECK(parts(weft::thread_axis::thread_y, 65) == "");
  CHECK(parts(weft::thread_axis::thread_z, 65).find("its loops over thread_z want more than 64") != std::string::npos);
}
