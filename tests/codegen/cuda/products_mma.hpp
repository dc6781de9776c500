// Products by mma.sync, under schedules written by hand.
#pragma once

#include "codegen/cuda/computations.hpp"
#include "weft/schedule/rules/gpu.hpp"

namespace weft_test {

/// op(A) op(B), of elements that are widened to Sum.
template <class T, class Sum>
gpu_kernel wide_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool turn_a = false, bool turn_b = false) {
  gpu_kernel k{"wide_product"};
  auto const a = turn_a ? k.input<T, 2>({depth, rows}) : k.input<T, 2>({rows, depth});
  auto const b = turn_b ? k.input<T, 2>({columns, depth}) : k.input<T, 2>({depth, columns});
  return k.out(compute<"C">(a.extent(turn_a ? 1 : 0), b.extent(turn_b ? 0 : 1), [=](auto i, auto j) {
    return sum(a.extent(turn_a ? 0 : 1), [=](auto l) { return cast<Sum>(turn_a ? a(l, i) : a(i, l)) * cast<Sum>(turn_b ? b(j, l) : b(l, j)); });
  }));
}
/// Of rows that end in a dimension of one element.
inline gpu_kernel product_of_columns_of_one(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"product_of_columns_of_one"};
  auto const a = k.input<f16, 3>({rows, depth, 1});
  auto const b = k.input<f16, 2>({depth, columns});
  return k.out(compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return sum(a.extent(1), [=](auto l) { return cast<float>(a(i, l, 0)) * cast<float>(b(l, j)); });
  }));
}
inline gpu_kernel product_added_in_f16(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"product_in_f16"};
  auto const a = k.input<f16, 2>({rows, depth});
  auto const b = k.input<f16, 2>({depth, columns});
  return k.out(compute<"C">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return reduce(f16(0.0f), [](auto so_far, auto term) { return cast<f16>(so_far + term); }, a.extent(1),
                  [=](auto l) { return cast<f16>(a(i, l) * b(l, j)); });
  }));
}

/// What becomes of single sums: a bias and a residual are added, the result is cut off and rounded.
template <class T, class Out>
gpu_kernel layer_of_halves(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool stages = false) {
  gpu_kernel k{"layer_of_halves"};
  auto const a = k.input<T, 2>({rows, depth});
  auto const b = k.input<T, 2>({depth, columns});
  auto const bias = k.input<float, 1>({columns});
  auto const rest = k.input<Out, 2>({rows, columns});
  auto const s = compute<"S">(a.extent(0), b.extent(1), [=](auto i, auto j) {
    return sum(a.extent(1), [=](auto l) { return cast<float>(a(i, l)) * cast<float>(b(l, j)); });
  });
  if (!stages)
    return k.out(compute<"out">(a.extent(0), b.extent(1), [=](auto i, auto j) { return cast<Out>(max(s(i, j) + bias(j), 0.0f) + cast<float>(rest(i, j))); }));
  auto const biased = compute<"biased">(a.extent(0), b.extent(1), [=](auto i, auto j) { return s(i, j) + bias(j); });
  return k.out(compute<"out">(a.extent(0), b.extent(1), [=](auto i, auto j) { return cast<Out>(max(biased(i, j), 0.0f) + cast<float>(rest(i, j))); }));
}

