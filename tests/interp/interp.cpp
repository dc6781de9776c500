#include "weft/interp/interp.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <weft/base/sequence.hpp>

#include "weft/ir/parse.hpp"

using namespace weft;

namespace {
/// A kernel from text, with memory for its arguments: f32 buffers A (8 x 8, all read) and B (64, unwritten).
struct run {
  weft::sequence<float> a = weft::sequence<float>(64), b = weft::sequence<float>(64, -1.0f);
  std::int64_t n = 8;
  interp_options options{};
  std::string more{};  // header lines

  run() {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  }
  std::string operator()(std::string const& body) {
    std::string const text =
        "kernel k:\n"
        "  sizes n\n"
        "  scalars alpha: f32\n"
        "  variables i, j, k\n"
        "  buffer A: f32[n, 8] strides [8, 1] in argument 0 alias 0 align 4\n"
        "  buffer B: f32[64] strides [1] in argument 1 written alias 1 align 4\n"
        "  buffer T: f32[n] strides [1] in heap written alias 2 align 64\n"
        "  buffer r: f32[] strides [] in registers written alias 3 align 64\n"
        "  buffer v: f32x4[] strides [] in registers written alias 4 align 64\n" +
        more + body;
    ir::arena m;
    return interpret(ir::parse(m, text), {{a.data(), 64, true}, {b.data(), 64, false}}, {n}, {to_bits(0.5f)}, options);
  }
};
void says(std::string const& text, std::string const& part) {
  CAPTURE(text);
  CAPTURE(part);
  CHECK(text.find(part) != std::string::npos);
}
/// Kernel text over one argument of each of two types; the result of `value` on the first, per element.
template <class To, class From>
weft::sequence<To> map(std::string const& value, weft::sequence<From> from, std::size_t count) {
  weft::sequence<std::uint8_t> out(count * sizeof(To));
  std::string const text =
      "kernel k:\n  variables i\n  buffer A: " + std::string(name(dtype_of<From>)) +
      "[64] strides [1] in argument 0 alias 0 align 1\n  buffer B: " + std::string(name(dtype_of<To>)) +
      "[64] strides [1] in argument 1 written alias 1 align 1\n" + "  for i in 0.." + std::to_string(count) +
      ":\n    B[i] = " + value + "\n";
  ir::arena m;
  auto const elements = static_cast<std::int64_t>(count);
  CHECK(interpret(ir::parse(m, text), {{from.data(), elements, true}, {out.data(), elements, false}}, {}, {}) == "");
  weft::sequence<To> result(count);
  std::memcpy(result.data(), out.data(), out.size());
  return result;
}
}  // namespace

