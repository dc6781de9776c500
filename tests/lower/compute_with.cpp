// Stages computed in the loops of others that do not read them: the loop program, and what is computed, in each executor.
#include <doctest/doctest.h>

#include "fuzz/found.hpp"
#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "support/kernels.hpp"
#include "weft/direct.hpp"

using namespace weft;
using weft_test::lowered_program;
using weft_test::fuzz::found;

namespace {
program gradients() {
  program p;
  expr::tensor<float, 2> const x{&p, p.add_input(short_name("x"), dtype::f32, 2)};
  auto const n = x.extent(0), m = x.extent(1);
  auto const dx = compute<"dx">(n, m, [=](auto i, auto j) { return x(i, min(j + 1, m - 1)) - x(i, j); });
  auto const dy = compute<"dy">(n, m, [=](auto i, auto j) { return x(min(i + 1, n - 1), j) - x(i, j); });
  p.outputs.push_back(dx.id);
  p.outputs.push_back(dy.id);
  return canonical(p);
}
}  // namespace

TEST_CASE("two outputs in one nest, tile by tile") {
  lowered_program l{gradients(), {{13, 18}}};
  weft_test::check_golden("lower/compute_with.ir", ir::print(l([](schedule& s, auto const&) {
                            auto const dx = handle_of<2>(s, 0), dy = handle_of<2>(s, 1);
                            auto const [io, jo, ii, ji] = s.tile(dx.all[0], dx.all[1], 4, 8);
                            s.parallel(io);
                            s.vectorize(ji);
                            s.compute_with(dy, jo);
                            s.vectorize(dy.all[1]);
                          })));
}
TEST_CASE("with open sizes") {
  lowered_program l{gradients(), {{13, 18}}};
  l.dims = {{"m", "n"}};
  weft_test::check_golden("lower/compute_with_open.ir", ir::print(l([](schedule& s, auto const&) {
                            auto const dx = handle_of<2>(s, 0), dy = handle_of<2>(s, 1);
                            s.compute_with(dy, s.split(dx.all[0], 4)[0]);
                          })));
}

namespace {
/// R(i) = sum over T(i, k), where T and S know nothing of each other, and S is read behind T and in front of the end.
void check_four(char const* steps) {
  for (auto [m, n] : {std::pair{5, 7}, {8, 4}, {1, 1}, {13, 0}}) {
    found f;
    auto const a = f.input<std::int32_t, 2>({m, n});
    auto const x = a.extent(0), y = a.extent(1);
    auto const u = compute<"U">(x, y, [=](auto i, auto j) { return a(i, j) + 1; });
    auto const t = compute<"T">(x, [=](auto i) { return sum(y, [=](auto k) { return a(i, k) * 3; }); });
    auto const s = compute<"S">(x, y, [=](auto i, auto j) { return u(i, j) * u(x - 1 - i, j); });
    f.check(compute<"R">(x, [=](auto i) { return sum(y, [=](auto k) { return s(i, k) + t(i); }); }), steps, 4, m == 5 ? 2 : 0);
  }
}
}  // namespace
TEST_CASE("compute_with keeps what is computed") {
  check_four("S: compute_with(T, i)\n");
  check_four("T: compute_with(S, i)\n");
  check_four("T: split(i, 3) -> io, ii\nS: compute_with(T, io)\nT: parallel(io)\nS: vectorize(j)\n");
  check_four("S: split(i, 4, shift_inwards) -> io, ii\nS: split(j, 3, mask) -> jo, ji\nS: reorder(io, ii, jo, ji)\n"
             "T: compute_with(S, ii)\nS: vectorize(ji)\n");
  check_four("S: split(i, 4, partition) -> io, ii\nS: unroll(j)\nT: compute_with(S, io)\nT: unroll(i)\n");
  check_four("S: split(i, 4, round_up) -> io, ii\nT: compute_with(S, io)\n");
  check_four("T: split(i, 2) -> io, ii\nS: compute_with(T, io)\nU: compute_at(T, io)\n");
  check_four("S: compute_with(T, i)\nT: decompose_reduction(T, i)\n");
  check_four("T: rfactor(T, j, 2)\nS: compute_with(T_rf, i)\nT_rf: reorder(i, k, j)\n");
  check_four("S: compute_inline()\nT: compute_with(U, i)\n");
  check_four("S: cache_write()\nS_acc: compute_with(T, i)\n");
}
TEST_CASE("of two results one is an output, and written there") {
  found f;
  auto const a = f.input<std::int32_t, 2>({5, 3});
  auto const t = compute<"T">(a.extent(0), [=](auto i) { return a(i, 0) + 1; });
  auto const s = compute<"S", "U">(a.extent(0), [=](auto i) {
    return reduce(values(5, 1), [](auto x, auto y) { return values(get<0>(x) + get<0>(y), get<1>(y) * get<1>(x)); },
                  a.extent(1), [=](auto k) { return values(a(i, k), a(i, k) + 1); });
  });
  f.p.outputs.push_back(t.id);
  f.check(get<1>(s), "S: compute_with(T, i)\n");
}
TEST_CASE("a stage beside a reduction over nothing is computed") {
  found f;
  auto const a = f.input<float, 1>({5});
  auto const none = f.input<float, 1>({0});
  auto const t = compute<"T">(a.extent(0), [=](auto i) { return sum(none.extent(0), [=](auto k) { return a(i) * none(k); }); });
  auto const s = compute<"S">(a.extent(0), [=](auto i) { return a(i) + 1.0f; });
  f.check(compute<"R">(a.extent(0), [=](auto i) { return s(i) + t(i); }), "S: compute_with(T, i)\n");
}

