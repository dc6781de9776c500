// Searches for GPUs: the spaces of rules, candidates on a stub that runs their text on the host, and what is remembered.
#include "weft/tune/cuda.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "codegen/cuda/ruled.hpp"
#include "support/child_process.hpp"
#include "support/cuda_machine.hpp"
#include "support/nvrtc.hpp"
#include "support/private_cache.hpp"
#include "support/said.hpp"
#include "tune/points.hpp"
#include "weft/base/joined.hpp"
#include "weft/direct.hpp"
#include "weft/print_how.hpp"
#include "weft/runtime/cache/relatives.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/tune.hpp"
#include "weft/tune/warp_features.hpp"

using namespace weft;
using weft_test::other_point, weft_test::private_cache, weft_test::said_by;
using weft_test::temporary_directory;

namespace {
constexpr auto turned = weft::kernel<"turned">([](auto x) {
  return compute<"y">(x.extent(1), x.extent(0), [=](auto i, auto j) { return x(j, i); });
});
constexpr auto softmax = weft::kernel<"softmax">([](auto x) {
  auto m = compute<"m">(x.extent(0), [=](auto i) { return max(x.extent(1), [=](auto k) { return x(i, k); }); });
  auto e = compute<"e">(x.extent(0), x.extent(1), [=](auto i, auto j) { return weft::exp(x(i, j) - m(i)); });
  auto s = compute<"s">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return e(i, k); }); });
  return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return e(i, j) / s(i); });
});
/// With a how-lambda for GPUs: the threads of a block are a knob.
constexpr auto grown = weft::kernel<"grown">(
    [](auto x) { return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * 2.0f + 1.0f; }); },
    weft::cuda_schedule([](auto& s, auto, auto y) {
      auto [i, j] = y.axes();
      auto const n = s.knob("threads", {8, 16, 32, 64});
      auto [jo, ji] = s.split(j, n);
      s.bind(i, weft::thread_axis::block_x);
      s.bind(ji, weft::thread_axis::thread_x);
      static_cast<void>(jo);
    }));

