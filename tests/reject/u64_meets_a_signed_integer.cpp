// expect: weft: u64 meets a signed integer (an index is one), and no type holds the numbers of both; cast one of them
#include <weft/weft.hpp>

constexpr auto k = weft::kernel<"k">([](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), [=](auto i) {
    return A(i) + B(i);  // <- here
    return weft::cast<std::int64_t>(A(i)) + B(i);
  });
});
static_assert(weft::checked<k, weft::arg<std::uint64_t, 1>, weft::arg<int, 1>>);

int main() {}
