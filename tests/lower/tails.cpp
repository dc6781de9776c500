// What becomes of the last part of a split that does not divide.
#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using weft_test::body, weft_test::lowered_program, weft_test::map_program;

namespace {
using loops = weft::sequence<std::int32_t> const&;
program doubled() {
  return map_program([](auto x, auto i) { return x(i) + x(i); });
}
/// Simplified; `n` = 0: a size that is open.
std::string split_by(std::int64_t n, std::int64_t factor, tail at_end, void (*mark)(schedule&, axis, axis)) {
  lowered_program l{doubled(), {{n > 0 ? n : 13}}};
  if (n == 0) l.dims = {{"n"}};
  ir::function f = l([&](schedule& s, loops o) {
    auto const parts = s.split(axis{o[0]}, factor, at_end);
    mark(s, parts[0], parts[1]);
  });
  f.body = simplify(l.m, f.body);
  return body(f);
}
constexpr auto serial = [](schedule&, axis, axis) {};
constexpr auto unrolled = [](schedule& s, axis, axis i) { s.unroll(i); };
constexpr auto vectorized = [](schedule& s, axis, axis i) { s.vectorize(i); };
constexpr auto parallel = [](schedule& s, axis o, axis i) { s.parallel(o), s.vectorize(i); };
constexpr auto both = [](schedule& s, axis o, axis i) { s.unroll(o), s.vectorize(i); };
constexpr auto inside_out = [](schedule& s, axis o, axis i) { s.reorder(i, o); };
struct way {
  char const* name;
  void (*mark)(schedule&, axis, axis);
};
constexpr way ways[] = {{"serial", serial}, {"unrolled", unrolled}, {"vectorized", vectorized}, {"parallel outside", parallel},
                        {"unrolled outside", both}, {"inner part outside", inside_out}};
std::string in_all_ways(std::int64_t n, tail at_end) {
  std::string text;
  for (way const& w : ways)
    if (n > 0 || w.mark != +both) (text += std::string("--- ") + w.name + "\n") += split_by(n, 8, at_end, w.mark);
  return text;
}
int count(std::string const& text, std::string const& word) {
  int n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}
}  // namespace

