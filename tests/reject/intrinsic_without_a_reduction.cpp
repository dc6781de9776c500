// expect: the_pattern_of_an_intrinsic_is_one_stage_that_reduces_one_axis
#include <weft/intrinsics.hpp>

inline constexpr weft::intrinsic sums = weft::declare_intrinsic<"sums", float, float>(  // <- here
    [](auto a, auto b) { return weft::compute<"c">(a.extent(0), [=](auto i) { return a(i, 0) + b(i, 0); }); },
    {{"avx2", "llvm.x86.none", 8}});

int main() {}
