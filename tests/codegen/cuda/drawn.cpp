// Drawn programs under drawn schedules that bind loops: the passes of a GPU, judged by the interpreter.
#include <doctest/doctest.h>

#include <cstdlib>

#include "codegen/cuda/corpus.hpp"
#include "fuzz/found.hpp"
#include "fuzz/gpu_calls.hpp"
#include "fuzz/launch_steps.hpp"
#include "fuzz/rules.hpp"
#include "fuzz/run.hpp"
#include "support/sanitized.hpp"

using namespace weft;
using namespace weft_test;

namespace {
/// The sanitizers, which are slow, get a third of the seeds.
constexpr auto share = rounds<std::uint64_t>(1, 3);

/// What is refused in words, and rightly.
bool is_refusal(std::string const& fault) {
  for (char const* words : {"one launch of a GPU cannot do this", "has no CUDA text: give weft::external", "is launched by itself, and its memory is the workspace",
                            "an axis that is rounded up reads too far", "set_scope: ", "fold_storage: ", "swizzle: ", "tensorize: ", "an expression grows past 1 MB"})
    if (fault.find(words) != std::string::npos) return true;
  return false;
}
/// The case of this seed with its steps, where one of them binds a loop.
gpu_kernel drawn_kernel(std::uint64_t seed) {
  gpu_kernel k{"drawn_" + std::to_string(seed)};
  fuzz::drawn const d = fuzz::program_maker(seed).make();
  if (!d.scalars.empty() || d.has_empty) return k;
  fuzz::random_source r(seed ^ 0x5c4ed);
  schedule s(d.what, fuzz::extents_of(d));
  replay(s, fuzz::draw_steps(r, schedule(s), d.order_free, {}));
  std::string const text = print_trace(s);
  if (text.find("bind(") == std::string::npos || text.find("tensorize(") != std::string::npos) return k;  // a CPU's instructions
  k.p = d.what;
  for (dense const& t : d.tensors) k.shapes.push_back(t.shape);
  k.steps = text;
  return k;
}
/// The case of this seed with steps that make launches; no steps: it has none.
gpu_kernel launched_kernel(std::uint64_t seed) {
  gpu_kernel k{"launched_" + std::to_string(seed)};
  fuzz::drawn const d = fuzz::program_maker(seed).make();
  if (!d.scalars.empty() || d.has_empty) return k;
  fuzz::random_source r(seed ^ 0x1a0c4);
  schedule s(d.what, fuzz::extents_of(d));
  replay(s, fuzz::draw_launch_steps(r, s, d.order_free));
  std::string const text = print_trace(s);
  if (text.find("block_") == std::string::npos && text.find("thread_") == std::string::npos && text.find("warp)") == std::string::npos &&
      text.find("lane)") == std::string::npos)
    return k;
  k.p = d.what;
  for (dense const& t : d.tensors) k.shapes.push_back(t.shape);
  k.steps = text;
  return k;
}
/// What is wrong with the launches of a kernel; "" too where they are refused in words, or take long.
std::string judged(gpu_kernel const& k, std::uint64_t seed) {
  gpu_trial t(k);
  if (is_refusal(t.fault) || t.fault.find("an expression grows past 1 MB") != std::string::npos) return "";
  std::string const wrong = fuzz::is_planted(k.p) ? "planted" : !t.fault.empty() ? t.fault : t.interpreted(seed);
  return wrong.find("more operations than interp_options allows") != std::string::npos ? "" : wrong;
}
gpu_kernel kernel_of(fuzz::drawn const& d, trace const& steps) {
  gpu_kernel k{"found", d.what};
  for (dense const& t : d.tensors) k.shapes.push_back(t.shape);
  schedule s(d.what, fuzz::extents_of(d));
  replay(s, steps);
  k.steps = print_trace(s);
  return k;
}
/// The kernel of this seed, which fails, made small, and as a test of this file.
std::string as_test(std::uint64_t seed, gpu_kernel const& k) {
  fuzz::drawn const d = fuzz::program_maker(seed).make();
  trace const steps = parse_trace(k.steps, schedule(d.what, fuzz::extents_of(d)), matrix_units);
  fuzz::shrinker small(d, steps, matrix_units);
  std::string const kind = fuzz::kind_of(judged(k, seed));
  small.run([&](fuzz::drawn const& less, trace const& now) {
    std::string const wrong = judged(kernel_of(less, now), seed);
    return !wrong.empty() && fuzz::kind_of(wrong) == kind;
  });
  schedule s(small.program().what, fuzz::extents_of(small.program()));
  replay(s, small.steps());
  return fuzz::test_case(small.program(), s, judged(kernel_of(small.program(), small.steps()), seed), "check_launches");
}
/// A failure that was found, as as_test writes it.
template <class What, class How, class... Argument>
void check_launches(fuzz::data_of const& from, What const& what, How const& how, Argument const&... arguments) {
  trace steps;
  fuzz::drawn const d = fuzz::made_case(from, what, how, steps, arguments...);
  gpu_kernel const k = kernel_of(d, steps);
  INFO(k.steps);
  CHECK(judged(k, from.seed) == "");
}
std::uint64_t seeds_wanted(std::uint64_t otherwise) {
  char const* const wanted = std::getenv("WEFT_TEST_SEEDS");
  return wanted != nullptr ? static_cast<std::uint64_t>(std::atoll(wanted)) : otherwise / share;
}
/// The case of this seed under the rule for GPUs, or at a point around it, and what it leaves alone; no steps: it is not for GPUs.
gpu_kernel ruled_kernel(std::uint64_t seed, bool searched) {
  gpu_kernel k{"ruled_" + std::to_string(seed)};
  fuzz::drawn const d = fuzz::program_maker(seed).make();
  if (!d.scalars.empty() || d.has_empty) return k;
  schedule s(d.what, fuzz::extents_of(d), {0, 16});
  fuzz::random_source r(seed ^ 0x9a71);
  replay(s, fuzz::steps_by_gpu_rule(d, searched ? &r : nullptr));
  k.p = d.what;
  for (dense const& t : d.tensors) k.shapes.push_back(t.shape);
  k.steps = print_trace(s);
  return k;
}
}  // namespace

