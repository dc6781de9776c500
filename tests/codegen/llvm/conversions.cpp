// Every conversion between element types as machine code and by the interpreter, against base/op.hpp, bit for bit.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/reference.hpp"
#include "weft/codegen/launch.hpp"
#include "weft/codegen/llvm/jit.hpp"
#include "weft/codegen/llvm/module.hpp"
#include "weft/interp/interp.hpp"
#include "weft/ir/parse.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/verify.hpp"
#include "weft/pass/pipeline.hpp"

using namespace weft;
using namespace weft_test;

namespace {

/// to_T[i] = cast<T>(A[i]) for each type T among `targets`, in a loop each; inner loops of `lanes` are vectorized. With
/// another `via` than `from` each goes there first.
std::string casts_text(dtype from, dtype via, sequence<dtype> const& targets, std::int64_t count, std::int64_t lanes) {
  std::string const n = std::to_string(count), l = std::to_string(lanes);
  std::string names, buffers, loops;
  int argument = 0;
  auto const buffer = [&](std::string const& name, dtype t, bool written) {
    std::string const number = std::to_string(argument++), type(weft::name(t));
    buffers += "  buffer " + name + ": " + type + "[" + n + "] strides [1] in argument " + number +
               (written ? " written alias " : " alias ") + number + " align " + std::to_string(size_bytes(t)) + "\n";
  };
  buffer("A", from, false);
  auto const element = [&](std::string const& at) {
    return via == from ? "A" + at : "cast<" + std::string(weft::name(via)) + ">(A" + at + ")";
  };
  for (dtype to : targets) {
    std::string const type(weft::name(to)), o = "o_" + type, i = "i_" + type,
                                            at = "[" + o + " * " + l + " + " + i + "]";
    names += (names.empty() ? "" : ", ") + o + ", " + i;
    buffer("to_" + type, to, true);
    loops += "  for " + o + " in 0.." + std::to_string(count / lanes) + ":\n    for " + i + " in 0.." + l +
             (lanes > 1 ? " vectorized" : "") + ":\n      to_" + type + at + " = " +
             (to == via ? element(at) : "cast<" + type + ">(" + element(at) + ")") + "\n";
  }
  return "kernel casts:\n  variables " + names + "\n" + buffers + loops;
}
std::vector<unsigned char> packed(dtype t, sequence<std::int64_t> const& bits) {
  std::vector<unsigned char> bytes;
  for (std::int64_t v : bits)
    for (int k = 0; k < size_bytes(t); ++k) bytes.push_back(static_cast<unsigned char>(v >> (8 * k)));
  return bytes;
}
sequence<dtype> all_types() {
  sequence<dtype> all;
  for (int t = 0; t < dtype_count; ++t) all.push_back(static_cast<dtype>(t));
  return all;
}

/// The inputs and what the conversions of them must give.
struct conversions {
  dtype from, via;
  sequence<dtype> targets;
  sequence<std::int64_t> in;
  std::vector<unsigned char> memory;
  std::vector<std::vector<unsigned char>> out{};
  conversions(dtype f, sequence<dtype> const& to, sequence<std::int64_t> const& elements)
      : conversions(f, f, to, elements) {}
  conversions(dtype f, dtype v, sequence<dtype> const& to, sequence<std::int64_t> const& elements)
      : from(f), via(v), targets(to), in(elements) {
    while (in.size() % 320 != 0) in.push_back(in[in.size() % elements.size()]);  // a multiple of all numbers of lanes
    memory = packed(f, in);
    for (dtype t : targets) out.emplace_back(in.size() * static_cast<std::size_t>(size_bytes(t)));
  }
  void clear() {
    for (auto& o : out) std::memset(o.data(), 0x5a, o.size());
  }
  void check(std::string const& how) const {
    for (std::size_t t = 0; t < targets.size(); ++t) {
      dtype const to = targets[t];
      auto const size = static_cast<std::size_t>(size_bytes(to));
      int wrong = 0;
      for (std::size_t i = 0; i < in.size() && wrong < 3; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, &out[t][i * size], size);
        std::int64_t const got =
            to == dtype::boolean ? static_cast<std::int64_t>(word) : wrapped(to, static_cast<std::int64_t>(word));
        std::int64_t const wanted = apply(op::cast, via, apply(op::cast, from, in[i], 0, 0, via), 0, 0, to);
        if (got != wanted) {
          ++wrong;
          FAIL_CHECK(how, ": ", cast_text(from, to, in[i]), " is ", got, ", not ", wanted);
        }
      }
    }
  }
  ir::function loops(ir::arena& m, std::int64_t lanes) const {
    ir::function f = ir::parse(m, casts_text(from, via, targets, static_cast<std::int64_t>(in.size()), lanes));
    REQUIRE(ir::verify(f) == "");
    return f;
  }
  void interpreted(ir::function const& f, std::string const& how) {
    sequence<interp_argument> pointers{{memory.data(), static_cast<std::int64_t>(in.size()), true}};
    for (auto& o : out) pointers.push_back({o.data(), static_cast<std::int64_t>(in.size()), false});
    clear();
    REQUIRE(interpret(f, pointers, {}, {}) == "");
    check(how);
  }
};

