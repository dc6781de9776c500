// Memory for more iterations than one: what is computed at each, and where it is kept.
#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/golden.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {
/// blur[y, x] = A[y, x] + A[y, x + 1], out[y, x] = blur[y, x] + blur[y + 1, x] + blur[y + 2, x]
program stencil() {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  auto const n = A.extent(0), m = A.extent(1) - 1;
  auto const blur = compute<"blur">(n, m, [=](auto i, auto j) { return A(i, j) + A(i, j + 1); });
  auto const out = compute<"out">(n - 2, m, [=](auto i, auto j) { return blur(i, j) + blur(i + 1, j) + blur(i + 2, j); });
  p.outputs.push_back(out.id);
  return canonical(p);
}
template <class Steps>
std::string lowered(program const& p, Steps const& steps) {
  lowered_program l{p, {{12, 9}}};
  return ir::print(l([&](schedule& s, auto const&) { steps(s, handle_of<2>(s, 0), handle_of<2>(s, 1)); }));
}
bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("a sliding window: two rows of three are there already") {
  weft_test::check_golden("lower/window.ir", lowered(stencil(), [](schedule& s, auto blur, auto out) {
                            s.compute_at(blur, out.all[0]);
                            s.store_root(blur);
                          }));
}
TEST_CASE("a ring of four rows, one for each iteration of a parallel axis") {
  weft_test::check_golden("lower/window_ring.ir", lowered(stencil(), [](schedule& s, auto blur, auto out) {
                            auto const [yo, yi] = s.split(out.all[0], 5);
                            s.parallel(yo);
                            s.compute_at(blur, yi);
                            s.store_at(blur, yo);
                            s.fold_storage(blur.all[0], 4);
                          }));
}
TEST_CASE("what does not move is computed in the first iteration alone") {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  auto const row = compute<"row">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
  auto const out = compute<"out">(A.extent(0), A.extent(1), [=](auto i, auto j) { return row(0, j) + A(i, j); });
  p.outputs.push_back(out.id);
  std::string const text = lowered(canonical(p), [](schedule& s, auto r, auto o) {
    s.compute_at(r, o.all[0]);
    s.store_root(r);
  });
  CHECK(has(text, "in 0..select(i < 1, 1, 0)"));
}
TEST_CASE("a part that moves back, or along two axes, is computed whole each time") {
  auto const text_of = [](auto const& read) {
    program p;
    expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
    auto const a = compute<"a">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + A(i, j); });
    auto const b = compute<"b">(A.extent(0) - 4, A.extent(1) - 4, [=](auto i, auto j) { return read(a, i, j); });
    p.outputs.push_back(b.id);
    return lowered(canonical(p), [](schedule& s, auto guest, auto host) {
      s.compute_at(guest, host.all[0]);
      s.store_root(guest);
    });
  };
  CHECK_FALSE(has(text_of([](auto a, auto i, auto j) { return a(a.extent(0) - 1 - i, j); }), "select"));
  CHECK_FALSE(has(text_of([](auto a, auto i, auto j) { return a(i, i) + a(i + 1, i + 1) + a(0, j) * 0.0f; }), "i < 1"));
}
TEST_CASE("what a choice hangs on is read once, without a mask, also of a part whose edges are clamped twice") {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  auto const n = A.extent(0), m = A.extent(1);
  auto const a = compute<"a">(n, m, [=](auto i, auto j) { return A(i, j) + A(i, j); });
  auto const b = compute<"b">(n / 2, m, [=](auto i, auto j) {
    auto const last = n - 1;
    auto const v = a(clamp(clamp(2 * i - 1, 0, last) - 1, 0, last), j);
    return select(v > 0.5f, v, v * 0.25f);
  });
  p.outputs.push_back(b.id);
  std::string const text = lowered(canonical(p), [](schedule& s, auto guest, auto host) { s.compute_at(guest, s.split(host.all[0], 3)[0]); });
  CHECK_FALSE(has(text, "where"));
}
TEST_CASE("a ring that is too small is refused, in words") {
  CHECK_THROWS_WITH_AS(lowered(stencil(),
                               [](schedule& s, auto blur, auto out) {
                                 s.compute_at(blur, out.all[0]);
                                 s.store_root(blur);
                                 s.fold_storage(blur.all[0], 2);
                               }),
                       "fold_storage: 3 elements along this axis are read at a time, 2 are kept\n"
                       "  in    stage blur, axis i\n"
                       "  try   a factor of 3",
                       schedule_error);
}