// About one seed in 80 has a bound loop; a sixth of those are refused (2026-11-22, 12,000 seeds: none was wrong).
TEST_CASE("drawn schedules with bound loops become launches that the interpreter finds nothing wrong with") {
  int ran = 0;
  for (std::uint64_t seed = 1; seed < 6000 / share; ++seed) {
    gpu_kernel const k = drawn_kernel(seed);
    if (k.steps.empty()) continue;
    INFO("seed " << seed << "\n" << k.steps << as_test(seed, k));
    gpu_trial t(k);
    if (is_refusal(t.fault)) continue;
    CHECK(t.fault == "");
    std::string const wrong = t.interpreted(seed);
    if (wrong.find("more operations than interp_options allows") != std::string::npos) continue;
    CHECK(wrong == "");
    ++ran;
  }
  CHECK(ran >= 40 / static_cast<int>(share));
}
// WEFT_TEST_FIRST_SEED and WEFT_TEST_SEEDS: which ones.
TEST_CASE("drawn programs under schedules that make launches of them: the interpreter finds nothing wrong") {
  int ran = 0, refused = 0, shared = 0, trees = 0;
  char const* const from = std::getenv("WEFT_TEST_FIRST_SEED");
  std::uint64_t const first = from != nullptr ? static_cast<std::uint64_t>(std::atoll(from)) : 1;
  for (std::uint64_t seed = first; seed < first + seeds_wanted(1500); ++seed) {
    gpu_kernel const k = launched_kernel(seed);
    if (k.steps.empty()) continue;
    INFO("seed " << seed << "\n" << k.steps << as_test(seed, k));
    gpu_trial t(k);
    if (is_refusal(t.fault)) {
      // Each says what else there is to do.
      if (t.fault.find("one launch of a GPU cannot do this") != std::string::npos) CHECK(t.fault.find("\n  try   ") != std::string::npos);
      ++refused;
      continue;
    }
    CHECK(t.fault == "");
    std::string const wrong = t.interpreted(seed);
    if (wrong.find("more operations than interp_options allows") != std::string::npos) continue;
    CHECK(wrong == "");
    ++ran;
    for (cuda_kernel const& made : t.module.kernels) shared += made.shared_bytes > 0;
    trees += t.module.text.find("__shfl_xor") != std::string::npos;
  }
  MESSAGE(ran << " ran, " << shared << " of them with shared memory, " << trees << " with trees; " << refused << " were refused");
  if (from != nullptr) return;
  CHECK(ran >= 300 / static_cast<int>(share));
  CHECK(shared >= 10 / static_cast<int>(share));
  CHECK(trees >= 5 / static_cast<int>(share));
}
namespace {
void check_ruled(bool searched, std::uint64_t most, int least) {
  int ran = 0, left = 0;
  std::uint64_t const count = seeds_wanted(most);
  for (std::uint64_t seed = 1; seed < count; ++seed) {
    gpu_kernel const k = ruled_kernel(seed, searched);
    if (k.steps.empty()) {
      ++left;
      continue;
    }
    INFO("seed " << seed << "\n" << k.steps << as_test(seed, k));
    gpu_trial t(k);
    if (searched && is_refusal(t.fault)) continue;  // too many threads, more shared memory than there is: a tuner drops such points
    if (t.fault.find("has no CUDA text") != std::string::npos || t.fault.find("an expression grows past 1 MB") != std::string::npos) continue;
    CHECK(t.fault == "");
    if (!t.fault.empty()) continue;
    std::string const wrong = t.interpreted(seed);
    if (wrong.find("more operations than interp_options allows") != std::string::npos) continue;
    CHECK(wrong == "");
    ++ran;
  }
  MESSAGE(ran << " ran, " << left << " were left alone");
  CHECK(ran >= least / static_cast<int>(share));
}
}  // namespace
TEST_CASE("drawn programs under the rule for GPUs: launches that the interpreter finds nothing wrong with") { check_ruled(false, 1500, 400); }
TEST_CASE("drawn programs at points around the rule for GPUs: the same") { check_ruled(true, 700, 180); }

