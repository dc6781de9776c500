// Loop programs with one fault each, which the interpreter must find in every order of parallel iterations, and sound ones
// that look much like them.
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "lower/programs.hpp"
#include "weft/expr/compute.hpp"
#include "weft/interp/interp.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ir/print.hpp"
#include "weft/lower/lower.hpp"
#include "weft/schedule/print.hpp"

using namespace weft;

namespace {
/// Inputs A (8 x 8 floats) and N (0 1 4 1 0 1 4 1), the output B (64 floats); T and R are of the workspace, S of the stack.
std::string judge(std::string const& body, std::uint64_t seed) {
  sequence<float> a(64, 1.0f), b(64, 0.0f);
  sequence<std::int64_t> n(8);
  for (std::size_t i = 0; i < 8; ++i) n[i] = static_cast<std::int64_t>(i * i % 8);
  std::string const head =
      "kernel k:\n"
      "  sizes n\n"
      "  variables i, j, k, l\n"
      "  buffer A: f32[8, 8] strides [8, 1] in argument 0 alias 0 align 4\n"
      "  buffer N: i64[8] strides [1] in argument 1 alias 1 align 8\n"
      "  buffer B: f32[64] strides [1] in argument 2 written alias 2 align 4\n"
      "  buffer T: f32[n, 8] strides [8, 1] in heap written alias 3 align 64\n"
      "  buffer R: f32[3] strides [1] in heap written alias 4 align 64\n"
      "  buffer S: f32[4] strides [1] in stack written alias 5 align 64\n"
      "  buffer P: f32[4] strides [1] in stack at 0 written alias 8 align 128\n"
      "  buffer Q: f32[4] strides [1] in stack at 0 written alias 9 align 128\n"
      "  buffer H: f16[8] strides [1] in stack at 0 written alias 10 align 128\n"
      "  buffer E: f32[1, 0] strides [0, 1] in stack at 0 written alias 11 align 128\n"
      "  buffer r: f32[] strides [] in registers written alias 6 align 64\n"
      "  buffer v: f32x4[] strides [] in registers written alias 7 align 64\n";
  ir::arena m;
  interp_options options;
  options.seed = seed;
  return interpret(ir::parse(m, head + body), {{a.data(), 64, true}, {n.data(), 8, true}, {b.data(), 64, false}}, {8}, {},
                   options);
}
struct planted {
  char const* body;
  char const* said;
};
constexpr char const* fill_T = "  for i in 0..8:\n    for j in 0..8:\n      T[i, j] = A[i, j]\n";

template <std::size_t Count>
void all_found(planted const (&cases)[Count], std::string const& before = "") {
  for (planted const& c : cases)
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      std::string const said = judge(before + c.body, seed);
      CHECK_MESSAGE(said.find(c.said) != std::string::npos, "seed " << seed << ":\n" << c.body << said);
    }
}
}  // namespace

