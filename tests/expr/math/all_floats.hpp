// The error of an f32 function over all 2^32 operands, by one kernel that computes the function, the truth and how far
// they are apart.
//
// The truth is weft's own function for f64: what it is wrong itself, 3 units of f64 at most (accuracy.cpp asks MPFR), is
// 2^-27 units of f32. What has no number (NaN where there should be none, or the reverse; the wrong sign of a zero) is
// infinitely wrong.
#pragma once

#include <weft/compile.hpp>
#include <weft/expr/canonical.hpp>
#include <weft/expr/math/exponential.hpp>

#include <cstdint>
#include <vector>

namespace weft_test {

struct worst_error {
  double ulp = 0;
  float at = 0;
};

class all_floats {
 public:
  all_floats(weft::op o, weft::target const& machine) : program_(error_program(o)), starts_(rows) {
    weft::call_layout layout;
    layout.arguments.push_back({{rows}, {1}, 1, 0});
    layout.arguments.push_back({{lanes}, {1}, 1, 1});
    layout.arguments.push_back({{lanes}, {1}, 1, 2});
    auto const how = [](void const*, weft::schedule& s) {
      weft::axis const lane{s.order[0][0]}, row{s.order[0][1]};
      s.reorder(row, lane);
      s.vectorize(lane);
    };
    kernel_ = weft::compile({"error", &program_, how, nullptr, &layout, &machine});
    for (std::int32_t l = 0; l < lanes; ++l) lane_[l] = l;
  }
  /// The largest error over every `stride`-th block of 2^17 neighbouring bit patterns.
  worst_error operator()(std::uint64_t stride = 1) {
    constexpr std::uint64_t block = std::uint64_t(rows) * lanes;
    double worst = -1;
    std::uint64_t where = 0;
    for (std::uint64_t first = 0; first < std::uint64_t(1) << 32; first += block * stride) {
      double const here = over(first, rows);
      if (here > worst) worst = here, where = first;
    }
    for (std::int64_t count = rows / 2; count > 0; count /= 2)
      if (over(where, count) < worst) where += static_cast<std::uint64_t>(count) * lanes;
    over(where, 1);
    std::uint64_t lane = 0;
    while (worst_[lane] < worst) ++lane;
    return {worst, weft::from_bits<float>(static_cast<std::int32_t>(where + lane))};
  }

 private:
  static constexpr std::int64_t rows = 1 << 13, lanes = 16;

  /// worst(lane) = max over rows of the error at the float whose bits are start(row) + number(lane).
  static weft::program error_program(weft::op o) {
    using namespace weft::detail::math;
    using weft::dtype;
    weft::program p;
    int const start = p.add_input(weft::short_name("start"), dtype::i32, 1);
    int const number = p.add_input(weft::short_name("number"), dtype::i32, 1);
    int const lane = p.axis_node(p.add_axis(p.extent_of(number, 0), 0, false));
    int const row = p.axis_node(p.add_axis(p.extent_of(start, 0), 0, true));
    num const x = real(num{&p, false, dtype::i32, p.load(start, weft::sequence<int>{row})} +
                       num{&p, false, dtype::i32, p.load(number, weft::sequence<int>{lane})});
    num const got = cast(append(o, x, dtype::f32, x), dtype::f64), wide = cast(x, dtype::f64);
    num const truth = append(o, wide, dtype::f64, wide);
    num const near = clamped(truth, -0x1p128, 0x1p128);  // as IEEE 754 rounds: infinity stands for 2^128
    // The power of two of the true result, between the least normal number's and the largest number's.
    num const size = min(literal(near, 0x1.fffffep127), max(literal(near, 0x1p-126), magnitude(near)));
    num const inverse_ulp = real((std::int64_t(2046 + 23) << 52) - (bits(size) & (std::int64_t(0x7ff) << 52)));
    num const error = magnitude(clamped(got, -0x1p128, 0x1p128) - near) * inverse_ulp;
    num const no_got = !(got == got), no_truth = !(truth == truth);
    num const wrong = either(either(no_got, no_truth), (bits(got) ^ bits(truth)) < 0);
    num const all = blend(both(no_got, no_truth), literal(got, 0.0), blend(wrong, infinity(), error));
    int const so_far = p.add({weft::op::self, dtype::f64, 0});
    int const body = p.operation(weft::op::max, dtype::f64, so_far, all.id);
    p.outputs.push_back(p.add_stage(weft::short_name("worst"), {-1, 0, 1, 1, 1}, dtype::f64,
                                    {static_cast<std::int32_t>(p.extent_of(number, 0))}, {body, 0}));
    return weft::canonical(p);
  }
  /// The largest error over `count` rows from pattern `first` on.
  double over(std::uint64_t first, std::int64_t count) {
    for (std::int64_t r = 0; r < rows; ++r)
      starts_[static_cast<std::size_t>(r)] =
          static_cast<std::int32_t>(first + static_cast<std::uint64_t>(r < count ? r : 0) * lanes);
    void* pointers[] = {starts_.data(), lane_, worst_};
    weft::launch const l{pointers, nullptr, nullptr, nullptr, nullptr};
    kernel_.entry(&l);
    double worst = 0;
    for (double const w : worst_)
      if (w > worst) worst = w;
    return worst;
  }

  weft::program program_;
  weft::compiled_kernel kernel_;
  std::vector<std::int32_t> starts_;
  std::int32_t lane_[lanes]{};
  double worst_[lanes]{};
};

}  // namespace weft_test
