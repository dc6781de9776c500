#include "weft/expr/depth.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "weft/direct.hpp"
#include "weft/expr/math/functions.hpp"

namespace {
/// Whether `k` is refused for its depth, before anything recurses over it.
template <class F>
bool too_deep(F const& call) {
  try {
    call();
  } catch (weft::argument_error const& e) {
    return std::string(e.what()).find("operations one upon the other; make a stage of a part of it") !=
           std::string::npos;
  }
  return false;
}
auto sum_of(int terms) {
  return weft::kernel<"sum_of">([terms](auto x) {
    return weft::compute<"y">(x.extent(0), [=](auto i) {
      auto sum = x(i);
      for (int n = 1; n < terms; ++n) sum = sum + x(i) * static_cast<float>(n);
      return sum;
    });
  });
}
}  // namespace

TEST_CASE("the depth of operations, of indices and of extents is counted, not their number") {
  weft::program p;
  p.add_input(weft::short_name("A"), weft::dtype::i64, 1);
  int const extent = p.extent_of(0, 0);
  int e = extent;
  for (int n = 1; n < 50; ++n) e = p.operation(weft::op::add, weft::dtype::i64, e, e);
  for (int n = 0; n < 500; ++n) p.operation(weft::op::add, weft::dtype::i64, extent, extent);
  weft::check_depth(p, 50);
  CHECK_THROWS_AS(weft::check_depth(p, 49), weft::argument_error);
  p.load(0, weft::sequence<int>{e});
  weft::check_depth(p, 51);
  CHECK_THROWS_AS(weft::check_depth(p, 50), weft::argument_error);
}
TEST_CASE("a sum of 20,000 terms is refused in words and does not overflow the stack") {
  std::vector<float> const x(3, 1.0f);
  CHECK(too_deep([&] { sum_of(20000)(x); }));
  CHECK(too_deep([&] { sum_of(20000).loops(x); }));
  CHECK(too_deep([&] { weft::evaluate(sum_of(20000), x); }));
  CHECK(sum_of(300)(x)(2) == 1 + 299 * 300 / 2);
}
TEST_CASE("so are functions in functions, of which each is many operations, and literal extents") {
  std::vector<float> const x(3, 1.0f);
  int capture = 1500;  // captured, so that no compiler runs the lambda
  auto const tower = weft::kernel<"tower">([capture](auto a) {
    return weft::compute<"y">(a.extent(0), [=](auto i) {
      auto v = a(i);
      for (int n = 0; n < capture; ++n) v = exp(v);
      return v;
    });
  });
  CHECK(too_deep([&] { tower(x); }));
  CHECK(too_deep([&] { weft::evaluate(tower, x); }));
  auto const indices = weft::kernel<"indices">([capture](auto a) {
    return weft::compute<"y">(3, [=](auto i) {
      auto at = i;
      for (int n = 0; n < 20 * capture; ++n) at = weft::min(at + n, 2);
      return a(at);
    });
  });
  CHECK(too_deep([&] { indices(x); }));
}
