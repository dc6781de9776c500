// Schedules by rule of products of tensors.
#include <algorithm>

#include "schedule/rules/check.hpp"
#include "weft/dim.hpp"
#include "weft/expr/broadcast.hpp"
#include "weft/ops/conv.hpp"
#include "weft/schedule/rules/planner.hpp"

using namespace weft_test;
using weft::compute, weft::sum;

namespace {
inline constexpr auto ab = weft::kernel<"ab">([](auto A, auto B) {
  return compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
});
inline constexpr auto abt = weft::kernel<"abt">([](auto A, auto B) {
  return compute<"C">(A.extent(0), B.extent(0), [=](auto i, auto j) {
    return sum(A.extent(1), [=](auto k) { return A(i, k) * B(j, k); });
  });
});
inline constexpr auto atb = weft::kernel<"atb">([](auto A, auto B) {
  return compute<"C">(A.extent(1), B.extent(1), [=](auto i, auto j) {
    return sum(A.extent(0), [=](auto k) { return A(k, i) * B(k, j); });
  });
});
inline constexpr auto batched = weft::kernel<"batched">([](auto A, auto B) {
  return compute<"C">(A.extent(0), A.extent(1), B.extent(2), [=](auto b, auto i, auto j) {
    return sum(A.extent(2), [=](auto k) { return A(b, i, k) * B(b, k, j); });
  });
});
inline constexpr auto matvec = weft::kernel<"matvec">([](auto A, auto x) {
  return compute<"y">(A.extent(0), [=](auto i) { return sum(A.extent(1), [=](auto k) { return A(i, k) * x(k); }); });
});
inline constexpr auto vecmat = weft::kernel<"vecmat">([](auto x, auto B) {
  return compute<"y">(B.extent(1), [=](auto j) { return sum(B.extent(0), [=](auto k) { return x(k) * B(k, j); }); });
});
inline constexpr auto dense = weft::kernel<"dense">([](auto A, auto B, auto v) {
  auto C = compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
  auto R = compute<"R">(A.extent(0), B.extent(1), [=](auto i, auto j) { return C(i, j) + v(j); });
  return compute<"S">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::max(R(i, j), R(i, j) * 0.125f); });
});
inline constexpr auto nhwc = weft::kernel<"nhwc">([](auto x, auto w) {
  return compute<"y">(x.extent(0) - 2, x.extent(1) - 2, w.extent(3), [=](auto i, auto j, auto o) {
    return sum(3, 3, x.extent(2), [=](auto a, auto b, auto c) { return x(i + a, j + b, c) * w(a, b, c, o); });
  });
});
inline constexpr auto nchw = weft::kernel<"nchw">([](auto x, auto w) {
  return compute<"y">(w.extent(0), x.extent(1) - 2, x.extent(2) - 2, [=](auto o, auto i, auto j) {
    return sum(x.extent(0), 3, 3, [=](auto c, auto a, auto b) { return x(c, i + a, j + b) * w(o, c, a, b); });
  });
});
inline constexpr auto strided = weft::kernel<"strided">([](auto x, auto w) {
  return compute<"y">(w.extent(0), (x.extent(1) - 3) / 2 + 1, (x.extent(2) - 3) / 2 + 1, [=](auto o, auto i, auto j) {
    return sum(x.extent(0), 3, 3, [=](auto c, auto a, auto b) { return x(c, i * 2 + a, j * 2 + b) * w(o, c, a, b); });
  });
});
/// A machine with caches of these sizes, and one thread.
weft::target small_machine(std::int64_t l1, std::int64_t l2) {
  weft::target t = weft::x86_64_avx2();
  t.l1_bytes = l1, t.l2_bytes = l2, t.l3_bytes = 16 * l2, t.l3_bytes_per_cycle = 0, t.vector_units = 1, t.threads = 1;
  return t;
}
constexpr std::array<std::int64_t, 3> sizes[] = {{1, 1, 1}, {3, 0, 5}, {5, 7, 3}, {13, 33, 17}, {37, 53, 71}, {8, 64, 32}, {64, 20, 40}, {2, 9, 130}};
}  // namespace

