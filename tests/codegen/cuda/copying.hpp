// Kernels for a GPU whose stages are copied to shared memory iterations ahead of their use, most of them asynchronously.
#pragma once

#include "codegen/cuda/scheduled.hpp"
#include "weft/expr/boundary.hpp"

namespace weft_test {

/// Copies of A and B for the loop ko of C, of `lanes` elements at a time, by `threads` threads in a row; `pad` elements behind each
/// row of theirs.
inline std::string wide_copies(int threads, int lanes, int pad = 0, bool are_there = false) {
  std::string text;
  for (char const* name : {"A", "B"}) {
    std::string const copy = std::string(name) + "_copy", n = std::to_string(lanes);
    if (!are_there) text += std::string("C: cache_read(") + name + ")\n";
    text += copy + ": compute_at(C, ko)\n" + copy + ": set_scope(shared)\n" + copy + ": split(j, " + n + ") -> jo, ji\n" + copy +
            ": fuse(i, jo) -> ijo\n" + copy + ": split(ijo, " + std::to_string(threads) + ") -> ijoo, ijoi\n" + copy + ": bind(ijoi, thread_x)\n" +
            copy + ": vectorize(ji)\n";
    if (pad > 0) text += copy + ": storage_align(0, " + std::to_string(2 * pad) + ", " + std::to_string(pad) + ")\n";
  }
  return text;
}
inline std::string ahead(std::string const& stage, int iterations, bool async = true) {
  return stage + ": pipeline(" + std::to_string(iterations) + (async ? ", async)\n" : ")\n");
}
inline std::string both_ahead(int iterations, bool async = true) { return ahead("A_copy", iterations, async) + ahead("B_copy", iterations, async); }
/// A block's tile of 32 x 32 of matrix units, by two warps.
inline std::string unit_tiles(std::string const& unit, int deep) {
  return "C: split(i, 32) -> io, ii\nC: split(ii, 16) -> iio, iii\nC: split(j, 32) -> jo, ji\nC: split(ji, 16) -> jio, jii\nC: split(k, " +
         std::to_string(deep) + ") -> ko, ki\nC: split(ki, 16) -> kio, kii\nC: reorder(io, jo, ko, iio, kio, jio, iii, jii, kii)\n"
         "C: bind(io, block_y)\nC: bind(jo, block_x)\nC: bind(iio, warp)\nC: unroll(jio)\nC: tensorize(iii, " + unit + ")\n";
}

/// A product whose copies have zeros behind the ends of A and B.
template <class T>
gpu_kernel product_with_zeros(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  gpu_kernel k{"product_with_zeros"};
  auto const a = k.input<T, 2>({rows, depth});
  auto const b = k.input<T, 2>({depth, columns});
  auto const zeros = [](auto x) {
    return [=](auto i, auto j) {
      auto const m = x.extent(0), n = x.extent(1);
      return select(i < m && j < n, x(min(i, m - 1), min(j, n - 1)), T(0));
    };
  };
  auto const up = [](std::int64_t n) { return (n + 31) / 32 * 32; };
  auto const left = compute<"A_copy">(up(rows), up(depth), zeros(a));
  auto const right = compute<"B_copy">(up(depth), up(columns), zeros(b));
  return k.out(compute<"C">(up(rows), up(columns), [=](auto i, auto j) {
    return sum(left.extent(1), [=](auto l) { return left(i, l) * right(l, j); });
  }));
}
/// A copy of A, twice it, and the sum of that and the copy.
inline gpu_kernel chain_of_copies(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"chain_of_copies"};
  auto const x = k.input<float, 2>({rows, columns});
  auto const a = compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j); });
  auto const b = compute<"b">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a(i, j) * 2.0f; });
  return k.out(compute<"out">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return b(i, j) + a(i, j + 1); }));
}
/// Rows of A that N names, each beside the one that it names next; zeros where it names none.
inline gpu_kernel gathered_rows(std::int64_t rows, std::int64_t columns, bool zeros) {
  gpu_kernel k{"gathered_rows"};
  auto const x = k.input<float, 2>({rows, columns});
  auto const n = k.input<std::int32_t, 1>({rows});
  auto const row = compute<"row">(x.extent(0), x.extent(1), [=](auto i, auto j) {
    auto const wanted = clamp(n(i), 0, static_cast<int>(rows) - 1);
    return select(zeros ? n(i) >= 0 : n(i) >= -1000, x(wanted, j), 0.0f);
  });
  return k.out(compute<"out">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return row(i, j) + row(i, j + 1); }));
}
/// The tensor that is copied is one of the kernel's own.
inline gpu_kernel copies_of_a_stage(std::int64_t rows, std::int64_t columns) {
  gpu_kernel k{"copies_of_a_stage"};
  auto const x = k.input<float, 2>({rows, columns});
  auto const a = compute<"a">(x.extent(0), x.extent(1), [=](auto i, auto j) { return x(i, j) * 2.0f; });
  return k.out(compute<"out">(x.extent(0), x.extent(1) - 1, [=](auto i, auto j) { return a(i, j) + a(i, j + 1); }));
}