ir::function passed(conversions const& c, ir::arena& m, std::int64_t lanes, pass_limits limits) {
  ir::function f = c.loops(m, lanes);
  run_passes(f, limits);
  REQUIRE(ir::verify(f) == "");
  return f;
}
/// `t` with other features; `level` is that of the x86-64 psABI which has none that is not there.
target changed(target t, int level, std::string_view without, sequence<std::string> const& with = {}) {
  sequence<std::string> features;
  for (auto const& f : t.features)
    if (f != without) features.push_back(f);
  for (auto const& f : with) features.push_back(f);
  t.features = features;
  t.cpu = level == 1 ? "x86-64" : "x86-64-v" + std::to_string(level);
  return t;
}
target x86_64_avx512() {
  target t = changed(x86_64_avx2(), 4, "", {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"});
  t.vector_bytes = 64;
  return t;
}
bool runs_here(target const& t) {
  for (auto const& f : t.features)
    if (!host().has(f)) return false;
  return t.arch == host().arch;
}
std::string what(target const& t) {
  return t.cpu + (t.has("f16c") ? " with F16C" : "") + ", vectors of " + std::to_string(t.vector_bytes) + " bytes";
}
sequence<target> machines() {
  sequence<target> all{host()};  // with AVX-512 where this machine has it
  if (host().arch != architecture::x86_64) return all;
  target wide = x86_64_avx2();
  wide.vector_bytes = 64;  // the shapes of AVX-512 at least
  all.push_back(wide);
  if (host().vector_bytes != 32) all.push_back(x86_64_avx2());
  all.push_back(changed(x86_64_avx2(), 2, "f16c"));
  all.push_back(changed(x86_64_sse2(), 2, "", {"sse3", "ssse3", "sse4.1", "sse4.2"}));
  all.push_back(x86_64_sse2());
  return all;
}
/// Runs machine code of the conversions and checks what it gives.
void compiled(conversions& c, target const& machine, std::int64_t lanes) {
  ir::arena m;
  ir::function const f = passed(c, m, lanes, {machine.vector_bytes, machine.converts_f16()});
  codegen::llvm::object_code const object = codegen::llvm::compile(f, machine);
  codegen::llvm::loaded_code const code = codegen::llvm::jit::instance().link(object.bytes, object.symbol);
  sequence<void*> pointers{c.memory.data()};
  for (auto& o : c.out) pointers.push_back(o.data());
  launch const l{pointers.data(), nullptr, nullptr, nullptr, nullptr};
  c.clear();
  REQUIRE(reinterpret_cast<kernel_entry>(code.entry())(&l) == 0);
  c.check(what(machine) + ", " + std::to_string(lanes) + " lanes");
}
}  // namespace

TEST_CASE("machine code converts every type to every other as base/op.hpp does, vectorized and not") {
  for (target const& machine : machines()) {
    if (!runs_here(machine)) {
      MESSAGE("[skip] this machine does not run code for ", what(machine));
      continue;
    }
    for (dtype from : all_types()) {
      conversions c(from, all_types(), many_elements(from, 1000));
      for (std::int64_t lanes : {1, 5, 64}) compiled(c, machine, lanes);
    }
  }
}

TEST_CASE("there and back is two conversions: a NaN becomes quiet") {
  for (target const& machine : machines()) {
    if (!runs_here(machine)) continue;
    for (dtype from : {dtype::f16, dtype::bf16, dtype::f32})
      for (dtype via : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}) {
        if (from == via) continue;
        conversions c(from, via, {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}, many_elements(from, 100));
        for (std::int64_t lanes : {1, 5, 64}) compiled(c, machine, lanes);
      }
  }
}