namespace {
/// `first` is computed in the loops of `second`, or the other way round.
template <bool Inside>
constexpr auto together = [](auto& s, auto, auto first, auto second) {
  if constexpr (Inside) s.compute_with(first, second.axes()[0]);
  else s.compute_with(second, first.axes()[0]);
};
template <class Kernel>
std::string refusal(Kernel const& kernel, bool first_in_place) {
  std::vector<float> x = weft_test::numbers(8), y(8);
  auto const whole = evaluate(kernel, view(x, 8));
  return weft_test::refusal([&] {
    if (first_in_place) kernel(view(x, 8), out(x, 8), out(y, 8));
    else kernel(view(x, 8), out(y, 8), out(x, 8));
    std::vector<float> const &a = first_in_place ? x : y, &b = first_in_place ? y : x;
    CHECK(a == weft::get<0>(whole).values);
    CHECK(b == weft::get<1>(whole).values);
  });
}
}  // namespace
TEST_CASE("in place: refused where the other stage reads what was written, right where it does not") {
  static constexpr auto own = [](auto x) {  // both read their own element
    auto a = compute<"a">(x.extent(0), [=](auto i) { return x(i) + 1.0f; });
    auto b = compute<"b">(x.extent(0), [=](auto i) { return x(i) * 2.0f; });
    return outputs(a, b);
  };
  static constexpr auto around = [](auto x) {  // the first one its neighbour
    auto a = compute<"a">(x.extent(0), [=](auto i) { return x(max(i - 1, 0)) + 1.0f; });
    auto b = compute<"b">(x.extent(0), [=](auto i) { return x(i) * 2.0f; });
    return outputs(a, b);
  };
  // a runs before b: b, the later one, may be written in place.
  CHECK(refusal(weft::kernel<"own">(own, together<true>), false) == "");
  CHECK(refusal(weft::kernel<"around">(around, together<true>), false).find("leave compute_at, compute_inline and compute_with") !=
        std::string::npos);
  // b runs before a, and is written over what a reads.
  CHECK(refusal(weft::kernel<"own">(own, together<false>), false).find("leave compute_at") != std::string::npos);
  CHECK(refusal(weft::kernel<"around">(around, together<false>), false).find("leave compute_at") != std::string::npos);
  CHECK(refusal(weft::kernel<"own">(own), false) == "");
}

namespace {
/// dy, written over what it reads, in loops of dx of a 13 x 12 matrix: empty, or what is refused.
template <class How>
std::string in_place(How const& how) {
  static constexpr auto gradients = [](auto a, auto b) {
    auto dx = compute<"dx">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) + 1.0f; });
    auto dy = compute<"dy">(a.extent(0), a.extent(1), [=](auto i, auto j) { return b(i, j) * 2.0f; });
    return outputs(dx, dy);
  };
  std::vector<float> const a = weft_test::numbers(156), b = weft_test::numbers(156, 7);
  std::vector<float> c(156), d = b;
  std::string const why = weft_test::refusal(
      [&] { weft::kernel<"gradients">(gradients, how)(view(a, 13, 12), view(d, 13, 12), out(c, 13, 12), out(d, 13, 12)); });
  for (std::size_t i = 0; i < 156 && why.empty(); ++i) {
    CHECK(c[i] == a[i] + 1.0f);
    CHECK(d[i] == b[i] * 2.0f);
  }
  return why;
}
}  // namespace
TEST_CASE("in place: refused where parts of loops around do not divide or stand inside out, so that elements are computed twice") {
  char const* const twice = "stage dy, where the schedule has it computed";
  CHECK(in_place([](auto& s, auto, auto, auto dx, auto dy) { s.compute_with(dy, s.split(s.fuse(dx.all[0], dx.all[1]), 8)[0]); })
            .find(twice) != std::string::npos);
  CHECK(in_place([](auto& s, auto, auto, auto dx, auto dy) {
          auto [io, ii] = s.split(dx.all[0], 4);
          s.reorder(ii, io);
          s.compute_with(dy, ii);
        }).find(twice) != std::string::npos);
  CHECK(in_place([](auto& s, auto, auto, auto dx, auto dy) {
          auto [io, ii] = s.split(dx.all[0], 5);
          s.compute_with(dy, s.split(ii, 3)[0]);
        }).find(twice) != std::string::npos);
  for (std::int64_t factor : {1, 2, 4, 6, 12, 24})
    CHECK(in_place([factor](auto& s, auto, auto, auto dx, auto dy) {
            s.compute_with(dy, s.split(s.fuse(dx.all[0], dx.all[1]), factor)[0]);
          }) == "");
  CHECK(in_place([](auto& s, auto, auto, auto dx, auto dy) { s.compute_with(dy, s.split(dx.all[0], 4)[0]); }) == "");
  CHECK(in_place([](auto& s, auto, auto, auto dx, auto dy) { s.compute_with(dy, s.split(dx.all[0], 2, 4)[1]); }) == "");
}
