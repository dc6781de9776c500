#include "weft/schedule/term_order.hpp"

#include <doctest/doctest.h>

#include "fuzz/found.hpp"
#include "programs.hpp"
#include "weft/intrinsics.hpp"

using namespace weft_test;
using weft::axis;

namespace {
/// Sums over the last two dimensions, so that their terms have an order in which one axis stands around another.
template <class T>
weft::program sums_of_tables() {
  weft::program p;
  weft::expr::tensor<T, 3> const A{&p, p.add_input(weft::short_name("A"), weft::dtype_of<T>, 3)};
  auto const S = weft::compute<"S">(A.extent(0), [=](auto i) { return weft::sum(A.extent(1), A.extent(2), [=](auto j, auto k) { return A(i, j, k); }); });
  p.outputs.push_back(S.id);
  return weft::canonical(p);
}
template <class T, class How>
std::string lost(How const& how) {
  weft::program const p = sums_of_tables<T>();
  weft::schedule s(p, all_extents{64});
  how(s);
  CHECK(s.state == weft::verdict::legal);
  return why_not_bitwise(s);
}
/// Lanes of columns, whose terms the instruction joins.
template <weft::intrinsic const& By>
constexpr auto joined = [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [jo, ji] = s.split(j, 16);
  auto [ko, ki] = s.split(k, By.terms);
  s.reorder(i, jo, ko, ji, ki);
  s.vectorize(ji);
  s.tensorize(ki, By);
};
std::string lost_by(fuzz::drawn const& d, weft::trace const& steps) {
  weft::schedule s(d.what, fuzz::extents_of(d));
  CHECK(weft::replay(s, steps));
  return why_not_bitwise(s);
}
}  // namespace