TEST_CASE("products of matrices, plain and transposed") {
  for (auto [m, k, n] : sizes) {
    CAPTURE(m);
    CAPTURE(k);
    CAPTURE(n);
    check_rule(ab, drawn<float>(1, m, k), drawn<float>(2, k, n));
    check_rule(abt, drawn<float>(1, m, k), drawn<float>(2, n, k));
    check_rule(atb, drawn<double>(1, k, m), drawn<double>(2, k, n));
  }
}
TEST_CASE("products of narrow types") {
  check_rule(ab, drawn<std::int8_t>(1, 13, 21), drawn<std::int8_t>(2, 21, 37));
  check_rule(ab, drawn<weft::f16>(1, 13, 21), drawn<weft::f16>(2, 21, 37));
  check_rule(abt, drawn<weft::bf16>(1, 13, 21), drawn<weft::bf16>(2, 37, 21));
}
TEST_CASE("batches, and products with a vector") {
  for (auto [m, k, n] : sizes) {
    check_rule(batched, drawn<float>(1, 3, m, k), drawn<float>(2, 3, k, n));
    check_rule(matvec, drawn<float>(1, m, n), drawn<float>(2, n));
    check_rule(vecmat, drawn<float>(1, m), drawn<float>(2, m, n));
  }
}
TEST_CASE("what becomes of a product is computed in its tile") {
  for (auto [m, k, n] : sizes) check_rule(dense, drawn<float>(1, m, k), drawn<float>(2, k, n), drawn<float>(3, n));
  auto const a = drawn<float>(1, 96, 96);
  std::string const loops = dense.loops(a, a, drawn<float>(3, 96));
  INFO(loops);
  CHECK(has_in_order(loops, {"S\n", "io in", "C_1\n", "unrolled", "vectorized"}));
}
TEST_CASE("where one tile is all there is, a product that something follows is tiled all the same") {
  std::string const loops = dense.on(small_machine(1 << 15, 1 << 20)).loops(drawn<float>(1, 4, 200), drawn<float>(2, 200, 8), drawn<float>(3, 8));
  INFO(loops);
  CHECK(has_in_order(loops, {"C_1\n", "k in 0..200", "unrolled i in", "vectorized j in", "S\n", "vectorized"}));
}
TEST_CASE("blocks of terms: what follows a product waits for the last one, with as many sums as the second cache holds") {
  auto const run = [](std::int64_t m, std::int64_t k, std::int64_t n, std::int32_t threads, std::initializer_list<char const*> words) {
    weft::target t = small_machine(1 << 11, 1 << 13);
    t.threads = threads;
    auto const a = drawn<float>(1, m, k), b = drawn<float>(2, k, n);
    auto const v = drawn<float>(3, n);
    auto const fused = dense.on(t);
    std::string const loops = fused.loops(a, b, v);
    INFO(loops);
    CHECK(has_in_order(loops, words));
    CHECK((weft::evaluate({.contract = true}, dense, a, b, v) == fused(a, b, v)));
  };
  // B as it lies: blocks of terms, then panels, of which the next one is asked for; packed, a panel and then its blocks.
  run(13, 130, 90, 1, {"S\n", "C_1\n", "ko in", "jo in", "io in", "ki in", "prefetch B for jo + 1", "unrolled", "vectorized", "unrolled", "vectorized"});
  run(107, 330, 40, 1, {"S\n", "C_1\n", "ko in", "io in", "ki in", "B_copy[", "unrolled", "B_copy\n"});
  run(107, 331, 41, 2, {"S\n", "parallel", "C_1\n", "ko in", "io in", "ki in", "B_copy["});
}
TEST_CASE("the next panel is asked for in the loop over panels of the stage that ends a product") {
  auto const a = drawn<float>(1, 13, 20), b = drawn<float>(2, 20, 900);
  auto const k = dense.on(small_machine(1 << 12, 1 << 16));
  std::string const loops = k.loops(a, b, drawn<float>(3, 900));
  INFO(loops);
  CHECK(has_in_order(loops, {"S\n", "jo in", "io in", "C_1\n", "k in", "prefetch B for jo + 1", "unrolled ii", "vectorized ji"}));
  CHECK(k.assembly(a, b, drawn<float>(3, 900)).find("prefetcht0") != std::string::npos);
}
TEST_CASE("a product and its residual in a batch of one are one nest") {
  auto const summed = weft::kernel<"summed">([](auto A, auto B, auto x) {
    auto const C = compute<"C">(A.extent(0), A.extent(1), B.extent(1), [=](auto b, auto i, auto j) {
      return sum(A.extent(2), [=](auto k) { return A(b, i, k) * B(k, j); });
    });
    return weft::elementwise<"R">([](auto p, auto q) { return p + q; }, C, x);
  });
  for (std::int64_t batch : {1, 2}) {
    auto const a = drawn<float>(1, batch, 13, 9);
    auto const b = drawn<float>(2, 9, 21);
    auto const x = drawn<float>(3, batch, 13, 21);
    std::string const loops = summed.on(small_machine(1 << 15, 1 << 20)).loops(a, b, x);
    INFO(loops);
    CHECK(has_in_order(loops, {"R\n", "jo in", "C_1\n", "unrolled", "vectorized"}));
    check_rule(summed, a, b, x);
  }
}
TEST_CASE("two products of one tile are both planned like products") {
  auto const gated = weft::kernel<"gated">([](auto A, auto B, auto D) {
    auto const C = compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); }); });
    auto const G = compute<"G">(A.extent(0), B.extent(1), [=](auto i, auto j) { return sum(D.extent(0), [=](auto k) { return A(i, k) * D(k, j); }); });
    return compute<"R">(A.extent(0), B.extent(1), [=](auto i, auto j) { return C(i, j) * weft::max(G(i, j), 0) + G(i, j); });
  });
  check_rule(gated, drawn<float>(1, 13, 21), drawn<float>(2, 21, 37), drawn<float>(3, 21, 37));
  check_rule(gated, drawn<float>(1, 3, 30), drawn<float>(2, 30, 9), drawn<float>(3, 30, 9));
}
TEST_CASE("blocks of terms are those of all products in a tile, or of none") {
  auto const gated = weft::kernel<"gated">([](auto A, auto B, auto X, auto D) {
    auto const C = compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); }); });
    auto const G = compute<"G">(X.extent(0), D.extent(2), [=](auto i, auto j) { return sum(X.extent(1), [=](auto k) { return X(i, k) * D(i, k, j); }); });
    return compute<"R">(A.extent(0), B.extent(1), [=](auto i, auto j) { return C(i, j) + G(i, j); });
  });
  auto const a = drawn<float>(1, 13, 24), b = drawn<float>(2, 24, 300);
  auto const d = drawn<float>(3, 13, 24, 300);
  auto const one_tile = gated.on(small_machine(1 << 15, 1 << 20));
  std::string const loops = one_tile.loops(a, b, a, d);
  INFO(loops);
  CHECK(has_in_order(loops, {"R\n", "C_1\n", "k in 0..24", "G\n", "k in 0..24"}));
  CHECK((one_tile(a, b, a, d) == weft::evaluate({.contract = true}, gated, a, b, a, d)));
  // The one has many terms, the other one few.
  auto const summed = weft::kernel<"summed">([](auto A, auto B, auto X, auto Y) {
    auto const C = compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); }); });
    auto const G = compute<"G">(X.extent(0), Y.extent(1), [=](auto i, auto j) { return sum(X.extent(1), [=](auto k) { return X(i, k) * Y(k, j); }); });
    return compute<"R">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::max(C(i, j) + G(i, j), 0); });
  });
  weft::target const t = small_machine(1 << 11, 1 << 13);
  auto const p = drawn<float>(1, 13, 330), q = drawn<float>(2, 330, 40), x = drawn<float>(3, 13, 16), y = drawn<float>(4, 16, 40);
  std::string const two = summed.on(t).loops(p, q, x, y);
  INFO(two);
  CHECK(has_in_order(two, {"C_1\n", "k in 0..330"}));
  CHECK((summed.on(t)(p, q, x, y) == weft::evaluate({.contract = true}, summed, p, q, x, y)));
}
TEST_CASE("convolutions: channels last, channels first, strided") {
  check_rule(nhwc, drawn<float>(1, 9, 11, 5), drawn<float>(2, 3, 3, 5, 19));
  check_rule(nhwc, drawn<float>(1, 5, 20, 16), drawn<float>(2, 3, 3, 16, 32));
  check_rule(nchw, drawn<float>(1, 5, 9, 21), drawn<float>(2, 7, 5, 3, 3));
  check_rule(strided, drawn<float>(1, 3, 9, 21), drawn<float>(2, 17, 3, 3, 3));
}
TEST_CASE("convolutions that something follows: as those alone") {
  auto const followed = weft::kernel<"followed">([](auto x, auto w, auto v) {
    auto const C = compute<"C">(x.extent(0), x.extent(1), w.extent(3), [=](auto i, auto j, auto o) {
      return sum(x.extent(2), 3, 3, [=](auto c, auto a, auto b) {
        auto const y = i + a - 1, z = j + b - 1;
        return weft::select(0 <= y && y < x.extent(0) && 0 <= z && z < x.extent(1), x(y, z, c), 0) * w(a, b, c, o);
      });
    });
    return compute<"y">(x.extent(0), x.extent(1), w.extent(3), [=](auto i, auto j, auto o) { return weft::max(C(i, j, o) + v(o), 0); });
  });
  auto const x = drawn<float>(1, 6, 14, 5);
  auto const w = drawn<float>(2, 3, 3, 5, 19);
  std::string const loops = followed.on(small_machine(1 << 15, 1 << 20)).loops(x, w, drawn<float>(3, 19));
  INFO(loops);
  CHECK(has_in_order(loops, {"y\n", "C_1\n", "0..3", "0..3", "0..5", "unrolled", "vectorized"}));  // the window outside, its channels inside
  check_rule(followed, x, w, drawn<float>(3, 19));
  auto const first = weft::kernel<"first">([](auto in, auto weights, auto v) {
    auto const C = compute<"C">(weights.extent(0), in.extent(1) - 2, in.extent(2) - 2, [=](auto o, auto i, auto j) {
      return sum(in.extent(0), 3, 3, [=](auto c, auto a, auto b) { return in(c, i + a, j + b) * weights(o, c, a, b); });
    });
    return compute<"y">(weights.extent(0), in.extent(1) - 2, in.extent(2) - 2, [=](auto o, auto i, auto j) { return weft::max(C(o, i, j) + v(o), 0); });
  });
  check_rule(first, drawn<float>(1, 5, 9, 16), drawn<float>(2, 19, 5, 3, 3), drawn<float>(3, 19));
  // Rows of pixels are not joined: a part of both axes would make whole rows anew.
  auto const points = weft::kernel<"points">([](auto in, auto weights, auto v) {
    auto const C = compute<"C">(weights.extent(0), in.extent(1), in.extent(2), [=](auto o, auto i, auto j) {
      return sum(in.extent(0), [=](auto c) { return in(c, i, j) * weights(o, c); });
    });
    return compute<"y">(weights.extent(0), in.extent(1), in.extent(2), [=](auto o, auto i, auto j) { return weft::max(C(o, i, j) + v(o), 0); });
  });
  check_rule(points, drawn<float>(1, 17, 9, 13), drawn<float>(2, 21, 17), drawn<float>(3, 21));
}
TEST_CASE("a large product reads panels, in blocks, by all threads") {
  auto const a = drawn<float>(1, 400, 700), b = drawn<float>(2, 700, 300);
  weft::target alone = weft::x86_64_avx2();
  alone.l3_bytes_per_cycle = 0, alone.vector_units = 1, alone.threads = 1;
  std::string const loops = ab.on(alone).loops(a, b);
  INFO(loops);
  CHECK(has_in_order(loops, {"io in", "k in", "unrolled ii", "vectorized ji", "B_copy[", "B_copy\n", "vectorized"}));
  weft::tensor<float, 2> expected(400, 300);  // too many terms for direct evaluation
  for (std::int64_t i = 0; i < 400; ++i)
    for (std::int64_t k = 0; k < 700; ++k) {
      float const factor = a(i, k);
      float const* const row = b.data() + k * 300;
      for (std::int64_t j = 0; j < 300; ++j) expected.data()[i * 300 + j] += factor * row[j];
    }
  auto const c = ab(a, b);
  CHECK(std::equal(c.data(), c.data() + c.size(), expected.data()));
  weft::tensor<float, 2> const wide(400, 30000), tall(30000, 300);
  alone.threads = 2;
  CHECK(has_in_order(ab.on(alone).loops(wide, tall), {"ko in", "io in", "ki in", "unrolled ii", "vectorized ji"}));
}
namespace {
inline constexpr auto pointwise = weft::kernel<"pointwise">([](auto x, auto w) {
  return compute<"y">(w.extent(0), x.extent(1), x.extent(2), [=](auto o, auto i, auto j) {
    return sum(x.extent(0), [=](auto c) { return x(c, i, j) * w(o, c); });
  });
});
}  // namespace