target gpu(char const* name = "Stub 80") {
  target t;
  t.arch = architecture::nvidia;
  t.cpu = "sm_80";
  t.features.push_back(name);
  t.fma = true;
  t.l1_bytes = 166912, t.l2_bytes = 40 << 20, t.threads = 108;
  return t;
}
std::vector<float> numbers(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(static_cast<int>(i * 7 % 13) - 6);
  return v;
}
tune_options quick(std::int64_t trials) {
  tune_options o;
  o.compilers = 0;
  o.trials = trials;
  o.seconds = 300;
  o.worker = tuning::isolation::forked;  // other tests call weft::worker, and main does not
  return o;
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
std::string const this_gpu = "tuned for these arguments on this machine";
/// What `use` makes of the space of a kernel on these arguments, as a tuning on this GPU has it.
template <class Kernel, class Use, class... A>
void with_space(Kernel const& kernel, target const& machine, Use const& use, A const&... a) {
  kernel.on(weft::cuda()).erased(
      [&](kernel_face const& f, argument* arguments, int count) {
        program const what = f.what(f.object);
        shape_outputs(what, arguments, count);
        call_layout const layout = f.gpu->bind(what, f.name, arguments, count);
        compile_request const r{f.name, &what, f.how, f.object, &layout, &machine, f.wanted, f.how == nullptr, nullptr, f.gpu};
        tuning::space s(r);
        use(s, r);
        return 0;
      },
      a...);
}
/// Keeps a point as a tuning would.
template <class Kernel, class... A>
std::uint64_t keep_point(Kernel const& kernel, target const& machine, std::uint64_t seed, A const&... a) {
  std::uint64_t steps = 0;
  with_space(kernel, machine, [&](tuning::space& s, compile_request const& r) {
    tuning::point const p = other_point(s, seed);
    schedule const first = s.steps({});
    steps = hash(s.at(p.choices).steps);
    std::string const key = weft::detail::task_of(r, first);
    REQUIRE(cache::keep_tuned(key, {p.choices, steps, 1000, 8, s.plan()}));
    cache::relative own = cache::described(key, *r.layout, machine);
    cache::note_choices(own, s.at(p.choices));
    own.plan = s.plan();
    REQUIRE(cache::keep_relative(weft::detail::family_of(r, first), own));
  }, a...);
  return steps;
}
/// Builds a GPU that is this machine, and runs the case of that name in a process that finds it. With an older driver it is of CUDA 12, and
/// there is an NVRTC 12 beside 13, whose code that refuses.
void with_machine(char const* name, bool older_driver = false) {
  if (!weft_test::cuda_on_host::available()) {
    MESSAGE("[skip] no compiler on this machine: apt-get install g++");
    return;
  }
  temporary_directory folder;
  char const* const cxx = std::getenv("CXX");
  std::string const compiler = cxx != nullptr && *cxx != '\0' ? cxx : "c++";
  auto const built = [&](char const* options, char const* file) {
    return compiler + " -std=c++17 -O1 -fPIC -shared" + options + " -x c++ -o " + folder.path + file + " '" WEFT_TESTS_DIR "/support/cuda_machine_stub.hpp' -ldl";
  };
  std::string const command = built("", "/libcuda.so.1") + " && cp " + folder.path + "/libcuda.so.1 " + folder.path + "/libnvrtc.so.13";
  REQUIRE(std::system(command.c_str()) == 0);
  if (older_driver) REQUIRE(std::system(built(" -DSTUB_NVRTC=12", "/libnvrtc.so.12").c_str()) == 0);
  if (older_driver) ::setenv("WEFT_STUB_DRIVER", "12", 1);
  ::setenv("WEFT_STUB_CXX", (compiler + " -std=c++17 -O0 -w -ffp-contract=off -fPIC -shared -include '" WEFT_TESTS_DIR "/support/cuda_shim.hpp'").c_str(), 1);
  CHECK(weft::test::run_case(name, "LD_LIBRARY_PATH", folder.path.c_str()) == 0);
  ::unsetenv("WEFT_STUB_DRIVER");
}
}  // namespace

// --- spaces ---------------------------------------------------------------------------------------------------------

