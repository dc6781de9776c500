#include "weft/ir/verify.hpp"
#include "weft/ir/equal.hpp"

#include <doctest/doctest.h>

#include "ir/random_function.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ir/print.hpp"

using namespace weft;

namespace {
std::string const head =
    "kernel k:\n"
    "  sizes n\n"
    "  scalars alpha: f32\n"
    "  variables i, j\n"
    "  buffer A: f32[n, 8] strides [8, 1] in argument 0 alias 0 align 4\n"
    "  buffer B: f32[n] strides [1] in argument 1 written alias 1 align 4\n"
    "  buffer N: i32[n] strides [1] in argument 2 alias 2 align 4\n"
    "  buffer M: bool[n] strides [1] in argument 3 alias 3 align 1\n"
    "  buffer tmp: f32[n] strides [1] in heap written alias 4 align 64\n"
    "  buffer acc: f32x4[] strides [] in registers written alias 5 align 64\n";
/// What verify says of a kernel with this body. The parser lets every type error through.
std::string verdict_on(std::string const& body, std::string const& other_head = head) {
  ir::arena m;
  return ir::verify(ir::parse(m, other_head + body));
}
}  // namespace

TEST_CASE("verify: sound functions at random are sound") {
  for (std::uint64_t seed = 1000; seed < 1100; ++seed) {
    weft_test::random_function r(seed);
    CHECK(ir::verify(r.f) == "");
  }
}

TEST_CASE("verify: what is allowed") {
  for (char const* body : {
           "  for i in 0..n parallel:\n    for j in i..i + 4:\n      B[i] = A[i, j] * alpha\n",
           "  for i in 0..2:\n    B[i] = 0.0f32\n  for i in 0..2:\n    B[i] = 1.0f32\n",
           "  if n < 3:\n    for i in 0..2:\n      pass\n  else:\n    for i in 0..2:\n      pass\n",
           "  B[ramp(0, 1, 4)] = broadcast(A[0, 0], 4) where truex4\n",
           "  B[ramp(0, 1, 4)] = A[0, ramp(0, 2, 4) where true] where M[0]\n",
           "  B[ramp(0, 1, 4)] = A[0, 0 where falsex4]\n",
           "  allocate acc:\n    acc[] = 0.0f32x4\n    accumulate acc[] = self + acc[] from 0.0f32 first []\n",
           "  accumulate B[ramp(0, 1, 4)] = self + 1.0f32x4 from 0.0f32x4 first []\n",
           "  B[0] = select(M[0] & true, bitcast<f32>(N[0]), cast<f32>(M[1] + M[2]))\n",
       })
    CHECK_MESSAGE(verdict_on(body) == "", body);
}

