// Products by matrix units: each by the interpreter, its text on the host, and NVRTC.
#include "corpus.hpp"

#include "weft/codegen/cuda/api.hpp"

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

std::size_t count_of(std::string const& text, std::string const& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
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
struct prepared_kernels {
  std::vector<gpu_kernel> all = kernels();
  std::vector<std::unique_ptr<gpu_trial>> trials;
  std::string text;
  prepared_kernels() {
    weft::sequence<std::string> known;
    for (gpu_kernel const& k : all) {
      trials.push_back(std::make_unique<gpu_trial>(k, known));
      if (!trials.back()->fault.empty()) continue;
      known = trials.back()->module.called;
      text += trials.back()->module.text;
    }
  }
};
prepared_kernels& prepared() {
  static prepared_kernels all;
  return all;
}
}  // namespace

TEST_CASE("matrix units: all products have text") {
  for (std::size_t i = 0; i < prepared().all.size(); ++i) {
    INFO(prepared().all[i].name);
    CHECK(prepared().trials[i]->fault == "");
  }
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
  CHECK(gpu_trial(lonely, {}, gpu_trial::text_only).fault.find("a matrix unit is a whole warp's: bind a loop around the tile to weft::thread_axis::warp") != std::string::npos);
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
  for (std::size_t i = 0; i < prepared().all.size(); ++i) {
    INFO(prepared().all[i].name);
    if (prepared().trials[i]->fault.empty()) CHECK(prepared().trials[i]->interpreted(i) == "");
  }
}
TEST_CASE("matrix units: without any one of its barriers a kernel has a race") {
  int barriers = 0, needed = 0;
  std::string spare;
  for (std::size_t i = 0; i < prepared().all.size(); ++i)
    for (int b = 0; prepared().trials[i]->fault.empty(); ++b) {
      std::string const found = prepared().trials[i]->interpreted_without(b);
      if (found == "none") break;
      ++barriers;
      bool const race = found.find("race") != std::string::npos || found.find("uninitialised read") != std::string::npos;
      needed += race;
      if (!race) spare += prepared().all[i].name + " " + std::to_string(b) + ": " + found.substr(0, 100) + "\n";
    }
  MESSAGE(needed << " of " << barriers << " barriers are needed; others:\n" << spare);
  CHECK(barriers > 10);
  CHECK(needed >= barriers - 1);  // between two tiles of which the reduction is one step, that of each is stored at once
}
TEST_CASE("matrix units: the text on the host computes the same, and all lanes of a warp come to each tile") {
  if (!cuda_on_host::available()) {
    MESSAGE("[skip] neither $CXX nor c++ runs here");
    return;
  }
  cuda_on_host const host(prepared().text, "1");
  REQUIRE_MESSAGE(host.loaded(), host.messages);
  CHECK(host.messages == "");
  auto const counts = reinterpret_cast<unsigned const* (*)()>(host.symbol("shim_tile_counts"));
  REQUIRE((counts != nullptr));
  for (std::size_t i = 0; i < prepared().all.size(); ++i)
    for (unsigned order : {0u, 1u, 77u}) {
      INFO(prepared().all[i].name << ", order " << order);
      if (!prepared().trials[i]->fault.empty()) continue;
      CHECK(prepared().trials[i]->on_host(host, order) == "");
      CHECK(counts()[0] > 0);
      for (unsigned t = 0; t < 1024; ++t) CHECK(counts()[t] == counts()[t / 32 * 32]);
    }
}
TEST_CASE("matrix units: NVRTC compiles all, without spills or arrays in local memory") {
  if (find_nvrtc() == nullptr) {
    MESSAGE("[skip] no NVRTC on this machine");
    return;
  }
  for (char const* architecture : {"sm_80", "sm_89", "sm_90a", "sm_120"}) {
    INFO(architecture);
    cuda_binary const r = compile_cuda(prepared().text, architecture, {"--ptxas-options=-v"});
    CHECK(r.cubin.size() > 4);
    CHECK(r.log.find("warning") == std::string::npos);
    CHECK(r.ptx.find(".local") == std::string::npos);
    CHECK(count_of(r.log, "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") >= prepared().all.size());
    CHECK(count_of(r.ptx, "wmma.mma.sync") > prepared().all.size());
  }
}
