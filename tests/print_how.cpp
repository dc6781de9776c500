// Schedules as the text of a how-lambda. Each text is a golden file, which is compiled here, too, and takes the same steps.
#include "weft/print_how.hpp"

#include <string>

#include "support/golden.hpp"
#include "support/kernels.hpp"

using namespace weft_test;
using weft::dims;

namespace {

constexpr auto packed = [](auto& s, auto, auto B, auto C) {
  auto block = s.cache_write(C);
  auto panels = s.transform_layout(s.cache_read(B, block), [](auto k, auto n) { return dims(n / 32, k, n % 32); }, 7);
  auto [x, y, gone] = C.axes();
  auto [mo, no, mi, ni] = s.tile(x, y, s.knob("rows", {16, 32}), 32);
  auto tiles = s.fuse(mo, no);
  s.parallel(tiles);
  s.compute_at(block, tiles);
  auto [mc, nc, k] = block.axes();
  auto [ko, ki] = s.split(k, 4);
  s.reorder(ko, mc, ki, nc);
  s.prefetch(panels, mc, 2);
  s.prefetch_inside(panels, ko, mc, 1);
  s.swizzle(panels);
  s.vectorize(nc);
  s.unroll(ki);
  s.vectorize(panels.axes()[2]);
};
constexpr auto joined_panels = [](auto& s, auto, auto B, auto C) {
  auto panels = s.transform_layout(s.cache_read(B, C), [](auto k, auto n) { return dims(join(k, n) / 32, join(k, n) % 32); });
  s.vectorize(panels.axes()[1]);
};
constexpr auto in_parts = [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [parts, v] = s.rfactor(C, k, 8);
  auto [pi, pj, pv, pu] = parts.axes();
  s.reorder(pu, pv);
  s.vectorize(pv);
  s.compute_at(parts, j);
  s.set_scope(parts, weft::scope::stack);
  auto again = s.rfactor(parts, pu, 2, weft::chunks);
  s.storage_align(again.parts, 1, 16, 3);
  s.decompose_reduction(C, j);
};
/// Names that C++ or the schedule keeps for itself, and axes of one name in several stages.
constexpr auto windows = [](auto a) {
  auto s = weft::compute<"s">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) + 1.0f; });
  auto t = weft::compute<"int">(a.extent(0) - 2, a.extent(1), [=](auto i, auto j) { return s(i, j) + s(i + 2, j); });
  auto u = weft::compute<"u">(a.extent(0) - 2, a.extent(1), [=](auto i, auto j) { return t(i, j) * 2.0f; });
  return weft::compute<"T 4">(a.extent(0) - 2, a.extent(1), 3, 2, [=](auto i, auto j, auto, auto) { return u(i, j); });
};
constexpr auto sliding = [](auto& s, auto, auto first, auto second, auto third, auto last) {
  auto [i, j, k, l] = last.axes();
  auto [io, ii] = s.split(i, 8, weft::tail::partition);
  s.parallel(io, weft::thread_limit(3));
  s.specialize(s.extent(i) % 8 == 0 && s.extent(l) == 2);
  s.store_non_temporal(last);
  s.unroll(s.split(l, 2)[1]);
  s.compute_inline(third);
  s.compute_at(second, ii);
  s.compute_at(first, ii);
  s.store_at(first, io);
  s.fold_storage(first.axes()[0], 4);
  s.vectorize(first.axes()[1], 8, weft::tail::mask);
  s.vectorize(second.axes()[1], 8);
};

/// The text of `kernel`'s schedule is the golden file, and `compiled`, which was made of it, has the same trace.
template <class Kernel, class Compiled, class... A>
void check_how(char const* golden, Kernel const& kernel, Compiled const& compiled, A const&... inputs) {
  check_golden(golden, weft::print_how(kernel, inputs...) + "\n");
  CHECK(compiled.trace(inputs...) == kernel.trace(inputs...));
  CHECK(weft::print_how(compiled, inputs...) == weft::print_how(kernel, inputs...));
}

}  // namespace

