// Programs and machines at the edge of what a rule counts on. Sanitizers see what goes beyond it.
#include "schedule/rules/check.hpp"
#include "weft/matrix_units.hpp"
#include "weft/schedule/rules/gpu.hpp"
#include "weft/schedule/rules/rules.hpp"

using namespace weft_test;
using weft::compute;

namespace {
/// A computation of inputs of these extents; -2 - 'n' is an open one.
struct drafted {
  weft::program p{}, expanded{};
  weft::sequence<weft::sequence<std::int64_t>> shapes{};

  template <class T, int Rank>
  weft::expr::tensor<T, Rank> input(weft::sequence<std::int64_t> const& shape) {
    char const name[] = {static_cast<char>('A' + p.inputs.size())};
    shapes.push_back(shape);
    return {&p, p.add_input(weft::short_name(std::string_view(name, 1)), weft::dtype_of<T>, Rank)};
  }
  /// A schedule of what `last` needs, with nothing done.
  template <class Stage>
  weft::schedule plain(Stage const& last, weft::schedule_limits limits) {
    p.outputs.push_back(last.id);
    expanded = weft::expand(weft::canonical(p), true);
    return again(limits);
  }
  weft::schedule again(weft::schedule_limits limits) const {
    return weft::schedule(expanded, [&](int t, int d) { return shapes[static_cast<std::size_t>(t)][static_cast<std::size_t>(d)]; }, limits);
  }
};
weft::rule_input told_of(weft::schedule const& s) {
  weft::rule_input in;
  in.l1_bytes = 32768, in.l2_bytes = 1 << 20, in.l3_bytes = 1 << 25;
  in.strides.resize(s.computation().tensors.size());
  in.constant.resize(s.computation().tensors.size(), false);
  return in;
}
constexpr weft::schedule_limits avx512{32, 64}, gpu{0, 16};
bool is_legal(weft::schedule const& s) { return s.state != weft::verdict::illegal; }
/// `n` machines and choices of a search, of which what is legal can be replayed.
void search(drafted const& d, weft::rule_input in, int n) {
  in.searched = true;
  fuzz::random_source r(7);
  int legal = 0;
  for (int i = 0; i < n; ++i) {
    weft::schedule s = d.again(avx512);
    for (std::size_t k = 0; k < weft::schedule::max_knobs; ++k) s.choices.push_back(r.chance(30) ? r.below(8) : 0);
    weft::schedule_by_rule(s, in);
    if (!is_legal(s)) continue;
    weft::schedule other = d.again(avx512);
    CHECK(weft::replay(other, s.steps));
    ++legal;
  }
  CHECK(legal > n / 4);
}

inline constexpr auto seven = weft::kernel<"seven">([](auto a, auto b) {
  return compute<"C">(a.extent(0), a.extent(1), a.extent(2), a.extent(3), a.extent(4), a.extent(5), b.extent(6), [=](auto x, auto y, auto z, auto w, auto u, auto i, auto j) {
    return weft::sum(a.extent(6), [=](auto q) { return weft::cast<std::int32_t>(a(x, y, z, w, u, i, q)) * weft::cast<std::int32_t>(b(x, y, z, w, u, q, j)); });
  });
});
inline constexpr auto depthwise = weft::kernel<"depthwise">([](auto a, auto w) {
  return compute<"C">(a.extent(0) - 2, a.extent(1) - 2, a.extent(2), [=](auto y, auto x, auto f) { return weft::sum(3, 3, [=](auto r, auto q) { return a(y + r, x + q, f) * w(r, q, f); }); });
});
inline constexpr auto best_of_joined = weft::kernel<"best_of_joined">([](auto a) {
  return compute<"m">(a.extent(0) * 3, [=](auto i) { return weft::argmax(a.extent(2), [=](auto q) { return a(i / 3, i % 3, q); }); });
});
inline constexpr auto outer = weft::kernel<"outer">([](auto a, auto b) {
  return compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) { return weft::sum(a.extent(1), [=](auto q) { return a(i, q) * b(q, j); }); });
});
}  // namespace

