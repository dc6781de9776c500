// expect-gcc: no matching function for call to
// expect-clang: no matching function for call to 'out'
#include <vector>
#include <weft/weft.hpp>

int main() {
  std::vector<float> const a(4);
  auto v = weft::view(a, 4);
  [[maybe_unused]] auto w = weft::out(v);  // <- here
}