TEST_CASE("conversions become code without calls on machines that are not here: nothing is left to link") {
  if (host().arch != architecture::x86_64) {
    MESSAGE("[skip] not an x86-64");
    return;
  }
  target const v4 = x86_64_avx512();
  for (target const& machine :
       {v4, changed(v4, 2, "f16c"), changed(v4, 3, "avx512bw"), changed(v4, 4, "", {"avx512bf16"}),
        changed(v4, 4, "", {"avx512bf16", "avx512fp16"}), changed(x86_64_avx2(), 3, "", {"avxneconvert"})}) {
    CAPTURE(what(machine));
    for (dtype from : all_types()) {
      conversions c(from, all_types(), {0});
      for (std::int64_t lanes : {1, 5, 64}) {
        if (lanes == 5 && machine.cpu != v4.cpu) continue;  // no vector of any machine
        ir::arena m;
        ir::function const f = passed(c, m, lanes, {machine.vector_bytes, machine.converts_f16()});
        codegen::llvm::object_code const object = codegen::llvm::compile(f, machine, {false, true});
        CHECK(codegen::llvm::jit::instance().link(object.bytes, object.symbol).entry() != nullptr);
        CHECK(object.assembly.find("vcvtne") == std::string::npos);  // those flush denormals
        CHECK(object.assembly.find("@PLT") == std::string::npos);
      }
    }
  }
}

TEST_CASE("F16C is used where it is, for scalars and for vectors, and nowhere else") {
  if (host().arch != architecture::x86_64) {
    MESSAGE("[skip] not an x86-64");
    return;
  }
  for (bool const there : {true, false})
    for (std::int64_t lanes : {1, 64}) {
      target const machine = there ? x86_64_avx2() : changed(x86_64_avx2(), 2, "f16c");
      std::string text;
      for (dtype from : {dtype::f16, dtype::f32, dtype::f64, dtype::i32, dtype::bf16}) {
        ir::arena m;
        conversions const c(from, {dtype::f16, dtype::f32, dtype::bf16}, {0});
        text += codegen::llvm::compile(passed(c, m, lanes, {machine.vector_bytes, machine.converts_f16()}), machine,
                                       {false, true})
                    .assembly;
      }
      CHECK((text.find("vcvtph2ps") != std::string::npos) == there);
      CHECK((text.find("vcvtps2ph") != std::string::npos) == there);
      CHECK((text.find("vcvtph2ps\t(%") != std::string::npos || lanes == 1 || !there));
    }
}

TEST_CASE("the interpreter gives the same, before the passes and after them") {
  for (dtype from : all_types()) {
    // Every half to f32 and back; of the rest, which is apply's own, samples.
    bool const all = is_half(from) || from == dtype::f32;
    sequence<std::int64_t> some, every = many_elements(from, 1000);
    for (std::size_t i = 0; i < every.size(); i += every.size() < 2000 ? 1 : 23) some.push_back(every[i]);
    for (int round = 0; round < (all ? 2 : 1); ++round) {
      sequence<dtype> const most =
          from == dtype::f32 ? sequence<dtype>{dtype::f16, dtype::bf16} : sequence<dtype>{dtype::f32};
      conversions c(from, round == 0 ? all_types() : most, round == 0 ? some : every);
      for (bool const converts_f16 : {false, true})
        for (std::int64_t lanes : {1, 5, 64}) {
          if (round == 1 && lanes != 64) continue;
          ir::arena m;
          if (!converts_f16 && round == 0) c.interpreted(c.loops(m, lanes), "as it is written");
          c.interpreted(passed(c, m, lanes, {32, converts_f16}), converts_f16 ? "with F16C" : "written out");
        }
    }
  }
}

TEST_CASE("no conversion of a half is left that the machine lacks") {
  for (bool const converts_f16 : {false, true})
    for (dtype from : all_types()) {
      ir::arena m;
      conversions const c(from, all_types(), {0});
      std::string const text = ir::print(passed(c, m, 64, {32, converts_f16}));
      CHECK(text.find("cast<bf16>") == text.find("bitcast<bf16>") + (from == dtype::bf16 ? 0 : 3));
      CHECK((text.find(" cast<f16>") != std::string::npos) == (converts_f16 && from != dtype::f16));
    }
}
