#include "weft/runtime/tensor.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using weft::tensor;

static_assert(!std::is_copy_constructible_v<tensor<float, 2>>);
static_assert(!std::is_copy_assignable_v<tensor<float, 2>>);
static_assert(std::is_nothrow_move_constructible_v<tensor<float, 2>>);
static_assert(!std::is_constructible_v<tensor<float, 2>, int>);

TEST_CASE("a tensor is zero at first, aligned to 64 bytes, and row-major") {
  for (int n : {1, 3, 17, 100}) {
    tensor<float, 2> t(n, 5);
    CHECK(reinterpret_cast<std::uintptr_t>(t.data()) % 64 == 0);
    REQUIRE(t.size() == static_cast<std::size_t>(n) * 5);
    for (float x : t) CHECK(x == 0);
    t(n - 1, 2) = 7;
    CHECK(t.data()[(n - 1) * 5 + 2] == 7);
  }
}
TEST_CASE("moving takes the memory and leaves nothing; cloning copies it") {
  tensor<int, 1> a(4);
  a(3) = 9;
  int* const data = a.data();
  tensor<int, 1> b = std::move(a);
  CHECK(b.data() == data);
  CHECK(a.size() == 0);
  CHECK(a.extent(0) == 0);
  tensor<int, 1> c = b.clone();
  c(3) = 1;
  CHECK(b(3) == 9);
  CHECK(c.shape() == b.shape());
  b = std::move(c);
  CHECK(b(3) == 1);
  tensor<int, 1>& same = b;
  b = std::move(same);
  CHECK(b(3) == 1);
}
TEST_CASE("a tensor without elements has a shape and no size") {
  tensor<double, 3> t(2, 0, 4);
  CHECK(t.size() == 0);
  CHECK(t.begin() == t.end());
  CHECK(t.extent(2) == 4);
  CHECK(tensor<double, 3>().size() == 0);
}
TEST_CASE("a tensor of rank 0 is one element") {
  tensor<int, 0> t{std::array<std::int64_t, 0>{}};
  CHECK(t.size() == 1);
  t() = 5;
  CHECK(*t.data() == 5);
}
TEST_CASE("a shape that is negative or too large is refused in words") {
  CHECK_THROWS_WITH_AS((tensor<float, 2>(3, -1)), "tensor: 3 x -1 is not the shape of a tensor that fits into memory",
                       weft::argument_error);
  CHECK_THROWS_AS((tensor<double, 2>(std::int64_t(1) << 32, std::int64_t(1) << 32)), weft::argument_error);
  CHECK_THROWS_AS((tensor<double, 2>(0, INT64_MAX)), weft::argument_error);
}
TEST_CASE("view and out of a tensor have its memory and strides") {
  tensor<float, 2> t(3, 4);
  CHECK(view(t).data == t.data());
  CHECK(view(t).strides == std::array<std::int64_t, 2>{4, 1});
  CHECK(out(t).extents == t.shape());
  CHECK(decltype(out(t))::is_output);
  weft::argument a;
  weft::detail::argument_traits<tensor<float, 2>>::describe(t, a);
  CHECK(a.data == t.data());
  CHECK(a.strides[0] == 4);
  CHECK(a.extents[1] == 4);
}
TEST_CASE("strides of a view of a tensor do not lead out of it") {
  weft::tensor<float, 2> t(3, 4);
  CHECK(view(t).strided(1, 3).strides[1] == 3);
  CHECK_THROWS_AS(static_cast<void>(view(t).strided(5, 1)), weft::argument_error);
  CHECK_THROWS_AS(static_cast<void>(out(t).strided(4, -1)), weft::argument_error);
}