TEST_CASE("for few rows a large matrix is read as it lies, the next panel while one is worked on") {
  auto const a = drawn<float>(1, 13, 400), b = drawn<float>(2, 400, 900);
  auto const k = ab.on(small_machine(1 << 12, 1 << 16));
  std::string const loops = k.loops(a, b);
  INFO(loops);
  CHECK(has_in_order(loops, {"ko in", "jo in", "io in", "ki in", "prefetch B for jo + 1", "unrolled", "vectorized"}));
  CHECK(loops.find("B_copy") == std::string::npos);
  CHECK((weft::evaluate({.contract = true}, ab, a, b) == k(a, b)));
  // Packed, a panel is used up before the next: then blocks of terms stand inside of the panels.
  weft::tensor<float, 2> const wide(500, 2000), tall(2000, 900);
  CHECK(has_in_order(k.loops(wide, tall), {"jo in", "ko in", "io in", "ki in", "B_copy["}));
}
TEST_CASE("threads part at one loop outside of which nothing runs more than once") {
  weft::target two = small_machine(1 << 15, 1 << 20);
  two.threads = 2;
  auto const x = drawn<float>(1, 1, 16, 30, 28);
  auto const w = drawn<float>(2, 32, 16, 3, 3);
  auto const images = weft::kernel<"images">([](auto in, auto weights) {
    return compute<"y">(in.extent(0), weights.extent(0), in.extent(2) - 2, in.extent(3) - 2, [=](auto n, auto o, auto i, auto j) {
      return sum(in.extent(1), 3, 3, [=](auto c, auto a, auto b) { return in(n, c, i + a, j + b) * weights(o, c, a, b); });
    });
  });
  std::string const loops = images.on(two).loops(x, w);
  INFO(loops);
  CHECK(has_in_order(loops, {"y\n", "for i in 0..1\n    parallel"}));
}
TEST_CASE("rows that lie side by side are packed, where each of their terms is on a line of its own") {
  auto const a = drawn<float>(1, 90, 70), b = drawn<float>(2, 90, 500);
  auto const k = atb.on(small_machine(1 << 12, 1 << 16));
  std::string const loops = k.loops(a, b);
  INFO(loops);
  CHECK(loops.find("A_copy[i / ") != std::string::npos);
  CHECK((weft::evaluate({.contract = true}, atb, a, b) == k(a, b)));
  CHECK(k.loops(a, drawn<float>(2, 90, 100)).find("A_copy") == std::string::npos);  // too few columns to pay for it
}
TEST_CASE("copies for a product are made in the loop that they serve alone, and by each of a few threads") {
  weft::target t = small_machine(1 << 12, 1 << 16);
  auto const a = drawn<float>(1, 90, 70), b = drawn<float>(2, 90, 500);
  weft::tensor<float, 2> const wide(90, 400), wider(90, 528);
  auto const text_with = [&](std::int32_t threads) {
    t.threads = threads;
    return atb.on(t).loops(wide, wider);
  };
  std::string const two = text_with(2), eight = text_with(8);
  INFO(two);
  INFO(eight);
  CHECK(has_in_order(two, {"parallel", "  B_copy\n", "  A_copy\n", "A_copy[i / "}));
  CHECK(has_in_order(eight, {"parallel", "  B_copy\n", "A_copy[i / ", "\nA_copy\n"}));
  for (std::int32_t threads : {2, 8}) {
    t.threads = threads;
    CHECK((weft::evaluate({.contract = true}, atb, a, b) == atb.on(t)(a, b)));
  }
  // Of a batch: one product's at a time; what is read for rows comes meanwhile, where no cache keeps it.
  auto const c = drawn<float>(1, 3, 100, 60), d = drawn<float>(2, 3, 60, 200);
  auto const k = batched.on(small_machine(1 << 12, 1 << 15));
  std::string const loops = k.loops(c, d);
  INFO(loops);
  CHECK(has_in_order(loops, {"i in 0..3", "  B_copy\n", "prefetch A for", "B_copy[i"}));
  CHECK((weft::evaluate({.contract = true}, batched, c, d) == k(c, d)));
}
TEST_CASE("a copy for a product stands in no loop that would make it again") {
  // In a batch whose length is open, all products of which read the same, though one alone is likely.
  auto const shared = weft::kernel<"shared">([](auto A, auto B) {
    return compute<"C">(A.extent(0), A.extent(1), B.extent(1), [=](auto b, auto i, auto j) {
      return sum(A.extent(2), [=](auto k) { return A(b, i, k) * B(k, j); });
    });
  });
  fuzz::drawn const d = drawn_of(shared, drawn<float>(1, 1, 400, 90), drawn<float>(2, 90, 528));
  auto const loops_by_rule = [&](std::int64_t batch) {
    weft::rule_input in{1 << 12, 1 << 16, 1 << 20, 2};
    in.strides.resize(d.what.tensors.size()), in.constant.resize(d.what.tensors.size(), false);
    if (batch < 0) in.likely = {{1, 400, 90}, {90, 528}, {1, 400, 528}};
    weft::schedule s(d.what, [&](int tensor, int dim) { return tensor == 0 && dim == 0 ? batch : fuzz::extents_of(d)(tensor, dim); }, {16, 32});
    weft::schedule_by_rule(s, in);
    return weft::print_loops(s);
  };
  constexpr std::int64_t open = -2;
  INFO(loops_by_rule(open));
  INFO(loops_by_rule(1));
  CHECK(has_in_order(loops_by_rule(open), {"for i in 0..", "parallel", "B_copy[", "\nB_copy\n"}));
  CHECK(has_in_order(loops_by_rule(1), {"parallel", "  B_copy\n", "B_copy["}));
  // In lines of pixels around the piece of each thread: panels are outermost.
  weft::target t = small_machine(1 << 10, 1 << 14);
  t.threads = 4;
  auto const x = drawn<float>(1, 5, 36, 16);
  auto const weights = drawn<float>(2, 3, 3, 16, 48);
  std::string const lines = nhwc.on(t).loops(x, weights);
  INFO(lines);
  CHECK(has_in_order(lines, {"y\n", "ko in", "parallel", "B_copy[", "\nB_copy\n"}));
}
TEST_CASE("of open sizes a product and what becomes of it are tiles in registers, too, and no terms are taken by two that may be odd") {
  auto const linear = weft::kernel<"linear">([](auto A, auto B, auto bias) {
    auto const C = compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
      return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
    });
    return compute<"D">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::max(C(i, j) + bias(j), 0.0F); });
  });
  fuzz::drawn const d = drawn_of(linear, drawn<float>(1, 120, 510), drawn<float>(2, 510, 500), drawn<float>(3, 500));
  weft::rule_input in{1 << 15, 1 << 20, 1 << 25, 2};
  in.l3_bytes_per_cycle = 8;
  in.strides.resize(d.what.tensors.size()), in.constant.resize(d.what.tensors.size(), false);
  in.likely = {{120, 510}, {510, 500}, {500}, {120, 500}, {120, 500}};
  weft::schedule s(d.what, [](int tensor, int dim) { return std::int64_t(-2 - (tensor == 0 && dim == 0 ? 0 : tensor == 0 || (tensor == 1 && dim == 0) ? 1 : 2)); }, {16, 32});
  weft::schedule_by_rule(s, in);
  std::string const loops = weft::print_loops(s);
  INFO(loops);
  CHECK(has_in_order(loops, {"D\n", "  C_1\n", "unrolled i in 0..part(", "vectorized j in 0..part(", "C_1["}));
  CHECK(loops.find("ki in 0..2") == std::string::npos);
}
TEST_CASE("a product is shared out where two threads that are awake are faster, and by no more than it pays for") {
  weft::target t = small_machine(1 << 15, 1 << 20);
  auto const is_shared = [&](std::int64_t n, std::int32_t threads) {
    t.threads = threads;
    auto const x = drawn<float>(1, n, n);
    std::string const loops = ab.on(t).loops(x, x);
    INFO(loops);
    std::size_t const at = loops.find(" in 0..", loops.find("parallel"));
    return loops.find("parallel") == std::string::npos ? 1 : std::stoi(loops.substr(at + 7));
  };
  CHECK(is_shared(32, 2) == 1);
  CHECK(is_shared(64, 1) == 1);
  CHECK(is_shared(64, 2) == 2);
  CHECK(is_shared(64, 64) <= 11);  // 32768 cycles
  CHECK(is_shared(64, 64) > 2);
}
TEST_CASE("the window of a convolution stands around its channels where those are last, unless bits are kept") {
  // As it is written, the channels are outermost.
  auto const turned = weft::kernel<"turned">([](auto image, auto weights) {
    return compute<"y">(image.extent(0) - 2, weights.extent(2), [=](auto i, auto o) {
      return sum(image.extent(1), 3, [=](auto c, auto a) { return image(i + a, c) * weights(a, c, o); });
    });
  });
  auto const image = drawn<float>(1, 40, 24);
  auto const weights = drawn<float>(2, 3, 24, 32);
  auto const free = turned.on(small_machine(1 << 15, 1 << 20));
  CHECK(has_in_order(free.loops(image, weights), {"l in 0..3", "k in 0..24"}));
  CHECK(has_in_order(free.with({.bitwise = true}).loops(image, weights), {"k in 0..24", "l in 0..3"}));
  check_rule(turned, image, weights);
}
TEST_CASE("rows of pixels that follow each other in memory are one row") {
  auto const x = drawn<float>(1, 17, 9, 13);
  auto const w = drawn<float>(2, 21, 17);
  std::string const loops = pointwise.on(small_machine(1 << 15, 1 << 20)).loops(x, w);
  INFO(loops);
  CHECK(loops.find("vectorized jk") != std::string::npos);
  check_rule(pointwise, x, w);
  check_rule(pointwise, drawn<float>(1, 5, 7, 16), drawn<float>(2, 3, 5));
  // From far away some of its terms at a time, while the next panel's come.
  weft::target far = weft::host();
  far.l1_bytes = 1 << 15, far.l2_bytes = 1 << 16, far.l3_bytes = 1 << 20, far.l3_bytes_per_cycle = 8, far.threads = 1;
  for (std::int64_t const channels : {192, 200}) {
    auto const pixels = drawn<float>(1, channels, 9, 13);
    auto const weights = drawn<float>(2, 21, channels);
    std::string const in_blocks = pointwise.on(far).loops(pixels, weights);
    INFO(in_blocks);
    CHECK(has_in_order(in_blocks, {"for lo in 0..3", "for jko", "prefetch A for jko + 1", "vectorized jki"}));
    weft::tensor<float, 3> y(21, 9, 13);
    pointwise.on(far)(pixels, weights, weft::out(y));
    CHECK((weft::evaluate(pointwise, pixels, weights) == y));
  }
  // With a window and a border, whether a pixel is there would be asked of each lane.
  auto const padded = weft::kernel<"padded">([](auto in, auto weights) {
    return compute<"y">(weights.extent(0), in.extent(1), in.extent(2), [=](auto o, auto i, auto j) {
      return sum(in.extent(0), 3, [=](auto c, auto b) {
        return weft::select(j + b >= 1 && j + b < in.extent(2) + 1, in(c, i, j + b - 1), 0) * weights(o, c, b);
      });
    });
  });
  auto const three = drawn<float>(2, 21, 17, 3);
  CHECK(padded.on(small_machine(1 << 15, 1 << 20)).loops(x, three).find("vectorized jk") == std::string::npos);
}
namespace {
template <std::int64_t Stride>
inline constexpr auto bordered = weft::kernel<"bordered">([](auto x, auto w) {
  return compute<"y">(w.extent(0), x.extent(1) / Stride, x.extent(2) / Stride, [=](auto o, auto i, auto j) {
    return sum(x.extent(0), w.extent(2), w.extent(3), [=](auto c, auto a, auto b) {
      auto const y = i * Stride + a - 1, z = j * Stride + b - 1;
      return weft::select(0 <= y && y < x.extent(1) && 0 <= z && z < x.extent(2), x(c, y, z), 0) * w(o, c, a, b);
    });
  });
});
inline constexpr auto each_channel = weft::kernel<"each_channel">([](auto x, auto w) {
  return compute<"y">(x.extent(0), x.extent(1), x.extent(2), [=](auto i, auto j, auto c) {
    return sum(3, 3, [=](auto a, auto b) {
      auto const y = i + a - 1, z = j + b - 1;
      return weft::select(0 <= y && y < x.extent(0) && 0 <= z && z < x.extent(1), x(y, z, c), 0) * w(a, b, c);
    });
  });
});
inline constexpr auto each_plane = weft::kernel<"each_plane">([](auto x, auto w) {
  return compute<"y">(x.extent(0), x.extent(1), x.extent(2), [=](auto c, auto i, auto j) {
    return sum(3, 3, [=](auto a, auto b) {
      auto const y = i + a - 1, z = j + b - 1;
      return weft::select(0 <= y && y < x.extent(1) && 0 <= z && z < x.extent(2), x(c, y, z), 0) * w(c, a, b);
    });
  });
});
}  // namespace

