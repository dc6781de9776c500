#include "weft/codegen/cuda/module.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <weft/base/sequence.hpp>

#include "../../support/cuda_host.hpp"
#include "../../support/golden.hpp"
#include "programs.hpp"
#include "weft/codegen/cuda/types.hpp"

using namespace weft;
using namespace weft_test;

namespace {

constexpr unsigned orders[] = {0, 1, 77};
constexpr float canary = -12345.0f;

weft::sequence<float> numbers(std::size_t n, unsigned seed) {
  weft::sequence<float> v(n);
  for (float& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<std::int32_t>(seed)) / 1e9f;
  }
  return v;
}
bool no_compiler() {
  if (cuda_on_host::available()) return false;
  MESSAGE("[skip] neither $CXX nor c++ runs here: apt-get install g++");
  return true;
}
std::string refusal(loop_program& p) {
  try {
    cuda_source(p.f);
  } catch (internal_error const& e) {
    return e.what();
  } catch (schedule_error const& e) {
    return e.what();
  }
  return "printed";
}
bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

// Floats of which the first and the last stand at the border of a page that must not be touched.
class fenced {
 public:
  explicit fenced(bool at_end, std::size_t count) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    base_ = static_cast<char*>(mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page_, page_, PROT_READ | PROT_WRITE);
    data = reinterpret_cast<float*>(at_end ? base_ + 2 * page_ - count * sizeof(float) : base_ + page_);
  }
  fenced(fenced const&) = delete;
  fenced& operator=(fenced const&) = delete;
  ~fenced() { munmap(base_, 3 * page_); }
  float* data = nullptr;

 private:
  std::size_t page_;
  char* base_ = nullptr;
};

}  // namespace

TEST_CASE("the text of vector add is the golden one") {
  loop_program p("vector_add");
  make_vector_add(p);
  check_golden("cuda/vector_add.cu", cuda_source(p.f));
}

TEST_CASE("equal programs have equal text") {
  loop_program p("matmul"), q("matmul");
  make_matmul(p, 5, 7, 9, true);
  make_matmul(q, 5, 7, 9, true);
  CHECK(cuda_source(p.f) == cuda_source(q.f));
}

TEST_CASE("only a buffer that shares its alias class with no other is __restrict__") {
  loop_program p("vector_add");
  make_vector_add(p);
  CHECK(contains(cuda_source(p.f), "float* __restrict__ C"));
  const_cast<ir::buffer*>(p.f.buffers[2])->alias_class = p.f.buffers[0]->alias_class;
  std::string const text = cuda_source(p.f);
  CHECK(contains(text, "float const* A"));
  CHECK(contains(text, "float const* __restrict__ B"));
  CHECK(contains(text, "float* C"));
}

TEST_CASE("names that CUDA C++ or the prelude owns are not used") {
  loop_program p("weft_add_f32");
  ir::expr const n = p.size("int"), i = p.variable("self");
  auto* const a = p.buffer("blockIdx", dtype::f32, {n}, false);
  auto* const b = p.buffer("__x y", dtype::f32, {n}, false);
  auto* const c = p.buffer("int", dtype::f32, {n}, true);
  p.f.body = p.loop(loop_kind::parallel, i, n, p.store(c, {i}, p.two(op::add, p.load(a, {i}), p.load(b, {i}))));
  std::string const text = cuda_source(p.f);
  CHECK(contains(text, "float const* __restrict__ blockIdx_2"));
  CHECK(contains(text, "float const* __restrict__ x_x_y"));
  CHECK(contains(text, "float* __restrict__ int_2"));
  CHECK(contains(text, "long long int_3"));
  CHECK(contains(text, cuda_kernel_name(p.f) + "("));
  if (no_compiler()) return;
  cuda_on_host const kernel(text);
  REQUIRE_MESSAGE(kernel.loaded(), kernel.messages);
  float const x = 1, y = 2;
  float z = 0;
  REQUIRE(kernel.launch(cuda_kernel_name(p.f).c_str(), 1, 32, 0, &x, &y, &z, 1LL));
  CHECK(z == 3);
}