TEST_CASE("interpret: loops, branches and accumulates compute what they say") {
  run r;
  CHECK(r("  for i in 0..n parallel:\n    for j in 2..5:\n      B[i * 8 + j] = A[i, j] * alpha\n") == "");
  for (std::size_t i = 0; i < 64; ++i) CHECK(r.b[i] == (i % 8 >= 2 && i % 8 < 5 ? r.a[i] * 0.5f : -1.0f));

  run sums;  // row sums, the reduction in two loops; element 7 is the branch's
  CHECK(sums("  for k in 0..2:\n    for j in 0..4:\n      for i in 0..8:\n        if i < 7:\n"
             "          accumulate B[i] = self + A[i, k * 4 + j] from 0.0f32 first [k, j]\n"
             "        else:\n          B[i] = 100.0f32\n") == "");
  for (std::size_t i = 0; i < 8; ++i) {
    float sum = 0;
    for (std::size_t j = 0; j < 8; ++j) sum += sums.a[i * 8 + j];
    CHECK(sums.b[i] == (i < 7 ? sum : 100.0f));
  }
}
TEST_CASE("interpret: a loop that begins late has its first iteration there") {
  run r;
  CHECK(r("  for k in 3..6:\n    accumulate B[0] = self + A[0, k] from 10.0f32 first [k]\n") == "");
  CHECK(r.b[0] == 10 + 3 + 4 + 5);
}
TEST_CASE("interpret: an accumulate without first iterations continues what is there") {
  run r;
  CHECK(r("  B[0] = 5.0f32\n  accumulate B[0] = self + 1.0f32 from 0.0f32 first []\n") == "");
  CHECK(r.b[0] == 6);
}
TEST_CASE("interpret: vectors do lane by lane what scalars do") {
  run r;
  CHECK(r("  allocate v:\n    v[] = A[1, ramp(2, 1, 4)]\n"
          "    accumulate v[] = fma(self, broadcast(alpha, 4), 1.0f32x4) from 0.0f32 first []\n"
          "    B[ramp(8, -2, 4)] = v[] where ramp(0, 1, 4) < 3i64x4\n") == "");
  for (std::size_t l = 0; l < 3; ++l) CHECK(r.b[8 - 2 * l] == (10.0f + static_cast<float>(l)) * 0.5f + 1);
  CHECK(r.b[2] == -1);
  run wide;
  wide.n = 64;
  CHECK(wide("  B[ramp(0, 1, 64)] = T[ramp(0, 1, 64) where ramp(0, 1, 64) < broadcast(0, 64)]\n") == "");
  for (float x : wide.b) CHECK(x == 0);
}
TEST_CASE("interpret: operations mean what base/op.hpp says") {
  using ints = weft::sequence<std::int32_t>;
  ints const x{7, -7, 7, -7, 0x7fffffff};
  CHECK(map<std::int32_t>("A[i] / 2i32", x, 5) == ints{3, -3, 3, -3, 0x3fffffff});
  CHECK(map<std::int32_t>("A[i] // -2i32", x, 5) == ints{-4, 3, -4, 3, -0x40000000});
  CHECK(map<std::int32_t>("A[i] % 0i32", x, 5) == ints{0, 0, 0, 0, 0});
  CHECK(map<std::int32_t>("A[i] %% 4i32", x, 5) == ints{3, 1, 3, 1, 3});
  CHECK(map<std::int32_t>("A[i] + 1i32", x, 5) == ints{8, -6, 8, -6, -0x7fffffff - 1});
  CHECK(map<std::uint8_t>("cast<u8>(A[i])", x, 2) == weft::sequence<std::uint8_t>{7, 249});
  CHECK(map<std::int32_t>("cast<i32>(A[i])", weft::sequence<float>{1.9f, -1.9f, 1e20f, NAN}, 4) ==
        ints{1, -1, 0x7fffffff, 0});
  CHECK(map<std::int32_t>("bitcast<i32>(A[i])", weft::sequence<float>{1.0f, -0.0f}, 2) ==
        ints{0x3f800000, -0x7fffffff - 1});
  CHECK(map<std::uint8_t>("cast<u8>(A[i] < 2.0f64 and not A[i] == 1.0f64)", weft::sequence<double>{0, 1, 2}, 3) ==
        weft::sequence<std::uint8_t>{1, 0, 0});
  // One rounding: 2^24 + 1 is no float, yet the product is not rounded before the sum.
  CHECK(map<float>("fma(A[i], A[i], -16777216.0f32)", weft::sequence<float>{4097.0f}, 1)[0] == 8193.0f);
  CHECK(map<float>("A[i] * A[i] - 16777216.0f32", weft::sequence<float>{4097.0f}, 1)[0] == 8192.0f);
}
TEST_CASE("interpret: bool elements are bytes 0 and 1") {
  auto const out = map<std::uint8_t>("cast<u8>(A[i] < 2u8)", weft::sequence<std::uint8_t>{0, 1, 2}, 3);
  CHECK(out == weft::sequence<std::uint8_t>{1, 1, 0});
  std::uint8_t in[] = {0, 1}, result[] = {9, 9};
  ir::arena m;
  CHECK(interpret(ir::parse(m,
                            "kernel k:\n  buffer A: bool[2] strides [1] in argument 0 alias 0 align 1\n"
                            "  buffer B: bool[2] strides [1] in argument 1 written alias 1 align 1\n"
                            "  B[ramp(0, 1, 2)] = not A[ramp(0, 1, 2)]\n"),
                  {{in, 2, true}, {result, 2, false}}, {}, {}) == "");
  CHECK(result[0] == 1);
  CHECK(result[1] == 0);
}
TEST_CASE("interpret: loops without iterations do nothing") {
  run r;
  CHECK(r("  for i in 0..0:\n    B[99] = 0.0f32\n  for i in 5..-3:\n    B[99] = 0.0f32\n"
          "  for j in 0..-1 parallel:\n    B[99] = 0.0f32\n") == "");
}

