#include "weft/schedule/pressure.hpp"

#include <doctest/doctest.h>

#include "programs.hpp"

using namespace weft_test;
using weft::axis;

namespace {
constexpr weft::schedule_limits avx512{32, 64}, avx2{16, 32};

/// The tile of rows x columns of C, with the sum over k outside of it, or inside of its two loops.
weft::schedule tile(weft::program const& p, weft::schedule_limits limits, std::int64_t rows, std::int64_t columns,
                    bool vectorized = true, std::int64_t extent = 1024) {
  weft::schedule s(p, all_extents{extent}, limits);
  auto const [io, ii] = s.split(axis{0}, rows);
  auto const [jo, ji] = s.split(axis{1}, columns);
  s.reorder(io, jo, axis{2}, ii, ji);
  s.unroll(ii);
  if (vectorized)
    s.vectorize(ji);
  else
    s.unroll(ji);
  CHECK(s.state == weft::verdict::legal);
  return s;
}
bool fits(weft::schedule const& s) { return register_pressure(s).empty(); }
}  // namespace

TEST_CASE("register_pressure of the matrix product's tiles, by hand: accumulators + a row + 1") {
  weft::program const p = matmul();
  CHECK(registers_of(tile(p, avx512, 6, 64), 0).needed() == 24 + 4 + 1);
  CHECK(registers_of(tile(p, avx512, 14, 32), 0).needed() == 28 + 2 + 1);
  CHECK(fits(tile(p, avx512, 6, 64)));
  CHECK(fits(tile(p, avx512, 14, 32)));
  CHECK_FALSE(fits(tile(p, avx512, 14, 64)));
  CHECK_FALSE(fits(tile(p, avx512, 8, 64)));
  CHECK(fits(tile(p, avx2, 6, 16)));  // 12 + 2 + 1 of 16, the tile of BLIS for Haswell
  CHECK_FALSE(fits(tile(p, avx2, 7, 16)));
}

TEST_CASE("a vector register holds half as many doubles; a part of a vector takes a whole one") {
  weft::program const f32 = matmul<float>(), f64 = matmul<double>();
  CHECK(registers_of(tile(f32, avx512, 6, 64), 0).lanes == 16);
  CHECK(registers_of(tile(f64, avx512, 6, 64), 0).lanes == 8);
  CHECK_FALSE(fits(tile(f64, avx512, 6, 64)));
  CHECK(fits(tile(f64, avx512, 6, 32)));
  CHECK(registers_of(tile(f32, avx512, 3, 17), 0).accumulators == 6);
}

TEST_CASE("arithmetic on indices does not narrow the vectors") {
  weft::program p;
  weft::expr::tensor<float, 2> const A{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 2)};
  auto const C = weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return weft::select(i + k < j, A(i, (j + k) % A.extent(1)), 0.f); });
  });
  p.outputs.push_back(C.id);
  weft::program const q = weft::canonical(p);
  CHECK(registers_of(tile(q, avx512, 6, 64), 0).lanes == 16);
}

TEST_CASE("scalar accumulators count one each") {
  weft::program const p = matmul();
  CHECK(registers_of(tile(p, avx512, 5, 6, false), 0).needed() == 30 + 1);
  CHECK(fits(tile(p, avx512, 5, 6, false)));
  CHECK_FALSE(fits(tile(p, avx512, 8, 4, false)));
}

TEST_CASE("an unrolled loop counts outside of the sum too; an unrolled part of the sum does not") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{1024}, avx512);
  auto const [io, ii] = s.split(axis{0}, 14);
  auto const [jo, ji] = s.split(axis{1}, 64);
  auto const [ko, ki] = s.split(axis{2}, 4);
  s.reorder(io, jo, ii, ko, ki, ji);
  s.unroll(ii);
  s.unroll(ki);
  s.vectorize(ji);
  REQUIRE(s.state == weft::verdict::legal);
  CHECK(registers_of(s, 0).accumulators == 56);
  CHECK_FALSE(fits(s));
}

TEST_CASE("the rule keeps out of it where the tile does not live across the sum, or nothing is known") {
  weft::program const p = matmul();
  weft::schedule memory(p, all_extents{1024}, avx512);  // j runs inside the sum: C stays in memory
  auto const [io, ii] = memory.split(axis{0}, 64);
  memory.reorder(io, axis{2}, axis{1}, ii);
  memory.unroll(ii);
  REQUIRE(memory.state == weft::verdict::legal);
  CHECK(fits(memory));
  CHECK(fits(tile(p, {}, 14, 64)));
  weft::schedule unknown(p, all_extents{}, avx512);
  unknown.unroll(axis{0});
  CHECK(fits(unknown));
  weft::program const q = two_stages();  // no sum in D
  weft::schedule plain(q, all_extents{512}, avx512);
  plain.unroll(axis{plain.order[1][0]});
  plain.vectorize(axis{plain.order[1][1]});
  CHECK(fits(plain));
}

