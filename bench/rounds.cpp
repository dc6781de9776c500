// What a round of the tuner's proposals takes: 128 chains of 500 steps, and what follows until a batch is proposed.
#include "harness.hpp"
#include "kernels.hpp"
#include "plain_kernels.hpp"
#include "weft/tune.hpp"

namespace bench {
namespace {
/// Eight knobs: some three million points.
inline constexpr auto eight_knobs = weft::kernel<"eight_knobs">(product, [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto const [ko, ki] = s.split(k, s.knob("terms", {256, 8, 16, 32, 64, 128, 192, 384, 512, 1024}));
  auto const [io, ii] = s.split(i, s.knob("rows", {6, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14}));
  auto const [jo, ji] = s.split(j, s.knob("columns", {64, 16, 32, 48, 80, 96, 112, 128}));
  auto const [ib, ir] = s.split(io, s.knob("row_block", {4, 1, 2, 8, 16, 32, 64, 128}));
  auto const [jb, jr] = s.split(jo, s.knob("column_block", {4, 1, 2, 8, 16, 32, 64, 128}));
  switch (s.knob("order", {0, 1, 2, 3, 4, 5})) {
    case 0: s.reorder(ko, ib, jb, ir, jr, ki, ii, ji); break;
    case 1: s.reorder(ib, ko, jb, ir, jr, ki, ii, ji); break;
    case 2: s.reorder(ib, jb, ko, ir, jr, ki, ii, ji); break;
    case 3: s.reorder(jb, ib, ko, ir, jr, ki, ii, ji); break;
    case 4: s.reorder(jb, ko, ib, jr, ir, ki, ii, ji); break;
    default: s.reorder(ko, jb, ib, jr, ir, ki, ii, ji); break;
  }
  s.unroll(ii);
  s.vectorize(ji);
  if (auto const n = s.knob("unrolled", {1, 2, 4, 8}); n > 1) s.unroll(s.split(ki, n)[1]);
  if (s.knob("share", {1, 0}) == 0) return;
  s.parallel(ib);
});
/// Rounds in the space of a kernel on two threads. What points cost is taken from the estimate: nothing is measured here.
template <class Kernel, class... A>
void round_of(report& r, char const* name, bool by_rule, Kernel const& kernel, A const&... a) {
  kernel.erased(
      [&](weft::kernel_face const& f, weft::argument* arguments, int count) {
        namespace tuning = weft::tuning;
        weft::program const what = f.what(f.object);
        weft::shape_outputs(what, arguments, count);
        weft::call_layout const layout = weft::bind(what, f.name, arguments, count);
        weft::target machine = weft::host();
        machine.threads = 2;
        tuning::space s({f.name, &what, f.how, f.object, &layout, &machine, f.wanted, by_rule});
        tuning::annealing_settings how;
        how.chains = 128, how.steps = 500;
        tuning::annealing_search search(s, 1, how);
        std::vector<double> seconds;
        for (int round = 0; round < 5; ++round) {
          double const start = now_ns();
          weft::sequence<tuning::point> const proposed = search.propose(8);
          // The first has no model to walk by.
          if (round > 0) seconds.push_back((now_ns() - start) * 1e-9);
          for (tuning::point const& p : proposed) {
            weft::sequence<float> features;
            double estimate = 1;
            static_cast<void>(s.describe(p, features, estimate));
            search.learn(p, estimate);
          }
        }
        row line;
        line.variant = name, line.median = median(seconds), line.spread = spread(seconds), line.unit = "s";
        line.note = text("rounds of 128 x 500 proposals, %.2f to %.2f s", percentile(seconds, 0), percentile(seconds, 1));
        demand_at_most(line, percentile(seconds, 1), 1.5, " s, the longest");
        r.add(line);
        return 0;
      },
      a...);
}
}  // namespace

void rounds(report& r) {
  static std::vector<float> const some(1);  // nothing is called
  auto const square = [](std::int64_t n) { return weft::view(some.data(), n, n); };
  round_of(r, "eight knobs of a how-lambda", false, eight_knobs, square(1024), square(1024));
  round_of(r, "product 1024^3 by rule", true, plain_product<"product">, square(1024), square(1024));
  round_of(r, "conv 3x3 by rule", true, plain_convolution<"conv">, weft::view(some.data(), 58, 58, 64), weft::view(some.data(), 3, 3, 64, 64));
  round_of(r, "softmax 512 x 1024 by rule", true, plain_softmax<"softmax">, weft::view(some.data(), 512, 1024));
}

}  // namespace bench
