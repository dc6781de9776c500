#include "weft/tune/verify.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "support/private_cache.hpp"
#include "support/said.hpp"
#include "support/sanitized.hpp"
#include "weft/base/joined.hpp"
#include "weft/expr/math/functions.hpp"
#include "weft/tune.hpp"

using namespace weft;
using namespace weft::tuning;

namespace {
template <class... T>
element_list floats(T... x) {
  return {dtype::f32, {to_bits(static_cast<float>(x))...}};
}
inline constexpr auto doubled = weft::kernel<"doubled">(
    [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f; }); },
    [](auto& s, auto, auto y) {
      auto [i] = y.axes();
      auto [io, ii] = s.split(i, s.knob("n", {64, 16, 32}));
      s.vectorize(ii);
      static_cast<void>(io);
    });
inline constexpr auto product = weft::kernel<"checked_product">(
    [](auto A, auto B) {
      return compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
        return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto [jo, ji] = s.split(j, s.knob("nr", {16, 8}));
      s.reorder(i, jo, k, ji);
      s.vectorize(ji);
    });
inline constexpr auto scaled_sums = weft::kernel<"scaled_sums">(
    [](auto x, auto f) {
      return compute<"y">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return x(i, k) * f; }); });
    },
    [](auto& s, auto, auto, auto y) {
      auto [i, k] = y.axes();
      if (s.knob("late", {0, 1}) != 0) s.reorder(k, i);
    });
/// Adds a line to the loop program of some candidates.
struct planted {
  std::string line;
  bool in_first, in_others;
  static void see(void* context, sequence<std::int32_t> const& choices, std::string& loops) {
    auto const& p = *static_cast<planted const*>(context);
    if (!(choices[0] == 0 ? p.in_first : p.in_others)) return;
    std::string line = p.line;  // in which @ is the first input
    std::size_t const name = loops.find("  buffer ") + 9;
    if (std::size_t const at = line.find('@'); at != std::string::npos) line.replace(at, 1, loops.substr(name, loops.find(':', name) - name));
    loops += line;
  }
};
template <class Kernel, class... A>
tune_result with_planted(Kernel const& kernel, planted& p, A const&... a) {
  tune_options o;
  o.trials = 2, o.keep = false, o.worker = isolation::forked;
  return kernel.erased(
      [&](kernel_face const& f, argument* arguments, int count) { return tune(f, arguments, count, o, {&p, planted::see}); }, a...);
}
/// All others are found wrong, and the first one stays.
void check_others_are_wrong(tune_result const& r, char const* why) {
  REQUIRE(r.trials.size() > 1);
  for (std::size_t i = 1; i < r.trials.size(); ++i) {
    INFO(r.trials[i].why);
    CHECK(r.trials[i].wrong);
    CHECK(r.trials[i].why.find(why) != std::string::npos);
  }
  CHECK(r.choices == r.trials[0].choices);
}
std::vector<float> positive(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 0.01f + static_cast<float>(i * 37 % 101) / 50;
  return v;
}
}  // namespace

