// expect: the_order_of_its_terms_counts__rfactor_needs_an_associative_reduction
#include <weft/weft.hpp>

inline constexpr auto softmax_sum = weft::kernel<"softmax_sum">(
    [](auto A) {
      return weft::compute<"m">(A.extent(0), [=](auto i) {
        return weft::reduce(weft::values(0.f, 0.f),
                            [](auto state, auto x) { return weft::values(weft::max(weft::get<0>(state), x), weft::get<1>(state) * 0.5f + x); },
                            A.extent(1), [=](auto k) { return A(i, k); });
      });
    },
    [](auto& s, auto, auto m) {
      auto [i, k] = m.axes();
      static_cast<void>(i);
      s.rfactor(m, k, 4);  // <- here
    });
static_assert(weft::checked<softmax_sum, weft::arg<float, 2>>);

int main() {}
