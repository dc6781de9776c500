// Schedules by rule of stages that reduce nothing.
#include "schedule/rules/check.hpp"
#include "weft/dim.hpp"

using namespace weft_test;
using weft::compute;

namespace {
inline constexpr auto add = weft::kernel<"add">([](auto a, auto b) {
  return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) + b(i, j); });
});
inline constexpr auto scaled = weft::kernel<"scaled">([](auto a, auto v, auto alpha) {
  return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return alpha * a(i, j) + v(j); });
});
inline constexpr auto chain = weft::kernel<"chain">([](auto a) {
  auto b = compute<"b">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) * a(i, j); });
  auto c = compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return b(i, j) + weft::max(a(i, j), b(i, j)); });
  return compute<"d">(a.extent(0), a.extent(1), [=](auto i, auto j) { return c(i, j) - b(i, j); });
});
inline constexpr auto turned = weft::kernel<"turned">(
    [](auto a) { return compute<"c">(a.extent(1), a.extent(0), [=](auto i, auto j) { return a(j, i); }); });
inline constexpr auto turned_sum = weft::kernel<"turned_sum">([](auto a, auto b) {
  return compute<"c">(a.extent(1), a.extent(0), [=](auto i, auto j) { return a(j, i) + b(i, j); });
});
inline constexpr auto each_turned = weft::kernel<"each_turned">([](auto a) {
  return compute<"y">(a.extent(0), a.extent(2), a.extent(1), [=](auto b, auto i, auto j) { return a(b, j, i); });
});
inline constexpr auto each_turned_twice = weft::kernel<"each_turned_twice">([](auto a) {
  auto twice = compute<"twice">(a.extent(0), a.extent(1), a.extent(2), [=](auto b, auto j, auto i) { return a(b, j, i) + a(b, j, i); });
  return compute<"y">(a.extent(0), a.extent(2), a.extent(1), [=](auto b, auto i, auto j) { return twice(b, j, i); });
});
inline constexpr auto cyclic = weft::kernel<"cyclic">([](auto a) {
  return compute<"c">(a.extent(2), a.extent(0), a.extent(1), [=](auto i, auto j, auto k) { return a(j, k, i); });
});
inline constexpr auto sums_down = weft::kernel<"sums_down">([](auto a) {
  return compute<"c">(a.extent(0), a.extent(1), [=](auto t, auto j) {
    return weft::sum(weft::up_to(t), [=](auto k) { return a(k, j); });
  });
});
inline constexpr auto rows_by_number = weft::kernel<"rows_by_number">([](auto table, auto n) {
  return compute<"c">(n.extent(0), table.extent(1), [=](auto i, auto j) {
    return table(weft::clamp(n(i), 0, table.extent(0) - 1), j);
  });
});
inline constexpr auto columns_by_number = weft::kernel<"columns_by_number">([](auto table, auto n) {
  return compute<"c">(table.extent(1), n.extent(0), [=](auto j, auto i) {
    return weft::exp(table(weft::clamp(n(i), 0, table.extent(0) - 1), j));
  });
});
inline constexpr auto box = weft::kernel<"box">([](auto a) {
  auto const h = a.extent(0), w = a.extent(1);
  auto row = compute<"row">(h, w - 2, [=](auto y, auto x) { return a(y, x) + a(y, x + 1) + a(y, x + 2); });
  return compute<"out">(h - 2, w - 2, [=](auto y, auto x) { return row(y, x) + row(y + 1, x) + row(y + 2, x); });
});
inline constexpr auto sines = weft::kernel<"sines">(
    [](auto a) { return compute<"c">(a.extent(0), [=](auto i) { return weft::sin(a(i)); }); });