TEST_CASE("bits tell 0 from -0, and NaNs are one value; else both zeros are equal") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  element_list const zero = floats(1, 0), negative = floats(1, -0.0f), one = floats(nan, 1), other = floats(-nan, 1);
  CHECK(difference(zero, negative, {.bitwise = true}).find("element 1") == 0);
  CHECK(difference(zero, negative, {.terms = 8}).empty());
  CHECK(difference(zero, zero, {.bitwise = true}).empty());
  for (bool const bitwise : {false, true}) {
    CHECK(difference(one, other, {bitwise, 8}).empty());
    CHECK_FALSE(difference(one, floats(2, 1), {bitwise, 8}).empty());
  }
}
TEST_CASE("outputs that are compared where they stand are let pass as lists of their elements are") {
  auto const agree = [](element_list expected, argument const& a, char const* data, tolerance const& t) {
    make_ready(expected);
    element_list without = expected;
    without.bytes.clear();  // one by one
    bool const like = difference(expected, elements_of(a, data), t).empty();
    CHECK(is_like(expected, a, data, t) == like);
    CHECK(is_like(without, a, data, t) == like);
    return like;
  };
  auto const of = [](dtype type, void* data, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
    argument a;
    a.data = data, a.type = type, a.rank = 2;
    a.extents[0] = rows, a.extents[1] = columns, a.strides[0] = pitch, a.strides[1] = 1;
    return a;
  };
  std::int64_t const columns = 37, apart = 40;
  std::vector<float> memory(static_cast<std::size_t>(5 * apart), -1.0f);
  char const* const data = reinterpret_cast<char const*>(memory.data());
  for (std::int64_t rows : {std::int64_t(1), std::int64_t(5)})
    for (std::int64_t pitch : {columns, apart}) {
      argument const a = of(dtype::f32, memory.data(), rows, columns, pitch);
      auto const place = [&](std::int64_t n) -> float& { return memory[static_cast<std::size_t>(n / columns * pitch + n % columns)]; };
      for (std::int64_t n = 0; n < rows * columns; ++n) place(n) = static_cast<float>(n);
      element_list const all = elements_of(a, data);
      REQUIRE(all.bits.size() == static_cast<std::size_t>(rows * columns));
      CHECK(all.bits.back() == to_bits(static_cast<float>(rows * columns - 1)));
      for (tolerance const t : {tolerance{}, tolerance{false, 1000}, tolerance{true, 1000}}) {
        CHECK(agree(all, a, data, t));
        for (std::int64_t n = 0; n < rows * columns; ++n) {
          float const was = place(n);
          place(n) = was + 1.0f;
          CHECK_FALSE(agree(all, a, data, t));
          place(n) = was + 0.001f;
          CHECK(agree(all, a, data, t) == (t.terms > 1 && !t.bitwise));
          place(n) = std::numeric_limits<float>::quiet_NaN();
          CHECK_FALSE(agree(all, a, data, t));
          element_list with_nan = all;
          with_nan.bits[static_cast<std::size_t>(n)] = to_bits(-std::numeric_limits<float>::quiet_NaN());
          CHECK(agree(with_nan, a, data, t));
          place(n) = was;
        }
      }
    }
  std::vector<std::int16_t> whole{1, -2, 3};
  argument const a = of(dtype::i16, whole.data(), 1, 3, 3);
  CHECK(agree({dtype::i16, {1, -2, 3}}, a, reinterpret_cast<char const*>(whole.data()), {}));
  CHECK_FALSE(agree({dtype::i16, {1, -2, 4}}, a, reinterpret_cast<char const*>(whole.data()), {}));
}
TEST_CASE("where nothing is summed up, one large element does not excuse the small ones") {
  element_list const expected = floats(1e6, 2, 0, 2), all_zero = floats(1e6, 0, 0, 0), near = floats(1e6, 2 + 2.5e-7, 0, 2);
  CHECK(difference(expected, all_zero, {}).find("element 1") == 0);
  CHECK_FALSE(difference(expected, near, {}).empty());
  CHECK(difference(expected, near, {.terms = 64}).empty());
  CHECK(difference(expected, floats(1e6, 2, -0.0f, 2), {}).empty());
}

