#include "weft/runtime/cache/tuned.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/private_cache.hpp"
#include "weft/base/hash.hpp"
#include "weft/kernel.hpp"
#include "weft/expr/expand.hpp"
#include "weft/schedule/print.hpp"

using namespace weft;
using weft_test::private_cache;

namespace {
inline constexpr auto doubled = weft::kernel<"doubled">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + x(i); }); },
    [](auto& s, auto, auto y) {
      auto [i] = y.axes();
      auto [io, ii] = s.split(i, s.knob("n", {8, 16, 32}));
      if (s.knob("vector", {0, 1}) != 0) s.vectorize(ii);
    });
/// The task of `doubled` for a vector of 100, as a call has it.
std::string task_of(std::vector<float>& x, std::vector<float>& y) {
  return doubled.erased(
      [](kernel_face const& f, argument* arguments, int count) {
        program const what = f.what(f.object);
        call_layout const layout = weft::bind(what, f.name, arguments, count);
        compile_request const r{f.name, &what, f.how, f.object, &layout, &host(), f.wanted};
        program const expanded = expand(what, host().fma);
        return cache::task_key(f.name, what, detail::schedule_with(r, expanded, {}), layout, host());
      },
      x, out(y));
}
std::uint64_t steps_of(std::vector<float>& x, std::vector<float>& y, sequence<std::int32_t> const& choices) {
  return doubled.erased(
      [&](kernel_face const& f, argument* arguments, int count) {
        program const what = f.what(f.object);
        call_layout const layout = weft::bind(what, f.name, arguments, count);
        compile_request const r{f.name, &what, f.how, f.object, &layout, &host(), f.wanted};
        program const expanded = expand(what, host().fma);
        return hash(detail::schedule_with(r, expanded, choices).steps);
      },
      x, out(y));
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("what is kept is found again, by the whole key") {
  private_cache const here;
  cache::tuned const best{{2, 1}, 77, 1250.5, 40, 2};
  CHECK(cache::keep_tuned("a task", best));
  cache::tuned found;
  CHECK(cache::find_tuned("a task", found));
  CHECK(found.choices == best.choices);
  CHECK(found.steps == 77);
  CHECK(found.ns == 1250.5);
  CHECK(found.trials == 40);
  CHECK(found.plan == 2);
  CHECK_FALSE(cache::find_tuned("another task", found));
  CHECK(cache::forget_tuned("a task"));
  CHECK_FALSE(cache::find_tuned("a task", found));
}
TEST_CASE("a slower result does not take the place of a faster one, unless it is to") {
  private_cache const here;
  CHECK(cache::keep_tuned("t", {{1}, 1, 100, 1}));
  CHECK_FALSE(cache::keep_tuned("t", {{2}, 2, 101, 1}));
  cache::tuned found;
  CHECK((cache::find_tuned("t", found) && found.ns == 100));
  CHECK(cache::keep_tuned("t", {{3}, 3, 99, 1}));
  CHECK(cache::keep_tuned("t", {{4}, 4, 200, 1}, true));
  // What was to be replaced was replaced by somebody else meanwhile.
  cache::tuned const seen{{4}, 4, 200, 1}, others{{5}, 5, 50, 1};
  CHECK(cache::keep_tuned("t", others));
  CHECK_FALSE(cache::keep_tuned("t", {{6}, 6, 60, 1}, true, &seen));
  CHECK(cache::keep_tuned("t", {{6}, 6, 60, 1}, true, &others));
  CHECK((cache::find_tuned("t", found) && found.ns == 60));
}
TEST_CASE("bytes with any bit changed are no result") {
  std::string const good = cache::encode("key", {{3, 0, 1}, 9, 5.5, 6});
  std::string_view key;
  cache::tuned t;
  CHECK(cache::decode(good, key, t));
  CHECK(key == "key");
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    CHECK_FALSE(cache::decode(bad, key, t));
  }
  for (std::size_t n = 0; n < good.size(); ++n) CHECK_FALSE(cache::decode(good.substr(0, n), key, t));
}
TEST_CASE("what is not kept has a reason") {
  private_cache const here;
  std::string why;
  REQUIRE(cache::keep_tuned("t", {{1}, 1, 100, 1}, false, nullptr, &why));
  CHECK(why.empty());
  CHECK_FALSE(cache::keep_tuned("t", {{2}, 2, 101, 1}, false, nullptr, &why));
  CHECK(why == "what another tuning has kept is as fast or faster");
  CHECK_FALSE(cache::keep_tuned("t", {{2}, 2, 1, 0}, true, nullptr, &why));
  CHECK(why == "what was measured here stays");
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit const none{3, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  bool const kept = cache::keep_tuned("t", {{2}, 2, 99, 1}, false, nullptr, &why);
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK_FALSE(kept);
  CHECK(why == "the cache is not used: " + here.path + " cannot be opened: Too many open files");
  rlimit long_files{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &long_files) == 0);
  rlimit const short_files{10, long_files.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &short_files) == 0);
  bool const written = cache::keep_tuned("t", {{2}, 2, 99, 1}, false, nullptr, &why);
  ::setrlimit(RLIMIT_FSIZE, &long_files);
  CHECK_FALSE(written);
  CHECK(why == "it cannot be written in " + here.path + ": File too large");
}
TEST_CASE("without a directory nothing is kept and nothing fails") {
  cache::disable();
  cache::tuned t;
  CHECK_FALSE(cache::keep_tuned("t", {{1}, 1, 1, 1}));
  CHECK_FALSE(cache::find_tuned("t", t));
  cache::enable();
}
TEST_CASE("a kernel takes the knob values that are kept for it") {
  private_cache const here;
  std::vector<float> x(100), y(100);
  CHECK(has(doubled.trace(x, out(y)), "split(i, 8)"));
  cache::keep_tuned(task_of(x, y), {{2, 1}, steps_of(x, y, {2, 1}), 1000, 1});
  CHECK(has(doubled.trace(x, out(y)), "split(i, 32)"));
  CHECK(has(doubled.trace(x, out(y)), "vectorize(ii)"));
  std::vector<float> other(101), result(101);
  CHECK(has(doubled.trace(other, out(result)), "split(i, 8)"));  // another shape is another task
}
TEST_CASE("a result whose steps are not those that were measured is not taken") {
  private_cache const here;
  std::vector<float> x(100), y(100);
  cache::keep_tuned(task_of(x, y), {{2, 1}, steps_of(x, y, {1, 1}), 1000, 1});
  CHECK(has(doubled.trace(x, out(y)), "split(i, 8)"));
  cache::keep_tuned(task_of(x, y), {{1000, 77}, 0, 10, 1});
  CHECK(has(doubled.trace(x, out(y)), "split(i, 8)"));
}
int looks_while_superseded = 0;
inline constexpr auto overtaken = weft::kernel<"overtaken">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) + x(i); }); },
    [](auto& s, auto, auto y) {
      if (!std::is_constant_evaluated() && ++looks_while_superseded == 1) supersede("overtaken", [](void const*, ready_kernel const&) { return false; });
      auto [i] = y.axes();
      s.split(i, s.knob("n", {8, 16}));
    });
