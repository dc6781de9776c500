#include "weft/tune/warp_features.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "weft/ir/parse.hpp"

using namespace weft;
using namespace weft::tuning;

namespace {
target gpu(char const* architecture = "sm_90") {
  target t;
  t.arch = architecture::nvidia;
  t.cpu = architecture;
  t.l1_bytes = 227 * 1024, t.threads = 132;
  return t;
}
/// Of a lowered function over x and y of 1024 x 1024; `more`: what is allocated.
gpu_costs of(std::string const& variables, std::string const& body, std::string const& more = "") {
  ir::arena m;
  return costs_of_gpu_loops(ir::parse(m, "kernel k:\n  variables " + variables +
                                             "\n  buffer x: f32[1024, 1024] strides [1024, 1] in argument 0 alias 0 align 32\n"
                                             "  buffer y: f32[1024, 1024] strides [1024, 1] in argument 1 written alias 1 align 32\n" +
                                             more + body),
                            gpu());
}
/// y = x turned over, 32 x 32 elements a block of 8 x 32 threads: as they stand, or through shared memory with rows of `row` floats.
gpu_costs naive() {
  return of("bi, bj, d, ti, tj", "  for bi in 0..32 block_y:\n    for bj in 0..32 block_x:\n      for ti in 0..8 thread_y:\n"
                                 "        for tj in 0..32 thread_x:\n          for d in 0..4 unrolled:\n"
                                 "            y[bi * 32 + d * 8 + ti, bj * 32 + tj] = x[bj * 32 + tj, bi * 32 + d * 8 + ti]\n");
}
gpu_costs through_shared(int row, std::string const& swizzled = "") {
  std::string const tile = "  buffer t: f32[32, 32] strides [" + std::to_string(row) + ", 1] in stack written" + swizzled + " alias 1000002 align 64\n";
  return of("bi, bj, d, ti, tj, e, si, sj",
            "  for bi in 0..32 block_y:\n    for bj in 0..32 block_x:\n      allocate t:\n        for si in 0..8 thread_y:\n"
            "          for sj in 0..32 thread_x:\n            for e in 0..4 unrolled:\n"
            "              t[e * 8 + si, sj] = x[bj * 32 + e * 8 + si, bi * 32 + sj]\n"
            "        for ti in 0..8 thread_y:\n          for tj in 0..32 thread_x:\n            for d in 0..4 unrolled:\n"
            "              y[bi * 32 + d * 8 + ti, bj * 32 + tj] = t[tj, d * 8 + ti]\n",
            tile);
}
constexpr double elements = 1024.0 * 1024;
}  // namespace

