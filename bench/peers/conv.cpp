// Convolutions of ResNet-50 and a depthwise one of MobileNet: one image, channels first and last, plain weights and constant ones.
#include <weft/ops/conv.hpp>

#include <memory>

#include "families.hpp"

namespace bench::peers {
namespace {
namespace ops = weft::ops;
template <std::int64_t Stride, std::int64_t Padding, ops::layout Layout>
inline constexpr auto conv = weft::kernel<"conv">([](auto x, auto w) {
  return ops::conv2d(x, w, {.stride = {Stride, Stride}, .padding = {Padding, Padding}, .layout = Layout});
});
template <ops::layout Layout>
inline constexpr auto depthwise = weft::kernel<"depthwise">(
    [](auto x, auto w) { return ops::depthwise_conv2d(x, w, {.padding = {1, 1}, .layout = Layout}); });

struct convolution {
  problem p;
  buffer x, w, y;
  explicit convolution(problem const& of)
      : p(of), x(count(p.c * p.h * p.w), 1), w(count(of.what == task::depthwise ? p.c * 9 : p.o * p.c * p.kernel * p.kernel), 2),
        y(count(made()), 3) {
    x.randomize(1), w.randomize(2);
    p.in[0] = x.data(), p.in[1] = w.data(), p.out = y.data();
  }
  static std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }
  bool by_channel() const { return p.what == task::depthwise; }
  std::int64_t channels() const { return by_channel() ? p.c : p.o; }
  std::int64_t made() const { return channels() * p.out_h() * p.out_w(); }

  double pixel(std::int64_t c, std::int64_t i, std::int64_t j) const {
    if (i < 0 || i >= p.h || j < 0 || j >= p.w) return 0;
    return static_cast<double>(x.data()[p.channels_last ? (i * p.w + j) * p.c + c : (c * p.h + i) * p.w + j]);
  }
  double weight(std::int64_t o, std::int64_t c, std::int64_t i, std::int64_t j) const {
    std::int64_t const k = p.kernel, inputs = by_channel() ? 1 : p.c;
    if (by_channel()) c = 0;
    return static_cast<double>(
        w.data()[p.channels_last ? ((i * k + j) * inputs + c) * channels() + o : ((o * inputs + c) * k + i) * k + j]);
  }
  expected at(std::int64_t index) const {
    std::int64_t const area = p.out_h() * p.out_w(), o = p.channels_last ? index % channels() : index / area;
    std::int64_t const place = p.channels_last ? index / channels() : index % area;
    std::int64_t const top = place / p.out_w() * p.stride - p.padding, left = place % p.out_w() * p.stride - p.padding;
    exact_sum s;
    for (std::int64_t c = by_channel() ? o : 0; c < (by_channel() ? o + 1 : p.c); ++c)
      for (std::int64_t i = 0; i < p.kernel; ++i)
        for (std::int64_t j = 0; j < p.kernel; ++j) s.add(pixel(c, top + i, left + j), weight(o, c, i, j));
    return s.in_f32();
  }
  /// How much of that multiplies zeros of the padding.
  double outside() const {
    auto const inside = [&](std::int64_t places, std::int64_t size) {
      double n = 0;
      for (std::int64_t i = 0; i < places; ++i)
        for (std::int64_t a = 0; a < p.kernel; ++a) {
          std::int64_t const at = i * p.stride - p.padding + a;
          n += at >= 0 && at < size ? 1 : 0;
        }
      return n / static_cast<double>(places * p.kernel);
    };
    return 1 - inside(p.out_h(), p.h) * inside(p.out_w(), p.w);
  }
  work done() const {
    work t;
    t.operations = 2.0 * static_cast<double>(made() * p.kernel * p.kernel * (by_channel() ? 1 : p.c));
    t.bytes = 4.0 * static_cast<double>(p.c * p.h * p.w + made()) + 4.0 * static_cast<double>(w.size());
    return t;
  }
};

/// The kernel on these shapes, with the weights as they are and as a constant.
template <class Kernel, class X, class W, class Y>
void enter(contest& c, convolution const& v, Kernel const& kernel, X const& x, W const& w, Y const& y) {
  c.weft("weft", ready(kernel, v.p.threads, x, w, y));
  auto const fixed = std::make_shared<weft::constant<W>>(w);
  c.weft("weft, constant weights",
         [fixed, x, y, k = with_threads(kernel, v.p.threads).prepare(x, *fixed, y)] { k(x, *fixed, y); }, weights::packed);
}
template <std::int64_t Stride, std::int64_t Padding>
void compare(report& r, char const* name, problem p) {
  convolution const v(p);
  p = v.p;
  contest c(r, p.channels_last ? "convolutions, channels last" : "convolutions, channels first",
            std::string(name) + (p.channels_last ? " NHWC" : " NCHW"), p, v.done(),
            p.channels_last ? bars{0.9, 0.97} : bars{1.5}, {0.9, 0.97});
  c.result(v.made());
  c.may_leave_out(v.outside());
  std::int64_t const h = p.out_h(), w = p.out_w(), k = p.kernel;
  if (p.channels_last)
    enter(c, v, conv<Stride, Padding, ops::layout::channels_last>, weft::view(v.x.data(), 1, p.h, p.w, p.c),
          weft::view(v.w.data(), k, k, p.c, p.o), weft::out(v.y.data(), 1, h, w, p.o));
  else
    enter(c, v, conv<Stride, Padding, ops::layout::channels_first>, weft::view(v.x.data(), 1, p.c, p.h, p.w),
          weft::view(v.w.data(), p.o, p.c, k, k), weft::out(v.y.data(), 1, p.o, h, w));
  c.compete([&](std::int64_t i) { return v.at(i); });
}
problem of(int threads, bool last, std::int64_t c, std::int64_t size, std::int64_t o, std::int64_t kernel, std::int64_t stride) {
  problem p;
  p.what = task::conv, p.threads = threads, p.channels_last = last;
  p.c = c, p.h = p.w = size, p.o = o, p.kernel = kernel, p.stride = stride, p.padding = kernel / 2;
  return p;
}
}  // namespace

