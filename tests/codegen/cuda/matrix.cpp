// Products by matrix units: each by the interpreter, its text on the host, and NVRTC.
#include "prepared.hpp"
#include "products_wmma.hpp"

#include "weft/ir/parse.hpp"

using namespace weft;
using namespace weft_test;

namespace {

prepared_kernels& prepared() {
  static prepared_kernels all(wmma_products());
  return all;
}
}  // namespace

TEST_CASE("matrix units: all products have text") {
  prepared().check_have_text();
}
TEST_CASE("matrix units: what is no whole tile is refused, with a way out") {
  gpu_kernel k = wide_product<f16, float>(40, 64, 64);
  k.steps = wmma_tiles("wmma_f16", 32, 32, 32, 16);
  gpu_trial const t(k, {}, gpu_trial::text_only);
  CHECK(t.fault.find("tensorize: wmma_f16 has whole tiles alone, of 16 rows, 16 columns and 16 terms, and the extents of this call leave parts of some") == 0);
  CHECK(t.fault.find("\n  try   extents that all splits around divide") != std::string::npos);
  gpu_kernel narrow = wide_product<f16, float>(32, 32, 24);  // 24 terms of f16 are 48 bytes: rows do not begin as they must
  narrow.shapes[0][1] = narrow.shapes[1][0] = 24;
  narrow.steps = wmma_tiles("wmma_f16", 32, 32, 16, 16);
  CHECK(gpu_trial(narrow, {}, gpu_trial::text_only).fault.find("tensorize: ") == 0);
  gpu_kernel skewed = wide_product<f16, float>(32, 32, 32);
  skewed.steps = wmma_tiles("wmma_f16", 32, 32, 16, 16) + wmma_copies(64, 8);  // rows of 24 elements
  std::string const fault = gpu_trial(skewed, {}, gpu_trial::text_only).fault;
  CHECK(fault.find("tensorize: the left operand is A_copy, whose rows must begin at multiples of 32 bytes: they are 24 elements apart") == 0);
  CHECK(fault.find("storage_align(copy, 0, 32, 16)") != std::string::npos);
  gpu_kernel lonely = wide_product<f16, float>(32, 32, 32);  // no loop over warps
  lonely.steps = "C: split(i, 16) -> io, ii\nC: split(j, 16) -> jo, ji\nC: split(k, 16) -> ko, ki\nC: reorder(io, jo, ko, ii, ji, ki)\n"
                 "C: bind(io, block_x)\nC: tensorize(ii, wmma_f16)\n";
  std::string const said = gpu_trial(lonely, {}, gpu_trial::text_only).fault;
  CHECK(said.find("a matrix unit is a whole warp's\n") != std::string::npos);
  CHECK(said.find("\n  try   bind of a loop around the tile to weft::thread_axis::warp") != std::string::npos);
}
TEST_CASE("matrix units: operands are loaded once for all tiles of a warp that share them, and sums stay in fragments") {
  gpu_kernel k = wide_product<f16, float>(64, 64, 64);
  k.steps = wmma_tiles("wmma_f16", 64, 64, 32, 32) + wmma_copies(64, 16);
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  std::string const& text = t.module.text;
  CHECK(count_of(text, "_multiply_row_row(C_sum[") == 8);  // 2 x 4 tiles
  CHECK(count_of(text, "_load_a_row_shared(A_copy") == 2);
  CHECK(count_of(text, "_load_b_row_shared(B_copy") == 4);
  CHECK(count_of(text, "_fill(C_sum[") == 8);
  CHECK(count_of(text, "_store_row(&C[") == 8);
  CHECK(count_of(text, "__syncthreads();") == 2);
}
TEST_CASE("matrix units: the interpreter finds no race and no read of nothing, and the results are right") {
  prepared().check_interpreted({1, 2});
}
TEST_CASE("matrix units: without any one of its barriers a kernel has a race") {
  if (is_sanitized) return;  // the interpreter over and over, which sees nothing new there
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
TEST_CASE("matrix units: no kernel lacks a proof") { prepared().check_proved(); }
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

// Any order of k additions, each rounded to nearest, leaves a sum within k u / (1 - k u) * sum |a b| of the exact one, u = 2^-24 for f32, 2^-11
// for f16 (Higham, Accuracy and Stability of Numerical Algorithms, 4.4). Products of f16, and of bf16, are exact in f32. Of tf32 each factor is first
// rounded to 11 bits, which leaves the product within 2^-10 + 2^-22 of its magnitude. Where sums are of f16 so are products, which is one rounding
// more, and each of these 2 k may be of a subnormal, within 2^-25.
TEST_CASE_TEMPLATE("matrix units: sums of floats lie within the bound of their roundings, those of every unit", T, f16, bf16, float) {
  if (!cuda_on_host::available()) {
    MESSAGE("[skip] neither $CXX nor c++ runs here: apt-get install g++");
    return;
  }
  std::size_t const n = 64, depth = 64;
  std::vector<T> a, b;
  for (double v : drawn_numbers(n * depth, 1)) a.push_back(T(static_cast<float>(v)));
  for (double v : drawn_numbers(depth * n, 2)) b.push_back(T(static_cast<float>(v)));
  constexpr bool is_f32 = std::is_same_v<T, float>;
  std::string const type = is_f32 ? "tf32" : std::is_same_v<T, f16> ? "f16" : "bf16";
  int const terms = is_f32 ? 8 : 16, deep = is_f32 ? 16 : 32;
  gpu_kernel wmma = wide_product<T, float>(64, 64, 64), mma = wmma;
  wmma.steps = wmma_tiles("wmma_" + type, 32, 64, deep, 16, terms) + wmma_copies(64, is_f32 ? 4 : 16);
  mma_tiles const by_mma{.unit = "mma_" + type, .deep = deep, .terms = terms};
  mma.steps = by_mma.steps() + by_mma.copies(is_f32 ? 4 : 8);
  double const u = 0x1p-24, factors = is_f32 ? 0x1p-10 + 0x1p-22 : 0, k = static_cast<double>(depth);
  double const sums = k * u / (1 - k * u);
  auto const check = [&](std::vector<double> const& c, double bound, double smallest) {
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double exact = 0, magnitude = 0;
        for (std::size_t l = 0; l < depth; ++l) {
          double const p = static_cast<double>(static_cast<float>(a[i * depth + l])) * static_cast<double>(static_cast<float>(b[l * n + j]));
          exact += p, magnitude += std::fabs(p);
        }
        double const error = std::fabs(c[i * n + j] - exact);
        CHECK(error <= bound * magnitude + smallest);
        worst = std::fmax(worst, error / magnitude);
      }
    MESSAGE(type << ": the largest error, of sum |a b|, is " << worst << " of " << bound);
    return worst;
  };
  auto const as_doubles = [](auto const& v) {
    std::vector<double> d;
    for (auto x : v) d.push_back(static_cast<double>(static_cast<float>(x)));
    return d;
  };
  for (gpu_kernel const& one : {wmma, mma}) {
    double const worst = check(as_doubles(on_host<T, float>(one, a, b, n * n)), factors + sums * (1 + factors), 0);
    CHECK(worst > (is_f32 ? sums : 0));  // it rounds, and tf32 is not f32
  }
  if constexpr (std::is_same_v<T, f16>) {
    gpu_kernel narrow = product_added_in_f16(64, 64, 64), also = narrow;
    narrow.steps = wmma_tiles("wmma_f16_in_f16", 32, 64, 32, 16) + wmma_copies(64, 16);
    mma_tiles const in_f16{.unit = "mma_f16_in_f16"};
    also.steps = in_f16.steps() + in_f16.copies(8);
    double const in_half = (k + 1) * 0x1p-11 / (1 - (k + 1) * 0x1p-11);
    for (gpu_kernel const& one : {narrow, also}) {
      double const worst = check(as_doubles(on_host<f16, f16>(one, a, b, n * n)), in_half, 2 * k * 0x1p-25 * (1 + in_half));
      CHECK(worst > sums);  // f16 is not f32
    }
  }
}
TEST_CASE("matrix units: 1024^3 in blocks of 128 x 128, warps of 64 x 64 in two rows and two columns") {
  gpu_kernel k = wide_product<f16, float>(1024, 1024, 1024);
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
  CHECK(count_of(t.module.text, "_load_a_row_shared(") == 1 + 2 * 4);
  CHECK(count_of(t.module.text, "__syncthreads();") == 2);
  check_compiled_for_gpus(t.module.text, 1, [&](cuda_binary const& r, std::string const& architecture) {
    CHECK(count_of(r.ptx, "ld.global.v4") + count_of(r.ptx, "ld.global.nc.v4") == 8);  // 16 bytes each
    CHECK(count_of(r.ptx, "st.shared.v4") == 8);
    CHECK(count_of(r.ptx, "wmma.mma.sync") == 32);
    MESSAGE(architecture << ": " << r.log.substr(r.log.find("Used "), 40));
  });
}
TEST_CASE("matrix units: the loop program can be written down and read back") {
  gpu_kernel k = wide_product<f16, float>(32, 32, 32);
  k.steps = wmma_tiles("wmma_f16", 32, 32, 16, 16) + wmma_copies(64, 16);
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
