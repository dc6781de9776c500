// What the first call of a kernel costs in a process when the kernel is on disk.
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "harness.hpp"
#include "kernels.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/key.hpp"
#include "weft/runtime/loader.hpp"

extern "C" char** environ;

namespace bench {
namespace {

struct life {
  double to_main = 0, to_result = 0, whole = 0;  // ms from the start of the process
  int compiled = 0;
};
/// Starts `program`, which stands beside this one; `call`: it calls its kernel.
bool live(std::string const& program, bool call, life& l) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string name = program, option = "call";
  char* const arguments[] = {name.data(), call ? option.data() : nullptr, nullptr};
  pid_t child = 0;
  double const start = now_ns();
  bool const started = ::posix_spawn(&child, name.c_str(), &actions, nullptr, arguments, environ) == 0;
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  char answer[128] = {};
  std::size_t size = 0;
  for (ssize_t got = 0; size + 1 < sizeof answer; size += static_cast<std::size_t>(got))
    if ((got = ::read(ends[0], answer + size, sizeof answer - 1 - size)) <= 0) break;
  ::close(ends[0]);
  int status = 1;
  if (!started || ::waitpid(child, &status, 0) != child || status != 0) return false;
  l.whole = (now_ns() - start) * 1e-6;
  double begun = 0, done = 0;
  if (std::sscanf(answer, "%lf %lf %d", &begun, &done, &l.compiled) != 3) return false;
  l.to_main = (begun - start) * 1e-6;
  l.to_result = (done - start) * 1e-6;
  return true;
}
row as_ms(char const* name, std::vector<double> const& ms) {
  row r;
  r.variant = name, r.median = median(ms), r.spread = spread(ms), r.unit = "ms";
  r.note = text("%zu processes, %.2f to %.2f", ms.size(), percentile(ms, 0), percentile(ms, 1));
  return r;
}
std::string beside(char const* program) {
  char path[PATH_MAX] = {};
  if (::readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return program;
  return std::filesystem::path(path).parent_path() / program;
}

/// The look-up and the loading alone, in this process, over and over.
void steps(report& r) {
  weft::cache::report const there = weft::cache::inspect();
  if (there.kernels.size() != 1) return r.wrong("one kernel should be on disk");
  // Its key as its file has it.
  std::string file, bytes;
  for (auto const& f : std::filesystem::directory_iterator(::getenv("WEFT_CACHE"))) file = f.path();
  std::FILE* const in = std::fopen(file.c_str(), "rb");
  char piece[4096];
  while (std::size_t const n = in != nullptr ? std::fread(piece, 1, sizeof piece, in) : 0) bytes.append(piece, n);
  if (in != nullptr) std::fclose(in);
  weft::cache::entry known;
  if (!weft::cache::decode(bytes, known)) return r.wrong("the kernel on disk is not whole");
  std::vector<variant> const variants{
      {"find on disk",
       [&](std::int64_t times) {
         while (times-- > 0) {
           std::string read;
           weft::cache::entry e;
           if (!weft::cache::find(known.key, read, e)) r.wrong("the kernel is not found");
         }
       },
       0},
      {"map the object", [&](std::int64_t times) {
         std::string why;
         while (times-- > 0) static_cast<void>(weft::runtime::map_object(known.object, known.symbol, why));
       }, 1}};
  auto const figures = measure(variants, {r.wanted.rounds, 2});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    row line;
    line.variant = variants[i].name, line.median = figures[i].median * 1e-3, line.spread = figures[i].spread;
    line.unit = "us";
    if (i == 0) demand_at_most(line, line.median, 100, " us");
    r.add(line);
  }
}
}  // namespace

void warm_start(report& r) {
  char directory[] = "/tmp/weft-bench.XXXXXX";
  if (::mkdtemp(directory) == nullptr) return r.skip("no place for kernels in /tmp");
  ::setenv("WEFT_CACHE", directory, 1);
  std::string const program = beside("weft-bench-warm-start"), empty = beside("weft-bench-empty");
  std::vector<double> nothing, unused, to_result, inside, whole;
  life l;
  if (!live(program, true, l) || l.compiled != 1) r.wrong("the first process");
  for (int i = 0; i < 4 * r.wanted.rounds; ++i) {
    if (!live(empty, false, l)) r.wrong("the empty program");
    nothing.push_back(l.whole);
    if (!live(program, false, l)) r.wrong("the program that calls nothing");
    unused.push_back(l.whole);
    if (!live(program, true, l) || l.compiled != 0) r.wrong("a process with the kernel on disk");
    to_result.push_back(l.to_result), inside.push_back(l.to_result - l.to_main), whole.push_back(l.whole);
  }
  r.add(as_ms("empty program", nothing));
  r.add(as_ms("weft in it, no call", unused));
  row line = as_ms("process to first result", to_result);
  demand_at_most(line, line.median, 3, " ms");
  r.add(line);
  line = as_ms("main to first result", inside);
  demand_at_most(line, line.median, 1, " ms");
  r.add(line);
  r.add(as_ms("process to its end", whole));
  steps(r);
  ::setenv("WEFT_CACHE", "off", 1);
  std::filesystem::remove_all(directory);
}

}  // namespace bench