inline constexpr auto blur = weft::kernel<"blur">([](auto a) {
  return compute<"c">(a.extent(0) - 2, a.extent(1) - 2, [=](auto i, auto j) {
    auto const row = [&](auto k) { return a(k, j) + a(k, j + 1) + a(k, j + 2); };
    return row(i) + row(i + 1) + row(i + 2);
  });
});
/// Rows that go on outside, each of which is read in a window.
template <class Border>
constexpr auto row_windows(Border const& border) {
  return [=](auto a) {
    auto const e = border(a);
    return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return e(i, j - 1) + e(i, j) * 2 + e(i, j + 1); });
  };
}
inline constexpr auto repeated = weft::kernel<"repeated">(row_windows([](auto a) { return weft::repeat_edge(a); }));
inline constexpr auto reflected = weft::kernel<"reflected">(row_windows([](auto a) { return weft::reflect(a); }));
inline constexpr auto mirrored = weft::kernel<"mirrored">(row_windows([](auto a) { return weft::mirror(a); }));
inline constexpr auto wrapped = weft::kernel<"wrapped">(row_windows([](auto a) { return weft::wrap(a); }));
inline constexpr auto colours = weft::kernel<"colours">([](auto a) {
  return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j, 0) + a(i, j, 1) * 2 + a(i, j, 2); });
});
inline constexpr auto exponentials = weft::kernel<"exponentials">(
    [](auto a) { return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return weft::exp(a(i, j)); }); });
/// A machine with such a last cache.
weft::target with_cache(std::int64_t bytes) {
  weft::target t = weft::x86_64_avx2();
  t.l1_bytes = 64, t.l2_bytes = 256, t.l3_bytes = bytes, t.l3_bytes_per_cycle = 0, t.vector_units = 1, t.threads = 1;
  return t;
}
template <class T>
void shapes(auto const& k) {
  for (auto [m, n] : {std::array<std::int64_t, 2>{0, 5}, {1, 1}, {3, 7}, {1, 131}, {64, 3}, {17, 64}, {33, 97}}) {
    CAPTURE(m);
    CAPTURE(n);
    check_rule(k, drawn<T>(1, m, n));
  }
}
}  // namespace

