#include "weft/expr/canonical.hpp"

#include <doctest/doctest.h>

#include "programs.hpp"
#include "weft/expr/print.hpp"

using namespace weft_test;
using weft::program;

namespace {
/// C(i, j) = sum over k of A(i, k) * B(k, j), with the operands made in another order.
template <bool Swapped>
constexpr program matmul() {
  program p;
  auto const A = input<float, 2>(p, "A"), B = input<float, 2>(p, "B");
  auto const M = A.extent(0), N = B.extent(1);
  auto const body = [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) {
      if constexpr (Swapped) {
        auto const b = B(k, j);
        auto const unused = A(k, k) + 3;
        static_cast<void>(unused);
        return A(i, k) * b;
      } else {
        return A(i, k) * B(k, j);
      }
    });
  };
  p.outputs.push_back(weft::compute<"C">(M, N, body).id);
  return weft::canonical(p);
}
/// Stages by a function of the whole program, so that each test changes one thing.
template <class Make>
program made(Make make) {
  program p;
  auto const A = input<float, 1>(p, "A"), B = input<float, 1>(p, "B");
  make(p, A, B);
  return weft::canonical(p);
}
/// As many stages as asked, each reading the one before.
template <int Stages>
constexpr std::size_t long_chain() {
  program p;
  auto const A = input<float, 2>(p, "A");
  auto last = weft::compute<"S">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) * 2; });
  for (int s = 1; s < Stages; ++s) {
    auto const before = last;
    last = weft::compute<"S">(A.extent(0), A.extent(1),
                              [=](auto i, auto j) { return weft::max(before(i, j), 0) + A(i, j); });
  }
  p.outputs.push_back(last.id);
  program const q = weft::canonical(p);
  return weft::digest(q) != 0 ? q.nodes.size() : 0;
}
}  // namespace

static_assert(weft::digest(matmul<false>()) == weft::digest(matmul<true>()));
// The step limit of clang is per evaluation: this one has to stay under 200,000 (-fconstexpr-steps).
static_assert(long_chain<30>() > 30 * 5);

TEST_CASE("programs that differ in the order of making or in unused nodes are equal when canonical") {
  program const p = matmul<false>(), q = matmul<true>();
  CHECK(p.nodes == q.nodes);
  CHECK(p.operands == q.operands);
  CHECK(print(p) == print(q));
  CHECK(weft::digest(p) == weft::digest(q));
}

TEST_CASE("the compiler and this run make the same program") {
  constexpr std::uint64_t compiled = weft::digest(matmul<false>());
  CHECK(weft::digest(matmul<false>()) == compiled);
}

TEST_CASE("canonical of a canonical program changes nothing") {
  program const p = matmul<false>();
  program const q = weft::canonical(p);
  CHECK(q.nodes == p.nodes);
  CHECK(print(q) == print(p));
}

TEST_CASE("a stage that nothing reads is kept in its place") {
  program const p = made([](program& to, auto A, auto) {
    weft::compute<"unused">(A.extent(0), [=](auto i) { return A(i); });
    to.outputs.push_back(weft::compute<"used">(A.extent(0), [=](auto i) { return -A(i); }).id);
  });
  REQUIRE(p.stages.size() == 2);
  CHECK(weft::formula(p, 0) == "unused[i] = A[i]");
  CHECK(weft::formula(p, 1) == "used[i] = -A[i]");
}

TEST_CASE("every operand stands before its user, axes are numbered stage by stage") {
  program const p = made([](program& to, auto A, auto B) {
    auto const S = weft::compute<"S">(3, [=](auto i) { return weft::sum(4, [=](auto k) { return A(i + k); }); });
    to.outputs.push_back(weft::compute<"T">(B.extent(0), 2, [=](auto i, auto j) { return B(i) * S(j); }).id);
  });
  for (std::size_t i = 0; i < p.nodes.size(); ++i)
    if (weft::arity(p.nodes[i].kind) > 0)
      for (int o : {p.nodes[i].a, p.nodes[i].b, p.nodes[i].c}) CHECK(o < static_cast<int>(i));
  REQUIRE(p.axes.size() == 4);
  CHECK(p.stages[0].first_axis == 0);
  CHECK(p.stages[0].first_reduced == 1);
  CHECK(p.stages[1].first_axis == 2);
  CHECK(p.axes[1].reduced);
  CHECK(p.axes[3].stage == 1);
}

TEST_CASE("digest tells programs apart") {
  auto const elementwise = [](auto f) {
    return made([=](program& to, auto A, auto B) {
      to.outputs.push_back(weft::compute<"C">(A.extent(0), [=](auto i) { return f(A, B, i); }).id);
    });
  };
  program const programs[] = {
      elementwise([](auto A, auto B, auto i) { return A(i) + B(i); }),
      elementwise([](auto A, auto B, auto i) { return B(i) + A(i); }),
      elementwise([](auto A, auto B, auto i) { return A(i) - B(i); }),
      elementwise([](auto A, auto B, auto i) { return A(i) + B(i + 1); }),
      elementwise([](auto A, auto, auto i) { return A(i) + 1; }),
      elementwise([](auto A, auto, auto i) { return A(i) + 2; }),
      elementwise([](auto A, auto, auto i) { return weft::cast<double>(A(i)) + 2; }),
      made([](program& to, auto A, auto B) {
        to.outputs.push_back(weft::compute<"C">(B.extent(0), [=](auto i) { return A(i) + B(i); }).id);
      }),
      made([](program& to, auto A, auto) {
        auto const C = weft::compute<"C">(A.extent(0), [=](auto i) { return A(i); });
        auto const D = weft::compute<"D">(A.extent(0), [=](auto i) { return C(i); });
        to.outputs = {C.id, D.id};
      }),
      made([](program& to, auto A, auto) {
        auto const C = weft::compute<"C">(A.extent(0), [=](auto i) { return A(i); });
        auto const D = weft::compute<"D">(A.extent(0), [=](auto i) { return C(i); });
        to.outputs = {D.id, C.id};
      }),
      made([](program& to, auto A, auto) {
        to.outputs.push_back(weft::compute<"C">(A.extent(0), [=](auto) {
                               return weft::sum(A.extent(0), [=](auto k) { return A(k); });
                             }).id);
      }),
      made([](program& to, auto A, auto) {
        to.outputs.push_back(weft::compute<"C">(A.extent(0), [=](auto) {
                               return weft::max(A.extent(0), [=](auto k) { return A(k); });
                             }).id);
      }),
  };
  for (auto const& p : programs)
    for (auto const& q : programs) CHECK((weft::digest(p) == weft::digest(q)) == (&p == &q));
}
