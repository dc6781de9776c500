#include "weft/ir/parse.hpp"

#include <doctest/doctest.h>

#include "ir/random_function.hpp"
#include "weft/ir/equal.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/verify.hpp"

using namespace weft;

namespace {
std::string const head =
    "kernel k:\n"
    "  sizes n\n"
    "  variables i, j\n"
    "  buffer A: f32[n] strides [1] in argument 0 alias 0 align 4\n"
    "  buffer B: f32[n] strides [1] in argument 1 written alias 1 align 4\n";
/// The body of a kernel that has `head`.
ir::function with_body(ir::arena& m, std::string const& body) { return ir::parse(m, head + body); }
std::string refusal(std::string const& text) {
  ir::arena m;
  try {
    ir::parse(m, text);
  } catch (parse_error const& e) {
    return e.what();
  }
  return "";
}
std::string reparsed(std::string const& body) {
  ir::arena m;
  std::string const text = ir::print(with_body(m, body));
  return text.substr(head.size());
}
}  // namespace

TEST_CASE("parse(print(f)) is f, for functions at random") {
  std::size_t lines = 0, lets = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    weft_test::random_function r(seed);
    REQUIRE(ir::verify(r.f) == "");
    std::string const text = ir::print(r.f);
    CAPTURE(text);
    ir::arena m;
    ir::function const g = ir::parse(m, text);
    REQUIRE(ir::equal(r.f, g));
    REQUIRE(ir::print(g) == text);
    for (char c : text) lines += c == '\n';
    lets += text.find("let $") != std::string::npos;
  }
  CHECK(lines > 4000);  // or the functions say nothing
  CHECK(lets > 10);
}

TEST_CASE("parse(print(f)) is f at the limits of depth") {
  ir::arena m, other;
  ir::function f = with_body(m, "  B[0] = 1.0f32\n");
  ir::expr_node n;
  auto const deep = [&](op kind, bool right) {
    ir::expr e = ir::index(m, 1);
    for (int i = 0; i < 3000; ++i) {
      n = {};
      n.kind = kind;
      n.a = right || kind == op::neg ? e : ir::index(m, 2);
      if (kind != op::neg) n.b = right ? ir::index(m, 2) : e;
      if (kind != op::neg && right) std::swap(n.a, n.b);
      e = m.make(n);
    }
    return e;
  };
  for (ir::expr const e : {deep(op::sub, true), deep(op::sub, false), deep(op::max, true), deep(op::neg, false)}) {
    f.body = ir::loop(m, loop_kind::serial, 0, ir::index(m, 0), e, f.body);
    std::string const text = ir::print(f);
    REQUIRE(ir::equal(ir::parse(other, text), f));
    f.body = f.body->children[0];
  }
}

TEST_CASE("every f16 and bf16 comes back from its text") {
  for (dtype t : {dtype::f16, dtype::bf16}) {
    ir::arena m;
    ir::function f = ir::parse(m, head + "  B[0] = cast<f32>(1.0f16)\n");
    for (std::int64_t first = 0; first < 65536; first += 256) {
      weft::sequence<ir::stmt> all;
      for (std::int64_t bits = first; bits < first + 256; ++bits) {
        ir::stmt_node n = *f.body;
        n.kind = ir::stmt_kind::store;
        ir::expr_node cast;
        cast.kind = op::cast;
        cast.type = dtype::f32;
        cast.a = ir::literal(m, t, bits);
        n.value = m.make(cast);
        all.push_back(m.make(n));
      }
      ir::function g = f;
      g.body = ir::block(m, all);
      ir::arena other;
      REQUIRE(ir::equal(ir::parse(other, ir::print(g)), g));
    }
  }
}

