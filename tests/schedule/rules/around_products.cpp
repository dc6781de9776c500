// Rules for products and what is computed around them: what follows each element, rows and windows that read a product, products of products.
#include "schedule/rules/check.hpp"

#include "weft/ops.hpp"

using namespace weft_test;
using weft::kernel;
namespace ops = weft::ops;

namespace {
inline constexpr auto biased = kernel<"biased">([](auto x, auto w, auto b) { return ops::linear(x, w, b); });
inline constexpr auto added = kernel<"added">([](auto x, auto w, auto r) { return ops::relu(ops::add(ops::matmul(x, w), r)); });
inline constexpr auto gated = kernel<"gated">([](auto x, auto w, auto b) { return ops::gelu(ops::add(ops::matmul(x, w), b)); });
constexpr ops::conv_options<2> padded{.padding = {1, 1}};
constexpr ops::conv_options<2> padded_last{.padding = {1, 1}, .layout = ops::layout::channels_last};
inline constexpr auto pooled = kernel<"pooled">([](auto x, auto w) { return ops::max_pool2d(ops::relu(ops::conv2d(x, w, padded)), {.kernel = {2, 2}}); });
inline constexpr auto twice = kernel<"twice">([](auto x, auto w, auto v) { return ops::conv2d(ops::relu(ops::conv2d(x, w, padded)), v, padded); });
inline constexpr auto twice_last = kernel<"twice_last">([](auto x, auto w, auto v) { return ops::conv2d(ops::relu(ops::conv2d(x, w, padded_last)), v, padded_last); });
inline constexpr auto layers = kernel<"layers">([](auto x, auto w, auto b, auto v, auto c) { return ops::linear(ops::relu(ops::linear(x, w, b)), v, c); });
inline constexpr auto below_top = kernel<"below_top">([](auto x, auto w, auto b) {
  auto const y = ops::linear(x, w, b);
  auto const top = weft::compute<"top">(y.extent(0), [=](auto i) { return weft::max(y.extent(1), [=](auto j) { return y(i, j); }); });
  return weft::compute<"below">(y.extent(0), y.extent(1), [=](auto i, auto j) { return y(i, j) - top(i); });
});
inline constexpr auto means = kernel<"means">([](auto x, auto w) {
  auto const y = ops::linear(x, w);
  return weft::compute<"mean">(y.extent(0), [=](auto i) { return weft::sum(y.extent(1), [=](auto j) { return y(i, j); }); });
});
/// Every product of these loops is vectorized around its terms: none is added up element by element.
template <class Kernel, class... In>
void check_tiles(Kernel const& k, std::initializer_list<char const*> products, In const&... in) {
  for (weft::target const& on : {weft::host(), weft::x86_64_avx2()}) {
    std::string const loops = k.on(on).loops(in...);
    INFO(loops);
    for (char const* product : products) {
      std::string const name = std::string(" ") + product + "[i, j";
      std::size_t sum = loops.find(name);
      while (sum != std::string::npos && loops.substr(sum, loops.find('\n', sum) - sum).find("] += ") == std::string::npos) sum = loops.find(name, sum + 1);
      REQUIRE(sum != std::string::npos);
      std::size_t const line = loops.rfind('\n', loops.rfind('\n', sum) - 1);
      CHECK(loops.substr(line, sum - line).find("vectorized") != std::string::npos);
    }
  }
}
}  // namespace

