// A GPU on trial: each function of the prelude alone, the corpus against direct evaluation, then speed. `bench/gpu.sh` builds and runs it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <tuple>

#include "codegen/cuda/all_operations.hpp"
#include "codegen/cuda/attention.hpp"
#include "codegen/cuda/copying.hpp"
#include "codegen/cuda/open.hpp"
#include "codegen/cuda/products_wgmma.hpp"
#include "codegen/cuda/products_wmma.hpp"
#include "codegen/cuda/ruled.hpp"
#include "codegen/cuda/scheduled.hpp"
#include "codegen/cuda/windows.hpp"
#include "calls.hpp"
#include "device.hpp"
#include "parts.hpp"
#include "weft/cuda.hpp"
#include "weft/matrix_units.hpp"
#include "weft/ops/softmax.hpp"
#include "weft/weft.hpp"

using namespace weft;
using namespace weft_test;
using trial::device_memory;
using trial::gpu_device;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double const began = now();

// --- first: is it right? ---------------------------------------------------------------------------------------------
int wrong_operations(gpu_device& device) {
  int wrong = 0;
  for (dtype t : types) {
    all_operations k(t);
    loop_program p("all_" + std::string(name(t)));
    make_all(p, t, static_cast<std::int64_t>(k.a.size()));
    cuda_module const module = make_cuda_module(p.f);
    device.load(module.text);
    std::vector<std::unique_ptr<device_memory>> there;
    std::vector<unsigned long long> pointers;
    for (auto const& m : k.memory) {
      there.push_back(std::make_unique<device_memory>(device.gpu(), m.size()));
      there.back()->fill(m.data(), m.size());
      pointers.push_back(there.back()->at);
    }
    device.launch(module.kernels[0], pointers);
    for (std::size_t i = 0; i < there.size(); ++i) there[i]->read(k.memory[i].data(), k.memory[i].size());
    std::string const said = k.wrong();
    if (!said.empty()) ++wrong, std::printf("WRONG operations of %s:\n%s", std::string(name(t)).c_str(), said.c_str());
  }
  return wrong;
}
/// All values of a half, both ways, and values between: f16 is converted by an instruction.
int wrong_halves(gpu_device& device) {
  loop_program p("halves");
  std::int64_t const n = 65536 * 3;
  ir::expr const i = p.variable("i"), count = p.number(n);
  auto* const in = p.buffer("A", dtype::f16, {count}, false);
  auto* const wide = p.buffer("W", dtype::f32, {count}, false);
  auto* const widened = p.buffer("B", dtype::f32, {count}, true);
  auto* const narrowed = p.buffer("C", dtype::f16, {count}, true);
  p.f.body = legalise(p.m, p.loop(loop_kind::parallel, i, count,
                                  ir::block(p.m, {p.store(widened, {i}, ir::cast(p.m, op::cast, dtype::f32, p.load(in, {i}))),
                                                  p.store(narrowed, {i}, ir::cast(p.m, op::cast, dtype::f16, p.load(wide, {i})))})), true);
  cuda_module const module = make_cuda_module(p.f);
  device.load(module.text);
  std::vector<unsigned short> halves(static_cast<std::size_t>(n)), back(static_cast<std::size_t>(n));
  std::vector<float> floats(static_cast<std::size_t>(n)), made(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < halves.size(); ++k) {
    halves[k] = static_cast<unsigned short>(k);
    std::int64_t const whole = apply(op::cast, dtype::f16, static_cast<std::int64_t>(k % 65536), 0, 0, dtype::f32);
    // The value, half of a unit more (a tie), and a bit beyond that.
    floats[k] = from_bits<float>(whole + (k < 65536 ? 0 : k < 2 * 65536 ? 0x1000 : 0x1001));
  }
  device_memory a(device.gpu(), halves.size() * 2), w(device.gpu(), floats.size() * 4), b(device.gpu(), floats.size() * 4), c(device.gpu(), halves.size() * 2);
  a.fill(halves.data(), halves.size() * 2);
  w.fill(floats.data(), floats.size() * 4);
  device.launch(module.kernels[0], {a.at, w.at, b.at, c.at});
  b.read(made.data(), made.size() * 4);
  c.read(back.data(), back.size() * 2);
  int wrong = 0;
  for (std::size_t k = 0; k < halves.size(); ++k) {
    std::int64_t const up = apply(op::cast, dtype::f16, halves[k], 0, 0, dtype::f32), got = to_bits(made[k]);
    std::int64_t const down = apply(op::cast, dtype::f32, to_bits(floats[k]), 0, 0, dtype::f16);
    bool const right = (got == up || (is_nan(dtype::f32, got) && is_nan(dtype::f32, up))) &&
                       (back[k] == down || (is_nan(dtype::f16, back[k]) && is_nan(dtype::f16, down)));
    if (!right && ++wrong <= 5)
      std::printf("WRONG f16: %zu widens to %llx, not %llx; %a narrows to %x, not %llx\n", k, static_cast<unsigned long long>(got),
                  static_cast<unsigned long long>(up), static_cast<double>(floats[k]), back[k], static_cast<unsigned long long>(down));
  }
  return wrong > 0;
}
/// One text for all sizes of a kernel, all texts in one call of NVRTC.
void judge_open_kernels(trial::part_progress& p, int from) {
  open_trials const all;
  int run = 0;
  gpu_device device(runtime::open_gpu(0));
  device.load(all.text);
  for (std::size_t i = static_cast<std::size_t>(from); i < all.trials.size(); ++i) {
    if (all.planned[i] && all.trials[i]->fault.empty()) continue;
    p.at = static_cast<int>(i), p.runs = true;
    std::string const said = all.trials[i]->fault.empty() ? all.trials[i]->on_device(device) : all.trials[i]->fault;
    p.runs = false;
    ++run;
    if (!said.empty()) ++p.wrong, std::printf("WRONG %s: %s\n", all.kernels[i]->name.c_str(), said.substr(0, 2000).c_str());
  }
  std::printf("kernels with open sizes: %zu texts, %d calls, %d wrong (%.0f s)\n", open_cases().size(), run, p.wrong.load(), now() - began);
}
/// One call of NVRTC for all kernels from `from` on; each then twice against direct evaluation.
void judge_kernels(trial::part_progress& p, int from, std::vector<gpu_kernel> const& kernels, char const* what) {
  weft::sequence<std::string> known;
  std::vector<std::unique_ptr<gpu_trial>> trials;
  std::string text;
  for (std::size_t i = static_cast<std::size_t>(from); i < kernels.size(); ++i) {
    trials.push_back(std::make_unique<gpu_trial>(kernels[i], known));
    if (!trials.back()->fault.empty()) {
      std::printf("WRONG %s: %s\n", kernels[i].name.c_str(), trials.back()->fault.c_str());
      ++p.wrong;
      continue;
    }
    known = trials.back()->module.called;
    text += trials.back()->module.text;
  }
  if (trials.empty()) return;
  double const printed = now();
  gpu_device device(runtime::open_gpu(0));
  device.load(text);
  std::printf("%s: compiled in %.1f s\n", what, now() - printed);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    gpu_kernel const& k = kernels[i + static_cast<std::size_t>(from)];
    p.at = static_cast<int>(i) + from, p.runs = true;
    for (int times = 0; times < 2 && trials[i]->fault.empty(); ++times) {
      std::string said;
      try {
        said = trials[i]->on_device(device);
      } catch (device_error const& e) {  // the context is lost with it: this process ends, the next one goes on behind
        std::printf("FAULT %s: %s\n%s\n", k.name.c_str(), e.what(), trials[i]->module.text.substr(0, 4000).c_str());
        std::fflush(stdout);
        _exit(1);
      }
      if (said.empty()) continue;
      std::printf("WRONG %s: %s\n", k.name.c_str(), said.substr(0, 2000).c_str());
      ++p.wrong;
      break;
    }
    p.runs = false;
  }
  std::printf("%s: %zu kernels, %d wrong (%.0f s)\n", what, kernels.size(), p.wrong.load(), now() - began);
}
void judge_calls(trial::part_progress& p, int from) {
  for (std::size_t i = static_cast<std::size_t>(from); i < std::size(trial::calls::all); ++i) {
    p.at = static_cast<int>(i), p.runs = !trial::calls::all[i].compiles;
    std::string said;
    try {
      said = trial::calls::all[i].judge();
    } catch (weft::error const& e) {
      said = e.what();
    }
    p.runs = false;
    if (!said.empty()) ++p.wrong;
    std::printf("%s calls: %s%s%s (%.0f s)\n", said.empty() ? "right" : "WRONG", trial::calls::all[i].what, said.empty() ? "" : ": ", said.substr(0, 2000).c_str(), now() - began);
    std::fflush(stdout);
  }
}
/// Each operation and function alone, then the corpus, then calls; `only`: the part of that name.
int judge_all(double seconds, std::string const& only) {
  std::vector<trial::part> parts;
  auto const add = [&](char const* what, auto judge) {
    if (!only.empty() && only != what) return;
    parts.push_back({what, [=](trial::part_progress& p, int from) {
                       try {
                         judge(p, from);
                       } catch (error const& e) {
                         ++p.wrong;
                         std::printf("WRONG %s: %s\n", what, e.what());
                       }
                     }});
  };
  add("the machine", [](trial::part_progress&, int) {
    runtime::gpu_identity const g = runtime::identify_gpu(0);
    int major = 0, minor = 0;
    trial::nvrtc()->nvrtcVersion(&major, &minor);
    int const driver = runtime::cuda_driver_version();
    std::printf("%s, %s, %d processors, driver of CUDA %d.%d, NVRTC %d.%d\n", g.name.c_str(), g.architecture.c_str(), static_cast<int>(g.processors), driver / 1000,
                driver % 1000 / 10, major, minor);
  });
  add("operations", [](trial::part_progress& p, int) {
    gpu_device device(runtime::open_gpu(0));
    p.wrong += wrong_operations(device);
    std::printf("operations of %zu types, each alone: %d wrong (%.0f s)\n", types.size(), p.wrong.load(), now() - began);
  });
  add("f16 both ways", [](trial::part_progress& p, int) {
    gpu_device device(runtime::open_gpu(0));
    p.wrong += wrong_halves(device);
    std::printf("f16 both ways: %d wrong\n", p.wrong.load());
  });
  // Each function for matrix units first alone in small products, then what rules make of them.
  struct {
    char const* what;
    std::vector<gpu_kernel> (*kernels)();
    char const* only = "";  // for this GPU
  } const lists[] = {{"products by wgmma", wgmma_products, "sm_90"},
                     {"products by wmma", wmma_products},
                     {"products by mma", mma_products},
                     {"products by rule", ruled_products},
                     {"convolutions by rule", ruled_windows},
                     {"attention by rule", ruled_attention},
                     {"schedules by hand", corpus},
                     {"asynchronous copies", copying_kernels},
                     {"schedules by rule", ruled}};
  for (auto const& l : lists)
    add(l.what, [l](trial::part_progress& p, int from) {
      if (*l.only == 0 || runtime::architecture_if_there(0) == l.only) judge_kernels(p, from, l.kernels(), l.what);
      else std::printf("%s: this GPU has none\n", l.what);
    });
  add("kernels with open sizes", judge_open_kernels);
  add("calls", judge_calls);
  return trial::judge_parts(parts, seconds);
}

