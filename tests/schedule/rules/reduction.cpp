// Schedules by rule of reductions, and of rows that need several of them.
#include "schedule/rules/check.hpp"

#include <cmath>

#include "weft/ops/softmax.hpp"

using namespace weft_test;
using weft::compute, weft::sum;

namespace {
inline constexpr auto rows = weft::kernel<"rows">(
    [](auto a) { return compute<"s">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto k) { return a(i, k); }); }); });
inline constexpr auto columns = weft::kernel<"columns">(
    [](auto a) { return compute<"s">(a.extent(1), [=](auto j) { return sum(a.extent(0), [=](auto k) { return a(k, j); }); }); });
inline constexpr auto whole = weft::kernel<"whole">([](auto a) {
  return compute<"s">(1, [=](auto) { return sum(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j); }); });
});
inline constexpr auto middle = weft::kernel<"middle">([](auto a) {
  return compute<"s">(a.extent(1), [=](auto c) { return sum(a.extent(0), a.extent(2), [=](auto i, auto j) { return a(i, c, j); }); });
});
inline constexpr auto middle_mean = weft::kernel<"middle_mean">([](auto a) {
  auto s = compute<"s">(a.extent(1), [=](auto c) { return sum(a.extent(0), a.extent(2), [=](auto i, auto j) { return a(i, c, j); }); });
  return compute<"m">(a.extent(1), [=](auto c) { return s(c) * 0.25f; });
});
/// A convolution without padding of a picture as small as its window.
inline constexpr auto whole_window = weft::kernel<"whole_window">([](auto x, auto w) {
  return compute<"y">(w.extent(0), [=](auto o) {
    return sum(x.extent(0), x.extent(1), x.extent(2), [=](auto c, auto a, auto b) { return x(c, a, b) * w(o, c, a, b); });
  });
});
inline constexpr auto largest = weft::kernel<"largest">([](auto a) {
  return compute<"s">(a.extent(0), [=](auto i) { return weft::max(a.extent(1), [=](auto k) { return a(i, k); }); });
});
inline constexpr auto place = weft::kernel<"place">([](auto a) {
  return compute<"s">(a.extent(0), [=](auto i) { return weft::argmax(a.extent(1), [=](auto k) { return a(i, k); }); });
});
inline constexpr auto place_down = weft::kernel<"place_down">([](auto a) {
  return compute<"s">(a.extent(1), [=](auto i) { return weft::argmin(a.extent(0), [=](auto k) { return a(k, i); }); });
});
inline constexpr auto place_in_batch = weft::kernel<"place_in_batch">([](auto a) {
  return compute<"s">(a.extent(0), a.extent(1), [=](auto b, auto i) { return weft::argmax(a.extent(2), [=](auto k) { return a(b, i, k); }); });
});
inline constexpr auto centred = weft::kernel<"centred">([](auto a) {
  auto total = compute<"total">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto k) { return a(i, k); }); });
  auto d = compute<"d">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) * 4.f - total(i); });
  auto high = compute<"high">(a.extent(0), [=](auto i) { return weft::max(a.extent(1), [=](auto k) { return d(i, k); }); });
  return compute<"y">(a.extent(0), a.extent(1), [=](auto i, auto j) { return d(i, j) - high(i) * d(i, j); });
});
inline constexpr auto mean_of_columns = weft::kernel<"mean_of_columns">([](auto a) {
  auto total = compute<"total">(a.extent(1), [=](auto j) { return sum(a.extent(0), [=](auto k) { return a(k, j); }); });
  return compute<"y">(a.extent(1), [=](auto j) { return total(j) * 0.25f; });
});
/// What a row is joined with is the same for all rows.
inline constexpr auto chain = weft::kernel<"chain">([](auto x, auto u, auto v, auto w) {
  return compute<"norm">(x.extent(0), [=](auto i) {
    return sum(x.extent(1), [=](auto j) {
      auto const t = weft::max((x(i, j) - u(j)) * v(j) + w(j), 0);
      return t * t;
    });
  });
});
inline constexpr auto times_vector = weft::kernel<"times_vector">([](auto a, auto x) {
  return compute<"y">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto k) { return a(i, k) * x(k); }); });
});
inline constexpr auto total = weft::kernel<"total">([](auto x) {
  return compute<"total">(1, [=](auto) { return sum(x.extent(0), [=](auto i) { return x(i); }); });
});
/// A machine of one thread whose caches hold next to nothing.
weft::target without_caches() {
  weft::target t = weft::x86_64_avx2();
  t.l1_bytes = 64, t.l2_bytes = 256, t.l3_bytes = 1024, t.vector_units = 1, t.threads = 1;
  return t;
}
/// What the rule makes for such a machine, in the interpreter and compiled.
template <class Kernel, class... In>
void check_without_caches(Kernel const& k, In const&... inputs) {
  fuzz::drawn const d = drawn_of(k, inputs...);
  weft::rule_input in;
  in.l1_bytes = 64, in.l2_bytes = 256, in.l3_bytes = 1024;
  weft::schedule s(d.what, fuzz::extents_of(d), weft::schedule_limits{16, 32});
  weft::schedule_by_rule(s, in);
  CHECK(fuzz::check_interpreted(d, s.steps) == "");
  CHECK(fuzz::check_compiled(d, s.steps) == "");
}
inline constexpr auto softmax = weft::kernel<"softmax">([](auto x) { return weft::ops::softmax(x); });
inline constexpr auto attention = weft::kernel<"attention">([](auto q, auto k, auto v) {
  auto s = compute<"s">(q.extent(0), k.extent(0), [=](auto i, auto j) {
    return sum(q.extent(1), [=](auto d) { return q(i, d) * k(j, d); });
  });
  auto top = compute<"top">(q.extent(0), [=](auto i) { return weft::max(k.extent(0), [=](auto j) { return s(i, j); }); });
  auto e = compute<"e">(q.extent(0), k.extent(0), [=](auto i, auto j) { return s(i, j) - top(i); });
  return compute<"y">(q.extent(0), v.extent(1), [=](auto i, auto d) {
    return sum(k.extent(0), [=](auto j) { return e(i, j) * v(j, d); });
  });
});
template <class T>
void shapes(auto const& k) {
  for (auto [m, n] : {std::array<std::int64_t, 2>{1, 1}, {3, 0}, {3, 7}, {1, 131}, {64, 3}, {17, 64}, {5, 300}}) {
    CAPTURE(m);
    CAPTURE(n);
    check_rule(k, drawn<T>(1, m, n));
  }
}
}  // namespace

