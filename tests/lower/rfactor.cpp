// Reductions in parts: their loop programs, and what they compute, in each executor.
#include <doctest/doctest.h>

#include "fuzz/found.hpp"
#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/compile.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using weft_test::lowered_program;
using weft_test::fuzz::found;

namespace {
program row_sums() {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  auto const C = compute<"C">(A.extent(0), [=](auto i) { return sum(A.extent(1), [=](auto k) { return A(i, k); }); });
  p.outputs.push_back(C.id);
  return canonical(p);
}
/// Eight lanes of a row at a time.
void in_lanes(schedule& s) {
  auto const C = handle_of<2, 1>(s, 0);
  auto const [i, k] = C.axes();
  auto const [P, v] = s.rfactor(C, k, 8);
  auto const [pi, pv, pu] = P.axes();
  s.compute_at(P, i);
  s.reorder(pi, pu, pv);
  s.vectorize(pv);
}
/// Four threads per row.
void in_chunks(schedule& s) {
  auto const C = handle_of<2, 1>(s, 0);
  auto const [P, v] = s.rfactor(C, C.axes()[1], 4, chunks);
  s.reorder(P.axes()[1], P.axes()[0], P.axes()[2]);
  s.parallel(P.axes()[1]);
}
std::string lowered(std::int64_t columns, void (*how)(schedule&), bool open = false) {
  lowered_program l{row_sums(), {{3, columns}}};
  if (open) l.dims = {{"m", "n"}};
  return ir::print(l([&](schedule& s, auto const&) { how(s); }));
}
}  // namespace

TEST_CASE("rfactor: interleaved parts are lanes; what stands beyond the end is not read") {
  weft_test::check_golden("lower/parts_lanes.ir", lowered(20, in_lanes));
}
TEST_CASE("rfactor: chunks are pieces of a row") {
  weft_test::check_golden("lower/parts_chunks.ir", lowered(22, in_chunks));
}
TEST_CASE("rfactor: accumulators stay in registers across the branch in front of the last terms") {
  lowered_program l{row_sums(), {{3, 20}}};
  ir::function f = l([](schedule& s, auto const&) { in_lanes(s); });
  run_passes(f, {32, true}, {});
  weft_test::check_golden("lower/parts_in_registers.ir", ir::print(f));
}
TEST_CASE("rfactor: with open sizes") { weft_test::check_golden("lower/parts_open.ir", lowered(20, in_lanes, true)); }
TEST_CASE("rfactor: where the factor divides, no condition is left") {
  for (auto const how : {in_lanes, in_chunks}) {
    lowered_program l{row_sums(), {{3, 24}}};
    ir::function f = l([&](schedule& s, auto const&) { how(s); });
    f.body = simplify(l.m, f.body);
    std::string const text = weft_test::body(f);
    CHECK(text.find("select") == std::string::npos);
    CHECK(text.find(" < ") == std::string::npos);
  }
}

// --- what is computed -------------------------------------------------------------------------------------------

namespace {
/// Every way to take the reduction of stage S(i) = reduction over two axes apart, of extents that do and do not divide.
template <class T, class Reduction>
void check_parts(Reduction const& reduction) {
  for (char const* steps : {
           "S: rfactor(S, j, 4)\n", "S: rfactor_chunks(S, j, 4)\n", "S: rfactor(S, k, 3)\n",
           "S: rfactor_chunks(S, j, 2)\nS_rf: rfactor(S_rf, k, 4)\n",
           "S: rfactor(S, j, 8)\nS_rf: compute_at(S, i)\nS_rf: reorder(i, k, l, j)\nS_rf: vectorize(j)\n",
           "S: rfactor_chunks(S, j, 3)\nS_rf: compute_at(S, v)\nS: reorder(v, i)\nS_rf: unroll(l)\n",
       })
    for (auto [m, n] : {std::pair{5, 3}, {8, 4}, {1, 1}, {13, 0}, {16, 2}}) {
      found f;
      auto const a = f.input<T, 2>({m, n});
      auto const s = compute<"S">(3, [=](auto i) { return reduction(a, i); });
      if constexpr (requires { s.id; }) {
        f.check(s, steps, 4, m == 5 ? 1 : 0);
      } else {
        f.p.outputs.push_back(weft::get<0>(s).id);
        f.check(weft::get<1>(s), steps, 4, m == 5 ? 1 : 0);
      }
    }
}
}  // namespace

