#include "weft/bench/benchmark.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "support/child_process.hpp"
#include "support/comma_locale.hpp"
#include "support/private_cache.hpp"
#include "weft/bench.hpp"
#include "weft/bench/kept_peaks.hpp"
#include "weft/bench/peak.hpp"
#include "weft/runtime/thread_pool.hpp"
#include "weft/ops.hpp"
#include "weft/weft.hpp"

namespace {
constexpr weft::measuring quick{.sample_ms = 0.1, .budget_ms = 2};

constexpr auto product = weft::kernel<"product">(weft::ops::matmul);
constexpr auto sum = weft::kernel<"sum">([](auto x, auto y) {
  return weft::compute<"z">(x.extent(0), [=](auto i) { return x(i) + y(i); });
});
template <class Kernel, class... A>
weft::bench::counts counts_of(Kernel const& k, A const&... a) {
  return weft::benchmark(quick, k, a...).lines[0].done;
}
}  // namespace

TEST_CASE("counts: a product of matrices does 2 m n k and moves each matrix once") {
  weft::tensor<float, 2> a(5, 7), b(7, 11), c(5, 11);
  auto const done = counts_of(product, a, b, weft::out(c));
  CHECK(done.operations == 2 * 5 * 7 * 11);
  CHECK(done.bytes == 4 * (5 * 7 + 7 * 11 + 5 * 11));
}

TEST_CASE("counts: subscripts, casts, conditions and constants are no arithmetic, and what is used twice is done once") {
  static constexpr auto k = weft::kernel<"k">([](auto x, auto by) {
    return weft::compute<"y">(x.extent(0) / 2, [=](auto i) {
      auto const v = weft::exp(x(2 * i + 1)) * by;                           // 2
      return weft::select(x(i) < 0.5f, v + v, weft::cast<float>(weft::cast<double>(x(i)) * 2.0));  // 1 + 1
    });
  });
  weft::tensor<float, 1> x(20), y(10);
  auto const done = counts_of(k, x, 3.0f, weft::out(y));
  CHECK(done.operations == 4 * 10);
  CHECK(done.bytes == 4 * (20 + 10));
}

TEST_CASE("counts: stages between add their arithmetic, but no memory") {
  static constexpr auto softmax = weft::kernel<"softmax">(weft::ops::softmax);
  weft::tensor<float, 2> x(3, 8), y(3, 8);
  auto const done = counts_of(softmax, x, weft::out(y));
  CHECK(done.operations == 24 * (1 + 2 + 1 + 2));  // max; x - top and exp; sum; by 1 over it
  CHECK(done.bytes == 2 * 4 * 24);
}

TEST_CASE("counts: a convolution counts its taps, those in the padding too") {
  static constexpr auto conv = weft::kernel<"conv">([](auto x, auto w) {
    return weft::ops::conv2d(x, w, {.stride = {2, 2}, .padding = {1, 1}});
  });
  weft::tensor<float, 4> x(1, 3, 8, 8), w(4, 3, 3, 3), y(1, 4, 4, 4);
  CHECK(counts_of(conv, x, w, weft::out(y)).operations == 2 * 4 * 4 * 4 * 27);
}

TEST_CASE("benchmark runs the kernel on the arguments, and its figures fit each other") {
  weft::tensor<float, 1> x(1000), y(1000), z(1000);
  for (std::int64_t i = 0; i < 1000; ++i) x(i) = 1, y(i) = static_cast<float>(i);
  auto const r = weft::benchmark(quick, sum, x, y, weft::out(z));
  CHECK(z(999) == 1000);
  REQUIRE(r.lines.size() == 1);
  weft::benchmark_line const& line = r.lines[0];
  CHECK(line.name == "sum");
  CHECK(line.gflops() == doctest::Approx(1000 / line.time.median));
  CHECK(line.gbs() == doctest::Approx(12000 / line.time.median));
  CHECK(line.threads == 1);
  CHECK(line.peak_gflops > 0);
  CHECK(line.peak_gbs > 0);
  CHECK(line.of_roofline() == doctest::Approx(12000 / line.peak_gbs / line.time.median));
  CHECK(r.text().find("GFLOP/s") != std::string::npos);
}

