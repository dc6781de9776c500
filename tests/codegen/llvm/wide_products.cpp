// Products of 64 bits of which a few are wanted: compilers take them from instructions for fewer bits.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "weft/direct.hpp"
#include "weft/weft.hpp"

namespace {
/// `bits` of the products of ends of a type and numbers between, behind `shift`, and divided by 2^19.
template <class T, class Wide, class To>
void check_products() {
  std::vector<T> a, b;
  for (int i = 0; i < 131; ++i) {
    T const ends[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), static_cast<T>(i * 7919), static_cast<T>(-i * 331), static_cast<T>(1), static_cast<T>(-1)};
    a.push_back(ends[i % 6]), b.push_back(ends[i * 5 / 6 % 6]);
  }
  auto const x = weft::view(a, 131), y = weft::view(b, 131);
  auto const agree = [&](auto const& product) {
    for (weft::target const& on : {weft::host(), weft::x86_64_avx2(), weft::x86_64_sse2()})
      if (weft::cannot_run_here(on).empty()) CHECK(product.on(on)(x, y) == weft::evaluate(product, x, y));
  };
  agree(weft::kernel<"shifted">([](auto p, auto q) {
    return weft::compute<"c">(p.extent(0), [=](auto i) { return weft::cast<To>(weft::cast<Wide>(p(i)) * weft::cast<Wide>(q(i)) >> 19); });
  }));
  agree(weft::kernel<"by_a_number">([](auto p, auto q) {
    return weft::compute<"c">(p.extent(0), [=](auto i) { return weft::cast<To>((weft::cast<Wide>(p(i)) * Wide(1000) >> 20) + weft::cast<Wide>(q(i)) * Wide(0)); });
  }));
  agree(weft::kernel<"high">([](auto p, auto q) {
    return weft::compute<"c">(p.extent(0), [=](auto i) { return weft::cast<To>(weft::cast<Wide>(p(i)) * weft::cast<Wide>(q(i)) >> 35); });
  }));
  agree(weft::kernel<"divided">([](auto p, auto q) {
    return weft::compute<"c">(p.extent(0), [=](auto i) { return weft::cast<To>(weft::cast<Wide>(p(i)) * weft::cast<Wide>(q(i)) / Wide(1 << 19)); });
  }));
}
}  // namespace

TEST_CASE("of a product of 64 bits those are right that are wanted") {
  check_products<std::int16_t, std::int64_t, std::int16_t>();
  check_products<std::int16_t, std::int64_t, std::uint16_t>();
  check_products<std::uint16_t, std::uint64_t, std::uint16_t>();
  check_products<std::int8_t, std::int64_t, std::int16_t>();
  check_products<std::int32_t, std::int64_t, std::int32_t>();
}