TEST_CASE("the first point of a GPU's space is the schedule by rule") {
  auto const x = numbers(64 * 96);
  with_space(turned, gpu(), [&](tuning::space& s, compile_request const&) {
    tuning::point first;
    REQUIRE(s.first(first));
    CHECK(first.choices.size() >= 4);
    for (std::int32_t c : first.choices) CHECK(c == 0);
    CHECK(print_trace(s.at({})) == turned.on(weft::cuda()).trace(view(x, 64, 96)));
  }, view(x, 64, 96));
}
TEST_CASE("points that a GPU cannot launch are dropped before anything is compiled, and counted") {
  auto const x = numbers(64 * 96);
  with_space(turned, gpu(), [](tuning::space& s, compile_request const&) {
    tuning::space_size const n = tuning::measure(s);
    CHECK(n.exact);
    CHECK(n.legal < n.points);  // 64 x 32 threads are too many for a block
    CHECK(n.legal > n.points / 2);
    CHECK(has(tuning::text(n), " points, "));
    sequence<std::int32_t> choices;
    int refused = 0;
    for (bool more = true; more;) {
      tuning::point const p = s.look(choices);
      std::string const why = s.why_not(p.choices);
      CHECK(p.legal == why.empty());
      refused += has(why, "a block has at most 1024 threads");
      more = tuning::next_point(p, choices);
    }
    CHECK(refused > 0);
  }, view(x, 64, 96));
  target small = gpu();
  small.l1_bytes = 4096;  // of 32 x 33 elements no block has room
  with_space(turned, small, [](tuning::space& s, compile_request const&) {
    tuning::point first;
    CHECK_FALSE(s.look({}).legal);
    CHECK(s.why_not({}) == "a block shares 4224 bytes of memory, of at most 4096");
    CHECK(s.first(first));
  }, view(x, 64, 96));
}
TEST_CASE("memory that several stages of a block have, one after the other, counts once in a search") {
  constexpr auto chained = weft::kernel<"chained">(
      [](auto x) {
        auto const next = [](auto const& of) {
          return compute<"row">(of.extent(0), of.extent(1) - 1, [=](auto i, auto j) { return of(i, j) + of(i, j + 1); });
        };
        return next(next(next(next(x))));
      },
      weft::cuda_schedule([](auto& s, auto, auto a, auto b, auto c, auto y) {
        auto const n = s.knob("threads", {64, 128});
        auto const spread = [&](auto const& of) {
          auto [i, j] = of.axes();
          auto [jo, ji] = s.split(j, n);
          s.bind(ji, weft::thread_axis::thread_x);
          static_cast<void>(jo);
          return i;
        };
        auto const row = spread(y);
        s.bind(row, weft::thread_axis::block_x);
        for (auto const& stage : {c, b, a}) s.compute_at(stage, row), spread(stage);
      }));
  std::vector<float> const x(3 * 4004);
  target small = gpu();
  small.l1_bytes = 40000;  // of three rows of 16 KB two are needed at a time
  with_space(chained, small, [](tuning::space& s, compile_request const& r) {
    CHECK(s.why_not({}) == "");
    CHECK(s.look({}).legal);
    ir::arena m, passed;
    ir::function const f = weft::detail::lowered(m, r, s.at({})), made = make_loops(passed, r, s.at({}));
    tuning::gpu_costs const sum = tuning::costs_of_gpu_loops(f, *r.machine);
    CHECK(tuning::shares_too_much(sum, *r.machine));
    REQUIRE(tuning::shared_bytes_of_launches(made).size() == 1);
    CHECK(tuning::shared_bytes_of_launches(made)[0] == make_cuda_module(made).kernels[0].shared_bytes);
    CHECK(tuning::shared_bytes_of_launches(made)[0] < 40000);
    sequence<float> features;
    double estimate = 0, alone = tuning::costs_of_gpu_loops(f, *r.machine, tuning::shared_bytes_of_launches(made)).estimate;
    CHECK(s.describe(s.look({}), features, estimate));
    CHECK(estimate == alone);
  }, view(x, 3, 4004));
  small.l1_bytes = 20000;
  with_space(chained, small, [](tuning::space& s, compile_request const&) {
    CHECK(has(s.why_not({}), "a block shares "));
    CHECK_FALSE(s.look({}).legal);
  }, view(x, 3, 4004));
}
TEST_CASE("every legal point of a GPU's space computes what the program says") {
  using namespace weft_test;
  int checked = 0;
  auto const all = [&](gpu_kernel const& k, std::uint64_t seed, int points) {
    program const expanded = expand(canonical(k.p), true);
    auto const extents = [&](int t, int d) { return k.shapes[static_cast<std::size_t>(t)][static_cast<std::size_t>(d)]; };
    rule_input in;
    in.searched = true;
    in.strides.resize(expanded.tensors.size());
    tuning::random_numbers random(seed);
    for (int i = 0; i < points; ++i) {
      sequence<std::int32_t> choices;
      gpu_kernel one = k;
      for (std::size_t decided = 0;;) {  // knobs come one after the other
        schedule s(expanded, extents, {0, 16});
        s.choices = choices;
        schedule_by_gpu_rule(s, in);
        if (s.knobs.size() <= decided) {
          one.steps = s.state == verdict::illegal ? "" : print_trace(s);
          break;
        }
        choices.push_back(random.below(static_cast<std::int32_t>(s.knobs[decided].values.size())));
        ++decided;
      }
      if (one.steps.empty()) continue;
      gpu_trial t(one, {});
      if (has(t.fault, "more than 1024 in a block")) continue;
      INFO(one.name << "\n" << one.steps);
      CHECK(t.fault == "");
      if (!t.fault.empty()) continue;
      ++checked;
      CHECK(t.interpreted(3) == "");
    }
  };
  all(transposed<float>(40, 36), 1, 8);
  all(scaled<f16>(9, 64), 2, 8);
  all(row_sums<float>(9, 512), 3, 10);
  all(whole_sum<std::int32_t>(20000), 4, 6);
  all(column_sums<float>(200, 20), 5, 8);
  all(softmax_rows(5, 256), 6, 12);
  all(stencil<float>(10, 20), 7, 8);
  MESSAGE(checked, " schedules");
  CHECK(checked > 40);
}
TEST_CASE("the estimate of a launch has the threads, the grid and the shared memory that the text has") {
  auto const check = [](auto const& kernel, auto const&... a) {
    with_space(kernel, gpu(), [&](tuning::space& s, compile_request const& r) {
      tuning::random_numbers random(9);
      for (int i = 0; i < 6; ++i) {
        tuning::point const p = i == 0 ? s.look({}) : other_point(s, 100 + random.next() % 100);
        ir::arena m;
        schedule const at = s.at(p.choices);
        tuning::gpu_costs const c = tuning::costs_of_gpu_loops(weft::detail::lowered(m, r, at), *r.machine);
        cuda_module const module = make_cuda_module(make_loops(m, r, at));
        INFO(print_trace(at));
        REQUIRE(c.launches.size() == module.kernels.size());
        for (std::size_t k = 0; k < c.launches.size(); ++k) {
          for (int d = 0; d < 3; ++d) {
            CHECK(c.launches[k].threads[d] == module.kernels[k].threads[d]);
            CHECK(c.launches[k].blocks[d] == (module.kernels[k].blocks[d] != nullptr ? module.kernels[k].blocks[d]->value : 1));
          }
          // What a tree needs between warps is not in it.
          CHECK(c.launches[k].shared_bytes <= module.kernels[k].shared_bytes);
          CHECK(module.kernels[k].shared_bytes <= c.launches[k].shared_bytes + 1024);
        }
      }
    }, a...);
  };
  std::vector<float> const x(64 * 1024, 1.0f);
  check(turned, view(x, 64, 96));
  check(softmax, view(x, 20, 512));
  check(softmax, view(x, 8, 4096));
}
TEST_CASE("of a large product by rule the estimated registers are near those of ptxas") {
  if (!weft_test::nvrtc_is_asked()) return;
  constexpr auto product = weft::kernel<"product">([](auto A, auto B) {
    return compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); }); });
  });
  std::vector<float> const x(1024 * 1024, 1.0f);
  with_space(product, gpu(), [](tuning::space& s, compile_request const& r) {
    ir::arena m;
    tuning::launch_costs const c = tuning::costs_of_gpu_loops(weft::detail::lowered(m, r, s.at({})), *r.machine).launches[0];
    cuda_module const module = make_cuda_module(make_loops(m, r, s.at({})));
    std::int32_t const taken = usage_of(module, "sm_80")[0].registers;
    MESSAGE("estimated ", c.registers, ", taken ", taken);
    CHECK(static_cast<double>(c.registers) > 0.7 * taken);
    CHECK(static_cast<double>(c.registers) < 1.4 * taken);
    CHECK(c.stages > 1);
  }, view(x, 1024, 1024), view(x, 1024, 1024));
}

