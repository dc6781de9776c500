#include "weft/expr/print.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "weft/expr/canonical.hpp"
#include "weft/expr/expand.hpp"
#include "weft/expr/compute.hpp"
#include "weft/expr/math/functions.hpp"
#include "weft/expr/verify.hpp"

using weft::dtype;
using weft::program;
using weft::short_name;

namespace {
template <class T, int Rank>
weft::expr::tensor<T, Rank> input(program& p, char const* name) {
  return {&p, p.add_input(short_name(name), weft::dtype_of<T>, Rank)};
}
program matmul() {
  program p;
  auto const A = input<float, 2>(p, "A"), B = input<float, 2>(p, "B");
  auto const C = weft::compute<"C">(A.extent(0), B.extent(1), [=](auto i, auto j) {
    return weft::sum(A.extent(1), [=](auto k) { return A(i, k) * B(k, j); });
  });
  p.outputs.push_back(C.id);
  return weft::canonical(p);
}
/// Scalars, all dtypes, several stages and outputs, literal extents, odd literals, exp, casts, shared nodes.
program everything() {
  program p;
  auto const A = input<float, 2>(p, "A");
  auto const D = input<double, 1>(p, "a name with \"quotes\"");
  auto const I = input<std::int32_t, 1>(p, "I");
  auto const U = input<std::uint8_t, 1>(p, "I");  // the same name again
  weft::value<float> const alpha{{&p, p.add_scalar(dtype::f32)}};
  weft::value<std::int64_t> const beta{{&p, p.add_scalar(dtype::i64)}};
  auto const n = A.extent(0);
  auto const X = weft::compute<"X">(n, A.extent(1) - 2, [=](auto i, auto j) {
    auto const x = weft::exp(A(i, j + 1)) * alpha;
    return weft::select(i % 2 == 0 && !(j < 3), x + x * -0.0f, x / 0.1f) - static_cast<float>(__builtin_nanf(""));
  });
  auto const Y = weft::compute<"X">(n, [=](auto i) {
    return weft::min(3, 2, [=](auto k, auto l) { return weft::cast<double>(X(i, k)) + D(k + l) * 1e300; });
  });
  auto const Z = weft::compute<"Z">(5, [=](auto i) { return I(i) / (I(i + 1) % 7) - U(i); });
  auto const W = weft::compute<"W">(5, [=](auto i) { return weft::cast<bool>(Z(i)) || i * i == beta; });
  for (int id : {Y.id, W.id, X.id}) p.outputs.push_back(id);
  return weft::canonical(p);
}
std::string error_of(std::string_view text) {
  try {
    weft::parse_program(text);
  } catch (weft::parse_error const& e) {
    return e.what();
  }
  return "";
}
struct draw {
  std::uint64_t state;
  int operator()(int limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(limit));
  }
};
}  // namespace

TEST_CASE("print writes each node once, behind the first line that stands on it") {
  CHECK(print(matmul()) ==
        "program\n"
        "input A f32\n"
        "  %0 = extent i64 A 0\n"
        "  %1 = extent i64 A 1\n"
        "  shape %0 %1\n"
        "input B f32\n"
        "  %2 = extent i64 B 0\n"
        "  %3 = extent i64 B 1\n"
        "  shape %2 %3\n"
        "stage C f32\n"
        "  shape %0 %3\n"
        "  axis 0 < %0\n"
        "  axis 1 < %3\n"
        "  axis 2 < %1 reduced\n"
        "  %4 = self f32\n"
        "  %5 = axis i64 0\n"
        "  %6 = axis i64 2\n"
        "  %7 = load f32 A %5 %6\n"
        "  %8 = axis i64 1\n"
        "  %9 = load f32 B %6 %8\n"
        "  %10 = mul f32 %7 %9\n"
        "  %11 = add f32 %4 %10\n"
        "  body %11 from 0.0\n"
        "output C\n");
}

