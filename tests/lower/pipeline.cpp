// Stages computed for a later iteration of the loop that reads them.
#include "fuzz/found.hpp"
#include "lower/programs.hpp"
#include "support/golden.hpp"

using namespace weft;
using weft_test::lowered_program;
using weft_test::fuzz::found;

namespace {
/// `steps(schedule, handles..)` of three stages a, b, out of rank 2.
template <class Steps>
std::string lowered(program const& p, sequence<std::int64_t> const& shape, Steps const& steps,
                    sequence<char const*> const& dims = {}) {
  lowered_program l{p, {shape}};
  if (!dims.empty()) l.dims = {dims};
  return ir::print(l([&](schedule& s, auto const&) { steps(s, handle_of<2>(s, 0), handle_of<2>(s, 1), handle_of<2>(s, 2)); }));
}
/// a[i, j] = x[i, j] + x[i, j + 1], b[i, j] = a[i, j] * 2, out[i, j] = b[i, j] - a[i, j], or not a
template <class T>
auto chain_over(expr::tensor<T, 2> x, bool twice = true) {
  auto const a = compute<"a">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return x(i, j) + x(i, j + 1); });
  auto const b = compute<"b">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j) * 2; });
  return compute<"out">(a.extent(0), a.extent(1), [=](auto i, auto j) { return twice ? b(i, j) - a(i, j) : b(i, j) - x(i, j); });
}
program chain() {
  program p;
  expr::tensor<float, 2> const x{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  p.outputs.push_back(chain_over(x).id);
  return canonical(p);
}
}  // namespace

TEST_CASE("a double buffer: two copies, one of which is filled while the other one is read") {
  weft_test::check_golden("lower/double_buffer.ir", lowered(chain(), {12, 9}, [](schedule& s, auto a, auto b, auto out) {
                            s.compute_inline(b);
                            auto const [io, ii] = s.split(out.all[0], 4);
                            s.compute_at(a, io);
                            s.double_buffer(a);
                          }));
}
TEST_CASE("a chain: as many copies as iterations lie between a part and the last one that reads it, and one more") {
  weft_test::check_golden("lower/pipeline.ir", lowered(chain(), {12, 9}, [](schedule& s, auto a, auto b, auto out) {
                            s.compute_at(b, out.all[0]);
                            s.compute_at(a, out.all[0]);
                            s.pipeline(a, 3);
                            s.pipeline(b, 1);
                          }));
}
TEST_CASE("a pipeline of an open size: no iteration beyond the last one") {
  weft_test::check_golden("lower/pipeline_open.ir", lowered(chain(), {12, 9}, [](schedule& s, auto a, auto b, auto out) {
                            s.compute_inline(b);
                            s.compute_at(a, out.all[0]);
                            s.pipeline(a, 2);
                          }, {"n", nullptr}));
}