TEST_CASE("sums of rows, of columns and of everything") {
  shapes<float>(rows);
  shapes<float>(columns);
  shapes<float>(whole);
  shapes<weft::f16>(rows);
  shapes<std::int8_t>(whole);
}
TEST_CASE("sums over several short axes have their terms in lanes, axis by axis") {
  weft::target one = weft::x86_64_avx2();
  one.threads = 1;
  // Whole rows, one behind the other; rows that lie apart, of which some are summed side by side; a window that is all of a picture.
  CHECK(has_in_order(whole.on(one).loops(drawn<float>(1, 4000, 7)), {"s_rf_rf\n", "vectorized jk", "s_rf[i, j] +=", "s[i] += "}));
  CHECK(has_in_order(middle.on(one).loops(drawn<float>(1, 400, 10, 6)), {"for i in 0..10", "s_rf_rf\n", "unrolled j", "vectorized k", "s[i] += "}));
  CHECK(has_in_order(whole_window.on(one).loops(drawn<float>(1, 16, 5, 5), drawn<float>(2, 12, 16, 5, 5)), {"for i in 0..12", "_rf\n", "vectorized", "y[i] += "}));
  CHECK(whole.on(one).loops(drawn<float>(1, 1, 7)).find("_rf") == std::string::npos);  // nothing is shared out
  for (auto [m, n] : {std::array<std::int64_t, 2>{40, 7}, {67, 3}, {131, 12}, {64, 2}, {9, 15}, {5, 5}}) {
    CAPTURE(m);
    CAPTURE(n);
    check_rule(whole, drawn<float>(1, m, n));
    check_rule(whole, drawn<std::int8_t>(1, m, n));
    check_rule(middle, drawn<float>(1, m, 3, n));
    check_rule(middle, drawn<double>(1, m, 2, n));
  }
  check_rule(whole, drawn<float>(1, 30011, 5));  // by threads
  check_rule(middle_mean, drawn<float>(1, 40, 3, 6));
  for (auto [c, h, w] : {std::array<std::int64_t, 3>{16, 5, 5}, {32, 3, 3}, {7, 1, 7}, {64, 2, 1}, {3, 3, 3}}) {
    CAPTURE(c);
    check_rule(whole_window, drawn<float>(1, c, h, w), drawn<float>(2, 6, c, h, w));
  }
}
TEST_CASE("maxima and their places") {
  shapes<float>(largest);
  shapes<std::int32_t>(largest);
  shapes<float>(place);
}
TEST_CASE("places of maxima in short rows: rows are lanes, and those that no lanes are left for come after; a few columns are lanes") {
  weft::target one = weft::x86_64_avx2();
  one.threads = 1;
  CHECK(has_in_order(place.on(one).loops(drawn<float>(1, 64, 10)), {"for io in 0..16", "A_copy\n", "vectorized", "for j in 0..10", "vectorized ii"}));
  CHECK(has_in_order(place.on(one).loops(drawn<float>(1, 63, 10)), {"for io in 0..16", "A_copy\n", "vectorized", "for j in 0..10", "vectorized ii"}));
  CHECK(has_in_order(place_down.on(one).loops(drawn<float>(1, 64, 3)), {"for j in 0..64", "vectorized i in 0..3"}));
  CHECK(place.on(one).loops(drawn<float>(1, 64, 400)).find("s_rf") != std::string::npos);  // of a long row parts are joined
  for (auto [m, n] : {std::array<std::int64_t, 2>{32, 10}, {64, 5}, {33, 10}, {48, 17}, {19, 33}, {16, 100}, {16, 4}, {40, 3}}) {
    CAPTURE(m);
    CAPTURE(n);
    check_rule(place, drawn<float>(1, m, n));
    check_rule(place, drawn<std::int8_t>(1, m, n));
    check_rule(place_down, drawn<float>(1, m, n % 8));
    check_rule(place_in_batch, drawn<float>(1, 3, m, n));
  }
  check_rule(place, drawn<float>(1, 20000, 10));  // by threads
}
TEST_CASE("all that a row needs is computed while it is at hand") {
  shapes<float>(centred);
  shapes<float>(mean_of_columns);
  auto const x = drawn<float>(1, 20, 300);
  CHECK(has_in_order(centred.loops(x), {"y\n", "for i in 0..20", "total", "part(20)", "high"}));
  check_rule(attention, drawn<float>(1, 9, 8), drawn<float>(2, 37, 8), drawn<float>(3, 37, 16));
}
TEST_CASE("rows that share what they are joined with are summed two at a time, and what the next two read is asked for") {
  auto const row = [](std::uint64_t seed) { return drawn<float>(seed, 160); };
  auto const loops = [&](weft::target const& on, std::int64_t m) {
    return chain.on(on).loops(drawn<float>(1, m, 160), row(2), row(3), row(4));
  };
  weft::target const small = without_caches();
  weft::target large = small, two = small;
  large.l2_bytes = 1 << 20, two.threads = 2, two.l3_bytes = 1 << 20;
  INFO(loops(small, 64));
  CHECK(has_in_order(loops(small, 64), {"for io in 0..32", "norm_rf", "prefetch A for k + ", " into l2", "unrolled ii in 0..2", "vectorized"}));
  CHECK(has_in_order(loops(two, 64), {"norm_rf", " into l2", "unrolled ii in 0..2"}));
  CHECK(loops(small, 63).find("l2") == std::string::npos);  // what two do not divide
  CHECK(loops(large, 64).find("l2") == std::string::npos);  // what is at hand
  two.vector_units = 2;
  CHECK(loops(two, 64).find("l2") == std::string::npos);  // two units wait for loads
  for (auto [m, n] : {std::array<std::int64_t, 2>{64, 160}, {128, 33}, {32, 7}, {32, 150}, {0, 160}}) {
    CAPTURE(m);
    check_rule(chain, drawn<float>(1, m, n), drawn<float>(2, n), drawn<float>(3, n), drawn<float>(4, n));
    check_without_caches(chain, drawn<float>(1, m, n), drawn<float>(2, n), drawn<float>(3, n), drawn<float>(4, n));
  }
}
TEST_CASE("from memory each thread sums in eight places far apart, and asks for what follows in each") {
  weft::target const small = without_caches();
  weft::target two = small, large = small;
  two.threads = 2, large.l3_bytes = 1 << 20;
  auto const a = drawn<float>(1, 64, 160);
  auto const x = drawn<float>(2, 160), long_one = drawn<float>(3, 4096);
  std::string const loops = times_vector.on(small).loops(a, x);
  INFO(loops);
  CHECK(has_in_order(loops, {"\ny_rf\n  for ii in 0..8\n", "prefetch A for k + ", " into l2", "unrolled io in 0..8", "vectorized"}));
  CHECK(has_in_order(times_vector.on(two).loops(a, x), {"unrolled io in 0..8", "vectorized"}));
  CHECK(times_vector.on(large).loops(a, x).find("unrolled io") == std::string::npos);
  two.vector_units = 2;
  CHECK(times_vector.on(two).loops(a, x).find("unrolled io") == std::string::npos);
  INFO(total.on(small).loops(long_one));
  CHECK(has_in_order(total.on(small).loops(long_one), {"prefetch A for ", " into l2", "unrolled", " in 0..8", "vectorized"}));
  for (auto [m, n] : {std::array<std::int64_t, 2>{64, 160}, {64, 33}, {16, 7}, {1, 300}, {20, 0}})
    check_rule(times_vector, drawn<float>(1, m, n), drawn<float>(2, n)), check_without_caches(times_vector, drawn<float>(1, m, n), drawn<float>(2, n));
  for (std::int64_t n : {0, 5, 4096, 1001}) check_rule(total, drawn<float>(3, n)), check_without_caches(total, drawn<float>(3, n));
}
TEST_CASE("a sum of one stream from beyond the second cache has vectors of half a line, and the parts of whole ones") {
  weft::target third = without_caches();
  third.vector_bytes = 64, third.vector_registers = 32, third.l2_bytes = 1 << 12, third.l3_bytes = 1 << 20, third.l3_bytes_per_cycle = 0, third.vector_units = 1;
  weft::target second = third, memory = third, short_vectors = third, far = third;
  second.l2_bytes = 1 << 18, memory.l3_bytes = 1 << 13, short_vectors.vector_bytes = 32, far.l3_bytes_per_cycle = 8;
  auto const x = drawn<float>(1, 4096), v = drawn<float>(3, 160);
  auto const a = drawn<float>(2, 64, 160);
  auto const halves = [](std::string const& loops) { return loops.find("/8)") != std::string::npos || has_in_order(loops, {"_rf", "vectorized", " in 0..8\n"}); };
  INFO(total.on(third).loops(x));
  CHECK(has_in_order(total.on(third).loops(x), {"total_rf", "unrolled ", "vectorized ", " in 0..8\n"}));
  CHECK_FALSE(halves(total.on(second).loops(x)));
  CHECK_FALSE(halves(total.on(short_vectors).loops(x)));
  CHECK_FALSE(halves(total.on(far).loops(x)));
  weft::target two_units = third;
  two_units.vector_units = 2;
  CHECK_FALSE(halves(total.on(two_units).loops(x)));
  // Beside each vector of the matrix one of the other operand is loaded: in halves, where memory is what is waited for.
  CHECK_FALSE(halves(times_vector.on(third).loops(a, v)));
  CHECK(has_in_order(times_vector.on(memory).loops(a, v), {"y_rf", "unrolled ", "unrolled ", "vectorized ", " in 0..8\n"}));
  weft::rule_input in;
  in.l1_bytes = 64, in.l2_bytes = 256;
  auto const check = [&](fuzz::drawn const& d) {
    weft::schedule s(d.what, fuzz::extents_of(d), weft::schedule_limits{32, 64});
    weft::schedule_by_rule(s, in);
    CHECK(fuzz::check_interpreted(d, s.steps) == "");
    CHECK(fuzz::check_compiled(d, s.steps) == "");
  };
  for (std::int64_t const l3 : {1024, 1 << 20}) {
    in.l3_bytes = l3;
    for (std::int64_t const n : {5, 300, 4096, 1001}) check(drawn_of(total, drawn<float>(1, n)));
    for (std::int64_t const n : {5, 150}) check(drawn_of(times_vector, drawn<float>(2, 16, n), drawn<float>(3, n)));
  }
}
TEST_CASE("what a sum reads from far away is asked for: one stream and several 2 KiB ahead, a matrix beside a vector 16") {
  weft::target t = without_caches();
  t.vector_bytes = 64, t.vector_registers = 32, t.l2_bytes = 1 << 12, t.l3_bytes = 1 << 20, t.l3_bytes_per_cycle = 8;
  auto const x = drawn<float>(1, 4096), y = drawn<float>(2, 4096), v = drawn<float>(3, 160);
  auto const a = drawn<float>(4, 64, 160);
  constexpr auto product = weft::kernel<"product">([](auto p, auto q) {
    return compute<"d">(1, [=](auto) { return sum(p.extent(0), [=](auto k) { return p(k) * q(k); }); });
  });
  auto const asks = [](std::string const& loops) { return loops.find("prefetch") != std::string::npos; };
  CHECK_FALSE(asks(total.on(t).loops(x)));  // of machines with AMX it is known that it pays
  t.features.push_back("amx-tile");
  CHECK(has_in_order(total.on(t).loops(x), {"prefetch A for k + 32", "vectorized", " in 0..16\n"}));
  INFO(times_vector.on(t).loops(a, v));
  CHECK(has_in_order(times_vector.on(t).loops(a, v), {"prefetch A for k + 256", "vectorized", "part(16)\n"}));
  std::string const both = product.on(t).loops(x, y);
  CHECK(both.find("prefetch A for k + 32") != std::string::npos);
  CHECK(both.find("prefetch B for k + 32") != std::string::npos);
  CHECK_FALSE(asks(total.on(t).loops(v)));  // it stays near
  weft::rule_input in;
  in.l1_bytes = 64, in.l2_bytes = 256, in.l3_bytes = 1 << 20, in.l3_bytes_per_cycle = 8, in.past_far_bytes = 1 << 20;
  auto const check = [&](fuzz::drawn const& d) {
    weft::schedule s(d.what, fuzz::extents_of(d), weft::schedule_limits{32, 64});
    weft::schedule_by_rule(s, in);
    CHECK(fuzz::check_interpreted(d, s.steps) == "");
    CHECK(fuzz::check_compiled(d, s.steps) == "");
  };
  for (std::int32_t const threads : {1, 3}) {
    in.threads = threads;
    for (std::int64_t const n : {150, 300, 4096, 1001}) check(drawn_of(total, drawn<float>(1, n))), check(drawn_of(product, drawn<float>(1, n), drawn<float>(2, n)));
    for (std::int64_t const n : {33, 150}) check(drawn_of(times_vector, drawn<float>(2, 16, n), drawn<float>(3, n)));
  }
}
TEST_CASE("terms are taken in another order only where that is allowed") {
  weft::tensor<float, 2> x(3, 1000);
  std::uint64_t state = 42;
  for (float& one : x) one = static_cast<float>((state = state * 6364136223846793005u + 1442695040888963407u) >> 40) * 0x1p-24f;
  CHECK(rows.loops(x).find("s_rf") != std::string::npos);
  CHECK(rows.with({.bitwise = true}).loops(x).find("s_rf") == std::string::npos);
  auto const in_order = weft::evaluate({.contract = weft::cpu().fma}, rows, x);
  CHECK((in_order == rows.with({.bitwise = true})(x)));
  auto const by_lanes = rows(x), one_by_one = rows.with({.plain = true})(x);
  for (std::int64_t i = 0; i < 3; ++i) CHECK(std::fabs(by_lanes(i) - one_by_one(i)) <= 1000 * 500 * 0x1p-23f);
  CHECK(place.with({.bitwise = true}).loops(x).find("_rf") == std::string::npos);
}
namespace {
/// Whole numbers, so that sums are exact: rows less their greatest element, over the sum of what is left.
inline constexpr auto less_their_greatest = weft::kernel<"less_their_greatest">([](auto x) {
  auto top = compute<"top">(x.extent(0), [=](auto i) { return weft::max(x.extent(1), [=](auto k) { return x(i, k); }); });
  auto part = compute<"part">(x.extent(0), x.extent(1), [=](auto i, auto j) { return (top(i) - x(i, j)) * (top(i) - x(i, j)) + 3 * x(i, j) - top(i); });
  auto added = compute<"added">(x.extent(0), [=](auto i) { return weft::sum(x.extent(1), [=](auto k) { return part(i, k); }); });
  return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return part(i, j) * 4 + added(i); });
});
/// The same of rows of several groups, with a row that all share.
inline constexpr auto in_groups = weft::kernel<"in_groups">([](auto x, auto w) {
  auto top = compute<"top">(x.extent(0), x.extent(1), [=](auto b, auto i) { return weft::max(x.extent(2), [=](auto k) { return x(b, i, k); }); });
  auto squares = compute<"squares">(x.extent(0), x.extent(1), [=](auto b, auto i) {
    return weft::sum(x.extent(2), [=](auto k) { return (x(b, i, k) - top(b, i)) * (x(b, i, k) - top(b, i)); });
  });
  return compute<"y">(x.extent(0), x.extent(1), x.extent(2), [=](auto b, auto i, auto j) { return x(b, i, j) * w(j) + squares(b, i) - top(b, i); });
});
}  // namespace