// --- then: how fast? -------------------------------------------------------------------------------------------------
constexpr auto copied = kernel<"copied">([](auto x) { return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j); }); });
constexpr auto scaled_by = kernel<"scaled">([](auto x, auto y) {
  return compute<"z">(x.extent(0), x.extent(1), [=](auto i, auto j) { return 2.0f * x(i, j) + y(i, j); });
});
constexpr auto scaled_half = kernel<"scaled_half">([](auto x) {
  return compute<"z">(x.extent(0), x.extent(1), [=](auto i, auto j) { return cast<f16>(2.0f * x(i, j) + 1.0f); });
});
constexpr auto turned = kernel<"turned">([](auto x) { return compute<"y">(x.extent(1), x.extent(0), [=](auto i, auto j) { return x(j, i); }); });
constexpr auto sums_of_rows = kernel<"row_sums">([](auto x) {
  return compute<"R">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return x(i, k); }); });
});
constexpr auto sums_of_columns = kernel<"column_sums">([](auto x) {
  return compute<"R">(x.extent(1), [=](auto j) { return sum(x.extent(0), [=](auto k) { return x(k, j); }); });
});
constexpr auto softmax_of_rows = kernel<"softmax">([](auto x) {
  auto const top = compute<"top">(x.extent(0), [=](auto i) { return max(x.extent(1), [=](auto l) { return x(i, l); }); });
  auto const e = compute<"e">(x.extent(0), x.extent(1), [=](auto i, auto j) { return exp(x(i, j) - top(i)); });
  auto const total = compute<"total">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto l) { return e(i, l); }); });
  return compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return e(i, j) / total(i); });
});
constexpr auto layernorm = kernel<"layernorm">([](auto x) {
  auto const n = cast<float>(x.extent(1));
  auto const mean = compute<"mean">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto l) { return x(i, l) / n; }); });
  auto const spread = compute<"spread">(x.extent(0), [=](auto i) {
    return sum(x.extent(1), [=](auto l) { return (x(i, l) - mean(i)) * (x(i, l) - mean(i)) / n; });
  });
  return compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return (x(i, j) - mean(i)) / sqrt(spread(i) + 1e-5f); });
});
constexpr auto matmul = kernel<"matmul">([](auto A, auto B) {
  return compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return sum(A.extent(1), [=](auto k) { return cast<float>(A(i, k)) * cast<float>(B(k, j)); });
  });
});
/// Blocks of 128 x 128 by four warps, 32 terms at a time through shared memory, whose copies run two iterations ahead: 64.5 KiB, so that two blocks fit a
/// processor of sm_80. Eight rows of blocks are one group, where there are so many: what they read of B together stays in L2.
template <class T, int Rows>
constexpr auto matmul_by_wmma = kernel<"matmul_wmma">(
    [](auto A, auto B) {
      return compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return sum(A.extent(1), [=](auto k) { return cast<float>(A(i, k)) * cast<float>(B(k, j)); });
      });
    },
    cuda_schedule([](auto& s, auto A, auto B, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, ib] = s.split(i, 128);
      auto [iw, iv] = s.split(ib, 64);
      auto [it, ii] = s.split(iv, 16);
      auto [jo, jb] = s.split(j, 128);
      auto [jw, jv] = s.split(jb, 64);
      auto [jt, ji] = s.split(jv, 16);
      auto [ko, kb] = s.split(k, 32);
      auto [kt, ki] = s.split(kb, 16);
      s.reorder(io, jo, ko, iw, jw, kt, it, jt, ii, ji, ki);
      auto w = s.fuse(iw, jw);
      if constexpr (Rows > 1) {
        auto [group, row] = s.split(io, Rows);
        s.reorder(group, jo, row);
        s.bind(group, thread_axis::block_z);
        s.bind(jo, thread_axis::block_y);
        s.bind(row, thread_axis::block_x);
      } else {
        s.bind(io, thread_axis::block_y);
        s.bind(jo, thread_axis::block_x);
      }
      s.bind(w, thread_axis::warp);
      s.unroll(kt);
      s.unroll(it);
      s.unroll(jt);
      if constexpr (dtype_of<T> == dtype::f16) s.tensorize(ii, wmma_f16);
      else s.tensorize(ii, wmma_bf16);
      auto const shared = [&](auto const& of) {
        auto copy = s.cache_read(of, C);
        s.compute_at(copy, ko);
        s.set_scope(copy, scope::shared);
        auto [p, q] = copy.axes();
        auto [qo, qi] = s.split(q, 8);
        auto [po, pi] = s.split(s.fuse(p, qo), 128);
        s.bind(pi, thread_axis::thread_x);
        s.vectorize(qi);
        s.storage_align(copy, 0, 32, 16);
        s.pipeline(copy, 2, transfer::async);
      };
      shared(A);
      shared(B);
    }));
