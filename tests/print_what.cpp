// Programs as the text of a what-lambda. Each text is a golden file, which is compiled here, too, and makes the same program.
#include "weft/print_what.hpp"

#include <string>

#include "support/functions.hpp"
#include "support/golden.hpp"
#include "weft/expr/any_rank.hpp"
#include "weft/expr/boundary.hpp"
#include "weft/expr/exact.hpp"
#include "weft/expr/extern.hpp"
#include "weft/expr/math/functions.hpp"
#include "weft/expr/print.hpp"
#include "weft/kernel.hpp"

using namespace weft_test;

namespace {

constexpr auto layer = [](auto x, auto w, auto bias, auto scale) {
  weft::require(x.extent(1) == w.extent(0));
  auto C = weft::compute<"C">(x.extent(0), w.extent(1), [=](auto i, auto j) {
    return weft::sum(x.extent(1), [=](auto k) { return x(i, k) * w(k, j); });
  });
  auto peak = weft::compute<"peak">(x.extent(0), [=](auto i) {
    return weft::max(C.extent(1), [=](auto j) { return weft::where(j != i, C(i, j)); });
  });
  return weft::compute<"y">(x.extent(0), w.extent(1), [=](auto i, auto j) {
    auto const v = C(i, j) + bias(j) - peak(i);
    return weft::cast<weft::f16>(weft::max(v, 0) * scale + weft::exp(-v * 0.5f));
  });
};
constexpr auto reductions = [](auto a, auto truth) {
  auto best = weft::compute<"best", "score">(a.extent(0), [=](auto i) { return weft::argmax(a.extent(1), [=](auto k) { return a(i, k); }); });
  auto merge = weft::any_order([](auto s, auto t) {
    auto high = weft::max(weft::get<0>(s), weft::get<0>(t));
    return weft::values(high, weft::get<1>(s) * weft::exp(weft::get<0>(s) - high) + weft::get<1>(t) * weft::exp(weft::get<0>(t) - high));
  });
  auto soft = weft::compute<"top", "total">(a.extent(0), [=](auto i) {
    return weft::reduce(weft::values(-1e30f, 0.f), merge, a.extent(1), [=](auto k) { return weft::values(a(i, k), weft::cast<float>(0 * k) + 1); });
  });
  auto running = weft::compute<"running">(a.extent(0), a.extent(1), [=](auto i, auto t) { return weft::sum(weft::up_to(t), [=](auto k) { return a(i, k); }); });
  auto decay = weft::compute<"decay">(a.extent(0), a.extent(1), [=](auto i, auto t) {
    return weft::scan(weft::from(t), 0.5f, [=](auto before) { return before * running(i, t) + 1.0f; });
  });
  auto both = weft::compute<"both">(truth.extent(0), [=](auto i) { return weft::all(2, [=](auto k) { return truth((i + k) % truth.extent(0)); }); });
  return weft::outputs(weft::get<0>(best), weft::get<1>(soft), decay, both);
};
/// Numbers of many types, and names that C++ keeps for itself or no variable can have.
constexpr auto kinds = [](auto bytes, auto places, auto number) {
  auto P = weft::wrap(bytes);
  auto s = weft::compute<"int">(bytes.extent(0) / 2 + 1, 3, [=](auto i, auto j) {
    auto x = P(i * 2 - j) * 3 + weft::cast<int>(number);
    return weft::select(x > 200 && !(i == j), (x << 2) & 0xff, x % 7 ^ ~x);
  });
  auto t = weft::compute<"T \"4\"", "weft">(bytes.extent(0), [=](auto i) {
    auto at = weft::clamp(places(i), 0, bytes.extent(0) / 2);
    auto wide = weft::cast<std::int64_t>(s(at, 1)) * 5000000000 - 9223372036854775807;
    return weft::values(wide / i, weft::fmod(weft::cast<double>(wide), 0.1) + __builtin_inf());
  });
  auto low = weft::get<0>(t);
  auto least = weft::compute<"u">(4, [=](auto i) { return weft::min(low.extent(0), [=](auto k) { return weft::cast<weft::bf16>(low(k) - i); }); });
  return weft::compute<"v">(4, 1, [=](auto i, auto j) { return weft::select(least(i) < 0, weft::min(i - j, 2), weft::max(i, 3) / 2); });
};
constexpr auto sums_of_rows = [](auto a) {
  auto doubled = weft::compute<"doubled">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) * 2; });
  auto so_far = weft::compute<"so_far">(a.extent(0), a.extent(1), weft::external<"row_sums_so_far", &row_sums_so_far>(doubled));
  return weft::compute<"y">(a.extent(0), [=](auto i) { return so_far(i, a.extent(1) - 1); });
};
constexpr auto bare = [](auto A) {
  auto S = weft::exact::stage<"S">([=] { return weft::sum(A.extent(0), [=](auto k) { return weft::cast<float>(A(k)); }); });
  // A condition that always holds: weft::where would make nothing of it.
  auto R = weft::compute<"R">(A.extent(0), [=](auto i) {
    return weft::exact::reduction(weft::values(0.0f), [=](auto before, auto k) {
      return weft::values(weft::select(weft::exact::literal<bool>(A, true), weft::get<0>(before) + weft::cast<float>(A(k) + A(i)), weft::get<0>(before)));
    }, A.extent(0));
  });
  return weft::compute<"T">(A.extent(0), [=](auto i) {
    auto const twice = weft::exact::operation<weft::op::add, std::uint8_t>(A(i), weft::exact::literal<std::uint8_t>(A, 200));
    return weft::select(S() + R(i) < 0.25f, twice, weft::exact::operation<weft::op::bitcast, std::uint8_t>(weft::cast<std::int8_t>(A(i))));
  });
};

