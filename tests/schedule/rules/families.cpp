// Each family of computations by rule, for machines with AVX-512, AVX2 and SSE2: what runs along the lanes, what threads share, and that the
// result is that of direct evaluation; on each path to machine code.
#include "schedule/rules/check.hpp"
#include "schedule/rules/paths.hpp"

#include <cmath>

#include "weft/expr/einsum.hpp"
#include "weft/ops/attention.hpp"
#include "weft/ops/conv.hpp"
#include "weft/ops/normalise.hpp"
#include "weft/ops/scan.hpp"

using namespace weft_test;
using weft::compute, weft::sum;

namespace {
struct machine {
  char const* name;
  weft::target on;
  bool runs_here;
  std::int64_t lanes;  // of f32
};
std::array<machine, 4> const& machines() {
  static std::array<machine, 4> const all = [] {
    bool const wide = weft::host().has("avx512f");
    std::array<machine, 4> four{machine{"AVX-512", wide ? weft::host() : weft::x86_64_avx2(), wide, 16}, machine{"AVX2", weft::x86_64_avx2(), weft::host().has("avx2"), 8}, machine{"SSE2", weft::x86_64_sse2(), true, 4}};
    four[0].on.vector_bytes = 64, four[0].on.vector_registers = 32;  // of another machine its loops
    for (machine& m : four) m.on.l1_bytes = 1 << 15, m.on.l2_bytes = 1 << 20, m.on.l3_bytes = 1 << 24, m.on.l3_bytes_per_cycle = 0, m.on.vector_units = 1, m.on.threads = 1;
    four[3] = four[0], four[3].name = "AVX-512, two units", four[3].on.vector_units = 2;
    return four;
  }();
  return all;
}
/// Lanes of the widest vector that these loops have; 0: there is none.
std::int64_t lanes_of(std::string const& loops) {
  std::int64_t most = 0;
  for (std::size_t at = loops.find("vectorized"); at != std::string::npos; at = loops.find("vectorized", at + 1)) {
    std::int64_t const lanes = std::stoll(loops.substr(loops.find("..", at) + 2 + (loops.compare(loops.find("..", at) + 2, 5, "part(") == 0 ? 5 : 0)));
    most = lanes > most ? lanes : most;
  }
  return most;
}
template <class Tensor, class Evaluated>
double most_apart(Tensor const& got, Evaluated const& wanted) {
  double most = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    double const scale = 1 + std::fabs(static_cast<double>(wanted[i]));
    double const apart = std::fabs(static_cast<double>(got.data()[i]) - static_cast<double>(wanted[i])) / scale;
    most = apart > most || apart != apart ? apart : most;
  }
  return most;
}
struct wanted {
  char const* axis;            // whose parts are lanes, as it is printed
  double tolerance = 0;        // 0: sums are exact
  std::int64_t least_lanes = 0;  // 0: whole vectors
};
/// `odd`: sizes that nothing divides.
template <class Kernel, class... In>
void check_family(char const* name, Kernel const& k, wanted const& w, bool odd, In const&... inputs) {
  CAPTURE(name);
  auto const expected = weft::evaluate(k, inputs...);
  for (machine const& m : machines()) {
    CAPTURE(m.name);
    auto const on = k.on(m.on);
    std::string const loops = on.loops(inputs...);
    INFO(loops);
    CHECK(loops.find(std::string("vectorized ") + w.axis) != std::string::npos);
    CHECK(lanes_of(loops) >= (w.least_lanes == 0 ? m.lanes : w.least_lanes));
    if (!m.runs_here) continue;
    if (w.tolerance == 0) CHECK((expected == on(inputs...)));
    else CHECK(most_apart(on(inputs...), expected) <= w.tolerance);
    if (!odd) {
      std::string const code = on.assembly(inputs...);
      CHECK(code.find("gather") == std::string::npos);
      CHECK(code.find("scatter") == std::string::npos);
    }
  }
}
/// Large ones are shared by threads.
template <class Kernel, class... In>
void check_threads(char const* name, Kernel const& k, In const&... inputs) {
  CAPTURE(name);
  weft::target two = machines()[1].on;
  two.threads = 2;
  std::string const loops = k.on(two).loops(inputs...);
  INFO(loops);
  CHECK(loops.find("parallel") != std::string::npos);
}
template <weft::fixed_string Form>
inline constexpr auto product = weft::kernel<"product">([](auto a, auto b) { return weft::einsum<Form, "C">(a, b); });
template <std::int64_t Groups, std::int64_t Dilation, weft::ops::layout Layout>
inline constexpr auto convolved = weft::kernel<"convolved">([](auto x, auto w) {
  return weft::ops::conv2d(x, w, {.padding = {0, Dilation}, .dilation = {1, Dilation}, .groups = Groups, .layout = Layout});
});
template <int A, int B, int C, int D>
inline constexpr auto permuted = weft::kernel<"permuted">([](auto x) {
  constexpr std::array<int, 4> from{A, B, C, D};
  return compute<"y">(x.extent(A), x.extent(B), x.extent(C), x.extent(D), [=](auto i, auto j, auto k, auto l) {
    std::array<weft::axis_index, 4> at{i, i, i, i};
    at[from[0]] = i, at[from[1]] = j, at[from[2]] = k, at[from[3]] = l;
    return x(at[0], at[1], at[2], at[3]);
  });
});
inline constexpr auto layernorm = weft::kernel<"layernorm">([](auto x, auto w, auto b) { return weft::ops::layer_norm(x, w, b); });
inline constexpr auto rmsnorm = weft::kernel<"rmsnorm">([](auto x, auto w) { return weft::ops::rms_norm(x, w); });
inline constexpr auto log_sum_exp = weft::kernel<"log_sum_exp">([](auto x) {
  auto top = compute<"top">(x.extent(0), [=](auto i) { return weft::max(x.extent(1), [=](auto j) { return x(i, j); }); });
  auto total = compute<"total">(x.extent(0), [=](auto i) { return sum(x.extent(1), [=](auto j) { return weft::exp(x(i, j) - top(i)); }); });
  return compute<"y">(x.extent(0), [=](auto i) { return weft::log(total(i)) + top(i); });
});
template <bool Reverse>
inline constexpr auto running_sums = weft::kernel<"running_sums">([](auto x) { return weft::ops::cumsum(x, {.exclusive = Reverse, .reverse = Reverse}); });
inline constexpr auto running_down = weft::kernel<"running_down">([](auto x) { return weft::ops::cummax(x, {.axis = 0}); });
inline constexpr auto picked = weft::kernel<"picked">([](auto table, auto n) {
  return compute<"y">(n.extent(0), table.extent(1), [=](auto i, auto j) { return table(weft::clamp(n(i), 0, table.extent(0) - 1), j); });
});
inline constexpr auto column_sums = weft::kernel<"column_sums">(
    [](auto a) { return compute<"s">(a.extent(1), [=](auto j) { return sum(a.extent(0), [=](auto k) { return a(k, j); }); }); });