TEST_CASE("planted: a fault names the steps that made its loops") {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  auto const C = compute<"C">(A.extent(0), [=](auto i) { return sum(A.extent(1), [=](auto k) { return A(i, k); }); });
  p.outputs.push_back(C.id);
  p = canonical(p);
  schedule s(p, [](int, int dim) { return std::int64_t(dim == 0 ? 8 : 6); });
  auto const [i, j] = stage<"C", 2>(s).all;
  auto const [io, ii] = s.split(i, 4);
  auto const [jo, ji] = s.split(j, 3);
  s.reorder(io, jo, ii, ji);
  s.vectorize(ii);
  call_layout layout;
  layout.arguments = {{{8, 6}, {6, 1}, 4, 0, false, false}, {{8}, {1}, 4, 1, false, false}};
  ir::arena m;
  std::string text = ir::print(lower(m, p, s, layout, "sums"));
  auto const run = [&](std::string const& loops) {
    std::array<float, 48> a{};
    std::array<float, 8> c{};
    interp_options options;
    std::string const steps = print_trace(s);
    options.steps = steps;
    return interpret(ir::parse(m, loops), {{a.data(), 48, true}, {c.data(), 8, false}}, {}, {}, options);
  };
  CHECK(run(text) == "");
  auto const at = text.find("for jo in 0..2:");
  REQUIRE_MESSAGE(at != std::string::npos, text);
  std::string const said = run(text.insert(at + 14, " parallel"));
  CHECK_MESSAGE(said.find("race in parallel loop jo: C[") == 0, said);
  CHECK_MESSAGE(said.find("; by the steps C: split(i, 4) -> io, ii, C: split(j, 3) -> jo, ji, C: reorder(io, jo, ii, ji)") !=
                    std::string::npos, said);
}
TEST_CASE("planted: races through one index, a tail's overlap, a remainder, a gather, a mask, a branch, loops below") {
  all_found({
      {"  for i in 0..8 parallel:\n    B[0] = A[i, 0]\n", "race in parallel loop i: B[0] is written in iteration i = "},
      // The last tile is shifted inwards, over the end of the one before it.
      {"  for i in 0..3 parallel:\n    for j in 0..3:\n      B[min(i * 3, 5) + j] = A[i, j]\n",
       "race in parallel loop i: B[5] is written in iteration i = "},
      // Tiles one longer than their distance, the last one guarded.
      {"  for i in 0..2 parallel:\n    for j in 0..5:\n      if i * 4 + j < 8:\n        B[i * 4 + j] = A[i, j]\n",
       "race in parallel loop i: B[4] is written in iteration i = "},
      {"  for i in 0..2 parallel:\n    B[ramp(i * 3, 1, 4)] = A[i, ramp(0, 1, 4)]\n",
       "race in parallel loop i: B[3] is written in iteration i = "},
      {"  for i in 0..8 parallel:\n    B[i %% 7] = A[i, 0]\n",
       "race in parallel loop i: B[0] is written in iteration i = "},
      {"  for i in 0..8 parallel:\n    B[i // 7] = A[i, 0] where 5 < i\n    B[32 + i] = A[i, 0]\n"
       "    B[8 + i * 3 %% 8] = A[i, 0]\n    B[16 + i * 4 %% 8] = A[i, 0] where i < 3\n",
       "race in parallel loop i: B[16] is written in iteration i = "},
      {"  for i in 0..4 parallel:\n    B[N[i]] = A[i, 0]\n", "race in parallel loop i: B[1] is written in iteration i = "},
      {"  for i in 0..8 parallel:\n    B[i] = A[i, 0]\n    if i == 5:\n      B[2] = 0.0f32\n",
       "race in parallel loop i: B[2] is written in iteration i = "},
      {"  for i in 0..8 parallel:\n    B[0] = A[i, 0] where i %% 4 == 3\n",
       "race in parallel loop i: B[0] is written in iteration i = "},
      {"  for i in 0..4 parallel:\n    for j in 0..2:\n      for k in 0..4:\n        B[j * 4 + k] = A[i, k]\n",
       "race in parallel loop i: B[0] is written in iteration i = "},
      // Nothing but the last one of 64 iterations meets another.
      {"  for i in 0..4 parallel:\n    for j in 0..4:\n      for k in 0..4:\n        B[i * 16 + j * 4 + k %% 4] = A[i, k]\n"
       "        if i == 3 and j == 3 and k == 3:\n          B[7] = 0.0f32\n",
       "race in parallel loop i: B[7] is written in iteration i = "},
      {"  for i in 0..2:\n    for j in 0..4 parallel:\n      B[i] = A[i, j]\n",
       "race in parallel loop j: B[0] is written in iteration j = "},
      // Where two runs of the inner loop meet, the outer one is to blame.
      {"  for i in 0..4 parallel:\n    for j in 0..4 parallel:\n      B[j] = A[i, j]\n",
       "race in parallel loop i: B["},
      {"  for i in 0..4 parallel:\n    B[i] = 0.0f32\n    for j in 0..4 parallel:\n      B[i] = A[i, j]\n",
       "race in parallel loop j: B["},
      {"  for i in 0..4 parallel:\n    together:\n      B[i] = 0.0f32\n      T[0, i // 2] = 1.0f32\n",
       "race in parallel loop i: T[0, "},
  });
}
TEST_CASE("planted: races of a read with a write, both named by their iterations") {
  all_found(
      {
          {"  for i in 0..7 parallel:\n    T[i, 0] = T[i + 1, 0]\n", "race in parallel loop i: T["},
          {"  for i in 0..8 parallel:\n    B[i] = T[0, 0]\n    if i == 5:\n      T[0, 0] = 1.0f32\n",
           "race in parallel loop i: T[0, 0] is "},
          {"  for i in 0..8 parallel:\n    T[i, 0] = A[i, 0]\n    B[i] = T[7 - i, 0]\n", "race in parallel loop i: T["},
          // All read, and one writes at the very end: by then all readers but two are forgotten.
          {"  for i in 0..4 parallel:\n    for j in 0..4 parallel:\n      B[i * 4 + j] = T[0, 0] + T[1, 1]\n"
           "    if i == 2:\n      T[1, 1] = 0.0f32\n",
           "race in parallel loop i: T[1, 1] is "},
          // Reads by a gather, of what one iteration writes.
          {"  for i in 0..8 parallel:\n    B[i] = T[N[i], 0]\n    T[i, 0] = 1.0f32 where i == 4\n",
           "race in parallel loop i: T[4, 0] is "},
          // A reduction over a parallel axis.
          {"  B[0] = 0.0f32\n  for k in 0..8 parallel:\n    accumulate B[0] = self + A[0, k] from 0.0f32 first []\n",
           "race in parallel loop k: B[0] is "},
          {"  B[0] = 0.0f32\n  for k in 0..8 parallel:\n    accumulate B[0] = self + A[0, k] from 0.0f32 first [k]\n",
           "race in parallel loop k: B[0] is "},
      },
      fill_T);
}
TEST_CASE("planted: memory that iterations share, though each uses it for itself") {
  all_found({
      {"  allocate r:\n    for i in 0..4 parallel:\n      r[] = A[i, 0]\n      B[i] = r[]\n",
       "race in parallel loop i: r[] is "},
      {"  allocate v:\n    for i in 0..4 parallel:\n      v[] = A[i, ramp(0, 1, 4)]\n      B[ramp(i * 4, 1, 4)] = v[]\n",
       "race in parallel loop i: v[] lane 0 is "},
      {"  allocate S:\n    for i in 0..4 parallel:\n      S[0] = A[i, 0]\n      B[i] = S[0]\n",
       "race in parallel loop i: S[0] is "},
      // The workspace has one place for it, wherever it is allocated.
      {"  for i in 0..4 parallel:\n    allocate R:\n      R[0] = A[i, 0]\n      B[i] = R[0]\n",
       "race in parallel loop i: R[0] is "},
      {"  for i in 0..4 parallel:\n    for j in 0..2:\n      allocate T:\n        for k in 0..8:\n          T[j, k] = A[i, k]\n"
       "        for k in 0..8:\n          B[i * 16 + j * 8 + k] = T[j, k]\n",
       "race in parallel loop i: T["},
      {"  for i in 0..2 parallel:\n    for j in 0..2 parallel:\n      allocate R:\n        R[i] = A[i, j]\n"
       "        B[i * 2 + j] = R[i]\n",
       "race in parallel loop j: R["},
  });
}
TEST_CASE("planted: lanes that are not independent") {
  all_found(
      {
          {"  for j in 0..8 vectorized:\n    B[0] = A[0, j]\n",
           "race in vectorized loop j: B[0] is written in iteration j = "},
          {"  for j in 1..8 vectorized:\n    T[0, j] = T[0, j - 1]\n", "race in vectorized loop j: T[0, "},
          {"  for i in 0..4 parallel:\n    for j in 0..8 vectorized:\n      B[i * 8 + j // 2] = A[i, j]\n",
           "race in vectorized loop j: B["},
          {"  B[ramp(0, 1, 4) // 2i64x4] = 1.0f32x4\n", "race of lanes: B[0] is written by lanes 0 and 1 of one store"},
          {"  B[N[ramp(0, 1, 4)]] = A[0, ramp(0, 1, 4)]\n",
           "race of lanes: B[1] is written by lanes 1 and 3 of one store"},
          {"  B[ramp(5, 1, 4) %% 8i64x4] = 1.0f32x4\n  B[ramp(5, 1, 4) %% 3i64x4] = 1.0f32x4\n",
           "race of lanes: B[2] is written by lanes 0 and 3 of one store"},
      },
      fill_T);
}

