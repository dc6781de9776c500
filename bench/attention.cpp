// Attention in one pass over blocks of keys against three passes, and against a C++ loop. On one thread.
#include <weft/ops/attention.hpp>
#include <weft/weft.hpp>

#include <cmath>

#include "attention_loop.hpp"
#include "harness.hpp"

namespace bench {
namespace {

/// Tiles of 4 x 16 sums in registers; the axes of a product are head, row, column and what it is summed over.
inline constexpr auto in_tiles = [](auto& s, auto const& product) {
  auto [h, i, j, e] = product.axes();
  auto [io, ii] = s.split(i, 4);
  auto [jo, ji] = s.split(j, 16);
  s.reorder(h, io, jo, e, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
  return h;
};
/// A reduction of rows by 16 lanes, at the loop of the rows.
inline constexpr auto by_lanes = [](auto& s, auto const& reduction, auto row, auto k) {
  auto [parts, lane] = s.rfactor(reduction, k, 16);
  auto [h, i, one, v, u] = parts.axes();
  s.reorder(u, v);
  s.vectorize(v);
  s.compute_at(parts, row);
};
/// The keys, transposed for vectors of scores.
inline constexpr auto transposed = [](auto& s, auto k, auto const& scores) {
  return s.transform_layout(s.cache_read(k, scores), [](auto h, auto n, auto e) { return weft::dims(h, e, n); });
};

enum class placed { whole, by_rows };
template <placed Where>
inline constexpr auto three_passes = weft::kernel<"three_passes">(
    weft::ops::attention,
    [](auto& s, auto, auto k, auto, auto dot, auto scores, auto top, auto e, auto total, auto sum, auto y) {
      auto keys = transposed(s, k, dot);
      auto [th, ti, tone, tk] = top.axes();
      by_lanes(s, top, ti, tk);
      auto [lh, li, lone, lk] = total.axes();
      by_lanes(s, total, li, lk);
      auto [eh, ei, ek] = e.axes();
      auto [eko, eki] = s.split(ek, 16);
      s.vectorize(eki);
      auto head = in_tiles(s, dot);
      s.compute_inline(scores);
      in_tiles(s, sum);
      auto [h, i, f] = y.axes();
      auto [io, ii] = s.split(i, 32);
      s.vectorize(f);
      if constexpr (Where == placed::by_rows) {
        s.compute_at(sum, io);
        s.compute_at(total, io);
        s.compute_at(e, io);
        s.compute_at(top, io);
        s.compute_at(dot, io);
      }
      s.compute_at(keys, Where == placed::by_rows ? h : head);
    });

inline constexpr auto one_pass = weft::kernel<"one_pass">(
    [](auto q, auto k, auto v) { return weft::ops::attention(q, k, v, {.block = 64}); },
    [](auto& s, auto, auto k, auto, auto dot, auto scores, auto top, auto weight, auto total, auto sum, auto state, auto y) {
      auto keys = transposed(s, k, dot);
      auto [th, ti, tb, tk] = top.axes();
      by_lanes(s, top, ti, tk);
      auto [lh, li, lb, lk] = total.axes();
      by_lanes(s, total, li, lk);
      auto [wh, wi, wb, wk] = weight.axes();
      s.vectorize(wk);
      in_tiles(s, dot);
      s.compute_inline(scores);
      auto [sh, si, sb, sf, sk] = sum.axes();
      auto [sio, sii] = s.split(si, 4);
      auto [sfo, sfi] = s.split(sf, 16);
      s.reorder(sh, sb, sio, sfo, sk, sii, sfi);
      s.unroll(sii);
      s.vectorize(sfi);
      auto [h, i, f] = y.axes();
      auto [io, ii] = s.split(i, 32);
      s.vectorize(f);
      auto [oh, oi, of, ob] = state.axes();
      s.reorder(oh, ob, oi, of);
      s.vectorize(of);
      s.compute_at(state, io);
      s.compute_at(sum, ob);
      s.compute_at(total, ob);
      s.compute_at(weight, ob);
      s.compute_at(top, ob);
      s.compute_at(dot, ob);
      s.compute_at(keys, h);
    });

struct heads {
  std::int64_t count = 8, queries = 1024, keys = 1024, width = 64;
  buffer q, k, v, out;
  heads() : q(elements(queries), 1), k(elements(keys), 2), v(elements(keys), 3), out(elements(queries), 4) {
    q.randomize(1), k.randomize(2), v.randomize(3);
  }
  std::size_t elements(std::int64_t rows) const { return static_cast<std::size_t>(count * rows * width); }
  auto in(buffer const& b, std::int64_t rows) const { return weft::view(b.data(), count, rows, width); }
  attention_operands operands() const { return {q.data(), k.data(), v.data(), out.data(), count, queries, keys, width}; }
};
/// Some rows against the formula in double. Scores are below 8 and off by 64 units of what their terms add up to, 64 / 8; that
/// moves a weight by as much of itself, twice, as do sums of 1024 terms; values are below 1.
bool is_attention(heads const& x) {
  double const bound = 1.1 * 0x1p-24 * (2 * 64 * 8 + 2 * 1024 + 50);
  std::vector<double> sum(static_cast<std::size_t>(x.width));
  for (std::int64_t row = 0; row < x.count * x.queries; row += 997) {
    float const *const q = x.q.data() + row * x.width, *const first = x.k.data() + row / x.queries * x.keys * x.width;
    float const* const v = x.v.data() + row / x.queries * x.keys * x.width;
    double total = 0;
    sum.assign(sum.size(), 0);
    for (std::int64_t n = 0; n < x.keys; ++n) {
      double score = 0;
      for (std::int64_t e = 0; e < x.width; ++e)
        score += static_cast<double>(q[e]) * static_cast<double>(first[n * x.width + e]);
      double const weight = std::exp(score / std::sqrt(static_cast<double>(x.width)));
      total += weight;
      for (std::int64_t f = 0; f < x.width; ++f) sum[static_cast<std::size_t>(f)] += weight * static_cast<double>(v[n * x.width + f]);
    }
    for (std::int64_t f = 0; f < x.width; ++f)
      if (!(std::abs(static_cast<double>(x.out.data()[row * x.width + f]) - sum[static_cast<std::size_t>(f)] / total) <= bound))
        return false;
  }
  return true;
}
template <class Kernel>
variant by(char const* name, heads const& x, Kernel const& kernel) {
  auto const q = x.in(x.q, x.queries), k = x.in(x.k, x.keys), v = x.in(x.v, x.keys);
  auto const out = weft::out(x.out.data(), x.count, x.queries, x.width);
  return {name, [=, ready = kernel.prepare(q, k, v, out)](std::int64_t times) {
            while (times-- > 0) ready(q, k, v, out);
          }};
}
}  // namespace

void attention(report& r) {
  heads const x;
  std::vector<variant> const variants{
      by("one pass, 64 keys at a time", x, one_pass),
      by("three passes, 32 queries at a time", x, three_passes<placed::by_rows>),
      by("three passes, all scores in memory", x, three_passes<placed::whole>),
      {"C++ loop, one pass", [&](std::int64_t times) {
         while (times-- > 0) attention_loop(x.operands());
       }}};
  for (variant const& v : variants) {
    x.out.poison();
    v.run(1);
    if (!is_attention(x)) r.wrong(v.name + " is not attention");
  }
  auto const figures = measure(variants, {r.wanted.rounds < 7 ? r.wanted.rounds : 7, 1});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    row line;
    line.variant = variants[i].name, line.unit = "ms", line.median = figures[i].median * 1e-6, line.spread = figures[i].spread;
    if (i > 0) line.ratio = 1 / figures[i].ratio, line.reference = "one pass over it";
    r.add(line);
  }
}

}  // namespace bench