TEST_CASE("literals keep their exact value") {
  CHECK(cuda_text::literal(dtype::f32, to_bits(1.5f)) == "0x1.8p0f");
  CHECK(cuda_text::literal(dtype::f32, to_bits(-3.0f)) == "-3.0f");
  CHECK(cuda_text::literal(dtype::f64, to_bits(-0.0)) == "-0.0");
  CHECK(cuda_text::literal(dtype::f64, to_bits(0.1)) == "0x1.999999999999ap-4");
  CHECK(cuda_text::literal(dtype::f32, 1) == "0x0.000002p-126f");
  CHECK(cuda_text::literal(dtype::f32, 0x7f800000) == "__int_as_float(2139095040)");
  CHECK(cuda_text::literal(dtype::i64, INT64_MIN) == "(-9223372036854775807LL - 1)");
  CHECK(cuda_text::literal(dtype::i32, INT32_MIN) == "(-2147483647 - 1)");
}

TEST_CASE("vector add on the host: the guard keeps threads past the end from writing") {
  if (no_compiler()) return;
  loop_program p("vector_add");
  make_vector_add(p);
  cuda_on_host const kernel(cuda_source(p.f));
  REQUIRE_MESSAGE(kernel.loaded(), kernel.messages);
  CHECK(kernel.messages == "");
  for (std::size_t n : {1u, 31u, 256u, 1000u})
    for (unsigned order : orders) {
      auto const a = numbers(n, 1), b = numbers(n, 2);
      weft::sequence<float> c(n + 600, canary);
      REQUIRE(kernel.launch("vector_add_kernel", static_cast<long long>(n), 128, order, a.data(), b.data(), c.data(),
                            static_cast<long long>(n)));
      bool equal = true;
      for (std::size_t i = 0; i < c.size(); ++i) equal = equal && c[i] == (i < n ? a[i] + b[i] : canary);
      CHECK_MESSAGE(equal, "n = " << n << ", order " << order);
    }
}

TEST_CASE("matmul on the host equals the plain loops bit by bit, with the sum in memory or in a local") {
  if (no_compiler()) return;
  std::size_t const M = 33, N = 17, K = 41;
  auto const a = numbers(M * K, 3), b = numbers(K * N, 4);
  weft::sequence<float> expected(M * N);
  for (std::size_t i = 0; i < M; ++i)
    for (std::size_t j = 0; j < N; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < K; ++k) {
        float volatile const product = a[i * K + k] * b[k * N + j];  // volatile: rounded before it is added
        sum = sum + product;
      }
      expected[i * N + j] = sum;
    }
  for (bool local : {false, true}) {
    loop_program p("matmul");
    make_matmul(p, M, N, K, local);
    cuda_on_host const kernel(cuda_source(p.f));
    REQUIRE_MESSAGE(kernel.loaded(), kernel.messages);
    CHECK(kernel.messages == "");
    for (unsigned order : orders) {
      weft::sequence<float> c(M * N, __builtin_nanf(""));  // a first iteration that reads it would keep the NaN
      REQUIRE(kernel.launch("matmul_kernel", M, 16, order, a.data(), b.data(), c.data()));
      CHECK_MESSAGE(c == expected, "local " << local << ", order " << order);
    }
  }
}

TEST_CASE("a stencil's border: what a clamp, a select or a mask excludes is not read") {
  if (no_compiler()) return;
  std::size_t const n = 100;
  auto const values = numbers(n, 5);
  for (bool masked : {false, true}) {
    loop_program p("stencil");
    make_stencil(p, masked);
    cuda_on_host const kernel(cuda_source(p.f));
    REQUIRE_MESSAGE(kernel.loaded(), kernel.messages);
    CHECK(kernel.messages == "");
    for (bool at_end : {false, true}) {
      fenced const a(at_end, n);
      for (std::size_t i = 0; i < n; ++i) a.data[i] = values[i];
      weft::sequence<float> out(n, canary), expected(n);
      for (std::size_t i = 0; i < n; ++i)
        expected[i] = (values[i == 0 ? 0 : i - 1] + values[i]) + (i + 1 < n ? values[i + 1] : 0.0f);
      REQUIRE(kernel.launch("stencil_kernel", n, 32, 0, a.data, out.data(), static_cast<long long>(n)));
      CHECK_MESSAGE(out == expected, "masked " << masked << ", at the page's end " << at_end);
    }
  }
}