inline constexpr auto column_places = weft::kernel<"column_places">(
    [](auto a) { return compute<"s">(a.extent(1), [=](auto j) { return weft::argmax(a.extent(0), [=](auto k) { return a(k, j); }); }); });
inline constexpr auto everything = weft::kernel<"everything">([](auto a) {
  return compute<"s">(1, [=](auto) { return sum(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j); }); });
});
constexpr auto first = weft::ops::layout::channels_first, last = weft::ops::layout::channels_last;

// --- on all paths
inline constexpr auto chain = weft::kernel<"chain">([](auto x, auto y) {
  auto const d = compute<"d">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) - y(i, j); });
  return compute<"z">(x.extent(0), x.extent(1), [=](auto i, auto j) { return weft::select(d(i, j) > 0, d(i, j) * 2 + x(i, j), 0); });
});
inline constexpr auto scaled = weft::kernel<"scaled">([](auto x, auto v, auto u) {
  return compute<"z">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * v(j) + u(i); });
});
inline constexpr auto row_sums = weft::kernel<"row_sums">(
    [](auto a) { return compute<"s">(a.extent(0), [=](auto i) { return sum(a.extent(1), [=](auto k) { return a(i, k); }); }); });
inline constexpr auto row_places = weft::kernel<"row_places">(
    [](auto a) { return compute<"s">(a.extent(0), [=](auto i) { return weft::argmin(a.extent(1), [=](auto k) { return a(i, k); }); }); });
inline constexpr auto blurred = weft::kernel<"blurred">([](auto x) {
  auto const in = weft::repeat_edge(x);
  auto const across = compute<"across">(x.extent(0), x.extent(1), [=](auto i, auto j) { return in(i, j - 1) + 2 * in(i, j) + in(i, j + 1); });
  auto const once = weft::repeat_edge(across);
  return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return once(i - 1, j) + 2 * once(i, j) + once(i + 1, j); });
});
template <std::int64_t Stride, std::int64_t Groups, weft::ops::layout Layout>
inline constexpr auto window = weft::kernel<"window">([](auto x, auto w) {
  return weft::ops::conv2d(x, w, {.stride = {Stride, Stride}, .padding = {1, 1}, .groups = Groups, .layout = Layout});
});
template <weft::ops::layout Layout, std::int64_t Stride = 1>
inline constexpr auto depthwise = weft::kernel<"depthwise">(
    [](auto x, auto w) { return weft::ops::depthwise_conv2d(x, w, {.stride = {Stride, Stride}, .padding = {1, 1}, .layout = Layout}); });
