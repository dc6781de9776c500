#include "weft/tune/report.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/comma_locale.hpp"

using namespace weft;

namespace {
std::size_t count(std::string const& text, std::string const& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
tune_result made() {
  tune_result r;
  r.kernel = "a<b>&c";
  r.how = "[](auto& s) { x < y; }";
  for (int i = 1; i <= 5; ++i) {
    tune_trial t;
    t.choices = sequence<std::int32_t>{i, 0};
    t.ns = 1000.0 * (6 - i);
    t.expected_ns = i > 2 ? t.ns * 1.1 : 0;
    r.trials.push_back(t);
  }
  tune_trial crashed;
  crashed.result = tuning::outcome::crashed;
  crashed.why = "it ended <the> worker";
  r.trials.push_back(crashed);
  return r;
}
}  // namespace

TEST_CASE("the page shows each trial, and asks for nothing outside of itself") {
  std::string const page = report(made());
  CHECK(count(page, "<circle") == 5 + 3);  // five were measured, three of them expected
  CHECK(count(page, "<tr>") == 1 + 6);
  CHECK(page.find("crashed: it ended") != std::string::npos);
  for (char const* outside : {"http", "<script", "src=", "@import", "url("}) CHECK(page.find(outside) == std::string::npos);
}
TEST_CASE("texts are escaped and the elements are closed") {
  std::string const page = report(made());
  CHECK(page.find("a<b>") == std::string::npos);
  CHECK(page.find("a&lt;b&gt;&amp;c") != std::string::npos);
  CHECK(page.find("x &lt; y") != std::string::npos);
  for (char const* element : {"svg", "table", "tr", "td", "pre", "h1", "h2", "p"})
    CHECK(count(page, std::string("<") + element + ">") + count(page, std::string("<") + element + " ") ==
          count(page, std::string("</") + element + ">"));
}
TEST_CASE("trials are points under the roofline, by the program's own operations and bytes") {
  tune_result r = made();
  std::size_t const without = count(report(r), "<circle");
  CHECK(report(r).find("class=\"roof\"") == std::string::npos);  // nothing was counted
  r.done = {.operations = 4000, .bytes = 400, .float_bytes = 4}, r.threads = 1;
  r.best_ns = 1250;  // in its turns; the fastest trial took 1,000
  std::string const page = report(r);
  CHECK(count(page, "class=\"roof\"") == 2);
  CHECK(count(page, "<circle") == without + 5 + 1);  // and the winner once more
  CHECK(page.find("this program has 10<") != std::string::npos);
  CHECK(page.find("4e+03 operations and 400 bytes a call. The winner (red) has 3.2 GFLOP/s, ") != std::string::npos);
  CHECK(page.find("nan") == std::string::npos);
  r.done.float_bytes = 0;  // of other types the peak is not known
  CHECK(count(report(r), "class=\"roof\"") == 1);
  r.threads = 0;
  CHECK(report(r).find("a GPU, whose peaks are not known") != std::string::npos);
}
TEST_CASE("a tuning without trials is a page, too") {
  std::string const page = report(tune_result{});
  CHECK(page.find("0 ns") == std::string::npos);
  CHECK(count(page, "Nothing was measured.") == 2);
  CHECK(page.find("</html>") != std::string::npos);
  CHECK(page.find("nan") == std::string::npos);
}
TEST_CASE("points of the drawings stand at the same places in every locale") {
  std::string const page = report(made());
  weft_test::comma_locale const comma;
  if (comma.is_there()) CHECK(report(made()) == page);
}