TEST_CASE("planted: reads of what nothing has written") {
  all_found({
      {"  for j in 0..7:\n    T[0, j] = A[0, j]\n  for j in 0..8:\n    B[j] = T[0, j]\n",
       "uninitialised read of T[0, 7], in iteration j = 7 of B"},
      {"  for j in 0..8:\n    if j != 3:\n      T[0, j] = A[0, j]\n  for j in 0..8:\n    B[j] = T[0, j]\n",
       "uninitialised read of T[0, 3], in iteration j = 3 of B"},
      {"  for i in 0..8 parallel:\n    for j in 0..7:\n      T[i, j] = A[i, j]\n    for j in 0..8:\n      B[i * 8 + j] = T[i, j]\n",
       ", 7], in iteration i = "},
      {"  for j in 0..8:\n    B[j] = select(j == 7, T[0, j], 0.0f32)\n", "uninitialised read of T[0, 7], in iteration j = 7"},
      {"  for j in 0..8:\n    T[0, j] = A[0, j] where j < 6\n  B[ramp(0, 1, 4)] = T[0, ramp(3, 1, 4)]\n",
       "uninitialised read of T[0, 6], in an update of B"},
      {"  B[1] = B[0]\n", "uninitialised read of B[0]"},
      // Rings: read before it is written; filled one too late; written with one length and read with another.
      {"  for i in 0..8:\n    B[i] = R[i %% 3]\n    R[i %% 3] = A[i, 0]\n", "uninitialised read of R[0], in iteration i = 0"},
      {"  for i in 0..8:\n    R[(i + 1) %% 3] = A[i, 0]\n    B[i] = R[i %% 3]\n",
       "uninitialised read of R[0], in iteration i = 0"},
      {"  for i in 0..8:\n    R[i %% 2] = A[i, 0]\n    B[i] = R[i %% 3]\n", "uninitialised read of R[2], in iteration i = 2"},
      {"  R[0] = A[0, 0]\n  for i in 2..8:\n    R[i %% 3] = A[i, 0]\n    B[i] = R[i %% 3] + R[(i - 1) %% 3] + R[(i - 2) %% 3]\n",
       "uninitialised read of R[1], in iteration i = 2"},
      // Accumulators.
      {"  accumulate B[0] = self + 1.0f32 from 0.0f32 first []\n", "uninitialised read of B[0]"},
      {"  for k in 0..3:\n    for i in 0..2:\n      accumulate B[i] = self + 1.0f32 from 0.0f32 first [k, i]\n",
       "uninitialised read of B[1], in iteration k = 0, i = 1"},
      {"  for i in 0..2:\n    for k in 0..3:\n      if 0 < k:\n        accumulate B[i] = self + A[i, k] from 0.0f32 first [k]\n",
       "uninitialised read of B[0], in iteration i = 0, k = 1"},
      {"  for i in 0..8:\n    B[i] = 0.0f32 where i < 7\n  for i in 0..8:\n    for k in 0..8:\n"
       "      accumulate B[i] = self + A[i, k] from 0.0f32 first []\n",
       "uninitialised read of B[7], in iteration i = 7, k = 0 of B"},
      {"  allocate r:\n    B[0] = r[]\n    r[] = A[0, 0]\n", "uninitialised read of r[]"},
      {"  allocate v:\n    v[] = 0.0f32x4 where ramp(0, 1, 4) < 3i64x4\n    B[ramp(0, 1, 4)] = v[]\n",
       "uninitialised read of v[] lane 3"},
      {"  allocate v:\n    v[] = 0.0f32x4 where ramp(0, 1, 4) < 3i64x4\n"
       "    accumulate v[] = self + 1.0f32x4 from 0.0f32x4 first []\n",
       "uninitialised read of v[] lane 3"},
  });
}
TEST_CASE("planted: memory of one iteration that the next one reads") {
  all_found({
      {"  for i in 0..4 parallel:\n    allocate S:\n      if i < 0:\n        S[0] = A[i, 0]\n      B[i] = S[0]\n",
       "uninitialised read of S[0], in iteration i = "},
      {"  for i in 0..4:\n    allocate S:\n      S[i] = A[i, 0]\n      B[i] = S[0]\n",
       "uninitialised read of S[0], which was written before its memory was allocated anew, in iteration i = 1 of B"},
      {"  for i in 0..4 parallel:\n    allocate S:\n      S[i] = A[i, 0]\n      B[i] = S[0] + S[1]\n", "uninitialised read of S["},
      {"  for i in 0..4 parallel:\n    allocate r:\n      r[] = A[i, 0] where i == 2\n      B[i] = r[]\n",
       "uninitialised read of r[]"},
      {"  for i in 0..4:\n    allocate R:\n      R[0] = A[i, 0] where i < 3\n      B[i] = R[0]\n",
       "uninitialised read of R[0], which was written before its memory was allocated anew, in iteration i = 3 of B"},
      {"  for i in 0..2 parallel:\n    for j in 0..3:\n      allocate S:\n        S[j] = A[i, j]\n"
       "        B[i * 3 + j] = S[j] + select(j == 2, S[j - 1], 0.0f32)\n",
       "uninitialised read of S[1], which was written before its memory was allocated anew, in iteration i = "},
  });
}