TEST_CASE("verify: each rule, broken alone, is named with its statement") {
  struct {
    char const* body;
    char const* message;
  } const cases[] = {
      // variables
      {"  B[i] = 0.0f32\n", "i: a variable used outside of its loop\n  in: B[i] = 0.0f32"},
      {"  for i in 0..2:\n    pass\n  B[i] = 0.0f32\n", "i: a variable used outside of its loop"},
      {"  for i in 0..i:\n    pass\n", "i: a variable used outside of its loop\n  in: for i in 0..i:"},
      {"  for i in 0..2:\n    for j in 0..2:\n      for i in 0..2:\n        pass\n", "variable i is bound twice"},
      {"  for i in 0..2:\n    accumulate B[i] = self from 0.0f32 first [j]\n", "first must name loops around"},
      // loops and branches
      {"  for i in 0..2i32:\n    pass\n", "begin and extent must be scalar i64"},
      {"  for i in 0..ramp(0, 1, 4):\n    pass\n", "begin and extent must be scalar i64"},
      {"  if n:\n    pass\n", "a condition must be a scalar bool"},
      {"  if truex4:\n    pass\n", "a condition must be a scalar bool"},
      // accesses
      {"  B[0, 0] = 0.0f32\n", "B has 1 dimensions, the access 2 indices"},
      {"  B[0] = A[0]\n", "A has 2 dimensions, the access 1 indices"},
      {"  B[0i32] = 0.0f32\n", "0i32: an index must be i64"},
      {"  B[0] = A[0, 1i32]\n", "1i32: an index must be i64"},
      {"  B[0] = A[ramp(0, 1, 4), ramp(0, 1, 2)]\n", "an index must have 1 lane or as many as the access"},
      {"  A[0, 0] = 0.0f32\n", "a store to a buffer that is not written"},
      {"  accumulate A[0, 0] = self from 0.0f32 first []\n", "a store to a buffer that is not written"},
      {"  B[0] = 0.0f32 where 1\n", "a mask must be bool"},
      {"  B[0] = 0.0f32 where truex4\n", "a mask must be bool, of 1 lane or as many"},
      {"  B[ramp(0, 1, 4)] = A[ramp(0, 1, 4), 0 where truex2]\n", "a mask must be bool, of 1 lane or as many"},
      {"  B[0] = 0.0f64\n", "the value must have the type of the buffer"},
      {"  B[0] = 0.0f32x4\n", "the lanes of the access"},
      {"  B[ramp(0, 1, 4)] = 0.0f32\n", "the lanes of the access"},
      // registers
      {"  B[0] = 0.0f32\n  acc[] = 0.0f32x4\n", "acc is used outside of its allocate\n  in: acc[] = 0.0f32x4"},
      {"  B[ramp(0, 1, 4)] = acc[]\n", "acc is used outside of its allocate"},
      {"  allocate acc:\n    pass\n  acc[] = 0.0f32x4\n", "acc is used outside of its allocate"},
      {"  allocate acc, acc:\n    pass\n", "acc is allocated twice"},
      {"  allocate B:\n    pass\n", "an argument cannot be allocated"},
      // the workspace, once it is allocated somewhere
      {"  allocate tmp:\n    pass\n  tmp[0] = 0.0f32\n", "tmp is used outside of its allocate\n  in: tmp[0] = 0.0f32"},
      {"  tmp[0] = 0.0f32\n  allocate tmp:\n    pass\n", "tmp was used outside of its allocate, further up"},
      // self
      {"  B[0] = self<f32>\n", "self outside of the value of an accumulate"},
      {"  accumulate B[0] = self from self<f32> first []\n", "self outside of the value of an accumulate"},
      {"  let $0 = self<f64>\n  accumulate B[0] = cast<f32>($0) from 0.0f32 first []\n",
       "self must have the type of the buffer"},
      {"  accumulate B[0] = self from 0 first []\n", "the identity must have the type of the buffer"},
      {"  accumulate B[0] = self<f32>(1) from 0.0f32 first []\n", "self outside of the value of an accumulate"},
      // together
      {"  together:\n    B[0] = 1.0f32\n    B[1] = 1.0f32\n", "must write different buffers"},
      {"  together:\n    B[0] = 1.0f32\n    accumulate tmp[0] = self from 0.0f32 first []\n",
       "only stores, or only accumulates, of one mask"},
      {"  together:\n    B[0] = 1.0f32\n    tmp[0] = 1.0f32 where true and 1 < 2\n",
       "only stores, or only accumulates, of one mask"},
      {"  for i in 0..2:\n    together:\n      accumulate B[0] = self from 0.0f32 first [i]\n"
       "      accumulate tmp[0] = self from 0.0f32 first []\n",
       "must have one first"},
      {"  together:\n    B[0] = 1.0f32\n    tmp[ramp(0, 1, 4)] = 1.0f32x4\n", "equally many lanes"},
      {"  together:\n    accumulate B[0] = self from 0.0f32 first []\n"
       "    accumulate tmp[0] = self<f32>(2) from 0.0f32 first []\n",
       "self outside of the value of an accumulate"},
      // operations
      {"  B[0] = 1.0f32 + 1.0f64\n", "operands must be of one type"},
      {"  B[0] = 1.0f32 + 1.0f32x4\n", "operands must have the lanes of the operation"},
      {"  B[0] = 1.0f32 % 2.0f32\n", "it means nothing but on integers"},
      {"  B[0] = 1.0f32 // 2.0f32\n", "it means nothing but on integers"},
      {"  B[0] = 1.0f32 << 2.0f32\n", "it means nothing but on integers"},
      {"  B[0] = 1.0f32 & 2.0f32\n", "it means nothing on floats"},
      {"  if true - true:\n    pass\n", "it means nothing on bool"},
      {"  if -true:\n    pass\n", "it means nothing on bool"},
      {"  if 1 and 2:\n    pass\n", "its operands must be bool"},
      {"  if not 1:\n    pass\n", "its operands must be bool"},
      {"  B[0] = select(1, 2.0f32, 3.0f32)\n", "the condition must be bool"},
      {"  B[0] = select(true, 2.0f32, 3)\n", "operands must be of one type"},
      {"  B[0] = fma(2.0f32, 3.0f32, 1)\n", "operands must be of one type"},
      {"  B[0] = bitcast<f32>(1)\n", "it takes types of the same size, but for bool"},
      {"  if bitcast<bool>(1u8):\n    pass\n", "it takes types of the same size, but for bool"},
      {"  B[0] = cast<f32>(1.0f16 + 2.0f16)\n", "f16 and bf16 are loaded, stored, cast and selected; to compute, cast"},
      {"  B[0] = cast<f32>(-(1.0bf16))\n", "f16 and bf16 are loaded, stored, cast and selected; to compute, cast"},
      {"  if 1.0f16 < 2.0f16:\n    pass\n", "f16 and bf16 are loaded, stored, cast and selected; to compute, cast"},
      {"  B[0] = cast<f32>(bits<f16>(0x10000))\n", "the bits are not those of an element of its type"},
      {"  B[0] = cast<f32>(sqrt(1i32))\n", "nothing but on floats"},
      {"  B[0] = cast<f32>(ramp(0i32, 1, 4))\n", "a ramp is of i64"},
      {"  B[0] = cast<f32>(bits<u8>(0x12c))\n", "the bits are not those of an element of its type"},
      {"  B[broadcast(ramp(0, 1, 4), 4)] = 0.0f32x4\n", "it makes several lanes of one"},
      {"  B[ramp(0, 1, 2048)] = 0.0f32x2048\n", "1 to 1024 lanes"},
      {"", "the function has no body"},
  };
  for (auto const& c : cases) {
    std::string const said = verdict_on(c.body);
    CHECK_MESSAGE(said.find(c.message) != std::string::npos, c.body << " -> " << said);
  }
}