// 12,000 calls and 2,500 of larger products, windows and rows were drawn so on 2026-11-23: one was wrong.
TEST_CASE("drawn calls under the rule for GPUs: strides, numbers, results in place, empty tensors, open sizes, points around the rule") {
  int ran = 0;
  for (std::uint64_t seed = 1; seed < seeds_wanted(240); ++seed) {
    fuzz::drawn const d = fuzz::program_maker(seed).make();
    fuzz::random_source r(seed ^ 0x77);
    std::string wrong, steps;
    try {
      fuzz::gpu_call call(d, seed % 4 == 2);
      if (!call.make(seed % 4 == 1, seed % 4 == 3 ? &r : nullptr)) continue;
      wrong = call.interpreted(), steps = call.steps();
    } catch (error const& e) {
      wrong = e.what();
    }
    if (is_refusal(wrong) || wrong.find("more operations than interp_options allows") != std::string::npos) continue;
    INFO("seed " << seed << "\n" << steps);
    CHECK(wrong == "");
    ++ran;
  }
  CHECK(ran >= 200 / static_cast<int>(share));
}

TEST_CASE("launches that fail are made small, and print as a test") {
  setenv("WEFT_FUZZ_PLANT", "max", 1);
  int found = 0;
  for (std::uint64_t seed = 1; seed < 2000 && found < 3; ++seed) {
    gpu_kernel const k = launched_kernel(seed);
    if (k.steps.empty() || k.p.stages.size() < 2 || judged(k, seed).empty()) continue;
    ++found;
    std::string const text = as_test(seed, k);
    INFO(text);
    CHECK(text.find("  // planted\n  check_launches({" + std::to_string(seed) + "ULL, ") != std::string::npos);
    CHECK(text.find("max") != std::string::npos);
    int stages = 0;
    for (std::string const stage : {"weft::compute<", "weft::exact::stage<"})
      for (std::size_t at = 0; (at = text.find(stage, at)) != text.npos; ++at) ++stages;
    CHECK(stages <= 2);
    CHECK(text.find("[](auto&, ") != std::string::npos);  // no step is needed for it
  }
  unsetenv("WEFT_FUZZ_PLANT");
  CHECK(found == 3);
}

using fuzz::contents, fuzz::input;
TEST_CASE("a report on launches is a test: a sum of halves by blocks and threads") {
  check_launches({1, contents::tame},
                 [](auto A) {
                   auto S0 = weft::compute<"S0">(A.extent(0), [=](auto i) {
                     return weft::sum(A.extent(1), [=](auto j) { return weft::cast<float>(A(i, j)); });
                   });
                   return S0;
                 },
                 [](auto& s, auto, auto S0) {
                   auto [i, j] = S0.axes();
                   auto [io, ii] = s.split(i, 4);
                   s.bind(io, weft::thread_axis::block_x);
                   s.bind(ii, weft::thread_axis::thread_x);
                 },
                 input<weft::f16, 2>{{13, 5}});
}
