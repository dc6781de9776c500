// What runs on another machine: calls kernels whose objects are linked to it, on memory that comes in by one file, and
// writes what is in the memory then to another. The other side is tests/fuzz/fuzz_aarch64.cpp.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "support/fenced_bytes.hpp"
#include "weft/codegen/launch.hpp"

#define WEFT_CASE(n) extern "C" std::int32_t weft_case##n(weft::launch const*);
#include "cases.inc"
#undef WEFT_CASE

namespace {
std::FILE *in, *out;
std::int64_t number() {
  std::int64_t n = 0;
  if (std::fread(&n, sizeof n, 1, in) != 1) std::abort();
  return n;
}
void call(weft::kernel_entry entry) {
  std::vector<weft_test::fenced_bytes> memory;
  std::vector<void*> pointers;
  for (std::int64_t tensors = number(); tensors > 0; --tensors) {
    std::int64_t const size = number(), first = number();
    bool const at_end = number() != 0;
    memory.emplace_back(static_cast<std::size_t>(size), at_end);
    if (size > 0 && std::fread(memory.back().data(), static_cast<std::size_t>(size), 1, in) != 1) std::abort();
    pointers.push_back(memory.back().data() + first);
  }
  std::vector<std::int64_t> scalars;
  for (std::int64_t n = number(); n > 0; --n) scalars.push_back(number());
  auto const bytes = static_cast<std::size_t>((number() + 63) / 64 * 64);
  weft_test::fenced_bytes const workspace(bytes, true);
  std::memset(workspace.data(), 0x5a, bytes);
  weft::services const host{[](void*, std::int64_t count, std::int64_t places, weft::loop_body* body, void* to) {
                              std::int64_t const half = count / 2;
                              if (half < count) body(to, half, count, places > 1 ? 1 : 0);
                              if (half > 0) body(to, 0, half, 0);
                            },
                            nullptr};
  weft::launch const l{pointers.data(), nullptr, scalars.data(), workspace.data(), &host};
  std::int64_t const status = entry(&l);
  std::fwrite(&status, sizeof status, 1, out);
  for (weft_test::fenced_bytes const& m : memory) std::fwrite(m.data(), 1, m.size(), out);
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || (in = std::fopen(argv[1], "rb")) == nullptr || (out = std::fopen(argv[2], "wb")) == nullptr) return 2;
#define WEFT_CASE(n) call(weft_case##n);
#include "cases.inc"
  return std::fclose(out) == 0 ? 0 : 2;
}
