// expect: threads_join_parts_of_one_value_in_a_tree__leave_this_axis_serial
#include <weft/weft.hpp>

constexpr auto largest = [](auto A) {
  return weft::compute<"P">(A.extent(0), [=](auto i) { return weft::argmax(A.extent(1), [=](auto k) { return A(i, k); }); });
};
constexpr auto k = weft::kernel<"k">(largest, [](auto& s, auto, auto P) {
  auto [i, k] = P.axes();
  static_cast<void>(i);
  auto [parts, v] = s.rfactor(P, k, 32);
  static_cast<void>(parts), static_cast<void>(v);
  s.bind(v, weft::thread_axis::thread_x);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