/// All of them, with names of their own.
inline std::vector<gpu_kernel> copying_kernels() {
  std::vector<gpu_kernel> all;
  auto const add = [&](gpu_kernel k, std::string const& what, std::string const& steps) {
    k.name += "_" + what;
    k.steps = steps;
    all.push_back(std::move(k));
  };
  // Products: so many iterations ahead, of 4, 16 and 8 bytes, and other types
  for (int n : {1, 2, 3}) add(product<float>(64, 64, 64), "by_4_" + std::to_string(n), tiled(32, 32, 8, 4, 4, copies(8, 8)) + both_ahead(n));
  add(product<float>(64, 64, 64), "by_16", tiled(16, 32, 8, 4, 16, wide_copies(8, 4)) + both_ahead(2));
  add(product<float>(64, 64, 64), "by_8", tiled(16, 32, 8, 4, 16, wide_copies(8, 2)) + both_ahead(3));
  add(product<double>(32, 32, 32), "f64", tiled(32, 32, 8, 2, 8, wide_copies(8, 2)) + both_ahead(2));
  add(product<f16, float>(64, 64, 64), "f16_by_16", tiled(16, 32, 8, 4, 16, wide_copies(8, 8)) + both_ahead(2));
  add(product<f16, float>(64, 64, 64), "f16_by_4", tiled(16, 32, 8, 4, 16, wide_copies(8, 2)) + both_ahead(2));
  add(product<f16, float>(64, 64, 64), "f16_alone", tiled(32, 32, 16, 4, 8, copies(8, 4)) + both_ahead(2));
  add(product<std::int8_t, std::int32_t>(64, 64, 64), "i8", tiled(32, 32, 16, 4, 8, wide_copies(8, 4)) + both_ahead(2));
  add(product<float>(64, 64, 64), "plain", tiled(32, 32, 8, 4, 4, copies(8, 8)) + both_ahead(1, false));
  add(product<float>(64, 64, 64), "plain_3", tiled(32, 32, 8, 4, 4, copies(8, 8)) + both_ahead(3, false));
  add(product<float>(64, 64, 64), "one_of_two", tiled(32, 32, 8, 4, 4, copies(8, 8)) + ahead("A_copy", 2) + ahead("B_copy", 2, false));
  add(product<float>(64, 64, 64), "apart", tiled(32, 32, 8, 4, 4, copies(8, 8)) + ahead("A_copy", 3) + ahead("B_copy", 1));
  add(product<float>(64, 64, 64), "beside_one", tiled(32, 32, 8, 4, 4, copies(8, 8)) + ahead("A_copy", 2));
  // Fewer iterations than those ahead; one; parts of tiles at all ends
  add(product<float>(32, 32, 8), "once", tiled(32, 32, 8, 4, 4, copies(8, 8)) + both_ahead(3));
  add(product<float>(32, 32, 16), "twice", tiled(32, 32, 8, 4, 4, copies(8, 8)) + both_ahead(3));
  add(product<float>(70, 90, 50), "tail", tiled(32, 32, 8, 4, 4, copies(8, 8)) + both_ahead(2));
  add(product<float>(33, 17, 41), "odd", tiled(16, 16, 8, 2, 2, copies(8, 8)) + both_ahead(2));
  // Zeros where the tensors end
  for (int lanes : {1, 4})
    add(product_with_zeros<float>(40, 70, 50), "by_" + std::to_string(4 * lanes),
        tiled(16, 32, 8, 4, 16, wide_copies(8, lanes, 0, true)) + both_ahead(2));
  add(product_with_zeros<float>(40, 64, 48), "rows", tiled(16, 32, 8, 4, 16, wide_copies(8, 4, 0, true)) + both_ahead(2));
  // Matrix units
  add(product<f16, float>(64, 64, 64), "units", unit_tiles("wmma_f16", 16) + wide_copies(64, 8, 16) + both_ahead(2));
  add(product<f16, float>(64, 64, 96), "units_3", unit_tiles("wmma_f16", 32) + wide_copies(64, 8, 16) + both_ahead(3));
  // A stage between the copy and what is computed, itself ahead or not
  std::string const chain = "out: split(i, 4) -> io, ii\nout: split(io, 4) -> ioo, ioi\nout: bind(ioo, block_x)\nout: bind(j, thread_x)\n";
  auto const in_chain = [](char const* stage, char const* at) {
    return std::string(stage) + ": compute_at(out, " + at + ")\n" + stage + ": split(j, 8) -> jo, ji\n" + stage + ": bind(ji, thread_x)\n";
  };
  add(chain_of_copies(50, 33), "ahead", chain + in_chain("b", "ioi") + in_chain("a", "ioi") + ahead("a", 3) + ahead("b", 1, false));
  add(chain_of_copies(50, 33), "in_step", chain + in_chain("b", "ioi") + in_chain("a", "ioi") + ahead("a", 2));
  add(chain_of_copies(50, 33), "inlined", chain + "b: compute_inline()\n" + in_chain("a", "ioi") + ahead("a", 2));
  add(chain_of_copies(50, 33), "in_turns",  // the pipeline runs once for each of some rows
      chain + in_chain("b", "ii") + in_chain("a", "ii") + ahead("a", 2));
  add(chain_of_copies(50, 33), "in_each_other", chain + in_chain("b", "ii") + in_chain("a", "ioi") + ahead("a", 2) + ahead("b", 1, false));
  add(chain_of_copies(50, 33), "of_a_thread",
      "out: split(i, 16) -> io, ii\nout: bind(io, block_x)\nout: split(j, 8) -> jo, ji\nout: reorder(io, jo, ii, ji)\nout: bind(jo, thread_x)\n"
      "b: compute_inline()\na: compute_at(out, ii)\n" + ahead("a", 2));
  // Where memory says what is copied
  for (bool zeros : {false, true})
    add(gathered_rows(40, 24, zeros), zeros ? "or_zeros" : "there",
        "out: split(i, 8) -> io, ii\nout: bind(io, block_x)\nout: bind(j, thread_x)\nrow: compute_at(out, ii)\nrow: bind(j, thread_x)\n" + ahead("row", 2));
  add(copies_of_a_stage(40, 24), "launched",
      "a: bind(i, block_x)\na: bind(j, thread_x)\nout: cache_read(a)\nout: split(i, 8) -> io, ii\nout: bind(io, block_x)\nout: bind(j, thread_x)\n"
      "a_copy: compute_at(out, ii)\na_copy: bind(j, thread_x)\n" + ahead("a_copy", 2));
  return all;
}

}  // namespace weft_test
