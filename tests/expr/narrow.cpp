#include "weft/expr/narrow.hpp"

#include <doctest/doctest.h>

#include <string>

#include "fuzz/random.hpp"
#include "programs.hpp"
#include "weft/expr/expand.hpp"
#include "weft/expr/formula.hpp"
#include "weft/expr/verify.hpp"

using namespace weft_test;
using weft::cast;
using weft::dtype;
using weft::op;
using weft::program;
using u8 = std::uint8_t;
using i8 = std::int8_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;

namespace {
program ready(program const& p) { return weft::expand(weft::canonical(p), true); }
/// One stage of two inputs of T.
template <class T, class F>
program stage_of(F f) {
  program p;
  auto const a = input<T, 1>(p, "a"), b = input<T, 1>(p, "b");
  p.outputs.push_back(weft::compute<"y">(a.extent(0), [=](auto i) { return f(a(i), b(i)); }).id);
  return ready(p);
}
std::string element(program const& p) { return weft::formula(p, 0).substr(std::string("y[i] = ").size()); }
template <class T, class F>
std::string narrowed(F f) {
  program const q = weft::in_few_bits(stage_of<T>(f));
  CHECK(weft::fault_of(q) == "");
  return element(q);
}
template <class T, class F>
void check_stays(F f) {
  CHECK(narrowed<T>(f) == element(stage_of<T>(f)));
}

/// A stage of words, made of drawn operations on narrow integers, on numbers that are likely to lie at the end of a type, and at times on words; cast to a narrow type or compared.
class word_program {
 public:
  explicit word_program(std::uint64_t seed) : r_(seed) {
    for (dtype t : {dtype::u8, dtype::i8, dtype::u16, dtype::i16, dtype::i32, dtype::boolean}) {
      p.add_input(weft::short_name(weft::name(t)), t, 1);
      weft::dense values{t, {elements}, {}};
      for (std::int64_t i = 0; i < elements; ++i) values.bits.push_back(element(t));
      inputs.push_back(values);
    }
    weft::stage_info s;
    s.spatial = 1;
    int const axis = p.add_axis(p.extent_of(0, 0), 0, false);
    s.first_axis = axis;
    s.first_reduced = axis + 1;
    index_ = p.axis_node(axis);
    for (int i = r_.between(1, 14); i-- > 0;) words_.push_back(word());
    dtype const types[] = {dtype::u8, dtype::i8, dtype::u16, dtype::i16};
    dtype const to = types[r_.below(4)];
    int body = p.operation(op::cast, to, words_.back());
    if (r_.chance(30)) body = p.operation(op::select, to, truth(), body, p.operation(op::cast, to, any_word()));
    p.outputs.push_back(p.add_stage(weft::short_name("y"), s, to, {p.extent_of(0, 0)}, {body, 0}));
  }
  static constexpr std::int64_t elements = 61;
  program p{};
  weft::sequence<weft::dense> inputs{};

 private:
  std::int64_t element(dtype t) {
    if (t == dtype::boolean) return r_.below(2);
    std::int64_t const high = (std::int64_t(1) << (8 * size_bytes(t) - is_signed_integer(t))) - 1;
    std::int64_t const drawn = r_.chance(50) ? static_cast<std::int64_t>(r_.next()) : r_.one_of({std::int64_t(0), std::int64_t(1), std::int64_t(-1), high, -high - 1, high - 1, high / 2});
    return weft::wrapped(t, drawn);
  }
  int load(int tensor) { return p.load(tensor, weft::sequence<std::int32_t>{index_}); }
  int leaf() {
    int const kind = r_.below(20);
    if (kind == 0) return load(4);  // a word
    if (kind < 5) {
      int const bits = r_.between(1, 17);
      return p.literal(dtype::i32, r_.one_of({std::int64_t(r_.below(1 << bits)), -std::int64_t(r_.below(1 << bits)), (std::int64_t(1) << bits) - 1, std::int64_t(1) << bits}));
    }
    return p.operation(op::cast, dtype::i32, load(kind < 7 ? 5 : r_.below(4)));
  }
  int any_word() { return words_.empty() || r_.chance(35) ? leaf() : r_.one_of(words_); }
  int number(int below) { return p.literal(dtype::i32, r_.below(below)); }
  int truth() {
    op const kind = r_.one_of({op::lt, op::le, op::eq, op::ne});
    int const a = any_word(), b = any_word();
    return p.operation(kind, dtype::boolean, a, b);
  }
  int word() {
    int const a = any_word();
    switch (r_.below(8)) {
      case 0: return p.operation(r_.one_of({op::shl, op::shr}), dtype::i32, a, number(18));
      case 1: return p.operation(r_.one_of({op::div, op::rem, op::floor_div, op::floor_mod}), dtype::i32, a, r_.chance(80) ? number(300) : any_word());
      case 2: return p.operation(op::select, dtype::i32, truth(), a, any_word());
      case 3: return p.operation(op::neg, dtype::i32, a);
      case 4: return p.operation(r_.one_of({op::bit_and, op::bit_or, op::bit_xor}), dtype::i32, a, any_word());
      case 5: {  // a blend by a weight
        int const w = p.operation(op::cast, dtype::i32, load(r_.below(3))), whole = p.literal(dtype::i32, r_.one_of({255, 256, 127, 100}));
        int const x = p.operation(op::mul, dtype::i32, a, w), rest = p.operation(op::sub, dtype::i32, whole, w), y = p.operation(op::mul, dtype::i32, rest, any_word());
        return p.operation(op::add, dtype::i32, x, y);
      }
      default: return p.operation(r_.one_of({op::add, op::sub, op::mul, op::min, op::max}), dtype::i32, a, any_word());
    }
  }

