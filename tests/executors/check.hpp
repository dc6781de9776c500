// What every executor must do, whoever's threads it has.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "weft/runtime/executor.hpp"
#include "weft/weft.hpp"

namespace weft_test {

inline constexpr auto two_loops = weft::kernel<"two_loops">(
    [](auto A) {
      auto S = weft::compute<"S">(A.extent(0), [=](auto i) { return 3 * A(i); });
      return weft::compute<"B">(A.extent(0), [=](auto i) { return S(i) + S(A.extent(0) - 1 - i); });
    },
    [](auto& s, auto, auto S, auto B) {
      s.parallel(S.axes()[0]);
      s.parallel(B.axes()[0]);
    });

/// 0 when kernels give under `e` what they give on weft's own pool: one after the other, from several threads at once,
/// and from `inside`, which calls its argument in tasks of the same threads.
template <class Inside>
int check(char const* name, weft::executor const& e, Inside const& inside) {
  ::alarm(120);  // a hang is a failure
  // So many elements that no loop is short: those are their callers'.
  std::vector<int> a(200003), expected(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int>(i % 1009);
  two_loops(a, weft::out(expected));
  std::atomic<int> wrong{0};
  auto const once = [&] {
    std::vector<int> b(a.size(), -1);
    two_loops(a, weft::out(b));
    wrong += b != expected;
  };
  for (int pieces : {2, 4, 100}) {
    weft::set_executor({e.run, e.context, pieces});
    for (int i = 0; i < 100; ++i) once();
    std::vector<std::thread> callers;
    for (int t = 0; t < 3; ++t)
      callers.emplace_back([&] {
        for (int i = 0; i < 20; ++i) once();
      });
    for (std::thread& t : callers) t.join();
    inside(once);
  }
  std::printf("%s: %d calls were wrong\n", name, wrong.load());
  return wrong == 0 ? 0 : 1;
}

}  // namespace weft_test