/// A block's tile of `rows` x `columns`, `deep` terms at a time; warps of `warp_rows` x `warp_columns`.
struct mma_tiles {
  std::string unit = "mma_f16";
  int rows = 64, columns = 64, deep = 32, warp_rows = 32, warp_columns = 32, terms = 16;
  int warps() const { return rows / warp_rows * (columns / warp_columns); }
  std::string steps(std::string const& of = "C") const {
    auto const n = [](int v) { return std::to_string(v); };
    std::string text;
    auto const step = [&](std::string const& s) { text += of + ": " + s + "\n"; };
    step("split(i, " + n(rows) + ") -> io, ii"), step("split(ii, " + n(warp_rows) + ") -> iio, iii"), step("split(iii, 16) -> iiio, iiii");
    step("split(j, " + n(columns) + ") -> jo, ji"), step("split(ji, " + n(warp_columns) + ") -> jio, jii"), step("split(jii, 16) -> jiio, jiii");
    step("split(k, " + n(deep) + ") -> ko, ki"), step("split(ki, " + n(terms) + ") -> kio, kii");
    step("reorder(io, jo, ko, iio, jio, kio, iiio, jiio, iiii, jiii, kii)"), step("fuse(iio, jio) -> iiojio");
    step("bind(io, block_y)"), step("bind(jo, block_x)"), step("bind(iiojio, warp)");
    step("unroll(iiio)"), step("unroll(jiio)"), step("tensorize(iiii, " + unit + ")");
    return text;
  }
  /// Copies that end in zeros, by what a block has of each; `padding` in their place.
  std::string ending_in(int padding, std::string const& of = "C") const {
    auto const copy = [&](char const* name, int rows_of, int columns_of) {
      std::string const a = std::to_string(rows_of), b = std::to_string(columns_of), its = std::string(name) + "_copy: ";
      return of + ": cache_read(" + name + ")\n" + its + "transform_layout(0, " + a + ", 0, 1, " + b + ", 0, 0, 1, " + a + ", 1, 1, " + b + ", " +
             std::to_string(padding) + ")\n" + its + "compute_at(" + of + ", ko)\n" + its + "set_scope(shared)\n" + its + "storage_align(2, 16, 8)\n" +
             its + "fuse(i, j, k, l) -> ijkl\n" + its + "split(ijkl, " + std::to_string(32 * warps()) + ") -> ijklo, ijkli\n" + its + "bind(ijkli, thread_x)\n";
    };
    return copy("A", rows, deep) + copy("B", deep, columns);
  }
  static constexpr int swizzled = -2;
  /// Copies in shared memory of what a block reads of `tensors`, with rows that are 16 bytes longer, or swizzled: `wide` elements are 16 bytes.
  std::string copies(int wide, std::string const& of = "C", int pad = -1) const {
    std::string text;
    for (char const* name : {"A", "B"}) {
      std::string const copy = std::string(name) + "_copy";
      auto const step = [&](std::string const& s) { text += copy + ": " + s + "\n"; };
      text += of + ": cache_read(" + name + ")\n";
      step("compute_at(" + of + ", ko)"), step("set_scope(shared)"), step("split(j, " + std::to_string(wide) + ") -> jo, ji");
      step("fuse(i, jo) -> ijo"), step("split(ijo, " + std::to_string(32 * warps()) + ") -> ijoo, ijoi"), step("bind(ijoi, thread_x)");
      step("vectorize(ji)"), step(pad == swizzled ? "swizzle()" : "storage_align(0, " + std::to_string(2 * wide) + ", " + std::to_string(pad < 0 ? wide : pad) + ")");
    }
    return text;
  }
};