template <class... In, class What, class Printed>
void check_what(std::string const& path, What const& what, Printed const& printed) {
  weft::program const made = weft::detail::build<In...>(what), again = weft::detail::build<In...>(printed);
  CHECK(weft::print_what(made).find("not written") == std::string::npos);
  check_golden(path, weft::print_what(made) + "\n");
  CHECK(weft::print(weft::equal_nodes_joined(again)) == weft::print(weft::equal_nodes_joined(made)));
  CHECK(weft::digest(weft::equal_nodes_joined(again)) == weft::digest(weft::equal_nodes_joined(made)));
}

}  // namespace

TEST_CASE("a printed what-lambda makes the same program: products, extremes, halves, numbers and conditions") {
  constexpr auto printed =
#include "golden/expr/what_layer.inc"
      ;
  check_what<weft::arg<weft::f16, 2>, weft::arg<weft::f16, 2>, weft::arg<float, 1>, weft::scalar_arg<float>>("expr/what_layer.inc", layer, printed);
}
TEST_CASE("a printed what-lambda makes the same program: reductions of several values, parts that are joined, and scans") {
  constexpr auto printed =
#include "golden/expr/what_reductions.inc"
      ;
  check_what<weft::arg<float, 2>, weft::arg<bool, 1>>("expr/what_reductions.inc", reductions, printed);
}
TEST_CASE("a printed what-lambda makes the same program: integers, places, borders, and names that C++ does not take") {
  constexpr auto printed =
#include "golden/expr/what_kinds.inc"
      ;
  check_what<weft::arg<std::uint8_t, 1>, weft::arg<std::int32_t, 1>, weft::scalar_arg<double>>("expr/what_kinds.inc", kinds, printed);
}
TEST_CASE("a printed what-lambda makes the same program: a function by its name") {
  constexpr auto printed =
#include "golden/expr/what_function.inc"
      ;
  check_what<weft::arg<float, 2>>("expr/what_function.inc", sums_of_rows, printed);
}
TEST_CASE("a printed what-lambda makes the same program: what no operator makes") {
  constexpr auto printed =
#include "golden/expr/what_exact.inc"
      ;
  check_what<weft::arg<std::uint8_t, 1>>("expr/what_exact.inc", bare, printed);
}
TEST_CASE("what a kernel computes is printed for the types of a call, and its computation is not run") {
  static constexpr auto product = weft::kernel<"product">([](auto A, auto B) {
    return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); }); });
  });
  CHECK(weft::print_what(product, weft::tensor<float, 2>(3, 4), weft::tensor<float, 2>(4, 5)) == R"([](auto A, auto B) {
  auto C = weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
  return C;
})");
  // In the type of the elements of bytes, which widen.
  CHECK(weft::print_what(product, weft::tensor<std::int8_t, 2>(3, 4), weft::tensor<std::int8_t, 2>(4, 5)).find("weft::cast<std::int32_t>(A(i, k)) * weft::cast<std::int32_t>(B(k, j))") !=
        std::string::npos);
}
TEST_CASE("what is not and is then compared stands in parentheses: compilers warn of it otherwise") {
  static constexpr auto compared = [](auto a, auto b) {
    return weft::compute<"F">(a.extent(0), [=](auto i) { return (!a(i)) < b(i) && !b(i); });
  };
  std::string const text = weft::print_what(weft::detail::build<weft::arg<bool, 1>, weft::arg<bool, 1>>(compared));
  INFO(text);
  CHECK(text.find("return (!A(i)) < x1 && !x1;") != std::string::npos);
}
TEST_CASE("a function that is there for GPUs alone is said to be left out") {
  static constexpr auto on_gpu = [](auto a) {
    return weft::compute<"F">(a.extent(0), weft::external<"ours", weft::gpu_only<weft::extern_view<float const, 1>, weft::extern_view<float, 1>>>(a));
  };
  CHECK(weft::print_what(weft::detail::build<weft::arg<float, 1>>(on_gpu)).find("// not written: what ours is on a GPU") == 0);
}
TEST_CASE("equal nodes are joined: they are one, and what differs in any way stays apart") {
  weft::program p;
  weft::expr::tensor<float, 1> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 1)};
  p.outputs.push_back(weft::compute<"C">(A.extent(0), [=](auto i) { return (A(i) + 1.0f) * (A(i) + 1.0f) - (A(i) + 2.0f) * (A(i + 1 - 1) + 1.0f); }).id);
  weft::program const joined = weft::equal_nodes_joined(p);
  int loads = 0, sums = 0;
  for (weft::node const& n : joined.nodes) loads += n.kind == weft::op::load, sums += n.kind == weft::op::add && n.type == weft::dtype::f32;
  CHECK(loads == 2);
  CHECK(sums == 3);
  CHECK(weft::print(weft::equal_nodes_joined(joined)) == weft::print(joined));
}
