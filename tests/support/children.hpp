// The processes that one has started.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace weft_test {

/// Those that its first thread started and that have not been waited for.
inline std::vector<pid_t> children_of(pid_t p) {
  std::vector<pid_t> all;
  std::string const path = "/proc/" + std::to_string(p) + "/task/" + std::to_string(p) + "/children";
  if (std::FILE* const f = std::fopen(path.c_str(), "r")) {
    for (int one; std::fscanf(f, "%d", &one) == 1;) all.push_back(one);
    std::fclose(f);
  }
  return all;
}

}  // namespace weft_test
