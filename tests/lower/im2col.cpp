// Convolutions as products of gathered matrices: what they compute, in each executor.
#include <doctest/doctest.h>

#include "fuzz/found.hpp"
#include "weft/expr/boundary.hpp"

using namespace weft;
using weft_test::fuzz::found;

namespace {
/// Two images of 5 x 6 x 3 in zeros, three by two places of a window for each of four filters, whose last dimension may be the channels.
template <class T>
void check(std::string const& steps, bool behind, bool strided, bool turned = false) {
  INFO(steps);
  found f;
  auto const x = f.input<T, 4>({2, 5, 6, 3});
  auto const w = turned ? f.input<T, 4>({4, 3, 3, 2}) : f.input<T, 4>({3, 2, 3, 4});
  auto const at = constant_exterior(x, T(0));
  std::int64_t const step = strided ? 2 : 1;
  auto const y = compute<"y">(2, 2, 3, 4, [=](auto n, auto i, auto j, auto g) {
    return sum(3, 3, 2, [=](auto c, auto di, auto dj) {
      return at(n, i * step + di - 1, j * step + dj, c) * (turned ? w(g, c, di, dj) : w(di, dj, c, g));
    });
  });
  if (!behind) return f.check(y, steps, 6, 3);
  f.check(compute<"z">(2, 2, 3, 4, [=](auto n, auto i, auto j, auto g) { return max(y(n, i, j, g), T(1)); }), steps, 6, 3);
}
/// Sums of whole numbers come out in any order, those of floats in the program's.
std::string const gathered = "y: im2col(1, 2, 0)\n", in_order = "y: im2col()\n";
}  // namespace

TEST_CASE("im2col: the matrices of all windows in memory, or what is read in a loop") {
  for (bool strided : {false, true}) {
    check<float>(in_order, false, strided);
    check<std::int32_t>(gathered + "A_matrix: compute_at(y_product, i)\nB_matrix: compute_at(y_product, k)\n", true, strided);
    check<float>(in_order + "A_matrix: compute_inline()\nB_matrix: compute_inline()\n", true, strided, true);
  }
}
TEST_CASE("im2col: tiles of rows and terms, cut off or rounded up, in memory laid out anew") {
  std::string const tiles =
                            "A_matrix: transform_layout(0, 8, 0, 1, 4, 0, 0, 1, 8, 1, 1, 4, 0)\ny_product: split(i, 8) -> io, ii\n"
                            "y_product: split(k, 4) -> ko, ki\ny_product: reorder(io, ko, ii, j, ki)\n";
  for (bool turned : {false, true}) {
    check<float>(in_order + tiles + "A_matrix: compute_at(y_product, ko)\nB_matrix: compute_at(y_product, ko)\n", false, false, turned);
    check<std::int32_t>(gathered + tiles + "A_matrix: compute_at(y_product, ko)\ny_product: vectorize(j)\nA_matrix: vectorize(l)\n", true, true);
  }
}
TEST_CASE("im2col: what becomes of the sums, in tiles of the fused rows that divide rows of an image, or do not") {
  for (int rows : {1, 2, 3, 4, 5, 6, 8, 12}) {
    std::string const tile = "y_product: split(i, " + std::to_string(rows) + ") -> io, ii\ny_product: reorder(io, k, ii, j)\n";
    check<float>(in_order + tile + "y: reverse_compute_inline()\nA_matrix: compute_at(y_product, k)\n", false, rows % 2 == 0);
    check<std::int32_t>(gathered + tile + "y: compute_inline()\nz: reverse_compute_inline()\n", true, rows % 2 == 1);
  }
  check<float>(in_order + "y_product: reorder(j, k, i)\ny_product: vectorize(i)\ny: compute_inline()\nz: reverse_compute_inline()\n", true, false, true);
}
