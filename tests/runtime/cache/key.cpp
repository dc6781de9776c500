#include "weft/runtime/cache/key.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "lower/programs.hpp"
#include "weft/intrinsics.hpp"
#include "weft/kernel.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {

/// All that goes into a key, to be changed one by one.
struct parts {
  std::string name = "product";
  program what = weft_test::matmul();
  trace steps;
  call_layout layout;
  target machine = x86_64_avx2();
  parts() {
    layout = lowered_program{what, {{7, 9}, {9, 45}}}.layout();
    schedule s(what, [](int, int) { return std::int64_t(-1); });
    s.split(axis{0}, 4);
    steps = s.steps;
  }
  bool checked = false;
  std::string key() const { return cache::key_of(name, what, steps, layout, machine, checked); }
};
template <class Change>
std::string changed(Change const& change) {
  parts p;
  change(p);
  return p.key();
}

}  // namespace

TEST_CASE("equal kernels have equal keys, and everything that code follows from makes another") {
  CHECK(parts().key() == parts().key());
  std::set<std::string> keys{parts().key()};
  std::size_t made = 1;
  auto const other = [&](auto const& change) {
    keys.insert(changed(change));
    CHECK_MESSAGE(keys.size() == ++made, "change number " << made - 1);
  };
  other([](parts& p) { p.name = "product_"; });
  other([](parts& p) { p.checked = true; });
  other([](parts& p) { p.machine.cpu = "x86-64-v4"; });
  other([](parts& p) { p.machine.arch = architecture::aarch64; });
  other([](parts& p) { p.machine.features.pop_back(); });
  other([](parts& p) { p.machine.features.back() += "x"; });
  other([](parts& p) { p.machine.vector_bytes = 64; });
  other([](parts& p) { p.machine.vector_registers = 32; });
  other([](parts& p) { p.machine.fma = !p.machine.fma; });
  other([](parts& p) { p.steps.pop_back(); });
  other([](parts& p) { p.steps[0].factor = 8; });
  other([](parts& p) { p.steps[0].loops[0] = 1; });
  other([](parts& p) { p.steps[0].what = verb::unroll; });
  other([](parts& p) { p.steps[0].by = &pmaddwd; });
  other([](parts& p) { p.steps[0].by = &vdpbf16ps; });
  other([](parts& p) { p.layout.arguments[0].packed = true; });
  other([](parts& p) { p.layout.arguments[0].strides[0] = open_stride; });
  other([](parts& p) { p.layout.arguments[0].extents[0] = weft_test::dim_code("m"); });
  other([](parts& p) { p.layout.arguments[0].extents[0] = weft_test::dim_code("n"); });
  other([](parts& p) { p.layout.arguments[0].extents[0] = 8; });
  other([](parts& p) { p.layout.arguments[2].strides[0] = 64; });
  other([](parts& p) { p.layout.arguments[1].alignment = 64; });
  other([](parts& p) { p.layout.arguments[2].alias_class = 0; });
  other([](parts& p) { p.what.results[0].identity = 1; });
  other([](parts& p) { p.what.tensors[0].type = dtype::f64; });
  other([](parts& p) { p.what.tensors[2].name = short_name("D"); });
  other([](parts& p) { p.what.inputs[0].type = dtype::i32; });
  other([](parts& p) { p.what.axes[2].reduced = false; });
  other([](parts& p) { p.what.operands[1] = p.what.operands[0]; });
  other([](parts& p) { p.what.outputs.push_back(0); });
  other([](parts& p) { p.what.scalars = 1; });
  for (std::size_t i = 0; i < parts().what.nodes.size(); ++i) {
    other([&](parts& p) { p.what.nodes[i].value += 1; });
    other([&](parts& p) { p.what.nodes[i].a += 1; });
    other([&](parts& p) { p.what.nodes[i].kind = static_cast<op>(static_cast<int>(p.what.nodes[i].kind) ^ 1); });
    other([&](parts& p) { p.what.nodes[i].type = dtype::u8; });
  }
}
TEST_CASE("what only steers schedules, and differs from run to run, is not in the key") {
  std::string const key = parts().key();
  CHECK(key == changed([](parts& p) { p.machine.threads += 7; }));
  CHECK(key == changed([](parts& p) { p.machine.l1_bytes += 7, p.machine.l2_bytes += 7, p.machine.l3_bytes += 7, p.machine.l3_bytes_per_cycle += 7, p.machine.vector_units += 7; }));
  CHECK(key == changed([](parts& p) { p.steps[0].ruling = verdict::deferred, p.steps[0].reason = diagnosis::none; }));
}
TEST_CASE("the LLVM that WEFT_LLVM asks for is in the key") {
  char const* const before = std::getenv("WEFT_LLVM");
  std::string const kept = before != nullptr ? before : "";
  ::setenv("WEFT_LLVM", "19", 1);
  std::string const nineteen = parts().key();
  ::setenv("WEFT_LLVM", "22", 1);
  CHECK(parts().key() != nineteen);
  ::unsetenv("WEFT_LLVM");
  CHECK(parts().key() != nineteen);
  if (before != nullptr) ::setenv("WEFT_LLVM", kept.c_str(), 1);
}
TEST_CASE("captured values are in the key: they are literals of the program") {
  auto const program_with = [](float factor) {
    return detail::build<arg<float, 1>>(
        [=](auto x) { return compute<"y">(x.extent(0), [=](auto i) { return x(i) * factor; }); });
  };
  auto const key = [&](float factor) {
    parts p;
    p.what = program_with(factor);
    return p.key();
  };
  CHECK(key(2.0f) == key(2.0f));
  CHECK(key(2.0f) != key(3.0f));
  CHECK(key(0.0f) != key(-0.0f));
}
TEST_CASE("the head of a key names the kernel") {
  std::string const key = parts().key();
  cache::key_head const h = cache::head_of(key);
  CHECK(h.kernel == "product");
  CHECK(h.target == "x86-64-v3");
  CHECK(h.version.substr(0, 2) == "0.");
  CHECK(cache::head_of("").kernel == "");
  CHECK(cache::head_of(key.substr(0, 9)).kernel == "");
}