TEST_CASE("a value used twice is computed once, yet not in front of the condition that guards it") {
  // B[i] = i < n - 1 ? exp-like chain over A[i + 1] : 0, with every step of the chain used twice
  loop_program p("chain");
  ir::expr const n = p.size("n"), i = p.variable("i"), x = p.scalar("x", dtype::f32);
  auto* const a = p.buffer("A", dtype::f32, {n}, false);
  auto* const b = p.buffer("B", dtype::f32, {n}, true);
  ir::expr chain = x;
  for (int step = 0; step < 60; ++step) chain = p.two(op::add, p.two(op::mul, chain, chain), p.f32(0.25f));
  ir::expr const next = p.load(a, {p.two(op::add, i, p.number(1))});
  ir::expr const inside = p.two(op::lt, i, p.two(op::sub, n, p.number(1)));
  ir::expr const guarded = ir::ternary(p.m, op::select, inside, p.two(op::mul, next, next), p.f32(0));
  p.f.body = p.loop(loop_kind::parallel, i, n, p.store(b, {i}, p.two(op::add, chain, guarded)));
  std::string const text = cuda_source(p.f);
  CHECK(text.size() < 10000);  // as a tree it would have 2^60 leaves
  CHECK(contains(text, "? weft_mul_f32(A[i + 1], A[i + 1]) : 0.0f"));
  if (no_compiler()) return;
  cuda_on_host const kernel(text);
  REQUIRE_MESSAGE(kernel.loaded(), kernel.messages);
  fenced const in(true, 8);
  for (std::size_t e = 0; e < 8; ++e) in.data[e] = static_cast<float>(e);
  weft::sequence<float> out(8);
  REQUIRE(kernel.launch("chain_kernel", 8, 4, 0, in.data, out.data(), 8LL, 0.5f));  // 0.5 is the chain's fixed point
  for (std::size_t e = 0; e < 8; ++e) CHECK(out[e] == 0.5f + (e < 7 ? static_cast<float>((e + 1) * (e + 1)) : 0.0f));
}

TEST_CASE("what is used often under a condition, and reads there, has locals in a branch: the text grows with the program, not with its paths") {
  // B[i] = i < n - 1 ? f(i < n - 2 ? f(A[i + 1] + A[i + 2]) : A[i + 1]) : 0, where f uses each of its steps twice
  loop_program p("guarded");
  ir::expr const n = p.size("n"), i = p.variable("i");
  auto* const a = p.buffer("A", dtype::f32, {n}, false);
  auto* const b = p.buffer("B", dtype::f32, {n}, true);
  auto const chain = [&](ir::expr x) {
    for (int step = 0; step < 30; ++step) x = p.two(op::add, p.two(op::mul, x, x), p.f32(0.25f));
    return x;
  };
  auto const below = [&](std::int64_t less) { return p.two(op::lt, i, p.two(op::sub, n, p.number(less))); };
  auto const at = [&](std::int64_t more) { return p.load(a, {p.two(op::add, i, p.number(more))}); };
  ir::expr const inner = ir::ternary(p.m, op::select, below(2), chain(p.two(op::add, at(1), at(2))), at(1));
  p.f.body = p.loop(loop_kind::parallel, i, n, p.store(b, {i}, ir::ternary(p.m, op::select, below(1), chain(inner), p.f32(0))));
  std::string const text = cuda_source(p.f);
  CHECK(text.size() < 10000);  // one path for each use: 2^60 of them
  CHECK(contains(text, "  } else {\n"));
  if (no_compiler()) return;
  cuda_on_host const kernel(text);
  REQUIRE_MESSAGE(kernel.loaded(), kernel.messages);
  CHECK(kernel.messages == "");
  fenced const in(true, 8);
  for (std::size_t e = 0; e < 8; ++e) in.data[e] = static_cast<float>(e) / 32;
  auto const stepped = [](float x) {
    for (int step = 0; step < 30; ++step) {
      float volatile const square = x * x;  // rounded
      x = square + 0.25f;
    }
    return x;
  };
  weft::sequence<float> out(8);
  REQUIRE(kernel.launch("guarded_kernel", 8, 4, 0, in.data, out.data(), 8LL));
  for (std::size_t e = 0; e < 8; ++e) CHECK(out[e] == (e < 6 ? stepped(stepped(in.data[e + 1] + in.data[e + 2])) : e < 7 ? stepped(in.data[e + 1]) : 0.0f));
}