TEST_CASE("verify: declarations") {
  auto const with = [](std::string const& from, std::string const& to) {
    std::string changed = head;
    changed.replace(changed.find(from), from.size(), to);
    return verdict_on("  pass\n", changed);
  };
  CHECK(with("n", "n") == "");
  CHECK(with("in argument 1", "in argument 3").find("buffer B: arguments stand first") == 0);
  CHECK(with("f32x4[]", "f32x4[1]").find("buffer acc: shape and strides have different ranks") == 0);
  CHECK(with("f32x4[] strides []", "f32x4[1] strides [1]").find("buffer acc: registers have rank 0") == 0);
  CHECK(with("tmp: f32[n]", "tmp: f32x4[n]").find("buffer tmp: only registers have lanes") == 0);
  CHECK(with("tmp: f32[n]", "tmp: f32[2i32]").find("buffer tmp: shape and strides must be scalar i64") == 0);
  CHECK(with("tmp: f32[n]", "tmp: f32[cast<i64>(alpha)]").find("buffer tmp: shape and strides must be") == 0);
  CHECK(with("tmp: f32[n]", "tmp: f32[i]").find("i: a variable used outside of its loop") == 0);
  CHECK(with("in heap", "in heap of 2 threads") == "");
  CHECK(with("in heap", "in heap of -2 threads").find("buffer tmp: memory of each thread's own is the heap's") == 0);
  CHECK(with("in heap", "in stack of 2 threads").find("buffer tmp: memory of each thread's own is the heap's") != std::string::npos);
  CHECK(with("in heap", "in kept").find("buffer tmp: whether it is kept is the last scalar, a bool") == 0);
  CHECK(with("align 64", "align 0").find("its alignment is less than a byte") != std::string::npos);
}

TEST_CASE("verify: what no text can say") {
  ir::arena m;
  auto const of = [&](auto const& change) {
    ir::function f = ir::parse(m, head + "  for i in 0..n:\n    B[i] = A[i, 0]\n");
    change(f);
    return ir::verify(f);
  };
  CHECK(of([](ir::function&) {}) == "");
  CHECK(of([](ir::function& f) { f.variables[1] = "n"; }) == "two things are named n");
  CHECK(of([](ir::function& f) { f.variables.clear(); }).find("no such loop variable") == 0);
  CHECK(of([](ir::function& f) { f.sizes.clear(); }).find("no such size") != std::string::npos);
  CHECK(of([](ir::function& f) { std::swap(f.buffers[0], f.buffers[1]); }).find("its id is not its position") !=
        std::string::npos);
  CHECK(of([](ir::function& f) { f.buffers.resize(1); }).find("a buffer that is not one of the function's") == 0);
  CHECK(of([](ir::function& f) { f.nodes = nullptr; }) == "the function has no arena");
  CHECK(of([&](ir::function& f) {
          ir::stmt_node n = *f.body;
          n.children = {};
          f.body = m.make(n);
        }).find("a loop has one child") == 0);
  CHECK(of([&](ir::function& f) {
          ir::expr_node n;
          n.kind = op::add;
          n.a = ir::index(m, 1);
          f.body = ir::loop(m, loop_kind::serial, 0, ir::index(m, 0), m.make(n), f.body->children[0]);
        }).find("1 + ?: wrong number of operands") == 0);
}

