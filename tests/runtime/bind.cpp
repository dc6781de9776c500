#include "weft/runtime/bind.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "schedule/programs.hpp"

using namespace weft;

namespace {

/// A call of the matrix product, C(2 x 4) = A(2 x 3) B(3 x 4), to be spoiled.
struct call {
  std::vector<float> memory = std::vector<float>(200);
  program p = weft_test::matmul();
  argument a[3];
  int count = 3;

  call() {
    describe(0, 2, 3, 0);
    describe(1, 3, 4, 20);
    describe(2, 2, 4, 50);
    a[2].is_output = true;
  }
  void describe(int i, std::int64_t rows, std::int64_t columns, int first) {
    a[i].data = memory.data() + first;
    a[i].rank = 2;
    a[i].extents[0] = rows, a[i].extents[1] = columns;
    a[i].strides[0] = columns, a[i].strides[1] = 1;
  }
  call_layout bound() { return bind(p, "matmul", a, count); }
  /// The refusal after `spoil`.
  template <class F>
  static std::string after(F const& spoil) {
    call c;
    spoil(c);
    try {
      c.bound();
    } catch (argument_error const& e) {
      return e.what();
    }
    return "nothing";
  }
};
}  // namespace

TEST_CASE("bind gives extents and strides in the order of the call, each argument with a class of its own") {
  call c;
  c.a[0].strides[0] = 1, c.a[0].strides[1] = 2;
  call_layout const l = c.bound();
  REQUIRE(l.arguments.size() == 3);
  CHECK(l.arguments[0].extents == std::vector<std::int64_t>{2, 3});
  CHECK(l.arguments[0].strides == std::vector<std::int64_t>{1, 2});
  CHECK(l.arguments[2].extents == std::vector<std::int64_t>{2, 4});
  CHECK(l.arguments[0].alias_class != l.arguments[2].alias_class);
  CHECK(l.arguments[0].alias_class != l.arguments[1].alias_class);
  CHECK(l.arguments[0].alignment == 4);
}
TEST_CASE("every wrong argument has its sentence") {
  auto const said = [](auto const& spoil) { return call::after(spoil); };
  CHECK(said([](call&) {}) == "nothing");
  CHECK(said([](call& c) { c.count = 2; }) == "matmul: takes 2 inputs and 1 outputs, was given 2 arguments");
  CHECK(said([](call& c) { c.a[1].is_scalar = true; }) ==
        "matmul: argument 2 is a number of f32, the program wants a tensor of f32");
  CHECK(said([](call& c) { c.a[1].type = dtype::i32; }) ==
        "matmul: argument 2 is a tensor of i32, the program wants a tensor of f32");
  CHECK(
      said([](call& c) { c.a[2].type = dtype::f16; }) ==
      "matmul: C holds f32, its argument holds f16; arithmetic widens narrow types: end the stage with a weft::cast to "
      "f16");
  CHECK(said([](call& c) { c.a[2].type = dtype::f64; }) == "matmul: C holds f32, its argument holds f64");
  CHECK(said([](call& c) { c.a[0].rank = 1; }) == "matmul: A has rank 2, its argument has rank 1");
  CHECK(said([](call& c) { c.a[0].extents[1] = -3; }) == "matmul: A has a negative extent: 2 x -3");
  CHECK(said([](call& c) { c.a[1].data = nullptr; }) == "matmul: B has no memory (a null pointer)");
  CHECK(said([](call& c) { c.a[1].extents[0] = 4; }) ==
        "matmul: B.extent(0) = 4 and A.extent(1) = 3 must be equal: one axis walks both");
  CHECK(said([](call& c) { c.a[2].extents[0] = 3; }) == "matmul: output C is 3 x 4, but dimension 0 has 2 elements");
  CHECK(said([](call& c) { c.a[2].strides[0] = 3; }) ==
        "matmul: the strides of output C let two elements share memory");
  CHECK(said([](call& c) { c.a[2].strides[0] = -3; }) ==
        "matmul: the strides of output C let two elements share memory");
  CHECK(said([](call& c) { c.a[2].strides[1] = 0; }) ==
        "matmul: the strides of output C let two elements share memory");
  CHECK(said([](call& c) { c.a[2].data = c.a[0].data; }).find("without being the same elements") != std::string::npos);
}
TEST_CASE("a shape that reaches further than memory is refused, whichever way it overflows") {
  for (std::int64_t stride : {INT64_MAX, INT64_MIN + 1, std::int64_t(1) << 60, -(std::int64_t(1) << 60)})
    CHECK(call::after([&](call& c) { c.a[0].strides[0] = stride; }).find("A reaches further than memory does: 2 x 3") !=
          std::string::npos);
  CHECK(call::after([&](call& c) { c.a[0].extents[0] = INT64_MAX; }).find("A reaches further") != std::string::npos);
}
TEST_CASE("strides of one element, or of an empty tensor, do not matter") {
  CHECK(call::after([](call& c) {
          c.a[0].extents[0] = c.a[2].extents[0] = 1;
          c.a[0].strides[0] = 12345, c.a[2].strides[0] = 0;
        }) == "nothing");
  CHECK(call::after([](call& c) {
          c.a[0].extents[0] = c.a[2].extents[0] = 0;
          c.a[0].data = c.a[2].data = nullptr;
          c.a[2].strides[1] = 0;
        }) == "nothing");
}
TEST_CASE("what has no elements reaches nowhere and overlaps nothing") {
  call c;
  c.a[2].strides[0] = c.a[2].strides[1] = 1;
  CHECK(detail::overlaps_itself(c.a[2]));
  c.a[2].strides[0] = std::int64_t(1) << 60;
  CHECK(detail::reaches_too_far(c.a[2]));
  for (int d : {0, 1}) {
    call empty;
    empty.a[2].extents[d] = 0;
    empty.a[2].strides[0] = empty.a[2].strides[1] = 1;
    CHECK(!detail::overlaps_itself(empty.a[2]));
    empty.a[2].strides[1 - d] = std::int64_t(1) << 60;
    CHECK(!detail::reaches_too_far(empty.a[2]));
  }
}
TEST_CASE("outputs may run backwards, columns first, or with gaps") {
  CHECK(call::after([](call& c) { c.a[2].strides[0] = 1, c.a[2].strides[1] = 2; }) == "nothing");
  CHECK(call::after([](call& c) { c.a[2].strides[0] = -8, c.a[2].strides[1] = 2; }) == "nothing");
  CHECK(call::after([](call& c) { c.a[2].strides[0] = 1, c.a[2].strides[1] = -3; }) == "nothing");
}
TEST_CASE("inputs may overlap each other, and an output only what it may be written over") {
  CHECK(call::after([](call& c) { c.a[1].data = c.memory.data() + 1; }) == "nothing");
  auto const shared = [](program const& p, int first_of_output) {
    std::vector<float> memory(40);
    argument a[2];
    for (argument& x : a) x.data = memory.data(), x.rank = 1, x.extents[0] = 8, x.strides[0] = 1;
    a[1].data = memory.data() + first_of_output;
    a[1].is_output = true;
    call_layout const l = bind(p, "k", a, 2);
    return l.arguments[0].alias_class == l.arguments[1].alias_class;
  };
  auto const made = [](auto const& body) {
    program p;
    expr::tensor<float, 1> const x{&p, p.add_input(short_name("X"), dtype::f32, 1)};
    auto const y = compute<"Y">(x.extent(0), [=](auto i) { return body(x, i); });
    p.outputs.push_back(y.id);
    return canonical(p);
  };
  program const own = made([](auto x, auto i) { return x(i) + x(i); });
  CHECK(shared(own, 0));
  CHECK_FALSE(shared(own, 8));
  CHECK_THROWS_AS(shared(own, 7), argument_error);
  program const next = made([](auto x, auto i) { return x(clamp(i + 1, 0, x.extent(0) - 1)); });
  CHECK_THROWS_AS(shared(next, 0), argument_error);
  program const constant = made([](auto x, auto) { return x(0); });
  CHECK_THROWS_AS(shared(constant, 0), argument_error);
  program const hidden = made([](auto x, auto i) { return select(i > 3, x(i), 0.0f); });
  CHECK(shared(hidden, 0));
}
TEST_CASE("shape_outputs gives row-major strides, and 1 where an extent is 0") {
  call c;
  c.a[2] = argument{};
  c.a[2].is_output = c.a[2].is_allocated_here = true;
  shape_outputs(c.p, c.a, 3);
  CHECK(c.a[2].type == dtype::f32);
  CHECK(c.a[2].rank == 2);
  CHECK(c.a[2].extents[0] == 2);
  CHECK(c.a[2].extents[1] == 4);
  CHECK(c.a[2].strides[0] == 4);
  CHECK_NOTHROW(c.bound());  // without memory
  c.a[1].extents[1] = 0;
  shape_outputs(c.p, c.a, 3);
  CHECK(c.a[2].extents[1] == 0);
  CHECK(c.a[2].strides[0] == 1);
}
TEST_CASE("shared_memory tells which arguments share, not merely whether") {
  call c;
  for (int i : {1, 2})  // of one shape
    for (int d = 0; d < c.a[0].rank; ++d) {
      c.a[i].extents[d] = c.a[0].extents[d];
      c.a[i].strides[d] = c.a[0].strides[d];
    }
  std::uint64_t const none = shared_memory(c.a, 3);
  CHECK(none == 0);
  c.a[2].data = c.a[0].data;
  std::uint64_t const with_first = shared_memory(c.a, 3);
  c.a[2].data = c.a[1].data;
  std::uint64_t const with_second = shared_memory(c.a, 3);
  CHECK(with_first != 0);
  CHECK(with_second != 0);
  CHECK(with_first != with_second);
  c.a[2].data = c.a[0].data;
  CHECK(shared_memory(c.a, 3) == with_first);
  c.a[2].data = static_cast<float*>(c.a[0].data) + 1;
  CHECK(shared_memory(c.a, 3) == weft::shared_in_part);
  for (int i : {0, 2}) c.a[i].strides[0] = 6, c.a[i].strides[1] = 2;
  CHECK(shared_memory(c.a, 3) == 0);  // odd elements among even ones
  c.a[2].strides[0] = 3;
  CHECK(shared_memory(c.a, 3) == weft::shared_in_part);
  call d;
  d.a[1].data = d.a[0].data;  // two inputs
  CHECK(shared_memory(d.a, 3) == 0);
}