TEST_CASE("the roofline of f64 is at half the arithmetic of f32, and that of other types is not told") {
  weft::tensor<float, 2> a(4, 4), c(4, 4);
  weft::tensor<double, 2> x(4, 4), z(4, 4);
  weft::tensor<std::int32_t, 2> i(4, 4), k(4, 4);
  auto const single = weft::benchmark(quick, product, a, a, weft::out(c)).lines[0];
  auto const twice = weft::benchmark(quick, product, x, x, weft::out(z)).lines[0];
  auto const other = weft::benchmark(quick, product, i, i, weft::out(k)).lines[0];
  CHECK(single.peak_gflops == weft::bench::peaks_of(1).gflops);
  CHECK(twice.peak_gflops == single.peak_gflops / 2);
  CHECK(other.peak_gflops == 0);
  CHECK(other.of_roofline() == 0);
  CHECK(weft::benchmark(quick, product, i, i, weft::out(k)).text().find("roofline") == std::string::npos);
  CHECK(single.of_roofline() > 0);
}

TEST_CASE("the peaks are those of the threads that there are for the kernel") {
  for (int const threads : {2, 3}) {
    CHECK(weft::bench::peaks_of(threads).gflops == threads * weft::bench::peaks_of(1).gflops);
    CHECK(weft::bench::peaks_of(threads).gbs > 0);
  }
  // WEFT_THREADS may say how many they are.
  auto const none = [](void*, std::int64_t) {};
  auto const line = weft::bench::of_kernel("k", "y: parallel(i)", {}, {none, nullptr}, quick).lines[0];
  CHECK(line.threads == weft::runtime::default_pool().threads());
}

TEST_CASE("peaks are kept on disk, the larger ones, and what is damaged or of another machine is none") {
  using namespace weft::bench::detail;
  weft_test::private_cache const here;
  std::string const key = peaks_key();
  CHECK(key.find(std::to_string(weft::host().l2_bytes)) != std::string::npos);
  peak_table found;
  CHECK_FALSE(find_peaks(key, found));
  CHECK(keep_peaks(key, {120, {1, 2}, {30, 40}}));
  CHECK(keep_peaks(key, {110, {2, 8}, {45, 70}}));
  REQUIRE(find_peaks(key, found));
  CHECK(found.gflops == 120);
  CHECK(found.gbs_of(1) == 30);
  CHECK(found.gbs_of(2) == 45);
  CHECK(found.gbs_of(8) == 70);
  CHECK(found.gbs_of(3) == 0);
  CHECK_FALSE(find_peaks(key + "x", found));
  std::string file;
  for (std::string const& name : here.files())
    if (name.find(".peaks") != std::string::npos) file = here.path + "/" + name;
  std::string const good = weft_test::content(file);
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    weft_test::write_file(file, bad);
    CHECK_FALSE(find_peaks(key, found));
  }
  // Whole, and no machine's.
  for (peak_table const& t : {peak_table{1e9, {}, {}}, peak_table{-1, {1}, {1e9}}, peak_table{100, {0}, {10}}}) {
    std::remove(file.c_str());
    CHECK(keep_peaks(key, t));
    CHECK_FALSE((find_peaks(key, found) && (found.gflops > 1e5 || !found.gbs.empty())));
  }
}
TEST_CASE("another process takes the peaks that are kept, and one without a cache measures them") {
  weft_test::private_cache const here;
  std::string const key = weft::bench::detail::peaks_key();
  REQUIRE(weft::bench::detail::keep_peaks(key, {0.001, {1}, {66666}}));  // far less than the machine has
  CHECK(weft::test::run_case("child: peaks that are too low", "WEFT_TEST_CACHE", here.path.c_str()) == 0);
  weft::bench::detail::peak_table found;
  REQUIRE(weft::bench::detail::find_peaks(key, found));
  CHECK(found.gflops > 0.1);
  CHECK(found.gbs_of(1) == 66666);
  REQUIRE(weft::bench::detail::keep_peaks(key, {77777, {1}, {66666}}));
  CHECK(weft::test::run_case("child: peaks from disk", "WEFT_TEST_CACHE", here.path.c_str()) == 0);
  CHECK(weft::test::run_case("child: peaks measured", "WEFT_CACHE", "off") == 0);
}
TEST_CASE("child: peaks from disk" * doctest::skip()) {
  CHECK(weft::bench::peaks_of(1).gflops == 77777);
  CHECK(weft::bench::peaks_of(1).gbs == 66666);
}
TEST_CASE("child: peaks that are too low" * doctest::skip()) {
  CHECK(weft::bench::peaks_of(1).gflops == 0.001);
  weft::tensor<float, 2> a(64, 64), c(64, 64);
  auto const line = weft::benchmark(quick, product, a, a, weft::out(c)).lines[0];
  CHECK(line.peak_gflops > line.gflops() / 1.5);  // measured again, since the product was faster
}
TEST_CASE("child: peaks measured" * doctest::skip()) {
  weft::bench::machine_peaks const p = weft::bench::peaks_of(1);
  CHECK(p.gflops > 0);
  CHECK(p.gflops < 70000);
  CHECK(p.gbs < 60000);
}

