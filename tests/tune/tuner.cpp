#include "weft/tune.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stop_token>
#include <string>
#include <vector>

#include "support/child_process.hpp"
#include "support/private_cache.hpp"
#include "tune/recorded_kernels.hpp"
#include "weft/direct.hpp"
#include "weft/expr/expand.hpp"
#include "weft/intrinsics.hpp"
#include "weft/ops/softmax.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/runtime/executor.hpp"
#include "weft/schedule/print.hpp"
#include "weft/shapes.hpp"
#include "weft/tune/report.hpp"
#include "weft/tune/run.hpp"
#include "weft/tune/wisdom.hpp"

using namespace weft;
using weft_test::private_cache;

namespace {
inline constexpr auto product = weft::kernel<"product">(
    weft_test::product_of,
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, ii] = s.split(i, s.knob("mr", {1, 2, 4, 8, 14}));
      auto [jo, ji] = s.split(j, s.knob("nr", {8, 16, 32, 64}));
      if (s.knob("k_inside", {1, 0}) != 0) s.reorder(io, jo, ii, ji, k);
      else s.reorder(io, jo, k, ii, ji), s.unroll(ii), s.vectorize(ji);
    });
/// More than a hundred times as many points as a tuning measures, and none takes less than 20 us.
inline constexpr auto product_of_many = weft::kernel<"product_of_many">(
    weft_test::product_of,
    [](auto& s, auto, auto, auto C) {
      if (!std::is_constant_evaluated())
        for (double const began = weft::bench::now_ns(); weft::bench::now_ns() - began < 2e4;) {
        }
      auto [i, j, k] = C.axes();
      auto [io, ii] = s.split(i, s.knob("mr", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
      auto [jo, ji] = s.split(j, s.knob("nr", {8, 16, 24, 32, 40, 48, 56, 64}));
      auto [ko, ki] = s.split(k, s.knob("kr", {4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48}));
      if (s.knob("columns_first", {0, 1}) != 0) s.reorder(jo, io, ko, ki, ii, ji);
      else s.reorder(io, jo, ko, ki, ii, ji);
      s.unroll(ii), s.vectorize(ji);
    });
/// Its second knob is not met where the first one has this value.
template <int Value>
inline constexpr auto throws_at = weft::kernel<"throws">(
    weft_test::product_of,
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      std::int64_t const rows = s.knob("mr", {1, 2, 4, 8});
      if (!std::is_constant_evaluated() && rows == Value) throw 7;  // else the compiler says it
      auto [io, ii] = s.split(i, rows);
      auto [jo, ji] = s.split(j, s.knob("nr", {8, 16}));
      s.reorder(io, jo, k, ii, ji), s.unroll(ii), s.vectorize(ji);
    });
long looks_of_many = 0;
inline constexpr auto of_many_values = weft::kernel<"of_many_values">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f; }); },
    [](auto& s, auto, auto y) {
      if (!std::is_constant_evaluated()) ++looks_of_many;
      weft::sequence<std::int64_t> values;
      for (std::int64_t v = 1; v <= 1000; ++v) values.push_back(8 * v);
      auto [i] = y.axes();
      auto [io, ii] = s.split(i, s.knob("block", values));
      if (s.knob("other", values) % 16 == 0) s.vectorize(s.split(ii, 8)[1]);
    });
/// Its result is where its input was.
inline constexpr auto grown = weft::kernel<"grown">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f; }); },
    [](auto& s, auto, auto y) {
      auto [i] = y.axes();
      auto [io, ii] = s.split(i, s.knob("n", {4, 16, 64}));
      s.vectorize(ii);
    });
inline constexpr auto plain = weft::kernel<"plain">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); });

inline constexpr auto dot_products = weft::kernel<"products">(
    [](auto a, auto b) {
      return weft::compute<"c">(a.extent(0), [=](auto i) {
        return weft::sum(2, [=](auto k) { return weft::cast<std::int32_t>(a(i, k)) * weft::cast<std::int32_t>(b(i, k)); });
      });
    },
    [](auto& s, auto, auto, auto c) {
      auto [i, k] = c.axes();
      auto [io, ii] = s.split(i, s.knob("lanes", {8, 16}));
      s.reorder(io, ii, k);
      s.vectorize(ii);
      if (s.knob("instruction", {0, 1}) != 0) s.tensorize(k, weft::pmaddwd);
    });

inline constexpr auto softmax = weft::kernel<"softmax">(weft::ops::softmax);
inline constexpr auto sum_of_rows = weft::kernel<"sum_of_rows">(
    [](auto x) {
      return weft::compute<"y">(x.extent(0), [=](auto i) { return weft::sum(x.extent(1), [=](auto k) { return x(i, k); }); });
    },
    [](auto& s, auto, auto y) {
      auto [i, k] = y.axes();
      if (s.knob("parts", {0, 1}) == 0) return;
      auto [P, v] = s.rfactor(y, k, 16);
      auto [pi, pv, pu] = P.axes();
      s.compute_at(P, i);
      s.reorder(pi, pu, pv);
      s.vectorize(pv);
      static_cast<void>(v);
    });

/// 13,824 points, none of which is refused.
inline constexpr auto wide = weft::kernel<"wide">(
    weft_test::product_of,
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto const mr = s.knob("mr", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24});
      auto const nr = s.knob("nr", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24});
      auto const kr = s.knob("kr", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24});
      auto [io, ii] = s.split(i, mr);
      auto [jo, ji] = s.split(j, nr);
      auto [ko, ki] = s.split(k, kr);
      static_cast<void>(io), static_cast<void>(ii), static_cast<void>(jo), static_cast<void>(ji), static_cast<void>(ko), static_cast<void>(ki);
    });

/// Tens of milliseconds, and too long for direct evaluation.
inline constexpr auto slow = weft::kernel<"slow">(
    [](auto x) {
      return weft::compute<"y">(x.extent(0), [=](auto i) {
        return weft::sum(12000000, [=](auto k) { return x(i) / (x(i) + weft::cast<float>(k)); });
      });
    },
    [](auto& s, auto, auto y) {
      auto [i, k] = y.axes();
      auto [ko, ki] = s.split(k, s.knob("n", {1, 2, 3, 4, 5, 6, 8, 10}));
      static_cast<void>(i), static_cast<void>(ko), static_cast<void>(ki);
    });

inline constexpr auto slowest = weft::kernel<"slowest">([](auto x) {
  return weft::compute<"y">(x.extent(0), [=](auto i) { return weft::sum(80000000, [=](auto k) { return x(i) / (x(i) + weft::cast<float>(k)); }); });
}, [](auto& s, auto, auto y) {
  auto [i, k] = y.axes();
  auto [ko, ki] = s.split(k, s.knob("n", {1, 2}));
  static_cast<void>(i), static_cast<void>(ko), static_cast<void>(ki);
});
/// Joined in the order of its terms alone.
inline constexpr auto in_order = weft::kernel<"in_order">([](auto A) {
  return weft::compute<"S">(A.extent(2), [=](auto i) {
    return weft::reduce(0, [](auto const& a, auto const& b) { return a * 3 + b; }, A.extent(1), A.extent(0), [=](auto k, auto l) { return A(l, k, i); });
  });
});

/// A hundred and twenty operations are counted for each element, of which all but one are outside of the loop.
inline constexpr auto mostly_invariant = weft::kernel<"mostly_invariant">(
    [](auto x, auto by) {
      return weft::compute<"y">(x.extent(0), [=](auto i) {
        auto factor = by * 0.5f + by;
        for (int k = 0; k < 59; ++k) factor = factor * 0.5f + by;
        return x(i) * factor;
      });
    },
    [](auto& s, auto, auto, auto y) {
      auto [i] = y.axes();
      auto [io, ii] = s.split(i, s.knob("n", {16, 32, 64, 128}));
      s.vectorize(ii);
    });