namespace {
/// B[i] = v, of which each step chooses by A[i] > step.
template <class F>
std::string chosen(int steps, F&& step_of) {
  loop_program p("chosen");
  ir::expr const n = p.size("n"), i = p.variable("i");
  auto* const a = p.buffer("A", dtype::f32, {n}, false);
  auto* const x = p.buffer("X", dtype::f32, {n}, false);
  auto* const b = p.buffer("B", dtype::f32, {n}, true);
  ir::expr const from = p.load(a, {i});
  ir::expr v = ir::ternary(p.m, op::select, p.two(op::lt, p.f32(-1), from), p.load(x, {i}), p.f32(0));
  for (int step = 0; step < steps; ++step) {
    auto const [yes, no] = step_of(p, from, p.load(x, {i}), v, static_cast<float>(step));
    v = ir::ternary(p.m, op::select, p.two(op::lt, p.f32(static_cast<float>(step)), from), yes, no);
  }
  p.f.body = p.loop(loop_kind::parallel, i, n, p.store(b, {i}, v));
  return cuda_source(p.f);
}
/// x times itself, six times over, each time with something added.
ir::expr powers(loop_program& p, ir::expr x, float more) {
  for (int k = 0; k < 6; ++k) x = p.two(op::add, p.two(op::mul, x, x), p.f32(more));
  return x;
}
struct two_ways {
  ir::expr yes, no;
};
}  // namespace

TEST_CASE("what both ways of a select read is read in front of it: a chain of selects has text as long as it is") {
  auto const chain = [](loop_program& p, ir::expr, ir::expr, ir::expr v, float) { return two_ways{powers(p, v, 0.25f), powers(p, v, -0.5f)}; };
  std::size_t const ten = chosen(10, chain).size(), twenty = chosen(20, chain).size();
  CHECK(ten < 30000);
  CHECK(twenty < 2 * ten + 1000);  // twice in each of two ways, it was 2^20 times as long
}
TEST_CASE("a ladder of selects is one branch of many ways, as long as it is, and no deeper") {
  auto const ladder = [](loop_program& p, ir::expr, ir::expr x, ir::expr v, float step) { return two_ways{powers(p, x, step), v}; };
  std::string const text = chosen(60, ladder);
  int ways = 0;
  for (std::size_t at = text.find("} else if ("); at != std::string::npos; at = text.find("} else if (", at + 1)) ++ways;
  CHECK(ways >= 50);
  CHECK(text.find(std::string(12, ' ')) == std::string::npos);
  CHECK(text.size() < 2 * chosen(30, ladder).size() + 1000);
  if (no_compiler()) return;
  cuda_on_host const kernel(text);
  REQUIRE_MESSAGE(kernel.loaded(), kernel.messages);
  float const a[] = {-2, -0.5f, 0.5f, 7.5f, 100};
  float const x[] = {0.5f, 0.25f, 0, 0, 0};
  weft::sequence<float> out(5);
  REQUIRE(kernel.launch("chosen_kernel", 5, 4, 0, a, x, out.data(), 5LL));
  auto const stepped = [](float v, float more) {
    for (int k = 0; k < 6; ++k) {
      float volatile const square = v * v;  // rounded
      v = square + more;
    }
    return v;
  };
  CHECK(out[0] == 0);
  CHECK(out[1] == 0.25f);
  CHECK(out[2] == stepped(0, 0));
  CHECK(out[3] == stepped(0, 7));
  CHECK(out[4] == stepped(0, 59));
}
TEST_CASE("branches of selects that grow past 1 MB are refused, at once") {
  // Both ways read the next select, each under a condition of its own.
  auto const apart = [](loop_program& p, ir::expr from, ir::expr, ir::expr v, float step) {
    auto const under = [&](float more) { return powers(p, ir::ternary(p.m, op::select, p.two(op::lt, from, p.f32(step + more)), v, p.f32(more)), more); };
    return two_ways{under(0.25f), under(0.5f)};
  };
  CHECK_THROWS_WITH_AS(chosen(30, apart), doctest::Contains("an expression grows past 1 MB because"), internal_error);
}

