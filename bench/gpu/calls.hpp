// Calls of kernels on a real GPU, each alone: memory of either side, streams, graphs, sizes that stay open, refusals, what is kept on disk, a tuning.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "device.hpp"
#include "support/said.hpp"
#include "weft/bench/cuda.hpp"
#include "weft/cuda.hpp"
#include "weft/dim.hpp"
#include "weft/tune.hpp"
#include "weft/weft.hpp"

namespace trial::calls {
namespace {  // its kernels are of this file alone

using weft::compute, weft::cuda, weft::cuda_tensor, weft::out, weft::view;
using weft_test::said_by;

/// What the driver has for streams and graphs.
struct graph_driver {
  using stream = weft::runtime::cuda_driver::stream;
  using graph = struct CUgraph_st*;
  using executable = struct CUgraphExec_st*;
  int (*cuStreamCreate)(stream*, unsigned) = nullptr;
  int (*cuStreamDestroy_v2)(stream) = nullptr;
  int (*cuStreamBeginCapture_v2)(stream, int) = nullptr;
  int (*cuStreamEndCapture)(stream, graph*) = nullptr;
  int (*cuGraphInstantiateWithFlags)(executable*, graph, unsigned long long) = nullptr;
  int (*cuGraphLaunch)(executable, stream) = nullptr;
  int (*cuGraphExecDestroy)(executable) = nullptr;
  int (*cuGraphDestroy)(graph) = nullptr;
  graph_driver() {
    char const* const named = std::getenv("WEFT_CUDA");
    void* const h = dlopen(named != nullptr ? named : "libcuda.so.1", RTLD_NOW);
    auto const find = [h](auto& f, char const* name) {
      f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(h != nullptr ? dlsym(h, name) : nullptr);
      if (f == nullptr) throw weft::device_error(std::string("the driver has no ") + name);
    };
    find(cuStreamCreate, "cuStreamCreate"), find(cuStreamDestroy_v2, "cuStreamDestroy_v2"), find(cuStreamBeginCapture_v2, "cuStreamBeginCapture_v2");
    find(cuStreamEndCapture, "cuStreamEndCapture"), find(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags"), find(cuGraphLaunch, "cuGraphLaunch");
    find(cuGraphExecDestroy, "cuGraphExecDestroy"), find(cuGraphDestroy, "cuGraphDestroy");
  }
};

constexpr auto saxpy = weft::kernel<"saxpy">([](auto x, auto y, auto a) {
  return compute<"z">(x.extent(0), [=](auto i) { return a * x(i) + y(i); });
});
constexpr auto row_sums = weft::kernel<"row_sums">([](auto x) {
  return compute<"R">(x.extent(0), [=](auto i) { return weft::sum(x.extent(1), [=](auto k) { return x(i, k); }); });
});
constexpr auto product = weft::kernel<"product">([](auto A, auto B) {
  return compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); }); });
});
constexpr auto both = weft::kernel<"both">([](auto x, auto y) {
  auto const a = compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) + 1.0f; });
  auto const b = compute<"b">(y.extent(0), y.extent(1), [=](auto i, auto j) { return y(i, j) - 1.0f; });
  return weft::outputs(a, b);
});
constexpr auto next_byte = weft::kernel<"next_byte">([](auto x) {
  return compute<"y">(x.extent(0), [=](auto i) { return weft::cast<std::uint8_t>(x(i) + std::uint8_t(1)); });
});

