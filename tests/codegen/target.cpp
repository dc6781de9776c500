#include "weft/codegen/target.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <weft/base/sequence.hpp>

#include "support/child_process.hpp"
#include "weft/codegen/llvm/api.hpp"

namespace weft {
namespace {

bool sorted(weft::sequence<std::string> const& names) {
  for (std::size_t i = 1; i < names.size(); ++i)
    if (!(names[i - 1] < names[i])) return false;
  return true;
}
bool subset(target const& small, target const& large) {
  for (auto const& f : small.features)
    if (!large.has(f)) return false;
  return true;
}

TEST_CASE("the host's features are sorted, and a subset of what LLVM finds") {
  target const& t = host();
  CHECK(sorted(t.features));
  CHECK(!t.features.empty());
  auto const& l = codegen::llvm::load_llvm();
  std::string const theirs = "," + codegen::llvm::take_message(l, l.GetHostCPUFeatures()) + ",";
  std::string extra;
  for (auto const& f : t.features)
    if (theirs.find(",+" + f + ",") == std::string::npos) extra += f + " ";
  CHECK(extra == "");
}

TEST_CASE("no feature that weft knows and LLVM finds is missed") {
  auto const& l = codegen::llvm::load_llvm();
  std::string const theirs = "," + codegen::llvm::take_message(l, l.GetHostCPUFeatures()) + ",";
  std::string missed;
  for (char const* f : {"avx",        "avx2",         "avx512bf16", "avx512bitalg", "avx512bw",
                        "avx512cd",   "avx512dq",     "avx512f",    "avx512fp16",   "avx512ifma",
                        "avx512vbmi", "avx512vbmi2",  "avx512vl",   "avx512vnni",   "avx512vpopcntdq",
                        "avxifma",    "avxneconvert", "avxvnni",    "avxvnniint16", "avxvnniint8",
                        "bmi",        "bmi2",         "cx16",       "f16c",         "fma",
                        "gfni",       "lzcnt",        "movbe",      "pclmul",       "popcnt",
                        "prfchw",     "sahf",         "sse2",       "sse3",         "sse4.1",
                        "sse4.2",     "ssse3",        "xsave",      "neon",         "dotprod",
                        "lse"})
    if (theirs.find(std::string(",+") + f + ",") != std::string::npos && !host().has(f)) missed += f + std::string(" ");
  CHECK(missed == "");
}

/// What LLVM prints on stderr while it makes a machine for this cpu and these features: it complains about names
/// that it does not know, and goes on.
std::string complaints(char const* triple, std::string const& cpu, std::string const& features) {
  auto const& l = codegen::llvm::load_llvm();
  codegen::llvm::target_ref found = nullptr;
  char* why = nullptr;
  if (l.GetTargetFromTriple(triple, &found, &why) != 0) return codegen::llvm::take_message(l, why);
  int const file = ::memfd_create("stderr", 0), before = ::dup(2);
  ::dup2(file, 2);
  auto const machine = l.CreateTargetMachine(found, triple, cpu.c_str(), features.c_str(), 2, 2, 0);
  ::dup2(before, 2);
  ::close(before);
  char text[4096];
  auto const size = ::pread(file, text, sizeof text, 0);
  ::close(file);
  if (machine == nullptr) return "no machine";
  l.DisposeTargetMachine(machine);
  return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
}
TEST_CASE("LLVM knows the cpu and every feature by the names given here") {
  CHECK(complaints(host().triple(), "", "+no-such-feature").find("no-such-feature") != std::string::npos);
  for (target const& t : {host(), x86_64_sse2(), x86_64_avx2()}) {
    std::string const text = complaints(t.triple(), t.cpu, t.feature_string());
    if (text.find("No available targets") == 0)
      MESSAGE("[skip] ", text);
    else
      CHECK(text == "");
  }
}

TEST_CASE("sizes are plausible for the features") {
  target const& t = host();
  CHECK((t.vector_bytes == 16 || t.vector_bytes == 32 || t.vector_bytes == 64));
  CHECK((t.vector_registers == 16 || t.vector_registers == 32));
  if (t.has("avx512vl") && t.has("avx512bw") && t.has("fma")) CHECK(t.vector_bytes == 64);
  CHECK(t.l1_bytes >= 8 * 1024);
  CHECK(t.l1_bytes <= 1024 * 1024);
  CHECK(t.l2_bytes > t.l1_bytes);
  CHECK((t.l3_bytes == 0 || t.l3_bytes >= t.l2_bytes));
}

TEST_CASE("CPUID and sysfs agree about the caches") {
#if WEFT_HEADER_ONLY
  target by_sysfs;
  detail::probe_caches_sysfs(by_sysfs);
  if (by_sysfs.l1_bytes == 0) {
    MESSAGE("[skip] no cache directories in sysfs");
    return;
  }
  CHECK(by_sysfs.l1_bytes == host().l1_bytes);
  CHECK(by_sysfs.l2_bytes == host().l2_bytes);
  CHECK(by_sysfs.l3_bytes == host().l3_bytes);
#else
  MESSAGE("[skip] the probes are inside the library");
#endif
}

TEST_CASE("child: one processor" * doctest::skip()) {
  cpu_set_t one;
  REQUIRE(::sched_getaffinity(0, sizeof one, &one) == 0);
  int first = 0;
  while (!CPU_ISSET(first, &one)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(host().threads == 1);
}
TEST_CASE("threads are those that the affinity mask allows") {
  cpu_set_t mask;
  REQUIRE(::sched_getaffinity(0, sizeof mask, &mask) == 0);
  CHECK(host().threads == CPU_COUNT(&mask));
  CHECK(test::run_case("child: one processor", "WEFT_LLVM", nullptr) == 0);
}

TEST_CASE("the forced targets are levels of x86-64, each within the next") {
  target const small = x86_64_sse2(), middle = x86_64_avx2();
  CHECK(small.cpu == "x86-64");
  CHECK(small.vector_bytes == 16);
  CHECK(small.vector_registers == 16);
  CHECK(!small.fma);
  CHECK(small.feature_string() == "+sse2");
  CHECK(middle.cpu == "x86-64-v3");
  CHECK(middle.vector_bytes == 32);
  CHECK(middle.vector_registers == 16);
  CHECK(middle.fma);
  CHECK(middle.has("avx2"));
  CHECK(!middle.has("avx512f"));
  CHECK(sorted(middle.features));
  CHECK(subset(small, middle));
  CHECK(middle.threads == host().threads);
  if (host().cpu == "x86-64-v4" || host().cpu == "x86-64-v3") CHECK(subset(middle, host()));
}

TEST_CASE("targets compare by value") {
  CHECK(x86_64_avx2() == x86_64_avx2());
  CHECK(x86_64_avx2() != x86_64_sse2());
  target t = x86_64_avx2();
  t.l2_bytes += 1;
  CHECK(t != x86_64_avx2());
}
TEST_CASE("equal targets are kept once, and the host is not") {
  target const copy = host();
  CHECK(kept_target(host()) == nullptr);
  CHECK(kept_target(copy) == nullptr);
  target t = x86_64_avx2();
  t.threads += 1000;
  auto const* kept = kept_target(t);
  CHECK(*kept == t);
  CHECK(kept_target(target(t)) == kept);
  t.threads += 1;
  CHECK(kept_target(t) != kept);
  CHECK(kept->threads == t.threads - 1);
}
TEST_CASE("what the probe and the presets give can be made, and this machine runs its own") {
  for (target const& t : {host(), x86_64_sse2(), x86_64_avx2()}) CHECK(cannot_be_made(t) == "");
  CHECK(cannot_run_here(host()) == "");
  target t = host();
  t.features.push_back("sse99"), t.features.push_back("x");
  CHECK(cannot_run_here(t) == "this machine has no sse99, x");
  t.cpu = "";
  CHECK(cannot_be_made(t).find("CPU is called ''") != std::string::npos);
}

}  // namespace
}  // namespace weft
