// Asynchronous copies to shared memory: each kernel by the interpreter, its text on the host, and NVRTC; and what faults in them
// are found.
#include "copying.hpp"
#include "faults.hpp"

#include <array>
#include <cstdlib>

#include "weft/codegen/cuda/api.hpp"

using namespace weft;
using namespace weft_test;

namespace {
prepared_kernels& prepared() {
  static prepared_kernels all(copying_kernels());
  return all;
}
std::string text_of(std::string_view name) {
  for (std::size_t i = 0; i < prepared().kernels.size(); ++i) {
    if (prepared().kernels[i].name != name) continue;
    std::string const& all = prepared().trials[i]->module.text;
    std::size_t const begin = all.find("\n" + std::string(name) + "_kernel(");
    REQUIRE(begin != std::string::npos);
    return all.substr(begin, all.find("\n}\n", begin) - begin);
  }
  FAIL("there is no kernel " << std::string(name));
  return {};
}
}  // namespace

TEST_CASE("copies: all kernels have text") {
  CHECK(prepared().kernels.size() >= 33);
  prepared().check_have_text();
}
TEST_CASE("copies: the interpreter finds nothing wrong, and the results are right") { prepared().check_interpreted({1, 2}); }
TEST_CASE("copies: the printed text, compiled for the host, computes the same with threads in any order") {
  prepared().check_on_host({0, 1, 77});
}
TEST_CASE("copies: without any one of its barriers a kernel has a race, which the interpreter finds") {
  if (is_sanitized) return;  // the interpreter over and over, which sees nothing new there
  auto const barriers = prepared().count_barriers();
  CHECK(barriers.all > 30);
  CHECK(barriers.needed == barriers.all);
}
TEST_CASE("copies: a commit that lacks, a wait for one group less, a copy into what is read: the interpreter finds each") {
  if (is_sanitized) return;  // the interpreter over and over, which sees nothing new there
  check_faults(prepared(), {40, 30, 20}, [](gpu_kernel const& k, int i) { return k.name == "product_once" && i == 1; });  // nothing is waited for behind the last commit there
}
TEST_CASE("copies: one barrier in each iteration, behind the wait; without copies that run by themselves, too") {
  for (auto const& [name, wait, copy] : {std::array{"product_by_16", "weft_wait_1();", "weft_copy_16("}, {"product_by_8", "weft_wait_2();", "weft_copy_8("},
                                         {"product_by_4_1", "weft_wait_0();", "weft_copy_4("}, {"product_f16_by_16", "weft_wait_1();", "weft_copy_16("},
                                         {"product_f64", "weft_wait_1();", "weft_copy_16("}, {"product_f16_by_4", "weft_wait_1();", "weft_copy_4("},
                                         {"product_i8", "weft_wait_1();", "weft_copy_4("}, {"product_units", "weft_wait_1();", "weft_copy_16("}}) {
    INFO(std::string(name));
    std::string const text = text_of(name), loop = loop_of(text);
    CHECK(count_of(text, "__syncthreads();") == 1);
    CHECK(loop.find(std::string(wait) + "\n") < loop.find("__syncthreads();"));
    CHECK(loop.find("__syncthreads();") < loop.find(copy));
    CHECK(loop.find(copy) < loop.find("weft_commit();"));
    CHECK(count_of(loop, "weft_copy_") == count_of(loop, copy));
    CHECK(count_of(loop, "weft_copy_") >= 2);
  }
  for (char const* plain : {"product_plain", "product_plain_3", "product_f16_alone"}) {
    INFO(std::string(plain));
    CHECK(count_of(text_of(plain), "__syncthreads();") == 1);
    CHECK(text_of(plain).find("weft_copy") == std::string::npos);
    CHECK(text_of(plain).find("weft_wait") == std::string::npos);
  }
}
TEST_CASE("copies: zeros by the size of what is read, and by a branch where memory says what that is") {
  CHECK(text_of("product_with_zeros_rows").find("weft_copy_or_zero_16(&A_copy[") != std::string::npos);
  CHECK(text_of("product_with_zeros_by_4").find("weft_copy_or_zero_4(&A_copy[") != std::string::npos);
  std::string const gathered = loop_of(text_of("gathered_rows_or_zeros"), "ii");
  CHECK(count_of(gathered, "weft_copy_4(&row[") == 1);
  CHECK(count_of(gathered, "[0] = 0;") == 1);
}
TEST_CASE("copies: what cannot be one is refused, with a way out") {
  auto const refusal = [](gpu_kernel k, std::string const& steps) {
    k.steps = steps;
    return gpu_trial(k, {}, gpu_trial::text_only).fault;
  };
  auto const says = [](std::string const& fault, char const* words) { return fault.find(words) != std::string::npos; };
  std::string const chain = "out: bind(j, thread_x)\nout: split(i, 8) -> io, ii\nout: bind(io, block_x)\nb: compute_at(out, ii)\na: compute_at(out, ii)\n";
  std::string const alone = chain.substr(0, chain.find("a: compute_at"));
  CHECK(says(refusal(chain_of_copies(16, 9), alone + ahead("b", 1)), "only a stage that copies can be copied asynchronously"));
  CHECK(says(refusal(chain_of_copies(16, 9), chain + ahead("a", 1) + ahead("b", 1, false)), "a stage that reads it is computed as far ahead"));
  CHECK(says(refusal(chain_of_copies(16, 9), chain + ahead("a", 1) + "a: set_scope(workspace)\n"),
             "an asynchronous copy is to memory that a block shares"));
  // Memory of a block is copied by its threads.
  CHECK(says(refusal(copies_of_a_stage(16, 9), "out: cache_read(a)\nout: bind(j, thread_x)\nout: split(i, 8) -> io, ii\nout: bind(io, block_x)\n"
                                               "a_copy: compute_at(out, ii)\na: compute_at(out, io)\n" + ahead("a_copy", 1)),
             "only a stage that copies can be copied asynchronously: each element one of a tensor in memory"));
}
TEST_CASE("copies: NVRTC compiles all kernels for all architectures, without spills; older ones copy by threads") {
  prepared().check_compiled([](cuda_binary const& r, std::string const& architecture) {
    if (char const* const folder = std::getenv("WEFT_TEST_KEEP")) std::ofstream(std::string(folder) + "/copying_" + architecture + ".log") << r.log;
    CHECK(count_of(r.ptx, "cp.async.cg.shared.global") >= 20);
    CHECK(count_of(r.ptx, "cp.async.wait_group 1;") >= 10);
  });
  if (!nvrtc_is_asked()) return;
  gpu_kernel k = product<float>(64, 64, 64);
  k.steps = tiled(32, 32, 16, 4, 32, wide_copies(8, 4)) + both_ahead(2);
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  cuda_binary const older = compile_cuda(t.module.text, "sm_75");
  CHECK(older.cubin.size() > 4);
  CHECK(older.ptx.find("cp.async") == std::string::npos);
  CHECK(older.ptx.find("st.shared.v4") != std::string::npos);
}
TEST_CASE("copies: no kernel lacks a proof") { prepared().check_proved(); }
TEST_CASE("copies: pipelines of any length over matrices of any size: no race, no short wait, and the results are right") {
  unsigned long long state = 20261122;
  auto const one_of = [&](std::initializer_list<int> all) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return all.begin()[(state >> 33) % all.size()];
  };
  int async = 0;
  for (int round = 0; round < 30; ++round) {
    int const tm = one_of({1, 2, 3}), tn = one_of({1, 2, 4}), rows = one_of({2, 4, 5}), columns = one_of({2, 4, 8});
    int const deep = one_of({1, 3, 4, 8}), m = one_of({1, 7, 16, 23}), n = one_of({1, 8, 17, 32}), k = one_of({1, 4, 9, 16, 30});
    gpu_kernel kernel = round % 3 != 0 ? product<float>(m, n, k) : product<f16, float>(m, n, k);
    kernel.steps = tiled(tm * rows, tn * columns, deep, tm, tn, copies(one_of({2, 4, 8}), one_of({1, 4, 8})));
    kernel.steps += ahead("A_copy", one_of({1, 2, 3, 16}), one_of({0, 1, 1}) == 1) + ahead("B_copy", one_of({1, 1, 2, 5}), one_of({0, 1, 1}) == 1);
    INFO("round " << round << ": " << m << " x " << n << " x " << k << "\n" << kernel.steps);
    gpu_trial t(kernel);
    CHECK(t.fault == "");
    if (!t.fault.empty()) continue;
    async += t.module.text.find("weft_copy_") != std::string::npos;
    CHECK(t.interpreted(static_cast<std::uint64_t>(round)) == "");
  }
  CHECK(async > 8);
}
TEST_CASE("copies: a product of 4096^3 by matrix units, three tiles in more than 48 KiB: one barrier, 16 bytes, nothing spilled") {
  gpu_kernel k = product<f16, float>(4096, 4096, 4096);
  k.steps = "C: split(i, 128) -> io, ii\nC: split(ii, 32) -> iio, iii\nC: split(iii, 16) -> iiio, iiii\nC: split(j, 128) -> jo, ji\nC: split(ji, 16) -> jio, jii\n"
            "C: split(k, 32) -> ko, ki\nC: split(ki, 16) -> kio, kii\nC: reorder(io, jo, ko, iio, kio, iiio, jio, iiii, jii, kii)\nC: bind(io, block_y)\n"
            "C: bind(jo, block_x)\nC: bind(iio, warp)\nC: unroll(iiio)\nC: unroll(jio)\nC: tensorize(iiii, wmma_f16)\n" +
            wide_copies(128, 8, 16) + both_ahead(2);
  gpu_trial const t(k, {}, gpu_trial::text_only);
  REQUIRE(t.fault == "");
  CHECK(t.module.kernels[0].shared_bytes == 3 * (128 * 48 + 32 * 144) * 2);
  CHECK(count_of(t.module.text, "__syncthreads();") == 1);
  CHECK(count_of(t.module.text, "weft_copy_16(") == 1 + 4);  // its definition; A and B, in front of the loop and in it
  check_compiled_for_gpus(t.module.text, 1, [](cuda_binary const& r, std::string const& architecture) {
    CHECK(count_of(r.ptx, "bar.sync") == 1);
    CHECK(count_of(r.ptx, "cp.async.cg.shared.global") > 0);
    CHECK(count_of(r.ptx, "cp.async.ca") == 0);
    CHECK(count_of(r.ptx, "ld.global") == 0);
    MESSAGE(architecture << ": " << r.log.substr(r.log.find("Used "), 18));
  });
}