TEST_CASE("channels first: lanes run along what is made, where lines of pixels would leave them empty") {
  auto const x = drawn<float>(1, 16, 20, 14);
  auto const w = drawn<float>(2, 32, 16, 3, 3);
  weft::target t = weft::x86_64_avx2();
  t.l3_bytes_per_cycle = 0, t.vector_units = 1;
  t.threads = 1;
  std::string const loops = bordered<1>.on(t).loops(x, w);
  INFO(loops);
  CHECK(has_in_order(loops, {"unrolled k in 0..14", "vectorized ii", "B_copy"}));
  check_rule(bordered<1>, drawn<float>(1, 4, 6, 9), drawn<float>(2, 16, 4, 3, 3));
  check_rule(bordered<1>, drawn<float>(1, 3, 4, 18), drawn<float>(2, 19, 3, 3, 3));  // tails of rows and of lanes
  check_rule(bordered<2>, drawn<float>(1, 2, 6, 38), drawn<float>(2, 16, 2, 3, 3));
  // Full lines of pixels stay in lanes.
  CHECK(bordered<1>.on(t).loops(drawn<float>(1, 16, 20, 64), w).find("B_copy") == std::string::npos);
}
TEST_CASE("what follows a product whose rows of pixels are joined reads it, where other lanes would have its weights copied") {
  auto const followed = weft::kernel<"followed">([](auto x, auto w, auto v) {
    auto const c = compute<"c">(w.extent(0), x.extent(1), x.extent(2), [=](auto o, auto i, auto j) {
      return sum(x.extent(0), [=](auto k) { return x(k, i, j) * w(o, k); });
    });
    return compute<"y">(w.extent(0), x.extent(1), x.extent(2), [=](auto o, auto i, auto j) { return weft::max(c(o, i, j) + v(o), 0); });
  });
  weft::target const t = small_machine(1 << 12, 1 << 20);
  auto const loops = [&](std::int64_t k) {
    weft::tensor<float, 1> const v = drawn<float>(3, 48);
    weft::tensor<float, 3> const x = drawn<float>(1, k, 5, 5);
    weft::tensor<float, 2> const w = drawn<float>(2, 48, k);
    check_rule(followed, x, w, v);
    return followed.on(t).loops(x, w, v);
  };
  INFO(loops(40));
  CHECK(has_in_order(loops(40), {"c\n", "vectorized jk", "y\n"}));
  CHECK(!has_in_order(loops(5), {"c\n", "vectorized jk", "y\n"}));
  // Pixels from far away are packed in panels of joined rows, or asked for along them, which pays for as many terms.
  weft::target far = weft::host();
  far.l1_bytes = 1 << 12, far.l2_bytes = 1 << 13, far.l3_bytes = 1 << 20, far.l3_bytes_per_cycle = 8, far.threads = 1;
  for (std::int64_t const k : {150, 60}) {
    weft::tensor<float, 1> const v = drawn<float>(3, 48);
    weft::tensor<float, 3> const x = drawn<float>(1, k, 9, 9);
    weft::tensor<float, 2> const w = drawn<float>(2, 48, k);
    std::string const from_far = followed.on(far).loops(x, w, v);
    INFO(from_far);
    CHECK(has_in_order(from_far, {"c\n", "A_copy", "vectorized jk", "y\n"}) == (k == 150));
    weft::tensor<float, 3> y(48, 9, 9);
    followed.on(far)(x, w, v, weft::out(y));
    CHECK((weft::evaluate(followed, x, w, v) == y));
  }
}
TEST_CASE("pixels from far away, channels first, are packed in panels of joined lines, which the first tile of rows makes") {
  auto const points = weft::kernel<"points">([](auto x, auto w) {
    return compute<"y">(x.extent(0), w.extent(0), x.extent(2), x.extent(3), [=](auto n, auto o, auto i, auto j) {
      return sum(x.extent(1), [=](auto k) { return x(n, k, i, j) * w(o, k); });
    });
  });
  weft::target far = weft::host();
  far.l1_bytes = 1 << 12, far.l2_bytes = 1 << 16, far.l3_bytes = 1 << 20, far.l3_bytes_per_cycle = 8;
  for (std::int32_t const threads : {1, 2})
    for (auto [count, channels, outputs, high, wide] : {std::array<std::int64_t, 5>{1, 150, 48, 9, 9}, {1, 90, 49, 12, 16}, {3, 61, 52, 11, 13}, {2, 100, 50, 1, 50}}) {
      far.threads = threads;
      weft::tensor<float, 4> const x = drawn<float>(1, count, channels, high, wide);
      weft::tensor<float, 2> const w = drawn<float>(2, outputs, channels);
      std::string const loops = points.on(far).loops(x, w);
      INFO(loops);
      bool const joined = has_in_order(loops, {"prefetch A for", "A_copy stored at", "vectorized", "vectorized kl", "A_copy[i, (k * A.extent(3) + l) / "});
      CHECK(joined == (high > 1));
      weft::tensor<float, 4> y(count, outputs, high, wide);
      points.on(far)(x, w, weft::out(y));
      CHECK((weft::evaluate({.contract = true}, points, x, w) == y));
    }
}
TEST_CASE("so are those of a convolution whose window is one pixel") {
  auto const conv = weft::kernel<"conv">([](auto x, auto w) { return weft::ops::conv2d(x, w, {.stride = {1, 1}, .padding = {0, 0}, .layout = weft::ops::layout::channels_first}); });
  weft::target far = weft::host();
  far.l1_bytes = 1 << 12, far.l2_bytes = 1 << 16, far.l3_bytes = 1 << 20, far.l3_bytes_per_cycle = 8, far.threads = 1;
  for (auto [count, channels, outputs, high, wide] : {std::array<std::int64_t, 5>{1, 150, 48, 9, 9}, {2, 61, 52, 11, 16}}) {
    weft::tensor<float, 4> const x = drawn<float>(1, count, channels, high, wide), w = drawn<float>(2, outputs, channels, 1, 1);
    std::string const loops = conv.on(far).loops(x, w);
    INFO(loops);
    CHECK(has_in_order(loops, {"prefetch A for", "A_copy stored at", "vectorized", "vectorized kl", "A_copy[i, "}));
    CHECK(conv.on(far).ir(x, w).find("A_copy: f32[1, 1, ") != std::string::npos);  // one panel
    weft::tensor<float, 4> y(count, outputs, high, wide);
    conv.on(far)(x, w, weft::out(y));
    CHECK((weft::evaluate({.contract = true}, conv, x, w) == y));
  }
  check_rule(conv, drawn<float>(1, 2, 33, 7, 13), drawn<float>(2, 50, 33, 1, 1));
}
TEST_CASE("what follows such a product takes its tile along the joined lines, in which the product is laid out") {
  auto const followed = weft::kernel<"followed">([](auto x, auto w, auto v, auto r) {
    auto const c = weft::ops::conv2d(x, w, {.stride = {1, 1}, .padding = {0, 0}, .layout = weft::ops::layout::channels_first});
    return compute<"z">(x.extent(0), w.extent(0), x.extent(2), x.extent(3),
                        [=](auto n, auto o, auto i, auto j) { return weft::max(c(n, o, i, j) + v(o) + r(n, o, i, j), 0); });
  });
  weft::target far = weft::host();
  far.l1_bytes = 1 << 12, far.l2_bytes = 1 << 16, far.l3_bytes = 1 << 20, far.l3_bytes_per_cycle = 8;
  for (std::int32_t const threads : {1, 2})
    for (auto [count, channels, outputs, high, wide] : {std::array<std::int64_t, 5>{1, 150, 48, 9, 9}, {2, 61, 52, 11, 16}, {3, 90, 49, 11, 7}, {1, 100, 24, 9, 13}}) {
      far.threads = threads;
      weft::tensor<float, 4> const x = drawn<float>(1, count, channels, high, wide), w = drawn<float>(2, outputs, channels, 1, 1), r = drawn<float>(4, count, outputs, high, wide);
      weft::tensor<float, 1> const v = drawn<float>(3, outputs);
      std::string const loops = followed.on(far).loops(x, w, v, r);
      INFO(loops);
      CHECK(has_in_order(loops, {"z\n", "conv2d\n", "A_copy stored at", "conv2d[i, j, k] += A_copy[", "vectorized kl"}) == (outputs >= 48));
      if (outputs >= 48) CHECK(followed.on(far).ir(x, w, v, r).find("A_copy: f32[1, 1, ") != std::string::npos);  // one panel
      weft::tensor<float, 4> z(count, outputs, high, wide);
      followed.on(far)(x, w, v, r, weft::out(z));
      CHECK((weft::evaluate({.contract = true}, followed, x, w, v, r) == z));
    }
  // Where something stands behind the columns, the product keeps its own nest.
  auto const behind = weft::kernel<"behind">([](auto x, auto w, auto v) {
    auto const c = compute<"c">(w.extent(0), x.extent(1), x.extent(2), w.extent(1), [=](auto r, auto i, auto j, auto z) {
      return sum(x.extent(0), [=](auto k) { return x(k, i, j) * w(r, z, k); });
    });
    return compute<"y">(w.extent(0), x.extent(1), x.extent(2), w.extent(1), [=](auto r, auto i, auto j, auto z) { return weft::max(c(r, i, j, z) + v(r), 0); });
  });
  for (std::int64_t const last : {1, 3}) {
    weft::tensor<float, 3> const x = drawn<float>(1, 150, 9, 9), w = drawn<float>(2, 48, last, 150);
    weft::tensor<float, 1> const v = drawn<float>(3, 48);
    far.threads = 1;
    std::string const loops = behind.on(far).loops(x, w, v);
    INFO(loops);
    CHECK(has_in_order(loops, {"unrolled", "vectorized"}));
    weft::tensor<float, 4> y(48, 9, 9, last);
    behind.on(far)(x, w, v, weft::out(y));
    CHECK((weft::evaluate({.contract = true}, behind, x, w, v) == y));
  }
  // A how-lambda that says the same computes the same.
  auto const by_hand = weft::kernel<"by_hand">(
      [](auto x, auto w, auto v) {
        auto const c = compute<"c">(w.extent(0), x.extent(1), x.extent(2), [=](auto o, auto i, auto j) {
          return sum(x.extent(0), [=](auto k) { return x(k, i, j) * w(o, k); });
        });
        return compute<"y">(w.extent(0), x.extent(1), x.extent(2), [=](auto o, auto i, auto j) { return weft::max(c(o, i, j) + v(o), 0); });
      },
      [](auto& s, auto, auto, auto, auto c, auto y) {
        auto const [o, i, j] = y.axes();
        auto const rows = s.fuse(i, j);
        auto const [ro, ri] = s.split(rows, 16);
        auto const [oo, oi] = s.split(o, 4);
        auto const own = s.transform_layout(c, [](auto to, auto row, auto column) { return weft::dims(to, join(row, column)); });
        s.reorder(ro, oo, oi, ri);
        s.vectorize(ri), s.unroll(oi);
        s.compute_at(own, oo);
        auto const [co, cr, k] = own.axes();
        s.reorder(k, co, cr);
        s.unroll(co), s.vectorize(cr);
      });
  weft::tensor<float, 3> const x = drawn<float>(1, 7, 5, 9);
  weft::tensor<float, 2> const w = drawn<float>(2, 6, 7);
  weft::tensor<float, 1> const v = drawn<float>(3, 6);
  weft::tensor<float, 3> y(6, 5, 9);
  by_hand(x, w, v, weft::out(y));
  CHECK((weft::evaluate({.contract = weft::cpu().fma}, by_hand, x, w, v) == y));
  CHECK(by_hand.ir(x, w, v).find("c: f32[4, 16]") != std::string::npos);
}
TEST_CASE("tiles of near rows are as long as what is left of sixteen") {
  using weft::detail::tile_of_near_rows;
  for (auto [rows, tile, vectors] : {std::array<std::int64_t, 3>{14, 14, 1}, {28, 14, 1}, {56, 8, 2}, {112, 8, 2}, {7, 7, 2}, {1, 1, 2}}) {
    CAPTURE(rows);
    CHECK(tile_of_near_rows(rows, 64, 16, 32).rows == tile);
    CHECK(tile_of_near_rows(rows, 64, 16, 32).vectors == vectors);
  }
  for (std::int64_t rows = 1; rows < 70; ++rows)
    for (std::int64_t registers : {8, 16, 32}) {
      auto const t = tile_of_near_rows(rows, 64, 16, registers);
      CHECK((t.rows >= 1 && t.rows <= rows && t.rows * t.vectors + t.vectors + 1 <= registers));
    }
}
TEST_CASE("panels that do not fit into the second cache are outermost") {
  auto const x = drawn<float>(1, 16, 12, 16);
  auto const weights = drawn<float>(2, 3, 3, 16, 96);
  auto const with_panels = [&](std::int64_t l2) { return nhwc.on(small_machine(1 << 10, l2)).loops(x, weights); };
  INFO(with_panels(1 << 15));
  CHECK(has_in_order(with_panels(1 << 15), {"y\n", "ko in", "j in", "unrolled"}));
  CHECK(has_in_order(with_panels(1 << 20), {"y\n", "j in", "ko in", "unrolled"}));
}
TEST_CASE("weights that all lines of pixels read are copied by each of a few threads, of outermost panels those that it works on") {
  auto const x = drawn<float>(1, 18, 30, 16);
  auto const w = drawn<float>(2, 3, 3, 16, 96);
  auto const expected = weft::evaluate({.contract = true}, nhwc, x, w);
  auto const text_with = [&](std::int32_t threads, std::int64_t l2) {
    weft::target t = small_machine(1 << 10, l2);
    t.threads = threads;
    CHECK((expected == nhwc.on(t)(x, w)));
    return nhwc.on(t).loops(x, w);
  };
  std::string const two = text_with(2, 1 << 20), eight = text_with(8, 1 << 20), far = text_with(2, 1 << 15);
  INFO(two);
  INFO(eight);
  INFO(far);
  CHECK(has_in_order(two, {"parallel io in 0..2", "  B_copy\n", "ii in 0..8"}));
  CHECK(has_in_order(eight, {"parallel", "\nB_copy\n"}));
  CHECK(has_in_order(far, {"parallel koo in 0..2", "  B_copy\n", "koi in 0..3", "i in 0..16"}));
}
TEST_CASE("where each channel is summed alone, lines and pixels of a tile share their windows") {
  auto const x = drawn<float>(1, 6, 7, 24);
  auto const w = drawn<float>(2, 3, 3, 24);
  std::string const loops = each_channel.on(small_machine(1 << 15, 1 << 20)).loops(x, w);
  INFO(loops);
  CHECK(has_in_order(loops, {"unrolled", "unrolled ii in", "unrolled ji in", "vectorized"}));
  check_rule(each_channel, x, w);
  check_rule(each_channel, drawn<float>(1, 3, 2, 5), drawn<float>(2, 3, 3, 5));
  check_rule(each_plane, drawn<float>(1, 3, 9, 21), drawn<float>(2, 3, 3, 3));
  // Where memory is far more lines, of fewer places, if they divide what there is and threads have as many of them.
  weft::target far = small_machine(1 << 15, 1 << 20);
  far.vector_registers = 32, far.l3_bytes_per_cycle = 8;
  auto const lines_of = [&](auto const& kernel, auto const& image, auto const& weights) {
    std::string const text = kernel.on(far).loops(image, weights);
    INFO(text);
    for (char const* n : {"7", "8", "6", "4"})
      if (has_in_order(text, {"unrolled", (std::string(" in 0..") + n + "\n").c_str(), "vectorized"})) return n[0] - '0';
    return 0;
  };
  CHECK(lines_of(each_channel, drawn<float>(1, 28, 40, 24), w) == 7);
  CHECK(lines_of(each_channel, drawn<float>(1, 32, 40, 24), w) == 8);
  CHECK(lines_of(each_channel, drawn<float>(1, 30, 40, 24), w) == 6);
  CHECK(lines_of(each_channel, drawn<float>(1, 31, 40, 24), w) == 4);
  CHECK(lines_of(each_channel, drawn<float>(1, 16, 40, 24), w) == 4);
  CHECK(lines_of(each_plane, drawn<float>(1, 3, 30, 21), drawn<float>(2, 3, 3, 3)) == 4);
  far.threads = 3;
  CHECK(lines_of(each_channel, drawn<float>(1, 28, 40, 24), w) == 4);
  for (std::int64_t const lines : {28, 32, 30}) {
    auto const image = drawn<float>(1, lines, 40, 24);
    CHECK((weft::evaluate({.contract = true}, each_channel, image, w) == each_channel.on(far)(image, w)));
  }
}
TEST_CASE("sums whose lanes do not lie side by side in the result are stored by squares") {
  weft::target const t = weft::host();
  if (!t.has("avx512f")) {
    MESSAGE("[skip] stores of squares: this machine has no AVX-512");
    return;
  }
  auto const x = drawn<float>(1, 16, 20, 14);
  auto const w = drawn<float>(2, 32, 16, 3, 3);
  std::string const code = bordered<1>.assembly(x, w);
  CHECK(code.find("vscatter") == std::string::npos);
  CHECK(code.find("vshufps") != std::string::npos);
}
TEST_CASE("weights that stay the same are packed once") {
  weft::tensor<float, 2> const a = drawn<float>(1, 8, 300), b = drawn<float>(2, 300, 200);
  weft::constant weights(weft::view(b.data(), 300, 200));
  CHECK(ab.loops(a, weights).find("kept for later calls") != std::string::npos);
  weft::tensor<float, 2> c(8, 200);
  for (int times = 0; times < 2; ++times) {
    ab(a, weights, weft::out(c));
    CHECK((weft::evaluate({.contract = weft::cpu().fma}, ab, a, b) == c));
  }
}
TEST_CASE("packed panels that serve few tiles of rows: the next block of terms is asked for by these tiles in turn, and threads share panels out") {
  weft::target t = small_machine(1 << 12, 1 << 16);
  t.threads = 2;
  auto const few_rows = [](std::int64_t m) { return std::min<std::int64_t>(m, 8); };
  auto const rows = [&](std::int64_t m, bool kept) {
    weft::tensor<float, 2> const a = drawn<float>(1, m, 300), b = drawn<float>(2, 300, 400);
    weft::constant weights(weft::view(b.data(), 300, 400));
    auto const on = ab.on(t);
    // Of many rows the first ones, those in the middle, where another thread begins, and the last: a row hangs on no other.
    weft::tensor<float, 2> const c = on(a, weights);
    for (std::int64_t from : {std::int64_t{0}, (m - few_rows(m)) / 2, m - few_rows(m)}) {
      auto const expected = weft::evaluate({.contract = t.fma}, ab, weft::view(a.data() + from * 300, few_rows(m), 300), b);
      CHECK(std::equal(expected.values.begin(), expected.values.end(), c.data() + from * 400));
    }
    return kept ? on.loops(a, weights) : on.loops(a, b);
  };
  std::string const few = rows(16, true);
  INFO(few);
  CHECK(has_in_order(few, {"parallel jo in", "ko in", "io in", "ki in", "prefetch B_copy for ko + 1 into l2 in turns of io", "unrolled", "vectorized"}));
  CHECK(rows(4, true).find("prefetch") == std::string::npos);    // one tile: the panel is read once
  CHECK(rows(200, true).find("prefetch") == std::string::npos);  // it stays at hand for many
  // As it lies, each tile asks for the next panel.
  std::string const lies = rows(16, false);
  CHECK(has_in_order(lies, {"ko in", "io in", "ki in", "prefetch B for "}));
  CHECK(lies.find("in turns") == std::string::npos);
  // Where a panel's terms are one block, the next panel.
  weft::tensor<float, 2> const a = drawn<float>(1, 16, 40), b = drawn<float>(2, 40, 900);
  weft::constant weights(weft::view(b.data(), 40, 900));
  CHECK(has_in_order(ab.on(t).loops(a, weights), {"parallel jo in", "io in", "k in", "prefetch B_copy for jo + 1 into l2 in turns of io"}));
  // Two units wait for what is asked for twice: three tiles take turns, two do not, and what serves many comes by itself.
  t.vector_units = 2;
  std::string const by_turns = rows(16, false);
  INFO(by_turns);
  CHECK(has_in_order(by_turns, {"ko in", "io in", "ki in", "prefetch B for ", " into l2 in turns of io"}));
  std::string const two_tiles = rows(8, false);
  CHECK(two_tiles.find(" into l2") != std::string::npos);
  CHECK(two_tiles.find("in turns") == std::string::npos);
  CHECK(rows(200, false).find("prefetch") == std::string::npos);
  CHECK(rows(1000, false).find("prefetch A for io + 1") != std::string::npos);  // from memory
  // Where memory is far each choice was measured with two units.
  weft::target far = t, far_as_before = t;
  far.l3_bytes_per_cycle = far_as_before.l3_bytes_per_cycle = 8, far_as_before.vector_units = 1;
  CHECK(ab.on(far).loops(a, b) == ab.on(far_as_before).loops(a, b));
}
TEST_CASE("products of sizes that stay open") {
  auto const a = drawn<float>(1, 37, 29), b = drawn<float>(2, 29, 70);
  weft::tensor<float, 2> c(37, 70);
  auto const m = weft::dim<"m">(37);
  auto const k = weft::dim<"k">(29);
  auto const n = weft::dim<"n">(70);
  ab(weft::view(a.data(), m, k), weft::view(b.data(), k, n), weft::out(c));
  CHECK((weft::evaluate({.contract = weft::cpu().fma}, ab, a, b) == c));
  std::string const loops = ab.loops(weft::view(a.data(), m, k), weft::view(b.data(), k, n));
  INFO(loops);
  CHECK(has_in_order(loops, {"unrolled", "vectorized"}));
  auto const v = drawn<float>(3, 70);
  dense(weft::view(a.data(), m, k), weft::view(b.data(), k, n), weft::view(v.data(), n), weft::out(c));
  CHECK((weft::evaluate({.contract = weft::cpu().fma}, dense, a, b, v) == c));
  CHECK(has_in_order(dense.loops(weft::view(a.data(), m, k), weft::view(b.data(), k, n), weft::view(v.data(), n)), {"S\n", "C_1\n", "vectorized"}));
}
TEST_CASE("a tile takes the registers that there are") {
  CHECK(weft::detail::best_tile(1000, 1000, 16, 32).rows * weft::detail::best_tile(1000, 1000, 16, 32).vectors >= 24);
  for (std::int64_t registers : {16, 32})
    for (std::int64_t rows : {1, 2, 5, 6, 7, 16, 100})
      for (std::int64_t columns : {1, 8, 16, 17, 100}) {
        weft::detail::register_tile_size const t = weft::detail::best_tile(rows, columns, 8, registers);
        CHECK(t.rows * t.vectors + t.vectors + 1 <= registers);
        CHECK((t.rows >= 1 && t.rows <= rows && t.vectors >= 1));
      }
  // Two rows that are left over of 14 would wait for panels from the second cache.
  CHECK(weft::detail::best_tile(14, 256, 16, 32).rows == 6);
  CHECK(weft::detail::best_tile(14, 256, 16, 32, {.vector = 2.5}).rows == 5);
  // Two units: tiles of one vector are no longer as good as larger ones; a panel of three vectors, and not of four, stays near.
  weft::detail::tile_costs const two{.at_once = 2, .vector = 2.5, .row = 0.15, .most_vectors = 5, .most_rows = 14};
  auto const tile = [](std::int64_t rows, std::int64_t columns, weft::detail::tile_costs const& costs) {
    weft::detail::register_tile_size const t = weft::detail::best_tile(rows, columns, 16, 32, costs);
    return std::pair(t.rows, t.vectors);
  };
  CHECK(tile(300, 300, {.vector = 2.5}).second == 1);
  CHECK((tile(300, 300, two) == std::pair<std::int64_t, std::int64_t>(6, 4)));
  CHECK((tile(400, 400, two) == std::pair<std::int64_t, std::int64_t>(5, 5)));
  CHECK((tile(64, 3136, two) == std::pair<std::int64_t, std::int64_t>(6, 4)));
  weft::detail::tile_costs near = two;
  near.near_vectors = 3, near.whole_vectors = 5, near.far_vector = 6.4;
  CHECK((tile(14, 256, near) == std::pair<std::int64_t, std::int64_t>(14, 2)));
}

