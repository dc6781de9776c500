// Arguments that share memory: what may, and what is refused.
#include <string>
#include <vector>

#include "support/kernels.hpp"
#include "weft/direct.hpp"

using namespace weft_test;
using weft::out, weft::view;

namespace {
inline constexpr auto relu = weft::kernel<"relu">(
    [](auto x) {
      return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return weft::max(x(i, j), 0.0f); });
    },
    [](auto& s, auto, auto y) {
      auto [i, j] = y.axes();
      s.vectorize(j);
      s.unroll(i);
    });
inline constexpr auto transposed = weft::kernel<"transposed">([](auto x) {
  return compute<"y">(x.extent(1), x.extent(0), [=](auto i, auto j) { return x(j, i); });
});
inline constexpr auto centred = weft::kernel<"centred">([](auto x) {
  auto t = compute<"t">(x.extent(0), [=](auto i) { return x(i) * 2.0f; });
  return compute<"y">(x.extent(0), [=](auto i) { return t(i) - t(0); });
});
inline constexpr auto read_later = weft::kernel<"read_later">([](auto x) {
  auto t = compute<"t">(x.extent(0), [=](auto i) { return x(i) * 2.0f; });
  auto y = compute<"y">(x.extent(0), [=](auto i) { return t(i) - x(i); });
  return weft::outputs(t, y);
});
}  // namespace