TEST_CASE("all executors agree on pipelines") {
  char const* const traces[] = {
      "b: compute_at(out, i)\na: compute_at(out, i)\na: pipeline(2)\nb: pipeline(1)\n",
      "b: compute_at(out, i)\na: compute_at(out, i)\na: pipeline(1)\nb: pipeline(1)\n",
      "b: compute_at(out, i)\na: compute_at(out, i)\na: pipeline(16)\nb: pipeline(3)\n",
      "b: compute_inline()\na: compute_at(out, i)\na: pipeline(1)\na: vectorize(j)\nout: vectorize(j)\n",
      "out: split(i, 4) -> io, ii\nb: compute_at(out, ii)\na: compute_at(out, io)\na: pipeline(1)\nb: pipeline(2)\n",
      "out: split(i, 4) -> io, ii\nout: parallel(io)\nb: compute_at(out, ii)\na: compute_at(out, ii)\na: pipeline(2)\nb: pipeline(2)\n",
      // Parts of a fused loop, some of which are cut off.
      "out: split(i, 5) -> io, ii\nout: reorder(io, j, ii)\nout: fuse(io, j) -> ioj\nb: compute_at(out, ioj)\nb: pipeline(2)\n",
      "out: split(i, 5) -> io, ii\nout: reorder(j, io, ii)\nout: fuse(io, ii) -> ioii\nb: compute_at(out, ioii)\nb: pipeline(3)\n",
      "b: compute_at(out, i)\nb: set_scope(workspace)\nb: storage_align(0, 16, 3)\nout: parallel(j)\nb: pipeline(1)\n",
  };
  for (char const* trace : traces)
    for (std::int64_t rows : {11, 1}) {
      found f;
      auto const x = f.input<std::int32_t, 2>({rows, 10});
      f.check(chain_over(x), trace, 3, 1);
    }
}
TEST_CASE("all executors agree on a stage that is computed inside a part of a pipelined one") {
  char const* const traces[] = {
      "out: split(i, 4) -> io, ii\nb: compute_at(out, io)\na: compute_at(b, i)\na: pipeline(1)\nb: pipeline(1)\n",
      "b: compute_at(out, i)\na: compute_at(b, j)\na: store_at(b, i)\nb: pipeline(1)\n",
      "b: compute_at(out, i)\na: compute_at(b, j)\na: store_root()\nb: pipeline(2)\n",
      "b: compute_at(out, i)\na: compute_at(b, j)\na: store_at(out, i)\nb: pipeline(2)\n",
  };
  for (char const* trace : traces) {
    found f;
    auto const x = f.input<std::int32_t, 2>({11, 10});
    f.check(chain_over(x, false), trace, 3, 1);
  }
}
TEST_CASE("a panel of a matrix product, packed while the one before is multiplied") {
  char const* const traces[] = {
      "C: reorder(k, i, j)\nP: compute_at(C, k)\nP: pipeline(1)\n",
      "C: split(k, 4) -> ko, ki\nC: reorder(ko, i, ki, j)\nP: compute_at(C, ko)\nP: pipeline(2)\nC: vectorize(j)\nP: vectorize(j)\n",
      "C: split(k, 4, partition) -> ko, ki\nC: reorder(i, ko, j, ki)\nP: compute_at(C, ko)\nP: pipeline(1)\n",
      "C: decompose_reduction(C, k)\nC: reorder(k, i, j)\nP: compute_at(C, k)\nP: pipeline(1)\n",
  };
  for (char const* trace : traces) {
    found f;
    auto const a = f.input<std::int32_t, 2>({5, 14});
    auto const b = f.input<std::int32_t, 2>({14, 9});
    auto const panel = compute<"P">(b.extent(0), b.extent(1), [=](auto k, auto j) { return b(k, j) * 3; });
    f.check(compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) {
              return sum(a.extent(1), [=](auto k) { return a(i, k) * panel(k, j); });
            }), trace, 3, 1);
  }
}

TEST_CASE("asynchronous copies: a group of each iteration, in front of the loop too, and a wait where its copy is read first") {
  // What stands between the copy and what is computed is ahead itself.
  weft_test::check_golden("lower/pipeline_async.ir", lowered(canonical([] {
                            program p;
                            expr::tensor<float, 2> const x{&p, p.add_input(short_name("A"), dtype::f32, 2)};
                            auto const a = compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j); });
                            auto const b = compute<"b">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a(i, j) * 2; });
                            p.outputs.push_back(compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return b(i, j) - a(i, j); }).id);
                            return p;
                          }()), {30, 9}, [](schedule& s, auto a, auto b, auto out) {
                            auto const [io, ii] = s.split(out.all[0], 10);
                            s.bind(io, thread_axis::block_x);
                            s.bind(out.all[1], thread_axis::thread_x);
                            s.compute_at(b, ii);
                            s.compute_at(a, ii);
                            s.pipeline(a, 3, transfer::async);
                            s.pipeline(b, 1);
                            s.bind(a.all[1], thread_axis::thread_x);
                            s.bind(b.all[1], thread_axis::thread_x);
                          }));
}
TEST_CASE("asynchronous copies: without blocks the word means the pipeline alone") {
  auto const steps = [](transfer how) {
    return [how](schedule& s, auto a, auto b, auto out) {
      s.compute_inline(b);
      s.compute_at(a, out.all[0]);
      s.pipeline(a, 2, how);
    };
  };
  auto const of = [&](transfer how) {
    program p;
    expr::tensor<float, 2> const x{&p, p.add_input(short_name("A"), dtype::f32, 2)};
    auto const a = compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j); });
    auto const b = compute<"b">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a(i, j) * 2; });
    p.outputs.push_back(compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return b(i, j) - a(i, j); }).id);
    return lowered(canonical(p), {12, 9}, steps(how));
  };
  CHECK(of(transfer::async) == of(transfer::plain));
}
