#include "weft/kernel_table.hpp"

#include <doctest/doctest.h>

#include <weft/base/sequence.hpp>

#include "weft/kernel.hpp"

namespace {

constexpr auto sum_of_two = [](auto a, auto b) {
  return weft::compute<"c">(a.extent(0), [=](auto i) { return a(i) + b(i); });
};
weft::program what(void const*) { return weft::detail::build<weft::arg<float, 1>, weft::arg<float, 1>>(sum_of_two); }

struct call {
  weft::sequence<float> a, b, c;
  weft::argument arguments[3];
  explicit call(std::size_t n) : a(n, 1.5f), b(n, 0.25f), c(n) { describe(c); }
  void describe(weft::sequence<float>& result) {
    weft::detail::traits<weft::sequence<float>>::describe(a, arguments[0]);
    weft::detail::traits<weft::sequence<float>>::describe(b, arguments[1]);
    weft::detail::traits<decltype(weft::out(c))>::describe(weft::out(result), arguments[2]);
  }
};
/// A table as a program has it: its forms live as long as the process.
weft::kernel_table& kept_table() {
  static weft::kernel_table tables[8];
  static int used = 0;
  REQUIRE(used < 8);
  return tables[used++];
}
struct lookup {
  weft::kernel_table& table = kept_table();
  weft::kernel_face face{"sum_of_two", nullptr, what, nullptr, false, 0, nullptr};
  weft::ready_kernel const* operator()(call& c, weft::target const* machine = nullptr) {
    face.machine = machine != nullptr ? weft::kept_target(*machine) : nullptr;
    return &weft::find_or_compile(table, face, c.arguments, 3);
  }
};

}  // namespace

TEST_CASE("a call that fits is answered by the form that was made for it") {
  lookup find;
  call first(16), same_shape(16), longer(17);
  auto const* made = find(first);
  CHECK(find(first) == made);
  CHECK(find(same_shape) == made);
  CHECK(find(longer) != made);
  CHECK(find(first) == made);
}

TEST_CASE("a target is told by its value: the host by any name is the host, another is not") {
  lookup find;
  call c(16);
  auto const* made = find(c);
  weft::target const copy = weft::host();
  CHECK(find(c, &weft::host()) == made);
  CHECK(find(c, &copy) == made);

  weft::target other = weft::host();
  other.cpu = "x86-64";
  other.features = weft::x86_64_sse2().features;
  other.vector_bytes = 16;
  other.fma = false;
  if (other == weft::host()) return;  // this machine is the plain one
  auto const* plain = find(c, &other);
  CHECK(plain != made);
  CHECK(find(c) == made);
  CHECK(find(c, &other) == plain);
  weft::run(*plain, c.arguments, 3);
  CHECK(c.c == weft::sequence<float>(16, 1.75f));
}

TEST_CASE("memory shared in another way asks for another form") {
  lookup find;
  call c(16);
  auto const* apart = find(c);
  c.describe(c.a);
  auto const* over_first = find(c);
  CHECK(over_first != apart);
  c.describe(c.b);
  auto const* over_second = find(c);
  CHECK(over_second != apart);
  CHECK(over_second != over_first);
  c.describe(c.c);
  CHECK(find(c) == apart);
}

TEST_CASE("a captured value is part of what is looked up") {
  weft::sequence<float> x(8, 2.0f), y(8);
  auto const scaled = [&](float factor) {
    return weft::kernel<"scaled">(
        [factor](auto a) { return weft::compute<"y">(a.extent(0), [=](auto i) { return a(i) * factor; }); });
  };
  for (float const factor : {3.0f, 5.0f, 3.0f}) {
    scaled(factor)(x, weft::out(y));
    CHECK(y == weft::sequence<float>(8, 2.0f * factor));
  }
}
TEST_CASE("how-lambdas that take other ways when their first values are illegal do not share a form") {
  // Both try an unrolled tile that no machine holds first; the fallback is what differs.
  auto const tiled = [](std::int64_t fallback, bool vectorized) {
    return weft::kernel<"tiled">(
        [](auto a, auto b) {
          auto const n = a.extent(0), m = b.extent(1), k = a.extent(1);
          return weft::compute<"c">(n, m, [=](auto i, auto j) {
            return weft::sum(k, [=](auto l) { return a(i, l) * b(l, j); });
          });
        },
        [=](auto& s) {
          auto [i, j, k] = weft::stage<"c", 3>(s).axes();
          std::int64_t const rows = s.knob("rows", {120, fallback});
          auto [io, ii] = s.split(i, rows);
          auto [jo, ji] = s.split(j, 16);
          s.reorder(io, jo, k, ii, ji);
          s.unroll(ii);
          if (rows == 120 || vectorized) s.vectorize(ji);
        });
  };
  weft::tensor<float, 2> a(128, 8), b(8, 32);
  for (std::int64_t i = 0; i < 128 * 8; ++i) a.data()[i] = static_cast<float>(i % 5);
  for (std::int64_t i = 0; i < 8 * 32; ++i) b.data()[i] = static_cast<float>(i % 3);
  weft::tensor<float, 2> c(128, 32);
  auto const made_by = [&](std::int64_t fallback, bool vectorized) {
    std::uint64_t const before = weft::compilations();
    tiled(fallback, vectorized)(a, b, weft::out(c));
    return weft::compilations() - before;
  };
  CHECK(made_by(2, true) == 1);
  CHECK(made_by(2, true) == 0);
  CHECK(made_by(4, true) == 1);   // another value of the knob
  CHECK(made_by(2, false) == 1);  // other steps with the same value
  CHECK(made_by(4, true) == 0);
  CHECK(made_by(2, true) == 0);
  CHECK(made_by(2, false) == 0);
}
