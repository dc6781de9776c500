#include "weft/expr/extern.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/functions.hpp"
#include "weft/direct.hpp"
#include "weft/expr/canonical.hpp"
#include "weft/expr/formula.hpp"
#include "weft/expr/print.hpp"
#include "weft/expr/verify.hpp"

using namespace weft;
using weft_test::row_sums_so_far;

namespace {
int minimum_and_maximum(extern_view<std::int32_t const, 1> const& x, extern_view<std::int32_t, 1> low,
                        extern_view<std::int32_t, 1> high) noexcept {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    low(i) = i > 0 && low(i - 1) < x(i) ? low(i - 1) : x(i);
    high(i) = i > 0 && high(i - 1) > x(i) ? high(i - 1) : x(i);
  }
  return 0;
}
int times_called = 0;
int counted(extern_view<float const, 2> x, extern_view<float, 2> y) noexcept {
  ++times_called;
  return row_sums_so_far(x, y);
}
constexpr auto sums = [](auto A) {
  auto M = A.extent(0), N = A.extent(1);
  auto S = compute<"S">(M, N, [=](auto i, auto j) { return A(i, j) * 2.f; });
  auto F = compute<"F">(M, N, external<"row_sums_so_far", &row_sums_so_far>(S));
  return compute<"y">(M, N, [=](auto i, auto j) { return F(i, j) + 1.f; });
};
constexpr auto sums_kernel = kernel<"sums">(sums);
static_assert(detail::compiler_runs_what<decltype(sums), arg<float, 2>>);
program sums_program() { return detail::build<arg<float, 2>>(sums); }
extern_function const* const known[] = {&detail::extern_record<"row_sums_so_far", &row_sums_so_far>};
}  // namespace

