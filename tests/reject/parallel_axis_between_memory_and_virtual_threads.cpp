// expect: memory_inside_a_parallel_axis_has_no_copies_for_virtual_threads_around_it
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">(
    [](auto x) {
      auto const n = x.extent(0);
      auto a = weft::compute<"a">(n, [=](auto i) { return x(i) * 2; });
      auto b = weft::compute<"b">(n, n, [=](auto i, auto j) { return a(i) + a(j); });
      return weft::compute<"c">(n, n, [=](auto i, auto j) { return b(i, j) + b(j, i); });
    },
    [](auto& s, auto, auto a, auto b, auto c) {
      auto [i, j] = c.axes();
      auto [bi, bj] = b.axes();
      s.bind(i, weft::thread_axis::virtual_thread);
      s.compute_at(b, i);
      s.compute_at(a, bi);
      s.parallel(bi);  // <- here
    });
static_assert(weft::checked<k, weft::fixed_arg<float, 4>>);

int main() {}
