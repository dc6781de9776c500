#include "../programs.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "weft/expr/text.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ir/print.hpp"
#include "weft/schedule/print.hpp"
#include "weft/weft.hpp"

using namespace weft_test;
using weft::diagnosis;
using weft::verdict;

namespace {
template <bool Past>
constexpr auto sums = weft::kernel<"sums">(
    [](auto A, auto B) {
      return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return A(i, j) + B(i, j); });
    },
    [](auto& s, auto, auto, auto C) {
      auto [i, j] = C.axes();
      s.vectorize(j, 8);
      s.parallel(i);
      if (Past) s.store_non_temporal(C);
    });
int count_of(std::string const& text, std::string_view what) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
  return n;
}
std::vector<float> numbers(int n, int step) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = static_cast<float>(i * step % 13 - 6) / 4;
  return v;
}
}  // namespace

TEST_CASE("store_non_temporal stands beside the stage, in the trace and at the buffer") {
  weft::program const p = two_stages();
  weft::schedule s(p, all_extents{8});
  auto const C = weft::handle_of<2, 1>(s, 0);
  auto const D = weft::handle_of<2>(s, 1);
  s.store_non_temporal(D);
  CHECK(s.state == verdict::legal);
  CHECK(weft::print_loops(s).find("\nD stored past the caches\n") != std::string::npos);
  CHECK(weft::print_trace(s) == "D: store_non_temporal()\n");
  CHECK(weft::parse_trace(weft::print_trace(s), weft::schedule(p, all_extents{8})) == s.steps);
  s.store_non_temporal(C);
  CHECK(s.steps.back().reason == diagnosis::only_what_the_kernel_returns_is_stored_past_the_caches);
  CHECK(weft::explain(s, "k").find("try   this step for an output") != std::string::npos);

  std::vector<float> const a(4 * 24);
  std::string const text = sums<true>.on(weft::x86_64_avx2()).ir(weft::view(a, 4, 24), weft::view(a, 4, 24));
  CHECK(text.find(" written non_temporal alias ") != std::string::npos);
  weft::ir::arena m;
  CHECK(weft::ir::print(weft::ir::parse(m, text)) == text);
}
TEST_CASE("store_non_temporal: of a reduction only what cache_write leaves of it") {
  weft::program const p = matmul();
  weft::schedule s(p, all_extents{8}), t = s;
  auto const C = weft::handle_of<3, 2>(s, 0);
  s.store_non_temporal(C);
  CHECK(s.steps.back().reason == diagnosis::a_reduction_comes_back_to_its_elements__cache_write_it_first);
  t.cache_write(C);
  t.store_non_temporal(C);
  CHECK(t.state == verdict::legal);
}
TEST_CASE("store_non_temporal: aligned vectors by instructions of their own, and a fence where a thread is done") {
  std::vector<float> const a(4 * 24);
  auto const A = weft::view(a, 4, 24);
  for (weft::target const& t : {weft::x86_64_avx2(), weft::x86_64_sse2()}) {
    std::string const with = sums<true>.on(t).llvm_ir(A, A), without = sums<false>.on(t).llvm_ir(A, A);
    CHECK(count_of(with, ", !nontemporal !") == (t.vector_bytes == 32 ? 1 + 2 : 2));  // whole, and in pieces of 16 bytes
    CHECK(count_of(with, "fence seq_cst") == 1);
    CHECK(count_of(without, "nontemporal") + count_of(without, "fence") == 0);
    CHECK(count_of(sums<true>.on(t).assembly(A, A), "movntps") == (t.vector_bytes == 32 ? 1 + 2 : 2));
  }
}
TEST_CASE("store_non_temporal: the same bits, wherever rows begin and end") {
  for (int n : {24, 8, 31, 5, 16})
    for (int from : {0, 1, 4, 8}) {
      std::vector<float> const a = numbers(40 * n, 5), b = numbers(40 * n, 7);
      std::vector<float> c(static_cast<std::size_t>(40 * n + 16), 7), want = c;
      auto const at = [&](std::vector<float>& v) { return weft::out(v.data() + from, 40, n); };
      sums<true>(weft::view(a, 40, n), weft::view(b, 40, n), at(c));
      sums<false>(weft::view(a, 40, n), weft::view(b, 40, n), at(want));
      CHECK(c == want);
    }
}
