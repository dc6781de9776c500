// Products by matrix units: each by the interpreter, its text on the host, and NVRTC.
#include "prepared.hpp"

#include "weft/ir/parse.hpp"

using namespace weft;
using namespace weft_test;

namespace {

template <class T, class Sum>
gpu_kernel product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"product"};
  auto const a = k.input<T, 2>({rows, depth});
  auto const b = k.input<T, 2>({depth, columns});
  return k.out(compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return sum(a.extent(1), [=](auto l) { return cast<Sum>(a(i, l)) * cast<Sum>(b(l, j)); });
  }));
}
/// B is given as the transpose of what is multiplied with.
template <class T, class Sum>
gpu_kernel product_with_transpose(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"product_with_transpose"};
  auto const a = k.input<T, 2>({rows, depth});
  auto const b = k.input<T, 2>({columns, depth});
  return k.out(compute<"C">(a.extent(0), b.extent(0), [=](auto i, auto j) {
    return sum(a.extent(1), [=](auto l) { return cast<Sum>(a(i, l)) * cast<Sum>(b(j, l)); });
  }));
}
gpu_kernel product_in_f16(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"product_in_f16"};
  auto const a = k.input<f16, 2>({rows, depth});
  auto const b = k.input<f16, 2>({depth, columns});
  return k.out(compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return reduce(f16(0.0f), [](auto so_far, auto term) { return cast<f16>(so_far + term); }, a.extent(1),
                  [=](auto l) { return cast<f16>(a(i, l) * b(l, j)); });
  }));
}
/// Of any extents: the copies of A and B have zeros where these end, and `out` has what is wanted.
gpu_kernel padded_product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"padded_product"};
  auto const a = k.input<f16, 2>({rows, depth});
  auto const b = k.input<f16, 2>({depth, columns});
  auto const up = [](std::int64_t n) { return (n + 31) / 32 * 32; };
  auto const zeros = [](auto x) {
    return [=](auto i, auto j) {
      auto const m = x.extent(0), n = x.extent(1);
      return select(i < m && j < n, x(min(i, m - 1), min(j, n - 1)), f16(0.0f));
    };
  };
  auto const left = compute<"A_copy">(up(rows), up(depth), zeros(a));
  auto const right = compute<"B_copy">(up(depth), up(columns), zeros(b));
  auto const c = compute<"C">(up(rows), up(columns), [=](auto i, auto j) {
    return sum(left.extent(1), [=](auto l) { return cast<float>(left(i, l)) * cast<float>(right(l, j)); });
  });
  return k.out(compute<"out">(a.extent(0), b.extent(1), [=](auto i, auto j) { return c(i, j); }));
}
/// Something is done with single sums: a stage that reads them.
gpu_kernel product_with_bias(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"product_with_bias"};
  auto const a = k.input<f16, 2>({rows, depth});
  auto const b = k.input<f16, 2>({depth, columns});
  auto const bias = k.input<float, 1>({columns});
  auto const c = compute<"S">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return sum(a.extent(1), [=](auto l) { return cast<float>(a(i, l)) * cast<float>(b(l, j)); });
  });
  return k.out(compute<"out">(a.extent(0), b.extent(1), [=](auto i, auto j) { return cast<f16>(max(c(i, j) + bias(j), 0.0f)); }));
}


