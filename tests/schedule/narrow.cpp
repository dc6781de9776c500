// Reductions whose results hang on different axes: what is left out of memory and loops, and that nothing else changes.
#include "weft/schedule/narrow.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "fuzz/found.hpp"
#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/expr/compute.hpp"
#include "weft/ir/parse.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using weft_test::lowered_program;
using weft_test::fuzz::found;

namespace {
/// What a key weighs whose score is so far below the largest one.
constexpr auto by_exp = [](auto const& below) { return exp(below); };
constexpr auto by_fraction = [](auto const& below) { return 1.0f / (1.0f - below); };  // short, for loops that are looked at

/// Stages s(i, k), then m, l and o of (i, j), reduced over k, then y(i, j).
template <class Weight>
expr::tensor<float, 2> attention(expr::tensor<float, 2> const& Q, expr::tensor<float, 2> const& K,
                                 expr::tensor<float, 2> const& V, Weight const& weight) {
  auto const s = compute<"s">(Q.extent(0), K.extent(0), [=](auto i, auto k) {
    return sum(Q.extent(1), [=](auto e) { return Q(i, e) * K(k, e); });
  });
  auto const step = [=](auto const& state, auto const& term) {
    auto const high = max(get<0>(state), get<0>(term));
    auto const keeps = weight(get<0>(state) - high), adds = weight(get<0>(term) - high);
    return values(high, get<1>(state) * keeps + adds, get<2>(state) * keeps + adds * get<1>(term));
  };
  auto const state = compute<"m", "l", "o">(Q.extent(0), V.extent(1), [=](auto i, auto j) {
    return reduce(values(-1e30f, 0.0f, 0.0f), step, K.extent(0), [=](auto k) { return values(s(i, k), V(k, j)); });
  });
  auto const l = get<1>(state), o = get<2>(state);
  return compute<"y">(Q.extent(0), V.extent(1), [=](auto i, auto j) { return o(i, j) / l(i, j); });
}
program attention_program() {
  program p;
  auto const input = [&](char const* name) {
    return expr::tensor<float, 2>{&p, p.add_input(short_name(name), dtype::f32, 2)};
  };
  auto const Q = input("Q"), K = input("K"), V = input("V");
  p.outputs.push_back(attention(Q, K, V, by_fraction).id);
  return canonical(p);
}
/// Queries of 4 numbers and values of so many, under some steps, in all executors.
template <class Weight>
void check_attention(std::int64_t queries, std::int64_t keys, std::int64_t width, std::string const& steps, Weight const& weight,
                     std::uint64_t seeds = 4) {
  INFO(queries << " queries, " << keys << " keys, " << width << " values");
  found f;
  auto const Q = f.input<float, 2>({queries, 4}), K = f.input<float, 2>({keys, 4}), V = f.input<float, 2>({keys, width});
  f.check(attention(Q, K, V, weight), steps, seeds, seeds);
}
narrow_results after(program const& p, std::string const& steps, sequence<sequence<std::int64_t>> const& shapes) {
  schedule s(p, [&](int t, int d) { return shapes[static_cast<std::size_t>(t)][static_cast<std::size_t>(d)]; });
  CHECK(replay(s, parse_trace(steps, s)));
  return narrow_results_of(s);
}
/// All keys of one query, with a score at a time.
constexpr char const* one_pass =
    "m: reorder(i, k, j)\n"
    "m: vectorize(j)\n"
    "s: compute_at(m, k)\n"
    "m: compute_at(y, i)\n"
    "y: vectorize(j)\n";
}  // namespace

TEST_CASE("attention: in one pass, with one score at a time, and state in registers") {
  lowered_program l{attention_program(), {{3, 4}, {7, 4}, {7, 16}}};
  ir::function f = l([](schedule& s, auto const&) { CHECK(replay(s, parse_trace(one_pass, s))); });
  std::string text = ir::print(f);
  ir::arena again;
  CHECK(ir::print(ir::parse(again, text)) == text);
  run_passes(f, {32, true}, {});
  CHECK(ir::verify(f) == "");
  weft_test::check_golden("lower/state_of_two_shapes.ir", text + ir::print(f));
}
TEST_CASE("attention: in one pass the executors agree") {
  check_attention(3, 7, 16, one_pass, by_exp, 8);
}

