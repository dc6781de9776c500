#include "weft/compile.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "lower/programs.hpp"
#include "support/child_process.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {

/// A request for the matrix product of these shapes.
struct wanted {
  lowered_program l;
  call_layout layout;
  target machine;
  compile_request r;
  wanted(sequence<sequence<std::int64_t>> const& shapes, void (*how)(void const*, schedule&), target const& t = host())
      : l{weft_test::matmul(), shapes}, layout(l.layout()), machine(t),
        r{"product", &l.p, how, nullptr, &layout, &machine} {}
};
axis at(schedule const& s, int place) { return axis{s.order[0][static_cast<std::size_t>(place)]}; }
target with(int vector_bytes, int registers) {
  target t = host();
  t.vector_bytes = vector_bytes;
  t.vector_registers = registers;
  return t;
}
/// mr rows of nr columns of sums in registers; the largest that fits.
void tile(void const*, schedule& s) {
  axis const i = at(s, 0), j = at(s, 1), k = at(s, 2);
  auto const [io, ii] = s.split(i, s.knob("mr", {8, 4}));
  auto const [jo, ji] = s.split(j, s.knob("nr", {64, 32, 16}));
  s.reorder(io, jo, k, ii, ji);
  s.unroll(ii);
  s.vectorize(ji);
}
std::string steps_of(wanted const& w) { return inspect(w.r, false).steps; }
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("knobs take the first combination that fits the target's registers, the last knob fastest") {
  auto const taken = [](int bytes, int registers) {
    return steps_of({{{64, 64}, {64, 64}}, tile, with(bytes, registers)});
  };
  CHECK(has(taken(64, 64), "split(i, 8)"));  // 8 x 4 vectors
  CHECK(has(taken(64, 64), "split(j, 64)"));
  CHECK(has(taken(64, 32), "split(i, 8)"));
  CHECK(has(taken(64, 32), "split(j, 32)"));
  CHECK(has(taken(32, 16), "split(i, 4)"));
  CHECK(has(taken(32, 16), "split(j, 16)"));
}
TEST_CASE("when no combination is legal, the first one's error is told") {
  auto const impossible = [](void const*, schedule& s) {
    static_cast<void>(s.knob("any", {1, 2, 3}));
    s.parallel(at(s, 2));
  };
  wanted const w({{4, 5}, {5, 6}}, impossible);
  CHECK_THROWS_AS(inspect(w.r, false), schedule_error);
  try {
    inspect(w.r, false);
  } catch (schedule_error const& e) {
    CHECK(has(e.what(), "a reduction axis cannot run in parallel"));
    CHECK(has(e.what(), "schedule of product, step 1"));
  }
}
TEST_CASE("a schedule that binds axes to a GPU is refused for a CPU, with the axis and a way out") {
  wanted const w({{8, 8}, {8, 8}}, [](void const*, schedule& s) { s.bind(at(s, 1), thread_axis::thread_x); });
  CHECK_THROWS_WITH_AS(inspect(w.r, false),
                       "bind: this schedule is for a GPU: a CPU has no blocks, threads, warps and lanes to bind an axis to\n"
                       "  in    schedule of product\n"
                       "  nest  i(8) > thread_x j(8) > k(8)\n"
                       "                        ^\n"
                       "  try   parallel and vectorize, or weft::thread_axis::virtual_thread",
                       schedule_error);
  wanted const on_any({{8, 8}, {8, 8}}, [](void const*, schedule& s) { s.bind(at(s, 1), thread_axis::virtual_thread); });
  CHECK(has(steps_of(on_any), "bind(j, virtual_thread)"));
}
TEST_CASE("a tile that fits a larger machine runs on a smaller one, with the fewest registers there are, and says so") {
  wanted const small({{64, 64}, {64, 64}}, tile, with(16, 4));
  CHECK(has(steps_of(small), "split(i, 4)"));
  CHECK(has(steps_of(small), "split(j, 16)"));
  CHECK(has(inspect(small.r, false).loops, "note: the tile of accumulators does not fit"));
}
TEST_CASE("a tile that fits no machine is refused on every machine") {
  auto const too_large = [](void const*, schedule& s) {
    axis const i = at(s, 0), j = at(s, 1), k = at(s, 2);
    auto const [io, ii] = s.split(i, 14);
    auto const [jo, ji] = s.split(j, 64);
    s.reorder(io, jo, k, ii, ji);
    s.unroll(ii);
    s.vectorize(ji);
  };
  for (target const& t : {with(64, 32), with(32, 16), with(16, 16)})
    CHECK_THROWS_AS(inspect(wanted({{64, 64}, {64, 64}}, too_large, t).r, false), schedule_error);
}
TEST_CASE("compiled code runs by its entry alone") {
  wanted const w({{3, 4}, {4, 5}}, tile);
  compiled_kernel const k = compile(w.r);
  REQUIRE((k.entry != nullptr));
  CHECK(k.workspace_bytes == 0);
  CHECK(k.steps.size() == 5);
  std::vector<float> a(12), b(20), c(15, -1.0f);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 3);
  void* const pointers[] = {a.data(), b.data(), c.data()};
  launch const l{pointers, nullptr, nullptr, nullptr, nullptr};
  CHECK(k.entry(&l) == 0);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 5; ++j) {
      float sum = 0;
      for (std::size_t n = 0; n < 4; ++n) sum += a[i * 4 + n] * b[n * 5 + j];
      CHECK(c[i * 5 + j] == sum);  // small whole numbers
    }
}
TEST_CASE("intermediate tensors are counted in the workspace, in whole lines of 64 bytes") {
  lowered_program l{weft_test::two_stages(), {{17, 3}}};  // 17 floats are two lines
  call_layout const layout = l.layout();
  CHECK(compile({"rows", &l.p, nullptr, nullptr, &layout, &host()}).workspace_bytes == 128);
}
TEST_CASE("every compilation is counted, one that fails too; texts are none, nor is a schedule that is refused") {
  wanted const good({{3, 4}, {4, 5}}, nullptr);
  wanted const refused({{3, 4}, {4, 5}}, [](void const*, schedule& s) { s.split(at(s, 0), 0); });
  lowered_program l{weft_test::map_program([](auto x, auto i) { return x(i + 1); }), {{8}}};
  call_layout const layout = l.layout();
  compile_request const outside{"shifted", &l.p, nullptr, nullptr, &layout, &host()};
  std::uint64_t const before = compilations();
  inspect(good.r, true);
  CHECK(compilations() == before);
  static_cast<void>(compile(good.r));
  CHECK_THROWS_AS(compile(refused.r), schedule_error);
  CHECK(compilations() == before + 1);
  CHECK_THROWS_AS(compile(outside), argument_error);
  CHECK(compilations() == before + 2);
}
TEST_CASE("equal requests give equal texts down to the machine code") {
  auto const text = [] {
    kernel_texts const t = inspect(wanted({{13, 70}, {70, 9}}, tile).r, true);
    return t.loops + t.steps + t.ir + t.llvm_ir + t.assembly;
  };
  CHECK(text() == text());
}
TEST_CASE("a program that reads outside of its tensors is refused before code is made") {
  lowered_program l{weft_test::map_program([](auto x, auto i) { return x(i + 1); }), {{8}}};
  call_layout const layout = l.layout();
  compile_request const r{"shifted", &l.p, nullptr, nullptr, &layout, &host()};
  CHECK_THROWS_AS(inspect(r, false), argument_error);
  CHECK_THROWS_AS(compile(r), argument_error);
}
TEST_CASE("unrolled axes that together make too many copies are a schedule_error before code is made") {
  wanted const w({{100, 4}, {4, 100}}, [](void const*, schedule& s) {
    axis const i = at(s, 0), j = at(s, 1), k = at(s, 2);
    s.reorder(i, j, k);
    s.unroll(i);
    s.unroll(j);
  }, with(64, 0));
  CHECK_THROWS_AS(inspect(w.r, false), schedule_error);
}