TEST_CASE("extern: a program holds the function's name and parameters, what it reads, and no body") {
  program const p = sums_program();
  REQUIRE(p.stages.size() == 3);
  stage_info const& f = p.stages[1];
  REQUIRE(f.by != nullptr);
  CHECK(f.by->name == "row_sums_so_far");
  CHECK(f.by->reads == 1);
  CHECK(f.by->writes == 1);
  CHECK(f.by->parameters[0] == extern_parameter{dtype::f32, 2});
  CHECK(p.result(f, 0).body == -1);
  CHECK(p.reads == sequence<std::int32_t>{p.stages[0].tensor});
  CHECK(fault_of(p) == "");
  CHECK(formula(p, 1) == "F[i, j] = row_sums_so_far(S)");
  CHECK(detail::readers_of(p)[0] == sequence<std::int32_t>{1});
  CHECK(digest(p) == detail::summary<decltype(sums), arg<float, 2>>.digest);
}
TEST_CASE("extern: a program is read back as it was printed, where its functions are known") {
  program const p = sums_program();
  std::string const text = print(p);
  CHECK(text.find("\n  by row_sums_so_far S\n") != std::string::npos);
  CHECK(print(parse_program(text, {known, 1})) == text);
  CHECK(digest(parse_program(text, {known, 1})) == digest(p));
  CHECK_THROWS_WITH_AS(parse_program(text), doctest::Contains("none of the functions that parse_program was given"),
                       parse_error);
  std::string two = text;
  two.replace(two.find("row_sums_so_far S"), 17, "row_sums_so_far S A");
  CHECK_THROWS_WITH_AS(parse_program(two, {known, 1}), doctest::Contains("another number of tensors"), parse_error);
  std::string later = text;
  later.replace(later.find("row_sums_so_far S"), 17, "row_sums_so_far F");
  CHECK_THROWS_WITH_AS(parse_program(later, {known, 1}), doctest::Contains("its own or a later stage"), parse_error);
}
TEST_CASE("extern: equal programs that call differently named functions have different digests") {
  auto const other = [](auto A) {
    auto M = A.extent(0), N = A.extent(1);
    auto S = compute<"S">(M, N, [=](auto i, auto j) { return A(i, j) * 2.f; });
    auto F = compute<"F">(M, N, external<"another", &row_sums_so_far>(S));
    return compute<"y">(M, N, [=](auto i, auto j) { return F(i, j) + 1.f; });
  };
  CHECK(digest(detail::build<arg<float, 2>>(other)) != digest(sums_program()));
}
TEST_CASE("extern: evaluate calls the function on whole tensors; evaluate_at what of them it needs") {
  float const a[] = {1, 2, 3, 4, 5, 6};
  auto const y = evaluate(sums_kernel, view(a, 2, 3));
  CHECK(y == std::array{3.f, 7.f, 13.f, 9.f, 19.f, 31.f});
  CHECK(evaluate_at(sums_kernel, std::array<std::int64_t, 2>{1, 2}, view(a, 2, 3)) == 31);
  CHECK(evaluate(sums_kernel, view(a, 2, 0)).size() == 0);
}
TEST_CASE("extern: evaluate calls the function once, however many read its stage") {
  auto const k = kernel<"k">([](auto A) {
    auto F = compute<"F">(A.extent(0), A.extent(1), external<"counted", &counted>(A));
    auto G = compute<"G">(A.extent(0), A.extent(1), [=](auto i, auto j) { return F(i, j) * F(i, 0); });
    return compute<"y">(A.extent(0), A.extent(1), [=](auto i, auto j) { return G(i, j) + F(i, j); });
  });
  float const a[] = {1, 2, 3, 4};
  times_called = 0;
  CHECK(evaluate(k, view(a, 2, 2)) == std::array{2.f, 6.f, 12.f, 28.f});
  CHECK(times_called == 1);
}
TEST_CASE("extern: a function that does not answer 0 ends an evaluation, with its code and its stage") {
  std::vector<float> const a(26);
  CHECK_THROWS_WITH_AS(evaluate(sums_kernel, view(a, 13, 2)),
                       "evaluate: stage F: function row_sums_so_far answered 7; outputs are not complete", extern_error);
  try {
    evaluate(sums_kernel, view(a, 13, 2));
  } catch (extern_error const& e) {
    CHECK(e.code() == 7);
  }
}
TEST_CASE("extern: several results come as values, by functions that take their views by reference too") {
  auto const k = kernel<"k">([](auto A) {
    auto both = compute<"low", "high">(A.extent(0), external<"minimum_and_maximum", &minimum_and_maximum>(A));
    auto [low, high] = both;
    return outputs(low, high);
  });
  std::int32_t const a[] = {3, 5, 1, 4};
  auto const [low, high] = evaluate(k, view(a, 4));
  CHECK(low == std::array{3, 3, 1, 1});
  CHECK(high == std::array{3, 5, 5, 5});
}
TEST_CASE("extern: two functions by one name in one computation are refused") {
  auto const both = [](auto A) {
    auto F = compute<"F">(A.extent(0), A.extent(1), external<"sums", &row_sums_so_far>(A));
    auto G = compute<"G">(A.extent(0), A.extent(1), external<"sums", &counted>(F));
    return G;
  };
  CHECK_THROWS_WITH_AS((detail::build<arg<float, 2>>(both)), doctest::Contains("two functions of this computation have one name"),
                       argument_error);
}
TEST_CASE("extern: fault_of names each way in which a stage and its function disagree") {
  auto const said = [](auto const& change) {
    program p = sums_program();
    change(p);
    return fault_of(p);
  };
  CHECK(said([](program& p) { p.results[1].body = p.results[0].body; }) == "a stage that a function computes has no body");
  CHECK(said([](program& p) { p.reads[0] = p.stages[1].tensor; }) == "a function reads its own or a later stage");
  CHECK(said([](program& p) { p.reads.clear(); }) == "a stage has not the results of its function, or reduces or scans");
  CHECK(said([](program& p) { p.tensors[0].type = p.inputs[0].type = dtype::f64, p.reads[0] = 0; }) != "");
  static extern_function other = *known[0];
  other.parameters[0].rank = 1;
  CHECK(said([](program& p) { p.stages[1].by = &other; }) ==
        "a tensor has another dtype or rank than the parameter of the function");
}
