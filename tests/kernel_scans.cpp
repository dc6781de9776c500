// Scans: what they compute, under which schedules, and what is refused.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "schedule/programs.hpp"
#include "support/kernels.hpp"
#include "weft/debug.hpp"
#include "weft/dim.hpp"
#include "weft/direct.hpp"

using namespace weft_test;
using weft::after, weft::before, weft::from, weft::out, weft::scan, weft::up_to, weft::view;
using weft::diagnosis, weft::verdict;

namespace {
using sizes = std::vector<std::size_t>;
constexpr auto running_sums = [](auto a) {
  return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto t) {
    return sum(up_to(t), [=](auto k) { return a(i, k); });
  });
};
constexpr auto down = [](auto a) {  // along the first axis
  return compute<"c">(a.extent(0), a.extent(1), [=](auto t, auto j) {
    return sum(up_to(t), [=](auto k) { return a(k, j); });
  });
};
constexpr auto smooth = [](auto a) {
  return compute<"h">(a.extent(0), a.extent(1), [=](auto i, auto t) {
    return scan(up_to(t), 0.5f, [=](auto h) { return h * 0.5f + a(i, t); });
  });
};
/// Of some elements of a row: which, from the first one on, in the order in which they are joined.
template <class Value, class Combine>
std::vector<Value> scanned(std::size_t n, Value identity, bool backwards, bool exclusive, Combine const& combine) {
  std::vector<Value> all(n, identity);
  Value so_far = identity;
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t const t = backwards ? n - 1 - step : step;
    if (exclusive) all[t] = so_far;
    so_far = combine(so_far, t);
    if (!exclusive) all[t] = so_far;
  }
  return all;
}
/// The kernel's result is that of direct evaluation, and row by row what `combine` makes.
template <class Kernel, class Combine>
void check_rows(Kernel const& kernel, float identity, bool backwards, bool exclusive, Combine const& combine) {
  for (std::size_t m : sizes{1, 3}) {
    for (std::size_t n : sizes{0, 1, 2, 7, 33}) {
      std::vector<float> const a = numbers(m * n);
      auto const direct = weft::evaluate(kernel, view(a, m, n));
      auto const result = kernel(view(a, m, n));
      for (std::size_t i = 0; i < m; ++i) {
        auto const row = scanned(n, identity, backwards, exclusive,
                                 [&](float so_far, std::size_t t) { return combine(so_far, a[i * n + t]); });
        for (std::size_t t = 0; t < n; ++t) {
          INFO(m << " x " << n << ", " << i << ", " << t);
          CHECK(result(static_cast<std::int64_t>(i), static_cast<std::int64_t>(t)) == row[t]);
          CHECK(direct[i * n + t] == row[t]);
        }
      }
    }
  }
}
template <class Over, class Reduce>
constexpr auto rows_of(Over over, Reduce reduce) {
  return [=](auto a) {
    return compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto t) {
      return reduce(over(t), [=](auto k) { return a(i, k); });
    });
  };
}
constexpr auto plus = [](float x, float y) { return x + y; };
}  // namespace