TEST_CASE("planted: accesses outside of a buffer, a dimension, or the range of an index") {
  all_found({
      {"  for j in 0..9:\n    B[j] = A[0, j]\n", "out of bounds: A[0, 8] of A with shape [8, 8], in iteration j = 8 of B"},
      {"  for j in 0..8:\n    B[j] = A[1, j - 1]\n", "out of bounds: A[1, -1] of A with shape [8, 8], in iteration j = 0"},
      {"  B[64] = 0.0f32\n", "out of bounds: B[64] of B with shape [64], in an update of B"},
      {"  for i in 0..3:\n    for j in 0..3:\n      T[0, i * 3 + j] = A[0, 0]\n", "out of bounds: T[0, 8] of T"},
      {"  for i in 0..8:\n    B[i] = A[0, N[i] * 3]\n", "out of bounds: A[0, 12] of A with shape [8, 8], in iteration i = 2"},
      {"  for i in 0..8:\n    R[i %% 4] = A[i, 0]\n", "out of bounds: R[3] of R with shape [3], in iteration i = 3 of R"},
      {"  for i in 0..8:\n    R[i %% 3] = A[i, 0]\n    B[i] = select(2 < i, R[i %% 4], 0.0f32)\n",
       "out of bounds: R[3] of R with shape [3], in iteration i = 3 of B"},
      {"  allocate S:\n    for i in 0..5:\n      S[i] = 0.0f32\n", "out of bounds: S[4] of S with shape [4]"},
      {"  for k in 0..2:\n    for i in 0..8:\n      accumulate B[i * 10] = self + 1.0f32 from 0.0f32 first [k]\n",
       "out of bounds: B[70] of B"},
      // Lanes: a mask on the store alone; a mask that lets one too many through; a mask of the tile before.
      {"  for i in 0..2:\n    B[ramp(i * 5, 1, 5)] = A[0, ramp(i * 5, 1, 5)] where ramp(i * 5, 1, 5) < 8i64x5\n",
       "out of bounds: A[0, 8] of A"},
      {"  for i in 0..2:\n    B[ramp(i * 5, 1, 5)] = A[0, ramp(i * 5, 1, 5) where ramp(i * 5, 1, 5) <= 8i64x5]\n",
       "out of bounds: A[0, 8] of A"},
      {"  for i in 0..2:\n    B[ramp(i * 5, 1, 5)] = A[0, ramp(i * 5, 1, 5) where ramp(0, 1, 5) < 8i64x5]\n",
       "out of bounds: A[0, 8] of A"},
      {"  B[ramp(62, 1, 4)] = 0.0f32x4 where ramp(0, 1, 4) < 3i64x4\n", "out of bounds: B[64] of B with shape [64]"},
      {"  B[ramp(0, 1, 4)] = select(ramp(0, 1, 4) < 3i64x4, A[0, ramp(6, 1, 4)], 0.0f32x4)\n", "out of bounds: A[0, 8] of A"},
      // An index that is inside only because it wraps.
      {"  for i in 0..4:\n    B[(i + 4611686018427387904) * 4] = A[i, 0]\n",
       "overflow of index 0 in B[0]: it leaves the range of i64, in iteration i = 0 of B"},
      {"  for i in 3..4:\n    B[0] = A[1, (i + 1) * 4611686018427387904 + i]\n", "overflow of index 1 in A[1, 3]"},
      {"  B[ramp(n + 9223372036854775807, 1, 2) - broadcast(n, 2) * 1152921504606846975i64x2] = 0.0f32x2\n",
       "overflow of index 0 in B["},
      {"  for i in 0..2:\n    B[9223372036854775807 + n * i - 9223372036854775807] = 0.0f32\n", "overflow of index 0 in B[8]"},
  });
}
TEST_CASE("planted: memory used outside of its scope") {
  all_found({
      {"  allocate r:\n    r[] = A[0, 0]\n  B[0] = r[]\n", "r is used outside of its allocate\n  in: B[0] = r[]"},
      {"  for i in 0..4 parallel:\n    allocate S:\n      S[0] = A[i, 0]\n    B[i] = S[0]\n", "S is used outside of its allocate"},
      {"  allocate T:\n    T[0, 0] = A[0, 0]\n  B[0] = T[0, 0]\n", "T is used outside of its allocate\n  in: B[0] = T[0, 0]"},
      {"  for i in 0..4:\n    allocate R:\n      R[0] = A[i, 0]\n    B[i] = R[0]\n", "R is used outside of its allocate"},
      {"  R[0] = A[0, 0]\n  allocate R:\n    B[0] = R[0]\n", "R was used outside of its allocate, further up"},
      {"  if n < 3:\n    allocate R:\n      R[0] = A[0, 0]\n      B[0] = R[0]\n  else:\n    B[0] = R[0]\n",
       "R is used outside of its allocate"},
      {"  if n < 3:\n    B[0] = 0.0f32 where R[0] < 1.0f32\n  else:\n    allocate R:\n      R[0] = A[0, 0]\n",
       "R was used outside of its allocate, further up"},
  });
}
TEST_CASE("planted: stores to an input") {
  all_found({
      {"  A[0, 0] = 1.0f32\n", "a store to a buffer that is not written\n  in: A[0, 0] = 1.0f32"},
      {"  for k in 0..8:\n    accumulate A[0, 0] = self + A[0, k] from 0.0f32 first [k]\n",
       "a store to a buffer that is not written"},
      {"  together:\n    B[0] = 1.0f32\n    A[0, 0] = 1.0f32\n", "a store to a buffer that is not written"},
      {"  for i in 0..8:\n    if false:\n      N[i] = 0 where i < 0\n", "a store to a buffer that is not written"},
  });
}

