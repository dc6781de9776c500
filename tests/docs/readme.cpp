// The program of README.md, as it stands there; docs/snippets.py compares them.
#include <weft/weft.hpp>

#include <vector>

inline constexpr auto matmul = weft::kernel<"matmul">(
    [](auto A, auto B) {                                    // what
      auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
      return weft::compute<"C">(M, N, [=](auto i, auto j) {
        return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
    [](auto& s, auto, auto, auto C) {                       // how: a handle per argument, then per stage
      auto [i, j, k] = C.axes();
      auto [ko, ki] = s.split(k, 256);
      auto [io, ii] = s.split(i, s.knob("mr", {6, 4}));
      auto [jo, ji] = s.split(j, s.knob("nr", {64, 32, 16, 8}));
      s.reorder(ko, jo, io, ki, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
      s.parallel(jo);
    });

int main() {
  std::vector<float> a(1024 * 512), b(512 * 768), c(1024 * 768);
  matmul(weft::view(a, 1024, 512), weft::view(b, 512, 768), weft::out(c, 1024, 768));  // compiled here, once
}
