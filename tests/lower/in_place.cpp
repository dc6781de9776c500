// Results that are written over what they are made of, by schedules that move stages.
#include <doctest/doctest.h>

#include "schedule/rules/check.hpp"
#include "support/said.hpp"
#include "weft/direct.hpp"
#include "weft/ops.hpp"
#include "weft/weft.hpp"

using namespace weft;
using namespace weft_test;

namespace {
/// What the kernel says of a call over its first input; where it says nothing, the results are those of direct evaluation.
template <class Kernel, class... Others>
std::string said_in_place(Kernel const& kernel, tensor<float, 2> const& x, Others const&... others) {
  tensor<float, 2> y(x.extent(0), x.extent(1));
  std::copy(x.data(), x.data() + x.size(), y.data());
  auto const expected = evaluate({.contract = cpu().fma}, kernel, x, others...);
  std::string const why = said_by([&] { kernel(view(y.data(), y.extent(0), y.extent(1)), others..., out(y.data(), y.extent(0), y.extent(1))); });
  if (why.empty()) CHECK((expected == y));
  return why;
}
template <class Kernel, class... Others>
std::string loops_in_place(Kernel const& kernel, tensor<float, 2>& x, Others const&... others) {
  return kernel.loops(view(x.data(), x.extent(0), x.extent(1)), others..., out(x.data(), x.extent(0), x.extent(1)));
}
/// Each row minus its sum, minus its first element; `at`: how many of the row's loops the sum is computed in.
auto less_sum(int at) {
  return kernel<"less_sum">(
      [](auto x) {
        auto const total = compute<"total">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return x(i, k); }); });
        return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) - total(i); });
      },
      [at](auto& s, auto, auto total, auto y) {
        auto [i, j] = y.axes();
        if (at == 1) s.compute_at(total, i);
        if (at == 2) s.compute_at(total, j);
        if (at == 3) s.parallel(i), s.compute_at(total, i);
        if (at == 4) {
          auto [io, ii] = s.split(i, 4);
          s.compute_at(total, io);
        }
        if (at == 5) s.reorder(j, i), s.compute_at(total, i);
        if (at == 6) {
          auto [io, ii] = s.split(i, 4, tail::shift_inwards);
          s.compute_at(total, io);
        }
      });
}
}  // namespace

TEST_CASE("in place: a row's sum may be computed in the loop over rows, and not where others of its elements are written before") {
  for (std::int64_t rows : {1, 7, 12}) {
    auto const x = drawn<float>(1, rows, 9);
    for (int at : {0, 1, 3}) CHECK(said_in_place(less_sum(at), x) == "");
    CHECK(said_in_place(less_sum(2), x).find("stage total, where the schedule has it computed") != std::string::npos);
    CHECK(said_in_place(less_sum(5), x).find("stage total, where the schedule has it computed") != std::string::npos);
    CHECK(said_in_place(less_sum(4), x) == "");
    CHECK(said_in_place(less_sum(6), x) == "");  // no row is computed again where it was written
  }
}
TEST_CASE("in place: what is read through an inlined stage is the element that is written, and in the row's loop any of it") {
  auto const about = [](auto turned) {
    return kernel<"about">(
        [](auto x) {
          auto const twice = compute<"twice">(x.extent(0), x.extent(1), [=](auto i, auto j) { return 2.0f * x(i, j); });
          auto const top = compute<"top">(x.extent(0), [=](auto i) { return weft::max(x.extent(1), [=](auto k) { return twice(i, k); }); });
          return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) {
            if constexpr (decltype(turned)::value) return twice(i, x.extent(1) - 1 - j) - top(i);
            else return twice(i, j) - top(i);
          });
        },
        [](auto& s, auto, auto twice, auto top, auto y) {
          s.compute_inline(twice);
          s.compute_at(top, y.axes()[0]);
        });
  };
  auto const x = drawn<float>(1, 6, 9);
  CHECK(said_in_place(about(std::false_type()), x) == "");
  CHECK(said_in_place(about(std::true_type()), x).find("cannot be written over input") != std::string::npos);
}
TEST_CASE("in place by rule: rows and products have the schedules that they have elsewhere") {
  auto x = drawn<float>(1, 40, 70);
  static constexpr auto soft = kernel<"soft">([](auto a) { return ops::softmax(a); });
  static constexpr auto norm = kernel<"norm">([](auto a, auto w, auto b) { return ops::layer_norm(a, w, b); });
  static constexpr auto added = kernel<"added">([](auto r, auto a, auto b) { return ops::add(ops::matmul(a, b), r); });
  auto const w = drawn<float>(2, 70), b = drawn<float>(3, 70);
  auto const left = drawn<float>(4, 40, 50), right = drawn<float>(5, 50, 70);
  CHECK(has_in_order(loops_in_place(soft, x), {"softmax\n", "top\n", "vectorized", "e\n", "vectorized"}));
  CHECK(has_in_order(loops_in_place(norm, x, w, b), {"layer_norm\n", "total\n", "vectorized", "vectorized"}));
  CHECK(has_in_order(loops_in_place(added, x, left, right), {"add\n", "matmul\n", "unrolled", "vectorized"}));
  // By other orders of the same sums.
  for (std::int64_t rows : {1, 3, 40}) {
    auto const y = drawn<float>(6, rows, 70);
    tensor<float, 2> own(rows, 70), over(rows, 70);
    std::copy(y.data(), y.data() + y.size(), over.data());
    soft(y, out(own));
    soft(view(over.data(), rows, 70), out(over.data(), rows, 70));
    CHECK(std::equal(own.data(), own.data() + own.size(), over.data()));
    std::copy(y.data(), y.data() + y.size(), over.data());
    norm(y, w, b, out(own));
    norm(view(over.data(), rows, 70), w, b, out(over.data(), rows, 70));
    CHECK(std::equal(own.data(), own.data() + own.size(), over.data()));
  }
}
TEST_CASE("in place by rule: fifty stages that each read two others are looked at once each") {
  auto const waves = kernel<"waves">([](auto x) {
    auto a = compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) + 1.0f; });
    auto b = compute<"b">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * 2.0f; });
    for (int n = 0; n < 24; ++n) {
      auto const c = compute<"c">(x.extent(0), x.extent(1), [=](auto i, auto j) { return sum(3, [=](auto k) { return a(i, max(j - k, 0)) - b(i, j); }); });
      auto const d = compute<"d">(x.extent(0), x.extent(1), [=](auto i, auto j) { return sum(2, [=](auto k) { return a(i, j) * 0.5f + b(i, max(j - k, 0)); }); });
      a = c, b = d;
    }
    return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a(i, j) + b(i, j); });
  });
  CHECK(said_in_place(waves, drawn<float>(1, 5, 12)) == "");
}