// --- tunings -----------------------------------------------------------------------------------------------------------

TEST_CASE("where there is no GPU a tuning says so in one sentence") {
  CHECK(weft::test::run_case("child: nothing to tune on", "WEFT_CUDA", "/nonexistent/libcuda.so.1") == 0);
}
TEST_CASE("child: nothing to tune on" * doctest::skip()) {
  auto const x = numbers(64);
  std::uint64_t const before = compilations();
  for (tuning::isolation where : {tuning::isolation::forked, tuning::isolation::none})
    CHECK(said_by([&] {
            tune_options o = quick(4);
            o.worker = where;
            tune(turned.on(weft::cuda()), o, view(x, 8, 8));
          }) == "turned: tune: there is no CUDA driver (/nonexistent/libcuda.so.1): install NVIDIA's, or compute on the CPU");
  CHECK(compilations() == before);
}

TEST_CASE("a search on a GPU: candidates are right, the best is kept and taken, and prints as a how-lambda") { with_machine("child: tuned"); }
TEST_CASE("child: tuned" * doctest::skip()) {
  private_cache const here;
  auto const x = numbers(40 * 72);
  auto const A = view(x, 40, 72);
  auto const on_gpu = turned.on(weft::cuda());
  CHECK(search_space(on_gpu, A).legal > 1);
  CHECK_FALSE(runtime::cuda_has_begun());  // or forked workers would be refused from here on
  tune_result const r = tune(on_gpu, quick(5), A);
  std::printf("%s", r.text().c_str());
  CHECK(r.worker == tuning::isolation::forked);
  CHECK(r.trials.size() == 5);
  for (tune_trial const& t : r.trials) {
    INFO(t.why);
    CHECK(t.result == tuning::outcome::good);
    CHECK_FALSE(t.wrong);
    CHECK(t.ns > 0);
  }
  for (std::int32_t c : r.trials[0].choices) CHECK(c == 0);
  CHECK(r.compiled_ahead == 0);
  CHECK(has(r.how, "s.bind("));
  CHECK(has(r.text(), " points, "));
  CHECK(r.kept);
  CHECK_FALSE(runtime::cuda_has_begun());  // it was the worker's
  CHECK(has(schedule_reason(on_gpu, A), this_gpu));
  CHECK(runtime::cuda_has_begun());
  CHECK(print_how(on_gpu, A) == r.how);
  std::vector<float> y(72 * 40);
  on_gpu(A, out(y, 72, 40));
  for (std::size_t i = 0; i < 72; ++i)
    for (std::size_t j = 0; j < 40; ++j) CHECK(y[i * 40 + j] == x[j * 72 + i]);
  // A fork of this process could not use a GPU any more.
  CHECK(said_by([&] { tune(on_gpu, quick(4), A); }) ==
        "turned: tune: this program has used the GPU, and a fork of it cannot: call weft::worker(argc, argv) first in main, or name a program that does "
        "(WEFT_WORKER=weft-worker), which gives candidates a process of their own");
  weft::cuda_tensor<float, 2> there({40, 72});
  CHECK(has(said_by([&] { tune_options o = quick(4); o.worker = tuning::isolation::none; tune(on_gpu, o, there); }),
            "tensors in the GPU's memory are not tuned with"));
}

