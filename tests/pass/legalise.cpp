#include "weft/pass/legalise.hpp"

#include "pass/text.hpp"

using namespace weft;

namespace {
std::string legalised(std::string const& body, bool converts_f16) {
  return weft_test::from_text(body).after([&](ir::function& f) { return legalise(*f.nodes, f.body, converts_f16); });
}
std::size_t count(std::string const& text, std::string const& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
}  // namespace

TEST_CASE("legalise: a bf16 widens by a shift and narrows by integers, with F16C too") {
  for (bool const f16c : {false, true}) {
    std::string const text = legalised("  B[0] = cast<f32>(bitcast<bf16>(cast<u16>(A[0])))\n", f16c);
    CHECK(text == "B[0] = bitcast<f32>(cast<i32>(bitcast<u16>(bitcast<bf16>(cast<u16>(A[0])))) << 16i32)\n");
    std::string const back = legalised("  B[0] = cast<f32>(bitcast<u16>(cast<bf16>(A[0])))\n", f16c);
    CHECK(back.find("cast<u16>(select(2139095040i32 < bitcast<i32>(A[0]) & 2147483647i32, ") != std::string::npos);
  }
}
TEST_CASE("legalise: f16 keeps its conversions where the machine has them, and only those to and from f32") {
  std::string const both = "  B[0] = cast<f32>(cast<f16>(A[0]))\n";
  CHECK("  " + legalised(both, true) == both);
  CHECK(count(legalised(both, false), "f16>") == 0 + count("bitcast<f16>", "f16>"));
  std::string const far = legalised("  B[0] = cast<f32>(cast<i64>(cast<f16>(D[0])))\n", true);
  CHECK(far == "B[0] = cast<f32>(cast<i64>(cast<f32>(cast<f16>(cast<f32>(D[0])))))\n");
}
TEST_CASE("legalise: vectors as scalars; masks, indices and what has no half stay; once is enough") {
  std::string const body =
      "  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = cast<f32>(cast<bf16>(A[ramp(i * 8, 1, 8) where ramp(i, 1, 8) < "
      "9i64x8])) "
      "where ramp(i, 2, 8) < 20i64x8\n";
  std::string const once = legalised(body, false);
  CHECK(count(once, "A[ramp(i * 8, 1, 8) where ramp(i, 1, 8) < 9i64x8]") > 0);
  CHECK(once.find("] where ramp(i, 2, 8) < 20i64x8\n") == std::string::npos);
  CHECK(once.substr(once.rfind(" where ")) == " where ramp(i, 2, 8) < 20i64x8\n");
  CHECK(count(once, "32767i32x8") > 0);
  weft_test::from_text twice(body);
  twice.f.body = legalise(twice.m, twice.f.body, false);
  ir::stmt const again = legalise(twice.m, twice.f.body, false);
  CHECK(ir::print(again, twice.f) == ir::print(twice.f.body, twice.f));
}
TEST_CASE("legalise: a product with 2^b is one with two powers of two, but for vectors of machines that scale") {
  std::string const body = "  B[0] = scaleb(A[0], A[1] - 12583166f32)\n", other = "  B[0] = scaleb(A[0], A[1])\n";
  CHECK(legalised(body, true) ==
        "B[0] = A[0] * bitcast<f32>(bitcast<i32>(A[1]) << 22i32 & -8388608i32) * "
        "bitcast<f32>((bitcast<i32>(A[1]) << 23i32) - (bitcast<i32>(A[1]) << 22i32 & -8388608i32))\n");
  CHECK(legalised(other, true).find("bitcast<i32>(A[1] + ") != std::string::npos);
  std::string const lanes = "  B[ramp(0, 1, 8)] = scaleb(A[ramp(0, 1, 8)], A[ramp(8, 1, 8)])\n";
  auto const scaling = [](std::string const& text) {
    return weft_test::from_text(text).after([](ir::function& f) { return legalise(*f.nodes, f.body, true, true); });
  };
  CHECK("  " + scaling(lanes) == lanes);
  CHECK(scaling(body) == legalised(body, true));  // no vector
  CHECK(count(legalised(lanes, true), "scaleb") == 0);
}
TEST_CASE("legalise: lanes that a sum leaves out have -0 added, which changes no number, but none that may be a signalling NaN from memory") {
  std::string const x = "A[ramp(0, 1, 8)]", y = "A[ramp(8, 1, 8)]", z = "A[ramp(16, 1, 8)]", c = "ramp(1, 1, 8) < 5i64x8", s = "fma(" + x + ", " + x + ", 1.0f32x8)";
  CHECK(legalised("  B[ramp(0, 1, 8)] = select(" + c + ", fma(" + x + ", " + y + ", " + s + "), " + s + ")\n", true) ==
        "B[ramp(0, 1, 8)] = fma(select(" + c + ", " + x + ", 0.0f32x8), select(" + c + ", " + y + ", -0.0f32x8), " + s + ")\n");
  for (std::string const& body : {"  B[ramp(0, 1, 8)] = select(" + c + ", fma(" + x + ", " + y + ", " + z + "), " + z + ")\n",
                                  "  B[ramp(0, 1, 8)] = select(broadcast(A[1] < 5.0f32, 8), fma(" + x + ", " + y + ", 1.0f32x8), 1.0f32x8)\n"})
    CHECK("  " + legalised(body, true) == body);
}
TEST_CASE("legalise: nothing is chosen for lanes that are not stored") {
  std::string const x = "A[ramp(i * 8, 1, 8) where ramp(i * 8, 1, 8) < 61i64x8]";
  auto const stored = [&](std::string const& value) { return "  for i in 0..8:\n    B[ramp(i * 8, 1, 8)] = " + value + " where ramp(i * 8, 1, 8) < 61i64x8\n"; };
  auto const chosen = [&](std::string const& condition) { return stored("select(" + condition + ", " + x + ", 1.0f32x8)"); };
  auto const after = [&](std::string const& body) { return "  " + legalised(body, true).insert(legalised(body, true).find("\n") + 1, "  "); };
  for (char const* const follows : {"ramp(i * 8, 1, 8) < 61i64x8", "ramp(i * 8 - 1, 1, 8) < 61i64x8", "ramp(i * 8, 1, 8) <= 60i64x8", "ramp(i * 8, 1, 8) < 62i64x8"})
    CHECK(after(chosen(follows)) == stored(x));
  for (char const* const not_so : {"ramp(i * 8 + 1, 1, 8) < 61i64x8", "ramp(i * 8, 1, 8) < 60i64x8", "ramp(i * 8 - 1, 2, 8) < 61i64x8", "0i64x8 <= ramp(i * 8, 1, 8)"})
    CHECK(after(chosen(not_so)) == chosen(not_so));
}
