// Stages computed inside loops of others, and inlined ones: what part of them, and where its memory is.
#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/expr/boundary.hpp"
#include "weft/ir/parse.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {
/// `reader(a, x, i, j)` over a stage a[i, j] = x[i, j] + x[i, j] of x's shape; the output b is as large as x.
template <class Reader>
program two_maps(Reader const& reader) {
  program p;
  expr::tensor<float, 2> const x{&p, p.add_input(short_name("x"), dtype::f32, 2)};
  auto const a = compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) + x(i, j); });
  auto const b = compute<"b">(x.extent(0), x.extent(1), [=](auto i, auto j) { return reader(a, x, i, j); });
  p.outputs.push_back(b.id);
  return canonical(p);
}
/// The whole loop program when b's rows are split by 4 and `a` is computed in the outer part.
template <class Reader>
std::string by_rows(std::int64_t rows, std::int64_t columns, Reader const& reader, void (*mark)(schedule&, axis) = nullptr) {
  lowered_program l{two_maps(reader), {{rows, columns}}};
  return ir::print(l([&](schedule& s, sequence<std::int32_t> const&) {
    auto const parts = s.split(axis{s.order[1][0]}, 4);
    if (mark != nullptr) mark(s, parts[0]);
    s.compute_at(handle_of<2>(s, 0), parts[0]);
  }));
}
bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("what is read at the consumer's own index is as large as its tile, and on the stack") {
  weft_test::check_golden("lower/guest_same_index.ir",
                          by_rows(16, 8, [](auto a, auto, auto i, auto j) { return a(i, j); }));
}
TEST_CASE("a stencil's part reaches further, but not over the border") {
  weft_test::check_golden("lower/guest_stencil.ir", by_rows(18, 8, [](auto a, auto, auto i, auto j) {
                            return a(clamp(i - 1, 0, a.extent(0) - 1), j) + a(clamp(i + 1, 0, a.extent(0) - 1), j);
                          }));
}
TEST_CASE("an index that is read from memory takes the whole dimension") {
  std::string const text = by_rows(16, 8, [](auto a, auto x, auto i, auto j) {
    return a(clamp(cast<std::int64_t>(x(i, j)), 0, a.extent(0) - 1), j);
  });
  CHECK(has(text, "buffer a: f32[16, 8]"));
}
TEST_CASE("a remainder takes as much as it can be") {
  std::string const text = by_rows(16, 8, [](auto a, auto, auto i, auto j) { return a(i % 3, j); });
  CHECK(has(text, "buffer a: f32[3, 8]"));
}
TEST_CASE("a border that mirrors takes what its tile reaches, one that wraps around the whole dimension") {
  auto const rows = [](auto const& border, std::int64_t n = 18) {
    return by_rows(n, 8, [&](auto a, auto, auto i, auto j) { return border(a)(i - 1, j) + border(a)(i + 1, j); });
  };
  auto const reflected = [](auto a) { return reflect(a); };
  auto const mirrored = [](auto a) { return mirror(a); };
  CHECK(has(rows(reflected), "buffer a: f32[6, 8]"));
  CHECK(has(rows(mirrored), "buffer a: f32[6, 8]"));
  CHECK(has(rows([](auto a) { return wrap(a); }), "buffer a: f32[18, 8]"));
  // Further outside than half a period: another mirror image.
  CHECK(has(by_rows(18, 8, [](auto a, auto, auto i, auto j) { return reflect(a)(i - 18, j); }), "buffer a: f32[18, 8]"));
  CHECK(has(rows(reflected, 1), "buffer a: f32[1, 8]"));
}
TEST_CASE("a part too large for the stack is in the workspace, once for each iteration of a parallel axis") {
  auto const same = [](auto a, auto, auto i, auto j) { return a(i, j); };
  CHECK(has(by_rows(16, 4000, same), "buffer a: f32[4, 4000] strides [4000, 1] in stack"));
  CHECK(has(by_rows(16, 5000, same), "buffer a: f32[4, 5000] strides [5000, 1] in heap"));
  std::string const parallel = by_rows(16, 5000, same, [](schedule& s, axis a) { s.parallel(a); });
  CHECK(has(parallel, "buffer a: f32[4, 4, 5000] strides [20000, 5000, 1] in heap"));
  CHECK(has(parallel, "a[io, i, j_1]"));
}
TEST_CASE("where the number of threads is known, each of them has memory for a part, and no more run the loop than that") {
  auto const marked = [](std::int32_t threads, std::int64_t rows, std::int64_t limit = 0, bool open = false) {
    lowered_program l{two_maps([](auto a, auto, auto i, auto j) { return a(i, j); }), {{rows, 5000}}};
    l.threads = threads;
    if (open) l.dims = {{"n", nullptr}};
    std::string const text = ir::print(l([=](schedule& s, sequence<std::int32_t> const&) {
      auto const parts = s.split(axis{s.order[1][0]}, 4);
      if (limit > 0) s.parallel(parts[0], thread_limit(limit));
      else s.parallel(parts[0]);
      s.compute_at(handle_of<2>(s, 0), parts[0]);
    }));
    ir::arena m;
    CHECK(ir::print(ir::parse(m, text)) == text);
    return text;
  };
  for (std::string const& text : {marked(2, 16), marked(2, 400), marked(8, 16, 2), marked(2, 400, 0, true)}) {
    INFO(text);
    CHECK(has(text, "buffer a: f32[4, 5000] strides [5000, 1] in heap of 2 threads written"));
    CHECK((has(text, "    a[i, j_1] = ") || has(text, "    a[i_1, j_1] = ")));
  }
  CHECK(has(marked(8, 16), "in heap of 4 threads"));
  CHECK(has(marked(8, 16, 2000), "in heap of 4 threads"));
  CHECK(has(marked(3, 400, 2000), "in heap of 3 threads"));
}
TEST_CASE("rows that are swizzled may have no elements, and planes of them must be whole rows apart") {
  auto const swizzled = [](std::int64_t columns, std::int64_t planes_apart) {
    program p;
    expr::tensor<float, 3> const x{&p, p.add_input(short_name("x"), dtype::f32, 3)};
    auto const a = compute<"a">(x.extent(0), x.extent(1), x.extent(2), [=](auto h, auto i, auto j) { return x(h, i, j) + x(h, i, j); });
    auto const b = compute<"b">(x.extent(0), x.extent(1), x.extent(2), [=](auto h, auto i, auto j) { return a(h, i, j); });
    p.outputs.push_back(b.id);
    lowered_program l{canonical(p), {{8, 4, columns}}};
    return ir::print(l([&](schedule& s, sequence<std::int32_t> const&) {
      auto const parts = s.split(axis{s.order[1][0]}, 4);
      s.compute_at(handle_of<3>(s, 0), parts[0]);
      s.storage_align(handle_of<3>(s, 0), 0, planes_apart);
      s.swizzle(handle_of<3>(s, 0));
    }));
  };
  CHECK(has(swizzled(8, 1), "buffer a: f32[4, 4, 8] strides [32, 8, 1] in stack written swizzled"));
  CHECK(has(swizzled(0, 1), "buffer a: f32[4, 4, 0]"));
  CHECK_THROWS_AS(swizzled(8, 36), schedule_error);
}
TEST_CASE("while sizes are open, large parts are in the workspace, too, and once for each iteration of a parallel axis") {
  lowered_program l{two_maps([](auto a, auto, auto i, auto j) { return a(i, j); }), {{16, 8}}};
  l.dims = {{"n", "m"}};
  auto const at_rows = [](bool parallel) {
    return [=](schedule& s, sequence<std::int32_t> const&) {
      auto const parts = s.split(axis{s.order[1][0]}, 4);
      if (parallel) s.parallel(parts[0]);
      s.compute_at(handle_of<2>(s, 0), parts[0]);
    };
  };
  CHECK(has(ir::print(l(at_rows(false))), "buffer a: f32[4, m] strides [m, 1] in heap"));
  std::string const parallel = ir::print(l(at_rows(true)));
  CHECK(has(parallel, "buffer a: f32[(n + 3) // 4, 4, m]"));
  CHECK(has(parallel, "a[io, i, j_1]"));
}
TEST_CASE("an inlined stage has neither loops nor memory") {
  lowered_program l{two_maps([](auto a, auto, auto i, auto j) { return a(i, j) + a(i, 0); }), {{3, 4}}};
  weft_test::check_golden("lower/inlined.ir", ir::print(l([](schedule& s, sequence<std::int32_t> const&) {
                            s.compute_inline(handle_of<2>(s, 0));
                          })));
}
TEST_CASE("an element that is inlined at equal indices is made once, at too many different ones refused") {
  program p;
  expr::tensor<float, 1> x{&p, p.add_input(short_name("x"), dtype::f32, 1)};
  for (int stage = 0; stage < 12; ++stage)  // each reads the one before at two places: 2^12, but 13 different ones
    x = compute<"s">(x.extent(0) - 1, [=](auto i) { return x(i) + x(i + 1); });
  p.outputs.push_back(x.id);
  auto const inline_all = [](schedule& s, sequence<std::int32_t> const&) {
    for (int stage = 0; stage + 1 < static_cast<int>(s.order.size()); ++stage) s.compute_inline(handle_of<1>(s, stage));
  };
  lowered_program chain{canonical(p), {{40}}};
  CHECK(ir::print(chain(inline_all)).size() < 20000);

  program q;
  expr::tensor<float, 1> y{&q, q.add_input(short_name("y"), dtype::f32, 1)};
  std::int64_t step = 1;
  for (int stage = 0; stage < 15; ++stage, step *= 2) {
    std::int64_t const by = step;
    y = compute<"s">(y.extent(0) - by, [=](auto i) { return y(i) + y(i + by); });
  }
  q.outputs.push_back(y.id);
  lowered_program wide{canonical(q), {{40000}}};
  CHECK_THROWS_WITH_AS(wide(inline_all), doctest::Contains("more than 10,000 places"), schedule_error);
}
