// A program written by hand, run in all the ways in which drawn ones are.
#pragma once

#include "fuzz/run.hpp"
#include "schedule/programs.hpp"
#include "weft/compile.hpp"
#include "weft/intrinsics.hpp"

namespace weft_test::fuzz {

using weft::expr::tensor;

/// Inputs made of sequences of extents; `steps` as print_trace writes them.
struct found {
  weft::program p{};
  weft::sequence<weft::sequence<std::int64_t>> shapes{};

  template <class T, int Rank>
  tensor<T, Rank> input(weft::sequence<std::int64_t> const& shape) {
    char const name[] = {static_cast<char>('A' + p.inputs.size())};
    shapes.push_back(shape);
    return {&p, p.add_input(weft::short_name(std::string_view(name, 1)), weft::dtype_of<T>, Rank)};
  }
  /// Runs the program with this last stage in every way, over memory and numbers of several kinds; `compiled`: for the
  /// first so many of them by machine code, too. Sanitizers, which are slow, get two.
  template <class Stage>
  void check(Stage const& last, std::string const& steps, std::uint64_t seeds = 12, std::uint64_t compiled = 12) {
    if (is_sanitized) seeds = std::min<std::uint64_t>(seeds, 2);
    p.outputs.push_back(last.id);
    for (std::uint64_t seed = 0; seed < seeds; ++seed)
      run(seed, seed < compiled, [&](drawn const& d, random_source&) {
        return weft::parse_trace(steps, weft::schedule(d.what, extents_of(d)), weft::shipped_intrinsics);
      });
  }
  /// The same under steps that are drawn; answers how often one of them was `wanted`.
  template <class Stage>
  int check_drawn(Stage const& last, weft::verb wanted, std::uint64_t first, std::uint64_t seeds) {
    int count = 0;
    p.outputs.push_back(last.id);
    for (std::uint64_t seed = first; seed < first + seeds; ++seed)
      run(seed, true, [&](drawn const& d, random_source& r) {
        weft::trace const steps = draw_steps(r, weft::schedule(d.what, extents_of(d)), d.order_free, {});
        for (weft::step const& s : steps) count += s.what == wanted;
        return steps;
      });
    return count;
  }

 private:
  template <class Steps>
  void run(std::uint64_t seed, bool compiled, Steps const& steps) {
    verified_compilations const verified;
    drawn d;
    d.seed = seed;
    d.what = weft::canonical(p);
    random_source r(seed);
    for (std::size_t t = 0; t < shapes.size(); ++t) {
      d.tensors.push_back(draw_tensor(r, p.tensors[t].type, shapes[t], seed % 2 == 1));
      for (std::int64_t e : shapes[t]) d.has_empty = d.has_empty || e == 0;
    }
    d.order_free.resize(p.stages.size(), true);
    weft::trace trace = steps(d, r);
    INFO("seed " << seed << "\n" << describe(d, trace));
    CHECK(check_possible(check_interpreted, d, trace) == "");
    if (compiled) CHECK(check_possible(check_compiled, d, trace) == "");
  }
};

}  // namespace weft_test::fuzz