TEST_CASE("verify: shared expressions are looked at once") {
  ir::arena m;
  ir::function f = ir::parse(m, head + "  B[0] = A[0, 0]\n");
  ir::expr e = f.body->value;
  for (int n = 0; n < 200; ++n) e = ir::binary(m, op::mul, e, e);  // 2^200 as a tree
  ir::stmt_node s = *f.body;
  s.value = e;
  f.body = m.make(s);
  CHECK(ir::verify(f) == "");
}
TEST_CASE("asynchronous stores and their groups: what is one, and as text") {
  std::string const loop = "  for i in 0..4 thread_x:\n";
  for (std::string const& body : {loop + "    async B[i] = A[i, 0]\n    commit\n    wait 0\n",
                                  loop + "    for j in 0..2:\n      wait 1\n      async B[i] = select(i < 2, A[i, j], 0.0f32)\n      commit\n    wait 0\n",
                                  loop + "    async B[ramp(i * 4, 1, 4)] = A[i, ramp(0, 1, 4)] where true\n    commit\n    wait 0\n",
                                  std::string("  async B[0] = A[0, 0 where 0 < n]\n  commit\n  wait 64\n")}) {
    ir::arena m, other;
    ir::function const f = ir::parse(m, head + body);
    CHECK(ir::verify(f) == "");
    std::string const text = ir::print(f);
    ir::function const again = ir::parse(other, text);
    CHECK(ir::equal(again, f));
    CHECK(ir::print(again) == text);
    CHECK_FALSE(ir::equal(ir::parse(other, std::string(text).erase(text.find("async "), 6)), f));
    std::string next = text;
    next[next.find("wait ") + 5] = '3';
    CHECK_FALSE(ir::equal(ir::parse(other, next), f));
  }
  for (char const* value : {"A[i, 0] + 1.0f32", "select(i < 2, A[i, 0], 1.0f32)", "select(i < 2, 0.0f32, A[i, 0])", "alpha"}) {
    std::string const said = verdict_on(loop + "    async B[i] = " + value + "\n");
    CHECK_MESSAGE(said.find("an asynchronous store copies elements from memory to memory, or zero") != said.npos, said);
  }
  ir::arena m;
  CHECK_THROWS_AS(ir::parse(m, head + "  wait 65\n"), parse_error);
  CHECK_THROWS_AS(ir::parse(m, head + "  wait\n"), parse_error);
}
TEST_CASE("loops over blocks and threads, and barriers: what may stand in what, and as text") {
  char const* const sound[] = {
      "  for i in 0..4 block_x:\n    for j in 0..32 thread_x:\n      B[j] = alpha\n      barrier\n",
      "  for i in 0..4 virtual_thread:\n    for j in 0..1024 thread_z:\n      B[j] = alpha\n",
      "  for i in 0..32 warp:\n    for j in 0..32 lane:\n      barrier\n",
      "  for i in 0..n block_z:\n    for j in 0..8 parallel:\n      B[j] = alpha\n",
      "  for i in 0..64 thread_x:\n    exchange B[i] = alpha across 16\n",
  };
  for (char const* body : sound) {
    ir::arena m;
    ir::function const f = ir::parse(m, head + body);
    CHECK(ir::verify(f) == "");
    CHECK(ir::print(f) == head + body);
  }
  auto const says = [](char const* body, char const* what) {
    std::string const said = verdict_on(body);
    CHECK_MESSAGE(said.find(what) != said.npos, said);
  };
  says("  for i in 0..4 thread_x:\n    for j in 0..4 thread_x:\n      B[j] = alpha\n", "bound to the same axis");
  says("  for i in 0..4 thread_x:\n    for j in 0..4 block_x:\n      B[j] = alpha\n", "over blocks runs inside one over threads");
  says("  for i in 0..n thread_x:\n    B[i] = alpha\n", "threads have a known number");
  says("  for i in 0..33 lane:\n    B[i] = alpha\n", "threads have a known number");
  says("  for i in 0..64 thread_x:\n    for j in 0..17 thread_y:\n      B[j] = alpha\n", "at most 1024 in a block");
  says("  for i in 0..64 warp:\n    B[i] = alpha\n", "at most 1024 in a block");
  says("  exchange B[0] = alpha across 1\n", "an exchange stands in a loop over threads");
  says("  for i in 0..4 thread_x:\n    for j in 0..4 parallel:\n      exchange B[j] = alpha across 1\n", "an exchange stands in a loop over threads");
  says("  barrier\n", "a barrier stands in a loop over threads");
  says("  for i in 0..4 block_x:\n    barrier\n", "a barrier stands in a loop over threads");
  says("  for i in 0..4 thread_x:\n    for j in 0..4 vectorized:\n      barrier\n", "a barrier stands in a loop over threads");
}
TEST_CASE("places in shared memory and swizzled rows: what they may be, and as text") {
  auto const with = [](std::string const& buffer) { return "kernel k:\n  variables i\n  buffer B: f32[4] strides [1] in argument 0 written alias 0 align 4\n  buffer T: " + buffer + " alias 1 align 64\n  for i in 0..4:\n    B[i] = 1.0f32\n"; };
  auto const said_of = [&](std::string const& buffer) {
    ir::arena m;
    return ir::verify(ir::parse(m, with(buffer)));
  };
  for (char const* sound : {"f16[4, 32] strides [32, 1] in stack at 4096 written swizzled", "f16[2, 4, 32] strides [160, 40, 1] in stack written swizzled",
                            "f32[4] strides [1] in stack at 16 written"}) {
    ir::arena m, other;
    ir::function const f = ir::parse(m, with(sound));
    CHECK(ir::verify(f) == "");
    CHECK(ir::print(f) == with(sound));
    CHECK(ir::equal(ir::parse(other, ir::print(f)), f));
  }
  ir::arena m;
  ir::function const f = ir::parse(m, with("f16[4, 32] strides [32, 1] in stack at 4096 written swizzled"));
  CHECK(f.shared_place(f.buffers[1]) == 4096);
  CHECK_FALSE(ir::equal(ir::parse(m, with("f16[4, 32] strides [32, 1] in stack at 0 written swizzled")), f));
  CHECK_FALSE(ir::equal(ir::parse(m, with("f16[4, 32] strides [32, 1] in stack at 4096 written")), f));
  std::string const rows = "rows that are swizzled are multiples of 16 bytes apart", stack = "rows that are swizzled are on the stack";
  CHECK(said_of("f16[4, 30] strides [30, 1] in stack written swizzled").find(rows) != std::string::npos);
  CHECK(said_of("f16[2, 4, 32] strides [136, 32, 1] in stack written swizzled").find(rows) != std::string::npos);
  CHECK(said_of("f16[4, 32] strides [64, 2] in stack written swizzled").find(stack) != std::string::npos);
  CHECK(said_of("f16[32] strides [1] in stack written swizzled").find(stack) != std::string::npos);
  CHECK(said_of("f16[4, 32] strides [32, 1] in heap written swizzled").find(stack) != std::string::npos);
  CHECK(said_of("f32[4] strides [1] in stack at 8 written").find("at a multiple of 16 bytes") != std::string::npos);
}
TEST_CASE("swizzled rows: eight of them have a unit in eight groups of banks, and each row keeps to its stride") {
  for (std::int64_t units = 1; units <= 24; ++units) {
    ir::arena m;
    std::string const stride = std::to_string(8 * units);
    ir::function const f = ir::parse(m, "kernel k:\n  variables i\n  buffer B: f32[4] strides [1] in argument 0 written alias 0 align 4\n  buffer T: f16[16, " + stride +
                                            "] strides [" + stride + ", 1] in stack at 0 written swizzled alias 1 align 64\n  for i in 0..4:\n    B[i] = 1.0f32\n");
    ir::swizzle const z = ir::swizzle_of(f, f.buffers[1]);
    for (std::int64_t unit = 0; unit < units; ++unit) {
      unsigned groups = 0;
      for (std::int64_t row = 8; row < 16; ++row) groups |= 1u << (row * units + z.column(row, 8 * unit) / 8) % 8;
      CHECK_MESSAGE(groups == 0xffu, units << " units in a row, unit " << unit);
    }
    for (std::int64_t row = 0; row < 16; ++row) {
      sequence<bool> met(static_cast<std::size_t>(8 * units), false);
      for (std::int64_t column = 0; column < 8 * units; ++column) met[static_cast<std::size_t>(z.column(row, column))] = true;
      bool all = true;
      for (bool one : met) all = all && one;
      CHECK(all);
    }
  }
}
