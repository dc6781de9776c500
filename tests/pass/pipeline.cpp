#include "weft/pass/pipeline.hpp"

#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "support/golden.hpp"

using namespace weft;
using weft_test::body, weft_test::lowered_program, weft_test::map_program;

namespace {
using loops = sequence<std::int32_t> const&;

/// The loop program for vectors of `bytes` bytes; every pass leaves it sound.
template <class How>
ir::function passed(lowered_program& l, int bytes, How const& how) {
  ir::function f = l(how);
  run_passes(f, {bytes}, {[](void*, char const* pass, ir::function const& now) {
                          INFO(pass);
                          CHECK(ir::verify(now) == "");
                        }});
  return f;
}
template <class How>
void golden(char const* name, lowered_program&& l, int bytes, How const& how) {
  weft_test::check_golden(std::string("pass/") + name + ".ir", ir::print(passed(l, bytes, how)));
}
void plain(schedule&, loops) {}
/// The register tile of the first lesson on the matrix product.
void register_tile(schedule& s, loops o) {
  auto const [ko, ki] = s.split(axis{o[2]}, 256);
  auto const [io, ii] = s.split(axis{o[0]}, 6);
  auto const [jo, ji] = s.split(axis{o[1]}, 64);
  s.reorder(ko, jo, io, ki, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
  s.parallel(jo);
}
program added() {
  program p;
  expr::tensor<float, 1> const a{&p, p.add_input(short_name("A"), dtype::f32, 1)};
  expr::tensor<float, 1> const b{&p, p.add_input(short_name("B"), dtype::f32, 1)};
  auto const c = compute<"C">(a.extent(0), [=](auto i) { return a(i) + b(i); });
  p.outputs.push_back(c.id);
  return canonical(p);
}
template <class Node>
bool any(ir::stmt s, Node const& wanted) {
  if (wanted(s)) return true;
  for (ir::stmt c : s->children)
    if (any(c, wanted)) return true;
  return false;
}
}  // namespace

TEST_CASE("golden: a vector sum with a tail") {
  golden("vector_add", {added(), {{100}, {100}}}, 32, [](schedule& s, loops o) {
    auto const [io, ii] = s.split(axis{o[0]}, 16);
    s.vectorize(ii);
    s.parallel(io);
  });
}
TEST_CASE("golden: the matrix product as it is written") {
  golden("matmul_naive", {weft_test::matmul(), {{4, 5}, {5, 7}}}, 32, plain);
}
TEST_CASE("golden: a register tile of 6 x 64 where everything divides") {
  golden("matmul_tile", {weft_test::matmul(), {{12, 512}, {512, 128}}}, 64, register_tile);
}
TEST_CASE("golden: the register tile where nothing divides") {
  golden("matmul_tails", {weft_test::matmul(), {{13, 70}, {70, 9}}}, 64, register_tile);
}
TEST_CASE("golden: the register tile with masks instead of a last tile") {
  lowered_program l{weft_test::matmul(), {{12, 16}, {16, 75}}};
  l.tails = vector_tails::mask;
  golden("matmul_masked", static_cast<lowered_program&&>(l), 64, register_tile);
}
TEST_CASE("golden: a stencil with its border, once by clamp and once by select") {
  program p;
  expr::tensor<float, 1> const x{&p, p.add_input(short_name("A"), dtype::f32, 1)};
  auto const n = x.extent(0);
  auto const c = compute<"C">(n, [=](auto i) { return x(clamp(i - 1, 0, n - 1)) + x(clamp(i + 1, 0, n - 1)); });
  auto const d = compute<"D">(n, [=](auto i) { return select(i > 0, x(i - 1), 0.0f) + x(i); });
  p.outputs = {c.id, d.id};
  golden("stencil", {canonical(p), {{20}}}, 32, [](schedule& s, loops) {
    s.vectorize(axis{s.order[0][0]});
    s.vectorize(axis{s.order[1][0]});
  });
}
TEST_CASE("golden: two stages, the first in a workspace") {
  golden("two_stages", {weft_test::two_stages(), {{6, 8}}}, 32, [](schedule& s, loops) {
    s.vectorize(axis{s.order[1][1]});
    s.parallel(axis{s.order[1][0]});
  });
}

TEST_CASE("after the passes no loop is vectorized or unrolled, and no accumulate is left") {
  lowered_program l{weft_test::matmul(), {{13, 70}, {70, 9}}};
  ir::function const f = passed(l, 32, register_tile);
  CHECK_FALSE(any(f.body, [](ir::stmt s) { return s->kind == ir::stmt_kind::accumulate; }));
  CHECK_FALSE(any(f.body, [](ir::stmt s) {
    return s->kind == ir::stmt_kind::loop && s->how != loop_kind::serial && s->how != loop_kind::parallel;
  }));
}
TEST_CASE("a tile that divides has neither branch nor mask, and its sums stay in registers") {
  lowered_program l{weft_test::matmul(), {{12, 512}, {512, 128}}};
  ir::function const f = passed(l, 64, register_tile);
  CHECK_FALSE(any(f.body, [](ir::stmt s) { return s->kind == ir::stmt_kind::branch || s->mask != nullptr; }));
  int registers = 0;
  for (ir::buffer const* b : f.buffers) registers += b->where == ir::scope::registers;
  CHECK(registers == 6 * 4);
}
TEST_CASE("equal inputs give byte-equal programs") {
  auto const text = [] {
    lowered_program l{weft_test::matmul(), {{13, 70}, {70, 9}}};
    return ir::print(passed(l, 64, register_tile));
  };
  CHECK(text() == text());
}
TEST_CASE("the observer hears of each pass by name, in order, with the program as it is then") {
  lowered_program l{added(), {{100}, {100}}};
  ir::function f = l(plain);
  std::string heard;
  run_passes(f, {32}, {[](void* to, char const* pass, ir::function const& now) {
                       *static_cast<std::string*>(to) += std::string(pass) + (now.body != nullptr ? " " : "? ");
                     },
                     &heard});
  CHECK(heard == "simplify vectorize unroll simplify_copies promote simplify_last jam partition legalise ");
}
