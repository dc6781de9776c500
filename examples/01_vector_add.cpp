// Lesson 1: a kernel is two lambdas.
//
// runs: in under 5 s
//
// The first says what is computed, element by element; the second says how the loop runs. Nothing is linked and
// nothing is generated before: the first call compiles machine code for this CPU, the next ones just run it.

#include <weft/weft.hpp>

#include <cstdio>
#include <vector>

inline constexpr auto add = weft::kernel<"add">(
    [](auto a, auto b) {  // what: c(i) for all i below the extent of a
      return weft::compute<"c">(a.extent(0), [=](auto i) { return a(i) + b(i); });
    },
    [](auto& s, auto, auto, auto c) {  // how: one handle per input (numbers too), then one per stage
      auto [i] = c.axes();
      auto [chunk, lane] = s.split(i, 32);
      s.vectorize(lane);
      s.parallel(chunk);
    });

int main() {
  std::vector<float> a(1000), b(1000), c(1000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i), b[i] = 0.5f;

  add(a, b, weft::out(c));  // compiled here, for 1000 elements
  add(a, b, weft::out(c));  // run again

  for (std::size_t i = 0; i < c.size(); ++i)
    if (c[i] != a[i] + b[i]) {
      std::printf("wrong at %zu\n", i);
      return 1;
    }

  weft::tensor<float, 1> d = add(a, b);  // without weft::out the result is new
  std::printf("c[999] = %g, d[999] = %g\n", static_cast<double>(c[999]), static_cast<double>(d(999)));
  std::printf("\nThe loops of add for 1000 elements:\n\n%s", add.loops(a, b).c_str());
  return d(999) == c[999] ? 0 : 1;
}