TEST_CASE("interpret: an index outside of its dimension is a fault, even where the memory goes on") {
  run r;
  says(r("  for i in 0..8:\n    B[i] = A[i, i + 1]\n"),
       "out of bounds: A[7, 8] of A with shape [8, 8], in iteration i = 7");
  says(r("  B[-1] = 0.0f32\n"), "out of bounds: B[-1] of B with shape [64]");
  CHECK(r.b[7] == -1);
}
TEST_CASE("interpret: an element outside of the memory is a fault, even where the shape allows it") {
  run r;
  r.n = 9;
  says(r("  B[0] = A[8, 0]\n"), "out of bounds: A[8, 0] is element 64 of the 64 of A");
}
TEST_CASE("interpret: masks and selects keep from reading, lane by lane") {
  run r;
  CHECK(r("  for i in 0..8:\n    B[i] = A[i, i + 1 where i < 7]\n") == "");
  CHECK(r.b[7] == 0);
  CHECK(r("  for i in 0..8:\n    B[i] = select(i < 7, A[i, i + 1], 3.0f32)\n") == "");
  CHECK(r.b[7] == 3);
  CHECK(r("  B[ramp(0, 1, 4)] = select(ramp(6, 1, 4) < 8i64x4, A[0, ramp(6, 1, 4)], A[0, ramp(-2, 1, 4)])\n") == "");
  CHECK(r.b[0] == 6);
  CHECK(r.b[1] == 7);
  CHECK(r.b[2] == 0);
  CHECK(r.b[3] == 1);
  // The other way round each lane reads outside.
  says(r("  B[ramp(0, 1, 4)] = select(ramp(6, 1, 4) < 8i64x4, A[0, ramp(-2, 1, 4)], A[0, ramp(6, 1, 4)])\n"),
       "A[0, -2]");
}
TEST_CASE("interpret: a load that two branches share is performed for the lanes of each") {
  run r;
  CHECK(
      r("  B[ramp(0, 1, 4)] = select(ramp(0, 1, 4) < 2i64x4, A[0, ramp(4, 1, 4)] + 1.0f32x4, A[0, ramp(4, 1, 4)])\n") ==
      "");
  CHECK(r.b[0] == 5);
  CHECK(r.b[1] == 6);
  CHECK(r.b[2] == 6);
  CHECK(r.b[3] == 7);
}
TEST_CASE("interpret: a store's mask does not keep its value from reading outside") {
  run r;
  says(r("  for i in 0..8:\n    B[i] = A[i, i + 1] where i < 7\n"), "out of bounds: A[7, 8]");
  CHECK(r("  for i in 0..8:\n    B[i] = A[i, i + 1 where i < 7] where i < 7\n") == "");
  // Its own index is another matter: nothing is stored there.
  CHECK(r("  for i in 0..65:\n    B[i] = 0.0f32 where i < 64\n") == "");
}

TEST_CASE("interpret: reading what nothing has written is a fault") {
  run r;
  says(r("  B[0] = B[1]\n"), "uninitialised read of B[1]");
  says(r("  T[0] = 1.0f32\n  for i in 0..2:\n    B[i] = T[i]\n"), "uninitialised read of T[1], in iteration i = 1");
  says(r("  allocate r:\n    B[0] = r[]\n"), "uninitialised read of r[]");
  CHECK(r("  for i in 0..2:\n    allocate r:\n      r[] = 1.0f32\n      B[i] = r[]\n") == "");
  says(r("  for i in 0..2:\n    allocate r:\n      if i < 1:\n        r[] = 1.0f32\n      B[i] = r[]\n"),
       "r[], which was written before its memory was allocated anew, in iteration i = 1 of B");
  CHECK(r("  B[0] = B[1] where false\n") == "");  // read, but not used
  CHECK(r("  B[ramp(0, 1, 4)] = B[ramp(0, 1, 4) where falsex4]\n") == "");
}
TEST_CASE("interpret: an accumulate reads its element except in the first iteration") {
  run r;
  CHECK(r("  for k in 0..3:\n    accumulate B[0] = self + 1.0f32 from 0.0f32 first [k]\n") == "");
  says(r("  accumulate B[0] = self + 1.0f32 from 0.0f32 first []\n"), "uninitialised read of B[0]");
  says(r("  for k in 0..3:\n    for j in 0..2:\n      accumulate B[j + k] = self + 1.0f32 from 0.0f32 first [k]\n"),
       "uninitialised read of B[2], in iteration k = 1, j = 1");
  CHECK(r("  accumulate B[0] = 2.0f32 from 0.0f32 first []\n") == "");  // no self in it
}