namespace {
constexpr auto row_sums = weft::kernel<"row_sums">([](auto x) {
  return compute<"R">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return x(i, k); }); });
});
}  // namespace
TEST_CASE("what a candidate has on a GPU goes with it, also where the driver refuses it halfway") { with_machine("child: belongings"); }
TEST_CASE("child: belongings" * doctest::skip()) {
  std::int64_t const rows = 3, terms = 200000, x_bytes = rows * terms * 4, sum_bytes = 4096;
  std::vector<float> x = numbers(static_cast<std::size_t>(rows * terms)), sums(static_cast<std::size_t>(sum_bytes / 4));
  tuning::argument_places places;
  for (std::int64_t bytes : {x_bytes, sum_bytes}) {
    tuning::memory_block b;
    b.bytes = b.pages_bytes = bytes;
    b.written = bytes == sum_bytes;
    places.tensors.push_back({static_cast<std::int32_t>(places.blocks.size()), 0});
    places.blocks.push_back(b);
  }
  places.pages.push_back(reinterpret_cast<char*>(x.data()));
  places.pages.push_back(reinterpret_cast<char*>(sums.data()));
  with_space(row_sums, gpu(), [&](tuning::space& s, compile_request const& r) {
    ir::arena m;
    ir::function const f = r.gpu->loops(m, r, s.at({}));
    REQUIRE(workspace_bytes(f) > 0);
    std::string const loops = ir::print(f);
    tuning::gpu_bench_services const* const services = tuning::find_gpu_bench();
    REQUIRE(services != nullptr);
    std::unique_ptr<tuning::gpu_bench> bench(services->open(0, places));
    auto& state = weft_test::machine_state();
    std::string why;
    for (int times = 0; times < 3; ++times) {
      std::unique_ptr<tuning::candidate> const one(bench->load(loops, {}, false, ""));
      CHECK(state.allocations - state.frees == 3);
      CHECK(state.libraries == 1);
      CHECK(one->run(1, tuning::surroundings::closed, why) > 0);
      CHECK(why == "");
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      float wanted = 0;  // whole numbers: in any order
      for (std::int64_t k = 0; k < terms; ++k) wanted += x[static_cast<std::size_t>(i * terms + k)];
      CHECK(sums[static_cast<std::size_t>(i)] == wanted);
    }
    CHECK(state.allocations - state.frees == 2);
    CHECK(state.libraries == 0);
    state.fail_allocation = 2;
    CHECK(has(said_by([&] { bench->load(loops, {}, false, ""); }), "tune: memory for intermediate tensors: out of memory"));
    CHECK(state.libraries == 0);
    bench.reset();
    CHECK(state.allocations == state.frees);
    state.fail_allocation = 2;
    CHECK(has(said_by([&] { services->open(0, places); }), "tune: memory for the arguments: out of memory"));
    CHECK(state.allocations == state.frees);
    CHECK(state.context_depth == 0);
  }, view(x, rows, terms));
}

