#include <doctest/doctest.h>

#include "weft/expr/boundary.hpp"
#include "weft/expr/canonical.hpp"
#include "weft/expr/compute.hpp"
#include "weft/expr/evaluate.hpp"
#include "weft/expr/expand.hpp"
#include "weft/schedule/print.hpp"
#include "weft/schedule/print_how.hpp"

using weft::diagnosis;
using weft::verdict;

namespace {
/// A convolution of 6 x 7 x 3 with 2 x 3 x 3 x 4, zeros around it, and what becomes of it.
weft::program convolution(bool zeros, bool behind = false) {
  weft::program p;
  weft::expr::tensor<float, 3> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 3)};
  weft::expr::tensor<float, 4> const w{&p, p.add_input(weft::short_name("w"), weft::dtype::f32, 4)};
  auto const at = weft::constant_exterior(x, 0.0f);
  auto const y = weft::compute<"y">(6, 7, w.extent(3), [=](auto i, auto j, auto f) {
    return weft::sum(x.extent(2), 2, 3, [=](auto c, auto di, auto dj) {
      return (zeros ? at(i + di - 1, j + dj - 1, c) : x(i + di, j + dj, c)) * w(di, dj, c, f);
    });
  });
  if (!behind) {
    p.outputs.push_back(y.id);
  } else {
    auto const top = weft::compute<"top">(6, 7, w.extent(3), [=](auto i, auto j, auto f) { return weft::max(y(i, j, f), 0.0f); });
    p.outputs.push_back(top.id);
  }
  return weft::expand(weft::canonical(p), true);
}
struct extents {
  std::int64_t operator()(int tensor, int dim) const {
    constexpr std::int64_t all[2][4] = {{7, 9, 3, 0}, {2, 3, 3, 4}};
    return all[tensor][dim];
  }
};
struct scheduled {
  weft::program p;
  weft::schedule s;
  weft::stage_handle<6, 3> y = weft::handle_of<6, 3>(s, 0);
  explicit scheduled(weft::program of) : p(std::move(of)), s(p, extents()) {}
  diagnosis why() const { return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason; }
};
/// What a program computes of numbers that are whole, so that no order of sums matters.
weft::dense result_of(weft::program const& p) {
  weft::sequence<weft::dense> inputs;
  int n = 0;
  for (int t = 0; t < 2; ++t) {
    weft::dense d{weft::dtype::f32, {}, {}};
    std::int64_t count = 1;
    for (int i = 0; i < p.tensors[static_cast<std::size_t>(t)].rank; ++i) d.shape.push_back(extents()(t, i)), count *= d.shape.back();
    for (std::int64_t i = 0; i < count; ++i) d.bits.push_back(weft::to_bits(static_cast<float>((n += 5) % 11 - 4)));
    inputs.push_back(d);
  }
  return weft::evaluator(p, inputs, {}).result(p.outputs[0]);
}
weft::diagnosis refused(weft::program p) {
  weft::program const made = weft::expand(weft::canonical(p), true);
  weft::schedule s(made, extents());
  weft::step one{weft::verb::im2col};
  one.stage = 0;
  s.take(one);
  return s.failed < 0 ? diagnosis::none : s.steps[0].reason;
}
}  // namespace