  fuzz::random_source r_;
  int index_ = -1;
  weft::sequence<std::int32_t> words_{};
};
}  // namespace

TEST_CASE("bytes are multiplied, divided and shifted in 16 bits, and added and compared in 8 where that is enough") {
  CHECK(narrowed<u8>([](auto a, auto b) { return cast<u8>(a * b / 255); }) == "u8(u16(a[i]) * u16(b[i]) / 255)");
  CHECK(narrowed<u8>([](auto a, auto b) { return cast<u8>((a + b + 1) >> 1); }) == "u8(u16(a[i]) + u16(b[i]) + 1 >> 1)");
  CHECK(narrowed<u8>([](auto a, auto b) { return cast<u8>(a + b); }) == "a[i] + b[i]");
  CHECK(narrowed<u8>([](auto a, auto b) { return cast<u8>(weft::select(a > 100, b, 0)); }) == "select(100 < a[i], b[i], 0)");
  CHECK(narrowed<i8>([](auto a, auto b) { return cast<i8>(weft::clamp(a - b, -128, 127)); }) == "i8(min(max(i16(a[i]) - i16(b[i]), -128), 127))");
  CHECK(narrowed<u8>([](auto a, auto b) { return cast<u8>(weft::min((77 * a + 150 * b + 28 * b + 128) >> 8, 255)); }) ==
        "u8(min(77 * u16(a[i]) + 150 * u16(b[i]) + 28 * u16(b[i]) + 128 >> 8, 255))");
}
TEST_CASE("a blend by a weight and what is left of it is never more than the larger of both") {
  CHECK(narrowed<u8>([](auto a, auto b) { return cast<u8>((a * b + 40 * (255 - b) + 128) >> 8); }) == "u8(u16(a[i]) * u16(b[i]) + 40 * (255 - u16(b[i])) + 128 >> 8)");
  // 256 * 255 and 2^11
  check_stays<u8>([](auto a, auto b) { return cast<u8>((a * b + 255 * (256 - b) + 2048) >> 8); });
}
TEST_CASE("what may not fit stays in 32 bits") {
  check_stays<u16>([](auto a, auto b) { return cast<u16>(a * b / 255); });
  check_stays<u8>([](auto a, auto b) { return cast<u8>((a * b * b) >> 16); });
  check_stays<i16>([](auto a, auto b) { return cast<i16>((a * b + 16384) >> 15); });
  check_stays<u8>([](auto a, auto b) { return cast<u8>(a * b / a); });
  check_stays<u8>([](auto a, auto b) { return a * b; });
  check_stays<i32>([](auto a, auto b) { return cast<u8>(a + b); });
  // products of more than 64 bits
  check_stays<u16>([](auto a, auto b) {
    auto const x = cast<u32>(a) * 70000u, y = cast<u32>(b) * 70000u;
    return cast<u16>((x * y * (x * y)) >> 3);
  });
}
TEST_CASE("what is wanted as a word as well is not computed twice") {
  program p;
  auto const a = input<u8, 1>(p, "a");
  auto const both = weft::compute<"x", "y">(a.extent(0), [=](auto i) {
    auto const squared = a(i) * a(i);
    return weft::values(squared, cast<u8>(squared >> 8));
  });
  p.outputs.push_back(weft::get<0>(both).id);
  p.outputs.push_back(weft::get<1>(both).id);
  program const q = ready(p);
  CHECK(weft::in_few_bits(q).nodes.size() == q.nodes.size());
  CHECK(weft::formula(weft::in_few_bits(q), 0) == weft::formula(q, 0));
}
TEST_CASE("terms of reductions stay as instructions know them") {
  program p;
  auto const a = input<u8, 1>(p, "a"), b = input<u8, 1>(p, "b");
  p.outputs.push_back(weft::compute<"y">(1, [=](auto) { return weft::sum(a.extent(0), [=](auto k) { return cast<i32>(cast<u8>(a(k) * b(k) / 255)); }); }).id);
  program const q = ready(p);
  CHECK(weft::in_few_bits(q).nodes.size() == q.nodes.size());
  CHECK(weft::formula(weft::in_few_bits(q), 0) == weft::formula(q, 0));
}
TEST_CASE("values that share parts over and over are looked through once") {
  program p;
  auto const a = input<u8, 1>(p, "a");
  p.outputs.push_back(weft::compute<"y">(a.extent(0), [=](auto i) {
                        auto x = a(i) + 1;
                        auto doubled = [](auto v) { return v + v; };
                        auto often = [=](auto v) { return doubled(doubled(doubled(doubled(doubled(doubled(doubled(doubled(v)))))))); };
                        return cast<u8>(often(often(often(often(often(often(x)))))));
                      }).id);
  CHECK(weft::fault_of(weft::in_few_bits(ready(p))) == "");
}
TEST_CASE("drawn programs of narrow integers have the elements that they had") {
  int changed = 0;
  std::uint64_t const first = 20261128;
  for (std::uint64_t seed = first; seed < first + 4000; ++seed) {
    word_program const drawn(seed);
    program const p = ready(drawn.p), q = weft::in_few_bits(p);
    INFO("seed " << seed << ": " << weft::formula(p, 0) << " -> " << weft::formula(q, 0));
    REQUIRE(weft::fault_of(q) == "");
    changed += weft::formula(p, 0) != weft::formula(q, 0);
    auto elements_of = [&](program const& one) {
      weft::sequence<weft::dense> inputs = drawn.inputs;
      inputs.resize(one.tensors.size());
      weft::evaluator e(one, inputs, {});
      return e.result(one.outputs[0]).bits;
    };
    REQUIRE(elements_of(p) == elements_of(q));
  }
  CHECK(changed > 1000);
}