TEST_CASE("rows of several stages: each runs rows ahead of what reads it, all of them in one loop") {
  // On a machine with registers and caches for it: elsewhere rows stay as they are.
  weft::target machine = weft::aarch64_neon();
  machine.l1_bytes = 32 << 10, machine.l2_bytes = 1 << 20, machine.l3_bytes = 4 << 20, machine.l3_bytes_per_cycle = 0, machine.vector_units = 1, machine.threads = 1;
  auto const input = drawn<float>(1, 1031, 1024);
  std::string const loops = softmax.on(machine).loops(input), program = softmax.on(machine).ir(input);
  INFO(loops << program);
  CHECK(has_in_order(loops, {"top for i + 2", " as one with ", "e for i + 1", " as one with ", "total for i + 1", " as one with ", "for jo in 0..64 as one with "}));
  CHECK(has_in_order(program, {"for i in 0..1029:", " = max(", "e[(i + 1) %% 2, 0,", "softmax[i,", "for i in 1029..1031:"}));
  machine.threads = 2;
  std::string const shared = softmax.on(machine).loops(input);
  CHECK(has_in_order(shared, {"parallel io in 0..8", "top for ii + 2"}));
  std::string const in_pieces = softmax.on(machine).ir(input);
  INFO(in_pieces);
  CHECK(has_in_order(in_pieces, {"parallel", " = max(", "e[(ii + 1) %% 2, 0,", "softmax[io * 129 + ii,"}));
  machine.l3_bytes_per_cycle = 4;  // memory that is far was not measured
  CHECK(softmax.on(machine).loops(input).find(" as one with ") == std::string::npos);
  // Rows that no whole vectors fill, fewer rows than are worth it, and rows for which nothing is left to run ahead.
  machine.l3_bytes_per_cycle = 0;
  for (auto [m, n] : {std::array<std::int64_t, 2>{1031, 1001}, {40, 1024}, {1031, 32}})
    CHECK(softmax.on(machine).loops(drawn<float>(1, m, n)).find(" as one with ") == std::string::npos);
}
TEST_CASE("rows that run ahead give what each by itself gives, bit by bit") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{64, 256}, {65, 256}, {300, 512}, {1031, 256}}) {
    auto const x = drawn<float>(7, m, n);
    CHECK((less_their_greatest(x) == weft::evaluate({.contract = weft::cpu().fma}, less_their_greatest, x)));
  }
  auto const x = drawn<float>(3, 3, 700, 256);
  auto const w = drawn<float>(4, 256);
  CHECK((in_groups(x, w) == weft::evaluate({.contract = weft::cpu().fma}, in_groups, x, w)));
  check_rule(less_their_greatest, drawn<float>(5, 70, 256));
}
TEST_CASE("softmax of rows is exact to rounding, in rows") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{1, 1}, {7, 33}, {20, 300}}) {
    auto const x = drawn<float>(1, m, n);
    auto const got = softmax(x), exact = softmax.with({.plain = true})(x);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got.data()[i] - exact.data()[i]) <= exact.data()[i] * 300 * 0x1p-23f);
    CHECK((weft::evaluate({.contract = weft::cpu().fma}, softmax, x) == softmax.with({.bitwise = true})(x)));
  }
}