/// Whole numbers from -5 to 5, whose sums and products of a few thousand are exact.
std::vector<float> numbers(std::size_t n, int step = 7) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(static_cast<int>(i * static_cast<std::size_t>(step) % 11) - 5);
  return v;
}
/// An empty directory as the cache of this process, for as long as the object lives.
class own_cache {
 public:
  own_cache() {
    char name[] = "/tmp/weft-gpu.XXXXXX";
    if (::mkdtemp(name) == nullptr) throw weft::argument_error("bench/gpu: no directory in /tmp");
    path_ = name;
    weft::cache::set_directory(path_);
  }
  own_cache(own_cache const&) = delete;
  own_cache& operator=(own_cache const&) = delete;
  ~own_cache() {
    weft::cache::set_directory("");
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path_;
};
std::string unless(bool right, std::string const& what) { return right ? "" : what; }

std::string host_memory() {
  auto const x = numbers(100003), y = numbers(100003, 3);
  std::vector<float> z(x.size(), -7.0f);
  saxpy.on(cuda())(view(x), view(y), 2.0f, out(z));
  for (std::size_t i = 0; i < z.size(); ++i)
    if (z[i] != 2 * x[i] + y[i]) return "element " + std::to_string(i) + " is " + std::to_string(z[i]);
  auto const a = numbers(12), b = numbers(9);
  std::vector<float> v(50, -7.0f);
  both.on(cuda())(view(a.data(), 6, 2), view(b.data(), 4, 2), out(v.data(), 6, 2).strided(5, 1), out(v.data() + 2, 4, 2).strided(5, 1));
  for (std::size_t i = 0; i < 10; ++i)
    for (std::size_t j = 0; j < 5; ++j)
      if (v[i * 5 + j] != (j < 2 && i < 6 ? a[i * 2 + j] + 1.0f : j >= 2 && j < 4 && i < 4 ? b[i * 2 + j - 2] - 1.0f : -7.0f)) return "outputs between each other";
  return "";
}
std::string streams_and_graphs() {
  graph_driver const d;
  weft::runtime::cuda_gpu const& g = weft::runtime::open_gpu(0);
  weft::runtime::gpu_scope const here(g);
  graph_driver::stream s = nullptr;
  g.check(d.cuStreamCreate(&s, 1), "bench", "cuStreamCreate");  // it does not wait for the default one
  auto const x = numbers(4096), y = numbers(4096, 3);
  cuda_tensor<float, 1> a({4096}), b({4096}), between({4096}), z({4096});
  a.fill(x.data()), b.fill(y.data());
  auto const gpu = saxpy.on(cuda(0, s));
  g.check(d.cuStreamBeginCapture_v2(s, 2), "bench", "cuStreamBeginCapture");  // relaxed: cuMemAlloc of others may go on
  std::string const refused = said_by([&] { gpu(a, b, 2.0f, out(z)); });
  graph_driver::graph made = nullptr;
  g.check(d.cuStreamEndCapture(s, &made), "bench", "cuStreamEndCapture");  // the capture goes on behind a refusal
  d.cuGraphDestroy(made);
  if (refused.find("call it once before the capture begins") == std::string::npos) return "a first call under capture says: " + refused;
  gpu(a, b, 2.0f, out(z));
  std::vector<float> back(4096);
  g.check(g.driver->cuStreamSynchronize(s), "bench", "cuStreamSynchronize");
  z.read(back.data());
  for (std::size_t i = 0; i < back.size(); ++i)
    if (back[i] != 2 * x[i] + y[i]) return "on a stream of its own, element " + std::to_string(i);
  g.check(d.cuStreamBeginCapture_v2(s, 0), "bench", "cuStreamBeginCapture");
  gpu(a, b, 3.0f, out(between));
  gpu(between, b, 1.0f, out(z));
  g.check(d.cuStreamEndCapture(s, &made), "bench", "cuStreamEndCapture");
  graph_driver::executable ready = nullptr;
  g.check(d.cuGraphInstantiateWithFlags(&ready, made, 0), "bench", "cuGraphInstantiateWithFlags");
  for (int turn = 0; turn < 2; ++turn) {
    auto const again = numbers(4096, turn == 0 ? 5 : 9);
    a.fill(again.data());
    g.check(d.cuGraphLaunch(ready, s), "bench", "cuGraphLaunch");
    g.check(g.driver->cuStreamSynchronize(s), "bench", "cuStreamSynchronize");
    z.read(back.data());
    for (std::size_t i = 0; i < back.size(); ++i)
      if (back[i] != 3 * again[i] + 2 * y[i]) return "a graph, launch " + std::to_string(turn) + ", element " + std::to_string(i);
  }
  // A kernel of two launches with an intermediate tensor between them: memory of the stream becomes a part of the graph.
  constexpr auto shares = weft::kernel<"shares">([](auto t) {
    auto const total = compute<"s">(t.extent(0), [=](auto i) { return weft::sum(t.extent(1), [=](auto k) { return t(i, k); }); });
    return compute<"y">(t.extent(0), t.extent(1), [=](auto i, auto j) { return t(i, j) + total(i); });
  });
  cuda_tensor<float, 2> m({64, 64}), r({64, 64});
  m.fill(x.data());
  auto const two = shares.on(cuda(0, s)).with({.plain = true});
  two(m, out(r));
  g.check(g.driver->cuStreamSynchronize(s), "bench", "cuStreamSynchronize");
  g.check(d.cuStreamBeginCapture_v2(s, 0), "bench", "cuStreamBeginCapture");
  two(m, out(r));
  graph_driver::graph second = nullptr;
  g.check(d.cuStreamEndCapture(s, &second), "bench", "cuStreamEndCapture");
  graph_driver::executable ready_too = nullptr;
  g.check(d.cuGraphInstantiateWithFlags(&ready_too, second, 0), "bench", "cuGraphInstantiateWithFlags of a kernel with an intermediate tensor");
  std::vector<float> const nothing(4096, -1.0f);
  r.fill(nothing.data());
  for (int turn = 0; turn < 2; ++turn) g.check(d.cuGraphLaunch(ready_too, s), "bench", "cuGraphLaunch");
  g.check(g.driver->cuStreamSynchronize(s), "bench", "cuStreamSynchronize");
  r.read(back.data());
  for (std::size_t i = 0; i < 64; ++i) {
    float total = 0;
    for (std::size_t k = 0; k < 64; ++k) total += x[i * 64 + k];
    for (std::size_t j = 0; j < 64; ++j)
      if (back[i * 64 + j] != x[i * 64 + j] + total) return "a graph of two launches, element " + std::to_string(i * 64 + j);
  }
  d.cuGraphExecDestroy(ready), d.cuGraphExecDestroy(ready_too), d.cuGraphDestroy(made), d.cuGraphDestroy(second);
  d.cuStreamDestroy_v2(s);
  return "";
}
std::string open_and_made() {
  using weft::dim;
  auto const x = numbers(64 * 48), y = numbers(64 * 48, 3);
  for (std::int64_t m : {1, 5, 16, 37, 48})
    for (std::int64_t n : {1, 16, 33}) {
      std::int64_t const k = (m * 7 + n) % 40 + 1;
      std::vector<float> c(static_cast<std::size_t>(m * n), -1.0f);
      product.on(cuda())(view(x.data(), dim<"m">(m), dim<"k">(k)), view(y.data(), dim<"k">(k), dim<"n">(n)), out(c.data(), m, n));
      for (std::int64_t e = 0; e < m * n; ++e) {
        float sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += x[static_cast<std::size_t>(e / n * k + l)] * y[static_cast<std::size_t>(l * n + e % n)];
        if (c[static_cast<std::size_t>(e)] != sum) return "open sizes " + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
      }
    }
  cuda_tensor<float, 2> there({64, 48});
  there.fill(x.data());
  auto const made = row_sums.on(cuda())(there);
  std::vector<float> sums(64);
  made.read(sums.data());
  for (std::size_t i = 0; i < 64; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < 48; ++k) sum += x[i * 48 + k];
    if (sums[i] != sum) return "an output that the call makes, element " + std::to_string(i);
  }
  // Nothing to sum, and nothing at all.
  std::vector<float> zero(4, -1.0f), none;
  row_sums.on(cuda())(view(none.data(), 4, 0), out(zero));
  if (zero != std::vector<float>(4, 0.0f)) return "sums of nothing";
  row_sums.on(cuda())(view(none.data(), 0, 4), out(none));
  return "";
}
/// What is refused is said, and leaves the GPU as it was.
std::string refusals() {
  std::string said = said_by([] { cuda_tensor<float, 1> const t({4}, 77); });
  if (said.find("there is no CUDA device 77: this machine has ") != 0) return "no such device: " + said;
  said = said_by([] { cuda_tensor<float, 1> const t({std::int64_t(1) << 42}); });
  if (said.find("out of memory (CUDA_ERROR_OUT_OF_MEMORY)") == std::string::npos) return "no memory: " + said;
  return host_memory();
}
/// Elements past 2^31 of them.
std::string far_elements() {
  std::int64_t const n = (std::int64_t(1) << 31) + 4099;
  std::vector<std::uint8_t> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::uint8_t>((i >> 3) * 2654435761u >> 24);
  cuda_tensor<std::uint8_t, 1> x({n}), y({n});
  x.fill(v.data());
  next_byte.on(cuda())(x, out(y));
  std::vector<std::uint8_t> back(v.size());
  y.read(back.data());
  for (std::size_t i = 0; i < v.size(); ++i)
    if (back[i] != static_cast<std::uint8_t>(v[i] + 1)) return "element " + std::to_string(i);
  return "";
}
std::string threads_at_once() {
  auto const x = numbers(1 << 16), y = numbers(1 << 16, 3);
  std::string wrong[4];
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&, t] {
      try {
        for (int turn = 0; turn < 8; ++turn) {
          float const a = static_cast<float>(t * 8 + turn);
          std::vector<float> z(x.size());
          saxpy.on(cuda())(view(x), view(y), a, out(z));
          for (std::size_t i = 0; i < z.size(); ++i)
            if (z[i] != a * x[i] + y[i]) wrong[t] = "a thread's element " + std::to_string(i);
        }
      } catch (weft::error const& e) {
        wrong[t] = e.what();
      }
    });
  for (std::thread& t : all) t.join();
  for (std::string const& w : wrong)
    if (!w.empty()) return w;
  return "";
}
/// Machine code on disk: of a second call under another name of the same kernel nothing is compiled, it is found.
std::string code_on_disk() {
  own_cache const here;
  auto const x = numbers(600);
  cuda_tensor<float, 2> a({20, 30});
  cuda_tensor<float, 1> r({20});
  a.fill(x.data());
  auto const hits = [] { return weft::cache::inspect().hits; };
  auto const before = hits();
  row_sums.on(cuda())(a, out(r));
  std::string wrong = unless(hits() == before, "a first call found something");
  // The same kernel with another type of its lambda has forms of its own in this process.
  constexpr auto same = weft::kernel<"row_sums">([](auto t) {
    return compute<"R">(t.extent(0), [=](auto i) { return weft::sum(t.extent(1), [=](auto k) { return t(i, k); }); });
  });
  same.on(cuda())(a, out(r));
  if (wrong.empty()) wrong = unless(hits() == before + 1, "the code is not found on disk: " + weft::cache::status());
  std::vector<float> sums(20);
  r.read(sums.data());
  for (std::size_t i = 0; i < 20 && wrong.empty(); ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < 30; ++k) sum += x[i * 30 + k];
    if (sums[i] != sum) wrong = "by code from disk, element " + std::to_string(i);
  }
  return wrong;
}
std::string looks_inside() {
  cuda_tensor<float, 2> a({256, 256}), b({256, 256}), c({256, 256});
  auto const x = numbers(256 * 256);
  a.fill(x.data()), b.fill(x.data());
  auto const gpu = product.on(cuda());
  if (gpu.ptx(a, b).find(".target sm_90") == std::string::npos && gpu.ptx(a, b).find(".target " + weft::runtime::open_gpu(0).architecture) == std::string::npos) return "no PTX for this GPU";
  std::string const resources = gpu.resources(a, b);
  if (resources.find("sm_90") == std::string::npos) return "no resources: " + resources;
  weft::benchmark_result const r = weft::benchmark(gpu, a, b, out(c));
  std::printf("%s", r.text().c_str());
  return unless(r.lines[0].by_events && r.lines[0].time.median > 500, "a product of 256^3 takes " + std::to_string(r.lines[0].time.median) + " ns");
}
/// Some trials, in a process of their own, that all are right; the call then takes what was found.
std::string a_tuning() {
  own_cache const here;
  std::int64_t const n = 512;
  auto const x = numbers(static_cast<std::size_t>(n * n)), y = numbers(static_cast<std::size_t>(n * n), 3);
  cuda_tensor<float, 2> a({n, n}), b({n, n}), c({n, n});
  a.fill(x.data()), b.fill(y.data());
  auto const gpu = product.on(cuda());
  weft::tune_result const r = weft::tune(gpu, {.trials = 24, .seconds = 40}, view(x.data(), n, n), view(y.data(), n, n));
  std::printf("%s", r.text().c_str());
  std::string wrong;
  std::size_t good = 0;
  for (weft::tune_trial const& t : r.trials) {
    good += t.result == weft::tuning::outcome::good && !t.wrong;
    if (t.wrong) wrong += "a trial computes something else: " + t.why + "\n";
    else if (t.result != weft::tuning::outcome::good) std::printf("  refused: %s\n", t.why.substr(0, 200).c_str());
  }
  if (good == 0) wrong += "no trial is good";
  if (wrong.empty() && !(r.best_ns > 0 && r.best_ns <= r.first_ns * 1.05)) wrong = "the best is slower than the rule";
  gpu(a, b, out(c));
  std::vector<float> back(c.size());
  c.read(back.data());
  for (std::size_t e = 0; e < back.size() && wrong.empty(); e += 97) {
    float sum = 0;
    for (std::size_t l = 0; l < static_cast<std::size_t>(n); ++l) sum += x[e / static_cast<std::size_t>(n) * static_cast<std::size_t>(n) + l] * y[l * static_cast<std::size_t>(n) + e % static_cast<std::size_t>(n)];
    if (back[e] != sum) wrong = "tuned, element " + std::to_string(e);
  }
  return wrong;
}

struct one {
  char const* what;
  std::string (*judge)();
  bool compiles = false;  // on the host, for longer than a kernel may run
};
constexpr one all[] = {{"memory of the host's", host_memory},     {"streams and graphs", streams_and_graphs}, {"open sizes, and outputs that calls make", open_and_made},
                              {"refusals", refusals},                    {"elements past 2^31", far_elements},       {"threads at once", threads_at_once},
                              {"code on disk", code_on_disk},            {"looks inside", looks_inside},             {"a tuning", a_tuning, true}};

}  // namespace
}  // namespace trial::calls
