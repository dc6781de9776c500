// What a tuning finds is for as many threads as calls have.
#include <doctest/doctest.h>

#include <vector>

#include "support/private_cache.hpp"
#include "weft/runtime/executor.hpp"
#include "weft/tune.hpp"

using namespace weft;

namespace {
inline constexpr auto doubled = weft::kernel<"doubled_by_threads">(
    [](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) * 2.0f; }); },
    [](auto& s, auto, auto y) {
      auto [i] = y.axes();
      auto [io, ii] = s.split(i, s.knob("n", {64, 16}));
      s.vectorize(ii);
      static_cast<void>(io);
    });
bool is_tuned(std::vector<float> const& x) { return schedule_reason(doubled, x).find("tuned for these arguments") == 0; }
void one_after_the_other(void*, int count, executor::task each, void* data) {
  for (int i = 0; i < count; ++i) each(data, i);
}
}  // namespace

TEST_CASE("a result is found by calls that have as many threads as it was measured with, and by no others") {
  weft_test::private_cache const here;
  std::vector<float> const x(4096, 1.0f);
  tune_options o;
  o.trials = 2;
  executor const more{one_after_the_other, nullptr, host().threads + 1};
  CHECK(threads_of_calls() >= 1);
  int const own = threads_of_calls();
  tune(doubled, o, x);
  CHECK(is_tuned(x));
  set_executor(more);
  CHECK(threads_of_calls() == host().threads + 1);
  CHECK_FALSE(is_tuned(x));
  std::vector<float> const y(3000, 1.0f);
  std::string const threads = (own == 1 ? "1 thread, not of " : std::to_string(own) + " threads, not of ") + std::to_string(host().threads + 1);
  CHECK(schedule_reason(doubled, x) == "tuned for these sizes, for calls of " + threads);
  CHECK(schedule_reason(doubled, y) == "tuned for 4096 and 4096, for calls of " + threads + "; not for 3000 and 3000");
  tune(doubled, o, x);
  CHECK(is_tuned(x));
  set_executor({});
  CHECK(threads_of_calls() == own);
  CHECK(is_tuned(x));
  set_executor({nullptr, nullptr, 1});  // weft's own pool, of which calls take one thread
  CHECK(threads_of_calls() == 1);
  CHECK(is_tuned(x) == (own == 1));
  set_executor({});
}
