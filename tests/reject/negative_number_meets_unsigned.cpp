// expect: a_number_does_not_fit_the_element_type_that_it_meets__cast_the_tensor_to_a_wider_one
#include <vector>

#include <weft/weft.hpp>

// At a call, without weft::checked, and under a schedule.
constexpr auto k = weft::kernel<"k">(
    [](auto A) {
      return weft::compute<"C">(A.extent(0), [=](auto i) {
        return A(i) + -1;  // <- here
        return A(i) - 1;
      });
    },
    [](auto& s, auto, auto C) {
      auto [i] = C.axes();
      s.parallel(i);
    });

int main() {
  std::vector<std::uint32_t> a(4), c(4);
  k(a, weft::out(c));
}