TEST_CASE("sound programs that look like faulty ones have no fault in any order") {
  for (char const* body : {
           // Disjoint by a remainder, a quotient and a product; by what no other loop has; by a permutation.
           "  for i in 0..8 parallel:\n    B[(i + 3) %% 8] = A[i, 0]\n",
           "  for i in 0..8 parallel:\n    B[i // 4 * 16 + i %% 4] = A[i, 0]\n",
           "  for i in 0..8 parallel:\n    B[i * 3 %% 8] = A[i, 0]\n",
           "  for i in 0..3 parallel:\n    B[N[i]] = A[i, 0]\n",
           "  for i in 0..4 parallel:\n    for j in 0..2:\n      for k in 0..4:\n        B[(j * 4 + k) * 4 + i] = A[i, k]\n",
           // A shifted tail in a serial loop, and a guarded one in parallel.
           "  for i in 0..3:\n    for j in 0..3:\n      B[min(i * 3, 5) + j] = A[i, j]\n",
           "  for i in 0..3 parallel:\n    for j in 0..3:\n      if i * 3 + j < 8:\n        B[i * 3 + j] = A[i, j]\n",
           "  for i in 0..2 parallel:\n    B[ramp(i * 3, 1, 4)] = A[i, ramp(0, 1, 4)] where ramp(0, 1, 4) < 3i64x4\n",
           // One iteration alone stores; all read what was written before; each rereads its own.
           "  for i in 0..8 parallel:\n    B[0] = A[i, 0] where i == 5\n",
           "  T[0, 0] = 1.0f32\n  for i in 0..8 parallel:\n    B[i] = T[0, 0]\n  T[0, 0] = 2.0f32\n",
           "  for i in 0..8 parallel:\n    for k in 0..8:\n      accumulate B[i] = self + A[i, k] from 0.0f32 first [k]\n",
           // What is next to each other in time: serial around parallel, two parallel loops after each other.
           "  for k in 0..3:\n    for i in 0..8 parallel:\n      B[(i + k) %% 8] = A[i, k]\n",
           "  for i in 0..8 parallel:\n    T[i, 0] = A[i, 0]\n  for i in 0..8 parallel:\n    B[i] = T[7 - i, 0]\n",
           "  for i in 0..2 parallel:\n    for j in 0..4 parallel:\n      T[i, j] = A[i, j]\n    for j in 0..4 parallel:\n"
           "      B[i * 4 + j] = T[i, 3 - j]\n",
           // Memory of an iteration's own: on the stack, in registers, in the workspace with a place for each.
           "  for i in 0..4 parallel:\n    allocate S:\n      S[0] = A[i, 0]\n      B[i] = S[0]\n",
           "  for i in 0..4 parallel:\n    allocate v:\n      v[] = A[i, ramp(0, 1, 4)]\n      B[ramp(i * 4, 1, 4)] = v[]\n",
           "  for i in 0..4 parallel:\n    allocate T:\n      for j in 0..8:\n        T[i, j] = A[i, j]\n"
           "      for j in 0..8:\n        B[i * 8 + j] = T[i, 7 - j]\n",
           "  for i in 0..4:\n    allocate R:\n      R[0] = A[i, 0]\n      for j in 0..4 parallel:\n        B[i * 4 + j] = R[0]\n",
           "  if n < 3:\n    allocate R:\n      R[0] = A[0, 0]\n      B[0] = R[0]\n  else:\n    allocate R:\n      R[0] = 1.0f32\n"
           "      B[0] = R[0]\n",
           // A ring that is long enough, filled in front.
           "  for i in 0..2:\n    R[i] = A[i, 0]\n  for i in 2..8:\n    R[i %% 3] = A[i, 0]\n"
           "    B[i] = R[i %% 3] + R[(i - 1) %% 3] + R[(i - 2) %% 3]\n",
           // Read where it does not matter; not read where it is not taken; not read in the first iteration.
           "  for j in 0..7:\n    T[0, j] = A[0, j]\n  for j in 0..8:\n    B[j] = T[0, j] where j < 7\n",
           "  for j in 0..7:\n    T[0, j] = A[0, j]\n  for j in 0..8:\n    B[j] = select(j < 7, T[0, j], 0.0f32)\n",
           "  accumulate B[0] = 1.0f32 from 0.0f32 first []\n  accumulate B[0] = self + 1.0f32 from 0.0f32 first []\n",
           // Masked lanes outside, lanes of their own, lanes that read alike.
           "  for i in 0..2:\n    B[ramp(i * 5, 1, 5)] = A[0, ramp(i * 5, 1, 5) where ramp(i * 5, 1, 5) < 8i64x5]\n",
           "  B[ramp(62, 1, 4)] = 0.0f32x4 where ramp(0, 1, 4) < 2i64x4\n",
           "  B[ramp(0, 1, 4) // 2i64x4 + ramp(0, 8, 4)] = A[0, ramp(0, 1, 4) // 2i64x4]\n",
           "  B[N[ramp(0, 1, 4)]] = A[0, ramp(0, 1, 4)] where ramp(0, 1, 4) < 3i64x4\n",
           "  for j in 0..8 vectorized:\n    B[j] = A[0, j]\n    B[j] = A[0, 0] + B[j]\n",
           // What wraps, but is data, or clamped, or in no lane that is stored.
           "  for i in 0..2:\n    B[min(max(9223372036854775807 + i * n, 0), 7)] = 0.0f32\n",
           "  B[min(max((n + 4611686018427387904) * 4, 0), 7)] = 0.0f32\n",
           "  for i in 0..4:\n    B[0] = 1.0f32 where (i + 4611686018427387904) * 4 == i * 4\n",
           "  B[(N[2] + 4611686018427387904) * 4] = 0.0f32\n",
       }) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) CHECK_MESSAGE(judge(body, seed) == "", "seed " << seed << ":\n" << body);
  }
}