TEST_CASE("a refused step ends a nest of several products, of which one is kept") {
  drafted d;
  auto const a = d.input<float, 2>({56, 56}), b = d.input<float, 2>({56, 4096}), w = d.input<float, 2>({4096, 64});
  auto const p = compute<"p">(a.extent(1), b.extent(1), [=](auto i, auto j) { return weft::sum(a.extent(0), [=](auto q) { return a(q, i) * b(q, j); }); });
  auto const o = compute<"o">(p.extent(0), w.extent(1), [=](auto i, auto j) { return weft::sum(p.extent(1), [=](auto q) { return weft::max(p(i, q), 0.f) * w(q, j); }); });
  weft::rule_input in = told_of(d.plain(o, avx512));
  in.l1_bytes = 64, in.l2_bytes = 1024, in.l3_bytes = 4096, in.threads = 3, in.fork_cycles = in.short_fork_cycles = 0, in.copy_reads = 0;
  search(d, in, rounds(400, 100));
  in.constant[1] = in.constant[2] = true;
  search(d, in, rounds(400, 100));
}
TEST_CASE("a search asks in which loop a copy is made, but for one that is kept, which has a nest of its own") {
  drafted d;
  auto const a = d.input<float, 2>({512, 512}), b = d.input<float, 2>({512, 512});
  weft::schedule made = d.plain(compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) { return weft::sum(a.extent(1), [=](auto k) { return a(i, k) * b(k, j); }); }), avx512);
  for (bool constant : {false, true}) {
    weft::schedule s = d.again(avx512);
    weft::rule_input in = told_of(s);
    in.constant[1] = constant, in.searched = true;
    weft::schedule_by_rule(s, in);
    std::string names;
    for (weft::knob_info const& k : s.knobs) (names += k.name.view()) += '\n';
    INFO(names);
    CHECK(names.find("C.pack_B\n") != std::string::npos);
    CHECK((names.find("C.pack_B_at\n") == std::string::npos) == constant);
  }
}
TEST_CASE("rows of a GPU's softmax whose length is open and likely short have a schedule") {
  for (std::int64_t likely : {8, 16, 24, 64, 100}) {
    CAPTURE(likely);
    drafted d;
    auto const q = d.input<float, 3>({3, 64, 8}), y = d.input<float, 3>({3, -2 - 'n', 8});
    auto const p = compute<"p">(q.extent(0), q.extent(1), y.extent(1), [=](auto b, auto i, auto j) { return weft::sum(q.extent(2), [=](auto l) { return q(b, i, l) * y(b, j, l); }); });
    auto const t = compute<"t">(q.extent(0), q.extent(1), [=](auto b, auto i) { return weft::max(y.extent(1), [=](auto j) { return p(b, i, j); }); });
    auto const x = compute<"x">(q.extent(0), q.extent(1), y.extent(1), [=](auto b, auto i, auto j) { return weft::exp(p(b, i, j) - t(b, i)); });
    auto const s = compute<"s">(q.extent(0), q.extent(1), [=](auto b, auto i) { return weft::sum(y.extent(1), [=](auto j) { return x(b, i, j); }); });
    weft::schedule made = d.plain(compute<"o">(q.extent(0), q.extent(1), y.extent(1), [=](auto b, auto i, auto j) { return x(b, i, j) / s(b, i); }), gpu);
    weft::rule_input in = told_of(made);
    in.likely = d.shapes, in.likely[1][1] = likely;
    in.likely.resize(made.computation().tensors.size());
    weft::schedule_by_gpu_rule(made, in);
    CHECK(is_legal(made));
    CHECK(weft::print_trace(made).find("thread_x") != std::string::npos);
  }
}
TEST_CASE("tensors of seven dimensions, for instructions of several terms") {
  weft::target t = weft::x86_64_avx2();
  t.features.push_back("avxvnni");
  auto const a = drawn<std::uint8_t>(1, 2, 1, 1, 1, 1, 64, 64);
  auto const b = drawn<std::int8_t>(2, 2, 1, 1, 1, 1, 64, 96);
  CHECK(seven.on(t).loops(a, b).find("vectorized") != std::string::npos);
  CHECK((seven(a, b) == weft::evaluate(seven, a, b)));
}
TEST_CASE("a number read from memory in the terms of a GPU's product") {
  drafted d;
  auto const a = d.input<float, 2>({128, 128}), b = d.input<float, 2>({128, 128});
  auto const s = d.input<float, 0>({});
  weft::schedule made = d.plain(compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) { return weft::sum(a.extent(1), [=](auto q) { return a(i, q) * b(q, j) * s(); }); }), gpu);
  weft::schedule_by_gpu_rule(made, told_of(made));
  CHECK(is_legal(made));
  INFO(weft::print_trace(made));
  CHECK(has_in_order(weft::print_trace(made), {"cache_read", "cache_read", "compute_at", "thread_x"}));
}
TEST_CASE("an empty batch of products for matrix units") {
  for (std::int64_t batch : {0, 2}) {
    drafted d;
    auto const a = d.input<weft::f16, 3>({batch, 64, 64}), b = d.input<weft::f16, 3>({batch, 64, 64});
    auto const p = compute<"p">(a.extent(0), a.extent(1), b.extent(2), [=](auto c, auto i, auto j) { return weft::sum(a.extent(2), [=](auto q) { return weft::cast<float>(a(c, i, q)) * weft::cast<float>(b(c, q, j)); }); });
    weft::schedule made = d.plain(compute<"o">(p.extent(1), p.extent(2), [=](auto i, auto j) { return weft::sum(p.extent(0), [=](auto c) { return p(c, i, j); }); }), gpu);
    weft::rule_input in = told_of(made);
    in.dots = {&weft::mma_f16};
    weft::schedule_by_gpu_rule(made, in);
    CHECK(is_legal(made));
  }
}
TEST_CASE("a target of no threads has one") {
  weft::target t = weft::x86_64_avx2();
  t.l3_bytes_per_cycle = 10, t.vector_registers = 32, t.vector_bytes = 64, t.threads = 0;
  weft::tensor<float, 3> const a(58, 58, 128), w(3, 3, 128);
  std::string const none = depthwise.on(t).loops(a, w);
  t.threads = 1;
  CHECK(none == depthwise.on(t).loops(a, w));
}
TEST_CASE("a scan beside an axis of which nothing is known") {
  drafted d;
  auto const a = d.input<float, 4>({16, -2 - 'n', 12, 40});
  auto const w = d.input<float, 3>({-2 - 'n', 12, 40});
  weft::schedule made = d.plain(compute<"s">(a.extent(0), a.extent(1), a.extent(2), a.extent(3), [=](auto q, auto b, auto r, auto t) {
    return weft::scan(weft::up_to(t), 0.f, [=](auto last) { return last / 2 + a(q, b, r, t) * w(b, r, t); });
  }), avx512);
  weft::schedule_by_rule(made, told_of(made));
  CHECK(is_legal(made));
  CHECK(!made.steps.empty());
}
TEST_CASE("the best of rows whose number two dimensions have together") {
  weft::target t = weft::x86_64_avx2();
  t.threads = 1;
  weft::tensor<float, 3> const a = drawn<float>(3, 64, 3, 10);
  std::string const loops = best_of_joined.on(t).loops(a);
  INFO(loops);
  CHECK(has_in_order(loops, {"for i", "unrolled"}));
  check_rule(best_of_joined, a);
}
TEST_CASE("indices that run far, long sums and strides of one element do not wrap") {
  auto const rule = [](drafted& d, auto const& last, auto const& change) {
    weft::schedule made = d.plain(last, avx512);
    weft::rule_input in = told_of(made);
    change(in);
    weft::schedule_by_rule(made, in);
    CHECK(is_legal(made));
    CHECK(!made.steps.empty());
  };
  auto const as_it_is = [](weft::rule_input&) {};
  {
    drafted d;
    auto const a = d.input<float, 2>({64, 1000});
    rule(d, compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(weft::clamp(i * 1000000000 * 1000000000, 0, a.extent(0) - 1), j) + 1; }), as_it_is);
  }
  {
    drafted d;
    auto const a = d.input<float, 2>({64, 64});
    rule(d, compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) {
      auto const x = i * 1000000000 * 1000000000;
      return a(weft::clamp(x + x + x + x + x + x + x + x + x + x, 0, a.extent(0) - 1), j) + 1;
    }), as_it_is);
  }
  {
    drafted d;
    auto const a = d.input<float, 2>({1000, 1000});
    rule(d, compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(weft::clamp(i * 1000000 * 1000000000, 0, a.extent(0) - 1), j) + 1; }), as_it_is);
  }
  {
    drafted d;
    auto const a = d.input<float, 2>({64, 64});
    std::int64_t const n = std::int64_t(1) << 40;
    rule(d, compute<"c">(a.extent(0), a.extent(1), [=](auto i, auto j) { return weft::sum(n, n, [=](auto q, auto r) { return a(i, j) * weft::cast<float>(q + r); }); }), as_it_is);
  }
  // In a call: rows of one, which may be any distance apart.
  weft::target t = weft::x86_64_avx2();
  t.l3_bytes_per_cycle = 10, t.threads = 1;
  weft::tensor<float, 2> const a(2048, 1);
  weft::tensor<float, 1> const b(32768);
  std::string const loops = outer.on(t).loops(a, weft::view(b.data(), 1, 32768).strided(std::int64_t(1) << 62, 1));
  CHECK(loops == outer.on(t).loops(a, weft::view(b.data(), 1, 32768).strided(std::int64_t(1) << 50, 1)));
}