TEST_CASE("products of bytes, and of bf16, take the instructions that join several terms, where the machine has them") {
  auto const a = drawn<std::uint8_t>(1, 70, 96);
  auto const b = drawn<std::int8_t>(2, 96, 130);
  check_rule(ab, a, b);
  check_rule(ab, drawn<std::uint8_t>(1, 35, 97), drawn<std::int8_t>(2, 97, 67));
  weft::target t = weft::x86_64_avx2();
  t.l3_bytes_per_cycle = 0, t.vector_units = 1;
  CHECK(ab.on(t).loops(a, b).find(" by ") == std::string::npos);
  t.features.push_back("avxvnni");
  CHECK(has_in_order(ab.on(t).loops(a, b), {"by vpdpbusd", "B_copy"}));
  // One row uses each element once: packing it would be most of the work.
  CHECK(ab.on(t).loops(drawn<std::uint8_t>(1, 1, 96), b).find(" by ") == std::string::npos);
  t = weft::host();
  if (t.has("avx512bf16")) {
    auto const x = drawn<weft::bf16>(1, 70, 96), y = drawn<weft::bf16>(2, 96, 130);
    CHECK(ab.on(t).loops(x, y).find("by vdpbf16ps") != std::string::npos);
    // Which has not the bits of the loop.
    CHECK(ab.on(t).with({.bitwise = true}).loops(x, y).find(" by ") == std::string::npos);
  }
}
TEST_CASE("terms are taken by two where memory is far, if blocks of them are all as long") {
  weft::target t = small_machine(48 << 10, 1 << 19);
  t.threads = 1, t.l3_bytes_per_cycle = 10;
  for (std::int64_t const k : {4096, 4094}) {  // in four blocks of 1024
    auto const a = drawn<float>(1, 16, k), b = drawn<float>(2, k, 64);
    weft::constant const weights(weft::view(b.data(), k, 64));
    std::string const loops = ab.on(t).loops(a, weights);
    INFO(loops);
    CHECK(loops.find("ko in 0..4\n") != std::string::npos);
    CHECK((loops.find("unrolled kii in 0..2") != std::string::npos) == (k == 4096));
  }
}
TEST_CASE("products whose sizes are whole tiles take AMX's, two by two, where the machine has it; packed weights of few rows, too") {
  weft::target t = weft::host();
  if (!t.has("avx512bw")) {
    MESSAGE("[skip] this machine has no vectors of 64 bytes");
    return;
  }
  t.features = {"amx-bf16", "amx-int8", "amx-tile", "avx512bf16", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "avx512vnni"};
  t.threads = 1, t.l2_bytes = 2 << 20;
  auto const a = drawn<std::uint8_t>(1, 64, 128);
  auto const b = drawn<std::int8_t>(2, 128, 96);
  CHECK(has_in_order(ab.on(t).loops(a, b), {"io in 0..2", "jo in 0..3", "ko in 0..2", "unrolled iio in 0..2", "unrolled jio in 0..2", "by tdpbusd", "B_copy"}));
  for (std::int32_t const far : {0, 10}) {  // all panels stay near: none is copied in a loop inside of that over rows
    t.l3_bytes_per_cycle = far;
    CHECK(has_in_order(ab.on(t).loops(a, b), {"io in 0..2", "jo in 0..3", "ko in 0..2", "by tdpbusd", "where", "B_copy"}));
  }
  CHECK(ab.on(t).loops(b, drawn<std::uint8_t>(1, 96, 64)).find("by tdpbsud") == std::string::npos);  // 96 terms
  CHECK(ab.on(t).loops(drawn<std::int8_t>(1, 64, 128), drawn<std::uint8_t>(1, 128, 64)).find("by tdpbsud") != std::string::npos);
  CHECK(ab.on(t).loops(drawn<std::int8_t>(1, 64, 128), b).find("by tdpbssd") != std::string::npos);
  CHECK(ab.on(t).loops(drawn<std::uint8_t>(1, 64, 128), drawn<std::uint8_t>(1, 128, 64)).find("by tdpbuud") != std::string::npos);
  CHECK(ab.on(t).loops(drawn<std::uint8_t>(1, 60, 128), b).find("by vpdpbusd") != std::string::npos);
  auto const x = drawn<weft::bf16>(1, 64, 128), y = drawn<weft::bf16>(2, 128, 96);
  CHECK(ab.on(t).loops(x, y).find("by tdpbf16ps") != std::string::npos);
  CHECK(ab.on(t).with({.bitwise = true}).loops(x, y).find(" by ") == std::string::npos);
  weft::constant const weights(weft::view(b.data(), 128, 96));
  auto const few = drawn<std::uint8_t>(1, 16, 128);
  CHECK(has_in_order(ab.on(t).loops(few, weights), {"unrolled io in 0..1", "unrolled jio in 0..2", "by tdpbusd"}));
  CHECK(ab.on(t).loops(few, b).find(" by ") == std::string::npos);
  CHECK(ab.on(t).loops(weft::view(a.data(), weft::dim<"m">(64), 128), b).find("by tdp") == std::string::npos);
  // A window without places, whose sums are empty.
  auto const windows = weft::kernel<"windows">([](auto A, auto W) {
    return weft::compute<"C">(A.extent(0), W.extent(2), [=](auto i, auto j) {
      return weft::sum(W.extent(0), W.extent(1), [=](auto window, auto k) { return A(i + window, k) * W(window, k, j); });
    });
  });
  weft::constant const none(weft::view(y.data(), 0, 128, 32));
  std::string const empty = windows.on(t).loops(x, none);
  INFO(empty);
  CHECK(has_in_order(empty, {"C", "0..0"}));
  // Rows that are read from places of their own, one row for all, sums that begin with another number: no tiles, and no refusal.
  auto const places = drawn<std::int32_t>(5, 64);
  auto const gathered = weft::kernel<"gathered">([](auto A, auto B, auto I) {
    return weft::compute<"C">(I.extent(0), B.extent(1), [=](auto i, auto j) {
      return weft::sum(B.extent(0), [=](auto k) { return A(weft::clamp(I(i), 0, 63), k) * B(k, j); });
    });
  });
  auto const repeated = weft::kernel<"repeated">([](auto A, auto B) {
    return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) { return weft::sum(B.extent(0), [=](auto k) { return A(i / 2, k) * B(k, j); }); });
  });
  auto const one_row = weft::kernel<"one_row">([](auto A, auto B) {
    return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto, auto j) { return weft::sum(B.extent(0), [=](auto k) { return A(3, k) * B(k, j); }); });
  });
  auto const from_five = weft::kernel<"from_five">([](auto A, auto B) {
    return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
      return weft::reduce(5, [](auto p, auto q) { return p + q; }, B.extent(0), [=](auto k) { return A(i, k) * B(k, j); });
    });
  });
  check_rule(gathered, a, b, places), check_rule(repeated, a, b), check_rule(one_row, a, b), check_rule(from_five, a, b);
  check_rule(ab, a, b), check_rule(ab, x, y), check_rule(ab, drawn<std::int8_t>(1, 64, 128), drawn<std::uint8_t>(1, 128, 64));
}
TEST_CASE("rows of a panel that an instruction wants next to each other are woven, whole vectors of them") {
  weft::target t = weft::x86_64_avx2();
  t.l3_bytes_per_cycle = 0, t.vector_units = 1;
  t.features.push_back("avxvnni"), t.threads = 1;
  auto const a = drawn<std::uint8_t>(1, 70, 96);
  std::string const whole = ab.on(t).loops(a, drawn<std::int8_t>(2, 96, 128));
  INFO(whole);
  CHECK(has_in_order(whole, {"B_copy\n", "unrolled", "vectorized"}));
  // Where the last panel has columns that are not there, lanes would have to be left out: AVX-512 reads bytes so, AVX2 does not.
  auto const copy_of = [](std::string const& loops) { return loops.substr(loops.find("B_copy\n")); };
  CHECK(copy_of(ab.on(t).loops(a, drawn<std::int8_t>(2, 96, 130))).find("vectorized") == std::string::npos);
  t = weft::host();
  if (!t.has("avx512vnni")) {
    MESSAGE("[skip] this machine has no instruction for four bytes in 64 byte vectors");
    return;
  }
  CHECK(copy_of(ab.on(t).loops(a, drawn<std::int8_t>(2, 96, 130))).find("vectorized") != std::string::npos);
  for (std::int64_t const n : {64, 48, 130, 17}) check_rule(ab, a, drawn<std::int8_t>(2, 96, n)), check_rule(ab, drawn<std::uint8_t>(3, 35, 97), drawn<std::int8_t>(2, 97, n));
}
TEST_CASE("what follows products of bytes, and of bf16, leaves them their instructions") {
  auto const scaled = weft::kernel<"scaled">([](auto A, auto B, auto v) {
    auto const C = compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
      return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
    });
    return compute<"R">(A.extent(0), B.extent(1), [=](auto i, auto j) {
      return weft::cast<std::uint8_t>(weft::min(weft::max(weft::cast<float>(C(i, j)) * v(j), 0.0f), 255.0f));
    });
  });
  auto const a = drawn<std::uint8_t>(1, 70, 96);
  auto const b = drawn<std::int8_t>(2, 96, 130);
  auto const v = drawn<float>(3, 130);
  check_rule(scaled, a, b, v);
  check_rule(scaled, drawn<std::uint8_t>(1, 35, 97), drawn<std::int8_t>(2, 97, 67), drawn<float>(3, 67));