TEST_CASE("a transposition as it stands reads a sector for each element, through shared memory one for eight") {
  gpu_costs const a = naive(), b = through_shared(33);
  REQUIRE(a.launches.size() == 1);
  launch_costs const &n = a.launches[0], &t = b.launches[0];
  CHECK(n.threads[0] == 32);
  CHECK(n.threads[1] == 8);
  CHECK(n.blocks[0] == 32);
  CHECK(n.blocks[1] == 32);
  CHECK(n.sectors == elements + elements / 8);
  CHECK(n.least_sectors == elements / 4);
  CHECK(t.sectors == elements / 4);
  CHECK(t.least_sectors == elements / 4);
  CHECK(n.passes == 0);
  CHECK(a.estimate > 2 * b.estimate);
}
TEST_CASE("rows of a tile that are not padded meet one bank 32 times, padded ones never") {
  launch_costs const plain = through_shared(32).launches[0], padded = through_shared(33).launches[0];
  CHECK(plain.least_passes == elements / 16);
  CHECK(plain.passes == elements / 32 + elements);
  CHECK(padded.passes == elements / 16);
  CHECK(plain.shared_bytes == 4096);
  CHECK(padded.shared_bytes == 4224);
  CHECK(through_shared(32).estimate > through_shared(33).estimate);
  launch_costs const swizzled = through_shared(32, " swizzled").launches[0];  // eight units of a column, in four rows each
  CHECK(swizzled.passes == elements / 32 + elements / 8);
  CHECK(swizzled.shared_bytes == 4096);
}
TEST_CASE("wide accesses of a thread count as one, and ask for what they want") {
  auto const rows = [](std::string const& how, std::string const& index) {
    return of("b, t, v", "  for b in 0..1024 block_x:\n    for t in 0..256 thread_x:\n      for v in 0..4" + how + ":\n        y[b, " + index +
                             "] = x[b, " + index + "]\n")
        .launches[0];
  };
  CHECK(rows(" vectorized", "t * 4 + v").sectors == 2 * elements / 8);
  CHECK(rows(" unrolled", "v * 256 + t").sectors == 2 * elements / 8);
  CHECK(rows("", "t * 4 + v").sectors == 4 * 2 * elements / 8);  // 16 bytes apart: each sector is asked for twice in each of four turns
  CHECK(rows(" vectorized", "t * 4 + v").occupancy == 100);
}
TEST_CASE("sums in registers: what a thread's tile takes, and what is read for it") {
  auto const tile = [](int own) {
    std::string const n = std::to_string(own), b = std::to_string(16 * own);
    return of("bi, ti, tj, k, i, j",
              "  for bi in 0.." + std::to_string(1024 / (16 * own)) + " block_x:\n    for ti in 0..16 thread_y:\n      for tj in 0..16 thread_x:\n"
              "        for k in 0..1024:\n          for i in 0.." + n + " unrolled:\n            for j in 0.." + n + " vectorized:\n"
              "              accumulate y[bi * " + b + " + ti * " + n + " + i, tj * " + n + " + j] = x[bi * " + b + " + ti * " + n +
              " + i, k] * x[k, tj * " + n + " + j] + self from 0.0f32 first [k]\n")
        .launches[0];
  };
  CHECK(tile(8).registers == 20 + 64 + 8 + 8);
  CHECK(tile(4).registers == 20 + 16 + 4 + 4);
  CHECK(tile(8).occupancy < tile(4).occupancy);
  CHECK(tile(8).operations == tile(4).operations * 2);  // of twice as many columns
}
TEST_CASE("asynchronous copies have as many stages as their ring has tiles") {
  std::string const ring = "  buffer t: f32[3, 256] strides [256, 1] in stack written alias 1000002 align 64\n";
  gpu_costs const c = of("b, k, t0, t1",
                         "  for b in 0..1024 block_x:\n    allocate t:\n      for k in 0..4:\n        for t0 in 0..256 thread_x:\n"
                         "          async t[k %% 3, t0] = x[b, k * 256 + t0]\n        commit\n        wait 0\n        for t1 in 0..256 thread_x:\n"
                         "          y[b, k * 256 + t1] = t[k %% 3, t1]\n",
                         ring);
  CHECK(c.launches[0].stages == 3);
  CHECK(c.launches[0].shared_bytes == 3 * 1024);
  CHECK(naive().launches[0].stages == 1);
}
TEST_CASE("what a GPU cannot launch is told in words") {
  auto const block = [](int y, std::string const& grid) {
    return of("a, b, t, u", "  for a in 0.." + grid + " block_y:\n    for t in 0.." + std::to_string(y) + " thread_y:\n      for u in 0..64 thread_x:\n"
                            "        y[t, u] = x[t, u]\n");
  };
  CHECK(too_large(block(16, "8"), gpu()) == "");
  CHECK(too_large(block(17, "8"), gpu()) == "a block has 1088 threads, 1 of them along z: at most 1024, and 64");
  CHECK(too_large(block(16, "70000"), gpu()) == "a grid has 1 x 70000 x 1 blocks: at most 2^31 - 1, 65535 and 65535");
  target small = gpu();
  small.l1_bytes = 4096;
  CHECK(too_large(through_shared(33), small) == "a block shares 4224 bytes of memory, of at most 4096");
  CHECK(too_large(through_shared(32), small) == "");
  gpu_costs many = naive();
  many.launches[0].registers = 260;
  CHECK(too_large(many, gpu()) == "a thread wants about 260 registers, of at most 255");
  CHECK(too_large(many, gpu(), false) == "");
  many.launches[0].registers = 255, many.launches[0].threads[1] = 32;
  CHECK(too_large(many, gpu()) == "a block of 1024 threads with about 255 registers each wants more than 65,536");
}
TEST_CASE("all programs have as many features, all of them numbers, also one that does nothing") {
  std::size_t const count = naive().features.size();
  CHECK(count == 3 * 13);
  for (gpu_costs const& c : {naive(), through_shared(32), of("i", "  for i in 0..0:\n    y[i, i] = x[i, i]\n")}) {
    CHECK(c.features.size() == count);
    for (float f : c.features) CHECK(std::isfinite(f));
  }
}