TEST_CASE("rfactor keeps the bits of integers") {
  check_parts<std::int32_t>([](auto a, auto i) {
    return sum(a.extent(0), a.extent(1), [=](auto k, auto l) { return a(k, l) * cast<int>(i); });
  });
  check_parts<std::uint8_t>(
      [](auto a, auto) { return prod(a.extent(0), a.extent(1), [=](auto k, auto l) { return a(k, l); }); });
  check_parts<std::int64_t>([](auto a, auto i) {
    return weft::min(a.extent(0), a.extent(1), [=](auto k, auto l) { return where(a(k, l) > cast<int>(i), a(k, l)); });
  });
  check_parts<bool>([](auto a, auto) { return all(a.extent(0), a.extent(1), [=](auto k, auto l) { return a(k, l); }); });
}
TEST_CASE("rfactor counts an identity that adds something once") {
  check_parts<std::int32_t>([](auto a, auto) {
    return reduce(7, [](auto x, auto y) { return x + y; }, a.extent(0), a.extent(1), [=](auto k, auto l) { return a(k, l); });
  });
  check_parts<std::int32_t>([](auto a, auto) {
    return reduce(3, [](auto x, auto y) { return x * y; }, a.extent(0), a.extent(1), [=](auto k, auto l) { return a(k, l); });
  });
}
TEST_CASE("rfactor keeps the first of equal elements, and NaN, where positions are wanted") {
  check_parts<float>([](auto a, auto i) {
    return argmax(a.extent(0), a.extent(1), [=](auto k, auto l) { return weft::min(a(k, l), cast<float>(i)); });
  });
  check_parts<float>(
      [](auto a, auto) { return argmin(a.extent(0), a.extent(1), [=](auto k, auto l) { return a(k, l); }); });
  check_parts<f16>([](auto a, auto) {
    return argmax(a.extent(0), a.extent(1), [=](auto k, auto l) { return where(k < 4, a(k, l)); });
  });
  check_parts<std::int8_t>([](auto a, auto i) {
    return argmin(a.extent(0), a.extent(1), [=](auto k, auto l) { return a(k, l) / 16 * cast<std::int8_t>(i); });
  });
}
TEST_CASE("rfactor joins parts by the combiner that is said to do so, as often as parts are made") {
  // Complex numbers, multiplied modulo 2^32.
  check_parts<std::int32_t>([](auto a, auto i) {
    auto const product = any_order([](auto x, auto y) {
      return values(get<0>(x) * get<0>(y) - get<1>(x) * get<1>(y), get<0>(x) * get<1>(y) + get<1>(x) * get<0>(y));
    });
    return reduce(values(1, 0), product, a.extent(0), a.extent(1),
                  [=](auto k, auto l) { return where(a(k, l) != 3, values(a(k, l), a(l, 0) + cast<int>(i))); });
  });
  // Sums that stay at the upper end, of numbers that are not negative.
  check_parts<std::uint8_t>([](auto a, auto) {
    auto const saturating = any_order([](auto x, auto y) { return weft::min(x + y, 99); });
    return reduce(0, saturating, a.extent(0), a.extent(1), [=](auto k, auto l) { return cast<int>(a(k, l)); });
  });
}
TEST_CASE("rfactor: of a window, of what cache_write made, and with other layouts, tails and fused loops of the parts") {
  for (char const* steps :
       {"S: compute_at(T, i)\nS: store_root()\nS: fold_storage(i, 4)\nS: rfactor(S, j, 4)\n",
        "S: compute_at(T, i)\nS: store_root()\nS: fold_storage(i, 4)\nS: rfactor(S, j, 4)\nS_rf: compute_at(S, i)\n",
        "S: rfactor(S, j, 4)\nS: transform_layout(0, 4, 0, 0, 1, 4, 0)\nS_rf: transform_layout(1, 2, 0, 0, 1, 0, 1, 1, 2, 0)\n",
        "S: cache_write()\nS_acc: rfactor(S_acc, j, 4)\nS_acc: compute_at(S, i)\nS_acc_rf: compute_at(S_acc, i)\n"
        "S_acc_rf: reorder(k, j)\nS_acc_rf: vectorize(j)\n",
        "S: rfactor_chunks(S, j, 4)\nS: cache_write()\nS_acc: compute_at(S, i)\nS_rf: cache_write()\n",
        "S: rfactor(S, j, 8)\nS_rf: fuse(i, j) -> ij\nS_rf: vectorize(ij)\n",
        "S: rfactor(S, j, 6)\nS_rf: split(j, 4, partition) -> jo, ji\nS_rf: reorder(k, ji)\nS_rf: vectorize(ji)\n",
        "S: rfactor(S, j, 6)\nS_rf: split(j, 4, shift_inwards) -> jo, ji\nS_rf: reorder(k, ji)\nS_rf: unroll(ji)\n"}) {
    found f;
    auto const a = f.input<std::int32_t, 2>({14, 21});
    auto const s = compute<"S">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto k) { return a(i, k); }); });
    f.check(compute<"T">(a.extent(0) - 2, [=](auto i) { return s(i) + s(i + 2); }), steps, 4);
  }
}
TEST_CASE("rfactor takes all results of a reduction apart") {
  found f;
  auto const a = f.input<std::int32_t, 2>({3, 21});
  auto const s = compute<"S", "T">(3, [=](auto i) {
    return reduce(values(5, 1), [](auto x, auto y) { return values(get<0>(x) + get<0>(y), get<1>(y) * get<1>(x)); },
                  a.extent(1), [=](auto k) { return values(a(i, k), a(i, k) + 1); });
  });
  f.p.outputs.push_back(get<0>(s).id);
  f.check(get<1>(s), "S: rfactor(S, j, 8)\nS_rf: vectorize(j)\n");
}
