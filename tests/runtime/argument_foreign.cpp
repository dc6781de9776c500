// Tensors of other libraries as arguments: a look-alike of mdspan, and the real Eigen where it is installed.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#if __has_include(<eigen3/Eigen/Core>)
#include <eigen3/Eigen/Core>
#define WEFT_TEST_EIGEN 1
#else
#define WEFT_TEST_EIGEN 0
#endif

#include "weft/weft.hpp"

using namespace weft;

namespace {
template <class A>
using type_of = typename detail::argument_traits<A>::type;
template <class A>
argument described(A const& a) {
  argument to;
  detail::argument_traits<A>::describe(a, to);
  return to;
}

// What std::mdspan offers, by the standard's names ([mdspan.mdspan]); `Left` is layout_left.
inline constexpr std::size_t dynamic_extent = static_cast<std::size_t>(-1);
template <class T, bool Left, std::size_t... E>
struct span_of {
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using index_type = int;
  using reference = T&;
  T* handle;
  std::array<int, sizeof...(E)> sizes;
  static constexpr std::size_t rank() noexcept { return sizeof...(E); }
  static constexpr std::size_t static_extent(std::size_t r) noexcept {
    return std::array<std::size_t, sizeof...(E)>{E...}[r];
  }
  constexpr int extent(std::size_t r) const { return sizes[r]; }
  constexpr std::array<int, sizeof...(E)> const& extents() const { return sizes; }
  constexpr std::size_t size() const { return 0; }
  constexpr int stride(std::size_t r) const {
    int s = 1;
    for (std::size_t d = Left ? 0 : r + 1; d < (Left ? r : rank()); ++d) s *= sizes[d];
    return s;
  }
  static constexpr bool is_always_strided() { return true; }
  constexpr T* data_handle() const { return handle; }
};
// Its older form, which has `data`.
template <class T>
struct old_span : span_of<T, false, dynamic_extent, dynamic_extent> {
  T* data_handle() const = delete;
  constexpr T* data() const { return this->handle; }
};
// One that computes what it gives, and one whose layout may have no strides.
struct scaled_span : span_of<float, false, dynamic_extent> {
  using reference = float;
};
struct tiled_span : span_of<float, false, dynamic_extent> {
  static constexpr bool is_always_strided() { return false; }
};

using right = span_of<float, false, dynamic_extent, dynamic_extent>;
using left = span_of<float, true, dynamic_extent, dynamic_extent>;
static_assert(std::is_same_v<type_of<right>, arg<float, 2>>);
static_assert(std::is_same_v<type_of<span_of<double const, true, 4, dynamic_extent>>, fixed_arg<double, 4, dynamic>>);
static_assert(std::is_same_v<type_of<old_span<float>>, arg<float, 2>>);
static_assert(!detail::argument_traits<right>::is_output && detail::argument_traits<right>::supported);
static_assert(detail::argument_traits<decltype(out(std::declval<right>()))>::is_output);
static_assert(!detail::mdspan_like<scaled_span> && !detail::mdspan_like<tiled_span>);
static_assert(!detail::mdspan_like<std::vector<float>> && !detail::mdspan_like<weft::tensor<float, 2>>);
static_assert(!detail::eigen_expression<std::vector<float>> && !detail::foreign_tensor<int>);

inline constexpr auto weighted = weft::kernel<"weighted">([](auto A, auto w) {
  return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) * w(j) + 1.0f; });
});
}  // namespace

TEST_CASE("an mdspan brings its extents and strides; its static extents are in its type") {
  std::vector<float> a(12), c(12);
  for (std::size_t i = 0; i < 12; ++i) a[i] = static_cast<float>(i);
  argument const d = described(left{a.data(), {3, 4}});
  CHECK(d.extents[0] == 3);
  CHECK(d.extents[1] == 4);
  CHECK(d.strides[0] == 1);
  CHECK(d.strides[1] == 3);
  std::vector<float> const w{1, 10, 100, 1000};
  weighted(left{a.data(), {3, 4}}, w, weft::out(right{c.data(), {3, 4}}));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j) CHECK(c[i * 4 + j] == a[j * 3 + i] * w[j] + 1);
  // The older form, constant elements, evaluate.
  CHECK(weft::evaluate(weighted, span_of<float const, true, 3, 4>{a.data(), {3, 4}}, w) == c);
  CHECK(described(old_span<float>{{a.data(), {3, 4}}}).strides[0] == 4);
}

namespace camera {
struct image {
  std::vector<std::uint8_t> pixels;
  int rows, columns, pitch;
};
auto view(image const& i) { return weft::view(i.pixels.data(), i.rows, i.columns).strided(i.pitch, 1); }
struct no_image {};
int view(no_image const&) { return 0; }  // answers something else
}  // namespace camera
static_assert(std::is_same_v<type_of<camera::image>, arg<std::uint8_t, 2>>);
static_assert(!detail::argument_traits<camera::no_image>::supported && !detail::argument_traits<float*>::supported &&
              !detail::argument_traits<float[3]>::supported);

inline constexpr auto brighter = weft::kernel<"brighter">(
    [](auto I) { return weft::compute<"J">(I.extent(0), I.extent(1), [=](auto y, auto x) { return 2 * I(y, x); }); });
TEST_CASE("a type of the program's is an argument by a view beside it") {
  camera::image const i{{1, 2, 0, 0, 3, 4, 0, 0}, 2, 2, 4};
  auto const j = brighter(i);
  CHECK(std::vector<int>(j.begin(), j.end()) == std::vector<int>{2, 4, 6, 8});
  CHECK(weft::evaluate(brighter, i) == std::vector<int>{2, 4, 6, 8});
}