TEST_CASE("parse_program(print(p)) has p's digest, names and print; so has it for what expand makes of p") {
  program const programs[] = {matmul(), everything(), weft::canonical(weft::expand(everything(), true)),
                              weft::canonical(weft::expand(everything(), false))};
  for (program const& p : programs) {
    REQUIRE(weft::fault_of(p) == "");
    std::string const text = print(p);
    CAPTURE(text);
    program const q = weft::parse_program(text);
    CHECK(weft::digest(q) == weft::digest(p));
    CHECK(print(q) == text);
    REQUIRE(q.nodes.size() == p.nodes.size());
    for (std::size_t i = 0; i < p.nodes.size(); ++i) CHECK(q.nodes[i] == p.nodes[i]);
    CHECK(q.operands == p.operands);
    CHECK(q.extents == p.extents);
    CHECK(q.outputs == p.outputs);
    CHECK(q.scalars == p.scalars);
    REQUIRE(q.tensors.size() == p.tensors.size());
    for (std::size_t i = 0; i < p.tensors.size(); ++i) {
      CHECK(q.tensors[i].name == p.tensors[i].name);
      CHECK(q.tensors[i].type == p.tensors[i].type);
      CHECK(q.tensors[i].stage == p.tensors[i].stage);
      CHECK(q.tensors[i].first_extent == p.tensors[i].first_extent);
    }
    REQUIRE(q.stages.size() == p.stages.size());
    for (std::size_t i = 0; i < p.stages.size(); ++i) {
      CHECK(q.stages[i].first_reduced == p.stages[i].first_reduced);
      CHECK(q.stages[i].reduced == p.stages[i].reduced);
      CHECK(q.stages[i].results == p.stages[i].results);
    }
    CHECK(q.results == p.results);
  }
}

TEST_CASE("every literal comes back with its bits") {
  struct {
    dtype type;
    std::int64_t bits;
  } const cases[] = {
      {dtype::f32, weft::to_bits(-0.0f)},
      {dtype::f32, weft::to_bits(0.1f)},
      {dtype::f32, 0x7fc12345},
      {dtype::f32, 0xff800000},
      {dtype::f32, weft::to_bits(-999999.0f)},
      {dtype::f32, weft::to_bits(1e30f)},
      {dtype::f32, 1},
      {dtype::f64, weft::to_bits(-0.0)},
      {dtype::f64, weft::to_bits(0.1)},
      {dtype::f64, weft::to_bits(1e300)},
      {dtype::f64, weft::to_bits(-3.0)},
      {dtype::f64, -1},
      {dtype::i64, INT64_MIN},
      {dtype::i64, INT64_MAX},
      {dtype::i32, INT32_MIN},
      {dtype::u8, 255},
      {dtype::boolean, 1},
      {dtype::i8, -128},
      {dtype::u64, -1},
      {dtype::u64, INT64_MIN},
      {dtype::u32, 0xffffffff},
      {dtype::f16, 1},
      {dtype::f16, 0x7bff},
      {dtype::f16, 0x8000},
      {dtype::bf16, 0x4000},
      {dtype::bf16, 0xff80},
  };
  for (auto const& c : cases) {
    CAPTURE(c.bits);
    program p;
    auto const A = input<float, 1>(p, "A");
    weft::result_info const r{p.literal(c.type, c.bits), 0};
    p.add_axis(p.extent_of(A.id, 0), 0, false);
    p.outputs.push_back(p.add_stage(short_name("C"), {-1, 0, 1, 1, 0}, c.type, {p.extent_of(A.id, 0)}, r));
    program const q = weft::parse_program(print(weft::canonical(p)));
    CHECK(q.nodes.back().value == c.bits);
    CHECK(q.nodes.back().type == c.type);
  }
}

TEST_CASE("formula writes a stage as the mathematics has it, with as few parentheses as C++ needs") {
  CHECK(weft::formula(matmul(), 0) == "C[i, j] = sum over k < A.extent(1) of A[i, k] * B[k, j]");
  program p;
  auto const A = input<float, 1>(p, "A"), B = input<float, 1>(p, "B");
  weft::value<float> const s{{&p, p.add_scalar(dtype::f32)}};
  auto const n = A.extent(0);
  weft::compute<"p">(n, [=](auto i) { return A(i) - (B(i) - s) - 1.5f; });
  weft::compute<"q">(n, [=](auto i) { return (A(i) + B(i)) * -A(i) / (s * B(i)); });
  weft::compute<"r">(
      n, [=](auto i) { return weft::select((i < 3 || i == n - 1) && A(i) != 0, weft::exp(A((i + 1) % n)), 0.f); });
  weft::compute<"t">(n, [=](auto i) { return weft::max(3, 4, [=](auto k, auto l) { return A(i * 4 + k - l); }); });
  program const c = weft::canonical(p);
  CHECK(weft::formula(c, 0) == "p[i] = A[i] - (B[i] - s0) - 1.5");
  CHECK(weft::formula(c, 1) == "q[i] = (A[i] + B[i]) * -A[i] / (s0 * B[i])");
  CHECK(weft::formula(c, 2) ==
        "r[i] = select((i < 3 || i == A.extent(0) - 1) && A[i] != 0, exp(A[(i + 1) % A.extent(0)]), 0)");
  CHECK(weft::formula(c, 3) == "t[i] = max over j < 3, k < 4 of A[i * 4 + j - k]");
}