TEST_CASE("what ops add to each element of a product stands in its tile, whatever could have been broadcast") {
  auto const x = drawn<float>(1, 70, 96), w = drawn<float>(2, 96, 130), v = drawn<float>(3, 130, 96), r = drawn<float>(4, 70, 130);
  auto const b = drawn<float>(5, 130);
  auto const one = drawn<float>(6, 1, 130);
  for (std::string const& loops : {added.loops(x, w, r), added.loops(x, w, one), gated.loops(x, w, b), biased.loops(x, v, b)}) {
    INFO(loops);
    CHECK(has_in_order(loops, {"unrolled", "vectorized", "+="}));
  }
  auto const left = drawn<float>(1, 15, 24), right = drawn<float>(2, 24, 35), turned = drawn<float>(3, 35, 24);
  check_rule(added, left, right, drawn<float>(4, 15, 35)), check_rule(added, left, right, drawn<float>(6, 1, 35));
  check_rule(biased, left, turned, drawn<float>(5, 35));
  check_rule(added, drawn<float>(1, 1, 37), drawn<float>(2, 37, 19), drawn<float>(3, 5, 19));
}
TEST_CASE("a product that has no tile in rows of what reads it has a nest of its own") {
  auto const x = drawn<float>(1, 1, 8, 20, 22), w = drawn<float>(2, 16, 8, 3, 3), v = drawn<float>(3, 16, 16, 3, 3);
  check_tiles(pooled, {"conv2d"}, x, w), check_tiles(twice, {"conv2d", "conv2d_1"}, x, w, v);
  auto const small = drawn<float>(1, 1, 3, 6, 10), sw = drawn<float>(2, 16, 3, 3, 3), sv = drawn<float>(3, 8, 16, 3, 3);
  check_rule(pooled, small, sw), check_rule(twice, small, sw, sv);
  auto const y = drawn<float>(1, 1, 20, 22, 8), w_last = drawn<float>(2, 3, 3, 8, 16), v_last = drawn<float>(3, 3, 3, 16, 16);
  check_tiles(twice_last, {"conv2d", "conv2d_1"}, y, w_last, v_last);
  check_rule(twice_last, drawn<float>(1, 1, 6, 10, 3), drawn<float>(2, 3, 3, 3, 16), drawn<float>(3, 3, 3, 16, 8));
}
TEST_CASE("products by the rows of a matrix, of which rows are made") {
  auto const x = drawn<float>(1, 70, 96), w = drawn<float>(2, 130, 96), v = drawn<float>(4, 50, 130);
  auto const b = drawn<float>(3, 130), c = drawn<float>(5, 50);
  check_tiles(layers, {"linear", "linear_1"}, x, w, b, v, c), check_tiles(below_top, {"linear"}, x, w, b), check_tiles(means, {"linear"}, x, w);
  auto const left = drawn<float>(1, 15, 24), first = drawn<float>(2, 35, 24), second = drawn<float>(4, 11, 35);
  auto const bias = drawn<float>(3, 35);
  check_rule(layers, left, first, bias, second, drawn<float>(5, 11)), check_rule(below_top, left, first, bias), check_rule(means, left, first);
  check_rule(layers, drawn<float>(1, 3, 5), drawn<float>(2, 7, 5), drawn<float>(3, 7), drawn<float>(4, 2, 7), drawn<float>(5, 2));
}
TEST_CASE("what windows read again is copied once, and not in the loops over them") {
  auto const with_border = kernel<"with_border">([](auto x, auto w) { return ops::conv2d(x, w, {.padding = {1, 1}}); });
  // A hundred pictures are lanes, since neither 8 pixels nor 8 results fill a vector.
  fuzz::drawn const d = drawn_of(with_border, drawn<float>(1, 100, 8, 8, 8), drawn<float>(2, 8, 8, 3, 3));
  weft::rule_input in{1 << 15, 1 << 20, 1 << 25, 1};
  in.strides.resize(d.what.tensors.size()), in.constant.resize(d.what.tensors.size(), false);
  weft::schedule s(d.what, fuzz::extents_of(d), {32, 64});
  weft::schedule_by_rule(s, in);
  std::string const loops = weft::print_loops(s);
  INFO(loops);
  CHECK(has_in_order(loops, {"vectorized ii in 0..16", "A_copy[", "\nA_copy\n"}));
  check_rule(with_border, drawn<float>(1, 19, 3, 5, 6), drawn<float>(2, 4, 3, 3, 3));
}