#if WEFT_TEST_EIGEN
inline constexpr auto product = weft::kernel<"product">([](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
});
using row_major_matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

static_assert(std::is_same_v<type_of<Eigen::MatrixXf>, arg<float, 2>>);
static_assert(std::is_same_v<type_of<Eigen::Matrix<double, 3, 4>>, fixed_arg<double, 3, 4>>);
static_assert(std::is_same_v<type_of<Eigen::VectorXf>, arg<float, 1>>);
static_assert(std::is_same_v<type_of<Eigen::RowVectorXi>, arg<int, 1>>);
static_assert(std::is_same_v<type_of<Eigen::Vector4d>, fixed_arg<double, 4>>);
static_assert(std::is_same_v<type_of<Eigen::ArrayXXf>, arg<float, 2>>);
static_assert(std::is_same_v<type_of<Eigen::Map<Eigen::MatrixXf const, 0, Eigen::OuterStride<>>>, arg<float, 2>>);
static_assert(std::is_same_v<type_of<Eigen::Ref<Eigen::MatrixXf const>>, arg<float, 2>>);
using product_expression = decltype(std::declval<Eigen::MatrixXf>() * std::declval<Eigen::MatrixXf>());
static_assert(detail::eigen_expression<product_expression> && !detail::eigen_like<product_expression>);
static_assert(!detail::contiguous_range<Eigen::MatrixXf>);
static_assert(!detail::argument_traits<Eigen::MatrixXcf>::supported);  // weft has no complex numbers

/// Whole numbers, so that every order of a sum gives the same.
template <class M>
void number(M& m) {
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    for (Eigen::Index j = 0; j < m.cols(); ++j) m(i, j) = static_cast<typename M::Scalar>((7 * i + 3 * j) % 11 - 5);
}

TEST_CASE("Eigen's matrices are read and written where they are, by columns or by rows") {
  Eigen::MatrixXf A(5, 7), C(5, 4);
  row_major_matrix B(7, 4), D(5, 4);
  number(A), number(B);
  product(A, B, weft::out(C));
  CHECK(C == (A * B).eval());
  product(A, B, weft::out(D));
  CHECK(D == C);
  CHECK(weft::evaluate(product, A, B).values == std::vector<float>(D.data(), D.data() + D.size()));
  Eigen::MatrixXf const& constant = A;
  product(constant, B, weft::out(C));
  CHECK(C == D);
}
TEST_CASE("blocks, transposes, references and maps with strides are Eigen's own memory; what is around stays") {
  Eigen::MatrixXf A(9, 9), C = Eigen::MatrixXf::Constant(8, 8, -99);
  number(A);
  Eigen::MatrixXf const want = A.block(1, 2, 4, 5) * A.transpose().block(0, 3, 5, 6);
  product(A.block(1, 2, 4, 5), A.transpose().block(0, 3, 5, 6), weft::out(C.block(2, 1, 4, 6)));
  CHECK(C.block(2, 1, 4, 6) == want);
  C.block(2, 1, 4, 6).setConstant(-99);
  CHECK(C == Eigen::MatrixXf::Constant(8, 8, -99));

  std::vector<float> memory(3 * 40, -99.0f);
  Eigen::Map<Eigen::MatrixXf, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> strided(
      memory.data(), 4, 6, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(20, 3));
  Eigen::Ref<Eigen::MatrixXf const> const reference = A.transpose().block(0, 3, 5, 6);
  product(A.block(1, 2, 4, 5), reference, weft::out(strided));
  CHECK(strided == want);
  CHECK(memory[1] == -99);
}
TEST_CASE("one block of a matrix is computed from another of its blocks") {
  Eigen::MatrixXf A(9, 9);
  number(A);
  Eigen::MatrixXf const before = A, want = A.block(0, 0, 4, 3) * A.block(5, 4, 3, 5);
  product(A.block(0, 0, 4, 3), A.block(5, 4, 3, 5), weft::out(A.block(0, 4, 4, 5)));  // beside the one, above the other
  CHECK(A.block(0, 4, 4, 5) == want);
  A.block(0, 4, 4, 5) = before.block(0, 4, 4, 5);
  CHECK(A == before);
  CHECK_THROWS_AS(product(A.block(0, 0, 4, 3), A.block(5, 4, 3, 5), weft::out(A.block(0, 2, 4, 5))), argument_error);
}
TEST_CASE("Eigen's vectors have one dimension, with the step of where they lie") {
  Eigen::MatrixXf A(3, 4), C(3, 4);
  number(A);
  Eigen::Vector4f const w(1, 10, 100, 1000);
  weighted(A, w, weft::out(C));
  CHECK(C == ((A * w.asDiagonal()).array() + 1).matrix().eval());
  CHECK(described(A.row(1)).strides[0] == 3);  // of a matrix by columns
  CHECK(described(A.row(1)).extents[0] == 4);
  CHECK(described(A.col(1)).strides[0] == 1);
  CHECK(described(A.col(1)).data == &A(0, 1));
  CHECK(described(A.diagonal()).strides[0] == 4);
  CHECK(described(A.diagonal()).extents[0] == 3);
  weighted(A, A.row(2), weft::out(C));
  CHECK(C(1, 3) == A(1, 3) * A(2, 3) + 1);
}
TEST_CASE("fixed extents of an Eigen object are checked against the others") {
  Eigen::Matrix<float, 3, 4> A;
  number(A);
  Eigen::Vector3f const w(1, 2, 3);
  CHECK_THROWS_AS(static_cast<void>(weighted(A, w)), argument_error);
}
#else
TEST_CASE("Eigen") { MESSAGE("[skip] Eigen is not installed here: apt-get install libeigen3-dev"); }
#endif