TEST_CASE("a tile beyond all counting is refused, not overflown") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{1000}, avx512);
  s.reorder(axis{2}, axis{0}, axis{1});
  s.unroll(axis{0});
  auto const [jo, ji] = s.split(axis{1}, 10);
  s.unroll(jo);
  s.unroll(ji);
  REQUIRE(s.state == weft::verdict::legal);
  CHECK(registers_of(s, 0).accumulators >= 1000000);
  CHECK_FALSE(fits(s));
}

TEST_CASE("the refusal counts, shows the nest and says how far to go down") {
  weft::program const p = matmul();
  CHECK(register_pressure(tile(p, avx512, 14, 64)) ==
        "the tile of accumulators does not fit the vector registers of this CPU; unroll or vectorize less\n"
        "  in    stage C: 56 accumulators + 4 for a row + 1 = 61 vectors of 16 lanes, the CPU has 32\n"
        "  nest  io(74) > jo(16) > k(1024) > unrolled ii(14) > vectorized ji(64)\n"
        "  try   unrolled loops of at most 6 iterations together");
  CHECK(register_pressure(tile(p, avx2, 1, 256)).find("\n  try   at most 56 vectorized iterations") !=
        std::string::npos);
  CHECK(fits(tile(p, avx2, 1, 56)));
  CHECK(fits(tile(p, avx512, 6, 64)));  // what was proposed
}

TEST_CASE("a statement that is written out more than 1024 times is refused, whatever makes the copies") {
  weft::program const p = matmul();
  auto const unrolled = [&](std::int64_t rows, std::int64_t columns, bool vectorized, std::int64_t reduced = 1) {
    weft::schedule s = tile(p, avx512, rows, columns, vectorized, 4096);
    auto const [ko, ki] = s.split(axis{2}, reduced);
    s.unroll(ki);
    return written_out_too_often(s);
  };
  CHECK(unrolled(32, 32, false).empty());
  CHECK(unrolled(32, 1, false, 32).empty());
  CHECK_FALSE(unrolled(32, 32, false, 2).empty());
  CHECK_FALSE(unrolled(32, 33, false).empty());
  CHECK(unrolled(4, 1024, true).empty());  // 256 vectors of 4 lanes in a row
  CHECK_FALSE(unrolled(5, 1024, true).empty());
  CHECK(unrolled(1, 1024, true).empty());
}
TEST_CASE("what is unrolled too often is said with the numbers, the nest and a way out") {
  weft::program const p = matmul();
  std::string const why = written_out_too_often(tile(p, avx512, 64, 1024));
  INFO(why);
  CHECK(why.find("make more than 1024 copies of the stage's statement\n"
                 "  in    stage C: 64 unrolled iterations of 256 vectors of 16 bytes\n") != std::string::npos);
  CHECK(why.find("try   unrolled loops of at most 4 iterations together") != std::string::npos);
  CHECK(written_out_too_often(tile(p, avx2, 64, 1024)) == why);  // the author of a program meets it, not its user
  // Real extents alone make the copies; while they are not known, nothing is refused.
  weft::schedule unknown(p, all_extents{-1}, avx512);
  unknown.unroll(axis{0});
  unknown.unroll(axis{1});
  CHECK(written_out_too_often(unknown).empty());
  weft::schedule known(p, all_extents{100}, avx512);
  known.unroll(axis{0});
  known.unroll(axis{1});
  CHECK(written_out_too_often(known).find("10000 unrolled iterations") != std::string::npos);
}
TEST_CASE("of a vector that alone is too long it is said how many lanes there may be") {
  weft::program const q = two_stages();
  weft::schedule s(q, all_extents{20000}, avx512);
  auto const C = weft::handle_of<2, 1>(s, 0);
  auto const [i, j] = weft::handle_of<2>(s, 1).all;
  s.reorder(j, i);
  s.compute_at(C, j);
  s.vectorize(C.all[0]);
  REQUIRE(s.state != weft::verdict::illegal);
  std::string const why = written_out_too_often(s);
  INFO(why);
  CHECK(why.find("try   at most 4096 vectorized iterations: split the axis") != std::string::npos);
}
