#include "weft/runtime/argument.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "weft/base/op.hpp"

using namespace weft;

namespace {
template <class A>
argument described(A const& a) {
  argument to;
  detail::argument_traits<A>::describe(a, to);
  return to;
}
template <class A>
using type_of = typename detail::argument_traits<A>::type;
}  // namespace

// What an argument tells the compiler.
static_assert(std::is_same_v<type_of<std::vector<double>>, arg<double, 1>>);
static_assert(std::is_same_v<type_of<std::array<int, 4>>, arg<int, 1>>);
static_assert(std::is_same_v<type_of<float>, scalar_arg<float>>);
static_assert(std::is_same_v<type_of<decltype(view(std::declval<float const*>(), 2, 3))>, arg<float, 2>>);
static_assert(std::is_same_v<type_of<decltype(view(std::declval<float*>(), std::integral_constant<int, 8>{}, 3))>,
                             fixed_arg<float, 8, dynamic>>);
static_assert(!detail::argument_traits<std::string>::supported);
static_assert(!detail::argument_traits<char const*>::supported);
static_assert(!detail::argument_traits<long double>::supported && !detail::argument_traits<wchar_t>::supported);
static_assert(std::is_same_v<type_of<short>, scalar_arg<std::int16_t>>);
static_assert(std::is_same_v<type_of<std::vector<f16>>, arg<f16, 1>> &&
              std::is_same_v<type_of<bf16>, scalar_arg<bf16>>);
static_assert(detail::argument_traits<decltype(out(std::declval<float*>(), 2))>::is_output);
static_assert(!detail::argument_traits<decltype(view(std::declval<float*>(), 2))>::is_output);

TEST_CASE("a view is row-major until it is told otherwise") {
  float data[24] = {};
  auto const v = view(data, 2, 3, 4);
  CHECK(v.strides == std::array<std::int64_t, 3>{12, 4, 1});
  CHECK(v.strided(1, 2, -6).strides == std::array<std::int64_t, 3>{1, 2, -6});
  CHECK(v.strided(1, 2, -6).extents == v.extents);
  CHECK(v.strided(1, 2, -6).data == data);
  CHECK(view(data, 2, 0, 4).strides == std::array<std::int64_t, 3>{4, 4, 1});  // of nothing, but no stride is 0
  CHECK(view(data).rank == 0);
}
TEST_CASE("strides that overflow are cut, not undefined") {
  float data[1] = {};
  auto const v = view(data, 2, std::int64_t(1) << 40, std::int64_t(1) << 40);
  CHECK(v.strides == std::array<std::int64_t, 3>{INT64_MAX, std::int64_t(1) << 40, 1});
}
TEST_CASE("a range that is shorter than its shape is refused, a longer one is not") {
  std::vector<int> v(11);
  CHECK_NOTHROW(static_cast<void>(view(v, 2, 5)));
  CHECK_NOTHROW(static_cast<void>(out(v, 11)));
  CHECK_THROWS_WITH_AS(static_cast<void>(view(v, 3, 4)), "view: 3 x 4 elements are wanted of a range of 11",
                       argument_error);
  CHECK_THROWS_AS(static_cast<void>(out(v, 12)), argument_error);
  CHECK_THROWS_AS(static_cast<void>(view(v, std::int64_t(1) << 62, 4)), argument_error);  // 2^64 elements are not 0
}
TEST_CASE("strides that lead outside of a range are refused, whatever they belong to") {
  std::vector<int> v(16);
  CHECK_NOTHROW(static_cast<void>(view(v, 8).strided(2)));
  CHECK_NOTHROW(static_cast<void>(view(v, 2, 8).strided(1, 2)));  // the last one is the 16th
  CHECK_NOTHROW(static_cast<void>(view(v, 0, 8).strided(1, 1 << 20)));
  CHECK_NOTHROW(static_cast<void>(view(v, 16).strided(0)));
  CHECK_NOTHROW(static_cast<void>(view(v.data(), 8).strided(1 << 20)));  // of a pointer nobody knows
  CHECK_NOTHROW(static_cast<void>(view(v.data() + 7, 8).strided(-1)));
  CHECK_THROWS_WITH_AS(static_cast<void>(view(v, 8).strided(3)),
                       "view: 8 elements with strides (3) reach from element 0 to 21 of a range of 16; a view of a "
                       "pointer into it may begin elsewhere",
                       argument_error);
  CHECK_THROWS_AS(static_cast<void>(view(v, 9).strided(2)), argument_error);
  CHECK_THROWS_AS(static_cast<void>(view(v, 2, 8).strided(2, 2)), argument_error);
  CHECK_THROWS_AS(static_cast<void>(view(v).strided(2)), argument_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(out(v, 2, 8).strided(9, -1)),
                       "view: 2 x 8 elements with strides (9, -1) reach from element -7 to 9 of a range of 16; a view "
                       "of a pointer into it may begin elsewhere",
                       argument_error);
  CHECK_THROWS_AS(static_cast<void>(out(v).strided(-1)), argument_error);
  CHECK_THROWS_AS(static_cast<void>(view(v, 3).strided(INT64_MAX)), argument_error);
  CHECK_THROWS_AS(static_cast<void>(view(v, 2, 2).strided(INT64_MAX, INT64_MAX)), argument_error);
}
TEST_CASE("describing an argument tells its memory, type and shape") {
  std::vector<double> v(6);
  argument const a = described(out(v, 2, 3).strided(1, 2));
  CHECK(a.data == v.data());
  CHECK(a.type == dtype::f64);
  CHECK(a.rank == 2);
  CHECK(a.is_output);
  CHECK_FALSE(a.is_scalar);
  CHECK(a.extents[0] == 2);
  CHECK(a.extents[1] == 3);
  CHECK(a.strides[0] == 1);
  CHECK(a.strides[1] == 2);
  CHECK(described(v).extents[0] == 6);
  CHECK_FALSE(described(v).is_output);
}
TEST_CASE("a number is described by the bits that the operations work on") {
  CHECK(described(true).scalar_bits == 1);
  CHECK(described(std::uint8_t(200)).scalar_bits == 200);
  CHECK(described(std::int8_t(-1)).scalar_bits == -1);
  CHECK(described(~std::uint64_t(0)).scalar_bits == -1);
  CHECK(described(f16(-0.0f)).scalar_bits == 0x8000);
  CHECK(described(bf16(1.0f)).scalar_bits == 0x3f80);
  CHECK(described(bf16(1.0f)).type == dtype::bf16);
  CHECK(described(-3).scalar_bits == -3);
  CHECK(described(std::numeric_limits<std::int64_t>::min()).scalar_bits == INT64_MIN);
  CHECK(described(-0.0f).scalar_bits == to_bits(-0.0f));
  CHECK(described(-1.5).scalar_bits == to_bits(-1.5));
  CHECK(described(-1.5f).scalar_bits == 0xbfc00000);  // the upper half is 0
  CHECK(described(7).is_scalar);
}
TEST_CASE("an output may be a span that nobody keeps") {
  std::vector<float> v(6);
  CHECK(out(std::span<float>(v)).data == v.data());
  CHECK(out(std::span<float, 3>(v.data(), 3)).extents[0] == 3);
  CHECK(out(std::span(v).subspan(2), 2, 2).data == v.data() + 2);
  CHECK_THROWS_AS(static_cast<void>(out(std::span<float>(v), 7)), argument_error);
  std::span<float> const kept(v);
  CHECK(out(kept).extents[0] == 6);
}
TEST_CASE("a view of constant memory is an input; as an output it does not exist") {
  std::vector<float> const v(3);
  CHECK(described(view(v)).data == v.data());
}