struct matrices {
  std::vector<float> a, b, c;
  explicit matrices(std::size_t n) : a(n * n), b(n * n), c(n * n, -7.0f) {
    for (std::size_t i = 0; i < n * n; ++i) a[i] = static_cast<float>(i % 13) - 6, b[i] = static_cast<float>(i % 7) - 3;
  }
};
tune_options quick(std::int64_t trials) {
  tune_options o;
  o.trials = trials;
  o.seconds = 60;
  o.worker = tuning::isolation::forked;  // other tests call weft::worker, and main does not
  return o;
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
/// What the trials of a kernel with a how-lambda are kept for.
template <class Kernel, class... A>
std::string task_of(Kernel const& kernel, A const&... a) {
  return kernel.erased([&](kernel_face const& f, argument* arguments, int count) {
    program const what = f.what(f.object);
    shape_outputs(what, arguments, count);
    call_layout const layout = weft::bind(what, f.name, arguments, count);
    compile_request const r{f.name, &what, f.how, f.object, &layout, &host(), f.wanted};
    return weft::detail::task_of(r, weft::detail::schedule_with(r, expand(what, host().fma), {}));
  }, a...);
}
/// The hash of the steps that these choices lead to.
template <class Kernel, class... A>
std::uint64_t steps_of(Kernel const& kernel, sequence<std::int32_t> const& choices, A const&... a) {
  return kernel.erased([&](kernel_face const& f, argument* arguments, int count) {
    program const what = f.what(f.object);
    shape_outputs(what, arguments, count);
    call_layout const layout = weft::bind(what, f.name, arguments, count);
    compile_request const r{f.name, &what, f.how, f.object, &layout, &host(), f.wanted};
    program const expanded = expand(what, host().fma);
    return hash(weft::detail::schedule_with(r, expanded, choices).steps);
  }, a...);
}
bool is_among(sequence<std::int32_t> const& choices, tune_result const& r) {
  bool found = false;
  for (tune_trial const& t : r.trials) found = found || t.choices == choices;
  return found;
}
/// The only result that is kept here, of `product`, is now another schedule, which took a nanosecond.
template <class Kernel, class... A>
std::string kept_by_luck(private_cache const& here, Kernel const& kernel, cache::tuned& lucky, sequence<std::int32_t> const& choices, A const&... arguments) {
  std::string file;
  for (std::string const& name : here.files())
    if (name.find(".tuned") != std::string::npos) file = here.path + "/" + name;
  std::string const bytes = weft_test::content(file);
  std::string_view key;
  REQUIRE(cache::decode(bytes, key, lucky));
  lucky.choices = choices, lucky.ns = 1;
  lucky.steps = kernel.erased([&](kernel_face const& f, argument* given, int count) {
    program const what = f.what(f.object);
    shape_outputs(what, given, count);
    call_layout const layout = weft::bind(what, f.name, given, count);
    compile_request const r{f.name, &what, f.how, f.object, &layout, &host(), f.wanted};
    return weft::hash(weft::detail::schedule_with(r, expand(what, host().fma), lucky.choices).steps);
  }, arguments...);
  REQUIRE(cache::keep_tuned(key, lucky, true));
  return std::string(key);
}
}  // namespace

