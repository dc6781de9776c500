// The pieces of docs/names.md, compiled and run: what programs use of weft, by topic.
#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "weft/bench/peak.hpp"
#include "weft/debug.hpp"
#include "weft/dim.hpp"
#include "weft/expr/any_rank.hpp"
#include "weft/expr/print.hpp"
#include "weft/intrinsics.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ops.hpp"
#include "weft/print_how.hpp"
#include "weft/print_what.hpp"
#include "weft/runtime/dlpack.hpp"
#include "weft/runtime/executor.hpp"
#include "weft/runtime/npy.hpp"
#include "weft/shapes.hpp"
#include "weft/weft.hpp"

namespace {

// --- what: math --------------------------------------------------------------------------------------------------

constexpr auto math = [](auto x, auto y) {
  return weft::compute<"z">(x.extent(0), [=](auto i) {
    auto growth = weft::exp(x(i)) + weft::exp2(x(i)) + weft::expm1(x(i)) + weft::pow(y(i), x(i));
    auto logarithms = weft::log(y(i)) + weft::log2(y(i)) + weft::log1p(y(i));
    auto roots = weft::sqrt(y(i)) + weft::rsqrt(y(i));
    auto angles = weft::sin(x(i)) + weft::cos(x(i)) + weft::tan(x(i)) + weft::atan(x(i)) + weft::atan2(x(i), y(i));
    auto activations = weft::tanh(x(i)) + weft::sigmoid(x(i)) + weft::erf(x(i)) + weft::gelu(x(i)) + weft::gelu_tanh(x(i));
    auto whole = weft::floor(x(i)) + weft::ceil(x(i)) + weft::round(x(i)) + weft::trunc(x(i)) + weft::fmod(x(i), y(i));
    auto choices = weft::abs(x(i)) + weft::copysign(y(i), x(i)) + weft::min(x(i), y(i)) + weft::max(x(i), 0.0f);
    auto limits = weft::clamp(x(i), -1.0f, 1.0f) + weft::select(x(i) < y(i), 1.0f, 2.0f) + weft::cast<float>(i);
    return growth + logarithms + roots + angles + activations + whole + choices + limits;
  });
};

// --- what: reductions --------------------------------------------------------------------------------------------

constexpr auto reductions = [](auto A) {
  auto M = A.extent(0), N = A.extent(1);
  auto total = weft::compute<"total">(M, [=](auto i) { return weft::sum(N, [=](auto k) { return A(i, k); }); });
  auto product = weft::compute<"product">(M, [=](auto i) { return weft::prod(N, [=](auto k) { return A(i, k); }); });
  auto least = weft::compute<"least">(M, [=](auto i) { return weft::min(N, [=](auto k) { return A(i, k); }); });
  auto most = weft::compute<"most">(M, [=](auto i) { return weft::max(N, [=](auto k) { return A(i, k); }); });
  auto lowest = weft::compute<"lowest">(M, [=](auto i) { return weft::argmin(N, [=](auto k) { return A(i, k); }); });
  auto highest = weft::compute<"highest">(M, [=](auto i) { return weft::argmax(N, [=](auto k) { return A(i, k); }); });
  auto some = weft::compute<"some">(M, [=](auto i) { return weft::any(N, [=](auto k) { return A(i, k) < 0; }); });
  auto each = weft::compute<"each">(M, [=](auto i) { return weft::all(N, [=](auto k) { return A(i, k) < 9; }); });
  auto gains = weft::compute<"gains">(
      M, [=](auto i) { return weft::sum(N, [=](auto k) { return weft::where(A(i, k) > 0, A(i, k)); }); });
  return weft::outputs(total, product, least, most, lowest, highest, some, each, gains);
};
// Two values per element, from pairs that may be joined in any order: what s.rfactor asks.
constexpr auto mean_and_count = [](auto A) {
  auto join = weft::any_order([](auto const& a, auto const& b) {
    return weft::values(weft::get<0>(a) + weft::get<0>(b), weft::get<1>(a) + weft::get<1>(b));
  });
  auto [sum, count] = weft::compute<"sum", "count">(A.extent(0), [=](auto i) {
    return weft::reduce(weft::values(0, 0), join, A.extent(1),
                        [=](auto k) { return weft::values(A(i, k), weft::cast<int>(A(i, k) != 0)); });
  });
  return weft::compute<"mean">(A.extent(0), [=](auto i) {
    return sum(i) / weft::max(count(i), 1);
  });
};
constexpr auto running = [](auto x) {
  auto n = x.extent(0);
  auto sums = weft::compute<"sums">(n, [=](auto t) { return weft::sum(weft::up_to(t), [=](auto k) { return x(k); }); });
  auto others = weft::compute<"others">(n, [=](auto t) { return weft::sum(weft::before(t), [=](auto k) { return x(k); }); });
  auto rest = weft::compute<"rest">(n, [=](auto t) { return weft::max(weft::from(t), [=](auto k) { return x(k); }); });
  auto later = weft::compute<"later">(n, [=](auto t) { return weft::sum(weft::after(t), [=](auto k) { return x(k); }); });
  auto decayed = weft::compute<"decayed">(n, [=](auto t) {
    return weft::scan(weft::up_to(t), 0, [=](auto last) { return last / 2 + x(t); });
  });
  return weft::outputs(sums, others, rest, later, decayed);
};

// --- what: shapes and borders --------------------------------------------------------------------------------------

constexpr auto borders = [](auto x) {
  auto at_edge = weft::repeat_edge(x);
  auto round = weft::wrap(x);
  auto at_axis = weft::reflect(x);
  auto beyond = weft::mirror(x);
  auto outside = weft::constant_exterior(x, 0);
  return weft::compute<"y">(x.extent(0), [=](auto i) {
    return at_edge(i - 1) + round(i - 1) + at_axis(i - 1) + beyond(i - 1) + outside(i - 1);
  });
};
constexpr auto scaled = [](auto A, auto row) {  // as NumPy: row stands below the last dimension of A
  weft::require(A.extent(1) == row.extent(0));
  return weft::elementwise<"scaled">([](auto a, auto r) { return a * r; }, A, row);
};
constexpr auto batched = [](auto A, auto B) { return weft::einsum<"bij,bjk->bik">(A, B); };

// --- what: of any rank, as weft/ops.hpp is written -----------------------------------------------------------------

constexpr auto swapped = []<class T, int Rank>(weft::expr::tensor<T, Rank> const& A) {  // the last two dimensions
  weft::shape<Rank> extents = weft::shape_of(A);
  std::swap(extents[Rank - 1], extents[Rank - 2]);
  return weft::compute_over<"swapped">(extents, [=](weft::indices<Rank> at) {
    std::swap(at[Rank - 1], at[Rank - 2]);
    return weft::element_at(A, at);
  });
};
constexpr auto of_all = [](auto A) {  // sum, product, maximum and minimum of all elements
  auto with = [=](auto const& reduction) {
    return [=](auto) {
      return weft::reduce_over(reduction, weft::shape_of(A), [=](auto const& k) { return weft::element_at(A, k); });
    };
  };
  auto one = std::array{weft::literal_extent(A, 1)};
  auto sum = weft::compute_over<"sum">(one, with(weft::sums));
  auto product = weft::compute_over<"product">(one, with(weft::products));
  auto most = weft::compute_over<"most">(one, with(weft::maxima));
  auto least = weft::compute_over<"least">(one, with(weft::minima));
  return weft::outputs(sum, product, most, least);
};
constexpr auto picked = [](auto table, auto places) {
  return weft::compute_over<"picked">(std::array{places.extent(0)}, [=](weft::indices<1> const& i) {
    return weft::element_at(table, weft::indices<1>{weft::as_index(places(i[0]))});
  });
};

// --- what: ready made, and how: instructions ----------------------------------------------------------------------

constexpr auto pooled = [](auto signal, auto volume) {  // N x C x L, N x C x D x H x W
  auto smooth = weft::ops::avg_pool1d(signal, {.kernel = {2}, .stride = {2}});
  auto largest = weft::ops::max_pool3d(volume, {.kernel = {1, 2, 2}, .stride = {1, 2, 2}});
  return weft::outputs(smooth, largest);
};
// An instruction is data: what it computes, and its name where the processor has it.
inline constexpr weft::intrinsic sums_of_pairs = weft::declare_intrinsic<"sums_of_pairs", std::int16_t, std::int16_t>(
    [](auto a, auto b) {
      return weft::compute<"c">(a.extent(0), [=](auto lane) {
        return weft::sum(2, [=](auto k) { return a(lane, k) * b(lane, k); });
      });
    },
    {{"avx2", "llvm.x86.avx2.pmadd.wd", 8}});
template <weft::intrinsic const& By>
constexpr auto by_instruction = [](auto& s, auto, auto, auto C) {
  auto [i, j, k] = C.axes();
  auto [jo, ji] = s.split(j, 8);
  auto [ko, ki] = s.split(k, By.terms);
  s.reorder(i, jo, ko, ji, ki);
  s.vectorize(ji);
  s.tensorize(ki, By);
};
template <int Terms>
constexpr auto product_of_packed = [](auto A, auto B) {
  return weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k / Terms, j, k % Terms); });
  });
};

