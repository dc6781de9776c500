// Kernels without a how-lambda: the space around the rule's schedule, its candidates, and what is kept.
#include <doctest/doctest.h>

#include <string>

#include "support/private_cache.hpp"
#include "support/sanitized.hpp"
#include "tune/points.hpp"
#include "weft/print_how.hpp"
#include "weft/runtime/cache/relatives.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/schedule/pressure.hpp"
#include "weft/tune.hpp"
#include "weft/tune/trials.hpp"
#include "weft/weft.hpp"

using namespace weft;
using weft_test::other_point, weft_test::private_cache, weft_test::rounds;

namespace {
inline constexpr auto product = weft::kernel<"product">([](auto A, auto B) {
  return compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
});
inline constexpr auto convolution = weft::kernel<"convolution">([](auto x, auto w) {
  return compute<"y">(x.extent(0) - 2, x.extent(1) - 2, w.extent(3), [=](auto i, auto j, auto o) {
    return sum(3, 3, x.extent(2), [=](auto a, auto b, auto c) { return x(i + a, j + b, c) * w(a, b, c, o); });
  });
});
inline constexpr auto scaled = weft::kernel<"scaled">([](auto x) {
  return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * 2.0f; });
});
inline constexpr auto softmax = weft::kernel<"softmax">([](auto x) {
  auto m = compute<"m">(x.extent(0), [=](auto i) { return max(x.extent(1), [=](auto k) { return x(i, k); }); });
  auto e = compute<"e">(x.extent(0), x.extent(1), [=](auto i, auto j) { return weft::exp(x(i, j) - m(i)); });
  auto s = compute<"s">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return e(i, k); }); });
  return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return e(i, j) / s(i); });
});

template <std::size_t Rank, class... N>
tensor<float, Rank> numbers(N... extents) {
  tensor<float, Rank> t(extents...);
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.size()); ++i) t.data()[i] = static_cast<float>(i * 7 % 13) - 6;
  return t;
}
tune_options quick(std::int64_t trials) {
  tune_options o;
  o.trials = trials;
  o.worker = tuning::isolation::forked;  // other tests call weft::worker, and main does not
  return o;
}
/// What `use` makes of the space of a kernel on these arguments, and of what a call would compile.
template <class Kernel, class Use, class... A>
void with_space(Kernel const& kernel, Use const& use, A const&... a) {
  kernel.erased(
      [&](kernel_face const& f, argument* arguments, int count) {
        program const what = f.what(f.object);
        shape_outputs(what, arguments, count);
        call_layout const layout = weft::bind(what, f.name, arguments, count);
        compile_request const r{f.name, &what, nullptr, nullptr, &layout, &host(), f.wanted, true};
        tuning::space s(r);
        use(s, r);
        return 0;
      },
      a...);
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
template <class Kernel, class... A>
void check_trials(Kernel const& kernel, std::int64_t trials, A const&... a) {
  private_cache const here;
  tune_result const r = tune(kernel, quick(trials), a...);
  INFO(r.text());
  CHECK(static_cast<std::int64_t>(r.trials.size()) == trials);
  CHECK(r.space.points > 1000);
  for (std::int32_t c : r.trials[0].choices) CHECK(c == 0);  // the rule's own comes first
  for (tune_trial const& t : r.trials) {
    INFO(t.why);
    CHECK_FALSE(t.wrong);
    CHECK(t.result == tuning::outcome::good);
  }
  CHECK(r.best_ns > 0);
  CHECK(has(r.how, "[](auto& s"));
  CHECK(r.kept);
  CHECK(has(schedule_reason(kernel, a...), "tuned for these arguments on this machine"));
}
}  // namespace