inline constexpr auto dense_relu = weft::kernel<"dense_relu">([](auto x, auto w, auto v) {
  auto const c = weft::einsum<"ik,kj->ij", "c">(x, w);
  return compute<"y">(x.extent(0), w.extent(1), [=](auto i, auto j) { return weft::max(c(i, j) + v(j), 0); });
});
inline constexpr auto transposed = weft::kernel<"transposed">(
    [](auto x) { return compute<"y">(x.extent(1), x.extent(0), [=](auto i, auto j) { return x(j, i); }); });
inline constexpr auto softmax = weft::kernel<"softmax">([](auto x) { return weft::ops::softmax(x); });
inline constexpr auto attended = weft::kernel<"attended">([](auto q, auto k, auto v) { return weft::ops::attention(q, k, v); });

template <class... In, class Kernel>
weft::program computed_by(Kernel const& k) {
  return weft::detail::build<In...>(k.what);
}
using f1 = weft::arg<float, 1>;
using f2 = weft::arg<float, 2>;
using f3 = weft::arg<float, 3>;
using f4 = weft::arg<float, 4>;

/// All of them. Sizes below zero have names.
std::vector<family> const& families() {
  constexpr std::int64_t a = -1, b = -2, c = -3, d = -4;
  static std::vector<family> const all{
      {"elementwise", computed_by<f2, f2>(chain), {{a, b}, {a, b}}, {{4, 32}, {3, 37}, {1, 1}}, 0, 0},
      {"broadcast", computed_by<f2, f1, f1>(scaled), {{a, b}, {b}, {a}}, {{4, 32}, {5, 37}, {1, 1}}, 0, 0},
      {"sums of rows", computed_by<f2>(row_sums), {{a, b}}, {{8, 64}, {5, 131}, {1, 1}}},
      {"places in rows", computed_by<f2>(row_places), {{a, b}}, {{8, 64}, {5, 83}, {1, 1}}},
      {"sums of columns", computed_by<f2>(column_sums), {{a, b}}, {{16, 64}, {13, 37}, {1, 1}}},
      {"sum of everything", computed_by<f2>(everything), {{a, b}}, {{16, 64}, {13, 37}, {1, 1}}, 0, -1, true},
      {"A B", computed_by<f2, f2>(product<"ik,kj->ij">), {{a, b}, {b, c}}, {{16, 8, 64}, {13, 7, 37}, {1, 1, 1}}},
      {"A^T B", computed_by<f2, f2>(product<"ki,kj->ij">), {{b, a}, {b, c}}, {{16, 8, 64}, {13, 7, 37}, {1, 1, 1}}},
      {"A B^T", computed_by<f2, f2>(product<"ik,jk->ij">), {{a, b}, {c, b}}, {{16, 8, 64}, {13, 7, 37}, {1, 1, 1}}},
      {"A^T B^T", computed_by<f2, f2>(product<"ki,jk->ij">), {{b, a}, {c, b}}, {{16, 8, 64}, {13, 7, 37}, {1, 1, 1}}},
      {"A B, bias and relu", computed_by<f2, f2, f1>(dense_relu), {{a, b}, {b, c}, {c}}, {{16, 8, 64}, {13, 7, 37}, {1, 1, 1}}},
      {"batches", computed_by<f3, f3>(product<"bik,bkj->bij">), {{d, a, b}, {d, b, c}}, {{8, 8, 32, 2}, {5, 7, 19, 3}, {1, 1, 1, 1}}},
      {"matrix and vector", computed_by<f2, f1>(product<"ij,j->i">), {{a, b}, {b}}, {{16, 64}, {13, 37}, {1, 1}}},
      {"vector and matrix", computed_by<f1, f2>(product<"i,ij->j">), {{a}, {a, b}}, {{16, 64}, {13, 37}, {1, 1}}},
      {"outer product", computed_by<f1, f1>(product<"i,j->ij">), {{a}, {b}}, {{16, 64}, {13, 37}, {1, 1}}},
      {"einsum", computed_by<f3, f3>(product<"ikl,klj->ij">), {{a, b, d}, {b, d, c}}, {{8, 4, 32, 4}, {7, 3, 19, 5}, {1, 1, 1, 1}}},
      {"batch in the middle", computed_by<f3, f3>(product<"ibk,kbj->ibj">), {{a, d, b}, {b, d, c}}, {{8, 8, 32, 2}, {7, 5, 19, 3}, {1, 1, 1, 1}}},
      {"stencil", computed_by<f2>(blurred), {{a, b}}, {{8, 32}, {7, 37}, {1, 1}}, 0, 0},
      {"convolution, last", computed_by<f4, f4>(window<1, 1, last>), {{1, a, b, c}, {3, 3, c, d}}, {{4, 8, 4, 16}, {3, 7, 3, 19}, {1, 1, 1, 1}}},
      {"convolution, first", computed_by<f4, f4>(window<1, 1, first>), {{1, c, a, b}, {d, c, 3, 3}}, {{4, 16, 4, 8}, {3, 17, 3, 5}, {1, 1, 1, 1}}},
      {"strided, last", computed_by<f4, f4>(window<2, 1, last>), {{1, a, b, c}, {3, 3, c, d}}, {{8, 8, 4, 16}, {5, 7, 3, 19}, {1, 1, 1, 1}}},
      {"strided, first", computed_by<f4, f4>(window<2, 1, first>), {{1, c, a, b}, {d, c, 3, 3}}, {{4, 32, 4, 8}, {5, 17, 3, 5}, {1, 1, 1, 1}}},
      {"dilated, last", computed_by<f4, f4>(convolved<1, 2, last>), {{1, a, b, c}, {1, 3, c, d}}, {{4, 8, 4, 16}, {3, 7, 3, 19}, {1, 1, 1, 1}}},
      {"dilated, first", computed_by<f4, f4>(convolved<1, 2, first>), {{1, c, a, b}, {d, c, 1, 3}}, {{4, 16, 4, 8}, {3, 17, 3, 5}, {1, 1, 1, 1}}},
      {"groups, last", computed_by<f4, f4>(convolved<4, 1, last>), {{1, a, b, 16}, {1, 3, 4, 16}}, {{4, 8}, {3, 7}, {1, 1}}},
      {"groups, first", computed_by<f4, f4>(convolved<4, 1, first>), {{1, 16, a, b}, {16, 4, 1, 3}}, {{2, 16}, {3, 17}, {1, 1}}},
      {"depthwise, last", computed_by<f4, f3>(depthwise<last>), {{1, a, b, c}, {3, 3, c}}, {{4, 8, 16}, {3, 7, 19}, {1, 1, 1}}},
      {"depthwise by two, first", computed_by<f4, f3>(depthwise<first, 2>), {{1, c, a, b}, {c, 3, 3}}, {{5, 32, 4}, {3, 17, 5}, {1, 1, 1}}},
      {"depthwise, first", computed_by<f4, f3>(depthwise<first>), {{1, c, a, b}, {c, 3, 3}}, {{4, 16, 4}, {3, 17, 5}, {1, 1, 1}}},
      {"transposition", computed_by<f2>(transposed), {{a, b}}, {{16, 32}, {13, 37}, {1, 1}}},
      {"permutation", computed_by<f4>(permuted<0, 2, 3, 1>), {{a, b, c, d}}, {{2, 16, 4, 16}, {2, 13, 3, 17}, {1, 1, 1, 1}}},
      {"softmax", computed_by<f2>(softmax), {{a, b}}, {{4, 32}, {3, 37}, {1, 1}}, 37, 0},
      {"layernorm", computed_by<f2, f1, f1>(layernorm), {{a, b}, {b}, {b}}, {{4, 32}, {3, 37}, {1, 1}}, 37, 0},
      {"rmsnorm", computed_by<f2, f1>(rmsnorm), {{a, b}, {b}}, {{4, 32}, {3, 37}, {1, 1}}, 37, 0},
      {"log-sum-exp", computed_by<f2>(log_sum_exp), {{a, b}}, {{4, 32}, {3, 37}, {1, 1}}, 37},
      {"attention", computed_by<f2, f2, f2>(attended), {{a, b}, {c, b}, {c, d}}, {{8, 8, 16, 16}, {7, 5, 13, 19}, {1, 1, 1, 1}}, 37},
      {"scan along", computed_by<f2>(running_sums<false>), {{a, b}}, {{8, 32}, {7, 37}, {1, 1}}, 0, 0},
      {"scan down", computed_by<f2>(running_down), {{a, b}}, {{8, 32}, {7, 37}, {1, 1}}, 0, 0},
      {"gather", computed_by<f2, weft::arg<std::int32_t, 1>>(picked), {{a, b}, {c}}, {{8, 32, 5}, {7, 37, 5}, {1, 1, 1}}},
  };
  static std::vector<family> const some = [] {
    std::vector<family> made;
    for (std::size_t i = 0; i < all.size(); i += 3) made.push_back(all[i]);
    return made;
  }();
  return is_sanitized ? some : all;
}
bool runs_two_pieces(weft::trace const& steps) {
  for (weft::step const& one : steps)
    if (one.what == weft::verb::parallel) return true;
  return false;
}
}  // namespace