// --- how: a stage that is computed ahead, or kept for later rows ----------------------------------------------------

constexpr auto blur = [](auto A) {
  auto H = A.extent(0), W = A.extent(1);
  auto row = weft::compute<"row">(H, W - 2, [=](auto y, auto x) { return A(y, x) + A(y, x + 1) + A(y, x + 2); });
  return weft::compute<"out">(H - 2, W - 2, [=](auto y, auto x) { return row(y, x) + row(y + 1, x) + row(y + 2, x); });
};
constexpr auto two_ahead = [](auto& s, auto, auto row, auto out) {
  auto [y, x] = out.axes();
  s.compute_at(row, y);
  s.pipeline(row, 2);
  static_cast<void>(x);
};
constexpr auto three_rows = [](auto& s, auto, auto row, auto out) {
  auto [y, x] = out.axes();
  s.compute_at(row, y);
  s.store_root(row);
  static_cast<void>(x);
};

std::string place() {
  return (std::filesystem::temp_directory_path() / ("weft-names." + std::to_string(::getpid()))).string();
}
template <class... T>
auto values_of(T const&... results) {
  return std::vector<std::vector<double>>{std::vector<double>(results.begin(), results.end())...};
}
}  // namespace

TEST_CASE("docs/names: what is computed") {
  std::vector<float> const x{-2, -0.5f, 0, 0.5f, 1, 3}, y{1, 2, 0.5f, 3, 1, 4};
  constexpr auto k = weft::kernel<"math">(math);
  CHECK(weft::evaluate({.contract = weft::cpu().fma}, k, x, y) == k(x, y));

  std::vector<int> const a{3, -1, 2, 0, 5, 7};
  auto const [total, product, least, most, lowest, highest, some, each, gains] =
      weft::kernel<"reductions">(reductions)(weft::view(a, 2, 3));
  CHECK(values_of(total, product, least, most, lowest, highest, some, each, gains) ==
        std::vector<std::vector<double>>{{4, 12}, {-6, 0}, {-1, 0}, {3, 7}, {1, 0}, {0, 2}, {1, 0}, {1, 1}, {5, 12}});
  CHECK(values_of(weft::kernel<"mean">(mean_and_count)(weft::view(a, 2, 3)))[0] == std::vector<double>{1, 6});
  auto const [sums, others, rest, later, decayed] = weft::kernel<"running">(running)(a);
  CHECK(values_of(sums, others, rest, later, decayed) ==
        std::vector<std::vector<double>>{{3, 2, 4, 4, 9, 16}, {0, 3, 2, 4, 4, 9}, {7, 7, 7, 7, 7, 7}, {13, 14, 12, 12, 7, 0},
                                         {3, 0, 2, 1, 5, 9}});

  // of [3, -1, 2, 0, 5, 7], what lies in front of 3: 3, 7, -1, 3 and 0
  CHECK(values_of(weft::kernel<"borders">(borders)(a))[0] == std::vector<double>{12, 15, -5, 10, 0, 25});
  std::vector<int> const row{1, 10, 100};
  CHECK(values_of(weft::kernel<"scaled">(scaled)(weft::view(a, 2, 3), row))[0] == std::vector<double>{3, -10, 200, 0, 50, 700});
  CHECK_THROWS_AS(weft::kernel<"scaled">(scaled)(weft::view(a, 3, 2), row), weft::argument_error);
  auto const product_of = weft::kernel<"batched">(batched)(weft::view(a, 2, 1, 3), weft::view(a, 2, 3, 1));
  CHECK(values_of(product_of)[0] == std::vector<double>{14, 74});

  CHECK(values_of(weft::kernel<"swapped">(swapped)(weft::view(a, 2, 3)))[0] == std::vector<double>{3, 0, -1, 5, 2, 7});
  auto const [sum, multiplied, largest, smallest] = weft::kernel<"of_all">(of_all)(weft::view(a, 2, 3));
  CHECK(values_of(sum, multiplied, largest, smallest) == std::vector<std::vector<double>>{{16}, {0}, {7}, {-1}});
  std::vector<int> const places{5, 0, 2};
  CHECK_THROWS_AS(weft::kernel<"picked">(picked)(a, places), weft::argument_error);  // nothing says that they are inside
  CHECK(weft::evaluate(weft::kernel<"picked">(picked), a, places) == std::vector<int>{7, 3, 2});
}

