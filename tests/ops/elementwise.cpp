#include "weft/ops/elementwise.hpp"

#include "ops/check.hpp"

using namespace weft_test;
namespace ops = weft::ops;

namespace {
// Functions are within 2 ulp (docs/math.md), and no op has more than four more roundings: 8 of the largest result here.
constexpr double bound = 8 * 0x1p-23 * 8;

template <class Op, class F>
void check_unary(Op, F const& f, double within = bound) {
  constexpr auto k = weft::kernel<"unary">(Op{});
  auto const x = drawn<float>(7, 3, 11);
  check_op(k, shape_t<2>{3, 11}, within, [&](long i, long j) { return f(static_cast<double>(x(i, j))); }, x);
}
template <class Op, class F>
void check_binary(Op, F const& f, double within = 0) {
  constexpr auto k = weft::kernel<"binary">(Op{});
  auto const x = drawn<float>(7, 3, 11);
  auto const y = drawn<float>(8, 11);
  check_op(
      k, shape_t<2>{3, 11}, within,
      [&](long i, long j) { return f(static_cast<double>(x(i, j)), static_cast<double>(y(j))); }, x, y);
}
}  // namespace

TEST_CASE("activations are their formulas") {
  check_unary(ops::relu, [](double v) { return v > 0 ? v : 0; }, 0);
  check_unary([](auto x) { return ops::relu6(ops::mul(x, 8)); },
              [](double v) { return std::fmin(6, std::fmax(0, 8 * v)); }, 0);
  check_unary(ops::sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); });
  check_unary(ops::silu, [](double v) { return v / (1 + std::exp(-v)); });
  check_unary(ops::gelu, [](double v) { return v * (1 + std::erf(v / std::sqrt(2.0))) / 2; });
  check_unary(ops::gelu_tanh, [](double v) {
    return v * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (v + 0.044715 * v * v * v))) / 2;
  });
  check_unary(ops::softplus, [](double v) { return std::log1p(std::exp(v)); });
  check_unary(ops::mish, [](double v) { return v * std::tanh(std::log1p(std::exp(v))); });
  check_unary(ops::hard_sigmoid, [](double v) { return std::fmin(6, std::fmax(0, v + 3)) / 6; });
  check_unary(ops::hard_swish, [](double v) { return v * std::fmin(6, std::fmax(0, v + 3)) / 6; });
}
TEST_CASE("activations with options") {
  CHECK(weft::kernel<"k">([](auto x) { return ops::leaky_relu(x); })(std::vector<double>{-3})(0) == -3 * 0.01);
  check_unary([](auto x) { return ops::leaky_relu(x, {.slope = 0.25f}); }, [](double v) { return v < 0 ? v / 4 : v; },
              0);
  check_unary([](auto x) { return ops::elu(x, {.alpha = 0.5f}); },
              [](double v) { return v > 0 ? v : std::expm1(v) / 2; });
  check_unary([](auto x) { return ops::clamp(x, -1, 0.5f); }, [](double v) { return std::fmin(std::fmax(v, -1), 0.5); },
              0);
}
TEST_CASE("relu keeps NaN and the type") {
  constexpr auto relu = weft::kernel<"relu">(ops::relu);
  weft::tensor<float, 1> x(2);
  x(0) = NAN;
  x(1) = -INFINITY;
  auto const y = relu(x);
  CHECK(std::isnan(y(0)));
  CHECK(y(1) == 0);
  auto const h = drawn<weft::f16>(1, 9);
  static_assert(std::is_same_v<decltype(relu(h)), weft::tensor<weft::f16, 1>>);
  check_op(relu, shape_t<1>{9}, 0, [&](long i) { return float(h(i)) > 0 ? float(h(i)) : 0; }, h);
  auto const b = drawn<std::int8_t>(1, 9);
  check_op(relu, shape_t<1>{9}, 0, [&](long i) { return b(i) > 0 ? b(i) : 0; }, b);
}
TEST_CASE("functions of one number") {
  check_unary(ops::abs, [](double v) { return std::fabs(v); }, 0);
  check_unary(ops::neg, [](double v) { return -v; }, 0);
  check_unary(ops::square, [](double v) { return v * v; }, 0);
  check_unary(ops::exp, [](double v) { return std::exp(v); });
  check_unary(ops::sin, [](double v) { return std::sin(v); });
  check_unary(ops::tanh, [](double v) { return std::tanh(v); });
  check_unary(ops::floor, [](double v) { return std::floor(v); }, 0);
  check_unary(ops::round, [](double v) { return std::nearbyint(v); }, 0);
  check_unary([](auto x) { return ops::sqrt(ops::square(x)); }, [](double v) { return std::fabs(v); });
  check_unary([](auto x) { return ops::rsqrt(ops::add(ops::square(x), 0.5f)); },
              [](double v) { return 1 / std::sqrt(v * v + 0.5); });
  check_unary([](auto x) { return ops::log(ops::add(ops::square(x), 0.5f)); },
              [](double v) { return std::log(v * v + 0.5); });
  check_unary(ops::cos, [](double v) { return std::cos(v); });
  check_unary(ops::erf, [](double v) { return std::erf(v); });
  check_unary(ops::ceil, [](double v) { return std::ceil(v); }, 0);
  check_unary([](auto x) { return ops::reciprocal(ops::exp(x)); }, [](double v) { return std::exp(-v); });
}
TEST_CASE("functions of two, broadcast") {
  check_binary(ops::add, [](double a, double b) { return a + b; });
  check_binary(ops::sub, [](double a, double b) { return a - b; });
  check_binary(ops::mul, [](double a, double b) { return a * b; });
  check_binary(ops::maximum, [](double a, double b) { return a > b ? a : b; });
  check_binary(ops::minimum, [](double a, double b) { return a < b ? a : b; });
  check_binary(ops::equal, [](double a, double b) { return a == b; });
  check_binary(ops::less_equal, [](double a, double b) { return a <= b; });
  check_binary([](auto x, auto y) { return ops::fmod(x, ops::add(y, 3)); },
               [](double a, double b) { return std::fmod(a, b + 3); });
  check_binary([](auto x, auto y) { return ops::pow(ops::abs(x), y); },
               [](double a, double b) { return std::pow(std::fabs(a), b); }, 8 * 0x1p-23 * 64);
  check_binary(ops::less, [](double a, double b) { return a < b; });
  check_binary(ops::squared_difference, [](double a, double b) { return (a - b) * (a - b); });
  constexpr auto smaller_or_twice = [](auto x, auto y) {
    auto const smaller = ops::less(x, y);  // two stages in one expression have no order: each has a name
    auto const twice = ops::mul(y, 2);
    return ops::where(smaller, x, twice);
  };
  check_binary(smaller_or_twice, [](double a, double b) { return a < b ? a : 2 * b; });
}
TEST_CASE("integers divide towards 0, and cast narrows") {
  constexpr auto div = weft::kernel<"div">(ops::div);
  auto const x = drawn<int>(1, 20);
  check_op(div, shape_t<1>{20}, 0, [&](long i) { return x(i) / 4; }, x, 4);
  constexpr auto halve = weft::kernel<"halve">([](auto a) { return ops::cast<weft::f16>(ops::mul(a, 0.5f)); });
  auto const h = drawn<weft::f16>(1, 20);
  static_assert(std::is_same_v<decltype(halve(h)), weft::tensor<weft::f16, 1>>);
  check_op(halve, shape_t<1>{20}, 0, [&](long i) { return float(h(i)) / 2; }, h);
}
TEST_CASE("activations of integers are computed as floats") {
  constexpr auto gate = weft::kernel<"gate">(ops::hard_sigmoid);
  constexpr auto swish = weft::kernel<"swish">(ops::hard_swish);
  weft::tensor<int, 1> x(5);
  int const numbers[] = {-5, -2, 0, 1, 7};
  for (int i = 0; i < 5; ++i) x(i) = numbers[i];
  auto const share = [&](long i) { return std::min(6.0f, std::max(0.0f, float(x(i)) + 3)) / 6; };
  check_op(gate, shape_t<1>{5}, 1e-7, share, x);
  check_op(swish, shape_t<1>{5}, 1e-6, [&](long i) { return float(x(i)) * share(i); }, x);
}