constexpr auto convolution = kernel<"conv">([](auto x, auto w) {
  return compute<"out">(x.extent(0), x.extent(1) - 2, x.extent(2) - 2, w.extent(3), [=](auto n, auto i, auto j, auto f) {
    return sum(3, 3, x.extent(3), [=](auto di, auto dj, auto c) { return x(n, i + di, j + dj, c) * w(di, dj, c, f); });
  });
});
/// Of f16 with a bias, the negative ones cut off and rounded again; as layers of ResNet-50 are.
template <std::int64_t Stride, std::int64_t Padding>
constexpr auto convolution_of_halves = kernel<"conv_f16">([](auto x, auto w, auto bias) {
  auto const y = ops::conv2d(x, w, last_channels(Stride, Padding));
  return compute<"out">(y.extent(0), y.extent(1), y.extent(2), y.extent(3), [=](auto n, auto i, auto j, auto f) {
    return cast<f16>(max(y(n, i, j, f) + bias(f), 0.0f));
  });
});

constexpr auto negated = kernel<"negated">([](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return -x(i); }); });
constexpr auto attended = kernel<"attention">(ops::attention);

struct result {
  std::string name, unit;  // "GFLOP/s" or "GB/s"
  double ms = 0, work = 0, peer_ms = 0;
  std::string peer, note;
};
/// What stands in quotes in JSON, in one line.
std::string in_quotes(std::string const& text) {
  std::string all = "\"";
  for (char c : text) all += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c < ' ' ? ' ' : c);
  return all + "\"";
}
/// The figures, a line of JSON in the file as soon as each is there.
class table {
 public:
  table(std::string device, double seconds, bool small, std::string const& file)
      : is_small(small), device_(std::move(device)), seconds_(seconds), file_(std::fopen(file.c_str(), "w")) {
    if (file_ == nullptr) throw argument_error("bench/gpu: cannot write " + file);
  }
  table(table const&) = delete;
  table& operator=(table const&) = delete;
  ~table() { std::fclose(file_); }
  bool const is_small;  // a trial of the bench itself
  int failed = 0, wrong = 0;
  bool has_time() const { return now() - began < seconds_; }
  /// Measures while there is time; an error is said, and the next one has its turn.
  template <class F>
  void attempt(std::string const& name, F const& measure) {
    if (!has_time()) return void(std::printf("%-34s no time left\n", name.c_str()));
    try {
      measure();
    } catch (error const& e) {
      ++failed;
      std::printf("%-34s FAILED: %s\n", name.c_str(), e.what());
      write("{\"device\": " + in_quotes(device_) + ", \"name\": " + in_quotes(name) + ", \"error\": " + in_quotes(e.what()) + "}\n");
    }
  }
  /// Of a figure that was added: `off` is an error, of what may be.
  void judge(std::string const& name, double off) {
    if (off <= 1) return;
    ++wrong;
    std::printf("%-34s WRONG: an error of %g times what may be\n", name.c_str(), off);
    write("{\"device\": " + in_quotes(device_) + ", \"name\": " + in_quotes(name) + ", \"error\": \"WRONG\"}\n");
  }
  void add(result const& r) {
    wrong += r.note.find("WRONG") != std::string::npos;
    double const speed = r.work / r.ms / 1e6, peer = r.peer_ms > 0 ? r.work / r.peer_ms / 1e6 : 0;
    char line[512];
    std::snprintf(line, sizeof line, "%-34s %9.3f ms %10.1f %-8s", r.name.c_str(), r.ms, speed, r.unit.c_str());
    std::string text = line;
    if (r.peer_ms > 0) {
      std::snprintf(line, sizeof line, "  %5.2f of %s (%.1f)", speed / peer, r.peer.c_str(), peer);
      text += line;
    }
    std::printf("%s%s%s\n", text.c_str(), r.note.empty() ? "" : "  ", r.note.c_str());
    std::snprintf(line, sizeof line, ", \"ms\": %.5f, \"unit\": \"%s\", \"value\": %.6g, \"peer_value\": %.6g", r.ms, r.unit.c_str(), speed, peer);
    write("{\"device\": " + in_quotes(device_) + ", \"name\": " + in_quotes(r.name) + line + ", \"peer\": " + in_quotes(r.peer) + ", \"note\": " + in_quotes(r.note) + "}\n");
  }

