// The passes of a GPU: what becomes of loops over threads, and what is refused in words.
#include "weft/pass/gpu.hpp"

#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "pass/text.hpp"
#include "support/golden.hpp"
#include "weft/pass/barriers.hpp"
#include "weft/pass/forwarded_sums.hpp"
#include "weft/pass/lanes.hpp"
#include "weft/pass/threads.hpp"
#include "weft/schedule/print.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {
/// row[i, j] = A[i, j] + A[i, j + 1], out[i, j] = row[i, j] * row[i, j], under these steps.
ir::function lowered(lowered_program& l, char const* steps) {
  expr::tensor<float, 2> const x{&l.p, l.p.add_input(short_name("A"), dtype::f32, 2)};
  auto const row = compute<"row">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return x(i, j) + x(i, j + 1); });
  l.p.outputs.push_back(compute<"out">(row.extent(0), row.extent(1), [=](auto i, auto j) { return row(i, j) * row(i, j); }).id);
  l.p = canonical(l.p);
  return l([&](schedule& s, auto const&) { CHECK(replay(s, parse_trace(steps, s))); });
}
std::string refusal(char const* steps) {
  lowered_program l{{}, {{8, 9}}};
  ir::function f = lowered(l, steps);
  try {
    run_gpu_passes(f);
  } catch (schedule_error const& e) {
    return e.what();
  }
  return "taken";
}
bool contains(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("two loops over threads become one launch, with a barrier where one reads what the other has written") {
  lowered_program l{{}, {{8, 9}}};
  ir::function f = lowered(l, "out: bind(i, block_x)\nout: bind(j, thread_x)\nout: reorder(i, j)\nrow: compute_at(out, i)\n"
                              "row: split(j, 3) -> jo, ji\nrow: bind(ji, thread_x)\n");
  std::string text = ir::print(f);
  struct names {
    std::string* text;
    static void after(void* to, char const* pass, ir::function const& g) {
      CHECK(ir::verify(g) == "");
      std::string const p = pass;
      if (p == "spread_threads" || p == "barriers") *static_cast<names*>(to)->text += "\nafter " + p + "\n\n" + ir::print(g);
    }
  } n{&text};
  run_gpu_passes(f, {&names::after, &n});
  weft_test::check_golden("pass/gpu.ir", text);
}
TEST_CASE("the parts of a reduction are joined by exchanges, and through shared memory between warps") {
  lowered_program l{{}, {{8, 100}}};
  expr::tensor<float, 2> const x{&l.p, l.p.add_input(short_name("A"), dtype::f32, 2)};
  l.p.outputs.push_back(compute<"R">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return x(i, k); }); }).id);
  l.p = canonical(l.p);
  ir::function f = l([&](schedule& s, auto const&) {
    CHECK(replay(s, parse_trace("R: rfactor(R, j, 64)\nR: bind(i, block_x)\nR: bind(v, thread_x)\nR_rf: compute_at(R, v)\n", s)));
  });
  std::string const before = ir::print(f);
  run_gpu_passes(f);
  CHECK(ir::verify(f) == "");
  weft_test::check_golden("pass/gpu_tree.ir", before + "\nafter all passes\n\n" + ir::print(f));
}
TEST_CASE("a reduction over threads with several elements inside of them is refused in words") {
  lowered_program l{{}, {{8, 100}}};
  expr::tensor<float, 2> const x{&l.p, l.p.add_input(short_name("A"), dtype::f32, 2)};
  l.p.outputs.push_back(compute<"R">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto k) { return x(i, k); }); }).id);
  l.p = canonical(l.p);
  ir::function f = l([&](schedule& s, auto const&) {
    CHECK(replay(s, parse_trace("R: rfactor(R, j, 64)\nR: reorder(v, i)\nR: bind(v, thread_x)\n", s)));
  });
  std::string said;
  try {
    run_gpu_passes(f);
  } catch (schedule_error const& e) {
    said = e.what();
  }
  CHECK(contains(said, "a reduction over threads has several elements inside of them: put that axis outside"));
}
TEST_CASE("elements side by side are read and written in rows where their addresses are multiples of a row") {
  char const* const steps = "row: compute_inline()\nout: split(j, 4) -> jo, ji\nout: bind(i, block_x)\nout: bind(jo, thread_x)\nout: vectorize(ji)\n";
  for (std::int64_t columns : {9, 8}) {
    lowered_program l{{}, {{8, columns}}};
    ir::function f = lowered(l, steps);
    for (ir::buffer const* b : f.buffers) const_cast<ir::buffer*>(b)->alignment = 16;
    run_gpu_passes(f);
    // Rows of out have as many elements as those of A less one.
    CHECK(contains(ir::print(f), "out[i, ramp(tx * 4, 1, 4)] = out_row[ramp(0, 1, 4)]") == (columns == 9));
  }
}
TEST_CASE("elements side by side that are all there or none are one condition, and rows in a branch on it") {
  lowered_program l{{}, {{8, 101}}};
  ir::function f = lowered(l, "row: compute_inline()\nout: split(j, 64) -> jo, ji\nout: split(ji, 4) -> jio, jii\nout: bind(i, block_y)\nout: bind(jo, block_x)\n"
                              "out: bind(jio, thread_x)\nout: vectorize(jii)\n");
  for (ir::buffer const* b : f.buffers) const_cast<ir::buffer*>(b)->alignment = 16;
  run_gpu_passes(f);
  CHECK(ir::verify(f) == "");
  INFO(ir::print(f));
  CHECK(contains(ir::print(f), "if jo * 64 + tx * 4 < 100:"));
  CHECK(contains(ir::print(f), "out[i, ramp(jo * 64 + tx * 4, 1, 4)] = out_row[ramp(0, 1, 4)]"));
  CHECK(!contains(ir::print(f), "where"));
}
TEST_CASE("what is read side by side under one condition is a row, of zeros where it does not hold") {
  auto const widened = [&](char const* other) {
    weft_test::from_text t(std::string("  for i in 0..16 thread_x:\n    B[i * 4] = A[i * 4 where i < n]\n    B[i * 4 + 1] = A[i * 4 + 1 where i < n]\n"
                                       "    B[i * 4 + 2] = A[i * 4 + 2 where i < n]\n    B[i * 4 + 3] = A[i * 4 + 3 where ") + other + "]\n");
    for (ir::buffer const* b : t.f.buffers) const_cast<ir::buffer*>(b)->alignment = 16;
    return t.after([](ir::function& f) { return wide_accesses(f, f.body); });
  };
  std::string const row = widened("i < n");
  INFO(row);
  CHECK(contains(row, "A_row[3] = 0.0f32"));
  CHECK(contains(row, "if i < n:\n"));
  CHECK(contains(row, "A_row[ramp(0, 1, 4)] = A[ramp(i * 4, 1, 4)]"));
  CHECK(!contains(row, "where"));
  CHECK(!contains(widened("i + 1 < n"), "A[ramp(i * 4, 1, 4)]"));
}
TEST_CASE("a thread's own sums have no masks: what is not there is not stored") {
  lowered_program l{{}, {{40, 70}, {70, 50}}};
  expr::tensor<float, 2> const a{&l.p, l.p.add_input(short_name("A"), dtype::f32, 2)}, b{&l.p, l.p.add_input(short_name("B"), dtype::f32, 2)};
  l.p.outputs.push_back(compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) { return sum(a.extent(1), [=](auto k) { return a(i, k) * b(k, j); }); }).id);
  l.p = canonical(l.p);
  ir::function f = l([&](schedule& s, auto const&) {
    CHECK(replay(s, parse_trace("C: cache_read(B)\nC: split(i, 32) -> io, ii\nC: split(ii, 2) -> iio, iii\nC: split(j, 32) -> jo, ji\nC: split(ji, 4) -> jio, jii\n"
                                "C: split(k, 8) -> ko, ki\nC: reorder(io, jo, ko, iio, jio, ki, iii, jii)\nC: bind(io, block_y)\nC: bind(jo, block_x)\nC: bind(iio, thread_y)\n"
                                "C: bind(jio, thread_x)\nC: unroll(iii)\nC: vectorize(jii)\nB_copy: compute_at(C, ko)\n", s)));
  });
  run_gpu_passes(f);
  CHECK(ir::verify(f) == "");
  struct masks {
    int own = 0, masked = 0;
    void look(ir::stmt s) {
      if (s->kind == ir::stmt_kind::store && s->buf->name.find("_sum") != std::string::npos) ++own, masked += s->mask != nullptr;
      for (ir::stmt c : s->children) look(c);
    }
  } m;
  m.look(f.body);
  INFO(ir::print(f));
  CHECK(m.own > 0);
  CHECK(m.masked == 0);
}
TEST_CASE("rows whose swizzle is a pattern of 1024 bytes begin where one begins, whatever lies in front of them") {
  lowered_program l{{}, {{64, 64}, {64}}};
  expr::tensor<f16, 2> const x{&l.p, l.p.add_input(short_name("A"), dtype::f16, 2)};
  expr::tensor<float, 1> const y{&l.p, l.p.add_input(short_name("B"), dtype::f32, 1)};
  auto const before = compute<"before">(y.extent(0), [=](auto i) { return y(i) * 2.0f; });
  auto const rows = compute<"rows">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j); });
  auto const behind = compute<"behind">(y.extent(0), [=](auto i) { return y(i) * 3.0f; });
  l.p.outputs.push_back(compute<"out">(x.extent(0), x.extent(1), [=](auto i, auto j) { return cast<float>(rows(i, j)) * before(j) + behind(j); }).id);
  l.p = canonical(l.p);
  std::string steps = "out: split(i, 16) -> io, ii\nout: bind(io, block_x)\nout: bind(j, thread_x)\nrows: compute_at(out, io)\nrows: swizzle()\nrows: set_scope(shared)\nrows: bind(j, thread_x)\n";
  for (std::string const name : {"before", "behind"}) steps += name + ": compute_at(out, io)\n" + name + ": set_scope(shared)\n" + name + ": bind(i, thread_x)\n";
  ir::function f = l([&](schedule& s, auto const&) { CHECK(replay(s, parse_trace(steps.c_str(), s))); });
  run_gpu_passes(f);
  bool in_front = false;
  for (ir::buffer const* b : f.buffers) {
    if (f.shared_place(b) < 0) continue;
    CHECK(f.shared_place(b) % (b->swizzled ? 1024 : 128) == 0);
    in_front = in_front || (!b->swizzled && f.shared_place(b) == 0);
  }
  CHECK(in_front);
}
TEST_CASE("what one launch cannot do is a schedule_error that says why") {
  CHECK(contains(refusal("out: reorder(j, i)\nout: bind(i, block_x)\n"), "a loop over blocks stands inside of a serial one"));
  CHECK(contains(refusal("out: bind(i, thread_x)\nout: bind(j, lane)\n"), "warps and lanes are parts of thread_x"));
  CHECK(refusal("out: bind(i, block_x)\nout: split(j, 2) -> jo, ji\nout: bind(ji, thread_x)\nrow: compute_at(out, ji)\n") == "taken");
}
TEST_CASE("sums that are read where they were written: a loop goes only with all that it does") {
  std::string const memory =
      "  buffer own: f32[] strides [] in stack written alias 9 align 64\n  buffer S: f32[64] strides [1] in stack written alias 10 align 64\n"
      "  allocate S, own:\n";
  auto const passed = [&](char const* body) {
    return weft_test::from_text(memory + body).after([](ir::function& f) { return forwarded_sums(f, f.body); });
  };
  std::string const one = passed("    for i in 0..64:\n      own[] = A[i]\n      S[i] = own[]\n      B[i] = S[i]\n");
  CHECK(contains(one, "own[] = A[i]"));
  CHECK(contains(one, "B[i] = S[i]"));
  std::string const two = passed("    own[] = A[3]\n    for i in 0..64:\n      S[i] = own[]\n    for j in 0..64:\n      B[j] = S[j]\n");
  CHECK(contains(two, "B[j] = own[]"));
  CHECK(!contains(two, "S[i]"));
}
