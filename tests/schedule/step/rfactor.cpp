#include "../programs.hpp"

#include <doctest/doctest.h>

#include "weft/expr/formula.hpp"
#include "weft/expr/text.hpp"
#include "weft/schedule/print.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::dtype;
using weft::verdict;
using weft::verb;

namespace {
diagnosis why(weft::schedule const& s) {
  return s.failed < 0 ? s.fault : s.steps[static_cast<std::size_t>(s.failed)].reason;
}
/// Row sums C of a matrix A, and D, which reads them.
weft::program sums_and_map() {
  weft::program p;
  weft::expr::tensor<float, 2> const A{&p, p.add_input(weft::short_name("A"), dtype::f32, 2)};
  auto const C =
      weft::compute<"C">(A.extent(0), [=](auto i) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k); }); });
  auto const D = weft::compute<"D">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) - C(i); });
  p.outputs.push_back(D.id);
  return weft::canonical(p);
}
struct scheduled {
  weft::program p = sums_and_map();
  weft::schedule s{p, all_extents{20}};
  weft::stage_handle<2, 1> C = weft::handle_of<2, 1>(s, 0);
  weft::stage_handle<2> D = weft::handle_of<2>(s, 1);
};
/// `body(A, x)` over one input of three dimensions as a stage "C".
template <class T = float, class Body>
weft::program over_cube(Body const& body) {
  weft::program p;
  weft::expr::tensor<T, 3> const A{&p, p.add_input(weft::short_name("A"), weft::dtype_of<T>, 3)};
  auto const C = body(A);
  if constexpr (requires { C.id; }) p.outputs.push_back(C.id);
  else p.outputs.push_back(weft::get<0>(C).id);
  return weft::canonical(p);
}
/// Whether the first reduced axis of stage 0 can be taken apart.
diagnosis taken_apart(weft::program const& p) {
  weft::schedule s(p, all_extents{6});
  weft::step one{verb::rfactor, 1, {s.order[0][static_cast<std::size_t>(p.stages[0].spatial)]}, 4};
  one.stage = 0;
  s.take(one);
  return why(s);
}
template <class T = float, class Reduction>
diagnosis reduced_by(Reduction const& reduction) {
  return taken_apart(over_cube<T>([&](auto const& A) {
    return weft::compute<"C">(A.extent(0), [=](auto i) { return reduction(A, i); });
  }));
}
}  // namespace