TEST_CASE("a printed how-lambda takes the same steps: copies, layouts, tiles") {
  weft::tensor<float, 2> const left(75, 41), right(41, 70);
  constexpr auto compiled = weft::kernel<"product">(matrix_product,
#include "golden/schedule/how_packed.inc"
  );
  check_how("schedule/how_packed.inc", weft::kernel<"product">(matrix_product, packed), compiled, left, right);
}
TEST_CASE("a printed how-lambda takes the same steps: joined dimensions of a layout") {
  weft::tensor<float, 2> const left(7, 41), right(41, 9);
  constexpr auto compiled = weft::kernel<"product">(matrix_product,
#include "golden/schedule/how_joined.inc"
  );
  check_how("schedule/how_joined.inc", weft::kernel<"product">(matrix_product, joined_panels), compiled, left, right);
}
TEST_CASE("a printed how-lambda takes the same steps: reductions in parts, memory") {
  weft::tensor<float, 2> const left(7, 41), right(41, 9);
  constexpr auto compiled = weft::kernel<"product">(matrix_product,
#include "golden/schedule/how_in_parts.inc"
  );
  check_how("schedule/how_in_parts.inc", weft::kernel<"product">(matrix_product, in_parts), compiled, left, right);
}
TEST_CASE("a printed how-lambda takes the same steps: windows, tails, and names that C++ does not take") {
  weft::tensor<float, 2> const image(37, 21);
  constexpr auto compiled = weft::kernel<"windows">(windows,
#include "golden/schedule/how_sliding.inc"
  );
  check_how("schedule/how_sliding.inc", weft::kernel<"windows">(windows, sliding), compiled, image);
}
TEST_CASE("a printed how-lambda takes the same steps: what was written past a stage keeps its handle's axes, also those that are gone") {
  weft::tensor<float, 2> const image(12, 20);
  constexpr auto compiled = weft::kernel<"row_sums">([](auto a) { return compute<"s">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto k) { return a(i, k); }); }); },
#include "golden/schedule/how_twice.inc"
  );
  constexpr auto twice = weft::kernel<"row_sums">([](auto a) { return compute<"s">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto k) { return a(i, k); }); }); },
                                                  [](auto& s, auto, auto sums) {
                                                    s.cache_write(sums);
                                                    auto again = s.cache_write(sums);
                                                    s.unroll(s.split(again.axes()[0], 4)[1]);
                                                  });
  check_how("schedule/how_twice.inc", twice, compiled, image);
}
TEST_CASE("a schedule without steps is a how-lambda without statements") {
  CHECK(weft::print_how(sums_of_rows, weft::tensor<float, 2>(3, 4)) == "[](auto&, auto, auto) {\n}");
}
TEST_CASE("an illegal step and what follows it are left out of the text") {
  weft::program p;
  weft::expr::tensor<float, 2> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 2)};
  p.outputs.push_back(
      compute<"C">(A.extent(0), [=](auto i) { return sum(A.extent(1), [=](auto k) { return A(i, k); }); }).id);
  weft::schedule s(p, [](int, int) { return std::int64_t(16); });
  auto const C = weft::handle_of<2, 1>(s, 0);
  s.unroll(C.axes()[0]);
  s.parallel(C.axes()[1]);
  s.unroll(C.axes()[1]);
  CHECK(weft::print_how(s) == "[](auto& s, auto, auto C) {\n  auto [i, j] = C.axes();\n  s.unroll(i);\n}");
}
TEST_CASE("a loop that is in no handle is written by its number") {
  weft::program p;
  weft::expr::tensor<float, 1> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 1)};
  auto const S = compute<"S">(A.extent(0), [=](auto i) { return A(i) * 2; });
  p.outputs.push_back(compute<"T">(A.extent(0), [=](auto i) { return S(i) + 1; }).id);
  weft::schedule s(p, [](int, int) { return std::int64_t(16); });
  auto const [io, ii] = s.split(weft::handle_of<1>(s, 0).axes()[0], 4);
  auto const inside = s.reverse_compute_at(weft::handle_of<1>(s, 1), io);
  s.unroll(inside[0]);
  std::string const text = weft::print_how(s);
  CHECK(text.find("  s.unroll(weft::axis{" + std::to_string(inside[0].id) + "});\n") != std::string::npos);
  CHECK(ii.id >= 0);
}
TEST_CASE("a printed how-lambda names the result of a stage that a step takes, when it is not the first") {
  static constexpr auto extremes = [](auto A) {
    auto both = compute<"low", "high">(A.extent(0), [=](auto i) {
      return weft::reduce(weft::values(1000, -1000),
                          [](auto s, auto t) { return weft::values(weft::min(weft::get<0>(s), weft::get<0>(t)), weft::max(weft::get<1>(s), weft::get<1>(t))); },
                          A.extent(1), [=](auto k) { return weft::values(A(i, k), A(i, k)); });
    });
    auto const low = weft::get<0>(both), high = weft::get<1>(both);
    return compute<"range">(A.extent(0), [=](auto i) { return high(i) - low(i); });
  };
  constexpr auto kernel = weft::kernel<"extremes">(extremes, [](auto& s, auto, auto low, auto range) {
    auto high_copy = s.cache_read(low.result(1), range);
    auto [i] = high_copy.axes();
    s.prefetch(low.result(1), i, 8);
  });
  weft::tensor<std::int32_t, 2> const A(6, 20);
  CHECK(kernel.trace(A) == "range: cache_read(high)\nhigh_copy: prefetch(i, high, 8)\n");
  CHECK(weft::print_how(kernel, A) == R"([](auto& s, auto, auto low, auto range) {
  auto high_copy = s.cache_read(low.result(1), range);
  auto [high_copy_i] = high_copy.axes();
  s.prefetch(low.result(1), high_copy_i, 8);
})");
}