TEST_CASE("while one candidate is timed, other processes compile the next ones") { with_machine("child: compiled ahead"); }
TEST_CASE("child: compiled ahead" * doctest::skip()) {
  private_cache const here;
  auto const x = numbers(40 * 72);
  auto const A = view(x, 40, 72);
  tune_options o = quick(7);
  o.compilers = 2;
  tune_result const r = tune(turned.on(weft::cuda()), o, A);
  INFO(r.text());
  CHECK(r.trials.size() == 7);
  CHECK(r.compiled_ahead == 6);  // all but the first
  for (tune_trial const& t : r.trials) {
    INFO(t.why);
    CHECK(t.result == tuning::outcome::good);
    CHECK_FALSE(t.wrong);
  }
}

TEST_CASE("a search compiles by the NVRTC that the calls take, which is none that is newer than the driver") {
  with_machine("child: older driver", true);
  ::setenv("WEFT_NVRTC", "libnvrtc.so.13", 1);
  with_machine("child: NVRTC too new", true);
  ::unsetenv("WEFT_NVRTC");
}
TEST_CASE("child: older driver" * doctest::skip()) {
  private_cache const here;
  auto const x = numbers(40 * 72);
  auto const A = view(x, 40, 72);
  tune_options o = quick(3);
  o.compilers = 1;
  tune_result const r = tune(turned.on(weft::cuda()), o, A);
  REQUIRE(r.trials.size() == 3);
  CHECK(r.compiled_ahead == 2);
  for (tune_trial const& t : r.trials) {
    INFO(t.why);
    CHECK(t.result == tuning::outcome::good);
  }
  std::vector<float> y(72 * 40);
  turned.on(weft::cuda())(A, out(y, 72, 40));
  CHECK(y[1] == x[72]);
}
TEST_CASE("child: NVRTC too new" * doctest::skip()) {
  private_cache const here;
  auto const x = numbers(64);
  CHECK(said_by([&] { tune(turned.on(weft::cuda()), quick(4), view(x, 8, 8)); }) ==
        "turned: tune: NVRTC 13.0 is newer than the driver, which is of CUDA 12: install a newer driver, or NVRTC 12, or tune on the CPU");
}