TEST_CASE("interpret: iterations of a parallel loop run in an order of the seed") {
  // Iteration 40 faults and ends the run: what was stored until then shows the order.
  run one, same, other;
  other.options.seed = 99;
  std::string const body = "  for i in 0..64 parallel:\n    B[i] = 0.0f32\n    if i == 40:\n      B[i] = A[9, 0]\n";
  for (run* r : {&one, &same, &other}) says((*r)(body), "in iteration i = 40");
  CHECK(one.b == same.b);
  CHECK(one.b != other.b);
}
TEST_CASE("interpret: some seeds run them forwards, some backwards, some in no order") {
  int forwards = 0, backwards = 0, others = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    run r;
    r.options.seed = seed;
    std::string const said = r("  for i in 0..64 parallel:\n    B[0] = 0.0f32\n");
    auto const begins = [&](char const* first, char const* second) {
      return said.find(std::string("iteration i = ") + first + " and written in iteration i = " + second + ",") != said.npos;
    };
    forwards += begins("0", "1");
    backwards += begins("63", "62");
    others += !begins("0", "1") && !begins("63", "62");
  }
  CHECK((forwards > 0 && backwards > 0 && others > 0));
}
TEST_CASE("interpret: two iterations on one element, one of them writing, is a race") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    run r;
    r.options.seed = seed;
    says(r("  for i in 0..8 parallel:\n    B[0] = A[i, 0]\n"),
         "race in parallel loop i: B[0] is written in iteration i = ");
    says(r("  for i in 0..8:\n    T[i] = 0.0f32\n  for i in 0..7 parallel:\n    T[i] = T[i + 1]\n"),
         "race in parallel loop i");
    says(r("  for i in 0..8 parallel:\n    accumulate B[i // 2] = 1.0f32 from 0.0f32 first []\n"),
         "race in parallel loop i");
    // The reads come from several iterations; whichever writes afterwards meets one of them.
    says(r("  T[0] = 0.0f32\n  for i in 0..8 parallel:\n    B[i] = T[0]\n    if i == 5:\n      T[0] = 1.0f32\n"),
         "race in parallel loop i");
    // In different runs of the inner loop, but in iterations of the outer one that may be at the same time.
    says(r("  for i in 0..4 parallel:\n    for j in 0..4 parallel:\n      B[j] = A[i, j]\n"),
         "race in parallel loop i");
    says(r("  for i in 0..4 parallel:\n    B[i] = 0.0f32\n    for j in 0..4 parallel:\n      B[i] = A[i, j]\n"),
         "race in parallel loop j");
    says(r("  for i in 0..4 parallel:\n    for j in 0..2:\n      for k in 0..4 parallel:\n        B[k + j * 4] = A[i, "
           "j]\n"),
         "race in parallel loop i");
  }
}
TEST_CASE("interpret: what cannot be at the same time is no race") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    run r;
    r.options.seed = seed;
    CHECK(r("  for i in 0..8 parallel:\n    B[i] = 0.0f32\n    B[i] = A[i, 0] + B[i]\n") == "");
    CHECK(r("  for i in 0..8 parallel:\n    B[i] = A[0, 0]\n") == "");  // reads by all
    // Two loops, one after the other; and a serial loop around a parallel one.
    CHECK(r("  for i in 0..8 parallel:\n    T[i] = A[i, 0]\n  for j in 0..8 parallel:\n    B[j] = T[7 - j]\n") == "");
    CHECK(r("  for k in 0..3:\n    for i in 0..8 parallel:\n      accumulate B[i] = self + A[i, k] from 0.0f32 first "
            "[k]\n") == "");
    CHECK(r("  for k in 0..3:\n    for i in 0..8 parallel:\n      B[(i + k) %% 8] = A[i, k]\n") == "");
    CHECK(r("  for i in 0..4 parallel:\n    for k in 0..2:\n      for j in 0..2 parallel:\n        B[i * 2 + (j + k) "
            "%% 2] = A[i, j]\n") == "");
    CHECK(r("  for i in 0..4 parallel:\n    allocate r:\n      r[] = A[i, 0]\n      B[i] = r[]\n") == "");
  }
}
TEST_CASE("interpret: memory of the workspace inside a parallel loop is one for all iterations, or each thread's own") {
  run r;
  std::string const body =
      "  for i in 0..4 parallel:\n    allocate M:\n      for k in 0..8:\n        M[k] = A[i, k]\n      B[i] = M[7]\n";
  r.more = "  buffer M: f32[8] strides [1] in heap written alias 5 align 64\n";
  says(r(body), "race in parallel loop i: M[0] is written");
  r.more = "  buffer M: f32[8] strides [1] in heap of 2 threads written alias 5 align 64\n";
  CHECK(r(body) == "");
  CHECK((r.b[0] == 7.0f && r.b[3] == 31.0f));
  // What the iteration before has left there is nobody's.
  says(r("  for i in 0..4 parallel:\n    allocate M:\n      if i == 0:\n        M[0] = 1.0f32\n      B[i] = M[0]\n"), "uninitialised read of M[0]");
  // Of a loop inside of the one that it belongs to, iterations share it.
  says(r("  for i in 0..2 parallel:\n    allocate M:\n      for k in 0..4 parallel:\n        M[0] = A[i, k]\n"), "race in parallel loop k");
}
TEST_CASE("interpret: a register around a parallel loop is shared by its iterations") {
  run r;
  says(r("  allocate r:\n    for i in 0..4 parallel:\n      r[] = A[i, 0]\n      B[i] = r[]\n"),
       "race in parallel loop i: r[] is ");
}

