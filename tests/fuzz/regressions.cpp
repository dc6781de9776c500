// What random programs once found, each made small and named by what was wrong.
#include "fuzz/found.hpp"
#include "weft/compile.hpp"

namespace weft_test::fuzz {
namespace {

using weft::compute;

TEST_CASE("a loop that runs no time wrote back an element beyond the end, from a register that it never reached") {
  found f;
  auto const a = f.input<std::int32_t, 2>({29, 2});
  auto const s = compute<"S">(a.extent(0), [=](auto i) {
    return weft::max(a.extent(1), [=](auto k) { return a(i, k); });
  });
  f.check(s, "S: split(i, 3) -> io, ii\nS: split(ii, 1) -> iio, iii\n");
}
TEST_CASE("a maximum of i64 was folded to its identity: its limits were taken for what is not known") {
  found f;
  auto const a = f.input<std::int64_t, 1>({16});
  auto const s = compute<"S">(a.extent(0), [=](auto i) {
    return weft::max(4, [=](auto k) { return a(i) + weft::cast<std::int64_t>(k) + 1; });
  });
  f.check(s, "S: unroll(j)\n");
}
TEST_CASE("comparisons of i64 data were decided as if sums did not wrap") {
  found f;
  auto const a = f.input<std::int64_t, 1>({64});
  auto const s = compute<"S">(a.extent(0), [=](auto i) {
    return weft::select(a(i) < a(i) + 5, weft::min(a(i), a(i) + 1), weft::max(a(i), a(i) - 1));
  });
  f.check(s, "S: split(i, 16) -> io, ii\nS: vectorize(ii)\n");
}
TEST_CASE("one element had two registers when the tail of an unrolled reduction stood under several masks") {
  found f;
  auto const a = f.input<std::int32_t, 1>({3});
  auto const b = f.input<std::int32_t, 2>({3, 5});
  auto const s = compute<"S">(a.extent(0), [=](auto i) {
    return weft::sum(b.extent(0), b.extent(1), [=](auto j, auto k) { return a(i) * b(j, k); });
  });
  f.check(s, "S: split(j, 8) -> jo, ji\nS: split(ji, 6) -> jio, jii\nS: reorder(jio, k, jii)\nS: unroll(jii)\n");
}
TEST_CASE("a load was moved in front of a loop that stores to it, because it had stood out there before") {
  found f;
  auto const a = f.input<std::int64_t, 1>({29});
  // The copies of ii that need no guard leave loads of S outside of the loops; the last ones add inside a branch.
  auto const s = compute<"S">(1, [=](auto) { return weft::sum(a.extent(0), [=](auto k) { return a(k); }); });
  f.check(s, "S: split(j, 8) -> jo, ji\nS: split(jo, 1) -> joo, joi\nS: unroll(ji)\nS: reorder(ji, joo, joi)\n");
}
TEST_CASE("LLVM 22 stored one lane of a truncated vector as wide as it was before, over what stands behind") {
  found f;
  auto const a = f.input<std::int32_t, 1>({17});
  auto const b = f.input<std::int64_t, 1>({9});
  auto const s = compute<"S">(a.extent(0), [=](auto i) { return weft::cast<std::uint8_t>(a(i)); });
  f.p.outputs.push_back(s.id);
  auto const t = compute<"T">(b.extent(0), [=](auto i) { return weft::cast<std::int32_t>(b(i)); });
  f.check(t, "S: vectorize(i)\nT: vectorize(i)\n");
}
TEST_CASE("accesses of a stage without elements were refused") {
  found f;
  auto const a = f.input<float, 1>({4});
  auto const empty = f.input<float, 1>({0});
  auto const none = compute<"N">(empty.extent(0), [=](auto i) { return a(i + 9); });
  auto const s = compute<"S">(a.extent(0), [=](auto i) {
    return a(i) + weft::select(i < empty.extent(0), none(i), 1.0f);
  });
  f.check(s, "");
}
TEST_CASE("a guarded access was refused where the tensor is too small for the guard ever to hold") {
  found f;
  auto const a = f.input<float, 2>({1, 4});
  auto const s = compute<"S">(a.extent(0), a.extent(1), [=](auto i, auto j) {
    return weft::select(i * 2 - 2 >= 0 && i * 2 - 2 < a.extent(0), a(i * 2 - 2, j * 5), 0.5f);
  });
  f.check(s, "");
}
}  // namespace
TEST_CASE("a loop whose last part is masked ran on where a stage inside it had computed nothing") {
  found f;
  auto const A = f.input<float, 1>({13});
  auto const n = A.extent(0);
  auto const S = compute<"S">(n, [=](auto i) { return A(i) + A(i); });
  auto const last = compute<"U">(n, 3, [=](auto i, auto) { return S(i) * S(i); });
  f.check(last, "U: split(i, 7, mask) -> io, ii\nS: compute_at(U, j)\n");
}
TEST_CASE("checked code computes every stage whole: one that was computed in part, and not rounded up, was rounded up there") {
  found f;
  auto const A = f.input<float, 1>({64});
  auto const n = A.extent(0);
  auto const S = compute<"S">(n, [=](auto i) { return A(i) + A(i); });
  f.check(compute<"U">(n, [=](auto i) { return S(i) * S(n - 1 - i); }),
          "S: compute_at(U, i)\nS: split(i, 33, round_up) -> io, ii\n");
}
TEST_CASE("a stage whose part has no known length was computed whole, and read another one where that was not computed") {
  found f;
  auto const A = f.input<float, 1>({31});
  auto const n = A.extent(0);
  auto const S = compute<"S">(8, [=](auto i) { return A(0) + A(clamp(i, 0, n - 1)); });
  auto const T = compute<"T">(n, [=](auto i) { return S(clamp(i, 0, 7)); });
  f.check(compute<"U">(n, 3, [=](auto i, auto j) { return T(clamp(j % 3, 0, n - 1)) + T(i); }),
          "T: compute_at(U, j)\nS: compute_at(U, j)\n");
}
TEST_CASE("a stage was computed a little further than it was read, and read another one where that was not computed") {
  found f;
  auto const A = f.input<float, 1>({17});
  auto const n = A.extent(0);
  auto const S = compute<"S">(n, [=](auto i) { return A(i) + A(i); });
  auto const T = compute<"T">(n, [=](auto i) { return S(n - 1 - i); });
  f.check(compute<"U">(n, n, [=](auto i, auto j) { return T(j) + select(j + i < n, T(j + i), 0.0f); }),
          "T: compute_at(U, j)\nS: compute_at(U, j)\n");
}
TEST_CASE("a reduction whose identity was stored in front was jammed like a loop over elements, in another order") {
  found f;
  auto const B = f.input<std::int32_t, 1>({33});
  f.check(compute<"S">(1, [=](auto) {
            return weft::reduce(0, [](auto a, auto x) { return a * 2 + x; }, 3, 31, [=](auto k, auto l) { return B(k + l); });
          }),
          "S: unroll(j)\nS: decompose_reduction(S, i)\n");
}
TEST_CASE("what a chain of selects asks for under very many conditions is not read beyond the elements of a layout") {
  found f;
  auto const a = f.input<std::int32_t, 1>({5});
  auto const s = compute<"S">(a.extent(0), [=](auto i) {
    auto const one = weft::select(a(i) < 3, a(i) + 1, a(i) * 2);
    auto const two = weft::select(one < 5, one + 1, one * 2);
    auto const three = weft::select(two < 7, two + 1, two * 2);
    return weft::select(three < 9, three + 1, three * 2);
  });
  auto const r = compute<"R">(a.extent(0), [=](auto i) { return s(i) + a(i); });
  f.check(r, "S: transform_layout(0, 4, 0, 0, 1, 4, 0)\nS: vectorize(j)\n");
}

TEST_CASE("memory was made for a stage in a loop of a reduction over nothing, which has no loops") {
  found f;
  auto const A = f.input<float, 1>({5});
  auto const none = f.input<float, 1>({0});
  auto const S = compute<"S">(A.extent(0), [=](auto i) { return A(i) + A(i); });
  f.check(compute<"T">(A.extent(0), [=](auto i) { return sum(none.extent(0), [=](auto k) { return S(i) * none(k); }); }),
          "S: compute_at(T, j)\nS: store_at(T, i)\n");
}

TEST_CASE("memory was to stand in a loop of a reduction over nothing, around a loop that is there") {
  found f;
  auto const A = f.input<float, 1>({5});
  auto const none = f.input<float, 1>({0});
  auto const S = compute<"S">(A.extent(0), [=](auto i) { return A(i) + A(i); });
  f.check(compute<"T">(A.extent(0), [=](auto i) { return sum(none.extent(0), [=](auto k) { return S(i) * none(k); }); }),
          "T: reorder(j, i)\nS: compute_at(T, i)\nS: store_at(T, j)\n");
}

TEST_CASE("the sum of a ring's element stood in a register around a loop over elements, which may have none") {
  found f;
  auto const A = f.input<float, 2>({5, 4});
  auto const n = A.extent(0);
  auto const S = compute<"S">(n, 3, [=](auto i, auto j) { return sum(A.extent(1), [=](auto k) { return A(i, k) + A(j, k); }); });
  f.check(compute<"T">(n, [=](auto i) { return S(4, i / 2) + S(0, i / 2); }),
          "S: compute_at(T, i)\nS: store_root()\nS: fold_storage(j, 1)\n");
}

TEST_CASE("a split that does not divide made a part reach beyond what memory further out was made for") {
  found f;
  auto const A = f.input<float, 1>({8});
  auto const S = compute<"S">(A.extent(0), [=](auto i) { return A(i) + A(i); });
  auto const T = compute<"T">(A.extent(0), [=](auto i) { return S(i) + S(i); });
  f.check(compute<"U">(2, 2, [=](auto i, auto j) { return T(j / 2 + i); }),
          "T: split(i, 3) -> io, ii\nT: compute_at(U, j)\nS: compute_at(T, io)\nS: store_at(U, i)\n");
}

TEST_CASE("how often the loops of a part run was asked of an axis, and they were fused from two") {
  found f;
  auto const A = f.input<float, 0>({});
  auto const R = compute<"R">(2, 3, 4, [=](auto, auto, auto) { return A() + A(); });
  auto const S = compute<"S">(2, 3, [=](auto, auto) { return A() + A(); });
  f.check(compute<"T">(2, 3, [=](auto i, auto j) { return S(i, j) + R(i, j, j); }),
          "S: compute_at(T, i)\nS: fuse(i, j) -> ij\nS: vectorize(ij)\n");
}

TEST_CASE("a loop asked for what is in registers by then") {
  found f;
  auto const A = f.input<float, 2>({5, 2});
  auto const S = compute<"S">(1, [=](auto i) { return A(2, i) + A(4, i); });
  f.check(compute<"T">(A.extent(1), [=](auto i) { return sum(A.extent(0), [=](auto k) { return A(k, i) * S(0); }); }),
          "S: set_scope(stack)\nT: prefetch(j, S, 1000)\n");
}

TEST_CASE("memory further out was made for what is read of a scan, and all steps before that read too") {
  for (bool const backwards : {false, true}) {
    found f;
    auto const A = f.input<float, 1>({8});
    auto const S = compute<"S">(A.extent(0), [=](auto i) { return A(i) + A(i); });
    auto const T = compute<"T">(A.extent(0), [=](auto t) {
      return sum(backwards ? from(t) : up_to(t), [=](auto k) { return S(k); });
    });
    f.check(compute<"U">(A.extent(0), [=](auto i) { return T(i) + T(i); }),
            "U: split(i, 2) -> io, ii\nT: compute_at(U, ii)\nS: compute_at(T, i)\nS: store_at(U, io)\n");
  }
}

TEST_CASE("a stage that nothing needs held one that is needed, and was rounded up beyond what it reads") {
  found f;
  auto const A = f.input<float, 1>({17});
  auto const S = compute<"S">(A.extent(0), [=](auto i) { return A(i) + A(i); });
  auto const T = compute<"T">(A.extent(0), [=](auto i) { return S(i) + S(i); });
  static_cast<void>(T);
  f.check(compute<"U">(A.extent(0), [=](auto i) { return A(i) * 2; }), "S: split(i, 16, round_up) -> io, ii\nU: compute_with(S, io)\n");
}

TEST_CASE("the last part of a split that does not divide read more of a stage than was made for it") {
  found f;
  auto const A = f.input<float, 1>({8});
  auto const S = compute<"S">(A.extent(0), [=](auto i) { return A(i) + A(i); });
  auto const T = compute<"T">(A.extent(0), [=](auto i) { return S(i) + S(i); });
  f.check(compute<"U">(4, [=](auto i) { return T(i) + T(i + 3); }),
          "T: cache_write()\nT: split(i, 3) -> io, ii\nT_acc: compute_at(T, io)\nT: compute_at(U, i)\nS: compute_at(U, i)\n");
}

TEST_CASE("a stage that nothing reads held one that is read, and the parts of its reduction were read before they were stored") {
  found f;
  auto const A = f.input<float, 2>({5, 0});
  auto const S = compute<"S">(A.extent(0), [=](auto i) { return sum(A.extent(1), [=](auto k) { return A(i, k); }); });
  static_cast<void>(S);
  f.check(compute<"T">(A.extent(0), [=](auto i) { return cast<float>(i); }),
          "S: rfactor(S, j, 3)\nT: compute_with(S, i)\n");
}

TEST_CASE("a state that is stored once along an axis was read where the last part of a stage has no elements") {
  found f;
  auto const A = f.input<float, 1>({7});
  auto const step = [](auto const& state, auto const& term) {
    return weft::values(get<0>(state) + get<0>(term), max(get<1>(state), select(get<0>(state) < get<1>(state), get<0>(state), get<1>(term))),
                        min(get<2>(state), get<1>(term)));
  };
  auto const S = compute<"S", "T", "U">(A.extent(0), 4, [=](auto i, auto j) {
    return weft::reduce(weft::values(0.0f, -1e30f, 1e30f), step, 3, [=](auto k) { return weft::values(A(i), A(i) * cast<float>(j + k)); });
  });
  f.check(get<2>(S), "S: cache_write()\nS_acc: unroll(i)\nS: split(i, 4) -> io, ii\nS_acc: compute_at(S, j)\n"
                     "S_acc: reorder(k, i, j)\nS: reorder(io, j, ii)\n");
}

TEST_CASE("pieces of an unrolled scan took turns, where a branch had told which part of a piece it was and no index named it") {
  found f;
  auto const A = f.input<float, 1>({16});
  f.check(compute<"S">(A.extent(0), [=](auto i) { return weft::sum(weft::up_to(i), [=](auto j) { return A(j); }); }),
          "S: split(i, 7) -> io, ii\nS: unroll(io)\nS: split(ii, 4, partition) -> iio, iii\n");
}

TEST_CASE("a stage beside another was computed several times where parts of an axis stood inside out or did not divide, also in place") {
  for (std::int64_t const columns : {8, 12, 32})
    for (char const* steps :
         {"dx: fuse(i, j) -> ij\ndx: split(ij, 8) -> ijo, iji\ndy: compute_with(dx, ijo)\n",
          "dx: fuse(i, j) -> ij\ndx: split(ij, 16) -> ijo, iji\ndx: split(iji, 4) -> ijio, ijii\ndy: compute_with(dx, ijio)\n",
          "dx: split(i, 4) -> io, ii\ndx: reorder(ii, io)\ndy: compute_with(dx, ii)\n",
          "dx: split(i, 5) -> io, ii\ndx: split(ii, 3) -> iio, iii\ndy: compute_with(dx, iio)\n",
          "dx: split(i, 5) -> io, ii\ndx: split(ii, 3) -> iio, iii\ndy: compute_with(dx, io)\n",
          "dx: split(i, 5) -> io, ii\ndx: split(ii, 3) -> iio, iii\ndy: compute_with(dx, iii)\n",
          "dx: split(i, 6) -> io, ii\ndx: split(ii, 3) -> iio, iii\ndy: compute_with(dx, iio)\n"}) {
      found f;
      auto const A = f.input<std::int32_t, 2>({13, columns}), B = f.input<std::int32_t, 2>({13, columns});
      auto const dx = compute<"dx">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + 1; });
      auto const dy = compute<"dy">(A.extent(0), A.extent(1), [=](auto i, auto j) { return B(i, j) * 2; });
      f.p.outputs.push_back(dx.id);
      f.check(dy, steps, 6, 2);
    }
}

