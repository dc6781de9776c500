// Runs test cases of this binary in a process of their own, with an environment variable changed: for what a
// process decides only once (which LLVM, how many threads).
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weft::test {

/// 0 when at least one case named `name` (doctest's patterns) ran and all passed; -1 when none ran; else the exit
/// status, or 128 + the signal, with the child's output on stderr. `value` null: unset.
/// Cases that are only for this are marked `* doctest::skip()`.
inline int run_case(std::string const& name, std::string const& variable, char const* value) {
  char path[4096]{};
  if (::readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return -1;
  std::string command = "exec env ";
  command += value != nullptr ? variable + "='" + value + "'" : "-u " + variable;
  command += std::string(" '") + path + "' --test-case='" + name + "' --no-skip 2>&1";
  std::FILE* const child = ::popen(command.c_str(), "r");
  if (child == nullptr) return -1;
  std::string output;
  char piece[512];
  while (std::size_t const n = std::fread(piece, 1, sizeof piece, child)) output.append(piece, n);
  int const status = ::pclose(child);
  int const code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  char const* const count = std::strstr(output.c_str(), "test cases:");
  if (code != 0) std::fprintf(stderr, "%s\n%s", command.c_str(), output.c_str());
  if (code == 0 && (count == nullptr || std::atoi(count + 11) == 0)) return -1;
  return code;
}

}  // namespace weft::test
