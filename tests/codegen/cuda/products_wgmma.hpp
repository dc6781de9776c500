// Products by wgmma, under schedules written by hand.
#pragma once

#include "codegen/cuda/products_mma.hpp"

namespace weft_test {

/// A block of `rows` x `columns`, a warp for each 16 rows; 64 terms at a time, copied `ahead` iterations ahead where that is not 0.
struct wgmma_tiles {
  std::string unit = "wgmma_f16";
  int rows = 64, columns = 128, ahead = 2;
  bool turned = false;  // B has a row for each column of the product
  std::string steps(std::string const& of = "C") const {
    mma_tiles const tiles{.unit = unit, .rows = rows, .columns = columns, .deep = 64, .warp_rows = 16, .warp_columns = columns};
    std::string text = tiles.steps(of);
    text.insert(text.find(of + ": unroll(iiio)"), of + ": unroll(kio)\n");
    for (char const* name : {"A", "B"}) {
      std::string const copy = std::string(name) + "_copy";
      bool const panels = !turned && name[0] == 'B';
      auto const step = [&](std::string const& s) { text += copy + ": " + s + "\n"; };
      text += of + ": cache_read(" + name + ")\n";
      if (panels) step("transform_layout(1, 64, 0, 0, 1, 0, 1, 1, 64, 0)");
      step("compute_at(" + of + ", ko)"), step("swizzle()"), step("set_scope(shared)");
      if (panels) step("split(k, 8) -> ko, ki"), step("fuse(i, j, ko) -> ijko");
      else step("split(j, 8) -> jo, ji"), step("fuse(i, jo) -> ijo");
      std::string const all = panels ? "ijko" : "ijo";
      step("split(" + all + ", " + std::to_string(2 * rows) + ") -> " + all + "o, " + all + "i"), step("bind(" + all + "i, thread_x)");
      step(panels ? "vectorize(ki)" : "vectorize(ji)");
      if (ahead > 0) step("pipeline(" + std::to_string(ahead) + ", async)");
    }
    return text;
  }
};

inline std::vector<gpu_kernel> wgmma_products() {
  std::vector<gpu_kernel> all;
  auto const add = [&](gpu_kernel k, char const* what, std::string const& steps) {
    k.name += std::string("_wgmma_") + what;
    k.steps = steps;
    all.push_back(std::move(k));
  };
  add(wide_product<f16, float>(64, 128, 64), "one_block", wgmma_tiles{.ahead = 0}.steps());
  add(wide_product<f16, float>(64, 64, 192), "one_panel", wgmma_tiles{.columns = 64}.steps());
  add(wide_product<f16, float>(64, 256, 256), "blocks", wgmma_tiles{}.steps());
  add(wide_product<f16, float>(256, 128, 128), "sixteen_warps", wgmma_tiles{.rows = 256, .ahead = 1}.steps());
  add(wide_product<f16, float>(64, 256, 128), "widest", wgmma_tiles{.columns = 256, .ahead = 1}.steps());
  add(wide_product<f16, float>(64, 192, 128), "three_panels", wgmma_tiles{.columns = 192, .ahead = 1}.steps());
  add(wide_product<f16, float>(128, 128, 128, false, true), "turned", wgmma_tiles{.rows = 128, .ahead = 1, .turned = true}.steps());
  add(wide_product<bf16, float>(128, 128, 192), "bf16", wgmma_tiles{.unit = "wgmma_bf16"}.steps());
  std::string const behind = "out: reverse_compute_inline()\n";
  add(layer_of_halves<f16, f16>(64, 128, 192), "behind", wgmma_tiles{}.steps("S") + behind);
  return all;
}

}  // namespace weft_test