TEST_CASE("docs/names: ready made, instructions, stages ahead") {
  std::vector<float> const signal{1, 3, 5, 7}, volume{1, 2, 3, 4, 5, 6, 7, 8};
  auto const [smooth, largest] =
      weft::kernel<"pooled">(pooled)(weft::view(signal, 1, 1, 4), weft::view(volume, 1, 1, 2, 2, 2));
  CHECK(values_of(smooth, largest) == std::vector<std::vector<double>>{{2, 6}, {4, 8}});

  std::vector<std::int16_t> const words(6 * 16, 3);
  std::vector<std::uint8_t> const bytes(6 * 16, 200);
  std::vector<std::int8_t> const signs(6 * 16, -1);
  std::vector<weft::bf16> const halves(6 * 16, weft::bf16(0.5f));
  auto const A16 = weft::view(words, 2, 12);
  auto const B16 = weft::view(words, 6, 8, 2);
  constexpr auto by_pairs = weft::kernel<"by_pairs">(product_of_packed<2>, by_instruction<sums_of_pairs>);
  CHECK(by_pairs(A16, B16)(1, 7) == 12 * 9);
  constexpr auto by_pmaddwd = weft::kernel<"by_pmaddwd">(product_of_packed<2>, by_instruction<weft::pmaddwd>);
  CHECK(by_pmaddwd(A16, B16)(1, 7) == 12 * 9);
  // Where the processor has none of these, the plain loop.
  constexpr auto by_vnni = weft::kernel<"by_vnni">(product_of_packed<4>, by_instruction<weft::vpdpbusd>);
  CHECK(by_vnni(weft::view(bytes, 2, 12), weft::view(signs, 3, 8, 4))(1, 7) == -12 * 200);
  constexpr auto by_bf16 = weft::kernel<"by_bf16">(product_of_packed<2>, by_instruction<weft::vdpbf16ps>);
  CHECK(by_bf16(weft::view(halves, 2, 12), weft::view(halves, 6, 8, 2))(1, 7) == 3);
  static_assert(weft::tdpbf16ps.terms == 32 && weft::tdpbusd.terms == 64);
  for (weft::intrinsic const* tile : {&weft::tdpbf16ps, &weft::tdpbusd, &weft::tdpbsud, &weft::tdpbssd, &weft::tdpbuud}) CHECK((tile->rows == 16 && tile->columns == 16));

  std::vector<float> const image(20 * 12, 1.0f);
  auto const A = weft::view(image, 20, 12);
  CHECK(weft::kernel<"ahead">(blur, two_ahead)(A)(17, 9) == 9);
  CHECK(weft::kernel<"kept">(blur, three_rows)(A)(17, 9) == 9);
}