namespace {
/// Half the size, by sums.
constexpr auto halved = [](auto a) {
  return compute<"h">(a.extent(0) / 2, a.extent(1) / 2, [=](auto y, auto x) {
    return weft::sum(2, 2, [=](auto u, auto v) { return a(2 * y + u, 2 * x + v); });
  });
};
inline constexpr auto half = weft::kernel<"half">(halved);
inline constexpr auto half_and_more = weft::kernel<"half_and_more">([](auto a, auto b) {
  auto const h = halved(a);
  return compute<"m">(h.extent(0), h.extent(1), [=](auto y, auto x) { return h(y, x) * b(y, x) + 1; });
});
}  // namespace

TEST_CASE("sums of a window that moves by its own size run in lanes, by rows where one element of something else follows each") {
  for (auto [m, n] : {std::array<std::int64_t, 2>{6, 64}, {9, 75}, {4, 7}}) {
    CAPTURE(n);
    check_rule(half, drawn<float>(1, m, n));
    check_rule(half_and_more, drawn<float>(2, m, n), drawn<float>(3, m / 2, n / 2));
    check_rule(half_and_more, drawn<std::int16_t>(4, m, n), drawn<std::int16_t>(5, m / 2, n / 2));
  }
  auto const on = weft::x86_64_avx2();
  std::string const alone = half.on(on).loops(drawn<float>(1, 64, 150));
  CHECK_MESSAGE(has_in_order(alone, {"for i", "for jo", "unrolled k", "unrolled l", "vectorized ji", "h[i, j] +="}), alone);
  std::string const both = half_and_more.on(on).loops(drawn<float>(1, 64, 150), drawn<float>(2, 32, 75));
  CHECK_MESSAGE(has_in_order(both, {"for i", "  h\n", "vectorized", "h[i, j] +=", "vectorized", "m[i, j] ="}), both);
  // No mask, which would make gathers of what neighbours read, in all but the last vector.
  std::string const ir = half.on(on).ir(drawn<float>(1, 64, 150));
  CHECK_MESSAGE(ir.find("A[i * 2, ramp(jo * 16, 2, 8)]") != std::string::npos, ir);
}
TEST_CASE("rows of narrow elements that are shorter than a vector are summed by a part of one") {
  auto const row_maxima = weft::kernel<"largest">([](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return weft::max(x.extent(1), [=](auto k) { return x(i, k); }); }); });
  weft::target t = weft::x86_64_avx2();
  t.threads = 1;
  std::string const loops = row_maxima.on(t).loops(drawn<std::uint8_t>(1, 100, 19));
  INFO(loops);
  CHECK(loops.find("vectorized") != std::string::npos);
  for (std::int64_t n : {15, 16, 17, 31, 33, 63, 65}) {
    check_rule(row_maxima, drawn<std::uint8_t>(1, 9, n));
    check_rule(row_maxima, drawn<std::int16_t>(2, 9, n));
    check_rule(row_maxima, drawn<std::int8_t>(3, 1, n));
  }
}
