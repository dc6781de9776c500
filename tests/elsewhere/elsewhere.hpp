// Kernels as objects for another architecture: linked by that one's own compiler, called under QEMU, and their memory brought back.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/fenced_bytes.hpp"

namespace weft_test {

/// A call of weft_caseN, N being its place in the list. What the kernel leaves in memory comes back to where it was.
struct elsewhere_call {
  struct memory {
    fenced_bytes* bytes;
    std::int64_t first_byte;
  };
  std::string object;
  std::vector<memory> tensors;
  std::vector<std::int64_t> scalars;
  std::int64_t workspace_bytes = 0;
  std::int64_t status = -1;  // what the kernel answered
  bool came_back = false;
};
inline bool program_is_there(std::string const& program) {
  return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
}
inline bool aarch64_is_there() { return program_is_there("aarch64-linux-gnu-g++") && program_is_there("qemu-aarch64"); }
inline constexpr char const* no_aarch64_here = "no compiler or processor for aarch64 here: apt-get install g++-aarch64-linux-gnu qemu-user";

/// In words, why they did not all run to their ends; `folder` is an empty one.
inline std::string run_elsewhere(std::vector<elsewhere_call>& calls, std::string const& folder) {
  std::ofstream in(folder + "/in", std::ios::binary), list(folder + "/cases.inc");
  auto const put = [&](std::int64_t n) { in.write(reinterpret_cast<char const*>(&n), sizeof n); };
  std::string objects;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    elsewhere_call const& c = calls[i];
    std::string const object = folder + "/" + std::to_string(i) + ".o";
    std::ofstream(object, std::ios::binary) << c.object;
    objects += " " + object;
    list << "WEFT_CASE(" << i << ")\n";
    put(static_cast<std::int64_t>(c.tensors.size()));
    for (elsewhere_call::memory const& t : c.tensors) {
      put(static_cast<std::int64_t>(t.bytes->size())), put(t.first_byte), put(t.bytes->at_end());
      in.write(reinterpret_cast<char const*>(t.bytes->data()), static_cast<std::streamsize>(t.bytes->size()));
    }
    put(static_cast<std::int64_t>(c.scalars.size()));
    for (std::int64_t n : c.scalars) put(n);
    put(c.workspace_bytes);
  }
  in.close(), list.close();
  // Its neighbours are of this architecture.
  if (::symlink(WEFT_TEST_BOOST "/boost", (folder + "/boost").c_str()) != 0) return "no link to Boost's headers can be made in " + folder;
  std::string const tests = WEFT_TESTS_DIR, build = "aarch64-linux-gnu-g++ -std=c++20 -DWEFT_COMPILED=1 -I" + folder + " -I" + tests +
                    " -I" + tests + "/../include " + tests + "/elsewhere/calls.cpp" + objects + " -static -o " + folder + "/calls 2>" +
                    folder + "/why";
  if (std::system(build.c_str()) != 0) {
    std::stringstream why;
    why << std::ifstream(folder + "/why").rdbuf();
    return "not linked: " + why.str();
  }
  int const ended = std::system(("qemu-aarch64 " + folder + "/calls " + folder + "/in " + folder + "/out").c_str());
  std::ifstream out(folder + "/out", std::ios::binary);
  for (elsewhere_call& c : calls) {
    out.read(reinterpret_cast<char*>(&c.status), sizeof c.status);
    for (elsewhere_call::memory const& t : c.tensors)
      out.read(reinterpret_cast<char*>(t.bytes->data()), static_cast<std::streamsize>(t.bytes->size()));
    c.came_back = static_cast<bool>(out);
  }
  return ended == 0 ? "" : "the process answered " + std::to_string(ended);
}

}  // namespace weft_test
