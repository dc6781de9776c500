// Stages that functions compute, in loop programs: their text, what is known of a call, and what interpreters, passes and code
// generators make of one.
#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"
#include "weft/codegen/cuda/module.hpp"
#include "weft/interp/interp.hpp"
#include "weft/ir/equal.hpp"
#include "weft/ir/parse.hpp"
#include "weft/kernel.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {
extern_function const* const all_functions[] = {&weft_test::running_function(dtype::f32, 2),
                                                &detail::extern_record<"row_sums_so_far", &weft_test::row_sums_so_far>};
known_functions const known{all_functions, 2};

program sums_program() {
  return detail::build<arg<float, 2>>([](auto A) {
    auto M = A.extent(0), N = A.extent(1);
    auto S = compute<"S">(M, N, [=](auto i, auto j) { return A(i, j) * 2.f; });
    auto F = compute<"F">(M, N, external<"row_sums_so_far", &weft_test::row_sums_so_far>(S));
    return compute<"y">(M, N, [=](auto i, auto j) { return F(i, j) + 1.f; });
  });
}
std::string const head =
    "kernel k:\n"
    "  sizes n\n"
    "  variables i, j\n"
    "  buffer A: f32[n, 4] strides [4, 1] in argument 0 alias 0 align 4\n"
    "  buffer B: f32[n, 4] strides [4, 1] in argument 1 written alias 1 align 4\n"
    "  buffer T: f32[n, 4] strides [4, 1] in heap written alias 2 align 64\n"
    "  buffer S: f32[2, 4] strides [4, 1] in stack written alias 3 align 64\n"
    "  buffer X: f32[4] strides [1] in heap written alias 4 align 64\n"
    "  buffer D: f64[n, 4] strides [4, 1] in heap written alias 5 align 64\n";
constexpr char const* fill_T = "  for i in 0..n:\n    for j in 0..4:\n      T[i, j] = A[i, j]\n";
/// What the interpreter says of this body for n = 2.
std::string judge(std::string const& body, std::int64_t elements = 8) {
  sequence<float> a(8, 1.0f), b(8, 0.0f);
  ir::arena m;
  return interpret(ir::parse(m, head + body, {}, known), {{a.data(), 8, true}, {b.data(), elements, false}}, {2}, {});
}
}  // namespace

TEST_CASE("extern: lowered, with open sizes, and after all passes, the call stands between the loops") {
  std::string all;
  for (bool open : {false, true}) {
    lowered_program l{sums_program(), {{3, 10}}};
    if (open) l.dims = {{"m", "n"}};
    ir::function f = l([](schedule& s, auto const& first) {
      s.vectorize(s.split(axis{first[1]}, 4)[1]);
      s.set_scope(handle_of<2>(s, 1), weft::scope::workspace);
    });
    std::string const text = ir::print(f);
    ir::arena again;
    CHECK(ir::print(ir::parse(again, text, {}, known)) == text);
    CHECK(ir::equal(ir::parse(again, text, {}, known), f));
    CHECK_THROWS_WITH_AS(ir::parse(again, text), doctest::Contains("a function that `parse` was given"), parse_error);
    run_passes(f, {16, true}, {});
    CHECK(ir::verify(f) == "");
    all += text + ir::print(f);
  }
  weft_test::check_golden("lower/extern.ir", all);
}
TEST_CASE("extern: a stage on the stack that a function takes stays memory, which no pass puts into registers") {
  lowered_program l{sums_program(), {{1, 2}}};
  ir::function f = l([](schedule& s, auto const& first) {
    s.set_scope(handle_of<2>(s, 0), weft::scope::stack);
    s.set_scope(handle_of<2>(s, 1), weft::scope::stack);
    s.unroll(axis{first[1]});
    s.unroll(axis{s.order[2][1]});
  });
  run_passes(f, {16, true}, {});
  CHECK(ir::verify(f) == "");
  std::string const text = ir::print(f);
  CHECK(text.find("call F = row_sums_so_far(S) 0") != std::string::npos);
  float a[] = {1, 2}, y[] = {0, 0};
  CHECK(interpret(f, {{a, 2, true}, {y, 2, false}}, {}, {}) == "");
  CHECK((y[0] == 3 && y[1] == 7));
}
TEST_CASE("extern: verify names each way in which a call is unsound") {
  struct {
    char const* body;
    char const* said;
  } const cases[] = {
      {"  for i in 0..2:\n    call T = running_f32_2(A) 0\n", "a function is called in no loop"},
      {"  call X = running_f32_2(A) 0\n", "a buffer of a call has the type and the dimensions of its parameter"},
      {"  call T = running_f32_2(D) 0\n", "a buffer of a call has the type and the dimensions of its parameter"},
      {"  call A = running_f32_2(T) 0\n", "a call writes to what nothing may write"},
      {"  call T = running_f32_2(T) 0\n", "what a call writes is shared with another of its buffers"},
      {"  call T = running_f32_2(A, B) 0\n", "a call has a buffer for each parameter of its function"},
      {"  call S = running_f32_2(A) 0\n", "S is used outside of its allocate"},
  };
  for (auto const& c : cases) {
    ir::arena m;
    CHECK_MESSAGE(ir::verify(ir::parse(m, head + c.body, {}, known)).find(c.said) == 0, c.body);
  }
  ir::arena m;
  CHECK(ir::verify(ir::parse(m, head + "  allocate S:\n    call S = running_f32_2(A) 1\n    if n < 3:\n      call T = running_f32_2(S) 0\n",
                             {}, known)) == "");
}
TEST_CASE("extern: the interpreter finds what a function reads that nothing has written, and takes as written what it writes") {
  std::string const copy = "  for i in 0..n:\n    for j in 0..4:\n      B[i, j] = T[i, j]\n";
  CHECK(judge("  call T = running_f32_2(A) 0\n" + copy) == "");
  CHECK(judge(std::string(fill_T) + "  call B = running_f32_2(T) 0\n") == "");
  CHECK(judge("  call B = running_f32_2(T) 0\n") == "uninitialised read in the call of running_f32_2: T[0, 0]");
  CHECK(judge("  for i in 0..n:\n    for j in 0..3:\n      T[i, j] = A[i, j]\n  call B = running_f32_2(T) 0\n") ==
        "uninitialised read in the call of running_f32_2: T[0, 3]");
  CHECK(judge("  call T = running_f32_2(A) 0\n  allocate T:\n    call B = running_f32_2(T) 0\n").find("used outside") !=
        std::string::npos);
  CHECK(judge("  call B = running_f32_2(A) 0\n", 7).find("out of bounds: the call of running_f32_2: B[1, 3] is element 7 of the 7") == 0);
}
TEST_CASE("extern: the interpreter tells of a function that does not answer 0") {
  lowered_program l{sums_program(), {{13, 1}}};
  ir::function const f = l.plain();
  sequence<float> a(13, 1.0f), y(13, 0.0f);
  CHECK(interpret(f, {{a.data(), 13, true}, {y.data(), 13, false}}, {}, {}) == "function row_sums_so_far answered 7");
}
TEST_CASE("extern: there is no CUDA text of a call whose function has none") {
  lowered_program l{sums_program(), {{3, 4}}};
  ir::function f = l.plain();
  run_passes(f, {16, true}, {});
  CHECK_THROWS_WITH(cuda_source(f), "k: function row_sums_so_far has no CUDA text: give weft::external a weft::cuda_function behind it, or "
                                    "compute its stage by another kernel");
}