TEST_CASE("formula shows a contracted sum as the sum that it is") {
  program const p = weft::canonical(weft::expand(matmul(), true));
  REQUIRE(p.at(p.results[0].body).kind == weft::op::fma);
  CHECK(weft::formula(p, 0) == weft::formula(matmul(), 0));
}

TEST_CASE("formula of a body that is shared without end ends") {
  program p;
  auto const A = input<float, 1>(p, "A");
  weft::compute<"C">(A.extent(0), [=](auto i) {
    auto x = A(i);
    for (int n = 0; n < 200; ++n) x = x * x;  // a tree of 2^200 leaves
    return x;
  });
  std::string const text = weft::formula(weft::canonical(p), 0);
  CHECK(text.size() <= 160);
  CHECK(text.substr(text.size() - 3) == "...");
}

TEST_CASE("comments, empty lines and spacing are free") {
  std::string text = "# a comment\n\n" + print(matmul());
  for (std::size_t at = 0; (at = text.find(" = ", at)) != std::string::npos; ++at) text.replace(at, 3, "=\t ");
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 8) text.replace(at, 1, "  # so\r\n");
  CHECK(weft::digest(weft::parse_program(text)) == weft::digest(matmul()));
}

TEST_CASE("what is wrong with a text is said with line and column") {
  CHECK(error_of("") == "program:1:1: the program has no output");
  CHECK(error_of("prog") == "program:1:1: expected 'program'");
  CHECK(error_of("program\ninput A f80\n") == "program:2:12: there is no such dtype");
  CHECK(error_of("program\ninput A f32\n  %1 = extent i64 A 0") ==
        "program:3:5: nodes are numbered 0, 1, 2, ... in order");
  CHECK(error_of("program\ninput A f32\n  %0 = expand i64 A 0") == "program:3:14: there is no such operation");
  CHECK(error_of("program\ninput A f32\n  %0 = extent i64 B 0") ==
        "program:3:20: there is no such tensor before this line");
  CHECK(error_of("program\ninput A f32\n  shape %0") == "program:3:10: there is no such node before this line");
  CHECK(error_of("program\nbody %0") == "program:2:5: this line belongs into a stage, before its body");
  CHECK(error_of("program\nscalar i99999999999") == "program:2:20: there is no such dtype");
  CHECK(error_of("program\nscalar f32 f32") == "program:2:12: the line should end here");
  CHECK(error_of("program\ninput \"A f32\n") == "program:2:13: expected '\"'");
  CHECK(error_of("program\ninput a_name_that_is_longer_than_30_characters f32\n") ==
        "program:2:7: the name has more than 30 characters");
}

TEST_CASE("a text that breaks what later parts rely on is refused, whichever line is changed") {
  struct {
    char const *from, *to, *error;
  } const cases[] = {
      {"%10 = mul f32 %7 %9", "%10 = mul f32 %7 %6", "an operation has the wrong types"},
      {"%10 = mul f32 %7 %9", "%10 = mul f64 %7 %9", "an operation has the wrong types"},
      {"%10 = mul f32 %7 %9", "%10 = fdiv f32 %7 %9", "an operation has the wrong types"},
      {"%10 = mul f32 %7 %9", "%10 = ramp f32 %7", "an operation has the wrong types"},
      {"%10 = mul f32 %7 %9", "%10 = not f32 %7", "an operation has the wrong types"},
      {"%10 = mul f32 %7 %9", "%10 = lt bool %7 %9", "an operation has the wrong types"},
      {"%10 = mul f32 %7 %9", "%10 = literal f16 0x10000", "an operation has the wrong types"},
      {"%8 = axis i64 1", "%8 = literal bool 7", "an operation has the wrong types"},
      {"%5 %6\n", "%5\n", "a load has not one index per dimension"},
      {"load f32 A %5 %6", "load f32 C %5 %6", "a body reads its own or a later stage"},
      {"load f32 B %6 %8", "load f32 B %6 %7", "an index is not an i64"},
      {"%4 = self f32", "%4 = self f64", "an operation has the wrong types"},
      {"extent i64 B 1", "extent i64 B 2", "an operation has the wrong types"},
      {"axis 1 < %3", "axis 1 < %1", "an axis has not its tensor's extent"},
      {"axis 1 < %3", "axis 1 < %3 reduced", "the axes are not numbered stage by stage, spatial ones first"},
      {"axis 2 < %1 reduced", "axis 2 < %1", "the axes are not numbered stage by stage, spatial ones first"},
      {"body %11 from 0.0", "body %10", ""},
      {"body %11 from 0.0", "body %6", "a stage's body has not the stage's dtype"},
      {"body %11 from 0.0", "", "a stage's body has not the stage's dtype"},
      {"output C", "output A", "an output is no stage"},
      {"output C", "", "the program has no output"},
  };
  std::string const good = print(matmul());
  for (auto const& c : cases) {
    CAPTURE(c.to);
    std::string text = good;
    auto const at = text.find(c.from);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::strlen(c.from), c.to);
    std::string const message = error_of(text);
    CAPTURE(message);
    CHECK((*c.error == 0 ? message.empty() : message.find(c.error) != std::string::npos));
  }
}