namespace {
/// A fault for each value of the knob but the first.
struct injector {
  static void see(void*, sequence<std::int32_t> const& choices, std::string& loops) {
    std::int32_t const n = choices.empty() ? 0 : choices[0];
    auto const renamed = [&](char const* name) { loops.replace(loops.find("kernel grown"), 12, std::string("kernel ") + name); };
    if (n == 1) renamed("spilling");
    if (n == 2) renamed("illegal");
    if (n == 3) loops.replace(loops.find("1.0f32"), 6, "1.5f32");
  }
};
struct worse {
  char const* body;
  static void see(void* context, sequence<std::int32_t> const& choices, std::string& loops) {
    if (choices.empty() || choices[0] != 1) return;
    std::string const body = static_cast<worse const*>(context)->body;
    std::size_t const head = loops.find("kernel "), line = loops.find('\n', head);
    loops = loops.substr(head, line - head) + "\n  variables i, n\n  buffer x: f32[8, 64] strides [64, 1] in argument 0" + (body.find("    x[3") != std::string::npos ? " written" : "") +
            " alias 0 align 32\n  buffer y: f32[8, 64] strides [64, 1] in argument 1 written alias 1 align 32\n" + body;
  }
};
template <class Injector>
tune_result tuned_with(Injector& in, std::int64_t compilers = 0) {
  auto const x = numbers(8 * 64);
  tune_options o = quick(4);
  o.random = true, o.compilers = compilers;
  return grown.on(weft::cuda()).erased(
      [&](kernel_face const& f, argument* arguments, int count) { return tuning::tune(f, arguments, count, o, {&in, Injector::see}); },
      view(x, 8, 64));
}
}  // namespace
TEST_CASE("candidates that spill, fail or compute something else on a GPU are recorded and never chosen") { with_machine("child: faults"); }
TEST_CASE("child: faults" * doctest::skip()) {
  for (std::int64_t compilers : {0, 3}) {
    private_cache const here;
    injector in;
    tune_result const r = tuned_with(in, compilers);
    std::printf("%s", r.text().c_str());
    CHECK(r.space.points == 4);
    REQUIRE(r.trials.size() == 4);
    for (tune_trial const& t : r.trials) {
      INFO(t.choices[0] << ": " << t.why);
      switch (t.choices[0]) {
        case 0: CHECK(t.result == tuning::outcome::good); CHECK(t.ns > 0); break;
        case 1:
          CHECK(t.result == tuning::outcome::refused);
          CHECK(has(t.why, "spilling_kernel: 16 bytes of registers are spilled"));
          break;
        case 2:
          CHECK(t.result == tuning::outcome::crashed);
          CHECK(has(t.why, "it ended the worker: tune: cuLaunchKernel: "));
          break;
        default: CHECK(t.wrong); CHECK(has(t.why, "instead of"));
      }
    }
    CHECK(r.choices[0] == 0);
    CHECK(r.worker_starts == 2);
    CHECK(r.compiled_ahead == (compilers > 0 ? 3 : 0));
  }
}
TEST_CASE("candidates on a GPU that write elsewhere, end the process or do not end") { with_machine("child: worse"); }
TEST_CASE("child: worse" * doctest::skip()) {
  struct {
    worse what;
    tuning::outcome result;
    char const* why;
  } cases[] = {
      {{"  for i in 0..1 block_x:\n    y[8, i] = 1.0f32\n"}, tuning::outcome::failed, "it writes outside of its tensors"},
      {{"  for i in 0..1 block_x:\n    x[3, i] = 9.0f32\n"}, tuning::outcome::failed, "it writes to an input"},
      {{"  for i in 0..1 block_x:\n    y[50000000, i] = 1.0f32\n"}, tuning::outcome::crashed, "it ended the worker"},
      {{"  for n in 0..1000000000000000:\n    for i in 0..8:\n      y[(i * 7 + n) %% 8, 0] = y[(i + n * 3) %% 8, 0] + x[i, 0]\n"}, tuning::outcome::hung,
       "it did not end"},
  };
  for (auto& c : cases) {
    private_cache const here;
    tune_result const r = tuned_with(c.what);
    int seen = 0;
    for (tune_trial const& t : r.trials) {
      INFO(t.choices[0] << ": " << t.why);
      if (t.choices[0] != 1) {
        CHECK(t.result == tuning::outcome::good);
        continue;
      }
      ++seen;
      CHECK(t.result == c.result);
      CHECK(has(t.why, c.why));
    }
    CHECK(seen == 1);
    CHECK(r.choices[0] != 1);
  }
}

