// What a call of a ready kernel costs beside its work.
#include "harness.hpp"
#include "kernels.hpp"

namespace bench {
namespace {
constexpr std::int64_t count = 16;

__attribute__((noinline)) void add_16(float const* a, float const* b, float* c) {
  for (std::int64_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
}
// Volatile, so that the call stays a call.
void (*volatile add_16_pointer)(float const*, float const*, float*) = add_16;
}  // namespace

void call(report& r) {
  buffer const a(count, 1), b(count, 2), c(count, 3);
  a.randomize(1), b.randomize(2);
  auto const x = weft::view(a.data(), count), y = weft::view(b.data(), count);
  auto const z = weft::out(c.data(), count);
  auto const ready = vector_add.prepare(x, y, z);
  std::vector<variant> const variants{
      {"function pointer",
       [&](std::int64_t times) {
         while (times-- > 0) add_16_pointer(a.data(), b.data(), c.data());
       },
       0},
      {"prepared kernel",
       [&](std::int64_t times) {
         while (times-- > 0) ready(x, y, z);
       },
       0},
      {"kernel",
       [&](std::int64_t times) {
         while (times-- > 0) vector_add(x, y, z);
       },
       0}};
  for (variant const& v : variants) {
    c.poison();
    v.run(1);
    for (std::int64_t i = 0; i < count; ++i)
      if (!(c.data()[i] == a.data()[i] + b.data()[i])) r.wrong(v.name);
  }
  auto const figures = measure(variants, {r.wanted.rounds, 2});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    row line;
    line.variant = variants[i].name, line.median = figures[i].median, line.spread = figures[i].spread;
    line.unit = "ns", line.ratio = figures[i].ratio, line.reference = variants[0].name;
    double const more = figures[i].median - figures[0].median;
    if (i > 0) line.note = text("%.1f ns more", more);
    if (i > 0) demand_at_most(line, more, 50, " ns more");
    r.add(line);
  }
}

}  // namespace bench