inline std::vector<gpu_kernel> mma_products() {
  std::vector<gpu_kernel> all;
  auto const add = [&](gpu_kernel k, char const* what, std::string const& steps) {
    k.name += std::string("_mma_") + what;
    k.steps = steps;
    all.push_back(std::move(k));
  };
  mma_tiles const one{.rows = 16, .columns = 16, .deep = 16, .warp_rows = 16, .warp_columns = 16}, four{};
  add(wide_product<f16, float>(32, 48, 16), "one_tile", one.steps());
  add(wide_product<f16, float>(32, 32, 32), "one_tile_shared", one.steps() + one.copies(8));
  add(wide_product<f16, float>(64, 64, 64), "direct", four.steps());
  add(wide_product<f16, float>(64, 128, 64), "shared", four.steps() + four.copies(8));
  add(wide_product<f16, float>(64, 64, 64, true, false), "left_turned", four.steps() + four.copies(8));
  add(wide_product<f16, float>(64, 64, 64, false, true), "right_turned", four.steps() + four.copies(8));
  add(wide_product<f16, float>(64, 64, 64, true, true), "both_turned", four.steps() + four.copies(8));
  add(wide_product<f16, float>(64, 64, 64, true, true), "both_turned_direct", four.steps());
  // A block of 128 threads, all of which copy, and two warps that multiply, in a branch where nobody may wait.
  mma_tiles const shallow{.rows = 32, .columns = 32, .deep = 16, .warp_rows = 16, .warp_columns = 16};
  add(wide_product<f16, float>(32, 16, 16), "by_some_of_the_warps", shallow.steps() + shallow.copies(8));
  // rows of 64 and 128 bytes, turned and not; of 32 and 256
  std::string const in_place = four.steps() + four.copies(8, "C", mma_tiles::swizzled), ahead = "A_copy: pipeline(2, async)\nB_copy: pipeline(2, async)\n";
  add(wide_product<f16, float>(64, 64, 96), "swizzled", in_place + ahead);
  add(wide_product<f16, float>(64, 64, 64, true, false), "left_turned_swizzled", in_place);
  add(wide_product<f16, float>(64, 64, 64, false, true), "right_turned_swizzled", in_place);
  mma_tiles const long_rows{.rows = 32, .columns = 128, .deep = 16, .warp_rows = 32, .warp_columns = 32};
  add(wide_product<f16, float>(32, 128, 32), "long_rows_swizzled", long_rows.steps() + long_rows.copies(8, "C", mma_tiles::swizzled));
  mma_tiles const sixes{.rows = 48, .columns = 96, .deep = 48, .warp_rows = 48, .warp_columns = 32};
  add(wide_product<f16, float>(48, 96, 48), "rows_of_six_and_twelve_swizzled", sixes.steps() + sixes.copies(8, "C", mma_tiles::swizzled));
  mma_tiles bf16_tiles{.unit = "mma_bf16", .rows = 32, .warp_rows = 16};
  add(wide_product<bf16, float>(32, 64, 64), "bf16", bf16_tiles.steps() + bf16_tiles.copies(8));
  add(wide_product<bf16, float>(32, 64, 32), "bf16_direct", bf16_tiles.steps());
  mma_tiles in_f16{.unit = "mma_f16_in_f16"};
  add(product_added_in_f16(64, 64, 32), "f16", in_f16.steps() + in_f16.copies(8));
  mma_tiles bytes{.unit = "mma_s8", .rows = 32, .deep = 64, .warp_rows = 16, .terms = 32};
  add(wide_product<std::int8_t, std::int32_t>(32, 64, 64, false, true), "s8", bytes.steps() + bytes.copies(16));
  add(wide_product<std::int8_t, std::int32_t>(32, 64, 64, false, true), "s8_swizzled", bytes.steps() + bytes.copies(16, "C", mma_tiles::swizzled));
  add(wide_product<std::int8_t, std::int32_t>(32, 64, 64), "s8_single_bytes", bytes.steps() + bytes.copies(16));
  bytes.unit = "mma_u8";
  add(wide_product<std::uint8_t, std::int32_t>(32, 64, 64, false, true), "u8", bytes.steps() + bytes.copies(16));
  mma_tiles singles{.unit = "mma_tf32", .rows = 32, .deep = 16, .warp_rows = 16, .terms = 8};
  add(wide_product<float, float>(32, 64, 32, false, true), "tf32", singles.steps() + singles.copies(4));
  add(wide_product<float, float>(32, 64, 32), "tf32_single", singles.steps() + singles.copies(4));
  std::string const by_four = four.steps("S") + four.copies(8, "S"), behind = "out: reverse_compute_inline()\n";
  add(layer_of_halves<f16, f16>(64, 128, 32), "behind", by_four + behind);
  add(layer_of_halves<f16, float>(128, 64, 32, true), "two_behind", by_four + "biased: compute_inline()\n" + behind);
  add(layer_of_halves<bf16, bf16>(32, 64, 32), "bf16_behind", bf16_tiles.steps("S") + bf16_tiles.copies(8, "S") + behind);
  return all;
}

