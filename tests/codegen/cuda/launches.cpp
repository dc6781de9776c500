// Tails and memory where blocks and threads are made: what becomes one launch, and what is refused in words with a way out.
#include <doctest/doctest.h>

#include "computations.hpp"
#include "prepared.hpp"
#include "scheduled.hpp"

using namespace weft;
using namespace weft_test;

namespace {
/// Two outputs of equal extents, each of neighbours.
gpu_kernel differences(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"differences"};
  auto const a = k.input<float, 2>({rows + 1, columns + 1});
  auto const m = a.extent(0) - 1, n = a.extent(1) - 1;
  auto const dx = compute<"dx">(m, n, [=](auto i, auto j) { return a(i, j + 1) - a(i, j); });
  auto const dy = compute<"dy">(m, n, [=](auto i, auto j) { return a(i + 1, j) - a(i, j); });
  return k.out(compute<"out">(m, n, [=](auto i, auto j) { return dx(i, j) * dx(i, j) + dy(i, j) * dy(i, j); }));
}
/// A product whose sums are cut off at zero.
template <class T>
gpu_kernel positive_product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"positive_product"};
  auto const a = k.input<T, 2>({rows, depth});
  auto const b = k.input<T, 2>({depth, columns});
  auto const s = compute<"S">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return sum(a.extent(1), [=](auto l) { return cast<float>(a(i, l)) * cast<float>(b(l, j)); });
  });
  return k.out(compute<"R">(a.extent(0), b.extent(1), [=](auto i, auto j) { return max(s(i, j), 0.0f); }));
}
/// A stage that a function computes, beside one that is read element for element.
gpu_kernel beside_a_function(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"beside_a_function"};
  auto const x = k.input<float, 2>({rows, columns});
  auto const m = x.extent(0), n = x.extent(1);
  auto const twice = compute<"twice">(m, n, [=](auto i, auto j) { return x(i, j) * 2.0f; });
  auto const sums = compute<"sums">(m, n, external<"running_sums", &running_sums, &running_sums_of_threads>(twice));
  auto const own = compute<"own">(m, n, [=](auto i, auto j) { return x(i, j) + 1.0f; });
  return k.out(compute<"out">(m, n, [=](auto i, auto j) { return sums(i, j) + own(i, j); }));
}
/// Of each row, the sum of what `f` makes of the elements of a stage.
template <class F>
gpu_kernel sums_of(F const& f) {
  gpu_kernel k{"sums_of"};
  auto const x = k.input<float, 2>({6, 64});
  auto const own = compute<"own">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * 2.0f; });
  return k.out(compute<"R">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto l) { return f(own(i, l)); }); }));
}
gpu_kernel with(gpu_kernel k, char const* name, std::string const& steps) {
  k.name = name;
  k.steps = steps;
  return k;
}
std::string fault_of(gpu_kernel k, std::string const& steps) {
  k.steps = steps;
  return gpu_trial(k, {}, gpu_trial::text_only).fault;
}
bool contains(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

std::string const rows_in_registers =  // the textbook's tile: each thread has 4 rows of a column
    "C: split(j, 8) -> jo, ji\nC: reorder(io, jo, ji, k, ii)\nC: bind(io, block_y)\nC: bind(jo, block_x)\nC: bind(ji, thread_x)\nC: unroll(ii)\n";
std::string copied(std::string const& tail, std::string const& more) {
  return "C: cache_read(B)\nC: split(i, 4" + tail + ") -> io, ii\nC: split(k, 8) -> ko, ki\nC: reorder(io, ko, j, ki, ii)\nC: bind(io, block_x)\n"
         "C: bind(j, thread_x)\nC: unroll(ii)\nB_copy: compute_at(C, ko)\n" + more;
}
std::string unit_tiles(std::string const& more) {
  return "C: split(i, 16) -> io, ii\nC: split(j, 16) -> jo, ji\nC: split(k, 16) -> ko, ki\nC: reorder(io, jo, ko, ii, ji, ki)\n"
         "C: bind(io, block_x)\nC: bind(jo, warp)\n" + more;
}
prepared_kernels& prepared() {
  static prepared_kernels all([] {
    std::vector<gpu_kernel> k;
    auto const six = product<float>(6, 20, 16), thirteen = product<float>(13, 20, 16);
    // A loop over blocks that is cut: inside of another one over blocks, of virtual threads, around a third one.
    for (std::string const tail : {"", ", partition", ", shift_inwards", ", mask"}) {
      std::string const cut = "C: split(i, 4" + tail + ") -> io, ii\n", of = tail.empty() ? "" : tail.substr(2);
      k.push_back(with(six, ("blocks_in_turns_" + of).c_str(), cut + "C: bind(io, virtual_thread)\nC: bind(ii, block_x)\n"));
      k.push_back(with(six, ("blocks_in_blocks_" + of).c_str(), cut + "C: bind(io, block_y)\nC: bind(ii, block_x)\nC: bind(j, thread_x)\n"));
      k.push_back(with(six, ("blocks_around_blocks_" + of).c_str(),
                       cut + "C: split(j, 8) -> jo, ji\nC: reorder(io, ii, jo, ji, k)\nC: bind(io, block_z)\nC: bind(ii, block_y)\nC: bind(jo, block_x)\nC: bind(ji, thread_x)\n"));
      k.push_back(with(thirteen, ("rows_in_registers_" + of).c_str(), "C: split(i, 4" + tail + ") -> io, ii\n" + rows_in_registers));
      k.push_back(with(thirteen, ("copied_" + of).c_str(), copied(tail, "B_copy: bind(j, thread_x)\n")));
    }
    k.push_back(with(thirteen, "copied_by_one", copied("", "")));
    k.push_back(with(thirteen, "copied_async", copied("", "B_copy: pipeline(1, async)\nB_copy: bind(j, thread_x)\n")));
    k.push_back(with(thirteen, "copied_in_turns",
                     "C: cache_read(B)\nC: split(i, 4) -> io, ii\nC: split(k, 8) -> ko, ki\nC: reorder(io, ii, ko, j, ki)\nC: bind(io, block_x)\nC: bind(ii, virtual_thread)\n"
                     "C: bind(j, thread_x)\nB_copy: compute_at(C, ko)\nB_copy: bind(j, thread_x)\n"));
    k.push_back(with(thirteen, "copied_for_each_thread",
                     "C: cache_read(B)\nC: split(i, 4) -> io, ii\nC: split(k, 8) -> ko, ki\nC: reorder(io, j, ko, ki, ii)\nC: bind(io, block_x)\n"
                     "C: bind(j, thread_x)\nC: unroll(ii)\nB_copy: compute_at(C, ko)\nB_copy: set_scope(shared)\n"));
    k.push_back(with(differences(8, 13), "beside",
                     "dx: bind(i, block_x)\ndx: bind(j, thread_x)\ndy: compute_with(dx, j)\nout: bind(i, block_x)\nout: bind(j, thread_x)\n"));
    k.push_back(with(beside_a_function(9, 33), "beside_a_function", "own: compute_at(out, i)\nown: store_root()\nown: bind(j, thread_x)\nout: bind(j, thread_x)\n"));
    // What is written in a loop and read in the same one is no copy that may be left out.
    for (std::string const store : {"store_at(R, i)", "store_root()"})
      k.push_back(with(positive_product<float>(4, 5, 6), ("written_and_read_" + store.substr(0, 8) + (store == "store_root()" ? "root" : "")).c_str(),
                       "S: cache_write()\nS: compute_at(R, j)\nS: " + store + "\nS: bind(i, lane)\nS_acc: compute_at(S, j)\n"));
    k.push_back(with(sums_of([](auto x) { return x; }), "sums_of_elements", "R: bind(i, block_x)\nR: bind(j, thread_x)\n"));
    // A part of the columns, by as many threads as there are in it.
    k.push_back(with(product<float>(3, 2048, 4), "part_of_2048",
                     "C: cache_read(B)\nC: split(j, 32) -> jo, ji\nC: reorder(i, jo, k, ji)\nC: bind(i, block_y)\nC: bind(jo, block_x)\nC: bind(ji, thread_x)\n"
                     "B_copy: compute_at(C, k)\nB_copy: bind(j, thread_x)\n"));
    return k;
  }());
  return all;
}
}  // namespace

