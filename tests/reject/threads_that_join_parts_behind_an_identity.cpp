// expect: threads_join_the_parts_of_this_reduction__no_identity_is_stored_in_front
#include <weft/weft.hpp>

constexpr auto sums = [](auto A) {
  return weft::compute<"R">(A.extent(0), [=](auto i) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k); }); });
};
constexpr auto k = weft::kernel<"k">(sums, [](auto& s, auto, auto R) {
  auto [i, k] = R.axes();
  static_cast<void>(i);
  auto [P, v] = s.rfactor(R, k, 32);
  static_cast<void>(P);
  s.decompose_reduction(R, v);
  s.bind(v, weft::thread_axis::thread_x);  // <- here
});
static_assert(weft::checked<k, weft::arg<float, 2>>);

int main() {}