TEST_CASE("the same thing twice is the same, half of it is faster; all stands in the table and in JSON") {
  std::vector<float> v(1 << 12, 1.0f);
  auto const pass = [&v](int times) {
    return [&v, times] {
      for (int n = 0; n < times; ++n)
        for (float& e : v) e = e * 0.5f + 1.0f;
    };
  };
  // The bodies are the same code, so only the work differs.
  weft::measuring const how{.sample_ms = 0.2, .budget_ms = 60};
  auto const r = weft::compare({{"two \"passes\"", pass(2)}, {"one", pass(1)}, {"four", pass(4)}}, how);
  REQUIRE(r.lines.size() == 3);
  CHECK(r.lines[1].found == weft::bench::outcome::faster);
  CHECK(r.lines[2].found == weft::bench::outcome::slower);
  CHECK(r.lines[2].over_first.value > 1);
  std::string const json = r.json();
  CHECK(json.find("{\"name\":\"two \\\"passes\\\"\"") != std::string::npos);
  CHECK(json.find("\"verdict\":\"faster\"") != std::string::npos);
  CHECK(json.find("\"verdict\":\"slower\"") != std::string::npos);
  std::ostringstream out;
  out << r;
  CHECK(out.str() == r.text());
  CHECK(out.str().find("one") != std::string::npos);
}

TEST_CASE("names of any bytes stand in one line and column of the table, and in JSON as UTF-8") {
  volatile int n = 0;
  auto const work = [&n] { n = n + 1; };
  weft::measuring const how{.sample_ms = 0.01, .budget_ms = 1};
  auto const r = weft::compare({{"gr\xc3\xb6\xc3\x9f" "e", work}, {"grosse\nzeile", work}, {"\xff\xc3(", work}}, how);
  std::string const text = r.text(), json = r.json();
  INFO(text);
  CHECK(text.find("gr\xc3\xb6\xc3\x9f" "e          ") == 0);
  CHECK(text.find("\ngrosse?zeile  ") != std::string::npos);
  CHECK(text.find("\n?\?(            ") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(json.find("{\"name\":\"gr\xc3\xb6\xc3\x9f" "e\"") != std::string::npos);
  CHECK(json.find("\"grosse\\u000azeile\"") != std::string::npos);
  CHECK(json.find("\"\\ufffd\\ufffd(\"") != std::string::npos);
}

TEST_CASE("the peak of memory is measured within a part of the memory that is free, whatever the caches of the server are") {
  CHECK(weft::bench::bytes_beyond_caches() <= std::int64_t(256) << 20);
  CHECK(weft::bench::bytes_beyond_caches() >= std::int64_t(8) << 20);
}

TEST_CASE("of too few samples the verdict is that it is not known, and not that both are the same") {
  volatile int n = 0;
  auto const work = [&n] { n = n + 1; };
  auto const r = weft::compare({{"one", work}, {"two", work}}, {.sample_ms = 0.01, .budget_ms = 1, .fewest = 3, .most = 3});
  CHECK(r.lines[1].found == weft::bench::outcome::same);
  CHECK(r.text().find("not known") != std::string::npos);
  CHECK(r.json().find("\"verdict\":\"not known\"") != std::string::npos);
}

TEST_CASE("what other programs read of measurements is the same in every locale") {
  weft::benchmark_result r;
  for (char const* name : {"one", "two"}) {
    weft::benchmark_line l;
    l.name = name, l.time.median = 1.5, l.time.fastest = 1.25, l.time.spread = 0.5, l.done.operations = 2.5, l.over_first.value = 0.75;
    r.lines.push_back(l);
  }
  std::string const json = r.json();
  CHECK(json.find("\"median_ns\":1.5,") != std::string::npos);
  weft_test::comma_locale const comma;
  if (comma.is_there()) CHECK(r.json() == json);
}