TEST_CASE("where the factor divides, no tail leaves any code") {
  for (way const& w : ways) {
    std::string const plain = split_by(32, 8, tail::guard, w.mark);
    CHECK(plain.find("if ") == std::string::npos);
    for (tail t : {tail::mask, tail::partition, tail::shift_inwards}) CHECK(split_by(32, 8, t, w.mark) == plain);
  }
}
TEST_CASE("mask: one copy, under a mask") {
  weft_test::check_golden("lower/tail_mask.ir", in_all_ways(13, tail::mask) + in_all_ways(0, tail::mask));
  for (std::int64_t n : {13, 0}) {
    std::string const text = in_all_ways(n, tail::mask);
    CHECK(count(text, "if ") == 0);
    CHECK(count(text, "min(") == 0);
    CHECK(count(text, "B[") == (n > 0 ? 6 : 5));
  }
}
TEST_CASE("partition: full parts and a last one, no masks") {
  weft_test::check_golden("lower/tail_partition.ir", in_all_ways(13, tail::partition) + in_all_ways(0, tail::partition));
  for (std::int64_t n : {13, 0}) CHECK(count(in_all_ways(n, tail::partition), "where") == 0);
}
TEST_CASE("shift_inwards: full parts alone, the last one earlier; a size below the factor is guarded") {
  weft_test::check_golden("lower/tail_shift.ir", in_all_ways(13, tail::shift_inwards) + in_all_ways(0, tail::shift_inwards) +
                                                     in_all_ways(5, tail::shift_inwards));
  for (way const& w : ways)
    CHECK(split_by(5, 8, tail::shift_inwards, w.mark) == split_by(5, 8, tail::guard, w.mark));
}
TEST_CASE("an index that the guards of a split keep inside needs no other condition") {
  program const p = map_program([](auto x, auto i) { return select(i > 3, x(i), 5.0f); });
  auto const text = [&](tail at_end, void (*mark)(schedule&, axis)) {
    lowered_program l{p, {{13}}};
    return body(l([&](schedule& s, loops o) { mark(s, s.split(axis{o[0]}, 8, at_end)[1]); }));
  };
  for (tail const at_end : {tail::guard, tail::partition})
    CHECK(count(text(at_end, [](schedule& s, axis i) { s.unroll(i); }), "where 3 <") == 0);
  std::string const masked = text(tail::mask, [](schedule& s, axis i) { s.vectorize(i); });
  CHECK(count(masked, "where 3 <") == 0);
  CHECK(count(masked, "A[io * 8 + ii where io * 8 + ii < 13]") == 1);
  // Which element it is when the other one is asked for, they do not say.
  lowered_program beside{map_program([](auto x, auto i) { return select(i < 12, x(i + 1), 5.0f); }), {{13}}};
  CHECK(count(body(beside([](schedule& s, loops o) { s.unroll(s.split(axis{o[0]}, 8)[1]); })), "where") > 0);
}
TEST_CASE("what would show that an element is computed twice is guarded instead") {
  // Where one thread writes what another has written.
  CHECK(split_by(13, 8, tail::shift_inwards, parallel) == split_by(13, 8, tail::guard, parallel));
  auto const product = [](tail t, void (*order)(schedule&, axis, axis, axis)) {
    lowered_program l{weft_test::matmul(), {{13, 5}, {5, 7}}};
    return body(l([&](schedule& s, loops o) {
      auto const [io, ii] = s.split(axis{o[0]}, 8, t);
      order(s, io, ii, axis{o[2]});
    }));
  };
  // A sum that is added to in both parts by turns.
  auto const around = [](schedule& s, axis io, axis ii, axis k) { s.reorder(k, io, ii); };
  auto const jammed = [](schedule& s, axis io, axis ii, axis k) { s.reorder(io, k, ii), s.unroll(io); };
  auto const tile = [](schedule& s, axis io, axis ii, axis k) { s.reorder(io, k, ii), s.unroll(ii); };
  CHECK(product(tail::shift_inwards, around) == product(tail::guard, around));
  CHECK(product(tail::shift_inwards, jammed) == product(tail::guard, jammed));
  std::string const text = product(tail::shift_inwards, tile);
  CHECK(text.find("C[min(io * 8, 5) + ii, j] = self") != std::string::npos);
  CHECK(count(text, "if ") + count(text, "where") == 0);
  // In place: what is read is what another element has become.
  lowered_program l{doubled(), {{13}}};
  call_layout layout = l.layout();
  layout.arguments[1].alias_class = layout.arguments[0].alias_class;
  schedule s(l.p, [](int, int) { return 13; });
  s.split(axis{s.order[0][0]}, 8, tail::shift_inwards);
  CHECK(body(lower(l.m, l.p, s, layout, "k")).find("min(io * 8, 5)") == std::string::npos);
}
TEST_CASE("a reduction's last part: by a mask, and by full parts and a last one") {
  auto const sums = [](tail t, bool unroll) {
    lowered_program l{weft_test::matmul(), {{2, 13}, {13, 3}}};
    ir::function f = l([&](schedule& s, loops o) {
      auto const [ko, ki] = s.split(axis{o[2]}, 8, t);
      if (unroll) s.unroll(ki);
    });
    f.body = simplify(l.m, f.body);
    return body(f);
  };
  std::string text;
  for (tail t : {tail::mask, tail::partition})
    for (bool unroll : {false, true}) text += sums(t, unroll);
  weft_test::check_golden("lower/tail_reduced.ir", text);
}
TEST_CASE("round_up: full parts alone, in memory for all of them; what is read beyond the end must be there") {
  // T reads A beyond its end, where that is not clamped; U reads T.
  auto const two = [](bool clamped) {
    program p;
    expr::tensor<float, 1> const A{&p, p.add_input(short_name("A"), dtype::f32, 1)};
    auto const n = A.extent(0);
    auto const T = clamped ? compute<"T">(n, [=](auto i) { return A(min(i, n - 1)) * 2.0f; })
                           : compute<"T">(n, [=](auto i) { return A(i) * 2.0f; });
    auto const U = compute<"U">(n, [=](auto i) { return T(i) + T(n - 1 - i); });
    p.outputs.push_back(U.id);
    return canonical(p);
  };
  auto const rounded = [](schedule& s, loops o) { s.vectorize(s.split(axis{o[0]}, 8, tail::round_up)[1]); };
  std::string text;
  for (bool open : {false, true}) {
    lowered_program l{two(true), {{13}}};
    if (open) l.dims = {{"n"}};
    ir::function f = l(rounded);
    f.body = simplify(l.m, f.body);
    text += ir::print(f);
  }
  weft_test::check_golden("lower/tail_round_up.ir", text);
  auto const fault = [&](bool clamped, std::int64_t n, bool open, bool guest) {
    lowered_program l{two(clamped), {{n}}};
    if (open) l.dims = {{"n"}};
    schedule s(l.p, [&](int t, int d) { return l.given(t, d); });
    rounded(s, s.order[0]);
    if (guest) s.compute_at(handle_of<1>(s, 0), handle_of<1>(s, 1).all[0]);
    CHECK(s.state != verdict::illegal);
    return check_rounded(l.m, s.computation(), s, l.layout());
  };
  CHECK(fault(true, 13, false, false) == "");
  CHECK(fault(true, 13, true, false) == "");
  CHECK(fault(false, 16, false, false) == "");
  CHECK(fault(false, 5, false, false) == "");
  CHECK(fault(false, 13, false, true) == "");
  CHECK(fault(false, 13, false, false) ==
        "A: index 0 runs from 0 to 15, but A has 13 there; clamp the index, guard the access by select, or give a "
        "larger tensor");
  CHECK(fault(false, 13, true, false) != "");
}
