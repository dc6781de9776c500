#include "weft/pass/partition.hpp"

#include <doctest/doctest.h>

#include "pass/text.hpp"

namespace {
std::string cut(std::string const& body) {
  return weft_test::from_text(body).after([](weft::ir::function& f) { return weft::partition(*f.nodes, f.body); });
}
std::string printed(std::string const& body) {
  return weft_test::from_text(body).after([](weft::ir::function& f) { return f.body; });
}
}  // namespace

TEST_CASE("an index that is kept inside of its edges is so in the middle of a loop without being asked") {
  CHECK(cut("  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = A[min(max(ramp(i * 8 - 1, 1, 8), 0i64x8), 60i64x8)]\n") ==
        "block:\n"
        "  B[ramp(0, 1, 8)] = A[min(max(ramp(-1, 1, 8), 0i64x8), 60i64x8)]\n"
        "  for i in 1..7:\n"
        "    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8 + -1, 1, 8)]\n"
        "  B[ramp(56, 1, 8)] = A[min(max(ramp(55, 1, 8), 0i64x8), 60i64x8)]\n");
  // Backwards, and lanes at distances that are not the same.
  CHECK(cut("  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = A[max(ramp(60 - i * 8, -1, 8), 0i64x8)]\n") ==
        "block:\n"
        "  for i in 0..7:\n"
        "    B[ramp(i * 8, 1, 8)] = A[ramp(i * -8 + 60, -1, 8)]\n"
        "  B[ramp(56, 1, 8)] = A[max(ramp(4, -1, 8), 0i64x8)]\n");
  CHECK(cut("  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = A[max(broadcast(i * 4 - 1, 8) + ramp(0, 1, 8) // 2i64x8, 0i64x8)]\n").find(
            "for i in 1..8:\n    B[ramp(i * 8, 1, 8)] = A[broadcast(i * 4 + -1, 8) + ramp(0, 1, 8) // 2i64x8]") != std::string::npos);
}
TEST_CASE("a mask that the last iteration alone needs is gone from the others") {
  CHECK(cut("  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8, 1, 8) where ramp(i * 8, 1, 8) < 61i64x8] where ramp(i * 8, 1, 8) < 61i64x8\n") ==
        "block:\n"
        "  for i in 0..7:\n"
        "    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8, 1, 8)]\n"
        "  B[ramp(56, 1, 8)] = A[ramp(56, 1, 8) where ramp(56, 1, 8) < 61i64x8] where ramp(56, 1, 8) < 61i64x8\n");
}
TEST_CASE("loops stay whole where the middle would be short, and where the lanes are scalars") {
  // Sums of i64 wrap around: only the first vector lies below 0 here.
  std::string const wraps = "  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = select(ramp(i * 8 + 9223372036854775800, 1, 8) < 0i64x8, 1.0f32x8, 2.0f32x8)\n";
  CHECK(cut(wraps) == printed(wraps));
  for (char const* const body : {
           "  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = A[min(ramp(i * 8, 1, 8), broadcast(40 - i, 8))]\n",     // neither way for most of them
           "  for i in 0..60:\n    B[i] = A[max(i - 1, 0)]\n",
           "  for i in 0..7:\n    B[ramp(i * 8, 1, 8) %% 20i64x8] = A[ramp(i * 8, 1, 8) // 20i64x8]\n",           // of many quotients
           "  for i in 0..n:\n    B[ramp(i * 8, 1, 8)] = A[max(ramp(i * n * n - 1, 1, 8), 0i64x8)]\n"}) {           // which wrap around for some n
    std::string const text = body;
    CAPTURE(text);
    CHECK(cut(text) == printed(text));
  }
}
TEST_CASE("a loop of open length is cut where its edges are, whatever the length is") {
  CHECK(cut("  for i in 0..n:\n    B[ramp(i * 8, 1, 8)] = A[max(ramp(i * 8 - 1, 1, 8), 0i64x8)]\n") ==
        "block:\n"
        "  B[ramp(0, 1, 8)] = A[max(ramp(-1, 1, 8), 0i64x8)]\n"
        "  for i in 1..1 + (n + -1):\n"
        "    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8 + -1, 1, 8)]\n");
  std::string const mask = "ramp(i * 8, 1, 8) < broadcast(n, 8)", masked = cut("  for i in 0..(n + 7) // 8:\n    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8, 1, 8) where " + mask + "] where " + mask + "\n");
  INFO(masked);
  CHECK(masked.find(":\n    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8, 1, 8)]\n") != std::string::npos);
  CHECK(masked.find("where ramp(") != std::string::npos);
}
TEST_CASE("of few iterations each stands alone where its lanes are decided then") {
  CHECK(cut("  for i in 0..3:\n    B[ramp(i * 8, 1, 8)] = A[max(ramp(i * 8 - 1, 1, 8), 0i64x8)]\n") ==
        "block:\n"
        "  B[ramp(0, 1, 8)] = A[max(ramp(-1, 1, 8), 0i64x8)]\n"
        "  B[ramp(8, 1, 8)] = A[ramp(7, 1, 8)]\n"
        "  B[ramp(16, 1, 8)] = A[ramp(15, 1, 8)]\n");
  std::string const shifted = "  for i in 0..3:\n    B[ramp(i * 8, 1, 8)] = A[max(ramp(i * 8 - j * 8, 1, 8), 0i64x8)]\n";
  CHECK(cut("  for j in 0..3 parallel:\n  " + shifted.substr(0, 17) + "  " + shifted.substr(17)).find("for i in 0..3") != std::string::npos);
}
TEST_CASE("a border that repeats or mirrors is only there where a row ends") {
  CHECK(cut("  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8 + 63, 1, 8) %% 64i64x8]\n") ==
        "block:\n"
        "  B[ramp(0, 1, 8)] = A[ramp(63, 1, 8) %% 64i64x8]\n"
        "  for i in 1..8:\n"
        "    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8 + -1, 1, 8)]\n");
  CHECK(cut("  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = A[min(ramp(i * 8 + 125, 1, 8) %% 126i64x8, ramp(i * 8 + 125, 1, 8) %% 126i64x8 * -1i64x8 + 126i64x8)]\n")
            .find("  for i in 1..8:\n    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8 + -1, 1, 8)]\n") != std::string::npos);
  CHECK(cut("  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = A[(ramp(i * 8, 1, 8) + 8i64x8) // 72i64x8]\n").find("A[0i64x8]") != std::string::npos);
}
TEST_CASE("the last vector of a row that begins earlier, to be whole, is at an edge alone") {
  CHECK(cut("  for i in 0..8:\n    B[ramp(min(i * 8, 54), 1, 8)] = A[min(ramp(min(i * 8, 54) + 1, 1, 8), 61i64x8)]\n") ==
        "block:\n"
        "  for i in 0..7:\n"
        "    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8 + 1, 1, 8)]\n"
        "  B[ramp(54, 1, 8)] = A[min(ramp(55, 1, 8), 61i64x8)]\n");
}
TEST_CASE("a loop around others is cut where lanes hang on it alone") {
  std::string const tile = "      for j in 0..n:\n        B[ramp(i * 8, 1, 8)] = B[ramp(i * 8, 1, 8)] + A[max(ramp(i * 8 - 1, 1, 8), 0i64x8)]\n";
  CHECK(cut("  for k in 0..n parallel:\n    for i in 0..8:\n" + tile) ==
        "for k in 0..n parallel:\n"
        "  for j in 0..n:\n"
        "    B[ramp(0, 1, 8)] = B[ramp(0, 1, 8)] + A[max(ramp(-1, 1, 8), 0i64x8)]\n"
        "  for i in 1..8:\n"
        "    for j in 0..n:\n"
        "      B[ramp(i * 8, 1, 8)] = B[ramp(i * 8, 1, 8)] + A[ramp(i * 8 + -1, 1, 8)]\n");
  // By lanes that hang on inner loops, too, whatever these do.
  CHECK(cut("  for i in 0..8:\n    for j in 0..3:\n      B[ramp(i * 8, 1, 8)] = B[ramp(i * 8, 1, 8)] + A[max(ramp(i * 8 + j - 1, 1, 8), 0i64x8)]\n")
            .find("  for i in 1..8:\n    for j in 0..3:\n      B[ramp(i * 8, 1, 8)] = B[ramp(i * 8, 1, 8)] + A[ramp(i * 8 + j + -1, 1, 8)]\n") !=
        std::string::npos);
  // Not what all lanes ask for alike, nor around loops that threads share.
  for (std::string const text : {"  for i in 0..8:\n    for j in 0..n:\n      B[ramp(j * 8, 1, 8)] = select(broadcast(0 < i, 8), A[ramp(j * 8, 1, 8)], 0.0f32x8)\n",
                                  "  for i in 0..8:\n    for j in 0..n parallel:\n      B[ramp(i * 8, 1, 8)] = A[max(ramp(i * 8 - 1, 1, 8), 0i64x8)]\n"})
    CHECK(cut(text).find("for i in 0..8:") != std::string::npos);
}
TEST_CASE("a loop in most tiles of which no edge is near stands there without it, whatever its length") {
  std::string const slow = "A[min(max(ramp(j * 40 + i * 8 - 1, 1, 8), 0i64x8), 300i64x8)]";
  CHECK(cut("  for k in 0..4 parallel:\n    for j in 0..max(k, 8):\n      for i in 0..5:\n        B[ramp(j * 40 + i * 8, 1, 8)] = " + slow + "\n") ==
        "for k in 0..4 parallel:\n"
        "  for j in 0..8:\n"
        "    if 0 < max(0, j * -5 + 1):\n"
        "      B[ramp(j * 40, 1, 8)] = A[min(max(ramp(j * 40 + -1, 1, 8), 0i64x8), 300i64x8)]\n"
        "    for i in max(0, j * -5 + 1)..max(0, j * -5 + 1) + (max(0, j * -5 + 1) * -1 + min(5, j * -5 + 37)):\n"
        "      B[ramp(j * 40 + i * 8, 1, 8)] = A[ramp(j * 40 + i * 8 + -1, 1, 8)]\n"
        "    for i in min(5, j * -5 + 37)..min(5, j * -5 + 37) + (min(5, j * -5 + 37) * -1 + 5):\n"
        "      B[ramp(j * 40 + i * 8, 1, 8)] = A[min(max(ramp(j * 40 + i * 8 + -1, 1, 8), 0i64x8), 300i64x8)]\n");
  // By what a loop around moves, and up to an end that is an expression, as of a tile's last vector.
  CHECK(cut("  for j in 0..4:\n    for i in 0..8:\n      B[ramp(i * 8, 1, 8)] = A[max(ramp(i * 8 - j, 1, 8), 0i64x8)]\n") ==
        "for j in 0..4:\n"
        "  B[ramp(0, 1, 8)] = A[max(ramp(j * -1, 1, 8), 0i64x8)]\n"
        "  for i in 1..8:\n"
        "    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8 + j * -1, 1, 8)]\n");
  CHECK(cut("  for j in 0..4:\n    for i in 0..min(j * 8 + 8, 30):\n      B[ramp(i * 8, 1, 8)] = 1.0f32x8 where ramp(i * 8, 1, 8) < broadcast(min(j * 64 + 60, 236), 8)\n") ==
        "for j in 0..4:\n"
        "  for i in 0..min(min(j * 8 + 8, 30), min(j * 64 + 60, 236) // 8):\n"
        "    B[ramp(i * 8, 1, 8)] = 1.0f32x8\n"
        "  if 0 < min(j * 8 + 8, 30) + min(min(j * 8 + 8, 30), min(j * 64 + 60, 236) // 8) * -1:\n"
        "    let $0 = ramp(min(min(j * 8 + 8, 30), min(j * 64 + 60, 236) // 8) * 8, 1, 8)\n"
        "    B[$0] = 1.0f32x8 where $0 < broadcast(min(j * 64 + 60, 236), 8)\n");
}
TEST_CASE("in tiles a border that wraps around is there in those alone that have an edge") {
  CHECK(cut("  for k in 0..4 parallel:\n    for j in 0..max(k, 8):\n      for i in 0..6:\n"
            "        B[ramp(j * 48 + i * 8, 1, 8)] = A[ramp(j * 48 + i * 8 + 383, 1, 8) %% 384i64x8]\n")
            .find("B[ramp(j * 48 + i * 8, 1, 8)] = A[ramp(j * 48 + i * 8 + -1, 1, 8)]") != std::string::npos);
}
TEST_CASE("threads ask in each iteration whether it has an edge") {
  CHECK(cut("  for i in 0..8 parallel:\n    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8, 1, 8) where ramp(i * 8, 1, 8) < 61i64x8] where ramp(i * 8, 1, 8) < 61i64x8\n") ==
        "for i in 0..8 parallel:\n"
        "  if i < 7:\n"
        "    B[ramp(i * 8, 1, 8)] = A[ramp(i * 8, 1, 8)]\n"
        "  else:\n"
        "    B[ramp(56, 1, 8)] = A[ramp(56, 1, 8) where ramp(56, 1, 8) < 61i64x8] where ramp(56, 1, 8) < 61i64x8\n");
  CHECK(cut("  for i in 0..8 parallel:\n    for j in 0..8:\n      B[ramp(i * 8, 1, 8)] = A[min(max(ramp(i * 8 - 1, 1, 8), 0i64x8), 50i64x8)]\n").find("  if 1 <= i and i < 6:\n") !=
        std::string::npos);
}
TEST_CASE("a choice that no iteration changes is made in front of the loop") {
  std::string const c = "C[j, ramp(i * 8, 1, 8)]", a = "A[ramp(i * 8, 1, 8)]";
  std::string const text = cut("  for j in 0..8:\n    for i in 0..8:\n      " + c + " = select(broadcast(j %% 2 == 0, 8), " + a + " * " + a + " + 1.0f32x8, " + a +
                               " * 3.0f32x8 - 1.0f32x8)\n");
  CHECK(text == "for j in 0..8:\n  if j %% 2 == 0:\n    for i in 0..8:\n      " + c + " = " + a + " * " + a + " + 1.0f32x8\n" +
                    "  else:\n    for i in 0..8:\n      " + c + " = " + a + " * 3.0f32x8 - 1.0f32x8\n");
  // Not for what takes no longer than the choice, nor what may be another one in the next iteration.
  for (std::string const& body : {"  for j in 0..8:\n    for i in 0..8:\n      " + c + " = select(broadcast(j == 0, 8), " + a + ", 0.0f32x8)\n",
                                  "  for j in 0..8:\n    for i in 0..8:\n      " + c + " = select(broadcast(i == 5, 8), " + a + " * " + a + " + 1.0f32x8, " +
                                      a + " * 3.0f32x8 - 1.0f32x8)\n"})
    CHECK(cut(body) == printed(body));
}
TEST_CASE("iterations in which a condition leaves everything as it is are none, and where that is all of them the loop is behind the condition") {
  std::string const c = "C[j, ramp(0, 1, 8)]", a = "A[ramp(i * 8, 1, 8)]";
  auto const sum = [&](std::string const& condition) {
    return "  for j in 0..8:\n    for i in 0..8:\n      " + c + " = select(broadcast(" + condition + ", 8), " + c + " + " + a + ", " + c + ")\n";
  };
  std::string const adds = c + " = " + c + " + " + a + "\n";
  CHECK(cut(sum("1 <= j and j < 7")) == "for j in 0..8:\n  if 1 <= j:\n    if j < 7:\n      for i in 0..8:\n        " + adds);
  // Of the loop itself: up to where it holds, and from there on.
  CHECK(cut(sum("i < 5")) == "for j in 0..8:\n  for i in 0..5:\n    " + adds);
  CHECK(cut(sum("7 <= i * 3")) == "for j in 0..8:\n  for i in 3..8:\n    " + adds);
  CHECK(cut(sum("9 - i * 2 <= 0")) == "for j in 0..8:\n  for i in 5..8:\n    " + adds);
  CHECK(cut(sum("i * 4 < 8")) == "for j in 0..8:\n  for i in 0..2:\n    " + adds);
  CHECK(cut(sum("1 <= i + j and i + j < 9")).find("  for i in max(0, j * -1 + 1)..") != std::string::npos);
  // Where some of the body does not hang on it, the loop is cut; one that reads memory stays.
  CHECK(cut(sum("i < 5") + "      B[i] = A[i]\n") == "for j in 0..8:\n  for i in 0..5:\n    " + adds + "    B[i] = A[i]\n  for i in 5..8:\n    " + c + " = " + c +
                                                        "\n    B[i] = A[i]\n");
  CHECK(cut(sum("A[i] < 1.0f32")) == printed(sum("A[i] < 1.0f32")));
}
TEST_CASE("what begins a sum in memory is stored, though its first term is left out: a load by a mask is 0 elsewhere") {
  std::string const c = "C[k, ramp(i * 8, 1, 8)]", before = "C[k, ramp(i * 8, 1, 8) where broadcast(j != 0, 8)]";
  std::string const text = cut("  for k in 0..4:\n    for j in 0..4:\n      for i in 0..8:\n        " + c + " = select(broadcast(1 <= j, 8), " + before +
                               " + A[ramp(i * 8, 1, 8)], " + before + ")\n");
  CHECK(text.find("    else:\n      for i in 0..8:\n        " + c + " = 0.0f32x8\n") != std::string::npos);
}
TEST_CASE("conditions that vectors share are not asked where the loops around say that they hold") {
  std::string const a = "A[ramp(i * 8, 1, 8)]", b = "B[ramp(0, 1, 8)]", c = "C[j, ramp(0, 1, 8)]";
  auto const added = [](std::string const& to, std::string const& condition, std::string const& what) {
    return to + " = select(broadcast(" + condition + ", 8), " + to + " + " + what + ", " + to + ")\n";
  };
  std::string const text = cut("  for j in 0..8:\n    for i in 0..3:\n      " + added(b, "0 <= j * 3 + i - 2", a) + "      " + added(c, "j * 3 + i < 23", a));
  auto const plainly = [&](std::string const& to) { return to + " = " + to + " + " + a + "\n"; };
  CHECK(text == "for j in 0..8:\n  if j * -3 + 2 <= 0 and j * 3 + -20 <= 0:\n    for i in 0..3:\n      " + plainly(b) + "      " + plainly(c) +
                    "  else:\n    for i in 0..3:\n      " + added(b, "0 <= j * 3 + i + -2", a) + "      " + added(c, "j * 3 + i < 23", a));
  // Nor is a loop written twice for a condition that most iterations around do not meet.
  std::string const seldom = "  for j in 0..8:\n    for i in 0..3:\n      " + added(b, "j * 3 + i < 5", a) + "      " + added(c, "j * 3 + i < 4", a);
  CHECK(cut(seldom) == printed(seldom));
}