TEST_CASE("docs/names: checked by the compiler, and against the lambda") {
  static constexpr auto add = weft::kernel<"add">(
      [](auto a, auto b) { return weft::compute<"c">(a.extent(0), [=](auto i) { return a(i) + b(i); }); },
      [](auto& s, auto, auto, auto c) { s.vectorize(s.split(c.axes()[0], s.knob("lanes", {8, 4}))[1]); });
  static_assert(weft::checked<add, weft::arg<float, 1>, weft::arg<float, 1>>);
  static_assert(weft::verdicts<add, weft::arg<float, 1>, weft::arg<float, 1>>.state == weft::verdict::legal);
  static_assert(weft::evaluate(add, std::array{1, 2}, std::array{3, 4}) == std::array{4, 6});
  static_assert(weft::evaluate_at(add, std::array<std::int64_t, 1>{1}, std::array{1, 2}, std::array{3, 4}) == 6);

  std::vector<float> a(20, 1.0f), b(20, 2.0f), c(20);
  add(a, b, weft::out(c));                                // compiled for 20 elements, and run
  weft::tensor<float, 1> d = add(a, b);                   // a result of its own
  auto const ready = add.prepare(a, b, weft::out(c));     // for many calls with these shapes
  ready(a, b, weft::out(c));
  CHECK(c[19] == 3);
  CHECK(d(19) == 3);
}