/// What texts of one kernel write to stderr, twice.
static std::string written_to_stderr() {
  std::FILE* const file = std::tmpfile();
  int const before = ::dup(2);
  ::dup2(::fileno(file), 2);
  wanted const w({{3, 4}, {4, 5}}, nullptr);
  inspect(w.r, false);
  inspect(w.r, false);
  ::dup2(before, 2);
  ::close(before);
  std::string text;
  std::rewind(file);
  for (int c = 0; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}
static int count(std::string const& text, std::string const& part) {
  int n = 0;
  for (std::size_t i = text.find(part); i != std::string::npos; i = text.find(part, i + 1)) ++n;
  return n;
}
// These run in processes of their own; see the case that starts them.
TEST_CASE("child: a dump with spaces" * doctest::skip()) {
  std::string const text = written_to_stderr();
  CHECK(count(text, "--- weft: lower\n") == 2);
  CHECK(count(text, "--- weft: pass/promote\n") == 2);
  CHECK(count(text, "--- weft: pass/unroll\n") == 0);
  CHECK(count(text, "no such item") == 0);
}
TEST_CASE("child: a dump of what is not there" * doctest::skip()) {
  std::string const text = written_to_stderr();
  CHECK(count(text, "no such item") == 3);
  CHECK(count(text, "weft: WEFT_DUMP: no such item: LLVM; known are schedule, lower, pass, llvm, asm, cuda, pass/simplify,") ==
        1);
  CHECK(count(text, "no such item: pass/; known") == 1);
  CHECK(count(text, "no such item: pass/unrolls; known") == 1);
  CHECK(count(text, "--- weft: schedule\n") == 2);
}
TEST_CASE("WEFT_DUMP takes spaces around its items, and names once those that it does not know") {
  CHECK(test::run_case("child: a dump with spaces", "WEFT_DUMP", "lower , pass/promote,") == 0);
  CHECK(test::run_case("child: a dump of what is not there", "WEFT_DUMP", "LLVM, pass/,schedule,pass/unrolls") == 0);
}