/// `k` with the steps of the rule, which may take matrix units.
inline gpu_kernel by_rule_with_units(gpu_kernel k, char const* what, bool reassociate = true, weft::sequence<std::string>* told = nullptr,
                                     weft::sequence<intrinsic const*> units = {&mma_f16, &mma_bf16, &mma_s8, &mma_u8}) {
  k.name += std::string("_") + what;
  program const expanded = expand(canonical(k.p), true);
  schedule s(expanded, [&](int t, int d) { return gpu_trial::extent_of(k, t, d); }, {0, 16});
  rule_input in;
  in.reassociate = reassociate;
  in.strides.resize(expanded.tensors.size());
  if (!k.names.empty()) in.likely = k.shapes, in.likely.resize(expanded.tensors.size());
  in.dots = units;
  in.told = told;
  schedule_by_gpu_rule(s, in);
  k.steps = print_trace(s);
  return k;
}
template <class T, class Sum>
gpu_kernel batched_wide(std::int64_t batch, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"batched_wide"};
  auto const a = k.input<T, 3>({batch, rows, depth});
  auto const b = k.input<T, 3>({batch, depth, columns});
  return k.out(compute<"C">(a.extent(0), a.extent(1), b.extent(2), [=](auto n, auto i, auto j) {
    return sum(a.extent(2), [=](auto l) { return cast<Sum>(a(n, i, l)) * cast<Sum>(b(n, l, j)); });
  }));
}
/// Products by rule: those of narrow types by mma, with zeros behind the ends where tiles are not whole, those of f32 as they were, and what
/// becomes of single sums behind whole ones.
inline std::vector<gpu_kernel> ruled_products() {
  std::vector<gpu_kernel> all;
  auto const add = [&](gpu_kernel k, char const* what) { all.push_back(by_rule_with_units(std::move(k), what)); };
  add(wide_product<f16, float>(64, 64, 64), "mma");
  add(wide_product<f16, float>(64, 96, 48), "mma_uneven");
  add(wide_product<f16, float>(64, 64, 64, true, false), "mma_left");
  add(wide_product<f16, float>(64, 64, 64, false, true), "mma_right");
  add(wide_product<f16, float>(64, 64, 64, true, true), "mma_both");
  add(wide_product<f16, float>(40, 64, 32), "mma_rows");
  add(wide_product<f16, float>(64, 64, 40), "mma_terms");
  add(wide_product<f16, float>(64, 64, 168), "mma_stages");
  add(wide_product<f16, float>(64, 72, 256, false, true), "mma_columns");
  add(wide_product<f16, float>(45, 51, 37), "mma_odd");
  add(wide_product<f16, float>(45, 51, 37, true, true), "mma_odd_both");
  add(wide_product<f16, float>(33, 46, 70), "mma_even");
  add(wide_product<bf16, float>(17, 70, 50), "mma_odd_bf16");
  add(wide_product<std::int8_t, std::int32_t>(33, 47, 51), "mma_odd_s8");
  add(wide_product<std::uint8_t, std::int32_t>(40, 48, 80, false, true), "mma_rows_u8");
  add(wide_product<f16, float>(64, 64, 6), "few_terms");
  add(wide_product<bf16, float>(32, 64, 32), "mma_bf16");
  add(wide_product<std::int8_t, std::int32_t>(32, 64, 64), "mma_s8");
  add(wide_product<std::uint8_t, std::int32_t>(32, 64, 64, false, true), "mma_u8");
  add(batched_wide<f16, float>(3, 32, 64, 32), "mma");
  add(batched_wide<f16, float>(3, 20, 33, 24), "mma_odd");
  add(layer_of_halves<f16, f16>(70, 90, 40), "mma_tail");
  add(layer_of_halves<f16, f16>(64, 64, 32), "mma_behind");
  add(layer_of_halves<bf16, float>(64, 64, 32, true), "mma_two_behind");
  add(layer_of_halves<float, float>(64, 96, 40), "behind");
  add(layer_of_halves<float, f16>(256, 128, 32, true), "two_behind");
  add(layer_of_halves<float, float>(70, 90, 40), "tail");
  return all;
}

}  // namespace weft_test
