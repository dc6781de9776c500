#include "weft/tune/wisdom.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/comma_locale.hpp"
#include "support/private_cache.hpp"
#include "weft/runtime/cache/relatives.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/schedule/print.hpp"
#include "weft/tune.hpp"

using namespace weft;
using weft_test::private_cache;

namespace {
inline constexpr auto tripled = weft::kernel<"tripled">(
    [](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) * 3.0f; }); },
    [](auto& s, auto, auto y) {
      auto [i] = y.axes();
      auto [io, ii] = s.split(i, s.knob("n", {1, 64}));
      if (s.knob("vector", {0, 1}) != 0) s.vectorize(ii);
    });
tune_options quick() {
  tune_options o;
  o.trials = 4;
  o.worker = tuning::isolation::forked;
  return o;
}
std::string changed(std::string text, std::string const& from, std::string const& to) {
  return text.replace(text.find(from), from.size(), to);
}
}  // namespace

TEST_CASE("what was tuned in one directory is used in another, after export and import") {
  std::vector<float> x(4000, 1.0f), y(4000);
  std::string text, tuned;
  {
    private_cache const here;
    tune_result const r = tune(tripled, quick(), x, out(y));
    REQUIRE(r.kept);
    text = wisdom::export_all();
    tuned = tripled.trace(x, out(y));
  }
  private_cache const there;
  std::string const before = tripled.trace(x, out(y));
  wisdom::imported const i = wisdom::import_lines(text);
  CHECK(i.taken == 1);
  CHECK(i.refused == 0);
  CHECK(tripled.trace(x, out(y)) == tuned);
  CHECK(wisdom::export_all() == text);
  CHECK(wisdom::forget_all() == 1);
  CHECK(tripled.trace(x, out(y)) == before);
}
TEST_CASE("a result that was measured here stays, and a tuning here takes the place of an imported one") {
  private_cache const here;
  std::vector<float> x(4000, 1.0f), y(4000);
  REQUIRE(tune(tripled, quick(), x, out(y)).kept);
  std::string const text = wisdom::export_all();
  CHECK(wisdom::import_lines(text).known == 1);
  wisdom::forget_all();
  std::size_t const at = text.find("\"ns\": ") + 6;
  std::string impossible = text;
  impossible.replace(at, text.find(',', at) - at, "0.001");
  CHECK(wisdom::import_lines(impossible).taken == 1);
  CHECK(tune(tripled, quick(), x, out(y)).kept);
}
TEST_CASE("of results for the same arguments in one text the fastest is kept, in either order, and one that does not fit is said to") {
  private_cache const here;
  std::vector<float> x(4000, 1.0f), y(4000);
  REQUIRE(tune(tripled, quick(), x, out(y)).kept);
  std::string const text = wisdom::export_all();
  std::size_t const at = text.find("\"ns\": ") + 6, end = text.find(',', at);
  auto const of = [&](char const* ns) { return text.substr(0, at) + ns + text.substr(end); };
  auto const kept_of = [&](std::string const& lines) {
    wisdom::forget_all();
    static_cast<void>(wisdom::import_lines(lines));
    std::string const kept = wisdom::export_all();
    return kept.substr(at, kept.find(',', at) - at);
  };
  std::string const faster = of("500.0"), slower = of("900.0");
  CHECK(kept_of(faster + slower) == kept_of(slower + faster));
  CHECK(kept_of(slower + faster) == kept_of(faster));
  CHECK(kept_of(slower) != kept_of(faster));
  wisdom::forget_all();
  CHECK(wisdom::import_lines("\xef\xbb\xbf" + faster).taken == 1);  // as an editor writes it
  CHECK(wisdom::import_lines(faster + slower).known == 1);
  CHECK(schedule_reason(tripled, x, out(y)) == "imported for these arguments, and not measured here");
  // Of other steps than those that the text tells of.
  std::string wrong = of("400.0");
  std::size_t const steps = wrong.find("\"steps\": \"") + 10;
  wrong[steps] = wrong[steps] == '1' ? '2' : '1';
  CHECK(wisdom::import_lines(wrong).taken == 1);
  CHECK(schedule_reason(tripled, x, out(y)) ==
        "not tuned: each knob has its first value; what was imported for these arguments is not taken: it has other steps here");
  CHECK(wisdom::import_lines(slower).taken == 1);  // what is imported later may be of newer code
  CHECK(schedule_reason(tripled, x, out(y)) == "imported for these arguments, and not measured here");
}
TEST_CASE("lines that are no results are refused, each with a reason, and the others are taken") {
  private_cache const here;
  std::vector<float> x(4000, 1.0f), y(4000);
  REQUIRE(tune(tripled, quick(), x, out(y)).kept);
  std::string const good = wisdom::export_all();
  wisdom::forget_all();
  for (std::string const& bad :
       {std::string("hello"), std::string("{}"), std::string("[1]"), good.substr(0, good.size() / 2), changed(good, "\"ns\"", "\"xs\""),
        changed(good, "[", "[-1, "), changed(good, "[", "[1.5, "), changed(good, "[", "[1e9, "), changed(good, "\"key\": \"", "\"key\": \"x"),
        changed(good, "}", "} x"), changed(good, "\"ns\": ", "\"ns\": -"), changed(good, "\"steps\": \"", "\"steps\": \"0")}) {
    wisdom::imported const i = wisdom::import_lines(bad);
    INFO(bad);
    CHECK(i.taken == 0);
    CHECK(i.refused == 1);
    CHECK(i.why.find("line 1: ") == 0);
  }
  CHECK(wisdom::import_lines(changed(good, "\"}", "\", \"plan\": 256}")).refused == 1);
  CHECK(wisdom::import_lines(changed(good, "\"choices\": [", "\"choices\": [0], \"choices\": [")).refused == 1);
  CHECK(wisdom::import_lines(changed(good, "\"}", "\", \"plan\": 1}")).taken == 1);
  std::string const planned = wisdom::export_all();
  CHECK(planned.find(", \"plan\": 1}") != std::string::npos);
  wisdom::forget_all();
  CHECK(wisdom::import_lines(planned).taken == 1);
  CHECK(wisdom::export_all() == planned);
  wisdom::forget_all();
  wisdom::imported const mixed = wisdom::import_lines("nonsense\n\n" + good);
  CHECK(mixed.taken == 1);
  CHECK(mixed.refused == 1);
}
TEST_CASE("results of another version are refused, as no call would look for them") {
  private_cache const here;
  std::vector<float> x(4000, 1.0f), y(4000);
  REQUIRE(tune(tripled, quick(), x, out(y)).kept);
  std::string const text = wisdom::export_all();
  std::size_t const family = text.find(", \"family\""), end = text.find('}', family);
  REQUIRE(family != std::string::npos);
  std::string alone = text.substr(0, family) + text.substr(end);
  wisdom::forget_all();
  std::size_t const digit = alone.find("\"key\": \"") + 8 + 2 * 4;  // behind the four bytes of the length: the first letter of the version, 0x30 + n
  std::string other = alone;
  REQUIRE(other[digit] == '3');
  other[digit + 1] = other[digit + 1] == '9' ? '8' : '9';
  wisdom::imported const i = wisdom::import_lines(other);
  CHECK(i.refused == 1);
  CHECK(i.taken == 0);
  CHECK(i.why.find("line 1: a result of another version of weft, 9.") == 0);
  CHECK(wisdom::import_lines(alone).taken == 1);
}
TEST_CASE("results that cannot be kept are refused, and the reason says why") {
  std::vector<float> x(4000, 1.0f), y(4000);
  std::string text;
  {
    private_cache const here;
    REQUIRE(tune(tripled, quick(), x, out(y)).kept);
    text = wisdom::export_all();
  }
  private_cache const here;
  cache::disable();
  wisdom::imported const i = wisdom::import_lines(text);
  cache::enable();
  CHECK(i.taken == 0);
  CHECK(i.refused == 1);
  CHECK(i.why == "line 1: it cannot be kept: the cache is not used: the program called weft::cache::disable()");
  CHECK(wisdom::import_lines(text).taken == 1);
}
TEST_CASE("each step of the look-up has its reason: measured here, imported, nearest, another machine, first values") {
  std::vector<float> x(4000, 1.0f), y(4000), z(3000), w(300);
  auto const reason = [&](std::vector<float> const& v) { return schedule_reason(tripled, v); };
  target other = host();  // of the same instructions, with more threads
  other.threads += 3;
  std::string text, theirs;
  {
    private_cache const there;
    REQUIRE(tune(tripled.on(other), quick(), x, out(y)).kept);
    text = wisdom::export_all();
    theirs = tripled.on(other).trace(x, out(y));
  }
  private_cache const here;
  CHECK(reason(x) == "not tuned: each knob has its first value");
  CHECK(wisdom::import_lines(text).taken == 1);
  CHECK(reason(x) == "imported for these sizes, of another machine with the same instructions, and not measured here");
  CHECK(tripled.trace(x, out(y)) == theirs);
  CHECK(reason(z) == "imported for 4000 and 4000, and not measured here, of another machine with the same instructions; not for 3000 and 3000");
  CHECK(reason(w) == "not tuned: each knob has its first value");
  std::fill(y.begin(), y.end(), 0.0f);
  tripled(x, out(y));
  CHECK(y == std::vector<float>(4000, 3.0f));
  CHECK(wisdom::export_all() == text);
  // What is measured here comes first from then on, also for other sizes.
  REQUIRE(tune(tripled, quick(), x, out(y)).kept);
  CHECK(reason(x).find("tuned for these arguments on this machine, in ") == 0);
  CHECK(reason(z) == "tuned for 4000 and 4000, the nearest that was tuned; not for 3000 and 3000");
  std::string const own = wisdom::export_all();
  wisdom::forget_all();
  CHECK(wisdom::import_lines(own).taken == 2);
  CHECK(reason(x) == "imported for these arguments, and not measured here");
  CHECK(reason(z) == "imported for 4000 and 4000, and not measured here, the nearest that was tuned; not for 3000 and 3000");
  CHECK(wisdom::forget_all() == 2);
  CHECK(reason(x) == "not tuned: each knob has its first value");
}
TEST_CASE("a family that a text lies about is refused, or leads to a schedule that is legal here, and to right results") {
  private_cache const here;
  std::vector<float> const x(4000, 1.0f);
  std::vector<float> y(4000);
  target other = host();
  other.threads += 3;
  REQUIRE(tune(tripled.on(other), quick(), x, out(y)).kept);
  std::string const good = wisdom::export_all();
  for (char const* part : {"\"family\": \"", "\"relative\": \""}) {
    std::size_t const begin = good.find(part) + std::string(part).size(), end = good.find('"', begin);
    for (std::size_t at = begin; at < end; at += (end - begin) / 24 + 1) {
      std::string bad = good;
      bad[at] = bad[at] == 'f' ? '0' : 'f';
      wisdom::forget_all();
      wisdom::import_lines(bad);
      std::fill(y.begin(), y.end(), 0.0f);
      tripled(x, out(y));
      INFO(part << at - begin);
      CHECK(y == std::vector<float>(4000, 3.0f));
    }
  }
  std::string const cut = good.substr(0, good.find(", \"relative\"")) + "}";
  CHECK(wisdom::import_lines(cut).why == "line 1: a family that is not of this result");
}
TEST_CASE("choices that the text lies about are not used") {
  private_cache const here;
  std::vector<float> x(4000, 1.0f), y(4000);
  std::string const plain = tripled.trace(x, out(y));
  REQUIRE(tune(tripled, quick(), x, out(y)).kept);
  std::string text = wisdom::export_all();
  wisdom::forget_all();
  std::size_t const at = text.find("\"steps\": \"") + 10;
  text[at] = text[at] == '0' ? '1' : '0';
  CHECK(wisdom::import_lines(text).taken == 1);
  CHECK(tripled.trace(x, out(y)) == plain);
}
TEST_CASE("what one program exports another imports, whatever their locales") {
  private_cache const here;
  std::vector<float> x(4000, 1.0f), y(4000);
  REQUIRE(tune(tripled, quick(), x, out(y)).kept);
  std::string text = wisdom::export_all();
  std::size_t const at = text.find("\"ns\": ") + 6;
  text.replace(at, text.find(',', at) - at, "1250.5");
  wisdom::forget_all();
  weft_test::comma_locale const comma;
  if (!comma.is_there()) return;
  CHECK(wisdom::import_lines(text).taken == 1);
  CHECK(wisdom::export_all() == text);
}