TEST_CASE("the copy that cache_write leaves of a scan was walked in order, as if it scanned") {
  found f;
  auto const A = f.input<float, 2>({5, 20});
  f.check(compute<"C">(A.extent(0), A.extent(1),
                       [=](auto i, auto j) { return weft::sum(weft::up_to(j), [=](auto k) { return A(i, k); }); }),
          "C: cache_write()\nC: split(j, 8, shift_inwards) -> jo, ji\nC: vectorize(ji)\nC_acc: compute_at(C, i)\n", 4, 2);
}

TEST_CASE("a factor beyond what is open made a loop that ran no time, by a quotient whose parts had overflowed") {
  for (char const* steps : {"S: split(i, 1099511627776) -> io, ii\n", "S: split(i, 1048576) -> io, ii\nS: split(io, 1048576) -> ioo, ioi\n",
                            "S: split(i, 1099511627776) -> io, ii\nS: split(ii, 1099511627776) -> iio, iii\n"}) {
    found f;
    auto const A = f.input<float, 1>({13});
    f.check(compute<"S">(A.extent(0), [=](auto i) { return A(i) + 1; }), steps, 4, 4);
  }
}
TEST_CASE("a result was written over what a scan inside of its loops reads again from the beginning") {
  found f;
  auto const A = f.input<float, 1>({8});
  auto const S = compute<"S">(A.extent(0), [=](auto i) { return A(i) + A(i); });
  auto const T = compute<"T">(A.extent(0), [=](auto i) { return weft::sum(weft::up_to(i), [=](auto k) { return S(k); }); });
  f.check(compute<"U">(A.extent(0), [=](auto i) { return T(i) + 1; }), "U: split(i, 2) -> io, ii\nT: compute_at(U, ii)\nS: compute_at(T, i)\n");
}
TEST_CASE("a result was written by one thread over what another one read without use, between elements that it needs") {
  found f;
  auto const A = f.input<std::int64_t, 1>({9}), B = f.input<std::int64_t, 1>({9});
  f.check(compute<"S">(A.extent(0), [=](auto i) { return select(A(i) > 0, B(i), 1); }),
          "S: cache_write()\nS_acc: split(i, 8) -> io, ii\nS_acc: reorder(ii, io)\nS_acc: parallel(ii)\nS: reverse_compute_at(S_acc, ii)\n", 24, 4);
}
// As a report writes them (report.hpp).
TEST_CASE("two iterations of a parallel loop wrote one row, where sizes are open and a part of fused loops divides them in this call alone") {
  check_found({6479254461900992509ULL, contents::tame},
              [](auto A) {
                auto S1 = weft::compute<"S1">(1, A.extent(0), [=](auto, auto) { return weft::exact::literal<std::int32_t>(A, 1); });
                weft::compute<"S2">(1, A.extent(0), [=](auto, auto) { return weft::exact::literal<std::int32_t>(A, 1); });
                return S1;
              },
              [](auto& s, auto, auto S1, auto S2) {
                auto [S2_i, S2_j] = S2.axes();
                auto ij = s.fuse(S2_i, S2_j);
                auto [ijo, iji] = s.split(ij, 4);
                s.parallel(ijo);
                s.compute_with(S1, ijo);
              },
              input<std::int32_t, 1>{{8}});
}
TEST_CASE("LLVM 19 learnt of what a stage stores that all of it is one number, and made 0 of 0 / min(0, 1)") {
  found f;
  auto const a = f.input<std::uint8_t, 1>({1});
  auto const none = compute<"N">(weft::extent{weft::exact::literal<std::int64_t>(a, std::int64_t(4))}, [=](auto i) { return i + 1 < 1; });
  auto const s = compute<"S">(4, 2, [=](auto i, auto j) { return weft::cast<float>(none(0)) / weft::min(weft::cast<float>(none(i)), weft::cast<float>(j)); });
  f.check(s, "N: vectorize(i)\nS: unroll(j)\nS: vectorize(i)\n");
}
TEST_CASE("a state that is stored once along an axis was stored by none of its iterations, since there are none, and read all the same") {
  check_found({6680970114988646089ULL, contents::tame},
              [](auto A) {
                auto S0_2 = weft::compute<"S0", "S0">(0, 1, [=](auto i, auto) {
                  return weft::exact::reduction(weft::values(std::uint16_t(0), true), [=](auto before, auto) {
                    return weft::values(weft::exact::operation<weft::op::add, std::uint16_t>(weft::get<0>(before), weft::exact::literal<std::uint16_t>(A, std::uint16_t(1))),
                                        weft::min(weft::get<1>(before), weft::cast<bool>(A(i))));
                  }, 1);
                });
                return weft::get<1>(S0_2);
              },
              [](auto& s, auto, auto S0) {
                auto [i, j, k] = S0.axes();
                s.reorder(k, i, j);
                s.rfactor(S0, k, 16, weft::chunks);
              },
              input<weft::bf16, 1>{{0}});
}
TEST_CASE("lanes that are all at one element, of which some want it, were read as a vector of one") {
  check_found({6337292243858264386ULL, contents::tame},
              [](auto A) {
                auto S3 = weft::compute<"S3">(17, [=](auto i) { return A(weft::min(i, 1)); });
                return S3;
              },
              [](auto& s, auto, auto S3) {
                auto [i] = S3.axes();
                s.vectorize(i);
              },
              input<float, 1>{{2}});
}
TEST_CASE("a copy for a multiple of sixteen took a length of none for sixteen, where nothing but loops of others was left of the stage") {
  check_found({17874847443555729644ULL, contents::tame},
              [](auto A) {
                weft::compute<"S1">(A.extent(0), 1, [=](auto, auto) {
                  return weft::exact::reduction(weft::values(weft::from_bits<float>(std::int64_t(2139095040LL))), [=](auto before, auto) { return weft::values(weft::get<0>(before)); }, A.extent(0) + -2);
                });
                auto S2 = weft::compute<"S2">(A.extent(0), 1, [=](auto, auto) { return weft::exact::literal<float>(A, 1.0f); });
                return S2;
              },
              [](auto& s, auto, auto S1, auto S2) {
                auto [i, j, k] = S1.axes();
                auto ij = s.fuse(i, j);
                s.compute_with(S2, ij);
                s.specialize(s.extent(k) % 16 == 0 && s.extent(k) % 16 == 0);
              },
              input<float, 1>{{2}});
}
TEST_CASE("a case of a report: elements of its own, and a number") {
  check_found({7, contents::own},
              [](auto A, auto B, auto number) {
                auto S0 = weft::compute<"S0">(A.extent(0), [=](auto i) { return A(i) * number + weft::cast<float>(B()); });
                return S0;
              },
              [](auto& s, auto, auto, auto, auto S0) {
                auto [i] = S0.axes();
                auto [io, ii] = s.split(i, 2, weft::tail::mask);
                s.vectorize(ii);
              },
              input<float, 1>{{3}, {1065353216, 0, 1073741824}}, input<std::int8_t, 0>{{}, {-3}}, number<float>{1056964608});
}