TEST_CASE("loops with begins, run-time ends, masks and branches keep their meaning") {
  // For each i in 2..n: S[i] = sum over k in i..i+(n-i) of k where k is odd, as i64; and S[0] stays.
  loop_program p("ranges");
  ir::expr const n = p.size("n"), i = p.variable("i"), k = p.variable("k");
  auto* const s = p.buffer("S", dtype::i64, {n}, true);
  auto* const t = p.buffer("T", dtype::i64, {n}, true);
  ir::expr const rest = p.two(op::sub, n, i), odd = p.two(op::eq, p.two(op::floor_mod, k, p.number(2)), p.number(1));
  ir::stmt const add = p.accumulate(s, {i}, p.two(op::add, ir::self(p.m, dtype::i64, 1), k), p.number(1000), {k});
  ir::stmt const odd_only = p.accumulate(t, {i}, p.two(op::add, ir::self(p.m, dtype::i64, 1), k), p.number(0), {}, odd);
  ir::stmt const last = ir::branch(p.m, p.two(op::eq, i, p.two(op::sub, n, p.number(1))), p.store(s, {p.number(0)}, i),
                                   p.store(t, {p.number(0)}, p.number(-7), p.two(op::eq, i, p.number(2))));
  ir::stmt const body = ir::block(p.m, {p.loop(loop_kind::serial, k, rest, ir::block(p.m, {add, odd_only}), i), last});
  p.f.body = p.loop(loop_kind::parallel, i, p.two(op::sub, n, p.number(2)), body, p.number(2));
  if (no_compiler()) return;
  cuda_on_host const kernel(cuda_source(p.f));
  REQUIRE_MESSAGE(kernel.loaded(), kernel.messages);
  CHECK(kernel.messages == "");
  long long const size = 20;
  weft::sequence<long long> sums(20, -1), odds(20, -1);
  REQUIRE(kernel.launch("ranges_kernel", size, 8, 1, sums.data(), odds.data(), size));
  for (long long row = 2; row < size; ++row) {
    long long sum = 1000, of_odd = -1;
    for (long long c = row; c < size; ++c) {
      sum += c;
      if (c % 2 == 1) of_odd += c;  // with an empty `first` the element is always read
    }
    CHECK(sums[static_cast<std::size_t>(row)] == sum);
    CHECK(odds[static_cast<std::size_t>(row)] == of_odd);
  }
  CHECK(sums[0] == size - 1);
  CHECK(odds[0] == -7);
  CHECK(sums[1] == -1);
}

TEST_CASE("what one launch cannot do is refused in words") {
  loop_program p("two");
  ir::expr const n = p.size("n"), i = p.variable("i"), j = p.variable("j");
  auto* const a = p.buffer("A", dtype::f32, {n}, true);
  ir::stmt const one = p.loop(loop_kind::parallel, i, n, p.store(a, {i}, p.f32(1)));
  ir::stmt const two = p.loop(loop_kind::parallel, j, n, p.store(a, {j}, p.f32(2)));
  p.f.body = ir::branch(p.m, p.two(op::lt, n, p.number(8)), ir::block(p.m, {one, two}));
  CHECK(contains(refusal(p), "two: one launch of a GPU cannot do this: a parallel loop stands beside other work"));

  p.f.body = p.loop(loop_kind::vectorized, i, n, p.store(a, {i}, p.f32(1)));
  CHECK(contains(refusal(p), "a vectorized loop has no text"));

  p.f.body = p.loop(loop_kind::serial, j, n, p.loop(loop_kind::thread_x, i, p.number(8), p.store(a, {i}, p.f32(1))));
  CHECK(contains(refusal(p), "a loop bound to blocks or threads stands inside of other statements"));

  p.f.body = p.loop(loop_kind::block_y, i, p.number(65536), p.store(a, {i}, p.f32(1)));
  CHECK_THROWS_WITH_AS(cuda_source(p.f), doctest::Contains("65535 along y and z"), argument_error);

  p.f.body = p.store(a, {ir::ramp(p.m, p.number(0), 1, 8)}, ir::literal(p.m, dtype::f32, 0, 8));
  CHECK(contains(refusal(p), "8 lanes"));

  p.f.body =
      p.loop(loop_kind::parallel, i, n, p.accumulate(a, {p.number(0)}, ir::self(p.m, dtype::f32, 1), p.f32(0), {i}));
  CHECK(contains(refusal(p), "a reduction runs over the grid"));

  p.f.body = p.store(a, {i}, p.f32(1));
  CHECK(contains(refusal(p), "outside its loop"));

  p.f.body = p.store(a, {p.number(0)}, p.two(op::rem, p.load(a, {p.number(0)}), p.load(a, {p.number(1)})));
  CHECK(contains(refusal(p), "rem means nothing on f32"));
}
