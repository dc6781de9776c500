// What a call of a ready kernel costs beside its work.
#include "harness.hpp"
#include "kernels.hpp"
#include "weft/dim.hpp"

namespace bench {
namespace {
constexpr std::int64_t count = 16;

__attribute__((noinline)) void add_16(float const* a, float const* b, float* c) {
  for (std::int64_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
}
// The same 16 elements as tensors of rank 2, which have more to be checked.
inline constexpr auto add_4x4 = weft::kernel<"add_4x4">(
    [](auto a, auto b) {
      return weft::compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) + b(i, j); });
    },
    [](auto& s, auto, auto, auto c) { s.vectorize(s.split(s.fuse(c.axes()[0], c.axes()[1]), count)[1]); });
// Volatile, so that the call stays a call.
void (*volatile add_16_pointer)(float const*, float const*, float*) = add_16;
}  // namespace

void call(report& r) {
  buffer const a(count, 1), b(count, 2), c(count, 3);
  a.randomize(1), b.randomize(2);
  auto const x = weft::view(a.data(), count), y = weft::view(b.data(), count);
  auto const z = weft::out(c.data(), count);
  auto const ready = vector_add.prepare(x, y, z);
  auto const x2 = weft::view(a.data(), 4, 4), y2 = weft::view(b.data(), 4, 4);
  auto const z2 = weft::out(c.data(), 4, 4);
  auto const ready2 = add_4x4.prepare(x2, y2, z2);
  auto const rows = weft::dim<"m">(4);
  auto const columns = weft::dim<"n">(4);
  auto const open_x = weft::view(a.data(), rows, columns), open_y = weft::view(b.data(), rows, columns);
  auto const open_z = weft::out(c.data(), rows, columns);
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
       0},
      {"prepared kernel, rank 2",
       [&](std::int64_t times) {
         while (times-- > 0) ready2(x2, y2, z2);
       },
       0},
      {"kernel, rank 2",
       [&](std::int64_t times) {
         while (times-- > 0) add_4x4(x2, y2, z2);
       },
       0},
      {"kernel, rank 2, open sizes",
       [&](std::int64_t times) {
         while (times-- > 0) add_4x4(open_x, open_y, open_z);
       },
       0}};
  for (variant const& v : variants) {
    c.poison();
    v.run(1);
    for (std::int64_t i = 0; i < count; ++i)
      if (!(c.data()[i] == a.data()[i] + b.data()[i])) r.wrong(v.name);
  }
  add_ns_over_first(r, variants, 50);
}

}  // namespace bench
