// Stages that a schedule has added: where they stand, and their memory.
#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/golden.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {
constexpr input_handle<2> A{0}, B{1};
stage_handle<3, 2> product_of(schedule const& s) { return handle_of<3, 2>(s, 0); }
/// A panel of B as wide as a tile, copied before the rows run over it.
void pack_panels(schedule& s) {
  auto const C = product_of(s);
  auto const [i, j, k] = C.axes();
  auto const [jo, ji] = s.split(j, 8);
  s.reorder(jo, i, k, ji);
  s.vectorize(ji);
  s.compute_at(s.cache_read(B, C), jo);
}
}  // namespace

TEST_CASE("a packed panel holds the columns of one tile, side by side") {
  lowered_program l{weft_test::matmul(), {{12, 16}, {16, 20}}};
  weft_test::check_golden("lower/packed_panel.ir", ir::print(l([](schedule& s, auto const&) { pack_panels(s); })));
}
TEST_CASE("a copy that no step has placed stands before the first stage that reads it") {
  lowered_program l{weft_test::matmul(), {{3, 4}, {4, 5}}};
  std::string const text = weft_test::body(l([](schedule& s, auto const&) {
    static_cast<void>(s.cache_read(A, product_of(s)));
    static_cast<void>(s.cache_read(B, product_of(s)));
  }));
  std::size_t const a = text.find("A_copy["), b = text.find("B_copy["), c = text.find("C[");
  CHECK(a < b);
  CHECK(b < c);
  CHECK(c < text.size());
}
TEST_CASE("while sizes are open, the workspace is as large as the sizes want it") {
  lowered_program l{weft_test::matmul(), {{12, 16}, {16, 20}}};
  l.dims = {{"n", "m"}, {"m", nullptr}};
  ir::function const f = l([](schedule& s, auto const&) { pack_panels(s); });
  CHECK(ir::print(f).find("buffer B_copy: f32[m, 8] strides [8, 1] in heap") != std::string::npos);
}
TEST_CASE("what a stage computes is summed on the stack, a tile at a time, and copied from there") {
  lowered_program l{weft_test::matmul(), {{12, 16}, {16, 20}}};
  ir::function const f = l([](schedule& s, auto const&) {
    auto const C = product_of(s);
    auto const acc = s.cache_write(C);
    auto const [jo, ji] = s.split(C.all[1], 8);
    s.reorder(jo, C.all[0], ji);
    s.compute_at(acc, C.all[0]);
    s.reorder(acc.all[0], acc.all[2], acc.all[1]);
  });
  weft_test::check_golden("lower/tile_on_the_stack.ir", ir::print(f));
}
TEST_CASE("panels of a copy are read side by side; beyond the last column stands the padding") {
  for (std::int64_t columns : {std::int64_t(32), std::int64_t(20)}) {
    lowered_program l{weft_test::matmul(), {{12, 16}, {16, columns}}};
    ir::function const f = l([](schedule& s, auto const&) {
      auto const C = product_of(s);
      auto const packed = s.transform_layout(s.cache_read(B, C), [](auto k, auto j) { return dims(j / 8, k, j % 8); }, -1);
      auto const [jo, ji] = s.split(C.all[1], 8);
      s.reorder(jo, C.all[0], C.all[2], ji);
      s.vectorize(ji);
      s.vectorize(packed.all[2]);
    });
    weft_test::check_golden(columns == 32 ? "lower/layout_panels.ir" : "lower/layout_panels_padded.ir", ir::print(f));
  }
}
TEST_CASE("a panel inside the loop over tiles is no more than a panel") {
  lowered_program l{weft_test::matmul(), {{12, 16}, {16, 20}}};
  ir::function const f = l([](schedule& s, auto const&) {
    auto const C = product_of(s);
    auto const packed = s.transform_layout(s.cache_read(B, C), [](auto k, auto j) { return dims(j / 8, k, j % 8); });
    auto const [jo, ji] = s.split(C.all[1], 8);
    s.reorder(jo, C.all[0], C.all[2], ji);
    s.compute_at(packed, jo);
  });
  INFO(ir::print(f));
  CHECK(ir::print(f).find("buffer B_copy: f32[1, 16, 8]") != std::string::npos);
}