// A scan begins where its loop does, of which the first iteration was written out apart.
TEST_CASE("what does not move with a scan's loop is not computed in its first iteration apart") {
  found f;
  auto const a = f.input<float, 1>({2});
  auto const s = weft::compute<"S">(a.extent(0), [=](auto i) { return a(i) + 1.0f; });
  auto const t = weft::compute<"T">(6, a.extent(0), [=](auto i, auto j) { return weft::scan(weft::up_to(i), 0.0f, [=](auto before) { return before + s(j); }); });
  f.check(t, "T: split(j, 4)\nS: compute_at(T, ji)\nS: store_root()\n");
}
// Stores of several results at once stood in the loop of a sum that is kept in a register, and were taken for more of its terms.
TEST_CASE("a stage of two results is computed in the loop of a sum that reads both") {
  found f;
  auto const a = f.input<float, 1>({6});
  auto const [s, u] = weft::compute<"S", "U">(a.extent(0), [=](auto i) { return weft::values(a(i) + 1.0f, a(i) * 2.0f); });
  auto const t = weft::compute<"T">(a.extent(0), [=](auto i) { return weft::sum(a.extent(0), [=](auto k) { return s(k) * a(i) + u(k); }); });
  f.check(t, "S: compute_at(T, j)\n");
}
// Of every sixth row of a result in place of B a copy was computed of all rows between, which other virtual threads write.
TEST_CASE("a copy in a loop of virtual threads reads no row in place that another one writes") {
  found f;
  auto const b = f.input<float, 2>({9, 5});
  auto const s = weft::compute<"S0">(b.extent(0), b.extent(1), [=](auto i, auto j) { return b(i, j) + 1.0f; });
  f.check(s, "S0: cache_write()\nS0: split(j, 4) -> jo, ji\nS0_acc: compute_at(S0, ji)\nS0: split(i, 6) -> io, ii\n"
             "S0: bind(ii, virtual_thread)\nS0: reorder(jo, ii, ji, io)\n");
}
// Two loops in one, of which the inner one is as long as the call says: each iteration computed its copy of all columns.
TEST_CASE("a copy in a parallel loop of two, of open lengths, reads no column in place that another iteration writes") {
  check_found({15651601336063608826ULL, contents::tame},
              [](auto A, auto B) {
                auto F0 = weft::compute<"F0">(2, A.extent(1), weft::external<"running_f64_2", &weft_test::running<double, 2>>(A));
                auto S1 = weft::compute<"S1">(2, A.extent(1), [=](auto i, auto j) { return B(i, j); });
                return weft::outputs(F0, S1);
              },
              [](auto& s, auto, auto, auto, auto S1) {
                auto S1_acc = s.cache_write(S1);
                auto [i, j] = S1_acc.axes();
                auto [jo, ji] = s.split(j, 4);
                auto [joo, joi] = s.split(jo, 1);
                auto [joio, joii] = s.split(joi, 2);
                s.reorder(joio, i);
                s.reverse_compute_at(S1, i);
                auto both = s.fuse(weft::axis{16}, weft::axis{14});
                s.parallel(both);
              },
              input<double, 2>{{2, 5}}, input<double, 2>{{2, 5}});
}
// Of (io * 4 + ii) % 16 in a loop of S0 it is not seen that it is one row, as it is in S1's, where S0_acc was told how many rows are read; so it was where only its memory stands there.
TEST_CASE("a copy in the loop of a guest computes no more than the loop around has told what it reads") {
  for (std::string const place : {"S0_acc: compute_at(S1, i)\n", "S0_acc: compute_at(S0, io)\nS0_acc: store_at(S1, i)\n"}) {
    found f;
    auto const a = f.input<float, 2>({3, 3});
    auto const s = weft::compute<"S0">(3, 3, [=](auto i, auto j) { return weft::sum(1, [=](auto) { return a(i, j); }); });
    auto const t = weft::exact::stage<"S1">([=] { return weft::sum(3, [=](auto) { return s(0, 1); }); });
    f.check(t, "S0: cache_write()\nS0: cache_write()\nS0_acc_1: transform_layout(0, 1, 16, 0, 16, 0, 1, 1, 1, 1, 1, 16, 1, 16, 0, -3)\nS0: split(i, 4) -> io, ii\n"
               "S0_acc_1: compute_at(S0, j)\nS0: compute_at(S1, i)\nS0: store_root()\n" + place);
  }
}
TEST_CASE("what the loop around was told is a part of what further in is seen, and not the shorter of the two") {
  found f;
  auto const a = f.input<float, 2>({3, 3});
  auto const s = weft::compute<"S0">(3, 3, [=](auto i, auto j) { return weft::sum(1, [=](auto) { return a(i, j); }); });
  auto const t = weft::compute<"S1">(3, [=](auto i) { return s(weft::max(i - 1, 0), 1) + s(weft::min(i + 1, 2), 1); });
  f.check(t, "S0: cache_write()\nS0: cache_write()\nS0_acc_1: transform_layout(0, 1, 3, 0, 3, 0, 1, 1, 0, 0)\nS0: split(i, 2) -> io, ii\n"
             "S0_acc_1: compute_at(S0, j)\nS0: compute_at(S1, i)\nS0_acc: compute_at(S1, i)\n");
}
TEST_CASE("a quotient of a tile's rows, whose ends are told apart by one more than they are") {
  found f;
  auto const a = f.input<float, 1>({8}), b = f.input<float, 1>({8});
  auto const g = weft::compute<"G">(8, [=](auto y) { return a(y) + a(y); });
  auto const h = weft::compute<"H">(8, [=](auto y) { return b(y) + b(y); });
  auto const k = weft::compute<"K">(8, [=](auto y) { return g(y) + h(y); });
  auto const p = weft::compute<"P">(24, [=](auto x) { return k(x / 3); });
  auto const q = weft::compute<"Q">(2, [=](auto v) { return weft::sum(12, [=](auto r) { return p(v * 12 + r); }); });
  f.check(q, "P: split(i, 11) -> io, ii\nP: compute_at(Q, i)\nK: compute_at(P, io)\nH: compute_at(P, io)\nG: compute_at(Q, i)\n");
}
// Sizes chose first, so that the chosen product was contracted, which direct evaluation leaves in its choice.
TEST_CASE("of two products the one in a choice by sizes was contracted") {
  check_found({11947188289698158711ULL, contents::tame},
              [](auto A, auto B) {
                auto S0 = weft::compute<"S0">(A.extent(0), [=](auto i) {
                  return 0.1 * B(i) - weft::select(A.extent(0) == 64, 0.7 * A(i), 1.0);
                });
                return S0;
              },
              [](auto&, auto, auto, auto) {}, input<double, 1>{{64}}, input<double, 1>{{64}});
}
// An fmod of f64 is a long chain, each part of which is used twice; whether a product stands in it was asked along all ways through it.
TEST_CASE("code was not made in an hour: what an expression shares with itself was walked as often as it is used") {
  check_found({2290491851637793931ULL, contents::own},
              [](auto A, auto B, auto C) {
                auto x1 = weft::exact::operation<weft::op::add, std::int64_t>(weft::exact::literal<std::int64_t>(A, std::int64_t(2)), weft::exact::literal<std::int64_t>(A, std::int64_t(17)));
                weft::require(C.extent(0) + 17 <= x1);
                auto S0 = weft::exact::stage<"S0">([=] {
                  return weft::min(2, [=](auto i) {
                    auto x2 = i + 0;
                    auto x3 = weft::min(weft::max(weft::cast<std::int64_t>(A(A.extent(0) + -1 - i, x2)), 0), B.extent(1) + -1);
                    auto x4 = (weft::cast<double>(B(x2, x2)) - weft::cast<double>(B(i, x3))) * weft::select(weft::cast<bool>(i), -1.625, weft::cast<double>(i));
                    return x4 + 0.0;
                  });
                });
                auto S1 = weft::compute<"S1">(B.extent(0), [=](auto i) { return weft::cast<weft::f16>(weft::cast<float>(i)); });
                auto S2 = weft::compute<"S2">(2, [=](auto i) {
                  return weft::max(A.extent(0), [=](auto j) {
                    auto x5 = C.extent(0) + -1;
                    auto x6 = weft::cast<double>(weft::cast<std::int32_t>(C(weft::min(weft::max(x5 - j, 0), x5))));
                    auto x7 = weft::cast<double>(i);
                    auto x8 = j * 2 + 0;
                    auto x9 = weft::select(!(0 <= x8 && x8 < A.extent(1)), 0.25, weft::cast<double>(A(j, x8)));
                    auto x10 = weft::fmod(x6, x7 * -2.0) < weft::min(x9, S0()) + weft::min(weft::cast<double>(S1(i + 0)), x7);
                    auto x11 = B.extent(0) + -1 - j;
                    auto x12 = weft::select(0 <= x11 && x11 < B.extent(0), S1(x11), weft::f16(1.875f));
                    auto x13 = j + -1;
                    auto x14 = weft::select(0 <= x13 && x13 < B.extent(1), weft::cast<weft::f16>(B(i, x13)), weft::f16(-1.75f));
                    auto x15 = weft::exact::operation<weft::op::floor_mod, std::int64_t>(weft::cast<std::int64_t>(x14), A.extent(0));
                    return weft::select(x10, weft::cast<std::int64_t>(weft::cast<weft::bf16>(C(i))), weft::cast<std::int64_t>(x12) | x15);
                  });
                });
                return weft::outputs(S0, S2);
              },
              [](auto& s, auto, auto, auto, auto, auto S1, auto) {
                auto [S1_i] = S1.axes();
                s.vectorize(S1_i);
              },
              input<std::int32_t, 2>{{7, 7}, {8, -1, 9, -2, -7, 8, 4, -4, 1, 7, 0, -4, -1, 7, 7, 1, -9, -2, -4, -9, -5, 2, 3, -6, -7, -2, -9, -8, -3, 9, -7, 3, -5, 0, -2, -2, -3, -5, -1, 0, 7, -3, 8, -1, 5, -9, -4, 0, -2}}, input<bool, 2>{{2, 7}, {1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0}}, input<bool, 1>{{2}, {1, 0}});
}

}  // namespace weft_test::fuzz