TEST_CASE("docs/names: looking inside") {
  static constexpr auto add = weft::kernel<"add">(
      [](auto a, auto b) { return weft::compute<"c">(a.extent(0), [=](auto i) { return a(i) + b(i); }); },
      [](auto& s) { s.vectorize(s.split(weft::stage<"c", 1>(s).all[0], s.knob("lanes", {8, 4}))[1]); });
  std::vector<float> a(20, 1.0f), b(20, 2.0f);
  std::string const nest = add.loops(a, b), steps = add.trace(a, b), loop_program = add.ir(a, b);
  std::string const as_llvm = add.llvm_ir(a, b), machine_code = add.assembly(a, b);
  std::string const lambda = weft::print_how(add, a, b), computation = weft::print_what(add, a, b);  // to be pasted
  CHECK(nest.find("vectorized") != std::string::npos);
  CHECK(steps.find("c: vectorize(") != std::string::npos);
  CHECK(lambda.find("s.vectorize(") != std::string::npos);
  CHECK(computation.find("return A(i) + B(i);") != std::string::npos);
  CHECK((!as_llvm.empty() && !machine_code.empty()));
  weft::ir::arena nodes;
  CHECK(weft::ir::parse(nodes, loop_program).name == "add");
  weft::program const doubled = weft::parse_program(R"(program
    input A f32
      %0 = extent i64 A 0
      shape %0
    stage C f32
      axis 0 < %0
      shape %0
      %1 = axis i64 0
      %2 = load f32 A %1
      %3 = literal f32 2.0
      %4 = mul f32 %2 %3
      body %4
    output C)");
  CHECK(weft::print(doubled).find("%4 = mul f32 %2 %3") != std::string::npos);

  auto const checked = add.with({.checked = true});              // says which access leaves its tensor
  auto const anywhere = add.on(weft::x86_64_sse2());             // for another machine: to be looked at
  auto const plain = add.with({.plain = true});                  // no schedule by rule, where it has none of its own
  auto const exact = add.with({.bitwise = true});                // one that takes the terms of sums in their order
  CHECK((plain(a, b)(3) == 3 && exact(a, b)(3) == 3));
  CHECK(checked(a, b)(3) == 3);
  CHECK(anywhere.ir(a, b) != loop_program);
  CHECK(weft::host().has("sse2"));
  CHECK(weft::host().vector_bytes >= weft::x86_64_sse2().vector_bytes);
  CHECK(add.on(weft::aarch64_neon()).assembly(a, b).find(".4s") != std::string::npos);  // four floats at a time
  CHECK(weft::host().has("avx2") == (weft::host().vector_bytes >= weft::x86_64_avx2().vector_bytes));

  std::uint64_t const before = weft::compilations();
  add(a, b);
  add(a, b);
  CHECK(weft::compilations() <= before + 1);
  CHECK(weft::fma_peak_gflops() > 0);  // of one thread, f32

  static_assert(weft::dtype_of<float> == weft::dtype::f32);
  static_assert(weft::name(weft::dtype::bf16) == "bf16");
  static_assert(weft::size_bytes(weft::dtype::i64) == 8);
  static_assert(weft::promote(weft::dtype::i32, weft::dtype::u32).type == weft::dtype::i64);
}