#if !WEFT_HEADER_ONLY
  weft::target t = weft::x86_64_avx2();
  t.l3_bytes_per_cycle = 0, t.vector_units = 1;
  t.features.push_back("avxvnni"), t.threads = 1;
  CHECK(has_in_order(scaled.on(t).loops(a, b, v), {"R\n", "C_1\n", "by vpdpbusd", "vectorized", "B_copy"}));
  t = weft::host();
  if (t.has("avx512bf16")) {
    auto const x = drawn<weft::bf16>(1, 70, 96), y = drawn<weft::bf16>(2, 96, 130);
    CHECK(dense.on(t).loops(x, y, v).find("by vdpbf16ps") != std::string::npos);
    CHECK(dense.on(t).with({.bitwise = true}).loops(x, y, v).find(" by ") == std::string::npos);
  }
#endif
}
TEST_CASE("where memory is far, few rows read whole rows of their columns, sixteen at a time; of more of them the first tile packs the panel that all read") {
  auto const run = [](std::int64_t m, std::int64_t k, std::int64_t n, std::int32_t threads, std::initializer_list<char const*> words, char const* without) {
    weft::target t = small_machine(1 << 11, 1 << 13);
    t.threads = threads, t.l3_bytes_per_cycle = 10;
    auto const a = drawn<float>(1, m, k), b = drawn<float>(2, k, n);
    auto const far = ab.on(t);
    std::string const loops = far.loops(a, b);
    INFO(loops);
    CHECK(has_in_order(loops, words));
    CHECK(loops.find(without) == std::string::npos);
    CHECK((weft::evaluate({.contract = true}, ab, a, b) == far(a, b)));
  };
  run(16, 130, 200, 1, {"joo in", "ko in", "joi in", "io in", "ki in 0..16", "B["}, "prefetch");
  run(16, 130, 201, 2, {"parallel", "ko in", "joi in", "io in", "ki in 0..16", "B["}, "B_copy");
  run(60, 20, 200, 1, {"jo in", "io in", "k in 0..20", "prefetch B for", "B_copy stored at jo", "B_copy["}, "joo");
  run(61, 21, 203, 2, {"parallel jo", "io in", "k in 0..21", "prefetch B for", "B_copy stored at jo", "B_copy["}, "joo");
  auto const loops_of = [](auto const& kernel, auto const& a, auto const& b, std::int32_t threads) {
    fuzz::drawn const d = drawn_of(kernel, a, b);
    weft::rule_input in{1 << 15, 1 << 20, 1 << 25, threads};
    in.strides.resize(d.what.tensors.size()), in.constant.resize(d.what.tensors.size(), false);
    in.l3_bytes_per_cycle = 10, in.copy_reads = 1;
    weft::schedule s(d.what, fuzz::extents_of(d), {32, 64});
    weft::schedule_by_rule(s, in);
    CHECK(s.state != weft::verdict::illegal);
    return weft::print_loops(s);
  };
  // Where rows are packed, too, threads share them out, and each packs its own.
  std::string const turned = loops_of(atb, drawn<float>(1, 600, 120), drawn<float>(2, 600, 400), 2);
  INFO(turned);
  CHECK(has_in_order(turned, {"parallel io", "A_copy\n", "jo in", "io", "B_copy stored at jo", "A_copy[", "B_copy["}));
  // With one register left, two terms at a time where no panel is cut: sums would leave theirs for the masks of one that is.
  std::string const even = loops_of(ab, drawn<float>(1, 200, 2000), drawn<float>(2, 2000, 416), 1);
  std::string const cut = loops_of(ab, drawn<float>(1, 200, 2000), drawn<float>(2, 2000, 400), 1);
  INFO(even);
  INFO(cut);
  CHECK(has_in_order(even, {"unrolled ki in 0..2", "unrolled ii in 0..14", "vectorized ji in 0..32"}));
  CHECK(has_in_order(cut, {"unrolled ii in 0..14", "vectorized ji in 0..32"}));
  CHECK(cut.find("unrolled ki") == std::string::npos);
  std::string const alone = loops_of(ab, drawn<float>(1, 24, 144), drawn<float>(2, 144, 56), 1);
  INFO(alone);
  CHECK(has_in_order(alone, {"unrolled ii in 0..6", "vectorized j in 0..56"}));
  CHECK(alone.find("in 0..2\n") == std::string::npos);
}
TEST_CASE("where memory is far, a convolution with channels first sums along lines of channels: weights in that order, pixels from a copy in it") {
  auto const check = [](auto const& kernel, auto const& x, auto const& w, std::int32_t threads, std::int64_t l2, std::initializer_list<char const*> words) {
    weft::target t = small_machine(1 << 11, l2);
    t.threads = threads, t.l3_bytes_per_cycle = 10;
    auto const far = kernel.on(t);
    std::string const loops = far.loops(x, w);
    INFO(loops);
    CHECK(has_in_order(loops, words));
    auto const expected = weft::evaluate({.contract = true}, kernel, x, w);
    CHECK((expected == far(x, w)));
    weft::constant const fixed(weft::view(w.data(), w.extent(0), w.extent(1), w.extent(2), w.extent(3)));
    CHECK((expected == far(x, fixed)));
    t.l3_bytes_per_cycle = 0, t.vector_units = 1;
    CHECK(kernel.on(t).loops(x, w).find("A_copy") == std::string::npos);
  };
  auto const x = drawn<float>(1, 16, 10, 12), full = drawn<float>(1, 17, 9, 16);
  auto const w = drawn<float>(2, 32, 16, 3, 3), odd = drawn<float>(2, 37, 17, 3, 3);
  // Panels outermost, each packed where it is read, and pixels in front; where all panels stay in the second cache, the lines that a line of the result reads.
  check(bordered<1>, x, w, 1, 1 << 14, {"io in", "B_copy\n", "j in", "ko in", "m in 0..3", "n in 0..3", "l in 0..16", "unrolled ki", "vectorized ii", "A_copy[", "A_copy\n"});
  check(bordered<1>, x, w, 1, 1 << 20, {"j in", "A_copy\n", "io in", "ko in", "m in 0..3", "n in 0..3", "l in 0..16", "unrolled ki", "vectorized ii", "A_copy[", "B_copy\n"});
  check(bordered<1>, x, w, 2, 1 << 14, {"parallel", "B_copy\n", "A_copy["});
  check(bordered<1>, x, w, 2, 1 << 20, {"parallel", "A_copy["});
  check(bordered<1>, full, odd, 1, 1 << 14, {"A_copy["});  // lanes of pixels would be full
  check(bordered<2>, drawn<float>(1, 17, 10, 26), odd, 1, 1 << 14, {"A_copy["});
  check(nchw, drawn<float>(1, 18, 9, 21), drawn<float>(2, 19, 18, 3, 3), 1, 1 << 14, {"A_copy["});
  // Too few channels, or too few outputs of them.
  weft::target t = small_machine(1 << 11, 1 << 14);
  t.l3_bytes_per_cycle = 10;
  CHECK(nchw.on(t).loops(drawn<float>(1, 15, 9, 21), drawn<float>(2, 32, 15, 3, 3)).find("A_copy") == std::string::npos);
  CHECK(nchw.on(t).loops(x, drawn<float>(2, 15, 16, 3, 3)).find("A_copy") == std::string::npos);
  CHECK(nchw.on(t).with({.bitwise = true}).loops(x, w).find("A_copy") == std::string::npos);
}
TEST_CASE("of two units for vectors, tiles of near rows have two wherever registers and what is written out allow it") {
  using weft::detail::tile_of_near_rows;
  for (auto [rows, window, tile, vectors] : {std::array<std::int64_t, 4>{14, 1, 14, 2}, {28, 3, 14, 2}, {112, 1, 14, 2}, {7, 3, 7, 2}, {112, 7, 8, 2}, {112, 20, 16, 1}}) {
    CAPTURE(rows);
    auto const t = tile_of_near_rows(rows, 64, 16, 32, 2, window);
    CHECK(t.rows == tile);
    CHECK(t.vectors == vectors);
  }
  for (std::int64_t rows = 1; rows < 70; ++rows)
    for (std::int64_t registers : {8, 16, 32}) {
      auto const t = tile_of_near_rows(rows, 64, 16, registers, 2, 3);
      CHECK((t.rows >= 1 && t.rows <= rows && t.rows * t.vectors + t.vectors + 1 <= registers));
    }
}
TEST_CASE("where memory is far, a large product goes slab by slab of its terms, with both operands packed: rows once, some panels of columns at a time") {
  auto const check = [](auto const& kernel, auto const& a, auto const& b, std::int32_t threads, std::initializer_list<char const*> words) {
    fuzz::drawn const d = drawn_of(kernel, a, b);
    weft::rule_input in{1 << 10, 1 << 13, 1 << 15, threads};  // 37 terms of 6 rows of f32 are seven eighths of the first cache
    in.strides.resize(d.what.tensors.size()), in.constant.resize(d.what.tensors.size(), false);
    in.l3_bytes_per_cycle = 10, in.copy_reads = 1;
    weft::schedule s(d.what, fuzz::extents_of(d), {16, 32});
    weft::schedule_by_rule(s, in);
    std::string const loops = weft::print_loops(s);
    INFO(loops);
    CHECK(s.state == weft::verdict::legal);
    CHECK(has_in_order(loops, words));
  };
  auto const a = drawn<float>(1, 90, 90), b = drawn<float>(2, 90, 99);
  check(ab, a, b, 1, {"for ko in 0..3", "  A_copy\n", "joo in", "io in 0..15", "joi in", "ki in 0..30", "prefetch B for", "B_copy stored at joo", "A_copy[", "B_copy["});
  check(ab, a, b, 2, {"parallel ioo in 0..2", "ko in 0..3", "  A_copy\n", "ki in 0..30", "B_copy stored at joo"});
  check(atb, drawn<double>(1, 60, 86), drawn<double>(2, 60, 84), 1, {"for ko in", "  A_copy\n", "B_copy stored at joo", "A_copy[", "B_copy["});
  // Of few rows, too; fewer columns where a panel of all terms takes more than half of the second cache. Columns, or terms, are too few.
  check(ab, drawn<float>(1, 10, 90), b, 1, {"for ko in 0..3", "  A_copy\n", "ki in 0..30", "B_copy stored at joo"});
  check(ab, a, drawn<float>(2, 90, 33), 1, {"for ko in 0..3", "  A_copy\n", "ki in 0..30", "B_copy stored at"});
  check(ab, a, drawn<float>(2, 90, 19), 1, {"io in", "B_copy stored at jo", "A[i, k]"});
  check(ab, drawn<float>(1, 90, 60), drawn<float>(2, 60, 99), 1, {"io in", "B_copy stored at jo", "A[i, k]"});
}
TEST_CASE("a product whose other operand comes from memory for every few rows has a nest of its own") {
  auto const weighted = weft::kernel<"weighted">([](auto A, auto B) {
    auto const scores = compute<"scores">(A.extent(0), B.extent(1), [=](auto i, auto j) {
      return sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
    });
    auto const total = compute<"total">(A.extent(0), [=](auto i) { return sum(B.extent(1), [=](auto j) { return weft::max(scores(i, j), 0); }); });
    return compute<"out">(A.extent(0), B.extent(1), [=](auto i, auto j) { return scores(i, j) - total(i); });
  });
  auto const a = drawn<float>(1, 24, 90), b = drawn<float>(2, 90, 70);
  weft::target t = small_machine(1 << 10, 1 << 12);
  t.l3_bytes = 1 << 14;
  INFO(weighted.on(t).loops(a, b));
  CHECK(has_in_order(weighted.on(t).loops(a, b), {"scores\n", "unrolled", "vectorized", "out", "total"}));
  CHECK((weft::evaluate({.contract = true}, weighted, a, b) == weighted.on(t)(a, b)));
  // What would be stored is bounded by half of the last cache, of which nothing need be known.
  auto const more = drawn<float>(1, 64, 90);
  CHECK(has_in_order(weighted.on(t).loops(more, b), {"out", "io in", "scores\n", "total"}));
  t.l3_bytes = 0;
  CHECK(has_in_order(weighted.on(t).loops(a, b), {"out", "io in", "scores\n", "total"}));
  // From a cache it is read for some rows at a time, and these stay in another one.
  CHECK(has_in_order(weighted.on(small_machine(1 << 15, 1 << 20)).loops(a, b), {"out\n", "io in", "scores\n", "total"}));
  check_rule(weighted, drawn<float>(1, 13, 9), drawn<float>(2, 9, 40));
}
TEST_CASE("rows that share what products in them read are computed some at a time, with all that stands between") {
  auto const attended = weft::kernel<"attended">([](auto q, auto k, auto v) {
    auto const scores = compute<"scores">(q.extent(0), k.extent(0), [=](auto i, auto j) {
      return sum(q.extent(1), [=](auto e) { return q(i, e) * k(j, e); });
    });
    auto const total = compute<"total">(q.extent(0), [=](auto i) { return sum(k.extent(0), [=](auto j) { return weft::max(scores(i, j), 0); }); });
    auto const weights = compute<"weights">(q.extent(0), k.extent(0), [=](auto i, auto j) { return weft::max(scores(i, j), 0) - total(i); });
    return compute<"out">(q.extent(0), v.extent(1), [=](auto i, auto f) {
      return sum(k.extent(0), [=](auto j) { return weights(i, j) * v(j, f); });
    });
  });
  for (auto [l, s, e] : {std::array<std::int64_t, 3>{1, 1, 1}, {3, 40, 16}, {50, 64, 16}, {13, 130, 40}})
    check_rule(attended, drawn<float>(1, l, e), drawn<float>(2, s, e), drawn<float>(3, s, 24));
  auto const x = drawn<float>(1, 96, 64);
  CHECK(has_in_order(attended.on(weft::x86_64_avx2()).loops(x, x, x), {"io in 0..", "scores", "unrolled ii in", "total", "weights", "unrolled ii in"}));
}
