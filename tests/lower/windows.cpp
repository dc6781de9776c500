// Memory for more iterations than one: what is computed at each, and where it is kept.
#include <doctest/doctest.h>

#include "fuzz/found.hpp"
#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/compile.hpp"

using namespace weft;
using weft_test::lowered_program;
using weft_test::fuzz::found;

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

/// S = reader(T, A) under steps in which T[i] = A[i] * 3 + 1 is computed in its loops.
template <class Reader>
struct read_in_loops {
  Reader reader;
  char const* steps;

  auto stage(found& f) const {
    auto const A = f.input<std::int32_t, 1>({16});
    auto const T = compute<"T">(A.extent(0), [=](auto i) { return A(i) * 3 + 1; });
    return reader(T, A);
  }
  /// In each executor.
  void check() const {
    found f;
    f.check(stage(f), steps, 4, 4);
  }
  std::string text() const {
    found f;
    f.p.outputs.push_back(stage(f).id);
    lowered_program l{canonical(f.p), {{16}}};
    return ir::print(l([&](schedule& s, auto const&) {
      for (step each : parse_trace(steps, s)) s.take(each);
    }));
  }
};
template <class Reader>
read_in_loops(Reader, char const*) -> read_in_loops<Reader>;
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
// j of 5 in parts of 4, inside out and as one loop: where j = jijo % 2 * 4 + jijo / 2 is 5, 6 or 7, in iterations 3, 5 and 7, nothing is
// done; and of that loop in parts of 5, iteration 5 is the first one of the second part.
TEST_CASE("a copy was not filled where a guard leaves out the first iteration, which alone filled it") {
  found f;
  auto const A = f.input<double, 1>({1});
  f.check(compute<"S">(1, 5, [=](auto i, auto) { return select(cast<float>(A(i)) < 1.0f, cast<f16>(i), f16(1.0f)); }),
          "S: cache_read(A)\nS: split(j, 4) -> jo, ji\nS: reorder(ji, jo, i)\nS: fuse(ji, jo) -> jijo\n"
          "S: split(jijo, 5) -> jijoo, jijoi\nA_copy: compute_at(S, jijoi)\nA_copy: store_at(S, jijoo)\n");
}
TEST_CASE("of what is the same in all iterations the first one computes nothing alone where it may be left out") {
  auto const of_two = [](auto T, auto) { return compute<"S">(2, 5, [=](auto i, auto) { return T(i) + 1; }); };
  read_in_loops{of_two, "S: split(j, 4) -> jo, ji\nS: reorder(ji, jo, i)\nS: fuse(ji, jo) -> jijo\nS: split(jijo, 5) -> jijoo, jijoi\n"
                        "T: compute_at(S, jijoi)\nT: store_at(S, jijoo)\n"}.check();
  read_in_loops{of_two, "S: split(j, 4) -> jo, ji\nS: reorder(ji, jo, i)\nS: fuse(ji, jo) -> jijo\nS: split(jijo, 5) -> jijoo, jijoi\n"
                        "T: compute_at(S, i)\nT: store_at(S, jijoo)\n"}.check();
  // Along the axis of a reduction.
  read_in_loops{[](auto T, auto A) { return compute<"S">(2, [=](auto i) { return sum(5, [=](auto k) { return T(i) * A(k); }); }); },
                "S: split(j, 4) -> jo, ji\nS: reorder(ji, jo, i)\nS: fuse(ji, jo) -> jijo\nS: split(jijo, 5) -> jijoo, jijoi\n"
                "T: compute_at(S, jijoi)\nT: store_at(S, jijoo)\n"}.check();
  // Around vectors with a tail of their own.
  auto const of_eleven = [](auto T, auto A) { return compute<"S">(11, 5, [=](auto i, auto j) { return T(i) * A(j); }); };
  read_in_loops{of_eleven, "S: split(j, 4, mask) -> jo, ji\nS: split(i, 8, mask) -> io, ii\nS: reorder(ji, jo, io, ii)\nS: fuse(ji, jo) -> jijo\n"
                           "S: split(jijo, 5, mask) -> jijoo, jijoi\nS: vectorize(ii)\nT: compute_at(S, jijoi)\nT: store_at(S, jijoo)\n"}.check();
  read_in_loops{of_eleven, "S: split(j, 4, partition) -> jo, ji\nS: split(i, 8, partition) -> io, ii\nS: reorder(ji, jo, io, ii)\n"
                           "S: fuse(ji, jo) -> jijo\nS: split(jijo, 5, partition) -> jijoo, jijoi\nS: vectorize(ii)\nT: vectorize(i)\n"
                           "T: compute_at(S, jijoi)\nT: store_at(S, jijoo)\n"}.check();
  // In a stage that is itself computed in a loop.
  read_in_loops{[](auto T, auto A) {
                  auto const U = compute<"U">(4, 5, [=](auto i, auto j) { return T(i) * A(j); });
                  return compute<"S">(4, 5, [=](auto i, auto j) { return U(i, j) + U(i, 4 - j); });
                },
                "U: split(j, 4) -> jo, ji\nU: reorder(ji, jo, i)\nU: fuse(ji, jo) -> jijo\nU: split(jijo, 5) -> jijoo, jijoi\n"
                "U: compute_at(S, i)\nT: compute_at(U, jijoi)\nT: store_at(U, jijoo)\n"}.check();
}
TEST_CASE("a part that moves forward is computed whole where iterations in front of others are left out") {
  // The first one of a part of the loop.
  read_in_loops{[](auto T, auto) { return compute<"S">(3, 5, [=](auto i, auto) { return T(i) + 1; }); },
                "S: split(j, 4) -> jo, ji\nS: reorder(i, ji, jo)\nS: fuse(i, ji) -> iji\nS: fuse(iji, jo) -> ijijo\n"
                "S: split(ijijo, 5) -> ijijoo, ijijoi\nT: compute_at(S, ijijoi)\nT: store_at(S, ijijoo)\n"}.check();
  // Those between others: of 0, 1, .. 5 each second one, where ji is above 0.
  read_in_loops{[](auto T, auto) {
                  return compute<"S">(3, 5, [=](auto i, auto j) { return T(i * 2 + j / 4) + T(i * 2 + j / 4 + 1); });
                },
                "S: split(j, 4) -> jo, ji\nS: reorder(ji, i, jo)\nS: fuse(i, jo) -> ijo\nT: compute_at(S, ijo)\nT: store_at(S, ji)\n"}.check();
}
TEST_CASE("a window slides, and the first iteration computes alone what stays, under a guard that leaves out none in front of others") {
  read_in_loops const stays{[](auto T, auto) { return compute<"S">(2, 5, [=](auto i, auto) { return T(i) + 1; }); },
                            "S: split(j, 4) -> jo, ji\nS: reorder(ji, jo, i)\nS: fuse(ji, jo) -> jijo\nT: compute_at(S, jijo)\nT: store_root()\n"};
  CHECK(has(stays.text(), "in 0..select(jijo < 1, 2, 0)"));
  stays.check();
  // j = ijijoi % 2 * 2 + (ijijoo * 3 + ijijoi / 2) % 2 is no more than 1 in the first one.
  read_in_loops const begins{[](auto T, auto) { return compute<"S">(4, 3, [=](auto, auto) { return T(0) + 1; }); },
                             "S: split(j, 2) -> jo, ji\nS: reorder(i, ji, jo)\nS: fuse(ji, jo) -> jijo\nS: fuse(i, jijo) -> ijijo\n"
                             "S: split(ijijo, 6) -> ijijoo, ijijoi\nT: compute_at(S, ijijoi)\nT: store_at(S, ijijoo)\n"};
  CHECK(has(begins.text(), "in 0..select(ijijoi < 1, 1, 0)"));
  begins.check();
  read_in_loops const slides{[](auto T, auto) { return compute<"S">(3, 13, [=](auto i, auto j) { return T(j / 4) + cast<std::int32_t>(i); }); },
                             "S: split(j, 4) -> jo, ji\nS: reorder(ji, jo, i)\nS: fuse(jo, i) -> joi\nT: compute_at(S, joi)\nT: store_at(S, ji)\n"};
  CHECK(has(slides.text(), "if joi // 3 * 4 + ji < 13"));
  CHECK(has(slides.text(), "select(joi < 1, joi // 3"));
  slides.check();
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