TEST_CASE("products: both transposed, outer, of several shared axes, with the batch in the middle") {
  check_family("A^T B^T", product<"ki,jk->ij">, {"j"}, false, drawn<float>(1, 16, 64), drawn<float>(2, 32, 16));
  check_family("A^T B^T", product<"ki,jk->ij">, {"j"}, true, drawn<float>(1, 13, 37), drawn<float>(2, 29, 13));
  check_family("outer", product<"i,j->ij">, {"j"}, false, drawn<float>(1, 16), drawn<float>(2, 128));
  check_family("outer", product<"i,j->ij">, {"j"}, true, drawn<float>(1, 7), drawn<float>(2, 131));
  check_family("two shared axes", product<"ikl,klj->ij">, {"j"}, false, drawn<float>(1, 8, 4, 8), drawn<float>(2, 4, 8, 64));
  check_family("two shared axes", product<"ikl,klj->ij">, {"j"}, true, drawn<float>(1, 7, 3, 5), drawn<float>(2, 3, 5, 61));
  check_family("batch in the middle", product<"ibk,kbj->ibj">, {"k"}, false, drawn<float>(1, 8, 3, 16), drawn<float>(2, 16, 3, 64));
  check_family("batch in the middle", product<"ibk,kbj->ibj">, {"k"}, true, drawn<float>(1, 7, 3, 11), drawn<float>(2, 11, 3, 61));
  auto const a = drawn<float>(1, 200, 200);
  check_threads("A^T B^T", product<"ki,jk->ij">, a, a);
}
TEST_CASE("several axes of terms are cut into blocks as one is, in their order") {
  weft::target t = machines()[1].on;
  t.l1_bytes = 1 << 10, t.l2_bytes = 1 << 14;
  auto const a = drawn<float>(1, 12, 60, 8), b = drawn<float>(2, 60, 8, 16);
  auto const k = product<"ikl,klj->ij">.on(t);
  INFO(k.loops(a, b));
  CHECK(has_in_order(k.loops(a, b), {"ko in", "io in", "ki in", "l in 0..8", "unrolled", "vectorized j"}));
  CHECK((weft::evaluate(product<"ikl,klj->ij">, a, b) == k(a, b)));
  CHECK((weft::evaluate({.contract = weft::cpu().fma}, product<"ikl,klj->ij">, a, b) == k.with({.bitwise = true})(a, b)));
  // The outer axis is shorter than a block is: both go around the tiles, as one loop.
  auto const c = drawn<float>(1, 12, 3, 200), d = drawn<float>(2, 3, 200, 16);
  INFO(k.loops(c, d));
  CHECK(has_in_order(k.loops(c, d), {"klo in", "io in", "li in", "unrolled", "vectorized j"}));
  CHECK((weft::evaluate(product<"ikl,klj->ij">, c, d) == k(c, d)));
  // Nothing is used for several rows: eight rows of what is read, each from one end to the other.
  auto const x = drawn<float>(1, 5, 24);
  auto const w = drawn<float>(2, 5, 24, 300);
  auto const v = product<"kl,klj->j">.on(t);
  INFO(v.loops(x, w));
  CHECK(has_in_order(v.loops(x, w), {"jko in", "io in", "ki in 0..8", "vectorized ii"}));
  CHECK((weft::evaluate(product<"kl,klj->j">, x, w) == v(x, w)));
}
TEST_CASE("convolutions: dilated, and by groups of channels that are first") {
  auto const x = [](std::int64_t h, std::int64_t w, std::int64_t c) { return drawn<float>(1, 1, h, w, c); };
  auto const image = [](std::int64_t c, std::int64_t h, std::int64_t w) { return drawn<float>(1, 1, c, h, w); };
  check_family("dilated, last", convolved<1, 2, last>, {"l"}, false, x(2, 6, 4), drawn<float>(2, 1, 3, 4, 16));
  check_family("dilated, first", convolved<1, 2, first>, {"l"}, true, image(3, 2, 19), drawn<float>(2, 5, 3, 1, 3));
  check_family("groups of 4, first", convolved<4, 1, first>, {"l"}, false, image(16, 2, 16), drawn<float>(2, 16, 4, 1, 3));
}
/// A convolution by AVX-512, whose tile has these loops, innermost; no lane is fetched by itself.
template <class Kernel>
void check_wide(Kernel const& k, std::initializer_list<char const*> innermost, auto const& x, auto const& w) {
  machine const& m = machines()[0];
  auto const on = k.on(m.on);
  INFO(on.loops(x, w));
  CHECK(has_in_order(on.loops(x, w), innermost));
  check_rule(k, x, w);
  if (m.runs_here) CHECK(on.assembly(x, w).find("gather") == std::string::npos);
}
TEST_CASE("channels first, by steps of two to four: lanes run along lines where no other channels would use what they read") {
  auto const image = [](std::int64_t c, std::int64_t h, std::int64_t w) { return drawn<float>(1, 1, c, h, w); };
  check_wide(depthwise<first, 2>, {"unrolled ki in 0..4", "vectorized l in 0..28"}, image(3, 14, 56), drawn<float>(2, 3, 3, 3));
  check_wide(depthwise<first, 2>, {"unrolled ki in 0..4", "vectorized l in 0..7"}, image(5, 14, 14), drawn<float>(2, 5, 3, 3));
  check_wide(depthwise<first, 3>, {"vectorized l in 0..9"}, image(3, 19, 27), drawn<float>(2, 3, 3, 3));
  check_wide(window<2, 4, first>, {"unrolled j", "vectorized l in 0..14"}, image(16, 9, 28), drawn<float>(2, 16, 4, 3, 3));
  check_wide(window<2, 2, first>, {"unrolled j", "vectorized l"}, image(8, 6, 41), drawn<float>(2, 10, 4, 1, 1));
  check_wide(window<2, 1, first>, {"vectorized l in 0..20"}, image(1, 6, 40), drawn<float>(2, 1, 1, 3, 3));
  // Of halves, too, and of what has lines that no vector fills.
  check_rule(depthwise<first, 2>, drawn<weft::f16>(1, 1, 2, 9, 37), drawn<weft::f16>(2, 2, 3, 3));
  check_rule(depthwise<first, 2>, drawn<double>(1, 1, 2, 9, 13), drawn<double>(2, 2, 3, 3));
  check_rule(depthwise<first, 4>, drawn<float>(1, 1, 3, 17, 33), drawn<float>(2, 3, 5, 5));
}
TEST_CASE("convolutions by groups of channels of which vectors have no whole number") {
  auto const x = [](std::int64_t h, std::int64_t w, std::int64_t c) { return drawn<float>(1, 1, h, w, c); };
  check_wide(window<1, 8, last>, {"unrolled ki in 0..8", "vectorized l in 0..40"}, x(3, 16, 24), drawn<float>(2, 3, 3, 3, 40));
  check_wide(window<1, 2, last>, {"unrolled k", "vectorized l in 0..10"}, x(4, 7, 6), drawn<float>(2, 3, 3, 3, 10));
  check_wide(window<2, 3, last>, {"unrolled k", "vectorized l in 0..21"}, x(5, 9, 21), drawn<float>(2, 3, 3, 7, 21));
  check_wide(window<1, 4, last>, {"unrolled k", "vectorized l in 0..24"}, x(3, 8, 24), drawn<float>(2, 3, 3, 6, 24));
  check_rule(window<1, 3, last>, x(3, 5, 6), drawn<float>(2, 3, 3, 2, 51));
  check_rule(window<1, 2, last>, x(3, 5, 4), drawn<float>(2, 3, 3, 2, 134));
  check_rule(window<1, 5, first>, drawn<float>(1, 1, 15, 5, 9), drawn<float>(2, 35, 3, 3, 3));
}
TEST_CASE("convolutions by groups of 1, 4, 8, 12 and 32 channels, which are last") {
  auto const x = [](std::int64_t h, std::int64_t w, std::int64_t c) { return drawn<float>(1, 1, h, w, c); };
  check_family("1", convolved<32, 1, last>, {"l"}, false, x(2, 6, 32), drawn<float>(2, 1, 3, 1, 32));
  check_family("4", convolved<8, 1, last>, {"l"}, false, x(2, 6, 32), drawn<float>(2, 1, 3, 4, 32));
  check_family("4", convolved<5, 1, last>, {"l", 0, 4}, true, x(2, 5, 20), drawn<float>(2, 1, 3, 4, 20));
  check_family("8", convolved<4, 1, last>, {"l", 0, 4}, false, x(2, 6, 32), drawn<float>(2, 1, 3, 8, 32));
  check_family("12 of 24", convolved<2, 1, last>, {"l", 0, 4}, true, x(2, 4, 24), drawn<float>(2, 1, 3, 12, 48));
  check_family("32", convolved<2, 1, last>, {"l"}, false, x(2, 4, 64), drawn<float>(2, 1, 1, 32, 64));
  // Groups side by side, of which a line of the cache has several, are worked on before the next pixels.
  CHECK(has_in_order(convolved<4, 1, last>.on(machines()[0].on).loops(x(2, 20, 32), drawn<float>(2, 1, 3, 8, 32)), {"ko in", "lo in", "unrolled ki", "vectorized li"}));
  check_threads("8", convolved<4, 1, last>, x(40, 40, 32), drawn<float>(2, 1, 3, 8, 32));
}
TEST_CASE("rows: layernorm, rmsnorm, log-sum-exp") {
  constexpr double eps = 0x1p-23;
  for (std::int64_t const n : {64, 77}) {
    auto const x = drawn<float>(1, 5, n);
    weft::tensor<float, 1> const scale = drawn<float>(2, n), shift = drawn<float>(3, n);
    check_family("layernorm", layernorm, {"", static_cast<double>(8 * n) * eps}, n != 64, x, scale, shift);
    check_family("rmsnorm", rmsnorm, {"", static_cast<double>(8 * n) * eps}, n != 64, x, scale);
    check_family("log-sum-exp", log_sum_exp, {"", static_cast<double>(8 * n) * eps}, n != 64, x);
  }
  auto const large = drawn<float>(1, 256, 512);
  weft::tensor<float, 1> const v = drawn<float>(2, 512);
  check_threads("layernorm", layernorm, large, v, v);
  check_threads("rmsnorm", rmsnorm, large, v);
  check_threads("log-sum-exp", log_sum_exp, large);
}
TEST_CASE("permutations of four axes") {
  auto const x = drawn<float>(1, 3, 16, 4, 32), y = drawn<float>(1, 2, 17, 5, 21);
  check_family("0231", permuted<0, 2, 3, 1>, {""}, false, x);
  check_family("0231", permuted<0, 2, 3, 1>, {"", 0, 4}, true, y);
  check_family("0312", permuted<0, 3, 1, 2>, {"", 0, 4}, true, y);
  check_family("0132", permuted<0, 1, 3, 2>, {"", 0, 4}, true, y);
  check_family("3210", permuted<3, 2, 1, 0>, {"", 0, 4}, true, drawn<float>(1, 9, 4, 5, 21));
  check_family("0213", permuted<0, 2, 1, 3>, {"l"}, false, x);
  check_family("1023", permuted<1, 0, 2, 3>, {""}, true, drawn<float>(1, 3, 5, 7, 33));
  check_threads("0231", permuted<0, 2, 3, 1>, drawn<float>(1, 8, 64, 32, 64));
}
TEST_CASE("scans along rows and down columns") {
  check_family("along", running_sums<false>, {"i", 0, 4}, false, drawn<float>(1, 16, 64));
  check_family("along", running_sums<false>, {"i", 0, 4}, true, drawn<float>(1, 13, 61));
  check_family("along, from the end", running_sums<true>, {"i", 0, 4}, true, drawn<float>(1, 9, 21));
  check_family("along, of planes", running_sums<false>, {"ij", 0, 4}, true, drawn<float>(1, 3, 5, 37));
  check_family("down", running_down, {"j"}, false, drawn<float>(1, 9, 256));
  check_family("down, of planes", running_down, {"jk"}, true, drawn<float>(1, 9, 7, 31));
  check_threads("along", running_sums<false>, drawn<float>(1, 300, 1000));
  check_threads("down", running_down, drawn<float>(1, 300, 1000));
  // Fewer rows than a square has go side by side.
  CHECK(has_in_order(running_sums<false>.on(machines()[1].on).loops(drawn<float>(1, 3, 100)), {"for j in 0..100", "unrolled i in 0..3"}));
}
TEST_CASE("picked rows, reductions of columns and of everything") {
  auto const table = drawn<float>(1, 20, 64), odd = drawn<float>(2, 19, 37);
  weft::tensor<std::int32_t, 1> n(11);
  for (std::int64_t i = 0; i < 11; ++i) n(i) = static_cast<std::int32_t>(i * 7 - 9);
  check_family("picked", picked, {"j"}, false, table, n);
  check_family("picked", picked, {"j"}, true, odd, n);
  check_family("columns", column_sums, {"i"}, false, table);
  check_family("columns", column_sums, {"i"}, true, odd);
  check_family("places in columns", column_places, {"i", 0, 2}, false, table);
  check_family("places in columns", column_places, {"i", 0, 2}, true, odd);
  check_family("everything", everything, {""}, false, table);
  check_family("everything", everything, {""}, true, odd);
  auto const large = drawn<float>(1, 600, 1000);
  check_threads("picked", picked, large, weft::tensor<std::int32_t, 1>(1000)), check_threads("columns", column_sums, large);
  check_threads("places in columns", column_places, large), check_threads("everything", everything, large);
}

