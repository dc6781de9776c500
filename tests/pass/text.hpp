// Loop programs from text, for the tests of the passes.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "weft/ir/parse.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/verify.hpp"

namespace weft_test {

/// A: f32[64], D: f64[64] read, B: f32[64], C: f32[8, 64] written, with loop variables i, j, k, l and scalar alpha.
struct from_text {
  weft::ir::arena m{};
  weft::ir::function f;
  explicit from_text(std::string const& body)
      : f(weft::ir::parse(m,
                          "kernel k:\n  sizes n\n  scalars alpha: f32\n  variables i, j, k, l\n"
                          "  buffer A: f32[64] strides [1] in argument 0 alias 0 align 4\n"
                          "  buffer D: f64[64] strides [1] in argument 1 alias 1 align 8\n"
                          "  buffer B: f32[64] strides [1] in argument 2 written alias 2 align 4\n"
                          "  buffer C: f32[8, 64] strides [64, 1] in argument 3 written alias 3 align 4\n" + body)) {
    REQUIRE(weft::ir::verify(f) == "");
  }
  /// The body after `pass`, which must leave it sound.
  template <class Pass>
  std::string after(Pass const& pass) {
    f.body = pass(f);
    CHECK(weft::ir::verify(f) == "");
    return weft::ir::print(f.body, f);
  }
};

}  // namespace weft_test
