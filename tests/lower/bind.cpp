// Loops bound to blocks and threads, and virtual threads with the memory of what is computed inside them.
#include "fuzz/found.hpp"
#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using weft_test::lowered_program;
using weft_test::fuzz::found;

namespace {
/// row[i, j] = A[i, j] + A[i, j + 1], out[i, j] = row[i, j] * row[i, j]
template <class T>
auto squares_over(expr::tensor<T, 2> x) {
  auto const row = compute<"row">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return x(i, j) + x(i, j + 1); });
  return compute<"out">(row.extent(0), row.extent(1), [=](auto i, auto j) { return row(i, j) * row(i, j); });
}
template <class Steps>
ir::function lowered(lowered_program& l, Steps const& steps) {
  expr::tensor<float, 2> const x{&l.p, l.p.add_input(short_name("A"), dtype::f32, 2)};
  l.p.outputs.push_back(squares_over(x).id);
  l.p = canonical(l.p);
  return l([&](schedule& s, auto const&) { steps(s, handle_of<2>(s, 0), handle_of<2>(s, 1)); });
}
}  // namespace

TEST_CASE("virtual threads: the nests of both stand in turns, and each has its copy of the memory") {
  lowered_program l{{}, {{6, 9}}};
  ir::function f = lowered(l, [](schedule& s, auto row, auto out) {
    auto const [io, ii] = s.split(out.all[0], 3);
    s.bind(io, thread_axis::virtual_thread);
    s.compute_at(row, io);
  });
  std::string const before = ir::print(f);
  run_passes(f, {16, false}, {});
  weft_test::check_golden("lower/virtual_threads.ir", before + "\nafter the passes\n\n" + ir::print(f));
}
TEST_CASE("blocks and threads are kinds of loops: memory of a block stands around its threads") {
  lowered_program l{{}, {{8, 9}}};
  ir::function const f = lowered(l, [](schedule& s, auto row, auto out) {
    auto const [io, ii] = s.split(out.all[0], 4);
    s.bind(io, thread_axis::block_x);
    s.bind(ii, thread_axis::thread_y);
    s.bind(out.all[1], thread_axis::thread_x);
    s.compute_at(row, io);
    s.bind(row.all[0], thread_axis::thread_y);
  });
  weft_test::check_golden("lower/blocks_and_threads.ir", ir::print(f));
}
TEST_CASE("all executors agree on virtual threads") {
  char const* const traces[] = {
      "out: bind(i, virtual_thread)\n",
      "out: split(i, 4) -> io, ii\nout: bind(io, virtual_thread)\nrow: compute_at(out, io)\nrow: vectorize(j)\nout: vectorize(j)\n",
      "out: split(i, 4) -> io, ii\nout: bind(ii, virtual_thread)\nrow: compute_at(out, ii)\n",
      "out: split(i, 3) -> io, ii\nout: parallel(io)\nout: bind(ii, virtual_thread)\nrow: compute_at(out, j)\n",
      "out: split(i, 3, partition) -> io, ii\nout: bind(ii, virtual_thread)\nrow: compute_at(out, ii)\nrow: set_scope(workspace)\n",
      "out: split(i, 4) -> io, ii\nout: bind(io, virtual_thread)\nrow: compute_at(out, ii)\nrow: pipeline(1)\n",
      "out: split(i, 4) -> io, ii\nout: bind(io, virtual_thread)\nrow: compute_at(out, ii)\nrow: store_at(out, io)\n",
      "out: split(i, 4) -> io, ii\nout: split(j, 3) -> jo, ji\nout: reorder(ii, jo, io, ji)\nout: bind(ii, virtual_thread)\n"
      "out: bind(jo, virtual_thread)\nrow: compute_at(out, io)\n",
      "out: split(i, 5, shift_inwards) -> io, ii\nout: bind(ii, virtual_thread)\n",
      ("out: split(i, 5) -> io, ii\nout: reorder(io, j, ii)\nout: fuse(io, j) -> ioj\nout: split(ioj, 7) -> iojo, ioji\n"
       "out: bind(ioji, virtual_thread)\nrow: compute_at(out, ioji)\n"),
  };
  for (char const* trace : traces) {
    found f;
    auto const x = f.input<std::int32_t, 2>({11, 10});
    f.check(squares_over(x), trace, 3, 1);
  }
}
TEST_CASE("the interpreter agrees on blocks, threads, warps and lanes in any order") {
  char const* const traces[] = {
      "out: bind(i, block_x)\nout: bind(j, thread_x)\n",
      "out: bind(i, thread_z)\nrow: bind(i, block_z)\nrow: bind(j, lane)\n",
      ("out: split(i, 4) -> io, ii\nout: bind(io, block_y)\nout: bind(ii, warp)\nout: bind(j, lane)\nrow: compute_at(out, io)\n"
       "row: bind(i, thread_y)\n"),
      "out: split(i, 4) -> io, ii\nout: bind(io, block_y)\nout: bind(ii, thread_y)\nrow: compute_at(out, ii)\nrow: set_scope(workspace)\n",
      "out: split(i, 4) -> io, ii\nout: bind(io, virtual_thread)\nout: bind(j, thread_x)\nrow: compute_at(out, io)\nrow: bind(j, thread_x)\n",
  };
  for (char const* trace : traces) {
    found f;
    auto const x = f.input<std::int32_t, 2>({11, 10});
    f.check(squares_over(x), trace, 6, 0);
  }
}