TEST_CASE("every reduction is a scan over a prefix: forwards, backwards, with the element and without") {
  constexpr auto sums = [](auto... a) { return sum(a...); };
  check_rows(weft::kernel<"k">(rows_of([](auto t) { return up_to(t); }, sums)), 0, false, false, plus);
  check_rows(weft::kernel<"k">(rows_of([](auto t) { return before(t); }, sums)), 0, false, true, plus);
  check_rows(weft::kernel<"k">(rows_of([](auto t) { return from(t); }, sums)), 0, true, false, plus);
  check_rows(weft::kernel<"k">(rows_of([](auto t) { return after(t); }, sums)), 0, true, true, plus);
  check_rows(weft::kernel<"k">(rows_of([](auto t) { return up_to(t); }, [](auto... a) { return weft::max(a...); })),
             -std::numeric_limits<float>::infinity(), false, false, [](float x, float y) { return std::max(x, y); });
  check_rows(weft::kernel<"k">(rows_of([](auto t) { return from(t); }, [](auto... a) { return weft::prod(a...); })), 1, true,
             false, [](float x, float y) { return x * y; });
  check_rows(weft::kernel<"k">(rows_of([](auto t) { return up_to(t); },
                                       [](auto over, auto body) {
                                         return weft::reduce(2, weft::any_order([](auto a, auto b) { return a + b; }), over, body);
                                       })),
             2, false, false, plus);
}
TEST_CASE("conditions keep elements out of a scan, and are asked before they are read") {
  constexpr auto made = weft::kernel<"k">([](auto a) {
    return compute<"c">(a.extent(0) * 2, [=](auto t) {
      return sum(up_to(t), [=](auto k) { return weft::where(k % 2 == 0, a(k / 2)); });
    });
  });
  CHECK(weft::evaluate(made, std::vector<int>{1, 2, 3}) == std::vector<int>{1, 1, 3, 3, 6, 6});
  auto const c = made(std::vector<int>{1, 2, 3});
  CHECK(std::vector<int>(c.begin(), c.end()) == std::vector<int>{1, 1, 3, 3, 6, 6});
}
TEST_CASE("a recurrence reads what it likes at its own step") {
  constexpr auto fused = weft::kernel<"fused">(smooth);
  check_rows(fused, 0.5f, false, false, [](float h, float x) { return h * 0.5f + x; });
  constexpr auto back = weft::kernel<"back">([](auto a) {
    return compute<"h">(a.extent(0), a.extent(1), [=](auto i, auto t) {
      return scan(from(t), 0.5f, [=](auto h) { return h * 0.5f + a(i, t); });
    });
  });
  check_rows(back, 0.5f, true, false, [](float h, float x) { return h * 0.5f + x; });
}
TEST_CASE("a scan of several values: all of a step are made before any is stored") {
  constexpr auto fibonacci = weft::kernel<"fibonacci">([](auto n) {
    auto pair = compute<"f", "g">(n.extent(0), [=](auto t) {
      return scan(up_to(t), weft::values(0, 1), [=](auto s) {
        auto [f, g] = s;
        return weft::values(g, f + g + 0 * weft::cast<int>(n(t)));
      });
    });
    return weft::outputs(weft::get<0>(pair), weft::get<1>(pair));
  });
  auto const both = fibonacci(std::vector<int>(9));
  auto const &f = both[boost::hana::size_c<0>], &g = both[boost::hana::size_c<1>];
  CHECK(std::vector<int>(f.begin(), f.end()) == std::vector<int>{1, 1, 2, 3, 5, 8, 13, 21, 34});
  CHECK(std::vector<int>(g.begin(), g.end()) == std::vector<int>{1, 2, 3, 5, 8, 13, 21, 34, 55});
}
TEST_CASE("where the largest stood so far, of the elements before too") {
  constexpr auto positions = weft::kernel<"positions">([](auto a) {
    auto so_far = compute<"p">(a.extent(0), [=](auto t) { return weft::argmax(up_to(t), [=](auto k) { return a(k); }); });
    auto earlier = compute<"q">(a.extent(0), [=](auto t) { return weft::argmax(before(t), [=](auto k) { return a(k); }); });
    return weft::outputs(so_far, earlier);
  });
  auto const both = positions(std::vector<float>{2, 1, 2, 5, 4, 7});
  auto const &p = both[boost::hana::size_c<0>], &q = both[boost::hana::size_c<1>];
  CHECK(std::vector<std::int64_t>(p.begin(), p.end()) == std::vector<std::int64_t>{0, 0, 0, 3, 3, 5});
  CHECK(std::vector<std::int64_t>(q.begin(), q.end()) == std::vector<std::int64_t>{-1, 0, 0, 0, 3, 3});
}
TEST_CASE("of equal elements the first is the position, from whichever end the scan runs") {
  auto const positions = weft::kernel<"positions">([](auto a) {
    auto largest = compute<"p">(a.extent(0), [=](auto t) { return weft::argmax(from(t), [=](auto k) { return a(k); }); });
    auto smallest = compute<"q">(a.extent(0), [=](auto t) { return weft::argmin(weft::after(t), [=](auto k) { return a(k); }); });
    auto so_far = compute<"r">(a.extent(0), [=](auto t) { return weft::argmin(up_to(t), [=](auto k) { return a(k); }); });
    return weft::outputs(largest, smallest, so_far);
  });
  float const nan = std::numeric_limits<float>::quiet_NaN();
  using list = std::vector<std::int64_t>;
  auto const of = [&](std::vector<float> const& a) {
    auto const all = positions(a);
    auto const as_list = [](auto const& t) { return list(t.begin(), t.end()); };
    return std::array{as_list(all[boost::hana::size_c<0>]), as_list(all[boost::hana::size_c<1>]), as_list(all[boost::hana::size_c<2>])};
  };
  CHECK((of({1, 1, 1}) == std::array{list{0, 1, 2}, list{1, 2, -1}, list{0, 0, 0}}));
  CHECK((of({3, 5, 3, 5}) == std::array{list{1, 1, 3, 3}, list{2, 2, 3, -1}, list{0, 0, 0, 0}}));
  CHECK((of({0, nan, 2, nan, 4}) == std::array{list{1, 1, 3, 3, 4}, list{1, 3, 3, 4, -1}, list{0, 1, 1, 1, 1}}));
}
TEST_CASE("a scan with literal extents finds its program when its body reads an input") {
  constexpr auto made = weft::kernel<"k">([](auto a) {
    return compute<"c">(2, 4, [=](auto i, auto t) { return sum(up_to(t), [=](auto k) { return a(i * 4 + k); }); });
  });
  auto const c = made(std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(std::vector<int>(c.begin(), c.end()) == std::vector<int>{1, 3, 6, 10, 5, 11, 18, 26});
}
TEST_CASE("direct evaluation of a scan is constexpr, of one element too") {
  constexpr auto made = weft::kernel<"k">([](auto a) {
    return compute<"c">(a.extent(0), [=](auto t) { return sum(from(t), [=](auto k) { return a(k); }); });
  });
  static_assert(weft::evaluate(made, std::array{1, 2, 3}) == std::array{6, 5, 3});
  static_assert(weft::evaluate_at(made, std::array<std::int64_t, 1>{1}, std::array{1, 2, 3}) == 5);
}

TEST_CASE("a scan over its own input, for all sizes, in checked code") {
  constexpr auto made = weft::kernel<"k">(running_sums);
  std::vector<float> a = numbers(5 * 9), c(5 * 9);
  made(view(a, 5, 9), out(c, 5, 9));
  std::vector<float> checked(5 * 9);
  made.with({.checked = true})(view(a, 5, 9), out(checked, 5, 9));
  CHECK(checked == c);
  std::vector<float> open(5 * 9);
  made(view(a, weft::dim<"m">(5), weft::dim<"n">(9)), out(open, 5, 9));
  CHECK(open == c);
  made(view(a, 5, 9), out(a, 5, 9));
  CHECK(a == c);
}
TEST_CASE("an element is not written over one that another step reads") {
  constexpr auto made = weft::kernel<"k">(rows_of([](auto t) { return before(t); }, [](auto... a) { return sum(a...); }));
  std::vector<float> a = numbers(5 * 9);
  CHECK_REFUSED("read after its place was written", made(view(a, 5, 9), out(a, 5, 9)));
}

TEST_CASE("schedules of a scan keep its bits") {
  auto const same = [](auto const& scheduled) {
    for (std::size_t m : sizes{1, 5, 20}) {
      for (std::size_t n : sizes{1, 9, 50}) {
        std::vector<float> const a = numbers(m * n, 7);
        auto const direct = weft::evaluate(scheduled, view(a, m, n));
        auto const c = scheduled(view(a, m, n));
        CHECK(std::equal(c.begin(), c.end(), direct.values.begin()));
      }
    }
  };
  constexpr auto rows_apart = weft::kernel<"rows_apart">(smooth, [](auto& s, auto, auto h) {
    auto [i, t] = h.axes();
    s.parallel(i);
    s.unroll(t, 4);
  });
  same(rows_apart);
  constexpr auto jammed = weft::kernel<"jammed">(smooth, [](auto& s, auto, auto h) {
    auto [i, t] = h.axes();
    s.unroll(i, 4);
    auto [io, ii, tt] = std::array{weft::axis{s.order[0][0]}, weft::axis{s.order[0][1]}, t};
    s.reorder(io, tt, ii);
  });
  same(jammed);
  constexpr auto columns = weft::kernel<"columns">(down, [](auto& s, auto, auto c) {
    auto [t, j] = c.axes();
    auto [jo, ji] = s.split(j, 16);
    s.reorder(jo, t, ji);
    s.vectorize(ji);
    s.parallel(jo);
  });
  same(columns);
  constexpr auto blocks = weft::kernel<"blocks">(down, [](auto& s, auto, auto c) {
    auto [t, j] = c.axes();
    auto [to, ti] = s.split(t, 8, weft::tail::partition);
    s.reorder(to, j, ti);
    s.unroll(to, 2);
  });
  same(blocks);
}
TEST_CASE("a scan inside the loop of its reader begins at the beginning; what it reads is made step by step") {
  constexpr auto made = weft::kernel<"k">(
      [](auto a) {
        auto n = a.extent(0);
        auto twice = compute<"twice">(n, [=](auto i) { return a(i) * 2; });
        auto c = compute<"c">(n, [=](auto t) { return sum(up_to(t), [=](auto k) { return twice(k); }); });
        return compute<"d">(n, [=](auto i) { return c(i) + 1; });
      },
      [](auto& s, auto, auto twice, auto c, auto d) {
        auto [i] = d.axes();
        auto [io, ii] = s.split(i, 4);
        s.compute_at(c, io);
        auto [t] = c.axes();
        s.compute_at(twice, t);
      });
  auto const d = made(std::vector<int>{1, 2, 3, 4, 5, 6, 7});
  CHECK(std::vector<int>(d.begin(), d.end()) == std::vector<int>{3, 7, 13, 21, 31, 43, 57});
}

TEST_CASE("what a schedule may not do with a scanned axis") {
  constexpr auto program = [] {
    weft::program p;
    weft::expr::tensor<float, 2> const a{&p, p.add_input(weft::short_name("a"), weft::dtype::f32, 2)};
    p.outputs.push_back(running_sums(a).id);
    return weft::canonical(p);
  };
  using weft::axis, weft::schedule;
  using loops = weft::sequence<std::int32_t>;
  auto const ruled = [&](auto how) {
    return judge(program(), 64, [&](schedule& s, loops const& l) { how(s, axis{l[0]}, axis{l[1]}); });
  };
  constexpr auto in_order = diagnosis::a_scanned_axis_is_walked_in_its_order__mark_another_axis;
  CHECK(is(ruled([](schedule& s, axis, axis t) { s.vectorize(t); }), verdict::illegal, in_order));
  CHECK(is(ruled([](schedule& s, axis, axis t) { s.parallel(s.split(t, 8)[0]); }), verdict::illegal, in_order));
  CHECK(is(ruled([](schedule& s, axis, axis t) { s.rfactor(weft::handle_of<2, 2>(s, 0), t, 4); }), verdict::illegal, in_order));
  CHECK(is(ruled([](schedule& s, axis i, axis t) {
             auto [to, ti] = s.split(t, 8);
             s.reorder(ti, i, to);
           }),
           verdict::illegal, diagnosis::the_outer_part_of_a_scanned_axis_stays_around_the_inner_one));
  CHECK(is(ruled([](schedule& s, axis i, axis t) { s.fuse(i, t); }), verdict::illegal,
           diagnosis::a_scanned_axis_and_another_one_cannot_be_fused));
  CHECK(is(ruled([](schedule& s, axis, axis t) { s.split(t, 8, weft::tail::shift_inwards); }), verdict::illegal,
           diagnosis::the_last_part_of_a_scanned_axis_is_neither_shifted_nor_rounded_up));
  CHECK(is(ruled([](schedule& s, axis i, axis t) {
             auto [to, ti] = s.split(t, 8);
             s.fuse(to, ti);
             s.parallel(i);
           }),
           verdict::legal));
}
TEST_CASE("a scan up to something else than an axis of its stage is refused, and one whose body uses that axis") {
  CHECK_REFUSED("take an axis of the stage", weft::evaluate(weft::kernel<"k">([](auto a) {
                                                              return compute<"c">(a.extent(0), [=](auto t) {
                                                                return sum(up_to(t + 1), [=](auto k) { return a(k); });
                                                              });
                                                            }),
                                                            std::vector<int>{1, 2}));
  CHECK_REFUSED("uses t itself", weft::evaluate(weft::kernel<"k">([](auto a) {
                                                  return compute<"c">(a.extent(0), [=](auto t) {
                                                    return sum(up_to(t), [=](auto k) { return a(k) * a(t); });
                                                  });
                                                }),
                                                std::vector<int>{1, 2}));
  CHECK_REFUSED("up_to(t) or from(t)", weft::evaluate(weft::kernel<"k">([](auto a) {
                                                        return compute<"c">(a.extent(0), [=](auto t) {
                                                          return scan(before(t), 0, [=](auto s) { return s + a(t); });
                                                        });
                                                      }),
                                                      std::vector<int>{1, 2}));
}