void convolutions(report& r, int threads) {
  for (bool const last : {true, false}) {
    compare<1, 0>(r, "1x1 C256 56x56 K64", of(threads, last, 256, 56, 64, 1, 1));
    compare<1, 1>(r, "3x3 C64 56x56 K64", of(threads, last, 64, 56, 64, 3, 1));
    compare<1, 1>(r, "3x3 C128 28x28 K128", of(threads, last, 128, 28, 128, 3, 1));
    compare<1, 1>(r, "3x3 C256 14x14 K256", of(threads, last, 256, 14, 256, 3, 1));
    compare<2, 3>(r, "7x7s2 C3 224x224 K64", of(threads, last, 3, 224, 64, 7, 2));
  }
  for (bool const last : {true, false}) {
    problem p = of(threads, last, 96, 112, 96, 3, 1);
    p.what = task::depthwise;
    convolution const v(p);
    contest c(r, "depthwise", std::string("depthwise 3x3 C96 112x112") + (last ? " NHWC" : " NCHW"), v.p, v.done(), {1.3});
    c.result(v.made());
    if (last)
      enter(c, v, depthwise<ops::layout::channels_last>, weft::view(v.x.data(), 1, p.h, p.w, p.c),
            weft::view(v.w.data(), 3, 3, p.c), weft::out(v.y.data(), 1, p.h, p.w, p.c));
    else
      enter(c, v, depthwise<ops::layout::channels_first>, weft::view(v.x.data(), 1, p.c, p.h, p.w),
            weft::view(v.w.data(), p.c, 3, 3), weft::out(v.y.data(), 1, p.c, p.h, p.w));
    c.compete([&](std::int64_t i) { return v.at(i); });
  }
}

}  // namespace bench::peers