TEST_CASE("terms stay in order where loops over them are split, fused, unrolled, or stand around other loops") {
  CHECK(lost<float>([](auto&) {}) == "");
  CHECK(lost<float>([](auto& s) { s.split(axis{2}, 8), s.split(axis{1}, 3); }) == "");
  CHECK(lost<float>([](auto& s) { s.reorder(axis{1}, axis{2}, axis{0}); }) == "");
  CHECK(lost<float>([](auto& s) { s.split(s.fuse(axis{1}, axis{2}), 6); }) == "");
  CHECK(lost<float>([](auto& s) { s.unroll(s.split(axis{2}, 4)[1]), s.parallel(axis{0}); }) == "");
}
TEST_CASE("terms are out of order where a loop over them stands outside of one that it stood inside of") {
  char const* const why = "the terms of S are taken in another order";
  CHECK(lost<float>([](auto& s) { s.reorder(axis{2}, axis{1}); }) == why);
  CHECK(lost<float>([](auto& s) {
          auto const [o, i] = s.split(axis{2}, 8);
          s.reorder(i, o);
        }) == why);
  CHECK(lost<double>([](auto& s) { s.reorder(axis{2}, axis{0}, axis{1}); }) == why);
  CHECK(lost<std::int32_t>([](auto& s) { s.reorder(axis{2}, axis{1}); }) == "");
}
TEST_CASE("the order of integers counts where their combiner is not known to be associative, and where places are found") {
  char const* const why = "the terms of S are taken in another order";
  auto const lost_of = [&](weft::program const& p) {
    weft::schedule s(p, all_extents{64});
    s.reorder(axis{2}, axis{1});
    CHECK(s.state == weft::verdict::legal);
    return why_not_bitwise(s);
  };
  auto const of = [](auto const& body) {
    weft::program p;
    weft::expr::tensor<std::int32_t, 3> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::i32, 3)};
    p.outputs.push_back(weft::compute<"S">(A.extent(0), [=](auto i) { return body(A, i); }).id);
    return weft::canonical(p);
  };
  CHECK(lost_of(of([](auto A, auto i) {
          return weft::reduce(0, [](auto a, auto b) { return a * 3 + b; }, A.extent(1), A.extent(2), [=](auto j, auto k) { return A(i, j, k); });
        })) == why);
  CHECK(lost_of(of([](auto A, auto i) { return weft::reduce(0, [](auto a, auto b) { return a ^ b; }, A.extent(1), A.extent(2), [=](auto j, auto k) { return A(i, j, k); }); })) == "");
  weft::program p;
  weft::expr::tensor<std::int32_t, 2> const B{&p, p.add_input(weft::short_name("B"), weft::dtype::i32, 2)};
  p.outputs.push_back(weft::compute<"S">(B.extent(0), [=](auto i) { return weft::argmax(B.extent(1), [=](auto k) { return B(i, k); }); }).id);
  weft::program const places = weft::canonical(p);
  weft::schedule s(places, all_extents{64});
  auto const [o, i] = s.split(axis{1}, 8);
  s.reorder(i, o);
  CHECK(s.state == weft::verdict::legal);
  CHECK(why_not_bitwise(s) == why);
}
TEST_CASE("loops that are fused stand for their terms in the order in which they were inside of each other") {
  char const* const why = "the terms of S are taken in another order";
  CHECK(lost<float>([](auto& s) { s.reorder(axis{2}, axis{1}), s.fuse(axis{2}, axis{1}); }) == why);
  CHECK(lost<float>([](auto& s) {  // one part of the outer axis alone stands around the inner one
          auto const [o, i] = s.split(axis{1}, 3);
          s.reorder(o, axis{2}, i), s.fuse(o, axis{2});
        }) == why);
  CHECK(lost<float>([](auto& s) {
          auto const [o, i] = s.split(axis{1}, 3);
          s.reorder(o, axis{2}, i), s.fuse(axis{2}, i);
        }) == why);
  CHECK(lost<float>([](auto& s) {
          auto const [o, i] = s.split(axis{2}, 8);
          s.reorder(i, o), s.fuse(i, o);
        }) == why);
  CHECK(lost<float>([](auto& s) {
          auto const [o, i] = s.split(axis{2}, 8);
          auto const [fo, fi] = s.split(s.fuse(axis{1}, o), 5);
          s.fuse(fi, i);
        }) == "");
  CHECK(lost<float>([](auto& s) {
          auto const [fo, fi] = s.split(s.fuse(axis{1}, axis{2}), 5);
          s.reorder(fi, fo);
        }) == why);
}
TEST_CASE("im2col keeps bits where it names the terms in the program's order and leaves out what the program does") {
  constexpr auto windows = [](auto A, auto B) {
    return weft::compute<"C">(A.extent(0) - 2, B.extent(2), [=](auto i, auto k) { return weft::sum(A.extent(1), 3, [=](auto c, auto d) { return A(i + d, c) * B(d, c, k); }); });
  };
  constexpr auto in_part = [](auto A, auto B) {
    return weft::compute<"C">(A.extent(0), B.extent(2), [=](auto i, auto k) {
      return weft::sum(B.extent(1), B.extent(0), [=](auto c, auto d) { return weft::where(i + d < A.extent(0), A(i + d, c) * B(d, c, k)); });
    });
  };
  constexpr auto as_written = [](auto& s, auto, auto, auto C) { s.im2col(C); };
  constexpr auto turned = [](auto& s, auto, auto, auto C) {
    auto [i, k, c, d] = C.axes();
    s.im2col(C, d, c);
  };
  weft::trace steps;
  auto const lost_of = [&]<class T>(auto what, auto how, T) {
    fuzz::drawn const d = fuzz::made_case({1}, what, how, steps, fuzz::input<T, 2>{{20, 8}}, fuzz::input<T, 3>{{3, 8, 16}});
    return lost_by(d, steps);
  };
  CHECK(lost_of(windows, as_written, 0.0f) == "");
  CHECK(lost_of(windows, turned, 0.0f) == "terms of C are taken in another order (im2col)");
  CHECK(lost_of(windows, turned, 0) == "");
  CHECK(lost_of(in_part, as_written, 0.0f) == "terms of C that `where` leaves out are added (im2col)");
}
TEST_CASE("parts of a sum are no order of its terms, but those of integers have the same bits") {
  constexpr auto rows = [](auto A) { return weft::compute<"S">(A.extent(0), [=](auto i) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k); }); }); };
  constexpr auto in_parts = [](auto& s, auto, auto S) { s.rfactor(S, S.axes()[1], 8); };
  weft::trace steps;
  fuzz::drawn const floats = fuzz::made_case({1}, rows, in_parts, steps, fuzz::input<float, 2>{{4, 64}});
  CHECK(lost_by(floats, steps) == "the terms of S are taken in parts (rfactor)");
  fuzz::drawn const integers = fuzz::made_case({1}, rows, in_parts, steps, fuzz::input<std::int64_t, 2>{{4, 64}});
  CHECK(lost_by(integers, steps) == "");
}
TEST_CASE("an instruction that joins several terms of floats has an order of its own") {
  constexpr auto packed = [](auto A, auto B) {
    return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
      return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k / 2, j, k % 2); });
    });
  };
  weft::trace steps;
  fuzz::drawn const halves = fuzz::made_case({1}, packed, joined<weft::vdpbf16ps>, steps, fuzz::input<weft::bf16, 2>{{4, 8}}, fuzz::input<weft::bf16, 3>{{4, 16, 2}});
  CHECK(lost_by(halves, steps) == "vdpbf16ps joins several terms of C at once");
  fuzz::drawn const words = fuzz::made_case({1}, packed, joined<weft::pmaddwd>, steps, fuzz::input<std::int16_t, 2>{{4, 8}}, fuzz::input<std::int16_t, 3>{{4, 16, 2}});
  CHECK(lost_by(words, steps) == "");
}
