// The pieces of docs/extern.md, compiled and run.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "weft/cuda.hpp"
#include "weft/expr/extern.hpp"
#include "weft/weft.hpp"

namespace {
// Each row in ascending order.
int sorted_rows(weft::extern_view<float const, 2> x, weft::extern_view<float, 2> y) noexcept {
  if (y.stride(1) != 1) return 1;  // this function wants rows side by side
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    float* const row = &y(i, 0);
    for (std::int64_t j = 0; j < x.extent(1); ++j) row[j] = x(i, j);
    std::sort(row, row + x.extent(1));
  }
  return 0;
}

// The middle of each row's distances from what is expected.
inline constexpr auto medians = weft::kernel<"medians">(
    [](auto A, auto expected) {
      auto M = A.extent(0), N = A.extent(1);
      auto D = weft::compute<"D">(M, N, [=](auto i, auto j) { return weft::abs(A(i, j) - expected(i)); });
      auto S = weft::compute<"S">(M, N, weft::external<"sorted_rows", &sorted_rows>(D));
      return weft::compute<"median">(M, [=](auto i) { return S(i, N / 2); });
    },
    [](auto& s, auto, auto, auto D, auto, auto) {
      auto [i, j] = D.axes();
      s.parallel(i);
      s.vectorize(s.split(j, 8)[1]);
    });

int quotient_and_rest(weft::extern_view<int const, 1> a, weft::extern_view<int const, 1> b, weft::extern_view<int, 1> q,
                      weft::extern_view<int, 1> r) noexcept {
  for (std::int64_t i = 0; i < a.extent(0); ++i) {
    if (b(i) == 0) return 1;
    q(i) = a(i) / b(i);
    r(i) = a(i) % b(i);
  }
  return 0;
}
inline constexpr auto divided = weft::kernel<"divided">([](auto a, auto b) {
  auto [q, r] = weft::compute<"q", "r">(a.extent(0), weft::external<"quotient_and_rest", &quotient_and_rest>(a, b));
  return weft::outputs(q, r);
});

inline constexpr weft::cuda_function sorted_rows_on_gpu{
    .name = "sorted_rows",
    .text = R"(
__device__ void sorted_rows(weft_view<float const, 2> x, weft_view<float, 2> y) {
  long long const i = blockIdx.x, n = y.extent(1);
  for (long long j = threadIdx.x; j < n; j += blockDim.x) {
    long long place = 0;  // how many belong in front of it
    for (long long k = 0; k < n; ++k) place += x(i, k) < x(i, j) || (x(i, k) == x(i, j) && k < j);
    y(i, place) = x(i, j);
  }
})",
    .threads = {128},
    .per_block = {1, 0}};
inline constexpr auto medians_anywhere = weft::kernel<"medians_anywhere">([](auto A, auto expected) {
  auto M = A.extent(0), N = A.extent(1);
  auto D = weft::compute<"D">(M, N, [=](auto i, auto j) { return weft::abs(A(i, j) - expected(i)); });
  auto S = weft::compute<"S">(M, N, weft::external<"sorted_rows", &sorted_rows, &sorted_rows_on_gpu>(D));
  return weft::compute<"median">(M, [=](auto i) { return S(i, N / 2); });
});
inline constexpr auto sorted_there = weft::kernel<"sorted_there">([](auto A) {
  return weft::compute<"S">(
      A.extent(0), A.extent(1),
      weft::external<"sorted_rows", weft::gpu_only<weft::extern_view<float const, 2>, weft::extern_view<float, 2>>, &sorted_rows_on_gpu>(A));
});
}  // namespace

TEST_CASE("docs/extern: a function for a GPU") {
  std::vector<float> const a{1, 5, 3, 2, 8, 4}, expected{0, 2};
  CHECK((medians_anywhere(weft::view(a, 2, 3), expected)(0) == 3));
  weft::ir::arena m;
  weft::cuda_module const text = medians_anywhere.on(weft::cuda()).module(m, weft::view(a, 2, 3), expected);
  REQUIRE(text.kernels.size() == 3);
  CHECK(text.kernels[1].blocks[0]->value == 2);
  CHECK(text.kernels[1].threads[0] == 128);
  CHECK(sorted_there.on(weft::cuda()).cuda_source(weft::view(a, 2, 3)).find("::sorted_rows(weft_view<float const, 2>{A,") != std::string::npos);
  CHECK_THROWS_AS(sorted_there(weft::view(a, 2, 3)), weft::argument_error);
}
TEST_CASE("docs/extern: medians by a sort") {
  std::vector<float> const a{1, 5, 3, 2, 8, 4}, expected{0, 2};
  auto const m = medians(weft::view(a, 2, 3), expected);
  CHECK((m(0) == 3 && m(1) == 2));
  CHECK(weft::evaluate(medians, weft::view(a, 2, 3), expected) == std::array{3.f, 2.f});
  std::string const loops = medians.loops(weft::view(a, 2, 3), expected);
  CHECK_MESSAGE(loops.find("S\n  S[i, j] = sorted_rows(D)\n") != std::string::npos, loops);
}
TEST_CASE("docs/extern: a function that fails") {
  std::vector<int> const a{7, 8}, b{2, 3}, zeros{1, 0};
  auto const [q, r] = divided(a, b);
  CHECK((q(0) == 3 && r(1) == 2));
  bool failed = false;
  try {
    divided(a, zeros);
  } catch (weft::extern_error const& e) {
    // divided: stage q: function quotient_and_rest answered 1; outputs are not complete
    failed = e.code() == 1;
  }
  CHECK(failed);
}