TEST_CASE("every candidate around a rule computes what the program says, and the rule's own is the first") {
  check_trials(product, 20, numbers<2>(70, 50), numbers<2>(50, 90));
  check_trials(convolution, 14, numbers<3>(12, 18, 8), numbers<4>(3, 3, 8, 20));
  check_trials(softmax, 14, numbers<2>(20, 200));
}
TEST_CASE("the first point of the space is the schedule by rule") {
  auto const a = numbers<2>(70, 50), b = numbers<2>(50, 90);
  with_space(product, [](tuning::space& s, compile_request const& r) {
    tuning::point first;
    REQUIRE(s.first(first));
    CHECK(first.choices.size() > 5);
    CHECK(hash(s.at(first.choices).steps) == hash(make_schedule(r).steps));
  }, a, b);
}
TEST_CASE("a point that was looked at has the steps of a run of its own, and its schedule knows who reads whom") {
  auto const check = [](auto const& kernel, auto const&... a) {
    with_space(kernel, [](tuning::space& s, compile_request const& r) {
      tuning::space other(r);  // where nobody has looked
      tuning::random_numbers random(5);
      int known = 0, legal = 0;
      for (int i = 0; i < 300; ++i) {  // more than are kept
        tuning::point const p = s.at_random(random, true);
        if (!p.legal) continue;
        ++legal;
        schedule const kept = s.steps(p.choices), run = other.steps(p.choices);
        CHECK(hash(kept.steps) == hash(run.steps));
        CHECK(hash(s.at(p.choices).steps) == hash(run.steps));
        REQUIRE(kept.knobs.size() == p.choices.size());
        for (std::size_t k = 0; k < kept.knobs.size(); ++k) CHECK(kept.knobs[k].chosen == p.choices[k]);
        if (run.readers.empty()) continue;
        ++known;
        CHECK(run.readers == weft::detail::readers_of(run.computation()));
      }
      CHECK(legal > 0);
      if (s.request().what->stages.size() > 1) CHECK(known > 0);
    }, a...);
  };
  check(product, numbers<2>(70, 50), numbers<2>(50, 90));
  check(softmax, numbers<2>(20, 200));
}
TEST_CASE("a small space around a rule is counted point by point, a large one estimated; both are said") {
  auto const x = numbers<2>(20, 200), a = numbers<2>(70, 50), b = numbers<2>(50, 90);
  with_space(scaled, [](tuning::space& s, compile_request const&) {
    std::int64_t points = 0, legal = 0;
    sequence<std::int32_t> choices;
    for (bool more = true; more;) {
      tuning::point const p = s.look(choices);
      ++points, legal += p.legal;
      more = tuning::next_point(p, choices);
    }
    CHECK(points > 1);
    tuning::space_size const size = tuning::measure(s);
    CHECK(size.exact);
    CHECK(size.points == static_cast<double>(points));
    CHECK(size.legal == static_cast<double>(legal));
  }, x);
  CHECK(has(tuning::text(search_space(scaled, x)), " legal"));
  with_space(product, [](tuning::space& s, compile_request const&) {
    tuning::space_size const size = tuning::measure(s, 1000, 1, 96);
    CHECK_FALSE(size.exact);
    CHECK(size.points > 1e5);
    CHECK(size.legal > 0);
    CHECK(size.legal <= size.points);
    CHECK(has(tuning::text(size), "(estimated)"));
  }, a, b);
}
TEST_CASE("points that do not fit the machine are dropped before anything is compiled") {
  auto const a = numbers<2>(70, 50), b = numbers<2>(50, 90);
  with_space(product, [](tuning::space& s, compile_request const&) {
    tuning::random_numbers random(1);
    int legal = 0, all = 0;
    for (; all < 300; ++all) {
      tuning::point const p = tuning::random_point(s, random);
      if (!p.legal) {
        CHECK_FALSE(s.why_not(p.choices).empty());
        continue;
      }
      ++legal;
      CHECK(register_pressure(s.at(p.choices)).empty());
    }
    CHECK(legal > 30);
  }, a, b);
}
TEST_CASE("what was found is what the next call takes, and prints as a how-lambda") {
  private_cache const here;
  auto const a = numbers<2>(64, 64), b = numbers<2>(64, 64);
  tensor<float, 2> c(64, 64), d(64, 64);
  product(a, b, out(c));
  std::string const own = product.trace(a, b);
  with_space(product, [](tuning::space& s, compile_request const& r) {
    tuning::point const p = other_point(s);
    std::string const key = weft::detail::task_of(r, {});
    CHECK(cache::keep_tuned(key, {p.choices, hash(s.at(p.choices).steps), 1000, 8}));
    CHECK(hash(make_schedule(r).steps) == hash(s.at(p.choices).steps));
  }, a, b);
  CHECK(product.trace(a, b) != own);
  CHECK(has(print_how(product, a, b), "[](auto& s"));
  CHECK(schedule_reason(product, a, b) == "tuned for these arguments on this machine, in 8 trials");
  supersede("product");
  std::uint64_t const before = compilations();
  product(a, b, out(d));
  CHECK(compilations() == before + 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.size()); ++i) CHECK(c.data()[i] == d.data()[i]);  // whole numbers: exact in any order
}
TEST_CASE("what was found for other sizes is tried where it becomes a schedule, and is never an error") {
  constexpr std::int64_t others[] = {60, 70, 96};
  auto const left = [](std::int64_t n) { return numbers<2>(n, 600); };
  auto const right = [](std::int64_t n) { return numbers<2>(600, n); };
  decltype(evaluate(product, left(1), right(1))) expected[] = {evaluate(product, left(60), right(60)), evaluate(product, left(70), right(70)),
                                                               evaluate(product, left(96), right(96))};
  int taken = 0;
  for (std::uint64_t seed = 1; seed <= rounds<std::uint64_t>(8, 3); ++seed) {
    private_cache const here;
    with_space(product, [&](tuning::space& s, compile_request const& r) {
      tuning::point const p = other_point(s, seed);
      std::string const key = weft::detail::task_of(r, {});
      REQUIRE(cache::keep_tuned(key, {p.choices, hash(s.at(p.choices).steps), 1000, 8}));
      cache::relative own = cache::described(key, *r.layout, *r.machine);
      cache::note_choices(own, s.at(p.choices));
      REQUIRE(cache::keep_relative(weft::detail::family_of(r, {}), own));
    }, numbers<2>(64, 640), numbers<2>(640, 64));
    for (std::size_t o = 0; o < 3; ++o) {
      auto const a = left(others[o]), b = right(others[o]);
      taken += has(schedule_reason(product, a, b), "the nearest that was tuned");
      tensor<float, 2> c(others[o], others[o]);
      product(a, b, out(c));
      CHECK((expected[o] == c));  // whole numbers: exact in any order
    }
    supersede("product");
  }
  CHECK(taken > rounds(4, 0));
}
/// As a tuning keeps it; false: with another form than it has.
void keep_for(tensor<float, 2> const& x, bool same_form) {
  with_space(scaled, [&](tuning::space& s, compile_request const& r) {
    tuning::point const p = other_point(s);
    std::string const key = weft::detail::task_of(r, {});
    REQUIRE(cache::keep_tuned(key, {p.choices, hash(s.at(p.choices).steps), 1000, 8, s.plan()}));
    cache::relative own = cache::described(key, *r.layout, *r.machine);
    cache::note_choices(own, s.at(p.choices));
    own.plan = s.plan();
    if (!same_form) ++own.form;
    REQUIRE(cache::keep_relative(weft::detail::family_of(r, {}), own));
  }, x);
}
TEST_CASE("a result for other sizes whose steps have another form here is left, as the rule's own was never compared with it") {
  auto const reason_with = [](bool same_form) {
    private_cache const here;
    keep_for(numbers<2>(20, 200), same_form);
    return schedule_reason(scaled, numbers<2>(20, 208));
  };
  CHECK(has(reason_with(true), "the nearest that was tuned"));
  CHECK(reason_with(false) == "by rule: the kernel has no how-lambda");
}
TEST_CASE("behind a nearest result of another form the next ones are asked, three in all") {
  private_cache const here;
  auto const reason = [] { return schedule_reason(scaled, numbers<2>(20, 208)); };
  keep_for(numbers<2>(20, 160), true);
  keep_for(numbers<2>(20, 200), false);
  CHECK(has(reason(), "tuned for 20 x 160"));
  keep_for(numbers<2>(20, 192), false);
  CHECK(has(reason(), "tuned for 20 x 160"));
  keep_for(numbers<2>(20, 184), false);
  CHECK(reason() == "by rule: the kernel has no how-lambda");
}
TEST_CASE("of two knobs with one name each has its own value for other sizes, and a number in a stage's place is no stage's name") {
  static constexpr auto chain = weft::kernel<"chain_of_names">([](auto x) {
    auto const n = [&](auto const& of, auto const& f) { return [=](auto i, auto j) { return f(of(i, j)); }; };
    auto const a = compute<"s3">(x.extent(0), x.extent(1), n(x, [](auto v) { return v * 2.0f; }));
    auto const b = compute<"#3">(x.extent(0), x.extent(1), n(a, [](auto v) { return v + 1.0f; }));
    auto const c = compute<"c">(x.extent(0), x.extent(1), n(b, [](auto v) { return v * 3.0f; }));
    auto const d = compute<"a_name_of_twenty_eight_chars">(x.extent(0), x.extent(1), n(c, [](auto v) { return v - 1.0f; }));
    return compute<"y">(x.extent(0), x.extent(1), n(d, [](auto v) { return v * v; }));
  });
  private_cache const here;
  for (std::int32_t which : {0, 1}) {
    with_space(chain, [&](tuning::space& s, compile_request const& r) {
      sequence<std::int32_t> choices;
      int twice = 0, alone = 0;
      for (knob_info const& k : s.steps({}).knobs) {
        bool const is_twice = k.name == short_name("#3.inline");
        alone += k.name == short_name("s3.inline");
        choices.push_back(is_twice && twice++ == which ? 1 : 0);
      }
      CHECK(alone == 1);
      REQUIRE(twice == 2);
      std::string const key = weft::detail::task_of(r, {});
      schedule const chosen = s.at(choices);
      REQUIRE(cache::keep_tuned(key, {choices, hash(chosen.steps), 1000, 8, s.plan()}, true));
      cache::relative own = cache::described(key, *r.layout, *r.machine);
      cache::note_choices(own, chosen);
      own.plan = s.plan();
      REQUIRE(cache::keep_relative(weft::detail::family_of(r, {}), own));
    }, numbers<2>(20, 200));
    CHECK(has(schedule_reason(chain, numbers<2>(20, 208)), "the nearest that was tuned"));
    // What the flipped one says is not inlined.
    std::string const steps = chain.trace(numbers<2>(20, 208));
    INFO(steps);
    CHECK(has(steps, "\"#3\": compute_inline()") == (which == 1));
    CHECK(has(steps, "a_name_of_twenty_eight_chars: compute_inline()") == (which == 0));
  }
}
TEST_CASE("a result that an older rule's steps made is replaced, however fast it was, and its trials are none of this rule's") {
  private_cache const here;
  auto const a = numbers<2>(40, 30), b = numbers<2>(30, 50);
  std::string key;
  with_space(product, [&](tuning::space& s, compile_request const& r) {
    tuning::point const p = other_point(s), q = other_point(s, 2);
    key = weft::detail::task_of(r, {});
    cache::tuned old{p.choices, hash(s.at(p.choices).steps) + 1, 1, 8, s.plan()};
    old.choices.push_back(0);  // of a knob that this rule has not
    REQUIRE(cache::keep_tuned(key, old));
    tuning::trial_store trials(here.path + "/trials.sqlite");
    static_cast<void>(trials.add(key, "product", {q.choices, 1, 0, false}));
  }, a, b);
  CHECK(schedule_reason(product, a, b) ==
        "by rule: the kernel has no how-lambda; what was kept for these arguments is not taken: it has other steps here");
  tune_result const r = tune(product, quick(4), a, b);
  CHECK(r.kept);
  CHECK(r.earlier == 0);
  cache::tuned now;
  REQUIRE(cache::find_tuned(key, now));
  CHECK(now.ns > 1);
  CHECK(now.choices == r.choices);
  CHECK(schedule_reason(product, a, b) == "tuned for these arguments on this machine, in 4 trials");
  tune_result const again = tune(product, quick(4), a, b);
  if (!has(again.store, "not used")) CHECK(again.earlier > 0);  // its own
}
TEST_CASE("a round by rule looks at few points, which are what their choices say, and proposes legal ones, the same by the same seed") {
  struct counted : tuning::landscape {
    explicit counted(tuning::space& s) : of(s) {}
    tuning::point look(sequence<std::int32_t> const& choices) override { return ++looks, of.look(choices); }
    tuning::point at_random(tuning::random_numbers& r, bool features) override { return ++looks, of.at_random(r, features); }
    tuning::outline const* outlined_by() const override { return of.outlined_by(); }
    tuning::point look_by_values(tuning::outlined const& wanted) override { return ++looks, of.look_by_values(wanted); }
    tuning::space& of;
    int looks = 0;
  };
  auto const a = numbers<2>(70, 50), b = numbers<2>(50, 90);
  with_space(product, [](tuning::space& s, compile_request const& r) {
    tuning::space again(r);
    counted one(s), other(again);
    tuning::annealing_settings how;
    how.chains = 128, how.looks = 60, how.reranked = 0, how.estimated = 0;
    tuning::annealing_search x(one, 5, how), y(other, 5, how);
    int good = 0;
    for (int round = 0; round < 5; ++round) {
      one.looks = 0;
      sequence<tuning::point> const proposed = x.propose(8), same = y.propose(8);
      if (round > 0) CHECK(one.looks < 60 + 40);
      REQUIRE(proposed.size() == same.size());
      for (std::size_t i = 0; i < proposed.size(); ++i) {
        tuning::point const& p = proposed[i];
        tuning::point const seen = s.look(p.choices);
        CHECK(p.legal);
        CHECK(seen.choices == p.choices);
        CHECK(seen.features == p.features);
        CHECK(same[i].choices == p.choices);
        // As if large tiles were fast: a third of those at random.
        double rows = 0;
        for (std::size_t k = 0; k < p.sizes.size() && rows <= 0; ++k) rows = p.sizes[k] > 8 ? static_cast<double>(p.choices[k]) : 0;
        good += round > 1 && rows > 8;
        x.learn(p, 1000 / (1 + rows)), y.learn(same[i], 1000 / (1 + rows));
      }
    }
    CHECK(good > 12);
  }, a, b);
}
TEST_CASE("of a space whose rule may not reorder sums, no point does") {
  auto const x = numbers<2>(20, 200);
  auto const in_parts = [&](auto const& kernel) {
    return kernel.erased([&](kernel_face const& f, argument* arguments, int count) {
      program const what = f.what(f.object);
      shape_outputs(what, arguments, count);
      call_layout const layout = weft::bind(what, f.name, arguments, count);
      tuning::space s({f.name, &what, nullptr, nullptr, &layout, &host(), f.wanted, true});
      tuning::random_numbers random(3);
      int legal = 0, sums = 0;
      for (int i = 0; i < 40; ++i) {
        tuning::point const p = tuning::random_point(s, random);
        if (!p.legal) continue;
        ++legal;
        for (step const& one : s.at(p.choices).steps) sums += one.what == verb::rfactor && one.stage != 0;  // a maximum has the same bits in any order
      }
      CHECK(legal > 4);
      return sums;
    }, x);
  };
  CHECK(in_parts(softmax) > 0);
  CHECK(in_parts(softmax.with({.bitwise = true})) == 0);
}
TEST_CASE("several kernels share one budget, each has a batch, and what weighs more gets more of it") {
  private_cache const here;
  auto const a = numbers<2>(96, 96), b = numbers<2>(96, 96), x = numbers<2>(20, 200);
  tune_options o = quick(64);
  o.batch = 4;
  sequence<tune_result> const r = tune_all(o, tune_task(1000, product, a, b), tune_task(0.001, softmax, x));
  REQUIRE(r.size() == 2);
  CHECK(r[0].kernel == "product");
  CHECK(r[0].trials.size() + r[1].trials.size() <= 66);
  CHECK(r[0].trials.size() > 40);
  CHECK(r[1].trials.size() >= 5);
  CHECK(r[1].trials.size() < 12);
  for (tune_result const& one : r) CHECK(one.kept);
}
TEST_CASE("a tuning ends where no schedule could be much faster") {
  private_cache const here;
  auto const a = numbers<2>(96, 96), b = numbers<2>(96, 96);
  tune_options o = quick(40);
  o.within = 1e6;
  tune_result const r = tune(product, o, a, b);
  CHECK(r.roofline_ns > 0);
  CHECK(r.roofline_ns < r.first_ns * 2);  // the peak is one that a machine can have: both were measured here
  CHECK(r.trials.size() == 1);
  CHECK(has(r.within, "which ends the tuning"));
  CHECK(has(r.text(), r.within));
  // Of several each ends by itself, and what is left of the budget is for the others.
  sequence<tune_result> const both = tune_all(o, tune_task(1, product, a, b), tune_task(1, scaled, a));
  for (tune_result const& one : both) CHECK(one.trials.size() == 1);
}