 private:
  void write(std::string const& line) {
    std::fputs(line.c_str(), file_);
    std::fflush(file_), std::fflush(stdout);
  }
  std::string device_;
  double seconds_;
  std::FILE* file_;
};

/// Small numbers without a pattern, in a tensor of any size: what a GPU draws, and so its clock, depends on what it computes with. They are returned.
template <class T, int Rank>
std::vector<T> fill(cuda_tensor<T, Rank>& t, unsigned seed) {
  std::vector<T> numbers(t.size());
  for (T& v : numbers) {
    seed = seed * 1664525u + 1013904223u;
    v = T(static_cast<float>(static_cast<int>(seed >> 16) % 1000 - 500) / 250.0f);
  }
  t.fill(numbers.data());
  return numbers;
}
/// The largest error of some elements, of what may be; NaN is one, too. `wanted(e)`: the value of element e, and what it may be off.
template <class T, class Wanted>
double error_of_some(std::vector<T> const& got, Wanted const& wanted) {
  double worst = 0;
  unsigned seed = 1;
  for (int s = 0; s < 200; ++s) {
    seed = seed * 1664525u + 1013904223u;
    std::size_t const e = (seed >> 3) % got.size();
    auto const [value, allowed] = wanted(e);
    double const off = std::fabs(static_cast<double>(static_cast<float>(got[e])) - value) / allowed;
    if (!(off <= HUGE_VAL)) return off;  // NaN
    worst = std::max(worst, off);
  }
  return worst;
}
struct near {
  double value, allowed;
};
/// An element of a convolution, last channels and without a bias, for a filter; what all roundings may do to it in f32.
template <class T>
near convolved(std::vector<T> const& x, std::vector<T> const& w, std::int64_t const* x_shape, std::int64_t const* w_shape, std::int64_t stride, std::int64_t padding,
               std::int64_t n, std::int64_t i, std::int64_t j, std::int64_t f) {
  double sum = 0, size = 0;
  for (std::int64_t di = 0; di < w_shape[0]; ++di)
    for (std::int64_t dj = 0; dj < w_shape[1]; ++dj)
      for (std::int64_t c = 0; c < w_shape[2]; ++c) {
        std::int64_t const row = i * stride + di - padding, column = j * stride + dj - padding;
        if (row < 0 || row >= x_shape[1] || column < 0 || column >= x_shape[2]) continue;
        auto const at = [](std::vector<T> const& of, std::int64_t e) { return static_cast<double>(static_cast<float>(of[static_cast<std::size_t>(e)])); };
        double const term = at(x, ((n * x_shape[1] + row) * x_shape[2] + column) * x_shape[3] + c) * at(w, ((di * w_shape[1] + dj) * w_shape[2] + c) * w_shape[3] + f);
        sum += term, size += std::fabs(term);
      }
  return {sum, (size + 1) * static_cast<double>(w_shape[0] * w_shape[1] * w_shape[2]) * 0x1p-24};
}
/// The largest error of some elements of a product, of what rounding allows: 1 is all of it.
template <class T>
double error_of_product(std::vector<T> const& a, std::vector<T> const& b, std::vector<float> const& c, std::size_t m, std::size_t n, std::size_t k) {
  double worst = 0;
  unsigned seed = 1;
  for (int s = 0; s < 200; ++s) {
    seed = seed * 1664525u + 1013904223u;
    std::size_t const i = (seed >> 4) % m, j = (seed >> 9) % n;
    double sum = 0, size = 0;
    for (std::size_t l = 0; l < k; ++l) {
      double const term = static_cast<double>(static_cast<float>(a[i * k + l])) * static_cast<double>(static_cast<float>(b[l * n + j]));
      sum += term, size += std::fabs(term);
    }
    double const allowed = size * static_cast<double>(k) * 0x1p-24;
    double const off = std::fabs(static_cast<double>(c[i * n + j]) - sum) / allowed;
    if (!(off <= HUGE_VAL)) return off;  // NaN
    worst = std::max(worst, off);
  }
  return worst;
}