TEST_CASE("tuning finds a faster schedule, keeps it, and later calls take it") {
  private_cache const here;
  matrices m(96);
  auto const A = view(m.a, 96, 96), B = view(m.b, 96, 96);
  auto const C = out(m.c, 96, 96);
  product(A, B, C);
  std::vector<float> const expected = m.c;
  m.c.assign(m.c.size(), -7.0f);
  tune_result const r = tune(product, quick(24), A, B, C);
  std::printf("%s", r.text().c_str());
  CHECK(r.space.points == 40);
  CHECK(r.space.exact);
  CHECK(r.trials.size() <= 24);
  CHECK(r.best_ns < 0.5 * r.first_ns);
  CHECK(r.kept);
  CHECK(m.c[17] == -7.0f);  // live data is only read
  CHECK(has(r.how, "s.vectorize(ji)"));
  CHECK(has(r.checked, "direct evaluation"));
  std::uint64_t const before = compilations();
  product(A, B, C);
  CHECK(compilations() == before + 1);  // the form that was made before the tuning is not found any more
  CHECK(m.c == expected);
  std::string const taken = product.trace(A, B, C);
  for (tune_choice const& k : r.knobs)
    if (k.name == "nr") CHECK(has(taken, "split(j, " + std::to_string(k.value) + ")"));
  CHECK(has(taken, "vectorize"));
  CHECK(weft::test::run_case("the next process*", "WEFT_TEST_CACHE", here.path.c_str()) == 0);
}
TEST_CASE("a space for which there is no time at the beginning is counted while a worker compiles") {
  private_cache const here;
  matrices m(96);
  auto const A = view(m.a, 96, 96), B = view(m.b, 96, 96);
  tuning::space_size const all = search_space(product_of_many, A, B);
  REQUIRE(all.exact);
  CHECK(all.points == 2688);
  tune_options const o = quick(16);  // for so many 32 ms are counted at the beginning, and this takes 54 or more
  bool counted_late = false;
  tune_result const r = product_of_many.erased([&](kernel_face const& f, argument* arguments, int count) {
    tuning::detail::tuning_run run(f, arguments, count, o);
    if (!run.begin()) return tune_result{};
    counted_late = !run.so_far().space.exact;
    while (run.go_on(8)) {
    }
    return run.finish();
  }, A, B);
  std::printf("counted %s: %s\n", counted_late ? "beside" : "at the beginning", tuning::text(r.space).c_str());
  CHECK(r.space.exact);
  CHECK(r.space.points == all.points);
  CHECK(r.space.legal == all.legal);
  CHECK(counted_late);
}
TEST_CASE("what a how-lambda throws for some values leaves these out, for its first ones it is the caller's") {
  private_cache const here;
  matrices m(48);
  auto const A = view(m.a, 48, 48), B = view(m.b, 48, 48);
  tuning::space_size const all = search_space(throws_at<4>, A, B);
  CHECK(tuning::text(all) == "7 points, 6 legal");  // of what throws no further knob was met
  tune_result const r = tune(throws_at<4>, quick(40), A, B);
  CHECK(r.trials.size() == 6);
  CHECK(r.space.legal == 6);
  for (tune_trial const& t : r.trials) CHECK(t.choices[0] != 2);
  CHECK_THROWS_AS(tune(throws_at<1>, quick(4), A, B), int);
  CHECK_THROWS_AS(search_space(throws_at<1>, A, B), int);
}
TEST_CASE("of knobs with a thousand values each look is cheap") {
  private_cache const here;
  std::vector<float> const x(100000, 1.5f);
  std::vector<float> y(100000);
  tune_result const r = tune(of_many_values, quick(12), view(x), out(y));
  std::printf("two knobs of 1,000 values: %zu trials in %.2f s, of which the search %.2f\n", r.trials.size(), r.seconds, r.searching_seconds);
  CHECK(r.trials.size() == 12);
  CHECK(r.searching_seconds < 5);  // each look compared all values with all that are known: 16 s of 9 trials
}
TEST_CASE("a stop is heard inside of a round of the search") {
  private_cache const here;
  std::vector<float> const x(100000, 1.5f);
  std::vector<float> y(100000);
  looks_of_many = 0;
  struct {
    bool stop_requested() const { return looks_of_many > 200; }
  } const stop;
  tune_options o = quick(60);
  o.stop = stop;
  std::int64_t last = 0;
  auto const watch = [&](tune_progress const& p) {
    if (p.trials >= 16 && p.rounds == 0) looks_of_many = 0, last = p.trials;  // the next round is by a model, and looks at thousands of points
    else if (p.rounds == 0) looks_of_many = -1000000;
  };
  o.progress = watch;
  tune_result const r = tune(of_many_values, o, view(x), out(y));
  CHECK(r.stopped);
  CHECK(static_cast<std::int64_t>(r.trials.size()) == last);
  CHECK(looks_of_many < 400);
}
/// In the process that "tuning finds a faster schedule, keeps it, and later calls take it" starts.
TEST_CASE("the next process takes what was found in its first call" * doctest::skip()) {
  char const* const directory = std::getenv("WEFT_TEST_CACHE");
  REQUIRE(directory != nullptr);
  cache::set_directory(directory);
  matrices m(96);
  auto const A = view(m.a, 96, 96), B = view(m.b, 96, 96);
  product(A, B, out(m.c, 96, 96));
  CHECK(compilations() == 0);  // its code is kept, too: nothing is compiled but what was not found
  CHECK(has(product.trace(A, B), "vectorize"));  // without tuning there are no vectors
  CHECK(has(schedule_reason(product, A, B), "tuned for these arguments on this machine"));
  float expected = 0;
  for (std::size_t k = 0; k < 96; ++k) expected += m.a[k] * m.b[96 * k];
  CHECK(m.c[0] == expected);  // whole numbers: exact in any order
  cache::set_directory("");
}
TEST_CASE("every candidate has the result of direct evaluation") {
  private_cache const here;
  matrices m(33);
  tune_result const r = tune(product, quick(40), view(m.a, 33, 33), view(m.b, 33, 33));
  for (tune_trial const& t : r.trials) {
    CHECK_FALSE(t.wrong);
    CHECK(t.result == tuning::outcome::good);
  }
  CHECK(r.trials.size() >= 10);
}
TEST_CASE("a tuning begins with what others have taught, of its machine and unless that is not wanted") {
  private_cache const here;
  matrices m(33);
  std::vector<float> x(1000, 1.5f);
  tune_result const first = tune(product, quick(20), view(m.a, 33, 33), view(m.b, 33, 33));
  CHECK(first.of_others == 0);
  tune_options alone = quick(1);  // what it begins with is known before the first trial
  alone.transfer = false;
  CHECK(tune(grown, alone, x, out(x)).of_others == 0);
  tune_result const second = tune(grown, quick(1), x, out(x));
  if (has(second.store, "not used")) return;
  CHECK(second.of_others > 10);  // those that a model or an estimate chose were described
  CHECK(second.of_others < 20);  // what stands first was measured before
  CHECK(has(second.text(), "trials of other tasks"));
  CHECK(tune(grown.on(x86_64_sse2()), quick(1), x, out(x)).of_others == 0);
}
TEST_CASE("arguments that share memory are copied together") {
  private_cache const here;
  std::vector<float> x(1000, 1.5f);
  tune_result const r = tune(grown, quick(3), x, out(x));
  CHECK(r.trials.size() == 3);
  CHECK(x[999] == 1.5f);
  grown(x, out(x));
  CHECK(x[999] == 3.0f);
}
TEST_CASE("a kernel without knobs has one point and stays as it is") {
  private_cache const here;
  std::vector<float> x(100, 1.0f);
  tune_result const r = tune(plain.with({.plain = true}), quick(5), x);
  CHECK(r.space.points == 1);
  CHECK(r.trials.size() == 1);
  CHECK_FALSE(r.kept);
  CHECK(r.why == "the first values stay: nothing else was measured");
}
TEST_CASE("a result says why no trials are kept") {
  private_cache const here;
  std::vector<float> x(100, 1.0f);
  tune_options o = quick(2);
  CHECK(has(tune(grown, o, x).store, " trials in " + here.path) == (tuning::find_sqlite() != nullptr));
  cache::disable();
  tune_result const nowhere = tune(grown, o, x);
  CHECK(nowhere.store == "the cache is not used: the program called weft::cache::disable()");
  CHECK(nowhere.not_kept == nowhere.store);
  CHECK(has(nowhere.text(), "\n  kept    no: the cache is not used"));
  cache::enable();
  o.keep = false;
  tune_result const unwanted = tune(grown, o, x);
  CHECK(unwanted.store == "not used: tune_options::keep is false");
  CHECK(unwanted.not_kept == "tune_options::keep is false");
  o.keep = true, o.trials = 1;
  CHECK(tune(grown, o, x).not_kept == "nothing else was measured");
}
TEST_CASE("equal seeds propose the same first points, and the number of trials is kept to") {
  private_cache const here;
  matrices m(16);
  auto const A = view(m.a, 16, 16), B = view(m.b, 16, 16);
  tune_options o = quick(5);
  o.keep = false;
  o.worker = tuning::isolation::none;
  tune_result const x = tune(product, o, A, B), y = tune(product, o, A, B);
  CHECK(x.trials.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(x.trials[i].choices == y.trials[i].choices);
  CHECK_FALSE(x.kept);
}
TEST_CASE("who watches is told of each trial and may end the tuning, which keeps what was measured") {
  private_cache const here;
  matrices m(16);
  int told = 0;
  auto watcher = [&](tune_progress const& p) {
    CHECK(p.trials == ++told);
    CHECK(p.best_ns > 0);
    return told < 4;
  };
  tune_options o = quick(30);
  o.progress = watcher;
  tune_result const r = tune(product, o, view(m.a, 16, 16), view(m.b, 16, 16));
  CHECK(told == 4);
  CHECK(r.stopped);
  CHECK(r.trials.size() == 4);
  CHECK(r.best_ns > 0);
  CHECK(r.kept);
}
bool goes_on(tune_progress const& p) { return p.trials < 2; }
void only_looks(tune_progress const&) {}
TEST_CASE("a function may watch, a constant object, and what answers nothing") {
  private_cache const here;
  matrices m(16);
  auto const watched = [&](tune_watcher w) {
    tune_options o = quick(5);
    o.progress = w;
    return tune(product, o, view(m.a, 16, 16), view(m.b, 16, 16));
  };
  auto const ended_after = [&](tune_watcher w) {
    tune_result const r = watched(w);
    return r.stopped ? r.trials.size() : 0;
  };
  auto const named = [&m](tune_progress const& p) { return !m.a.empty() && p.trials < 3; };
  CHECK(ended_after(goes_on) == 2);
  CHECK(ended_after(&goes_on) == 2);
  CHECK(ended_after(named) == 3);
  CHECK(ended_after([](tune_progress const& p) { return p.trials < 2; }) == 2);
  CHECK_FALSE(watched(only_looks).stopped);
  CHECK_FALSE(watched([](tune_progress const&) {}).stopped);
}
TEST_CASE("candidates with instructions are measured, in every kind of worker that a test can have") {
  private_cache const here;
  std::vector<std::int16_t> a(256 * 2), b(256 * 2);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::int16_t>(i % 101), b[i] = static_cast<std::int16_t>(i % 89);
  for (tuning::isolation where : {tuning::isolation::forked, tuning::isolation::none}) {
    tune_options o = quick(4);
    o.worker = where, o.keep = false;
    tune_result const r = tune(dot_products, o, view(a, 256, 2), view(b, 256, 2));
    CHECK(r.trials.size() == 4);
    for (tune_trial const& t : r.trials) {
      INFO(t.why);
      CHECK(t.result == tuning::outcome::good);
      CHECK_FALSE(t.wrong);
    }
  }
}
TEST_CASE("what asks to stop is asked between trials") {
  private_cache const here;
  matrices m(16);
  struct {
    bool stop_requested() const { return true; }
  } const stopped;
  tune_options o = quick(30);
  o.stop = stopped;
  tune_result const r = tune(product, o, view(m.a, 16, 16), view(m.b, 16, 16));
  CHECK(r.stopped);
  CHECK(r.trials.size() == 1);
}
TEST_CASE("by rule nothing is tried that changes the order of what is joined in its order alone") {
  private_cache const here;
  constexpr std::int64_t n = 16, k = 200, l = 300;
  std::vector<std::int32_t> same(k * l * n), other(k * l * n), found(n);
  for (std::size_t i = 0; i < same.size(); ++i) same[i] = static_cast<std::int32_t>(i % n % 7), other[i] = static_cast<std::int32_t>(i * 37 % 11);
  tune_result const r = tune(in_order, quick(60), view(same, k, l, n));  // of which no order can be told
  CHECK(r.trials.size() > 4);
  for (tune_trial const& t : r.trials) CHECK(t.why == "");
  in_order(view(other, k, l, n), out(found, n));
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t wanted = 0;
    for (std::int64_t y = 0; y < l; ++y)
      for (std::int64_t x = 0; x < k; ++x) wanted = wanted * 3 + static_cast<std::uint32_t>(other[static_cast<std::size_t>((x * l + y) * n + i)]);
    CHECK(found[static_cast<std::size_t>(i)] == static_cast<std::int32_t>(wanted));
  }
}
TEST_CASE("a stopped tuning leaves what was kept before, where that was faster in it, too") {
  private_cache const here;
  std::vector<float> const x(2, 0.5f);
  REQUIRE(tune(slow, quick(2), x).kept);
  for (std::int32_t tries = 1, seen = 0; tries < 8 && seen < 1; ++tries) {  // all of its schedules are as fast
    cache::tuned before;
    std::string const key = kept_by_luck(here, slow, before, {tries}, x);
    before.ns = 1e12;  // as on a day when the machine was busy
    REQUIRE(cache::keep_tuned(key, before, true));
    tune_options o = quick(24);
    auto watcher = [told = 0](tune_progress const&) mutable { return ++told < 2; };
    o.progress = watcher;
    tune_result const stopped = tune(slow, o, x);
    REQUIRE(stopped.trials.size() == 2);
    REQUIRE(stopped.trials[1].choices == before.choices);
    cache::tuned now;
    REQUIRE(cache::find_tuned(key, now));
    if (stopped.trials[1].ns >= stopped.trials[0].ns) continue;
    ++seen;
    CHECK(now.choices == before.choices);
    bool const said = has(stopped.not_kept, "what was kept before was faster in this tuning, too");
    CHECK((said || stopped.choices == before.choices));
  }
}
TEST_CASE("of a first schedule that takes all of the seconds one call is the time, and others that share them have candidates") {
  private_cache const here;
  std::vector<float> const x(2, 0.5f);
  matrices m(16);
  tune_options o = quick(64);
  o.seconds = 4 * tune(slowest, quick(1), x).first_ns / 1e9;
  sequence<tune_result> const r = tune_all(o, tune_task(1, slowest, x), tune_task(1, product, view(m.a, 16, 16), view(m.b, 16, 16)));
  MESSAGE("seconds " << o.seconds << ", trials " << r[0].trials.size() << " and " << r[1].trials.size());
  CHECK(r[0].trials.size() == 1);
  CHECK(r[0].trials[0].ns > 0);
  CHECK(r[1].trials.size() > 1);
}
TEST_CASE("a kept time that nothing reaches today does not keep a slower schedule for ever") {
  private_cache const here;
  matrices m(96);
  auto const A = view(m.a, 96, 96), B = view(m.b, 96, 96);
  tune_result const once = tune(product, quick(24), A, B);
  REQUIRE(once.kept);
  REQUIRE(once.choices != once.trials[0].choices);
  // By far the slowest: no vectors. Its time was a nanosecond.
  cache::tuned lucky;
  std::string const key = kept_by_luck(here, product, lucky, {0, 1, 0}, A, B);
  tune_result const again = tune(product, quick(24), A, B);
  CHECK(again.trials[1].choices == lucky.choices);
  CHECK(again.best_ns > 1);
  CHECK(again.kept);
  cache::tuned now;
  REQUIRE(cache::find_tuned(key, now));
  CHECK(now.choices == again.choices);
  CHECK(now.choices != lucky.choices);
}
TEST_CASE("the best trial of a tuning that kept no result, as one that was killed, is the next one's first") {
  private_cache const here;
  matrices m(96);
  auto const A = view(m.a, 96, 96), B = view(m.b, 96, 96);
  tune_result const ended = tune(product, quick(12), A, B);
  if (has(ended.store, "not used")) return;
  tune_trial const* best = &ended.trials[1];
  for (tune_trial const& t : ended.trials)
    if (t.ns > 0 && t.ns < best->ns) best = &t;
  REQUIRE(best->ns < 0.5 * ended.trials[0].ns);
  CHECK(wisdom::forget_all() == 1);
  tune_result const next = tune(product, quick(2), A, B);
  CHECK(next.earlier > 5);
  REQUIRE(next.trials.size() == 2);
  CHECK(next.trials[1].choices == best->choices);
  CHECK(next.kept);
  CHECK(next.choices == best->choices);
  // Where a result is kept it is that one's turn, and no other's.
  tune_result const after = tune(product, quick(3), A, B);
  CHECK(after.trials[1].choices == next.choices);
  CHECK(after.trials[2].choices != best->choices);
}
TEST_CASE("what ended a worker once is proposed again, what did so twice is not") {
  private_cache const here;
  matrices m(33);
  auto const A = view(m.a, 33, 33), B = view(m.b, 33, 33);
  if (tuning::find_sqlite() == nullptr) return;
  std::string const task = task_of(product, A, B), file = here.path + "/trials.sqlite";
  sequence<std::int32_t> const once{2, 1, 1}, hung_once{2, 2, 1}, twice{2, 3, 1};
  {
    tuning::trial_store s(file);
    auto const add = [&](sequence<std::int32_t> const& c, tuning::outcome ended) {
      CHECK(s.add(task, "product", {c, 0, static_cast<std::int32_t>(ended), false, steps_of(product, c, A, B)}));
    };
    for (sequence<std::int32_t> const& c : {once, twice, twice}) add(c, tuning::outcome::crashed);
    add(hung_once, tuning::outcome::hung);
  }
  tune_result const r = tune(product, quick(40), A, B);
  REQUIRE(r.space.exact);
  CHECK(static_cast<double>(r.trials.size()) == r.space.legal - 1);
  CHECK(r.earlier == 1);
  CHECK(is_among(once, r));
  CHECK(is_among(hung_once, r));
  CHECK_FALSE(is_among(twice, r));
}
TEST_CASE("a schedule without tuning that is found wrong is remembered as wrong, though it was kept as good before") {
  private_cache const here;
  std::vector<float> const x(100000, 1.5f);
  std::vector<float> y(100000);
  tune_options const o = quick(2);
  tune_result const r = grown.erased([&](kernel_face const& f, argument* arguments, int count) {
    return tuning::tune(f, arguments, count, o, {nullptr, [](void*, sequence<std::int32_t> const& choices, std::string& loops) {
      if (choices[0] == 0) loops += "  y[77777] = y[77777] + 0.5f32\n";
    }});
  }, x, out(y));
  REQUIRE(r.trials.size() == 2);
  REQUIRE(r.trials[0].wrong);
  if (tuning::find_sqlite() == nullptr) return;
  sequence<tuning::known_trial> const known = tuning::trial_store(here.path + "/trials.sqlite").known_of(task_of(grown, x, out(y)), 10);
  REQUIRE(known.size() == 2);
  for (tuning::known_trial const& t : known) CHECK((t.ns > 0) == (t.choices != r.trials[0].choices));
}
inline constexpr auto product_of_shapes = weft::kernel<"product_of_shapes">(weft_test::product_of, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [jo, ji] = s.split(j, s.knob("nr", {8, 16, 20, 40}));
  s.reorder(i, jo, k, ji), s.vectorize(ji);
});
TEST_CASE("a shape that was tuned has code of its own, also where code for many shapes is there") {
  private_cache const here;
  auto const check = [](auto const& kernel) {
    std::vector<float> a(20 * 24), b(24 * 40), c(20 * 40), expected(20 * 40);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) - 6;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 3;
    for (std::size_t i = 0; i < 20; ++i)
      for (std::size_t j = 0; j < 40; ++j)
        for (std::size_t k = 0; k < 24; ++k) expected[40 * i + j] += a[24 * i + k] * b[40 * k + j];
    auto const runs = [&](std::int64_t m) {
      std::fill(c.begin(), c.end(), -7.0f);
      kernel(view(a, m, 24), view(b, 24, 40), out(c, m, 40));
      return std::equal(c.begin(), c.begin() + 40 * m, expected.begin());
    };
    auto const forms = [&] { return weft::forms(kernel, view(a, 1, 24), view(b, 24, 40), out(c, 1, 40)); };
    for (std::int64_t m : {5, 7}) REQUIRE(tune(kernel, quick(3), view(a, m, 24), view(b, 24, 40)).kept);
    for (std::int64_t m : {3, 4, 6}) CHECK(runs(m));
    INFO(forms());
    CHECK(has(forms(), "1 for one shape each:\n  A 3 x 24"));
    CHECK(has(forms(), "1 for many shapes:\n  A A0 x 24"));
    for (std::int64_t m : {5, 7, 5}) CHECK(runs(m));
    CHECK(has(forms(), "3 for one shape each:"));
    CHECK((has(forms(), "A 5 x 24") && has(forms(), "A 7 x 24")));
    CHECK(has(schedule_reason(kernel, view(a, 5, 24), view(b, 24, 40)), "tuned for these arguments"));
    std::uint64_t const before = compilations();
    for (std::int64_t m : {8, 5, 9, 7}) CHECK(runs(m));
    CHECK(compilations() == before);
    // In the process that tunes, too.
    REQUIRE(tune(kernel, quick(3), view(a, 9, 24), view(b, 24, 40)).kept);
    for (std::int64_t m : {3, 4, 9}) CHECK(runs(m));
    CHECK(has(forms(), "A 9 x 24"));
  };
  check(product_of_shapes.with({.exact_shapes = 1}));
  check(weft::kernel<"product_by_rule">(weft_test::product_of).with({.exact_shapes = 1}));
}
TEST_CASE("a result says by how many threads calls run, and not how many the machine has") {
  private_cache const here;
  matrices m(24);
  set_executor({.threads = 1});
  tune_result const r = tune(product, quick(2), view(m.a, 24, 24), view(m.b, 24, 24));
  set_executor({});
  CHECK(r.threads == 1);
  CHECK(has(report(r), "% of the roofline on 1 thread"));
}
/// A how-lambda before somebody edits what it does with the second value of its knob, and behind that.
template <int Edition>
inline constexpr auto edited = weft::kernel<"edited">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f; }); },
    [](auto& s, auto, auto y) {
      auto [i] = y.axes();
      std::int64_t const n = s.knob("n", {8, 16, 32, 64, 128, 256, 512, 1024});
      auto [io, ii] = s.split(i, n);
      if (Edition == 2 && n == 16) s.vectorize(ii);
    });
