#include "weft/lower/bounds.hpp"

#include <doctest/doctest.h>

#include "lower/programs.hpp"

using namespace weft;
using weft_test::lowered_program, weft_test::map_program;

namespace {
/// What check_bounds says of `B[i] = body(A, i)` for `n` elements.
template <class Body>
std::string said(std::int64_t n, Body const& body) {
  lowered_program l{map_program(body), {{n}}};
  return check_bounds(l.plain());
}
template <class Body>
bool fine(std::int64_t n, Body const& body) {
  return said(n, body).empty();
}
}  // namespace

TEST_CASE("affine indices are fine exactly when they stay inside") {
  CHECK(fine(10, [](auto x, auto i) { return x(i); }));
  CHECK(fine(10, [](auto x, auto i) { return x(9 - i); }));
  CHECK(fine(10, [](auto x, auto i) { return x(x.extent(0) - 1 - i); }));
  CHECK(fine(10, [](auto x, auto i) { return x(i / 3); }));
  CHECK(fine(10, [](auto x, auto i) { return x(i % 10); }));
  CHECK(fine(10, [](auto x, auto i) { return x(i * 3 - i * 2); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return x(i + 1); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return x(i - 1); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return x(8 - i); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return x(i * 2); }));
  CHECK(fine(10, [](auto x, auto i) { return x(i % 11); }));  // i, as it is short
  CHECK_FALSE(fine(10, [](auto x, auto i) { return x(i * 2 % 11); }));
  CHECK_FALSE(fine(10, [](auto x, auto) { return x(10); }));
}
TEST_CASE("the sentence names tensor, dimension and both ranges, and a way out") {
  CHECK(said(10, [](auto x, auto i) { return x(i + 1) + x(i); }) ==
        "A: index 0 runs from 1 to 10, but A has 10 there; clamp the index, guard the access by select, or give a "
        "larger tensor");
}
TEST_CASE("clamp and select make an access fine, and only with the right limits") {
  CHECK(fine(10, [](auto x, auto i) { return x(clamp(i - 3, 0, x.extent(0) - 1)); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return x(clamp(i - 3, -1, x.extent(0) - 1)); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return x(clamp(i + 3, 0, x.extent(0))); }));
  CHECK(fine(10, [](auto x, auto i) { return select(i > 0, x(i - 1), 0.0f); }));
  CHECK(fine(10, [](auto x, auto i) { return select(i < 1, 0.0f, x(i - 1)); }));
  CHECK(fine(10, [](auto x, auto i) { return select(i >= 2 && i + 3 < x.extent(0), x(i + 3) + x(i - 2), 0.0f); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return select(i < 2 || i == 9, 0.0f, x(i + 1) + x(i - 2)); }));
  CHECK(fine(10, [](auto x, auto i) { return select(i < 2 || i >= 9, 0.0f, x(i + 1) + x(i - 2)); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return select(i > 0, x(i - 2), 0.0f); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return select(i > 0, 0.0f, x(i - 1)); }));
  CHECK(fine(10, [](auto x, auto i) { return select(i == 4, x(i + 5), 0.0f); }));
}
TEST_CASE("what a condition does not say is not taken from it") {
  // `not i < 2` was once taken for `i == 2`, and this access for one of A(7).
  CHECK_FALSE(fine(10, [](auto x, auto i) { return select(i < 2, 0.0f, x(i + 5)); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return select(i <= 2, 0.0f, x(i + 5)); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return select(i == 2, 0.0f, x(i + 5)); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return select(i != 2, x(i + 5), 0.0f); }));
  CHECK(fine(10, [](auto x, auto i) { return select(i != 2, 0.0f, x(i + 5)); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return select(i < 4 || i > 5, x(i + 4), 0.0f); }));
  CHECK_FALSE(fine(10, [](auto x, auto i) { return select(!(i > 4 && i > 5), x(i + 5), 0.0f); }));
  CHECK(fine(10, [](auto x, auto i) { return select(!(i > 4 || i > 5), x(i + 5), 0.0f); }));
}
TEST_CASE("a condition on a sum that may wrap says nothing") {
  CHECK_FALSE(fine(10, [](auto x, auto i) { return select(i + std::int64_t(0x7fffffffffffffff) < 0, x(i + 100), 0.0f); }));
  program p;
  p.add_input(short_name("A"), dtype::f32, 1);
  p.add_input(short_name("I"), dtype::i64, 1);
  auto const guarded = [&](int added) {  // select(0 <= I(i) + added < 7, A(I(i) + added), 0)
    program q = p;
    int const axis = q.axis_node(q.add_axis(q.extent_of(1, 0), -1, false));
    int const index = q.operation(op::add, dtype::i64, q.load(1, weft::sequence<int>{axis}),
                                  q.literal(dtype::i64, added));
    int const low = q.operation(op::le, dtype::boolean, q.literal(dtype::i64, 0), index);
    int const high = q.operation(op::lt, dtype::boolean, index, q.literal(dtype::i64, 7));
    int const inside = q.operation(op::logical_and, dtype::boolean, low, high);
    int const value = q.operation(op::select, dtype::f32, inside, q.load(0, weft::sequence<int>{index}),
                                  q.literal(dtype::f32, 0));
    q.outputs.push_back(q.add_stage(short_name("B"), {-1, 0, 1, 0, 0}, dtype::f32, {q.extent_of(1, 0)}, {value, 0}));
    lowered_program l{canonical(q), {{7}, {3}}};
    return check_bounds(l.plain());
  };
  CHECK(guarded(0) == "");
  CHECK(guarded(1) != "");
}
TEST_CASE("an index of few bits is inside where a condition on it says so, in whatever type it is compared") {
  auto const gather = [](auto type, auto const& inside) {
    program p;
    expr::tensor<float, 1> const A{&p, p.add_input(short_name("A"), dtype::f32, 1)};
    expr::tensor<decltype(type), 1> const I{&p, p.add_input(short_name("I"), dtype_of<decltype(type)>, 1)};
    p.outputs.push_back(compute<"B">(I.extent(0), [=](auto i) { return select(inside(I(i), A), A(I(i)), 0.0f); }).id);
    lowered_program l{canonical(p), {{7}, {3}}};
    return check_bounds(l.plain());
  };
  auto const within = [](auto index, auto const& A) { return 0 <= index && index < A.extent(0); };
  CHECK(gather(std::int32_t{}, within) == "");
  CHECK(gather(std::int8_t{}, within) == "");
  CHECK(gather(std::int64_t{}, within) == "");
  CHECK(gather(std::uint8_t{}, [](auto index, auto const&) { return index < 7; }) == "");
  CHECK(gather(std::uint32_t{}, [](auto index, auto const&) { return index <= 6u; }) == "");
  CHECK(gather(std::int16_t{}, [](auto index, auto const&) { return !(index < 0 || index > 6); }) == "");
  CHECK(gather(std::int32_t{}, [](auto index, auto const&) { return index == 5; }) == "");
  CHECK(gather(std::int32_t{}, [](auto index, auto const&) { return index < 7; }) != "");
  CHECK(gather(std::int32_t{}, [](auto index, auto const&) { return 0 <= index && index < 8; }) != "");
  CHECK(gather(std::uint32_t{}, [](auto index, auto const&) { return index < 0xffffffffu; }) != "");
  CHECK(gather(std::int8_t{}, [](auto index, auto const&) { return cast<std::uint8_t>(index) < 7; }) != "");
}
TEST_CASE("data as an index is fine when clamped or compared") {
  CHECK(fine(10, [](auto x, auto i) { return x(i % 3) + x(clamp(i - i, 0, 9)); }));
  program p;
  p.add_input(short_name("A"), dtype::f32, 1);
  p.add_input(short_name("I"), dtype::i64, 1);
  auto const gather = [&](bool limited) {
    program q = p;
    int const axis = q.axis_node(q.add_axis(q.extent_of(1, 0), -1, false));
    int index = q.load(1, weft::sequence<int>{axis});
    if (limited) {
      index = q.operation(op::max, dtype::i64, index, q.literal(dtype::i64, 0));
      index = q.operation(op::min, dtype::i64, index, q.literal(dtype::i64, 6));
    }
    int const value = q.load(0, weft::sequence<int>{index});
    int const out = q.add_stage(short_name("B"), {-1, 0, 1, 0, 0}, dtype::f32, {q.extent_of(1, 0)}, {value, 0});
    q.outputs.push_back(out);
    lowered_program l{canonical(q), {{7}, {3}}};
    return check_bounds(l.plain());
  };
  CHECK(gather(true) == "");
  CHECK(gather(false).find("A: index 0 runs from an unknown number to an unknown number") == 0);
}
TEST_CASE("what never happens needs no proof: empty loops, and borders of tensors too small to have an inside") {
  CHECK(fine(0, [](auto x, auto i) { return x(i + 7); }));
  CHECK(fine(1, [](auto x, auto i) { return select(i >= 1 && i < x.extent(0), x(i * 5 - 1), 0.0f); }));
  CHECK(fine(2, [](auto x, auto i) { return select(i + 2 < x.extent(0), x(i + 2) + x(i - i + 3), 0.0f); }));
}
TEST_CASE("every access of every stage is looked at, also in the branches of a select and in indices") {
  program p;
  expr::tensor<float, 2> const x{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  auto const c = compute<"C">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return x(i, k); }); });
  auto const d = compute<"D">(x.extent(0), [=](auto i) { return c(i + 1); });
  p.outputs.push_back(d.id);
  lowered_program l{canonical(p), {{4, 5}}};
  CHECK(check_bounds(l.plain()).find("C: index 0 runs from 1 to 4") == 0);
}