/// A block's tile of `bm` x `bn`, `bk` deep, by warps in one column that have `wm` rows of it each.
std::string tiles(std::string const& unit, int bm, int bn, int bk, int wm, int terms = 16) {
  auto const n = [](int v) { return std::to_string(v); };
  return "C: split(i, " + n(bm) + ") -> io, ii\nC: split(ii, " + n(wm) + ") -> iio, iii\nC: split(iii, 16) -> iiio, iiii\nC: split(j, " + n(bn) +
         ") -> jo, ji\nC: split(ji, 16) -> jio, jii\nC: split(k, " + n(bk) + ") -> ko, ki\nC: split(ki, " + n(terms) +
         ") -> kio, kii\nC: reorder(io, jo, ko, iio, kio, iiio, jio, iiii, jii, kii)\nC: bind(io, block_y)\nC: bind(jo, block_x)\nC: bind(iio, warp)\n"
         "C: unroll(iiio)\nC: unroll(jio)\nC: tensorize(iiii, " + unit + ")\n";
}
/// Copies of what a block reads of A and B in shared memory, whose rows are `pad` elements longer.
std::string copies(int threads, int pad, bool are_there = false, std::string const& of = "C") {
  std::string text;
  for (char const* name : {"A", "B"}) {
    std::string const copy = std::string(name) + "_copy";
    if (!are_there) text += of + ": cache_read(" + name + ")\n";
    text += copy + ": compute_at(" + of + ", ko)\n" + copy + ": set_scope(shared)\n" + copy +
            ": split(j, 4) -> jo, ji\n" + copy + ": fuse(i, jo) -> ijo\n" + copy + ": split(ijo, " + std::to_string(threads) + ") -> ijoo, ijoi\n" +
            copy + ": bind(ijoi, thread_x)\n" + copy + ": vectorize(ji)\n" + copy + ": storage_align(0, " + std::to_string(2 * pad) + ", " +
            std::to_string(pad) + ")\n";
  }
  return text;
}
std::vector<gpu_kernel> kernels() {
  std::vector<gpu_kernel> all;
  auto const add = [&](gpu_kernel k, char const* what, std::string const& steps) {
    k.name += std::string("_") + what;
    k.steps = steps;
    all.push_back(std::move(k));
  };
  add(product<f16, float>(32, 32, 16), "one_step", tiles("wmma_f16", 32, 32, 16, 16));
  add(product<f16, float>(64, 64, 64), "direct", tiles("wmma_f16", 32, 32, 32, 16));
  add(product<f16, float>(64, 128, 64), "shared", tiles("wmma_f16", 64, 64, 32, 32) + copies(64, 16));
  add(product<f16, float>(64, 64, 32), "four_warps", tiles("wmma_f16", 64, 64, 16, 16) + copies(128, 16));
  add(product_with_transpose<f16, float>(64, 64, 64), "columns", tiles("wmma_f16", 32, 32, 32, 16) + copies(64, 16));
  add(product<bf16, float>(64, 64, 64), "bf16", tiles("wmma_bf16", 32, 64, 32, 16) + copies(64, 8));
  add(product<std::int8_t, std::int32_t>(64, 64, 64), "s8", tiles("wmma_s8", 32, 64, 32, 16) + copies(64, 8));
  add(product<std::uint8_t, std::int32_t>(64, 64, 64), "u8", tiles("wmma_u8", 32, 64, 32, 16) + copies(64, 8));
  add(product<float, float>(32, 32, 32), "tf32", tiles("wmma_tf32", 32, 32, 16, 16, 8) + copies(64, 4));
  add(product_in_f16(32, 32, 32), "f16", tiles("wmma_f16_in_f16", 32, 32, 16, 16) + copies(64, 16));
  add(padded_product(40, 70, 50), "tail", tiles("wmma_f16", 32, 32, 32, 16) + copies(64, 16, true) +
      "out: split(j, 32) -> jo, ji\nout: bind(i, block_y)\nout: bind(jo, block_x)\nout: bind(ji, thread_x)\n");
  add(product_with_bias(64, 64, 32), "f16",
      "out: split(i, 32) -> io, ii\nout: split(j, 32) -> jo, ji\nout: reorder(io, jo, ii, ji)\nout: bind(io, block_y)\nout: bind(jo, block_x)\n"
      "out: split(ii, 2) -> iio, iii\nout: bind(iii, thread_y)\nout: bind(ji, thread_x)\nS: compute_at(out, jo)\nS: set_scope(shared)\n"
      "S: split(i, 16) -> io, ii\nS: split(j, 16) -> jo, ji\nS: split(k, 16) -> ko, ki\nS: reorder(ko, io, jo, ii, ji, ki)\nS: bind(io, warp)\n"
      "S: unroll(jo)\nS: tensorize(ii, wmma_f16)\n" + copies(64, 16, false, "S"));
  return all;
}
prepared_kernels& prepared() {
  static prepared_kernels all(kernels());
  return all;
}
}  // namespace