TEST_CASE("im2col: rows, columns and terms are fused, and a product of matrices is left") {
  scheduled t(convolution(false));
  auto const [i, j, f, c, di, dj] = t.y.axes();
  auto const [product, rows, columns] = t.s.im2col(t.y, di, dj, c);
  CHECK(t.s.state == verdict::legal);
  auto const [m, n, k] = product.axes();
  CHECK(t.s.at(m.id).extent == 42);
  CHECK(t.s.at(n.id).extent == 4);
  CHECK(t.s.at(k.id).extent == 18);
  t.s.compute_at(rows, k);
  t.s.compute_at(columns, k);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_loops(t.s) == R"(y
  for i in 0..6
    for j in 0..7
      for k in 0..4
        y[i, j, k] = y_product[i * 7 + j, k]
y_product
  for i in 0..42
    for j in 0..4
      for k in 0..18
        x_matrix
          for i in 0..part(42)
            for j in 0..part(18)
              x_matrix[i, j] = x[i / 7 + j / x.extent(2) / 3, i % 7 + j / x.extent(2) % 3, j % x.extent(2)]
        w_matrix
          for i in 0..part(18)
            for j in 0..part(4)
              w_matrix[i, j] = w[i / x.extent(2) / 3, i / x.extent(2) % 3, i % x.extent(2), j]
        y_product[i, j] += x_matrix[i, k] * w_matrix[k, j]
)");
  CHECK(weft::print_trace(t.s) == "y: im2col(1, 2, 0)\nx_matrix: compute_at(y_product, k)\nw_matrix: compute_at(y_product, k)\n");
  weft::schedule again(t.p, extents());
  CHECK(weft::replay(again, weft::parse_trace(weft::print_trace(t.s), weft::schedule(t.p, extents()))));
  CHECK(weft::print_loops(again) == weft::print_loops(t.s));
  CHECK(weft::print_how(t.s) == R"([](auto& s, auto, auto, auto y) {
  auto [i, j, k, l, m, n] = y.axes();
  auto [y_product, x_matrix, w_matrix] = s.im2col(y, m, n, l);
  auto [y_product_i, y_product_j, y_product_k] = y_product.axes();
  s.compute_at(x_matrix, y_product_k);
  s.compute_at(w_matrix, y_product_k);
})");
}
TEST_CASE("im2col: what is computed stays the same, in any order of the terms, with zeros around") {
  for (bool zeros : {false, true})
    for (int order = 0; order < 3; ++order) {
      scheduled t(convolution(zeros, order == 2));
      auto const [i, j, f, c, di, dj] = t.y.axes();
      if (order == 1) t.s.im2col(t.y, dj, c, di);
      else t.s.im2col(t.y);
      REQUIRE(t.s.state == verdict::legal);
      weft::dense const made = result_of(t.s.computation()), wanted = result_of(t.p);
      CHECK(made.shape == wanted.shape);
      CHECK(made.bits == wanted.bits);
      CHECK(weft::rewritten(t.p, t.s.steps).stages.size() == t.s.computation().stages.size());
    }
}
TEST_CASE("im2col: a stage is computed where the sums of a product with fused rows are") {
  for (bool behind : {false, true}) {
    scheduled t(convolution(true, behind));
    auto const product = t.s.im2col(t.y).product;
    auto const [m, n, k] = product.axes();
    auto const [mo, mi] = t.s.split(m, 7);
    t.s.reorder(mo, k, mi, n);
    if (behind) t.s.compute_inline(t.y);
    weft::step one{weft::verb::reverse_compute_inline};
    one.stage = behind ? 1 : 0;
    CHECK(t.s.take(one));
    std::string const loops = weft::print_loops(t.s);
    CHECK(loops.find("for ijo in 0..6") != std::string::npos);
    CHECK(t.s.places[static_cast<std::size_t>(product.stage)].loop >= 0);
  }
}
TEST_CASE("im2col: what is no product of two matrices is refused, and so is an order that lacks an axis") {
  constexpr diagnosis none_such = diagnosis::the_terms_are_no_products_of_two_tensors__of_which_each_axis_moves_one;
  auto const of = [&](auto const& term) {
    weft::program p;
    weft::expr::tensor<float, 3> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 3)};
    weft::expr::tensor<float, 4> const w{&p, p.add_input(weft::short_name("w"), weft::dtype::f32, 4)};
    auto const y = weft::compute<"y">(6, 4, [=](auto i, auto f) {
      return weft::sum(3, 2, [=](auto k, auto l) { return term(x, w, i, f, k, l); });
    });
    p.outputs.push_back(y.id);
    return refused(p);
  };
  CHECK(of([](auto x, auto w, auto i, auto f, auto k, auto l) { return x(i, k, l) * w(l, 0, k, f); }) == diagnosis::none);
  CHECK(of([](auto x, auto, auto i, auto f, auto k, auto l) { return x(i, k, l) * x(f, k, l); }) == diagnosis::none);
  CHECK(of([](auto x, auto, auto i, auto, auto k, auto l) { return x(i, k, l) * x(i, k, l); }) == none_such);       // one operand
  CHECK(of([](auto x, auto w, auto i, auto f, auto k, auto l) { return x(i + f, k, l) * w(l, 0, k, f); }) == none_such);  // f moves both
  CHECK(of([](auto x, auto w, auto i, auto f, auto k, auto l) { return x(i, k, l) * w(l, 0, k, f) * weft::cast<float>(i); }) == none_such);
  CHECK(of([](auto x, auto w, auto i, auto f, auto k, auto l) { return x(i, k, l) * w(l, 0, k, f) + x(i, 0, l); }) == none_such);
  CHECK(of([](auto x, auto w, auto, auto f, auto k, auto l) { return x(0, k, l) * w(l, 0, k, f); }) == none_such);  // i moves none
  for (weft::sequence<std::int64_t> const& order : {weft::sequence<std::int64_t>{0, 1}, weft::sequence<std::int64_t>{0, 1, 1}, weft::sequence<std::int64_t>{0, 1, 3}}) {
    scheduled t(convolution(false));
    weft::step one{weft::verb::im2col};
    one.stage = 0;
    one.numbers = order;
    CHECK(!t.s.take(one));
    CHECK(t.why() == diagnosis::the_order_of_terms_names_each_reduced_axis_once);
  }
  scheduled t(convolution(false));
  t.s.split(t.y.all[0], 2);
  t.s.im2col(t.y);
  CHECK(t.why() == diagnosis::the_stage_was_scheduled_already__this_step_comes_before_all_others_on_it);
}
TEST_CASE("im2col: of a sum with terms left out, the operand without their condition is read whole, or it is refused") {
  // By what is asked: the weights' first index; whether sums are of products.
  auto const conditional = [](auto const& index, bool products, auto const& terms) {
    weft::program p;
    weft::expr::tensor<float, 3> const x{&p, p.add_input(weft::short_name("x"), weft::dtype::f32, 3)};
    weft::expr::tensor<float, 4> const w{&p, p.add_input(weft::short_name("w"), weft::dtype::f32, 4)};
    auto const y = weft::compute<"y">(6, 7, w.extent(3), [=](auto i, auto j, auto f) {
      return weft::sum(w.extent(2), terms(w), w.extent(1), [=](auto c, auto di, auto dj) {
        auto const inside = 0 <= i + di - 1 && 1 <= di && j + dj < 9;
        auto const one = w(index(di), dj, c, f), other = x(i + di - 1, j + dj, c);
        return weft::where(inside, products ? one * other : one + other);
      });
    });
    p.outputs.push_back(y.id);
    return p;
  };
  auto const plain = [](auto k) { return k; };
  auto const before = [](auto k) { return k - 1; };
  auto const own = [](auto const& w) { return w.extent(0); };
  auto const more = [](auto const& w) { return w.extent(0) + 1; };
  CHECK(refused(conditional(plain, true, own)) == diagnosis::none);
  constexpr auto no = diagnosis::the_terms_are_no_products_of_two_tensors__of_which_each_axis_moves_one;
  CHECK(refused(conditional(before, true, own)) == no);
  CHECK(refused(conditional(plain, true, more)) == no);
  CHECK(refused(conditional(plain, false, own)) == no);  // sums of zeros would not be nothing
  weft::program const p = weft::expand(weft::canonical(conditional(plain, true, own)), true);
  scheduled t(p);
  t.s.im2col(t.y);
  REQUIRE(t.s.state == verdict::legal);
  CHECK(result_of(t.s.computation()).bits == result_of(t.p).bits);
}