TEST_CASE("rfactor: the parts are a spatial axis of a new stage, and the one reduced axis of the old one") {
  scheduled t;
  auto const [i, k] = t.C.axes();
  auto const [P, v] = t.s.rfactor(t.C, k, 8);
  CHECK(t.s.state == verdict::legal);
  auto const [pi, pv, pu] = P.axes();
  CHECK(t.s.at(pv.id).extent == 8);
  CHECK(t.s.at(pu.id).extent == 3);
  CHECK(t.s.at(pu.id).reduced);
  CHECK(t.s.at(v.id).reduced);
  CHECK(weft::print_loops(t.s) == R"(C
  for i in 0..20
    for v in 0..8
      C[i] += C_rf[i, j]
  where j = v
D
  for i in 0..20
    for j in 0..20
      D[i, j] = A[i, j] - C[i]
C_rf
  for i in 0..20
    for j in 0..8
      for k in 0..3
        C_rf[i, j] += A[i, k * 8 + j] where k * 8 + j < A.extent(1)
)");
  t.s.vectorize(pv);
  t.s.compute_at(P, i);
  t.s.unroll(v);
  CHECK(t.s.state == verdict::legal);
  CHECK(weft::print_trace(t.s) == R"(C: rfactor(C, j, 8)
C_rf: vectorize(j)
C_rf: compute_at(C, i)
C: unroll(v)
)");
  weft::schedule const fresh(t.p, all_extents{20});
  CHECK(weft::parse_trace(weft::print_trace(t.s), fresh) == t.s.steps);
}
TEST_CASE("rfactor: chunks are pieces without gaps, and the trace has a name of its own for them") {
  scheduled t;
  static_cast<void>(t.s.rfactor(t.C, t.C.axes()[1], 8, weft::chunks));
  CHECK(weft::print_trace(t.s) == "C: rfactor_chunks(C, j, 8)\n");
  CHECK(weft::print_loops(t.s).find("A[i, j * ((A.extent(1) - 1) / 8 + 1) + k]") != std::string::npos);
  weft::schedule const fresh(t.p, all_extents{20});
  CHECK(weft::parse_trace(weft::print_trace(t.s), fresh) == t.s.steps);
}
TEST_CASE("rfactor: twice, of the parts and of what joins them") {
  scheduled t;
  auto const [P, v] = t.s.rfactor(t.C, t.C.axes()[1], 4, weft::chunks);
  auto const [Q, w] = t.s.rfactor(P, P.axes()[2], 8);
  auto const [R, x] = t.s.rfactor(t.C, v, 2);
  CHECK(t.s.state == verdict::legal);
  CHECK(Q.stage == 3);
  CHECK(R.stage == 4);
  CHECK(weft::print_trace(t.s) == R"(C: rfactor_chunks(C, j, 4)
C_rf: rfactor(C_rf, k, 8)
C: rfactor(C, v, 2)
)");
  weft::schedule const fresh(t.p, all_extents{20});
  CHECK(weft::parse_trace(weft::print_trace(t.s), fresh) == t.s.steps);
  CHECK(weft::detail::elements_text(t.s.computation(), 0) + weft::detail::update_text(t.s.computation(), 0) == "C[i] += C_rf_2[i, j]");
}
TEST_CASE("rfactor: a factor that divides a literal extent leaves no condition") {
  auto const p = over_cube([](auto const& A) {
    return weft::compute<"C">(A.extent(0), [=](auto i) { return weft::sum(24, [=](auto k) { return A(i, k, k); }); });
  });
  weft::schedule s(p, all_extents{24});
  static_cast<void>(s.rfactor(weft::handle_of<2, 1>(s, 0), weft::axis{s.order[0][1]}, 8));
  CHECK(weft::detail::update_text(s.computation(), 1) == " += A[i, k * 8 + j, k * 8 + j]");
}
TEST_CASE("rfactor: its steps can be taken again for the program with other nodes") {
  scheduled t;
  auto const [P, v] = t.s.rfactor(t.C, t.C.axes()[1], 4, weft::chunks);
  static_cast<void>(t.s.split(P.axes()[0], 2));
  static_cast<void>(t.s.rfactor(P, P.axes()[2], 8));
  weft::program const again = rewritten(t.p, t.s.steps);
  CHECK(again.stages.size() == 4);
  CHECK(again.nodes == t.s.computation().nodes);
}
TEST_CASE("rfactor: which reductions are known to be associative") {
  constexpr auto none = diagnosis::none;
  constexpr auto order = diagnosis::the_order_of_its_terms_counts__rfactor_needs_an_associative_reduction;
  CHECK(reduced_by([](auto A, auto i) {
          return weft::sum(A.extent(1), [=](auto k) { return A(i, k, k) * A(i, k, 0); });
        }) == none);
  CHECK(reduced_by([](auto A, auto i) { return weft::prod(A.extent(1), [=](auto k) { return A(i, k, k); }); }) == none);
  CHECK(reduced_by([](auto A, auto i) { return weft::min(A.extent(1), [=](auto k) { return A(i, k, k); }); }) == none);
  CHECK(reduced_by([](auto A, auto i) {
          return weft::any(A.extent(1), [=](auto k) { return A(i, k, k) > 0; });
        }) == none);
  CHECK(reduced_by([](auto A, auto i) {
          return weft::all(A.extent(1), [=](auto k) { return A(i, k, k) > 0; });
        }) == none);
  CHECK(reduced_by<weft::f16>([](auto A, auto i) {
          return weft::max(A.extent(1), [=](auto k) { return A(i, k, k); });
        }) == none);
  // What is rounded in each step is no sum of the whole.
  CHECK(reduced_by([](auto A, auto i) {
          auto const rounded = [](auto a, auto x) { return weft::cast<float>(weft::cast<weft::f16>(a + x)); };
          return weft::reduce(0, rounded, A.extent(1), [=](auto k) { return A(i, k, k); });
        }) == order);
  CHECK(reduced_by([](auto A, auto i) {
          return weft::sum(A.extent(1), [=](auto k) { return weft::where(A(i, k, k) > 0, A(i, k, 0)); });
        }) == none);
  CHECK(reduced_by([](auto A, auto i) { return weft::argmax(A.extent(1), [=](auto k) { return A(i, k, k); }); }) == none);
  CHECK(reduced_by<int>([](auto A, auto i) {
          return weft::argmin(A.extent(1), A.extent(2), [=](auto k, auto l) { return weft::where(k < l, A(i, k, l)); });
        }) == none);
  // An argmin of one's own counts its places by an extent that is written alike, wherever it was made; by another one it does not.
  auto const counted = [](int more) {
    return reduced_by<int>([=](auto A, auto i) {
      auto const smaller = [](auto a, auto x) {
        auto const better = weft::get<1>(x) < weft::get<1>(a) || weft::get<0>(a) < 0;
        return weft::values(weft::select(better, weft::get<0>(x), weft::get<0>(a)), weft::select(better, weft::get<1>(x), weft::get<1>(a)));
      };
      return weft::reduce(weft::values(std::int64_t(-1), INT32_MAX), smaller, A.extent(1), (A.extent(2) + 1) / 2,
                          [=](auto k, auto l) { return weft::values(k * ((A.extent(2) + more) / 2) + l, A(i, k, l)); });
    });
  };
  CHECK(counted(1) == none);
  CHECK(counted(2) == order);
  // And it may name its element, or its condition, twice: two nodes that are written alike.
  auto const named_twice = [](int other) {
    return reduced_by<int>([=](auto A, auto i) {
      auto const smaller = [=](auto a, auto x) {
        auto const better = [=](auto held) { return weft::get<1>(x) < weft::get<1>(a) || weft::get<0>(a) < held; };
        return weft::values(weft::select(better(0), weft::get<0>(x), weft::get<0>(a)), weft::select(better(other), weft::get<1>(x), weft::get<1>(a)));
      };
      return weft::reduce(weft::values(std::int64_t(-1), INT32_MAX), smaller, A.extent(1), [=](auto k) { return weft::values(k, A(i, k, k)); });
    });
  };
  CHECK(named_twice(0) == none);
  CHECK(named_twice(1) == order);
  // Of elements of each type, in whatever they are compared.
  auto const positions = [&]<class... T>(std::type_identity<T>...) {
    return ((reduced_by<T>([](auto A, auto i) { return weft::argmax(A.extent(1), [=](auto k) { return A(i, k, k); }); }) == none &&
             reduced_by<T>([](auto A, auto i) {
               return weft::argmin(A.extent(1), [=](auto k) { return weft::where(k < 5, A(i, k, k)); });
             }) == none) && ...);
  };
  auto const sums = [&]<class... T>(std::type_identity<T>...) {
    return ((reduced_by<T>([](auto A, auto i) { return weft::sum(A.extent(1), [=](auto k) { return A(i, k, k); }); }) == none &&
             reduced_by<T>([](auto A, auto i) { return weft::prod(A.extent(1), [=](auto k) { return A(i, k, k); }); }) == none &&
             reduced_by<T>([](auto A, auto i) { return weft::min(A.extent(1), [=](auto k) { return A(i, k, k); }); }) == none &&
             reduced_by<T>([](auto A, auto i) { return weft::max(A.extent(1), [=](auto k) { return A(i, k, k); }); }) == none) && ...);
  };
  auto const of_each_type = [](auto const& f) {
    return f(std::type_identity<std::int8_t>{}, std::type_identity<std::int16_t>{}, std::type_identity<std::int32_t>{},
             std::type_identity<std::int64_t>{}, std::type_identity<std::uint8_t>{}, std::type_identity<std::uint16_t>{},
             std::type_identity<std::uint32_t>{}, std::type_identity<std::uint64_t>{}, std::type_identity<weft::f16>{},
             std::type_identity<weft::bf16>{}, std::type_identity<float>{}, std::type_identity<double>{});
  };
  CHECK(of_each_type(positions));
  CHECK(of_each_type(sums));
  // A user's own, of one value and of several.
  auto const own = [](auto const& combine) {
    return reduced_by([=](auto A, auto i) {
      return weft::reduce(1, combine, A.extent(1), [=](auto k) { return A(i, k, k); });
    });
  };
  CHECK(own([](auto a, auto x) { return a + x * x + 2; }) == none);
  CHECK(own([](auto a, auto x) { return x + a; }) == none);
  CHECK(own([](auto a, auto x) { return a - x; }) == none);
  CHECK(own([](auto a, auto x) { return weft::select(x > 0, a * x, a); }) == none);
  CHECK(own([](auto a, auto x) { return x - a; }) == order);
  CHECK(own([](auto a, auto x) { return a + a * x; }) == order);
  CHECK(own([](auto a, auto x) { return a * 2 + x; }) == order);
  CHECK(own([](auto a, auto x) { return a / x; }) == order);
  CHECK(own([](auto a, auto x) { return weft::min(a + x, 7); }) == order);
  CHECK(own([](auto a, auto x) { return weft::select(a > 0, a + x, a); }) == order);
  CHECK(own([](auto, auto x) { return x; }) == order);
  CHECK(own(weft::any_order([](auto a, auto x) { return weft::min(a + x, 7); })) == none);
  auto const pairs = [](auto const& combine) {
    return reduced_by([=](auto A, auto i) {
      return weft::reduce(weft::values(1, 0), combine, A.extent(1),
                          [=](auto k) { return weft::values(A(i, k, k), A(i, k, 0)); });
    });
  };
  CHECK(pairs([](auto a, auto x) {
          return weft::values(weft::get<0>(a) + weft::get<0>(x), weft::max(weft::get<1>(a), weft::get<1>(x)));
        }) == none);
  CHECK(pairs([](auto a, auto x) {
          return weft::values(weft::get<0>(a) + weft::get<1>(a), weft::get<1>(a) + weft::get<1>(x));
        }) == order);
}
TEST_CASE("rfactor: what cannot be taken apart") {
  struct {
    void (*steps)(scheduled&);
    diagnosis why;
  } const cases[] = {
      {[](scheduled& t) { static_cast<void>(t.s.rfactor(t.C, t.D.axes()[1], 8)); },
       diagnosis::the_stage_does_not_have_this_axis},
      {[](scheduled& t) { static_cast<void>(t.s.rfactor(t.C, weft::axis{}, 8)); },
       diagnosis::the_axis_belongs_to_no_stage_of_this_schedule},
      {[](scheduled& t) { static_cast<void>(t.s.rfactor(weft::stage_handle<2, 1>{}, t.C.axes()[1], 8)); },
       diagnosis::the_stage_is_none_of_this_schedule},
      {[](scheduled& t) { static_cast<void>(t.s.rfactor(t.C, t.C.axes()[0], 8)); },
       diagnosis::only_a_reduced_axis_has_terms_to_share_out},
      {[](scheduled& t) { static_cast<void>(t.s.rfactor(t.C, t.C.axes()[1], 0)); },
       diagnosis::a_factor_must_be_at_least_1},
      {[](scheduled& t) {
         auto const [ko, ki] = t.s.split(t.C.axes()[1], 4);
         static_cast<void>(t.s.rfactor(t.C, ko, 8));
       },
       diagnosis::a_reduced_axis_is_split_or_marked_already__rfactor_first},
      {[](scheduled& t) {
         auto const [ko, ki] = t.s.split(t.C.axes()[1], 4);
         static_cast<void>(t.s.rfactor(t.C, t.s.fuse(ko, ki), 8));
       },
       diagnosis::a_reduced_axis_is_split_or_marked_already__rfactor_first},
      {[](scheduled& t) {
         t.s.unroll(t.C.axes()[1]);
         static_cast<void>(t.s.rfactor(t.C, t.C.axes()[1], 8));
       },
       diagnosis::a_reduced_axis_is_split_or_marked_already__rfactor_first},
      {[](scheduled& t) {
         static_cast<void>(t.s.rfactor(t.C, t.C.axes()[1], 8));
         t.s.unroll(t.C.axes()[1]);
       },
       diagnosis::the_axis_is_gone__use_those_of_the_handle_that_its_step_returned},
      {[](scheduled& t) {
         auto const copy = t.s.cache_read(weft::input_handle<2>{0}, t.C);
         t.s.compute_at(copy, t.C.axes()[1]);
         static_cast<void>(t.s.rfactor(t.C, t.C.axes()[1], 8));
       },
       diagnosis::a_stage_is_computed_inside_a_reduced_axis__rfactor_before_compute_at},
      {[](scheduled& t) {
         auto const copy = t.s.cache_read(weft::input_handle<2>{0}, t.C);
         t.s.compute_at(copy, t.C.axes()[0]);
         static_cast<void>(t.s.rfactor(t.C, t.C.axes()[1], 8));
       },
       diagnosis::a_stage_that_reads_it_runs_outside_of_this_axis__compute_it_further_out},
      {[](scheduled& t) {
         auto const [P, v] = t.s.rfactor(t.C, t.C.axes()[1], 8);
         t.s.compute_inline(P);
       },
       diagnosis::a_reduction_cannot_be_inlined__use_compute_at},
  };
  for (auto const& c : cases) {
    scheduled t;
    c.steps(t);
    CHECK(why(t.s) == c.why);
    std::string const said = explain(t.s, "k");
    INFO(said);
    CHECK(said.find("  try   ") != std::string::npos);
    CHECK(said.find("another step") == std::string::npos);
    weft::schedule const fresh(t.p, all_extents{20});
    CHECK(weft::parse_trace(weft::print_trace(t.s), fresh) == t.s.steps);
  }
}
TEST_CASE("rfactor: the axes that there are now are the way out of one that is gone") {
  scheduled t;
  static_cast<void>(t.s.rfactor(t.C, t.C.axes()[1], 8));
  t.s.unroll(t.C.axes()[1]);
  CHECK(explain(t.s, "sums") ==
        "unroll: the axis is gone: cache_write, transform_layout or rfactor gave its stage others; use those of the handle "
        "that it returned\n"
        "  in    schedule of sums, step 2: C: unroll(j)\n"
        "  nest  i(20) > v(8)\n"
        "  try   one of i, v, or an axis of the handle");
}
TEST_CASE("rfactor: extents that are not known, and open ones") {
  weft::program const p = sums_and_map();
  for (std::int64_t extent : {std::int64_t(-1), std::int64_t(-3)}) {
    weft::schedule s(p, all_extents{extent});
    auto const C = weft::handle_of<2, 1>(s, 0);
    auto const [P, v] = s.rfactor(C, C.axes()[1], 8);
    s.vectorize(P.axes()[1]);
    CHECK(s.state == verdict::legal);
  }
}
