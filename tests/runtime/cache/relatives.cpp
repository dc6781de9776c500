#include "weft/runtime/cache/relatives.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "support/private_cache.hpp"
#include "weft/base/hash.hpp"
#include "weft/expr/expand.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/knobs.hpp"
#include "weft/tune.hpp"
#include "weft/schedule/print.hpp"
#include "weft/tune/wisdom.hpp"

using namespace weft;
using weft_test::private_cache;

namespace {
inline constexpr auto doubled = weft::kernel<"twice_doubled">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + x(i); }); },
    [](auto& s, auto, auto y) {
      auto [i] = y.axes();
      auto [io, ii] = s.split(i, weft::divisor(s, "n", i, 64));
      if (s.knob("vector", {0, 1}) != 0) s.vectorize(ii);
    });
inline constexpr auto plain = weft::kernel<"plain_one">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); },
    [](auto& s, auto, auto y) { s.vectorize(s.split(y.axes()[0], 16)[1]); });
inline constexpr auto ruled =
    weft::kernel<"ruled_one">([](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + 1.0f; }); });

/// 64 KiB of stack hold 200 rows of 64, and not 200 of 100, which only lowering finds.
inline constexpr auto on_a_stack = weft::kernel<"rows_on_a_stack">(
    [](auto x) {
      auto n = x.extent(0), m = x.extent(1);
      auto t = weft::compute<"t">(n, m, [=](auto i, auto k) { return x(i, k) * 2.0f; });
      return weft::compute<"y">(n, [=](auto i) { return weft::sum(m, [=](auto k) { return t(i, k); }); });
    },
    [](auto& s, auto, auto t, auto y) {
      auto const io = s.split(y.axes()[0], s.knob("rows", {16, 200}))[0];
      s.compute_at(t, io);
      s.set_scope(t, weft::scope::stack);
    });

/// What a tuner knows of a call.
struct task {
  std::string key, family;
  cache::relative own;
  std::uint64_t steps = 0;
  /// For a vector of `n`; with these choices.
  task(std::int64_t n, sequence<std::int32_t> const& choices, target const& machine = host()) {
    std::vector<float> x(static_cast<std::size_t>(n)), y(x.size());
    know(doubled, choices, machine, x, out(y));
  }
  template <class Kernel, class... A>
    requires(!std::is_integral_v<Kernel>)
  task(Kernel const& kernel, sequence<std::int32_t> const& choices, A const&... arguments) {
    know(kernel, choices, host(), arguments...);
  }

