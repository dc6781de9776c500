// expect: weft: an output cannot be constant
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), [=](auto i) { return A(i) + A(i); });
});

// An mdspan, as far as weft looks at it.
template <class T>
struct span {
  T* p;
  static constexpr unsigned long rank() { return 1; }
  long extent(unsigned long) const { return 4; }
  long stride(unsigned long) const { return 1; }
  T* data_handle() const { return p; }
};

int main() {
  float a[4] = {}, c[4] = {};
  doubled(span<float const>{a}, weft::out(span<float const>{c}));  // <- here
  doubled(span<float const>{a}, weft::out(span<float>{c}));
}