TEST_CASE("contiguous elements are one loop of vectors, whatever their rank") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{0, 5}, {1, 1}, {3, 7}, {1, 131}, {64, 3}, {17, 64}}) {
    check_rule(add, drawn<float>(1, m, n), drawn<float>(2, m, n));
    check_rule(add, drawn<double>(1, m, n), drawn<double>(2, m, n));
    check_rule(scaled, drawn<float>(1, m, n), drawn<float>(2, n), 2.f);
  }
  auto const x = drawn<float>(1, 64, 64);
  CHECK(has_in_order(add.loops(x, x), {"for ijo in", "vectorized iji in"}));
  CHECK(add.loops(x, x).find("parallel") == std::string::npos);
}
TEST_CASE("vectors are as wide as what is usually computed: a sine of f32 has f64 for large angles alone") {
  if (!weft::host().fma) {
    MESSAGE("[skip] without fma all of it is f64");
    return;
  }
  auto const x = drawn<float>(1, 1000);
  INFO(sines.loops(x));
  CHECK(has_in_order(sines.loops(x), {("vectorized ii in 0.." + std::to_string(weft::host().vector_bytes / 4)).c_str()}));
  check_rule(sines, x);
}
TEST_CASE("with a stride between rows they stay loops, and the vectors run along the rows") {
  auto const x = drawn<float>(1, 40, 64), y = drawn<float>(2, 40, 50);
  auto const cut = weft::view(x.data(), 40, 50).strided(64, 1);
  CHECK(has_in_order(add.loops(cut, y), {"for i in 0..40", "vectorized j"}));
  weft::tensor<float, 2> whole(40, 50);
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t j = 0; j < 50; ++j) whole(i, j) = x(i, j);
  CHECK((weft::evaluate(add, whole, y) == add(cut, y)));
}
TEST_CASE("large work runs in parallel, small work does not") {
  auto const large = drawn<float>(1, 1024, 1024), small = drawn<float>(1, 32, 32);
  if (weft::host().threads > 1) CHECK(add.loops(large, large).find("parallel") != std::string::npos);
  CHECK(add.loops(small, small).find("parallel") == std::string::npos);
  CHECK((weft::evaluate(add, large, large) == add(large, large)));
}
TEST_CASE("what cannot be returned to memory for less than it costs is inlined") {
  shapes<float>(chain);
  CHECK(chain.loops(drawn<float>(1, 9, 9)).find("b inlined") != std::string::npos);
  for (auto [m, n] : {std::array<std::int64_t, 2>{3, 3}, {7, 40}, {33, 70}}) check_rule(box, drawn<float>(1, m, n));
}
TEST_CASE("a transposition runs in squares, which are turned over in registers") {
  shapes<float>(turned);
  shapes<weft::f16>(turned);
  shapes<std::int8_t>(turned);
  check_rule(cyclic, drawn<float>(1, 3, 18, 20));
  check_rule(cyclic, drawn<double>(1, 35, 2, 17));
  weft::target near = weft::host();
  near.l3_bytes_per_cycle = 0, near.vector_units = 1;
  std::string const loops = turned.on(near).loops(drawn<float>(1, 640, 640));
  INFO(loops);
  CHECK(has_in_order(loops, {"ioo in", "jo in", "ioi in", "unrolled ii", "vectorized j"}));
  for (std::int64_t n : {64, 77}) check_rule(turned, drawn<std::int32_t>(1, n, 96));
  check_rule(turned_sum, drawn<float>(1, 64, 64), drawn<float>(2, 64, 64));
  // No lane is fetched by itself where the sizes divide.
  std::string const code = turned.on(weft::x86_64_avx2()).assembly(drawn<float>(1, 64, 64));
  CHECK(code.find("gather") == std::string::npos);
  CHECK(code.find("vmovss") == std::string::npos);
}
TEST_CASE("where memory is far, tiles are turned over on the stack, and rows of whole lines stored past the caches") {
  weft::target far = weft::host();
  far.l2_bytes = 256, far.l3_bytes_per_cycle = 8;
  std::string const loops = turned.on(far).loops(drawn<float>(1, 640, 640)), odd = turned.on(far).loops(drawn<float>(1, 641, 640));
  INFO(loops);
  CHECK(has_in_order(loops, {"stored past the caches", "jo in", "io in", "c_acc", "unrolled", "vectorized", "c", "vectorized ji"}));
  INFO(odd);
  CHECK(has_in_order(odd, {"c_acc", "unrolled", "vectorized"}));
  CHECK(odd.find("stored past the caches") == std::string::npos);
  auto const checked = [&](auto const& k, auto c, auto const&... inputs) {
    k.on(far)(inputs..., weft::out(c));
    CHECK((weft::evaluate(k, inputs...) == c));
  };
  for (auto [m, n] : {std::array<std::int64_t, 2>{32, 64}, {48, 80}, {256, 128}, {333, 257}, {1000, 72}}) {
    CAPTURE(m);
    CAPTURE(n);
    checked(turned, weft::tensor<float, 2>(n, m), drawn<float>(1, m, n));
    checked(turned, weft::tensor<double, 2>(n, m), drawn<double>(1, m, n));
    checked(turned, weft::tensor<std::int8_t, 2>(n, m), drawn<std::int8_t>(1, m, n));
    checked(turned, weft::tensor<weft::f16, 2>(n, m), drawn<weft::f16>(1, m, n));
    checked(turned_sum, weft::tensor<float, 2>(n, m), drawn<float>(1, m, n), drawn<float>(2, n, m));
  }
  checked(cyclic, weft::tensor<float, 3>(90, 70, 33), drawn<float>(1, 70, 33, 90));
  // Of a batch whose matrices are a tile each: the tile stands at the batch's loop, and the steps say so.
  auto const stack = drawn<float>(1, 6, 32, 64);
  std::string const steps = each_turned.on(far).trace(stack);
  INFO(steps);
  CHECK(has_in_order(each_turned.on(far).loops(stack), {" i in 0..6", "y_acc", "unrolled"}));
  CHECK(steps.find("compute_at()") == std::string::npos);
  checked(each_turned, weft::tensor<float, 3>(6, 64, 32), stack);
  checked(each_turned, weft::tensor<double, 3>(6, 32, 16), drawn<double>(1, 6, 16, 32));
  checked(each_turned_twice, weft::tensor<float, 3>(6, 64, 32), stack);
}
TEST_CASE("rows that read a window are computed some at a time, and share what they read") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{3, 3}, {10, 11}, {11, 40}, {33, 70}, {37, 131}}) check_rule(blur, drawn<float>(1, m, n));
  auto const x = drawn<float>(1, 66, 130);
  CHECK(has_in_order(blur.loops(x), {"for io in 0..16", "for jo", "unrolled ii in 0..4", "vectorized ji"}));
  CHECK(scaled.loops(x, drawn<float>(2, 130), 2.f).find("unrolled") == std::string::npos);  // rows that share but a row of numbers
  // Six rows of three loads each, where twelve would be read one by one.
  std::string const code = blur.on(weft::x86_64_avx2()).assembly(drawn<float>(1, 66, 66));
  std::size_t reads = 0;
  for (std::size_t at = code.find("vaddps"); at != std::string::npos; at = code.find("vaddps", at + 1)) ++reads;
  CHECK(reads == 20);
}
TEST_CASE("rows that go on outside stay rows, whose middle asks for no border") {
  auto const each = [](auto const& k) {
    for (auto [m, n] : {std::array<std::int64_t, 2>{1, 1}, {3, 2}, {5, 31}, {4, 64}, {3, 133}, {9, 200}})
      check_rule(k, drawn<float>(1, m, n)), check_rule(k, drawn<std::uint8_t>(2, m, n));
    auto const x = drawn<float>(1, 40, 320);
    INFO(k.loops(x));
    CHECK(has_in_order(k.loops(x), {" i in 0..40", "vectorized ji"}));
    std::string const text = k.on(weft::x86_64_avx2()).ir(x);
    INFO(text);
    CHECK(text.find("//") == std::string::npos);
    // The longest part of a row reads its three neighbours as they are.
    std::size_t const middle = text.find("for jo in 1..9:");
    REQUIRE(middle != std::string::npos);
    std::string const row = text.substr(middle, text.find("ramp(jo * 32 + 8, 1, 8)]", middle) - middle);
    for (char const* word : {"min", "max", "%"}) CHECK(row.find(word) == std::string::npos);
  };
  each(repeated), each(reflected), each(mirrored), each(wrapped);
}
TEST_CASE("pixels that are read lane by lane in the last vector alone") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{1, 1}, {3, 21}, {7, 641}}) check_rule(colours, drawn<std::uint8_t>(1, m, n, 3)), check_rule(colours, drawn<float>(1, m, n, 3));
  weft::target t = weft::host();
  if (!t.has("avx512f")) {
    MESSAGE("[skip] no masks here: a branch around the last vector");
    return;
  }
  t.threads = 4, t.l3_bytes_per_cycle = 0, t.vector_units = 1;
  std::string const text = colours.on(t).ir(drawn<float>(1, 427, 641, 3));
  INFO(text);
  CHECK(text.find("parallel:\n    if ijo < ") != std::string::npos);
}
TEST_CASE("what fills the last cache is stored past it, and what is read for it asked for beyond the page") {
  auto const x = drawn<float>(1, 64, 512);
  std::int64_t const bytes = 2 * 64 * 512 * 4;
  std::string const large = exponentials.on(with_cache(bytes)).loops(x), small = exponentials.on(with_cache(bytes + 1)).loops(x);
  INFO(large);
  CHECK(large.find("stored past the caches") != std::string::npos);
  CHECK(large.find("prefetch A for ijo + 64") != std::string::npos);
  CHECK(small.find("stored past the caches") == std::string::npos);
  CHECK(small.find("prefetch") == std::string::npos);
}
TEST_CASE("where memory is far, lines are asked for before they are written, in rows too, and not past the caches") {
  auto const x = drawn<float>(1, 64, 512);
  weft::target t = with_cache(2 * 64 * 512 * 4);
  t.l3_bytes_per_cycle = 8;
  std::string const loops = exponentials.on(t).loops(x);
  INFO(loops);
  CHECK(loops.find("stored past the caches") == std::string::npos);
  CHECK(loops.find("prefetch A for ijo + 64") != std::string::npos);
  CHECK(std::string(exponentials.on(t).ir(x)).find(" prefetch c 64") != std::string::npos);
  auto const rows = weft::kernel<"rows">([](auto a) {
    auto const total = weft::compute<"total">(a.extent(0), [=](auto i) { return weft::sum(a.extent(1), [=](auto k) { return a(i, k); }); });
    return weft::compute<"out">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) - total(i); });
  });
  std::string const of_rows = rows.on(t).loops(x);
  INFO(of_rows);
  CHECK(of_rows.find("prefetch out for jo + ") != std::string::npos);
  CHECK(of_rows.find("stored past the caches") == std::string::npos);
  t.l3_bytes *= 16;  // all of it is at hand
  CHECK(rows.on(t).loops(x).find("prefetch") == std::string::npos);
  // Where stores past the caches do not wait, what is large goes past them all the same; the middle is asked for.
  fuzz::drawn const d = drawn_of(exponentials, x);
  auto const stored_past = [&](std::int64_t past_far) {
    weft::rule_input in{64, 256, std::int64_t(4) * 2 * 64 * 512 * 4, 1};
    in.strides.resize(d.what.tensors.size()), in.constant.resize(d.what.tensors.size(), false);
    in.l3_bytes_per_cycle = 10, in.past_far_bytes = past_far;
    weft::schedule s(d.what, fuzz::extents_of(d), {16, 32});
    weft::schedule_by_rule(s, in);
    std::string const its = weft::print_loops(s);
    CHECK(its.find("prefetch A") != std::string::npos);
    CHECK((its.find("stored past the caches") != std::string::npos) == (its.find("prefetch c") == std::string::npos));
    return its.find("stored past the caches") != std::string::npos;
  };
  CHECK_FALSE(stored_past(0));
  CHECK_FALSE(stored_past(2 * 64 * 512 * 4 + 1));
  CHECK(stored_past(2 * 64 * 512 * 4));
}
TEST_CASE("what comes from beyond the second cache and goes there, with next to nothing done, has vectors of half a line") {
  weft::target t = with_cache(std::int64_t(1) << 20);
  t.vector_bytes = 64;
  for (std::int64_t const n : {64, 77}) {
    auto const a = drawn<float>(1, 8, n), b = drawn<float>(2, 8, n);
    std::string const halves = add.on(t).loops(a, b), dear = exponentials.on(t).loops(a);
    INFO(halves);
    CHECK(has_in_order(halves, {"for ijo", "unrolled ijio in 0..8", "vectorized ijii in 0..8"}));
    CHECK(dear.find("unrolled") == std::string::npos);
    weft::target here = weft::host();
    here.l1_bytes = t.l1_bytes, here.l2_bytes = t.l2_bytes, here.l3_bytes = t.l3_bytes, here.threads = 1;
    weft::tensor<float, 2> c(8, n);
    add.on(here)(a, b, weft::out(c));
    CHECK((weft::evaluate(add, a, b) == c));
  }
  // With two units for whole ones, of one tensor that is read.
  t.vector_units = 2;
  auto const one = drawn<float>(1, 8, 64);
  constexpr auto twice = weft::kernel<"twice">([](auto a) { return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return 2 * a(i, j); }); });
  CHECK(add.on(t).loops(one, one).find("unrolled") == std::string::npos);
  CHECK(twice.on(t).loops(one).find("vectorized ijii in 0..8") != std::string::npos);
  t.vector_units = 1;
  t.l2_bytes = 1 << 18;
  CHECK(add.on(t).loops(drawn<float>(1, 8, 64), drawn<float>(2, 8, 64)).find("unrolled") == std::string::npos);
}
TEST_CASE("sizes that stay open have vectors, and the bits of direct evaluation") {
  auto const a = drawn<float>(1, 37, 29), b = drawn<float>(2, 37, 29);
  auto const open = [](auto const& t) { return weft::view(t.data(), weft::dim<"m">(t.extent(0)), weft::dim<"n">(t.extent(1))); };
  CHECK(has_in_order(add.loops(open(a), open(b)), {"vectorized"}));
  weft::tensor<float, 2> c(37, 29), turn(29, 37);
  add(open(a), open(b), weft::out(c));
  CHECK((weft::evaluate(add, a, b) == c));
  turned(open(a), weft::out(turn));
  CHECK((weft::evaluate(turned, a) == turn));
  // One axis of as many elements as a square has rows.
  for (std::int64_t side : {8, 16}) {
    auto const narrow = drawn<float>(3, 37, side);
    auto const rows = weft::view(narrow.data(), weft::dim<"m">(37), side);
    weft::tensor<float, 2> turned_rows(side, 37);
    turned(rows, weft::out(turned_rows));
    CHECK((weft::evaluate(turned, narrow) == turned_rows));
    CHECK(has_in_order(turned.loops(rows), {"unrolled", "vectorized j"}));
  }
  box(open(a), weft::out(c.data(), 35, 27));
  CHECK((weft::evaluate(box, a) == std::vector<float>(c.data(), c.data() + 35 * 27)));
}
TEST_CASE("scans walk in order, with vectors along another axis") {
  shapes<float>(sums_down);
  CHECK(has_in_order(sums_down.loops(drawn<float>(1, 30, 640)), {"for i in", "for jo in", "vectorized ji"}));
}
TEST_CASE("of short rows that are scanned the sums so far stay in registers: two squares along a row") {
  auto const sums_along = weft::kernel<"sums_along">([](auto x) { return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return weft::sum(weft::up_to(j), [=](auto k) { return x(i, k); }); }); });
  weft::target t = weft::x86_64_avx2();
  t.threads = 1;
  for (std::int64_t n : {8, 9, 12, 15}) CHECK(has_in_order(sums_along.on(t).loops(drawn<float>(1, 100, n)), {"for jo in 0..", "unrolled ji in 0..4"}));
  CHECK(has_in_order(sums_along.on(t).loops(drawn<float>(1, 100, 16)), {"for jo in 0..2", "unrolled ji in 0..8"}));
  for (std::int64_t n : {4, 7, 8, 9, 12, 15, 16, 17}) check_rule(sums_along, drawn<float>(2, 37, n));
}
TEST_CASE("rows that are picked by a number are copied in vectors") {
  auto const table = drawn<float>(1, 20, 37);
  weft::tensor<std::int32_t, 1> n(11);
  for (std::int64_t i = 0; i < 11; ++i) n(i) = static_cast<std::int32_t>(i * 7 - 9);
  check_rule(rows_by_number, table, n);
  CHECK(has_in_order(rows_by_number.loops(table, n), {"for i in", "vectorized j"}));
}
TEST_CASE("a table that numbers pick from is not copied for each few of them") {
  weft::tensor<std::int32_t, 1> n(200);
  for (std::int64_t i = 0; i < 200; ++i) n(i) = static_cast<std::int32_t>(i * 7919 % 500);
  for (std::int64_t width : {1, 2, 3, 5, 20}) {
    auto const table = drawn<float>(1, 500, width);
    check_rule(rows_by_number, table, n);
    CHECK(rows_by_number.loops(table, n).find("_copy") == std::string::npos);
    CHECK(columns_by_number.loops(table, n).find("_copy") == std::string::npos);
  }
  CHECK(has_in_order(rows_by_number.loops(drawn<float>(1, 500, 1), n), {"vectorized ii in 0..64"}));
}
TEST_CASE("in place nothing moves to where its operands are written already") {
  static constexpr auto centred = weft::kernel<"centred">([](auto x) {
    auto t = compute<"t">(x.extent(0), [=](auto i) { return x(i) * 2.0f; });
    return compute<"y">(x.extent(0), [=](auto i) { return t(i) - t(0); });
  });
  std::vector<float> c(300), expected;
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<float>(i % 7);
  for (float const x : c) expected.push_back(x * 2 - c[0] * 2);
  centred(c, weft::out(c));
  CHECK(c == expected);
}
TEST_CASE("of two or three elements side by side no tile is copied: planes of an image are vectors that take every third element") {
  auto const planes = weft::kernel<"planes">([](auto x) {
    return compute<"y">(x.extent(2), x.extent(0), x.extent(1), [=](auto c, auto i, auto j) { return (weft::cast<float>(x(i, j, c)) - 128) * 0.015625F; });
  });
  weft::target t = weft::x86_64_avx2();
  t.threads = 1;
  for (std::int64_t c : {2, 3}) {
    std::string const loops = planes.on(t).loops(drawn<std::uint8_t>(1, 48, 64, c));
    INFO(loops);
    CHECK(loops.find("copy") == std::string::npos);
    CHECK(loops.find("vectorized") != std::string::npos);
    for (std::int64_t n : {5, 17, 64}) {
      check_rule(planes, drawn<std::uint8_t>(2, 9, n, c));
      check_rule(planes, drawn<float>(3, 9, n, c));
    }
  }
  // Short rows that go on in the next one are one: no vectors down the rows.
  CHECK(has_in_order(planes.on(t).loops(drawn<float>(1, 1000, 5, 3)), {"for i in 0..3", "vectorized jki"}));
  check_rule(planes, drawn<float>(4, 100, 5, 3));
}