 private:
  template <class Kernel, class... A>
  void know(Kernel const& kernel, sequence<std::int32_t> const& choices, target const& machine, A const&... a) {
    kernel.erased(
        [&](kernel_face const& f, argument* arguments, int count) {
          program const what = f.what(f.object);
          call_layout const layout = weft::bind(what, f.name, arguments, count);
          compile_request const r{f.name, &what, f.how, f.object, &layout, &machine, f.wanted};
          program const expanded = expand(what, machine.fma);
          schedule const first = detail::schedule_with(r, expanded, {}), chosen = detail::schedule_with(r, expanded, choices);
          key = cache::task_key(f.name, what, first, layout, machine);
          family = cache::family_key(f.name, what, first, layout, machine);
          own = cache::described(key, layout, machine);
          cache::note_choices(own, chosen);
          steps = hash(chosen.steps);
        },
        a...);
  }
};
/// As a tuner keeps it.
void keep(task const& t, sequence<std::int32_t> const& choices) {
  REQUIRE(cache::keep_tuned(t.key, {choices, t.steps, 1000, 9}));
  REQUIRE(cache::keep_relative(t.family, t.own));
}
struct vectors {
  std::vector<float> x, y;
  explicit vectors(std::size_t n) : x(n, 3.0f), y(n) {}
  std::string trace() { return doubled.trace(x, out(y)); }
  std::string reason() { return weft::schedule_reason(doubled, x, out(y)); }
};
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("tasks of other sizes and other machines with the same instructions are of one family, other kernels are not") {
  target other = host();
  other.l2_bytes *= 2;
  target another = host();
  another.features = x86_64_sse2().features;
  CHECK(task(96, {}).family == task(100, {}).family);
  CHECK(task(96, {}).family == task(96, {}, other).family);
  CHECK(task(96, {}).key != task(96, {}, other).key);
  if (!(another.features == host().features)) CHECK(task(96, {}).family != task(96, {}, another).family);
}
TEST_CASE("values that lowering refuses for other sizes, or that were imported, are left, and never an error of the call") {
  weft::tensor<float, 2> x(400, 64), longer(400, 100);
  weft::tensor<float, 1> y(400);
  for (auto* one : {&x, &longer})
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(one->size()); ++i) one->data()[i] = 1;
  for (bool const imported : {false, true}) {
    private_cache const here;
    task const measured(on_a_stack, {1}, x, out(y));
    keep(measured, {1});
    CHECK(has(on_a_stack.trace(x, out(y)), "split(i, 200)"));
    if (imported) {  // a line that nobody has measured here
      task const lie(on_a_stack, {1}, longer, out(y));
      REQUIRE(cache::keep_tuned(lie.key, {{1}, lie.steps, 1000, 0}));
    }
    CHECK(weft::schedule_reason(on_a_stack, longer, out(y)) ==
          std::string("not tuned: each knob has its first value") +
              (imported ? "; what was imported for these arguments is not taken: it does not become code here" : ""));
    on_a_stack(longer, out(y));
    CHECK(y(7) == 200);
  }
}
TEST_CASE("a shape that nobody tuned takes the values of the nearest that was, and says so") {
  private_cache const here;
  vectors v(96), near(90), far(300), exact(64);
  CHECK(v.reason() == "not tuned: each knob has its first value");
  CHECK(has(v.trace(), "split(i, 48)"));
  keep(task(64, {2, 1}), {2, 1});  // 16 of 64
  CHECK(has(exact.reason(), "tuned for these arguments on this machine, in 9 trials"));
  CHECK(v.reason() == "tuned for 64 and 64, the nearest that was tuned; not for 96 and 96");
  CHECK(has(v.trace(), "split(i, 16)"));
  CHECK(has(v.trace(), "vectorize"));
  CHECK(has(near.trace(), "split(i, 15)"));  // 16 is no divisor of 90: the nearest value is
  CHECK(far.reason() == "not tuned: each knob has its first value");  // more than twice as much
  keep(task(100, {2, 0}), {2, 0});  // 20 of 100, and nearer
  CHECK(has(v.reason(), "tuned for 100 and 100"));
  CHECK_FALSE(has(v.trace(), "vectorize"));
  // An own result comes before all others, and its removal brings them back.
  task const own(96, {1, 1});
  keep(own, {1, 1});
  CHECK(has(v.reason(), "tuned for these arguments"));
  cache::forget_tuned(own.key);
  CHECK(has(v.reason(), "tuned for 100 and 100"));
  doubled(v.x, out(v.y));
  CHECK(v.y[95] == 6.0f);
}
TEST_CASE("another machine of the architecture counts after all shapes of this one, and before none") {
  private_cache const here;
  vectors v(96);
  target other = host();
  other.l2_bytes = 2 * other.l2_bytes + 1;
  keep(task(96, {2, 1}, other), {2, 1});
  CHECK(v.reason() == "tuned for these sizes on another machine with the same instructions");
  CHECK(has(v.trace(), "split(i, 24)"));
  keep(task(60, {1, 0}), {1, 0});
  CHECK(has(v.reason(), "tuned for 60 and 60, the nearest that was tuned"));
}
TEST_CASE("a family whose results are gone, or whose file is damaged, is as if it were not there") {
  private_cache const here;
  vectors v(96);
  task const t(64, {2, 1});
  keep(t, {2, 1});
  std::string file;
  for (std::string const& name : here.files())
    if (has(name, ".family")) file = here.path + "/" + name;
  REQUIRE_FALSE(file.empty());
  std::string const good = weft_test::content(file);
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] ^= 4;
    weft_test::write_file(file, bad);
    CHECK(v.reason() == "not tuned: each knob has its first value");
  }
  weft_test::write_file(file, good.substr(0, good.size() / 2));
  CHECK(v.reason() == "not tuned: each knob has its first value");
  weft_test::write_file(file, good);
  CHECK(has(v.reason(), "tuned for 64"));
  cache::forget_tuned(t.key);
  CHECK(v.reason() == "not tuned: each knob has its first value");
  keep(t, {2, 1});
  CHECK(wisdom::forget_all() == 1);
  for (std::string const& name : here.files()) CHECK_FALSE(has(name, ".family"));
}
TEST_CASE("a family keeps the 64 that came last") {
  private_cache const here;
  for (std::int64_t n = 100; n < 180; ++n) keep(task(n, {0, 1}), {0, 1});
  cache::relative found;
  task const low(55, {}), high(200, {});
  CHECK_FALSE(cache::find_relative(low.family, low.own, found));  // 100 to 115 are not there any more
  REQUIRE(cache::find_relative(high.family, high.own, found));
  CHECK(found.extents[0] == 179);
}
TEST_CASE("values of the nearest that are not legal here are not taken") {
  private_cache const here;
  vectors v(97);  // a prime: the only divisors are 1 and, past the most, itself
  keep(task(96, {0, 1}), {0, 1});
  CHECK(has(v.trace(), "split(i, 1)"));
  doubled(v.x, out(v.y));
  CHECK(v.y[96] == 6.0f);
}
TEST_CASE("a tuning keeps its result for other shapes, too; without knobs, and by rule, the reason is another one") {
  private_cache const here;
  vectors v(4096), near(3000);
  tune_options o;
  o.trials = 12, o.worker = tuning::isolation::forked;
  tune_result const r = tune(doubled, o, v.x, out(v.y));
  REQUIRE(r.kept);
  CHECK(has(near.reason(), "tuned for 4096 and 4096"));
  CHECK(weft::schedule_reason(plain, v.x) == "as the how-lambda says: it has no knobs");
  CHECK(weft::schedule_reason(ruled, v.x) == "by rule: the kernel has no how-lambda");
}
TEST_CASE("imported relatives stand behind those that were measured here, and take no place from them") {
  private_cache const here;
  std::string const family = "a family";
  auto const key = [](std::int64_t n) { return "task " + std::to_string(n); };
  auto const put = [&](std::int64_t n, bool imported) {
    cache::relative r;
    r.task = xxh64(key(n)), r.machine = {1, 2, 3, 4}, r.extents = {1000 + n};
    REQUIRE(cache::keep_tuned(key(n), {{1}, 1, 100, imported ? 0 : 5}));
    return cache::keep_relative(family, r, imported);
  };
  auto const holds = [&](std::int64_t n) {
    cache::relative wanted, found;
    wanted.task = 1, wanted.machine = {1, 2, 3, 4}, wanted.extents = {1000 + n};
    return cache::find_relative(family, wanted, found) && found.task == xxh64(key(n));
  };
  for (std::int64_t n = 0; n < 40; ++n) CHECK(put(n, false));
  for (std::int64_t n = 100; n < 164; ++n) CHECK(put(n, true));
  for (std::int64_t n = 0; n < 40; ++n) CHECK(holds(n));
  CHECK(holds(163));        // the latest 24 of them
  CHECK(holds(140));
  CHECK_FALSE(holds(139));
  for (std::int64_t n = 40; n < 64; ++n) CHECK(put(n, false));
  CHECK_FALSE(holds(163));
  CHECK_FALSE(put(200, true));
  CHECK_FALSE(holds(200));
  for (std::int64_t n = 0; n < 64; ++n) CHECK(holds(n));
}