TEST_CASE("equal sees every difference that the text shows") {
  std::string const body = "  for i in 0..n parallel:\n    B[i] = A[i] + 1.0f32 where i < 5\n";
  ir::arena m;
  ir::function const f = with_body(m, body);
  std::string const text = ir::print(f);
  char const* const changes[][2] = {
      {"kernel k", "kernel l"},    {"sizes n", "sizes n, o"},  {"variables i, j", "variables i, k"},
      {"alias 1", "alias 2"},      {"align 4", "align 8"},     {" written", ""},
      {"f32[n]", "f64[n]"},        {"f32[n]", "f32[n + 0]"},   {"strides [1]", "strides [2]"},
      {"argument 1", "heap"},      {"in 0..n", "in 0..n + 1"}, {"0..n par", "1..1 + n par"},
      {" parallel", ""},           {"B[i]", "B[j]"},           {"A[i]", "B[i]"},
      {"A[i]", "A[i where true]"}, {"1.0f32", "-1.0f32"},      {" +", " *"},
      {" where i < 5", ""},        {"i < 5", "i <= 5"}};
  for (auto const& [from, to] : changes) {
    std::string changed = text;
    changed.replace(changed.find(from), std::string(from).size(), to);
    CAPTURE(changed);
    ir::arena other;
    CHECK_FALSE(ir::equal(f, ir::parse(other, changed)));
  }
  ir::arena other;
  CHECK(ir::equal(f, ir::parse(other, text)));
}

TEST_CASE("parse: nothing is folded") {
  std::string const body = "  B[0 + 0] = select(true, 1.0f32 + 2.0f32, A[0 where true])\n";
  CHECK(reparsed(body) == body);
  CHECK(reparsed("  if true:\n    pass\n") == "  if true:\n    pass\n");
}
TEST_CASE("parse: blocks in blocks stay what they are") {
  std::string const body =
      "  for i in 0..1:\n    block:\n      block:\n        pass\n      B[i] = 0.0f32\n    pass\n    block:\n      "
      "pass\n";
  CHECK(reparsed(body) == body);
  CHECK(reparsed("  block:\n    pass\n") == "  block:\n    pass\n");
}
TEST_CASE("parse(print(f)) is f where a value is computed from that of another type beside it") {
  std::string const declared =
      "kernel k:\n  variables i\n  buffer A: u32[8] strides [1] in argument 0 alias 0 align 4\n"
      "  buffer P: i64[] strides [] in argument 1 written alias 1 align 8\n"
      "  buffer V: u32[] strides [] in argument 2 written alias 2 align 4\n";
  std::string const text = declared +
                           "  for i in 0..8:\n    together:\n"
                           "      accumulate P[] = select(self < 0, i, self) from -1 first [i]\n"
                           "      accumulate V[] = select(self<i64> < 0, A[i], self<u32>(1)) from 0u32 first [i]\n";
  ir::arena m, other;
  ir::function const f = ir::parse(m, text);
  CHECK(ir::verify(f) == "");
  CHECK(ir::print(f) == text);
  CHECK(ir::equal(ir::parse(other, ir::print(f)), f));
}
TEST_CASE("parse: a let is text only, and ends with its statement") {
  CHECK(reparsed("  let $0 = 1 + 2\n  let $1 = $0 * $0\n  B[$1] = A[$0]\n") == "  B[(1 + 2) * (1 + 2)] = A[1 + 2]\n");
  CHECK(reparsed("  let $0 = self<f32> + 1.0f32\n  accumulate B[0] = $0 from 0.0f32 first []\n") ==
        "  accumulate B[0] = self + 1.0f32 from 0.0f32 first []\n");
  CHECK(refusal(head + "  let $0 = 1\n  B[0] = A[$0]\n  B[1] = A[$0]\n").find("line 8, column 12") !=
        std::string::npos);
}
TEST_CASE("parse: comments, blank lines and other indentation are read") {
  CHECK(reparsed("  for i in 0..n:  # all\n\n   # of them\n        B[i] = A[i]# yes\n") ==
        "  for i in 0..n:\n    B[i] = A[i]\n");
}