TEST_CASE("docs/names: memory") {
  static constexpr auto scale = weft::kernel<"scale">([](auto x, auto by) {
    return weft::compute<"y">(x.extent(0), [=](auto i) { return x(i) * by; });
  });
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y(6);
  scale(weft::view(x.data(), 3).strided(2), 10.0f, weft::out(y.data(), 3));  // every second element
  CHECK(y == std::vector<float>{10, 30, 50, 0, 0, 0});
  scale(weft::view(x, weft::dim<"n">(6)), 2.0f, weft::out(y));  // code for any n
  CHECK(y[5] == 12);
  auto const many = scale.with({.background = true, .exact_shapes = 4});  // code for many after four; calls do not wait for it
  many(weft::view(x, 5), 2.0f, weft::out(y.data(), 5));
  weft::finish_background();
  std::string const what_there_is = weft::forms(many, weft::view(x, 5), 2.0f, weft::out(y.data(), 5));
  CHECK(what_there_is.find("A 5, y 5") != std::string::npos);

  weft::tensor<float, 2> t(2, 3);  // zeros
  t(1, 2) = 7;
  weft::tensor<float, 2> const copy = t.clone();
  CHECK((copy.extent(0) == 2 && copy.size() == 6 && copy.data()[5] == 7));
  CHECK(std::vector<float>(copy.begin(), copy.end()).back() == 7);

  weft::constant weights(weft::view(x, 6));  // what a schedule prepacks of it is kept between calls
  CHECK(scale(weights, 2.0f)(0) == 2);
  x[0] = 5;
  weights.changed();
  CHECK(scale(weights, 2.0f)(0) == 10);
  CHECK(weights.view().data == x.data());

  auto* const lent = weft::to_dlpack(scale(x, 1.0f));  // to NumPy, PyTorch: they call its deleter
  auto const taken = weft::from_dlpack<float, 1>(lent);
  CHECK((taken.data()[5] == 6 && taken.extent(0) == 6 && taken.stride_of(0) == 1 && !taken.is_read_only()));

  std::string const file = place() + ".npy";
  weft::write_npy(file, weft::view(x, 2, 3));
  weft::npy_header const header = weft::read_npy_header(file);
  weft::tensor<float, 2> const read = weft::read_npy<float, 2>(file);
  std::filesystem::remove(file);
  CHECK((header.type == weft::dtype::f32 && read(1, 2) == 6));
}

TEST_CASE("docs/names: the process") {
  weft::executor const before = weft::set_executor({.threads = 1});  // parallel loops on one thread of weft's own pool
  int const threads = weft::threads_of_calls();  // those of the machine, of WEFT_THREADS, or the executor's
  weft::set_executor(before);
  CHECK(threads == 1);

  std::string const folder = place();
  weft::cache::enable();
  weft::cache::set_directory(folder);
  weft::cache::set_limit(16 << 20);
  std::string const state = weft::cache::status();
  weft::cache::report const report = weft::cache::inspect();
  CHECK((!state.empty() && !report.text().empty()));
  weft::cache::clear();
  weft::cache::disable();
  weft::cache::set_directory("");
  std::filesystem::remove_all(folder);

  try {
    weft::tensor<float, 1> const impossible(-1);
  } catch (weft::error const& e) {
    CHECK(std::string(e.what()).find("-1") != std::string::npos);
  }
}