TEST_CASE("trials of a how-lambda that was edited since say nothing of the choices that lead to other steps now") {
  private_cache const here;
  std::vector<float> const x(5000, 1.5f);
  if (tuning::find_sqlite() == nullptr) return;
  std::string const task = task_of(edited<1>, x), file = here.path + "/trials.sqlite";
  REQUIRE(task == task_of(edited<2>, x));
  {
    tuning::trial_store s(file);
    for (std::int32_t n : {1, 2})  // both found wrong
      CHECK(s.add(task, "edited", {{n}, 10, 0, true, steps_of(edited<1>, {n}, x)}));
  }
  tune_result const r = tune(edited<2>, quick(20), x);
  CHECK(r.earlier == 1);
  CHECK(is_among({1}, r));
  CHECK_FALSE(is_among({2}, r));
}
TEST_CASE("of thousands of earlier trials so many are learned as there are trials and seconds for, the fastest of all among them") {
  using tuning::detail::most_earlier;
  private_cache const here;
  matrices m(24);
  auto const A = view(m.a, 24, 24), B = view(m.b, 24, 24);
  tune_options o = quick(12);
  REQUIRE(tune(wide, o, A, B).trials.size() == 12);
  if (tuning::find_sqlite() == nullptr) return;
  std::string const task = task_of(wide, A, B);
  {
    tuning::trial_store s(here.path + "/trials.sqlite");
    CHECK(s.known_of(task, 100).size() == 12);  // it is this task
    auto const add = [&](sequence<std::int32_t> const& c, double ns) { CHECK(s.add(task, "wide", {c, ns, 0, false, steps_of(wide, c, A, B)})); };
    add({23, 23, 23}, 1);
    for (std::int32_t i = 1; i < 4000; ++i) add({i % 24, i / 24 % 24, i / 576}, 1e9 + i);
  }
  wisdom::forget_all();
  CHECK(most_earlier(quick(1000)) == 256);
  CHECK(most_earlier(quick(100)) == 100);
  o.seconds = 1, o.trials = 1000;
  CHECK(most_earlier(o) == 32);
  o.seconds = 0;
  CHECK(most_earlier(o) == 16);
  o.seconds = 60, o.trials = 40;
  tune_result const r = tune(wide, o, A, B);
  CHECK(r.earlier <= 40);
  CHECK(r.earlier >= 35);  // but for the first one, and those that are not legal
  REQUIRE(r.trials.size() > 2);
  CHECK(r.trials[1].choices == sequence<std::int32_t>{23, 23, 23});
}
TEST_CASE("finalists and rounds are as many as the time that is left allows, and two of six where it does not") {
  using tuning::detail::plan_of_turns;
  sequence<double> const four(4, 1e9);
  struct expected {
    double left;
    std::size_t finalists;
    int rounds;
  };
  for (expected const& e : {expected{60, 4, 8}, expected{36, 4, 8}, expected{35, 3, 8}, expected{27, 3, 8}, expected{26, 2, 8},
                            expected{18, 2, 8}, expected{17, 2, 6}, expected{14, 2, 6}, expected{0, 2, 6}}) {
    tuning::detail::turns_plan const p = plan_of_turns(four, 0, 1e9 * e.left);
    INFO(e.left << " s left");
    CHECK(p.finalists == e.finalists);
    CHECK(p.rounds == e.rounds);
    // Nor does bench::measure end before that.
    CHECK(5 * p.budget_ns > 1e9 * static_cast<double>(p.finalists) * (p.rounds - 1));
  }
  CHECK(plan_of_turns(four, 1e9, 36e9).finalists == 3);  // they are compiled, too
  CHECK(plan_of_turns({1e9, 1e7, 1e7, 1e7}, 0, 10e9).finalists == 4);
  CHECK(plan_of_turns({1e9}, 0, 0).finalists == 1);
  CHECK(plan_of_turns({1e4, 1e4, 1e4, 1e4}, 0, 10e9).budget_ns == 2e9);
}
TEST_CASE("a finalist wins that is surely faster, and where that is less than a tenth, when it is looked at again, too") {
  // Eight samples, of which noise makes some longer.
  auto const around = [](double ns) {
    bench::timing t;
    for (int i = 0; i < 8; ++i) t.samples.push_back(ns * (1 + 0.001 * (i * 5 % 8)));
    return t;
  };
  auto const seen_of = [&](std::initializer_list<double> ns) {
    tuning::detail::turns_seen seen{sequence<bool>(ns.size(), true)};
    sequence<bench::timing> times;
    for (double one : ns) times.push_back(around(one));
    seen.note(times);
    return seen;
  };
  CHECK(seen_of({100, 99.5, 120}).fastest() == 0);  // by half a hundredth
  CHECK(seen_of({100, 95, 80}).fastest() == 2);
  CHECK_FALSE(seen_of({100, 95, 80}).wants_a_second_look(2));

  tuning::detail::turns_seen lucky = seen_of({100, 95, 97});
  REQUIRE(lucky.fastest() == 1);
  REQUIRE(lucky.wants_a_second_look(1));
  lucky.note_second_look(1, around(110), around(111));
  CHECK(lucky.fastest() == 2);                                       // the next one
  CHECK(lucky.ns[1] == doctest::Approx(lucky.ns[0] * 111 / 110));  // what is kept of it is no luck any more
  CHECK(tuning::detail::is_no_faster({90, lucky.ns[1]}, {100, lucky.ns[0]}));
  lucky.note_second_look(2, around(110), around(110));
  CHECK(lucky.fastest() == 0);

  tuning::detail::turns_seen real = seen_of({100, 95, 97});
  real.note_second_look(1, around(110), around(104));
  CHECK(real.fastest() == 1);
  CHECK(real.ns[1] == tuning::detail::time_of(around(95)));

  tuning::detail::turns_seen failed = seen_of({100, 80, 97});
  failed.good[1] = false;
  CHECK(failed.fastest() == 2);
  failed.good[0] = false;  // nothing to compare with
  CHECK(failed.fastest() == 0);
  failed.first_is_wrong = true;
  CHECK(failed.fastest() == 2);
  CHECK_FALSE(failed.wants_a_second_look(2));
}
TEST_CASE("the turns of a slow kernel are part of the seconds") {
  private_cache const here;
  std::vector<float> const x(2, 0.5f);
  double const call = tune(slow, quick(1), x).first_ns / 1e9;
  tune_options o = quick(64);
  o.seconds = 26 * call;  // eight calls for the first one, fourteen to compare two
  tune_result const r = tune(slow, o, x);
  MESSAGE("a call takes " << 1e3 * call << " ms, " << r.trials.size() << " trials, " << r.finalists << " finalists, " << r.rounds << " rounds, calls "
                          << r.measuring_seconds / call);
  // By the number of calls, which does not hang on what else the machine does: 30 where turns are planned in what trials leave, 46 where trials leave nothing,
  // 68 where turns are not planned either.
  double const calls = 8.0 * static_cast<double>(r.trials.size()) + r.finalists * (r.rounds + 1.0);
  CHECK(calls * r.best_ns / 1e9 < 1.5 * o.seconds);
  CHECK(r.seconds < 3 * o.seconds + 1);
  o.seconds = 2 * call;  // the first schedule's own calls take more
  tune_result const none = tune(slow, o, x);
  CHECK(none.trials.size() == 1);
  CHECK(none.finalists == 0);
  CHECK(has(none.why, "the seconds that were left would not do to compare two"));
}
TEST_CASE("a stop is one for all kernels, whoever's trial it was, and those that were not begun say so") {
  private_cache const here;
  matrices m(16), n(24), p(33);
  auto const tuned = [&](int last) {
    auto watcher = [last, told = 0](tune_progress const&) mutable { return ++told != last; };  // false once
    tune_options o = quick(30);
    o.batch = 2, o.progress = watcher, o.keep = false;
    return tune_all(o, tune_task(1, product, view(m.a, 16, 16), view(m.b, 16, 16)), tune_task(1, product, view(n.a, 24, 24), view(n.b, 24, 24)),
                    tune_task(1, product, view(p.a, 33, 33), view(p.b, 33, 33)));
  };
  sequence<tune_result> const at_once = tuned(1);
  REQUIRE(at_once.size() == 3);
  CHECK(at_once[0].trials.size() == 1);
  for (std::size_t i = 1; i < 3; ++i) {
    CHECK(at_once[i].trials.empty());
    CHECK(at_once[i].stopped);
    CHECK(has(at_once[i].why, "stopped before"));
    CHECK(has(at_once[i].text(), "0 trials"));
  }
  sequence<tune_result> const second = tuned(2);
  CHECK((second[0].trials.size() == 1 && second[1].trials.size() == 1 && second[2].trials.empty()));
}
TEST_CASE("each of several kernels has a batch first, also where a result was kept") {
  private_cache const here;
  matrices m(16), n(24);
  auto const A = view(m.a, 16, 16), B = view(m.b, 16, 16), C = view(n.a, 24, 24), D = view(n.b, 24, 24);
  // Another schedule than the first one is kept, whichever was the fastest here.
  REQUIRE(tune(product, quick(12), A, B).kept);
  cache::tuned lucky;
  kept_by_luck(here, product, lucky, {0, 1, 0}, A, B);
  tune_options o = quick(7);
  o.batch = 2;
  // Two trials and one before the batches; the kept one's weight is nothing.
  sequence<tune_result> const r = tune_all(o, tune_task(0, product, A, B), tune_task(1, product, C, D));
  CHECK(r[0].trials.size() == 4);
  CHECK(r[1].trials.size() == 3);
}
TEST_CASE("who watches several kernels is told whose trial it was, and how many there were of all") {
  private_cache const here;
  matrices m(16);
  std::vector<std::int16_t> a(256 * 2, std::int16_t(1)), b(256 * 2, std::int16_t(2));
  int told = 0, of_product = 0, of_products = 0, rounds = 0;
  auto watcher = [&](tune_progress const& p) {
    CHECK(p.most_trials == 12);
    rounds += p.rounds > 0;
    if (p.rounds > 0) return p.trials == told;  // between turns
    CHECK(p.trials == ++told);
    of_product += p.kernel == "product", of_products += p.kernel == "products";
    return true;
  };
  tune_options o = quick(12);
  o.batch = 2;
  o.progress = watcher;
  sequence<tune_result> const r =
      tune_all(o, tune_task(1, product, view(m.a, 16, 16), view(m.b, 16, 16)), tune_task(1, dot_products, view(a, 256, 2), view(b, 256, 2)));
  CHECK(static_cast<std::size_t>(of_product) == r[0].trials.size());
  CHECK(static_cast<std::size_t>(of_products) == r[1].trials.size());
  CHECK(told == of_product + of_products);
  CHECK(rounds >= 2 * 6 - 2);
  CHECK_FALSE(r[0].stopped);
}
TEST_CASE("the turns of all kernels fit the budget that they share") {
  private_cache const here;
  // Of other lengths, so that none begins with what was found for another.
  std::vector<float> const x(2, 0.5f), y(3, 0.5f), z(4, 0.5f);
  tune_options o = quick(64);
  o.batch = 2, o.seconds = 7;
  double const began = tuning::now_ns();
  sequence<tune_result> const r = tune_all(o, tune_task(1, slow, x), tune_task(1, slow, y), tune_task(1, slow, z));
  double const took = (tuning::now_ns() - began) / 1e9;
  MESSAGE("a call takes " << r[0].first_ns / 1e6 << " ms, all took " << took << " s");
  CHECK(took < 10.5);
  CHECK(r[0].trials.size() > 1);
}
TEST_CASE("a slow kernel has no more than its share of the seconds, wherever it stands among others") {
  private_cache const here;
  matrices m(64), n(48);
  std::vector<float> const x(2, 0.5f);
  auto const A = view(m.a, 64, 64), B = view(m.b, 64, 64), C = view(n.a, 48, 48), D = view(n.b, 48, 48);
  tune_options o = quick(1);
  o.keep = false;
  double const first = tune(slow, o, x).seconds + 4 * tune(product, o, A, B).seconds;
  INFO(first);
  o.trials = 1000, o.seconds = 4 * first > 2.5 ? 4 * first : 2.5;
  sequence<tune_result> const orders[] = {tune_all(o, tune_task(1, slow, x), tune_task(1, product, A, B), tune_task(1, product, C, D)),
                                          tune_all(o, tune_task(1, product, A, B), tune_task(1, product, C, D), tune_task(1, slow, x))};
  for (sequence<tune_result> const& all : orders)
    for (tune_result const& r : all) {
      INFO(r.text());
      CHECK(r.trials.size() > 1);
      CHECK(r.finalists > 1);
    }
}
TEST_CASE("of few trials that several kernels share each has one to be compared with") {
  private_cache const here;
  std::vector<float> const x(1000, 1.5f), y(1100, 1.5f), z(1200, 1.5f);
  for (tune_result const& r : tune_all(quick(6), tune_task(1, grown, x), tune_task(1, grown, y), tune_task(1, grown, z))) CHECK(r.trials.size() == 2);
}
TEST_CASE("where the seconds were over before anything was compared, each kernel that was begun says so") {
  private_cache const here;
  std::vector<float> const x(1000, 1.5f), y(1100, 1.5f);
  tune_options o = quick(100);
  o.seconds = 1e-3;
  sequence<tune_result> const all = tune_all(o, tune_task(1, grown, x), tune_task(1, grown, y));
  CHECK(has(all[0].why, "nothing else was measured, as the seconds that were left would not do to compare two"));
  CHECK(has(all[1].why, "the seconds that these kernels share were used up"));
}
TEST_CASE("a std::stop_token without a name is kept, and ends the tuning when its source says so") {
  private_cache const here;
  matrices m(16);
  std::stop_source source;
  tune_options o = quick(30);
  o.stop = source.get_token();
  struct counted {
    int* alive;
    bool asked = false;
    explicit counted(int* a) : alive(a) { ++*alive; }
    counted(counted const& other) : alive(other.alive) { ++*alive; }
    ~counted() { --*alive; }
    bool stop_requested() const { return asked; }
  };
  int alive = 0;
  {
    tune_options other = o;
    other.stop = counted(&alive);
    tune_options const third = other;
    CHECK(alive == 1);
    CHECK_FALSE(third.stop.requested());
  }
  CHECK(alive == 0);
  auto watcher = [&](tune_progress const& p) {
    if (p.trials == 3) source.request_stop();
    return true;
  };
  o.progress = watcher;
  tune_result const r = tune(product, o, view(m.a, 16, 16), view(m.b, 16, 16));
  CHECK(r.stopped);
  CHECK(r.trials.size() == 3);
}
TEST_CASE("a tuning that is stopped has no turns any more, and its trials decide where they are a tenth apart") {
  private_cache const here;
  matrices m(96);
  std::stop_source source;
  tune_options o = quick(40);
  o.stop = source.get_token();
  int turns = 0;
  auto watcher = [&](tune_progress const& p) {
    if (p.best_ns < 0.5 * p.first_ns && p.trials > 3) source.request_stop();
    turns += p.rounds > 0;
    return true;
  };
  o.progress = watcher;
  tune_result const r = tune(product, o, view(m.a, 96, 96), view(m.b, 96, 96));
  CHECK(r.stopped);
  CHECK(turns == 0);
  CHECK(r.rounds == 0);
  CHECK(r.finalists == 0);
  CHECK(r.best_ns < 0.5 * r.first_ns);
  CHECK(r.choices != r.trials[0].choices);
  CHECK(has(r.why, "by its trial alone, as the tuning was stopped"));
  CHECK(r.kept);
}
TEST_CASE("a stop in the turns of the finalists ends them with the next call") {
  private_cache const here;
  std::vector<float> const x(2, 0.5f);
  for (bool const by_token : {true, false}) {
    std::stop_source source;
    tune_options o = quick(4);
    o.seconds = 1000, o.keep = false;
    o.stop = source.get_token();
    int last = 0;
    auto watcher = [&](tune_progress const& p) {
      CHECK(p.rounds <= 2);
      last = p.rounds;
      if (p.rounds == 2 && by_token) source.request_stop();
      return p.rounds < 2 || by_token;
    };
    o.progress = watcher;
    tune_result const r = tune(slow, o, x);
    CHECK(r.stopped);
    CHECK(last == 2);
    CHECK(r.rounds == 2);
    CHECK(r.finalists == 4);
    CHECK((has(r.why, "the tuning was stopped before turns could")));
  }
}
TEST_CASE("of a tuning that is stopped before it begins the first schedule is measured, and nothing else is looked at") {
  private_cache const here;
  matrices m(33);
  auto const A = view(m.a, 33, 33), B = view(m.b, 33, 33);
  REQUIRE(tune(product, quick(12), A, B).trials.size() == 12);
  std::stop_source source;
  source.request_stop();
  tune_options o = quick(40);
  o.stop = source.get_token();
  o.within = 0.02;
  tune_result const r = tune(product, o, A, B);
  CHECK(r.stopped);
  CHECK(r.trials.size() == 1);
  CHECK(r.first_ns > 0);
  CHECK(r.space.looked_at == 0);
  CHECK(r.earlier == 0);
  CHECK(r.of_others == 0);
  CHECK(r.roofline_ns == 0);
  CHECK(has(r.text(), "points not counted"));
  CHECK(has(r.why, "as the tuning was stopped"));
}
TEST_CASE("of several kernels the first is begun also where a stop was asked for before") {
  private_cache const here;
  matrices m(16), n(24);
  std::stop_source source;
  source.request_stop();
  tune_options o = quick(40);
  o.stop = source.get_token();
  sequence<tune_result> const all = tune_all(o, tune_task(1, product, view(m.a, 16, 16), view(m.b, 16, 16)), tune_task(1, product, view(n.a, 24, 24), view(n.b, 24, 24)));
  CHECK(all[0].trials.size() == 1);
  CHECK(all[0].first_ns > 0);
  CHECK(has(all[0].why, "as the tuning was stopped"));
  CHECK(all[1].trials.empty());
  CHECK(has(all[1].why, "the tuning was stopped before it came to this kernel"));
  for (tune_result const& r : all) CHECK(r.stopped);
}
TEST_CASE("kernels for which nothing is left of the shared budget keep their first schedule, and say so") {
  private_cache const here;
  std::vector<std::vector<float>> x;
  for (std::size_t i = 0; i < 6; ++i) x.emplace_back(1000 + 100 * i, 1.5f);
  auto const all = [&](tune_options const& o) {
    return tune_all(o, tune_task(1, grown, x[0]), tune_task(1, grown, x[1]), tune_task(1, grown, x[2]), tune_task(1, grown, x[3]), tune_task(1, grown, x[4]),
                    tune_task(1, grown, x[5]));
  };
  auto const check = [&](sequence<tune_result> const& r, std::size_t begun, char const* why) {
    REQUIRE(r.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) {
      INFO(i << ": " << r[i].why);
      CHECK(r[i].trials.size() == std::size_t(i < begun));
      CHECK(r[i].choices == sequence<std::int32_t>{0});
      CHECK(has(r[i].how, "split"));
      CHECK_FALSE(r[i].stopped);
      if (i < begun) continue;
      CHECK(has(r[i].why, why));
      CHECK(has(r[i].text(), "best    not measured"));
    }
  };
  check(all(quick(4)), 4, "the trials that these kernels share were used up");
  tune_options o = quick(100);
  o.seconds = 0;
  check(all(o), 1, "the seconds that these kernels share were used up");
}
TEST_CASE("of a short budget that several kernels share each has candidates") {
  private_cache const here;
  matrices m(64), n(48);
  auto const A = view(m.a, 64, 64), B = view(m.b, 64, 64), C = view(n.a, 48, 48), D = view(n.b, 48, 48);
  tune_options o = quick(1);
  o.keep = false;
  double const first = tune(product, o, A, B).seconds;  // longer under a sanitizer, or where others run
  INFO(first);
  o.trials = 40, o.seconds = 20 * first > 1.5 ? 20 * first : 1.5;
  for (tune_result const& r : tune_all(o, tune_task(1, product, A, B), tune_task(1, product, C, D))) {
    INFO(r.text());
    CHECK(r.trials.size() > 1);
    CHECK(r.finalists > 1);
  }
  o.trials = 2;
  for (tune_result const& r : tune_all(o, tune_task(1, product, A, B), tune_task(1, product, C, D)))
    CHECK(has(r.why, "nothing else was measured, as the trials that these kernels share were used up"));
}
TEST_CASE("what is said to have changed is what has another value") {
  private_cache const here;
  static constexpr auto branched = weft::kernel<"branched">(
      [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); },
      [](auto& s, auto, auto y) {
        auto [i] = y.axes();
        // Where it is in lanes, a knob stands in front of those that there are without them, with other values.
        if (s.knob("lanes", {0, 1}) != 0) {
          auto [io, ii] = s.split(i, s.knob("width", {16, 32}));
          s.vectorize(ii);
          s.split(io, s.knob("block", {4, 8, 2}));
        } else {
          s.split(i, s.knob("block", {8, 4}));
        }
      });
  std::vector<float> const x(1 << 14, 0.5f);
  tune_options o = quick(10);
  o.keep = false;
  tune_result const r = tune(branched, o, x);
  INFO(r.text());
  REQUIRE(has(r.why, "lanes = 1 instead of 0"));
  std::int64_t block = 0;
  for (auto const& k : r.knobs)
    if (k.name == "block") block = k.value;
  CHECK(has(r.why, "block") == (block != 8));
  CHECK(has(r.why, "block = 4 instead of 8") == (block == 4));
  CHECK(has(r.why, "width = "));
}
TEST_CASE("trials that a kernel measures when it begins are of the shared budget, too") {
  private_cache const here;
  matrices m(16), n(24);
  auto const A = view(m.a, 16, 16), B = view(m.b, 16, 16), C = view(n.a, 24, 24), D = view(n.b, 24, 24);
  REQUIRE(tune(product, quick(12), C, D).kept);
  cache::tuned lucky;
  kept_by_luck(here, product, lucky, {0, 1, 0}, C, D);
  sequence<tune_result> const r = tune_all(quick(2), tune_task(1, product, A, B), tune_task(1, product, C, D));
  CHECK(r[0].trials.size() == 1);
  CHECK(r[1].trials.size() == 1);
}
TEST_CASE("a best below the roofline ends nothing, of one kernel or of several, and is said to disprove it") {
  private_cache const here;
  std::vector<float> const x(4096, 1.5f), y(2048, 1.5f);
  tune_options o = quick(40);
  o.within = 0.02;
  o.batch = 1;
  tune_result const r = tune(mostly_invariant, o, x, 0.25f);
  INFO(r.text());
  REQUIRE(r.best_ns < 0.9 * r.roofline_ns);
  CHECK(r.trials.size() == 4);
  CHECK(has(r.within, "no effect: the best takes less than the roofline"));
  CHECK(has(r.text(), r.within));
  CHECK_FALSE(has(r.text(), "no schedule takes less"));
  o.keep = false;
  for (tune_result const& one : tune_all(o, tune_task(1, mostly_invariant, x, 0.25f), tune_task(1, mostly_invariant, y, 0.25f)))
    CHECK(one.trials.size() == 4);
}
TEST_CASE("where no roofline is known within has no effect, which is said") {
  private_cache const here;
  std::vector<std::int16_t> const a(256 * 2, std::int16_t(1)), b(256 * 2, std::int16_t(2));
  tune_options o = quick(2);
  o.within = 0.02;
  tune_result const r = tune(dot_products, o, view(a, 256, 2), view(b, 256, 2));
  CHECK(r.roofline_ns == 0);
  CHECK(r.trials.size() == 2);
  CHECK(has(r.within, "no effect: the peak of arithmetic is known of programs of f32 and f64 alone"));
  CHECK(has(r.text(), r.within));
  o.within = 0;
  CHECK(tune(dot_products, o, view(a, 256, 2), view(b, 256, 2)).within.empty());
}
TEST_CASE("bitwise keeps to schedules with the same bits, of numbers that round") {
  private_cache const here;
  tensor<float, 2> a(40, 40), b(40, 40);
  for (std::int64_t i = 0; i < 1600; ++i) a.data()[i] = 1.0f / static_cast<float>(3 + i * 7 % 101), b.data()[i] = 1.0f / static_cast<float>(2 + i * 11 % 37);
  tune_options o = quick(40);
  o.bitwise = true;
  tune_result const r = tune(product, o, a, b);
  CHECK(r.trials.size() > 20);
  for (tune_trial const& t : r.trials) CHECK_FALSE(t.wrong);
  CHECK(has(schedule_reason(product, a, b), "tuned for these arguments"));
  CHECK((evaluate({.contract = cpu().fma}, product, a, b) == product(a, b)));
}
TEST_CASE("bitwise leaves out what takes sums in another order, whatever the numbers are that a tuning is given") {
  tune_options o = quick(4);
  o.bitwise = true;
  {
    private_cache const here;
    tensor<float, 2> X(16, 512);
    for (std::int64_t i = 0; i < 16 * 512; ++i) X(i / 512, i % 512) = static_cast<float>(i % 3);
    tune_result const r = tune(sum_of_rows, o, X);
    CHECK(r.trials.size() == 1);
    CHECK(r.space.points == 2);
    CHECK(r.space.legal == 1);
    CHECK(r.choices == sequence<std::int32_t>{0});
  }
  // In place, where nothing is compared on other numbers; and by a number that makes all of them 0.
  static constexpr auto centered = weft::kernel<"centered">(
      [](auto x, auto by) {
        auto const m = compute<"m">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return x(i, k) * by; }); });
        return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) - m(i); });
      },
      [](auto& s, auto, auto, auto m, auto y) {
        auto [i, k] = m.axes();
        if (s.knob("parts", {0, 1}) != 0) s.rfactor(m, k, 16);
        auto [yi, yj] = y.axes();
        s.vectorize(yj, s.knob("lanes", {8, 16}));
        static_cast<void>(i), static_cast<void>(yi);
      });
  for (float by : {1.0f, 0.0f}) {
    private_cache const here;
    std::vector<float> x(32 * 256), other(32 * 256), found(32 * 256);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 9) - 4, other[i] = 1.0f / static_cast<float>(i % 1009 + 3);
    tune_result const r = tune(centered, o, view(x, 32, 256), by, out(x, 32, 256));
    CHECK(r.space.points == 4);
    CHECK(r.space.legal == 2);
    for (tune_trial const& t : r.trials) CHECK(t.choices[0] == 0);
    REQUIRE(r.kept);
    CHECK(has(schedule_reason(centered, view(x, 32, 256), by, out(x, 32, 256)), "tuned for these arguments"));  // what there is does for all
    found = other;
    centered.with({.bitwise = true})(view(found, 32, 256), 0.7f, out(found, 32, 256));
    auto const expected = evaluate({.contract = cpu().fma}, centered, view(other, 32, 256), 0.7f);
    for (std::size_t e = 0; e < found.size(); ++e) CHECK(to_bits(found[e]) == to_bits(static_cast<float>(expected[e])));
  }
}
TEST_CASE("a bitwise call takes nothing that takes sums in another order, also if it was kept") {
  private_cache const here;
  tensor<float, 2> X(16, 512);
  for (std::int64_t i = 0; i < 16 * 512; ++i) X(i / 512, i % 512) = 1.0f / static_cast<float>(i % 1009 + 3);
  tune_result const fast = tune(sum_of_rows, quick(4), X);
  REQUIRE(fast.choices == sequence<std::int32_t>{1});
  std::string file;
  for (std::string const& name : here.files())
    if (has(name, ".tuned")) file = here.path + "/" + name;
  std::string const bytes = weft_test::content(file);
  std::string_view key;
  cache::tuned found;
  REQUIRE(cache::decode(bytes, key, found));
  REQUIRE(cache::keep_tuned(cache::bitwise_key(std::string(key)), found, true));
  CHECK_FALSE(has(schedule_reason(sum_of_rows.with({.bitwise = true}), X), "tuned for these arguments"));
  CHECK((evaluate({.contract = cpu().fma}, sum_of_rows, X) == sum_of_rows.with({.bitwise = true})(X)));
}
TEST_CASE("what is kept gives way to what was faster in turns, and where it had none, to what was faster as a trial") {
  using tuning::detail::is_no_faster;
  CHECK(is_no_faster({90, 130}, {100, 110}));  // the machine became slower behind the trials
  CHECK_FALSE(is_no_faster({130, 100}, {100, 110}));
  CHECK(is_no_faster({120, 0}, {100, 110}));
  CHECK_FALSE(is_no_faster({90, 0}, {100, 80}));
  CHECK_FALSE(is_no_faster({0, 0}, {100, 110}));  // not measured: its own time says
  CHECK(is_no_faster({120, 0}, {0, 110}));
}
TEST_CASE("bitwise by rule takes sums of numbers that round in their order") {
  private_cache const here;
  tensor<float, 2> x(20, 200);
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j < 200; ++j) x(i, j) = 1.0f / static_cast<float>(3 + i * 7 + j * 11 % 37);
  tune_options o = quick(12);
  o.bitwise = true;
  tune_result const r = tune(softmax, o, x);
  CHECK(r.trials.size() == 12);
  for (tune_trial const& t : r.trials) CHECK_FALSE(t.wrong);
  CHECK(has(r.checked, "direct evaluation"));
  auto const expected = evaluate({.contract = cpu().fma}, softmax, x);
  CHECK((expected == softmax.with({.bitwise = true})(x)));
  // The kernel that is bitwise itself asks for the same.
  CHECK(tune(softmax.with({.bitwise = true}), quick(4), x).earlier > 0);
}
TEST_CASE("a bitwise tuning and a plain one of a how-lambda keep apart what they find, in either order") {
  tensor<float, 2> X(16, 512);
  for (std::int64_t i = 0; i < 16 * 512; ++i) X(i / 512, i % 512) = 1.0f / static_cast<float>(i % 1009 + 3);
  tune_options plainly = quick(4), exactly = quick(4);
  exactly.bitwise = true;
  auto const expected = evaluate({.contract = cpu().fma}, sum_of_rows, X);
  for (bool const bitwise_first : {false, true}) {
    private_cache const here;
    if (bitwise_first) {
      tune_result const r = tune(sum_of_rows, exactly, X);
      CHECK(r.choices == sequence<std::int32_t>{0});
      CHECK((expected == sum_of_rows(X)));
    }
    tune_result const fast = tune(sum_of_rows, plainly, X);
    CHECK(fast.earlier == 0);
    CHECK(fast.choices == sequence<std::int32_t>{1});
    CHECK(fast.kept);
    if (!bitwise_first) {
      tune_result const r = tune(sum_of_rows, exactly, X);
      CHECK(r.earlier == 0);
      CHECK(r.trials.size() == 1);
      CHECK(r.choices == sequence<std::int32_t>{0});
    }
    CHECK((expected == sum_of_rows.with({.bitwise = true})(X)));
    CHECK(has(sum_of_rows.trace(X), "rfactor"));
  }
}