TEST_CASE("a candidate that is wrong in the tail, in one tile, or behind a million elements only is found wrong") {
  std::vector<float> const x = positive((1 << 20) + 70);
  planted tail{"  y[1048645] = y[1048645] + 0.5f32\n", false, true}, behind{"  y[1048577] = 0.0f32\n", false, true};
  for (planted* p : {&tail, &behind}) check_others_are_wrong(with_planted(doubled, *p, x), "instead of");
  std::vector<float> const a = positive(50 * 30), b = positive(30 * 70);
  planted tile{"  for i in 16..20:\n    C[i, 33] = C[i, 33] + 0.25f32\n", false, true};
  // `i` is a variable of the loops.
  check_others_are_wrong(with_planted(product, tile, view(a, 50, 30), view(b, 30, 70)), "instead of");
}
TEST_CASE("one term of a long sum too few is found by whole numbers, which the tolerance for rounding lets pass") {
  std::vector<float> x = positive(3 * 5000);
  x.back() = 0.1f;
  std::string const missing = "  y[2] = y[2] - @[2, 4999]\n";
  planted p{missing, false, true};
  tune_result const r = with_planted(scaled_sums, p, view(x, 3, 5000), 1.0f);
  check_others_are_wrong(r, "on whole numbers, element 2 is ");
  CHECK(r.checked.find("the same on whole numbers, to the bit") != std::string::npos);
  // By a number that is none, nothing is exact: rounding and a term cannot be told apart.
  tune_result const rounded = with_planted(scaled_sums, p, view(x, 3, 5000), 0.9f);
  CHECK(rounded.checked.find("whole") == std::string::npos);
  for (tune_trial const& t : rounded.trials) CHECK_FALSE(t.wrong);
  // Of the first schedule direct evaluation finds it.
  planted first{missing, true, false};
  CHECK(weft_test::said_by([&] { with_planted(scaled_sums, first, view(x, 3, 5000), 1.0f); }).find("without tuning, element 2 is ") != std::string::npos);
}
TEST_CASE("where one element is larger than all others by far, whole numbers say what a candidate does to these, or the result says that little is seen") {
  std::vector<float> a = positive(50 * 30), b = positive(30 * 70);
  a[0] = 1e8f;
  planted wrong{"  C[7, 9] = 0.0f32\n", false, true};
  tune_result const r = with_planted(product, wrong, view(a, 50, 30), view(b, 30, 70));
  check_others_are_wrong(r, "on whole numbers, element 499 is 0 instead of ");
  planted none{"", false, false};
  char const* const little = "; most elements are so much smaller than the largest that little is seen of them: tune with inputs of one magnitude";
  CHECK(with_planted(scaled_sums, none, view(a, 50, 30), 0.9f).checked.find(little) != std::string::npos);
  a[0] = 1;
  CHECK(with_planted(product, none, view(a, 50, 30), view(b, 30, 70)).checked.find("whole") == std::string::npos);
  CHECK(with_planted(scaled_sums, none, view(a, 50, 30), 0.9f).checked.find("little") == std::string::npos);
}
TEST_CASE("a maximum that meets a NaN hangs on its order: candidates are compared on whole numbers, and none is blamed for the order") {
  weft_test::private_cache const here;
  std::vector<float> x = positive(512 * 3);
  for (std::size_t i = 0; i < x.size(); i += 5) x[i] = std::numeric_limits<float>::quiet_NaN();
  static constexpr auto largest = weft::kernel<"largest">([](auto A) {
    return compute<"m">(A.extent(0), [=](auto i) { return weft::max(A.extent(1), [=](auto k) { return A(i, k); }); });
  });
  static constexpr auto roots = weft::kernel<"roots">([](auto A) {
    return compute<"m">(A.extent(0), [=](auto i) { return weft::min(A.extent(1), [=](auto k) { return weft::sqrt(A(i, k)); }); });
  });
  tune_options o{.trials = 6, .seconds = 5};
  o.keep = false, o.worker = isolation::forked;
  tune_result const r = tune(largest, o, view(x, 512, 3));
  INFO(r.checked);
  CHECK(r.checked.find("no element of these inputs: a maximum or minimum forgets what was before a NaN") == 0);
  CHECK(r.checked.find("the same on whole numbers, to the bit") != std::string::npos);
  for (tune_trial const& t : r.trials) CHECK_FALSE(t.wrong);
  CHECK(tune(roots, o, view(x, 512, 3)).checked.find("whole numbers") == std::string::npos);
  o.bitwise = true;  // the order is kept
  CHECK(tune(largest, o, view(x, 512, 3)).checked.find("by direct evaluation") != std::string::npos);
  x = positive(512 * 3), o.bitwise = false;
  CHECK(tune(largest, o, view(x, 512, 3)).checked.find("by direct evaluation") != std::string::npos);
}
TEST_CASE("of inputs that nobody has filled whole numbers say what a candidate leaves out, or the result says that little is seen") {
  std::vector<float> const zeros(50 * 30), others(30 * 70);
  planted part{"  for i in 16..20:\n    C[i, 33] = 0.0f32\n", false, true};  // what stands there anyway
  tune_result const r = with_planted(product, part, view(zeros, 50, 30), view(others, 30, 70));
  check_others_are_wrong(r, "on whole numbers, element 1153 is 0 instead of ");
  CHECK(r.checked.find("the same on whole numbers, to the bit") != std::string::npos);
  planted none{"", false, false};
  std::vector<float> x(100);
  CHECK(with_planted(doubled, none, x).checked.find("whole numbers") != std::string::npos);
  // By 0.9 nothing stays whole, and what is written over is not there for direct evaluation.
  char const* const little = "; all elements of an output are the same, of which little is seen: tune with inputs that differ";
  CHECK(with_planted(scaled_sums, none, view(x, 10, 10), 0.9f).checked.find(little) != std::string::npos);
  CHECK(with_planted(doubled, none, x, out(x)).checked.find(little) != std::string::npos);
  // Nor by a number that makes all of them 0.
  std::vector<float> const three = positive(3 * 5000);
  std::string const checked = with_planted(scaled_sums, none, view(three, 3, 5000), 0.0f).checked;
  CHECK(checked.find(little) != std::string::npos);
  CHECK(checked.find("to the bit") == std::string::npos);
  x = positive(100);
  CHECK(with_planted(doubled, none, x).checked.find("whole numbers") == std::string::npos);
  CHECK(with_planted(scaled_sums, none, view(x, 10, 10), 0.9f).checked.find("little") == std::string::npos);
  CHECK(with_planted(scaled_sums, none, view(zeros, 1, 100), 0.9f).checked.find("little") == std::string::npos);  // one element is not the same as another
}
TEST_CASE("what writes over its input is compared, and not on whole numbers; bitwise, a first schedule has to keep sums in order") {
  static constexpr auto running = weft::kernel<"summed_in_place">(
      [](auto x) {
        auto const s = compute<"s">(1, [=](auto) { return sum(x.extent(0), [=](auto k) { return x(k); }); });
        return compute<"y">(x.extent(0), [=](auto i) { return x(i) - s(0); });
      },
      [](auto& s, auto, auto, auto y) {
        auto [i] = y.axes();
        s.split(i, s.knob("n", {16, 4}));
      });
  std::vector<float> x = positive(2048);
  planted none{"", false, false}, wrong{"  y[2047] = y[2047] + 1.0f32\n", false, true};
  tune_result const r = with_planted(running, none, x, out(x));
  CHECK(r.checked.find("whole") == std::string::npos);
  for (tune_trial const& t : r.trials) CHECK_FALSE(t.wrong);
  check_others_are_wrong(with_planted(running, wrong, x, out(x)), "instead of");
  std::vector<float> const a = positive(4 * 1500);
  tune_options o;
  o.trials = 2, o.keep = false, o.worker = isolation::forked, o.bitwise = true;
  static constexpr auto in_parts = weft::kernel<"in_parts">(
      [](auto v) { return compute<"y">(v.extent(0), [=](auto i) { return sum(v.extent(1), [=](auto k) { return v(i, k) * 0.7f; }); }); },
      [](auto& s, auto, auto y) {
        auto [i, k] = y.axes();
        if (s.knob("whole", {0, 1}) != 0) return;
        auto [parts, v] = s.rfactor(y, k, 4);
        static_cast<void>(parts), static_cast<void>(v), static_cast<void>(i);
      });
  // One whose first values take sums in parts is no such schedule.
  CHECK(weft_test::said_by([&] { tune(in_parts, o, view(a, 4, 1500)); }).find("bitwise, and the first values of the knobs give a schedule without the bits of direct evaluation") != std::string::npos);
}
TEST_CASE("direct evaluation takes long sums, as long as an element takes no more than it may") {
  std::vector<float> const x(1600000, 1.0f);
  planted none{"", false, false};
  CHECK(with_planted(scaled_sums, none, view(x, 8, 20000), 0.9f).checked.find(" elements by direct evaluation") != std::string::npos);
  CHECK(with_planted(scaled_sums, none, view(x, 1, 1600000), 0.9f).checked.find("direct evaluation would take too long") != std::string::npos);
}
TEST_CASE("elements of a row that share its sums are evaluated together, and a wrong tile is found among them") {
  static constexpr auto shares = weft::kernel<"shares_of_rows">([](auto x) {
    auto const s = compute<"s">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return x(i, k); }); });
    return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) / s(i); });
  });
  auto const checked = [](std::int64_t rows, std::int64_t columns, std::int64_t wrong_rows, std::string& why) {
    tensor<float, 2> x(rows, columns), y(rows, columns);
    for (std::int64_t i = 0; i < rows * columns; ++i) x.data()[i] = 1.0f + static_cast<float>(i % 7);
    for (std::int64_t i = 0; i < rows; ++i) {
      float total = 0;
      for (std::int64_t j = 0; j < columns; ++j) total += x(i, j);  // whole numbers: exact
      for (std::int64_t j = 0; j < columns; ++j) y(i, j) = x(i, j) / total * (i >= 5 && i < 5 + wrong_rows && j >= 70 && j < 110 ? 1.5f : 1.0f);
    }
    int count_checked = 0;
    shares.erased(
        [&](kernel_face const& f, argument* arguments, int count) {
          sequence<element_list> const outputs{elements_of(arguments[count - 1], static_cast<char const*>(arguments[count - 1].data))};
          why = check_samples(f.what(f.object), host().fma, arguments, count, outputs, {}, count_checked);
          return 0;
        },
        x, out(y));
    return count_checked;
  };
  std::string why;
  CHECK(checked(40, 200, 0, why) > 200);
  CHECK(why.empty());
  checked(40, 200, 16, why);
  CHECK(why.find(" instead of ") != std::string::npos);
  // Its sum takes an eighth of the time that all may take (27 ms of 0.2 s, without optimization): each anew, there would be some eight.
  CHECK(checked(1, weft_test::is_sanitized ? 20000 : 100000, 0, why) > 100);
  CHECK(why.empty());
}
TEST_CASE("where a candidate contradicts the schedule without tuning, direct evaluation says which is wrong") {
  std::vector<float> const x = positive(100000);
  planted p{"  y[77777] = y[77777] + 0.5f32\n", true, false};
  tune_result const r = with_planted(doubled, p, x);  // which goes on, and takes what is right
  CHECK(r.checked.find("; the schedule without tuning is wrong: element 77777 is ") != std::string::npos);
  CHECK(r.checked.find("as a candidate and direct evaluation say") != std::string::npos);
  REQUIRE(r.trials.size() == 2);
  CHECK(r.trials[0].wrong);
  CHECK_FALSE(r.trials[1].wrong);
  CHECK(r.choices == r.trials[1].choices);
}
TEST_CASE("sums that cancel are compared within what their terms allow, and no further") {
  // Rows of large terms and their negatives: what is left is rounding, more of it in one order than in another.
  std::vector<float> x(4 * 1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (i % 1000 < 500 ? 1.0f : -1.0f) * (1000.1f + 0.37f * static_cast<float>(i % 500));
  float const little = 0.001f, much = 500.0f;
  for (float by : {little, much}) {
    std::string const line = "  y[2] = y[2] + " + std::to_string(by) + "f32\n";
    planted first{line, true, false}, others{line, false, true};
    tune_result const r = with_planted(scaled_sums, others, view(x, 4, 1000), 0.9f);
    REQUIRE(r.trials.size() == 2);
    CHECK(r.trials[1].wrong == (by == much));
    CHECK_FALSE(r.trials[0].wrong);
    if (by == little) CHECK_FALSE(with_planted(scaled_sums, first, view(x, 4, 1000), 0.9f).trials[0].wrong);
  }
}
TEST_CASE("what is left of equal numbers less their mean is rounding, and no fault of a schedule; a wrong element is still one") {
  static constexpr auto less_mean = [](auto x) {
    float const part = 1.0f / 1024;  // of rows of 1000 not quite the mean
    auto const s = compute<"s">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return x(i, k); }); });
    auto const m = compute<"m">(x.extent(0), [=](auto i) { return s(i) * part; });
    auto const v = compute<"v">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return (x(i, k) - m(i)) * (x(i, k) - m(i)) * part; }); });
    return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return (x(i, j) - m(i)) / sqrt(v(i) + 1e-5f); });
  };
  static constexpr auto centred = weft::kernel<"centred">(less_mean);
  static constexpr auto by_hand = weft::kernel<"centred_by_hand">(less_mean, [](auto& s, auto, auto, auto, auto, auto y) {
    auto [i, j] = y.axes();
    if (s.knob("turned", {0, 1}) != 0) s.reorder(j, i);
  });
  planted none{"", false, false}, wrong{"  y[3, 17] = y[3, 17] + 1.0f32\n", false, true};
  for (float const value : {0.1f, 0.7f, 100.1f, 1000.1f})
    for (std::int64_t const columns : {1000, 1024}) {
      CAPTURE(value);
      CAPTURE(columns);
      std::vector<float> x(static_cast<std::size_t>(8 * columns), value);
      tune_result const r = with_planted(centred, none, view(x, 8, columns));
      for (tune_trial const& t : r.trials) CHECK_MESSAGE(!t.wrong, t.why);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.001f * value * static_cast<float>(i % 11);
      tune_result const q = with_planted(by_hand, wrong, view(x, 8, columns));
      REQUIRE(q.trials.size() == 2);
      CHECK_FALSE(q.trials[0].wrong);
      CHECK(q.trials[1].wrong);
    }
}
TEST_CASE("sums of which nothing is left, and integers that hang on a sum's rounding, are what an order of terms makes of them") {
  std::vector<float> x(8 * 1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (i % 2 == 0 ? 1e10f : -1e10f) + (i % 2 == 0 ? 1.0f : -1.0f) * 4096.0f * static_cast<float>(i % 1000 / 2);
  static constexpr auto sums = weft::kernel<"sums">([](auto v) { return compute<"y">(v.extent(0), [=](auto i) { return sum(v.extent(1), [=](auto k) { return v(i, k); }); }); });
  static constexpr auto tens = weft::kernel<"tens">([](auto v) {
    auto const t = compute<"t">(v.extent(0), [=](auto i) { return sum(v.extent(1), [=](auto k) { return v(i, k); }); });
    return compute<"y">(v.extent(0), [=](auto i) { return cast<std::int32_t>(t(i)); });
  });
  planted none{"", false, false}, wrong{"  y[3] = y[3] + 1i32\n", false, true};
  for (tune_trial const& t : with_planted(sums, none, view(x, 8, 1000)).trials) CHECK_MESSAGE(!t.wrong, t.why);
  std::vector<float> const tenths(8 * 1000, 0.1f);  // a hundred, or a little less
  for (tune_trial const& t : with_planted(tens, none, view(tenths, 8, 1000)).trials) CHECK_MESSAGE(!t.wrong, t.why);
  std::vector<float> const clear(8 * 1000, 0.1005f);
  tune_result const r = with_planted(tens, wrong, view(clear, 8, 1000));
  REQUIRE(r.trials.size() == 2);
  CHECK(r.trials[1].wrong);
}
TEST_CASE("what writes over its own input is timed on the caller's numbers, not on what is left of them after a thousand calls") {
  static constexpr auto shrunk = weft::kernel<"shrunk">(
      [](auto v) { return compute<"y">(v.extent(0), [=](auto i) { return v(i) * 0.9f; }); },
      [](auto& s, auto, auto y) {
        auto [i] = y.axes();
        if (s.knob("lanes", {0, 1}) == 0) return;
        auto [io, ii] = s.split(i, 16);
        s.vectorize(ii);
        static_cast<void>(io);
      });
  std::vector<float> x(1024, 1.0f);
  planted none{"", false, false};
  tune_result const r = with_planted(shrunk, none, x, out(x));
  REQUIRE(r.trials.size() == 2);
  CHECK(x[0] == 1.0f);
  // Of denormal numbers a call takes 20 us and more, 20 to 50 times as long.
  if (!weft_test::is_sanitized)
    for (tune_trial const& t : r.trials) CHECK(t.ns < 10000);
}
TEST_CASE("numbers stay whole in sums and products, and not behind a division, a root, or past 2^24") {
  auto const exact = [](auto const& kernel, auto const&... a) {
    return kernel.erased([](kernel_face const& f, argument* arguments, int) { return whole_numbers_stay_exact(f.what(f.object), arguments); }, a...);
  };
  std::vector<float> const x(64, 1.0f);
  auto const rows = view(x, 8, 8);
  CHECK(exact(product, rows, rows));
  CHECK(exact(doubled, x));
  CHECK(exact(scaled_sums, rows, 2.0f));
  CHECK_FALSE(exact(scaled_sums, rows, 0.5f));
  CHECK_FALSE(exact(scaled_sums, rows, 1048577.0f));
  static constexpr auto mean = weft::kernel<"mean">([](auto v) {
    auto const s = compute<"s">(v.extent(0), [=](auto i) { return sum(v.extent(1), [=](auto k) { return v(i, k); }); });
    return compute<"m">(v.extent(0), [=](auto i) { return s(i) / 8.0f; });
  });
  static constexpr auto chain = weft::kernel<"chain">([](auto v) {
    auto const s = compute<"s">(v.extent(0), [=](auto i) { return sum(v.extent(1), [=](auto k) { return v(i, k) * v(k, i); }); });
    return compute<"m">(v.extent(0), [=](auto i) { return max(v.extent(1), [=](auto k) { return select(s(i) < 0.0f, v(i, k), s(k) - 1.0f); }); });
  });
  CHECK_FALSE(exact(mean, rows));
  CHECK(exact(chain, rows));
}
