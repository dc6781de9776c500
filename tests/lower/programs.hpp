// Programs lowered for given shapes, as text.
#pragma once

#include <string>
#include <weft/base/sequence.hpp>

#include "schedule/programs.hpp"
#include "weft/expr/expand.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/verify.hpp"
#include "weft/lower/lower.hpp"

namespace weft_test {

/// What stands for a name in a layout; see weft::dim_text.
constexpr std::int64_t dim_code(std::string_view name) {
  std::int64_t code = 0;
  for (std::size_t i = name.size(); i-- > 0;) code = code * 128 + name[i];
  return -2 - code;
}

/// A program over inputs of the given shapes, row-major.
struct lowered_program {
  weft::program p;
  weft::sequence<weft::sequence<std::int64_t>> shapes;  // of the inputs
  weft::ir::arena m{};
  weft::sequence<weft::sequence<char const*>> dims{};  // of the inputs; null: a number. Empty: all numbers
  weft::vector_tails tails = weft::vector_tails::partition;
  std::int32_t threads = 0;

  std::int64_t extent(int tensor, int dim) const {
    return shapes[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(dim)];
  }
  /// The extent, or the code of its name.
  std::int64_t given(int tensor, int dim) const {
    char const* const name =
        dims.empty() ? nullptr : dims[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(dim)];
    return name == nullptr ? extent(tensor, dim) : dim_code(name);
  }
  weft::call_layout layout() const {
    weft::call_layout l;
    auto const add = [&](weft::sequence<std::int64_t> const& shape) {
      weft::argument_layout a{shape, weft::sequence<std::int64_t>(shape.size(), 1), 4,
                              static_cast<std::int32_t>(l.arguments.size())};
      for (std::size_t d = shape.size(); d > 1; --d)
        a.strides[d - 2] = a.strides[d - 1] * (shape[d - 1] > 1 ? shape[d - 1] : 1);
      l.arguments.push_back(a);
    };
    for (auto const& s : shapes) add(s);
    for (std::int32_t t : p.outputs) {
      weft::sequence<std::int64_t> shape;
      for (int d = 0; d < p.tensors[static_cast<std::size_t>(t)].rank; ++d)
        shape.push_back(extent_value(p, p.extent_of(t, d), [&](int x, int dim) { return extent(x, dim); }));
      add(shape);
    }
    if (dims.empty()) return l;
    for (std::size_t i = 0; i < l.arguments.size(); ++i) {
      weft::argument_layout& a = l.arguments[i];
      for (std::size_t d = 0; d < a.extents.size(); ++d) {
        auto const in = [&](int t, int dim) { return given(t, dim); };
        std::int64_t const e = i < shapes.size()
                                   ? given(static_cast<int>(i), static_cast<int>(d))
                                   : extent_value(p, p.extent_of(p.outputs[i - shapes.size()], static_cast<int>(d)), in);
        a.extents[d] = e == weft::open_extent ? -1 : e;
        a.packed = a.packed || e < 0;
      }
      for (std::int64_t& s : a.strides) s = a.packed ? weft::open_stride : s;
    }
    return l;
  }
  /// `how(schedule, loops of the first stage)`
  template <class How>
  weft::ir::function operator()(How const& how) {
    weft::schedule s(p, [&](int t, int d) { return given(t, d); });
    auto const first = s.order[0];  // as it is before the steps
    how(s, first);
    CHECK(s.state != weft::verdict::illegal);
    weft::ir::function f = weft::lower(m, s.computation(), s, layout(), "k", tails, weft::narrow_memory::yes, threads);
    CHECK(weft::ir::verify(f) == "");
    return f;
  }
  weft::ir::function plain() {
    return (*this)([](auto&, auto const&) {});
  }
};
inline std::string body(weft::ir::function const& f) { return weft::ir::print(f.body, f); }

/// `body(inputs.., axes..)` over one input of rank 1, as a stage as long as the input.
template <class Body>
weft::program map_program(Body const& body) {
  weft::program p;
  weft::expr::tensor<float, 1> const x{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 1)};
  auto const y = weft::compute<"B">(x.extent(0), [=](auto i) { return body(x, i); });
  p.outputs.push_back(y.id);
  return weft::canonical(p);
}

}  // namespace weft_test