void measure_product(table& t, trial::gpu_clock& clock, trial::cublas const* peer, std::int64_t n) {
  cuda_tensor<float, 2> a({n, n}), b({n, n}), c({n, n});
  fill(a, 1), fill(b, 2);
  auto const gpu = matmul.on(cuda());
  result r{"matmul f32 " + std::to_string(n), "GFLOP/s", 0, 2.0 * static_cast<double>(n * n * n), 0, "", ""};
  int const s = static_cast<int>(n);
  if (peer != nullptr) peer->pedantic(true);
  if (peer != nullptr && peer->product(a.address(), b.address(), c.address(), s, s, s) == 0) {
    r.peer = "cuBLAS";
    std::tie(r.ms, r.peer_ms) = clock.in_turns([&] { gpu(a, b, out(c)); }, [&] { peer->product(a.address(), b.address(), c.address(), s, s, s); });
  } else {
    r.ms = clock([&] { gpu(a, b, out(c)); });
  }
  if (n <= 4096) {
    gpu(a, b, out(c));
    std::vector<float> ha(a.size()), hb(b.size()), hc(c.size());
    a.read(ha.data()), b.read(hb.data()), c.read(hc.data());
    auto const size = static_cast<std::size_t>(n);
    if (error_of_product(ha, hb, hc, size, size, size) > 1) r.note = "WRONG";
  }
  t.add(r);
}
/// By mma.sync as the rule has it, and by wmma under a schedule written by hand, beside cuBLAS on tensor cores.
template <class T>
void measure_narrow_product(table& t, trial::gpu_clock& clock, trial::cublas const* peer, std::int64_t n) {
  cuda_tensor<T, 2> a({n, n}), b({n, n});
  cuda_tensor<float, 2> c({n, n});
  auto const left = fill(a, 1), right = fill(b, 2);
  auto const is_right = [&] {
    std::vector<float> back(c.size());
    c.read(back.data());
    auto const s = static_cast<std::size_t>(n);
    return error_of_product(left, right, back, s, s, s) <= 1;
  };
  std::string const name = std::string("matmul ") + (dtype_of<T> == dtype::f16 ? "f16" : "bf16") + " into f32 " + std::to_string(n);
  int const size = static_cast<int>(n);
  if (peer != nullptr) peer->pedantic(false);
  bool const beside = peer != nullptr && peer->cublasGemmEx != nullptr && peer->product(a.address(), b.address(), c.address(), size, size, size) == 0;
  auto const one = [&](std::string const& suffix, char const* how, auto const& gpu) {
    t.attempt(name + suffix, [&] {
      result r{name + suffix, "GFLOP/s", 0, 2.0 * static_cast<double>(n * n * n), 0, beside ? "cuBLAS" : "", how};
      auto const own = [&] { gpu(a, b, out(c)); };
      if (beside) std::tie(r.ms, r.peer_ms) = clock.in_turns(own, [&] { peer->product(a.address(), b.address(), c.address(), size, size, size); });
      else r.ms = clock(own);
      std::vector<float> const nothing(c.size(), -1.0f);
      c.fill(nothing.data());
      own();
      if (!is_right()) r.note = "WRONG";
      t.add(r);
    });
  };
  one("", "by rule", matmul.on(cuda()));
  if (n % (8 * 128) == 0) one(" wmma", "by wmma, by hand", matmul_by_wmma<T, 8>.on(cuda()));
  else one(" wmma", "by wmma, by hand", matmul_by_wmma<T, 1>.on(cuda()));
}
void measure_memory(table& t, trial::gpu_clock& clock, trial::more_of_driver const& more) {
  std::int64_t const n = t.is_small ? 256 : 16384;  // 1 GiB
  std::string const size = " " + std::to_string(n) + " x " + std::to_string(n), rows = t.is_small ? " 512 x 1024" : " 262144 x 1024";
  cuda_tensor<float, 2> x({n, n}), y({n, n});
  fill(x, 3), fill(y, 4);
  double const bytes = 4.0 * static_cast<double>(n * n);
  double const copy_ms = clock([&] {
    more.cuMemcpyDtoDAsync_v2(reinterpret_cast<unsigned long long>(y.address()), reinterpret_cast<unsigned long long>(x.address()), static_cast<std::size_t>(bytes), nullptr);
  });
  auto const one = [&](std::string const& what, double moved, auto const& run) {
    t.attempt(what, [&] { t.add({what, "GB/s", clock(run), moved, copy_ms * moved / (2 * bytes), "copying by the driver", ""}); });
  };
  one("copy f32" + size, 2 * bytes, [&] { copied.on(cuda())(x, out(y)); });
  cuda_tensor<float, 1> sums({n});
  one("row sums f32" + size, bytes, [&] { sums_of_rows.on(cuda())(x, out(sums)); });
  one("softmax f32" + size, 2 * bytes, [&] { softmax_of_rows.on(cuda())(x, out(y)); });
  one("layernorm f32" + size, 2 * bytes, [&] { layernorm.on(cuda())(x, out(y)); });
  one("transpose f32" + size, 2 * bytes, [&] { turned.on(cuda())(x, out(y)); });
  one("column sums f32" + size, bytes, [&] { sums_of_columns.on(cuda())(x, out(sums)); });
  {
    cuda_tensor<float, 2> z({n, n});
    one("2 x + y f32" + size, 3 * bytes, [&] { scaled_by.on(cuda())(x, y, out(z)); });
  }
  {
    cuda_tensor<f16, 2> h({n, n}), g({n, n});
    auto const halves = fill(h, 5);
    one("2 x + 1 f16" + size, bytes, [&] { scaled_half.on(cuda())(h, out(g)); });
    std::vector<f16> back(g.size());
    g.read(back.data());
    t.judge("2 x + 1 f16" + size, error_of_some(back, [&](std::size_t e) { return near{static_cast<double>(static_cast<float>(f16(2.0f * static_cast<float>(halves[e]) + 1.0f))), 1e-9}; }));
  }
  std::int64_t const many = t.is_small ? 512 : 262144;
  cuda_tensor<float, 2> wide({many, 1024}), also({many, 1024});
  fill(wide, 6);
  one("softmax f32" + rows, 2 * bytes, [&] { softmax_of_rows.on(cuda())(wide, out(also)); });
  one("layernorm f32" + rows, 2 * bytes, [&] { layernorm.on(cuda())(wide, out(also)); });
}
/// A window of `size` x `size` over images with so many places, which are `stride` apart.
template <std::int64_t Stride, std::int64_t Padding>
void measure_convolution_of_halves(table& t, trial::gpu_clock& clock, std::int64_t images, std::int64_t places, std::int64_t channels, std::int64_t filters, std::int64_t size) {
  if (t.is_small) images = 1, channels = std::min<std::int64_t>(channels, 32), filters = 32, places = std::min<std::int64_t>(places, 16);
  std::int64_t const length = places * Stride;
  cuda_tensor<f16, 4> x({images, length, length, channels}), w({size, size, channels, filters}), y({images, places, places, filters});
  cuda_tensor<float, 1> bias({filters});
  auto const xs = fill(x, 7), ws = fill(w, 8);
  auto const biases = fill(bias, 9);
  auto const n = [](std::int64_t v) { return std::to_string(v); };
  result r{"conv " + n(size) + "x" + n(size) + " f16 " + n(images) + " x " + n(length) + " x " + n(length) + " x " + n(channels), "GFLOP/s", 0,
           2.0 * static_cast<double>(images * places * places) * static_cast<double>(filters * size * size * channels), 0, "", ""};
  r.ms = clock([&] { convolution_of_halves<Stride, Padding>.on(cuda())(x, w, bias, out(y)); });
  std::vector<f16> back(y.size());
  y.read(back.data());
  std::int64_t const x_shape[] = {images, length, length, channels}, w_shape[] = {size, size, channels, filters};
  double const off = error_of_some(back, [&](std::size_t e) {
    auto const at = static_cast<std::int64_t>(e), f = at % filters, j = at / filters % places, i = at / filters / places % places;
    near const sum = convolved(xs, ws, x_shape, w_shape, Stride, Padding, at / filters / places / places, i, j, f);
    double const value = std::max(sum.value + static_cast<double>(biases[static_cast<std::size_t>(f)]), 0.0);
    return near{value, sum.allowed + (value + 1) * 0x1p-10};
  });
  if (!(off <= 1)) r.note = "WRONG";
  t.add(r);
}
void measure_attention(table& t, trial::gpu_clock& clock) {
  std::int64_t const heads = t.is_small ? 2 : 64, n = t.is_small ? 64 : 1024;
  cuda_tensor<f16, 3> q({heads, n, 64}), k({heads, n, 64}), v({heads, n, 64});
  cuda_tensor<float, 3> y({heads, n, 64});
  auto const qs = fill(q, 1), ks = fill(k, 2), vs = fill(v, 3);
  result r{"attention f16 " + std::to_string(heads) + " x " + std::to_string(n) + " x 64", "GFLOP/s", 0, 4.0 * static_cast<double>(heads * n * n * 64), 0, "", "by mma.sync"};
  r.ms = clock([&] { attended.on(cuda())(q, k, v, out(y)); });
  std::vector<float> back(y.size());
  y.read(back.data());
  auto const of = [](std::vector<f16> const& all, std::int64_t e) { return static_cast<double>(static_cast<float>(all[static_cast<std::size_t>(e)])); };
  double const off = error_of_some(back, [&](std::size_t e) {
    auto const at = static_cast<std::int64_t>(e), row = at / 64, head = row / n, column = at % 64;
    std::vector<double> scores(static_cast<std::size_t>(n));
    double top = -HUGE_VAL, total = 0, sum = 0, size = 0;
    for (std::int64_t l = 0; l < n; ++l) {
      double score = 0;
      for (std::int64_t d = 0; d < 64; ++d) score += of(qs, row * 64 + d) * of(ks, (head * n + l) * 64 + d);
      top = std::max(top, scores[static_cast<std::size_t>(l)] = score / 8);
    }
    for (std::int64_t l = 0; l < n; ++l) {
      double const weight = std::exp(scores[static_cast<std::size_t>(l)] - top), value = of(vs, (head * n + l) * 64 + column);
      total += weight, sum += weight * value, size += weight * std::fabs(value);
    }
    return near{sum / total, (size / total + 1) * 0x1p-9};  // weights are rounded to f16, and their sum with them
  });
  if (!(off <= 1)) r.note = "WRONG";
  t.add(r);
}
void measure_convolution(table& t, trial::gpu_clock& clock) {
  std::int64_t const images = t.is_small ? 1 : 32, places = t.is_small ? 14 : 56;
  cuda_tensor<float, 4> x({images, places + 2, places + 2, 64}), w({3, 3, 64, 64}), y({images, places, places, 64});
  auto const xs = fill(x, 7), ws = fill(w, 8);
  std::string const side = std::to_string(places);
  result r{"conv 3x3 f32 " + std::to_string(images) + " x " + side + " x " + side + " x 64", "GFLOP/s", 0,
           2.0 * static_cast<double>(images * places * places) * 64 * 64 * 9, 0, "", ""};
  r.ms = clock([&] { convolution.on(cuda())(x, w, out(y)); });
  std::vector<float> back(y.size());
  y.read(back.data());
  std::int64_t const x_shape[] = {images, places + 2, places + 2, 64}, w_shape[] = {3, 3, 64, 64};
  double const off = error_of_some(back, [&](std::size_t e) {
    auto const at = static_cast<std::int64_t>(e);
    return convolved(xs, ws, x_shape, w_shape, 1, 0, at / 64 / places / places, at / 64 / places % places, at / 64 % places, at % 64);
  });
  if (!(off <= 1)) r.note = "WRONG";
  t.add(r);
}

