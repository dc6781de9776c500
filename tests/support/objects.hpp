// Objects as our code generator makes them, for what loads and keeps them.
#pragma once

#include <string>
#include <weft/base/sequence.hpp>

#include "lower/programs.hpp"
#include "weft/expr/math/functions.hpp"
#include "weft/codegen/llvm/module.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/compile.hpp"

namespace weft_test {

/// A kernel whose arguments are all f32, as an object file.
struct kernel_object {
  weft::codegen::llvm::object_code code;
  weft::sequence<std::size_t> elements;  // of each argument, the output last
  std::int64_t workspace_bytes = 0;
  std::string loops;  // the loop program that it was made of

  /// What it computes of inputs that are always the same; `parallel_for` null: alone.
  weft::sequence<float> run(void* entry, decltype(weft::services::parallel_for) parallel_for = nullptr) const {
    weft::sequence<weft::sequence<float>> memory;
    void* pointers[8];
    for (std::size_t i = 0; i < elements.size(); ++i) {
      memory.push_back(weft::sequence<float>(elements[i]));
      for (std::size_t k = 0; k < elements[i]; ++k)
        memory[i][k] = static_cast<float>(static_cast<int>((k * 7 + i) % 23) - 11) * 0.25f;
    }
    for (std::size_t i = 0; i < elements.size(); ++i) pointers[i] = memory[i].data();
    auto const alone = [](void*, std::int64_t count, std::int64_t places, weft::loop_body* body, void* context) {
      for (std::int64_t i = 0; i < count; ++i) body(context, i, i + 1, i % 2 < places ? i % 2 : 0);
    };
    weft::services const host{parallel_for != nullptr ? parallel_for : alone, nullptr};
    std::string workspace(static_cast<std::size_t>(workspace_bytes) + 64, '\0');
    auto const line = (reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) / 64 * 64;
    weft::launch const l{pointers, nullptr, nullptr, reinterpret_cast<void*>(line), &host};
    std::int32_t const status = reinterpret_cast<weft::kernel_entry>(entry)(&l);  // not in CHECK: it may throw
    CHECK(status == 0);
    return memory.back();
  }
};

inline kernel_object object_of(std::string const& name, lowered_program const& l,
                               void (*how)(void const*, weft::schedule&), weft::target const& machine,
                               weft::codegen::llvm::object_request const& want = {.want_ir = true}) {
  weft::call_layout const layout = l.layout();
  weft::compile_request const r{name, &l.p, how, nullptr, &layout, &machine};
  weft::ir::arena m;
  weft::ir::function const f = weft::make_loops(m, r, weft::make_schedule(r));
  kernel_object o{weft::codegen::llvm::compile(f, machine, want), {}, weft::workspace_bytes(f),
                  weft::ir::print(f)};
  for (weft::argument_layout const& a : layout.arguments) {
    std::size_t n = 1;
    for (std::int64_t e : a.extents) n *= static_cast<std::size_t>(e);
    o.elements.push_back(n);
  }
  return o;
}

/// A register tile with tails in each direction, whose masks and splats are constants in .rodata.
inline kernel_object tile_object_as(weft::target const& machine, weft::codegen::llvm::object_request const& want) {
  auto const tile = [](void const*, weft::schedule& s) {
    auto const at = [&](int place) { return weft::axis{s.order[0][static_cast<std::size_t>(place)]}; };
    weft::axis const i = at(0), j = at(1), k = at(2);
    auto const [io, ii] = s.split(i, 2);
    auto const [jo, ji] = s.split(j, s.knob("nr", {16, 8}));
    s.reorder(io, jo, k, ii, ji);
    s.unroll(ii);
    s.vectorize(ji);
  };
  return object_of("tile", {matmul(), {{7, 9}, {9, 45}}}, tile, machine, want);
}
inline kernel_object tile_object(weft::target const& machine) {
  return tile_object_as(machine, {.want_ir = true});
}
/// A parallel loop: a function whose address is taken, and the constants of exp.
inline kernel_object parallel_object(weft::target const& machine) {
  auto const how = [](void const*, weft::schedule& s) {
    auto const [outer, inner] = s.split(weft::axis{s.order[0][0]}, 8);
    s.parallel(outer);
    s.vectorize(inner);
  };
  return object_of("parallel", {map_program([](auto x, auto i) { return weft::exp(x(i)) * 3.25f + 1.5f; }), {{53}}}, how,
                   machine);
}
/// An intermediate tensor in the workspace.
inline kernel_object stages_object(weft::target const& machine) {
  return object_of("stages", {two_stages(), {{17, 3}}}, nullptr, machine);
}

inline weft::sequence<kernel_object> all_objects() {
  weft::sequence<kernel_object> all;
  for (weft::target const& t : {weft::host(), weft::x86_64_sse2()})
    for (auto* make : {tile_object, parallel_object, stages_object}) all.push_back(make(t));
  return all;
}

}  // namespace weft_test