TEST_CASE("a report on a program that a schedule made names the schedule's loops and the program's stages") {
  // Row sums R, cut in two, and what stands on them; the text is changed as a lowering that is wrong would have it.
  weft_test::lowered_program two{weft_test::two_stages(), {{8, 8}}};
  ir::function const f = two([](schedule& s, sequence<std::int32_t> const& c) {
    auto const [io, ii] = s.split({c[0]}, 4);
    s.parallel(io);
    static_cast<void>(s.split({s.order[1][1]}, 2));
  });
  std::string const text = ir::print(f);
  auto const with = [&](std::string const& from, std::string const& to) {
    std::string changed = text;
    std::size_t const at = changed.find(from);
    REQUIRE_MESSAGE(at != changed.npos, text);
    changed.replace(at, from.size(), to);
    sequence<float> a(64, 1.0f), d(64, 0.0f);
    ir::arena m;
    return interpret(ir::parse(m, changed), {{a.data(), 64, true}, {d.data(), 64, false}}, {}, {});
  };
  CHECK(with("C[", "C[") == "");
  auto const says = [&](std::string const& from, std::string const& to, std::string const& what) {
    std::string const said = with(from, to);
    CHECK_MESSAGE(said.find(what) != said.npos, said << text);
  };
  says("accumulate C[io * 4 + ii]", "accumulate C[io * 3 + ii]", "race in parallel loop io: C[3] is written in iteration io = ");
  says("for io in 0..2", "for io in 0..1", "uninitialised read of C[4], in iteration i = 4, jo = 0, ji = 0 of D");
  says("- C[i]", "- C[i + 1]", "out of bounds: C[8] of C with shape [8], in iteration i = 7, jo = 0, ji = 0 of D");
  says("jo * 2 + ji] =", "jo * 2 + ji * 2] =", "out of bounds: D[0, 8] of D with shape [8, 8], in iteration i = 0, jo = 3, ji = 1 of D");
  says("first [j]", "first [j, ii]", "uninitialised read of C[");
  CHECK(with("for ji in 0..2:", "for ji in 0..2 parallel:") == "");
}

