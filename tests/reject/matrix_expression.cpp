// expect: weft: this matrix is an expression (as A * B) or sparse: it has no memory in which its elements stand; evaluate it first, as in (A * B).eval()
#include <weft/weft.hpp>

constexpr auto doubled = weft::kernel<"doubled">([](auto A) {
  return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
});

// Eigen's matrices, as far as weft looks at them.
struct product {
  using Scalar = float;
  enum { RowsAtCompileTime = -1, ColsAtCompileTime = -1, IsRowMajor = 0, IsVectorAtCompileTime = 0 };
  long rows() const { return 2; }
  long cols() const { return 2; }
};
struct matrix : product {
  float memory[4]{};
  float const* data() const { return memory; }
  float* data() { return memory; }
  long outerStride() const { return 2; }
  long innerStride() const { return 1; }
};
product operator*(matrix const&, matrix const&) { return {}; }

int main() {
  matrix A, B;
  doubled(A * B);  // <- here
  doubled(A, weft::out(B));
}
