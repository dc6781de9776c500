// expect: the_pattern_of_an_intrinsic_is_one_stage_that_reduces_one_axis
#include <weft/intrinsics.hpp>
#include <weft/weft.hpp>

constexpr auto addition = [](auto a, auto b) {
  return weft::compute<"c">(a.extent(0), [=](auto i) { return a(i, 0) + b(i, 0); });
};
constexpr weft::machine_form form{"avx2", "llvm.x86.none", 8};
inline constexpr auto sums = weft::declare_intrinsic<"sums", float, float>(addition, {form});  // <- here

int main() {}