TEST_CASE("interpret: arguments over the same memory see each other") {
  auto const of = [](std::string const& body, int alias, std::int64_t shift) {
    weft::sequence<float> x(16, 1.0f);
    ir::arena m;
    ir::function const f =
        ir::parse(m,
                  "kernel k:\n  variables i\n  buffer A: f32[8] strides [1] in argument 0 alias 0 align 4\n"
                  "  buffer B: f32[8] strides [1] in argument 1 written alias " +
                      std::to_string(alias) + " align 4\n" + body);
    return interpret(f, {{x.data(), 8, true}, {x.data() + shift, 8, false}}, {}, {});
  };
  CHECK(of("  for i in 0..8 parallel:\n    B[i] = A[i] + 1.0f32\n", 0, 0) == "");
  says(of("  for i in 0..7 parallel:\n    B[i] = A[i + 1] + 1.0f32\n", 0, 0), "race in parallel loop i");
  says(of("  pass\n", 1, 0), "arguments A and B share memory, but not an alias class");
  says(of("  pass\n", 0, 1), "overlap in part");
  CHECK(of("  for i in 0..7 parallel:\n    B[i] = A[i + 1] + 1.0f32\n", 1, 8) == "");
}
TEST_CASE("interpret: a call that does not fit is refused") {
  run r;
  says(r("  B[0] = 1.0f64\n"), "not a sound function: the value must have the type of the buffer");
  r.n = -1;
  says(r("  pass\n"), "buffer A has extent -1");
  r.n = std::int64_t(1) << 40;
  says(r("  pass\n"), "buffer T is too large to interpret");
  ir::arena m;
  ir::function const f = ir::parse(
      m,
      "kernel k:\n  sizes n\n  scalars s: i64\n  buffer A: f32[n] strides [1] in argument 0 alias 0 align 1\n  pass\n");
  float x = 0;
  says(interpret(f, {}, {1}, {1}), "too few pointers: the first buffer without memory is A");
  says(interpret(f, {{&x, 1}}, {}, {1}), "too few sizes: the first without a value is n");
  says(interpret(f, {{&x, 1}}, {1}, {}), "too few scalars: the first without a value is s");
  says(interpret(f, {{nullptr, 1}}, {1}, {1}), "argument A has no memory");
  CHECK(interpret(f, {{&x, 1}}, {1}, {1}) == "");
}
TEST_CASE("interpret: a program that does not end is ended") {
  run r;
  r.options.max_operations = 10000;
  says(r("  for i in 0..1000000000000:\n    pass\n"), "more operations than interp_options allows");
  says(r("  for i in 0..200:\n    for j in 0..200:\n      pass\n"), "more operations than interp_options allows");
  says(r("  for i in 9223372036854775807..9223372036854775807 + n:\n    pass\n"), "a loop runs past the last i64");
  CHECK(r("  for i in 0..50:\n    for j in 0..50:\n      pass\n") == "");
}
TEST_CASE("interpret: shared expressions are computed once") {
  run r;
  std::string body;
  for (int i = 0; i < 60; ++i)
    body += "  let $" + std::to_string(i) + " = " +
            (i == 0 ? "A[0, 1]" : "$" + std::to_string(i - 1) + " * $" + std::to_string(i - 1)) + "\n";
  CHECK(r(body + "  B[0] = $59\n") == "");
  CHECK(r.b[0] == 1);
}
