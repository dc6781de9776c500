#include "weft/codegen/llvm/module.hpp"

#include <doctest/doctest.h>

#include <string>

#include "weft/codegen/launch.hpp"
#include "weft/codegen/llvm/jit.hpp"
#include "weft/ir/parse.hpp"

using namespace weft;

namespace {
/// Runs a loop program on these pointers, after LLVM's verifier has seen its code.
void run(std::string const& text, sequence<void*> pointers) {
  ir::arena m;
  ir::function const f = ir::parse(m, text);
  codegen::llvm::object_code const object = codegen::llvm::compile(f, host(), {false, false, true});
  codegen::llvm::loaded_code const code = codegen::llvm::jit::instance().link(object.bytes, object.symbol);
  launch const l{pointers.data(), nullptr, nullptr, nullptr, nullptr};
  reinterpret_cast<kernel_entry>(code.entry())(&l);
}
}  // namespace

TEST_CASE("what stood in front of a loop that may not run was used behind it") {
  // Both inner loops read B[1] and i * 3; the first of them never runs when i is 0.
  std::string const text =
      "kernel k:\n  variables i, j, k\n"
      "  buffer A: i32[64] strides [1] in argument 0 alias 0 align 4\n"
      "  buffer B: i32[2] strides [1] in argument 1 alias 1 align 4\n"
      "  buffer C: i32[64] strides [1] in argument 2 written alias 2 align 4\n"
      "  for i in 0..4:\n"
      "    for j in 0..min(5, i):\n"
      "      C[j] = B[1] + A[i * 3 + j]\n"
      "    for k in 0..min(5, 3 - i):\n"
      "      C[k + 8] = C[k + 8] + A[cast<i64>(B[1]) + i * 3 + k]\n"
      "    C[i + 16] = B[1] * cast<i32>(i * 3)\n";
  std::int32_t a[64], b[2] = {3, 7}, c[64] = {}, want[64] = {};
  for (int i = 0; i < 64; ++i) a[i] = i * i;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < i; ++j) want[j] = 7 + a[i * 3 + j];
    for (int k = 0; k < 3 - i; ++k) want[k + 8] += a[7 + i * 3 + k];
    want[i + 16] = 7 * i * 3;
  }
  run(text, {a, b, c});
  for (int i = 0; i < 64; ++i) CHECK(c[i] == want[i]);
}

TEST_CASE("an address that hangs on memory is found anew when that has been written") {
  // The second load of A is at another place, since N is another number by then; and so under another mask.
  std::string const text =
      "kernel k:\n  variables i\n"
      "  buffer A: i32[64] strides [1] in argument 0 alias 0 align 4\n"
      "  buffer N: i64[8] strides [1] in argument 1 written alias 1 align 8\n"
      "  buffer C: i32[64] strides [1] in argument 2 written alias 2 align 4\n"
      "  for i in 0..4:\n"
      "    C[i] = A[N[i]] + A[N[i] * 2 + 1]\n"
      "    N[i] = N[i] + 3\n"
      "    C[i + 8] = A[N[i]] + A[N[i] * 2 + 1]\n"
      "    C[i + 16] = A[N[i + 1 where N[i] < 5]]\n"
      "    N[i] = N[i] + 3\n"
      "    C[i + 24] = A[N[i + 1 where N[i] < 5]]\n";
  std::int32_t a[64], c[64] = {}, want[64] = {};
  std::int64_t n[8] = {0, 1, 2, 3, 4, 5, 6, 7}, m[8];
  for (int i = 0; i < 64; ++i) a[i] = i * i + 1;
  for (int i = 0; i < 8; ++i) m[i] = n[i];
  for (int i = 0; i < 4; ++i) {
    auto const both = [&] { return a[m[i]] + a[m[i] * 2 + 1]; };
    auto const guarded = [&] { return a[m[i] < 5 ? m[i + 1] : 0]; };
    want[i] = both();
    m[i] += 3;
    want[i + 8] = both();
    want[i + 16] = guarded();
    m[i] += 3;
    want[i + 24] = guarded();
  }
  run(text, {a, n, c});
  for (int i = 0; i < 64; ++i) CHECK(c[i] == want[i]);
}