TEST_CASE("matrix units: all products have text") {
  prepared().check_have_text();
}
TEST_CASE("matrix units: what is no whole tile is refused, with a way out") {
  gpu_kernel k = product<f16, float>(40, 64, 64);
  k.steps = tiles("wmma_f16", 32, 32, 32, 16);
  gpu_trial const t(k, {}, gpu_trial::text_only);
  CHECK(t.fault.find("tensorize: wmma_f16 has whole tiles alone, of 16 rows, 16 columns and 16 terms, and the extents of this call leave parts of some") == 0);
  CHECK(t.fault.find("\n  try   extents that all splits around divide") != std::string::npos);
  gpu_kernel narrow = product<f16, float>(32, 32, 24);  // 24 terms of f16 are 48 bytes: rows do not begin as they must
  narrow.shapes[0][1] = narrow.shapes[1][0] = 24;
  narrow.steps = tiles("wmma_f16", 32, 32, 16, 16);
  CHECK(gpu_trial(narrow, {}, gpu_trial::text_only).fault.find("tensorize: ") == 0);
  gpu_kernel skewed = product<f16, float>(32, 32, 32);
  skewed.steps = tiles("wmma_f16", 32, 32, 16, 16) + copies(64, 8);  // rows of 24 elements
  std::string const fault = gpu_trial(skewed, {}, gpu_trial::text_only).fault;
  CHECK(fault.find("tensorize: the left operand is A_copy, whose rows must begin at multiples of 32 bytes: they are 24 elements apart") == 0);
  CHECK(fault.find("storage_align(copy, 0, 32, 16)") != std::string::npos);
  gpu_kernel lonely = product<f16, float>(32, 32, 32);  // no loop over warps
  lonely.steps = "C: split(i, 16) -> io, ii\nC: split(j, 16) -> jo, ji\nC: split(k, 16) -> ko, ki\nC: reorder(io, jo, ko, ii, ji, ki)\n"
                 "C: bind(io, block_x)\nC: tensorize(ii, wmma_f16)\n";
  std::string const said = gpu_trial(lonely, {}, gpu_trial::text_only).fault;
  CHECK(said.find("a matrix unit is a whole warp's\n") != std::string::npos);
  CHECK(said.find("\n  try   bind of a loop around the tile to weft::thread_axis::warp") != std::string::npos);
}
TEST_CASE("matrix units: operands are loaded once for all tiles of a warp that share them, and sums stay in fragments") {
  gpu_kernel k = product<f16, float>(64, 64, 64);
  k.steps = tiles("wmma_f16", 64, 64, 32, 32) + copies(64, 16);
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  std::string const& text = t.module.text;
  CHECK(count_of(text, "_multiply_row_row(C_sum[") == 8);  // 2 x 4 tiles
  CHECK(count_of(text, "_load_a_row(A_copy") == 2);
  CHECK(count_of(text, "_load_b_row(B_copy") == 4);
  CHECK(count_of(text, "_fill(C_sum[") == 8);
  CHECK(count_of(text, "_store_row(&C[") == 8);
  CHECK(count_of(text, "__syncthreads();") == 2);
}
TEST_CASE("matrix units: the interpreter finds no race and no read of nothing, and the results are right") {
  prepared().check_interpreted({1, 2});
}
TEST_CASE("matrix units: without any one of its barriers a kernel has a race") {
  auto const barriers = prepared().count_barriers();
  CHECK(barriers.all > 10);
  CHECK(barriers.needed >= barriers.all - 1);  // between two tiles of which the reduction is one step, that of each is stored at once
}
TEST_CASE("matrix units: the text on the host computes the same, and all lanes of a warp come to each tile") {
  prepared().check_on_host({0, 1, 77}, check_lanes_together);
}
TEST_CASE("matrix units: NVRTC compiles all, without spills or arrays in local memory") {
  prepared().check_compiled([](cuda_binary const& r, std::string const&) {
    CHECK(count_of(r.ptx, "wmma.mma.sync") > prepared().kernels.size());
  });
}
namespace {
/// What the text of a kernel computes on the host, of an m x k matrix and a k x n one.
template <class T, class Sum>
std::vector<Sum> on_host(gpu_kernel const& k, std::vector<T> const& a, std::vector<T> const& b, std::size_t elements) {
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  cuda_on_host const host(t.module.text, "1");
  REQUIRE_MESSAGE(host.loaded(), host.messages);
  std::vector<Sum> c(elements + 16);
  struct call {
    void (*kernel)(void const*, void const*, void*);
    void const *a, *b;
    void* c;
  } now{reinterpret_cast<void (*)(void const*, void const*, void*)>(host.symbol(t.module.kernels[0].name.c_str())), a.data(), b.data(), c.data()};
  cuda_kernel const& one = t.module.kernels[0];
  unsigned blocks[3], threads[3];
  for (int d = 0; d < 3; ++d) {
    blocks[d] = one.blocks[d] != nullptr ? static_cast<unsigned>(one.blocks[d]->value) : 1;
    threads[d] = static_cast<unsigned>(one.threads[d]);
  }
  auto const thread = [](void* data) {
    auto const& p = *static_cast<call*>(data);
    p.kernel(p.a, p.b, p.c);
  };
  CHECK(host.run(blocks, threads, static_cast<unsigned>(one.shared_bytes), thread, &now, 3) == "");
  return c;
}
std::vector<double> drawn_numbers(std::size_t n, unsigned seed) {
  std::vector<double> v(n);
  for (double& x : v) seed = seed * 1664525u + 1013904223u, x = static_cast<double>(static_cast<std::int32_t>(seed)) * 0x1p-31;
  return v;
}
}  // namespace