TEST_CASE("in place is right where each element is read at its own index alone") {
  std::vector<float> const x = numbers(37), y = numbers(37, 7);
  std::vector<float> z = y, expected(37);
  saxpy(x, y, 3.0f, out(expected));
  saxpy(x, z, 3.0f, out(z));
  CHECK(z == expected);
  z = x;
  saxpy(z, y, 3.0f, out(z));
  CHECK(z == expected);

  std::vector<float> m = numbers(5 * 23);
  std::vector<float> positive = m;
  for (float& v : positive) v = v > 0 ? v : 0;
  relu(view(m, 5, 23), out(m, 5, 23));
  CHECK(m == positive);

  std::vector<float> c{5, 7, 1};
  centred(c, out(c));  // x is read by the first stage alone, which runs before y is written
  CHECK(c == std::vector<float>{0, 4, -8});
}
TEST_CASE("every other overlap is refused: neighbours, reductions, transposes, shifts, other types, other outputs") {
  std::vector<float> a = numbers(64), b = numbers(64, 7);
  std::vector<float> const before = a;
  CHECK_REFUSED("cannot be written over input A", blur(a, out(a)));
  CHECK_REFUSED("cannot be written over input A", tiled_matmul(view(a, 8, 8), view(b, 8, 8), out(a, 8, 8)));
  CHECK_REFUSED("cannot be written over input A", transposed(view(a, 8, 8), out(a, 8, 8)));
  CHECK_REFUSED("without being the same elements", sums_of_rows(view(a, 8, 8), out(a.data(), 8)));
  CHECK_REFUSED("without being the same elements", saxpy(view(a.data(), 20), view(b, 20), 1.0f, out(a.data() + 1, 20)));
  CHECK_REFUSED("without being the same elements",
                saxpy(view(a.data(), 20), view(b, 20), 1.0f, out(a.data() + 19, 20).strided(-1)));
  std::vector<float> t(8);
  CHECK_REFUSED("cannot be written over input A", read_later(view(a.data(), 8), out(a.data(), 8), out(t)));
  CHECK_REFUSED("share memory", read_later(view(b.data(), 8), out(t), out(t)));
  CHECK_REFUSED("share memory", highest_and_lowest(view(b, 8, 8), out(a.data(), 8), out(a.data() + 7, 8)));
  CHECK(a == before);
  // Of other strides all addresses in between count, although no element of these is shared.
  CHECK_REFUSED("without being the same elements (of tensors with other strides",
                saxpy(view(a.data(), 10).strided(2), view(b.data(), 10), 1.0f, out(a.data() + 1, 10).strided(4)));
  CHECK_REFUSED("share memory (of",
                highest_and_lowest(view(b, 8, 8), out(a.data(), 8).strided(2), out(a.data() + 1, 8).strided(4)));
}
TEST_CASE("what lies among an input without sharing an element is an output, prepared or not, and stays checked") {
  std::vector<float> a = numbers(64), b = numbers(64, 7), want(10);
  saxpy(view(a.data(), 10).strided(2), view(b.data(), 10), 2.0f, out(want));
  auto const odd = out(a.data() + 1, 10).strided(2);
  saxpy(view(a.data(), 10).strided(2), view(b.data(), 10), 2.0f, odd);
  std::uint64_t const before = weft::compilations();
  for (int i = 0; i < 10; ++i) {
    CHECK(a[static_cast<std::size_t>(2 * i + 1)] == want[static_cast<std::size_t>(i)]);
    a[static_cast<std::size_t>(2 * i + 1)] = 0;
  }
  auto const prepared = saxpy.prepare(view(a.data(), 10).strided(2), view(b.data(), 10), 2.0f, odd);
  prepared(view(a.data(), 10).strided(2), view(b.data(), 10), 2.0f, odd);
  for (int i = 0; i < 10; ++i) CHECK(a[static_cast<std::size_t>(2 * i + 1)] == want[static_cast<std::size_t>(i)]);
  CHECK(weft::compilations() == before);  // its form is that of separate memory
  auto const even = out(a.data() + 2, 10).strided(2);
  CHECK_REFUSED("or shared memory", prepared(view(a.data(), 10).strided(2), view(b.data(), 10), 2.0f, even));
  CHECK_REFUSED("without being the same elements; give",
                saxpy(view(a.data(), 10).strided(2), view(b.data(), 10), 2.0f, even));
}
TEST_CASE("code made for separate memory is not used for shared memory, nor the other way round") {
  std::vector<float> x = numbers(29), y(29), z = x;
  static constexpr auto negated = weft::kernel<"negated">([](auto a) {
    return compute<"b">(a.extent(0), [=](auto i) { return -a(i); });
  });
  negated(x, out(y));
  std::uint64_t const before = weft::compilations();
  negated(z, out(z));
  CHECK(weft::compilations() == before + 1);
  CHECK(z == y);
  negated(x, out(y));
  CHECK(weft::compilations() == before + 1);
}
TEST_CASE("a shifted overlap is refused although the same shapes ran in place before") {
  constexpr auto plus_one = weft::kernel<"plus_one">(
      [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.f; }); });
  std::vector<float> v(40, 0.f);
  plus_one(view(v.data(), 20), out(v.data(), 20));
  CHECK_THROWS_AS(plus_one(view(v.data(), 20), out(v.data() + 1, 20)), weft::argument_error);
  auto const prepared = plus_one.prepare(view(v.data(), 20), out(v.data(), 20));
  CHECK_THROWS_AS(prepared(view(v.data(), 20), out(v.data() + 1, 20)), weft::argument_error);
  CHECK(v[20] == 0);
  plus_one(view(v.data(), 20), out(v.data(), 20));
  CHECK(v[19] == 2);
}
TEST_CASE("a reduction is not written over its input, not even where each element is read at its own index") {
  constexpr auto k = weft::kernel<"k">([](auto x, auto w) {
    return compute<"y">(x.extent(0), [=](auto i) { return sum(w.extent(0), [=](auto j) { return x(i) * w(j); }); });
  });
  std::vector<float> x{1, 2, 3}, w{1, 1};
  CHECK_THROWS_AS(k(view(x, 3), view(w, 2), out(x, 3)), weft::argument_error);
  CHECK(x == std::vector<float>{1, 2, 3});
}
TEST_CASE("one tensor may be both inputs and the output") {
  std::vector<float> x = numbers(37), want = x;
  for (float& v : want) v = 2.0f * v + v;
  saxpy(x, x, 2.0f, out(x));
  CHECK(x == want);
}
TEST_CASE("a result is not written over indices by which a later stage reads, nor over such of its own") {
  constexpr auto later = weft::kernel<"later">([](auto from, auto places) {
    auto y = compute<"y">(places.extent(0), [=](auto i) { return places(i) * 2; });
    auto z = compute<"z">(places.extent(0), [=](auto i) { return from(weft::clamp(places(i), 0, from.extent(0) - 1)); });
    return weft::outputs(y, z);
  });
  std::vector<float> const x{1, 2, 3};
  std::vector<std::int64_t> index{2, 0, 1, 1}, y(4);
  std::vector<float> z(4);
  CHECK_THROWS_AS(later(view(x, 3), view(index, 4), out(index, 4), out(z, 4)), weft::argument_error);
  CHECK(index == std::vector<std::int64_t>{2, 0, 1, 1});
  later(view(x, 3), view(index, 4), out(y, 4), out(z, 4));
  CHECK(z == std::vector<float>{3, 1, 2, 2});
  constexpr auto turned = weft::kernel<"turned">([](auto from, auto places) {
    auto const n = places.extent(0);
    return compute<"y">(n, [=](auto i) { return from(weft::clamp(places(n - 1 - i), 0, from.extent(0) - 1)); });
  });
  std::vector<std::int64_t> const table{10, 20, 30};
  CHECK_THROWS_AS(turned(view(table, 3), view(index, 4), out(index, 4)), weft::argument_error);
}