/// What the host takes for a call, the GPU's work left out: the fastest of turns of 200 calls, beside the same kernel by cuLaunchKernel alone.
void measure_launch(runtime::cuda_gpu const& gpu) {
  cuda_tensor<float, 1> x({256}), y({256});
  fill(x, 1);
  auto const k = negated.on(cuda());
  gpu_device device(gpu);
  ir::arena m;
  cuda_module const module = k.module(m, x);
  device.load(module.text);
  auto const turn = [&](auto const& call) {
    double best = 1e9;
    for (int t = 0; t < 50; ++t) {
      double const from = now();
      for (int i = 0; i < 200; ++i) call();
      best = std::min(best, (now() - from) / 200);
      gpu.check(gpu.driver->cuStreamSynchronize(nullptr), "bench", "waiting for kernels");
    }
    return best * 1e9;
  };
  std::vector<unsigned long long> const pointers{reinterpret_cast<unsigned long long>(x.address()), reinterpret_cast<unsigned long long>(y.address())};
  runtime::cuda_driver::kernel const entry = device.entry(module.kernels[0]);
  unsigned long long px = pointers[0], py = pointers[1];
  void* parameters[] = {&px, &py};
  k(x, out(y));
  double const bare = turn([&] {
    gpu.driver->cuLaunchKernel(reinterpret_cast<runtime::cuda_driver::function>(entry), 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr);
  });
  double const whole = turn([&] { k(x, out(y)); });
  std::printf("%-34s %9.0f ns, %.0f by cuLaunchKernel alone\n", "a call, on the host", whole, bare);
}
int measure_all(bool small, std::string const& json, double seconds, int wrong) {
  runtime::cuda_gpu const& gpu = runtime::open_gpu(0);
  trial::more_of_driver more;
  if (std::string const missing = more.load(); !missing.empty()) throw device_error(missing);
  trial::cublas peer;
  bool const has_peer = peer.load();
  if (!has_peer) std::printf("no cuBLAS here: libcublas.so.12 or 13 on LD_LIBRARY_PATH is the peer\n");
  runtime::gpu_scope const here(gpu);  // the clock's events are its context's
  trial::gpu_clock clock(gpu, more);
  table t(runtime::identify_gpu(0).name, seconds, small, json);
  trial::cublas const* const beside = has_peer ? &peer : nullptr;
  std::int64_t const wide = small ? 128 : 8192;
  t.attempt("matmul f16", [&] { measure_narrow_product<f16>(t, clock, beside, wide); });
  t.attempt("matmul bf16", [&] { measure_narrow_product<bf16>(t, clock, beside, wide); });
  for (std::int64_t n : small ? std::vector<std::int64_t>{64, 70} : std::vector<std::int64_t>{4096, 1024, 8192, 1000})
    t.attempt("matmul f32 " + std::to_string(n), [&] { measure_product(t, clock, beside, n); });
  t.attempt("rows and copies", [&] { measure_memory(t, clock, more); });
  t.attempt("conv f32", [&] { measure_convolution(t, clock); });
  t.attempt("conv 3x3 f16", [&] { measure_convolution_of_halves<1, 1>(t, clock, 64, 14, 256, 256, 3); });
  t.attempt("conv 7x7 f16", [&] { measure_convolution_of_halves<2, 3>(t, clock, 64, 112, 3, 64, 7); });
  t.attempt("attention f16", [&] { measure_attention(t, clock); });
  t.attempt("launch", [&] { measure_launch(gpu); });
  std::printf("%s written, %.0f s in all, %d wrong or not judged, %d not measured\n", json.c_str(), now() - began, wrong, t.failed);
  return wrong + t.failed + t.wrong > 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (weft::worker(count, arguments)) return 0;  // candidates of a tuning
  std::string json = "gpu.jsonl", only;
  double seconds = 330;
  bool judges = true, measures = true, judges_all = false, small = false;
  for (int i = 1; i < count; ++i) {
    std::string const a = arguments[i];
    if (a == "--tests") judges_all = true, measures = false;
    else if (a == "--judge") measures = false;
    else if (a == "--figures") judges = false;
    else if (a == "--small") small = true;
    else if (a == "--only" && i + 1 < count) only = arguments[++i];
    else if (a == "--json" && i + 1 < count) json = arguments[++i];
    else if (a == "--seconds" && i + 1 < count) seconds = std::atof(arguments[++i]);
    else return std::fprintf(stderr, "bench/gpu: --tests, --judge, --figures, --small, --only PART, --json FILE, --seconds N\n"), 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what was said is there where a kernel hangs and the process is ended
  try {
    int wrong = 0;
    // A third of the time is the figures', where they are this process's. This process opens the GPU behind it: a fork of it could not use it.
    if (judges) wrong += judge_all(judges_all ? 1e9 : measures ? seconds * 2 / 3 : seconds, only);
    if (!measures) return wrong > 0;
    return measure_all(small, json, seconds, wrong);
  } catch (error const& e) {
    std::fprintf(stderr, "bench/gpu: %s\n", e.what());
    return 3;
  }
}