TEST_CASE("parse: an error says where it is and what was expected") {
  struct {
    char const* body;
    char const* message;
  } const cases[] = {
      {"  B[i = 1.0f32\n", "line 6, column 7: expected ']', found '= 1.0f32'"},
      {"  B[q] = 1.0f32\n", "line 6, column 5: expected a variable, size or scalar, found 'q] = 1.0f32'"},
      {"  D[0] = 1.0f32\n", "line 6, column 3: expected a buffer, found 'D[0] = 1.0f32'"},
      {"  B[0] = 1.0f33\n", "line 6, column 13: expected a type"},
      {"  B[0] = 300u8\n", "line 6, column 10: expected a u8"},
      {"  B[0] = 1.5\n", "line 6, column 10: expected an i64"},
      {"  B[0] = self\n", "line 6, column 10: expected something else outside of an accumulate's value"},
      {"  B[0] = 1 < 2 < 3\n", "line 6, column 16: expected parentheses"},
      {"  B[0] = A[0] A\n", "line 6, column 15: expected the end of the line, found 'A'"},
      {"  for i in 0..n:\n  pass\n", "line 7, column 3: expected an indented statement"},
      {"  for i in 1..n:\n    pass\n", "line 6, column 16: expected an end of the form begin + extent before this"},
      {"  for i in 0..n:\n      pass\n    pass\n", "line 8, column 5: expected the indentation of a line above"},
      {"  pass\npass\n", "line 7, column 1: expected the end of the text"},
      {"  B[0] = truex1\n", "line 6, column 15: expected a number of lanes"},
      {"  B[0] = `A\n", "line 6, column 12: expected a closing `, found the end of the line"},
      {"  B[0] =", "line 6, column 9: expected an expression, found the end of the text"},
  };
  for (auto const& c : cases) {
    CAPTURE(c.body);
    std::string const heard = refusal(head + c.body);
    CHECK_MESSAGE(heard.find(c.message) != std::string::npos, heard);
  }
  CHECK(refusal("kernel k:\n  sizes n, n\n").find("line 2, column 12: expected a name that is not taken") !=
        std::string::npos);
  CHECK(refusal("").find("line 1, column 1: expected 'kernel', found the end of the text") != std::string::npos);
}

TEST_CASE("parse: text that nests without end is refused") {
  std::string const many(100000, '('), minus(100000, '-');
  std::string nots, ifs, sum = "1", buffers = "B";
  for (int i = 0; i < 100000; ++i) nots += "not ", sum += "+1", buffers += ", B";
  for (int i = 1; i < 1000; ++i) ifs += std::string(static_cast<std::size_t>(i) * 2, ' ') + "if true:\n";
  for (std::string const& s : {many, minus, nots})
    CHECK(refusal(head + "  B[0] = " + s).find("200 levels") != std::string::npos);
  CHECK(refusal(head + "  B[0] = " + sum).find("10000 operations") != std::string::npos);
  CHECK(refusal(head + ifs).find("200 levels") != std::string::npos);
  CHECK(refusal(head + "  allocate " + buffers + ":\n    pass\n").find("2000") != std::string::npos);
}

TEST_CASE("parse: damaged text gives a function or a parse_error, nothing else") {
  std::uint64_t state = 20;
  auto const below = [&](std::size_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  int refused = 0, read = 0;
  std::string const bytes = "()[]{}<>,.:=+-*/%&|^$`\\# \n0123456789xeifntrue\xff";
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    weft_test::random_function r(seed % 60 + 1);
    std::string text = ir::print(r.f);
    if (seed % 3 == 0)
      text.resize(below(text.size()));
    else if (seed % 3 == 1)
      for (int i = 0; i < 3; ++i) text[below(text.size())] = bytes[below(bytes.size())];
    else
      text.erase(below(text.size()), 1 + below(3));
    CAPTURE(text);
    ir::arena m;
    try {
      ir::function const f = ir::parse(m, text);
      ++read;
      if (ir::verify(f) != "") continue;
      ir::arena other;
      CHECK(ir::equal(ir::parse(other, ir::print(f)), f));
    } catch (parse_error const&) {
      ++refused;
    }
  }
  CHECK(refused > 100);
  CHECK(read > 10);
}