TEST_CASE("a form that was begun before a tuner kept its result is made anew at the next call") {
  std::vector<float> x(100, 2.0f), y(100);
  looks_while_superseded = 0;
  overtaken(x, out(y));
  int const first = looks_while_superseded;
  REQUIRE(first > 0);
  overtaken(x, out(y));
  int const second = looks_while_superseded;
  CHECK(second > first);
  overtaken(x, out(y));
  CHECK(looks_while_superseded == second);
  CHECK(y[99] == 4.0f);
}
TEST_CASE("forms that were superseded are made anew at the next call, and prepared ones still run") {
  private_cache const here;
  std::vector<float> x(64, 1.0f), y(64);
  auto const prepared = doubled.prepare(x, out(y));
  std::uint64_t const before = compilations();
  doubled(x, out(y));
  CHECK(compilations() == before);
  cache::keep_tuned(task_of(x, y), {{1, 1}, steps_of(x, y, {1, 1}), 1000, 1});
  supersede("doubled");
  doubled(x, out(y));
  CHECK(compilations() == before + 1);
  doubled(x, out(y));
  CHECK(compilations() == before + 1);
  prepared(x, out(y));
  CHECK(y[63] == 2.0f);
}
TEST_CASE("a result whose place is that of another task, by a hash that was made to be the same, gives way or stays away") {
  private_cache const here;
  cache::directory const d(here.path, cache::creation::never);
  auto const put = [&](std::int64_t trials) {
    cache::file_info const name = cache::name_of(xxh64("ours"), ".tuned");
    REQUIRE(d.write(name.name, cache::encode("theirs", {{1}, 1, 100, trials})));
  };
  auto const holder = [&] {
    std::string bytes;
    std::string_view key;
    cache::tuned t;
    REQUIRE((d.read(cache::name_of(xxh64("ours"), ".tuned").name, bytes) && cache::decode(bytes, key, t)));
    return std::string(key);
  };
  cache::tuned const imported{{2}, 2, 50, 0}, measured{{2}, 2, 50, 3};
  put(5);
  CHECK_FALSE(cache::keep_tuned("ours", imported, true));
  CHECK_FALSE(cache::keep_tuned("ours", measured));
  CHECK(holder() == "theirs");
  put(0);
  CHECK_FALSE(cache::keep_tuned("ours", imported, true));
  CHECK(holder() == "theirs");
  CHECK(cache::keep_tuned("ours", measured, true));
  CHECK(holder() == "ours");
}
TEST_CASE("what was measured and what was imported meet: the measured one stays, whoever comes first and whatever the times say") {
  weft_test::private_cache const here;
  cache::tuned const imported{{2}, 2, 1, 0}, measured{{3}, 3, 50, 5};
  cache::tuned found;
  CHECK(cache::keep_tuned("t", imported, true));
  CHECK(cache::keep_tuned("t", measured));
  CHECK_FALSE(cache::keep_tuned("t", imported, true));
  REQUIRE(cache::find_tuned("t", found));
  CHECK(found == measured);
}
TEST_CASE("of what sixteen processes keep at the same time the fastest stays") {
  private_cache const here;
  for (int round = 0; round < 4; ++round) {
    pid_t children[16];
    for (int i = 0; i < 16; ++i) {
      children[i] = ::fork();
      if (children[i] != 0) continue;
      for (int n = 40; n > 0; --n) static_cast<void>(cache::keep_tuned("t", {{i}, 1, 1.0 + (i * 7 + n * 11 + round) % 97, 1}));
      ::_exit(0);
    }
    for (pid_t c : children) ::waitpid(c, nullptr, 0);
    double least = 1e9;
    for (int i = 0; i < 16; ++i)
      for (int n = 40; n > 0; --n) least = std::min(least, 1.0 + (i * 7 + n * 11 + round) % 97);
    cache::tuned found;
    REQUIRE(cache::find_tuned("t", found));
    CHECK(found.ns == least);
    CHECK(cache::forget_tuned("t"));
  }
}