TEST_CASE("what is remembered of a GPU: its own results, the nearest shape, another GPU of the architecture, the rule") { with_machine("child: remembered"); }
TEST_CASE("child: remembered" * doctest::skip()) {
  auto const x = numbers(64 * 128);
  auto const A = view(x, 64, 96), nearer = view(x, 60, 96), far = view(x, 8, 600);
  auto const on_gpu = turned.on(weft::cuda()), on_other = turned.on(weft::cuda(1));
  std::string const rule = "by rule: the kernel has no how-lambda for GPUs";
  {
    private_cache const here;
    CHECK(schedule_reason(on_gpu, A) == rule);
    std::string const own = on_gpu.trace(A);
    keep_point(turned, gpu(), 5, A);
    CHECK(schedule_reason(on_gpu, A) == this_gpu + ", in 8 trials");
    CHECK(on_gpu.trace(A) != own);
    CHECK(has(schedule_reason(on_gpu, nearer), "the nearest that was tuned; not for 60 x 96"));
    CHECK(schedule_reason(on_gpu, far) == rule);
    CHECK(schedule_reason(on_other, A) == "tuned for these sizes on another machine with the same instructions");
    CHECK(has(schedule_reason(on_other, nearer), "on another machine with the same instructions"));
    CHECK(schedule_reason(on_gpu.with({.plain = true}), A) == "a thread for each element");
    std::vector<float> y(96 * 60);
    on_gpu(nearer, out(y, 96, 60));
    for (std::size_t i = 0; i < 96; ++i)
      for (std::size_t j = 0; j < 60; ++j) CHECK(y[i * 60 + j] == x[j * 96 + i]);
  }
  {
    private_cache const here;
    target next = gpu();
    next.cpu = "sm_90";
    keep_point(turned, next, 5, A);
    CHECK(schedule_reason(on_gpu, A) == rule);  // of another architecture
  }
  {
    private_cache const here;
    CHECK(schedule_reason(grown.on(weft::cuda()), A) == "not tuned: each knob has its first value");
    keep_point(grown, gpu(), 7, A);
    CHECK(has(schedule_reason(grown.on(weft::cuda()), A), this_gpu));
  }
}
TEST_CASE("a call after a tuning takes what was found, in the same process too") { with_machine("child: superseded"); }
TEST_CASE("child: superseded" * doctest::skip()) {
  private_cache const here;
  auto const x = numbers(40 * 72);
  auto const A = view(x, 40, 72);
  std::vector<float> y(72 * 40);
  auto const on_gpu = turned.on(weft::cuda());
  on_gpu(A, out(y, 72, 40));
  auto const made = [] { return cache::inspect().hits + cache::inspect().misses; };
  auto const before = made();
  on_gpu(A, out(y, 72, 40));
  CHECK(made() == before);
  supersede("another");
  on_gpu(A, out(y, 72, 40));
  CHECK(made() == before);
  supersede("turned");
  on_gpu(A, out(y, 72, 40));
  CHECK(made() == before + 1);
  on_gpu(A, out(y, 72, 40));
  CHECK(made() == before + 1);
}
