// A math function as compiled code over arrays, and as direct evaluation: both from the same one-stage program.
#pragma once

#include <weft/compile.hpp>
#include <weft/expr/canonical.hpp>
#include <weft/expr/evaluate.hpp>

#include <cstdint>
#include <vector>

namespace weft_test {

/// y(i) = o(a(i)) or o(a(i), b(i)).
inline weft::program math_program(weft::op o, weft::dtype type) {
  weft::program p;
  bool const two = weft::arity(o) == 2;
  int const a = p.add_input(weft::short_name("a"), type, 1), b = two ? p.add_input(weft::short_name("b"), type, 1) : -1;
  int const extent = p.extent_of(a, 0);
  int const axis = p.axis_node(p.add_axis(extent, 0, false));
  int const x = p.load(a, weft::sequence<int>{axis}), y = two ? p.load(b, weft::sequence<int>{axis}) : -1;
  p.outputs.push_back(p.add_stage(weft::short_name("y"), {-1, 0, 1, 1, 0}, type, {static_cast<std::int32_t>(extent)},
                                  {p.operation(o, type, x, y), 0}));
  return weft::canonical(p);
}

/// Compiled for arrays of `count` elements; `lanes` 1: scalar code.
class math_kernel {
 public:
  math_kernel(weft::op o, weft::dtype type, weft::target const& machine, std::int64_t count, int lanes)
      : math_kernel(math_program(o, type), machine, count, lanes) {}
  /// Of a program of one or two inputs and one output, all of `count` elements.
  math_kernel(weft::program const& p, weft::target const& machine, std::int64_t count, int lanes)
      : program_(p), lanes_(lanes), two_(p.inputs.size() == 2) {
    weft::call_layout layout;
    for (std::int32_t k = 0; k < (two_ ? 3 : 2); ++k) layout.arguments.push_back({{count}, {1}, 1, k});
    auto const how = [](void const* self, weft::schedule& s) {
      int const wanted = static_cast<math_kernel const*>(self)->lanes_;
      if (wanted == 1) return;
      auto const [outer, inner] = s.split(weft::axis{s.order[0][0]}, wanted);
      s.vectorize(inner);
      static_cast<void>(outer);
    };
    kernel_ = weft::compile({"math", &program_, how, this, &layout, &machine});
  }
  template <class T>
  void operator()(T const* a, T const* b, T* y) const {
    void* pointers[] = {const_cast<T*>(a), two_ ? const_cast<T*>(b) : y, y};
    weft::launch const l{pointers, nullptr, nullptr, nullptr, nullptr};
    kernel_.entry(&l);
  }

 private:
  weft::program program_;
  weft::compiled_kernel kernel_;
  int lanes_;
  bool two_;
};

}  // namespace weft_test