TEST_CASE("loops over blocks may be cut, and nests with memory may stand in both ways of a tail: all of them have text") { prepared().check_have_text(); }
TEST_CASE("cut blocks and copies in tails: the interpreter finds nothing wrong") { prepared().check_interpreted({1, 2}); }
TEST_CASE("cut blocks and copies in tails: the printed text, compiled for the host, computes the same") { prepared().check_on_host({0, 1, 77}); }
TEST_CASE("cut blocks and copies in tails: NVRTC compiles them, without spills") {
  prepared().check_compiled([](cuda_binary const&, std::string const&) {});
}
TEST_CASE("cut blocks and copies in tails: no kernel lacks a proof") { prepared().check_proved(); }
TEST_CASE("what stands in both ways of a branch is shared memory once") {
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    auto const& k = prepared().kernels[i];
    INFO(k.name);
    REQUIRE(prepared().trials[i]->fault == "");
    cuda_kernel const& made = prepared().trials[i]->module.kernels[0];
    if (k.name == "copied_by_one" || k.name == "copied_" || k.name == "copied_partition") CHECK(made.shared_bytes == 8 * 20 * 4);
    if (k.name == "copied_async") CHECK(made.shared_bytes == 2 * 8 * 20 * 4);
    if (k.name == "blocks_in_turns_") CHECK(made.blocks[0]->value == 4);
    if (k.name == "part_of_2048") CHECK(made.threads[0] == 32);
  }
}
TEST_CASE("decompose_reduction and a tree of threads, or a matrix unit: refused in both orders, with a way out") {
  gpu_kernel const rows = row_sums<float>(5, 320), halves = product<f16, float>(64, 64, 64);
  std::string const parts = "R: rfactor(R, j, 32)\n", bound = "R: bind(i, block_x)\nR: bind(v, thread_x)\n";
  for (std::string const loop : {"i", "v"}) {
    std::string const identity = "R: decompose_reduction(R, " + loop + ")\n";
    for (std::string const& steps : {parts + bound + "R_rf: compute_at(R, v)\n" + identity, parts + identity + bound}) {
      INFO(steps);
      CHECK(contains(fault_of(rows, steps), "threads join the parts of this reduction"));
      CHECK(contains(fault_of(rows, steps), "\n  try   "));
    }
  }
  CHECK(fault_of(rows, parts + bound + "R_rf: compute_at(R, v)\n") == "");
  std::string const tile = "C: tensorize(ii, mma_f16)\n", identity = "C: decompose_reduction(C, ko)\n";
  CHECK(contains(fault_of(halves, unit_tiles(tile + identity)), "a matrix unit begins its tiles with zeros"));
  CHECK(contains(fault_of(halves, unit_tiles(identity + tile)), "a matrix unit begins its tiles with zeros"));
  CHECK(fault_of(halves, unit_tiles(tile)) == "");
}
TEST_CASE("a stage behind a product by matrix units is computed in its loops, with warps outside of the terms, too") {
  std::string const steps =
      "S: split(i, 32) -> io, ii\nS: split(ii, 16) -> iio, iii\nS: split(j, 16) -> jo, ji\nS: split(k, 16) -> ko, ki\n"
      "S: reorder(io, iio, jo, ko, iii, ji, ki)\nS: bind(io, block_x)\nS: bind(iio, warp)\nS: tensorize(iii, mma_f16)\nR: reverse_compute_inline()\n";
  gpu_kernel k = with(positive_product<f16>(64, 64, 64), "behind", steps);
  gpu_trial t(k);
  REQUIRE(t.fault == "");
  CHECK(t.interpreted(1) == "");
}
TEST_CASE("what one launch cannot do is said with a way out") {
  gpu_kernel const k = product<float>(13, 20, 16);
  for (std::string const steps : {"C: bind(j, block_x)\n", "C: split(j, 2) -> jo, ji\nC: bind(i, thread_x)\nC: bind(ji, lane)\n"}) {
    INFO(steps);
    std::string const fault = fault_of(k, steps);
    CHECK(contains(fault, "one launch of a GPU cannot do this"));
    CHECK(contains(fault, "\n  try   "));
  }
}
TEST_CASE("a matrix unit's tile: of fewer rows than it has the size is the reason; a tree of argmax says that there is none") {
  std::string const few = fault_of(product<f16, float>(8, 64, 64), unit_tiles("C: tensorize(ii, mma_f16)\n"));
  CHECK(contains(few, "fewer rows, columns or terms"));
  gpu_kernel k{"largest"};
  auto const x = k.input<float, 2>({6, 64});
  k.out(compute<"P">(x.extent(0), [=](auto i) { return argmax(x.extent(1), [=](auto l) { return x(i, l); }); }));
  std::string const tree = fault_of(k, "P: rfactor(P, j, 32)\nP: bind(i, block_x)\nP: bind(v, thread_x)\n");
  CHECK(contains(tree, "no tree of threads"));
  CHECK(contains(tree, "\n  try   "));
}
TEST_CASE("a tree joins parts as they are: what is computed of them first would be computed again of their sums") {
  std::string const steps = "R: bind(i, block_x)\nR: bind(j, thread_x)\n";
  CHECK(contains(fault_of(sums_of([](auto x) { return x * x; }), steps), "a reduction axis cannot run in parallel"));
  CHECK(contains(fault_of(sums_of([](auto x) { return x + 1.0f; }), steps), "a reduction axis cannot run in parallel"));
}
TEST_CASE("lanes: at most 32, also of a part that is known when loops are made") {
  std::string const steps =
      "C: cache_read(B)\nC: split(j, 40) -> jo, ji\nC: reorder(i, jo, k, ji)\nC: bind(i, block_y)\nC: bind(jo, block_x)\nB_copy: compute_at(C, k)\nB_copy: bind(j, lane)\n";
  CHECK(contains(fault_of(product<float>(3, 80, 4), steps), "a loop over lanes runs more often than the 32 that a warp has"));
}
