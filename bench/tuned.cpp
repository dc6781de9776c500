// What the look for a tuned schedule adds to the first call of a process.
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "harness.hpp"
#include "kernels.hpp"
#include "plain_kernels.hpp"
#include "weft/expr/expand.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/relatives.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/schedule/print.hpp"

extern "C" char** environ;

namespace bench {
namespace {
namespace cache = weft::cache;
using weft::compile_request;
using weft::host;
using weft::program;
using weft::schedule;

/// A matmul of n^3, as a call has it; with knobs in a how-lambda, or by rule.
template <class Use>
auto with_request(bool by_rule, std::int64_t n, Use const& use) {
  static std::vector<float> const some(1);
  auto const a = weft::view(some.data(), n, n);
  auto const as_called = [&](auto const& kernel) { return kernel.erased(
      [&](weft::kernel_face const& f, weft::argument* arguments, int count) {
        program const what = f.what(f.object);
        for (int i = 0; i < count; ++i)
          if (arguments[i].is_allocated_here) weft::shape_outputs(what, arguments, count);
        weft::call_layout const layout = weft::bind(what, f.name, arguments, count);
        return use(compile_request{f.name, &what, f.how, f.object, &layout, &host(), f.wanted, by_rule});
      },
      a, a);
  };
  return by_rule ? as_called(plain_product<"product">) : as_called(matmul_kernel);
}
/// Keeps a result, as a tuner does; by rule, with another choice of knob number `knob`. False: that is not legal, or is the same.
bool keep_for(bool by_rule, std::int64_t n, std::size_t knob) {
  return with_request(by_rule, n, [&](compile_request const& r) {
    program const expanded = weft::expand(*r.what, r.machine->fma);
    schedule const first = weft::detail::schedule_with(r, expanded, {});
    weft::sequence<std::int32_t> choices{1, 1};
    if (by_rule) choices = weft::sequence<std::int32_t>(first.knobs.size(), 0), choices[knob] = 1;
    schedule const chosen = weft::detail::schedule_with(r, expanded, choices);
    if (!weft::detail::why_not(r, chosen).empty() || weft::hash(chosen.steps) == weft::hash(first.steps)) return false;
    std::string const key = weft::detail::task_of(r, first);
    cache::keep_tuned(key, {choices, weft::hash(chosen.steps), 1e6, 10}, true);
    cache::relative own = cache::described(key, *r.layout, *r.machine);
    cache::note_choices(own, chosen);
    cache::keep_relative(weft::detail::family_of(r, first), own);
    return true;
  });
}
/// In a process of its own, with this directory: the first look, in us; negative: not what was kept.
double first_look(std::string const& directory, bool by_rule, std::int64_t n) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string name = "weft-bench", option = "--first-look", size = (by_rule ? "-" : "") + std::to_string(n), where = directory;
  char* const arguments[] = {name.data(), option.data(), where.data(), size.data(), nullptr};
  pid_t child = 0;
  bool const started = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ) == 0;
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  char answer[64] = {};
  std::size_t got = 0;
  for (ssize_t more = 0; got + 1 < sizeof answer; got += static_cast<std::size_t>(more))
    if ((more = ::read(ends[0], answer + got, sizeof answer - 1 - got)) <= 0) break;
  ::close(ends[0]);
  int status = 1;
  if (!started || ::waitpid(child, &status, 0) != child || status != 0) return -1;
  return std::atof(answer);
}
}  // namespace

int first_look(char const* directory, char const* size) {
  std::string const where = directory;
  if (where != "off") cache::set_directory(where);
  else cache::disable();
  static_cast<void>(host());  // the processor is asked once, for whatever reason
  std::int64_t const n = std::atoll(size);  // less than 0: by rule
  double const us = with_request(n < 0, n < 0 ? -n : n, [](compile_request const& r) {
    double const start = now_ns();
    static_cast<void>(weft::plan_of(r));
    double const taken = (now_ns() - start) * 1e-3;
    std::string reason;  // which a call does not ask for: it costs another look
    static_cast<void>(weft::make_schedule(r, &reason));
    bool const found = reason.find("tuned for") == 0;
    return found == (cache::directory_in_use() != "") ? taken : -1;
  });
  std::printf("%.2f\n", us);
  return 0;
}

void tuned(report& r) {
  char directory[] = "/tmp/weft-bench.XXXXXX";
  if (::mkdtemp(directory) == nullptr) return r.skip("no place for results in /tmp");
  cache::set_directory(directory);
  auto const as_us = [&](std::string name, std::vector<double> const& us) {
    row line;
    line.variant = name, line.median = median(us), line.spread = spread(us), line.unit = "us";
    line.note = text("first in %zu processes, %.0f to %.0f", us.size(), percentile(us, 0), percentile(us, 1));
    return line;
  };
  for (bool const by_rule : {false, true}) {
    cache::enable();
    // The first choice that the other shape can take, too. By rule the shapes are of one family that get the same steps with other numbers: up to 512 columns
    // of 512 fit the second cache, and are packed in another way than more.
    std::int64_t const other = by_rule ? 480 : 400;
    bool found = false;
    for (std::size_t knob = 0; knob < 8 && !found; ++knob) {
      found = keep_for(by_rule, 512, knob) && with_request(by_rule, other, [](compile_request const& q) {
                std::string reason;
                static_cast<void>(weft::make_schedule(q, &reason));
                return reason.find("tuned for") == 0;
              });
    }
    if (!found) r.wrong("no choice is taken over by another shape");
    // What was found for others is lowered before it is taken, unless its code is kept, as it is behind a first call.
    weft::tensor<float, 2> const x(other, other);
    if (by_rule) static_cast<void>(plain_product<"product">(x, x));
    else static_cast<void>(matmul_kernel(x, x));
    cache::disable();
    std::vector<double> without, exact, near;
    for (int i = 0; i < 4 * r.wanted.rounds; ++i) {  // in turns
      without.push_back(first_look("off", by_rule, 512));
      exact.push_back(first_look(directory, by_rule, 512));
      near.push_back(first_look(directory, by_rule, other));
    }
    for (std::vector<double> const* all : {&without, &exact, &near})
      if (percentile(*all, 0) < 0) r.wrong("what was kept is not what is found");
    std::string const of = by_rule ? "schedule by rule" : "schedule";
    r.add(as_us(of + ", no results kept", without));
    row line = as_us(of + ", tuned", exact);
    demand_at_most(line, median(exact) - median(without), 50, " us more");
    r.add(line);
    line = as_us(of + ", of the nearest shape", near);
    demand_at_most(line, median(near) - median(without), 50, " us more");
    r.add(line);
  }
  std::filesystem::remove_all(directory);
}

}  // namespace bench