TEST_CASE("planted: races of blocks, threads, warps, lanes and virtual threads, each by its name") {
  for (char const* how : {"block_x", "block_y", "block_z", "thread_x", "thread_y", "thread_z", "warp", "lane", "virtual_thread"}) {
    std::string const loop = "  for i in 0..8 " + std::string(how) + ":\n", said = "race in " + std::string(how) + " loop i: ";
    planted const cases[] = {{"    B[0] = A[i, 0]\n", said.c_str()},
                             {"    B[i %% 7] = A[i, 0]\n", said.c_str()},
                             {"    T[i, 0] = A[i, 0]\n    B[i] = T[7 - i, 0]\n", said.c_str()}};
    all_found(cases, fill_T + loop);
  }
}
TEST_CASE("planted: threads that do not wait for each other") {
  all_found({
      {"  for j in 0..8:\n    T[0, j] = 0.0f32\n  for i in 0..4 thread_x:\n    T[0, i] = A[i, 0]\n    B[i] = T[0, i %% 2]\n",
       "race in thread_x loop i: T[0, "},
      // The barrier stands behind the read.
      {"  for j in 0..8:\n    T[0, j] = 0.0f32\n  for i in 0..4 thread_x:\n    T[0, i] = A[i, 0]\n    B[i] = T[0, i // 2 * 2]\n    barrier\n",
       "race in thread_x loop i: T[0, "},
      // Between the read of one iteration and the write of the next one there is none.
      {"  allocate S:\n    for i in 0..4 thread_x:\n      for k in 0..3:\n        S[i] = A[i, k]\n        barrier\n"
       "        B[k * 4 + i] = S[3 - i]\n",
       "race in thread_x loop i: S["},
      {"  for j in 0..2 thread_y:\n    for i in 0..4 thread_x:\n      T[j, i] = A[j, i]\n      barrier\n      B[i] = T[j, i]\n",
       "race in thread_y loop j: B["},
      // What the threads of the outer loop do around the inner one is not parted by it.
      {"  for j in 0..2 thread_y:\n    T[j, 0] = 1.0f32\n    for i in 0..4 thread_x:\n      B[j * 4 + i] = T[1 - j, 0]\n      barrier\n",
       "race in thread_y loop j: T["},
      // Blocks do not wait.
      {"  for j in 0..2 block_x:\n    for i in 0..4 thread_x:\n      T[0, i] = A[j, i]\n      barrier\n      B[j * 4 + i] = T[0, 3 - i]\n",
       "race in block_x loop j: T[0, "},
      {"  for j in 0..2 virtual_thread:\n    for i in 0..4 thread_x:\n      T[0, i] = A[j, i]\n      barrier\n      B[j * 4 + i] = T[0, 3 - i]\n",
       "race in virtual_thread loop j: T[0, "},
      // Two stores of one phase to what another thread reads in the next: the later one alone is not enough.
      {"  for i in 0..4 thread_x:\n    T[0, i] = A[0, i]\n    barrier\n    B[i] = T[0, 3 - i]\n    T[0, i] = 1.0f32 where i == 2\n",
       "race in thread_x loop i: T[0, 2] is "},
  });
}
TEST_CASE("planted: buffers that have the same bytes of what a block shares") {
  std::string const both = "  allocate P:\n    allocate Q:\n      for i in 0..4 thread_x:\n        P[i] = A[i, 0]\n        barrier\n",
                    half = "  allocate P:\n    allocate H:\n      for i in 0..4 thread_x:\n        P[i] = A[i, 0]\n        barrier\n";
  std::string const before_all_read = both + "        B[i] = P[3 - i]\n        Q[i] = A[i, 1]\n        barrier\n        B[4 + i] = Q[3 - i]\n",
                    still_wanted = both + "        Q[i] = A[i, 1]\n        barrier\n        B[i] = P[i] + Q[i]\n",
                    in_part = half + "        H[2] = 1.0f16 where i == 0\n        barrier\n        B[i] = P[i]\n",
                    arrives = both + "        async Q[i] = A[i, 1]\n        commit\n        P[i] = A[i, 2]\n        wait 0\n",
                    other_threads = both + "        B[i] = P[i]\n        Q[3 - i] = A[i, 1]\n";
  char const* const race = "race in thread_x loop i: Q[";
  all_found({{before_all_read.c_str(), race},
             {still_wanted.c_str(), "uninitialised read of P["},
             {in_part.c_str(), "uninitialised read of P[1], where H has been written since"},
             {arrives.c_str(), "is written while the copy to it is in flight"},
             {other_threads.c_str(), race}});
  for (std::string const& sound : {both + "        B[i] = P[3 - i]\n        barrier\n        Q[i] = A[i, 1]\n        barrier\n        B[4 + i] = Q[3 - i]\n",
                                   half + "        H[i + 4] = 1.0f16 where i < 2\n        barrier\n        B[i] = P[i] where i < 2\n"})
    for (std::uint64_t seed = 1; seed <= 12; ++seed) CHECK_MESSAGE(judge(sound, seed) == "", sound);
  CHECK(judge("  allocate E:\n    for i in 0..4 thread_x:\n      B[i] = A[i, 0]\n", 1) == "");  // of no elements, in no bytes
}
TEST_CASE("planted: barriers that not all threads reach, or not equally often") {
  all_found({
      {"  for i in 0..4 thread_x:\n    if i < 2:\n      barrier\n",
       "divergent barrier in thread_x loop i: the condition of a branch around it is "},
      {"  for i in 0..4 thread_x:\n    if i < 3:\n      B[i] = A[i, 0]\n    else:\n      barrier\n      B[i] = A[i, 1]\n",
       "divergent barrier in thread_x loop i: the condition of a branch around it is "},
      {"  for i in 0..4 thread_x:\n    for k in 0..i:\n      barrier\n",
       "divergent barrier in thread_x loop i: the length of a loop around it is "},
      {"  for i in 0..4 lane:\n    for k in 0..N[i]:\n      barrier\n",
       "divergent barrier in lane loop i: the length of a loop around it is "},
      {"  for j in 0..3 thread_y:\n    for i in 0..4 thread_x:\n      if i + j < 5:\n        barrier\n",
       "divergent barrier in thread_x loop i: the condition of a branch around it is "},
      {"  for i in 0..4 thread_x:\n    for k in i..i + 2:\n      barrier\n",
       "divergent barrier in thread_x loop i: the begin of a loop around it is "},
      {"  for i in 0..4 thread_x:\n    for k in 0..3:\n      if A[i, k] < 2.0f32 and k + i < 5:\n        barrier\n",
       "divergent barrier in thread_x loop i: the condition of a branch around it is "},
  });
}
TEST_CASE("planted: what threads read of their own memory, and outside of all, between barriers") {
  all_found({
      {"  for i in 0..4 thread_x:\n    allocate r:\n      if i < 3:\n        r[] = A[i, 0]\n      barrier\n      B[i] = r[]\n",
       "uninitialised read of r[], in iteration i = 3"},
      {"  for i in 0..4 thread_x:\n    allocate S:\n      S[i] = A[i, 0]\n      barrier\n      B[i] = S[3 - i]\n", "uninitialised read of S["},
      {"  for i in 0..4 thread_x:\n    barrier\n    B[i * 32] = A[i, 0]\n", "out of bounds: B["},
      {"  for i in 0..4 thread_x:\n    allocate S:\n      for k in 0..2:\n        barrier\n        S[k + 3] = A[i, k]\n", "out of bounds: S[4]"},
  });
}
TEST_CASE("planted: exchanges between threads that are not all there, or that are taken for a barrier") {
  all_found({
      {"  for i in 0..4 thread_x:\n    allocate r:\n      if i < 2:\n        exchange r[] = A[i, 0] across 1\n",
       "divergent barrier in thread_x loop i: the condition of a branch around it is "},
      {"  for i in 0..4 thread_x:\n    allocate r:\n      exchange r[] = A[i, 0] across 4\n", "an exchange with a thread that is not there"},
      {"  for i in 0..4 thread_x:\n    allocate r:\n      exchange r[] = r[] across 2\n", "uninitialised read of r[], in iteration i = "},
      {"  for i in 0..4 thread_x:\n    allocate r:\n      T[0, i] = A[i, 0]\n      exchange r[] = A[i, 0] across 1\n      B[i] = T[0, 3 - i] + r[]\n",
       "race in thread_x loop i: T[0, "},
      {"  for i in 0..4 thread_x:\n    exchange B[i // 2] = A[i, 0] across 1\n", "race in thread_x loop i: B["},
  });
}
namespace {
/// Four threads, row k of A in memory k % 2, one ahead; what `with` has in place of its parts.
std::string in_turns(char const* wait, char const* barrier, char const* turn, char const* commit) {
  return std::string("  for i in 0..4 thread_x:\n    async T[0, i] = A[0, i]\n    commit\n    for k in 0..4:\n") + wait + barrier +
         "      if k + 1 < 4:\n        async T[" + turn + ", i] = A[k + 1, i]\n" + commit + "      B[k * 4 + i] = T[k %% 2, 3 - i]\n";
}
}  // namespace
TEST_CASE("planted: copies that arrive later: short waits, groups without a commit, live memory, no barrier behind the wait") {
  char const *const wait = "      wait 0\n", *const barrier = "      barrier\n", *const turn = "(k + 1) %% 2", *const commit = "      commit\n";
  std::string const cases[] = {in_turns("      wait 1\n", barrier, turn, commit), in_turns(wait, barrier, turn, ""), in_turns(wait, barrier, "k %% 2", commit),
                               in_turns(wait, "", turn, commit),
                               // The barrier stands in front of the wait: what others have waited for is not seen.
                               in_turns(barrier, wait, turn, commit)};
  char const* const said[] = {"short wait: T[0, ", "short wait: T[1, ", "T[0, ", "T[0, ", "race in thread_x loop i: T[0, "};
  for (std::size_t c = 0; c < 5; ++c)
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      std::string const found = judge(cases[c], seed);
      CHECK_MESSAGE(found.find(said[c]) != std::string::npos, "case " << c << ", seed " << seed << ": " << found);
    }
  all_found({
      {"  async T[0, 0] = A[0, 0]\n  B[0] = T[0, 0]\n", "short wait: T[0, 0] is read while the copy to it is in flight"},
      {"  async T[0, 0] = A[0, 0]\n  wait 0\n  B[0] = T[0, 0]\n", "short wait: T[0, 0]"},  // it is of no group
      {"  async T[0, 0] = A[0, 0]\n  commit\n  T[0, 0] = 1.0f32\n  wait 0\n", "T[0, 0] is written while the copy to it is in flight"},
      {"  async T[0, 0] = A[0, 0]\n  commit\n  async T[0, 0] = A[0, 1]\n  commit\n  wait 0\n", "T[0, 0] is written while the copy to it is in flight"},
      {"  async T[0, 0] = A[0, 0]\n  commit\n", "a copy to T is in flight where its thread ends"},
      {"  for i in 0..4 thread_x:\n    async T[0, i] = A[0, i]\n    commit\n    barrier\n", "a copy to T is in flight where its thread ends"},
      {"  async T[0, 0] = A[8, 0]\n", "out of bounds: A[8, 0]"},
      {"  async T[0, 0] = T[1, 0]\n", "uninitialised read of T[1, 0]"},
      // A group of one thread is none of another one.
      {"  for i in 0..4 thread_x:\n    async T[0, i] = A[0, i]\n    commit\n    if i < 3:\n      wait 0\n    barrier\n    B[i] = T[0, 3 - i]\n    wait 0\n",
       "short wait: T[0, 3]"},
  });
  for (std::uint64_t seed = 1; seed <= 12; ++seed) CHECK(judge(in_turns(wait, barrier, turn, commit), seed) == "");
  CHECK(judge("  for i in 0..2:\n    async T[i, 0] = A[i, 0]\n    commit\n  wait 1\n  B[0] = T[0, 0]\n  wait 0\n  B[1] = T[1, 0]\n", 1) == "");
}
TEST_CASE("sound: threads that wait for each other, with memory of their own and of all") {
  for (char const* body : {
           "  for i in 0..4 thread_x:\n    allocate r:\n      exchange r[] = A[i, 0] across 2\n      B[i] = r[]\n",
           "  for j in 0..2 thread_y:\n    for i in 0..4 thread_x:\n      allocate r:\n        exchange r[] = A[j, i] across 4\n        B[j * 4 + i] = r[]\n",
           "  allocate S:\n    for i in 0..4 thread_x:\n      S[i] = A[i, 0]\n      barrier\n      B[i] = S[3 - i]\n",
           "  allocate S:\n    for i in 0..4 thread_x:\n      for k in 0..3:\n        S[i] = A[i, k]\n        barrier\n"
           "        B[k * 4 + i] = S[3 - i]\n        barrier\n",
           "  for i in 0..4 thread_x:\n    allocate r:\n      r[] = A[i, 0]\n      barrier\n      B[i] = r[]\n",
           "  for j in 0..2 thread_y:\n    for i in 0..4 thread_x:\n      T[j, i] = A[j, i]\n      barrier\n      B[j * 4 + i] = T[1 - j, 3 - i]\n",
           // Memory of the outer thread, which the inner ones share.
           "  for j in 0..2 thread_y:\n    allocate S:\n      for i in 0..4 thread_x:\n        S[i] = A[j, i]\n        barrier\n"
           "        B[j * 4 + i] = S[3 - i]\n",
           "  for j in 0..2 thread_y:\n    T[j, 0] = 1.0f32\n    for i in 0..4 thread_x:\n      barrier\n      B[j * 4 + i] = T[1 - j, 0]\n",
           // A condition that is the same for all; one iteration of a loop over threads.
           "  for k in 0..2:\n    for i in 0..4 thread_x:\n      if k == 0:\n        barrier\n      B[k * 4 + i] = A[i, k]\n",
           "  for i in 0..1 warp:\n    for k in 0..4 lane:\n      T[0, k] = A[i, k]\n      barrier\n      B[k] = T[0, 3 - k]\n",
           "  for i in 0..8 block_x:\n    for j in 0..8 thread_x:\n      B[i * 8 + j] = A[i, j]\n",
       })
    for (std::uint64_t seed = 1; seed <= 12; ++seed) CHECK_MESSAGE(judge(body, seed) == "", "seed " << seed << ":\n" << body);
}