TEST_CASE("each family on this machine, of sizes that vectors divide and that nothing divides") {
  for (family const& f : families()) {
    CAPTURE(f.name);
    own_table table;
    for (std::size_t n = 0; n < 2; ++n) CHECK(family_call(f, f.calls[n]).run(table, weft::host()) == "");
  }
}
TEST_CASE("each family by two threads, and by one: the same bits where threads have no sums in parts") {
  for (family const& f : families()) {
    CAPTURE(f.name);
    weft::target const on = machines()[1].runs_here ? weft::x86_64_avx2() : weft::x86_64_sse2();
    family_call exact(f, f.calls[1]), rough(f, f.calls[1], true);
    weft::trace const one = exact.small_steps(on, 1, false), two = exact.small_steps(on, 2, false);
    CHECK(runs_two_pieces(two));
    CHECK(!runs_two_pieces(one));
    own_table by_one, by_two;
    CHECK(exact.run(by_one, on, &one) == "");
    CHECK(exact.run(by_two, on, &two) == "");
    static_cast<void>(rough.run(by_one, on, &one));
    weft::dense const bits = rough.result();
    static_cast<void>(rough.run(by_two, on, &two));
    CHECK((bits == rough.result()) == !f.threads_part_sums);
  }
}
TEST_CASE("each family with open sizes: one form for all of them, on AVX2") {
  if (!machines()[1].runs_here) {
    MESSAGE("[skip] open sizes on AVX2: this machine has none");
    return;
  }
  for (family const& f : families()) {
    CAPTURE(f.name);
    own_table table;
    for (extents const& sizes : f.calls) CHECK(family_call(f, sizes).run(table, weft::x86_64_avx2(), nullptr, true) == "");
    CHECK((table.first != nullptr && table.first->next == nullptr && table.first->open != nullptr));
  }
}
TEST_CASE("each family with each of its tensors off the places of vectors, with gaps, or the other way round") {
  std::array<memory_form, 3> const ways{memory_form::padded, memory_form::every_other, memory_form::turned};
  std::size_t round = 0;
  for (family const& f : families()) {
    CAPTURE(f.name);
    family_call call(f, f.calls[1]);
    for (std::size_t i = 0; i <= call.inputs(); ++i, ++round) {
      CAPTURE(i);
      machine const& m = machines()[i == 0 || !machines()[1].runs_here ? 2 : 1];
      std::vector<memory_form> how(i, memory_form::dense);
      how.push_back(ways[round % ways.size()]);
      call.layout(how);
      own_table table;
      CHECK(call.run(table, m.on) == "");
    }
  }
}
TEST_CASE("each family in place, where each element is read only before it is written; else it is refused") {
  int refused = 0;
  for (family const& f : families()) {
    CAPTURE(f.name);
    family_call call(f, f.calls[1]);
    own_table table;
    int const like = call.input_like_result();
    if (f.over < 0 && like < 0) continue;
    std::string const fault = call.run(table, weft::host(), nullptr, false, f.over >= 0 ? f.over : like);
    CHECK((fault == "") == (f.over >= 0));
    refused += fault.find("thrown: ") == 0;
  }
  CHECK((is_sanitized || refused >= 3));
}
TEST_CASE("each family on aarch64, run by QEMU") {
  if (is_sanitized || !aarch64_is_there()) {
    std::printf("[skip] %s\n", is_sanitized ? "another machine's code has no sanitizers" : no_aarch64_here);
    return;
  }
  std::vector<std::unique_ptr<family_call>> kept;
  std::vector<elsewhere_call> calls;
  for (family const& f : families())
    for (std::size_t n = 0; n < 2; ++n) {
      kept.push_back(std::make_unique<family_call>(f, f.calls[n]));
      calls.push_back(kept.back()->made_for(weft::aarch64_neon(), calls.size()));
    }
  temporary_directory const folder;
  CHECK(run_elsewhere(calls, folder.path) == "");
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::string const name = families()[i / 2].name;
    CAPTURE(name);
    CHECK(calls[i].came_back);
    CHECK(calls[i].status == 0);
    CHECK(kept[i]->difference() == "");
  }
}