// Any order of k additions in f32, each rounded to nearest, leaves a sum within k u / (1 - k u) * sum |a b| of the exact one, u =
// 2^-24 (Higham, Accuracy and Stability of Numerical Algorithms, 4.4). Products of f16 are exact in f32. Of tf32 each factor is
// first rounded to 11 bits, which leaves the product within 2^-10 + 2^-22 of its magnitude.
TEST_CASE("matrix units: sums of floats lie within the bound of their roundings") {
  if (!cuda_on_host::available()) {
    MESSAGE("[skip] neither $CXX nor c++ runs here");
    return;
  }
  std::size_t const n = 64, depth = 64;
  auto const x = drawn_numbers(n * depth, 1), y = drawn_numbers(depth * n, 2);
  std::vector<f16> a, b;
  std::vector<float> wide_a, wide_b;
  for (double v : x) a.push_back(f16(static_cast<float>(v))), wide_a.push_back(static_cast<float>(v));
  for (double v : y) b.push_back(f16(static_cast<float>(v))), wide_b.push_back(static_cast<float>(v));
  gpu_kernel halves = product<f16, float>(64, 64, 64), singles = product<float, float>(64, 64, 64);
  halves.steps = tiles("wmma_f16", 32, 64, 32, 16) + copies(64, 16);
  singles.steps = tiles("wmma_tf32", 32, 64, 16, 16, 8) + copies(64, 4);
  auto const c = on_host<f16, float>(halves, a, b, n * n), d = on_host<float, float>(singles, wide_a, wide_b, n * n);
  double const sums = static_cast<double>(depth) * 0x1p-24 / (1 - static_cast<double>(depth) * 0x1p-24), factors = 0x1p-10 + 0x1p-22;
  double worst = 0, worst_tf32 = 0;
  bool rounds = false;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double exact = 0, magnitude = 0, of_f32 = 0, magnitude_f32 = 0;
      for (std::size_t k = 0; k < depth; ++k) {
        double const p = static_cast<double>(static_cast<float>(a[i * depth + k])) * static_cast<double>(static_cast<float>(b[k * n + j]));
        double const q = static_cast<double>(wide_a[i * depth + k]) * static_cast<double>(wide_b[k * n + j]);
        exact += p, magnitude += std::fabs(p), of_f32 += q, magnitude_f32 += std::fabs(q);
      }
      double const error = std::fabs(static_cast<double>(c[i * n + j]) - exact), error_tf32 = std::fabs(static_cast<double>(d[i * n + j]) - of_f32);
      CHECK(error <= sums * magnitude);
      CHECK(error_tf32 <= (factors + sums * (1 + factors)) * magnitude_f32);
      rounds = rounds || error_tf32 > sums * magnitude_f32;
      worst = std::fmax(worst, error / magnitude), worst_tf32 = std::fmax(worst_tf32, error_tf32 / magnitude_f32);
    }
  CHECK(rounds);  // tf32 is not f32
  MESSAGE("largest errors, of sum |a b|: f16 " << worst << " of " << sums << ", tf32 " << worst_tf32 << " of " << factors + sums);
}
TEST_CASE("matrix units: 1024^3 in blocks of 128 x 128, warps of 64 x 64 in two rows and two columns") {
  gpu_kernel k = product<f16, float>(1024, 1024, 1024);
  k.steps = "C: split(i, 128) -> io, ii\nC: split(ii, 64) -> iio, iii\nC: split(iii, 16) -> iiio, iiii\nC: split(j, 128) -> jo, ji\n"
            "C: split(ji, 64) -> jio, jii\nC: split(jii, 16) -> jiio, jiii\nC: split(k, 32) -> ko, ki\nC: split(ki, 16) -> kio, kii\n"
            "C: reorder(io, jo, ko, iio, jio, kio, iiio, jiio, iiii, jiii, kii)\nC: fuse(iio, jio) -> iiojio\nC: bind(io, block_y)\n"
            "C: bind(jo, block_x)\nC: bind(iiojio, warp)\nC: unroll(kio)\nC: unroll(iiio)\nC: unroll(jiio)\nC: tensorize(iiii, wmma_f16)\n";
  for (char const* name : {"A", "B"}) {
    std::string const copy = std::string(name) + "_copy";
    k.steps += std::string("C: cache_read(") + name + ")\n" + copy + ": compute_at(C, ko)\n" + copy + ": set_scope(shared)\n" + copy +
               ": split(j, 8) -> jo, ji\n" + copy + ": fuse(i, jo) -> ijo\n" + copy + ": split(ijo, 128) -> ijoo, ijoi\n" + copy +
               ": bind(ijoi, thread_x)\n" + copy + ": vectorize(ji)\n" + copy + ": storage_align(0, 32, 16)\n";
  }
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  CHECK(t.module.kernels[0].threads[0] == 128);
  CHECK(t.module.kernels[0].shared_bytes == 128 * 48 * 2 + 32 * 144 * 2);
  CHECK(count_of(t.module.text, "_multiply_row_row(C_sum[") == 2 * 16);
  CHECK(count_of(t.module.text, "_load_a_row(") == 1 + 2 * 4);
  CHECK(count_of(t.module.text, "__syncthreads();") == 2);
  if (!nvrtc_is_asked()) return;
  for (std::string const architecture : {"sm_80", "sm_90a"}) {
    cuda_binary const r = compile_cuda(t.module.text, architecture, {"--ptxas-options=-v"});
    CHECK(count_of(r.log, " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == 1);
    CHECK(count_of(r.ptx, "ld.global.v4") + count_of(r.ptx, "ld.global.nc.v4") == 8);  // 16 bytes each
    CHECK(count_of(r.ptx, "st.shared.v4") == 8);
    CHECK(count_of(r.ptx, "wmma.mma.sync") == 32);
    MESSAGE(architecture << ": " << r.log.substr(r.log.find("Used "), 40));
  }
}
TEST_CASE("matrix units: the loop program can be written down and read back") {
  gpu_kernel k = product<f16, float>(32, 32, 32);
  k.steps = tiles("wmma_f16", 32, 32, 16, 16) + copies(64, 16);
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  std::string const text = ir::print(t.f);
  for (char const* words : {"tile fill by wmma_f16:", "tile load_a by wmma_f16:", "tile load_b by wmma_f16:", "tile multiply by wmma_f16:",
                            "tile store by wmma_f16:"})
    CHECK(text.find(words) != std::string::npos);
  ir::arena m;
  CHECK(ir::print(ir::parse(m, text, matrix_units)) == text);
  CHECK_THROWS_AS(ir::parse(m, text), parse_error);
}