TEST_CASE("f16 and bf16 are read, cast and selected; whatever else is done with them is refused") {
  auto const error_with = [](std::string const& line) {
    return error_of("program\ninput A f16\n  %0 = literal i64 4\n  shape %0\nstage C f16\n  shape %0\n  axis 0 < %0\n" +
                    std::string("  %1 = axis i64 0\n  %2 = load f16 A %1\n  %3 = literal bool 1\n") + line);
  };
  auto const c = [](std::string const& node) { return "  %4 = " + node + "\n  body %4\noutput C\n"; };
  CHECK(error_with(c("select f16 %3 %2 %2")) == "");
  CHECK(error_with("  %4 = cast u8 %2\n  %5 = cast f16 %4\n  body %5\noutput C\n") == "");
  CHECK(error_with("  %4 = bitcast i16 %2\n  %5 = bitcast f16 %4\n  body %5\noutput C\n") == "");
  for (std::string const node : {"neg f16 %2", "add f16 %2 %2", "min f16 %2 %2", "max f16 %2 %2", "fma f16 %2 %2 %2",
                                 "exp f16 %2", "div f16 %2 %2", "bitcast f16 %3", "lt bool %2 %2", "eq bool %2 %2"})
    CHECK_MESSAGE(error_with(c(node)).find("an operation has the wrong types") != std::string::npos, node);
}

TEST_CASE("a chain too deep for the stack is refused, a long one is not") {
  auto const chain = [](int length) {
    std::string text =
        "program\ninput A f32\n %0 = extent i64 A 0\n shape %0\nstage C f32\n shape %0\n axis 0 < %0\n"
        " %1 = axis i64 0\n %2 = load f32 A %1\n";
    for (int n = 3; n < length + 3; ++n)
      text += " %" + std::to_string(n) + " = neg f32 %" + std::to_string(n - 1) + "\n";
    return text + " body %" + std::to_string(length + 2) + "\noutput C\n";
  };
  CHECK(error_of(chain(1900)) == "");
  CHECK(error_of(chain(50000)).find("nested deeper than 2000") != std::string::npos);
}

TEST_CASE("a damaged text is refused or is another well-formed program, never more") {
  std::string const good = print(everything());
  draw random{11};
  int refused = 0, read = 0;
  for (int n = 0; n < 3000; ++n) {
    std::string text = good;
    for (int k = random(2) + 1; k > 0; --k) {
      auto const at = static_cast<std::size_t>(random(static_cast<int>(text.size())));
      switch (random(3)) {
        case 0: text[at] = static_cast<char>(random(256)); break;
        case 1: text[at] = "0123456789%-"[random(12)]; break;
        default: text.erase(at, static_cast<std::size_t>(random(30)));
      }
    }
    try {
      program const p = weft::parse_program(text);
      CHECK(weft::fault_of(p) == "");
      CHECK(print(weft::parse_program(print(p))) == print(p));
      for (std::size_t s = 0; s < p.stages.size(); ++s) CHECK(weft::formula(p, static_cast<int>(s)).size() <= 160);
      ++read;
    } catch (weft::parse_error const&) {
      ++refused;
    }
  }
  CHECK(refused > 500);
  CHECK(read > 50);
}
TEST_CASE("what parts of a reduction become is printed and read back, and must fit it") {
  program p;
  weft::expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  auto const merge = weft::any_order([](auto a, auto b) { return weft::min(a + b, 9.0f); });
  auto const C = weft::compute<"C">(A.extent(0), [=](auto i) {
    return weft::reduce(0, merge, A.extent(1), [=](auto k) { return A(i, k) * A(i, k); });
  });
  p.outputs.push_back(C.id);
  program const c = weft::canonical(p);
  CHECK(c.results[0].merged >= 0);
  CHECK(weft::parse_program(weft::print(c)).results == c.results);
  CHECK(weft::print(weft::parse_program(weft::print(c))) == weft::print(c));
  program wrong = c;
  wrong.results[0].merged = 0;  // an extent
  CHECK(weft::fault_of(wrong) == "what parts of a reduction become has not its dtype");
  wrong = c;
  for (weft::node& n : wrong.nodes)
    if (n.kind == weft::op::self && n.a == 1) n.a = 2;
  CHECK(weft::fault_of(wrong) == "the value so far stands outside of its reduction or scan");
}
