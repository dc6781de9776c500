// Where memory of stages is, and its strides, as steps want it.
#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/golden.hpp"
#include "weft/codegen/workspace.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {
constexpr input_handle<2> A{0}, B{1};
stage_handle<3, 2> product_of(schedule const& s) { return handle_of<3, 2>(s, 0); }
bool has(ir::function const& f, char const* what) { return ir::print(f).find(what) != std::string::npos; }
}  // namespace

TEST_CASE("a whole stage on the stack exists from its nest on") {
  lowered_program l{weft_test::matmul(), {{12, 16}, {16, 20}}};
  ir::function const f = l([](schedule& s, auto const&) { s.set_scope(s.cache_read(B, product_of(s)), scope::stack); });
  CHECK(workspace_bytes(f) == 0);
  weft_test::check_golden("lower/scope_stack.ir", ir::print(f));
}
TEST_CASE("a part that would be on the stack is in the workspace, in each iteration of a parallel loop its own") {
  lowered_program l{weft_test::matmul(), {{12, 16}, {16, 20}}};
  ir::function const f = l([](schedule& s, auto const&) {
    auto const C = product_of(s);
    auto const [jo, ji] = s.split(C.all[1], 8);
    s.reorder(jo, C.all[0], ji);
    s.parallel(jo);
    auto const copy = s.cache_read(B, C);
    s.compute_at(copy, jo);
    s.set_scope(copy, scope::workspace);
  });
  CHECK(has(f, "buffer B_copy: f32[3, 16, 8] strides [128, 8, 1] in heap"));
}
TEST_CASE("what is too large for the stack, together or because its size is not known, is refused in words") {
  auto const refused = [](lowered_program&& l, char const* words, auto const& steps) {
    CHECK_THROWS_WITH_AS(l([&](schedule& s, auto const&) { steps(s, product_of(s)); }), doctest::Contains(words),
                         schedule_error);
  };
  refused({weft_test::matmul(), {{12, 16}, {16, 20}}, {}, {{nullptr, "k"}, {"k", nullptr}}},
          "in    stage A_copy: of a size that is not known", [](schedule& s, auto C) {
            auto const copy = s.cache_read(A, C);
            s.compute_at(copy, C.all[0]);
            s.set_scope(copy, scope::stack);
          });
  refused({weft_test::matmul(), {{100, 100}, {100, 100}}}, "in    stage B_copy: 40064 bytes, 40064 are taken",
          [](schedule& s, auto C) {
            s.set_scope(s.cache_read(A, C), scope::stack);
            s.set_scope(s.cache_read(B, C), scope::stack);
          });
  refused({weft_test::matmul(), {{200, 200}, {200, 200}}}, "in    stage B_copy: 160064 bytes, 0 are taken",
          [](schedule& s, auto C) {
            auto const copy = s.cache_read(B, C);
            s.compute_at(copy, C.all[0]);
            s.set_scope(copy, scope::stack);
          });
}
TEST_CASE("rows of a stage begin where its stride is factor * n + offset; memory is as long as its rows") {
  struct {
    std::int64_t columns, factor, offset, stride;
  } const cases[] = {{20, 16, 0, 32}, {20, 16, 4, 20}, {20, 16, 3, 35}, {20, 1, 0, 20}, {1, 64, 8, 8}, {16, 16, 0, 16}};
  for (auto const& c : cases) {
    lowered_program l{weft_test::matmul(), {{12, 16}, {16, c.columns}}};
    for (scope where : {scope::workspace, scope::stack}) {
      ir::function const f = l([&](schedule& s, auto const&) {
        auto const copy = s.cache_read(B, product_of(s));
        s.storage_align(copy, 0, c.factor, c.offset);
        s.set_scope(copy, where);
      });
      CHECK(has(f, ("strides [" + std::to_string(c.stride) + ", 1] in").c_str()));
      if (where == scope::workspace) CHECK(workspace_bytes(f) == (16 * c.stride * 4 + 63) / 64 * 64);
    }
  }
}
TEST_CASE("the innermost stride too, and that of open sizes, whose memory is asked for at each call") {
  lowered_program l{weft_test::matmul(), {{12, 16}, {16, 20}}};
  l.dims = {{nullptr, "k"}, {"k", "n"}};
  ir::function const f = l([&](schedule& s, auto const&) {
    auto const copy = s.cache_read(B, product_of(s));
    s.storage_align(copy, 1, 2, 1);
    s.storage_align(copy, 1, 2);
    s.storage_align(copy, 0, 8);
  });
  CHECK(has(f, "buffer B_copy: f32[k, n] strides [(n + 3) // 4 * 8, 2] in heap"));
}
