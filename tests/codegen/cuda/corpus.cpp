// The corpus of GPU kernels: each by the interpreter, its text on the host, and NVRTC.
#include <doctest/doctest.h>

#include "prepared.hpp"
#include "scheduled.hpp"
#include "support/golden.hpp"

#include <cstdlib>
#include <filesystem>

#include "weft/expr/extern.hpp"

using namespace weft;
using namespace weft_test;

namespace {

prepared_kernels& prepared() {
  static prepared_kernels all(corpus());
  return all;
}
}  // namespace

TEST_CASE("the corpus has at least 40 kernels, and all of them have text") {
  CHECK(prepared().kernels.size() >= 40);
  prepared().check_have_text();
}
TEST_CASE("what is asked to be shared is, each thread's part too; and one block's memory where there are no threads") {
  auto const of = [](char const* name) -> cuda_module const& {
    for (std::size_t i = 0; i < prepared().kernels.size(); ++i)
      if (prepared().kernels[i].name == name) return prepared().trials[i]->module;
    REQUIRE_MESSAGE(false, name);
    return prepared().trials[0]->module;
  };
  CHECK(of("two_stages_asked").kernels[0].shared_bytes == 32 * 4);
  CHECK(of("two_stages_asked").text == [&] {
    std::string text = of("two_stages_block").text;  // the same without being asked
    for (std::size_t at; (at = text.find("two_stages_block")) != std::string::npos;) text.replace(at, 16, "two_stages_asked");
    return text;
  }());
  CHECK(of("two_stages_each_its_own").kernels[0].shared_bytes == 4 * 4 * 8 * 4);
  CHECK(of("two_stages_each_its_own").text.find("__syncthreads") == std::string::npos);
  CHECK(of("two_stages_one_of_each_block").kernels[0].shared_bytes == 32 * 4);
}
TEST_CASE("stages that follow each other, and a product's operands and its sums, have the same bytes") {
  auto const of = [](std::string const& name) -> gpu_trial& {
    for (std::size_t i = 0; i < prepared().kernels.size(); ++i)
      if (prepared().kernels[i].name == name && prepared().trials[i]->fault.empty()) return *prepared().trials[i];
    REQUIRE_MESSAGE(false, name);
    return *prepared().trials[0];
  };
  auto const together = [&](std::string const& name) {  // as many bytes as all of them have
    std::int64_t bytes = 0;
    for (ir::buffer const* b : of(name).f.buffers) bytes += of(name).f.shared_place(b) < 0 ? 0 : ir::shared_bytes_of(b);
    return bytes;
  };
  CHECK(together("chain_of_rows_one_place") == 3 * 7 * 128);
  CHECK(of("chain_of_rows_one_place").module.kernels[0].shared_bytes == 2 * 7 * 128);  // two of the three at a time
  CHECK(of("chain_of_rows_apart").module.kernels[0].shared_bytes == together("chain_of_rows_apart"));
  std::int64_t const sums = 32 * 32 * 4, tiles = 2 * 32 * 8 * 4;
  CHECK(together("product_turned_through_its_tiles") == sums + tiles);
  CHECK(of("product_turned_through_its_tiles").module.kernels[0].shared_bytes == sums);
  CHECK(together("product_turned_through_its_copies") == sums + 2 * tiles);
  CHECK(of("product_turned_through_its_copies").module.kernels[0].shared_bytes == sums);
}
TEST_CASE("a function's stage is a launch of its own, as large as it says") {
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    cuda_module const& m = prepared().trials[i]->module;
    if (prepared().kernels[i].name == "summed_rows_function") {
      REQUIRE(m.kernels.size() == 3);
      CHECK(m.kernels[1].blocks[0]->value == 3);  // 9 rows by 4 in a block
      CHECK(m.kernels[1].threads[0] == 4);
      CHECK(m.text.find("::running_sums(weft_view<float const, 2>{twice, {9, 33}, {33, 1}}, weft_view<float, 2>{sums, {9, 33}, {33, 1}});") !=
            std::string::npos);
    }
    if (prepared().kernels[i].name == "only_summed_rows_function") CHECK(m.kernels.size() == 1);
  }
}
TEST_CASE("an error in a function's text is told with its name and its line") {
  if (!nvrtc_is_asked()) return;
  static constexpr cuda_function wrong{.name = "running_sums", .text = "\n__device__ void running_sums(weft_view<float const, 2> x, weft_view<float, 2> y) {\n  y(0, 0) = undeclared;\n}\n"};
  gpu_kernel k = summed_rows<&wrong>(3, 4);
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  CHECK_THROWS_WITH_AS(compile_cuda(t.module.text, "sm_80"), doctest::Contains("a weft::cuda_function does not compile"), argument_error);
  CHECK_THROWS_WITH_AS(compile_cuda(t.module.text, "sm_80"), doctest::Contains("running_sums(3)"), argument_error);
}
TEST_CASE("the interpreter finds no race, divergent barrier, uninitialised or out-of-bounds access, and the results are right") {
  prepared().check_interpreted({1, 2});
  if (!is_sanitized) check_golden("codegen/cuda/traffic.txt", prepared().traffic_of_all);
}
TEST_CASE("what is counted of a transpose by tiles of 32 x 32 is what is derived by hand") {
  std::string const tile = "out: split(i, 32) -> io, ii\nout: split(j, 32) -> jo, ji\nout: reorder(io, jo, ii, ji)\n"
                           "out: bind(io, block_y)\nout: bind(jo, block_x)\nout: bind(ii, thread_y)\nout: bind(ji, thread_x)\n";
  auto const counted = [](std::string const& steps) {
    gpu_kernel k = transposed<float>(32, 64);
    k.steps = steps;
    gpu_trial t(k);
    memory_traffic traffic;
    CHECK(t.fault == "");
    CHECK(t.interpreted(1, &traffic) == "");
    return traffic;
  };
  // Two blocks of 32 warps. Each warp stores a row of shared memory, and reads a column: words 32 + padding apart.
  struct {
    int padding;
    std::int64_t ways;
  } const cases[] = {{0, 32}, {1, 1}, {2, 2}, {4, 4}, {8, 8}};
  for (auto const& c : cases) {
    INFO("padding " << c.padding);
    memory_traffic const t = counted(
        tile + "out: cache_read(A)\nA_copy: compute_at(out, jo)\nA_copy: split(i, 32) -> io, ii\nA_copy: split(j, 32) -> jo, ji\nA_copy: reorder(io, jo, ii, ji)\n"
               "A_copy: bind(ii, thread_y)\nA_copy: bind(ji, thread_x)\n" +
        (c.padding > 0 ? "A_copy: storage_align(0, 32, " + std::to_string(c.padding) + ")\n" : ""));
    CHECK(t.shared.instructions == 128);
    CHECK(t.shared.least == 128);
    CHECK(t.shared.taken == 64 + 64 * c.ways);
    CHECK(t.worst == c.ways);
    CHECK(t.global.instructions == 128);  // rows of 128 bytes: 4 sectors
    CHECK(t.global.least == 128 * 4);
    CHECK(t.global.taken == 128 * 4);
    CHECK(t.global_contiguous.instructions == 128);
  }
  // Read as it stands in memory: 32 rows, a sector of each for 4 of its bytes.
  memory_traffic const direct = counted(tile);
  CHECK(direct.shared.instructions == 0);
  CHECK(direct.global.taken == 64 * 32 + 64 * 4);
  CHECK(direct.global.least == 128 * 4);
  CHECK(direct.global_contiguous.instructions == 64);
}
TEST_CASE("rows of 16 bytes are a quarter of a warp's turn, and lanes that want one row share it") {
  // 4 blocks of 2 warps, 4 tiles of terms. A warp stores 4 rows of 8 x 16 bytes of B, once a tile; in each of 8 terms it reads 8 rows of B, of 128 bytes
  // together, and 4 of A. A is stored turned, by single elements: 4 times a tile, 4 lanes at one bank.
  memory_traffic traffic;
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i)
    if (prepared().kernels[i].name == "product_turned") CHECK(prepared().trials[i]->interpreted(1, &traffic) == "");
  std::int64_t const wide = 4 * 2 * 4 * (1 + 8 + 8), single = 4 * 2 * 4 * 4;
  CHECK(traffic.wide_loads.instructions + traffic.wide_stores.instructions == wide);
  CHECK(traffic.wide_stores.instructions == 4 * 2 * 4);
  CHECK(traffic.wide_loads.least + traffic.wide_stores.least == 4 * wide);
  CHECK(traffic.wide_loads.taken + traffic.wide_stores.taken == 4 * wide);
  CHECK(traffic.shared.instructions == wide + single);
  CHECK(traffic.shared.taken == 4 * wide + 4 * single);
}
TEST_CASE("without any one of its barriers a kernel has a race, which the interpreter finds") {
  if (is_sanitized) return;  // the interpreter over and over, which sees nothing new there
  auto const barriers = prepared().count_barriers();
  CHECK(barriers.all > 40);
  CHECK(barriers.needed == barriers.all);
}
TEST_CASE("without any one of its exchanges a kernel gives other results, which the interpreter shows") {
  int exchanges = 0, needed = 0;
  std::string spare;
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i)
    for (int b = 0; prepared().trials[i]->fault.empty(); ++b) {
      if (prepared().kernels[i].name.find("max") != std::string::npos) break;  // the largest may well have come another way
      std::string const found = prepared().trials[i]->interpreted_without(b, ir::stmt_kind::exchange);
      if (found == "none") break;
      ++exchanges;
      needed += found != "";
      if (found == "") spare += prepared().kernels[i].name + " " + std::to_string(b) + "\n";
    }
  MESSAGE(needed << " of " << exchanges << " exchanges are needed; others:\n" << spare);
  CHECK(exchanges > 100);
  CHECK(needed == exchanges);
}
TEST_CASE("the printed text, compiled for the host, computes the same with threads in any order") {
  prepared().check_on_host({0, 1, 77});
}
TEST_CASE("NVRTC compiles the corpus for all architectures, without spills") {
  prepared().check_compiled([](cuda_binary const& r, std::string const& architecture) {
    if (char const* const folder = std::getenv("WEFT_TEST_KEEP")) {
      std::ofstream(std::string(folder) + "/corpus.cu") << prepared().text;
      std::ofstream(std::string(folder) + "/corpus_" + architecture + ".ptx") << r.ptx;
      std::ofstream(std::string(folder) + "/corpus_" + architecture + ".log") << r.log;
    }
  });
}
TEST_CASE("the corpus: no kernel lacks a proof") { prepared().check_proved(); }
TEST_CASE("each list of kernels for a GPU that there is in the tests goes through all proofs, and is on trial where there is a GPU") {
  std::string const tests = WEFT_TESTS_DIR;
  auto const read = [](std::string const& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::vector<std::string> lists, sources;
  for (char const* folder : {"/codegen", "/schedule", "/tune", "/ops", "/fuzz"})
    for (auto const& file : std::filesystem::recursive_directory_iterator(tests + folder)) {
      if (!file.is_regular_file()) continue;
      std::string const text = read(file.path().string()), begin = "\ninline std::vector<gpu_kernel> ";
      if (file.path().extension() == ".cpp") sources.push_back(text);
      for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos; at += begin.size())
        lists.push_back(text.substr(at + begin.size(), text.find('(', at) - at - begin.size()));
      // A list without a name is one, too.
      if (text.find("static prepared_kernels ") == std::string::npos) continue;
      INFO(file.path().string());
      CHECK(text.find("prepared().check_proved();") != std::string::npos);
    }
  std::string const trial = read(tests + "/../bench/gpu/main.cpp");
  CHECK(lists.size() >= 8);
  for (std::string const& list : lists) {
    INFO(list);
    int proved = 0;
    for (std::string const& s : sources) proved += s.find("static prepared_kernels all(" + list + "());") != std::string::npos;
    CHECK(proved == 1);
    CHECK((trial.find(", " + list + "}") != std::string::npos || trial.find(", " + list + ", \"sm_") != std::string::npos));
  }
  CHECK(trial.find("open_trials") != std::string::npos);
}
TEST_CASE("a matrix product of 1024^3 in tiles of 128 x 128: rows of 16 bytes, sums in registers, nothing spilled") {
  gpu_kernel k = product<float>(1024, 1024, 1024);
  std::string const turned = "A_copy: transform_layout(1, 1, 0, 0, 1, 0, 0)\n";
  k.steps = tiled(128, 128, 16, 8, 8,
                  "C: cache_read(A)\nC: cache_read(B)\n" + turned +
                      "A_copy: compute_at(C, ko)\nA_copy: split(i, 16) -> io, ii\nA_copy: bind(ii, thread_y)\n"
                      "A_copy: split(j, 16) -> jo, ji\nA_copy: bind(ji, thread_x)\nA_copy: storage_align(0, 8, 4)\n"
                      "B_copy: compute_at(C, ko)\nB_copy: split(i, 16) -> io, ii\nB_copy: bind(ii, thread_y)\n"
                      "B_copy: split(j, 4) -> jo, ji\nB_copy: split(jo, 16) -> joo, joi\nB_copy: bind(joi, thread_x)\nB_copy: vectorize(ji)\n");
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  CHECK(t.module.kernels[0].threads[0] * t.module.kernels[0].threads[1] == 256);
  CHECK(t.module.kernels[0].shared_bytes == 16 * 132 * 4 + 16 * 128 * 4);
  CHECK(count_of(t.module.text, "__syncthreads();") == 2);
  CHECK(count_of(t.module.text, "long long") == 0);
  check_compiled_for_gpus(t.module.text, 1, [&](cuda_binary const& r, std::string const& architecture) {
    CHECK(count_of(r.ptx, "st.global.v4") == 16);
    CHECK(count_of(r.ptx, "st.global.") == 16);
    CHECK(count_of(r.ptx, "ld.shared.v4") == count_of(r.ptx, "ld.shared."));
    CHECK(count_of(r.ptx, "fma.rn.f32") == 8 * 8 * 16);
    MESSAGE(architecture << ": " << r.log.substr(r.log.find("Used "), 40));
  });
}
TEST_CASE("tiles of any size over matrices of any size: no race, no read of nothing, and the results are right") {
  unsigned long long state = 20261122;
  auto const one_of = [&](std::initializer_list<int> all) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return all.begin()[(state >> 33) % all.size()];
  };
  for (int round = 0; round < 24; ++round) {
    int const tm = one_of({1, 2, 3, 4}), tn = one_of({1, 2, 4, 8}), rows = one_of({2, 4, 5}), columns = one_of({2, 4, 8});
    int const deep = one_of({1, 3, 4, 8}), m = one_of({1, 7, 16, 23, 40}), n = one_of({1, 8, 17, 32, 33}), k = one_of({1, 4, 9, 16});
    gpu_kernel kernel = round % 2 == 0 ? product<float>(m, n, k) : product<f16, float>(m, n, k);
    kernel.steps = tiled(tm * rows, tn * columns, deep, tm, tn, round % 3 == 0 ? "" : copies(one_of({2, 4, 8}), one_of({1, 4, 8})));
    INFO("round " << round << ": " << m << " x " << n << " x " << k << "\n" << kernel.steps);
    gpu_trial t(kernel);
    CHECK(t.fault == "");
    if (t.fault.empty()) CHECK(t.interpreted(static_cast<std::uint64_t>(round)) == "");
  }
}
