// Lesson 7: results over their inputs, and numbers that change from call to call.
//
// A plain number among the arguments is no constant of the code: one compilation serves all its values. An output may
// be one of the inputs where every element is read only before it is written; every other overlap is refused.
//
// runs: in under 5 s

#include <weft/weft.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

constexpr auto vectors_of_16 = [](auto& s, auto c) {
  auto [i] = c.axes();
  auto [block, lane] = s.split(i, 16);
  s.vectorize(lane);
  static_cast<void>(block);
};

// [saxpy]
inline constexpr auto saxpy = weft::kernel<"saxpy">(
    [](auto a, auto x, auto y) {
      return weft::compute<"z">(x.extent(0), [=](auto i) { return a * x(i) + y(i); });
    },
    [](auto& s, auto, auto, auto, auto z) { vectors_of_16(s, z); });

// A step of Adam: two moments and the weights, all three in place; six numbers.
inline constexpr auto adam = weft::kernel<"adam">(
    [](auto w, auto m, auto v, auto gradient, auto rate, auto beta1, auto beta2, auto scale1, auto scale2, auto tiny) {
      auto N = w.extent(0);
      auto m1 = weft::compute<"m1">(N, [=](auto i) { return beta1 * m(i) + (1 - beta1) * gradient(i); });
      auto v1 = weft::compute<"v1">(N, [=](auto i) { return beta2 * v(i) + (1 - beta2) * gradient(i) * gradient(i); });
      auto w1 = weft::compute<"w1">(N, [=](auto i) {
        return w(i) - rate * (m1(i) * scale1) / (weft::sqrt(v1(i) * scale2) + tiny);
      });
      return weft::outputs(w1, m1, v1);
    },
    [](auto& s, auto, auto, auto, auto, auto, auto, auto, auto, auto, auto, auto m1, auto v1, auto w1) {
      vectors_of_16(s, m1), vectors_of_16(s, v1), vectors_of_16(s, w1);
    });

inline constexpr auto differences = weft::kernel<"differences">([](auto x) {
  return weft::compute<"d">(x.extent(0) - 1, [=](auto i) { return x(i + 1) - x(i); });
});

bool in_place() {
  std::vector<float> x(1000), y(1000, 1.0f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  std::uint64_t const before = weft::compilations();
  for (float a : {0.5f, 2.0f, -2.5f})
    saxpy(a, x, y, weft::out(y));  // y = a * x + y, and a is another number each time
  std::uint64_t const made = weft::compilations() - before;
  std::printf("saxpy in place, three values of a: y[10] = %g, compiled %llu times\n", static_cast<double>(y[10]),
              static_cast<unsigned long long>(made));
  bool right = made <= 1;  // none where it was on disk
  for (float value : y) right = right && value == 1.0f;  // 0.5 + 2 - 2.5 = 0, exactly
  return right;
}

/// Walks down to the lowest place of the sum of (w_i - target_i)^2.
bool optimise() {
  std::vector<float> target(100), w(100), m(100), v(100), gradient(100);
  for (std::size_t i = 0; i < 100; ++i) target[i] = std::sin(static_cast<float>(i));
  std::uint64_t const before = weft::compilations();
  std::printf("\n%6s %12s\n", "step", "distance");
  double distance = 0;
  for (int step = 1; step <= 400; ++step) {
    for (std::size_t i = 0; i < 100; ++i) gradient[i] = 2 * (w[i] - target[i]);
    float const scale1 = 1 / (1 - std::pow(0.9f, static_cast<float>(step)));
    float const scale2 = 1 / (1 - std::pow(0.999f, static_cast<float>(step)));
    adam(w, m, v, gradient, 0.02f, 0.9f, 0.999f, scale1, scale2, 1e-8f, weft::out(w), weft::out(m), weft::out(v));
    distance = 0;
    for (std::size_t i = 0; i < 100; ++i) distance += std::pow(static_cast<double>(w[i] - target[i]), 2);
    if (step == 1 || step % 100 == 0) std::printf("%6d %12.3e\n", step, std::sqrt(distance));
  }
  return weft::compilations() - before <= 1 && distance < 1e-6;
}

template <class Call>
bool refused(char const* what, Call const& call) {
  try {
    call();
  } catch (weft::argument_error const& e) {
    std::printf("%s\n  %s\n", what, e.what());
    return true;
  }
  std::printf("%s was not refused\n", what);
  return false;
}

int main() {
  bool right = in_place() && optimise();

  std::vector<float> x(1001, 1.0f);
  std::printf("\nRefused before anything ran:\n");
  right = refused("differences over their own input",
                  [&] { differences(x, weft::out(x.data(), 1000)); }) && right;
  right = refused("an output that is moved by one against its input", [&] {
            saxpy(2.0f, weft::view(x.data(), 1000), weft::view(x.data(), 1000), weft::out(x.data() + 1, 1000));
          }) && right;
  right = refused("elements of an output that share memory", [&] {
            saxpy(2.0f, weft::view(x, 1000), weft::view(x, 1000), weft::out(x.data(), 1000).strided(0));
          }) && right;
  for (float value : x) right = right && value == 1.0f;
  return right ? 0 : 1;
}