TEST_CASE("attention: in one pass nothing is as long as the keys") {
  lowered_program l{attention_program(), {{3, 4}, {1000, 4}, {1000, 16}}};
  ir::function const f = l([](schedule& s, auto const&) { CHECK(replay(s, parse_trace(one_pass, s))); });
  for (ir::buffer const* b : f.buffers) {
    if (b->argument >= 0) continue;
    INFO(b->name);
    std::int64_t elements = 1;
    for (ir::expr e : b->shape) elements *= e->value;
    CHECK(elements == (b->name == "o" ? 16 : 1));
  }
}
TEST_CASE("attention: in any order of loops, with tails, and where sizes stay open, the executors agree") {
  constexpr char const* orders[] = {
      "",
      "m: reorder(i, k, j)\n",
      "m: reorder(k, i, j)\n",
      "m: reorder(k, j, i)\n",
      "m: reorder(j, k, i)\ns: compute_at(m, k)\n",
      "m: split(j, 4) -> jo, ji\nm: reorder(i, jo, k, ji)\nm: vectorize(ji)\n",
      "m: split(j, 4) -> jo, ji\nm: reorder(i, k, jo, ji)\nm: unroll(jo)\nm: vectorize(ji)\ns: compute_at(m, k)\n",
      "m: split(j, 4, mask) -> jo, ji\nm: reorder(i, k, jo, ji)\nm: vectorize(ji)\n",
      "m: split(j, 4, partition) -> jo, ji\nm: reorder(i, k, jo, ji)\nm: vectorize(ji)\n",
      "m: split(j, 4, shift_inwards) -> jo, ji\nm: reorder(i, k, jo, ji)\nm: vectorize(ji)\n",
      "m: split(j, 4, round_up) -> jo, ji\nm: reorder(i, k, jo, ji)\nm: vectorize(ji)\n",
      "m: split(k, 4) -> ko, ki\nm: reorder(i, ko, ki, j)\ns: compute_at(m, ko)\nm: vectorize(j)\nm: parallel(i)\n",
      "m: split(k, 2) -> ko, ki\nm: reorder(i, ko, ki, j)\nm: unroll(ki)\nm: vectorize(j)\n",
      "m: split(i, 2) -> io, ii\nm: reorder(io, k, ii, j)\nm: unroll(ii)\nm: vectorize(j)\n",
      "m: split(i, 2) -> io, ii\nm: reorder(io, ii, k, j)\nm: unroll(ii)\nm: vectorize(j)\n",
      "m: split(i, 2, mask) -> io, ii\nm: reorder(io, k, j, ii)\nm: vectorize(ii)\n",
      "m: split(i, 2) -> io, ii\nm: reorder(io, ii, k, j)\nm: vectorize(ii)\n",
      "m: split(k, 3) -> ko, ki\nm: reorder(i, ko, j, ki)\n",
      "m: reorder(j, i, k)\nm: parallel(j)\n",
      "m: vectorize(j)\n",
      "m: fuse(i, j) -> ij\n",
      "m: reorder(k, i, j)\nm: fuse(i, j) -> ij\n",
      "m: reorder(i, k, j)\nm: parallel(j)\n",
      "m: reorder(i, k, j)\nm: decompose_reduction(m, i)\n",
      "m: reorder(j, i, k)\nm: decompose_reduction(m, j)\n",
      "m: reorder(i, k, j)\nm: compute_at(y, j)\n",
      "m: reorder(i, k, j)\nm: compute_at(y, i)\nm: store_root()\n",
      "m: transform_layout(1, 1, 0, 0, 1, 0, 0)\nm: reorder(j, k, i)\n",
      "y: reorder(j, i)\nm: reorder(i, k, j)\nm: compute_at(y, j)\n",
  };
  int n = 0;
  for (char const* steps : orders) {
    check_attention(3, 7, 10, steps, by_fraction);
    if (++n % 3 == 0) check_attention(5, 1, 3, steps, by_exp, 2);
  }
}
TEST_CASE("attention: of no keys, no queries and no values") {
  for (auto [queries, keys, width] : {std::array<std::int64_t, 3>{3, 0, 10}, {0, 7, 10}, {3, 7, 0}})
    for (char const* steps : {"", one_pass, "m: reorder(k, j, i)\nm: vectorize(j)\n", "m: reorder(i, k, j)\nm: decompose_reduction(m, i)\n"})
      check_attention(queries, keys, width, steps, by_fraction);
}
TEST_CASE("attention: drawn schedules") {
  found f;
  auto const Q = f.input<float, 2>({3, 4}), K = f.input<float, 2>({6, 4}), V = f.input<float, 2>({6, 9});
  f.check_drawn(attention(Q, K, V, by_fraction), verb::reorder, 100, 25);
}
TEST_CASE("a result lacks an axis that it does not depend on, by itself or by what it reads") {
  program const p = attention_program();
  sequence<sequence<std::int64_t>> const shapes{{3, 4}, {7, 4}, {7, 16}};
  int const m = p.stages[1].tensor;
  auto const lacks = [&](std::string const& steps) {
    narrow_results const n = after(p, steps, shapes);
    sequence<std::uint32_t> all;
    for (int r = 0; r < 3; ++r) all.push_back(n.lacks[static_cast<std::size_t>(m + r)]);
    CHECK(all[0] == all[1]);
    CHECK(all[2] == 0);
    return all[0] == 2;
  };
  auto const starts = [&](std::string const& steps) { return after(p, steps, shapes).starts[1] >= 0; };
  CHECK(lacks(""));
  CHECK(!starts(""));
  CHECK(lacks("m: reorder(i, k, j)\n"));
  CHECK(starts("m: reorder(i, k, j)\n"));
  CHECK(lacks("m: split(j, 4) -> jo, ji\nm: reorder(jo, i, k, ji)\n"));
  CHECK(lacks("m: reorder(i, k, j)\nm: parallel(j)\n"));
  // Not where iterations that run side by side would share it, where it would have to be as it was before a block of terms,
  // where it would not begin anew, and where another stage is computed.
  CHECK(!lacks("m: parallel(j)\n"));
  CHECK(!lacks("m: vectorize(j)\n"));
  CHECK(!lacks("m: split(k, 3) -> ko, ki\nm: reorder(i, ko, j, ki)\n"));
  CHECK(!lacks("m: reorder(j, i, k)\nm: decompose_reduction(m, j)\n"));
  CHECK(!lacks("m: reorder(i, k, j)\ns: compute_at(m, j)\n"));
  CHECK(!lacks("m: reorder(k, i, j)\nm: fuse(i, j) -> ij\n"));
}
TEST_CASE("an output has all its dimensions, and so has what it is computed from") {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  auto const step = [](auto const& state, auto const& term) {
    return values(get<0>(state) + get<0>(term), get<1>(state) + get<0>(state) * get<1>(term));
  };
  auto const both = compute<"n", "w">(A.extent(0), A.extent(1), [=](auto i, auto j) {
    return reduce(values(0.0f, 0.0f), step, A.extent(1), [=](auto k) { return values(A(i, k), A(i, k) * A(i, j)); });
  });
  p.outputs.push_back(get<1>(both).id);
  CHECK(narrow_results_of(schedule(canonical(p), [](int, int) { return std::int64_t(4); })).lacks[1] == 2);
  p.outputs.push_back(get<0>(both).id);
  CHECK(narrow_results_of(schedule(canonical(p), [](int, int) { return std::int64_t(4); })).lacks[1] == 0);
}
TEST_CASE("results that lack different axes are updated one group after the other") {
  // n hangs on no axis, u on i, v on j, w on both: w reads u and v as they were, and those read n.
  for (char const* steps : {"", "n: reorder(k, i, j)\n", "n: reorder(k, j, i)\nn: vectorize(i)\n", "n: reorder(i, k, j)\n",
                            "n: reorder(k, i, j)\nn: vectorize(j)\nn: unroll(i)\n", "n: reorder(j, k, i)\n"}) {
    found f;
    auto const A = f.input<float, 2>({4, 5}), B = f.input<float, 2>({6, 5});
    auto const all = compute<"n", "u", "v", "w">(A.extent(0), B.extent(0), [=](auto i, auto j) {
      return reduce(
          values(1.0f, 0.0f, 0.0f, 0.0f),
          [](auto const& s, auto const& t) {
            return values(get<0>(s) + 1.0f, get<1>(s) + get<0>(s) * get<0>(t), get<2>(s) * 0.5f + get<0>(s) * get<1>(t),
                          get<3>(s) + get<1>(s) * get<2>(s) - get<0>(s));
          },
          A.extent(1), [=](auto k) { return values(A(i, k), B(j, k)); });
    });
    auto const n = get<0>(all), u = get<1>(all), v = get<2>(all), w = get<3>(all);
    f.check(compute<"y">(A.extent(0), B.extent(0),
                         [=](auto i, auto j) { return n(i, j) + u(i, j) * 2.0f + v(i, j) * 3.0f + w(i, j); }),
            steps, 4, 4);
  }
}
TEST_CASE("a reduction in parts: parts of state have the shapes of that state") {
  // The sum of what has the largest score.
  auto const merge = any_order([](auto const& a, auto const& b) {
    auto const high = max(get<0>(a), get<0>(b));
    return values(high, select(get<0>(a) == high, get<1>(a), 0) + select(get<0>(b) == high, get<1>(b), 0));
  });
  for (char const* steps :
       {"m: rfactor(m, k, 4)\n", "m: rfactor(m, k, 2)\nm_rf: reorder(k, i, l, j)\nm_rf: parallel(k)\nm: reorder(i, v, j)\n",
        "m: rfactor_chunks(m, k, 4)\nm_rf: reorder(i, l, k, j)\nm_rf: vectorize(k)\nm_rf: compute_at(m, i)\nm: reorder(i, v, j)\n",
        "m: rfactor(m, k, 4)\nm_rf: rfactor(m_rf, l, 2)\nm: reorder(i, v, j)\n"}) {
    found f;
    auto const S = f.input<std::int32_t, 2>({3, 14}), V = f.input<std::int32_t, 2>({14, 8});
    auto const state = compute<"m", "o">(S.extent(0), V.extent(1), [=](auto i, auto j) {
      return reduce(values(std::numeric_limits<std::int32_t>::min(), 0), merge, S.extent(1),
                    [=](auto k) { return values(S(i, k), V(k, j)); });
    });
    auto const m = get<0>(state), o = get<1>(state);
    f.check(compute<"y">(S.extent(0), V.extent(1), [=](auto i, auto j) { return o(i, j) - m(i, j); }), steps, 4, 4);
  }
  program p;
  expr::tensor<std::int32_t, 2> const S{&p, p.add_input(short_name("S"), dtype::i32, 2)};
  auto const state = compute<"m", "o">(S.extent(0), S.extent(0), [=](auto i, auto j) {
    return reduce(values(std::numeric_limits<std::int32_t>::min(), 0), merge, S.extent(1),
                  [=](auto k) { return values(S(i, k), S(j, k)); });
  });
  p.outputs.push_back(get<1>(state).id);
  program const whole = canonical(p);
  schedule s(whole, [](int, int) { return std::int64_t(8); });
  CHECK(replay(s, parse_trace("m: rfactor(m, k, 4)\n", s)));
  narrow_results const n = narrow_results_of(s);
  CHECK(n.lacks[static_cast<std::size_t>(s.computation().stages[1].tensor)] == 2);  // m_rf has i and the parts
  CHECK(n.lacks[static_cast<std::size_t>(s.computation().stages[0].tensor)] == 2);
}
namespace {
/// u(i, j), the greatest of a row of A, and v(i, j), the sum of a row of B: each hangs on one axis.
several<expr::tensor<std::int32_t, 2>, expr::tensor<std::int32_t, 2>> two_sums(found& f, std::int64_t rows, std::int64_t columns) {
  auto const A = f.input<std::int32_t, 2>({rows, 4}), B = f.input<std::int32_t, 2>({columns, 4});
  auto const join = [](auto const& x, auto const& y) { return values(get<0>(x) + get<0>(y), max(get<1>(x), get<1>(y))); };
  return compute<"u", "v">(A.extent(0), B.extent(0), [=](auto i, auto j) {
    return reduce(values(0, std::numeric_limits<std::int32_t>::min()), join, 4, [=](auto k) { return values(A(i, k), B(j, k)); });
  });
}
}  // namespace
TEST_CASE("a part without elements has none along an axis that a result lacks, and nothing of it is read") {
  for (char const* steps : {"u: cache_write()\nu: split(j, 4) -> jo, ji\nu: split(ji, 2) -> jio, jii\nu_acc: compute_at(u, jio)\nu: vectorize(jii)\n",
                            "u: cache_write()\nu: split(i, 4) -> io, ii\nu: split(ii, 2) -> iio, iii\nu: reorder(j, io, iio, iii)\n"
                            "u_acc: compute_at(u, iio)\nu: vectorize(iii)\n"})
    for (std::int64_t n : {1, 3, 5, 8}) {
      found f;
      auto const both = two_sums(f, n, n);
      f.p.outputs.push_back(get<0>(both).id);
      f.check(get<1>(both), steps, 8, 2);
    }
}
TEST_CASE("results of a stage that is computed with another have all dimensions: its loop may run in parallel") {
  for (char const* steps : {"u: cache_write()\nu_acc: compute_with(w, i)\nw: parallel(i)\n", "u: cache_write()\nw: parallel(i)\nu_acc: compute_with(w, i)\n"}) {
    found f;
    auto const C = f.input<std::int32_t, 2>({6, 7});
    auto const both = two_sums(f, 6, 7);
    auto const w = compute<"w">(C.extent(0), C.extent(1), [=](auto i, auto j) { return C(i, j) - cast<int>(j); });
    f.p.outputs.push_back(get<0>(both).id);
    f.p.outputs.push_back(w.id);
    f.check(get<1>(both), steps, 8, 2);
  }
}
